"""A second look by a language model: how its answers are read, and what they can change.

It may raise a verdict and never lowers one, and a yes counts only with a passage that really stands
in the files.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from prowess.safety.evidence import evidence_of
from prowess.safety.intake.ledger import SourceFile, take
from prowess.safety.model import (
    Confidence,
    Finding,
    Level,
    Profile,
    ScanReport,
    ScanVerdict,
)
from prowess.safety.review_prompt import UNSEEN, Question, in_order, untagged
from prowess.safety.rules.table import RULES
from prowess.safety.secrets import mask
from prowess.safety.views import Spot

REVIEWER = "reviewer"
WHY = RULES[REVIEWER].why
FIX = RULES[REVIEWER].fix

# Each weighs enough alone; of the others it takes two.
_GRAVE = frozenset((Question.HIDDEN, Question.LEAVING))
_MESSAGES = {
    Question.PURPOSE: "does something that its description does not say",
    Question.HIDDEN: "keeps something from the user",
    Question.APPROVAL: "has the agent act without or against the user's approval",
    Question.LEAVING: "sends private data to a place that is not the service it is for",
}


class ReviewStatus(StrEnum):
    """What became of a review."""

    REVIEWED = "reviewed"
    UNAVAILABLE = "unavailable"
    UNREADABLE = "unreadable"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Answer:
    """The model's word on one question; a yes is supported where its quote stands in the files."""

    question: Question
    yes: bool
    quote: str = ""
    spot: Spot | None = None
    line: int = 1
    column: int = 1
    evidence: str = ""

    @property
    def is_supported(self) -> bool:
        """Whether it can raise a verdict."""
        return self.yes and self.spot is not None


@dataclass(frozen=True, slots=True)
class Review:
    """What the model answered, at most one answer for each question."""

    answers: tuple[Answer, ...] = ()

    @property
    def supported(self) -> tuple[Answer, ...]:
        """The answers that can raise a verdict."""
        return tuple(answer for answer in self.answers if answer.is_supported)

    @property
    def unsupported(self) -> tuple[Answer, ...]:
        """The answers that say yes and quote what nobody wrote."""
        return tuple(one for one in self.answers if one.yes and not one.is_supported)

    @property
    def missing(self) -> tuple[Question, ...]:
        """The questions that got no answer."""
        answered = {answer.question for answer in self.answers}
        return tuple(question for question in Question if question not in answered)


@dataclass(frozen=True, slots=True)
class ReviewOutcome:
    """The report after a review; `problem` says what the review could not do, "" where nothing."""

    report: ScanReport
    status: ReviewStatus
    problem: str = ""


# Reading what the model answered

_LONGEST_REPLY = 50_000
_MOST_OBJECTS = 200
_MOST_QUOTES = 16
_WORDS = {"yes": True, "no": False, "true": True, "false": False}
# A backslash in a passage of code that the model forgot to double.
_BACKSLASH = re.compile(r'(\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))|\\')
_GAPS = re.compile(rf"[\s{UNSEEN}]+")
_SOLID = re.compile(rf"[^\s{UNSEEN}]+")
_MARKS = re.compile("\u27e8hidden: ?|\u27e8[^\u27e8\u27e9]{0,60}\u27e9|[\u27e6-\u27e9]")
_QUOTE_ENDS = "\"'`\u2018\u2019\u201c\u201d\u2026."
_SHORTEST_QUOTE, _LONGEST_QUOTE = 6, 400
_MASKED = "****"


def read_review(replies: Iterable[str], files: Mapping[str, bytes]) -> Review:
    """Return what the replies of a model say about a skill; what cannot be read is no answer.

    Where it says both yes and no, the yes counts: a stranger who can make it add an answer adds one
    that clears.
    """
    best: dict[Question, Answer] = {}
    passages = _Passages(files)
    for reply in replies:
        claims = (claim for found in _objects(reply) for claim in _claims(found))
        for question, yes, quote in claims:
            answer = passages.answer(question, quote) if yes else Answer(question, yes=False)
            known = best.get(question)
            if known is None or _weight(answer) > _weight(known):
                best[question] = answer
    return Review(tuple(best[question] for question in Question if question in best))


def _weight(answer: Answer) -> tuple[bool, bool]:
    return answer.is_supported, answer.yes


def _objects(reply: str) -> list[Mapping[str, Any]]:
    """Return the JSON objects of a reply that answer a question, whatever stands around them."""
    text = reply[-_LONGEST_REPLY:]
    doubled = _BACKSLASH.sub(lambda hit: hit[1] or "\\\\", text)
    return list(_decoded(text)) or list(_decoded(doubled))


def _decoded(text: str) -> Iterator[Mapping[str, Any]]:
    # Not strict: a passage over two lines is often quoted with its line break as it is.
    decoder, at = json.JSONDecoder(strict=False), text.find("{")
    for _ in range(_MOST_OBJECTS):
        if at < 0:
            return
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            value, end = {}, at + 1
        if any(question in value for question in Question):
            yield value
        else:
            end = at + 1
        at = text.find("{", end)


