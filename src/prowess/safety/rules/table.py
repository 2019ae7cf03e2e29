"""All rules by id."""

from collections.abc import Mapping
from types import MappingProxyType

from prowess.safety.model import Rule
from prowess.safety.rules import (
    damage,
    data,
    deception,
    evaluation,
    execution,
    files,
    hiding,
    instructions,
    packages,
    persistence,
    privacy,
)

_GROUPS = (
    instructions.RULES,
    deception.RULES,
    execution.RULES,
    evaluation.RULES,
    damage.RULES,
    data.RULES,
    privacy.RULES,
    persistence.RULES,
    packages.RULES,
    hiding.RULES,
    files.RULES,
)


def joined(groups: tuple[tuple[Rule, ...], ...]) -> Mapping[str, Rule]:
    """Return the rules of all groups by id; an id that stands twice is refused."""
    table: dict[str, Rule] = {}
    for row in (row for group in groups for row in group):
        if row.id in table:
            raise ValueError(f"the rule {row.id!r} stands twice in the table")
        table[row.id] = row
    return MappingProxyType(table)


RULES: Mapping[str, Rule] = joined(_GROUPS)


def rule(rule_id: str) -> Rule:
    """Return the row of `rule_id`; one that is not in the table is a mistake of the caller."""
    return RULES[rule_id]
