"""What every protocol of a hub shares: who asks, what goes wrong, and what comes in.

Each edge reads a request, calls the service once and shows what it says. Endpoints are plain
functions, which Starlette runs in threads: the database and the scanner take their time.
"""

import json
import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from prowess.errors import (
    HubConflictError,
    HubDeniedError,
    HubError,
    HubNotFoundError,
    ProwessError,
    StoreError,
)
from prowess.hub.model import HubCaller, HubSkill, HubVersion
from prowess.hub.service import HubService, PublishRequest
from prowess.runtime.sharing.sync import CopiedFile
from prowess.safety.paths import PathRefused, check_all, segments, shown
from prowess.wire.skills import pick

log = logging.getLogger(__name__)

Json: TypeAlias = dict[str, Any]
MIB = 1 << 20
# Of a whole upload; no skill needs more.
MOST_UPLOAD, _MOST_FILES, _MOST_BODY = 50 * MIB, 500, 64 * 1024
_BEARER = "bearer "
_UNKNOWN = 401
_STATUS = {HubDeniedError: 403, HubNotFoundError: 404, HubConflictError: 409}


@dataclass(frozen=True, slots=True)
class HubRequest:
    """One request: the service, who asks, and what they ask."""

    service: HubService
    request: Request
    caller: HubCaller

    def query(self, name: str, default: str = "") -> str:
        """Return a parameter of the query."""
        return self.request.query_params.get(name, default)

    def number(self, name: str, default: int, most: int) -> int:
        """Return a parameter of the query that is a number.

        Raises:
            HubError: it is none.
        """
        text = self.query(name, str(default))
        if not text.isdecimal():
            raise HubError(name, f"is {shown(text)!r}: give a number from 0 to {most}.")
        return min(int(text), most)

    def path(self, name: str) -> str:
        """Return a part of the path."""
        return str(self.request.path_params.get(name, ""))

    @property
    def base(self) -> str:
        """The address by which this hub was reached."""
        return str(self.request.base_url).rstrip("/")


def identify(service: HubService, request: Request) -> HubCaller:
    """Return who asks, by the Authorization header.

    Raises:
        HubDeniedError: the token is none of ours.
    """
    given = request.headers.get("authorization", "")
    if given and not given.lower().startswith(_BEARER):
        raise HubDeniedError("the Authorization header", "is no bearer token.", is_unknown=True)
    return service.people.identify(given[len(_BEARER) :].strip())


Reply: TypeAlias = Callable[[HubRequest], Response | Json]


def answer(service: HubService, reply: Reply) -> Callable[[Request], Response]:
    """Return an endpoint that asks who it is, and sends what `reply` gives."""

    def endpoint(request: Request) -> Response:
        said = reply(HubRequest(service, request, identify(service, request)))
        return said if isinstance(said, Response) else JSONResponse(said)

    return endpoint


def show_problem(request: Request, error: Exception) -> Response:
    """Return what went wrong, as plain text for clients of ClawHub and as JSON for all others."""
    status, code, message = _describe(error)
    headers = {"WWW-Authenticate": "Bearer"} if status == _UNKNOWN else None
    if request.url.path.startswith("/api/v1/"):
        return PlainTextResponse(message, status_code=status, headers=headers)
    body = {"error": {"code": code, "message": message}}
    return JSONResponse(body, status_code=status, headers=headers)


def _describe(error: Exception) -> tuple[int, str, str]:
    if isinstance(error, HTTPException):
        return error.status_code, "http", str(error.detail)
    if isinstance(error, HubDeniedError) and error.is_unknown:
        return _UNKNOWN, error.code, str(error)
    if isinstance(error, StoreError):
        # The address of a database is nobody's business but the operator's.
        log.error("hub.store: %s", error)
        return 503, error.code, "the hub cannot use its store at the moment: try again later."
    if isinstance(error, ProwessError):
        return _STATUS.get(type(error), 400), error.code, str(error)
    log.error("hub.fault", exc_info=error)
    return 500, "hub", "the hub made a mistake, which is in its log."


