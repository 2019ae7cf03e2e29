"""What a skill says it is not for, and to whom it hands such requests.

"Do not use for X" attracts exactly the messages it means to repel, because neither words nor
vectors understand "not". So these parts are cut out of the text that is matched. Cutting only
ever removes: what is left stands in the description, in the same order. Quoted requests are
the author's examples, so a "not" inside quotes cuts nothing.

What is left is the evidence by which messages find the skill. The whole positive text says what it
is about; the phrases are single requests and sentences, best in the users' own words. They are kept
apart because they are weighed apart: one stray phrase must not win alone.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from itertools import islice
from typing import NamedTuple

from prowess.data import compile_late, dataclass
from prowess.skills.model import Skill, Value

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
# "Don't skip when" says what a skill is for.
_NO_NOT = r"(?<!n['\u2019]t )(?<!not )(?<!never )"
_EXCLUSION = compile_late(
    rf"\b(?:do|does|should|must|is|are|will)(?: not|n['\u2019]t) (?:be |auto-?)?{_VERB}\b"
    r"|\b(?:does not|doesn['\u2019]t|not) (?:cover|handle|replace|address|include)s?\b"
    r"|\bnot (?:be )?(?:for|when|if|intended|meant|suitable|suited|applicable|designed|"
    r"appropriate|recommended|to (?:be )?used?)\b"
    rf"|\bnever {_VERB}\b"
    rf"|\b{_NO_NOT}(?:skip|avoid)(?: (?:this|it|for|when|if|on|unless|using (?:this|it))\b|:)"
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
        cut = _continue(sentence) if listing else None
        cut = cut or _exclude(sentence) or _hand_off(sentence, own_name)
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


def _continue(sentence: str) -> _Span | None:
    """Return all of a sentence that goes on with a list of exclusions."""
    return None if _POSITIVE_LEAD.search(sentence) else _Span(0, len(sentence))


def _goes_on(sentence: str, cut: _Span) -> bool:
    tail = sentence.rstrip()
    return cut.end >= len(tail) and (tail.endswith((";", ":")) or bool(_BULLET.match(sentence)))


def _exclude(sentence: str) -> _Span | None:
    match = _EXCLUSION.search(sentence)
    if match is None:
        return None
    return _find_bracket(sentence, match.start())


def _find_bracket(sentence: str, at: int) -> _Span:
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


def _hand_off(sentence: str, own_name: str) -> _Span | None:
    match = _FOR_ANOTHER.search(sentence) or _INSTEAD.search(sentence)
    if match and not _POSITIVE_LEAD.search(sentence) and _targets(match.group("names"), own_name):
        return _bracket(sentence, match.start()) or _Span(0, len(sentence))
    match = _REFERRAL.search(sentence)
    if match is None or not _targets(match.group("names") or match.group("word"), own_name):
        return None
    clauses = [clause.end() for clause in _CLAUSE.finditer(sentence, 0, match.start())]
    return _find_bracket(sentence, clauses[-1]) if clauses else None


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


# Each text costs a moment of indexing, and more of those that were found say nothing new: Hit@1 on
# four labelled sets is on average the same with two as with four.
_MOST_PHRASES, _MOST_FOUND, _MOST_SPOKEN = 24, 2, 1
_SHORTEST_PHRASE, _LONGEST_PHRASE = 2, 200
_LONGEST_BULLET = 120
_LONGEST_DESCRIPTION = 4_000
# With reference files. For words alone, which cost little: what is encoded stands at its beginning.
LONGEST_BODY = 60_000
_SHORTEST_OPENING, _LONGEST_OPENING = 40, 300
# A description of this length says what the beginning of the body would say in other words.
_ENOUGH_DESCRIBED = 200
_DEEPEST = 4
_REQUEST_KEYS = ("prompt", "request", "query", "input", "user", "text", "example")

_QUOTED_REQUEST = compile_late(
    r"\"([^\"\n]{2,200})\"|“([^”\n]{2,200})”|「([^」\n]{2,200})」"
    # An apostrophe is no quote, so a single quote counts only at the edge of a word.
    r"|(?<![^\s(,])'([^'\n]{2,200})'(?=[\s,.;)]|$)"
)
_USE_WHEN = compile_late(
    r"\b(?:use[ds]?|invoked?|trigger(?:s|ed)?|activate[ds]?|call(?:ed)?|appl(?:y|ies)|load(?:ed)?|"
    r"read)\b(?: (?:this|it|the|skill|proactively|automatically|immediately)){0,3}"
    r" (?:when(?:ever)?|if|for|to|on|before|after)\b[:,]?"
    r"(?: (?:the|users?|you|asked|asking|asks|wants?|needs?|says?|to|is|are|for|about)\b){0,4}"
    r"\s*(?P<clause>[^.!?\n。\uff01\uff1f]{2,200})",
    re.IGNORECASE,
)
_HEADING = compile_late(r" {0,3}(?P<marks>#{1,6})[ \t]+(?P<title>[^\n]{1,200})")
_BOLD_LABEL = compile_late(r"\s*\*\*(?P<title>[^*\n]{2,80}):?\*\*:?\s*$")
_ITEM = compile_late(r"\s*(?:[-*•+]|\d{1,2}[.)])\s+(?P<text>\S[^\n]{0,400})")
_FENCE = compile_late(r"\s*(?:```|~~~)")
_WHEN_TITLE = compile_late(
    r"\b(?:when (?:to|should|you)|use (?:this |the skill )?(?:when|for|cases?)|usage scenarios?|"
    r"triggers?|activation|activates?|examples?|(?:example|sample) (?:requests?|prompts?|queries|"
    r"usage|phrases|questions|inputs?)|user (?:says|asks|requests|might say)|cu[aá]ndo usar|"
    r"(?:don['\u2019]t|not|never) skip|ejemplos)\b"
    r"|何时使用|使用场景|适用场景|触发|示例|使い方|使用例",
    re.IGNORECASE,
)
_NOT_TITLE = compile_late(
    r"\b(?:when not|not (?:to use|for|use)|don['\u2019]?t (?:use|trigger)|"
    rf"{_NO_NOT}(?:skip|avoid) (?:this|when|if)|out of scope|non-goals?|anti-?triggers?|"
    r"exclusions?|(?:is|does) not|no usar)\b"
    r"|不适用|不要使用|何时不",
    re.IGNORECASE,
)
_MARKUP = compile_late(r"[*`]+|^\s*\[[ x]\]\s*")
_LINK = compile_late(r"\[([^\]\n]{1,100})\]\([^)\n]{0,300}\)")
_NAME_SEPARATORS = compile_late(r"[-_:./\s]+")
_WORD = compile_late(r"\w+")
_DANGLING = compile_late(
    r"(?:[\s,;:]|\b(?:such as|for example|like|e\.g\.|or|and|says?|asks?)(?!\w))+$", re.IGNORECASE
)
_EDGES = " ,;:-\u2013—.\"'“”"


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillEvidence:
    """What is known about when one skill is meant, and when it is not.

    `requests` are the phrases that stand only in fields of their own, as triggers and examples;
    `phrases` holds these and what was found in the description and in the body.
    """

    name: str
    positive: str
    requests: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    negatives: tuple[str, ...] = ()
    handoffs: tuple[Handoff, ...] = ()
    vetoes: tuple[str, ...] = ()
    globs: tuple[str, ...] = ()
    body: str = ""
    # How the body begins, which often says in other words what the description says.
    opening: str = ""

    @property
    def text(self) -> str:
        """The whole positive text, as an encoder reads it."""
        return f"{self._spoken_name}: {self.positive}"

    @property
    def opening_text(self) -> str:
        """The beginning of the body, as an encoder reads it; empty where there is none."""
        return f"{self._spoken_name}: {self.opening}" if self.opening else ""

    @property
    def _spoken_name(self) -> str:
        return " ".join(_NAME_SEPARATORS.split(self.name)).strip()


def read_evidence(skill: Skill) -> SkillEvidence:
    """Take the skill's text apart by what each part says about when it is meant."""
    described = split_roles(skill.description[:_LONGEST_DESCRIPTION], own_name=skill.name)
    when = split_roles(skill.when_to_use[:_LONGEST_DESCRIPTION], own_name=skill.name)
    positive = f"{described.positive} {when.positive}".strip()
    body = _read(skill.body[:LONGEST_BODY])
    requests = _clean(_find_authored(skill))
    return SkillEvidence(
        name=skill.name,
        positive=positive,
        requests=requests,
        phrases=_phrases(
            (*requests, *filter(_says_something, _quotes(positive))),
            (*islice(filter(_says_something, _find_spoken(positive)), _MOST_SPOKEN), *body.phrases),
        ),
        negatives=(*described.negatives, *when.negatives, *body.negatives),
        handoffs=tuple(dict.fromkeys((*described.handoffs, *when.handoffs))),
        vetoes=skill.metadata.triggers.none,
        globs=skill.globs,
        body=body.text,
        opening=body.opening if len(positive) <= _ENOUGH_DESCRIBED else "",
    )


