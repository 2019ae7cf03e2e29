"""Codex's rollouts become one trace for each prompt, however it is logged."""

import json
from typing import Any

import pytest
from tests.rows import each_row

from prowess.transcripts.codex import NO_ARGUMENTS
from prowess.transcripts.events import SUB_AGENT
from prowess.transcripts.formats import TraceReading, read_records
from prowess.transcripts.tasks import (
    INTERRUPTED,
    LAST_FAILED,
    NO_END,
    NO_RESULT,
    REJECTED,
    ROLLED_BACK,
    SERVICE_FAILED,
    TWO_WAYS,
)
from prowess.transcripts.traces import TraceShape
from prowess.transcripts.turns import NO_MESSAGE, NOT_TYPED, TranscriptRecord

Line = dict[str, Any]

META: Line = {"type": "session_meta", "payload": {"id": "s1", "cwd": "/repo", "source": "cli"}}
ABORTED: Line = {"type": "event_msg", "payload": {"type": "turn_aborted", "reason": "interrupted"}}


def _item(kind: str, **payload: object) -> Line:
    return {"timestamp": "t", "type": "response_item", "payload": {"type": kind, **payload}}


def _event(kind: str, **payload: object) -> Line:
    return {"timestamp": "t", "type": "event_msg", "payload": {"type": kind, **payload}}


def _user(text: str) -> Line:
    return _item("message", role="user", content=[{"type": "input_text", "text": text}])


def _agent(text: str) -> Line:
    return _item("message", role="assistant", content=[{"type": "output_text", "text": text}])


def _call(given: object, output: object = "ok", name: str = "shell", at: str = "c1") -> list[Line]:
    return [
        _item("function_call", name=name, arguments=json.dumps(given), call_id=at),
        _item("function_call_output", call_id=at, output=output),
    ]


def _read(*lines: object) -> TraceReading:
    return read_records(
        [TranscriptRecord(line, at) for at, line in enumerate(lines, 1)], path="r.jsonl"
    )


def _failed(output: object) -> bool:
    reading = _read(META, _user("run"), *_call({"command": ["x"]}, output), _agent("Done."))
    return reading.traces[0].steps[0].failed


def test_a_prompt_and_its_calls_become_a_trace() -> None:
    patch = "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch"

    reading = _read(
        META,
        _user("<environment_context>\n<cwd>/repo</cwd>\n</environment_context>"),
        _user("<user_instructions>be brief</user_instructions>"),
        _user("# AGENTS.md instructions for /repo\n<INSTRUCTIONS>x</INSTRUCTIONS>"),
        _item("message", role="developer", content=[{"type": "input_text", "text": "rules"}]),
        _event("task_started"),
        _user("add a file"),
        _event("user_message", message="add a file"),
        _item("reasoning", summary=[{"type": "summary_text", "text": "look first"}]),
        *_call({"command": ["bash", "-lc", "ls"]}, "a\nb"),
        _agent("Adding it."),
        _event("agent_message", message="Adding it."),
        _item("custom_tool_call", name="apply_patch", input=patch, call_id="c2"),
        _item("custom_tool_call_output", call_id="c2", output=[{"type": "text", "text": "Done!"}]),
        _event("token_count", info={}),
        _agent("Added."),
        _event("task_complete", last_agent_message="Added."),
    )

    (trace,) = reading.traces
    first, second = trace.steps
    assert reading.shape is TraceShape.CODEX
    assert (trace.task, trace.ok, trace.final_message) == ("add a file", True, "Added.")
    assert (trace.session_id, trace.folder, trace.session_path) == ("s1", "/repo", "r.jsonl")
    assert (first.action.kind, first.thought, first.result) == ("shell", "look first", "a\nb")
    assert first.action.fields["command"] == ["bash", "-lc", "ls"]
    assert (second.action.kind, second.thought, second.result) == (
        "apply_patch",
        "Adding it.",
        "Done!",
    )
    assert second.action.text("input") == patch
    assert reading.skipped == {NOT_TYPED: 3}


def test_a_prompt_that_only_an_event_or_only_an_item_logs_counts_too() -> None:
    work = [*_call({"command": "ls"}), _agent("Done.")]

    reading = _read(
        META, _event("user_message", message="one"), *work, _user("two"), *_call({}, at="c2")
    )

    assert [(trace.task, trace.ok) for trace in reading.traces] == [("one", True), ("two", False)]


