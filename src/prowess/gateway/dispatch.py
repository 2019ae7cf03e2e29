"""From a request to its response: rights, parameters, the method itself, and what went wrong.

Every failure becomes a response. What Prowess raises on purpose is told in its own words; what
nobody expected is told as `internal error`, and logged by type and place only, since the message of
an exception may hold what must not be written down.

Methods run in threads, so that the event loop never waits for a file or a lock. Four lanes have
threads of their own: what a newcomer needs, what is quick, what is slow, and what installs. In a
lane everybody takes turns, and nobody holds all of its threads: who asks for a thousand things
waits for these alone. The threads are daemons, so a call that hangs does not keep the gateway from
ending; `finish` is what waits for the quick ones, which write.
"""

import asyncio
import logging
import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePath
from traceback import extract_tb
from typing import Any, Protocol, TypeVar

from pydantic import ValidationError

from prowess import errors
from prowess.gateway.calls import (
    ROW,
    Answer,
    Client,
    ClientScope,
    Code,
    Json,
    Method,
    Payload,
    RpcCall,
    RpcError,
    RpcFailure,
    Signature,
    describe_missing,
    first_problem,
)
from prowess.gateway.frames import RequestFrame, encode, error_response, ok_response, response_text
from prowess.gateway.hub import UNKNOWN, Metrics
from prowess.gateway.limits import Clock, GatewayLimits
from prowess.skills.text import one_line
from prowess.spans import timed
from prowess.wire.handshake import NODE, OPERATOR

log = logging.getLogger(__name__)

T = TypeVar("T")
Notify = Callable[[str, Json], None]
MOST_NAME_CHARS = 64
# Waits for networks and other programs: it has threads of its own.
_INSTALL = "skills.install"
_BROKEN = "internal error: the gateway's log says where"
# Of the config: what the caller read or sent stands against it, and asking differently mends it.
_MENDABLE = (errors.ConfigConflictError, errors.ConfigSyntaxError)
# Trouble of this machine, which asking differently does not mend.
_UNAVAILABLE = (
    errors.ConfigError,
    errors.DownloadError,
    errors.EncoderError,
    errors.ModelError,
    errors.SecretError,
    errors.StoreError,
    errors.WatchUnavailableError,
)
# How often `finish` looks whether the last write is done.
_LOOK_SECONDS = 0.02
_BUSY = "the gateway is busy: try again in a moment"
_STOPPED = "the gateway is stopping: try again in a moment"
_LEFT = "nobody waits for this any more"


class Lane(StrEnum):
    """Which threads something runs in."""

    # To be greeted, and whether all is well: never behind the calls of clients.
    HELLO = "hello"
    QUICK = "quick"
    SLOW = "slow"
    INSTALL = "install"


