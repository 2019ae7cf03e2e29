"""Two hashes by which one way of doing a thing is known again, and what a patch does to files.

`hash_behaviour` is the coarse one, which other tools compute too: apps and kinds of actions,
nothing else. `hash_flow` also covers what was touched, read, run and filled in; where a trace says
too little of that, it is empty and must not be compared. Neither depends on coordinates, typed text
or results.

A patch is read whole or not at all: a line that means nothing here could mean anything to whoever
applied it. Lines of an update stand for whole lines of the file, so the texts that they become end
with a line end; a last line without one is then not found, which is better than half a line.
"""

import hashlib
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import urlsplit

from prowess.transcripts.traces import (
    Deed,
    TraceAction,
    TraceStep,
    find_command,
    find_deed,
    find_path,
)

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
class PatchChange:
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
    changes: tuple[PatchChange, ...] = ()


def find_patched_files(text: str) -> tuple[str, ...]:
    """Return the files that a patch of any kind names, each once and in its order."""
    found = _NAMED.findall(text) or _IN_DIFF.findall(text)
    return tuple(dict.fromkeys(name.strip() for name in found))


def find_patch(command: str) -> str:
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


def _changes(lines: Sequence[str]) -> tuple[PatchChange, ...] | None:
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
    return tuple(PatchChange(_text(old), _text(new)) for old, new in pieces)


def _text(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


DIGITS = 12
# So many steps count for the coarse hash.
COARSE_STEPS = 25
# Off a device nearly every step has a target, so a few of them say little: `git status` alone is
# the whole flow of many tasks.
_FEWEST_HOST_TARGETS = 3
_MOST_COMMAND = 4_000
# A quoted text is one word, whatever stands in it.
_PIECE = re.compile(
    r"\"[^\"]*\"|'[^']*'|[0-9]*[<>]&[0-9]*|&>|(?P<end>&&|\|\||[|;&\n])|[^\s\"'|;&]+"
)
# A text that a command takes from the lines below it is no command.
_HEREDOC = re.compile(
    r"<<-?[ \t]*[\"']?(?P<mark>\w+)[\"']?(?P<rest>[^\n]*)\n.*?(?:^[ \t]*(?P=mark)$|\Z)",
    re.DOTALL | re.MULTILINE,
)
_ASSIGNED = re.compile(r"[A-Za-z_]\w*=")
_FINGERPRINT_PROGRAM = re.compile(r"[a-z][\w.+-]{1,30}")
# Parts of the shell, which no one has to install.
_BUILT_IN = frozenset(
    ("cd", "if", "fi", "for", "done", "while", "else", "elif", "case", "esac", "echo", "true",
     "false", "export", "set", "test", "source", "printf", "read", "exit", "pwd", "wait", "trap")
)  # fmt: skip
_SUBCOMMAND = re.compile(r"[a-z][a-z-]{1,24}")
_SUFFIX = re.compile(r"[^\s/]\.([A-Za-z][A-Za-z0-9]{0,7})$")
# Programs that are nothing without the script or the task that they are given.
_INTERPRETER = re.compile(
    r"(?:python|pypy|node|ruby|perl|php|lua|bash|sh|zsh|ksh|dash|deno|bun|tsx|ts-node|rscript|julia"
    r"|java|osascript|pwsh|powershell)[0-9.]*(?:\.exe)?",
    re.IGNORECASE,
)
_STARTS = frozenset(("run", "exec"))
# What an interpreter reads from its own line.
_INLINE = frozenset(("-c", "-e", "-lc", "-ec", "--eval", "-Command"))
_MODULE = frozenset(("-m", "-jar"))
# Words before a program that only say how it runs.
_RUNNERS = frozenset(
    ("sudo", "env", "time", "nohup", "exec", "command", "then", "do", "uvx", "npx")
)
_FILES = frozenset((Deed.READ, Deed.WRITE, Deed.EDIT, Deed.PATCH))


def hash_behaviour(steps: Sequence[TraceStep]) -> str:
    """Return the coarse hash: the app and the kind of action of the first steps."""
    return _digest("|".join(f"{step.app or '?'}:{_detail(step)}" for step in steps[:COARSE_STEPS]))


def hash_flow(steps: Sequence[TraceStep], *, on_device: bool) -> str:
    """Return the fine hash, over all steps and their targets; empty where too few have one."""
    targets = [_target(step, on_device=on_device) for step in steps]
    fewest = 1 if on_device else _FEWEST_HOST_TARGETS
    if sum(map(bool, targets)) < fewest:
        return ""
    parts = zip(steps, targets, strict=True)
    return _digest("\n".join(f"{step.app or '?'}:{_detail(step)}\t{on}" for step, on in parts))


def _detail(step: TraceStep) -> str:
    if step.action.kind == "launch_app":
        return f"launch_app:{step.action.text('packageName', 'package')}"
    if step.action.kind == "request_human_auth":
        return f"request_human_auth:{step.action.text('capability')}"
    return step.action.kind


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:DIGITS]


