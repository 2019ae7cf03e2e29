"""What one trace becomes: a draft with its fingerprints and a script, in their places."""

import re

import pytest

from .experience_bench import DARK_MODE, Lab, commands, dark_mode, step, trace
from .workshop_bench import SECRET, UNSAFE
from .world import Json, World

YOUTUBE = "com.google.android.youtube"
SECTIONS = (
    "when to use",
    "preconditions",
    "procedure",
    "completion criteria",
    "outcome",
    "refinement checklist",
)
# Tasks that are hard to make a name of.
AWKWARD = (
    "Open the camera",
    "打开相机并拍照",
    "设置明天早上的闹钟",
    "🙂🙂",
    "??? --- !!!",
    'key: "value" # [comment], {a: b} & *c',
    "word " * 200,
    "---\nname: forged\n---\n# Forged",
    "../../../etc/cron.d/x",
    "Ærlig talt, åpne øvre hylle",
    "end-with-a-hyphen-exactly-at-forty-two-chr - x",
    "true",
    "2024-01-01",
)


@pytest.fixture
def lab(world: World) -> Lab:
    return Lab(world)


def headings(text: str) -> list[str]:
    return [line.lstrip("# ").lower() for line in text.splitlines() if line.startswith("## ")]


@pytest.mark.requirement("experience:golden")
@pytest.mark.parametrize(
    ("steps", "fingerprint"),
    [
        ([step("tap", x=1, y=2, app="launcher")], "37a209f00859"),
        (
            [
                step("launch_app", packageName=YOUTUBE, app="launcher"),
                step("wait", durationMs=100, app=YOUTUBE),
            ],
            "250631ad3584",
        ),
        ([step("finish", message="Done.")], "a5e0e52ac9cb"),
        ([step("request_human_auth", capability="location", app="app")], "a11081832380"),
        (
            [
                step("tap", x=5, y=5, app="launcher"),
                step("type", text="any $(text)", app="chrome"),
                step("wait", app="chrome", result="whatever"),
            ],
            "99aee4fdc7a0",
        ),
        ([step("tap", x=n, y=n, app="com.app") for n in range(25)], "d8e07eccbe6b"),
    ],
)
def test_the_fingerprints_are_the_known_ones(lab: Lab, steps: list[Json], fingerprint: str) -> None:
    draft = lab.draft(trace("Do the thing", *steps))

    assert draft["behaviorFingerprint"] == fingerprint
    assert re.search(rf"behavior_fingerprint: \W?{fingerprint}\b", lab.text(draft))


@pytest.mark.requirement("experience:first-25", "experience:golden")
def test_what_comes_after_25_steps_does_not_count(lab: Lab) -> None:
    taps = [step("tap", x=n, y=n, app="com.app") for n in range(25)]

    draft = lab.draft(trace("Do the thing", *taps, step("type", text="more", app="other")))

    assert draft["behaviorFingerprint"] == "d8e07eccbe6b"


def tapping(task: str, target: str) -> Json:
    """A trace of two taps on elements, of which the second is `target`."""
    first = {"resourceId": "com.app:id/menu", "text": "Menu", "clickable": True}
    second = {"resourceId": f"com.app:id/{target}", "text": target.title(), "clickable": True}
    return trace(
        task,
        step("tap_element", elementId="1", app="com.app", ui=first),
        step("tap_element", elementId="2", app="com.app", ui=second),
    )


@pytest.mark.requirement("experience:flow")
def test_different_flows_in_one_app_stay_apart(lab: Lab) -> None:
    drafts = lab.build(
        tapping("Archive the oldest mail", "archive"), tapping("Mute this thread", "mute")
    )["drafts"]

    behaviours = {draft["behaviorFingerprint"] for draft in drafts}
    flows = {draft["flowFingerprint"] for draft in drafts}
    assert (len(behaviours), len(flows)) == (1, 2)
    assert {draft["status"] for draft in drafts} == {"written"}
    assert lab.ids() == {draft["id"] for draft in drafts}


@pytest.mark.requirement("experience:places", "experience:script-mode")
@pytest.mark.parametrize(("mode", "ending"), [("mixed", ".md"), ("legacy", ".md"), ("strict", "")])
def test_a_draft_and_its_script_have_their_places(lab: Lab, mode: str, ending: str) -> None:
    lab.configure(mode=mode)

    draft = lab.draft(dark_mode())

    names = sorted(lab.files())
    stem = r"\d{8}-\d{6}-turn-on-dark-mode-in-the-settings-app"
    document = rf"skills/auto/({stem})" + (r"\.md" if ending else r"/SKILL\.md")
    found = re.fullmatch(document, names[1])
    assert found, names
    assert names == [f"scripts/auto/{found[1]}.sh", names[1]]
    assert lab.file(draft) == lab.world.workspace / names[1]
    assert lab.script(draft) == lab.world.workspace / names[0]
    assert lab.script(draft).stat().st_mode & 0o777 == 0o700


