"""Telling clients that something changed, each in the way of its time.

Newer clients open a stream and say what they want to hear of; older ones are told unasked. What was
told is compared with what is, so that nobody hears of a change twice, or of one that is none. The
lists are compared as clients see them: a skill that an agent may not use is no news to it.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
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

from prowess.mcp.protocol import file_uri
from prowess.skills.catalog import addressed_name
from prowess.skills.commands import build_commands
from prowess.skills.model import Skill

if TYPE_CHECKING:
    from mcp.server.session import ServerSession

MOST_STREAMS = 256
_MOST_WAITING = 64
# Who does not take a notice in this time goes without it.
_PATIENCE_SECONDS = 5.0


@dataclass(frozen=True, kw_only=True)
class ClientView:
    """The skills as clients see them, in a form that can be compared."""

    # What the agent may use, and what only waits for its scan: that is no news once it is scanned.
    skills: tuple[Skill, ...]
    # Whether anything waits for its scan.
    waits: bool
    workshop: bool

    @cached_property
    def pages(self) -> Mapping[str, str]:
        """The hash of each SKILL.md, by its address."""
        visible = (skill for skill in self.skills if skill.invocation.model)
        named = ((addressed_name(skill), skill) for skill in visible)
        return {file_uri(name): skill.content_hash for name, skill in named if name is not None}

    @cached_property
    def prompts(self) -> Sequence[object]:
        """What is shown of each command that a person may call."""
        return [
            (one.name, one.skill_name, one.description, one.argument_hint)
            for one in build_commands(self.skills)
            if one.dispatch is None
        ]


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
        # Whether a list was given without what waits for its scan.
        self.left_out = False

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
            news = _news(before, now)
            if self.left_out and not now.waits:
                self.left_out = False
                news = [ResourcesListChanged(), PromptsListChanged(), *news]
        for event in dict.fromkeys(news):
            await self.tell(event)

    async def tell(self, event: ServerEvent) -> None:
        """Tell one thing to everybody; of a page alone hears who asked for it."""
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
    news: list[ServerEvent] = [] if before.workshop == now.workshop else [ToolsListChanged()]
    if before.skills is now.skills:
        return news
    if before.pages != now.pages:
        news.append(ResourcesListChanged())
    if before.prompts != now.prompts:
        news.append(PromptsListChanged())
    kept = [uri for uri in now.pages if uri in before.pages]
    news += [ResourceUpdated(uri) for uri in kept if before.pages[uri] != now.pages[uri]]
    return news
