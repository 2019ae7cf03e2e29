"""The parts of a shell text: words, commands, pipelines and groups, each with its place."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Text:
    """Characters that stand for themselves."""

    text: str
    start: int
    quoted: bool = False
    # Whether each character stands at its own place (an escape like `\\x63` does not).
    exact: bool = True


@dataclass(slots=True)
class Variable:
    """`$name`, or `${name…}` with what is done to it."""

    name: str
    start: int
    end: int
    quoted: bool = False
    operator: str = ""
    argument: "Word | None" = None


@dataclass(slots=True)
class Substitution:
    """`$(…)` and backticks, or with a direction `<(…)` and `>(…)`."""

    body: "list[Pipeline]"
    start: int
    end: int
    quoted: bool = False
    direction: str = ""


@dataclass(slots=True)
class Array:
    """`(a b c)` as the value of an assignment."""

    words: "list[Word]"
    start: int
    end: int


Part = Text | Variable | Substitution | Array


@dataclass(slots=True)
class Word:
    """One argument as written."""

    parts: list[Part]
    start: int
    end: int


@dataclass(slots=True)
class Redirect:
    """`> file`, `< file`, `<<EOF` and their kin."""

    operator: str
    descriptor: str
    target: Word
    # The text of a here-document, `None` for the other operators.
    body: Word | None = None


@dataclass(slots=True)
class Assignment:
    """`name=value` before a command or alone."""

    name: str
    value: Word
    append: bool
    start: int


@dataclass(slots=True)
class Command:
    """A simple command."""

    assignments: list[Assignment]
    words: list[Word]
    redirects: list[Redirect]
    start: int
    end: int


@dataclass(slots=True)
class Group:
    """Commands that belong together: `( )`, `{ }`, `if`, `for`, `while`, `case`, a function."""

    kind: str
    body: "list[Pipeline]"
    start: int
    end: int
    redirects: list[Redirect] = field(default_factory=list)
    # The variable of a `for`, the name of a function.
    name: str = ""
    words: list[Word] = field(default_factory=list)


@dataclass(slots=True)
class Pipeline:
    """Commands joined by `|`; a single command is a pipeline of one."""

    stages: list[Command | Group]
    start: int
    end: int


@dataclass(slots=True)
class Script:
    """A whole text, read."""

    body: list[Pipeline]
    comments: list[tuple[int, int]]
    # Where a quote or bracket begins that never ends, -1 where all end.
    broken: int = -1
    # Whether nesting went deeper than is read.
    deep: bool = False
