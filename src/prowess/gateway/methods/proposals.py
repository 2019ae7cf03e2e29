"""The methods about proposals: what was learned, seen whole, and decided about by its revision."""

from collections.abc import Callable, Iterable, Mapping
from typing import Annotated

from pydantic import Field

from prowess.errors import ProposalInputError, ProposalStaleError
from prowess.gateway.calls import ClientScope, Json, rpc
from prowess.gateway.methods import params as given
from prowess.gateway.methods.params import Agent, EventNumber, Name
from prowess.gateway.methods.services import Services
from prowess.runtime.workshop.drafts import Draft, Revision, reason_of, reword
from prowess.runtime.workshop.ports import SKILL_FILE
from prowess.runtime.workshop.proposals import Proposals
from prowess.runtime.workshop.service import versions, wordings
from prowess.secrets.credentials import mask_credentials
from prowess.skills import frontmatter
from prowess.skills.model import Tier
from prowess.wire import workshop as wire_proposals
from prowess.workshop.edit import Create, Edit, Replace
from prowess.workshop.proposal import (
    Actor,
    By,
    Evidence,
    Proposal,
    ProposalSource,
    State,
    skill_name,
)

# From an agent to what was shown of its skills, by name.
ListProofs = Callable[[str | None], Mapping[str, str]]


