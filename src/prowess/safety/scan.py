"""A skill's files to a report: intake, survey, judgement, verdict.

Pure: the files, the clock and what the operator allows are arguments. The clock counts processor
time, so that a busy machine gives the same verdict as an idle one. Nothing that stands inside a
skill can switch a rule off, and a scan that could not finish is an error, never clean.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from prowess.reading.views import Lines, Spot, View
from prowess.safety.facts import Act, Scene, Surroundings
from prowess.safety.intake.ledger import Intake, ScanLimits, SourceFile, take
from prowess.safety.judging.damage import judge_damage, judge_lasting
from prowess.safety.judging.data import judge_data
from prowess.safety.judging.execution import judge_execution
from prowess.safety.judging.packages import find_lookalike, judge_packages
from prowess.safety.model import (
    Confidence,
    Finding,
    LedgerEntry,
    Level,
    Profile,
    Rule,
    ScanReport,
    ScanVerdict,
    Sighting,
)
from prowess.safety.paths import content_hash
from prowess.safety.prose.patterns import find_literal_hits, find_shown_settings, read_seven
from prowess.safety.rules.table import Acceptance, apply_acceptances, read_contexts, read_rules
from prowess.safety.survey import Survey, Unread, plan_reading, show_evidence
from prowess.spans import contain

# Seconds of processor time.
TIME_LIMIT = 5.0
# A rule says the same of a file so many times at most, at each level.
_PER_RULE = 25
_PER_CHECK = 100
_HASH_LENGTH = 24
# Acts that no honest page would ask for out of sight.
_COMMANDING = frozenset((Act.FETCH, Act.EXEC, Act.SEND, Act.READ, Act.DELETE, Act.PERSIST))
# What a reader says where it gave up on a part that may hold anything.
_GIVEN_UP = ("nested too deeply", "goes too deep", "too large", "too many")
_Sighted = tuple[Sighting, Surroundings]


class OutOfTimeError(Exception):
    """The scan took more processor time than it may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanOptions:
    """What the operator and the host say about a scan; nothing of it comes from the skill."""

    limits: ScanLimits = field(default_factory=ScanLimits)
    # Names that a skill must not imitate.
    trusted_names: tuple[str, ...] = ()
    # variable -> hosts that it may be sent to
    egress: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    acceptances: tuple[Acceptance, ...] = ()
    # The name under which the skill is known, for acceptances.
    skill: str = ""
    # Files that the walker did not hand over, with the reason.
    refused: tuple[LedgerEntry, ...] = ()
    # Processor time in seconds.
    clock: Callable[[], float] = lambda: 0.0
    time_limit: float = TIME_LIMIT


def scan(
    files: Mapping[str, bytes],
    profile: Profile | str = Profile.PACKAGE,
    options: ScanOptions | None = None,
) -> ScanReport:
    """Scan the files of one skill, by their paths inside it.

    Raises:
        ValueError: there is no profile of that name.
    """
    # By its name too: taken for another one, a text would be held to less than was meant.
    profile = Profile(profile)
    options = options or ScanOptions()
    begun = options.clock()
    intake = Intake((), (), ())
    failures: list[Exception] = []
    # An analyser that fails must not pass for one that found nothing: any failure is the verdict.
    with contain(failures.append):
        intake = take(files, options.limits)
        seen = _survey_files(intake, profile, options, begun)
        findings = _make_findings(seen, intake, profile)
        verdict = _decide(findings, profile)
        took = (options.clock() - begun) * 1000
        report = ScanReport(verdict, findings, (*intake.ledger, *options.refused), took)
        return lower_accepted(
            report, profile, options.skill, content_hash(files), options.acceptances
        )
    [problem] = failures
    if isinstance(problem, OutOfTimeError):
        reason = f"stopped after {options.time_limit:g} s of processor time, in {problem}"
    else:
        reason = f"{type(problem).__name__}: {problem}"[:300]
    return _report_error(intake, options, reason, begun)


def lower_accepted(
    report: ScanReport, profile: Profile, skill: str, digest: str, acceptances: Sequence[Acceptance]
) -> ScanReport:
    """Return a report with what the operator accepted of it lowered; `digest` is of all files."""
    if not acceptances or report.error:
        return report
    findings = _sort_findings(
        apply_acceptances(finding, skill, digest, acceptances) for finding in report.findings
    )
    return replace(report, verdict=_decide(findings, profile), findings=findings)


