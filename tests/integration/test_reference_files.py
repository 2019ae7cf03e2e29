"""What lies beside a skill's page: its words find the skill, and nothing else is read."""

import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from prowess.routing.model import Decision
from prowess.wiring import open_runtime
from prowess.wiring.library import Runtime

ASKED = "how do I calibrate the barometric sublimation chamber"
PAGE = "---\nname: {name}\ndescription: {description}\n---\n\n# {name}\n\nFollow the steps.\n"


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PROWESS_HOME", str(tmp_path / "home"))
    put(tmp_path, "lab-manual", "Work with the instruments of our laboratory.")
    put(tmp_path, "bread-baker", "Bake bread and rolls in the oven.")
    return tmp_path


def put(workspace: Path, name: str, description: str) -> None:
    folder = workspace / "skills" / name
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(PAGE.format(name=name, description=description))


def first(runtime: Runtime) -> tuple[str, float]:
    best = runtime.routing.route(ASKED).considered[0]
    return best.skill.name, best.signals.get("words", 0.0)


def words_of(workspace: Path, name: str) -> float:
    with open_runtime(workspace) as runtime:
        found = {one.skill.name: one for one in runtime.routing.route(ASKED).considered}
        return found[name].signals.get("words", 0.0)


@pytest.mark.parametrize("where", ["references/chamber.md", "reference/chamber.md", "chamber.md"])
def test_words_of_a_reference_file_find_the_skill(workspace: Path, where: str) -> None:
    file = workspace / "skills" / "lab-manual" / where
    file.parent.mkdir(exist_ok=True)
    before = words_of(workspace, "lab-manual")

    file.write_text("## Calibrate the barometric sublimation chamber\n\nTurn the valve.\n")

    assert before == 0.0
    assert words_of(workspace, "lab-manual") > 0.0
    with open_runtime(workspace) as runtime:
        assert runtime.routing.route(ASKED).decision is not Decision.NONE
        assert first(runtime)[0] == "lab-manual"


def test_a_changed_reference_file_is_read_again_by_a_process_that_stays(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = workspace / "skills" / "lab-manual" / "references" / "chamber.md"
    file.parent.mkdir()
    file.write_text("## Something else\n")
    now = [1_000.0]
    clock = SimpleNamespace(**{**vars(time), "monotonic": lambda: now[0]})
    monkeypatch.setattr("prowess.wiring.library.time", clock)
    with open_runtime(workspace) as runtime:
        assert first(runtime)[1] == 0.0

        file.write_text("## Calibrate the barometric sublimation chamber\n")
        now[0] += 60

        assert first(runtime) > ("lab-manual", 0.0)


@pytest.mark.parametrize("name", ["README.md", "notes.bin", "assets/chamber.md"])
def test_other_files_say_nothing(workspace: Path, name: str) -> None:
    file = workspace / "skills" / "lab-manual" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("Calibrate the barometric sublimation chamber.\n")

    assert words_of(workspace, "lab-manual") == 0.0


def test_a_link_out_of_the_skill_is_not_followed(workspace: Path) -> None:
    (workspace / "elsewhere").mkdir()
    (workspace / "elsewhere" / "chamber.md").write_text(f"{ASKED}\n")
    (workspace / "skills" / "lab-manual" / "references").symlink_to(workspace / "elsewhere")

    assert words_of(workspace, "lab-manual") == 0.0


def test_bytes_that_are_no_text_leave_the_others(workspace: Path) -> None:
    folder = workspace / "skills" / "lab-manual" / "references"
    folder.mkdir()
    (folder / "a.md").write_bytes(b"\xff\xfe\x00\x81")
    (folder / "b.md").write_text("Calibrate the barometric sublimation chamber.\n")

    assert words_of(workspace, "lab-manual") > 0.0
