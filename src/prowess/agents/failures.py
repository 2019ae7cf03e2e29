"""What a provider's failure means to the person who waits, in one sentence.

No sentence repeats what a server said: some servers repeat the key.
"""

from pydantic_ai import exceptions as provider

from prowess.agents.events import Trouble

MOST_REQUESTS = 25

_LIMIT = (
    f"the model asked for more than {MOST_REQUESTS} steps in one turn and was stopped: what it did"
    " is kept, and `go on` continues."
)
_BEHAVIOUR = (
    "the model answered with something that is neither text nor a call that fits: try again, or"
    " another model."
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


def trouble_of(error: Exception, model_name: str) -> Trouble:
    """Return what to tell a person about a failed turn."""
    if isinstance(error, provider.UsageLimitExceeded):
        return Trouble(code="limit", message=_LIMIT)
    if isinstance(error, provider.ModelRequestTimeout):
        problem = f"was silent for {error.timeout:g} seconds: try again, or raise the timeout"
    elif isinstance(error, provider.UnexpectedModelBehavior):
        return Trouble(code="model", message=f"{model_name}: {_BEHAVIOUR}")
    else:
        problem = next(
            (sentence for kind, sentence in _SENTENCES if isinstance(error, kind)),
            f"failed ({type(error).__name__})",
        )
    status = getattr(error, "status_code", None)
    shown = f" (HTTP {status})" if isinstance(status, int) else ""
    return Trouble(code="model", message=f"{model_name}: {problem}{shown}.")
