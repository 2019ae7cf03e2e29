"""One WebSocket from its first frame to its last.

One task reads, another writes, and requests run beside both, so answers may overtake each other and
a client that does not read delays nobody. Whatever a client does, it can only end its own
connection. Frames, parameters and headers are never logged.
"""

import asyncio
import logging
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from starlette.websockets import WebSocket, WebSocketDisconnect

from prowess.gateway.calls import Client, Code, Json
from prowess.gateway.dispatch import Answering, Lane, attempt, log_without_values
from prowess.gateway.frames import (
    Fault,
    Refused,
    RequestFrame,
    encode,
    error_response,
    event_text,
    ok_response,
    read_request,
    refusal_response,
)
from prowess.gateway.gate import Accepted, Doorkeeper, Rejected, Visit
from prowess.gateway.hub import Hub, Outbox
from prowess.gateway.limits import EVENTS, GatewayOptions, TokenBucket
from prowess.gateway.server import take_large_frames
from prowess.safety.web_addresses import is_this_machine
from prowess.wire.handshake import CHALLENGE

log = logging.getLogger(__name__)

CONNECT = "connect"
NORMAL_CLOSE, POLICY_CLOSE, BROKEN_CLOSE, TOO_LARGE_CLOSE = 1000, 1008, 1011, 1009
# A close frame has room for 123 bytes.
MOST_REASON_CHARS = 120
_CLOSE_CODES = {Fault.TOO_LARGE: TOO_LARGE_CLOSE, Fault.BINARY: 1003, Fault.MALFORMED: 1007}
_GONE = (WebSocketDisconnect, RuntimeError, OSError)


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayCore:
    """What every connection of a gateway shares."""

    options: GatewayOptions
    hub: Hub
    answering: Answering
    doorkeeper: Doorkeeper
    # What a client is told of the state of things when it connects; runs in a thread.
    snapshot: Callable[[], Json]
    # Drops the calls of a connection that have not begun.
    forget: Callable[[str], None]
    # How many lines of the log strangers may cause: they must not be able to fill the disk.
    lines: TokenBucket


