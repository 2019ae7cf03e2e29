"""What is left of an install when somebody ends it by a signal, politely or not: nothing."""

import fcntl
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.integration.install_world import SYSTEM_PATH, World

from prowess.host.package_managers import PREFIX, InstallMachine, ToolInstalls
from prowess.host.processes.children import ChildProcesses
from prowess.runtime.install import InstallOutcome, Job, Watch
from prowess.safety.packages import node_plan

PROWESS = (sys.executable, "-m", "prowess")
PATIENCE_S = 60
# Waits long for its children to end by themselves: what is to come meanwhile comes in time.
_PATIENT = (
    "import sys\n"
    "from prowess.host.processes.children import ChildProcesses\n"
    f"ChildProcesses.__init__.__kwdefaults__['grace'] = {PATIENCE_S}\n"
    "from prowess.cli.main import main\n"
    "sys.exit(main())"
)
PATIENT = (sys.executable, "-c", _PATIENT)
# Says who it is, starts somebody else, and stays.
STAYING = "sleep 600 & echo $! > {child}; echo begun >&2; sleep 600"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def stand_in(world: World, name: str, script: str) -> None:
    folder = world.folder / "programs"
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    (folder / name).chmod(0o755)
    world.environ["PATH"] = f"{folder}{os.pathsep}{SYSTEM_PATH}"


@contextmanager
def started(
    world: World, *args: str, program: Sequence[str] = PROWESS
) -> Iterator[subprocess.Popen[str]]:
    environ = {**os.environ, **world.environ, "PROWESS_HOME": str(world.state)}
    with subprocess.Popen(
        [*program, *args],
        cwd=world.work,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def until_begun(process: subprocess.Popen[str]) -> None:
    assert process.stderr is not None
    next(line for line in process.stderr if "begun" in line)


def is_running(pid: str) -> bool:
    """Say whether a process is more than an entry that nobody has collected yet."""
    try:
        listed = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except FileNotFoundError:
        return False
    return listed.rpartition(")")[2].split()[0] != "Z"


def work_folders(world: World) -> list[str]:
    return [path.name for path in world.tools.iterdir() if path.name.startswith(PREFIX)]


def child_of(world: World) -> str:
    return (world.folder / "child").read_text(encoding="utf-8").strip()


def install(world: World) -> InstallOutcome:
    machine = InstallMachine(tools=str(world.tools), environ=world.environ)
    job = Job(key="frames", option_id="x", bins=(), plan=node_plan("framer"), seconds=60.0)
    return ToolInstalls(ChildProcesses(), machine).carry_out(job, Watch())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_an_install_ends_all_that_it_started(
    world: World, number: signal.Signals
) -> None:
    stand_in(world, "npm", STAYING.format(child=world.folder / "child"))
    world.skill({"kind": "node", "package": "framer", "bins": ["framer"]})

    with started(world, "install", "frames", "--yes") as process:
        until_begun(process)
        assert is_running(child_of(world))
        assert work_folders(world) != []
        process.send_signal(number)
        _, said = process.communicate(timeout=PATIENCE_S)

    assert process.returncode == 128 + number
    assert "stopped." in said
    assert not is_running(child_of(world))
    assert work_folders(world) == []


def test_a_signal_that_is_ignored_stays_ignored(world: World) -> None:
    stand_in(world, "npm", "echo begun >&2; read -r line < {fifo}".format(fifo="$HOME/go-on"))
    os.mkfifo(world.folder / "home/go-on")
    world.skill({"kind": "node", "package": "framer"})
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with started(world, "install", "frames", "--yes") as process:
            until_begun(process)
            process.send_signal(signal.SIGHUP)
            (world.folder / "home/go-on").write_text("on\n", encoding="utf-8")
            process.communicate(timeout=PATIENCE_S)
    finally:
        signal.signal(signal.SIGHUP, before)

    assert process.returncode == 0


def test_the_second_signal_ends_at_once(world: World) -> None:
    # A child that does not end when it is asked to keeps the orderly end waiting.
    script = "trap '' TERM; echo $$ > {child}; echo begun >&2; while :; do sleep 0.1; done"
    stand_in(world, "npm", script.format(child=world.folder / "child"))
    world.skill({"kind": "node", "package": "framer"})

    with started(world, "install", "frames", "--yes", program=PATIENT) as process:
        until_begun(process)
        process.send_signal(signal.SIGTERM)
        while _catches(process.pid, signal.SIGTERM):
            os.sched_yield()
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_S)
        # Nobody else is left to do it.
        os.killpg(int(child_of(world)), signal.SIGKILL)

    assert process.returncode == -signal.SIGTERM
    # What the hurry left behind goes with the next install.
    assert work_folders(world) != []
    stand_in(world, "npm", "exit 0")
    assert install(world).ok
    assert work_folders(world) == []


def _catches(pid: int, number: signal.Signals) -> bool:
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught.split()[1], 16) >> (number - 1) & 1)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_secret_that_is_being_fetched_ends_with_the_run_that_wants_it(
    world: World, number: signal.Signals
) -> None:
    stand_in(world, "fetch-key", f"echo $$ > {world.folder}/child; echo > $HOME/begun; sleep 600")
    os.mkfifo(world.folder / "home/begun")
    world.skill(primaryEnv="FRAMES_KEY")
    reference = {"source": "exec", "command": "fetch-key", "timeoutMs": 60_000}
    world.configure(entries={"frames": {"apiKey": reference}})

    with started(world, "run", "--", "touch", "started") as process:
        (world.folder / "home/begun").read_text(encoding="utf-8")
        process.send_signal(number)
        process.communicate(timeout=PATIENCE_S)

    assert process.returncode == 128 + number
    assert not is_running(child_of(world))
    assert not (world.work / "started").exists()


def test_work_folders_of_the_dead_are_cleared_and_those_of_the_living_stay(world: World) -> None:
    stand_in(world, "npm", "exit 0")
    dead, alive, file = (world.tools / f"{PREFIX}{name}" for name in ("dead", "alive", "file"))
    (dead / "inner").mkdir(parents=True)
    (dead / "inner/cache").write_text("x", encoding="utf-8")
    alive.mkdir()
    file.write_text("no folder", encoding="utf-8")
    (world.tools / f"{PREFIX}link").symlink_to(world.work)
    held = os.open(alive, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    try:
        outcome = install(world)
    finally:
        os.close(held)

    assert outcome.ok, outcome
    assert sorted(work_folders(world)) == [f"{PREFIX}{name}" for name in ("alive", "file", "link")]
    assert world.work.is_dir()


def test_an_install_beside_another_one_leaves_its_folder_alone(world: World) -> None:
    script = 'echo "$PWD" > {place}; echo begun >&2; read -r line < $HOME/go-on; test -d "$PWD"'
    stand_in(world, "npm", script.format(place=world.folder / "place"))
    stand_in(world, "pnpm", "exit 0")
    os.mkfifo(world.folder / "home/go-on")
    world.skill({"kind": "node", "package": "framer"})
    job = Job(key="x", option_id="x", bins=(), plan=node_plan("framer", "pnpm"), seconds=60.0)
    machine = InstallMachine(tools=str(world.tools), environ=world.environ)

    with started(world, "install", "frames", "--yes", "--json") as process:
        while not (world.folder / "place").exists():
            os.sched_yield()
        other = ToolInstalls(ChildProcesses(), machine).carry_out(job, Watch())
        (world.folder / "home/go-on").write_text("on\n", encoding="utf-8")
        said, _ = process.communicate(timeout=PATIENCE_S)

    assert other.ok, other
    assert json.loads(said)["ok"], said
