"""Where each harness keeps hooks and MCP servers, and how an entry of ours is written there.

Times to wait are in the harness's own unit: one counts milliseconds. What is registered is above
the limit of the line itself, which gives up first and without a word.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from prowess.data import read_text
from prowess.hooks.harness import LIMIT_VARIABLE, Harness
from prowess.hooks.registrations import (
    OWN_TEXT,
    ConnectScope,
    Format,
    Program,
    SettingsTarget,
)

# One harness allows no more at the end of a session.
_WAIT_S, _END_S = 8, 3
_MS = 1_000
# The harness lets a hook say this many tokens before it puts them into a file.
_CONTEXT_TOKENS = 2_500
_VERSION = {"version": 1}
# Whose hooks of a project a harness runs besides its own: these two look at every file in
# `.github/hooks`, and one of them at the settings of Claude Code as well.
ALSO_READ_BY: Mapping[Harness, tuple[Harness, ...]] = {
    Harness.COPILOT: (Harness.VSCODE, Harness.CLAUDE_CODE),
    Harness.VSCODE: (Harness.COPILOT,),
}
# Who runs a command once, though both the user's settings and the project's name it.
RUNS_ONCE = frozenset((Harness.CLAUDE_CODE, Harness.GEMINI, Harness.QWEN))
_HINTS = {
    (
        Harness.VSCODE,
        ConnectScope.USER,
    ): "VS Code has no file of its own for the hooks of a user: it reads"
    " those of Claude Code (`prowess connect claude-code`) and of projects (--project).",
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
    return _TABLE[harness](scope, places, program)


def home_of(harness: Harness, places: HarnessHomes) -> str:
    """Return the folder that is there once the harness was started on this machine."""
    return {
        Harness.CLAUDE_CODE: places.claude,
        Harness.CODEX: places.codex,
        Harness.CURSOR: f"{places.home}/.cursor",
        Harness.GEMINI: f"{places.home}/.gemini",
        Harness.COPILOT: places.copilot,
        Harness.VSCODE: places.vscode,
        Harness.QWEN: f"{places.home}/.qwen",
        Harness.OPENCODE: places.opencode,
        Harness.OPENCLAW: places.openclaw,
    }[harness]


def _claude_code(
    scope: ConnectScope, places: HarnessHomes, program: Program
) -> tuple[SettingsTarget, ...]:
    def entry(seconds: int, **more: object) -> dict[str, Any]:
        line = program.line(seconds - 1)
        return {"type": "command", "command": line, "timeout": seconds, **more}

    hooks: dict[str, dict[str, Any]] = {
        "SessionStart": {
            "matcher": "startup|resume|clear|compact|fork",
            "hooks": [entry(_WAIT_S)],
        },
        "UserPromptSubmit": {"hooks": [entry(_WAIT_S)]},
        "Stop": {"hooks": [entry(_WAIT_S, **{"async": True})]},
        "SessionEnd": {"hooks": [entry(_END_S)]},
    }
    settings = places.claude if scope is ConnectScope.USER else f"{places.project}/.claude"
    servers = places.claude_state if scope is ConnectScope.USER else f"{places.project}/.mcp.json"
    return (
        SettingsTarget(path=f"{settings}/settings.json", hooks=hooks, nested=True),
        SettingsTarget(
            path=servers, servers=("mcpServers",), server=_server(program, type="stdio")
        ),
    )


def _codex(
    scope: ConnectScope, places: HarnessHomes, program: Program
) -> tuple[SettingsTarget, ...]:
    def entry(seconds: int, **more: object) -> dict[str, Any]:
        line = program.line(seconds - 1)
        handler = {"type": "command", "command": line, "timeout": seconds, **more}
        return {"hooks": [handler]}

    hooks = {
        "SessionStart": entry(_WAIT_S, additionalContextLimit=_CONTEXT_TOKENS),
        "UserPromptSubmit": entry(_WAIT_S, additionalContextLimit=_CONTEXT_TOKENS),
        "Stop": entry(_WAIT_S),
        "SessionEnd": entry(_END_S),
    }
    folder = places.codex if scope is ConnectScope.USER else f"{places.project}/.codex"
    return (
        SettingsTarget(path=f"{folder}/hooks.json", hooks=hooks, nested=True),
        SettingsTarget(
            path=f"{folder}/config.toml",
            format=Format.TOML,
            servers=("mcp_servers",),
            server=_server(program),
            # It reads hooks from both files, and people write them into this one.
            watched=tuple(hooks),
            nested=True,
        ),
    )


def _cursor(
    scope: ConnectScope, places: HarnessHomes, program: Program
) -> tuple[SettingsTarget, ...]:
    def entry(seconds: int) -> dict[str, Any]:
        return {"command": program.line(seconds - 1), "timeout": seconds}

    hooks = {
        "sessionStart": entry(_WAIT_S),
        "beforeSubmitPrompt": entry(_WAIT_S),
        "stop": entry(_WAIT_S),
        "sessionEnd": entry(_END_S),
    }
    folder = f"{places.home if scope is ConnectScope.USER else places.project}/.cursor"
    return (
        SettingsTarget(
            path=f"{folder}/hooks.json", hooks=hooks, head=_VERSION, former=("preCompact",)
        ),
        SettingsTarget(path=f"{folder}/mcp.json", servers=("mcpServers",), server=_server(program)),
    )


def _gemini(
    scope: ConnectScope, places: HarnessHomes, program: Program
) -> tuple[SettingsTarget, ...]:
    def entry(seconds: int) -> dict[str, Any]:
        handler = {
            "type": "command",
            "name": "prowess",
            "command": program.line(seconds - 1),
            "timeout": seconds * _MS,
        }
        return {"hooks": [handler]}

    hooks = {
        "SessionStart": entry(_WAIT_S),
        "BeforeAgent": entry(_WAIT_S),
        "AfterAgent": entry(_WAIT_S),
        "SessionEnd": entry(_END_S),
    }
    folder = f"{places.home if scope is ConnectScope.USER else places.project}/.gemini"
    settings = SettingsTarget(
        path=f"{folder}/settings.json",
        hooks=hooks,
        nested=True,
        # It comes with every turn, and lets nobody speak.
        former=("PreCompress",),
        servers=("mcpServers",),
        server=_server(program),
    )
    # Those of a project are not read.
    return (settings, _allow_reading(folder)) if scope is ConnectScope.USER else (settings,)


def _allow_reading(folder: str) -> SettingsTarget:
    """Return the file that lets Gemini use what only reads, where it can ask nobody."""
    return SettingsTarget(
        path=f"{folder}/policies/prowess.toml",
        format=Format.TEXT,
        text=read_text("hooks/plugins/gemini.toml"),
        is_for_server=True,
    )


def _copilot(
    scope: ConnectScope, places: HarnessHomes, program: Program
) -> tuple[SettingsTarget, ...]:
    def entry(seconds: int) -> dict[str, Any]:
        return {
            "type": "command",
            "bash": program.line(seconds - 1),
            "powershell": program.line_in_powershell,
            "timeoutSec": seconds,
        }

    hooks = {
        "sessionStart": entry(_WAIT_S),
        "userPromptTransformed": entry(_WAIT_S),
        "agentStop": entry(_WAIT_S),
        "sessionEnd": entry(_END_S),
    }
    folder = places.copilot if scope is ConnectScope.USER else f"{places.project}/.github"
    file = SettingsTarget(path=f"{folder}/hooks/prowess.json", hooks=hooks, head=_VERSION)
    is_user = scope is ConnectScope.USER
    servers = f"{places.copilot}/mcp-config.json" if is_user else f"{folder}/mcp.json"
    server = _server(program, type="local", tools=["*"])
    return file, SettingsTarget(path=servers, servers=("mcpServers",), server=server)


def _vscode(
    scope: ConnectScope, places: HarnessHomes, program: Program
) -> tuple[SettingsTarget, ...]:
    def entry(seconds: int) -> dict[str, Any]:
        return {"type": "command", "command": program.line(seconds - 1), "timeout": seconds}

    hooks = {
        "SessionStart": entry(_WAIT_S),
        "Stop": entry(_WAIT_S),
    }
    server = _server(program, type="stdio")
    if scope is ConnectScope.USER:
        return (
            SettingsTarget(path=f"{places.vscode}/mcp.json", servers=("servers",), server=server),
        )
    return (
        SettingsTarget(
            path=f"{places.project}/.github/hooks/prowess-vscode.json",
            hooks=hooks,
            # It lets nobody speak at that, nor with the prompt after it: the call was for nothing.
            former=("PreCompact",),
        ),
        SettingsTarget(
            path=f"{places.project}/.vscode/mcp.json", servers=("servers",), server=server
        ),
    )


def _qwen(
    scope: ConnectScope, places: HarnessHomes, program: Program
) -> tuple[SettingsTarget, ...]:
    def entry(seconds: int) -> dict[str, Any]:
        handler = {
            "type": "command",
            "name": "prowess",
            "command": program.line(seconds - 1),
            "timeout": seconds,
        }
        return {"hooks": [handler]}

    hooks = {
        "SessionStart": entry(_WAIT_S),
        "UserPromptSubmit": entry(_WAIT_S),
        "Stop": entry(_WAIT_S),
        "SessionEnd": entry(_END_S),
    }
    folder = f"{places.home if scope is ConnectScope.USER else places.project}/.qwen"
    return (
        SettingsTarget(
            path=f"{folder}/settings.json",
            hooks=hooks,
            nested=True,
            servers=("mcpServers",),
            server=_server(program),
        ),
    )


def _opencode(
    scope: ConnectScope, places: HarnessHomes, program: Program
) -> tuple[SettingsTarget, ...]:
    is_user = scope is ConnectScope.USER
    folder = places.opencode if is_user else f"{places.project}/.opencode"
    command, arguments = program.mcp
    server = {"type": "local", "command": [command, *arguments], "enabled": True}
    return (
        _plugin(
            f"{folder}/plugin/prowess.js",
            Harness.OPENCODE,
            ("chat.message", "session.idle"),
            program,
        ),
        SettingsTarget(
            path=f"{folder if is_user else places.project}/opencode.json",
            servers=("mcp",),
            server=server,
        ),
    )


def _openclaw(
    scope: ConnectScope, places: HarnessHomes, program: Program
) -> tuple[SettingsTarget, ...]:
    if scope is ConnectScope.PROJECT:
        return ()
    folder = f"{places.openclaw}/extensions/prowess"
    said = {"description": f"{OWN_TEXT}: names the skills that fit a message."}
    about = {
        "id": "prowess",
        "name": "Prowess",
        **said,
        "activation": {"onStartup": True},
        "configSchema": {"type": "object", "additionalProperties": False},
    }
    package = {"name": "prowess-openclaw", **said, "version": "1.0.0", "type": "module"}
    extension = {**package, "openclaw": {"extensions": ["./index.js"]}}
    events = ("before_prompt_build", "agent_end")
    return (
        _plugin(f"{folder}/index.js", Harness.OPENCLAW, events, program),
        *(
            SettingsTarget(
                path=f"{folder}/{name}", format=Format.TEXT, text=json.dumps(value, indent=2) + "\n"
            )
            for name, value in (("openclaw.plugin.json", about), ("package.json", extension))
        ),
        SettingsTarget(
            path=f"{places.openclaw}/openclaw.json",
            format=Format.JSON5,
            servers=("mcp", "servers"),
            server=_server(program),
            plugins=("plugins", "entries"),
            plugin={"enabled": True, "hooks": {"allowConversationAccess": True}},
        ),
    )


def _plugin(
    path: str, harness: Harness, events: tuple[str, ...], program: Program
) -> SettingsTarget:
    """Return a file of ours that a harness loads, and that calls us at some events."""
    text = read_text("hooks/plugins/ask.js")
    for mark, meant in (
        ("HARNESS", harness.value),
        ("COMMAND = []", f"COMMAND = {json.dumps([*program.words, 'hook'])}"),
        ("SECONDS = 0", f"SECONDS = {_WAIT_S - 1}"),
        ("LIMIT_VARIABLE", LIMIT_VARIABLE),
    ):
        text = text.replace(mark, meant)
    return SettingsTarget(
        path=path,
        format=Format.TEXT,
        hooks={event: {} for event in events},
        text=text + read_text(f"hooks/plugins/{harness.value}.js"),
    )


def _server(program: Program, **more: object) -> dict[str, Any]:
    command, arguments = program.mcp
    # The kind of server comes first, where a harness wants one.
    kind = {"type": more.pop("type")} if "type" in more else {}
    return {**kind, "command": command, "args": list(arguments), **more}


_TABLE: Mapping[
    Harness, Callable[[ConnectScope, HarnessHomes, Program], tuple[SettingsTarget, ...]]
] = {
    Harness.CLAUDE_CODE: _claude_code,
    Harness.CODEX: _codex,
    Harness.CURSOR: _cursor,
    Harness.GEMINI: _gemini,
    Harness.COPILOT: _copilot,
    Harness.VSCODE: _vscode,
    Harness.QWEN: _qwen,
    Harness.OPENCODE: _opencode,
    Harness.OPENCLAW: _openclaw,
}
