"""`prowess.lock`: which skills were added, from where, and what each of their files must be.

The text of a lock follows from what it says alone: keys in order, no clock and no name of a
machine, so that two people who add the same get the same bytes. A lock that is not understood is an
error and never an empty one, since an empty lock would let everything go. Keys that are not ours
stay. A digest by another way of computing is no reason to distrust a skill: the digests of its
files stand beside it, and the one over all is made anew from them.

A bill of materials follows from the lock alone, so that the same lock gives the same document; SPDX
wants a time, which the caller gives.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote

from prowess.errors import LockError
from prowess.safety.paths import PathRefused, check_all, collision_key, segments, shown

LOCK_FILE, VERSION = "prowess.lock", 1
# sha256 over `path NUL sha256 LF` of every file, by the bytes of their paths.
ALGORITHM = "sha256-path-1"
PREFIX = "sha256:"
# What stands in place of a digest for something that is no file, so that it equals no digest.
NOT_A_FILE = "not a regular file"
_HEX = re.compile(r"[0-9a-f]{64}\Z")
_TEXTS = ("source", "kind", "url", "path", "ref", "resolved", "version")
_OWN = frozenset((
    *_TEXTS, "contentDigest", "files", "pinned", "submodules", "scan", "approval", "provenance",
    "requiredBy",
))  # fmt: skip
_PROVENANCE = frozenset(("signer", "issuer", "repository", "unsigned"))
_UNSIGNED: Mapping[str, Any] = {"unsigned": True}

Files = Mapping[str, str]


def digest_of(content: bytes) -> str:
    """Return the digest of one file."""
    return hashlib.sha256(content).hexdigest()


def content_digest(files: Files) -> str:
    """Return the digest over all files of a skill, from the digest of each."""
    return PREFIX + hashlib.sha256(list_digests(files)).hexdigest()


def list_digests(files: Files) -> bytes:
    """Return what the digest of a skill is made of, which is also what its author signs."""
    ordered = sorted((path.encode("utf-8", "surrogateescape"), sha) for path, sha in files.items())
    return b"".join(path + b"\0" + sha.encode() + b"\n" for path, sha in ordered)


@dataclass(frozen=True, slots=True, kw_only=True)
class LockEntry:
    """One skill as it was added: what was asked for, and what came."""

    # As a person wrote it.
    source: str
    kind: str
    # Where it is fetched again: an address, or a folder by its way from the lock.
    url: str = ""
    path: str = ""
    # What is followed for updates; empty for what the source itself offers.
    ref: str = ""
    # The full commit, or the digest of what was fetched.
    resolved: str = ""
    # Of a registry; empty for what has none.
    version: str = ""
    pinned: bool = False
    # Whether the submodules of the repository are part of it.
    submodules: bool = False
    files: Files = field(default_factory=dict)
    scan: Mapping[str, Any] = field(default_factory=dict)
    approval: Mapping[str, Any] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=lambda: dict(_UNSIGNED))
    required_by: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def digest(self) -> str:
        """The digest over all its files."""
        return content_digest(self.files)

    @property
    def signer(self) -> str:
        """Who signed it; empty where nobody did."""
        return str(self.provenance.get("signer") or "")

    @property
    def foreign_provenance(self) -> Mapping[str, Any]:
        """What others wrote beside the signature, which outlives it."""
        return {key: one for key, one in self.provenance.items() if key not in _PROVENANCE}

    @property
    def issuer(self) -> str:
        """Who vouches for the signer; empty where nobody signed it."""
        return str(self.provenance.get("issuer") or "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """All entries by the name of their skill, in order."""

    skills: Mapping[str, LockEntry] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def put(self, name: str, entry: LockEntry) -> "Lock":
        """Return a lock with one entry more, or another in its place."""
        return replace(self, skills=dict(sorted({**self.skills, name: entry}.items())))

    def drop(self, name: str) -> "Lock":
        """Return a lock without one entry."""
        return replace(self, skills={key: one for key, one in self.skills.items() if key != name})


def dump(lock: Lock) -> bytes:
    """Return the text of a lock, always the same for the same entries."""
    values = {
        **lock.extra,
        "lockVersion": VERSION,
        "algorithm": ALGORITHM,
        "skills": {name: _dump_entry(entry) for name, entry in lock.skills.items()},
    }
    text = json.dumps(values, sort_keys=True, indent=2, ensure_ascii=False)
    return (text + "\n").encode("utf-8", "backslashreplace")


def _dump_entry(entry: LockEntry) -> dict[str, Any]:
    return {
        **entry.extra,
        **{name: getattr(entry, name) for name in _TEXTS},
        "contentDigest": entry.digest,
        "files": dict(entry.files),
        "pinned": entry.pinned,
        **({"submodules": True} if entry.submodules else {}),
        "scan": dict(entry.scan),
        "approval": dict(entry.approval),
        "provenance": dict(entry.provenance),
        "requiredBy": sorted(entry.required_by),
    }


def parse(content: bytes, path: str) -> Lock:
    """Return the lock that a file holds.

    Raises:
        LockError: it is damaged, or of a version that is not known here.
    """
    try:
        values = json.loads(content.decode(), object_pairs_hook=_refuse_twins)
        return _parse(_read_map(values, "the whole"))
    except _VersionError as error:
        raise LockError(
            shown(path),
            f"is of lockVersion {error.version!r}, and this Prowess knows {VERSION}: use the"
            " Prowess that wrote it, or a newer one.",
        ) from None
    except (ValueError, RecursionError) as error:
        said = str(error) if type(error) is ValueError else "it is not JSON"
        problem = (
            f"is damaged: {said}. Nothing was changed; put the right file back, for example with"
            f" `git checkout {LOCK_FILE}`."
        )
        raise LockError(shown(path), problem) from error


class _VersionError(Exception):
    def __init__(self, version: object) -> None:
        super().__init__(version)
        self.version = version


def _refuse_twins(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object as it is written, unless two readers could see two different ones in it."""
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(one for one in names if names.count(one) > 1)!r} is there twice")
    return found


