"""`prowess experience`: what is built again, listed, promoted and cleaned, for both readers."""

import re
from pathlib import Path

import pytest

from .experience_bench import DARK_MODE, Lab, commands, copied, dark_mode, step, trace
from .workshop_bench import files_below
from .world import Json, World

BUILD = {"dryRun", "enabled", "traces", "skipped", "drafts", "goals"}
READ = {"id", "task", "ok", "problem", "steps", "session"}
BUILT = {
    *("id", "path", "script", "status", "task", "behaviorFingerprint", "flowFingerprint"),
    *("confidence", "findings", "replaced"),
}
LISTED = {
    *("id", "path", "script", "task", "behaviorFingerprint", "flowFingerprint", "confidence"),
    *("session", "generatedAt", "edited"),
}


@pytest.fixture
def lab(world: World) -> Lab:
    return Lab(world)


@pytest.mark.requirement("experience:build-json", "experience:list")
def test_build_and_list_answer_with_the_fields_of_the_document(lab: Lab) -> None:
    answer = lab.build(dark_mode(sessionPath="sessions/s-1.jsonl"))
    (listed,) = lab.listed()

    (read,), (built,) = answer["traces"], answer["drafts"]
    assert set(answer) >= BUILD
    assert set(read) >= READ
    assert set(built) >= BUILT
    assert set(listed) >= LISTED
    assert answer["dryRun"] is False
    assert (built["status"], built["findings"], built["replaced"]) == ("written", [], [])
    for key in BUILT & LISTED:
        assert listed[key] == built[key], key
    assert (listed["session"], listed["edited"]) == ("sessions/s-1.jsonl", False)
    assert re.fullmatch(r"[0-9a-f]{12}", built["flowFingerprint"])


@pytest.mark.requirement("experience:dry-run", "experience:build-json")
def test_a_dry_run_says_what_it_would_write_and_writes_nothing(lab: Lab) -> None:
    answer = lab.build(dark_mode(), words=("--dry-run",))

    assert answer["dryRun"] is True
    assert [draft["status"] for draft in answer["drafts"]] == ["would-write"]
    assert lab.files() == {}
    assert lab.listed() == []


@pytest.mark.requirement("experience:unchanged")
def test_building_again_changes_nothing(lab: Lab) -> None:
    path = lab.saved(dark_mode())
    first = lab.answer("build", path)["drafts"]
    before = lab.files()

    # Far away it is another hour: a name made of the time of day would be another name.
    done = lab.world.process("experience", "build", path, "--json", env={"TZ": "AAA-14"}).calm()

    (again,) = done.json["drafts"]
    assert (done.code, again["status"]) == (0, "unchanged")
    assert again["id"] == first[0]["id"]
    assert lab.files() == before


@pytest.mark.requirement("experience:unchanged", "experience:build-json")
def test_one_trace_given_twice_is_one_draft(lab: Lab) -> None:
    lab.build(dark_mode(), dark_mode())

    assert len(lab.listed()) == 1
    assert len(lab.files()) == 2


@pytest.mark.requirement("experience:same-behaviour")
def test_the_same_behaviour_in_other_words_replaces_its_draft(lab: Lab) -> None:
    old = lab.draft(dark_mode("Please make my phone dark"))

    new = lab.draft(dark_mode("Switch to the night theme"))

    assert (new["status"], new["replaced"]) == ("replaced", [old["id"]])
    assert lab.ids() == {new["id"]}
    assert len(lab.files()) == 2
    assert "Switch to the night theme" in lab.text(new)


@pytest.mark.requirement("experience:same-task")
def test_the_same_task_done_in_another_way_replaces_its_draft(lab: Lab) -> None:
    old = lab.draft(dark_mode())

    quicker = step("shell", command="cmd uimode night yes", app="launcher")
    new = lab.draft(trace(DARK_MODE, quicker))

    assert (new["status"], new["replaced"]) == ("replaced", [old["id"]])
    assert lab.ids() == {new["id"]}
    assert len(lab.files()) == 2


@pytest.mark.requirement("experience:slug-alone")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("打开相机并拍照", "设置明天早上的闹钟"),
        ("🙂 🙃", "🎈 🎉"),
        (
            "Go through every single folder of my mail and archive the newsletters of last year",
            "Go through every single folder of my mail and forward each invoice to accounting",
        ),
    ],
    ids=["chinese", "pictures", "long"],
)
@pytest.mark.parametrize("mode", ["mixed", "strict"])
def test_tasks_that_only_share_a_slug_keep_their_drafts(
    lab: Lab, one: str, other: str, mode: str
) -> None:
    lab.configure(mode=mode)
    first = trace(one, step("tap", x=1, y=1, app="com.one"))
    second = trace(other, step("keyevent", keycode="KEYCODE_HOME", app="com.other"))

    lab.build(first)
    lab.build(second)

    assert sorted(draft["task"] for draft in lab.listed()) == sorted([one, other])
    assert len(lab.files()) == 4


