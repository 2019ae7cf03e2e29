"""The coding agents that call our hook, when they do, and small changes of documents they own.

Each harness spells its events in its own way; everything above the dialects speaks only of these.

A change says what becomes of the values. How a file keeps its comments, its order and its line ends
meanwhile is for whoever edits its text; what comes out there must equal what `applied` gives.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from enum import StrEnum
from typing import Any, TypeAlias

from prowess.data import dataclass

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


# The keys and positions that lead to a value, from the top.
Path: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Insert:
    """Put a value at the end of what is at `path`: an object takes a key, a list takes none."""

    path: Path
    key: str | None
    value: object


@dataclass(frozen=True, slots=True, kw_only=True)
class Remove:
    """Take out what is at `path`."""

    path: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceValue:
    """Put another value in the place of what is at `path`."""

    path: Path
    value: object


Edit: TypeAlias = Insert | Remove | ReplaceValue


# A settings file can hold anything; the same below.
def value_at(document: Any, path: Path) -> Any:  # noqa: ANN401
    """Return what is at `path` of a document that has it."""
    for step in path:
        document = document[step]
    return document


def apply_edits(document: Mapping[str, Any], edits: Sequence[Edit]) -> dict[str, Any]:
    """Return the document that `edits` lead to, one after the other; the given one stays."""
    found: dict[str, Any] = deepcopy(dict(document))
    for edit in edits:
        _apply(found, edit)
    return found


def _apply(document: dict[str, Any], edit: Edit) -> None:
    if isinstance(edit, Insert):
        container = value_at(document, edit.path)
        if edit.key is None:
            container.append(deepcopy(edit.value))
        else:
            container[edit.key] = deepcopy(edit.value)
        return
    container = value_at(document, edit.path[:-1])
    if isinstance(edit, Remove):
        del container[edit.path[-1]]
    else:
        container[edit.path[-1]] = deepcopy(edit.value)
