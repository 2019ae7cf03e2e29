"""The web server that runs the app, set up so that it neither tells nor takes too much.

Its own defaults would print paths with their query strings, believe the addresses that strangers
write into proxy headers, unpack compressed frames, and cut clients off before they are told why.
How many connections there may be depends on how many files this process may open: with none left,
it could neither take a connection nor write the config.
"""

import asyncio
import errno
import logging
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.server import HANDLED_SIGNALS

from prowess.gateway.dispatch import log_without_values
from prowess.gateway.hub import Hub
from prowess.gateway.limits import Limits
from prowess.gateway.options import GatewayOptions
from prowess.gateway.protocols import PATIENCE, GatewayConfig, GatewayHttp, GatewaySocket

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


def server_settings(options: GatewayOptions, limits: Limits) -> dict[str, Any]:
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