def _survey_files(
    intake: Intake, profile: Profile, options: ScanOptions, begun: float
) -> Iterator[_Sighted]:
    def check_time(where: str) -> None:
        if options.clock() - begun > options.time_limit:
            raise OutOfTimeError(where)

    paths = frozenset(source.path for source in intake.sources)
    scene = Scene(paths, options.skill, dict(options.egress))
    survey = Survey(scene, check_time)
    plan = plan_reading(intake.sources)
    for source in intake.sources:
        survey.read_file(source, plan[source.path])
    if scene.notes:
        survey.follow_runs()
    yield from ((seen, Surroundings()) for seen in intake.sightings)
    yield from survey.seen
    yield from _judge_all(scene, check_time)
    yield from _report_unread(survey, intake)
    yield from _report_refused(options)
    yield from _check_skill_name(intake, options)
    if profile is Profile.PROPOSAL:
        for source in intake.sources:
            yield from (
                (seen, Surroundings()) for seen in find_literal_hits(survey.folded(source.path))
            )


def _judge_all(scene: Scene, check_time: Callable[[str], None]) -> Iterator[_Sighted]:
    judges = (judge_execution, judge_damage, judge_data, judge_lasting, judge_packages)
    for judge in judges if scene.notes else ():
        for count, (seen, noted) in enumerate(judge(scene)):
            if count % _PER_CHECK == 0:
                check_time("correlation")
            yield seen, noted.setting
        check_time("correlation")
    if scene.notes:
        yield from _find_hidden_code(scene)
    for raw in scene.raw.values():
        yield from ((seen, Surroundings("fence")) for seen in find_shown_settings(raw))
    check_time("correlation")


def _find_hidden_code(scene: Scene) -> Iterator[_Sighted]:
    """Commands that stand where the reader of the page does not see them."""
    for noted in scene.everything():
        # A program that is named in a note is no order to run it; what comes from elsewhere is.
        fact = noted.fact
        named = fact.act is Act.EXEC and not fact.flow & {"remote", "decoded"}
        if noted.setting.is_hidden and fact.act in _COMMANDING and not named:
            message = "gives a command where the reader of the page does not see it"
            yield Sighting("hidden-instruction", noted.fact.spot, message), noted.setting


def _report_unread(survey: Survey, intake: Intake) -> Iterator[_Sighted]:
    sources = {source.path: source for source in intake.sources}
    for part in dict.fromkeys(survey.unread):
        if part.end:
            yield _name_range(sources[part.path], part), Surroundings()
            continue
        fatal = any(words in part.why for words in _GIVEN_UP)
        rule = "scan-incomplete" if fatal else "unscanned-content"
        level = None if fatal else Level.INFO
        spot = Spot(View.raw(part.path, ""), 0, 0)
        yield Sighting(rule, spot, f"a part was not read: {part.why}", level=level), Surroundings()


def _name_range(source: SourceFile, part: Unread) -> Sighting:
    """Say which lines of a long file were not read; the rest of it was."""
    first, _ = source.lines.position(part.start)
    last, _ = source.lines.position(max(part.start, part.end - 1))
    where = f"lines {first} to {last}" if first < last else f"a part of line {first}"
    message = (
        f"{where} (characters {part.start + 1} to {part.end} of {len(source.text)}) were not read:"
        " the file is too long"
    )
    spot = Spot(source.view, part.start, part.start + 1)
    return Sighting("scan-incomplete", spot, message, level=Level.WARN)


def _report_refused(options: ScanOptions) -> Iterator[_Sighted]:
    for entry in options.refused:
        spot = Spot(View.raw(entry.path, ""), 0, 0)
        yield Sighting("unscanned-content", spot, f"was not read: {entry.reason}"), Surroundings()


def _check_skill_name(intake: Intake, options: ScanOptions) -> Iterator[_Sighted]:
    if not options.skill or options.skill in options.trusted_names:
        return
    if like := find_lookalike(options.skill, options.trusted_names):
        path = next((source.path for source in intake.sources), "")
        spot = Spot(View.raw(path, ""), 0, 0)
        yield (Sighting("name-lookalike", spot, f"its name looks like {like}"), Surroundings())


