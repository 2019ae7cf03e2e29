"""What sharing needs from the world: sources, folders with a lock, kept packages and a log.

A package is the files of one skill as they came; it is kept by its digest, as the base of later
merges and so that a lock can be brought back without asking anybody.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from prowess.runtime.sharing.sync import CopiedFile
from prowess.sharing.lock import Files, Lock, LockEntry, digest_of
from prowess.sharing.source import SourceSpec

Package = Mapping[str, CopiedFile]
# Called with what is being done, how much of it, and of how much.
Progress = Callable[[str, int, int], None]


def hash_package(files: Package) -> dict[str, str]:
    """Return the digest of every file."""
    return {path: digest_of(file.content) for path, file in files.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedSkill:
    """One skill that a source holds, with its files."""

    name: str
    # Below the top of the source.
    path: str
    files: Package = field(repr=False)
    required_by: tuple[str, ...] = ()
    # Its own full commit or digest, where it is not that of the whole source.
    resolved: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """What a source gave."""

    kind: str
    url: str
    resolved: str
    ref: str = ""
    version: str = ""
    skills: tuple[OfferedSkill, ...] = ()
    # The day on which it was made, as the source says; empty where it does not.
    made: str = ""
    # All that it has, for whoever asked for another one.
    names: tuple[str, ...] = ()


class SourceReader(Protocol):
    """Fetches skills; what it returns was checked against every digest that was promised."""

    def fetch(self, spec: SourceSpec, wanted: Sequence[str], progress: Progress) -> Fetched:
        """Return the wanted skills of a source, all of them where none is named.

        Raises:
            SourceError: it cannot be reached, or is not what it says.
            ProwessError: what came breaks a rule of archives, paths or downloads.
        """

    def find_newest(self, spec: SourceSpec) -> str:
        """Return the commit that a source would resolve to now; empty where only a fetch tells."""

    def search(self, registry: str, words: str) -> list[dict[str, str]]:
        """Return what a registry finds: name, version, summary.

        Raises:
            SourceError: it cannot be asked.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class SignatureReading:
    """What is known of who signed some files."""

    provenance: Mapping[str, Any] = field(default_factory=lambda: {"unsigned": True})
    # A signature that is there and does not hold; nobody's yes helps.
    problem: str = ""
    # A signature that is there and could not be verified on this machine.
    notice: str = ""


class SignatureReader(Protocol):
    """Verifies the signature that a skill carries, without asking anybody."""

    def read(self, files: Package) -> SignatureReading:
        """Return who signed exactly these files, or what is wrong with the signature."""

    def remember(self, entry: LockEntry) -> None:
        """Take down that the signature of a locked skill was verified on this machine.

        Raises:
            PathError: it cannot be written.
        """

    def knows(self, entry: LockEntry) -> bool:
        """Return whether that was taken down, under the same root of trust."""


class SharedFolder(Protocol):
    """A folder of skills and the lock beside it."""

    @property
    def skills(self) -> str:
        """Where its skills lie."""

    @property
    def lock_path(self) -> str:
        """Where its lock lies."""

    def locate(self, name: str) -> str:
        """Return where the folder of a skill is, or would be."""

    def relate(self, path: str) -> str:
        """Return the way to a path from the lock's folder."""

    def resolve(self, path: str) -> str:
        """Return the whole path of a way from the lock's folder."""

    def has_lock(self) -> bool:
        """Return whether there is a lock."""

    def read_lock(self) -> Lock:
        """Return the lock, with what a killed process had already done; empty where none is.

        Raises:
            LockError: it is damaged.
        """

    def settle(self) -> None:
        """Bring to its end, or clear away, what killed processes left; nothing is lost by it.

        Raises:
            LockError: the lock is damaged.
            PathError: it cannot be written.
        """

    def hash(self, name: str) -> Files | None:
        """Return the digests of a skill's files; None where there is no such folder.

        Raises:
            PathError: it cannot be read.
        """

    def read(self, name: str) -> Package:
        """Return the files of a skill; none where there is no such folder.

        Raises:
            PathError: it cannot be read, or holds links.
        """

    def place(self, name: str, files: Package, entry: LockEntry) -> None:
        """Write a skill and its entry; a kill leaves both old or both new.

        Raises:
            PathError: it cannot be written; everything is as it was.
        """

    def note(self, name: str, entry: LockEntry | None) -> None:
        """Change the lock alone.

        Raises:
            PathError: it cannot be written.
        """

    def remove(self, name: str) -> str:
        """Move a skill to the trash, drop its entry, and return its id there; empty if it was gone.

        Raises:
            RemovalError: it cannot be moved.
        """

    def set_aside(self, name: str) -> None:
        """Put a skill into the trash as it is, for what takes its place in one step.

        Raises:
            RemovalError: it cannot be put there.
        """

    def list_unmanaged(self) -> tuple[str, ...]:
        """Return the folders with a skill that the lock does not name."""


class PackageStore(Protocol):
    """Keeps packages by the digest over their files."""

    def keep(self, name: str, files: Package) -> None:
        """Keep a package.

        Raises:
            PathError: it cannot be written.
        """

    def load(self, digest: str) -> Package | None:
        """Return a package that has that digest, checked; None where none is kept."""

    def has(self, digest: str) -> bool:
        """Return whether one is kept, without reading it."""
