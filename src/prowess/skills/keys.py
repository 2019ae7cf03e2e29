"""Who owns a key of the config: a skill says which key it has, so two may say the same.

A key opens secrets and a tools folder. The skill that is called so has it, else the one from the
highest source; whoever else asks for it gets nothing by it.
"""

from collections.abc import Iterable, Mapping

from prowess.skills.model import Skill


def owners(skills: Iterable[Skill]) -> Mapping[str, Skill]:
    """Return the skill that each key belongs to."""
    found: dict[str, Skill] = {}
    for skill in skills:
        known = found.get(skill.key)
        if known is None or _claim(skill) > _claim(known):
            found[skill.key] = skill
    return found


def _claim(skill: Skill) -> tuple[bool, int]:
    return skill.name == skill.key, skill.source.tier