def _claims(found: Mapping[str, Any]) -> Iterator[tuple[Question, bool, str]]:
    for question in Question:
        given = found.get(question)
        if not isinstance(given, dict):
            continue
        said, quote = given.get("answer"), given.get("quote")
        if isinstance(said, str):
            said = _WORDS.get(said.strip().lower())
        if isinstance(said, bool):
            yield question, said, quote if isinstance(quote, str) else ""


class _Passages:
    """Where quotes stand in the files; the texts are prepared when the first is looked for."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = files
        self._sources: list[tuple[SourceFile, str]] | None = None
        self._known: dict[str, tuple[SourceFile, int] | None] = {}

    def answer(self, question: Question, quote: str) -> Answer:
        """Return the yes to a question, with the place of its quote where there is one."""
        cut = quote[:_LONGEST_QUOTE]
        needle = _GAPS.sub("", _MARKS.sub("", cut)).strip(_QUOTE_ENDS)
        if needle not in self._known and len(self._known) < _MOST_QUOTES:
            self._known[needle] = self._find(needle)
        found = self._known.get(needle)
        answer = Answer(question, yes=True, quote=cut)
        return _placed(answer, *found) if found else answer

    def _find(self, needle: str) -> tuple[SourceFile, int] | None:
        if len(needle) < _SHORTEST_QUOTE:
            return None
        for source, squeezed in self._prepared():
            offset = _offset(source.text, squeezed, needle)
            if offset is not None:
                return source, offset
        return None

    def _prepared(self) -> list[tuple[SourceFile, str]]:
        if self._sources is None:
            ordered = in_order(take(self._files).sources)
            self._sources = [(source, _GAPS.sub("", source.text)) for source in ordered]
        return self._sources


def _offset(text: str, squeezed: str, needle: str) -> int | None:
    """Return where `needle` begins in `text`, blanks and unseen characters aside."""
    at = squeezed.find(needle)
    if at >= 0:
        return _unsqueezed(text, at)
    for reading in _readings(text, needle):
        at = _GAPS.sub("", reading).find(needle)
        if at >= 0:
            # Such readings keep the lines and not the columns.
            return _line_start(text, reading.count("\n", 0, _unsqueezed(reading, at)))
    return None


def _readings(text: str, needle: str) -> Iterator[str]:
    """Yield the other ways in which the model was shown a text."""
    plain = untagged(text)
    if plain != text:
        yield plain
    if _MASKED in needle:
        yield mask(text)


def _unsqueezed(text: str, at: int) -> int:
    for run in _SOLID.finditer(text):
        length = run.end() - run.start()
        if at < length:
            return run.start() + at
        at -= length
    return 0


def _line_start(text: str, line: int) -> int:
    at = 0
    for _ in range(line):
        at = text.find("\n", at) + 1
    return at


def _placed(answer: Answer, source: SourceFile, offset: int) -> Answer:
    line, column = source.lines.position(offset)
    spot = Spot(source.view, offset, min(offset + len(answer.quote), len(source.text)))
    evidence = evidence_of(spot, source.lines.line(line), column)
    return replace(answer, spot=spot, line=line, column=column, evidence=evidence)


# What a review changes


def raised(report: ScanReport, review: Review, profile: Profile = Profile.PACKAGE) -> ScanReport:
    """Return `report` with what the model found added to it; nothing is removed or lowered.

    What the scan already keeps out, or could not finish, stays as it is.
    """
    supported = review.supported
    if not supported or report.verdict in {ScanVerdict.QUARANTINE, ScanVerdict.ERROR}:
        return report
    is_grave = len(supported) > 1 or any(one.question in _GRAVE for one in supported)
    level = Level.CRITICAL if is_grave else Level.WARN
    findings = (*report.findings, *(_finding(answer, level) for answer in supported))
    by_weight = sorted(findings, key=lambda one: (one.level.rank, one.file, one.line, one.rule_id))
    keeps_out = is_grave and profile is not Profile.BUNDLED
    verdict = ScanVerdict.QUARANTINE if keeps_out else ScanVerdict.WARN
    return replace(report, verdict=verdict, findings=tuple(by_weight))


def _finding(answer: Answer, level: Level) -> Finding:
    path = answer.spot.path if answer.spot else ""
    bound = f"{REVIEWER}\0{path}\0{answer.question}\0{answer.evidence}"
    return Finding(
        rule_id=REVIEWER,
        level=level,
        confidence=Confidence.MEDIUM,
        file=path,
        line=answer.line,
        column=answer.column,
        # None of the model's own words: they may be the skill's.
        message=f"a reviewing model says that it {_MESSAGES[answer.question]}",
        evidence=answer.evidence,
        evidence_hash=hashlib.sha256(bound.encode("utf-8", "replace")).hexdigest()[:24],
        why=WHY,
        fix=FIX,
    )
