"""What reaches a skill's files: a proposal that is applied, and the way back.

A write is noted in the store before it begins and struck out when it is recorded, all of it under
the skill's lock. So a note that is found while nobody holds the lock tells of a write that was cut
off, and the files say whether it lasted.

From one state of a proposal to the next: which moves are allowed, and who was first.

The store decides between two who move the same proposal at once; the loser is told.
"""

import logging
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace

from prowess.errors import (
    PathError,
    ProposalError,
    ProposalFolderError,
    ProposalInputError,
    ProposalNotFoundError,
    ProposalStaleError,
    ProposalStateError,
    ProposalUnsafeError,
    ProwessError,
    QuarantinedError,
    StaleChangeError,
    StoreError,
)
from prowess.runtime.workshop.drafts import Draft, Plan, draft_of, plan, refusal_of
from prowess.runtime.workshop.ports import (
    DEFAULT_LIMITS,
    SKILL_FILE,
    FolderLimits,
    KeptFolder,
    WorkshopTools,
    apply_change,
)
from prowess.safety.model import Finding, content_hash
from prowess.safety.paths import shown
from prowess.secrets.credentials import masked
from prowess.skills import frontmatter
from prowess.workshop.edit import Replace
from prowess.workshop.proposal import (
    ITSELF,
    NOBODY,
    Begun,
    By,
    Change,
    EventKind,
    Proposal,
    State,
    may_become,
    result_of,
    targets,
)

log = logging.getLogger("prowess.workshop")


class Moves:
    """Looks proposals up and moves them, for whoever makes or writes them."""

    def __init__(self, tools: WorkshopTools) -> None:
        self._tools = tools

    def get(self, workspace: str, proposal_id: str) -> Proposal:
        """Return one proposal of a workspace.

        Raises:
            ProposalNotFoundError: there is none of that id.
            StoreError: the store cannot be read.
        """
        found = self._tools.store.get(workspace, proposal_id)
        if found is None:
            raise ProposalNotFoundError(f"proposal not found: {shown(masked(proposal_id))}")
        return found

    def plan(self, draft: Draft, current: Mapping[str, bytes]) -> Plan:
        """Work out what a draft means for a skill with these files.

        Raises:
            ProposalError: it cannot be done.
        """
        most = self._tools.settings().max_skill_bytes
        return plan(draft, current, scan=self._tools.scan, max_bytes=most)

    def move(
        self, was: Proposal, now: Proposal, state: State, note: str = "", by: By = NOBODY
    ) -> Proposal:
        """Keep `now` in place of `was`, in another state or revised.

        Raises:
            ProposalStateError: that move is not allowed, or somebody else was first.
            StoreError: it cannot be kept.
        """
        check(was, state)
        decision = "" if state is State.PENDING else note
        now = replace(now, state=state, updated_at=self._tools.now(), decision=decision)
        kind = EventKind(_done(state))
        if not self._tools.store.change(was, now, kind, note, by):
            latest = self.get(was.workspace, was.id)
            raise ProposalStateError(latest.state.value, _done(state))
        say(kind.value, now)
        return now

    def follow(self, written: Proposal, current: Mapping[str, bytes]) -> None:
        """Work out the other pending changes of a skill anew: we know what changed, we did it."""
        for other in self._tools.store.listed(written.workspace, State.PENDING):
            if other.skill == written.skill and other.id != written.id:
                # Somebody may decide about it at this moment, and that counts.
                with suppress(ProposalStateError):
                    self.work_out_again(other, current, f"after {written.id}", ITSELF)

    def work_out_again(
        self, other: Proposal, current: Mapping[str, bytes], note: str, by: By
    ) -> Proposal:
        """Keep what a pending proposal means for a skill with these files; stale where nothing.

        Raises:
            ProposalStateError: it is not pending, or somebody decided about it meanwhile.
            StoreError: it cannot be kept.
        """
        try:
            planned = self.plan(draft_of(other), current)
        except ProposalError as error:
            return self.move(other, other, State.STALE, misfit(other, current, error), by)
        state = State.PENDING if planned.is_safe else State.QUARANTINED
        return self.move(other, planned.revise(other), state, note, by)


