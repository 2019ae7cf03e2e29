"""One connection to a gateway (`Link`), and one that comes back if that is wanted (`Line`).

Answers may overtake each other, so each call waits for its own. A gateway cuts off who sends too
much at once; the link waits instead. A call that was under way when the connection ended fails: it
may have been done, and only its caller knows whether it may be done twice. A call that begins in
the meantime waits. Whatever holds a secret is kept out of representations, logs and tracebacks.
"""

import asyncio
import json
import logging
import random
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import version
from urllib.parse import urlsplit, urlunsplit

from websockets.asyncio.client import ClientConnection
from websockets.asyncio.client import connect as open_socket
from websockets.exceptions import (
    ConnectionClosed,
    InvalidHandshake,
    InvalidStatus,
    InvalidURI,
    WebSocketException,
)
from websockets.protocol import State

from prowess.client.calls import (
    LASTING,
    MISMATCH,
    NO_ANSWER,
    TOO_LARGE,
    Event,
    Events,
    GatewayCallError,
    GatewayLostError,
    NotSentError,
    read_refusal,
)
from prowess.errors import ProwessError
from prowess.safety.web_addresses import is_this_machine
from prowess.wire.answers import HelloAnswer, Json, read_object, read_text
from prowess.wire.handshake import (
    CHALLENGE,
    NEWEST_PROTOCOL,
    NODE,
    OLDEST_PROTOCOL,
    OPERATOR,
    ConnectParams,
    DeviceIdentity,
)

