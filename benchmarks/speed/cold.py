"""What commands that start anew cost in CPU time, over a bare interpreter of the same run.

    python -m benchmarks.speed.cold [--skills 70] [--repeat 7] [--json FILE]

CPU time of the child, not the clock: a busy machine makes everything wait and little of it dearer.
"first" finds an empty state folder: skills are parsed and scanned, vectors are made. "kept" finds
what an earlier process kept there. Every kind of call is made in turn, round after round.
"""

import argparse
import json
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.speed.hooks import World, payload
from benchmarks.speed.routing import make_skills

_BARE = "python -c pass (baseline)"
_PROMPT = "compare the two contracts and list what changed"


def cpu_ms(world: World, argv: Sequence[str], given: bytes = b"") -> float:
    """Run a program to its end and return the milliseconds of CPU time that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, *argv], input=given, env=world.environ, cwd=world.folder,
        check=True, capture_output=True,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1_000


def measure(world: World, repeat: int) -> dict[str, float]:
    """Return the median of every kind of call; what is first is measured once."""
    asked = payload("UserPromptSubmit", world.folder, prompt=_PROMPT)
    calls = {
        _BARE: (["-c", "pass"], b""),
        "list": (["-m", "prowess", "list"], b""),
        "route": (["-m", "prowess", "route", _PROMPT], b""),
        "hook": (["-m", "prowess", "hook"], asked),
    }
    found: dict[str, float] = {}
    for name in ("list", "route"):
        shutil.rmtree(world.state, ignore_errors=True)
        found[f"{name}, first"] = cpu_ms(world, *calls[name])
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeat):
        for name, (argv, given) in calls.items():
            times[name].append(cpu_ms(world, argv, given))
    found |= {f"{name}, kept": statistics.median(taken) for name, taken in times.items()}
    return {_BARE: found.pop(f"{_BARE}, kept"), **found}


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--skills", type=int, default=70)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pc") as root:
        found = measure(World(Path(root), make_skills(given.skills)), given.repeat)
    bare = found[_BARE]
    for name, taken in found.items():
        print(f"{name:28}{taken:8.0f} ms of CPU time{taken / bare:8.1f}x")
    if given.json:
        given.json.write_text(json.dumps(found, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
