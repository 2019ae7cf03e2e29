"""The words of the scanner: findings, reports, the row of a rule, and what a reader saw.

A sighting has no weight yet; a finding has one. The hash of a whole skill is what acceptances,
changes and copies know it by.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from prowess.data import dataclass
from prowess.reading.views import Spot


class Level(StrEnum):
    """How much a finding weighs; `critical` alone quarantines."""

    CRITICAL = "critical"
    WARN = "warn"
    INFO = "info"

    @property
    def rank(self) -> int:
        """Zero for the heaviest."""
        return tuple(Level).index(self)


class Confidence(StrEnum):
    """How sure the scanner is that the text means what the rule says."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class ScanVerdict(StrEnum):
    """What becomes of the skill. An error is never clean."""

    CLEAN = "clean"
    WARN = "warn"
    QUARANTINE = "quarantine"
    ERROR = "error"


class Profile(StrEnum):
    """Whose text it is; each has its own column in the table of levels."""

    PROPOSAL = "proposal"
    PACKAGE = "package"
    BUNDLED = "bundled"

    @classmethod
    def _missing_(cls, value: object) -> "Profile":
        names = ", ".join(cls)
        raise ValueError(f"there is no profile {value!r}: give one of {names}")


class Handling(StrEnum):
    """What the intake did with a file."""

    SCANNED = "scanned"
    HARMLESS = "harmless"
    BINARY = "binary"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """What was done with one file of the skill, and why."""

    path: str
    handling: Handling
    size: int
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing found, on its line of the raw file."""

    rule_id: str
    level: Level
    confidence: Confidence
    file: str
    line: int
    column: int
    message: str
    # At most a line, secrets masked.
    evidence: str
    # Binds an operator's acceptance to exactly this text.
    evidence_hash: str
    # How the text was read: () is the raw file, ("base64", "shell") a decoded command.
    views: tuple[str, ...] = ()
    why: str = ""
    fix: str = ""
    # Contexts that lowered the level ("warning", "quoted", "official installer", "accepted").
    lowered_by: tuple[str, ...] = ()


def read_finding(row: Mapping[str, Any]) -> Finding:
    """Return a finding that was kept as JSON.

    Raises:
        KeyError, TypeError, ValueError: it is none.
    """
    level, confidence = Level(row["level"]), Confidence(row["confidence"])
    views, lowered_by = tuple(row["views"]), tuple(row["lowered_by"])
    known = {"level": level, "confidence": confidence, "views": views, "lowered_by": lowered_by}
    return Finding(**{**row, **known})


@dataclass(frozen=True, slots=True)
class ScanReport:
    """The verdict over one skill, with all it rests on."""

    verdict: ScanVerdict
    findings: tuple[Finding, ...]
    ledger: tuple[LedgerEntry, ...]
    took_ms: float = 0.0
    # Set where the verdict is `error`: what stopped the scan.
    error: str = ""


# A text alone is the body of a SKILL.md; a mapping is a whole skill by path.
Example = str | Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One row of the rule table."""

    id: str
    family: str
    title: str
    # The level of a plain hit, per profile (`bundled` reports what `package` says).
    level: Level
    proposal: Level | None = None
    why: str
    fix: str
    references: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RuleExamples:
    """Texts on which a rule must and must not fire at its level; each is a test."""

    fires: tuple[Example, ...]
    quiet: tuple[Example, ...]


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
