"""From a set of files to the skills in it, the same for every source that gives files."""

import os
from collections.abc import Iterable, Mapping, Sequence

from prowess.errors import SourceError
from prowess.runtime.sharing.ports import OfferedSkill
from prowess.runtime.sharing.sync import CopiedFile
from prowess.safety.paths import PathRefused, check_all, segments, shown
from prowess.skills import frontmatter
from prowess.skills.model import SKIPPED_FOLDERS
from prowess.skills.text import plain_name

_SKILL_FILE = "skill.md"
_LEFT_OUT = SKIPPED_FOLDERS | {".git"}


def find_heads(paths: Iterable[str]) -> tuple[str, ...]:
    """Return the folders that hold a SKILL.md and lie in no other such folder."""
    heads = {
        os.path.dirname(path)
        for path in paths
        if os.path.basename(path).lower() == _SKILL_FILE and _LEFT_OUT.isdisjoint(path.split("/"))
    }
    return tuple(
        sorted(head for head in heads if not any(_is_below(head, other) for other in heads))
    )


def _is_below(path: str, folder: str) -> bool:
    return path != folder and (not folder or path.startswith(f"{folder}/"))


def find_skill_name(page: bytes, folder: str) -> str:
    """Return the name that a skill gives itself, else its folder's.

    Raises:
        SourceError: neither can be the name of a folder.
    """
    found = frontmatter.read(frontmatter.decode(page).text).fields.get("name")
    name = plain_name(found if isinstance(found, str) else "") or os.path.basename(folder)
    try:
        return segments(name, max_depth=1)[0]
    except (PathRefused, IndexError):
        raise SourceError(
            shown(name or folder or "SKILL.md"),
            "is no name that a folder can have: ask its author.",
        ) from None


def find_skills(
    files: Mapping[str, CopiedFile], wanted: Sequence[str], place: str
) -> tuple[OfferedSkill, ...]:
    """Return the wanted skills among files; all of them where none is named, or none is there.

    Raises:
        SourceError: there is no skill, or one with files that no folder can hold.
    """
    heads = find_heads(files)
    if not heads:
        raise SourceError(shown(place), "holds no SKILL.md.")
    found = tuple(_read_skill(files, head, place) for head in heads)
    names = set(wanted)
    return tuple(one for one in found if names & {one.name, os.path.basename(one.path)}) or found


def _read_skill(files: Mapping[str, CopiedFile], head: str, place: str) -> OfferedSkill:
    base = f"{head}/" if head else ""
    mine = {
        path[len(base) :]: file
        for path, file in files.items()
        if path.startswith(base) and _LEFT_OUT.isdisjoint(path[len(base) :].split("/"))
    }
    page = next(path for path in mine if path.lower() == _SKILL_FILE)
    try:
        check_all(mine)
    except PathRefused as error:
        raise SourceError(shown(place), f"{shown(error.path)} {error.problem}") from error
    name = find_skill_name(mine[page].content, head or place)
    return OfferedSkill(name=name, path=head, files=mine)
