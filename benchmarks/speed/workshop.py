"""How long the workshop takes, as ratios to baselines of the same run.

    python -m benchmarks.speed.workshop [--proposals 1000] [--json FILE]

Proposals pile up over months, so what matters is growth: the thousandth one must cost what the
tenth did, and a list no more for each row. The first turn matters too, for somebody waits for it.
"""

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from benchmarks.speed.core import median_ms

import prowess
from prowess.host.store.database import open_file
from prowess.host.store.proposals import StoredProposals
from prowess.runtime.workshop.service import TurnSeen
from prowess.wiring import Runtime
from prowess.workshop.edit import Create
from prowess.workshop.proposal import Change, Proposal, ProposalSource, State, change_hash

_CAPS = {State.PENDING: 100_000}
_WORKSPACE = "/work"
_TURN = TurnSeen(
    messages=[{"role": "user", "content": "Next time, verify that the GIF has several frames."}]
)


def make(number: int) -> Proposal:
    """Build a proposal of the usual size."""
    change = Change("notes", {"SKILL.md": f"# Notes {number}\n".encode() * 100})
    return Proposal(
        id=f"p{number:06}",
        revision=change_hash(change),
        state=State.PENDING,
        created_at=float(number),
        updated_at=float(number),
        title="A title",
        reason="A reason",
        payload=f"payload {number}",
        workspace=_WORKSPACE,
        source=ProposalSource.TOOL,
        change=change,
        edit=Create(description="d", body=f"# Notes {number}\n" * 100),
    )


def _timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1000


def measure_growth(folder: Path, count: int) -> dict[str, float]:
    """Compare what one more proposal costs among many with what it costs among a few."""
    store = StoredProposals(open_file(str(folder / "growth.db")))
    took = [_timed(partial(store.add, make(number), _CAPS)) for number in range(count)]
    known, few = make(count // 2), {State.PENDING: count}
    extra = iter(range(count, count + 10_000))

    def prune() -> None:
        store.add(make(next(extra)), few)

    return {
        "a proposal among the first 50 (baseline)": statistics.median(took[:50]),
        f"a proposal among {count}": statistics.median(took[-50:]),
        f"the same one again, among {count}": median_ms(
            lambda: store.add(replace(known, id="other"), _CAPS), 30
        ),
        f"one more, and the oldest of {count} goes": median_ms(prune, 30),
        "the last events": median_ms(lambda: store.events(_WORKSPACE, count - 50), 30),
    }


def measure_lists(folder: Path, count: int) -> dict[str, float]:
    """Compare a list of many with a list of a few, for each row."""
    few, many = (StoredProposals(open_file(str(folder / f"list{size}.db"))) for size in (20, count))
    for store, size in ((few, 20), (many, count)):
        for number in range(size):
            store.add(make(number), _CAPS)
    return {
        "a row of a list of 20 (baseline)": median_ms(lambda: few.listed(_WORKSPACE), 20) / 20,
        f"a row of a list of {count}": median_ms(lambda: many.listed(_WORKSPACE), 5) / count,
    }


def _open(folder: Path, *skills: str) -> Runtime:
    for name in ("home", "state", "work/skills"):
        (folder / name).mkdir(parents=True)
    for name in skills:
        page = folder / "work/skills" / name / "SKILL.md"
        page.parent.mkdir()
        page.write_text(f"---\nname: {name}\ndescription: Waters plants.\n---\n# {name}\n")
    entry = {"enabled": True, "config": {"reviewMode": "heuristic"}}
    values = {"plugins": {"entries": {"skill-workshop": entry}}}
    (folder / "state/prowess.json").write_text(json.dumps(values))
    environ = {"HOME": str(folder / "home"), "PATH": os.environ["PATH"]}
    return prowess.open(folder / "work", home=folder / "state", environ=environ)


def measure_turns(folder: Path) -> dict[str, float]:
    """Compare the first turn that teaches something with a second one."""
    with _open(folder / "bare") as bare, _open(folder / "own", "gardening") as own:
        workshop = bare.workshop
        first = _timed(lambda: workshop.observe(_TURN))
        again = median_ms(lambda: workshop.observe(_TURN), 20)
        with_router = own.workshop
        return {
            "a turn that says it again (baseline)": again,
            "the first turn, no skill to add to": first,
            "the first turn, with the router": _timed(lambda: with_router.observe(_TURN)),
            "a later turn, with the router": median_ms(lambda: with_router.observe(_TURN), 20),
        }


def main() -> None:
    """Measure, and print each number beside its baseline."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--proposals", type=int, default=1000)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        groups = [
            measure_growth(Path(folder), asked.proposals),
            measure_lists(Path(folder), asked.proposals),
            measure_turns(Path(folder)),
        ]
    rows: dict[str, dict[str, float]] = {}
    for group in groups:
        baseline = next(iter(group.values()))
        for name, took in group.items():
            rows[name] = {"ms": round(took, 3), "ratio": round(took / baseline, 2)}
            print(f"{name:<45}{took:>10.2f} ms{took / baseline:>9.2f} x")
    if asked.json:
        asked.json.write_text(json.dumps(rows, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
