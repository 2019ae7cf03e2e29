"""Secret values appear in no output, whatever is asked and however it is configured."""

import pytest

from .world import Result, World, openclaw

CANARY = "canary-7f3a91-never-show"
COMMANDS = (
    ("list",),
    ("list", "-v"),
    ("list", "--json"),
    ("show", "secretive"),
    ("show", "secretive", "--json"),
    ("check",),
    ("check", "--json"),
    ("why", "secretive"),
    ("why", "secretive", "--json"),
    ("prompt", "--json"),
    ("snapshot", "--json"),
    ("commands", "--json"),
    ("invoke", "/secretive", "--json"),
    ("run", "--dry-run", "--json", "--", "true"),
    ("sync", "elsewhere", "--dry-run", "--json"),
    ("install", "secretive", "--list", "--json"),
    ("validate", "--format", "json"),
    ("config", "get"),
    ("config", "get", "--json"),
    ("config", "get", "skills.entries.secretive.apiKey"),
    ("config", "get", "skills.entries.secretive.env"),
    ("disable", "secretive"),
    ("config", "set", "skills.entries.secretive.enabled", "true", "--json"),
)


def ask(world: World, *args: str) -> Result:
    """Run a command in a process environment that holds a secret too."""
    return world.run(*args, env={"PROCESS_TOKEN": f"{CANARY}-process"}).calm()


@pytest.mark.requirement("secrets:never-shown")
def test_no_command_shows_a_secret(world: World) -> None:
    entry = {"apiKey": f"{CANARY}-api", "env": {"SIDE_TOKEN": f"{CANARY}-env"}}
    secrets = {"token": f"{CANARY}-x", "headers": {"Authorization": f"Bearer {CANARY}"}}
    world.config({"skills": {"entries": {"secretive": entry}}, "x": secrets})
    needed = {"env": ["MAIN_TOKEN", "SIDE_TOKEN", "PROCESS_TOKEN"], "config": ["x.token"]}
    world.skill("secretive", metadata=openclaw(primaryEnv="MAIN_TOKEN", requires=needed))

    results = [ask(world, *args) for args in COMMANDS]

    assert [result.args for result in results if CANARY in result.text] == []


@pytest.mark.requirement("secrets:never-shown", "config:wrong-type-reported")
def test_a_complaint_about_the_configuration_shows_no_secret(world: World) -> None:
    entry = {"apiKey": [CANARY], "env": CANARY, "enabled": "maybe"}
    world.settings(entries={"odd": entry})
    world.skill("odd")

    for args in (("list", "--json"), ("list",), ("check",), ("show", "odd"), ("config", "get")):
        assert CANARY not in ask(world, *args).text


@pytest.mark.requirement("secrets:never-shown")
def test_a_broken_configuration_is_not_quoted(world: World) -> None:
    world.config(f'{{ "skills": {{ "entries": {{ "a": {{ "apiKey": "{CANARY}" oops')

    result = ask(world, "list")

    assert result.code == 1
    assert CANARY not in result.text


@pytest.mark.requirement("secrets:never-shown")
def test_the_library_holds_no_secret_in_what_it_prints(world: World) -> None:
    world.settings(entries={"secretive": {"apiKey": CANARY, "env": {"A": CANARY}}})
    world.skill("secretive")

    runtime = world.open({"PROCESS_TOKEN": CANARY})

    assert CANARY not in repr(runtime.skills.status())
    assert CANARY not in repr(runtime.skills.snapshot())
    assert CANARY not in repr(runtime.skills.settings)
