"""What tests of routing share: a small encoder that needs no model, and ports in memory.

The encoder knows a few topics, so that two texts can mean alike without a word in common; every
other word is hashed into a number of its own. It is exact and the same in every process.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from prowess.errors import EncoderError
from prowess.routing import router
from prowess.routing.model import Thresholds
from prowess.routing.router import Context, Query, SkillIndex
from prowess.runtime.ports import Encoder, Judge, Vectors
from prowess.runtime.route.answer import RoutingPorts, RoutingService
from prowess.runtime.route.index import IndexBuilder
from prowess.runtime.service import Places, SkillsService, Workspace
from prowess.settings import EncoderSettings, RoutingSettings, Settings, SkillsSettings
from prowess.skills.model import Skill
from prowess.testing import FixedFacts, FixedSettings, MemoryExamples, MemorySources, MemoryVectors

_TOPICS = """
bake baker bakes bread dough loaf oven sourdough rolls croissant
bike bicycle wheel tyre tyres brakes chain saddle cycling puncture
letter letters card cards stamp envelope postcard correspondence
hello hi thanks bye joke jokes riddle weather morning night
"""
TOPICS = tuple(frozenset(line.split()) for line in _TOPICS.strip().splitlines())
_HASHED = 28
_TOPIC_WEIGHT = 3.0
WIDTH = len(TOPICS) + _HASHED


def encode(texts: Iterable[str], width: int = WIDTH) -> Vectors:
    """Return a row of unit length for each text."""
    return np.array([_encoded(text, width) for text in texts], np.float32).reshape(-1, width)


def _encoded(text: str, width: int) -> Vectors:
    row = np.zeros(width, np.float32)
    for word in re.findall(r"\w+", text.casefold()):
        topics = [at for at, words in enumerate(TOPICS) if word in words]
        digest = hashlib.sha256(word.encode("utf-8", "surrogatepass")).digest()
        row[topics[0] if topics else len(TOPICS) + digest[0] % (width - len(TOPICS))] += (
            _TOPIC_WEIGHT if topics else 1.0
        )
    # A text without words still has a direction, as with any real encoder.
    row[-1] += 0.0 if row.any() else 1.0
    unit: Vectors = row / np.linalg.norm(row)
    return unit


def make_index(*skills: Skill, meaning: bool = True, english_only: bool = True) -> SkillIndex:
    """Index `skills`, with vectors or with words alone."""
    encoder = SmallEncoder(english_only=english_only) if meaning else None
    return IndexBuilder(MemoryVectors()).build(skills, encoder, {}).index


def ask(message: str, context: Context | None = None) -> Query:
    """Prepare a message with its vector."""
    query = router.read(message, context)
    return replace(query, vector=encode([query.ask])[0])


@dataclass(slots=True, eq=False)
class SmallEncoder:
    """The encoder above, which counts what it is asked for and fails when told to."""

    id: str = "small"
    english_only: bool = True
    width: int = WIDTH
    failure: str = ""
    asked: list[str] = field(default_factory=list)
    calls: int = 0
    # Runs before an answer, so that a test can let others in meanwhile.
    before: Callable[[], None] = lambda: None

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one row for each text, and remember that it was asked for."""
        self.calls += 1
        self.before()
        if self.failure:
            raise EncoderError(self.id, self.failure)
        self.asked += texts
        return encode(texts, self.width)


@dataclass(slots=True, eq=False)
class SmallJudge:
    """A judge that prefers the texts with one word, and fails when told to."""

    likes: str
    failure: str = ""
    judged: list[str] = field(default_factory=list)
    # How many texts it was given, call by call.
    calls: list[int] = field(default_factory=list)

    def judge(self, message: str, texts: Sequence[str]) -> Vectors:
        """Return one number for each text."""
        self.calls.append(len(texts))
        if self.failure:
            raise EncoderError("judge", self.failure)
        self.judged.append(message)
        return np.array([5.0 if self.likes in text else -5.0 for text in texts], np.float32)


@dataclass(slots=True)
class RoutingWorld:
    """Routing on ports that a test can change under it."""

    sources: MemorySources = field(default_factory=MemorySources)
    config: FixedSettings = field(default_factory=FixedSettings)
    # By what the settings call it; what is missing here cannot be opened.
    encoders: dict[str, Encoder] = field(default_factory=dict)
    vectors: MemoryVectors = field(default_factory=MemoryVectors)
    examples: MemoryExamples = field(default_factory=MemoryExamples)
    calibrated: dict[str, Thresholds] = field(default_factory=dict)
    judges: dict[str, Judge] = field(default_factory=dict)
    now: float = 1_000.0
    openings: int = 0
    skills: SkillsService = field(init=False)

    def __post_init__(self) -> None:
        self.skills = SkillsService(
            settings=self.config,
            places=Places(workspace="/work", workspace_given=True, managed="/state/skills"),
            open_workspace=lambda folder: Workspace(folder, self.sources, FixedFacts),
            now_ms=lambda: 1,
            last_used=dict,
        )

    def service(self) -> RoutingService:
        """Open routing, as a process would at its start."""
        tools = RoutingPorts(
            open_encoder=self._open,
            vectors=self.vectors,
            examples=self.examples,
            calibrated=self.calibrated.get,
            seconds=lambda: self.now,
            open_judge=self.judges.get,
        )
        return RoutingService(self.skills, tools)

    def change(self, *skills: Skill) -> None:
        """Exchange the skills, as a watcher would report it."""
        self.sources.skills = skills
        self.skills.refresh()

    def choose(self, which: str = "bundled", **routing: object) -> None:
        """Exchange the settings of routing, as a watcher would report it."""
        # A test that passes the wrong kind of value fails at once, with its own line.
        chosen = RoutingSettings(encoder=EncoderSettings(which=which), **routing)  # type: ignore[arg-type]
        old = self.config.settings
        self.config.settings = replace(old, skills=replace(old.skills, routing=chosen))
        self.skills.refresh()

    def _open(self) -> Encoder | None:
        self.openings += 1
        which = self.skills.settings.skills.routing.encoder.which
        if which == "none":
            return None
        if which not in self.encoders:
            raise EncoderError(which, "is no folder: check `skills.routing.encoder`.")
        return self.encoders[which]


def make_world(*skills: Skill, encoder: SmallEncoder | None = None) -> RoutingWorld:
    """Return a world with these skills, and with the small encoder as the bundled one."""
    return RoutingWorld(
        sources=MemorySources(skills),
        config=FixedSettings(Settings(skills=SkillsSettings())),
        encoders={"bundled": encoder or SmallEncoder()},
    )
