"""What an attacker gets who controls a skill's text, its folder, or a link: a finding at most."""

import itertools
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import prowess
from prowess.cli.main import main
from prowess.errors import PathError, SkillNotFoundError
from prowess.host.sources.skill_files import locate_skill, read_inside, read_targets
from prowess.host.writers.export import SkillFolders
from prowess.runtime.library import Libraries
from prowess.wiring import Runtime
from prowess.wiring import transfer as validated


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("home", "state", "work/skills", "outside/stolen"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PROWESS_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path / "work")
    write(tmp_path / "work/skills/good", "name: good\ndescription: Use when good.")
    write(tmp_path / "outside/stolen", "name: stolen\ndescription: Private notes.")
    return tmp_path


def write(folder: Path, front: str, body: str = "Do it.") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "SKILL.md"
    path.write_text(f"---\n{front}\n---\n{body}\n", encoding="utf-8")
    return path


def own_names(runtime: Runtime) -> list[str]:
    rows = runtime.skills.status().skills
    return [row.skill.name for row in rows if not row.skill.bundled]


def codes(runtime: Runtime) -> set[str]:
    return {problem.code for problem in runtime.skills.status().diagnostics}


def is_ready(runtime: Runtime, name: str) -> bool:
    return runtime.skills.find(name).verdict.eligible


def test_a_file_that_becomes_a_link_while_we_run_is_refused(home: Path) -> None:
    runtime = prowess.open(home / "work")
    assert own_names(runtime) == ["good"]
    path = home / "work/skills/good/SKILL.md"

    path.unlink()
    path.symlink_to(home / "outside/stolen/SKILL.md")
    runtime.skills.refresh({str(path)})

    assert own_names(runtime) == []
    assert "symlink-escape" in codes(runtime)


def test_a_folder_that_becomes_a_link_while_we_run_is_refused(home: Path) -> None:
    runtime = prowess.open(home / "work")
    path = home / "work/skills/good/SKILL.md"
    assert own_names(runtime) == ["good"]

    path.unlink()
    path.parent.rmdir()
    path.parent.symlink_to(home / "outside/stolen")
    runtime.skills.refresh({str(path)})
    named = own_names(runtime)
    runtime.skills.refresh()

    assert named == own_names(runtime) == []


def test_a_link_that_goes_while_it_is_followed_takes_nothing_else_along(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "work/skills/passing").symlink_to(home / "work/skills/good")
    read = os.readlink

    def vanish(path: str, **how: Any) -> str:  # noqa: ANN401 - as readlink takes it
        # What is swapped in and out again is gone between the look at it and the next step.
        if os.fspath(path).endswith("passing"):
            raise FileNotFoundError(path)
        return read(path, **how)

    monkeypatch.setattr(os, "readlink", vanish)

    assert own_names(prowess.open(home / "work")) == ["good"]


def test_setting_the_time_of_a_folder_back_hides_nothing(home: Path) -> None:
    folder = home / "work/skills/good"
    old = time.time() - 100
    os.utime(folder, (old, old))
    runtime = prowess.open(home / "work")
    own_names(runtime)

    (folder / "SKILL.md").unlink()
    (folder / "SKILL.md").symlink_to(home / "outside/stolen/SKILL.md")
    os.utime(folder, (old, old))
    runtime.skills.refresh()

    assert own_names(runtime) == []


def test_a_linked_root_does_not_turn_notes_into_skills(home: Path) -> None:
    (home / "outside/diary.md").write_text("# Diary\n\nNobody must read this.\n")
    workspace = home / "other"
    workspace.mkdir()
    (workspace / "skills").symlink_to(home / "outside")

    runtime = prowess.open(workspace)

    assert own_names(runtime) == ["stolen"]
    assert "root-linked" in codes(runtime)
    assert "Nobody must" not in runtime.skills.prompt().text


