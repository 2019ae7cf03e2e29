"""`sessions`: what skills did in the sessions that your agents already keep.

Nothing is sent anywhere and, without --learn or --export, nothing is kept. Prompts are shown cut
and with secrets hidden; an exported suite holds whole prompts, and is readable by you alone.
"""

import json
import os
import re
import time
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click

from prowess.cli.options import common
from prowess.cli.render import ProgressBar, print_json, print_text
from prowess.errors import PathError
from prowess.hooks.harness import Harness
from prowess.host.files.private_files import write_private
from prowess.host.harness.sessions import READABLE
from prowess.wire import wire_sessions
from prowess.wiring import Runtime, open_runtime

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prowess.cli.workshop.sessions_learn import Learned
    from prowess.runtime.session_cases import TriggerCases
    from prowess.runtime.sessions import SessionsReport

_SPAN = re.compile(r"(?P<number>\d{1,6})\s?(?P<unit>[mhdw])", re.IGNORECASE)
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_USUAL = "7d"
_SUFFIXES = (".json", ".jsonl", ".yaml", ".yml")


def _given(_ctx: click.Context, _param: click.Parameter, value: str | None) -> int | None:
    return None if value is None else _since(value)


def _since(value: str) -> int:
    """Return the time that a person means, in milliseconds since 1970."""
    word = value.strip().lower()
    if word == "all":
        return 0
    span = _SPAN.fullmatch(word)
    try:
        if span is not None:
            ago = timedelta(**{_UNITS[span["unit"]]: int(span["number"])})
            return max(0, round((time.time() - ago.total_seconds()) * 1000))
        moment = datetime.fromisoformat(value.strip())
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return max(0, round(moment.timestamp() * 1000))
    except (ValueError, OverflowError) as error:
        raise click.BadParameter("give a span (30m, 12h, 7d, 2w), a date, or `all`") from error


@click.command("sessions")
@click.option(
    "--since",
    metavar="WHEN",
    callback=_given,
    help="How far back: 12h, 7d, 2w, a date, or `all`. [default: 7d, with --session: all]",
)
@click.option(
    "--harness",
    type=click.Choice([one.value for one in READABLE]),
    help="Whose sessions; by default all that can be read.",
)
@click.option(
    "--session", metavar="ID", default="", help="One session, by its id or its beginning."
)
@click.option("--missed", "only_missed", is_flag=True, help="Only what was missed; exit 1 if any.")
@click.option(
    "--export",
    "target",
    metavar="FILE",
    type=click.Path(),
    help="Write trigger tests for `prowess eval` (.json, .jsonl or .yaml).",
)
@click.option("--force", is_flag=True, help="With --export: replace a file that is there.")
@click.option("--learn", is_flag=True, help="Hand the corrections to the workshop.")
@click.option("--dry-run", is_flag=True, help="With --learn: keep nothing.")
@common
def sessions_command(
    workspace: str | None,
    agent: str | None,
    *,
    as_json: bool,
    since: int | None,
    harness: str | None,
    session: str,
    only_missed: bool,
    target: str | None,
    force: bool,
    learn: bool,
    dry_run: bool,
) -> int:
    """Show what skills did in your sessions of Claude Code, Codex and Gemini CLI.

    For each skill: for how many prompts it was listed, would have been routed, was used, and was
    corrected. A missed activation is a skill that was listed and that the router is sure of, that
    was not used, and that you then asked for or corrected the agent about; without anything that
    we recognise as a correction it is only probable. With --workspace, only sessions in that
    folder.

    --learn proposes to the workshop what you said about how to work from now on, and what you
    corrected where a skill was missed. No skill is changed before you say yes.

    Exit code 1 when --session finds none, or --missed finds one.

    Example: prowess sessions --since 30d --missed --export triggers.json
    """
    _check(target, force=force, dry_run=dry_run and not learn)
    with open_runtime(workspace) as runtime:
        found = _found(runtime, since, harness=harness, workspace=workspace, session=session)
        exported = _export(found, target) if target is not None else None
        learned = _learn(runtime, found, agent or "", dry_run=dry_run) if learn else None
    if as_json:
        print_json(_shown(found, exported, learned, one=bool(session)))
    else:
        _print(found, exported, learned, one=bool(session), only_missed=only_missed, target=target)
    return _code(found, session, only_missed=only_missed)


