"""Switching the workshop on and off in the config file, with one of four ways to work.

A profile sets three keys and leaves the numbers alone: whoever chose another interval keeps it.
"""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from prowess.errors import ConfigKeyError
from prowess.host.config.config import ConfigFile
from prowess.host.config.writer import write

ENTRY = ("plugins", "entries", "skill-workshop")

PROFILES: Mapping[str, Mapping[str, object]] = MappingProxyType(
    {
        "conservative": {
            "autoCapture": False,
            "approvalPolicy": "pending",
            "reviewMode": "off",
        },
        "review-first": {
            "autoCapture": True,
            "approvalPolicy": "pending",
            "reviewMode": "hybrid",
        },
        "trusted": {
            "autoCapture": True,
            "approvalPolicy": "auto",
            "reviewMode": "hybrid",
        },
        "low-cost": {
            "autoCapture": True,
            "approvalPolicy": "pending",
            "reviewMode": "heuristic",
        },
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
    old, new = _flat(before), _flat(after)
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


def _flat(entry: Mapping[str, Any]) -> dict[str, object]:
    inner = entry.get("config")
    flat = {key: value for key, value in entry.items() if key != "config"}
    if isinstance(inner, Mapping):
        return flat | {f"config.{key}": value for key, value in inner.items()}
    return flat
