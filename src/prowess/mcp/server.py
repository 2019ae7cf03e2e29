"""The MCP server of one agent: which request is answered by what, and in which words it fails.

Nothing of skills is loaded before a request needs it: a client that starts us waits for the answer
to its first request only as long as the SDK takes to load. Everything else runs in threads, since
it reads files. No text of an unexpected error reaches a client or a log: it may hold anything.
"""

import asyncio
import functools
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.to_thread
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourcesListChanged
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
    Prompt,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    TextResourceContents,
)

from prowess.errors import ConfigError, ProwessError, StoreError
from prowess.mcp.greeting import INCOMPLETE
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
from prowess.mcp.service import ClientView, Notices
from prowess.skills.text import one_line
from prowess.spans import contain

if TYPE_CHECKING:
    from prowess.mcp.catalogue import AddressedCatalogue, Directory, DirectoryEntry, ListPage
    from prowess.mcp.protocol import SkillFacts
    from prowess.mcp.service import McpService
    from prowess.skills.catalog import AddressedSkill

log = logging.getLogger(__name__)

T = TypeVar("T")
P = TypeVar("P")
Context = ServerRequestContext[Any, Any]
_Page = PaginatedRequestParams | None
_Handler = Callable[[Context, P], Awaitable[T]]
_Lists = _Handler[_Page, T]
# How long an answer may be kept: changes of skills are told, changes of their other files are not.
TTL_MS = 10_000
_THREADS = 4
_AFTER_ANSWER_S = 0.5
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

    # What agents are told about the workshop at this moment; nothing where it is off.
    guidance: Callable[[], str] = str

    @property
    def instructions(self) -> str:
        """What a client is told as it begins: the workshop may have been switched on meanwhile."""
        return "\n\n".join(part for part in (_INSTRUCTIONS, self.guidance()) if part)

    @instructions.setter
    def instructions(self, _text: str | None) -> None:
        """Take nothing from elsewhere."""

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
        # Set once the skills were looked at, and a client may know anything that can change.
        self.opened = anyio.Event()
        self._threads = anyio.CapacityLimiter(_THREADS)
        self.notices = Notices(self._look)
        self._catching_up: asyncio.Task[None] | None = None

    async def ask(self, act: Callable[["McpService"], T]) -> T:
        """Have the service answer, in a thread, once the skills were looked at.

        Raises:
            MCPError: it cannot; the message says why.
        """

        def answer(service: "McpService") -> T:
            service.settle()
            return act(service)

        return await self.look(answer)

    async def look(self, act: Callable[["McpService"], T]) -> T:
        """Have the service answer by what was scanned before; what was not is not there yet.

        Raises:
            MCPError: it cannot; the message says why.
        """

        async def answer() -> T:
            service = await self._open()
            await self.notices.begin()
            self.opened.set()
            return await self._in_thread(functools.partial(act, service))

        return await self._explain(answer)

    async def look_at_list(self, act: Callable[["McpService"], T]) -> tuple[T, bool]:
        """Have the service give a list, and whether something waits for its scan.

        What is left out of it is told of once it can be used.

        Raises:
            MCPError: it cannot; the message says why.
        """

        def listed(service: "McpService") -> tuple[T, bool]:
            found, waits = act(service), bool(service.catalogue.waiting())
            self.notices.left_out |= waits
            return found, waits

        return await self.look(listed)

    async def ask_nobody(self, act: Callable[[], T]) -> T:
        """Answer what needs no skills, in a thread, however long looking at them takes.

        Raises:
            MCPError: it cannot be answered; the message says why.
        """
        return await self._explain(lambda: self._in_thread(act))

    async def list_skills(self, cursor: str | None) -> "tuple[ListPage, bool, bool]":
        """Return a page of the list, whether it is of before, and whether something waits.

        Many skills take longer to look at than a client that starts us waits for its first list.
        Whoever gets the kept one is told as soon as it turns out to be another.

        Raises:
            MCPError: it cannot be answered; the message says why.
        """
        if not self.opened.is_set():
            service = await self._explain(self._open)
            kept = await self.ask_nobody(service.kept)
            if kept is not None:
                self._look_later(kept)
                page = await self.ask_nobody(lambda: service.catalogue.listed(cursor, kept))
                # Where nobody ever looked, none is there yet.
                return page, True, not kept
        page, waits = await self.look_at_list(lambda service: service.catalogue.listed(cursor))
        return page, False, waits

    def _look_later(self, told: "Sequence[AddressedSkill]") -> None:
        """Look at the skills after all, once whoever asked has got an answer."""
        if self._catching_up is None:
            self._catching_up = asyncio.ensure_future(self._catch_up(told))

    async def _catch_up(self, told: "Sequence[AddressedSkill]") -> None:
        await asyncio.sleep(_AFTER_ANSWER_S)
        # What is wrong is told to the next request.
        with suppress(MCPError):
            rows, _ = await self.look_at_list(lambda service: service.catalogue.rows())
            if rows != tuple(sorted(told)):
                await self.notices.tell(ResourcesListChanged())

    async def _explain(self, act: Callable[[], Awaitable[T]]) -> T:
        """Do something; what goes wrong comes out in the words of the protocol."""
        try:
            return await act()
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
        await self.look(lambda _service: None)
        if self.notices.closed:
            # While everything was opened: a stream that begins now would have no end.
            raise _failure(INTERNAL_ERROR, "the server is stopping: try again in a moment")
        return await self.notices.listen(context, params)

    async def welcome(self, context: Context, params: NotificationParams) -> None:
        """Begin to tell a client of the older kind, which has just said that it is ready."""
        await self.notices.welcome(context, params)
        # What is wrong is told to its first request.
        with suppress(MCPError):
            service = await self._explain(self._open)
            kept = await self.ask_nobody(service.kept)
            if kept is None:
                await self.look(lambda _service: None)
            else:
                self._look_later(kept)

    async def changed(self) -> None:
        """Tell clients what changed, if anything did; nothing that goes wrong comes out."""
        # Whatever it is, the next change may be told.
        with contain(lambda error: log.warning("mcp.untold: %s", type(error).__qualname__)):
            await self.notices.changed()

    async def _look(self) -> ClientView:
        service = await self._open()
        return await self._in_thread(service.view)

    async def _open(self) -> "McpService":
        async with self._opening:
            if self._service is None:
                self._service = await self._in_thread(self._open_service)
        return self._service

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await anyio.to_thread.run_sync(work, limiter=self._threads)


