"""Replay scripts: nothing unless told, each step once told, and no text that becomes a command."""

import os
import pty
import subprocess
from html import escape
from pathlib import Path

import pytest

from .experience_bench import Lab, Phone, commands, dark_mode, step, trace
from .world import TIMEOUT_S, Json, World

# A file of this name in any folder shows that a text was run.
TOUCH = "touch PWNED"
PLAIN = (
    f'"; {TOUCH}; "',
    f"$({TOUCH})",
    f"`{TOUCH}`",
    f"'; {TOUCH}; '",
    f"'\"'; {TOUCH} #",
    f"& {TOUCH} & | {TOUCH}",
    'back\\slash \\" $HOME ${PATH} !! ~ * ? [a] {b,c}',
    "-n --help",
    "<in >out",
)
BROKEN = (
    f"one\n{TOUCH}\n",
    f"EOF\n{TOUCH}\nEOF",
    f"æøå 漢字 🙂 $({TOUCH})",
    f"\x1b[31m\r{TOUCH}\r",
    f"%s$({TOUCH})%d",
)


@pytest.fixture
def lab(world: World) -> Lab:
    return Lab(world)


@pytest.fixture
def phone(world: World) -> Phone:
    return Phone(world)


def pwned(lab: Lab) -> list[Path]:
    return list(lab.world.root.rglob("*PWNED*"))


def element(text: str = "", resource: str = "", about: str = "", at: str = "[0,0][9,9]") -> str:
    """An element of a screen, as a phone writes it."""
    shown = f'text="{text}" resource-id="{resource}" class="android.widget.Button"'
    told = f'package="com.app" content-desc="{about}" checkable="false" checked="false"'
    rest = 'clickable="true" enabled="true" focusable="true" password="false" selected="false"'
    return f'{shown} {told} {rest} bounds="{at}"'


@pytest.mark.requirement("experience:dry-script")
def test_a_script_does_nothing_unless_told_to(lab: Lab) -> None:
    marker = lab.world.root / "marker"
    draft = lab.draft(
        trace(
            "Mark and tap",
            step("exec", command=f"printf done > {marker}"),
            step("tap", x=12, y=34, app="com.app"),
        )
    )

    shown = lab.replay(draft)

    assert shown.code == 0, str(shown)
    assert not marker.exists()
    assert "printf done" in shown.out
    assert "12" in shown.out
    assert "34" in shown.out
    assert "--execute" in shown.text


@pytest.mark.requirement("experience:dry-script")
def test_a_dry_run_taps_nothing_on_a_phone_that_is_there(lab: Lab, phone: Phone) -> None:
    draft = lab.draft(dark_mode())

    shown = lab.replay(draft)

    assert shown.code == 0, str(shown)
    assert phone.inputs() == []


@pytest.mark.requirement("experience:execute")
def test_a_script_that_is_told_to_does_each_step(lab: Lab, phone: Phone) -> None:
    marker = lab.world.root / "marker"
    draft = lab.draft(
        trace(
            "Do all kinds of things",
            step("launch_app", packageName="com.app", app="launcher"),
            step("tap", x=12.4, y=33.6, app="com.app"),
            step("type", text="two words", app="com.app"),
            step("keyevent", keycode="KEYCODE_ENTER", app="com.app"),
            step("swipe", x1=1, y1=2, x2=3, y2=4, durationMs=250, app="com.app"),
            step("exec", command=f"printf '%s' 'it is done' > {marker}"),
            step("finish", message="Done.", app="com.app"),
        )
    )

    done = lab.replay(draft, "--execute", "--confirm", "6")

    assert done.code == 0, str(done)
    assert phone.taps() == [("12", "34")]
    assert phone.typed() == ["two words"]
    calls = phone.inputs()
    assert any(call[-1] == "KEYCODE_ENTER" for call in calls)
    assert [call[-5:] for call in calls if "swipe" in call] == [["1", "2", "3", "4", "250"]]
    assert marker.read_text(encoding="utf-8") == "it is done"


@pytest.mark.requirement("experience:execute")
def test_a_script_without_a_phone_says_so(lab: Lab) -> None:
    draft = lab.draft(trace("Tap once", step("tap", x=1, y=1, app="com.app")))

    done = lab.replay(draft, "--execute")

    assert done.code not in {0, 126, 127}, str(done)
    assert "adb" in done.text


@pytest.mark.requirement("experience:element")
@pytest.mark.parametrize(
    ("known", "shown"),
    [
        ({"resourceId": "com.app:id/send", "text": "Send"}, element("Send", "com.app:id/send")),
        ({"resourceId": "com.app:id/send"}, element("Senden", "com.app:id/send")),
        ({"text": "Send it"}, element("Send it")),
        ({"contentDesc": "Send the mail"}, element(about="Send the mail")),
        ({"text": "Tom & Jerry"}, element("Tom &amp; Jerry")),
    ],
    ids=["both", "resource", "text", "description", "escaped"],
)
def test_a_tap_finds_its_element_where_it_is_now(
    lab: Lab, phone: Phone, known: Json, shown: str
) -> None:
    phone.shows(
        element("Cancel", "com.app:id/cancel", at="[10,10][30,30]"),
        shown.replace("[0,0][9,9]", "[100,200][300,400]"),
        element("Send later", "com.app:id/send_later", "Send", at="[500,500][700,700]"),
    )
    target = {"className": "android.widget.Button", "clickable": True, **known}
    tap = step("tap_element", elementId="3", app="com.app", ui=target)
    draft = lab.draft(trace("Send the mail", tap))

    done = lab.replay(draft, "--execute")

    assert done.code == 0, str(done)
    assert phone.taps() == [("200", "300")]


