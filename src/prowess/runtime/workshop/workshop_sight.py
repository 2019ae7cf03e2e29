"""Which skills an agent may know of when it calls the workshop with nobody to ask.

The workshop writes to folders, so the skill whose folder has a name counts before another one that
is only called so. An agent with a list gets one answer about every name that is not on it, whether
there is such a skill or not: two answers would tell which there are.
"""

from collections.abc import Callable

from prowess.runtime.service import StatusReport


def sight_of(report: StatusReport) -> Callable[[str], bool]:
    """Return what says of a skill, by its name, whether an agent may know of it."""
    visible = [one.skill for one in report.skills if one.model_visible]
    hidden = [one.skill for one in report.skills if not one.model_visible]
    hidden_folders = {skill.id.casefold() for skill in hidden}
    hidden_names = {skill.name.casefold() for skill in hidden}
    known = {name.casefold() for skill in visible for name in (skill.id, skill.name)}
    allowed = report.agent_filter.entries

    def knows(name: str) -> bool:
        if name in hidden_folders or name in known:
            return name not in hidden_folders
        return name not in hidden_names and (allowed is None or name in allowed)

    return knows
