"""The shapes that clients see of runs: commands, copies, installs and chats as JSON."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from prowess.runtime.sharing.sync import SyncAction, SyncStep
from prowess.skills.commands import SkillCommand
from prowess.skills.invocation import Invoked, References
from prowess.skills.text import clean, cut_listed
from prowess.wire.skills import Json, pick, to_camel

if TYPE_CHECKING:
    from prowess.runtime.install import InstallChoice, InstallReport, PreparedInstall
    from prowess.runtime.run import Run, RunEnvironment

    # It brings the scanner along, which most commands never need.
    from prowess.runtime.sharing.sync import SyncReport


def slash_command(command: SkillCommand) -> Json:
    """Show one slash command that a skill gives."""
    dispatch = command.dispatch
    return {
        **pick(command, "name skill_name"),
        "description": cut_listed(command.description),
        "argumentHint": clean(command.argument_hint) or None,
        "dispatch": None if dispatch is None else pick(dispatch, "kind tool_name arg_mode"),
        **pick(command, "model_visible skill_file source_id=skillSource problems"),
    }


def slash_commands(agent_id: str, commands: Iterable[SkillCommand]) -> Json:
    """Show the slash commands of one agent."""
    return {"agentId": agent_id, "commands": [slash_command(command) for command in commands]}


def invoked(value: Invoked) -> Json:
    """Show what a slash command asks for; the skill's text is shown whole."""
    return {
        "kind": value.kind,
        "command": slash_command(value.command),
        **pick(value, "arguments tool_name?"),
        "toolCall": None if value.tool_call is None else dict(value.tool_call),
        "message": clean(value.message) or None,
        "body": clean(value.body) if value.kind == "instruction" else None,
        **pick(value, "problems notes"),
    }


def referenced(value: References) -> Json:
    """Show the skills that an ordinary message names."""
    return {"kind": "references", **pick(value, "names prefix? problems")}


def sync_report(report: "SyncReport") -> Json:
    """Show what a copy of skills to a sandbox did, or would do."""
    return {
        **pick(report, "target dry_run"),
        "added": [sync_step(step) for step in report.of(SyncAction.ADD)],
        "updated": [sync_step(step) for step in report.of(SyncAction.UPDATE)],
        "removed": [sync_step(step) for step in report.of(SyncAction.REMOVE)],
        "unchanged": [sync_step(step) for step in report.of(SyncAction.KEEP)],
        "conflicts": [sync_step(step) for step in report.of(SyncAction.CONFLICT)],
        "refused": [sync_step(step) for step in report.of(SyncAction.REFUSED)],
        "skipped": [sync_step(step) for step in report.of(SyncAction.SKIPPED)],
        "warnings": [pick(one, "skill path reason") for one in report.warnings],
    }


def sync_step(step: SyncStep) -> Json:
    """Show what became of one skill or one folder."""
    return pick(step, "folder? skill source reason? kept_at?")


def planned_run(run: "Run", command: Sequence[str], program: str, variable: str) -> Json:
    """Show what a command would be started with: names of variables, never their values.

    Args:
        run: the run that would last as long as the command.
        command: its words.
        program: the file that its first word stands for, empty where there is none.
        variable: the name of the variable that says where the prompt is.
    """
    return {
        **pick(run, "agent_id session_id?"),
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
        "blocked": [pick(one, "key=name reason skill") for one in environment.blocked],
        **pick(environment, "kept allowed warnings"),
    }


def chat_event(kind: str, fields: Mapping[str, object]) -> Json:
    """Show one event of a chat: what happened, and its fields under the names that clients know."""
    shown = {to_camel(name): _show_plain(value) for name, value in fields.items()}
    return {"type": to_camel(kind), **shown}


def _show_plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {to_camel(str(name)): _show_plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_show_plain(item) for item in value]
    return clean(value) if isinstance(value, str) else value


def install_result(result: "InstallReport") -> Json:
    """Show what became of an install; what there is nothing to say about is left out."""
    shown: Json = pick(result, "ok message stdout stderr code")
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
        "option": pick(spec, "id kind bins"),
        "commands": [pick(command, "argv environment") for command in preview.commands],
        "url": preview.url or None,
        "sha256": spec.sha256 or None,
        **pick(preview, "target?=targetDir links?=linkDir"),
        "timeoutMs": round(prepared.job.seconds * 1000),
        "warnings": [clean(warning) for warning in prepared.warnings],
    }


def install_choices(skill: str, choices: "Iterable[InstallChoice]") -> Json:
    """Show every way to install what a skill needs."""
    return {
        "skill": clean(skill),
        "options": [pick(choice, "id kind label bins offered problem?") for choice in choices],
    }
