"""What a hub speaks to clients of others: ClawHub v1, Claude marketplaces, and MCP.

ClawHub is answered as its own client asks for it: `npx clawhub`, OpenClaw, and ours. That protocol
knows no namespaces: a bare name stands for the oldest skill of that name that the caller may see,
and `namespace--name` for exactly one.

A marketplace file can name folders of its repository, git repositories and npm packages. A hub is
no repository, so it serves packages: `@namespace/name` in the registry `/npm` of the hub, with the
integrity that npm checks. A package is made from the files of its version and holds nothing else
but the two files that say what it is.

Over MCP a client lists, reads and checks what it may see by the skills extension. Every request
stands alone and shows its token, so that any hub of a fleet can answer the next one. A skill has
the flat name of ClawHub there.
"""

import base64
import gzip
import hashlib
import json
import re
import tarfile
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias, TypeVar
from urllib.parse import quote, urlencode

from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    ListResourcesResult,
    PaginatedRequestParams,
    Resource,
)
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from prowess.errors import HubDeniedError, HubNotFoundError, ProwessError, StoreError
from prowess.host.sharing.oci import write_tar
from prowess.hub.model import LATEST, HubCaller, HubSkill, HubVersion, VersionState
from prowess.hub.service import MOST_FOUND, Hit, HubService, read_skill
from prowess.hub.web import (
    MIB,
    HubRequest,
    Json,
    Reply,
    answer,
    identify,
    read_body,
    read_upload,
    send_archive,
    show_files,
)
from prowess.mcp.catalogue import PAGE, AddressedCatalogue, Page, unknown_address
from prowess.mcp.protocol import (
    EXTENSION,
    GET,
    LIST,
    MARKDOWN,
    READ_DIRECTORY,
    SETTINGS,
    DirectoryParams,
    GetParams,
    NotThere,
    ServedSkill,
    make_cursor,
    read_cursor,
    serve_content,
    unknown_cursor,
)
from prowess.mcp.server import Context, get_skill, list_skills, read_directory, read_resource
from prowess.runtime.sharing.ports import Package
from prowess.runtime.sharing.sync import CopiedFile
from prowess.safety.paths import shown
from prowess.sharing.foreign_locks import hash_files_like_clawhub
from prowess.skills.text import one_line
from prowess.wire.skills import pick

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]

_MOST_LISTED = 200
_CLEAN, _SUSPICIOUS = "clean", "suspicious"


def clawhub_routes(service: HubService) -> list[Route]:
    """Return the routes of ClawHub v1."""
    reading: dict[str, Reply] = {
        "/.well-known/clawhub.json": lambda ask: {"apiBase": ask.base, "authBase": ask.base},
        "/api/v1/whoami": _whoami,
        "/api/v1/search": _search,
        "/api/v1/resolve": _resolve,
        "/api/v1/download": _download,
        "/api/v1/skills": _list,
        "/api/v1/skills/{slug}": _skill,
        "/api/v1/skills/{slug}/versions": _versions,
        "/api/v1/skills/{slug}/versions/{version}": _version,
        "/api/v1/skills/{slug}/file": _file,
        "/api/v1/skills/{slug}/moderation": _moderation,
        "/api/v1/skills/{slug}/install": _install,
        "/api/v1/skills/{slug}/verify": _verify,
    }
    routes = [Route(path, answer(service, reply)) for path, reply in reading.items()]

    return [
        *routes,
        Route("/api/v1/skills", _publish_with(service), methods=["POST"]),
        Route("/api/v1/skills/-/security-verdicts", _judge_with(service), methods=["POST"]),
        Route("/api/v1/skills/{slug}", answer(service, _delete), methods=["DELETE"]),
    ]


def _publish_with(service: HubService) -> Endpoint:
    async def publish(request: Request) -> Response:
        caller = await run_in_threadpool(identify, service, request)
        if not caller.person:
            # Before anything of the upload is read.
            raise HubDeniedError("a token", "is needed to publish: give one.", is_unknown=True)
        asked = await read_upload(request)
        skill, version = await run_in_threadpool(service.publish, caller, asked)
        said = {
            "ok": True,
            "skillId": skill.address,
            "versionId": f"{skill.address}@{version.version}",
            **pick(version, "state digest=contentDigest", str),
        }
        return JSONResponse(said)

    return publish


