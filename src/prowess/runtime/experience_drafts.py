"""One draft per trace: made, compared with those that are there, scanned, and only then written.

A draft that a person has edited is never replaced: it is their work by then. What is replaced goes
to the trash after its successor is written, so that a cut in between leaves one too many, not none.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from prowess.errors import DraftError
from prowess.learning.draft_document import draft_document
from prowess.learning.draft_facts import DraftFacts, draft_facts, is_untouched, same_draft
from prowess.learning.replay import replay_script
from prowess.learning.slugs import mixed_slug, stem, strict_slug
from prowess.learning.traces import Trace
from prowess.runtime.applying import SKILL_FILE
from prowess.runtime.drafts import refusal_of
from prowess.runtime.experience_ports import (
    DraftOutcome,
    DraftShelf,
    DraftStatus,
    ExperienceTools,
    ShelvedDraft,
)
from prowess.safety.model import ScanReport
from prowess.settings import SpecMode

REPLAY_FILE = "scripts/replay.sh"
# A name is a second and a task: many alike in one heap take the seconds that follow.
_MOST_SECONDS = 3_600


@dataclass(frozen=True, slots=True, kw_only=True)
class _Text:
    """A draft before it is written."""

    name: str
    text: str
    facts: DraftFacts
    script: str = ""
    # Why it has no script where it could have one.
    problem: str = ""

    @property
    def files(self) -> Mapping[str, bytes]:
        """The draft as a skill would hold it, for the scanner."""
        page = {SKILL_FILE: self.text.encode()}
        return {**page, REPLAY_FILE: self.script.encode()} if self.script else page


class DraftMaker:
    """Makes the drafts of one heap of traces; the shelf is locked by the caller."""

    def __init__(
        self, tools: ExperienceTools, shelf: DraftShelf, *, seen: frozenset[str], dry_run: bool
    ) -> None:
        self._tools, self._shelf, self._seen, self._dry_run = tools, shelf, seen, dry_run
        self._strict = tools.spec_mode() is SpecMode.STRICT
        self._drafts = [(draft, facts_of(draft)) for draft in shelf.listed()]
        self._names = {draft.stem for draft, _ in self._drafts}

    def made(self, traces: Sequence[Trace]) -> tuple[DraftOutcome, ...]:
        """Return what becomes of each trace; the last of several copies stands for all of them.

        Raises:
            PathError: a draft cannot be written.
        """
        texts = [self._text(trace) for trace in traces]
        return tuple(
            self._made(trace, text, [one.facts for one in texts[at + 1 :]])
            for at, (trace, text) in enumerate(zip(traces, texts, strict=True))
        )

    def _made(self, trace: Trace, text: _Text, later: Sequence[DraftFacts]) -> DraftOutcome:
        outcome = DraftOutcome(trace=trace, status=DraftStatus.UNCHANGED, facts=text.facts)
        unchanged = self._unchanged(trace, text.facts, later)
        if unchanged is not None:
            there, reason = unchanged
            if there is None:
                return replace(outcome, reason=reason)
            at = replace(outcome, id=there.stem, path=there.path, script=there.script)
            return replace(at, reason=reason)
        text, report = self._scanned(trace, text)
        why = refusal_of(report)
        outcome = replace(outcome, reason=why or text.problem, findings=report.findings)
        if why:
            return replace(outcome, status=DraftStatus.REFUSED)
        return self._put(outcome, text)

    def _unchanged(
        self, trace: Trace, facts: DraftFacts, later: Sequence[DraftFacts]
    ) -> tuple[ShelvedDraft | None, str] | None:
        """Return the draft that stands for a trace already, if any, and why; None for a new one."""
        own = next((draft for draft, old in self._drafts if old.trace_id == trace.id), None)
        if own is not None:
            return own, "it has a draft already"
        copies = self._copies(facts)
        edited = next((draft for draft in copies if not is_untouched(draft.text)), None)
        if edited is not None:
            return edited, "somebody has edited the draft of the same work"
        if trace.id in self._seen:
            if copies:
                return copies[0], "a later trace of the same work has a draft"
            return None, "it was seen before, and its draft was promoted or removed"
        if any(same_draft(facts, other) for other in later):
            return None, "a later trace of the same work is drafted instead"
        return None

    def _copies(self, facts: DraftFacts) -> list[ShelvedDraft]:
        return [draft for draft, old in self._drafts if same_draft(facts, old)]

    def _text(self, trace: Trace, name: str = "", *, scripted: bool = True) -> _Text:
        at = self._tools.now()
        slug = strict_slug(trace.task) if self._strict else mixed_slug(trace.task)
        name = name or self._free(at, slug)
        script = (replay_script(trace, name=name) or "") if scripted else ""
        wrong = self._tools.check_script(script) if script else ""
        text = draft_document(
            trace,
            stem=name,
            generated_at=self._tools.moment(at),
            script=f"scripts/auto/{name}.sh" if script and not wrong else "",
            strict=self._strict,
        )
        facts = draft_facts(text)
        if facts is None:
            raise DraftError(f"the draft {name} cannot be read back: this is a fault of Prowess")
        problem = f"no replay script: {wrong}" if wrong else ""
        return _Text(
            name=name, text=text, facts=facts, script="" if wrong else script, problem=problem
        )

    def _free(self, at: float, slug: str) -> str:
        """Return the first name from a moment on that nobody has."""
        for name in _names(self._tools, at, slug):
            if name not in self._names:
                self._names.add(name)
                return name
        raise DraftError(f"too many drafts are called {slug}: run `prowess experience clean`")

    def _scanned(self, trace: Trace, text: _Text) -> tuple[_Text, ScanReport]:
        """Scan a draft; where only its script is refused, it goes without one."""
        report = self._tools.scan(text.name, text.files)
        why = refusal_of(report)
        if not why or not text.script:
            return text, report
        bare = self._text(trace, text.name, scripted=False)
        alone = self._tools.scan(bare.name, bare.files)
        if refusal_of(alone):
            return text, report
        return replace(bare, problem=f"no replay script: the scanner refuses it: {why}"), alone

    def _put(self, outcome: DraftOutcome, text: _Text) -> DraftOutcome:
        copies = self._copies(text.facts)
        outcome = replace(outcome, id=text.name, replaced=tuple(one.stem for one in copies))
        if self._dry_run:
            return replace(outcome, status=DraftStatus.WOULD_WRITE)
        path, script = self._shelf.write(
            text.name, text.text, text.script or None, as_folder=self._strict
        )
        for copy in copies:
            self._shelf.remove(copy, now=self._tools.now())
        gone = {copy.stem for copy in copies}
        written = [draft for draft in self._shelf.listed() if draft.stem == text.name]
        self._drafts = [one for one in self._drafts if one[0].stem not in gone]
        self._drafts += [(draft, facts_of(draft)) for draft in written]
        status = DraftStatus.REPLACED if copies else DraftStatus.WRITTEN
        return replace(outcome, status=status, path=path, script=script)


def facts_of(draft: ShelvedDraft) -> DraftFacts:
    """Return what a draft says of itself; of one that says nothing, its name is the task."""
    found = draft_facts(draft.text)
    return DraftFacts(task=draft.stem) if found is None else found


def _names(tools: ExperienceTools, at: float, slug: str) -> Iterator[str]:
    for seconds in range(_MOST_SECONDS):
        yield stem(tools.stamp(at + seconds), slug)
