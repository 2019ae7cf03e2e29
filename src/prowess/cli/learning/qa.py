"""`qa`: scenarios that show, from a conversation to a file on disk, that learning works."""

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from prowess.cli.render import (
    Cell,
    Column,
    print_error,
    print_json,
    print_table,
    print_text,
    silence,
)
from prowess.cli.terminal import CommandGroup, json_option
from prowess.evaluation.scenarios import Broken, Scenario
from prowess.host.evaluation import ScenarioFile, read_scenarios
from prowess.wire.skills import pick

if TYPE_CHECKING:
    from prowess.wiring.scenarios import Played, StepResult


_MARKS = {"passed": ("✓", "green"), "failed": ("✗", "red"), "not-reached": ("·", "dim")}


def print_finished(one: "Played") -> None:
    """Show how one scenario went, step by step."""
    word, style = ("passed", "green") if one.passed else ("failed", "red")
    print_text(f"{one.scenario.name}: {word} ({one.seconds:.1f} s)", f"bold {style}")
    for result in one.results:
        _print_step(result)
    if one.folder:
        print_text(f"  left in {one.folder}", "dim")


def _print_step(result: "StepResult") -> None:
    mark, style = _MARKS[result.outcome.value]
    place = f" (line {result.step.line})" if result.step.line else ""
    print_text(f"  {mark} {result.step.title}{place}", style)
    for mismatch in result.mismatches:
        print_text(f"      {mismatch.place}")
        print_text(f"        expected: {mismatch.expected}")
        print_text(f"        seen:     {mismatch.seen}")


def print_conclusion(finished: "Sequence[Played]", problems: Sequence[str]) -> None:
    """Show the sum of all, and last what is wrong with files."""
    failed = sum(not one.passed for one in finished)
    words = [f"{len(finished) - failed} passed", f"{failed} failed"]
    words += [f"{len(problems)} problems in files"] if problems else []
    print_text(", ".join(words), "red" if failed or problems else "green")
    print_problems(problems)


def print_problems(problems: Sequence[str]) -> None:
    """Show what is wrong with files where errors go."""
    for problem in problems:
        print_error(problem)


def suite_json(finished: "Sequence[Played]", problems: Sequence[str]) -> dict[str, object]:
    """Return how scenarios went, for a program."""
    failed = sum(not one.passed for one in finished)
    return {
        "passed": len(finished) - failed,
        "failed": failed,
        "scenarios": [_scenario(one) for one in finished],
        "problems": list(problems),
    }


def _scenario(one: "Played") -> dict[str, object]:
    shown: dict[str, object] = {
        **pick(one, "scenario.name=name passed"),
        "seconds": round(one.seconds, 3),
        "steps": [_step(result) for result in one.results],
    }
    return {**shown, "folder": one.folder} if one.folder else shown


def _step(result: "StepResult") -> dict[str, object]:
    return {
        **pick(result, "step.line?=line step.title=title outcome"),
        "mismatches": [pick(found, "place expected seen") for found in result.mismatches],
    }


_MOST_AT_ONCE = 32

folder_option = click.option(
    "--folder",
    "folders",
    metavar="DIR",
    multiple=True,
    type=click.Path(),
    help="Where the scenarios are; by default qa/scenarios of the current folder.",
)


@click.group("qa", cls=CommandGroup)
def qa_command() -> None:
    """Run scenarios that show that learning works, end to end.

    A scenario is a YAML file: a config, a conversation, and what must come of it. Each one is
    played in folders of its own, with the real store, scanner and router; of the language model it
    says itself what it answers. Nothing of yours is read or changed.
    """


@qa_command.command("suite", epilog="Example: prowess qa suite -s skill-workshop-pending-approval")
@click.option(
    "-s",
    "--scenario",
    "names",
    metavar="NAME",
    multiple=True,
    help="The name or path of a scenario; by default all are played. May be given again.",
)
@folder_option
@click.option(
    "--concurrency",
    metavar="N",
    type=click.IntRange(1, _MOST_AT_ONCE),
    default=1,
    help="How many are played at once.",
)
@click.option("--keep", is_flag=True, help="Leave the folders of each scenario, and say where.")
@json_option
def suite_command(
    names: tuple[str, ...], folders: tuple[str, ...], *, concurrency: int, keep: bool, as_json: bool
) -> int:
    """Play scenarios and say of each step whether it went as it should.

    Exit code 1 when a step fails or a file is no scenario; the others are played all the same.
    """
    files = read_scenarios(names, folders)
    broken = [file for file in files if isinstance(file.scenario, Broken)]
    fine = [file.scenario for file in files if isinstance(file.scenario, Scenario)]
    finished = _show(_run(fine, concurrency, keep=keep), as_json=as_json)
    if as_json:
        print_json(suite_json(finished, _problems(broken)))
    else:
        print_conclusion(finished, _problems(broken))
    passed = sum(one.passed for one in finished)
    return 0 if passed == len(files) else 1


@qa_command.command("list", epilog="Example: prowess qa list --folder qa/scenarios/plugins")
@folder_option
@json_option
def list_command(folders: tuple[str, ...], *, as_json: bool) -> int:
    """Show the scenarios that there are, and what is wrong with those that cannot be read."""
    files = read_scenarios((), folders)
    broken = [file for file in files if isinstance(file.scenario, Broken)]
    if as_json:
        fine = [file for file in files if isinstance(file.scenario, Scenario)]
        print_json(
            {
                "scenarios": [
                    {**pick(file, "name path"), "summary": _summary(file)} for file in fine
                ],
                "problems": _problems(broken),
            }
        )
    else:
        rows = [(Cell(file.name, "bold"), Cell(_summary(file))) for file in files]
        print_table((Column("Scenario"), Column("What it shows", flexible=True)), rows)
        print_problems(_problems(broken))
    return 1 if broken else 0


def _summary(file: ScenarioFile) -> str:
    if isinstance(file.scenario, Broken):
        return "cannot be read"
    return file.scenario.summary or file.scenario.title


def _run(scenarios: Sequence[Scenario], concurrency: int, *, keep: bool) -> "Iterator[Played]":
    # Late: `qa list` needs neither the store nor the scanner.
    from prowess.wiring.scenarios import run_scenarios

    return run_scenarios(scenarios, concurrency=concurrency, keep=keep)


def _show(found: "Iterator[Played]", *, as_json: bool) -> "list[Played]":
    """Show each scenario as it ends; who stops reading still gets the exit code."""
    finished = []
    for one in found:
        finished.append(one)
        if not as_json:
            try:
                print_finished(one)
                sys.stdout.flush()
            except BrokenPipeError:
                silence()
    return finished


def _problems(broken: Sequence[ScenarioFile]) -> list[str]:
    """Return what is wrong with files, each with its path and line."""
    return [
        f"{file.path}:{problem.line}: {problem.text}"
        for file in broken
        if isinstance(file.scenario, Broken)
        for problem in file.scenario.problems
    ]
