"""Options and operands of a command line."""

from dataclasses import dataclass

from prowess.safety.languages.shell.state import NOTHING, Value


@dataclass(slots=True)
class Options:
    """The options of a command, and the operands that are left."""

    given: dict[str, list[Value]]
    operands: list[Value]

    def has(self, *names: str) -> bool:
        """Whether one of `names` was given."""
        return any(name in self.given for name in names)

    def values(self, *names: str) -> list[Value]:
        """Return the values given to `names`, in order."""
        return [value for name in names for value in self.given.get(name, ())]

    def first(self, *names: str) -> Value | None:
        """Return the first value given to one of `names`."""
        return next(iter(self.values(*names)), None)


def options(args: list[Value], short: str = "", long: frozenset[str] = NOTHING) -> Options:
    """Split arguments; letters of `short` and names of `long` take a value."""
    found = Options({}, [])
    at = 0
    while at < len(args):
        text = args[at].text
        at += 1
        if text == "--":
            found.operands += args[at:]
            break
        if not text.startswith("-") or text == "-":
            found.operands.append(args[at - 1])
        elif text.startswith("--") or text in long:
            at = _long_option(found, args, at, long)
        else:
            at = _short_options(found, args, at, short)
    return found


def _long_option(found: Options, args: list[Value], at: int, long: frozenset[str]) -> int:
    value = args[at - 1]
    name, equals, _ = value.text.partition("=")
    given = found.given.setdefault(name, [])
    if equals:
        given.append(value.cut(len(name) + 1))
    elif name in long and at < len(args):
        given.append(args[at])
        at += 1
    return at


def _short_options(found: Options, args: list[Value], at: int, short: str) -> int:
    value = args[at - 1]
    for place, letter in enumerate(value.text[1:], 1):
        given = found.given.setdefault(f"-{letter}", [])
        if letter in short:
            rest = value.cut(place + 1)
            if rest.text:
                given.append(rest)
            elif at < len(args):
                given.append(args[at])
                at += 1
            break
    return at