def _target(step: TraceStep, *, on_device: bool) -> str:
    """Return what a step was about, as far as it is the same each time; empty where unknown."""
    target = step.target
    if target is not None and target.is_known:
        # The name in the program stays when the words on the screen change.
        shown = target.resource_id or target.content_desc or target.text
        return " ".join(f"{shown} {'' if target.resource_id else target.class_name}".split())
    deed = find_deed(step.action, on_device=on_device)
    if deed in (Deed.SHELL, Deed.DEVICE_SHELL, Deed.SCRIPT):
        command = find_command(step.action)
        # A patch is handed to a command too, in lines that are no commands.
        return " ".join(
            (describe_command(command), *map(_base, find_patched_files(command)))
        ).strip()
    if deed in _FILES:
        return _base(find_path(step.action)) or " ".join(map(_base, _find_patched(step.action)))
    return _find_asked(step.action) if deed is Deed.TOOL else ""


def _find_patched(action: TraceAction) -> tuple[str, ...]:
    return find_patched_files(action.text(*FIELDS) or find_command(action))


def _base(path: str) -> str:
    return path.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]


def describe_command(command: str) -> str:
    """Return the programs of a command with their subcommands, and the kinds of files it names."""
    return " | ".join(_shape(words) for words in _split_commands(command))


def list_programs(command: str) -> tuple[str, ...]:
    """Return the programs that a command needs, as far as their names can be told, each once."""
    names = (words[0].rsplit("/", 1)[-1] for words in _split_commands(command))
    told = (
        name for name in names if _FINGERPRINT_PROGRAM.fullmatch(name) and name not in _BUILT_IN
    )
    return tuple(dict.fromkeys(told))


def _split_commands(command: str) -> list[list[str]]:
    """Return the words of each command in a line, from its program on; a guess, not a shell."""
    found: list[list[str]] = [[]]
    for piece in _PIECE.finditer(_HEREDOC.sub(r"\g<rest>\n", command[:_MOST_COMMAND])):
        word = piece[0].strip("\"'()")
        if piece["end"]:
            found.append([])
        elif found[-1] or not (_ASSIGNED.match(word) or word in _RUNNERS or not word):
            found[-1].append(word)
    return [words for words in found if words]


def _shape(words: list[str]) -> str:
    program = words[0].rsplit("/", 1)[-1]
    called = words[1] if len(words) > 1 and _SUBCOMMAND.fullmatch(words[1]) else ""
    script = _script(program, called, words[1:])
    others = [word for word in words[1:] if word != script]
    kinds = {found[1].lower() for word in others if (found := _SUFFIX.search(word))}
    named = (program, called, _base(script) if script != called else "")
    return " ".join(filter(None, (*named, *sorted(f"*.{kind}" for kind in kinds))))


def _script(program: str, called: str, words: Sequence[str]) -> str:
    """Return the script or task that a program is there to run; empty where it runs none."""
    rest = iter(words[1:] if called in _STARTS else words)
    is_runner = called in _STARTS or _INTERPRETER.fullmatch(program) is not None
    for word in rest if is_runner else ():
        if word in _INLINE:
            return ""
        if word in _MODULE:
            return next(rest, "")
        if not word.startswith("-"):
            is_another = called in _STARTS and _INTERPRETER.fullmatch(word) is not None
            return _script(word, "", list(rest)) if is_another else word
    return ""


def _find_asked(action: TraceAction) -> str:
    """Return where a tool that takes an address went, or which file it took."""
    try:
        host = urlsplit(action.text("url", "uri")).hostname or ""
    except ValueError:
        # An address that is none says nothing.
        host = ""
    return host or find_path(action).rsplit("/", 1)[-1]
