"""The policy files of this machine, and the log of what was decided.

Each line of the log names the digest of the line before it, so that none can be changed or taken
out unseen; a second file holds the last digest and the count, so that the end cannot be cut off
either. Whoever can write both files can make up a new log: keep a copy of the last digest elsewhere
if that matters (`prowess audit verify --json` prints it).
"""

import json
import logging
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from prowess.errors import PathError, ProwessError, StoreError, explain_failure
from prowess.host.files.state_files import PolicyPlaces, locked, read_mapping, write_private
from prowess.host.sharing.folder import LockedFolder, hash_folder, list_files
from prowess.host.sharing.signatures import SkillSignatures
from prowess.runtime.sharing.service import facts_of
from prowess.safety.paths import shown
from prowess.sharing.lock import LockEntry, digest_of, find_drift
from prowess.sharing.policy import (
    NOT_AS_SIGNED,
    PolicyDecision,
    PolicyEffect,
    PolicyFacts,
    PolicyLevel,
    PolicyReason,
    decide,
    find_required,
    find_unreadable,
    list_required,
    mark_broken,
    read_policy,
)
from prowess.skills.eligibility import ScannerBlock
from prowess.skills.model import Diagnostic, Severity, Skill, diagnose

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from prowess.host.store.fleet.files import LogLines

_LOG, _HEAD, _DECISIONS = "audit.jsonl", "audit.head", "decisions.json"
_MOST_POLICY = 1 << 20
_START = "0" * 64
# Of every skill they would say the same.
_TOLD_ONCE = frozenset(("unreadable", "require"))


def read_levels(files: Sequence[tuple[str, str]]) -> tuple[PolicyLevel, ...]:
    """Read policy files; one that cannot be read is a level that says so."""
    return tuple(_read_level(level, path) for level, path in files)


def _read_level(level: str, path: str) -> PolicyLevel:
    try:
        with open(path, "rb") as file:
            content = file.read(_MOST_POLICY + 1)
        if len(content) > _MOST_POLICY:
            return mark_broken(path, level, "the policy is too large to be read")
        return read_policy(content.decode(), path, level)
    except OSError as error:
        return mark_broken(path, level, f"the policy cannot be read: {explain_failure(error)}")
    except UnicodeDecodeError:
        return mark_broken(path, level, "the policy is no UTF-8 text", content.decode("latin-1"))


class PolicyGate:
    """Asks the policies of one workspace; they are read again when a file changes."""

    def __init__(self, places: PolicyPlaces, today: Callable[[], date]) -> None:
        self._places, self.today = places, today
        self._known: tuple[object, tuple[PolicyLevel, ...]] = ("", ())

    @property
    def levels(self) -> tuple[PolicyLevel, ...]:
        """All policies, the highest first."""
        stamp = self._places.stamp()
        if self._known[0] != stamp:
            self._known = stamp, read_levels(self._places.files())
        return self._known[1]

    def __call__(self, facts: PolicyFacts) -> PolicyDecision:
        """Decide about one skill."""
        return decide(self.levels, facts, self.today())


class AskedOfSkills(NamedTuple):
    """What takes time to find out about a skill, and is only asked where a policy speaks of it."""

    # What the scanner says of a skill in no lock.
    verdict: Callable[[Skill], str]
    # What was shown of its lift.
    proof: Callable[[Skill], str]


