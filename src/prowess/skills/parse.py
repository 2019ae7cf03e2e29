"""One document to one skill and every problem with it.

`strict` takes only what the standard allows. `mixed` reads `SKILL.md` by the standard and
stand-alone texts leniently. `legacy` reads everything leniently. A document that yields no skill
always yields a diagnostic: nothing disappears without a word.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from prowess.settings import SpecMode
from prowess.skills import frontmatter, standard, yaml_text
from prowess.skills.diagnostics import diagnose
from prowess.skills.field_reader import FieldReader, UnreadableError, as_flag, mapping
from prowess.skills.frontmatter import Frontmatter
from prowess.skills.metadata import Resolved, resolve
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
)
from prowess.skills.text import plain_name

_DERIVED_DESCRIPTION_CHARS = 180
# Far beyond any real name; a longer one would push every other skill out of the prompt.
_MAX_NAME = 128
_CLAUDE_KEYS = (
    "when_to_use", "arguments", "disallowed-tools", "effort", "context", "agent", "hooks", "shell",
    "display-name", "default-enabled", "argument-hint", "model",
)  # fmt: skip


def parse(document: Document, mode: SpecMode) -> Parsed:
    """Parse `document`; the diagnostics carry its path."""
    text = frontmatter.decode(document.content)
    if text.diagnostic is not None:
        return _rejected(document, [text.diagnostic])
    front = frontmatter.read(text.text, mode)
    found = list(front.diagnostics)
    if not front.readable:
        return _rejected(document, found)
    if mode is SpecMode.STRICT:
        found += standard.check(front, document.path, is_skill_file=document.is_skill_file)
        if any(problem.severity is Severity.ERROR for problem in found):
            return _rejected(document, found)
    reader = FieldReader(front)
    lenient = _is_lenient(document, mode)
    identity = _identity(document, front, reader, lenient=lenient)
    if isinstance(identity, Diagnostic):
        return _rejected(document, [*found, identity])
    parsed = _accepted(document, reader, identity, found)
    if mode is SpecMode.STRICT and any(d.severity is Severity.ERROR for d in parsed.diagnostics):
        return Parsed(skill=None, diagnostics=parsed.diagnostics)
    return parsed


class _Identity(NamedTuple):
    id: str
    name: str
    description: str


def _rejected(document: Document, found: list[Diagnostic]) -> Parsed:
    return Parsed(skill=None, diagnostics=_placed(document, found))


def _placed(document: Document, found: list[Diagnostic]) -> tuple[Diagnostic, ...]:
    return tuple(replace(problem, path=document.path) for problem in found)


def _accepted(
    document: Document, reader: FieldReader, identity: _Identity, found: list[Diagnostic]
) -> Parsed:
    resolved = resolve(reader)
    invocation, more = _invocation(document, reader)
    diagnostics = _placed(document, [*found, *resolved.diagnostics, *more])
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
        content_hash=hashlib.sha256(document.content).hexdigest(),
        diagnostics=diagnostics,
    )
    return Parsed(skill=skill, diagnostics=diagnostics)


def _is_lenient(document: Document, mode: SpecMode) -> bool:
    if mode is SpecMode.STRICT:
        return False
    return mode is SpecMode.LEGACY or not document.is_skill_file


def _identity(
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
    # A command or rule is called by its file's name, whatever heading it begins with.
    heading = _first_heading(front.body) if document.source.kind is RootKind.SKILLS else ""
    return _Identity(
        skill_id,
        name or plain_name(heading)[:_MAX_NAME] or skill_id,
        description or _first_line(front.body) or "(no description)",
    )


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


def _first_heading(body: str) -> str:
    for line in _prose(body):
        if line.startswith("# ") and line[2:].strip():
            return line[2:].strip()
    return ""


def _first_line(body: str) -> str:
    for line in _prose(body):
        text = line.strip()
        if text and not text.startswith("#"):
            return text[:_DERIVED_DESCRIPTION_CHARS].rstrip()
    return ""


def _invocation(document: Document, reader: FieldReader) -> tuple[Invocation, list[Diagnostic]]:
    by_model, found = implicit_by_sidecar(document)
    dispatched = reader.text("command-dispatch").lower() == "tool"
    tool = reader.text("command-tool") if dispatched else ""
    # Claude Code keeps a command from its model unless the author described it.
    described = document.source.kind is not RootKind.COMMANDS or bool(reader.text("description"))
    found += _unclear_flags(reader)
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


def _unclear_flags(reader: FieldReader) -> list[Diagnostic]:
    """Report a switch that is neither on nor off: what it means is a guess."""
    return [
        diagnose("FLAG_UNCLEAR", f"{key} is not one yes or no", line=reader.line(key))
        for key in ("user-invocable", "disable-model-invocation")
        if reader.flag(key, default=True, ambiguous=True)
        != reader.flag(key, default=reader.value(key) is None, ambiguous=False)
    ]


def implicit_by_sidecar(document: Document) -> tuple[bool, list[Diagnostic]]:
    """Read Codex's `agents/openai.yaml`: may the model choose this skill by itself?"""
    if document.sidecar is None:
        return True, []
    text = frontmatter.decode(document.sidecar)
    loaded = yaml_text.load(text.text)
    broken = text.diagnostic is not None or loaded.problems
    try:
        policy = mapping(mapping([] if broken else loaded.root).get("policy"))
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
    return Dialect.CLAUDE if reader.key(*_CLAUDE_KEYS) else Dialect.STANDARD


def _tags(reader: FieldReader, resolved: Resolved) -> tuple[str, ...]:
    hermes = resolved.raw.get("hermes")
    nested = hermes.get("tags") if isinstance(hermes, dict) else None
    if isinstance(nested, list):
        return tuple(str(tag) for tag in nested)
    return reader.words("tags")
