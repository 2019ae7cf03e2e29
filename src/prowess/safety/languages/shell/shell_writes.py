"""What it means that a path is written: a script, a start by itself, an agent's settings."""

import re
from dataclasses import replace

from prowess.safety.facts import Act
from prowess.safety.languages.shell.state import NOTHING, Shell, Value, join
from prowess.safety.sensitive import is_agent_path, normal_path, path_label, persist_kind

_IGNORED = re.compile(r"/dev/(?:null|stdout|stderr|tty|fd/\d+|stdin)$|-$|&\d$")
_DISK = re.compile(r"/dev/(?:r?disk\d|sd[a-z]|hd[a-z]|vd[a-z]|xvd[a-z]|nvme\d|mmcblk\d|mem$|kmem$)")
_SUDOERS = re.compile(r"/etc/sudoers(?:$|\.d/)")
_LOGS = re.compile(r"/var/log(?:/|$)|/var/run/utmp|/var/log/wtmp")
_LANGUAGES = {
    "sh": "shell", "bash": "shell", "zsh": "shell", "command": "shell", "ksh": "shell",
    "fish": "shell", "py": "python",
    "pyw": "python", "js": "javascript", "mjs": "javascript", "cjs": "javascript",
    "ts": "javascript", "ps1": "powershell",
    "psm1": "powershell", "bat": "powershell", "cmd": "powershell", "pl": "other", "rb": "other",
    "php": "other",
    "applescript": "other", "scpt": "other", "lua": "other",
}  # fmt: skip
_SHEBANG = re.compile(r"#!\s*\S*?(?:env\s+(?:-S\s+)?)?([a-z]+)[\d.]*(?=\s|$)")
_SHEBANGS = {
    "sh": "shell", "bash": "shell", "zsh": "shell", "dash": "shell", "ksh": "shell",
    "ash": "shell", "python": "python",
    "node": "javascript", "deno": "javascript", "bun": "javascript", "pwsh": "powershell",
    "perl": "other", "ruby": "other",
    "php": "other", "osascript": "other", "lua": "other",
}  # fmt: skip
# Files whose lines a shell runs.
_SHELL_KINDS = frozenset(("rc-file", "git-hook"))
_CRON_LINE = re.compile(
    r"^[ \t]*(?:@\w+|(?:[\d*/,A-Za-z-]+[ \t]+){5})[ \t]*(?:root[ \t]+)?(\S[^\n]*)$", re.MULTILINE
)
_UNIT_LINE = re.compile(
    r"^[ \t]*Exec(?:Start|StartPre|StartPost|Stop)?[ \t]*=[ \t]*[-@:+!]{0,2}(\S[^\n]*)$",
    re.MULTILINE,
)
_PLIST_STRING = re.compile(r"<string>([^<]{0,2000})</string>")
_MAX_LINES = 50
_MAX_KEPT = 8_000


def language_of(path: str, text: str = "") -> str:
    """Return the language of a script by its shebang or ending; empty where it is none."""
    shebang = _SHEBANG.match(text[:200].lstrip())
    if shebang:
        return _SHEBANGS.get(shebang[1], "other")
    ending = path.rpartition("/")[2].rpartition(".")
    return _LANGUAGES.get(ending[2].lower(), "") if ending[1] else ""


def write_file(shell: Shell, path: Value, content: Value, *, append: bool = False) -> None:
    """Note that `content` is written to `path`, and what follows from the place."""
    name = path.text
    if not name or _IGNORED.search(name):
        return
    before = shell.stored(name) if append else None
    whole = join([before, content], "\n") if before and len(before.text) < _MAX_KEPT else content
    shell.store(name, whole)
    shell.tell(Act.WRITE, name, "", content.labels, piped=True)
    tell_place(shell, name, content)
    _tell_script(shell, name, content)


def tell_place(shell: Shell, name: str, content: Value) -> None:
    """Note what a write to `name` means by the place alone."""
    full = shell.place(name) if shell.folder else name
    kind = persist_kind(full)
    if kind:
        shell.tell(Act.PERSIST, kind, started(kind, content) or name, content.labels, piped=True)
    if is_agent_path(full):
        shell.tell(Act.TAMPER, name, "", content.labels, piped=True)
    if _DISK.match(name):
        shell.tell(Act.WIPE, "disk", name)
    if _SUDOERS.match(name):
        shell.tell(Act.PRIVILEGE, "sudoers", content.text.strip() or name)
    tell_erased(shell, name, content)


def tell_erased(shell: Shell, name: str, content: Value) -> None:
    """Note that traces are wiped, where `name` is a log or a history that is emptied."""
    empty = content.known and not content.text.strip() and not content.labels
    if empty and path_label(name) == "history":
        shell.tell(Act.WIPE, "history", name)
    elif empty and _LOGS.match(name):
        shell.tell(Act.WIPE, "logs", name)


def _tell_script(shell: Shell, name: str, content: Value) -> None:
    if not content.text.strip() or not content.pieces:
        return
    kind = persist_kind(name)
    if kind in ("cron", "systemd"):
        for line in lines_run(kind, content):
            shell.snippet("shell", line)
        return
    language = "shell" if kind in _SHELL_KINDS else language_of(name, content.text)
    if language:
        shell.snippet(language, content, content.labels)
    elif kind == "launchd":
        shell.snippet("", content, content.labels)


def lines_run(kind: str, content: Value) -> list[Value]:
    """Return the commands that a crontab or a unit makes run."""
    pattern = _CRON_LINE if kind == "cron" else _UNIT_LINE
    found = []
    for line in pattern.finditer(content.text):
        found.append(content.cut(*line.span(1)))
        if len(found) >= _MAX_LINES:
            break
    return found


def started(kind: str, content: Value) -> str:
    """Return what a file of that kind makes run, "" where it cannot be told."""
    if kind in ("cron", "systemd"):
        return "; ".join(line.text for line in lines_run(kind, content)[:3]) or _only(content)
    if kind == "launchd" and "<string>" in content.text:
        strings = _PLIST_STRING.findall(content.text[:20_000])
        return " ".join(strings[1:] or strings)
    return _only(content)


def _only(content: Value) -> str:
    return content.text.strip() if content.text else content.source


def copy_file(shell: Shell, source: Value, target: Value) -> None:
    """Note a copy or a move: the target now holds what the source held."""
    content = shell.read_file(source.text)
    moved = replace(content, source=content.source or source.text)
    name = target.text
    if name.endswith("/") or normal_path(name) in ("~", ".", ".."):
        name = name.rstrip("/") + "/" + source.text.rstrip("/").rpartition("/")[2]
    shell.store(name, moved)
    shell.tell(Act.WRITE, name, "", moved.labels)
    tell_place(shell, name, replace(moved, known=False))
    if moved.text and moved.pieces and persist_kind(name):
        shell.snippet("shell", moved, NOTHING)
