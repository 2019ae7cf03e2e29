"""Changing the config file: one key at a time, atomically, readable by its owner only.

It is written as JSON. Where the old text had comments, it is kept beside the new one.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from prowess.errors import ConfigError, ConfigKeyError
from prowess.host.config.config import ConfigFile, parse
from prowess.host.config.file import to_settings
from prowess.host.files.private_files import locked, write_private
from prowess.runtime.config import redaction as config_redaction
from prowess.runtime.config.redaction import REDACTED, redacted
from prowess.settings_table import SETTINGS
from prowess.skills.json_text import is_plain

__all__ = (
    "REDACTED", "check_value", "is_known", "is_text", "keep_comments", "redacted", "replace",
    "shown", "split_key", "unwritable", "write",
)  # fmt: skip


def write(config: ConfigFile, parts: Sequence[str], value: object) -> str | None:
    """Set the key with these `parts`, or remove it where `value` is None.

    Returns:
        Where the previous text was kept, if comments in it would have been lost.
    """
    with unwritable(config.path), locked(config.path):
        text = config.text()
        values = parse(config.path, text)
        _put(values, parts, value)
        backup = keep_comments(config.path, text)
        replace(config.path, json.dumps(values, indent=2, ensure_ascii=False) + "\n")
    return backup


def keep_comments(path: str, text: str) -> str | None:
    """Keep the old text beside the file if comments in it would be lost; return where.

    Raises:
        OSError: it cannot be written.
    """
    if not text.strip() or _is_plain_json(text):
        return None
    backup = path + ".bak"
    write_private(backup, text)
    return backup


def replace(path: str, text: str) -> None:
    """Replace the file in one step that lasts, name and content, through a power cut.

    Raises:
        OSError: it cannot be written.
    """
    write_private(path, text)
    # Elsewhere folders cannot be opened, and names last without being asked to.
    if hasattr(os, "O_DIRECTORY"):
        folder = os.open(os.path.dirname(os.path.realpath(path)), os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


@contextmanager
def unwritable(path: str) -> Iterator[None]:
    """Turn what the system says about a write into an error that names the file."""
    try:
        yield
    except OSError as error:
        raise ConfigError(path, f"cannot be written: {error.strerror}.") from error


def _is_plain_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def split_key(key: str) -> list[str]:
    """Split a dotted key; a part in double quotes may hold dots itself.

    Raises:
        ConfigKeyError: a part is empty.
    """
    parts = [""]
    quoted = False
    for char in key:
        if char == '"':
            quoted = not quoted
        elif char == "." and not quoted:
            parts.append("")
        else:
            parts[-1] += char
    if quoted or not all(parts):
        raise ConfigKeyError(key, "is not a dotted key such as skills.load.extraDirs.")
    return parts


def _put(values: dict[str, Any], parts: Sequence[str], value: object) -> None:
    current, key = values, ".".join(parts)
    for part in parts[:-1]:
        if value is None and part not in current:
            return
        inner = current.setdefault(part, {})
        if not isinstance(inner, dict):
            raise ConfigKeyError(key, f"{part} is not an object, so nothing can be set below it.")
        current = inner
    if value is None:
        current.pop(parts[-1], None)
    else:
        current[parts[-1]] = value


def check_value(parts: Sequence[str], value: object) -> None:
    """Refuse a value that a known setting would not take, or that no file could hold.

    Raises:
        ConfigKeyError: the value has the wrong type for its key.
    """
    values: dict[str, Any] = {}
    _put(values, parts, value)
    if not is_plain(values):
        raise ConfigKeyError(".".join(parts), "cannot be written as JSON.")
    for problem in to_settings(values).problems:
        if not problem.unknown:
            wanted = problem.message.removesuffix("; the default is used")
            raise ConfigKeyError(problem.key, f"{wanted}.")


def is_known(parts: Sequence[str]) -> bool:
    """Return whether the key is, or leads to or below, a documented setting."""
    for row in SETTINGS:
        pattern = row.key.replace("[]", "").split(".")
        pairs = zip(parts, pattern, strict=False)
        if all(mine == theirs or theirs.startswith("<") for mine, theirs in pairs):
            return True
    return False


def is_text(parts: Sequence[str]) -> bool:
    """Return whether a value is text whatever it looks like: a key of digits is no number."""
    return parts[-1] == "apiKey" or "env" in parts[:-1]


def shown(values: Mapping[str, Any]) -> object:
    """Return the whole config for a person to read; what skills keep for themselves is masked."""
    return config_redaction.shown(values)
