"""What verdicts add to a list of skills whose reports are kept, in processor time.

    python benchmarks/speed/verdicts.py [--skills 1000]

Skills are scanned once, and then listed with and without verdicts by turns, each time anew. The
scanner is counted: a list of skills whose reports are kept scans none.
"""

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from prowess.runtime import scan as scanning
from prowess.wiring.library import Runtime, open_runtime

_TURNS = 5
_SETTLED_S = 1.2


def main() -> None:
    """Print both times, their ratio and the scans."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--skills", type=int, default=1000)
    count = asked.parse_args().skills
    scans: list[object] = []
    real = vars(scanning)["scan"]

    def counted(*given: object) -> object:
        scans.append(given)
        return real(*given)

    vars(scanning)["scan"] = counted
    with tempfile.TemporaryDirectory() as folder:
        work, home = Path(folder, "work"), Path(folder, "home")
        _write_config(home / ".prowess" / "prowess.json")
        for number in range(count):
            _write_skill(work / "skills" / f"skill-{number:05}", number)
        time.sleep(_SETTLED_S)
        first = _spend(lambda: _list(_open(work, home)))
        made, rows = len(scans), []
        for _ in range(_TURNS):
            plain = _spend(lambda: _list(_without_verdicts(_open(work, home))))
            rows.append((plain, _spend(lambda: _list(_open(work, home)))))
    without, with_them = (statistics.median(row[at] for row in rows) for at in (0, 1))
    print(f"first list: {first:.2f} s, {made} scans")
    print(f"list of {count} skills without verdicts: {without * 1000:.0f} ms")
    print(f"list of {count} skills with kept verdicts: {with_them * 1000:.0f} ms")
    print(f"ratio {with_them / without:.2f}, scans {len(scans) - made}")


def _write_config(path: Path) -> None:
    """Write a config that takes all skills, however many there are."""
    limits = {"maxCandidatesPerRoot": 20_000, "maxSkillsLoadedPerSource": 20_000}
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"skills": {"limits": limits}}), encoding="utf-8")


def _write_skill(folder: Path, number: int) -> None:
    """Write a skill such as people write: a page of text, a reference and a script."""
    steps = "\n\n".join(f"## Step {step}\n\nLook at table {step * number}." for step in range(20))
    front = f"---\nname: {folder.name}\ndescription: Handles job {number}. Use for it.\n---\n\n"
    for path, text in (
        ("SKILL.md", f"{front}# Job {number}\n\n{steps}\n"),
        ("references/notes.md", f"# Notes\n\nJob {number} is for people.\n"),
        ("scripts/run.sh", f"#!/bin/sh\necho {number}\n"),
    ):
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")


def _open(work: Path, home: Path) -> Runtime:
    variables = {"PATH": os.environ["PATH"], "HOME": str(home)}
    return open_runtime(work, home=home / ".prowess", environ=variables)


def _without_verdicts(runtime: Runtime) -> Runtime:
    """Return a runtime whose skills nobody judges."""
    vars(runtime.skills.workspace())["_judge"] = None
    return runtime


def _list(runtime: Runtime) -> None:
    runtime.skills.status()


def _spend(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


if __name__ == "__main__":
    main()