def find_told_uses(skill: Skill) -> tuple[str, ...]:
    """Return what the body itself says it is used for: requests, and items of such sections."""
    found = _read(skill.body[:LONGEST_BODY]).phrases
    return _clean(filter(_says_something, found))


def find_opening(skill: Skill) -> tuple[str, ...]:
    """Return the sentences with which the body begins."""
    return tuple(split_sentences(_read(skill.body[:LONGEST_BODY]).opening))


def _phrases(requests: Sequence[str], found: Iterable[str]) -> tuple[str, ...]:
    """Return the author's requests and the first of the phrases that were found in the text."""
    asked = _clean(requests)
    more = (phrase for phrase in _clean(filter(_says_something, found)) if phrase not in asked)
    return _clean((*asked, *islice(more, _MOST_FOUND)))


class _Kind(Enum):
    """What a section of the body is about."""

    OTHER = 0
    WHEN = 1
    NOT = 2


class _Line(NamedTuple):
    kind: _Kind
    text: str
    is_prose: bool


class _Body(NamedTuple):
    opening: str
    text: str
    phrases: tuple[str, ...]
    negatives: tuple[str, ...]


def _find_authored(skill: Skill) -> Iterator[str]:
    """Yield the requests that an author wrote into fields of their own.

    Not `triggers.all`: one of its phrases is no request, only all of them together are; nor
    `triggers.any` beside it, which counts only where all do.
    """
    if not skill.metadata.triggers.all:
        yield from skill.metadata.triggers.any
    yield from _requests(skill.fields.get("examples"))
    metadata = skill.fields.get("metadata")
    if isinstance(metadata, Mapping):
        yield from _requests(metadata.get("examples"))


