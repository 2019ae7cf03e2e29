"""What a gateway answers, as models that its client reads.

A gateway may be newer or older than its client: what is missing or misshapen has its default, and
`raw` holds the whole answer, new fields included. Only the client reads answers, so only it loads
these models; the terminal writes its JSON by plain functions, since models take longer to load than
most commands take to run.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Self, TypeAlias, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

Json: TypeAlias = dict[str, Any]
_T = TypeVar("_T")
_NEEDS = ("bins", "anyBins", "env", "config", "os")
_NO_COUNTS = frozenset(("name", "agentId", "lastUsedAt"))


def read_text(raw: object, name: str) -> str:
    """Return the text under a name, or an empty one."""
    return _text(read_object(raw).get(name))


def read_object(raw: object) -> Json:
    """Return an object, or an empty one."""
    return raw if isinstance(raw, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _read_whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _texts(value: object) -> tuple[str, ...]:
    items = value if isinstance(value, list | tuple) else ()
    return tuple(item for item in items if isinstance(item, str))


def _objects(value: object) -> tuple[Json, ...]:
    items = value if isinstance(value, list) else ()
    return tuple(item for item in items if isinstance(item, dict))


Text = Annotated[str, BeforeValidator(_text)]
Flag = Annotated[bool, BeforeValidator(lambda value: value is True)]
Whole = Annotated[int | None, BeforeValidator(_read_whole)]
Count = Annotated[int, BeforeValidator(lambda value: _read_whole(value) or 0)]
Number = Annotated[float, BeforeValidator(_number)]
Texts = Annotated[tuple[str, ...], BeforeValidator(_texts)]
Object = Annotated[Json, BeforeValidator(read_object)]
Rows = Annotated[tuple[_T, ...], BeforeValidator(_objects)]


class GatewayAnswer(BaseModel):
    """An answer, or a part of one."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel)

    raw: Json = Field(default_factory=dict, repr=False)

    # Whatever JSON holds.
    def __getitem__(self, name: str) -> Any:  # noqa: ANN401
        """Return what the gateway sent under that name."""
        return self.raw[name]

    @classmethod
    def read(cls, raw: object) -> Self:
        """Understand an answer of any shape."""
        return cls.model_validate(read_object(raw))

    @model_validator(mode="before")
    @classmethod
    def _keep_raw(cls, value: object) -> Json:
        raw = read_object(value)
        return {**raw, **cls.find_fields(raw), "raw": raw}

    @classmethod
    def find_fields(cls, raw: Json) -> Json:
        """Return the fields that do not stand under their own name."""
        del raw
        return {}


class HelloAnswer(GatewayAnswer):
    """What a gateway says when it lets a client in."""

    protocol: Count = 0
    version: Text = ""
    methods: Texts = ()
    events: Texts = ()
    scopes: Texts = ()
    default_agent: Text = ""
    # 0 where it does not say.
    max_payload: Count = 0

    @classmethod
    def find_fields(cls, raw: Json) -> Json:
        """Take apart what is sent in groups."""
        features = read_object(raw.get("features"))
        snapshot = read_object(raw.get("snapshot"))
        return {
            "version": read_text(raw.get("server"), "version"),
            "methods": features.get("methods"),
            "events": features.get("events"),
            "scopes": read_object(raw.get("auth")).get("scopes"),
            "defaultAgent": read_text(snapshot.get("health"), "defaultAgentId"),
            "maxPayload": read_object(raw.get("policy")).get("maxPayload"),
        }


class AgentAnswer(GatewayAnswer):
    """An agent of the config."""

    id: Text = ""
    name: Text = ""
    is_default: Flag = False
    workspace: Text = ""
    # None: all of them.
    skills: tuple[str, ...] | None = None

    @classmethod
    def find_fields(cls, raw: Json) -> Json:
        """Read one agent of a list, or of the health report."""
        skills = raw.get("skills")
        return {
            "id": _text(raw.get("id")) or _text(raw.get("agentId")),
            "skills": _texts(skills) if isinstance(skills, list) else None,
        }


class AgentsAnswer(GatewayAnswer):
    """The agents of the config."""

    agents: Rows[AgentAnswer] = ()


class HealthAnswer(AgentsAnswer):
    """That a gateway works, and for whom."""

    ok: Flag = False
    default_agent: Text = Field(default="", alias="defaultAgentId")
    uptime_ms: Count = 0


