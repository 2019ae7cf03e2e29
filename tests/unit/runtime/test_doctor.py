"""What the doctor says of a harness, and that nothing ends its examination."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tests.rows import each_row

from prowess.errors import StoreError
from prowess.hooks.harness import Harness, HookCall, Moment
from prowess.hooks.registrations import ConnectScope, Registered
from prowess.hooks.samples import PayloadSample
from prowess.hooks.targets import HarnessHomes
from prowess.runtime.harness.doctor import (
    Check,
    DoctorFinding,
    DoctorLevel,
    Examination,
    Installed,
    examine,
    examine_harness,
    find_obstacles,
    tell_age,
)

EVENTS = ("SessionStart", "UserPromptSubmit")
FULL = Registered(events=EVENTS, commands=("'/opt/my tools/prowess' hook",))
TRUSTED = {
    "hooks": {"state": {"/home/me/.codex/hooks.json:stop:0:0": {"trusted_hash": "1"}}},
    "projects": {"/repo": {"trust_level": "trusted"}},
}
PLACES = HarnessHomes(
    project="/repo",
    home="/home/me",
    claude="/home/me/.claude",
    claude_state="/home/me/.claude.json",
    codex="/home/me/.codex",
    copilot="/home/me/.copilot",
    vscode="/home/me/.config/Code/User",
    opencode="/home/me/.config/opencode",
    openclaw="/home/me/.openclaw",
)
CALL = HookCall(harness=Harness.CODEX, moment=Moment.PROMPT, at_ms=0, took_ms=40, spoke=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A machine as a test wants it."""

    here: Installed | None = field(default_factory=lambda: Installed(version="0.140.0"))
    files: Mapping[ConnectScope, Mapping[str, Registered | str]] = field(
        default_factory=lambda: {ConnectScope.USER: {"/home/hooks.json": FULL}}
    )
    missing_programs: tuple[str, ...] = ()
    call: HookCall | None = CALL
    documents: Mapping[str, Mapping[str, Any]] = field(
        default_factory=lambda: {"/home/me/.codex/config.toml": TRUSTED}
    )
    said: str = ""
    unheard: int = 0
    variables: tuple[str, ...] = ()

    def installed(self, _harness: Harness) -> Installed | None:
        return self.here

    def registered(self, _harness: Harness, scope: ConnectScope) -> Mapping[str, Registered | str]:
        return self.files.get(scope, {})

    def expected(self, _harness: Harness) -> Sequence[str]:
        return EVENTS

    def program_problem(self, program: str) -> str:
        return f"{program} does not exist." if program in self.missing_programs else ""

    def calls(self, _harness: Harness) -> list[HookCall]:
        return [self.call] if self.call else []

    def unheard_ms(self, _harness: Harness, project: str) -> int:
        assert project in {"", "/repo"}
        return self.unheard

    def variable(self, name: str) -> str:
        return "1" if name in self.variables else ""

    def document(self, path: str) -> Mapping[str, Any]:
        return self.documents.get(path, {})

    @property
    def places(self) -> HarnessHomes:
        return PLACES

    def answer(self, _sample: PayloadSample) -> tuple[str, int]:
        return self.said, 7

    def now_ms(self) -> int:
        return 3 * 3_600_000


def _found(world: World, level: DoctorLevel) -> str:
    found = examine_harness(Harness.CODEX, world)
    return " ".join(f"{one.text} {one.todo}" for one in found if one.level is level)


def test_a_harness_that_works_has_nothing_but_good_findings() -> None:
    found = list(examine_harness(Harness.CODEX, World()))

    assert {finding.level for finding in found} == {DoctorLevel.OK}
    text = " ".join(finding.text for finding in found)
    assert "Codex 0.140.0 is installed." in text
    assert "at SessionStart, UserPromptSubmit (user)" in text
    assert "3 hours ago (prompt, 40 ms)" in text
    assert "6 recorded calls were answered as it expects (0 with context, slowest 7 ms)" in text


def test_a_harness_that_is_neither_here_nor_connected_is_not_spoken_of() -> None:
    world = World(here=None, files={})

    assert list(examine_harness(Harness.CODEX, world)) == []


