"""Everything that can be said about one skill file before it is shared, and repairs of it.

Errors are what keeps a file from loading here or anywhere else. `strict` adds the whole standard as
errors; otherwise its rules are warnings, and what some harness treats differently is a note. A
repair needs no judgement, changes the lines it must, and leaves every other byte as it is.
"""

import json
import posixpath
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from urllib.parse import unquote

from prowess.settings import SpecMode
from prowess.skills import frontmatter
from prowess.skills import parse as standard
from prowess.skills.eligibility import resolve
from prowess.skills.frontmatter import FieldReader, Frontmatter, quote_prose, squeeze
from prowess.skills.model import Diagnostic, Document, RootKind, Severity, diagnose
from prowess.skills.parse import read_sidecar
from prowess.skills.text import find_name_problem
from prowess.skills.text import quote as quote_yaml

_NAME_LINE = re.compile(r"(?<=[\r\n])[Nn]ame[ \t]*:[^\n\r]*")
_BLOCK = re.compile(r"\A\ufeff?---[ \t]*(\r\n|\n|\r)")
_CLOSING = re.compile(r"(?<=[\r\n])---[ \t]*(?=[\r\n]|\Z)")
_PLAIN_NAME = re.compile(r"[a-z][a-z0-9-]*")
_MARK = "\ufeff"
# Words that YAML would read as something else than text.
_NOT_TEXT = frozenset(("true", "false", "null", "yes", "no", "on", "off"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """What to change: the file's whole new text, its folder's new name, its own new place."""

    before: str
    after: str
    folder: str | None = None
    # The folder beside it that a stand-alone text moves to, as its SKILL.md.
    own_folder: str = ""
    # Why it has to stay where it is, although it should move.
    obstacle: str = ""
    # The skill's new name, where that changes.
    name: str = ""
    notes: tuple[str, ...] = ()

    @property
    def needed(self) -> bool:
        """True where there is anything to do."""
        moves = self.folder is not None or bool(self.own_folder or self.obstacle)
        return self.before != self.after or moves


def plan(document: Document) -> Repair | None:
    """Return the repair of `document`, or None where it is not text or has no frontmatter.

    A repair is offered only if the result, read again, says the same but for what was repaired.
    """
    if frontmatter.decode(document.content).diagnostic is not None:
        return None
    before = document.content.decode("utf-8")
    if not document.is_skill_file and document.source.kind is RootKind.SKILLS:
        moved = _plan_move(document, before)
        if moved is not None:
            return moved
    opening = _BLOCK.match(before)
    if opening is None:
        return None
    old = _read(before)
    after, notes = _quote(before, opening.end(), opening[1])
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


def _plan_move(document: Document, before: str) -> Repair | None:
    """Return how a stand-alone text becomes a folder with a SKILL.md, where it is sound enough."""
    skill = standard.parse(document, SpecMode.MIXED).skill
    if skill is None or skill.is_draft or skill.description == standard.NO_DESCRIPTION:
        return None
    name = skill.name if standard.is_name(skill.name) else _slug(skill.id)
    name = name[: standard.MAX_NAME].strip("-")
    opening = _BLOCK.match(before)
    newline = "\r\n" if "\r\n" in before else "\n"
    after, notes = _quote(before, opening.end(), opening[1]) if opening else (before, ())
    head = f"description: {quote_yaml(skill.description)}{newline}"
    if opening is None:
        after = f"---{newline}name: x{newline}{head}---{newline}{before.removeprefix(_MARK)}"
    elif not FieldReader(_read(after)).text("description"):
        after = after[: opening.end()] + head + after[opening.end() :]
    start = opening.end() if opening else len("---") + len(newline)
    new = _read(_with_name(after, name, start, newline))
    says = FieldReader(new)
    if not name or not new.readable or new.rescued or new.body != skill.body:
        return None
    if (says.text("name"), says.text("description")) != (name, skill.description):
        return None
    beside = [one for one in _LINK.findall(skill.body) if _is_relative(one)]
    if beside:
        return Repair(before=before, after=before, obstacle=f"links to {beside[0]} beside it")
    return Repair(
        before=before,
        after=_with_name(after, name, start, newline),
        own_folder=name,
        name=name if name != skill.name else "",
        notes=(*notes, f"moved to: {name}/SKILL.md"),
    )


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


def _quote(text: str, start: int, newline: str) -> tuple[str, tuple[str, ...]]:
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
# Of this machine alone: a place in its file system or in somebody's home. `//` begins a host.
_ABSOLUTE = re.compile(r"/(?!/)|~|file:|[A-Za-z]:/|\$\{?(?:HOME|USERPROFILE)\b", re.IGNORECASE)
_OWN_FOLDER = re.compile(r"^(?:\{baseDir\}|\$\{?CLAUDE_SKILL_DIR\}?)/")
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


def validate(
    document: Document,
    *,
    strict: bool,
    files: Iterable[str] = (),
    pages: Mapping[str, str] = MappingProxyType({}),
) -> Report:
    """Validate one document.

    Args:
        document: the file.
        strict: whether the standard counts as a whole.
        files: the files of its skill, relative to its folder.
        pages: those of them that are pages, and what they say.
    """
    text = frontmatter.decode(document.content)
    if text.diagnostic is not None:
        return _report(document, [text.diagnostic])
    # As the loader reads it: a stand-alone text line by line where its block is not sound.
    front = frontmatter.read(text.text, lenient=not strict and not document.is_skill_file)
    found = list(front.diagnostics)
    if front.readable:
        reader = FieldReader(front)
        found += _check_standard(document, front, strict=strict)
        found += resolve(reader).diagnostics if front.present else ()
        found += read_sidecar(document)[1]
        found += _body(front)
        found += _names_of_files(files)
        if document.is_skill_file:
            known = _list_known(files)
            found += _links(front.body, front.body_line, known)
            found += [one for page, text in pages.items() for one in _page_links(page, text, known)]
        found += _check_when(reader) + _portability(reader)
    return _report(document, found)


def report_links(report: Report, away: Mapping[str, str]) -> Report:
    """Add what is wrong with entries of the folder that are links, by what they lead to."""
    found = [
        diagnose("LINK_ESCAPES", f"{name} is a link to {target}: it leaves the skill's folder")
        if target
        else diagnose("LINK_BROKEN", f"{name} is a link to nothing")
        for name, target in sorted(away.items())
    ][:_MAX_LINKS]
    placed = (replace(problem, path=report.path) for problem in found)
    return replace(report, diagnostics=(*report.diagnostics, *placed))


def _report(document: Document, found: list[Diagnostic]) -> Report:
    order = sorted(found, key=lambda problem: (problem.line or 0, problem.code))
    return Report(
        path=document.path,
        diagnostics=tuple(replace(problem, path=document.path) for problem in order),
    )


def _check_standard(document: Document, front: Frontmatter, *, strict: bool) -> list[Diagnostic]:
    found = standard.check(front, document.path, is_skill_file=document.is_skill_file)
    if strict:
        return found
    required = document.is_skill_file
    return [replace(problem, severity=_soften(problem, required=required)) for problem in found]


def _soften(problem: Diagnostic, *, required: bool) -> Severity:
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


def _check_when(reader: FieldReader) -> list[Diagnostic]:
    description = f"{reader.text('description')} {reader.text('when_to_use')}".strip()
    if not description or _SAYS_WHEN.search(description):
        return []
    line = reader.line("description")
    return [diagnose("WHEN_MISSING", "the description does not say when to use it", line=line)]


def _names_of_files(files: Iterable[str]) -> list[Diagnostic]:
    """Report files that nobody can be told of; the skill itself works without them."""
    problems = {name: find_name_problem(name) for name in files}
    return [
        replace(
            diagnose("name-unusable", f"{name!a} is left out: its name {problem}"),
            severity=Severity.WARNING,
        )
        for name, problem in problems.items()
        if problem
    ]


def _list_known(files: Iterable[str]) -> set[str]:
    """Return the files of a skill and the folders that they lie in."""
    known = {posixpath.normpath(name) for name in files}
    return known | {
        name.rsplit("/", depth)[0] for name in known for depth in range(1, name.count("/") + 1)
    }


def _page_links(page: str, text: str, known: set[str]) -> list[Diagnostic]:
    """Return what is wrong with the links of another page of the skill, which is named."""
    found = _links(text, 1, known, posixpath.dirname(page))
    return [replace(one, message=f"{page}:{one.line}: {one.message}", line=None) for one in found]


def _links(text: str, first: int, known: set[str], folder: str = "") -> list[Diagnostic]:
    found: list[Diagnostic | None] = []
    in_code = False
    for number, line in enumerate(text.split("\n"), start=first):
        if line.lstrip().startswith(("```", "~~~")):
            in_code = not in_code
        elif not in_code and "](" in line:
            found += [_link(match[1], number, known, folder) for match in _LINK.finditer(line)]
        if len(found) >= _MAX_LINKS:
            break
    return [problem for problem in found if problem is not None]


def _link(target: str, line: int, known: set[str], folder: str = "") -> Diagnostic | None:
    path = unquote(target.split("#", 1)[0].split("?", 1)[0]).replace("\\", "/")
    if _ABSOLUTE.match(path):
        message = f"{target} is an absolute path: it leaves the skill's folder"
        return diagnose("LINK_ESCAPES", message, line=line)
    inside, own = _OWN_FOLDER.subn("", path)
    if not path or ":" in path or inside.startswith(("$", "{", "/")):
        return None
    clean = posixpath.normpath(inside if own else posixpath.join(folder, path))
    if clean == ".":
        return None
    if clean.startswith(".."):
        return diagnose("LINK_ESCAPES", f"{target} leaves the skill's folder", line=line)
    if own or clean in known:
        return None
    return diagnose("LINK_BROKEN", f"{target} is not there", line=line)


def _is_relative(target: str) -> bool:
    """Return whether a link is followed from the place of its file."""
    return not _ABSOLUTE.match(unquote(target)) and _link(target, 1, set()) is not None


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
