"""The whole path of one skill for one agent: found, read, ready, allowed, visible, in the prompt.

The first step that fails is the answer to "why is my skill not picked up", and every failing step
says what to do.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from prowess.data import dataclass
from prowess.skills.agent_filter_snapshot import AgentFilter, MatchedBy
from prowess.skills.catalog import Shadowed, explain_withheld
from prowess.skills.eligibility import Verdict, missing_text
from prowess.skills.model import Diagnostic, Skill

if TYPE_CHECKING:
    from prowess.skills.prompt import PromptBlock

# The station at which an agent's list lets a skill pass; being ready comes before it.
ALLOWED = "allowed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplanationStep:
    """One station on the path, whether it was passed, and what to do where it was not."""

    stage: str
    passed: bool
    detail: str
    fix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The path of one skill; `visible` is the answer in one word."""

    name: str
    agent_id: str
    steps: tuple[ExplanationStep, ...]

    @property
    def visible(self) -> bool:
        """True where the agent's model sees the skill."""
        return all(step.passed for step in self.steps)

    @property
    def reason(self) -> ExplanationStep | None:
        """The first step that failed."""
        return next((step for step in self.steps if not step.passed), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillSituation:
    """All that is known about a skill that was found and read."""

    skill: Skill
    verdict: Verdict
    agent_id: str
    agent_filter: AgentFilter
    block: "PromptBlock"
    shadows: tuple[Shadowed, ...] = ()
    # Files of the same name that could not be read, and so did not get the chance to win.
    passed_over: tuple[Diagnostic, ...] = ()
    # The source that its entry in the config was made for, where that is not its own.
    entry_of: str = ""


def explain(situation: SkillSituation) -> Explanation:
    """Explain a skill that made it into the catalog."""
    skill = situation.skill
    steps = [
        ExplanationStep(stage="found", passed=True, detail=_tell_found(situation)),
        ExplanationStep(stage="parsed", passed=True, detail=_tell_parsed(skill)),
        _explain_eligible(situation),
        _judge_allowed(situation),
        _model(skill),
    ]
    if all(step.passed for step in steps):
        # Space is a reason only for a skill that would otherwise be listed.
        steps.append(_prompt(situation))
    return Explanation(name=skill.name, agent_id=situation.agent_id, steps=tuple(steps))


def explain_broken(name: str, agent_id: str, problems: Sequence[Diagnostic]) -> Explanation:
    """Explain a file that was found under `name` but yielded no skill."""
    first = problems[0]
    place = first.path if first.line is None else f"{first.path}:{first.line}"
    steps = (
        ExplanationStep(stage="found", passed=True, detail=first.path),
        ExplanationStep(
            stage="parsed",
            passed=False,
            detail=f"{first.code} at {place}: {first.message}",
            fix=first.fix,
        ),
    )
    return Explanation(name=name, agent_id=agent_id, steps=steps)


def explain_shadowed(lost: Shadowed, agent_id: str) -> Explanation:
    """Explain a skill that was found and read, but lost its name to another one."""
    skill, winner = lost.skill, lost.winner
    steps = (
        ExplanationStep(
            stage="found", passed=True, detail=f"{skill.path} in {skill.source.tier.source_id}"
        ),
        ExplanationStep(stage="parsed", passed=True, detail=_tell_parsed(skill)),
        ExplanationStep(
            stage="won",
            passed=False,
            detail=f"shadowed by {winner.path} in {winner.source.tier.source_id}",
            fix=f"rename one of the two, or ask for {winner.name} to see the one that won",
        ),
    )
    return Explanation(name=skill.name, agent_id=agent_id, steps=steps)


def explain_unreached(name: str, agent_id: str, problem: Diagnostic) -> Explanation:
    """Explain a name that was not found in a scan that did not look everywhere."""
    detail = f"not among what was read, and {problem.path} was not read whole: {problem.message}"
    step = ExplanationStep(stage="found", passed=False, detail=detail, fix=problem.fix)
    return Explanation(name=name, agent_id=agent_id, steps=(step,))


def _tell_found(situation: SkillSituation) -> str:
    skill = situation.skill
    label = f" ({skill.source.label})" if skill.source.label else ""
    text = f"{skill.path} in {skill.source.tier.source_id}{label}"
    others = [shadow for shadow in situation.shadows if not shadow.identical]
    if others:
        text += "; it shadows " + ", ".join(shadow.skill.path for shadow in others)
    for problem in situation.passed_over:
        text += f"; {problem.path} was passed over ({problem.code}: {problem.message})"
    return text


def _tell_parsed(skill: Skill) -> str:
    if not skill.diagnostics:
        return f"read as {skill.dialect.value}"
    notes = "; ".join(
        f"{problem.code} at line {problem.line}" if problem.line else problem.code
        for problem in skill.diagnostics
    )
    return f"read as {skill.dialect.value}, with notes: {notes}"


def _explain_eligible(situation: SkillSituation) -> ExplanationStep:
    skill, verdict, whose = situation.skill, situation.verdict, situation.entry_of
    withheld = f"; {explain_withheld(skill, whose)}" if whose else ""
    if verdict.eligible:
        detail = f"nothing is missing{withheld}"
        return ExplanationStep(stage="eligible", passed=True, detail=detail)
    detail, fix = _obstacle(skill, verdict)
    if withheld and verdict.missing.env:
        detail += withheld
        # To configure more would not help: it is the entry that the skill does not get.
        fix = fix.replace(f", or skills.entries.{skill.key}.env", "")
        fix = f"run `prowess trust {skill.name}` if you trust {skill.path}, or {fix}"
    return ExplanationStep(stage="eligible", passed=False, detail=detail, fix=fix)


def _obstacle(skill: Skill, verdict: Verdict) -> tuple[str, str]:
    if verdict.disabled:
        return (
            f"disabled by skills.entries.{skill.key}.enabled",
            f"run `prowess enable {skill.name}`",
        )
    if verdict.blocked_by_allowlist:
        return "not in skills.allowBundled", f'add "{skill.key}" to skills.allowBundled'
    if verdict.blocked is not None:
        block = verdict.blocked
        return f"blocked by {block.by}: {block.reason}", block.find_way_out(skill.name)
    if verdict.blocked_by_metadata:
        return (
            "its metadata cannot be read, so its requirements are unknown",
            f"run `prowess validate {skill.path}`",
        )
    return f"missing {missing_text(verdict.missing)}", _how_to_get(skill, verdict)


def _how_to_get(skill: Skill, verdict: Verdict) -> str:
    missing = verdict.missing
    if missing.os:
        return f"use it on {', '.join(missing.os)}, or add such a machine to skills.nodes"
    steps = [option.label for option in verdict.install if missing.bins or missing.any_bins]
    if not steps and (missing.bins or missing.any_bins):
        wanted = " and ".join(missing.bins) or " or ".join(missing.any_bins)
        steps.append(f"put {wanted} on the PATH")
    if missing.env:
        steps.append(f"set {', '.join(missing.env)}, or skills.entries.{skill.key}.env")
    steps += [f"set {path} in the config" for path in missing.config]
    return "; ".join(steps)


def _judge_allowed(situation: SkillSituation) -> ExplanationStep:
    matched = situation.agent_filter.match(situation.skill)
    if matched is MatchedBy.NO_FILTER:
        return ExplanationStep(
            stage=ALLOWED, passed=True, detail="the agent has no list: all are allowed"
        )
    whose = "agents.defaults.skills" if situation.agent_filter.inherited else "the agent's own list"
    if matched is not None:
        return ExplanationStep(
            stage=ALLOWED, passed=True, detail=f"{whose} names it by its {matched.value}"
        )
    return ExplanationStep(
        stage=ALLOWED,
        passed=False,
        detail=f"{whose} does not name it",
        fix=f'add "{situation.skill.name}" to the skills of agent {situation.agent_id}',
    )


def _model(skill: Skill) -> ExplanationStep:
    if skill.invocation.model:
        return ExplanationStep(stage="model", passed=True, detail="the model may choose it")
    by_hand = "only a person can call it, unless its author changes that"
    return ExplanationStep(
        stage="model",
        passed=False,
        detail=f"kept from the model by {skill.invocation.hidden_by or 'its author'}",
        fix="read it, then run `prowess experience promote`" if skill.is_draft else by_hand,
    )


def _prompt(situation: SkillSituation) -> ExplanationStep:
    block, skill = situation.block, situation.skill
    if any(included.path == skill.path for included in block.included):
        chars = block.description_chars
        how = "whole" if chars is None else f"cut to {chars} characters" if chars else "left out"
        return ExplanationStep(
            stage="prompt", passed=True, detail=f"in the prompt, description {how}"
        )
    return ExplanationStep(
        stage="prompt",
        passed=False,
        detail="not in the prompt block: " + (block.omitted_because or "dropped for space"),
        fix="pin it in skills.pinned, raise skills.limits.maxSkillsPromptChars or "
        "skills.limits.maxSkillsInPrompt, or narrow the agent's list",
    )
