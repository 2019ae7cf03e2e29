"""What the use cases need from the world.

Each port has one adapter under `host` and one, in memory, in `prowess.testing`.
"""

from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import field
from threading import Event
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

from prowess.data import dataclass
from prowess.settings import Settings
from prowess.skills.agent_filter_snapshot import SnapshotSkill
from prowess.skills.eligibility import HostFacts, ScannerBlock
from prowess.skills.model import Diagnostic, Skill, Source

if TYPE_CHECKING:
    # Most commands log nothing.

    # Most commands never touch a vector, and numpy takes longer to load than they take to run.
    import numpy as np
    from numpy.typing import NDArray

    from prowess.runtime.environment import Value
    from prowess.safety.model import Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """What the sources of one workspace hold, lowest source first."""

    skills: tuple[Skill, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    # Every root, existing or not, and every folder that was looked into: what a watcher watches.
    sources: tuple[Source, ...] = ()
    folders: tuple[str, ...] = ()
    # Read, and left out since their root holds more than are loaded.
    cut: tuple[Skill, ...] = ()


class SkillSources(Protocol):
    """Finds and reads the skills of one workspace, reading again only what changed."""

    def scan(self, settings: Settings, changed: Collection[str] | None = None) -> Scan:
        """Return all skills; `changed` names the only files that can differ, None means any."""

    def resources(self, skill: Skill) -> Sequence[str]:
        """Return every file that belongs to `skill`, relative to its folder."""


class FactsProbe(Protocol):
    """Looks at the machine."""

    def probe(self, bins: Collection[str], env: Collection[str]) -> HostFacts:
        """Say which of these programs and variables exist."""


# Who is told how far the scans are that somebody waits for; the terminal says so when it starts.
show_progress: ContextVar[Callable[[str, int, int], None]] = ContextVar(
    "show_progress", default=lambda _what, _done, _total: None
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownVerdict:
    """As much of a report as decides whether a skill may be used."""

    # By which the operator's acceptances know the skill.
    name: str
    content_hash: str
    # Critical ones, nothing accepted yet.
    critical: "tuple[Finding, ...]" = ()
    # Why the scan failed, and when, in seconds since 1970.
    problem: str = ""
    made_at: float = 0.0


class ScanPatience(NamedTuple):
    """How long those who ask may wait for scans, in seconds of processor time; None for ever."""

    seconds: float | None = None
    # So many are scanned before a list of skills is answered; None for all of them.
    most_ahead: int | None = None
    # Whether the rest is scanned while nobody waits.
    in_background: bool = False


class SkillJudge(Protocol):
    """Knows what the scanner says of skills, by reports that are kept."""

    # What is wrong with the whole of them: a skill that a policy requires is not there.
    notices: tuple[Diagnostic, ...]

    @property
    def folders(self) -> tuple[str, ...]:
        """All folders of the skills that were looked at last."""

    def moved(self) -> object:
        """Return what is another one once an answer may be, though no file of a skill changed."""

    def find_blocks(
        self, skills: Sequence[Skill], settings: Settings, changed: Collection[str] | None = None
    ) -> Mapping[str, ScannerBlock]:
        """Return which skills may not be used, by their paths, and why.

        Args:
            skills: all of a workspace.
            settings: where variables may be sent.
            changed: the only files that can differ since the last time; None means any.
        """

    def settle(self, skills: Sequence[Skill], settings: Settings) -> None:
        """Scan those that were not, the first ones first, for as long as the caller may wait."""


class SettingsSource(Protocol):
    """Reads the configuration."""

    def read(self) -> Settings:
        """Return the settings as they are now.

        Raises:
            ConfigError: the file cannot be read.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSnapshot:
    """What a session keeps of its snapshot between turns."""

    session_id: str
    agent_id: str
    version: int
    hash: str
    prompt: str
    skills: tuple[SnapshotSkill, ...] = ()
    skill_filter: tuple[str, ...] | None = None


class SessionStore(Protocol):
    """Keeps the snapshots of sessions and the times of use."""

    def load(self, session_id: str) -> StoredSnapshot | None:
        """Return what the session holds, if anything."""

    def save(self, snapshot: StoredSnapshot) -> None:
        """Keep `snapshot` for its session."""

    def record_use(self, skill_name: str, at_ms: int) -> None:
        """Remember that a skill was used."""

    def last_used(self) -> Mapping[str, int]:
        """Return when each skill was last used."""

    def close(self) -> None:
        """Give back what the store holds open."""


Vectors: TypeAlias = "NDArray[np.float32]"


class Encoder(Protocol):
    """Turns texts into vectors of unit length, so that near ones mean alike."""

    @property
    def id(self) -> str:
        """Name the model and its exact weights: vectors under another id do not compare."""

    @property
    def english_only(self) -> bool:
        """True where the vectors of other scripts mean nothing."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one row for each text, in order; safe to call from several threads.

        Raises:
            EncoderError: the model cannot be loaded or does not answer.
        """


class Judge(Protocol):
    """Reads a message and a skill's text together."""

    def judge(self, message: str, texts: Sequence[str]) -> Vectors:
        """Return one number for each text: the higher, the better it belongs to the message.

        Raises:
            EncoderError: the model cannot be loaded or does not run.
        """


class VectorStore(Protocol):
    """Keeps vectors by encoder and text, so that a text is encoded once."""

    def load(self, encoder_id: str, keys: Sequence[str]) -> Mapping[str, Vectors]:
        """Return what is known of `keys`, each the hash of a text."""

    def alone(self, encoder_id: str, /) -> AbstractContextManager[None]:
        """Keep other machines from encoding meanwhile; what one makes the next need not."""

    def save(self, encoder_id: str, vectors: Mapping[str, Vectors]) -> None:
        """Keep `vectors`; an interrupted write leaves what was there before."""

    def close(self) -> None:
        """Give back what the store holds open."""


class IndexStore(Protocol):
    """Keeps indexes as bytes, by a hash of what they were made from."""

    def load(self, key: str) -> bytes | None:
        """Return what was kept, if anything was."""

    def save(self, key: str, raw: bytes) -> None:
        """Keep it, where that is possible."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Examples:
    """Messages that are known to be for a skill, or to be for another one, kept beside the index.

    They never stand in the skill itself: its files belong to its author.
    """

    generated: tuple[str, ...] = ()
    confirmed: tuple[str, ...] = ()
    near_misses: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.generated or self.confirmed or self.near_misses)


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleSkill:
    """What the last check of freshness found of one skill, for as long as its text stays."""

    content_hash: str
    # The claims that held at this check or an earlier one, by their keys.
    held: tuple[str, ...] = ()
    # The first and last lines of the sections in which something no longer holds.
    spans: tuple[tuple[int, int], ...] = ()
    notes: tuple[str, ...] = ()


class ReferenceTexts(Protocol):
    """Reads what lies beside the page of a skill for its agent to read."""

    def stamp(self, skill: Skill) -> str:
        """Return what changes when a reference file does; empty where there is none."""

    def read(self, skill: Skill, most: int) -> str:
        """Return the text of the reference files, `most` characters of it."""


class ExampleStore(Protocol):
    """Keeps examples by the name of their skill."""

    def read(self) -> Mapping[str, Examples]:
        """Return all of them; what cannot be read counts as none."""

    def write(self, name: str, examples: Examples) -> None:
        """Replace the examples of one skill.

        Raises:
            StoreError: they cannot be kept.
        """


class LanguageModel(Protocol):
    """The user's own language model."""

    @property
    def name(self) -> str:
        """What the user calls it."""

    def complete(self, instructions: str, question: str) -> str:
        """Return the model's answer.

        Raises:
            ModelError: it does not answer.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryValues:
    """What the config holds for one skill: texts, or what fetches them when they are needed."""

    api_key: "Value | None" = field(default=None, repr=False)
    env: "Mapping[str, Value]" = field(default_factory=dict, repr=False)


class SecretSource(Protocol):
    """The variables that the operator configured, by the key of a skill."""

    def entry(self, key: str) -> EntryValues:
        """Return what is configured for the skill; no reference is followed yet.

        Raises:
            ConfigError: the config cannot be read.
        """


class AuditLog(Protocol):
    """Remembers what the operator let through."""

    def lent(self, at: str, agent_id: str, variables: Iterable[tuple[str, str]]) -> None:
        """Note which variables each skill has by the operator's word: skill and name.

        Raises:
            StoreError: it cannot be written.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildCommand:
    """A program to start: what it is given, and how long it may take."""

    argv: tuple[str, ...]
    # All of it: nothing of our own environment goes along. Holds secrets.
    environment: Mapping[str, str] = field(repr=False)
    folder: str = ""
    seconds: float = 300.0
    stdin: str = field(default="", repr=False)
    # Of each stream; what is beyond is counted as cut, from the middle.
    most_chars: int = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildResult:
    """What became of a child process."""

    # None where it never started, or was ended by us; 128 and the number where a signal ended it.
    code: int | None
    stdout: str = ""
    stderr: str = ""
    timed_out: bool = False
    stopped: bool = False
    cut: bool = False
    # Why it could not be started, in words.
    problem: str = ""


# Called with "stdout" or "stderr" and a piece of text, as it comes.
Output = Callable[[str, str], None]


class Processes(Protocol):
    """Starts child processes, the only way to start any."""

    def run(
        self, command: ChildCommand, output: Output | None = None, stop: Event | None = None
    ) -> ChildResult:
        """Run a program to its end, its time or `stop`; nothing that it started is left behind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchTargets:
    """What a watcher looks at: known folders, roots that may appear, and single files."""

    # Folders in which every file counts, since the scanner reads it: those of skills.
    whole: tuple[str, ...] = ()

    folders: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


class Watcher(Protocol):
    """Reports changes of skill files."""

    def changes(self, targets: WatchTargets, *, debounce_ms: int) -> AsyncIterator[frozenset[str]]:
        """Yield the paths that changed, a burst at a time; an empty burst asks for a full look.

        Raises:
            WatchUnavailableError: the system's limits are exhausted.
        """
