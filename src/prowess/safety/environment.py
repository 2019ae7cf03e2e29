"""Whether a skill may set an environment variable, and why not.

A skill's environment reaches programs that it did not write. Most of the variables of
`environment.toml` are no secrets: they are switches by which a loader, an interpreter or a tool
runs other code, trusts other hosts or reads other files. What is denied stays denied: a skill that
declares `PATH` as its own does not get it. A declaration opens secret-like names alone; the
operator's word also opens the operator's own accounts, and nothing else. No ruling repeats a value.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache

from prowess.data import read_table, read_words
from prowess.secrets.names import is_secret_in_environment


@dataclass(frozen=True, slots=True, kw_only=True)
class VariableGroup:
    """Variables that are denied for the same reason."""

    name: str
    # Completes "NAME is not for skills to set: it …".
    reason: str
    # True where a value can make a loader, an interpreter or a tool run code of somebody's choice.
    runs_code: bool = False
    # True where the operator may let one skill have them after all, by name.
    may_be_allowed: bool = False
    keys: frozenset[str] = frozenset()
    prefixes: tuple[str, ...] = ()
    # Names that it knows by their form alone; None where it has a list.
    form: re.Pattern[str] | None = None

    def has_form_of(self, key: str) -> bool:
        """Say whether a name is of the form by which the group knows its own."""
        return self.form is not None and self.form.fullmatch(key) is not None


def _read_form(row: dict[str, str]) -> re.Pattern[str] | None:
    """Return the pattern of names such as `*_PATH`, without those that only look so."""
    forms, but = (
        "|".join(re.escape(word).replace(r"\*", ".*") for word in sorted(row.get(key, "").split()))
        for key in ("forms", "but")
    )
    return re.compile(f"(?!(?:{but})$)(?:{forms})") if forms else None


@cache
def read_groups() -> tuple[VariableGroup, ...]:
    """Return the groups of variables that a skill may not set."""
    return tuple(
        VariableGroup(
            name=name,
            reason=row["reason"],
            runs_code=row.get("runs_code", False),
            may_be_allowed=row.get("may_be_allowed", False),
            keys=read_words(row.get("keys", "")),
            prefixes=tuple(row.get("prefixes", "").split()),
            form=_read_form(row),
        )
        for name, row in read_table("safety/tables/environment.toml").items()
    )


# How text and time are shown; harmless in every program.
ALWAYS_ALLOWED = read_words("LANG LANGUAGE TZ TERM COLORTERM NO_COLOR FORCE_COLOR")
ALWAYS_ALLOWED_PREFIXES = ("LC_",)

MOST_KEY_CHARACTERS = 255
# More is set with a word about it: some programs cut a value there, or do not start at all.
USUAL_VALUE_BYTES = 32_768
# What no program can be started with on Linux: name, sign and value, and a byte at their end.
_MOST_PASSED_BYTES = 131_071


_PORTABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
# Halves that stand for a byte which is no UTF-8 are written as that byte.
_LONE_HALF = re.compile("[\ud800-\udc7f\udd00-\udfff]")
_BASE64_LIKE = re.compile(r"[A-Za-z0-9+/=]{80,}")


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


def find_group(key: str) -> VariableGroup | None:
    """Return the group for which no skill may set `key`, or None."""
    key, groups = comparable(key), read_groups()
    listed = (group for group in groups if key in group.keys)
    started = (group for group in groups if group.prefixes and key.startswith(group.prefixes))
    formed = (group for group in groups if group.has_form_of(key))
    return next(listed, None) or next(started, None) or next(formed, None)


def denied_group(key: str) -> str | None:
    """Return the name of the group for which no skill may set `key`, or None."""
    group = find_group(key)
    return group.name if group else None


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
    denied = find_group(upper)
    is_lent = lent and denied is not None and denied.may_be_allowed
    denial = None if is_lent else _deny(denied)
    refusal = _refuse_name(name) or denial or _refuse_value(value)
    if refusal:
        group, reason = refusal
        return Ruling(
            allowed=False, key=_show_name(upper), name=_show_name(name), group=group, reason=reason
        )
    group = _open_group(upper, declared)
    if lent and (group == "undeclared" or denied):
        group = "allowed"
    if group == "undeclared":
        reason = "looks like a secret, and the skill does not declare it: name it in `requires.env`"
        return Ruling(allowed=False, key=upper, name=name, group=group, reason=reason)
    return Ruling(
        allowed=True, key=upper, name=name, group=group, warnings=_find_doubts(name, value)
    )


def _deny(group: VariableGroup | None) -> tuple[str, str] | None:
    if group is None:
        return None
    reason = f"is not for skills to set: it {group.reason}"
    if group.may_be_allowed:
        reason += "; allow it for this skill alone with `allowEnv`"
    return group.name, reason


def _refuse_name(name: str) -> tuple[str, str] | None:
    # Before changing case: some letters outside ASCII have capitals within it.
    if not name.isascii() or not _PORTABLE.fullmatch(name.upper()):
        # Some names are no names on purpose: shells read functions from them.
        return _deny(find_group(name.upper())) or (
            "name",
            "is no portable name: use letters A to Z, digits and underscores",
        )
    if len(name) > MOST_KEY_CHARACTERS:
        return "name", f"is longer than {MOST_KEY_CHARACTERS} characters"
    return None


def _refuse_value(value: str) -> tuple[str, str] | None:
    if "\0" in value:
        return "value", "has a value with a NUL byte, which no system can pass on"
    if _LONE_HALF.search(value):
        return "value", "has a value that cannot be written as bytes"
    return None


def _open_group(upper: str, declared: Collection[str]) -> str:
    if upper in ALWAYS_ALLOWED or upper.startswith(ALWAYS_ALLOWED_PREFIXES):
        return "always"
    if not is_secret_in_environment(upper):
        return "ordinary"
    known = {comparable(item) for item in declared}
    return "declared" if upper in known else "undeclared"


def _find_doubts(name: str, value: str) -> tuple[str, ...]:
    found = []
    size = len(value.encode("utf-8", "surrogateescape"))
    if len(name) + size + 1 > _MOST_PASSED_BYTES:
        found.append(f"{name} has a value of {size} bytes: many systems start no program with it")
    elif size > USUAL_VALUE_BYTES:
        found.append(f"{name} has a value of {size} bytes, which is unusually long: check it")
    if _BASE64_LIKE.fullmatch(value):
        found.append(f"{name} has a long value that looks encoded: check what it is")
    if value.lstrip().startswith("() {"):
        found.append(f"{name} has a value that old shells read as a function: check what it is")
    return tuple(found)


def _show_name(name: str) -> str:
    """Return a name that is safe to print, whatever it is."""
    return name[:MOST_KEY_CHARACTERS].encode("unicode_escape").decode()
