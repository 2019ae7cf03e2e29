"""How much a message sounds like one for any assistant, and not like an errand for a skill.

A line between everyday messages and errands, drawn by least squares in the encoder's own space. It
is held against a message only as far as the catalogue lies on the other side: where the skills
themselves tell jokes or do sums, asking for it is no small talk.
"""

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from prowess.data import read_table

Floats: TypeAlias = NDArray[np.float32]

# With about as many texts as dimensions, an unbridled fit would learn the texts by heart.
_BRIDLE = 3.0


class Everyday(NamedTuple):
    """A direction in the encoder's space and the point where it turns."""

    direction: Floats
    turn: float
    # How much of the catalogue lies on the side of errands, squared: half a catalogue of everyday
    # skills is reason enough to hold little against everyday messages.
    weight: float

    @classmethod
    def between(cls, vectors: Mapping[str, Floats], skills: Floats) -> Self:
        """Draw the line from the vectors of the background texts, and see where `skills` lie."""
        messages = read_messages()
        errands = np.array([vectors[text] for text in messages.errands])
        everyday = np.array([vectors[text] for text in messages.everyday])
        both = np.concatenate([errands, everyday])
        side = np.concatenate([np.ones(len(errands)), -np.ones(len(everyday))])
        middle = both.mean(axis=0)
        centred = both - middle
        normal = centred.T @ centred + _BRIDLE * np.eye(both.shape[1])
        direction = np.linalg.solve(normal, centred.T @ (side - side.mean()))
        # Scaled so that the average errand is two apart from the average everyday message.
        apart = float((errands @ direction).mean() - (everyday @ direction).mean())
        direction = (direction * (2 / max(apart, 1e-6))).astype(np.float32)
        turn = float(middle @ direction)
        share = float(np.mean(skills @ direction > turn)) if len(skills) else 0.0
        return cls(direction, turn, share**2)

    def leaning(self, message: Floats) -> float:
        """Return how far the message leans to errands, below zero where to everyday messages."""
        return self.weight * (float(message @ self.direction) - self.turn)


class Messages(NamedTuple):
    """The background texts, each on its side of the line."""

    everyday: tuple[str, ...]
    errands: tuple[str, ...]


@cache
def read_messages() -> Messages:
    """Return the messages that need no skill, and the errands that do."""
    table = read_table("routing/background.toml")
    return Messages(*(tuple(table[side].strip().splitlines()) for side in Messages._fields))


def list_messages() -> tuple[str, ...]:
    """Return every text whose vector is needed to draw the line."""
    return (*read_messages().errands, *read_messages().everyday)
