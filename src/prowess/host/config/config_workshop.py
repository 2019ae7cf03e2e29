"""The part of the config that says how skills are learned.

The entry is off unless it says `true`; its `config` counts only then. A number out of range is
moved to the nearest bound, a value of the wrong type takes its default, and both are reported.
"""

import math
from collections.abc import Mapping
from typing import NamedTuple

from prowess.host.config.sections import Reader, strays
from prowess.settings import SettingProblem, WorkshopSettings

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
        review_model=_text(reader, "reviewModel"),
        review_command=reader.words(f"{_CONFIG}.reviewCommand") or (),
        max_pending=_number(reader, "maxPending", base.max_pending, _Range(1, 200)),
        max_skill_bytes=_number(
            reader, "maxSkillBytes", base.max_skill_bytes, _Range(1_024, 200_000)
        ),
    )


def _text(reader: Reader, name: str) -> str:
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
