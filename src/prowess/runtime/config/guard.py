"""Merging a change into the config, what changed, and what no client may change.

Objects merge, null deletes, lists of objects with ids merge by id. Any other list is replaced; one
that would lose entries must be named by the caller. Values are compared by how they are written,
since `True` and `1` are equal in Python. What sends secrets away, runs programs or opens doors is
changed at the machine with `prowess config set`, which does not pass through here; a reference to a
secret counts as such a key, since it is followed with the rights of this process.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from prowess.errors import ConfigKeyError
from prowess.runtime.config.redaction import (
    Item,
    Path,
    matches,
    read_ids,
    show_config,
    write_path,
    write_pattern,
)
from prowess.settings import SETTINGS

_Named = Callable[[Path], bool]
# Names that mean something else to clients which are written in JavaScript.
RESERVED = frozenset(("__proto__", "prototype", "constructor"))


def merge_patch(
    stored: Mapping[str, Any], change: Mapping[str, Any], replace_paths: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the config after a merge patch; markers for secrets are left for later.

    Raises:
        ConfigKeyError: a list would lose entries and is not named in `replace_paths`.
    """

    def named(path: Path) -> bool:
        return any(matches(path, wanted) for wanted in replace_paths)

    return _Merge(named).objects(stored, show_config(stored), change, ())


class _Merge:
    """One merge, with the lists that may be replaced."""

    def __init__(self, named: _Named) -> None:
        self._named = named

    def objects(
        self, old: object, seen: object, change: Mapping[str, Any], path: Path
    ) -> dict[str, Any]:
        found = dict(old) if isinstance(old, Mapping) else {}
        masks = seen if isinstance(seen, Mapping) else {}
        for key, value in change.items():
            here = (*path, key)
            if key in RESERVED:
                raise ConfigKeyError(write_path(here), "is a name that no setting may have.")
            if value is None:
                found.pop(key, None)
            else:
                found[key] = self._any(found.get(key), masks.get(key), value, here)
        return found

    def _any(self, old: object, seen: object, change: object, path: Path) -> object:
        if isinstance(old, list) and isinstance(seen, list) and old and not self._named(path):
            return self._list(old, seen, change, path)
        return self.objects(old, seen, change, path) if isinstance(change, Mapping) else change

    def _list(self, old: list[Any], seen: list[Any], change: object, path: Path) -> object:
        new = change if isinstance(change, list) else []
        new_ids = read_ids(new)
        if new_ids and read_ids(old) is not None:
            return self._by_id(old, seen, dict(zip(new_ids, new, strict=True)), path)
        if _loses(old, seen, new):
            problem = (
                f"would lose entries: name {write_pattern(path)} in replacePaths to replace it."
            )
            raise ConfigKeyError(write_path(path), problem)
        return change

    def _by_id(
        self, old: list[Any], seen: list[Any], changes: dict[str, Any], path: Path
    ) -> list[Any]:
        found = []
        for index, (item, mask) in enumerate(zip(old, seen, strict=True)):
            change = changes.pop(item["id"], {})
            found.append(self.objects(item, mask, change, (*path, Item(index, item["id"]))))
        for change in changes.values():
            place = (*path, Item(len(found), change["id"]))
            found.append(self.objects(None, None, change, place))
        return found


def _loses(old: list[Any], seen: list[Any], new: list[Any]) -> bool:
    """Return whether an entry is gone, in the clear and behind its marker."""
    left = Counter(map(write_canonical, new))
    for item, mask in zip(old, seen, strict=True):
        form = next(
            (one for one in (write_canonical(item), write_canonical(mask)) if left[one]), None
        )
        if form is None:
            return True
        left[form] -= 1
    return False


