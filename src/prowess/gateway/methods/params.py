"""The parameters of the methods, as closed models: skills and config, proposals, the studio.

Bounds are part of the contract: what is longer or larger than any honest client sends is refused
before a service sees it.
"""

from typing import Annotated, Any, Literal

from pydantic import (
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    ValidatorFunctionWrapHandler,
)
from pydantic.functional_validators import WrapValidator
from pydantic_core import PydanticCustomError

from prowess.gateway.calls import Params
from prowess.skills.harness.rules import Reader

AgentId = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
Message = Annotated[str, StringConstraints(min_length=1, max_length=20_000)]
Text = Annotated[str, StringConstraints(max_length=1_048_576)]
# More than a variable can hold; what is unusually long is told when it is set.
Secret = Annotated[str, StringConstraints(max_length=262_144)]
# The number of an event. No store counts further.
Sequence = Annotated[int, Field(ge=0, le=(1 << 63) - 1)]


def _check_unnamed(value: object, check: ValidatorFunctionWrapHandler) -> object:
    """Check variables without naming the one that is wrong: people paste `NAME=value` as a name."""
    try:
        return check(value)
    except ValidationError:
        message = "must be an object of at most 200 variables, each a name and a text"
        raise PydanticCustomError("variables", "{message}", {"message": message}) from None


Variables = Annotated[
    dict[Annotated[str, StringConstraints(max_length=300)], Secret],
    Field(max_length=200),
    WrapValidator(_check_unnamed),
]


class LenientParams(Params):
    """What clients of other gateways ask for as they please: nothing of it changes the answer."""

    model_config = ConfigDict(extra="ignore")


class HealthParams(Params):
    """`health`: what other gateways take, without effect here."""

    probe: bool = False
    include_sensitive: bool = False


class CountsParams(Params):
    """`status`: what other gateways take, without effect here."""

    include_channel_summary: bool = True
    include_cli_projection: bool = False
    include_sensitive: bool = False


class AgentParams(Params):
    """An agent, by default the default one."""

    agent_id: AgentId | None = None


class FreshParams(AgentParams):
    """`skills.fresh` and `skills.test`; without a name, of all skills."""

    name: Name | None = None


class ProofParams(FreshParams):
    """`skills.proof`: a verdict counts for the model and the harness that it was shown with."""

    model: Name | None = None
    harness: Name | None = None


class IdentityParams(AgentParams):
    """`agent.identity.get`."""

    session_key: Name | None = None


class AgentFilesParams(Params):
    """`agents.files.list`."""

    agent_id: AgentId


class AgentFileParams(AgentFilesParams):
    """`agents.files.get`."""

    name: Name


class CreateAgentParams(LenientParams):
    """`agents.create`."""

    name: Name
    workspace: Annotated[str, StringConstraints(min_length=1, max_length=4_096)] | None = None


class SessionsParams(LenientParams):
    """`sessions.list`: of one agent, or with some words in their names."""

    agent_id: AgentId | None = None
    search: Annotated[str, StringConstraints(max_length=1_000)] | None = None
    limit: int = Field(default=200, ge=1, le=10_000)


class SessionParams(LenientParams):
    """`sessions.messages.subscribe`."""

    key: Name


class ChatParams(LenientParams):
    """`chat.startup` and `chat.history`."""

    session_key: Name


class SendParams(ChatParams):
    """`chat.send`."""

    message: Message


class WaitParams(LenientParams):
    """`agent.wait`."""

    run_id: Name


class CardParams(AgentParams):
    """`skills.skillCard`."""

    skill_key: Name


class WorkshopReadParams(AgentParams):
    """`skills.workshop.read`."""

    name: Name


class SearchParams(Params):
    """`skills.search`: without a query, all that is here."""

    query: Name | None = None
    limit: int = Field(default=20, ge=1, le=100)


class StatusParams(AgentParams):
    """`skills.status`."""

    session_key: Name | None = None


class RowsParams(AgentParams):
    """`skills.rows`; `since` is the revision that the client has."""

    since: Name | None = None


class SomeParams(AgentParams):
    """`skills.some`: the skills that a window shows."""

    names: tuple[Name, ...] = Field(max_length=200)


class SourcesParams(AgentParams):
    """`skills.sources`; briefly, skills of which there is nothing to say are names alone."""

    brief: bool = False


class MatchParams(AgentParams):
    """`skills.match`."""

    query: Name


class SkillParams(AgentParams):
    """A skill by its name or its key."""

    name: Name | None = None
    skill_key: Name | None = None
    # What registries call it; the same thing to us.
    slug: Name | None = None


