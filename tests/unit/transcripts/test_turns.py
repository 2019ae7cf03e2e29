"""Messages of any chat become the same turns, and only what a person typed is a user's."""

from collections.abc import Mapping

import pytest
from tests.rows import each_row

from prowess.hooks.answers import Hint, prompt_context, session_context
from prowess.hooks.harness import Harness
from prowess.transcripts.turns import ChatTurn, Role, count_calls, read_turns

ASKED = "Please make a GIF."


@each_row(
    "message",
    [
        {"role": "user", "content": ASKED},
        {"role": "human", "content": ASKED},
        {"role": "user", "content": [{"type": "text", "text": ASKED}]},
        {"role": "user", "content": [{"type": "input_text", "text": {"value": ASKED}}]},
        {"role": "user", "content": [ASKED]},
        {"role": "user", "content": {"type": "text", "text": ASKED}},
        {"role": "user", "parts": [{"text": ASKED}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": ASKED}]},
        {"type": "user", "message": {"role": "user", "content": ASKED}},
        {"type": "user", "message": {"content": ASKED}},
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": ASKED}]},
    ],
)
def test_what_a_user_says_is_found_in_every_shape(message: Mapping[str, object]) -> None:
    assert read_turns([message]) == (ChatTurn(role=Role.USER, text=ASKED),)


@each_row(
    "message",
    [
        {"role": "user", "content": [{"type": "tool_result", "content": ASKED}]},
        {"role": "user", "content": [{"type": "image", "text": ASKED}]},
        {"role": "tool", "content": ASKED},
        {"role": "function", "content": ASKED},
        {"type": "function_call_output", "output": ASKED},
        {"kind": "request", "parts": [{"part_kind": "tool-return", "content": ASKED}]},
        {"role": "assistant", "content": ASKED},
        {"role": "system", "content": ASKED},
        {"content": ASKED},
    ],
)
def test_what_no_person_typed_is_no_users_turn(message: Mapping[str, object]) -> None:
    assert [turn for turn in read_turns([message]) if turn.role is Role.USER] == []


def test_several_blocks_are_one_text_and_the_place_is_kept() -> None:
    blocks = [
        {"type": "text", "text": "one"},
        {"type": "tool_use"},
        {"type": "text", "text": "two"},
    ]

    said = read_turns([{"role": "system", "content": ""}, {"role": "assistant", "content": blocks}])

    assert said == (ChatTurn(role=Role.ASSISTANT, text="one\ntwo", place=1, tool_calls=1),)


@each_row(
    ("message", "count"),
    [
        ({"role": "assistant", "content": None, "tool_calls": [{}, {}]}, 2),
        ({"role": "assistant", "content": [{"type": "tool_call"}, {"type": "tool_use"}]}, 2),
        # The same calls, told twice.
        ({"role": "assistant", "content": [{"type": "tool_use"}], "tool_calls": [{}]}, 1),
        ({"type": "function_call", "name": "x"}, 1),
        ({"type": "tool_call"}, 1),
        ({"role": "model", "parts": [{"functionCall": {}}, {"text": "x"}]}, 1),
        ({"kind": "response", "parts": [{"part_kind": "tool-call"}, {"part_kind": "text"}]}, 1),
        ({"role": "assistant", "content": "none"}, 0),
    ],
)
def test_calls_are_counted_in_every_shape(message: Mapping[str, object], count: int) -> None:
    assert count_calls(read_turns([message])) == count


@each_row(
    "message",
    [
        {}, {"role": 3, "content": 4}, {"role": "user", "content": [None, 3, {"text": 5}]},
        {"role": "user", "content": b"bytes"}, {"role": "user", "tool_calls": "many"},
        {"message": "text"}, {"parts": 3}, {"role": "user", "content": [{"type": []}]},
    ],
)  # fmt: skip
def test_a_message_of_no_known_shape_says_nothing(message: Mapping[str, object]) -> None:
    assert read_turns([message]) == ()


@pytest.mark.parametrize(
    "before",
    [
        "<hook_context>Skills (found by Prowess):\n- pdf-forms, file /w</hook_context>\n\n",
        "<session_context>\nThis is the Gemini CLI.\n</session_context>\n",
        "<system-reminder>\nThe index: pdf-forms.\n</system-reminder>\n",
        "<available_skills>\n  <skill><name>pdf-forms</name></skill>\n</available_skills>\n",
        prompt_context(Harness.COPILOT, [Hint(name="pdf-forms", path="/w", score=0.9)]) + "\n\n",
        session_context([Hint(name="pdf-forms", path="/w/SKILL.md", why="Fills in.")]) + "\n",
        "UserPromptSubmit hook additional context: Skills (found by Prowess):\n- pdf-forms\n\n",
        "> Skills (found by Prowess):\n> - pdf-forms, file /w\n\n",
    ],
)
def test_what_programs_and_we_ourselves_put_into_a_message_was_not_typed(before: str) -> None:
    typed = "write the release notes\n- in German"

    for text in (f"{before}{typed}", f"{typed}\n\n{before}"):
        (turn,) = read_turns([{"role": "user", "content": text}])
        assert turn.text == typed


BODY = "Base directory for this skill: /w/skills/notes\nImportant: ALWAYS.\n\nUse pdf-forms."
REFERRED = "Use the following explicitly referenced skills for this request. Read each:\n- notes\n"


@each_row(
    ("text", "typed"),
    [
        (BODY, "/notes"),
        (f"{BODY}\n/notes in a > b\n<skill-args>in a > b</skill-args>\n", "/notes in a > b"),
        (f"{REFERRED}\nUser request:\n/no_tes for May", "/no_tes for May"),
    ],
)
def test_a_skill_that_was_called_is_a_call_and_no_message_of_its_text(
    text: str, typed: str
) -> None:
    (turn,) = read_turns([{"role": "user", "content": text}])

    assert turn.text == typed


def test_a_person_may_speak_of_a_frame_without_losing_the_rest() -> None:
    asked = "why is <available_skills> empty, and who writes <hook_context>?"

    assert read_turns([{"role": "user", "content": asked}])[0].text == asked
