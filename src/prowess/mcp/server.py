"""The MCP server of one agent: which request is answered by what, and in which words it fails.

Nothing of skills is loaded before a request needs it: a client that starts us waits for the answer
to its first request only as long as the SDK takes to load. Everything else runs in threads, since
it reads files. No text of an unexpected error reaches a client or a log: it may hold anything.
"""

import functools
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.to_thread
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    BlobResourceContents,
    CallToolRequestParams,
    CallToolResult,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    NotificationParams,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    TextResourceContents,
)

from prowess.errors import ConfigError, ProwessError, StoreError, contain
from prowess.mcp.notifications import ClientView, Notices
from prowess.mcp.protocol import (
    BYTES,
    DYNAMIC,
    EXTENSION,
    FOLDER_TYPE,
    GET,
    LIST,
    MARKDOWN,
    READ_DIRECTORY,
    SCHEME,
    SETTINGS,
    TEXT,
    DirectoryParams,
    DirectoryReadResult,
    GetParams,
    NotThere,
    SkillEntry,
    SkillResource,
    SkillsGetResult,
    SkillsListResult,
    blob,
    file_uri,
    media_type,
    unknown_cursor,
)
from prowess.skills.text import one_line

if TYPE_CHECKING:
    from prowess.mcp.catalogue import Directory, DirectoryEntry
    from prowess.mcp.manifest import SkillFacts
    from prowess.mcp.service import McpService

log = logging.getLogger(__name__)

T = TypeVar("T")
P = TypeVar("P")
Context = ServerRequestContext[Any, Any]
# How long an answer may be kept: changes of skills are told, changes of their other files are not.
TTL_MS = 10_000
_THREADS = 4
_LONGEST_SAID = 1_000
_TITLE = "Prowess skills"
_INSTRUCTIONS = (
    "This server holds skills: written instructions for tasks. Before a task that one may cover,"
    " call find_skills with the task in the user's words, and load_skill for the one that fits;"
    " read the files that it points to with read_skill_file. Skills are also served by the"
    f" extension {EXTENSION}, and each that a person may call is a prompt."
)


