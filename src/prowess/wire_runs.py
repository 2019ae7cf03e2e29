"""The shapes that clients see of runs: commands, copies, installs and proposals as JSON."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from prowess.runtime.sync_plan import Action, Step
from prowess.skills.commands import SkillCommand
from prowess.skills.invoking import Invoked, References
from prowess.skills.text import clean
from prowess.wire import Json

if TYPE_CHECKING:
    from prowess.learning.edit import Edit
    from prowess.learning.proposal import Event, Proposal
    from prowess.runtime.install_choice import Choice
    from prowess.runtime.installing import InstallResult, Prepared
    from prowess.runtime.run import Run
    from prowess.runtime.run_environment import RunEnvironment

    # It brings the scanner along, which most commands never need.
    from prowess.runtime.syncing import SyncReport
    from prowess.runtime.workshop_explain import Answer as Explained
    from prowess.runtime.workshop_explain import Situation
    from prowess.runtime.workshop_ports import Answer, Decided, History
    from prowess.safety.model import Finding


def slash_command(command: SkillCommand) -> Json:
    """Show one slash command that a skill gives."""
    dispatch = command.dispatch
    return {
        "name": command.name,
        "skillName": clean(command.skill_name),
        "description": clean(command.description),
        "argumentHint": clean(command.argument_hint) or None,
        "dispatch": None
        if dispatch is None
        else {
            "kind": dispatch.kind,
            "toolName": clean(dispatch.tool_name),
            "argMode": dispatch.arg_mode,
        },
        "modelVisible": command.model_visible,
        "skillFile": clean(command.skill_file),
        "skillSource": command.source_id,
        "problems": [clean(problem) for problem in command.problems],
    }


def slash_commands(agent_id: str, commands: Iterable[SkillCommand]) -> Json:
    """Show the slash commands of one agent."""
    return {"agentId": agent_id, "commands": [slash_command(command) for command in commands]}


def invoked(value: Invoked) -> Json:
    """Show what a slash command asks for; the skill's text is shown whole."""
    return {
        "kind": value.kind,
        "command": slash_command(value.command),
        "arguments": clean(value.arguments),
        "toolName": clean(value.tool_name) or None,
        "toolCall": None if value.tool_call is None else dict(value.tool_call),
        "message": clean(value.message) or None,
        "body": clean(value.body) if value.kind == "instruction" else None,
        "problems": [clean(problem) for problem in value.problems],
        "notes": list(value.notes),
    }


def referenced(value: References) -> Json:
    """Show the skills that an ordinary message names."""
    return {
        "kind": "references",
        "names": [clean(name) for name in value.names],
        "prefix": clean(value.prefix) or None,
        "problems": [clean(problem) for problem in value.problems],
    }


def sync_report(report: "SyncReport") -> Json:
    """Show what a copy of skills to a sandbox did, or would do."""
    return {
        "target": clean(report.target),
        "dryRun": report.dry_run,
        "added": [sync_step(step) for step in report.of(Action.ADD)],
        "updated": [sync_step(step) for step in report.of(Action.UPDATE)],
        "removed": [sync_step(step) for step in report.of(Action.REMOVE)],
        "unchanged": [sync_step(step) for step in report.of(Action.KEEP)],
        "conflicts": [sync_step(step) for step in report.of(Action.CONFLICT)],
        "refused": [sync_step(step) for step in report.of(Action.REFUSED)],
        "skipped": [sync_step(step) for step in report.of(Action.SKIPPED)],
        "warnings": [
            {"skill": clean(one.skill), "path": clean(one.path), "reason": clean(one.reason)}
            for one in report.warnings
        ],
    }


def sync_step(step: Step) -> Json:
    """Show what became of one skill or one folder."""
    return {
        "folder": clean(step.folder) or None,
        "skill": clean(step.skill),
        "source": clean(step.source),
        "reason": clean(step.reason) or None,
        "keptAt": clean(step.kept_at) or None,
    }


