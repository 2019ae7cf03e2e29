"""The shapes that clients see of what was found out about a skill: by the scanner, and by proofs.

Reports, rules, acceptances and measurements; tests, freshness, proofs and improvements.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from prowess.evaluation.improving import Count, Improvement
from prowess.evaluation.skill_tests import SkillTests
from prowess.proof.freshness import CheckedClaim, FreshState, SkillFreshness
from prowess.proof.tasks import RunOutcome
from prowess.runtime.proof.prove import ProofPlan, ProofReport, ProofState
from prowess.runtime.scan import Scanned, worst
from prowess.safety.model import Finding, LedgerEntry, Profile, Rule, ScanReport
from prowess.safety.paths import visible
from prowess.safety.rules.table import Acceptance, read_examples, read_version
from prowess.skills.text import clean
from prowess.wire.skills import Json, percent, pick

if TYPE_CHECKING:
    from prowess.evaluation.scanning import Figures, LabelGroup, Share, Trial


def scans(found: Sequence[Scanned]) -> Json:
    """Show one report as it is, and several with the worst verdict of all."""
    if len(found) == 1:
        return report(found[0].report)
    return {
        "verdict": worst(one.report for one in found).value,
        "skills": [
            {
                **pick(
                    one,
                    "target.path=path target.name=name profile target.not_loaded?=notLoaded",
                    visible,
                ),
                **report(one.report),
            }
            for one in found
        ],
        # The same as for one skill, so that a program need not ask how many there were.
        "findings": [
            {"skill": visible(one.target.name), **finding(each)}
            for one in found
            for each in one.report.findings
        ],
        "ledger": [
            {"skill": visible(one.target.name), **ledger_entry(each)}
            for one in found
            for each in one.report.ledger
        ],
        "tookMs": round(sum(one.report.took_ms for one in found), 2),
    }


def report(value: ScanReport) -> Json:
    """Show what was found in one skill, and what was done with each of its files."""
    return {
        "verdict": value.verdict.value,
        "findings": [finding(found) for found in value.findings],
        "ledger": [ledger_entry(entry) for entry in value.ledger],
        "tookMs": round(value.took_ms, 2),
    }


def finding(value: Finding) -> Json:
    """Show one finding."""
    return pick(
        value,
        "rule_id level=severity file line column message evidence views confidence"
        " why fix lowered_by evidence_hash",
        visible,
    )


def ledger_entry(value: LedgerEntry) -> Json:
    """Show what was done with one file."""
    return pick(value, "path handling size reason", visible)


def rule(value: Rule) -> Json:
    """Show one row of the rule table."""
    examples = read_examples(value.id)
    return {
        **pick(value, "id family title"),
        "levels": levels(value),
        **pick(value, "why fix references"),
        "fires": [_example(example) for example in examples.fires],
        "quiet": [_example(example) for example in examples.quiet],
    }


def levels(value: Rule) -> dict[str, str]:
    """Return what a plain hit of a rule weighs, by profile."""
    return {
        Profile.PROPOSAL.value: (value.proposal or value.level).value,
        Profile.PACKAGE.value: value.level.value,
        # The same levels, but nothing is kept out because of them.
        Profile.BUNDLED.value: value.level.value,
    }


def _example(value: str | Mapping[str, str]) -> dict[str, str]:
    return {"SKILL.md": value} if isinstance(value, str) else dict(value)


def acceptance(value: Acceptance) -> Json:
    """Show what the operator accepted."""
    return {
        **pick(value, "skill rule_id evidence_hash content_hash scanner reason accepted_at"),
        # Whether the content is still the same is known when the skill is scanned again.
        "lapsed": value.scanner != read_version(),
    }


def figures(value: "Figures") -> Json:
    """Show how one scanner did on one set; shares are in percent."""
    return {
        **pick(value, "name=set method"),
        **{group.label.value: _group(group) for group in value.groups},
        "categories": [
            {**pick(group, "label category"), **_group(group)} for group in value.categories
        ],
        "rulesOnBenign": {
            name: {level.value: count for level, count in counts.items()}
            for name, counts in value.on_benign.items()
        },
        "wrong": [_trial(trial) for trial in value.wrong],
        "errors": value.errors,
        "msMedian": None if value.ms_median is None else round(value.ms_median, 2),
        "msP95": None if value.ms_p95 is None else round(value.ms_p95, 2),
    }


def _group(value: "LabelGroup") -> Json:
    return {"n": value.critical.of, "critical": _share(value.critical), "any": _share(value.any)}


def _share(value: "Share") -> Json:
    low, high = value.bounds or (None, None)
    return {
        "count": value.hits,
        "percent": percent(value.value),
        "low": percent(low),
        "high": percent(high),
    }


def _trial(value: "Trial") -> Json:
    return {
        **pick(value, "sample.id=id sample.label=label sample.category=category"),
        "rules": {name: level.value for name, level in value.rules.items()},
    }


def freshness(found: Sequence[SkillFreshness]) -> Json:
    """Show what holds of some skills, and how many of each there are."""
    states = [one.state for one in found]
    return {
        "skills": [skill_freshness(one) for one in found],
        "counts": {state.value: states.count(state) for state in FreshState},
        "staleClaims": sum(len(one.stale) for one in found),
    }


def skill_freshness(found: SkillFreshness) -> Json:
    """Show one skill, its sections and its claims."""
    return {
        **pick(found, "skill.name=skill skill.path=path state"),
        "sections": [
            {"title": clean(title), "state": state.value}
            for title, state in found.sections().items()
        ],
        "claims": [_claim(one) for one in found.claims],
    }


def _claim(one: CheckedClaim) -> Json:
    claim = one.claim
    return {
        **pick(claim, "kind text owner=of version? line section?"),
        **pick(one, "state why? instead?"),
    }


def skill_tests(found: SkillTests) -> Json:
    """Show the results of one run of all tests."""
    return {
        "passed": found.passed,
        "counts": {
            kind: {"tests": every, "failed": lost} for kind, (every, lost) in found.counts().items()
        },
        "problems": [clean(one) for one in found.problems],
        "tests": [
            pick(one, "kind name skill? path? line passed failures notes") for one in found.tests
        ],
    }


def proof_plan(plan: ProofPlan) -> Json:
    """Show what would be run."""
    return {
        "tasks": [clean(task.id) for task in plan.tasks],
        **pick(plan, "runs size=count"),
        "cost": round(plan.cost, 4),
        "leftOut": [clean(name) for name in plan.left_out],
    }


def benchmark(report: ProofReport, *, harness: str, model: str) -> Json:
    """Show a proof as `benchmark.json` has it."""
    lift = report.lift
    sides = {True: "withSkill", False: "without"}
    return {
        "skill": clean(report.skill.name),
        "harness": harness,
        "model": model or None,
        "verdict": lift.verdict.value,
        "lift": pick(lift, "mean low high tasks"),
        "moreTasks": lift.more_tasks,
        "cost": round(report.cost, 4),
        "plan": proof_plan(report.plan),
        "outcomes": {
            name: {one.value: report.counts(with_skill=side)[one] for one in RunOutcome}
            for side, name in sides.items()
        },
        "runs": [
            {
                "task": clean(one.task),
                "side": sides[one.with_skill],
                **pick(one, "number outcome cost problem?"),
            }
            for one in report.records
        ],
    }


def proof_state(found: ProofState) -> Json:
    """Show where a skill stands."""
    return {
        **pick(found, "state lapsed?"),
        "last": None if found.last is None else found.last.fields(),
    }


def improvement(found: Improvement, cuts: Sequence[str]) -> Json:
    """Show what the description of one skill lacks, and what would mend it."""
    return {
        **pick(found, "skill.name=skill skill.path=path skill.description=description"),
        "proposed": clean(found.description) if found.is_better else None,
        "byModel": found.by_model,
        "sentences": [pick(one, "text origin=from") for one in found.sentences],
        "heldOut": _count(found.held_out),
        "heldOutListed": _count(found.listed),
        "siblings": {**_count(found.siblings), "worstLoss": round(found.worst_loss, 4)},
        "missed": [{"message": clean(text), "found": clean(other)} for text, other in found.missed],
        "confused": [{"skill": clean(name), "times": times} for name, times in found.confused],
        "cuts": [clean(one) for one in cuts],
        "tried": found.tried,
    }


def _count(found: Count) -> Json:
    return pick(found, "before after messages")
