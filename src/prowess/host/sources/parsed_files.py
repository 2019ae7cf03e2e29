"""What the files of one root said, kept between processes, so that each is parsed once.

Beside it stands the list of skills of each large workspace, for whoever cannot wait until all of
them were looked at.

A file is known again by its stamp: where it is, its size, its inode, and when its content and its
status last changed. One that changed within the last second is not kept, since a second change
might show the same stamp. What is kept is data and never code, in a private file that is read only
where nobody else could have written it; what does not read as expected counts as nothing.

The reference files of a skill, beside its page, are what an agent may read and finds it by: only
Markdown directly below the skill or in its `references` folder. Links are not followed.
"""

import hashlib
import json
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, fields
from enum import Enum
from typing import Any, NamedTuple, TypeAlias

from prowess import skills
from prowess.errors import PathError
from prowess.host.files.handles import (
    Content,
    Folder,
    Stamp,
    hold_real,
    read_bounded,
    refuse_link,
    step,
)
from prowess.host.files.state_files import KeptFiles, stamp_code
from prowess.host.sources.discovery import FoundFile
from prowess.skills.catalog import AddressedSkill, list_addressed
from prowess.skills.model import (
    Diagnostic,
    Dialect,
    InstallSpec,
    Invocation,
    Metadata,
    Parsed,
    Requirements,
    Severity,
    Skill,
    Source,
    Triggers,
)

_FOLDER, _MOST_ROOTS = "catalogs", 64
_LISTING = "listing"
# These travel once for the whole root, or are those of the file that was found.
_ELSEWHERE = frozenset(("source", "path", "folder", "real", "resources", "diagnostics"))
_SKILL = tuple(field.name for field in fields(Skill) if field.name not in _ELSEWHERE)
_SOURCE = tuple(field.name for field in fields(Source))
_PLAIN_METADATA, _PLAIN_INVOCATION = Metadata(), Invocation()
_PLAIN = asdict(_PLAIN_METADATA), asdict(_PLAIN_INVOCATION)
_Part: TypeAlias = Diagnostic | InstallSpec | Invocation | Metadata | Requirements | Triggers


class ReadFile(NamedTuple):
    """A file as it was last read."""

    stamp: Stamp
    # False where the file changed so recently that its stamp cannot be trusted to move again.
    settled: bool
    found: FoundFile
    parsed: Parsed
    # Whether another process finds it by now.
    kept: bool = False


class ParsedFiles:
    """The files that were parsed, by root and by what decides how they are read."""

    def __init__(self, state: str) -> None:
        self._files = KeptFiles(
            os.path.join(state, _FOLDER), made_by=stamp_code(*skills.__path__), most=_MOST_ROOTS
        )

    def load(self, source: Source, reading: object) -> dict[str, ReadFile]:
        """Return the files of a root by their paths, as they were read; none where none are kept.

        Args:
            source: the root.
            reading: all else that decides what a file says, as a value whose `repr` tells it.
        """
        raw = self._files.load(_key(source, reading)) or b""
        total, _, body = raw.partition(b"\n")
        if total != b"%d" % zlib.crc32(body):
            return {}
        try:
            return {row[0][0]: _read(row, source) for row in json.loads(body)}
        except (LookupError, TypeError, ValueError, RecursionError):
            return {}

    def save(self, source: Source, reading: object, files: Iterable[ReadFile]) -> None:
        """Keep what was read of a root."""
        rows = [_row(read) for read in files]
        body = json.dumps(rows, separators=(",", ":"), default=_simplify).encode()
        self._files.save(_key(source, reading), b"%d\n%b" % (zlib.crc32(body), body))


class KeptListings:
    """The skills of each large workspace that a client may be shown, as they were last found."""

    def __init__(self, state: str) -> None:
        self._files = KeptFiles(
            os.path.join(state, _FOLDER), made_by=stamp_code(*skills.__path__), most=_MOST_ROOTS
        )

    def load(self, folder: str, under: object) -> Sequence[AddressedSkill] | None:
        """Return the list of a workspace; None where none is kept, or one under other conditions.

        Args:
            folder: the workspace.
            under: what the operator says about skills, as a value whose `repr` tells it.
        """
        head, _, body = self._read(folder)
        if not head.startswith(_mark(under)):
            return None
        try:
            return [AddressedSkill(*row) for row in json.loads(body)]
        except (TypeError, ValueError, RecursionError):
            return None

    def is_kept(self, folder: str) -> bool:
        """Return whether any list of a workspace is kept, whatever it rests on."""
        return any(self._read(folder))

    def save(self, folder: str, under: object, listed: Sequence[Skill]) -> None:
        """Keep the list of a workspace, unless it is what is kept."""
        found = hashlib.sha256()
        for skill in listed:
            found.update(f"{skill.path}\0{skill.content_hash}\n".encode("utf-8", "surrogatepass"))
        head = _mark(under) + found.hexdigest().encode()
        if self._read(folder)[0] != head:
            body = json.dumps(list_addressed(listed), separators=(",", ":")).encode()
            self._files.save(_key(folder, _LISTING), head + b"\n" + body)

    def _read(self, folder: str) -> tuple[bytes, bytes, bytes]:
        return (self._files.load(_key(folder, _LISTING)) or b"").partition(b"\n")


