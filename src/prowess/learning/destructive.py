"""Whether a command line may be repeated unasked: why it needs a confirmation, or an empty text.

The reader of shell text that is used here was made to find what is bad, and forgives what it cannot
read. A gate must not: so whatever it reads otherwise than a shell might, and every program of which
nothing is known, needs a confirmation. That a command needs none says only that it is of a kind
that looks, builds or tests; a script that it runs may do anything.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from prowess.learning.destructive_options import (
    UNKNOWN,
    appends,
    by_words,
    has_option,
    overwrites,
)
from prowess.learning.destructive_programs import known_danger, script_danger
from prowess.learning.destructive_tables import BUILTINS, TELLING
from prowess.learning.destructive_wrappers import inner_command
from prowess.learning.shell_words import visible
from prowess.safety.languages.shell_syntax import parse
from prowess.safety.languages.shell_tree import (
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

_DEEPEST = 5
_MOST_DELIMITER = 200
_MOST_REASON = 160
_UNREADABLE = "it cannot be read to its end"
_ODD = "it is written in a way that hides what it does"
# Code inside what is not read as code: the index of an array, a pattern, arithmetic.
_CODE = re.compile(r"\$\(|`|\$\{")
_BLANK = re.compile(r"<[A-Za-z][^<>\n]*>")
_GLOB = re.compile(r"[*?\[\]{}]")
_BRACES = re.compile(r"\{[^{}]*(?:,|\.\.)[^{}]*\}")
_DESCRIPTOR = re.compile(r"[0-9]*-?\Z")
# A name in which no shell reads anything, and the words that lead to another folder.
_PLAIN_FILE = re.compile(r"(?!-)[\w./+@%,-]+")
_LEAVES = re.compile(r"\b(?:cd|pushd|popd|chdir)\b")
_SHELLS = frozenset(("sh", "bash", "zsh", "dash", "ksh", "mksh", "ash", "fish"))


def danger_of(command: str) -> str:
    """Return why a command needs a confirmation; empty where it needs none."""
    try:
        return visible(next(filter(None, _Reader(command).dangers()), ""))[:_MOST_REASON]
    except RecursionError:
        return _UNREADABLE


def overwritten(command: str) -> tuple[str, ...]:
    """Return the files that a command writes anew, where nothing else in it is dangerous.

    Where they are not there yet, the command destroys nothing. Only plain names count, in a command
    that stays in its folder: anything else may lead to another file than it seems.
    """
    reader = _Reader(command)
    try:
        reasons = [reason for reason in reader.dangers() if reason]
    except RecursionError:
        return ()
    files = tuple(dict.fromkeys(file for file in reader.written if overwrites(file)))
    is_plain = all(_PLAIN_FILE.fullmatch(file) for file in files)
    only_these = set(reasons) == {overwrites(file) for file in files}
    return files if is_plain and only_these and not _LEAVES.search(command) else ()


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads one text as a shell would, and yields what is dangerous in it."""

    text: str
    depth: int = 0
    # The functions that the text itself defines, and where.
    functions: Mapping[str, int] = field(default_factory=dict)
    # The files that were met as the target of a `>`; shared by all who read the same text.
    written: list[str] = field(default_factory=list)

    def dangers(self) -> Iterator[str]:
        """Yield the reasons, in the order of the text."""
        if self.depth > _DEEPEST:
            yield _UNREADABLE
            return
        if visible(self.text, one_line=False) != self.text or "\xa0" in self.text:
            yield _ODD
            return
        script = parse(self.text)
        if script.broken >= 0 or script.deep:
            yield _UNREADABLE
            return
        functions = _defined(script.body)
        yield from replace(self, functions=functions).of_list(script.body)

    def of_list(self, body: Sequence[Pipeline]) -> Iterator[str]:
        """Yield what is dangerous in commands, one after another."""
        for pipeline in body:
            for stage in pipeline.stages:
                if isinstance(stage, Command):
                    yield from self._of_command(stage)
                else:
                    yield from self._of_group(stage)

    def _of_group(self, group: Group) -> Iterator[str]:
        written = self.text[group.start : group.end]
        if group.kind == "arithmetic" and ("[" in written or _CODE.search(written)):
            yield _ODD
        if group.kind == "case" and ("$(" in written or "`" in written):
            yield _ODD
        if group.name in TELLING:
            yield _telling(group.name)
        for word in group.words:
            yield from self._of_word(word)
        for redirect in group.redirects:
            yield from self._of_redirect(redirect)
        yield from self.of_list(group.body)

    def _of_command(self, command: Command) -> Iterator[str]:
        for assignment in command.assignments:
            yield from self._of_assignment(assignment)
        for word in command.words:
            yield from self._of_word(word)
        for redirect in command.redirects:
            yield from self._of_redirect(redirect)
        args = [_text_of(word) for word in command.words]
        if args:
            braces = any(_BRACES.search(_unquoted(word)) for word in command.words)
            defined = self.functions.get(args[0], command.start)
            yield from self.of_program(args, braces=braces, is_own=defined < command.start)

    def _of_assignment(self, assignment: Assignment) -> Iterator[str]:
        if _CODE.search(self.text[assignment.start : assignment.value.start]):
            yield _ODD
        if assignment.name in TELLING:
            yield _telling(assignment.name)
        yield from self._of_word(assignment.value)

    def _of_redirect(self, redirect: Redirect) -> Iterator[str]:
        yield from self._of_word(redirect.target)
        if redirect.operator in ("<<", "<<-"):
            if not self._ends_as_read(redirect):
                yield _ODD
            if redirect.body is not None:
                yield from self._of_word(redirect.body)
            return
        target = _text_of(redirect.target)
        is_other_end = redirect.operator == ">&" and _DESCRIPTOR.match(target)
        if redirect.operator in (">", ">|", "&>", ">&") and not is_other_end:
            self.written.append(target)
            yield overwrites(target)
        elif redirect.operator in (">>", "&>>", "<>"):
            yield appends(target)

    def _ends_as_read(self, redirect: Redirect) -> bool:
        """Return whether a shell ends a here-document where the reader did."""
        if any(not isinstance(part, Text) for part in redirect.target.parts):
            return False
        delimiter = _text_of(redirect.target)
        if redirect.body is None or not delimiter or len(delimiter) > _MOST_DELIMITER:
            return False
        body = self.text[redirect.body.start : redirect.body.end]
        line = self.text[redirect.body.end :].partition("\n")[0]
        if redirect.operator == "<<-":
            line = line.lstrip("\t")
        return line in (delimiter, "") and not body.endswith("\\\n")

    def _of_word(self, word: Word) -> Iterator[str]:
        for part in word.parts:
            yield from self._of_part(part)

    def _of_part(self, part: Part) -> Iterator[str]:
        if isinstance(part, Text):
            if self._is_blank(part):
                yield _ODD
        elif isinstance(part, Array):
            if not self._is_whole(part):
                yield _ODD
            for word in part.words:
                yield from self._of_word(word)
        elif isinstance(part, Substitution):
            written = self.text[part.start : part.end]
            if written.startswith("`") and "\\" in written:
                yield _ODD
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
        return is_closed and not any(self.text[start:end].strip() for start, end in gaps)

    def _is_blank(self, part: Text) -> bool:
        """Return whether the reader took two redirections for a blank to fill in."""
        before = self.text[part.start - 1 : part.start] if part.start else ""
        return part.quoted and before not in ("'", '"') and bool(_BLANK.match(part.text))

    def _of_variable(self, part: Variable) -> Iterator[str]:
        written = self.text[part.start : part.end]
        is_sum = part.name == "((" and ("[" in written or _CODE.search(written[3:]))
        is_index = "[" in part.name and _CODE.search(part.name)
        if is_sum or is_index or part.operator == "@":
            yield _ODD
        if part.argument is not None:
            yield from self._of_word(part.argument)

    def of_program(
        self, args: Sequence[str], *, braces: bool = False, is_own: bool = False
    ) -> Iterator[str]:
        """Yield why a program with its arguments is dangerous."""
        name = args[0].rpartition("/")[2]
        if UNKNOWN in name or not name or (_GLOB.search(args[0]) and name not in ("[", "[[")):
            yield "which program it runs is only known when it runs"
            return
        inner = self._inner(name, list(args[1:]))
        if inner is not None:
            yield from inner
            return
        found = _direct_danger(name, args, is_own=is_own)
        yield found
        if braces and not found and name not in ("echo", "ls", "mkdir", "touch", "cat", "grep"):
            yield _ODD

    def _inner(self, name: str, args: list[str]) -> Iterator[str] | None:
        """Return the dangers of what a program runs; nothing where it runs nothing else."""
        if name in _SHELLS:
            return self._of_shell(args)
        if name == "find":
            return self._of_find(args)
        wrapped = inner_command(name, args)
        return None if wrapped is None else self._of_wrapped(name, wrapped.rest)

    def _of_wrapped(self, name: str, rest: list[str] | None) -> Iterator[str]:
        if rest is None:
            yield f"it is not known what {name} runs"
        elif rest and rest[0].endswith(".py"):
            yield script_danger(rest)
        elif rest:
            yield from self.of_program(rest)

    def _of_shell(self, args: Sequence[str]) -> Iterator[str]:
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
            yield script_danger(args[at:])
        elif at >= len(args) or UNKNOWN in args[at]:
            yield "what it runs is only known when it runs"
        else:
            yield from _Reader(args[at], self.depth + 1).dangers()

    def _of_find(self, args: Sequence[str]) -> Iterator[str]:
        writes = ("-fprint", "-fprint0", "-fprintf", "-fls")
        if "-delete" in args:
            yield "it deletes files"
        if has_option(args, writes) or any(arg == UNKNOWN for arg in args[1:]):
            yield "it may write to a file"
        for at, arg in enumerate(args):
            if arg in ("-exec", "-execdir", "-ok", "-okdir"):
                ends = [end for end in range(at + 1, len(args)) if args[end] in (";", "+")]
                rest = list(args[at + 1 : ends[0] if ends else len(args)])
                known = [word.replace("{}", UNKNOWN) for word in rest]
                yield from self.of_program(known or [UNKNOWN])


def _direct_danger(name: str, args: Sequence[str], *, is_own: bool) -> str:
    """Judge a program that runs no other; `is_own` says that the text itself defines it."""
    if name in BUILTINS and (found := _builtin_danger(args)):
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


def _builtin_danger(args: Sequence[str]) -> str:
    """Judge a part of the shell: code hidden in its arguments, or a variable that decides."""
    hides = any(_CODE.search(arg) and "[" in arg for arg in args[1:])
    if args[0] == "let" or hides or list(args[:2]) == ["unset", "-f"]:
        return _ODD
    names = (arg.partition("=")[0].rstrip("+") for arg in args[1:])
    telling = next((name for name in names if name in TELLING), "")
    return _telling(telling) if telling else ""


def _telling(name: str) -> str:
    return f"it sets {name}, which decides what is run"


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
