"""Whole gateways on one database: what they say and refuse while it is gone, and what is lost."""

import json
import signal
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest
from benchmarks.load.fleet import enable_workshop, measure_kills, new_fleet, serve
from benchmarks.load.world import World, make_world
from tests.integration.postgres_world import PostgresProcess, execute, running_postgres

from prowess.host.store.database import Database, open_database

TOKEN = "of-the-tests"  # noqa: S105


@pytest.fixture
def server() -> Iterator[PostgresProcess]:
    with running_postgres() as started:
        yield started


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = make_world(tmp_path, 2, TOKEN)
    enable_workshop(made)
    return made


def ask(address: str, path: str, frame: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
    # Our own gateway, by the address that it said itself.
    request = urllib.request.Request(  # noqa: S310
        address.replace("ws", "http", 1) + path,
        data=None if frame is None else json.dumps({"type": "req", "id": "1", **frame}).encode(),
        headers={"Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}"},
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
            return answer.status, json.loads(answer.read())
    except HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


def wait_until(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < until, "it never came to be"
        time.sleep(0.1)


def propose(address: str, name: str) -> tuple[int, dict[str, Any]]:
    params = {"name": name, "description": f"About {name}.", "content": f"# {name}\n\nDo it.\n"}
    return ask(address, "/rpc", {"method": "skills.proposals.create", "params": params})


def test_a_gateway_without_its_database_reads_refuses_to_write_and_recovers(
    server: PostgresProcess, world: World
) -> None:
    listed = {"method": "skills.proposals.list", "params": {}}
    with new_fleet(world, server, 1, "member") as ((member,), _), serve(member) as (_, address):
        assert ask(address, "/health/live") == (200, {"ok": True, "status": "live"})
        assert ask(address, "/health/ready")[1]["status"] == "ready"
        assert propose(address, "alpha")[0] == 200
        before = ask(address, "/rpc", listed)

        server.stop(signal.SIGQUIT)
        wait_until(lambda: ask(address, "/health")[1]["database"] == {"state": "lost"})

        assert ask(address, "/health/ready") == (
            200,
            {"ok": True, "status": "degraded", "database": "lost"},
        )
        assert ask(address, "/rpc", listed)[1]["payload"] == before[1]["payload"]
        assert ask(address, "/rpc", {"method": "skills.status", "params": {}})[0] == 200
        status = ask(address, "/rpc", {"method": "status", "params": {}})[1]["payload"]
        assert status["database"]["writes"] == "refused"
        refused, said = propose(address, "beta")
        assert refused == 503
        assert "start the server" in said["error"]["message"]

        server.start()
        wait_until(lambda: ask(address, "/health")[1]["database"] == {"state": "ok"})

        assert propose(address, "beta")[0] == 200
        assert len(ask(address, "/rpc", listed)[1]["payload"]["proposals"]) == 2


def test_no_acknowledged_write_is_lost_or_made_twice_when_both_are_killed(
    server: PostgresProcess, world: World
) -> None:
    with new_fleet(world, server, 2, "member") as (members, url):
        seen = measure_kills(members, server, url, 24)

    assert seen["acknowledged"] == seen["found"] == seen["inDatabase"] == 24
    assert (seen["lost"], seen["twice"]) == (0, 0)


# Each report and each vector that somebody worked out is written once by whoever did.
COUNTED = """
CREATE TABLE made (what text);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN INSERT INTO made VALUES (TG_TABLE_NAME || NEW.key); RETURN NEW; END $$;
CREATE TRIGGER made BEFORE INSERT OR UPDATE ON scan_reports FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER made BEFORE INSERT OR UPDATE OF vector ON vectors
FOR EACH ROW EXECUTE FUNCTION note();
"""


def test_gateways_that_start_at_once_scan_and_encode_everything_once(
    server: PostgresProcess, tmp_path: Path
) -> None:
    route = {"method": "skills.route", "params": {"message": "please review the invoice"}}
    world = make_world(tmp_path, 40, TOKEN)
    with new_fleet(world, server, 2, "member") as (members, url), ExitStack() as stack:
        database = open_database(url)
        execute(database, COUNTED)
        pool = stack.enter_context(ThreadPoolExecutor(2))
        served = list(pool.map(lambda one: stack.enter_context(serve(one)), members))
        answers = list(pool.map(lambda one: ask(one[1], "/rpc", route), served))
        wait_until(lambda: count_made(database, "scan_reports") >= 40)

        assert [status for status, _ in answers] == [200, 200]
        assert count_made(database, "vectors") > 40
        assert execute(database, "SELECT what FROM made GROUP BY what HAVING count(*) > 1") == []
        database.close()


def count_made(database: Database, table: str) -> int:
    made = {str(what) for (what,) in execute(database, "SELECT what FROM made")}
    return sum(what.startswith(table) for what in made)
