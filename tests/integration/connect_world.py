"""Where `prowess connect` is tried: a home, a state folder and a workspace, and nothing of ours."""

import json
from pathlib import Path

import pytest


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the folders and go to the workspace.

    What connecting keeps for the first prompt needs no encoder here, which would take longer than
    all the rest.
    """
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PROWESS_HOME", str(tmp_path / "state"))
    for name in ("home", "state", "work"):
        (tmp_path / name).mkdir(mode=0o700)
    config = {"skills": {"routing": {"encoder": "none"}}}
    (tmp_path / "state" / "prowess.json").write_text(json.dumps(config), encoding="utf-8")
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path
