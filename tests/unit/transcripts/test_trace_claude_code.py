"""Claude Code's transcripts become one trace for each prompt of the newest branch."""

from typing import Any

import pytest
from tests.rows import each_row

from prowess.transcripts.claude_code import TWICE
from prowess.transcripts.events import SUB_AGENT
from prowess.transcripts.formats import TraceReading, read_records
from prowess.transcripts.tasks import (
    ADMITTED,
    CUT_OFF,
    INTERRUPTED,
    LAST_FAILED,
    NO_END,
    NO_PROMPT,
    NO_RESULT,
    REJECTED,
    SERVICE_FAILED,
)
from prowess.transcripts.traces import MOST_WORDS, Trace, TraceShape
from prowess.transcripts.turns import NO_MESSAGE, NOT_TYPED, TranscriptRecord

Line = dict[str, Any]


class Log:
    """A session that is written line by line, each answering the one before."""

    def __init__(self) -> None:
        self.lines: list[Line] = []

    def add(self, kind: str, message: object, **more: object) -> str:
        uuid = f"u{len(self.lines) + 1}"
        parent = self.lines[-1]["uuid"] if self.lines else None
        line = {
            "type": kind,
            "uuid": uuid,
            "parentUuid": parent,
            "sessionId": "6f",
            "cwd": "/repo",
            "isSidechain": False,
            "message": message,
        }
        self.lines.append(line | more)
        return uuid

    def user(self, content: object, **more: object) -> str:
        return self.add("user", {"role": "user", "content": content}, **more)

    def agent(self, *blocks: object, message: Line | None = None, **more: object) -> str:
        said = {"role": "assistant", "content": list(blocks), **(message or {})}
        return self.add("assistant", said, **more)

    def call(self, name: str, given: object, result: object = "ok", *, error: bool = False) -> None:
        call_id = f"t{len(self.lines)}"
        self.agent(_use(call_id, name, given))
        self.user([_result(call_id, result, error=error)], toolUseResult={})

    def read(self) -> TraceReading:
        return _read(self.lines)


def _read(lines: list[Line]) -> TraceReading:
    records = [TranscriptRecord(line, number) for number, line in enumerate(lines, 1)]
    return read_records(records, path="6f.jsonl")


def _text(text: str) -> Line:
    return {"type": "text", "text": text}


def _use(call_id: str, name: str, given: object) -> Line:
    return {"type": "tool_use", "id": call_id, "name": name, "input": given}


def _result(call_id: str, content: object, *, error: bool = False) -> Line:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, "is_error": error}


def _done() -> Log:
    log = Log()
    log.user("fill in the tax form pdf")
    log.call("Bash", {"command": "ls"})
    log.agent(_text("All fields are set."))
    return log


def _tasks(reading: TraceReading) -> list[str]:
    return [trace.task for trace in reading.traces]


def _only(log: Log) -> Trace:
    (trace,) = log.read().traces
    return trace


def test_a_prompt_and_its_calls_become_a_trace() -> None:
    log = Log()
    log.user("fill in the tax form pdf")
    log.agent({"type": "thinking", "thinking": "a skill fits"}, message={"id": "m1"})
    log.agent(_use("t1", "Skill", {"skill": "pdf-forms", "args": ""}), message={"id": "m1"})
    log.user([_result("t1", "loaded")], toolUseResult={})
    log.agent(_text("Now the fields."), _use("t2", "Bash", {"command": "fill x.pdf"}))
    log.user([_result("t2", [_text("line 1"), {"type": "image"}, _text("line 2")])])
    log.agent(_text("All fields are set."), message={"stop_reason": "end_turn"})

    reading = log.read()

    (trace,) = reading.traces
    first, second = trace.steps
    assert reading.shape is TraceShape.CLAUDE_CODE
    assert (trace.task, trace.ok, trace.problem) == ("fill in the tax form pdf", True, "")
    assert (trace.final_message, trace.session_id, trace.folder) == (
        "All fields are set.",
        "6f",
        "/repo",
    )
    assert (first.action.kind, first.thought, first.result) == ("Skill", "a skill fits", "loaded")
    assert dict(first.action.fields) == {"skill": "pdf-forms", "args": ""}
    assert (second.thought, second.result) == ("Now the fields.", "line 1\nline 2")
    assert reading.skipped == {}


