"""Changing the config file: one key at a time, atomically, readable by its owner only.

It is written as JSON. Where the old text had comments, it is kept beside the new one.
"""

import json
import os
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prowess.errors import ConfigError, ConfigKeyError
from prowess.host.config import ConfigFile, parse
from prowess.host.config_values import to_settings
from prowess.settings_table import SETTINGS

REDACTED = "__OPENCLAW_REDACTED__"
_SECRET_WORDS = ("apikey", "token", "password", "secret", "privatekey", "credential", "passphrase")


def write(config: ConfigFile, key: str, value: object) -> str | None:
    """Set the dotted `key`, or remove it where `value` is None.

    Returns:
        Where the previous text was kept, if comments in it would have been lost.
    """
    text = config.text()
    values = parse(config.path, text)
    _put(values, key, value)
    backup = None
    if text.strip() and not _is_plain_json(text):
        backup = config.path + ".bak"
        _write_private(backup, text)
    _write_private(config.path, json.dumps(values, indent=2, ensure_ascii=False) + "\n")
    return backup


def _is_plain_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _write_private(path: str, text: str) -> None:
    """Replace `path` in one step, so that a power cut leaves the old or the new file."""
    # A link to a dotfiles folder stays a link: its target is what gets replaced.
    target = Path(os.path.realpath(path))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=".prowess-", suffix=".tmp")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            Path(name).chmod(stat.S_IRUSR | stat.S_IWUSR)
            Path(name).replace(target)
        finally:
            Path(name).unlink(missing_ok=True)
    except OSError as error:
        raise ConfigError(path, f"cannot be written: {error.strerror}.") from error


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


def _put(values: dict[str, Any], key: str, value: object) -> None:
    parts = split_key(key)
    current = values
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


def check_value(key: str, value: object) -> None:
    """Refuse a value that a known setting would not take.

    Raises:
        ConfigKeyError: the value has the wrong type for its key.
    """
    values: dict[str, Any] = {}
    _put(values, key, value)
    for problem in to_settings(values).problems:
        if not problem.unknown:
            wanted = problem.message.removesuffix("; the default is used")
            raise ConfigKeyError(problem.key, f"{wanted}.")


def is_known(key: str) -> bool:
    """Return whether `key` is, or leads to or below, a documented setting."""
    parts = split_key(key)
    for row in SETTINGS:
        pattern = row.key.replace("[]", "").split(".")
        pairs = zip(parts, pattern, strict=False)
        if all(mine == theirs or theirs.startswith("<") for mine, theirs in pairs):
            return True
    return False


def redacted(value: object, key: str = "") -> object:
    """Return `value` with everything that may be a secret replaced by a marker."""
    if isinstance(value, Mapping):
        inside_env = key == "env"
        return {
            name: REDACTED if inside_env and _holds(inner) else redacted(inner, str(name))
            for name, inner in value.items()
        }
    if isinstance(value, list):
        return [redacted(item, key) for item in value]
    return REDACTED if _is_secret_name(key) and _holds(value) else value


def _holds(value: object) -> bool:
    return value not in (None, "", True, False)


def _is_secret_name(key: str) -> bool:
    squeezed = key.replace("_", "").replace("-", "").lower()
    return any(word in squeezed for word in _SECRET_WORDS) or squeezed == "key"
