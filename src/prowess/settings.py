"""What a person can configure, as frozen values with their defaults.

Secret values never enter these classes: an entry says that a key is set, not what it is.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class SpecMode(Enum):
    """How strictly skill files are read."""

    LEGACY = "legacy"
    MIXED = "mixed"
    STRICT = "strict"


class Precedence(Enum):
    """Who wins when two sources hold a skill of the same name."""

    OPENCLAW = "openclaw"
    OPENPOCKET = "openpocket"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadSettings:
    """Where skills are looked for (`skills.load`)."""

    extra_dirs: tuple[str, ...] = ()
    # None reads every harness folder that exists; a tuple names the harnesses to read.
    harnesses: tuple[str, ...] | None = None
    precedence: Precedence = Precedence.OPENCLAW
    allow_symlink_targets: tuple[str, ...] = ()
    watch: bool = True
    watch_debounce_ms: int = 250


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds on scanning and on the prompt (`skills.limits`)."""

    max_candidates_per_root: int = 300
    max_skills_loaded_per_source: int = 200
    max_skills_in_prompt: int = 150
    max_skills_prompt_chars: int = 18_000
    max_skill_file_bytes: int = 256_000


@dataclass(frozen=True, slots=True, kw_only=True)
class EntrySettings:
    """What is configured for one skill (`skills.entries.<skillKey>`), without its secrets."""

    enabled: bool | None = None
    has_api_key: bool = False
    env_names: frozenset[str] = frozenset()
    # Variables of the host's own accounts that the operator lets this skill have.
    allow_env: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSettings:
    """A remote machine that can run commands for the agent (`skills.nodes[]`)."""

    name: str
    platforms: tuple[str, ...] = ()
    bins: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallSettings:
    """Which installers are preferred (`skills.install`)."""

    prefer_brew: bool = True
    node_manager: str = "npm"
    # `host` or `host:port`: downloads may come from there, though the address is not public.
    private_hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderSettings:
    """Which encoder turns texts into vectors (`skills.routing.encoder*`), without its secret."""

    # `bundled`, `none`, a folder with a model, or the address of an OpenAI-compatible endpoint.
    which: str = "bundled"
    model: str = ""
    key_env: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingSettings:
    """How messages find skills (`skills.routing`)."""

    encoder: EncoderSettings = field(default_factory=EncoderSettings)
    max_skills: int = 3
    # None takes the thresholds that were calibrated for the encoder.
    load_threshold: float | None = None
    offer_threshold: float | None = None
    # `off`, or a folder with a cross-encoder that judges the best skills again.
    rerank: str = "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """The user's own language model (`skills.model`), without its secret."""

    endpoint: str = ""
    name: str = ""
    key_env: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SafetySettings:
    """What the scanner is told by the operator (`skills.safety`)."""

    # Variable -> hosts that its value may be sent to.
    egress: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # Whether the language model is asked, too; it may raise a verdict and never lowers one.
    review: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillsSettings:
    """Everything under `skills`."""

    spec_mode: SpecMode = SpecMode.MIXED
    load: LoadSettings = field(default_factory=LoadSettings)
    limits: Limits = field(default_factory=Limits)
    allow_bundled: frozenset[str] | None = None
    pinned: frozenset[str] = frozenset()
    entries: Mapping[str, EntrySettings] = field(default_factory=dict)
    nodes: tuple[NodeSettings, ...] = ()
    install: InstallSettings = field(default_factory=InstallSettings)
    routing: RoutingSettings = field(default_factory=RoutingSettings)
    model: ModelSettings = field(default_factory=ModelSettings)
    safety: SafetySettings = field(default_factory=SafetySettings)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """One agent: its workspace and which skills it may use."""

    id: str
    name: str = ""
    default: bool = False
    workspace: str | None = None
    # None allows every skill, an empty tuple allows none: the two are never mixed up.
    skills: tuple[str, ...] | None = None
    skills_inherited: bool = True
    max_skills_prompt_chars: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginSettings:
    """Which plugin folders contribute skills (`plugins`)."""

    paths: tuple[str, ...] = ()
    disabled: frozenset[str] = frozenset()


class ApprovalPolicy(Enum):
    """Whether proposals wait for a person or are applied when they are safe."""

    PENDING = "pending"
    AUTO = "auto"


class ReviewMode(Enum):
    """What looks at a turn: nothing, phrases, a language model, or both."""

    OFF = "off"
    HEURISTIC = "heuristic"
    LLM = "llm"
    HYBRID = "hybrid"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkshopSettings:
    """How skills are learned (`plugins.entries["skill-workshop"]`)."""

    # The entry itself: off unless somebody switched it on.
    selected: bool = False
    # Of its config, which counts only for an entry that is on.
    enabled: bool = True
    auto_capture: bool = True
    approval_policy: ApprovalPolicy = ApprovalPolicy.PENDING
    review_mode: ReviewMode = ReviewMode.HYBRID
    review_interval: int = 15
    review_min_tool_calls: int = 8
    review_timeout_ms: int = 45_000
    # `PROVIDER:NAME`, or a program; without either the model of `skills.model` is asked.
    review_model: str = ""
    review_command: tuple[str, ...] = ()
    max_pending: int = 50
    max_skill_bytes: int = 40_000

    @property
    def active(self) -> bool:
        """True where the workshop takes part at all."""
        return self.selected and self.enabled


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperienceSettings:
    """Whether traces of finished tasks become drafts and lessons (`experience`)."""

    enabled: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewaySettings:
    """From where the gateway may be reached (`gateway`), without its token."""

    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingProblem:
    """A key that was not understood; its default is used and the file is left as it is."""

    key: str
    message: str
    unknown: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The whole configuration, as it was understood."""

    skills: SkillsSettings = field(default_factory=SkillsSettings)
    agents: tuple[AgentSettings, ...] = (AgentSettings(id="main", name="main", default=True),)
    plugins: PluginSettings = field(default_factory=PluginSettings)
    workshop: WorkshopSettings = field(default_factory=WorkshopSettings)
    experience: ExperienceSettings = field(default_factory=ExperienceSettings)
    gateway: GatewaySettings = field(default_factory=GatewaySettings)
    problems: tuple[SettingProblem, ...] = ()
    # The shape of the file for `requires.config`: which paths are switched on, not what they hold.
    values: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def default_agent(self) -> AgentSettings:
        """The agent that is meant when none is named."""
        return next((agent for agent in self.agents if agent.default), self.agents[0])
