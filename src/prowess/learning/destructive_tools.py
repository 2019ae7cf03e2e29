"""Programs whose first words say what they do, such as git: a table, and its exceptions."""

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from prowess.learning.destructive_options import UNKNOWN, by_words, has_option, operands
from prowess.learning.destructive_tables import Tool

# As many words of a command line say what is done.
_DECIDING = 2
_INTENT_BAD = re.compile(r"(?i)delete|uninstall|clear|call|factory|reset|sendto|\bsend\b")


def tool_danger(tool: Tool, args: Sequence[str], name: str) -> str:
    """Judge a program by its first words and its options."""
    words = _first_words(tool, args)
    if not words:
        told = [arg for arg in args if arg not in ("--version", "--help", "-h")]
        return f"{name}: {tool.reason}" if told or not args else ""
    first, both = words[0], " ".join(words[:2])
    bad = has_option(args, tuple(tool.bad))
    if bad or not (first in tool.fine or both in tool.fine):
        return f"{name} {'' if UNKNOWN in first else first}: {tool.reason}"
    more = _MORE.get(name)
    return f"{name} {first}: {tool.reason}" if more and more(first, args) else ""


def _first_words(tool: Tool, args: Sequence[str]) -> list[str]:
    """Return the words that say what is done; none where an option is not known."""
    words: list[str] = []
    at = 0
    while at < len(args) and len(words) < _DECIDING:
        arg = args[at]
        at += 1
        if not arg.startswith("-"):
            words.append(arg)
        elif arg in tool.valued:
            at += 1
        elif not words and arg.partition("=")[0] not in tool.plain | tool.valued:
            return []
    return words


def _git(first: str, args: Sequence[str]) -> bool:
    """Return whether a command of git that mostly looks does more with these arguments."""
    given = list(args[list(args).index(first) + 1 :])
    rest = operands(given)
    if any(arg.startswith("ext::") for arg in args):
        return True
    letters = {"branch": "dDfmMcC", "tag": "df", "switch": "fC", "fetch": "fp", "clone": "cu",
               "symbolic-ref": "d"}  # fmt: skip
    checks: dict[str, bool] = {
        "checkout": "-b" not in given or "--" in given or has_option(given, short="fB"),
        "remote": bool(rest) and rest[0] not in ("show", "get-url"),
        "config": not _reads_config(given, rest),
        "reflog": bool(rest) and rest[0] in ("expire", "delete", "drop"),
        "symbolic-ref": len(rest) > 1,
        "fetch": any(mark in arg for arg in rest[1:] for mark in "+:"),
    }
    return checks.get(first, False) or has_option(given, short=letters.get(first, ""))


def _reads_config(given: Sequence[str], rest: Sequence[str]) -> bool:
    places = ("--global", "--local", "--system")
    asked = [arg for arg in given if arg.startswith("-") and arg not in places]
    if asked:
        reading = ("--get", "--get-all", "--get-regexp", "--list", "-l", "--show-origin", "-z")
        return all(arg in reading for arg in asked)
    return len(rest) == 1 or rest[:1] in (["get"], ["list"])


def _scripts(first: str, args: Sequence[str]) -> bool:
    return bool(by_words([arg for arg in args if arg != first], first))


def _intents(_first: str, args: Sequence[str]) -> bool:
    return any(_INTENT_BAD.search(arg) for arg in args)


_MORE: Mapping[str, Callable[[str, Sequence[str]], bool]] = MappingProxyType(
    {"git": _git, "npm": _scripts, "pnpm": _scripts, "yarn": _scripts, "bun": _scripts,
     "am": _intents}
)  # fmt: skip