async def read_body(request: Request) -> Json:
    """Return the JSON object of a small body.

    Raises:
        HubError: it is none, or too large.
    """
    content = b""
    async for chunk in request.stream():
        content += chunk
        if len(content) > _MOST_BODY:
            raise HubError("the body", f"is larger than {_MOST_BODY:,} bytes.")
    try:
        found = json.loads(content or b"{}")
    except (ValueError, RecursionError) as error:
        raise HubError("the body", "is no JSON.") from error
    if not isinstance(found, dict):
        raise HubError("the body", "is no JSON object.")
    return found


async def read_upload(request: Request) -> PublishRequest:
    """Return what a client of ClawHub publishes: `payload` as JSON, and `files` with their paths.

    Raises:
        HubError: something in it cannot be used.
    """
    seen = 0

    async def counted() -> AsyncGenerator[bytes, None]:
        nonlocal seen
        async for chunk in request.stream():
            seen += len(chunk)
            if seen > MOST_UPLOAD:
                raise HubError("the upload", f"is larger than {MOST_UPLOAD:,} bytes.")
            yield chunk

    parser = MultiPartParser(
        request.headers, counted(), max_files=_MOST_FILES, max_fields=8, max_part_size=MIB
    )
    try:
        form = await parser.parse()
    except (MultiPartException, KeyError) as error:
        problem = f"cannot be read ({error}): send multipart/form-data."
        raise HubError("the upload", problem) from error
    try:
        files = {}
        for one in form.getlist("files"):
            if not isinstance(one, UploadFile):
                raise HubError("files", "hold a part that is no file.")
            path = _check_path(one.filename or "")
            if path in files:
                raise HubError(shown(path), "is there twice.")
            files[path] = CopiedFile(await one.read())
        return _read_payload(form.get("payload"), files)
    finally:
        await form.close()


def _check_path(path: str) -> str:
    try:
        return "/".join(segments(path))
    except PathRefused as error:
        raise HubError(shown(path), error.problem) from error


def _read_payload(given: object, files: Mapping[str, CopiedFile]) -> PublishRequest:
    try:
        payload = json.loads(given if isinstance(given, str) else "")
        texts = {
            key: str(payload.get(key) or "")
            for key in ("slug", "version", "changelog", "ownerHandle")
        }
        labels = tuple(str(one) for one in payload.get("tags") or ())
        executable = {str(one) for one in payload.get("executable") or ()}
    except (ValueError, AttributeError, TypeError, RecursionError) as error:
        raise HubError("payload", "is no JSON object with slug and version.") from error
    if not files:
        raise HubError("files", "are missing: a skill has at least a SKILL.md.")
    try:
        check_all(files)
    except PathRefused as error:
        raise HubError(shown(error.path), error.problem) from error
    return PublishRequest(
        files={path: CopiedFile(one.content, path in executable) for path, one in files.items()},
        version=texts["version"],
        namespace=texts["ownerHandle"],
        name=texts["slug"],
        changelog=texts["changelog"],
        labels=labels,
    )


def send_archive(name: str, version: HubVersion, content: bytes) -> Response:
    """Return an archive; it never changes, so that anybody in between may keep it."""
    headers = {
        "Content-Disposition": f'attachment; filename="{name}-{version.version}.zip"',
        "ETag": f'"{version.archive}"',
        "X-Content-Type-Options": "nosniff",
    }
    return Response(content, media_type="application/zip", headers=headers)


def show_files(version: HubVersion) -> list[Json]:
    """Return the files of a version as clients see them."""
    return [pick(one, "path size sha256 executable", str) for one in version.files]


def show_skill(skill: HubSkill) -> Json:
    """Return a skill as our own clients see it."""
    return {
        **pick(
            skill,
            "namespace.name=namespace name title summary created_ms=createdAt updated_ms=updatedAt"
            " downloads deprecated?",
            str,
        ),
        "looksLikeAnother": skill.resembles is not None,
    }
