"""What a sighting weighs: its rule's level, the profile's column, what lowers it, and a yes to it.

The seven rules as first written down stand here too, by their wording alone: texts that an agent
wrote are held to them literally, whatever stands around the words, and they are the baseline that
the benchmark sets the scanner beside.

An operator's yes names the skill, the rule and the very evidence, and it is void as soon as the
content of the skill or the scanner changes. It comes from the operator's own file, never from the
skill.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice

from prowess.data import read_table
from prowess.reading.views import Spot, View
from prowess.safety.model import Finding, Level, Profile, Rule, Sighting

# Raised with every change of what rules mean; older acceptances are then asked for again.
SCANNER = "1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """One finding that an operator looked at and accepted."""

    skill: str
    rule_id: str
    evidence_hash: str
    content_hash: str
    scanner: str
    reason: str
    accepted_at: str


def apply_acceptances(
    finding: Finding, skill: str, digest: str, acceptances: Iterable[Acceptance]
) -> Finding:
    """Return `finding`, lowered where the operator accepted exactly this one."""
    if finding.level is Level.INFO or finding.rule_id == "scan-incomplete":
        return finding
    for given in acceptances:
        same = (given.skill, given.rule_id, given.evidence_hash) == (
            skill,
            finding.rule_id,
            finding.evidence_hash,
        )
        if same and given.content_hash == digest and given.scanner == SCANNER:
            return replace(finding, level=Level.INFO, lowered_by=(*finding.lowered_by, "accepted"))
    return finding


# A text that repeats itself is reported on a few times; the verdict needs one.
_PER_RULE = 5


@cache
def read_seven() -> dict[str, tuple[str, re.Pattern[str]]]:
    """Return the seven first rules: what each says, and its wording."""
    rows = read_table("safety/rules/levels.toml")["seven"].items()
    return {
        rule: (row["message"], re.compile(row["pattern"].replace("\n", ""), re.IGNORECASE))
        for rule, row in rows
    }


@cache
def read_contexts() -> dict[str, tuple[Level, str]]:
    """Return the contexts in which a finding stands: the most that is left of it, and why."""
    rows = read_table("safety/rules/levels.toml")["contexts"].items()
    return {context: (Level(row["level"]), row["reason"]) for context, row in rows}


def find_literal_hits(view: View) -> Iterator[Sighting]:
    """Yield where `view` has the wording of one of the seven rules, the first few times each."""
    for rule, (message, pattern) in read_seven().items():
        for found in islice(pattern.finditer(view.text), _PER_RULE):
            yield Sighting(rule, Spot(view, found.start(), found.end()), message)


def weigh_sighting(
    seen: Sighting, rule: Rule, profile: Profile, lowered_by: Sequence[str]
) -> Level:
    """Return what `seen` weighs under `profile`, after the contexts it stands in."""
    literal = profile is Profile.PROPOSAL and rule.id in read_seven()
    level = seen.level or rule.level
    if profile is Profile.PROPOSAL and rule.proposal is not None:
        level = rule.proposal
    if literal:
        # What an agent writes about itself is held to the words, whatever stands around them.
        return level
    for context in lowered_by:
        limit, _ = read_contexts()[context.partition(":")[0]]
        level = max(level, limit, key=lambda candidate: candidate.rank)
    return level