def _mark(under: object) -> bytes:
    return hashlib.sha256(repr(under).encode("utf-8", "surrogatepass")).hexdigest().encode() + b" "


def _key(source: Source | str, reading: object) -> str:
    place = source if isinstance(source, str) else [getattr(source, name) for name in _SOURCE]
    return hashlib.sha256(repr((place, reading)).encode("utf-8", "surrogatepass")).hexdigest()


def _row(read: ReadFile) -> list[object]:
    skill = read.parsed.skill
    said = None if skill is None else [getattr(skill, name) for name in _SKILL]
    return [read.found, read.stamp, said, read.parsed.diagnostics]


def _simplify(value: Enum | _Part) -> object:
    """Return a value that JSON does not know by its parts; what is plain is nothing at all."""
    if isinstance(value, Enum):
        return value.value
    parts = asdict(value)
    return None if parts in _PLAIN else parts


def _read(row: list[Any], source: Source) -> ReadFile:
    (path, folder, is_skill_file, resources, has_sidecar, real), stamp, said, problems = row
    found = FoundFile(path, folder, is_skill_file, tuple(resources), has_sidecar, real)
    diagnostics = tuple(
        Diagnostic(**{**one, "severity": Severity(one["severity"])}) for one in problems
    )
    skill = None if said is None else _skill(said, source, found, diagnostics)
    parsed = Parsed(skill=skill, diagnostics=diagnostics)
    return ReadFile(tuple(stamp), settled=True, found=found, parsed=parsed, kept=True)


def _skill(
    said: list[Any], source: Source, found: FoundFile, diagnostics: tuple[Diagnostic, ...]
) -> Skill:
    values = dict(zip(_SKILL, said, strict=True))
    values["dialect"] = Dialect(values["dialect"])
    metadata, invocation = values["metadata"], values["invocation"]
    values["metadata"] = _PLAIN_METADATA if metadata is None else _metadata(metadata)
    values["invocation"] = _PLAIN_INVOCATION if invocation is None else Invocation(**invocation)
    return Skill(
        source=source,
        path=found.path,
        folder=found.folder,
        real=found.real,
        resources=found.resources,
        diagnostics=diagnostics,
        **_with_tuples(values),
    )


def _metadata(values: dict[str, Any]) -> Metadata:
    made = {
        "requires": Requirements(**_with_tuples(values["requires"])),
        "install": tuple(InstallSpec(**_with_tuples(one)) for one in values["install"]),
        "triggers": Triggers(**_with_tuples(values["triggers"])),
    }
    return Metadata(**{**values, **made})


def _with_tuples(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a frozen value; its lists were tuples."""
    return {
        name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
    }


_REFERENCES = ("references", "reference")
# They tell people about the folder, not the agent about the job.
_FOR_PEOPLE = ("readme", "license", "changelog", "contributing", "security")
_LARGEST, _MOST_ENTRIES = 1_000_000, 100_000


class ReferenceFiles:
    """Reads the reference files of skills where they were found."""

    def stamp(self, skill: Skill) -> str:
        """Return what changes when a reference file does; empty where there is none."""
        found = []
        # Whoever reads the skill is told what stands in the way.
        with suppress(PathError, OSError):
            for folder, name, state in _list_references(skill):
                path = os.path.relpath(os.path.join(folder.path, name), skill.place)
                found.append((path, state.st_size, state.st_mtime_ns))
        return repr(found) if found else ""

    def read(self, skill: Skill, most: int) -> str:
        """Return the text of the reference files, one after the other, `most` characters of it."""
        found = ""
        with suppress(PathError, OSError):
            for folder, name, _ in _list_references(skill):
                if len(found) >= most:
                    break
                # One that cannot be read leaves the others.
                with suppress(PathError, OSError):
                    refuse_link(folder, name, name)
                    read = read_bounded(folder.at(name), _LARGEST, dir_fd=folder.fd)
                    if isinstance(read, Content):
                        found += f"\n{read.data.decode('utf-8', 'replace')}"
        return found[:most]


def _may_have(skill: Skill) -> bool:
    """True where what lies beside the page may be read: known since the folder was walked."""
    return any(
        name.rstrip("/") in _REFERENCES if name.endswith("/") else _is_reference(name)
        for name in skill.resources
    )


def _is_reference(name: str) -> bool:
    lower = name.lower()
    return lower.endswith(".md") and not lower.startswith(_FOR_PEOPLE) and lower != "skill.md"


def _list_references(skill: Skill) -> Iterator[tuple[Folder, str, os.stat_result]]:
    """Yield each file with the folder that it is in, by name."""
    if not _may_have(skill):
        return
    beside = {name.rstrip("/") for name in skill.resources}
    with ExitStack() as held:
        place = held.enter_context(hold_real(skill.place))
        inner = (name for name in _REFERENCES if name in beside)
        for folder in (place, *(held.enter_context(step(place, name, name)) for name in inner)):
            for name, state in folder.entries(_MOST_ENTRIES):
                if _is_reference(name) and state.st_size <= _LARGEST:
                    yield folder, name, state
