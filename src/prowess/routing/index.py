"""Everything about a set of skills that routing needs, made once and used for every message.

An index as bytes and back, so that a process that answers one message need not make it.

Only what is costly to make travels: the skills themselves are at hand, and what they say outright
is read from them. The bytes are data, never code: a tree in JSON, and the arrays behind it. What
cannot be read is no index, whatever the reason; the caller then makes one.
"""

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from prowess.routing import background as everyday
from prowess.routing.background import Everyday
from prowess.routing.dense import DenseIndex, Group, texts_of
from prowess.routing.fusion import Breadth
from prowess.routing.handoffs import Handoff
from prowess.routing.lexical import LexicalIndex, Postings
from prowess.routing.passages import Evidence
from prowess.routing.triggers import HintIndex
from prowess.skills.model import Skill

Floats: TypeAlias = NDArray[np.float32]
Numbers: TypeAlias = NDArray[np.floating]

_MOST_HANDED_OVER = 8
# The share of messages for others above which a skill counts as broad.
_BROAD_QUANTILE = 0.98
# So many times the distance of the lower quarter from the middle, above the middle, sticks out.
_STICKS_OUT = 2.5
_FEW_SKILLS = 4
_HALF = 0.5


class Encoded(NamedTuple):
    """The vectors of texts, and whose they are: those of another encoder do not compare."""

    vectors: Mapping[str, Floats]
    encoder_id: str = ""
    english_only: bool = True


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SkillIndex:
    """The skills of one snapshot, ready to be matched; never changed, so threads may share it."""

    skills: tuple[Skill, ...]
    # Those that the model may not choose: only a person can call them.
    hidden: tuple[int, ...]
    evidence: tuple[Evidence, ...]
    lexical: LexicalIndex
    hints: HintIndex
    # None without an encoder: then words and what is said outright are all there is.
    dense: DenseIndex | None
    breadth: Breadth
    everyday: Everyday | None
    english_only: bool
    encoder_id: str

    @classmethod
    def build(
        cls,
        skills: Sequence[Skill],
        evidence: Sequence[Evidence],
        lexical: LexicalIndex,
        encoded: Encoded | None,
    ) -> Self:
        """Index `skills`; `encoded` has a vector for every text that `needed_texts` names."""
        dense, line = None, None
        meaning = np.zeros(len(skills), np.float32)
        if encoded is not None:
            dense = DenseIndex.build(evidence, encoded.vectors, english_only=encoded.english_only)
            line = Everyday.between(encoded.vectors, dense.whole)
            strangers = np.array([encoded.vectors[text] for text in everyday.texts()], np.float32)
            meaning = _reach_of_meaning(dense, strangers)
        return cls(
            skills=tuple(skills),
            hidden=tuple(at for at, skill in enumerate(skills) if not skill.invocation.model),
            # The bodies are in the lexical index by now.
            evidence=tuple(replace(one, body="") for one in evidence),
            lexical=lexical,
            hints=HintIndex(skills),
            dense=dense,
            breadth=Breadth(meaning, _reach_of_words(lexical)),
            everyday=line,
            english_only=encoded is not None and encoded.english_only,
            encoder_id="" if encoded is None else encoded.encoder_id,
        )


def _reach_of_words(lexical: LexicalIndex) -> Floats:
    """Return how far each skill's words reach beyond a typical skill's, never below zero."""
    found = [lexical.score(text).damped for text in everyday.texts()]
    if not lexical.size:
        return np.zeros(0, np.float32)
    high = quantile(np.array(found, np.float32).T, _BROAD_QUANTILE)
    above: Floats = np.maximum(high - middle(high), 0).astype(np.float32)
    return above


def _reach_of_meaning(dense: DenseIndex, strangers: Floats) -> Floats:
    """Return how far beyond the others a skill is close to everything; zero for nearly all.

    Only what sticks out counts: some catalogues are close to everyday language as a whole.
    """
    near = (dense.whole @ strangers.T).mean(axis=1) if len(dense.whole) else np.zeros(0)
    # What the encoder cannot read is close to nothing, and no measure for the rest.
    read = near[np.any(dense.whole != 0, axis=1)]
    if len(read) < _FEW_SKILLS:
        # Too few to say what is typical.
        return np.zeros(len(near), np.float32)
    # By the lower half alone: in a small catalogue the broad skill would be its own measure.
    low, half = (quantile(read, np.float64(share)) for share in (0.25, 0.5))
    above: Floats = np.maximum(near - (half + _STICKS_OUT * (half - low)), 0).astype(np.float32)
    return above


def quantile(values: Numbers, share: float) -> Numbers:
    """Return below what number this share of the values is, along the last axis.

    To the last bit as numpy has it, whose own function brings masked arrays along: to load them
    takes longer than to route a message. As there, a `share` of numpy's own kind makes the result
    as exact as that is, and a plain one leaves the kind of the values. All must be numbers.
    """
    last = values.shape[-1] - 1
    place = last * share
    # The last one has none above it, and is counted from the end as numpy does.
    below, above = (-1, -1) if place >= last else (int(place), int(place) + 1)
    part = place - below
    ordered = np.partition(values, (below, above), axis=-1)
    low, high = ordered[..., below], ordered[..., above]
    # From the nearer end, so that nothing is lost where the two are far apart.
    is_nearer_above = part >= _HALF
    found: Numbers = (
        high - (high - low) * (1 - part) if is_nearer_above else low + (high - low) * part
    )
    return found


