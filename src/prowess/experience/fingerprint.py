"""Two hashes by which one way of doing a thing is known again.

`behaviour` is the coarse one, which other tools compute too: apps and kinds of actions, nothing
else. Two flows in one app can share it. `flow` also covers what was touched, read, run and filled
in; where a trace says too little of that, it is empty and must not be compared. Neither depends on
coordinates, typed text or results. Off a device even equal flows can be different work: most of
what an agent does there is to look at files and to commit them.
"""

import hashlib
import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from prowess.experience.patches import FIELDS, patched_names
from prowess.transcripts.deeds import Deed, command_of, deed_of, path_of
from prowess.transcripts.traces_part import Action, Step

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
_PROGRAM = re.compile(r"[a-z][\w.+-]{1,30}")
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


def behaviour(steps: Sequence[Step]) -> str:
    """Return the coarse hash: the app and the kind of action of the first steps."""
    return _digest("|".join(f"{step.app or '?'}:{_detail(step)}" for step in steps[:COARSE_STEPS]))


def flow(steps: Sequence[Step], *, on_device: bool) -> str:
    """Return the fine hash, over all steps and their targets; empty where too few have one."""
    targets = [_target(step, on_device=on_device) for step in steps]
    fewest = 1 if on_device else _FEWEST_HOST_TARGETS
    if sum(map(bool, targets)) < fewest:
        return ""
    parts = zip(steps, targets, strict=True)
    return _digest("\n".join(f"{step.app or '?'}:{_detail(step)}\t{on}" for step, on in parts))


def _detail(step: Step) -> str:
    if step.action.kind == "launch_app":
        return f"launch_app:{step.action.text('packageName', 'package')}"
    if step.action.kind == "request_human_auth":
        return f"request_human_auth:{step.action.text('capability')}"
    return step.action.kind


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:DIGITS]


def _target(step: Step, *, on_device: bool) -> str:
    """Return what a step was about, as far as it is the same each time; empty where unknown."""
    target = step.target
    if target is not None and target.is_known:
        # The name in the program stays when the words on the screen change.
        shown = target.resource_id or target.content_desc or target.text
        return " ".join(f"{shown} {'' if target.resource_id else target.class_name}".split())
    deed = deed_of(step.action, on_device=on_device)
    if deed in (Deed.SHELL, Deed.DEVICE_SHELL, Deed.SCRIPT):
        command = command_of(step.action)
        # A patch is handed to a command too, in lines that are no commands.
        return " ".join((command_shape(command), *map(_base, patched_names(command)))).strip()
    if deed in _FILES:
        return _base(path_of(step.action)) or " ".join(map(_base, _patched(step.action)))
    return _asked(step.action) if deed is Deed.TOOL else ""


def _patched(action: Action) -> tuple[str, ...]:
    return patched_names(action.text(*FIELDS) or command_of(action))


def _base(path: str) -> str:
    return path.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]


def command_shape(command: str) -> str:
    """Return the programs of a command with their subcommands, and the kinds of files it names."""
    return " | ".join(_shape(words) for words in _simple_commands(command))


def programs(command: str) -> tuple[str, ...]:
    """Return the programs that a command needs, as far as their names can be told, each once."""
    names = (words[0].rsplit("/", 1)[-1] for words in _simple_commands(command))
    told = (name for name in names if _PROGRAM.fullmatch(name) and name not in _BUILT_IN)
    return tuple(dict.fromkeys(told))


def _simple_commands(command: str) -> list[list[str]]:
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


def _asked(action: Action) -> str:
    """Return where a tool that takes an address went, or which file it took."""
    try:
        host = urlsplit(action.text("url", "uri")).hostname or ""
    except ValueError:
        # An address that is none says nothing.
        host = ""
    return host or path_of(action).rsplit("/", 1)[-1]
