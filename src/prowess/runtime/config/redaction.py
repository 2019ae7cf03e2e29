"""What in the config may be a secret, its marker, and places in the config (`agents.list[0]`).

A marker goes out and comes back: `restore` puts what is stored in its place again. It stands for a
secret at one place alone, so nobody can move it to where the secret would be read in the clear. A
place is a tuple of parts and not a text, since a key may hold dots itself; in text an entry of a
list goes by its number, by its id, or as any of them (`[]`).

A change is merged: objects merge, null deletes, lists of objects with ids merge by id. Any other
list is replaced; one that would lose entries must be named by the caller. Values are compared by
how they are written, since `True` and `1` are equal in Python. What sends secrets away, runs
programs or opens doors is changed at the machine with `prowess config set`, which does not pass
through here; a reference to a secret counts as such a key: it is followed with our rights.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from prowess.errors import ConfigKeyError
from prowess.secrets.names import names_secret_text, names_setting
from prowess.settings import SETTINGS
from prowess.skills.text import one_line

_TOKEN = re.compile(r'"(?P<quoted>[^"]*)"|\[(?P<item>[^\]]*)\]|(?P<key>[^.\[\]"]+)')
_PLAIN_KEY = re.compile(r"[^.\[\]\"\s]+")
_LONGEST = 300


class Item(NamedTuple):
    """An entry of a list."""

    number: int
    # Empty where it has none.
    id: str = ""


Path: TypeAlias = tuple[str | Item, ...]


def write_path(path: Path) -> str:
    """Return how a place is written in an answer or a message."""
    text = ""
    for part in path:
        if isinstance(part, Item):
            text += f"[{part.number}]"
        else:
            key = part if _PLAIN_KEY.fullmatch(part) else f'"{part}"'
            text += f".{key}" if text else key
    return one_line(text)[:_LONGEST] or "config"


def write_pattern(path: Path) -> str:
    """Return how a place is written where any entry of a list is meant."""
    return re.sub(r"\[\d+\]", "[]", write_path(path))


def matches(path: Path, wanted: str) -> bool:
    """Return whether `wanted` names this place."""
    tokens = list(_TOKEN.finditer(wanted))
    return len(tokens) == len(path) and all(
        _is_meant(part, token) for part, token in zip(path, tokens, strict=True)
    )


def _is_meant(part: str | Item, token: re.Match[str]) -> bool:
    if isinstance(part, Item):
        names = {"", "*", str(part.number)} | ({part.id} if part.id else set())
        return token["item"] is not None and token["item"] in names
    return part == (token["key"] if token["quoted"] is None else token["quoted"])


REDACTED = "__OPENCLAW_REDACTED__"
# A password inside an address, and the shapes of well-known keys.
_CREDENTIALS = re.compile(
    r"://[^/\s:@]*:[^/\s@]+@|\b(?:sk|pk|ghp|gho|xox[abp]|glpat)[-_][A-Za-z0-9_-]{10,}|-----BEGIN"
)
# A name and its value in an address or an option. Each run of letters is tried once: what strangers
# may write is searched here.
_ASSIGNED = re.compile(r"(?<![\w-])([\w-]++)=(?=[^&\s])")
_ASSIGNED_NAME = re.compile(r"key|auth|sig|pin")
# No well-known key is shorter.
_SHORTEST_KEY = 16
# No setting is longer; what is, is not searched and not shown.
_LONGEST_SHOWN = 8_000


def show_config(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the whole config for others to read; what the table calls secret is masked whole."""
    safe = {name: redact(inner, str(name)) for name, inner in values.items()}
    for row in SETTINGS:
        if row.secret:
            _mask_below(safe, row.key.split("."))
    return safe


def _mask_below(values: object, parts: Sequence[str]) -> None:
    if not isinstance(values, dict):
        return
    first, *rest = parts
    for name in list(values) if first.startswith("<") else [first]:
        if rest:
            _mask_below(values.get(name), rest)
        elif name in values:
            values[name] = _mask(values[name])


def show_entry(entry: Mapping[str, Any], given: Collection[str]) -> dict[str, Any]:
    """Return a skill's entry as an answer to who changed it.

    Plain variables that were just `given` can be read; what was stored before stays as hidden as it
    is in the whole config.
    """
    safe = {name: redact(inner, str(name)) for name, inner in entry.items()}
    if "config" in safe:
        safe["config"] = _mask(safe["config"])
    env = entry.get("env")
    if isinstance(env, Mapping):
        safe["env"] = {
            name: redact(value, name) if name in given and isinstance(value, str) else _mask(value)
            for name, value in env.items()
        }
    return safe


