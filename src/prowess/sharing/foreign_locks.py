"""Locks of other tools: `skills-lock.json`, `.clawhub/lock.json`, `apm.lock.yaml` and ToolHive's.

Each is read into the sources that it names, and written from our lock. What a file already says and
we do not know stays: keys, times and skills of others. A file in which nothing changes is the same
bytes as before. None of them names the digest of each file, so what they bring is fetched, scanned
and locked like anything else; a digest that a file has is held against what comes.
"""

import hashlib
import json
import re
import string
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import yaml

from prowess.errors import LockError
from prowess.safety.paths import shown
from prowess.sharing.lock import Lock, LockEntry
from prowess.sharing.source import SourceKind, SourceSpec

# How collation orders what is no letter; digits and letters come behind.
_MARKS = "_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$"
_ORDER = {mark: at for at, mark in enumerate(" " + _MARKS + string.digits + string.ascii_lowercase)}
_ACCENTED = re.compile(r".[\u0300-\u036f]*", re.DOTALL)
_GITHUB = re.compile(r"https://github\.com/([^/]+/[^/]+?)(?:\.git)?\Z")
_TOOLHIVE = re.compile(r"git://(?P<repo>[^@#]+)(?:@(?P<ref>[^#]+))?(?:#(?P<path>.+))?\Z")
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?\Z")

Contents = Mapping[str, bytes]


class ForeignFormat(StrEnum):
    """Whose lock it is."""

    VERCEL = "vercel"
    CLAWHUB = "clawhub"
    APM = "apm"
    TOOLHIVE = "toolhive"


