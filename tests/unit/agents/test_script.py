"""Scripts: which answer is given, and what is said of a script that is none."""

import asyncio
import json

import pytest
from pydantic_ai import Agent
from tests.rows import each_row

from prowess.agents.conversation import frame_message, skill_block
from prowess.agents.models import scripted_model
from prowess.errors import ModelError


def _said(script: object, *messages: str) -> list[str]:
    text = script if isinstance(script, str) else json.dumps(script)
    agent = Agent(scripted_model(text, "answers"))

    async def ask(message: str) -> str:
        async with agent.run_stream_events(message, infer_name=False) as events:
            async for _ in events:
                pass
            assert events.result is not None
            return events.result.output

    async def all_of_them() -> list[str]:
        return [await ask(message) for message in messages]

    return asyncio.run(all_of_them())


def test_answers_are_given_once_and_in_order() -> None:
    script = [{"text": "one"}, {"text": ["t", "wo"]}]

    assert _said(script, "a", "b", "c") == ["one", "two", "(the script has no answer for this)"]


def test_an_answer_waits_for_the_message_that_it_is_for() -> None:
    script = '{"when": "Deploy", "text": "deployed", "repeat": true}\n\n{"text": "else"}\n'

    assert _said(script, "hello", "please deploy", "deploy!") == ["else", "deployed", "deployed"]


def test_the_text_of_a_skill_is_not_the_persons_message() -> None:
    script = [{"when": "deploy", "text": "wrong"}, {"text": "right"}]
    prompt = frame_message([skill_block("x", "how to deploy")], "hello")

    assert _said(script, prompt) == ["right"]


@each_row(
    ("text", "problem"),
    [
        ("{", "is no script"),
        ("[1]", "must be an object"),
        ('{"say": "x"}', "must be an object"),
        ('{"text": 3}', "`text`"),
        ('{"when": "x"}', "answers nothing"),
        ('{"tools": "x"}', "`tools`"),
        ('{"tools": [{}]}', "`name`"),
    ],
)
def test_a_script_that_is_none_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ModelError, match=problem):
        scripted_model(text, "answers")
