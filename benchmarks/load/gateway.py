"""What a gateway takes: throughput, waiting times and memory, beside baselines of the same run.

    python -m benchmarks.load.gateway [--clients 100] [--skills 200] [--seconds 30] [--json FILE]

A real `prowess serve`, real sockets, clients in another process; among them some who do not read
and one who is thrown out again and again. Machines are noisy and all of it shares this one, so a
time alone promises nothing: it stands beside one client alone, beside a bare server that sends the
same bytes to as many clients, and beside writing the same answer as JSON once. Memory needs
`--seconds 600`: whether it is flat is only said of a run that is long enough.
"""

import argparse
import json
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Timer
from typing import Any

from benchmarks.load.clients import ECHO, ROUTE, STATUS, Plan
from benchmarks.load.figures import MemoryWatch
from benchmarks.load.world import World, make_world
from benchmarks.speed.core import median_ms

_SLOW, _HOSTILE = 3, 1
_START_SECONDS, _STOP_SECONDS = 120, 30


@contextmanager
def started(
    command: Sequence[str], *, environ: dict[str, str] | None = None, folder: Path | None = None
) -> Iterator[tuple[int, str]]:
    """Start a server that prints its address as JSON; stop it at the end as a person would."""
    child = subprocess.Popen(
        [sys.executable, *command], env=environ, cwd=folder, stdout=subprocess.PIPE, text=True
    )
    # Who never says its address would be waited for without end.
    patience = Timer(_START_SECONDS, child.kill)
    patience.start()
    try:
        address = _address(child)
        patience.cancel()
        yield child.pid, address.replace("http", "ws", 1)
    finally:
        patience.cancel()
        child.send_signal(signal.SIGTERM)
        try:
            child.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        if child.stdout is not None:
            child.stdout.close()


def _address(child: "subprocess.Popen[str]") -> str:
    said = child.stdout.readline() if child.stdout is not None else ""
    if said:
        address: str = json.loads(said)["address"]
        return address
    raise RuntimeError(f"{child.args!r} ended before it listened: run it by hand to see why")


def ask(plan: Plan) -> dict[str, Any]:
    """Run the clients of a plan in a process of their own and return what they saw."""
    told = subprocess.run(
        [sys.executable, "-m", "benchmarks.load.clients"],
        input=plan.text(),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    figures: dict[str, Any] = json.loads(told.stdout)
    return figures


def measure(world: World, asked: argparse.Namespace, token: str) -> dict[str, Any]:
    """Measure one client alone, the crowd, the bare server and plain JSON, in this order."""
    serve = ["-m", "prowess", "serve", "--port", "0", "--json", "-w", str(world.workspace)]
    short = max(1.0, min(5.0, asked.seconds / 6))
    with started(serve, environ=world.environ, folder=world.workspace) as (process, address):
        single = Plan(
            url=f"{address}/ws", seconds=short, clients=1, skills=asked.skills, token=token
        )
        alone = ask(single)
        crowd = replace(
            single,
            seconds=asked.seconds,
            clients=asked.clients,
            slow=min(_SLOW, asked.clients),
            hostile=_HOSTILE,
            probes=1,
        )
        watch = MemoryWatch(process)
        watch.start()
        load = ask(crowd)
        memory = watch.stop()
    same = world.state / "same.json"
    same.write_text(json.dumps({"x": "y" * load["statusBytes"]}), encoding="utf-8")
    with started(["-m", "benchmarks.load.echo", str(same)]) as (_, address):
        echo = ask(Plan(url=address, seconds=short, clients=asked.clients, bare=True))
    encode = round(_encode_ms(world), 3)
    return {"alone": alone, "load": load, "echo": echo, "memory": memory, "encodeMs": encode}


def _encode_ms(world: World) -> float:
    """Return what it takes to write the same status as JSON once."""
    command = ["-m", "prowess", "list", "--json", "-w", str(world.workspace)]
    told = subprocess.run(
        [sys.executable, *command], env=world.environ, stdout=subprocess.PIPE, text=True, check=True
    )
    value = json.loads(told.stdout)
    return median_ms(lambda: json.dumps(value, ensure_ascii=False, separators=(",", ":")), 20)


def ratios(figures: dict[str, Any]) -> dict[str, float]:
    """Return the figures of the load over those of the baselines."""
    load, alone = figures["load"]["methods"], figures["alone"]["methods"]
    echo = figures["echo"]["methods"][ECHO]
    # What the gateway takes for one more status, while a crowd waits.
    each_ms = 1000 / max(figures["load"]["perSecond"], 0.1)
    return {
        "status p50, crowd to one client": _over(load[STATUS]["p50"], alone[STATUS]["p50"]),
        "route p50, crowd to one client": _over(load[ROUTE]["p50"], alone[ROUTE]["p50"]),
        "status p99 to its p50": _over(load[STATUS]["p99"], load[STATUS]["p50"]),
        "status p50, gateway to bare server": _over(load[STATUS]["p50"], echo["p50"]),
        "answers a second, gateway to bare server": _over(
            figures["load"]["perSecond"], echo["perSecond"]
        ),
        "time of an answer to one json.dumps of a status": _over(each_ms, figures["encodeMs"]),
    }


def _over(value: float, base: float) -> float:
    return round(value / base, 3) if base else 0.0


def _say(figures: dict[str, Any]) -> None:
    print(f"{'':<34}{'count':>9}{'per s':>9}{'p50 ms':>9}{'p95 ms':>9}{'p99 ms':>9}{'max ms':>9}")
    for part in ("alone", "echo", "load"):
        for name, row in figures[part]["methods"].items():
            shown = "".join(
                f"{row[key]:>9.1f}" for key in ("perSecond", "p50", "p95", "p99", "max")
            )
            print(f"{part + ': ' + name:<34}{row['count']:>9}{shown}")
    load, memory = figures["load"], figures["memory"]
    print(f"answers a second: {load['perSecond']}, of a status {load['statusBytes']} bytes")
    print(f"errors: {load['errors'] or 'none'}; others: {load['counts']}")
    minutes = " ".join(f"{held:.1f}" for held in memory["minutesMiB"]) or "(under a minute)"
    print(f"memory MiB: start {memory['startMiB']}, minutes {minutes}, end {memory['endMiB']}")
    verdict = {True: "flat", False: "NOT FLAT", None: "run too short to judge"}[memory["flat"]]
    print(
        f"memory slope: {memory['slopeMiBPerMinute']} MiB a minute,"
        f" bound {memory['boundMiBPerMinute']}: {verdict}"
    )
    for name, ratio in figures["ratios"].items():
        print(f"{name:<50}{ratio:>9.2f} x")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and return 1 where an answer was wrong or memory grew."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=100)
    parser.add_argument("--skills", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args(arguments)
    token = secrets.token_urlsafe(16)
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        figures = measure(make_world(Path(folder), asked.skills, token), asked, token)
    plan = {"clients": asked.clients, "skills": asked.skills, "seconds": asked.seconds}
    took = round(time.perf_counter() - began, 1)
    figures = {"asked": plan, "tookSeconds": took, **figures, "ratios": ratios(figures)}
    _say(figures)
    if asked.json:
        asked.json.write_text(json.dumps(figures, indent=2), encoding="utf-8")
    return int(bool(figures["load"]["errors"]) or figures["memory"]["flat"] is False)


if __name__ == "__main__":
    sys.exit(main())
