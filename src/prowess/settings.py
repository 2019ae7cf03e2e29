"""What a person can configure, as frozen values with their defaults.

`SETTINGS` is the table behind the reference page: a setting that is read anywhere has a row here.
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
    problems: tuple[SettingProblem, ...] = ()
    # The file's own mapping, for `requires.config`. Not shown: it can hold secrets.
    values: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def default_agent(self) -> AgentSettings:
        """The agent that is meant when none is named."""
        return next((agent for agent in self.agents if agent.default), self.agents[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A row of the settings reference."""

    key: str
    kind: str
    default: str
    meaning: str


def _row(key: str, kind: str, default: str, meaning: str) -> Setting:
    return Setting(key=key, kind=kind, default=default, meaning=meaning)


SETTINGS = (
    _row("skills.specMode", "legacy, mixed or strict", "mixed",
         "How strictly skill files are read. `agent.skillsSpecMode` is read too."),
    _row("agent.skillsSpecMode", "legacy, mixed or strict", "mixed",
         "The OpenPocket spelling of `skills.specMode`, used when that one is absent."),
    _row("skills.load.extraDirs", "list of folders", "[]",
         "More folders to search, lowest precedence; `~` is expanded, later ones win."),
    _row("skills.load.harnessDirs", "true, false or list of harness names", "true",
         "Whether the folders of other harnesses (`.claude/skills`, `.cursor/skills`, ...) are read."),
    _row("skills.load.precedence", "openclaw or openpocket", "openclaw",
         "`openclaw`: the highest source wins a name. `openpocket`: bundled, then managed, then workspace."),
    _row("skills.load.allowSymlinkTargets", "list of folders", "[]",
         "Folders outside a root that links in workspace, project and extra roots may lead to."),
    _row("skills.load.watch", "true or false", "true",
         "Whether a long-running process watches the skill folders for changes."),
    _row("skills.load.watchDebounceMs", "integer, at least 0", "250",
         "How long the watcher waits for a burst of changes to end."),
    _row("skills.limits.maxCandidatesPerRoot", "integer, at least 1", "300",
         "How many folders of one root are looked at."),
    _row("skills.limits.maxSkillsLoadedPerSource", "integer, at least 1", "200",
         "How many valid skills one root may contribute."),
    _row("skills.limits.maxSkillsInPrompt", "integer, at least 0", "150",
         "How many skills the prompt block lists at most."),
    _row("skills.limits.maxSkillsPromptChars", "integer, at least 0", "18000",
         "How many characters the prompt block takes at most."),
    _row("skills.limits.maxSkillFileBytes", "integer, at least 1", "256000",
         "How large a skill file may be."),
    _row("skills.allowBundled", "list of names or skill keys", "absent: all",
         "Which bundled skills may be used. An empty list restricts nothing."),
    _row("skills.pinned", "list of names or skill keys", "[]",
         "Skills that are the last to be dropped when the prompt block is over its budget."),
    _row("skills.entries.<skillKey>.enabled", "true or false", "true",
         "`false` switches the skill off for every agent."),
    _row("skills.entries.<skillKey>.apiKey", "string or secret reference", "absent",
         "The secret for the skill's `primaryEnv`. Never shown."),
    _row("skills.entries.<skillKey>.env", "map of strings", "{}",
         "Environment variables for the skill's runs. Values are never shown."),
    _row("skills.entries.<skillKey>.config", "any map", "{}",
         "Free settings that the skill's own instructions refer to."),
    _row("skills.nodes", "list of {name, platforms, bins}", "[]",
         "Remote machines whose platform and programs count towards requirements."),
    _row("skills.install.preferBrew", "true or false", "true",
         "Offer Homebrew first where it is available."),
    _row("skills.install.nodeManager", "npm, pnpm, yarn or bun", "npm",
         "The program that installs Node packages."),
    _row("agents.list", "list of agents", "one agent, main",
         "Agents with `id`, and optionally `name`, `default`, `workspace`, `skills` and "
         "`skillsLimits.maxSkillsPromptChars`. `agents.entries.<id>` is read too."),
    _row("agents.list[].skills", "list of names or skill keys", "absent: the defaults",
         "Which skills the agent may use. Replaces the defaults; `[]` allows none."),
    _row("agents.defaults.skills", "list of names or skill keys", "absent: all",
         "Which skills an agent without a list of its own may use."),
    _row("agents.defaults.workspace", "folder", "the current folder",
         "The workspace of agents that name none."),
    _row("plugins.load.paths", "list of folders", "[]",
         "Plugin folders that may contribute skills."),
    _row("plugins.entries.<id>.enabled", "true or false", "true",
         "`false` switches a plugin, and so its skills, off."),
)
