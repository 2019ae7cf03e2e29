"""Says whether a skill may set an environment variable, and why not.

What is denied stays denied: a skill that declares `PATH` or `NODE_OPTIONS` as its own gets neither.
A declaration opens secret-like names alone; the operator's word also opens the operator's own
accounts, and nothing else. No ruling ever repeats a value.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass

from prowess.safety.environment import (
    ALWAYS_ALLOWED,
    ALWAYS_ALLOWED_PREFIXES,
    GROUPS,
    MOST_KEY_CHARACTERS,
    MOST_VALUE_BYTES,
    SECRET_LIKE,
)

_PORTABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
_BASE64_LIKE = re.compile(r"[A-Za-z0-9+/=]{80,}")
_REASONS = {group.name: group.reason for group in GROUPS}
_KEYS = {key: group.name for group in GROUPS for key in group.keys}
_PREFIXES = {prefix: group.name for group in GROUPS for prefix in group.prefixes}
_ALL_PREFIXES = tuple(_PREFIXES)
_MAY_BE_ALLOWED = frozenset(group.name for group in GROUPS if group.may_be_allowed)

# Groups whose variables can make a loader, an interpreter or a tool run code of somebody's choice.
loader_groups: frozenset[str] = frozenset(group.name for group in GROUPS if group.runs_code)


@dataclass(frozen=True, slots=True)
class Ruling:
    """Whether one variable may be set, in words that hold its name and never its value."""

    allowed: bool
    # What names are compared by: stripped and in capitals.
    key: str
    # What is set: stripped, in the skill's own spelling.
    name: str
    # A group of the table, or `name`, `value`, `undeclared`, `declared`, `allowed`, `always`,
    # `ordinary`.
    group: str
    reason: str = ""
    warnings: tuple[str, ...] = ()


def comparable(key: str) -> str:
    """Return the form by which names are compared: no case, no space around them."""
    return key.strip().upper()


def denied_group(key: str) -> str | None:
    """Return the group for which no skill may set `key`, or None."""
    key = comparable(key)
    found = _KEYS.get(key)
    if found is None and key.startswith(_ALL_PREFIXES):
        found = next(group for prefix, group in _PREFIXES.items() if key.startswith(prefix))
    return found


def is_secret_like(key: str) -> bool:
    """Say whether a name looks like one of a secret."""
    return any(pattern.search(comparable(key)) for pattern in SECRET_LIKE)


def judge(key: str, value: str, declared: Collection[str], allowed: Collection[str] = ()) -> Ruling:
    """Rule on one variable.

    Args:
        key: its name, as somebody wrote it.
        value: what it shall hold.
        declared: the names that the skill says it needs.
        allowed: the names that the operator lets this skill have, whatever it declares.
    """
    name, upper = key.strip(), comparable(key)
    lent = upper in {comparable(item) for item in allowed}
    denial = None if lent and denied_group(upper) in _MAY_BE_ALLOWED else _denial(upper)
    refusal = _name_refusal(name) or denial or _value_refusal(value)
    if refusal:
        group, reason = refusal
        return Ruling(
            allowed=False, key=_shown(upper), name=_shown(name), group=group, reason=reason
        )
    group = _open_group(upper, declared)
    if lent and (group == "undeclared" or denied_group(upper)):
        group = "allowed"
    if group == "undeclared":
        reason = "looks like a secret, and the skill does not declare it: name it in `requires.env`"
        return Ruling(allowed=False, key=upper, name=name, group=group, reason=reason)
    return Ruling(allowed=True, key=upper, name=name, group=group, warnings=_doubts(name, value))


def _denial(upper: str) -> tuple[str, str] | None:
    group = denied_group(upper)
    if group is None:
        return None
    reason = f"is not for skills to set: it {_REASONS[group]}"
    if group in _MAY_BE_ALLOWED:
        reason += "; allow it for this skill alone with `allowEnv`"
    return group, reason


def _name_refusal(name: str) -> tuple[str, str] | None:
    # Before changing case: some letters outside ASCII have capitals within it.
    if not name.isascii() or not _PORTABLE.fullmatch(name.upper()):
        # Some names are no names on purpose: shells read functions from them.
        return _denial(name.upper()) or (
            "name",
            "is no portable name: use letters A to Z, digits and underscores",
        )
    if len(name) > MOST_KEY_CHARACTERS:
        return "name", f"is longer than {MOST_KEY_CHARACTERS} characters"
    return None


def _value_refusal(value: str) -> tuple[str, str] | None:
    if "\0" in value:
        return "value", "has a value with a NUL byte, which no system can pass on"
    try:
        size = len(value.encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError:
        return "value", "has a value that cannot be written as bytes"
    if size > MOST_VALUE_BYTES:
        return "value", f"has a value of more than {MOST_VALUE_BYTES} bytes"
    return None


def _open_group(upper: str, declared: Collection[str]) -> str:
    if upper in ALWAYS_ALLOWED or upper.startswith(ALWAYS_ALLOWED_PREFIXES):
        return "always"
    if not is_secret_like(upper):
        return "ordinary"
    known = {comparable(item) for item in declared}
    return "declared" if upper in known else "undeclared"


def _doubts(name: str, value: str) -> tuple[str, ...]:
    found = []
    if _BASE64_LIKE.fullmatch(value):
        found.append(f"{name} has a long value that looks encoded: check what it is")
    if value.lstrip().startswith("() {"):
        found.append(f"{name} has a value that old shells read as a function: check what it is")
    return tuple(found)


def _shown(name: str) -> str:
    """Return a name that is safe to print, whatever it is."""
    return name[:MOST_KEY_CHARACTERS].encode("unicode_escape").decode()
