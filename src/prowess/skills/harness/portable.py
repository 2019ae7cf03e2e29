"""A skill as every strict reader takes it, and what each harness makes of that build.

What the standard has no key for moves under `metadata`, where readers keep it and act on none of
it, and each such move is told. The body stays as it was written. A harness that understands a key
of a dialect does not see it any more: `lost` is what the author asked for and will not happen,
`ignored` changes nothing.
"""

import json
import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from prowess.data import read_table
from prowess.settings import SpecMode
from prowess.skills import frontmatter
from prowess.skills import parse as standard
from prowess.skills.eligibility import resolve
from prowess.skills.frontmatter import FieldReader, as_flag, as_text, squeeze
from prowess.skills.harness.rules import HarnessRules, Reader
from prowess.skills.invocation import argument_names
from prowess.skills.model import Dialect, Fields, Requirements, Skill, Value
from prowess.skills.prompt import shorten
from prowess.skills.text import clean, one_line
from prowess.skills.text import load as load_yaml
from prowess.skills.text import quote as quote_yaml

_PLAIN = re.compile(r"[a-z][a-z0-9-]*")
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
# Words that some reader of YAML takes for something else than text.
_NOT_TEXT = frozenset(("true", "false", "null", "yes", "no", "on", "off", "y", "n"))
_TOOL_PART = re.compile(r"[(),\s]|[^(),\s]+")
_RESERVED_PREFIX = "io.modelcontextprotocol/"
_STANDARD = frozenset(squeeze(key) for key in standard.KEYS)
_WHEN = squeeze("when_to_use")
_ENDS = (".", "!", "?", "。", ":", ";")


@dataclass(frozen=True, slots=True, kw_only=True)
class PortableChange:
    """Something that a build says in another way than the skill does."""

    subject: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Portable:
    """The strict text of a skill, and what became of its keys."""

    name: str
    text: str
    # The keys of the standard that the text has.
    keys: tuple[str, ...]
    # Keys that had to move under `metadata`, by their usual spelling.
    moved: dict[str, Value] = field(default_factory=dict)
    # What the metadata held that only some reader takes for more than text.
    nested: tuple[str, ...] = ()
    changes: tuple[PortableChange, ...] = ()


def portable_name(name: str, fallback: str) -> str:
    """Return a name that the standard allows; empty where neither text yields one."""
    for text in (name, fallback):
        plain = unicodedata.normalize("NFKC", text[: 4 * standard.MAX_NAME]).lower()
        words = re.split(r"[\W_]+", plain)
        found = "-".join(word for word in words if word)[: standard.MAX_NAME].strip("-")
        if standard.is_name(found):
            return found
    return ""


def build(skill: Skill, content: bytes, mode: SpecMode) -> Portable | str:
    """Return the strict text of a skill, or why there can be none."""
    decoded = frontmatter.decode(content)
    if decoded.diagnostic is not None:
        return f"{decoded.diagnostic.message}: {decoded.diagnostic.fix}"
    is_skill_file = skill.path.lower().endswith("skill.md")
    lenient = standard.is_lenient(mode, is_skill_file=is_skill_file)
    front = frontmatter.read(decoded.text, lenient=lenient)
    if not front.readable:
        return "its frontmatter cannot be read: `prowess validate` says where."
    reader = FieldReader(front)
    resolved = resolve(reader)
    if not resolved.metadata.readable:
        return "its metadata cannot be read, and may hold a requirement: repair it first."
    name = portable_name(skill.name, skill.id)
    if not name:
        return "its name has no letter or digit that a portable name could be made of: rename it."
    writer = _Writer(skill, reader, resolved.raw)
    return writer.written(name, front.body)


