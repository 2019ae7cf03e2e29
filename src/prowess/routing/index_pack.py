"""An index as bytes and back, so that a process that answers one message need not make it.

Only what is costly to make travels: the skills themselves are at hand, and what they say outright
is read from them. The bytes are data, never code: a tree in JSON, and the arrays behind it. What
cannot be read is no index, whatever the reason; the caller then makes one.
"""

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from prowess.routing.dense import DenseIndex, Group
from prowess.routing.everyday import Everyday
from prowess.routing.fusion import Breadth
from prowess.routing.handoffs import Handoff
from prowess.routing.index import SkillIndex
from prowess.routing.lexical import LexicalIndex, Postings
from prowess.routing.passages import Evidence
from prowess.routing.triggers import HintIndex
from prowess.skills.model import Skill

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
