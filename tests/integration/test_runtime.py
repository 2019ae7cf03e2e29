"""The runtime on real folders: what several adapters do together."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import prowess
from prowess.host.sources.candidates import find_named
from prowess.settings import Limits, SpecMode
from prowess.skills.parse import split_sections
from prowess.skills.validation import plan
from prowess.wiring import Runtime


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[Runtime]:
    for name in ("home", "state", "work/skills"):
        (tmp_path / name).mkdir(parents=True)
    environ = {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
    opened = prowess.open(tmp_path / "work", home=tmp_path / "state", environ=environ)
    yield opened
    opened.close()


def write(folder: Path, front: str, body: str = "Do it.\n") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "SKILL.md"
    path.write_text(f"---\n{front}\n---\n{body}", encoding="utf-8")
    return path


def test_a_use_counts_in_the_process_that_recorded_it(tmp_path: Path, runtime: Runtime) -> None:
    (tmp_path / "state/prowess.json").write_text('{"skills": {"limits": {"maxSkillsInPrompt": 1}}}')
    write(tmp_path / "work/skills/alpha", "name: alpha\ndescription: First.")
    write(tmp_path / "work/skills/beta", "name: beta\ndescription: Second.")
    before = runtime.skills.prompt().text

    runtime.record_use("beta")

    assert "<name>alpha</name>" in before
    assert "<name>beta</name>" in runtime.skills.prompt().text


def test_a_session_keeps_the_skills_of_its_snapshot(tmp_path: Path, runtime: Runtime) -> None:
    front = "name: keyed\ndescription: x\nmetadata: {openclaw: {primaryEnv: A_KEY, skillKey: k}}"
    write(tmp_path / "work/skills/keyed", front)
    runtime.sessions().begin_turn("s1")

    stored = runtime.store.load("s1")

    assert stored is not None
    assert ("keyed", "k", "A_KEY") in [(s.name, s.key, s.primary_env) for s in stored.skills]


def test_why_says_what_shadows_a_skill_and_what_was_passed_over(
    tmp_path: Path, runtime: Runtime
) -> None:
    loser = write(
        tmp_path / "state/skills/old-folder",
        "name: twice\ndescription: Old.\nmetadata: {openclaw: {skillKey: old-key}}",
    )
    winner = write(tmp_path / "work/skills/twice", "name: twice\ndescription: New.")
    write(tmp_path / "state/skills/solid", "name: solid\ndescription: Fine.")
    broken = write(tmp_path / "work/skills/solid", "name: solid\ndescription: [")

    lost = runtime.why("old-key")
    passed = runtime.why("solid")

    assert lost.reason is not None
    assert str(loser) in lost.steps[0].detail
    assert str(winner) in lost.reason.detail
    assert passed.visible
    assert str(broken) in passed.steps[0].detail


def test_the_last_section_ends_with_the_file(tmp_path: Path, runtime: Runtime) -> None:
    path = write(
        tmp_path / "work/skills/one", "name: one\ndescription: x", "# A\n\ntext\n\n## B\nend\n"
    )

    found = split_sections(runtime.skills.find("one").skill)

    assert [(part.title, part.line, part.last_line) for part in found] == [
        ("A", 5, 8),
        ("B", 9, 10),
    ]
    assert path.read_text().splitlines()[9] == "end"


def test_links_that_lead_to_themselves_are_reported(tmp_path: Path, runtime: Runtime) -> None:
    (tmp_path / "work/skills/loop").symlink_to(tmp_path / "work/skills/loop")
    os.mkfifo(tmp_path / "work/skills/note.md")
    (tmp_path / "work/.claude").mkdir()
    (tmp_path / "work/.claude/skills").symlink_to(tmp_path / "nowhere")

    problems = runtime.skills.status().diagnostics

    assert {(Path(item.path).name, item.code) for item in problems} == {
        ("loop", "unreadable"),
        ("note.md", "not-a-file"),
        ("skills", "root-missing"),
    }


def test_validation_refuses_what_loading_refuses(tmp_path: Path) -> None:
    path = write(tmp_path / "one", "name: one\ndescription: x")
    (tmp_path / "other").hardlink_to(path)

    (found,) = find_named([str(path)], SpecMode.MIXED, Limits())

    assert found.problem is not None
    assert found.problem.code == "hard-link"


def test_a_repair_keeps_letters_of_every_script(tmp_path: Path) -> None:
    path = write(tmp_path / "検証_X", "name: 検証 X\ndescription: Use it.")
    (found,) = find_named([str(path)], SpecMode.MIXED, Limits())
    assert found.document is not None

    repair = plan(found.document)

    assert repair is not None
    assert repair.folder == "検証-x"
    assert 'name: "検証-x"' in repair.after
