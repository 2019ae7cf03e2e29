"""From a shell text to commands, pipelines and groups; broken text is read as far as it goes."""

import re
from collections.abc import Callable
from typing import ClassVar

from prowess.safety.languages.shell.words import (
    MAX_DEPTH,
    Assignment,
    Command,
    Compound,
    Pipeline,
    Redirect,
    ShellScript,
    Text,
    Word,
    WordReader,
)

_BLANKS = re.compile(r"(?:[ \t\r\f\v\xa0]|\\\r?\n)+")
_RESERVED = re.compile(r"(?:[a-z]+|[{}!]|\[\[)(?=[\s;&|()<>]|$)")
_FUNCTION = re.compile(
    r"(?:function[ \t]+([^\s()]+)[ \t]*(?:\([ \t]*\))?|([\w:.@-]++)[ \t]*+\([ \t]*\))\s*"
)
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(?:\[[^\]\n]{0,80}\])?(\+?)=", re.ASCII)
_REDIRECT = re.compile(
    r"(\d{1,3}|\{\w{1,40}\})?(<<<|<<-?|<>|<&|>>|>&|>\||<(?!\()|>(?!\())|(&>>?)(?!\()", re.ASCII
)
_PROMPT = re.compile(r"(?:[$%\u276f\u279c]|PS [^>\n]{0,80}>)[ \t]+(?=\S)")
_CASE_PATTERN = re.compile(r"[^)\n]{0,400}\)")
_FOR = re.compile(r"[ \t]+([A-Za-z_]\w*)(?:\s+in\b)?", re.ASCII)
_TEST_OPERATOR = re.compile(r"[|&<>()!;]+")
_LINE = re.compile(r"[^\n]+")
_COMMENT = re.compile(r"#[^\n]*")
_CLOSERS = frozenset(("then", "else", "elif", "fi", "do", "done", "esac", "}"))
_NO_STOPS: frozenset[str] = frozenset()
_IF = frozenset(("then", "else", "elif", "fi"))
_MAX_REPAIRS = 16


