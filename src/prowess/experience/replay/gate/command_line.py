"""A command line read as a shell would read it: what it runs, writes and calculates.

The reader of shell text that is used here was made to find what is bad, and forgives what it cannot
read. A gate must not: so whatever it reads otherwise than a shell might needs a confirmation.

Where a command line runs, and what reading it brings to light: folders, files, programs.

A folder that a command may have gone to is never left again: whether a `cd` took place depends on
more than its text, so what is written is judged in each of them.

Command lines as words: the program that is run, what it runs in turn, and what it writes.

Whoever reads shell text hands each command over as the words that the shell would pass on. A text
that a program runs as a shell would is handed back to be read.

Whether a command line may be repeated unasked: why it needs a confirmation, or an empty text.

Whatever is read otherwise than a shell might read it, and every program of which nothing is known,
needs a confirmation. That a command needs none says only that it is of a kind that looks, builds or
tests; a script that was there before may do anything.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from prowess.experience.commands import visible
from prowess.experience.replay.gate.interpreters import (
    CODE,
    DECLARES,
    ODD,
    Sums,
    assigned_danger,
    builtin_danger,
    exported_danger,
    inner_command,
    opens_names,
    script_danger,
)
from prowess.experience.replay.gate.programs import known_danger, outputs, reached
from prowess.experience.replay.gate.tables import (
    BUILTINS,
    RUNS_WRITTEN,
    UNKNOWN,
    Written,
    behaviour_danger,
    by_words,
    has_option,
    joined,
    names_of,
    nearness_danger,
    operands,
    overwrites,
    written_names,
)
from prowess.safety.languages.shell.syntax import parse
from prowess.safety.languages.shell.words import (
    Array,
    Assignment,
    Command,
    Group,
    Part,
    Pipeline,
    Redirect,
    Substitution,
    Text,
    Variable,
    Word,
)

_MOST_FOLDERS = 8
_PATTERN = re.compile(r"[*?\[\]{}]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What is known before a command line runs."""

    # The folder of the trace, and where the command runs; empty where nobody said.
    root: str = ""
    folder: str = ""
    # What earlier steps wrote.
    written: Written = field(default_factory=Written)

    def seen(self) -> "Seen":
        """Return what is known before the first word is read."""
        root = joined("", self.root) if self.root else ""
        return Seen(root=root, folders=[joined(root, self.folder)], written=self.written.copy())


@dataclass(slots=True, kw_only=True)
class Seen:
    """What has been met so far; shared by all who read parts of the same text."""

    root: str
    folders: list[str]
    written: Written
    # The files that are written anew by the text itself, and not by something it runs.
    overwritten: list[str] = field(default_factory=list)
    ran: list[Sequence[str]] = field(default_factory=list)
    has_left: bool = False

    def go(self, args: Sequence[str]) -> None:
        """Take note of a `cd`."""
        self.has_left = True
        target = next(iter(operands(args[1:])), "" if args[0] == "pushd" else "~")
        if args[0] == "popd" or target in ("", "-", "--"):
            return
        if len(self.folders) > _MOST_FOLDERS or UNKNOWN in target or _PATTERN.search(target):
            self._add(UNKNOWN)
            return
        for folder in list(self.folders):
            self._add(joined(folder, target))

    def _add(self, folder: str) -> None:
        if folder not in self.folders:
            self.folders.append(folder)


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