def build_server(
    answers: Answers,
    version: str,
    guidance: Callable[[], str] = str,
    has_workshop: Callable[[], bool] = bool,
) -> SkillsServer:
    """Return the server whose requests are answered by `answers`; `guidance` is the workshop's."""
    server = SkillsServer(
        "prowess",
        version=version,
        title=_TITLE,
        on_list_tools=_tools(answers, has_workshop),
        on_call_tool=_type(answers, _call_tool),
        on_list_resources=_resources(answers),
        on_list_resource_templates=_templates,
        on_read_resource=_serve(answers, read_resource),
        on_subscriptions_listen=answers.listen,
        on_list_prompts=_prompts(answers),
        on_get_prompt=_type(answers, _get_prompt),
    )
    server.guidance = guidance
    server.add_notification_handler(
        "notifications/initialized", NotificationParams, answers.welcome
    )
    server.add_request_handler(LIST, PaginatedRequestParams, _serve(answers, list_skills))
    server.add_request_handler(GET, GetParams, _serve(answers, get_skill))
    server.add_request_handler(READ_DIRECTORY, DirectoryParams, _serve(answers, read_directory))
    server.extensions[EXTENSION] = dict(SETTINGS)
    return server


def _serve(answers: Answers, act: Callable[["AddressedCatalogue", P], T]) -> _Handler[P, T]:
    return _type(answers, lambda service, params: act(service.catalogue, params))


def _type(answers: Answers, act: Callable[["McpService", P], T]) -> _Handler[P, T]:
    """Return what handles a request whose parameters matter."""

    async def handler(_context: Context, params: P) -> T:
        return await answers.ask(lambda service: act(service, params))

    return handler


def _prompts(answers: Answers) -> _Lists[ListPromptsResult]:
    """Return what lists the skills that a person may call."""

    def listed(service: "McpService") -> list[Prompt]:
        service.settle()
        return service.prompts.list_prompts()

    async def handler(_context: Context, params: _Page) -> ListPromptsResult:
        _check_beginning(params)
        found, waits = await answers.look_at_list(listed)
        return ListPromptsResult(prompts=found, _meta=_mark(waits=waits))

    return handler


