"""The catalogue: skills, their versions, files and labels, as rows of a database.

What a version holds is written once. A version of the same number with the same files is the same
version, so that whoever did not hear the answer may ask again; with other files it is refused.
"""

import json
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import permutations
from typing import Any

import sqlalchemy as sa

from prowess.errors import HubConflictError, HubNotFoundError
from prowess.host.store.hub_tables import (
    BLOBS,
    DOCUMENTS,
    FILES,
    LABELS,
    NAMESPACES,
    SKILLS,
    VERSIONS,
)
from prowess.hub.model import (
    LATEST,
    HubFile,
    HubSkill,
    HubVersion,
    Namespace,
    VersionState,
    is_preview,
    order_version,
)
from prowess.hub.people import read_namespace
from prowess.hub.search import Access
from prowess.hub.tables import HubDatabase
from prowess.runtime.sharing.ports import Package, hash_package
from prowess.runtime.sharing.sync import CopiedFile
from prowess.safety.judging.packages import find_lookalike, strip_disguise
from prowess.safety.paths import shown
from prowess.sharing.lock import content_digest, digest_of

# One slip in five letters or more leaves the first two or the last two as they are.
_END, _MOST_LIKE = 2, 5_000
# Shorter names and longer ones are too often alike by chance, or take too long to turn around.
_LEAST_KIN, _MOST_WORDS = 5, 4
_NUMBERED = re.compile(r"-?v?\d+$")
_SPACE = (NAMESPACES.c.name.label("space_name"), NAMESPACES.c.is_public, NAMESPACES.c.is_reviewed)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewVersion:
    """What somebody wants to publish, checked already."""

    namespace: Namespace
    name: str
    title: str
    summary: str
    version: str
    state: VersionState
    files: Package
    # The same files as one archive.
    archive: bytes
    publisher: str
    changelog: str = ""
    manifest: Mapping[str, Any]
    scan: Mapping[str, Any]
    provenance: Mapping[str, Any]


