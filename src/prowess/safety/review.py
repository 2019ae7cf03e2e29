"""A second look by a language model: what it is sent, how its answers are read, what they change.

It may raise a verdict and never lowers one, and a yes counts only with a passage that really stands
in the files. It is sent four questions (`review.toml`) and the skill as quoted data, between fences
that its author cannot know, with everything spelled out that cannot be seen. The findings of the
scan are not shown: two judges who know each other's mind confirm each other.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from prowess.data import read_table
from prowess.reading.views import INVISIBLE, Spot
from prowess.safety.intake.ledger import SourceFile, take
from prowess.safety.model import (
    Confidence,
    Finding,
    Handling,
    Level,
    Profile,
    ScanReport,
    ScanVerdict,
)
from prowess.safety.rules.table import read_rules
from prowess.safety.survey import show_evidence
from prowess.secrets.credentials import mask

_FILE = "safety/tables/review.toml"
MOST_BYTES = 24 * 1024
SHORTEST_NONCE = 16


class ReviewQuestion(StrEnum):
    """What the model is asked; the value is the key of its answer."""

    PURPOSE = "purposeMismatch"
    HIDDEN = "hiddenAction"
    APPROVAL = "approvalBypass"
    LEAVING = "dataLeaving"


@dataclass(frozen=True, slots=True)
class ReviewPrompt:
    """What the model is sent, and which files or parts of files it does not see."""

    instructions: str
    question: str
    left_out: tuple[str, ...] = ()


_TEMPLATE = json.dumps(
    {question: {"answer": "yes or no", "quote": ""} for question in ReviewQuestion}
)

# Marks of ours stand in brackets that are spelled out wherever a file has them: neither a mark nor
# a fence can be forged.
_TAGS = "\U000e0020-\U000e007e"
_TAG = re.compile(f"[{_TAGS}]")
_LETTERS = {0xE0000 + code: code for code in range(0x20, 0x7F)}
UNSEEN = (
    f"\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u27e6-\u27e9\ud800-\udfff\ue000-\uf8ff{INVISIBLE}"
)
_LONG_BLANK = 80
_BLANK_RUN = re.compile(rf"(?<!\s)\s{{{_LONG_BLANK},}}+")
_ODD = re.compile(
    rf"(?P<blank> {{{_LONG_BLANK}}})|(?P<tags>[{_TAGS}]+)|(?:(?![{_TAGS}])[{UNSEEN}])+"
)
_MOST_SPELLED = 8
_EMOJI_JOINTS = frozenset(("\ufe0f", "\u200d", "\ufe0f\u200d"))
_SCRIPT = re.compile(
    r"(?i)(?:^|/)scripts/|(?:^|/)(?:makefile|dockerfile|justfile|package\.json|setup\.py)\Z"
    r"|\.(?:sh|bash|zsh|fish|py|pyw|js|mjs|cjs|jsx|tsx?|ps1|psm1|bat|cmd|rb|pl|php|lua|go|rs|swift"
    r"|applescript|scpt|vbs|r|java|kts?)\Z"
)
_LONGEST_PATH, _LONGEST_NAME = 200, 300
_LEAST_SHOWN = 120
_MOST_NAMED = 20


def make_prompt(
    files: Mapping[str, bytes], nonce: str, *, again: bool = False, most_bytes: int = MOST_BYTES
) -> ReviewPrompt | None:
    """Return what to send about a skill; None where nothing in it can be read as text.

    Args:
        files: the skill's files by path.
        nonce: letters and digits that nobody can guess, new for each question.
        again: whether the first answer could not be read.
        most_bytes: how much of the skill's text is shown.

    Raises:
        ValueError: a stranger could guess the nonce.
    """
    if len(nonce) < SHORTEST_NONCE or not (nonce.isascii() and nonce.isalnum()):
        raise ValueError(f"a nonce is {SHORTEST_NONCE} letters and digits or more")
    intake = take(files)
    sources = order_sources(intake.sources)
    if not sources:
        return None
    blocks, left_out = _quote_files(sources, nonce, most_bytes)
    left_out += [
        f"{_show_path(entry.path, nonce)} (not read as text)"
        for entry in intake.ledger
        if entry.handling in {Handling.BINARY, Handling.REFUSED}
    ]
    lines = [f"\u27e6skill data {nonce} begins\u27e7", *blocks]
    if left_out:
        named = "\n".join(left_out[:_MOST_NAMED])
        lines.append(f"\u27e6not shown {nonce}: {len(left_out)}\u27e7\n{named}")
    lines.append(f"\u27e6skill data {nonce} ends\u27e7")
    lines.append("Answer the four questions about the quoted data, with the JSON alone.")
    text = _read_text("reminder" if again else "instructions")
    return ReviewPrompt(
        # Not by `format`: the braces of the template are its own.
        text.replace("{nonce}", nonce).replace("{template}", _TEMPLATE),
        "\n".join(lines),
        tuple(left_out),
    )


def _read_text(name: str) -> str:
    """Return one of the texts; a line that begins with blanks goes on with the one above."""
    return re.sub(r"\n +", " ", read_table(_FILE)[name])


def order_sources(sources: Iterable[SourceFile]) -> list[SourceFile]:
    """Return what tells the agent what to do first, then what runs, then the rest."""

    def rank(source: SourceFile) -> tuple[int, str]:
        if source.path.lower() == "skill.md":
            return 0, source.path
        runs = _SCRIPT.search(source.path) or source.text.startswith("#!")
        return 1 if runs else 2, source.path

    return sorted((source for source in sources if source.text.strip()), key=rank)


def _quote_files(
    sources: Sequence[SourceFile], nonce: str, most_bytes: int
) -> tuple[list[str], list[str]]:
    """Quote the files within bounds, and name what did not fit."""
    blocks: list[str] = []
    left_out: list[str] = []
    names = [_show_path(source.path, nonce) for source in sources]
    heads = [f"\u27e6file {nonce}\u27e7 {name}\n" for name in names]
    # Blanks that push the rest out of sight must not use up the room either.
    texts = [_BLANK_RUN.sub(" " * _LONG_BLANK, source.text) for source in sources]
    left, waiting = most_bytes, sum(map(_size, texts)) + sum(map(_size, heads))
    for name, head, text in zip(names, heads, texts, strict=True):
        waiting -= _size(head) + _size(text)
        # No file takes more than half of what is left from those behind it, or padding hides them.
        share = max(left // 2, left - waiting) - _size(head)
        shown, is_whole = _show_text(text, share, nonce)
        if shown:
            left -= _size(head) + _size(shown)
            blocks.append(head + shown)
        if not is_whole:
            left_out.append(f"{name} (a part)" if shown else name)
    return blocks, left_out


def _show_text(text: str, share: int, nonce: str) -> tuple[str, bool]:
    """Return a text of at most `share` bytes, its middle left out where it is longer."""
    if _size(text) <= share:
        whole = _make_visible(text, nonce)
        if _size(whole) <= share:
            return whole, True
    if share < _LEAST_SHOWN:
        return "", False
    mark = f"\n\u27e8{len(text)} characters in all: the middle is left out\u27e9\n"
    room = share - _size(mark)
    tail_room = room // 3
    # Windows twice as wide as what is shown, so that a secret at an edge is seen whole and masked.
    head = _make_visible(text[: 2 * share], nonce).encode("utf-8")[: room - tail_room]
    tail = _make_visible(text[-2 * share :], nonce).encode("utf-8")[-tail_room:]
    return head.decode("utf-8", "ignore") + mark + tail.decode("utf-8", "ignore"), False


def _show_path(path: str, nonce: str) -> str:
    """Return a path on one line: a name can hold line breaks and orders, too."""
    return _make_visible(json.dumps(path[:_LONGEST_PATH], ensure_ascii=False), nonce)[
        :_LONGEST_NAME
    ]


def _make_visible(text: str, nonce: str) -> str:
    """Return a text with secrets masked, what cannot be seen spelled out, and no fence in it."""
    shown = _ODD.sub(_spell_out, mask(text).replace("\r\n", "\n"))
    return shown.replace(nonce, "\u27e8fence\u27e9")


def _spell_out(hit: re.Match[str]) -> str:
    if hit["blank"]:
        return "\n\u27e8a long run of blanks\u27e9\n"
    if hit["tags"]:
        return f"\u27e8hidden: {read_tags(hit['tags'])}\u27e9"
    run = hit.group()
    if run in _EMOJI_JOINTS and not hit.string[max(0, hit.start() - 1)].isascii():
        return run
    spelled = "".join(f"\u27e8U+{ord(character):04X}\u27e9" for character in run[:_MOST_SPELLED])
    more = len(run) - _MOST_SPELLED
    return spelled + (f"\u27e8{more} more that cannot be seen\u27e9" if more > 0 else "")


def read_tags(text: str) -> str:
    """Return `text` with the letters that its tag characters stand for, one for one."""
    return text.translate(_LETTERS) if _TAG.search(text) else text


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


REVIEWER = "reviewer"

# Each weighs enough alone; of the others it takes two.
_GRAVE = frozenset((ReviewQuestion.HIDDEN, ReviewQuestion.LEAVING))


class SecondLookStatus(StrEnum):
    """What became of a review."""

    REVIEWED = "reviewed"
    UNAVAILABLE = "unavailable"
    UNREADABLE = "unreadable"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class ReviewAnswer:
    """The model's word on one question; a yes is supported where its quote stands in the files."""

    question: ReviewQuestion
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
class ModelReview:
    """What the model answered, at most one answer for each question."""

    answers: tuple[ReviewAnswer, ...] = ()

    @property
    def supported(self) -> tuple[ReviewAnswer, ...]:
        """The answers that can raise a verdict."""
        return tuple(answer for answer in self.answers if answer.is_supported)

    @property
    def unsupported(self) -> tuple[ReviewAnswer, ...]:
        """The answers that say yes and quote what nobody wrote."""
        return tuple(one for one in self.answers if one.yes and not one.is_supported)

    @property
    def missing(self) -> tuple[ReviewQuestion, ...]:
        """The questions that got no answer."""
        answered = {answer.question for answer in self.answers}
        return tuple(question for question in ReviewQuestion if question not in answered)


