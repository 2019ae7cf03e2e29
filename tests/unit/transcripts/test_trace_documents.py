"""Traces that are written as such: whole documents, lists of them, and a line for each step."""

from collections.abc import Mapping

import pytest
from tests.rows import each_row

from prowess.transcripts.formats import TraceReading, read_records
from prowess.transcripts.tasks import (
    ADMITTED,
    AFTER_END,
    ALL_FAILED,
    BEFORE_ANY,
    MARKED,
    NO_TASK,
    NO_TRACE,
    NO_TRUTH,
    NOT_JUDGED,
    NOTHING_SAID,
    read_documents,
)
from prowess.transcripts.traces import (
    MOST_BATCH,
    MOST_FIELD,
    MOST_STEPS,
    MOST_TASK,
    MOST_WORDS,
    NO_ACTION,
    NO_NUMBER,
    NO_STEPS,
    TOO_MANY_ACTIONS,
    TOO_MANY_FIELDS,
    TOO_MANY_TASKS,
    TOO_MUCH,
    TOO_NESTED,
    LeftOutCounts,
    TraceShape,
    export_trace,
)
from prowess.transcripts.turns import TranscriptRecord

STEP = {
    "step": 1,
    "action": {"type": "tap_element", "elementId": "7"},
    "result": "Tapped.",
    "thought": "the button",
    "app": "com.mail",
    "uiContext": {"elementId": "7", "text": "Send", "resourceId": "id/send", "clickable": True},
}
DOCUMENT: dict[str, object] = {
    "task": "Send the mail",
    "sessionPath": "sessions/1.jsonl",
    "ok": True,
    "finalMessage": "Sent.",
    "steps": [STEP],
}


def _read(*values: object) -> TraceReading:
    records = [TranscriptRecord(value, line) for line, value in enumerate(values, 1)]
    return read_records(records, path="given.jsonl")


def _without(name: str) -> dict[str, object]:
    return {key: value for key, value in DOCUMENT.items() if key != name}


def _kinds(reading: TraceReading) -> list[list[str]]:
    return [[step.action.kind for step in trace.steps] for trace in reading.traces]


def test_a_document_is_read_with_everything_it_says() -> None:
    reading = _read(DOCUMENT)

    (trace,) = reading.traces
    (step,) = trace.steps
    assert (trace.task, trace.ok, trace.final_message) == ("Send the mail", True, "Sent.")
    assert (trace.session_path, trace.shape) == ("sessions/1.jsonl", TraceShape.DOCUMENT)
    assert (step.number, step.result, step.thought, step.app) == (
        1,
        "Tapped.",
        "the button",
        "com.mail",
    )
    assert step.action.kind == "tap_element"
    assert dict(step.action.fields) == {"elementId": "7"}
    assert step.target is not None
    assert (step.target.text, step.target.resource_id, step.target.clickable) == (
        "Send",
        "id/send",
        True,
    )
    assert reading.skipped == {}


def test_the_names_of_openpocket_s_own_input_are_understood() -> None:
    step = {"step": 1, "action": {"type": "tap"}, "result": "", "currentApp": "launcher"}

    (trace,) = _read({**_without("steps"), "traces": [step]}).traces

    assert [step.app for step in trace.steps] == ["launcher"]


@pytest.mark.parametrize(
    "value",
    [[DOCUMENT, DOCUMENT], {"traces": [DOCUMENT, DOCUMENT]}, [{"traces": [DOCUMENT]}, [DOCUMENT]]],
)
def test_several_documents_may_stand_in_one_value(value: object) -> None:
    reading = read_records([TranscriptRecord(value)], path="x")

    assert [trace.task for trace in reading.traces] == ["Send the mail"] * 2


def test_a_trace_may_have_a_line_for_each_step() -> None:
    reading = _read(
        {"task": "first", "sessionPath": "s1"},
        STEP,
        {"step": 2, "action": {"type": "wait"}},
        {"ok": True, "finalMessage": "done"},
        {"task": "second"},
        {"action": {"type": "finish", "message": "all is well"}},
    )

    first, second = reading.traces
    assert _kinds(reading) == [["tap_element", "wait"], ["finish"]]
    assert (first.ok, first.final_message, first.session_path) == (True, "done", "s1")
    assert (second.ok, second.final_message) == (True, "all is well")
    assert second.session_path == "given.jsonl"
    assert {trace.shape for trace in reading.traces} == {reading.shape} == {TraceShape.LINES}


def test_the_line_that_ends_a_trace_may_name_its_task_again() -> None:
    reading = _read({"task": "a"}, STEP, {"task": "a", "ok": True})

    assert [(trace.ok, len(trace.steps)) for trace in reading.traces] == [(True, 1)]


def test_a_later_line_does_not_overrule_that_a_task_failed() -> None:
    reading = _read({"task": "a"}, STEP, {"ok": False}, {"ok": True}, STEP)

    assert [(trace.ok, len(trace.steps)) for trace in reading.traces] == [(False, 1)]
    assert reading.skipped == {AFTER_END: 1}


