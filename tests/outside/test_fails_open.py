"""A harness answers whatever becomes of Prowess: gone, broken, talking nonsense or stuck.

By themselves, Gemini CLI refuses every prompt whose hook ends with 2 or 127, and Claude Code and
Codex those with 2. Here Prowess fails at every moment of a session, and not at prompts alone.
"""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.outside.harnesses import CACHE, NAMES, OutsideWorld, install
from tests.outside.model_server import ModelServer, Say

# What hangs does so in a process of its own, and until it is taken away: a harness that waits for
# it never ends. What ends badly or talks nonsense is silence before a harness sees it: in the line
# that it runs, which `test_hook_command` holds, and in a plugin of ours, which is tried below.
_HANGS = 'while [ -e "$0" ]; do sleep 0.5; done'
# One turns its wheels for as long as it waits, on a whole processor, and our line waits for three
# times seven seconds. There it waits for one each time; that the line gives up before the harness
# does is what `test_registrations` holds.
_IMPATIENT = ("copilot",)
# How often a plugin of ours adds something to a prompt, by what stands where Prowess was.
_SAID = {
    "": 0,
    "exit 1": 0,
    "echo 'It broke.' >&2; exit 2": 0,
    "exit 127": 0,
    "kill -9 $$": 0,
    "echo 'Traceback (most recent call last): NONSENSE'": 0,
    "echo '{oops'": 0,
    'echo \'{"additionalContext": "NONSENSE"}\'; exit 2': 0,
    "echo '{\"additionalContext\": [1]}'": 0,
    # More than any answer.
    "printf '{\"additionalContext\": \"'; head -c 12000000 /dev/zero | tr '\\0' x; echo '\"}'": 0,
    'echo \'{"additionalContext": "Use it."}\'': 1,
}
# How each loads a plugin, has it hear a prompt, and counts what it said.
_HOSTS = {
    "opencode": """
        const { Prowess } = await import(process.argv[1]);
        const parts = [{ type: "text", text: "Is the kettle on?", id: "prt_0123456789ab" }];
        const told = await Prowess({ directory: "." });
        await told["chat.message"]({ sessionID: "s" }, { parts });
        console.log(parts.length - 1);
    """,
    "openclaw": """
        const told = {};
        const plugin = (await import(process.argv[1])).default;
        plugin.register({ on: (moment, call) => { told[moment] = call; } });
        const found = await told.before_prompt_build({ prompt: "Is the kettle on?" }, {});
        console.log(found ? 1 : 0);
    """,
}
# Where one keeps what it knows of earlier conversations: it takes twice as long to start with that.
_KEPT = {"openclaw": (".openclaw/agents", ".openclaw/state")}


@pytest.mark.parametrize("name", NAMES)
def test_a_harness_answers_without_us(
    name: str, world: Callable[[str], OutsideWorld], model: ModelServer
) -> None:
    home = world(name)
    home.prowess("connect", name, "--yes", "--no-mcp")
    program = _take_away(home)
    if name in _IMPATIENT and (patient := shutil.which("timeout")):
        _put(program.with_name("timeout"), f'shift 3; exec {patient} -k 1 1 "$@"')

    for what in ("", _HANGS):
        asked = f"Is the kettle on {'still' if what else 'now'}?"
        model.script = lambda _, said=f"Yes: {asked}": Say(said)  # type: ignore[misc]
        try:
            _put(program, what)
            answered = home.ask(asked)
        finally:
            program.unlink(missing_ok=True)
        for folder in _KEPT.get(name, ()):
            shutil.rmtree(home.home / folder)

        assert answered.code == 0, (what, answered)
        assert f"Yes: {asked}" in answered.output, (what, answered)
        assert _find_complaints(answered.errors) == [], what


@pytest.mark.parametrize("name", _HOSTS)
def test_a_plugin_says_nothing_where_we_break(
    name: str, world: Callable[[str], OutsideWorld]
) -> None:
    home = world(name)
    home.prowess("connect", name, "--yes", "--no-mcp")
    program = _take_away(home)
    (plugin,) = (
        path for path in home.home.rglob("*.js") if "prowess_plugin" in path.read_text("utf-8")
    )
    node = install("node") / "node_modules/node/bin/node"
    said = {}

    for what in _SAID:
        _put(program, what)
        done = subprocess.run(
            [node, "--input-type=module", "--eval", _HOSTS[name], plugin],
            cwd=home.project, env=home.environment, capture_output=True, text=True, check=True,
        )  # fmt: skip
        said[what] = int(done.stdout)

    assert said == _SAID


def _take_away(home: OutsideWorld) -> Path:
    """Take Prowess from the path, and return where another program would be found in its place."""
    parts = home.environment["PATH"].split(":")
    kept = [part for part in parts if not (Path(part) / "prowess").exists()]
    place = home.home / "broken/prowess"
    place.parent.mkdir()
    home.environment["PATH"] = ":".join([str(place.parent), *kept])
    return place


def _put(program: Path, what: str) -> None:
    """Have a script stand there; nothing at all where it says nothing."""
    program.unlink(missing_ok=True)
    if what:
        program.write_text(f"#!/bin/sh\n{what}\n", encoding="utf-8")
        program.chmod(0o755)


def _find_complaints(errors: str) -> list[str]:
    """Return what a harness says of us, but for what it says of every plugin that it did not get
    from its makers."""
    lines = errors.replace(str(CACHE), "").splitlines()
    found = [line for line in lines if "prowess" in line.lower()]
    return [line for line in found if "can't verify where this plugin came from" not in line]
