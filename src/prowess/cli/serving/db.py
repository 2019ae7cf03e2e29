"""`db`: the database of a fleet of gateways, made, looked at, filled and checked."""

from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from prowess.cli.options import json_option
from prowess.cli.render import ProgressBar, print_json, print_text
from prowess.cli.terminal import CommandGroup
from prowess.errors import StoreError
from prowess.wiring import Runtime, open_runtime

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prowess.host.store.database import Database

_FAILED = 1


@click.group("db", cls=CommandGroup)
def db_command() -> None:
    """Make, move and check the database of a fleet of gateways.

    Its address is PROWESS_DATABASE_URL, or state.databaseUrl in the config. Without one, a gateway
    keeps its state in files of its state folder and needs none of this.
    """


@contextmanager
def _opened() -> "Iterator[tuple[Runtime, Database]]":
    with open_runtime() as runtime:
        if not runtime.state.database_url:
            raise StoreError(
                "PROWESS_DATABASE_URL",
                "is not set: give the address of a PostgreSQL database, such as"
                " postgresql://user:password@host/prowess.",
            )
        yield runtime, runtime.state.open_database()


@db_command.command("migrate")
@json_option
def db_migrate_command(*, as_json: bool) -> int:
    """Make the tables of an empty database, or bring older ones to this Prowess.

    Forward only, each step whole or not at all, one process at a time. Make a backup first
    (pg_dump): an older Prowess cannot read what a newer one made.
    """
    from prowess.host.store.fleet.administration import migrate

    steps: list[str] = []
    with _opened() as (_, database):
        before = migrate(database, steps.append)
    if as_json:
        print_json({"before": before.version, "now": before.wanted, "steps": len(steps)})
    elif steps:
        print_text(f"{before.version or 'nothing'} -> {before.wanted}: {database.name}", "green")
    else:
        print_text(f"{database.name} has schema {before.wanted}: nothing to do.")
    return 0


@db_command.command("status")
@json_option
def db_status_command(*, as_json: bool) -> int:
    """Show where the state is, which schema it has, and how much is in it.

    Exit code 0 when it can be used, 1 when it cannot.
    """
    from prowess.host.store.fleet.administration import read_state

    with open_runtime() as runtime:
        if not runtime.state.database_url:
            return _show_files(runtime, as_json=as_json)
        database = runtime.state.open_database()
        state = read_state(database)
        rows = _count(database) if state.is_current else {}
    said = {
        "engine": "postgresql",
        "address": database.name,
        "server": state.server,
        "pgvector": state.vector,
        "schema": state.version,
        "wanted": state.wanted,
        "current": state.is_current,
        "rows": dict(rows),
    }
    if as_json:
        print_json(said)
        return 0 if state.is_current else _FAILED
    print_text(f"{database.name}", "bold")
    print_text(f"  PostgreSQL {state.server}, pgvector {state.vector or 'missing'}")
    if not state.is_current:
        has = f"schema {state.version}" if state.version else "no tables"
        print_text(f"  has {has}, needs {state.wanted}: {state.advice}.", "yellow")
        return _FAILED
    print_text(f"  schema {state.version}, as this Prowess needs it")
    for name, count in rows.items():
        print_text(f"  {count:>9,}  {name}")
    return 0


def _count(database: "Database") -> "dict[str, int]":
    from prowess.host.store.fleet.administration import count_rows

    return dict(count_rows(database))


def _show_files(runtime: Runtime, *, as_json: bool) -> int:
    sizes = runtime.state.measure_files()
    if as_json:
        print_json({"engine": "sqlite", "address": runtime.folders.state, "bytes": sizes})
        return 0
    print_text(runtime.folders.state, "bold")
    print_text("  files of this machine (no PROWESS_DATABASE_URL, no state.databaseUrl)")
    for name, size in sizes.items():
        print_text(f"  {size:>11,} bytes  {name}")
    return 0


@db_command.command("copy")
@json_option
def db_copy_command(*, as_json: bool) -> int:
    """Copy the state of this machine's files into an empty database, all of it or nothing.

    Stop the gateway first. The files stay as they are: without the address they are used again.
    """
    from prowess.host.store.fleet.administration import copy_files

    with _opened() as (runtime, database), ProgressBar() as bar:
        done = copy_files(runtime.folders.state, database, bar)
        if runtime.state.files is not None:
            runtime.state.files.sync()
    if as_json:
        print_json({"address": database.name, "rows": dict(done)})
        return 0
    for name, count in sorted(done.items()):
        print_text(f"  {count:>9,}  {name}")
    print_text(f"{sum(done.values()):,} rows copied to {database.name}.", "green")
    return 0


@db_command.command("check")
@json_option
def db_check_command(*, as_json: bool) -> int:
    """Go through the whole database: tables, counters, rows that belong together, connections.

    Exit code 0 when nothing is wrong, 1 when something is.
    """
    from prowess.host.store.fleet.administration import find_problems

    with _opened() as (_, database):
        found = find_problems(database)
    if as_json:
        rows = [{"problem": one.what, "advice": one.advice} for one in found]
        print_json({"address": database.name, "ok": not found, "problems": rows})
    elif found:
        for one in found:
            print_text(f"{one.what}: {one.advice}.", "red")
    else:
        print_text(f"{database.name}: nothing is wrong.", "green")
    return _FAILED if found else 0
