"""What reaches a skill's files: a proposal that is applied, and the way back.

Nothing that was stored about a change is believed. What counts is what the disk holds now, what the
change would make of it, and what the scanner says of that: two harmless additions can be one
attack, and a status in a file can be edited.

A write is noted in the store before it begins and struck out when it is recorded, all of it under
the skill's lock. So a note that is found while nobody holds the lock tells of a write that was cut
off, and the files say whether it lasted. The store decides between two who move the same proposal
at once; the loser is told.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from types import MappingProxyType

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
from prowess.runtime.workshop.drafts import Draft, Plan, check_result, draft_of, plan, refusal_of
from prowess.runtime.workshop.ports import SKILL_FILE, SkillFolderPort, WorkshopPorts
from prowess.safety.model import Finding, ScanReport
from prowess.safety.paths import content_hash, shown
from prowess.secrets.credentials import mask_credentials
from prowess.skills import frontmatter
from prowess.spans import Id, timed
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
    change_hash,
    digest_files,
    may_become,
    result_of,
)

log = logging.getLogger("prowess.workshop")

_LASTED = "it had been cut off after the last step: the skill has it"
_LOST = "it had been cut off: the skill is as it was"
_ALONE = "it had been cut off after the last step: the skill has it, the proposal is gone"
Files = Mapping[str, bytes | None]


_NOT_PENDING: Mapping[State, str] = MappingProxyType(
    {
        State.APPLIED: "it is applied already",
        State.REJECTED: "it was rejected",
        State.QUARANTINED: "it is quarantined: the scanner, or a person, keeps it from being used",
        State.STALE: "the skill changed since it was proposed",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """Why a proposal cannot be applied or rolled back; empty where it can."""

    apply_problem: str = ""
    rollback_problem: str = ""
    # Whether the skill is no longer what the change was made against.
    target_changed: bool = False
    # What the same wish means for a skill that changed; None where it has no place there any more.
    anew: Plan | None = None
    # Why a proposal whose skill changed cannot be brought up to date.
    update_problem: str = ""
    # By path: what the change replaced when it was applied; None for a file that was not there.
    replaced: Mapping[str, bytes | None] | None = None


def check_change(
    change: Change,
    *,
    reviewed_hash: str,
    base_hash: str,
    folder: SkillFolderPort,
    scan: Callable[[Mapping[str, bytes]], ScanReport],
) -> str:
    """Return the hash of a skill to which a change may be made right now.

    The caller holds the folder's lock, until the change is written.

    Raises:
        StaleChangeError: the skill or the change is not what was reviewed.
        QuarantinedError: the scanner refuses the skill that would come out, or could not read it.
        PathError: a path is not allowed, or a file cannot be read.
    """
    if folder.name != change.skill:
        raise PathError(shown(change.skill), f"is not the skill of the folder {folder.name}.")
    current = folder.read_all()
    before = content_hash(current)
    if before != base_hash:
        problem = "the skill changed since the change was made"
        raise StaleChangeError(change.skill, problem, expected=base_hash, found=before)
    result = result_of(current, change)
    report = scan(MappingProxyType(result))
    refusal = refusal_of(report)
    if refusal:
        problem = refusal if refusal.endswith(".") else f"{refusal}."
        raise QuarantinedError(change.skill, problem, report.findings)
    revision = change_hash(change)
    if revision != reviewed_hash:
        problem = "the change is not the one that was reviewed"
        raise StaleChangeError(change.skill, problem, expected=reviewed_hash, found=revision)
    check_result(change, result)
    return before


class ProposalWrites:
    """Looks proposals up, moves them, applies them and rolls them back, for every workspace.

    Every method raises `StoreError` where the store cannot be used.
    """

    def __init__(self, ports: WorkshopPorts) -> None:
        self._ports = ports

    def get(self, workspace: str, proposal_id: str) -> Proposal:
        """Return one proposal of a workspace.

        Raises:
            ProposalNotFoundError: there is none of that id.
        """
        found = self._ports.store.get(workspace, proposal_id)
        if found is None:
            named = shown(mask_credentials(proposal_id))
            raise ProposalNotFoundError(f"proposal not found: {named}")
        return found

    def plan(self, draft: Draft, current: Mapping[str, bytes]) -> Plan:
        """Work out what a draft means for a skill with these files.

        Raises:
            ProposalError: it cannot be done.
        """
        most = self._ports.settings().max_skill_bytes
        return plan(draft, current, scan=self._ports.scan, max_bytes=most)

    def move(
        self, was: Proposal, now: Proposal, state: State, note: str = "", by: By = NOBODY
    ) -> Proposal:
        """Keep `now` in place of `was`, in another state or revised.

        Raises:
            ProposalStateError: that move is not allowed, or somebody else was first.
        """
        check_move(was, state)
        decision = "" if state is State.PENDING else note
        now = replace(now, state=state, updated_at=self._ports.now(), decision=decision)
        kind = EventKind(_name_move(state))
        if not self._ports.store.change(was, now, kind, note, by):
            latest = self.get(was.workspace, was.id)
            raise ProposalStateError(latest.state.value, _name_move(state))
        log_move(kind.value, now)
        return now

    def work_out_again(
        self, other: Proposal, current: Mapping[str, bytes], note: str, by: By
    ) -> Proposal:
        """Keep what a pending proposal means for a skill with these files; stale where nothing.

        Raises:
            ProposalStateError: it is not pending, or somebody decided about it meanwhile.
        """
        try:
            planned = self.plan(draft_of(other), current)
        except ProposalError as error:
            return self.move(other, other, State.STALE, explain_misfit(other, current, error), by)
        state = State.PENDING if planned.is_safe else State.QUARANTINED
        return self.move(other, planned.revise(other), state, note, by)

    def apply(
        self, proposal: Proposal, revision: str = "", note: str = "", by: By = NOBODY
    ) -> Proposal:
        """Write a pending proposal, as it is stored now, to its skill.

        Raises:
            ProposalStateError: it is not pending.
            ProposalStaleError: it, or the skill, is not what was reviewed.
            ProposalUnsafeError: the scanner refuses it now.
            ProposalFolderError: the skill cannot be read or written.
        """
        ids: dict[str, Id] = {"skill": proposal.skill, "proposal": proposal.id}
        with timed(log, "apply", **ids), self.held(proposal) as folder:
            latest = self.get(proposal.workspace, proposal.id)
            check_move(latest, State.APPLIED, revision)
            try:
                before = check_change(
                    latest.change,
                    reviewed_hash=latest.revision,
                    base_hash=latest.base_hash,
                    folder=folder,
                    scan=lambda files: self._ports.scan(latest.skill, files),
                )
                self._begin(latest, EventKind.APPLIED, latest.change.files)
                backup = folder.apply(latest.change.files, before)
            except StaleChangeError as error:
                return self._set_aside(latest, folder, error, by)
            except QuarantinedError as error:
                findings = tuple(found for found in error.findings if isinstance(found, Finding))
                now = replace(latest, findings=findings, quarantine_reason=error.problem)
                self.move(latest, now, State.QUARANTINED, by=ITSELF)
                raise ProposalUnsafeError(str(error)) from error
            return self._finish_apply(replace(latest, backup=backup), folder, note, by)

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
        """
        with self.held(proposal) as folder:
            latest = self.get(proposal.workspace, proposal.id)
            self._check_last(latest, revision)
            current, old = folder.read_all(), _read_replaced(latest, folder)
            _check_unchanged(latest, current)
            result = result_of(current, Change(latest.skill, old))
            self._check_old(latest, result)
            self._begin(latest, EventKind.ROLLED_BACK, old)
            try:
                folder.apply(old, content_hash(current))
            except StaleChangeError as error:
                raise _explain_change(latest, error.problem, error.expected, error.found) from error
            return self._finish_rollback(latest, result, note, by)

    def settle(self, workspace: str) -> None:
        """Bring record and files together wherever a write was cut off, as far as is possible."""
        unfinished = self._ports.store.unfinished(workspace)
        for skill, place in dict.fromkeys((one.skill, self._find_place(one)) for one in unfinished):
            try:
                folder = self._ports.folder(workspace, skill, place)
                # Whoever is at it right now holds the lock, and strikes the note out by itself.
                with folder.lock():
                    self._settle_skill(workspace, folder, place)
            except (PathError, ProposalError, StoreError) as error:
                # Others must not suffer from it, nor those who only read; a writer is told.
                log.warning("skill-workshop: %s cannot be settled: %s", skill, error)

    def held(self, proposal: Proposal) -> AbstractContextManager[SkillFolderPort]:
        """Hold the lock of a proposal's skill, with all that was cut off brought to an end.

        Raises:
            ProposalFolderError: the folder cannot be used.
        """
        return self.held_skill(proposal.workspace, proposal.skill, proposal.place)

    @contextmanager
    def held_skill(self, workspace: str, skill: str, place: str) -> Iterator[SkillFolderPort]:
        """Hold the lock of a skill, with all that was cut off brought to an end.

        Raises:
            ProposalFolderError: the folder cannot be used.
        """
        try:
            folder = self._ports.folder(workspace, skill, place)
            with folder.lock():
                self._settle_skill(workspace, folder, place)
                yield folder
        except (PathError, ProposalError) as error:
            # Strike out the note of a write that failed; where that fails too, the next one does.
            with suppress(ProwessError):
                self.settle(workspace)
            if isinstance(error, PathError):
                raise ProposalFolderError(str(error)) from error
            raise

    def _find_place(self, begun: Begun) -> str:
        found = self._ports.store.get(begun.workspace, begun.proposal_id)
        return "" if found is None else found.place

    def _settle_skill(self, workspace: str, folder: SkillFolderPort, place: str) -> None:
        for begun in self._ports.store.unfinished(workspace):
            if begun.skill == folder.name and self._find_place(begun) == place:
                self._conclude(begun, folder)

    def _conclude(self, begun: Begun, folder: SkillFolderPort) -> None:
        found = self._ports.store.get(begun.workspace, begun.proposal_id)
        files = folder.read_all()
        if found is None or not begun.is_done(files):
            note = _ALONE if begun.is_done(files) else _LOST
            self._ports.store.abandon(begun, self._ports.now(), note)
            log.warning("skill-workshop: interrupted %s: %s", begun.skill, note)
        elif begun.kind is EventKind.APPLIED:
            backup = folder.last_change(found.change.files)
            self._finish_apply(replace(found, backup=backup), folder, _LASTED, ITSELF)
        else:
            self._finish_rollback(found, files, _LASTED, ITSELF)

    def _begin(self, proposal: Proposal, kind: EventKind, files: Files) -> None:
        """Note a write before it begins; without the note nothing must be written."""
        begun = Begun(
            workspace=proposal.workspace,
            proposal_id=proposal.id,
            skill=proposal.skill,
            kind=kind,
            revision=proposal.revision,
            at=self._ports.now(),
            target=digest_files(files),
        )
        self._ports.store.begin(begun)

    def _finish_apply(self, now: Proposal, folder: SkillFolderPort, note: str, by: By) -> Proposal:
        now = replace(now, state=State.APPLIED)
        done = self._record(now, EventKind.APPLIED, note, by)
        self._follow(done, folder.read_all())
        return done

    def _finish_rollback(
        self, proposal: Proposal, files: Mapping[str, bytes], note: str, by: By
    ) -> Proposal:
        # The same change fits again: the skill is what it was before.
        now = replace(proposal, state=State.PENDING, base_hash=content_hash(files))
        done = self._record(now, EventKind.ROLLED_BACK, note, by)
        self._follow(done, files)
        return done

    def _follow(self, written: Proposal, current: Mapping[str, bytes]) -> None:
        """Work out the other pending changes of a skill anew: we know what changed, we did it."""
        for other in self._ports.store.listed(written.workspace, State.PENDING):
            if other.skill == written.skill and other.id != written.id:
                # Somebody may decide about it at this moment, and that counts.
                with suppress(ProposalStateError):
                    self.work_out_again(other, current, f"after {written.id}", ITSELF)

    def _record(self, now: Proposal, kind: EventKind, note: str, by: By) -> Proposal:
        """Keep what the files say by now, whatever came in between."""
        now = replace(now, updated_at=self._ports.now(), decision=note)
        expected = State.PENDING if kind is EventKind.APPLIED else State.APPLIED
        while True:
            latest = self.get(now.workspace, now.id)
            was = "" if latest.state is expected else f"was {latest.state.value}"
            words = "; ".join(part for part in (note, was) if part)
            if self._ports.store.change(latest, now, kind, words, by):
                break
        log_move(kind.value, now)
        self._ports.refresh()
        return now

    def _set_aside(
        self, proposal: Proposal, folder: SkillFolderPort, error: StaleChangeError, by: By
    ) -> Proposal:
        """Set a proposal aside, unless the skill already is what it would become."""
        current = folder.read_all()
        if current and result_of(current, proposal.change) == current:
            backup = folder.last_change(proposal.change.files)
            now = replace(proposal, backup=backup)
            return self._finish_apply(now, folder, "was written before", by)
        # Whoever decided about it meanwhile was first; nothing is written here either way.
        with suppress(ProposalStateError):
            self.move(proposal, proposal, State.STALE, error.problem, ITSELF)
        raise _another_skill(proposal, error.problem, error.expected, error.found) from error

    def _check_last(self, proposal: Proposal, revision: str) -> None:
        if proposal.state is not State.APPLIED:
            raise ProposalStateError(proposal.state.value, "rolled back")
        check_revision(proposal, revision)
        last = self._ports.store.applied(proposal.workspace, proposal.skill)[0]
        if last.id != proposal.id:
            raise ProposalInputError(
                f"{last.id} was applied to {proposal.skill} after {proposal.id}:"
                " roll that back first"
            )

    def _check_old(self, proposal: Proposal, result: Mapping[str, bytes]) -> None:
        """Refuse to bring back what the scanner refuses, or files without their skill."""
        if not result:
            return
        if SKILL_FILE not in result:
            others = ", ".join(sorted(result))
            raise ProposalInputError(
                f"{proposal.skill} did not exist before, and has other files by now ({others}):"
                " move them away first"
            )
        refusal = refusal_of(self._ports.scan(proposal.skill, result))
        if refusal:
            raise ProposalUnsafeError(
                f"unsafe skill content: {refusal} Nothing was written to {proposal.skill}:"
                " what it was before is refused now; edit it by hand."
            )

    def outlook(self, proposal: Proposal, current: Mapping[str, bytes], off: str) -> Outlook:
        """Return what can be done with a proposal; `off` says why nothing may be written, if so."""
        is_applied = proposal.state is State.APPLIED
        changed = not is_applied and content_hash(current) != proposal.base_hash
        anew, why = self._work_out(proposal, current) if changed else (None, "")
        replaced = self._look_at_replaced(proposal)
        return Outlook(
            apply_problem=_NOT_PENDING.get(proposal.state)
            or off
            or (_NOT_PENDING[State.STALE] if changed else ""),
            rollback_problem=self._explain_no_rollback(proposal, current, replaced) or off,
            target_changed=changed,
            anew=anew,
            update_problem=_NOT_PENDING.get(proposal.state) or off or why,
            replaced=replaced,
        )

    def _work_out(
        self, proposal: Proposal, current: Mapping[str, bytes]
    ) -> tuple[Plan | None, str]:
        """Return what a proposal means for the skill of now, and what keeps it from being that."""
        try:
            found = self.plan(draft_of(proposal), current)
        except ProposalError as error:
            return None, explain_misfit(proposal, current, error)
        return found, f"the scanner refuses it now: {found.refusal}" if found.refusal else ""

    def _explain_no_rollback(
        self,
        proposal: Proposal,
        current: Mapping[str, bytes],
        replaced: Mapping[str, bytes | None] | None,
    ) -> str:
        if proposal.state is not State.APPLIED:
            return "it is not applied"
        if replaced is None:
            return "what it replaced is no longer kept"
        applied = self._ports.store.applied(proposal.workspace, proposal.skill)
        last = [one for one in applied if one.place == proposal.place]
        if last and last[0].id != proposal.id:
            return f"{last[0].id} was applied after it: roll that back first"
        theirs = find_edited(proposal, current)
        return f"{', '.join(theirs)} changed since it was applied" if theirs else ""

    def _look_at_replaced(self, proposal: Proposal) -> Mapping[str, bytes | None] | None:
        if proposal.state is not State.APPLIED or not proposal.backup:
            return None
        try:
            folder = self._ports.folder(proposal.workspace, proposal.skill, proposal.place)
            with folder.lock():
                return folder.previous(proposal.backup)
        except PathError:
            # Nothing is kept of it any more, which is an answer.
            return None


