"""One document to one skill, and the rules of the Agent Skills standard for one file.

`strict` takes only what the standard allows, by the same rules as `prowess validate --strict`.
`mixed` reads `SKILL.md` by the standard and stand-alone texts leniently, `legacy` reads everything
leniently. A document that yields no skill always yields a diagnostic: nothing disappears silently.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from prowess.settings import SpecMode
from prowess.skills import frontmatter
from prowess.skills.eligibility import Resolved, resolve
from prowess.skills.frontmatter import (
    FieldReader,
    Frontmatter,
    UnreadableError,
    as_flag,
    as_text,
    read_mapping,
    squeeze,
)
from prowess.skills.model import (
    DRAFTS,
    Diagnostic,
    Dialect,
    Document,
    Invocation,
    Parsed,
    RootKind,
    Severity,
    Skill,
    Tier,
    Value,
    diagnose,
)
from prowess.skills.text import load as load_yaml
from prowess.skills.text import one_line, plain_name

KEYS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
MAX_NAME = 64
MAX_DESCRIPTION = 1024
MAX_COMPATIBILITY = 500
_DIR = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")


def make_slug(text: str) -> str:
    """Return `text` as a name: lower case, other characters as single inner hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", text.strip().lower()).strip("-")


def is_name(text: str) -> bool:
    """Return whether `text` is a name of the standard, in any script."""
    # Before normalising, which takes its time on thousands of accents.
    if len(text) > 4 * MAX_NAME:
        return False
    name = unicodedata.normalize("NFKC", text)
    if not 1 <= len(name) <= MAX_NAME or name != name.lower():
        return False
    if name.startswith("-") or name.endswith("-") or "--" in name:
        return False
    return all(char.isalnum() or char == "-" for char in name)


def check(front: Frontmatter, path: str, *, is_skill_file: bool) -> list[Diagnostic]:
    """Return every way in which the file breaks the standard."""
    parts = path.replace("\\", "/").rsplit("/", 2)
    file_name, folder = parts[-1], parts[-2] if len(parts) > 1 else ""
    found: list[Diagnostic] = []
    if not is_skill_file:
        found.append(diagnose("SKILL_FILENAME_INVALID", f"{file_name} is not SKILL.md"))
    elif not _is_folder_name(folder):
        found.append(diagnose("SKILL_DIR_INVALID", f"the folder {folder!r} breaks the naming rule"))
    if not front.present:
        return [*found, diagnose("FRONTMATTER_MISSING", "there is no frontmatter", line=1)]
    reader = FieldReader(front)
    found += _identity(reader, folder if is_skill_file else None)
    return found + _fields(reader)


def _is_folder_name(folder: str) -> bool:
    return bool(_DIR.fullmatch(folder)) or (not folder.isascii() and is_name(folder))


def _identity(reader: FieldReader, folder: str | None) -> list[Diagnostic]:
    found = find_missing(reader)
    name, line = reader.text("name"), reader.line("name")
    if name and not is_name(name):
        found.append(
            diagnose("NAME_INVALID", f"the name {name!r} breaks the naming rule", line=line)
        )
    if 0 < len(name) <= 4 * MAX_NAME and folder is not None and not _is_same(name, folder):
        message = f"the name {name!r} is not the folder {folder!r}"
        found.append(diagnose("NAME_PATH_MISMATCH", message, line=line))
    description = reader.text("description")
    if len(description) > MAX_DESCRIPTION:
        message = f"{len(description)} characters, at most {MAX_DESCRIPTION}"
        found.append(diagnose("DESCRIPTION_TOO_LONG", message, line=reader.line("description")))
    return found


def find_missing(reader: FieldReader) -> list[Diagnostic]:
    """Return what is missing of the two required keys."""
    found = []
    if not reader.text("name"):
        found.append(diagnose("NAME_MISSING", "a name is required", line=reader.line("name") or 1))
    if not reader.text("description"):
        line = reader.line("description") or 1
        found.append(diagnose("DESCRIPTION_MISSING", "a description is required", line=line))
    return found


def _is_same(name: str, folder: str) -> bool:
    if not name.isascii():
        return unicodedata.normalize("NFKC", name) == unicodedata.normalize("NFKC", folder)
    # Through the slug, so that a name that is wrong only in case is reported once, as invalid.
    return make_slug(name) == folder