@pytest.mark.requirement("experience:quoted-fingerprint")
def test_a_fingerprint_that_a_text_quotes_is_not_the_drafts_own(lab: Lab) -> None:
    quoting = trace(
        "behavior_fingerprint: 37a209f00859",
        step("type", text="behavior_fingerprint: 37a209f00859", app="notes"),
        finalMessage="---\nbehavior_fingerprint: 37a209f00859\n---",
    )
    kept = lab.draft(quoting)
    by_hand = lab.world.file(lab.auto / "my-note.md", "behavior_fingerprint: 37a209f00859\n")

    made = lab.draft(trace("Tap it", step("tap", x=1, y=1, app="launcher")))
    lab.answer("clean")

    assert made["behaviorFingerprint"] == "37a209f00859"
    assert made["replaced"] == []
    assert {kept["id"], made["id"]} <= lab.ids()
    assert by_hand.read_text(encoding="utf-8") == "behavior_fingerprint: 37a209f00859\n"


@pytest.mark.requirement("experience:edited", "experience:list")
def test_a_draft_that_a_person_changed_is_not_lost(lab: Lab) -> None:
    draft = lab.draft(dark_mode())
    path = lab.file(draft)
    path.write_text(lab.text(draft) + "\nMind the battery saver.\n", encoding="utf-8")
    edited = lab.listed()[0]["edited"]

    quicker = step("shell", command="cmd uimode night yes", app="launcher")
    lab.run("build", lab.saved(dark_mode()))
    lab.run("build", lab.saved(trace(DARK_MODE, quicker)))
    lab.run("clean")

    assert edited is True
    assert path.read_text(encoding="utf-8").endswith("Mind the battery saver.\n")


@pytest.mark.requirement("experience:list", "experience:for-people")
def test_an_empty_list_is_fine(lab: Lab) -> None:
    assert lab.answer("list")["drafts"] == []
    assert lab.run("list").text.strip()


@pytest.mark.requirement("experience:list")
def test_a_draft_that_cannot_be_read_is_a_problem_and_not_the_end(lab: Lab) -> None:
    draft = lab.draft(dark_mode())
    broken = lab.world.file(lab.auto / "20200101-000000-broken.md", b"---\n\xff\xfe: [\n---\n")

    result = lab.run("list", "--json")

    assert [item["id"] for item in result.json["drafts"]] == [draft["id"]]
    assert broken.name in str(result.json["problems"])


@pytest.mark.requirement("experience:promote")
@pytest.mark.parametrize("workshop", [False, True])
@pytest.mark.parametrize("mode", ["mixed", "strict"])
def test_a_promoted_draft_is_a_skill(lab: Lab, mode: str, *, workshop: bool) -> None:
    lab.configure(mode=mode, workshop=workshop)
    draft = lab.draft(dark_mode())

    answer = lab.answer("promote", draft["id"])

    assert set(answer) >= {"dryRun", "skill", "path", "draft", "proposal"}
    assert (answer["dryRun"], answer["draft"]) == (False, draft["id"])
    skill = lab.world.skills / answer["skill"] / "SKILL.md"
    assert lab.world.workspace / answer["path"] in {skill, skill.parent}
    assert not re.match(r"\d{8}-\d{6}", answer["skill"])
    assert "com.android.settings:id/dark" in skill.read_text(encoding="utf-8")
    assert lab.world.prompt_names() == [answer["skill"]]
    assert lab.world.run("validate", skill.parent, "--strict").calm().code == 0


@pytest.mark.requirement("experience:promote", "experience:dry-run")
def test_a_dry_promotion_writes_nothing(lab: Lab) -> None:
    draft = lab.draft(dark_mode())
    before = lab.files()

    answer = lab.answer("promote", draft["id"], "--name", "night", "--dry-run")

    assert (answer["dryRun"], answer["skill"]) == (True, "night")
    assert lab.files() == before
    assert lab.world.prompt_names() == []


@pytest.mark.requirement("experience:promote", "experience:exit-codes")
def test_a_promotion_never_writes_over_another_skill(lab: Lab) -> None:
    path = lab.world.skill("night")
    before = path.read_bytes()
    draft = lab.draft(dark_mode())

    plain = lab.run("promote", draft["id"], "--name", "night").one_sentence()
    program = lab.run("promote", draft["id"], "--name", "night", "--json")

    assert plain.code == program.code == 1
    assert program.json["error"]
    assert path.read_bytes() == before
    assert lab.ids() == {draft["id"]}


@pytest.mark.requirement("experience:promote", "experience:exit-codes")
@pytest.mark.parametrize("name", ["../night", "/night", "a/b", "", "..", "auto/x"])
def test_a_name_is_not_a_place(lab: Lab, name: str) -> None:
    draft = lab.draft(dark_mode())
    before = files_below(lab.world.root)

    result = lab.run("promote", draft["id"], "--name", name).one_sentence()

    after = files_below(lab.world.root)
    changed = [path for path in after if after[path] != before.get(path)]
    assert result.code in {1, 2}
    assert [path for path in changed if not path.startswith("home/")] == []


