"""The shapes of a hub's skills and versions, as it sends them and as clients of a gateway see them.

A hub is another machine: what it sends is read here before anybody relies on it.
"""

from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from prowess.errors import HubError
from prowess.skills.text import clean
from prowess.wire.skills import Json

Text = Annotated[str, BeforeValidator(lambda said: clean(said) if isinstance(said, str) else said)]


class _Shape(BaseModel):
    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True)


class HubSkillShape(_Shape):
    """A skill as a list of a hub has it."""

    namespace: Text
    name: Text
    title: Text
    summary: Text
    # Of the newest version; only lists say it.
    version: Text | None = None
    updated_at: int
    downloads: int
    deprecated: Text | None = None
    looks_like_another: bool = False
    # Which version each label stands for; only a skill's own page says it.
    labels: dict[Text, Text] = {}


class HubScanShape(_Shape):
    """What the scanner said of a version when it was published."""

    verdict: Text = ""
    rules: tuple[Text, ...] = ()


class HubProvenanceShape(_Shape):
    """Who signed a version; empty where nobody did."""

    signer: Text = ""


class HubVersionShape(_Shape):
    """One version, which never changes but in its state."""

    version: Text
    state: Literal["pending", "published", "rejected", "yanked"]
    content_digest: Text
    scan: HubScanShape = HubScanShape()
    provenance: HubProvenanceShape = HubProvenanceShape()
    publisher: Text
    reviewer: Text | None = None
    published_at: int
    changelog: Text = ""
    reason: Text | None = None


class HubListShape(_Shape):
    """What a search or a list holds."""

    skills: tuple[HubSkillShape, ...]


class HubVersionsShape(_Shape):
    """The versions of a skill, the newest first."""

    versions: tuple[HubVersionShape, ...]


class HubComparisonShape(_Shape):
    """What changes from one version to another, as a difference for a person."""

    before: Text
    after: Text
    # As it is: what hides in a text is for whoever shows it to point out.
    difference: str
    # Whether the difference is all of it.
    whole: bool


_Read = TypeVar("_Read", bound=_Shape)


def read_answer(shape: type[_Read], answer: Json) -> Json:
    """Return an answer of a hub with what clients know of, and nothing else.

    Raises:
        HubError: it is no such answer.
    """
    try:
        return shape.model_validate(answer).model_dump(mode="json", by_alias=True)
    except ValidationError as error:
        where = ".".join(str(step) for step in error.errors()[0]["loc"])
        raise HubError("the hub", f"answers with something unexpected at {where}.") from error
