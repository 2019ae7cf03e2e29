"""Telling clients that something changed, each in the way of its time.

Newer clients open a stream and say what they want to hear of; older ones are told unasked. What was
told is compared with what is, so that nobody hears of a change twice, or of one that is none. The
lists are compared as clients see them: a skill that an agent may not use is no news to it.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
    event_to_notification,
)
from mcp_types import NotificationParams

if TYPE_CHECKING:
    from mcp.server.session import ServerSession

MOST_STREAMS = 256
_MOST_WAITING = 64
# Who does not take a notice in this time goes without it.
_PATIENCE_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientView:
    """The skills as clients see them, in a form that can be compared."""

    # The hash of each SKILL.md, by its address.
    pages: Mapping[str, str]
    prompts: str
    tools: str


class Notices:
    """Who listens, and what they have been told."""

    def __init__(self, look: Callable[[], Awaitable[ClientView]]) -> None:
        """Begin; `look` says what clients see now."""
        self._look = look
        self._bus = InMemorySubscriptionBus()
        self.listen = ListenHandler(
            self._bus, max_subscriptions=MOST_STREAMS, max_buffered_events=_MOST_WAITING
        )
        # The newest last. Nothing says when one is gone; telling it then costs nothing.
        self._older: OrderedDict[int, ServerSession] = OrderedDict()
        self._seen: ClientView | None = None
        self._turn = anyio.Lock()
        self.closed = False

    # The context is what the SDK makes it.
    async def welcome(
        self, context: ServerRequestContext[Any, Any], _params: NotificationParams
    ) -> None:
        """Remember a client of the older kind, which has just said that it is ready."""
        self._older[id(context.session)] = context.session
        while len(self._older) > MOST_STREAMS:
            self._older.popitem(last=False)

    async def begin(self) -> None:
        """Take what is there as told, unless something was told already."""
        async with self._turn:
            if self._seen is None:
                self._seen = await self._look()

    async def changed(self) -> None:
        """Look what changed, and tell it."""
        async with self._turn:
            if self._seen is None:
                # Nobody asked for anything yet, so nobody knows anything that could be old.
                return
            before, now = self._seen, await self._look()
            self._seen = now
        for event in _news(before, now):
            await self._bus.publish(event)
            if not isinstance(event, ResourceUpdated):
                await self._tell_older(event)

    def close(self) -> None:
        """End every stream in good order."""
        self.closed = True
        self.listen.close()
        self._older.clear()

    async def _tell_older(self, event: ServerEvent) -> None:
        notice = event_to_notification(event, {})
        for session in tuple(self._older.values()):
            with anyio.move_on_after(_PATIENCE_SECONDS):
                await session.send_notification(notice)


def _news(before: ClientView, now: ClientView) -> list[ServerEvent]:
    news: list[ServerEvent] = []
    if before.pages != now.pages:
        news.append(ResourcesListChanged())
    if before.prompts != now.prompts:
        news.append(PromptsListChanged())
    if before.tools != now.tools:
        news.append(ToolsListChanged())
    kept = [uri for uri in now.pages if uri in before.pages]
    news += [ResourceUpdated(uri) for uri in kept if before.pages[uri] != now.pages[uri]]
    return news
