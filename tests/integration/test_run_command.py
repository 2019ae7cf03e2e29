"""`prowess run`: a program in our place, with its own code, signals, streams and secrets."""

import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from prowess.cli.main import main
from prowess.host.processes.foreground import run_foreground

PROWESS = (sys.executable, "-m", "prowess")
PATIENCE_S = 60
CANARY = "canary-5f0c-value"
SKILL = """---
name: weather
description: Tells the weather.
metadata: {"openclaw": {"primaryEnv": "WEATHER_API_KEY"}}
---

# Weather
"""
CONFIG = {
    "skills": {
        "entries": {
            "weather": {
                "apiKey": CANARY,
                "env": {
                    "WEATHER_UNITS": "metric",
                    "WEATHER_HOST": "overlay",
                    "LD_PRELOAD": f"{CANARY}-evil",
                    "GITHUB_TOKEN": f"{CANARY}-token",
                },
                "allowEnv": ["GITHUB_TOKEN"],
            }
        }
    }
}
# Counts the signals that arrive, says so, and ends with the last one that it is told to end with.
COUNTING = """
import os, signal, sys

def took(number, frame):
    print("took", signal.Signals(number).name, flush=True)

for name in sys.argv[1:]:
    signal.signal(getattr(signal, name), took)
print("ready", os.getpid(), flush=True)
for line in sys.stdin:
    print("read", line.strip(), flush=True)
print("over", flush=True)
"""


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("home", "state", "work/skills/weather", "temporary"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PROWESS_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.delenv("GITHUB_TOKEN", raising=False)
    monkeypatch.chdir(tmp_path / "work")
    Path("skills/weather/SKILL.md").write_text(SKILL, encoding="utf-8")
    (tmp_path / "state/prowess.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    return tmp_path


def _run(
    *args: str | bytes, text: bytes = b"", **variables: str
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*PROWESS, "run", *args],
        input=text,
        capture_output=True,
        check=False,
        timeout=PATIENCE_S,
        env={**os.environ, **variables},
    )


def _temporary(world: Path) -> list[Path]:
    return list((world / "temporary").iterdir())


@contextmanager
def _started(*args: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [*PROWESS, "run", "--", *args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # Signals to its group do not reach us, and it can be stopped wherever the tests run.
        process_group=0,
    ) as process:
        yield process


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return next(line.strip() for line in process.stdout if "not set" not in line)


# Its codes


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGSEGV])
@pytest.mark.usefixtures("world")
def test_a_command_that_a_signal_ended_gives_128_and_its_number(number: signal.Signals) -> None:
    assert _run("sh", "-c", f"kill -{int(number)} $$").returncode == 128 + number


