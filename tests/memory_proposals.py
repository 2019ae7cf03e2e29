"""Proposals in memory, under the rules of the real store, which the tests of that one hold."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from prowess.workshop.proposal import (
    ITSELF,
    NOBODY,
    Begun,
    By,
    EventKind,
    Proposal,
    ProposalEvent,
    State,
    Subject,
    find_known,
)


@dataclass(slots=True)
class MemoryProposals:
    kept: dict[str, Proposal] = field(default_factory=dict)
    log: list[ProposalEvent] = field(default_factory=list)
    begun: list[Begun] = field(default_factory=list)

    def add(self, proposal: Proposal, caps: Mapping[State, int]) -> Proposal:
        known = find_known(proposal, self.listed(proposal.workspace))
        if known is not None:
            return known
        self.kept[proposal.id] = proposal
        self._note(proposal, EventKind.CREATED, by=By(actor=proposal.source.actor))
        if proposal.state is State.QUARANTINED:
            self._note(proposal, EventKind.QUARANTINED, by=ITSELF)
        for state, cap in caps.items():
            own = [one for one in self.listed(proposal.workspace, state) if not one.for_good]
            own.sort(key=lambda one: (one.created_at, one.id))
            for gone in own[: max(len(own) - cap, 0)]:
                del self.kept[gone.id]
                self._note(gone, EventKind.PRUNED, f"was {gone.state.value}", ITSELF)
        return proposal

    def change(
        self, was: Proposal, now: Proposal, kind: EventKind, note: str = "", by: By = NOBODY
    ) -> bool:
        known = self.kept.get(was.id)
        if known is None or (known.state, known.revision) != (was.state, was.revision):
            return False
        self.kept[was.id] = now
        self._note(now, kind, note, by)
        if kind in {EventKind.APPLIED, EventKind.ROLLED_BACK}:
            self.begun = [one for one in self.begun if one.proposal_id != now.id]
        return True

    def begin(self, begun: Begun) -> None:
        self.begun.append(begun)

    def unfinished(self, workspace: str) -> tuple[Begun, ...]:
        return tuple(one for one in self.begun if one.workspace == workspace)

    def abandon(self, begun: Begun, at: float, note: str) -> None:
        self.begun = [one for one in self.begun if one.proposal_id != begun.proposal_id]
        self._note(replace(begun, at=at), EventKind.INTERRUPTED, note, ITSELF)

    def get(self, workspace: str, proposal_id: str) -> Proposal | None:
        found = self.kept.get(proposal_id)
        return found if found and found.workspace == workspace else None

    def listed(self, workspace: str, state: State | None = None) -> tuple[Proposal, ...]:
        found = [one for one in self.kept.values() if one.workspace == workspace]
        found.sort(key=lambda one: -one.created_at)
        return tuple(one for one in found if state in {None, one.state})

    def applied(self, workspace: str, skill: str) -> tuple[Proposal, ...]:
        order = {one.proposal_id: one.sequence for one in self.log if one.kind == "applied"}
        found = [one for one in self.listed(workspace, State.APPLIED) if one.skill == skill]
        return tuple(sorted(found, key=lambda one: -order.get(one.id, 0)))

    def events(
        self, workspace: str, after: int = 0, most: int = 200, about: Subject | None = None
    ) -> tuple[ProposalEvent, ...]:
        about = about or Subject()
        found = [
            one
            for one in self.log
            if one.workspace == workspace
            and one.sequence > after
            and about.proposal_id in {"", one.proposal_id}
            and about.skill in {"", one.skill}
        ]
        return tuple(found[:most])

    def _note(
        self, about: Proposal | Begun, kind: EventKind, note: str = "", by: By = NOBODY
    ) -> None:
        self.log.append(
            ProposalEvent(
                sequence=len(self.log) + 1,
                workspace=about.workspace,
                proposal_id=about.proposal_id if isinstance(about, Begun) else about.id,
                skill=about.skill,
                kind=kind,
                revision=about.revision,
                at=about.at if isinstance(about, Begun) else about.updated_at,
                note=note,
                by=by,
            )
        )
