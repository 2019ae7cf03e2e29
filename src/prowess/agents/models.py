"""Opens the model that a person names, and says what is missing where that fails.

Nothing is asked of a provider here. Keys come from the process's environment, as the providers'
own libraries read them, or from the variable that `skills.model.keyEnv` names. A model may also be
a script of answers, as JSON lines or one array: `text` (a string, or a list that is streamed),
`tools` (each with `name` and `arguments`), `when` (a part of the last user message), `repeat` and
`fail`; each request takes the first answer left that fits.
"""

import json
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, get_args

import pydantic_ai
from pydantic_ai.exceptions import ModelConnectionError, UserError
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models import KnownModelName, Model, infer_model
from pydantic_ai.models.function import (
    AgentInfo,
    DeltaThinkingCalls,
    DeltaToolCall,
    DeltaToolCalls,
    FunctionModel,
)
from pydantic_ai.settings import ModelSettings as RequestSettings

from prowess.agents.conversation import extract_words
from prowess.errors import ModelError
from prowess.settings import ModelSettings

_KEYS = {"text", "tools", "when", "repeat", "fail"}
_NO_ANSWER = "(the script has no answer for this)"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswer:
    """One answer of a script."""

    pieces: tuple[str, ...] = ()
    tools: tuple[tuple[str, str], ...] = ()
    when: str = ""
    repeat: bool = False
    fail: str = ""


