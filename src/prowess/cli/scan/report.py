"""Scan reports for people: one block a skill, each finding on its line, the place underlined.

A report about hostile text must not become a stage for it: what cannot be seen is spelled out, long
lines are cut around the place, and secrets are masked before anything is cut.

Scan reports as SARIF 2.1.0, for code hosts that show findings beside the lines.

What the commands of `scan` share: exit codes, the profile, and what a word on the line means.

`scan --bench`: how much of what is known to be harmful is found, and how much else with it.
"""

import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import click

from prowess.cli.render import Cell, Column, ProgressBar, print_json, print_table, print_text
from prowess.cli.sarif import log, uri
from prowess.errors import PathError, SkillNotFoundError
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
from prowess.host.sources.skill_files import (
    ScanPlace,
    find_candidates,
    find_places,
    is_there,
    locate_skill,
)
from prowess.runtime.scan import Scanned
from prowess.safety.model import Finding, Handling, Level, Profile, Rule, ScanVerdict
from prowess.safety.paths import visible
from prowess.safety.rules.table import read_rules
from prowess.secrets.credentials import mask
from prowess.wire import safety as wire_safety
from prowess.wire.skills import Json
from prowess.wiring import Runtime

_STYLES = {Level.CRITICAL: "red", Level.WARN: "yellow", Level.INFO: "dim"}
_VERDICTS = {
    ScanVerdict.CLEAN: "green",
    ScanVerdict.WARN: "yellow",
    ScanVerdict.QUARANTINE: "bold red",
    ScanVerdict.ERROR: "bold red",
}
_WIDTH, _BEFORE, _MOST_MARKED = 100, 40, 40
# Steps that only straighten the raw text: the line in the file already shows what was read.
_PLAIN_STEPS = frozenset(("folded", "joined"))


class Printer:
    """Prints scans as they come in; says why and how to fix once for each rule."""

    def __init__(self, *, active: bool, verbose: bool) -> None:
        self._active, self._verbose = active, verbose
        self._told: set[str] = set()

    def show(self, scanned: Scanned) -> None:
        """Print the block of one skill."""
        if not self._active:
            return
        report, target = scanned.report, scanned.target
        took = f"{report.took_ms:.0f} ms" if report.took_ms else "not scanned"
        head = f"{report.verdict.value.upper():10} {visible(target.name)}"
        where = f"({visible(target.path)}, {scanned.profile.value}, {took})"
        print_text(f"{head}  {where}", _VERDICTS[report.verdict])
        if target.not_loaded:
            print_text(f"  not loaded: {visible(target.not_loaded)}", "yellow")
        lines = _Lines(target.files)
        for level in Level:
            found = [finding for finding in report.findings if finding.level is level]
            if found and (level is not Level.INFO or self._verbose):
                self._group(level, found, lines)
        if self._verbose:
            self._ledger(scanned)
        print_text()

    def summary(self, found: Sequence[Scanned]) -> None:
        """Print what all of it comes to, on one line."""
        if not self._active:
            return
        verdicts = Counter(scanned.report.verdict for scanned in found)
        levels = Counter(one.level for scanned in found for one in scanned.report.findings)
        skills = f"{len(found)} skill{'' if len(found) == 1 else 's'}"
        counted = ", ".join(f"{verdicts[verdict]} {verdict.value}" for verdict in ScanVerdict)
        findings = ", ".join(f"{levels[level]} {level.value}" for level in Level)
        hint = "" if self._verbose or not levels[Level.INFO] else " (--verbose shows info)"
        took = sum(scanned.report.took_ms for scanned in found)
        print_text(f"{skills}: {counted}. Findings: {findings}{hint}. {took:.0f} ms.", "bold")

    def _group(self, level: Level, found: Sequence[Finding], lines: "_Lines") -> None:
        print_text(f"  {level.value} ({len(found)})", _STYLES[level])
        for finding in found:
            place = f"{visible(finding.file)}:{finding.line}:{finding.column}"
            if not finding.file:
                place = "-"
            print_text(f"    {place}  {finding.rule_id}  {visible(finding.message)}")
            self._source(finding, lines)
            if finding.lowered_by:
                lowered = ", ".join(map(visible, finding.lowered_by))
                print_text(f"      lowered by: {lowered}", "dim")
            if self._verbose and finding.evidence_hash:
                print_text(f"      evidence {finding.evidence_hash}", "dim")
            self._explain(finding)

    def _source(self, finding: Finding, lines: "_Lines") -> None:
        raw = lines.line(finding.file, finding.line)
        decoded = not _PLAIN_STEPS.issuperset(finding.views)
        if raw.strip():
            text, before, marked = around(raw, finding.column)
            number = str(finding.line)
            print_text(f"      {number} | {text}")
            margin = " " * (len(number) + 6)
            print_text(f"{margin} | {' ' * before}^{'~' * (marked - 1)}", _STYLES[finding.level])
        elif finding.evidence and not decoded:
            print_text(f"      {visible(finding.evidence)}")
        if decoded or (finding.views and not raw.isascii()):
            print_text(f"      views: {' -> '.join(finding.views)}")
        if decoded and finding.evidence:
            print_text(f"      reads: {visible(finding.evidence)}")

    def _explain(self, finding: Finding) -> None:
        if finding.rule_id in self._told:
            return
        self._told.add(finding.rule_id)
        print_text(f"      why: {finding.why}", "dim")
        print_text(f"      fix: {finding.fix}", "dim")

    def _ledger(self, scanned: Scanned) -> None:
        print_text("  files", "dim")
        for entry in scanned.report.ledger:
            reason = f"  {visible(entry.reason)}" if entry.reason else ""
            style = "" if entry.handling is Handling.SCANNED else "yellow"
            size = f"{entry.size:>9}"
            print_text(f"    {entry.handling.value:9}{size}  {visible(entry.path)}{reason}", style)


