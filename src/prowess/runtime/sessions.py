"""What skills did in real sessions: listed, routed, used, corrected, and missed.

Routing looks at the skills as they are now: a skill that was changed since may be found where it
was not, which is what a person wants to know. A session whose folder is gone is counted, but
nothing can be said about what it missed. The last report is kept for a while, since to read and
route takes seconds.

Corrections that prove that a skill was missed become proposals: the words go to that skill, or,
where the workshop cannot write it, to the topic's skill. Nothing is ever applied from here,
whatever the policy says. Trigger tests are the very words that people used, with the skill that was
meant: prompts whose skill was missed, and prompts for which the agent took a skill by itself and
nobody objected. One that holds a secret is left out: a suite is a file that people commit.
"""

import hashlib
import os
import re
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

from prowess.hooks.harness import Harness
from prowess.routing.decision_triggers_and_follow_ups import is_follow_up
from prowess.routing.model import Decision, Route
from prowess.routing.router import Context
from prowess.runtime.route.answer import Asked
from prowess.runtime.workshop.drafts import Draft
from prowess.runtime.workshop.ports import WorkshopPorts
from prowess.runtime.workshop.proposals import Proposals
from prowess.secrets.mask import hide_secrets
from prowess.skills.agent_filter_snapshot import Snapshot
from prowess.skills.text import one_line
from prowess.transcripts.sessions import Session, SessionTurn, ShownText, corrects
from prowess.transcripts.turns import ChatTurn, Role
from prowess.workshop.edit import Append, Create
from prowess.workshop.missed_activations import Missed, MissKind, Sure, lesson, missed, plain_name
from prowess.workshop.proposal import (
    Capture,
    Evidence,
    Proposal,
    ProposalSource,
    State,
    capture,
    topic_of,
)

