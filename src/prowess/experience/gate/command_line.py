"""A command line read as a shell would read it: what it runs, writes and calculates.

The reader of shell text that is used here was made to find what is bad, and forgives what it cannot
read. A gate must not: so whatever it reads otherwise than a shell might needs a confirmation.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from prowess.experience.gate.destructive_builtins import CODE, DECLARES, ODD, opens_names
from prowess.experience.gate.destructive_options import UNKNOWN, overwrites
from prowess.experience.gate.destructive_places import behaviour_danger, nearness_danger
from prowess.experience.gate.destructive_runs import Runs
from prowess.experience.gate.destructive_scene import Seen
from prowess.experience.gate.destructive_sums import Sums
from prowess.experience.gate.destructive_variables import assigned_danger, exported_danger
from prowess.experience.gate.destructive_written import names_of
from prowess.experience.shell_words import visible
from prowess.safety.languages.shell.shell_tree import (
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
from prowess.safety.languages.shell.syntax import parse

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
