"""The tools of a run for agents that are written in Python, as OpenAI-style function schemas.

What they answer is written in `prowess.runtime.skill_tools`. Nothing here asks a person:
`skill_workshop` follows the workshop's own policy.
"""

from collections.abc import Collection, Mapping
from typing import Any, Protocol, TypeAlias

from prowess.errors import ProwessError
from prowess.runtime.run import AsyncRun, Run
from prowess.runtime.skill_tools import (
    FIND,
    FIND_SCHEMA,
    NAME_SCHEMA,
    WORKSHOP,
    WORKSHOP_SCHEMA,
    Arguments,
    ArgumentsRefused,
    Schema,
    SkillTools,
    closed,
    describe_error,
    describe_refusal,
    read_arguments,
    text_schema,
)
from prowess.skills.text import clean

SkillsRun: TypeAlias = Run | AsyncRun

READ = "read_skill"
_READ_SCHEMA = closed(
    {
        "name": NAME_SCHEMA,
        "path": text_schema("A file of the skill, relative to its folder; leave out for SKILL.md."),
    },
    required=("name",),
)
_ABOUT = {
    READ: "Read a skill's instructions, or one of its files, before following it.",
    FIND: "Find skills for a task that the list of available skills does not settle.",
    WORKSHOP: "Propose a new or better skill from what was learned, or look after proposals.",
}
_SCHEMAS = {READ: _READ_SCHEMA, FIND: FIND_SCHEMA, WORKSHOP: WORKSHOP_SCHEMA}


class ChatFiles(Protocol):
    """Reads files of the workspace, and no others; the adapter is under `host`."""

    def real(self, path: str) -> str:
        """Return where a path leads: absolute, through links, and from the workspace on."""

    def read(self, path: str) -> str:
        """Return a text file of the workspace.

        Raises:
            PathError: there is no such file, it is no text, or it lies elsewhere.
        """


def tool_names(run: SkillsRun) -> tuple[str, ...]:
    """Return the names of the tools that this run offers."""
    return (READ, FIND, *((WORKSHOP,) if run.workshop.enabled else ()))


def tool_schemas(run: SkillsRun) -> list[dict[str, Any]]:
    """Return the run's tools as OpenAI-style function schemas."""
    return [function_schema(name, _ABOUT[name], _SCHEMAS[name]) for name in tool_names(run)]


def function_schema(name: str, description: str, parameters: Schema) -> dict[str, Any]:
    """Return one tool in the shape that OpenAI-compatible models take."""
    function = {"name": name, "description": description, "parameters": parameters}
    return {"type": "function", "function": function}


def call_tool(run: SkillsRun, name: str, arguments: Arguments) -> str:
    """Call one of the run's tools and return its answer, or what was wrong with the call."""
    try:
        return call_checked(run, name, check_call(run, name, arguments))
    except ArgumentsRefused as refused:
        return refuse(name, refused)


def check_call(run: SkillsRun, name: str, arguments: Arguments) -> dict[str, Any]:
    """Return the arguments for one of the run's tools, parsed once; decide and act on these alone.

    Raises:
        ArgumentsRefused: they do not fit, or there is no such tool.
    """
    if name not in tool_names(run):
        known = ", ".join(tool_names(run))
        raise ArgumentsRefused(f"there is no tool {clean(name)!r}: use {known}")
    return read_arguments(arguments, _SCHEMAS[name])


def refuse(name: str, refused: ArgumentsRefused) -> str:
    """Return what a model is told about arguments that do not fit."""
    return f"Error: {describe_refusal(name, refused)}"


def fail(error: ProwessError) -> str:
    """Return what a model is told about a call that could not be answered."""
    return f"Error: {describe_error(error)}"


def call_checked(
    run: SkillsRun, name: str, given: Mapping[str, Any], called: Collection[str] = ()
) -> str:
    """Call one of the run's tools with arguments that `check_call` gave.

    A person may have put skills before the model that are kept from it otherwise: `called`.
    """
    tools = SkillTools(run, load=READ, called=called)
    try:
        if name == FIND:
            return tools.find(**given)
        if name == WORKSHOP:
            return tools.workshop(given)
        return tools.read(**given) if given.get("path") else tools.load(given["name"])
    except ProwessError as error:
        return fail(error)
