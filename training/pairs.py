"""Training pairs: utterances and the skill texts they belong to, cleaned and varied.

The pairs were mined by rules from public skills, so many are noise and many texts are near copies
of each other. What the base encoder finds unrelated is dropped; copies are masked in training.
"""

import json
import lzma
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

POLITE = (
    "can you ", "could you please ", "please ", "i need to ", "help me ", "i want to ",
    "how do i ", "i'd like you to ", "can you help me ", "let's ", "we need to ", "hey, ",
    "what's the best way to ", "i'm looking for a way to ", "is there a way to ", "i have to ",
    "my team asked me to ", "show me how to ", "i'm trying to ", "would you mind to ",
    "i was wondering how to ", "it would be great to ", "i'm stuck, i should ", "today i must ",
)  # fmt: skip
AFTERWARDS = (
    ", any recommendations?", ", what do you suggest?", ". thanks!", ", please", " for me",
    " as soon as possible", ". can you assist me with that?", ". where do i start?",
    " - any ideas?", " for a friend of mine", " before tomorrow",
)  # fmt: skip
# How often an utterance is varied in each way.
POLITELY, IN_LOWER_CASE, WITHOUT_STOP, ONE_WORD_LESS, WITH_AN_END = 0.4, 0.3, 0.3, 0.15, 0.15
LONG_ENOUGH_TO_LOSE_A_WORD = 6
_SENTENCE_END = re.compile(r"(?<=[.!?])\s")
WEAK_KINDS = {"intro": 0.35, "body-when": 0.8}


@dataclass(slots=True)
class Pairs:
    """Skill texts, and utterances with the index of their text."""

    docs: list[str]
    utterances: list[str]
    targets: np.ndarray
    kinds: list[str]


def load(path: Path, *, limit: int | None = None) -> Pairs:
    """Read the mined pairs (plain or .xz); `limit` keeps the first rows, for a quick run."""
    opener = lzma.open if path.suffix == ".xz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        raw = json.load(file)
    rows = raw["rows"][:limit]
    # Only the texts that are asked for: a quick run must not read the rest.
    used = sorted({row[1] for row in rows})
    places = {index: place for place, index in enumerate(used)}
    return Pairs(
        docs=[raw["docs"][index] for index in used],
        utterances=[row[0] for row in rows],
        targets=np.array([places[row[1]] for row in rows]),
        kinds=[row[2] for row in rows],
    )


def vary(utterance: str, chance: random.Random) -> str:
    """Say the same as a person might: politely, in lower case, without the last full stop."""
    text = utterance.strip()
    if chance.random() < POLITELY:
        text = chance.choice(POLITE) + text[:1].lower() + text[1:]
    if chance.random() < IN_LOWER_CASE:
        text = text.lower()
    if chance.random() < WITHOUT_STOP:
        text = text.rstrip(".!?")
    words = text.split()
    if len(words) > LONG_ENOUGH_TO_LOSE_A_WORD and chance.random() < ONE_WORD_LESS:
        del words[chance.randrange(len(words))]
        text = " ".join(words)
    if chance.random() < WITH_AN_END:
        text = text.rstrip(".!?") + chance.choice(AFTERWARDS)
    return text


def shortened(doc: str) -> str:
    """Return the first sentence of a skill's text: many catalogues say no more than that."""
    return _SENTENCE_END.split(doc, maxsplit=1)[0]


def nameless(doc: str) -> str:
    """Return a skill's text without its name, which is often a brand that no message has."""
    return doc.partition(": ")[2] or doc


def tokenizer(path: Path, length: int) -> Tokenizer:
    """Load the tokenizer, cutting at `length` tokens and padding each batch."""
    found = Tokenizer.from_file(str(path))
    found.enable_truncation(length)
    found.enable_padding(pad_id=0, pad_token="[PAD]")  # noqa: S106
    return found


def padded(rows: Sequence[Sequence[int]]) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of token ids as one array, and its mask."""
    width = max(map(len, rows))
    ids = np.zeros((len(rows), width), dtype=np.int64)
    mask = np.zeros_like(ids)
    for index, row in enumerate(rows):
        ids[index, : len(row)] = row
        mask[index, : len(row)] = 1
    return ids, mask


def tokens(found: Tokenizer, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return ids and mask of a batch."""
    encoded = found.encode_batch(list(texts))
    ids = np.array([item.ids for item in encoded], dtype=np.int64)
    return ids, np.array([item.attention_mask for item in encoded], dtype=np.int64)