def middle(values: Numbers) -> np.floating:
    """Return the median of a row of numbers, as numpy has it and for the same reason not by it."""
    first, last = (len(values) - 1) // 2, len(values) // 2
    found: np.floating = np.partition(values, (first, last))[first : last + 1].mean()
    return found


def needed_texts(evidence: Sequence[Evidence]) -> Iterator[str]:
    """Yield every text whose vector is needed, some of them more than once."""
    yield from everyday.texts()
    for one in evidence:
        yield from texts_of(one)


def with_handoffs(evidence: Sequence[Evidence]) -> list[Evidence]:
    """Give each skill the requests that others hand to it: "for slides use deck-maker"."""
    places = {one.name.casefold(): index for index, one in enumerate(evidence)}
    handed: dict[int, list[str]] = {}
    for index, one in enumerate(evidence):
        for handoff in one.handoffs:
            target = places.get(handoff.target.casefold())
            if target is not None and target != index:
                handed.setdefault(target, []).append(handoff.request)
    result = list(evidence)
    for index, requests in handed.items():
        more = tuple(dict.fromkeys(requests))[:_MOST_HANDED_OVER]
        one = result[index]
        result[index] = replace(one, phrases=tuple(dict.fromkeys((*one.phrases, *more))))
    return result


_Array: TypeAlias = NDArray[Any]

_MAGIC = b"prowess index 1\n"
_NUMBER = 8
_KINDS: Mapping[str, type] = {
    kind.__name__: kind
    for kind in (Breadth, DenseIndex, Everyday, Evidence, Group, Handoff, LexicalIndex, Postings)
}
# Made from the skills, which are at hand.
_FRESH = frozenset(("skills", "hints"))


def packed(index: SkillIndex) -> bytes:
    """Return `index` as bytes."""
    arrays: list[_Array] = []
    tree = {
        field.name: _tree(getattr(index, field.name), arrays)
        for field in fields(index)
        if field.name not in _FRESH
    }
    shapes = [(array.dtype.str, array.shape) for array in arrays]
    head = json.dumps([shapes, tree], separators=(",", ":")).encode()
    # Arrays begin at whole steps of their widest number.
    head += b" " * (-len(head) % _NUMBER)
    body = b"".join([_number(len(head)), head, *(_padded(array) for array in arrays)])
    return _MAGIC + _number(zlib.crc32(body)) + body


def unpacked(raw: bytes, skills: Sequence[Skill]) -> SkillIndex | None:
    """Return the index of `skills` that was packed; None where the bytes hold none."""
    start = len(_MAGIC) + _NUMBER
    if not raw.startswith(_MAGIC) or raw[len(_MAGIC) : start] != _number(zlib.crc32(raw[start:])):
        return None
    # Whole, but perhaps written by another version.
    try:
        length = int.from_bytes(raw[start : start + _NUMBER], "little")
        at = start + _NUMBER
        shapes, tree = json.loads(raw[at : at + length])
        arrays = _arrays(raw, at + length, shapes)
        parts = {name: _made(part, arrays) for name, part in tree.items()}
        found = SkillIndex(skills=tuple(skills), hints=HintIndex(skills), **parts)
    except (KeyError, TypeError, ValueError, IndexError):
        return None
    return found if len(found.evidence) == found.lexical.size == len(skills) else None


def _tree(value: object, arrays: list[_Array]) -> object:
    if isinstance(value, np.ndarray):
        arrays.append(np.ascontiguousarray(value))
        return {"array": len(arrays) - 1}
    if is_dataclass(value) or hasattr(value, "_fields"):
        names = [one.name for one in fields(value)] if is_dataclass(value) else value._fields
        kind = type(value).__name__
        return {"kind": kind, "parts": [_tree(getattr(value, name), arrays) for name in names]}
    if isinstance(value, Mapping):
        return {"words": dict(value)}
    if isinstance(value, tuple):
        return [_tree(one, arrays) for one in value]
    return value


# Whatever JSON holds.
def _made(tree: Any, arrays: Sequence[_Array]) -> Any:  # noqa: ANN401
    if isinstance(tree, list):
        return tuple(_made(one, arrays) for one in tree)
    if not isinstance(tree, dict):
        return tree
    if "array" in tree:
        return arrays[tree["array"]]
    if "words" in tree:
        return tree["words"]
    kind, parts = _KINDS[tree["kind"]], [_made(one, arrays) for one in tree["parts"]]
    if not is_dataclass(kind):
        return kind(*parts)
    return kind(**dict(zip((one.name for one in fields(kind)), parts, strict=True)))


def _arrays(raw: bytes, at: int, shapes: Sequence[tuple[str, Sequence[int]]]) -> list[_Array]:
    found = []
    for kind, shape in shapes:
        dtype, size = np.dtype(kind), int(np.prod(shape, dtype=np.int64))
        found.append(np.frombuffer(raw, dtype, size, at).reshape(shape))
        at += dtype.itemsize * size
        at += -at % _NUMBER
    return found


def _padded(array: _Array) -> bytes:
    raw = array.tobytes()
    return raw + b" " * (-len(raw) % _NUMBER)


def _number(value: int) -> bytes:
    return value.to_bytes(_NUMBER, "little")
