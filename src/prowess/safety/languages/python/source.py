"""Python text to a tree: whole files, fragments with prompts, notebook lines or broken lines.

The text of a Python literal as a view: each letter at its place in the source.

The state of one reading of Python: names, files, budgets, and the facts seen so far.
"""

import ast
import re
import warnings
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from prowess.safety.facts import Act, Fact, Snippet
from prowess.safety.languages.code.values import (
    MAX_TEXT,
    NO_LABELS,
    UNKNOWN,
    Function,
    Labels,
    Scope,
    Value,
    join,
    labels_of,
    public,
)
from prowess.safety.views import Spot, View

_OPENING = re.compile(r"[A-Za-z]{0,2}(?:\"\"\"|'''|\"|')")
# What stands for one letter, or for none where a line is continued.
_UNIT = re.compile(
    r"\\(?:\r\n|[0-7]{1,3}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|N\{[^}]{0,80}\}|.)|\r\n|.",
    re.DOTALL,
)


def literal_view(view: View, text: str, start: int, end: int) -> View:
    """Return the text of a literal that stands from `start` to `end`, as a view of its letters."""
    raw = view.text[start:end]
    opening = _OPENING.match(raw)
    skip = opening.end() if opening else 0
    at = raw.find(text, skip) if text else -1
    if at >= 0:
        return view.cut(start + at, start + at + len(text))
    indices = _escaped(raw, skip, len(text))
    if indices is None:
        indices = _line_by_line(raw, text)
    if indices is None:
        return view.decoded(text, start, "")
    return view.derive(text, [start + index for index in indices])


def _escaped(raw: str, skip: int, size: int) -> list[int] | None:
    """Return where each letter stands; None where the literal is not one plain piece."""
    prefix = raw[:skip].rstrip("'\"").lower()
    if not skip or "r" in prefix or "f" in prefix:
        return None
    quotes = skip - len(prefix)
    found = [
        unit.start()
        for unit in _UNIT.finditer(raw, skip, max(skip, len(raw) - quotes))
        if unit[0] not in {"\\\n", "\\\r\n"}
    ]
    return found if len(found) == size else None


def _line_by_line(raw: str, text: str) -> list[int] | None:
    """Escapes and fields move letters within a line, never to another one."""
    if text.count("\n") != raw.count("\n"):
        return None
    indices: list[int] = []
    at = 0
    for shown, line in zip(text.split("\n"), raw.split("\n"), strict=True):
        last = at + len(line)
        indices.extend(min(at + column, last) for column in range(len(shown) + 1))
        at = last + 1
    return indices[: len(text)]


MAX_SOURCE = 1 << 18
_MAX_REPAIRS = 6
_MAX_REACH = 24
# All attempts together parse at most this many characters, and a few more for each attempt.
_REPAIR_BUDGET = 1 << 20
_PARSE_COST = 200
_MAX_BAD_PARTS = 200

_LINE_END = re.compile(r"\r\n|\r|\n")
_PROMPT = re.compile(r"[ \t]*(?:>>>|\.\.\.)(?: |$)")
_NOTEBOOK = re.compile(r"[ \t]*(?:!!?|%(?=(?:pip|conda|uv|mamba|sx|system)\b)|%{1,2}\w+|\?)")
_CELL = re.compile(r"[ \t]*%%(?:bash|sh|script|cmd|!)(?:[ \t]|$)")
_CONTINUES = re.compile(r"[ \t#)\]}]|(?:else|elif|except|finally|case)\b")
_MARK = "\ufeff"
_UNUSABLE = {0: " ", ord(_MARK): " "}


@dataclass(slots=True)
class Source:
    """A tree and the way back from its positions to characters of the view."""

    view: View
    tree: ast.Module
    lines: list[str]
    # For each line the index of its first character in the view.
    starts: list[int]
    # Stretches of the view that a notebook hands to a shell.
    commands: tuple[tuple[int, int], ...] = ()
    unread: str = ""
    _columns: dict[int, Sequence[int]] = field(default_factory=dict)

    def index(self, line: int, column: int) -> int:
        """Return the index in the view of a line (from one) and a column in UTF-8 bytes."""
        if not 0 < line <= len(self.lines):
            return 0
        text = self.lines[line - 1]
        start = self.starts[line - 1]
        if text.isascii():
            return start + min(column, len(text))
        columns = self._columns.get(line)
        if columns is None:
            columns = self._columns[line] = _byte_columns(text)
        return start + columns[min(column, len(columns) - 1)]

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """Return where a node begins and ends in the view."""
        start = self.index(node.lineno, node.col_offset)
        if node.end_lineno is None or node.end_col_offset is None:
            return start, start
        return start, max(start, self.index(node.end_lineno, node.end_col_offset))


