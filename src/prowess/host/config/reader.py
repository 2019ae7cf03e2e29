"""Typed look-ups in the config file's mapping, collecting what did not fit.

A value of the wrong type takes its default and is reported; an unknown key is kept and reported.
"""

import math
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, TypeGuard, TypeVar

from prowess.host.files.read import is_path
from prowess.settings import SettingProblem
from prowess.settings_table import Form, Setting, find_fields

_T = TypeVar("_T")
_NOT_KNOWN = "is not known here; it is kept"
# People who switch something off write `false` for the word.
_SWITCHED_OFF = {"bundled": "none", "off": "off"}


class ConfigReader:
    """Typed look-ups by dotted key, collecting what did not fit."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values
        self.problems: list[SettingProblem] = []

    # A config value can be anything until it is looked at.
    def raw(self, key: str) -> Any:  # noqa: ANN401
        """Return whatever stands at a dotted key, else None."""
        current: Any = self._values
        for part in key.split(".") if key else ():
            if not isinstance(current, Mapping) or part not in current:
                return None
            current = current[part]
        return current

    def report(self, key: str, message: str, *, unknown: bool = False) -> None:
        """Report a value in words of its own."""
        self.problems.append(SettingProblem(key=key, message=message, unknown=unknown))

    def wrong(self, key: str, wanted: str) -> None:
        """Report a value that did not fit."""
        self.report(key, f"must be {wanted}; the default is used")

    def unknown(self, key: str) -> None:
        """Report a key that no setting has."""
        self.report(key, _NOT_KNOWN, unknown=True)

    def read_section(
        self, kind: type[_T], prefix: str, own: Mapping[str, Callable[["ConfigReader"], object]]
    ) -> _T:
        """Return a section as the table declares it.

        Args:
            kind: its dataclass.
            prefix: the key that leads to it.
            own: what reads a setting that is not read by its form, by key.
        """
        found: dict[str, object] = {}
        for field in find_fields(kind, prefix):
            if field.section is not None:
                found[field.name] = self.read_section(field.section, field.key, own)
            elif field.key in own:
                found[field.name] = own[field.key](self)
            else:
                found[field.name] = self.read(field.rows[0], field.default)
        return kind(**found)

    # What comes back has the type of the default, which only the dataclass knows.
    def read(self, row: Setting, default: Any) -> Any:  # noqa: ANN401
        """Return the value of a setting; what does not fit is reported and takes the default."""
        value = self.raw(row.key)
        return default if value is None else _FORMS[row.kind.form](self, row, value, default)

    def mapping(self, key: str) -> Mapping[str, Any]:
        """Return an object; anything else is reported and empty."""
        value = self.raw(key)
        if value is None or isinstance(value, Mapping):
            return value or {}
        self.wrong(key, "an object")
        return {}

    def items(self, key: str) -> list[Any]:
        """Return a list; anything else is reported and empty."""
        value = self.raw(key)
        if value is None or isinstance(value, list):
            return value or []
        self.wrong(key, "a list")
        return []

    def words(self, key: str, value: object) -> tuple[str, ...] | None:
        """Return `value` as a list of strings; None where it is absent or something else."""
        if value is None:
            return None
        if is_words(value):
            return tuple(item.strip() for item in value if item.strip())
        self.wrong(key, "a list of strings")
        return None

    def switch(self, key: str, value: object) -> bool | None:
        """Return an on-off switch; what is neither switches off, since that is what was tried."""
        if value is None or isinstance(value, bool):
            return value
        if str(value).strip().lower() == "true":
            return True
        self.report(key, "must be true or false; it counts as false")
        return False

    def report_strays(self, key: str, entry: Mapping[str, Any], known: frozenset[str]) -> None:
        """Report keys that are not known, louder where one is right but for its case."""
        right = {name.lower(): name for name in known}
        for name in entry:
            meant = right.get(str(name).lower())
            if meant is None:
                self.unknown(f"{key}.{name}")
            elif name != meant:
                self.report(f"{key}.{name}", f"is not read; it is spelt {meant}")


def is_words(value: object) -> TypeGuard[list[str]]:
    """Return whether `value` is a list of strings that the system can use."""
    return isinstance(value, list) and all(
        isinstance(item, str) and (not item or is_path(item)) for item in value
    )


def is_count(value: object, least: int) -> TypeGuard[int]:
    """Return whether `value` is a whole number of at least `least`."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _flag(reader: ConfigReader, row: Setting, value: object, default: object) -> object:
    if isinstance(value, bool):
        return value
    reader.wrong(row.key, "true or false")
    return default


def _count(reader: ConfigReader, row: Setting, value: object, default: object) -> object:
    if is_count(value, row.kind.least):
        return value
    reader.wrong(row.key, f"an integer of at least {row.kind.least}")
    return default


def _clamped(reader: ConfigReader, row: Setting, value: object, default: object) -> object:
    least, most = row.kind.least, row.kind.most
    if not _is_number(value):
        reader.wrong(row.key, f"a number from {least} to {most}")
        return default
    nearest = min(max(int(value), least), most)
    if nearest != int(value):
        reader.report(row.key, f"must be from {least} to {most}; {nearest} is used")
    return nearest


def _share(reader: ConfigReader, row: Setting, value: object, default: object) -> object:
    if _is_number(value) and 0 <= value <= 1:
        return float(value)
    reader.wrong(row.key, "a number between 0 and 1")
    return default


def _text(reader: ConfigReader, row: Setting, value: object, default: object) -> object:
    if value is False and default in _SWITCHED_OFF:
        return _SWITCHED_OFF[str(default)]
    if isinstance(value, str) and (value.strip() or row.kind.form is Form.BLANK_TEXT):
        return value.strip()
    reader.wrong(row.key, "a text")
    return default


def _words(reader: ConfigReader, row: Setting, value: object, default: object) -> object:
    found = reader.words(row.key, value)
    if found is None:
        return default
    return found if isinstance(default, tuple) else frozenset(found)


def _choice(reader: ConfigReader, row: Setting, value: object, default: object) -> object:
    is_strict = not isinstance(default, Enum)
    word = value if is_strict or not isinstance(value, str) else value.strip().lower()
    if word in row.kind.choices:
        return type(default)(word) if isinstance(default, Enum) else word
    reader.wrong(row.key, f"one of {', '.join(row.kind.choices)}")
    return default


_FORMS: Mapping[Form, Callable[[ConfigReader, Setting, object, object], object]] = {
    Form.FLAG: _flag,
    Form.COUNT: _count,
    Form.CLAMPED: _clamped,
    Form.SHARE: _share,
    Form.TEXT: _text,
    Form.BLANK_TEXT: _text,
    Form.WORDS: _words,
    Form.CHOICE: _choice,
}