class Runner(Protocol):
    """Runs something that blocks."""

    async def __call__(self, work: Callable[[], T], *, lane: Lane) -> T:
        """Return what `work` returns, without blocking the event loop."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Job:
    work: Callable[[], Any]
    share: str
    loop: asyncio.AbstractEventLoop
    outcome: asyncio.Future[Any]

    def do(self) -> None:
        """Run it, and tell the loop how it ended."""
        try:
            found, error = self.work(), None
        # Also what would end a program: it ends this call alone.
        except BaseException as raised:  # noqa: BLE001
            found, error = None, _fit_to_loop(raised)
        # The loop may be gone, and with it who waited.
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self.settle, found, error)

    def settle(self, found: object, error: Exception | None) -> None:
        """Give who waits what came of it; on the loop."""
        if self.outcome.done():
            return
        if error is None:
            self.outcome.set_result(found)
        else:
            self.outcome.set_exception(error)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Size:
    threads: int
    # Calls that wait or run: of all together, and of one.
    most: int
    most_of_one: int


class _Pool:
    """The threads of one lane, and who waits for them; everybody takes turns."""

    def __init__(self, name: str, size: _Size) -> None:
        self._name, self._size = name, size
        # Some threads stay free for others, however much one client asks for.
        self._most_threads_of_one = max(1, size.threads * 3 // 4)
        self._changed = threading.Condition()
        self._queues: OrderedDict[str, deque[_Job]] = OrderedDict()
        self._running: Counter[str] = Counter()
        self._waiting = self._threads = self._idle = 0
        self._closed = False

    def add(self, job: _Job) -> None:
        """Put a job behind the others of its share.

        Raises:
            RpcError: there is no room for it, or no more time.
        """
        with self._changed:
            self._check_room(job.share)
            self._queues.setdefault(job.share, deque()).append(job)
            self._waiting += 1
            if self._idle < self._waiting and self._threads < self._size.threads:
                self._threads += 1
                name = f"gateway-{self._name}-{self._threads}"
                threading.Thread(target=self._work, name=name, daemon=True).start()
            self._changed.notify()

    def _check_room(self, share: str) -> None:
        if self._closed:
            raise RpcError(Code.UNAVAILABLE, _STOPPED)
        if self._waiting + self._running.total() >= self._size.most:
            raise RpcError(Code.UNAVAILABLE, _BUSY)
        mine = len(self._queues.get(share, ())) + self._running[share]
        if mine >= self._size.most_of_one:
            most = self._size.most_of_one
            message = f"too many at once: wait for answers, {most} of these may be open"
            raise RpcError(Code.RATE_LIMITED, message)

    def forget(self, share: str) -> None:
        """Drop what a share waits for and what has not begun."""
        with self._changed:
            dropped = self._queues.pop(share, deque())
            self._waiting -= len(dropped)
        for job in dropped:
            job.settle(None, RpcError(Code.UNAVAILABLE, _LEFT))

    def close(self) -> None:
        """Begin nothing more; what runs is left to itself."""
        with self._changed:
            self._closed = True
            shares = tuple(self._queues)
            self._changed.notify_all()
        for share in shares:
            self.forget(share)

    @property
    def is_idle(self) -> bool:
        """Whether nothing runs."""
        with self._changed:
            return not self._running.total()

    def _work(self) -> None:
        while (job := self._take_job()) is not None:
            job.do()
            with self._changed:
                self._running[job.share] -= 1
                # Also forgets those who are at zero, so that the table stays small.
                self._running = +self._running
                self._changed.notify()

    def _take_job(self) -> _Job | None:
        with self._changed:
            self._idle += 1
            try:
                while not self._closed:
                    job = self._turn()
                    if job is not None:
                        return job
                    self._changed.wait()
            finally:
                self._idle -= 1
        return None

    def _turn(self) -> _Job | None:
        for share, queue in self._queues.items():
            if self._running[share] >= self._most_threads_of_one:
                continue
            job = queue.popleft()
            self._waiting -= 1
            self._running[share] += 1
            if queue:
                self._queues.move_to_end(share)
            else:
                del self._queues[share]
            return job
        return None


class Workers:
    """The lanes of a gateway."""

    def __init__(self, limits: GatewayLimits) -> None:
        most, anything = limits.waiting_calls, limits.waiting_calls
        self._pools = {
            Lane.HELLO: _pool(Lane.HELLO, limits.hello_threads, most, anything),
            Lane.QUICK: _pool(Lane.QUICK, limits.quick_threads, most, anything),
            Lane.SLOW: _pool(Lane.SLOW, limits.slow_threads, most, anything),
            Lane.INSTALL: _pool(Lane.INSTALL, limits.install_threads, most, limits.installs_of_one),
        }

    def share(self, name: str) -> Runner:
        """Return what runs calls in the turn of this share: all calls of one client have one."""

        async def run(work: Callable[[], T], *, lane: Lane) -> T:
            loop = asyncio.get_running_loop()
            outcome: asyncio.Future[T] = loop.create_future()
            self._pools[lane].add(_Job(work=work, share=name, loop=loop, outcome=outcome))
            return await outcome

        return run

    def forget(self, name: str) -> None:
        """Drop the calls of a share that have not begun; those that run go on to their end."""
        for pool in self._pools.values():
            pool.forget(name)

    async def finish(self, seconds: float) -> None:
        """Begin nothing more, and wait for the quick calls that run: these write files."""
        self.close()
        for _ in range(round(seconds / _LOOK_SECONDS)):
            if self._pools[Lane.QUICK].is_idle:
                return
            await asyncio.sleep(_LOOK_SECONDS)

    def close(self) -> None:
        """Begin nothing more; what runs is left to itself."""
        for pool in self._pools.values():
            pool.close()


def _pool(lane: Lane, threads: int, most: int, most_of_one: int) -> _Pool:
    return _Pool(lane.value, _Size(threads=threads, most=most, most_of_one=most_of_one))


def _fit_to_loop(raised: BaseException) -> Exception:
    """Return an error that a future takes and that ends no loop."""
    if isinstance(raised, Exception) and not isinstance(raised, StopIteration):
        return raised
    return RuntimeError(f"a method raised {type(raised).__name__}").with_traceback(
        raised.__traceback__
    )


def collect_methods(*groups: object) -> tuple[Method, ...]:
    """Return the rows of all methods of objects that `rpc` stands above, as they are written."""
    return tuple(
        Method(**row, params=takes.model, answer=_call_with(getattr(group, name), takes))
        for group in groups
        for name, member in vars(type(group)).items()
        if hasattr(member, ROW)
        for row, takes in (getattr(member, ROW),)
    )


def _call_with(answer: Callable[..., Payload | RpcFailure], takes: Signature) -> Answer:
    """Return what hands the parameters of a call to a method."""

    def give(call: RpcCall) -> Payload | RpcFailure:
        given = dict(call.params) if not takes.whole else {takes.whole: call.params}
        return answer(**given, **({"call": call} if takes.takes_call else {}))

    return give


class MethodTable:
    """The methods that a gateway answers, by name."""

    def __init__(self, methods: Iterable[Method]) -> None:
        """Take the methods.

        Raises:
            ValueError: Two methods have one name.
        """
        self._methods: dict[str, Method] = {}
        for method in methods:
            if method.name in self._methods:
                raise ValueError(f"two methods are called {method.name}: rename one")
            self._methods[method.name] = method

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in order."""
        return tuple(sorted(self._methods))

    def get(self, name: str) -> Method | None:
        """Return the method of that name."""
        return self._methods.get(name)


