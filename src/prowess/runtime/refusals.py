"""What a model is told of an error: as much as it can act on, and none of a skill's own words.

Errors are written for people, who may look closer and accept what is fine. A model that reads of
such a way may try to go it.
"""

import re

from prowess.errors import ProwessError, UnsafeSkillError
from prowess.skills.text import one_line

_RULE = re.compile(r"[a-z][a-z0-9-]{0,60}")
_MOST_RULES = 5


def told_of(error: ProwessError) -> str:
    """Return what a model is told of an error; of a skill that the scanner refuses only its rules.

    The names of its files are the skill's own words, and to accept it is nothing for a model.
    """
    if not isinstance(error, UnsafeSkillError):
        return str(error)
    rules = (str(getattr(finding, "rule_id", "")) for finding in error.findings)
    known = [rule for rule in dict.fromkeys(rules) if _RULE.fullmatch(rule)][:_MOST_RULES]
    why = f" ({', '.join(known)})" if known else ""
    return (
        f"{one_line(error.name)} is not used: the scanner refuses it{why}. Go on without it;"
        " `prowess scan` shows a person why."
    )
