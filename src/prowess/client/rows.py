"""The rows of longer answers: numbers of use, events of use, and stations of a skill's way.

Each can also be asked by the name that the gateway uses: `row["lastUsedAt"]`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from prowess.client.fields import Fields, Json

_NO_COUNTS = frozenset(("name", "agentId", "lastUsedAt"))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    raw: Json = field(repr=False)

    # Whatever JSON holds.
    def __getitem__(self, name: str) -> Any:  # noqa: ANN401
        """Return what the gateway sent under that name."""
        return self.raw[name]


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageTotal(_Row):
    """How often one agent was shown, given and used one skill."""

    name: str
    agent_id: str
    # By what happened, in the gateway's word: listed, routed, loaded and so on.
    counts: Mapping[str, int]
    # In ISO 8601; empty where it never was.
    last_used_at: str

    @classmethod
    def read(cls, raw: Json) -> "UsageTotal":
        """Read one of the totals of `skills.usage`."""
        found = Fields(raw)
        counts = {name: found.whole(name) for name in raw if name not in _NO_COUNTS}
        return cls(
            name=found.text("name"),
            agent_id=found.text("agentId"),
            counts={name: count for name, count in counts.items() if count is not None},
            last_used_at=found.text("lastUsedAt"),
            raw=raw,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageEvent(_Row):
    """One use of one skill."""

    sequence: int
    # In ISO 8601.
    at: str
    type: str
    name: str
    agent_id: str

    @classmethod
    def read(cls, raw: Json) -> "UsageEvent":
        """Read one of the events of `skills.usage`."""
        found = Fields(raw)
        return cls(
            sequence=found.whole("sequence") or 0,
            at=found.text("at"),
            type=found.text("type"),
            name=found.text("name"),
            agent_id=found.text("agentId"),
            raw=raw,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Step(_Row):
    """One station on a skill's way to the model."""

    stage: str
    passed: bool
    detail: str
    fix: str

    @classmethod
    def read(cls, raw: Json) -> "Step":
        """Read one of the steps of `skills.why`."""
        found = Fields(raw)
        return cls(
            stage=found.text("stage"),
            passed=found.flag("passed"),
            detail=found.text("detail"),
            fix=found.text("fix"),
            raw=raw,
        )
