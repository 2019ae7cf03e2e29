"""The values that travel from a skill's text to what the model sees.

Everything here is frozen and knows no files: paths are strings that a host adapter has resolved.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import Enum, IntEnum
from functools import cache
from typing import NamedTuple, TypeAlias

from prowess.data import dataclass, read_table

Value: TypeAlias = "str | int | float | bool | Sequence[Value] | Mapping[str, Value] | None"
Fields: TypeAlias = Mapping[str, Value]
# Folders of package managers: nobody looks for skills in them, and no file of a skill lies there.
SKIPPED_FOLDERS = frozenset(("node_modules", "venv", "virtualenv", "__pycache__", "site-packages"))


class Tier(IntEnum):
    """Where a skill comes from, lowest precedence first."""

    EXTRA = 0
    BUNDLED = 1
    MANAGED = 2
    HARNESS_PERSONAL = 3
    AGENTS_PERSONAL = 4
    HARNESS_PROJECT = 5
    AGENTS_PROJECT = 6
    WORKSPACE = 7

    @property
    def source_id(self) -> str:
        """The name by which clients know this tier."""
        return _SOURCE_IDS[self]

    @property
    def is_project(self) -> bool:
        """True where skills come along with a project, which may be somebody else's."""
        return self >= Tier.HARNESS_PROJECT

    @property
    def is_removable(self) -> bool:
        """True where skills are ours to remove: not bundled ones, nor those of other programs."""
        return self in {Tier.MANAGED, Tier.WORKSPACE}


_SOURCE_IDS = {
    Tier.EXTRA: "openclaw-extra",
    Tier.BUNDLED: "openclaw-bundled",
    Tier.MANAGED: "openclaw-managed",
    Tier.HARNESS_PERSONAL: "harness-personal",
    Tier.AGENTS_PERSONAL: "agents-skills-personal",
    Tier.HARNESS_PROJECT: "harness-project",
    Tier.AGENTS_PROJECT: "agents-skills-project",
    Tier.WORKSPACE: "openclaw-workspace",
}


class RootKind(Enum):
    """What a root holds: skill folders, Claude Code commands or Cursor rules."""

    SKILLS = "skills"
    COMMANDS = "commands"
    RULES = "rules"


class Dialect(Enum):
    """Whose conventions a skill is written in."""

    STANDARD = "standard"
    OPENCLAW = "openclaw"
    CLAUDE = "claude"
    CLAUDE_COMMAND = "claude-command"
    CURSOR_RULE = "cursor-rule"
    CODEX = "codex"
    HERMES = "hermes"
    LEGACY = "legacy"


class Severity(Enum):
    """How much a diagnostic matters: an error keeps a skill from loading or being ready."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One root folder that is searched for skills."""

    tier: Tier
    root: str
    label: str = ""
    kind: RootKind = RootKind.SKILLS
    # An Agent Plugins folder counts its immediate children only, hence not always six.
    depth: int = 6
    # The folder that links may lead within: a plugin's own, else the root.
    boundary: str = ""
    # The root leads out of its project: whoever wrote the link chose what is read.
    leads_away: bool = False

    @property
    def links_allowed(self) -> bool:
        """True where people keep links to skills on purpose: managed and personal folders."""
        return self.tier in {Tier.MANAGED, Tier.HARNESS_PERSONAL, Tier.AGENTS_PERSONAL}


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """One problem with one file, and what to do about it."""

    code: str
    severity: Severity
    message: str
    path: str = ""
    line: int | None = None
    fix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirements:
    """What a skill needs from the host before it is ready."""

    bins: tuple[str, ...] = ()
    any_bins: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    config: tuple[str, ...] = ()
    os: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.bins or self.any_bins or self.env or self.config or self.os)


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallSpec:
    """One way, declared by the skill's author, to install what it needs."""

    kind: str
    target: str
    id: str = ""
    label: str = ""
    bins: tuple[str, ...] = ()
    os: tuple[str, ...] = ()
    cask: bool = False
    archive: str = ""
    extract: bool | None = None
    strip_components: int = 0
    target_dir: str = ""
    sha256: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Triggers:
    """Phrases by which an author says when the skill is, and is not, meant."""

    any: tuple[str, ...] = ()
    all: tuple[str, ...] = ()
    none: tuple[str, ...] = ()