class _Reader(WordReader):
    """Reads lists of commands."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.comments: list[tuple[int, int]] = []
        self._pending: list[Redirect] = []

    def skip_blanks(self) -> None:
        blanks = _BLANKS.match(self.text, self.at, self.limit)
        if blanks:
            self.at = blanks.end()

    def _skip_space(self) -> None:
        """Step over blanks, comments and line ends; here-documents begin at a line end."""
        while self.at < self.limit:
            self.skip_blanks()
            character = self.peek()
            if character == "#":
                comment = _COMMENT.match(self.text, self.at, self.limit)
                if comment:
                    self.comments.append(comment.span())
                    self.at = comment.end()
            elif character == "\n":
                self._line_end()
            else:
                return

    def _line_end(self) -> None:
        self.at += 1
        if self._pending:
            pending, self._pending = self._pending, []
            for number, redirect in enumerate(pending):
                # Each body begins on the line after the end of the one before it.
                self.at += bool(number and self.peek() == "\n")
                self._read_heredoc(redirect)

    def _read_heredoc(self, redirect: Redirect) -> None:
        parts = redirect.target.parts
        delimiter = "".join(part.text for part in parts if isinstance(part, Text))
        literal = any(part.quoted for part in parts if isinstance(part, Text))
        tabs = r"[ \t]*" if redirect.operator == "<<-" else ""
        end_line = re.compile(rf"^{tabs}{re.escape(delimiter[:200])}[ \t\r]*$", re.MULTILINE)
        end = end_line.search(self.text, self.at, self.limit)
        start, stop = self.at, end.start() if end else self.limit
        if literal:
            redirect.body = Word([Text(self.text[start:stop], start, quoted=True)], start, stop)
        else:
            redirect.body = self.read_body(start, stop)
        self.at = end.end() if end else self.limit

    def read_list(self, closer: str, stops: frozenset[str] = _NO_STOPS) -> list[Pipeline]:
        body: list[Pipeline] = []
        while True:
            self._skip_space()
            character = self.peek()
            if not character or character == closer:
                return body
            if character in ";&|)":
                if closer == ";;" and self.text.startswith((";;", ";&"), self.at):
                    return body
                self.at += 1
                continue
            reserved = _RESERVED.match(self.text, self.at, self.limit)
            if reserved and reserved[0] in stops:
                return body
            if reserved and reserved[0] in _CLOSERS:
                self.at = reserved.end()
                continue
            self._read_pipeline(body)

    def _read_pipeline(self, body: list[Pipeline]) -> None:
        stages: list[Command | Compound] = []
        while True:
            before = self.at
            stage = self._read_stage()
            if stage:
                stages.append(stage)
            elif self.at == before:
                self.at += 1
            self.skip_blanks()
            if self.peek() != "|" or self.text.startswith("||", self.at):
                break
            self.at += 2 if self.text.startswith("|&", self.at) else 1
            self._skip_space()
            if self.peek() in ("", "|", "&", ";", ")"):
                break
        if stages:
            body.append(Pipeline(stages, stages[0].start, stages[-1].end))

    def _read_stage(self) -> Command | Compound | None:
        prompt = _PROMPT.match(self.text, self.at, self.limit)
        if prompt:
            self.at = prompt.end()
        if self.depth < MAX_DEPTH:
            self.depth += 1
            group = self._read_group()
            self.depth -= 1
            if group:
                self.skip_blanks()
                while self._read_redirect(group.redirects):
                    self.skip_blanks()
                group.end = self.at
                return group
        else:
            self.deep = True
        return self._read_command()

    def _read_group(self) -> Command | Compound | None:
        start = self.at
        if self.peek() == "(":
            return self._read_parentheses(start)
        reserved = _RESERVED.match(self.text, start, self.limit)
        word = reserved[0] if reserved else ""
        opener = self._OPENERS.get(word)
        if opener and reserved:
            self.at = reserved.end()
            return opener(self, start)
        function = _FUNCTION.match(self.text, start, self.limit)
        if function:
            self.at = function.end()
            inner = self._read_stage()
            body = [Pipeline([inner], inner.start, inner.end)] if inner else []
            return Compound("function", body, start, self.at, name=function[1] or function[2])
        return None

    def _read_parentheses(self, start: int) -> Compound:
        if self.text.startswith("((", start) and (end := self.arithmetic_end(start + 2)):
            self.at = end
            return Compound("arithmetic", [], start, end)
        self.at += 1
        body = self.read_list(")")
        if self.peek() == ")":
            self.at += 1
        return Compound("subshell", body, start, self.at)

    def _read_not(self, start: int) -> Compound:
        self.skip_blanks()
        inner = self._read_stage()
        return Compound(
            "group", [Pipeline([inner], inner.start, inner.end)] if inner else [], start, self.at
        )

    def _read_braces(self, start: int) -> Compound:
        body = self.read_list("", frozenset("}"))
        self._take("}")
        return Compound("group", body, start, self.at)

    def _read_if(self, start: int) -> Compound:
        body: list[Pipeline] = []
        while True:
            body += self.read_list("", _IF)
            word = self._take(*_IF)
            if word in ("", "fi"):
                return Compound("if", body, start, self.at)

    def _read_while(self, start: int) -> Compound:
        body = self.read_list("", frozenset(("do",)))
        self._take("do")
        body += self.read_list("", frozenset(("done",)))
        self._take("done")
        return Compound("while", body, start, self.at)

    def _read_for(self, start: int) -> Compound:
        group = Compound("for", [], start, start)
        head = _FOR.match(self.text, self.at, self.limit)
        if head:
            group.name = head[1]
            self.at = head.end()
            self.skip_blanks()
            while word := self.read_word():
                group.words.append(word)
                self.skip_blanks()
        group.body = self.read_list("", frozenset(("do",)))
        self._take("do")
        group.body += self.read_list("", frozenset(("done",)))
        self._take("done")
        return group

    def _read_case(self, start: int) -> Compound:
        group = Compound("case", [], start, start)
        self.skip_blanks()
        if word := self.read_word():
            group.words.append(word)
        self._skip_space()
        self._take("in")
        while self.at < self.limit:
            self._skip_space()
            if self._take("esac"):
                break
            pattern = _CASE_PATTERN.match(self.text, self.at, self.limit)
            if pattern:
                self.at = pattern.end()
            before = self.at
            group.body += self.read_list(";;", frozenset(("esac",)))
            while self.peek() in (";", "&"):
                self.at += 1
            if self.at == before and not pattern:
                break
        return group

    def _read_test(self, start: int) -> Command:
        """Read `[[ … ]]`, whose operators are not those of the shell."""
        words: list[Word] = [Word([Text("[[", start)], start, start + 2)]
        while self.at < self.limit and self.peek() != "\n":
            self.skip_blanks()
            operator = _TEST_OPERATOR.match(self.text, self.at, self.limit)
            if operator:
                self.at = operator.end()
            elif word := self.read_word():
                if self.text[word.start : word.end] == "]]":
                    break
                words.append(word)
        return Command([], words, [], start, self.at)

    _OPENERS: ClassVar[dict[str, Callable[["_Reader", int], Command | Compound]]] = {
        "{": _read_braces,
        "if": _read_if,
        "while": _read_while,
        "until": _read_while,
        "for": _read_for,
        "select": _read_for,
        "case": _read_case,
        "!": _read_not,
        "[[": _read_test,
    }

    def _take(self, *words: str) -> str:
        reserved = _RESERVED.match(self.text, self.at, self.limit)
        if reserved and reserved[0] in words:
            self.at = reserved.end()
            return reserved[0]
        return ""

    def _read_redirect(self, redirects: list[Redirect]) -> bool:
        found = _REDIRECT.match(self.text, self.at, self.limit)
        if found is None:
            return False
        self.at = found.end()
        self.skip_blanks()
        start = self.at
        target = self.read_word() or Word([], start, start)
        redirect = Redirect(found[2] or found[3], found[1] or "", target)
        redirects.append(redirect)
        if redirect.operator in ("<<", "<<-") and target.parts:
            self._pending.append(redirect)
        return True

    def _read_command(self) -> Command | None:
        command = Command([], [], [], self.at, self.at)
        while self.at < self.limit:
            self.skip_blanks()
            if not self._read_piece(command):
                break
            command.end = self.at
        return command if command.end > command.start else None

    def _read_piece(self, command: Command) -> bool:
        character = self.peek()
        if not character or character in "\n;|)" or character == "#":
            return False
        if not command.words and (assigned := _ASSIGNMENT.match(self.text, self.at, self.limit)):
            start = self.at
            self.at = assigned.end()
            value = self.read_word() or Word([], self.at, self.at)
            append = assigned[2] == "+"
            command.assignments.append(Assignment(assigned[1], value, append, start))
            return True
        if character in "<>&{0123456789" and not self.blank_here():
            if self._read_redirect(command.redirects):
                return True
            if character == "&":
                return False
        word = self.read_word()
        if word:
            command.words.append(word)
            return True
        return False


def parse(text: str) -> ShellScript:
    """Read `text`; after a quote that never ends, reading goes on in the next line."""
    script = ShellScript([], [])
    start = 0
    for _ in range(_MAX_REPAIRS):
        reader = _Reader(text)
        reader.at = start
        body = reader.read_list("")
        line_end = text.find("\n", reader.broken) if reader.broken >= 0 else -1
        if line_end < 0:
            _keep(script, reader, body, len(text))
            return script
        _keep(script, reader, body, reader.broken)
        resume = max([start, *(pipeline.end for pipeline in body if pipeline.end <= reader.broken)])
        _read_lines(script, text, resume, line_end)
        start = line_end + 1
    for line in _LINE.finditer(text, start):
        _read_lines(script, text, *line.span())
    return script


def _keep(script: ShellScript, reader: _Reader, body: list[Pipeline], end: int) -> None:
    script.body += [pipeline for pipeline in body if pipeline.end <= end]
    script.comments += [span for span in reader.comments if span[1] <= end]
    script.deep = script.deep or reader.deep
    if script.broken < 0:
        script.broken = reader.broken


def _read_lines(script: ShellScript, text: str, start: int, end: int) -> None:
    reader = _Reader(text)
    reader.at, reader.limit = start, end
    _keep(script, reader, reader.read_list(""), end)
