"""Calls of the workshop in a chat: before a skill changes, the person sees the change and is asked.

Whatever would write is split in two: first the proposal is queued, then the person sees what it
would change, and the yes holds for that revision alone. A proposal that became another one
meanwhile is refused by the workshop itself.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from prowess.agents.showing import NotShown, shown_change
from prowess.agents.tools import failure, workshop_call, workshop_text
from prowess.errors import (
    ProposalInputError,
    ProposalNotFoundError,
    ProposalStateError,
    ProwessError,
)
from prowess.runtime.run import AsyncRun
from prowess.runtime.workshop.proposal_moves import check, check_revision
from prowess.workshop.difference import Live, difference
from prowess.workshop.proposal import Proposal, State, skill_name

# What makes a proposal, and may write it at once.
_MAKING = frozenset({"suggest", "write_support_file"})
# What changes something that is there already.
_CHANGING = frozenset({"apply", "rollback", "revise"})
_REVISED = ("body", "section", "description", "oldText", "newText")
_NO = (
    "Error: the user did not allow this, and no skill was changed.{waits} Do not try it again: go"
    " on without it, or ask what to do instead."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """The skills of the workspace, as the workshop would find them."""

    # Reads a file by its path from the workspace on.
    live: Callable[[str], Live]
    # Whether the policy applies what is suggested without being asked to.
    applies: Callable[[], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a person is asked, and the call that their yes allows."""

    shown: str
    call: Mapping[str, Any]


class WorkshopCalls:
    """Answers calls whose arguments are checked already."""

    def __init__(
        self, run: AsyncRun, shelf: Shelf, allowed: Callable[[Question], Awaitable[bool]]
    ) -> None:
        self._run, self._shelf, self._allowed = run, shelf, allowed

    async def call(self, given: Mapping[str, Any]) -> str:
        """Do what a call asks for, once the person allowed whatever needs that."""
        action = given["action"]
        try:
            if action in _MAKING:
                return await self._make(given)
            if action in _CHANGING:
                return await self._change(given)
            return await asyncio.to_thread(self._told, given)
        except ProwessError as error:
            return failure(error)

    async def _make(self, given: Mapping[str, Any]) -> str:
        wanted = given.get("apply")
        queued = {**given, "apply": False}
        answer, proposal = await asyncio.to_thread(self._queued, queued)
        if wanted is None:
            wanted = await asyncio.to_thread(self._shelf.applies)
        if proposal.state is not State.PENDING or not wanted:
            return answer
        waits = f" The proposal {proposal.id} waits for the user."
        try:
            question = await asyncio.to_thread(to_apply, proposal, self._shelf)
        except NotShown as problem:
            return f"Error: the change {problem}, and was not applied.{waits}"
        if not await self._allowed(question):
            return _NO.format(waits=waits)
        return await self._approved(question)

    def _queued(self, given: Mapping[str, Any]) -> tuple[str, Proposal]:
        answer = workshop_call(self._run, given)
        made = answer.get("proposal")
        proposal_id = made.get("id") if isinstance(made, Mapping) else ""
        return workshop_text(answer), self._proposal(str(proposal_id))

    async def _change(self, given: Mapping[str, Any]) -> str:
        proposal = await asyncio.to_thread(self._named, given)
        _check(given, proposal)
        try:
            question = await asyncio.to_thread(to_change, given, proposal, self._shelf)
        except NotShown as problem:
            return f"Error: the change {problem}: leave it to the user, who can review it."
        if not await self._allowed(question):
            return _NO.format(waits="")
        return await self._approved(question)

    async def _approved(self, question: Question) -> str:
        return await asyncio.to_thread(self._told, question.call, by_person=True)

    def _told(self, given: Mapping[str, Any], *, by_person: bool = False) -> str:
        return workshop_text(workshop_call(self._run, given, by_person=by_person))

    def _named(self, given: Mapping[str, Any]) -> Proposal:
        name = str(given.get("skillName", "")).strip()
        if given["action"] != "rollback" or given.get("id") or not name:
            return self._proposal(str(given.get("id", "")).strip())
        skill = skill_name(name)
        applied = self._run.workshop.history(skill=skill, agent_id=self._run.agent_id).versions
        if not applied:
            raise ProposalNotFoundError(f"nothing was applied to {skill}: nothing to roll back")
        return applied[0]

    def _proposal(self, proposal_id: str) -> Proposal:
        if not proposal_id:
            raise ProposalInputError("id required")
        return self._run.workshop.inspect(proposal_id, agent_id=self._run.agent_id)


def to_apply(proposal: Proposal, shelf: Shelf) -> Question:
    """Return the question whether a proposal is written as it is now.

    Raises:
        NotShown: the change is too long to be judged.
    """
    shown = shown_change([_head("apply", proposal), *difference(proposal, shelf.live)])
    return Question(shown=shown, call=_bound("apply", proposal))


def to_change(given: Mapping[str, Any], proposal: Proposal, shelf: Shelf) -> Question:
    """Return the question that an apply, a rollback or a revision of `proposal` needs.

    Raises:
        NotShown: the change is too long to be judged.
    """
    if given["action"] == "apply":
        return to_apply(proposal, shelf)
    if given["action"] == "rollback":
        files = [f"- skills/{proposal.skill}/{path}" for path in proposal.change.files]
        said = "What these files were before it comes back:"
        shown = shown_change([_head("take back", proposal), said, *files])
        return Question(shown=shown, call=_bound("rollback", proposal))
    texts = {name: str(given[name]) for name in _REVISED if given.get(name)}
    lines = [f"+ {line}" for name in texts for line in f"{name}: {texts[name]}".split("\n")]
    shown = shown_change([_head("revise", proposal), *lines])
    return Question(shown=shown, call={**texts, **_bound("revise", proposal)})


def _check(given: Mapping[str, Any], proposal: Proposal) -> None:
    """Refuse what the workshop would refuse before anybody is asked."""
    revision = str(given.get("revision", "")).strip()
    if given["action"] != "rollback":
        wanted = State.APPLIED if given["action"] == "apply" else State.PENDING
        check(proposal, wanted, revision)
    elif proposal.state is not State.APPLIED:
        raise ProposalStateError(proposal.state.value, "rolled back")
    check_revision(proposal, revision)


def _bound(action: str, proposal: Proposal) -> dict[str, Any]:
    return {"action": action, "id": proposal.id, "revision": proposal.revision}


def _head(what: str, proposal: Proposal) -> str:
    title = " ".join(proposal.title.split())
    return f"{what} {proposal.id} for the skill {proposal.skill}: {title}"