def _judge_with(service: HubService) -> Endpoint:
    async def judge_all(request: Request) -> Response:
        ask = HubRequest(service, request, await run_in_threadpool(identify, service, request))
        items = (await read_body(request)).get("items")
        asked = items[:_MOST_LISTED] if isinstance(items, list) else []
        found = [await run_in_threadpool(_judge_item, ask, one) for one in asked]
        return JSONResponse({"schema": "clawhub.skill.security-verdicts.v1", "items": found})

    return judge_all


def _whoami(ask: HubRequest) -> Json:
    if not ask.caller.person:
        raise HubDeniedError("a token", "is needed to say who you are.", is_unknown=True)
    role = "admin" if ask.caller.is_operator else "user"
    return {"user": {"handle": ask.caller.person, "displayName": ask.caller.person, "role": role}}


def _search(ask: HubRequest) -> Json:
    hits = ask.service.search(ask.caller, ask.query("q"), ask.number("limit", 25, MOST_FOUND))
    return {"results": [_show_hit(hit) for hit in hits]}


def _show_hit(hit: Hit) -> Json:
    owner = hit.skill.namespace.name
    return {
        "slug": hit.slug,
        "displayName": hit.skill.title or hit.skill.name,
        **pick(hit, "skill.summary=summary version", str),
        "score": round(hit.score, 6),
        "updatedAt": hit.skill.updated_ms,
        "ownerHandle": owner,
        "owner": {"handle": owner, "displayName": owner},
    }


def _list(ask: HubRequest) -> Json:
    most, after = ask.number("limit", 25, _MOST_LISTED), ask.number("cursor", 0, 10**9)
    hits = ask.service.list_skills(ask.caller, most=most, after=after)
    return {
        "items": [
            {
                **_show_skill(hit.slug, hit.skill, {LATEST: hit.version}),
                "latestVersion": {
                    **pick(hit, "version skill.updated_ms=createdAt", str),
                    "changelog": "",
                },
            }
            for hit in hits
        ],
        "nextCursor": str(after + most) if len(hits) == most else None,
    }


def _show_skill(slug: str, skill: HubSkill, labels: dict[str, str]) -> Json:
    note = f" (deprecated: {skill.deprecated})" if skill.deprecated else ""
    return {
        "slug": slug,
        "displayName": skill.title or skill.name,
        "summary": skill.summary + note,
        "tags": labels,
        "stats": {"downloads": skill.downloads, "stars": 0},
        **pick(skill, "created_ms=createdAt updated_ms=updatedAt", str),
    }


def _show_version(version: HubVersion) -> Json:
    return {
        **pick(version, "version created_ms=createdAt changelog", str),
        "changelogSource": "user",
    }


def _find(ask: HubRequest) -> HubSkill:
    slug, owner = ask.path("slug") or ask.query("slug"), ask.query("ownerHandle").lstrip("@")
    return ask.service.find(ask.caller, f"{owner}/{slug}" if owner else slug)


def _skill(ask: HubRequest) -> Json:
    skill = _find(ask)
    newest = ask.service.find_version(ask.caller, skill)
    owner = skill.namespace.name
    return {
        "skill": _show_skill(ask.path("slug"), skill, ask.service.read_labels(skill)),
        "latestVersion": _show_version(newest),
        "owner": {"handle": owner, "displayName": owner},
        "moderation": _judge(newest),
    }


def _judge(version: HubVersion) -> Json:
    """Return what the scanner said, in the words of that protocol; what is critical is never in.

    Where it warned, that client asks a person, and without one wants `--force`.
    """
    is_clean = version.scan.get("verdict") == _CLEAN
    rules = [] if is_clean else sorted(map(str, version.scan.get("rules") or ()))
    said = f"The hub's scanner warns: {', '.join(rules)}." if rules else None
    return {
        "isSuspicious": not is_clean,
        "isMalwareBlocked": False,
        "verdict": _CLEAN if is_clean else _SUSPICIOUS,
        "reasonCodes": rules,
        "engineVersion": str(version.scan.get("scanner") or ""),
        "summary": said,
    }


def _moderation(ask: HubRequest) -> Json:
    return {"moderation": _judge(ask.service.find_version(ask.caller, _find(ask)))}


