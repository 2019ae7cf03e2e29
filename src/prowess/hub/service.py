"""What people do with a hub: publish, review, label, yank, deprecate, find and take.

Every right is checked here and nowhere else, whatever protocol asks. Who may not see a skill is
told that there is none. What was decided is taken down in the log of decisions.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from prowess.errors import HubConflictError, HubDeniedError, HubError, HubNotFoundError
from prowess.hub.catalogue import Catalogue, NewVersion, newest_of
from prowess.hub.model import (
    FLAT,
    LATEST,
    HubCaller,
    HubRole,
    HubSkill,
    HubVersion,
    Namespace,
    TokenScope,
    VersionState,
    check_name,
    check_version,
)
from prowess.hub.people import HubPeople
from prowess.hub.search import Access, DocumentIndex, NewDocument, read_asked, read_texts
from prowess.runtime.ports import Encoder
from prowess.runtime.sharing.ports import OfferedSkill, Package
from prowess.runtime.sharing.service import read_page
from prowess.safety.paths import shown
from prowess.settings import SpecMode
from prowess.skills.model import Skill

MOST_FOUND, _LONGEST_ASKED = 50, 2_000
_LONGEST_TEXT, _LONGEST_SUMMARY = 4_000, 1_024


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedSkill:
    """A skill that may be given to others, and what the scanner says of it."""

    skill: OfferedSkill
    archive: bytes = field(repr=False)
    title: str
    description: str
    scan: Mapping[str, Any]
    manifest: Mapping[str, Any]
    # Who signed exactly these files, that nobody did, or why that was not checked.
    provenance: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class HubPorts:
    """What a hub needs from the world."""

    catalogue: Catalogue
    people: HubPeople
    index: DocumentIndex
    # Takes files apart and scans them; says why they are refused.
    check: Callable[[Package, str], CheckedSkill | str]
    # None without a model: then words alone are searched.
    encoder: Encoder | None
    # Takes a decision down, together with the change that it tells of.
    record: Callable[[Mapping[str, Any], sa.Connection | None], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishRequest:
    """What somebody wants to publish."""

    files: Package = field(repr=False)
    version: str
    # By default the one that the caller publishes in.
    namespace: str = ""
    # Where it is given it must be that of the skill itself.
    name: str = ""
    changelog: str = ""
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A skill that a search found."""

    skill: HubSkill
    version: str
    # The digest of the version's archive.
    archive: str
    score: float
    # Whether its bare name stands for it.
    is_eldest: bool

    @property
    def slug(self) -> str:
        """The flat name by which clients that know no namespaces ask for it."""
        return self.skill.name if self.is_eldest else flatten(self.skill)


def read_skill(skill: HubSkill, files: Package) -> Skill:
    """Return what the SKILL.md among the files of a version says.

    Raises:
        HubError: it cannot be read.
    """
    parsed = read_page(skill.name, files, SpecMode.MIXED).skill
    if parsed is None:
        raise HubError(skill.address, "has a SKILL.md that cannot be read.")
    return parsed


def flatten(skill: HubSkill) -> str:
    """Return a name for clients that know no namespaces."""
    return f"{skill.namespace.name}{FLAT}{skill.name}"


