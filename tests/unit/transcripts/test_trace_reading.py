"""Which reader a trace needs, and that no value whatsoever stops one."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.transcripts.formats import read_markdown, read_records
from prowess.transcripts.traces import TraceShape, export_trace
from prowess.transcripts.turns import TranscriptRecord

_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.just(10**400)
    | st.floats(allow_nan=True)
    | st.text(st.characters(exclude_categories=()), max_size=12)
)
_WORDS = st.sampled_from(
    [
        "type", "message", "content", "role", "uuid", "parentUuid", "sessionId", "tool_use_id",
        "id", "name", "input", "payload", "arguments", "call_id", "output", "metadata", "exit_code",
        "text", "task", "steps", "traces", "action", "ok", "finalMessage", "step", "uiContext",
        "result", "event", "actionJson", "customType", "details", "model", "num_turns", "source",
        "stopReason", "cwd", "user", "assistant", "tool_use", "tool_result", "u1", "finish", "{}",
    ]
)  # fmt: skip
_VALUES = st.recursive(
    _LEAVES | _WORDS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(_WORDS | st.text(max_size=4), inner, max_size=6)
    ),
    max_leaves=15,
)
_STEP = {"step": 1, "action": {"type": "tap", "x": 1}, "result": "ok", "uiContext": {"text": "a"}}
_CALL = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}}
_WRITTEN = 'step: 1\nat: t\nthought:\nx\naction_json:\n{"type": "tap"}\nexecution_result:\nok'
_GOOD: list[dict[str, object]] = [
    {"task": "a", "ok": True, "finalMessage": "b", "steps": [_STEP, _STEP]},
    {"task": "a"},
    _STEP,
    {"type": "user", "uuid": "u1", "parentUuid": None, "message": {"content": "do it now"}},
    {"type": "assistant", "uuid": "u2", "parentUuid": "u1", "message": {"content": [_CALL]}},
    {"type": "event_msg", "payload": {"type": "user_message", "message": "do it now"}},
    {
        "type": "response_item",
        "payload": {"type": "function_call", "name": "x", "arguments": "{}", "call_id": "c"},
    },
    {"type": "message", "message": {"role": "user", "content": "do it now"}},
    {
        "type": "message",
        "message": {"role": "custom", "customType": "openpocket_step", "content": _WRITTEN},
    },
    {"event": "session_started", "task": "a"},
    {"event": "step_appended", "stepNo": 1, "actionJson": '{"type": "tap"}', "result": "ok"},
]


@st.composite
def _spoilt(draw: st.DrawFn) -> object:
    """A line that some program writes, with something else in places."""
    line = dict(draw(st.sampled_from(_GOOD)))
    for inner in [line, *(value for value in line.values() if isinstance(value, dict))]:
        if draw(st.booleans()):
            name = draw(st.sampled_from(sorted(inner)) | _WORDS)
            line = {**line, name: draw(_VALUES)} if inner is line else line
            key = next((key for key, value in line.items() if value is inner), None)
            line = line if key is None else {**line, key: {**inner, name: draw(_VALUES)}}
    return line


_LINES = _VALUES | st.sampled_from(_GOOD) | _spoilt()


@settings(max_examples=50, deadline=None)
@given(st.lists(_LINES, max_size=6), st.sampled_from([None, *TraceShape]))
def test_no_value_stops_a_reading_and_what_is_read_can_be_written_down(
    values: list[object], shape: TraceShape | None
) -> None:
    reading = read_records([TranscriptRecord(value) for value in values], path="x", shape=shape)

    for trace in reading.traces:
        written = json.dumps(export_trace(trace), allow_nan=False).encode()
        (again,) = read_records([TranscriptRecord(json.loads(written))], path="x").traces
        # Of a task whose words nobody wrote down, what was done is left.
        assert trace.task or trace.steps
        assert again.id == trace.id


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "## Task", "## Task (2026-01-01T00:00:00Z)", "---", "", "## Steps", "### Step 1",
                "### Step 2", "- at: 2026-01-01T00:00:00Z", "- thought:", "```text", "```",
                "- action:", "```json", '{"type": "tap"}', "- execution_result:", "## Final",
                "- status: SUCCESS", "### Message", "words",
            ]
        )
        | st.text(max_size=10),
        max_size=40,
    )
)  # fmt: skip
def test_no_markdown_stops_a_reading(lines: list[str]) -> None:
    reading = read_markdown("\n".join(("# OpenPocket Session", *lines)), path="x")

    assert all(trace.task for trace in reading.traces)


@each_row(
    ("value", "shape"),
    [
        ({"task": "a", "steps": []}, TraceShape.DOCUMENT),
        ({"type": "user", "message": {"content": "a"}}, TraceShape.CLAUDE_CODE),
        ({"type": "summary", "uuid": "a", "parentUuid": None}, TraceShape.CLAUDE_CODE),
        ({"type": "session_meta", "payload": {}}, TraceShape.CODEX),
        ({"type": "function_call", "name": "x"}, TraceShape.CODEX),
        ({"event": "session_started", "task": "a"}, TraceShape.OPENPOCKET),
        ({"type": "message", "message": {"customType": "openpocket_step"}}, TraceShape.OPENPOCKET),
        ({"anything": 1}, None),
        ("text", None),
    ],
)
def test_a_line_shows_who_wrote_it(value: object, shape: TraceShape | None) -> None:
    assert read_records([TranscriptRecord(value)], path="x").shape is shape


def test_a_file_that_is_one_list_holds_its_lines_as_items() -> None:
    lines = [
        {"type": "user", "message": {"role": "user", "content": "greet me"}},
        {"type": "assistant", "message": {"role": "assistant", "content": "Hello."}},
    ]

    reading = read_records([TranscriptRecord(lines)], path="x")

    assert [(trace.task, trace.final_message) for trace in reading.traces] == [
        ("greet me", "Hello.")
    ]


def test_a_named_shape_decides_and_earlier_counts_are_kept() -> None:
    value = {"task": "a", "ok": True, "steps": []}

    reading = read_records(
        [TranscriptRecord(value)], path="x", shape=TraceShape.CODEX, skipped={"not JSON": 3}
    )

    assert (reading.traces, reading.shape) == ((), TraceShape.CODEX)
    assert reading.skipped["not JSON"] == 3