def around(raw: str, column: int) -> tuple[str, int, int]:
    """Return a line cut around `column` and made visible, where the place is in it, and how long.

    Places and lengths are counted in cells of a terminal.
    """
    # Masked as a whole: half of a secret would no longer look like one.
    masked = mask(raw)
    at = min(column - 1, len(raw))
    if masked != raw:
        at = min(len(mask(raw[:at])), len(masked))
    start = max(0, at - _BEFORE)
    head = ("… " if start else "") + _show_text(masked[start:at])
    rest = masked[at : start + _WIDTH]
    tail = _show_text(rest) + (" …" if len(masked) > start + _WIDTH else "")
    word = rest.split(maxsplit=1)[0] if rest.strip() and not rest[0].isspace() else rest[:1]
    marked = min(max(_cells(_show_text(word)), 1), _MOST_MARKED)
    return head + tail, _cells(head), marked


def _show_text(text: str) -> str:
    return visible(text.replace("\t", " "))


def _cells(text: str) -> int:
    wide = sum(unicodedata.east_asian_width(letter) in {"W", "F"} for letter in text)
    marks = sum(unicodedata.combining(letter) > 0 for letter in text)
    return len(text) + wide - marks


class _Lines:
    """The raw lines of a skill's files, split when they are first asked for."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = files
        self._split: dict[str, list[str]] = {}

    def line(self, path: str, number: int) -> str:
        """Return one line; empty where the file is not one of the skill's own."""
        if path not in self._files:
            return ""
        if path not in self._split:
            # Not by `splitlines`: only a line feed ends a line for the scanner.
            self._split[path] = _text(self._files[path]).split("\n")
        lines = self._split[path]
        return lines[number - 1].removesuffix("\r") if 0 < number <= len(lines) else ""


def _text(data: bytes) -> str:
    for mark, encoding in ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"", "utf-8-sig")):
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    return ""


_LEVELS = {Level.CRITICAL: "error", Level.WARN: "warning", Level.INFO: "note"}
# What code hosts sort security findings by.
_SEVERITIES = {Level.CRITICAL: "9.0", Level.WARN: "5.0", Level.INFO: "1.0"}


def to_sarif(found: Sequence[Scanned]) -> Json:
    """Return all reports as one SARIF log."""
    pairs = [(scanned, finding) for scanned in found for finding in scanned.report.findings]
    names = sorted({finding.rule_id for _, finding in pairs})
    results = [_result(scanned, finding, names) for scanned, finding in pairs]
    failed = [scanned.report.error for scanned in found if scanned.report.error]
    made = log([_rule(read_rules()[name]) for name in names], results)
    made["runs"][0]["invocations"] = [
        {
            "executionSuccessful": not failed,
            "toolExecutionNotifications": [
                {"level": "error", "message": {"text": visible(problem)}} for problem in failed
            ],
        }
    ]
    return made


def _rule(rule: Rule) -> Json:
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.why},
        "help": {"text": f"{rule.why} {rule.fix}"},
        "defaultConfiguration": {"level": _LEVELS[rule.level]},
        "properties": {
            "tags": ["security", rule.family],
            "security-severity": _SEVERITIES[rule.level],
        },
    }


