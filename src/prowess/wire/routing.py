"""The shapes that clients see of routing: answers, absences and evaluations.

Figures that tables give in percent (Hit@1 and its kin) are in percent here, too; shares such as
AUROC, precision and abstention are between 0 and 1, as they are in tables.
"""

from collections.abc import Iterable, Sequence

from prowess.evaluation.metrics import Collision, Outcome, SkillRow, Summary
from prowess.routing.model import Match, Route
from prowess.runtime.route.answer import Withheld
from prowess.runtime.route.why_not import Absence
from prowess.skills.text import clean
from prowess.wire.skills import Json, percent, pick, steps

_LONGEST_PROMPT = 300


def route(value: Route) -> Json:
    """Show which skills fit a message."""
    return {
        "decision": value.decision.value,
        "threshold": value.thresholds.load,
        "offerThreshold": value.thresholds.offer,
        "matches": [match(found) for found in value.matches],
        "considered": [match(found) for found in value.considered],
        "status": value.status.value,
        "notes": [clean(note) for note in value.notes],
        "tookMs": round(value.took_ms, 2),
    }


def match(value: Match) -> Json:
    """Show one skill with its score and the reasons."""
    return {
        "name": clean(value.skill.name),
        "location": clean(value.skill.path),
        "score": round(value.score, 4),
        "signals": dict(value.signals),
        "reasons": [clean(reason) for reason in value.reasons],
    }


def not_ready(found: Sequence[Withheld]) -> list[Json]:
    """Show the skills that fit a message and cannot be used, each with what keeps it."""
    return [
        {
            **match(one.match),
            # `allowed`: it is ready, and the agent's list keeps it; before that it is not ready.
            "stage": one.reason.stage,
            "reason": clean(one.reason.detail),
            "fix": clean(one.reason.fix) or None,
        }
        for one in found
    ]


def absence(value: Absence) -> Json:
    """Show why a skill was not loaded."""
    reason = value.reason
    return {
        **pick(value, "name loaded"),
        "reason": None if reason is None else clean(reason.detail),
        "fix": None if reason is None else clean(reason.fix) or None,
        "steps": steps(value.steps),
        **pick(value, "thresholds.load=threshold rank"),
        "match": None if value.match is None else match(value.match),
        "ahead": [match(found) for found in value.ahead],
    }


def summary(value: Summary) -> Json:
    """Show the figures of a suite."""
    return {
        **pick(value, "cases in_scope out_of_scope"),
        "hit1": percent(value.hit1),
        "recall5": percent(value.recall5),
        "mrr10": percent(value.mrr10),
        "ndcg10": percent(value.ndcg10),
        "auroc": _share(value.auroc),
        "rejected95": _share(value.rejected95),
        "precision": _share(value.precision),
        "precisionFirst": _share(value.precision_first),
        "precisionAll": _share(value.precision_all),
        "precisionStrict": _share(value.precision_strict),
        "recall": _share(value.recall),
        "reached": _share(value.reached),
        "noise": _share(value.noise),
        "abstained": _share(value.abstained),
        "keptOut": _share(value.kept_out),
        "passed": _share(value.passed),
        "msMedian": None if value.ms_median is None else round(value.ms_median, 2),
    }


def failures(outcomes: Iterable[Outcome]) -> list[Json]:
    """Show the cases that did not come out as they should."""
    return [
        {
            "prompt": clean(outcome.prompt[:_LONGEST_PROMPT]),
            "expected": sorted(outcome.expected),
            "not": sorted(outcome.forbidden),
            "first": outcome.ranked[0] if outcome.ranked else None,
            "loaded": list(outcome.chosen),
            "score": round(outcome.confidence, 4),
        }
        for outcome in outcomes
        if not outcome.passed
    ]


def confusion(rows: Sequence[SkillRow]) -> list[Json]:
    """Show what became of the cases of each skill."""
    return [
        {
            **pick(row, "skill cases hit"),
            "takenBy": [{"skill": clean(name), "count": count} for name, count in row.taken_by],
            "intruded": row.intruded,
        }
        for row in rows
    ]


def collisions(pairs: Sequence[Collision]) -> list[Json]:
    """Show the pairs of skills that take each other's prompts."""
    return [
        {
            "skills": [clean(pair.first), clean(pair.second)],
            "lost": [pair.lost_by_first, pair.lost_by_second],
        }
        for pair in pairs
    ]


def _share(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
