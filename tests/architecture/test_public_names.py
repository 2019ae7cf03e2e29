"""The few names that users may import, and what importing them costs."""

import subprocess
import sys

import click
import pytest

import prowess
from prowess.cli.terminal import app

PUBLIC = {
    "Diagnostic", "PromptBlock", "ProwessError", "Runtime", "Settings", "Skill", "SkillStatus",
    "SkillsService", "Snapshot", "StatusReport", "Verdict", "__version__", "open",
}  # fmt: skip
# What a quick command must not load: each costs more than the command itself.
HEAVY = ("asyncio", "markdown_it", "pydantic", "rich", "sqlalchemy", "typer", "watchfiles", "json5")


def test_the_public_names_are_these() -> None:
    assert set(prowess.__all__) == PUBLIC
    assert all(getattr(prowess, name) is not None for name in PUBLIC)
    assert set(dir(prowess)) == PUBLIC


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(prowess, "nothing_of_that_name")


@pytest.mark.parametrize("group", [(), ("workshop",), ("experience",)])
def test_every_command_of_a_group_can_be_loaded(group: tuple[str, ...]) -> None:
    context = click.Context(app)
    found: click.Command | None = app
    for name in group:
        assert isinstance(found, click.Group)
        found = found.get_command(context, name)

    assert isinstance(found, click.Group)
    names = found.list_commands(context)
    loaded = [found.get_command(context, name) for name in names]
    assert [command and command.name for command in loaded] == names


def test_listing_skills_loads_nothing_heavy() -> None:
    script = (
        "import sys\n"
        "from prowess.cli.main import main\n"
        "main(['list'])\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )

    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, encoding="utf-8"
    )

    assert done.stderr.strip() == "[]"
