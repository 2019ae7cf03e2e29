"""Edits of a TOML file that people write: one table in, out, or with another command.

Only tables of two names (`[mcp_servers.prowess]`) are edited, each as lines of their own. What
comes out is read again and compared with the document that was asked for: where somebody wrote the
same in another way (an inline table, dotted keys), that is an error, and no text.
"""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from prowess.hooks.edits import Edit, Insert, Remove, Replace, applied
from prowess.host.harness.jsonc import newline_of
from prowess.host.harness.jsonc_text import MARK, DocumentError

_HEADER = re.compile(r"\s*\[")
_BY_HAND = "it is written in a way that is not edited here: change it by hand"
_LINE = re.compile(r"at line (\d+)")


def read(text: str) -> dict[str, Any]:
    """Return the document.

    Raises:
        DocumentError: the text is not TOML.
    """
    try:
        return tomllib.loads(text.removeprefix(MARK))
    except tomllib.TOMLDecodeError as error:
        line = _LINE.search(str(error))
        raise DocumentError(str(error), int(line[1]) if line else 0) from error
    except RecursionError as error:
        raise DocumentError("it is nested too deeply") from error


def edited(text: str, edits: Sequence[Edit]) -> str:
    """Return the text with every edit done, one after the other.

    Raises:
        DocumentError: the text is not TOML, or would not say afterwards what was asked for.
    """
    for edit in edits:
        wanted = _without_empty(applied(read(text), [edit]))
        text = next((one for one in _candidates(text, edit) if _says(one, wanted)), "")
        if not text and wanted:
            raise DocumentError(_by_hand(edit))
    return text


def _by_hand(edit: Edit) -> str:
    """Say what a person has to write where a table is written as it is not edited here."""
    if not isinstance(edit, Insert):
        return _BY_HAND
    names, table = _table(edit)
    inside = ", ".join(f"{key} = {_value(table[key])}" for key in table)
    return (
        f"`{names[0]}` is written in one line or with dotted keys, which is not edited here: add"
        f" {names[-1]} = {{ {inside} }} to it by hand"
    )


def _says(text: str, wanted: Mapping[str, Any]) -> bool:
    try:
        return _without_empty(read(text)) == wanted
    except DocumentError:
        # A way to write it that is none: there may be another.
        return False


def _without_empty(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document without empty tables at its top: they are there by their name alone."""
    return {key: value for key, value in document.items() if value != {}}


def _candidates(text: str, edit: Edit) -> Iterator[str]:
    """Yield texts that might say what is wanted; the first that does is taken."""
    if isinstance(edit, Insert):
        yield _with_table(text, edit)
    elif isinstance(edit, Remove):
        yield from _without_table(text, edit)
    else:
        yield from _with_value(text, edit)


def _with_table(text: str, edit: Insert) -> str:
    newline = newline_of(text)
    names, table = _table(edit)
    lines = [f"[{'.'.join(names)}]", *(f"{key} = {_value(table[key])}" for key in table)]
    apart = "" if not text.strip(MARK) else newline
    if text.strip(MARK) and not text.endswith(("\n", "\r")):
        apart += newline
    return text + apart + newline.join(lines) + newline


def _table(edit: Insert) -> tuple[tuple[str, ...], Mapping[str, Any]]:
    """Return the names of the table that an insertion makes, and what is in it."""
    names = (*(str(step) for step in edit.path), str(edit.key))
    value = edit.value
    while len(names) == 1 and isinstance(value, Mapping) and len(value) == 1:
        inner = next(iter(value))
        names, value = (*names, inner), value[inner]
    if not isinstance(value, Mapping):
        raise DocumentError(_BY_HAND)
    return names, value


def _value(value: object) -> str:
    # Text and lists of text are written alike in both.
    return json.dumps(value, ensure_ascii=False)


def _without_table(text: str, edit: Remove) -> Iterator[str]:
    names = [str(step) for step in edit.path]
    for start, end in _blocks(text, names if len(names) > 1 else [*names, r"[\w-]+"]):
        lines = text.splitlines(keepends=True)
        kept = [line for line in lines[start:end] if line.lstrip().startswith("#")]
        # The empty line that sets our table apart goes with it.
        first = start - 1 if start > 0 and not lines[start - 1].strip() else start
        yield "".join((*lines[:first], *kept, *lines[end:]))


def _with_value(text: str, edit: Replace) -> Iterator[str]:
    *names, key = (str(step) for step in edit.path)
    pattern = re.compile(
        rf"(\s*{re.escape(key)}\s*=\s*)(?:\"(?:[^\"\\]|\\.)*+\"|'[^']*+'|\[[^\]\n]*+\])"
    )
    for start, end in _blocks(text, names):
        lines = text.splitlines(keepends=True)
        for index in range(start + 1, end):
            found = pattern.match(lines[index])
            if found:
                rest = lines[index][found.end() :]
                lines[index] = found[1] + _value(edit.value) + rest
                yield "".join(lines)
                break


def _blocks(text: str, names: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last line but one of each table of these names, with what is below.

    What looks like one inside a text of several lines is yielded as well, and is found out later.
    """
    dotted = r"\s*\.\s*".join(rf"[\"']?{name}[\"']?" for name in names)
    header = re.compile(rf"\s*\[\s*{dotted}\s*\]")
    within = re.compile(rf"\s*\[\s*{dotted}\s*\.")
    lines = text.removeprefix(MARK).splitlines(keepends=True)
    for start, line in enumerate(lines):
        if not header.match(line):
            continue
        end = start + 1
        while end < len(lines) and (within.match(lines[end]) or not _HEADER.match(lines[end])):
            end += 1
        # Comments and empty lines before the next table belong to that.
        while end > start + 1 and _is_apart(lines[end - 1]):
            end -= 1
        yield start, end


def _is_apart(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")