class Governor:
    """Holds the skills of a workspace against its policies, whenever they are used."""

    def __init__(
        self,
        gate: PolicyGate,
        folders: Sequence[LockedFolder],
        state: str,
        record: Callable[[Mapping[str, Any]], None],
        asked: AskedOfSkills,
    ) -> None:
        """Read nothing yet."""
        self._gate, self._folders, self._record = gate, tuple(folders), record
        self._told, self._asked = os.path.join(state, "sharing", _DECISIONS), asked
        self._signatures = SkillSignatures(state)
        self.notices: tuple[Diagnostic, ...] = ()

    def find_blocks(
        self, skills: Sequence[Skill], known: Mapping[str, ScannerBlock], disabled: Collection[str]
    ) -> dict[str, ScannerBlock]:
        """Return what the policies forbid, by path; what is decided anew is taken down.

        What the scanner keeps out already, `known`, is not asked for its verdict: it may wait for
        a scan that nobody has time for.
        """
        entries, decisions, unmet = self._read_locks(), {}, self.find_unmet(skills, disabled)
        unreadable = find_unreadable(self._gate.levels, self._gate.today())
        self.notices = tuple(map(_notice, (*unreadable, *self.find_missing(unmet))))
        for skill in skills:
            facts = self._facts(skill, entries, is_judged=skill.path in known)
            decision = self._gate(replace(facts, unmet=unmet))
            if decision.effect is not PolicyEffect.OFF:
                decisions[skill.path] = skill.name, decision
        warned = (one for one in decisions.items() if one[1][1].effect is PolicyEffect.WARN)
        self.notices += tuple(
            _notice_skill(name, reason)
            for _, (name, decision) in warned
            for reason in decision.reasons
            if not reason.waived_until and reason.rule not in _TOLD_ONCE
        )
        self._take_down({path: _brief(*found) for path, found in decisions.items()})
        return {
            path: ScannerBlock(policy=str(decision.first))
            for path, (_, decision) in decisions.items()
            if decision.effect is PolicyEffect.BLOCK
        }

    def facts(self, skill: Skill, unmet: Mapping[str, str]) -> PolicyFacts:
        """Return what the policies are asked about one skill."""
        return replace(self._facts(skill, self._read_locks()), unmet=unmet)

    @property
    def requires(self) -> bool:
        """True where a policy requires any skill."""
        return bool(list_required(self._gate.levels))

    def find_unmet(self, skills: Sequence[Skill], disabled: Collection[str]) -> dict[str, str]:
        """Return which skills are required and not there as they should be, and what is wrong."""
        required = list_required(self._gate.levels)
        if not required:
            return {}
        entries, present = self._read_locks(), {skill.name: skill for skill in skills}
        said = {name: _describe_unmet(name, present.get(name), entries) for name in required}
        said |= {
            name: "is disabled in the configuration"
            for name in required
            if name in present and present[name].path in disabled
        }
        return {name: text for name, text in said.items() if text}

    def find_missing(self, unmet: Mapping[str, str]) -> tuple[PolicyReason, ...]:
        """Return the rules that require what is not there, but for those that are waived."""
        found = find_required(self._gate.levels, unmet, self._gate.today())
        return tuple(one for one in found if not one.waived_until)

    def _facts(
        self, skill: Skill, entries: Mapping[str, LockEntry], *, is_judged: bool = False
    ) -> PolicyFacts:
        found = self._facts_unproven(skill, entries, is_judged=is_judged)
        is_asked = any(level.proof for level in self._gate.levels) and not skill.bundled
        return replace(found, proof=self._asked.proof(skill)) if is_asked else found

    def _facts_unproven(
        self, skill: Skill, entries: Mapping[str, LockEntry], *, is_judged: bool
    ) -> PolicyFacts:
        entry = entries.get(os.path.realpath(skill.folder))
        if entry is None:
            sources = (skill.source.tier.source_id, skill.folder)
            if skill.bundled:
                return PolicyFacts(skill=skill.name, sources=("bundled",), is_bundled=True)
            is_asked = not is_judged and any(level.verdict for level in self._gate.levels)
            verdict = self._asked.verdict(skill) if is_asked else "clean"
            return PolicyFacts(skill=skill.name, sources=sources, is_managed=False, verdict=verdict)
        found = list_files(skill.folder)
        extra = tuple(sorted(path for path in found if path not in entry.files))
        facts = replace(facts_of(skill.name, entry), unmanaged_files=extra)
        is_asked = bool(facts.signer) and any(level.signed for level in self._gate.levels)
        # What somebody signed is the files in the lock, and not whatever lies there by now.
        if is_asked and _differs(skill.folder, entry):
            facts = replace(facts, signer="", unsigned=NOT_AS_SIGNED)
        elif is_asked and not self._signatures.knows(entry):
            text = "its signature was not verified on this machine: run `prowess verify`"
            facts = replace(facts, signer="", unsigned=text)
        return facts

    def _read_locks(self) -> dict[str, LockEntry]:
        """Return every entry by the folder of its skill; what a damaged lock names is in none."""
        found: dict[str, LockEntry] = {}
        for folder in self._folders:
            try:
                skills = folder.read_lock().skills if folder.has_lock() else {}
            except ProwessError as error:
                logging.getLogger(__name__).warning("lock.unusable: %s", error)
                continue
            found |= {
                os.path.realpath(folder.locate(name)): entry for name, entry in skills.items()
            }
        return found

    def _take_down(self, now: Mapping[str, Mapping[str, str]]) -> None:
        try:
            before = read_mapping(self._told)
            if before == now:
                return
            for path in sorted({*before, *now}):
                if before.get(path) != now.get(path):
                    row = now.get(path) or {**before[path], "outcome": "off", "reason": ""}
                    self._record({"event": "policy", "path": path, **row})
            write_private(self._told, json.dumps(now, sort_keys=True))
        except (OSError, ValueError, StoreError) as error:
            # A folder that cannot be written keeps no log, and the policy holds all the same.
            logging.getLogger(__name__).warning("audit.unusable: %s", error)


