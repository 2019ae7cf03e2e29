"""What a person can configure: every setting once, with its kind, default, bounds and meaning.

A field that is made with `setting` is a row of the table `SETTINGS`. The reader of the config file,
the JSON schema, the list of known keys, what no client may change and the reference page are made
from that table. Secret values never enter these classes: an entry says that a key is set, not what
it is.
"""

from collections.abc import Mapping
from dataclasses import field
from enum import Enum
from typing import Any

from prowess.data import dataclass
from prowess.settings_table import (
    FLAG,
    NAMES_OR_KEYS,
    SECRET,
    SHARE,
    STRINGS,
    VARIABLE,
    Form,
    Setting,
    choice,
    clamped,
    count,
    find_sections,
    list_settings,
    member_of,
    own,
    section,
    setting,
    text,
    words,
)


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

    extra_dirs: tuple[str, ...] = setting(
        words("folders"),
        "More folders to search, lowest precedence; `~` is expanded, later ones win.",
        default=(),
        guarded=True,
    )
    # None reads every harness folder that exists; a tuple names the harnesses to read.
    harnesses: tuple[str, ...] | None = setting(
        own("true, false or list of harness names", **{**STRINGS, "type": ["boolean", "array"]}),
        "Whether folders of other harnesses (`.claude/skills`, `.cursor/skills`, ...) are read.",
        default=None,
        key="harnessDirs",
        shown=True,
    )
    precedence: Precedence = setting(
        member_of(Precedence),
        "`openclaw`: the highest source wins. `openpocket`: bundled, then managed, then workspace.",
        default=Precedence.OPENCLAW,
    )
    allow_symlink_targets: tuple[str, ...] = setting(
        words("folders"),
        "Folders outside a root that links in workspace, project and extra roots may lead to.",
        default=(),
        guarded=True,
    )
    watch: bool = setting(
        FLAG, "Whether a long-running process watches the skill folders for changes.", default=True
    )
    watch_debounce_ms: int = setting(
        count(0),
        "How long files are left alone before the watcher tells of them; at most eight times that,"
        " or two seconds, where somebody never stops writing.",
        default=250,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds on scanning and on the prompt (`skills.limits`)."""

    max_candidates_per_root: int = setting(
        count(1),
        "How many skill folders of one root are looked at. At 2,000 `prowess list` takes about 1 s"
        " of processor time and 130 MB, at 5,000 about 2.5 s and 280 MB.",
        default=3_000,
    )
    max_skills_loaded_per_source: int = setting(
        count(1), "How many valid skills one root may contribute.", default=2_000
    )
    max_skills_in_prompt: int = setting(
        count(0), "How many skills the prompt block lists at most.", default=150
    )
    max_skills_prompt_chars: int = setting(
        count(0), "How many characters the prompt block takes at most.", default=18_000
    )
    max_skill_file_bytes: int = setting(count(1), "How large a skill file may be.", default=256_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class EntrySettings:
    """What is configured for one skill (`skills.entries.<skillKey>`), without its secrets."""

    enabled: bool | None = None
    has_api_key: bool = False
    env_names: frozenset[str] = frozenset()
    # Variables that the operator lets this skill have, whatever it declares.
    allow_env: tuple[str, ...] = ()

    @property
    def holds_secrets(self) -> bool:
        """True where it gives its skill more than a switch."""
        return self.has_api_key or bool(self.env_names or self.allow_env)


_ENTRY = (
    Setting(
        key="skills.entries.<skillKey>.apiKey",
        kind=own("string or secret reference", **SECRET),
        meaning="The secret for the skill's `primaryEnv`. Never shown.",
        secret=True,
    ),
    Setting(
        key="skills.entries.<skillKey>.env",
        kind=own("map of strings or secret references", type="object", additionalProperties=SECRET),
        meaning="Environment variables of the skill; a name in it counts as set. Values are never"
        " shown.",
        default={},
        shown_default="{}",
        secret=True,
    ),
    Setting(
        key="skills.entries.<skillKey>.allowEnv",
        kind=words("names"),
        meaning="Variables of your own accounts (`GITHUB_TOKEN`, ...) that the skill may have;"
        " audited.",
        default=[],
        shown_default="[]",
    ),
    # What a skill keeps for itself is hidden as a whole, whatever its names.
    Setting(
        key="skills.entries.<skillKey>.config",
        kind=own("any map", type="object"),
        meaning="Free settings that the skill's own instructions refer to.",
        default={},
        shown_default="{}",
        secret=True,
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSettings:
    """A remote machine that can run commands for the agent (`skills.nodes[]`)."""

    name: str
    platforms: tuple[str, ...] = ()
    bins: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallSettings:
    """Which installers are preferred (`skills.install`)."""

    prefer_brew: bool = setting(FLAG, "Offer Homebrew first where it is available.", default=True)
    node_manager: str = setting(
        choice("npm", "pnpm", "yarn", "bun"),
        "The program that install options for Node packages name.",
        default="npm",
    )
    # Downloads may come from there, though the address is not public.
    private_hosts: tuple[str, ...] = setting(
        words("`host` or `host:port`", Form.OWN),
        "Hosts of your own network that downloads of skills may come from, also over http.",
        default=(),
        guarded=True,
    )
    registries: tuple[str, ...] = setting(
        words("addresses of ClawHub registries"),
        "Where skills are searched for: by `prowess search` without --registry, and by clients of "
        "the gateway, which asks none that is not listed here.",
        default=(),
        guarded=True,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderSettings:
    """Which encoder turns texts into vectors (`skills.routing.encoder*`), without its secret."""

    which: str = setting(
        text("bundled, none, a folder or an address"),
        "What turns texts into vectors: the bundled model, nothing (words alone route), a folder "
        "with an ONNX or sentence-transformers model, or an OpenAI-compatible endpoint.",
        default="bundled",
        key="encoder",
        guarded=True,
    )
    model: str = setting(
        text("string"),
        "The name of the model behind the encoder's endpoint.",
        default="",
        key="encoderModel",
        guarded=True,
    )
    key_env: str = setting(
        VARIABLE,
        "The environment variable that holds the key for the encoder's endpoint.",
        default="",
        key="encoderKeyEnv",
        guarded=True,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingSettings:
    """How messages find skills (`skills.routing`)."""

    encoder: EncoderSettings = section(EncoderSettings, "")
    max_skills: int = setting(
        count(0), "How many skills one message loads or offers at most.", default=3
    )
    # None takes the thresholds that were calibrated for the encoder.
    load_threshold: float | None = setting(
        SHARE,
        "From which score on a skill is loaded.",
        default=None,
        shown="0.5, or what was calibrated",
    )
    offer_threshold: float | None = setting(
        SHARE,
        "From which score on a skill is offered to the agent.",
        default=None,
        shown="0.2, or what was calibrated",
    )
    rerank: str = setting(
        text("off or a folder"),
        "A folder with an ONNX cross-encoder that judges the best ten skills again. Off, because "
        "the one we trained did not pay for its size and its time.",
        default="off",
        guarded=True,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """The user's own language model (`skills.model`), without its secret."""

    endpoint: str = setting(
        text("address"),
        "The OpenAI-compatible endpoint of your own language model, for `examples generate`.",
        default="",
        guarded=True,
    )
    name: str = setting(text("string"), "The name of that model.", default="", guarded=True)
    key_env: str = setting(
        VARIABLE, "The environment variable that holds its key.", default="", guarded=True
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SafetySettings:
    """What the scanner is told by the operator (`skills.safety`)."""

    # Variable -> hosts that its value may be sent to.
    egress: Mapping[str, tuple[str, ...]] = setting(
        own("object: VARIABLE to list of hosts", type="object", additionalProperties=STRINGS),
        "Which hosts the value of a variable may be sent to, each by its exact name: the scanner "
        "then only notes it.",
        default={},
        guarded=True,
    )
    review: bool = setting(
        FLAG,
        "Whether your language model is asked about a skill, too. It may raise a verdict, never "
        "lower one, and it reads the skill's text.",
        default=False,
    )


_SPEC_MODE_OF_OPENPOCKET = Setting(
    key="agent.skillsSpecMode",
    kind=member_of(SpecMode),
    meaning="The OpenPocket spelling of `skills.specMode`, used when that one is absent.",
    default="mixed",
    shown_default="mixed",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillsSettings:
    """Everything under `skills`."""

    spec_mode: SpecMode = setting(
        member_of(SpecMode),
        "How strictly skill files are read. `agent.skillsSpecMode` is read too.",
        default=SpecMode.MIXED,
        also=(_SPEC_MODE_OF_OPENPOCKET,),
    )
    load: LoadSettings = section(LoadSettings, "load")
    limits: Limits = section(Limits, "limits")
    allow_bundled: frozenset[str] | None = setting(
        NAMES_OR_KEYS,
        "Which bundled skills may be used. An empty list restricts nothing.",
        default=None,
        shown="absent: all",
    )
    pinned: frozenset[str] = setting(
        NAMES_OR_KEYS,
        "Skills that are the last to be dropped when the prompt block is over its budget.",
        default=frozenset(),
    )
    entries: Mapping[str, EntrySettings] = setting(
        own("true or false", type="boolean"),
        "`false` switches the skill off for every agent.",
        default={},
        key="skills.entries.<skillKey>.enabled",
        shown=True,
        also=_ENTRY,
    )
    nodes: tuple[NodeSettings, ...] = setting(
        own("list of {name, platforms, bins}", type="array", items={"type": "object"}),
        "Remote machines whose platform and programs count towards requirements.",
        default=(),
    )
    install: InstallSettings = section(InstallSettings, "install")
    routing: RoutingSettings = section(RoutingSettings, "routing")
    model: ModelSettings = section(ModelSettings, "model")
    safety: SafetySettings = section(SafetySettings, "safety")


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


_AGENT = (
    Setting(
        key="agents.list[].skills",
        kind=NAMES_OR_KEYS,
        meaning="Which skills the agent may use. Replaces the defaults; `[]` allows none.",
        shown_default="absent: the defaults",
    ),
    Setting(
        key="agents.defaults.skills",
        kind=NAMES_OR_KEYS,
        meaning="Which skills an agent without a list of its own may use.",
        shown_default="absent: all",
    ),
    Setting(
        key="agents.defaults.workspace",
        kind=text("folder"),
        meaning="The workspace of agents that name none.",
        guarded=True,
        shown_default="the current folder",
    ),
    Setting(
        key="agents.entries.<id>",
        kind=own("an agent without its id", type="object"),
        meaning="Another way to write an agent; the keys are those of `agents.list[]`.",
    ),
    Setting(
        key="agents.list[].skillsLimits.maxSkillsPromptChars",
        kind=count(0),
        meaning="The agent's own budget for its prompt block.",
        shown_default="skills.limits.maxSkillsPromptChars",
    ),
    Setting(
        key="agents.defaults.skillsLimits.maxSkillsPromptChars",
        kind=count(0),
        meaning="The budget of agents that have none of their own.",
        shown_default="skills.limits.maxSkillsPromptChars",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginSettings:
    """Which plugin folders contribute skills (`plugins`)."""

    paths: tuple[str, ...] = setting(
        words("folders"),
        "Plugin folders that may contribute skills.",
        default=(),
        key="plugins.load.paths",
        guarded=True,
    )
    disabled: frozenset[str] = setting(
        own("true or false", type="boolean"),
        "`false` switches a plugin, and so its skills, off.",
        default=frozenset(),
        key="plugins.entries.<id>.enabled",
        shown=True,
    )


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


_CAPTURE_OF_OPENCLAW = Setting(
    key="skills.workshop.autonomous.mode",
    kind=choice("off", "propose", "auto"),
    meaning="OpenClaw's switch, as its page sets it: with `off`, `autoCapture` is false.",
    default="propose",
    shown_default="absent",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkshopSettings:
    """How skills are learned (`plugins.entries["skill-workshop"]`)."""

    # The entry itself: off unless somebody switched it on.
    selected: bool = setting(
        FLAG,
        "Whether skills are learned from work at all.",
        default=False,
        key="plugins.entries.skill-workshop.enabled",
    )
    # Of its config, which counts only for an entry that is on.
    enabled: bool = setting(FLAG, "Switches learning off while the entry stays on.", default=True)
    auto_capture: bool = setting(
        FLAG,
        "Whether turns are looked at for corrections, without being asked to.",
        default=True,
        also=(_CAPTURE_OF_OPENCLAW,),
    )
    ask_agent: bool = setting(
        FLAG,
        "Whether a hook tells the agent that a message may set a lasting rule, once for each.",
        default=True,
    )
    approval_policy: ApprovalPolicy = setting(
        member_of(ApprovalPolicy),
        "`pending`: proposals wait for a person. `auto`: safe ones are applied at once.",
        default=ApprovalPolicy.PENDING,
    )
    review_mode: ReviewMode = setting(
        member_of(ReviewMode),
        "What looks at a turn: nothing, phrases, a language model, or both.",
        default=ReviewMode.HYBRID,
    )
    review_interval: int = setting(
        clamped(1, 200), "After how many turns the language model looks.", default=15
    )
    review_min_tool_calls: int = setting(
        clamped(1, 500), "After how many tool calls the language model looks.", default=8
    )
    review_timeout_ms: int = setting(
        clamped(5_000, 180_000), "How long the language model may take.", default=45_000
    )
    review_model: str = setting(
        text("PROVIDER:NAME", Form.BLANK_TEXT),
        "The language model that reviews turns; by default the one of `skills.model`.",
        default="",
        guarded=True,
    )
    review_command: tuple[str, ...] = setting(
        words("words"),
        "A program that reviews turns instead: it reads the prompt and prints the reply.",
        default=(),
        guarded=True,
    )
    max_pending: int = setting(
        clamped(1, 200),
        "How many proposals wait at most in a workspace; the oldest go first.",
        default=50,
    )
    max_skill_bytes: int = setting(
        clamped(1_024, 200_000), "How large a file of a learned skill may become.", default=40_000
    )

    @property
    def active(self) -> bool:
        """True where the workshop takes part at all."""
        return self.selected and self.enabled


_EXPERIENCE_OF_OPENPOCKET = Setting(
    key="agent.autoArtifactsEnabled",
    kind=FLAG,
    meaning="The OpenPocket spelling of `experience.enabled`, used when that one is absent.",
    default=True,
    shown_default="true",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperienceSettings:
    """Whether traces of finished tasks become drafts and lessons (`experience`)."""

    enabled: bool = setting(
        FLAG,
        "Whether `prowess experience build` makes drafts and lessons of traces.",
        default=True,
        also=(_EXPERIENCE_OF_OPENPOCKET,),
    )


_TOKEN = Setting(
    key="gateway.auth.token",
    kind=text("text", Form.OWN),
    meaning="What clients of the gateway must know; `PROWESS_GATEWAY_TOKEN` stands over it.",
    secret=True,
    guarded=True,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewaySettings:
    """From where the gateway may be reached (`gateway`), without its token."""

    allowed_hosts: tuple[str, ...] = setting(
        words("host names"),
        "Names under which the gateway may be reached, beside this machine's own.",
        default=(),
        guarded=True,
    )
    allowed_origins: tuple[str, ...] = setting(
        words("origins"),
        "Web pages that may connect to the gateway, beside its own.",
        default=(),
        key="gateway.controlUi.allowedOrigins",
        guarded=True,
        also=(_TOKEN,),
    )


_DATABASE = Setting(
    key="state.databaseUrl",
    kind=text("address of a PostgreSQL database", Form.OWN),
    meaning="Where the state of a fleet of gateways is kept: `postgresql://user:password@host/name`."
    " Without it, in files of the state folder. `PROWESS_DATABASE_URL` stands over it.",
    secret=True,
    guarded=True,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StateSettings:
    """How the state of a fleet is reached (`state`), without the address."""

    connections: int = setting(
        clamped(2, 100),
        "How many connections to the database one gateway has at most, beside the one that it"
        " listens on.",
        default=8,
        guarded=True,
        also=(_DATABASE,),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingProblem:
    """A key that was not understood; its default is used and the file is left as it is."""

    key: str
    message: str
    unknown: bool = False

    @property
    def refusal(self) -> str:
        """What is wrong, without what would be used instead: a value that is refused is not."""
        return self.message.partition("; ")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The whole configuration, as it was understood."""

    skills: SkillsSettings = section(SkillsSettings, "skills")
    agents: tuple[AgentSettings, ...] = setting(
        own("list of agents", type="array", items={"type": "object", "required": ["id"]}),
        "Agents with `id`, and optionally `name`, `default`, `workspace`, `skills` and "
        "`skillsLimits.maxSkillsPromptChars`. `agents.entries.<id>` is read too.",
        default=(AgentSettings(id="main", name="main", default=True),),
        key="agents.list",
        shown="one agent, main",
        also=_AGENT,
    )
    plugins: PluginSettings = section(PluginSettings, "plugins")
    workshop: WorkshopSettings = section(WorkshopSettings, "plugins.entries.skill-workshop.config")
    experience: ExperienceSettings = section(ExperienceSettings, "experience")
    gateway: GatewaySettings = section(GatewaySettings, "gateway")
    state: StateSettings = section(StateSettings, "state")
    problems: tuple[SettingProblem, ...] = ()
    # The shape of the file for `requires.config`: which paths are switched on, not what they hold.
    values: Mapping[str, Any] = field(default_factory=dict, repr=False)


# The declared fields of each section.
SECTIONS = dict(find_sections(Settings))
SETTINGS = tuple(list_settings(SECTIONS, Settings))
