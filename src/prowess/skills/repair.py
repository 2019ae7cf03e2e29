"""The repairs that need no judgement: quoting, names, and the folder's name.

A repair changes the lines it must and leaves every other byte as it is.
"""

import json
import re
from dataclasses import dataclass

from prowess.skills import frontmatter, standard
from prowess.skills.field_reader import FieldReader
from prowess.skills.frontmatter import Frontmatter, quote_prose
from prowess.skills.model import Document

_NAME_LINE = re.compile(r"^[Nn]ame[ \t]*:[^\n\r]*", re.MULTILINE)
_BLOCK = re.compile(r"\A\ufeff?---[ \t]*(\r\n|\n|\r)")
_PLAIN_NAME = re.compile(r"[a-z][a-z0-9-]*")
# Words that YAML would read as something else than text.
_NOT_TEXT = frozenset(("true", "false", "null", "yes", "no", "on", "off"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """What to change: the file's whole new text and the folder's new name, if either changes."""

    before: str
    after: str
    folder: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def needed(self) -> bool:
        """True where there is anything to do."""
        return self.before != self.after or self.folder is not None


def plan(document: Document) -> Repair | None:
    """Return the repair of `document`, or None where it is not text or has no frontmatter."""
    if frontmatter.decode(document.content).diagnostic is not None:
        return None
    before = document.content.decode("utf-8")
    opening = _BLOCK.match(before)
    if opening is None:
        return None
    after, notes = _quoted(before, opening.end(), opening[1])
    front = frontmatter.read(after.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n"))
    if not front.readable or not document.is_skill_file:
        return Repair(before=before, after=after, notes=notes)
    name, folder = _names(document, front)
    written = FieldReader(front).text("name")
    if name and name != written:
        after = _with_name(after, name, opening.end(), opening[1])
        notes += (f"name: {written or 'none'} -> {name}",)
    if folder is not None:
        notes += (f"folder: {_folder_name(document)} -> {folder}",)
    return Repair(before=before, after=after, folder=folder, notes=notes)


def _quoted(text: str, start: int, newline: str) -> tuple[str, tuple[str, ...]]:
    """Quote prose that YAML misreads, in the block that begins at `start`."""
    flat = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    rescued = frontmatter.read(flat).rescued
    if not rescued:
        return text, ()
    end = re.compile(r"^---[ \t]*\r?$", re.MULTILINE).search(text, start)
    stop = len(text) if end is None else end.start()
    block, _ = quote_prose(text[start:stop].replace("\r\n", "\n").replace("\r", "\n"))
    # Joined continuation lines were kept as blank ones for their numbers; on disk they go.
    quoted = re.sub(r"\n{2,}", "\n", block).replace("\n", newline)
    return text[:start] + quoted + text[stop:], tuple(f"quoted: {key}" for key in rescued)


def _names(document: Document, front: Frontmatter) -> tuple[str, str | None]:
    """Return the right name, and a new one for the folder where that is what is wrong."""
    folder = _folder_name(document)
    if standard.is_name(folder):
        return folder, None
    written = FieldReader(front).text("name")
    name = written if standard.is_name(written) else standard.slug(written) or standard.slug(folder)
    name = name[: standard.MAX_NAME].strip("-")
    return name, name if name and name != folder else None


def _folder_name(document: Document) -> str:
    return document.folder.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]


def _with_name(text: str, name: str, start: int, newline: str) -> str:
    plain = _PLAIN_NAME.fullmatch(name) and name not in _NOT_TEXT
    line = f"name: {name if plain else json.dumps(name, ensure_ascii=False)}"
    closing = re.compile(r"^---[ \t]*\r?$", re.MULTILINE).search(text, start)
    found = _NAME_LINE.search(text, start, len(text) if closing is None else closing.start())
    if found is None:
        return text[:start] + line + newline + text[start:]
    return text[: found.start()] + line + text[found.end() :]
