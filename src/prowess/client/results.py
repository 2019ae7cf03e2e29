"""What the gateway answers, as values; `raw` holds the whole answer, new fields included.

What the gateway answers where something was changed: installs, entries, removals, config.

The rows of longer answers: numbers of use, events of use, and stations of a skill's way.

Each can also be asked by the name that the gateway uses: `row["lastUsedAt"]`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from prowess.client.fields import Fields, Json
from prowess.client.refusals import NO_SKILL, GatewayCallError


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How an install goes: a piece of output, or a number of bytes."""

    stream: str
    text: str
    received: int | None
    # None where nobody knows.
    total: int | None
    raw: Json = field(repr=False)

    @classmethod
    def read(cls, raw: Json) -> "Progress":
        """Read the payload of `skills.install.progress`."""
        found = Fields(raw)
        return cls(
            stream=found.text("stream"),
            text=found.text("text"),
            received=found.whole("received"),
            total=found.whole("total"),
            raw=raw,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallResult:
    """What became of an install; a failed one is a result, too."""

    ok: bool
    message: str
    stdout: str
    stderr: str
    code: int | None
    warnings: tuple[str, ...]
    agent_id: str
    workspace: str
    raw: Json = field(repr=False)

    @classmethod
    def read(cls, raw: Json) -> "InstallResult":
        """Read the answer of `skills.install`."""
        found = Fields(raw)
        return cls(
            ok=found.flag("ok"),
            message=found.text("message"),
            stdout=found.text("stdout"),
            stderr=found.text("stderr"),
            code=found.whole("code"),
            warnings=found.texts("warnings"),
            agent_id=found.text("agentId"),
            workspace=found.text("workspaceDir"),
            raw=raw,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A skill's entry in the config, with markers in place of secrets."""

    skill_key: str
    values: Json
    raw: Json = field(repr=False)

    @classmethod
    def read(cls, raw: Json) -> "Entry":
        """Read the answer of `skills.update`."""
        found = Fields(raw)
        return cls(skill_key=found.text("skillKey"), values=found.inner("config").raw, raw=raw)


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """A skill in the trash; the id brings it back."""

    id: str
    # False where it was gone already.
    removed: bool
    path: str
    source: str
    raw: Json = field(repr=False)

    @classmethod
    def read(cls, raw: Json) -> "Removed":
        """Read the answer of `skills.remove`, or one entry of the trash."""
        found = Fields(raw)
        return cls(
            id=found.text("id"),
            removed=found.flag("removed") or "removedAt" in raw,
            path=found.text("removedPath") or found.text("path"),
            source=found.text("source"),
            raw=raw,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """The config, with a marker in place of each secret; send the marker back to keep it."""

    values: Json
    hash: str
    path: str
    exists: bool
    valid: bool
    issues: tuple[Json, ...]
    raw: Json = field(repr=False)

    @classmethod
    def read(cls, raw: Json) -> "Config":
        """Read the answer of `config.get`."""
        found = Fields(raw)
        return cls(
            values=found.inner("config").raw,
            hash=found.text("hash"),
            path=found.text("path"),
            exists=found.flag("exists"),
            valid=found.flag("valid"),
            issues=found.objects("issues"),
            raw=raw,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigWritten:
    """What a change of the config came to."""

    values: Json
    hash: str
    changed: tuple[str, ...]
    raw: Json = field(repr=False)

    @classmethod
    def read(cls, raw: Json) -> "ConfigWritten":
        """Read the answer of `config.set` and `config.patch`."""
        found = Fields(raw)
        return cls(
            values=found.inner("config").raw,
            hash=found.text("hash"),
            changed=found.texts("changedPaths"),
            raw=raw,
        )


_NO_COUNTS = frozenset(("name", "agentId", "lastUsedAt"))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    raw: Json = field(repr=False)

    # Whatever JSON holds.
    def __getitem__(self, name: str) -> Any:  # noqa: ANN401
        """Return what the gateway sent under that name."""
        return self.raw[name]


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageTotal(_Row):
    """How often one agent was shown, given and used one skill."""

    name: str
    agent_id: str
    # By what happened, in the gateway's word: listed, routed, loaded and so on.
    counts: Mapping[str, int]
    # In ISO 8601; empty where it never was.
    last_used_at: str

    @classmethod
    def read(cls, raw: Json) -> "UsageTotal":
        """Read one of the totals of `skills.usage`."""
        found = Fields(raw)
        counts = {name: found.whole(name) for name in raw if name not in _NO_COUNTS}
        return cls(
            name=found.text("name"),
            agent_id=found.text("agentId"),
            counts={name: count for name, count in counts.items() if count is not None},
            last_used_at=found.text("lastUsedAt"),
            raw=raw,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageEvent(_Row):
    """One use of one skill."""

    sequence: int
    # In ISO 8601.
    at: str
    type: str
    name: str
    agent_id: str

    @classmethod
    def read(cls, raw: Json) -> "UsageEvent":
        """Read one of the events of `skills.usage`."""
        found = Fields(raw)
        return cls(
            sequence=found.whole("sequence") or 0,
            at=found.text("at"),
            type=found.text("type"),
            name=found.text("name"),
            agent_id=found.text("agentId"),
            raw=raw,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Step(_Row):
    """One station on a skill's way to the model."""

    stage: str
    passed: bool
    detail: str
    fix: str

    @classmethod
    def read(cls, raw: Json) -> "Step":
        """Read one of the steps of `skills.why`."""
        found = Fields(raw)
        return cls(
            stage=found.text("stage"),
            passed=found.flag("passed"),
            detail=found.text("detail"),
            fix=found.text("fix"),
            raw=raw,
        )


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