def test_each_typed_prompt_is_a_task_of_its_own() -> None:
    log = _done()
    log.user([_text("now print it"), {"type": "image"}])
    log.call("Bash", {"command": "lp x.pdf"})
    log.agent(_text("Printed."))

    reading = log.read()

    assert _tasks(reading) == ["fill in the tax form pdf", "now print it"]
    assert [trace.ok for trace in reading.traces] == [True, True]
    assert [len(trace.steps) for trace in reading.traces] == [1, 1]


@each_row("nod", ["yes", "Continue.", "ok, go ahead", "yes please!", "weiter"])
def test_a_nod_goes_on_with_the_task_before_it(nod: str) -> None:
    log = _done()
    log.user(nod)
    log.call("Bash", {"command": "lp x.pdf"})
    log.agent(_text("Printed."))

    trace = _only(log)

    assert (trace.ok, len(trace.steps), trace.final_message) == (True, 2, "Printed.")


@each_row(
    "content",
    [
        "<local-command-stdout>Total cost: 1</local-command-stdout>",
        "<system-reminder>remember</system-reminder>",
        [_text("<task-notification>a task ended</task-notification>")],
        "This session is being continued from a previous conversation that ran out.",
        "Caveat: The messages below were generated by the user while running local commands. Do X",
        "<tool_result>\nPlease run it for every folder",
        "<ide_opened_file>a.py</ide_opened_file>",
        "<some-new-tag>do something else</some-new-tag>",
        "Stop hook feedback:\n- run the linter",
    ],
)
def test_what_a_program_wrote_is_no_prompt(content: object) -> None:
    log = Log()
    log.user("build it")
    log.user(content)
    log.user("Base directory for this skill: x", isMeta=True)
    log.user("Summary of before", isCompactSummary=True)
    log.call("Bash", {"command": "make"})
    log.agent(_text("Built."))

    reading = log.read()

    assert _tasks(reading) == ["build it"]
    assert reading.skipped == {NOT_TYPED: 3}


def test_the_work_of_a_command_is_not_put_down_to_the_prompt_before_it() -> None:
    log = _done()
    log.user("<command-name>/deploy</command-name>\n<command-args>live</command-args>")
    log.call("Bash", {"command": "deploy"})
    log.agent(_text("Deployed."))

    reading = log.read()

    assert [(len(trace.steps), trace.final_message) for trace in reading.traces] == [
        (1, "All fields are set.")
    ]
    assert reading.skipped == {NOT_TYPED: 1, NO_PROMPT: 1}


@pytest.mark.parametrize("tag", ["teammate-message", "agent-message"])
def test_what_another_agent_asks_for_is_no_task_of_the_person(tag: str) -> None:
    log = _done()
    log.user(f'<{tag} from="lead">delete the branch</{tag}>')
    log.call("Bash", {"command": "git branch -D x"})
    log.agent(_text("Deleted."))

    reading = log.read()

    assert [(trace.task, len(trace.steps)) for trace in reading.traces] == [
        ("fill in the tax form pdf", 1)
    ]
    assert reading.skipped == {NOT_TYPED: 1, NO_PROMPT: 1}


@pytest.mark.parametrize(
    ("content", "task"),
    [
        ("explain what <tool_result> means", "explain what <tool_result> means"),
        ("<div class='a-b'> is not centred, mend it", "<div class='a-b'> is not centred, mend it"),
        ("<ide_selection>x = 1</ide_selection>\nrename x", "rename x"),
    ],
)
def test_a_person_may_type_of_tags(content: str, task: str) -> None:
    log = Log()
    log.user(content)
    log.agent(_text("Done."))

    assert _tasks(log.read()) == [task]


def test_a_task_whose_agent_admits_that_it_is_not_done_does_not_count() -> None:
    log = _done()
    log.agent(_text("I could not fix it; the tests still fail."))

    trace = _only(log)

    assert (trace.ok, trace.problem) == (False, ADMITTED)


def test_a_message_id_that_many_sessions_share_does_not_mix_them() -> None:
    lines: list[Line] = []
    for number in range(3_000):
        about = {"sessionId": f"s{number}", "parentUuid": None}
        lines += [
            {**about, "type": "user", "uuid": f"a{number}", "message": {"content": "greet me"}},
            {
                **about,
                "type": "assistant",
                "uuid": f"b{number}",
                "parentUuid": f"a{number}",
                "message": {"id": "m", "content": "Hello."},
            },
        ]

    assert [trace.final_message for trace in _read(lines).traces] == ["Hello."] * 3_000


