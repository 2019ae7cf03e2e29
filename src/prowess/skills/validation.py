"""Everything that can be said about one skill file before it is shared, and repairs of it.

Errors are what keeps a file from loading here or anywhere else. `strict` adds the whole standard as
errors; otherwise its rules are warnings, and what some harness treats differently is a note. A
repair needs no judgement, changes the lines it must, and leaves every other byte as it is.
"""

import json
import posixpath
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from urllib.parse import unquote

from prowess.skills import frontmatter
from prowess.skills import parse as standard
from prowess.skills.diagnostics import diagnose
from prowess.skills.frontmatter import FieldReader, Frontmatter, quote_prose, squeeze
from prowess.skills.metadata import resolve
from prowess.skills.model import Diagnostic, Document, Severity
from prowess.skills.parse import read_sidecar

_NAME_LINE = re.compile(r"(?<=[\r\n])[Nn]ame[ \t]*:[^\n\r]*")
_BLOCK = re.compile(r"\A\ufeff?---[ \t]*(\r\n|\n|\r)")
_CLOSING = re.compile(r"(?<=[\r\n])---[ \t]*(?=[\r\n]|\Z)")
_PLAIN_NAME = re.compile(r"[a-z][a-z0-9-]*")
# Words that YAML would read as something else than text.
_NOT_TEXT = frozenset(("true", "false", "null", "yes", "no", "on", "off"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """What to change: the file's whole new text and the folder's new name, if either changes."""

    before: str
    after: str
    folder: str | None = None
    # The skill's new name, where that changes.
    name: str = ""
    notes: tuple[str, ...] = ()

    @property
    def needed(self) -> bool:
        """True where there is anything to do."""
        return self.before != self.after or self.folder is not None


def plan(document: Document) -> Repair | None:
    """Return the repair of `document`, or None where it is not text or has no frontmatter.

    A repair is offered only if the result, read again, says the same but for what was repaired.
    """
    if frontmatter.decode(document.content).diagnostic is not None:
        return None
    before = document.content.decode("utf-8")
    opening = _BLOCK.match(before)
    if opening is None:
        return None
    old = _read(before)
    after, notes = _quoted(before, opening.end(), opening[1])
    name, folder = _names(document, old) if old.readable and document.is_skill_file else ("", None)
    written = FieldReader(old).text("name")
    if name and name != written:
        after = _with_name(after, name, opening.end(), opening[1])
        notes += (f"name: {written or 'none'} -> {name}",)
    if folder is not None:
        notes += (f"folder: {_folder_name(document)} -> {folder}",)
    if not _says_the_same(old, _read(after), name or written):
        return Repair(before=before, after=before)
    renamed = name if name != written else ""
    return Repair(before=before, after=after, folder=folder, name=renamed, notes=notes)


def _read(text: str) -> Frontmatter:
    return frontmatter.read(text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n"))


def _says_the_same(old: Frontmatter, new: Frontmatter, name: str) -> bool:
    """Return whether only the name, and how values are quoted, changed."""
    wanted = {key: value for key, value in old.fields.items() if squeeze(key) != "name"}
    found = {key: value for key, value in new.fields.items() if squeeze(key) != "name"}
    # A name may have been a number to YAML; as text it must now be exactly the one that was meant.
    return (
        new.readable
        and not new.rescued
        and wanted == found
        and new.body == old.body
        and FieldReader(new).text("name") == name
    )


def _quoted(text: str, start: int, newline: str) -> tuple[str, tuple[str, ...]]:
    """Quote prose that YAML misreads, in the block that begins at `start`."""
    rescued = _read(text).rescued
    end = _CLOSING.search(text, start)
    if not rescued or end is None:
        return text, ()
    lines, _ = quote_prose(text[start : end.start()].replace("\r\n", "\n").replace("\r", "\n"))
    quoted = newline.join(line for line in lines if line is not None)
    return text[:start] + quoted + text[end.start() :], tuple(f"quoted: {key}" for key in rescued)


def _names(document: Document, front: Frontmatter) -> tuple[str, str | None]:
    """Return the right name, and a new one for the folder where that is what is wrong."""
    folder = _folder_name(document)
    if standard.is_name(folder):
        return folder, None
    written = FieldReader(front).text("name")
    name = written if standard.is_name(written) else _slug(written) or _slug(folder)
    name = name[: standard.MAX_NAME].strip("-")
    return name, name if name and name != folder else None


def _slug(text: str) -> str:
    """Return `text` as a name of the standard, which knows letters of every script."""
    words = re.split(
        r"[\W_]+", unicodedata.normalize("NFKC", text[: 4 * standard.MAX_NAME]).lower()
    )
    return "-".join(word for word in words if word)


def _folder_name(document: Document) -> str:
    return document.folder.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]


def _with_name(text: str, name: str, start: int, newline: str) -> str:
    plain = _PLAIN_NAME.fullmatch(name) and name not in _NOT_TEXT
    line = f"name: {name if plain else json.dumps(name, ensure_ascii=False)}"
    closing = _CLOSING.search(text, start)
    found = _NAME_LINE.search(text, start, len(text) if closing is None else closing.start())
    if found is None:
        return text[:start] + line + newline + text[start:]
    return text[: found.start()] + line + text[found.end() :]


_MAX_LINES = 500
_CLAUDE_ENTRY_CHARS = 1_536
_ALWAYS_ERRORS = frozenset(("FRONTMATTER_MISSING", "NAME_MISSING", "DESCRIPTION_MISSING"))
_ONLY_NOTES = frozenset(("UNKNOWN_KEY", "METADATA_NOT_FLAT"))
_SAYS_WHEN = re.compile(
    r"\b(use|used|using|when|whenever|if|asks?|wants?|needs?|for)\b|[\u3040-\u30ff\u4e00-\u9fff]",
    re.IGNORECASE,
)
_LINK = re.compile(r"\]\([ \t]?<?([^()\s<>\[\]]{1,300})>?(?:[ \t]+[\"'][^()\n]{0,200})?\)")
_MAX_LINKS = 500
_RESERVED_WORDS = ("anthropic", "claude")
_CLAUDE_ONLY = (
    "context",
    "agent",
    "hooks",
    "model",
    "effort",
    "shell",
    "arguments",
    "disallowed-tools",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The findings on one file."""

    path: str
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def valid(self) -> bool:
        """True where nothing is an error."""
        return all(problem.severity is not Severity.ERROR for problem in self.diagnostics)


def validate(document: Document, *, strict: bool, files: Iterable[str] = ()) -> Report:
    """Validate one document; `files` are the files of its skill, relative to its folder."""
    text = frontmatter.decode(document.content)
    if text.diagnostic is not None:
        return _report(document, [text.diagnostic])
    front = frontmatter.read(text.text)
    found = list(front.diagnostics)
    if front.readable:
        reader = FieldReader(front)
        found += _standard(document, front, strict=strict)
        found += resolve(reader).diagnostics if front.present else ()
        found += read_sidecar(document)[1]
        found += _body(front)
        found += _links(front, files) if document.is_skill_file else []
        found += _when(reader) + _portability(reader)
    return _report(document, found)


def _report(document: Document, found: list[Diagnostic]) -> Report:
    order = sorted(found, key=lambda problem: (problem.line or 0, problem.code))
    return Report(
        path=document.path,
        diagnostics=tuple(replace(problem, path=document.path) for problem in order),
    )


def _standard(document: Document, front: Frontmatter, *, strict: bool) -> list[Diagnostic]:
    found = standard.check(front, document.path, is_skill_file=document.is_skill_file)
    if strict:
        return found
    required = document.is_skill_file
    return [replace(problem, severity=_softened(problem, required=required)) for problem in found]


def _softened(problem: Diagnostic, *, required: bool) -> Severity:
    # A stand-alone text may derive its name and description; a SKILL.md must say them.
    if problem.code in _ALWAYS_ERRORS and required:
        return Severity.ERROR
    return Severity.INFO if problem.code in _ONLY_NOTES else Severity.WARNING


def _body(front: Frontmatter) -> list[Diagnostic]:
    if not front.body.strip():
        return [diagnose("BODY_EMPTY", "there are no instructions", line=front.body_line)]
    lines = front.body_line - 1 + front.body.rstrip("\n").count("\n") + 1
    if lines > _MAX_LINES:
        return [diagnose("BODY_TOO_LONG", f"{lines} lines, {_MAX_LINES} advised", line=_MAX_LINES)]
    return []


def _when(reader: FieldReader) -> list[Diagnostic]:
    description = f"{reader.text('description')} {reader.text('when_to_use')}".strip()
    if not description or _SAYS_WHEN.search(description):
        return []
    line = reader.line("description")
    return [diagnose("WHEN_MISSING", "the description does not say when to use it", line=line)]


def _links(front: Frontmatter, files: Iterable[str]) -> list[Diagnostic]:
    known = {posixpath.normpath(name) for name in files}
    known |= {
        name.rsplit("/", depth)[0] for name in known for depth in range(1, name.count("/") + 1)
    }
    found: list[Diagnostic | None] = []
    in_code = False
    for number, line in enumerate(front.body.split("\n"), start=front.body_line):
        if line.lstrip().startswith(("```", "~~~")):
            in_code = not in_code
        elif not in_code and "](" in line:
            found += [_link(match[1], number, known) for match in _LINK.finditer(line)]
        if len(found) >= _MAX_LINKS:
            break
    return [problem for problem in found if problem is not None]


def _link(target: str, line: int, known: set[str]) -> Diagnostic | None:
    path = target.split("#", 1)[0].split("?", 1)[0]
    if not path or ":" in path or path.startswith(("/", "$", "{", "~")):
        return None
    clean = posixpath.normpath(unquote(path))
    if clean == ".":
        return None
    if clean.startswith(".."):
        return diagnose("LINK_ESCAPES", f"{target} leaves the skill's folder", line=line)
    return None if clean in known else diagnose("LINK_BROKEN", f"{target} is not there", line=line)


def _portability(reader: FieldReader) -> list[Diagnostic]:
    name, description = reader.text("name"), reader.text("description")
    claude_only = [key for key in _CLAUDE_ONLY if reader.key(key)]
    notes = {
        "name": _name_note(name),
        "description": _description_note(reader, description),
        "allowed-tools": "only Claude Code reads allowed-tools as a list"
        if isinstance(reader.value("allowed-tools"), list)
        else "",
        claude_only[0] if claude_only else "": f"only Claude Code reads {', '.join(claude_only)}"
        if claude_only
        else "",
        "paths": "only Claude Code and Cursor read paths" if reader.key("paths") else "",
    }
    return [
        diagnose("PORTABILITY", note, line=reader.line(key)) for key, note in notes.items() if note
    ]


def _name_note(name: str) -> str:
    if not name.isascii():
        return "Anthropic's upload takes ASCII names only"
    reserved = [word for word in _RESERVED_WORDS if word in name.lower()]
    return f"Anthropic's upload refuses names with {reserved[0]!r}" if reserved else ""


def _description_note(reader: FieldReader, description: str) -> str:
    if "<" in description or ">" in description:
        return "Anthropic's upload refuses angle brackets in the description"
    if len(description) + len(reader.text("when_to_use")) > _CLAUDE_ENTRY_CHARS:
        return f"Claude Code shows {_CLAUDE_ENTRY_CHARS} characters of it at most"
    return ""
