"""Reading JSON that a gateway of another version may have sent: what is missing has a default.

What groups of methods need of a client: a way to call, and whom they are about.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]


class Fields:
    """The fields of one object, each with the type that it should have."""

    def __init__(self, raw: object) -> None:
        self.raw: Json = raw if isinstance(raw, dict) else {}

    def text(self, name: str) -> str:
        """Return a text, or an empty one."""
        found = self.raw.get(name)
        return found if isinstance(found, str) else ""

    def flag(self, name: str) -> bool:
        """Return whether it says so."""
        return self.raw.get(name) is True

    def whole(self, name: str) -> int | None:
        """Return a whole number."""
        found = self.raw.get(name)
        return found if isinstance(found, int) and not isinstance(found, bool) else None

    def number(self, name: str) -> float:
        """Return a number, or 0."""
        found = self.raw.get(name)
        return float(found) if isinstance(found, int | float) else 0.0

    def texts(self, name: str) -> tuple[str, ...]:
        """Return the texts of a list."""
        return tuple(item for item in self._list(name) if isinstance(item, str))

    def objects(self, name: str) -> tuple[Json, ...]:
        """Return the objects of a list."""
        return tuple(item for item in self._list(name) if isinstance(item, dict))

    def inner(self, name: str) -> "Fields":
        """Return the fields of an object inside."""
        return Fields(self.raw.get(name))

    def _list(self, name: str) -> list[Any]:
        found = self.raw.get(name)
        return found if isinstance(found, list) else []


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