def test_only_the_newest_branch_happened() -> None:
    log = Log()
    root = log.user("make a table")
    log.call("Bash", {"command": "old"})
    log.agent(_text("Old answer."))
    log.user("abandoned prompt")
    log.call("Bash", {"command": "abandoned"})
    log.user("make it bold", parentUuid=root)
    log.call("Bash", {"command": "new"})
    log.agent(_text("New answer."))

    reading = log.read()

    assert _tasks(reading) == ["make a table", "make it bold"]
    assert [step.action.text("command") for step in reading.traces[1].steps] == ["new"]
    assert [len(trace.steps) for trace in reading.traces] == [0, 1]


def test_calls_side_by_side_and_their_answers_beside_the_branch_are_found() -> None:
    log = Log()
    log.user("read both")
    first = log.agent(_use("t1", "Read", {"file_path": "a"}), message={"id": "m1"})
    second = log.agent(_use("t2", "Read", {"file_path": "b"}), message={"id": "m1"})
    answer = log.user([_result("t1", "A")], parentUuid=first)
    log.user([_result("t2", "B")], parentUuid=second)
    log.agent(_text("Both read."), parentUuid=answer)

    trace = _only(log)

    assert [(step.action.text("file_path"), step.result) for step in trace.steps] == [
        ("a", "A"),
        ("b", "B"),
    ]
    assert trace.ok


def test_a_compacted_session_goes_on_with_the_same_task() -> None:
    log = Log()
    log.user("port the module")
    log.call("Bash", {"command": "one"})
    before = log.lines[-1]["uuid"]
    log.add("system", None, subtype="compact_boundary", parentUuid=None, logicalParentUuid=before)
    log.user("Summary", isCompactSummary=True)
    log.call("Bash", {"command": "two"})
    log.agent(_text("Ported."))

    trace = _only(log)

    assert [step.action.text("command") for step in trace.steps] == ["one", "two"]


def test_a_lost_line_does_not_cost_what_stands_before_it() -> None:
    log = Log()
    log.user("port the module")
    log.call("Bash", {"command": "one"})
    log.call("Bash", {"command": "two"})
    log.agent(_text("Ported."))
    del log.lines[3]

    trace = _only(log)

    assert [step.action.text("command") for step in trace.steps] == ["one"]
    assert trace.ok


def test_lines_without_ids_are_read_in_their_order() -> None:
    lines = [
        {key: value for key, value in line.items() if key not in {"uuid", "parentUuid"}}
        for line in _done().lines
    ]

    assert [(trace.ok, len(trace.steps)) for trace in _read(lines).traces] == [(True, 1)]


def test_a_block_whose_type_is_no_text_is_passed_over() -> None:
    log = Log()
    log.user("Count the files")
    log.agent({"type": ["tool_use"]}, {"type": {}}, _text("There are three."))

    assert _only(log).final_message == "There are three."


def test_the_work_of_a_sub_agent_is_no_task() -> None:
    log = Log()
    log.user("look around", isSidechain=True)
    log.call("Bash", {"command": "ls"})
    for line in log.lines:
        line["isSidechain"] = True

    reading = log.read()

    assert reading.traces == ()
    assert reading.skipped == {SUB_AGENT: 3}


def test_sessions_in_one_file_stay_apart() -> None:
    other = [
        {**line, "uuid": f"x{line['uuid']}", "parentUuid": parent, "sessionId": "7a"}
        for line in _done().lines
        for parent in [line["parentUuid"] and f"x{line['parentUuid']}"]
    ]

    reading = _read([*_done().lines, *other])

    assert [(trace.session_id, len(trace.steps)) for trace in reading.traces] == [
        ("6f", 1),
        ("7a", 1),
    ]


def test_a_line_that_is_there_twice_is_read_once() -> None:
    lines = _done().lines

    reading = _read([*lines, *lines])

    assert [len(trace.steps) for trace in reading.traces] == [1]
    assert reading.skipped == {TWICE: 4}


def _broken(log: Log, how: str) -> None:
    if how == INTERRUPTED:
        log.user([_text("[Request interrupted by user for tool use]")])
        log.agent(_text("No response requested."), message={"model": "<synthetic>"})
    elif how == SERVICE_FAILED:
        log.agent(_text("API Error: 529"), message={"model": "<synthetic>"}, isApiErrorMessage=True)
    elif how == LAST_FAILED:
        log.call("Bash", {"command": "make"}, "Exit code 2", error=True)
        log.agent(_text("It fails."))
    elif how == CUT_OFF:
        log.agent(_text("And now"), message={"stop_reason": "max_tokens"})
    elif how == NO_END:
        log.call("Bash", {"command": "make"})
    elif how == NO_RESULT:
        log.agent(_use("lost", "Bash", {"command": "make"}))
        log.agent(_text("Done."))


