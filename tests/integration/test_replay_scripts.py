"""Replay scripts, run by a real bash against a stand-in for adb and against real files."""

import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.integration.replay_world import World, node, step, world

from prowess.experience.replay.script import write_replay_script
from prowess.experience.replay.steps import quote_bash
from prowess.transcripts.traces import Json, Trace, TraceAction, TraceStep, UiTarget

__all__ = ["world"]

HARD_TEXTS = (
    """it's "quoted" $(touch canary) `touch canary` $HOME \\ & | ; < > * ? ~ # ! {a,b}""",
    "100%s sure, 50% s, %%s, %",
    "two\nlines and\ta tab",
    "-n --help",
    "'",
    "ends with a backslash \\",
)


def test_a_dry_run_says_what_each_step_does_and_calls_nothing(world: World) -> None:
    script = world.script(
        step(1, "launch_app", packageName="com.example.notes"),
        step(2, "tap", x=10.4, y=20.5),
        step(3, "exec", command="touch made"),
        step(4, "write", path="made", content="x"),
    )

    done = world.run(script)

    assert done.returncode == 0
    assert "Step 1: opens com.example.notes" in done.stdout
    assert "Step 2: taps at 10,21" in done.stdout
    assert "    | touch made" in done.stdout
    assert "This was a dry run" in done.stdout
    assert world.adb_calls() == []
    assert list(world.work.iterdir()) == []


def test_steps_reach_the_device_with_the_usual_numbers(world: World) -> None:
    script = world.script(
        step(1, "launch_app", packageName="com.example.notes"),
        step(2, "tap", x=10.4, y=20.5),
        step(3, "swipe", x1=1, y1=2, x2=3, y2=4),
        step(4, "drag", x1=1, y1=2, x2=3, y2=4),
        step(5, "swipe", x1=1, y1=2, x2=3, y2=4, durationMs=5),
        step(6, "long_press_drag", x1=1, y1=2, x2=3, y2=4, holdMs=700, durationMs=260),
        step(7, "long_press_drag", x1=1, y1=2, x2=3, y2=4),
        step(8, "keyevent", keycode="KEYCODE_ENTER"),
        step(9, "wait", durationMs=1),
        step(10, "shell", command="getprop ro.build"),
    )

    done = world.run(script, "--execute")

    assert (done.returncode, done.stderr) == (0, "")
    assert world.device_calls() == [
        ["monkey", "-p", "com.example.notes", "-c", "android.intent.category.LAUNCHER", "1"],
        ["input", "tap", "10", "21"],
        ["input", "swipe", "1", "2", "3", "4", "300"],
        ["input", "swipe", "1", "2", "3", "4", "360"],
        ["input", "swipe", "1", "2", "3", "4", "100"],
        ["input", "swipe", "1", "2", "3", "4", "960"],
        ["input", "swipe", "1", "2", "3", "4", "750"],
        ["input", "keyevent", "KEYCODE_ENTER"],
        ["getprop", "ro.build"],
    ]
    assert {tuple(call[:2]) for call in world.adb_calls()[1:]} == {("-s", "phone-1")}


@pytest.mark.parametrize("args", [("--device", "phone-2"), ("--device=phone-2",), ("phone-2",)])
def test_a_device_can_be_named(world: World, args: tuple[str, ...]) -> None:
    script = world.script(step(1, "tap", x=1, y=2))

    done = world.run(script, "--execute", *args)

    assert done.returncode == 0
    assert world.adb_calls() == [["-s", "phone-2", "shell", "input tap 1 2"]]


def test_without_a_device_nothing_begins(world: World) -> None:
    script = world.script(step(1, "tap", x=1, y=2))
    (world.root / "bin/adb").write_text("#!/bin/sh\necho 'List of devices attached'\n")

    done = world.run(script, "--execute")

    assert done.returncode == 4
    assert "No device is online" in done.stderr