@pytest.mark.usefixtures("world")
def test_what_does_not_start_is_a_sentence_and_the_code_of_shells(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("words\n", encoding="utf-8")
    cases = {"no-such-program": 127, "./gone": 127, str(plain): 126, str(tmp_path): 126, "": 127}

    for name, code in cases.items():
        done = _run("--", name)

        assert done.returncode == code
        assert done.stdout == b""
        assert done.stderr.decode().splitlines()[-1].startswith("prowess: ")
        assert b"Traceback" not in done.stderr
    plain.chmod(0o700)
    assert b"#!/bin/sh" in _run(str(plain)).stderr


@pytest.mark.usefixtures("world")
def test_wrong_usage_says_how(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run"]) == 2
    assert "such as `prowess run -- env`" in capsys.readouterr().err
    assert main(["run", "--"]) == 2
    assert main(["run", "--json", "--", "env"]) == 2
    assert "--json goes with --dry-run" in capsys.readouterr().err
    assert main(["run", "--session", " ", "--", "env"]) == 2
    assert main(["run", "--nonsense", "env"]) == 2


# Its words and streams


@pytest.mark.usefixtures("world")
def test_options_end_at_the_command() -> None:
    assert _run("echo", "--json", "-a", "--", "x").stdout == b"--json -a -- x\n"
    done = _run("--agent", "main", "--", "sh", "-c", 'echo "$@"', "sh", "--help", "-a")
    assert done.stdout == b"--help -a\n"


@pytest.mark.usefixtures("world")
def test_arguments_pass_through_byte_by_byte() -> None:
    script = "import os, sys; sys.stdout.buffer.write(b'|'.join(map(os.fsencode, sys.argv[1:])))"
    words = [b"\xff\xfe", "grüße".encode(), b"", b"two words", b"$HOME;`id`", b"line\nbreak"]

    done = _run("--", sys.executable, "-c", script, *words)

    assert done.stdout == b"|".join(words)


@pytest.mark.usefixtures("world")
def test_files_that_were_open_for_the_command_stay_open() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"handed on")
    os.close(writing)

    done = subprocess.run(
        [*PROWESS, "run", "cat", f"/dev/fd/{reading}"],
        capture_output=True,
        check=False,
        pass_fds=[reading],
        timeout=PATIENCE_S,
    )
    os.close(reading)

    assert done.stdout == b"handed on"


@pytest.mark.usefixtures("world")
def test_a_command_finds_signals_as_they_are_by_default() -> None:
    masks = _run("grep", "-E", "^Sig(Blk|Ign):", "/proc/self/status").stdout

    # The C library keeps two beyond the first 31 for itself.
    assert [int(line.split()[1], 16) & 0x7FFFFFFF for line in masks.splitlines()] == [0, 0]


@pytest.mark.parametrize("stream", ["gone", "/dev/full"])
def test_a_command_runs_where_nobody_reads_what_we_say(world: Path, stream: str) -> None:
    if stream == "gone":
        reading, error = os.pipe()
        os.close(reading)
    else:
        error = os.open(stream, os.O_WRONLY)
    # What is blocked is said before the command starts, and saying it fails.
    with pytest.raises(OSError, match=r"Broken pipe|No space left"):
        os.write(error, b"x")

    done = subprocess.run(
        [*PROWESS, "run", "--", "sh", "-c", "echo ran; exit 7"],
        stdout=subprocess.PIPE,
        stderr=error,
        check=False,
        timeout=PATIENCE_S,
    )
    os.close(error)

    assert (done.stdout, done.returncode) == (b"ran\n", 7)
    assert _temporary(world) == []


# Its prompt and its environment


def test_a_command_may_tidy_up_after_us_and_leave_more_than_there_was(world: Path) -> None:
    folder = 'd="$(dirname "$PROWESS_SKILLS_PROMPT_FILE")"'

    assert _run("sh", "-c", f'{folder}; rm -r "$d"').returncode == 0
    assert _run("sh", "-c", f'{folder}; mkdir "$d/more"; touch "$d/more/file"').returncode == 0
    assert _temporary(world) == []


def test_a_link_in_the_place_of_the_prompt_is_removed_and_its_target_stays(world: Path) -> None:
    kept = world / "kept"
    kept.mkdir()
    (kept / "file").write_text("mine\n", encoding="utf-8")
    folder = 'd="$(dirname "$PROWESS_SKILLS_PROMPT_FILE")"'

    done = _run("sh", "-c", f'{folder}; rm -r "$d"; ln -s {kept} "$d"; exit 3')

    assert done.returncode == 3
    assert _temporary(world) == []
    assert (kept / "file").read_text(encoding="utf-8") == "mine\n"
    said = done.stderr.decode()
    assert "put a link in the place of" in said
    assert "None" not in said


@pytest.mark.usefixtures("world")
def test_nowhere_to_write_the_prompt_is_a_sentence(tmp_path: Path) -> None:
    script = (
        "import tempfile, sys\n"
        "from prowess.cli.main import main\n"
        f"tempfile.tempdir = {str(tmp_path / 'gone')!r}\n"
        "sys.exit(main(['run', 'touch', 'started']))"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)

    assert done.returncode == 1
    assert b"TMPDIR" in done.stderr
    assert not Path("started").exists()


def test_the_overlay_is_seen_by_the_command_alone(world: Path) -> None:
    done = _run("env", WEATHER_HOST="ours")

    seen = dict(line.split("=", 1) for line in done.stdout.decode().splitlines() if "=" in line)
    assert seen["WEATHER_API_KEY"] == CANARY
    assert seen["WEATHER_UNITS"] == "metric"
    assert seen["WEATHER_HOST"] == "ours"
    assert seen["GITHUB_TOKEN"] == f"{CANARY}-token"
    assert "LD_PRELOAD" not in seen
    assert str(world / "temporary") in seen["PROWESS_SKILLS_PROMPT_FILE"]


def test_our_own_environment_stays_as_it_was(
    world: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("UNTOUCHED", "yes")
    before = dict(os.environ)

    code = main(["run", "sh", "-c", "test -n $WEATHER_API_KEY"])

    assert code == 0
    assert dict(os.environ) == before
    assert CANARY not in "".join(capfd.readouterr())
    assert _temporary(world) == []


def test_what_is_blocked_is_one_line_with_names_and_nothing_is_said_of_values(world: Path) -> None:
    done = _run("true")

    assert done.stdout == b""
    [line] = done.stderr.decode().splitlines()
    assert line.startswith("prowess: ")
    assert "LD_PRELOAD" in line
    kept = [path for path in world.rglob("*") if path.is_file() and path.name != "prowess.json"]
    assert kept
    assert CANARY not in line
    assert not any(CANARY.encode() in path.read_bytes() for path in kept)


def test_a_dry_run_starts_nothing_and_shows_names(
    world: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEATHER_HOST", "ours")

    assert main(["run", "--dry-run", "--", "touch", "two words"]) == 0
    text = capsys.readouterr().out
    assert main(["run", "--dry-run", "--json", "--session", "s1", "--", "touch", "two words"]) == 0
    plan = json.loads(capsys.readouterr().out)

    assert CANARY not in text
    assert CANARY not in json.dumps(plan)
    assert text.startswith("would run: touch 'two words'\n")
    for part in ("WEATHER_API_KEY", "kept", "allowEnv", "blocked: LD_PRELOAD is not for skills"):
        assert part in text
    environment = plan.pop("environment")
    assert set(environment["applied"]) == {"WEATHER_API_KEY", "WEATHER_UNITS", "GITHUB_TOKEN"}
    assert environment["kept"] == ["WEATHER_HOST"]
    assert environment["allowed"] == ["GITHUB_TOKEN"]
    assert [one["name"] for one in environment["blocked"]] == ["LD_PRELOAD"]
    assert plan.pop("promptChars") > 100
    assert plan.pop("program").endswith("/touch")
    assert plan == {
        "agentId": "main",
        "sessionId": "s1",
        "command": ["touch", "two words"],
        "promptFileVariable": "PROWESS_SKILLS_PROMPT_FILE",
    }
    assert not (world / "work/two words").exists()
    assert _temporary(world) == []


@pytest.mark.usefixtures("world")
def test_a_dry_run_says_that_a_program_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--dry-run", "no-such-program"]) == 0
    assert "no-such-program is not found in PATH" in capsys.readouterr().out


# Its signals


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGUSR1", "SIGUSR2", "SIGHUP", "SIGQUIT"])
def test_a_signal_to_us_reaches_the_command_once(world: Path, name: str) -> None:
    with _started(sys.executable, "-c", COUNTING, name) as process:
        assert _line(process).startswith("ready")
        process.send_signal(getattr(signal, name))
        taken = _line(process)
        # What comes through the pipe after the signal is read after it.
        rest, _ = process.communicate("still here\n", timeout=PATIENCE_S)

    assert taken == f"took {name}"
    assert rest.splitlines() == ["read still here", "over"]
    assert process.returncode == 0
    assert _temporary(world) == []


def test_a_command_that_ends_by_our_signal_takes_the_prompt_with_it(world: Path) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM):
        with _started("sh", "-c", "echo ready; exec sleep 1000") as process:
            assert _line(process) == "ready"
            assert len(_temporary(world)) == 1
            process.send_signal(number)
            assert process.wait(PATIENCE_S) == 128 + number

        assert _temporary(world) == []


_ENDING = [
    "SIGXCPU", "SIGVTALRM", "SIGPROF", "SIGIO", "SIGPWR", "SIGSTKFLT", "SIGXFSZ", "SIGPIPE",
    "SIGABRT", "SIGRTMIN", "SIGRTMAX",
]  # fmt: skip


@pytest.mark.parametrize("name", _ENDING)
def test_a_signal_that_would_end_us_ends_the_command_and_leaves_nothing(
    world: Path, name: str
) -> None:
    number = getattr(signal, name, None)
    if number is None:
        pytest.skip(f"there is no {name} here")
    # By default it ends a program: that it would have been us is the attack.
    alone = subprocess.run(["sh", "-c", f"kill -{int(number)} $$"], check=False)
    assert alone.returncode == -number

    with _started("sh", "-c", "echo ready $$; exec sleep 1000") as process:
        child = int(_line(process).split()[1])
        process.send_signal(number)
        code = process.wait(PATIENCE_S)

    assert code == 128 + number
    assert _temporary(world) == []
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


def test_a_real_time_signal_between_the_first_and_the_last_is_handed_on(world: Path) -> None:
    number = signal.SIGRTMIN + 5
    script = (
        "import signal\n"
        f"signal.pthread_sigmask(signal.SIG_BLOCK, [{number}])\n"
        "print('ready', flush=True)\n"
        f"print('took', signal.sigwait([{number}]), flush=True)"
    )

    with _started(sys.executable, "-c", script) as process:
        assert _line(process) == "ready"
        process.send_signal(number)
        taken = _line(process)
        process.communicate(timeout=PATIENCE_S)

    assert taken == f"took {number}"
    assert process.returncode == 0
    assert _temporary(world) == []


@pytest.mark.usefixtures("world")
def test_we_stop_and_go_on_with_the_command() -> None:
    with _started(sys.executable, "-c", COUNTING, "SIGCONT") as process:
        assert _line(process).startswith("ready")
        process.send_signal(signal.SIGTSTP)
        _, status = os.waitpid(process.pid, os.WUNTRACED)
        stopped = os.WIFSTOPPED(status)
        process.send_signal(signal.SIGCONT)
        taken = _line(process)
        rest, _ = process.communicate("", timeout=PATIENCE_S)

    assert stopped
    assert taken == "took SIGCONT"
    assert rest == "over\n"


@pytest.mark.usefixtures("world")
def test_a_signal_that_the_command_sends_to_its_group_does_not_come_back_to_it() -> None:
    script = COUNTING.replace('print("ready', 'os.kill(0, signal.SIGUSR1)\nprint("ready')

    with _started(sys.executable, "-c", script, "SIGUSR1", "SIGUSR2") as process:
        lines = [_line(process), _line(process)]
        # Were the first to come back, then it would before this one.
        process.send_signal(signal.SIGUSR2)
        lines.append(_line(process))
        rest, _ = process.communicate("", timeout=PATIENCE_S)

    assert lines[0] == "took SIGUSR1"
    assert lines[1].startswith("ready")
    assert (lines[2], rest) == ("took SIGUSR2", "over\n")


# Its terminal


class Terminal:
    """A pseudo terminal with `prowess run` on it, which leads a session of its own."""

    def __init__(self, *command: str) -> None:
        self._ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
            # The session takes its terminal before anything else runs in it.
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509
        )  # fmt: skip
        os.close(theirs)
        self._drawn = b""

    def press(self, keys: bytes) -> None:
        os.write(self._ours, keys)

    def resize(self) -> None:
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 90, 0, 0))

    def until(self, words: bytes) -> str:
        """Read until these words are drawn; return all that was, since the last time."""
        while words not in self._drawn:
            self._drawn += os.read(self._ours, 65536)
        seen, self._drawn = self._drawn.split(words, 1)
        return seen.decode()

    def close(self) -> None:
        if self._ours >= 0:
            os.close(self._ours)
            self._ours = -1