@dataclass(frozen=True, slots=True)
class SecondLook:
    """The report after a review; `problem` says what the review could not do, "" where nothing."""

    report: ScanReport
    status: SecondLookStatus
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


def read_review(replies: Iterable[str], files: Mapping[str, bytes]) -> ModelReview:
    """Return what the replies of a model say about a skill; what cannot be read is no answer.

    Where it says both yes and no, the yes counts: a stranger who can make it add an answer adds one
    that clears.
    """
    best: dict[ReviewQuestion, ReviewAnswer] = {}
    passages = _Passages(files)
    for reply in replies:
        claims = (claim for found in _find_objects(reply) for claim in _read_claims(found))
        for question, yes, quote in claims:
            answer = passages.answer(question, quote) if yes else ReviewAnswer(question, yes=False)
            known = best.get(question)
            if known is None or _weight(answer) > _weight(known):
                best[question] = answer
    return ModelReview(tuple(best[question] for question in ReviewQuestion if question in best))


def _weight(answer: ReviewAnswer) -> tuple[bool, bool]:
    return answer.is_supported, answer.yes


def _find_objects(reply: str) -> list[Mapping[str, Any]]:
    """Return the JSON objects of a reply that answer a question, whatever stands around them."""
    text = reply[-_LONGEST_REPLY:]
    doubled = _BACKSLASH.sub(lambda hit: hit[1] or "\\\\", text)
    return list(_decode_objects(text)) or list(_decode_objects(doubled))