UNREADABLE = "it cannot be read to its end"
_DEEPEST = 5
_MOST_DELIMITER = 200
_BLANK = re.compile(r"<[A-Za-z][^<>\n]*>")
_BRACES = re.compile(r"\{[^{}]*(?:,|\.\.)[^{}]*\}")
_DESCRIPTOR = re.compile(r"[0-9]*-?\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Reads one text as a shell would, and yields what is dangerous in it."""

    text: str
    seen: Seen
    depth: int = 0
    # What the text calculates with; another shell has variables of its own.
    sums: Sums = field(default_factory=Sums)
    # The functions that the text itself defines, and where.
    functions: Mapping[str, int] = field(default_factory=dict)

    def dangers(self) -> Iterator[str]:
        """Yield the reasons, in the order of the text."""
        if self.depth > _DEEPEST:
            yield UNREADABLE
            return
        if visible(self.text, one_line=False) != self.text or "\xa0" in self.text:
            yield ODD
            return
        script = parse(self.text)
        if script.broken >= 0 or script.deep:
            yield UNREADABLE
            return
        functions = _defined(script.body)
        yield from replace(self, functions=functions).of_list(script.body)
        if self.sums.is_dangerous:
            yield ODD

    def of_list(self, body: Sequence[Pipeline]) -> Iterator[str]:
        """Yield what is dangerous in commands, one after another."""
        for pipeline in body:
            for stage in pipeline.stages:
                if isinstance(stage, Command):
                    yield from self._of_command(stage)
                else:
                    yield from self._of_group(stage)

    def _read_inner(self, text: str) -> Iterator[str]:
        return Reader(text=text, seen=self.seen, depth=self.depth + 1).dangers()

    def _of_group(self, group: Group) -> Iterator[str]:
        written = self.text[group.start : group.end]
        if group.kind == "arithmetic" and not self.sums.calculate(written):
            yield ODD
        is_sum = group.kind == "subshell" and written.startswith("((")
        if is_sum or (group.kind == "case" and ("$(" in written or "`" in written)):
            yield ODD
        if group.kind == "for" and group.name:
            self.sums.set_each(group.name, group.words)
            yield assigned_danger(group.name)
        for word in group.words:
            yield from self._of_word(word)
        for redirect in group.redirects:
            yield from self._of_redirect(redirect)
        yield from self.of_list(group.body)

    def _of_command(self, command: Command) -> Iterator[str]:
        for assignment in command.assignments:
            yield from self._of_assignment(assignment, is_exported=bool(command.words))
        for word in command.words:
            yield from self._of_word(word)
        for redirect in command.redirects:
            yield from self._of_redirect(redirect)
        args = [_text_of(word) for word in command.words]
        if args:
            yield from self._of_names(args, command.words)
            braces = any(_BRACES.search(_unquoted(word)) for word in command.words)
            defined = self.functions.get(args[0], command.start)
            runs = Runs(self.seen, self._read_inner, is_inner=self.depth > 0)
            yield from runs.of_program(args, braces=braces, is_own=defined < command.start)

    def _of_names(self, args: Sequence[str], words: Sequence[Word]) -> Iterator[str]:
        """Follow names into which something is put, and what is calculated with."""
        if args[0] == "[[" and not self.sums.compare(words):
            yield ODD
        if args[0] in ("[", "test") and not self.sums.test(words):
            yield ODD
        if opens_names(args):
            self.sums.is_open = True
        elif args[0] in DECLARES:
            for arg in args[1:]:
                name, sign, value = arg.partition("=")
                known = self.sums.numbers if value.isdecimal() else self.sums.others
                known.update([name] if sign else [])

    def _of_assignment(self, assignment: Assignment, *, is_exported: bool) -> Iterator[str]:
        head = self.text[assignment.start : assignment.value.start]
        index = head.partition("[")[2].rpartition("]")[0]
        if CODE.search(head) or ("[" in head and not self.sums.calculate(index)):
            yield ODD
        name, value = assignment.name, assignment.value
        self.sums.set(name, value)
        yield exported_danger(name, _text_of(value)) if is_exported else assigned_danger(name)
        yield from self._of_word(value)

    def _of_redirect(self, redirect: Redirect) -> Iterator[str]:
        yield from self._of_word(redirect.target)
        if redirect.descriptor.startswith("{"):
            yield ODD
        if redirect.operator in ("<<", "<<-"):
            if not self._ends_as_read(redirect):
                yield ODD
            if redirect.body is not None:
                yield from self._of_word(redirect.body)
            return
        yield from self._of_target(redirect.operator, _text_of(redirect.target))

    def _of_target(self, operator: str, target: str) -> Iterator[str]:
        is_other_end = operator == ">&" and _DESCRIPTOR.match(target)
        if operator in ("<", "<&", "<<<") or is_other_end:
            return
        self.seen.written.add(names_of(target))
        if operator in (">>", "&>>"):
            yield nearness_danger(target, self.seen.folders, self.seen.root)
            return
        if self.depth == 0:
            self.seen.overwritten.append(target)
        yield overwrites(target)
        yield behaviour_danger(target, self.seen.folders)

    def _ends_as_read(self, redirect: Redirect) -> bool:
        """Return whether a shell ends a here-document where the reader did."""
        if any(not isinstance(part, Text) for part in redirect.target.parts):
            return False
        delimiter = _text_of(redirect.target)
        if redirect.body is None or not delimiter or len(delimiter) > _MOST_DELIMITER:
            return False
        body = self.text[redirect.body.start : redirect.body.end]
        ends = self.text.find("\n", redirect.body.end)
        line = self.text[redirect.body.end : ends if ends >= 0 else len(self.text)]
        if redirect.operator == "<<-":
            line = line.lstrip("\t")
        return line in (delimiter, "") and not body.endswith("\\\n")

    def _of_word(self, word: Word) -> Iterator[str]:
        for part in word.parts:
            yield from self._of_part(part)

    def _of_part(self, part: Part) -> Iterator[str]:
        if isinstance(part, Text):
            if self._is_blank(part) or self._is_old_sum(part):
                yield ODD
        elif isinstance(part, Array):
            if not self._is_whole(part):
                yield ODD
            for word in part.words:
                yield from self._of_word(word)
        elif isinstance(part, Substitution):
            written = self.text[part.start : part.end]
            if written.startswith("$((") or (written.startswith("`") and "\\" in written):
                yield ODD
            yield from self.of_list(part.body)
        else:
            yield from self._of_variable(part)

    def _is_whole(self, array: Array) -> bool:
        """Return whether there is nothing but words in an array; a shell gives up on all else."""
        edges = [
            array.start + 1,
            *(edge for word in array.words for edge in (word.start, word.end)),
        ]
        gaps = zip(edges[::2], [*edges[1::2], array.end - 1], strict=True)
        is_closed = self.text[array.start : array.end].endswith(")")
        if any(self.text[word.start : word.end].startswith("[") for word in array.words):
            return False
        return is_closed and not any(self.text[start:end].strip() for start, end in gaps)

    def _is_blank(self, part: Text) -> bool:
        """Return whether the reader took two redirections for a blank to fill in."""
        before = self.text[part.start - 1 : part.start] if part.start else ""
        return part.quoted and before not in ("'", '"') and bool(_BLANK.match(part.text))

    def _is_old_sum(self, part: Text) -> bool:
        """Return whether a lone dollar begins a sum or a command after all: `$[…]`, `${ …; }`."""
        following = self.text[part.start : part.start + 2]
        return (part.text == "$" and following == "$[") or part.text == following == "${"

    def _of_variable(self, part: Variable) -> Iterator[str]:
        if not self._is_plain(part):
            yield ODD
        if part.operator in ("=", ":="):
            self.sums.others.add(part.name)
            yield assigned_danger(part.name)
        if part.argument is not None:
            yield from self._of_word(part.argument)

    def _is_plain(self, part: Variable) -> bool:
        """Return whether a variable is only read, and calculates with nothing but numbers."""
        if part.name == "((":
            return self.sums.calculate(self.text[part.start + 3 : part.end - 2])
        name, _, rest = part.name.partition("[")
        index = rest.removesuffix("]")
        is_list = index in ("@", "*")
        if part.operator == "@" or (name[:1] == "!" and len(name) > 1 and not is_list):
            return False
        if index and not is_list and not self.sums.calculate(index):
            return False
        if part.argument is None:
            return True
        given = self.text[part.argument.start : part.argument.end]
        return bool(part.operator) and (part.operator != ":" or self.sums.calculate(given))


def _defined(body: Sequence[Pipeline]) -> dict[str, int]:
    """Return the functions that hold from where they stand; those of an inner shell do not."""
    alone = (pipeline.stages[0] for pipeline in body if len(pipeline.stages) == 1)
    return {
        stage.name: stage.start
        for stage in alone
        if isinstance(stage, Group) and stage.kind == "function"
    }


def _text_of(word: Word) -> str:
    return "".join(part.text if isinstance(part, Text) else UNKNOWN for part in word.parts)


def _unquoted(word: Word) -> str:
    return "".join(part.text for part in word.parts if isinstance(part, Text) and not part.quoted)


_MOST_REASON = 160
# A name in which no shell reads anything.
_PLAIN_FILE = re.compile(r"(?!-)[\w./+@%,-]+")
_NOWHERE = Scene()


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What is known of a command line before it is run."""

    # Why it needs a confirmation; empty where it needs none.
    danger: str = ""
    # The files that it writes anew, where nothing else in it is dangerous.
    overwritten: tuple[str, ...] = ()
    # The names of all files that it writes.
    written: frozenset[str] = frozenset()


def judged(command: str, scene: Scene = _NOWHERE) -> Judgement:
    """Judge a command line that is run in a scene.

    Where the files that it writes anew are not there yet, it destroys nothing. Only plain names
    count, in a command that stays in its folder: others may lead to another file than it seems.
    """
    seen = scene.seen()
    try:
        reasons = [reason for reason in Reader(text=command, seen=seen).dangers() if reason]
    except RecursionError:
        return Judgement(danger=UNREADABLE)
    if any(map(seen.written.is_run_by, seen.ran)):
        reasons.append(RUNS_WRITTEN)
    files = tuple(dict.fromkeys(file for file in seen.overwritten if overwrites(file)))
    is_plain = all(map(_PLAIN_FILE.fullmatch, files)) and not seen.has_left
    only_these = set(reasons) == {overwrites(file) for file in files}
    return Judgement(
        danger=visible(next(iter(reasons), ""))[:_MOST_REASON],
        overwritten=files if is_plain and only_these else (),
        written=frozenset(seen.written.names - scene.written.names),
    )


def danger_of(command: str, scene: Scene = _NOWHERE) -> str:
    """Return why a command needs a confirmation; empty where it needs none."""
    return judged(command, scene).danger


def overwritten(command: str, scene: Scene = _NOWHERE) -> tuple[str, ...]:
    """Return the files that a command writes anew, where nothing else in it is dangerous."""
    return judged(command, scene).overwritten
