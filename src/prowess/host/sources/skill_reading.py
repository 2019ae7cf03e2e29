"""The files of a skill for an agent: all of them at once, for the scanner to look at first."""

from prowess.host.sources.skill_files import place_of, read
from prowess.runtime.scan import Target
from prowess.skills.model import Skill


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
