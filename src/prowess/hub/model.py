"""What a hub knows: namespaces with roles, skills with versions that never change, and who asks.

A role says what a person may do in a namespace, a scope what a token may do at all: an action needs
both, so that a stolen token of an admin that may only read can only read.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from prowess.errors import HubError
from prowess.safety.paths import shown
from prowess.sharing.lock import Files, content_digest

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*\Z")
_VERSION = re.compile(
    r"(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})"
    r"(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z.-]+)?\Z"
)
_LONGEST_NAME, _LONGEST_VERSION = 64, 64
# The newest version is found by its number, so nobody may say that it is another one.
LATEST = "latest"
# Between the namespace and the name where a client knows flat names only; no name has two dashes.
FLAT = "--"


class HubRole(StrEnum):
    """What a person may do in a namespace; each may do what those before it may."""

    READER = "reader"
    PUBLISHER = "publisher"
    REVIEWER = "reviewer"
    ADMIN = "admin"

    @property
    def rank(self) -> int:
        """The higher, the more."""
        return list(HubRole).index(self)


class TokenScope(StrEnum):
    """What a token may be used for."""

    READ = "read"
    PUBLISH = "publish"
    REVIEW = "review"
    ADMIN = "admin"

    @property
    def role(self) -> HubRole:
        """The least role that an action of this scope needs."""
        return list(HubRole)[list(TokenScope).index(self)]


class VersionState(StrEnum):
    """What became of a version."""

    PENDING = "pending"
    PUBLISHED = "published"
    REJECTED = "rejected"
    # Given to whoever asks for exactly this one, since locks name it; found by nobody else.
    YANKED = "yanked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Namespace:
    """A group of skills with people who look after it."""

    id: int
    name: str
    is_public: bool
    # Whether somebody else has to say yes before a version can be had.
    is_reviewed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class HubCaller:
    """Who asks: a person with roles by namespace, as far as the token lets them be used."""

    person: str = ""
    scopes: frozenset[TokenScope] = frozenset((TokenScope.READ,))
    roles: Mapping[str, HubRole] = field(default_factory=dict)
    # Of the hub as a whole: makes namespaces, and vouches for names.
    is_operator: bool = False

    def may(self, scope: TokenScope, namespace: Namespace) -> bool:
        """Return whether this may be done in a namespace."""
        if scope not in self.scopes:
            return False
        if self.is_operator or (scope is TokenScope.READ and namespace.is_public):
            return True
        role = self.roles.get(namespace.name)
        return role is not None and role.rank >= scope.role.rank


@dataclass(frozen=True, slots=True, kw_only=True)
class HubFile:
    """One file of a version."""

    path: str
    sha256: str
    size: int
    executable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HubSkill:
    """A skill of the catalogue."""

    id: int
    namespace: Namespace
    name: str
    title: str
    summary: str
    created_ms: int
    updated_ms: int
    deprecated: str = ""
    downloads: int = 0
    # An older skill that its name could be taken for.
    resembles: int | None = None

    @property
    def address(self) -> str:
        """What people write."""
        return f"{self.namespace.name}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class HubVersion:
    """One version: what it holds never changes, what people think of it does."""

    id: int
    skill_id: int
    version: str
    state: VersionState
    files: tuple[HubFile, ...]
    # The digest of the archive that is given to whoever takes it.
    archive: str
    publisher: str
    created_ms: int
    changelog: str = ""
    reviewer: str = ""
    # Why it was rejected or yanked.
    reason: str = ""
    manifest: Mapping[str, Any] = field(default_factory=dict)
    scan: Mapping[str, Any] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @property
    def hashes(self) -> Files:
        """The digest of every file."""
        return {one.path: one.sha256 for one in self.files}

    @property
    def digest(self) -> str:
        """The digest over all files, the same as in a lock."""
        return content_digest(self.hashes)


def check_name(what: str, text: str) -> str:
    """Return a name that can be part of an address.

    Raises:
        HubError: it cannot.
    """
    if not _NAME.match(text) or len(text) > _LONGEST_NAME:
        problem = (
            f"is no {what}: use up to {_LONGEST_NAME} small letters and digits, with single dashes"
            " between them."
        )
        raise HubError(shown(text) or "''", problem)
    return text


def check_version(text: str) -> str:
    """Return a version that can be ordered.

    Raises:
        HubError: it cannot.
    """
    if len(text) > _LONGEST_VERSION or not _VERSION.match(text):
        raise HubError(shown(text) or "''", "is no version: write three numbers, such as 1.0.0.")
    return text


def order_version(text: str) -> tuple[Any, ...]:
    """Return what sorts versions as semver does: numbers by size, and a preview before it."""
    found = _VERSION.match(text)
    if found is None:
        return (0, 0, 0, 0, ())
    numbers = tuple(int(one) for one in found.groups()[:3])
    preview = found[4]
    if preview is None:
        return (*numbers, 1, ())
    parts = tuple((0, int(one), "") if one.isdigit() else (1, 0, one) for one in preview.split("."))
    return (*numbers, 0, parts)


def is_preview(version: str) -> bool:
    """Return whether a version is one that nobody gets without asking for it."""
    found = _VERSION.match(version)
    return found is not None and found[4] is not None
