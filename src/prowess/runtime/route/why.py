"""Why one agent does, or does not, see one skill."""

from collections.abc import Sequence

from prowess.errors import SkillNotFoundError
from prowess.runtime.service import SkillsService
from prowess.skills.agent_filter import AgentFilter
from prowess.skills.explanation import (
    Explanation,
    SkillSituation,
    explain,
    explain_broken,
    explain_shadowed,
    explain_unreached,
)
from prowess.skills.model import Diagnostic, Severity


def why(skills: SkillsService, name: str, agent_id: str | None = None) -> Explanation:
    """Explain where on its way to the model a skill is, or where it stopped.

    Raises:
        SkillNotFoundError: nothing of that name was found, not even a broken file.
    """
    agent = skills.agent(agent_id)
    state = skills.workspace(agent_id).state(skills.settings)
    try:
        status = skills.find(name, agent_id)
    except SkillNotFoundError:
        problems = _problems_of(name, state.scan.diagnostics)
        lost = [s for s in state.catalog.shadowed if name in {s.skill.key, s.skill.id}]
        if lost:
            return explain_shadowed(lost[0], agent.id)
        if not problems:
            cut = [d for d in state.scan.diagnostics if d.code.endswith("-truncated")]
            if cut:
                # The file may be there and simply not have been reached.
                # What was read and then cut is the likelier case.
                cut.sort(key=lambda problem: problem.code != "skills-truncated")
                return explain_unreached(name, agent.id, cut[0])
            raise
        return explain_broken(name, agent.id, problems)
    return explain(
        SkillSituation(
            skill=status.skill,
            verdict=status.verdict,
            agent_id=agent.id,
            agent_filter=AgentFilter.of(agent),
            block=skills.snapshot(agent.id).block,
            entry_of=state.withheld.get(status.skill.name, ""),
            shadows=tuple(s for s in state.catalog.shadowed if s.winner is status.skill),
            passed_over=tuple(
                problem
                for problem in _problems_of(status.skill.name, state.scan.diagnostics)
                if problem.path != status.skill.path
            ),
        )
    )


def _problems_of(name: str, diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Return the errors of files that a person may mean by `name`."""
    wanted = name.strip().casefold()
    return [
        problem
        for problem in diagnostics
        if problem.severity is Severity.ERROR and wanted in _names_of(problem.path)
    ]


def _names_of(path: str) -> set[str]:
    parts = path.replace("\\", "/").casefold().rstrip("/").split("/")
    return {parts[-1], parts[-1].rsplit(".", 1)[0], *parts[-2:-1]}
