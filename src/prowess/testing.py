"""In-memory ports and builders, for our own tests and for those of programs that use Prowess.

skills = open_memory([make_skill(name="deploy", bins=("kubectl",))], bins={"kubectl"})
assert [row.skill.name for row in skills.status().skills] == ["deploy"]
"""

from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from zlib import crc32

import numpy as np

from prowess.errors import EncoderError, WatchUnavailableError
from prowess.runtime.ports import Examples, Scan, StoredSnapshot, Vectors, WatchTargets
from prowess.runtime.service import Places, SkillsService, Workspace
from prowess.settings import Settings
from prowess.skills.eligibility import HostFacts
from prowess.skills.model import (
    Diagnostic,
    Invocation,
    Metadata,
    Requirements,
    Skill,
    Source,
    Tier,
    Triggers,
)


def make_skill(
    name: str = "deploy",
    *,
    description: str = "Deploys the app. Use when asked to ship a release.",
    tier: Tier = Tier.WORKSPACE,
    metadata: Metadata | None = None,
    **fields: object,
) -> Skill:
    """Build a skill; requirement kinds (`bins`, `env`, ...) may be given directly."""
    root = f"/{tier.source_id}"
    kinds = {
        key: fields.pop(key) for key in ("bins", "any_bins", "env", "config", "os") if key in fields
    }
    triggers, key = fields.pop("triggers", Triggers()), str(fields.pop("key", ""))
    base = Skill(
        name=name,
        description=description,
        id=name,
        source=Source(tier=tier, root=root),
        path=f"{root}/{name}/SKILL.md",
        folder=f"{root}/{name}",
        content_hash=f"{name}:{description}",
        invocation=_invocation(
            model=bool(fields.pop("model", True)), user=bool(fields.pop("user", True))
        ),
        metadata=metadata
        or Metadata(
            # A test that passes the wrong kind of value fails at once, with its own line.
            requires=Requirements(**kinds),  # type: ignore[arg-type]
            # The same.
            triggers=triggers,  # type: ignore[arg-type]
            skill_key=key,
        ),
    )
    # And the same for every other field.
    return replace(base, **fields)  # type: ignore[arg-type]


def _invocation(*, model: bool, user: bool) -> Invocation:
    hidden_by = "" if model else "disable-model-invocation"
    return Invocation(model=model, user=user, hidden_by=hidden_by)


