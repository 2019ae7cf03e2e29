"""Where each harness keeps hooks and MCP servers, and how an entry of ours is written there.

Times to wait are in the harness's own unit: one counts milliseconds. The limits are far above what
a hook takes, and far below what a person would notice as a program that hangs.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from prowess.hooks.harness import Harness
from prowess.hooks.registrations import ConnectScope, Format, Program, SettingsTarget

_START_S, _PROMPT_S, _TURN_S, _END_S = 10, 5, 10, 5
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
_HINTS = {
    (
        Harness.COPILOT,
        ConnectScope.PROJECT,
    ): "Copilot CLI keeps its MCP servers per user: run `prowess connect copilot --user` for that.",
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
    }[harness]


def _claude_code(
    scope: ConnectScope, places: HarnessHomes, program: Program
) -> tuple[SettingsTarget, ...]:
    def entry(seconds: int, **more: object) -> dict[str, Any]:
        return {"type": "command", "command": program.hook, "timeout": seconds, **more}

    hooks: dict[str, dict[str, Any]] = {
        "SessionStart": {
            "matcher": "startup|resume|clear|compact|fork",
            "hooks": [entry(_START_S)],
        },
        "UserPromptSubmit": {"hooks": [entry(_PROMPT_S)]},
        "Stop": {"hooks": [entry(_TURN_S, **{"async": True})]},
        "SessionEnd": {"hooks": [entry(_END_S)]},
    }
    settings = places.claude if scope is ConnectScope.USER else f"{places.project}/.claude"
    servers = places.claude_state if scope is ConnectScope.USER else f"{places.project}/.mcp.json"
    return (
        SettingsTarget(path=f"{settings}/settings.json", hooks=hooks, nested=True),
        SettingsTarget(path=servers, servers="mcpServers", server=_server(program, type="stdio")),
    )


def _codex(
    scope: ConnectScope, places: HarnessHomes, program: Program
) -> tuple[SettingsTarget, ...]:
    def entry(seconds: int, **more: object) -> dict[str, Any]:
        handler = {"type": "command", "command": program.hook, "timeout": seconds, **more}
        return {"hooks": [handler]}

    hooks = {
        "SessionStart": entry(_START_S, additionalContextLimit=_CONTEXT_TOKENS),
        "UserPromptSubmit": entry(_PROMPT_S, additionalContextLimit=_CONTEXT_TOKENS),
        "Stop": entry(_TURN_S),
        "SessionEnd": entry(_END_S),
    }
    folder = places.codex if scope is ConnectScope.USER else f"{places.project}/.codex"
    return (
        SettingsTarget(path=f"{folder}/hooks.json", hooks=hooks, nested=True),
        SettingsTarget(
            path=f"{folder}/config.toml",
            format=Format.TOML,
            servers="mcp_servers",
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
        return {"command": program.hook, "timeout": seconds}

    hooks = {
        "sessionStart": entry(_START_S),
        "beforeSubmitPrompt": entry(_PROMPT_S),
        "preCompact": entry(_PROMPT_S),
        "stop": entry(_TURN_S),
        "sessionEnd": entry(_END_S),
    }
    folder = f"{places.home if scope is ConnectScope.USER else places.project}/.cursor"
    return (
        SettingsTarget(path=f"{folder}/hooks.json", hooks=hooks, head=_VERSION),
        SettingsTarget(path=f"{folder}/mcp.json", servers="mcpServers", server=_server(program)),
    )


def _gemini(
    scope: ConnectScope, places: HarnessHomes, program: Program
) -> tuple[SettingsTarget, ...]:
    def entry(seconds: int) -> dict[str, Any]:
        handler = {
            "type": "command",
            "name": "prowess",
            "command": program.hook,
            "timeout": seconds * _MS,
        }
        return {"hooks": [handler]}

    hooks = {
        "SessionStart": entry(_START_S),
        "BeforeAgent": entry(_PROMPT_S),
        "PreCompress": entry(_PROMPT_S),
        "AfterAgent": entry(_TURN_S),
        "SessionEnd": entry(_END_S),
    }
    folder = f"{places.home if scope is ConnectScope.USER else places.project}/.gemini"
    return (
        SettingsTarget(
            path=f"{folder}/settings.json",
            hooks=hooks,
            nested=True,
            servers="mcpServers",
            server=_server(program),
        ),
    )


def _copilot(
    scope: ConnectScope, places: HarnessHomes, program: Program
) -> tuple[SettingsTarget, ...]:
    def entry(seconds: int) -> dict[str, Any]:
        return {
            "type": "command",
            "bash": program.hook,
            "powershell": program.hook_in_powershell,
            "timeoutSec": seconds,
        }

    hooks = {
        "sessionStart": entry(_START_S),
        "userPromptTransformed": entry(_PROMPT_S),
        "agentStop": entry(_TURN_S),
        "sessionEnd": entry(_END_S),
    }
    folder = places.copilot if scope is ConnectScope.USER else f"{places.project}/.github"
    file = SettingsTarget(path=f"{folder}/hooks/prowess.json", hooks=hooks, head=_VERSION)
    if scope is ConnectScope.PROJECT:
        return (file,)
    server = _server(program, type="local", tools=["*"])
    path = f"{places.copilot}/mcp-config.json"
    return file, SettingsTarget(path=path, servers="mcpServers", server=server)


def _vscode(
    scope: ConnectScope, places: HarnessHomes, program: Program
) -> tuple[SettingsTarget, ...]:
    def entry(seconds: int) -> dict[str, Any]:
        return {"type": "command", "command": program.hook, "timeout": seconds}

    hooks = {
        "SessionStart": entry(_START_S),
        "Stop": entry(_TURN_S),
    }
    server = _server(program, type="stdio")
    if scope is ConnectScope.USER:
        return (SettingsTarget(path=f"{places.vscode}/mcp.json", servers="servers", server=server),)
    return (
        SettingsTarget(
            path=f"{places.project}/.github/hooks/prowess-vscode.json",
            hooks=hooks,
            # It lets nobody speak at that, nor with the prompt after it: the call was for nothing.
            former=("PreCompact",),
        ),
        SettingsTarget(path=f"{places.project}/.vscode/mcp.json", servers="servers", server=server),
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
}
