"""Text of strangers: made safe to show, and read where it is JSON or YAML.

What is printed or shown to a model has its control characters and CR/LF stripped; names and
descriptions become one line here, whoever wrote them.

JSON may have comments, bare keys and trailing commas, and no key twice. YAML, nowhere else in the
project, is built from the parser's events, not by a constructor, so that aliases, tags, duplicate
keys and depth are refused where they stand. Scalars follow the YAML 1.2 core schema: `on`, `yes`
and dates stay text, which is what authors of prose mean.
"""

import json
import math
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from prowess.data import compile_late
from prowess.skills.model import Value

if TYPE_CHECKING:
    import yaml

# Escape sequences first, as a whole; then what is left of control characters, but tab and newline;
# then characters that reorder, hide or split text without being seen. Joiners stay: scripts and
# emoji need them.
_UNSAFE = compile_late(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[@-_]?"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    r"\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb"
    r"\U000e0000-\U000e0fff]"
)
_JOINERS = compile_late("[\u200c\u200d\ufe0e\ufe0f]")
# Scripts and emoji need one, or a selector and a joiner; more of them, or one between two plain
# letters, carry something that nobody sees.
_HIDDEN_JOINERS = compile_late(
    "(?<=[A-Za-z])[\u200c\u200d\ufe0e\ufe0f]+(?=[A-Za-z])"
    "|(?<=[\u200c\u200d\ufe0e\ufe0f]{2})[\u200c\u200d\ufe0e\ufe0f]+"
)
_MOST_LISTED = 1_024
# A file name that is not UTF-8 arrives as lone surrogates, which no stream can encode.
_SURROGATE = compile_late("[\ud800-\udfff]")


def clean(text: str) -> str:
    """Return `text` without what could move a cursor or hide words."""
    if text.isascii() and text.isprintable():
        return text
    return _SURROGATE.sub("\ufffd", _HIDDEN_JOINERS.sub("", without_controls(text)))


def without_controls(text: str) -> str:
    """Return `text` without what could move a cursor; joiners are left as they are."""
    return _UNSAFE.sub("", text)


def cut_listed(text: str) -> str:
    """Return a description as lists have it: whole up to the length that the standard allows.

    One of a hundred thousand characters would drown the others, in a list and on its way.
    """
    shown = clean(text)
    return shown if len(shown) <= _MOST_LISTED else shown[: _MOST_LISTED - 1].rstrip() + "\u2026"


def find_name_problem(name: str) -> str:
    """Return why the name of a file cannot be shown as it is; empty where it can.

    Where it cannot, no model could read the file at the place that it is told, and no client could
    name it.
    """
    if _SURROGATE.search(name):
        return "is not UTF-8"
    is_whole = clean(name) == name and not {"\t", "\n"} & set(name)
    return "" if is_whole else "has a control or hidden character"


def plain_name(text: str) -> str:
    """Return a name on one line, without joiners where no script or emoji needs them."""
    name = one_line(text)
    bare = _JOINERS.sub("", name)
    return bare if bare.isascii() else name


def one_line(text: str) -> str:
    """Return `text` cleaned, on one line, with single spaces."""
    return " ".join(clean(text).split())


_MAX_JSON5_CHARS = 1_500
_MAX_DEPTH = 32
_MAX_NUMBER = 2**63
# What plain JSON does not know: single quotes, comments, trailing commas, keys without quotes.
# No part is tried twice at one place: a file of a stranger must not take longer than its length.
_RELAXED = compile_late(
    r'"(?:[^"\\\n]|\\.)*+"?'
    r"|(?P<single>'(?:[^'\\\n]|\\.)*+')|'(?:[^'\\\n]|\\.)*+"
    r"|(?P<gap>//[^\n]*|/\*.*?\*/|,(?=\s*[}\]]))|/\*.*"
    r"|(?<![A-Za-z0-9_$])(?P<key>[A-Za-z_$][A-Za-z0-9_$]*+)(?=\s*:)",
    re.DOTALL,
)


class RepeatedKeyError(ValueError):
    """A key occurs twice in one object; never leaves the readers of JSON."""


def read_object(text: str) -> dict[str, Value] | None:
    """Read one JSON or JSON5 object, or return None where `text` is not one that we trust."""
    value = _read(text)
    return value if isinstance(value, dict) and is_plain(value) else None


