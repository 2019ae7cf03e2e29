"""Reading and changing the config for clients that must not see its secrets.

A client gets a marker in place of each secret and sends the marker back. A change counts only
against the text that the client read, known by its hash. No answer and no message holds a value of
the config, but for what can be shown. A skill's entry is merged and not replaced: CR and LF of a
pasted key go, an empty text deletes, and a name that is no variable's is never repeated in a
message, since people paste `NAME=value` there.
"""

import hashlib
import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial, reduce
from typing import Any, Protocol, TypeAlias

from prowess.errors import ConfigConflictError, ConfigKeyError, ConfigSyntaxError
from prowess.runtime.config.redaction import (
    REDACTED,
    RESERVED,
    find_changes,
    matches,
    merge_patch,
    redact,
    refuse_crowds,
    refuse_guarded,
    restore,
    show_config,
    show_entry,
    write_canonical,
    write_path,
)
from prowess.safety.environment import find_group, judge
from prowess.settings import SETTINGS, SettingProblem
from prowess.skills.text import is_plain, one_line, strict_loads

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LONGEST_KEY = 200


def check_key(skill_key: str) -> str:
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


def change_entry(
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
        lent = entry.get("allowEnv")
        for name, value in env.items():
            _refuse_denied(name, _strip_breaks(value), path, lent if isinstance(lent, list) else ())
        variables = _change_env(_object(entry, "env", path), env, (*path, "env"))
        entry = {**entry, "env": variables}
        if not variables:
            del entry["env"]
    if not entry and key not in entries:
        return dict(stored)
    entries = {**entries, key: entry} if entry else {k: v for k, v in entries.items() if k != key}
    return {**stored, "skills": {**skills, "entries": entries}}


def find_given(env: Mapping[str, str] | None) -> frozenset[str]:
    """Return which variables a call gives a value of its own; a marker gives none."""
    pairs = env.items() if env is not None else ()
    return frozenset(
        name.strip() for name, value in pairs if _strip_breaks(value) not in ("", REDACTED)
    )


def _object(outer: Mapping[str, Any], name: str, path: tuple[str, ...]) -> dict[str, Any]:
    value = outer.get(name)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ConfigKeyError(write_path((*path, name)), "is not an object: correct it first.")
    return dict(value)


def _change_env(
    stored: dict[str, Any], env: Mapping[str, str], path: tuple[str, ...]
) -> dict[str, Any]:
    for given, value in env.items():
        name = given.strip()
        if not name:
            continue
        if not _VARIABLE.fullmatch(name):
            problem = "has a name that is none of a variable: use letters, digits and _ alone."
            raise ConfigKeyError(write_path(path), problem)
        _put(stored, name, value, path)
    return stored


def _refuse_denied(name: str, value: str, path: tuple[str, ...], lent: Collection[object]) -> None:
    """Refuse what no skill may set; what is stored may be kept or deleted."""
    if value in ("", REDACTED) or not _VARIABLE.fullmatch(name.strip()):
        return
    # Declared, and an account allowed: what is refused then is refused to every skill. What only
    # looks as if it ran code is for the people at the machine to allow first.
    group = find_group(name)
    is_guess = group is not None and group.form is not None
    ruling = judge(name, value, (name,), tuple(map(str, lent)) if is_guess else (name,))
    if not ruling.allowed:
        raise ConfigKeyError(write_path((*path, "env", ruling.name)), f"{ruling.reason}.")


def _strip_breaks(given: str) -> str:
    return given.replace("\r", "").replace("\n", "").strip()


def _put(target: dict[str, Any], name: str, given: str, path: tuple[str, ...]) -> None:
    value = _strip_breaks(given)
    if value == REDACTED:
        return
    if "\0" in value or not is_plain(value) or REDACTED in value:
        raise ConfigKeyError(
            write_path((*path, name)), "holds what no variable can: type it again."
        )
    if value:
        target[name] = value
    else:
        target.pop(name, None)


Json: TypeAlias = dict[str, Any]
_MOST_NAMED, _LONGEST_NAME = 10, 80
# What some checks say about the value that they met: it is quoted, or it ends the sentence.
_MET = re.compile(r"(?:, not|:) .*|\s*(?:'.*'|\".*\")")


class ConfigText(Protocol):
    """The config file, as text."""

    @property
    def path(self) -> str:
        """Where it is, or would be."""

    def read(self) -> bytes | None:
        """Return its bytes, or None where there is no file.

        Raises:
            ConfigError: it cannot be read.
        """

    def stored(self, content: bytes) -> Json:
        """Understand what the file holds.

        Raises:
            ConfigSyntaxError: it is not JSON5.
        """

    def submitted(self, text: str) -> Json:
        """Understand what a client sends; never slow, whatever it is.

        Raises:
            ConfigSyntaxError: it is not JSON5.
        """

    def lock(self) -> AbstractContextManager[None]:
        """Keep every other writer out.

        Raises:
            ConfigError: there can be no lock.
        """

    def write(self, text: str, previous: bytes | None) -> None:
        """Replace the file in one step, for its owner alone; comments of the old one are kept.

        Raises:
            ConfigError: it cannot be written.
        """


Check: TypeAlias = Callable[[Mapping[str, Any]], Sequence[SettingProblem]]


class ConfigEdits:
    """The config as clients see and change it."""

    def __init__(self, store: ConfigText, *, check: Check, changed: Callable[[str], None]) -> None:
        self._store, self._check = store, check
        # Called with the new hash, after the lock was let go.
        self._changed = changed

    def get(self) -> Json:
        """Return the config with a marker for each secret, and the hash of the file.

        Raises:
            ConfigError: the file cannot be read at all.
        """
        content = self._store.read()
        answer = {"path": self._store.path, "exists": content is not None, "hash": _hash(content)}
        try:
            values = self._store.stored(content or b"")
        except ConfigSyntaxError as error:
            # Its text could hold a secret anywhere, so none of it is shown.
            broken = {"path": "", "message": one_line(error.problem)}
            unread: Json = {"raw": None, "parsed": {}, "config": {}, "valid": False}
            return {**answer, **unread, "issues": [broken], "warnings": []}
        safe = show_config(values)
        problems = self._check(values)
        issues = [_issue(problem) for problem in problems if not problem.unknown]
        return {
            **answer,
            "raw": None if content is None else _find_safe_text(content, values, safe),
            "parsed": safe,
            "config": safe,
            "valid": not issues,
            "issues": issues,
            "warnings": [_issue(problem) for problem in problems if problem.unknown],
        }

    def set(self, raw: str, base_hash: str | None) -> Json:
        """Replace the whole config.

        Raises:
            ConfigConflictError: it is not the one that the caller read.
            ConfigKeyError: a value, a marker, a key that clients may not change or a missing agent
                stands against it.
            ConfigError: it is not JSON5, or cannot be written.
        """
        wanted = self._store.submitted(raw)

        def change(stored: Json) -> Json:
            values = restore(wanted, stored)
            _refuse_lost_agents(stored, values, ())
            return values

        return self._edit(change, base_hash)

    def patch(self, raw: str, base_hash: str | None, replace_paths: Sequence[str] = ()) -> Json:
        """Merge a change into the config.

        Raises:
            ConfigConflictError: it is not the one that the caller read.
            ConfigKeyError: a value, a marker, a key that clients may not change, an agent that is
                not named or a list that loses entries stands against it.
            ConfigError: it is not JSON5, or cannot be written.
        """
        wanted = self._store.submitted(raw)

        def change(stored: Json) -> Json:
            values = restore(merge_patch(stored, wanted, replace_paths), stored)
            _refuse_lost_agents(stored, values, _find_named_agents(stored, wanted, replace_paths))
            return values

        return self._edit(change, base_hash)

    def update_entry(
        self,
        skill_key: str,
        # Three answers and not a flag: on, off, or not mentioned.
        enabled: bool | None = None,  # noqa: FBT001
        api_key: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Json:
        """Change a skill's entry and leave alone what is not mentioned.

        Raises:
            ConfigKeyError: the key, a variable or what is stored cannot be used.
            ConfigError: the file cannot be read or written.
        """
        key = check_key(skill_key)
        values, _, _ = self._change(
            lambda stored: change_entry(stored, key, enabled=enabled, api_key=api_key, env=env)
        )
        entry = values.get("skills", {}).get("entries", {}).get(key, {})
        return {"ok": True, "skillKey": key, "config": show_entry(entry, find_given(env))}

    def provide(self, skill_keys: Sequence[str], env: Mapping[str, str]) -> Json:
        """Give the same variables to several skills, all or none.

        Raises:
            ConfigKeyError: a key, a variable or what is stored cannot be used.
            ConfigError: the file cannot be read or written.
        """
        keys = list(dict.fromkeys(check_key(key) for key in skill_keys))
        give = partial(change_entry, enabled=None, api_key=None, env=env)
        self._change(lambda stored: reduce(give, keys, stored))
        return {"ok": True, "skillKeys": keys}

    def schema(self) -> Json:
        """Return what can be configured, as a JSON Schema with hints for forms."""
        return config_schema()

    def _change(
        self, change: Callable[[Json], Json], check: Callable[[bytes | None], None] | None = None
    ) -> tuple[Json, Sequence[str], str]:
        """Return what became of what is stored, which of it is different, and its hash."""
        with self._store.lock():
            content = self._store.read()
            if check is not None:
                check(content)
            stored = self._store.stored(content or b"")
            values = change(stored)
            paths = find_changes(stored, values)
            now = self._write(content, stored, values, paths)
        if paths:
            self._changed(now)
        return values, paths, now

    def _edit(self, change: Callable[[Json], Json], base_hash: str | None) -> Json:
        fresh = partial(self._refuse_stale, base_hash=base_hash)
        values, paths, now = self._change(change, fresh)
        answer: Json = {"ok": True} if paths else {"ok": True, "noop": True}
        answer |= {"path": self._store.path, "changedPaths": paths, "hash": now}
        return {**answer, "config": show_config(values)}

    def _refuse_stale(self, content: bytes | None, base_hash: str | None) -> None:
        given = (base_hash or "").strip()
        if not given and content is not None:
            problem = "config base hash required; re-run config.get and retry with its hash"
            raise ConfigConflictError(self._store.path, problem)
        if given and given != _hash(content):
            problem = "config changed since last load; re-run config.get and retry"
            raise ConfigConflictError(self._store.path, problem)

    def _write(
        self, content: bytes | None, stored: Json, values: Json, paths: Sequence[str]
    ) -> str:
        """Write what was changed, if anything was, and return the hash of the file."""
        if not paths:
            return _hash(content)
        self._refuse_wrong(stored, values, paths)
        refuse_guarded(stored, values)
        refuse_crowds(len(_agent_ids(stored)), len(_agent_ids(values)))
        self._store.write(_write_pretty(values), content)
        # Read again: a system may write line ends of its own.
        return _hash(self._store.read())

    def _refuse_wrong(self, stored: Json, values: Json, paths: Sequence[str]) -> None:
        """Refuse a wrong value that this change brings; one that was there before may stay."""
        before = {(problem.key, problem.message) for problem in self._check(stored)}
        for problem in self._check(values):
            is_old = (problem.key, problem.message) in before
            if not problem.unknown and not (is_old and not _touches(paths, problem.key)):
                raise ConfigKeyError(problem.key, f"{_hide_value(problem.refusal)}.")


def _hash(content: bytes | None) -> str:
    return hashlib.sha256(content or b"").hexdigest()


def _write_pretty(values: Mapping[str, Any]) -> str:
    return json.dumps(values, indent=2, ensure_ascii=False) + "\n"


def _find_safe_text(content: bytes, values: Json, safe: Json) -> str:
    """Return the file's own text only where nothing in it is hidden; comments may hide anything."""
    text = content.decode("utf-8-sig")
    if write_canonical(values) != write_canonical(safe):
        return _write_pretty(safe)
    try:
        strict_loads(text)
    except (ValueError, RecursionError):
        return _write_pretty(safe)
    return text


def _issue(problem: SettingProblem) -> Json:
    said = problem.message.removesuffix("; the default is used")
    return {"path": problem.key, "message": _hide_value(said)}


def _hide_value(said: str) -> str:
    return one_line(_MET.sub("", said))


def _touches(paths: Sequence[str], key: str) -> bool:
    return any(_is_within(key, path) or _is_within(path, key) for path in paths)


def _is_within(inner: str, outer: str) -> bool:
    return inner == outer or inner.startswith((f"{outer}.", f"{outer}["))


def _refuse_lost_agents(stored: Json, values: Json, named: Collection[str]) -> None:
    left = {*_agent_ids(values), *named}
    lost = [str(redact(name)) for name in _agent_ids(stored) if name not in left]
    if lost:
        names = one_line(", ".join(name[:_LONGEST_NAME] for name in lost[:_MOST_NAMED]))
        more = len(lost) - _MOST_NAMED
        names += f" and {more} more" if more > 0 else ""
        raise ConfigKeyError(
            "agents",
            f"this would remove {names}: send every agent, or remove one with config.patch and"
            " agents.list in replacePaths (null for agents.entries.<id>).",
        )


def _find_named_agents(stored: Json, wanted: Json, replace_paths: Sequence[str]) -> set[str]:
    """Return the agents that a patch says it removes: by their list, or each by its name."""

    def is_named(*path: str) -> bool:
        return any(matches(path[:end], one) for one in replace_paths for end in (1, 2))

    listed, entries = _agents(stored)
    named = {*(listed if is_named("agents", "list") else ())}
    named |= {*(entries if is_named("agents", "entries") else ())}
    agents = wanted.get("agents")
    changes = agents.get("entries") if isinstance(agents, dict) else None
    gone = changes.items() if isinstance(changes, dict) else ()
    return named | {name for name, change in gone if change is None}


def _agent_ids(values: Json) -> dict[str, None]:
    listed, entries = _agents(values)
    return dict.fromkeys((*listed, *entries))


def _agents(values: Json) -> tuple[list[str], list[str]]:
    """Return the agents of the list, and those of the other form."""
    agents = values.get("agents")
    if not isinstance(agents, dict):
        return [], []
    listed, entries = agents.get("list"), agents.get("entries")
    found = [
        item["id"].strip()
        for item in (listed if isinstance(listed, list) else ())
        if isinstance(item, dict) and isinstance(item.get("id"), str)
    ]
    return found, list(entries) if isinstance(entries, dict) else []


_DRAFT = "http://json-schema.org/draft-07/schema#"


def config_schema() -> dict[str, Any]:
    """Return the settings as a JSON Schema, for forms, and by place what a form should hide.

    It describes and does not judge. Every object is open: keys of other programs are kept.
    """
    root: dict[str, Any] = {"$schema": _DRAFT, "title": "Prowess", "type": "object"}
    hints: dict[str, Any] = {}
    for row in SETTINGS:
        described: dict[str, Any] = {**row.kind.schema, "description": row.meaning}
        if row.default is not None:
            described["default"] = row.default
        # A copy: places below are put into it.
        _find_place(root, row.key).update(json.loads(json.dumps(described)))
        if row.secret:
            parts = ("*" if part.startswith("<") else part for part in row.key.split("."))
            hints[".".join(parts)] = {"sensitive": True}
    return {"schema": root, "uiHints": hints}


def _find_place(root: dict[str, Any], key: str) -> dict[str, Any]:
    """Return the schema of one key, with all that lead to it."""
    current = root
    for part in key.split("."):
        name, is_item = part.removesuffix("[]"), part.endswith("[]")
        current.setdefault("type", "object")
        if name.startswith("<"):
            current = current.setdefault("additionalProperties", {})
        else:
            current = current.setdefault("properties", {}).setdefault(name, {})
        if is_item:
            current.setdefault("type", "array")
            current = current.setdefault("items", {})
    return current
