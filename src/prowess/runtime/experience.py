"""Learning from traces: drafts of single ones, lessons of several, and a person's yes to a draft.

A draft is never shown to the model; promoting it is what a person does. A trace that was seen
before changes nothing, whatever became of its draft since, unless somebody asks for it again.

A lesson is known by its procedure: more runs of the same task change its examples, not its hash. It
is also known by its goal, which stays the same when what was constant begins to vary. So when later
runs teach another procedure, it takes the place of what still waits for the same goal, what was
applied is changed only where nobody has changed it by hand since, and what a person rejected is not
brought up again in other words.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

from prowess.errors import DraftError, ProposalError
from prowess.experience.draft import find_cut_step, promote_draft
from prowess.experience.draft_facts import (
    DraftFacts,
    compare_drafts,
    is_untouched,
    make_strict_slug,
)
from prowess.experience.lessons.alignment import Aligned, align
from prowess.experience.lessons.goals import FEWEST_TRACES, group_traces
from prowess.experience.lessons.skill import LearnedSkill, tell_apart, write_skill
from prowess.experience.lessons.wording import GAP, describe_goal, make_skill_name, word_task
from prowess.experience.redaction import HIDDEN, remove_secrets
from prowess.language.corrections import is_question
from prowess.runtime.experience_drafts import (
    REPLAY_FILE,
    BuiltExperience,
    Cleaned,
    DraftFolder,
    DraftMaker,
    Drafts,
    DraftStatus,
    ExperienceLesson,
    ExperiencePorts,
    KnownDraft,
    LessonStatus,
    Progress,
    Promoted,
    RemovedDraft,
    ShelvedDraft,
    TrashedDraft,
    read_shelved_facts,
)
from prowess.runtime.workshop.drafts import Draft
from prowess.runtime.workshop.ports import SKILL_FILE
from prowess.safety.paths import shown
from prowess.skills.model import Document, Severity, Tier
from prowess.skills.model import Source as SkillSource
from prowess.skills.validation import validate
from prowess.transcripts.traces import Trace
from prowess.workshop.edit import Create, Edit, Replace, new_skill
from prowess.workshop.proposal import (
    ITSELF,
    LESSON,
    Proposal,
    ProposalSource,
    State,
    result_of,
    skill_name,
)

_MOST_NAMES = 20
_OFF = "the workshop is off: `prowess workshop enable`, then build again"


class Lessons:
    """Proposes what several traces of one goal have in common."""

    def __init__(self, ports: ExperiencePorts) -> None:
        self._ports = ports

    def learn(
        self, traces: Sequence[Trace], touched: frozenset[str], agent_id: str, *, dry_run: bool
    ) -> tuple[ExperienceLesson, ...]:
        """Return the lessons of the goals that any of the `touched` traces belongs to.

        Raises:
            StoreError: the store cannot be used.
        """
        return tuple(
            self._teach(aligned, skill, agent_id, dry_run=dry_run)
            for aligned, skill in self._find_lessons(traces)
            if touched & {trace.id for trace in aligned.traces}
        )

    def find_covered(self, traces: Sequence[Trace], agent_id: str) -> dict[str, str]:
        """Return which traces a skill was learned from that is in place, and its name.

        Raises:
            StoreError: the store cannot be read.
        """
        workspace = self._ports.workspace(agent_id)
        applied = {
            one.payload: one.skill
            for one in self._ports.proposed(workspace)
            if one.state is State.APPLIED and one.source is ProposalSource.EXPERIENCE
        }
        return {
            trace.id: applied[skill.payload]
            for aligned, skill in self._find_lessons(traces)
            if skill.payload in applied
            for trace in aligned.traces
        }

    def _find_lessons(self, traces: Sequence[Trace]) -> Iterator[tuple[Aligned, LearnedSkill]]:
        done = [trace for trace in traces if not is_question(trace.task)]
        groups = group_traces(done, likeness=self._ports.likeness)
        found = [align(group) for group in groups if len(group) >= FEWEST_TRACES]
        learned = [one for one in found if one is not None]
        return zip(learned, tell_apart([write_skill(one) for one in learned]), strict=True)

    def _teach(
        self, aligned: Aligned, skill: LearnedSkill, agent_id: str, *, dry_run: bool
    ) -> ExperienceLesson:
        lesson = ExperienceLesson(
            aligned=aligned, skill=skill, status=LessonStatus.OFF, name=skill.name
        )
        workspace = self._ports.workspace(agent_id)
        others = [
            one
            for one in self._ports.proposed(workspace)
            if one.source is ProposalSource.EXPERIENCE
        ]
        known = _find_known(skill, others)
        if known is not None:
            return _conclude(lesson, LessonStatus.KNOWN, known, f"it is {known.state} already")
        if not self._ports.workshop_enabled():
            return replace(lesson, reason=_OFF)
        try:
            return self._propose(lesson, others, workspace, agent_id, dry_run=dry_run)
        except ProposalError as error:
            return replace(lesson, status=LessonStatus.REFUSED, reason=str(error))

    def _propose(
        self,
        lesson: ExperienceLesson,
        others: Sequence[Proposal],
        workspace: str,
        agent_id: str,
        *,
        dry_run: bool,
    ) -> ExperienceLesson:
        skill = lesson.skill
        name, edit = self._choose_place(skill, others, workspace, agent_id)
        draft = Draft(
            skill=name,
            title=skill.title,
            reason=skill.reason,
            source=ProposalSource.EXPERIENCE,
            edit=edit,
            evidence=skill.evidence,
            agent_id=agent_id,
            lesson=_make_lesson_id(skill),
            payload=skill.payload,
        )
        found = self._ports.proposals.propose(workspace, draft)
        proposal = found.proposal
        if proposal.state is State.QUARANTINED:
            why = proposal.quarantine_reason
            return _conclude(lesson, LessonStatus.REFUSED, proposal, why)
        if dry_run:
            would = _conclude(lesson, LessonStatus.WOULD_PROPOSE, proposal)
            return replace(would, proposal=None)
        self._supersede(_find_same_goal(skill, others), proposal)
        decided = self._ports.proposals.decide(proposal)
        return _conclude(lesson, LessonStatus.PROPOSED, decided)

    def _choose_place(
        self, skill: LearnedSkill, others: Sequence[Proposal], workspace: str, agent_id: str
    ) -> tuple[str, Edit]:
        """Return the name under which a lesson is kept, and what it changes there.

        Raises:
            ProposalError: the folder cannot be read, or every name is taken.
        """
        new = Create(description=skill.description, body=skill.body)
        learned = _find_same_goal(skill, others)
        for applied in (one for one in learned if one.state is State.APPLIED):
            old = _read_text(applied.edit)
            current = self._ports.proposals.current(workspace, applied.skill)
            page = current.get(SKILL_FILE, b"").decode(errors="replace")
            if old and old in page:
                return applied.skill, Replace(old_text=old, new_text=skill.body.strip())
        for name in _try_names(skill.name):
            taken = self._ports.proposals.current(workspace, name)
            if not taken and not self._ports.elsewhere(name, agent_id):
                return name, new
        raise ProposalError(f"every name from {skill.name} on is taken: rename some skills")

    def _supersede(self, others: Sequence[Proposal], new: Proposal) -> None:
        """Refuse what waits for the same goal and was learned from fewer runs."""
        for old in others:
            if old.id != new.id and old.state is State.PENDING:
                note = f"learned anew from more runs: {new.id}"
                self._ports.proposals.reject(old, note=note, by=ITSELF)


def _find_known(skill: LearnedSkill, others: Sequence[Proposal]) -> Proposal | None:
    """Return the proposal by which this very lesson is known; one that is gone stale is none."""
    same = [one for one in others if one.payload == skill.payload and one.state is not State.STALE]
    # Whatever the words: a person has said no to this goal, and for good.
    same += [one for one in _find_same_goal(skill, others) if one.for_good]
    order: Mapping[State, int] = {State.APPLIED: 0, State.PENDING: 1}
    return min(same, key=lambda one: order.get(one.state, len(order)), default=None)


def _make_lesson_id(skill: LearnedSkill) -> str:
    """Return what all proposals of one goal have in common, whatever they are called."""
    return f"{LESSON}{skill.goal_key[:16]}"


def _find_same_goal(skill: LearnedSkill, others: Sequence[Proposal]) -> list[Proposal]:
    """Return what was proposed for the same goal: known by what it does, or by what it is called.

    A step that is new changes the first, a value that begins to vary the second.
    """
    lesson = _make_lesson_id(skill)
    # A draft that a person promoted is no lesson, whatever it is called.
    lessons = [one for one in others if one.lesson]
    return [one for one in lessons if one.lesson == lesson or one.skill == skill.name]


def _conclude(
    lesson: ExperienceLesson, status: LessonStatus, proposal: Proposal | None, reason: str = ""
) -> ExperienceLesson:
    name = lesson.name if proposal is None else proposal.skill
    return replace(lesson, status=status, proposal=proposal, reason=reason, name=name)


def _read_text(edit: Edit | None) -> str:
    if isinstance(edit, Create):
        return edit.body.strip()
    return edit.new_text.strip() if isinstance(edit, Replace) else ""


def _try_names(name: str) -> Iterator[str]:
    yield name
    for number in range(2, _MOST_NAMES):
        yield f"{name[:60]}-{number}"


_MOST_TITLE, _MOST_NAMED = 150, 5
WITH_DRAFT = "its draft goes"


class ExperienceService:
    """Makes drafts and lessons of traces, for every agent."""

    def __init__(self, ports: ExperiencePorts) -> None:
        self._ports = ports
        self._lessons = Lessons(ports)

    def build(
        self,
        traces: Sequence[Trace],
        *,
        agent_id: str = "",
        again: bool = False,
        dry_run: bool = False,
        progress: Progress = lambda _what, _done, _total: None,
    ) -> BuiltExperience:
        """Make a draft of each trace that went well, and a proposal of each goal they share.

        Args:
            traces: what agents did; those that did not go well, or did nothing, are passed over.
            agent_id: whose workspace it is for.
            again: whether a trace that was seen before gets a draft anew.
            dry_run: whether everything is worked out and nothing is kept.
            progress: told how far it is.

        Raises:
            PathError: drafts cannot be read or written there.
            StoreError: the store cannot be used.
        """
        if not self._ports.enabled():
            return BuiltExperience(enabled=False)
        workspace = self._ports.workspace(agent_id)
        memory, shelf = self._ports.memory(workspace), self._ports.shelf(workspace)
        known = {trace.id: trace for trace in memory.all()}
        seen = frozenset[str]() if again else frozenset(known)
        with shelf.lock():
            maker = DraftMaker(self._ports, shelf, seen=seen, dry_run=dry_run)
            drafts = maker.make_drafts(_find_usable(traces), progress)
        learned = {d.trace.id: d.trace for d in drafts if d.status is not DraftStatus.REFUSED}
        for trace in () if dry_run else learned.values():
            memory.add(trace)
        with self._open_ports(dry_run=dry_run) as ports:
            heap = list({**known, **learned}.values())
            lessons = Lessons(ports).learn(heap, frozenset(learned), agent_id, dry_run=dry_run)
        if not dry_run:
            self._ports.refresh()
        return BuiltExperience(enabled=True, drafts=drafts, lessons=lessons)

    def list(self, *, agent_id: str = "") -> Drafts:
        """Return the drafts of a workspace, newest first.

        Raises:
            PathError: they cannot be read.
        """
        shelf = self._ports.shelf(self._ports.workspace(agent_id))
        known = tuple(_describe(draft) for draft in shelf.listed())
        return Drafts(known=known, problems=tuple(shelf.problems))

    def promote(
        self, draft_id: str, *, name: str | None = None, agent_id: str = "", dry_run: bool = False
    ) -> Promoted:
        """Turn a draft into a skill, which a person asks for who has read it.

        The draft goes to the trash, and the skill has a history: it can be rolled back.

        Raises:
            DraftError: there is no such draft, its name is taken, or the scanner refuses it.
            ProposalError: it cannot be written.
            PathError: it cannot be read.
            StoreError: the store cannot be used.
        """
        workspace = self._ports.workspace(agent_id)
        shelf = self._ports.shelf(workspace)
        with shelf.lock():
            found = _find_draft(shelf.listed(), draft_id)
            if step := find_cut_step(found.text):
                raise DraftError(
                    f"{found.stem} was not promoted: what step {step} does is cut off (`...`)."
                    f" Write all of it into {found.path}, then promote it again."
                )
            draft = self._draft_skill(found, name, agent_id)
            made = self._find_promoted(workspace, draft)
            if made is None:
                self._refuse_taken(workspace, draft.skill, agent_id)
                with self._open_ports(dry_run=dry_run) as ports:
                    made = ports.proposals.propose(workspace, draft).proposal
            if made.state is State.QUARANTINED:
                why = made.quarantine_reason
                raise DraftError(f"{found.stem} was not promoted: the scanner refuses it: {why}")
            path = "/".join((workspace.rstrip("/"), "skills", draft.skill, SKILL_FILE))
            answer = Promoted(draft=found.stem, skill=draft.skill, path=path, dry_run=dry_run)
            if dry_run:
                return answer
            is_done = made.state is State.APPLIED
            applied = made if is_done else self._ports.proposals.apply(made)
            trash = shelf.remove(found, now=self._ports.now())
        self._ports.refresh()
        return replace(answer, proposal=applied, trash=trash)

    def _open_ports(self, *, dry_run: bool) -> AbstractContextManager[ExperiencePorts]:
        """Return the world to propose in: a dry run keeps nothing, whoever asks for it."""
        return self._ports.rehearse() if dry_run else nullcontext(self._ports)

    def _find_promoted(self, workspace: str, draft: Draft) -> Proposal | None:
        """Return the proposal by which this very draft became a skill, and was cut off then."""
        there = self._ports.proposals.current(workspace, draft.skill)
        if not there:
            return None
        self._ports.proposals.settle(workspace)
        for made in self._ports.proposed(workspace):
            is_same = made.state is State.APPLIED and made.payload == draft.wish
            if is_same and result_of(there, made.change) == there:
                return made
        return None

    def _refuse_taken(self, workspace: str, name: str, agent_id: str) -> None:
        """Refuse a name that another skill has, wherever it lies: it would be hidden by this one.

        Raises:
            DraftError: it is taken.
        """
        there = self._ports.proposals.current(workspace, name)
        other = "this workspace" if there else self._ports.elsewhere(name, agent_id)
        if other:
            raise DraftError(f"there is a skill {name} already ({other}): choose another --name")

    def _draft_skill(self, found: ShelvedDraft, name: str | None, agent_id: str) -> Draft:
        task = read_shelved_facts(found).task
        worded = word_task(task.replace(HIDDEN, GAP))
        called = make_skill_name(worded.phrase) if task else make_strict_slug(task)
        skill = skill_name(called if name is None else name, task)
        if name is not None and skill != name.strip().lower():
            raise DraftError(f"a skill cannot be called {shown(name)}: try --name {skill}")
        replay = REPLAY_FILE if found.script_text else ""
        about = describe_goal(*worded) if task else ""
        description, body = promote_draft(found.text, name=skill, description=about, replay=replay)
        _check_standard(skill, description, body)
        return Draft(
            skill=skill,
            title=f"Promoted: {task or found.stem}"[:_MOST_TITLE],
            reason=f"A person promoted the draft {found.stem}",
            source=ProposalSource.EXPERIENCE,
            edit=Create(description=description, body=body),
            files={replay: found.script_text.encode()} if replay else {},
            agent_id=agent_id,
            compare=False,
        )

    def clean(self, *, agent_id: str = "", dry_run: bool = False) -> Cleaned:
        """Move drafts that are not needed any more to the trash.

        These are copies of newer drafts, drafts whose goal has become a skill, and scripts whose
        draft is gone. What somebody edited stays.

        Raises:
            PathError: something cannot be read or moved.
            StoreError: the store cannot be read.
        """
        workspace = self._ports.workspace(agent_id)
        shelf = self._ports.shelf(workspace)
        covered = self._lessons.find_covered(self._ports.memory(workspace).all(), agent_id)
        with shelf.lock():
            gone = tuple(_find_unneeded(shelf.listed(), covered))
            drafts, scripts = [], []
            for draft, why in gone:
                trash = "" if dry_run else shelf.remove(draft, now=self._ports.now())
                drafts.append(RemovedDraft(id=draft.stem, path=draft.path, why=why, trash=trash))
                if draft.script:
                    beside = RemovedDraft(
                        id=draft.stem, path=draft.script, why=WITH_DRAFT, trash=trash
                    )
                    scripts.append(beside)
            names = frozenset(draft.stem for draft, _ in gone)
            scripts += self._remove_orphans(shelf, names, dry_run=dry_run)
        return Cleaned(dry_run=dry_run, drafts=tuple(drafts), scripts=tuple(scripts))

    def _remove_orphans(
        self, shelf: DraftFolder, going: frozenset[str], *, dry_run: bool
    ) -> Iterator[RemovedDraft]:
        """Remove the scripts whose draft was gone before."""
        for path in shelf.orphan_scripts():
            name = path.rpartition("/")[2].removesuffix(".sh")
            if name not in going:
                trash = "" if dry_run else shelf.remove_script(path, now=self._ports.now())
                yield RemovedDraft(id=name, path=path, why="its draft is gone", trash=trash)

    def trashed(self, *, agent_id: str = "") -> Sequence[TrashedDraft]:
        """Return what was removed and can be brought back, newest first.

        Raises:
            PathError: the trash cannot be read.
        """
        return self._ports.shelf(self._ports.workspace(agent_id)).trashed()

    def restore(self, trash_id: str, *, agent_id: str = "") -> str:
        """Bring back what was removed, over nothing, and return where it is.

        Raises:
            PathError: it cannot be brought back.
            RemovalError: nothing of that id is in the trash.
        """
        shelf = self._ports.shelf(self._ports.workspace(agent_id))
        with shelf.lock():
            return shelf.restore(trash_id)


def _check_standard(name: str, description: str, body: str) -> None:
    """Refuse a skill that would not be one for every harness.

    Raises:
        DraftError: it breaks a rule of the standard; the message says which.
    """
    path = f"/{name}/{SKILL_FILE}"
    document = Document(
        source=SkillSource(tier=Tier.WORKSPACE, root="/"),
        path=path,
        folder=f"/{name}",
        content=new_skill(name, description, body),
    )
    wrong = [d for d in validate(document, strict=True).diagnostics if d.severity is Severity.ERROR]
    if wrong:
        raise DraftError(f"{name} would be no valid skill ({wrong[0].message}): {wrong[0].fix}")


def _find_usable(traces: Sequence[Trace]) -> list[Trace]:
    """Return the traces that something can be learned from, each once and without secrets."""
    found = (remove_secrets(trace) for trace in traces if trace.ok and trace.steps)
    return list({trace.id: trace for trace in found}.values())


def _describe(draft: ShelvedDraft) -> KnownDraft:
    return KnownDraft(
        id=draft.stem,
        path=draft.path,
        script=draft.script,
        facts=read_shelved_facts(draft),
        edited=not is_untouched(draft.text),
    )


def _find_draft(drafts: Sequence[ShelvedDraft], word: str) -> ShelvedDraft:
    """Return the draft of that id, or the only one whose id begins or ends so."""
    exact = [draft for draft in drafts if draft.stem == word]
    near = [d for d in drafts if word and (d.stem.startswith(word) or d.stem.endswith(f"-{word}"))]
    found = exact or near
    if len(found) == 1:
        return found[0]
    if not found:
        raise DraftError(f"no draft is called {word}: `prowess experience list` shows them")
    names = ", ".join(draft.stem for draft in found[:_MOST_NAMED])
    raise DraftError(f"{word} could be {names}: give more of the name")


def _find_unneeded(
    drafts: Sequence[ShelvedDraft], covered: Mapping[str, str]
) -> Iterator[tuple[ShelvedDraft, str]]:
    """Yield the drafts that nobody needs and why; of copies an edited one stays, else the newest.

    An edited draft is somebody's work, whatever it is a copy of.
    """
    kept: list[DraftFacts] = [read_shelved_facts(d) for d in drafts if not is_untouched(d.text)]
    for draft in drafts:
        facts = read_shelved_facts(draft)
        if not is_untouched(draft.text):
            continue
        why = next((why for one in kept if (why := compare_drafts(facts, one))), "")
        if facts.trace_id in covered:
            yield draft, f"the skill {covered[facts.trace_id]} was learned from it"
        elif why:
            yield draft, f"a copy of another draft, by its {why}"
        else:
            kept.append(facts)
