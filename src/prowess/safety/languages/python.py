"""What a Python text does: a script, a fenced block or an inline text, as facts."""

import ast
import re
import warnings
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from prowess.reading.views import View
from prowess.safety.facts import Reading, Snippet
from prowess.safety.languages.code.functions import PYTHON
from prowess.safety.languages.code.state import CodeSource, Walker, join_comments, literal_view
from prowess.safety.languages.code.statements import run_function, walk
from prowess.safety.languages.code.values import Frame

MAX_SOURCE = 1 << 18
_MAX_REPAIRS = 6
_MAX_REACH = 24
# All attempts together parse at most this many characters, and a few more for each attempt.
_REPAIR_BUDGET = 1 << 20
_PARSE_COST = 200
_MAX_BAD_PARTS = 200

_ANY_LINE_END = re.compile(r"\r\n|\r|\n")
_PROMPT = re.compile(r"[ \t]*(?:>>>|\.\.\.)(?: |$)")
_NOTEBOOK = re.compile(r"[ \t]*(?:!!?|%(?=(?:pip|conda|uv|mamba|sx|system)\b)|%{1,2}\w+|\?)")
_CELL = re.compile(r"[ \t]*%%(?:bash|sh|script|cmd|!)(?:[ \t]|$)")
_CONTINUES = re.compile(r"[ \t#)\]}]|(?:else|elif|except|finally|case)\b")
_MARK = "\ufeff"
_UNUSABLE = {0: " ", ord(_MARK): " "}


@dataclass(slots=True)
class PythonSource(CodeSource):
    """The tree of a Python text, whose positions are lines and columns in UTF-8."""

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

    def line(self, node: ast.expr | ast.stmt) -> str:
        """Return the line of a node, as a note says it."""
        return f" on line {node.lineno}"

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


def read_source(view: View) -> PythonSource:
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
        tree, bad = _repair(lines)
        if bad:
            shown = ", ".join(str(line) for line in bad[:4])
            notes.append(f"syntax error on line {shown}")
    return PythonSource(view, tree, lines, starts, commands, "; ".join(notes))


def _split(text: str) -> tuple[list[str], list[int]]:
    lines, starts, at = [], [], 0
    for end in _ANY_LINE_END.finditer(text):
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


def _repair(lines: list[str]) -> tuple[ast.Module, list[int]]:
    """Return the tree of what parses, and the lines that do not."""
    tree = _parse(lines)
    if isinstance(tree, ast.Module):
        return tree, []
    repair = _Repair(lines)
    repair.run()
    return ast.Module(body=repair.body, type_ignores=[]), sorted(set(repair.bad))


_MIN_LENGTH = 40
_MAX_TEXTS = 2000
_LINE_END = re.compile(r"[\r\n]")


def prose(source: CodeSource) -> tuple[View, ...]:
    """Return what a text says to a reader, in the order in which it stands."""
    found: list[tuple[int, View]] = []
    spans: list[tuple[int, int]] = []
    for node in _strings(source.tree):
        span = source.span(node)
        spans.append(span)
        text = node.value if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and len(text) >= _MIN_LENGTH and " " in text:
            found.append((span[0], literal_view(source.view, text, *span)))
    found.extend(join_comments(source.view, _comments(source.view, sorted(spans))))
    found.sort(key=lambda item: item[0])
    return tuple(view for _, view in found[:_MAX_TEXTS])


def _strings(tree: ast.Module) -> Iterator[ast.Constant | ast.JoinedStr]:
    """Yield the nodes that are strings; three times as fast as `ast.walk`."""
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str | bytes):
                yield node
            continue
        if isinstance(node, ast.JoinedStr):
            yield node
        for value in vars(node).values():
            if isinstance(value, list):
                stack.extend(item for item in value if isinstance(item, ast.AST))
            elif isinstance(value, ast.AST) and not isinstance(value, ast.Name):
                stack.append(value)


def _comments(view: View, spans: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield where comments stand: from a sign outside of texts to the end of its line."""
    starts, ends = _merge(spans)
    at = view.text.find("#")
    while at >= 0:
        before = bisect_right(starts, at) - 1
        if before >= 0 and at < ends[before]:
            at = view.text.find("#", ends[before])
            continue
        end = _LINE_END.search(view.text, at)
        stop = end.start() if end else len(view.text)
        yield at, stop
        at = view.text.find("#", stop)


def _merge(spans: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """Return where strings begin and end; parts of a template lie inside it."""
    starts: list[int] = []
    ends: list[int] = []
    for start, end in spans:
        if ends and start < ends[-1]:
            ends[-1] = max(ends[-1], end)
        else:
            starts.append(start)
            ends.append(end)
    return starts, ends


def read_python(view: View, flow: frozenset[str] = frozenset()) -> Reading:
    """Return what the Python code in `view` does; `flow` labels what reaches its input."""
    source = read_source(view)
    module = Frame()
    state = Walker(source, PYTHON, flow, run=run_function, scope=module, module=module)
    walk(state, source.tree.body)
    shell = tuple(Snippet("shell", view.cut(start, end)) for start, end in source.commands)
    notes = [source.unread] if source.unread else []
    return Reading(
        facts=tuple(sorted(state.facts.values(), key=lambda fact: fact.spot.start)),
        snippets=(*shell, *state.snippets.values()),
        texts=_texts(state, source),
        imports=tuple(state.imports),
        unread="; ".join([*notes, *list(state.unread)[:3]]),
    )


def _texts(state: Walker, source: CodeSource) -> tuple[View, ...]:
    try:
        return prose(source)
    except RecursionError:
        state.unread["nested too deeply"] = None
        return ()
