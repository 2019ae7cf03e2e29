"""A hub as one ASGI app: every protocol of one catalogue."""

import time
from collections import Counter
from collections.abc import Awaitable, Callable

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from prowess.errors import HubError, ProwessError
from prowess.hub.model import HubSkill, HubVersion
from prowess.hub.protocols import MARKETPLACE, HubMcp, clawhub_routes, plugin_routes
from prowess.hub.service import MOST_FOUND, Hit, HubService
from prowess.hub.web import (
    HubRequest,
    Json,
    Reply,
    answer,
    identify,
    read_body,
    send_archive,
    show_files,
    show_problem,
    show_skill,
)
from prowess.sharing.lock import ALGORITHM, PREFIX
from prowess.sharing.merge import show_difference
from prowess.wire.skills import pick

API = "/api/hub/v1"
MCP, _METRICS = f"{API}/mcp", "/metrics"
INDEX = "/.well-known/agent-skills/index.json"
# Of one index: readers take it whole.
_MOST_INDEXED, _MOST_LISTED = 5_000, 200
# Characters; nobody reads more in a page.
_MOST_COMPARED = 200_000
_SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
_SKILL = f"{API}/skills/{{namespace}}/{{name}}"
_VERSION = f"{_SKILL}/versions/{{version}}"


_PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"
_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "DELETE"))
_FAULT = 500


class RequestCounts:
    """The counters of one hub, all of them counted on its event loop.

    Labels come from closed sets, so that no client can make the page grow.
    """

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int]] = Counter()
        self._seconds = 0.0

    def add(self, method: str, status: int, seconds: float) -> None:
        """Count an answer."""
        self._requests[method if method in _METHODS else "other", status] += 1
        self._seconds += seconds

    def text(self) -> str:
        """Return everything as Prometheus text."""
        rows = [
            f'prowess_hub_requests_total{{method="{method}",status="{status}"}} {count}'
            for (method, status), count in sorted(self._requests.items())
        ]
        return "\n".join(
            (
                "# TYPE prowess_hub_requests_total counter",
                *rows,
                "# TYPE prowess_hub_request_seconds_total counter",
                f"prowess_hub_request_seconds_total {self._seconds:.6f}\n",
            )
        )


