"""The web server and its two protocols, set up so that they neither tell nor take too much.

Its own defaults would print paths with their query strings, believe the addresses that strangers
write into proxy headers, unpack compressed frames, let everybody send pings without end or begin a
request and never finish it, and fill the log with lines. So there are bounds, and what a stranger
causes is counted and not logged. How many connections there may be depends on how many files this
process may open.
"""

import asyncio
import errno
import logging
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import HANDLED_SIGNALS
from websockets.frames import Frame
from websockets.http11 import Request

from prowess.gateway.dispatch import log_without_values
from prowess.gateway.hub import Hub, Metrics
from prowess.gateway.limits import KIB, GatewayLimits, GatewayOptions, TokenBucket

_LARGE_FRAMES = "prowess.large_frames"
# A frame that is too long is still read up to so many times its bound, to be answered.
PATIENCE = 4
# Who takes this much in the given time is slow, but alive.
_LEAST_PROGRESS = 16 * KIB
_REASONS = {
    "Invalid HTTP request received.": "malformed",
    "Exceeded concurrency limit.": "crowded",
    "Unsupported upgrade request.": "upgrade",
    "ASGI callable returned without completing handshake.": "gone",
}


class GatewayConfig(uvicorn.Config):
    """The server's settings, and the gateway that its connections belong to."""

    # Whatever uvicorn takes.
    def __init__(self, app: Any, hub: Hub, **settings: Any) -> None:  # noqa: ANN401
        super().__init__(app, **settings)
        self.hub = hub


class CountingLogger(logging.Logger):
    """Counts what strangers cause, and writes nothing."""

    def __init__(self, metrics: Metrics) -> None:
        super().__init__("gateway.strangers", logging.WARNING)
        self._metrics = metrics

    def handle(self, record: logging.LogRecord) -> None:
        """Count one line."""
        self._metrics.rejected(_REASONS.get(str(record.msg), "trouble"))


class _Progress:
    """Cuts off who takes nothing of what is sent to it."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, transport: asyncio.Transport) -> None:
        """Look whether anything was taken, again and again until `end`."""
        self.end()
        size = transport.get_write_buffer_size()
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(self._seconds, self._look, transport, size)

    def end(self) -> None:
        """Stop looking."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self, transport: asyncio.Transport, before: int) -> None:
        self._timer = None
        if transport.get_write_buffer_size() > before - _LEAST_PROGRESS:
            transport.abort()
        else:
            self.begin(transport)


class _Sender(asyncio.Protocol):
    """A protocol that cuts off who takes nothing."""

    transport: asyncio.Transport
    _progress: _Progress

    def pause_writing(self) -> None:
        """Wait until the other side has read."""
        super().pause_writing()
        self._progress.begin(self.transport)

    def resume_writing(self) -> None:
        """Write on."""
        super().resume_writing()
        self._progress.end()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._progress.end()
        super().connection_lost(exc)