def _parse(values: Mapping[str, Any]) -> Lock:
    version = values.get("lockVersion")
    if version != VERSION or isinstance(version, bool):
        raise _VersionError(version)
    is_ours = values.get("algorithm") == ALGORITHM
    skills = _read_map(values.get("skills"), "skills")
    if len({collision_key(name) for name in skills}) != len(skills):
        raise ValueError("two of its skills are the same folder on some systems")
    entries = {
        name: _parse_entry(name, _read_map(found, shown(name)), is_ours=is_ours)
        for name, found in sorted(skills.items())
    }
    extra = {
        name: value
        for name, value in values.items()
        if name not in {"lockVersion", "algorithm", "skills"}
    }
    return Lock(skills=entries, extra=extra)


def _parse_entry(name: str, found: Mapping[str, Any], *, is_ours: bool) -> LockEntry:
    _check(lambda: segments(name, max_depth=1), f"{shown(name)!r} is no name of a folder")
    files = {path: _hex(path, sha) for path, sha in _read_map(found.get("files"), "files").items()}
    _check(lambda: check_all(files), f"{shown(name)} has a file that no skill can have")
    required = found.get("requiredBy", [])
    if not isinstance(required, list) or not all(isinstance(one, str) for one in required):
        raise ValueError(f"requiredBy of {shown(name)} is no list of names")
    for key in ("pinned", "submodules"):
        if found.get(key, False) not in (True, False):
            raise ValueError(f"{key} of {shown(name)} is neither true nor false")
    entry = LockEntry(
        **{key: _text(name, key, found) for key in _TEXTS},
        pinned=bool(found.get("pinned", False)),
        submodules=bool(found.get("submodules", False)),
        files=files,
        scan=_read_map(found.get("scan", {}), "scan"),
        approval=_read_map(found.get("approval", {}), "approval"),
        provenance=_read_map(found.get("provenance", dict(_UNSIGNED)), "provenance"),
        required_by=tuple(required),
        extra={key: value for key, value in found.items() if key not in _OWN},
    )
    if is_ours and found.get("contentDigest") != entry.digest:
        raise ValueError(f"contentDigest of {shown(name)} does not follow from its files")
    # By another way of computing it says nothing: the digests of the files do. A yes to the one is
    # a yes to the other, since both stand for the same files.
    if not is_ours and entry.approval.get("digest", "") == found.get("contentDigest"):
        return replace(entry, approval={**entry.approval, "digest": entry.digest})
    return entry


def _check(call: Callable[[], object], problem: str) -> None:
    try:
        call()
    except PathRefused as error:
        raise ValueError(f"{problem}: {str(error).removesuffix('.')}") from error