class InstallOptionAnswer(GatewayAnswer):
    """One way to get what a skill needs."""

    id: Text = ""
    kind: Text = ""
    label: Text = ""
    bins: Texts = ()


class SkillAnswer(GatewayAnswer):
    """A skill with its verdict."""

    name: Text = ""
    key: Text = Field(default="", alias="skillKey")
    description: Text = ""
    source: Text = ""
    path: Text = Field(default="", alias="filePath")
    folder: Text = Field(default="", alias="baseDir")
    eligible: Flag = False
    disabled: Flag = False
    model_visible: Flag = False
    primary_env: Text = ""
    # By kind (bins, anyBins, env, config, os), and only kinds of which something is missing.
    missing: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    install: Rows[InstallOptionAnswer] = ()

    @classmethod
    def find_fields(cls, raw: Json) -> Json:
        """Leave out kinds of which nothing is missing."""
        missing = read_object(raw.get("missing"))
        found = {kind: _texts(missing.get(kind)) for kind in _NEEDS}
        return {"missing": {kind: names for kind, names in found.items() if names}}


class StatusAnswer(GatewayAnswer):
    """Every skill of an agent (`skills.status`)."""

    agent_id: Text = ""
    workspace: Text = Field(default="", alias="workspaceDir")
    skills: Rows[SkillAnswer] = ()

    def named(self, name: str) -> SkillAnswer | None:
        """Return the skill of that name."""
        return next((skill for skill in self.skills if skill.name == name), None)


class DetailAnswer(GatewayAnswer):
    """All about one skill (`skills.detail`)."""

    skill: SkillAnswer
    body: Text = ""
    resources: Texts = ()

    @classmethod
    def find_fields(cls, raw: Json) -> Json:
        """Take text and files out of the skill."""
        skill = read_object(raw.get("skill"))
        return {"skill": skill, "body": skill.get("body"), "resources": skill.get("resources")}


class MatchAnswer(GatewayAnswer):
    """A skill that fits a message."""

    name: Text = ""
    score: Number = 0.0
    reasons: Texts = ()
    location: Text = ""


class NotReadyAnswer(GatewayAnswer):
    """A skill that fits a message and cannot be used, and what would change that."""

    name: Text = ""
    score: Number = 0.0
    # What keeps it, in the gateway's word: `allowed` where only the agent's list does.
    stage: Text = ""
    reason: Text = ""
    fix: Text = ""


class RouteAnswer(GatewayAnswer):
    """Which skills a message needs (`skills.route`)."""

    # The decision in the gateway's word, such as load, offer or none.
    decision: Text = ""
    matches: Rows[MatchAnswer] = ()
    considered: Rows[MatchAnswer] = ()
    threshold: Number = 0.0
    took_ms: Number = 0.0
    notes: Texts = ()
    # Only for who asks for it.
    not_ready: Rows[NotReadyAnswer] = ()


class StepAnswer(GatewayAnswer):
    """One station on a skill's way to the model."""

    stage: Text = ""
    passed: Flag = False
    detail: Text = ""
    fix: Text = ""


class WhyAnswer(GatewayAnswer):
    """Why a skill is, or is not, used (`skills.why`)."""

    name: Text = ""
    # Whether the model sees it, or, for a message, whether it would be loaded.
    used: Flag = False
    reason: Text = ""
    fix: Text = ""
    steps: Rows[StepAnswer] = ()

    @classmethod
    def find_fields(cls, raw: Json) -> Json:
        """Read both forms of the question."""
        return {"used": raw["loaded"] if "loaded" in raw else raw.get("visible")}


class PromptAnswer(GatewayAnswer):
    """What a model is told about its skills (`skills.prompt`)."""

    text: Text = Field(default="", alias="prompt")
    agent_id: Text = ""
    version: Count = 0
    included: Texts = ()
    dropped: Texts = ()


class UsageTotalAnswer(GatewayAnswer):
    """How often one agent was shown, given and used one skill."""

    name: Text = ""
    agent_id: Text = ""
    # By what happened, in the gateway's word: listed, routed, loaded and so on.
    counts: Mapping[str, int] = Field(default_factory=dict)
    # In ISO 8601; empty where it never was.
    last_used_at: Text = ""

    @classmethod
    def find_fields(cls, raw: Json) -> Json:
        """Take every other number for a count."""
        counts = {name: _read_whole(value) for name, value in raw.items() if name not in _NO_COUNTS}
        return {"counts": {name: count for name, count in counts.items() if count is not None}}


