"""What one agent may see of its skills, for every path on which a client can ask.

There is one gate: the agent's snapshot, which holds what is eligible, allowed and no draft. Lists,
reads and tools see what of it the model may choose; prompts, which people call, see what of it
people may call. What is not behind the gate does not exist, whatever its name, and no answer tells
that it does.
"""

import logging
import posixpath
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from prowess.errors import PathError, SkillNotFoundError, UnsafeSkillError
from prowess.mcp.protocol import (
    MOST_FILE_BYTES,
    SKILL_FILE,
    NotThere,
    ServedSkill,
    SkillFacts,
    file_uri,
    make_cursor,
    parse,
    read_cursor,
    serve_files,
)
from prowess.runtime.service import SkillsService
from prowess.runtime.skill_texts import SkillText, SkillTexts, name_files
from prowess.runtime.skill_tools import check_part, find_for_model
from prowess.skills.catalog import AddressedSkill, addressed_name, list_addressed
from prowess.skills.commands import SkillCommand, build_commands
from prowess.skills.model import Skill
from prowess.skills.text import one_line

log = logging.getLogger(__name__)

PAGE = 50
# The list of skills, among the lists that cursors belong to; the others are folders.
_SKILLS = ""
_LONGEST_SAID = 200


class Page(NamedTuple):
    """Some of the skills, and where the next ones begin; None where these are the last."""

    skills: Sequence[SkillFacts]
    cursor: str | None


class ListPage(NamedTuple):
    """Some rows of the list of skills, and where the next ones begin; None after the last."""

    rows: Sequence[AddressedSkill]
    cursor: str | None


class DirectoryEntry(NamedTuple):
    """An entry of a folder: a file, or a folder whose path ends in a slash."""

    path: str
    size: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Directory:
    """Some of what a folder of a skill holds."""

    skill: ServedSkill
    entries: Sequence[DirectoryEntry]
    cursor: str | None


class AddressedCatalogue(ABC):
    """Skills by the addresses of their files: those of an agent, or those of a hub."""

    @abstractmethod
    def page(self, cursor: str | None = None) -> Page:
        """Return the next skills after a cursor.

        Raises:
            NotThere: the cursor is none of ours.
        """

    @abstractmethod
    def _find_served(self, name: str, uri: str) -> ServedSkill:
        """Return the skill of a name; `uri` is what was asked for."""

    def skill(self, uri: str) -> ServedSkill:
        """Return the skill whose SKILL.md has that address.

        Raises:
            NotThere: there is none.
            UnsafeSkillError: the scanner refuses it.
        """
        place = parse(uri)
        if place is None or place.path != SKILL_FILE:
            raise unknown_address(uri)
        return self._find_served(place.name, uri)

    def file(self, uri: str) -> bytes:
        """Return the content of the file at an address.

        Raises:
            NotThere: there is none.
            UnsafeSkillError: the scanner refuses the skill that it belongs to.
        """
        place = parse(uri)
        found = None if place is None else self._find_served(place.name, uri).files.get(place.path)
        if found is None:
            raise unknown_address(uri)
        return found

    def directory(self, uri: str, cursor: str | None = None, most: int = PAGE) -> Directory:
        """Return what a folder of a skill holds, by name.

        Raises:
            NotThere: there is no such folder, or the cursor is none of ours.
            UnsafeSkillError: the scanner refuses the skill that it belongs to.
        """
        place = parse(uri)
        if place is None:
            raise unknown_address(uri)
        return list_directory(self._find_served(place.name, uri), uri, cursor, most)