def test_typed_text_arrives_as_it_was_typed(world: World) -> None:
    steps = [step(number, "type", text=text) for number, text in enumerate(HARD_TEXTS, 1)]

    done = world.run(world.script(*steps), "--execute")

    assert (done.returncode, done.stderr) == (0, "")
    # A device has no key for a line end within a text: it becomes a space, as a tab does.
    assert world.typed() == "".join(HARD_TEXTS).replace("\n", " ").replace("\t", " ")
    assert not (world.root / "canary").exists()


def test_the_two_signs_that_mean_a_space_are_typed_apart(world: World) -> None:
    script = world.script(step(1, "type", text="a%sb c"))

    world.run(script, "--execute")

    assert world.device_calls() == [["input", "text", "a%"], ["input", "text", "sb%sc"]]


def test_text_beyond_ascii_goes_through_the_clipboard(world: World) -> None:
    text = "\u4f60\u597d 'x' $(touch canary)\nna\u00efve \U0001f600 %s"
    script = world.script(step(1, "type", text=text))

    done = world.run(script, "--execute")

    assert (done.returncode, done.stderr) == (0, "")
    assert world.device_calls() == [
        ["cmd", "clipboard", "set", "text", text],
        ["input", "keyevent", "KEYCODE_PASTE"],
    ]
    assert not (world.root / "canary").exists()


def test_a_device_without_a_clipboard_leaves_the_text_to_a_person(world: World) -> None:
    script = world.script(step(1, "type", text="\u00e9"))
    (world.root / "no-clipboard").touch()

    done = world.run(script, "--execute")

    assert done.returncode == 6
    assert "by hand" in done.stderr
    assert ["input", "keyevent", "KEYCODE_PASTE"] not in world.device_calls()


def test_a_secret_is_not_in_the_script_and_is_asked_for(world: World) -> None:
    field = UiTarget(resource_id="com.example:id/password", class_name="android.widget.EditText")
    script = world.script(
        step(1, "tap_element", field, x=5, y=6), step(2, "type", text="hunter2 is it")
    )

    without = world.run(script, "--execute", "--from", "2")
    given_value = world.run(script, "--execute", "--from", "2", hidden="it's %s new")

    assert "hunter2" not in script.read_text()
    assert without.returncode == 6
    assert "REPLAY_SECRET_2" in without.stderr
    assert given_value.returncode == 0
    assert world.typed() == "it's %s new"


def test_a_secret_can_be_typed_on_the_terminal(world: World) -> None:
    field = UiTarget(resource_id="com.example:id/pin_code")
    script = world.script(step(1, "type", field, text="4711"))

    code, said = world.run_with_terminal(script, "--execute", typed="9 9\n")

    assert code == 0
    assert world.device_calls() == [["input", "text", "9%s9"]]
    assert "9 9" not in said


