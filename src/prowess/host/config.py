"""The config file: read as JSON5, written as JSON, atomically and readable by its owner only."""

import json
import os
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prowess.errors import ConfigError, ConfigKeyError, ConfigSyntaxError
from prowess.host.config_values import to_settings
from prowess.settings import SETTINGS, Settings

FILE_NAME = "prowess.json"
REDACTED = "__OPENCLAW_REDACTED__"
_SECRET_WORDS = ("apikey", "token", "password", "secret", "privatekey", "credential", "passphrase")
_MAX_BYTES = 4_000_000


class ConfigFile:
    """One `prowess.json`; reads again only when the file changed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stamp: tuple[int, int, int] | None = None
        self._settings: Settings | None = None

    def read(self) -> Settings:
        """Return the settings; a missing file means the defaults.

        Raises:
            ConfigError: the file cannot be read or is not JSON5.
        """
        stamp = self._stat()
        if self._settings is None or stamp != self._stamp:
            self._settings, self._stamp = to_settings(self.values()), stamp
        return self._settings

    def values(self) -> dict[str, Any]:
        """Return the file's mapping, secrets included; nothing here may be shown as it is."""
        return _parse(self.path, self._text())

    def _text(self) -> str:
        try:
            with self.path.open("rb") as file:
                content = file.read(_MAX_BYTES + 1)
        except FileNotFoundError:
            return ""
        except OSError as error:
            raise ConfigError(str(self.path), f"cannot be read: {error.strerror}.") from error
        if len(content) > _MAX_BYTES:
            raise ConfigError(str(self.path), f"is larger than {_MAX_BYTES} bytes.")
        try:
            return content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise ConfigSyntaxError(str(self.path), "is not UTF-8 text; save it as UTF-8.") from error

    def write(self, key: str, value: object) -> Path | None:
        """Set the dotted `key`, or remove it where `value` is None.

        Returns:
            Where the previous text was kept, if comments in it would have been lost.
        """
        text = self._text()
        values = _parse(self.path, text)
        _put(values, key, value)
        backup = None
        if text.strip() and not _is_plain_json(text):
            backup = self.path.with_name(self.path.name + ".bak")
            _write_private(backup, text)
        _write_private(self.path, json.dumps(values, indent=2, ensure_ascii=False) + "\n")
        return backup

    def _stat(self) -> tuple[int, int, int] | None:
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino


def _parse(path: Path, text: str) -> dict[str, Any]:
    if not text.strip():
        return {}
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        values = _parse_json5(path, text)
    if not isinstance(values, dict):
        raise ConfigSyntaxError(str(path), "must hold one object, such as {}.")
    return values


def _parse_json5(path: Path, text: str) -> object:
    # Imported late: most config files are plain JSON and the reader is slow to load.
    import json5  # noqa: PLC0415

    try:
        return json5.loads(text, allow_duplicate_keys=True)
    except (ValueError, RecursionError) as error:
        problem = str(error).removeprefix("<string>:").strip() or "too deeply nested"
        raise ConfigSyntaxError(str(path), f"is not JSON5 ({problem}); correct it and try again.") from error


def _is_plain_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _write_private(path: Path, text: str) -> None:
    """Replace `path` in one step, so that a power cut leaves the old or the new file."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # A link to a dotfiles folder stays a link: its target is what gets replaced.
        target = Path(os.path.realpath(path))
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
        raise ConfigError(str(path), f"cannot be written: {error.strerror}.") from error


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