@pytest.mark.requirement("experience:element")
def test_an_element_that_is_not_there_is_not_tapped_and_not_passed_over(
    lab: Lab, phone: Phone
) -> None:
    phone.shows(element("Cancel", "com.app:id/cancel", at="[10,10][30,30]"))
    target = {"resourceId": "com.app:id/send", "text": "Send"}
    tap = step("tap_element", elementId="3", app="com.app", ui=target)
    draft = lab.draft(trace("Send the mail", tap))

    done = lab.replay(draft, "--execute")

    assert phone.taps() == []
    assert done.code != 0, str(done)


@pytest.mark.requirement("experience:quoted")
def test_typed_text_is_typed_as_it_is(lab: Lab, phone: Phone) -> None:
    typed = [step("type", text=text, app="com.app") for text in PLAIN]
    draft = lab.draft(trace("Type odd things", *typed))

    done = lab.replay(draft, "--execute")

    assert pwned(lab) == []
    assert phone.typed() == list(PLAIN), str(done)


@pytest.mark.requirement("experience:quoted")
@pytest.mark.parametrize("words", [(), ("--execute",)], ids=["dry", "executed"])
def test_no_field_of_a_trace_becomes_a_command(
    lab: Lab, phone: Phone, words: tuple[str, ...]
) -> None:
    # All of them are on the screen, so that a script that looks for one goes on to the next.
    texts = (*PLAIN, *BROKEN)
    phone.shows(*(element(escape(text).replace("\n", "&#10;")) for text in texts))
    steps = [step("type", text=text, app=text) for text in BROKEN]
    for text in texts:
        steps += [
            step("launch_app", packageName=f"com.x{text}", app=text),
            step("keyevent", keycode=text),
            step("tap", x=text, y=text, thought=text, result=text),
            step("swipe", x1=1, y1=text, x2=text, y2=2, durationMs=text),
            step(f"tap\n{text}", x=1, y=2),
            step("finish", message=text),
        ]
    steps += [step("tap_element", elementId=text, ui={"text": text}) for text in texts]
    steps += [step("wait", durationMs=f"1; {TOUCH}")]
    task = f"Do it\n{TOUCH}\n$({TOUCH}) `{TOUCH}`"
    draft = lab.draft(trace(task, *steps, sessionPath=f"s\n{TOUCH}\n", finalMessage=task))

    lab.replay(draft, *words)

    assert pwned(lab) == []
    checked = subprocess.run(
        ["bash", "-n", lab.script(draft)], capture_output=True, text=True, check=False
    )
    assert (checked.returncode, checked.stderr) == (0, "")


@pytest.mark.requirement("experience:quoted")
def test_an_argument_of_a_tool_is_not_a_command(lab: Lab) -> None:
    draft = lab.draft(
        trace(
            "Use tools",
            step("read", path=f"a$({TOUCH})"),
            step("write", path="b", content=f"`{TOUCH}`\n{TOUCH}\n"),
            step("memory_search", query=f"'; {TOUCH}; '"),
            step("exec", command="printf '%s' fine"),
        )
    )

    lab.replay(draft)
    lab.replay(draft, "--execute")

    assert pwned(lab) == []


def destroying(lab: Lab, line: str) -> tuple[Json, Path]:
    """A draft whose step ends a folder or calls a stand-in, and what shows whether it ran."""
    folder = lab.world.root / "precious"
    lab.world.file(folder / "kept.txt", "kept\n")
    for name in ("git", "kubectl", "psql"):
        lab.world.file(lab.world.bin / name, f"#!/bin/sh\nrm -r {folder}\n").chmod(0o755)
    return lab.draft(commands("Tidy up", line.format(folder))), folder


@pytest.mark.requirement("experience:destructive")
@pytest.mark.parametrize(
    "line",
    [
        "rm -rf {}",
        "cd / && /bin/rm -r -f {}",
        "bash -c 'rm -rf {}'",
        "find {} -delete",
        "git push --force origin main",
        "git reset --hard HEAD~3",
        "kubectl delete namespace shop",
        "psql -c 'DROP TABLE users'",
    ],
)
def test_a_destructive_step_is_not_taken_unconfirmed(lab: Lab, line: str) -> None:
    draft, folder = destroying(lab, line)

    shown = lab.replay(draft)
    unanswered = lab.replay(draft, "--execute")
    declined = lab.replay(draft, "--execute", typed="n\n")

    assert shown.code == 0, str(shown)
    assert folder.exists(), f"{unanswered}\n{declined}"
    assert (folder / "kept.txt").exists()


@pytest.mark.requirement("experience:destructive")
@pytest.mark.parametrize(("answer", "kept"), [("yes", False), ("no", True), ("", True)])
def test_a_person_may_confirm_a_destructive_step(lab: Lab, answer: str, *, kept: bool) -> None:
    draft, folder = destroying(lab, "rm -rf {}")
    ours, theirs = pty.openpty()
    os.write(ours, f"{answer}\n".encode())

    # A terminal of its own, for a script that asks there and not on its standard input.
    subprocess.run(
        ["setsid", "--ctty", "--wait", lab.script(draft), "--execute"],
        cwd=lab.world.root,
        env=lab.world.env(),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        timeout=TIMEOUT_S,
        check=False,
    )
    drawn = os.read(ours, 65536).decode("utf-8", "replace")
    os.close(theirs)
    os.close(ours)

    assert folder.exists() == kept, drawn


@pytest.mark.requirement("experience:destructive")
def test_what_only_looks_destructive_is_taken(lab: Lab) -> None:
    draft = lab.draft(commands("Say how", "echo 'how to rm a file'"))

    done = lab.replay(draft, "--execute")

    assert done.code == 0, str(done)
    assert "how to rm a file" in done.out