def check_move(proposal: Proposal, wanted: State, revision: str = "") -> None:
    """Refuse a move that the state does not allow, or a revision that is not the one seen.

    Raises:
        ProposalStateError: the state does not allow it.
        ProposalStaleError: it is another revision; both are named.
    """
    if not may_become(proposal.state, wanted):
        raise ProposalStateError(proposal.state.value, _name_move(wanted))
    check_revision(proposal, revision)


def check_revision(proposal: Proposal, revision: str) -> None:
    """Refuse a revision that is not the one seen; an empty one says that nobody looked.

    Raises:
        ProposalStaleError: it is another; both are named.
    """
    if revision and revision != proposal.revision:
        problem = "the proposal is not the one that was reviewed"
        raise ProposalStaleError(proposal.id, problem, expected=revision, found=proposal.revision)


def log_move(what: str, proposal: Proposal) -> None:
    """Log what became of a proposal, in the words of the contract."""
    ids = {"proposal": proposal.id, "revision": proposal.revision}
    log.info("skill-workshop: %s %s", what, proposal.skill, extra=ids)


def explain_misfit(proposal: Proposal, current: Mapping[str, bytes], error: ProposalError) -> str:
    """Return why a change has no place in a skill, in words for whoever never saw the code."""
    edit, page = proposal.edit, current.get(SKILL_FILE)
    if isinstance(edit, Replace) and page is not None:
        lines = "\n".join(edit.old_text.splitlines())
        if lines not in frontmatter.decode(page).text:
            return "the text that it replaces is no longer there"
    return str(error)


