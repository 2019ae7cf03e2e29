"""A proposed change to a skill: what it is, what it leads to, and which proposals are kept.

A change is known by its content. Title and reason are no part of it, so a payload that was refused
once is the same payload under any other title. In a difference nothing is cleaned away: whoever
shows the lines spells out what cannot be seen in them.

A rule that a user set becomes one without a model (`capture`): the same answer every time, a signal
and no author. What comes out is one instruction: in the imperative where that takes no more than
leaving words out, and as it was said everywhere else. The user's own words go with it as evidence.
Whole words count, so that `assets` is not `asset` and `scenarios` is no `scenario`.
"""

import difflib
import hashlib
import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from types import MappingProxyType
from typing import TypeAlias, TypeVar

from prowess.data import read_table, read_word_group, read_words
from prowess.errors import ProposalInputError
from prowess.language.corrections import objects, sets_a_rule
from prowess.safety.model import Finding
from prowess.secrets.credentials import refuse_secrets
from prowess.skills.model import SKIPPED_FOLDERS
from prowess.transcripts.turns import ChatTurn, Role
from prowess.workshop.edit import Edit, edit_parts


class Actor(StrEnum):
    """What kind of one it was."""

    AGENT = "agent"
    GATEWAY = "gateway"
    PLUGIN = "plugin"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True, kw_only=True)
class By:
    """Who it was, and by what a client knows its own deed again."""

    # None where nobody said it, as in logs of old.
    actor: Actor | None = None
    correlation_id: str = ""


NOBODY = By()
ITSELF = By(actor=Actor.SYSTEM)


# The first bytes that are hashed: a later way to write things down must not meet an older hash.
_CHANGE = b"prowess change 1"
_GONE, _THERE = b"-", b"+"
# With this begins what all lessons for one goal have in common.
LESSON = "experience-"


class State(StrEnum):
    """What became of a proposal."""

    PENDING = "pending"
    APPLIED = "applied"
    REJECTED = "rejected"
    QUARANTINED = "quarantined"
    STALE = "stale"


class ProposalSource(StrEnum):
    """Who proposed it."""

    TOOL = "tool"
    AGENT_END = "agent_end"
    REVIEWER = "reviewer"
    EXPERIENCE = "experience"
    CLI = "cli"
    STUDIO = "studio"

    @property
    def actor(self) -> Actor:
        """What kind of one acts through it."""
        return _ACTORS.get(self, Actor.SYSTEM)


_ACTORS: Mapping[ProposalSource, Actor] = MappingProxyType(
    {
        ProposalSource.TOOL: Actor.AGENT,
        ProposalSource.AGENT_END: Actor.AGENT,
        ProposalSource.REVIEWER: Actor.PLUGIN,
        ProposalSource.STUDIO: Actor.GATEWAY,
    }
)


class EventKind(StrEnum):
    """What happened to a proposal."""

    CREATED = "created"
    REVISED = "revised"
    APPLIED = "applied"
    REJECTED = "rejected"
    QUARANTINED = "quarantined"
    STALE = "stale"
    PRUNED = "pruned"
    ROLLED_BACK = "rolled_back"
    # A write was cut off or refused, and the skill is as it was.
    INTERRUPTED = "interrupted"


# What is not in here never happens, whoever asks for it.
_MOVES: Mapping[State, frozenset[State]] = MappingProxyType(
    {
        State.PENDING: frozenset(
            (State.APPLIED, State.REJECTED, State.QUARANTINED, State.STALE, State.PENDING)
        ),
        State.QUARANTINED: frozenset((State.REJECTED,)),
    }
)


def may_become(old: State, new: State) -> bool:
    """Return whether a proposal may go from one state to another; pending to pending revises."""
    return new in _MOVES.get(old, frozenset())


