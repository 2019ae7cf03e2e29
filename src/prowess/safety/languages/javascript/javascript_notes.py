"""What is noted while JavaScript is read: facts, code inside code, prose."""

from dataclasses import dataclass, field
from typing import TypeAlias

from prowess.safety.facts import Act, Fact, Snippet
from prowess.safety.languages.javascript.javascript_tree import Node
from prowess.safety.languages.javascript.values import NO_LABELS, Value
from prowess.safety.views import Spot, View

_MAX_FACTS = 5_000
_LONG_TEXT = 40

_FactKey: TypeAlias = tuple[Act, int, int, str, str]


@dataclass(slots=True, kw_only=True)
class Notebook:
    """Notes on one text, each made once however often its place is read."""

    view: View
    facts: dict[_FactKey, frozenset[str]] = field(default_factory=dict)
    _snippets: dict[tuple[str, str, int], tuple[Value, frozenset[str]]] = field(
        default_factory=dict
    )
    _texts: dict[tuple[int, int], Value] = field(default_factory=dict)
    imports: dict[str, None] = field(default_factory=dict)

    def forget(self) -> None:
        """Start over, for another pass."""
        self.facts.clear()
        self._snippets.clear()
        self._texts.clear()

    def emit(
        self, act: Act, node: Node, subject: str = "", target: str = "", **more: frozenset[str]
    ) -> None:
        """Note a fact at a node; `flow` are the labels that reach it."""
        key = (act, node.start, node.end, subject, target)
        if key in self.facts or len(self.facts) < _MAX_FACTS:
            self.facts[key] = self.facts.get(key, NO_LABELS) | more.get("flow", NO_LABELS)

    def snippet(self, language: str, value: Value, flow: frozenset[str]) -> None:
        """Note code in another language, or code that is kept as text."""
        text = value.text
        if not text or not text.strip():
            return
        key = (language, text, value.pieces[0].start if value.pieces else 0)
        self._snippets.setdefault(key, (value, flow))

    def text(self, value: Value) -> None:
        """Note prose that the text holds or decodes."""
        text = value.text
        if text and len(text) >= _LONG_TEXT and " " in text and value.pieces:
            key = (value.pieces[0].start, len(text))
            self._texts.setdefault(key, value)

    def snippets(self) -> tuple[Snippet, ...]:
        """Return the code that was found inside the text."""
        return tuple(
            Snippet(language, value.view(self.view), flow)
            for (language, _text, _start), (value, flow) in self._snippets.items()
        )

    def texts(self) -> tuple[View, ...]:
        """Return the prose that was found inside the text."""
        return tuple(value.view(self.view) for value in self._texts.values())

    def found(self) -> tuple[Fact, ...]:
        """Return the facts, in the order of the text."""
        ordered = sorted(self.facts.items(), key=lambda item: item[0][1:])
        return tuple(
            Fact(act, Spot(self.view, start, end), subject, target, flow)
            for (act, start, end, subject, target), flow in ordered
        )
