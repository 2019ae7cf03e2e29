"""The state of one reading of code: names, files, budgets, and the facts seen so far."""

import ast
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from prowess.reading.views import Spot, View
from prowess.safety.facts import Act, Fact, Snippet
from prowess.safety.languages.code.values import (
    NO_LABELS,
    UNKNOWN,
    Frame,
    Function,
    Labels,
    Value,
    join,
    labels_of,
    public,
)
from prowess.safety.languages.decoding import MAX_TEXT

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
    indices = _place_letters(raw, skip, len(text))
    if indices is None:
        indices = _line_by_line(raw, text)
    if indices is None:
        return view.decoded(text, start, "")
    return view.derive(text, [start + index for index in indices])


def _place_letters(raw: str, skip: int, size: int) -> list[int] | None:
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


_COMMENT_MARK = re.compile(r"[#!:]+|//|/\*|")


def join_comments(view: View, spans: Iterable[tuple[int, int]]) -> list[tuple[int, View]]:
    """Return comments as prose, each with its place; what only blanks part is one text."""
    groups: list[list[tuple[int, int]]] = []
    for start, end in spans:
        if groups and not view.text[groups[-1][-1][1] : start].strip():
            groups[-1].append((start, end))
        else:
            groups.append([(start, end)])
    return [(group[0][0], _join_lines(view, group)) for group in groups]


def _join_lines(view: View, group: list[tuple[int, int]]) -> View:
    if len(group) == 1:
        return view.cut(*group[0])
    lines: list[str] = []
    indices: list[int] = []
    for start, end in group:
        mark = _COMMENT_MARK.match(view.text, start, end)
        first, last = mark.end() if mark else start, end - 2 * view.text.endswith("*/", start, end)
        lines.append(view.text[first:last] + "\n")
        indices.extend((*range(first, last), last))
    return view.derive("".join(lines), indices)


MAX_DEPTH = 90
_MAX_CALLS = 8
# Work beyond one visit of each node: calls followed, loops unrolled.
_EXPANSION = 25_000
_FOLDING = 1 << 23
_MAX_SUBJECT = 2000

Call = Callable[["Walker", Function, Sequence[Value], Mapping[str, Value]], Value]
Effect = Callable[["Walker", "Site"], Value | None]
Attempt = Callable[["Walker", "Site", str], Value | None]
Key = tuple[Act, int, str, str]


@dataclass(slots=True)
class CodeSource:
    """A tree and the way back from its positions to characters of the view.

    Here `lineno` and `end_lineno` of a node are indices of characters, as `javascript.lower` sets
    them; Python's own trees have a subclass.
    """

    view: View
    tree: ast.Module

    def line(self, _node: ast.expr | ast.stmt) -> str:
        """Return the line of a node, as a note says it; nothing where it is not known."""
        return ""

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """Return where a node begins and ends in the view."""
        return node.lineno, max(node.lineno, node.end_lineno or 0)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Language:
    """What differs between the languages that are read."""

    name: str
    # What a name means that the text does not define.
    find_name: "Callable[[Walker, str], Value | None]"
    # What a call may be, the first that knows it says what it gives.
    attempts: tuple[Attempt, ...]
    # What `a.b` is, and whether setting it was done, where that is not as in Python.
    get_member: "Callable[[Walker, Value, ast.expr, Value], Value | None]" = lambda *_given: None
    set_member: "Callable[[Walker, Value, ast.expr, Value, Value], bool]" = lambda *_given: False


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
class Walker:
    """What is known while a text is walked."""

    source: CodeSource
    language: Language
    outside: Labels
    # Runs a function of the text; set by the module that executes statements.
    run: Call
    scope: Frame = field(default_factory=Frame)
    module: Frame = field(default_factory=Frame)
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
    # Callbacks with what they were given: they run again when all names are known.
    handed: list[tuple[Function, Sequence[Value]]] = field(default_factory=list)
    active: list[Function] = field(default_factory=list)
    returned: list[Value] = field(default_factory=list)
    memory: dict[object, Value] = field(default_factory=dict)
    # Modules that are neither in the standard library nor well known: perhaps files of the skill.
    own_modules: set[str] = field(default_factory=set)
    imports: dict[str, None] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    # What a reverse shell is made of: the far host, and parts seen.
    peer: str = ""
    # Where everything that is logged from here on goes.
    log_host: str = ""
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
        if self.depth >= MAX_DEPTH:
            self.unread[f"nested too deeply{self.source.line(node)}"] = None
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
        scope: Frame | None = self.scope
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
