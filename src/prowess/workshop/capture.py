"""A user's correction, told by its phrase: no model, the same answer every time.

It is a signal and no author: what comes out is one instruction in the user's own words. Whole words
count, so that `assets` is not `asset` and `scenarios` is no `scenario`.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from prowess.data import read_table
from prowess.language.corrections import states_a_rule
from prowess.transcripts.turns import ChatTurn, Role

_NOD = re.compile(r"ok[,. ]\s*", re.IGNORECASE)
# What every such skill says besides; it is written once, however many corrections follow.
_HOUSE_RULES = (
    "- Check the result against these steps before the final reply.",
    "- Keep lasting pitfalls here as short bullets.",
)


@dataclass(frozen=True, slots=True)
class Topic:
    """A kind of work with a skill of its own."""

    skill: str
    title: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """A correction that is worth a proposal, and where it was said."""

    instruction: str
    topic: Topic
    turn: ChatTurn

    @property
    def reason(self) -> str:
        """Why this is proposed, in one line."""
        return f"User correction for {self.topic.label}"

    @property
    def bullet(self) -> str:
        """The instruction as a line of a skill."""
        return f"- {self.instruction}"

    @property
    def body(self) -> str:
        """The instruction as the body of a skill."""
        lines = (f"# {self.topic.title}", "", "## Workflow", "", self.bullet, *_HOUSE_RULES)
        return "\n".join(lines)

    @property
    def description(self) -> str:
        """When such a skill is meant."""
        return f"Steps that users asked for. Use for {self.topic.label}."


def capture(said: Iterable[ChatTurn]) -> Capture | None:
    """Return the last correction that a user gave, if any."""
    for turn in reversed([turn for turn in said if turn.role is Role.USER]):
        text = " ".join(turn.text.split())
        if states_a_rule(text):
            instruction = _NOD.sub("", text, count=1) if _NOD.match(text) else text
            return Capture(instruction=instruction, topic=topic_of(instruction), turn=turn)
    return None


def topic_of(instruction: str) -> Topic:
    """Return the first topic that an instruction speaks of."""
    lowered, table = instruction.lower(), read_table("workshop/capture.toml")
    found = (row for row in table["topic"] if re.search(row["pattern"], lowered))
    row = next(found, table["learned"])
    return Topic(row["skill"], row["title"], row["label"])
