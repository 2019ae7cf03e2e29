"""What the operator let through, as files of the state folder.

Acceptances of findings and approvals of skills of other MCP servers are private files, replaced in
one step and changed by one process at a time; what cannot be read accepts and approves nothing. The
log only grows: findings that were accepted, and variables that a skill had by the operator's word.
Names stand in it and reasons, never values.
"""

import json
import logging
import os
import stat
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from prowess.errors import StoreError, explain_failure
from prowess.host.files.state_files import (
    ACCEPTANCES_FILE,
    Hold,
    change_mapping,
    locked,
    read_mapping,
    write_private,
)
from prowess.safety.paths import shown
from prowess.safety.rules.table import Acceptance
from prowess.secrets.credentials import mask
from prowess.skills.catalog import is_of_project

FILE = "remote-skills.json"
Known = dict[str, dict[str, str]]


class RemoteApprovals:
    """Approvals by server and address; each is the hash of what was approved."""

    def __init__(self, state: str) -> None:
        self._path = os.path.join(state, FILE)

    def approved(self, server: str, uri: str) -> str | None:
        """Return the hash of the content that was approved; None where nothing was."""
        return self._read().get(server, {}).get(uri)

    def approve(self, server: str, uri: str, content_hash: str) -> None:
        """Keep an approval in place of an older one."""
        self._change(lambda known: known.setdefault(server, {}).__setitem__(uri, content_hash))

    def revoke(self, server: str, uri: str) -> None:
        """Forget an approval."""
        self._change(lambda known: known.get(server, {}).pop(uri, None))

    def _read(self) -> Known:
        try:
            return _check_approvals(read_mapping(self._path))
        except (OSError, ValueError) as error:
            logging.getLogger(__name__).warning(
                "remote.unreadable: %s: %s", self._path, type(error).__name__
            )
            return {}

    def _change(self, change: Callable[[Known], object]) -> None:
        def change_all(values: dict[str, Any]) -> None:
            known = _check_approvals(values)
            change(known)
            values.clear()
            values["approved"] = known

        change_mapping(self._path, change_all)


def _check_approvals(values: Mapping[str, Any]) -> Known:
    servers = values.get("approved")
    rows = servers.items() if isinstance(servers, dict) else ()
    return {
        server: {uri: found for uri, found in one.items() if isinstance(found, str)}
        for server, one in rows
        if isinstance(one, dict)
    }


LOG = "safety-log.jsonl"
_APPEND = (
    os.O_WRONLY
    | os.O_APPEND
    | os.O_CREAT
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOFOLLOW", 0)
)


class SafetyLog:
    """A private file of JSON lines in the state folder."""

    def __init__(self, state: str) -> None:
        self._path = os.path.join(state, LOG)

    def note(self, rows: Iterable[Mapping[str, str]]) -> None:
        """Add one line for each row.

        Raises:
            StoreError: it cannot be written.
        """
        lines = [json.dumps(dict(row)).encode() + b"\n" for row in rows]
        if not lines:
            return
        try:
            os.makedirs(os.path.dirname(self._path), stat.S_IRWXU, exist_ok=True)
            handle = os.open(self._path, _APPEND, stat.S_IRUSR | stat.S_IWUSR)
            try:
                for line in lines:
                    # One write each, so that two processes never mix their lines.
                    os.write(handle, line)
            finally:
                os.close(handle)
        except OSError as error:
            raise StoreError(self._path, f"cannot be written: {explain_failure(error)}.") from error

    def lent(self, at: str, agent_id: str, variables: Iterable[tuple[str, str]]) -> None:
        """Note which variables each skill has by the operator's word: skill and name."""
        self.note(
            {
                "time": at,
                "event": "env-allowed",
                "agent": shown(agent_id),
                "skill": shown(skill),
                "variable": shown(name),
            }
            for skill, name in variables
        )


ENTRY_FILE = "entry-sources.json"


class EntrySources:
    """By key of the config the sources that had its entry, and those that a person named."""

    def __init__(self, state: str) -> None:
        self._path = os.path.join(state, ENTRY_FILE)
        self._log = SafetyLog(state)

    def read(self) -> Mapping[str, Sequence[str]]:
        """Return what is remembered; what cannot be read is remembered by nobody."""
        try:
            return _texts(read_mapping(self._path))
        except (OSError, ValueError) as error:
            logging.getLogger(__name__).warning("entries.unreadable: %s: %s", self._path, error)
            return {}

    def bind(self, found: Mapping[str, str]) -> Mapping[str, Sequence[str]]:
        """Keep which source has each key, where nobody had it before; return all that are kept.

        The first of a key's sources is the one that it was made for. A project that came to be it
        without anybody's word gives way to a folder of the user's own.
        """
        known = self.read()
        new = _find_new(known, found)
        if not new:
            return known
        try:
            change_mapping(
                self._path, lambda stored: stored.update(_find_new(_texts(stored), found))
            )
        except StoreError as error:
            # Whoever looks needs no note of it, and the next one makes it.
            logging.getLogger(__name__).warning("entries.unkept: %s", error)
        return {**known, **new}

    def trust(self, key: str, source: str, at: str) -> None:
        """Let one more source have an entry, by a person's word.

        Raises:
            StoreError: it cannot be kept.
        """

        def add(stored: dict[str, Any]) -> None:
            stored[key] = [*_texts(stored).get(key, ()), source]

        change_mapping(self._path, add)
        row = {"time": at, "event": "entry-trusted", "key": shown(key), "source": shown(source)}
        self._log.note([row])