class HubService:
    """The catalogue with rights; safe for several threads."""

    def __init__(self, ports: HubPorts) -> None:
        self._ports = ports
        self.people = ports.people
        self._catalogue, self._index = ports.catalogue, ports.index

    def publish(self, caller: HubCaller, request: PublishRequest) -> tuple[HubSkill, HubVersion]:
        """Take a version; where the namespace is reviewed it waits for a yes.

        Raises:
            HubDeniedError: the caller may not.
            HubError: it is refused.
            HubConflictError: there is another one of that number.
        """
        namespace = self._find_namespace(caller, request.namespace)
        version = check_version(request.version)
        for label in request.labels:
            check_name("label", label)
        checked = self._ports.check(request.files, f"{namespace.name}@{version}")
        if isinstance(checked, str):
            name = request.name or "the skill"
            self._record(caller, "publish", f"{namespace.name}/{name}", "refused", reason=checked)
            raise HubError(shown(name), f"was not published: {checked}")
        name = check_name("name of a skill", checked.skill.name)
        if request.name and request.name != name:
            problem = f"is what was asked for, and its SKILL.md says {name}: make them the same."
            raise HubError(shown(request.name), problem)
        state = VersionState.PENDING if namespace.is_reviewed else VersionState.PUBLISHED
        new = NewVersion(
            namespace=namespace,
            name=name,
            title=checked.title,
            summary=checked.description[:_LONGEST_SUMMARY],
            version=version,
            state=state,
            files=checked.skill.files,
            archive=checked.archive,
            publisher=caller.person,
            changelog=request.changelog[:_LONGEST_TEXT],
            manifest=checked.manifest,
            scan=checked.scan,
            provenance=checked.provenance,
        )
        return self._write(caller, new, request.labels)

    def _write(
        self, caller: HubCaller, new: NewVersion, labels: Sequence[str]
    ) -> tuple[HubSkill, HubVersion]:
        with self._catalogue.database.writing() as connection:
            skill, version, is_new = self._catalogue.add(connection, new)
            if is_new and version.state is VersionState.PUBLISHED:
                self._release(connection, skill)
            for label in labels if version.state is VersionState.PUBLISHED else ():
                if label != LATEST:
                    self._catalogue.set_label(connection, skill, label, version.id)
            if is_new:
                details = {"digest": version.digest, "verdict": str(version.scan.get("verdict"))}
                place = f"{skill.address}@{version.version}"
                self._record(caller, "publish", place, version.state.value, connection, **details)
        return skill, version

    def review(
        self, caller: HubCaller, address: str, version: str, *, approve: bool, reason: str = ""
    ) -> HubVersion:
        """Say yes or no to a version that waits; nobody says yes to their own.

        Raises:
            HubDeniedError: the caller may not.
            HubConflictError: it does not wait any more.
            HubNotFoundError: there is no such version.
        """
        with self._change(caller, TokenScope.REVIEW, address) as (connection, skill):
            found = self._catalogue.resolve(connection, skill, version)
            place = f"{skill.address}@{found.version}"
            if found.state is not VersionState.PENDING:
                raise HubConflictError(place, f"is {found.state.value} and waits for no review.")
            if approve and found.publisher == caller.person:
                problem = "was published by you: somebody else has to review it."
                raise HubDeniedError(place, problem)
            state = VersionState.PUBLISHED if approve else VersionState.REJECTED
            values = {"reviewer": caller.person, "reason": reason[:_LONGEST_TEXT]}
            self._catalogue.change_version(connection, found, state, **values)
            if approve:
                self._release(connection, skill)
            details = {"reason": reason, "digest": found.digest}
            self._record(caller, "review", place, state.value, connection, **details)
            return self._catalogue.read_version(connection, found.id)

    def label(self, caller: HubCaller, address: str, label: str, version: str | None) -> None:
        """Let a label, such as `stable`, stand for a version, or for none.

        Raises:
            HubDeniedError: the caller may not.
            HubError: it is no label.
            HubNotFoundError: there is no such version.
        """
        if check_name("label", label) == LATEST:
            raise HubError(LATEST, "is always the newest version: choose another label.")
        with self._change(caller, TokenScope.PUBLISH, address) as (connection, skill):
            found = None
            if version is not None:
                found = self._catalogue.resolve(connection, skill, version)
                if found.state is not VersionState.PUBLISHED:
                    problem = f"is {found.state.value}: only what is published gets a label."
                    raise HubConflictError(f"{skill.address}@{found.version}", problem)
            self._catalogue.set_label(connection, skill, label, found.id if found else None)
            to = f"to {found.version}" if found else "away"
            self._record(caller, "label", skill.address, f"{label} {to}", connection)

    def yank(self, caller: HubCaller, address: str, version: str, reason: str) -> None:
        """Let nobody find a version any more but who asks for exactly this one.

        Raises:
            HubDeniedError: the caller may not.
            HubConflictError: it is not published.
            HubNotFoundError: there is no such version.
        """
        with self._change(caller, TokenScope.PUBLISH, address) as (connection, skill):
            found = self._catalogue.resolve(connection, skill, version)
            place = f"{skill.address}@{found.version}"
            if found.state is not VersionState.PUBLISHED:
                raise HubConflictError(place, f"is {found.state.value}, so it cannot be yanked.")
            values = {"reason": reason[:_LONGEST_TEXT]}
            self._catalogue.change_version(connection, found, VersionState.YANKED, **values)
            labels = self._catalogue.read_labels(connection, skill)
            for label in [name for name, at in labels.items() if at == found.version]:
                self._catalogue.set_label(connection, skill, label, None)
            self._release(connection, skill)
            self._record(caller, "yank", place, "yanked", connection, reason=reason)

    def deprecate(self, caller: HubCaller, address: str, message: str) -> None:
        """Tell whoever takes a skill that it should not be used; an empty message takes it back.

        Raises:
            HubDeniedError: the caller may not.
            HubNotFoundError: there is no such skill.
        """
        with self._change(caller, TokenScope.PUBLISH, address) as (connection, skill):
            self._catalogue.change_skill(connection, skill, deprecated=message[:_LONGEST_TEXT])
            outcome = "deprecated" if message else "not deprecated"
            self._record(caller, "deprecate", skill.address, outcome, connection, reason=message)

    def vouch(self, caller: HubCaller, address: str) -> None:
        """Say that a name which looks like an older one is meant so.

        Raises:
            HubDeniedError: the caller does not operate the hub.
            HubNotFoundError: there is no such skill.
        """
        if not caller.is_operator:
            raise HubDeniedError(shown(address), "can be vouched for by the hub's operator only.")
        with self._change(caller, TokenScope.ADMIN, address) as (connection, skill):
            self._catalogue.change_skill(connection, skill, resembles=None)
            self._record(caller, "vouch", skill.address, "vouched for", connection)

    def search(self, caller: HubCaller, text: str, limit: int = 10) -> list[Hit]:
        """Return the skills that fit best, of those that the caller may see.

        Raises:
            HubDeniedError: the token may not be used for reading.
        """
        access = self.people.find_access(caller)
        asked, encoder = read_asked(text[:_LONGEST_ASKED]), self._ports.encoder
        if not asked.text.strip():
            return []
        vector = None if encoder is None else encoder.encode([asked.text])[0]
        ranked = self._index.search(
            asked, vector, access, english_only=encoder is not None and encoder.english_only
        )[: max(0, min(limit, MOST_FOUND))]
        return self._read_hits(ranked, access)

    def list_skills(
        self, caller: HubCaller, *, most: int, after: int = 0, namespace: str = ""
    ) -> list[Hit]:
        """Return what can be had, the last changed first.

        Raises:
            HubDeniedError: the token may not be used for reading.
        """
        access = self.people.find_access(caller)
        with self._catalogue.database.reading() as connection:
            ids = self._catalogue.list_found(
                connection, access, most=most, after=after, namespace=namespace
            )
        return self._read_hits([(skill_id, 0.0) for skill_id in ids], access)

    def _read_hits(self, ranked: Sequence[tuple[int, float]], access: Access) -> list[Hit]:
        with self._catalogue.database.reading() as connection:
            found = self._catalogue.read_found(connection, [skill_id for skill_id, _ in ranked])
            seen = self._catalogue.hide_elders(
                connection, [one[0] for one in found.values()], access
            )
            skills = {one.id: one for one in seen}
            names = {one.name for one in seen}
            eldest = self._catalogue.find_eldest(connection, sorted(names), access)
        return [
            Hit(
                skill=skills[skill_id],
                version=found[skill_id][1],
                archive=found[skill_id][2],
                score=score,
                is_eldest=eldest.get(skills[skill_id].name) == skill_id,
            )
            for skill_id, score in ranked
            if skill_id in found
        ]

    def find(self, caller: HubCaller, name: str) -> HubSkill:
        """Return a skill by `namespace/name`, `namespace--name` or its bare name.

        Raises:
            HubNotFoundError: there is none that the caller may see.
            HubDeniedError: the token may not be used for reading.
        """
        access = self.people.find_access(caller)
        space, separator, bare = name.partition("/" if "/" in name else FLAT)
        with self._catalogue.database.reading() as connection:
            found = (
                self._catalogue.find_skill(connection, space.lstrip("@"), bare)
                if separator
                else self._catalogue.find_named(connection, name, access)
            )
            if found is None or not caller.may(TokenScope.READ, found.namespace):
                raise HubNotFoundError(shown(name), "is no skill of this hub that you may see.")
            return self._catalogue.hide_elders(connection, [found], access)[0]

    def list_versions(self, caller: HubCaller, skill: HubSkill) -> list[HubVersion]:
        """Return the versions that the caller may see, the newest first."""
        with self._catalogue.database.reading() as connection:
            found = self._catalogue.list_versions(connection, skill)
        return [one for one in found if self._may_see(caller, skill, one)]

    def list_pending(self, caller: HubCaller) -> list[tuple[HubSkill, HubVersion]]:
        """Return what waits for a review that the caller may give."""
        access = self.people.find_access(caller)
        with self._catalogue.database.reading() as connection:
            found = [
                (skill, one)
                for skill, one in self._catalogue.list_pending(connection)
                if caller.may(TokenScope.REVIEW, skill.namespace)
            ]
            skills = self._catalogue.hide_elders(connection, [skill for skill, _ in found], access)
        return [(skill, one) for skill, (_, one) in zip(skills, found, strict=True)]

    def find_version(self, caller: HubCaller, skill: HubSkill, ref: str = "") -> HubVersion:
        """Return the version that a number, a label or nothing stands for.

        Raises:
            HubNotFoundError: there is none that the caller may see.
        """
        with self._catalogue.database.reading() as connection:
            found = self._catalogue.resolve(connection, skill, ref)
        if not self._may_see(caller, skill, found):
            raise HubNotFoundError(f"{skill.address}@{shown(ref)}", "is not published.")
        return found

    def read_labels(self, skill: HubSkill) -> dict[str, str]:
        """Return which version each label of a skill stands for, `latest` among them."""
        with self._catalogue.database.reading() as connection:
            newest = newest_of(self._catalogue.list_versions(connection, skill))
            labels = self._catalogue.read_labels(connection, skill)
        return labels | ({LATEST: newest.version} if newest else {})

    def read_files(self, version: HubVersion) -> Package:
        """Return the files of a version."""
        with self._catalogue.database.reading() as connection:
            return self._catalogue.read_files(connection, version)

    def take(self, skill: HubSkill, version: HubVersion) -> bytes:
        """Return a version as an archive, and count that somebody took it."""
        with self._catalogue.database.reading() as connection:
            found = self._catalogue.read_archive(connection, version)
        with self._catalogue.database.writing() as connection:
            self._catalogue.count_download(connection, skill)
        return found

    def choose_namespace(self, caller: HubCaller) -> str:
        """Return the namespace that a caller publishes in without saying so.

        Raises:
            HubError: it is not clear which.
        """
        mine = [name for name, role in caller.roles.items() if role.rank >= HubRole.PUBLISHER.rank]
        if caller.person in mine:
            return caller.person
        if len(mine) != 1:
            names = ", ".join(sorted(mine)) or "none"
            problem = f"is not clear: name one of those that you publish in ({names})."
            raise HubError("the namespace", problem)
        return mine[0]

    def _find_namespace(self, caller: HubCaller, name: str) -> Namespace:
        if not caller.person:
            raise HubDeniedError("a token", "is needed to publish: give one.", is_unknown=True)
        found = self.people.find_namespace(name.lstrip("@") or self.choose_namespace(caller))
        if not caller.may(TokenScope.PUBLISH, found):
            self._record(caller, "publish", found.name, "refused", reason="no right")
            raise HubDeniedError(
                found.name,
                f"{caller.person} may not publish here: this needs the role publisher, and a token"
                " with the scope publish.",
            )
        return found

    @contextmanager
    def _change(
        self, caller: HubCaller, scope: TokenScope, address: str
    ) -> Iterator[tuple[sa.Connection, HubSkill]]:
        """Give a skill to change, to whoever may."""
        skill = self.find(caller, address)
        if not caller.may(scope, skill.namespace):
            problem = f"needs the role {scope.role} there, and a token with the scope {scope}."
            raise HubDeniedError(skill.address, problem, is_unknown=not caller.person)
        with self._catalogue.database.writing() as connection:
            yield connection, skill

    def _may_see(self, caller: HubCaller, skill: HubSkill, version: HubVersion) -> bool:
        # Whoever may say yes to a version may read it first.
        return version.state in {VersionState.PUBLISHED, VersionState.YANKED} or any(
            caller.may(scope, skill.namespace) for scope in (TokenScope.PUBLISH, TokenScope.REVIEW)
        )

    def reindex(self, told: Callable[[str, int, int], None]) -> int:
        """Make everything anew by which skills are found, as another encoder needs it."""
        database, done = self._catalogue.database, 0
        with database.reading() as connection:
            skills = self._catalogue.list_all(connection)
        for done, skill in enumerate(skills, start=1):
            told("reading skills", done, len(skills))
            with database.writing() as connection:
                self._release(connection, skill)
        return done

    def _release(self, connection: sa.Connection, skill: HubSkill) -> None:
        """Let a skill be found by its newest version, or not at all."""
        newest = newest_of(self._catalogue.list_versions(connection, skill))
        if newest is None:
            self._index.remove(connection, skill.id)
            return
        self._catalogue.note_update(connection, skill, newest)
        files = self._catalogue.read_files(connection, newest)
        self._index.put(connection, [self._make_document(skill, newest, files)])

    def _make_document(self, skill: HubSkill, version: HubVersion, files: Package) -> NewDocument:
        texts, encoder = read_texts(read_skill(skill, files)), self._ports.encoder
        return NewDocument(
            skill_id=skill.id,
            space=skill.namespace.id,
            is_public=skill.namespace.is_public,
            version=version.version,
            words=texts.words,
            vector=None if encoder is None else encoder.encode([texts.text])[0],
        )

    def _record(
        self,
        caller: HubCaller,
        event: str,
        skill: str,
        outcome: str,
        connection: sa.Connection | None = None,
        **details: str,
    ) -> None:
        said = {key: value for key, value in details.items() if value}
        by = caller.person or "nobody"
        row = {"event": f"hub.{event}", "skill": skill, "by": by, "outcome": outcome, **said}
        self._ports.record(row, connection)
