"""Installing what a skill needs: judged and scanned first, then run or fetched, then looked for.

An install is the one moment at which a stranger's text leads to a stranger's program. So a skill
that may not be used is not installed for, a skill that the scanner refuses is not either, and what
is about to happen can be shown, word for word, before it does. Trouble is a result, no exception.
Ids of entries count over the list as its author wrote it, so that an id means the same entry on
each machine.
"""

import hashlib
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Event
from typing import NamedTuple, Protocol

from prowess.errors import InstallArgumentError, SkillNotFoundError
from prowess.runtime.ports import Output
from prowess.runtime.service import SkillsService, SkillStatus
from prowess.safety.model import Finding, Level, ScanReport, ScanVerdict
from prowess.safety.packages import DownloadPlan, InstallPlan, is_portable_name, plan_install
from prowess.settings import Settings
from prowess.skills.catalog import owners
from prowess.skills.eligibility import missing_text, offer_options, platform_name
from prowess.skills.model import InstallSpec, Skill
from prowess.skills.text import one_line

_INVALID = "INSTALL_ENTRY_INVALID"


class Refusal(NamedTuple):
    """Why nothing is installed: one word for programs, one sentence for people."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallChoice:
    """One install entry as a person may choose it."""

    id: str
    kind: str
    label: str
    bins: tuple[str, ...] = ()
    # True for what is taken, or asked about, where no id is given.
    offered: bool = False
    # Why it is not for this machine; "" where it is.
    problem: str = ""


def list_choices(
    status: SkillStatus, platform: str, settings: Settings
) -> tuple[InstallChoice, ...]:
    """Return every entry of a skill, those for other machines with the reason."""
    first = {option.id for option in status.verdict.install}
    found = []
    for spec in status.skill.metadata.install:
        (option,) = offer_options((spec,), available=frozenset(), settings=settings.skills.install)
        fits = _fits(spec, platform) and not _is_foreign(status.skill, platform)
        found.append(
            InstallChoice(
                id=option.id,
                kind=option.kind,
                label=one_line(option.label),
                bins=option.bins,
                offered=fits and option.id in first,
                problem="" if fits else f"is not for {platform}",
            )
        )
    return tuple(found)


def find_refusal(status: SkillStatus, platform: str, settings: Settings) -> Refusal | None:
    """Return why a skill is not installed for at all, whatever the option."""
    skill, verdict, name = status.skill, status.verdict, one_line(status.skill.name)
    if verdict.disabled:
        return Refusal(
            "disabled", f"{name} is disabled: `prowess enable {name}` first, if you want it."
        )
    if verdict.blocked_by_allowlist:
        message = f"{name} is not on the list skills.allowBundled: add it there first."
        return Refusal("not-allowed", message)
    if verdict.blocked_by_metadata:
        message = f"the metadata of {name} cannot be read: see `prowess why {name}`."
        return Refusal("unreadable", message)
    return _refuse_elsewhere(skill, platform, settings) if _is_foreign(skill, platform) else None


def choose(status: SkillStatus, platform: str, option_id: str) -> InstallSpec | Refusal:
    """Return the entry that is meant: the named one, else the one that is offered."""
    skill, name = status.skill, one_line(status.skill.name)
    if option_id:
        return _find_named(skill, platform, option_id)
    options = status.verdict.install
    if not options:
        return _refuse_nothing(status, platform)
    if len(options) > 1:
        ids = ", ".join(one_line(option.id) for option in options)
        message = f"{name} offers several downloads: choose one with --option ({ids})."
        return Refusal("choose-option", message)
    return _find_named(skill, platform, options[0].id)


def _find_named(skill: Skill, platform: str, option_id: str) -> InstallSpec | Refusal:
    specs = [spec for spec in skill.metadata.install if spec.id == option_id]
    here = [spec for spec in specs if _fits(spec, platform)]
    if here:
        return here[0]
    if specs:
        systems = ", ".join(map(one_line, specs[0].os))
        message = f"{one_line(option_id)} is for {systems}, and this machine is {platform}."
        return Refusal("platform", f"{message} {_list_known(skill, platform)}")
    message = f'Installer "{one_line(option_id)}" not found: {_list_known(skill, platform)}'
    return Refusal("option-not-found", message + _tell_dropped(skill))


def _refuse_nothing(status: SkillStatus, platform: str) -> Refusal:
    skill, name = status.skill, one_line(status.skill.name)
    if skill.metadata.install:
        message = f"no install option of {name} is for {platform}: see `prowess show {name}`."
        return Refusal("platform", message)
    missing = missing_text(status.verdict.missing)
    need = f" It still needs {one_line(missing)}: see `prowess why {name}`." if missing else ""
    return Refusal(
        "nothing-to-install", f"{name} declares nothing to install.{need}{_tell_dropped(skill)}"
    )


def _list_known(skill: Skill, platform: str) -> str:
    ids = [one_line(spec.id) for spec in skill.metadata.install if _fits(spec, platform)]
    name = one_line(skill.name)
    return f"{name} has {', '.join(ids)}." if ids else f"{name} has none for this machine."


def _tell_dropped(skill: Skill) -> str:
    """Say which entries were not taken over, and why: a kind that does not exist is one reason."""
    found = [problem.message for problem in skill.diagnostics if problem.code == _INVALID]
    told = "; ".join(map(one_line, found))
    return f" Left out: {told}." if told else ""


def _refuse_elsewhere(skill: Skill, platform: str, settings: Settings) -> Refusal:
    systems = skill.metadata.requires.os
    nodes = [
        one_line(node.name)
        for node in settings.skills.nodes
        if not {platform_name(name) for name in node.platforms}.isdisjoint(systems)
    ]
    head = f"{one_line(skill.name)} runs only on {_join(systems)}, and this machine is {platform}"
    if nodes:
        message = f"{head}: install what it needs on {_join(nodes)}, where the agent runs it."
        return Refusal("remote-node", message)
    return Refusal("platform", f"{head}: there is nothing to install here.")


def _join(names: Sequence[str]) -> str:
    return ", ".join(map(one_line, names))


def _is_foreign(skill: Skill, platform: str) -> bool:
    systems = skill.metadata.requires.os
    return bool(systems) and platform not in systems


def _fits(spec: InstallSpec, platform: str) -> bool:
    return not spec.os or platform in {platform_name(name) for name in spec.os}


DEFAULT_SECONDS, LEAST_SECONDS, MOST_SECONDS = 300.0, 1.0, 900.0
MOST_KEY_CHARACTERS = 60
# Folders beside those of skills: where the package managers keep what they install.
RESERVED_KEYS = frozenset({"bin", "brew", "bun", "go", "lib", "npm", "pnpm", "uv", "yarn"})
_HASH_CHARACTERS = 10
_MOST_SUMMARY, _LEAST_HEAD, _MOST_FINDINGS = 200, 20, 3
_SAFE_KEY = re.compile(r"[a-z0-9][a-z0-9._-]*")
# A key that looks like a shortened one could be chosen to share another skill's folder.
_SHORTENED = re.compile(rf"-[0-9a-f]{{{_HASH_CHARACTERS}}}$")
_TROUBLE = re.compile("error|fail|fatal|cannot|not found|refus|denied|\u00d7", re.IGNORECASE)

# Called with the bytes received so far, and how many were announced (None: not said).
Progress = Callable[[int, int | None], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallRequest:
    """What somebody wants installed."""

    skill: str
    # "" takes what is offered.
    option_id: str = ""
    # As a client sent it: anything that is no number of milliseconds in range is put right.
    timeout_ms: object = None
    agent_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallReport:
    """What became of it; `code` is that of the program, None where none ended by itself."""

    ok: bool
    message: str
    stdout: str = ""
    stderr: str = ""
    code: int | None = None
    warnings: tuple[str, ...] = ()
    # Why nothing was tried, as one word for programs; "" where something was.
    skip_reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """An install entry that passed every check, for an adapter to carry out."""

    # The name of the skill's own folder below the tools folder.
    key: str
    option_id: str
    bins: tuple[str, ...]
    plan: InstallPlan | DownloadPlan
    seconds: float = DEFAULT_SECONDS
    private_hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallCommand:
    """One program that would be run, and what is set for it on top of a clean environment."""

    argv: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What a job does on this machine, exactly, or why it cannot be done here."""

    commands: tuple[InstallCommand, ...] = ()
    url: str = ""
    # Where the files end up, and where their programs are linked.
    target: str = ""
    links: str = ""
    # A sentence that says what to do instead.
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallOutcome:
    """What a job came to."""

    ok: bool
    code: int | None = None
    stdout: str = ""
    stderr: str = ""
    # Why it did not work, where it is not the exit code that says so.
    problem: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """Who looks on while a job runs, and may stop it."""

    output: Output | None = None
    progress: Progress | None = None
    stop: Event | None = None


