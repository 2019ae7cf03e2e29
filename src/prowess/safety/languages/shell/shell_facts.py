"""Facts of a shell text: what its commands fetch, run, read, send, write and change."""

import re

from prowess.safety.facts import Reading
from prowess.safety.languages.shell.facts import can_run, known_command
from prowess.safety.languages.shell.shell_run import run_script
from prowess.safety.languages.shell.state import NOTHING, Ledger, Shell
from prowess.safety.views import View

_MAX_PART = 256_000
_FIRST_WORD = re.compile(
    r"\s*(?:[$%\u276f>#]\s+)?(?:[A-Za-z_]\w{0,60}=(?:'[^'\n]*'|\"[^\"\n]*\"|[^\s'\"]*)\s+){0,4}"
    r"[({!]?\s*((?:\\?[\w.+:~/@$\[-]|\$\{?IFS\}?|''|\"\"|\$\(|`|\{\w)[^\s;|&<>(){}]{0,200})"
)
_OPERATOR = re.compile(
    r"(?:^|\s)(?:\||&&|\|\||>>?|<\(|<<<?|2>&1)(?:\s|$)|\$\(|;\s*\w+|\s--?[A-Za-z]"
    r"|https?://|\w\|\w|`"
)
_HIDDEN_NAME = re.compile(r"[\\'\"$*?{]")
_PROSE_NAMES = frozenset((
    "find", "install", "open", "make", "set", "start", "read", "at", "host", "source", "log",
    "test", "type", "time", "which",
    "who", "watch", "script", "split", "sort", "join", "cut", "help", "export", "print", "history",
    "id", "last", "pass", "get",
    "fetch", "links", "more", "less", "file", "select", "for", "if", "while", "case", "until",
    "exit", "return", "add", "node",
    "batch", "column", "command", "date", "say", "service", "security", "patch", "link", "op",
    "code", "go", "expect", "local",
    "top", "free", "expand", "fold", "nice", "wait", "complete", "enable", "break", "continue",
    "true", "false", "goose", "amp",
    "copilot", "cursor", "claude", "codex", "gemini", "q", "w", "mail", "ping", "age", "comm",
    "mount", "kill", "clear", "let",
    "hash", "bind", "env", "alias", "shift", "head", "tail", "cat", "touch", "dir", "tree", "sum",
    "locale", "arch", "start",
    "then", "exec", "eval", "trap", "fish", "hatch", "port", "snap", "flatpak", "composer",
    "choco", "mise", "nix", "mc",
))  # fmt: skip
_MIN_WORDS = 2
_STANDARD = re.compile(r"^(?:/usr(?:/local)?)?/s?bin/")
_SOURCED = re.compile(r"<\(|[\w.~/${}-]*[./][\w.~/${}-]*\s*(?:$|[;&|])")
_TO_SHELL = re.compile(r"\|\s*(?:sudo\s+)?(?:ba|z|da|k)?sh\b")
_SCRIPT = re.compile(r"\.(?:sh|py|js|bash|pl|rb|ps1)$")


def read_shell(view: View, flow: frozenset[str] = NOTHING) -> Reading:
    """Return the facts of a shell text; `flow` labels what reaches its arguments and input."""
    ledger = Ledger()
    for part in _parts(view):
        shell = Shell(part, ledger, flow=flow)
        try:
            run_script(shell)
        except RecursionError:
            ledger.unread["shell commands are nested too deeply"] = None
    return Reading(
        tuple(ledger.facts.values()),
        tuple(ledger.snippets),
        tuple(ledger.texts),
        tuple(ledger.imports),
        "; ".join(ledger.unread),
    )


def _parts(view: View) -> list[View]:
    """Cut a long text at line ends, so that no part costs too much."""
    if len(view.text) <= _MAX_PART:
        return [view]
    parts: list[View] = []
    start = 0
    while start < len(view.text):
        end = start + _MAX_PART
        if end < len(view.text):
            line_end = view.text.rfind("\n", start, end)
            end = line_end + 1 if line_end > start else end
        parts.append(view.cut(start, end))
        start = end
    return parts


def looks_like_shell(text: str) -> bool:
    """Whether a short text is likely a command: its first word is one, and the rest fits."""
    head = text.lstrip()[:2000]
    found = _FIRST_WORD.match(head)
    if found is None:
        return False
    word = found[1]
    if _HIDDEN_NAME.search(word):
        return bool(_OPERATOR.search(head))
    rest = head[found.end() :].strip()
    name = _STANDARD.sub("", word)
    if word == ".":
        return bool(_SOURCED.match(rest))
    if not known_command(name) and not known_command(name.rstrip("0123456789.")):
        return _runs_path(word, rest) or bool(_TO_SHELL.search(head))
    if name in _PROSE_NAMES:
        return bool(_OPERATOR.search(head)) or len(rest.split()) < _MIN_WORDS
    return True


def _runs_path(word: str, rest: str) -> bool:
    """Whether a path stands there to be run, not to be named."""
    if "/" not in word or not can_run(word):
        return False
    return word.startswith("./") or bool(rest and (_SCRIPT.search(word) or _OPERATOR.search(rest)))