# JSON can be anything until it is looked at; the same below.
def _read(text: str) -> Any:  # noqa: ANN401
    for attempt in (text, relax(text)):
        try:
            return strict_loads(attempt)
        except RepeatedKeyError:
            return None
        except (ValueError, RecursionError):
            continue
    # What is left is rare (hexadecimal numbers, line ends in strings), and its reader is slow.
    if len(text) > _MAX_JSON5_CHARS:
        return None
    # Most files are plain JSON: the reader for the rest costs as much to import as all of YAML.
    import json5

    try:
        return json5.loads(text, allow_duplicate_keys=False)
    except (ValueError, RecursionError):
        return None


# See above.
def strict_loads(text: str) -> Any:  # noqa: ANN401
    """Read JSON in which no key is repeated and no number is a word.

    Raises:
        ValueError: the text is something else.
    """
    return json.loads(text, object_pairs_hook=_without_repetition, parse_constant=_no_constant)


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise RepeatedKeyError(key)
        found[key] = value
    return found


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no number")


def relax(text: str) -> str:
    """Return JSON5 as plain JSON, as far as that goes without reading it."""
    return _RELAXED.sub(_as_json, text)


def _as_json(match: re.Match[str]) -> str:
    if match["single"]:
        inner = match["single"][1:-1].replace("\\'", "'")
        return '"' + re.sub(r'(?<!\\)"', '\\"', inner) + '"'
    if match["key"]:
        return f'"{match["key"]}"'
    return " " if match["gap"] else match[0]


# See above.
def is_plain(value: Any) -> bool:  # noqa: ANN401
    """Return whether every part of `value` can be printed, compared and encoded."""
    stack = [(value, 0)]
    while stack:
        item, depth = stack.pop()
        if depth > _MAX_DEPTH or not _is_plain_scalar(item):
            return False
        if isinstance(item, dict):
            stack += [(part, depth + 1) for pair in item.items() for part in pair]
        elif isinstance(item, list):
            stack += [(part, depth + 1) for part in item]
    return True


def _is_plain_scalar(item: object) -> bool:
    if isinstance(item, str):
        return item.isascii() or not any("\ud800" <= char <= "\udfff" for char in item)
    if isinstance(item, float):
        return math.isfinite(item)
    return not isinstance(item, int) or abs(item) < _MAX_NUMBER


def closing_brace(text: str, start: int) -> int | None:
    """Return the index after the `}` that closes the `{` at `start`; strings are skipped."""
    depth, index = 0, start
    while index < len(text):
        char = text[index]
        if char in "\"'":
            index = _skip_string(text, index)
            continue
        if text.startswith(("//", "/*"), index):
            index = _skip_comment(text, index)
            continue
        depth += {"{": 1, "}": -1}.get(char, 0)
        index += 1
        if depth == 0:
            return index
    return None


def _skip_string(text: str, start: int) -> int:
    index = start + 1
    while index < len(text) and text[index] != text[start]:
        index += 2 if text[index] == "\\" else 1
    return index + 1


def _skip_comment(text: str, start: int) -> int:
    mark = "\n" if text.startswith("//", start) else "*/"
    end = text.find(mark, start + 2)
    return len(text) if end < 0 else end + len(mark)


