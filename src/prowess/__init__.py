"""Prowess, the skills runtime for AI agents.

    import prowess

    runtime = prowess.open(workspace=".")
    print(runtime.skills.prompt().text)

Names are loaded when they are first used: a hook or a quick command imports only what it needs.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prowess.errors import ProwessError
    from prowess.runtime.service import SkillsService, SkillStatus, StatusReport
    from prowess.settings import Settings
    from prowess.skills.agent_filter_snapshot import Snapshot
    from prowess.skills.eligibility import Verdict
    from prowess.skills.model import Diagnostic, Skill
    from prowess.skills.prompt import PromptBlock
    from prowess.wiring import Runtime

    # `prowess.open` reads best; the built-in is not used here.
    from prowess.wiring import open_runtime as open  # noqa: A004

__version__ = "0.1.0"

__all__ = [
    "Diagnostic",
    "PromptBlock",
    "ProwessError",
    "Runtime",
    "Settings",
    "Skill",
    "SkillStatus",
    "SkillsService",
    "Snapshot",
    "StatusReport",
    "Verdict",
    "__version__",
    "open",
]


# Whatever the name stands for: the type checker takes the imports above instead.
def __getattr__(name: str) -> Any:  # noqa: ANN401
    """Load a public name on its first use."""
    if name in __all__:
        from prowess import errors, settings, wiring
        from prowess.runtime import service
        from prowess.skills import agent_filter_snapshot as snapshot
        from prowess.skills import eligibility, model, prompt

        if name == "open":
            return wiring.open_runtime
        homes = (errors, settings, service, eligibility, model, prompt, snapshot, wiring)
        return next(getattr(home, name) for home in homes if hasattr(home, name))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names, loaded or not."""
    return sorted(__all__)
