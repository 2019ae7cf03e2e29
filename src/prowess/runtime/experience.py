"""Learning from traces: drafts of single ones, lessons of several, and a person's yes to a draft.

A draft is never shown to the model; promoting it is what a person does. A trace that was seen
before changes nothing, whatever became of its draft since, unless somebody asks for it again.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

from prowess.errors import DraftError
from prowess.experience.draft_facts import DraftFacts, is_untouched, same_draft
from prowess.experience.draft_promotion import promoted
from prowess.experience.redaction import without_secrets
from prowess.experience.slugs import strict_slug
from prowess.runtime.experience_drafts import REPLAY_FILE, DraftMaker, Progress, facts_of
from prowess.runtime.experience_lessons import Lessons
from prowess.runtime.experience_ports import (
    Built,
    Cleaned,
    Drafts,
    DraftShelf,
    DraftStatus,
    ExperienceTools,
    KnownDraft,
    Promoted,
    Removed,
    ShelvedDraft,
    TrashedDraft,
)
from prowess.runtime.workshop.applying import SKILL_FILE
from prowess.runtime.workshop.drafts import Draft
from prowess.safety.paths import shown
from prowess.skills.model import Document, Severity, Source, Tier
from prowess.skills.validation import validate
from prowess.transcripts.traces_part import Trace
from prowess.workshop.edit import Create, new_skill
from prowess.workshop.proposal import Source as Proposer
from prowess.workshop.proposal import State, skill_name

_MOST_TITLE, _MOST_NAMED = 150, 5
WITH_DRAFT = "its draft goes"


class ExperienceService:
    """Makes drafts and lessons of traces, for every agent."""

    def __init__(self, tools: ExperienceTools) -> None:
        self._tools = tools
        self._lessons = Lessons(tools)

    def build(
        self,
        traces: Sequence[Trace],
        *,
        agent_id: str = "",
        again: bool = False,
        dry_run: bool = False,
        progress: Progress = lambda _what, _done, _total: None,
    ) -> Built:
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
        if not self._tools.enabled():
            return Built(enabled=False)
        workspace = self._tools.workspace(agent_id)
        memory, shelf = self._tools.memory(workspace), self._tools.shelf(workspace)
        known = {trace.id: trace for trace in memory.all()}
        seen = frozenset[str]() if again else frozenset(known)
        with shelf.lock():
            maker = DraftMaker(self._tools, shelf, seen=seen, dry_run=dry_run)
            drafts = maker.made(_usable(traces), progress)
        learned = {d.trace.id: d.trace for d in drafts if d.status is not DraftStatus.REFUSED}
        for trace in () if dry_run else learned.values():
            memory.add(trace)
        with self._acting(dry_run=dry_run) as tools:
            heap = list({**known, **learned}.values())
            lessons = Lessons(tools).learn(heap, frozenset(learned), agent_id, dry_run=dry_run)
        if not dry_run:
            self._tools.refresh()
        return Built(enabled=True, drafts=drafts, lessons=lessons)

    def list(self, *, agent_id: str = "") -> Drafts:
        """Return the drafts of a workspace, newest first.

        Raises:
            PathError: they cannot be read.
        """
        shelf = self._tools.shelf(self._tools.workspace(agent_id))
        known = tuple(_known(draft) for draft in shelf.listed())
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
        workspace = self._tools.workspace(agent_id)
        shelf = self._tools.shelf(workspace)
        with shelf.lock():
            found = _find(shelf.listed(), draft_id)
            draft = self._wished(found, name, agent_id)
            self._refuse_taken(workspace, draft.skill, agent_id)
            with self._acting(dry_run=dry_run) as tools:
                made = tools.proposals.propose(workspace, draft).proposal
            if made.state is State.QUARANTINED:
                why = made.quarantine_reason
                raise DraftError(f"{found.stem} was not promoted: the scanner refuses it: {why}")
            path = "/".join((workspace.rstrip("/"), "skills", draft.skill, SKILL_FILE))
            answer = Promoted(draft=found.stem, skill=draft.skill, path=path, dry_run=dry_run)
            if dry_run:
                return answer
            applied = self._tools.proposals.apply(made)
            trash = shelf.remove(found, now=self._tools.now())
        self._tools.refresh()
        return replace(answer, proposal=applied, trash=trash)

    def _acting(self, *, dry_run: bool) -> AbstractContextManager[ExperienceTools]:
        """Return the world to propose in: a dry run keeps nothing, whoever asks for it."""
        return self._tools.rehearse() if dry_run else nullcontext(self._tools)

    def _refuse_taken(self, workspace: str, name: str, agent_id: str) -> None:
        """Refuse a name that another skill has, wherever it lies: it would be hidden by this one.

        Raises:
            DraftError: it is taken.
        """
        there = self._tools.proposals.current(workspace, name)
        other = "this workspace" if there else self._tools.elsewhere(name, agent_id)
        if other:
            raise DraftError(f"there is a skill {name} already ({other}): choose another --name")

    def _wished(self, found: ShelvedDraft, name: str | None, agent_id: str) -> Draft:
        task = facts_of(found).task
        skill = skill_name(strict_slug(task) if name is None else name, task)
        if name is not None and skill != name.strip().lower():
            raise DraftError(f"a skill cannot be called {shown(name)}: try --name {skill}")
        replay = REPLAY_FILE if found.script_text else ""
        description, body = promoted(found.text, name=skill, replay=replay)
        _check_standard(skill, description, body)
        return Draft(
            skill=skill,
            title=f"Promoted: {task}"[:_MOST_TITLE],
            reason=f"A person promoted the draft {found.stem}",
            source=Proposer.EXPERIENCE,
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
        workspace = self._tools.workspace(agent_id)
        shelf = self._tools.shelf(workspace)
        covered = self._lessons.covered(self._tools.memory(workspace).all(), agent_id)
        with shelf.lock():
            gone = tuple(_unneeded(shelf.listed(), covered))
            drafts, scripts = [], []
            for draft, why in gone:
                trash = "" if dry_run else shelf.remove(draft, now=self._tools.now())
                drafts.append(Removed(id=draft.stem, path=draft.path, why=why, trash=trash))
                if draft.script:
                    beside = Removed(id=draft.stem, path=draft.script, why=WITH_DRAFT, trash=trash)
                    scripts.append(beside)
            names = frozenset(draft.stem for draft, _ in gone)
            scripts += self._without_draft(shelf, names, dry_run=dry_run)
        return Cleaned(dry_run=dry_run, drafts=tuple(drafts), scripts=tuple(scripts))

    def _without_draft(
        self, shelf: DraftShelf, going: frozenset[str], *, dry_run: bool
    ) -> Iterator[Removed]:
        """Remove the scripts whose draft was gone before."""
        for path in shelf.orphan_scripts():
            name = path.rpartition("/")[2].removesuffix(".sh")
            if name not in going:
                trash = "" if dry_run else shelf.remove_script(path, now=self._tools.now())
                yield Removed(id=name, path=path, why="its draft is gone", trash=trash)

    def trashed(self, *, agent_id: str = "") -> Sequence[TrashedDraft]:
        """Return what was removed and can be brought back, newest first.

        Raises:
            PathError: the trash cannot be read.
        """
        return self._tools.shelf(self._tools.workspace(agent_id)).trashed()

    def restore(self, trash_id: str, *, agent_id: str = "") -> str:
        """Bring back what was removed, over nothing, and return where it is.

        Raises:
            PathError: it cannot be brought back.
            RemovalError: nothing of that id is in the trash.
        """
        shelf = self._tools.shelf(self._tools.workspace(agent_id))
        with shelf.lock():
            return shelf.restore(trash_id)


def _check_standard(name: str, description: str, body: str) -> None:
    """Refuse a skill that would not be one for every harness.

    Raises:
        DraftError: it breaks a rule of the standard; the message says which.
    """
    path = f"/{name}/{SKILL_FILE}"
    document = Document(
        source=Source(tier=Tier.WORKSPACE, root="/"),
        path=path,
        folder=f"/{name}",
        content=new_skill(name, description, body),
    )
    wrong = [d for d in validate(document, strict=True).diagnostics if d.severity is Severity.ERROR]
    if wrong:
        raise DraftError(f"{name} would be no valid skill ({wrong[0].message}): {wrong[0].fix}")


def _usable(traces: Sequence[Trace]) -> list[Trace]:
    """Return the traces that something can be learned from, each once and without secrets."""
    found = (without_secrets(trace) for trace in traces if trace.ok and trace.steps)
    return list({trace.id: trace for trace in found}.values())


def _known(draft: ShelvedDraft) -> KnownDraft:
    return KnownDraft(
        id=draft.stem,
        path=draft.path,
        script=draft.script,
        facts=facts_of(draft),
        edited=not is_untouched(draft.text),
    )


def _find(drafts: Sequence[ShelvedDraft], word: str) -> ShelvedDraft:
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


def _unneeded(
    drafts: Sequence[ShelvedDraft], covered: Mapping[str, str]
) -> Iterator[tuple[ShelvedDraft, str]]:
    """Yield the drafts that nobody needs and why; of copies an edited one stays, else the newest.

    An edited draft is somebody's work, whatever it is a copy of.
    """
    kept: list[DraftFacts] = [facts_of(d) for d in drafts if not is_untouched(d.text)]
    for draft in drafts:
        facts = facts_of(draft)
        if not is_untouched(draft.text):
            continue
        why = next((why for one in kept if (why := same_draft(facts, one))), "")
        if facts.trace_id in covered:
            yield draft, f"the skill {covered[facts.trace_id]} was learned from it"
        elif why:
            yield draft, f"a copy of another draft, by its {why}"
        else:
            kept.append(facts)
