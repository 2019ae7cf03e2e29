"""A session of any harness, prompt by prompt: what was listed, hinted at and used, and what came.

Names of skills are as the harness spells them. What a harness does not log is None and not empty:
that no skill was listed is another thing than that nobody knows.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

MOST_TURNS, MOST_LISTED, MOST_SHOWN = 5_000, 2_000, 2_000
TOO_MANY_TURNS = f"a prompt after {MOST_TURNS} others"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One prompt of a person and what followed until the next."""

    # Counted from one over the whole session.
    number: int
    # When it was typed, in milliseconds since 1970; zero where the log does not say.
    at_ms: int
    prompt: str
    # What the model was shown by then; None where the harness does not log it.
    listed: tuple[str, ...] | None = None
    # What a hook named to the agent for this prompt.
    hinted: tuple[str, ...] = ()
    used: tuple[str, ...] = ()
    # Whether the next prompt of the person corrects what was done here.
    corrected: bool = False
    answer: str = ""
    # The command that the person called instead of writing a prompt (`/name`), if it was one.
    by_hand: str = ""
    tool_calls: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """What happened between a person and an agent, and what of the log was left out."""

    # As `hooks.harness` spells it.
    harness: str
    id: str
    path: str
    cwd: str
    started_ms: int
    turns: tuple[Turn, ...]
    skipped: Mapping[str, int] = field(default_factory=dict)
    # The descriptions as the model was shown them, by name; one that was dropped is empty.
    shown: Mapping[str, str] = field(default_factory=dict)

    @property
    def ended_ms(self) -> int:
        """When the last prompt was typed."""
        return max((turn.at_ms for turn in self.turns), default=self.started_ms)