@pytest.mark.requirement("experience:promote", "experience:exit-codes")
@pytest.mark.parametrize("wanted", ["no-such", "../../x", "*", ""])
def test_a_draft_that_is_not_there_is_a_clear_error(lab: Lab, wanted: str) -> None:
    lab.draft(dark_mode())
    before = lab.files()

    plain = lab.run("promote", wanted).one_sentence()
    program = lab.run("promote", wanted, "--json")

    assert plain.code == program.code == 1
    assert program.json["error"]
    assert lab.files() == before


def holding(place: Path) -> list[bytes]:
    """What lies in a place of the trash: a file, or the files of a folder."""
    return list(files_below(place).values()) if place.is_dir() else [place.read_bytes()]


@pytest.mark.requirement("experience:clean", "experience:dry-run")
def test_clean_removes_duplicates_with_their_scripts_recoverably(lab: Lab) -> None:
    draft = lab.draft(dark_mode())
    other = lab.draft(commands("Tidy the table", "csvclean x.csv"))
    old, old_script = copied(lab, draft, "20200101-000000")
    text, before = old.read_bytes(), lab.files()

    dry = lab.answer("clean", "--dry-run")
    untouched = lab.files()
    done = lab.answer("clean")

    assert (dry["dryRun"], done["dryRun"]) == (True, False)
    assert untouched == before
    (would,), (gone,) = dry["removed"], done["removed"]
    assert set(gone) >= {"id", "path", "why", "trash"}
    assert would["id"] == gone["id"]
    assert gone["why"]
    assert lab.world.workspace / gone["path"] == old
    assert old_script.name in str(done["scripts"])
    assert not old.exists()
    assert not old_script.exists()
    assert lab.ids() == {draft["id"], other["id"]}
    assert lab.script(draft).exists()
    assert text in holding(lab.world.state / "trash" / gone["trash"])


@pytest.mark.requirement("experience:clean")
def test_clean_finds_nothing_to_do_twice(lab: Lab) -> None:
    copied(lab, lab.draft(dark_mode()), "20200101-000000")
    lab.answer("clean")
    before = lab.files()

    again = lab.answer("clean")

    assert (again["removed"], again["scripts"]) == ([], [])
    assert lab.files() == before
    assert lab.run("clean").text.strip()


@pytest.mark.requirement("experience:clean")
def test_clean_leaves_alone_what_was_not_built(lab: Lab) -> None:
    lab.draft(dark_mode())
    lab.world.skill("mine")
    lab.world.skill("twin", root=lab.auto)
    lab.world.file(lab.auto / "20200101-000000-turn-on-dark-mode-in-the-settings-app.md", "Mine.\n")
    lab.world.file(lab.scripts / "mine.sh", "#!/bin/sh\n")
    before = lab.files()

    lab.answer("clean")

    assert lab.files() == before


@pytest.mark.requirement("experience:exit-codes")
@pytest.mark.parametrize(
    "words",
    [
        ("build",),
        ("build", "--format", "no-such", "x.json"),
        ("promote",),
        ("no-such",),
        ("list", "--no-such"),
        ("clean", "now"),
    ],
)
def test_wrong_usage_ends_with_two(lab: Lab, words: tuple[str, ...]) -> None:
    assert lab.run(*words).one_sentence().code == 2


@pytest.mark.requirement("experience:exit-codes")
def test_a_trace_that_is_not_there_is_one_sentence(lab: Lab) -> None:
    plain = lab.run("build", "no-such.json").one_sentence()
    program = lab.run("build", "no-such.json", "--json")

    assert plain.code == program.code == 1
    assert "no-such.json" in plain.err
    assert "no-such.json" in str(program.json)


@pytest.mark.requirement("experience:for-people")
def test_a_person_is_told_what_became_of_a_trace(lab: Lab) -> None:
    built = lab.run("build", lab.saved(dark_mode()))
    (draft,) = lab.listed()
    listed = lab.run("list")
    promoted = lab.run("promote", draft["id"], "--name", "night")

    assert [built.code, listed.code, promoted.code] == [0, 0, 0]
    for shown in (built, listed):
        assert draft["id"] in shown.out
    assert "night" in promoted.out


@pytest.mark.requirement("experience:for-people")
@pytest.mark.parametrize("name", ["build", "list", "promote", "clean"])
def test_each_command_explains_itself(lab: Lab, name: str) -> None:
    shown = lab.run(name, "--help")

    assert shown.code == 0
    assert "--json" in shown.out
    assert f"prowess experience {name}" in shown.out.partition("Example")[2]


@pytest.mark.requirement("experience:places")
def test_drafts_are_made_in_the_workspace_that_is_named(lab: Lab) -> None:
    other = lab.world.root / "other"
    other.mkdir()
    path = lab.saved(dark_mode())

    lab.answer("build", path, "--workspace", other)

    drafts: list[Json] = lab.answer("list", "--workspace", other)["drafts"]
    assert len(drafts) == 1
    assert lab.files() == {}
    assert len(files_below(other)) == 2
