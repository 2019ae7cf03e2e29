"""The examples under deploy/ name commands, options and paths that are there."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import click
import pytest
import yaml

from prowess.cli.main import app

DEPLOY = Path(__file__).parents[2] / "deploy"


def check_command(words: list[str]) -> None:
    """Read a command line as the terminal would, without doing it."""
    command: click.Command = app
    while isinstance(command, click.Group):
        found = command.get_command(click.Context(command), words[0])
        assert found is not None, words
        command, words = found, words[1:]
    command.make_context("prowess", words, resilient_parsing=False)


def test_the_unit_starts_a_gateway() -> None:
    unit = (DEPLOY / "prowess.service").read_text()

    started = re.findall(r"^ExecStart=/usr/bin/env prowess (.*)$", unit, re.MULTILINE)[0]

    check_command(shlex.split(started))


def test_the_unit_is_one_that_systemd_reads() -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("there is no systemd-analyze on this machine")

    done = subprocess.run(
        [program, "verify", str(DEPLOY / "prowess.service")],
        check=False,
        capture_output=True,
        text=True,
    )

    assert (done.returncode, done.stderr) == (0, "")


def test_the_containers_run_commands_of_ours_on_files_that_are_there(tmp_path: Path) -> None:
    text = (DEPLOY / "Containerfile").read_text()
    lines = re.findall(r"^COPY (.*)$", text, re.MULTILINE)
    copied = [name for line in lines for name in line.split()[:-1]]
    started = yaml.safe_load(re.findall(r"^CMD (\[\"serve.*\])$", text, re.MULTILINE)[0])

    assert all((DEPLOY.parent / name).exists() for name in copied)
    check_command([str(tmp_path) if word == "/work" else word for word in started])


def test_the_fleet_of_the_compose_file_is_migrated_before_it_starts() -> None:
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]

    check_command(services["migrate"]["command"])
    check_command(services["hub"]["command"])
    for name in ("gateway-1", "gateway-2", "hub"):
        waits = services[name]["depends_on"]["migrate"]
        assert waits == {"condition": "service_completed_successfully"}
        assert (DEPLOY.parent / services[name]["build"]["dockerfile"]).exists()
    assert services["gateway-1"]["volumes"][1] != services["gateway-2"]["volumes"][1]
