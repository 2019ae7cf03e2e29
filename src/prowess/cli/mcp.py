"""`mcp`: the skills of an agent for a client that speaks the Model Context Protocol.

Standard output belongs to the protocol: whatever is said goes to standard error.
"""

import sys
from importlib import import_module

import click

from prowess.cli.options import workspace_option
from prowess.cli.render import print_error

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
    import_module("prowess.wiring.mcp").serve_stdio(workspace, agent)
    return 0
