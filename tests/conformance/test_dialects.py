"""What other tools write into skills, read as they mean it."""

import sys
from pathlib import Path

import pytest

from .world import NO_SUCH_BIN, World, openclaw

ELSEWHERE = "linux" if sys.platform == "darwin" else "darwin"


@pytest.mark.requirement("skill:metadata-fields", "dialect:openclaw")
def test_openclaw_metadata_fills_the_skill(world: World) -> None:
    world.skill(
        "rich",
        metadata=openclaw(
            always=True,
            emoji="🦀",
            homepage="https://example.org",
            primaryEnv="RICH_KEY",
            skillKey="rich-key",
            os=["linux", "darwin", "win32"],
            requires={"bins": ["a"], "anyBins": ["b"], "env": ["C"], "config": ["d.e"]},
            install=[{"kind": "uv", "id": "it", "package": "example-tool"}],
            triggers={"any": ["ship"], "all": ["now"], "none": ["never"]},
        ),
    )

    shown = world.document("show", "rich")

    assert shown["dialect"] == "openclaw"
    assert shown["always"] is True
    assert (shown["emoji"], shown["homepage"]) == ("🦀", "https://example.org")
    assert (shown["primaryEnv"], shown["skillKey"]) == ("RICH_KEY", "rich-key")
    assert shown["requirements"] == {
        "bins": ["a"],
        "anyBins": ["b"],
        "env": ["C"],
        "config": ["d.e"],
        "os": ["linux", "darwin", "win32"],
    }
    assert [option["id"] for option in shown["install"]] == ["it"]
    assert shown["triggers"] == {"any": ["ship"], "all": ["now"], "none": ["never"]}


@pytest.mark.requirement("dialect:homepage-aliases")
def test_homepage_is_read_from_its_aliases_and_the_metadata_wins(world: World) -> None:
    for key in ("homepage", "website", "url"):
        world.front(f"by-{key}", f"description: Has a link.\n{key}: https://example.org/{key}")
    inner = openclaw(homepage="https://example.org/meta")
    world.skill("both", homepage="https://example.org/top", metadata=inner)

    rows = world.listing()

    for name in ("homepage", "website", "url"):
        assert rows[f"by-{name}"]["homepage"] == f"https://example.org/{name}"
    assert rows["both"]["homepage"] == "https://example.org/meta"


@pytest.mark.requirement("dialect:clawdbot")
def test_clawdbot_is_read_as_openclaw(world: World) -> None:
    inner = {"emoji": "🤖", "requires": {"bins": [NO_SUCH_BIN]}}
    world.skill("older", metadata={"clawdbot": inner})

    row = world.row("older")

    assert row["emoji"] == "🤖"
    assert row["missing"]["bins"] == [NO_SUCH_BIN]


@pytest.mark.requirement("dialect:clawdbot")
def test_openclaw_wins_over_clawdbot(world: World) -> None:
    world.skill("both", metadata={"openclaw": {"emoji": "1"}, "clawdbot": {"emoji": "2"}})

    assert world.row("both")["emoji"] == "1"


@pytest.mark.requirement("dialect:clawdis-refused")
def test_clawdis_is_not_accepted_and_that_is_said(world: World) -> None:
    inner = {"emoji": "🦞", "requires": {"bins": [NO_SUCH_BIN]}}
    world.skill("oldest", metadata={"clawdis": inner})

    row = world.row("oldest")

    assert row["emoji"] is None
    assert row["requirements"]["bins"] == []
    assert world.codes("oldest") == {"METADATA_ALIAS"}


@pytest.mark.requirement("dialect:install-entries")
def test_a_bad_install_entry_drops_only_itself(world: World) -> None:
    world.skill(
        "setup",
        metadata=openclaw(
            requires={"bins": [NO_SUCH_BIN]},
            install=[
                {"kind": "brew", "id": "bad", "formula": "--evil flag"},
                {"kind": "download", "id": "worse", "url": "file:///etc/passwd"},
                {"kind": "node", "id": "good", "package": "good-package"},
            ],
        ),
    )

    row = world.row("setup")

    assert [option["id"] for option in row["install"]] == ["good"]
    assert world.codes("setup") == {"INSTALL_ENTRY_INVALID"}


@pytest.mark.requirement("skill:user-invocable")
def test_user_invocable_false_removes_only_the_command(world: World) -> None:
    world.skill("quiet", user_invocable=False)

    row = world.row("quiet")

    assert (row["userInvocable"], row["commandVisible"], row["modelVisible"]) == (
        False,
        False,
        True,
    )


