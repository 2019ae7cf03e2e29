"""Command lines as words: the program that is run, what it runs in turn, and what it writes.

Whoever reads shell text hands each command over as the words that the shell would pass on. A text
that a program runs as a shell would is handed back to be read.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from prowess.experience.gate.destructive_builtins import ODD, builtin_danger
from prowess.experience.gate.destructive_checkers import outputs
from prowess.experience.gate.destructive_options import UNKNOWN, by_words, has_option, overwrites
from prowess.experience.gate.destructive_places import behaviour_danger, nearness_danger
from prowess.experience.gate.destructive_scene import Seen
from prowess.experience.gate.destructive_wrappers import inner_command
from prowess.experience.gate.destructive_written import written_names
from prowess.experience.gate.interpreters import script_danger
from prowess.experience.gate.programs import known_danger, reached
from prowess.experience.gate.tables import BUILTINS

_GLOB = re.compile(r"[*?\[\]{}]")
_SHELLS = frozenset(("sh", "bash", "zsh", "dash", "ksh", "mksh", "ash", "fish"))
_GOES = frozenset(("cd", "pushd", "popd", "chdir"))
_TAKES_BRACES = frozenset(("echo", "ls", "mkdir", "touch", "cat", "grep"))
# Options by which a program works in another folder than the one where it is run.
_ELSEWHERE = ("-C", "--directory", "--cwd", "--root", "--prefix", "--chdir")


@dataclass(frozen=True, slots=True)
class Runs:
    """Judges programs with their arguments."""

    seen: Seen
    # Reads a text as another shell would, and yields what is dangerous in it.
    read: Callable[[str], Iterator[str]]
    # Whether all this is run by another program, so that files may lie elsewhere.
    is_inner: bool = False

    def of_program(
        self, args: Sequence[str], *, braces: bool = False, is_own: bool = False
    ) -> Iterator[str]:
        """Yield why a program with its arguments is dangerous."""
        name = args[0].rpartition("/")[2]
        if UNKNOWN in name or not name or (_GLOB.search(args[0]) and name not in ("[", "[[")):
            yield "which program it runs is only known when it runs"
            return
        if name in _GOES:
            self.seen.go([name, *args[1:]])
        inner = self._inner(name, list(args[1:]))
        if inner is not None:
            yield from inner
            return
        found = self._direct(name, args, is_own=is_own)
        yield found
        if braces and not found and name not in _TAKES_BRACES:
            yield ODD
        yield from self._writing(name, args)

    def _inner(self, name: str, args: list[str]) -> Iterator[str] | None:
        """Return the dangers of what a program runs; nothing where it runs nothing else."""
        if name in _SHELLS:
            return self._of_shell(name, args)
        if name == "find":
            return self._of_find(args)
        wrapped = inner_command(name, args)
        return None if wrapped is None else self._of_wrapped(name, wrapped.rest)

    def _direct(self, name: str, args: Sequence[str], *, is_own: bool) -> str:
        """Judge a program that runs no other; `is_own` says that the text itself defines it."""
        self.seen.ran.append(args)
        if name in BUILTINS and (found := builtin_danger([name, *args[1:]])):
            return found
        known = known_danger(name, args[1:])
        if known is not None:
            return known
        if is_own or name in BUILTINS:
            return ""
        if "/" in args[0] and not args[0].startswith("/"):
            return by_words([name, *args[1:]], "a script")
        if list(args[1:]) in (["--version"], ["--help"], ["-V"]):
            return ""
        return f"it is not known what {name} does"

    def _writing(self, name: str, args: Sequence[str]) -> Iterator[str]:
        """Yield what is dangerous about the files that a program is told to write."""
        self.seen.written.add(written_names(name, args[1:]))
        is_elsewhere = self.is_inner or any(arg.startswith(_ELSEWHERE) for arg in args[1:])
        for path in outputs(name, args[1:]):
            if not is_elsewhere:
                self.seen.overwritten.append(path)
            yield overwrites(path)
            yield behaviour_danger(path, self.seen.folders)
        for path in reached(name, args[1:]):
            yield nearness_danger(path, self.seen.folders, self.seen.root)

    def _of_wrapped(self, name: str, rest: list[str] | None) -> Iterator[str]:
        if rest is None:
            yield f"it is not known what {name} runs"
        elif rest and rest[0].endswith(".py"):
            self.seen.ran.append(["python", *rest])
            yield script_danger(rest)
        elif rest and rest[0] in BUILTINS:
            # `time` and `builtin` let the shell do this itself, but nobody follows the names then.
            yield ODD
        elif rest:
            # What `cd` does inside `command` or `builtin`, it does to the shell itself.
            yield from Runs(self.seen, self.read, is_inner=True).of_program(rest)

    def _of_shell(self, name: str, args: Sequence[str]) -> Iterator[str]:
        at = 0
        is_code = False
        while at < len(args) and args[at][:1] in ("-", "+") and len(args[at]) > 1:
            option = args[at]
            if "s" in option or option.startswith("--"):
                yield "it runs code that is given to it directly"
                return
            is_code = is_code or "c" in option
            at += 2 if option in ("-o", "+o", "-O") else 1
        if not is_code:
            self.seen.ran.append([name, *args[at:]])
            yield script_danger(args[at:])
        elif at >= len(args) or UNKNOWN in args[at]:
            yield "what it runs is only known when it runs"
        else:
            yield from self.read(args[at])

    def _of_find(self, args: Sequence[str]) -> Iterator[str]:
        writes = ("-fprint", "-fprint0", "-fprintf", "-fls")
        if "-delete" in args:
            yield "it deletes files"
        if has_option(args, writes) or any(arg == UNKNOWN for arg in args[1:]):
            yield "it may write to a file"
        inner = Runs(self.seen, self.read, is_inner=True)
        at = 0
        while at < len(args):
            at += 1
            if args[at - 1] in ("-exec", "-execdir", "-ok", "-okdir"):
                start = at
                while at < len(args) and args[at] not in (";", "+"):
                    at += 1
                known = [word.replace("{}", UNKNOWN) for word in args[start:at]]
                yield from inner.of_program(known or [UNKNOWN])
