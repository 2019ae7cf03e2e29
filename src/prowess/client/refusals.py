"""What can go wrong between a client and its gateway: a refusal, or no connection.

A refusal leaves the connection as it is. After a loss nobody knows whether a call that was under
way has been done: a call is never sent twice by itself.
"""

from typing import Any

from prowess.errors import ProwessError

# What a client says in the gateway's place.
NO_ANSWER, TOO_LARGE, MISMATCH = "TIMEOUT", "PAYLOAD_TOO_LARGE", "PROTOCOL_MISMATCH"
NO_SKILL = "NOT_FOUND"
# Asking again the same way would be refused again.
LASTING = frozenset(("FORBIDDEN", "INVALID_REQUEST", "UNAUTHORIZED", MISMATCH))


class GatewayCallError(ProwessError):
    """A gateway refuses what its client asks for, or does not answer in time."""

    code = "gateway.call"

    def __init__(
        self,
        reason: str,
        message: str,
        details: dict[str, Any] | None = None,
        payload: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(f"{message} ({reason})")
        # What the gateway calls it, such as INVALID_REQUEST.
        self.reason, self.message, self.details = reason, message, details or {}
        # What it sends beside the refusal, such as the output of an install that failed.
        self.payload = payload


class GatewayLostError(ProwessError):
    """A client cannot reach its gateway, or not any more."""

    code = "gateway.lost"


class NotSentError(GatewayLostError):
    """The connection was about to end, so a call was not sent: it can be sent over the next one."""

    code = "gateway.not_sent"


def read_refusal(answer: dict[str, Any]) -> GatewayCallError:
    """Return the refusal that a response holds."""
    error, payload = answer.get("error"), answer.get("payload")
    found = error if isinstance(error, dict) else {}
    details = found.get("details")
    return GatewayCallError(
        str(found.get("code") or "UNAVAILABLE"),
        str(found.get("message") or "the gateway refuses and does not say why"),
        details if isinstance(details, dict) else None,
        payload if isinstance(payload, dict) else None,
    )


def is_stale(error: GatewayCallError) -> bool:
    """Return whether the config was changed by somebody else in the meantime."""
    said = error.message.lower()
    return (
        error.details.get("reason") == "config.conflict"
        or "re-run config.get" in said
        or "config changed since last load" in said
    )