def _make_findings(
    seen: Iterable[_Sighted], intake: Intake, profile: Profile
) -> tuple[Finding, ...]:
    lines = {source.path: source.lines for source in intake.sources}
    best: dict[tuple[str, str, int], Finding] = {}
    # By level too: a crowd of light findings must not keep a heavy one out.
    counts: Counter[tuple[str, str, Level]] = Counter()
    for sighting, setting in seen:
        weighed = _weigh(sighting, setting, lines, profile)
        key = (sighting.rule_id, sighting.spot.path, weighed.line)
        crowd = (sighting.rule_id, sighting.spot.path, weighed.level)
        known = best.get(key)
        if known is not None and known.level.rank <= weighed.level.rank:
            continue
        if known is None and counts[crowd] >= _PER_RULE:
            continue
        counts[crowd] += 1
        best[key] = _make_finding(weighed, lines.get(sighting.spot.path))
    return _sort_findings(best.values())


def _sort_findings(found: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(found, key=lambda one: (one.level.rank, one.file, one.line, one.rule_id)))


class _Weighed(NamedTuple):
    """A sighting with its level and its place; the rest of a finding costs more to make."""

    seen: Sighting
    level: Level
    lowered: tuple[str, ...]
    line: int
    column: int


def _weigh(
    seen: Sighting, setting: Surroundings, lines: Mapping[str, Lines], profile: Profile
) -> _Weighed:
    lowered = tuple(dict.fromkeys((*seen.lowered_by, *setting.lowered_by)))
    level = weigh_sighting(seen, read_rules()[seen.rule_id], profile, lowered)
    table = lines.get(seen.spot.path)
    line, column = table.position(seen.spot.offset) if table else (1, 1)
    return _Weighed(seen, level, lowered, line, column)


def _make_finding(weighed: _Weighed, table: Lines | None) -> Finding:
    seen, level, lowered, line, column = weighed
    rule = read_rules()[seen.rule_id]
    evidence = show_evidence(seen.spot, table.line(line) if table else "", column)
    digest = hashlib.sha256(
        f"{rule.id}\0{seen.spot.path}\0{seen.spot.text}\0{evidence}".encode("utf-8", "replace")
    )
    return Finding(
        rule_id=rule.id,
        level=level,
        confidence=seen.confidence,
        file=seen.spot.path,
        line=line,
        column=column,
        message=seen.message,
        evidence=evidence,
        evidence_hash=digest.hexdigest()[:_HASH_LENGTH],
        views=_describe_chain(seen.spot, table),
        why=rule.why,
        fix=rule.fix,
        lowered_by=lowered,
    )


def _describe_chain(spot: Spot, table: Lines | None) -> tuple[str, ...]:
    """How the text was read, without the folding where it changed nothing there."""
    if table and table.text.startswith(spot.text[:200], spot.offset):
        return tuple(step for step in spot.view.chain if step not in {"folded", "joined"})
    return spot.view.chain


def _decide(findings: Sequence[Finding], profile: Profile) -> ScanVerdict:
    levels = {finding.level for finding in findings}
    # A file that is only too long is named; what could not be read at all may be anything.
    stopped = (finding for finding in findings if finding.rule_id == "scan-incomplete")
    if any(finding.level is Level.CRITICAL for finding in stopped):
        return ScanVerdict.ERROR
    if Level.CRITICAL in levels and profile is not Profile.BUNDLED:
        return ScanVerdict.QUARANTINE
    return ScanVerdict.WARN if levels & {Level.WARN, Level.CRITICAL} else ScanVerdict.CLEAN


def _report_error(intake: Intake, options: ScanOptions, problem: str, begun: float) -> ScanReport:
    rule = read_rules()["scan-incomplete"]
    # Built by hand: what failed may be the very thing that makes findings.
    finding = Finding(
        rule_id=rule.id,
        level=rule.level,
        confidence=Confidence.HIGH,
        file=next((source.path for source in intake.sources), ""),
        line=1,
        column=1,
        message=f"the scan did not finish: {problem}",
        evidence="",
        evidence_hash="",
        why=rule.why,
        fix=rule.fix,
    )
    took = (options.clock() - begun) * 1000
    return ScanReport(
        ScanVerdict.ERROR, (finding,), (*intake.ledger, *options.refused), took, problem
    )


def weigh_sighting(
    seen: Sighting, rule: Rule, profile: Profile, lowered_by: Sequence[str]
) -> Level:
    """Return what `seen` weighs under `profile`, after the contexts it stands in."""
    literal = profile is Profile.PROPOSAL and rule.id in read_seven()
    level = seen.level or rule.level
    if profile is Profile.PROPOSAL and rule.proposal is not None:
        level = rule.proposal
    if literal:
        # What an agent writes about itself is held to the words, whatever stands around them.
        return level
    for context in lowered_by:
        limit, _ = read_contexts()[context.partition(":")[0]]
        level = max(level, limit, key=lambda candidate: candidate.rank)
    return level