def _byte_columns(text: str) -> Sequence[int]:
    columns = array("L")
    for index, letter in enumerate(text):
        columns.extend([index] * len(letter.encode("utf-8", "replace")))
    columns.append(len(text))
    return columns


# No line of a file has this number.
_TOO_DEEP = 0


def _parse(lines: list[str]) -> ast.Module | int:
    """Return the tree, or the number of the line where reading stopped (0 where none is named)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse("\n".join(lines))
        except SyntaxError as error:
            return min(error.lineno or 1, len(lines))
        except (RecursionError, MemoryError, ValueError):
            return _TOO_DEEP


def read_source(view: View) -> Source:
    """Parse as much of `view` as can be read as Python."""
    text = view.text[:MAX_SOURCE].translate(_UNUSABLE)
    # Lone surrogates cannot be parsed; each becomes one question mark, so positions stay.
    text = text.encode("utf-8", "replace").decode("utf-8")
    lines, starts = _split(text)
    if view.text.startswith(_MARK):
        lines[0], starts[0] = lines[0][1:], 1
    notes = [] if len(view.text) <= MAX_SOURCE else [f"only the first {MAX_SOURCE} characters read"]
    tree = _parse(lines)
    commands: tuple[tuple[int, int], ...] = ()
    if tree == _TOO_DEEP:
        notes.append("nested too deeply")
    if not isinstance(tree, ast.Module):
        commands = _tidy(lines, starts)
        tree, bad = _repaired(lines)
        if bad:
            shown = ", ".join(str(line) for line in bad[:4])
            notes.append(f"syntax error on line {shown}")
    return Source(view, tree, lines, starts, commands, "; ".join(notes))


def _split(text: str) -> tuple[list[str], list[int]]:
    lines, starts, at = [], [], 0
    for end in _LINE_END.finditer(text):
        lines.append(text[at : end.start()])
        starts.append(at)
        at = end.end()
    lines.append(text[at:])
    starts.append(at)
    return lines, starts


def _tidy(lines: list[str], starts: list[int]) -> tuple[tuple[int, int], ...]:
    """Take prompts, notebook lines and a common indentation away, in place."""
    if any(line.lstrip().startswith(">>>") for line in lines):
        _drop_prompts(lines, starts)
    commands = _notebook_lines(lines, starts)
    _dedent(lines, starts)
    return commands


def _drop_prompts(lines: list[str], starts: list[int]) -> None:
    for number, line in enumerate(lines):
        prompt = _PROMPT.match(line)
        starts[number] += prompt.end() if prompt else 0
        # Lines without a prompt are what the interpreter answered.
        lines[number] = line[prompt.end() :] if prompt else ""


def _notebook_lines(lines: list[str], starts: list[int]) -> tuple[tuple[int, int], ...]:
    commands = []
    first = next((number for number, line in enumerate(lines) if line.strip()), 0)
    if _CELL.match(lines[first]):
        begin = min(first + 1, len(lines) - 1)
        commands.append((starts[begin], starts[-1] + len(lines[-1])))
        for number in range(first, len(lines)):
            lines[number] = ""
        return tuple(commands)
    for number, line in enumerate(lines):
        mark = _NOTEBOOK.match(line)
        if mark is None or (mark[0].strip() == "?" and line.rstrip() == "?"):
            continue
        if mark[0].strip() in {"!", "!!", "%"}:
            commands.append((starts[number] + mark.end(), starts[number] + len(line)))
        lines[number] = line[: len(line) - len(line.lstrip())] + "pass"
    return tuple(commands)


def _dedent(lines: list[str], starts: list[int]) -> None:
    margins = [len(line) - len(line.lstrip(" \t")) for line in lines if line.strip()]
    margin = min(margins, default=0)
    for number, line in enumerate(lines):
        cut = min(margin, len(line) - len(line.lstrip(" \t")))
        lines[number] = line[cut:]
        starts[number] += cut


class _Repair:
    """Reads a text that does not parse, statement by statement."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.body: list[ast.stmt] = []
        self.bad: list[int] = []
        self.budget = _REPAIR_BUDGET
        # A line at the margin begins the next statement, unless it goes on with the last.
        starts = [n for n, line in enumerate(lines) if n == 0 or not _continues(line)]
        self.bounds = [*starts, len(lines)]

    def run(self) -> None:
        """Parse what parses; note the first line of trouble of the rest."""
        at = 0
        while at < len(self.bounds) - 1 and len(self.bad) <= _MAX_BAD_PARTS:
            end = self._longest(at)
            if end is None:
                self._mend(at)
                end = at + 1
            at = end
            if self.budget < 0:
                self.bad.append(self.bounds[min(at, len(self.bounds) - 1)])
                return

    def _parse(self, lines: list[str], begin: int) -> int | None:
        """Keep the statements of some lines; else return the line of trouble (0: none named)."""
        self.budget -= sum(map(len, lines)) + _PARSE_COST
        tree = _parse(lines)
        if isinstance(tree, int):
            return tree
        ast.increment_lineno(tree, begin)
        self.body.extend(tree.body)
        return None

    def _longest(self, at: int) -> int | None:
        """Read the statement at a bound; texts with lines at the margin reach past the next."""
        begin = self.bounds[at]
        for end in range(at + 1, min(at + _MAX_REACH, len(self.bounds) - 1) + 1):
            lines = self.lines[begin : self.bounds[end]]
            if self._parse(lines, begin) is None:
                return end
            if self.budget < 0 or not _is_open("\n".join(lines)):
                return None
        return None

    def _mend(self, at: int) -> None:
        """Take broken lines out of one statement; where that fails, all that follows the first."""
        begin, end = self.bounds[at], self.bounds[at + 1]
        lines = self.lines[begin:end]
        first = 0
        for _ in range(_MAX_REPAIRS):
            trouble = self._parse(lines, begin)
            if trouble is None:
                return
            first = first or trouble
            self.bad.append(begin + max(trouble, 1))
            line = lines[trouble - 1]
            mended = line[: len(line) - len(line.lstrip())] + "pass"
            if trouble == 0 or line == mended or self.budget < 0:
                break
            lines[trouble - 1] = mended
        if first > 1:
            self._parse(self.lines[begin : begin + first - 1], begin)


