"""What routing answers: which skills fit a message, how well, and why."""

from collections.abc import Mapping
from dataclasses import field
from enum import Enum

from prowess.data import dataclass
from prowess.skills.model import Skill


class Decision(Enum):
    """What to do with the best skills: load them, name them to the agent, or nothing."""

    LOAD = "load"
    OFFER = "offer"
    NONE = "none"


class Status(Enum):
    """Whether meaning took part: without an encoder only words and names are matched."""

    OK = "ok"
    DEGRADED = "degraded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """One skill with its score for a message, from 0 to 1, and what speaks for and against it."""

    skill: Skill
    score: float
    # What each signal adds to the evidence that the score is made from.
    signals: Mapping[str, float] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()
    # How likely it is, by words and meaning alone, that this skill is meant, whatever is loaded.
    clarity: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """From which score on a skill is loaded, and from which it is offered."""

    load: float
    offer: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """The answer for one message."""

    decision: Decision
    thresholds: Thresholds
    # What is loaded or offered, best first; empty where nothing is.
    matches: tuple[Match, ...] = ()
    # The best skills whatever the decision, best first.
    considered: tuple[Match, ...] = ()
    status: Status = Status.OK
    # Why the answer may be worse than usual, in sentences for a person.
    notes: tuple[str, ...] = ()
    # Task, question, follow-up and so on; empty where the encoder could not tell.
    kind: str = ""
    took_ms: float = 0.0
