"""Finding the one skill a person means by a name.

Exact name, then exact key, then without case, without separators, and last by folder. Two
candidates at a stage are not a match: guessing between them would show the wrong skill.
"""

import difflib
from collections.abc import Callable, Sequence

from prowess.errors import SkillNotFoundError
from prowess.skills.field_reader import squeeze
from prowess.skills.model import Skill


def _folded(text: str) -> str:
    return text.strip().casefold()


def _joined(text: str) -> str:
    return squeeze(text.strip().replace(" ", "-"))


_STAGES: tuple[Callable[[Skill, str], bool], ...] = (
    lambda skill, name: skill.name == name,
    lambda skill, name: skill.key == name,
    lambda skill, name: _folded(name) in {_folded(skill.name), _folded(skill.key)},
    lambda skill, name: _joined(name) in {_joined(skill.name), _joined(skill.key)},
    lambda skill, name: skill.id == name,
)


def find(skills: Sequence[Skill], name: str) -> Skill:
    """Return the skill called `name`.

    Raises:
        SkillNotFoundError: none or several answer to it.
    """
    for matches in _STAGES:
        hits = [skill for skill in skills if matches(skill, name)]
        if len(hits) == 1:
            return hits[0]
        if hits:
            raise SkillNotFoundError(name, [skill.name for skill in hits], ambiguous=True)
    names = [skill.name for skill in skills]
    raise SkillNotFoundError(name, difflib.get_close_matches(name, names, n=3, cutoff=0.6))