def check(proposal: Proposal, wanted: State, revision: str = "") -> None:
    """Refuse a move that the state does not allow, or a revision that is not the one seen.

    Raises:
        ProposalStateError: the state does not allow it.
        ProposalStaleError: it is another revision; both are named.
    """
    if not may_become(proposal.state, wanted):
        raise ProposalStateError(proposal.state.value, _done(wanted))
    check_revision(proposal, revision)


def check_revision(proposal: Proposal, revision: str) -> None:
    """Refuse a revision that is not the one seen; an empty one says that nobody looked.

    Raises:
        ProposalStaleError: it is another; both are named.
    """
    if revision and revision != proposal.revision:
        problem = "the proposal is not the one that was reviewed"
        raise ProposalStaleError(proposal.id, problem, expected=revision, found=proposal.revision)


def say(what: str, proposal: Proposal) -> None:
    """Log what became of a proposal, in the words of the contract."""
    log.info(
        "skill-workshop: %s %s",
        what,
        proposal.skill,
        extra={"proposal": proposal.id, "revision": proposal.revision},
    )


def _done(wanted: State) -> str:
    return EventKind.REVISED.value if wanted is State.PENDING else wanted.value


def misfit(proposal: Proposal, current: Mapping[str, bytes], error: ProposalError) -> str:
    """Return why a change has no place in a skill, in words for whoever never saw the code."""
    edit, page = proposal.edit, current.get(SKILL_FILE)
    if isinstance(edit, Replace) and page is not None:
        lines = "\n".join(edit.old_text.splitlines())
        if lines not in frontmatter.decode(page).text:
            return "the text that it replaces is no longer there"
    return str(error)


_LASTED = "it had been cut off after the last step: the skill has it"
_LOST = "it had been cut off: the skill is as it was"
_ALONE = "it had been cut off after the last step: the skill has it, the proposal is gone"