@pytest.mark.requirement("skill:disable-model-invocation")
def test_disable_model_invocation_removes_only_the_prompt_entry(world: World) -> None:
    world.skill("manual", disable_model_invocation=True)

    row = world.row("manual")

    assert (row["eligible"], row["modelVisible"], row["commandVisible"]) == (True, False, True)
    assert "manual" not in world.prompt_names()


@pytest.mark.requirement("dialect:spellings")
def test_flags_are_read_in_every_spelling(world: World) -> None:
    lines = (
        "disable_model_invocation: true",
        "disableModelInvocation: true",
        "disable-model-invocation: yes",
        "disable-model-invocation: On",
        "disable-model-invocation: 1",
        'disable-model-invocation: "true"',
    )
    for number, line in enumerate(lines):
        world.front(f"s{number}", f"description: Hidden.\n{line}")

    rows = world.listing()

    shown = {line: rows[f"s{number}"]["modelVisible"] for number, line in enumerate(lines)}
    assert shown == dict.fromkeys(lines, False)


@pytest.mark.requirement("dialect:spellings")
def test_a_nonsense_boolean_gives_the_default(world: World) -> None:
    flags = "user-invocable: maybe\ndisable-model-invocation: perhaps"
    world.front("unsure", f"name: unsure\ndescription: Unsure.\n{flags}")

    row = world.row("unsure")

    assert (row["userInvocable"], row["modelVisible"]) == (True, True)


@pytest.mark.requirement("skill:command-dispatch")
def test_a_command_is_dispatched_only_to_a_named_tool(world: World) -> None:
    lines = {
        "both": "command-dispatch: tool\ncommand-tool: notify",
        "in-snake-case": "command_dispatch: tool\ncommand_tool: notify",
        "no-tool": "command-dispatch: tool",
        "another-dispatch": "command-dispatch: other\ncommand-tool: notify",
        "no-dispatch": "command-tool: notify",
    }
    for name, front in lines.items():
        world.front(name, f"description: Calls a tool.\n{front}")

    skills = world.open().skills

    tools = {name: skills.find(name).skill.invocation.tool for name in lines}
    assert tools == {**dict.fromkeys(lines, ""), "both": "notify", "in-snake-case": "notify"}


@pytest.mark.requirement("skill:command-arg-mode")
def test_the_argument_mode_is_always_raw(world: World) -> None:
    world.skill("said", command_arg_mode="raw")
    world.skill("unknown", command_arg_mode="parsed")
    world.skill("silent")

    skills = world.open().skills

    modes = {skills.find(n).skill.invocation.arg_mode for n in ("said", "unknown", "silent")}
    assert modes == {"raw"}


@pytest.mark.requirement("dialect:unknown-keys-kept")
def test_unknown_keys_are_kept(world: World) -> None:
    world.front("odd", "name: odd\ndescription: Odd.\nx-mystery: {deep: [kept, 17]}")

    shown = world.document("show", "odd")

    assert shown["frontmatter"]["x-mystery"] == {"deep": ["kept", 17]}
    assert shown["eligible"] is True


@pytest.mark.requirement("dialect:claude")
def test_claude_code_keys_are_read(world: World) -> None:
    world.front(
        "claude-like",
        "description: Claude style.\nwhen_to_use: When asked.\nargument-hint: '[issue]'\n"
        "allowed-tools:\n  - Read\n  - Bash(git *)\nmodel: opus\neffort: high\ncontext: fork\n"
        "hooks:\n  PreToolUse:\n    - matcher: Bash\npaths: ['src/**']",
    )

    shown = world.document("show", "claude-like")

    assert shown["dialect"] == "claude"
    assert shown["eligible"] is True
    assert (shown["whenToUse"], shown["argumentHint"]) == ("When asked.", "[issue]")
    assert shown["globs"] == ["src/**"]


@pytest.mark.requirement("commands:own-dialect")
def test_a_project_command_file_loads_as_a_skill_of_its_own_dialect(world: World) -> None:
    world.file(
        world.workspace / ".claude" / "commands" / "ship-it.md",
        "---\ndescription: Ship the current branch.\nargument-hint: '[branch]'\n---\n"
        "Ship $ARGUMENTS.\n",
    )

    row = world.row("ship-it")

    assert row["description"] == "Ship the current branch."
    assert (row["source"], row["dialect"]) == ("harness-project", "claude-command")


@pytest.mark.requirement("commands:own-dialect")
def test_a_personal_command_without_a_block_loads_leniently(world: World) -> None:
    path = world.home / ".claude" / "commands" / "tidy-up.md"
    world.file(path, "Tidy the imports of $ARGUMENTS.\n")

    row = world.row("tidy-up")

    assert row["description"] == "Tidy the imports of $ARGUMENTS."
    assert (row["source"], row["dialect"]) == ("harness-personal", "claude-command")


