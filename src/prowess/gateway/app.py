"""The gateway as one ASGI app: WebSockets on `/` and `/ws`, HTTP and MCP beside them, a studio."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from http import HTTPStatus
from typing import Protocol

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket

from prowess.gateway.calls import Code, Json
from prowess.gateway.connection import CONNECT, Connection, GatewayCore
from prowess.gateway.dispatch import Answering, MethodTable
from prowess.gateway.gate import STATIC, GateMiddleware, HostRules, deny, problem_answer
from prowess.gateway.handshake import Doorkeeper
from prowess.gateway.http import Web
from prowess.gateway.hub import Hub
from prowess.gateway.limits import EVENTS, FailureTable, GatewayOptions, TokenBucket
from prowess.gateway.workers import Workers

__all__ = ["GatewayOptions", "build_app"]

# How long a write may go on after everybody was told to stop.
_WRITING_SECONDS = 10.0
_LINES_PER_SECOND, _MOST_LINES = 0.1, 10
# Wrong methods are refused by the endpoints: with the studio on `/`, a route that knows only POST
# would hand its GET to the studio.
_EVERY_METHOD = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"]


class MountedEndpoint(Protocol):
    """Somebody else's requests on one path of the gateway, such as those of MCP."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request that was let in."""

    async def close(self) -> None:
        """End whatever is open."""


# One place where everything meets; those at the end have defaults.
def build_app(  # noqa: PLR0913
    table: MethodTable,
    hub: Hub,
    options: GatewayOptions,
    snapshot: Callable[[], Json],
    health: Callable[[], Json],
    *,
    static: ASGIApp | None = None,
    metrics_extra: Callable[[], Mapping[str, float]] = dict,
    mcp: MountedEndpoint | None = None,
) -> Starlette:
    """Return the app of a gateway; `snapshot` and `health` run in threads."""
    workers = Workers(hub.limits)
    hub.metrics.know((*table.names, CONNECT), EVENTS)
    gateway = GatewayCore(
        options=options,
        hub=hub,
        answering=Answering(table, workers.share, hub.metrics, hub.clock),
        doorkeeper=Doorkeeper((options.token, options.password), FailureTable(hub.clock)),
        snapshot=snapshot,
        forget=workers.forget,
        lines=TokenBucket(_LINES_PER_SECOND, _MOST_LINES, hub.clock),
    )
    app = Starlette(
        routes=_routes(gateway, Web(gateway, health, metrics_extra), static, mcp),
        middleware=[Middleware(GateMiddleware, admission=partial(_admission, options))],
        exception_handlers={HTTPException: _http_problem},
        lifespan=_lifespan(hub, workers, options.tick_ms, mcp),
    )
    app.router.redirect_slashes = False
    return app


def _admission(options: GatewayOptions) -> HostRules:
    return HostRules(
        allowed_hosts=(*options.allowed_hosts, *options.configured().allowed_hosts),
        allowed_origins=options.configured().allowed_origins,
        loopback_only=options.loopback_only,
    )


def _routes(
    gateway: GatewayCore, web: Web, static: ASGIApp | None, mcp: MountedEndpoint | None
) -> list[BaseRoute]:
    async def socket(websocket: WebSocket) -> None:
        await _serve_socket(websocket, gateway)

    routes: list[BaseRoute] = [
        WebSocketRoute("/", socket),
        WebSocketRoute("/ws", socket),
        Route("/rpc", web.rpc, methods=_EVERY_METHOD),
        Route("/health", web.health, methods=_EVERY_METHOD),
        Route("/health/live", web.live, methods=_EVERY_METHOD),
        Route("/health/ready", web.ready, methods=_EVERY_METHOD),
        Route("/metrics", web.metrics, methods=_EVERY_METHOD),
    ]
    if mcp is not None:
        routes.append(Route("/mcp", _Guarded(mcp, web)))
    page = Route("/", web.about, methods=_EVERY_METHOD)
    return [*routes, page if static is None else Mount("/", app=_Studio(static))]


async def _serve_socket(websocket: WebSocket, gateway: GatewayCore) -> None:
    connection = Connection(websocket, gateway)
    problem = gateway.hub.join(connection)
    if problem is None:
        await connection.serve()
        return
    gateway.hub.metrics.rejected("full")
    answer = problem_answer(503, Code.UNAVAILABLE, problem, {"Retry-After": "5"})
    await deny(websocket.scope, websocket.receive, websocket.send, answer)


class _Guarded:
    """An endpoint that asks for the token as `/rpc` does."""

    def __init__(self, endpoint: MountedEndpoint, web: Web) -> None:
        self._endpoint, self._web = endpoint, web

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refused = self._web.unauthorized(HttpRequest(scope))
        await (self._endpoint if refused is None else refused)(scope, receive, send)


class _Studio:
    """Files of the studio: they say themselves what their pages may load."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            answer = problem_answer(404, Code.INVALID_REQUEST, "WebSockets are on / and /ws")
            await deny(scope, receive, send, answer)
            return
        scope[STATIC] = True
        await self._app(scope, receive, send)


def _http_problem(_http: HttpRequest, problem: Exception) -> Response:
    status = problem.status_code if isinstance(problem, HTTPException) else 500
    return problem_answer(status, Code.INVALID_REQUEST, HTTPStatus(status).phrase.lower())


def _lifespan(
    hub: Hub, workers: Workers, tick_ms: int, mcp: MountedEndpoint | None
) -> Callable[[Starlette], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        hub.open(tick_ms)
        try:
            yield
        finally:
            await hub.close("the gateway stops")
            if mcp is not None:
                await mcp.close()
            await workers.finish(_WRITING_SECONDS)

    return lifespan