class ProposalWrites:
    """Applies proposals and rolls them back, for every workspace."""

    def __init__(self, tools: WorkshopTools, moves: Moves) -> None:
        self._tools, self._moves = tools, moves

    def apply(
        self, proposal: Proposal, revision: str = "", note: str = "", by: By = NOBODY
    ) -> Proposal:
        """Write a pending proposal, as it is stored now, to its skill.

        Raises:
            ProposalStateError: it is not pending.
            ProposalStaleError: it, or the skill, is not what was reviewed.
            ProposalUnsafeError: the scanner refuses it now.
            ProposalFolderError: the skill cannot be read or written.
            StoreError: the store cannot be used.
        """
        with self.held(proposal) as folder:
            latest = self._moves.get(proposal.workspace, proposal.id)
            check(latest, State.APPLIED, revision)
            try:
                done = apply_change(
                    latest.change,
                    reviewed_hash=latest.revision,
                    base_hash=latest.base_hash,
                    folder=self._noting(folder, latest, EventKind.APPLIED),
                    scan=lambda files: self._tools.scan(latest.skill, files),
                )
            except StaleChangeError as error:
                return self._went_stale(latest, folder, error, by)
            except QuarantinedError as error:
                findings = tuple(found for found in error.findings if isinstance(found, Finding))
                now = replace(latest, findings=findings, quarantine_reason=error.problem)
                self._moves.move(latest, now, State.QUARANTINED, by=ITSELF)
                raise ProposalUnsafeError(str(error)) from error
            return self._was_applied(replace(latest, backup=done.backup), folder, note, by)

    def rollback(
        self, proposal: Proposal, revision: str = "", note: str = "", by: By = NOBODY
    ) -> Proposal:
        """Bring back what the last change of a skill replaced; the proposal is pending again.

        Raises:
            ProposalStateError: it is not applied.
            ProposalInputError: another one was applied after it.
            ProposalStaleError: it is not the revision that was seen, or the skill changed since.
            ProposalUnsafeError: the scanner refuses what would come back.
            ProposalFolderError: what it replaced is not kept, or the skill cannot be written.
            StoreError: the store cannot be used.
        """
        with self.held(proposal) as folder:
            latest = self._moves.get(proposal.workspace, proposal.id)
            self._check_last(latest, revision)
            current, old = folder.read_all(), self._replaced(latest, folder)
            _check_unchanged(latest, current)
            result = result_of(current, Change(latest.skill, old))
            self._check_result(latest, result)
            noting = self._noting(folder, latest, EventKind.ROLLED_BACK)
            try:
                noting.apply(old, content_hash(current))
            except StaleChangeError as error:
                raise _changed(latest, error.problem, error.expected, error.found) from error
            return self._was_rolled_back(latest, result, note, by)

    def settle(self, workspace: str) -> None:
        """Bring record and files together wherever a write was cut off, as far as that is possible.

        Raises:
            StoreError: the store cannot be read.
        """
        for skill in dict.fromkeys(
            begun.skill for begun in self._tools.store.unfinished(workspace)
        ):
            try:
                folder = self._tools.folder(workspace, skill)
                # Whoever is at it right now holds the lock, and strikes the note out by itself.
                with folder.lock():
                    self._settle(workspace, folder)
            except (PathError, ProposalError, StoreError) as error:
                # Others must not suffer from it, nor those who only read; a writer is told.
                log.warning("skill-workshop: %s cannot be settled: %s", skill, error)

    def _settle(self, workspace: str, folder: KeptFolder) -> None:
        for begun in self._tools.store.unfinished(workspace):
            if begun.skill == folder.name:
                self._conclude(begun, folder)

    def _conclude(self, begun: Begun, folder: KeptFolder) -> None:
        found = self._tools.store.get(begun.workspace, begun.proposal_id)
        files = folder.read_all()
        if found is None or not begun.is_done(files):
            note = _ALONE if begun.is_done(files) else _LOST
            self._tools.store.abandon(begun, self._tools.now(), note)
            log.warning("skill-workshop: interrupted %s: %s", begun.skill, note)
        elif begun.kind is EventKind.APPLIED:
            backup = folder.last_change(found.change.files)
            self._was_applied(replace(found, backup=backup), folder, _LASTED, ITSELF)
        else:
            self._was_rolled_back(found, files, _LASTED, ITSELF)

    def held(self, proposal: Proposal) -> AbstractContextManager[KeptFolder]:
        """Hold the lock of a proposal's skill, with all that was cut off brought to an end.

        Raises:
            ProposalFolderError: the folder cannot be used.
            StoreError: the store cannot be used.
        """
        return self.held_skill(proposal.workspace, proposal.skill)

    @contextmanager
    def held_skill(self, workspace: str, skill: str) -> Iterator[KeptFolder]:
        """Hold the lock of a skill, with all that was cut off brought to an end.

        Raises:
            ProposalFolderError: the folder cannot be used.
            StoreError: the store cannot be used.
        """
        try:
            folder = self._tools.folder(workspace, skill)
            with folder.lock():
                self._settle(workspace, folder)
                yield folder
        except PathError as error:
            self._settle_after(workspace)
            raise ProposalFolderError(str(error)) from error
        except ProposalError:
            self._settle_after(workspace)
            raise

    def _settle_after(self, workspace: str) -> None:
        """Strike out the note of a write that failed; where that fails too, the next one does."""
        with suppress(ProwessError):
            self.settle(workspace)

    def _noting(self, folder: KeptFolder, proposal: Proposal, kind: EventKind) -> "_Noting":
        return _Noting(self._tools, folder, proposal, kind)

    def _was_applied(self, now: Proposal, folder: KeptFolder, note: str, by: By) -> Proposal:
        now = replace(now, state=State.APPLIED)
        done = self._recorded(now, EventKind.APPLIED, note, by)
        self._moves.follow(done, folder.read_all())
        return done

    def _was_rolled_back(
        self, proposal: Proposal, files: Mapping[str, bytes], note: str, by: By
    ) -> Proposal:
        # The same change fits again: the skill is what it was before.
        now = replace(proposal, state=State.PENDING, base_hash=content_hash(files))
        done = self._recorded(now, EventKind.ROLLED_BACK, note, by)
        self._moves.follow(done, files)
        return done

    def _recorded(self, now: Proposal, kind: EventKind, note: str, by: By) -> Proposal:
        """Keep what the files say by now, whatever came in between."""
        now = replace(now, updated_at=self._tools.now(), decision=note)
        expected = State.PENDING if kind is EventKind.APPLIED else State.APPLIED
        latest = self._moves.get(now.workspace, now.id)
        while not self._tools.store.change(latest, now, kind, _told(note, latest, expected), by):
            latest = self._moves.get(now.workspace, now.id)
        say(kind.value, now)
        self._tools.refresh()
        return now

    def _went_stale(
        self, proposal: Proposal, folder: KeptFolder, error: StaleChangeError, by: By
    ) -> Proposal:
        """Set a proposal aside, unless the skill already is what it would become."""
        current = folder.read_all()
        if current and result_of(current, proposal.change) == current:
            backup = folder.last_change(proposal.change.files)
            now = replace(proposal, backup=backup)
            return self._was_applied(now, folder, "was written before", by)
        # Whoever decided about it meanwhile was first; nothing is written here either way.
        with suppress(ProposalStateError):
            self._moves.move(proposal, proposal, State.STALE, error.problem, ITSELF)
        raise _another_skill(proposal, error.problem, error.expected, error.found) from error

    def _check_last(self, proposal: Proposal, revision: str) -> None:
        if proposal.state is not State.APPLIED:
            raise ProposalStateError(proposal.state.value, "rolled back")
        check_revision(proposal, revision)
        last = self._tools.store.applied(proposal.workspace, proposal.skill)[0]
        if last.id != proposal.id:
            raise ProposalInputError(
                f"{last.id} was applied to {proposal.skill} after {proposal.id}:"
                " roll that back first"
            )

    def _replaced(self, proposal: Proposal, folder: KeptFolder) -> Mapping[str, bytes | None]:
        try:
            if proposal.backup:
                return folder.previous(proposal.backup)
        except PathError as error:
            raise _not_kept(proposal) from error
        raise _not_kept(proposal)

    def _check_result(self, proposal: Proposal, result: Mapping[str, bytes]) -> None:
        if not result:
            return
        if SKILL_FILE not in result:
            others = ", ".join(sorted(result))
            raise ProposalInputError(
                f"{proposal.skill} did not exist before, and has other files by now ({others}):"
                " move them away first"
            )
        refusal = refusal_of(self._tools.scan(proposal.skill, result))
        if refusal:
            raise ProposalUnsafeError(
                f"unsafe skill content: {refusal} Nothing was written to {proposal.skill}:"
                " what it was before is refused now; edit it by hand."
            )