def test_lines_that_belong_to_no_task_are_counted() -> None:
    reading = _read(STEP, {"ok": True}, {"task": "a"}, {"action": "tap"}, 7, {"else": 1})

    assert len(reading.traces) == 1
    assert reading.skipped == {BEFORE_ANY: 1, NO_TRACE: 3, NO_ACTION: 1}


@each_row("said", ["true", "false", 0, 1, "no", None, [], {"ok": True}])
def test_only_true_itself_says_that_a_task_is_done(said: object) -> None:
    reading = _read({**DOCUMENT, "ok": said})

    assert [(trace.ok, trace.problem) for trace in reading.traces] == [(False, MARKED)]
    assert reading.skipped == {NO_TRUTH: 1}


def test_where_nothing_is_said_the_agent_s_own_finish_counts() -> None:
    finish = {"action": {"type": "finish"}}

    silent = _read(_without("ok"))
    finished = _read({**_without("ok"), "steps": [STEP, finish]})
    failed = _read({**_without("ok"), "steps": [STEP, {**finish, "failed": True}]})

    assert [(trace.ok, trace.problem) for trace in silent.traces] == [(False, NOTHING_SAID)]
    assert [trace.ok for trace in finished.traces] == [True]
    assert [trace.ok for trace in failed.traces] == [False]


def test_a_task_of_which_every_step_failed_is_not_done_whatever_it_says() -> None:
    failed = {**STEP, "failed": True}

    every = _read({**DOCUMENT, "steps": [failed, failed]})
    last = _read({**DOCUMENT, "steps": [STEP, failed]})

    assert [(trace.ok, trace.problem) for trace in every.traces] == [(False, ALL_FAILED)]
    assert [trace.ok for trace in last.traces] == [True]


@pytest.mark.parametrize(
    ("steps", "problem"),
    [
        ([STEP, {"action": {"type": "finish", "message": "I failed, cannot do it"}}], ADMITTED),
        ([{**STEP, "failed": True}, {"action": {"type": "finish"}}], ALL_FAILED),
        ([STEP, {"action": {"type": "finish", "message": "Fixed the failing test."}}], ""),
    ],
)
def test_a_finish_that_admits_a_failure_finishes_nothing(steps: list[object], problem: str) -> None:
    document = {"task": "a", "steps": steps}

    assert [trace.problem for trace in _read(document).traces] == [problem]


def test_a_message_does_not_overrule_what_the_writer_of_a_document_says() -> None:
    reading = _read({**DOCUMENT, "finalMessage": "I could not find a nicer way."})

    assert [trace.ok for trace in reading.traces] == [True]


def _batch(*actions: object) -> dict[str, object]:
    return {"type": "batch_actions", "actions": list(actions)}


def _inner(action: dict[str, object]) -> tuple[list[object], Mapping[str, int]]:
    reading = _read({**DOCUMENT, "steps": [{"action": action}]})
    inner = reading.traces[0].steps[0].action.fields["actions"]
    assert isinstance(inner, list)
    return inner, reading.skipped


TAP: dict[str, object] = {"type": "tap", "x": 1, "y": 2}


def test_a_batch_stays_as_it_is_within_its_bounds() -> None:
    whole, skipped = _inner(_batch(*[TAP] * 99, _batch(_batch(TAP))))

    assert whole == [*[TAP] * 99, _batch(_batch(TAP))]
    assert skipped == {}


@pytest.mark.parametrize(
    ("action", "count"),
    [
        (_batch(*[TAP] * 5_000), MOST_BATCH + 1),
        (_batch(*[_batch(*[TAP] * 40)] * 40), MOST_BATCH + 1),
        (_batch(_batch(_batch(_batch(TAP, TAP)))), 2),
    ],
)
def test_a_batch_that_is_too_long_or_too_deep_becomes_one_short_row(
    action: dict[str, object], count: int
) -> None:
    row, skipped = _inner(action)

    assert row == [TAP] * count
    assert skipped == {TOO_MANY_ACTIONS: 1}


def test_an_action_has_only_so_many_fields() -> None:
    action = {"type": "a", "f": {f"k{number}": "x" for number in range(1_900)}}

    reading = _read({**DOCUMENT, "steps": [{"action": action}]})

    inner = reading.traces[0].steps[0].action.fields["f"]
    assert isinstance(inner, dict)
    assert len(inner) == 100
    assert reading.skipped == {TOO_MANY_FIELDS: 1}


def test_a_file_gives_only_so_much() -> None:
    left_out = LeftOutCounts()
    left_out.tasks_left, left_out.words_left = 3, 20
    finished = {"task": "a", "steps": [{"action": {"type": "finish", "message": "x" * 15}}]}
    records = [TranscriptRecord(finished, line) for line in range(1, 6)]

    traces = read_documents(records, path="x", left_out=left_out)

    assert [trace.problem for trace in traces] == [NOT_JUDGED] * 3
    assert left_out[TOO_MANY_TASKS] == 2


