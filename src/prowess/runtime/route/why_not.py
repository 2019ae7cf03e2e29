"""Why a skill was not loaded for a message, and what would change that.

It is the path of one message to one skill; what fits and is not ready is named by `answer`.
"""

from dataclasses import dataclass

from prowess.routing import router
from prowess.routing.model import Decision, Match, Route, Thresholds
from prowess.routing.router import Query, Ranking, SkillIndex
from prowess.runtime.route.answer import Asked, RoutingService, why
from prowess.runtime.service import SkillsService
from prowess.skills.explanation import ExplanationStep

# Leaning further than this to small talk is worth a sentence.
_SMALL_TALK = -0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Absence:
    """The path of one message to one skill; the first step that failed is the answer."""

    name: str
    loaded: bool
    steps: tuple[ExplanationStep, ...]
    thresholds: Thresholds
    # How the skill itself stands; None where it was out of the running.
    match: Match | None = None
    rank: int | None = None
    # Who stands above it, best first.
    ahead: tuple[Match, ...] = ()

    @property
    def reason(self) -> ExplanationStep | None:
        """The first step that failed."""
        return next((step for step in self.steps if not step.passed), None)


def why_not(
    skills: SkillsService, routing: RoutingService, name: str, message: str, asked: Asked
) -> Absence:
    """Follow `message` to the skill called `name`.

    Raises:
        SkillNotFoundError: nothing of that name was found.
    """
    path = why(skills, name, asked.agent_id)
    choice = routing.choice(asked)
    index = routing.index(asked.agent_id)
    place = next((at for at, skill in enumerate(index.skills) if skill.name == path.name), None)
    if place is None:
        # Not usable at all: no message can change that.
        steps = tuple(step for step in path.steps if step.stage != "prompt")
        return Absence(name=path.name, loaded=False, steps=steps, thresholds=choice.thresholds)
    query = router.read(message, asked.context)
    answer = router.outright(index, query, choice)
    if answer is not None:
        return _settle(path.name, answer)
    query = routing.with_vector(index, query)
    ranking = router.rank(index, query, choice.scale)
    decision, chosen = router.decide(ranking, choice)
    loaded = decision is Decision.LOAD and place in chosen
    rank = ranking.order.index(place) if place in ranking.order else None
    return Absence(
        name=path.name,
        loaded=loaded,
        steps=_steps(index, ranking, place, choice, loaded=loaded),
        thresholds=choice.thresholds,
        match=None if rank is None else router.make_match(index, query, ranking, place),
        rank=None if rank is None else rank + 1,
        ahead=_list_ahead(index, query, ranking, rank),
    )


def _settle(name: str, answer: Route) -> Absence:
    """Explain an answer that needed no ranking: a command, "go on", or an empty message."""
    chosen = [match.skill.name for match in answer.matches]
    why_chosen = "; ".join(dict.fromkeys(r for match in answer.matches for r in match.reasons))
    if name in chosen:
        detail = why_chosen
    elif chosen:
        detail = f"{', '.join(chosen)} is loaded instead: {why_chosen}"
    elif answer.notes:
        detail = " ".join(answer.notes).rstrip(".")
    else:
        detail = "the message is empty"
    step = ExplanationStep(stage="message", passed=name in chosen, detail=detail)
    return Absence(name=name, loaded=name in chosen, steps=(step,), thresholds=answer.thresholds)


def _list_ahead(
    index: SkillIndex, query: Query, ranking: Ranking, rank: int | None
) -> tuple[Match, ...]:
    above = ranking.order[: min(rank if rank is not None else 3, 3)]
    return tuple(router.make_match(index, query, ranking, place) for place in above)


def _steps(
    index: SkillIndex, ranking: Ranking, place: int, choice: router.RouteChoice, *, loaded: bool
) -> tuple[ExplanationStep, ...]:
    usable = ExplanationStep(stage="ready", passed=True, detail="the agent may use it")
    if place in ranking.excluded:
        return (
            usable,
            ExplanationStep(stage="allowed", passed=False, detail=ranking.excluded[place]),
        )
    if choice.most < 1:
        fix = "set skills.routing.maxSkills to 1 or more"
        detail = "skills.routing.maxSkills is 0: nothing is ever loaded"
        return (usable, ExplanationStep(stage="allowed", passed=False, detail=detail, fix=fix))
    allowed = ExplanationStep(stage="allowed", passed=True, detail="nothing keeps it out")
    return (
        usable,
        allowed,
        _score_step(ranking, place, choice),
        *_place_step(index, ranking, place, loaded=loaded),
    )


def _score_step(ranking: Ranking, place: int, choice: router.RouteChoice) -> ExplanationStep:
    score, least = float(ranking.scores[place]), choice.thresholds.load
    # Nobody is told that 0.50 is less than 0.50.
    digits = 4 if score < least and round(score, 2) == round(least, 2) else 2
    detail = f"its score is {score:.{digits}f}, and a skill is loaded from {least:.2f} on"
    if score >= least:
        return ExplanationStep(stage="score", passed=True, detail=detail)
    fix = "say in its description or in `examples` how users ask for this, in their words"
    if ranking.leaning <= _SMALL_TALK:
        detail += "; the message sounds like one that any assistant can answer"
    if score >= choice.thresholds.offer:
        detail += "; it is offered, not loaded"
    return ExplanationStep(stage="score", passed=False, detail=detail, fix=fix)


def _place_step(
    index: SkillIndex, ranking: Ranking, place: int, *, loaded: bool
) -> tuple[ExplanationStep, ...]:
    rank = ranking.order.index(place)
    if rank == 0 or loaded:
        return (ExplanationStep(stage="rank", passed=True, detail=f"it is number {rank + 1}"),)
    best = index.skills[ranking.order[0]].name
    detail = f"it is number {rank + 1} of {len(ranking.order)}; {best} fits better"
    fix = f"say in its description what sets it apart from {best}, and in {best} what it is not for"
    return (ExplanationStep(stage="rank", passed=False, detail=detail, fix=fix),)
