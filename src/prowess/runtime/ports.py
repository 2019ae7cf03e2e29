"""What the use cases need from the world.

Each port has one adapter under `host` and one, in memory, in `prowess.testing`.
"""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

from prowess.settings import Settings
from prowess.skills.eligibility import HostFacts
from prowess.skills.model import Diagnostic, Skill, Source
from prowess.skills.snapshot import SnapshotSkill

if TYPE_CHECKING:
    # Most commands never touch a vector, and numpy takes longer to load than they take to run.
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """What the sources of one workspace hold, lowest source first."""

    skills: tuple[Skill, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    # Every root, existing or not, and every folder that was looked into: what a watcher watches.
    sources: tuple[Source, ...] = ()
    folders: tuple[str, ...] = ()


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

    def save(self, encoder_id: str, vectors: Mapping[str, Vectors]) -> None:
        """Keep `vectors`; an interrupted write leaves what was there before."""

    def close(self) -> None:
        """Give back what the store holds open."""


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
class WatchTargets:
    """What a watcher looks at: known folders, roots that may appear, and single files."""

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
