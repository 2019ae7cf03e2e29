"""A patch as `apply_patch` takes it: which files it names, and what it does to each.

A patch is read whole or not at all: a line that means nothing here could mean anything to whoever
applied it. Lines of an update stand for whole lines of the file, so the texts that they become end
with a line end; a last line without one is then not found, which is better than half a line.
"""

import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

_BEGIN, _END, _END_OF_FILE = "*** Begin Patch", "*** End Patch", "*** End of File"
_PROGRAM = "apply_patch"
_NAMED = re.compile(r"(?m)^\*\*\* (?:Add File|Update File|Delete File|Move to):[ \t]*(\S[^\n\t]*)")
_IN_DIFF = re.compile(r"(?m)^\+\+\+[ \t]*(?:b/)?(\S[^\n\t]*)")
_HEADER = re.compile(r"\*\*\* (?P<how>Add|Update|Delete) File: (?P<path>.+)")
_CALLED = re.compile(
    r"\s*apply_patch\s*<<-?[ \t]*(?P<quote>[\"']?)(?P<mark>\w+)(?P=quote)[ \t]*\n"
    r"(?P<patch>.*\n)(?P=mark)\s*",
    re.DOTALL,
)
# Where a patch stands in the fields of a call.
FIELDS: Final = ("input", "patch", "diff")


@dataclass(frozen=True, slots=True)
class Change:
    """One place of a file: the lines that are there, and those that take their place."""

    old: str
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchedFile:
    """What a patch does to one file."""

    path: str
    how: Literal["Add", "Update", "Delete"]
    # Of a file that is added.
    content: str = ""
    # Of one that is updated.
    changes: tuple[Change, ...] = ()


def patched_names(text: str) -> tuple[str, ...]:
    """Return the files that a patch of any kind names, each once and in its order."""
    found = _NAMED.findall(text) or _IN_DIFF.findall(text)
    return tuple(dict.fromkeys(name.strip() for name in found))


def patch_in_command(command: str) -> str:
    """Return the patch that a command hands to `apply_patch` and nothing else; empty for none."""
    if not command.lstrip().startswith(_PROGRAM):
        return ""
    called = _CALLED.fullmatch(command)
    if called is not None:
        # Without quotes around its mark, the shell changes the text before anybody reads it.
        is_plain = called["quote"] or not re.search(r"[$`\\]", called["patch"])
        return called["patch"] if is_plain else ""
    try:
        words = shlex.split(command)
    except ValueError:
        # A quote that is not closed: whatever it is, it is no such call.
        return ""
    is_call = len(words) == len((_PROGRAM, _BEGIN)) and shlex.join(words) == command
    return words[1] if is_call and words[1].lstrip().startswith(_BEGIN) else ""


def read_patch(text: str) -> tuple[PatchedFile, ...]:
    """Return what a patch does to each file; nothing where a line of it is not understood."""
    lines = text.strip().split("\n")
    if len(lines) < len((_BEGIN, _END)) or (lines[0].strip(), lines[-1].strip()) != (_BEGIN, _END):
        return ()
    found: list[PatchedFile] = []
    rest = lines[1:-1]
    while rest:
        header = _HEADER.fullmatch(rest[0].rstrip())
        end = next((at for at, line in enumerate(rest) if at and _HEADER.match(line)), len(rest))
        one = None if header is None else _file(header, rest[1:end])
        if one is None:
            return ()
        found.append(one)
        rest = rest[end:]
    # A file that is named twice is changed by the second on top of the first.
    return tuple(found) if len({one.path for one in found}) == len(found) else ()


def _file(header: re.Match[str], lines: Sequence[str]) -> PatchedFile | None:
    path = header["path"].strip()
    if header["how"] == "Delete":
        return None if lines else PatchedFile(path=path, how="Delete")
    if header["how"] == "Update":
        changes = _changes(lines)
        return None if changes is None else PatchedFile(path=path, how="Update", changes=changes)
    if not all(line.startswith("+") for line in lines):
        return None
    return PatchedFile(path=path, how="Add", content=_text(line[1:] for line in lines))


def _changes(lines: Sequence[str]) -> tuple[Change, ...] | None:
    """Return the changes of an update; None where their texts alone do not tell them."""
    pieces: list[tuple[list[str], list[str]]] = []
    for line in lines:
        if line == "@@" or line.startswith("@@ ") or not pieces:
            pieces.append(([], []))
            if line.startswith("@@"):
                continue
        if line == _END_OF_FILE:
            continue
        # An empty line of the file often lost the space before it.
        sign, said = line[:1] or " ", line[1:]
        if sign not in " +-":
            return None
        old, new = pieces[-1]
        old += [said] * (sign != "+")
        new += [said] * (sign != "-")
    pieces = [(old, new) for old, new in pieces if old != new]
    # What is put in beside no line of the file goes to a place that only the patcher knows.
    if not pieces or not all(old for old, _ in pieces):
        return None
    return tuple(Change(_text(old), _text(new)) for old, new in pieces)


def _text(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
