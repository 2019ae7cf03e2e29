"""A prompt for each skill that people may call: its text, with what they wrote put in.

People call prompts, so one that is hidden from the model has its prompt, as it has its slash
command. A command that goes straight to a tool has none: no client could follow it.
"""

from collections.abc import Mapping

from mcp_types import GetPromptResult, Prompt, PromptArgument, PromptMessage, TextContent

from prowess.mcp.catalogue import Catalogue
from prowess.mcp.refusals import NotThere
from prowess.runtime.run_tools import RunTools
from prowess.runtime.usage import Use
from prowess.skills.commands import SkillCommand
from prowess.skills.invocation import InvocationPlace, invoke
from prowess.skills.text import clean, one_line

ARGUMENTS = "arguments"
_LONGEST_ARGUMENTS = 100_000


class SkillPrompts:
    """Lists the prompts, and fills them."""

    def __init__(self, catalogue: Catalogue, tools: RunTools) -> None:
        self._catalogue, self._tools = catalogue, tools

    def listed(self) -> list[Prompt]:
        """Return the prompts that there are now, by name."""
        commands = sorted(self._catalogue.commands(), key=lambda one: one.name)
        return [_prompt(command) for command in commands]

    def get(self, name: str, arguments: Mapping[str, str] | None) -> GetPromptResult:
        """Return a prompt, filled.

        Raises:
            NotThere: there is no such prompt, or it does not take these arguments.
            UnsafeSkillError: the scanner refuses its skill.
        """
        command = next((one for one in self._catalogue.commands() if one.name == name), None)
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
        self._catalogue.reading.whole(command.skill)
        folder = self._tools.skills.workspace(agent).folder
        place = InvocationPlace(project_dir=folder)
        invoked = invoke(f"/{command.name} {text}".rstrip(), [command], place)
        if invoked is None:
            raise NotThere(f"the prompt {command.name!r} cannot be filled with this text.")
        self._tools.note(Use.INVOKED, [command.skill.name], agent)
        message = PromptMessage(role="user", content=TextContent(text=clean(invoked.text)))
        return GetPromptResult(description=one_line(command.description), messages=[message])


def _prompt(command: SkillCommand) -> Prompt:
    about = one_line(command.argument_hint) or "What the skill is to work on."
    return Prompt(
        name=command.name,
        title=one_line(command.skill_name),
        description=one_line(command.description),
        arguments=[PromptArgument(name=ARGUMENTS, description=about, required=False)],
    )