DEFAULT_MAX_PAYLOAD = 512 * 1024
_SCHEMES = {"ws": "ws", "wss": "wss", "http": "ws", "https": "wss"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a gateway is."""

    url: str
    # For messages: without what a user may have written beside the host.
    shown: str
    is_local: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """What opens the door."""

    token: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    role: str = OPERATOR
    scopes: tuple[str, ...] = ()
    device: DeviceIdentity | None = None
    # Tells the connections of one program from those of others.
    instance_id: str = ""


def read_address(url: str) -> Address:
    """Understand an address; what `prowess serve` prints (http) is taken, too.

    Raises:
        ValueError: it is no address of a gateway.
    """
    parts = urlsplit(url.strip())
    scheme, host = _SCHEMES.get(parts.scheme.lower()), parts.hostname
    if scheme is None or not host:
        raise ValueError("give the address of the gateway as ws://HOST:PORT or wss://HOST:PORT")
    if parts.username is not None or parts.password is not None:
        raise ValueError("give the token as token=..., not inside of the address")
    shown = f"[{host}]" if ":" in host else host
    return Address(
        url=urlunsplit((scheme, parts.netloc, parts.path or "/", parts.query, "")),
        shown=f"{scheme}://{shown}:{parts.port}" if parts.port else f"{scheme}://{shown}",
        is_local=is_this_machine(host),
    )


def connect_params(credentials: Credentials, nonce: str, now_ms: int) -> Json:
    """Return the parameters of `connect`."""
    client = {
        "id": "prowess-client",
        "version": version("prowess"),
        "platform": sys.platform,
        "mode": "backend",
        "instanceId": credentials.instance_id,
    }
    secrets = {"token": credentials.token, "password": credentials.password}
    params = ConnectParams.model_validate(
        {
            "minProtocol": OLDEST_PROTOCOL,
            "maxProtocol": NEWEST_PROTOCOL,
            "client": client,
            "role": credentials.role,
            "scopes": credentials.scopes,
            "caps": (),
            "auth": {name: value for name, value in secrets.items() if value} or None,
        }
    )
    if credentials.device is not None:
        params = credentials.device.sign(params, credentials.token, nonce, now_ms)
    return params.dump()


def read_hello(payload: object) -> HelloAnswer:
    """Understand the answer to `connect`.

    Raises:
        GatewayCallError: the gateway speaks a protocol that we do not.
    """
    found = HelloAnswer.read(payload)
    if not OLDEST_PROTOCOL <= found.protocol <= NEWEST_PROTOCOL:
        span = f"{OLDEST_PROTOCOL} to {NEWEST_PROTOCOL}"
        said = f"the gateway speaks protocol {found.protocol}, this client {span}"
        raise GatewayCallError(MISMATCH, f"{said}: update the older")
    return found


def name_scopes(scopes: Sequence[str], role: str = OPERATOR) -> tuple[str, ...]:
    """Return scopes by their full names: `read` is `operator.read`; without any, every right."""
    wanted = scopes or ((NODE,) if role == NODE else ("admin", "read", "write"))
    return tuple(one if "." in one or one == "node" else f"operator.{one}" for one in wanted)


# A report about many skills is large; more than this is no report.
MOST_RECEIVED = 64 * 1024 * 1024
# Below what gateways take: 60 frames a second after a burst of 120, and 32 open calls.
FRAMES_PER_SECOND, BURST, OPEN_CALLS = 50.0, 100, 30
_FORBIDDEN = 403
_MOST_REASON = 200
# What the socket says for debugging holds whole frames, and the first one holds the token: who asks
# for every message of a program does not ask for that.
_quiet = logging.getLogger("prowess.client.socket")
_quiet.addHandler(logging.NullHandler())
_quiet.setLevel(logging.CRITICAL)
_quiet.propagate = False


class _Direct(open_socket):
    """A connection to the address that was given, and to no other that its answer names."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        return exc


class Pace:
    """Says how long to wait before the next frame: a burst is free, then there is a rate."""

    def __init__(self, rate: float, burst: int, clock: Callable[[], float]) -> None:
        self._step, self._burst, self._clock = 1.0 / rate, burst, clock
        self._next = clock() - burst * self._step

    def seconds(self) -> float:
        """Take the next place, and return how long it is until then."""
        now = self._clock()
        self._next = max(self._next, now - self._burst * self._step) + self._step
        return max(0.0, self._next - now)


class Link:
    """A connection that was let in."""

    def __init__(self, socket: ClientConnection, greeting: HelloAnswer) -> None:
        self._socket, self.hello = socket, greeting
        self._waiting: dict[str, asyncio.Future[Json]] = {}
        self._count = 0
        self._places = asyncio.Semaphore(OPEN_CALLS)
        self._pace = Pace(FRAMES_PER_SECOND, BURST, time.monotonic)
        self._last_words = ""
        self._reading: asyncio.Task[None] | None = None

    def start(self, hear: Callable[[Json], None], gone: Callable[[GatewayLostError], None]) -> None:
        """Begin to read: events are heard in their order, and the end is told once."""
        self._reading = asyncio.create_task(self._read(hear, gone))

    async def request(self, method: str, params: Json) -> Json:
        """Send a request and wait for its answer.

        Raises:
            GatewayCallError: it is refused.
            NotSentError: the connection is about to end, and the request was not sent.
            GatewayLostError: the connection ended before the answer came.
        """
        async with self._places:
            await asyncio.sleep(self._pace.seconds())
            self._count += 1
            request_id = str(self._count)
            text = request_text(
                request_id, method, params, self.hello.max_payload or DEFAULT_MAX_PAYLOAD
            )
            answer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
            if self._socket.state is not State.OPEN:
                raise NotSentError("the connection to the gateway is ending: connect again.")
            self._waiting[request_id] = answer
            try:
                await self._socket.send(text)
                return _payload(await answer)
            except ConnectionClosed as closed:
                raise self._explain_loss(closed) from None
            finally:
                del self._waiting[request_id]
                if answer.done() and not answer.cancelled():
                    # Where sending failed, nobody else looks at what the reader says of the end.
                    answer.exception()

    async def ended(self) -> None:
        """Wait until the end of the connection was told."""
        if self._reading is not None:
            await asyncio.wait([self._reading])

    async def close(self) -> None:
        """End the connection; calls that wait are told."""
        await self._socket.close()
        await self.ended()

    async def _read(
        self, hear: Callable[[Json], None], gone: Callable[[GatewayLostError], None]
    ) -> None:
        error = GatewayLostError("the connection to the gateway was closed.")
        try:
            while True:
                self._take(await self._socket.recv(), hear)
        except ConnectionClosed as closed:
            error = self._explain_loss(closed)
        except GatewayLostError as unreadable:
            error = unreadable
        finally:
            for answer in tuple(self._waiting.values()):
                if not answer.done():
                    answer.set_exception(error)
            gone(error)
        if self._socket.state is State.OPEN:
            # It is given up: nobody reads it any more.
            await self._socket.close()

    def _take(self, text: str | bytes, hear: Callable[[Json], None]) -> None:
        frame = read_frame(text)
        kind = frame.get("type")
        if kind == "event":
            hear(frame)
        elif kind == "res":
            answer = self._waiting.get(str(frame.get("id")))
            if answer is not None and not answer.done():
                answer.set_result(frame)
            elif not frame.get("ok"):
                # It belongs to no call: the gateway says why it is about to hang up.
                self._last_words = read_text(frame.get("error"), "message")

    def _explain_loss(self, closed: ConnectionClosed) -> GatewayLostError:
        return lost(closed, self._last_words)


async def open_link(where: Address, credentials: Credentials, seconds: float) -> Link:
    """Connect, and say who we are; nothing is read after the greeting before `start`.

    Raises:
        GatewayCallError: the gateway does not let us in.
        GatewayLostError: there is no gateway, or it does not answer in time.
    """
    try:
        async with asyncio.timeout(seconds):
            socket = await _Direct(
                where.url,
                # Proxies are for other machines.
                proxy=None if where.is_local else True,
                compression=None,
                open_timeout=None,
                max_size=MOST_RECEIVED,
                logger=_quiet,
            )
            return await _greet(socket, credentials)
    except TimeoutError:
        problem = f"{where.shown} does not answer: is it a gateway? Try again, or wait longer."
        raise GatewayLostError(problem) from None
    except InvalidStatus as error:
        raise _explain_refusal(where, error) from None
    except ConnectionClosed as closed:
        raise lost(closed) from None
    # Their messages repeat what was given as the address, or sent.
    except (OSError, InvalidHandshake, InvalidURI, EOFError) as error:
        problem = f"{where.shown} cannot be reached ({type(error).__name__}): start a gateway there"
        raise GatewayLostError(f"{problem} with `prowess serve`.") from None


async def _greet(socket: ClientConnection, credentials: Credentials) -> Link:
    try:
        frame = read_frame(await socket.recv())
        while frame.get("event") != CHALLENGE:
            frame = read_frame(await socket.recv())
        nonce = read_text(frame.get("payload"), "nonce")
        params = connect_params(credentials, nonce, time.time_ns() // 1_000_000)
        await socket.send(request_text("0", "connect", params, DEFAULT_MAX_PAYLOAD))
        while frame.get("type") != "res":
            frame = read_frame(await socket.recv())
        return Link(socket, read_hello(_payload(frame)))
    except BaseException:
        # Whoever waits for the greeting gets no link that could close it.
        with suppress(OSError, WebSocketException):
            await asyncio.shield(socket.close())
        raise


def request_text(request_id: str, method: str, params: Json, most_bytes: int) -> str:
    """Return the frame of a request.

    Raises:
        GatewayCallError: it is longer than the gateway takes.
        TypeError: JSON has no form for a parameter.
    """
    frame = {"type": "req", "id": request_id, "method": method, "params": params}
    text = json.dumps(frame, allow_nan=False, separators=(",", ":"))
    if len(text) > most_bytes:
        message = f"{method}: {len(text)} bytes are more than the gateway takes ({most_bytes})"
        raise GatewayCallError(TOO_LARGE, f"{message}: send less at once")
    return text


def read_frame(text: str | bytes) -> Json:
    """Return the frame that a text holds; what is none is an empty one.

    Raises:
        GatewayLostError: it is nested so deeply that it cannot be read; what it was is not known.
    """
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    except RecursionError:
        problem = "the connection to the gateway ended (it sent what is nested too deeply)"
        raise GatewayLostError(f"{problem}: is it a gateway? Connect again.") from None
    return found if isinstance(found, dict) else {}


def lost(closed: ConnectionClosed, last_words: str = "") -> GatewayLostError:
    """Return what a closed connection means for who uses it."""
    end = closed.rcvd
    said = last_words or (end.reason if end is not None else "")
    shown = "".join(char if char.isprintable() else " " for char in said)[:_MOST_REASON].strip()
    why = f" ({shown})" if shown else ""
    return GatewayLostError(f"the connection to the gateway ended{why}: connect again.")


def _payload(frame: Json) -> Json:
    if not frame.get("ok"):
        raise read_refusal(frame)
    return read_object(frame.get("payload"))


def _explain_refusal(where: Address, error: InvalidStatus) -> GatewayCallError | GatewayLostError:
    status, body = error.response.status_code, read_frame(bytes(error.response.body or b""))
    said = read_text(body.get("error"), "message")
    if status == _FORBIDDEN:
        return GatewayCallError("FORBIDDEN", said or f"{where.shown} does not let us in")
    problem = f"{where.shown} answers {status}{f' ({said})' if said else ''}"
    return GatewayLostError(f"{problem}: is it a gateway, and has it room?")


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
        link.start(self._hear, lambda error: self._note_loss(link, error))
        self._change.set()

    def _hear(self, frame: Json) -> None:
        event = self.events.hear(frame)
        for name, listener in tuple(self._listeners.values()):
            if name == event.name:
                listener(event)

    def _note_loss(self, link: Link, error: GatewayLostError) -> None:
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