def _differs(folder: str, entry: LockEntry) -> bool:
    try:
        return hash_folder(folder) != entry.files
    except PathError:
        return True


def _describe_unmet(name: str, skill: Skill | None, entries: Mapping[str, LockEntry]) -> str:
    """Say what is wrong with a skill that is required; empty where nothing is."""
    if skill is None:
        return "is not there: add it with `prowess add`"
    entry = entries.get(os.path.realpath(skill.folder))
    if entry is None:
        # A folder before it in the order may hold something else under its name.
        is_other = any(os.path.basename(folder) == name for folder in entries)
        return f"{shown(skill.folder)} hides the one that is locked" if is_other else ""
    try:
        drift = find_drift(entry.files, hash_folder(skill.folder) or {})
    except PathError as error:
        return str(error).removesuffix(".")
    differs = f"differs from its lock ({shown(drift.lines[0])})" if drift else ""
    return differs and f"{differs}: `prowess sync --frozen --force` brings it back"


def _notice(reason: PolicyReason) -> Diagnostic:
    code = "policy-unreadable" if reason.rule == "unreadable" else "skill-required"
    found = diagnose(code, reason.text, path=reason.path, line=reason.line)
    is_strict = reason.effect is PolicyEffect.BLOCK
    return replace(found, severity=Severity.ERROR) if is_strict else found


def _notice_skill(name: str, reason: PolicyReason) -> Diagnostic:
    text = f"{shown(name)}: {reason.text}"
    return diagnose("policy-warns", text, path=reason.path, line=reason.line)


def _brief(name: str, decision: PolicyDecision) -> dict[str, str]:
    return {"skill": name, "outcome": decision.effect.word, "reason": str(decision.first)}


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditCheck:
    """Whether the log is whole: how many lines it has, or where it breaks."""

    path: str
    lines: int
    head: str = _START
    problem: str = ""
    line: int = 0


