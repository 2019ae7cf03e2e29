"""The text of a skill file to its frontmatter and body.

No input makes this raise: what cannot be read is a diagnostic with a line and a fix. Where authors
often slip (an unquoted colon in prose, JSON5 metadata) the meaning is rescued and said.
"""

import json
import re
from dataclasses import dataclass, field
from typing import NamedTuple

from prowess.settings import SpecMode
from prowess.skills import yaml_text
from prowess.skills.diagnostics import diagnose
from prowess.skills.json_text import closing_brace, read_object
from prowess.skills.model import Diagnostic, Severity, Value

_FENCE = re.compile(r"---[ \t]*")
_PROSE = re.compile(
    r"(description|summary|read_when|when_to_use|when-to-use|compatibility|argument-hint|name|title)"
    r":[ \t]+(\S.*)"
)
_SIMPLE_LINE = re.compile(r"([A-Za-z0-9_.-]+)[ \t]*:[ \t]*(\S.*)")
_METADATA_LINE = re.compile(r"^metadata[ \t]*:\s*(?=\{)", re.MULTILINE)
# `globs: *.py` is what Cursor writes; to YAML it is an alias.
_BARE_GLOB = re.compile(r"^((?:globs|paths)[ \t]*:[ \t]+)(\*[^\n]*)", re.MULTILINE)
# What YAML stumbles over at the start of a plain value. Not `&`, `*` and `!`: those are anchors,
# aliases and tags, which are refused and not read as text.
_TROUBLE_START = "@`%\"'[]{}|>,?"
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


class Text(NamedTuple):
    """A file's text with its line ends normalised, or the reason why it is none."""

    text: str = ""
    diagnostic: Diagnostic | None = None


def decode(content: bytes) -> Text:
    """Decode the bytes of a file: UTF-8, an optional BOM, any line ends."""
    if b"\0" in content:
        line = content.count(b"\n", 0, content.index(b"\0")) + 1
        return Text(diagnostic=diagnose("NUL_BYTE", "the file holds a NUL byte", line=line))
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        return Text(
            diagnostic=diagnose("INVALID_UTF8", f"byte {error.start} is not UTF-8", line=line)
        )
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return Text(text=text)


def read(text: str, mode: SpecMode = SpecMode.MIXED) -> Frontmatter:
    """Split `text` at its fences and read the block between them."""
    first, _, rest = text.partition("\n")
    if not _FENCE.fullmatch(first):
        return Frontmatter(body=text)
    block, body, body_line = _split(rest)
    if block is None:
        return _unterminated(text)
    loaded, rescued = _load(block)
    found = [_diagnostic(problem) for problem in loaded.problems]
    found += [_rescue_note(key, block) for key in rescued]
    root = {} if loaded.root is None and not loaded.problems else loaded.root
    if not isinstance(root, dict) and not loaded.problems:
        found.append(diagnose("INVALID_ROOT", "the frontmatter is not a map", line=2))
    readable = isinstance(root, dict) and not any(d.severity is Severity.ERROR for d in found)
    if not readable and mode is SpecMode.LEGACY:
        return _line_by_line(block, body, body_line, found)
    return Frontmatter(
        body=body,
        body_line=body_line,
        present=True,
        readable=readable,
        fields=root if isinstance(root, dict) else {},
        lines={key: line + 1 for key, line in loaded.lines.items()},
        texts=loaded.texts,
        rescued=rescued,
        diagnostics=tuple(found),
    )


def _split(rest: str) -> tuple[str | None, str, int]:
    """Return block, body and the body's line; the block is None where no fence closes it."""
    start, line = 0, 2
    while start <= len(rest):
        end = rest.find("\n", start)
        stop = len(rest) if end < 0 else end
        if rest.startswith("---", start) and _FENCE.fullmatch(rest, start, stop):
            return rest[:start], rest[stop + 1 :], line + 1
        if end < 0:
            break
        start, line = end + 1, line + 1
    return None, "", line


def _unterminated(text: str) -> Frontmatter:
    problem = diagnose("UNTERMINATED_FRONTMATTER", "no closing line of three dashes", line=1)
    return Frontmatter(body=text, present=True, readable=False, diagnostics=(problem,))


def _load(block: str) -> tuple[yaml_text.Loaded, tuple[str, ...]]:
    """Read `block`; where that fails, cut JSON5 metadata out and quote prose, then read again."""
    loaded = yaml_text.load(_BARE_GLOB.sub(_quote_glob, block))
    if not loaded.problems or loaded.problems[-1].code not in _RESCUABLE:
        return loaded, ()
    lighter, metadata = _cut_metadata(block)
    quoted, rescued = quote_prose(lighter)
    if metadata is None and not rescued:
        return loaded, ()
    again = yaml_text.load(quoted)
    if not isinstance(again.root, dict):
        return loaded, ()
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
    if match is None:
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


def quote_prose(block: str) -> tuple[str, tuple[str, ...]]:
    """Quote the prose values of `block` that YAML would misread; return which keys were quoted.

    Continuation lines are joined and replaced by blank ones, so that line numbers stay true.
    """
    lines = block.split("\n")
    quoted: list[str] = []
    for number, line in enumerate(lines):
        match = _PROSE.fullmatch(line)
        if match is None or not _is_trouble(match[2]):
            continue
        parts, stop = [match[2].strip()], number + 1
        while stop < len(lines) and lines[stop][:1] in {" ", "\t"} and lines[stop].strip():
            parts.append(lines[stop].strip())
            stop += 1
        lines[number] = f"{match[1]}: {json.dumps(' '.join(parts), ensure_ascii=False)}"
        lines[number + 1 : stop] = [""] * (stop - number - 1)
        quoted.append(match[1])
    return "\n".join(lines), tuple(quoted)


def _is_trouble(value: str) -> bool:
    if re.fullmatch(r'"(?:[^"\\]|\\.)*"|\'(?:[^\']|\'\')*\'|[|>][-+0-9]*', value.strip()):
        return False
    return ": " in value or value.endswith(":") or value[0] in _TROUBLE_START


def _line_by_line(block: str, body: str, body_line: int, found: list[Diagnostic]) -> Frontmatter:
    """The lenient reading: each simple `key: value` line counts, everything else is passed over."""
    fields: dict[str, Value] = {}
    lines: dict[str, int] = {}
    for number, line in enumerate(block.split("\n"), start=2):
        match = _SIMPLE_LINE.fullmatch(line)
        if match is not None:
            fields[match[1]] = match[2].strip().strip("\"'")
            lines[match[1]] = number
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


def _diagnostic(problem: yaml_text.Problem) -> Diagnostic:
    # The block begins on the file's second line.
    return diagnose(problem.code, problem.message, line=problem.line + 1)


def _rescue_note(key: str, block: str) -> Diagnostic:
    line = next(
        (n for n, text in enumerate(block.split("\n"), start=2) if text.startswith(f"{key}:")), 2
    )
    return diagnose(
        "COLON_RESCUED", f"{key!r} was read as text although it is not quoted", line=line
    )
