"""How long it takes to learn from traces, as ratios to baselines of the same run.

    python -m benchmarks.speed.experience [--traces 50] [--steps 60] [--json FILE]

Traces pile up over months, so what matters is growth: ten times the traces must not cost a hundred
times the work, and a trace of thousands of steps no more than its beginning. A trace is read once,
beside what Python itself needs to read its JSON.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.speed.core import median_ms

from prowess.experience.lessons.alignment import align
from prowess.experience.lessons.goals import group_traces
from prowess.experience.lessons.skill import write_skill
from prowess.transcripts.formats import read_records
from prowess.transcripts.traces import Json, Trace, TraceAction, TraceStep, export_trace
from prowess.transcripts.turns import TranscriptRecord

# What a workspace keeps at most.
_FEW, _KEPT = 5, 500


def make(number: int, steps: int, goal: str = "Process") -> Trace:
    """Build a trace that is like the others of its goal, with a detour here and there."""
    name = f"table{number}"
    commands = [f"tool{at % 37} --input data/{name}.csv --level {at % 5}" for at in range(steps)]
    commands[1 + number % max(steps - 1, 1)] = f"look{number} at something else"
    return Trace(
        task=f"{goal} data/{name}.csv",
        ok=True,
        steps=tuple(
            TraceStep(
                number=at, action=TraceAction("Bash", {"command": command}), result="done " * 40
            )
            for at, command in enumerate(commands, start=1)
        ),
        session_path=f"{name}.jsonl",
        session_id=f"{goal} {name}",
        final_message=f"Wrote out/{name}.json.",
    )


def measure_alignment(many: int, steps: int) -> dict[str, float]:
    """Compare many traces, and long ones, with a few short ones."""
    few = [make(at, steps) for at in range(_FEW)]
    heap = [make(at, steps) for at in range(many)]
    long = [make(at, 2_000) for at in range(_FEW)]
    return {
        f"align {_FEW} traces of {steps} steps (baseline)": median_ms(lambda: align(few), 3),
        f"align {many} traces of {steps} steps": median_ms(lambda: align(heap), 3),
        f"align {_FEW} traces of 2000 steps": median_ms(lambda: align(long), 3),
    }


def measure_grouping(many: int, steps: int) -> dict[str, float]:
    """Compare the search for goals in a large heap with that in a small one, for each trace."""
    goals = ("Process", "Publish", "Archive", "Translate")

    def heap(size: int) -> Sequence[Trace]:
        return [make(at, steps, goals[at % len(goals)]) for at in range(size)]

    small, large = heap(_FEW), heap(4 * many)
    return {
        f"group {_FEW} traces, for each (baseline)": median_ms(lambda: group_traces(small), 5)
        / _FEW,
        f"group {4 * many} traces, for each": median_ms(lambda: group_traces(large), 3)
        / (4 * many),
    }


def measure_kept() -> dict[str, float]:
    """Compare what a workspace can keep, of one goal and of many, with a few of its traces."""

    def kept(size: int, goals: int) -> Sequence[Trace]:
        # Each goal has words and programs of its own.
        return [make(at, 12, f"Process{'abcdefghij'[at % goals] * 3}") for at in range(size)]

    def learn(heap: Sequence[Trace]) -> None:
        for group in group_traces([replace(one) for one in heap]):
            if found := align(group):
                write_skill(found)

    few, one_goal, ten_goals = kept(_FEW, 1), kept(_KEPT, 1), kept(_KEPT, 10)
    return {
        f"learn from {_FEW} traces (baseline)": median_ms(lambda: learn(few), 5),
        f"learn from {_KEPT} traces of one goal": median_ms(lambda: learn(one_goal), 3),
        f"learn from {_KEPT} traces of ten goals": median_ms(lambda: learn(ten_goals), 3),
    }


def measure_heavy() -> dict[str, float]:
    """Compare traces whose steps hold far more than can be compared with plain ones."""
    inner: list[Json] = [{"type": "batch_actions", "actions": [{"type": "tap"}] * 40}] * 40
    wide: dict[str, Json] = {f"k{at}": f"password=Zq{at}Vx9Lm2 " for at in range(1_900)}
    plain = [make(at, 30) for at in range(_FEW)]

    def heavy(fields: dict[str, Json]) -> Sequence[Trace]:
        step = TraceStep(number=1, action=TraceAction("batch_actions", fields), result="ok")
        return [replace(one, steps=(*one.steps, *[step] * 30)) for one in plain]

    batched, filled = heavy({"actions": inner}), heavy({"fields": wide})
    return {
        f"align {_FEW} plain traces (baseline)": median_ms(lambda: align(plain), 3),
        f"align {_FEW} traces with nested batches": median_ms(lambda: align(batched), 3),
        f"align {_FEW} traces with thousands of fields": median_ms(lambda: align(filled), 3),
    }


def measure_writing(steps: int) -> dict[str, float]:
    """Compare the page of a skill with the alignment that it is written from."""
    few = [make(at, steps) for at in range(_FEW)]
    found = align(few)
    if found is None:
        raise SystemExit("nothing was learned: the traces have too little in common")
    return {
        f"align {_FEW} traces (baseline)": median_ms(lambda: align(few), 3),
        "write the skill": median_ms(lambda: write_skill(found), 10),
    }


def measure_reading() -> dict[str, float]:
    """Compare the reading of a large trace with that of its JSON alone."""
    written = json.dumps(export_trace(make(1, 2_000)))

    def read() -> object:
        record = TranscriptRecord(json.loads(written), 1)
        return read_records([record], path="large.json")

    return {
        "json.loads of a large trace (baseline)": median_ms(lambda: json.loads(written), 20),
        "read a large trace": median_ms(read, 20),
    }


def main() -> None:
    """Measure, and print each number beside its baseline."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--traces", type=int, default=50)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    groups = [
        measure_alignment(asked.traces, asked.steps),
        measure_grouping(asked.traces, asked.steps),
        measure_kept(),
        measure_heavy(),
        measure_writing(asked.steps),
        measure_reading(),
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
