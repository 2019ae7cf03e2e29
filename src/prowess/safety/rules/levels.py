"""The seven rules as first written down, by their wording alone.

Texts that an agent wrote are held to them literally, whatever stands around the words; and they
are the baseline that the benchmark sets the scanner beside.

An operator's yes to one finding: what it covers, and when it lapses.

It names the skill, the rule and the very evidence, and it is void as soon as the content of the
skill or the scanner changes. It comes from the operator's own file, never from the skill.

What a sighting weighs: the rule's level, the profile's column, and what lowers it.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

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


_SEVEN: tuple[tuple[str, str, str], ...] = (
    (
        "prompt-injection-ignore-instructions",
        "tells the agent to set aside the instructions that it was given",
        (
            r"\b(?:ignore|disregard|forget|override|bypass)\b[\w\s,']{0,40}?"
            r"\b(?:previous|prior|above|earlier|preceding|higher|all|any|existing|system|other)\b"
            r"[\w\s,'-]{0,30}?\b(?:instructions?|rules|directions|guidelines|prompts?)\b"
        ),
    ),
    (
        "prompt-injection-system",
        "speaks of a system prompt, a developer message or hidden instructions",
        (
            r"\b(?:system|developer)[ \t_-]+(?:prompts?|messages?|instructions?)\b"
            r"|\bhidden[ \t_-]+(?:instructions?|prompts?|messages?)\b"
        ),
    ),
    (
        "prompt-injection-tool",
        "encourages going around a tool's permission or approval",
        (
            r"\b(?:bypass|skip|circumvent|disable|ignore|avoid|without)\b[^.\n]{0,60}?"
            r"\b(?:approvals?|permissions?|confirmations?|confirm(?:ing)?|consent"
            r"|authori[sz]ation)\b"
        ),
    ),
    (
        "shell-pipe-to-shell",
        "pipes a download into a shell",
        (
            r"\b(?:curl|wget)\b[^\n|]{0,400}\|[ \t]*(?:sudo[ \t]+(?:-\w+[ \t]+)*)?"
            r"(?:/(?:usr/)?bin/)?(?:env[ \t]+)?(?:ba|z|da|k)?sh\b"
        ),
    ),
    (
        "secret-exfiltration",
        "sends environment data over the network",
        (
            r"\b(?:process\.env|os\.environ|printenv|env)\b[^\n]{0,200}?"
            r"\b(?:curl|wget|fetch|https?\.request|requests\.post|axios|nc|POST)\b"
            r"|\b(?:curl|wget|fetch|requests\.post|axios(?:\.post)?|nc)\b[^\n]{0,200}?"
            r"(?:process\.env\b(?!\.\w)|os\.environ\b(?![\[.]\w)|\$\(\s*(?:env|printenv)\b)"
        ),
    ),
    (
        "destructive-delete",
        "deletes folders with all they hold",
        (
            r"\brm[ \t]+(?:-{1,2}[\w-]+[ \t]+){0,4}-(?:\w{0,6}r\w{0,6}f|\w{0,6}f\w{0,6}r)\w{0,6}\b"
            r"|\brm[ \t]+(?:-r[ \t]+-f|-f[ \t]+-r|--recursive[ \t]+--force"
            r"|--force[ \t]+--recursive)\b"
        ),
    ),
    (
        "unsafe-permissions",
        "opens files to everybody",
        r"\bchmod[ \t]+(?:-{1,2}[\w-]+[ \t]+){0,3}(?:[0-7]?777|a\+rwx|ugo\+rwx|o\+w)\b",
    ),
)
# A text that repeats itself is reported on a few times; the verdict needs one.
_PER_RULE = 5
_RULES = tuple((rule, message, re.compile(text, re.IGNORECASE)) for rule, message, text in _SEVEN)
SEVEN = tuple(rule for rule, _, _ in _SEVEN)


def literal_hits(view: View) -> Iterator[Sighting]:
    """Yield where `view` has the wording of one of the seven rules, the first few times each."""
    for rule, message, pattern in _RULES:
        for found in islice(pattern.finditer(view.text), _PER_RULE):
            yield Sighting(rule, Spot(view, found.start(), found.end()), message)


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
