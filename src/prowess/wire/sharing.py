"""The shapes that clients see of sharing: exports, and what harnesses show of skills."""

from prowess.runtime.harness.budget import BudgetReport, HarnessBudget
from prowess.runtime.harness.export import ExportReport
from prowess.safety.model import Finding
from prowess.skills.harness.listings import Fate, Fix, ListedSkill
from prowess.skills.harness.portable import HarnessNote
from prowess.skills.harness.rules import Reader, read_rules
from prowess.skills.text import clean
from prowess.wire.skills import Json, diagnostic

EVERYBODY = "standard"


def export_report(value: ExportReport, reader: Reader | None) -> Json:
    """Show a build, and what became of it."""
    return {
        "skill": clean(value.skill.name),
        "source": clean(value.skill.path),
        "for": EVERYBODY if reader is None else reader.value,
        "name": value.name or None,
        "written": value.placed is not None,
        "result": None if value.placed is None else value.placed.value,
        "path": clean(value.written_to) or None,
        "refusal": clean(value.refusal) or None,
        "verdict": None if value.scan is None else value.scan.verdict.value,
        "files": [
            {"path": clean(path), "size": size} for path, size in (value.files or {}).items()
        ],
        "leftOut": [
            {"path": clean(left.path), "reason": clean(left.reason)} for left in value.left_out
        ],
        "changes": [
            {"subject": clean(change.subject), "detail": clean(change.detail)}
            for change in value.changes
        ],
        "harnesses": [
            {
                "harness": each.value,
                "title": read_rules()[each].title,
                "places": list(read_rules()[each].places),
                "remark": read_rules()[each].remark or None,
                "notes": [_note(note) for note in notes],
            }
            for each, notes in (value.notes or {}).items()
        ],
        "diagnostics": [diagnostic(found) for found in value.diagnostics],
        "findings": [_finding(found) for found in value.doubts],
    }


def _finding(value: Finding) -> Json:
    return {
        "rule": value.rule_id,
        "file": clean(value.file),
        "line": value.line,
        "message": clean(value.message),
    }


def _note(value: HarnessNote) -> Json:
    return {
        "weight": value.weight.value,
        "subject": clean(value.subject),
        "detail": clean(value.detail),
    }


def budget_report(value: BudgetReport) -> Json:
    """Show what each harness will list."""
    return {
        "agentId": value.agent_id,
        "workspace": clean(value.workspace),
        "window": value.window,
        "whole": value.is_whole,
        "harnesses": [harness_budget(harness) for harness in value.harnesses],
    }


def harness_budget(value: HarnessBudget) -> Json:
    """Show the list of one harness."""
    return {
        "harness": value.reader.value,
        "title": value.title,
        "limit": value.limit,
        "unit": value.unit,
        "limitFrom": value.limit_from,
        "entryLimit": value.entry_limit,
        "wanted": value.wanted,
        "used": value.used,
        "tokens": value.tokens,
        "whole": value.is_whole,
        "counts": {fate.value: value.count(fate) for fate in Fate},
        "entries": [_entry(place, entry) for place, entry in enumerate(value.entries, start=1)],
        "hidden": [clean(skill.name) for skill in value.hidden],
        "elsewhere": value.elsewhere,
        "places": list(value.places),
        "fix": None if value.is_whole else _fix(value.fix, value),
        "notes": list(value.notes),
    }


def _entry(place: int, value: ListedSkill) -> Json:
    return {
        "order": place,
        "name": clean(value.skill.name),
        "location": clean(value.skill.path),
        "fate": value.fate.value,
        "chars": value.whole,
        "shownChars": value.shown,
    }


def _fix(value: Fix, harness: HarnessBudget) -> Json:
    return {
        "enough": value.enough,
        "shorten": [
            {
                "name": clean(step.skill.name),
                "location": clean(step.skill.path),
                "chars": step.chars,
                "to": step.to,
                "by": step.by,
            }
            for step in value.shorten
        ],
        "hide": [clean(skill.name) for skill in value.hide],
        "howToHide": harness.how_to_hide or None,
        "raiseTo": value.raise_to,
        "howToRaise": harness.how_to_raise or None,
    }