_MAX_PROBLEMS = 20
_PLAIN_TAG_PREFIX = "tag:yaml.org,2002:"
_PLAIN_TAGS = frozenset(
    _PLAIN_TAG_PREFIX + name for name in ("str", "int", "float", "bool", "null", "map", "seq")
)
_NULLS = frozenset(("", "~", "null", "Null", "NULL"))
_BOOLS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT = compile_late(r"[-+]?[0-9]{1,18}")
_FLOAT = compile_late(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]{1,3})?")
# What ends a double-quoted scalar, breaks its line, or may not stand in a stream as it is.
_ESCAPED = compile_late(
    '["\\\\\x00-\x1f\x7f-\xa0\xad\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]'
    "|[\U0001fffe-\U0001ffff\U000e0000-\U0010ffff]"
)
_LAST_SHORT = 0xFFFF
_PAIR = compile_late(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_OPENED = ("while parsing a flow", "while scanning a quoted")
_LOOKS_INDENTED = ("indentation", "expected key", "<block end>")

# From keys and numbers to a line.
Locator = Callable[[Sequence[str | int]], int]
_Container: TypeAlias = "dict[str, Value] | list[Value]"


class YamlProblem(NamedTuple):
    """Why a text is not the YAML we read, and where: line and column begin at 1."""

    code: str
    message: str
    line: int
    column: int = 1


class Loaded(NamedTuple):
    """The values of a text; `root` is None where it could not be built."""

    root: Value
    # Line and raw text of each top-level key's value: `1.10` stays `1.10` where text is meant.
    lines: dict[str, int]
    texts: dict[str, str]
    problems: tuple[YamlProblem, ...] = ()


class _Mark(Protocol):
    """A place in the text; libyaml and the Python parser have a class each."""

    index: int
    line: int
    column: int


class _BuildError(Exception):
    """Stops the build; its problem becomes a value before it leaves this module."""

    def __init__(self, code: str, message: str, event: "yaml.Event") -> None:
        super().__init__(message)
        self.problem = YamlProblem(code, message, _line(event), _column(event.start_mark))


def load(text: str) -> Loaded:
    """Build the values of `text`; every problem is returned, none is raised."""
    # Loaded by the first text: whoever finds all skills as they were kept reads none.
    import yaml

    build = _Build(text)
    try:
        for event in yaml.parse(text, Loader=_loader()):
            build.take(event)
    except _BuildError as error:
        return Loaded(None, {}, {}, (*build.problems, error.problem))
    except yaml.YAMLError as error:
        if _join_pairs(text) != text:
            return load(_join_pairs(text))
        return Loaded(None, {}, {}, (*build.problems, _syntax_problem(error, text)))
    return Loaded(build.root, build.lines, build.texts, tuple(build.problems))


def _join_pairs(text: str) -> str:
    """Return text with each character that JSON escapes as two halves, which libyaml refuses."""
    return _PAIR.sub(lambda found: str(json.loads(f'"{found[0]}"')), text)


def _loader() -> "type[yaml.SafeLoader | yaml.CSafeLoader]":
    import yaml

    # libyaml is about ten times faster; wheels of PyYAML without it still work.
    found: type[yaml.SafeLoader | yaml.CSafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return found


def make_locator(text: str) -> Locator:
    """Return what says on which line a key or an item of `text` stands, which `load` has read.

    Of what is not there it says the line of what is around it.
    """
    import yaml

    root = yaml.compose(_join_pairs(text), Loader=_loader())

    def locate(place: Sequence[str | int]) -> int:
        node, line = root, 1
        for part in place:
            for mark, key, inner in _children(node):
                if key == part:
                    node, line = inner, mark
                    break
        return line

    return locate


def _children(node: "yaml.Node | None") -> "list[tuple[int, str | int, yaml.Node]]":
    """Return the line, the key or number, and the value of each part of a map or list."""
    import yaml

    if isinstance(node, yaml.MappingNode):
        return [(_line(key), key.value, value) for key, value in node.value]
    if isinstance(node, yaml.SequenceNode):
        return [(_line(item), number, item) for number, item in enumerate(node.value)]
    return []


def quote(text: str) -> str:
    """Return `text` as one YAML scalar on one line, which reads back as exactly this text."""
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(match: re.Match[str]) -> str:
    number = ord(match[0])
    if match[0] in '"\\':
        return f"\\{match[0]}"
    return f"\\u{number:04x}" if number <= _LAST_SHORT else f"\\U{number:08x}"


class _Build:
    """Turns the event stream into values, one container on the stack per open level."""

    def __init__(self, text: str) -> None:
        self.root: Value = None
        self.lines: dict[str, int] = {}
        self.texts: dict[str, str] = {}
        self.problems: list[YamlProblem] = []
        self._text = text
        self._stack: list[_Container] = []
        self._keys: list[str | None] = []
        self._documents = 0
        self._flow_start = 0

    def take(self, event: "yaml.Event") -> None:
        import yaml

        if isinstance(event, yaml.ScalarEvent):
            self._scalar(event)
        elif isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            self._open(event)
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            self._close(event)
        elif isinstance(event, yaml.AliasEvent):
            raise _BuildError("ALIAS_FORBIDDEN", f"the alias *{event.anchor} is not read", event)
        elif isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                raise _BuildError("YAML_EXCEPTION", "a second YAML document begins here", event)

    def _scalar(self, event: "yaml.ScalarEvent") -> None:
        if self._expects_key():
            key = event.value
            if key in self._stack[-1] and len(self.problems) < _MAX_PROBLEMS:
                message, column = f"the key {key[:60]!r} occurs twice", _column(event.start_mark)
                self.problems.append(YamlProblem("DUPLICATE_KEY", message, _line(event), column))
            self._keys[-1] = key
            return
        _check_tag(event)
        as_text = not event.implicit[0] or event.tag == _PLAIN_TAG_PREFIX + "str"
        self._note(event, event.value)
        self._put(event.value if as_text else _read_plain(event.value))

    def _open(self, event: "yaml.MappingStartEvent | yaml.SequenceStartEvent") -> None:
        if self._expects_key():
            raise _BuildError("YAML_EXCEPTION", "a map or list cannot be a key", event)
        if len(self._stack) >= _MAX_DEPTH:
            raise _BuildError("TOO_DEEP", f"nested more than {_MAX_DEPTH} levels", event)
        _check_tag(event)
        if len(self._stack) == 1:
            self._flow_start = _index(event.start_mark)
            self._note(event, "")
        container: _Container = {} if type(event).__name__ == "MappingStartEvent" else []
        self._put(container)
        self._stack.append(container)
        self._keys.append(None)

    def _close(self, event: "yaml.MappingEndEvent | yaml.SequenceEndEvent") -> None:
        self._stack.pop()
        self._keys.pop()
        if len(self._stack) == 1 and isinstance(self._stack[0], dict) and self.lines:
            # The raw text of `{...}` and `[...]`: JSON5 reads some of what YAML misreads.
            last = next(reversed(self.lines))
            self.texts[last] = self._text[self._flow_start : _index(event.end_mark)]

    def _expects_key(self) -> bool:
        return bool(self._stack) and isinstance(self._stack[-1], dict) and self._keys[-1] is None

    def _note(self, event: "yaml.Event", text: str) -> None:
        if len(self._stack) == 1 and self._keys[-1] is not None:
            self.lines[self._keys[-1]] = _line(event)
            self.texts[self._keys[-1]] = text

    def _put(self, value: Value) -> None:
        if not self._stack:
            self.root = value
            return
        container, key = self._stack[-1], self._keys[-1]
        if isinstance(container, list):
            container.append(value)
        else:
            # A map takes a value only behind its key, which may be the empty text.
            container[key or ""] = value
            self._keys[-1] = None


def _line(place: "yaml.Event | yaml.Node") -> int:
    mark = place.start_mark
    return 1 if mark is None else int(mark.line) + 1


def _column(mark: _Mark | None) -> int:
    return 1 if mark is None else int(mark.column) + 1


def _index(mark: _Mark | None) -> int:
    return 0 if mark is None else int(mark.index)


def _check_tag(event: "yaml.ScalarEvent | yaml.CollectionStartEvent") -> None:
    tag = event.tag
    if tag is not None and tag != "!" and tag not in _PLAIN_TAGS:
        raise _BuildError("CUSTOM_TAG", f"the tag {tag[:60]} is not read", event)


def _read_plain(text: str) -> Value:
    if text in _NULLS:
        return None
    if text in _BOOLS:
        return _BOOLS[text]
    if _INT.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    return text


_QUOTES = {"'": "write a ' inside it twice ('')", '"': 'write a " inside it with a backslash (\\")'}


def _syntax_problem(error: "yaml.YAMLError", text: str) -> YamlProblem:
    mark: _Mark | None = getattr(error, "problem_mark", None)
    message = str(getattr(error, "problem", None) or error).splitlines()[0]
    # Other signs that no value begins with are to be quoted; a tab is no indentation.
    has_tab = mark is not None and text[mark.index : mark.index + 1] == "\t"
    ended = "" if mark is None else text[: mark.index].rpartition("\n")[2].rstrip(" \t")[-1:]
    if ended and ended in _QUOTES:
        # Otherwise what stands behind a quote that was not meant to end it passes for a key.
        message = (
            f"the quoted text ends here and more follows: {_QUOTES[ended]}, or quote all of it"
        )
    looks_indented = has_tab or any(hint in message for hint in _LOOKS_INDENTED)
    code = "BAD_INDENT" if looks_indented else "YAML_EXCEPTION"
    if "invalid Unicode character escape" in message:
        message = "a lone surrogate is escaped here, which is half a character"
    context = str(getattr(error, "context", None) or "")
    if context.startswith(_OPENED):
        # What was opened is where to look, not where the reader gave up.
        mark = getattr(error, "context_mark", None) or mark
        message = f"{context}: {message}"
    return YamlProblem(code, message, 1 if mark is None else int(mark.line) + 1, _column(mark))
