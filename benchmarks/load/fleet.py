"""What a fleet takes: 1, 2 and 4 gateways on one PostgreSQL, beside one gateway on its own files.

    python -m benchmarks.load.fleet [--clients 500] [--skills 200] [--seconds 30] [--writes 400]

Real `prowess serve` processes, a real PostgreSQL that waits for the disk, WebSocket clients in
processes of their own. Everything shares this machine, so times stand as ratios to one gateway on
SQLite in the same run; more gateways than processors cannot be faster than one.

Then writers propose skills to two gateways while one gateway is killed and the database crashes and
comes back. What was acknowledged is counted, and looked for in the log of the database: each must
be there, once.
"""

import argparse
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.error import URLError

import sqlalchemy as sa
from benchmarks.load.clients import ROUTE, STATUS, Plan
from benchmarks.load.figures import MemoryWatch
from benchmarks.load.gateway import ask, started
from benchmarks.load.world import World, make_world
from tests.integration.postgres_world import PostgresProcess, new_database, running_postgres

from prowess.host.store.database import open_database
from prowess.host.store.fleet.administration import migrate

_PATIENCE_S = 180.0
_WRITERS = 4


def _member(world: World, name: str, url: str) -> World:
    """Return the same workspace and home with a state folder of its own."""
    state = world.state.parent / name
    shutil.copytree(world.state, state)
    environ = {**world.environ, "PROWESS_HOME": str(state), "PROWESS_DATABASE_URL": url}
    return World(workspace=world.workspace, state=state, environ=environ)


def serve(world: World) -> AbstractContextManager[tuple[int, str]]:
    """Run a gateway; its process and the address for WebSockets."""
    command = ["-m", "prowess", "serve", "--port", "0", "--json", "--log-level", "error"]
    command += ["-w", str(world.workspace)]
    return started(command, environ=world.environ, folder=world.workspace)


def measure_crowd(worlds: Sequence[World], asked: argparse.Namespace, token: str) -> dict[str, Any]:
    """Let the clients, spread over the gateways, ask for the same time; return what they saw."""
    with ExitStack() as stack:
        served = [stack.enter_context(serve(world)) for world in worlds]
        plans = [
            Plan(
                url=f"{address}/ws",
                seconds=asked.seconds,
                clients=max(1, asked.clients // len(worlds)),
                skills=asked.skills,
                token=token,
            )
            for _, address in served
        ]
        watches = [MemoryWatch(process) for process, _ in served]
        for watch in watches:
            watch.start()
        with ThreadPoolExecutor(len(plans)) as pool:
            seen = list(pool.map(ask, plans))
        memory = [watch.stop() for watch in watches]
    errors: Counter[str] = Counter()
    for one in seen:
        errors.update(one["errors"])
    return {
        "gateways": len(worlds),
        "clients": sum(plan.clients for plan in plans),
        "perSecond": round(sum(one["perSecond"] for one in seen), 1),
        "p95": {
            method: max(one["methods"][method]["p95"] for one in seen) for method in (STATUS, ROUTE)
        },
        "errors": dict(errors),
        "memory": memory,
    }


@dataclass(slots=True)
class Written:
    """What writers were told."""

    acknowledged: dict[str, str] = field(default_factory=dict)
    refused: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)