class Answering:
    """Answers requests as text, and counts them."""

    def __init__(
        self, table: MethodTable, share: Callable[[str], Runner], metrics: Metrics, clock: Clock
    ) -> None:
        """Take the methods, and what runs them in turn: by the name of a share, one runner."""
        self.table, self._metrics, self._clock = table, metrics, clock
        self._share = share
        # For what the gateway itself wants to know.
        self.run = share("")

    async def answer(
        self, request: RequestFrame, client: Client, notify: Notify, share: str = ""
    ) -> tuple[Json, str]:
        """Return the response, and its text; who has the same share takes turns as one."""
        began = self._clock()
        run = self._share(share or client.id)
        response = await dispatch(self.table, request, client, notify, run)
        try:
            text = response_text(response)
        except (TypeError, ValueError, RecursionError) as error:
            log_without_values(f"the answer of {_show(request.method)}", error)
            response = error_response(request.id, Code.UNAVAILABLE, _BROKEN)
            text = encode(response)
        outcome = "ok" if response["ok"] else response["error"]["code"]
        took = self._clock() - began
        self._metrics.answered(request.method, outcome, took)
        self._note(request, client, outcome, took)
        return response, text

    def _note(self, request: RequestFrame, client: Client, outcome: str, took: float) -> None:
        """Log a call that changes something, or that failed; who only reads is for debugging."""
        method = self.table.get(request.method)
        is_read = method is None or method.scope in {None, ClientScope.READ}
        level = logging.WARNING if outcome == Code.UNAVAILABLE else logging.INFO
        ids = {"method": UNKNOWN if method is None else method.name, "outcome": outcome}
        ids |= {"client": client.id, "id": _show(request.id)}
        quiet = outcome == "ok" and is_read
        extra = {**ids, "ms": round(took * 1_000, 1)}
        log.log(logging.DEBUG if quiet else level, "call.answered", extra=extra)


async def dispatch(
    table: MethodTable, request: RequestFrame, client: Client, notify: Notify, run: Runner
) -> Json:
    """Return the response to a request; nothing that a method raises gets past here."""
    method = table.get(request.method)
    if method is None:
        message = f"unknown method: {_show(request.method)}"
        return error_response(request.id, Code.INVALID_REQUEST, message)
    missing = missing_scope(method, client)
    if missing is not None:
        message = f"missing scope: {missing.value}: {_way_to(missing, client)}"
        return error_response(request.id, Code.FORBIDDEN, message, describe_missing(missing))
    outcome = await attempt(run(lambda: _call(method, request, client, notify), lane=_lane(method)))
    if isinstance(outcome, Exception):
        return _refusal(request, outcome)
    if isinstance(outcome, RpcFailure):
        cause = {"reason": outcome.cause}
        failed = error_response(request.id, Code.UNAVAILABLE, outcome.message, cause)
        return {**failed, "payload": outcome.payload}
    return ok_response(request.id, outcome)


