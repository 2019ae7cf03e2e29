"""Giving skills to others: sites, bills of materials, and locks of other tools."""

import json
import shutil
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.integration.sharing_world import PIPE, Home, Repository, page, write


@pytest.fixture
def home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Home:
    return Home(tmp_path / "ann", monkeypatch, capsys)


class _Quiet(SimpleHTTPRequestHandler):
    # The base class decides the names of the parameters.
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


@pytest.fixture
def site(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    folder = tmp_path / "site"
    folder.mkdir()
    handler = partial(_Quiet, directory=str(folder))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield folder, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_what_is_published_can_be_added_by_anybody(
    home: Home, tmp_path: Path, site: tuple[Path, str]
) -> None:
    own = write(
        tmp_path / "own",
        {"notes/SKILL.md": page(), "notes/a.md": b"a\n", "deploy/SKILL.md": page("deploy")},
    )
    folder, address = site

    code, found = home.json("publish", str(own), "--to", str(folder))
    home.add(address, "--skill", "notes")

    assert (code, [one["name"] for one in found["skills"]]) == (0, ["deploy", "notes"])
    assert (home.work / "skills/notes/a.md").read_bytes() == b"a\n"
    index = folder / ".well-known/agent-skills/index.json"
    before = index.read_bytes()
    home.json("publish", str(own), "--to", str(folder))
    assert index.read_bytes() == before
    write(own, {"notes/SKILL.md": page(body="Newer.")})
    shutil.rmtree(own / "deploy")
    home.json("publish", str(own), "--to", str(folder))
    rows = json.loads(index.read_bytes())["skills"]
    assert [one["name"] for one in rows] == ["deploy", "notes"]
    assert home.json("update", "--yes")[1]["skills"][0]["outcome"] == "updated"


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"notes/SKILL.md": page(body=PIPE)}, "critical"),
        ({"notes/SKILL.md": b"---\nname: notes\n---\n\n# Notes\n"}, "description"),
        ({"README.md": b"x"}, "no SKILL.md"),
    ],
)
def test_what_must_not_be_shared_is_refused_and_nothing_is_written(
    home: Home, tmp_path: Path, files: dict[str, bytes], said: str
) -> None:
    own = write(
        tmp_path / "own",
        {"good/SKILL.md": page("good"), **files} if "README.md" not in files else files,
    )

    code, text = home.text("publish", str(own), "--to", str(tmp_path / "site"))

    assert code == 1
    assert said in text
    assert not (tmp_path / "site").exists()


@pytest.mark.parametrize("kind", ["cyclonedx", "spdx"])
def test_a_bill_of_materials_names_what_is_locked(home: Home, tmp_path: Path, kind: str) -> None:
    made = Repository(tmp_path / "repo", {"notes/SKILL.md": page()})
    home.add(str(made.folder))

    code, text = home.text("export", "--sbom", kind)

    assert code == 0
    found = json.loads(text)
    rows = found["components" if kind == "cyclonedx" else "packages"]
    assert [one["name"] for one in rows] == ["notes"]
    assert home.text("export")[0] == 2
    assert home.text("export", "notes", "--sbom", kind)[0] == 2


def test_a_lock_of_another_tool_brings_its_skills_here(home: Home, tmp_path: Path) -> None:
    made = Repository(tmp_path / "repo", {"tools/notes/SKILL.md": page()})
    first = made.git("rev-parse", "HEAD")
    made.commit({"tools/notes/SKILL.md": page(body="Newer.")})
    rows = [
        {
            "repo_url": f"file://{made.folder}",
            "resolved_commit": first,
            "virtual_path": "tools/notes",
        }
    ]
    lock = {"lockfile_version": "1", "dependencies": rows}
    (home.work / "apm.lock.yaml").write_text(json.dumps(lock), encoding="utf-8")

    assert home.json("lock", "import", "apm.lock.yaml", "--yes")[0] == 0

    entry = home.lock["skills"]["notes"]
    assert (entry["resolved"], entry["pinned"]) == (first, True)
    assert home.json("lock", "export", "apm")[0] == 0
    assert (home.work / "apm.lock.yaml").read_text(encoding="utf-8").count("tools/notes") == 1


@pytest.mark.parametrize("text", [None, "{", '{"version": 9, "skills": {}}'])
def test_a_bad_lock_of_another_tool_is_named_and_nothing_happens(
    home: Home, text: str | None
) -> None:
    if text is not None:
        (home.work / "skills-lock.json").write_text(text, encoding="utf-8")
    before = home.files()

    code, said = home.text("lock", "import", "skills-lock.json", "--yes")

    assert (code, "skills-lock.json" in said, home.files()) == (1, True, before)