@pytest.mark.requirement("experience:strict-valid", "experience:script-mode")
def test_strict_drafts_are_valid_whatever_the_task_is_called(lab: Lab) -> None:
    lab.configure(mode="strict")
    # Each its own behaviour, or one would take the place of another.
    traces = [
        trace(task, *[step("tap", x=1, y=1, app=f"app{n}")] * 2) for n, task in enumerate(AWKWARD)
    ]

    drafts = lab.build(*traces)["drafts"]

    assert len({draft["path"] for draft in drafts}) == len(AWKWARD)
    assert len(list(lab.auto.glob("*/SKILL.md"))) == len(AWKWARD)
    assert len(list(lab.scripts.glob("*.sh"))) == len(AWKWARD)
    lab.assert_safe()


@pytest.mark.requirement("experience:sections", "experience:places")
@pytest.mark.parametrize("mode", ["mixed", "strict"])
def test_a_draft_has_the_sections_of_the_document(lab: Lab, mode: str) -> None:
    lab.configure(mode=mode)

    text = lab.text(lab.draft(dark_mode(sessionPath="sessions/session-42.jsonl")))

    found = headings(text)
    for section in SECTIONS:
        assert any(section in heading for heading in found), (section, found)
    for part in (DARK_MODE, "sessions/session-42.jsonl", "medium", "Dark mode is on."):
        assert part in text


@pytest.mark.requirement("experience:procedure")
def test_the_procedure_says_what_was_done_why_to_what_and_what_came_of_it(lab: Lab) -> None:
    lines = lab.text(lab.draft(dark_mode())).splitlines()

    numbered = [line for line in lines if re.match(r"\d+\. ", line)]
    assert [line.partition(". ")[0] for line in numbered[:5]] == ["1", "2", "3", "4", "5"]
    for line, word in zip(
        numbered, ("com.android.settings", "120", "tap_element", "dark", "finish"), strict=False
    ):
        assert word in line
    (intent,) = [line for line in lines if "intent:" in line]
    assert "Open the display page." in intent
    (target,) = [line for line in lines if "ui_target:" in line]
    assert re.search(
        r'text="Dark \\"theme\\"".*resourceId="com\.android\.settings:id/dark"'
        r'.*class="android\.widget\.Switch".*clickable=true',
        target,
    ), target
    assert "contentDesc" not in target
    assert any("observed:" in line and "on now" in line for line in lines)


@pytest.mark.requirement("experience:confidence")
def test_confidence_needs_four_steps_of_two_kinds(lab: Lab) -> None:
    tap, back = step("tap", x=1, y=1, app="a"), step("keyevent", keycode="BACK", app="a")
    steps = {
        "Three steps of two kinds": [tap, tap, back],
        "Four steps that are all alike": [tap] * 4,
        "Four steps, and one differs": [tap, tap, tap, back],
    }

    drafts = lab.build(*(trace(task, *done) for task, done in steps.items()))["drafts"]

    found = {draft["task"]: draft["confidence"] for draft in drafts}
    assert found == dict(zip(steps, ["low", "low", "medium"], strict=True))


@pytest.mark.requirement("experience:probe-warning")
def test_a_probe_without_authorisation_is_warned_of(lab: Lab) -> None:
    probe = "Tapped.\ncapability_probe capability=photos source=gallery status=detected"
    opened = step("tap", x=1, y=1, app="gallery", result=probe)
    asked = step("request_human_auth", capability="photos", app="gallery")
    typed = step("type", text="what is capability_probe capability=photos", app="browser")

    drafts = lab.build(
        trace("Send a photo", opened),
        trace("Share the newest picture", asked, opened),
        trace("Look up a word", typed),
    )["drafts"]

    warned = {draft["task"] for draft in drafts if "WARNING" in lab.text(draft)}
    assert warned == {"Send a photo"}


@pytest.mark.requirement("experience:successful-only", "experience:exit-codes")
@pytest.mark.parametrize(
    "useless",
    [dark_mode(ok=False), dark_mode(steps=[]), {"task": "x", "ok": True}, dark_mode(ok=None)],
    ids=["failed", "no steps", "nothing", "unknown"],
)
def test_only_a_task_that_went_well_produces_anything(lab: Lab, useless: Json) -> None:
    answer = lab.build(useless, code=1)

    assert answer["drafts"] == answer["goals"] == []
    assert lab.files() == {}


