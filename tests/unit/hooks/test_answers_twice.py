"""What is said to a prompt that already holds what we said."""

import json

from prowess.hooks.answers import Incoming, answer, read

CONTEXT = "Skills of this workspace that cover this request:\n- pdf-forms"


def _transformed(text: str) -> Incoming:
    payload = {
        "sessionId": "p1",
        "timestamp": 1763200000000,
        "cwd": "/repo",
        "prompt": "fill in the form",
        "transformedPrompt": text,
    }
    found = read(json.dumps(payload).encode(), {})
    assert found is not None
    return found


def test_a_prompt_that_copilot_hands_on_gets_the_hint_once() -> None:
    first = json.loads(answer(_transformed("fill in the form"), CONTEXT))
    given = first["modifiedTransformedPrompt"]

    assert given == f"fill in the form\n\n{CONTEXT}"
    assert answer(_transformed(given), CONTEXT) == ""
    assert answer(_transformed(f"{given}\n\nmore of another hook"), CONTEXT) == ""


def test_words_of_a_hint_within_a_sentence_are_no_hint() -> None:
    assert answer(_transformed("what is - pdf-forms"), "- pdf-forms") != ""
