"""What a harness makes of a strict build: what it ignores, and what of the author's wishes is lost.

A strict build has no key of any dialect, so a harness that understands one at the top level does
not see it any more. That is the price of a skill that every reader takes, and it is told here key
by key. `lost` is what the author asked for and will not happen; `ignored` changes nothing.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from prowess.skills import frontmatter, yaml_text
from prowess.skills.field_reader import as_flag, squeeze
from prowess.skills.harness.portable import Portable
from prowess.skills.harness.rules import HarnessRules, Reader
from prowess.skills.model import Dialect, Skill, Value
from prowess.skills.placeholders import argument_names

SIDECAR = "agents/openai.yaml"
_HIDDEN = "disable-model-invocation"
_OPENCLAW_BLOCKS = ("openclaw", "clawdbot")
_MOST_SHOWN = 5
_ARGUMENTS = re.compile(r"\$ARGUMENTS(?:\[[0-9]+\])?(?!\w)")
_NUMBERS = re.compile(r"(?<![\w\\$])\$[0-9](?![\w]|[.,][0-9])")
_VALUES = re.compile(r"\$\{CLAUDE_[A-Z_]+\}")
_COMMANDS = re.compile(r"(?<!\w)!`[^`\n]+`|^[ \t]*`{3,}!", re.MULTILINE)
_BASE = "{baseDir}"
# What does not happen where a key is not seen.
_MEANING = {
    "hooks": "the skill's hooks do not run",
    "context": "it does not run in a context of its own",
    "agent": "it does not run as that agent",
    "model": "it runs with whatever model is in use",
    "effort": "the effort is that of the session",
    "paths": "it is offered whatever files are in play",
    "globs": "it is offered whatever files are in play",
    "shell": "commands run in the usual shell",
    "arguments": "named arguments are not known",
    "argument-hint": "nobody is told what to write behind its name",
    "disallowed-tools": "those tools are not kept from it",
    "user-invocable": "people can call it by name whatever it says",
    "when_to_use": "this is not part of what the model sees",
    "command-dispatch": "its command goes to the model instead of a tool",
    "platforms": "it is offered on every system",
    "required_environment_variables": "it is offered without them",
    "triggers": "the phrases have no effect",
}


class Weight(StrEnum):
    """How much it matters."""

    LOST = "lost"
    IGNORED = "ignored"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One thing that a harness ignores or reads otherwise."""

    weight: Weight
    subject: str
    detail: str


def notes_for(
    rules: HarnessRules, skill: Skill, built: Portable, files: Mapping[str, bytes]
) -> tuple[Note, ...]:
    """Return what a harness makes of a build, what matters most first."""
    found = [
        *_hidden(rules, skill, files),
        *_moved(rules, built.moved),
        *_blocks(rules, skill, built),
        *_body(rules, skill),
        *_standard(rules, built.keys),
        *_files(rules, files),
    ]
    order = tuple(Weight)
    return tuple(sorted(found, key=lambda note: order.index(note.weight)))


def hides_itself(skill: Skill) -> bool:
    """Return whether the author keeps a skill from the model."""
    return skill.invocation.hidden_by in {_HIDDEN, SIDECAR}


def hiding_sidecar(existing: bytes | None) -> bytes | None:
    """Return the sidecar with a line that keeps the skill from Codex's model, or None.

    None stands for one that cannot be read, or that says otherwise already.
    """
    text = "" if existing is None else frontmatter.decode(existing).text
    loaded = yaml_text.load(text)
    root = {} if loaded.root is None and not loaded.problems else loaded.root
    if existing is not None and _hides(existing):
        return existing
    if not isinstance(root, dict) or "policy" in root:
        return None
    begin = text if not text or text.endswith("\n") else f"{text}\n"
    added = f"{begin}policy:\n  allow_implicit_invocation: false\n".encode()
    # A flow map or an open block at the end would swallow the new lines.
    return added if _hides(added) else None


def _hides(sidecar: bytes) -> bool:
    root = yaml_text.load(frontmatter.decode(sidecar).text).root
    policy = root.get("policy") if isinstance(root, dict) else None
    return isinstance(policy, dict) and policy.get("allow_implicit_invocation") is False


def _hidden(rules: HarnessRules, skill: Skill, files: Mapping[str, bytes]) -> Iterator[Note]:
    if not hides_itself(skill) or (rules.sidecar and _hides(files.get(SIDECAR, b""))):
        return
    detail = f"{rules.title}'s model can choose the skill by itself, which its author did not want"
    yield Note(weight=Weight.LOST, subject=skill.invocation.hidden_by, detail=detail)