@contextmanager
def _terminal(*command: str) -> Iterator[Terminal]:
    terminal = Terminal(*command)
    try:
        yield terminal
    finally:
        terminal.process.kill()
        terminal.process.wait()
        terminal.close()


@pytest.mark.usefixtures("world")
@pytest.mark.parametrize(("key", "name"), [(b"\x03", "SIGINT"), (b"\x1c", "SIGQUIT")])
def test_a_key_that_sends_a_signal_sends_it_once(key: bytes, name: str) -> None:
    command = (*PROWESS, "run", "--", sys.executable, "-c", COUNTING, name)

    with _terminal(*command) as terminal:
        terminal.until(b"ready")
        terminal.press(key)
        terminal.until(f"took {name}".encode())
        terminal.press(b"then\n")
        between = terminal.until(b"read then")
        terminal.press(b"\x04")
        terminal.until(b"over")
        code = terminal.process.wait(PATIENCE_S)

    assert "took" not in between
    assert code == 0


@pytest.mark.usefixtures("world")
def test_a_new_size_of_the_window_is_told_once() -> None:
    with _terminal(*PROWESS, "run", "--", sys.executable, "-c", COUNTING, "SIGWINCH") as terminal:
        terminal.until(b"ready")
        terminal.resize()
        terminal.until(b"took SIGWINCH")
        terminal.press(b"then\n")
        between = terminal.until(b"read then")

    assert "took" not in between


