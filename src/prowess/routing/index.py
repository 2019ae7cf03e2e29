"""Everything about a set of skills that routing needs, made once and used for every message.

An index is also kept as bytes, so that a process that answers one message need not make it. Only
what is costly to make travels. The bytes are data, never code: a tree in JSON, and the arrays
behind it. What cannot be read is no index, whatever the reason; the caller then makes one.
"""

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from prowess.late import dataclass
from prowess.routing import background as everyday
from prowess.routing.background import Everyday
from prowess.routing.breadth import Breadth, measure_meaning, measure_words
from prowess.routing.dense import DenseIndex, PhraseGroup, list_texts
from prowess.routing.handoffs import Handoff
from prowess.routing.lexical import LexicalIndex, Postings
from prowess.routing.occasions import Occasions, read_needs
from prowess.routing.passages import SkillEvidence
from prowess.routing.triggers import HintIndex
from prowess.skills.model import Skill

Floats: TypeAlias = NDArray[np.float32]

_MOST_HANDED_OVER = 8


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
    evidence: tuple[SkillEvidence, ...]
    lexical: LexicalIndex
    hints: HintIndex
    # None without an encoder: then words and what is said outright are all there is.
    dense: DenseIndex | None
    breadth: Breadth
    everyday: Everyday | None
    # None without the encoder that the heads were fitted for.
    occasions: Occasions | None
    english_only: bool
    encoder_id: str

    @classmethod
    def build(
        cls,
        skills: Sequence[Skill],
        evidence: Sequence[SkillEvidence],
        lexical: LexicalIndex,
        encoded: Encoded | None,
    ) -> Self:
        """Index `skills`; `encoded` has a vector for every text that `needed_texts` names."""
        dense, line, occasions = None, None, None
        meaning = np.zeros(len(skills), np.float32)
        if encoded is not None:
            dense = DenseIndex.build(evidence, encoded.vectors, english_only=encoded.english_only)
            line = Everyday.between(encoded.vectors, dense.whole)
            strangers = np.array(
                [encoded.vectors[text] for text in everyday.list_messages()], np.float32
            )
            meaning = measure_meaning(dense, strangers)
            occasions = Occasions.build(encoded.encoder_id, encoded.vectors, dense)
        return cls(
            skills=tuple(skills),
            hidden=tuple(at for at, skill in enumerate(skills) if not skill.invocation.model),
            # The bodies are in the lexical index by now.
            evidence=tuple(replace(one, body="") for one in evidence),
            lexical=lexical,
            hints=HintIndex(skills),
            dense=dense,
            breadth=Breadth(meaning, measure_words(lexical, everyday.list_messages())),
            everyday=line,
            occasions=occasions,
            english_only=encoded is not None and encoded.english_only,
            encoder_id="" if encoded is None else encoded.encoder_id,
        )


def list_common_texts() -> tuple[str, ...]:
    """Return the texts whose vectors every index needs."""
    return (*everyday.list_messages(), *read_needs().values())


def list_index_texts(evidence: Sequence[SkillEvidence]) -> Iterator[str]:
    """Yield every text whose vector is needed, some of them more than once."""
    yield from list_common_texts()
    for one in evidence:
        yield from list_texts(one)


def add_handoffs(evidence: Sequence[SkillEvidence], *, guests: int = 0) -> list[SkillEvidence]:
    """Give each skill the requests that others hand to it: "for slides use deck-maker".

    The last `guests` are given theirs, and hand nothing over.
    """
    counted = evidence[: len(evidence) - guests]
    names = {one.name.casefold() for one in counted}
    handed: dict[str, list[str]] = {}
    for one in counted:
        for handoff in one.handoffs:
            target = handoff.target.casefold()
            if target in names and target != one.name.casefold():
                handed.setdefault(target, []).append(handoff.request)
    return [_add_requests(one, handed.get(one.name.casefold(), ())) for one in evidence]


def _add_requests(one: SkillEvidence, requests: Sequence[str]) -> SkillEvidence:
    more = tuple(dict.fromkeys(requests))[:_MOST_HANDED_OVER]
    return replace(one, phrases=tuple(dict.fromkeys((*one.phrases, *more)))) if more else one


_Array: TypeAlias = NDArray[Any]

_MAGIC = b"prowess index 3\n"
_NUMBER = 8
_KINDS: Mapping[str, type] = {
    kind.__name__: kind
    for kind in (
        Breadth,
        DenseIndex,
        Everyday,
        SkillEvidence,
        PhraseGroup,
        Handoff,
        LexicalIndex,
        Occasions,
        Postings,
    )
}
# Made from the skills, which are at hand.
_FRESH = frozenset(("skills", "hints"))


def pack_index(index: SkillIndex) -> bytes:
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


def unpack_index(raw: bytes, skills: Sequence[Skill]) -> SkillIndex | None:
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
