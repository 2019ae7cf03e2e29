"""Everything that can be said about one skill file before it is shared.

Errors are what keeps a file from loading here or anywhere else. `strict` adds the whole standard as
errors; otherwise its rules are warnings, and what some harness treats differently is a note.
"""

import posixpath
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from urllib.parse import unquote

from prowess.skills import frontmatter, standard
from prowess.skills.diagnostics import diagnose
from prowess.skills.field_reader import FieldReader
from prowess.skills.frontmatter import Frontmatter
from prowess.skills.metadata import resolve
from prowess.skills.model import Diagnostic, Document, Severity
from prowess.skills.parse import implicit_by_sidecar

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
        found += implicit_by_sidecar(document)[1]
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
