"""Locks that the tools themselves wrote: `skills` and `clawhub` from npm, run for real."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.sharing_world import Home, Hub, Repository, page

PACKAGES = ("skills@1.5.18", "clawhub@0.20.0")
FILES = {
    "skills/notes/SKILL.md": page(),
    "skills/notes/references/Z.md": b"z\n",
    "skills/notes/references/a_b.md": b"a\n",
    "skills/notes/references/a-b.md": b"a\n",
    "skills/notes/references/a.md": b"a\n",
    "skills/notes/LICENSE": b"MIT\n",
    "skills/notes/scripts/1.sh": b"echo 1\n",
}


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    folder = tmp_path_factory.mktemp("tools")
    (folder / "package.json").write_text("{}", encoding="utf-8")
    command = [npm, "install", "--no-audit", "--no-fund", "--fetch-retries=1", *PACKAGES]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"the registry did not deliver: {done.stderr[-200:]}")
    return folder / "node_modules/.bin"


@pytest.fixture
def home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Home:
    return Home(tmp_path / "ann", monkeypatch, capsys)


@pytest.fixture
def hub() -> Iterator[Hub]:
    made = Hub()
    yield made
    made.close()


def run(program: Path, home: Home, *words: str) -> None:
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(home.base / "home"),
        "DISABLE_TELEMETRY": "1",
    }
    done = subprocess.run(
        [program, *words], cwd=home.work, env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_lock_of_vercel_is_read_and_written_without_a_change(
    programs: Path, home: Home, tmp_path: Path
) -> None:
    repository = Repository(tmp_path / "repo", FILES)
    address = f"file://{repository.folder}"
    run(
        programs / "skills", home, "add", address, "--skill", "notes", "-y", "--copy", "-a", "codex"
    )
    theirs = (home.work / "skills-lock.json").read_bytes()

    code, found = home.json("lock", "import", "skills-lock.json", "--yes")

    # Their hash was held against what came, so it is computed as they do.
    assert json.loads(theirs)["skills"]["notes"]["computedHash"]
    assert (code, [one["outcome"] for one in found["skills"]]) == (0, ["added"])
    assert home.json("lock", "export", "vercel")[1]["changed"] is False
    assert (home.work / "skills-lock.json").read_bytes() == theirs
    repository.commit({"skills/notes/SKILL.md": page(body="Newer.")})
    home.json("update", "--yes")
    assert home.json("lock", "export", "vercel")[1]["changed"] is True
    # The tool itself would have written the same.
    ours = (home.work / "skills-lock.json").read_bytes()
    run(
        programs / "skills", home, "add", address, "--skill", "notes", "-y", "--copy", "-a", "codex"
    )
    assert (home.work / "skills-lock.json").read_bytes() == ours != theirs


def test_a_lock_of_clawhub_is_read_and_written_without_a_change(
    programs: Path, home: Home, hub: Hub
) -> None:
    hub.publish("notes", "1.0.0", {"SKILL.md": page()})
    skill = {
        "slug": "notes", "displayName": "Notes", "summary": "s", "tags": {}, "stats": {},
        "createdAt": 1, "updatedAt": 1,
    }  # fmt: skip
    version = {"version": "1.0.0", "createdAt": 1, "changelog": ""}
    hub.put("/api/v1/skills/notes", {"skill": skill, "latestVersion": version, "owner": None})
    registry = f"http://{hub.host}"
    words = ("--registry", registry, "--no-input", "--dir", "theirs", "install", "notes")
    run(programs / "clawhub", home, *words)
    theirs = (home.work / ".clawhub/lock.json").read_bytes()

    code, found = home.json("lock", "import", ".clawhub/lock.json", "--registry", registry, "--yes")

    assert (code, [one["outcome"] for one in found["skills"]]) == (0, ["added"])
    assert home.json("lock", "export", "clawhub")[1]["changed"] is False
    assert (home.work / ".clawhub/lock.json").read_bytes() == theirs
