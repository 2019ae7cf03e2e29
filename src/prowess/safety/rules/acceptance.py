"""An operator's yes to one finding: what it covers, and when it lapses.

It names the skill, the rule and the very evidence, and it is void as soon as the content of the
skill or the scanner changes. It comes from the operator's own file, never from the skill.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from prowess.safety.model import Finding, Level

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


def accepted_by(
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
