"""Commands inside data: which strings are run, and what the lines around them say about when."""

import re

from prowess.safety.facts import Act
from prowess.safety.languages.data.tree import (
    Collector,
    Entry,
    command_line,
    first_url,
    place,
    spot_of,
)

_MAX_COMMAND = 20_000
_MAX_KEY = 100
_SHORTEST = 4
_ADDRESS = re.compile(r"(?:https?|wss?)://\S{1,2000}")
# Keys whose value is run by whatever reads the file.
_COMMAND_KEY = re.compile(
    r"(?:^|[_.\s-])(?:command|commands|cmd|cmdline|commandline|exec|execute|run|script|scripts|shell|bash|sh"
    r"|entrypoint|entry|hook|hooks|setup|bootstrap|install|installer|installcmd|preinstall|postinstall|init"
    r"|start|startup|startcommand|before_script|after_script|before_install|preset|prebuild|postbuild"
    r"|prestart|poststart|postsetup|presetup|prerun|postrun|onload|oninstall|onstart|steps?|action"
    r"|powershell|healthcheck|test_command|build_command|validator|runner|program)$",
    re.IGNORECASE,
)
# Lists of commands that are spoken about, not run.
_LISTED_KEY = re.compile(
    r"(?:allow|deny|block|forbid|disallow|permit|ban|safe|unsafe|example|expect|known|danger|trust|exclu|inclu|ignore)",
    re.IGNORECASE,
)
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_START = re.compile(
    r"\s*(?:\$\s+)?(?:sudo\s+(?:-\w+\s+)*)?(?:[A-Z_][A-Z0-9_]*=\S*\s+){0,4}"
    r"(?:/?(?:usr/|bin/|local/|opt/|homebrew/){0,4})"
    r"(?:curl|wget|aria2c|fetch|iwr|irm|iex|bash|sh|zsh|dash|ksh|fish|python[23]?|node|deno|bun|npx|bunx|uvx|perl"
    r"|ruby|php|powershell(?:\.exe)?|pwsh|cmd(?:\.exe)?|osascript|eval|exec|source|echo|printf|base64|xxd|nc|ncat"
    r"|socat|openssl|rm|chmod|crontab|launchctl|systemctl|nohup|mkdir|cat|tar|unzip|git|npm|pnpm|yarn|pip3?|uv|brew"
    r"|docker|ssh|scp|rsync|cd|export|mshta|rundll32|regsvr32|certutil|bitsadmin|find|dd|env)(?=\s|$)"
)
_SHELLY = re.compile(r"https?://|ftp://|\||&&|\$\(|`|/dev/tcp/|\s-{1,2}[a-zA-Z]|>\s*[~/.$]|\bsh\b")
_PIPED = re.compile(
    r"\b(?:curl|wget|fetch|irm|iwr|base64|xxd|aria2c|openssl)\b[^\n|]{1,400}\|[^\n|]{0,100}"
    r"\b(?:bash|sh|zsh|dash|ksh|python[23]?|node|perl|ruby|php|iex|pwsh|powershell|base64|tar|xxd)\b"
    r"|\$\((?:curl|wget)\s|<\((?:curl|wget)\s|/dev/tcp/\d|\biex\s*\(|\bInvoke-Expression\b",
    re.IGNORECASE,
)
_POWERSHELL = re.compile(
    r"\b(?:iex|irm|iwr|Invoke-\w{3,}|New-Object|powershell|Set-MpPreference)\b", re.IGNORECASE
)
_ENDPOINT_KEY = re.compile(
    r"(?:url|uri|endpoint|webhook|callback|base|host|server|proxy|upload|collector|beacon|registry"
    r"|target|api)\d{0,3}$",
    re.IGNORECASE,
)
_SCHEMA_KEYS = frozenset((
    "$schema", "$id", "$ref", "homepage", "license", "repository", "bugs", "funding",
    "documentation", "source", "author", "icon", "logo", "image",
))  # fmt: skip


def is_command_key(key: str) -> bool:
    """Whether what stands under `key` is run."""
    return (
        len(key) < _MAX_KEY
        and not _LISTED_KEY.match(key)
        and _COMMAND_KEY.search(_CAMEL.sub("_", key)) is not None
    )


def looks_like_command(text: str) -> bool:
    """Whether a text is a command line, not a sentence about one."""
    if len(text) > _MAX_COMMAND or len(text) < _SHORTEST:
        return False
    if _PIPED.search(text):
        return True
    return _START.match(text) is not None and _SHELLY.search(text) is not None


def language_of(text: str) -> str:
    """Return the language of a command: shell unless it speaks PowerShell."""
    return "powershell" if _POWERSHELL.search(text) else "shell"


def read_scalar(collector: Collector, keys: tuple[str, ...], entry: Entry) -> None:
    """Note what any string of any data file may be: a command, an address, prose."""
    view = entry.scalar
    if view is None or len(view.text) < _SHORTEST:
        return
    text, key = view.text, keys[-1] if keys else ""
    if looks_like_command(text):
        collector.command(view, language_of(text))
        return
    if _is_run(key, text):
        collector.command(view, language_of(text))
    elif _ADDRESS.fullmatch(text) and _ENDPOINT_KEY.search(key) and key not in _SCHEMA_KEYS:
        collector.emit(Act.FETCH, spot_of(view), text, "endpoint")
    collector.prose(view)


def _is_run(key: str, text: str) -> bool:
    shaped = (" " in text or "/" in text) and len(text) < _MAX_COMMAND
    return shaped and is_command_key(key) and first_url(text) != text


def run(collector: Collector, entry: Entry, subject: str) -> None:
    """Note a command that is run by itself; a list is its arguments, a map several commands."""
    if entry.fields is not None:
        for _name, inner in entry.pairs():
            run(collector, Entry(items=inner.scalars()), subject)
        return
    parts = entry.scalars()
    line = command_line(parts)
    if line is None or not line.text.strip():
        return
    collector.emit(Act.EXEC, place(parts[0]), subject, line.text)
    collector.command(line, language_of(line.text))


def set_variables(collector: Collector, entry: Entry) -> None:
    """Note the variables of an environment block: a map, or a list of `NAME=value`."""
    for name, value in entry.pairs():
        if value.scalar is not None:
            collector.emit(Act.SETENV, spot_of(value.scalar), name, value.text)
    for item in entry.items or ():
        name, equals, value_text = item.text.partition("=")
        if equals and name.replace("_", "").isalnum() and item.scalar is not None:
            collector.emit(Act.SETENV, spot_of(item.scalar), name, value_text)
