"""What the gateway answers, as values; `raw` holds the whole answer, new fields included."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from prowess.client.fields import Fields, Json
from prowess.client.refusals import NO_SKILL, GatewayCallError
from prowess.client.rows import Step, UsageEvent, UsageTotal

_NEEDS = ("bins", "anyBins", "env", "config", "os")


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """An agent of the config."""

    id: str
    name: str
    is_default: bool
    workspace: str
    # None: all of them.
    skills: tuple[str, ...] | None
    raw: Json = field(repr=False)

    @classmethod
    def read(cls, raw: Json) -> "Agent":
        """Read one agent of a list, or of the health report."""
        found = Fields(raw)
        return cls(
            id=found.text("id") or found.text("agentId"),
            name=found.text("name"),
            is_default=found.flag("isDefault"),
            workspace=found.text("workspace"),
            skills=found.texts("skills") if isinstance(raw.get("skills"), list) else None,
            raw=raw,
        )

    @classmethod
    def listed(cls, raw: Json) -> "tuple[Agent, ...]":
        """Read the agents of an answer."""
        return tuple(cls.read(one) for one in Fields(raw).objects("agents"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """That a gateway works, and for whom."""

    ok: bool
    default_agent: str
    agents: tuple[Agent, ...]
    uptime_ms: int
    raw: Json = field(repr=False)

    @classmethod
    def read(cls, raw: Json) -> "Health":
        """Read the answer of `health`."""
        found = Fields(raw)
        return cls(
            ok=found.flag("ok"),
            default_agent=found.text("defaultAgentId"),
            agents=Agent.listed(raw),
            uptime_ms=found.whole("uptimeMs") or 0,
            raw=raw,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallOption:
    """One way to get what a skill needs."""

    id: str
    kind: str
    label: str
    bins: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """A skill with its verdict."""

    name: str
    key: str
    description: str
    source: str
    path: str
    folder: str
    eligible: bool
    disabled: bool
    model_visible: bool
    primary_env: str
    # By kind (bins, anyBins, env, config, os), and only kinds of which something is missing.
    missing: Mapping[str, tuple[str, ...]]
    install: tuple[InstallOption, ...]
    raw: Json = field(repr=False)

    @classmethod
    def read(cls, raw: Json) -> "Skill":
        """Read one skill of a status report."""
        found = Fields(raw)
        missing = {kind: found.inner("missing").texts(kind) for kind in _NEEDS}
        return cls(
            name=found.text("name"),
            key=found.text("skillKey"),
            description=found.text("description"),
            source=found.text("source"),
            path=found.text("filePath"),
            folder=found.text("baseDir"),
            eligible=found.flag("eligible"),
            disabled=found.flag("disabled"),
            model_visible=found.flag("modelVisible"),
            primary_env=found.text("primaryEnv"),
            missing={kind: names for kind, names in missing.items() if names},
            install=tuple(_option(Fields(one)) for one in found.objects("install")),
            raw=raw,
        )


def _option(found: Fields) -> InstallOption:
    return InstallOption(
        id=found.text("id"),
        kind=found.text("kind"),
        label=found.text("label"),
        bins=found.texts("bins"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillsStatus:
    """Every skill of an agent."""

    agent_id: str
    workspace: str
    skills: tuple[Skill, ...]
    raw: Json = field(repr=False)

    @classmethod
    def read(cls, raw: Json) -> "SkillsStatus":
        """Read the answer of `skills.status`."""
        found = Fields(raw)
        return cls(
            agent_id=found.text("agentId"),
            workspace=found.text("workspaceDir"),
            skills=tuple(Skill.read(one) for one in found.objects("skills")),
            raw=raw,
        )

    def named(self, name: str) -> Skill | None:
        """Return the skill of that name."""
        return next((skill for skill in self.skills if skill.name == name), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillDetail:
    """All about one skill."""

    skill: Skill
    body: str
    resources: tuple[str, ...]
    raw: Json = field(repr=False)

    @classmethod
    def read(cls, raw: Json) -> "SkillDetail":
        """Read the answer of `skills.detail`.

        Raises:
            GatewayCallError: there is no such skill.
        """
        found = Fields(raw).inner("skill")
        if not found.raw:
            message = "there is no skill of that name: `status` lists those that there are"
            raise GatewayCallError(NO_SKILL, message, payload=raw)
        return cls(
            skill=Skill.read(found.raw),
            body=found.text("body"),
            resources=found.texts("resources"),
            raw=raw,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A skill that fits a message."""

    name: str
    score: float
    reasons: tuple[str, ...]
    location: str
    raw: Json = field(repr=False)

    @classmethod
    def read(cls, raw: Json) -> "Match":
        """Read one match of a route."""
        found = Fields(raw)
        return cls(
            name=found.text("name"),
            score=found.number("score"),
            reasons=found.texts("reasons"),
            location=found.text("location"),
            raw=raw,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NotReady:
    """A skill that fits a message and cannot be used, and what would change that."""

    name: str
    score: float
    # What keeps it, in the gateway's word: `allowed` where only the agent's list does.
    stage: str
    reason: str
    fix: str
    raw: Json = field(repr=False)

    @classmethod
    def read(cls, raw: Json) -> "NotReady":
        """Read one of what a route names besides its matches."""
        found = Fields(raw)
        return cls(
            name=found.text("name"),
            score=found.number("score"),
            stage=found.text("stage"),
            reason=found.text("reason"),
            fix=found.text("fix"),
            raw=raw,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Which skills a message needs."""

    # The decision in the gateway's word, such as load, offer or none.
    decision: str
    matches: tuple[Match, ...]
    considered: tuple[Match, ...]
    threshold: float
    took_ms: float
    notes: tuple[str, ...]
    # Only for who asks for it.
    not_ready: tuple[NotReady, ...]
    raw: Json = field(repr=False)

    @classmethod
    def read(cls, raw: Json) -> "Route":
        """Read the answer of `skills.route`."""
        found = Fields(raw)
        return cls(
            decision=found.text("decision"),
            matches=tuple(Match.read(one) for one in found.objects("matches")),
            considered=tuple(Match.read(one) for one in found.objects("considered")),
            threshold=found.number("threshold"),
            took_ms=found.number("tookMs"),
            notes=found.texts("notes"),
            not_ready=tuple(NotReady.read(one) for one in found.objects("notReady")),
            raw=raw,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """Why a skill is, or is not, used."""

    name: str
    # Whether the model sees it, or, for a message, whether it would be loaded.
    used: bool
    reason: str
    fix: str
    steps: tuple[Step, ...]
    raw: Json = field(repr=False)

    @classmethod
    def read(cls, raw: Json) -> "Why":
        """Read the answer of `skills.why`."""
        found = Fields(raw)
        return cls(
            name=found.text("name"),
            used=found.flag("loaded") if "loaded" in raw else found.flag("visible"),
            reason=found.text("reason"),
            fix=found.text("fix"),
            steps=tuple(Step.read(one) for one in found.objects("steps")),
            raw=raw,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """What a model is told about its skills."""

    text: str
    agent_id: str
    version: int
    included: tuple[str, ...]
    dropped: tuple[str, ...]
    raw: Json = field(repr=False)

    @classmethod
    def read(cls, raw: Json) -> "Prompt":
        """Read the answer of `skills.prompt`."""
        found = Fields(raw)
        return cls(
            text=found.text("prompt"),
            agent_id=found.text("agentId"),
            version=found.whole("version") or 0,
            included=found.texts("included"),
            dropped=found.texts("dropped"),
            raw=raw,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What was listed, routed and used."""

    totals: tuple[UsageTotal, ...]
    events: tuple[UsageEvent, ...]
    # Where to go on; None where this is the end.
    next_sequence: int | None
    raw: Json = field(repr=False)

    @classmethod
    def read(cls, raw: Json) -> "Usage":
        """Read the answer of `skills.usage`."""
        found = Fields(raw)
        return cls(
            totals=tuple(UsageTotal.read(one) for one in found.objects("totals")),
            events=tuple(UsageEvent.read(one) for one in found.objects("events")),
            next_sequence=found.whole("nextSequence"),
            raw=raw,
        )