def _result(scanned: Scanned, finding: Finding, names: Sequence[str]) -> Json:
    views = f" (read as {' -> '.join(finding.views)})" if finding.views else ""
    return {
        "ruleId": finding.rule_id,
        "ruleIndex": names.index(finding.rule_id),
        "level": _LEVELS[finding.level],
        "message": {"text": f"{visible(finding.message)}{views}. {finding.fix}"},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": uri(_path(scanned, finding))},
                    "region": {
                        "startLine": finding.line,
                        "startColumn": finding.column,
                        "snippet": {"text": visible(finding.evidence)},
                    },
                }
            }
        ],
        # Stays the same when lines move, so that a host recognises the finding.
        "partialFingerprints": {"prowessEvidence/v1": finding.evidence_hash},
        "properties": {
            "confidence": finding.confidence.value,
            "skill": scanned.target.name,
            "views": list(finding.views),
            "loweredBy": list(finding.lowered_by),
        },
    }


def _path(scanned: Scanned, finding: Finding) -> str:
    """Return the file on disk: of a file inside another one, the one around it."""
    outer = scanned.target.path.partition("!")[0]
    inner = finding.file.partition("!")[0]
    return str(Path(outer) / inner) if inner and Path(outer).is_dir() else outer


FINDING, ERROR = 1, 2

profile_option = click.option(
    "--profile",
    type=click.Choice([profile.value for profile in Profile]),
    help="Whose text it is; by default package, and bundled for what Prowess brings along.",
)


def target_places(
    runtime: Runtime, words: Sequence[str], agent: str | None
) -> tuple[ScanPlace, ...]:
    """Return what to scan: paths, names of skills, or everything that may be a skill.

    Raises:
        PathError: a word is neither.
    """
    if not words:
        found = _list_candidates(runtime, agent)
        if not found:
            folder = runtime.skills.workspace(agent).folder
            raise PathError(folder, "holds no skill: give a PATH.")
        return found
    return tuple(dict.fromkeys(one for word in words for one in _find_meant(runtime, word, agent)))


def _list_candidates(runtime: Runtime, agent: str | None) -> tuple[ScanPlace, ...]:
    return find_candidates(runtime.skills.workspace(agent).scan(runtime.skills.settings))


def _find_meant(runtime: Runtime, word: str, agent: str | None) -> Sequence[ScanPlace]:
    if is_there(word) or "/" in word or not word:
        return find_places(word)
    try:
        return (locate_skill(runtime.skills.find(word, agent).skill),)
    except SkillNotFoundError as error:
        named = [one for one in _list_candidates(runtime, agent) if Path(one.path).name == word]
        if named:
            return named
        hint = f"did you mean {', '.join(error.candidates)}?" if error.candidates else ""
        problem = "is neither a path nor the name of a skill"
        raise PathError(word, f"{problem}: {hint or 'run `prowess list` to see all.'}") from error


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
        missed = self._list_missed(least, lambda value, bar: value < bar)
        missed += self._list_missed(most, lambda value, bar: value > bar)
        if as_json:
            print_json({"sets": [wire_safety.figures(row) for row in self.rows], "missed": missed})
        else:
            self._print(verbose=verbose)
            for text in missed:
                print_text(f"! missed: {text}", "red")
        return FINDING if missed else 0

    def _list_missed(self, bounds: Bounds, is_missed: Callable[[float, float], bool]) -> list[str]:
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
        ours = _try_samples(
            one, lambda sample: trial_of(sample, service.scan_plain(sample.files, profile)), bar
        )
        rows.append(tabulate(one.name, OURS, ours))
        if baseline:
            simple = _try_samples(one, lambda sample: seven_rules(sample, service.seconds), bar)
            rows.append(tabulate(one.name, SEVEN, simple))
    bar.clear()
    return Measured(tuple(rows))


def _try_samples(
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
        *_group_cells(bad),
        *_group_cells(good),
        Cell("-" if row.ms_median is None else f"{row.ms_median:.1f}"),
        Cell("-" if row.ms_p95 is None else f"{row.ms_p95:.1f}"),
        Cell(str(row.errors), "red" if row.errors else ""),
    ]


def _group_cells(group: LabelGroup | None) -> tuple[Cell, Cell, Cell]:
    if group is None:
        return Cell("-"), Cell("-"), Cell("-")
    return Cell(str(group.critical.of)), Cell(_show_share(group.critical)), Cell(_share(group.any))


def _share(share: Share) -> str:
    return "-" if share.value is None else f"{100 * share.value:.1f}"


def _show_share(share: Share) -> str:
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
                Cell(_show_share(group.critical)),
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
