"""Every source of an agent's skills with what it holds, and removal of skills with a way back.

Sources come with the one that wins first. A file that could not be read as a skill is named by its
folder: whoever looks for it knows it by that name.

To remove a skill a client gives a key and a source, never a path: a boundary that the caller
chooses is none. Where the skill lies is what the service knows, and the port checks again that it
is so on the disk. Whatever was learned about a skill stays as it is.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import PurePath
from typing import Protocol, TypeAlias

from prowess.errors import PathError, ProwessError, RemovalError
from prowess.runtime.service import SkillsService, WorkspaceState
from prowess.runtime.skill_texts import name_files
from prowess.safety.paths import shown
from prowess.settings import Precedence
from prowess.skills.catalog import OPENPOCKET_RANK, collation_key
from prowess.skills.model import Diagnostic, Severity, Skill, Source, Tier
from prowess.skills.text import clean

MOST_FILE_BYTES = 262_144
_SKILL_FILE = "skill.md"
_UNSEEN = frozenset(("candidates-truncated", "entries-truncated"))


class FileStanding(StrEnum):
    """What became of a file that was found."""

    ACTIVE = "active"
    SHADOWED = "shadowed"
    DRAFT = "draft"
    BROKEN = "broken"
    # Over a limit of its source: read and left out, or not even looked at.
    CUT = "cut"


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryEntry:
    """One skill, or broken file, of a source."""

    name: str
    path: str
    standing: FileStanding
    description: str = ""
    # Who has the name instead; a mere copy of it loses nothing.
    winner: Skill | None = None
    identical: bool = False
    diagnostics: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LibrarySource:
    """A source with its entries, ordered by name."""

    source: Source
    exists: bool
    entries: tuple[LibraryEntry, ...] = ()
    # About the folder itself, and about files that no entry stands for.
    diagnostics: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """All sources of one agent's workspace, the one that wins first."""

    agent_id: str
    sources: tuple[LibrarySource, ...]
    # What belongs to no source, such as a folder of the config that is not there.
    diagnostics: tuple[Diagnostic, ...] = ()