def _propose(address: str, token: str, name: str) -> str:
    """Propose a skill; return the id that was acknowledged.

    Raises:
        OSError: nobody answered, or the answer was a refusal.
    """
    params = {"name": name, "description": f"About {name}.", "content": f"# {name}\n\nDo {name}.\n"}
    frame = {"type": "req", "id": "w", "method": "skills.proposals.create", "params": params}
    request = urllib.request.Request(  # noqa: S310
        f"{address.replace('ws', 'http', 1)}/rpc",
        data=json.dumps(frame).encode(),
        headers={"Content-Type": "application/json", "Authorization": f"Bearer {token}"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
        found: str = json.loads(answer.read())["payload"]["record"]["id"]
    return found


def _write_all(
    names: Sequence[str], addresses: Sequence[str], token: str, written: Written
) -> None:
    """Propose each name, asking again elsewhere until somebody acknowledges it."""
    turn = 0
    for name in names:
        until = time.monotonic() + _PATIENCE_S
        while name not in written.acknowledged:
            turn += 1
            try:
                found = _propose(addresses[turn % len(addresses)], token, name)
            except (OSError, URLError) as error:
                with written.lock:
                    written.refused[_kind(error)] += 1
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)
                continue
            with written.lock:
                written.acknowledged[name] = found


def _kind(error: OSError) -> str:
    status = getattr(error, "code", None)
    return f"status {status}" if status else "no answer"


def _wait_for(written: Written, count: int) -> None:
    until = time.monotonic() + _PATIENCE_S
    while len(written.acknowledged) < count:
        if time.monotonic() > until:
            raise RuntimeError("writers do not get on: look at the gateways by hand")
        time.sleep(0.01)


def measure_kills(
    worlds: Sequence[World], server: PostgresProcess, url: str, writes: int
) -> dict[str, Any]:
    """Kill a gateway and crash the database while others write; count what was acknowledged."""
    names = [f"note-{number:05}" for number in range(writes)]
    written, token = Written(), worlds[0].environ["PROWESS_GATEWAY_TOKEN"]
    with ExitStack() as stack:
        served = [stack.enter_context(serve(world)) for world in worlds]
        addresses = [address for _, address in served]
        pool = stack.enter_context(ThreadPoolExecutor(_WRITERS))
        parts = [names[start::_WRITERS] for start in range(_WRITERS)]
        work = [pool.submit(_write_all, part, addresses, token, written) for part in parts]
        _wait_for(written, writes // 4)
        os.kill(served[-1][0], signal.SIGKILL)
        _wait_for(written, writes // 2)
        server.stop(signal.SIGQUIT)
        at_crash = len(written.acknowledged)
        server.start()
        began = time.monotonic()
        _wait_for(written, at_crash + 1)
        recovery = time.monotonic() - began
        for one in work:
            one.result()
    created = _count_created(url)
    ids = list(written.acknowledged.values())
    return {
        "acknowledged": len(ids),
        "found": sum(created[one] == 1 for one in ids),
        "lost": sum(created[one] == 0 for one in ids),
        "twice": sum(count > 1 for count in created.values()) + len(ids) - len(set(ids)),
        "inDatabase": len(created),
        "refused": dict(written.refused),
        "secondsToWriteAgain": round(recovery, 1),
    }


def _count_created(url: str) -> Counter[str]:
    database = open_database(url)
    query = "SELECT proposal_id FROM workshop_events WHERE kind = 'created'"
    with database.engine.connect() as connection:
        created = Counter(connection.scalars(sa.text(query)))
    database.close()
    return created


def measure(world: World, asked: argparse.Namespace, token: str) -> dict[str, Any]:
    """Measure one gateway on files, then fleets of several sizes, then the kills."""
    figures: dict[str, Any] = {"sqlite": measure_crowd([world], asked, token), "postgresql": []}
    with running_postgres(durable=True) as server:
        for count in asked.gateways:
            with new_fleet(world, server, count, f"crowd-{count}") as (worlds, _):
                figures["postgresql"].append(measure_crowd(worlds, asked, token))
        with new_fleet(world, server, 2, "kills") as (worlds, url):
            figures["kills"] = measure_kills(worlds, server, url, asked.writes)
    return figures


@contextmanager
def new_fleet(
    world: World, server: PostgresProcess, count: int, name: str
) -> Iterator[tuple[list[World], str]]:
    """Make a database and a state folder for each of some gateways; with its address."""
    with new_database(server.url) as url:
        database = open_database(url)
        migrate(database)
        database.close()
        yield [_member(world, f"{name}-{number}", url) for number in range(count)], url


def ratios(figures: dict[str, Any]) -> dict[str, float]:
    """Return the figures of each fleet over those of one gateway on its own files."""
    base, found = figures["sqlite"], {}
    for fleet in figures["postgresql"]:
        count = fleet["gateways"]
        found[f"answers a second, {count} on PostgreSQL"] = _over(
            fleet["perSecond"], base["perSecond"]
        )
        for method in (STATUS, ROUTE):
            found[f"p95 of {method}, {count} on PostgreSQL"] = _over(
                fleet["p95"][method], base["p95"][method]
            )
    return found


def _over(value: float, base: float) -> float:
    return round(value / base, 2) if base else 0.0


def _say(figures: dict[str, Any]) -> None:
    for fleet in (figures["sqlite"], *figures["postgresql"]):
        where = "SQLite" if fleet is figures["sqlite"] else "PostgreSQL"
        p95 = ", ".join(f"{name} {value:.0f} ms" for name, value in fleet["p95"].items())
        held = ", ".join(f"{one['startMiB']} to {one['endMiB']}" for one in fleet["memory"])
        print(
            f"{fleet['gateways']} on {where}: {fleet['clients']} clients,"
            f" {fleet['perSecond']} answers a second, p95 {p95}, memory MiB {held},"
            f" errors {fleet['errors'] or 'none'}"
        )
    for name, ratio in figures["ratios"].items():
        print(f"{name:<50}{ratio:>9.2f} x")
    print("kills:", json.dumps(figures["kills"]))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and return 1 where an answer was wrong or a write was lost or made twice."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=500)
    parser.add_argument("--skills", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--writes", type=int, default=400)
    parser.add_argument("--gateways", type=int, nargs="*", default=[1, 2, 4])
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args(arguments)
    token = secrets.token_urlsafe(16)
    with tempfile.TemporaryDirectory() as folder:
        world = make_world(Path(folder), asked.skills, token)
        enable_workshop(world)
        figures = measure(world, asked, token)
    figures = {"asked": {**vars(asked), "json": None}, **figures, "ratios": ratios(figures)}
    _say(figures)
    if asked.json:
        asked.json.write_text(json.dumps(figures, indent=2), encoding="utf-8")
    kills, fleets = figures["kills"], [figures["sqlite"], *figures["postgresql"]]
    is_wrong = kills["lost"] or kills["twice"] or any(one["errors"] for one in fleets)
    return int(bool(is_wrong))


def enable_workshop(world: World) -> None:
    """Let clients propose skills."""
    command = ["-m", "prowess", "workshop", "enable"]
    subprocess.run([sys.executable, *command], env=world.environ, check=True, stdout=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
