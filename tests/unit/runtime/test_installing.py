"""What is installed, what is refused and why, before any program runs."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.errors import SkillNotFoundError, UnknownAgentError
from prowess.runtime.install import (
    MOST_KEY_CHARACTERS,
    RESERVED_KEYS,
    InstallCommand,
    InstallOutcome,
    InstallPorts,
    InstallReport,
    InstallRequest,
    InstallService,
    Job,
    PreparedInstall,
    Preview,
    Watch,
    make_safe_key,
)
from prowess.safety.model import Confidence, Finding, Level, ScanReport, ScanVerdict
from prowess.safety.packages import DownloadPlan, InstallPlan, is_portable_name
from prowess.settings import EntrySettings, InstallSettings, NodeSettings, Settings, SkillsSettings
from prowess.skills.model import InstallSpec, Metadata, Requirements, Skill, Tier, diagnose
from prowess.testing import make_skill, open_memory

CLEAN = ScanReport(ScanVerdict.CLEAN, (), ())
BREW = InstallSpec(kind="brew", target="jq", id="brew-0", bins=("jq",))
UV = InstallSpec(kind="uv", target="jq-tool", id="uv-1", bins=("jq",))
URL = "https://files.example.com/jq.tar.gz"
FILE = InstallSpec(kind="download", target=URL, id="download-2", bins=("jq",))


@dataclass(slots=True)
class Installer:
    """Does what it is told to do, and keeps the jobs that it was given."""

    outcome: InstallOutcome = field(default_factory=lambda: InstallOutcome(ok=True, code=0))
    problem: str = ""
    jobs: list[Job] = field(default_factory=list)

    def preview(self, job: Job) -> Preview:
        return Preview(commands=(InstallCommand(argv=("run", job.key)),), problem=self.problem)

    def carry_out(self, job: Job, watch: Watch) -> InstallOutcome:
        if watch.output is not None:
            watch.output("stdout", "working\n")
        self.jobs.append(job)
        return self.outcome


@dataclass(slots=True)
class Case:
    """One skill, one machine and one scanner."""

    skill: Skill
    settings: Settings = field(default_factory=Settings)
    report: ScanReport = CLEAN
    missing: tuple[str, ...] = ()
    commands: Installer = field(default_factory=Installer)
    downloads: Installer = field(default_factory=Installer)
    scanned: list[str] = field(default_factory=list)

    def service(self) -> InstallService:
        def scan(skill: Skill) -> ScanReport:
            self.scanned.append(skill.name)
            return self.report

        def missing(names: Sequence[str]) -> tuple[str, ...]:
            return tuple(name for name in names if name in self.missing)

        tools = InstallPorts(
            scan=scan,
            commands=self.commands,
            downloads=self.downloads,
            missing=missing,
            tools_dir="/state/tools",
        )
        return InstallService(open_memory([self.skill], settings=self.settings), tools)

    def install(self, option_id: str = "", timeout_ms: object = None) -> InstallReport:
        request = InstallRequest(skill=self.skill.name, option_id=option_id, timeout_ms=timeout_ms)
        return self.service().install(request)

    @property
    def jobs(self) -> list[Job]:
        return [*self.commands.jobs, *self.downloads.jobs]


def skill(*specs: InstallSpec, tier: Tier = Tier.BUNDLED, **metadata: object) -> Skill:
    # A test that passes the wrong kind of value fails at once, with its own line.
    made = Metadata(install=specs, **metadata)  # type: ignore[arg-type]
    return make_skill(name="json-tidy", tier=tier, metadata=made)


def settings(**fields: object) -> Settings:
    # The same.
    return Settings(skills=SkillsSettings(**fields))  # type: ignore[arg-type]


def finding(level: Level, rule: str = "shell-pipe-to-shell", line: int = 7) -> Finding:
    return Finding(
        rule_id=rule,
        level=level,
        confidence=Confidence.HIGH,
        file="SKILL.md",
        line=line,
        column=1,
        message="m",
        evidence="e",
        evidence_hash="h",
    )


def test_the_offered_option_is_installed_and_reported_as_installed() -> None:
    case = Case(skill(BREW))

    result = case.install()

    assert result == InstallReport(ok=True, message="Installed", code=0)
    (job,) = case.commands.jobs
    assert isinstance(job.plan, InstallPlan)
    assert (job.key, job.option_id, job.bins) == ("json-tidy", "brew-0", ("jq",))


def test_a_download_goes_to_the_one_who_downloads() -> None:
    case = Case(skill(FILE))

    assert case.install().ok

    (job,) = case.downloads.jobs
    assert isinstance(job.plan, DownloadPlan)


def test_an_option_that_is_not_offered_can_be_named() -> None:
    case = Case(skill(BREW, UV, FILE))

    assert case.install("download-2").ok
    assert case.install().ok

    assert [job.option_id for job in case.downloads.jobs] == ["download-2"]
    assert [job.option_id for job in case.commands.jobs] == ["uv-1"]


def test_every_entry_is_listed_with_what_is_offered_and_what_is_for_others() -> None:
    mac = replace(BREW, os=("macos",))

    listed = Case(skill(mac, UV, FILE)).service().options("json-tidy")

    assert [(one.id, one.offered, one.problem) for one in listed] == [
        ("brew-0", False, "is not for linux"),
        ("uv-1", True, ""),
        ("download-2", False, ""),
    ]


def test_an_unknown_skill_is_a_result_and_an_unknown_agent_is_not() -> None:
    service = Case(skill(BREW)).service()

    result = service.install(InstallRequest(skill="json-tidi"))

    assert (result.ok, result.skip_reason, result.code) == (False, "skill-not-found", None)
    assert "did you mean json-tidy" in result.message
    with pytest.raises(SkillNotFoundError):
        service.options("json-tidi")
    with pytest.raises(UnknownAgentError):
        service.install(InstallRequest(skill="json-tidy", agent_id="nobody"))


def test_an_unknown_option_is_answered_with_those_that_exist() -> None:
    case = Case(skill(replace(BREW, os=("darwin",)), UV))

    result = case.install("apt-0")

    assert result.skip_reason == "option-not-found"
    assert result.message == 'Installer "apt-0" not found: json-tidy has uv-1.'


def test_an_entry_of_a_kind_that_does_not_exist_is_explained() -> None:
    problem = diagnose("INSTALL_ENTRY_INVALID", "install[1]: kind is 'apt', not one of brew")
    case = Case(replace(skill(BREW), diagnostics=(problem,)))

    assert "Left out: install[1]: kind is 'apt'" in case.install("apt-1").message
    assert "Left out" in replace_install(case, ()).install().message


def replace_install(case: Case, specs: tuple[InstallSpec, ...]) -> Case:
    metadata = replace(case.skill.metadata, install=specs)
    return replace(case, skill=replace(case.skill, metadata=metadata))


def test_an_option_for_another_system_says_which() -> None:
    result = Case(skill(replace(BREW, os=("macos",)), UV)).install("brew-0")

    assert result.skip_reason == "platform"
    assert "is for macos, and this machine is linux" in result.message


def test_the_same_id_twice_means_the_one_for_this_system() -> None:
    mac, here = replace(UV, os=("darwin",), target="mac-tool"), replace(UV, os=("linux",))
    case = Case(skill(mac, here))

    assert case.install("uv-1").ok

    (job,) = case.commands.jobs
    assert isinstance(job.plan, InstallPlan)
    assert job.plan.argv[-1] == "jq-tool"


@each_row(
    ("made", "given", "reason", "words"),
    [
        (
            skill(BREW),
            settings(entries={"json-tidy": EntrySettings(enabled=False)}),
            "disabled",
            "prowess enable",
        ),
        (skill(BREW), settings(allow_bundled=frozenset()), "not-allowed", "skills.allowBundled"),
        (skill(BREW, readable=False), Settings(), "unreadable", "prowess why"),
        (
            skill(BREW, requires=Requirements(os=("darwin",))),
            Settings(),
            "platform",
            "runs only on darwin, and this machine is linux",
        ),
        (
            skill(BREW, requires=Requirements(os=("darwin",))),
            settings(nodes=(NodeSettings(name="studio-mac", platforms=("macos",)),)),
            "remote-node",
            "on studio-mac",
        ),
        (skill(), Settings(), "nothing-to-install", "declares nothing to install"),
        (skill(replace(BREW, os=("darwin",))), Settings(), "platform", "is for linux"),
        (skill(FILE, replace(FILE, id="b")), Settings(), "choose-option", "download-2, b"),
        (skill(replace(BREW, target="-g")), Settings(), "unsafe-arguments", "is not a formula"),
        (skill(replace(UV, kind="pip")), Settings(), "unsafe-arguments", "is no known kind"),
    ],
)
def test_what_is_refused_says_why_and_is_neither_scanned_nor_run(
    made: Skill, given: Settings, reason: str, words: str
) -> None:
    case = Case(made, settings=given)

    result = case.install()

    assert (result.ok, result.code, result.skip_reason) == (False, None, reason)
    assert words in result.message
    assert (case.scanned, case.jobs) == ([], [])


@pytest.mark.parametrize("place", ["../x", "/etc", "/state/tools/other", "a/../../b"])
def test_a_folder_outside_is_refused_in_the_promised_words(place: str) -> None:
    result = Case(skill(replace(FILE, target_dir=place))).install()

    assert result.stderr.startswith("Refusing to install outside the skill tools directory")


def test_a_critical_finding_blocks_and_is_named_with_its_place() -> None:
    findings = (finding(Level.WARN, "network", 2), finding(Level.CRITICAL, line=7))
    case = Case(skill(BREW), report=ScanReport(ScanVerdict.QUARANTINE, findings, ()))

    result = case.install()

    assert result.skip_reason == "unsafe-skill"
    assert "shell-pipe-to-shell at SKILL.md:7" in result.message
    assert "prowess scan json-tidy" in result.message
    assert case.jobs == []


def test_a_scan_that_failed_blocks_as_well() -> None:
    report = ScanReport(ScanVerdict.ERROR, (), (), error="out of time")
    case = Case(skill(BREW), report=report)

    result = case.install()

    assert (result.ok, result.skip_reason) == (False, "unsafe-skill")
    assert "out of time" in result.message
    assert case.jobs == []


def test_warnings_of_the_scanner_and_a_strange_source_are_attached() -> None:
    findings = tuple(finding(Level.WARN, f"rule-{number}") for number in range(5))
    report = ScanReport(ScanVerdict.WARN, (*findings, finding(Level.INFO, "note")), ())

    result = Case(skill(BREW, tier=Tier.WORKSPACE), report=report).install()

    assert result.ok
    assert result.warnings == (
        "the scanner warns of rule-0 at SKILL.md:7",
        "the scanner warns of rule-1 at SKILL.md:7",
        "the scanner warns of rule-2 at SKILL.md:7",
        "and of 2 more: see `prowess scan json-tidy`",
        "the skill is not one of ours (openclaw-workspace): read it before you rely on it",
    )


def test_a_tool_that_is_missing_is_explained_and_nothing_runs() -> None:
    case = Case(skill(BREW), commands=Installer(problem="Homebrew is not installed: see there."))

    result = case.install()

    assert (result.ok, result.skip_reason) == (False, "tool-missing")
    assert result.message == "Homebrew is not installed: see there."
    assert case.jobs == []


def test_programs_that_do_not_appear_are_a_warning_and_no_failure() -> None:
    result = Case(skill(BREW), missing=("jq",)).install()

    assert result.ok
    assert result.warnings == ("installed, but not found: jq",)


def test_what_was_prepared_can_be_looked_at_before_it_is_done() -> None:
    case = Case(skill(BREW))
    service = case.service()

    prepared = service.prepare(InstallRequest(skill="json-tidy"))

    assert isinstance(prepared, PreparedInstall)
    assert prepared.preview.commands == (InstallCommand(argv=("run", "json-tidy")),)
    assert case.jobs == []
    assert service.carry_out(prepared, Watch()).ok


def test_output_reaches_whoever_looks_on() -> None:
    heard: list[tuple[str, str]] = []
    request = InstallRequest(skill="json-tidy")

    Case(skill(BREW)).service().install(request, lambda *piece: heard.append(piece))

    assert heard == [("stdout", "working\n")]


@each_row(
    ("stdout", "stderr", "summary"),
    [
        ("", "fetching\nError: no such formula\nsee there\n", "Error: no such formula see there"),
        ("", "one\ntwo\nthree\nfour\n", "four"),
        ("", "no luck\n" * 400, "no luck"),
        ("", "error: boom\nerror: boom\nsee there\nerror: boom\n", "error: boom"),
        ("", f"error: {'x' * 300}\nthe end\n", f"error: {'x' * 184}… the end"),
        ("", f"error: first\n{'y' * 300}\n", f"{'y' * 199}…"),
        ("only here\n", " \n", "only here"),
        ("", "", "the program said nothing."),
        ("", "\x1b[31merror\x1b[0m: red\n", "error: red"),
    ],
)
def test_a_failure_is_told_in_one_line(stdout: str, stderr: str, summary: str) -> None:
    outcome = InstallOutcome(ok=False, code=3, stdout=stdout, stderr=stderr)

    result = Case(skill(BREW), commands=Installer(outcome)).install()

    assert result.message == f"Install failed (exit 3): {summary}"
    assert (result.stdout, result.stderr, result.code) == (stdout, stderr, 3)


@given(st.text(max_size=2000), st.text(max_size=400))
def test_no_output_makes_the_summary_long_or_more_than_a_line(stderr: str, stdout: str) -> None:
    outcome = InstallOutcome(ok=False, code=1, stdout=stdout, stderr=stderr)

    message = Case(skill(BREW), commands=Installer(outcome)).install().message

    assert len(message.removeprefix("Install failed (exit 1): ")) <= 200
    assert len(message.splitlines()) == 1


@pytest.mark.parametrize(
    ("wanted", "seconds", "word"),
    [
        (None, 300.0, ""),
        (5000, 5.0, ""),
        (1500.5, 1.5005, ""),
        (0, 1.0, "too short"),
        (-7, 1.0, "too short"),
        pytest.param(10**400, 900.0, "too long", id="enormous"),
        (float("inf"), 900.0, "too long"),
        (900_001, 900.0, "too long"),
        (float("nan"), 300.0, "no number"),
        ("60000", 300.0, "no number"),
        (True, 300.0, "no number"),
        ([], 300.0, "no number"),
    ],
)
def test_the_time_is_put_right_and_said(wanted: object, seconds: float, word: str) -> None:
    case = Case(skill(BREW))

    result = case.install(timeout_ms=wanted)

    assert case.jobs[0].seconds == seconds
    assert any(word in warning for warning in result.warnings) == bool(word)


def test_the_managers_and_hosts_are_those_of_the_settings() -> None:
    install = InstallSettings(node_manager="pnpm", private_hosts=("files.lan:8080",))
    node = InstallSpec(kind="node", target="tool", id="node-0")
    inside = replace(FILE, target="http://files.lan:8080/jq.zip")
    case = Case(skill(node, inside), settings=settings(install=install))

    assert case.install("node-0").ok
    assert case.install("download-2").ok

    assert isinstance(case.jobs[0].plan, InstallPlan)
    assert case.jobs[0].plan.tool == "pnpm"
    assert case.jobs[1].private_hosts == ("files.lan:8080",)


@each_row("key", ["json-tidy", "a", "a.b_c-d", "a" * 60, "0x"])
def test_a_plain_key_is_its_own_folder(key: str) -> None:
    assert make_safe_key(key) == key


@each_row(
    "key", ["A", "../x", "a/b", "", ".", "a" * 61, "bin", "npm", "con", "x ", "ü", "a-0123456789"]
)
def test_an_odd_key_gets_ten_digits_of_its_hash(key: str) -> None:
    made = make_safe_key(key)

    assert made != key
    assert re.fullmatch(r"[a-z0-9-]+-[0-9a-f]{10}", made)


@given(st.text(max_size=200), st.text(max_size=200))
def test_a_folder_is_always_one_plain_name_and_never_shared(one: str, other: str) -> None:
    made = make_safe_key(one)

    assert is_portable_name(made)
    assert len(made) <= MOST_KEY_CHARACTERS
    assert made not in RESERVED_KEYS
    assert (made == make_safe_key(other)) == (one == other)
