"""Opens the model that a person names, and says what is missing where that fails.

Nothing is asked of a provider here. Keys come from the process's environment, as the providers'
own libraries read them, or from the variable that `skills.model.keyEnv` names.
"""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple, get_args

import pydantic_ai
from pydantic_ai.exceptions import UserError
from pydantic_ai.models import KnownModelName, Model, infer_model
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider
from pydantic_ai.settings import ModelSettings as RequestSettings

from prowess.agents.script import scripted_model
from prowess.errors import ModelError
from prowess.settings import ModelSettings

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
        return Opened(_inferred(named), named, request)
    settings = sources.settings
    if not settings.endpoint or settings.endpoint == "none":
        raise ModelError("language model", _NONE)
    return Opened(_endpoint(settings, sources.environ), settings.name, request)


def _inferred(named: str) -> Model:
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
        raise ModelError(named, _missing(error)) from error


def _missing(error: Exception) -> str:
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
    # Without it, an answer that breaks off looks like one that is complete.
    profile = OpenAIModelProfile(openai_chat_streaming_requires_finish_reason=True)
    provider = OpenAICompatibleProvider(
        "endpoint",
        base_url=settings.endpoint,
        api_key=key or None,
        profile=profile,
    )
    return OpenAIChatModel(settings.name, provider=provider)
