"""One skill's entry in the config: its switch, its key and its variables, merged and not replaced.

A key that was pasted ends in a line break more often than not, so line breaks go; an empty text
deletes, and the marker keeps what is stored. A name that is no variable's is never repeated in a
message: people paste `NAME=value` where only the name belongs.
"""

import re
from collections.abc import Mapping
from typing import Any

from prowess.errors import ConfigKeyError
from prowess.runtime.config.config_paths import dotted
from prowess.runtime.config.guard import RESERVED
from prowess.runtime.config.redaction import REDACTED
from prowess.safety.environment_policy import judge
from prowess.skills.json_text import is_plain

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LONGEST_KEY = 200


def checked_key(skill_key: str) -> str:
    """Return the key of an entry, trimmed.

    Raises:
        ConfigKeyError: no entry can have it.
    """
    key = skill_key.strip()
    if not key:
        raise ConfigKeyError("skillKey", "is blank: give the key that skills.status lists.")
    if key in (*RESERVED, REDACTED) or len(key) > _LONGEST_KEY or not key.isprintable():
        raise ConfigKeyError("skillKey", "cannot be used: give the key that skills.status lists.")
    return key


def changed_entry(
    stored: Mapping[str, Any],
    key: str,
    *,
    enabled: bool | None,
    api_key: str | None,
    env: Mapping[str, str] | None,
) -> dict[str, Any]:
    """Return the config with one entry changed; an entry that says nothing is left out.

    Raises:
        ConfigKeyError: a variable has no usable name or is for no skill to set, or what is stored
            is no object.
    """
    skills = _object(stored, "skills", ())
    entries = _object(skills, "entries", ("skills",))
    path = ("skills", "entries", key)
    entry = _object(entries, key, path[:2])
    if enabled is not None:
        entry["enabled"] = enabled
    if api_key is not None:
        _put(entry, "apiKey", api_key, path)
    if env is not None:
        variables = _changed_env(_object(entry, "env", path), env, (*path, "env"))
        entry = {**entry, "env": variables}
        if not variables:
            del entry["env"]
    if not entry and key not in entries:
        return dict(stored)
    entries = {**entries, key: entry} if entry else {k: v for k, v in entries.items() if k != key}
    return {**stored, "skills": {**skills, "entries": entries}}


def given_variables(env: Mapping[str, str] | None) -> frozenset[str]:
    """Return which variables a call gives a value of its own; a marker gives none."""
    pairs = env.items() if env is not None else ()
    return frozenset(name.strip() for name, value in pairs if _typed(value) not in ("", REDACTED))


def _object(outer: Mapping[str, Any], name: str, path: tuple[str, ...]) -> dict[str, Any]:
    value = outer.get(name)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ConfigKeyError(dotted((*path, name)), "is not an object: correct it first.")
    return dict(value)


def _changed_env(
    stored: dict[str, Any], env: Mapping[str, str], path: tuple[str, ...]
) -> dict[str, Any]:
    for given, value in env.items():
        name = given.strip()
        if not name:
            continue
        if not _VARIABLE.fullmatch(name):
            problem = "has a name that is none of a variable: use letters, digits and _ alone."
            raise ConfigKeyError(dotted(path), problem)
        _refuse_denied(name, _typed(value), path)
        _put(stored, name, value, path)
    return stored


def _refuse_denied(name: str, value: str, path: tuple[str, ...]) -> None:
    """Refuse what no skill may set; what is stored may be kept or deleted."""
    if value in ("", REDACTED):
        return
    # Declared and allowed: what is refused then is refused to every skill.
    ruling = judge(name, value, (name,), (name,))
    if not ruling.allowed:
        raise ConfigKeyError(dotted((*path, ruling.name)), f"{ruling.reason}.")


def _typed(given: str) -> str:
    return given.replace("\r", "").replace("\n", "").strip()


def _put(target: dict[str, Any], name: str, given: str, path: tuple[str, ...]) -> None:
    value = _typed(given)
    if value == REDACTED:
        return
    if "\0" in value or not is_plain(value) or REDACTED in value:
        raise ConfigKeyError(dotted((*path, name)), "holds what no variable can: type it again.")
    if value:
        target[name] = value
    else:
        target.pop(name, None)
