"""What parameters of methods may hold, and the sets of them that several methods share.

Bounds are part of the contract: what is longer or larger than any honest client sends is refused
before a service sees it.
"""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, ValidationError, ValidatorFunctionWrapHandler
from pydantic.functional_validators import WrapValidator
from pydantic_core import PydanticCustomError

from prowess.gateway.calls import Params

AgentId = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
# Whose skills; the default agent's where none is named.
Agent = AgentId | None
Message = Annotated[str, StringConstraints(min_length=1, max_length=20_000)]
Text = Annotated[str, StringConstraints(max_length=1_048_576)]
# More than a variable can hold; what is unusually long is told when it is set.
Secret = Annotated[str, StringConstraints(max_length=262_144)]
# The number of an event. No store counts further.
EventNumber = Annotated[int, Field(ge=0, le=(1 << 63) - 1)]


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


class WhyParams(SkillParams):
    """`skills.why`: the way of a skill to the model, or of a message to a skill."""

    message: Message | None = None


class ValidateParams(SkillParams):
    """`skills.validate`."""

    strict: bool = False


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


class ProposalParams(AgentParams):
    """`skills.proposals.inspect`."""

    proposal_id: Name


class NewProposalParams(AgentParams):
    """What a proposal for a new text of a skill says, and why."""

    content: Content
    support_files: SupportFiles = ()
    goal: Words | None = None
    evidence: Words | None = None


class CreateProposalParams(NewProposalParams):
    """`skills.proposals.create`."""

    name: Name
    description: Words


class UpdateProposalParams(NewProposalParams):
    """`skills.proposals.update`."""

    skill_name: Name
    description: Words | None = None


class EvaluateParams(ProposalParams):
    """`skills.proposals.evaluate`."""

    expected_revision_hash: Hash | None = None
    correlation_id: CorrelationId | None = None


class ReviseProposalParams(EvaluateParams):
    """`skills.proposals.revise`."""

    content: Content | None = None
    description: Words | None = None
    # In place of those that were proposed.
    support_files: SupportFiles | None = None
    goal: Words | None = None
    evidence: Words | None = None


class MayDecideParams(EvaluateParams):
    """`skills.proposals.quarantine` and `rollback`."""

    reason: Words | None = None


class DecideParams(MayDecideParams):
    """`skills.proposals.apply` and `reject`: only what was seen is decided about."""

    expected_revision_hash: Hash


# Longer messages are routed, but are no test that anybody would read again.
TestMessage = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=4_000)
]
FilePath = Annotated[str, StringConstraints(min_length=1, max_length=1_000)]


class HarnessParams(Params):
    """`harness.plan` and `harness.connect`; the plan that was seen is named by its hash."""

    harness: Name
    scope: Literal["user", "project"] | None = None
    remove: bool = False
    plan: Name | None = None