async def attempt(work: Awaitable[T]) -> T | Exception:
    """Return what comes of some work, or what it raised: nothing else in here catches anything."""
    try:
        return await work
    # A method may raise anything; its client still gets an answer, and the others notice nothing.
    except Exception as error:  # noqa: BLE001
        return error


def missing_scope(method: Method, client: Client) -> ClientScope | None:
    """Return the right that a client lacks for a method."""
    return None if method.scope is None or method.scope in client.scopes else method.scope


def _way_to(missing: ClientScope, client: Client) -> str:
    """Return what a client can do for a right that it lacks: some come with another role alone."""
    if missing is ClientScope.NODE:
        return f'it comes with the role "{NODE}" of connect, or with {ClientScope.ADMIN.value}'
    if client.role == NODE:
        return f'a node has no such right: connect with the role "{OPERATOR}"'
    return "ask for it in the scopes of connect"


def _lane(method: Method) -> Lane:
    if method.name == _INSTALL:
        return Lane.INSTALL
    return Lane.SLOW if method.slow else Lane.QUICK


def log_without_values(what: str, error: BaseException) -> None:
    """Log that something failed: the type and the places, never the message."""
    steps = extract_tb(error.__traceback__)[-3:]
    places = " < ".join(
        f"{PurePath(step.filename).name}:{step.lineno} {step.name}" for step in reversed(steps)
    )
    log.error("%s failed: %s at %s", what, type(error).__qualname__, places or "no known place")


def _call(
    method: Method, request: RequestFrame, client: Client, notify: Notify
) -> Payload | RpcFailure:
    try:
        # As JSON, since a strict model takes JSON's lists and names only from JSON.
        params = method.params.model_validate_json(encode(request.params))
    except ValidationError as error:
        field, problem = first_problem(error)
        message = f"invalid {method.name} params: {field}: {problem}"
        raise RpcError(Code.INVALID_REQUEST, message, {"field": field}) from None
    with timed(log, "call", client.part_of, method=method.name, client=client.id):
        return method.answer(
            RpcCall(method=method.name, params=params, client=client, notify=notify)
        )


def _refusal(request: RequestFrame, error: Exception) -> Json:
    if isinstance(error, RpcError):
        return error_response(request.id, error.reason, error.message, error.details)
    if isinstance(error, errors.ProwessError):
        return _explain_trouble(request, error)
    log_without_values(request.method, error)
    return error_response(request.id, Code.UNAVAILABLE, _BROKEN)


def _explain_trouble(request: RequestFrame, error: errors.ProwessError) -> Json:
    is_mendable = isinstance(error, _MENDABLE) or not isinstance(error, _UNAVAILABLE)
    code = Code.INVALID_REQUEST if is_mendable else Code.UNAVAILABLE
    message, details = str(error), {"reason": error.code}
    field = error.key if isinstance(error, errors.ConfigKeyError) else ""
    if isinstance(error, errors.ConfigSyntaxError | errors.ProposalInputError):
        field = error.field
    if field:
        details["field"] = field
    if isinstance(error, errors.UnknownAgentError):
        message = f'unknown agent id "{error.agent_id}"'
        details["field"] = "agentId"
    return error_response(request.id, code, message, details | _hashes(error))


def _hashes(error: errors.ProwessError) -> dict[str, str]:
    """Return what was expected and what is there: revisions of a proposal, or a skill's files."""
    if isinstance(error, errors.ProposalStaleError) and not error.of_skill:
        return {
            "code": "SKILL_PROPOSAL_REVISION_CHANGED",
            "expectedRevisionHash": error.expected,
            "currentRevisionHash": error.found,
        }
    if isinstance(error, errors.ProposalStaleError | errors.StaleChangeError):
        return {"expectedContentHash": error.expected, "currentContentHash": error.found}
    return {}


def _show(name: str) -> str:
    return one_line(name)[:MOST_NAME_CHARS]