def _continues(line: str) -> bool:
    return not line or _CONTINUES.match(line) is not None


def _is_open(text: str) -> bool:
    """Whether a text may be the beginning of a statement that ends further down."""
    if text.startswith("@") or text.count('"""') % 2 or text.count("'''") % 2:
        return True
    return sum(map(text.count, "([{")) > sum(map(text.count, ")]}"))


def _repaired(lines: list[str]) -> tuple[ast.Module, list[int]]:
    """Return the tree of what parses, and the lines that do not."""
    tree = _parse(lines)
    if isinstance(tree, ast.Module):
        return tree, []
    repair = _Repair(lines)
    repair.run()
    return ast.Module(body=repair.body, type_ignores=[]), sorted(set(repair.bad))


_MAX_DEPTH = 90
_MAX_CALLS = 8
# Work beyond one visit of each node: calls followed, loops unrolled.
_EXPANSION = 25_000
_FOLDING = 1 << 23
_MAX_SUBJECT = 2000

Call = Callable[["State", Function, Sequence[Value], Mapping[str, Value]], Value]
Key = tuple[Act, int, str, str]


@dataclass(slots=True)
class Site:
    """One call: what is called, on what, with what."""

    node: ast.Call
    name: str
    callee: Value
    receiver: Value
    args: tuple[Value, ...]
    keywords: dict[str, Value]

    def arg(self, position: int, keyword: str = "") -> Value:
        """Return an argument by position or keyword; an unknown value where it is not given."""
        if keyword and keyword in self.keywords:
            return self.keywords[keyword]
        return self.args[position] if position < len(self.args) else UNKNOWN

    def given(self) -> Iterable[Value]:
        """Return all arguments."""
        return (*self.args, *self.keywords.values())

    def labels(self) -> Labels:
        """Return the labels of all arguments."""
        return labels_of(self.given())


