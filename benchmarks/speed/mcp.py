"""How long an MCP client waits, as ratios to baselines of the same run.

    python -m benchmarks.speed.mcp [--skills 200] [--starts 7] [--json FILE]
    python -m benchmarks.speed.mcp --listing

The second prints the processor time of the first lists at 70, 1,000 and 3,000 skills (Linux).

Clients give up on servers that start slowly, so the first answer of `prowess mcp` stands beside
what no server in Python can do without: to import the SDK. What a client asks for afterwards stands
beside reading the same files and hashing them.
"""

import argparse
import hashlib
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.speed.core import make_world, median_ms, run

import prowess
from prowess.wiring.mcp import open_service

_FIRST = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "benchmark", "version": "1"},
    },
}
_REPEAT = 10


def sdk_ms(environ: dict[str, str]) -> float:
    """Return how long a process takes to import the SDK and to end."""
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import mcp"], env=environ, check=True)
    return (time.perf_counter() - begun) * 1000


def first_answer_ms(environ: dict[str, str], work: Path) -> float:
    """Return how long a client waits from starting us to the answer to `initialize`."""
    begun = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-m", "prowess", "mcp", "--workspace", str(work)],
        env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as process:  # fmt: skip
        # Both are pipes, as was asked for.
        told, heard = process.stdin, process.stdout
        if told is None or heard is None:
            raise RuntimeError("the process has no pipes")
        told.write(json.dumps(_FIRST).encode() + b"\n")
        told.flush()
        answer = json.loads(heard.readline())
        took = (time.perf_counter() - begun) * 1000
        told.close()
    if "result" not in answer:
        raise RuntimeError(f"no answer: {answer}")
    return took


def measure_start(environ: dict[str, str], work: Path, starts: int) -> dict[str, float]:
    """Compare starts, each beside a baseline of the same moment."""
    pairs = [(sdk_ms(environ), first_answer_ms(environ, work)) for _ in range(starts)]
    alone, ours = (sorted(times) for times in zip(*pairs, strict=True))
    worst = math.ceil(0.95 * starts) - 1
    return {
        "import the SDK (baseline)": statistics.median(alone),
        "initialize answered": statistics.median(ours),
        "import the SDK, 95th percentile": alone[worst],
        "initialize answered, 95th percentile": ours[worst],
    }


def measure_answers(
    environ: dict[str, str], state: Path, work: Path, paths: list[Path]
) -> dict[str, float]:
    """Compare what a client asks for with reading and hashing the same files."""
    with prowess.open(work, home=state, environ=environ) as runtime:
        desk = open_service(runtime, None)
        catalogue = desk.catalogue
        few = paths[:50]

        def once(work: Callable[[], object]) -> float:
            return median_ms(work, 1)

        return {
            "hash 50 skills (baseline)": median_ms(lambda: [_hash(one) for one in few], _REPEAT),
            "skills/list, the first page, never scanned": once(catalogue.page),
            "skills/list, the first page again": median_ms(catalogue.page, _REPEAT),
            "skills/get": median_ms(
                lambda: catalogue.skill("skill://skill-00000/SKILL.md"), _REPEAT
            ),
            "resources/read": median_ms(
                lambda: catalogue.file("skill://skill-00000/SKILL.md"), _REPEAT
            ),
            "load_skill": median_ms(
                lambda: desk.tools.call("load_skill", {"name": "skill-00000"}), _REPEAT
            ),
        }


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


_LISTED = (70, 1_000, 3_000)
_TICK_MS = 1_000 / os.sysconf("SC_CLK_TCK")


def cpu_ms(pid: int) -> float:
    """Return how much processor time a process has taken."""
    stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    user, system = stat.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) * _TICK_MS


def list_ms(environ: dict[str, str], work: Path) -> list[tuple[float, int]]:
    """Return what the first `tools/list` and `resources/list` of a process took, and gave."""
    with subprocess.Popen(
        [sys.executable, "-m", "prowess", "mcp", "--workspace", str(work)],
        env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        told, heard = process.stdin, process.stdout
        if told is None or heard is None:
            raise RuntimeError("the process has no pipes")

        def ask(body: dict[str, object]) -> tuple[float, int]:
            before = cpu_ms(process.pid)
            told.write(json.dumps(body).encode() + b"\n")
            told.flush()
            while (answer := json.loads(heard.readline())).get("id") != body["id"]:
                continue
            rows = [one for one in answer["result"].values() if isinstance(one, list)]
            return cpu_ms(process.pid) - before, sum(map(len, rows))

        ask(_FIRST)
        told.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        methods = enumerate(("tools/list", "resources/list"), 2)
        took = [ask({"jsonrpc": "2.0", "id": at, "method": name}) for at, name in methods]
        process.kill()
    return took


def measure_lists() -> None:
    """Print what the first lists cost, nothing scanned, and all scanned."""
    for count in _LISTED:
        with tempfile.TemporaryDirectory() as folder:
            environ, work, _ = make_world(Path(folder), count)
            fresh = list_ms(environ, work)
            for _ in range(2):
                run(environ, work, "-m", "prowess", "list")
            known = list_ms(environ, work)
        shown = "   ".join(f"{took:4.0f} ms ({given} rows)" for took, given in (*fresh, *known))
        print(f"{count:>6} skills: tools, resources; again when scanned: {shown}")


def main() -> None:
    """Measure, and print each number beside its baseline."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--skills", type=int, default=200)
    parser.add_argument("--starts", type=int, default=7)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--listing", action="store_true")
    asked = parser.parse_args()
    if asked.listing:
        measure_lists()
        return
    with tempfile.TemporaryDirectory() as folder:
        environ, work, paths = make_world(Path(folder), asked.skills)
        groups = [
            measure_start(environ, work, asked.starts),
            measure_answers(environ, Path(folder) / "state", work, paths),
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
