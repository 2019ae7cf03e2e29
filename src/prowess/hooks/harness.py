"""The coding agents that call our hook, and the moments at which they do.

Each harness spells its events in its own way; everything above the dialects speaks only of these.
"""

from enum import StrEnum

from prowess.late import dataclass

# Says how many seconds the caller of a hook waits.
LIMIT_VARIABLE = "PROWESS_HOOK_SECONDS"


class Harness(StrEnum):
    """A program that runs agents and calls hooks."""

    CLAUDE_CODE = "claude-code"
    CODEX = "codex"
    CURSOR = "cursor"
    GEMINI = "gemini"
    COPILOT = "copilot"
    VSCODE = "vscode"
    QWEN = "qwen"
    OPENCODE = "opencode"
    OPENCLAW = "openclaw"


class Moment(StrEnum):
    """When a hook is called, whatever the harness calls it."""

    SESSION_START = "session-start"
    PROMPT = "prompt"
    COMPACTION = "compaction"
    TURN_END = "turn-end"
    SESSION_END = "session-end"


@dataclass(frozen=True, slots=True, kw_only=True)
class HookCall:
    """That a hook was called: kept for `prowess doctor`, and never with a word of a prompt."""

    harness: Harness
    moment: Moment
    at_ms: int
    took_ms: int
    # Whether something was said to the agent, and what went wrong where something did.
    spoke: bool
    problem: str = ""
