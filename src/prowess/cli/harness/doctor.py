"""`doctor`: every connection and this installation, and what to do about what is wrong."""

from importlib import import_module
from typing import TYPE_CHECKING

import click

from prowess.cli.options import common
from prowess.cli.render import ProgressBar, print_json, print_text
from prowess.runtime.harness.doctor_part import Examination, Level, examine
from prowess.wire.connect import examination
from prowess.wiring import open_runtime

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prowess.runtime.harness.doctor_part import Check

_MARKS = {Level.OK: ("✓", "green"), Level.WARNING: ("!", "yellow"), Level.PROBLEM: ("✗", "red")}


@click.command("doctor", epilog="Example: prowess doctor --json")
@common
def doctor_command(workspace: str | None, agent: str | None, *, as_json: bool) -> int:
    """Check every coding agent that is found here, and this installation.

    Of each agent: whether it is connected, whether the command it would run is there, when it
    called last and how long that took, and whether our answers to recorded calls are what it
    reads. Of Prowess: configuration, skills, routing, stores, permissions, gateway and MCP.
    Nothing is changed. Exit code 1 when something is broken.
    """
    with open_runtime(workspace) as runtime:
        # Late: it brings the hook and routing along.
        checks: Sequence[Check] = import_module("prowess.wiring.doctor").open_doctor(
            runtime, agent, workspace or "."
        )
        bar = ProgressBar()
        found = examine(checks, bar)
        bar.clear()
    if as_json:
        print_json(examination(found))
    else:
        _print(found)
    return 0 if found.well else 1


def _print(found: Examination) -> None:
    area = ""
    for finding in found.findings:
        if finding.area != area:
            if area:
                print_text()
            area = finding.area
            print_text(area, "bold")
        mark, colour = _MARKS[finding.level]
        print_text(f"  {mark} {finding.text}", colour if finding.level is not Level.OK else "")
        if finding.todo:
            print_text(f"    {finding.todo}", "dim")
    print_text()
    problems, warnings = found.count(Level.PROBLEM), found.count(Level.WARNING)
    if not problems and not warnings:
        print_text("All is well.", "green")
    else:
        said = f"{_counted(problems, 'problem')}, {_counted(warnings, 'warning')}."
        print_text(said, "red" if problems else "yellow")


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
