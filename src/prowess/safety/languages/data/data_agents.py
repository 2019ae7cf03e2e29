"""Settings of agents and editors: what they start, and approvals that they switch off."""

import re

from prowess.safety.facts import Act
from prowess.safety.languages.data.data_commands import language_of, run, set_variables
from prowess.safety.languages.data.tree import Collector, Entry, Found, command_line, place, spot_of

_SERVERS = frozenset(("mcpservers", "mcp_servers", "context_servers", "mcp.servers", "mcp"))
_AGENT_FILE = re.compile(
    r"(?:^|/)\.(?:claude|cursor|gemini|codex|openclaw|clawdbot|moltbot|hermes|windsurf|continue|copilot|vscode)/"
    r"|(?:^|/)(?:hooks|settings(?:\.local)?|\.?mcp|claude_desktop_config|plugin|openclaw|clawdbot|agent)\.json5?$"
)
_EVENTS = frozenset((
    "pretooluse", "posttooluse", "posttoolusefailure", "sessionstart", "sessionend",
    "userpromptsubmit", "stop", "subagentstop", "subagentstart", "precompact", "notification",
    "permissionrequest", "beforeshellexecution", "aftershellexecution", "beforemcpexecution",
    "aftermcpexecution", "beforereadfile", "afterfileedit", "beforesubmitprompt", "beforetool",
    "aftertool", "beforeagent", "afteragent", "beforemodel", "aftermodel", "setup", "teammateidle",
    "taskcompleted", "configchange", "worktreecreate", "instructionsloaded",
))  # fmt: skip
_HOOK_COMMANDS = frozenset(("command", "bash", "powershell", "cmd", "run", "script"))
# Keys that switch approval off when they say yes; written without case, dots and dashes.
_SWITCHES = frozenset((
    "autoapprove", "autoapproveall", "yolo", "yolomode", "dangerouslyskippermissions",
    "skippermissions", "bypasspermissions", "enableallprojectmcpservers",
    "skipdangerousmodepermissionprompt", "alwaysallow", "dangerouslyallowall", "autoaccept",
    "autoacceptall", "chattoolsautoapprove", "autoapprovetools", "toolsautoapprove",
    "chattoolsglobalautoapprove", "skipapproval", "disableapprovals", "noconfirm",
    "skipconfirmation", "autoconfirm", "dangerouslybypassapprovalsandsandbox", "fullauto",
    "dangerouslydisablesandbox", "allowdangerouslyskippermissions", "chattoolsterminalautoapprove",
))  # fmt: skip
# Keys with a value that means the same.
_MODES = {
    "defaultmode": {"bypasspermissions", "dontask"},
    "permissionmode": {"bypasspermissions", "dontask"},
    "approvalmode": {"yolo", "full-auto", "never", "auto"},
    "approvalpolicy": {"never"},
    "askforapproval": {"never"},
    "defaultapprovalmode": {"yolo"},
    "sandboxmode": {"danger-full-access"},
    "autoapprovalmode": {"all", "always"},
}
# Grants under which an agent may run whatever it likes.
_WIDE_GRANT = re.compile(
    r"\*|(?:Bash|Shell|PowerShell|run_shell_command|ShellTool|exec|terminal|execute)"
    r"(?:\(\s*(?:[:*\s]*|(?:sudo|curl|wget|rm|bash|sh|python3?|node|eval|chmod|ssh)\s*(?::\s*\*|\s\*)?)\s*\))?",
    re.IGNORECASE,
)
_ENV_KEYS = frozenset(
    ("env", "environment", "containerenv", "remoteenv", "environmentvariables", "envvars")
)
_MODEL_KEY = re.compile(
    r"(?:ANTHROPIC|OPENAI|GEMINI|GOOGLE_GEMINI|AZURE_OPENAI|OLLAMA|MISTRAL|OPENROUTER)"
    r"_?\w{0,60}(?:BASE_URL|API_BASE|ENDPOINT|HOST|BASE)",
    re.IGNORECASE,
)
_FOLDER_COMMANDS = frozenset((
    "initializecommand", "oncreatecommand", "updatecontentcommand", "postcreatecommand",
    "poststartcommand", "postattachcommand",
))  # fmt: skip


def flat(key: str) -> str:
    """Return a key without case, dots, dashes and underscores."""
    return re.sub(r"[._\s-]", "", key).lower()