def _fields(reader: FieldReader) -> list[Diagnostic]:
    found: list[Diagnostic] = []
    lines = reader.front.lines
    for key, value in reader.front.fields.items():
        message = _field_problem(key, value)
        if message is not None:
            code = _FIELD_CODES.get(key, "UNKNOWN_KEY")
            found.append(diagnose(code, message, line=lines.get(key)))
    return found


_FIELD_CODES = {
    "compatibility": "COMPATIBILITY_INVALID",
    "metadata": "METADATA_NOT_FLAT",
    "allowed-tools": "ALLOWED_TOOLS_INVALID",
}


def _field_problem(key: str, value: Value) -> str | None:
    if key not in KEYS:
        return f"the key {key!r} is not one of {', '.join(KEYS)}"
    if key == "compatibility" and not (
        isinstance(value, str) and 1 <= len(value.strip()) <= MAX_COMPATIBILITY
    ):
        return f"compatibility is not text of 1 to {MAX_COMPATIBILITY} characters"
    if key == "metadata" and not _is_flat(value):
        return "metadata holds something else than strings"
    if key == "allowed-tools" and not isinstance(value, str):
        return "allowed-tools is not one string"
    return None


def _is_flat(value: Value) -> bool:
    if not isinstance(value, dict):
        return False
    # The reference reader turns scalars into strings, so a number is portable; a list is not.
    return all(not isinstance(item, (dict, list)) for item in value.values())


NO_DESCRIPTION = "(no description)"
_DERIVED_DESCRIPTION_CHARS = 180
# Far beyond any real name; a longer one would push every other skill out of the prompt.
_MAX_NAME = 128
CLAUDE_KEYS = (
    "when_to_use", "arguments", "disallowed-tools", "effort", "context", "agent", "hooks", "shell",
    "display-name", "default-enabled", "argument-hint", "model",
)  # fmt: skip


def parse(document: Document, mode: SpecMode) -> Parsed:
    """Parse `document`; the diagnostics carry its path."""
    text = frontmatter.decode(document.content)
    if text.diagnostic is not None:
        return _reject(document, [text.diagnostic])
    lenient = is_lenient(mode, is_skill_file=document.is_skill_file)
    front = frontmatter.read(text.text, lenient=lenient)
    found = list(front.diagnostics)
    if not front.readable:
        return _reject(document, found)
    if mode is SpecMode.STRICT:
        found += check(front, document.path, is_skill_file=document.is_skill_file)
        if any(problem.severity is Severity.ERROR for problem in found):
            return _reject(document, found)
    reader = FieldReader(front)
    identity = _find_identity(document, front, reader, lenient=lenient)
    if isinstance(identity, Diagnostic):
        return _reject(document, [*found, identity])
    parsed = _accept(document, reader, identity, found)
    if mode is SpecMode.STRICT and any(d.severity is Severity.ERROR for d in parsed.diagnostics):
        return Parsed(skill=None, diagnostics=parsed.diagnostics)
    return parsed


class _Identity(NamedTuple):
    id: str
    name: str
    description: str


def _reject(document: Document, found: list[Diagnostic]) -> Parsed:
    return Parsed(skill=None, diagnostics=_place(document, found))


def _place(document: Document, found: list[Diagnostic]) -> tuple[Diagnostic, ...]:
    return tuple(replace(problem, path=document.path) for problem in found)


def _accept(
    document: Document, reader: FieldReader, identity: _Identity, found: list[Diagnostic]
) -> Parsed:
    resolved = resolve(reader)
    invocation, more = _invocation(document, reader)
    diagnostics = _place(document, [*found, *resolved.diagnostics, *more])
    skill = Skill(
        name=identity.name,
        description=identity.description,
        id=identity.id,
        source=document.source,
        path=document.path,
        folder=document.folder,
        dialect=_dialect(document, reader, resolved),
        fields=reader.front.fields,
        metadata=resolved.metadata,
        invocation=invocation,
        when_to_use=reader.text("when_to_use"),
        globs=reader.words("paths", "globs"),
        tags=_tags(reader, resolved),
        body=reader.front.body,
        body_line=reader.front.body_line,
        resources=document.resources,
        version=_read_labelled(reader, resolved, "version"),
        title=_read_labelled(reader, resolved, "display-name", "title") or _sidecar_title(document),
        content_hash=hashlib.sha256(document.content).hexdigest(),
        diagnostics=diagnostics,
        real=document.real,
    )
    return Parsed(skill=skill, diagnostics=diagnostics)


