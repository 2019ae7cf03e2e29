"""What a message is: its kind, and whether it tells of an occasion that some skills are for.

"Still broken" shares no word with a skill for debugging, and no topic either. So a head on the
message's vector says whether it reports a fault, wants a plan or wants a review; what such an
occasion needs is a sentence, and skills are compared with that sentence. An occasion speaks where
the topic does not. The heads belong to one encoder and are made by `training.judgement`; with
another encoder there are none, and messages have neither kind nor occasion.
"""

import base64
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from prowess.data import read_table
from prowess.routing.dense import DenseIndex, cosines
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
    # How far it is of kinds that need no skill, from 0 on.
    idle: float = 0.0
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
    def build(
        cls, encoder_id: str, vectors: Mapping[str, Floats], dense: DenseIndex
    ) -> Self | None:
        """Compare skills with what occasions need; None where the encoder has no heads."""
        heads = read_heads(encoder_id)
        if heads is None:
            return None
        rows = [_measure_service(dense, vectors[text]) for text in read_needs().values()]
        return cls(tuple(heads), np.array(list(heads.values()), np.float32), np.array(rows))

    def read(self, message: str, vector: Floats, *, follows: bool) -> MessageReading:
        """Say what kind of message it is; `follows` where a conversation came before it."""
        told = np.concatenate([vector, list_signs(message, follows=follows), [1.0]])
        said = dict(zip(self.names, (self.weights @ told).tolist(), strict=True))
        kinds = {name: said[name] for name in read_kinds()}
        sure = [1 / (1 + np.exp(-(said[name] - _SURE) / _STEEP)) for name in read_needs()]
        return MessageReading(
            kind=max(kinds, key=kinds.__getitem__),
            idle=sum(max(0.0, kinds[name] - _SURE) for name, idle in read_kinds().items() if idle),
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


def _measure_service(dense: DenseIndex, need: Floats) -> Floats:
    whole = cosines(dense.whole, need)
    best = np.maximum(whole, dense.best_phrases(need))
    near = ((whole + best) / 2 - _PARTLY) / (_WHOLLY - _PARTLY)
    serving = np.clip(near, 0, 1)
    share = min(1.0, _MOST_SERVING / max(float(serving.sum()), 1e-9))
    found: Floats = (serving * share).astype(np.float32)
    return found


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
def read_kinds() -> Mapping[str, bool]:
    """Return the kinds of messages, and whether one needs no skill of its own."""
    kinds: Mapping[str, bool] = read_table("routing/background.toml")["needs_none"]
    return kinds
