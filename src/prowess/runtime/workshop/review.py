"""When a language model looks at recent turns, and what becomes of its answer.

A turn must never fail, nor wait without end, because of what watches it: trouble with the model is
an outcome, and the time that is allowed holds even where a provider hangs. Counters begin anew only
after a review that came to a readable end, so that trouble that passes costs no review.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from threading import Lock, Thread
from typing import Protocol

from prowess.errors import ProwessError
from prowess.runtime.workshop.ports import (
    REVIEW_SESSION_PREFIX,
    Counters,
    CounterStore,
    Note,
    NoteStore,
)
from prowess.settings import ReviewMode, WorkshopSettings
from prowess.spans import contain
from prowess.workshop.review import (
    MOST_SKILLS,
    NoUpdate,
    Reading,
    Suggestion,
    Unreadable,
    excerpts,
    instructions,
    question,
    read_reply,
    topic,
    transcript,
    without_secrets,
)

MOST_RETRIES = 3

_BY_MODEL = frozenset((ReviewMode.LLM, ReviewMode.HYBRID))
# So much earlier than we stop waiting, a provider should give up and clear away by itself.
_SPARE_S = 2.0
# What an agent was told by its makers is not what was said in the conversation.
_UNHEARD = frozenset(("system", "developer"))


class ReviewModel(Protocol):
    """A language model without tools."""

    def ask(self, instructions: str, question: str, seconds: float) -> str:
        """Return the model's answer, within so many seconds.

        Raises:
            ModelError: it does not answer.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedTurn:
    """A turn that ended: who said what, how many tools it called, and whether it went well."""

    # Role and text, oldest first; the conversation up to here, as far as it is known.
    lines: Sequence[tuple[str, str]]
    # Of this turn alone.
    tool_calls: int = 0
    ok: bool = True
    session_id: str = ""


class TurnReviewStatus(StrEnum):
    """What became of a look at a turn."""

    # Not wanted, or not yet.
    IDLE = "idle"
    FOUND = "found"
    NOTHING = "nothing"
    FAILED = "failed"
    # Failed too often in a row: the next review comes when it would come anyway.
    GIVEN_UP = "given-up"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnReviewOutcome:
    """What came of a turn: a suggestion, or a note on why there is none."""

    status: TurnReviewStatus = TurnReviewStatus.IDLE
    suggestion: Suggestion | None = None
    note: str = ""

    @property
    def log_line(self) -> str:
        """The note as a line for the log; empty where there is nothing to say."""
        return f"skill-workshop: {self.note}" if self.note else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewPorts:
    """The world, as a review sees it."""

    # Asked each time, so that a change in the file holds from the next turn.
    settings: Callable[[], WorkshopSettings]
    counters: CounterStore
    reviewer: ReviewModel
    # From a text and a number to the skills of the workspace nearest to it: names and texts.
    nearest: Callable[[str, int], Sequence[tuple[str, str]]]
    # Seconds since 1970.
    now: Callable[[], float]
    # Letters and digits that nobody can guess, new ones each time.
    nonce: Callable[[], str]