@dataclass(slots=True)
class MemorySources:
    """Sources that hold what a test put into them."""

    skills: tuple[Skill, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    files: Mapping[str, Sequence[str]] = field(default_factory=dict)
    scans: int = 0
    _last: Scan | None = None

    def scan(self, settings: Settings, changed: Collection[str] | None = None) -> Scan:
        """Return the skills; the same object as long as nothing changed."""
        del settings, changed
        self.scans += 1
        fresh = Scan(skills=self.skills, diagnostics=self.diagnostics)
        if self._last is None or self._last != fresh:
            self._last = fresh
        return self._last

    def resources(self, skill: Skill) -> Sequence[str]:
        """Return the files that a test gave the skill."""
        return self.files.get(skill.name, ())


@dataclass(slots=True)
class FixedFacts:
    """A machine with exactly these programs and variables."""

    platform: str = "linux"
    bins: frozenset[str] = frozenset()
    env: frozenset[str] = frozenset()

    def probe(self, bins: Collection[str], env: Collection[str]) -> HostFacts:
        """Answer from what a test said."""
        return HostFacts(
            platform=self.platform,
            bins=self.bins.intersection(bins),
            env=self.env.intersection(env),
        )


@dataclass(slots=True)
class FixedSettings:
    """A configuration that a test can exchange."""

    settings: Settings = field(default_factory=Settings)

    def read(self) -> Settings:
        """Return it."""
        return self.settings


@dataclass(slots=True)
class MemoryStore:
    """A store that forgets with the process."""

    snapshots: dict[str, StoredSnapshot] = field(default_factory=dict)
    uses: dict[str, int] = field(default_factory=dict)

    def load(self, session_id: str) -> StoredSnapshot | None:
        """Return what the session holds, if anything."""
        return self.snapshots.get(session_id)

    def save(self, snapshot: StoredSnapshot) -> None:
        """Keep `snapshot` for its session."""
        self.snapshots[snapshot.session_id] = snapshot

    def record_use(self, skill_name: str, at_ms: int) -> None:
        """Remember that a skill was used."""
        self.uses[skill_name] = max(at_ms, self.uses.get(skill_name, 0))

    def last_used(self) -> Mapping[str, int]:
        """Return when each skill was last used."""
        return dict(self.uses)

    def close(self) -> None:
        """Nothing is held open."""


@dataclass(slots=True)
class HashingEncoder:
    """An encoder that knows words and no meanings: texts are near where they share words."""

    id: str = "hashing-64"
    english_only: bool = False
    # What is wrong with it, for a test in which it fails.
    refusal: str = ""
    # Every text that it was asked for, in order.
    asked: list[str] = field(default_factory=list)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one row of unit length for each text, the same in every process."""
        if self.refusal:
            raise EncoderError(self.id, self.refusal)
        self.asked += texts
        rows: Vectors = np.zeros((len(texts), 64), np.float32)
        for row, text in zip(rows, texts, strict=True):
            # A text without words has a direction too: a row of zeros has no length to divide by.
            for word in text.lower().split() or [""]:
                row[crc32(word.encode("utf-8", "replace")) % 64] += 1
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return rows


@dataclass(slots=True)
class MemoryVectors:
    """Vectors that are forgotten with the process."""

    kept: dict[tuple[str, str], Vectors] = field(default_factory=dict)

    def load(self, encoder_id: str, keys: Sequence[str]) -> Mapping[str, Vectors]:
        """Return what is known of `keys`."""
        return {key: self.kept[encoder_id, key] for key in keys if (encoder_id, key) in self.kept}

    def alone(self, _encoder_id: str) -> AbstractContextManager[None]:
        """Let anybody encode: nobody else has these."""
        return nullcontext()

    def save(self, encoder_id: str, vectors: Mapping[str, Vectors]) -> None:
        """Keep `vectors`."""
        self.kept |= {(encoder_id, key): vector for key, vector in vectors.items()}

    def close(self) -> None:
        """Nothing is held open."""


@dataclass(slots=True)
class MemoryExamples:
    """Examples that are forgotten with the process."""

    kept: dict[str, Examples] = field(default_factory=dict)

    def read(self) -> Mapping[str, Examples]:
        """Return all of them, as they are now: a later change does not reach what was read."""
        return dict(self.kept)

    def write(self, name: str, examples: Examples) -> None:
        """Replace the examples of one skill; no examples are no entry."""
        self.kept.pop(name, None)
        if examples:
            self.kept[name] = examples


@dataclass(slots=True)
class ScriptedWatcher:
    """A watcher that reports what a test scripted, or that the system refuses to watch."""

    bursts: Sequence[frozenset[str]] = ()
    refusal: str = ""
    watched: list[WatchTargets] = field(default_factory=list)
    before_burst: Callable[[int], None] = lambda _index: None

    async def changes(
        self, targets: WatchTargets, *, debounce_ms: int
    ) -> AsyncIterator[frozenset[str]]:
        """Yield the bursts, then refuse: a watcher that ends by itself does not exist."""
        del debounce_ms
        self.watched.append(targets)
        for index, burst in enumerate(self.bursts):
            self.before_burst(index)
            yield burst
        raise WatchUnavailableError(self.refusal or "the script is over.")


def open_memory(
    skills: Iterable[Skill] = (),
    *,
    settings: Settings | None = None,
    bins: Collection[str] = (),
    env: Collection[str] = (),
    store: MemoryStore | None = None,
) -> SkillsService:
    """Open a service on skills in memory: no files, no clock, no environment."""
    sources, kept = MemorySources(tuple(skills)), store or MemoryStore()
    facts = FixedFacts(bins=frozenset(bins), env=frozenset(env))
    return SkillsService(
        settings=FixedSettings(settings or Settings()),
        places=Places(workspace="/work", workspace_given=True, managed="/state/skills"),
        open_workspace=lambda folder: Workspace(folder, sources, lambda: facts),
        now_ms=lambda: 1,
        last_used=kept.last_used,
    )