@pytest.mark.requirement("experience:successful-only")
def test_a_trace_that_is_left_out_is_named_with_its_reason(lab: Lab) -> None:
    answer = lab.build(dark_mode("Fail at it", ok=False), dark_mode())

    good, bad = sorted(answer["traces"], key=lambda item: not item["ok"])
    assert (good["task"], good["steps"], good["problem"]) == (DARK_MODE, 5, None)
    assert (bad["task"], bad["ok"]) == ("Fail at it", False)
    assert bad["problem"]
    assert [draft["task"] for draft in answer["drafts"]] == [DARK_MODE]


@pytest.mark.requirement("experience:switch")
def test_nothing_is_produced_where_it_is_switched_off(lab: Lab) -> None:
    lab.configure(workshop=True, experience={"enabled": False})
    path = lab.saved(*(dark_mode(sessionPath=f"s{n}") for n in range(4)))

    answer = lab.run("build", path, "--json").json
    told = lab.run("build", path)

    assert answer["enabled"] is False
    assert answer["drafts"] == answer["goals"] == []
    assert "experience.enabled" in told.text
    assert lab.files() == {}
    assert lab.proposals() == []


@pytest.mark.requirement("experience:switch")
def test_it_is_on_unless_switched_off(lab: Lab) -> None:
    assert lab.build(dark_mode())["enabled"] is True


@pytest.mark.requirement("experience:hidden", "experience:promote")
@pytest.mark.parametrize("mode", ["mixed", "strict"])
def test_a_draft_is_not_shown_to_the_model_until_it_is_promoted(lab: Lab, mode: str) -> None:
    lab.configure(mode=mode)
    draft = lab.draft(dark_mode())

    def seen() -> list[list[str]]:
        """What the prompt, the routing and the slash commands know of."""
        route = lab.world.document("route", DARK_MODE)
        return [
            lab.world.prompt_names(),
            [found["name"] for found in route["considered"]],
            [found["skillName"] for found in lab.world.document("commands")["commands"]],
        ]

    before = seen()
    promoted = lab.answer("promote", draft["id"], "--name", "dark-mode")

    assert before == [[], [], []]
    assert promoted["skill"] == "dark-mode"
    assert seen() == [["dark-mode"]] * 3
    checked = lab.world.run("validate", lab.world.skills / "dark-mode", "--strict").calm()
    assert checked.code == 0, str(checked)


@pytest.mark.requirement("experience:scanned")
def test_what_the_scanner_finds_critical_is_not_written(lab: Lab) -> None:
    unsafe = commands("Install the helper", UNSAFE.split("`")[1], "helper --version")

    answer = lab.build(unsafe, code=1)

    (draft,) = answer["drafts"]
    assert draft["status"] == "refused"
    assert "shell-pipe-to-shell" in str(draft["findings"])
    assert lab.files() == {}


@pytest.mark.requirement("experience:scanned")
def test_an_unsafe_trace_does_not_keep_others_from_their_drafts(lab: Lab) -> None:
    unsafe = commands("Install the helper", UNSAFE.split("`")[1], "helper --version")

    drafts = lab.build(unsafe, dark_mode())["drafts"]

    assert {draft["task"]: draft["status"] for draft in drafts} == {
        "Install the helper": "refused",
        DARK_MODE: "written",
    }
    assert all("helper" not in name for name in lab.files())


@pytest.mark.requirement("experience:no-secrets")
def test_what_looks_like_a_credential_is_written_nowhere(lab: Lab) -> None:
    hidden = trace(
        f"Log in with {SECRET}",
        step("type", text=SECRET, app="com.app", result=f"typed {SECRET}"),
        step("exec", command=f"curl -H 'Authorization: token {SECRET}' localhost"),
        step("tap", x=1, y=1, app="com.app", thought=f"Use {SECRET}."),
        finalMessage=f"Logged in with {SECRET}.",
    )

    result = lab.run("build", lab.saved(hidden), "--json")

    assert result.code in {0, 1}
    assert SECRET not in result.text
    assert [name for name, text in lab.files().items() if SECRET.encode() in text] == []


@pytest.mark.requirement("experience:places")
def test_runs_with_a_blank_task_become_drafts_and_never_a_lesson(lab: Lab) -> None:
    runs = [
        trace("  ", step("tap", x=1, y=at, app="bell"), step("launch_app", packageName="bell"))
        for at in range(3)
    ]

    built = lab.build(*(one | {"sessionPath": f"/s/{at}"} for at, one in enumerate(runs)))

    written = [draft for draft in built["drafts"] if draft["path"]]
    assert written
    assert all("-task." in draft["path"] for draft in written)
    assert "(no task was given)" in lab.run("list").out
    assert built["goals"] == []
