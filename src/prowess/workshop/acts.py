"""Who did something to a proposal, as its log tells it."""

from dataclasses import dataclass
from enum import StrEnum


class Actor(StrEnum):
    """What kind of one it was."""

    AGENT = "agent"
    GATEWAY = "gateway"
    PLUGIN = "plugin"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True, kw_only=True)
class By:
    """Who it was, and by what a client knows its own deed again."""

    # None where nobody said it, as in logs of old.
    actor: Actor | None = None
    correlation_id: str = ""


NOBODY = By()
ITSELF = By(actor=Actor.SYSTEM)