def _find_new(
    known: Mapping[str, Sequence[str]], found: Mapping[str, str]
) -> dict[str, Sequence[str]]:
    return {
        key: [source, *known.get(key, ())[1:]]
        for key, source in found.items()
        if key not in known or is_of_project(known[key][0]) > is_of_project(source)
    }


def _texts(rows: Mapping[str, Any]) -> dict[str, list[str]]:
    lists = {key: row for key, row in rows.items() if isinstance(row, list)}
    texts = {key: [one for one in row if isinstance(one, str)] for key, row in lists.items()}
    return {key: row for key, row in texts.items() if row}


_LONGEST_TEXT = 500
Change = Callable[[Sequence[Acceptance]], Iterable[Acceptance]]
# The names that the file has had from its first day on; a field may be called otherwise.
_KEYS = {
    "skill": "skill",
    "rule_id": "rule",
    "evidence_hash": "evidence",
    "content_hash": "content",
    "scanner": "scanner",
    "reason": "reason",
    "accepted_at": "acceptedAt",
}


class AcceptanceFile:
    """The operator's acceptances; they never come from a skill."""

    def __init__(self, state: str, hold: Hold = locked) -> None:
        self._path, self._hold = os.path.join(state, ACCEPTANCES_FILE), hold
        self._log = SafetyLog(state)

    def read(self) -> tuple[Acceptance, ...]:
        """Return all acceptances; what cannot be read counts as none, which accepts nothing."""
        try:
            return _read_acceptances(self._path)
        except (OSError, ValueError, TypeError) as error:
            logging.getLogger(__name__).warning("safety.unreadable: %s: %s", self._path, error)
            return ()

    def add(self, given: Sequence[Acceptance]) -> None:
        """Keep acceptances, each in place of an older one for the same finding."""
        new = {_key(one) for one in given}
        self._change(lambda known: [*(k for k in known if _key(k) not in new), *given])
        self._note("accepted", given)

    def remove(self, taken: Collection[Acceptance], at: str) -> None:
        """Forget acceptances; `at` is the time for the log."""
        self._change(lambda known: [one for one in known if one not in taken])
        self._note("revoked", [replace(one, accepted_at=at) for one in taken])

    def _change(self, change: Change) -> None:
        try:
            with self._hold(self._path):
                try:
                    known = _read_acceptances(self._path)
                except (ValueError, TypeError):
                    # Somebody edited it by hand and slipped: their text is kept.
                    os.replace(self._path, self._path + ".bak")
                    known = ()
                write_private(self._path, _dump_acceptances(change(known)))
        except OSError as error:
            raise StoreError(self._path, f"cannot be changed: {explain_failure(error)}.") from error

    def _note(self, event: str, about: Iterable[Acceptance]) -> None:
        self._log.note(_line(event, one) for one in about)


def _read_acceptances(path: str) -> tuple[Acceptance, ...]:
    if not os.path.exists(path):
        return ()
    rows = read_mapping(path).get("acceptances")
    if not isinstance(rows, list):
        raise TypeError("it is not the list of acceptances that was written")
    known = tuple(filter(None, map(_acceptance, rows)))
    if len(known) != len(rows):
        raise ValueError("a part of an acceptance is missing")
    return known


def _acceptance(row: object) -> Acceptance | None:
    """Return one row, or None where a part is missing: half an acceptance accepts nothing."""
    values = {
        field.name: row.get(_KEYS[field.name]) if isinstance(row, Mapping) else None
        for field in fields(Acceptance)
    }
    texts = {name: value for name, value in values.items() if isinstance(value, str)}
    return Acceptance(**texts) if len(texts) == len(values) else None


def _key(one: Acceptance) -> tuple[str, str, str]:
    return one.skill, one.rule_id, one.evidence_hash


def _row(one: Acceptance) -> dict[str, str]:
    row = {_KEYS[field.name]: getattr(one, field.name) for field in fields(one)}
    return {**row, "reason": _text(one.reason)}


def _text(text: str) -> str:
    """A secret that somebody pasted into a reason must not be kept."""
    return mask(text)[:_LONGEST_TEXT]


def _dump_acceptances(known: Iterable[Acceptance]) -> str:
    text = json.dumps({"acceptances": [_row(one) for one in known]}, indent=2) + "\n"
    return text.encode("utf-8", "replace").decode("utf-8")


def _line(event: str, one: Acceptance) -> dict[str, str]:
    return {
        "time": one.accepted_at,
        "event": event,
        "skill": shown(one.skill),
        "rule": shown(one.rule_id),
        "evidence": one.evidence_hash,
        "reason": _text(one.reason),
    }