class DecisionLog:
    """The log of one state folder."""

    def __init__(self, state: str, now: Callable[[], datetime]) -> None:
        self.path, self._now = os.path.join(state, _LOG), now
        self._head = os.path.join(state, _HEAD)

    def note(self, row: Mapping[str, Any], connection: "Connection | None" = None) -> None:
        """Add a line; in a database, together with what else is written by a connection.

        Raises:
            StoreError: it cannot be written.
        """
        del connection
        try:
            with locked(self.path):
                head = read_mapping(self._head)
                before, count = str(head.get("hash") or _START), int(head.get("lines") or 0)
                before, count = self._catch_up(before, count)
                line = self._write(row, before)
                with open(self.path, "ab") as file:
                    file.write(line + b"\n")
                    file.flush()
                    os.fsync(file.fileno())
                write_private(self._head, json.dumps({"hash": digest_of(line), "lines": count + 1}))
        except (OSError, ValueError) as error:
            said = explain_failure(error) if isinstance(error, OSError) else "its head is damaged"
            raise StoreError(shown(self.path), f"cannot be written: {said}.") from error

    def _write(self, row: Mapping[str, Any], before: str) -> bytes:
        body = {"time": self._now().isoformat(timespec="seconds"), **row, "before": before}
        return json.dumps(body, sort_keys=True, ensure_ascii=True).encode()

    def _catch_up(self, before: str, count: int) -> tuple[str, int]:
        """Take in a line that was written by a process that was killed before it said so."""
        lines = self._lines()
        if len(lines) == count + 1 and json.loads(lines[-1]).get("before") == before:
            return digest_of(lines[-1]), count + 1
        return before, count

    def read(self, most: int) -> list[dict[str, Any]]:
        """Return the last lines, the newest last; a damaged one is left out."""
        found = []
        for line in self._lines()[-most:]:
            try:
                row = json.loads(line)
            except ValueError:
                continue
            found.append(row)
        return found

    def check(self) -> AuditCheck:
        """Go through the whole chain."""
        lines, before = self._lines(), _START
        for number, line in enumerate(lines, start=1):
            try:
                said = json.loads(line).get("before")
            except (ValueError, AttributeError):
                said = None
            if said != before:
                return AuditCheck(
                    path=self.path,
                    lines=len(lines),
                    line=number,
                    problem=f"line {number} does not follow from the line before it",
                )
            before = digest_of(line)
        return AuditCheck(
            path=self.path, lines=len(lines), head=before, problem=self._end_problem(lines, before)
        )

    def _end_problem(self, lines: Sequence[bytes], head: str) -> str:
        try:
            noted = read_mapping(self._head)
        except (OSError, ValueError):
            return f"{_HEAD} cannot be read, which says where the log ends"
        if not lines and not noted:
            return ""
        if noted.get("hash") == head and noted.get("lines") == len(lines):
            return ""
        # A kill between the two files leaves one line that the second does not know yet.
        last = json.loads(lines[-1]).get("before") if lines else None
        if noted.get("lines") == len(lines) - 1 and noted.get("hash", _START) == last:
            return ""
        if noted.get("lines") == len(lines):
            return f"line {len(lines)}, the last one, was changed"
        wrong = f"the log has {len(lines)} lines and should have {noted.get('lines')}"
        return wrong if noted else f"{_HEAD} is missing, which says where the log ends"

    def _lines(self) -> list[bytes]:
        try:
            with open(self.path, "rb") as file:
                return file.read().splitlines()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StoreError(
                shown(self.path), f"cannot be read: {explain_failure(error)}."
            ) from error


class SharedDecisionLog(DecisionLog):
    """The one log of a fleet, or of several hubs: the same chain, as rows that refuse a change."""

    def __init__(self, lines: "LogLines", now: Callable[[], datetime]) -> None:
        self.path, self._now, self._shared = lines.name, now, lines

    def note(self, row: Mapping[str, Any], connection: "Connection | None" = None) -> None:
        """Add a line; in a database, together with what else is written by a connection.

        Raises:
            StoreError: it cannot be written.
        """
        self._shared.add(
            lambda last: self._write(row, digest_of(last) if last else _START), connection
        )

    def _end_problem(self, lines: Sequence[bytes], head: str) -> str:
        # The table lets nobody take a line away: there is no second place to compare it with.
        del lines, head
        return ""

    def _lines(self) -> list[bytes]:
        return self._shared.read()
