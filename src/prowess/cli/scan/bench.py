"""`scan --bench`: how much of what is known to be harmful is found, and how much else with it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import click

from prowess.cli.render import Cell, Column, ProgressBar, print_json, print_table, print_text
from prowess.cli.scan.report import FINDING
from prowess.evaluation.scanning import (
    FIGURES,
    Figures,
    Label,
    LabelGroup,
    LabelledSkill,
    SampleSet,
    Share,
    Trial,
    figure,
    seven_rules,
    tabulate,
    trial_of,
)
from prowess.safety.model import Level, Profile
from prowess.wire import safety as wire_safety
from prowess.wire.safety import visible
from prowess.wiring import Runtime

OURS, SEVEN = "prowess", "seven rules"
_MOST_SHOWN, _EACH = 12, 5


class Bound(NamedTuple):
    """A value that a figure must reach, or must not pass; of one set, or of all that have it."""

    name: str
    key: str
    value: float

    def of(self, figures: Figures) -> float | None:
        """Return the figure of a set that the bound is about, else None."""
        return figure(figures, self.key) if self.name in {"", figures.name} else None

    def __str__(self) -> str:
        return f"{self.name + '.' if self.name else ''}{self.key}={self.value:g}"


Bounds = tuple[Bound, ...]


def bound(_ctx: click.Context, _param: click.Parameter, values: Sequence[str]) -> Bounds:
    """Read what stands behind --min and --max."""
    found = []
    for text in values:
        left, _, number = text.partition("=")
        name, _, key = left.rpartition(".")
        try:
            value = float(number)
        except ValueError:
            value = float("nan")
        if key not in FIGURES or not value >= 0:
            raise click.BadParameter(f"{text!r}: write [SET.]KEY=VALUE, KEY one of {_KEYS}")
        found.append(Bound(name, key, value))
    return tuple(found)


_KEYS = ", ".join(FIGURES)


@dataclass(frozen=True, slots=True)
class Measured:
    """The figures of all sets, ours and those of the baseline."""

    rows: tuple[Figures, ...]

    def report(self, least: Bounds, most: Bounds, *, as_json: bool, verbose: bool) -> int:
        """Print the figures and return the exit code."""
        missed = self._missed(least, lambda value, bar: value < bar)
        missed += self._missed(most, lambda value, bar: value > bar)
        if as_json:
            print_json(
                {
                    "sets": [wire_safety.figures(row) for row in self.rows],
                    "missed": missed,
                }
            )
        else:
            self._print(verbose=verbose)
            for text in missed:
                print_text(f"! missed: {text}", "red")
        return FINDING if missed else 0

    def _missed(self, bounds: Bounds, is_missed: Callable[[float, float], bool]) -> list[str]:
        missed = []
        for one in bounds:
            found = [(row, one.of(row)) for row in self.rows if row.method == OURS]
            known = [(row.name, value) for row, value in found if value is not None]
            if not known:
                # A bar that nothing is held to would always pass.
                missed.append(f"{one}: no set has that figure")
            missed += [
                f"{one}: {name} has {value:.2f}"
                for name, value in known
                if is_missed(value, one.value)
            ]
        return missed

    def _print(self, *, verbose: bool) -> None:
        titles = (
            *("Set", "Method", "Malicious", "Recall %", "Any %", "Benign", "False %", "Any %"),
            *("ms", "p95", "Errors"),
        )
        print_table([Column(title) for title in titles], [_row(row) for row in self.rows])
        for row in self.rows:
            if row.method == OURS:
                _print_categories(row)
                _print_rules(row)
                _print_wrong(row, verbose=verbose)


def run_bench(
    runtime: Runtime, paths: Sequence[str], profile: Profile, *, baseline: bool
) -> Measured:
    """Scan every sample of every set.

    Raises:
        SuiteError: a set cannot be read.
    """
    # Late: every scan loads this module, and reading sets needs the models of all of them.
    from prowess.host.evaluation import read_set

    bar, rows = ProgressBar(), []
    service = runtime.scanning
    # All sets are read first: a typo in the last must not cost the time of the others.
    for one in [read_set(path) for path in paths]:
        ours = _tried(
            one, lambda sample: trial_of(sample, service.scan_plain(sample.files, profile)), bar
        )
        rows.append(tabulate(one.name, OURS, ours))
        if baseline:
            simple = _tried(one, lambda sample: seven_rules(sample, service.seconds), bar)
            rows.append(tabulate(one.name, SEVEN, simple))
    bar.clear()
    return Measured(tuple(rows))


def _tried(
    one: SampleSet, attempt: Callable[[LabelledSkill], Trial], bar: ProgressBar
) -> list[Trial]:
    trials = []
    for done, sample in enumerate(one.samples):
        if done % _EACH == 0:
            bar(f"scanning {one.name}", done, len(one.samples))
        trials.append(attempt(sample))
    return trials


def _row(row: Figures) -> list[Cell]:
    bad, good = row.group(Label.MALICIOUS), row.group(Label.BENIGN)
    return [
        Cell(row.name, "bold"),
        Cell(row.method),
        *_cells(bad),
        *_cells(good),
        Cell("-" if row.ms_median is None else f"{row.ms_median:.1f}"),
        Cell("-" if row.ms_p95 is None else f"{row.ms_p95:.1f}"),
        Cell(str(row.errors), "red" if row.errors else ""),
    ]


def _cells(group: LabelGroup | None) -> tuple[Cell, Cell, Cell]:
    if group is None:
        return Cell("-"), Cell("-"), Cell("-")
    return Cell(str(group.critical.of)), Cell(_wide(group.critical)), Cell(_share(group.any))


def _share(share: Share) -> str:
    return "-" if share.value is None else f"{100 * share.value:.1f}"


def _wide(share: Share) -> str:
    if share.bounds is None:
        return "-"
    low, high = share.bounds
    return f"{_share(share)} [{100 * low:.1f}, {100 * high:.1f}]"


def _print_categories(row: Figures) -> None:
    if len(row.categories) <= 1:
        return
    print_text()
    columns = (Column(f"{row.name}: category"), Column("Label"), Column("n"), Column("Critical"))
    print_table(
        (*columns, Column("Any")),
        [
            (
                Cell(group.category),
                Cell(group.label.value),
                Cell(str(group.critical.of)),
                Cell(_wide(group.critical)),
                Cell(_share(group.any)),
            )
            for group in row.categories
        ],
    )


def _print_rules(row: Figures) -> None:
    rules = [(name, counts) for name, counts in row.on_benign.items()]
    if not rules:
        return
    print_text()
    columns = [Column(f"{row.name}: rule on benign"), *(Column(level.value) for level in Level)]
    print_table(
        columns,
        [
            (Cell(name), *(Cell(str(counts.get(level, 0))) for level in Level))
            for name, counts in rules
        ],
    )


def _print_wrong(row: Figures, *, verbose: bool) -> None:
    if not row.wrong:
        return
    print_text()
    print_text(f"{row.name}: {len(row.wrong)} came out wrong", "bold")
    for trial in row.wrong if verbose else row.wrong[:_MOST_SHOWN]:
        rules = ", ".join(f"{name} ({level.value})" for name, level in trial.rules.items())
        failed = "; the scan failed" if trial.failed else ""
        what = f"{trial.sample.label.value}  {visible(trial.sample.category)}"
        print_text(f"  {visible(trial.sample.id)}  {what}  {rules or 'nothing'}{failed}")
    if len(row.wrong) > _MOST_SHOWN and not verbose:
        print_text(f"  and {len(row.wrong) - _MOST_SHOWN} more (--verbose)", "dim")