def _decode_objects(text: str) -> Iterator[Mapping[str, Any]]:
    # Not strict: a passage over two lines is often quoted with its line break as it is.
    decoder, at = json.JSONDecoder(strict=False), text.find("{")
    for _ in range(_MOST_OBJECTS):
        if at < 0:
            return
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            value, end = {}, at + 1
        if any(question in value for question in ReviewQuestion):
            yield value
        else:
            end = at + 1
        at = text.find("{", end)


def _read_claims(found: Mapping[str, Any]) -> Iterator[tuple[ReviewQuestion, bool, str]]:
    for question in ReviewQuestion:
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

    def answer(self, question: ReviewQuestion, quote: str) -> ReviewAnswer:
        """Return the yes to a question, with the place of its quote where there is one."""
        cut = quote[:_LONGEST_QUOTE]
        needle = _GAPS.sub("", _MARKS.sub("", cut)).strip(_QUOTE_ENDS)
        if needle not in self._known and len(self._known) < _MOST_QUOTES:
            self._known[needle] = self._find(needle)
        found = self._known.get(needle)
        answer = ReviewAnswer(question, yes=True, quote=cut)
        return _locate_answer(answer, *found) if found else answer

    def _find(self, needle: str) -> tuple[SourceFile, int] | None:
        if len(needle) < _SHORTEST_QUOTE:
            return None
        for source, squeezed in self._prepare():
            offset = _find_offset(source.text, squeezed, needle)
            if offset is not None:
                return source, offset
        return None

    def _prepare(self) -> list[tuple[SourceFile, str]]:
        if self._sources is None:
            ordered = order_sources(take(self._files).sources)
            self._sources = [(source, _GAPS.sub("", source.text)) for source in ordered]
        return self._sources


