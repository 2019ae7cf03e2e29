"""Small changes of a document that somebody else owns: put in, take out, put another in its place.

They say what becomes of the values. How a file keeps its comments, its order and its line ends
meanwhile is for whoever edits its text; what comes out there must equal what `applied` gives.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, TypeAlias

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
