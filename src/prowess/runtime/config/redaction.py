"""What in the config may be a secret, its marker, and places in the config (`agents.list[0]`).

A marker goes out and comes back: `restore` puts what is stored in its place again. It stands for a
secret at one place alone, so nobody can move it to where the secret would be read in the clear. A
place is a tuple of parts and not a text, since a key may hold dots itself; in text an entry of a
list goes by its number, by its id, or as any of them (`[]`).
"""

import re
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple, TypeAlias

from prowess.errors import ConfigKeyError
from prowess.secrets.names import names_secret_text, names_setting
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
    """Return the whole config for others to read; what skills keep for themselves is masked."""
    safe = {name: redact(inner, str(name)) for name, inner in values.items()}
    skills = safe.get("skills")
    entries = skills.get("entries") if isinstance(skills, dict) else None
    for entry in entries.values() if isinstance(entries, dict) else ():
        if isinstance(entry, dict) and "config" in entry:
            entry["config"] = _mask(entry["config"])
    return safe


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
