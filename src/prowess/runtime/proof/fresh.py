"""Whether skills are still true, as a service: checks, what is kept of them, and proposals.

What a check found is kept by the skill's text: routing gives stale sections less weight, and an
agent that reads the skill is told which of its lines no longer hold, until the text changes. What
held is kept, too, so that the next check knows what was once true.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from prowess.errors import ProposalError
from prowess.proof.claims import ClaimKind
from prowess.proof.facts import FolderTexts, ProjectFacts
from prowess.proof.freshness import CheckedClaim, FreshState, SkillFreshness, check_skill, key_of
from prowess.runtime.ports import StaleSkill
from prowess.runtime.service import SkillsService
from prowess.runtime.workshop.service import WorkshopService
from prowess.skills.catalog import find, merge
from prowess.skills.model import Skill
from prowess.skills.parse import split_sections
from prowess.workshop.proposal import ProposalSource


class FreshnessStore(Protocol):
    """What is kept of checks, by the path of each skill."""

    def read(self) -> Mapping[str, StaleSkill]:
        """Return all of it."""

    def write(self, found: Mapping[str, StaleSkill]) -> None:
        """Keep what was found of some skills."""


class OpenProject(Protocol):
    """Looks at a workspace."""

    def __call__(self, folder: str, skills: Sequence[str], *, with_help: bool) -> ProjectFacts:
        """Return its facts; `with_help` lets programs be asked what they can do."""


class FreshnessPorts(NamedTuple):
    """What a check needs of the machine."""

    open_project: "OpenProject"
    files: Callable[[Skill, str], FolderTexts]
    store: FreshnessStore


@dataclass(frozen=True, slots=True, kw_only=True)
class FixProposal:
    """What became of the repair of one skill: a proposal, or why there is none."""

    skill: str
    line: int
    proposal_id: str = ""
    state: str = ""
    problem: str = ""


class FreshnessService:
    """Checks the skills of an agent against its workspace."""

    def __init__(self, skills: SkillsService, ports: FreshnessPorts) -> None:
        self._skills, self._ports = skills, ports

    def check(
        self,
        names: Sequence[str] = (),
        agent_id: str | None = None,
        *,
        with_help: bool = False,
        keep: bool = True,
    ) -> tuple[SkillFreshness, ...]:
        """Return what holds of the skills of those names; by default of all but bundled ones.

        Raises:
            SkillNotFoundError: none or several answer to a name.
            StoreError: what was found cannot be kept.
        """
        workspace, settings = self._skills.workspace(agent_id), self._skills.settings
        found = list(
            merge(workspace.scan(settings).skills, settings.skills.load.precedence).winners.values()
        )
        chosen = [find(found, name) for name in names] or [one for one in found if not one.bundled]
        known = self._ports.store.read()
        look = self._open(workspace.folder, found, known, with_help=with_help)
        checked = tuple(map(look, chosen))
        if keep:
            self._keep(checked, known)
        return checked

    def open_check(self, agent_id: str | None = None) -> Callable[[Skill], SkillFreshness]:
        """Return what checks any text against the workspace as it is now, and keeps nothing."""
        workspace = self._skills.workspace(agent_id)
        found = workspace.scan(self._skills.settings).skills
        return self._open(workspace.folder, found, self._ports.store.read(), with_help=False)

    def _open(
        self,
        folder: str,
        found: Iterable[Skill],
        known: Mapping[str, StaleSkill],
        *,
        with_help: bool,
    ) -> Callable[[Skill], SkillFreshness]:
        facts = self._ports.open_project(
            folder, [skill.name for skill in found], with_help=with_help
        )

        def look(skill: Skill) -> SkillFreshness:
            held = known[skill.path].held if skill.path in known else ()
            return check_skill(skill, self._ports.files(skill, folder), facts, held)

        return look

    def _keep(self, checked: Iterable[SkillFreshness], known: Mapping[str, StaleSkill]) -> None:
        fresh = {one.skill.path: _kept(one, known.get(one.skill.path)) for one in checked}
        changed = {path: kept for path, kept in fresh.items() if known.get(path) != kept}
        if changed:
            self._ports.store.write(changed)

    def propose(
        self,
        checked: Sequence[SkillFreshness],
        workshop: WorkshopService,
        agent_id: str | None = None,
    ) -> tuple[FixProposal, ...]:
        """Propose the lines anew in which something has become something else.

        Raises:
            WorkshopDisabledError: the workshop is switched off.
            StoreError: its store cannot be used.
        """
        workshop.require_enabled()
        found = []
        for one in checked:
            lines = mend_lines(one)
            for number, (old, new) in lines.items():
                found.append(_propose(workshop, one.skill, number, (old, new), agent_id or ""))
        return tuple(found)


def _propose(
    workshop: WorkshopService, skill: Skill, line: int, change: tuple[str, str], agent_id: str
) -> FixProposal:
    arguments = {
        "action": "suggest",
        "skillName": skill.name,
        "title": f"Freshness: line {line} of {skill.name}",
        "reason": "What this line names has become something else.",
        "oldText": change[0],
        "newText": change[1],
        "apply": False,
    }
    try:
        answer = workshop.call(
            arguments, agent_id=agent_id, source=ProposalSource.CLI, by_person=True
        )
    except ProposalError as error:
        # The other lines can still be proposed; why this one cannot is told with them.
        return FixProposal(skill=skill.name, line=line, problem=str(error))
    proposal = answer.get("proposal")
    fields = proposal if isinstance(proposal, Mapping) else {}
    return FixProposal(
        skill=skill.name,
        line=line,
        proposal_id=str(fields.get("id", "")),
        state=str(answer.get("status", "")),
    )


def mend_lines(found: SkillFreshness) -> dict[int, tuple[str, str]]:
    """Return by line number the text as it is and as it should be, where that is known."""
    lines = found.skill.body.split("\n")
    mended: dict[int, tuple[str, str]] = {}
    for one in found.stale:
        at = one.claim.line
        old = lines[at - found.skill.body_line]
        now = mended.get(at, (old, old))[1]
        better = _mend(now, one)
        if better != now:
            mended[at] = (old, better)
    return mended


def _mend(line: str, one: CheckedClaim) -> str:
    if not one.instead:
        return line
    if one.claim.kind is ClaimKind.PACKAGE:
        plain = one.instead.lstrip("=<>~^ v")
        return line.replace(one.claim.version, plain) if plain else line
    last = one.claim.text.rpartition(".")[2] if one.claim.kind is ClaimKind.SYMBOL else ""
    return line.replace(last or one.claim.text, one.instead)


def _kept(found: SkillFreshness, before: StaleSkill | None) -> StaleSkill:
    """Return what is kept: what held once stays known for as long as the skill claims it."""
    skill = found.skill
    claimed = {key_of(one.claim) for one in found.claims}
    held = {key_of(one.claim) for one in found.claims if one.state is FreshState.FRESH}
    held |= claimed & set(before.held if before else ())
    stale = {one.claim.line for one in found.stale}
    spans = [
        (part.line, part.last_line)
        for part in (split_sections(skill) if stale else ())
        if any(part.line <= line <= part.last_line for line in stale)
    ]
    return StaleSkill(
        content_hash=skill.content_hash,
        held=tuple(sorted(held)),
        spans=tuple(spans),
        notes=tuple(describe(one) for one in found.stale),
    )


def describe(one: CheckedClaim) -> str:
    """Return one line about a stale claim, for a person or an agent."""
    claim = one.claim
    owner = " ".join(claim.owner) if claim.kind in {ClaimKind.FLAG, ClaimKind.SUBCOMMAND} else ""
    named = f"{owner} {claim.text}".strip()
    hint = f" (now {one.instead}?)" if one.instead else ""
    return f"line {claim.line}: {claim.kind.value} `{named}` {one.why}{hint}"