@each_row(
    ("world", "level", "words"),
    [
        (World(files={}), DoctorLevel.WARNING, "prowess connect codex"),
        (World(here=None), DoctorLevel.WARNING, "not found on this machine"),
        (
            World(files={ConnectScope.USER: {"/h": replace(FULL, events=EVENTS[:1])}}),
            DoctorLevel.WARNING,
            "does not call us at UserPromptSubmit",
        ),
        (
            World(files={ConnectScope.USER: {"/h": FULL}, ConnectScope.PROJECT: {"/p": FULL}}),
            DoctorLevel.WARNING,
            "twice",
        ),
        (
            World(files={ConnectScope.USER: {"/h": replace(FULL, repeated=EVENTS[:1])}}),
            DoctorLevel.WARNING,
            "more than once at SessionStart",
        ),
        (
            World(files={ConnectScope.USER: {"/h": FULL, "/m": Registered(foreign_server=True)}}),
            DoctorLevel.WARNING,
            "not ours",
        ),
        (
            World(files={ConnectScope.USER: {"/h": "is broken."}}),
            DoctorLevel.PROBLEM,
            "/h: is broken.",
        ),
        (World(missing_programs=("/opt/my tools/prowess",)), DoctorLevel.PROBLEM, "does not exist"),
        (
            World(
                files={ConnectScope.USER: {"/h": replace(FULL, commands=("py -m prowess hook",))}}
            ),
            DoctorLevel.PROBLEM,
            "put files in our place",
        ),
        (World(call=None), DoctorLevel.OK, "/hooks"),
        (World(call=replace(CALL, problem="OSError")), DoctorLevel.WARNING, "40 ms): OSError"),
        (World(documents={}), DoctorLevel.WARNING, "has not trusted our hooks"),
        (
            World(files={ConnectScope.USER: {"/h": FULL, "/m": replace(FULL, events=EVENTS[:1])}}),
            DoctorLevel.WARNING,
            "more than once at SessionStart: /h and /m both say so",
        ),
        (World(call=replace(CALL, took_ms=2_000)), DoctorLevel.WARNING, "prowess serve"),
        (World(unheard=1), DoctorLevel.WARNING, "had a prompt 2 hours ago and did not call us"),
        (World(said="{}"), DoctorLevel.PROBLEM, "not what it reads"),
    ],
)
def test_what_is_wrong_is_said_with_what_to_do(
    world: World, level: DoctorLevel, words: str
) -> None:
    assert words in _found(world, level)


def test_two_harnesses_that_read_each_others_files_are_told_of() -> None:
    both = World(files={ConnectScope.PROJECT: {"/p/hooks.json": FULL}})

    for harness, other in ((Harness.COPILOT, "vscode"), (Harness.VSCODE, "copilot")):
        found = [one for one in examine_harness(harness, both) if "call us twice" in one.text]
        assert found
        assert all(one.level is DoctorLevel.WARNING for one in found)
        assert f"prowess connect {other} --project --remove" in found[0].todo
    assert "twice" not in _found(both, DoctorLevel.WARNING)


def _fine() -> Iterator[DoctorFinding]:
    yield DoctorFinding(area="a", level=DoctorLevel.OK, text="Fine.")


def _refused() -> Iterator[DoctorFinding]:
    raise StoreError("/x.db", "is broken: remove it.")


def _failing() -> Iterator[DoctorFinding]:
    yield from _fine()
    raise ZeroDivisionError("a secret")


def test_whatever_a_check_raises_is_a_finding_and_the_others_go_on() -> None:
    seen: list[tuple[str, int, int]] = []
    checks = [
        Check(area="a", title=look.__name__, look=look) for look in (_refused, _failing, _fine)
    ]

    found = examine(checks, lambda *step: seen.append(step))

    assert [one.level for one in found.findings] == [
        DoctorLevel.PROBLEM,
        DoctorLevel.PROBLEM,
        DoctorLevel.OK,
    ]
    assert found.findings[0].text == "/x.db: is broken: remove it."
    assert "secret" not in found.findings[1].text
    assert not found.well
    assert [step[1:] for step in seen] == [(0, 3), (1, 3), (2, 3)]