def redact(value: object, key: str = "") -> object:
    """Return `value` with everything that may be a secret replaced by a marker."""
    if names_setting(key) or (_is_text(value) and names_secret_text(key)):
        return _mask(value)
    if isinstance(value, Mapping):
        return {name: redact(inner, str(name)) for name, inner in value.items()}
    if isinstance(value, list):
        return _redact_list(value)
    return REDACTED if isinstance(value, str) and _looks_secret(value) else value


def _is_text(value: object) -> bool:
    words = value if isinstance(value, list) else [value]
    return any(isinstance(word, str) for word in words)


def _redact_list(values: list[Any]) -> list[object]:
    """A command line may carry a secret behind its option."""
    found: list[object] = []
    behind_secret = False
    for value in values:
        found.append(_mask(value) if behind_secret else redact(value))
        behind_secret = isinstance(value, str) and value.startswith("-") and names_setting(value)
    return found


def _mask(value: object) -> object:
    if isinstance(value, Mapping):
        return {name: _mask(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_mask(item) for item in value]
    return value if value is None or value == "" or isinstance(value, bool) else REDACTED


def _looks_secret(text: str) -> bool:
    if len(text) > _LONGEST_SHOWN or _CREDENTIALS.search(text) or _assigns_secret(text):
        return True
    if len(text) < _SHORTEST_KEY:
        return False
    # Late: its tables take longer to load than most commands take to run.
    from prowess.secrets.mask import hide_secrets

    # What stands in a config is used, as what stands in a trace was: an example is no excuse.
    return hide_secrets(text).text != text


def _assigns_secret(text: str) -> bool:
    for found in _ASSIGNED.finditer(text):
        is_query = text[found.start() - 1 : found.start()] in tuple("?&;")
        name = found[1] if is_query else found[1].partition("-")[2]
        if _ASSIGNED_NAME.search(name.lower()) or names_setting(name):
            return True
    return False


def restore(wanted: Mapping[str, Any], stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return `wanted` with each marker replaced by the secret that is stored at its place.

    Raises:
        ConfigKeyError: a marker stands where no secret is stored, or where it could be read.
    """
    found = _restore_map(wanted, stored, show_config(stored), ())
    _refuse_readable(wanted, show_config(found), ())
    return found


def _restore(wanted: object, stored: object, seen: object, path: Path) -> object:
    if isinstance(wanted, Mapping):
        return _restore_map(wanted, stored, seen, path)
    if isinstance(wanted, list):
        old = stored if isinstance(stored, list) else []
        return _restore_list(wanted, old, seen if isinstance(seen, list) else [], path)
    if not isinstance(wanted, str) or REDACTED not in wanted or wanted == stored:
        return wanted
    if wanted == seen == REDACTED:
        return stored
    problem = "has a marker for a stored secret, and none is stored there: give the value itself."
    raise ConfigKeyError(write_path(path), problem)


def _restore_map(
    wanted: Mapping[str, Any], stored: object, seen: object, path: Path
) -> dict[str, Any]:
    old = stored if isinstance(stored, Mapping) else {}
    masks = seen if isinstance(seen, Mapping) else {}
    return {
        key: _restore(value, old.get(key), masks.get(key), (*path, key))
        for key, value in wanted.items()
    }


def _restore_list(
    wanted: list[Any], stored: list[Any], seen: list[Any], path: Path
) -> list[object]:
    if not any(_has_marker(item) for item in wanted):
        return wanted
    places = _places(wanted, seen, path)
    found: list[object] = []
    for index, (item, place) in enumerate(zip(wanted, places, strict=True)):
        old, mask = (None, None) if place is None else (stored[place], seen[place])
        found.append(_restore(item, old, mask, (*path, Item(index))))
    return found


def _places(wanted: list[Any], seen: list[Any], path: Path) -> list[int | None]:
    """Return which stored entry each wanted one goes back to: by id, else by its number."""
    new_ids, old_ids = read_ids(wanted), read_ids(seen)
    if new_ids is not None and old_ids is not None:
        return [old_ids.index(one) if one in old_ids else None for one in new_ids]
    if len(wanted) != len(seen):
        problem = "has another length than what is stored: give its secrets in full."
        raise ConfigKeyError(write_path(path), problem)
    for item, mask in zip(wanted, seen, strict=True):
        # By its number a secret would go to another entry, and from there to another host.
        if _has_marker(item) and item != mask and item in seen:
            problem = "has another order than what is stored: give its secrets in full."
            raise ConfigKeyError(write_path(path), problem)
    return list(range(len(wanted)))


def read_ids(items: list[Any]) -> list[str] | None:
    """Return the ids of a list of objects, or None where they do not tell all of them apart."""
    found = [item.get("id") if isinstance(item, Mapping) else None for item in items]
    names = [one for one in found if isinstance(one, str) and one and one != REDACTED]
    return names if len(names) == len(set(names)) == len(items) else None


def _has_marker(value: object) -> bool:
    if isinstance(value, Mapping):
        return any(_has_marker(inner) for inner in value.values())
    if isinstance(value, list):
        return any(_has_marker(item) for item in value)
    return isinstance(value, str) and REDACTED in value


# It has the shape of what is wanted, and so it is walked without asking.
def _refuse_readable(wanted: object, seen: Any, path: Path) -> None:  # noqa: ANN401
    if isinstance(wanted, Mapping):
        for key, value in wanted.items():
            _refuse_readable(value, seen[key], (*path, key))
    elif isinstance(wanted, list):
        for index, value in enumerate(wanted):
            _refuse_readable(value, seen[index], (*path, Item(index)))
    elif wanted == REDACTED != seen:
        problem = "would show a stored secret to everybody: give it a value of its own."
        raise ConfigKeyError(write_path(path), problem)


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
                found[key] = self._merge(found.get(key), masks.get(key), value, here)
        return found

    def _merge(self, old: object, seen: object, change: object, path: Path) -> object:
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
            raise _refusal(_find_deepest(old, new, place))
    _refuse_moves(stored, values)
    known = dict(_entry_values(stored))
    for path, value in _entry_values(values):
        if write_canonical(known.pop(path, None)) != write_canonical(value) and _is_guarded(
            path, value
        ):
            raise _refusal(_trim(path))


def _refuse_moves(stored: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Refuse another workspace for an agent: whose files count is for the people at the machine.

    A new agent may work where another one does, or where agents work that name no folder.
    """
    before = {agent: folder for agent, _, folder in _workspaces(stored)}
    for agent, path, folder in _workspaces(values):
        is_free = agent not in before and folder in {None, *before.values()}
        if not is_free and write_canonical(before.get(agent)) != write_canonical(folder):
            raise _refusal(path)


def _workspaces(values: Mapping[str, Any]) -> Iterator[tuple[str, Path, Any]]:
    """Yield each agent once, as the config is read: the first of an id counts."""
    listed, named = _at(values, ("agents", "list")), _at(values, ("agents", "entries"))
    found: list[tuple[str, Path, Any]] = []
    for number, entry in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(entry, Mapping):
            here: Path = ("agents", "list", Item(number), "workspace")
            found.append((str(entry.get("id")).strip(), here, entry.get("workspace") or None))
    for name, entry in named.items() if isinstance(named, Mapping) else ():
        folder = _at(entry, ("workspace",)) or None
        found.append((name.strip(), ("agents", "entries", name, "workspace"), folder))
    seen: set[str] = set()
    for one in found:
        if one[0] not in seen:
            seen.add(one[0])
            yield one


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
    in_list = any(isinstance(part, Item) for part in path)
    way = "in its config file" if in_list else f"with `prowess config set {key}`"
    return ConfigKeyError(
        key,
        "cannot be changed through the gateway, since it decides where secrets go, what is read or"
        f" run, or who may connect: change it on the machine itself, {way}.",
    )


def _at(values: object, path: Path) -> object:
    for part in path:
        values = values.get(part) if isinstance(values, Mapping) else None
    return values


def _find_deepest(old: object, new: object, path: Path) -> Path:
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


def _trim(path: Path) -> Path:
    """Return a place without what people paste as a name, such as `NAME=value`."""
    return path if _VARIABLE.fullmatch(str(path[-1])) else path[:-1]


def _is_guarded(path: Path, value: object) -> bool:
    """Return whether a new value lends a secret: the operator's own variables, or a reference."""
    if path[3:] == ("allowEnv",):
        return value not in (None, [])
    if isinstance(value, str):
        return _REFERENCE.fullmatch(value.strip()) is not None
    return isinstance(value, Mapping) and bool(value)
