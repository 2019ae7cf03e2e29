"""Opening a model: what is missing is named, and nothing is asked of anybody."""

import pytest
from tests.rows import each_row

from prowess.agents.models import ModelSources, open_model
from prowess.errors import ModelError
from prowess.settings import ModelSettings


def _sources(**settings: str) -> ModelSources:
    return ModelSources(
        settings=ModelSettings(**settings),
        environ={"KEY": "secret-value"},
        read_script=lambda path: f'{{"text": "from {path}"}}',
    )


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OLLAMA_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@each_row(
    ("named", "problem"),
    [
        ("openai:gpt-5", "set the environment variable OPENAI_API_KEY"),
        ("anthropic:claude-sonnet-4-5", "set the environment variable ANTHROPIC_API_KEY"),
        ("ollama:llama3", "set the environment variable OLLAMA_BASE_URL"),
        ("groq:llama", r"pip install 'pydantic-ai-slim\[groq\]'"),
        ("nonesuch:x", "no known provider.*anthropic.*openai"),
        ("gpt-5", "PROVIDER:NAME"),
        ("openai:", "PROVIDER:NAME"),
        (":x", "PROVIDER:NAME"),
    ],
)
def test_what_a_model_needs_is_named_in_one_sentence(named: str, problem: str) -> None:
    with pytest.raises(ModelError, match=problem) as refused:
        open_model(named, _sources())

    assert "\n" not in str(refused.value)


def test_an_empty_key_is_a_missing_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "")

    with pytest.raises(ModelError, match="set the environment variable OPENAI_API_KEY"):
        open_model("openai:gpt-5", _sources())


def test_without_any_choice_every_way_to_choose_is_named() -> None:
    with pytest.raises(ModelError) as refused:
        open_model("", _sources())

    for way in ("--model", "PROWESS_MODEL", "skills.model.endpoint", "skills.model.name"):
        assert way in str(refused.value)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"endpoint": "ftp://x", "name": "m"}, "http://"),
        ({"endpoint": "http://x/v1"}, "skills.model.name"),
        ({"endpoint": "http://x/v1", "name": "m", "key_env": "ABSENT"}, "ABSENT"),
    ],
)
def test_settings_that_cannot_be_used_are_named(settings: dict[str, str], problem: str) -> None:
    with pytest.raises(ModelError, match=problem):
        open_model("", _sources(**settings))


def test_the_endpoint_of_the_settings_is_opened_with_its_own_key() -> None:
    opened = open_model("", _sources(endpoint="http://127.0.0.1:9/v1", name="m", key_env="KEY"))

    assert opened.name == "m"
    assert opened.model.base_url == "http://127.0.0.1:9/v1/"
    assert "secret-value" not in repr(opened)


def test_a_script_is_a_model() -> None:
    assert open_model("script:a.json", _sources()).name == "script:a.json"
