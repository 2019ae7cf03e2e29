"""What groups of methods need of a client: a way to call, and whom they are about."""

from abc import ABC, abstractmethod
from collections.abc import Mapping

from prowess.client.fields import Json


class Calls(ABC):
    """A client, as far as a group of methods knows it."""

    # The agent that is meant where a call names none; None leaves it to the gateway.
    agent: str | None = None

    @abstractmethod
    async def request(self, method: str, params: Json, seconds: float | None = None) -> Json:
        """Call a method and return its answer."""

    def about(self, agent: str | None, params: Mapping[str, object] | None = None) -> Json:
        """Return parameters with the agent that is meant, and without what was not given."""
        named = {"agentId": agent or self.agent, **(params or {})}
        return {name: value for name, value in named.items() if value is not None}