@each_row("how", [INTERRUPTED, SERVICE_FAILED, LAST_FAILED, CUT_OFF, NO_END, NO_RESULT])
def test_a_task_that_broke_off_is_not_done(how: str) -> None:
    log = _done()
    _broken(log, how)

    trace = _only(log)

    assert (trace.ok, trace.problem) == (False, how)


@each_row(
    "reply",
    [
        "no, use the other form",
        "No that is the 2019 version",
        "undo that",
        "Revert.",
        "That's wrong",
        "this is not what I asked for",
        "hm, it still fails on page two",
        "you broke the layout",
        "it doesn't work",
        "\u4e0d\u5bf9\uff0c\u7528\u53e6\u4e00\u4e2a",
    ],
)
def test_what_the_person_rejects_next_is_not_done(reply: str) -> None:
    log = _done()
    log.user(reply)
    log.agent(_text("Sorry."))

    first, _ = log.read().traces

    assert (first.ok, first.problem) == (False, REJECTED)


@each_row(
    "reply",
    ["No problem, thanks!", "nothing else", "stop the server on port 80", "Now print it", "note"],
)
def test_what_only_begins_like_a_rejection_is_none(reply: str) -> None:
    log = _done()
    log.user(reply)

    assert log.read().traces[0].ok


def test_an_agent_that_goes_on_after_an_error_can_still_end_well() -> None:
    log = _done()
    _broken(log, SERVICE_FAILED)
    log.user("continue")
    log.call("Bash", {"command": "lp"})
    log.agent(_text("Printed."))

    assert _only(log).ok


def test_a_circle_of_parents_ends() -> None:
    log = _done()
    log.lines[0]["parentUuid"] = log.lines[-1]["uuid"]

    assert [(trace.ok, len(trace.steps)) for trace in log.read().traces] == [(True, 1)]


def test_an_answer_goes_to_one_call_and_bad_calls_are_counted() -> None:
    log = Log()
    log.user("go wild")
    log.agent(_use("t", "A", {}), _use("t", "B", "text"), _use("t", "C", 7))
    log.agent(_use("t", "", {}), {"type": "tool_use"}, "x", None)
    log.user([_result("t", "once")])
    log.agent(_text("Done."))

    reading = log.read()

    assert [(step.action.kind, step.result) for step in reading.traces[0].steps] == [
        ("A", "once"),
        ("B", ""),
        ("C", ""),
    ]
    assert dict(reading.traces[0].steps[1].action.fields) == {"input": "text"}
    assert reading.skipped == {"a call whose input is no object": 2, "a call without a name": 2}


def test_a_hundred_thousand_lines_and_a_huge_result_are_read() -> None:
    log = Log()
    log.user("scan everything")
    log.call("Bash", {"command": "cat big"}, "x" * 10_000_000)
    for number in range(100_000):
        log.add("attachment", None, attachment={"number": number})
    log.agent(_text("Scanned."))

    trace = _only(log)

    assert trace.ok
    assert len(trace.steps[0].result) == MOST_WORDS


def test_lines_of_wrong_types_are_counted() -> None:
    odd: list[Any] = [
        7,
        None,
        [],
        {"type": 5},
        {"type": "user", "message": "x"},
        {"type": "assistant", "uuid": {}, "parentUuid": [], "message": {"content": 5, "id": {}}},
        {"type": "user", "uuid": "q", "parentUuid": 4, "message": {"content": {"a": 1}}},
    ]

    reading = _read([*_done().lines, *odd])

    assert _tasks(reading)[0] == "fill in the tax form pdf"
    assert reading.skipped == {NO_MESSAGE: 5, NOT_TYPED: 1}


def test_what_is_done_after_objections_has_the_first_request_for_its_task() -> None:
    log = Log()
    for said in (
        "Restart the worker in staging",
        "please don't use kubectl for that, we have a script",
        "no, not that script",
    ):
        log.user(said)
        log.call("Bash", {"command": "true"})
        log.agent(_text("Restarted."))
    log.user("Now write the changelog")
    log.call("Bash", {"command": "cat CHANGELOG.md"})
    log.agent(_text("Written."))

    traces = log.read().traces

    assert [(one.task, one.ok) for one in traces] == [
        ("Restart the worker in staging", False),
        ("Restart the worker in staging", False),
        ("Restart the worker in staging", True),
        ("Now write the changelog", True),
    ]
