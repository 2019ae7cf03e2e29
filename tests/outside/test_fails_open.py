"""A harness answers whatever becomes of Prowess: gone, broken, talking nonsense or stuck.

By themselves, Gemini CLI refuses every prompt whose hook ends with 2 or 127, and Claude Code and
Codex those with 2. Here Prowess fails at every moment of a session, and not at prompts alone.
"""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.outside.harnesses import CACHE, NAMES, OutsideWorld
from tests.outside.model_server import ModelServer, Say

# What stands where Prowess was; "missing" is nothing at all. What hangs does so in a process of its
# own, and until it is taken away: a harness that waits for it never ends.
_BROKEN = {
    "exit-1": "exit 1",
    "exit-2": "echo 'It broke.' >&2; exit 2",
    "exit-127": "exit 127",
    "garbage": "echo 'Traceback (most recent call last): NONSENSE'",
    "hang": 'while [ -e "$0" ]; do sleep 0.5; done',
}
# Where one keeps what it knows of earlier conversations: it takes twice as long to start with that.
_KEPT = {"openclaw": (".openclaw/agents", ".openclaw/state")}


@pytest.mark.parametrize("name", NAMES)
def test_a_harness_answers_without_us(
    name: str, world: Callable[[str], OutsideWorld], model: ModelServer
) -> None:
    home = world(name)
    home.prowess("connect", name, "--yes", "--no-mcp")
    parts = home.environment["PATH"].split(":")
    kept = [part for part in parts if not (Path(part) / "prowess").exists()]
    place = home.home / "broken/prowess"
    place.parent.mkdir()
    home.environment["PATH"] = ":".join([str(place.parent), *kept])

    for what in ("missing", *_BROKEN):
        asked, said = f"Is the kettle on, {what}?", f"The kettle is on, {what}."
        model.script = lambda _, said=said: Say(said)  # type: ignore[misc]
        if what in _BROKEN:
            place.write_text(f"#!/bin/sh\n{_BROKEN[what]}\n", encoding="utf-8")
            place.chmod(0o755)
        try:
            answered = home.ask(asked)
        finally:
            place.unlink(missing_ok=True)
        for folder in _KEPT.get(name, ()):
            shutil.rmtree(home.home / folder)

        assert answered.code == 0, (what, answered)
        assert said in answered.output, (what, answered)
        assert "NONSENSE" not in model.first(asked).text
        assert _find_complaints(answered.errors) == [], what


def _find_complaints(errors: str) -> list[str]:
    """Return what a harness says of us, but for what it says of every plugin that it did not get
    from its makers."""
    lines = errors.replace(str(CACHE), "").splitlines()
    found = [line for line in lines if "prowess" in line.lower() or "It broke." in line]
    return [line for line in found if "can't verify where this plugin came from" not in line]
