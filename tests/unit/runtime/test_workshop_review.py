"""A model looks at turns when it is time, and whatever it does the turn goes on."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.errors import ConfigError, EncoderError, ModelError, StoreError
from prowess.runtime.workshop.ports import Counters
from prowess.runtime.workshop.review import (
    MOST_RETRIES,
    ObservedTurn,
    ReviewPorts,
    TurnReviewer,
    TurnReviewOutcome,
    TurnReviewStatus,
)
from prowess.settings import ReviewMode, WorkshopSettings
from prowess.workshop.edit import Append

NOTHING = '{"action": "none"}'
SOMETHING = '{"action": "append", "skillName": "notes", "body": "- Sort by date."}'
KEY = "sk-ant-api03-abcdefghijklmnop1234"
IDLE = TurnReviewOutcome()
SETTINGS = WorkshopSettings(
    selected=True, review_interval=3, review_min_tool_calls=5, review_timeout_ms=20_000
)
LLM = WorkshopSettings(
    selected=True, review_mode=ReviewMode.LLM, review_interval=3, review_min_tool_calls=5
)


class Model:
    """Says what it is told to, again and again at the end, and remembers what it was asked."""

    def __init__(self, *replies: str | Exception) -> None:
        self._replies = list(replies)
        self.asked: list[tuple[str, str, float]] = []

    def ask(self, instructions: str, question: str, seconds: float) -> str:
        self.asked.append((instructions, question, seconds))
        said = self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]
        if isinstance(said, Exception):
            raise said
        return said


class Stuck:
    """Answers once it is let go."""

    def __init__(self) -> None:
        self.asked, self.go = threading.Event(), threading.Event()
        self.times = 0

    def ask(self, _instructions: str, _question: str, _seconds: float) -> str:
        self.times += 1
        self.asked.set()
        self.go.wait(100)
        return NOTHING


class Kept:
    """Counters in memory, by workspace; writing fails where somebody wants it to."""

    def __init__(self) -> None:
        self.counters: dict[str, Counters] = {}
        self.failing = False

    def load(self, workspace: str) -> Counters:
        return self.counters.get(workspace, Counters())

    def save(self, workspace: str, counters: Counters) -> None:
        if self.failing:
            raise StoreError("/state/db", "the disk is full.")
        self.counters[workspace] = counters


def nearest(_text: str, _limit: int) -> Sequence[tuple[str, str]]:
    return [("notes", "# Notes\n")]


class Scene:
    """One workspace that is watched."""

    def __init__(
        self,
        model: Model | Stuck,
        settings: WorkshopSettings = SETTINGS,
        find: Callable[[str, int], Sequence[tuple[str, str]]] = nearest,
    ) -> None:
        self.kept, self.settings = Kept(), settings
        self.nonces: Iterator[str] = (f"nonce{number:020d}" for number in count())
        tools = ReviewPorts(
            settings=lambda: self.settings,
            counters=self.kept,
            reviewer=model,
            nearest=find,
            now=lambda: 77.0,
            nonce=lambda: next(self.nonces),
        )
        self.reviewer = TurnReviewer(tools, "/work")

    @property
    def counters(self) -> Counters:
        return self.kept.load("/work")

    def turn(self, calls: int = 0, *, hit: bool = False, text: str = "Sort.") -> TurnReviewOutcome:
        turn = ObservedTurn(lines=[("user", text)], tool_calls=calls)
        return self.reviewer.observe(turn, hit=hit)


# When


def test_the_model_is_asked_after_so_many_turns() -> None:
    model = Model(NOTHING)
    scene = Scene(model)

    outcomes = [scene.turn() for _ in range(7)]

    nothing = TurnReviewOutcome(status=TurnReviewStatus.NOTHING, note="reviewer found no update")
    assert outcomes == [IDLE, IDLE, nothing, IDLE, IDLE, nothing, IDLE]
    assert len(model.asked) == 2
    assert nothing.log_line == "skill-workshop: reviewer found no update"
    assert IDLE.log_line == ""


def test_the_model_is_asked_after_so_many_tool_calls() -> None:
    scene = Scene(Model(NOTHING))

    statuses = [scene.turn(calls).status for calls in (4, 1, 4, 0, 5)]

    idle, nothing = TurnReviewStatus.IDLE, TurnReviewStatus.NOTHING
    assert statuses == [idle, nothing, idle, idle, nothing]
    assert scene.counters == Counters(last_review_at=77.0)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [(LLM, TurnReviewStatus.NOTHING), (SETTINGS, TurnReviewStatus.IDLE)],
    ids=["llm", "hybrid"],
)
def test_a_correction_is_enough_where_no_phrases_are_looked_for(
    settings: WorkshopSettings, expected: TurnReviewStatus
) -> None:
    assert Scene(Model(NOTHING), settings).turn(hit=True).status is expected


@each_row(
    "settings",
    [
        WorkshopSettings(),
        WorkshopSettings(selected=True, enabled=False),
        WorkshopSettings(selected=True, auto_capture=False),
        WorkshopSettings(selected=True, review_mode=ReviewMode.OFF),
        WorkshopSettings(selected=True, review_mode=ReviewMode.HEURISTIC),
    ],
)
def test_where_no_model_is_wanted_nothing_is_counted(settings: WorkshopSettings) -> None:
    model = Model(NOTHING)
    scene = Scene(model, settings)

    assert scene.turn(500, hit=True) == IDLE
    assert scene.kept.counters == {}
    assert model.asked == []


@pytest.mark.parametrize(
    "turn",
    [
        ObservedTurn(lines=[], tool_calls=99, ok=False),
        ObservedTurn(lines=[], tool_calls=99, session_id="skill-workshop-review-1"),
    ],
    ids=["failed", "a review"],
)
def test_failed_turns_and_reviews_themselves_do_not_count(turn: ObservedTurn) -> None:
    scene = Scene(Model(NOTHING))

    assert scene.reviewer.observe(turn, hit=True) == IDLE
    assert scene.kept.counters == {}


def test_a_change_of_the_settings_holds_from_the_next_turn() -> None:
    scene = Scene(Model(NOTHING), WorkshopSettings(selected=True))
    before = scene.turn(2)

    scene.settings = WorkshopSettings(selected=True, review_interval=2)

    assert before == IDLE
    assert scene.turn().status is TurnReviewStatus.NOTHING


@given(st.lists(st.integers(min_value=-2, max_value=6), max_size=30))
def test_no_turn_is_lost_or_counted_twice(calls: list[int]) -> None:
    scene = Scene(Model(NOTHING))
    turns = tools = 0

    for number in calls:
        turns, tools = turns + 1, tools + max(number, 0)
        is_due = turns >= 3 or tools >= 5
        assert (scene.turn(number).status is TurnReviewStatus.NOTHING) == is_due
        if is_due:
            turns = tools = 0
        assert (scene.counters.turns, scene.counters.tool_calls) == (turns, tools)


# What is asked


def test_the_model_sees_the_conversation_and_the_skills_nearest_to_it() -> None:
    looked_for: list[tuple[str, int]] = []

    def find(text: str, limit: int) -> Sequence[tuple[str, str]]:
        looked_for.append((text, limit))
        return [("zebra", "# Zebra"), ("ant", "# Ant")]

    model = Model(NOTHING)
    lines = [("system", "You are a bot."), ("user", f"Sort with {KEY}"), ("assistant", "Done.")]

    Scene(model, LLM, find).reviewer.observe(ObservedTurn(lines=lines), hit=True)

    ((told, asked, seconds),) = model.asked
    assert looked_for == [("Sort with sk-a****", 12)]
    assert "user: Sort with sk-a****\nassistant: Done.\n" in asked
    assert asked.index("# Zebra") < asked.index("# Ant")
    assert "You are a bot" not in asked
    assert "nonce00000000000000000000" in told
    assert "nonce00000000000000000000" in asked
    assert 40 <= seconds < 45


def test_each_question_has_a_fence_of_its_own() -> None:
    model = Model(NOTHING)
    scene = Scene(model, LLM)

    for _ in range(2):
        scene.turn(hit=True)

    assert "nonce00000000000000000001" not in model.asked[0][1]
    assert "nonce00000000000000000001" in model.asked[1][1]


def test_a_conversation_and_a_workspace_without_text_are_said_to_be_empty() -> None:
    model = Model(NOTHING)

    Scene(model, LLM, lambda _text, _limit: []).turn(hit=True, text="")

    assert "(no text transcript)" in model.asked[0][1]
    assert "(none)" in model.asked[0][1]


# What comes of it


def test_what_the_model_suggests_is_handed_on() -> None:
    scene = Scene(Model(SOMETHING))

    outcome = scene.turn(5)

    assert outcome.status is TurnReviewStatus.FOUND
    assert outcome.note == outcome.log_line == ""
    assert outcome.suggestion is not None
    assert outcome.suggestion.skill == "notes"
    assert isinstance(outcome.suggestion.edit, Append)
    assert scene.counters == Counters(last_review_at=77.0)


FAILURES = [
    (ModelError("m", "is asleep."), "m: is asleep."),
    (ModelError("m", f"says {KEY}."), "m: says sk-a****."),
    ("I think so.", "the reply holds no JSON object"),
    ("", "the reply is empty"),
    (RuntimeError(KEY), "it failed (RuntimeError)"),
]


@each_row(("said", "why"), FAILURES)
def test_a_review_that_fails_is_said_and_keeps_what_was_counted(
    said: str | Exception, why: str
) -> None:
    scene = Scene(Model(said))

    outcome = scene.turn(6)

    assert outcome == TurnReviewOutcome(
        status=TurnReviewStatus.FAILED, note=f"reviewer skipped: {why}"
    )
    assert outcome.log_line == f"skill-workshop: reviewer skipped: {why}"
    assert scene.counters == Counters(turns=1, tool_calls=6, failures=1)


def test_a_review_that_failed_is_made_up_for_at_the_next_turn() -> None:
    model = Model(ModelError("m", "is asleep."), SOMETHING)
    scene = Scene(model)

    first, failed_turn = scene.turn(5), ObservedTurn(lines=[], ok=False)
    between = scene.reviewer.observe(failed_turn)
    second = scene.turn()

    assert (first.status, between) == (TurnReviewStatus.FAILED, IDLE)
    assert second.status is TurnReviewStatus.FOUND
    assert scene.counters == Counters(last_review_at=77.0)


def test_a_correction_that_nobody_heard_is_not_forgotten() -> None:
    scene = Scene(Model("Hm.", SOMETHING), LLM)

    first, second = scene.turn(hit=True), scene.turn()

    assert first.status is TurnReviewStatus.FAILED
    assert second.status is TurnReviewStatus.FOUND


def test_after_three_retries_counting_begins_anew_and_that_is_said() -> None:
    model = Model(NOTHING, "Hm.")
    scene = Scene(model)
    scene.turn(5)

    outcomes = [scene.turn(5), *(scene.turn() for _ in range(MOST_RETRIES)), scene.turn()]

    failed, given_up = TurnReviewStatus.FAILED, TurnReviewStatus.GIVEN_UP
    assert [one.status for one in outcomes] == [failed] * 3 + [given_up, TurnReviewStatus.IDLE]
    assert outcomes[3].log_line == (
        "skill-workshop: reviewer skipped: the reply holds no JSON object"
        " (given up after 4 times in a row; counting begins anew)"
    )
    assert scene.counters == Counters(turns=1, last_review_at=77.0)
    assert len(model.asked) == 1 + 1 + MOST_RETRIES


def test_only_failures_in_a_row_count() -> None:
    scene = Scene(Model("Hm.", "Hm.", NOTHING, "Hm.", "Hm.", "Hm.", NOTHING), LLM)

    statuses = [scene.turn(hit=True).status for _ in range(7)]

    assert TurnReviewStatus.GIVEN_UP not in statuses


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (EncoderError("bundled", "cannot be loaded."), "bundled: cannot be loaded."),
        (KeyError(KEY), "it failed (KeyError)"),
    ],
)
def test_without_the_nearest_skills_there_is_no_review(error: Exception, why: str) -> None:
    def find(_text: str, _limit: int) -> Sequence[tuple[str, str]]:
        raise error

    model = Model(NOTHING)
    outcome = Scene(model, find=find).turn(5)

    assert outcome.note == f"reviewer skipped: {why}"
    assert model.asked == []


def test_settings_that_cannot_be_read_do_not_reach_the_turn() -> None:
    def broken() -> WorkshopSettings:
        raise ConfigError("/etc/x", "is not JSON5.")

    tools = ReviewPorts(
        settings=broken,
        counters=Kept(),
        reviewer=Model(NOTHING),
        nearest=nearest,
        now=time.time,
        nonce=lambda: "n" * 32,
    )

    outcome = TurnReviewer(tools, "/work").observe(ObservedTurn(lines=[]))

    assert outcome.note == "reviewer skipped: /etc/x: is not JSON5."


def test_a_suggestion_is_not_lost_when_the_counters_cannot_be_kept() -> None:
    scene = Scene(Model(SOMETHING), find=lambda _text, _limit: fail_from_now())

    def fail_from_now() -> Sequence[tuple[str, str]]:
        scene.kept.failing = True
        return []

    outcome = scene.turn(5)

    assert outcome.suggestion is not None
    assert "counters are not kept: /state/db: the disk is full." in outcome.note


# Time


def test_a_model_that_hangs_does_not_hold_the_turn() -> None:
    stuck = Stuck()
    scene = Scene(stuck, WorkshopSettings(selected=True, review_timeout_ms=100))
    begun = time.monotonic()

    first, second = scene.turn(8), scene.turn(8)
    took = time.monotonic() - begun
    assert stuck.asked.wait(60)
    stuck.go.set()

    assert took < 60
    assert first.note == "reviewer skipped: no answer within 0.1 s (reviewTimeoutMs)"
    assert second.note == "reviewer skipped: the last question is still unanswered"
    assert stuck.times == 1
    assert scene.counters == Counters(turns=2, tool_calls=16, failures=1)


def test_one_review_runs_at_a_time_and_what_happens_meanwhile_is_counted() -> None:
    stuck = Stuck()
    scene = Scene(stuck)
    outcomes: list[TurnReviewOutcome] = []
    first = threading.Thread(target=lambda: outcomes.append(scene.turn(5)))
    first.start()
    assert stuck.asked.wait(60)

    meanwhile = scene.turn(2)
    stuck.go.set()
    first.join()

    assert meanwhile.note == "reviewer skipped: another review is running"
    assert outcomes[0].status is TurnReviewStatus.NOTHING
    assert scene.counters == Counters(turns=1, tool_calls=2, last_review_at=77.0)
    assert stuck.times == 1


def test_turns_that_end_together_are_all_counted() -> None:
    scene = Scene(Model(NOTHING), WorkshopSettings(selected=True, review_interval=200))
    threads = [threading.Thread(target=scene.turn) for _ in range(40)]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert scene.counters.turns == 40