class SkillsServer(Server[Any]):
    """An MCP server that tells clients of both eras that its lists may change."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        """Return what older clients are told at their beginning."""
        told = NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=True)
        return super().create_initialization_options(
            notification_options or told, experimental_capabilities, extensions
        )


class Answers:
    """Answers every request of clients, from a service that is opened when the first one comes."""

    def __init__(self, open_service: Callable[[], "McpService"]) -> None:
        """Begin; `open_service` is called once, in a thread."""
        self._open_service = open_service
        self._service: McpService | None = None
        self._opening = anyio.Lock()
        # Set once a client may know anything that can change.
        self.opened = anyio.Event()
        self._threads = anyio.CapacityLimiter(_THREADS)
        self.notices = Notices(self._seen)

    async def ask(self, act: Callable[["McpService"], T]) -> T:
        """Have the service answer, in a thread.

        Raises:
            MCPError: it cannot; the message says why.
        """
        try:
            service = await self._opened()
            await self.notices.begin()
            return await self._in_thread(functools.partial(act, service))
        except (ConfigError, StoreError) as error:
            raise _failure(INTERNAL_ERROR, str(error)) from error
        except ProwessError as error:
            # Late: it brings the workshop along, and a client waits for our first answer.
            from prowess.runtime.skill_tools import describe_error

            raise _failure(INVALID_PARAMS, describe_error(error)) from error
        except NotThere as error:
            raise _failure(INVALID_PARAMS, str(error)) from error
        # What it says may be a skill's text or a path: a client is told no more than its kind.
        except Exception as error:
            log.warning("mcp.failed: %s", type(error).__qualname__)
            raise _failure(INTERNAL_ERROR, "internal error") from error

    # The context is what the SDK makes it.
    async def listen(
        self, context: Context, params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        """Serve a stream of news; what comes after its first word is told.

        Raises:
            MCPError: it cannot be served; the message says why.
        """
        await self.ask(_nothing)
        if self.notices.closed:
            # While everything was opened: a stream that begins now would have no end.
            raise _failure(INTERNAL_ERROR, "the server is stopping: try again in a moment")
        return await self.notices.listen(context, params)

    async def welcome(self, context: Context, params: NotificationParams) -> None:
        """Begin to tell a client of the older kind, which has just said that it is ready."""
        await self.notices.welcome(context, params)
        # What is wrong is told to its first request.
        with suppress(MCPError):
            await self.ask(_nothing)

    async def changed(self) -> None:
        """Tell clients what changed, if anything did; nothing that goes wrong comes out."""
        # Whatever it is, the next change may be told.
        with contain(lambda error: log.warning("mcp.untold: %s", type(error).__qualname__)):
            await self.notices.changed()

    async def _seen(self) -> ClientView:
        service = await self._opened()
        return await self._in_thread(service.view)

    async def _opened(self) -> "McpService":
        async with self._opening:
            if self._service is None:
                self._service = await self._in_thread(self._open_service)
                self.opened.set()
        return self._service

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await anyio.to_thread.run_sync(work, limiter=self._threads)


def build_server(answers: Answers, version: str) -> SkillsServer:
    """Return the server whose requests are answered by `answers`."""
    server = SkillsServer(
        "prowess",
        version=version,
        title=_TITLE,
        instructions=_INSTRUCTIONS,
        on_list_tools=_plain(
            answers, lambda service: ListToolsResult(tools=service.tools.list_tools())
        ),
        on_call_tool=_typed(answers, _call_tool),
        on_list_resources=_typed(answers, _list_resources),
        on_list_resource_templates=_templates,
        on_read_resource=_typed(answers, _read_resource),
        on_subscriptions_listen=answers.listen,
        on_list_prompts=_plain(
            answers, lambda service: ListPromptsResult(prompts=service.prompts.list_prompts())
        ),
        on_get_prompt=_typed(answers, _get_prompt),
    )
    server.add_notification_handler(
        "notifications/initialized", NotificationParams, answers.welcome
    )
    server.add_request_handler(LIST, PaginatedRequestParams, _typed(answers, _list_skills))
    server.add_request_handler(GET, GetParams, _typed(answers, _get_skill))
    server.add_request_handler(READ_DIRECTORY, DirectoryParams, _typed(answers, _read_directory))
    server.extensions[EXTENSION] = dict(SETTINGS)
    return server


def _typed(
    answers: Answers, act: Callable[["McpService", P], T]
) -> Callable[[Context, P], Awaitable[T]]:
    """Return what handles a request whose parameters matter."""

    async def handler(_context: Context, params: P) -> T:
        return await answers.ask(lambda service: act(service, params))

    return handler


def _plain(
    answers: Answers, act: Callable[["McpService"], T]
) -> Callable[[Context, PaginatedRequestParams | None], Awaitable[T]]:
    """Return what handles a request for a list that is short enough for one page."""

    async def handler(_context: Context, params: PaginatedRequestParams | None) -> T:
        _check_beginning(params)
        return await answers.ask(act)

    return handler


def _check_beginning(params: PaginatedRequestParams | None) -> None:
    """Refuse every cursor of a list that has one page: none was ever given out."""
    if params is not None and params.cursor is not None:
        raise _failure(INVALID_PARAMS, str(unknown_cursor()))


def _nothing(_desk: "McpService") -> None:
    """Ask for nothing but that everything is open, and that changes are looked for."""


def _call_tool(service: "McpService", params: CallToolRequestParams) -> CallToolResult:
    return service.tools.call(params.name, params.arguments)


def _get_prompt(service: "McpService", params: GetPromptRequestParams) -> GetPromptResult:
    return service.prompts.get(params.name, params.arguments)


def _list_skills(service: "McpService", params: PaginatedRequestParams) -> SkillsListResult:
    page = service.catalogue.page(params.cursor)
    return SkillsListResult(
        skills=[_entry(skill) for skill in page.skills], next_cursor=page.cursor, ttl_ms=TTL_MS
    )


def _get_skill(service: "McpService", params: GetParams) -> SkillsGetResult:
    return SkillsGetResult(skill=_entry(service.catalogue.skill(params.uri).facts), ttl_ms=TTL_MS)


def _entry(skill: "SkillFacts") -> SkillEntry:
    listed = skill.resources
    resources = (
        DYNAMIC
        if listed is None
        else [SkillResource(uri=one.uri, digest=one.digest, size=one.size) for one in listed]
    )
    return SkillEntry(uri=skill.uri, frontmatter=dict(skill.frontmatter), resources=resources)


def _list_resources(
    service: "McpService", params: PaginatedRequestParams | None
) -> ListResourcesResult:
    page = service.catalogue.page(None if params is None else params.cursor)
    found = [
        Resource(
            uri=skill.uri,
            name=one_line(skill.name),
            description=one_line(str(skill.frontmatter.get("description") or "")) or None,
            mime_type=MARKDOWN,
            size=skill.size,
        )
        for skill in page.skills
    ]
    return ListResourcesResult(resources=found, next_cursor=page.cursor, ttl_ms=TTL_MS)


async def _templates(
    _context: Context, params: PaginatedRequestParams | None
) -> ListResourceTemplatesResult:
    _check_beginning(params)
    template = ResourceTemplate(
        uri_template=f"{SCHEME}{{skill}}/{{+path}}",
        name="skill-file",
        description="A file of a skill; SKILL.md holds its instructions.",
    )
    return ListResourceTemplatesResult(resource_templates=[template])


def _read_resource(service: "McpService", params: ReadResourceRequestParams) -> ReadResourceResult:
    content = service.catalogue.file(params.uri)
    try:
        # As it is, a byte order mark and line ends included: a client checks its digest.
        text = content.decode("utf-8")
        found: TextResourceContents | BlobResourceContents = TextResourceContents(
            uri=params.uri, mime_type=media_type(params.uri, TEXT), text=text
        )
    except UnicodeDecodeError:
        found = blob(params.uri, content)
    return ReadResourceResult(contents=[found], ttl_ms=0)


def _read_directory(service: "McpService", params: DirectoryParams) -> DirectoryReadResult:
    found = service.catalogue.directory(params.uri, params.cursor)
    return DirectoryReadResult(
        resources=[_in_directory(found, entry) for entry in found.entries],
        next_cursor=found.cursor,
    )


def _in_directory(found: "Directory", entry: "DirectoryEntry") -> Resource:
    uri = file_uri(found.skill.name, entry.path)
    is_folder = entry.size is None
    return Resource(
        uri=uri,
        name=one_line(entry.path.rstrip("/").rpartition("/")[2]),
        mime_type=FOLDER_TYPE if is_folder else media_type(uri, BYTES),
        size=entry.size,
    )


def _failure(code: int, message: str) -> MCPError:
    return MCPError(code, one_line(message)[:_LONGEST_SAID])