class UsageEventAnswer(GatewayAnswer):
    """One use of one skill."""

    sequence: Count = 0
    # In ISO 8601.
    at: Text = ""
    type: Text = ""
    name: Text = ""
    agent_id: Text = ""


class UsageAnswer(GatewayAnswer):
    """What was listed, routed and used (`skills.usage`)."""

    totals: Rows[UsageTotalAnswer] = ()
    events: Rows[UsageEventAnswer] = ()
    # Where to go on; None where this is the end.
    next_sequence: Whole = None


class ProgressAnswer(GatewayAnswer):
    """How an install goes: a piece of output, or a number of bytes."""

    stream: Text = ""
    text: Text = ""
    received: Whole = None
    # None where nobody knows.
    total: Whole = None


class InstallAnswer(GatewayAnswer):
    """What became of an install; a failed one is a result, too."""

    ok: Flag = False
    message: Text = ""
    stdout: Text = ""
    stderr: Text = ""
    code: Whole = None
    warnings: Texts = ()
    agent_id: Text = ""
    workspace: Text = Field(default="", alias="workspaceDir")


class EntryAnswer(GatewayAnswer):
    """A skill's entry in the config, with markers in place of secrets (`skills.update`)."""

    skill_key: Text = ""
    values: Object = Field(default_factory=dict, alias="config")


class RemovedAnswer(GatewayAnswer):
    """A skill in the trash; the id brings it back."""

    id: Text = ""
    # False where it was gone already.
    removed: Flag = False
    path: Text = ""
    source: Text = ""

    @classmethod
    def find_fields(cls, raw: Json) -> Json:
        """Read the answer of `skills.remove`, or one entry of the trash."""
        return {
            "removed": raw.get("removed") is True or "removedAt" in raw,
            "path": _text(raw.get("removedPath")) or raw.get("path"),
        }


class TrashAnswer(GatewayAnswer):
    """The removed skills that can come back."""

    removed: Rows[RemovedAnswer] = ()


class ConfigAnswer(GatewayAnswer):
    """The config, with a marker in place of each secret; send the marker back to keep it."""

    values: Object = Field(default_factory=dict, alias="config")
    hash: Text = ""
    path: Text = ""
    exists: Flag = False
    valid: Flag = False
    issues: Annotated[tuple[Json, ...], BeforeValidator(_objects)] = ()


class ConfigWrittenAnswer(GatewayAnswer):
    """What a change of the config came to."""

    values: Object = Field(default_factory=dict, alias="config")
    hash: Text = ""
    changed: Texts = Field(default=(), alias="changedPaths")


class ProposalAnswer(GatewayAnswer):
    """One proposal, without its text."""

    id: Text = ""
    status: Text = ""
    kind: Text = ""
    title: Text = ""
    description: Text = ""
    skill: Text = ""
    # Of what was seen; a decision is about this one only.
    revision: Text = ""

    @classmethod
    def find_fields(cls, raw: Json) -> Json:
        """Read an entry of the list, or a record."""
        return {
            "skill": _text(raw.get("skillName")) or read_text(raw.get("target"), "skillName"),
            "revision": _text(raw.get("revisionHash")) or raw.get("draftHash"),
        }


class ProposalsAnswer(GatewayAnswer):
    """What waits and what was decided."""

    proposals: Rows[ProposalAnswer] = ()


class InspectionAnswer(GatewayAnswer):
    """One proposal with what would be written, and what is there now."""

    proposal: ProposalAnswer
    content: Text = ""
    current: Text = Field(default="", alias="currentContent")
    files: Mapping[str, str] = Field(default_factory=dict)

    @classmethod
    def find_fields(cls, raw: Json) -> Json:
        """Take the record for the proposal, and its files by their paths."""
        files = _objects(raw.get("supportFiles"))
        return {
            "proposal": read_object(raw.get("record")),
            "files": {read_text(one, "path"): read_text(one, "content") for one in files},
        }


class ProposalEventAnswer(GatewayAnswer):
    """One line of the log of proposals."""

    sequence: Count = 0
    proposal_id: Text = ""
    type: Text = ""


class ProposalEventsAnswer(GatewayAnswer):
    """What happened to proposals, oldest first."""

    events: Rows[ProposalEventAnswer] = ()
