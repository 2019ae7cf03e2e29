"""What a skill says it is not for, and to whom it hands such requests.

"Do not use for X" attracts exactly the messages it means to repel, because neither words nor
vectors understand "not". So these parts are cut out of the text that is matched. Cutting only
ever removes: what is left stands in the description, in the same order. Quoted requests are
the author's examples, so a "not" inside quotes cuts nothing.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from prowess.late import compile_late

_LONGEST_REQUEST = 200
_LONGEST_ABBREVIATION = 8


class Handoff(NamedTuple):
    """A kind of request that belongs to another skill."""

    request: str
    target: str


class Split(NamedTuple):
    """A text by role: what the skill is for, what it is not for, and who is meant instead."""

    positive: str
    negatives: tuple[str, ...] = ()
    handoffs: tuple[Handoff, ...] = ()


class _Span(NamedTuple):
    start: int
    end: int


_QUOTED = compile_late(r"\"[^\"\n]{1,200}\"|“[^”\n]{1,200}”|「[^」\n]{1,200}」")
_SENTENCE_END = compile_late(
    r"[.!?]['\")\]*_]*(?=\s)|[。\uff01\uff1f\uff1b]|;(?=\s)|\n"
    # Labels in capitals begin a part of their own: "USE FOR: a, b DO NOT USE FOR: c".
    r"|(?<![A-Z])(?=\s(?:DO NOT |DON'T )?[A-Z]{3,}(?: [A-Z]{2,}){0,3}:)"
)
_ABBREVIATION = compile_late(r"\b(?:e\.g|i\.e|vs|etc|incl|approx)\.$", re.IGNORECASE)
_VERB = (
    r"(?:use[ds]?|trigger(?:s|ed)?|invoked?|activated?|load(?:ed)?|appl(?:y|ies|ied)|fires?|"
    r"select|choose)"
)
_EXCLUSION = compile_late(
    rf"\b(?:do|does|should|must|is|are|will)(?: not|n['\u2019]t) (?:be |auto-?)?{_VERB}\b"
    r"|\b(?:does not|doesn['\u2019]t|not) (?:cover|handle|replace|address|include)s?\b"
    r"|\bnot (?:be )?(?:for|when|if|intended|meant|suitable|suited|applicable|designed|"
    r"appropriate|recommended|to (?:be )?used?)\b"
    rf"|\bnever {_VERB}\b"
    r"|\b(?:skip|avoid)(?: (?:this|it|for|when|if|on|unless|using (?:this|it))\b|:)"
    r"|\b(?:out[ -]of[ -]scope\b|excludes?:|exclusions?:|non-goals?:)"
    r"|\bno (?:usar|utilizar|emplear)\b|\bne pas utiliser\b|\bnicht (?:für|verwenden)\b"
    r"|不适用|不适合|不要用|不用于|请勿|勿用|使用しない|使わない",
    re.IGNORECASE,
)
_NAME = r"(?:`[^`\n]{2,60}`|[/$]?[a-z0-9]+(?:[-_:][a-z0-9]+)+|[/$][a-z0-9]+)"
_NAMES = rf"(?:the )?{_NAME}(?:(?:,| /|,? or|,? and) (?:the )?{_NAME}){{0,3}}"
_VERB_TO = (
    r"(?:use|see|try|prefer|load|invoke|switch to|go to|defer to|delegate to|route to|"
    r"hand (?:off|over) to|handled by|covered by)"
)
# Another skill is named where a clause ends, so that "use step-by-step prompts" names none.
# After "see" even a plain word is a name, unless it points into the text itself.
_REFERRAL = compile_late(
    rf"(?:\b(?i:{_VERB_TO})|->|→|=>) (?P<names>{_NAMES})"
    r"(?=(?: skills?| agents?)?(?: instead\b|\s*(?:[.,;:()\]\n—\u2013]|$)))"
    r"|, see (?!(?:above|below|docs?|documentation|examples?|here|references?)\b)"
    r"(?P<word>[a-z][a-z0-9]+)(?=\s*(?:[.;)\n]|$))"
)
_INSTEAD = compile_late(
    rf"\b{_VERB_TO} (?P<names>[^.,;()\n]{{2,60}}?) instead\b(?! of)", re.IGNORECASE
)
_FOR_ANOTHER = compile_late(
    rf"^\W*(?:use|prefer) (?P<names>{_NAMES})(?: skill)? (?:for|when|if) ", re.IGNORECASE
)
_CLAUSE = compile_late(
    r"(?:^\W*|[,(—\u2013:] ?|\b(?:but|and|or) )(?=(?:for|if|when|to)\b)", re.IGNORECASE
)
# Inside an exclusion any word after "use" is a name: "not for failing tests (use debug)".
_INNER_REFERRAL = compile_late(
    rf"\(?(?:\b{_VERB_TO}|->|→|=>) (?:the )?(?P<names>[`*]{{0,2}}[/$]?\w[\w./:+-]{{1,60}})",
    re.IGNORECASE,
)
_SKILL_NAME = compile_late(r"[\w:.+-]*\w")
_LEAD = compile_late(
    r"^(?:\W|\b(?:this|it|skill|for|if|when|to|the|user|users|asks?|wants?|or|and|with|on|be|about)\b)+",
    re.IGNORECASE,
)
_POSITIVE_LEAD = compile_late(
    r"^\W*(?:(?:also |always )?(?:use|invoke|activate|load|apply)d? (?:this|it|when|for|if|to)|"
    r"triggers?\b|covers?\b|supports?\b|handles?\b|provides?\b)",
    re.IGNORECASE,
)
_BULLET = compile_late(r"^\s*(?:[-*•+]|\d{1,2}[.)])\s")
_EDGE_CHARS = " \t\r\n,;:-—\u2013(*_"


def split_roles(text: str, *, own_name: str = "") -> Split:
    """Take `text` apart by role; `own_name` is a skill's name, which is no hand-off."""
    masked = _QUOTED.sub(lambda match: '"' + "x" * (len(match.group()) - 2) + '"', text)
    cuts: list[_Span] = []
    handoffs: list[Handoff] = []
    listing, pending = False, ""
    for span in _sentences(masked):
        sentence = masked[span.start : span.end]
        cut = _continued(sentence) if listing else None
        cut = cut or _excluded(sentence) or _handed_off(sentence, own_name)
        listing = cut is not None and _goes_on(sentence, cut)
        if cut is None:
            pending = ""
            continue
        cuts.append(_Span(span.start + cut.start, span.start + cut.end))
        # "Not for X; use Y." is two parts and one thought.
        said = f"{pending} {text[cuts[-1].start : cuts[-1].end]}".strip()
        found = list(_edges(said, own_name))
        handoffs.extend(found)
        pending = said if said.endswith(";") and not found else ""
    positive = _without(text, cuts)
    negatives = tuple(" ".join(text[cut.start : cut.end].split()) for cut in cuts)
    # A text that is nothing but exclusions still has to be found by something.
    return Split(positive or " ".join(text.split()), negatives, tuple(dict.fromkeys(handoffs)))


