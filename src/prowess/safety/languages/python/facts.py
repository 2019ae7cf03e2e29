"""What a Python text does: a script, a fenced block or an inline text, as facts."""

import ast
import re
from bisect import bisect_right
from collections.abc import Iterator

from prowess.reading.views import View
from prowess.safety.facts import Reading, Snippet
from prowess.safety.languages.code.functions import PYTHON
from prowess.safety.languages.code.state import CodeSource, Walker, literal_view
from prowess.safety.languages.code.statements import run_function, walk
from prowess.safety.languages.code.values import Frame
from prowess.safety.languages.python.source import read_source

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
        if isinstance(text, str) and _is_prose(text):
            found.append((span[0], literal_view(source.view, text, *span)))
    found.extend(_comments(source.view, sorted(spans)))
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


def _is_prose(text: str) -> bool:
    return len(text) >= _MIN_LENGTH and " " in text


def _comments(view: View, spans: list[tuple[int, int]]) -> list[tuple[int, View]]:
    """Return comments; those on lines below each other are one."""
    starts, ends = _merged(spans)
    found: list[tuple[int, View]] = []
    run: list[tuple[int, int]] = []
    at = view.text.find("#")
    while at >= 0:
        before = bisect_right(starts, at) - 1
        if before >= 0 and at < ends[before]:
            at = view.text.find("#", ends[before])
            continue
        end = _LINE_END.search(view.text, at)
        stop = end.start() if end else len(view.text)
        if run and view.text[run[-1][1] : at].strip():
            found.append(_joined(view, run))
            run = []
        run.append((at, stop))
        at = view.text.find("#", stop)
    return [*found, _joined(view, run)] if run else found


def _merged(spans: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
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


def _joined(view: View, run: list[tuple[int, int]]) -> tuple[int, View]:
    if len(run) == 1:
        start, end = run[0]
        return start, view.cut(start, end)
    letters: list[str] = []
    indices: list[int] = []
    for start, end in run:
        body = view.text[start:end].lstrip("#!:")
        at = end - len(body)
        letters.append(body + "\n")
        indices.extend(range(at, end + 1))
    return run[0][0], view.derive("".join(letters), indices)


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
