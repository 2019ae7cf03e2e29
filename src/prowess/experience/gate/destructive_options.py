"""Arguments of a program: options, what is left of them, and what a name or a target tells.

An argument is what the shell would pass on; a part that only the shell knows is `UNKNOWN`. Long
options count when they are cut short, since most programs take them so.
"""

import re
from collections.abc import Sequence

from prowess.experience.gate.tables import names

# Stands for what only the shell knows when it runs: a variable, the output of a command.
UNKNOWN = "\0"
_TELLING_WORDS = names(
    "deploy publish release delete destroy drop wipe purge clean clear reset uninstall remove rm "
    "prune push upload flush truncate kill nuke rollback migrate migration teardown prod "
    "production force dlx global erase format overwrite unpublish distclean mrproper"
)
_WORDS = re.compile(r"[a-z]+")
SAFE_TARGET = re.compile(r"/dev/(?:null|stdout|stderr|tty|fd/[0-9]+)\Z")
_SHORTEST_CUT = 4


def by_words(args: Sequence[str], what: str) -> str:
    """Judge a task or a script by what its name and its arguments say."""
    for arg in args:
        words = _WORDS.findall(arg.casefold())
        told = next((word for word in words if word in _TELLING_WORDS), "")
        if told:
            return f"{what} is told to {told}"
        if UNKNOWN in arg and not arg.startswith("-"):
            return f"what {what} is told is only known when it runs"
    return ""


def has_option(args: Sequence[str], long: Sequence[str] = (), short: str = "") -> bool:
    """Return whether an option is given, also cut short or among other letters."""
    for arg in args:
        name = arg.partition("=")[0]
        if arg.startswith("--"):
            if name[1:] in long or any(_is_cut(name, wanted) for wanted in long):
                return True
        elif arg.startswith("-") and (name in long or any(letter in arg[1:] for letter in short)):
            return True
    return False


def _is_cut(given: str, whole: str) -> bool:
    return given == whole or (len(given) >= _SHORTEST_CUT and whole.startswith(given))


def operands(args: Sequence[str], valued: Sequence[str] = ()) -> list[str]:
    """Return the arguments that are no options, without the values of those in `valued`."""
    found: list[str] = []
    at = 0
    while at < len(args):
        if args[at] == "--":
            return [*found, *args[at + 1 :]]
        if not args[at].startswith("-") or args[at] == "-":
            found.append(args[at])
        at += 2 if args[at] in valued else 1
    return found


def overwrites(path: str) -> str:
    """Return why writing to a path needs a confirmation."""
    return "" if SAFE_TARGET.match(path) else f"it overwrites {_named(path)}"


def appends(path: str) -> str:
    """Return why adding to a file needs a confirmation: outside the folder, or a hidden file."""
    is_near = re.fullmatch(r"[\w][\w./ -]*", path) and "/." not in path and ".." not in path
    return "" if is_near or SAFE_TARGET.match(path) else f"it adds to {_named(path)}"


def _named(path: str) -> str:
    return "a file that is only known when it runs" if UNKNOWN in path or not path else path
