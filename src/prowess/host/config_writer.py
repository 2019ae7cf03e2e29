"""Changing the config file: one key at a time, atomically, readable by its owner only.

It is written as JSON. Where the old text had comments, it is kept beside the new one.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from prowess.errors import ConfigError, ConfigKeyError
from prowess.host.config import ConfigFile, parse
from prowess.host.config_values import to_settings
from prowess.host.private_files import locked, write_private
from prowess.settings_table import SETTINGS
from prowess.skills.json_text import is_plain

REDACTED = "__OPENCLAW_REDACTED__"
# Endings and words of names behind which people keep secrets.
_SECRET_NAME = re.compile(
    r"token|passw|passphrase|pwd|secret|credential|cookie|headers?$|bearer|jwt|dsn|webhook|authorization"
    r"|keys?$|keyid$|^auth$|^pat$|signature"
)
# A password inside an address, and the shapes of well-known keys.
_CREDENTIALS = re.compile(
    r"[?&;-][\w-]*(?:token|key|secret|passw|auth|sig|pin)[\w-]*=[^&\s]|"
    r"://[^/\s:@]*:[^/\s@]+@|\b(?:sk|pk|ghp|gho|xox[abp]|glpat)[-_][A-Za-z0-9_-]{10,}|-----BEGIN"
)


def write(config: ConfigFile, parts: Sequence[str], value: object) -> str | None:
    """Set the key with these `parts`, or remove it where `value` is None.

    Returns:
        Where the previous text was kept, if comments in it would have been lost.
    """
    with _unwritable(config.path), locked(config.path):
        text = config.text()
        values = parse(config.path, text)
        _put(values, parts, value)
        backup = None
        if text.strip() and not _is_plain_json(text):
            backup = config.path + ".bak"
            write_private(backup, text)
        write_private(config.path, json.dumps(values, indent=2, ensure_ascii=False) + "\n")
    return backup


@contextmanager
def _unwritable(path: str) -> Iterator[None]:
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
    safe = redacted(values)
    skills = safe.get("skills") if isinstance(safe, dict) else None
    entries = skills.get("entries") if isinstance(skills, dict) else None
    for entry in entries.values() if isinstance(entries, dict) else ():
        if isinstance(entry, dict) and "config" in entry:
            entry["config"] = _masked(entry["config"])
    return safe


def redacted(value: object, key: str = "") -> object:
    """Return `value` with everything that may be a secret replaced by a marker."""
    if _is_secret_name(key):
        return _masked(value)
    if isinstance(value, Mapping):
        return {name: redacted(inner, str(name)) for name, inner in value.items()}
    if isinstance(value, list):
        return _redacted_list(value)
    return REDACTED if isinstance(value, str) and _CREDENTIALS.search(value) else value


def _redacted_list(values: list[Any]) -> list[object]:
    """A command line may carry a secret behind its option."""
    shown: list[object] = []
    behind_secret = False
    for value in values:
        shown.append(_masked(value) if behind_secret else redacted(value))
        behind_secret = isinstance(value, str) and value.startswith("-") and _is_secret_name(value)
    return shown


def _masked(value: object) -> object:
    if isinstance(value, Mapping):
        return {name: _masked(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_masked(item) for item in value]
    return value if value is None or value == "" or isinstance(value, bool) else REDACTED


def _is_secret_name(key: str) -> bool:
    squeezed = re.sub(r"[^a-z0-9]", "", key.lower())
    return squeezed == "env" or bool(_SECRET_NAME.search(squeezed))
