"""The text of a skill file to its frontmatter and body, and fields whatever their spelling.

No input makes this raise: what cannot be read is a diagnostic with a place and a fix. Where authors
often slip (an unquoted colon in prose, JSON5 metadata) the meaning is rescued and said; whatever
else is no YAML rejects the block, since nobody knows what was meant. Harnesses spell one key as
`user-invocable`, `user_invocable` or `userInvocable`; all are one here.
"""

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import field
from typing import NamedTuple

from prowess.data import compile_late, dataclass
from prowess.skills.model import Diagnostic, Fields, Severity, Value, diagnose
from prowess.skills.text import Loaded, YamlProblem, closing_brace, one_line, read_object
from prowess.skills.text import load as load_yaml

_FENCE = compile_late(r"---[ \t]*")
_PROSE = compile_late(
    r"(description|summary|read_when|when_to_use|when-to-use|compatibility|argument-hint|name|title)"
    r":[ \t]+(\S.*)"
)
# A value that only its colons make unsound: it begins as plain text.
_COLON = compile_late(r"(?![-?] )[^\[\]{}\"'|>&*!%@`#,].*:(?:\s.*)?", re.DOTALL)
# A lower-case word and its colon on a line of its own is a key that slipped, not prose.
_SLIPPED_KEY = compile_late(r"[\"']?[a-z][A-Za-z0-9_.-]*[\"']?[ \t]*:(?:\s|$)")
_ONE_LINE = frozenset(("name", "title"))
# Claude Code's own notation, `[file] [mode]`, which YAML takes for a list and a slip.
_HINT = "argument-hint"
_RUN_ON_NAME = compile_late(
    r"^name[ \t]*:[ \t]+[^\s\"'|>#\[{][^\n]*\n(?:[ \t]*+\n)*+(?P<gap>[ \t]++)(?!#)",
    re.MULTILINE | re.IGNORECASE,
)
_SIMPLE_LINE = compile_late(r"([A-Za-z0-9_.-]+)[ \t]*:[ \t]*(\S.*)?")
_ANY_METADATA = compile_late(r"^[\"']?metadata[\"']?[ \t]*:", re.MULTILINE | re.IGNORECASE)
_METADATA_LINE = compile_late(r"^metadata[ \t]*:\s*(?=\{)", re.MULTILINE)
# `globs: *.py` is what Cursor writes; to YAML it is an alias.
_BARE_GLOB = compile_late(r"^((?:globs|paths)[ \t]*:[ \t]+)(\*[^\n]*)", re.MULTILINE)
_GATE_KEYS = frozenset(("metadata", "platforms", "requiredenvironmentvariables"))
_GATE_WORD = compile_late(r"metadata[\"']?[ \t]*(?::|$)", re.IGNORECASE | re.MULTILINE)
_UNREADABLE = "(could not be read)"
# Not the codes of aliases and tags: those are refused, not read as text.
_RESCUABLE = frozenset(("YAML_EXCEPTION", "BAD_INDENT"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Frontmatter:
    """What stood between the fences, and the body below them."""

    body: str = ""
    body_line: int = 1
    present: bool = False
    # False where the block is there but is not a map that we can trust.
    readable: bool = True
    fields: dict[str, Value] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    rescued: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


class DecodedText(NamedTuple):
    """A file's text with its line ends normalised, or the reason why it is none."""

    text: str = ""
    diagnostic: Diagnostic | None = None


def decode(content: bytes) -> DecodedText:
    """Decode the bytes of a file: UTF-8, an optional BOM, any line ends."""
    if b"\0" in content:
        line = content.count(b"\n", 0, content.index(b"\0")) + 1
        return DecodedText(diagnostic=diagnose("NUL_BYTE", "the file holds a NUL byte", line=line))
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        return DecodedText(
            diagnostic=diagnose("INVALID_UTF8", f"byte {error.start} is not UTF-8", line=line)
        )
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return DecodedText(text=text)


def read(text: str, *, lenient: bool = False) -> Frontmatter:
    """Split `text` at its fences and read the block between them.

    With `lenient`, a block that is not sound is read line by line.
    """
    first, _, rest = text.partition("\n")
    if not _FENCE.fullmatch(first):
        return _refuse_misplaced(text) or Frontmatter(body=text)
    block, body, body_line = _split(rest)
    if block is None:
        return _refuse_unterminated(text)
    loaded, rescued = _load(block)
    found = [_diagnostic(problem) for problem in loaded.problems or _run_on_name(block)]
    found += [_rescue_note(key, line) for key, line in rescued.items()]
    root = {} if loaded.root is None and not loaded.problems else loaded.root
    if not isinstance(root, dict) and not loaded.problems:
        found.append(diagnose("INVALID_ROOT", "the frontmatter is not a map", line=2))
    readable = isinstance(root, dict) and not any(d.severity is Severity.ERROR for d in found)
    if not readable and lenient:
        return _line_by_line(block, body, body_line, found)
    return Frontmatter(
        body=body,
        body_line=body_line,
        present=True,
        readable=readable,
        fields=root if isinstance(root, dict) else {},
        lines={key: line + 1 for key, line in loaded.lines.items()},
        texts=loaded.texts,
        rescued=tuple(rescued),
        diagnostics=tuple(found),
    )


def _split(rest: str) -> tuple[str | None, str, int]:
    """Return block, body and the body's line; the block is None where no fence closes it."""
    start, line = 0, 2
    while True:
        end = rest.find("\n", start)
        stop = len(rest) if end < 0 else end
        if rest.startswith("---", start) and _FENCE.fullmatch(rest, start, stop):
            return rest[:start], rest[stop + 1 :], line + 1
        if end < 0:
            return None, "", line
        start, line = end + 1, line + 1


def _refuse_misplaced(text: str) -> Frontmatter | None:
    """Refuse a block that does not begin at the very start: its gates would go unread."""
    bare = text.lstrip(" \t\n\x0b\x0c\u200b\u2060\ufeff\u2028\u2029\x85")
    if bare == text or not _FENCE.fullmatch(bare.partition("\n")[0]):
        return None
    line = text[: len(text) - len(bare)].count("\n") + 1
    problem = diagnose("FRONTMATTER_MISSING", "something stands before the first dashes", line=line)
    return Frontmatter(body=text, readable=False, diagnostics=(problem,))


def _refuse_unterminated(text: str) -> Frontmatter:
    problem = diagnose("UNTERMINATED_FRONTMATTER", "no closing line of three dashes", line=1)
    return Frontmatter(body=text, present=True, readable=False, diagnostics=(problem,))


def _load(block: str) -> tuple[Loaded, dict[str, int]]:
    """Read `block`; where that fails, cut JSON5 metadata out and quote prose, then read again."""
    block = _BARE_GLOB.sub(_quote_glob, block)
    loaded = load_yaml(block)
    if not loaded.problems or loaded.problems[-1].code not in _RESCUABLE:
        return loaded, {}
    lighter, metadata = _cut_metadata(block)
    lines, rescued = quote_prose(lighter)
    if metadata is None and not rescued:
        return loaded, {}
    quoted = "\n".join("" if line is None else line for line in lines)
    again = load_yaml(quoted)
    if not isinstance(again.root, dict):
        return loaded, {}
    if metadata is not None:
        again.root["metadata"] = metadata.value
        again.lines["metadata"] = metadata.line
    return again, rescued


class _CutMetadata(NamedTuple):
    value: Value
    line: int


def _cut_metadata(block: str) -> tuple[str, _CutMetadata | None]:
    """Take a `metadata: {...}` that YAML may refuse out of `block`, keeping its line numbers."""
    match = _METADATA_LINE.search(block)
    # With two of them nobody can say which one was meant.
    if match is None or len(_ANY_METADATA.findall(block)) > 1:
        return block, None
    end = closing_brace(block, match.end())
    value = None if end is None else read_object(block[match.end() : end])
    if end is None or value is None:
        return block, None
    line = block.count("\n", 0, match.start()) + 1
    gap = "\n" * block.count("\n", match.start(), end)
    return block[: match.start()] + gap + block[end:], _CutMetadata(value, line)


def _quote_glob(match: re.Match[str]) -> str:
    return match[1] + json.dumps(match[2].strip())


def quote_prose(block: str) -> tuple[list[str | None], dict[str, int]]:
    """Quote the prose values of `block` that YAML misreads because of a colon.

    Returns:
        The lines, None for one that was joined to the line above, and each quoted key's line in
        the file.
    """
    lines: list[str | None] = list(block.split("\n"))
    quoted: dict[str, int] = {}
    seen: set[str] = set()
    for number, line in enumerate(lines):
        match = None if line is None else _PROSE.fullmatch(line)
        if match is None or match[1] in seen:
            continue
        seen.add(match[1])
        parts, stop = [match[2].strip()], number + 1
        while stop < len(lines) and (text := lines[stop] or "")[:1] in {" ", "\t"} and text.strip():
            parts.append(text.strip())
            stop += 1
        if not _is_prose(match[1], parts) or _is_sound(match[1], lines[number:stop]):
            continue
        lines[number] = f"{match[1]}: {json.dumps(' '.join(parts), ensure_ascii=False)}"
        lines[number + 1 : stop] = [None] * (stop - number - 1)
        quoted[match[1]] = number + 2
    return lines, quoted


def _is_prose(key: str, parts: Sequence[str]) -> bool:
    """Return whether a value is text that a colon may stand in, over the lines it takes."""
    if key == _HINT:
        # Anchors, aliases and tags are refused, never read as text.
        return parts[0][0] not in "&*!"
    if len(parts) > 1 and (key in _ONE_LINE or any(map(_SLIPPED_KEY.match, parts[1:]))):
        return False
    return _COLON.fullmatch("\n".join(parts)) is not None


def _run_on_name(block: str) -> tuple[YamlProblem, ...]:
    """Return the problem of a name that runs on over the next line: to YAML it is one text."""
    match = _RUN_ON_NAME.search(block)
    if match is None:
        return ()
    line, column = block.count("\n", 0, match.end()) + 1, len(match["gap"]) + 1
    message = "an indented line stands below the name, where a key was meant"
    return (YamlProblem("BAD_INDENT", message, line, column),)


def _is_sound(key: str, lines: Sequence[str | None]) -> bool:
    """Return whether these lines, by themselves, are YAML for one key."""
    loaded = load_yaml("\n".join(line or "" for line in lines))
    return not loaded.problems and isinstance(loaded.root, dict) and list(loaded.root) == [key]


def _line_by_line(block: str, body: str, body_line: int, found: list[Diagnostic]) -> Frontmatter:
    """The lenient reading: each simple `key: value` line counts, everything else is passed over."""
    fields: dict[str, Value] = {}
    lines: dict[str, int] = {}
    for number, line in enumerate(block.split("\n"), start=2):
        match = _SIMPLE_LINE.fullmatch(line)
        if match is None:
            continue
        gate = match[1].replace("-", "").replace("_", "").lower() in _GATE_KEYS
        text = (match[2] or "").strip()
        # A gate over several lines, or written twice, cannot be read here: it must stay shut.
        if gate and (not text or match[1] in fields):
            text = _UNREADABLE
        if text:
            fields[match[1]] = text.strip("\"'")
            lines[match[1]] = number
    if _GATE_WORD.search(block) and not any(key.lower() == "metadata" for key in fields):
        # Metadata in a shape that no simple line has: what it asks for is unknown.
        fields["metadata"] = _UNREADABLE
    softened = [
        diagnose("LINES_READ", f"{d.code}: {d.message}", line=d.line)
        for d in found
        if d.severity is Severity.ERROR
    ]
    return Frontmatter(
        body=body,
        body_line=body_line,
        present=True,
        fields=fields,
        lines=lines,
        texts={key: str(value) for key, value in fields.items()},
        diagnostics=tuple(softened),
    )


def _diagnostic(problem: YamlProblem) -> Diagnostic:
    # The block begins on the file's second line.
    message = f"{problem.message} (column {problem.column})"
    return diagnose(problem.code, message, line=problem.line + 1)


def _rescue_note(key: str, line: int) -> Diagnostic:
    return diagnose(
        "COLON_RESCUED", f"{key!r} was read as text although it is not quoted", line=line
    )


_TRUE = frozenset(("true", "1", "yes", "on", "y", "t"))
_FALSE = frozenset(("false", "0", "no", "off", "n", "f"))


class UnreadableError(Exception):
    """A value is present but has a shape that says nothing; never leaves `skills`."""


def squeeze(key: str) -> str:
    """Return `key` without the differences between kebab, snake and camel case."""
    return key.replace("-", "").replace("_", "").lower()


class FieldReader:
    """Reads the top-level fields of one frontmatter."""

    def __init__(self, front: Frontmatter) -> None:
        self.front = front
        self._keys = {squeeze(key): key for key in reversed(front.fields)}
        # One key in two spellings: which of the two was meant is anybody's guess.
        spellings = Counter(squeeze(key) for key in front.fields)
        self.ambiguous = {key for key, count in spellings.items() if count > 1}

    def key(self, *names: str) -> str | None:
        """Return the spelling, as written, of the first of `names` that is present."""
        for name in names:
            found = self._keys.get(squeeze(name))
            if found is not None:
                return found
        return None

    def value(self, *names: str) -> Value:
        """Return the value of the first of `names` that is present, else None."""
        key = self.key(*names)
        return None if key is None else self.front.fields[key]

    def text(self, *names: str) -> str:
        """Return a value as trimmed text; empty where absent or null."""
        key = self.key(*names)
        if key is None or self.front.fields[key] is None:
            return ""
        raw, value = self.front.texts.get(key, "").strip(), self.front.fields[key]
        # `[file] [line]` is text to people; a list over several lines is not.
        is_block = isinstance(value, (dict, list)) and raw[:1] not in {"[", "{"}
        return as_text(value) if is_block or not raw else raw

    def flag(self, name: str, *, default: bool, ambiguous: bool) -> bool:
        """Return a yes or no in any of its spellings; anything else is the default.

        Args:
            name: the key.
            default: what an absent or nonsensical value means.
            ambiguous: what the key means where it stands there in two spellings.
        """
        if squeeze(name) in self.ambiguous:
            return ambiguous
        return as_flag(self.value(name), default=default)

    def words(self, *names: str) -> tuple[str, ...]:
        """Return a list, or a comma-separated string as a list; other shapes are empty."""
        try:
            return read_strings(self.value(*names))
        except UnreadableError:
            return ()

    def line(self, *names: str) -> int | None:
        """Return the line on which the value stands."""
        key = self.key(*names)
        return None if key is None else self.front.lines.get(key)


def as_text(value: Value) -> str:
    """Return a scalar as text and a list or map as compact JSON."""
    if isinstance(value, str):
        return value.strip()
    if value is None:
        return ""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def as_flag(value: Value, *, default: bool) -> bool:
    """Return a yes or no in any of its spellings; anything else is the default."""
    word = as_text(value).lower()
    if word in _TRUE:
        return True
    return False if word in _FALSE else default


def read_strings(value: Value, *, split: str = ",") -> tuple[str, ...]:
    """Return a list of strings, in order and without blanks or repetitions.

    Raises:
        UnreadableError: the value is neither a list of scalars nor a string.
    """
    if value is None:
        return ()
    if isinstance(value, str):
        items: list[str] = re.split(f"[{split}]", value)
    elif isinstance(value, (list, tuple)):
        items = [_scalar(item) for item in value]
    else:
        raise UnreadableError
    words = tuple(dict.fromkeys(word for item in items if (word := one_line(item))))
    if items and not words:
        # Blanks where names were meant: an empty list would ask for nothing at all.
        raise UnreadableError
    return words


def _scalar(value: Value) -> str:
    if value is None or isinstance(value, (dict, list)):
        raise UnreadableError
    return as_text(value)


def read_keys(value: Fields) -> Fields:
    """Return a map with its keys squeezed, for look-ups that forgive spelling.

    Raises:
        UnreadableError: two of its keys are one key in two spellings.
    """
    found = {squeeze(key): item for key, item in value.items()}
    if len(found) != len(value):
        raise UnreadableError
    return found


def read_mapping(value: Value) -> Fields:
    """Return a map, also one that is written as a JSON string; absent is empty.

    Raises:
        UnreadableError: the value is something else.
    """
    if value is None:
        return {}
    found = read_object(value) if isinstance(value, str) else value
    if not isinstance(found, dict):
        raise UnreadableError
    return found