def planned_run(run: "Run", command: Sequence[str], program: str, variable: str) -> Json:
    """Show what a command would be started with: names of variables, never their values.

    Args:
        run: the run that would last as long as the command.
        command: its words.
        program: the file that its first word stands for, empty where there is none.
        variable: the name of the variable that says where the prompt is.
    """
    return {
        "agentId": run.agent_id,
        "sessionId": run.session_id or None,
        "command": [clean(word) for word in command],
        "program": clean(program) or None,
        "promptChars": len(run.prompt),
        "promptFileVariable": variable,
        "environment": run_environment(run.environment),
    }


def run_environment(environment: "RunEnvironment") -> Json:
    """Show what became of the variables of a run's skills: names, never values."""
    return {
        "applied": list(environment.applied),
        "blocked": [
            {"name": clean(one.key), "reason": clean(one.reason), "skill": clean(one.skill)}
            for one in environment.blocked
        ],
        "kept": list(environment.kept),
        "allowed": list(environment.allowed),
        "warnings": [clean(warning) for warning in environment.warnings],
    }


def chat_event(kind: str, fields: Mapping[str, object]) -> Json:
    """Show one event of a chat: what happened, and its fields under the names that clients know."""
    shown = {_camel(name): _plain(value) for name, value in fields.items()}
    return {"type": _camel(kind), **shown}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {_camel(str(name)): _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return clean(value) if isinstance(value, str) else value


def install_result(result: "InstallResult") -> Json:
    """Show what became of an install; what there is nothing to say about is left out."""
    shown: Json = {
        "ok": result.ok,
        "message": clean(result.message),
        "stdout": clean(result.stdout),
        "stderr": clean(result.stderr),
        "code": result.code,
    }
    if result.warnings:
        shown["warnings"] = [clean(warning) for warning in result.warnings]
    if result.skip_reason:
        shown["skipReason"] = result.skip_reason
    return shown


def install_preview(prepared: "Prepared") -> Json:
    """Show what an install would do, word for word; nothing of it holds a secret."""
    preview, spec = prepared.preview, prepared.spec
    return {
        "dryRun": True,
        "skill": clean(prepared.skill.name),
        "option": {"id": clean(spec.id), "kind": spec.kind, "bins": [clean(b) for b in spec.bins]},
        "commands": [
            {"argv": list(command.argv), "environment": dict(command.environment)}
            for command in preview.commands
        ],
        "url": preview.url or None,
        "sha256": spec.sha256 or None,
        "targetDir": preview.target or None,
        "linkDir": preview.links or None,
        "timeoutMs": round(prepared.job.seconds * 1000),
        "warnings": [clean(warning) for warning in prepared.warnings],
    }


def install_choices(skill: str, choices: "Iterable[Choice]") -> Json:
    """Show every way to install what a skill needs."""
    return {
        "skill": clean(skill),
        "options": [
            {
                "id": clean(choice.id),
                "kind": choice.kind,
                "label": clean(choice.label),
                "bins": [clean(name) for name in choice.bins],
                "offered": choice.offered,
                "problem": choice.problem or None,
            }
            for choice in choices
        ],
    }


def proposal(value: "Proposal") -> Json:
    """Show a proposal for a skill; what does not apply to it is left out."""
    shown: Json = {
        "id": value.id,
        "createdAt": _moment(value.created_at),
        "updatedAt": _moment(value.updated_at),
        "workspaceDir": clean(value.workspace),
        "agentId": clean(value.agent_id),
        "sessionId": clean(value.session_id),
        "skillName": value.skill,
        "title": clean(value.title),
        "reason": clean(value.reason),
        "source": value.source.value,
        "status": value.state.value,
        "change": _change(value),
        "scanFindings": [_scan_finding(found) for found in value.findings],
        "quarantineReason": clean(value.quarantine_reason),
        "revision": value.revision,
        "baseHash": value.base_hash,
        "evidence": [
            {"message": one.place, "role": one.role, "quote": clean(one.quote)}
            for one in value.evidence
        ],
        "similar": [{"skillName": one.skill, "score": one.score} for one in value.similar],
    }
    optional = ("agentId", "sessionId", "scanFindings", "quarantineReason", "similar")
    return {key: part for key, part in shown.items() if part or key not in optional}


def _change(value: "Proposal") -> Json:
    shown: Json = {"kind": "support_file"} if value.edit is None else _edit(value.edit)
    files = {path: body for path, body in value.change.files.items() if path != "SKILL.md"}
    if files:
        shown["supportFiles"] = [
            {
                "relativePath": clean(path),
                "body": None if body is None else clean(body.decode(errors="replace")),
            }
            for path, body in files.items()
        ]
    return shown


def _edit(value: "Edit") -> Json:
    if value.kind == "replace":
        return {
            "kind": value.kind,
            "oldText": clean(value.old_text),
            "newText": clean(value.new_text),
        }
    shown = {"kind": value.kind, "description": clean(value.description)}
    if value.kind == "append":
        shown["section"] = clean(value.section)
    return {**shown, "body": clean(value.body)}


def _scan_finding(value: "Finding") -> Json:
    return {
        "severity": value.level.value,
        "ruleId": value.rule_id,
        "message": clean(value.message),
        "file": clean(value.file),
        "line": value.line,
        "evidence": clean(value.evidence),
    }


def proposal_event(value: "Event") -> Json:
    """Show one line of the log of proposals; `sequence` is the cursor."""
    return {
        "sequence": value.sequence,
        "proposalId": value.proposal_id,
        "skillName": value.skill,
        "type": value.kind.value,
        "revision": value.revision,
        "occurredAt": _moment(value.at),
        "note": clean(value.note),
    }


def workshop_answer(value: "Answer") -> Json:
    """Show what the tool `skill_workshop` answers."""
    if value.kind == "counted":
        counts = {state.value: count for state, count in value.counts.items()}
        states = ("pending", "quarantined", "applied", "rejected", "stale")
        return {
            "workspaceDir": clean(value.workspace),
            **{state: counts.get(state, 0) for state in states},
        }
    if value.kind == "listed":
        return {"proposals": [proposal(one) for one in value.proposals]}
    if value.kind == "inspected":
        return {"proposal": proposal(value.proposal)}
    if value.kind == "written":
        return {"status": "written", "filePath": clean(value.file_path)}
    if value.kind == "history":
        return proposal_history(value)
    return _decided(value)


def proposal_history(value: "History") -> Json:
    """Show what happened, with a cursor, and what was applied to the skill, the last one first."""
    return {
        "events": [proposal_event(one) for one in value.events],
        "cursor": value.cursor,
        "more": value.more,
        "versions": [
            {
                "id": one.id,
                "revision": one.revision,
                "title": clean(one.title),
                "appliedAt": _moment(one.updated_at),
                "last": number == 0,
            }
            for number, one in enumerate(value.versions)
        ],
    }


def _decided(value: "Decided") -> Json:
    status = "rolled_back" if value.rolled_back else value.proposal.state.value
    shown: Json = {"status": status, "proposal": proposal(value.proposal)}
    return {**shown, "skillPath": clean(value.skill_path)} if value.skill_path else shown


def _moment(seconds: float) -> str:
    """Return a time as clients read it, in UTC."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def workshop_status(seen: "Situation", explained: "Iterable[Explained]" = ()) -> Json:
    """Show how the workshop is set and how far it is; `explained` answers what may seem wrong."""
    settings, counters = seen.settings, seen.counters
    shown: Json = {
        "enabled": settings.active,
        "settings": {
            "autoCapture": settings.auto_capture,
            "approvalPolicy": settings.approval_policy.value,
            "reviewMode": settings.review_mode.value,
            "reviewInterval": settings.review_interval,
            "reviewMinToolCalls": settings.review_min_tool_calls,
            "reviewTimeoutMs": settings.review_timeout_ms,
            "maxPending": settings.max_pending,
            "maxSkillBytes": settings.max_skill_bytes,
        },
        "sinceLastReview": {
            "turns": counters.turns,
            "toolCalls": counters.tool_calls,
            "failures": counters.failures,
        },
    }
    if counters.last_review_at:
        shown["lastReviewAt"] = _moment(counters.last_review_at)
    answers = [
        {
            "symptom": one.symptom,
            "fine": one.fine,
            "finding": clean(one.finding),
            "advice": clean(one.advice),
        }
        for one in explained
    ]
    return {**shown, "symptoms": answers} if answers else shown