def _requests(value: Value, depth: int = 0) -> Iterator[str]:
    """Yield the requests of a field that authors write as text, list or list of mappings."""
    if isinstance(value, str):
        yield from value.splitlines()
    elif depth == _DEEPEST:
        return
    elif isinstance(value, Mapping):
        for key in _REQUEST_KEYS:
            yield from _requests(value.get(key), depth + 1)
    elif isinstance(value, Sequence):
        for item in value[:_MOST_PHRASES]:
            yield from _requests(item, depth + 1)


def _find_spoken(text: str) -> Iterator[str]:
    """Yield the "use when" clauses and the sentences of a description."""
    # Quotes are requests of their own; what led up to them ("such as ... or ...") says nothing.
    unquoted = _QUOTED_REQUEST.sub("", text)
    for match in _USE_WHEN.finditer(unquoted):
        yield _DANGLING.sub("", match.group("clause"))
    yield from split_sentences(text)


def _quotes(text: str) -> Iterator[str]:
    for groups in _QUOTED_REQUEST.findall(text):
        yield next(filter(None, groups))


def _says_something(phrase: str) -> bool:
    """True for more than a keyword; a script without spaces says more with fewer characters."""
    return len(_WORD.findall(phrase)) > 1 or not phrase.isascii()


def _clean(phrases: Iterable[str]) -> tuple[str, ...]:
    """Return `phrases` without markup, each once, as many as an index should hold."""
    found: dict[str, str] = {}
    for raw in phrases:
        plain = _MARKUP.sub("", _LINK.sub(r"\1", raw[: 2 * _LONGEST_PHRASE]))
        phrase = " ".join(plain.split())[:_LONGEST_PHRASE].strip(_EDGES)
        if len(phrase) >= _SHORTEST_PHRASE:
            found.setdefault(phrase.casefold(), phrase)
        if len(found) == _MOST_PHRASES:
            break
    return tuple(found.values())


