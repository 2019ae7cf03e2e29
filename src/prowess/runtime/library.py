"""Every source of an agent's skills with what it holds: what counts, what is shadowed or broken.

Sources come with the one that wins first. A file that could not be read as a skill is named by its
folder: whoever looks for it knows it by that name.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from prowess.errors import PathError
from prowess.runtime.service import SkillsService
from prowess.runtime.workspace import WorkspaceState
from prowess.safety.paths import shown
from prowess.settings import Precedence
from prowess.skills.catalog import OPENPOCKET_RANK, collation_key
from prowess.skills.model import Diagnostic, Severity, Skill, Source

MOST_FILE_BYTES = 262_144
_SKILL_FILE = "skill.md"


class Standing(StrEnum):
    """What became of a file that was found."""

    ACTIVE = "active"
    SHADOWED = "shadowed"
    DRAFT = "draft"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One skill, or broken file, of a source."""

    name: str
    path: str
    standing: Standing
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
    entries: tuple[Entry, ...] = ()
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
ReadInside: TypeAlias = Callable[[str, str, int], bytes | None]


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
        sources = in_order(state.scan.sources, state.settings.skills.load.precedence)
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
            known = {*self._skills.resources(skill.name, agent_id), _last(skill.path)}
        if path not in known:
            problem = f"is no file of {skill.name}: `resources` lists those it has."
            raise PathError(shown(path), problem)
        body = self._read(skill.folder, path, MOST_FILE_BYTES)
        size = None if body is None else len(body)
        return SkillFile(name=skill.name, path=path, text=_text(body), size=size)

    def _source(
        self, source: Source, state: WorkspaceState, problems: Sequence[Diagnostic]
    ) -> LibrarySource:
        found = [_entry(skill, state) for skill in state.scan.skills if _is_of(skill, source)]
        paths = {entry.path for entry in found}
        wrong = [one for one in problems if one.path not in paths]
        broken = {one.path for one in wrong if _is_broken(one)}
        entries = [*found, *(_broken(path, wrong) for path in sorted(broken))]
        return LibrarySource(
            source=source,
            exists=self._exists(source.root),
            entries=tuple(sorted(entries, key=lambda entry: collation_key(entry.name))),
            diagnostics=tuple(one for one in wrong if one.path not in broken),
        )


def in_order(sources: Sequence[Source], precedence: Precedence) -> list[Source]:
    """Return sources with the one that wins first; they come with the lowest first."""
    if precedence is Precedence.OPENCLAW:
        return list(sources)[::-1]
    # The first of a source wins there, so equals stay as they came.
    return sorted(sources, key=lambda one: -OPENPOCKET_RANK[one.tier])


def _entry(skill: Skill, state: WorkspaceState) -> Entry:
    winner = state.catalog.winners[skill.name]
    standing = Standing.DRAFT if skill.is_draft else Standing.ACTIVE
    lost = winner is not skill
    return Entry(
        name=skill.name,
        path=skill.path,
        standing=Standing.SHADOWED if lost else standing,
        description=skill.description,
        winner=winner if lost else None,
        identical=lost and winner.content_hash == skill.content_hash,
        diagnostics=skill.diagnostics,
    )


def _broken(path: str, problems: Sequence[Diagnostic]) -> Entry:
    parts = path.replace("\\", "/").split("/")
    is_page = parts[-1].lower() == _SKILL_FILE and len(parts) > 1
    return Entry(
        name=parts[-2] if is_page else parts[-1],
        path=path,
        standing=Standing.BROKEN,
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


def _last(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]


def _text(body: bytes | None) -> str | None:
    if body is None or b"\0" in body:
        return None
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return None
