"""Words of a shell text: quotes, escapes, expansions and substitutions, in one pass.

A grammar made for editors takes quadratic time on crafted text (a few kilobytes of `a|a|a|…` cost
seconds), so the text is read by hand: each character is looked at a bounded number of times.
"""

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, field


@dataclass(slots=True)
class Text:
    """Characters that stand for themselves."""

    text: str
    start: int
    quoted: bool = False
    # Whether each character stands at its own place (an escape like `\\x63` does not).
    exact: bool = True


@dataclass(slots=True)
class Variable:
    """`$name`, or `${name…}` with what is done to it."""

    name: str
    start: int
    end: int
    quoted: bool = False
    operator: str = ""
    argument: "Word | None" = None


@dataclass(slots=True)
class Substitution:
    """`$(…)` and backticks, or with a direction `<(…)` and `>(…)`."""

    body: "list[Pipeline]"
    start: int
    end: int
    quoted: bool = False
    direction: str = ""


@dataclass(slots=True)
class Array:
    """`(a b c)` as the value of an assignment."""

    words: "list[Word]"
    start: int
    end: int


Part = Text | Variable | Substitution | Array


@dataclass(slots=True)
class Word:
    """One argument as written."""

    parts: list[Part]
    start: int
    end: int


@dataclass(slots=True)
class Redirect:
    """`> file`, `< file`, `<<EOF` and their kin."""

    operator: str
    descriptor: str
    target: Word
    # The text of a here-document, `None` for the other operators.
    body: Word | None = None


@dataclass(slots=True)
class Assignment:
    """`name=value` before a command or alone."""

    name: str
    value: Word
    append: bool
    start: int


@dataclass(slots=True)
class Command:
    """A simple command."""

    assignments: list[Assignment]
    words: list[Word]
    redirects: list[Redirect]
    start: int
    end: int


@dataclass(slots=True)
class Compound:
    """Commands that belong together: `( )`, `{ }`, `if`, `for`, `while`, `case`, a function."""

    kind: str
    body: "list[Pipeline]"
    start: int
    end: int
    redirects: list[Redirect] = field(default_factory=list)
    # The variable of a `for`, the name of a function.
    name: str = ""
    words: list[Word] = field(default_factory=list)


@dataclass(slots=True)
class Pipeline:
    """Commands joined by `|`; a single command is a pipeline of one."""

    stages: list[Command | Compound]
    start: int
    end: int


@dataclass(slots=True)
class ShellScript:
    """A whole text, read."""

    body: list[Pipeline]
    comments: list[tuple[int, int]]
    # Where a quote or bracket begins that never ends, -1 where all end.
    broken: int = -1
    # Whether nesting went deeper than is read.
    deep: bool = False


MAX_DEPTH = 30
_MAX_ARITHMETIC = 400

_PLAIN = re.compile(r"[^\s'\"\\$`|&;<>()]+")
_IN_DOUBLE = re.compile(r"[^\"\\$`]+")
_IN_BODY = re.compile(r"[^\\$`]+")
_IN_BRACES = re.compile(r"[^'\"\\$`}]+")
_ANSI = re.compile(r"\$'((?:[^'\\]++|\\.)*+)'", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_]\w*|[0-9@*#?$!-]", re.ASCII)
_BRACED = re.compile(r"([!#]?)([A-Za-z_]\w*|\d+|[@*#?$!-])(\[[^\]\n]{0,80}\])?", re.ASCII)
_OPERATOR = re.compile(r":?[-=?+]|:|##?|%%?|//?|\^\^?|,,?|@")
_PAREN = re.compile(r"[()\n]")
# `<package>` in instructions is a blank to fill in, not two redirections.
_BLANK = re.compile(r"<[A-Za-z](?:[\w .|/:-]{0,60}[\w.])?>(?=$|[\s/.,:;@'\"`)=&?-])")
_ESCAPE = re.compile(
    r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|0?([0-7]{1,3})|(.))",
    re.DOTALL,
)
_NAMED_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "", "b": "", "e": "\x1b", "f": "\f",
"v": "\v"}  # fmt: skip
_LAST_CODE_POINT = 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)


def unescape(text: str) -> str:
    r"""Return `text` with `\x63`, `\143`, `\n` and the like read as `printf` and `$'…'` do."""
    return _ESCAPE.sub(_unescape, text) if "\\" in text else text


def _unescape(match: re.Match[str]) -> str:
    hexadecimal = match[1] or match[2] or match[3]
    if hexadecimal or match[4]:
        number = int(hexadecimal, 16) if hexadecimal else int(match[4], 8)
        return chr(number) if number <= _LAST_CODE_POINT and number not in _SURROGATES else ""
    other = match[5] or ""
    return _NAMED_ESCAPES.get(other, other if other in "\\'\"?" else "\\" + other)


