"""Programs whose first words say what they do, such as git: a table, and its exceptions."""

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from prowess.experience.gate.destructive_options import UNKNOWN, by_words, has_option, operands
from prowess.experience.gate.tables import Tool

# As many words of a command line say what is done.
_DECIDING = 2
# A dash and one letter.
_LETTER = 2
# Options that a script passes on, and by which most programs write over what is there.
_PASSED_ON = re.compile(r"(?i)--?(?:out|empty-?out|write|fix|update)")
_INTENT_BAD = re.compile(r"(?i)delete|uninstall|clear|call|factory|reset|sendto|\bsend\b")


def tool_danger(tool: Tool, args: Sequence[str], name: str) -> str:
    """Judge a program by its first words and its options."""
    words = _first_words(tool, args)
    if not words:
        told = [arg for arg in args if arg not in ("--version", "--help", "-h")]
        return f"{name}: {tool.reason}" if told or not args else ""
    first, both = words[0], " ".join(words[:2])
    letters = tuple(option for option in tool.bad if len(option) == _LETTER)
    bad = has_option(args, tuple(tool.bad)) or any(arg.startswith(letters) for arg in args)
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
    reaches = first in ("clone", "fetch", "ls-remote")
    if any(arg.startswith("ext::") or (reaches and UNKNOWN in arg) for arg in args):
        return True
    letters = {"branch": "dDfmMcC", "tag": "df", "switch": "fC", "fetch": "fp", "clone": "cu",
               "symbolic-ref": "d", "grep": "O"}  # fmt: skip
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


def _node(first: str, args: Sequence[str]) -> bool:
    told = bool(by_words([arg for arg in args if arg != first], first))
    told = told or any(map(_PASSED_ON.match, args))
    if first in ("install", "i", "add", "ci"):
        return told or any(map(_is_elsewhere, args)) or has_option(args, short="g")
    return told or (first == "audit" and "fix" in args)


def _is_elsewhere(arg: str) -> bool:
    """Return whether a package is fetched from where its giver says, and not from the registry."""
    is_path = arg.startswith(("./", "@")) and ":" not in arg
    return UNKNOWN in arg or "://" in arg or "git+" in arg or ("/" in arg and not is_path)


def _python_packages(first: str, args: Sequence[str]) -> bool:
    words = ("install", "download", "wheel", "add", "pip", "lock", "sync")
    foreign = ("://", "git+", "@", UNKNOWN)
    return first in words and any(mark in arg for arg in args for mark in foreign)


def _cargo(first: str, args: Sequence[str]) -> bool:
    rest = list(args[list(args).index(first) + 1 :])
    if first in ("run", "r"):
        told = rest[rest.index("--") + 1 :] if "--" in rest else operands(rest, _CARGO_VALUED)
        only_asks = all(arg in ("--help", "--version", "-h", "-V") for arg in told)
        return not only_asks or bool(by_words(rest, first))
    if first == "add":
        return has_option(rest, ("--git", "--path", "--registry"))
    return first == "fmt" and not has_option(rest, ("--check",))


def _go(first: str, args: Sequence[str]) -> bool:
    rest = operands(list(args[list(args).index(first) + 1 :]), _GO_VALUED)
    if first == "run":
        return not _is_local(rest[:1]) or bool(by_words(rest, first))
    if first == "install":
        return not _is_local(rest)
    return first == "fmt"


def _is_local(packages: Sequence[str]) -> bool:
    return bool(packages) and all(
        (name == "." or name.startswith("./") or re.fullmatch(r"[\w-]+\.go", name))
        and "@" not in name
        and UNKNOWN not in name
        for name in packages
    )


def _formats(first: str, args: Sequence[str]) -> bool:
    looks = has_option(args, ("--check", "-check", "--diff", "-diff"))
    elsewhere = any("://" in arg for arg in args)
    return elsewhere or (first == "fmt" and not looks)


def _intents(_first: str, args: Sequence[str]) -> bool:
    return any(_INTENT_BAD.search(arg) for arg in args)


_CARGO_VALUED = ("--bin", "--example", "-p", "--package", "--features", "-F", "--profile",
                 "--target", "--manifest-path", "-j", "--jobs", "--color")  # fmt: skip
_GO_VALUED = ("-tags", "-ldflags", "-gcflags", "-mod", "-p", "-C")
_MORE: Mapping[str, Callable[[str, Sequence[str]], bool]] = MappingProxyType(
    {"git": _git, "npm": _node, "pnpm": _node, "yarn": _node, "bun": _node, "am": _intents,
     "pip": _python_packages, "uv": _python_packages, "poetry": _python_packages, "cargo": _cargo,
     "go": _go, "terraform": _formats, "deno": _formats}
)  # fmt: skip
