"""Reading the config file: JSON5, bounded, and read again only when it changed."""

import os
from typing import Any

from prowess.errors import ConfigError, ConfigSyntaxError
from prowess.host.config.sections import to_settings
from prowess.settings import Settings
from prowess.skills.notation import RepeatedKeyError, is_plain, relax, strict_loads

__all__ = ("FILE_NAME", "ConfigFile", "parse", "to_settings")

FILE_NAME = "prowess.json"
_MAX_BYTES = 4_000_000


class ConfigFile:
    """One `prowess.json`."""

    def __init__(self, path: str) -> None:
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
        return parse(self.path, self.text())

    def text(self) -> str:
        """Return the file's text; a missing file is empty."""
        try:
            if os.path.exists(self.path) and not os.path.isfile(self.path):
                raise ConfigError(self.path, "is not a regular file.")
            with open(self.path, "rb") as file:
                content = file.read(_MAX_BYTES + 1)
        except (FileNotFoundError, NotADirectoryError):
            return ""
        except OSError as error:
            raise ConfigError(self.path, f"cannot be read: {error.strerror}.") from error
        if len(content) > _MAX_BYTES:
            raise ConfigError(self.path, f"is larger than {_MAX_BYTES} bytes.")
        try:
            return content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise ConfigSyntaxError(self.path, "is not UTF-8 text; save it as UTF-8.") from error

    def _stat(self) -> tuple[int, int, int] | None:
        try:
            found = os.stat(self.path)
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino


def parse(path: str, text: str) -> dict[str, Any]:
    """Read the text of a config file.

    Raises:
        ConfigSyntaxError: it is not JSON5, or not one object.
    """
    if not text.strip():
        return {}
    values = _loads(path, text)
    if not isinstance(values, dict):
        raise ConfigSyntaxError(path, "must hold one object, such as {}.")
    if not is_plain(values):
        raise ConfigSyntaxError(path, "holds a number or a nesting that no setting needs.")
    return values


def _loads(path: str, text: str) -> object:
    for attempt in (text, relax(text)):
        try:
            return strict_loads(attempt)
        except RepeatedKeyError as error:
            problem = f"repeats a key ({error}): keep one, since only one can count."
            raise ConfigSyntaxError(path, problem) from error
        except (ValueError, RecursionError):
            continue
    return _parse_json5(path, text)


def _parse_json5(path: str, text: str) -> object:
    # Imported late: most config files are plain JSON and the reader is slow to load.
    import json5

    try:
        return json5.loads(text, allow_duplicate_keys=True)
    except (ValueError, RecursionError) as error:
        problem = str(error).replace("<string>:", "line ").strip() or "too deeply nested"
        raise ConfigSyntaxError(
            path, f"is not JSON5 ({problem}); correct it and try again."
        ) from error