def _moved(rules: HarnessRules, moved: Mapping[str, Value]) -> Iterator[Note]:
    known = {squeeze(key) for key in rules.dialect}
    meanings = {squeeze(key): meaning for key, meaning in _MEANING.items()}
    for key, value in moved.items():
        plain = squeeze(key)
        if plain == squeeze(_HIDDEN) or _says_nothing(plain, value):
            continue
        meaning = meanings.get(plain, "")
        why = "reads it at the top level only" if plain in known else "does not know it"
        # A version or a tag is there for people: without one nothing happens otherwise.
        lost = bool(meaning) or plain in known
        yield Note(
            weight=Weight.LOST if lost else Weight.IGNORED,
            subject=key,
            detail=f"{rules.title} {why}{': ' if meaning else ''}{meaning}",
        )


def _says_nothing(plain: str, value: Value) -> bool:
    """Return whether a switch stands where it would stand without being mentioned."""
    return plain == squeeze("user-invocable") and as_flag(value, default=True)


def _blocks(rules: HarnessRules, skill: Skill, built: Portable) -> Iterator[Note]:
    found = [name for name in built.nested if squeeze(name) in _OPENCLAW_BLOCKS]
    if not found:
        return
    subject = f"metadata.{found[0]}"
    needs = "requirements, installers and emoji" if skill.metadata.install else "requirements"
    if rules.reader is Reader.OPENCLAW:
        detail = f"OpenClaw reads it as a map only: its {needs} have no effect"
        yield Note(weight=Weight.LOST, subject=subject, detail=detail)
    elif skill.metadata.requires:
        detail = f"{rules.title} checks no requirements: compatibility tells the model about them"
        yield Note(weight=Weight.IGNORED, subject=subject, detail=detail)


def _body(rules: HarnessRules, skill: Skill) -> Iterator[Note]:
    names = [name for name in argument_names(skill) if f"${name}" in skill.body]
    if names:
        detail = "named arguments are declared by a key that a strict build has not, so they stay"
        yield _left(f"{detail} as written", [f"${name}" for name in names])
    if not rules.fills_arguments:
        found = [*_ARGUMENTS.findall(skill.body), *_VALUES.findall(skill.body)]
        found += _NUMBERS.findall(skill.body) if _takes_arguments(skill, found) else []
        if found:
            yield _left(f"{rules.title} does not fill them: they stay as written", found)
    commands = _COMMANDS.findall(skill.body)
    if commands and not rules.runs_commands:
        yield _left(f"{rules.title} does not run them: the model sees the text", commands)
    if _BASE in skill.body:
        detail = f"{rules.title} does not fill it: the model must know the folder by itself"
        yield Note(weight=Weight.IGNORED, subject=_BASE, detail=detail)


def _takes_arguments(skill: Skill, found: Collection[str]) -> bool:
    """Return whether `$1` is an argument here, and not a price or a column."""
    says = bool(skill.invocation.argument_hint or argument_names(skill))
    return says or bool(found) or skill.dialect is Dialect.CLAUDE_COMMAND


def _left(detail: str, found: Collection[str]) -> Note:
    each = list(dict.fromkeys(text.strip() for text in found))
    more = f" and {len(each) - _MOST_SHOWN} more" if len(each) > _MOST_SHOWN else ""
    return Note(weight=Weight.LOST, subject=", ".join(each[:_MOST_SHOWN]) + more, detail=detail)


def _standard(rules: HarnessRules, keys: Collection[str]) -> Iterator[Note]:
    for key in keys:
        if key in rules.unknown:
            detail = f"whether {rules.title} does anything with it is not documented"
            yield Note(weight=Weight.UNKNOWN, subject=key, detail=detail)
        elif key not in rules.acts_on:
            detail = f"{rules.title} does nothing with it"
            yield Note(weight=Weight.IGNORED, subject=key, detail=detail)


def _files(rules: HarnessRules, files: Collection[str]) -> Iterator[Note]:
    if SIDECAR in files and not rules.sidecar:
        detail = f"{rules.title} does not read it: it is for Codex"
        yield Note(weight=Weight.IGNORED, subject=SIDECAR, detail=detail)
    inner = [path for path in files if path.lower().endswith("/skill.md")]
    for path in sorted(inner)[:_MOST_SHOWN]:
        detail = f"{rules.title} may find a second skill there"
        yield Note(weight=Weight.UNKNOWN, subject=path, detail=detail)
