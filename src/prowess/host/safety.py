"""What the operator accepted of the scanner's findings: a file of the state folder, and a log.

The file is private, replaced in one step and changed by one process at a time. The log only grows:
who asks later why something was let in finds there what was accepted, when, and why.
"""

import json
import logging
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import fields, replace

from prowess.errors import StoreError
from prowess.host.files.private_files import locked, write_private
from prowess.host.safety_log import SafetyLog
from prowess.safety.paths import shown
from prowess.safety.rules.acceptance import Acceptance
from prowess.safety.secrets import mask

FILE = "safety-acceptances.json"
_MAX_CHARS = 16_000_000
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

    def __init__(self, state: str) -> None:
        self._path = os.path.join(state, FILE)
        self._log = SafetyLog(state)

    def read(self) -> tuple[Acceptance, ...]:
        """Return all acceptances; what cannot be read counts as none, which accepts nothing."""
        try:
            return _parsed(self._path)
        except (OSError, ValueError, TypeError, RecursionError) as error:
            logging.getLogger(__name__).warning("safety.unreadable: %s: %s", self._path, error)
            return ()

    def add(self, given: Sequence[Acceptance]) -> None:
        """Keep acceptances, each in place of an older one for the same finding.

        Raises:
            StoreError: they cannot be kept.
        """
        new = {_finding(one) for one in given}
        self._change(lambda known: [*(k for k in known if _finding(k) not in new), *given])
        self._note("accepted", given)

    def remove(self, taken: Collection[Acceptance], at: str) -> None:
        """Forget acceptances; `at` is the time for the log.

        Raises:
            StoreError: they cannot be forgotten.
        """
        self._change(lambda known: [one for one in known if one not in taken])
        self._note("revoked", [replace(one, accepted_at=at) for one in taken])

    def _change(self, change: Change) -> None:
        try:
            with locked(self._path):
                try:
                    known = _parsed(self._path)
                except (ValueError, TypeError, RecursionError):
                    # Somebody edited it by hand and slipped: their text is kept.
                    os.replace(self._path, self._path + ".bak")
                    known = ()
                write_private(self._path, _written(change(known)))
        except OSError as error:
            raise StoreError(self._path, f"cannot be changed: {error.strerror}.") from error

    def _note(self, event: str, about: Iterable[Acceptance]) -> None:
        self._log.note(_line(event, one) for one in about)


def _parsed(path: str) -> tuple[Acceptance, ...]:
    try:
        with open(path, encoding="utf-8") as file:
            # One character more than anything that was written: cut JSON is no JSON.
            values = json.loads(file.read(_MAX_CHARS + 1))
    except FileNotFoundError:
        return ()
    rows = values.get("acceptances") if isinstance(values, Mapping) else None
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


def _finding(one: Acceptance) -> tuple[str, str, str]:
    return one.skill, one.rule_id, one.evidence_hash


def _row(one: Acceptance) -> dict[str, str]:
    row = {_KEYS[field.name]: getattr(one, field.name) for field in fields(one)}
    return {**row, "reason": _text(one.reason)}


def _text(text: str) -> str:
    """A secret that somebody pasted into a reason must not be kept."""
    return mask(text)[:_LONGEST_TEXT]


def _written(known: Iterable[Acceptance]) -> str:
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
