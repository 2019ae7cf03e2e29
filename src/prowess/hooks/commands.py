"""The command lines under which we are registered, and how they are known again.

Ours is a program called `prowess` with the one word `hook`, and nothing else: a line that merely
holds these words belongs to somebody else, who would miss it. It stays the same across upgrades,
since one harness trusts a command by its hash.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

NAME = "prowess"
# Safe (-P): where we are started is a project of strangers, and nothing in it may be imported.
MODULE = ("-P", "-m", NAME)
_ENDINGS = (".exe", ".cmd", ".bat")
# `&` is how PowerShell calls a program whose path is quoted. What a shell would read as more than
# one command, or fill in, stands in no line of ours.
_LINE = re.compile(
    r"\s*(?:&\s+)?"
    r"(?:\"(?P<double>[^\"$`]+)\"|'(?P<single>[^']+)'|(?P<bare>[\w./\\:~+@%,=-]+))"
    r"(?P<module>(?P<safe>\s+-P)?\s+-m\s+prowess)?\s+hook\s*"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """How this installation is started: the words before the name of a command."""

    words: tuple[str, ...]
    windows: bool = False

    @property
    def hook(self) -> str:
        """The command line of the hook."""
        return " ".join(self._quoted(word) for word in (*self.words, "hook"))

    @property
    def hook_in_powershell(self) -> str:
        """The same for PowerShell, which takes a quoted path for mere text."""
        line = " ".join(_in_powershell(word) for word in (*self.words, "hook"))
        return f"& {line}" if line.startswith("'") else line

    @property
    def mcp(self) -> tuple[str, tuple[str, ...]]:
        """The program and the arguments of the MCP server; no shell reads them."""
        return self.words[0], (*self.words[1:], "mcp")

    def _quoted(self, word: str) -> str:
        if not self.windows:
            return shlex.quote(word)
        return f'"{word}"' if re.search(r"[^\w.:\\/-]", word) else word


def _in_powershell(word: str) -> str:
    if re.fullmatch(r"[\w.:\\/-]+", word):
        return word
    return "'" + word.replace("'", "''") + "'"


def is_hook_command(line: object, program: Program | None = None) -> bool:
    """Return whether a registered command line is our hook, of this installation or another."""
    if not isinstance(line, str):
        return False
    if program is not None and line in {program.hook, program.hook_in_powershell}:
        return True
    match = _LINE.fullmatch(line)
    if match is None:
        return False
    if match["module"]:
        return True
    return _is_us(match["double"] or match["single"] or match["bare"])


def is_misled(line: str) -> bool:
    """Return whether the folder that a command line runs in can put its own files in our place.

    Without `-P` Python looks for a module there first, and a project is written by strangers.
    """
    match = _LINE.fullmatch(line)
    return match is not None and bool(match["module"]) and not match["safe"]


def program_of(line: str) -> str:
    """Return the program that one of our command lines starts, without its quotes."""
    match = _LINE.fullmatch(line)
    if match is not None:
        return match["double"] or match["single"] or match["bare"]
    try:
        return next(iter(shlex.split(line)), "")
    except ValueError:
        return ""


def is_mcp_entry(entry: object) -> TypeGuard[Mapping[str, Any]]:
    """Return whether a registered MCP server is ours, of this installation or another."""
    if not isinstance(entry, Mapping):
        return False
    command, arguments = entry.get("command"), entry.get("args")
    if not isinstance(command, str) or not isinstance(arguments, list):
        return False
    before = words_before(arguments)
    return bool(before) if before else _is_us(command) and arguments[:1] == ["mcp"]


def words_before(arguments: Sequence[object]) -> tuple[str, ...]:
    """Return the words before `mcp` that start us as a module; none where a program is started."""
    known = (MODULE, MODULE[1:])
    return next((one for one in known if tuple(arguments[: len(one) + 1]) == (*one, "mcp")), ())


def _is_us(path: str) -> bool:
    name = re.split(r"[\\/]", path)[-1].lower()
    for ending in _ENDINGS:
        name = name.removesuffix(ending)
    return name == NAME


# A settings file can hold anything.
def lines_of(handler: Any) -> tuple[str, ...]:  # noqa: ANN401
    """Return the fields of a registered handler that hold command lines."""
    if not isinstance(handler, Mapping):
        return ()
    fields = ("command", "bash", "powershell")
    return tuple(field for field in fields if isinstance(handler.get(field), str))