class WordReader(ABC):
    """Reads words; what stands inside `$(…)` is read by the subclass."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.limit = len(text)
        self.depth = 0
        self.broken = -1
        self.deep = False

    @abstractmethod
    def read_list(self, closer: str, stops: frozenset[str] = frozenset()) -> list[Pipeline]:
        """Read commands up to `closer`, which is left unread, or a reserved word of `stops`."""

    @abstractmethod
    def skip_blanks(self) -> None:
        """Step over spaces and joined lines."""

    def peek(self) -> str:
        """Return the next character, empty at the end."""
        return self.text[self.at] if self.at < self.limit else ""

    def read_word(self) -> Word | None:
        """Read one word, or nothing where none begins."""
        start = self.at
        parts: list[Part] = []
        while self.at < self.limit and self._read_part(parts, first=self.at == start):
            pass
        return Word(parts, start, self.at) if self.at > start else None

    def _read_part(self, parts: list[Part], *, first: bool) -> bool:
        character = self.text[self.at]
        if character in "'\"\\$`":
            self._read_special(character, parts)
            return True
        plain = _PLAIN.match(self.text, self.at, self.limit)
        if plain:
            parts.append(Text(plain[0], self.at))
            self.at = plain.end()
            return True
        if character in "<>":
            return self._read_angle(parts, first=first)
        begins = first and self.text[self.at - 1 : self.at] != "="
        return character == "(" and not begins and self._read_parenthesis(parts)

    def _read_special(self, character: str, parts: list[Part]) -> None:
        if character == "'":
            self._read_single(parts)
        elif character == '"':
            self._read_double(parts)
        elif character == "\\":
            self._read_backslash(parts)
        elif character == "$":
            self.read_dollar(parts, quoted=False)
        else:
            self._read_backticks(parts, quoted=False)

    def _read_single(self, parts: list[Part]) -> None:
        close = self.text.find("'", self.at + 1, self.limit)
        if close < 0:
            self._break(self.at)
            parts.append(Text("'", self.at, quoted=True))
            self.at += 1
            return
        parts.append(Text(self.text[self.at + 1 : close], self.at + 1, quoted=True))
        self.at = close + 1

    def _read_double(self, parts: list[Part]) -> None:
        start = self.at
        self.at += 1
        parts.append(Text("", self.at, quoted=True))
        self.read_quoted(parts, _IN_DOUBLE, '"')
        if self.peek() == '"':
            self.at += 1
        else:
            self._break(start)

    def read_quoted(self, parts: list[Part], plain: re.Pattern[str], close: str) -> None:
        """Read the inside of double quotes or of a here-document, up to `close`."""
        while self.at < self.limit:
            run = plain.match(self.text, self.at, self.limit)
            if run:
                parts.append(Text(run[0], self.at, quoted=True))
                self.at = run.end()
                continue
            character = self.text[self.at]
            if character == close:
                return
            self._read_inside(character, parts)

    def _read_inside(self, character: str, parts: list[Part]) -> None:
        if character == "\\":
            following = self.text[self.at + 1 : min(self.at + 2, self.limit)]
            if following in ("$", "`", '"', "\\"):
                parts.append(Text(following, self.at + 1, quoted=True))
            elif following != "\n":
                parts.append(Text("\\" + following, self.at, quoted=True))
            self.at += 2
        elif character == "$":
            self.read_dollar(parts, quoted=True)
        else:
            self._read_backticks(parts, quoted=True)

    def read_body(self, start: int, end: int) -> Word:
        """Read a here-document whose text is expanded."""
        return self._read_within(start, end, _IN_BODY)

    def _read_within(self, start: int, end: int, plain: re.Pattern[str]) -> Word:
        kept = self.at, self.limit
        self.at, self.limit = start, end
        parts: list[Part] = []
        self.read_quoted(parts, plain, "")
        self.at, self.limit = kept
        return Word(parts, start, end)

    def _read_backslash(self, parts: list[Part]) -> None:
        following = self.text[self.at + 1 : min(self.at + 2, self.limit)]
        if following and following not in "\r\n":
            parts.append(Text(following, self.at + 1, quoted=True))
        elif following == "\r" and self.text[self.at + 2 : self.at + 3] == "\n":
            self.at += 1
        self.at = min(self.at + 2, self.limit)

    def read_dollar(self, parts: list[Part], *, quoted: bool) -> None:
        """Read what a dollar begins; alone it stands for itself."""
        following = self.text[self.at + 1 : min(self.at + 2, self.limit)]
        if following == "(":
            self._read_substitution(parts, quoted=quoted)
        elif following == "{":
            self._read_braced(parts, quoted=quoted)
        elif following == "'" and not quoted and (ansi := self._ansi()):
            text = unescape(ansi[1])
            parts.append(Text(text, ansi.start(1), quoted=True, exact=text == ansi[1]))
            self.at = ansi.end()
        elif following == '"' and not quoted:
            self.at += 1
        elif name := _NAME.match(self.text, self.at + 1, self.limit):
            parts.append(Variable(name[0], self.at, name.end(), quoted))
            self.at = name.end()
        else:
            parts.append(Text("$", self.at, quoted))
            self.at += 1

    def _ansi(self) -> re.Match[str] | None:
        found = _ANSI.match(self.text, self.at, self.limit)
        if found is None:
            self._break(self.at)
        return found

    def _read_substitution(self, parts: list[Part], *, quoted: bool) -> None:
        start = self.at
        shallow = self.depth < MAX_DEPTH
        if (
            shallow
            and self.text.startswith("$((", start)
            and (end := self.arithmetic_end(start + 3))
        ):
            parts.append(Variable("((", start, end, quoted))
            self.at = end
            return
        body = self._read_nested(start + 2, ")", parts)
        if body is not None:
            parts.append(Substitution(body, start, self.at, quoted))

    def _read_nested(self, inside: int, closer: str, parts: list[Part]) -> list[Pipeline] | None:
        start = self.at
        if self.depth >= MAX_DEPTH:
            self.deep = True
            parts.append(Text(self.text[start:inside], start))
            self.at = inside
            return None
        self.at = inside
        self.depth += 1
        body = self.read_list(closer)
        self.depth -= 1
        if self.peek() == closer:
            self.at += 1
        else:
            self._break(start)
        return body

    def arithmetic_end(self, at: int) -> int:
        """Return where `((…))` ends, 0 where it is a subshell inside a substitution."""
        depth = 2
        for bracket in _PAREN.finditer(self.text, at, min(at + _MAX_ARITHMETIC, self.limit)):
            if bracket[0] == "\n":
                return 0
            depth += 1 if bracket[0] == "(" else -1
            if depth == 0:
                return bracket.end() if self.text[bracket.start() - 1] == ")" else 0
        return 0

    def _read_braced(self, parts: list[Part], *, quoted: bool) -> None:
        start = self.at
        head = _BRACED.match(self.text, start + 2, self.limit)
        if head is None or self.depth >= MAX_DEPTH:
            parts.append(Text("${", start, quoted))
            self.at += 2
            return
        self.at = head.end()
        operator = _OPERATOR.match(self.text, self.at, self.limit)
        name = head[1] + head[2] + (head[3] or "")
        expansion = Variable(name, start, self.at, quoted, operator[0] if operator else "")
        if operator:
            self.at = operator.end()
        if self.peek() != "}":
            expansion.argument = self._read_argument()
        if self.peek() == "}":
            self.at += 1
        else:
            self._break(start)
        expansion.end = self.at
        parts.append(expansion)

    def _read_argument(self) -> Word:
        start = self.at
        parts: list[Part] = []
        self.depth += 1
        while self.at < self.limit and self.text[self.at] != "}":
            run = _IN_BRACES.match(self.text, self.at, self.limit)
            if run:
                parts.append(Text(run[0], self.at))
                self.at = run.end()
            else:
                self._read_special(self.text[self.at], parts)
        self.depth -= 1
        return Word(parts, start, self.at)

    def _read_backticks(self, parts: list[Part], *, quoted: bool) -> None:
        start = self.at
        close = self.text.find("`", start + 1, self.limit)
        while close > 0 and self.text[close - 1] == "\\":
            close = self.text.find("`", close + 1, self.limit)
        if close < 0 or self.depth >= MAX_DEPTH:
            self._break(start)
            parts.append(Text("`", start, quoted))
            self.at = start + 1
            return
        kept, self.limit = self.limit, close
        self.at = start + 1
        self.depth += 1
        body = self.read_list("")
        self.depth -= 1
        self.limit = kept
        self.at = close + 1
        parts.append(Substitution(body, start, self.at, quoted))

    def _read_angle(self, parts: list[Part], *, first: bool) -> bool:
        blank = self.blank_here()
        if blank:
            parts.append(Text(blank[0], self.at, quoted=True))
            self.at = blank.end()
            return True
        direction = self.text[self.at]
        if not first or self.text[self.at + 1 : min(self.at + 2, self.limit)] != "(":
            return False
        start = self.at
        body = self._read_nested(start + 2, ")", parts)
        if body is not None:
            parts.append(Substitution(body, start, self.at, direction=direction))
        return True

    def blank_here(self) -> re.Match[str] | None:
        """Return the blank to fill in (`<package>`) that begins here, if one does."""
        return _BLANK.match(self.text, self.at, self.limit) if self.peek() == "<" else None

    def _read_parenthesis(self, parts: list[Part]) -> bool:
        before = self.text[self.at - 1]
        if before == "=":
            return self._read_array(parts)
        if before not in "@!?*+":
            return False
        parts.append(Text("(", self.at, quoted=True))
        self.at += 1
        return True

    def _read_array(self, parts: list[Part]) -> bool:
        start = self.at
        self.at += 1
        words: list[Word] = []
        while self.at < self.limit and self.text[self.at] != ")":
            self.skip_blanks()
            word = self.read_word()
            if word:
                words.append(word)
            elif self.peek() != ")":
                self.at += 1
        self.at = min(self.at + 1, self.limit)
        parts.append(Array(words, start, self.at))
        return True

    def _break(self, at: int) -> None:
        if self.broken < 0:
            self.broken = at
