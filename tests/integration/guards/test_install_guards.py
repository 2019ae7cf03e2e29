"""Attacks by way of install entries: each is first shown to work, then refused."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.rows import each_row

from prowess.errors import InstallArgumentError
from prowess.safety.packages import DownloadPlan, InstallPlan, plan_install
from prowess.skills.model import InstallSpec

# Stands for a package manager: reads options wherever they stand, as such tools do.
TOOL = """
import argparse, json
parser = argparse.ArgumentParser()
parser.add_argument("command")
parser.add_argument("--registry", default="the real one")
parser.add_argument("--ignore-scripts", action="store_true")
parser.add_argument("packages", nargs="*")
print(json.dumps(vars(parser.parse_intermixed_args())))
"""


def tool(*arguments: str) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-c", TOOL, *arguments],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    read: dict[str, object] = json.loads(done.stdout)
    return read


def refused(kind: str, target: str) -> str:
    with pytest.raises(InstallArgumentError) as caught:
        plan_install(InstallSpec(kind=kind, target=target))
    return str(caught.value)


def planned(kind: str, target: str) -> InstallPlan:
    made = plan_install(InstallSpec(kind=kind, target=target))
    assert isinstance(made, InstallPlan)
    return made


@pytest.mark.parametrize("kind", ["brew", "node", "go", "uv"])
def test_g31_a_package_that_is_an_option_does_not_steer_the_tool(kind: str) -> None:
    option = "--registry=https://evil.example.invalid"

    assert tool("install", option)["registry"] == "https://evil.example.invalid"
    # The end of options helps, and is there where a tool knows it.
    assert tool("install", "--", option)["registry"] == "the real one"

    assert "evil" in refused(kind, option)
    name = "example.com/a/b@v1" if kind == "go" else "tool"
    assert planned(kind, name).argv[-2:] == ("--", name)


@pytest.mark.parametrize("kind", ["brew", "node", "go", "uv"])
def test_g31_a_package_with_shell_text_runs_nothing(kind: str, tmp_path: Path) -> None:
    proof = tmp_path / "owned"
    target = f"tool; echo > {proof}"

    # The attack is the point of the test.
    subprocess.run(f"echo install {target}", shell=True, check=True, timeout=60)  # noqa: S602
    assert proof.exists()

    refused(kind, target)


@each_row(
    ("kind", "target"),
    [
        ("node", "git+ssh://git@evil.example.invalid/a.git"),
        ("node", "github:evil/tool"),
        ("node", "evil/tool"),
        ("node", "tool@npm:evil"),
        ("node", "tool@file:../evil"),
        ("uv", "git+https://evil.example.invalid/a"),
        ("uv", "tool @ https://evil.example.invalid/a.whl"),
        ("uv", "file:///tmp/evil"),
        ("uv", "tool[a b]"),
        ("uv", "tool[x] @ file:///tmp/evil"),
        ("go", "https://evil.example.invalid/a"),
        ("go", "./cmd/evil@v1"),
        ("brew", "https://evil.example.invalid/a.rb"),
        ("brew", "./evil.rb"),
    ],
)
def test_g31_a_package_from_a_place_of_the_skills_choice_is_refused(kind: str, target: str) -> None:
    # A check for a leading dash and for blanks lets most of these through.
    assert not target.startswith("-")

    assert kind in refused(kind, target)


def test_g31_a_file_that_is_called_like_a_package_is_refused(tmp_path: Path) -> None:
    (tmp_path / "evil.tgz").write_bytes(b"")
    npm = shutil.which("npm")
    if npm is not None:
        done = subprocess.run(
            [npm, "install", "--offline", "--ignore-scripts", "--", "evil.tgz"],
            cwd=tmp_path,
            env={**os.environ, "npm_config_cache": str(tmp_path / "cache")},
            capture_output=True,
            text=True,
            check=False,
            timeout=110,
        )
        # It tries to read the file: that it is no archive is what saves the day here.
        assert done.returncode
        assert "evil.tgz" in done.stderr or "TAR" in done.stderr.upper()

    assert "read as a file" in refused("node", "evil.tgz")
    assert "read as a file" in refused("uv", "evil.whl")
    assert "read as a file" in refused("brew", "evil.rb")


@pytest.mark.parametrize("manager", ["npm", "pnpm", "yarn", "bun"])
def test_g31_scripts_of_a_package_do_not_run(manager: str) -> None:
    made = plan_install(InstallSpec(kind="node", target="tool"), node_manager=manager)

    assert isinstance(made, InstallPlan)
    assert tool("install", "tool")["ignore_scripts"] is False
    assert tool("install", "--ignore-scripts", "tool")["ignore_scripts"] is True
    assert "--ignore-scripts" in made.argv


def test_g31_a_download_lands_in_the_folder_of_its_skill(tmp_path: Path) -> None:
    url = "https://files.example.invalid/tool.zip"
    assert (tmp_path / "tools" / "../../x").resolve() != tmp_path / "tools" / "x"

    for folder in ("../../x", "/etc", "..\\x", "C:\\x"):
        with pytest.raises(InstallArgumentError, match="Refusing to install outside"):
            plan_install(InstallSpec(kind="download", target=url, target_dir=folder))
    made = plan_install(InstallSpec(kind="download", target=url, target_dir="bin"))
    assert isinstance(made, DownloadPlan)
    assert made.target_dir == "bin"
