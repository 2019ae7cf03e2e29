"""Decode what a text carries in code, again and again where code holds code."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from prowess.safety.intake.bytes_text import as_text, strings_in
from prowess.safety.intake.decoding import FINDERS, Blob
from prowess.safety.rewriting import Rewriter
from prowess.safety.views import View

_DEPTH = 3
_MIB = 1024 * 1024


@dataclass(slots=True)
class DecodeBudget:
    """How much may still be decoded; shared by all texts of a skill."""

    characters: int = _MIB
    blobs: int = 4000
    # Set where something was left undecoded: the caller owes the operator a word about that.
    exhausted: bool = False
    _seen: set[tuple[str, int, str]] = field(default_factory=set)

    def admit(self, view: View) -> bool:
        """Take `view` from the budget; False where it is spent or the same was decoded before."""
        mark = (view.path, view.origin(0), view.text)
        if mark in self._seen:
            return False
        if self.blobs <= 0 or self.characters < len(view.text):
            self.exhausted = True
            return False
        self._seen.add(mark)
        self.blobs -= 1
        self.characters -= len(view.text)
        return True


def decoded_views(view: View, budget: DecodeBudget) -> Iterator[View]:
    """Yield every text that blobs in `view` decode to, those inside decoded ones included."""
    waiting = [(view, 1)]
    while waiting:
        text, depth = waiting.pop()
        for found in _decoded(text):
            if not budget.admit(found):
                continue
            if not _is_name(found.text):
                yield found
            if depth < _DEPTH:
                waiting.append((found, depth + 1))


def _decoded(view: View) -> Iterator[View]:
    glued = _glued(view)
    for text in (view,) if glued is None else (view, glued):
        for finder in FINDERS:
            for blob in finder(text.text):
                if found := _read(text, blob):
                    yield found


def _read(view: View, blob: Blob) -> View | None:
    text = as_text(blob.data)
    if text is not None:
        return view.decoded(text, blob.start, blob.step)
    if blob.step in _BINARY_STEPS and len(blob.data) >= _LEAST_BINARY:
        strings = strings_in(blob.data)
        return view.decoded(strings, blob.start, blob.step) if strings else None
    return None


_BINARY_STEPS = ("base64", "base85", "ascii85", "hex")
_LEAST_BINARY = 64
_NAME = re.compile(r"[\w.:/-]{0,64}")


def _is_name(text: str) -> bool:
    """Whether a decoded text is just a name or a number, which every hash may happen to spell."""
    return _NAME.fullmatch(text) is not None and not any(mark in text for mark in ("/", ":", "."))


# Strings next to each other, joined by a sign, or put into one variable after another: one string.
_PIECE = r"\"[^\"\s\\]{1,400}\"|'[^'\s\\]{1,400}'"
_STRING = re.compile(_PIECE)
_BETWEEN = r"\s{0,64}(?:[+.,;&\\]\s{0,64})?(?:[\w.$]{1,32}\s{0,4}[+.]?=\s{0,4})?"
_GLUED = re.compile(
    r"[\"'](?:(?<=\")[^\"\s\\]{1,400}\"|(?<=')[^'\s\\]{1,400}')"
    rf"(?:{_BETWEEN}(?:{_PIECE})){{1,}}"
)


def _glued(view: View) -> View | None:
    """Return all runs of neighbouring strings, each as one string in quotes on its own line."""
    out = Rewriter(view)
    found = False
    for hit in _GLUED.finditer(view.text):
        found = True
        out.put('\n"', hit.start())
        for piece in _STRING.finditer(view.text, *hit.span()):
            out.keep(piece.start() + 1, piece.end() - 1)
        out.put('"', hit.end() - 1)
    return out.done("") if found else None