def _read_map(value: object, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        # The caller reports every kind of damage in the same way.
        raise ValueError(f"{what} is no object")  # noqa: TRY004
    return value


def _text(name: str, key: str, found: Mapping[str, Any]) -> str:
    value = found.get(key, "")
    if not isinstance(value, str):
        # The same.
        raise ValueError(f"{key} of {shown(name)} is no text")  # noqa: TRY004
    return value


def _hex(path: str, value: object) -> str:
    text = value.removeprefix(PREFIX) if isinstance(value, str) else ""
    if not _HEX.match(text):
        raise ValueError(f"{shown(path)} has no sha256")
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """How a folder differs from what its lock says of it."""

    changed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    # From what to what: the content is the same.
    renamed: tuple[tuple[str, str], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.changed or self.added or self.removed or self.renamed)

    @property
    def lines(self) -> tuple[str, ...]:
        """What differs, each in a few words with the file's name."""
        if "" in self.added:
            # As `hash_folder` has it.
            return ("its folder is a file or a link",)
        return (
            *(f"changed {path}" for path in self.changed),
            *(f"added {path}" for path in self.added),
            *(f"removed {path}" for path in self.removed),
            *(f"renamed {old} to {new}" for old, new in self.renamed),
        )


def find_drift(locked: Files, found: Files) -> Drift:
    """Compare what should be there with what is."""
    if locked == found:
        return Drift()
    gone = {path: sha for path, sha in sorted(locked.items()) if path not in found}
    new = {path: sha for path, sha in sorted(found.items()) if path not in locked}
    renamed = tuple(_pair_renamed(gone, new))
    moved = {path for pair in renamed for path in pair}
    return Drift(
        changed=tuple(
            path for path in sorted(locked) if found.get(path, "") not in {"", locked[path]}
        ),
        added=tuple(path for path in new if path not in moved),
        removed=tuple(path for path in gone if path not in moved),
        renamed=renamed,
    )


def _pair_renamed(gone: Files, new: Files) -> Iterable[tuple[str, str]]:
    """Yield files that went and came with the same content, each once."""
    left = dict(new)
    for old, sha in gone.items():
        match = next((path for path, other in left.items() if other == sha), None)
        if match is not None:
            del left[match]
            yield old, match


CYCLONEDX, SPDX = "cyclonedx", "spdx"
_GITHUB = re.compile(r"https://github\.com/([^/]+)/([^/]+?)(?:\.git)?\Z")
_NOT_IN_ID = re.compile(r"[^A-Za-z0-9.-]+")

Document = dict[str, Any]


def make_cyclonedx(lock: Lock, version: str) -> Document:
    """Return a lock as CycloneDX 1.6."""
    tool = {"type": "application", "name": "prowess", "version": version}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"tools": {"components": [tool]}},
        "components": [_component(name, entry) for name, entry in lock.skills.items()],
    }


def _component(name: str, entry: LockEntry) -> Document:
    purl = _purl(name, entry)
    facts = {
        "prowess:source": entry.source,
        "prowess:resolved": entry.resolved,
        "prowess:verdict": str(entry.scan.get("verdict", "")),
        "prowess:signer": entry.signer,
    }
    found: Document = {
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "version": _version(entry),
        "purl": purl,
        "hashes": [_hash(entry.digest.removeprefix(PREFIX))],
        "properties": [{"name": key, "value": value} for key, value in facts.items() if value],
        "components": [
            {"type": "file", "name": path, "hashes": [_hash(sha)]}
            for path, sha in sorted(entry.files.items())
        ],
    }
    if "://" in entry.url:
        kind = "vcs" if entry.kind == "git" else "distribution"
        found["externalReferences"] = [{"type": kind, "url": entry.url}]
    return found


def _hash(content: str) -> Document:
    return {"alg": "SHA-256", "content": content}


def _version(entry: LockEntry) -> str:
    return entry.version or entry.resolved


def _purl(name: str, entry: LockEntry) -> str:
    hub = _GITHUB.match(entry.url)
    if hub:
        inner = f"#{quote(entry.path)}" if entry.path else ""
        return f"pkg:github/{hub[1].lower()}/{hub[2].lower()}@{entry.resolved}{inner}"
    if entry.kind == "oci":
        place = entry.url.removeprefix("oci://").lower()
        short, quoted = place.rpartition("/")[2], quote(entry.resolved, safe="")
        return f"pkg:oci/{quote(short)}@{quoted}?repository_url={quote(place, safe='/:')}"
    if entry.kind == "npm":
        package = entry.source.partition(":")[2]
        plain = package.rpartition("@")[0] or package
        return f"pkg:npm/{quote(plain, safe='/')}@{entry.version}#{quote(entry.path)}"
    return f"pkg:generic/{quote(name)}@{quote(_version(entry), safe=':')}"


def make_spdx(lock: Lock, version: str, created: str) -> Document:
    """Return a lock as SPDX 2.3, made at a time such as 2026-11-16T12:00:00Z."""
    packages = [_package(name, entry) for name, entry in lock.skills.items()]
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": "prowess.lock",
        "documentNamespace": f"urn:sha256:{digest_of(dump(lock))}",
        "creationInfo": {"created": created, "creators": [f"Tool: prowess-{version}"]},
        "packages": packages,
        "relationships": [
            {
                "spdxElementId": "SPDXRef-DOCUMENT",
                "relationshipType": "DESCRIBES",
                "relatedSpdxElement": package["SPDXID"],
            }
            for package in packages
        ],
    }


def _package(name: str, entry: LockEntry) -> Document:
    sha = entry.digest.removeprefix(PREFIX)
    where = "NOASSERTION"
    if "://" in entry.url:
        inner = f"#{quote(entry.path)}" if entry.path else ""
        where = f"git+{entry.url}@{entry.resolved}{inner}" if entry.kind == "git" else entry.url
    return {
        "SPDXID": f"SPDXRef-Skill-{_NOT_IN_ID.sub('-', name)}-{sha[:12]}",
        "name": name,
        "versionInfo": _version(entry),
        "downloadLocation": where,
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "NOASSERTION",
        "copyrightText": "NOASSERTION",
        "checksums": [{"algorithm": "SHA256", "checksumValue": sha}],
        "externalRefs": [
            {
                "referenceCategory": "PACKAGE-MANAGER",
                "referenceType": "purl",
                "referenceLocator": _purl(name, entry),
            }
        ],
    }
