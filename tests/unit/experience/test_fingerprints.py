"""Fingerprints: the coarse one is the one others compute, the fine one keeps flows apart."""

from collections.abc import Sequence

import pytest
from tests.rows import each_row

from prowess.experience.fingerprint import (
    describe_command,
    hash_behaviour,
    hash_flow,
    list_programs,
)
from prowess.transcripts.traces import Json, TraceAction, TraceStep, UiTarget


def step(app: str, kind: str, *, on: UiTarget | None = None, **fields: Json) -> TraceStep:
    """Return one step."""
    return TraceStep(number=1, action=TraceAction(kind, fields), app=app, target=on)


YOUTUBE = "com.google.android.youtube"


@each_row(
    ("steps", "expected"),
    [
        ([step("launcher", "tap")], "37a209f00859"),
        (
            [step("launcher", "launch_app", packageName=YOUTUBE), step(YOUTUBE, "wait")],
            "250631ad3584",
        ),
        ([step("", "finish")], "a5e0e52ac9cb"),
        ([step("app", "request_human_auth", capability="location")], "a11081832380"),
        ([step("launcher", "tap"), step("chrome", "type"), step("chrome", "wait")], "99aee4fdc7a0"),
        ([step("com.app", "tap")] * 25, "d8e07eccbe6b"),
        ([step("com.app", "tap")] * 40, "d8e07eccbe6b"),
    ],
)
def test_the_coarse_fingerprint_has_its_known_values(
    steps: Sequence[TraceStep], expected: str
) -> None:
    assert hash_behaviour(steps) == expected


def test_coordinates_typed_text_and_results_do_not_count() -> None:
    here = [step("app", "tap", x=1, y=2), step("app", "type", text="one")]
    there = [step("app", "tap", x=900, y=1), step("app", "type", text="two")]

    assert hash_behaviour(here) == hash_behaviour(there)
    assert hash_flow(here, on_device=True) == hash_flow(there, on_device=True) == ""


def test_different_elements_of_one_app_are_different_flows() -> None:
    wifi = [step("settings", "tap_element", on=UiTarget(resource_id="id/wifi"))]
    sound = [step("settings", "tap_element", on=UiTarget(resource_id="id/sound"))]

    assert hash_behaviour(wifi) == hash_behaviour(sound)
    assert hash_flow(wifi, on_device=True) != hash_flow(sound, on_device=True)
    assert len(hash_flow(wifi, on_device=True)) == 12


def test_a_fine_fingerprint_sees_every_step() -> None:
    first = [step("a", "tap", on=UiTarget(text="Next")) for _ in range(30)]
    last = [*first[:-1], step("a", "tap", on=UiTarget(text="Cancel"))]

    assert hash_flow(first, on_device=True) != hash_flow(last, on_device=True)


def test_an_element_is_known_by_its_name_when_its_words_change() -> None:
    monday = [step("a", "tap", on=UiTarget(resource_id="id/day", text="Monday"))]
    tuesday = [step("a", "tap", on=UiTarget(resource_id="id/day", text="Tuesday"))]

    assert hash_flow(monday, on_device=True) == hash_flow(tuesday, on_device=True)


def test_files_and_programs_keep_coding_flows_apart() -> None:
    def run(command: str, file: str) -> list[TraceStep]:
        return [
            step("", "Read", file_path=f"/home/a/{file}"),
            step("", "Edit", file_path=f"/home/a/{file}"),
            step("", "Bash", command=command),
        ]

    tests = hash_flow(run("pytest -q tests/test_a.py", "a.py"), on_device=False)

    assert tests == hash_flow(run("pytest -x tests/test_b.py", "a.py"), on_device=False)
    assert tests != hash_flow(run("pytest -q tests/test_a.py", "b.py"), on_device=False)
    assert tests != hash_flow(run("git commit -am x", "a.py"), on_device=False)


PATCH = "*** Begin Patch\n*** {how} File: {name}\n+x\n*** End Patch"


def patched(name: str, how: str = "Update") -> dict[str, list[TraceStep]]:
    """Return the ways in which one patch is handed over, each between the same commands."""
    text = PATCH.format(how=how, name=name)
    ways = {
        "input": step("", "apply_patch", input=text),
        "diff": step("", "apply_patch", patch=f"--- a/{name}\n+++ b/{name}\n+x"),
        "command": step("", "shell", command=["apply_patch", text]),
        "lines": step("", "shell", command=f"apply_patch <<'EOF'\n{text}\nEOF"),
    }
    around = step("", "Bash", command="git status"), step("", "Bash", command="pytest -q")
    return {way: [around[0], one, around[1]] for way, one in ways.items()}


@pytest.mark.parametrize("way", ["input", "diff", "command", "lines"])
def test_a_patch_is_known_by_its_files(way: str) -> None:
    docs, login = patched("docs/export.md")[way], patched("src/login.py")[way]

    assert hash_behaviour(docs) == hash_behaviour(login)
    assert hash_flow(docs, on_device=False) != hash_flow(login, on_device=False)
    assert hash_flow(docs, on_device=False) == hash_flow(
        patched("docs/export.md")[way], on_device=False
    )


@pytest.mark.parametrize("how", ["Add", "Delete"])
def test_a_file_that_a_patch_adds_or_deletes_counts_too(how: str) -> None:
    one, other = (
        hash_flow(patched(name, how)["input"], on_device=False) for name in ("a.py", "b.py")
    )

    assert one != other


def test_the_script_behind_an_interpreter_keeps_flows_apart_and_its_input_does_not() -> None:
    def run(script: str, given: str) -> str:
        commands = (f"cat {given}", f"python {script} {given}", "git add -A")
        return hash_flow([step("", "Bash", command=one) for one in commands], on_device=False)

    invoices = run("make_invoices.py", "october.csv")

    assert invoices == run("tools/make_invoices.py", "november.csv")
    assert invoices != run("train_spam.py", "mails.csv")


def test_one_command_alone_is_too_little_to_compare() -> None:
    assert hash_flow([step("", "Bash", command="git status")], on_device=False) == ""


@each_row(
    ("command", "shape"),
    [
        ("git commit -m 'a; b | c'", "git commit"),
        ("cd /srv && FOO=1 sudo /usr/bin/python3 run.py data.csv 2>&1 | tail -5",
         "cd | python3 run.py *.csv | tail"),
        ("python3 -u tools/train.py mails.csv", "python3 train.py *.csv"),
        ("python -m http.server", "python http.server"),
        ("python -c 'print(1)'", "python"),
        ("bash deploy.sh", "bash deploy.sh"),
        ("npm run build", "npm run build"),
        ("uv run python tools/a.py b.csv", "uv run a.py *.csv"),
        ("cat > a.txt <<'EOF'\nrm everything\nEOF\nwc a.txt", "cat *.txt | wc *.txt"),
        ("", ""),
        ("'unclosed", "unclosed"),
    ],
)  # fmt: skip
def test_a_command_has_a_shape(command: str, shape: str) -> None:
    assert describe_command(command) == shape


def test_programs_are_named_once_and_without_the_shell_itself() -> None:
    command = 'cd x; git add . && git commit -m "run; this" && ./venv/bin/pytest'

    assert list_programs(command) == ("git", "pytest")


def test_lone_surrogates_have_a_fingerprint() -> None:
    assert len(hash_behaviour([step("\ud800", "\udfff")])) == 12
