"""The steps of a scenario: what happens in it, and what is to be seen then."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

DEFAULT_SESSION = "scenario"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Something that happens, and where the file says so."""

    line: int
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Configure(Step):
    """The operator writes the config."""

    config: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteFile(Step):
    """Somebody writes a file of the workspace."""

    path: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply(Step):
    """The reviewing model gets its next answer."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Say(Step):
    """A turn of a conversation ends."""

    messages: tuple[Mapping[str, object], ...]
    tool_calls: int = 0
    ok: bool = True
    session: str = DEFAULT_SESSION
    times: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Step):
    """The agent calls the tool; without a result or an error it must only be answered."""

    arguments: Mapping[str, object]
    # Whether a person said yes to it.
    by_person: bool = False
    result: Mapping[str, object] | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileWanted:
    """How a file of the workspace should be."""

    exists: bool = True
    contains: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    # Byte for byte; None where it does not matter.
    equals: str | None = None
    # Byte for byte what the last `file` block wrote there.
    unchanged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Expect(Step):
    """What is to be seen; what is None is not looked at."""

    proposals: Sequence[object] | None = None
    events: Sequence[object] | None = None
    files: Mapping[str, FileWanted] = field(default_factory=lambda: MappingProxyType({}))
    listed: tuple[str, ...] = ()
    unlisted: tuple[str, ...] = ()
    # In this order, since the last block that looked at the log; others may stand between.
    log: tuple[str, ...] | None = None
    asked: int | None = None
    saw: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