def test_only_problems_make_an_installation_ill() -> None:
    found = Examination(findings=(DoctorFinding(area="a", level=DoctorLevel.WARNING, text="Hm."),))

    assert found.well
    assert found.count(DoctorLevel.WARNING) == 1


@each_row(
    ("minutes", "words"),
    [
        (-5, "just now"),
        (0, "just now"),
        (1, "1 minute ago"),
        (130, "2 hours ago"),
        (3_000, "2 days ago"),
    ],
)
def test_times_are_said_in_words(minutes: int, words: str) -> None:
    assert tell_age(minutes * 60_000) == words


_PLUGIN = {"enabled": True, "hooks": {"allowConversationAccess": True}}


def _claw(plugin: Mapping[str, Any] = _PLUGIN, **more: object) -> dict[str, Any]:
    settings = {"plugins": {"entries": {"prowess": plugin}, **more}}
    return {"/home/me/.openclaw/openclaw.json": settings}


@each_row(
    ("harness", "documents", "words"),
    [
        (Harness.CLAUDE_CODE, {}, ""),
        (Harness.CLAUDE_CODE, {"/home/me/.claude/settings.json": {"disableAllHooks": False}}, ""),
        (
            Harness.CLAUDE_CODE,
            {"/repo/.claude/settings.local.json": {"disableAllHooks": True}},
            "disableAllHooks in /repo/.claude/settings.local.json",
        ),
        (Harness.CODEX, {"/home/me/.codex/config.toml": TRUSTED}, "has not trusted"),
        (
            Harness.CODEX,
            {"/home/me/.codex/config.toml": {"features": {"hooks": False}}},
            "switched off: features",
        ),
        (Harness.GEMINI, {"/home/me/.gemini/trustedFolders.json": {"/repo": "TRUST_FOLDER"}}, ""),
        (Harness.GEMINI, {"/home/me/.gemini/trustedFolders.json": {"/repo/a": "TRUST_PARENT"}}, ""),
        (Harness.GEMINI, {}, "does not trust /repo"),
        (
            Harness.GEMINI,
            {"/home/me/.gemini/settings.json": {"hooksConfig": {"enabled": False}}},
            "hooksConfig.enabled",
        ),
        (
            Harness.GEMINI,
            {"/repo/.gemini/settings.json": {"hooksConfig": {"disabled": ["prowess"]}}},
            "Our hook is switched off",
        ),
        (Harness.QWEN, {}, ""),
        (
            Harness.QWEN,
            {"/home/me/.qwen/settings.json": {"security": {"folderTrust": {"enabled": True}}}},
            "does not trust /repo",
        ),
        (Harness.QWEN, {"/repo/.qwen/settings.json": {"disableAllHooks": True}}, "disableAllHooks"),
        (Harness.COPILOT, {"/home/me/.copilot/config.json": {"trustedFolders": ["/repo"]}}, ""),
        (Harness.COPILOT, {"/home/me/.copilot/config.json": {"trustedFolders": ["/re"]}}, "trust"),
        (Harness.OPENCODE, {}, ""),
        (Harness.OPENCLAW, _claw(), ""),
        (Harness.OPENCLAW, _claw(allow=["prowess"]), ""),
        (Harness.OPENCLAW, _claw(allow=["other"]), "plugins.allow does not name prowess"),
        (Harness.OPENCLAW, _claw(deny=["prowess"]), "plugins.deny names prowess"),
        (Harness.OPENCLAW, _claw(enabled=False), "plugins.enabled is false"),
        (Harness.OPENCLAW, _claw({"enabled": True}), "allowConversationAccess is not true"),
        (Harness.OPENCLAW, {}, "plugins.entries.prowess.enabled is not true"),
        (Harness.CURSOR, {}, "is not known"),
        (Harness.VSCODE, {}, "is not known"),
    ],
)
def test_what_keeps_a_connected_harness_from_calling_us_is_said_or_that_nobody_knows(
    harness: Harness, documents: Mapping[str, Mapping[str, Any]], words: str
) -> None:
    found = list(find_obstacles(harness, [ConnectScope.PROJECT], World(documents=documents)))

    assert words in " ".join(one.text for one in found)
    assert bool(found) is bool(words)
