"""Typed look-ups in the config file's mapping, collecting what did not fit.

A value of the wrong type takes its default and is reported; an unknown key is kept and reported.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Any, TypeGuard, TypeVar

from prowess.host.files.read import is_path
from prowess.settings import SettingProblem

_E = TypeVar("_E", bound=Enum)
NOT_KNOWN = "is not known here; it is kept"


class Reader:
    """Typed look-ups by dotted key, collecting what did not fit."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values
        self.problems: list[SettingProblem] = []

    # A config value can be anything until it is looked at.
    def raw(self, key: str) -> Any:  # noqa: ANN401
        """Return whatever stands at a dotted key, else None."""
        current: Any = self._values
        for part in key.split("."):
            if not isinstance(current, Mapping) or part not in current:
                return None
            current = current[part]
        return current

    def wrong(self, key: str, wanted: str) -> None:
        """Report a value that did not fit."""
        self.problems.append(
            SettingProblem(key=key, message=f"must be {wanted}; the default is used")
        )

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

    def flag(self, key: str, *, default: bool) -> bool:
        """Return true or false; anything else is reported and the default."""
        value = self.raw(key)
        if value is None or isinstance(value, bool):
            return default if value is None else value
        self.wrong(key, "true or false")
        return default

    def count(self, key: str, default: int, *, least: int) -> int:
        """Return a whole number of at least `least`; anything else is reported and the default."""
        value = self.raw(key)
        if value is None:
            return default
        if isinstance(value, int) and not isinstance(value, bool) and value >= least:
            return value
        self.wrong(key, f"an integer of at least {least}")
        return default

    def words(self, key: str) -> tuple[str, ...] | None:
        """Return a list of strings; None where it is absent or no list."""
        return self.as_words(key, self.raw(key))

    def as_words(self, key: str, value: object) -> tuple[str, ...] | None:
        """Return `value` as a list of strings; None where it is absent or something else."""
        if value is None:
            return None
        if is_words(value):
            return tuple(item.strip() for item in value if item.strip())
        self.wrong(key, "a list of strings")
        return None

    def choice(self, key: str, default: _E) -> _E:
        """Return one of the members of an enumeration, by its value."""
        value = self.raw(key)
        if value is None:
            return default
        wanted = [str(member.value) for member in type(default)]
        word = value.strip().lower() if isinstance(value, str) else ""
        if word in wanted:
            return type(default)(word)
        self.wrong(key, f"one of {', '.join(wanted)}")
        return default


def switch(reader: Reader, key: str, value: object) -> bool | None:
    """Read an on-off switch; what is neither switches off, since that is what was tried."""
    if value is None or isinstance(value, bool):
        return value
    if str(value).strip().lower() == "true":
        return True
    message = "must be true or false; it counts as false"
    reader.problems.append(SettingProblem(key=key, message=message))
    return False


def strays(reader: Reader, key: str, entry: Mapping[str, Any], known: frozenset[str]) -> None:
    """Report keys that are not known, louder where one is right but for its case."""
    right = {name.lower(): name for name in known}
    for name in entry:
        if name in known:
            continue
        meant = right.get(str(name).lower())
        message = f"is not read; it is spelt {meant}" if meant else NOT_KNOWN
        reader.problems.append(
            SettingProblem(key=f"{key}.{name}", message=message, unknown=meant is None)
        )


def is_words(value: object) -> TypeGuard[list[str]]:
    """Return whether `value` is a list of strings that the system can use."""
    return isinstance(value, list) and all(
        isinstance(item, str) and (not item or is_path(item)) for item in value
    )