def _mark(*, waits: bool) -> dict[str, Any] | None:
    """Return what a list says of itself beside its rows."""
    return {INCOMPLETE: True} if waits else None


def _tools(answers: Answers, has_workshop: Callable[[], bool]) -> _Lists[ListToolsResult]:
    """Return what lists the tools, which needs no skills."""

    def listed() -> ListToolsResult:
        # Late, as all that a client's first answer does not need.
        from prowess.mcp.service import list_tools

        return ListToolsResult(tools=list_tools(workshop=has_workshop()))

    async def handler(_context: Context, params: _Page) -> ListToolsResult:
        _check_beginning(params)
        return await answers.ask_nobody(listed)

    return handler


def _check_beginning(params: _Page) -> None:
    """Refuse every cursor of a list that has one page: none was ever given out."""
    if params is not None and params.cursor is not None:
        raise _failure(INVALID_PARAMS, str(unknown_cursor()))


def _call_tool(service: "McpService", params: CallToolRequestParams) -> CallToolResult:
    return service.tools.call(params.name, params.arguments)


def _get_prompt(service: "McpService", params: GetPromptRequestParams) -> GetPromptResult:
    return service.prompts.get(params.name, params.arguments)


def list_skills(
    catalogue: "AddressedCatalogue", params: PaginatedRequestParams
) -> SkillsListResult:
    """Answer `skills/list`."""
    page = catalogue.page(params.cursor)
    return SkillsListResult(
        skills=[_entry(skill) for skill in page.skills], next_cursor=page.cursor, ttl_ms=TTL_MS
    )


def get_skill(catalogue: "AddressedCatalogue", params: GetParams) -> SkillsGetResult:
    """Answer `skills/get`."""
    return SkillsGetResult(skill=_entry(catalogue.skill(params.uri).facts), ttl_ms=TTL_MS)


def _entry(skill: "SkillFacts") -> SkillEntry:
    listed = skill.resources
    resources = (
        DYNAMIC
        if listed is None
        else [SkillResource(uri=one.uri, digest=one.digest, size=one.size) for one in listed]
    )
    return SkillEntry(uri=skill.uri, frontmatter=dict(skill.frontmatter), resources=resources)


def _resources(answers: Answers) -> _Lists[ListResourcesResult]:
    """Return what lists the skills as resources."""

    async def handler(_context: Context, params: _Page) -> ListResourcesResult:
        cursor = None if params is None else params.cursor
        page, is_kept, waits = await answers.list_skills(cursor)
        found = [
            Resource(
                uri=file_uri(row.address),
                name=one_line(row.address),
                description=row.description or None,
                mime_type=MARKDOWN,
            )
            for row in page.rows
        ]
        return ListResourcesResult(
            resources=found,
            next_cursor=page.cursor,
            ttl_ms=0 if is_kept or waits else TTL_MS,
            _meta=_mark(waits=waits),
        )

    return handler


async def _templates(_context: Context, params: _Page) -> ListResourceTemplatesResult:
    _check_beginning(params)
    template = ResourceTemplate(
        uri_template=f"{SCHEME}{{skill}}/{{+path}}",
        name="skill-file",
        description="A file of a skill; SKILL.md holds its instructions.",
    )
    return ListResourceTemplatesResult(resource_templates=[template])


def read_resource(
    catalogue: "AddressedCatalogue", params: ReadResourceRequestParams
) -> ReadResourceResult:
    """Answer `resources/read`."""
    content = catalogue.file(params.uri)
    try:
        # As it is, a byte order mark and line ends included: a client checks its digest.
        text = content.decode("utf-8")
        found: TextResourceContents | BlobResourceContents = TextResourceContents(
            uri=params.uri, mime_type=media_type(params.uri, TEXT), text=text
        )
    except UnicodeDecodeError:
        found = blob(params.uri, content)
    return ReadResourceResult(contents=[found], ttl_ms=0)


def read_directory(catalogue: "AddressedCatalogue", params: DirectoryParams) -> DirectoryReadResult:
    """Answer `resources/directory/read`."""
    found = catalogue.directory(params.uri, params.cursor)
    return DirectoryReadResult(
        resources=[_in_directory(found, entry) for entry in found.entries], next_cursor=found.cursor
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