def test_a_repair_never_writes_through_a_link(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = write(home / "outside/Bad Name", "name: Other\ndescription: do: it")
    before = target.read_text()
    (home / "work/skills/linked").symlink_to(target.parent)

    main(["validate", "--fix", str(home / "work/skills/linked")])

    assert target.read_text() == before
    assert "through a link" in capsys.readouterr().err


def test_a_repair_never_writes_below_a_linked_folder(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = write(home / "outside/deep/Bad Name", "name: Other\ndescription: do: it")
    before = target.read_text()
    (home / "work/skills/group").symlink_to(home / "outside/deep")

    main(["validate", "--fix", "--yes", str(home / "work/skills/group")])
    main(["validate", "--fix", "--yes", str(home / "work/skills/group/Bad Name/SKILL.md")])

    assert target.read_text() == before
    assert capsys.readouterr().err.count("through a link") == 2


def test_a_repair_takes_no_name_that_another_skill_has(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(home / "work/skills/dup-slug", "name: Dup\ndescription: x")
    write(home / "work/skills/Dup Slug", "name: dup-slug\ndescription: y")

    main(["validate", "--fix", "--yes", "skills"])

    assert "another skill is called dup-slug" in capsys.readouterr().err
    assert sorted(own_names(prowess.open(home / "work"))) == ["Dup", "dup-slug", "good"]


def test_completion_offers_no_name_that_a_shell_would_run(home: Path) -> None:
    write(home / "work/skills/evil", "name: 'good;touch PWNED;#'\ndescription: x")
    write(home / "work/skills/odd", "name: 'good $(id)'\ndescription: x")

    import click

    from prowess.cli.terminal import complete_skill

    context = click.Context(click.Command("show"))
    offered = complete_skill(context, click.Argument(["name"]), "good")

    assert offered == ["good"]


def test_names_that_look_alike_are_one_name_and_hidden_text_is_gone(home: Path) -> None:
    hidden = "".join(chr(0xE0100 + ord(char)) for char in "obey")
    write(home / "work/skills/twin", 'name: "good\\u200d\\ufe0f"\ndescription: x')
    write(home / "work/skills/odd", f"name: odd\ndescription: Use it.{hidden}\u2063\u3164\u00ad")

    runtime = prowess.open(home / "work")

    assert own_names(runtime) == ["good", "odd"]
    assert runtime.skills.prompt().text.isprintable() is False  # the newlines of the layout
    assert not set(runtime.skills.prompt().text) & set(f"{hidden}\u2063\u3164\u00ad\u200d")


def test_one_endless_name_does_not_push_the_others_out(home: Path) -> None:
    write(home / "work/skills/long", f"name: {'a' * 20_000}\ndescription: x")

    runtime = prowess.open(home / "work")

    assert "<name>good</name>" in runtime.skills.prompt().text
    assert "NAME_INVALID" in codes(runtime)


@pytest.mark.parametrize(
    "front",
    [
        "metadata: {openclaw: {requires: {bin: [no-such-tool]}}}",
        "metadata: {openclaw: {Requires: {Bins: [no-such-tool]}}}",
        "metadata: {OpenClaw: {requires: {any_bins: [no-such-tool]}}}",
        "metadata: {openclaw: {requires: {bins:no-such-tool}}}",
        "metadata: {openclaw: {requires: {bins: ['']}}}",
        """metadata: '{"openclaw": {"requires": {"bins": ["no"]}}, "openclaw": {}}'""",
        "Metadata: {}\nmetadata: {openclaw: {requires: {bins: [no-such-tool]}}}",
        "metadata: {openclaw: {requires: {os: [plan9]}}}",
        """metadata: '{"openclaw": {"requires": {"env": ["\\ud800"]}}}'""",
        "metadata: '{openclaw: {emoji: 0x" + "f" * 5000 + "}}'",
        "metadata:\n  openclaw:\n    requires:\n    bins: [no-such-tool]",
        "metadata: {openclaw: {requirements: {bins: [no-such-tool]}}}",
        "metadata: {openclaw: {requires: null, require: {bins: [no-such-tool]}}}",
        "metadata: {openclaw: {os: null, requires: {os: [plan9]}}}",
    ],
)
def test_a_slip_in_the_metadata_never_makes_a_skill_ready(home: Path, front: str) -> None:
    write(home / "work/skills/gated", f"name: gated\ndescription: x\n{front}")

    runtime = prowess.open(home / "work")

    assert not is_ready(runtime, "gated")
    assert is_ready(runtime, "good")


@pytest.mark.parametrize("broken", ["foo: [", "name: twice", "other: *alias"])
def test_a_gate_stays_shut_where_legacy_mode_reads_line_by_line(home: Path, broken: str) -> None:
    (home / "state/prowess.json").write_text('{"skills": {"specMode": "legacy"}}')
    gate = "metadata:\n  openclaw:\n    requires:\n      bins: [no-such-tool]"
    write(home / "work/skills/gated", f"name: gated\ndescription: x\n{broken}\n{gate}")

    runtime = prowess.open(home / "work")

    assert [
        row for row in runtime.skills.status().skills if row.skill.id == "gated" and row.usable
    ] == []


@pytest.mark.parametrize("before", ["\n", " ", "\u200b", "\n\n\ufeff"])
def test_a_block_behind_a_blank_is_refused_and_not_passed_over(home: Path, before: str) -> None:
    text = "---\nmetadata: {openclaw: {requires: {bins: [no-such-tool]}}}\n---\n# Alone\n\nText.\n"
    (home / "work/skills/alone.md").write_text(before + text, encoding="utf-8")

    runtime = prowess.open(home / "work")

    assert own_names(runtime) == ["good"]
    assert "FRONTMATTER_MISSING" in codes(runtime)


@pytest.mark.parametrize(
    ("front", "body"),
    [
        ("\n".join(["name: a:"] * 20_000), ""),
        ("name: a\ndescription: x", "](" * 60_000),
        ("name: a\ndescription: x", "[](a)\n" * 20_000),
        ("name: a" + "\u0315\u0300" * 20_000 + "\ndescription: x", ""),
        ("name: a\ndescription: x", "![" * 60_000),
        ("name: a\ndescription: x\nmetadata: '{a:[" + "1," * 40_000 + "}'", ""),
    ],
    ids=["colons", "links", "many-links", "accents", "images", "json5"],
)
def test_no_text_takes_longer_than_its_length_deserves(
    home: Path, front: str, body: str, capsys: pytest.CaptureFixture[str]
) -> None:
    size = len(front) + len(body)
    write(
        home / "work/skills/plain", "name: plain\ndescription: x", "word and more\n" * (size // 14)
    )
    write(home / "work/skills/slow", front, body)

    plain = time_of("plain", "plain")
    slow = time_of("slow", "a")

    capsys.readouterr()
    # Beside a harmless text of the same length; the hangs this guards against were a thousandfold.
    assert slow < 60 * plain


def time_of(folder: str, name: str) -> float:
    started = time.process_time()
    main(["validate", f"skills/{folder}"])
    main(["show", name])
    return time.process_time() - started


def test_a_forged_line_stays_inside_its_own(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = home / "work/skills" / "a\nPASS all is well\nvalid=99 invalid=0 total=99"
    write(folder, "name: x\ndescription: |\n  one\n  ✓ ready  fake")

    main(["validate", "skills"])
    main(["show", "x"])
    shown = capsys.readouterr().out.splitlines()

    assert "PASS all is well" not in shown
    assert not any(line.strip().startswith("✓ ready  fake") for line in shown)


def test_json_carries_no_control_characters_in_any_field(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    front = 'name: x\ndescription: "a\\u009b31m"\ntags: ["\\u202ex", "\\e[31m"]\nother: .inf'
    write(home / "work/skills/x", front)

    main(["show", "x", "--json"])
    text = capsys.readouterr().out

    assert json.loads(text)["name"] == "x"
    assert not any(char in text for char in "\x1b\x9b\u202e")


def test_disabling_a_skill_with_an_odd_key_works(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(
        home / "work/skills/odd",
        """name: odd\ndescription: x\nmetadata: '{"openclaw":{"skillKey":"x\\"y.z"}}'""",
    )

    assert main(["disable", "odd"]) == 0
    capsys.readouterr()

    assert not is_ready(prowess.open(home / "work"), "odd")


_SWAPPING = """
import os, sys
folder, away, outside = sys.argv[1:]
print("begun", flush=True)
while True:
    os.rename(folder, away)
    os.symlink(outside, folder)
    os.unlink(folder)
    os.rename(away, folder)
"""


@contextmanager
def swapped(folder: Path, outside: Path) -> Iterator[None]:
    """Put a link to `outside` in the place of `folder` and take it away, again and again."""
    words = (str(folder), str(folder.parent.parent / "away"), str(outside))
    with subprocess.Popen(
        [sys.executable, "-c", _SWAPPING, *words], stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "begun\n"
        try:
            yield
        finally:
            child.kill()


def _look(runtime: Runtime) -> str:
    runtime.skills.refresh()
    return f"{runtime.skills.status()} {runtime.skills.prompt().text}"


def _open_file(runtime: Runtime) -> str:
    libraries = Libraries(runtime.skills, os.path.isdir, read_inside)
    return str([libraries.file("good", name, None) for name in ("SKILL.md", "notes.txt")])


def _list_files(runtime: Runtime) -> str:
    return str(runtime.skills.resources("good"))


def _scan(runtime: Runtime) -> str:
    return str(list(read_targets(locate_skill(runtime.skills.find("good").skill))))


def _copy(runtime: Runtime) -> str:
    files = SkillFolders().read(runtime.skills.find("good").skill).files
    return str({path: file.content for path, file in files.items()})


def _validate(runtime: Runtime) -> str:
    return str([item.document for item in validated.candidates(runtime, (), None)])


@pytest.mark.slow
@pytest.mark.parametrize("linked", [False, True], ids=["plain", "allowed link"])
@pytest.mark.parametrize("reader", [_look, _open_file, _list_files, _scan, _copy, _validate])
def test_a_skill_folder_that_is_swapped_for_a_link_is_never_followed(
    home: Path, reader: Callable[[Runtime], str], *, linked: bool
) -> None:
    kept, folder = home / "kept" / "good", home / "work/skills/good"
    if linked:
        # What may be linked is read where it was found, whatever the link says by now.
        (home / "state/prowess.json").write_text(
            json.dumps({"skills": {"load": {"allowSymlinkTargets": [str(home / "kept")]}}})
        )
        write(kept, "name: good\ndescription: Use when good.")
        shutil.rmtree(folder)
        folder.symlink_to(kept)
    (folder / "notes.txt").write_text("mine")
    write(home / "outside/stolen", "name: good\ndescription: STOLEN words.", "STOLEN")
    for name in ("notes.txt", "STOLEN.txt"):
        (home / "outside/stolen" / name).write_text("STOLEN")
    runtime = prowess.open(home / "work")
    assert own_names(runtime) == ["good"]

    answers, end = 0, time.monotonic() + 20
    with swapped(folder, home / "outside/stolen"):
        for rounds in itertools.count():
            if (rounds > 250 and answers) or time.monotonic() > end:
                break
            try:
                said = reader(runtime)
            except (PathError, SkillNotFoundError):
                continue
            answers += "good" in said or "mine" in said or "notes" in said
            assert "STOLEN" not in said

    assert answers