class TestElements:
    SAVE = UiTarget(
        resource_id="com.example:id/save",
        text='Save & "close" <now>',
        class_name="android.widget.Button",
    )

    def test_an_element_is_tapped_where_it_is_now(self, world: World) -> None:
        world.show_screen(
            node("[0,0][50,50]", text="Save"),
            node("[100,200][301,401]", resource_id="com.example:id/save", text="Keep"),
        )
        script = world.script(step(1, "tap_element", self.SAVE, elementId="e1"))

        done = world.run(script, "--execute")

        assert (done.returncode, done.stderr) == (0, "")
        assert world.device_calls()[-1] == ["input", "tap", "200", "300"]

    def test_its_text_is_the_second_choice_and_compared_as_the_device_writes_it(
        self, world: World
    ) -> None:
        text = "Save &amp; &quot;close&quot; &lt;now&gt;"
        world.show_screen(node("[0,0][10,10]", text="Save"), node("[20,20][40,40]", text=text))
        script = world.script(step(1, "tap_element", self.SAVE))

        world.run(script, "--execute")

        assert world.device_calls()[-1] == ["input", "tap", "30", "30"]

    @pytest.mark.parametrize("written", ["it's &#128512;", "it&apos;s \U0001f600"])
    def test_a_description_is_the_third_in_any_spelling(self, world: World, written: str) -> None:
        world.show_screen(node("[20,20][40,40]", content_desc=written))
        target = UiTarget(resource_id="gone", content_desc="it's \U0001f600")
        script = world.script(step(1, "tap_element", target))

        world.run(script, "--execute")

        assert world.device_calls()[-1] == ["input", "tap", "30", "30"]

    def test_of_several_the_class_decides(self, world: World) -> None:
        world.show_screen(
            node("[0,0][10,10]", text="OK", class_="android.widget.TextView"),
            node("[20,20][40,40]", text="OK", class_="android.widget.Button"),
        )
        target = UiTarget(text="OK", class_name="android.widget.Button")
        script = world.script(step(1, "tap_element", target))

        world.run(script, "--execute")

        assert world.device_calls()[-1] == ["input", "tap", "30", "30"]

    def test_of_equal_ones_the_recorded_place_decides(self, world: World) -> None:
        world.show_screen(
            *(node(f"[0,{top}][100,{top + 100}]", resource_id="row") for top in (0, 100, 200))
        )
        script = world.script(step(1, "tap", UiTarget(resource_id="row"), x=30, y=130))

        world.run(script, "--execute")

        assert world.device_calls()[-1] == ["input", "tap", "50", "150"]

    def test_equal_ones_without_a_place_are_not_guessed(self, world: World) -> None:
        world.show_screen(*(node(f"[0,0][{x},9]", resource_id="row") for x in (5, 6)))
        script = world.script(step(1, "tap_element", UiTarget(resource_id="row")))

        done = world.run(script, "--execute", tries="1")

        assert done.returncode == 5
        assert "2 elements on the screen look like it" in done.stderr
        assert not any(call[:2] == ["input", "tap"] for call in world.device_calls())

    def test_without_the_element_the_coordinates_are_used(self, world: World) -> None:
        world.show_screen(node("[0,0][50,50]", text="Other"))
        script = world.script(step(1, "tap", self.SAVE, x=7, y=8))

        done = world.run(script, "--execute", tries="1")

        assert done.returncode == 0
        assert "the element is not on the screen: tapped at 7,8" in done.stdout
        assert world.device_calls()[-1] == ["input", "tap", "7", "8"]

    def test_without_element_and_coordinates_it_stops(self, world: World) -> None:
        world.show_screen(node("[0,0][50,50]", text="Other", evil="$(touch canary)"))
        script = world.script(
            step(1, "tap_element", self.SAVE), step(2, "keyevent", keycode="KEYCODE_BACK")
        )

        done = world.run(script, "--execute", tries="1")

        assert done.returncode == 5
        assert "Step 1 was not run: the element is not on the screen" in done.stderr
        assert not any(call[:2] == ["input", "keyevent"] for call in world.device_calls())

    def test_a_screen_cannot_bring_in_numbers_that_are_code(self, world: World) -> None:
        world.show_screen(node("[0,a[$(touch canary)]][1,1]", text="OK"))
        script = world.script(step(1, "tap_element", UiTarget(text="OK")))

        done = world.run(script, "--execute", tries="1")

        assert done.returncode == 5
        assert not (world.root / "canary").exists()


def test_actions_in_a_row_are_done_in_order(world: World) -> None:
    actions: list[dict[str, str | int]] = [
        {"type": "tap", "x": 1, "y": 2},
        {"type": "type", "text": "a b"},
        {"type": "keyevent", "keycode": "66"},
    ]
    script = world.script(step(1, "batch_actions", actions=actions))

    world.run(script, "--execute")

    assert world.device_calls() == [
        ["input", "tap", "1", "2"],
        ["input", "text", "a%sb"],
        ["input", "keyevent", "66"],
    ]


def test_it_stops_at_the_first_step_that_fails_and_says_which(world: World) -> None:
    script = world.script(
        step(1, "tap", x=1, y=2), step(2, "keyevent", keycode="3"), step(3, "tap", x=3, y=4)
    )
    (world.root / "no-keys").touch()

    done = world.run(script, "--execute")

    assert done.returncode == 1
    assert "Step 2 failed (exit status 7)" in done.stderr
    assert len(world.device_calls()) == 2


