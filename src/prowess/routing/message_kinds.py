"""What kind of message comes: whether it tells of an occasion that some skills are for.

And how much it sounds like one for any assistant; that is held against a message only as far as the
catalogue lies on the other side.
"""

import base64
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from prowess.data import read_table
from prowess.routing.dense import DenseIndex, Encoded, cosines
from prowess.routing.lexical_and_breadth import list_messages, read_messages
from prowess.routing.words import measure_shape

Floats: TypeAlias = NDArray[np.float32]

# A skill is for an occasion from the first cosine on, and wholly from the second.
_PARTLY, _WHOLLY = 0.38, 0.55
# An occasion that more skills are for than these picks none of them.
_MOST_SERVING = 3.0
# How sure a head must be, and how steep that is.
_SURE, _STEEP = 0.5, 0.1
_MANY_WORDS, _FEW_WORDS = 40, 3
_QUESTIONS = "?\uff1f"


class MessageReading(NamedTuple):
    """What the heads say of one message."""

    # The likeliest kind; empty without heads.
    kind: str = ""
    # How far it is of kinds that need no skill, from 0 on, and the likeliest of them in words.
    idle: float = 0.0
    resting: str = ""
    # How sure each occasion is, in the order of the needs.
    occasions: tuple[float, ...] = ()


class Occasions(NamedTuple):
    """The heads of one encoder, and which skills are for which occasion."""

    names: tuple[str, ...]
    # A row for each head: what a vector, then what the signs of a text weigh, then the rest.
    weights: Floats
    # A row for each need: how much each skill is for it.
    serving: Floats

    @classmethod
    def build(cls, encoded: Encoded, dense: DenseIndex, known: int | None = None) -> Self | None:
        """Compare skills with what occasions need; None where the encoder has no heads."""
        heads = read_heads(encoded.encoder_id)
        if heads is None:
            return None
        needs = (encoded.vectors[text] for text in read_needs().values())
        rows = np.array([_measure_service(dense, need, known) for need in needs])
        return cls(tuple(heads), np.array(list(heads.values()), np.float32), rows)

    def read(self, message: str, vector: Floats, *, follows: bool) -> MessageReading:
        """Say what kind of message it is; `follows` where a conversation came before it."""
        told = np.concatenate([vector, list_signs(message, follows=follows), [1.0]])
        said = dict(zip(self.names, (self.weights @ told).tolist(), strict=True))
        kinds = {name: said[name] for name in read_kinds()}
        resting = {idle: kinds[name] for name, idle in read_kinds().items() if idle}
        sure = [1 / (1 + np.exp(-(said[name] - _SURE) / _STEEP)) for name in read_needs()]
        return MessageReading(
            kind=max(kinds, key=kinds.__getitem__),
            idle=sum(max(0.0, sure - _SURE) for sure in resting.values()),
            resting=max(resting, key=resting.__getitem__),
            occasions=tuple(float(one) for one in sure),
        )

    def weigh(self, reading: MessageReading) -> Floats:
        """Return how much each skill is for the occasion of a message, from 0 to 1."""
        found: Floats = (np.array(reading.occasions, np.float32)[:, None] * self.serving).max(
            axis=0
        )
        return found


def list_signs(message: str, *, follows: bool) -> list[float]:
    """Return what can be seen of a message without reading it."""
    words = measure_shape(message).words
    asks = any(mark in message for mark in _QUESTIONS)
    return [
        min(words, _MANY_WORDS) / _MANY_WORDS,
        float(asks),
        float(follows),
        float(words <= _FEW_WORDS),
    ]


def _measure_service(dense: DenseIndex, need: Floats, known: int | None) -> Floats:
    whole = cosines(dense.whole, need)
    best = np.maximum(whole, dense.best_phrases(need))
    near = ((whole + best) / 2 - _PARTLY) / (_WHOLLY - _PARTLY)
    serving = np.clip(near, 0, 1)
    share = min(1.0, _MOST_SERVING / max(float(serving[:known].sum()), 1e-9))
    return np.asarray(serving * share, np.float32)


@cache
def read_heads(encoder_id: str) -> Mapping[str, Sequence[float]] | None:
    """Return the weights of each head by its name; None where they belong to another encoder."""
    table = read_table("model/heads.toml")
    if table["encoder"] != encoder_id:
        return None
    return {
        name: np.frombuffer(base64.b64decode(raw), np.float16).astype(np.float32).tolist()
        for name, raw in table["weights"].items()
    }


@cache
def read_needs() -> Mapping[str, str]:
    """Return what each occasion needs, as a skill for it would say."""
    needs: Mapping[str, str] = read_table("routing/background.toml")["needs"]
    return needs


@cache
def read_kinds() -> Mapping[str, str]:
    """Return the kinds of messages, and what one is called that needs no skill of its own."""
    kinds: Mapping[str, str] = read_table("routing/background.toml")["needs_none"]
    return kinds


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


def list_common_texts() -> tuple[str, ...]:
    """Return the texts whose vectors every index needs."""
    return (*list_messages(), *read_needs().values())