# From a folder, a path inside it and a number of bytes to the bytes; None where there are more.
ReadInside: TypeAlias = Callable[[Skill, str, int], bytes | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillFile:
    """A file of a skill, as far as people can read it."""

    name: str
    path: str
    # None where it is no text, or too large to be shown.
    text: str | None
    # None where nobody counted, since there are too many.
    size: int | None


class Libraries:
    """Shows sources and files of skills, for every agent."""

    def __init__(
        self, skills: SkillsService, exists: Callable[[str], bool], read: ReadInside
    ) -> None:
        self._skills, self._exists, self._read = skills, exists, read

    def shown(self, agent_id: str | None) -> Library:
        """Return every source of an agent's workspace.

        Raises:
            UnknownAgentError: there is no such agent.
        """
        with self._skills.lock:
            agent = self._skills.agent(agent_id)
            state = self._skills.workspace(agent_id).state(self._skills.settings)
        sources = order_sources(state.scan.sources, state.settings.skills.load.precedence)
        problems = _by_root([source.root for source in sources], state.scan.diagnostics)
        return Library(
            agent_id=agent.id,
            sources=tuple(
                self._source(source, state, problems.get(source.root, ())) for source in sources
            ),
            diagnostics=tuple(problems.get("", ())),
        )

    def file(self, name: str, path: str, agent_id: str | None) -> SkillFile:
        """Return one file of a skill: its page, or one of its resources.

        Raises:
            SkillNotFoundError: there is no such skill.
            PathError: it has no such file.
        """
        with self._skills.lock:
            skill = self._skills.find(name, agent_id).skill
            known = {*self._skills.resources(skill.name, agent_id), _take_last(skill.path)}
        if path not in known:
            problem = f"is no file of {skill.name}: {name_files(known, path)}."
            raise PathError(shown(path), problem)
        body = self._read(skill, path, MOST_FILE_BYTES)
        size = None if body is None else len(body)
        return SkillFile(name=skill.name, path=path, text=_text(body), size=size)

    def _source(
        self, source: Source, state: WorkspaceState, problems: Sequence[Diagnostic]
    ) -> LibrarySource:
        found = [_entry(skill, state) for skill in state.scan.skills if _is_of(skill, source)]
        found += [_cut(skill, state) for skill in state.scan.cut if _is_of(skill, source)]
        paths = {entry.path for entry in found}
        wrong = [one for one in problems if one.path not in paths]
        broken = {one.path for one in wrong if _is_broken(one)}
        entries = [*found, *(_make_broken(path, wrong) for path in sorted(broken))]
        return LibrarySource(
            source=source,
            exists=self._exists(source.root),
            entries=tuple(sorted(entries, key=lambda entry: collation_key(entry.name))),
            diagnostics=tuple(one for one in wrong if one.path not in broken),
        )


def order_sources(sources: Sequence[Source], precedence: Precedence) -> list[Source]:
    """Return sources with the one that wins first; they come with the lowest first."""
    if precedence is Precedence.OPENCLAW:
        return list(sources)[::-1]
    # The first of a source wins there, so equals stay as they came.
    return sorted(sources, key=lambda one: -OPENPOCKET_RANK[one.tier])


def _entry(skill: Skill, state: WorkspaceState) -> LibraryEntry:
    winner = state.catalog.winners[skill.name]
    standing = FileStanding.DRAFT if skill.is_draft else FileStanding.ACTIVE
    lost = winner is not skill
    return LibraryEntry(
        name=skill.name,
        path=skill.path,
        standing=FileStanding.SHADOWED if lost else standing,
        description=skill.description,
        winner=winner if lost else None,
        identical=lost and winner.content_hash == skill.content_hash,
        diagnostics=skill.diagnostics,
    )


def list_unread(state: WorkspaceState) -> tuple[LibraryEntry, ...]:
    """Return what is no skill for anybody: broken files, and what a limit left out.

    A folder in which not everything was looked at stands for what nobody knows the names of.
    """
    problems = state.scan.diagnostics
    read = {skill.path for skill in state.scan.skills}
    broken = {one.path for one in problems if _is_broken(one)} - read
    unseen = [one for one in problems if one.code in _UNSEEN]
    entries = (
        *(_make_broken(path, problems) for path in broken),
        *(_cut(skill, state) for skill in state.scan.cut),
        *(
            LibraryEntry(
                name=f"{_take_last(one.path)}/…",
                path=one.path,
                standing=FileStanding.CUT,
                diagnostics=(one,),
            )
            for one in unseen
        ),
    )
    return tuple(sorted(entries, key=lambda entry: collation_key(entry.name)))


def _cut(skill: Skill, state: WorkspaceState) -> LibraryEntry:
    problems = (one for one in state.scan.diagnostics if one.code == "skills-truncated")
    return LibraryEntry(
        name=skill.name,
        path=skill.path,
        standing=FileStanding.CUT,
        description=skill.description,
        diagnostics=tuple(one for one in problems if one.path == skill.source.root),
    )


def _make_broken(path: str, problems: Sequence[Diagnostic]) -> LibraryEntry:
    parts = path.replace("\\", "/").split("/")
    is_page = parts[-1].lower() == _SKILL_FILE and len(parts) > 1
    return LibraryEntry(
        name=parts[-2] if is_page else parts[-1],
        path=path,
        standing=FileStanding.BROKEN,
        diagnostics=tuple(one for one in problems if one.path == path),
    )


def _is_of(skill: Skill, source: Source) -> bool:
    return skill.source.root == source.root and skill.source.tier is source.tier


def _is_broken(problem: Diagnostic) -> bool:
    is_page = problem.path.lower().endswith((".md", ".mdc"))
    return is_page and problem.severity is Severity.ERROR


def _by_root(roots: Sequence[str], problems: Sequence[Diagnostic]) -> dict[str, list[Diagnostic]]:
    """Sort problems by the deepest root that holds their file; under "" those that have none."""
    found: dict[str, list[Diagnostic]] = {}
    for problem in problems:
        holding = [root for root in roots if _is_inside(problem.path, root)]
        found.setdefault(max(holding, key=len, default=""), []).append(problem)
    return found


def _is_inside(path: str, root: str) -> bool:
    return path == root or path.startswith((f"{root}/", f"{root}\\"))


def _take_last(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]


def _text(body: bytes | None) -> str | None:
    if body is None or b"\0" in body:
        return None
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return None


log = logging.getLogger(__name__)

KEPT_DAYS = 30
_DAY_S = 86_400
_SOURCES = frozenset(tier.source_id for tier in Tier if tier.is_removable)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedSkill:
    """A skill in the trash."""

    id: str
    # Where it was.
    original: str
    source: str
    # Seconds since 1970.
    removed_at: float


class Trash(Protocol):
    """Where removed skills wait."""

    def exists(self, folder: str) -> bool:
        """Return whether anything is at that path, be it a link that leads nowhere."""

    def put(self, folder: str, root: str, source: str, now: float) -> RemovedSkill | None:
        """Move a skill's folder out of its root, while nobody changes it; None where it is gone.

        Raises:
            RemovalError: it is no skill inside the root, or cannot be moved.
        """

    def take_back(self, removed: RemovedSkill, roots: Sequence[str]) -> str:
        """Put a skill back where it was, which must be inside one of the roots.

        Raises:
            RemovalError: it cannot come back, and the message says why.
        """

    def entries(self) -> Sequence[RemovedSkill]:
        """Return what can come back, oldest first.

        Raises:
            RemovalError: the trash cannot be read.
        """

    def purge(self, before: float) -> Sequence[str]:
        """Delete for good what was removed before that time, and return the ids.

        Raises:
            RemovalError: something cannot be deleted.
        """


class Removals:
    """Removes and restores the skills of every agent; safe from any thread."""

    def __init__(
        self,
        skills: SkillsService,
        trash: Trash,
        now: Callable[[], float],
        changed: Callable[[], object] = lambda: None,
    ) -> None:
        """Nothing is looked at yet.

        Args:
            skills: knows where skills are, and looks again after each change.
            trash: where they go.
            now: seconds since 1970.
            changed: is called after each change, for whoever passes the news on.
        """
        self._skills, self._trash, self._now, self._changed = skills, trash, now, changed

    def remove(self, skill_key: str, source: str, agent_id: str | None) -> dict[str, object]:
        """Move a managed or workspace skill to the trash.

        Raises:
            RemovalError: no one skill is meant, or it may not be removed.
            UnknownAgentError: no agent has that id.
        """
        if source not in _SOURCES:
            known = " and ".join(sorted(_SOURCES))
            problem = f"{shown(source)} skills are not removed, only {known}."
            raise RemovalError(shown(skill_key), problem)
        skill = self._find(skill_key, source, agent_id)
        _refuse_special(skill)
        gone = self._trash.put(skill.folder, skill.source.root, source, self._now())
        self._look_again()
        return {
            "removed": gone is not None,
            "removedPath": clean(skill.folder),
            "source": source,
            "id": "" if gone is None else gone.id,
        }

    # The name that clients know it by.
    def restore(self, id: str, agent_id: str | None) -> dict[str, object]:  # noqa: A002
        """Put a removed skill back where it was.

        Without an agent, the skills folders of all agents are considered.

        Raises:
            RemovalError: it is not in the trash, or cannot go back.
            UnknownAgentError: no agent has that id.
        """
        roots = self._roots(agent_id)
        for entry in self._entries():
            if entry.id == id:
                path = self._trash.take_back(entry, roots)
                self._look_again()
                return {"restored": True, "path": clean(path)}
        raise RemovalError(shown(id), "is not in the trash: `skills.trash` lists what is.")

    def listed(self) -> list[dict[str, object]]:
        """Return the removed skills that can come back, the last one first.

        Raises:
            RemovalError: the trash cannot be read.
        """
        return [
            {
                "id": entry.id,
                "name": clean(PurePath(entry.original).name),
                "path": clean(entry.original),
                "source": entry.source,
                "removedAt": _moment(entry),
            }
            for entry in reversed(self._entries())
        ]

    def purge(self) -> tuple[str, ...]:
        """Delete for good what has been in the trash for thirty days, and return the ids."""
        try:
            return tuple(self._trash.purge(self._now() - KEPT_DAYS * _DAY_S))
        except RemovalError as error:
            # It waits for the next time: nobody asked for it, so nobody is to be held up by it.
            log.warning("trash.unusable: %s", error)
            return ()

    def _entries(self) -> list[RemovedSkill]:
        # Drafts wait in the same folder, and come back by another way.
        return [entry for entry in self._trash.entries() if entry.source in _SOURCES]

    def _find(self, key: str, source: str, agent_id: str | None) -> Skill:
        before = self._find_matching(key, source, agent_id)
        # Not under the lock of the service: whoever writes a skill needs it to come to an end.
        self._skills.refresh()
        found = self._find_matching(key, source, agent_id)
        if not found and len(before) == 1:
            if self._trash.exists(before[0].folder):
                problem = "is not the skill any more that it was: look at skills.status again."
                raise RemovalError(shown(before[0].folder), problem)
            return before[0]
        if len(found) != 1:
            raise self._not_one(key, source, agent_id, found)
        return found[0]

    def _find_matching(self, key: str, source: str, agent_id: str | None) -> list[Skill]:
        skills = self._skills
        winners = [row.skill for row in skills.status(agent_id).skills]
        # One that another shadows is as real on the disk; it is meant where its source has no
        # other.
        state = skills.workspace(agent_id).state(skills.settings)
        shadowed = [lost.skill for lost in state.catalog.shadowed]
        return _of_source(winners, key, source) or _of_source(shadowed, key, source)

    def _not_one(
        self, key: str, source: str, agent_id: str | None, found: Sequence[Skill]
    ) -> RemovalError:
        if found:
            names = ", ".join(sorted(shown(skill.path) for skill in found))
            problem = f"is the key of several skills ({names}): give each a key of its own first."
            return RemovalError(shown(key), problem)
        others = {
            row.skill.source.tier.source_id
            for row in self._skills.status(agent_id).skills
            if row.skill.key == key
        }
        if others:
            problem = f"comes from {', '.join(sorted(others))}, not from {source}."
        else:
            problem = f"no {source} skill has that key: `skills.status` lists the keys."
        return RemovalError(shown(key), problem)

    def _roots(self, agent_id: str | None) -> list[str]:
        """Return the folders that skills may be removed from, of one agent or of all."""
        skills = self._skills
        settings = skills.settings
        agents = [agent.id for agent in settings.agents] if agent_id is None else [agent_id]
        sources = [
            source
            for agent in agents
            for source in skills.workspace(agent).state(settings).scan.sources
            if source.tier.is_removable and not source.leads_away
        ]
        return list(dict.fromkeys(source.root for source in sources))

    def _look_again(self) -> None:
        try:
            self._skills.refresh()
        except ProwessError as error:
            # What was asked for is done: to say that it failed would be wrong.
            log.warning("refresh.failed: %s", error)
        self._changed()


def _of_source(skills: Sequence[Skill], key: str, source: str) -> list[Skill]:
    return [one for one in skills if one.key == key and one.source.tier.source_id == source]


def _refuse_special(skill: Skill) -> None:
    """Refuse what is no folder of its own inside its root, and what has its own way out."""
    if skill.is_draft:
        problem = "is a draft: `prowess experience clean` removes drafts that are not needed."
        raise RemovalError(shown(skill.path), problem)
    if PurePath(skill.path).name.lower() != "skill.md":
        problem = "is a single file and no folder with a SKILL.md: delete the file by hand."
        raise RemovalError(shown(skill.path), problem)
    if skill.source.leads_away:
        problem = "is a link out of its workspace: remove the skill where it really is."
        raise RemovalError(shown(skill.source.root), problem)


def _moment(entry: RemovedSkill) -> str:
    try:
        moment = datetime.fromtimestamp(entry.removed_at, UTC)
    except (OverflowError, OSError, ValueError):
        # The record of an entry is a file like any other, and may say anything.
        moment = datetime.fromtimestamp(0, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