def find_edited(proposal: Proposal, current: Mapping[str, bytes]) -> list[str]:
    """Return the files that are no longer as an applied proposal wrote them."""
    wrote = proposal.change.files.items()
    return sorted(path for path, body in wrote if current.get(path) != body)


def _name_move(wanted: State) -> str:
    return EventKind.REVISED.value if wanted is State.PENDING else wanted.value


def _read_replaced(proposal: Proposal, folder: SkillFolderPort) -> Files:
    """Return what an applied proposal replaced.

    Raises:
        ProposalFolderError: it is not kept.
    """
    problem = f"what {proposal.id} replaced is no longer kept: edit {proposal.skill} by hand"
    if not proposal.backup:
        raise ProposalFolderError(problem)
    try:
        return folder.previous(proposal.backup)
    except PathError as error:
        raise ProposalFolderError(problem) from error


def _check_unchanged(proposal: Proposal, current: Mapping[str, bytes]) -> None:
    """Refuse to take back what is no longer as it was written."""
    theirs = find_edited(proposal, current)
    if theirs:
        problem = f"{', '.join(theirs)} changed since it was applied"
        expected, found = (
            content_hash({path: body for path in theirs if (body := files.get(path)) is not None})
            for files in (proposal.change.files, current)
        )
        raise _explain_change(proposal, problem, expected, found)


def _explain_change(
    proposal: Proposal, problem: str, expected: str, found: str
) -> ProposalStaleError:
    advice = f"{problem}; take that edit back, or edit {proposal.skill} by hand"
    return _another_skill(proposal, advice, expected, found)


def _another_skill(
    proposal: Proposal, problem: str, expected: str, found: str
) -> ProposalStaleError:
    return ProposalStaleError(proposal.id, problem, expected=expected, found=found, of_skill=True)
