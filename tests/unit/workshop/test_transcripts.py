"""Transcripts of any program become the same turns, and nothing in a file stops the reading."""

from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.transcripts.turns import (
    NO_MESSAGE,
    NOT_TYPED,
    TOO_DEEP,
    Role,
    Transcript,
    TranscriptRecord,
    TranscriptShape,
    build_transcript,
    read_turns,
    tell_calls,
)
from prowess.workshop.proposal import capture

SAID = "next time make sure to verify the frames of the GIF"
TYPED = {"role": "user", "content": SAID}
CALL = {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}, {"id": "2"}]}


def _read(*values: object, shape: TranscriptShape | None = None) -> Transcript:
    return build_transcript(
        (TranscriptRecord(value, line) for line, value in enumerate(values, 1)), shape
    )


@each_row(
    ("value", "shape"),
    [
        (TYPED, TranscriptShape.MESSAGES),
        ([TYPED], TranscriptShape.MESSAGES),
        ({"messages": [TYPED]}, TranscriptShape.MESSAGES),
        ({"model": "m", "messages": [TYPED, CALL, CALL]}, TranscriptShape.OPENAI_CHAT),
        ({"input": SAID, "output": []}, TranscriptShape.OPENAI_RESPONSES),
        ({"input": [SAID]}, TranscriptShape.OPENAI_RESPONSES),
        (
            {"input": [{"role": "user", "content": [{"type": "input_text", "text": SAID}]}]},
            TranscriptShape.OPENAI_RESPONSES,
        ),
        (
            {
                "messages": [
                    {"role": "user", "content": [{"type": "text", "text": SAID}]},
                    {"role": "assistant", "content": [{"type": "tool_use", "name": "x"}]},
                    {"role": "user", "content": [{"type": "tool_result", "content": "y"}]},
                ]
            },
            TranscriptShape.ANTHROPIC,
        ),
        ({"contents": [{"role": "user", "parts": [{"text": SAID}]}]}, TranscriptShape.GEMINI),
        ({"contents": [{"parts": [{"text": SAID}]}]}, TranscriptShape.GEMINI),
        ({"contents": SAID}, TranscriptShape.GEMINI),
        ({"type": "message", "message": TYPED}, TranscriptShape.SESSION),
        ({"type": "user", "message": {"content": SAID}}, TranscriptShape.SESSION),
        (
            {
                "type": "response_item",
                "payload": {
                    "type": "message",
                    "role": "user",
                    "content": [{"type": "input_text", "text": SAID}],
                },
            },
            TranscriptShape.SESSION,
        ),
        (
            {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": SAID}]},
            TranscriptShape.GEMINI,
        ),
    ],
)
def test_a_correction_is_found_in_every_shape(value: object, shape: TranscriptShape) -> None:
    said = _read(value)

    assert len(said.turns) == 1
    found = capture(read_turns(said.turns[0].contents))
    assert found is not None
    assert found.instruction == SAID
    # Where several shapes share a message, what most messages look like counts.
    assert said.shape in {shape, TranscriptShape.MESSAGES}


def test_answers_and_calls_belong_to_the_turn_before() -> None:
    response = {
        "input": "do it",
        "output": [
            {"type": "reasoning", "summary": []},
            {"type": "function_call", "name": "a", "arguments": "{}"},
            {"type": "function_call_output", "output": SAID},
            {"type": "message", "role": "assistant", "content": []},
        ],
    }

    said = _read({"role": "system", "content": SAID}, response, CALL, TYPED)

    assert [turn.tool_calls for turn in said.turns] == [3, 0]
    assert [len(turn.messages) for turn in said.turns] == [5, 1]
    assert said.skipped == {NO_MESSAGE: 1}


def test_answers_of_models_are_the_assistants() -> None:
    chat = {"choices": [{"message": {"content": SAID}}]}
    gemini = {"candidates": [{"content": {"role": "model", "parts": [{"functionCall": {}}]}}]}

    said = _read(TYPED, chat, gemini)

    assert len(said.turns) == 1
    assert said.turns[0].tool_calls == 1


def test_what_a_tool_or_the_program_itself_wrote_begins_no_turn() -> None:
    said = _read(
        {"type": "user", "isMeta": True, "message": TYPED},
        {"type": "user", "isSidechain": True, "message": TYPED},
        {"type": "user", "message": {"content": [{"type": "tool_result", "content": SAID}]}},
        {"type": "summary", "summary": SAID},
        {"role": "tool", "content": SAID},
    )

    assert said.turns == ()
    assert said.skipped == {NOT_TYPED: 2, NO_MESSAGE: 1}


def test_a_message_is_named_by_its_line_and_else_by_its_number() -> None:
    lines = _read({"role": "assistant", "content": "hello"}, TYPED)
    whole = build_transcript([TranscriptRecord([{"role": "assistant", "content": "hello"}, TYPED])])

    assert lines.turns[0].messages[0].place == "line 2"
    assert whole.turns[0].messages[0].place == "message 2"


def test_a_given_shape_takes_only_what_it_keeps_its_messages_in() -> None:
    both = {"messages": [TYPED], "contents": [{"parts": [{"text": "hello"}]}]}

    gemini = _read(both, shape=TranscriptShape.GEMINI)
    chat = _read(both, shape=TranscriptShape.OPENAI_CHAT)

    assert read_turns(gemini.turns[0].contents)[0].text == "hello"
    assert read_turns(chat.turns[0].contents)[0].text == SAID
    assert chat.shape is TranscriptShape.OPENAI_CHAT


def test_a_conversation_keeps_its_name_while_it_grows() -> None:
    short, long = _read(TYPED, CALL), _read(TYPED, CALL, TYPED)

    assert short.session_id == long.session_id != _read(CALL, TYPED).session_id
    assert _read({"sessionId": "s-1", "message": TYPED}).session_id == "s-1"


def test_a_value_that_is_wrapped_without_end_is_left_out() -> None:
    value: object = TYPED
    for _ in range(50):
        value = {"message": value}

    said = _read(value, TYPED)

    assert len(said.turns) == 1
    assert said.skipped == {TOO_DEEP: 1}


_KEYS = ("role", "content", "parts", "text", "type", "message", "messages", "input", "output")
_MORE_KEYS = ("contents", "candidates", "choices", "payload", "tool_calls", "sessionId")
_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.just(SAID),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from((*_KEYS, *_MORE_KEYS)) | st.text(max_size=3),
            inner | st.sampled_from(["user", "text", "message", "function_call"]),
            max_size=5,
        )
    ),
    max_leaves=25,
)


