"""How scenarios that were played are shown: each step with a mark, for a person or a program."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from prowess.cli.render import print_error, print_text

if TYPE_CHECKING:
    # They bring the store and the scanner along.
    from prowess.evaluation.stage import Result
    from prowess.wiring.scenarios import Finished

_MARKS = {"passed": ("✓", "green"), "failed": ("✗", "red"), "not-reached": ("·", "dim")}


def print_finished(one: "Finished") -> None:
    """Show how one scenario went, step by step."""
    played = one.played
    word, style = ("passed", "green") if played.passed else ("failed", "red")
    print_text(f"{played.scenario.name}: {word} ({played.seconds:.1f} s)", f"bold {style}")
    for result in played.results:
        _print_step(result)
    if one.folder:
        print_text(f"  left in {one.folder}", "dim")


def _print_step(result: "Result") -> None:
    mark, style = _MARKS[result.outcome.value]
    place = f" (line {result.step.line})" if result.step.line else ""
    print_text(f"  {mark} {result.step.title}{place}", style)
    for mismatch in result.mismatches:
        print_text(f"      {mismatch.place}")
        print_text(f"        expected: {mismatch.expected}")
        print_text(f"        seen:     {mismatch.seen}")


def print_conclusion(finished: "Sequence[Finished]", problems: Sequence[str]) -> None:
    """Show the sum of all, and last what is wrong with files."""
    failed = sum(not one.played.passed for one in finished)
    words = [f"{len(finished) - failed} passed", f"{failed} failed"]
    words += [f"{len(problems)} problems in files"] if problems else []
    print_text(", ".join(words), "red" if failed or problems else "green")
    print_problems(problems)


def print_problems(problems: Sequence[str]) -> None:
    """Show what is wrong with files where errors go."""
    for problem in problems:
        print_error(problem)


def suite_json(finished: "Sequence[Finished]", problems: Sequence[str]) -> dict[str, object]:
    """Return how scenarios went, for a program."""
    failed = sum(not one.played.passed for one in finished)
    return {
        "passed": len(finished) - failed,
        "failed": failed,
        "scenarios": [_scenario(one) for one in finished],
        "problems": list(problems),
    }


def _scenario(one: "Finished") -> dict[str, object]:
    shown: dict[str, object] = {
        "name": one.played.scenario.name,
        "passed": one.played.passed,
        "seconds": round(one.played.seconds, 3),
        "steps": [_step(result) for result in one.played.results],
    }
    return {**shown, "folder": one.folder} if one.folder else shown


def _step(result: "Result") -> dict[str, object]:
    return {
        "line": result.step.line or None,
        "title": result.step.title,
        "outcome": result.outcome.value,
        "mismatches": [
            {"place": found.place, "expected": found.expected, "seen": found.seen}
            for found in result.mismatches
        ],
    }