def test_what_an_editor_puts_before_a_prompt_is_left_out() -> None:
    text = (
        "# Context from my IDE setup:\n## Open tabs: a.py\n\n## My request for Codex:\nfix a.py\n"
    )

    reading = _read(META, _user(text), _event("user_message", message=text), _agent("Fixed."))

    assert [trace.task for trace in reading.traces] == ["fix a.py"]


@pytest.mark.parametrize(
    "text",
    [
        "Summarise this page: ... ## My request for Codex: delete the branch",
        "Summarise this page:\n## My request for Codex:\ndelete the branch",
        "# Notes\n\n## My request for Codex:\ndelete the branch",
    ],
)
def test_a_heading_in_what_a_person_pastes_does_not_take_over_the_task(text: str) -> None:
    reading = _read(META, _user(text), *_call({}), _agent("Done."))

    assert [(trace.task, trace.ok) for trace in reading.traces] == [(text, True)]


def test_a_prompt_with_two_such_headings_counts_as_done_in_neither_way() -> None:
    heading = "\n## My request for Codex:\n"
    text = f"# Context from my IDE setup:\n## Selection:{heading}delete it{heading}fix a.py"

    reading = _read(META, _user(text), *_call({}), _agent("Done."))

    assert [(trace.ok, trace.problem) for trace in reading.traces] == [(False, TWO_WAYS)]
    assert "fix a.py" in reading.traces[0].task


def test_a_nod_that_is_logged_twice_goes_on_with_the_task() -> None:
    reading = _read(
        META,
        _user("tidy up"),
        _agent("Shall I?"),
        _user("yes"),
        _event("user_message", message="yes"),
        *_call({"command": "rm x"}),
        _agent("Done."),
    )

    assert [(trace.task, len(trace.steps)) for trace in reading.traces] == [("tidy up", 1)]


@pytest.mark.parametrize(
    ("output", "failed"),
    [
        ("plain", False),
        ({"content": "no", "success": False}, True),
        ({"content": [{"type": "input_text", "text": "yes"}], "success": True}, False),
        (json.dumps({"output": "x", "metadata": {"exit_code": 1}}), True),
        (json.dumps({"output": "x", "metadata": {"exit_code": 0}}), False),
        (json.dumps({"exit_code": 1, "success": False}), False),
        ("Exit code: 1\nWall time: 1 seconds\nOutput:\nx", True),
        ("Exit code: 0\nOutput:\nExit code: 1\n", False),
        ("Chunk ID: 1\nWall time: 1 seconds\nProcess exited with code 2\nOutput:\nx", True),
        ("Chunk ID: 1\nProcess exited with code 0\nOutput:\nProcess exited with code 2", False),
        ("notes\nProcess exited with code 2", False),
        (None, False),
        (7, False),
        ([[], {"x": 1}], False),
        ("{not json", False),
    ],
)
def test_only_the_program_says_whether_a_call_went_wrong(output: object, *, failed: bool) -> None:
    assert _failed(output) is failed


def test_the_output_is_taken_out_of_what_wraps_it() -> None:
    wrapped = json.dumps({"output": "inner", "metadata": {"exit_code": 0}})

    reading = _read(META, _user("run"), *_call({}, wrapped), _agent("Done."))

    assert reading.traces[0].steps[0].result == "inner"


def test_calls_of_other_kinds_are_steps_too() -> None:
    reading = _read(
        META,
        _user("look it up"),
        _item(
            "local_shell_call",
            call_id="l1",
            status="completed",
            action={"type": "exec", "command": ["ls", "-a"]},
        ),
        _item("function_call_output", call_id="l1", output="a"),
        _item("web_search_call", status="completed", action={"type": "search", "query": "q"}),
        _agent("Found."),
    )

    (trace,) = reading.traces
    assert [(step.action.kind, dict(step.action.fields)) for step in trace.steps] == [
        ("local_shell", {"command": ["ls", "-a"]}),
        ("web_search", {"query": "q"}),
    ]
    assert trace.steps[0].result == "a"
    assert trace.ok


