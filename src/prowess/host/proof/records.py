"""Runs of a proof as they end, and the verdict that came out: JSON in the state folder.

A journal belongs to one skill in one text, one agent, one model and one set of tasks: whatever
changes begins a new one.
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import fields
from hashlib import sha256
from typing import Any

from prowess.errors import StoreError, explain_failure
from prowess.host.files.state_files import PROOFS_FILE, change_mapping, read_mapping
from prowess.proof.tasks import RunOutcome
from prowess.runtime.proof.prove import RunRecord
from prowess.runtime.proof.verdicts import ProofVerdict

_FOLDER = "proofs"


class JournalFile:
    """The runs of one proof, a line each."""

    def __init__(self, state: str, key: Sequence[str]) -> None:
        name = sha256("\0".join(key).encode("utf-8", "replace")).hexdigest()[:32]
        self._path = os.path.join(state, _FOLDER, f"{name}.jsonl")

    def read(self) -> list[RunRecord]:
        """Return the runs that ended; a line that was cut off by a kill is no run."""
        try:
            with open(self._path, encoding="utf-8") as file:
                lines = file.read().splitlines()
        except FileNotFoundError:
            return []
        return [record for line in lines if (record := _read(line)) is not None]

    def add(self, record: RunRecord) -> None:
        """Write one run down, on the disk before the next begins.

        Raises:
            StoreError: it cannot be written.
        """
        row = {
            "task": record.task,
            "withSkill": record.with_skill,
            "number": record.number,
            "outcome": record.outcome.value,
            "cost": record.cost,
            "problem": record.problem,
        }
        try:
            os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                # On a line of its own, also behind one that was cut off.
                file.write(f"\n{json.dumps(row)}\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise StoreError(self._path, f"cannot be written: {explain_failure(error)}.") from error


def _read(line: str) -> RunRecord | None:
    try:
        row = json.loads(line)
        return RunRecord(
            task=str(row["task"]),
            with_skill=bool(row["withSkill"]),
            number=int(row["number"]),
            outcome=RunOutcome(row["outcome"]),
            cost=float(row["cost"]),
            problem=str(row["problem"]),
        )
    except (ValueError, KeyError, TypeError):
        return None


class ProofsFile:
    """The verdicts of one state folder, by the path of the skill."""

    def __init__(self, state: str) -> None:
        self._path = os.path.join(state, PROOFS_FILE)

    def read(self) -> Mapping[str, ProofVerdict]:
        """Return them all; what cannot be read counts as none."""
        try:
            values = read_mapping(self._path)
        except (OSError, ValueError):
            return {}
        found = {}
        for path, row in values.items():
            if isinstance(row, Mapping) and (verdict := _verdict(row)) is not None:
                found[path] = verdict
        return found

    def write(self, path: str, verdict: ProofVerdict) -> None:
        """Keep the verdict on one skill.

        Raises:
            StoreError: it cannot be kept.
        """

        def change(values: dict[str, Any]) -> None:
            values[path] = verdict.fields()

        change_mapping(self._path, change)


def _verdict(row: Mapping[str, Any]) -> ProofVerdict | None:
    try:
        given = {one.name: row[one.name] for one in fields(ProofVerdict)}
        numbers = {name: float(given[name]) for name in ("mean", "low", "high")}
        return ProofVerdict(**{**given, **numbers, "tasks": int(given["tasks"])})
    except (KeyError, TypeError, ValueError):
        return None