@dataclass(slots=True)
class State:
    """What is known while a text is walked."""

    source: Source
    outside: Labels
    # Runs a function of the text; set by the module that executes statements.
    run: Call
    scope: Scope = field(default_factory=Scope)
    module: Scope = field(default_factory=Scope)
    # What is done in a branch or loop adds to a name; elsewhere it replaces.
    nesting: int = 0
    # Inside a loop of which one round stands for all.
    looping: int = 0
    # The class whose body is walked.
    owner: str = ""
    depth: int = 0
    # Above zero while a call is followed or a loop unrolled; what that costs is counted.
    expanding: int = 0
    spent: int = 0
    folded: int = 0
    facts: dict[Key, Fact] = field(default_factory=dict)
    snippets: dict[tuple[str, str, int], Snippet] = field(default_factory=dict)
    # Attributes of objects of classes in this text, by class.
    attributes: dict[str, dict[str, Value]] = field(default_factory=dict)
    missing: set[tuple[str, str]] = field(default_factory=set)
    # Labels of what this text itself has written to a path.
    files: dict[str, Labels] = field(default_factory=dict)
    functions: list[Function] = field(default_factory=list)
    active: list[Function] = field(default_factory=list)
    returned: list[Value] = field(default_factory=list)
    memory: dict[object, Value] = field(default_factory=dict)
    # Modules that are neither in the standard library nor well known: perhaps files of the skill.
    own_modules: set[str] = field(default_factory=set)
    imports: dict[str, None] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    # What a reverse shell is made of: the far host, and parts seen.
    peer: str = ""
    parts: dict[str, ast.expr] = field(default_factory=dict)
    unread: dict[str, None] = field(default_factory=dict)

    @property
    def may_expand(self) -> bool:
        """Whether there is budget to follow calls and unroll loops."""
        return self.spent < _EXPANSION and len(self.active) < _MAX_CALLS

    def enter(self, node: ast.expr | ast.stmt) -> bool:
        """Go one level deeper; False where the text is nested too deeply to follow."""
        if self.expanding:
            self.spent += 1
        if self.depth >= _MAX_DEPTH:
            self.unread[f"nested too deeply on line {node.lineno}"] = None
            return False
        self.depth += 1
        return True

    def charge(self, value: Value) -> Value:
        """Count folded text; past the budget, forget it."""
        if isinstance(value.constant, str | bytes):
            self.folded += len(value.constant)
            if self.folded > _FOLDING or len(value.constant) > MAX_TEXT:
                return Value(labels=value.labels, node=value.node)
        return value

    def find(self, name: str) -> Value | None:
        """Return what a name holds in this scope or those around it."""
        scope: Scope | None = self.scope
        while scope is not None:
            found = scope.names.get(name)
            if found is not None:
                return found
            scope = scope.parent
        return None

    def assign(self, name: str, value: Value) -> None:
        """Let a name hold a value."""
        scope = self.module if name in self.scope.shared else self.scope
        if self.nesting or scope is not self.scope:
            value = join(scope.names.get(name), value)
        scope.names[name] = value

    def spot(self, node: ast.expr | ast.stmt) -> Spot:
        """Return where a node stands."""
        start, end = self.source.span(node)
        return Spot(self.source.view, start, end)

    def emit(
        self,
        act: Act,
        node: ast.expr | ast.stmt,
        subject: str = "",
        target: str = "",
        flow: Labels = NO_LABELS,
    ) -> None:
        """Note a fact; the same one seen again only adds what flows into it."""
        spot = self.spot(node)
        subject, target = subject[:_MAX_SUBJECT], target[:_MAX_SUBJECT]
        key = (act, spot.start, subject, target)
        known = self.facts.get(key)
        flow = public(flow) | (known.flow if known else NO_LABELS)
        self.facts[key] = Fact(act, spot, subject, target, flow)

    def embed(self, language: str, value: Value, flow: Labels = NO_LABELS) -> None:
        """Note code in another language that a value holds."""
        if not value.text or value.node is None:
            return
        key = (language, value.text, self.source.span(value.node)[0])
        if key not in self.snippets and value.text.strip():
            self.snippets[key] = Snippet(language, self.view_of(value), public(flow))

    def embed_line(self, text: str, indices: Sequence[int], flow: Labels = NO_LABELS) -> None:
        """Note a command line put together from words; `indices` says where each letter stands."""
        key = ("shell", text, indices[0] if indices else 0)
        if key not in self.snippets:
            self.snippets[key] = Snippet(
                "shell", self.source.view.derive(text, indices), public(flow)
            )

    def attribute(self, owner: str, name: str) -> Value | None:
        """Return an attribute of a class of this text, if it is known."""
        return self.attributes.get(owner, {}).get(name)

    def set_attribute(self, owner: str, name: str, value: Value) -> None:
        """Let an attribute of a class of this text hold a value."""
        self.attributes.setdefault(owner, {})[name] = value

    def view_of(self, value: Value) -> View:
        """Return the text of a value as a view, each line at its place where that is known."""
        view, text = self.source.view, value.text
        if value.node is None:
            return view.decoded(text, 0, "")
        start, end = self.source.span(value.node)
        if value.plain and not value.steps:
            return literal_view(view, text, start, end)
        found = view.decoded(text, start, "")
        for step in value.steps:
            found = found.decoded(text, 0, step)
        return found