def _install(ask: HubRequest) -> Json:
    """Say where the archive of the newest version is."""
    skill = _find(ask)
    version = ask.service.find_version(ask.caller, skill).version
    owner = skill.namespace.name
    query = urlencode({"slug": skill.name, "ownerHandle": owner, "version": version})
    url = f"{ask.base}/api/v1/download?{query}"
    archive = {"version": version, "downloadUrl": url}
    return {"ok": True, "slug": skill.name, "installKind": "archive", "archive": archive}


def _verify(ask: HubRequest) -> Json:
    skill = _find(ask)
    version = ask.service.find_version(ask.caller, skill, ask.query("version") or ask.query("tag"))
    return {"schema": "clawhub.skill.verify.v1", **_vouch(ask, skill, version)}


def _judge_item(ask: HubRequest, item: object) -> Json:
    """Return what is known of one version that a client is about to install."""
    asked: Mapping[str, object] = item if isinstance(item, Mapping) else {}
    slug, version = str(asked.get("slug") or ""), str(asked.get("version") or "")
    owner = str(asked.get("ownerHandle") or "").lstrip("@")
    said: Json = {"requestedSlug": slug, "requestedVersion": version}
    said |= {"requestedOwnerHandle": owner} if owner else {}
    try:
        skill = ask.service.find(ask.caller, f"{owner}/{slug}" if owner else slug)
        found = ask.service.find_version(ask.caller, skill, version)
    except HubNotFoundError as error:
        problem = {"code": "skill_not_found", "message": str(error)}
        refusal: Json = {"ok": False, "decision": "fail", "reasons": [], "security": None}
        return {**said, **refusal, "slug": None, "version": None, "error": problem}
    return {**said, **_vouch(ask, skill, found), "slug": slug}


def _vouch(ask: HubRequest, skill: HubSkill, version: HubVersion) -> Json:
    """Return the verdict of a version that is out: nothing critical ever is."""
    judged, owner = _judge(version), skill.namespace.name
    page = f"{ask.base}/api/hub/v1/skills/{skill.address}/versions/{version.version}"
    return {
        "ok": True,
        "decision": "pass",
        "reasons": judged["reasonCodes"],
        "slug": skill.name,
        "displayName": skill.title or skill.name,
        "version": version.version,
        "publisherHandle": owner,
        "publisherDisplayName": owner,
        "createdAt": version.created_ms,
        "security": {"status": judged["verdict"], "passed": True},
        "overview": judged["summary"] or "The hub's scanner has nothing to say against it.",
        "securityAuditUrl": page,
    }


def _versions(ask: HubRequest) -> Json:
    found = ask.service.list_versions(ask.caller, _find(ask))
    out = [one for one in found if one.state is VersionState.PUBLISHED]
    most = ask.number("limit", 25, _MOST_LISTED)
    return {"items": [_show_version(one) for one in out[:most]], "nextCursor": None}


def _version(ask: HubRequest) -> Json:
    skill = _find(ask)
    found = ask.service.find_version(ask.caller, skill, ask.path("version"))
    return {
        "version": {**_show_version(found), "files": show_files(found)},
        "skill": {"slug": ask.path("slug"), "displayName": skill.title or skill.name},
    }


def _file(ask: HubRequest) -> Response:
    skill = _find(ask)
    ref = ask.query("version") or ask.query("tag")
    version = ask.service.find_version(ask.caller, skill, ref)
    found = ask.service.read_files(version).get(ask.query("path"))
    if found is None:
        raise HubNotFoundError(shown(ask.query("path")), f"is no file of {skill.address}.")
    headers = {"X-Content-Type-Options": "nosniff"}
    return PlainTextResponse(found.content, headers=headers)


def _resolve(ask: HubRequest) -> Json:
    """Say which version somebody has, by the fingerprint of its files."""
    skill = _find(ask)
    found = ask.service.list_versions(ask.caller, skill)
    match = next(
        (one for one in found if hash_files_like_clawhub(one.hashes) == ask.query("hash")), None
    )
    newest = ask.service.find_version(ask.caller, skill)
    return {
        "match": {"version": match.version} if match else None,
        "latestVersion": {"version": newest.version},
    }


