"""Answers to coding agents, byte for byte: one key too many and some of them refuse the whole."""

import json

from tests.rows import each_row

from prowess.hooks.answers import Incoming, answer, can_speak, read
from prowess.hooks.harness import Harness, Moment
from prowess.hooks.samples import (
    CONTEXT,
    INLINE_CHARS,
    SAMPLES,
    PayloadSample,
    appended,
    shaped,
    silence,
)

_PROMPTED = (
    '{"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "c"}}'
)
_STARTED = '{"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "c"}}'
_TRANSFORMED = (
    '{"modifiedTransformedPrompt": "<current_datetime>2026-11-15T09:00:00.000Z</current_datetime>'
    '\\n\\nfill in the tax form pdf\\n\\n\\nc"}'
)
EXPECTED = {
    (Harness.CLAUDE_CODE, "UserPromptSubmit"): _PROMPTED,
    (Harness.CLAUDE_CODE, "SessionStart"): _STARTED,
    (Harness.CODEX, "UserPromptSubmit"): _PROMPTED,
    (Harness.CODEX, "SessionStart"): _STARTED,
    (Harness.CURSOR, "beforeSubmitPrompt"): '{"continue": true, "additional_context": "c"}',
    (Harness.CURSOR, "sessionStart"): '{"additional_context": "c", "env": {}}',
    (Harness.GEMINI, "BeforeAgent"): '{"hookSpecificOutput": {"additionalContext": "c"}}',
    (Harness.GEMINI, "SessionStart"): _STARTED,
    (Harness.COPILOT, "userPromptTransformed"): _TRANSFORMED,
    (Harness.COPILOT, "sessionStart"): '{"additionalContext": "c"}',
    (Harness.COPILOT, "SessionStart"): _STARTED,
    (Harness.VSCODE, "SessionStart"): _STARTED,
    (Harness.QWEN, "UserPromptSubmit"): _PROMPTED,
    (Harness.QWEN, "SessionStart"): _STARTED,
    (Harness.OPENCODE, "UserPromptSubmit"): '{"additionalContext": "c"}',
    (Harness.OPENCLAW, "UserPromptSubmit"): '{"additionalContext": "c"}',
}


def _name(sample: PayloadSample) -> str:
    return f"{sample.harness.value}-{sample.event}-{sample.moment.value}"


def _incoming(sample: PayloadSample) -> Incoming:
    found = read(sample.payload, sample.environ)
    assert found is not None
    return found


@each_row("sample", SAMPLES)
def test_each_event_is_answered_byte_for_byte(sample: PayloadSample) -> None:
    said = answer(_incoming(sample), "c")

    assert said == EXPECTED.get((sample.harness, sample.event), "")
    assert sample.answers_with(said) == ""
    assert can_speak(_incoming(sample)) == bool(said)


@each_row("sample", SAMPLES)
def test_nothing_to_say_is_no_byte_at_all(sample: PayloadSample) -> None:
    said = answer(_incoming(sample), "")

    assert said == ""
    assert sample.answers_with(said) == ""


def test_the_prompt_of_copilot_stays_as_it_was_to_the_last_character() -> None:
    given = "  \tline\r\n\ud83d half a pair \u2028 \x00 end \n"
    incoming = Incoming(
        harness=Harness.COPILOT,
        moment=Moment.PROMPT,
        event="userPromptTransformed",
        prompt="short",
        transformed=given,
    )

    said = answer(incoming, "the hint")

    assert said.isascii()
    assert json.loads(said) == {"modifiedTransformedPrompt": f"{given}\n\nthe hint"}


def test_answers_are_ascii_on_one_line_whatever_they_say() -> None:
    incoming = _incoming(SAMPLES[0])

    said = answer(incoming, 'größer\n"quoted"\u2028')

    assert said.isascii()
    assert "\n" not in said


@each_row(
    ("said", "problem"),
    [
        ("no json", "the answer is not JSON."),
        ("[]", "the answer is no object."),
        ('{"additionalContext": "c"}', "hookSpecificOutput"),
        (_STARTED, "hookSpecificOutput.hookEventName has another value."),
        (_PROMPTED[:-2] + ', "sessionTitle": "t"}}', "sessionTitle"),
        (_PROMPTED.replace('"c"', '""'), "says nothing"),
        (_PROMPTED.replace('"c"', f'"{"c" * (INLINE_CHARS + 1)}"'), "is longer"),
    ],
)
def test_a_schema_says_what_is_wrong_with_an_answer(said: str, problem: str) -> None:
    context = {"hookEventName": "UserPromptSubmit", "additionalContext": CONTEXT}

    assert problem in shaped({"hookSpecificOutput": context})(said)


def test_a_schema_tells_numbers_from_switches() -> None:
    check = shaped({"continue": True, "additional_context": CONTEXT})

    assert check('{"continue": true, "additional_context": "c"}') == ""
    assert check('{"continue": 1, "additional_context": "c"}') != ""


def test_where_nothing_is_read_any_answer_is_wrong() -> None:
    assert silence("{}") != ""


def test_a_prompt_that_was_changed_is_noticed() -> None:
    check = appended("as given")

    assert check('{"modifiedTransformedPrompt": "as given\\n\\nmore"}') == ""
    assert check('{"modifiedTransformedPrompt": "As given\\n\\nmore"}') != ""
    assert check('{"modifiedTransformedPrompt": "as given", "more": 1}') != ""