class SharedSkillParams(AgentParams):
    """A locked skill, and which side a conflict is settled for."""

    name: Name
    keep: Literal["local", "upstream", "both"] | None = None


class SharedUpdateParams(SharedSkillParams):
    """`sharing.update`, and what the source gave when a person looked at the preview."""

    to: Annotated[str, Field(max_length=200)] | None = None


HubAddress = Annotated[str, Field(pattern=r"^\w[\w.-]{0,99}/\w[\w.-]{0,99}$")]
HubVersion = Annotated[str, Field(pattern=r"^\w[\w.+-]{0,99}$")]


class HubSearchParams(Params):
    """`hub.search`; without words, what changed last."""

    query: Annotated[str, Field(max_length=2_000)] = ""


class HubSkillParams(Params):
    """A skill of the hub, as `namespace/name`."""

    address: HubAddress


class HubCompareParams(HubSkillParams):
    """`hub.compare`: two versions of a skill; without the first, all that the second has."""

    before: HubVersion | None = None
    after: HubVersion


class HubLabelParams(HubSkillParams):
    """`hub.label`: which version a label stands for from now on."""

    label: HubVersion
    version: HubVersion


class HubReviewParams(HubSkillParams):
    """`hub.review`: yes or no to a version that waits, and why."""

    version: HubVersion
    approve: bool
    reason: Annotated[str, Field(max_length=500)] = ""


class HubYankParams(HubSkillParams):
    """`hub.yank`: a version that nobody should take any more, and why."""

    version: HubVersion
    reason: Annotated[str, Field(min_length=1, max_length=500)]


class AcceptParams(AgentParams):
    """`skills.scan.accept`: a finding by its rule and, where that has several, its evidence."""

    skill_key: Name
    rule_id: Name
    evidence_hash: Annotated[str, Field(max_length=64)] = ""
    reason: Annotated[str, Field(min_length=1, max_length=500)]


class RevokeParams(AgentParams):
    """`skills.scan.revoke`: all that was accepted of a skill, or of one rule, or one finding."""

    skill_key: Name
    rule_id: Annotated[str, Field(max_length=200)] = ""
    evidence_hash: Annotated[str, Field(max_length=64)] = ""


class RouteParams(AgentParams):
    """`skills.route`."""

    message: Message
    files: tuple[Name, ...] = Field(default=(), max_length=50)
    # What was said before, each with a role and a content.
    history: tuple[dict[str, Any], ...] = Field(default=(), max_length=50)
    limit: int = Field(default=5, ge=1, le=50)
    threshold: float | None = Field(default=None, ge=0, le=1)
    # For somebody who tries messages out: nothing is counted as use.
    dry_run: bool = False
    # Also what would fit if it were ready; that takes a second ranking.
    not_ready: bool = False


class WhyParams(SkillParams):
    """`skills.why`: the way of a skill to the model, or of a message to a skill."""

    message: Message | None = None


class PromptParams(AgentParams):
    """`skills.prompt`."""

    tools: tuple[Name, ...] | None = Field(default=None, max_length=500)


class ValidateParams(SkillParams):
    """`skills.validate`."""

    strict: bool = False


class UsageParams(AgentParams):
    """`skills.usage`."""

    name: Name | None = None
    after: Sequence = 0
    limit: int = Field(default=100, ge=1, le=1_000)


class InstallParams(AgentParams):
    """`skills.install`: `name` and `installId`, or what is to come from a registry."""

    name: Name | None = None
    install_id: Name | None = None
    # The forms in which other clients ask for a whole skill; nothing serves them here.
    source: Literal["clawhub", "upload"] | None = None
    slug: Name | None = None
    version: Name | None = None
    upload_id: Name | None = None
    sha256: Name | None = None
    force: bool = False
    # The service takes 15 minutes at most, and says so; nobody means more than a day.
    timeout_ms: int | None = Field(default=None, ge=1_000, le=86_400_000)
    # Taken, as other clients send it, and without effect: nothing lifts the scanner's no.
    dangerously_force_unsafe_install: bool = False


class UpdateParams(Params):
    """`skills.update`."""

    skill_key: Name
    enabled: bool | None = None
    api_key: Secret | None = None
    env: Variables | None = None


class ProvideParams(Params):
    """`skills.provide`."""

    skill_keys: tuple[Name, ...] = Field(min_length=1, max_length=10_000)
    env: Variables


class RemoveParams(AgentParams):
    """`skills.remove`: where it lies is the server's to know."""

    skill_key: Name
    source: Name


class RestoreParams(AgentParams):
    """`skills.restore`."""

    id: Name


class ConfigSetParams(Params):
    """`config.set`."""

    raw: Text
    base_hash: Name | None = None


