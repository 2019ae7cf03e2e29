"""Merging a change into the config, and saying what changed.

Objects merge, null deletes, lists of objects with ids merge by id. Any other list is replaced; one
that would lose entries must be named by the caller. `True` and `1` are equal in Python and not in a
file: values are compared by how they are written.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from prowess.errors import ConfigKeyError
from prowess.runtime.config.config_paths import Item, Path, dotted, matches, pattern
from prowess.runtime.config.redaction import ids, shown

_Named = Callable[[Path], bool]
# Names that mean something else to clients which are written in JavaScript.
RESERVED = frozenset(("__proto__", "prototype", "constructor"))


def merged(
    stored: Mapping[str, Any], change: Mapping[str, Any], replace_paths: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the config after a merge patch; markers for secrets are left for later.

    Raises:
        ConfigKeyError: a list would lose entries and is not named in `replace_paths`.
    """

    def named(path: Path) -> bool:
        return any(matches(path, wanted) for wanted in replace_paths)

    return _Merge(named).objects(stored, shown(stored), change, ())


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
                raise ConfigKeyError(dotted(here), "is a name that no setting may have.")
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
        new_ids = ids(new)
        if new_ids and ids(old) is not None:
            return self._by_id(old, seen, dict(zip(new_ids, new, strict=True)), path)
        if _loses(old, seen, new):
            problem = f"would lose entries: name {pattern(path)} in replacePaths to replace it."
            raise ConfigKeyError(dotted(path), problem)
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
    left = Counter(map(written, new))
    for item, mask in zip(old, seen, strict=True):
        form = next((one for one in (written(item), written(mask)) if left[one]), None)
        if form is None:
            return True
        left[form] -= 1
    return False


def changed_paths(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return the places where two configs differ, each as deep as they can be told apart."""
    return [dotted(path) for path in _changes(before, after, ())]


def _changes(before: object, after: object, path: Path) -> Iterator[Path]:
    if written(before) == written(after):
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


def written(value: object) -> str:
    """Return a value as it is compared: the same text for what a file would hold alike."""
    return json.dumps(value, sort_keys=True)
