"""What skills did in real sessions: listed, routed, used, corrected, and missed.

Routing looks at the skills as they are now: a skill that was changed since may be found where it
was not, which is what a person wants to know. A session whose folder is gone is counted, but
nothing can be said about what it missed.
"""

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from prowess.hooks.harness import Harness
from prowess.routing.model import Decision, Route
from prowess.routing.router import Context
from prowess.runtime.route.answer import Asked
from prowess.skills.model import Skill
from prowess.skills.snapshot import Snapshot
from prowess.transcripts.session_model import Session, Turn
from prowess.workshop.missed_activations import Missed, MissKind, Sure, missed, plain_name

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


class Tools(NamedTuple):
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

    def of(self, name: str) -> SkillNumbers:
        """Return the numbers of a skill."""
        return self.skills.setdefault(name, SkillNumbers(name=name))

    def counts(self, turn: Turn) -> bool:
        """Return whether a turn lies in the time that was asked for."""
        return not turn.at_ms or turn.at_ms >= self.since_ms


class SessionReports:
    """Reads sessions and says what became of skills in them."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools

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
        files = list(self._tools.files.files(since_ms, harness, session))
        if len(files) > MOST_FILES:
            counts.skipped[TOO_MANY_FILES] = len(files) - MOST_FILES
        found = self._read(files[:MOST_FILES])
        sessions = _newest_of_each(
            [
                one
                for file in found
                for one in file.sessions
                if (not one.ended_ms or one.ended_ms >= since_ms)
                and one.id.startswith(session)
                and (workspace is None or _is_below(one.cwd, workspace))
            ]
        )
        self._judge(sessions, counts)
        return _summed(sessions, counts, tuple(file.problem for file in found if file.problem))

    def _read(self, files: Sequence[Callable[[], SessionFile]]) -> list[SessionFile]:
        found: list[SessionFile] = []
        for done, read in enumerate(files):
            self._tools.progress("reading sessions", done, len(files))
            found.append(read())
        return found

    def _judge(self, sessions: Sequence[Session], counts: _Counts) -> None:
        """Count and route, folder by folder: an index is made for one at a time."""
        by_folder: defaultdict[str, list[Session]] = defaultdict(list)
        for one in sessions:
            by_folder[one.cwd].append(one)
        done, total = 0, sum(len(one.turns) for one in sessions)
        for folder, group in by_folder.items():
            snapshot = self._tools.skills_in(folder) if folder else None
            if snapshot is None:
                counts.skipped[GONE] += len(group)
            names = {skill.name for skill in snapshot.usable} if snapshot else set()
            for one in group:
                self._tools.progress("routing prompts", done, total)
                sure = {} if snapshot is None else self._sure(one, snapshot, counts)
                _count(one, sure, names, counts)
                done += len(one.turns)

    def _sure(
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
                route = self._tools.route(turn.prompt, asked)
                counts.notes.update(dict.fromkeys(route.notes))
                found[turn.number] = tuple(self._of_route(route, session.harness))
            loaded |= {plain_name(name) for name in turn.used}
        return found

    def _of_route(self, route: Route, harness: str) -> Iterator[Sure]:
        if route.decision is not Decision.LOAD:
            return
        for match in route.matches:
            if match.score >= route.thresholds.load and match.skill.invocation.model:
                yield Sure(
                    skill=match.skill.name,
                    score=match.score,
                    why=match.reasons[0] if match.reasons else "",
                    description=_shown_description(match.skill),
                    in_folders=self._tools.in_folders(match.skill.source.root, harness),
                )


def _summed(
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
        skills=tuple(sorted(counts.skills.values(), key=_worth)),
        missed=tuple(sorted(counts.missed, key=lambda one: (_ORDER[one.kind], -one.turn.at_ms))),
        skipped=dict(counts.skipped),
        problems=problems,
        notes=tuple(counts.notes),
    )


def _shown_description(skill: Skill) -> str:
    return f"{skill.description} {skill.when_to_use}".strip()


def _count(
    session: Session,
    sure: Mapping[int, Sequence[Sure]],
    names: Iterable[str],
    counts: _Counts,
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


def _worth(one: SkillNumbers) -> tuple[int, int, int, str]:
    """Put first what somebody should look at."""
    return (-one.missed, -one.used, -one.routed, one.name)


def _newest_of_each(sessions: Sequence[Session]) -> list[Session]:
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
