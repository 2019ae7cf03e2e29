"""`serve` (the gateway), `mcp` (skills for clients of that protocol) and `lsp` (for editors).

Standard output of `mcp` and `lsp` belongs to the protocol: what is said goes to standard error.

`db`: the database of a fleet of gateways, made, looked at, filled and checked.
"""

import sys
import webbrowser
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from prowess.cli.render import ProgressBar, print_error, print_json, print_raw, print_text, silence
from prowess.cli.terminal import CommandGroup, json_option, log_options, workspace_option
from prowess.errors import PathError, StoreError
from prowess.wire.skills import compact, pick
from prowess.wiring import Runtime, open_runtime

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prowess.host.store.database import Database
    from prowess.wiring.serve import ServedGateway


_EPILOG = (
    'Example, in a client\'s settings: {"mcpServers": {"prowess": {"command": "prowess", "args":'
    ' ["mcp"]}}}'
)


@click.command("mcp", epilog=_EPILOG)
@click.option(
    "-a", "--agent", metavar="ID", help="The agent to answer for; by default the default one."
)
@workspace_option
def mcp_command(workspace: str | None, agent: str | None) -> int:
    """Serve skills to an MCP client on standard input and output.

    The client starts this command by itself: its settings name it, and `prowess connect` writes
    them. Clients get the skills extension (io.modelcontextprotocol/skills), the tools find_skills,
    load_skill and read_skill_file, skill_workshop where the workshop is on, and a prompt for each
    skill that people may call. A gateway (`prowess serve`) serves the same at /mcp.
    """
    if sys.stdin is None:
        raise click.UsageError("there is no standard input: an MCP client starts this with pipes")
    if sys.stdin.isatty():
        print_error(
            "this command waits for a client that speaks MCP: put it into the client's settings"
            " (`prowess connect`). Ctrl-C stops it."
        )
    from prowess.cli.harness.mcp_lane import greet
    from prowess.wiring.mcp import serve_stdio

    words = [word for word in (workspace, agent) if word is not None]
    with greet(words) as greeting:
        serve_stdio(greeting, workspace, agent)
    return 0


@click.command("lsp")
@workspace_option
def lsp_command(workspace: str | None) -> int:
    """Serve an editor that speaks the Language Server Protocol, on standard input and output.

    The editor starts this command by itself, for Markdown files. It gets what `validate`, `scan`
    and `fresh` say of a SKILL.md while it is written, the path of `why` under the pointer, the keys
    of the frontmatter, and quick fixes. Needs a package: `pip install 'prowess[lsp]'`.
    """
    try:
        from prowess.wiring.lsp import serve_editor
    except ModuleNotFoundError as error:
        if error.name not in {"pygls", "lsprotocol"}:
            raise
        raise PathError(
            "prowess lsp", "needs a package: run `pip install 'prowess[lsp]'`."
        ) from error
    if sys.stdin is None:
        raise click.UsageError("there is no standard input: an editor starts this with pipes")
    if sys.stdin.isatty():
        print_error(
            "this command waits for an editor that speaks the Language Server Protocol: put it into"
            " the editor's settings. Ctrl-C stops it."
        )
    serve_editor(workspace)
    return 0


@click.command("serve")
@click.option(
    "--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Where to listen."
)
@click.option(
    "--port", default=18789, show_default=True, type=click.IntRange(0, 65535), help="0: a free one."
)
@click.option(
    "--token",
    default="",
    metavar="T",
    help="What clients must know; better in PROWESS_GATEWAY_TOKEN, since others see arguments.",
)
@click.option("--hub", "has_hub", is_flag=True, help="Serve a hub too (see prowess hub).")
@click.option("--open", "opens", is_flag=True, help="Open the page in a browser.")
@click.option("--json", "as_json", is_flag=True, help="Print the address as JSON.")
@log_options
@workspace_option
def serve_command(
    *,
    opens: bool,
    as_json: bool,
    # The fields of a request are called as the options.
    **request: Any,  # noqa: ANN401
) -> int:
    """Run the gateway: WebSocket, HTTP and events for every client, in one process.

    It listens on this machine alone unless --host says otherwise, which needs a token. Stop it with
    Ctrl-C: no write is cut, and clients are told. Its log goes to standard error, one line for each
    event. With OTEL_EXPORTER_OTLP_ENDPOINT set (and prowess[otel] installed) traces and metrics go
    there.

    Example: prowess serve --port 0
    """
    # Late: the web server is needed by this command alone.
    from prowess.wiring import serve as serving

    def ready(address: str, gateway: "ServedGateway") -> None:
        try:
            say_address(address, gateway, as_json=as_json)
            # At once, also into a pipe: whoever started it waits for the address.
            sys.stdout.flush()
        except OSError:
            # Nobody reads it; clients are served all the same.
            silence()
        if opens:
            webbrowser.open(address)

    serving.serve(serving.ServeRequest(**request), ready)
    if not as_json:
        print_text("stopped.", "dim")
    return 0


def say_address(address: str, gateway: "ServedGateway", *, as_json: bool) -> None:
    """Tell who started it where the gateway and its page are."""
    report = gateway.runtime.skills.status()
    usable = sum(row.usable for row in report.skills)
    needs_token = bool(gateway.options.token or gateway.options.password)
    if as_json:
        # On one line, since more may follow: a program reads it without waiting for the end.
        said = {
            "address": address,
            "studio": f"{address}/" if gateway.has_page else None,
            "token": needs_token,
            "skills": len(report.skills),
        }
        print_raw(compact(said))
        return
    print_text(f"Prowess gateway at {address}", "bold")
    if gateway.has_page:
        asks = "; the page asks for the token" if needs_token else ""
        print_text(f"  Studio {address}/ (open it in a browser{asks})")
    socket = address.replace("http", "ws", 1)
    print_text(f"  WebSocket {socket}/ws, HTTP {address}/rpc, /health and /metrics")
    print_text(f"  MCP {address}/mcp")
    print_text(f"  {usable} of {len(report.skills)} skills ready for agent {report.agent_id}")
    if needs_token:
        print_text("  Clients need the token.")
    else:
        print_text("  No token: only programs on this machine can connect.", "yellow")
    print_text("  Ctrl-C stops it.", "dim")


_FAILED = 1


@click.group("db", cls=CommandGroup)
def db_command() -> None:
    """Make, move and check the database of a fleet of gateways.

    Its address is PROWESS_DATABASE_URL, or state.databaseUrl in the config. Without one, a gateway
    keeps its state in files of its state folder and needs none of this.
    """


@contextmanager
def _open() -> "Iterator[tuple[Runtime, Database]]":
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
    with _open() as (_, database):
        before = migrate(database, steps.append)
    if as_json:
        print_json({**pick(before, "version=before wanted=now"), "steps": len(steps)})
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
        **pick(state, "server vector=pgvector version=schema wanted is_current"),
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

    with _open() as (runtime, database), ProgressBar() as bar:
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

    with _open() as (_, database):
        found = find_problems(database)
    if as_json:
        rows = [pick(one, "what=problem advice") for one in found]
        print_json({"address": database.name, "ok": not found, "problems": rows})
    elif found:
        for one in found:
            print_text(f"{one.what}: {one.advice}.", "red")
    else:
        print_text(f"{database.name}: nothing is wrong.", "green")
    return _FAILED if found else 0