# Who keeps a draft from the model, from slash commands and from every run.
DRAFTS = "the drafts folder"


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """Who may call a skill, and how."""

    user: bool = True
    model: bool = True
    # Who keeps the skill from the model; empty where nobody does.
    hidden_by: str = ""
    tool: str = ""
    arg_mode: str = "raw"
    argument_hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """The OpenClaw part of a skill, resolved from whichever dialect declared it."""

    always: bool = False
    skill_key: str = ""
    primary_env: str = ""
    requires: Requirements = field(default_factory=Requirements)
    install: tuple[InstallSpec, ...] = ()
    emoji: str = ""
    homepage: str = ""
    triggers: Triggers = field(default_factory=Triggers)
    # A block that is there but cannot be read closes the gate: it may have held a requirement.
    readable: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """One skill as it was read: who it is, what it needs, and what it says."""

    name: str
    description: str
    id: str
    source: Source
    path: str
    folder: str
    dialect: Dialect = Dialect.STANDARD
    fields: Fields = field(default_factory=dict)
    metadata: Metadata = field(default_factory=Metadata)
    invocation: Invocation = field(default_factory=Invocation)
    when_to_use: str = ""
    globs: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    body: str = ""
    body_line: int = 1
    resources: tuple[str, ...] = ()
    # As its author wrote them, for people: nothing is decided by either.
    version: str = ""
    title: str = ""
    content_hash: str = ""
    diagnostics: tuple[Diagnostic, ...] = ()
    # Where it really was when it was read: its folder, or the file of a stand-alone text.
    real: str = ""

    @property
    def place(self) -> str:
        """Where its files are read: what was checked, not what has its name by now."""
        named = self.path.replace("\\", "/").rpartition("/")[2].lower()
        return self.real or (self.folder if named == "skill.md" else self.path)

    @property
    def key(self) -> str:
        """The name under which the config knows this skill (`skills.entries.<key>`)."""
        return self.metadata.skill_key or self.name

    @property
    def bundled(self) -> bool:
        """True for what Prowess itself ships."""
        return self.source.tier is Tier.BUNDLED

    @property
    def is_draft(self) -> bool:
        """True for what was written from a trace and that nobody has promoted yet."""
        return self.invocation.hidden_by == DRAFTS


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A candidate file as the host found it: bytes and where they came from."""

    source: Source
    path: str
    folder: str
    content: bytes
    # The file is the skill of its folder (`SKILL.md`), not a stand-alone text.
    is_skill_file: bool = True
    resources: tuple[str, ...] = ()
    real: str = ""
    sidecar: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """What became of one document: a skill or none, and every problem on the way."""

    skill: Skill | None
    diagnostics: tuple[Diagnostic, ...] = ()


class DiagnosticCode(NamedTuple):
    """A row of the diagnostics reference."""

    code: str
    severity: Severity
    meaning: str
    fix: str


@cache
def read_codes() -> Mapping[str, DiagnosticCode]:
    """Return every code with what there is to say of it."""
    return {
        code: DiagnosticCode(code, Severity(severity), meaning, fix)
        for code, (severity, meaning, fix) in read_table("skills/diagnostics.toml").items()
    }


def diagnose(code: str, message: str, *, path: str = "", line: int | None = None) -> Diagnostic:
    """Make the diagnostic `code`, whose severity and fix come from the table."""
    row = read_codes()[code]
    return Diagnostic(
        code=code, severity=row.severity, message=message, path=path, line=line, fix=row.fix
    )
