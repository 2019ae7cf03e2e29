"""Proposals: what was learned, seen whole, and decided about by its revision.

A decision names the revision that was seen. If the proposal was changed since, the gateway refuses
it, and nothing is written.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from prowess.client.calls import Calls
from prowess.client.fields import Fields, Json

_GROUP = "skills.proposals"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One proposal, without its text."""

    id: str
    status: str
    kind: str
    title: str
    description: str
    skill: str
    # Of what was seen; a decision is about this one only.
    revision: str
    raw: Json = field(repr=False)

    @classmethod
    def read(cls, raw: Json) -> "Proposal":
        """Read an entry of the list, or a record."""
        found = Fields(raw)
        return cls(
            id=found.text("id"),
            status=found.text("status"),
            kind=found.text("kind"),
            title=found.text("title"),
            description=found.text("description"),
            skill=found.text("skillName") or found.inner("target").text("skillName"),
            revision=found.text("revisionHash") or found.text("draftHash"),
            raw=raw,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """One proposal with what would be written, and what is there now."""

    proposal: Proposal
    content: str
    current: str
    files: Mapping[str, str]
    raw: Json = field(repr=False)

    @classmethod
    def read(cls, raw: Json) -> "Inspection":
        """Read the answer of `skills.proposals.inspect`."""
        found = Fields(raw)
        support = [Fields(one) for one in found.objects("supportFiles")]
        return cls(
            proposal=Proposal.read(found.inner("record").raw),
            content=found.text("content"),
            current=found.text("currentContent"),
            files={one.text("path"): one.text("content") for one in support},
            raw=raw,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalEvent:
    """One line of the log of proposals."""

    sequence: int
    proposal_id: str
    type: str
    raw: Json = field(repr=False)

    @classmethod
    def read(cls, raw: Json) -> "ProposalEvent":
        """Read one event."""
        found = Fields(raw)
        return cls(
            sequence=found.whole("sequence") or 0,
            proposal_id=found.text("proposalId"),
            type=found.text("type"),
            raw=raw,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalText:
    """What a proposal says, and why; None leaves it as it is."""

    content: str | None = None
    description: str | None = None
    goal: str | None = None
    evidence: str | None = None
    files: Mapping[str, str] | None = None

    def params(self) -> Json:
        """Return the parameters that carry it."""
        files = self.files.items() if self.files else ()
        return {
            "content": self.content,
            "description": self.description,
            "goal": self.goal,
            "evidence": self.evidence,
            "supportFiles": [{"path": path, "content": body} for path, body in files] or None,
        }


class ProposalCalls:
    """The proposals of a gateway.

    Every method raises `GatewayCallError` where it is refused, and `GatewayLostError` where the
    connection ended before the answer came.
    """

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def list(
        self, *, status: str | None = None, agent: str | None = None
    ) -> tuple[Proposal, ...]:
        """Return what waits and what was decided."""
        found = Fields(await self._ask("list", agent, {"status": status}))
        return tuple(Proposal.read(one) for one in found.objects("proposals"))

    async def inspect(self, proposal_id: str, *, agent: str | None = None) -> Inspection:
        """Return one proposal with its whole text."""
        return Inspection.read(await self._ask("inspect", agent, {"proposalId": proposal_id}))

    async def events(
        self, *, proposal_id: str | None = None, after: int = 0, agent: str | None = None
    ) -> tuple[ProposalEvent, ...]:
        """Return what happened after a number, oldest first."""
        asked = {"proposalId": proposal_id, "afterSequence": after}
        found = Fields(await self._ask("events.list", agent, asked))
        return tuple(ProposalEvent.read(one) for one in found.objects("events"))

    async def create(
        self, name: str, text: ProposalText, *, agent: str | None = None
    ) -> Inspection:
        """Propose a new skill."""
        return Inspection.read(await self._ask("create", agent, {"name": name, **text.params()}))

    async def update(
        self, skill: str, text: ProposalText, *, agent: str | None = None
    ) -> Inspection:
        """Propose another text for a skill."""
        asked = {"skillName": skill, **text.params()}
        return Inspection.read(await self._ask("update", agent, asked))

    async def revise(
        self, proposal_id: str, text: ProposalText, *, revision: str, agent: str | None = None
    ) -> Inspection:
        """Change what waits."""
        asked = {"proposalId": proposal_id, "expectedRevisionHash": revision, **text.params()}
        return Inspection.read(await self._ask("revise", agent, asked))

    async def apply(
        self, proposal_id: str, *, revision: str, reason: str = "", agent: str | None = None
    ) -> Proposal:
        """Write what was seen to its skill."""
        answer = await self._decide("apply", proposal_id, revision, reason, agent)
        return Proposal.read(Fields(answer).inner("record").raw)

    async def reject(
        self, proposal_id: str, *, revision: str, reason: str = "", agent: str | None = None
    ) -> Proposal:
        """Refuse a proposal; it does not come again."""
        return Proposal.read(await self._decide("reject", proposal_id, revision, reason, agent))

    async def quarantine(
        self, proposal_id: str, *, revision: str, reason: str = "", agent: str | None = None
    ) -> Proposal:
        """Keep a proposal from ever being applied."""
        return Proposal.read(await self._decide("quarantine", proposal_id, revision, reason, agent))

    async def rollback(
        self, proposal_id: str, *, revision: str, reason: str = "", agent: str | None = None
    ) -> Proposal:
        """Bring back what an applied proposal replaced."""
        answer = await self._decide("rollback", proposal_id, revision, reason, agent)
        return Proposal.read(Fields(answer).inner("record").raw)

    async def _decide(
        self, deed: str, proposal_id: str, revision: str, reason: str, agent: str | None
    ) -> Json:
        asked = {
            "proposalId": proposal_id,
            "expectedRevisionHash": revision,
            "reason": reason or None,
        }
        return await self._ask(deed, agent, asked)

    async def _ask(self, deed: str, agent: str | None, asked: Mapping[str, object]) -> Json:
        return await self._calls.request(f"{_GROUP}.{deed}", self._calls.about(agent, asked))
