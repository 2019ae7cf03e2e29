"""The shapes that clients see: skills, reports and snapshots as JSON, with camelCase names.

Text is cleaned on its way out, here or where it is printed. Nothing here carries a secret: settings
hold none and config checks have no values.
"""

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from enum import Enum
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from prowess.runtime.ports import StoredSnapshot
from prowess.runtime.service import SkillStatus, StatusReport
from prowess.settings import SettingProblem
from prowess.skills.agent_filter_snapshot import Snapshot, SnapshotSkill
from prowess.skills.catalog import Shadowed
from prowess.skills.eligibility import InstallOption, ScannerBlock
from prowess.skills.model import Diagnostic, Requirements, Skill, Tier
from prowess.skills.prompt import PromptBlock
from prowess.skills.text import clean, cut_listed

# Lists of the terminal load neither.
if TYPE_CHECKING:
    from prowess.runtime.library import LibraryEntry
    from prowess.skills.explanation import Explanation, ExplanationStep

Json = dict[str, Any]


# Whatever JSON holds.
def leave_out_nulls(value: Any) -> Any:  # noqa: ANN401
    """Leave out what is not there, at every depth, for clients that know absent and not null."""
    if isinstance(value, dict):
        return {key: leave_out_nulls(part) for key, part in value.items() if part is not None}
    return [leave_out_nulls(part) for part in value] if isinstance(value, list) else value


def pick(value: object, names: str, text: Callable[[str], str] = clean) -> Json:
    """Show attributes under the names that clients know, and texts as they may be shown.

    `name?` is null where it is empty, and `name.of.part=other` has another name for clients.
    """
    return {
        key: found if not is_optional else found or None
        for key, read, is_optional in _read_names(names)
        for found in (_show_plain(read(value), text),)
    }


@cache
def _read_names(names: str) -> tuple[tuple[str, Callable[[object], Any], bool], ...]:
    rows = []
    for name in names.split():
        path, _, key = name.partition("=")
        plain = path.rstrip("?")
        rows.append((key or to_camel(plain.removeprefix("is_")), attrgetter(plain), plain != path))
    return tuple(rows)


# Whatever an attribute holds.
def _show_plain(value: Any, text: Callable[[str], str]) -> Any:  # noqa: ANN401
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, str):
        return text(value)
    if isinstance(value, Mapping):
        return {text(str(name)): _show_plain(part, text) for name, part in value.items()}
    if isinstance(value, Collection):
        return [_show_plain(part, text) for part in value]
    return value


