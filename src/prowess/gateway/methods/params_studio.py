"""The parameters of the methods that only the studio calls, as closed models."""

from typing import Annotated

from pydantic import Field, StringConstraints

from prowess.gateway.calls import Params
from prowess.gateway.methods.params import ForAgent, Name

# Longer messages are routed, but are no test that anybody would read again.
TestMessage = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=4_000)
]
FilePath = Annotated[str, StringConstraints(min_length=1, max_length=1_000)]


class Sources(ForAgent):
    """`skills.sources`."""


class History(ForAgent):
    """`skills.history`."""

    name: Name


class File(ForAgent):
    """`skills.file`."""

    name: Name
    path: FilePath


class Activity(ForAgent):
    """`skills.activity`."""

    days: int = Field(default=14, ge=1, le=366)


class AddTest(ForAgent):
    """`skills.tests.add`; without a name no skill at all should be loaded."""

    message: TestMessage
    name: Name | None = None
    should: bool = True


class RemoveTest(Params):
    """`skills.tests.remove`."""

    id: Name


class RunTests(ForAgent):
    """`skills.tests.run`."""


class Costs(ForAgent):
    """`skills.costs`; without an agent, of all of them."""

    window: int | None = Field(default=None, ge=1_000, le=100_000_000)
    # Every description with what becomes of it, and not only how many there are.
    entries: bool = False


class Missed(Params):
    """`sessions.missed`."""

    days: int = Field(default=14, ge=1, le=90)
    # What people wrote, secrets hidden; without it no word of theirs leaves the gateway.
    reveal: bool = False
    # Reads the sessions again, although they were read a moment ago.
    fresh: bool = False