class GatewayHttp(_Sender, H11Protocol):
    """HTTP whose requests must arrive in time."""

    # Whatever uvicorn hands over.
    def __init__(self, config: GatewayConfig, *arguments: Any, **named: Any) -> None:  # noqa: ANN401
        super().__init__(config, *arguments, **named)
        self._limits = config.hub.limits
        self.logger = CountingLogger(config.hub.metrics)
        self._progress = _Progress(self._limits.progress_seconds)
        self._late: asyncio.TimerHandle | None = None
        self.since = 0.0

    # As in the class that it extends.
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin; where there are too many, the oldest that asks for nothing goes."""
        self.since = self.loop.time()
        super().connection_made(transport)
        self._watch()
        if len(self.connections) > self._limits.sockets:
            idle = [one for one in self.connections if isinstance(one, GatewayHttp) and one.is_idle]
            oldest = min(idle, key=lambda one: one.since, default=self)
            self.logger.warning("Exceeded concurrency limit.")
            oldest.cut()

    @property
    def is_idle(self) -> bool:
        """Whether no request of it is being answered."""
        # None until the first request, which its annotation does not say.
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is None or cycle.response_complete

    def cut(self) -> None:
        """End at once."""
        # Now, and not when the loop gets to it: the next one counts again.
        self.connections.discard(self)
        self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._unwatch()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._watch()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """Hand over to the other protocol."""
        super().handle_websocket_upgrade(event)
        self._unwatch()

    def _watch(self) -> None:
        """Give the header of the next request a time, which more bytes do not lengthen.

        The rest of a body that nobody reads any more counts as well: it may drip without end.
        """
        if not self.is_idle or self.transport.get_protocol() is not self:
            self._unwatch()
        elif self._late is None:
            self._late = self.loop.call_later(self._limits.header_seconds, self.cut)

    def _unwatch(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


class GatewaySocket(_Sender, WebSocketsSansIOProtocol):
    """WebSockets whose pings and pieces are counted, and whose first frames are small."""

    # Whatever uvicorn hands over.
    def __init__(self, config: GatewayConfig, *arguments: Any, **named: Any) -> None:  # noqa: ANN401
        super().__init__(config, *arguments, **named)
        limits, clock = config.hub.limits, config.hub.clock
        self._hub = config.hub
        self.logger = CountingLogger(config.hub.metrics)
        self.conn.logger = self.logger
        self._large = self.conn.max_message_size
        self.conn.max_message_size = PATIENCE * limits.stranger_payload
        self._control = TokenBucket(limits.control_per_second, limits.control_burst, clock)
        self._pieces = TokenBucket(limits.pieces_per_second, limits.pieces_burst, clock)
        self._progress = _Progress(limits.progress_seconds)
        self._cut = self._deaf = False

    def data_received(self, data: bytes) -> None:
        """Read on, unless nothing more is wanted."""
        if not self._deaf:
            super().data_received(data)

    def handle_parser_exception(self) -> None:
        """Say what is wrong, and let the other side finish before the line is cut.

        A line that is cut with bytes unread loses the goodbye that is on its way.
        """
        fault = self.conn.close_sent
        if self._deaf or fault is None:
            return
        self._deaf = self.close_sent = True
        gone = {"type": "websocket.disconnect", "code": fault.code, "reason": fault.reason}
        # As the other events of a socket, whose types are private to the server.
        self.queue.put_nowait(gone)  # type: ignore[arg-type]
        self.transport.write(b"".join(self.conn.data_to_send()))
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.transport.resume_reading()
        self.close_timer = self.loop.call_later(
            self._hub.limits.goodbye_seconds, self.transport.close
        )

    def handle_connect(self, event: Request) -> None:
        """Let the app say when larger frames are welcome."""
        super().handle_connect(event)
        if self.handshake_initiated and not self.close_sent:
            # The scope belongs to the app, which gets it in its next turn.
            extensions: dict[str, Any] = self.scope["extensions"]
            extensions[_LARGE_FRAMES] = self._take_large_frames

    def handle_ping(self) -> None:
        """Answer a ping, unless there are too many."""
        if self._is_allowed(self._control):
            super().handle_ping()

    def handle_pong(self, event: Frame) -> None:
        """Take a pong, unless there are too many."""
        if self._is_allowed(self._control):
            super().handle_pong(event)

    def handle_cont(self, event: Frame) -> None:
        """Take a piece, unless there are too many."""
        if self._is_allowed(self._pieces):
            super().handle_cont(event)

    def _take_large_frames(self) -> None:
        self.conn.max_message_size = self._large

    def _is_allowed(self, bucket: TokenBucket) -> bool:
        if self._cut or self.transport.is_closing():
            return False
        if bucket.take():
            return True
        self._cut = True
        self._hub.metrics.rejected("flood")
        self.transport.abort()
        return False


def take_large_frames(scope: MutableMapping[str, Any]) -> None:
    """Take frames of the full length from a client that has said who it is."""
    take = scope.get("extensions", {}).get(_LARGE_FRAMES)
    if take is not None:
        take()


log = logging.getLogger(__name__)

STOP_REASON = "the gateway stops: connect again in a moment"
_GRACEFUL_SECONDS = 5
# As many open files as are asked for, and where the system does not say how many there are.
_WANTED_FILES, _USUAL_FILES = 4096, 1024
# What the loop stumbles over may repeat without end.
_MOST_LINES = 10
_NO_MORE_FILES = {errno.EMFILE, errno.ENFILE}
# asyncio writes this for whoever hangs up while it is being answered.
_HUNG_UP = "socket.send() raised exception."


def server_settings(options: GatewayOptions, limits: GatewayLimits) -> dict[str, Any]:
    """Return how uvicorn must be set up for the gateway."""
    return {
        # Beyond what we take, so that a frame which is too long gets an answer that says so.
        "ws_max_size": PATIENCE * options.max_payload,
        "ws_per_message_deflate": False,
        "ws": GatewaySocket,
        "http": GatewayHttp,
        "loop": "asyncio",
        "lifespan": "on",
        "log_config": None,
        "log_level": "warning",
        "access_log": False,
        "proxy_headers": False,
        "server_header": False,
        # Never reached: the protocols let the oldest go before, and the server would refuse all.
        "limit_concurrency": 2 * limits.sockets,
        "timeout_graceful_shutdown": _GRACEFUL_SECONDS,
    }


class GatewayServer(uvicorn.Server):
    """A server that tells its clients before it goes."""

    def __init__(self, config: uvicorn.Config, hub: Hub) -> None:
        super().__init__(config)
        self._hub = hub
        # In tenths of a second: a connection of no use is cut after one to two of these.
        self.sweep_every = 100
        self._useless: set[object] = set()
        self._ready: Callable[[], None] | None = None
        self._told_of_files, self._lines_left = False, _MOST_LINES

    async def until_signal(self, listener: socket.socket, ready: Callable[[], None]) -> None:
        """Serve until a signal comes; `ready` is called once clients can connect."""
        self._ready = ready
        await self.serve(sockets=[listener])

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop at a signal, and do not raise it again: who called us still has to tidy up."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in HANDLED_SIGNALS}
        try:
            yield
        finally:
            for number, action in before.items():
                signal.signal(number, action)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        for listener in sockets or []:
            # Connections inherit it; without, small answers wait 40 ms for an acknowledgement.
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        asyncio.get_running_loop().set_exception_handler(self._trouble)
        logging.getLogger("asyncio").addFilter(_is_worth_a_line)
        await super().startup(sockets=sockets)
        if self.started and self._ready is not None:
            self._ready()

    async def on_tick(self, counter: int) -> bool:
        """Do what is due, ten times a second; return whether to stop."""
        if counter % self.sweep_every == 0:
            self._sweep()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Say goodbye, let running calls end, then stop."""
        await self._hub.close(STOP_REASON)
        await super().shutdown(sockets=sockets)
        logging.getLogger("asyncio").removeFilter(_is_worth_a_line)

    def _trouble(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Take what goes wrong between the loop and the system: told once, then counted."""
        self._hub.metrics.rejected("trouble")
        error = context.get("exception")
        is_files = isinstance(error, OSError) and error.errno in _NO_MORE_FILES
        if not isinstance(error, OSError) and self._lines_left:
            self._lines_left -= 1
            log_without_values("the event loop", error or RuntimeError())
        if is_files and not self._told_of_files:
            self._told_of_files = True
            log.error("no more files can be opened: raise the limit (ulimit -n), then start again")

    def _sweep(self) -> None:
        """Cut those off who neither read their goodbye nor ever sent a whole request."""
        useless = {one for one in self.server_state.connections if _is_useless(one)}
        for connection in useless & self._useless:
            connection.transport.abort()
        self._useless = set(useless)


def _is_useless(connection: object) -> bool:
    transport = getattr(connection, "transport", None)
    # Only HTTP connections have a cycle, and None until their first request.
    silent = getattr(connection, "cycle", connection) is None
    return transport is not None and (silent or transport.is_closing())


def gateway_server(
    app: ASGIApp, hub: Hub, options: GatewayOptions, *, host: str = "127.0.0.1", port: int = 0
) -> GatewayServer:
    """Return a server for the app of a gateway; host and port are for who brings no socket."""
    hub.limits = hub.limits.fitted(raised_file_limit())
    settings = server_settings(options, hub.limits)
    return GatewayServer(GatewayConfig(app, hub, host=host, port=port, **settings), hub)


def raised_file_limit(wanted: int = _WANTED_FILES) -> int:
    """Return how many files may be open, after asking the system for as many as are wanted."""
    if sys.platform == "win32":
        return wanted
    resource = import_module("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    endless = resource.RLIM_INFINITY
    if soft == endless or soft >= wanted:
        return wanted
    reachable = wanted if hard == endless else min(wanted, hard)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (reachable, hard))
    except (OSError, ValueError):
        # Some systems say that more may be had than they give.
        return max(soft, 0) or _USUAL_FILES
    return reachable


def _is_worth_a_line(record: logging.LogRecord) -> bool:
    return record.msg != _HUNG_UP