def find_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return the places where two configs differ, each as deep as they can be told apart."""
    return [write_path(path) for path in _changes(before, after, ())]


def _changes(before: object, after: object, path: Path) -> Iterator[Path]:
    if write_canonical(before) == write_canonical(after):
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in dict.fromkeys((*before, *after)):
            if key in before and key in after:
                yield from _changes(before[key], after[key], (*path, key))
            else:
                yield (*path, key)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from _changes(old, new, (*path, Item(index)))
    else:
        yield path


def write_canonical(value: object) -> str:
    """Return a value as it is compared: the same text for what a file would hold alike."""
    return json.dumps(value, sort_keys=True)


_Found: TypeAlias = tuple[Path, object]
# Whole groups, with whatever else is written into them.
_GROUPS = ("skills.model", "gateway.auth")
GUARDED = (
    *(row.key for row in SETTINGS if row.guarded and not row.key.startswith(_GROUPS)),
    *_GROUPS,
    # No settings, and yet nothing starts beside them: they are tokens in the wrong place.
    "gateway.token",
    "gateway.password",
)
MOST_AGENTS = 500
_REFERENCE = re.compile(r"\$(?:[A-Z_][A-Z0-9_]*|\{[A-Z_][A-Z0-9_]*\})")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def refuse_guarded(stored: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Refuse a change of what is for the people at the machine alone.

    Raises:
        ConfigKeyError: such a key would get another value, or lose the one that it has.
    """
    for key in GUARDED:
        place: Path = tuple(key.split("."))
        old, new = _at(stored, place), _at(values, place)
        if write_canonical(old) != write_canonical(new):
            raise _refusal(_deepest(old, new, place))
    known = dict(_entry_values(stored))
    for path, value in _entry_values(values):
        if write_canonical(known.pop(path, None)) != write_canonical(value) and _is_guarded(
            path, value
        ):
            raise _refusal(_sayable(path))


def refuse_crowds(before: int, after: int) -> None:
    """Refuse more agents than anybody has; a file that already holds more may stay.

    Raises:
        ConfigKeyError: there would be too many.
    """
    if after > MOST_AGENTS and after > before:
        problem = f"{after} are more than {MOST_AGENTS}: add fewer through the gateway."
        raise ConfigKeyError("agents", problem)


def _refusal(path: Path) -> ConfigKeyError:
    key = write_path(path)
    return ConfigKeyError(
        key,
        "cannot be changed through the gateway, since it decides where secrets go, what is run, or"
        f" who may connect: change it on the machine itself with `prowess config set {key}`.",
    )


def _at(values: object, path: Path) -> object:
    for part in path:
        values = values.get(part) if isinstance(values, Mapping) else None
    return values


def _deepest(old: object, new: object, path: Path) -> Path:
    """Return which setting below a whole group is meant, where one alone differs."""
    before, after = (one if isinstance(one, Mapping) else {} for one in (old, new))
    keys = dict.fromkeys((*before, *after))
    changed = [
        key for key in keys if write_canonical(before.get(key)) != write_canonical(after.get(key))
    ]
    return (*path, changed[0]) if len(changed) == 1 else path


def _entry_values(values: Mapping[str, Any]) -> Iterator[_Found]:
    entries = _at(values, ("skills", "entries"))
    for key, entry in entries.items() if isinstance(entries, Mapping) else ():
        here: Path = ("skills", "entries", key)
        yield (*here, "apiKey"), _at(entry, ("apiKey",))
        yield (*here, "allowEnv"), _at(entry, ("allowEnv",))
        variables = _at(entry, ("env",))
        for name, value in variables.items() if isinstance(variables, Mapping) else ():
            yield (*here, "env", name), value


def _sayable(path: Path) -> Path:
    """Return a place without what people paste as a name, such as `NAME=value`."""
    return path if _VARIABLE.fullmatch(str(path[-1])) else path[:-1]


def _is_guarded(path: Path, value: object) -> bool:
    """Return whether a new value lends a secret: the operator's own variables, or a reference."""
    if path[3:] == ("allowEnv",):
        return value not in (None, [])
    if isinstance(value, str):
        return _REFERENCE.fullmatch(value.strip()) is not None
    return isinstance(value, Mapping) and bool(value)
