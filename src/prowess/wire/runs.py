"""The shapes that clients see of runs: commands, copies, installs and chats as JSON."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from prowess.runtime.sharing.sync import SyncAction, SyncStep
from prowess.skills.commands import SkillCommand
from prowess.skills.invocation import Invoked, References
from prowess.skills.text import clean, cut_listed
from prowess.wire.skills import Json

if TYPE_CHECKING:
    from prowess.runtime.install import InstallChoice, InstallReport, PreparedInstall
    from prowess.runtime.run import Run, RunEnvironment

    # It brings the scanner along, which most commands never need.
    from prowess.runtime.sharing.sync import SyncReport


def slash_command(command: SkillCommand) -> Json:
    """Show one slash command that a skill gives."""
    dispatch = command.dispatch
    return {
        "name": command.name,
        "skillName": clean(command.skill_name),
        "description": cut_listed(command.description),
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
        "added": [sync_step(step) for step in report.of(SyncAction.ADD)],
        "updated": [sync_step(step) for step in report.of(SyncAction.UPDATE)],
        "removed": [sync_step(step) for step in report.of(SyncAction.REMOVE)],
        "unchanged": [sync_step(step) for step in report.of(SyncAction.KEEP)],
        "conflicts": [sync_step(step) for step in report.of(SyncAction.CONFLICT)],
        "refused": [sync_step(step) for step in report.of(SyncAction.REFUSED)],
        "skipped": [sync_step(step) for step in report.of(SyncAction.SKIPPED)],
        "warnings": [
            {"skill": clean(one.skill), "path": clean(one.path), "reason": clean(one.reason)}
            for one in report.warnings
        ],
    }


def sync_step(step: SyncStep) -> Json:
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
    shown = {_camel(name): _show_plain(value) for name, value in fields.items()}
    return {"type": _camel(kind), **shown}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _show_plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {_camel(str(name)): _show_plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_show_plain(item) for item in value]
    return clean(value) if isinstance(value, str) else value


def install_result(result: "InstallReport") -> Json:
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


def install_preview(prepared: "PreparedInstall") -> Json:
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


def install_choices(skill: str, choices: "Iterable[InstallChoice]") -> Json:
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
