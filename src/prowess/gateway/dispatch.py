"""From a request to its response: rights, parameters, the method itself, and what went wrong.

Every failure becomes a response. What Prowess raises on purpose is told in its own words; what
nobody expected is told as `internal error`, and logged by type and place only, since the message of
an exception may hold what must not be written down.
"""

import logging
from collections.abc import Awaitable, Callable, Iterable
from pathlib import PurePath
from traceback import extract_tb
from typing import TypeVar

from pydantic import ValidationError

from prowess import errors
from prowess.gateway.calls import (
    Client,
    ClientScope,
    Code,
    Json,
    Method,
    Payload,
    RpcCall,
    RpcError,
    RpcFailure,
    describe_missing,
    first_problem,
)
from prowess.gateway.frames import (
    RequestFrame,
    encode,
    error_response,
    ok_response,
    response_text,
)
from prowess.gateway.hub import UNKNOWN, Metrics
from prowess.gateway.limits import Clock
from prowess.gateway.workers import Lane, Runner
from prowess.runtime.ports import timed
from prowess.skills.text import one_line
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
            log_without_values(f"the answer of {_shown(request.method)}", error)
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
        ids |= {"client": client.id, "id": _shown(request.id)}
        quiet = outcome == "ok" and is_read
        extra = {**ids, "ms": round(took * 1_000, 1)}
        log.log(logging.DEBUG if quiet else level, "call.answered", extra=extra)


async def dispatch(
    table: MethodTable, request: RequestFrame, client: Client, notify: Notify, run: Runner
) -> Json:
    """Return the response to a request; nothing that a method raises gets past here."""
    method = table.get(request.method)
    if method is None:
        message = f"unknown method: {_shown(request.method)}"
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
        return _known_trouble(request, error)
    log_without_values(request.method, error)
    return error_response(request.id, Code.UNAVAILABLE, _BROKEN)


def _known_trouble(request: RequestFrame, error: errors.ProwessError) -> Json:
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


def _shown(name: str) -> str:
    return one_line(name)[:MOST_NAME_CHARS]
