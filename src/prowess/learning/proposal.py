"""A proposed change to a skill: what it is, what it leads to, and which proposals are kept.

A change is known by its content. Title and reason are no part of it, so a payload that was refused
once is the same payload under any other title.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Generic, TypeVar

# The first bytes that are hashed: a later way to write things down must not meet an older hash.
_CHANGE, _CONTENT = b"prowess change 1", b"prowess content 1"
_GONE, _THERE = b"-", b"+"


class State(StrEnum):
    """What became of a proposal."""

    PENDING = "pending"
    APPLIED = "applied"
    REJECTED = "rejected"
    QUARANTINED = "quarantined"
    STALE = "stale"


@dataclass(frozen=True, slots=True)
class Change:
    """The files of one skill as they shall be; None deletes a file."""

    skill: str
    files: Mapping[str, bytes | None]

    def __post_init__(self) -> None:
        # What was reviewed must be what is written: the caller's own mapping could still change.
        object.__setattr__(self, "files", MappingProxyType(dict(self.files)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What is remembered of a proposal, whatever became of it."""

    id: str
    # The hash of the change.
    revision: str
    state: State
    # Seconds since 1970.
    created_at: float
    title: str = ""
    reason: str = ""


_AnyRecord = TypeVar("_AnyRecord", bound=Record)


@dataclass(frozen=True, slots=True)
class Pruned(Generic[_AnyRecord]):
    """The records that stay, in the order given, and those that go, oldest first."""

    kept: tuple[_AnyRecord, ...]
    dropped: tuple[_AnyRecord, ...]


# How many records of a state are kept. Each state has its own room, so that a flood of one kind
# never pushes out another: what was quarantined stays as evidence.
DEFAULT_CAPS: Mapping[State, int] = MappingProxyType(
    {
        State.PENDING: 50,
        State.QUARANTINED: 200,
        State.REJECTED: 200,
        State.APPLIED: 500,
        State.STALE: 50,
    }
)

# A payload that was found bad stays bad, even where the same one is also waiting.
_WEIGHT = (State.QUARANTINED, State.REJECTED, State.PENDING, State.APPLIED, State.STALE)


def change_hash(change: Change) -> str:
    """Return the hash of exactly this change: the skill, every path and every byte."""
    return _digest(_CHANGE, change.skill, change.files)


def content_hash(files: Mapping[str, bytes]) -> str:
    """Return the hash of a whole skill; a skill that does not exist has no files."""
    return _digest(_CONTENT, "", files)


def result_of(current: Mapping[str, bytes], change: Change) -> dict[str, bytes]:
    """Return the whole skill as it will be after the change."""
    merged: dict[str, bytes | None] = {**current, **change.files}
    return {path: data for path, data in merged.items() if data is not None}


def duplicate_of(revision: str, records: Iterable[_AnyRecord]) -> _AnyRecord | None:
    """Return the record of the same change in any state: the gravest state, then the newest."""
    same = [record for record in records if record.revision == revision]
    same.sort(key=lambda record: (_WEIGHT.index(record.state), -record.created_at))
    return same[0] if same else None


def pruned(
    records: Sequence[_AnyRecord], caps: Mapping[State, int] = DEFAULT_CAPS
) -> Pruned[_AnyRecord]:
    """Drop the oldest records of each state that has more than its cap; without one, none."""
    dropped: list[_AnyRecord] = []
    for state, cap in caps.items():
        own = sorted((r for r in records if r.state is state), key=_age)
        dropped += own[: max(len(own) - max(cap, 0), 0)]
    gone = {id(record) for record in dropped}
    return Pruned(
        tuple(record for record in records if id(record) not in gone),
        tuple(sorted(dropped, key=_age)),
    )


def _age(record: Record) -> tuple[float, str]:
    return record.created_at, record.id


def _digest(kind: bytes, skill: str, files: Mapping[str, bytes | None]) -> str:
    """Hash with every length in front, so that no two lists of files read the same."""
    digest = hashlib.sha256()
    # A name that is no UTF-8 arrives with lone surrogates, and still has a hash of its own.
    for part in (kind, skill.encode("utf-8", "surrogatepass")):
        digest.update(len(part).to_bytes(8, "big") + part)
    named = {path.encode("utf-8", "surrogatepass"): data for path, data in files.items()}
    for path, data in sorted(named.items(), key=lambda item: item[0]):
        mark = _GONE if data is None else _THERE
        body = data or b""
        digest.update(len(path).to_bytes(8, "big") + path + mark)
        digest.update(len(body).to_bytes(8, "big") + body)
    return digest.hexdigest()
