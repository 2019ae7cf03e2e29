"""The parameters of the methods, as closed models: skills and config, proposals, the studio.

Bounds are part of the contract: what is longer or larger than any honest client sends is refused
before a service sees it.
"""

from typing import Annotated

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

AgentId = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
Message = Annotated[str, StringConstraints(min_length=1, max_length=20_000)]
Text = Annotated[str, StringConstraints(max_length=1_048_576)]
Secret = Annotated[str, StringConstraints(max_length=16_384)]
# The number of an event. No store counts further.
Sequence = Annotated[int, Field(ge=0, le=(1 << 63) - 1)]


def _unnamed(value: object, check: ValidatorFunctionWrapHandler) -> object:
    """Check variables without naming the one that is wrong: people paste `NAME=value` as a name."""
    try:
        return check(value)
    except ValidationError:
        message = "must be an object of at most 200 variables, each a name and a text"
        raise PydanticCustomError("variables", "{message}", {"message": message}) from None


Variables = Annotated[
    dict[Annotated[str, StringConstraints(max_length=300)], Secret],
    Field(max_length=200),
    WrapValidator(_unnamed),
]


class LenientParams(Params):
    """What clients of other gateways ask for as they please: nothing of it changes the answer."""

    model_config = ConfigDict(extra="ignore")


class AgentParams(Params):
    """An agent, by default the default one."""

    agent_id: AgentId | None = None


class StatusParams(AgentParams):
    """`skills.status`."""

    session_key: Name | None = None


class SkillParams(AgentParams):
    """A skill by its name or its key."""

    name: Name | None = None
    skill_key: Name | None = None
    # What registries call it; the same thing to us.
    slug: Name | None = None


class RouteParams(AgentParams):
    """`skills.route`."""

    message: Message
    files: tuple[Name, ...] = Field(default=(), max_length=50)
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
    """`skills.install`."""

    name: Name
    install_id: Name
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


class MissedParams(Params):
    """`sessions.missed`."""

    days: int = Field(default=14, ge=1, le=90)
    # What people wrote, secrets hidden; without it no word of theirs leaves the gateway.
    reveal: bool = False
    # Reads the sessions again, although they were read a moment ago.
    fresh: bool = False
