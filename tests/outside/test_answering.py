"""Every harness runs here: it answers a prompt with what our model says, and nothing else is there.

What other tests in this folder see is worth something only where this holds.
"""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.outside import harnesses
from tests.outside.harnesses import NAMES, CannotBeHadError, OutsideWorld
from tests.outside.model_server import ModelServer, Say


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
def test_npm_asks_the_registry_as_we_tell_it_to(
    tmp_path: Path, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A setting that it does not take would skip every test here. This registry has nothing.
    monkeypatch.setenv("npm_config_registry", model.address)
    monkeypatch.setattr(harnesses, "CACHE", tmp_path)

    with pytest.raises(CannotBeHadError, match="No matching version"):
        harnesses.install("node")


@pytest.mark.parametrize("name", NAMES)
def test_a_harness_answers_a_prompt_in_print_mode(
    name: str, world: Callable[[str], OutsideWorld], model: ModelServer
) -> None:
    model.script = lambda _: Say("The kettle is on.")

    answered = world(name).ask("Is the kettle on, please?")

    assert answered.code == 0, answered
    assert "The kettle is on." in answered.output
    assert model.first("Is the kettle on, please?").tools