def test_ctrl_c_ends_a_command_that_does_not_mind_and_we_end_after_it(world: Path) -> None:
    with _terminal(*PROWESS, "run", "sh", "-c", "echo ready; exec sleep 1000") as terminal:
        terminal.until(b"ready")
        terminal.press(b"\x03")
        code = terminal.process.wait(PATIENCE_S)

    assert code == 130
    assert _temporary(world) == []


def test_a_terminal_that_goes_away_takes_the_command_with_it(world: Path) -> None:
    with _terminal(*PROWESS, "run", "sh", "-c", "echo ready; exec sleep 1000") as terminal:
        terminal.until(b"ready")
        terminal.close()
        code = terminal.process.wait(PATIENCE_S)

    assert code == 128 + signal.SIGHUP
    assert _temporary(world) == []


@pytest.mark.usefixtures("world")
def test_a_shell_gets_its_terminal_back_on_ctrl_z_and_can_go_on() -> None:
    with _terminal("bash", "--norc", "--noprofile", "-i") as terminal:
        terminal.press(b"PS1='shell$ '\n")
        # In two pieces, for what is typed is drawn as well.
        inner = 'echo rea""dy; read line; echo got $line'
        terminal.press(f"{sys.executable} -m prowess run bash -c '{inner}'\n".encode())
        terminal.until(b"\nready")
        terminal.press(b"\x1a")
        terminal.until(b"Stopped")
        terminal.press(b"fg\n")
        terminal.until(b"prowess run")
        terminal.press(b"on\n")
        terminal.until(b"got on")