def _find_offset(text: str, squeezed: str, needle: str) -> int | None:
    """Return where `needle` begins in `text`, blanks and unseen characters aside."""
    at = squeezed.find(needle)
    if at >= 0:
        return _unsqueeze(text, at)
    for reading in _read_otherwise(text, needle):
        at = _GAPS.sub("", reading).find(needle)
        if at >= 0:
            # Such readings keep the lines and not the columns.
            return _line_start(text, reading.count("\n", 0, _unsqueeze(reading, at)))
    return None


def _read_otherwise(text: str, needle: str) -> Iterator[str]:
    """Yield the other ways in which the model was shown a text."""
    plain = read_tags(text)
    if plain != text:
        yield plain
    if _MASKED in needle:
        yield mask(text)


def _unsqueeze(text: str, at: int) -> int:
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


def _locate_answer(answer: ReviewAnswer, source: SourceFile, offset: int) -> ReviewAnswer:
    line, column = source.lines.position(offset)
    spot = Spot(source.view, offset, min(offset + len(answer.quote), len(source.text)))
    evidence = show_evidence(spot, source.lines.line(line), column)
    return replace(answer, spot=spot, line=line, column=column, evidence=evidence)


# What a review changes


def raise_report(
    report: ScanReport, review: ModelReview, profile: Profile = Profile.PACKAGE
) -> ScanReport:
    """Return `report` with what the model found added to it; nothing is removed or lowered.

    What the scan already keeps out, or could not finish, stays as it is.
    """
    supported = review.supported
    if not supported or report.verdict in {ScanVerdict.QUARANTINE, ScanVerdict.ERROR}:
        return report
    is_grave = len(supported) > 1 or any(one.question in _GRAVE for one in supported)
    level = Level.CRITICAL if is_grave else Level.WARN
    findings = (*report.findings, *(_make_finding(answer, level) for answer in supported))
    by_weight = sorted(findings, key=lambda one: (one.level.rank, one.file, one.line, one.rule_id))
    keeps_out = is_grave and profile is not Profile.BUNDLED
    verdict = ScanVerdict.QUARANTINE if keeps_out else ScanVerdict.WARN
    return replace(report, verdict=verdict, findings=tuple(by_weight))


def _make_finding(answer: ReviewAnswer, level: Level) -> Finding:
    path = answer.spot.path if answer.spot else ""
    rule = read_rules()[REVIEWER]
    bound = f"{REVIEWER}\0{path}\0{answer.question}\0{answer.evidence}"
    return Finding(
        rule_id=REVIEWER,
        level=level,
        confidence=Confidence.MEDIUM,
        file=path,
        line=answer.line,
        column=answer.column,
        # None of the model's own words: they may be the skill's.
        message=f"a reviewing model says that it {read_table(_FILE)['messages'][answer.question]}",
        evidence=answer.evidence,
        evidence_hash=hashlib.sha256(bound.encode("utf-8", "replace")).hexdigest()[:24],
        why=rule.why,
        fix=rule.fix,
    )