@each_row("task", ["", "  \n"])
def test_a_blank_task_is_one_whose_words_nobody_wrote_down(task: str) -> None:
    (trace,) = _read({**DOCUMENT, "task": task}).traces

    assert trace.task == ""
    assert _read({"task": task, "steps": []}).skipped[NO_TASK] == 1


@each_row("task", [None, 7, ["a"]])
def test_a_trace_without_a_task_is_left_out(task: object) -> None:
    reading = _read({**DOCUMENT, "task": task})

    assert reading.traces == ()
    assert reading.skipped[NO_TASK] == 1


def test_wrong_types_cost_only_what_they_stand_for() -> None:
    odd = {
        "step": "first",
        "action": {"type": "tap", "x": float("nan"), "y": 10**400, "z": float("inf")},
        "result": {"seen": [1, "two"]},
        "thought": 3,
        "app": ["x"],
        "uiContext": {"text": 5, "elementId": 12, "clickable": "yes"},
    }
    steps = [odd, {**STEP, "uiContext": "x"}, "x", {"action": {}}, {"action": {"type": " "}}]

    reading = _read({**DOCUMENT, "steps": steps, "finalMessage": 1, "cwd": {}})

    (trace,) = reading.traces
    first, second = trace.steps
    assert dict(first.action.fields) == {"x": None, "y": None, "z": None}
    assert (first.number, first.result) == (1, '{"seen": [1, "two"]}')
    assert first.target is not None
    assert (first.target.element_id, first.target.clickable) == ("12", None)
    assert second.target is None
    assert reading.skipped == {
        NO_NUMBER: 3,
        NO_ACTION: 3,
        "`step` is no number of a step": 1,
        "`thought` is no text": 1,
        "`app` is no text": 1,
        "`text` is no text": 1,
        "`uiContext` is no object": 1,
        "`finalMessage` is no text": 1,
        "`cwd` is no text": 1,
    }


def test_steps_that_are_no_list_are_counted() -> None:
    reading = _read({**DOCUMENT, "steps": "tap"})

    assert [trace.steps for trace in reading.traces] == [()]
    assert reading.skipped == {NO_STEPS: 1}


def test_every_text_is_cut_to_its_bound_and_that_is_noted() -> None:
    step = {
        "action": {"type": "write", "content": "c" * (MOST_FIELD + 1)},
        "result": "r" * 10_000_000,
    }

    reading = _read({**DOCUMENT, "task": "t" * 3_000, "steps": [step]})

    (trace,) = reading.traces
    assert len(trace.task) == MOST_TASK
    assert len(trace.steps[0].result) == MOST_WORDS
    assert len(trace.steps[0].action.text("content")) == MOST_FIELD
    assert reading.skipped == {
        f"text cut to {most} characters": 1 for most in (MOST_TASK, MOST_WORDS, MOST_FIELD)
    }


def test_an_action_is_copied_within_a_budget_for_all_its_parts() -> None:
    deep: object = "x"
    for _ in range(100):
        deep = [deep]
    action = {"type": "a", "deep": deep, "long": ["y" * 60_000] * 9, "many": list(range(5_000))}

    reading = _read({**DOCUMENT, "steps": [{"action": action}]})

    fields = reading.traces[0].steps[0].action.fields
    many, long = fields["many"], fields["long"]
    assert isinstance(many, list)
    assert len(many) < 2_000
    assert isinstance(long, list)
    assert sum(len(str(text)) for text in long) == 4 * MOST_FIELD
    assert (reading.skipped[TOO_NESTED], reading.skipped[TOO_MUCH]) == (1, 1)


def test_only_so_many_steps_are_read() -> None:
    reading = _read({**DOCUMENT, "steps": [{"action": {"type": "a"}}] * (MOST_STEPS + 3)})

    assert len(reading.traces[0].steps) == MOST_STEPS
    assert reading.skipped == {f"a step after {MOST_STEPS} others": 3}


def test_what_no_file_can_hold_is_taken_out_of_every_text() -> None:
    step = {"action": {"type": "t\0", "\0k": "\ud83d\0"}, "result": "a\0b\udfff"}

    (trace,) = _read({**DOCUMENT, "steps": [step]}).traces

    assert trace.steps[0].result == "ab\ufffd"
    assert trace.steps[0].action.kind == "t"
    assert dict(trace.steps[0].action.fields) == {"k": "\ufffd"}


def test_a_trace_that_was_written_down_again_is_the_same_trace() -> None:
    (trace,) = _read({**DOCUMENT, "sessionId": "s", "cwd": "/repo", "shape": "codex"}).traces

    (again,) = read_records([TranscriptRecord(export_trace(trace))], path="elsewhere").traces

    assert again == trace
    assert again.id == trace.id
