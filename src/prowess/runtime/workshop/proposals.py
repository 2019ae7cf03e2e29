"""The life of a proposal: made, scanned, applied or rejected, and never in two states at once.

What is stored is what would be written, byte for byte. Applying believes none of it: the skill is
read again, scanned again and compared with what the proposal was made against.

While the workshop is switched off nothing is proposed, reworded, written or taken back, whoever
asks and over whichever edge. What waits can still be read, rejected and quarantined: a no writes
nothing. What a person wrote by hand, what would take the place of another skill, and what says
again what a person refused is a person's to decide, whatever the policy says.
"""

from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import NamedTuple

from prowess.errors import (
    PathError,
    ProposalFolderError,
    ProposalInputError,
    ProposalNotFoundError,
    WorkshopDisabledError,
)
from prowess.runtime.workshop.apply import Outlook, ProposalWrites, check_move, log_move
from prowess.runtime.workshop.drafts import (
    NOTHING_ELSE,
    Draft,
    Plan,
    Revision,
    check_note,
    check_words,
    draft_of,
    find_taken,
    refuse_overwriting,
    with_files,
)
from prowess.runtime.workshop.ports import SKILL_FILE, History, WorkshopPorts
from prowess.safety.paths import content_hash, shown
from prowess.safety.rules.table import find_executing
from prowess.secrets.credentials import mask_credentials, refuse_secrets
from prowess.settings import ApprovalPolicy
from prowess.workshop.edit import DEFAULT_SECTION, Append, Create, Edit, Replace, is_ours
from prowess.workshop.proposal import (
    DEFAULT_CAPS,
    NOBODY,
    By,
    Proposal,
    Similar,
    State,
    Subject,
    change_hash,
    find_known,
)
from prowess.workshop.similar import (
    Neighbour,
    as_addition,
    find_nearest,
    find_same,
    says_nearly,
    shares_subject,
)


def _find_new_words(proposal: Proposal) -> str:
    edit = proposal.edit
    if isinstance(edit, Replace):
        return edit.new_text
    if edit is not None:
        return edit.body
    bodies = (body for body in proposal.change.files.values() if body is not None)
    return "\n".join(body.decode(errors="replace") for body in bodies)


_RENEWED = "brought up to date"
_NOTHING_SAID = (
    "content: say what shall change: content, description, supportFiles, goal or evidence"
)
_MOST_EVENTS = 200
# No store counts further.
_HIGHEST = 1 << 63
_DECIDED_OR_WAITING = frozenset((State.PENDING, State.QUARANTINED, State.REJECTED))


def find_state(word: str) -> State:
    """Return the state of that name.

    Raises:
        ProposalInputError: there is none.
    """
    if word in set(State):
        return State(word)
    problem = f"unknown status: {quote(word)} (one of {', '.join(State)})"
    raise ProposalInputError(problem, field="status")


def quote(text: str) -> str:
    """Return a stranger's text fit for a message, which is shown, logged and given to a model."""
    return shown(mask_credentials(text))


def check_number(name: str, value: int) -> int:
    """Return a number that a log can have.

    Raises:
        ProposalInputError: it is none.
    """
    if 0 <= value < _HIGHEST:
        return value
    raise ProposalInputError(f"{name} must be a number from zero on that a log can have")


class ProposeResult(NamedTuple):
    """A proposal, and whether it is new or was there already."""

    proposal: Proposal
    is_new: bool
    # Whether it is somebody's proposal that was there before, with something added.
    joined: bool = False


