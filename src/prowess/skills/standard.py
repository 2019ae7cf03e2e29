"""The rules of the Agent Skills standard for one file.

One definition serves both the strict reading and `prowess validate --strict`, so that what
validates is exactly what loads.
"""

import re
import unicodedata

from prowess.skills.diagnostics import diagnose
from prowess.skills.field_reader import FieldReader
from prowess.skills.frontmatter import Frontmatter
from prowess.skills.model import Diagnostic, Value

KEYS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
MAX_NAME = 64
MAX_DESCRIPTION = 1024
MAX_COMPATIBILITY = 500
_DIR = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")


def slug(text: str) -> str:
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
    found = required(reader)
    name, line = reader.text("name"), reader.line("name")
    if name and not is_name(name):
        found.append(
            diagnose("NAME_INVALID", f"the name {name!r} breaks the naming rule", line=line)
        )
    if 0 < len(name) <= 4 * MAX_NAME and folder is not None and not _same(name, folder):
        message = f"the name {name!r} is not the folder {folder!r}"
        found.append(diagnose("NAME_PATH_MISMATCH", message, line=line))
    description = reader.text("description")
    if len(description) > MAX_DESCRIPTION:
        message = f"{len(description)} characters, at most {MAX_DESCRIPTION}"
        found.append(diagnose("DESCRIPTION_TOO_LONG", message, line=reader.line("description")))
    return found


def required(reader: FieldReader) -> list[Diagnostic]:
    """Return what is missing of the two required keys."""
    found = []
    if not reader.text("name"):
        found.append(diagnose("NAME_MISSING", "a name is required", line=reader.line("name") or 1))
    if not reader.text("description"):
        line = reader.line("description") or 1
        found.append(diagnose("DESCRIPTION_MISSING", "a description is required", line=line))
    return found


def _same(name: str, folder: str) -> bool:
    if not name.isascii():
        return unicodedata.normalize("NFKC", name) == unicodedata.normalize("NFKC", folder)
    # Through the slug, so that a name that is wrong only in case is reported once, as invalid.
    return slug(name) == folder


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