def _read_labelled(reader: FieldReader, resolved: Resolved, *names: str) -> str:
    """Return a text that authors write at the top or, as the standard has it, below `metadata`."""
    inner = {squeeze(key): value for key, value in resolved.raw.items()}
    below = (as_text(inner.get(squeeze(name))) for name in names)
    return one_line(reader.text(*names) or next(filter(None, below), ""))


def _sidecar_title(document: Document) -> str:
    """Return what Codex shows as the skill's name."""
    root = load_yaml(frontmatter.decode(document.sidecar or b"").text).root
    shown = root.get("interface") if isinstance(root, dict) else None
    title = shown.get("display_name") if isinstance(shown, dict) else None
    return one_line(title) if isinstance(title, str) else ""


def is_lenient(mode: SpecMode, *, is_skill_file: bool) -> bool:
    """Return whether a file may be read line by line, and its name and description derived."""
    return mode is SpecMode.LEGACY or (mode is SpecMode.MIXED and not is_skill_file)


def _find_identity(
    document: Document, front: Frontmatter, reader: FieldReader, *, lenient: bool
) -> _Identity | Diagnostic:
    name, description = plain_name(reader.text("name")), reader.text("description")
    skill_id = plain_name(_id(document))
    if not name and not skill_id:
        return diagnose("NAME_MISSING", "neither the file nor its folder has a name", line=1)
    if len(name) > _MAX_NAME:
        message = f"the name has {len(name)} characters, at most {_MAX_NAME} are read"
        return diagnose("NAME_INVALID", message, line=reader.line("name"))
    if not lenient:
        if not front.present:
            return diagnose("FRONTMATTER_MISSING", "there is no frontmatter", line=1)
        if not description:
            return diagnose("DESCRIPTION_MISSING", "a description is required", line=1)
        return _Identity(skill_id, name or skill_id, description)
    heading, line = _find_heading(front.body), _find_line(front.body)
    # A command or rule is called by its file's name; its heading says what it does.
    if document.source.kind is not RootKind.SKILLS:
        heading, line = "", _find_line(front.body, headings=True)
    name = name or plain_name(heading)[:_MAX_NAME] or skill_id
    return _Identity(skill_id, name, description or line or NO_DESCRIPTION)


def _id(document: Document) -> str:
    if document.is_skill_file:
        return document.folder.rstrip("/\\").replace("\\", "/").rsplit("/", 1)[-1]
    return document.path.replace("\\", "/").rsplit("/", 1)[-1].rsplit(".", 1)[0]


def _prose(body: str) -> Iterator[str]:
    """Yield the lines that are not code."""
    in_code = False
    for line in body.splitlines():
        if line.lstrip().startswith(("```", "~~~")):
            in_code = not in_code
        elif not in_code:
            yield line


def _find_heading(body: str) -> str:
    for line in _prose(body):
        if line.startswith("# ") and line[2:].strip():
            return line[2:].strip()
    return ""


def _find_line(body: str, *, headings: bool = False) -> str:
    for line in _prose(body):
        text = line.strip()
        if text.startswith("#"):
            text = text.lstrip("#").strip() if headings else ""
        if text:
            return text[:_DERIVED_DESCRIPTION_CHARS].rstrip()
    return ""


def _invocation(document: Document, reader: FieldReader) -> tuple[Invocation, list[Diagnostic]]:
    by_model, found = read_sidecar(document)
    dispatched = reader.text("command-dispatch").lower() == "tool"
    tool = reader.text("command-tool") if dispatched else ""
    # Claude Code keeps a command from its model unless the author described it.
    described = document.source.kind is not RootKind.COMMANDS or bool(reader.text("description"))
    found += _report_flags(reader)
    hidden_by = ""
    if not described:
        hidden_by = "a command without a description"
    if not by_model:
        hidden_by = "agents/openai.yaml"
    if reader.flag("disable-model-invocation", default=False, ambiguous=True):
        hidden_by = "disable-model-invocation"
    is_draft = _is_draft(document)
    if is_draft:
        hidden_by = DRAFTS
    return (
        Invocation(
            user=reader.flag("user-invocable", default=True, ambiguous=True) and not is_draft,
            model=not hidden_by,
            hidden_by=hidden_by,
            tool=tool,
            argument_hint=reader.text("argument-hint"),
        ),
        found,
    )


