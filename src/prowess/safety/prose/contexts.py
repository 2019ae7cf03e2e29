"""What the text around a piece of code says about it: a warning, a bad example, talk of attacks."""

import re
from bisect import bisect_left
from functools import lru_cache

from prowess.safety.intake.markdown import Part
from prowess.safety.prose.engine import negates, phrasebook
from prowess.safety.prose.words import Passage
from prowess.safety.views import View

# A line of comment, or a mark, that says: not like this.
_BAD = re.compile(
    r"(?:#|//|<!--|--)\s*(?:\u274c|\U0001f6ab|bad\b(?!-)|wrong\b"
    r"|(?:don'?t|do not|never)\s+do\s+(?:this|it|that)|insecure\b|vulnerable\b|malicious\b"
    r"|attack(?:er)?\b|exploit\b|anti-?pattern\b|not like this)|^\W{0,6}(?:\u274c|\U0001f6ab)",
    re.IGNORECASE,
)
# "Don't do this." and no more: "Don't wait" is an order of its own.
_TAKEN_BACK = re.compile(
    r"[.!;]\s+(?:please\s+)?(?:don'?t|do not|never|avoid)(?:\s+(?:ever|do|run|use|try|trust|follow"
    r"|copy|paste|execute|type)){0,3}(?:\s+(?:it|this|that|so|them|these|those)){0,1}\s*(?:[.!;]|$)",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?\u3002]\s|\n\s*\n|\n\s*[-*+|]\s|\n\s*\d+[.)]\s")


def code_contexts(part: Part, around: View) -> tuple[str, ...]:
    """Return the contexts of code in the paragraph `around`, from its sentence and headings."""
    at = _place(part.view, around)
    start, end = _sentence_around(around.text, at, at + len(part.view.text))
    sentence = around.text[start:end]
    passage = _read(sentence)
    contexts = []
    if _is_forbidden(passage, at - start) or _TAKEN_BACK.match(around.text, end):
        contexts.append("negated")
    if {"DANGER", "CONTAINS_LIKE"} & passage.concepts.keys() or _BAD.search(sentence):
        contexts.append("shown as a bad example")
    # A title alone must not disarm what stands below it: a list of signs under it may be meant.
    if not contexts and part.view.text and warns(part.headings) and _is_listed(around.text, at):
        contexts.append("shown as a bad example")
    return tuple(contexts)


@lru_cache(maxsize=64)
def _read(sentence: str) -> Passage:
    """The words of a sentence; several pieces of code often stand in the same one."""
    return phrasebook().read(View.raw("", sentence))


def _is_forbidden(passage: Passage, before: int) -> bool:
    """Whether a "not" stands before the code in the same clause."""
    index = next(
        (number for number, place in enumerate(passage.places) if place[0] >= before), None
    )
    if index is None or before < 0:
        return False
    return any(
        span.first < index and negates(passage, span, index)
        for span in passage.concepts.get("NOT", ())
    )


def fence_contexts(part: Part) -> tuple[str, ...]:
    """Return the contexts of a fenced block: only a mark within it counts.

    What stands above a block is written by whoever wrote the block; it must not disarm it.
    """
    if _BAD.search(part.view.text[:400]):
        return ("shown as a bad example",)
    return ()


def _is_listed(paragraph: str, at: int) -> bool:
    """Whether the code stands as an item of a list or a table, as signs to look for do."""
    line = paragraph[paragraph.rfind("\n", 0, max(at, 0)) + 1 : max(at, 0)]
    return bool(re.match(r"\s*(?:[-*+|]|\d+[.)])", line))


@lru_cache(maxsize=1024)
def warns(headings: tuple[str, ...]) -> bool:
    """Whether the headings say that bad things are shown below them."""
    if not headings:
        return False
    text = " . ".join(headings[-2:])
    return bool(
        "DANGER" in phrasebook().read(View.raw("", text)).concepts or _BAD.search(f"# {text}")
    )


# So far around a piece of code is read for what is said about it.
_REACH = 400
_HEAD = 80


def _place(code: View, around: View) -> int:
    """Where the code begins in `around`: by its origin, for the same words may come twice."""
    head = code.text[:_HEAD]
    at = bisect_left(around.origins, code.origin(0))
    return at if around.text.startswith(head, at) else around.text.find(head)


def _sentence_around(paragraph: str, at: int, behind: int) -> tuple[int, int]:
    if at < 0:
        return 0, 0
    start = max(0, at - _REACH)
    for found in _SENTENCE_END.finditer(paragraph, start, at):
        start = found.end()
    limit = min(len(paragraph), behind + _REACH)
    end = _SENTENCE_END.search(paragraph, behind, limit)
    return start, end.start() if end else limit