def rule(world: World, name: str, front: str) -> Path:
    """Write one Cursor rule of the project."""
    path = world.workspace / ".cursor" / "rules" / name
    return world.file(path, f"---\n{front}\n---\nUse hooks.\n")


@pytest.mark.requirement("rules:own-dialect")
def test_a_cursor_rule_loads_as_a_skill_of_its_own_dialect(world: World) -> None:
    rule(world, "listed.mdc", "description: How we write React.\nglobs: ['src/**/*.tsx']")
    # Cursor writes globs bare, which YAML takes for an alias.
    rule(world, "bare.mdc", "description: How we write TypeScript.\nglobs: *.ts,*.tsx")

    listed, bare = world.document("show", "listed"), world.document("show", "bare")

    assert listed["description"] == "How we write React."
    assert (listed["source"], listed["dialect"]) == ("harness-project", "cursor-rule")
    assert (listed["globs"], bare["globs"]) == (["src/**/*.tsx"], ["*.ts", "*.tsx"])


@pytest.mark.requirement("rules:own-dialect")
def test_a_cursor_rule_keeps_its_always_apply(world: World) -> None:
    rule(world, "react.mdc", "description: How we write React.\nalwaysApply: true")

    shown = world.document("show", "react")

    assert shown["frontmatter"]["alwaysApply"] is True


@pytest.mark.requirement("rules:own-dialect")
def test_only_mdc_files_are_rules(world: World) -> None:
    world.file(world.workspace / ".cursor" / "rules" / "notes.md", "# Notes\n\nNothing.\n")

    assert world.own() == set()


def sidecar(world: World, text: str) -> None:
    """Give the skill `careful` a Codex sidecar."""
    path = world.skill("careful")
    world.file(path.parent / "agents" / "openai.yaml", text)


@pytest.mark.requirement("dialect:codex")
@pytest.mark.parametrize("allowed", [True, False])
def test_codex_decides_whether_the_model_may_choose_by_itself(
    world: World, *, allowed: bool
) -> None:
    sidecar(world, f"policy:\n  allow_implicit_invocation: {str(allowed).lower()}\n")

    row = world.row("careful")

    assert row["dialect"] == "codex"
    assert (row["eligible"], row["modelVisible"], row["commandVisible"]) == (True, allowed, True)


@pytest.mark.requirement("dialect:codex", "bad:siblings-load")
def test_a_broken_codex_sidecar_keeps_the_model_away_and_is_reported(world: World) -> None:
    sidecar(world, "policy: [unclosed\n")
    world.skill("sibling")

    rows = world.listing()

    assert rows["careful"]["modelVisible"] is False
    assert rows["sibling"]["eligible"] is True
    assert world.codes("careful") == {"SIDECAR_UNREADABLE"}


@pytest.mark.requirement("dialect:hermes")
def test_hermes_platforms_gate_the_skill(world: World) -> None:
    world.skill("elsewhere", platforms=["macos" if ELSEWHERE == "darwin" else "linux"])
    world.skill("here", platforms=["linux", "macos", "windows"])

    rows = world.listing()

    assert rows["elsewhere"]["missing"]["os"] == [ELSEWHERE]
    assert rows["here"]["eligible"] is True
    assert rows["here"]["dialect"] == "hermes"


@pytest.mark.requirement("dialect:hermes")
def test_hermes_required_variables_gate_the_skill(world: World) -> None:
    key = "required_environment_variables"
    world.front("names", f"description: Keyed.\n{key}: [HERMES_TEST_KEY]")
    world.front("maps", f"description: Keyed.\n{key}: [{{name: HERMES_TEST_KEY, prompt: Key}}]")

    without, given = world.listing(), world.listing(env={"HERMES_TEST_KEY": "x"})

    for name in ("names", "maps"):
        assert without[name]["missing"]["env"] == ["HERMES_TEST_KEY"]
        assert given[name]["eligible"] is True


@pytest.mark.requirement("dialect:hermes")
def test_hermes_tags_are_read(world: World) -> None:
    world.skill("tagged", metadata={"hermes": {"tags": ["infra", "deploy"]}})

    assert world.document("show", "tagged")["tags"] == ["infra", "deploy"]


@pytest.mark.requirement("dialect:standard")
def test_the_six_keys_of_the_standard_are_a_dialect_of_their_own(world: World) -> None:
    world.skill(
        "plain",
        license="MIT",
        compatibility="Needs git.",
        allowed_tools="Read Grep",
        metadata={"author": "me", "version": "1.0"},
    )

    row = world.row("plain")

    assert (row["dialect"], row["eligible"]) == ("standard", True)