def test_a_part_can_be_run(world: World) -> None:
    script = world.script(*(step(number, "tap", x=number, y=0) for number in range(1, 6)))

    world.run(script, "--execute", "--from", "2", "--to=3")

    assert world.device_calls() == [["input", "tap", "2", "0"], ["input", "tap", "3", "0"]]


@pytest.mark.parametrize(
    "args",
    [
        ("--from", "9"),
        ("--from", "x"),
        ("--from", "a[$(touch canary)]"),
        ("--confirm", "0"),
        ("--from",),
        ("--from", "2", "--to", "1"),
        ("--everything",),
        ("phone-1", "phone-2"),
        ("--folder", "/"),
    ],
)
def test_wrong_usage_runs_nothing(world: World, args: tuple[str, ...]) -> None:
    script = world.script(step(1, "tap", x=1, y=2), step(2, "tap", x=1, y=2))

    done = world.run(script, "--execute", *args)

    assert done.returncode == 2
    assert done.stderr
    assert world.adb_calls() == []
    assert not (world.root / "canary").exists()


def test_help_names_the_options_and_what_asks(world: World) -> None:
    script = world.script(step(1, "tap", x=1, y=2), step(4, "shell", command="rm -r /sdcard/x"))

    done = world.run(script, "--help")

    assert done.returncode == 0
    assert "--confirm N" in done.stdout
    assert "Steps that ask for a confirmation: 4" in done.stdout


# What makes a trace one of a device, so that `shell` means the device's own.
TAP = step(9, "tap", x=1, y=2)


class TestConfirming:
    def test_without_a_terminal_a_destructive_step_stops_the_replay(self, world: World) -> None:
        script = world.script(
            step(1, "tap", x=1, y=2), step(2, "shell", command="rm x"), step(3, "tap", x=3, y=4)
        )

        done = world.run(script, "--execute")

        assert done.returncode == 3
        assert "--confirm 2" in done.stderr
        assert world.device_calls() == [["input", "tap", "1", "2"]]

    def test_a_number_confirms_that_step_alone(self, world: World) -> None:
        script = world.script(
            step(1, "shell", command="rm x"), step(2, "shell", command="rm y"), TAP
        )

        done = world.run(script, "--execute", "--confirm", "1")

        assert done.returncode == 3
        assert world.device_calls() == [["rm", "x"]]

    @pytest.mark.parametrize(("typed", "code"), [("y\n", 0), ("n\n", 3), ("\n", 3), ("\x04", 3)])
    def test_on_a_terminal_it_asks(self, world: World, typed: str, code: int) -> None:
        script = world.script(step(1, "shell", command="rm x"), TAP)

        ended, _ = world.run_with_terminal(script, "--execute", "--to", "1", typed=typed)

        assert ended == code
        assert (world.device_calls() == [["rm", "x"]]) == (code == 0)

    def test_a_yes_to_all_covers_what_follows_in_this_run(self, world: World) -> None:
        script = world.script(
            step(1, "shell", command="rm x"), step(2, "shell", command="rm y"), TAP
        )

        ended, _ = world.run_with_terminal(script, "--execute", "--to", "2", typed="a\n")
        again = world.run(script, "--execute")

        assert (ended, again.returncode) == (0, 3)
        assert world.device_calls() == [["rm", "x"], ["rm", "y"]]

    def test_a_whole_script_is_always_confirmed(self, world: World) -> None:
        script = world.script(step(1, "run_script", script="echo hi\ntouch made"))

        refused = world.run(script, "--execute")
        done = world.run(script, "--execute", "--confirm", "1")

        assert (refused.returncode, done.returncode) == (3, 0)
        assert (world.work / "made").exists()


