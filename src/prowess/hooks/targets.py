"""Where each harness keeps hooks and MCP servers, and how an entry of ours is written there.

The files and entries are in `targets.toml`; here they get what is known of this machine.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from prowess.data import read_table, read_text
from prowess.hooks.harness import LIMIT_VARIABLE, Harness
from prowess.hooks.registrations import OWN_TEXT, ConnectScope, Format, Program, SettingsTarget

_FILES = "hooks/targets.toml"
_MS = 1_000
# Whose hooks of a project a harness runs besides its own: these two look at every file in
# `.github/hooks`, and one of them at the settings of Claude Code as well.
ALSO_READ_BY: Mapping[Harness, tuple[Harness, ...]] = {
    Harness.COPILOT: (Harness.VSCODE, Harness.CLAUDE_CODE),
    Harness.VSCODE: (Harness.COPILOT,),
}
# Who runs a command once, though both the user's settings and the project's name it.
RUNS_ONCE = frozenset((Harness.CLAUDE_CODE, Harness.GEMINI, Harness.QWEN))
_HINTS = {
    (Harness.VSCODE, ConnectScope.USER): (
        "VS Code has no file of its own for the hooks of a user: it reads those of Claude Code"
        " (`prowess connect claude-code`) and of projects (--project)."
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HarnessHomes:
    """The folders in which harnesses look, absolute and without a slash at their end."""

    project: str
    home: str
    # Of the harness itself; variables can move them.
    claude: str
    codex: str
    copilot: str
    vscode: str
    opencode: str
    openclaw: str
    # The state file of Claude Code, which holds the MCP servers of a user.
    claude_state: str


def default_scope(harness: Harness) -> ConnectScope:
    """Return whom a connection is for where nobody says: one user, in every project.

    A project's settings are shared with others, who may not have Prowess. VS Code has hooks in
    projects alone.
    """
    return ConnectScope.PROJECT if harness is Harness.VSCODE else ConnectScope.USER


def hint(harness: Harness, scope: ConnectScope) -> str:
    """Return what cannot be connected in this scope and where it can, or nothing."""
    return _HINTS.get((harness, scope), "")


def targets(
    harness: Harness, scope: ConnectScope, places: HarnessHomes, program: Program
) -> tuple[SettingsTarget, ...]:
    """Return the settings files of a harness, with what of ours belongs into each."""
    files = [file for file in read_table(_FILES)[harness.value] if scope.value in file]
    return tuple(
        _target(file, harness, _fill_known(file[scope.value], places, program)) for file in files
    )


def home_of(harness: Harness, places: HarnessHomes) -> str:
    """Return the folder that is there once the harness was started on this machine."""
    path: str = read_table(_FILES)["homes"][harness.value]
    return path.format_map(asdict(places))


class _Known(NamedTuple):
    """What is known when a file is written."""

    path: str
    program: Program
    # By its name in braces.
    values: Mapping[str, Any]


def _fill_known(path: str, places: HarnessHomes, program: Program) -> _Known:
    command, arguments = program.mcp
    values = {
        "{command}": command,
        "{args}": list(arguments),
        "{all}": [command, *arguments],
        "{powershell}": program.line_in_powershell,
    }
    return _Known(path.format_map(asdict(places)), program, values)


def _target(file: Mapping[str, Any], harness: Harness, known: _Known) -> SettingsTarget:
    text = read_text(file["text_of"]) if "text_of" in file else ""
    if "json" in file:
        text = json.dumps(_fill(file["json"], {}), indent=2) + "\n"
    if "asks_at" in file:
        text = _write_plugin(harness, known.program)
    hooks = {event["name"]: _entry(file, event, known) for event in file.get("events", ())}
    lists = ("servers", "plugins", "watched", "former")
    return SettingsTarget(
        path=known.path,
        format=Format.TEXT if text else Format(file.get("format", "json")),
        hooks=hooks or {event: {} for event in file.get("asks_at", ())},
        head=file.get("head", {}),
        nested=file.get("nested", False),
        server=_fill(file.get("server", {}), known.values),
        plugin=file.get("plugin", {}),
        text=text,
        is_for_server=file.get("is_for_server", False),
        **{name: tuple(file.get(name, ())) for name in lists},
    )


def _entry(file: Mapping[str, Any], event: Mapping[str, Any], known: _Known) -> dict[str, Any]:
    seconds = event.get("seconds", read_table(_FILES)["waits"])
    values = {
        **known.values,
        "{line}": known.program.line(seconds - 1),
        "{seconds}": seconds,
        "{milliseconds}": seconds * _MS,
    }
    handler = {**_fill(file["entry"], values), **event.get("more", {})}
    # Where handlers are nested they are listed inside an entry of the event.
    return {**event.get("around", {}), "hooks": [handler]} if file.get("nested") else handler


# Whatever a table may hold.
def _fill(value: Any, values: Mapping[str, Any]) -> Any:  # noqa: ANN401
    if isinstance(value, dict):
        return {key: _fill(inner, values) for key, inner in value.items()}
    if isinstance(value, str):
        return values.get(value, value.replace("{own}", OWN_TEXT))
    return value


def _write_plugin(harness: Harness, program: Program) -> str:
    """Return a file of ours that a harness loads, and that calls us at some events."""
    text = read_text("hooks/plugins/ask.js")
    for mark, meant in (
        ("HARNESS", harness.value),
        ("COMMAND = []", f"COMMAND = {json.dumps([*program.words, 'hook'])}"),
        ("SECONDS = 0", f"SECONDS = {read_table(_FILES)['waits'] - 1}"),
        ("LIMIT_VARIABLE", LIMIT_VARIABLE),
    ):
        text = text.replace(mark, meant)
    return text + read_text(f"hooks/plugins/{harness.value}.js")