class Catalogue:
    """Reads and writes skills and versions."""

    def __init__(self, database: HubDatabase, now_ms: Callable[[], int]) -> None:
        self.database, self._now_ms = database, now_ms

    def add(self, connection: sa.Connection, new: NewVersion) -> tuple[HubSkill, HubVersion, bool]:
        """Write a version, and return whether it was not there before.

        Raises:
            HubConflictError: there is one of that number with other files.
        """
        skill = self._find_or_make(connection, new)
        hashes = hash_package(new.files)
        digest = content_digest(hashes)
        row = {
            "skill_id": skill.id,
            "version": new.version,
            "state": new.state.value,
            "digest": digest,
            "archive": digest_of(new.archive),
            "manifest": json.dumps(new.manifest, sort_keys=True),
            "scan": json.dumps(new.scan, sort_keys=True),
            "provenance": json.dumps(new.provenance, sort_keys=True),
            "publisher": new.publisher,
            "reviewer": "",
            "changelog": new.changelog,
            "reason": "",
            "created_ms": self._now_ms(),
        }
        added = self.database.insert(VERSIONS).values(row).on_conflict_do_nothing()
        version_id = connection.execute(added.returning(VERSIONS.c.id)).scalar_one_or_none()
        if version_id is None:
            found = next(
                one for one in self.list_versions(connection, skill) if one.version == new.version
            )
            if found.digest != digest:
                problem = (
                    "is there already with other files, and versions never change: give it"
                    " another number."
                )
                raise HubConflictError(f"{skill.address}@{new.version}", problem)
            return skill, found, False
        self._write_files(connection, version_id, new, hashes)
        return skill, self.read_version(connection, version_id), True

    def _find_or_make(self, connection: sa.Connection, new: NewVersion) -> HubSkill:
        now = self._now_ms()
        row = {
            "space": new.namespace.id,
            "name": new.name,
            "title": new.title,
            "summary": new.summary,
            "created_ms": now,
            "updated_ms": now,
            **shape_name(new.name),
            "resembles": self._find_elder(connection, new.namespace.id, new.name),
        }
        added = self.database.insert(SKILLS).values(row).on_conflict_do_nothing()
        connection.execute(added)
        query = _select_skills().where(
            SKILLS.c.space == new.namespace.id, SKILLS.c.name == new.name
        )
        # Nobody else changes it until this is written.
        found = connection.execute(query.with_for_update(of=SKILLS)).one()
        return read_skill(found)

    def _find_elder(self, connection: sa.Connection, space: int, name: str) -> int | None:
        """Return the oldest skill of somebody else that a new name could be taken for."""
        shape, kin = shape_name(name), list_kin(name)
        size = len(shape["joined"])
        length = sa.func.length(SKILLS.c.joined)
        near = sa.or_(
            SKILLS.c.name == name,
            SKILLS.c.joined.in_(kin),
            sa.and_(
                sa.or_(SKILLS.c.head == shape["head"], SKILLS.c.tail == shape["tail"]),
                length.between(size - 2, size + 2),
            ),
        )
        query = (
            sa.select(SKILLS.c.id, SKILLS.c.name, SKILLS.c.joined, SKILLS.c.resembles)
            .where(SKILLS.c.space != space, near)
            .order_by(SKILLS.c.id)
            .limit(_MOST_LIKE)
        )
        rows = connection.execute(query).all()
        like = find_lookalike(name, [row.name for row in rows if row.name != name])
        for row in rows:
            if row.name in {name, like} or row.joined in kin:
                # The first one of all, so that no chain has to be followed.
                return int(row.resembles or row.id)
        return None

    def _write_files(
        self, connection: sa.Connection, version_id: int, new: NewVersion, hashes: Mapping[str, str]
    ) -> None:
        files = new.files
        blobs = {hashes[path]: file.content for path, file in sorted(files.items())}
        blobs[digest_of(new.archive)] = new.archive
        connection.execute(
            self.database.insert(BLOBS).on_conflict_do_nothing(),
            [
                {"sha256": sha, "content": zlib.compress(content)}
                for sha, content in sorted(blobs.items())
            ],
        )
        connection.execute(
            sa.insert(FILES),
            [
                {
                    "version_id": version_id,
                    "path": path,
                    "sha256": hashes[path],
                    "size": len(file.content),
                    "executable": file.executable,
                }
                for path, file in sorted(files.items())
            ],
        )

    def find_skill(self, connection: sa.Connection, namespace: str, name: str) -> HubSkill | None:
        """Return a skill by its address."""
        query = _select_skills().where(NAMESPACES.c.name == namespace, SKILLS.c.name == name)
        row = connection.execute(query).one_or_none()
        return None if row is None else read_skill(row)

    def find_named(self, connection: sa.Connection, name: str, access: Access) -> HubSkill | None:
        """Return the oldest skill of a name that may be seen: a later one takes no name over."""
        query = (
            _select_skills()
            .outerjoin(DOCUMENTS, DOCUMENTS.c.skill_id == SKILLS.c.id)
            .where(SKILLS.c.name == name, allow_skills(access))
            # One that nobody can have yet stands in nobody's way.
            .order_by(DOCUMENTS.c.skill_id.is_(None), SKILLS.c.id)
        )
        row = connection.execute(query.limit(1)).one_or_none()
        return None if row is None else read_skill(row)

    def find_eldest(
        self, connection: sa.Connection, names: Sequence[str], access: Access
    ) -> dict[str, int]:
        """Return which skill a bare name stands for, for each of many names."""
        query = (
            sa.select(SKILLS.c.name, sa.func.min(SKILLS.c.id))
            .join(NAMESPACES, NAMESPACES.c.id == SKILLS.c.space)
            .join(DOCUMENTS, DOCUMENTS.c.skill_id == SKILLS.c.id)
            .where(SKILLS.c.name.in_(list(names)), allow_skills(access))
            .group_by(SKILLS.c.name)
        )
        return {row[0]: row[1] for row in connection.execute(query)}

    def hide_elders(
        self, connection: sa.Connection, skills: Sequence[HubSkill], access: Access
    ) -> list[HubSkill]:
        """Return skills that look like another only where an older one of those may be seen."""
        kinds = {one.resembles for one in skills if one.resembles is not None}
        if not kinds:
            return list(skills)
        kind = sa.func.coalesce(SKILLS.c.resembles, SKILLS.c.id)
        query = (
            sa.select(kind, sa.func.min(SKILLS.c.id))
            .join(NAMESPACES, NAMESPACES.c.id == SKILLS.c.space)
            .where(sa.or_(SKILLS.c.id.in_(kinds), SKILLS.c.resembles.in_(kinds)))
            .where(allow_skills(access))
            .group_by(kind)
        )
        eldest = {row[0]: row[1] for row in connection.execute(query)}
        return [
            one
            if one.resembles is None or eldest.get(one.resembles, one.id) < one.id
            else replace(one, resembles=None)
            for one in skills
        ]

    def list_found(
        self,
        connection: sa.Connection,
        access: Access,
        *,
        most: int,
        after: int = 0,
        namespace: str = "",
    ) -> list[int]:
        """Return the skills that can be had, the last changed first."""
        query = (
            sa.select(SKILLS.c.id)
            .join(NAMESPACES, NAMESPACES.c.id == SKILLS.c.space)
            .join(DOCUMENTS, DOCUMENTS.c.skill_id == SKILLS.c.id)
            .where(allow_skills(access))
            .order_by(SKILLS.c.updated_ms.desc(), SKILLS.c.id.desc())
        )
        if namespace:
            query = query.where(NAMESPACES.c.name == namespace)
        return list(connection.execute(query.offset(after).limit(most)).scalars())

    def list_all(self, connection: sa.Connection) -> list[HubSkill]:
        """Return every skill, also those of which no version can be had."""
        rows = connection.execute(_select_skills().order_by(SKILLS.c.id))
        return [read_skill(row) for row in rows]

    def read_found(
        self, connection: sa.Connection, ids: Sequence[int]
    ) -> dict[int, tuple[HubSkill, str, str]]:
        """Return skills that can be had, with their newest versions and the digests of those."""
        mine = (VERSIONS.c.skill_id == SKILLS.c.id) & (VERSIONS.c.version == DOCUMENTS.c.version)
        query = (
            _select_skills(DOCUMENTS.c.version, VERSIONS.c.archive)
            .join(DOCUMENTS, DOCUMENTS.c.skill_id == SKILLS.c.id)
            .join(VERSIONS, mine)
            .where(SKILLS.c.id.in_(list(ids)))
        )
        return {
            row.id: (read_skill(row), row.version, row.archive) for row in connection.execute(query)
        }

    def list_versions(self, connection: sa.Connection, skill: HubSkill) -> list[HubVersion]:
        """Return every version of a skill, the newest first."""
        found = self._read_many(connection, VERSIONS.c.skill_id == skill.id)
        return sorted(found, key=lambda one: order_version(one.version), reverse=True)

    def list_pending(self, connection: sa.Connection) -> list[tuple[HubSkill, HubVersion]]:
        """Return what waits for a review, the oldest first."""
        found = self._read_many(connection, VERSIONS.c.state == VersionState.PENDING.value)
        ids = [one.skill_id for one in found]
        rows = connection.execute(_select_skills().where(SKILLS.c.id.in_(ids)))
        skills = {row.id: read_skill(row) for row in rows}
        return [(skills[one.skill_id], one) for one in found]

    def read_version(self, connection: sa.Connection, version_id: int) -> HubVersion:
        """Return a version by its id.

        Raises:
            HubNotFoundError: there is none.
        """
        found = self._read_many(connection, VERSIONS.c.id == version_id)
        if not found:
            raise HubNotFoundError(str(version_id), "is no version of this hub.")
        return found[0]

    def resolve(self, connection: sa.Connection, skill: HubSkill, ref: str) -> HubVersion:
        """Return the version that a number, a label or nothing stands for.

        Raises:
            HubNotFoundError: there is none.
        """
        versions = self.list_versions(connection, skill)
        exact = next((one for one in versions if one.version == ref), None)
        if exact is not None and exact.state is not VersionState.REJECTED:
            return exact
        labels = self.read_labels(connection, skill)
        wanted = newest_of(versions) if ref in ("", LATEST) else None
        if ref in labels:
            wanted = next((one for one in versions if one.version == labels[ref]), None)
        if wanted is None or wanted.state is not VersionState.PUBLISHED:
            known = ", ".join(
                [one.version for one in versions if one.state is VersionState.PUBLISHED][:8]
                + sorted(labels)
            )
            problem = f"has no version {shown(ref) or LATEST}; it has {known or 'none yet'}."
            raise HubNotFoundError(skill.address, problem)
        return wanted

    def read_labels(self, connection: sa.Connection, skill: HubSkill) -> dict[str, str]:
        """Return which version each label stands for."""
        query = (
            sa.select(LABELS.c.label, VERSIONS.c.version)
            .join(VERSIONS, VERSIONS.c.id == LABELS.c.version_id)
            .where(LABELS.c.skill_id == skill.id)
        )
        return {row.label: row.version for row in connection.execute(query)}

    def set_label(
        self, connection: sa.Connection, skill: HubSkill, label: str, version_id: int | None
    ) -> None:
        """Let a label stand for a version, or for none."""
        if version_id is None:
            mine = (LABELS.c.skill_id == skill.id) & (LABELS.c.label == label)
            connection.execute(sa.delete(LABELS).where(mine))
            return
        row = {"skill_id": skill.id, "label": label, "version_id": version_id}
        self.database.put(connection, LABELS, [row])

    def change_version(
        self, connection: sa.Connection, version: HubVersion, state: VersionState, **values: str
    ) -> None:
        """Change what people think of a version.

        Raises:
            HubConflictError: somebody else did so meanwhile.
        """
        change = (
            sa.update(VERSIONS)
            .where(VERSIONS.c.id == version.id, VERSIONS.c.state == version.state.value)
            .values(state=state.value, **values)
        )
        if not connection.execute(change).rowcount:
            raise HubConflictError(version.version, "was changed by somebody else: look again.")

    # Whatever columns a skill has.
    def change_skill(self, connection: sa.Connection, skill: HubSkill, **values: Any) -> None:  # noqa: ANN401
        """Change what is said about a skill."""
        connection.execute(sa.update(SKILLS).where(SKILLS.c.id == skill.id).values(values))

    def note_update(self, connection: sa.Connection, skill: HubSkill, version: HubVersion) -> None:
        """Say of a skill what its newest version says."""
        manifest = version.manifest
        values = {"summary": manifest.get("description", ""), "title": manifest.get("title", "")}
        self.change_skill(connection, skill, updated_ms=self._now_ms(), **values)

    def count_download(self, connection: sa.Connection, skill: HubSkill) -> None:
        """Count that somebody took a skill."""
        mine = SKILLS.c.id == skill.id
        connection.execute(sa.update(SKILLS).where(mine).values(downloads=SKILLS.c.downloads + 1))

    def read_archive(self, connection: sa.Connection, version: HubVersion) -> bytes:
        """Return a version as the archive that was made when it was published."""
        return self._read_blobs(connection, {version.archive: "the archive"})[version.archive]

    def read_files(self, connection: sa.Connection, version: HubVersion) -> Package:
        """Return the files of a version.

        Raises:
            HubNotFoundError: one is not there any more.
        """
        blobs = self._read_blobs(connection, {one.sha256: one.path for one in version.files})
        return {one.path: CopiedFile(blobs[one.sha256], one.executable) for one in version.files}

    def _read_blobs(self, connection: sa.Connection, wanted: Mapping[str, str]) -> dict[str, bytes]:
        query = sa.select(BLOBS).where(BLOBS.c.sha256.in_(list(wanted)))
        found = {row.sha256: zlib.decompress(row.content) for row in connection.execute(query)}
        for sha, path in wanted.items():
            # Held against its name: a disk may lie, and whoever asks trusts what they get.
            if sha not in found or digest_of(found[sha]) != sha:
                problem = "is damaged or missing in the store: restore a backup."
                raise HubNotFoundError(shown(path), problem)
        return found

    def _read_many(
        self, connection: sa.Connection, condition: sa.ColumnElement[bool]
    ) -> list[HubVersion]:
        rows = connection.execute(
            sa.select(VERSIONS).where(condition).order_by(VERSIONS.c.id)
        ).all()
        files: dict[int, list[HubFile]] = {row.id: [] for row in rows}
        query = sa.select(FILES).where(FILES.c.version_id.in_(list(files))).order_by(FILES.c.path)
        for row in connection.execute(query):
            files[row.version_id].append(
                HubFile(path=row.path, sha256=row.sha256, size=row.size, executable=row.executable)
            )
        return [_read_version(row, files[row.id]) for row in rows]