FILE_NAMES = {
    ForeignFormat.VERCEL: "skills-lock.json",
    ForeignFormat.CLAWHUB: ".clawhub/lock.json",
    ForeignFormat.APM: "apm.lock.yaml",
    ForeignFormat.TOOLHIVE: "toolhive.lock.yaml",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignSkill:
    """A skill that another tool has locked, as a source of ours."""

    name: str
    # Empty where we have no such source; then `problem` says why.
    source: str
    path: str = ""
    pin: str = ""
    registry: str = ""
    # vercel's hash over all files; empty where there is none.
    folder_hash: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenLock:
    """The text of another tool's lock, and which of our skills it cannot name."""

    content: bytes
    left_out: tuple[str, ...] = ()


def find_format(path: str) -> ForeignFormat:
    """Return whose lock a file is, by its name.

    Raises:
        LockError: it is none that is known.
    """
    plain = path.replace("\\", "/")
    for kind, name in FILE_NAMES.items():
        if plain == name or plain.endswith(f"/{name}"):
            return kind
    known = ", ".join(FILE_NAMES.values())
    raise LockError(shown(path), f"is no lock that is known: {known}.")


def hash_folder_like_vercel(files: Contents) -> str:
    """Return the hash that `npx skills` keeps of a folder."""
    found = hashlib.sha256()
    for path in sorted(files, key=_collate):
        found.update(path.encode() + files[path])
    return found.hexdigest()


def hash_files_like_clawhub(files: Mapping[str, str]) -> str:
    """Return the fingerprint that `npx clawhub` makes of the digests of files."""
    lines = (f"{path}:{files[path]}" for path in sorted(files, key=_collate))
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _collate(text: str) -> tuple[list[int], list[str], list[bool], str]:
    """Return by what JavaScript orders two texts: by letters, then by accents, then by case."""
    signs = _ACCENTED.findall(unicodedata.normalize("NFD", text))
    order = [_ORDER.get(sign[0].lower(), 1000 + ord(sign[0].lower()[0])) for sign in signs]
    return order, [sign[1:] for sign in signs], [sign[0] != sign[0].lower() for sign in signs], text


def read_foreign(kind: ForeignFormat, content: bytes, path: str) -> tuple[ForeignSkill, ...]:
    """Return the skills that another tool has locked.

    Raises:
        LockError: the file is damaged, or of an unknown version.
    """
    values = _load(kind, content, path)
    try:
        return tuple(_READERS[kind](values))
    except (KeyError, TypeError, AttributeError) as error:
        raise LockError(shown(path), f"is damaged: {error!r} is missing or wrong.") from error


def _load(kind: ForeignFormat, content: bytes, path: str) -> dict[str, Any]:
    try:
        if kind in {ForeignFormat.VERCEL, ForeignFormat.CLAWHUB}:
            values = json.loads(content)
        else:
            values = yaml.safe_load(content)
    except (ValueError, yaml.YAMLError, RecursionError) as error:
        raise LockError(shown(path), "is damaged: it is neither JSON nor YAML.") from error
    if not isinstance(values, dict):
        raise LockError(shown(path), "is damaged: it holds no keys.")
    known = {"1", "2", "3"} if kind is ForeignFormat.APM else {"1"}
    version = values.get("lockfile_version" if kind is ForeignFormat.APM else "version", 1)
    if str(version) not in known:
        raise LockError(shown(path), f"is of version {version!r}, which is not known here.")
    return values


def _read_vercel(values: Mapping[str, Any]) -> Sequence[ForeignSkill]:
    found = []
    for name, row in values["skills"].items():
        kind, source, ref = row.get("sourceType"), str(row["source"]), str(row.get("ref") or "")
        address = str(row.get("sourceUrl") or source)
        if kind == "github" and "://" not in address:
            address = f"https://github.com/{address}.git"
        if kind in {"github", "gitlab", "git"} and ref:
            address = f"{address}@{ref}"
        page = str(row.get("skillPath") or "")
        found.append(
            ForeignSkill(
                name=name,
                source=address,
                path=page.rpartition("/")[0] if page.lower().endswith("skill.md") else page,
                folder_hash=str(row.get("computedHash") or ""),
            )
        )
    return found


def _read_clawhub(values: Mapping[str, Any]) -> Sequence[ForeignSkill]:
    return [
        ForeignSkill(
            name=name,
            source=f"clawhub:{name}" + (f"@{row['version']}" if row["version"] else ""),
            pin=str(row["version"] or "") if row.get("pinned") else "",
        )
        for name, row in values["skills"].items()
    ]


def _read_apm(values: Mapping[str, Any]) -> Sequence[ForeignSkill]:
    found = []
    for row in values.get("dependencies") or ():
        url, path = str(row["repo_url"]), str(row.get("virtual_path") or "")
        name = path.rpartition("/")[2] or url.rstrip("/").rpartition("/")[2].removesuffix(".git")
        if row.get("source") == "local":
            found.append(ForeignSkill(name=name, source=str(row.get("local_path") or "")))
            continue
        host = str(row.get("host") or "github.com")
        address = url if "://" in url else f"https://{host}/{url.removesuffix('.git')}.git"
        commit = str(row.get("resolved_commit") or "")
        found.append(
            ForeignSkill(
                name=name, source=address, path=path, pin=commit if _COMMIT.match(commit) else ""
            )
        )
    return found


def _read_toolhive(values: Mapping[str, Any]) -> Sequence[ForeignSkill]:
    found = []
    for row in values.get("skills") or ():
        named = str(row.get("resolvedReference") or row["source"])
        reference, digest = _TOOLHIVE.match(named), str(row["digest"])
        if reference is None:
            artifact = named.removeprefix("oci://")
            found.append(ForeignSkill(name=row["name"], source=f"oci:{artifact}", pin=digest))
            continue
        found.append(
            ForeignSkill(
                name=row["name"],
                source=f"https://{reference['repo'].removesuffix('.git')}.git",
                path=reference["path"] or "",
                pin=digest if _COMMIT.match(digest) else "",
            )
        )
    return found


_READERS: Mapping[ForeignFormat, Callable[[Mapping[str, Any]], Sequence[ForeignSkill]]] = {
    ForeignFormat.VERCEL: _read_vercel,
    ForeignFormat.CLAWHUB: _read_clawhub,
    ForeignFormat.APM: _read_apm,
    ForeignFormat.TOOLHIVE: _read_toolhive,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignRequest:
    """What is written: our lock, over what the other tool's file says now."""

    lock: Lock
    before: bytes = b""
    path: str = ""
    # Returns the files of a skill; none where they are not at hand.
    contents: Callable[[str], Contents] = field(default=lambda _name: {})


def write_foreign(kind: ForeignFormat, request: ForeignRequest) -> WrittenLock:
    """Return the file of another tool with our skills in it.

    Raises:
        LockError: what is there now is damaged.
    """
    old = _load(kind, request.before, request.path) if request.before else {}
    rows = {
        name: _WRITERS[kind](name, entry, request) for name, entry in request.lock.skills.items()
    }
    left_out = tuple(name for name, row in rows.items() if row is None)
    named = {name: row for name, row in rows.items() if row is not None}
    new = _BUILDERS[kind](old, named)
    if request.before and new == old:
        return WrittenLock(content=request.before, left_out=left_out)
    if kind in {ForeignFormat.VERCEL, ForeignFormat.CLAWHUB}:
        text = json.dumps(new, indent=2, ensure_ascii=False) + "\n"
    else:
        text = yaml.safe_dump(new, sort_keys=False, allow_unicode=True, width=1000)
    return WrittenLock(content=text.encode(), left_out=left_out)


_Row = dict[str, Any]


def _vercel_row(name: str, entry: LockEntry, request: ForeignRequest) -> _Row | None:
    kinds = {"git": "git", "folder": "local", "well-known": "well-known"}
    if entry.kind not in kinds:
        return None
    hub = _GITHUB.match(entry.url)
    row: _Row = {"source": hub[1] if hub else entry.url}
    # A path is one to that tool, be it a repository or not.
    is_path = SourceSpec(asked="", kind=SourceKind(entry.kind), url=entry.url).is_local
    if entry.kind == "git" and not hub and not is_path:
        row["sourceUrl"] = entry.url
    if entry.ref:
        row["ref"] = entry.ref
    row["sourceType"] = "github" if hub else "local" if is_path else kinds[entry.kind]
    if entry.kind == "git" and not is_path:
        row["skillPath"] = f"{entry.path}/SKILL.md" if entry.path else "SKILL.md"
    files = request.contents(name)
    return {**row, "computedHash": hash_folder_like_vercel(files)} if files else row


def _clawhub_row(_name: str, entry: LockEntry, _request: ForeignRequest) -> _Row | None:
    if entry.kind != "clawhub":
        return None
    return {"version": entry.version, **({"pinned": True} if entry.pinned else {})}


def _apm_row(_name: str, entry: LockEntry, _request: ForeignRequest) -> _Row | None:
    if entry.kind != "git":
        return None
    hub = _GITHUB.match(entry.url)
    row: _Row = {"repo_url": hub[1] if hub else entry.url, "resolved_commit": entry.resolved}
    if entry.ref:
        row["resolved_ref"] = entry.ref
    if entry.path:
        row |= {"virtual_path": entry.path, "is_virtual": True}
    return {**row, "package_type": "claude_skill"}


def _toolhive_row(name: str, entry: LockEntry, _request: ForeignRequest) -> _Row | None:
    address = re.match(r"(?:https|oci)://(.+?)(?:\.git)?\Z", entry.url)
    if entry.kind not in {"git", "oci"} or address is None:
        return None
    if entry.kind == "oci":
        mark = "@" if entry.ref == entry.resolved else ":"
        source = f"{address[1]}{f'{mark}{entry.ref}' if entry.ref else ''}"
        resolved = f"{address[1]}@{entry.resolved}"
    else:
        inner = f"#{entry.path}" if entry.path else ""
        source = f"git://{address[1]}{f'@{entry.ref}' if entry.ref else ''}{inner}"
        resolved = f"git://{address[1]}@{entry.resolved}{inner}"
    row: _Row = {"name": name, "source": source, "resolvedReference": resolved}
    row["digest"] = entry.resolved
    if entry.required_by:
        row["requiredBy"] = sorted(entry.required_by)
    return {**row, "explicit": True}


_WRITERS = {
    ForeignFormat.VERCEL: _vercel_row,
    ForeignFormat.CLAWHUB: _clawhub_row,
    ForeignFormat.APM: _apm_row,
    ForeignFormat.TOOLHIVE: _toolhive_row,
}


def _build_vercel(old: _Row, rows: Mapping[str, _Row]) -> _Row:
    before = old.get("skills") or {}
    merged = {**before, **{name: {**before.get(name, {}), **row} for name, row in rows.items()}}
    return {**old, "version": old.get("version", 1), "skills": dict(sorted(merged.items()))}


def _build_clawhub(old: _Row, rows: Mapping[str, _Row]) -> _Row:
    before = old.get("skills") or {}
    merged = {
        **before,
        # The time is the other tool's own; where it never wrote one there is none to tell.
        **{name: {"installedAt": 0, **before.get(name, {}), **row} for name, row in rows.items()},
    }
    return {**old, "version": 1, "skills": merged}


def _build_apm(old: _Row, rows: Mapping[str, _Row]) -> _Row:
    def key(row: _Row) -> tuple[str, str]:
        return str(row.get("repo_url")), str(row.get("virtual_path") or "")

    before = {key(row): row for row in old.get("dependencies") or ()}
    new = {key(row): {**before.get(key(row), {}), **row} for row in rows.values()}
    merged = {**before, **new}
    return {
        **old,
        "lockfile_version": old.get("lockfile_version", "1"),
        "dependencies": [merged[one] for one in sorted(merged)],
    }


def _build_toolhive(old: _Row, rows: Mapping[str, _Row]) -> _Row:
    before = {row["name"]: row for row in old.get("skills") or ()}
    merged = {**before, **{name: {**before.get(name, {}), **row} for name, row in rows.items()}}
    return {**old, "version": 1, "skills": [merged[name] for name in sorted(merged)]}


_BUILDERS = {
    ForeignFormat.VERCEL: _build_vercel,
    ForeignFormat.CLAWHUB: _build_clawhub,
    ForeignFormat.APM: _build_apm,
    ForeignFormat.TOOLHIVE: _build_toolhive,
}
