"""The methods about proposals: what was learned, seen whole, and decided about by its revision."""

from collections.abc import Callable, Iterable

from prowess.errors import ProposalInputError
from prowess.gateway.calls import Call, Json, Method, Params, Scope
from prowess.gateway.methods import params as given
from prowess.gateway.methods.services import Services
from prowess.runtime.workshop.drafts import Draft, Revision, reason_of, reword
from prowess.runtime.workshop.ports import SKILL_FILE
from prowess.runtime.workshop.proposals import Proposals
from prowess.runtime.workshop.service import versions, wordings
from prowess.secrets.credentials import masked
from prowess.skills import frontmatter
from prowess.wire import workshop as wire_proposals
from prowess.workshop.edit import Create, Edit, Replace
from prowess.workshop.proposal import Actor, By, Evidence, Proposal, Source, skill_name


def proposal_methods(services: Services) -> tuple[Method, ...]:
    """Return the methods about proposals."""
    desk = _Desk(services)

    def method(
        name: str, scope: Scope, params: type[Params], answer: Callable[[Call], Json], about: str
    ) -> Method:
        full = f"skills.proposals.{name}"
        return Method(name=full, scope=scope, params=params, answer=answer, about=about)

    read, admin = Scope.READ, Scope.ADMIN
    return (
        method("list", read, given.Listed, desk.list, "What waits and what was decided."),
        method("inspect", read, given.One, desk.inspect, "One proposal with its whole text."),
        method("events.list", read, given.Events, desk.events, "What happened, with a cursor."),
        method("create", admin, given.Create, desk.create, "Propose a new skill."),
        method(
            "update", admin, given.ProposalsUpdate, desk.update, "Propose another text for a skill."
        ),
        method("revise", admin, given.Revise, desk.revise, "Change what waits."),
        method("apply", admin, given.Decide, desk.apply, "Write what was seen to its skill."),
        method("reject", admin, given.Decide, desk.reject, "Refuse it: it does not come again."),
        method("quarantine", admin, given.MayDecide, desk.quarantine, "Keep it from being used."),
        method("rollback", admin, given.MayDecide, desk.rollback, "Bring back what it replaced."),
    )