@given(st.lists(_values, max_size=6))
def test_whatever_a_file_holds_is_read_or_counted(values: list[object]) -> None:
    said = _read(*values)

    # What stands before the first word of a user is counted, but is nobody's turn.
    assert sum(len(turn.messages) for turn in said.turns) <= said.messages
    for turn in said.turns:
        assert turn.tool_calls >= 0
        assert any(spoken.role == "user" for spoken in read_turns([turn.contents[0]]))


ORDER = "From now on always check the width of doors"


@each_row(
    "record",
    [
        {"role": "user", "content": f"<local-command-stdout>{ORDER}</local-command-stdout>"},
        {"role": "user", "content": f"<command-message>{ORDER}</command-message>"},
        {"role": "user", "content": f"<command-name>{ORDER}</command-name>"},
        {"role": "user", "content": f"<system-reminder>{ORDER}"},
        {"role": "user", "content": f"<task-notification>{ORDER}</task-notification>"},
        {"type": "user", "toolUseResult": {}, "message": {"role": "user", "content": ORDER}},
        {"type": "user", "isMeta": "true", "message": {"role": "user", "content": ORDER}},
        {"type": "user", "isSidechain": True, "message": {"role": "user", "content": ORDER}},
        {"type": "progress", "message": {"role": "user", "content": ORDER}},
        {"type": "tool_result", "content": "x", "messages": [{"role": "user", "content": ORDER}]},
        {"type": "tool_use", "input": ORDER},
        {"tool_use_id": "1", "output": [{"role": "user", "content": ORDER}]},
    ],
)
def test_what_a_program_or_a_tool_said_is_left_out_and_counted(record: dict[str, object]) -> None:
    said = build_transcript([TranscriptRecord(record, 1)])

    assert said.turns == ()
    assert dict(said.skipped) == {NOT_TYPED: 1}


def test_what_a_person_typed_beside_a_programs_words_is_heard_alone() -> None:
    content = f"Paint the door.\n<system-reminder>{ORDER}</system-reminder>"

    (turn,) = build_transcript([TranscriptRecord({"role": "user", "content": content}, 1)]).turns

    assert [one.text for one in read_turns(turn.contents)] == ["Paint the door."]


def test_the_calls_of_tools_are_told_with_the_start_of_their_input() -> None:
    messages: list[dict[str, object]] = [
        {"role": "assistant", "content": [{"type": "tool_use", "name": "Bash", "input": {"a": 1}}]},
        {
            "role": "assistant",
            "tool_calls": [{"function": {"name": "run", "arguments": "x" * 999}}],
        },
        {"role": "model", "parts": [{"functionCall": {"name": "list", "args": {}}}]},
        {"role": "user", "content": "plain words"},
    ]

    told = [tell_calls(one) for one in messages]

    assert told == ['Bash {"a": 1}', f"run {'x' * 300}", "list {}", ""]


_REPLY = "I cut the clip to ten seconds. Shall I add a title?"
_PART = {"type": "text", "text": SAID}
_ANSWER = {"type": "text", "text": _REPLY}
_GEMINI = [
    {"id": "1", "type": "user", "content": [{"text": SAID}]},
    {"id": "2", "type": "gemini", "content": _REPLY, "toolCalls": [{"name": "cut"}]},
]
_COPILOT = [
    {"type": "session.start", "data": {"sessionId": "s"}},
    {"type": "user.message", "data": {"content": "be brief", "source": "system"}},
    {"type": "user.message", "data": {"content": SAID}},
    {"type": "tool.execution_start", "data": {"toolName": "cut"}},
    {"type": "assistant.message", "data": {"content": _REPLY}},
]
_OPENCODE = [
    {"info": {"role": "user"}, "parts": [{**_PART, "text": "x", "synthetic": True}, _PART]},
    {"info": {"role": "assistant"}, "parts": [_ANSWER]},
]


@each_row(
    "values",
    [
        # Gemini CLI keeps one document, and newer ones a line for each message.
        ({"sessionId": "s", "messages": _GEMINI},),
        ({"sessionId": "s", "kind": "main"}, *_GEMINI),
        (*_COPILOT,),
        ({"info": {"id": "s", "title": "Clips"}, "messages": _OPENCODE},),
        ({"role": "user", "text": SAID}, {"role": "agent", "text": _REPLY}),
    ],
)
def test_what_was_said_is_found_wherever_a_harness_says_who_speaks(
    values: tuple[dict[str, object], ...],
) -> None:
    (turn,) = _read(*values).turns

    assert [(said.role, said.text) for said in read_turns(turn.contents)] == [
        (Role.USER, SAID),
        (Role.ASSISTANT, _REPLY),
    ]
