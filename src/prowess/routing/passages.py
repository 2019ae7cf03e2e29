"""A skill as the evidence by which messages find it.

The whole positive text says what the skill is about; the phrases are single requests and
sentences, best in the users' own words. They are kept apart because they are weighed apart: one
stray phrase must not win alone.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from itertools import islice
from typing import NamedTuple

from prowess.late import compile_late, dataclass
from prowess.routing.handoffs import Handoff, is_exclusion, split_roles, split_sentences
from prowess.skills.model import Skill, Value

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

_QUOTED = compile_late(
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
_BULLET = compile_late(r"\s*(?:[-*•+]|\d{1,2}[.)])\s+(?P<text>\S[^\n]{0,400})")
_FENCE = compile_late(r"\s*(?:```|~~~)")
_WHEN_TITLE = compile_late(
    r"\b(?:when (?:to|should|you)|use (?:this |the skill )?(?:when|for|cases?)|usage scenarios?|"
    r"triggers?|activation|activates?|examples?|(?:example|sample) (?:requests?|prompts?|queries|"
    r"usage|phrases|questions|inputs?)|user (?:says|asks|requests|might say)|cu[aá]ndo usar|"
    r"ejemplos)\b|何时使用|使用场景|适用场景|触发|示例|使い方|使用例",
    re.IGNORECASE,
)
_NOT_TITLE = compile_late(
    r"\b(?:when not|not (?:to use|for|use)|don['\u2019]?t (?:use|trigger)|"
    r"(?:skip|avoid) (?:this|when|if)|out of scope|non-goals?|anti-?triggers?|"
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
    requests = _cleaned(_authored(skill))
    return SkillEvidence(
        name=skill.name,
        positive=positive,
        requests=requests,
        phrases=_phrases(
            (*requests, *filter(_says_something, _quotes(positive))),
            (*islice(filter(_says_something, _spoken(positive)), _MOST_SPOKEN), *body.phrases),
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
    return _cleaned(filter(_says_something, found))


def find_opening(skill: Skill) -> tuple[str, ...]:
    """Return the sentences with which the body begins."""
    return tuple(split_sentences(_read(skill.body[:LONGEST_BODY]).opening))


def _phrases(requests: Sequence[str], found: Iterable[str]) -> tuple[str, ...]:
    """Return the author's requests and the first of the phrases that were found in the text."""
    asked = _cleaned(requests)
    more = (phrase for phrase in _cleaned(filter(_says_something, found)) if phrase not in asked)
    return _cleaned((*asked, *islice(more, _MOST_FOUND)))


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


def _authored(skill: Skill) -> Iterator[str]:
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


def _spoken(text: str) -> Iterator[str]:
    """Yield the "use when" clauses and the sentences of a description."""
    # Quotes are requests of their own; what led up to them ("such as ... or ...") says nothing.
    unquoted = _QUOTED.sub("", text)
    for match in _USE_WHEN.finditer(unquoted):
        yield _DANGLING.sub("", match.group("clause"))
    yield from split_sentences(text)


def _quotes(text: str) -> Iterator[str]:
    for groups in _QUOTED.findall(text):
        yield next(filter(None, groups))


def _says_something(phrase: str) -> bool:
    """True for more than a keyword; a script without spaces says more with fewer characters."""
    return len(_WORD.findall(phrase)) > 1 or not phrase.isascii()


def _cleaned(phrases: Iterable[str]) -> tuple[str, ...]:
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
        opening=_opening(lines),
        text="\n".join(line.text for line in lines if line.kind is not _Kind.NOT),
        phrases=tuple(phrases),
        negatives=tuple(_items(lines, _Kind.NOT)),
    )


def _opening(lines: Iterable[_Line]) -> str:
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
        bullet = _BULLET.match(line.text) if here else None
        if item and here and not bullet and line.text[:1].isspace() and line.text.strip():
            item += f" {line.text.strip()}"
            continue
        if item:
            yield item
        item = bullet.group("text") if bullet else ""
    if item:
        yield item
