"""What a JavaScript or TypeScript text does.

The text is lowered to Python's syntax tree and read by the evaluator of `code`; comments and long
texts are prose.
"""

import ast
import re
from collections.abc import Iterator

from prowess.reading.views import View
from prowess.safety.facts import Act, Reading
from prowess.safety.languages.code.state import CodeSource, Walker, literal_view
from prowess.safety.languages.code.statements import run_function, walk
from prowess.safety.languages.code.values import Frame
from prowess.safety.languages.javascript.language import JAVASCRIPT
from prowess.safety.languages.javascript.lower import Lowering
from prowess.safety.languages.javascript.tree import JsNode, parse

_MINER = re.compile(
    r"stratum\+(?:tcp|ssl|tls)://[^\s'\"`]{1,100}|\b(?:coinhive|cryptonight|coin-hive|xmrig)\b",
    re.IGNORECASE,
)
_SHORTEST_MINER, _LONGEST_MINER = 6, 4_000
_LONG_TEXT = 40
_SHORT_COMMENT = 12


def read_javascript(view: View, flow: frozenset[str] = frozenset()) -> Reading:
    """Return what the JavaScript of `view` does; `flow` are labels of data that reaches it."""
    root, complete = parse(view.text)
    lowering = Lowering(view.text)
    try:
        tree = lowering.module(root)
    except RecursionError:
        tree, lowering.deep = ast.Module([], []), True
    module = Frame()
    source = CodeSource(view, tree)
    state = Walker(source, JAVASCRIPT, flow, run=run_function, scope=module, module=module)
    walk(state, tree.body)
    for pair in lowering.unverified:
        state.emit(Act.DISABLE, pair, "tls")
    texts = (*_comments(view, root), *_long_texts(state, tree))
    notes = {"too large": not complete, "nested too deeply": lowering.deep}
    noted = {note: None for note, holds in notes.items() if holds}
    return Reading(
        facts=tuple(
            sorted(state.facts.values(), key=lambda fact: (fact.spot.start, fact.spot.end))
        ),
        snippets=tuple(state.snippets.values()),
        texts=texts,
        imports=tuple(state.imports),
        unread="; ".join(noted | state.unread),
    )


def _long_texts(state: Walker, tree: ast.Module) -> Iterator[View]:
    """Yield texts that somebody may read, and note those that name a miner."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            continue
        text = node.value
        if _SHORTEST_MINER <= len(text) < _LONGEST_MINER and (miner := _MINER.search(text)):
            state.emit(Act.MINE, node, miner[0])
        if len(text) >= _LONG_TEXT and " " in text:
            yield literal_view(state.source.view, text, *state.source.span(node))


def _comments(view: View, root: JsNode) -> list[View]:
    """Return comments as prose, lines that follow each other as one text."""
    groups: list[list[JsNode]] = []
    queue = [root]
    found: list[JsNode] = []
    while queue:
        node = queue.pop()
        if node.kind in {"comment", "html_comment", "hash_bang_line"}:
            found.append(node)
        queue.extend(node.kids)
    for node in sorted(found, key=lambda comment: comment.start):
        if groups and not view.text[groups[-1][-1].end : node.start].strip():
            groups[-1].append(node)
        else:
            groups.append([node])
    return [text for group in groups if (text := _prose(view, group)) is not None]


def _prose(view: View, group: list[JsNode]) -> View | None:
    if len(group) == 1:
        alone = view.cut(group[0].start, group[0].end)
        return alone if len(alone.text.strip()) >= _SHORT_COMMENT else None
    parts: list[str] = []
    indices: list[int] = []
    for node in group:
        start, end = node.start, node.end
        if view.text.startswith(("//", "/*"), start):
            start += 2
        if view.text.startswith("*/", end - 2):
            end -= 2
        parts.append(view.text[start:end])
        indices.extend(range(start, end))
        parts.append("\n")
        indices.append(max(end - 1, 0))
    text = "".join(parts)
    return view.derive(text, indices) if len(text.strip()) >= _SHORT_COMMENT else None
