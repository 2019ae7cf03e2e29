"""The skills extension of MCP over the catalogue: a client lists, reads and checks what it may see.

Every request stands alone and shows its token, so that any hub of a fleet can answer the next one.
A skill's address has the flat name of ClawHub: its own, or `namespace--name` where an older skill
has that one.
"""

import re
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

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
from starlette.types import Receive, Scope, Send

from prowess.errors import HubNotFoundError, ProwessError, StoreError
from prowess.hub.model import HubCaller, HubSkill
from prowess.hub.service import HubService, read_skill
from prowess.hub.web import MIB, identify
from prowess.mcp.catalogue import PAGE, Directory, Page, list_directory, unknown_address
from prowess.mcp.manifest import ServedSkill, serve_content
from prowess.mcp.protocol import (
    EXTENSION,
    GET,
    LIST,
    MARKDOWN,
    READ_DIRECTORY,
    SETTINGS,
    SKILL_FILE,
    DirectoryParams,
    GetParams,
    NotThere,
    make_cursor,
    parse,
    read_cursor,
    unknown_cursor,
)
from prowess.mcp.server import (
    Context,
    ServedCatalogue,
    get_skill,
    list_skills,
    read_directory,
    read_resource,
)
from prowess.skills.text import one_line

_PLACE = re.compile(r"[0-9]{1,9}")
P = TypeVar("P")
T = TypeVar("T")


class CallerSkills:
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

    def skill(self, uri: str) -> ServedSkill:
        """Return the skill whose SKILL.md has that address."""
        place = parse(uri)
        if place is None or place.path != SKILL_FILE:
            raise unknown_address(uri)
        return self._find(uri, place.name)

    def file(self, uri: str) -> bytes:
        """Return the content of the file at an address."""
        place = parse(uri)
        found = None if place is None else self._find(uri, place.name).files.get(place.path)
        if found is None:
            raise unknown_address(uri)
        return found

    def directory(self, uri: str, cursor: str | None = None) -> Directory:
        """Return what a folder of a skill holds, by name."""
        place = parse(uri)
        if place is None:
            raise unknown_address(uri)
        return list_directory(self._find(uri, place.name), uri, cursor)

    def _find(self, uri: str, name: str) -> ServedSkill:
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
            on_list_resources=_answer(skills, _list_resources),
            on_read_resource=_answer(skills, read_resource),
        )
        server.add_request_handler(LIST, PaginatedRequestParams, _answer(skills, list_skills))
        server.add_request_handler(GET, GetParams, _answer(skills, get_skill))
        server.add_request_handler(READ_DIRECTORY, DirectoryParams, _answer(skills, read_directory))
        server.extensions[EXTENSION] = dict(SETTINGS)
        return server


def _list_resources(
    skills: ServedCatalogue, params: PaginatedRequestParams | None
) -> ListResourcesResult:
    page = skills.page(None if params is None else params.cursor)
    found = [
        Resource(uri=one.uri, name=one_line(one.name), mime_type=MARKDOWN, size=one.size)
        for one in page.skills
    ]
    return ListResourcesResult(resources=found, next_cursor=page.cursor)


def _answer(
    skills: CallerSkills, act: Callable[[ServedCatalogue, P], T]
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
