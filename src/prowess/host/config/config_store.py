"""The config file for clients of the gateway: its bytes, its lock, and a write that lasts.

The lock is the one of `prowess config set`. What a client sends is read by another reader than the
file: the quick way to read JSON5 takes minutes for some texts, and a stranger can choose the text.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from os.path import realpath
from typing import Any

from prowess.errors import ConfigError, ConfigSyntaxError
from prowess.host.config.config import ConfigFile, parse
from prowess.host.config.file import to_settings
from prowess.host.config.writer import keep_comments, replace, unwritable
from prowess.host.files.private_files import locked
from prowess.host.files.read import Content, read_bounded
from prowess.settings import SettingProblem
from prowess.skills.json_text import RepeatedKeyError, is_plain, strict_loads

# As much as the settings are read from: a larger file would be written and never read again.
_MAX_BYTES = 4_000_000
_MAX_JSON5_CHARS = 60_000
_SENT = "raw"


def problems(values: Mapping[str, Any]) -> Sequence[SettingProblem]:
    """Return what the settings would not take, or do not know."""
    return to_settings(values).problems


class ConfigStore:
    """One `prowess.json`, as text."""

    def __init__(self, config: ConfigFile) -> None:
        self._path = config.path

    @property
    def path(self) -> str:
        """Where it is, or would be."""
        return self._path

    def read(self) -> bytes | None:
        """Return its bytes, or None where there is no file.

        Raises:
            ConfigError: it cannot be read.
        """
        found = read_bounded(realpath(self._path), _MAX_BYTES)
        if found is None or isinstance(found, Content):
            return None if found is None else found.data
        raise ConfigError(self._path, f"{found.message}.")

    def stored(self, content: bytes) -> dict[str, Any]:
        """Understand what the file holds.

        Raises:
            ConfigSyntaxError: it is not JSON5.
        """
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            problem = "is not UTF-8 text; save it as UTF-8."
            raise ConfigSyntaxError(self._path, problem) from error
        return parse(self._path, text)

    def submitted(self, text: str) -> dict[str, Any]:
        """Understand what a client sends, in a time that its length bounds.

        Raises:
            ConfigSyntaxError: it is not JSON5.
        """
        values = _loads(text)
        if not isinstance(values, dict):
            raise _no_config("must hold one object, such as {}.")
        if not is_plain(values):
            raise _no_config("holds a number or a nesting that no setting needs.")
        return values

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keep every other writer out.

        Raises:
            ConfigError: there can be no lock.
        """
        with unwritable(self._path), locked(self._path):
            yield

    def write(self, text: str, previous: bytes | None) -> None:
        """Replace the file in one step, for its owner alone; comments of the old one are kept.

        Raises:
            ConfigError: it cannot be written.
        """
        if len(text.encode()) > _MAX_BYTES:
            raise ConfigError(self._path, f"would become larger than {_MAX_BYTES} bytes.")
        with unwritable(self._path):
            keep_comments(self._path, (previous or b"").decode("utf-8-sig"))
            replace(self._path, text)


def _loads(text: str) -> object:
    try:
        return strict_loads(text)
    except RepeatedKeyError as error:
        raise _no_config("repeats a key: keep one of them.") from error
    except (ValueError, RecursionError):
        if len(text) <= _MAX_JSON5_CHARS:
            return _parse_json5(text)
    problem = f"is not JSON, and too long for JSON5 ({_MAX_JSON5_CHARS} characters): send JSON."
    raise _no_config(problem)


def _no_config(problem: str) -> ConfigSyntaxError:
    return ConfigSyntaxError(_SENT, problem, field=_SENT)


def _parse_json5(text: str) -> object:
    # Imported late: what clients send is plain JSON, and the reader is slow to load.
    import json5  # noqa: PLC0415

    try:
        return json5.loads(text, allow_duplicate_keys=False)
    except (ValueError, RecursionError) as error:
        # Where, and not what: the reader repeats a part of the text in some of its messages.
        line = str(error).partition(" ")[0].removeprefix("<string>:")
        where = f" (line {line})" if line.isdigit() else ""
        raise _no_config(f"is not JSON5{where}: correct it and send it again.") from error