class ProposalMethods:
    """The answers, over one set of services."""

    def __init__(self, services: Services, proofs: ListProofs) -> None:
        self._services, self._proofs = services, proofs

    @rpc("skills.proposals.list", ClientScope.READ)
    def list(
        self,
        status: Name | None = None,
        *,
        # What a row of an inbox shows, and nothing about the skills.
        brief: bool = False,
        agent_id: Agent = None,
    ) -> Json:
        """What waits and what was decided."""
        found = self._services.workshop().list(status, agent_id=self._agent(agent_id))
        if brief:
            proofs = self._proofs(agent_id)
            return {
                "enabled": self._services.workshop().enabled,
                "proposals": [
                    wire_proposals.inbox_row(
                        one, is_late=self._is_late(one), proof=proofs.get(one.skill, "")
                    )
                    for one in found
                ],
            }
        rows = self._services.skills.status(agent_id).skills
        own = [row.skill for row in rows if row.skill.source.tier is Tier.WORKSPACE]
        return wire_proposals.manifest(found, own)

    @rpc("skills.proposals.inspect", ClientScope.READ)
    def inspect(self, asked: given.ProposalParams) -> Json:
        """One proposal with its whole text."""
        return self._show(self._find(asked))

    @rpc("skills.proposals.events.list", ClientScope.READ)
    def events(
        self,
        proposal_id: Name | None = None,
        after_sequence: EventNumber = 0,
        limit: Annotated[int, Field(ge=1, le=200)] = 100,
        agent_id: Agent = None,
    ) -> Json:
        """What happened, with a cursor."""
        agent = self._agent(agent_id)
        found = self._services.workshop().history(
            proposal_id or "", after=after_sequence, agent_id=agent
        )
        events = found.events[:limit]
        sources = {one.id: one.source for one in self._services.workshop().list(agent_id=agent)}
        about = versions(self._services.workshop(), events, agent)
        shown: Json = {
            "events": [
                wire_proposals.event(one, about[one.sequence], sources.get(one.proposal_id))
                for one in events
            ]
        }
        if found.more or len(events) < len(found.events):
            shown["nextSequence"] = events[-1].sequence
        return shown

    @rpc("skills.proposals.create", ClientScope.ADMIN)
    def create(self, asked: given.CreateProposalParams) -> Json:
        """Propose a new skill."""
        self._find_writable(asked)
        name = _read_new_name(asked.name)
        edit = Create(description=asked.description, body=asked.content)
        return self._propose(asked, name, f"New skill: {name}", edit)

    @rpc("skills.proposals.update", ClientScope.ADMIN)
    def update(self, asked: given.UpdateProposalParams) -> Json:
        """Propose another text for a skill."""
        workspace = self._find_writable(asked)
        name = skill_name(asked.skill_name)
        page = self._proposals().current(workspace, name).get(SKILL_FILE)
        if page is None:
            problem = f"{name} is not a skill of this workspace: create it instead"
            raise ProposalInputError(problem, field="skillName")
        body = frontmatter.read(frontmatter.decode(page).text).body.strip()
        edit = Replace(
            old_text=body,
            # Without a frontmatter of its own: that of the skill stays.
            new_text=frontmatter.read(asked.content).body.strip(),
            description=asked.description or "",
        )
        return self._propose(asked, name, f"Skill update: {name}", edit)

    @rpc("skills.proposals.revise", ClientScope.ADMIN)
    def revise(self, asked: given.ReviseProposalParams) -> Json:
        """Change what waits."""
        found = self._find(asked)
        files, words = asked.support_files, asked.evidence
        if all(
            part is None for part in (asked.content, asked.description, files, asked.goal, words)
        ):
            seen = asked.expected_revision_hash or ""
            return self._show(self._proposals().renew(found, seen, _by(asked.correlation_id)))
        more = Revision(
            files=None if files is None else _support(files),
            goal=asked.goal,
            evidence=None if words is None else _evidence(words),
        )
        seen = asked.expected_revision_hash or found.revision
        page = self._proposals().current(found.workspace, found.skill, found.place).get(SKILL_FILE)
        edit = _revise(found, page, asked.content, asked.description)
        return self._show(
            self._proposals().revise(found, edit, seen, more, _by(asked.correlation_id))
        )

    @rpc("skills.proposals.evaluate", ClientScope.ADMIN)
    def evaluate(self, asked: given.EvaluateParams) -> Json:
        """Say whether it could be applied now: what the scanner and the skill of now say."""
        found = self._find(asked)
        seen = asked.expected_revision_hash or found.revision
        if seen != found.revision:
            problem = "the proposal is not the one that was reviewed"
            raise ProposalStaleError(found.id, problem, expected=seen, found=found.revision)
        current = self._proposals().current(found.workspace, found.skill, found.place)
        outlook = self._proposals().outlook(found, current)
        record, now = self._record(found), self._services.now()
        evaluation = wire_proposals.evaluation(record, outlook, now, asked.correlation_id or "")
        return {"record": {**record, "evaluation": evaluation}, "evaluation": evaluation}

    @rpc("skills.proposals.apply", ClientScope.ADMIN)
    def apply(self, asked: given.DecideParams) -> Json:
        """Write what was seen to its skill."""
        done = self._services.workshop().apply(
            asked.proposal_id,
            revision=asked.expected_revision_hash,
            reason=asked.reason or "",
            agent_id=self._agent(asked.agent_id),
            by=_by(asked.correlation_id),
        )
        record = self._record(done)
        return {"record": record, "targetSkillFile": record["target"]["skillFile"]}

    @rpc("skills.proposals.reject", ClientScope.ADMIN)
    def reject(self, asked: given.DecideParams) -> Json:
        """Refuse it: it does not come again."""
        done = self._services.workshop().reject(
            asked.proposal_id,
            revision=asked.expected_revision_hash,
            reason=asked.reason or "",
            agent_id=self._agent(asked.agent_id),
            by=_by(asked.correlation_id),
        )
        return self._record(done)

    @rpc("skills.proposals.quarantine", ClientScope.ADMIN)
    def quarantine(self, asked: given.MayDecideParams) -> Json:
        """Keep it from being used."""
        found = self._find(asked)
        done = self._proposals().quarantine(
            found, asked.expected_revision_hash or "", asked.reason or "", _by(asked.correlation_id)
        )
        return self._record(done)

    @rpc("skills.proposals.rollback", ClientScope.ADMIN)
    def rollback(self, asked: given.MayDecideParams) -> Json:
        """Bring back what it replaced."""
        done = self._services.workshop().rollback(
            asked.proposal_id,
            revision=asked.expected_revision_hash or "",
            reason=asked.reason or "",
            agent_id=self._agent(asked.agent_id),
            by=_by(asked.correlation_id),
        )
        return {"record": self._record(done)}

    def _propose(self, asked: given.NewProposalParams, name: str, title: str, edit: Edit) -> Json:
        draft = Draft(
            skill=name,
            title=title,
            reason=reason_of(asked.goal or ""),
            source=ProposalSource.STUDIO,
            edit=edit,
            files=_support(asked.support_files),
            evidence=_evidence(asked.evidence or ""),
            goal=asked.goal or "",
            agent_id=self._agent(asked.agent_id),
        )
        return self._show(self._proposals().propose(self._find_writable(asked), draft).proposal)

    def _show(self, proposal: Proposal) -> Json:
        current = self._proposals().current(proposal.workspace, proposal.skill, proposal.place)
        version = len(self._wordings(proposal.id, proposal.agent_id)) or 1
        outlook = self._proposals().outlook(proposal, current)
        return wire_proposals.inspection(proposal, current, version, outlook)

    def _is_late(self, proposal: Proposal) -> bool:
        """Return whether the skill of one that waits changed since."""
        if proposal.state is not State.PENDING:
            return False
        current = self._proposals().current(proposal.workspace, proposal.skill)
        return self._proposals().outlook(proposal, current).target_changed

    def _record(self, proposal: Proposal) -> Json:
        version = len(self._wordings(proposal.id, proposal.agent_id)) or 1
        return wire_proposals.record(proposal, version)

    def _wordings(self, proposal_id: str, agent_id: str) -> tuple[int, ...]:
        return wordings(self._services.workshop(), proposal_id, agent_id)

    def _find(self, asked: given.ProposalParams) -> Proposal:
        return self._services.workshop().inspect(
            asked.proposal_id, agent_id=self._agent(asked.agent_id)
        )

    def _agent(self, asked: str | None) -> str:
        """Return the agent that is meant, after making sure that there is one of that id."""
        return "" if asked is None else self._services.skills.agent(asked).id

    def _find_writable(self, asked: given.AgentParams) -> str:
        """Return the workspace of the agent that is meant, where anything may be proposed at all.

        Raises:
            WorkshopDisabledError: nothing may.
            UnknownAgentError: there is no such agent.
        """
        self._proposals().require_enabled()
        return self._services.skills.workspace(asked.agent_id).folder

    def _proposals(self) -> Proposals:
        return self._services.proposals()


