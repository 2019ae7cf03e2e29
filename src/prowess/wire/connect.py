"""The shapes that clients see of connections to harnesses, and of what the doctor found."""

from collections.abc import Mapping, Sequence

from prowess.runtime.harness.connect import ConnectPlan, FileChange, WrittenSettings
from prowess.runtime.harness.doctor import NAMES, DoctorLevel, Examination, HarnessHealth
from prowess.skills.text import clean
from prowess.wire.skills import Json


def connection(
    plan: ConnectPlan,
    differences: Mapping[str, Sequence[str]],
    written: Sequence[WrittenSettings] | None,
) -> Json:
    """Show what was, or would be, changed; never what else a settings file holds.

    Args:
        plan: what was planned.
        differences: the lines that differ in each file, by its path.
        written: what was written; None where nothing was to be.
    """
    kept = {one.path: one.backup for one in written or ()}
    return {
        "harness": plan.harness,
        "scope": plan.scope,
        "remove": plan.remove,
        "dryRun": written is None,
        "command": clean(plan.command),
        "changed": plan.needed,
        "files": [_file(file, differences.get(file.path, ()), kept) for file in plan.files],
        "notes": [clean(note) for note in plan.notes],
    }


def harness_health(value: HarnessHealth) -> Json:
    """Show how one harness is connected."""
    calls = value.calls
    return {
        "harness": value.harness.value,
        "title": NAMES[value.harness],
        "installed": value.version is not None,
        "version": clean(value.version or "") or None,
        "connected": [scope.value for scope in value.scopes],
        "problems": [f"{clean(path)}: {clean(text)}" for path, text in value.unreadable.items()],
        "calls": len(calls),
        "failed": sum(bool(call.problem) for call in calls),
        "lastCallAt": calls[-1].at_ms if calls else None,
        "latencyMs": value.latency_ms,
        "hintRate": value.hint_rate,
        "command": f"prowess connect {value.harness.value}",
    }


def _file(file: FileChange, lines: Sequence[str], kept: Mapping[str, str]) -> Json:
    return {
        "path": clean(file.path),
        "leadsTo": clean(file.leads_to) or None,
        "action": _action(file),
        "written": file.path in kept,
        "backup": clean(kept.get(file.path, "")) or None,
        "diff": [clean(line) for line in lines],
    }


def _action(file: FileChange) -> str:
    if not file.needed:
        return "keep"
    if file.before is None:
        return "create"
    return "remove" if file.after is None else "change"


def examination(found: Examination) -> Json:
    """Show what the doctor found, in the order in which it looked."""
    return {
        "ok": found.well,
        "problems": found.count(DoctorLevel.PROBLEM),
        "warnings": found.count(DoctorLevel.WARNING),
        "findings": [
            {
                "area": finding.area,
                "level": finding.level,
                "text": clean(finding.text),
                "todo": clean(finding.todo) or None,
            }
            for finding in found.findings
        ],
    }
