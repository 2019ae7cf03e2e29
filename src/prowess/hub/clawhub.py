"""ClawHub v1, as its own client asks for it: `npx clawhub`, OpenClaw, and ours.

That protocol knows no namespaces: a bare name stands for the oldest skill of that name that the
caller may see, and `namespace--name` for exactly one.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias
from urllib.parse import urlencode

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from prowess.errors import HubDeniedError, HubNotFoundError
from prowess.hub.model import LATEST, HubSkill, HubVersion, VersionState
from prowess.hub.service import MOST_FOUND, Hit, HubService
from prowess.hub.web import (
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
from prowess.safety.paths import shown
from prowess.sharing.foreign_locks import hash_files_like_clawhub

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
            "state": version.state.value,
            "contentDigest": version.digest,
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
        "summary": hit.skill.summary,
        "version": hit.version,
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
                    "version": hit.version,
                    "createdAt": hit.skill.updated_ms,
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
        "createdAt": skill.created_ms,
        "updatedAt": skill.updated_ms,
    }


def _show_version(version: HubVersion) -> Json:
    return {
        "version": version.version,
        "createdAt": version.created_ms,
        "changelog": version.changelog,
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