def _is_draft(document: Document) -> bool:
    """Return whether a document lies where drafts do: below `auto` of a workspace's own skills.

    It counts where it lies and not what it says: a draft is written from what strangers' pages and
    programs printed, so its text must not be able to lift the bar.
    """
    if document.source.tier is not Tier.WORKSPACE:
        return False
    root = document.source.root.replace("\\", "/").rstrip("/")
    parts = document.path.replace("\\", "/").removeprefix(f"{root}/").split("/")
    return parts[0] == "auto" and len(parts) > 1 and parts[1:] != ["SKILL.md"]


def _report_flags(reader: FieldReader) -> list[Diagnostic]:
    """Report a switch that is neither on nor off: what it means is a guess."""
    return [
        diagnose("FLAG_UNCLEAR", f"{key} is not one yes or no", line=reader.line(key))
        for key in ("user-invocable", "disable-model-invocation")
        if reader.flag(key, default=True, ambiguous=True)
        != reader.flag(key, default=reader.value(key) is None, ambiguous=False)
    ]


def read_sidecar(document: Document) -> tuple[bool, list[Diagnostic]]:
    """Read Codex's `agents/openai.yaml`: may the model choose this skill by itself?"""
    if document.sidecar is None:
        return True, []
    text = frontmatter.decode(document.sidecar)
    loaded = load_yaml(text.text)
    broken = text.diagnostic is not None or loaded.problems
    try:
        policy = read_mapping(read_mapping([] if broken else loaded.root).get("policy"))
    except UnreadableError:
        return False, [diagnose("SIDECAR_UNREADABLE", "agents/openai.yaml cannot be read")]
    return as_flag(policy.get("allow_implicit_invocation"), default=True), []


def _dialect(document: Document, reader: FieldReader, resolved: Resolved) -> Dialect:
    if document.source.kind is RootKind.COMMANDS:
        return Dialect.CLAUDE_COMMAND
    if document.source.kind is RootKind.RULES:
        return Dialect.CURSOR_RULE
    if not document.is_skill_file or not reader.front.present:
        return Dialect.LEGACY
    if resolved.namespace:
        return Dialect.OPENCLAW
    return _dialect_by_keys(document, reader, resolved)


def _dialect_by_keys(document: Document, reader: FieldReader, resolved: Resolved) -> Dialect:
    if "hermes" in resolved.raw or reader.key("platforms", "required_environment_variables"):
        return Dialect.HERMES
    if document.sidecar is not None:
        return Dialect.CODEX
    return Dialect.CLAUDE if reader.key(*CLAUDE_KEYS) else Dialect.STANDARD


def _tags(reader: FieldReader, resolved: Resolved) -> tuple[str, ...]:
    hermes = resolved.raw.get("hermes")
    nested = hermes.get("tags") if isinstance(hermes, dict) else None
    if isinstance(nested, list):
        return tuple(str(tag) for tag in nested)
    return reader.words("tags")


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """The text below one heading; lines are those of the file, 1-based, the last one included."""

    title: str
    level: int
    line: int
    last_line: int
    text: str


def split_sections(skill: Skill) -> tuple[Section, ...]:
    """Return the sections of `skill`, in order; text above the first heading has level 0."""
    # The newline that ends the file does not begin another line.
    lines = skill.body.removesuffix("\n").split("\n")
    heads = _headings(skill.body)
    if not heads or heads[0].start > 0:
        heads.insert(0, _Heading(0, 0, 0, ""))
    ends = [heading.start for heading in heads[1:]] + [len(lines)]
    return tuple(
        Section(
            title=heading.title,
            level=heading.level,
            line=skill.body_line + heading.start,
            last_line=skill.body_line + max(end - 1, heading.start),
            text="\n".join(lines[heading.text_start : end]).strip("\n"),
        )
        for heading, end in zip(heads, ends, strict=True)
        if heading.level or "".join(lines[heading.start : end]).strip()
    )


class _Heading(NamedTuple):
    """A heading: its line, the line its text begins on, its level and title."""

    start: int
    text_start: int
    level: int
    title: str


def _headings(body: str) -> list[_Heading]:
    """Return every top-level heading; one inside a code block is text."""
    # Late: most skills are read without their sections being asked for.
    from markdown_it import MarkdownIt

    # Blocks only: what stands inside a line is not needed and can be slow on hostile text.
    parser = MarkdownIt("commonmark")
    parser.core.ruler.disable("inline")
    tokens = parser.parse(body)
    found = []
    for index, token in enumerate(tokens):
        if token.type == "heading_open" and token.level == 0 and token.map:
            title = tokens[index + 1].content
            found.append(_Heading(token.map[0], token.map[1], int(token.tag[1:]), title))
    return found
