"""What the log of uses holds, and what keeps it: values, bounds and one port."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

MOST_EVENTS = 20_000
# Of a skill and an agent together, each with its five numbers.
MOST_PAIRS = 10_000
# Of a day, a skill and an agent together.
MOST_DAYS = 50_000
LONGEST_NAME = 200
_MOST_TOTALS_SHOWN = 2_000


class Use(StrEnum):
    """What happened to a skill."""

    LISTED = "listed"
    ROUTED = "routed"
    LOADED = "loaded"
    INVOKED = "invoked"
    CORRECTED = "corrected"


# The uses by which a skill earns its place in a prompt.
WORTH = frozenset((Use.LOADED, Use.INVOKED))

Pair = tuple[str, str]
_DAY_MS = 86_400_000
# The number that a calendar gives to the first day of 1970.
_FIRST_DAY = 719_163


def utc_day(at_ms: int) -> int:
    """Return the number of the day of a moment, as calendars count, in no place's own time."""
    return at_ms // _DAY_MS + _FIRST_DAY


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageEvent:
    """One use of one skill."""

    use: Use
    skill: str
    agent_id: str
    at_ms: int
    # Given by the store, and always growing.
    sequence: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageTotal:
    """How often each thing happened to one skill of one agent."""

    skill: str
    agent_id: str
    counts: Mapping[Use, int]
    last_used_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageDay:
    """How often each thing happened on one day to one skill of one agent."""

    # Counted as calendars count days, in the time of the place.
    day: int
    agent_id: str
    # Empty for messages that no skill fitted.
    skill: str = ""
    counts: Mapping[Use, int] = field(default_factory=dict)
    unmatched: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageQuery:
    """Which part of the log somebody wants to see; None stands for all."""

    agent_id: str | None = None
    skill: str | None = None
    after: int = 0
    most_events: int = 100
    most_totals: int = _MOST_TOTALS_SHOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class UsagePage:
    """A part of the log, oldest event first."""

    totals: tuple[UsageTotal, ...] = ()
    events: tuple[UsageEvent, ...] = ()
    # Whether there are events after these.
    more: bool = False


class UsageStore(Protocol):
    """Keeps the log; safe for several threads and processes."""

    def add(
        self,
        totals: Sequence[UsageTotal],
        events: Sequence[UsageEvent],
        at_ms: int,
        days: Sequence[UsageDay] = (),
    ) -> None:
        """Add numbers to what is counted and events to the log, all or none of them.

        Raises:
            StoreError: it cannot be written.
        """

    def days(self, first: int, agent_id: str | None) -> Sequence[UsageDay]:
        """Return what happened from a day on, to one agent's skills or to all.

        Raises:
            StoreError: it cannot be read.
        """

    def read(self, query: UsageQuery) -> UsagePage:
        """Return a part of the log.

        Raises:
            StoreError: it cannot be read.
        """

    def last_used(self, agent_id: str | None = None) -> Mapping[str, int]:
        """Return when each skill was last used, by one agent or by any, in milliseconds since 1970.

        Raises:
            StoreError: it cannot be read.
        """

    def close(self) -> None:
        """Give back what the store holds open."""