class ModelScript:
    """Answers that are given out in order; each once, unless it repeats."""

    def __init__(self, answers: Sequence[ModelAnswer], name: str) -> None:
        self._left = list(answers)
        self._name = name
        self._calls = 0

    async def stream(
        self, messages: list[ModelMessage], info: AgentInfo
    ) -> AsyncIterator[str | DeltaToolCalls | DeltaThinkingCalls]:
        """Stream the next answer that fits the request."""
        del info
        answer = self._take_answer(last_words(messages))
        for piece in answer.pieces:
            yield piece
        if answer.fail:
            raise ModelConnectionError(self._name, answer.fail)
        for index, (name, arguments) in enumerate(answer.tools):
            self._calls += 1
            call_id = f"call_{self._calls}"
            yield {index: DeltaToolCall(name=name, json_args=arguments, tool_call_id=call_id)}

    async def respond(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        """Give the text of the next answer at once, for whoever does not stream."""
        pieces = [piece async for piece in self.stream(messages, info) if isinstance(piece, str)]
        return ModelResponse(parts=[TextPart(content="".join(pieces))])

    def _take_answer(self, words: str) -> ModelAnswer:
        for answer in self._left:
            if answer.when.lower() in words.lower():
                if not answer.repeat:
                    self._left.remove(answer)
                return answer
        return ModelAnswer(pieces=(_NO_ANSWER,))


def scripted_model(text: str, name: str) -> FunctionModel:
    """Return a model that answers from a script.

    Raises:
        ModelError: the script is not one.
    """
    script = ModelScript(_answers(text, name), name)
    named = f"script:{name}"
    return FunctionModel(script.respond, stream_function=script.stream, model_name=named)


def last_words(messages: Sequence[ModelMessage]) -> str:
    """Return the person's own words in the last message that is from one."""
    for message in reversed(messages):
        if isinstance(message, ModelRequest):
            said = [part.content for part in message.parts if isinstance(part, UserPromptPart)]
            texts = [content for content in said if isinstance(content, str)]
            if texts:
                return extract_words(texts[-1])
    return ""


def _answers(text: str, name: str) -> list[ModelAnswer]:
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


def _answer(value: object, place: str) -> ModelAnswer:
    if not isinstance(value, Mapping) or not set(value) <= _KEYS:
        raise ModelError(place, f"must be an object with some of {', '.join(sorted(_KEYS))}.")
    given = value.get("text", [])
    pieces = [given] if isinstance(given, str) else given
    if not isinstance(pieces, list) or not all(isinstance(piece, str) for piece in pieces):
        raise ModelError(place, "has a `text` that is neither a string nor a list of strings.")
    answer = ModelAnswer(
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


SCRIPT = "script:"
_VARIABLE = re.compile(r"`([A-Z][A-Z0-9_]{3,})`")
_PIP = re.compile(r'pip install "([^"]+)"')
_ADDRESS = re.compile(r"https?://[^\s/]+", re.IGNORECASE)
_NONE = (
    "none is chosen: give `--model anthropic:claude-sonnet-4-5` (or another PROVIDER:NAME), set the"
    " environment variable PROWESS_MODEL, or run `prowess config set skills.model.endpoint URL` and"
    " `prowess config set skills.model.name NAME` for an OpenAI-compatible endpoint."
)


class Opened(NamedTuple):
    """A model, what a person calls it, and how it is asked."""

    model: Model
    name: str
    request: RequestSettings


class ModelSources(NamedTuple):
    """Where models come from besides their name."""

    settings: ModelSettings
    # Holds secrets.
    environ: Mapping[str, str]
    read_script: Callable[[str], str]
    # How long a model may be silent.
    seconds: float = 120.0


def open_model(named: str, sources: ModelSources) -> Opened:
    """Return the model that is named, else the one of the settings; nothing is asked yet.

    Raises:
        ModelError: there is none, or something is missing; the message says what.
    """
    # Its notice on first use is for whoever writes an agent, not for whoever talks to one.
    pydantic_ai.BANNER_ENABLED = False
    if named.startswith(SCRIPT):
        path = named.removeprefix(SCRIPT)
        return Opened(scripted_model(sources.read_script(path), path), named, RequestSettings())
    request = RequestSettings(timeout=sources.seconds, first_event_timeout=sources.seconds)
    if named:
        return Opened(_infer(named), named, request)
    settings = sources.settings
    if not settings.endpoint or settings.endpoint == "none":
        raise ModelError("language model", _NONE)
    return Opened(_endpoint(settings, sources.environ), settings.name, request)


def _infer(named: str) -> Model:
    provider, _, name = named.partition(":")
    if not provider or not name:
        raise ModelError(named, f"is not a model: give PROVIDER:NAME with {_providers()}.")
    try:
        return infer_model(named)
    except ImportError as error:
        found = _PIP.search(str(error))
        package = found.group(1) if found else "pydantic-ai-slim"
        problem = f"needs a package: run `pip install '{package}'`."
        raise ModelError(named, problem) from error
    # Each provider's library has errors of its own for what is missing.
    except Exception as error:
        raise ModelError(named, _explain_missing(error)) from error


def _explain_missing(error: Exception) -> str:
    message = str(error)
    if message.startswith("Unknown model"):
        return f"is of no known provider: give PROVIDER:NAME with {_providers()}."
    names = list(dict.fromkeys(_VARIABLE.findall(message)))
    if names:
        return f"needs a setting: set the environment variable {' or '.join(names)}."
    if isinstance(error, UserError):
        return f"cannot be used: {message.split('. ', maxsplit=1)[0].rstrip('.')}."
    return f"cannot be used ({type(error).__name__}): check its name and its settings."


def _providers() -> str:
    known: tuple[str, ...] = get_args(getattr(KnownModelName, "__value__", KnownModelName))
    prefixes = {name.partition(":")[0] for name in known if ":" in name}
    plain = sorted({*prefixes, "ollama", "openrouter", "azure"} - {"test"})
    return "one of " + ", ".join(name for name in plain if "/" not in name)


def _endpoint(settings: ModelSettings, environ: Mapping[str, str]) -> Model:
    if not _ADDRESS.match(settings.endpoint):
        problem = "must begin with http:// or https://: correct `skills.model.endpoint`."
        raise ModelError("skills.model.endpoint", problem)
    if not settings.name:
        problem = "needs a name: run `prowess config set skills.model.name NAME`."
        raise ModelError("language model", problem)
    key = environ.get(settings.key_env, "").strip() if settings.key_env else ""
    if settings.key_env and not key:
        problem = f"needs a key: set the environment variable {settings.key_env}, which"
        raise ModelError(settings.name, f"{problem} `skills.model.keyEnv` names.")
    # They take half a second to load, and no other model needs them.
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.profiles.openai import OpenAIModelProfile
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    # Without it, an answer that breaks off looks like one that is complete.
    profile = OpenAIModelProfile(openai_chat_streaming_requires_finish_reason=True)
    provider = OpenAICompatibleProvider(
        "endpoint", base_url=settings.endpoint, api_key=key or None, profile=profile
    )
    return OpenAIChatModel(settings.name, provider=provider)