# Its place in a program


def test_systems_that_cannot_take_signals_one_by_one_have_handlers(world: Path) -> None:
    script = (
        "import signal, sys\n"
        "del signal.sigtimedwait\n"
        "from prowess.cli.main import main\n"
        "sys.exit(main(['run', '--', *sys.argv[1:]]))"
    )
    command = (sys.executable, "-c", script, sys.executable, "-c", COUNTING, "SIGINT", "SIGTERM")

    with _terminal(*command) as terminal:
        terminal.until(b"ready")
        terminal.press(b"\x03")
        terminal.until(b"took SIGINT")
        terminal.press(b"then\n")
        between = terminal.until(b"read then")
        terminal.process.send_signal(signal.SIGTERM)
        terminal.until(b"took SIGTERM")
        terminal.press(b"\x04")
        terminal.until(b"over")
        code = terminal.process.wait(PATIENCE_S)

    assert "took" not in between
    assert code == 0
    assert _temporary(world) == []


def test_a_program_runs_in_a_given_folder_and_leaves_ours_alone(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = (Path.cwd(), signal.pthread_sigmask(signal.SIG_BLOCK, ()))
    said: list[str] = []

    code = run_foreground(["pwd"], {"PATH": os.environ["PATH"]}, str(tmp_path))
    refused = run_foreground(["pwd"], {"PATH": "/bin"}, str(tmp_path / "gone"), tell=said.append)

    assert (code, refused) == (0, 126)
    assert capfd.readouterr().out == f"{tmp_path}\n"
    assert "does not exist" in said[0]
    assert (Path.cwd(), signal.pthread_sigmask(signal.SIG_BLOCK, ())) == before


def test_a_program_whose_parent_ignores_dead_children_keeps_its_code() -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        code = run_foreground(["sh", "-c", "exit 9"], {"PATH": os.environ["PATH"]})
        after = signal.getsignal(signal.SIGCHLD)
    finally:
        signal.signal(signal.SIGCHLD, before)

    assert (code, after) == (9, signal.SIG_IGN)
