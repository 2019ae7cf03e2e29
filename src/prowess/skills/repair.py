"""The repairs that need no judgement: quoting, names, and the folder's name.

A repair changes the lines it must and leaves every other byte as it is.
"""

import json
import re
import unicodedata
from dataclasses import dataclass

from prowess.skills import frontmatter, standard
from prowess.skills.field_reader import FieldReader, squeeze
from prowess.skills.frontmatter import Frontmatter, quote_prose
from prowess.skills.model import Document

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
