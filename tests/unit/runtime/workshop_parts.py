"""A workshop in memory: folders, a store and a scanner that tests can look into."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from tests.memory_proposals import MemoryProposals

from prowess.errors import PathError, StaleChangeError
from prowess.runtime.workshop.ports import DEFAULT_LIMITS, Answer, FolderLimits, WorkshopPorts
from prowess.runtime.workshop.service import WorkshopService
from prowess.safety.model import Confidence, Finding, Level, ScanReport, ScanVerdict
from prowess.safety.paths import content_hash
from prowess.settings import WorkshopSettings
from prowess.workshop.proposal import Proposal, State
from prowess.workshop.similar import Neighbour

WORKSPACE = "/work"


@dataclass(slots=True)
class MemoryFolder:
    """One skill's folder in memory."""

    name: str
    files: dict[str, bytes] = field(default_factory=dict)
    refusal: str = ""
    # What each change replaced and what it wrote, oldest first.
    changes: list[tuple[Mapping[str, bytes | None], Mapping[str, bytes | None]]] = field(
        default_factory=list
    )

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
        self.changes.append(({path: self.files.get(path) for path in files}, dict(files)))
        self.files = {
            path: body for path, body in {**self.files, **files}.items() if body is not None
        }
        return f"backup-{len(self.changes)}"

    def previous(self, change: str) -> Mapping[str, bytes | None]:
        if change not in {f"backup-{number + 1}" for number in range(len(self.changes))}:
            raise PathError(change, "is not kept")
        return self.changes[int(change.removeprefix("backup-")) - 1][0]

    def last_change(self, files: Mapping[str, bytes | None]) -> str:
        is_last = bool(self.changes) and self.changes[-1][1] == files
        return f"backup-{len(self.changes)}" if is_last else ""


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
        self.neighbours: list[Neighbour] = []
        # By name, where a skill lies that the workshop does not write.
        self.elsewhere: dict[str, str] = {}
        # What the router was asked about, in order.
        self.routed: list[str] = []
        self.routes: Callable[[str], tuple[str, float] | None] = lambda _message: None
        self.refreshed = 0
        # Whether a person has said yes to each call of the tool.
        self.by_person = False
        self._ticks = 0
        self.workshop = WorkshopService(
            WorkshopPorts(
                settings=lambda: self.settings,
                workspace=lambda _agent: WORKSPACE,
                store=self.store,
                folder=lambda _workspace, skill, _place: self.folder(skill),
                scan=scan,
                route=lambda message, _agent: self.routes(message),
                refresh=self._refresh,
                now=self._now,
                new_id=lambda skill: f"{skill}-{len(self.store.log)}-{self._ticks}",
                show=show,
                elsewhere=lambda skill, _agent: self.elsewhere.get(skill, ""),
                neighbours=lambda _agent: self.neighbours,
                scores=self._scores,
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

    def know(self, skill: str, description: str, body: str, *, ours: bool = False) -> None:
        """Let a skill exist that new ones are compared with."""
        self.write(skill, body, ours=ours)
        self.neighbours.append(Neighbour(name=skill, description=description, body=body))

    def page(self, skill: str) -> str:
        """Return the text of a skill."""
        return self.folder(skill).files["SKILL.md"].decode()

    def set(self, **changes: object) -> None:
        """Change the settings, as an operator would while a chat goes on."""
        # A test that passes the wrong kind of value fails at once, with its own line.
        self.settings = replace(self.settings, **changes)  # type: ignore[arg-type]

    def call(self, action: str, **arguments: object) -> Answer:
        """Call the tool."""
        shown = self.workshop.call({"action": action, **arguments}, by_person=self.by_person)
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

    def _scores(self, text: str, _agent: str) -> Mapping[str, float]:
        self.routed.append(text)
        return dict.fromkeys((one.name for one in self.neighbours), 1.0)

    def _refresh(self) -> None:
        self.refreshed += 1

    def _now(self) -> float:
        self._ticks += 1
        return float(self._ticks)
