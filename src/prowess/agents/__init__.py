"""Skills for agents that are written in Python, and the agent loop behind `prowess chat`.

    from pydantic_ai import Agent
    from prowess.agents import SkillsToolset

    with runtime.run() as run:
        Agent("anthropic:claude-sonnet-4-5", toolsets=[SkillsToolset(run)]).run_sync("...")

`tool_schemas` and `call_tool` need nothing but Prowess; everything else needs
`pip install 'prowess[agents]'` and is loaded when it is first used.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prowess.agents.tools import call_tool, tool_schemas
    from prowess.agents.toolset import SkillsToolset

__all__ = ["SkillsToolset", "call_tool", "tool_schemas"]


# Whatever the name stands for: the type checker takes the imports above instead.
def __getattr__(name: str) -> Any:  # noqa: ANN401
    """Load a public name on its first use."""
    if name == "SkillsToolset":
        from prowess.agents.toolset import SkillsToolset

        return SkillsToolset
    if name in __all__:
        from prowess.agents import tools

        return getattr(tools, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names, loaded or not."""
    return sorted(__all__)
