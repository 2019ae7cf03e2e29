"""Changing the config file: by a person, by clients of the gateway, and for the workshop.

It is replaced in one step, as JSON, readable by its owner only; where the old text had comments, it
is kept beside the new one. What a client sends is read by another reader than the file: the quick
way to read JSON5 takes minutes for some texts, and a stranger can choose the text. A profile of the
workshop sets three keys and leaves the numbers alone.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from os.path import realpath
from types import MappingProxyType
from typing import Any

from prowess.errors import ConfigError, ConfigKeyError, ConfigSyntaxError, explain_failure
from prowess.host.config.file import MAX_BYTES, ConfigFile, parse, to_settings
from prowess.host.files.handles import Content, read_bounded
from prowess.host.files.state_files import Hold, locked, write_private
from prowess.settings import SETTINGS
from prowess.skills.text import RepeatedKeyError, is_plain, strict_loads


def write(config: ConfigFile, parts: Sequence[str], value: object) -> str | None:
    """Set the key with these `parts`, or remove it where `value` is None.

    Returns:
        Where the previous text was kept, if comments in it would have been lost.
    """
    with unwritable(config.path), locked(config.path):
        text = config.text()
        values = parse(config.path, text)
        _put(values, parts, value)
        backup = keep_comments(config.path, text)
        replace(config.path, json.dumps(values, indent=2, ensure_ascii=False) + "\n")
    return backup


def keep_comments(path: str, text: str) -> str | None:
    """Keep the old text beside the file if comments in it would be lost; return where.

    Raises:
        OSError: it cannot be written.
    """
    if not text.strip() or _is_plain_json(text):
        return None
    backup = path + ".bak"
    write_private(backup, text)
    return backup


def replace(path: str, text: str) -> None:
    """Replace the file in one step that lasts, name and content, through a power cut.

    Raises:
        OSError: it cannot be written.
    """
    write_private(path, text)
    # Elsewhere folders cannot be opened, and names last without being asked to.
    if hasattr(os, "O_DIRECTORY"):
        folder = os.open(os.path.dirname(os.path.realpath(path)), os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


@contextmanager
def unwritable(path: str) -> Iterator[None]:
    """Turn what the system says about a write into an error that names the file."""
    try:
        yield
    except OSError as error:
        raise ConfigError(path, f"cannot be written: {explain_failure(error)}.") from error


def _is_plain_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def split_key(key: str) -> list[str]:
    """Split a dotted key; a part in double quotes may hold dots itself.

    Raises:
        ConfigKeyError: a part is empty.
    """
    parts = [""]
    quoted = False
    for char in key:
        if char == '"':
            quoted = not quoted
        elif char == "." and not quoted:
            parts.append("")
        else:
            parts[-1] += char
    if quoted or not all(parts):
        raise ConfigKeyError(key, "is not a dotted key such as skills.load.extraDirs.")
    return parts


def _put(values: dict[str, Any], parts: Sequence[str], value: object) -> None:
    current, key = values, ".".join(parts)
    for part in parts[:-1]:
        if value is None and part not in current:
            return
        inner = current.setdefault(part, {})
        if not isinstance(inner, dict):
            raise ConfigKeyError(key, f"{part} is not an object, so nothing can be set below it.")
        current = inner
    if value is None:
        current.pop(parts[-1], None)
    else:
        current[parts[-1]] = value


def check_value(parts: Sequence[str], value: object) -> bool:
    """Refuse a value that a known setting would not take, or that no file could hold.

    Returns:
        Whether all that it sets are settings of ours, or lead to some.

    Raises:
        ConfigKeyError: the value has the wrong type for its key.
    """
    values: dict[str, Any] = {}
    _put(values, parts, value)
    if not is_plain(values):
        raise ConfigKeyError(
            ".".join(parts),
            "cannot be written as JSON: a lone surrogate, NaN, or a number beyond 64 bits.",
        )
    problems = to_settings(values).problems
    for problem in problems:
        if not problem.unknown:
            raise ConfigKeyError(problem.key, f"{problem.refusal}.")
    return not problems and any(_leads_to(row.key, parts) for row in SETTINGS)


def _leads_to(key: str, parts: Sequence[str]) -> bool:
    pairs = zip(parts, key.replace("[]", "").split("."), strict=False)
    return all(mine == theirs or theirs.startswith("<") for mine, theirs in pairs)


def is_text(parts: Sequence[str]) -> bool:
    """Return whether a value is text whatever it looks like: a key of digits is no number."""
    return parts[-1] == "apiKey" or "env" in parts[:-1]


_MAX_JSON5_CHARS = 60_000
_SENT = "raw"


class ConfigStore:
    """One `prowess.json`, as text."""

    def __init__(self, config: ConfigFile, hold: Hold = locked) -> None:
        self._path, self._hold = config.path, hold

    @property
    def path(self) -> str:
        """Where it is, or would be."""
        return self._path

    def read(self) -> bytes | None:
        """Return its bytes, or None where there is no file."""
        found = read_bounded(realpath(self._path), MAX_BYTES)
        if found is None or isinstance(found, Content):
            return None if found is None else found.data
        raise ConfigError(self._path, f"{found.message}.")

    def stored(self, content: bytes) -> dict[str, Any]:
        """Understand what the file holds."""
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            problem = "is not UTF-8 text; save it as UTF-8."
            raise ConfigSyntaxError(self._path, problem) from error
        return parse(self._path, text)

    def submitted(self, text: str) -> dict[str, Any]:
        """Understand what a client sends, in a time that its length bounds."""
        values = _loads(text)
        if not isinstance(values, dict):
            raise _no_config("must hold one object, such as {}.")
        if not is_plain(values):
            raise _no_config("holds a number, a nesting or half a character that no setting needs.")
        return values

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keep every other writer out."""
        with unwritable(self._path), self._hold(self._path):
            yield

    def write(self, text: str, previous: bytes | None) -> None:
        """Replace the file in one step, for its owner alone; comments of the old one are kept."""
        # A larger file would be written and never read again.
        if len(text.encode()) > MAX_BYTES:
            raise ConfigError(self._path, f"would become larger than {MAX_BYTES} bytes.")
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
    import json5

    try:
        return json5.loads(text, allow_duplicate_keys=False)
    except (ValueError, RecursionError) as error:
        # Where, and not what: the reader repeats a part of the text in some of its messages.
        line = str(error).partition(" ")[0].removeprefix("<string>:")
        where = f" (line {line})" if line.isdigit() else ""
        raise _no_config(f"is not JSON5{where}: correct it and send it again.") from error