class InstallWay(Protocol):
    """Carries out one kind of job."""

    def preview(self, job: Job) -> Preview:
        """Say what would be done, without doing anything."""

    def carry_out(self, job: Job, watch: Watch) -> InstallOutcome:
        """Do it; what was half done when it failed is gone again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallPorts:
    """What installing needs from the world."""

    scan: Callable[[Skill], ScanReport]
    commands: InstallWay
    downloads: InstallWay
    # Which of these programs cannot be found, now.
    missing: Callable[[Sequence[str]], tuple[str, ...]]
    tools_dir: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedInstall:
    """An install that may go ahead, for a person to look at."""

    skill: Skill
    spec: InstallSpec
    job: Job
    preview: Preview
    warnings: tuple[str, ...] = ()


class InstallService:
    """Installs what skills declare, one option at a time."""

    def __init__(self, skills: SkillsService, tools: InstallPorts) -> None:
        self._skills, self._tools = skills, tools

    def options(self, name: str, agent_id: str | None = None) -> tuple[InstallChoice, ...]:
        """Return every way in which a skill can be installed for, and which ones are offered.

        Raises:
            SkillNotFoundError: no skill has that name.
            UnknownAgentError: no agent has that id.
        """
        status, state = self._find(name, agent_id)
        return list_choices(status, state, self._skills.settings)

    def prepare(self, request: InstallRequest) -> PreparedInstall | InstallReport:
        """Check everything that can be checked before, or say why nothing is installed.

        Raises:
            UnknownAgentError: no agent has that id.
        """
        # What is judged is what is there now, also in a process that has run for days.
        self._skills.refresh()
        try:
            status, platform = self._find(request.skill, request.agent_id)
        except SkillNotFoundError as error:
            return _refuse(Refusal("skill-not-found", str(error)))
        settings = self._skills.settings
        refusal = self._stranger(status.skill, request) or find_refusal(status, platform, settings)
        chosen = refusal or choose(status, platform, request.option_id)
        if isinstance(chosen, Refusal):
            return _refuse(chosen)
        job = self._job(status.skill, chosen, request)
        if isinstance(job, InstallReport):
            return job
        return self._judge(status.skill, chosen, job, _seconds(request.timeout_ms)[1])

    def install(
        self,
        request: InstallRequest,
        output: Output | None = None,
        progress: Progress | None = None,
        stop: Event | None = None,
    ) -> InstallReport:
        """Install what a skill needs.

        Raises:
            UnknownAgentError: no agent has that id.
        """
        prepared = self.prepare(request)
        if isinstance(prepared, InstallReport):
            return prepared
        return self.carry_out(prepared, Watch(output=output, progress=progress, stop=stop))

    def carry_out(self, prepared: PreparedInstall, watch: Watch) -> InstallReport:
        """Do what was prepared, and look whether it brought what it promised."""
        outcome = self._installer(prepared.job).carry_out(prepared.job, watch)
        warnings = (*prepared.warnings, *outcome.warnings)
        if outcome.ok:
            missing = self._tools.missing(prepared.job.bins)
            if missing:
                warnings += (f"installed, but not found: {', '.join(map(one_line, missing))}",)
            # What was missing may be there now.
            self._skills.refresh()
        return InstallReport(
            ok=outcome.ok,
            message="Installed" if outcome.ok else describe_failure(outcome),
            stdout=outcome.stdout,
            stderr=outcome.stderr or outcome.problem,
            code=outcome.code,
            warnings=warnings,
        )

    def _stranger(self, skill: Skill, request: InstallRequest) -> Refusal | None:
        """Refuse a skill that names another's key: the folder of that key is not its own."""
        known = self._skills.status(request.agent_id).skills
        owner = owners(row.skill for row in known)[skill.key]
        if owner.name == skill.name:
            return None
        name, theirs = one_line(skill.name), one_line(owner.name)
        message = f"{name} asks for the key of {theirs}, so nothing is installed for it:"
        return Refusal("not-allowed", f"{message} see `prowess check`.")

    def _find(self, name: str, agent_id: str | None) -> tuple[SkillStatus, str]:
        """Return the skill as it stands, and the platform of this machine."""
        status = self._skills.find(name, agent_id)
        state = self._skills.workspace(agent_id).state(self._skills.settings)
        return status, state.facts.platform

    def _job(self, skill: Skill, spec: InstallSpec, request: InstallRequest) -> Job | InstallReport:
        install, key = self._skills.settings.skills.install, make_safe_key(skill.key)
        try:
            plan = plan_install(
                spec,
                node_manager=install.node_manager,
                tools_dir=f"{self._tools.tools_dir}/{key}",
                private_hosts=install.private_hosts,
            )
        except InstallArgumentError as error:
            refused = Refusal("unsafe-arguments", str(error))
            return _refuse(refused, stderr=error.problem)
        return Job(
            key=key,
            option_id=spec.id,
            bins=spec.bins,
            plan=plan,
            seconds=_seconds(request.timeout_ms)[0],
            private_hosts=install.private_hosts,
        )

    def _judge(
        self, skill: Skill, spec: InstallSpec, job: Job, doubt: str
    ) -> PreparedInstall | InstallReport:
        report = self._tools.scan(skill)
        if report.verdict in {ScanVerdict.QUARANTINE, ScanVerdict.ERROR}:
            return _refuse(Refusal("unsafe-skill", _explain_block(skill, report)))
        preview = self._installer(job).preview(job)
        warnings = [*_doubts(skill, report), *job.plan.notes, *([doubt] if doubt else [])]
        if preview.problem:
            return _refuse(Refusal("tool-missing", preview.problem), warnings=tuple(warnings))
        return PreparedInstall(
            skill=skill, spec=spec, job=job, preview=preview, warnings=tuple(warnings)
        )

    def _installer(self, job: Job) -> InstallWay:
        if isinstance(job.plan, DownloadPlan):
            return self._tools.downloads
        return self._tools.commands


