"""What a sighting weighs: the rule's level, the profile's column, and what lowers it."""

from collections.abc import Sequence

from prowess.safety.model import Level, Profile, Rule
from prowess.safety.rules.levels import SEVEN
from prowess.safety.sighting import Sighting

# Each context: the most that is left of a finding in it, and why that is right.
CONTEXTS: dict[str, tuple[Level, str]] = {
    "negated": (Level.INFO, "The text says not to do it."),
    "quoted": (Level.WARN, "The words stand in quotation marks."),
    "quoted, among talk of attacks": (
        Level.INFO,
        "The words are quoted where attacks are explained.",
    ),
    "about attacks": (Level.INFO, "The section explains attacks."),
    "reported": (Level.INFO, "The text says that others write this."),
    "shown as a bad example": (Level.WARN, "The code is shown as what not to do."),
    "official installer": (Level.WARN, "The maker of the tool documents this very command."),
    "a checkout of a public repository": (Level.INFO, "Tools are built from their repositories."),
    "a build from source": (Level.WARN, "A release is unpacked and built as its makers say."),
    "egress allowed by the operator": (
        Level.INFO,
        "The operator lets this secret go to this host.",
    ),
    "accepted": (Level.INFO, "The operator looked at exactly this finding and accepted it."),
}


def level_of(seen: Sighting, rule: Rule, profile: Profile, lowered_by: Sequence[str]) -> Level:
    """Return what `seen` weighs under `profile`, after the contexts it stands in."""
    literal = profile is Profile.PROPOSAL and rule.id in SEVEN
    level = seen.level or rule.level
    if profile is Profile.PROPOSAL and rule.proposal is not None:
        level = rule.proposal
    if literal:
        # What an agent writes about itself is held to the words, whatever stands around them.
        return level
    for context in lowered_by:
        limit, _ = CONTEXTS[context.partition(":")[0]]
        level = max(level, limit, key=lambda candidate: candidate.rank)
    return level
