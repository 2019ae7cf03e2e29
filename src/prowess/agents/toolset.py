"""`SkillsToolset`: the skills of a run as a toolset of pydantic-ai.

    Agent(model, toolsets=[SkillsToolset(run)])

The prompt block goes into the agent's instructions; the model reads a skill before it follows it.
The toolset lives as long as its run: make one for each.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from pydantic_ai.tools import RunContext, ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from prowess.agents.tools import SkillsRun, call_tool, tool_schemas
from prowess.runtime.skill_tools import as_object

# Our own reader says what is wrong with arguments in words that a model can act on.
_OBJECT = SchemaValidator(core_schema.no_info_plain_validator_function(as_object))
_MOST_RETRIES = 3


class SkillsToolset(AbstractToolset[Any]):
    """`read_skill`, `find_skills` and, where it is switched on, `skill_workshop`."""

    # pydantic-ai calls it so.
    def __init__(self, run: SkillsRun, *, id: str | None = None) -> None:  # noqa: A002
        self._run = run
        self._id = id

    @property
    def id(self) -> str | None:
        """The name by which durable runs know the toolset."""
        return self._id

    async def get_instructions(self, ctx: RunContext[Any]) -> str | None:
        """Return the prompt block and, where it is switched on, what the workshop asks for."""
        del ctx
        workshop = self._run.workshop
        guidance = workshop.guidance() if workshop.enabled else ""
        parts = (self._run.prompt.strip(), guidance.strip())
        return "\n\n".join(part for part in parts if part) or None

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """Return the tools that the run offers now."""
        del ctx
        return {
            schema["function"]["name"]: self._make_tool(schema["function"])
            for schema in self._list_schemas()
        }

    # The chat offers more.
    def _list_schemas(self) -> list[dict[str, Any]]:
        return tool_schemas(self._run)

    def _make_tool(self, function: Mapping[str, Any]) -> ToolsetTool[Any]:
        definition = ToolDefinition(
            name=function["name"],
            description=function["description"],
            parameters_json_schema=function["parameters"],
        )
        return ToolsetTool(
            toolset=self, tool_def=definition, max_retries=_MOST_RETRIES, args_validator=_OBJECT
        )

    # Any toolset may take and give anything.
    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> str:
        """Call a tool, away from the event loop: it reads files and may ask a model."""
        del ctx, tool
        return await asyncio.to_thread(call_tool, self._run, name, tool_args)
