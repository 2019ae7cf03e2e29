"""The files of a skill for an agent: all of them for the scanner, one of them to read."""

import os

from prowess.errors import PathError
from prowess.host.containment import Root
from prowess.host.scan_targets import place_of, read
from prowess.runtime.scanning import Target
from prowess.skills.model import Skill

_MOST_BYTES = 2 * 1024 * 1024


class SkillReading:
    """Reads skills where they were found."""

    def target(self, skill: Skill) -> Target:
        """Return all of a skill, for the scanner."""
        place = place_of(skill)
        # A folder is one skill here, whatever other skills lie below it.
        target = next(iter(read(place)), None)
        if target is None:
            return Target(path=place.path, name=skill.name, problem="nothing is there any more")
        return target

    def read(self, skill: Skill, path: str) -> str:
        """Return the text of one file inside the skill's folder.

        Raises:
            PathError: there is no such file, it is not inside, or it is no text.
        """
        if os.path.basename(skill.path).lower() != "skill.md":
            raise PathError(path, f"is no file of {skill.name}, which is a single file.")
        # What an agent writes down may begin with the folder itself.
        inner = path[len(skill.folder) :] if path.startswith(f"{skill.folder}/") else path
        with Root.open(skill.folder) as root:
            content = root.read(inner.lstrip("/") if inner is not path else inner, _MOST_BYTES)
        if b"\0" in content:
            raise PathError(path, "is no text: use the skill's own scripts on it.")
        return content.decode("utf-8", "replace")
