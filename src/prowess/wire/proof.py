"""The shapes that clients see of freshness and proof."""

from collections.abc import Sequence

from prowess.evaluation.improving import Count, Improvement
from prowess.evaluation.skill_tests import SkillTests
from prowess.proof.freshness import CheckedClaim, FreshState, SkillFreshness
from prowess.proof.tasks import RunOutcome
from prowess.runtime.proof.prove import ProofPlan, ProofReport
from prowess.runtime.proof.verdicts import ProofState
from prowess.skills.text import clean
from prowess.wire.skills import Json


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
        "skill": clean(found.skill.name),
        "path": clean(found.skill.path),
        "state": found.state.value,
        "sections": [
            {"title": clean(title), "state": state.value}
            for title, state in found.sections().items()
        ],
        "claims": [_claim(one) for one in found.claims],
    }


def _claim(one: CheckedClaim) -> Json:
    claim = one.claim
    return {
        "kind": claim.kind.value,
        "text": clean(claim.text),
        "of": [clean(word) for word in claim.owner],
        "version": clean(claim.version) or None,
        "line": claim.line,
        "section": clean(claim.section) or None,
        "state": one.state.value,
        "why": clean(one.why) or None,
        "instead": clean(one.instead) or None,
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
            {
                "kind": one.kind,
                "name": clean(one.name),
                "skill": clean(one.skill) or None,
                "path": clean(one.path) or None,
                "line": one.line,
                "passed": one.passed,
                "failures": [clean(text) for text in one.failures],
                "notes": [clean(text) for text in one.notes],
            }
            for one in found.tests
        ],
    }


def proof_plan(plan: ProofPlan) -> Json:
    """Show what would be run."""
    return {
        "tasks": [clean(task.id) for task in plan.tasks],
        "runs": plan.runs,
        "count": plan.size,
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
        "lift": {"mean": lift.mean, "low": lift.low, "high": lift.high, "tasks": lift.tasks},
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
                "number": one.number,
                "outcome": one.outcome.value,
                "cost": one.cost,
                "problem": clean(one.problem) or None,
            }
            for one in report.records
        ],
    }


def proof_state(found: ProofState) -> Json:
    """Show where a skill stands."""
    return {
        "state": found.state,
        "lapsed": found.lapsed or None,
        "last": None if found.last is None else found.last.fields(),
    }


def improvement(found: Improvement, cuts: Sequence[str]) -> Json:
    """Show what the description of one skill lacks, and what would mend it."""
    return {
        "skill": clean(found.skill.name),
        "path": clean(found.skill.path),
        "description": clean(found.skill.description),
        "proposed": clean(found.description) if found.is_better else None,
        "byModel": found.by_model,
        "sentences": [
            {"text": clean(one.text), "from": clean(one.origin)} for one in found.sentences
        ],
        "heldOut": _count(found.held_out),
        "heldOutListed": _count(found.listed),
        "siblings": {**_count(found.siblings), "worstLoss": round(found.worst_loss, 4)},
        "missed": [{"message": clean(text), "found": clean(other)} for text, other in found.missed],
        "confused": [{"skill": clean(name), "times": times} for name, times in found.confused],
        "cuts": [clean(one) for one in cuts],
        "tried": found.tried,
    }


def _count(found: Count) -> Json:
    return {"before": found.before, "after": found.after, "messages": found.messages}
