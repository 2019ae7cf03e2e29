"""From several traces of one goal to one proposal, and never to the same one twice.

A lesson is known by its procedure: more runs of the same task change its examples, not its hash. It
is also known by its goal, which stays the same when what was constant begins to vary. So when later
runs teach another procedure, it takes the place of what still waits for the same goal, what was
applied is changed only where nobody has changed it by hand since, and what a person rejected is not
brought up again in other words.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from prowess.errors import ProposalError
from prowess.experience.lessons.alignment import Aligned, align
from prowess.experience.lessons.goals import FEWEST_TRACES, grouped
from prowess.experience.lessons.skill import LearnedSkill, learned_skill
from prowess.runtime.experience_ports import ExperienceTools, Lesson, LessonStatus
from prowess.runtime.workshop.applying import SKILL_FILE
from prowess.runtime.workshop.drafts import Draft
from prowess.transcripts.traces_part import Trace
from prowess.workshop.acts import ITSELF
from prowess.workshop.edit import Create, Edit, Replace
from prowess.workshop.proposal import LESSON, Proposal, Source, State

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
        name, edit = self._place(skill, others, workspace, agent_id)
        draft = Draft(
            skill=name,
            title=skill.title,
            reason=skill.reason,
            source=Source.EXPERIENCE,
            edit=edit,
            evidence=skill.evidence,
            agent_id=agent_id,
            lesson=_lesson_of(skill),
            payload=skill.payload,
        )
        found = self._tools.proposals.propose(workspace, draft)
        proposal = found.proposal
        if proposal.state is State.QUARANTINED:
            why = proposal.quarantine_reason
            return _with(lesson, LessonStatus.REFUSED, proposal, why)
        if dry_run:
            would = _with(lesson, LessonStatus.WOULD_PROPOSE, proposal)
            return replace(would, proposal=None)
        self._supersede(_of_goal(skill, others), proposal)
        decided = self._tools.proposals.decide(proposal)
        return _with(lesson, LessonStatus.PROPOSED, decided)

    def _place(
        self, skill: LearnedSkill, others: Sequence[Proposal], workspace: str, agent_id: str
    ) -> tuple[str, Edit]:
        """Return the name under which a lesson is kept, and what it changes there.

        Raises:
            ProposalError: the folder cannot be read, or every name is taken.
        """
        new = Create(description=skill.description, body=skill.body)
        learned = _of_goal(skill, others)
        for applied in (one for one in learned if one.state is State.APPLIED):
            old = _text_of(applied.edit)
            current = self._tools.proposals.current(workspace, applied.skill)
            page = current.get(SKILL_FILE, b"").decode(errors="replace")
            if old and old in page:
                return applied.skill, Replace(old_text=old, new_text=skill.body.strip())
        for name in _names(skill.name):
            taken = self._tools.proposals.current(workspace, name)
            if not taken and not self._tools.elsewhere(name, agent_id):
                return name, new
        raise ProposalError(f"every name from {skill.name} on is taken: rename some skills")

    def _supersede(self, others: Sequence[Proposal], new: Proposal) -> None:
        """Refuse what waits for the same goal and was learned from fewer runs."""
        for old in others:
            if old.id != new.id and old.state is State.PENDING:
                note = f"learned anew from more runs: {new.id}"
                self._tools.proposals.reject(old, note=note, by=ITSELF)


def _known(skill: LearnedSkill, others: Sequence[Proposal]) -> Proposal | None:
    """Return the proposal by which this very lesson is known; one that is gone stale is none."""
    same = [one for one in others if one.payload == skill.payload and one.state is not State.STALE]
    # Whatever the words: a person has said no to this goal, and for good.
    same += [one for one in _of_goal(skill, others) if one.for_good]
    order: Mapping[State, int] = {State.APPLIED: 0, State.PENDING: 1}
    return min(same, key=lambda one: order.get(one.state, len(order)), default=None)


def _lesson_of(skill: LearnedSkill) -> str:
    """Return what all proposals of one goal have in common, whatever they are called."""
    return f"{LESSON}{skill.goal_key[:16]}"


def _of_goal(skill: LearnedSkill, others: Sequence[Proposal]) -> list[Proposal]:
    """Return what was proposed for the same goal: known by what it does, or by what it is called.

    A step that is new changes the first, a value that begins to vary the second.
    """
    lesson = _lesson_of(skill)
    return [one for one in others if one.lesson == lesson or _is_called(one, skill.name)]


def _is_called(one: Proposal, name: str) -> bool:
    # A draft that a person promoted is no lesson, whatever it is called.
    return one.skill == name and bool(one.lesson)


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