class _Desk:
    """The answers, over one set of services."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def list(self, call: Call) -> Json:
        """Return the manifest of an agent's workspace."""
        found = self._services.workshop().list(call.params.status, agent_id=self._agent(call))
        skills = self._services.skills.status(call.params.agent_id).skills
        return wire_proposals.manifest(found, [row.skill.name for row in skills])

    def inspect(self, call: Call) -> Json:
        """Return one proposal with what would be written and what is there."""
        return self._shown(self._found(call))

    def events(self, call: Call) -> Json:
        """Return what happened after a number, oldest first."""
        asked, agent = call.params, self._agent(call)
        found = self._services.workshop().history(
            asked.proposal_id or "", after=asked.after_sequence, agent_id=agent
        )
        events = found.events[: asked.limit]
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

    def create(self, call: Call) -> Json:
        """Propose a new skill."""
        asked, _ = call.params, self._writable(call)
        name = _new_name(asked.name)
        edit = Create(description=asked.description, body=asked.content)
        return self._proposed(call, name, f"New skill: {name}", edit)

    def update(self, call: Call) -> Json:
        """Propose another text in place of a skill's own."""
        asked, workspace = call.params, self._writable(call)
        name = skill_name(asked.skill_name)
        page = self._proposals().current(workspace, name).get(SKILL_FILE)
        if page is None:
            problem = f"{name} is not a skill of this workspace: create it instead"
            raise ProposalInputError(problem, field="skillName")
        body = frontmatter.read(frontmatter.decode(page).text).body.strip()
        edit = Replace(
            old_text=body,
            new_text=_body_of(asked.content),
            description=asked.description or "",
        )
        return self._proposed(call, name, f"Skill update: {name}", edit)

    def revise(self, call: Call) -> Json:
        """Put other words in the place of what waits; without any, bring it up to date."""
        asked, found = call.params, self._found(call)
        files, words = asked.support_files, asked.evidence
        if all(
            part is None for part in (asked.content, asked.description, files, asked.goal, words)
        ):
            seen = asked.expected_revision_hash or ""
            return self._shown(self._proposals().renew(found, seen, _by(call)))
        more = Revision(
            files=None if files is None else _support(files),
            goal=asked.goal,
            evidence=None if words is None else _evidence(words),
        )
        seen = asked.expected_revision_hash or found.revision
        page = self._proposals().current(found.workspace, found.skill).get(SKILL_FILE)
        edit = _revised(found, page, asked.content, asked.description)
        return self._shown(self._proposals().revise(found, edit, seen, more, _by(call)))

    def apply(self, call: Call) -> Json:
        """Write a proposal to its skill, if it is the one that was seen."""
        asked = call.params
        done = self._services.workshop().apply(
            asked.proposal_id,
            revision=asked.expected_revision_hash,
            reason=asked.reason or "",
            agent_id=self._agent(call),
            by=_by(call),
        )
        record = self._record(done)
        return {"record": record, "targetSkillFile": record["target"]["skillFile"]}

    def reject(self, call: Call) -> Json:
        """Refuse a proposal, if it is the one that was seen."""
        asked = call.params
        done = self._services.workshop().reject(
            asked.proposal_id,
            revision=asked.expected_revision_hash,
            reason=asked.reason or "",
            agent_id=self._agent(call),
            by=_by(call),
        )
        return self._record(done)

    def quarantine(self, call: Call) -> Json:
        """Keep a pending proposal from ever being applied."""
        asked, found = call.params, self._found(call)
        done = self._proposals().quarantine(
            found, asked.expected_revision_hash or "", asked.reason or "", _by(call)
        )
        return self._record(done)

    def rollback(self, call: Call) -> Json:
        """Bring back what the last change of a skill replaced."""
        asked = call.params
        done = self._services.workshop().rollback(
            asked.proposal_id,
            revision=asked.expected_revision_hash or "",
            reason=asked.reason or "",
            agent_id=self._agent(call),
            by=_by(call),
        )
        return {"record": self._record(done)}

    def _proposed(self, call: Call, name: str, title: str, edit: Edit) -> Json:
        asked = call.params
        draft = Draft(
            skill=name,
            title=title,
            reason=reason_of(asked.goal or ""),
            source=Source.STUDIO,
            edit=edit,
            files=_support(asked.support_files),
            evidence=_evidence(asked.evidence or ""),
            goal=asked.goal or "",
            agent_id=self._agent(call),
        )
        return self._shown(self._proposals().propose(self._writable(call), draft).proposal)

    def _shown(self, proposal: Proposal) -> Json:
        current = self._proposals().current(proposal.workspace, proposal.skill)
        version = len(self._wordings(proposal.id, proposal.agent_id)) or 1
        outlook = self._proposals().outlook(proposal, current)
        return wire_proposals.inspection(proposal, current, version, outlook)

    def _record(self, proposal: Proposal) -> Json:
        version = len(self._wordings(proposal.id, proposal.agent_id)) or 1
        return wire_proposals.record(proposal, version)

    def _wordings(self, proposal_id: str, agent_id: str) -> tuple[int, ...]:
        return wordings(self._services.workshop(), proposal_id, agent_id)

    def _found(self, call: Call) -> Proposal:
        asked = call.params
        return self._services.workshop().inspect(asked.proposal_id, agent_id=self._agent(call))

    def _agent(self, call: Call) -> str:
        """Return the agent that is meant, after making sure that there is one of that id."""
        asked: str | None = call.params.agent_id
        return "" if asked is None else self._services.skills.agent(asked).id

    def _writable(self, call: Call) -> str:
        """Return the workspace of the agent that is meant, where anything may be proposed at all.

        Raises:
            WorkshopDisabledError: nothing may.
            UnknownAgentError: there is no such agent.
        """
        self._proposals().require_enabled()
        return self._services.skills.workspace(call.params.agent_id).folder

    def _proposals(self) -> Proposals:
        return self._services.proposals()


def _new_name(asked: str) -> str:
    try:
        return skill_name(asked)
    except ProposalInputError as error:
        # As the caller spells it.
        problem = str(error).removeprefix("skillName")
        raise ProposalInputError(f"name{problem}", field="name") from error


def _by(call: Call) -> By:
    # Whatever a client calls its deed: it is no place for a key.
    return By(actor=Actor.GATEWAY, correlation_id=masked(call.params.correlation_id or ""))


def _evidence(words: str) -> tuple[Evidence, ...]:
    return (Evidence(place=0, role="user", quote=words),) if words else ()


def _support(files: Iterable[given.SupportFile]) -> dict[str, bytes]:
    if any(file.path.casefold() == SKILL_FILE.casefold() for file in files):
        problem = f"supportFiles: {SKILL_FILE} is the skill itself: use content"
        raise ProposalInputError(problem, field="supportFiles")
    return {file.path: file.content.encode() for file in files}


def _body_of(content: str) -> str:
    """Return the text without a frontmatter of its own: that of the skill stays."""
    return frontmatter.read(content).body.strip()


def _revised(
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