class TurnReviewer:
    """Watches the turns of one workspace; threads may share it."""

    def __init__(self, ports: ReviewPorts, workspace: str) -> None:
        self._ports, self._workspace = ports, workspace
        self._counting, self._reviewing = Lock(), Lock()
        # The last question, which may still wait for its answer after we gave it up.
        self._asked: Thread | None = None

    def observe(self, turn: ObservedTurn, *, hit: bool = False) -> TurnReviewOutcome:
        """Count a turn and review when it is time; never raises, and may take as long as allowed.

        Args:
            turn: what happened.
            hit: whether the user's words sound like a correction.
        """
        try:
            return self._observe(turn, hit=hit)
        except (ProwessError, OSError) as error:
            return _skip(_words(error))

    def _observe(self, turn: ObservedTurn, *, hit: bool) -> TurnReviewOutcome:
        settings = self._ports.settings()
        if not _watches(settings, turn):
            return TurnReviewOutcome()
        seen = self._count(turn)
        if not _is_due(seen, settings, hit=hit):
            return TurnReviewOutcome()
        if not self._reviewing.acquire(blocking=False):
            return _skip("another review is running")
        try:
            if self._asked is not None and self._asked.is_alive():
                return _skip("the last question is still unanswered")
            reading = self._review_within(settings.review_timeout_ms / 1000, turn)
            return self._conclude(reading, seen)
        finally:
            self._reviewing.release()

    def _count(self, turn: ObservedTurn) -> Counters:
        with self._counting:
            before = self._ports.counters.load(self._workspace)
            counters = replace(
                before,
                turns=before.turns + 1,
                tool_calls=before.tool_calls + max(turn.tool_calls, 0),
            )
            self._ports.counters.save(self._workspace, counters)
            return counters

    def _review_within(self, seconds: float, turn: ObservedTurn) -> Reading:
        """Review in a thread of its own, and wait so long and no longer."""
        readings: list[Reading] = []

        def work() -> None:
            # Ports reach libraries and networks, and from this thread nobody else would hear of it.
            with contain(lambda error: readings.append(Unreadable(_words(error)))):
                readings.append(self._review(turn, max(seconds - _SPARE_S, seconds / 2)))

        # It must not keep the program from ending.
        self._asked = Thread(target=work, name="prowess-review", daemon=True)
        self._asked.start()
        self._asked.join(seconds)
        if readings:
            return readings[0]
        return Unreadable(f"no answer within {seconds:g} s (reviewTimeoutMs)")

    def _review(self, turn: ObservedTurn, seconds: float) -> Reading:
        lines = [(role, text) for role, text in turn.lines if role not in _UNHEARD]
        skills = self._ports.nearest(topic(lines), MOST_SKILLS)
        fence = self._ports.nonce()
        asked = question(transcript(lines), excerpts(skills), fence)
        return read_reply(self._ports.reviewer.ask(instructions(fence), asked, seconds))

    def _conclude(self, reading: Reading, seen: Counters) -> TurnReviewOutcome:
        if isinstance(reading, Unreadable):
            return self._fail(reading.reason)
        found = reading if isinstance(reading, Suggestion) else None
        problem = self._begin_anew(seen)
        note = "reviewer found no update" if isinstance(reading, NoUpdate) else ""
        return TurnReviewOutcome(
            status=TurnReviewStatus.FOUND if found else TurnReviewStatus.NOTHING,
            suggestion=found,
            note="; ".join(part for part in (note, problem) if part),
        )

    def _begin_anew(self, seen: Counters) -> str:
        """Take away what was reviewed; what was counted meanwhile stays. Return a problem."""
        try:
            with self._counting:
                now = self._ports.counters.load(self._workspace)
                left = Counters(
                    turns=max(now.turns - seen.turns, 0),
                    tool_calls=max(now.tool_calls - seen.tool_calls, 0),
                    last_review_at=self._ports.now(),
                )
                self._ports.counters.save(self._workspace, left)
        except ProwessError as error:
            # What the model said was paid for and is not thrown away for this.
            return f"reviewer's counters are not kept: {_words(error)}"
        return ""

    def _fail(self, reason: str) -> TurnReviewOutcome:
        with self._counting:
            now = self._ports.counters.load(self._workspace)
            failures = now.failures + 1
            is_last = failures > MOST_RETRIES
            left = (
                Counters(last_review_at=now.last_review_at)
                if is_last
                else replace(now, failures=failures)
            )
            self._ports.counters.save(self._workspace, left)
        if not is_last:
            return _skip(reason)
        note = f"{reason} (given up after {failures} times in a row; counting begins anew)"
        return replace(_skip(note), status=TurnReviewStatus.GIVEN_UP)


class Reviews:
    """The reviewers of all workspaces, and what was said last in each."""

    def __init__(
        self, ports: Callable[[str], ReviewPorts], notes: NoteStore, workspace: Callable[[str], str]
    ) -> None:
        # From an agent to what its reviews need, and to the folder in which it works.
        self._ports, self._notes, self._workspace = ports, notes, workspace
        self._reviewers: dict[tuple[str, str], TurnReviewer] = {}

    def observe(self, agent_id: str, turn: ObservedTurn, *, hit: bool) -> TurnReviewOutcome:
        """Count a turn, and review where it is time; never raises."""
        key = (self._workspace(agent_id), agent_id)
        if key not in self._reviewers:
            self._reviewers[key] = TurnReviewer(self._ports(agent_id), key[0])
        outcome = self._reviewers[key].observe(turn, hit=hit)
        if outcome.note:
            self.keep(agent_id, "reviewer", outcome.note)
        return outcome

    def keep(self, agent_id: str, speaker: str, text: str) -> None:
        """Remember what was said about a turn from which nothing came."""
        note = Note(at=self._ports(agent_id).now(), text=without_secrets(text))
        self._notes.keep(self._workspace(agent_id), speaker, note)

    def counters(self, agent_id: str) -> Counters:
        """Return how far the agent's workspace is from its next review."""
        return self._ports(agent_id).counters.load(self._workspace(agent_id))

    def notes(self, agent_id: str) -> Mapping[str, Note]:
        """Return what was said last about turns from which nothing came."""
        return self._notes.notes(self._workspace(agent_id))


def reviews_turns(settings: WorkshopSettings) -> bool:
    """Return whether a model is to look at turns."""
    return settings.active and settings.auto_capture and settings.review_mode in _BY_MODEL


def _watches(settings: WorkshopSettings, turn: ObservedTurn) -> bool:
    return (
        reviews_turns(settings)
        and turn.ok
        and not turn.session_id.startswith(REVIEW_SESSION_PREFIX)
    )


def _is_due(seen: Counters, settings: WorkshopSettings, *, hit: bool) -> bool:
    return (
        seen.turns >= settings.review_interval
        or seen.tool_calls >= settings.review_min_tool_calls
        # With phrases switched off, the model is the only one to hear a correction.
        or (hit and settings.review_mode is ReviewMode.LLM)
        # A review that failed is owed, whatever it was that asked for it.
        or seen.failures > 0
    )


def _skip(why: str) -> TurnReviewOutcome:
    return TurnReviewOutcome(status=TurnReviewStatus.FAILED, note=f"reviewer skipped: {why}")


def _words(error: Exception) -> str:
    """Say what went wrong; the words of others may repeat a key, so only ours are repeated."""
    if isinstance(error, ProwessError):
        return without_secrets(str(error))
    return f"it failed ({type(error).__name__})"