class Connection:
    """One client, or someone who may become one."""

    def __init__(self, socket: WebSocket, gateway: GatewayCore) -> None:
        self._socket, self._gateway, self._hub = socket, gateway, gateway.hub
        self._limits = limits = gateway.hub.limits
        self.id, self._nonce = secrets.token_hex(8), secrets.token_urlsafe(24)
        self.client: Client | None = None
        self.since_ms = self._hub.now_ms()
        self._outbox = Outbox(limits.queue_messages, limits.queue_bytes, self._hub.budget)
        self._bucket = TokenBucket(limits.frames_per_second, limits.burst, self._hub.clock)
        self._sequence = 0
        self._running: set[asyncio.Task[None]] = set()
        self._goodbye: tuple[int, str] | None = None
        self._gone = False
        self._writer: asyncio.Task[None] | None = None

    async def serve(self) -> None:
        """Serve the client until one side ends it."""
        tasks: list[asyncio.Task[None]] = []
        try:
            await self._socket.accept()
            self._writer = asyncio.create_task(self._write())
            tasks = [asyncio.create_task(self._read()), self._writer]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            tasks[0].cancel()
            self._outbox.finish()
            await asyncio.wait(tasks, timeout=self._limits.goodbye_seconds)
        except _GONE:
            self._gone = True
        finally:
            await self._end(tasks)

    def send_event(self, event: str, payload_text: str) -> None:
        """Put an event into the queue, with its number in this connection."""
        self._sequence += 1
        self._offer(event_text(event, payload_text, self._sequence))

    def notify(self, event: str, payload: Json) -> None:
        """Send an event to this client alone; safe from any thread."""
        self._hub.post(self._notify, event, encode(payload))

    def close(self, code: int, reason: str) -> None:
        """Send what is queued, then end; the first reason is the one that is told."""
        if self._goodbye is None:
            self._goodbye = (code, reason)
        self._outbox.finish()

    @property
    def queued_bytes(self) -> int:
        """How much waits to be sent."""
        return self._outbox.bytes

    def drop(self, reason: str) -> None:
        """End at once, without what is queued."""
        self.close(POLICY_CLOSE, reason)
        self._outbox.abandon()
        if self._writer is not None:
            self._writer.cancel()

    def _notify(self, event: str, payload_text: str) -> None:
        if self._goodbye is None and not self._gone:
            self._hub.metrics.sent_event(event, 1)
            self.send_event(event, payload_text)

    def _offer(self, text: str) -> None:
        if self._goodbye is not None:
            return
        if self._outbox.put(text):
            self._hub.relieve()
            return
        self._hub.metrics.dropped_client()
        self.drop("slow consumer: read faster, then connect again")

    async def _write(self) -> None:
        with suppress(*_GONE):
            while (text := await self._outbox.first()) is not None:
                await self._socket.send_text(text)
                self._outbox.sent()

    async def _end(self, tasks: list[asyncio.Task[None]]) -> None:
        self._hub.leave(self)
        if self.client is not None:
            why = "left" if self._goodbye is None else self._goodbye[1]
            log.info("client.gone", extra={"client": self.id, "why": why})
        # What has not begun would be done for nobody; what has begun is never cut.
        self._gateway.forget(self.id)
        for task in tasks:
            task.cancel()
        for outcome in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(outcome, Exception):
                log_without_values("a connection", outcome)
                self.close(BROKEN_CLOSE, "internal error")
        self._outbox.abandon()
        if self._gone:
            return
        code, reason = self._goodbye or (NORMAL_CLOSE, "")
        # Who does not read does not get this either, and is cut off.
        with suppress(*_GONE, TimeoutError):
            async with asyncio.timeout(self._limits.goodbye_seconds):
                await self._socket.close(code, reason[:MOST_REASON_CHARS])

    async def _read(self) -> None:
        try:
            async with asyncio.timeout(self._limits.handshake_seconds):
                welcome = await self._greet()
        except TimeoutError:
            self._hub.metrics.rejected("deadline")
            seconds = self._limits.handshake_seconds
            self.close(POLICY_CLOSE, f"handshake timeout: send connect within {seconds:g} seconds")
            return
        while welcome:
            request = await self._receive_request(self._gateway.options.max_payload)
            if request is None:
                return
            self._take(request)

    async def _receive_request(self, most_bytes: int) -> RequestFrame | None:
        """Return the next good request; None when there will be no more."""
        while True:
            message = await self._socket.receive()
            if message["type"] == "websocket.disconnect":
                self._gone = True
                if message.get("code") == TOO_LARGE_CLOSE:
                    self._hub.metrics.refused_frame(Fault.TOO_LARGE)
                return None
            if not self._bucket.take():
                self._refuse(_flood(self._limits.frames_per_second))
                return None
            text = message.get("text")
            found = read_request(message.get("bytes") or b"" if text is None else text, most_bytes)
            if isinstance(found, RequestFrame):
                return found
            self._refuse(found)
            if found.fatal:
                return None

    def _refuse(self, refused: Refused) -> None:
        self._hub.metrics.refused_frame(refused.fault)
        self._offer(encode(refusal_response(refused)))
        if refused.fatal:
            self.close(_CLOSE_CODES.get(refused.fault, POLICY_CLOSE), refused.message)

    async def _greet(self) -> bool:
        """Send the challenge and wait for a good `connect`."""
        challenge = encode({"nonce": self._nonce, "ts": self._hub.now_ms()})
        self._offer(event_text(CHALLENGE, challenge, None))
        for _ in range(self._limits.handshake_tries):
            request = await self._receive_request(self._limits.stranger_payload)
            if request is None:
                return False
            if request.method != CONNECT:
                self._refuse(_not_connected(request.id))
            elif await self._connect(request):
                return True
            if self._goodbye is not None:
                return False
        self._hub.metrics.rejected("tries")
        self.close(POLICY_CLOSE, "too many tries without a good connect")
        return False

    async def _connect(self, request: RequestFrame) -> bool:
        began, hub = self._hub.clock(), self._hub
        decision = self._gateway.doorkeeper.admit(request.params, self._visit())
        if isinstance(decision, Accepted):
            decision = await self._hello(request, decision)
        outcome = decision.code.value if isinstance(decision, Rejected) else "ok"
        hub.metrics.answered(CONNECT, outcome, hub.clock() - began)
        if not isinstance(decision, Rejected):
            return True
        hub.metrics.rejected(outcome)
        if self._gateway.lines.take():
            log.info("client.refused", extra={"client": self.id, "why": outcome})
        error = error_response(request.id, decision.spoken, decision.message, decision.details)
        self._offer(encode(error))
        if decision.close is not None:
            self.close(decision.close, decision.message)
        return False

    def _visit(self) -> Visit:
        peer = self._socket.client.host if self._socket.client else ""
        return Visit(
            connection_id=self.id,
            nonce=self._nonce,
            peer=peer,
            local=is_this_machine(peer),
            now_ms=self._hub.now_ms(),
        )

    async def _hello(self, request: RequestFrame, accepted: Accepted) -> Accepted | Rejected:
        hello = await attempt(self._hello_text(request, accepted))
        if isinstance(hello, Exception):
            log_without_values("the snapshot for a client", hello)
            message = "the gateway cannot tell its state: its log says where"
            return Rejected(code=Code.UNAVAILABLE, message=message, close=BROKEN_CLOSE)
        self._offer(hello)
        take_large_frames(self._socket.scope)
        # From here on it gets events, so hello-ok is in the queue before.
        self.client, self.since_ms = accepted.client, self._hub.now_ms()
        self._hub.welcome(self)
        told = {"client": self.id, "role": accepted.client.role, "app": accepted.client.name}
        log.info("client.connected", extra=told)
        return accepted

    async def _hello_text(self, request: RequestFrame, accepted: Accepted) -> str:
        gateway = self._gateway
        snapshot = await gateway.answering.run(gateway.snapshot, lane=Lane.HELLO)
        return encode(ok_response(request.id, self._hello_payload(accepted, snapshot)))

    def _hello_payload(self, accepted: Accepted, snapshot: Json) -> Json:
        options, client = self._gateway.options, accepted.client
        return {
            "type": "hello-ok",
            "protocol": accepted.protocol,
            "server": {"version": options.version, "connId": self.id},
            "features": {
                "methods": list(self._gateway.answering.table.names),
                "events": list(EVENTS),
            },
            "snapshot": snapshot,
            "auth": {
                "method": options.method,
                "role": client.role,
                "scopes": list(accepted.granted),
            },
            "policy": {
                "maxPayload": options.max_payload,
                "maxBufferedBytes": self._limits.queue_bytes,
                "tickIntervalMs": options.tick_ms,
            },
        }

    def _take(self, request: RequestFrame) -> None:
        refusal = self._no_room(request)
        if refusal is not None:
            self._offer(encode(refusal))
            return
        task = self._hub.start(self._answer(request))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    def _no_room(self, request: RequestFrame) -> Json | None:
        if request.method == CONNECT:
            message = "already connected: open another connection to connect again"
            return error_response(request.id, Code.INVALID_REQUEST, message)
        if self._hub.closing:
            message = "the gateway is stopping: connect again in a moment"
            return error_response(request.id, Code.UNAVAILABLE, message)
        if len(self._running) >= self._limits.in_flight:
            message = f"too many requests: wait for answers, {self._limits.in_flight} may be open"
            return error_response(request.id, Code.RATE_LIMITED, message)
        return None

    async def _answer(self, request: RequestFrame) -> None:
        if self.client is not None:
            _, text = await self._gateway.answering.answer(request, self.client, self.notify)
            self._offer(text)


def _flood(rate: float) -> Refused:
    return Refused(
        fault=Fault.FLOOD,
        code=Code.RATE_LIMITED,
        message=f"too many frames: send at most {rate:g} a second",
    )


def _not_connected(request_id: str) -> Refused:
    return Refused(
        fault=Fault.NOT_CONNECTED,
        code=Code.NOT_CONNECTED,
        message="not connected: send connect first",
        id=request_id,
        fatal=False,
    )
