"""`hook`: what coding agents call at their prompts and sessions.

The plain `prowess hook` never comes here: it takes the fast lane before this is imported. Here is
its help, and the part that learns in the background.
"""

import os
import sys
from contextlib import suppress

import click

from prowess.cli.harness import hook_lane
from prowess.errors import ProwessError
from prowess.host.harness.call_records import place_to_index, place_to_learn
from prowess.host.harness.hook_client import current_folder, state_folder

_MOST_BYTES = 8 * 1024 * 1024
# Far above what a review by a model may take; nobody else ends a process that hangs.
_MOST_SECONDS = 600.0


@click.command("hook")
# For the processes that a hook leaves behind; nobody types them.
@click.option("--learn", is_flag=True, hidden=True)
@click.option("--index", is_flag=True, hidden=True)
def hook_command(*, learn: bool, index: bool) -> int:
    """Answer a hook of a coding agent: its payload on standard input, our answer on output.

    Claude Code, Codex, Cursor, Gemini CLI, Copilot CLI and VS Code are told apart by what they
    send. At a prompt the answer names the skills that fit, at the start of a session those that the
    agent does not list itself; at the end of a turn the workshop learns in the background, if it
    is on. Whatever goes wrong, the exit code is 0 and nothing is printed; `prowess doctor` says
    what did.

    `prowess connect` registers it. Example: prowess hook < payload.json
    """
    if not learn and not index:
        return hook_lane.run()
    hook_lane.limit_time(_MOST_SECONDS)
    current = current_folder()
    take_place, work = (place_to_index, _index) if index else (place_to_learn, _learn)
    with take_place(state_folder(os.environ, current)) as is_free:
        if is_free:
            work(current)
    return 0


def _index(current: str) -> None:
    from prowess.wiring.hook import index_alone

    # Nobody reads what a process in the background says; the next hook tries again.
    with suppress(ProwessError, OSError):
        index_alone(current)


def _learn(current: str) -> None:
    from prowess.wiring.hook import learn_alone

    # Nobody reads what a process in the background says; the workshop has its own log.
    with suppress(ProwessError, ValueError, OSError):
        learn_alone(sys.stdin.buffer.read(_MOST_BYTES), current)