def make_safe_key(key: str) -> str:
    """Return the folder name for a skill's key: itself if it is a plain one, else with a hash."""
    plain = _SAFE_KEY.fullmatch(key) and is_portable_name(key) and not _SHORTENED.search(key)
    if plain and len(key) <= MOST_KEY_CHARACTERS and key not in RESERVED_KEYS:
        return key
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_CHARACTERS]
    most = MOST_KEY_CHARACTERS - _HASH_CHARACTERS - 1
    words = re.sub(r"[^a-z0-9]+", "-", key.lower())[:most].strip("-")
    return f"{words or 'skill'}-{digest}"


def describe_failure(outcome: InstallOutcome) -> str:
    """Say on one line why a job failed."""
    if outcome.problem:
        return f"Install failed: {one_line(outcome.problem)}"
    return f"Install failed (exit {outcome.code}): {_summary(outcome)}"


def _summary(outcome: InstallOutcome) -> str:
    """Return what the program said went wrong: from its first complaint to its last line.

    No line stands in it twice, and where it gets too long the last one stays.
    """
    text = outcome.stderr if outcome.stderr.strip() else outcome.stdout
    # Of lines that are said again the last counts, so that the order is kept at the end.
    said = reversed([line for line in map(one_line, text.splitlines()) if line])
    *lines, last = [*reversed(dict.fromkeys(said))] or ["the program said nothing."]
    start = next((i for i, line in enumerate(lines) if _TROUBLE.search(line)), len(lines))
    whole = " ".join((*lines[start:], last))
    if len(whole) <= _MOST_SUMMARY:
        return whole
    room = _MOST_SUMMARY - len(last) - 2
    head = f"{whole[:room]}… " if start < len(lines) and room >= _LEAST_HEAD else ""
    said_last = last if len(last) <= _MOST_SUMMARY else f"{last[: _MOST_SUMMARY - 1]}…"
    return f"{head}{said_last}"