class ConfigPatchParams(ConfigSetParams):
    """`config.patch`."""

    replace_paths: tuple[Name, ...] = Field(default=(), max_length=100)


class NodeBinsParams(Params):
    """`node.bins`: the programs that a machine lends, out of those that skills ask for."""

    bins: tuple[Name, ...] = Field(max_length=2_000)
    platform: Name | None = None


Content = Annotated[str, StringConstraints(min_length=1, max_length=1_048_576)]
SupportText = Annotated[str, StringConstraints(max_length=262_144)]
Words = Annotated[str, StringConstraints(max_length=2_000)]
Hash = Annotated[str, StringConstraints(min_length=1, max_length=128)]
CorrelationId = Annotated[str, StringConstraints(max_length=256)]


class SupportFileParams(Params):
    """One more file of a skill."""

    path: Annotated[str, StringConstraints(min_length=1, max_length=400)]
    content: SupportText


SupportFiles = Annotated[tuple[SupportFileParams, ...], Field(max_length=64)]


class ListProposalsParams(AgentParams):
    """`skills.proposals.list`."""

    status: Name | None = None
    # What a row of an inbox shows, and nothing about the skills.
    brief: bool = False


class ProposalParams(AgentParams):
    """`skills.proposals.inspect`."""

    proposal_id: Name


class ProposalEventsParams(AgentParams):
    """`skills.proposals.events.list`."""

    proposal_id: Name | None = None
    after_sequence: Sequence = 0
    limit: int = Field(default=100, ge=1, le=200)


class CreateProposalParams(AgentParams):
    """`skills.proposals.create`."""

    name: Name
    description: Words
    content: Content
    support_files: SupportFiles = ()
    goal: Words | None = None
    evidence: Words | None = None


class UpdateProposalParams(AgentParams):
    """`skills.proposals.update`."""

    skill_name: Name
    content: Content
    description: Words | None = None
    support_files: SupportFiles = ()
    goal: Words | None = None
    evidence: Words | None = None


class ReviseProposalParams(ProposalParams):
    """`skills.proposals.revise`."""

    expected_revision_hash: Hash | None = None
    correlation_id: CorrelationId | None = None
    content: Content | None = None
    description: Words | None = None
    # In place of those that were proposed.
    support_files: SupportFiles | None = None
    goal: Words | None = None
    evidence: Words | None = None


class EvaluateParams(ProposalParams):
    """`skills.proposals.evaluate`."""

    expected_revision_hash: Hash | None = None
    correlation_id: CorrelationId | None = None


class DecideParams(ProposalParams):
    """`skills.proposals.apply` and `reject`: only what was seen is decided about."""

    expected_revision_hash: Hash
    correlation_id: CorrelationId | None = None
    reason: Words | None = None


class MayDecideParams(ProposalParams):
    """`skills.proposals.quarantine` and `rollback`."""

    expected_revision_hash: Hash | None = None
    correlation_id: CorrelationId | None = None
    reason: Words | None = None


# Longer messages are routed, but are no test that anybody would read again.
TestMessage = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=4_000)
]
FilePath = Annotated[str, StringConstraints(min_length=1, max_length=1_000)]


class HistoryParams(AgentParams):
    """`skills.history`."""

    name: Name


class FileParams(AgentParams):
    """`skills.file`."""

    name: Name
    path: FilePath


class ActivityParams(AgentParams):
    """`skills.activity`."""

    days: int = Field(default=14, ge=1, le=366)


class AddTestParams(AgentParams):
    """`skills.tests.add`; without a name no skill at all should be loaded."""

    message: TestMessage
    name: Name | None = None
    should: bool = True


class RemoveTestParams(Params):
    """`skills.tests.remove`."""

    id: Name


class CostsParams(AgentParams):
    """`skills.costs`; without an agent, of all of them."""

    window: int | None = Field(default=None, ge=1_000, le=100_000_000)
    # Every description with what becomes of it, and not only how many there are.
    entries: bool = False


class ListedParams(AgentParams):
    """`skills.listed`: whose list."""

    harness: Reader


class HarnessParams(Params):
    """`harness.plan` and `harness.connect`; the plan that was seen is named by its hash."""

    harness: Name
    scope: Literal["user", "project"] | None = None
    remove: bool = False
    plan: Name | None = None


class RecentParams(Params):
    """`skills.recent`."""

    minutes: int = Field(default=60, ge=1, le=1_440)


class MissedParams(Params):
    """`sessions.missed`."""

    days: int = Field(default=14, ge=1, le=90)
    # What people wrote, secrets hidden; without it no word of theirs leaves the gateway.
    reveal: bool = False
    # Reads the sessions again, although they were read a moment ago.
    fresh: bool = False
