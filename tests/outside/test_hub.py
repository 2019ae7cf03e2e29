"""The pinned `clawhub` and OpenClaw from npm against a hub: they publish, search and install."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.integration.hub_world import describe, open_world, served_hub
from tests.outside.harnesses import CannotBeHadError, program

from prowess.host.store.database import open_file
from prowess.hub.model import HubRole

PACKAGE = "clawhub@0.20.0"

# Each run of the client is a process that takes seconds to start where cores are shared.
pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Path:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    folder = tmp_path_factory.mktemp("clawhub")
    (folder / "package.json").write_text("{}", encoding="utf-8")
    command = [npm, "install", "--no-audit", "--no-fund", "--fetch-retries=1", PACKAGE]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"the registry did not deliver: {done.stderr[-200:]}")
    return folder / "node_modules/.bin/clawhub"


def run(client: Path, folder: Path, address: str, *words: str) -> str:
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "CLAWHUB_CONFIG_PATH": str(folder / "clawhub.json"),
        "CLAWHUB_DISABLE_TELEMETRY": "1",
    }
    command = [str(client), "--registry", address, "--no-input", *words]
    done = subprocess.run(
        command, cwd=folder, env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_clawhub_publishes_searches_installs_and_updates(client: Path, tmp_path: Path) -> None:
    page = tmp_path / "mine/release-notes/SKILL.md"
    page.parent.mkdir(parents=True)
    page.write_bytes(describe("release-notes"))
    database = open_file(str(tmp_path / "hub.db"))
    with open_world(database, tmp_path / "hub") as world, served_hub(world) as address:
        world.make_space("acme", ann=HubRole.PUBLISHER)
        login = {"registry": address, "token": world.give_token("ann")}
        (tmp_path / "clawhub.json").write_text(json.dumps(login), encoding="utf-8")
        publish = ("publish", "mine/release-notes", "--owner", "acme", "--version")

        run(client, tmp_path, address, *publish, "1.0.0")
        found = run(client, tmp_path, address, "search", "release notes")
        run(client, tmp_path, address, "--dir", "theirs", "install", "release-notes")

        assert found.startswith("release-notes v1.0.0  @acme")
        installed = tmp_path / "theirs/release-notes/SKILL.md"
        assert installed.read_bytes() == page.read_bytes()
        page.write_bytes(describe("release-notes", body="Newer."))
        run(client, tmp_path, address, *publish, "1.1.0")
        run(client, tmp_path, address, "--dir", "theirs", "update", "release-notes")
        assert installed.read_bytes() == page.read_bytes()


def test_openclaw_installs_a_skill_of_a_hub(client: Path, tmp_path: Path) -> None:
    try:
        node, openclaw = program("openclaw")
    except CannotBeHadError as error:
        pytest.skip(str(error))
    page = tmp_path / "mine/release-notes/SKILL.md"
    page.parent.mkdir(parents=True)
    page.write_bytes(describe("release-notes"))
    database = open_file(str(tmp_path / "hub.db"))
    with open_world(database, tmp_path / "hub") as world, served_hub(world) as address:
        world.make_space("acme", ann=HubRole.PUBLISHER)
        login = {"registry": address, "token": world.give_token("ann")}
        (tmp_path / "clawhub.json").write_text(json.dumps(login), encoding="utf-8")
        publish = ("publish", "mine/release-notes", "--owner", "acme", "--version", "1.0.0")
        run(client, tmp_path, address, *publish)

        environ = {
            "PATH": f"{Path(node).parent}:{os.environ['PATH']}",
            "HOME": str(tmp_path),
            "OPENCLAW_CLAWHUB_URL": address,
            "CLAWHUB_DISABLE_TELEMETRY": "1",
        }
        command = [openclaw, "skills", "install", "@acme/release-notes", "--global"]
        done = subprocess.run(
            command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False
        )

        assert done.returncode == 0, done.stdout + done.stderr
        installed = list((tmp_path / ".openclaw").rglob("release-notes/SKILL.md"))
        assert [one.read_bytes() for one in installed] == [page.read_bytes()]
