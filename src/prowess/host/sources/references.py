"""The reference files of a skill: what an agent may read beside its page, and finds it by.

Only Markdown directly below the skill or in its `references` folder. Links are not followed.
"""

from collections.abc import Iterator
from contextlib import suppress

from prowess.errors import PathError
from prowess.host.files.containment import Root
from prowess.skills.model import Skill

_FOLDERS = ("references", "reference")
# They tell people about the folder, not the agent about the job.
_FOR_PEOPLE = ("readme", "license", "changelog", "contributing", "security")
_LARGEST = 1_000_000


class ReferenceFiles:
    """Reads the reference files of skills where they were found."""

    def stamp(self, skill: Skill) -> str:
        """Return what changes when a reference file does; empty where there is none."""
        if not _may_have(skill):
            return ""
        with suppress(PathError), Root.open_real(skill.place) as root:
            return repr(list(_list(root, skill)))
        # Whoever reads the skill is told what stands in the way.
        return ""

    def read(self, skill: Skill, most: int) -> str:
        """Return the text of the reference files, one after the other, `most` characters of it."""
        found = ""
        if not _may_have(skill):
            return found
        with suppress(PathError), Root.open_real(skill.place) as root:
            for path, _, _ in _list(root, skill):
                if len(found) >= most:
                    break
                # One that cannot be read leaves the others.
                with suppress(PathError):
                    found += f"\n{root.read(path, _LARGEST).decode('utf-8', 'replace')}"
        return found[:most]


def _may_have(skill: Skill) -> bool:
    """True where what lies beside the page may be read: known since the folder was walked."""
    return any(
        name.rstrip("/") in _FOLDERS if name.endswith("/") else _is_reference(name)
        for name in skill.resources
    )


def _is_reference(name: str) -> bool:
    lower = name.lower()
    return lower.endswith(".md") and not lower.startswith(_FOR_PEOPLE) and lower != "skill.md"


def _list(root: Root, skill: Skill) -> Iterator[tuple[str, int, int]]:
    """Yield each file with its size and when it changed last, by name."""
    beside = {name.rstrip("/") for name in skill.resources}
    for folder in ("", *(name for name in _FOLDERS if name in beside)):
        for name, state in sorted(root.list(folder)):
            if _is_reference(name) and state.st_size <= _LARGEST:
                path = f"{folder}/{name}" if folder else name
                yield path, state.st_size, state.st_mtime_ns