def _download(ask: HubRequest) -> Response:
    skill = _find(ask)
    ref = ask.query("version") or ask.query("tag")
    version = ask.service.find_version(ask.caller, skill, ref)
    return send_archive(skill.name, version, ask.service.take(skill, version))


def _delete(ask: HubRequest) -> Json:
    """Yank every version: what others have locked they can still get."""
    skill = _find(ask)
    for one in ask.service.list_versions(ask.caller, skill):
        if one.state is VersionState.PUBLISHED:
            ask.service.yank(ask.caller, skill.address, one.version, "deleted by a client")
    return {"ok": True}


MARKETPLACE = "/.claude-plugin/marketplace.json"
_MOST_PLUGINS = 1_000


def plugin_routes(service: HubService) -> list[Route]:
    """Return the marketplace files, and the registry that their packages come from."""
    replies: dict[str, Reply] = {
        MARKETPLACE: _marketplace,
        "/n/{namespace}" + MARKETPLACE: _marketplace,
        # npm asks for `@scope%2fname`, which arrives with its slash.
        "/npm/@{namespace}/{name}": _packument,
        "/npm/@{namespace}/{name}/{version}": _package,
        "/npm/@{namespace}/{name}/-/{file}": _tarball,
    }
    return [Route(path, answer(service, reply)) for path, reply in replies.items()]


def _marketplace(ask: HubRequest) -> Json:
    namespace = ask.path("namespace")
    hits = ask.service.list_skills(ask.caller, most=_MOST_PLUGINS, namespace=namespace)
    return {
        "name": namespace or "prowess-hub",
        "owner": {"name": namespace or "Prowess hub"},
        "plugins": [
            _plugin(ask, hit)
            for hit in sorted(hits, key=lambda one: one.slug)
            if namespace or hit.is_eldest
        ],
    }


def _plugin(ask: HubRequest, hit: Hit) -> Json:
    return {
        **pick(hit, "skill.name=name skill.summary=description version", str),
        "source": {
            "source": "npm",
            "package": f"@{hit.skill.address}",
            "version": hit.version,
            "registry": f"{ask.base}/npm",
        },
    }


def _find_named(ask: HubRequest) -> HubSkill:
    return ask.service.find(ask.caller, f"{ask.path('namespace')}/{ask.path('name')}")


def _packument(ask: HubRequest) -> Json:
    skill = _find_named(ask)
    found = ask.service.list_versions(ask.caller, skill)
    out = [one for one in found if one.state is VersionState.PUBLISHED]
    return {
        "name": f"@{skill.address}",
        "description": skill.summary,
        "dist-tags": ask.service.read_labels(skill),
        "versions": {one.version: _show_package(ask, skill, one) for one in out},
    }


def _package(ask: HubRequest) -> Json:
    skill = _find_named(ask)
    return _show_package(
        ask, skill, ask.service.find_version(ask.caller, skill, ask.path("version"))
    )


def _show_package(ask: HubRequest, skill: HubSkill, version: HubVersion) -> Json:
    content = pack(skill, version, ask.service.read_files(version))
    integrity = base64.b64encode(hashlib.sha512(content).digest()).decode()
    address = f"{ask.base}/npm/@{skill.address}/-/{skill.name}-{quote(version.version)}.tgz"
    said = {"deprecated": skill.deprecated} if skill.deprecated else {}
    return {
        **_describe(skill, version),
        **said,
        "dist": {"tarball": address, "integrity": f"sha512-{integrity}"},
    }


def _tarball(ask: HubRequest) -> Response:
    skill, file = _find_named(ask), ask.path("file")
    ref = file.removeprefix(f"{skill.name}-").removesuffix(".tgz")
    version = ask.service.find_version(ask.caller, skill, ref)
    if version.version != ref:
        raise HubNotFoundError(shown(file), "is no package of this hub.")
    content = pack(skill, version, ask.service.read_files(version))
    return Response(content, media_type="application/octet-stream")


def _describe(skill: HubSkill, version: HubVersion) -> Json:
    return {
        "name": f"@{skill.address}",
        "version": version.version,
        "description": skill.summary,
        "license": str(version.manifest.get("license") or "UNLICENSED"),
    }