def to_camel(name: str) -> str:
    """Return a name as clients spell it."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def requirements(value: Requirements) -> Json:
    """Show requirements, or what of them is missing."""
    return {
        "bins": list(value.bins),
        "anyBins": list(value.any_bins),
        "env": list(value.env),
        "config": list(value.config),
        "os": list(value.os),
    }


def install_options(options: Iterable[InstallOption]) -> list[Json]:
    """Show what a person can choose to install."""
    return [pick(o, "id kind label bins") for o in options]


# Whom a skill of a source is there for: everybody on this gateway, one user, or one workspace.
SCOPES = {
    Tier.EXTRA: "gateway",
    Tier.BUNDLED: "gateway",
    Tier.MANAGED: "gateway",
    Tier.HARNESS_PERSONAL: "user",
    Tier.AGENTS_PERSONAL: "user",
    Tier.HARNESS_PROJECT: "workspace",
    Tier.AGENTS_PROJECT: "workspace",
    Tier.WORKSPACE: "workspace",
}


def skill_status(status: SkillStatus) -> Json:
    """Show one skill of a status report, every field of it."""
    skill, verdict = status.skill, status.verdict
    return {
        "name": clean(skill.name),
        "description": cut_listed(skill.description),
        "source": skill.source.tier.source_id,
        "sourceLabel": skill.source.label or None,
        "sourceScope": SCOPES[skill.source.tier],
        "bundled": skill.bundled,
        "dialect": skill.dialect.value,
        "filePath": clean(skill.path),
        "baseDir": clean(skill.folder),
        "skillKey": clean(skill.key),
        "primaryEnv": skill.metadata.primary_env or None,
        "emoji": clean(skill.metadata.emoji) or None,
        "homepage": clean(skill.metadata.homepage) or None,
        "always": skill.metadata.always,
        "eligible": verdict.eligible,
        "disabled": verdict.disabled,
        "blockedByAllowlist": verdict.blocked_by_allowlist,
        "blockedByMetadata": verdict.blocked_by_metadata,
        "blockedByScanner": verdict.blocked is not None,
        "scannerBlock": None if verdict.blocked is None else scanner_block(skill, verdict.blocked),
        "blockedByAgentFilter": status.matched is None,
        "matchedBy": None if status.matched is None else status.matched.value,
        "platformIncompatible": verdict.platform_incompatible,
        "draft": skill.is_draft,
        "modelVisible": status.model_visible,
        "userInvocable": skill.invocation.user,
        "commandVisible": status.command_visible,
        "requirements": requirements(skill.metadata.requires),
        "missing": requirements(verdict.missing),
        "configChecks": [{"path": c.path, "satisfied": c.satisfied} for c in verdict.config_checks],
        "install": install_options(verdict.install),
    }


def scanner_block(skill: Skill, block: ScannerBlock) -> Json:
    """Show why the scanner keeps a skill from use, and what a person can do about it."""
    return {
        "pending": block.is_pending,
        "findings": [
            pick(finding, "rule_id file line message evidence_hash") for finding in block.findings
        ],
        "reason": clean(block.reason),
        "fix": clean(block.find_way_out(skill.name)),
    }


_VERDICTS_SCHEMA = "openclaw.skills.security-verdicts.v1"


def security_verdicts(report: StatusReport) -> Json:
    """Show what the scanner says of each skill, in the shape of clients that ask a registry."""
    return {
        "schema": _VERDICTS_SCHEMA,
        "agentId": report.agent_id,
        "items": [_security_verdict(row.skill, row.verdict.blocked) for row in report.skills],
    }


def _security_verdict(skill: Skill, block: ScannerBlock | None) -> Json:
    passes, is_pending = block is None, block is not None and block.is_pending
    return {
        "registry": "local",
        "ok": True,
        "decision": "pass" if passes else "pending" if is_pending else "block",
        "reasons": [] if block is None else [clean(block.reason)],
        "requestedSlug": clean(skill.name),
        # A skill without a version is the one that is here.
        "requestedVersion": clean(skill.version) or "local",
        **pick(skill, "name=slug version?"),
        "displayName": clean(skill.title or skill.name),
        **pick(skill, "key=skillKey source.tier.source_id=source"),
        "securityStatus": "clean" if passes else "pending" if is_pending else "blocked",
        "securityPassed": passes,
        "scannerBlock": None if block is None else scanner_block(skill, block),
    }


def skill_detail(status: SkillStatus, resources: Sequence[str], sections: Sequence[Json]) -> Json:
    """Show all there is to know about one skill."""
    skill = status.skill
    triggers = skill.metadata.triggers
    return {
        **skill_status(status),
        **pick(skill, "description version? title?=displayName when_to_use? globs tags"),
        "triggers": pick(triggers, "any all none"),
        **pick(skill, "invocation.argument_hint?=argumentHint content_hash"),
        "frontmatter": skill.fields,
        "sections": list(sections),
        "resources": [clean(path) for path in resources],
        "diagnostics": [diagnostic(problem) for problem in skill.diagnostics],
    }


def diagnostic(problem: Diagnostic) -> Json:
    """Show one problem."""
    return pick(problem, "code severity path line message fix")


def shadowed(lost: Shadowed) -> Json:
    """Show a skill that lost its name, and to whom."""
    return pick(
        lost,
        "skill.name=name skill.path=path skill.source.tier.source_id=source"
        " winner.path=winner winner.source.tier.source_id=winnerSource",
    )


def setting_problem(problem: SettingProblem) -> Json:
    """Show a config key that was not understood."""
    return pick(problem, "key message unknown")


def report_head(report: StatusReport) -> Json:
    """Show what a status report is about."""
    entries = report.agent_filter.entries
    return {
        "agentId": report.agent_id,
        "agentSkillFilter": None if entries is None else list(entries),
        **pick(
            report,
            "agent_filter.inherited=agentSkillFilterInherited"
            " unmatched=agentSkillFilterUnmatched workspace=workspaceDir"
            " managed=managedSkillsDir",
        ),
    }


def status_report(report: StatusReport, shown: Iterable[SkillStatus]) -> Json:
    """Show `shown` of a report, and everything that is wrong with any file."""
    return {
        **report_head(report),
        "skills": [skill_status(status) for status in shown],
        "shadowed": [shadowed(lost) for lost in report.shadowed],
        "diagnostics": [diagnostic(problem) for problem in report.diagnostics],
        "configProblems": [setting_problem(problem) for problem in report.problems],
    }


def status_rows(
    report: StatusReport,
    block: PromptBlock,
    unread: "Iterable[LibraryEntry]",
    programs: Iterable[str],
) -> Json:
    """Show where every skill stands, in few bytes: what many share is said once.

    A row is a name, the number of its shape and, where it has another, its key. What is its own,
    such as its description, is for those to ask for who show it. `programs` are those that install
    others and are there.
    """
    shapes = _Shapes()
    dropped = {skill.path for skill in block.dropped}
    rows: list[list[str | int]] = []
    for status in report.skills:
        skill = status.skill
        row: list[str | int] = [clean(skill.name), shapes.find(status, skill.path in dropped)]
        rows.append(row if skill.key == skill.name else [*row, clean(skill.key)])
    rows += [[clean(entry.name), shapes.find_unread(entry)] for entry in unread]
    return {
        **{name: value for name, value in report_head(report).items() if name != _LONG},
        "shapes": shapes.shown,
        "rows": rows,
        "installers": sorted(programs),
        "configProblems": [setting_problem(problem) for problem in report.problems],
    }


# Who wants the list finds it in the config.
_LONG = "agentSkillFilter"


class _Shapes:
    """What skills have in common, each only once."""

    def __init__(self) -> None:
        self.shown: list[Json] = []
        self._known: dict[object, int] = {}

    # Called for each of thousands: by a key that is quick to make.
    def find(self, status: SkillStatus, is_cut: object) -> int:
        """Return the number of what a skill shares with others."""
        skill, verdict = status.skill, status.verdict
        key = (
            (skill.source.tier, skill.source.label, skill.bundled),
            (skill.metadata.always, skill.is_draft, status.matched, skill.invocation, is_cut),
            (verdict.disabled, verdict.blocked_by_allowlist, verdict.blocked_by_metadata),
            None if verdict.blocked is None else verdict.blocked.is_pending,
            verdict.missing,
        )
        return self._number(key, lambda: {**_shape(status), "cutFromPrompt": is_cut})

    def find_unread(self, entry: "LibraryEntry") -> int:
        """Return the number of what a file that is no skill shares with others."""
        problem = entry.diagnostics[0] if entry.diagnostics else None
        return self._number((entry.standing, problem), lambda: _show_unread(entry))

    def _number(self, key: object, shape: Callable[[], Json]) -> int:
        if key not in self._known:
            self._known[key] = len(self.shown)
            self.shown.append({name: value for name, value in shape().items() if value})
        return self._known[key]


def _shape(status: SkillStatus) -> Json:
    skill, verdict = status.skill, status.verdict
    missing = requirements(verdict.missing).items()
    return {
        "source": skill.source.tier.source_id,
        "sourceLabel": skill.source.label,
        "sourceScope": SCOPES[skill.source.tier],
        "bundled": skill.bundled,
        "always": skill.metadata.always,
        "eligible": verdict.eligible,
        "disabled": verdict.disabled,
        "blockedByAllowlist": verdict.blocked_by_allowlist,
        "blockedByMetadata": verdict.blocked_by_metadata,
        "blockedByScanner": verdict.blocked is not None,
        "scanPending": verdict.blocked is not None and verdict.blocked.is_pending,
        "blockedByAgentFilter": status.matched is None,
        "platformIncompatible": verdict.platform_incompatible,
        "draft": skill.is_draft,
        "modelVisible": status.model_visible,
        "userInvocable": skill.invocation.user,
        "missing": {kind: names for kind, names in missing if names},
    }


def _show_unread(entry: "LibraryEntry") -> Json:
    problem = entry.diagnostics[0] if entry.diagnostics else None
    return {
        "unread": entry.standing.value,
        "filePath": clean(entry.path if problem is None else problem.path),
        "reason": "" if problem is None else clean(problem.message),
        "line": None if problem is None else problem.line,
        "fix": "" if problem is None else problem.fix,
    }


def check_report(report: StatusReport, block: PromptBlock) -> Json:
    """Show the summary of a report: how many, and which, stand where."""
    groups = check_groups(report)
    dropped = [clean(skill.name) for skill in block.dropped]
    return {
        **report_head(report),
        "summary": {
            "total": len(report.skills),
            **{name: len(members) for name, members in groups.items()},
            "droppedFromPrompt": len(dropped),
            "diagnostics": len(report.diagnostics),
        },
        **groups,
        "droppedFromPrompt": dropped,
        "shadowed": [shadowed(lost) for lost in report.shadowed],
        "diagnostics": [diagnostic(problem) for problem in report.diagnostics],
        "configProblems": [setting_problem(problem) for problem in report.problems],
    }


def check_groups(report: StatusReport) -> dict[str, list[Any]]:
    """Sort the skills of a report into the groups by which people set things up."""
    rows = report.skills
    plain = [r for r in rows if not r.verdict.disabled and not r.verdict.blocked_by_allowlist]
    return {
        "eligible": _names(r for r in rows if r.verdict.eligible),
        "modelVisible": _names(r for r in rows if r.model_visible),
        "commandVisible": _names(r for r in rows if r.command_visible),
        "disabled": _names(r for r in rows if r.verdict.disabled),
        "blocked": _names(
            r for r in rows if r.verdict.blocked_by_allowlist and not r.verdict.disabled
        ),
        "agentFiltered": _names(r for r in rows if r.matched is None),
        "notInjected": [
            pick(r, "skill.name=name skill.invocation.hidden_by=reason")
            for r in rows
            if (r.usable and not r.skill.invocation.model) or r.skill.is_draft
        ],
        "missingRequirements": [
            {
                "name": clean(r.skill.name),
                "missing": requirements(r.verdict.missing),
                "install": install_options(r.verdict.install),
            }
            for r in plain
            if r.verdict.missing
        ],
        "unreadableMetadata": _names(r for r in plain if r.verdict.blocked_by_metadata),
        "blockedByScanner": [
            {"name": clean(r.skill.name), **scanner_block(r.skill, block)}
            for r in rows
            if (block := r.verdict.blocked) is not None
        ],
    }


def _names(rows: Iterable[SkillStatus]) -> list[str]:
    return [clean(row.skill.name) for row in rows]


def explanation(value: "Explanation") -> Json:
    """Show the path of one skill."""
    reason = value.reason
    return {
        **pick(value, "name agent_id visible"),
        "reason": None if reason is None else clean(reason.detail),
        "fix": None if reason is None else clean(reason.fix),
        "steps": steps(value.steps),
    }


def steps(path: Iterable["ExplanationStep"]) -> list[Json]:
    """Show the stations of a path."""
    return [pick(step, "stage passed detail fix?") for step in path]


def prompt(block: PromptBlock) -> Json:
    """Show the prompt block and what happened to get it under its budget."""
    return {
        "prompt": block.text,
        "chars": len(block.text),
        "included": [clean(skill.name) for skill in block.included],
        "dropped": [clean(skill.name) for skill in block.dropped],
        **pick(block, "description_chars omitted_because?"),
    }


def snapshot(value: Snapshot) -> Json:
    """Show a snapshot."""
    return {
        **pick(value, "agent_id version hash"),
        "prompt": value.prompt,
        "skills": _snapshot_skills(value.skills),
        "skillFilter": None if value.skill_filter is None else list(value.skill_filter),
        "resolvedSkills": [_show_resolved(skill) for skill in value.resolved],
    }


def _show_resolved(skill: Skill) -> Json:
    return {
        "name": clean(skill.name),
        "description": cut_listed(skill.description),
        **pick(skill, "path=filePath folder=baseDir source.tier.source_id=source"),
    }


def stored_snapshot(value: StoredSnapshot, *, rebuilt: bool) -> Json:
    """Show what a session holds for its turn."""
    return {
        **pick(value, "session_id agent_id version hash"),
        "rebuilt": rebuilt,
        "prompt": value.prompt,
        "skills": _snapshot_skills(value.skills),
        "skillFilter": None if value.skill_filter is None else list(value.skill_filter),
    }


def _snapshot_skills(skills: Iterable[SnapshotSkill]) -> list[Json]:
    return [pick(skill, "name key=skillKey primary_env? required_env") for skill in skills]


def error(code: str, message: str, **fields: object) -> Json:
    """Show a failure."""
    return {"error": {"code": code, "message": clean(message), **fields}}


def compact(value: Json) -> str:
    """Return `value` as JSON on one line."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def moment(seconds: float) -> str:
    """Show a time, in UTC."""
    try:
        found = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError):
        # It comes from a file like any other, which may say anything.
        found = datetime.fromtimestamp(0, UTC)
    return found.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def percent(value: float | None) -> float | None:
    """Return a share as people read it; None stays None."""
    return None if value is None else round(100 * value, 2)