class CountedApp:
    """An app whose answers are counted."""

    def __init__(self, app: ASGIApp, counts: RequestCounts) -> None:
        self._app, self._counts = app, counts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, and count what was answered."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.monotonic(), _FAULT

        async def noting(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self._app(scope, receive, noting)
        finally:
            self._counts.add(scope["method"], status, time.monotonic() - began)


def build_hub_app(service: HubService, version: str) -> Starlette:
    """Return the app of a hub."""
    counts = RequestCounts()
    reading: dict[str, Reply] = {
        "/": lambda ask: _describe(ask, version),
        **dict.fromkeys(("/health", "/health/ready"), _health),
        "/health/live": lambda _ask: {"ok": True},
        _METRICS: lambda _ask: PlainTextResponse(counts.text(), media_type=_PROMETHEUS),
        f"{API}/search": _search,
        f"{API}/skills": _list,
        _SKILL: _skill,
        f"{_SKILL}/versions": _versions,
        f"{_SKILL}/compare": _compare,
        _VERSION: _version,
        f"{_VERSION}/archive": _archive,
        f"{API}/reviews": _reviews,
        INDEX: _index,
        "/n/{namespace}" + INDEX: _index,
    }
    writing = {
        (f"{_VERSION}/review", "POST"): _review,
        (f"{_VERSION}/yank", "POST"): _yank,
        (f"{_SKILL}/labels/{{label}}", "PUT"): _set_label,
        (f"{_SKILL}/labels/{{label}}", "DELETE"): _drop_label,
        (f"{_SKILL}/deprecation", "PUT"): _deprecate,
    }
    return Starlette(
        routes=[
            *(Route(path, answer(service, reply)) for path, reply in reading.items()),
            *(
                Route(path, _change(service, reply), methods=[method])
                for (path, method), reply in writing.items()
            ),
            Route(MCP, HubMcp(service, version)),
            *clawhub_routes(service),
            *plugin_routes(service),
        ],
        middleware=[Middleware(CountedApp, counts)],
        exception_handlers=dict.fromkeys((ProwessError, HTTPException, Exception), show_problem),
    )


def route_to_hub(app: Starlette) -> list[Route]:
    """Return the routes of a hub for a gateway, whose page, health and metrics are its own."""
    paths = dict.fromkeys(one.path for one in app.routes if isinstance(one, Route))
    own = ("/", _METRICS)
    return [
        Route(path, app) for path in paths if path not in own and not path.startswith("/health")
    ]


def _change(
    service: HubService, reply: Callable[[HubRequest, Json], Json]
) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        body = await read_body(request)
        caller = await run_in_threadpool(identify, service, request)
        said = await run_in_threadpool(reply, HubRequest(service, request, caller), body)
        return JSONResponse(said)

    return endpoint


def _describe(ask: HubRequest, version: str) -> Json:
    return {
        "name": "prowess hub",
        "version": version,
        "api": f"{ask.base}{API}",
        "clawhub": ask.base,
        "index": f"{ask.base}{INDEX}",
        "marketplace": f"{ask.base}{MARKETPLACE}",
        "mcp": f"{ask.base}{MCP}",
    }


def _health(ask: HubRequest) -> Json:
    ask.service.list_skills(ask.caller, most=1)
    return {"ok": True}


def _search(ask: HubRequest) -> Json:
    hits = ask.service.search(ask.caller, ask.query("q"), ask.number("limit", 10, MOST_FOUND))
    return {"results": [_show_hit(hit) for hit in hits]}


def _show_hit(hit: Hit) -> Json:
    return {**show_skill(hit.skill), "version": hit.version, "score": round(hit.score, 6)}


def _list(ask: HubRequest) -> Json:
    most, after = ask.number("limit", 50, _MOST_LISTED), ask.number("after", 0, 10**9)
    hits = ask.service.list_skills(ask.caller, most=most, after=after)
    more = after + most if len(hits) == most else None
    return {"skills": [_show_hit(hit) for hit in hits], "after": more}


def _find(ask: HubRequest) -> HubSkill:
    return ask.service.find(ask.caller, _address(ask))


def _address(ask: HubRequest) -> str:
    return f"{ask.path('namespace')}/{ask.path('name')}"


def _skill(ask: HubRequest) -> Json:
    skill = _find(ask)
    return {**show_skill(skill), "labels": ask.service.read_labels(skill)}


def _versions(ask: HubRequest) -> Json:
    skill = _find(ask)
    found = ask.service.list_versions(ask.caller, skill)
    return {"versions": [_show_version(ask, skill, one) for one in found]}


def _version(ask: HubRequest) -> Json:
    skill = _find(ask)
    found = ask.service.find_version(ask.caller, skill, ask.path("version"))
    return {**show_skill(skill), **_show_version(ask, skill, found)}


def _show_version(ask: HubRequest, skill: HubSkill, one: HubVersion) -> Json:
    path = f"{API}/skills/{skill.address}/versions/{one.version}/archive"
    return {
        **pick(one, "version state digest=contentDigest", str),
        "algorithm": ALGORITHM,
        "archive": {"url": f"{ask.base}{path}", "digest": PREFIX + one.archive},
        "files": show_files(one),
        **pick(
            one, "scan provenance publisher reviewer? created_ms=publishedAt changelog reason?", str
        ),
    }


def _compare(ask: HubRequest) -> Json:
    """Return what changes between two versions, or from nothing; to look is not to take."""
    skill = _find(ask)

    def read(ref: str) -> tuple[str, dict[str, bytes]]:
        found = ask.service.find_version(ask.caller, skill, ref)
        files = ask.service.read_files(found)
        return found.version, {path: file.content for path, file in files.items()}

    before, old = read(ask.query("before")) if ask.query("before") else (None, {})
    after, new = read(ask.query("after"))
    found = show_difference(old, new)
    return {
        "before": before,
        "after": after,
        "difference": found[:_MOST_COMPARED],
        "whole": len(found) <= _MOST_COMPARED,
    }


def _archive(ask: HubRequest) -> Response:
    skill = _find(ask)
    version = ask.service.find_version(ask.caller, skill, ask.path("version"))
    return send_archive(skill.name, version, ask.service.take(skill, version))


def _reviews(ask: HubRequest) -> Json:
    found = ask.service.list_pending(ask.caller)
    return {
        "pending": [{**show_skill(skill), **_show_version(ask, skill, one)} for skill, one in found]
    }


def _index(ask: HubRequest) -> Json:
    """Return an index of version 0.2: of a name in several namespaces the oldest skill."""
    namespace = ask.path("namespace")
    hits = ask.service.list_skills(ask.caller, most=_MOST_INDEXED, namespace=namespace)
    rows = [
        _index_row(ask, hit)
        for hit in sorted(hits, key=lambda one: one.skill.name)
        if namespace or hit.is_eldest
    ]
    return {"$schema": _SCHEMA, "skills": rows}


def _index_row(ask: HubRequest, hit: Hit) -> Json:
    path = f"{API}/skills/{hit.skill.address}/versions/{hit.version}/archive"
    return {
        "name": hit.skill.name,
        "type": "archive",
        "description": hit.skill.summary,
        "url": f"{ask.base}{path}",
        "digest": PREFIX + hit.archive,
    }


def _review(ask: HubRequest, body: Json) -> Json:
    approve = body.get("approve")
    if not isinstance(approve, bool):
        raise HubError("approve", "is neither true nor false: say which.")
    found = ask.service.review(
        ask.caller,
        _address(ask),
        ask.path("version"),
        approve=approve,
        reason=_text(body, "reason"),
    )
    return pick(found, "version state", str)


def _yank(ask: HubRequest, body: Json) -> Json:
    ask.service.yank(ask.caller, _address(ask), ask.path("version"), _text(body, "reason"))
    return {"version": ask.path("version"), "state": "yanked"}


def _set_label(ask: HubRequest, body: Json) -> Json:
    version = _text(body, "version")
    ask.service.label(ask.caller, _address(ask), ask.path("label"), version)
    return {"labels": ask.service.read_labels(_find(ask))}


def _drop_label(ask: HubRequest, _body: Json) -> Json:
    ask.service.label(ask.caller, _address(ask), ask.path("label"), None)
    return {"labels": ask.service.read_labels(_find(ask))}


def _deprecate(ask: HubRequest, body: Json) -> Json:
    ask.service.deprecate(ask.caller, _address(ask), _text(body, "message"))
    return show_skill(_find(ask))


def _text(body: Json, name: str) -> str:
    found = body.get(name, "")
    if not isinstance(found, str):
        raise HubError(name, "is no text.")
    return found
