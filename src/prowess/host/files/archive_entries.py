"""What the readers of both kinds of archive share: limits, entries, and how one is refused."""

import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

from prowess.errors import ArchiveError
from prowess.safety.paths import MAX_DEPTH, shown

_MIB = 1 << 20
_SPECIAL_BITS = stat.S_ISUID | stat.S_ISGID | stat.S_ISVTX


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveLimits:
    """How much one archive may hold. The operator may raise each."""

    compressed: int = 64 * _MIB
    total: int = 256 * _MIB
    per_file: int = 32 * _MIB
    entries: int = 5000
    # Bytes out for each byte in; what unpacks to no more than `small` is not measured.
    ratio: int = 100
    small: int = _MIB
    depth: int = MAX_DEPTH


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry as its archive describes it; `read` returns exactly `size` bytes or refuses."""

    name: str
    is_folder: bool
    executable: bool
    size: int
    packed: int
    read: Callable[[], bytes]


class Listing(NamedTuple):
    """The entries in the order of the file, and a last question before they are believed."""

    entries: Sequence[Entry]
    confirm: Callable[[], None]


def refuse(member: str, reason: str, problem: str) -> NoReturn:
    """Refuse the whole archive because of one member, or of itself where `member` is empty.

    Raises:
        ArchiveError: always.
    """
    raise ArchiveError(shown(member), reason, problem)


def decode_name(raw: bytes) -> str:
    """Return a member's name, which must be UTF-8 whatever the archive says of it."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        refuse(raw.decode("latin-1"), "name-encoding", "has a name that is not UTF-8.")


def check_mode(name: str, mode: int) -> None:
    """Refuse permissions that give more than reading, writing and running."""
    if mode & _SPECIAL_BITS:
        refuse(name, "mode-bits", "has a setuid, setgid or sticky bit.")


def check_count(count: int, limits: ArchiveLimits) -> None:
    """Refuse more entries than the limit."""
    if count > limits.entries:
        refuse("", "entries", f"has more than {limits.entries} entries.")