MOST_FILES, MOST_ROUTED = 400, 3_000
GONE = "a session whose folder is gone: what it missed is not known"
NOT_ROUTED = f"a prompt after {MOST_ROUTED} others: not routed"
UNREADABLE = "a file that cannot be read"
TOO_MANY_FILES = f"a file older than the {MOST_FILES} newest ones: not read"
_ORDER = {MissKind.MISSED: 0, MissKind.PROBABLE: 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFile:
    """The sessions of one file, or why there are none."""

    harness: Harness
    path: str
    sessions: tuple[Session, ...] = ()
    problem: str = ""


class SessionFiles(Protocol):
    """Finds the files of sessions."""

    def files(
        self, since_ms: int, harness: Harness | None = None, session: str = ""
    ) -> Iterator[Callable[[], SessionFile]]:
        """Yield what reads each file that changed since then, newest first."""


class SessionPorts(NamedTuple):
    """The adapters that a report needs."""

    files: SessionFiles
    # What an agent may use in a folder; None where the folder is gone or cannot be used.
    skills_in: Callable[[str], Snapshot | None]
    route: Callable[[str, Asked], Route]
    # Whether a harness looks into a skills root by itself.
    in_folders: Callable[[str, str], bool]
    progress: Callable[[str, int, int], None] = lambda _what, _done, _total: None


@dataclass(slots=True, kw_only=True)
class SkillNumbers:
    """For how many prompts each thing happened to one skill."""

    name: str
    listed: int = 0
    routed: int = 0
    used: int = 0
    corrected: int = 0
    missed: int = 0
    probable: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionsReport:
    """What was found in the sessions of some time, newest session first."""

    since_ms: int
    sessions: tuple[Session, ...] = ()
    skills: tuple[SkillNumbers, ...] = ()
    # First those that are proved, then the probable ones.
    missed: tuple[Missed, ...] = ()
    skipped: Mapping[str, int] = field(default_factory=dict)
    # Files that could not be read, with the reason.
    problems: tuple[str, ...] = ()
    # Why routing may be worse than usual.
    notes: tuple[str, ...] = ()

    @property
    def corrections(self) -> int:
        """How many turns of the agent were corrected."""
        return sum(turn.corrected for session in self.sessions for turn in session.turns)


@dataclass(slots=True)
class _Counts:
    """What is counted while sessions are read."""

    since_ms: int
    skills: dict[str, SkillNumbers] = field(default_factory=dict)
    missed: list[Missed] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    notes: dict[str, None] = field(default_factory=dict)
    routed: int = 0
    # What was found in each folder.
    folders: dict[str, "_Folder"] = field(default_factory=dict)

    def of(self, name: str) -> SkillNumbers:
        return self.skills.setdefault(name, SkillNumbers(name=name))

    def counts(self, turn: SessionTurn) -> bool:
        """Return whether a turn lies in the time that was asked for."""
        return not turn.at_ms or turn.at_ms >= self.since_ms


class SessionReports:
    """Reads sessions and says what became of skills in them."""

    def __init__(self, ports: SessionPorts) -> None:
        self._ports = ports

    def report(
        self,
        since_ms: int,
        *,
        harness: Harness | None = None,
        workspace: str | None = None,
        session: str = "",
    ) -> SessionsReport:
        """Return what happened since a time.

        Args:
            since_ms: milliseconds since 1970.
            harness: whose sessions; by default all that can be read.
            workspace: only sessions in this folder or below it.
            session: only the session whose id begins like this.
        """
        counts = _Counts(since_ms)
        files = list(self._ports.files.files(since_ms, harness, session))
        if len(files) > MOST_FILES:
            counts.skipped[TOO_MANY_FILES] = len(files) - MOST_FILES

        def is_meant(one: Session) -> bool:
            is_new = not one.ended_ms or one.ended_ms >= since_ms
            is_here = workspace is None or _is_below(one.cwd, workspace)
            return is_new and is_here and one.id.startswith(session)

        found, problems = self._read(files[:MOST_FILES], is_meant, counts)
        sessions = _keep_longest(found)
        self._judge(sessions, counts)
        return _sum_up(sessions, counts, problems)

    def _read(
        self,
        files: Sequence[Callable[[], SessionFile]],
        is_meant: Callable[[Session], bool],
        counts: _Counts,
    ) -> tuple[list[Session], tuple[str, ...]]:
        """Return the sessions of files with what they used, and why some could not be read."""
        found: list[Session] = []
        problems: list[str] = []
        for done, read in enumerate(files):
            self._ports.progress("reading sessions", done, len(files))
            file = read()
            problems += filter(None, [file.problem])
            # At once: what tools showed in all files together would be too much to keep.
            meant = filter(is_meant, file.sessions)
            found += [self._open(one.cwd, counts).settle(one) for one in meant]
        return found, tuple(problems)

    def _open(self, folder: str, counts: _Counts) -> "_Folder":
        if folder not in counts.folders:
            snapshot = self._ports.skills_in(folder) if folder else None
            counts.folders[folder] = _Folder(snapshot)
        return counts.folders[folder]

    def _judge(self, sessions: Sequence[Session], counts: _Counts) -> None:
        """Count and route, folder by folder: an index is made for one at a time."""
        by_folder: defaultdict[str, list[Session]] = defaultdict(list)
        for one in sessions:
            by_folder[one.cwd].append(one)
        done, total = 0, sum(len(one.turns) for one in sessions)
        for folder, group in by_folder.items():
            snapshot = self._open(folder, counts).snapshot
            if snapshot is None:
                counts.skipped[GONE] += len(group)
            names = {skill.name for skill in snapshot.usable} if snapshot else set()
            for one in group:
                self._ports.progress("routing prompts", done, total)
                sure = {} if snapshot is None else self._route_turns(one, snapshot, counts)
                _count(one, sure, names, counts)
                done += len(one.turns)

    def _route_turns(
        self, session: Session, snapshot: Snapshot, counts: _Counts
    ) -> dict[int, tuple[Sure, ...]]:
        found: dict[int, tuple[Sure, ...]] = {}
        loaded: frozenset[str] = frozenset()
        for turn in session.turns:
            if not turn.by_hand and counts.counts(turn):
                if counts.routed >= MOST_ROUTED:
                    counts.skipped[NOT_ROUTED] += 1
                    continue
                counts.routed += 1
                asked = Asked(snapshot=snapshot, context=Context(loaded=loaded))
                route = self._ports.route(turn.prompt, asked)
                # Where nothing was compared, the notes are about that one message.
                counts.notes.update(dict.fromkeys(route.notes if route.considered else ()))
                found[turn.number] = tuple(self._read_route(route, session.harness))
            loaded |= {plain_name(name) for name in turn.used}
        return found

    def _read_route(self, route: Route, harness: str) -> Iterator[Sure]:
        if route.decision is not Decision.LOAD:
            return
        for match in route.matches:
            if match.score >= route.thresholds.load and match.skill.invocation.model:
                yield Sure(
                    skill=match.skill.name,
                    score=match.score,
                    why=match.reasons[0] if match.reasons else "",
                    description=f"{match.skill.description} {match.skill.when_to_use}".strip(),
                    in_folders=self._ports.in_folders(match.skill.source.root, harness),
                )


# So many lines in a row are no accident.
_IN_A_ROW = 3
_NUMBER = re.compile(r"\A\d{1,6}\s{0,3}[:\t\u2192\u2502|.-]")
_NAME_LINE = re.compile(r"name: ?[\"']?([\w.-]{1,100})[\"']?")


class _Folder:
    """The skills of a folder, and which of them somebody read who was shown a text."""

    def __init__(self, snapshot: Snapshot | None) -> None:
        self.snapshot = snapshot
        skills = snapshot.usable if snapshot else ()
        # One harness has no dashes in its commands, and who reads a file knows only its folder.
        self._names = {skill.name.replace("-", "_"): skill.name for skill in skills}
        self._names |= {one.path.replace("\\", "/").split("/")[-2:][0]: one.name for one in skills}
        # Whose instructions have these lines in a row.
        self._owners: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
        for skill in skills:
            lines = [line for one in _lines(skill.body) if (line := one.strip())]
            for row in _rows(lines, {min(len(lines), _IN_A_ROW)} - {0}):
                self._owners[row].add(skill.name)
        self._lines = {line for row in self._owners for line in row}
        self._lengths = {len(row) for row in self._owners}
        self._known = {name for owners in self._owners.values() for name in owners}

    def settle(self, session: Session) -> Session:
        """Return a session with the skills that it used, by their names, without what it saw."""
        turns = (replace(turn, used=self._used(turn), shown=()) for turn in session.turns)
        return replace(session, turns=tuple(turns))

    def _used(self, turn: SessionTurn) -> tuple[str, ...]:
        used = [*turn.used, *(name for one in turn.shown for name in self._read(one))]
        # Both: another skill may really be called like the folder.
        own = (one for name in used for one in (name, self._names.get(name, name)))
        return tuple(dict.fromkeys(own))

    def _read(self, shown: ShownText) -> Iterator[str]:
        """Yield whose text was shown: some lines in a row that are its alone, or stand by its name.

        Of a skill that is not here the name of its file has to be enough.
        """
        named = {self._names.get(name, name) for name in shown.named}
        named |= self._known.intersection(shown.named)
        yield from named - self._known
        lines = list(filter(None, (self._strip(line.lstrip()) for line in _lines(shown.text))))
        if self._lines.isdisjoint(lines):
            return
        named |= {hit[1] for line in lines if (hit := _NAME_LINE.fullmatch(line))}
        for row in _rows(lines, self._lengths):
            owners = self._owners.get(row, set())
            is_its_alone = len(owners) == 1 and len(row) == _IN_A_ROW
            yield from owners if is_its_alone else owners & named

    def _strip(self, line: str) -> str:
        """Return a line of a file without the path and the number that a tool put before it."""
        _, file, rest = line.partition("SKILL.md")
        bare = rest[1:].lstrip() if file and rest.startswith((":", "-")) else line
        forms = [one.strip() for one in (line, bare, _NUMBER.sub("", bare, count=1))]
        known = (one for one in forms if one in self._lines or one.startswith("name:"))
        # A number alone stands before an empty line.
        return next(known, forms[0] if all(forms) else "")


def _lines(text: str) -> list[str]:
    """Return the lines of a text, also of one that stands between quotes."""
    return text.replace("\\n", "\n").replace("\\", "").splitlines()


def _rows(lines: Sequence[str], lengths: Iterable[int]) -> Iterator[tuple[str, ...]]:
    for length in lengths:
        for place in range(len(lines) - length + 1):
            yield tuple(lines[place : place + length])


def _sum_up(
    sessions: Sequence[Session], counts: _Counts, problems: tuple[str, ...]
) -> SessionsReport:
    """Return the report of what was counted."""
    # The sessions of one file count together what was left out of it.
    for left_out in {one.path: one.skipped for one in sessions}.values():
        counts.skipped.update(left_out)
    if problems:
        counts.skipped[UNREADABLE] += len(problems)
    return SessionsReport(
        since_ms=counts.since_ms,
        sessions=tuple(sessions),
        skills=tuple(sorted(counts.skills.values(), key=_rank)),
        missed=tuple(sorted(counts.missed, key=lambda one: (_ORDER[one.kind], -one.turn.at_ms))),
        skipped=dict(counts.skipped),
        problems=problems,
        notes=tuple(counts.notes),
    )


def _count(
    session: Session, sure: Mapping[int, Sequence[Sure]], names: Iterable[str], counts: _Counts
) -> None:
    known = {*names, *(plain_name(name) for name in session.shown)}
    for turn in filter(counts.counts, session.turns):
        used = {plain_name(name) for name in turn.used} & known
        for name in {plain_name(name) for name in turn.listed or ()}:
            counts.of(name).listed += 1
        for name in {one.skill for one in sure.get(turn.number, ())}:
            counts.of(name).routed += 1
        for name in used:
            counts.of(name).used += 1
            counts.of(name).corrected += turn.corrected
    for miss in missed(session, sure):
        if counts.counts(miss.turn):
            counts.missed.append(miss)
            is_proved = miss.kind is MissKind.MISSED
            counts.of(miss.skill).missed += is_proved
            counts.of(miss.skill).probable += not is_proved


def _rank(one: SkillNumbers) -> tuple[int, int, int, str]:
    """Put first what somebody should look at."""
    return (-one.missed, -one.used, -one.routed, one.name)


def _keep_longest(sessions: Sequence[Session]) -> list[Session]:
    """Return each session once, the newest first: one that is resumed is copied to another file."""
    kept: dict[tuple[str, str], Session] = {}
    for one in sessions:
        key = (one.harness, one.id or one.path)
        if key not in kept or len(one.turns) > len(kept[key].turns):
            kept[key] = one
    return sorted(kept.values(), key=lambda one: (-one.ended_ms, one.path))


def _is_below(folder: str, workspace: str) -> bool:
    base = os.path.normpath(workspace)
    return bool(folder) and (
        os.path.normpath(folder) == base or os.path.normpath(folder).startswith(base + os.sep)
    )


_KEPT_MS = 120_000
_DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptReport:
    """A report, and when it was made."""

    report: SessionsReport
    made_ms: int
    days: int


class MissedActivations:
    """Makes reports of sessions, and keeps the last one."""

    def __init__(self, report: Callable[[int], SessionsReport], now_ms: Callable[[], int]) -> None:
        """Take what reports on sessions since a moment, and the clock."""
        self._report, self._now_ms = report, now_ms
        self._making = threading.Lock()
        self._kept: KeptReport | None = None

    def of(self, days: int, *, fresh: bool = False) -> KeptReport:
        """Return the report of the last days; `fresh` makes it anew whatever is kept."""
        with self._making:
            now, kept = self._now_ms(), self._kept
            is_new = kept is not None and abs(now - kept.made_ms) < _KEPT_MS
            if kept is not None and is_new and kept.days == days and not fresh:
                return kept
            report = self._report(now - days * _DAY_MS)
            self._kept = KeptReport(report=report, made_ms=now, days=days)
            return self._kept


SECTION = "Corrections"
_MOST_PROMPT, _MOST_PATH = 600, 400
_WAITING = frozenset((State.PENDING, State.QUARANTINED))


@dataclass(frozen=True, slots=True, kw_only=True)
class MissedLesson:
    """A missed skill, what was asked for, and what the person then said to do."""

    missed: Missed
    proof: SessionTurn
    found: Capture


def find_lessons(misses: Sequence[Missed]) -> Iterator[MissedLesson]:
    """Yield what proved misses teach, one for each correction, for the skill that was surest.

    What a phrase says for good is left out: the workshop hears that by itself.
    """
    seen: set[tuple[str, str, int]] = set()
    for miss in sorted(misses, key=lambda one: -one.score):
        proof = miss.proof
        if miss.kind is not MissKind.MISSED or proof is None or proof.by_hand:
            continue
        key = (miss.session.harness, miss.session.id or miss.session.path, proof.number)
        said = ChatTurn(role=Role.USER, text=proof.prompt, place=proof.number)
        words = lesson(proof.prompt, miss.skill)
        if words and key not in seen and capture([said]) is None:
            seen.add(key)
            found = Capture(instruction=words, topic=topic_of(words), turn=said)
            yield MissedLesson(missed=miss, proof=proof, found=found)


class MissedCorrections:
    """Proposes what missed skills should have said."""

    def __init__(self, ports: WorkshopPorts, agent_id: str) -> None:
        self._ports, self._agent_id = ports, agent_id
        self._proposals = Proposals(ports)
        self._writable = {one.name for one in ports.neighbours(agent_id)}

    def propose(self, one: MissedLesson) -> tuple[Proposal | None, bool]:
        """Return the proposal that waits for a person now, and whether it is new.

        None where somebody decided about these words before.

        Raises:
            ProposalError: it cannot be proposed; nothing was stored.
            StoreError: the store cannot be used.
        """
        workspace = self._ports.workspace(self._agent_id)
        proposed = self._proposals.propose(workspace, self._draft(one))
        waits = proposed.is_new or proposed.proposal.state in _WAITING
        return (proposed.proposal if waits else None), proposed.is_new

    def _draft(self, one: MissedLesson) -> Draft:
        skill, topic = one.missed.skill, one.found.topic
        reason = f"User correction where {skill} was not used (the router's score is"
        reason = f"{reason} {one.missed.score:.2f})"
        draft = Draft(
            skill=skill,
            title=f"Skill update: {skill}",
            reason=reason,
            source=ProposalSource.AGENT_END,
            edit=Append(section=SECTION, body=one.found.bullet),
            evidence=_evidence(one),
            agent_id=self._agent_id,
            session_id=one.missed.session.id,
            # The same words are the same wish, whichever skill they would go to by now.
            payload=_hash_words(one.found.instruction),
            compare=False,
        )
        if skill in self._writable:
            return draft
        where = self._ports.elsewhere(skill, self._agent_id)
        lies = f", which lies at {one_line(where)[:_MOST_PATH]}," if where else ""
        # Among the words of others, these have to say what they are about.
        found = replace(one.found, instruction=f"{skill}: {one.found.instruction}")
        return replace(
            draft,
            skill=topic.skill,
            title=topic.title,
            reason=f"{reason}; {skill}{lies} is not changed from here",
            edit=Create(description=found.description, body=found.body),
        )


def _evidence(one: MissedLesson) -> tuple[Evidence, ...]:
    """Quote what was asked for, then the correction; a secret in the first must not be kept."""
    asked, role = one.missed.turn, Role.USER.value
    prompt = hide_secrets(asked.prompt).text[:_MOST_PROMPT]
    return (
        Evidence(place=asked.number, role=role, quote=prompt),
        Evidence(place=one.proof.number, role=role, quote=one.proof.prompt),
    )


def _hash_words(instruction: str) -> str:
    words = f"correction\0{instruction}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(words).hexdigest()


_FEWEST_WORDS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerCase:
    """A prompt, and the skills of which any is right for it."""

    prompt: str
    expect: tuple[str, ...]


class TriggerCases(NamedTuple):
    """The cases of a report, and how many prompts were left out because of a secret in them."""

    cases: tuple[TriggerCase, ...]
    with_secrets: int


def make_trigger_cases(report: SessionsReport) -> TriggerCases:
    """Return the cases of a report, each prompt once."""
    known = {one.name for one in report.skills}
    found: dict[str, dict[str, None]] = {}
    with_secrets: set[str] = set()
    for prompt, skill in _find_pairs(report):
        if skill not in known or not _stands_alone(prompt):
            continue
        if hide_secrets(prompt).text != prompt:
            with_secrets.add(prompt)
        else:
            found.setdefault(prompt, {})[skill] = None
    cases = (TriggerCase(prompt=prompt, expect=tuple(found[prompt])) for prompt in found)
    return TriggerCases(tuple(cases), len(with_secrets))


def _stands_alone(prompt: str) -> bool:
    is_long = len(prompt.split()) >= _FEWEST_WORDS
    return is_long and not is_follow_up(prompt) and not corrects(prompt)


def _find_pairs(report: SessionsReport) -> Iterator[tuple[str, str]]:
    for miss in report.missed:
        if miss.kind is MissKind.MISSED:
            yield miss.turn.prompt, miss.skill
    for session in report.sessions:
        yield from _find_taken(session, report.since_ms)


def _find_taken(session: Session, since_ms: int) -> Iterator[tuple[str, str]]:
    """Yield the prompts for which the agent first took a skill, unless it was told otherwise."""
    before: set[str] = set()
    for turn in session.turns:
        used = {plain_name(name) for name in turn.used}
        is_plain = not (turn.by_hand or turn.corrected) and (
            not turn.at_ms or turn.at_ms >= since_ms
        )
        if is_plain:
            yield from ((turn.prompt, name) for name in sorted(used - before))
        before |= used
