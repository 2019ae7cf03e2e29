"""Who reviews turns: the configured endpoint, a provider's model, or a program of the user's.

Each is asked one question without tools. No message repeats what a server or a program said: some
repeat the key, and the question itself is a conversation of the user's.
"""

import asyncio
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from prowess.data import read_table
from prowess.errors import ModelError
from prowess.host.models.endpoint import EndpointModel, open_model, replace_halves
from prowess.runtime.ports import ChildCommand, ChildResult, Processes
from prowess.runtime.workshop.ports import REVIEW_SESSION_PREFIX
from prowess.runtime.workshop.review import ReviewModel
from prowess.settings import ModelSettings
from prowess.spans import contain

# What a program that we ask can tell its own hooks, so that no review is reviewed.
SESSION_VARIABLE = "PROWESS_SESSION"
MOST_REPLY_CHARS = 400_000
# Far more than a good skill is long, and what most models allow.
_MOST_TOKENS = 8_000

_NOT_INSTALLED = "needs a package: run `pip install 'prowess[agents]'`."
_VARIABLE = re.compile(r"`([A-Z][A-Z0-9_]{3,})`")
_PACKAGE = re.compile(r'pip install "([^"]+)"')
_BY_HAND = "run it by hand with a question on its standard input to see why"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewerChoice:
    """What was chosen; the first that is set counts."""

    # A program and its arguments.
    command: tuple[str, ...] = ()
    # PROVIDER:NAME.
    model: str = ""
    endpoint: ModelSettings = field(default_factory=ModelSettings)


def open_reviewer(
    choice: ReviewerChoice, environ: Mapping[str, str], processes: Processes
) -> ReviewModel:
    """Return the reviewer that was chosen; what is missing for it is said when it is asked."""
    if choice.command:
        return CommandReviewer(processes, choice.command, environ)
    if choice.model:
        return ProviderReviewer(choice.model)
    return EndpointReviewer(choice.endpoint, environ)


class EndpointReviewer:
    """Asks the OpenAI-compatible endpoint of `skills.model`."""

    def __init__(self, settings: ModelSettings, environ: Mapping[str, str]) -> None:
        self._settings, self._environ = settings, environ

    def ask(self, instructions: str, question: str, seconds: float) -> str:
        """Return the model's answer, within so many seconds of silence.

        Raises:
            ModelError: there is no model, or it does not answer.
        """
        chosen = self._settings
        # Says what is missing.
        open_model(chosen, self._environ)
        key = self._environ.get(chosen.key_env, "").strip() if chosen.key_env else ""
        model = EndpointModel(chosen.endpoint, name=chosen.name, key=key, timeout_s=seconds)
        return model.complete(instructions, question)


class ProviderReviewer:
    """Asks a model by a name that pydantic-ai knows; keys are those of the process's environment.

    Not for a thread in which an event loop runs.
    """

    # What is open already is a model of that library.
    def __init__(self, named: str, opened: Any = None) -> None:  # noqa: ANN401
        self._named, self._opened = named, opened

    def ask(self, instructions: str, question: str, seconds: float) -> str:
        """Return the model's answer, within so many seconds."""
        model = self._model()
        with self._explained(_sentence):
            try:
                reply = asyncio.run(_request(model, instructions, question, seconds))
            except TimeoutError as error:
                problem = f"does not answer within {seconds:g} s: raise `reviewTimeoutMs`"
                raise self._failure(problem) from error
        if not reply.strip():
            raise self._failure("does not answer with a text: try another model")
        return reply

    # Typed where it is installed; it is an extra.
    def _model(self) -> Any:  # noqa: ANN401
        if self._opened is not None:
            return self._opened
        provider, _, name = self._named.partition(":")
        if not provider or not name:
            raise self._failure("is no model: give PROVIDER:NAME, such as anthropic:NAME")
        try:
            package: Any = import_module("pydantic_ai")
            # Its notice on first use is for whoever writes an agent.
            package.BANNER_ENABLED = False
            infer = import_module("pydantic_ai.models").infer_model
        except ImportError as error:
            raise ModelError(self._named, _NOT_INSTALLED) from error
        with self._explained(_missing):
            try:
                return infer(self._named)
            except ImportError as error:
                found = _PACKAGE.search(str(error))
                wanted = found.group(1) if found else f"pydantic-ai-slim[{provider}]"
                raise self._failure(f"needs a package: run `pip install '{wanted}'`") from error

    @contextmanager
    def _explained(self, say: Callable[[Exception], str]) -> Iterator[None]:
        def explain(error: Exception) -> None:
            raise error if isinstance(error, ModelError) else self._failure(say(error)) from None

        # The libraries of providers raise what they like, with whatever a server said in it.
        with contain(explain):
            yield

    def _failure(self, problem: str) -> ModelError:
        return ModelError(self._named, f"{problem}.")


