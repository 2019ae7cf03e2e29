"""What is not there for who asks of us, and what we do not take from others."""

import re

from prowess.errors import ProwessError, UnsafeSkillError
from prowess.safety.portable_paths import shown
from prowess.skills.text import one_line

_RULE = re.compile(r"[a-z][a-z0-9-]{0,60}")
_MOST_RULES = 5


# No error of Prowess: it is caught near by and becomes an answer of the protocol.
class NotThere(LookupError):  # noqa: N818
    """What was asked for does not exist for this agent; the message says what to do."""


class RemoteSkillError(ProwessError):
    """A skill of another server is not what it says, or was not approved."""

    code = "skill.remote"

    def __init__(self, uri: str, problem: str) -> None:
        super().__init__(f"{shown(uri)}: {problem}")
        self.uri, self.problem = uri, problem


def told_of(error: UnsafeSkillError) -> str:
    """Return what a model is told of a skill that the scanner refuses.

    The names of its files are the skill's own words, and to accept it is nothing for a model.
    """
    rules = (str(getattr(finding, "rule_id", "")) for finding in error.findings)
    known = [rule for rule in dict.fromkeys(rules) if _RULE.fullmatch(rule)][:_MOST_RULES]
    why = f" ({', '.join(known)})" if known else ""
    return (
        f"{one_line(error.name)} is not used: the scanner refuses it{why}. Go on without it;"
        " `prowess scan` shows a person why."
    )
