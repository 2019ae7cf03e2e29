"""What a provider's failure means to the person who waits, in one sentence.

No sentence repeats what a server said: some servers repeat the key.
"""

from pydantic_ai import exceptions as provider

from prowess.agents.events import Trouble

MOST_REQUESTS, MOST_CALLS, MOST_ANSWER_CHARS = 25, 50, 400_000

_LIMIT = (
    f"the model asked for more than {MOST_REQUESTS} steps in one turn and was stopped: what it did"
    " is kept, and `go on` continues."
)
_BEHAVIOUR = (
    "the model answered with something that is neither text nor a call that fits: try again, or"
    " another model."
)
_CALLS = (
    f"the model called more than {MOST_CALLS} tools in one turn and was stopped: what it did is"
    " kept, and `go on` continues."
)
_FLOOD = (
    f"the answer is longer than {MOST_ANSWER_CHARS:,} characters and was stopped: what came so far"
    " is kept, shortened."
)
# The first that fits says it, so the narrow ones come first.
_SENTENCES: tuple[tuple[type[Exception], str], ...] = (
    (provider.ModelAuthenticationError, "refuses the key: check the one that is set"),
    (provider.ModelNotFoundError, "is not known to its provider: check the model's name"),
    (
        provider.ModelContextWindowExceededError,
        "cannot take so much text: begin anew with /new, or use fewer skills",
    ),
    (provider.ModelQuotaExceededError, "is not answering: the account's quota is used up"),
    (provider.ModelRateLimitError, "is asked too often: wait a moment and try again"),
    (provider.ModelRequestRejectedError, "does not take the request: it may lack tools or a role"),
    (provider.ModelTimeoutError, "was silent for too long: try again, or raise the timeout"),
    (
        provider.ModelConnectionError,
        "cannot be reached, or broke off: check that it runs and can be reached",
    ),
    (provider.ModelUnavailableError, "is not available now: try again later"),
    (provider.ModelServerError, "failed on its provider's side: try again later"),
)


# No error of ours: it ends the stream of a turn, and becomes a sentence.
class TooMuch(Exception):  # noqa: N818
    """The model sends more than a turn may hold."""

    @classmethod
    def calls(cls) -> "TooMuch":
        """Return what ends a turn with too many calls."""
        return cls(_CALLS)

    @classmethod
    def text(cls) -> "TooMuch":
        """Return what ends an answer without an end."""
        return cls(_FLOOD)


def trouble_of(error: Exception, model_name: str) -> Trouble:
    """Return what to tell a person about a failed turn."""
    if isinstance(error, provider.UsageLimitExceeded):
        return Trouble(code="limit", message=_CALLS if "tool_calls" in str(error) else _LIMIT)
    if isinstance(error, TooMuch):
        return Trouble(code="limit", message=str(error))
    if isinstance(error, provider.ModelRequestTimeout):
        problem = f"was silent for {error.timeout:g} seconds: try again, or raise the timeout"
    elif isinstance(error, provider.UnexpectedModelBehavior):
        return Trouble(code="model", message=f"{model_name}: {_BEHAVIOUR}")
    else:
        problem = next(
            (sentence for kind, sentence in _SENTENCES if isinstance(error, kind)),
            f"failed, or sent what nobody understands ({type(error).__name__}): try again, or"
            " another model",
        )
    status = getattr(error, "status_code", None)
    shown = f" (HTTP {status})" if isinstance(status, int) else ""
    return Trouble(code="model", message=f"{model_name}: {problem}{shown}.")


def internal_trouble(error: Exception) -> Trouble:
    """Return what to tell a person about what should not have happened; the chat goes on."""
    problem = f"the turn failed ({type(error).__name__}): try again, or begin anew with /new. Set"
    return Trouble(code="internal", message=f"{problem} PROWESS_DEBUG=1 for the traceback.")
