"""The user's own language model, behind an OpenAI-compatible endpoint.

Nothing is asked of it but by a command that says so: routing itself never needs it.
"""

import json
from collections.abc import Mapping

from prowess.errors import ModelError
from prowess.host.models.endpoint import Endpoint, Purpose
from prowess.runtime.ports import LanguageModel
from prowess.settings import ModelSettings

_PURPOSE = Purpose(
    path="/chat/completions",
    error=ModelError,
    address_setting="skills.model.endpoint",
    model_setting="skills.model.name",
    key_setting="skills.model.keyEnv",
    most_bytes=4_000_000,
)
_NOT_CONFIGURED = (
    "none is configured: run"
    " `prowess config set skills.model.endpoint http://127.0.0.1:11434/v1` (this is where a local"
    " Ollama listens), `prowess config set skills.model.name llama3.2` and, where a key is needed,"
    " `prowess config set skills.model.keyEnv NAME_OF_A_VARIABLE`."
)


class EndpointModel:
    """Asks an endpoint for one answer at a time: `POST {endpoint}/chat/completions`."""

    def __init__(
        self,
        endpoint: str,
        *,
        name: str,
        key: str = "",
        timeout_s: float = 60.0,
        pause_s: float = 0.5,
    ) -> None:
        """Prepare to ask, without asking.

        Raises:
            ModelError: the address or the key cannot be used.
        """
        self._endpoint = Endpoint(endpoint, _PURPOSE, key=key, timeout_s=timeout_s, pause_s=pause_s)
        self._name = name

    @property
    def name(self) -> str:
        """What the user calls it."""
        return self._name

    def complete(self, instructions: str, question: str) -> str:
        """Return the model's answer.

        Raises:
            ModelError: it does not answer, or not with text.
        """
        answer = self._endpoint.ask(
            {
                "model": _readable(self._name),
                "messages": [
                    {"role": "system", "content": _readable(instructions)},
                    {"role": "user", "content": _readable(question)},
                ],
                # The same question, the same answer, as far as a model can promise that.
                "temperature": 0,
            }
        )
        content = _content(answer)
        if not content:
            raise self._endpoint.failure(
                "does not answer with a text: is it OpenAI-compatible, and is `skills.model.name`"
                " a model for chats?"
            )
        return content


def open_model(settings: ModelSettings, environ: Mapping[str, str]) -> LanguageModel:
    """Return the model of the settings; nothing is asked yet.

    Args:
        settings: what was chosen.
        environ: where the endpoint's key is looked for.

    Raises:
        ModelError: there is none, or what was chosen cannot be used.
    """
    if not settings.endpoint or settings.endpoint == "none":
        raise ModelError("language model", _NOT_CONFIGURED)
    if not settings.name:
        problem = "needs a name: run `prowess config set skills.model.name NAME`."
        raise ModelError("language model", problem)
    key = environ.get(settings.key_env, "").strip() if settings.key_env else ""
    if settings.key_env and not key:
        problem = f"needs a key: set the environment variable {settings.key_env}, which"
        raise ModelError("language model", f"{problem} `skills.model.keyEnv` names.")
    return EndpointModel(settings.endpoint, name=settings.name, key=key)


def _content(answer: bytes) -> str:
    """Return the text of an answer; empty where it holds none."""
    try:
        content = json.loads(answer)["choices"][0]["message"]["content"]
    except (ValueError, KeyError, IndexError, TypeError, RecursionError):
        return ""
    return content.strip() if isinstance(content, str) else ""


def _readable(text: str) -> str:
    # Half a surrogate pair, as an odd file name has it, is nothing that UTF-8 can carry.
    return text.encode("utf-8", "replace").decode("utf-8")
