"""A model that reads its answers from a script: for tests, demonstrations and offline trials.

A script is a JSON array, or one JSON object a line. Each answer has `text` (a string, or a list of
strings that are streamed one by one), `tools` (a list of `{"name": ..., "arguments": {...}}`), or
both; `when` limits it to requests whose last user message contains that text, `repeat` keeps it for
further requests, and `fail` breaks the request off. Each request takes the first
answer left that fits.
"""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_ai.exceptions import ModelConnectionError
from pydantic_ai.messages import ModelMessage, ModelRequest, UserPromptPart
from pydantic_ai.models.function import (
    AgentInfo,
    DeltaThinkingCalls,
    DeltaToolCall,
    DeltaToolCalls,
    FunctionModel,
)

from prowess.agents.framing import words_of
from prowess.errors import ModelError

_KEYS = {"text", "tools", "when", "repeat", "fail"}
_NO_ANSWER = "(the script has no answer for this)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer of a script."""

    pieces: tuple[str, ...] = ()
    tools: tuple[tuple[str, str], ...] = ()
    when: str = ""
    repeat: bool = False
    fail: str = ""


class Script:
    """Answers that are given out in order; each once, unless it repeats."""

    def __init__(self, answers: Sequence[Answer], name: str) -> None:
        self._left = list(answers)
        self._name = name
        self._calls = 0

    async def stream(
        self, messages: list[ModelMessage], info: AgentInfo
    ) -> AsyncIterator[str | DeltaToolCalls | DeltaThinkingCalls]:
        """Stream the next answer that fits the request."""
        del info
        answer = self._next(last_words(messages))
        for piece in answer.pieces:
            yield piece
        if answer.fail:
            raise ModelConnectionError(self._name, answer.fail)
        for index, (name, arguments) in enumerate(answer.tools):
            self._calls += 1
            call_id = f"call_{self._calls}"
            yield {index: DeltaToolCall(name=name, json_args=arguments, tool_call_id=call_id)}

    def _next(self, words: str) -> Answer:
        for answer in self._left:
            if answer.when.lower() in words.lower():
                if not answer.repeat:
                    self._left.remove(answer)
                return answer
        return Answer(pieces=(_NO_ANSWER,))


def scripted_model(text: str, name: str) -> FunctionModel:
    """Return a model that answers from a script.

    Raises:
        ModelError: the script is not one.
    """
    script = Script(_answers(text, name), name)
    return FunctionModel(stream_function=script.stream, model_name=f"script:{name}")


def last_words(messages: Sequence[ModelMessage]) -> str:
    """Return the person's own words in the last message that is from one."""
    for message in reversed(messages):
        if isinstance(message, ModelRequest):
            said = [part.content for part in message.parts if isinstance(part, UserPromptPart)]
            texts = [content for content in said if isinstance(content, str)]
            if texts:
                return words_of(texts[-1])
    return ""


def _answers(text: str, name: str) -> list[Answer]:
    return [
        _answer(value, f"{name}, answer {number}")
        for number, value in enumerate(_values(text, name), start=1)
    ]


def _values(text: str, name: str) -> list[Any]:
    try:
        if text.lstrip().startswith("["):
            values: list[Any] = json.loads(text)
            return values
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except (ValueError, RecursionError) as error:
        problem = f"is no script: it must be JSON or JSON lines ({error})."
        raise ModelError(name, problem) from error


def _answer(value: object, place: str) -> Answer:
    if not isinstance(value, Mapping) or not set(value) <= _KEYS:
        raise ModelError(place, f"must be an object with some of {', '.join(sorted(_KEYS))}.")
    given = value.get("text", [])
    pieces = [given] if isinstance(given, str) else given
    if not isinstance(pieces, list) or not all(isinstance(piece, str) for piece in pieces):
        raise ModelError(place, "has a `text` that is neither a string nor a list of strings.")
    answer = Answer(
        pieces=tuple(pieces),
        tools=_tools(value.get("tools", []), place),
        when=str(value.get("when", "")),
        repeat=value.get("repeat") is True,
        fail=str(value.get("fail", "")),
    )
    if not (answer.pieces or answer.tools or answer.fail):
        raise ModelError(place, "answers nothing: give `text`, `tools` or `fail`.")
    return answer


def _tools(value: object, place: str) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, list):
        raise ModelError(place, "has `tools` that are no list.")
    calls = []
    for call in value:
        if not isinstance(call, Mapping) or not isinstance(call.get("name"), str):
            raise ModelError(place, "has a tool without a `name`.")
        given = call.get("arguments", {})
        # A string stands for itself, so that a script can send arguments that are no JSON.
        calls.append((call["name"], given if isinstance(given, str) else json.dumps(given)))
    return tuple(calls)