ENTRY = ("plugins", "entries", "skill-workshop")

PROFILES: Mapping[str, Mapping[str, object]] = MappingProxyType(
    {
        "conservative": {"autoCapture": False, "approvalPolicy": "pending", "reviewMode": "off"},
        "review-first": {"autoCapture": True, "approvalPolicy": "pending", "reviewMode": "hybrid"},
        "trusted": {"autoCapture": True, "approvalPolicy": "auto", "reviewMode": "hybrid"},
        "low-cost": {"autoCapture": True, "approvalPolicy": "pending", "reviewMode": "heuristic"},
    }
)


@dataclass(frozen=True, slots=True)
class Changed:
    """One key that changes; None stands for a key that is not there."""

    key: str
    before: object
    after: object


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """What would be written, and what is different about it."""

    entry: Mapping[str, object]
    changes: tuple[Changed, ...]


def plan_switch(config: ConfigFile, *, enabled: bool, profile: str = "") -> Switch:
    """Return what the entry becomes; without a profile its config stays as it is.

    Raises:
        ConfigError: the file cannot be read.
        ConfigKeyError: the file has something else where the entry belongs.
    """
    before = _entry(config.values())
    after = deepcopy(before) | {"enabled": enabled}
    inner = after.get("config")
    inner = dict(inner) if isinstance(inner, Mapping) else {}
    inner |= PROFILES.get(profile, {})
    if enabled and "enabled" in inner:
        # An entry that is on but says inside that it is off would be off.
        inner["enabled"] = True
    if inner or "config" in after:
        after["config"] = inner
    old, new = _flatten(before), _flatten(after)
    changes = tuple(
        Changed(".".join((*ENTRY, key)), old.get(key), value)
        for key, value in new.items()
        if key not in old or old[key] != value
    )
    return Switch(entry=after, changes=changes)


def carry_out(config: ConfigFile, switch: Switch) -> str | None:
    """Write it, and return where the old text was kept if its comments would have been lost.

    Raises:
        ConfigError: the file cannot be written.
    """
    return write(config, ENTRY, dict(switch.entry))


def profile_of(settings: Mapping[str, object]) -> str:
    """Return the profile with exactly these three values; empty where there is none."""
    same = (name for name, values in PROFILES.items() if settings.items() >= values.items())
    return next(same, "")


def _entry(values: Mapping[str, Any]) -> dict[str, Any]:
    found: Any = values
    for depth, part in enumerate(ENTRY, start=1):
        found = found.get(part, {})
        if not isinstance(found, Mapping):
            key = ".".join(ENTRY[:depth])
            raise ConfigKeyError(key, f"must be an object: `prowess config set {key} --unset`.")
    return dict(found)


def _flatten(entry: Mapping[str, Any]) -> dict[str, object]:
    inner = entry.get("config")
    flat = {key: value for key, value in entry.items() if key != "config"}
    if isinstance(inner, Mapping):
        return flat | {f"config.{key}": value for key, value in inner.items()}
    return flat
