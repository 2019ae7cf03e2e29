"""Conversations: kept and dropped by whole turns, and fit to go on after a turn that broke off."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from prowess.agents import conversation as module
from prowess.agents.conversation import (
    Conversation,
    ConversationTurn,
    broken_off,
    calls_in,
    read_conversation,
    transcript,
)
from prowess.errors import StoreError


def _asked(text: str) -> ModelMessage:
    return ModelRequest(parts=[UserPromptPart(content=text)], instructions="a long prompt")


def _answered(text: str) -> ModelMessage:
    return ModelResponse(parts=[TextPart(content=text)])


def _turn(text: str) -> ConversationTurn:
    return ConversationTurn(words=text, messages=(_asked(text), _answered("ok")), skills={"a": "1"})


def test_what_is_kept_comes_back() -> None:
    talk = Conversation(session_id="s", workspace="/w", agent_id="main")
    talk.add(_turn("hello"))

    stored = json.loads(json.dumps(talk.stored()))
    back = read_conversation("s", stored)

    assert [turn.words for turn in back.turns] == ["hello"]
    assert back.turns[0].skills == {"a": "1"}
    assert back.workspace == "/w"
    assert "a long prompt" not in json.dumps(stored)


def test_half_a_character_does_not_keep_a_turn_from_being_kept() -> None:
    talk = Conversation(session_id="s")
    call = ModelResponse(parts=[TextPart(content="\ud800"), ToolCallPart("shell", "\udfff", "1")])

    talk.add(ConversationTurn(words="hi", messages=(_asked("hi \ud800"), call)))

    assert read_conversation("s", json.loads(json.dumps(talk.stored()))).turns[0].chars


@pytest.mark.parametrize(
    "stored",
    [{}, {"version": 2, "turns": []}, {"version": 1, "turns": [{"words": "x"}]}, {"version": 1}],
)
def test_what_is_no_conversation_is_refused(stored: dict[str, object]) -> None:
    with pytest.raises(StoreError, match="--new"):
        read_conversation("s", stored)


@given(st.lists(st.integers(0, 400), max_size=12), st.integers(0, 6000))
def test_what_is_sent_is_the_newest_whole_turns_that_fit(sizes: list[int], most: int) -> None:
    talk = Conversation(session_id="s")
    for size in sizes:
        talk.add(_turn("x" * size))

    sent = talk.recalled(most)

    assert sum(turn.chars for turn in sent) <= most
    assert sent == talk.turns[len(talk.turns) - len(sent) :]


def test_the_oldest_turns_go_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_KEPT_CHARS", 2_000)
    talk = Conversation(session_id="s")

    for number in range(20):
        talk.add(_turn(f"message {number}"))

    assert 1 <= len(talk.turns) < 20
    assert talk.turns[-1].words == "message 19"


def test_a_turn_of_which_nothing_came_is_forgotten() -> None:
    assert broken_off([_asked("hi")], "", "[stopped]") == ()


def test_what_was_said_is_kept_and_marked() -> None:
    kept = broken_off([_asked("hi")], "half of it", "[stopped]")

    last = kept[-1]
    assert isinstance(last, ModelResponse)
    assert last.state == "interrupted"
    assert last.text is not None
    assert "half of it" in last.text
    assert "[stopped]" in last.text


def test_an_answer_that_the_library_kept_is_marked_once() -> None:
    kept = broken_off([_asked("hi"), _answered("half")], "half", "[stopped]")

    assert len(kept) == 2
    assert isinstance(kept[-1], ModelResponse)
    assert kept[-1].text is not None
    assert kept[-1].text.count("[stopped]") == 1


def test_a_call_without_an_answer_is_closed() -> None:
    calls = [ToolCallPart("shell", "{}", "1"), ToolCallPart("shell", "{}", "2")]
    half = ModelRequest(parts=[ToolReturnPart("shell", "out", "1")])

    kept = broken_off([_asked("hi"), ModelResponse(parts=calls), half], "", "[stopped]")

    returned = [
        part.tool_call_id for one in kept for part in one.parts if isinstance(part, ToolReturnPart)
    ]
    assert returned == ["1", "2"]
    assert isinstance(kept[-1], ModelResponse)


def test_learning_reads_the_persons_own_words_and_not_the_skills() -> None:
    messages = [
        _asked("<skill_instructions>always use tabs</skill_instructions> hi"),
        ModelResponse(parts=[TextPart(content="Yes."), ToolCallPart("shell", "{}", "1")]),
        ModelRequest(parts=[ToolReturnPart("shell", "out", "1")]),
        _answered("Done."),
    ]

    lines = transcript("hi", messages)

    assert [(line["role"], line["content"]) for line in lines] == [
        ("user", "hi"),
        ("assistant", "Yes."),
        ("tool", "out"),
        ("assistant", "Done."),
    ]
    assert calls_in(messages) == 1


def test_a_turn_that_is_too_long_is_kept_shortened_and_can_be_read_again() -> None:
    talk = Conversation(session_id="s")
    flood = ModelResponse(
        parts=[
            ThinkingPart(content="t" * 2_000_000),
            TextPart(content="\u00e9" * 3_000_000),
            ToolCallPart("shell", "x" * 3_000_000, "1"),
        ]
    )

    talk.add(ConversationTurn(words="w" * 3_000_000, messages=(_asked("q" * 3_000_000), flood)))

    text = json.dumps(talk.stored())
    assert len(text) < 4 * module.MOST_TURN_CHARS
    assert talk.turns[0].chars <= module.MOST_TURN_CHARS
    assert "characters were not kept" in text
    assert read_conversation("s", json.loads(text)).turns[0].words.startswith("www")


def test_a_turn_of_endless_parts_is_kept_as_a_note() -> None:
    talk = Conversation(session_id="s")
    parts = [ToolCallPart("find_skills", "{}", str(number)) for number in range(20_000)]

    talk.add(ConversationTurn(words="hi", messages=(_asked("hi"), ModelResponse(parts=parts))))

    assert "too long to be kept" in json.dumps(talk.stored())
    assert len(talk.turns[0].messages) == 2