def pack(skill: HubSkill, version: HubVersion, files: Package) -> bytes:
    """Return a version as an npm package with one plugin in it: the same bytes on every machine."""
    plugin = {"name": skill.name, "version": version.version, "description": skill.summary}
    inside = {
        "package.json": CopiedFile(json.dumps(_describe(skill, version)).encode()),
        ".claude-plugin/plugin.json": CopiedFile(json.dumps(plugin).encode()),
        **{f"skills/{skill.name}/{path}": file for path, file in files.items()},
    }
    packed = {f"package/{path}": file for path, file in inside.items()}
    # Without packing: packers differ, and the digest must not.
    return gzip.compress(write_tar(packed, tarfile.USTAR_FORMAT), compresslevel=0, mtime=0)


_PLACE = re.compile(r"[0-9]{1,9}")
P = TypeVar("P")
T = TypeVar("T")


class CallerSkills(AddressedCatalogue):
    """What one caller sees of a hub."""

    def __init__(self, service: HubService, caller: HubCaller) -> None:
        self._service, self._caller = service, caller

    def page(self, cursor: str | None = None) -> Page:
        """Return the next skills after a cursor, the last changed first."""
        last = read_cursor(LIST, cursor) or "0"
        # Anybody can make a cursor: only a number that a list can have leads on.
        if not _PLACE.fullmatch(last):
            raise unknown_cursor()
        after = int(last)
        hits = self._service.list_skills(self._caller, most=PAGE + 1, after=after)
        found = [self._serve(hit.skill, hit.slug).facts for hit in hits[:PAGE]]
        is_more = len(hits) > PAGE
        return Page(found, make_cursor(LIST, str(after + PAGE)) if is_more else None)

    def _find_served(self, name: str, uri: str) -> ServedSkill:
        try:
            return self._serve(self._service.find(self._caller, name), name)
        except HubNotFoundError as error:
            raise unknown_address(uri) from error

    def _serve(self, skill: HubSkill, name: str) -> ServedSkill:
        version = self._service.find_version(self._caller, skill)
        files = self._service.read_files(version)
        content = {path: file.content for path, file in files.items()}
        return serve_content(name, read_skill(skill, files), content)


class HubMcp:
    """The endpoint of a hub for clients of MCP."""

    def __init__(self, service: HubService, version: str) -> None:
        self._service, self._version = service, version

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request.

        Raises:
            HubDeniedError: the token is none of ours.
        """
        caller = await run_in_threadpool(identify, self._service, Request(scope))
        skills = CallerSkills(self._service, caller)
        manager = StreamableHTTPSessionManager(
            app=self._build(skills), stateless=True, json_response=True, max_request_body_size=MIB
        )
        async with manager.run():
            await manager.handle_request(scope, receive, send)

    def _build(self, skills: CallerSkills) -> Server[Any]:
        server: Server[Any] = Server(
            "prowess-hub",
            version=self._version,
            on_list_resources=_handle(skills, _list_resources),
            on_read_resource=_handle(skills, read_resource),
        )
        server.add_request_handler(LIST, PaginatedRequestParams, _handle(skills, list_skills))
        server.add_request_handler(GET, GetParams, _handle(skills, get_skill))
        server.add_request_handler(READ_DIRECTORY, DirectoryParams, _handle(skills, read_directory))
        server.extensions[EXTENSION] = dict(SETTINGS)
        return server


def _list_resources(
    skills: AddressedCatalogue, params: PaginatedRequestParams | None
) -> ListResourcesResult:
    page = skills.page(None if params is None else params.cursor)
    found = [
        Resource(uri=one.uri, name=one_line(one.name), mime_type=MARKDOWN, size=one.size)
        for one in page.skills
    ]
    return ListResourcesResult(resources=found, next_cursor=page.cursor)


def _handle(
    skills: CallerSkills, act: Callable[[AddressedCatalogue, P], T]
) -> Callable[[Context, P], Awaitable[T]]:
    async def handler(_context: Context, params: P) -> T:
        try:
            return await run_in_threadpool(act, skills, params)
        except StoreError as error:
            # The address of a database is nobody's business but the operator's.
            problem = "the hub cannot use its store at the moment: try again later."
            raise MCPError(INTERNAL_ERROR, problem) from error
        except (ProwessError, NotThere) as error:
            raise MCPError(INVALID_PARAMS, one_line(str(error))) from error

    return handler
