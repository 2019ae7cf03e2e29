"""The shapes that clients see of sharing: exports, and what harnesses show of skills."""

from typing import Any

from prowess.runtime.harness.budget import BudgetReport, HarnessBudget
from prowess.runtime.harness.export import ExportReport
from prowess.runtime.sharing.service import Arrival, OutdatedSkill, VerifiedSkill
from prowess.runtime.sharing.update import FrozenStep, PreparedUpdate
from prowess.safety.model import Finding
from prowess.sharing.policy import PolicyDecision, PolicyReason
from prowess.skills.harness.listings import Fate, Fix, ListedSkill
from prowess.skills.harness.portable import HarnessNote
from prowess.skills.harness.rules import Reader, read_rules
from prowess.skills.text import clean
from prowess.wire.skills import Json, diagnostic, pick

EVERYBODY = "standard"


def export_report(value: ExportReport, reader: Reader | None) -> Json:
    """Show a build, and what became of it."""
    return {
        **pick(value, "skill.name=skill skill.path=source"),
        "for": EVERYBODY if reader is None else reader.value,
        "name": value.name or None,
        "written": value.placed is not None,
        "result": None if value.placed is None else value.placed.value,
        **pick(value, "written_to?=path refusal?"),
        "verdict": None if value.scan is None else value.scan.verdict.value,
        "files": [
            {"path": clean(path), "size": size} for path, size in (value.files or {}).items()
        ],
        "leftOut": [pick(left, "path reason") for left in value.left_out],
        "changes": [pick(change, "subject detail") for change in value.changes],
        "harnesses": [
            {
                "harness": each.value,
                "title": read_rules()[each].title,
                "places": list(read_rules()[each].places),
                "remark": read_rules()[each].remark or None,
                "notes": [_note(note) for note in notes],
            }
            for each, notes in (value.notes or {}).items()
        ],
        "diagnostics": [diagnostic(found) for found in value.diagnostics],
        "findings": [_show_finding(found) for found in value.doubts],
    }


def _show_finding(value: Finding) -> Json:
    return pick(value, "rule_id=rule file line message")


def _note(value: HarnessNote) -> Json:
    return pick(value, "weight subject detail")


def budget_report(value: BudgetReport) -> Json:
    """Show what each harness will list."""
    return {
        **pick(value, "agent_id workspace window is_whole"),
        "harnesses": [harness_budget(harness) for harness in value.harnesses],
    }


def harness_budget(value: HarnessBudget) -> Json:
    """Show the list of one harness."""
    return {
        **pick(
            value,
            "reader=harness title limit unit limit_from entry_limit wanted used tokens is_whole",
        ),
        "counts": {fate.value: value.count(fate) for fate in Fate},
        "entries": [_entry(place, entry) for place, entry in enumerate(value.entries, start=1)],
        "hidden": [clean(skill.name) for skill in value.hidden],
        **pick(value, "elsewhere places"),
        "fix": None if value.is_whole else _fix(value.fix, value),
        "notes": list(value.notes),
    }


def _entry(place: int, value: ListedSkill) -> Json:
    return {
        "order": place,
        "name": clean(value.skill.name),
        "location": clean(value.skill.path),
        "fate": value.fate.value,
        "chars": value.whole,
        "shownChars": value.shown,
    }


def _fix(value: Fix, harness: HarnessBudget) -> Json:
    return {
        "enough": value.enough,
        "shorten": [
            pick(step, "skill.name=name skill.path=location chars to by") for step in value.shorten
        ],
        "hide": [clean(skill.name) for skill in value.hide],
        "howToHide": harness.how_to_hide or None,
        "raiseTo": value.raise_to,
        "howToRaise": harness.how_to_raise or None,
    }


def arrival(value: Arrival, outcome: str) -> Json:
    """Show a skill that was fetched and judged, and what became of it."""
    entry = value.entry
    return {
        "name": clean(value.name),
        "outcome": outcome,
        "refusal": clean(value.refusal) or None,
        **pick(entry, "source url path ref resolved version? pinned digest=contentDigest"),
        "files": [clean(path) for path in sorted(entry.files)],
        **pick(entry, "signer? issuer?"),
        **pick(value, "notice? report.verdict=verdict"),
        "findings": [{**_show_finding(one), "level": one.level.value} for one in value.findings],
        "policy": policy_decision(value.decision),
    }


def policy_decision(value: PolicyDecision) -> Json:
    """Show what the policies say of a skill, and where."""
    return {"effect": value.effect.word, "reasons": [policy_reason(one) for one in value.reasons]}


def policy_reason(value: PolicyReason) -> Json:
    """Show one rule that is met."""
    return pick(value, "level path=file line rule text effect.word=effect waived_until?")


def verified_skill(value: VerifiedSkill) -> Json:
    """Show how a skill stands to its lock."""
    drift = value.drift
    return {
        **pick(value, "name folder is_right=ok problem?"),
        **pick(drift, "changed added removed"),
        "renamed": [{"from": clean(old), "to": clean(new)} for old, new in drift.renamed],
    }


def outdated_skill(value: OutdatedSkill) -> Json:
    """Show whether a source has something newer."""
    return pick(value, "name source locked newest? pinned is_outdated problem?")


def prepared_update(value: PreparedUpdate, outcome: str) -> Json:
    """Show what an update does, or would do."""
    new = None if value.arrival is None else value.arrival.entry
    return {
        "name": clean(value.name),
        "outcome": outcome,
        "problem": clean(value.problem or (value.arrival.refusal if value.arrival else "")) or None,
        "from": clean(value.old.resolved),
        "to": clean((new or value.old).resolved),
        "fromVersion": clean(value.old.version) or None,
        "toVersion": clean((new or value.old).version) or None,
        "signer": clean((new or value.old).signer) or None,
        "issuer": clean((new or value.old).issuer) or None,
        "freshness": {
            "approved": clean(str(value.old.approval.get("when") or "")) or None,
            "made": clean(value.made) or None,
        },
        "edits": [clean(line) for line in value.edits.lines],
        "conflicts": [
            {
                **pick(one, "path problem"),
                "lines": [
                    {
                        "local": list(map(clean, met.local)),
                        "upstream": list(map(clean, met.upstream)),
                    }
                    for met in one.lines
                ],
            }
            for one in value.conflicts
        ],
        "difference": clean(value.difference),
        "scan": {
            "verdict": None if value.arrival is None else value.arrival.report.verdict.value,
            "new": [_show_finding(one) for one in value.new_findings],
            "gone": [_show_finding(one) for one in value.gone_findings],
        },
    }


def frozen_step(value: FrozenStep) -> Json:
    """Show what became of one folder."""
    return pick(value, "name action detail")


# Any JSON.
def clean_texts(answer: Any) -> Any:  # noqa: ANN401
    """Return what another machine answered, with every text in it as clients may show it."""
    if isinstance(answer, str):
        return clean(answer)
    if isinstance(answer, list):
        return [clean_texts(one) for one in answer]
    if isinstance(answer, dict):
        return {clean(key): clean_texts(value) for key, value in answer.items()}
    return answer