class _Writer:
    """Turns the fields of one skill into a strict block."""

    def __init__(self, skill: Skill, reader: FieldReader, raw: Fields) -> None:
        self._skill, self._reader, self._raw = skill, reader, raw
        self._changes: list[PortableChange] = []
        self._moved: dict[str, Value] = {}
        self._nested: list[str] = []

    def written(self, name: str, body: str) -> Portable:
        if name != self._skill.name:
            self._note("name", f"{one_line(self._skill.name)} is called {name}")
        description = self._description()
        metadata = self._metadata()
        fields: dict[str, str | dict[str, str]] = {
            "name": name,
            "description": description,
            "license": clean(self._reader.text("license")),
            "compatibility": self._compatibility(),
            "metadata": metadata,
            "allowed-tools": self._tools(),
        }
        lines = [line for key, value in fields.items() if value for line in _lines(key, value)]
        block = "\n".join(("---", *lines, "---"))
        text = body.strip("\n")
        return Portable(
            name=name,
            text=f"{block}\n\n{text}\n" if text else f"{block}\n",
            keys=tuple(key for key, value in fields.items() if value),
            moved=self._moved,
            nested=tuple(self._nested),
            changes=tuple(self._changes),
        )

    def _note(self, subject: str, detail: str) -> None:
        self._changes.append(PortableChange(subject=subject, detail=detail))

    def _description(self) -> str:
        whole = one_line(self._skill.description)
        when = one_line(self._skill.when_to_use)
        joined = f"{whole}{'' if whole.endswith(_ENDS) else '.'} {when}"
        if when and len(joined) <= standard.MAX_DESCRIPTION:
            self._note("when_to_use", "stands at the end of the description")
            return joined
        if when:
            self._note("when_to_use", "does not fit the description and stands under metadata")
            self._moved["when_to_use"] = when
        if len(whole) > standard.MAX_DESCRIPTION:
            most = standard.MAX_DESCRIPTION
            self._note("description", f"cut from {len(whole)} to {most} characters: shorten it")
            return shorten(whole, most)
        return whole

    def _compatibility(self) -> str:
        given = one_line(self._reader.text("compatibility"))
        if len(given) > standard.MAX_COMPATIBILITY:
            self._note("compatibility", f"cut to {standard.MAX_COMPATIBILITY} characters")
            return shorten(given, standard.MAX_COMPATIBILITY)
        if given:
            return given
        needs = _needs(self._skill.metadata.requires)
        if needs:
            self._note("compatibility", "says what the skill requires")
        return shorten(needs, standard.MAX_COMPATIBILITY)

    def _tools(self) -> str:
        value = self._reader.value("allowed-tools")
        if isinstance(value, (list, tuple)):
            found = " ".join(as_text(item) for item in value)
        else:
            found = " ".join(_tools_in(as_text(value)))
        found = one_line(found)
        if found and found != value:
            self._note("allowed-tools", "is one text, its parts separated by blanks")
        return found

    def _metadata(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for key, value in self._raw.items():
            self._keep(found, key, value)
        for key, value in self._reader.front.fields.items():
            if self._is_foreign(key):
                self._move(found, key, value)
        if "when_to_use" in self._moved:
            found.setdefault("when_to_use", as_text(self._moved["when_to_use"]))
        return found

    def _is_foreign(self, key: str) -> bool:
        plain = squeeze(key)
        # Of one key in two spellings the first counts; the other is kept as text.
        first = self._reader.key(key) == key
        return not (first and (plain in _STANDARD or plain == _WHEN))

    def _keep(self, found: dict[str, str], key: str, value: Value) -> None:
        name, text = one_line(key), flat_text(value)
        if not name or not text:
            return
        if name.startswith(_RESERVED_PREFIX):
            self._note(f"metadata.{name}", "is reserved for MCP and is left out")
            return
        if isinstance(value, (dict, list, tuple)):
            self._nested.append(name)
            self._note(f"metadata.{name}", "is text now, since values of metadata are")
        found[name] = text

    def _move(self, found: dict[str, str], key: str, value: Value) -> None:
        raw = self._reader.front.texts.get(key, "").strip()
        # `1.10` is a number to YAML and a version to its author.
        text = raw if raw and not isinstance(value, (dict, list, tuple)) else flat_text(value)
        name, text = one_line(key), one_line(text)
        if not name or not text:
            return
        place = _find_free(found, name, text)
        found[place] = text
        self._moved[name] = value
        where = "under metadata" if place == name else f"under metadata as {place}"
        self._note(name, f"stands {where}, since the standard has no such key")


def _find_free(found: dict[str, str], name: str, text: str) -> str:
    """Return a key that nobody has yet in any spelling, or one that says the same already."""
    place, taken = name, {squeeze(key) for key in found if found[key] != text or key != name}
    while squeeze(place) in taken:
        place = f"prowess-{place}"
    return place


def _tools_in(text: str) -> list[str]:
    """Split a list of tools at commas and blanks, but not inside the brackets of a tool."""
    found, depth = [""], 0
    for part in _TOOL_PART.findall(text):
        depth = max(depth + {"(": 1, ")": -1}.get(part, 0), 0)
        if depth == 0 and (part == "," or part.isspace()):
            found.append("")
        else:
            found[-1] += part
    return [tool for tool in found if tool]


def flat_text(value: Value) -> str:
    """Return a value of metadata as text: plain lists joined by commas, all else as JSON."""
    if isinstance(value, (list, tuple)) and _is_plain(value):
        return one_line(", ".join(as_text(item) for item in value))
    if isinstance(value, (dict, list, tuple)):
        return clean(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    return one_line(as_text(value))


def _is_plain(items: Sequence[Value]) -> bool:
    texts = [as_text(item) for item in items]
    nested = any(isinstance(item, (dict, list, tuple)) for item in items)
    return not nested and all(text and "," not in text for text in texts)


def _needs(requires: Requirements) -> str:
    """Return requirements as a sentence for people and models."""
    parts = [
        f"{what} {', '.join(names)}"
        for what, names in (
            ("the programs", requires.bins),
            ("one of the programs", requires.any_bins),
            ("the environment variables", requires.env),
            ("the settings", requires.config),
            ("the systems", requires.os),
        )
        if names
    ]
    return one_line(f"Needs {'; '.join(parts)}.") if parts else ""


def _lines(key: str, value: str | dict[str, str]) -> list[str]:
    if isinstance(value, dict):
        return [f"{key}:", *(f"  {_scalar_key(name)}: {_scalar(of)}" for name, of in value.items())]
    return [f"{key}: {_scalar(value)}"]


def _scalar_key(name: str) -> str:
    plain = _PLAIN_KEY.fullmatch(name) and name.lower() not in _NOT_TEXT
    return name if plain else quote_yaml(name)


def _scalar(text: str) -> str:
    plain = _PLAIN.fullmatch(text) and text not in _NOT_TEXT
    return text if plain else quote_yaml(text)


SIDECAR = "agents/openai.yaml"
_HIDDEN = "disable-model-invocation"
_OPENCLAW_BLOCKS = ("openclaw", "clawdbot")
_MOST_SHOWN = 5
_ARGUMENTS = re.compile(r"\$ARGUMENTS(?:\[[0-9]+\])?(?!\w)")
_NUMBERS = re.compile(r"(?<![\w\\$])\$[0-9](?![\w]|[.,][0-9])")
_VALUES = re.compile(r"\$\{CLAUDE_[A-Z_]+\}")
_COMMANDS = re.compile(r"(?<!\w)!`[^`\n]+`|^[ \t]*`{3,}!", re.MULTILINE)
_BASE = "{baseDir}"
_TABLE = "skills/harness/portable.toml"


class Weight(StrEnum):
    """How much it matters."""

    LOST = "lost"
    IGNORED = "ignored"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class HarnessNote:
    """One thing that a harness ignores or reads otherwise."""

    weight: Weight
    subject: str
    detail: str


def notes_for(
    rules: HarnessRules, skill: Skill, built: Portable, files: Mapping[str, bytes]
) -> tuple[HarnessNote, ...]:
    """Return what a harness makes of a build, what matters most first."""
    found = [
        *_note_hidden(rules, skill, files),
        *_note_moved(rules, built.moved),
        *_blocks(rules, skill, built),
        *_body(rules, skill),
        *_note_standard(rules, built.keys),
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
    loaded = load_yaml(text)
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
    root = load_yaml(frontmatter.decode(sidecar).text).root
    policy = root.get("policy") if isinstance(root, dict) else None
    return isinstance(policy, dict) and policy.get("allow_implicit_invocation") is False


def _note_hidden(
    rules: HarnessRules, skill: Skill, files: Mapping[str, bytes]
) -> Iterator[HarnessNote]:
    if not hides_itself(skill) or (rules.sidecar and _hides(files.get(SIDECAR, b""))):
        return
    detail = f"{rules.title}'s model can choose the skill by itself, which its author did not want"
    yield HarnessNote(weight=Weight.LOST, subject=skill.invocation.hidden_by, detail=detail)


def _note_moved(rules: HarnessRules, moved: Mapping[str, Value]) -> Iterator[HarnessNote]:
    known = {squeeze(key) for key in rules.dialect}
    meanings = {squeeze(key): meaning for key, meaning in read_table(_TABLE)["meaning"].items()}
    for key, value in moved.items():
        plain = squeeze(key)
        if plain == squeeze(_HIDDEN) or _says_nothing(plain, value):
            continue
        meaning = meanings.get(plain, "")
        why = "reads it at the top level only" if plain in known else "does not know it"
        # A version or a tag is there for people: without one nothing happens otherwise.
        lost = bool(meaning) or plain in known
        yield HarnessNote(
            weight=Weight.LOST if lost else Weight.IGNORED,
            subject=key,
            detail=f"{rules.title} {why}{': ' if meaning else ''}{meaning}",
        )


def _says_nothing(plain: str, value: Value) -> bool:
    """Return whether a switch stands where it would stand without being mentioned."""
    return plain == squeeze("user-invocable") and as_flag(value, default=True)


def _blocks(rules: HarnessRules, skill: Skill, built: Portable) -> Iterator[HarnessNote]:
    found = [name for name in built.nested if squeeze(name) in _OPENCLAW_BLOCKS]
    if not found:
        return
    subject = f"metadata.{found[0]}"
    needs = "requirements, installers and emoji" if skill.metadata.install else "requirements"
    if rules.reader is Reader.OPENCLAW:
        detail = f"OpenClaw reads it as a map only: its {needs} have no effect"
        yield HarnessNote(weight=Weight.LOST, subject=subject, detail=detail)
    elif skill.metadata.requires:
        detail = f"{rules.title} checks no requirements: compatibility tells the model about them"
        yield HarnessNote(weight=Weight.IGNORED, subject=subject, detail=detail)


def _body(rules: HarnessRules, skill: Skill) -> Iterator[HarnessNote]:
    names = [name for name in argument_names(skill) if f"${name}" in skill.body]
    if names:
        detail = "named arguments are declared by a key that a strict build has not, so they stay"
        yield _note_left(f"{detail} as written", [f"${name}" for name in names])
    if not rules.fills_arguments:
        found = [*_ARGUMENTS.findall(skill.body), *_VALUES.findall(skill.body)]
        found += _NUMBERS.findall(skill.body) if _takes_arguments(skill, found) else []
        if found:
            yield _note_left(f"{rules.title} does not fill them: they stay as written", found)
    commands = _COMMANDS.findall(skill.body)
    if commands and not rules.runs_commands:
        yield _note_left(f"{rules.title} does not run them: the model sees the text", commands)
    if _BASE in skill.body:
        detail = f"{rules.title} does not fill it: the model must know the folder by itself"
        yield HarnessNote(weight=Weight.IGNORED, subject=_BASE, detail=detail)


def _takes_arguments(skill: Skill, found: Collection[str]) -> bool:
    """Return whether `$1` is an argument here, and not a price or a column."""
    says = bool(skill.invocation.argument_hint or argument_names(skill))
    return says or bool(found) or skill.dialect is Dialect.CLAUDE_COMMAND


def _note_left(detail: str, found: Collection[str]) -> HarnessNote:
    each = list(dict.fromkeys(text.strip() for text in found))
    more = f" and {len(each) - _MOST_SHOWN} more" if len(each) > _MOST_SHOWN else ""
    return HarnessNote(
        weight=Weight.LOST, subject=", ".join(each[:_MOST_SHOWN]) + more, detail=detail
    )


def _note_standard(rules: HarnessRules, keys: Collection[str]) -> Iterator[HarnessNote]:
    for key in keys:
        if key in rules.unknown:
            detail = f"whether {rules.title} does anything with it is not documented"
            yield HarnessNote(weight=Weight.UNKNOWN, subject=key, detail=detail)
        elif key not in rules.acts_on:
            detail = f"{rules.title} does nothing with it"
            yield HarnessNote(weight=Weight.IGNORED, subject=key, detail=detail)


def _files(rules: HarnessRules, files: Collection[str]) -> Iterator[HarnessNote]:
    if SIDECAR in files and not rules.sidecar:
        detail = f"{rules.title} does not read it: it is for Codex"
        yield HarnessNote(weight=Weight.IGNORED, subject=SIDECAR, detail=detail)
    inner = [path for path in files if path.lower().endswith("/skill.md")]
    for path in sorted(inner)[:_MOST_SHOWN]:
        detail = f"{rules.title} may find a second skill there"
        yield HarnessNote(weight=Weight.UNKNOWN, subject=path, detail=detail)