class TestHost:
    def test_commands_run_in_the_recorded_folder(self, world: World) -> None:
        (world.work / "sub").mkdir()
        script = world.script(
            step(1, "Bash", command="pwd"), step(2, "exec_command", cmd="pwd", workdir="sub")
        )

        done = world.run(script, "--execute")

        assert f"{world.work}\n" in done.stdout
        assert f"{world.work}/sub\n" in done.stdout

    def test_another_folder_can_be_named(self, world: World) -> None:
        (world.root / "other").mkdir()
        script = world.script(
            step(1, "Write", file_path=f"{world.work}/new/a.txt", content="it's\n\u00e9\n\n")
        )

        done = world.run(script, "--execute", "--folder", "other")

        assert (done.returncode, done.stderr) == (0, "")
        assert (world.root / "other/new/a.txt").read_text() == "it's\n\u00e9\n\n"

    def test_a_folder_that_is_gone_gives_way_to_the_current_one(self, world: World) -> None:
        script = world.script(step(1, "Bash", command="pwd"), folder="/not/here")

        done = world.run(script, "--execute")

        assert f"Folder: {world.root}\n" in done.stdout

    def test_a_file_that_is_there_is_only_overwritten_when_confirmed(self, world: World) -> None:
        (world.work / "a.txt").write_text("old")
        script = world.script(step(1, "write_file", path="a.txt", content="new"))

        refused = world.run(script, "--execute")
        kept = (world.work / "a.txt").read_text()
        done = world.run(script, "--execute", "--confirm", "1")
        again = world.run(script, "--execute")

        assert (refused.returncode, kept) == (3, "old")
        assert (done.returncode, (world.work / "a.txt").read_text()) == (0, "new")
        assert again.returncode == 0

    def test_a_command_that_is_not_known_to_be_harmless_asks(self, world: World) -> None:
        script = world.script(step(1, "Bash", command="echo new > made.txt"))

        refused = world.run(script, "--execute")
        made = (world.work / "made.txt").exists()
        done = world.run(script, "--execute", "--confirm", "1")

        assert (refused.returncode, made, done.returncode) == (3, False, 0)
        assert (world.work / "made.txt").read_text() == "new\n"

    def test_an_edit_replaces_text_literally(self, world: World) -> None:
        path = world.work / "a.txt"
        path.write_text("a*b [x] & \\1 \u00e9\n\n")
        script = world.script(
            step(1, "Edit", file_path=str(path), old_string="*b [x] &", new_string="& \\0 'q' $x")
        )

        done = world.run(script, "--execute")

        assert (done.returncode, done.stderr) == (0, "")
        assert path.read_text() == "a& \\0 'q' $x \\1 \u00e9\n\n"

    @pytest.mark.parametrize("content", ["x x", "y", "x\0"])
    def test_an_edit_that_does_not_match_once_stops(self, world: World, content: str) -> None:
        path = world.work / "a.txt"
        path.write_text(content)
        script = world.script(
            step(1, "Edit", file_path=str(path), old_string="x", new_string="z"),
            step(2, "Bash", command="touch after"),
        )

        done = world.run(script, "--execute")

        assert done.returncode == 1
        assert "Step 1 failed" in done.stderr
        assert path.read_text() == content
        assert not (world.work / "after").exists()

    def test_an_edit_that_would_leave_nothing_is_confirmed(self, world: World) -> None:
        path = world.work / "a.txt"
        path.write_text("x")
        script = world.script(
            step(1, "Edit", file_path=str(path), old_string="x", new_string="y"),
            step(2, "MultiEdit", file_path=str(path), edits=[{"oldText": "y", "newText": " "}]),
        )

        refused = world.run(script, "--execute")
        done = world.run(script, "--execute", "--from", "2", "--confirm", "2")

        assert (refused.returncode, done.returncode) == (3, 0)
        assert path.read_text() == " "

    def test_what_the_trace_wrote_is_only_run_when_confirmed(self, world: World) -> None:
        script = world.script(
            step(1, "Write", file_path="x.sh", content="touch made\n"),
            step(2, "Bash", command="bash x.sh"),
        )

        refused = world.run(script, "--execute")
        made = (world.work / "made").exists()
        done = world.run(script, "--execute", "--confirm", "2")

        assert (refused.returncode, made, done.returncode) == (3, False, 0)
        assert (world.work / "made").exists()

    def test_several_edits_are_made_together_or_not_at_all(self, world: World) -> None:
        path = world.work / "a.txt"
        path.write_text("one two two")
        edits: list[dict[str, str | bool]] = [
            {"old_string": "two", "new_string": "2", "replace_all": True},
            {"old_string": "one", "new_string": "1"},
        ]
        good = step(1, "MultiEdit", file_path=str(path), edits=edits)
        bad = step(1, "MultiEdit", file_path=str(path), edits=[*edits, edits[0]])

        refused = world.run(world.script(bad), "--execute")
        kept = path.read_text()
        done = world.run(world.script(good), "--execute")

        assert (refused.returncode, kept) == (1, "one two two")
        assert (done.returncode, path.read_text()) == (0, "1 2 2")

    def test_a_file_is_shown(self, world: World) -> None:
        (world.work / "a.txt").write_text("what it holds")
        script = world.script(step(1, "Read", file_path=str(world.work / "a.txt")))

        assert "what it holds" in world.run(script, "--execute").stdout

    def test_what_has_no_command_waits_for_a_person(self, world: World) -> None:
        script = world.script(
            step(1, "apply_patch", input="*** Begin Patch"), step(2, "Bash", command="touch after")
        )

        alone = world.run(script, "--execute")
        code, said = world.run_with_terminal(script, "--execute", typed="\ny\n")

        assert alone.returncode == 6
        assert "--from 2" in alone.stderr
        assert (code, (world.work / "after").exists()) == (0, True), said

    def test_a_command_cannot_eat_what_the_script_asks_next(self, world: World) -> None:
        script = world.script(
            step(1, "Bash", command="cat"), step(2, "Bash", command="rm -f nothing")
        )

        code, _ = world.run_with_terminal(script, "--execute", typed="y\n")

        assert code == 0

    def test_a_credential_in_a_command_is_asked_for(self, world: World) -> None:
        token = "ghp_" + "a1B2" * 9
        script = world.script(step(1, "Bash", command=f"echo 'token {token} here'"))

        missing = world.run(script, "--execute")
        odd = world.run(script, "--execute", hidden="x'; touch canary; '")
        done = world.run(script, "--execute", hidden="abc-123")

        assert token not in script.read_text()
        assert (missing.returncode, odd.returncode, done.returncode) == (6, 6, 0)
        assert "token abc-123 here" in done.stdout
        assert not (world.work / "canary").exists()