def newest_of(versions: Sequence[HubVersion]) -> HubVersion | None:
    """Return the version that everybody gets: a preview only where there is nothing else."""
    out = [one for one in versions if one.state is VersionState.PUBLISHED]
    whole = [one for one in out if not is_preview(one.version)]
    return max(whole or out, key=lambda one: order_version(one.version), default=None)


def shape_name(name: str) -> dict[str, str]:
    """Return by what names that could be taken for each other are found."""
    joined = strip_disguise(name)
    return {"joined": joined, "head": joined[:_END], "tail": joined[-_END:]}


def list_kin(name: str) -> frozenset[str]:
    """Return what a name is only another writing of: words in another order, a number behind."""
    words = _NUMBERED.sub("", name).split("-")
    orders = permutations(words) if len(words) <= _MOST_WORDS else (words,)
    joined = (strip_disguise("-".join(order)) for order in orders)
    return frozenset(one for one in joined if len(one) >= _LEAST_KIN)


def allow_skills(access: Access) -> sa.ColumnElement[bool]:
    """Return the part of a query over skills that leaves out what may not be seen."""
    if access.is_everything:
        return sa.true()
    public = NAMESPACES.c.is_public.is_(True)
    return sa.or_(public, SKILLS.c.space.in_(access.spaces)) if access.spaces else public


# Whatever columns else are wanted.
def _select_skills(*more: Any) -> "sa.Select[Any]":  # noqa: ANN401
    return sa.select(SKILLS, *_SPACE, *more).join(NAMESPACES, NAMESPACES.c.id == SKILLS.c.space)


def read_skill(row: "sa.Row[Any]") -> HubSkill:
    """Return the skill that a row holds."""
    same = {one.name: getattr(row, one.name) for one in fields(HubSkill) if one.name != "namespace"}
    return HubSkill(namespace=read_namespace(row, "space"), **same)


def _read_version(row: "sa.Row[Any]", files: Sequence[HubFile]) -> HubVersion:
    found = {one.name: getattr(row, one.name) for one in fields(HubVersion) if one.name != "files"}
    found |= {name: json.loads(found[name]) for name in ("manifest", "scan", "provenance")}
    return HubVersion(**{**found, "state": VersionState(row.state), "files": tuple(files)})
