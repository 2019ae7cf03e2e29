"""A connection that comes back, if that is wanted, and the calls that wait for it.

A call that was under way when the connection ended fails: it may have been done, and only its
caller knows whether it may be done twice. A call that begins in the meantime waits.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass

from prowess.client.connection import Link
from prowess.client.events import Event, Events
from prowess.client.fields import Json
from prowess.client.refusals import (
    LASTING,
    NO_ANSWER,
    GatewayCallError,
    GatewayLostError,
    NotSentError,
)
from prowess.errors import ProwessError

Listener = Callable[[Event], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """How long to wait before each try to come back."""

    first_seconds: float = 0.5
    factor: float = 1.7
    most_seconds: float = 15.0

    def delays(self) -> Iterator[float]:
        """Yield the waits, each a little off, so that many clients do not come at once."""
        wait = self.first_seconds
        while True:
            # Nothing is guarded by it.
            yield wait * random.uniform(0.8, 1.2)  # noqa: S311
            wait = min(self.most_seconds, wait * self.factor)


class Line:
    """The way to a gateway, over one connection after another."""

    def __init__(self, dial: Callable[[], Awaitable[Link]], backoff: Backoff | None) -> None:
        self._dial, self._backoff = dial, backoff
        self.events = Events()
        self._link: Link | None = None
        # The one there is, or was before.
        self.last: Link
        self._change = asyncio.Event()
        self._ended: ProwessError | None = None
        self._returning: asyncio.Task[None] | None = None
        self._listeners: dict[object, tuple[str, Listener]] = {}

    async def open(self) -> None:
        """Connect for the first time; before, there is no `last`.

        Raises:
            GatewayCallError: the gateway does not let us in.
            GatewayLostError: there is none.
        """
        self._use(await self._dial())

    async def link(self) -> Link:
        """Return the connection, once there is one.

        Raises:
            GatewayCallError: the gateway does not let us in any more.
            GatewayLostError: the connection is gone for good.
        """
        while self._link is None:
            if self._ended is not None:
                raise self._ended
            self._change.clear()
            await self._change.wait()
        return self._link

    async def request(self, method: str, params: Json, seconds: float) -> Json:
        """Call a method, over the connection there is or the next one.

        Raises:
            GatewayCallError: it is refused, or there is no answer in time.
            GatewayLostError: the connection ended before the answer came.
        """
        try:
            async with asyncio.timeout(seconds):
                while True:
                    link = await self.link()
                    try:
                        return await link.request(method, params)
                    except NotSentError:
                        await link.ended()
        except TimeoutError:
            message = f"{method}: no answer within {seconds:g} seconds; it may still be done"
            raise GatewayCallError(NO_ANSWER, message) from None

    def listen(self, name: str, listener: Listener) -> Callable[[], None]:
        """Call a listener with every event of that name, and return what ends it."""
        key = object()
        self._listeners[key] = (name, listener)

        def stop() -> None:
            self._listeners.pop(key, None)

        return stop

    async def close(self) -> None:
        """End everything; nothing comes back."""
        self._end(GatewayLostError("this client was closed: connect again."), told=None)
        if self._returning is not None:
            self._returning.cancel()
            await asyncio.gather(self._returning, return_exceptions=True)
        link, self._link = self._link, None
        if link is not None:
            await link.close()

    def _use(self, link: Link) -> None:
        self._link = self.last = link
        link.start(self._hear, lambda error: self._gone(link, error))
        self._change.set()

    def _hear(self, frame: Json) -> None:
        event = self.events.hear(frame)
        for name, listener in tuple(self._listeners.values()):
            if name == event.name:
                listener(event)

    def _gone(self, link: Link, error: GatewayLostError) -> None:
        if self._link is not link:
            return
        self._link = None
        if self._ended is not None:
            return
        if self._backoff is None:
            self._end(error, told=error)
        else:
            self._returning = asyncio.create_task(self._return(self._backoff))

    async def _return(self, backoff: Backoff) -> None:
        for wait in backoff.delays():
            await asyncio.sleep(wait)
            try:
                link = await self._dial()
            except GatewayLostError:
                continue
            except GatewayCallError as error:
                if error.reason in LASTING:
                    self._end(error, told=error)
                    return
                continue
            self.events.returned()
            self._use(link)
            return

    def _end(self, error: ProwessError, told: ProwessError | None) -> None:
        if self._ended is None:
            self._ended = error
            self.events.end(told)
            self._change.set()