class McpCatalogue(AddressedCatalogue):
    """The skills of one agent, as clients see them."""

    def __init__(
        self,
        skills: SkillsService,
        texts: "Callable[[], SkillTexts]",
        *,
        agent_id: str | None = None,
        look: Callable[[], None] = lambda: None,
    ) -> None:
        """Begin.

        Args:
            skills: where they come from.
            texts: opens what hands out their texts, and with it the scanner; no list needs it.
            agent_id: whose skills; None for the default agent's.
            look: is called before each answer and brings `skills` up to date.
        """
        self._skills, self._texts, self._look = skills, texts, look
        self._agent_id = agent_id
        # What was usable, and its addresses: replaced as one, since threads share it.
        self._known: tuple[tuple[Skill, ...], Mapping[str, Skill]] = ((), {})

    @property
    def texts(self) -> "SkillTexts":
        """What hands out the texts of skills."""
        return self._texts()

    @property
    def agent_id(self) -> str:
        """Whose skills these are.

        Raises:
            UnknownAgentError: the agent is not there, or not any more.
        """
        return self._skills.agent(self._agent_id).id

    def usable(self) -> tuple[Skill, ...]:
        """Return what the agent may use now, what is hidden from its model included."""
        self._look()
        return self._skills.allowed(self._agent_id).usable

    def waiting(self) -> tuple[Skill, ...]:
        """Return what the agent could use, if only it were scanned."""
        allowed = self._skills.allowed(self._agent_id)
        known = {skill.path for skill in allowed.usable}
        return tuple(skill for skill in allowed.hopeful if skill.path not in known)

    def visible(self) -> tuple[Skill, ...]:
        """Return what the agent's model may choose now."""
        return tuple(skill for skill in self.usable() if skill.invocation.model)

    def addressed(self) -> Mapping[str, Skill]:
        """Return the skills that have an address and the model may choose, by the name in it."""
        known, usable = self._known, self.usable()
        if known[0] is not usable:
            visible = (skill for skill in usable if skill.invocation.model)
            named = ((addressed_name(skill), skill) for skill in visible)
            known = usable, {name: skill for name, skill in named if name is not None}
            self._known = known
        return known[1]

    def commands(self) -> tuple[SkillCommand, ...]:
        """Return the commands that a person may call and whose text a model follows."""
        return tuple(one for one in build_commands(self.usable()) if one.dispatch is None)

    def held_commands(self) -> tuple[SkillCommand, ...]:
        """Return those that the scanner keeps back: who asks for one is told so, or gets it now."""
        held = self._skills.allowed(self._agent_id).held
        return tuple(one for one in build_commands(held) if one.dispatch is None)

    def named(self, name: str) -> Skill:
        """Return the skill of that name which the model may choose.

        Raises:
            SkillNotFoundError: none or several answer to it.
            UnsafeSkillError: the scanner blocks it.
        """
        try:
            return find_for_model(self.usable(), name)
        except SkillNotFoundError as error:
            skill = self._skills.wait_for(name, self._agent_id, error)
            if not skill.invocation.model:
                raise
            return skill

    def rows(self) -> tuple[AddressedSkill, ...]:
        """Return the whole list of skills as clients see it, by name."""
        return tuple(sorted(list_addressed(self.usable())))

    def listed(
        self,
        cursor: str | None = None,
        kept: Sequence[AddressedSkill] | None = None,
        most: int = PAGE,
    ) -> ListPage:
        """Return the next rows of the list after a cursor; nothing is read or scanned for it.

        Args:
            cursor: where to begin.
            kept: the list, where it is known from elsewhere.
            most: how many rows.

        Raises:
            NotThere: the cursor is none of ours.
        """
        after = read_cursor(_SKILLS, cursor)
        if kept is None:
            known = self.addressed()
            names = sorted(name for name in known if name > after)
            rows = list_addressed(known[name] for name in names[:most])
        else:
            left = sorted(row for row in kept if row.address > after)
            names, rows = [row.address for row in left], tuple(left[:most])
        return ListPage(rows, self._make_next(names, most))

    def _make_next(self, names: Sequence[str], most: int) -> str | None:
        return make_cursor(_SKILLS, names[most - 1]) if len(names) > most else None

    def page(self, cursor: str | None = None, most: int = PAGE) -> Page:
        """Return the next skills after a cursor, by name; what cannot be served is left out.

        Raises:
            NotThere: the cursor is none of ours.
        """
        after = read_cursor(_SKILLS, cursor)
        names = sorted(name for name in self.addressed() if name > after)
        found, old = self._read_all(names[:most])
        if old:
            # Some changed since anybody looked: one more look is for all of them.
            self._skills.refresh()
            found |= self._read_all(old)[0]
        return Page([found[name] for name in sorted(found)], self._make_next(names, most))

    def read(self, skill: Skill, path: str = "", start: int = 0) -> SkillText:
        """Return the instructions of a skill, or one of its files, from one character on.

        Its own file, asked for by its path, comes whole, with its frontmatter.

        Raises:
            UnsafeSkillError: the scanner refuses the skill.
            PathError: there is no such file in it, or none that is given out.
        """
        inner = check_part(skill, path)
        if inner or not path:
            return self.texts.read(skill, inner, start)
        if not _is_own(skill, path):
            raise PathError(path, f"is a folder: give a file of {skill.name}.")
        page = self.texts.read_page(skill, start)
        if page is None:
            # It changed since anybody looked.
            self._skills.refresh()
            page = self.texts.read_page(self.named(skill.name), start)
        if page is None:
            raise PathError(path, "changed while it was read: ask again.")
        return page

    def file_bytes(self, name: str, path: str) -> tuple[str, bytes]:
        """Return the address and the content of a file of the skill of that name.

        Raises:
            SkillNotFoundError: none or several answer to the name.
            UnsafeSkillError: the scanner refuses the skill.
            PathError: there is no such file in it, or none that is given out.
        """
        skill = self.named(name)
        inner = check_part(skill, path)
        files = self.texts.files(skill).files
        found = files.get(inner)
        if found is None or len(found) > MOST_FILE_BYTES:
            problem = f"is no file of {skill.name} that is given out: {name_files(files, inner)}."
            raise PathError(path, problem)
        return file_uri(addressed_name(skill) or skill.name, inner), found

    def _read_all(self, names: Sequence[str]) -> tuple[dict[str, SkillFacts], list[str]]:
        """Read skills; return those that are served, and the names of those that changed."""
        known, found, old = self.addressed(), dict[str, SkillFacts](), list[str]()
        for name in names:
            try:
                one = self._read(known[name]) if name in known else None
            except UnsafeSkillError as error:
                log.info("mcp.left_out: %s", one_line(str(error))[:_LONGEST_SAID])
                continue
            if one is None:
                old.append(name)
            else:
                found[name] = one.facts
        return found, old

    def _find_served(self, name: str, uri: str) -> ServedSkill:
        skill = self.addressed().get(name) or self._find_held_back(name)
        found = None if skill is None else self._read(skill) or self._read_anew(name)
        if found is None:
            raise unknown_address(uri)
        return found

    def _find_held_back(self, name: str) -> Skill | None:
        """Return a skill that only waited for its scan; one that is blocked is told of."""
        for skill in self._skills.allowed(self._agent_id).held:
            if skill.invocation.model and addressed_name(skill) == name:
                missed = SkillNotFoundError(name, [])
                return self._skills.wait_for(skill.name, self._agent_id, missed)
        return None

    def _read(self, skill: Skill) -> ServedSkill | None:
        return serve_files(skill, self.texts.files(skill))

    def _read_anew(self, name: str) -> ServedSkill | None:
        """Read a skill whose file changed since anybody looked."""
        self._skills.refresh()
        skill = self.addressed().get(name)
        return None if skill is None else self._read(skill)