def split_sentences(text: str) -> tuple[str, ...]:
    """Return the sentences of `text`, in order."""
    return tuple(text[span.start : span.end].strip() for span in _sentences(text))


def is_exclusion(text: str) -> bool:
    """True where `text` says what a skill is not for."""
    return bool(_EXCLUSION.search(text) or _REFERRAL.search(text) or _INSTEAD.search(text))


def _sentences(text: str) -> Iterator[_Span]:
    start = 0
    for end in _SENTENCE_END.finditer(text):
        # Only the last characters: looking back to the start of the sentence would be quadratic.
        if _ABBREVIATION.search(text[max(start, end.end() - _LONGEST_ABBREVIATION) : end.end()]):
            continue
        if text[start : end.end()].strip():
            yield _Span(start, end.end())
        start = end.end()
    if text[start:].strip():
        yield _Span(start, len(text))


def _continued(sentence: str) -> _Span | None:
    """Return all of a sentence that goes on with a list of exclusions."""
    return None if _POSITIVE_LEAD.search(sentence) else _Span(0, len(sentence))


def _goes_on(sentence: str, cut: _Span) -> bool:
    tail = sentence.rstrip()
    return cut.end >= len(tail) and (tail.endswith((";", ":")) or bool(_BULLET.match(sentence)))


def _excluded(sentence: str) -> _Span | None:
    match = _EXCLUSION.search(sentence)
    if match is None:
        return None
    return _around(sentence, match.start())


def _around(sentence: str, at: int) -> _Span:
    """Return the bracket that holds position `at` or, outside brackets, all from there on."""
    bracket = _bracket(sentence, at)
    if bracket is not None:
        return bracket
    return _Span(0 if _LEAD.sub("", sentence[:at]) == "" else at, len(sentence))


def _bracket(sentence: str, at: int) -> _Span | None:
    opened = max(sentence.rfind("(", 0, at), sentence.rfind("[", 0, at))
    closed = max(sentence.rfind(")", 0, at), sentence.rfind("]", 0, at))
    if opened <= closed:
        return None
    ends = [end for end in (sentence.find(")", at), sentence.find("]", at)) if end >= 0]
    return _Span(opened, min(ends) + 1 if ends else len(sentence))


def _handed_off(sentence: str, own_name: str) -> _Span | None:
    match = _FOR_ANOTHER.search(sentence) or _INSTEAD.search(sentence)
    if match and not _POSITIVE_LEAD.search(sentence) and _targets(match.group("names"), own_name):
        return _bracket(sentence, match.start()) or _Span(0, len(sentence))
    match = _REFERRAL.search(sentence)
    if match is None or not _targets(match.group("names") or match.group("word"), own_name):
        return None
    clauses = [clause.end() for clause in _CLAUSE.finditer(sentence, 0, match.start())]
    return _around(sentence, clauses[-1]) if clauses else None


def _targets(names: str, own_name: str) -> list[str]:
    found = _SKILL_NAME.findall(names.lower())
    own = own_name.lower()
    return [name for name in found if name not in {own, "or", "and", "the", "this", "it", "skill"}]


def _edges(negative: str, own_name: str) -> Iterator[Handoff]:
    """Yield what an excluded part says about other skills: the request and who takes it."""
    other = _FOR_ANOTHER.search(negative)
    if other:
        request = _request(negative[other.end() :])
        yield from (Handoff(request, name) for name in _targets(other.group("names"), own_name))
        return
    marker = _EXCLUSION.search(negative)
    start = marker.end() if marker else 0
    for match in _INNER_REFERRAL.finditer(negative):
        request = _request(negative[start : match.start()])
        start = max(start, match.end())
        if request:
            yield from (Handoff(request, name) for name in _targets(match.group("names"), own_name))


def _request(text: str) -> str:
    return _LEAD.sub("", text)[:_LONGEST_REQUEST].strip(_EDGE_CHARS + ".")


def _without(text: str, cuts: list[_Span]) -> str:
    kept, start = [], 0
    for cut in cuts:
        kept.append(text[start : cut.start].rstrip(_EDGE_CHARS))
        start = cut.end
    kept.append(text[start:])
    return " ".join(" ".join(kept).split())
