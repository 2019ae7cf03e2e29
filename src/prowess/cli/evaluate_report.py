"""Evaluations as tables: figures, what failed, and who takes whose prompts."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from prowess.cli.render import Cell, Column, print_table, print_text
from prowess.evaluation.metrics import Outcome, Summary, collisions, confusion, summarise

OURS = "prowess"
_MOST_SHOWN = 20
_LONGEST_NAMES = 60
_FIGURES = ("Cases", "Hit@1", "Recall@5", "AUROC", "Precision", "Recall", "Abstained", "ms")


class BenchRow(NamedTuple):
    """One way to route on one labelled set."""

    name: str
    method: str
    summary: Summary
    problems: tuple[str, ...] = ()


def print_bench(rows: Sequence[BenchRow]) -> None:
    """Print a row of figures for each set and way to route."""
    columns = [Column("Set"), Column("Method"), *map(Column, _FIGURES), Column("Rejected@95")]
    print_table(
        columns,
        [
            (
                Cell(row.name, "bold"),
                Cell(row.method),
                *_cells(row.summary),
                Cell(_share(row.summary.rejected95)),
            )
            for row in rows
        ],
    )


def print_outcomes(
    suites: Sequence[tuple[str, Sequence[Outcome]]],
    outcomes: Sequence[Outcome],
    baselines: Mapping[str, Sequence[Outcome]],
) -> None:
    """Print the figures of suites, then what failed and why."""
    rows = [(name, summarise(found)) for name, found in suites]
    if len(rows) > 1:
        rows.append(("all together", summarise(outcomes)))
    rows += [(f"baseline {kind}", summarise(found)) for kind, found in baselines.items()]
    print_table(
        [Column("Suite", flexible=True), *map(Column, _FIGURES)],
        [(Cell(name, "bold"), *_cells(found)) for name, found in rows],
    )
    _print_failures(outcomes)
    _print_confusion(outcomes)
    _print_collisions(outcomes)


def print_problems(problems: Sequence[str], degraded: str) -> None:
    """Print what could not be read, and why meaning took no part."""
    for problem in problems[:_MOST_SHOWN]:
        print_text(f"! {problem}", "yellow")
    if len(problems) > _MOST_SHOWN:
        print_text(f"! and {len(problems) - _MOST_SHOWN} more", "yellow")
    if degraded:
        print_text(f"! degraded: {degraded}", "yellow")


def _cells(found: Summary) -> list[Cell]:
    return [
        Cell(str(found.cases)),
        Cell(_percent(found.hit1)),
        Cell(_percent(found.recall5)),
        Cell(_share(found.auroc)),
        Cell(_share(found.precision)),
        Cell(_share(found.recall)),
        Cell(_share(found.abstained)),
        Cell("-" if found.ms_median is None else f"{found.ms_median:.1f}"),
    ]


def _print_failures(outcomes: Sequence[Outcome]) -> None:
    failed = [outcome for outcome in outcomes if not outcome.passed]
    if not failed:
        print_text("every case came out as it should.", "green")
        return
    print_text()
    print_text(f"{len(failed)} of {len(outcomes)} did not come out as they should", "bold")
    print_table(
        (Column("Message", flexible=True), Column("Expected"), Column("Got"), Column("Score")),
        [
            (
                Cell(outcome.prompt),
                Cell(_expected(outcome)),
                Cell(", ".join(outcome.chosen) or f"none (first: {_first(outcome)})"),
                Cell(f"{outcome.confidence:.2f}"),
            )
            for outcome in failed[:_MOST_SHOWN]
        ],
    )
    if len(failed) > _MOST_SHOWN:
        print_text(f"and {len(failed) - _MOST_SHOWN} more; --json has them all", "dim")


def _print_confusion(outcomes: Sequence[Outcome]) -> None:
    rows = [row for row in confusion(outcomes) if row.hit < row.cases or row.intruded]
    if not rows:
        return
    print_text()
    print_table(
        (Column("Skill"), Column("Right"), Column("Uninvited"), Column("Lost to", flexible=True)),
        [
            (
                Cell(row.skill),
                Cell(f"{row.hit}/{row.cases}"),
                Cell(str(row.intruded)),
                Cell(", ".join(f"{name} {count}x" for name, count in row.taken_by)),
            )
            for row in rows[:_MOST_SHOWN]
        ],
    )


def _print_collisions(outcomes: Sequence[Outcome]) -> None:
    pairs = collisions(outcomes)
    if not pairs:
        return
    print_text()
    print_table(
        (Column("These take each other's prompts"), Column("and"), Column("Lost")),
        [
            (
                Cell(pair.first),
                Cell(pair.second),
                Cell(f"{pair.lost_by_first} to the second, {pair.lost_by_second} to the first"),
            )
            for pair in pairs[:_MOST_SHOWN]
        ],
    )


def _expected(outcome: Outcome) -> str:
    if outcome.expected:
        return ", ".join(sorted(outcome.expected))[:_LONGEST_NAMES]
    if outcome.is_open:
        return f"not {', '.join(sorted(outcome.forbidden))}"[:_LONGEST_NAMES]
    return "none"


def _first(outcome: Outcome) -> str:
    return outcome.ranked[0] if outcome.ranked else "-"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