def _seconds(wanted: object) -> tuple[float, str]:
    """Return how long it may take, and what was put right about the wish."""
    if wanted is None:
        return DEFAULT_SECONDS, ""
    unclear = isinstance(wanted, float) and math.isnan(wanted)
    if isinstance(wanted, bool) or not isinstance(wanted, (int, float)) or unclear:
        return DEFAULT_SECONDS, f"the timeout is no number: {DEFAULT_SECONDS:g} s are used"
    # Compared before it is divided: an integer may be too large for a float.
    if wanted < LEAST_SECONDS * 1000:
        return LEAST_SECONDS, f"the timeout is too short: {LEAST_SECONDS:g} s are used"
    if wanted > MOST_SECONDS * 1000:
        return MOST_SECONDS, f"the timeout is too long: {MOST_SECONDS:g} s are used"
    return wanted / 1000, ""


def _refuse(refusal: Refusal, *, stderr: str = "", warnings: tuple[str, ...] = ()) -> InstallReport:
    return InstallReport(
        ok=False,
        message=refusal.message,
        stderr=stderr,
        warnings=warnings,
        skip_reason=refusal.reason,
    )


def _explain_block(skill: Skill, report: ScanReport) -> str:
    name = one_line(skill.name)
    if report.verdict is ScanVerdict.ERROR:
        return (
            f"{name} could not be scanned ({one_line(report.error)}), so nothing was installed:"
            f" see `prowess scan {name}`."
        )
    worst = min(report.findings, key=lambda finding: finding.level.rank)
    return (
        f"the scanner blocks {name} for {_explain(worst)}. Nothing was installed:"
        f" see `prowess scan {name}`."
    )


def _explain(finding: Finding) -> str:
    return f"{finding.rule_id} at {one_line(finding.file)}:{finding.line}"


def _doubts(skill: Skill, report: ScanReport) -> list[str]:
    """Return what a person should know before installing for this skill."""
    found = [finding for finding in report.findings if finding.level is Level.WARN]
    told = [f"the scanner warns of {_explain(one)}" for one in found[:_MOST_FINDINGS]]
    if len(found) > _MOST_FINDINGS:
        more = len(found) - _MOST_FINDINGS
        told.append(f"and of {more} more: see `prowess scan {one_line(skill.name)}`")
    if not skill.bundled:
        place = skill.source.tier.source_id
        told.append(f"the skill is not one of ours ({place}): read it before you rely on it")
    return told
