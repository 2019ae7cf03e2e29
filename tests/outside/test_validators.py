"""What `prowess new` writes passes the validators that others publish, run for real."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.outside.harnesses import CannotBeHadError, install

from prowess.cli.main import main

# The reference validator of the Agent Skills standard, as it is on PyPI; npm has another of its
# name, whose version stands in the table of this folder.
PYPI = "skills-ref==0.1.1"

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PROWESS_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    folder = tmp_path / "skills"
    asked = ["--when", 'write the "release notes" for 2.0', "--unless", "a poem: of the sea"]
    assert (
        main(["new", "release-notes", "--does", "notes: # & more", *asked, "--into", str(folder)])
        == 0
    )
    return folder / "release-notes"


def test_a_new_skill_is_valid_to_the_validator_of_npm(made: Path) -> None:
    try:
        entry = install("skills-ref") / "node_modules/.bin/skills-ref"
    except CannotBeHadError as error:
        pytest.skip(str(error))

    good = subprocess.run([entry, "validate", made], capture_output=True, text=True, check=False)
    (made / "SKILL.md").write_text("---\nname: Other_Name\n---\n", encoding="utf-8")
    bad = subprocess.run([entry, "validate", made], capture_output=True, text=True, check=False)

    assert good.returncode == 0, good.stdout + good.stderr
    assert bad.returncode != 0


def test_a_new_skill_is_valid_to_the_validator_of_pypi(made: Path, tmp_path: Path) -> None:
    target = tmp_path / "validator"
    fetch = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "-q",
        "--retries=1",
        "--target",
        str(target),
        PYPI,
    ]
    fetched = subprocess.run(fetch, capture_output=True, text=True, check=False)
    if fetched.returncode != 0:
        pytest.skip(f"the index did not deliver: {fetched.stderr[-200:]}")
    script = f"import sys; sys.path.insert(0, {str(target)!r}); import skills_ref; from pathlib"
    script += " import Path; print(skills_ref.validate(Path(sys.argv[1])))"

    def problems() -> str:
        command = [sys.executable, "-c", script, str(made)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    assert problems() == "[]"
    (made / "SKILL.md").write_text("---\nname: Other_Name\n---\n", encoding="utf-8")
    assert problems() != "[]"