def _read_new_name(asked: str) -> str:
    try:
        return skill_name(asked)
    except ProposalInputError as error:
        # As the caller spells it.
        problem = str(error).removeprefix("skillName")
        raise ProposalInputError(f"name{problem}", field="name") from error


def _by(correlation_id: str | None) -> By:
    # Whatever a client calls its deed: it is no place for a key.
    return By(actor=Actor.GATEWAY, correlation_id=mask_credentials(correlation_id or ""))


def _evidence(words: str) -> tuple[Evidence, ...]:
    return (Evidence(place=0, role="user", quote=words),) if words else ()


def _support(files: Iterable[given.SupportFileParams]) -> dict[str, bytes]:
    if any(file.path.casefold() == SKILL_FILE.casefold() for file in files):
        problem = f"supportFiles: {SKILL_FILE} is the skill itself: use content"
        raise ProposalInputError(problem, field="supportFiles")
    return {file.path: file.content.encode() for file in files}


def _revise(
    found: Proposal, page: bytes | None, content: str | None, description: str | None
) -> Edit | None:
    """Return the edit of a proposal with these words in place of its own."""
    old = found.edit
    if content is None and description is None:
        return old
    if old is None:
        problem = "only support files are proposed: reject it and propose anew"
        raise ProposalInputError(problem, field="description" if content is None else "content")
    return reword(old, page, text=content, description=description)