@dataclass(frozen=True, slots=True)
class Change:
    """The files of one skill as they shall be; None deletes a file."""

    skill: str
    files: Mapping[str, bytes | None]

    def __post_init__(self) -> None:
        # What was reviewed must be what is written: the caller's own mapping could still change.
        object.__setattr__(self, "files", MappingProxyType(dict(self.files)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What is remembered of a proposal, whatever became of it."""

    id: str
    # The hash of the change.
    revision: str
    state: State
    # Seconds since 1970.
    created_at: float
    title: str = ""
    reason: str = ""
    # The hash of what was asked for, whatever the skill looked like; empty matches nothing.
    payload: str = ""
    session_id: str = ""
    # Whether it stays whatever the cap of its state: a person rejected it.
    for_good: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What was said, and in which message of the turn (counted from zero)."""

    place: int
    role: str
    quote: str


@dataclass(frozen=True, slots=True)
class Similar:
    """A skill that says nearly the same, and how nearly, from 0 to 1."""

    skill: str
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal(Record):
    """A change that somebody proposed for one skill of a workspace."""

    workspace: str
    source: ProposalSource
    # Exactly what would be written.
    change: Change
    # What was asked for; None where only support files were.
    edit: Edit | None = None
    # The hash of the whole skill that the change was made against.
    base_hash: str = ""
    updated_at: float = 0.0
    agent_id: str = ""
    findings: tuple[Finding, ...] = ()
    quarantine_reason: str = ""
    evidence: tuple[Evidence, ...] = ()
    # Names the files that were replaced when it was applied, for a way back.
    backup: str = ""
    # The skills that said nearly the same when it was made, the nearest first.
    similar: tuple[Similar, ...] = ()
    # What whoever asked for it is after, in their words.
    goal: str = ""
    # What all lessons for one goal have in common; empty for what is no lesson.
    lesson: str = ""
    # What was said about the last decision.
    decision: str = ""
    # The folder of skills that it is written to, from the workspace on or from the home; empty for
    # the workspace's own.
    place: str = ""

    @property
    def root(self) -> str:
        """The folder of skills that it is written to, as a person reads it."""
        if self.place.startswith("~"):
            return self.place
        return f"{self.workspace}/{self.place or 'skills'}"

    @property
    def skill(self) -> str:
        """The name of the skill, which is the name of its folder."""
        return self.change.skill

    @property
    def was_rolled_back(self) -> bool:
        """True where somebody applied it and took it back: only a person applies it again."""
        return self.state is State.PENDING and bool(self.backup)


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """A write to a skill that began, noted so that a crash leaves no doubt about its end."""

    workspace: str
    proposal_id: str
    skill: str
    # What it will be when it is done: applied, or rolled back.
    kind: EventKind
    revision: str
    at: float
    # By path: the digest of the file that will be there; None for one that will be gone.
    target: Mapping[str, str | None]

    def is_done(self, files: Mapping[str, bytes]) -> bool:
        """Return whether a skill with these files is what the write leads to."""
        return digest_files({path: files.get(path) for path in self.target}) == dict(self.target)


def digest_files(files: Mapping[str, bytes | None]) -> dict[str, str | None]:
    """Return the digest of each file; None for one that is not there."""
    return {
        path: None if body is None else hashlib.sha256(body).hexdigest()
        for path, body in files.items()
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalEvent:
    """One line of the log of proposals, which only grows."""

    # Counts up over all workspaces; the last one seen is a cursor.
    sequence: int = 0
    workspace: str
    proposal_id: str
    skill: str
    kind: EventKind
    revision: str
    at: float
    note: str = ""
    by: By = NOBODY


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What a question about events is about; what is empty takes no part in it."""

    proposal_id: str = ""
    skill: str = ""


# How many records of a state are kept. Each state has its own room, so that a flood of one kind
# never pushes out another: what was quarantined stays as evidence.
DEFAULT_CAPS: Mapping[State, int] = MappingProxyType(
    {
        State.PENDING: 50,
        State.QUARANTINED: 200,
        State.REJECTED: 200,
        State.APPLIED: 500,
        State.STALE: 50,
    }
)

_AnyRecord = TypeVar("_AnyRecord", bound=Record)
# A payload that was found bad stays bad, even where the same one is also waiting.
_WEIGHT = (State.QUARANTINED, State.REJECTED, State.PENDING, State.APPLIED, State.STALE)


_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{1,79}")
_LONGEST_NAME, _MOST_READ = 80, 400
_SPARE_NAME = "learned-workflows"


def skill_name(text: str, title: str = "") -> str:
    """Return the normal form of a skill's name.

    Raises:
        ProposalInputError: nothing is left of it; the message proposes another.
        ProposalSecretError: it holds a credential, which would not show in its normal form.
    """
    refuse_secrets({"skillName": text})
    name = _normalise(_strip_accents(text))
    if name in SKIPPED_FOLDERS:
        problem = f'skillName "{name}" names a folder that is passed over: take another'
        raise ProposalInputError(problem, field="skillName")
    if _NAME.fullmatch(name):
        return name
    other = _normalise(_strip_accents(title))
    better = other if _NAME.fullmatch(other) else _SPARE_NAME
    shown = json.dumps(text[:_LONGEST_NAME])
    problem = f'skillName {shown} cannot name a folder: try "{better}"'
    raise ProposalInputError(problem, field="skillName")


def _normalise(text: str) -> str:
    name = re.sub(r"[^a-z0-9_-]+", "-", text.strip().lower())
    return name.strip("_-")[:_LONGEST_NAME].rstrip("_-")


def _strip_accents(text: str) -> str:
    """Return `text` with the plain letters of accented ones; what has none stays as it is."""
    letters = unicodedata.normalize("NFKD", text[:_MOST_READ].casefold())
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def payload_hash(skill: str, edit: Edit | None, files: Mapping[str, bytes]) -> str:
    """Return the hash of what was asked for: the edit and the support files of one skill."""
    digests = {name: hashlib.sha256(body).hexdigest() for name, body in sorted(files.items())}
    asked = [skill, None if edit is None else edit_parts(edit), digests]
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()


def find_known(new: Record, records: Iterable[_AnyRecord]) -> _AnyRecord | None:
    """Return the record that `new` repeats: of several the gravest, then the newest."""
    same = (record for record in records if _is_same(new, record))
    return min(same, key=lambda one: (_WEIGHT.index(one.state), -one.created_at), default=None)


def _is_same(new: Record, known: Record) -> bool:
    asked_before = bool(new.payload) and new.payload == known.payload
    if known.state is State.APPLIED:
        # Whoever removed it again by hand is not asked again in the same conversation.
        return asked_before and bool(new.session_id) and new.session_id == known.session_id
    return known.state is not State.STALE and (asked_before or new.revision == known.revision)


def change_hash(change: Change) -> str:
    """Return the hash of exactly this change: the skill, every path and every byte."""
    return _digest(change.skill, change.files)


def result_of(current: Mapping[str, bytes], change: Change) -> dict[str, bytes]:
    """Return the whole skill as it will be after the change."""
    merged: dict[str, bytes | None] = {**current, **change.files}
    return {path: data for path, data in merged.items() if data is not None}


def _digest(skill: str, files: Mapping[str, bytes | None]) -> str:
    """Hash with every length in front, so that no two lists of files read the same."""
    digest = hashlib.sha256()
    # A name that is no UTF-8 arrives with lone surrogates, and still has a hash of its own.
    for part in (_CHANGE, skill.encode("utf-8", "surrogatepass")):
        digest.update(len(part).to_bytes(8, "big") + part)
    named = {path.encode("utf-8", "surrogatepass"): data for path, data in files.items()}
    for path, data in sorted(named.items(), key=lambda item: item[0]):
        mark = _GONE if data is None else _THERE
        body = data or b""
        digest.update(len(path).to_bytes(8, "big") + path + mark)
        digest.update(len(body).to_bytes(8, "big") + body)
    return digest.hexdigest()


# The bytes of a file, None where there is none, or the reason why it cannot be read.
Live: TypeAlias = bytes | str | None

_NO_FILE = "/dev/null"
_NO_END = "\\ No newline at end of file"


def difference(proposal: Proposal, live: Callable[[str], Live]) -> Iterator[str]:
    """Yield the lines, without line ends.

    Args:
        proposal: what would be written.
        live: reads a file by its path from the workspace on, such as `skills/a/SKILL.md`.
    """
    for path, body in proposal.change.files.items():
        named = f"skills/{proposal.skill}/{path}"
        before = live(named)
        if isinstance(before, str):
            # Applying looks at it again, and refuses what is no plain file.
            yield f"! {named} {before}"
            continue
        if before == body:
            continue
        yield from difflib.unified_diff(
            _lines(before),
            _lines(body),
            fromfile=_NO_FILE if before is None else f"a/{named}",
            tofile=_NO_FILE if body is None else f"b/{named}",
            lineterm="",
        )


def _lines(body: bytes | None) -> list[str]:
    if not body:
        return []
    lines = body.decode(errors="replace").split("\n")
    # A file ends with a line end; one that does not differs from one that does.
    return lines[:-1] if not lines[-1] else [*lines, _NO_END]


_NOD = re.compile(r"ok[,. ]\s*", re.IGNORECASE)
# What every such skill says besides; it is written once, however many corrections follow.
_HOUSE_RULES = (
    "- Check the result against these steps before the final reply.",
    "- Keep lasting pitfalls here as short bullets.",
)
_SENTENCES = re.compile(r"(?<=[.!?\u3002\uff01\uff1f])\s+|\n+")
_WIDE = re.compile(r"[\u3040-\u9fff\uac00-\ud7af]")
_ENDS = tuple(".!?\u3002\uff01\uff1f")
# Longer messages say more than their rule.
_LONG = 150


@dataclass(frozen=True, slots=True)
class Topic:
    """A kind of work with a skill of its own, and when it is meant."""

    skill: str
    title: str
    label: str
    when: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """A correction that is worth a proposal, and where it was said."""

    # What the user said, on one line.
    instruction: str
    topic: Topic
    turn: ChatTurn

    @property
    def reason(self) -> str:
        """Why this is proposed, in one line."""
        return f"User correction for {self.topic.label}"

    @property
    def bullet(self) -> str:
        """The instruction as a line of a skill."""
        return f"- {word_rule(self.instruction)}"

    @property
    def body(self) -> str:
        """The instruction as the body of a skill."""
        lines = (f"# {self.topic.title}", "", "## Workflow", "", self.bullet, *_HOUSE_RULES)
        return "\n".join(lines)

    @property
    def description(self) -> str:
        """When such a skill is meant."""
        label = self.topic.label
        return (
            f"{label[:1].upper()}{label[1:]}: rules that the user set. Use when {self.topic.when}."
        )


def capture(said: Iterable[ChatTurn]) -> Capture | None:
    """Return the last rule that a user set, if any."""
    for turn in reversed([turn for turn in said if turn.role is Role.USER]):
        # Lines and lists tell what was pasted, so the text is asked about as it came.
        if sets_a_rule(turn.text):
            text = " ".join(turn.text.split())
            instruction = _NOD.sub("", text, count=1) if _NOD.match(text) else text
            return Capture(instruction=instruction, topic=topic_of(instruction), turn=turn)
    return None


def topic_of(instruction: str) -> Topic:
    """Return the first topic that an instruction speaks of."""
    lowered, table = instruction.lower(), read_table("workshop/capture.toml")
    found = (row for row in table["topic"] if re.search(row["pattern"], lowered))
    row = next(found, table["learned"])
    return Topic(row["skill"], row["title"], row["label"], row["when"])


def holds_everywhere(instruction: str) -> bool:
    """Return whether a rule is a person's own, for all projects, and not one of this project."""
    phrases = read_table("workshop/capture.toml")["everywhere"]["phrases"]
    return re.search("|".join(phrases), instruction.lower()) is not None


def word_rule(instruction: str) -> str:
    """Return a rule as an order to the agent, by leaving out what only addresses it."""
    said = " ".join(_pick(instruction))
    before, after = _compile_around()
    bare = after.sub("", before.sub("", said, count=1)).strip(" ,;:\u2014-")
    # What is left out must never turn a rule into its opposite.
    kept, meant = _subjects(bare), _subjects(said)
    is_kept = kept and all(meant.get(one) == is_refused for one, is_refused in kept.items())
    told = _SENTENCES.split(bare if is_kept else said)
    return " ".join(_spell(_turn_to_agent(one)) for one in told)


def _spell(text: str) -> str:
    # A name stays as it is written: `pdf-forms: ...`, and in a text that has no capitals.
    is_word = re.match(r"[^\W\d_A-Z]['\w]*(?![\w:/.-])", text) and not _WIDE.search(text)
    text = text[:1].upper() + text[1:] if is_word else text
    is_wide = "\u3040" <= text[-1:] <= "\u9fff"
    return text if text.endswith(_ENDS) else text + ("\u3002" if is_wide else ".")


def _pick(instruction: str) -> list[str]:
    """Return the sentences that make up a rule: of a long message those that set it."""
    every = [one for one in _SENTENCES.split(instruction) if one]
    telling = [one for one in every if not one.endswith(("?", "\uff1f"))]
    if len(instruction) <= _LONG:
        return telling if any(map(_subjects, telling)) else every
    ruling = [at for at, one in enumerate(every) if sets_a_rule(one)]
    # What it is about may have been said just before, as in `no files like that`.
    about = {at - 1 for at in ruling if at and objects(every[at - 1])}
    return [every[at] for at in sorted({*ruling, *about})] or telling or every


@cache
def _compile_around() -> tuple[re.Pattern[str], re.Pattern[str]]:
    table = read_table("workshop/capture.toml")["wording"]
    before, after = "|".join(table["before"]), "|".join(table["after"])
    return (
        re.compile(rf"\A\W*(?:(?:{before})\b[\s,.:;!\u2014-]*)+", re.IGNORECASE),
        re.compile(rf"(?:[\s,]*\b(?:{after}))+\W*$", re.IGNORECASE),
    )


def _turn_to_agent(text: str) -> str:
    for pattern, order in read_table("workshop/capture.toml")["wording"]["orders"]:
        match = re.fullmatch(rf"{pattern}\W*", text, re.IGNORECASE)
        if match:
            return match.expand(order).strip()
    return text


_WORD = re.compile(r"\d+|[^\W_]{2,}|[\u3040-\u9fff\uac00-\ud7af]")
_NEARLY, _FEW = 0.6, 2
# From this cosine on two short texts mean the same, or the opposite, or differ in one word.
_ALIKE = 0.83


def says_the_same(one: str, other: str, likeness: float = 0.0) -> bool:
    """Return whether two wordings are of one rule: they want and refuse nearly the same.

    `likeness` is what an encoder says of them, where one was asked.
    """
    mine, theirs = _subjects(one), _subjects(other)
    shared, every = mine.keys() & theirs.keys(), mine.keys() | theirs.keys()
    if any(word.isdigit() for word in mine.keys() ^ theirs.keys()):
        return False
    # `use pnpm, not npm` and `use npm, not pnpm` speak of the same.
    is_opposed = any(mine[word] != theirs[word] for word in shared)
    # `run eslint after each change` is another rule than `run prettier after each change`.
    is_exchange = bool(shared) and len(mine) == len(theirs) == len(shared) + 1
    # What adds a little to a rule is another wording of it.
    is_part = _FEW <= len(shared) == min(len(mine), len(theirs)) and 2 * len(shared) >= len(every)
    is_near = is_part or len(shared) >= _NEARLY * len(every)
    is_near = likeness >= _ALIKE or (bool(shared) and is_near)
    return is_near and not (is_opposed or is_exchange)


_BULLET = re.compile(r"(?m)^[-*+] +(\S.*)$")
_LIMIT = re.compile(
    r"\b(?:at (?:most|least)|under|over|below|above|within|(?:up|down) to"
    r"|(?:more|less|fewer|longer) than|max(?:imum)?|min(?:imum)?|limit)\b",
    re.IGNORECASE,
)
_CHOICE = re.compile(r"\W*(?:always |only |please )*(?:use|prefer)\b", re.IGNORECASE)


def drop_overruled(page: bytes, body: str) -> bytes:
    """Return a skill without the bullets that bullets of `body` are said instead of."""
    news, kept = _BULLET.findall(body), []
    lines = page.decode(errors="surrogateescape").splitlines(keepends=True)
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        # With what goes on below it a line says more than these words.
        old = None if below.startswith((" ", "\t")) else _BULLET.match(line.rstrip())
        if old is None or not any(_overrules(new, old[1]) for new in news):
            kept.append(line)
    return "".join(kept).encode(errors="surrogateescape")


def _overrules(new: str, old: str) -> bool:
    """Return whether a rule cannot hold beside an older one; a special case of it can."""
    mine, theirs = _subjects(new), _subjects(old)
    shared = mine.keys() & theirs.keys()
    only_mine, only_theirs = mine.keys() - shared, theirs.keys() - shared
    turned = {word for word in shared if mine[word] != theirs[word]}
    if turned:
        # `use npm` after `use pnpm, not npm`, or the other way round.
        is_choice = all(map(mine.get, turned)) and not any(map(mine.get, only_mine))
        is_near = 2 * len(shared) >= len(shared | only_mine | only_theirs)
        return is_near and (is_choice or not only_mine)
    if len(only_mine) != 1 or not only_theirs or mine[one := next(iter(only_mine))]:
        return False
    rows = read_table("workshop/capture.toml")["rivals"]["rows"]
    rivals = {word for row in map(_list_rivals, rows) if one in row for word in row}
    if not rivals.isdisjoint(word for word in only_theirs if not theirs[word]):
        return True
    other = next(iter(only_theirs))
    is_exchange = len(only_theirs) == 1 and not theirs[other] and bool(shared)
    # Numbers of steps and the like are no limits, and what is used for one thing is not what is
    # used for another.
    is_limit = one.isdigit() and other.isdigit() and _LIMIT.search(new) and _LIMIT.search(old)
    is_choice = _chosen(new) == one and _chosen(old) == other
    return is_exchange and (bool(is_limit) or is_choice)


def _chosen(rule: str) -> str:
    hit = _CHOICE.match(rule)
    word = _WORD.match(rule[hit.end() :].lstrip().lower()) if hit else None
    return _as_one(word.group()) if word else ""


def _list_rivals(row: str) -> set[str]:
    return set(map(_as_one, row.split()))


def name_rule(text: str) -> str:
    """Return what a rule is about, in a form by which another wording of it is known again."""
    found = _subjects(text)
    return " ".join(sorted(f"-{word}" if found[word] else word for word in found))


_CLAUSE = re.compile(r"[,.;:!?\u2014\uff0c\u3002]+|\s-\s|\b(?:but|and|sondern|\u0430)\b")
_STEM = 6
_ENDING = re.compile(r"(?<=[a-z]{3})(?:ing|ed|es|s|e)$")


def _subjects(text: str) -> dict[str, bool]:
    """Return what a rule speaks of, and whether it refuses that."""
    table = read_table("workshop/capture.toml")["negations"]
    names = ("before", "behind", "turns", "wanted")
    before, behind, turns, wanted = (read_words(table[name]) for name in names)
    said = re.sub(table["asking"], table["asked"], text.lower().replace("n't", " not"))
    found: dict[str, bool] = {}
    for clause in _CLAUSE.split(said):
        words = _WORD.findall(clause)
        is_refused = not behind.isdisjoint(words)
        for last, word in zip(("", *words), words, strict=False):
            if word in turns:
                # To do one thing before another, or without it, is not to begin with the other.
                is_refused = not is_refused
            elif word in before:
                is_refused = True
            elif word in wanted and last not in before:
                is_refused = False
            if word not in read_word_group("workshop/capture.toml", "common"):
                found.setdefault(_as_one(word), is_refused)
    return found


def _as_one(word: str) -> str:
    """Return by what a word is known whatever its ending, or the word that stands for it."""
    rows: list[str] = read_table("workshop/capture.toml")["alike"]["rows"]
    for row in rows:
        if word in row.split():
            return row.split()[0]
    return _ENDING.sub("", word) if word.isascii() else word[:_STEM]
