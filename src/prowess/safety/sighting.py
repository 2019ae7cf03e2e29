"""What a reader saw, before anybody decides what it weighs."""

from dataclasses import dataclass

from prowess.safety.model import Confidence, Level
from prowess.safety.views import Spot


@dataclass(frozen=True, slots=True)
class Sighting:
    """A rule that a text meets, before profile and context decide what it weighs."""

    rule_id: str
    spot: Spot
    message: str
    confidence: Confidence = Confidence.HIGH
    # None: the level of the rule's row.
    level: Level | None = None
    lowered_by: tuple[str, ...] = ()
