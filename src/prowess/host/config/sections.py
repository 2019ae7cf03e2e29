"""Typed look-ups in the config file's mapping, collecting what did not fit.

A value of the wrong type takes its default and is reported; an unknown key is kept and reported.

The parts of the config that say how messages find skills, and which model may help.

The part of the config that tells the scanner what the operator allows.

The part of the config that says how skills are learned.

The entry is off unless it says `true`; its `config` counts only then. A number out of range is
moved to the nearest bound, a value of the wrong type takes its default, and both are reported.
"""

import math
import re
from collections.abc import Mapping
from enum import Enum
from typing import Any, NamedTuple, TypeGuard, TypeVar

from prowess.host.files.read import is_path
from prowess.settings import (
    EncoderSettings,
    ModelSettings,
    RoutingSettings,
    SafetySettings,
    SettingProblem,
    WorkshopSettings,
)

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


_PREFIX = "skills.routing."
_SWITCHED_OFF = {"bundled": "none", "off": "off"}


def routing_settings(reader: Reader) -> RoutingSettings:
    """Read `skills.routing`."""
    return RoutingSettings(
        encoder=EncoderSettings(
            which=_text(reader, _PREFIX + "encoder", "bundled"),
            model=_text(reader, _PREFIX + "encoderModel", ""),
            key_env=_text(reader, _PREFIX + "encoderKeyEnv", ""),
        ),
        max_skills=reader.count(_PREFIX + "maxSkills", 3, least=0),
        load_threshold=_share(reader, _PREFIX + "loadThreshold"),
        offer_threshold=_share(reader, _PREFIX + "offerThreshold"),
        rerank=_text(reader, _PREFIX + "rerank", "off"),
    )


def model_settings(reader: Reader) -> ModelSettings:
    """Read `skills.model`."""
    return ModelSettings(
        endpoint=_text(reader, "skills.model.endpoint", ""),
        name=_text(reader, "skills.model.name", ""),
        key_env=_text(reader, "skills.model.keyEnv", ""),
    )


def _text(reader: Reader, key: str, default: str) -> str:
    value = reader.raw(key)
    if value is None:
        return default
    # People who switch something off write `false` for the word.
    if value is False and default in _SWITCHED_OFF:
        return _SWITCHED_OFF[default]
    if isinstance(value, str) and value.strip():
        return value.strip()
    reader.wrong(key, "a text")
    return default


def _share(reader: Reader, key: str) -> float | None:
    value = reader.raw(key)
    if value is None:
        return None
    if type(value) in {int, float} and math.isfinite(value) and 0 <= value <= 1:
        return float(value)
    reader.wrong(key, "a number between 0 and 1")
    return None


_EGRESS, _REVIEW = "skills.safety.egress", "skills.safety.review"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# A name or an address, and nothing that could be read as more: no scheme, port, path or star.
_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")


def safety_settings(reader: Reader) -> SafetySettings:
    """Read `skills.safety`."""
    return SafetySettings(egress=_egress(reader), review=reader.flag(_REVIEW, default=False))


def _egress(reader: Reader) -> dict[str, tuple[str, ...]]:
    """Return what is plain to read; anything else allows nothing and is reported."""
    found: dict[str, tuple[str, ...]] = {}
    for name, value in reader.mapping(_EGRESS).items():
        key = f"{_EGRESS}.{name}"
        if not _VARIABLE.fullmatch(name):
            reader.wrong(key, "the name of a variable")
            continue
        hosts = reader.as_words(key, [value] if isinstance(value, str) else value) or ()
        odd = [host for host in hosts if not _HOST.fullmatch(host)]
        if odd:
            reader.wrong(key, f"a list of hosts such as api.example.com, not {odd[0][:60]!r}")
        if plain := tuple(host.lower() for host in hosts if host not in odd):
            found[name] = plain
    return found


_ENTRY = "plugins.entries.skill-workshop"
_CONFIG = f"{_ENTRY}.config"
_KEYS = frozenset(
    (
        "enabled", "autoCapture", "approvalPolicy", "reviewMode", "reviewInterval",
        "reviewMinToolCalls", "reviewTimeoutMs", "reviewModel", "reviewCommand", "maxPending",
        "maxSkillBytes",
    )
)  # fmt: skip


class _Range(NamedTuple):
    least: int
    most: int


def workshop_settings(reader: Reader) -> WorkshopSettings:
    """Read `plugins.entries["skill-workshop"]`."""
    base = WorkshopSettings()
    entry = reader.raw(_ENTRY)
    if not isinstance(entry, Mapping):
        return base
    strays(reader, _CONFIG, reader.mapping(_CONFIG), _KEYS)
    return WorkshopSettings(
        selected=reader.flag(f"{_ENTRY}.enabled", default=False),
        enabled=reader.flag(f"{_CONFIG}.enabled", default=base.enabled),
        auto_capture=reader.flag(f"{_CONFIG}.autoCapture", default=base.auto_capture),
        approval_policy=reader.choice(f"{_CONFIG}.approvalPolicy", base.approval_policy),
        review_mode=reader.choice(f"{_CONFIG}.reviewMode", base.review_mode),
        review_interval=_number(reader, "reviewInterval", base.review_interval, _Range(1, 200)),
        review_min_tool_calls=_number(
            reader, "reviewMinToolCalls", base.review_min_tool_calls, _Range(1, 500)
        ),
        review_timeout_ms=_number(
            reader, "reviewTimeoutMs", base.review_timeout_ms, _Range(5_000, 180_000)
        ),
        review_model=_text_workshop(reader, "reviewModel"),
        review_command=reader.words(f"{_CONFIG}.reviewCommand") or (),
        max_pending=_number(reader, "maxPending", base.max_pending, _Range(1, 200)),
        max_skill_bytes=_number(
            reader, "maxSkillBytes", base.max_skill_bytes, _Range(1_024, 200_000)
        ),
    )


def _text_workshop(reader: Reader, name: str) -> str:
    value = reader.raw(f"{_CONFIG}.{name}")
    if value is None or isinstance(value, str):
        return (value or "").strip()
    reader.wrong(f"{_CONFIG}.{name}", "a text")
    return ""


def _number(reader: Reader, name: str, default: int, bounds: _Range) -> int:
    key = f"{_CONFIG}.{name}"
    value = reader.raw(key)
    if value is None:
        return default
    if type(value) not in {int, float} or not math.isfinite(value):
        reader.wrong(key, f"a number from {bounds.least} to {bounds.most}")
        return default
    kept = min(max(int(value), bounds.least), bounds.most)
    if kept != int(value):
        message = f"must be from {bounds.least} to {bounds.most}; {kept} is used"
        reader.problems.append(SettingProblem(key=key, message=message))
    return kept
