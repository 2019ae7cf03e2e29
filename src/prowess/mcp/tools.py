"""Tools and prompts for clients that do not know the skills extension: they can do all it does.

A skill that the agent may not use cannot be found, loaded or read, and the names that are offered
are only those that it may. People call prompts, so a skill that is hidden from the model has its
prompt, as it has its slash command; a command that goes straight to a tool has none, since no
client could follow it.
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from mcp_types import (
    CallToolResult,
    EmbeddedResource,
    GetPromptResult,
    Prompt,
    PromptArgument,
    PromptMessage,
    TextContent,
    Tool,
    ToolAnnotations,
)

from prowess.errors import ProwessError
from prowess.mcp.catalogue import McpCatalogue
from prowess.mcp.protocol import NotThere, blob
from prowess.runtime.run import RunPorts
from prowess.runtime.skill_texts import NoTextError
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
from prowess.skills.commands import SkillCommand
from prowess.skills.invocation import InvocationPlace, invoke
from prowess.skills.text import clean, cut_listed, one_line

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
        return self._filled(command, text)

    def _filled(self, command: SkillCommand, text: str) -> GetPromptResult:
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
_SCHEMAS = {
    FIND: FIND_SCHEMA,
    LOAD: _LOAD_SCHEMA,
    READ: _READ_SCHEMA,
    WORKSHOP: WORKSHOP_SCHEMA,
}
_ABOUT = {
    FIND: "Find the skills that help with a task, best first. Ask before any task that somebody"
    " may have written instructions for.",
    LOAD: "Load a skill's instructions and the list of its files. Do so before following it.",
    READ: "Read one file of a skill that was loaded, when its instructions point to it. A file that"
    " is no text comes as its bytes.",
    WORKSHOP: "Keep what was learned: propose a new skill or a better one, or look after what was"
    " proposed.",
}


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
