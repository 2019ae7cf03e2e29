"""What is not there for who asks of us, and what we do not take from others."""

from prowess.errors import ProwessError
from prowess.safety.paths import shown


# No error of Prowess: it is caught near by and becomes an answer of the protocol.
class NotThere(LookupError):  # noqa: N818
    """What was asked for does not exist for this agent; the message says what to do."""


class RemoteSkillError(ProwessError):
    """A skill of another server is not what it says, or was not approved."""

    code = "skill.remote"

    def __init__(self, uri: str, problem: str) -> None:
        super().__init__(f"{shown(uri)}: {problem}")
        self.uri, self.problem = uri, problem