@dataclass(frozen=True, slots=True)
class _Noting:
    """A folder whose lock is held already, and whose writes are noted before they begin."""

    tools: WorkshopTools
    folder: KeptFolder
    proposal: Proposal
    kind: EventKind

    @property
    def name(self) -> str:
        return self.folder.name

    def lock(self) -> AbstractContextManager[None]:
        return nullcontext()

    def read_all(self, limits: FolderLimits = DEFAULT_LIMITS) -> Mapping[str, bytes]:
        return self.folder.read_all(limits)

    def apply(self, files: Mapping[str, bytes | None], expected: str) -> str:
        begun = Begun(
            workspace=self.proposal.workspace,
            proposal_id=self.proposal.id,
            skill=self.proposal.skill,
            kind=self.kind,
            revision=self.proposal.revision,
            at=self.tools.now(),
            target=targets(files),
        )
        self.tools.store.begin(begun)
        return self.folder.apply(files, expected)


def _told(note: str, latest: Proposal, expected: State) -> str:
    was = "" if latest.state is expected else f"was {latest.state.value}"
    return "; ".join(part for part in (note, was) if part)


def _check_unchanged(proposal: Proposal, current: Mapping[str, bytes]) -> None:
    """Refuse to take back what is no longer as it was written."""
    wrote = proposal.change.files
    theirs = sorted(path for path, body in wrote.items() if current.get(path) != body)
    if theirs:
        problem = f"{', '.join(theirs)} changed since it was applied"
        expected, found = (
            content_hash({path: body for path in theirs if (body := files.get(path)) is not None})
            for files in (wrote, current)
        )
        raise _changed(proposal, problem, expected, found)


def _changed(proposal: Proposal, problem: str, expected: str, found: str) -> ProposalStaleError:
    advice = f"{problem}; take that edit back, or edit {proposal.skill} by hand"
    return _another_skill(proposal, advice, expected, found)


def _another_skill(
    proposal: Proposal, problem: str, expected: str, found: str
) -> ProposalStaleError:
    return ProposalStaleError(proposal.id, problem, expected=expected, found=found, of_skill=True)


def _not_kept(proposal: Proposal) -> ProposalFolderError:
    return ProposalFolderError(
        f"what {proposal.id} replaced is no longer kept: edit {proposal.skill} by hand"
    )
