"""Programs that run another: where the inner command line begins.

Whether an option takes the next word as its value decides which word is the program: so an option
that is not known here means that the inner command line is not known either.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from prowess.experience.gate.destructive_options import UNKNOWN
from prowess.experience.gate.destructive_variables import exported_danger
from prowess.experience.gate.tables import names

# A dash and one letter.
_LETTER = 2
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)\+?=", re.ASCII)


@dataclass(frozen=True, slots=True)
class _Wrapper:
    """A program that runs the rest of its command line: how its own options are told apart."""

    plain: frozenset[str] = frozenset()
    valued: frozenset[str] = frozenset()
    # How many words stand before the command.
    skip: int = 0
    takes_assignments: bool = False

    def rest(self, args: Sequence[str]) -> list[str] | None:
        """Return the inner command line, or nothing where an option is not known."""
        at = 0
        while at < len(args) and args[at] != "--" and self._is_mine(args[at]):
            taken = self._taken(args[at])
            if not taken:
                return None
            at += taken
        at += args[at : at + 1] == ["--"]
        return list(args[at + self.skip :])

    def _is_mine(self, arg: str) -> bool:
        return arg.startswith("-") or (self.takes_assignments and bool(_ASSIGNED.match(arg)))

    def _taken(self, arg: str) -> int:
        """Return how many words an option takes up; none where it is not known."""
        if not arg.startswith("-"):
            name, _, value = arg.partition("=")
            return int(not exported_danger(name.rstrip("+"), value))
        if arg in self.valued:
            return 2
        is_glued = len(arg) > _LETTER and arg[1] != "-" and arg[:_LETTER] in self.valued
        return int(is_glued or arg.partition("=")[0] in self.plain)


def _wrapper(
    plain: str = "", valued: str = "", *, skip: int = 0, takes_assignments: bool = False
) -> _Wrapper:
    return _Wrapper(names(plain), names(valued), skip, takes_assignments)


_RUN = _wrapper(
    "-q --quiet --no-sync --frozen --locked --isolated --dev --all-extras --no-project -v -s",
    "--with --python -p --extra --group --package --directory --project -e --env",
)
_WRAPPERS: Mapping[str, _Wrapper] = MappingProxyType(
    {
        "env": _wrapper("-i -0", "-u -C --unset --chdir", takes_assignments=True),
        "nohup": _wrapper(), "setsid": _wrapper("-w -f"), "time": _wrapper("-p -v"),
        "nice": _wrapper("", "-n"), "ionice": _wrapper("-t", "-c -n"),
        "timeout": _wrapper("--preserve-status --foreground -v", "-k -s", skip=1),
        "gtimeout": _wrapper("--preserve-status --foreground -v", "-k -s", skip=1),
        "stdbuf": _wrapper("-oL -eL -o0 -e0 -i0", "-o -e -i"), "unbuffer": _wrapper(),
        "caffeinate": _wrapper("-i -d -s"), "command": _wrapper("-p"), "builtin": _wrapper(),
        "exec": _wrapper("-c -l"), "npx": _wrapper("-y --yes --no-install -q --quiet"),
        "bunx": _wrapper(),
    }
)  # fmt: skip
_XARGS = _wrapper("-0 -r -t -x", "-n -P -I -L -d -s -a")
# `uv run pytest`: the second word makes it a wrapper.
_RUNNERS: Mapping[str, str] = MappingProxyType(
    {**dict.fromkeys(("uv", "poetry", "pipenv", "pdm", "rye", "hatch"), "run"), "bundle": "exec"}
)


@dataclass(frozen=True, slots=True)
class Wrapped:
    """The command line inside another; `None` where it cannot be told."""

    rest: list[str] | None


def inner_command(name: str, args: Sequence[str]) -> Wrapped | None:
    """Return what a program runs; nothing where it is none that runs another."""
    if name == "xargs":
        return Wrapped(_fed(args))
    if args and _RUNNERS.get(name) == args[0]:
        return Wrapped(_from_registry(_RUN.rest(args[1:]), args))
    if name == "command" and args[:1] in (["-v"], ["-V"]):
        return Wrapped([])
    wrapper = _WRAPPERS.get(name)
    if wrapper is not None and name in ("npx", "bunx"):
        return Wrapped(_from_registry(wrapper.rest(args)))
    return None if wrapper is None else Wrapped(wrapper.rest(args))


def _from_registry(rest: list[str] | None, args: Sequence[str] = ()) -> list[str] | None:
    """Return the inner command line, unless what it runs is fetched from an address."""
    is_elsewhere = any("://" in arg or "git+" in arg for arg in args)
    is_named = bool(rest) and (":" in rest[0] or "@" in rest[0][1:]) if rest else False
    return None if is_elsewhere or is_named else rest


def _fed(args: Sequence[str]) -> list[str] | None:
    """Return what `xargs` runs; what comes in is only known when it runs, and stands at the end."""
    rest = _XARGS.rest(args)
    given = [at for at, arg in enumerate(args) if arg.startswith("-I")]
    if not rest:
        return rest
    if given:
        mark = args[given[0]][_LETTER:] or args[given[0] + 1]
        rest = [word.replace(mark, UNKNOWN) for word in rest]
    return [*rest, UNKNOWN]