CANARY = "$(touch {0}) `touch {0}` ; touch {0}\ntouch {0}\n' ; touch {0} ; '\" ; touch {0} ; \" \\"


def test_no_text_of_a_trace_runs_by_itself(world: World) -> None:
    mark = world.root / "canary"
    evil = CANARY.format(mark)
    target = UiTarget(
        element_id=evil, label=evil, resource_id=evil, text=evil, content_desc=evil, class_name=evil
    )
    kinds = ("type", "tap_element", "launch_app", "keyevent", "Read", "apply_patch", evil)
    fields: dict[str, Json] = {
        "text": evil, "packageName": evil, "keycode": evil, "path": evil, "question": evil,
        "elementId": evil, "x": 1, "y": 2,
    }  # fmt: skip
    steps = [
        TraceStep(number=number, action=TraceAction(kind, fields), target=target, app=evil,
             thought=evil, result=evil)
        for number, kind in enumerate(kinds, 1)
    ]  # fmt: skip
    script = world.script(*steps, task=evil, folder=evil)
    world.show_screen(node("[0,0][9,9]", text="Other"))

    runs = [world.run(script), world.run(script, "--help")]
    runs += [
        world.run(script, "--execute", "--from", n, "--to", n, "--confirm", n, tries="1")
        for n in map(str, range(1, len(kinds) + 1))
    ]

    assert not mark.exists()
    # The key and the package are only noted; a file of that name cannot be named in a script.
    assert [run.returncode for run in runs] == [0, 0, 0, 0, 0, 0, 6, 6, 6]
    assert world.typed() == evil.replace("\n", " ")


