"""`prowess run -- COMMAND`: a child with the environment and the prompt of a run."""

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from .pseudo_terminal import on_terminal
from .world import NO_BUNDLED, TIMEOUT_S, World, command, openclaw

pytestmark = pytest.mark.slow

CANARY = "canary-90ab12-never-show"
PROMPT_FILE = "PROWESS_SKILLS_PROMPT_FILE"


@pytest.fixture(autouse=True)
def _weather(world: World) -> None:
    """Give the person one skill with variables."""
    world.skill("weather", metadata=openclaw(primaryEnv="WEATHER_API_KEY"))
    entry = {"apiKey": "$KEPT_KEY", "env": {"UNITS": "si"}}
    world.settings(**NO_BUNDLED, entries={"weather": entry})


def script(world: World, text: str) -> Path:
    """Write a Python program for a child to run."""
    return world.file(world.root / "child.py", text)


def started(world: World, *words: str | Path) -> subprocess.Popen[str]:
    """Start `prowess run -- WORDS...` with pipes."""
    return subprocess.Popen(
        command(("run", "--", *map(str, words))),
        cwd=world.workspace,
        env=world.env(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def temporary(world: World) -> dict[str, str]:
    """A folder of its own for temporary files, so that what is left can be counted."""
    folder = world.root / "tmp"
    folder.mkdir(exist_ok=True)
    return {"TMPDIR": str(folder)}


@pytest.mark.requirement("runcmd:exit-code")
@pytest.mark.parametrize("code", [0, 1, 2, 126, 127, 130, 255])
def test_the_exit_code_of_the_child_passes_through(world: World, code: int) -> None:
    assert world.process("run", "--", "sh", "-c", f"exit {code}").code == code


@pytest.mark.requirement("runcmd:exit-code")
def test_a_child_that_a_signal_ended_gives_128_and_the_number(world: World) -> None:
    result = world.process("run", "--", "sh", "-c", "kill -9 $$", env=temporary(world))

    assert result.code == 128 + signal.SIGKILL
    assert list((world.root / "tmp").iterdir()) == []


@pytest.mark.requirement("runcmd:cannot-start")
def test_a_command_that_cannot_be_started_is_one_sentence(world: World) -> None:
    world.settings(**NO_BUNDLED)
    world.executable("locked", mode=0o644)
    missing = world.process("run", "--", "no-such-program-at-all", env=temporary(world))
    locked = world.process("run", "--", world.bin / "locked", env=temporary(world))
    folder = world.process("run", "--", world.bin, env=temporary(world))

    assert (missing.code, locked.code, folder.code) == (127, 126, 126)
    for result in (missing, locked, folder):
        assert len(result.err.strip().splitlines()) == 1
        assert result.out == ""
    assert list((world.root / "tmp").iterdir()) == []


@pytest.mark.requirement("runcmd:usage")
@pytest.mark.parametrize("words", [(), ("--",), ("--agent",), ("--no-such", "--", "true")])
def test_nothing_to_run_is_wrong_usage(world: World, words: tuple[str, ...]) -> None:
    assert world.run("run", *words).one_sentence().code == 2


@pytest.mark.requirement("runcmd:usage")
def test_an_unknown_agent_is_one_sentence_and_nothing_starts(world: World) -> None:
    touched = world.root / "touched"

    result = world.run("run", "--agent", "nobody", "--", "touch", touched, "--json").one_sentence()

    assert result.code == 1
    assert "nobody" in result.err
    assert not touched.exists()


@pytest.mark.requirement("runcmd:overlay", "run:secret-references")
def test_the_child_has_the_variables_and_nobody_else_says_their_values(world: World) -> None:
    show = 'printf \'%s %s\' "$UNITS" "$WEATHER_API_KEY"'

    result = world.process("run", "--", "sh", "-c", show, env={"KEPT_KEY": CANARY})

    assert (result.code, result.out, result.err) == (0, f"si {CANARY}", "")


@pytest.mark.requirement("runcmd:one-warning", "run:names-never-values")
def test_what_is_blocked_is_one_warning_with_names(world: World) -> None:
    given = {"PATH": CANARY, "LD_PRELOAD": CANARY, "OTHER_TOKEN": CANARY, "UNITS": "si"}
    world.settings(**NO_BUNDLED, entries={"weather": {"env": given}})

    result = world.process("run", "--", "sh", "-c", "echo $UNITS")

    assert (result.code, result.out) == (0, "si\n")
    assert len(result.err.strip().splitlines()) == 1
    assert [name for name in given if name in result.err] == ["PATH", "LD_PRELOAD", "OTHER_TOKEN"]
    assert CANARY not in result.text


@pytest.mark.requirement("run:secret-nowhere")
def test_a_reference_that_leads_nowhere_is_one_clean_sentence(world: World) -> None:
    result = world.process("run", "--", "sh", "-c", "echo $UNITS")

    assert (result.code, result.out) == (0, "si\n")
    assert len(result.err.strip().splitlines()) == 1
    assert "WEATHER_API_KEY" in result.err
    assert not result.err.strip().endswith("..")


@pytest.mark.requirement("runcmd:prompt-file")
def test_the_child_finds_the_prompt_in_a_private_file_that_is_gone_afterwards(world: World) -> None:
    child = script(
        world,
        "import json, os\n"
        f"path = os.environ['{PROMPT_FILE}']\n"
        "modes = [os.stat(one).st_mode for one in (path, os.path.dirname(path))]\n"
        "print(json.dumps([path, modes, open(path, encoding='utf-8').read()]))\n",
    )

    result = world.process("run", "--", sys.executable, child, env=temporary(world))

    path, modes, text = json.loads(result.out)
    assert text.strip() == world.prompt().strip()
    assert "<name>weather</name>" in text
    assert [stat.S_IMODE(mode) for mode in modes] == [0o600, 0o700]
    assert not Path(path).exists()
    assert list((world.root / "tmp").iterdir()) == []


@pytest.mark.requirement("runcmd:prompt-file")
def test_without_skills_the_prompt_file_is_there_and_empty(world: World) -> None:
    world.settings(**NO_BUNDLED, entries={"weather": {"enabled": False}})

    result = world.process(
        "run", "--", "sh", "-c", f'test -f "${PROMPT_FILE}" && cat "${PROMPT_FILE}"'
    )

    assert (result.code, result.out.strip()) == (0, "")


@pytest.mark.requirement("runcmd:agent")
def test_the_agent_decides_what_the_child_gets(world: World) -> None:
    world.skill("side")
    agents = {"list": [{"id": "main"}, {"id": "narrow", "skills": ["side"]}]}
    entry = {"env": {"UNITS": "si"}}
    world.config({"skills": {**NO_BUNDLED, "entries": {"weather": entry}}, "agents": agents})
    show = f'echo "[$UNITS]"; cat "${PROMPT_FILE}"'

    result = world.process("run", "--agent", "narrow", "--", "sh", "-c", show)

    assert result.out.startswith("[]\n")
    assert "<name>side</name>" in result.out
    assert "<name>weather</name>" not in result.out


@pytest.mark.requirement("runcmd:arguments")
def test_arguments_reach_the_child_as_they_are(world: World) -> None:
    words = ["--json", "--agent", "x", "", "a b", "*", "$HOME", "`id`", "é\n", "--", "-h"]
    show = "import json, sys; print(json.dumps(sys.argv[1:]))"

    result = world.process("run", "--", sys.executable, "-c", show, *words)

    assert json.loads(result.out) == words


@pytest.mark.requirement("runcmd:arguments")
def test_the_child_stands_where_the_person_stands_and_reads_what_is_piped(world: World) -> None:
    below = world.workspace / "below"
    below.mkdir()
    piped = os.urandom(100_000)

    done = subprocess.run(
        command(("run", "--workspace", str(world.workspace), "--", "sh", "-c", "pwd; cat")),
        cwd=below,
        env=world.env(),
        input=piped,
        capture_output=True,
        timeout=TIMEOUT_S,
        check=False,
    )

    assert done.stdout == f"{below}\n".encode() + piped


@pytest.mark.requirement("runcmd:signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1])
def test_a_signal_reaches_the_child_and_its_answer_decides(
    world: World, number: signal.Signals
) -> None:
    child = script(
        world,
        "import os, signal\n"
        "def heard(number, frame):\n"
        "    os.write(1, b'heard %d\\n' % number)\n"
        "    os._exit(42)\n"
        f"signal.signal({int(number)}, heard)\n"
        f"print(os.environ['{PROMPT_FILE}'], flush=True)\n"
        "while True:\n"
        "    signal.pause()\n",
    )
    with started(world, sys.executable, child) as process:
        assert process.stdout is not None
        prompt_file = Path(process.stdout.readline().strip())
        assert prompt_file.is_file()
        process.send_signal(number)
        said, complained = process.communicate(timeout=TIMEOUT_S)

    assert (said, process.returncode) == (f"heard {int(number)}\n", 42), complained
    assert not prompt_file.exists()


@pytest.mark.requirement("runcmd:signals")
def test_a_child_that_does_not_catch_a_signal_ends_by_it(world: World) -> None:
    with started(world, "sh", "-c", "echo ready; exec sleep 600") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        code = process.wait(timeout=TIMEOUT_S)

    assert code in {128 + signal.SIGTERM, -signal.SIGTERM}


@pytest.mark.requirement("runcmd:terminal")
def test_the_child_has_the_terminal_to_itself(world: World) -> None:
    show = "import sys; print([s.isatty() for s in (sys.stdin, sys.stdout, sys.stderr)], input())"

    drawn = on_terminal(world, "run", "--", sys.executable, "-c", show, typed="typed words\n")

    assert "[True, True, True] typed words" in drawn


@pytest.mark.requirement("runcmd:dry-run", "run:names-never-values")
def test_a_dry_run_starts_nothing_and_shows_names_alone(world: World) -> None:
    touched = world.root / "touched"
    marker = {"source": "exec", "command": ["/usr/bin/touch", str(touched)]}
    given = {"UNITS": CANARY, "PATH": CANARY, "FROM_EXEC": marker}
    world.settings(**NO_BUNDLED, entries={"weather": {"env": given, "apiKey": CANARY}})

    for format_ in ((), ("--json",)):
        result = world.run("run", "--dry-run", *format_, "--", "touch", touched).calm()
        assert result.code == 0
        assert CANARY not in result.text
        assert [n for n in ("UNITS", "PATH", "WEATHER_API_KEY") if n not in result.out] == []

    assert not touched.exists()


@pytest.mark.requirement("run:children-of-others")
def test_a_run_inside_a_run_keeps_what_the_outer_one_set(world: World) -> None:
    inner = [*command(("run", "--")), "sh", "-c", f'echo $UNITS; cat "${PROMPT_FILE}"']

    result = world.process("run", "--", *inner)

    assert result.code == 0
    assert result.out.startswith("si\n")
    assert "<name>weather</name>" in result.out


@pytest.mark.requirement("run:session-snapshots", "runcmd:prompt-file")
def test_a_session_of_the_terminal_is_kept_in_the_store(world: World) -> None:
    show = ("sh", "-c", f'cat "${PROMPT_FILE}"')

    first = world.process("run", "--session", "s1", "--", *show)
    world.skill("added")
    second = world.process("run", "--session", "s1", "--", *show)

    assert "<name>added</name>" not in first.out
    assert "<name>added</name>" in second.out


@pytest.mark.requirement("runcmd:tools-on-path")
def test_installed_programs_are_found_after_those_of_the_host(world: World) -> None:
    tools = world.state / "tools" / "bin"
    for name, text in (("only-ours", "ours"), ("sh", "hijacked")):
        world.file(tools / name, f"#!/bin/sh\necho {text}\n").chmod(0o755)

    assert world.process("run", "--", "only-ours").out == "ours\n"
    assert world.process("run", "--", "sh", "-c", "echo host").out == "host\n"
