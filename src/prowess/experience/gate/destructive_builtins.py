"""Parts of the shell itself: what they set, and code that hides in their arguments.

Names that such a part is given are read as a shell reads them: an index of an array in a name is
calculated, and so may run a command. Only plain names pass.
"""

import re
from collections.abc import Sequence

from prowess.experience.gate.destructive_options import UNKNOWN, operands
from prowess.experience.gate.destructive_variables import assigned_danger, exported_danger

ODD = "it is written in a way that hides what it does"
# Code inside what is not read as code: the index of an array, a pattern, arithmetic.
CODE = re.compile(r"\$\(|`|\$\{")
DECLARES = frozenset(("export", "local", "readonly", "declare", "typeset"))
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_READ_VALUED = re.compile(r"-[a-zA-Z]*[dnNptui]")
_READ_OPTION = re.compile(r"-[rsea]+|-[a-zA-Z]*[dnNptu].*")
_SET_OPTION = re.compile(r"[-+][euxvfho]+|--")
_SET_NAMES = frozenset(("pipefail", "errexit", "nounset", "xtrace", "noglob"))


def builtin_danger(args: Sequence[str]) -> str:
    """Return why a part of the shell needs a confirmation with these arguments."""
    name = args[0]
    if name == "let" or any(CODE.search(arg) and "[" in arg for arg in args[1:]):
        return ODD
    if name in DECLARES:
        return _declaring(name, args[1:])
    if name == "set":
        fine = all(_SET_OPTION.fullmatch(arg) or arg in _SET_NAMES for arg in args[1:])
        return "" if fine else "it changes how the shell reads commands"
    if name in ("wait", "getopts", "jobs"):
        is_plain = all(re.fullmatch(r"[\w:%+-]+", arg) for arg in args[1:])
        return _naming(args[2:3]) if is_plain and not {"-p", "-x"} & set(args) else ODD
    return _naming(_names_given(name, args[1:]))


def opens_names(args: Sequence[str]) -> bool:
    """Return whether names are set here in a way that is not followed any further."""
    if args[0] == "printf":
        return args[1:2] == ["-v"]
    options = any(arg.startswith(("-", "+")) for arg in args[1:])
    return args[0] in ("read", "getopts", "wait") or (args[0] in DECLARES and options)


def _declaring(name: str, args: Sequence[str]) -> str:
    """Judge `export` and its kin; options make a name an integer, or the name of another."""
    options = [arg for arg in args if arg.startswith(("-", "+"))]
    if any(option not in ("-x", "-r", "-g", "-a", "-p", "--") for option in options):
        return ODD
    is_exported = name == "export" or "-x" in options
    for arg in args:
        if arg in options:
            continue
        given, sign, value = arg.partition("=")
        plain = given.removesuffix("+")
        if not _NAME.fullmatch(plain):
            return ODD
        found = exported_danger(plain, value if sign else UNKNOWN) if is_exported else ""
        if found := found or assigned_danger(plain):
            return found
    return ""


def _names_given(name: str, args: Sequence[str]) -> list[str]:
    """Return the arguments that a part of the shell reads as names of variables."""
    if name == "unset":
        return [arg for arg in args if arg != "-v"]
    if name == "printf":
        first = args[0] if args else ""
        if first.startswith(UNKNOWN):
            return [UNKNOWN]
        return [first[2:] or "".join(args[1:2])] if first.startswith("-v") else []
    if name != "read":
        return []
    odd = [arg for arg in args if arg.startswith("-") and not _READ_OPTION.fullmatch(arg)]
    valued = [arg for arg in args if _READ_VALUED.fullmatch(arg)]
    return [*odd, *operands(args, valued)]


def _naming(given: Sequence[str]) -> str:
    for name in given:
        if not _NAME.fullmatch(name):
            return ODD
        if found := assigned_danger(name):
            return found
    return ""