class Proposals:
    """Makes proposals and decides about them, for every workspace.

    Every method raises `StoreError` where the store cannot be used.
    """

    def __init__(self, ports: WorkshopPorts, *, always_on: bool = False) -> None:
        """Open them; `always_on` is for a person who asks for a skill by other ways than these."""
        self._ports, self._always_on = ports, always_on
        self._writes = ProposalWrites(ports)

    @property
    def enabled(self) -> bool:
        """True where the operator switched the workshop on."""
        return self._always_on or self._ports.settings().active

    def require_enabled(self) -> None:
        """Refuse where nothing may be proposed or written.

        Raises:
            WorkshopDisabledError: the workshop is switched off.
        """
        if not self.enabled:
            raise WorkshopDisabledError

    def get(self, workspace: str, proposal_id: str) -> Proposal:
        """Return one proposal of a workspace.

        Raises:
            ProposalNotFoundError: there is none of that id.
        """
        self.settle(workspace)
        return self._writes.get(workspace, proposal_id)

    def settle(self, workspace: str) -> None:
        """Bring record and files together wherever a write was cut off."""
        self._writes.settle(workspace)

    @property
    def is_auto(self) -> bool:
        """True where what is safe is written at once."""
        return self._ports.settings().approval_policy is ApprovalPolicy.AUTO

    def needs_person(self, proposal: Proposal) -> str:
        """Return why nobody but a person may apply a proposal; empty where an agent may.

        Raises:
            ProposalFolderError: the skill cannot be read.
        """
        if self.is_auto and (warning := find_executing(proposal.findings)):
            return f"it carries a warning ({warning.message})"
        if proposal.place:
            return f"it is written to {proposal.root}"
        page = self.current(proposal.workspace, proposal.skill).get(SKILL_FILE)
        if page is not None:
            return "" if is_ours(page) else f"{proposal.skill} was written by hand"
        other = self._ports.elsewhere(proposal.skill, proposal.agent_id)
        return f"{proposal.skill} would shadow {other}" if other else ""

    def _is_like_a_rejected_one(self, proposal: Proposal) -> bool:
        text = _find_new_words(proposal)
        rejected = self._ports.store.listed(proposal.workspace, State.REJECTED)
        return any(one.for_good and says_nearly(text, _find_new_words(one)) for one in rejected)

    def propose(self, workspace: str, draft: Draft) -> ProposeResult:
        """Keep a draft as a proposal, pending or quarantined, or return the same one from before.

        Raises:
            ProposalError: it cannot be made; nothing was stored.
        """
        self.require_enabled()
        self.settle(workspace)
        check_words({"title": draft.title, "reason": draft.reason, "goal": draft.goal})
        similar = self._compare(draft, self.current(workspace, draft.skill, draft.place))
        draft = self._append_instead(workspace, draft, similar) or draft
        # Under the lock until it is kept: whoever writes next works out all that is kept anew.
        with self._writes.held_skill(workspace, draft.skill, draft.place) as folder:
            current = folder.read_all()
            draft = self._warn_of_shadow(workspace, draft, current)
            made = self._make(workspace, draft, self._writes.plan(draft, current), similar)
            caps = {**DEFAULT_CAPS, State.PENDING: self._ports.settings().max_pending}
            kept = self._ports.store.add(made, caps)
        if kept.id == made.id:
            log_move("queued" if kept.state is State.PENDING else "quarantined", kept)
        return ProposeResult(kept, kept.id == made.id)

    def _make(
        self, workspace: str, draft: Draft, planned: Plan, similar: tuple[Similar, ...]
    ) -> Proposal:
        at = self._ports.now()
        return Proposal(
            id=self._ports.new_id(draft.skill),
            revision=change_hash(planned.change),
            state=State.PENDING if planned.is_safe else State.QUARANTINED,
            created_at=at,
            updated_at=at,
            title=draft.title,
            reason=draft.reason,
            payload=draft.wish,
            # Whatever a program calls its session: it is no place for a key either.
            session_id=mask_credentials(draft.session_id),
            agent_id=draft.agent_id,
            workspace=workspace,
            source=draft.source,
            change=planned.change,
            edit=draft.edit,
            base_hash=planned.base_hash,
            findings=planned.report.findings,
            quarantine_reason=planned.refusal,
            evidence=draft.evidence,
            similar=similar,
            goal=draft.goal,
            lesson=draft.lesson,
            place=draft.place,
        )

    def decide(
        self, proposal: Proposal, *, apply: bool | None = None, by_person: bool = False
    ) -> Proposal:
        """Apply a pending proposal where that is wanted; without a wish the policy decides.

        What only a person may decide waits, whatever an agent wishes.

        Raises:
            ProposalError: it cannot be applied.
        """
        wanted = apply
        if apply is None:
            wanted = self.is_auto and not proposal.was_rolled_back
        if not wanted or proposal.state is not State.PENDING:
            return proposal
        # Without a wish nobody looked at it, whoever asked.
        if not (by_person and apply is not None) and (
            self.needs_person(proposal) or self._is_like_a_rejected_one(proposal)
        ):
            return proposal
        return self.apply(proposal, by=By(actor=proposal.source.actor))

    def apply(
        self, proposal: Proposal, revision: str = "", note: str = "", by: By = NOBODY
    ) -> Proposal:
        """Write a pending proposal to its skill.

        Args:
            proposal: what to apply.
            revision: the revision that was reviewed, if the caller says which.
            note: why, for the log.
            by: who does it.

        Raises:
            ProposalError: it cannot be applied.
        """
        self.require_enabled()
        check_note(note)
        return self._writes.apply(proposal, revision, note, by)

    def rollback(
        self, proposal: Proposal, revision: str = "", note: str = "", by: By = NOBODY
    ) -> Proposal:
        """Bring back what the last applied change of a skill replaced, for the reason in `note`.

        Raises:
            ProposalError: it cannot be rolled back.
        """
        self.require_enabled()
        check_note(note)
        return self._writes.rollback(proposal, revision, note, by)

    def last_applied(self, workspace: str, skill: str) -> Proposal:
        """Return what was applied to a skill last and still is.

        Raises:
            ProposalNotFoundError: nothing is.
        """
        found = self._ports.store.applied(workspace, skill)
        if not found:
            raise ProposalNotFoundError(f"nothing was applied to {skill}: nothing to roll back")
        return found[0]

    def revise(
        self,
        proposal: Proposal,
        edit: Edit | None,
        revision: str = "",
        more: Revision = NOTHING_ELSE,
        by: By = NOBODY,
    ) -> Proposal:
        """Put another edit in the place of a pending proposal's own, against the skill as it is.

        With `more`, other parts of it are replaced too.

        Raises:
            ProposalStateError: it is not pending.
            ProposalStaleError: it is not the revision that was seen.
            ProposalError: the edit cannot be made, or is known from another proposal.
        """
        self.require_enabled()
        with self._writes.held(proposal) as folder:
            latest = self._writes.get(proposal.workspace, proposal.id)
            check_move(latest, State.PENDING, revision)
            draft = more.of(replace(draft_of(latest), edit=edit))
            check_words({"reason": draft.reason, "goal": draft.goal})
            planned = self._writes.plan(draft, folder.read_all())
            now = replace(
                planned.revise(latest),
                edit=edit,
                reason=draft.reason,
                goal=draft.goal,
                evidence=draft.evidence,
            )
            renamed = replace(now, payload=replace(draft, payload="").wish)
            if not planned.is_safe:
                # What was asked for at first was good, and may be asked for again.
                return self._writes.move(latest, renamed, State.QUARANTINED, "revised", by)
            self._refuse_known(renamed)
            return self._writes.move(latest, now, State.PENDING, by=by)

    def renew(self, proposal: Proposal, revision: str = "", by: By = NOBODY) -> Proposal:
        """Work out anew what a pending proposal means: pending again, quarantined or stale.

        Raises:
            ProposalStateError: it is not pending.
            ProposalStaleError: it is not the revision that was seen.
            ProposalInputError: its skill did not change.
            ProposalFolderError: the skill cannot be read.
        """
        self.require_enabled()
        with self._writes.held(proposal) as folder:
            latest = self._writes.get(proposal.workspace, proposal.id)
            check_move(latest, State.PENDING, revision)
            current = folder.read_all()
            if content_hash(current) == latest.base_hash:
                raise ProposalInputError(_NOTHING_SAID, field="content")
            return self._writes.work_out_again(latest, current, _RENEWED, by)

    def reject(
        self,
        proposal: Proposal,
        revision: str = "",
        note: str = "",
        *,
        by_person: bool = False,
        by: By = NOBODY,
    ) -> Proposal:
        """Refuse a proposal, for the reason in `note`: the same one is not taken again.

        What a person refused is kept for good.

        Raises:
            ProposalStateError: it is neither pending nor quarantined.
            ProposalStaleError: it is not the revision that was seen.
        """
        check_move(proposal, State.REJECTED, revision)
        check_note(note)
        with ExitStack() as stack:
            # Whoever is writing it at this moment comes first; a folder that is broken, or none,
            # must not keep anybody from saying no.
            with suppress(ProposalFolderError):
                stack.enter_context(self._writes.held(proposal))
            latest = self._writes.get(proposal.workspace, proposal.id)
            check_move(latest, State.REJECTED, revision)
            now = replace(latest, for_good=by_person)
            return self._writes.move(latest, now, State.REJECTED, note, by)

    def quarantine(
        self, proposal: Proposal, revision: str = "", note: str = "", by: By = NOBODY
    ) -> Proposal:
        """Keep a pending proposal from ever being applied, for the reason in `note`.

        Raises:
            ProposalStateError: it is not pending.
            ProposalStaleError: it is not the revision that was seen.
        """
        check_move(proposal, State.QUARANTINED, revision)
        check_note(note)
        with self._writes.held(proposal):
            latest = self._writes.get(proposal.workspace, proposal.id)
            check_move(latest, State.QUARANTINED, revision)
            why = note or "somebody who reviewed it quarantined it"
            now = replace(latest, quarantine_reason=why)
            return self._writes.move(latest, now, State.QUARANTINED, note, by)

    def attach(self, workspace: str, draft: Draft, *, alone: bool = False) -> ProposeResult:
        """Add support files to what is proposed for a skill, or propose them for one that exists.

        With `alone` they never join what waits for a skill that exists: to write them must not
        write what somebody else proposed.

        Raises:
            ProposalError: they cannot be added; nothing was stored.
        """
        self.require_enabled()
        waiting = self._ports.store.listed(workspace, State.PENDING)
        host = next((one for one in waiting if one.skill == draft.skill), None)
        current = self.current(workspace, draft.skill, draft.place)
        exists = SKILL_FILE in current
        # A file that is replaced on purpose is shown as a difference of its own.
        if host is None or (exists and (alone or find_taken(draft.files, current))):
            if not exists:
                raise ProposalNotFoundError(f"skill does not exist: {draft.skill}")
            return self.propose(workspace, draft)
        check_words({"title": draft.title, "reason": draft.reason})
        refuse_secrets({"title": draft.title, "reason": draft.reason})
        with self._writes.held(host) as folder:
            latest = self._writes.get(workspace, host.id)
            both = with_files(latest, draft.files)
            planned = self._writes.plan(both, folder.read_all())
            if planned.is_safe:
                by = By(actor=draft.source.actor)
                revised = self._writes.move(latest, planned.revise(latest), State.PENDING, by=by)
                return ProposeResult(revised, is_new=True, joined=True)
        # What was good stays as it was, and the whole is kept as evidence.
        return self.propose(workspace, both)._replace(joined=True)

    def history(
        self,
        workspace: str,
        about: Subject,
        after: int = 0,
        *,
        knows: Callable[[str], bool] = lambda _skill: True,
    ) -> History:
        """Return what happened to a proposal, to a skill or at all, from a cursor on.

        Raises:
            ProposalInputError: no log counts that far.
            ProposalNotFoundError: nothing ever happened to that proposal.
        """
        store = self._ports.store
        most = _MOST_EVENTS + 1 if not about.skill or knows(about.skill) else 0
        found = store.events(workspace, check_number("after", after), most, about)
        page = found[:_MOST_EVENTS]
        events = tuple(one for one in page if knows(one.skill))
        if about.proposal_id and not events:
            # A proposal is for one skill, so its first event tells.
            first = store.events(workspace, 0, 1, about)
            if not any(knows(one.skill) for one in first):
                raise ProposalNotFoundError(f"proposal not found: {quote(about.proposal_id)}")
        is_more = len(found) > len(page)
        skill = about.skill or (events[0].skill if about.proposal_id and events else "")
        return History(
            events=events,
            # Of what is not told nothing is told, unless the rest lies behind it.
            cursor=max([after, *(one.sequence for one in (page if is_more else events))]),
            more=is_more,
            versions=store.applied(workspace, skill) if skill else (),
        )

    def current(self, workspace: str, skill: str, place: str = "") -> Mapping[str, bytes]:
        """Return every file of a skill; none where it does not exist.

        Raises:
            ProposalFolderError: it cannot be read.
        """
        try:
            folder = self._ports.folder(workspace, skill, place)
            # With the lock, a change that was cut off is taken back before anybody reads it.
            with folder.lock():
                return folder.read_all()
        except PathError as error:
            raise ProposalFolderError(str(error)) from error

    def outlook(self, proposal: Proposal, current: Mapping[str, bytes]) -> Outlook:
        """Return what can be done with a proposal whose skill has these files."""
        off = "" if self.enabled else "the workshop is switched off"
        return self._writes.outlook(proposal, current, off)

    def _compare(self, draft: Draft, current: Mapping[str, bytes]) -> tuple[Similar, ...]:
        """Return the skills that say nearly what a new one would say."""
        if not isinstance(draft.edit, Create) or not draft.compare or SKILL_FILE in current:
            return ()
        about, agent_id = draft.edit.description, draft.agent_id
        new = Neighbour(name=draft.skill, description=about, body=draft.edit.body)
        found = self._ports.neighbours(agent_id)
        knows = self._ports.sight_of(draft.source, agent_id)
        others = [one for one in found if one.name != draft.skill and knows(one.name)]
        if shares_subject(new, others):
            scores = self._ports.scores(f"{draft.title}. {about}", agent_id)
            others = [replace(other, score=scores.get(other.name, 0.0)) for other in others]
        return find_nearest(new, others)

    def _append_instead(
        self, workspace: str, draft: Draft, similar: tuple[Similar, ...]
    ) -> Draft | None:
        """Return a draft for the skill that says the same already, if one clearly does."""
        other = find_same(similar) if similar and not draft.overrule else None
        if other is None or not isinstance(draft.edit, Create):
            return None
        current = self.current(workspace, other.skill)
        page = current.get(SKILL_FILE, b"").decode(errors="replace")
        body = as_addition(draft.edit.body, page)
        if not page:
            return None
        if not body.strip():
            raise ProposalInputError(f"nothing to change: {other.skill} says this already")
        refuse_overwriting(other.skill, draft.files, current)
        why = f"append to {other.skill} instead: it says nearly the same ({other.score:.2f})"
        edit = Append(section=DEFAULT_SECTION, body=body)
        reason = f"{draft.reason}; {why}"
        return replace(draft, skill=other.skill, reason=reason, edit=edit, place="")

    def _warn_of_shadow(self, workspace: str, draft: Draft, current: Mapping[str, bytes]) -> Draft:
        """Return a draft with what whoever decides must know in its reason.

        Raises:
            ProposalNotFoundError: it changes a skill that lies where nothing is written.
        """
        if SKILL_FILE in current or draft.place:
            return draft
        other = self._ports.elsewhere(draft.skill, draft.agent_id)
        if not other:
            return draft
        if not isinstance(draft.edit, Create):
            raise ProposalNotFoundError(
                f"{draft.skill} is not in the skills folder of {workspace}: it lies at {other},"
                " and is not changed from here; make a new skill under another name"
            )
        return replace(draft, reason=f"{draft.reason}; shadows {other}")

    def _refuse_known(self, new: Proposal) -> None:
        """Refuse to turn a proposal into one that was decided about, or waits, already."""
        listed = self._ports.store.listed(new.workspace)
        others = [one for one in listed if one.id != new.id and one.state in _DECIDED_OR_WAITING]
        known = find_known(new, others)
        if known is not None:
            raise ProposalInputError(f"the same change is {known.state} already: {known.id}")