def _is_own(skill: Skill, path: str) -> bool:
    """Return whether a path that leads to the skill itself names its file, and not its folder."""
    name = posixpath.basename(posixpath.normpath(path.replace("\\", "/")))
    return name.lower() == posixpath.basename(skill.path).lower()


def list_directory(skill: ServedSkill, uri: str, cursor: str | None, most: int = PAGE) -> Directory:
    """Return what the folder at an address in a skill holds, by name.

    Raises:
        NotThere: there is no such folder, or the cursor is none of ours.
    """
    place = parse(uri)
    inside = {} if place is None else _list_inside(skill.files, place.path.rstrip("/"))
    if not inside:
        raise unknown_address(uri)
    after = read_cursor(uri, cursor)
    paths = sorted(path for path in inside if path > after)
    is_more = len(paths) > most
    return Directory(
        skill=skill,
        entries=[DirectoryEntry(path, inside[path]) for path in paths[:most]],
        cursor=make_cursor(uri, paths[most - 1]) if is_more else None,
    )


def _list_inside(files: Mapping[str, bytes], folder: str) -> dict[str, int | None]:
    """Return what lies right in a folder: files with their sizes, folders without one."""
    prefix = f"{folder}/" if folder else ""
    found: dict[str, int | None] = {}
    for path, content in files.items():
        if path.startswith(prefix):
            first, slash, _ = path[len(prefix) :].partition("/")
            found[prefix + first + slash] = None if slash else len(content)
    return found


def unknown_address(uri: str) -> NotThere:
    """Return what is said of an address at which nothing is."""
    shown = one_line(uri)[:_LONGEST_SAID]
    return NotThere(f"there is nothing at {shown}: ask for skills/list, or call find_skills.")