def _found(
    runtime: Runtime,
    since: int | None,
    *,
    harness: str | None,
    workspace: str | None,
    session: str,
) -> "SessionsReport":
    if since is None:
        since = 0 if session else _since(_USUAL)
    bar = ProgressBar()
    reports = import_module("prowess.wiring.sessions").open_sessions(runtime, bar)
    found: SessionsReport = reports.report(
        since,
        harness=None if harness is None else Harness(harness),
        workspace=None if workspace is None else os.path.realpath(workspace),
        session=session,
    )
    bar.clear()
    return found


def _check(target: str | None, *, force: bool, dry_run: bool) -> None:
    """Refuse before the work what could not be done after it.

    Raises:
        PathError: the file for the export is there already.
    """
    if dry_run:
        raise click.UsageError("--dry-run belongs to --learn")
    if target is None:
        if force:
            raise click.UsageError("--force belongs to --export")
        return
    if not target.lower().endswith(_SUFFIXES):
        raise click.UsageError(f"--export needs a name that ends in {', '.join(_SUFFIXES)}")
    if os.path.lexists(target) and not force:
        raise PathError(target, "is there already: give --force to replace it.")
    if Path(target).is_dir():
        raise PathError(target, "is a folder: give a file.")


def _code(found: "SessionsReport", session: str, *, only_missed: bool) -> int:
    if session and not found.sessions:
        return 1
    proved = any(one.kind.value == "missed" for one in found.missed)
    return int(only_missed and proved)


def _export(found: "SessionsReport", target: str) -> "TriggerCases":
    made: TriggerCases = import_module("prowess.runtime.session_cases").trigger_cases(found)
    if target.lower().endswith(".jsonl"):
        lines = [json.dumps(wire_sessions.case(one), ensure_ascii=False) for one in made.cases]
        text = "".join(f"{line}\n" for line in lines)
    else:
        # JSON is YAML too, and a prompt may hold anything that YAML reads in its own way.
        suite = wire_sessions.suite(made.cases)
        text = json.dumps(suite, ensure_ascii=False, indent=2) + "\n"
    if made.cases:
        try:
            write_private(target, text)
        except (OSError, ValueError) as error:
            problem = getattr(error, "strerror", None) or "it holds what no file can"
            raise PathError(target, f"cannot be written: {problem}.") from error
    return made


def _learn(
    runtime: Runtime, found: "SessionsReport", agent: str, *, dry_run: bool
) -> "Sequence[Learned]":
    module = import_module("prowess.cli.workshop.sessions_learn")
    learned: Sequence[Learned] = module.learn(runtime, found, agent, dry_run=dry_run)
    return learned


def _shown(
    found: "SessionsReport",
    exported: "TriggerCases | None",
    learned: "Sequence[Learned] | None",
    *,
    one: bool,
) -> dict[str, object]:
    answer: dict[str, object] = dict(wire_sessions.report(found))
    if one:
        answer["sessions"] = [wire_sessions.turns(session) for session in found.sessions]
    if exported is not None:
        answer["exported"] = {
            "cases": len(exported.cases),
            "leftOutForSecrets": exported.with_secrets,
        }
    if learned is not None:
        shown = import_module("prowess.cli.workshop.sessions_learn").learned_json
        answer["learned"] = [shown(part) for part in learned]
    return answer


def _print(
    found: "SessionsReport",
    exported: "TriggerCases | None",
    learned: "Sequence[Learned] | None",
    *,
    one: bool,
    only_missed: bool,
    target: str | None,
) -> None:
    pages = import_module("prowess.cli.learning.sessions_report")
    if not only_missed:
        pages.print_overview(found)
        if one:
            pages.print_turns(found.sessions)
        pages.print_skills(found.skills)
    pages.print_missed(found.missed)
    pages.print_left_out(found)
    if exported is not None:
        if exported.cases:
            print_text(f"wrote {len(exported.cases)} trigger tests to {target}")
            print_text(f"  `prowess eval {target}` runs them.", "dim")
        else:
            print_text("no trigger tests: no prompt is certain enough.", "yellow")
        if exported.with_secrets:
            print_text(f"left out for a secret in them: {exported.with_secrets} prompts", "yellow")
    if learned is not None:
        import_module("prowess.cli.workshop.sessions_learn").print_learned(learned)
