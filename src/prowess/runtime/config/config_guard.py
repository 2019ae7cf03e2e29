"""What no client may change in the config: what sends secrets away, runs programs, or opens doors.

A client with every scope is still only a client. Whoever sits at the machine changes these keys
with `prowess config set`, which does not pass through here. A value that stays as it is passes:
clients send the whole config back. A reference to a secret counts as such a key wherever a skill's
entry holds one, since it is followed with the rights of this process.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from prowess.errors import ConfigKeyError
from prowess.runtime.config.config_paths import Path, dotted
from prowess.runtime.config.guard import written

_Found: TypeAlias = tuple[Path, object]
_WORKSHOP = "plugins.entries.skill-workshop.config"
GUARDED = (
    "skills.routing.encoder",
    "skills.routing.encoderModel",
    "skills.routing.encoderKeyEnv",
    "skills.routing.rerank",
    "skills.model",
    "skills.safety.egress",
    "skills.install.privateHosts",
    "skills.load.allowSymlinkTargets",
    "plugins.load.paths",
    f"{_WORKSHOP}.reviewCommand",
    f"{_WORKSHOP}.reviewModel",
    "gateway.auth",
    # No settings, and yet nothing starts beside them: they are tokens in the wrong place.
    "gateway.token",
    "gateway.password",
    "gateway.allowedHosts",
    "gateway.controlUi.allowedOrigins",
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
        if written(old) != written(new):
            raise _refusal(_deepest(old, new, place))
    known = dict(_entry_values(stored))
    for path, value in _entry_values(values):
        if written(known.pop(path, None)) != written(value) and _is_guarded(path, value):
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
    key = dotted(path)
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
    changed = [key for key in keys if written(before.get(key)) != written(after.get(key))]
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
