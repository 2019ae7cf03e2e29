"""The parameters of the methods about proposals, as closed models."""

from typing import Annotated

from pydantic import Field, StringConstraints

from prowess.gateway.calls import Params
from prowess.gateway.methods.params import ForAgent, Name, Sequence

Content = Annotated[str, StringConstraints(min_length=1, max_length=1_048_576)]
SupportText = Annotated[str, StringConstraints(max_length=262_144)]
Words = Annotated[str, StringConstraints(max_length=2_000)]
Hash = Annotated[str, StringConstraints(min_length=1, max_length=128)]


class SupportFile(Params):
    """One more file of a skill."""

    path: Annotated[str, StringConstraints(min_length=1, max_length=400)]
    content: SupportText


SupportFiles = Annotated[tuple[SupportFile, ...], Field(max_length=64)]


class Listed(ForAgent):
    """`skills.proposals.list`."""

    status: Name | None = None


class One(ForAgent):
    """`skills.proposals.inspect`."""

    proposal_id: Name


class Events(ForAgent):
    """`skills.proposals.events.list`."""

    proposal_id: Name | None = None
    after_sequence: Sequence = 0
    limit: int = Field(default=100, ge=1, le=200)


class Create(ForAgent):
    """`skills.proposals.create`."""

    name: Name
    description: Words
    content: Content
    support_files: SupportFiles = ()
    goal: Words | None = None
    evidence: Words | None = None


class Update(ForAgent):
    """`skills.proposals.update`."""

    skill_name: Name
    content: Content
    description: Words | None = None
    support_files: SupportFiles = ()
    goal: Words | None = None
    evidence: Words | None = None


class Revise(One):
    """`skills.proposals.revise`."""

    expected_revision_hash: Hash | None = None
    correlation_id: Annotated[str, StringConstraints(max_length=256)] | None = None
    content: Content | None = None
    description: Words | None = None
    # In place of those that were proposed.
    support_files: SupportFiles | None = None
    goal: Words | None = None
    evidence: Words | None = None


class Decide(One):
    """`skills.proposals.apply` and `reject`: only what was seen is decided about."""

    expected_revision_hash: Hash
    correlation_id: Annotated[str, StringConstraints(max_length=256)] | None = None
    reason: Words | None = None


class MayDecide(One):
    """`skills.proposals.quarantine` and `rollback`."""

    expected_revision_hash: Hash | None = None
    correlation_id: Annotated[str, StringConstraints(max_length=256)] | None = None
    reason: Words | None = None