TEXTS = st.text(
    st.one_of(
        st.sampled_from("'\"\\$`(){}[]<>|&;#!*?~%\n\r\t\0\x1b\u202e \u00e9\u4e2d\U0001f600 -=a1"),
        st.characters(),
    ),
    max_size=20,
)
VALUES = st.one_of(TEXTS, st.floats(), st.integers(), st.booleans(), st.none(), st.lists(TEXTS))
KINDS = sorted(
    [
        "tap",
        "tap_element",
        "swipe",
        "drag",
        "long_press_drag",
        "type",
        "keyevent",
        "wait",
        "launch_app",
        "shell",
        "run_script",
        "Bash",
        "Read",
        "Write",
        "Edit",
        "apply_patch",
        "batch_actions",
        "finish",
        "request_human_auth",
        "Grep",
    ]
)
NAMES = sorted(
    [
        "text",
        "command",
        "script",
        "x",
        "y",
        "x1",
        "y1",
        "x2",
        "y2",
        "durationMs",
        "holdMs",
        "keycode",
        "packageName",
        "file_path",
        "content",
        "old_string",
        "new_string",
        "question",
        "workdir",
    ]
)
ACTIONS = st.builds(
    lambda kind, fields: {"type": kind, **fields},
    st.one_of(st.sampled_from(KINDS), TEXTS),
    st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=5),
)
TARGETS = st.builds(
    UiTarget, text=TEXTS, resource_id=TEXTS, content_desc=TEXTS, class_name=TEXTS, label=TEXTS
)


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    """Any trace, odd ones more often than others."""
    inner = st.builds(
        lambda kind, fields, actions: (kind, {**fields, "actions": actions}),
        st.one_of(st.sampled_from(KINDS), TEXTS),
        st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=5),
        st.lists(ACTIONS, max_size=2),
    )
    steps = [
        TraceStep(
            number=draw(st.integers(-1, 9)),
            action=TraceAction(kind, fields),
            target=draw(st.one_of(st.none(), TARGETS)),
            app=draw(TEXTS),
            failed=draw(st.booleans()) and draw(st.booleans()),
        )
        for kind, fields in draw(st.lists(inner, min_size=1, max_size=4))
    ]
    known = step(9, "wait")
    return Trace(task=draw(TEXTS), ok=True, steps=(*steps, known), folder=draw(TEXTS))


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(batch=st.lists(traces(), min_size=4, max_size=4))
def test_any_trace_gives_a_script_that_bash_can_read_and_dry_run(
    tmp_path_factory: pytest.TempPathFactory, batch: list[Trace]
) -> None:
    folder = tmp_path_factory.mktemp("scripts")
    for number, trace in enumerate(batch):
        text = write_replay_script(trace, name=trace.task)
        assert text is not None
        (folder / f"{number}.sh").write_bytes(text.encode())

    done = _check_all(folder)

    assert (done.returncode, done.stderr) == (0, "")


def _check_all(folder: Path) -> subprocess.CompletedProcess[str]:
    """Let one bash read and dry-run every script of a folder, with no program to call."""
    loop = 'for f in *.sh; do bash -n "$f" && bash "$f" >/dev/null || exit 1; done'
    return subprocess.run(
        ["bash", "-c", loop], cwd=folder, capture_output=True, text=True, check=False, timeout=60
    )


@settings(max_examples=10, deadline=None)
@given(texts=st.lists(TEXTS, min_size=1, max_size=40))
def test_bash_reads_every_quoted_text_back_as_it_was(texts: list[str]) -> None:
    command = "printf '%s\\0' " + " ".join(map(quote_bash, texts))

    done = subprocess.run(["bash", "-c", command], capture_output=True, check=True, timeout=60)

    assert "\n" not in command
    # Bash has no place for a zero byte, and no encoding for half a pair.
    kept = [re.sub("[\ud800-\udfff]", "\ufffd", text.replace("\0", "")) for text in texts]
    assert done.stdout.split(b"\0")[:-1] == [text.encode() for text in kept]
