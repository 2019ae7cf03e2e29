"""How long runs take, as ratios to baselines of the same run.

    python -m benchmarks.speed.runs [--skills 200] [--json FILE]

A turn of an agent begins and ends with a run, so what a run adds to a look at the files is what
matters; a child process waits for `prowess run`, and a person for a copy that is up to date.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.speed.core import make_world, median_ms

import prowess
from prowess.skills.commands import build_commands
from prowess.testing import make_skill
from prowess.wiring import Runtime

_REPEAT = 30


def measure_runs(runtime: Runtime) -> dict[str, float]:
    """Compare a run with what it cannot do without: one look at the files."""
    runtime.skills.refresh()

    def look() -> None:
        runtime.skills.refresh()
        runtime.skills.snapshot()

    def run() -> None:
        with runtime.run(process_wide=False):
            pass

    def within_session() -> None:
        with runtime.run(session="bench"):
            pass

    return {
        "a look at the files (baseline)": median_ms(look, _REPEAT),
        "a run for children": median_ms(run, _REPEAT),
        "a run of a session": median_ms(within_session, _REPEAT),
    }


def measure_commands() -> dict[str, float]:
    """Compare the commands of skills that all want one name with those of different names."""
    apart = [make_skill(f"skill-{number:04}") for number in range(1000)]
    alike = [make_skill("the same name") for _ in range(1000)]
    return {
        "1,000 commands, names differ (baseline)": median_ms(lambda: build_commands(apart), 10),
        "1,000 commands, one name": median_ms(lambda: build_commands(alike), 10),
    }


def measure_terminal(environ: dict[str, str], work: Path, target: Path) -> dict[str, float]:
    """Compare a program in a run with the program alone, and copies with a bare start."""
    prowess_command = [sys.executable, "-m", "prowess"]

    def started(*argv: str) -> float:
        def work_once() -> None:
            subprocess.run(argv, env=environ, cwd=work, check=True, capture_output=True)

        return median_ms(work_once, 5)

    first = started(*prowess_command, "sync", str(target))
    return {
        "python -c pass (baseline)": started(sys.executable, "-c", "pass"),
        "prowess run -- python -c pass": started(
            *prowess_command, "run", "--", sys.executable, "-c", "pass"
        ),
        "prowess commands": started(*prowess_command, "commands"),
        "prowess sync, first": first,
        "prowess sync, up to date": started(*prowess_command, "sync", str(target)),
    }


def main() -> None:
    """Measure, and print each number beside its baseline."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--skills", type=int, default=200)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        environ, workspace, _ = make_world(Path(folder), asked.skills)
        variables = {**environ, "PATH": os.environ["PATH"]}
        runtime = prowess.open(workspace, environ=variables)
        groups = [
            measure_runs(runtime),
            measure_commands(),
            measure_terminal(variables, workspace, Path(folder) / "sandbox"),
        ]
        runtime.close()
    rows: dict[str, dict[str, float]] = {}
    for group in groups:
        baseline = next(iter(group.values()))
        for name, took in group.items():
            rows[name] = {"ms": round(took, 2), "ratio": round(took / baseline, 2)}
            print(f"{name:<45}{took:>10.2f} ms{took / baseline:>9.2f} x")
    if asked.json:
        asked.json.write_text(json.dumps(rows, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