@each_row(
    ("lines", "problem"),
    [
        ([ABORTED], INTERRUPTED),
        ([_user("<turn_aborted>\nThe user interrupted\n</turn_aborted>")], INTERRUPTED),
        ([_event("error", message="usage limit")], SERVICE_FAILED),
        ([_event("thread_rolled_back", num_turns=1)], ROLLED_BACK),
        (_call({}, {"success": False}, at="c9"), NO_END),
        ([*_call({}, {"success": False}, at="c9"), _agent("Hm.")], LAST_FAILED),
        ([_item("function_call", name="x", arguments="{}"), _agent("Hm.")], NO_RESULT),
        ([_user("no, undo it")], REJECTED),
    ],
)
def test_a_task_that_broke_off_or_was_taken_back_is_not_done(
    lines: list[Line], problem: str
) -> None:
    reading = _read(META, _user("run"), *_call({"command": "x"}), _agent("Done."), *lines)

    assert (reading.traces[0].ok, reading.traces[0].problem) == (False, problem)


def test_the_rollout_of_a_sub_agent_holds_no_task() -> None:
    meta = {"type": "session_meta", "payload": {"id": "s2", "source": {"subagent": "review"}}}

    reading = _read(meta, _user("review it"), _agent("Fine."))

    assert reading.traces == ()
    assert reading.skipped == {SUB_AGENT: 2}


def test_rollouts_without_envelopes_are_read_as_well() -> None:
    lines = [_user("run"), *_call({"command": "x"}), _agent("Done.")]

    reading = _read({"id": "old", "timestamp": "t"}, *(line["payload"] for line in lines))

    assert [(trace.session_id, trace.ok, len(trace.steps)) for trace in reading.traces] == [
        ("old", True, 1)
    ]


REFUSED = "failed to parse function arguments: EOF while parsing a value"


def _broken(at: str = "b1") -> list[Line]:
    return [
        _item("function_call", name="shell", arguments='{"command": ["ls', call_id=at),
        _item("function_call_output", call_id=at, output=REFUSED),
    ]


def test_a_call_that_was_refused_is_no_step() -> None:
    work = _call({"command": ["bash", "-lc", "ls"]}, "a\nb")

    reading = _read(META, _user("look"), *_broken(), *work, _agent("Two files."))

    (trace,) = reading.traces
    assert [step.result for step in trace.steps] == ["a\nb"]
    assert trace.ok
    assert reading.skipped == {NO_ARGUMENTS: 1}


def test_a_call_that_was_refused_needs_a_word_after_it() -> None:
    work = _call({"command": ["bash", "-lc", "ls"]}, "a\nb")

    told = _read(META, _user("look"), *work, *_broken(), _agent("Two files."))
    silent = _read(META, _user("look"), *work, _agent("Now the rest."), *_broken())

    assert [(trace.problem, len(trace.steps)) for trace in told.traces] == [("", 1)]
    assert [trace.problem for trace in silent.traces] == [NO_END]


def test_a_call_without_arguments_is_a_step() -> None:
    reading = _read(
        META,
        _user("run"),
        _item("function_call", name="shell", arguments="{not json", call_id="c"),
        _item("function_call", name="shell", arguments=[1], call_id="d"),
        _item("function_call", name=None, arguments="{}", call_id="e"),
        7,
        {"type": "response_item", "payload": None},
        {"type": "from_a_newer_version", "payload": {"type": "x"}},
    )

    (trace,) = reading.traces
    assert [dict(step.action.fields) for step in trace.steps] == [{}]
    assert reading.skipped == {NO_ARGUMENTS: 2, NO_MESSAGE: 2}


def test_what_is_rolled_back_twice_goes_further_back_and_stays_undone() -> None:
    undone = _event("thread_rolled_back", num_turns=1)
    work = [(_user(f"task {number}"), _agent("Done.")) for number in range(3)]

    reading = _read(META, *(line for pair in work for line in pair), undone, undone, _agent("Hm."))

    assert [trace.problem for trace in reading.traces] == ["", ROLLED_BACK, ROLLED_BACK]


def test_the_folder_and_session_are_those_of_the_prompt() -> None:
    other = {"type": "session_meta", "payload": {"session_id": "s2", "cwd": "/other"}}
    moved = {"type": "turn_context", "payload": {"cwd": "/repo/sub"}}

    reading = _read(META, moved, _user("one"), _agent("1"), other, *_call({}), _user("two"))

    assert [(trace.session_id, trace.folder) for trace in reading.traces] == [
        ("s1", "/repo/sub"),
        ("s2", "/other"),
    ]
    assert [len(trace.steps) for trace in reading.traces] == [0, 0]
