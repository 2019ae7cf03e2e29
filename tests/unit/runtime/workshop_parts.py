"""A workshop in memory: folders, a store and a scanner that tests can look into."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from prowess.errors import PathError, StaleChangeError
from prowess.learning.proposal import (
    Event,
    EventKind,
    Proposal,
    State,
    admission,
    content_hash,
)
from prowess.runtime.applying import DEFAULT_LIMITS, FolderLimits
from prowess.runtime.workshop import WorkshopService
from prowess.runtime.workshop_ports import Answer, WorkshopTools
from prowess.safety.model import Confidence, Finding, Level, ScanReport, ScanVerdict
from prowess.settings import WorkshopSettings

WORKSPACE = "/work"


class MemoryProposals:
    """A store that follows the rules of the real one."""

    def __init__(self) -> None:
        self.kept: dict[str, Proposal] = {}
        self.log: list[Event] = []

    def add(self, proposal: Proposal, caps: Mapping[State, int]) -> Proposal:
        own = [one for one in self.kept.values() if one.workspace == proposal.workspace]
        verdict = admission(proposal, own, caps)
        if verdict.existing:
            return self.kept[verdict.existing]
        self.kept[proposal.id] = proposal
        self._note(proposal, EventKind.CREATED)
        if proposal.state is State.QUARANTINED:
            self._note(proposal, EventKind.QUARANTINED)
        for gone in verdict.dropped:
            self._note(self.kept.pop(gone), EventKind.PRUNED)
        return proposal

    def change(self, was: Proposal, now: Proposal, kind: EventKind, note: str = "") -> bool:
        known = self.kept.get(was.id)
        if known is None or (known.state, known.revision) != (was.state, was.revision):
            return False
        self.kept[was.id] = now
        self._note(now, kind, note)
        return True

    def get(self, workspace: str, proposal_id: str) -> Proposal | None:
        found = self.kept.get(proposal_id)
        return found if found and found.workspace == workspace else None

    def listed(self, workspace: str, state: State | None = None) -> tuple[Proposal, ...]:
        found = [one for one in self.kept.values() if one.workspace == workspace]
        found.sort(key=lambda one: -one.created_at)
        return tuple(one for one in found if state in {None, one.state})

    def counts(self, workspace: str) -> Mapping[State, int]:
        states = [one.state for one in self.listed(workspace)]
        return {state: states.count(state) for state in states}

    def events(self, workspace: str, after: int = 0, most: int = 200) -> tuple[Event, ...]:
        found = [one for one in self.log if one.workspace == workspace and one.sequence > after]
        return tuple(found[:most])

    def _note(self, proposal: Proposal, kind: EventKind, note: str = "") -> None:
        self.log.append(
            Event(
                sequence=len(self.log) + 1,
                workspace=proposal.workspace,
                proposal_id=proposal.id,
                skill=proposal.skill,
                kind=kind,
                revision=proposal.revision,
                at=proposal.updated_at,
                note=note,
            )
        )


@dataclass(slots=True)
class MemoryFolder:
    """One skill's folder in memory."""

    name: str
    files: dict[str, bytes] = field(default_factory=dict)
    refusal: str = ""

    @contextmanager
    def lock(self) -> Iterator[None]:
        if self.refusal:
            raise PathError(self.name, self.refusal)
        yield

    def read_all(self, limits: FolderLimits = DEFAULT_LIMITS) -> Mapping[str, bytes]:
        assert limits is DEFAULT_LIMITS
        return dict(self.files)

    def apply(self, files: Mapping[str, bytes | None], expected: str) -> str:
        found = content_hash(self.files)
        if found != expected:
            raise StaleChangeError(self.name, "changed", expected=expected, found=found)
        self.files = {
            path: body for path, body in {**self.files, **files}.items() if body is not None
        }
        return "backup-1"


def scan(_skill: str, files: Mapping[str, bytes]) -> ScanReport:
    """Refuse whatever says BAD anywhere, and HALF together with OTHER."""
    text = b"\n".join(files.values())
    if b"BAD" not in text and not (b"HALF" in text and b"OTHER" in text):
        return ScanReport(ScanVerdict.CLEAN, (), ())
    finding = Finding(
        rule_id="bad", level=Level.CRITICAL, confidence=Confidence.HIGH, file="SKILL.md", line=1,
        column=1, message="it is bad", evidence="BAD", evidence_hash="1",
    )  # fmt: skip
    return ScanReport(ScanVerdict.QUARANTINE, (finding,), ())


def show(answer: Answer) -> dict[str, object]:
    """Show an answer as it is: how clients see it is not the workshop's business."""
    return {"answer": answer}


class World:
    """A workshop and everything around it."""

    def __init__(self, settings: WorkshopSettings | None = None) -> None:
        self.settings = settings or WorkshopSettings(selected=True)
        self.store = MemoryProposals()
        self.folders: dict[str, MemoryFolder] = {}
        self.routes: Callable[[str], tuple[str, float] | None] = lambda _message: None
        self.refreshed = 0
        self._ticks = 0
        self.workshop = WorkshopService(
            WorkshopTools(
                settings=lambda: self.settings,
                workspace=lambda _agent: WORKSPACE,
                store=self.store,
                folder=lambda _workspace, skill: self.folder(skill),
                scan=scan,
                route=lambda message, _agent: self.routes(message),
                refresh=self._refresh,
                now=self._now,
                new_id=lambda skill: f"{skill}-{len(self.store.log)}-{self._ticks}",
                show=show,
            )
        )

    def folder(self, skill: str) -> MemoryFolder:
        """Return the folder of a skill, made on first use."""
        return self.folders.setdefault(skill, MemoryFolder(skill))

    def write(self, skill: str, body: str, *, ours: bool = False) -> None:
        """Let a skill exist."""
        mark = "metadata:\n  prowess: workshop\n" if ours else ""
        page = f"---\nname: {skill}\ndescription: d\n{mark}---\n{body}"
        self.folder(skill).files["SKILL.md"] = page.encode()

    def page(self, skill: str) -> str:
        """Return the text of a skill."""
        return self.folder(skill).files["SKILL.md"].decode()

    def set(self, **changes: object) -> None:
        """Change the settings, as an operator would while a chat goes on."""
        # A test that passes the wrong kind of value fails at once, with its own line.
        self.settings = replace(self.settings, **changes)  # type: ignore[arg-type]

    def call(self, action: str, **arguments: object) -> Answer:
        """Call the tool."""
        shown = self.workshop.call({"action": action, **arguments})
        answer = shown["answer"]
        assert isinstance(answer, Answer)
        return answer

    def proposed(self, action: str, **arguments: object) -> Proposal:
        """Call the tool and return the one proposal that it answers with."""
        answer = self.call(action, **arguments)
        assert answer.kind in {"decided", "inspected"}
        return answer.proposal

    def states(self) -> Sequence[State]:
        """Return the state of every proposal, newest first."""
        return [one.state for one in self.store.listed(WORKSPACE)]

    def _refresh(self) -> None:
        self.refreshed += 1

    def _now(self) -> float:
        self._ticks += 1
        return float(self._ticks)
