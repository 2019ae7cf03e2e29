"""From several traces of one goal to one proposal, and never to the same one twice.

A lesson is known by its procedure: more runs of the same task change its examples, not its hash.
When a later run does teach another procedure, it takes the place of what still waits, and what was
applied is changed only where nobody has changed it by hand since.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from prowess.errors import ProposalError
from prowess.learning.aligned_skill import LearnedSkill, learned_skill
from prowess.learning.alignment import Aligned, align
from prowess.learning.edit import Create, Edit, Replace
from prowess.learning.goals import FEWEST_TRACES, grouped
from prowess.learning.proposal import Proposal, Source, State
from prowess.learning.traces import Trace
from prowess.runtime.applying import SKILL_FILE
from prowess.runtime.drafts import Draft
from prowess.runtime.experience_ports import ExperienceTools, Lesson, LessonStatus

_WAITING = frozenset((State.PENDING, State.QUARANTINED))
_MOST_NAMES = 20
_OFF = "the workshop is off: `prowess workshop enable`, then build again"


class Lessons:
    """Proposes what several traces of one goal have in common."""

    def __init__(self, tools: ExperienceTools) -> None:
        self._tools = tools

    def learn(
        self, traces: Sequence[Trace], touched: frozenset[str], agent_id: str, *, dry_run: bool
    ) -> tuple[Lesson, ...]:
        """Return the lessons of the goals that any of the `touched` traces belongs to.

        Raises:
            StoreError: the store cannot be used.
        """
        return tuple(
            self._taught(aligned, skill, agent_id, dry_run=dry_run)
            for aligned, skill in self._found(traces)
            if touched & {trace.id for trace in aligned.traces}
        )

    def covered(self, traces: Sequence[Trace], agent_id: str) -> dict[str, str]:
        """Return which traces a skill was learned from that is in place, and its name.

        Raises:
            StoreError: the store cannot be read.
        """
        workspace = self._tools.workspace(agent_id)
        applied = {
            one.payload: one.skill
            for one in self._tools.proposed(workspace)
            if one.state is State.APPLIED and one.source is Source.EXPERIENCE
        }
        return {
            trace.id: applied[skill.payload]
            for aligned, skill in self._found(traces)
            if skill.payload in applied
            for trace in aligned.traces
        }

    def _found(self, traces: Sequence[Trace]) -> Iterator[tuple[Aligned, LearnedSkill]]:
        for group in grouped(traces, likeness=self._tools.likeness):
            if len(group) < FEWEST_TRACES:
                continue
            aligned = align(group)
            if aligned is not None:
                yield aligned, learned_skill(aligned)

    def _taught(
        self, aligned: Aligned, skill: LearnedSkill, agent_id: str, *, dry_run: bool
    ) -> Lesson:
        lesson = Lesson(aligned=aligned, skill=skill, status=LessonStatus.OFF, name=skill.name)
        workspace = self._tools.workspace(agent_id)
        others = [one for one in self._tools.proposed(workspace) if one.source is Source.EXPERIENCE]
        known = _known(skill, others)
        if known is not None:
            return _with(lesson, LessonStatus.KNOWN, known, f"it is {known.state} already")
        if not self._tools.workshop_enabled():
            return replace(lesson, reason=_OFF)
        try:
            return self._proposed(lesson, others, workspace, agent_id, dry_run=dry_run)
        except ProposalError as error:
            return replace(lesson, status=LessonStatus.REFUSED, reason=str(error))

    def _proposed(
        self,
        lesson: Lesson,
        others: Sequence[Proposal],
        workspace: str,
        agent_id: str,
        *,
        dry_run: bool,
    ) -> Lesson:
        skill = lesson.skill
        name, edit = self._place(skill, others, workspace)
        draft = Draft(
            skill=name,
            title=skill.title,
            reason=skill.reason,
            source=Source.EXPERIENCE,
            edit=edit,
            evidence=skill.evidence,
            agent_id=agent_id,
            payload=skill.payload,
        )
        found = self._tools.proposals.propose(workspace, draft)
        proposal = found.proposal
        if proposal.state is State.QUARANTINED:
            why = proposal.quarantine_reason
            return _with(lesson, LessonStatus.REFUSED, proposal, why)
        self._supersede(others, proposal)
        if dry_run:
            would = _with(lesson, LessonStatus.WOULD_PROPOSE, proposal)
            return replace(would, proposal=None)
        decided = self._tools.proposals.decide(proposal)
        return _with(lesson, LessonStatus.PROPOSED, decided)

    def _place(
        self, skill: LearnedSkill, others: Sequence[Proposal], workspace: str
    ) -> tuple[str, Edit]:
        """Return the name under which a lesson is kept, and what it changes there.

        Raises:
            ProposalError: the folder cannot be read, or every name is taken.
        """
        new = Create(description=skill.description, body=skill.body)
        learned = [one for one in others if one.skill == skill.name]
        applied = next((one for one in learned if one.state is State.APPLIED), None)
        if applied is not None:
            old = _text_of(applied.edit)
            current = self._tools.proposals.current(workspace, skill.name)
            page = current.get(SKILL_FILE, b"").decode(errors="replace")
            if old and old in page:
                return skill.name, Replace(old_text=old, new_text=skill.body.strip())
        waits = {one.skill for one in learned if one.state in _WAITING}
        for name in _names(skill.name):
            if name in waits or not self._tools.proposals.current(workspace, name):
                return name, new
        raise ProposalError(f"every name from {skill.name} on is taken: rename some skills")

    def _supersede(self, others: Sequence[Proposal], new: Proposal) -> None:
        """Refuse what waits for the same skill and was learned from fewer runs."""
        for old in others:
            if old.skill == new.skill and old.id != new.id and old.state is State.PENDING:
                note = f"learned anew from more runs: {new.id}"
                self._tools.proposals.reject(old, note=note)


def _known(skill: LearnedSkill, others: Sequence[Proposal]) -> Proposal | None:
    """Return the proposal by which this very lesson is known; one that is gone stale is none."""
    same = [one for one in others if one.payload == skill.payload and one.state is not State.STALE]
    order: Mapping[State, int] = {State.APPLIED: 0, State.PENDING: 1}
    return min(same, key=lambda one: order.get(one.state, len(order)), default=None)


def _with(
    lesson: Lesson, status: LessonStatus, proposal: Proposal | None, reason: str = ""
) -> Lesson:
    name = lesson.name if proposal is None else proposal.skill
    return replace(lesson, status=status, proposal=proposal, reason=reason, name=name)


def _text_of(edit: Edit | None) -> str:
    if isinstance(edit, Create):
        return edit.body.strip()
    return edit.new_text.strip() if isinstance(edit, Replace) else ""


def _names(name: str) -> Iterator[str]:
    yield name
    for number in range(2, _MOST_NAMES):
        yield f"{name[:60]}-{number}"