# See `_model`.
async def _request(model: Any, instructions: str, question: str, seconds: float) -> str:  # noqa: ANN401
    direct = import_module("pydantic_ai.direct")
    messages = import_module("pydantic_ai.messages")
    asked = messages.ModelRequest(
        parts=[messages.UserPromptPart(content=replace_halves(question))],
        instructions=replace_halves(instructions),
    )
    # One attempt: the next turn is the next one.
    settings = {"timeout": seconds, "max_retries": 0, "max_tokens": _MOST_TOKENS}
    async with asyncio.timeout(seconds), model:
        response = await direct.model_request(model, [asked], model_settings=settings)
    return response.text or ""


def _missing(error: Exception) -> str:
    """Say what a provider needs that is not there; nothing of its message but names."""
    message = str(error)
    names = list(dict.fromkeys(_VARIABLE.findall(message)))
    if names:
        return f"needs a key or an address: set the environment variable {' or '.join(names)}"
    if message.startswith("Unknown model"):
        return "is of no known provider: give PROVIDER:NAME, such as anthropic:NAME"
    return f"cannot be used ({type(error).__name__}): check its name and what its provider needs"


def _sentence(error: Exception) -> str:
    kinds = {kind.__name__ for kind in type(error).__mro__}
    sentences: dict[str, str] = read_table("host/models/reviewers.toml")["sentences"]
    said = next((words for kind, words in sentences.items() if kind in kinds), None)
    if said is None:
        return f"does not answer as its provider should ({type(error).__name__})"
    status = getattr(error, "status_code", None)
    return f"{said} (HTTP {status})" if isinstance(status, int) else said


class CommandReviewer:
    """Asks a program: the question on its standard input, the answer on its standard output.

    It runs in an empty folder, since a coding agent would take any other for its workplace.
    """

    def __init__(
        self, processes: Processes, argv: Sequence[str], environment: Mapping[str, str]
    ) -> None:
        self._processes, self._argv, self._environment = processes, tuple(argv), environment

    def ask(self, instructions: str, question: str, seconds: float) -> str:
        """Return what the program printed, within so many seconds.

        Raises:
            ModelError: it cannot be started, fails, takes too long or prints nothing.
        """
        with tempfile.TemporaryDirectory(prefix="prowess-review-") as folder:
            session = f"{REVIEW_SESSION_PREFIX}{os.path.basename(folder)}"
            result = self._processes.run(
                ChildCommand(
                    argv=self._argv,
                    environment={**self._environment, SESSION_VARIABLE: session},
                    folder=folder,
                    seconds=seconds,
                    stdin=f"{instructions}\n\n{question}\n",
                    most_chars=MOST_REPLY_CHARS,
                )
            )
        problem = _problem(result, seconds)
        if problem:
            # Its arguments are not named: they may hold a key.
            raise ModelError(self._argv[0], f"{problem}.")
        return result.stdout


def _problem(result: ChildResult, seconds: float) -> str:
    """Say why the result of a program is no answer; empty where it is one."""
    if result.timed_out:
        return f"does not end within {seconds:g} s: {_BY_HAND}, or raise `reviewTimeoutMs`"
    if result.problem:
        return result.problem.rstrip(".")
    if result.code != 0:
        return f"ends with code {result.code}: {_BY_HAND}"
    if not result.stdout.strip():
        return f"prints nothing: {_BY_HAND}"
    # Not `cut`, which is also set by errors and notices that nobody reads.
    is_long = len(result.stdout) > MOST_REPLY_CHARS
    return f"prints more than {MOST_REPLY_CHARS} characters: {_BY_HAND}" if is_long else ""
