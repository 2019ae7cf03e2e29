"""All that answers a client, put together for one agent.

This module brings along the scanner, and with it a second of imports: whoever serves a client opens
it with the first request that needs a skill, and not before.

Tools and prompts for clients that do not know the skills extension: they can do all it does.

A skill that the agent may not use cannot be found, loaded or read, and the names that are offered
are only those that it may. People call prompts, so a skill that is hidden from the model has its
prompt, as it has its slash command; a command that goes straight to a tool has none, since no
client could follow it.

Telling clients that something changed, each in the way of its time.

Newer clients open a stream and say what they want to hear of; older ones are told unasked. What was
told is compared with what is, so that nobody hears of a change twice, or of one that is none. The
lists are compared as clients see them: a skill that an agent may not use is no news to it.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
    event_to_notification,
)
from mcp_types import (
    CallToolResult,
    EmbeddedResource,
    GetPromptResult,
    NotificationParams,
    Prompt,
    PromptArgument,
    PromptMessage,
    TextContent,
    Tool,
    ToolAnnotations,
)

from prowess.errors import ProwessError, SkillNotFoundError
from prowess.mcp.catalogue import McpCatalogue
from prowess.mcp.protocol import NotThere, blob, file_uri
from prowess.runtime.run import RunPorts
from prowess.runtime.skill_texts import NoTextError, SkillText
from prowess.runtime.skill_tools import (
    FIND,
    FIND_SCHEMA,
    NAME_SCHEMA,
    WORKSHOP,
    WORKSHOP_SCHEMA,
    ArgumentsRefused,
    SkillSource,
    SkillTools,
    closed,
    describe_error,
    describe_refusal,
    read_arguments,
    text_schema,
)
from prowess.runtime.usage import Use
from prowess.skills.catalog import addressed_name
from prowess.skills.commands import SkillCommand, build_commands
from prowess.skills.invocation import InvocationPlace, invoke
from prowess.skills.model import Skill
from prowess.skills.text import clean, cut_listed, one_line

if TYPE_CHECKING:
    from mcp.server.session import ServerSession

    from prowess.routing.model import Route
    from prowess.runtime.workshop.service import WorkshopService
    from prowess.skills.catalog import AddressedSkill


MOST_STREAMS = 256
_MOST_WAITING = 64
# Who does not take a notice in this time goes without it.
_PATIENCE_SECONDS = 5.0


@dataclass(frozen=True, kw_only=True)
class ClientView:
    """The skills as clients see them, in a form that can be compared."""

    # What the agent may use, and what only waits for its scan: that is no news once it is scanned.
    skills: tuple[Skill, ...]
    # Whether anything waits for its scan.
    waits: bool
    workshop: bool

    @cached_property
    def pages(self) -> Mapping[str, str]:
        """The hash of each SKILL.md, by its address."""
        visible = (skill for skill in self.skills if skill.invocation.model)
        named = ((addressed_name(skill), skill) for skill in visible)
        return {file_uri(name): skill.content_hash for name, skill in named if name is not None}

    @cached_property
    def prompts(self) -> Sequence[object]:
        """What is shown of each command that a person may call."""
        return [
            (one.name, one.skill_name, one.description, one.argument_hint)
            for one in build_commands(self.skills)
            if one.dispatch is None
        ]


class Notices:
    """Who listens, and what they have been told."""

    def __init__(self, look: Callable[[], Awaitable[ClientView]]) -> None:
        """Begin; `look` says what clients see now."""
        self._look = look
        self._bus = InMemorySubscriptionBus()
        self.listen = ListenHandler(
            self._bus, max_subscriptions=MOST_STREAMS, max_buffered_events=_MOST_WAITING
        )
        # The newest last. Nothing says when one is gone; telling it then costs nothing.
        self._older: OrderedDict[int, ServerSession] = OrderedDict()
        self._seen: ClientView | None = None
        self._turn = anyio.Lock()
        self.closed = False
        # Whether a list was given without what waits for its scan.
        self.left_out = False

    # The context is what the SDK makes it.
    async def welcome(
        self, context: ServerRequestContext[Any, Any], _params: NotificationParams
    ) -> None:
        """Remember a client of the older kind, which has just said that it is ready."""
        self._older[id(context.session)] = context.session
        while len(self._older) > MOST_STREAMS:
            self._older.popitem(last=False)

    async def begin(self) -> None:
        """Take what is there as told, unless something was told already."""
        async with self._turn:
            if self._seen is None:
                self._seen = await self._look()

    async def changed(self) -> None:
        """Look what changed, and tell it."""
        async with self._turn:
            if self._seen is None:
                # Nobody asked for anything yet, so nobody knows anything that could be old.
                return
            before, now = self._seen, await self._look()
            self._seen = now
            news = _news(before, now)
            if self.left_out and not now.waits:
                self.left_out = False
                news = [ResourcesListChanged(), PromptsListChanged(), *news]
        for event in dict.fromkeys(news):
            await self.tell(event)

    async def tell(self, event: ServerEvent) -> None:
        """Tell one thing to everybody; of a page alone hears who asked for it."""
        await self._bus.publish(event)
        if not isinstance(event, ResourceUpdated):
            await self._tell_older(event)

    def close(self) -> None:
        """End every stream in good order."""
        self.closed = True
        self.listen.close()
        self._older.clear()

    async def _tell_older(self, event: ServerEvent) -> None:
        notice = event_to_notification(event, {})
        for session in tuple(self._older.values()):
            with anyio.move_on_after(_PATIENCE_SECONDS):
                await session.send_notification(notice)


def _news(before: ClientView, now: ClientView) -> list[ServerEvent]:
    news: list[ServerEvent] = [] if before.workshop == now.workshop else [ToolsListChanged()]
    if before.skills is now.skills:
        return news
    if before.pages != now.pages:
        news.append(ResourcesListChanged())
    if before.prompts != now.prompts:
        news.append(PromptsListChanged())
    kept = [uri for uri in now.pages if uri in before.pages]
    news += [ResourceUpdated(uri) for uri in kept if before.pages[uri] != now.pages[uri]]
    return news


ARGUMENTS = "arguments"
_LONGEST_ARGUMENTS = 100_000


class McpPrompts:
    """Lists the prompts, and fills them."""

    def __init__(self, catalogue: McpCatalogue, tools: RunPorts) -> None:
        self._catalogue, self._tools = catalogue, tools

    def list_prompts(self) -> list[Prompt]:
        """Return the prompts that there are now, by name."""
        commands = sorted(self._catalogue.commands(), key=lambda one: one.name)
        return [_prompt(command) for command in commands]

    def get(self, name: str, arguments: Mapping[str, str] | None) -> GetPromptResult:
        """Return a prompt, filled.

        Raises:
            NotThere: there is no such prompt, or it does not take these arguments.
            UnsafeSkillError: the scanner refuses its skill.
        """
        known = (*self._catalogue.commands(), *self._catalogue.held_commands())
        command = next((one for one in known if one.name == name), None)
        if command is None:
            raise NotThere(f"there is no prompt {one_line(name)[:80]!r}: ask for prompts/list.")
        given = dict(arguments or {})
        text = given.pop(ARGUMENTS, "")
        if given or len(text) > _LONGEST_ARGUMENTS:
            raise NotThere(
                f"a prompt takes one argument, {ARGUMENTS!r}, of at most {_LONGEST_ARGUMENTS}"
                " characters."
            )
        return self._fill(command, text)

    def _fill(self, command: SkillCommand, text: str) -> GetPromptResult:
        agent = self._catalogue.agent_id
        self._catalogue.texts.check(command.skill)
        folder = self._tools.skills.workspace(agent).folder
        place = InvocationPlace(project_dir=folder)
        invoked = invoke(f"/{command.name} {text}".rstrip(), [command], place)
        if invoked is None:
            raise NotThere(f"the prompt {command.name!r} cannot be filled with this text.")
        self._tools.usage().note(Use.INVOKED, [command.skill.name], agent)
        message = PromptMessage(role="user", content=TextContent(text=clean(invoked.text)))
        return GetPromptResult(description=one_line(command.description), messages=[message])


def _prompt(command: SkillCommand) -> Prompt:
    about = one_line(command.argument_hint) or "What the skill is to work on."
    return Prompt(
        name=command.name,
        title=one_line(command.skill_name),
        description=cut_listed(one_line(command.description)),
        arguments=[PromptArgument(name=ARGUMENTS, description=about, required=False)],
    )


LOAD, READ = "load_skill", "read_skill_file"
_LOOKS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_WRITES = ToolAnnotations(read_only_hint=False, open_world_hint=False)
_LOAD_SCHEMA = closed({"name": NAME_SCHEMA}, required=("name",))
_READ_SCHEMA = closed(
    {
        "name": NAME_SCHEMA,
        "path": text_schema(
            "A file of the skill, relative to its folder.", minLength=1, maxLength=1_024
        ),
        "start": {
            "type": "integer",
            "minimum": 0,
            "description": "The character to begin at, where a file is long.",
        },
    },
    required=("name", "path"),
)
_SCHEMAS = {FIND: FIND_SCHEMA, LOAD: _LOAD_SCHEMA, READ: _READ_SCHEMA, WORKSHOP: WORKSHOP_SCHEMA}
_ABOUT = {
    FIND: "Find the skills that help with a task, best first. Ask before any task that somebody"
    " may have written instructions for.",
    LOAD: "Load a skill's instructions and the list of its files. Do so before following it.",
    READ: "Read one file of a skill that was loaded, when its instructions point to it. A file that"
    " is no text comes as its bytes.",
    WORKSHOP: "Keep what was learned: propose a new skill or a better one, or look after what was"
    " proposed.",
}


# Claude Code puts tools behind a search unless they ask for a place in the prompt; the two by which
# a skill is found and read are worth it, and others pass over the mark.
_AT_HAND = {"anthropic/alwaysLoad": True}


def list_tools(*, workshop: bool) -> list[Tool]:
    """Return the tools; no skill is named in them, so that they stay the same from turn to turn.

    A client keeps the beginning of a conversation, tools included, for as long as it is the same.
    """
    return [
        Tool(
            name=name,
            description=_ABOUT[name],
            input_schema=schema,
            annotations=_WRITES if name == WORKSHOP else _LOOKS,
            _meta=_AT_HAND if name in {FIND, LOAD} else None,
        )
        for name, schema in _SCHEMAS.items()
        if workshop or name != WORKSHOP
    ]


class McpSource(SkillSource, Protocol):
    """A source that also knows which skills there are now."""

    catalogue: McpCatalogue


class McpTools:
    """Answers the calls of tools."""

    def __init__(self, source: McpSource, has_workshop: Callable[[], bool]) -> None:
        self._source, self._has_workshop = source, has_workshop
        self._tools = SkillTools(source, load=LOAD, read_on=READ)

    def call(self, name: str, arguments: Mapping[str, Any] | None) -> CallToolResult:
        """Answer a call.

        Raises:
            NotThere: there is no such tool.
        """
        if name not in _SCHEMAS or (name == WORKSHOP and not self._has_workshop()):
            raise NotThere(f"there is no tool {one_line(name)[:80]!r}.")
        try:
            return self._answer(name, read_arguments(arguments or {}, _SCHEMAS[name]))
        except ArgumentsRefused as refused:
            return _fail(describe_refusal(name, refused))
        except ProwessError as error:
            return _fail(describe_error(error))

    def _answer(self, name: str, given: Mapping[str, Any]) -> CallToolResult:
        if name == FIND:
            return _say(self._tools.find(**given))
        if name == LOAD:
            return _say(self._tools.load(given["name"]))
        if name == READ:
            return self._read(given["name"], given["path"], given.get("start", 0))
        return _say(self._tools.workshop(given))

    def _read(self, name: str, path: str, start: int) -> CallToolResult:
        try:
            text = self._tools.read(name, path, start)
        except NoTextError:
            return self._bytes(name, path, start)
        if not text and start:
            return _fail(f"{one_line(path)} ends before character {start}.")
        return _say(text)

    def _bytes(self, name: str, path: str, start: int) -> CallToolResult:
        """Answer with a file that is no text: whole, as a resource in the answer."""
        if start:
            return _fail(f"{one_line(path)} is no text and comes whole: leave out start.")
        uri, content = self._source.catalogue.file_bytes(name, path)
        told = TextContent(text=f"{one_line(path)} is no text: {len(content)} bytes follow.")
        return CallToolResult(content=[told, EmbeddedResource(resource=blob(uri, content))])


def _say(text: str) -> CallToolResult:
    # Text alone: many clients would show a model the same once more as JSON.
    return CallToolResult(content=[TextContent(text=clean(text))])


def _fail(problem: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=f"Error: {clean(problem)}")], is_error=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class McpPorts:
    """What the service needs of everything else."""

    run: RunPorts
    has_workshop: Callable[[], bool]
    # Called before each answer: brings the skills up to date, where nothing else does.
    look: Callable[[], None] = lambda: None
    # None: the default agent.
    agent_id: str | None = None
    # Called before the first answer that is no list: a few new skills may be scanned for it.
    settle: Callable[[], None] = lambda: None
    # The list of skills as it was when they were last looked at; None where it takes no time to
    # look, or where there is no such list that could be trusted.
    kept: "Callable[[], Sequence[AddressedSkill] | None]" = lambda: None


class McpService:
    """Answers the requests of clients; what it finds and reads are the skills as they are now."""

    # No client says to which session a request belongs.
    session_id = ""

    def __init__(self, ports: McpPorts) -> None:
        self._run, self._has_workshop = ports.run, ports.has_workshop
        self.kept, self.settle = ports.kept, ports.settle
        self.catalogue = McpCatalogue(
            ports.run.skills, ports.run.texts, agent_id=ports.agent_id, look=ports.look
        )
        self.tools = McpTools(self, ports.has_workshop)
        self.prompts = McpPrompts(self.catalogue, ports.run)

    @property
    def agent_id(self) -> str:
        """Whose skills these are."""
        return self.catalogue.agent_id

    @property
    def workshop(self) -> "WorkshopService":
        """What keeps proposals; it is asked about the skills as they are now."""
        self.catalogue.visible()
        return self._run.workshop()

    def wait_for(self, name: str, missed: SkillNotFoundError) -> Skill:
        """Return a skill that the scanner alone kept back, where it no longer does."""
        return self._run.skills.wait_for(name, self.agent_id, missed)

    def find(self, query: str, limit: int = 5, before: str = "") -> "Route":
        """Return the skills nearest to a query, which may refer to what was said before it."""
        # Late: numbers and vectors are loaded by the first request that needs them.
        from prowess.routing.router import Context
        from prowess.runtime.route.answer import Asked, Caller, Surface

        self.catalogue.visible()
        caller = Caller(surface=Surface.MCP, agent_id=self.agent_id)
        asked = Asked(considered=limit, context=Context(reply=before))
        return self._run.routing().answer(query, caller, asked).route

    @property
    def skills(self) -> tuple[Skill, ...]:
        """What the agent may use now, what is kept from its model included."""
        return self.catalogue.usable()

    def read(self, skill: Skill, path: str = "", start: int = 0) -> SkillText:
        """Return a skill's body, or one of its files, from one character on."""
        found = self.catalogue.read(skill, path, start)
        if found.is_begun:
            self._run.usage().note(Use.LOADED, [found.name], self.agent_id)
        return found

    def view(self) -> ClientView:
        """Return what clients see now, to be compared with what they saw before."""
        usable, waiting = self.catalogue.usable(), self.catalogue.waiting()
        return ClientView(
            skills=(*usable, *waiting) if waiting else usable,
            waits=bool(waiting),
            workshop=self._has_workshop(),
        )