def _read(body: str) -> _Body:
    """Take a body apart: its text without what it is not for, and the requests in it."""
    lines = tuple(_lines(body))
    phrases: list[str] = []
    for item in _items(lines, _Kind.WHEN):
        if not is_exclusion(item):
            phrases += tuple(_quotes(item)) or ((item,) if len(item) <= _LONGEST_BULLET else ())
    return _Body(
        opening=_read_opening(lines),
        text="\n".join(line.text for line in lines if line.kind is not _Kind.NOT),
        phrases=tuple(phrases),
        negatives=tuple(_items(lines, _Kind.NOT)),
    )


def _read_opening(lines: Iterable[_Line]) -> str:
    prose = (line.text for line in lines if line.is_prose and line.kind is not _Kind.NOT)
    # Twice as much as is kept: markup goes.
    text = " ".join(" ".join(prose).split())[: 2 * _LONGEST_OPENING]
    plain = " ".join(_MARKUP.sub("", _LINK.sub(r"\1", text)).split())[:_LONGEST_OPENING]
    return plain if len(plain) >= _SHORTEST_OPENING else ""


def _lines(body: str) -> Iterator[_Line]:
    kind, level, fenced = _Kind.OTHER, 0, False
    for line in body.split("\n"):
        if _FENCE.match(line):
            fenced = not fenced
        heading = None if fenced else _HEADING.match(line) or _BOLD_LABEL.match(line)
        if heading:
            kind, level = _section(heading, kind, level)
        yield _Line(kind, line, is_prose=not (fenced or heading))


def _section(heading: re.Match[str], kind: _Kind, level: int) -> tuple[_Kind, int]:
    """Return what the text below `heading` is about; a deeper heading stays with its parent."""
    own_level = len(heading.groupdict().get("marks") or "#######")
    if _NOT_TITLE.search(heading.group("title")):
        return _Kind.NOT, own_level
    if _WHEN_TITLE.search(heading.group("title")):
        return _Kind.WHEN, own_level
    return (kind, level) if own_level > level > 0 else (_Kind.OTHER, 0)


def _items(lines: Iterable[_Line], kind: _Kind) -> Iterator[str]:
    """Yield the list items of such sections, each with the lines that it is wrapped over."""
    item = ""
    for line in lines:
        here = line.is_prose and line.kind is kind
        bullet = _ITEM.match(line.text) if here else None
        if item and here and not bullet and line.text[:1].isspace() and line.text.strip():
            item += f" {line.text.strip()}"
            continue
        if item:
            yield item
        item = bullet.group("text") if bullet else ""
    if item:
        yield item


_MOST_HANDED_OVER = 8


def add_handoffs(evidence: Sequence[SkillEvidence], *, guests: int = 0) -> list[SkillEvidence]:
    """Give each skill the requests that others hand to it: "for slides use deck-maker".

    The last `guests` are given theirs, and hand nothing over.
    """
    counted = evidence[: len(evidence) - guests]
    names = {one.name.casefold() for one in counted}
    handed: dict[str, list[str]] = {}
    for one in counted:
        for handoff in one.handoffs:
            target = handoff.target.casefold()
            if target in names and target != one.name.casefold():
                handed.setdefault(target, []).append(handoff.request)
    return [_add_requests(one, handed.get(one.name.casefold(), ())) for one in evidence]


def _add_requests(one: SkillEvidence, requests: Sequence[str]) -> SkillEvidence:
    more = tuple(dict.fromkeys(requests))[:_MOST_HANDED_OVER]
    return replace(one, phrases=tuple(dict.fromkeys((*one.phrases, *more)))) if more else one
