"""How long the skills core takes, as ratios to baselines of the same run.

    python benchmarks/speed/core.py [--skills 1000] [--large 10000] [--json FILE]

Machines are noisy, so nothing here is an absolute promise: each number stands beside a baseline
that was measured a moment earlier on the same files.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import yaml

import prowess

_WORDS = (
    "deploy", "release", "report", "invoice", "calendar", "message", "photo", "query", "table",
    "cluster", "backup", "restore", "review", "merge", "branch", "ticket", "customer", "order",
    "price", "forecast", "chart", "audit", "token", "schedule",
)  # fmt: skip
_LIMITS = {"maxCandidatesPerRoot": 20_000, "maxSkillsLoadedPerSource": 20_000}


def write_skills(root: Path, count: int) -> list[Path]:
    """Write `count` skills such as people write: five keys, metadata, a page of body."""
    chance = random.Random(7)
    paths = []
    for number in range(count):
        words = " ".join(chance.choices(_WORDS, k=25))
        body = "\n\n".join(
            f"## Step {step}\n\n" + " ".join(chance.choices(_WORDS, k=60)) for step in range(6)
        )
        path = root / f"skill-{number:05}" / "SKILL.md"
        path.parent.mkdir(parents=True)
        path.write_text(
            f"---\nname: skill-{number:05}\ndescription: Handles {words}. Use when asked for it.\n"
            f"license: Apache-2.0\nmetadata:\n  openclaw:\n    emoji: x\n    requires:\n"
            f"      bins: [sh]\n      env: [HOME]\n---\n\n# Skill {number}\n\n{body}\n",
            encoding="utf-8",
        )
        paths.append(path)
    return paths


def median_ms(work: Callable[[], object], repeat: int) -> float:
    """Return the median time of `work` in milliseconds."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)


def read_and_parse(paths: list[Path]) -> None:
    """The baseline: read the same files and parse their frontmatter with plain PyYAML."""
    for path in paths:
        text = path.read_text(encoding="utf-8")
        yaml.safe_load(text.split("---", 2)[1])


def make_world(folder: Path, count: int) -> tuple[dict[str, str], Path, list[Path]]:
    """Lay out a home, a state folder with raised limits, and a workspace of `count` skills."""
    state, workspace = folder / "state", folder / "work"
    for path in (folder / "home", state, workspace):
        path.mkdir(parents=True)
    (state / "prowess.json").write_text(json.dumps({"skills": {"limits": _LIMITS}}))
    paths = write_skills(workspace / "skills", count)
    environ = {"HOME": str(folder / "home"), "PROWESS_HOME": str(state), "PATH": os.environ["PATH"]}
    return environ, workspace, paths


def run(environ: dict[str, str], workspace: Path, *command: str) -> None:
    """Run a child to its end, output discarded."""
    subprocess.run(
        [sys.executable, *command],
        env=environ,
        cwd=workspace,
        check=True,
        stdout=subprocess.DEVNULL,
    )


def open_service(environ: dict[str, str], workspace: Path) -> prowess.SkillsService:
    """Open the library and build the first snapshot."""
    service = prowess.open(workspace, environ=environ).skills
    service.snapshot()
    return service


def measure_core(folder: Path, count: int) -> dict[str, float]:
    """Measure the cold list, the cold library and the rebuild after one change."""
    environ, workspace, paths = make_world(folder, count)
    baseline = median_ms(lambda: read_and_parse(paths), 3)
    cold_list = median_ms(lambda: run(environ, workspace, "-m", "prowess", "list"), 3)
    cold_library = median_ms(lambda: open_service(environ, workspace), 3)
    service = open_service(environ, workspace)
    edits = iter(range(1_000))

    def one_change() -> str:
        path = paths[count // 2]
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace("Handles", f"Handles {next(edits)}", 1), encoding="utf-8")
        return str(path)

    named, swept, idle = [], [], []
    for _ in range(9):
        changed = {one_change()}
        named.append(median_ms(lambda: (service.refresh(changed), service.snapshot()), 1))  # noqa: B023
        one_change()
        swept.append(median_ms(lambda: (service.refresh(), service.snapshot()), 1))
        idle.append(median_ms(lambda: (service.refresh(), service.snapshot()), 1))
    return {
        "baseline": baseline,
        "coldList": cold_list,
        "coldLibrary": cold_library,
        "rebuildNamed": statistics.median(named),
        "rebuildSwept": statistics.median(swept),
        "idle": statistics.median(idle),
    }


def measure_start(folder: Path) -> tuple[float, float]:
    """Measure `prowess list` on 50 skills against importing YAML alone, taking turns."""
    environ, workspace, _ = make_world(folder, 45)  # and five bundled ones
    bare, listed = [], []
    for _ in range(15):
        bare.append(median_ms(lambda: run(environ, workspace, "-c", "import yaml"), 1))
        listed.append(median_ms(lambda: run(environ, workspace, "-m", "prowess", "list"), 1))
    return statistics.median(bare), statistics.median(listed)


def measure_large(folder: Path, count: int) -> tuple[float, float]:
    """Return seconds and memory (MiB over an idle interpreter) for a large root, in a child."""
    environ, workspace, _ = make_world(folder, count)
    script = (
        "import resource, time, sys; base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "import prowess; start = time.perf_counter()\n"
        "snapshot = prowess.open('.').skills.snapshot()\n"
        "peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        f"assert len(snapshot.skills) == {count} + 5, len(snapshot.skills)\n"
        "print(time.perf_counter() - start, (peak - base) / 1024)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=environ, cwd=workspace, check=True, capture_output=True, text=True,
    )  # fmt: skip
    seconds, memory = done.stdout.split()
    return float(seconds), float(memory)


def main() -> int:
    """Print the table; exit 1 where a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--skills", type=int, default=1_000)
    parser.add_argument("--large", type=int, default=10_000)
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        core = measure_core(folder / "core", options.skills)
        bare, listed = measure_start(folder / "start")
        seconds, memory = measure_large(folder / "large", options.large)
    rows = [
        (f"read and parse {options.skills} files, plain PyYAML", core["baseline"], 1.0, None),
        ("cold `prowess list`", core["coldList"], core["coldList"] / core["baseline"], 2.5),
        (
            "cold snapshot, library",
            core["coldLibrary"],
            core["coldLibrary"] / core["baseline"],
            2.5,
        ),
    ]
    cold = core["coldList"]
    rows += [
        (
            "rebuild, change named by the watcher",
            core["rebuildNamed"],
            core["rebuildNamed"] / cold,
            0.02,
        ),
        (
            "rebuild, change found by a sweep",
            core["rebuildSwept"],
            core["rebuildSwept"] / cold,
            None,
        ),
        ("refresh, nothing changed", core["idle"], core["idle"] / cold, None),
        ('python -c "import yaml"', bare, 1.0, None),
        ("`prowess list`, 50 skills", listed, listed / bare, 6.0),
    ]
    print(f"{'what':<50} {'ms':>9} {'ratio':>8} {'bar':>6}")
    for label, spent, ratio, bar in rows:
        print(f"{label:<50} {spent:>9.1f} {ratio:>8.3f} {'' if bar is None else bar:>6}")
    print(f"{options.large} skills: {seconds:.1f} s, {memory:.0f} MiB over a bare interpreter")
    if options.json:
        results = {"rows": rows, "largeSeconds": seconds, "largeMiB": memory, "argv": sys.argv}
        Path(options.json).write_text(json.dumps(results, indent=2), encoding="utf-8")
    return int(any(bar is not None and ratio > bar for _, _, ratio, bar in rows))


if __name__ == "__main__":
    sys.exit(main())