def read_agents(collector: Collector, root: Entry) -> None:
    """Note servers, hooks, grants and variables, wherever in a file they stand."""
    is_agent_file = _AGENT_FILE.search(collector.view.path) is not None
    for found in root.walk():
        keys, entry = found
        key = keys[-1] if keys else ""
        if entry.fields is not None:
            _read_map(collector, found)
        if flat(key) in _ENV_KEYS or key.startswith("terminal.integrated.env."):
            set_variables(collector, entry)
        elif _MODEL_KEY.fullmatch(key) and entry.scalar is not None:
            collector.emit(Act.SETENV, place(entry), key, entry.text)
        _read_switch(collector, found)
        if entry.scalar is not None and key in _HOOK_COMMANDS:
            _read_hook(collector, found, is_agent_file=is_agent_file)
        elif flat(key) in _FOLDER_COMMANDS and entry.spot is None:
            run(collector, entry, "folder-open")


def _read_map(collector: Collector, found: Found) -> None:
    keys, entry = found
    key = keys[-1].lower() if keys else ""
    if key in _SERVERS or (key == "servers" and _is_servers(entry)):
        for _name, server in entry.pairs():
            _read_server(collector, server)
    elif flat(key) in _FOLDER_COMMANDS:
        run(collector, entry, "folder-open")
    elif not _inside_servers(keys) and entry.get("command").scalar and entry.get("args").scalars():
        _read_started(collector, entry)
    if entry.get("runOptions", "runOn").text == "folderOpen":
        line = Entry(items=[*entry.get("command").scalars(), *entry.get("args").scalars()])
        run(collector, line, "folder-open")


def _inside_servers(keys: tuple[str, ...]) -> bool:
    return len(keys) > 1 and (keys[-2].lower() in _SERVERS or keys[-2].lower() == "servers")


def _read_started(collector: Collector, entry: Entry) -> None:
    """Note a program with arguments; in a file about servers it is one."""
    if "mcp" in collector.view.path.lower():
        _read_server(collector, entry)
        return
    line = command_line([*entry.get("command").scalars(), *entry.get("args").scalars()])
    if line is not None:
        collector.command(line, language_of(line.text))


def _is_servers(entry: Entry) -> bool:
    return any(
        inner.get("command").scalar or inner.get("url").scalar for _name, inner in entry.pairs()
    )


def _read_server(collector: Collector, server: Entry) -> None:
    command, args = server.get("command"), server.get("args")
    parts = [*command.scalars(), *args.scalars()]
    line = command_line(parts) if command.scalars() else None
    if line is not None:
        collector.emit(Act.EXEC, place(parts[0]), "mcp-server", line.text)
        collector.command(line, language_of(line.text))
    for key in ("url", "serverUrl", "httpUrl", "endpoint"):
        url = server.get(key)
        if url.scalar is not None:
            collector.emit(Act.FETCH, spot_of(url.scalar), url.text)
    if server.get("trust").on:
        collector.emit(Act.DISABLE, place(server.get("trust")), "agent-approval", "trust")


def _read_hook(collector: Collector, found: Found, *, is_agent_file: bool) -> None:
    keys, entry = found
    if entry.scalar is None or "hooks" not in keys:
        return
    known = any(flat(key) in _EVENTS for key in keys)
    if known or is_agent_file:
        collector.emit(Act.EXEC, spot_of(entry.scalar), "agent-hook", entry.text)
        collector.command(entry.scalar, language_of(entry.text))


def _read_switch(collector: Collector, found: Found) -> None:
    keys, entry = found
    key = flat(keys[-1]) if keys else ""
    if key in _SWITCHES:
        granted = [item.text for item in entry.items or () if item.text]
        if entry.on or granted:
            collector.emit(
                Act.DISABLE, place(entry), "agent-approval", ",".join(granted) or keys[-1]
            )
    elif entry.text and entry.text.lower() in _MODES.get(key, ()):
        collector.emit(Act.DISABLE, place(entry), "agent-approval", entry.text)
    elif key == "taskallowautomatictasks" and entry.on:
        collector.emit(Act.DISABLE, place(entry), "task-approval", entry.text)
    elif (
        key in {"allow", "allowedtools", "coretools", "allowed", "autoallow"}
        and entry.scalar is not None
    ):
        _read_grant(collector, keys, entry)
    elif key == "ask" and entry.text == "off" and "exec" in keys:
        collector.emit(Act.DISABLE, place(entry), "agent-approval", "exec.ask=off")


def _read_grant(collector: Collector, keys: tuple[str, ...], entry: Entry) -> None:
    permissions = flat(keys[-1]) != "allow" or "permissions" in keys or "tools" in keys
    if permissions and _WIDE_GRANT.fullmatch(entry.text.strip()):
        collector.emit(Act.DISABLE, place(entry), "agent-approval", entry.text)
