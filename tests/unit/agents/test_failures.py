"""Failures of providers: one sentence each, and never a word of what the server said."""

from pydantic_ai import exceptions as provider
from tests.rows import each_row

from prowess.agents.chat import TooMuch, internal_trouble, trouble_of


@each_row(
    ("error", "said"),
    [
        (
            provider.ModelHTTPError.for_category(
                provider.ModelAuthenticationError,
                status_code=401,
                model_name="m",
                body={"error": "bad key sk-secret"},
            ),
            "refuses the key",
        ),
        (
            provider.ModelHTTPError.for_category(
                provider.ModelNotFoundError, status_code=404, model_name="m", body="sk-secret"
            ),
            "check the model's name",
        ),
        (provider.ModelConnectionError("m", "sk-secret"), "can be reached"),
        (provider.ModelTimeoutError("m", "sk-secret"), "silent for too long"),
        (provider.ModelRequestTimeout("m", 7.0), "silent for 7 seconds"),
        (provider.UnexpectedModelBehavior("sk-secret"), "try again"),
        (provider.ModelHTTPError(418, "m", "sk-secret"), "HTTP 418"),
    ],
)
def test_a_failure_is_one_sentence_without_the_servers_words(error: Exception, said: str) -> None:
    trouble = trouble_of(error, "mymodel")

    assert trouble.code == "model"
    assert said in trouble.message
    assert trouble.message.startswith("mymodel: ")
    assert "sk-secret" not in trouble.message
    assert "\n" not in trouble.message


def test_too_many_steps_are_a_limit() -> None:
    assert trouble_of(provider.UsageLimitExceeded("x"), "m").code == "limit"


def test_each_limit_has_a_sentence_of_its_own() -> None:
    calls = trouble_of(provider.UsageLimitExceeded("the tool_calls_limit of 50"), "m")
    flood = trouble_of(TooMuch.text(), "m")

    assert "tools in one turn" in calls.message
    assert "longer than" in flood.message
    assert calls.code == flood.code == "limit"


def test_what_no_library_foresaw_is_a_sentence_too() -> None:
    assert "another model" in trouble_of(AttributeError("sk-secret"), "m").message
    assert "PROWESS_DEBUG" in internal_trouble(ValueError("sk-secret")).message
