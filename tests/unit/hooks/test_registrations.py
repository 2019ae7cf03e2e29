"""What connecting puts into a document, what it takes out, and what it never touches."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.hooks.harness import Harness, apply_edits
from prowess.hooks.registrations import (
    MODULE,
    ConnectScope,
    Program,
    SettingsTarget,
    ShapeError,
    find_registered,
    is_hook_command,
    is_mcp_entry,
    is_misled,
    plan_registration,
    plan_removal,
    program_of,
)
from prowess.hooks.targets import HarnessHomes, default_scope, home_of, targets

PROGRAM = Program(words=("prowess",))
PLACES = HarnessHomes(
    project="/repo",
    home="/home/me",
    claude="/home/me/.claude",
    claude_state="/home/me/.claude.json",
    codex="/home/me/.codex",
    copilot="/home/me/.copilot",
    vscode="/home/me/.config/Code/User",
    opencode="/home/me/.config/opencode",
    openclaw="/home/me/.openclaw",
)
ALL = [
    target
    for harness in Harness
    for scope in ConnectScope
    for target in targets(harness, scope, PLACES, PROGRAM)
]
THEIRS = {"type": "command", "command": "notify-send 'prowess hook' done"}


def _connected(document: dict[str, Any], target: SettingsTarget) -> dict[str, Any]:
    return apply_edits(document, plan_registration(document, target, PROGRAM))


def _claude() -> SettingsTarget:
    return targets(Harness.CLAUDE_CODE, ConnectScope.USER, PLACES, PROGRAM)[0]


def _gemini() -> SettingsTarget:
    return targets(Harness.GEMINI, ConnectScope.USER, PLACES, PROGRAM)[0]


@each_row(
    "line",
    [
        "prowess hook",
        "  prowess   hook ",
        "/opt/tools/bin/prowess hook",
        "'/opt/my tools/prowess' hook",
        '"C:\\Program Files\\prowess.exe" hook',
        "& 'C:\\My Tools\\prowess.exe' hook",
        "/usr/bin/python3 -m prowess hook",
        "/usr/bin/python3 -P -m prowess hook",
        Program(words=("/opt/my tools/prowess",)).line(5),
        # As an earlier version wrote it.
        (
            "sh -c 'exec 2>/dev/null; command -v timeout >/dev/null && set -- timeout -k 1 7; o=$("
            'PROWESS_HOOK_SECONDS=7 "$@" prowess hook) && case $o in {\\"*}) printf %s "$o";; esac;'
            " exit 0'"
        ),
        Program(words=("prowess",)).line_in_powershell,
        Program(words=("C:\\my tools\\prowess.exe",), windows=True).line(5),
    ],
)
def test_our_command_is_known_wherever_it_is_installed(line: str) -> None:
    assert is_hook_command(line)


@each_row(
    "line",
    [
        "echo prowess hook",
        "prowess hook --verbose",
        "prowess hook | tee log",
        "prowess hooks",
        "my-prowess hook",
        "prowess-wrapper hook",
        "/opt/prowess/run hook",
        "cd /x && prowess hook",
        "foo;/bin/prowess hook",
        "$(which prowess) hook",
        '"$HOME/bin/prowess" hook',
        "notify 'prowess hook'",
        "sh -c 'prowess hook && beep'",
        "sh -c 'beep; prowess hook; exit 0'",
        "beep && prowess hook || exit 0",
        "prowess",
        "",
        None,
        ["prowess", "hook"],
    ],
)
def test_a_command_that_only_holds_our_words_is_somebody_elses(line: object) -> None:
    assert not is_hook_command(line)


@pytest.mark.parametrize(
    "path", ["/opt/it's here/prowess", "/opt/ünï côde/prowess", "/a b/prowess"]
)
def test_whatever_path_we_are_at_our_own_command_is_known_again(path: str) -> None:
    for program in (Program(words=(path,)), Program(words=(path,), windows=True)):
        assert is_hook_command(program.hook, program)
        assert is_hook_command(program.hook_in_powershell, program)
        assert is_hook_command(program.line(7), program)
        assert is_hook_command(program.line_in_powershell, program)
    assert program_of(Program(words=(path,)).hook) == path
    assert program_of(Program(words=(path,)).line(5)) == path


def test_a_server_is_ours_by_its_command_and_not_by_its_name() -> None:
    assert is_mcp_entry({"command": "/opt/prowess", "args": ["mcp", "--agent", "x"]})
    assert is_mcp_entry({"command": "python3", "args": ["-m", "prowess", "mcp"]})
    assert is_mcp_entry({"command": "python3", "args": ["-P", "-m", "prowess", "mcp"]})
    assert not is_mcp_entry({"command": "docker", "args": ["run", "prowess", "mcp"]})
    assert not is_mcp_entry({"url": "https://prowess.example.invalid/mcp"})
    assert not is_mcp_entry("prowess mcp")


@each_row("target", ALL)
def test_connecting_twice_is_connecting_once_and_removing_leaves_nothing(
    target: SettingsTarget,
) -> None:
    there = _connected({}, target)
    back = apply_edits(there, plan_removal(there, target, PROGRAM))

    assert plan_registration(there, target, PROGRAM) == []
    assert back == dict(target.head)
    found = find_registered(there, target, PROGRAM)
    assert found.events == tuple(target.hooks)
    assert found.server == bool(target.servers)


HANDLERS = st.sampled_from(
    [THEIRS, {"command": "x"}, {"type": "http", "url": "y"}, "odd", None, 3, {"bash": "echo"}]
)
GROUPS = st.lists(
    st.fixed_dictionaries(
        {"hooks": st.lists(HANDLERS, max_size=3)},
        optional={"matcher": st.sampled_from(["", "startup"])},
    )
    | HANDLERS,
    min_size=1,
    max_size=3,
)
DOCUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "model": st.just("opus"),
        "hooks": st.dictionaries(
            st.sampled_from(["Stop", "SessionStart", "PreToolUse", "stop", "BeforeAgent"]),
            GROUPS,
            min_size=1,
        ),
        "mcpServers": st.fixed_dictionaries({"other": st.just({"command": "prowess-like"})}),
    },
)


@settings(max_examples=50, deadline=None)
@given(DOCUMENTS, st.sampled_from(ALL))
def test_what_others_registered_is_the_same_after_connecting_and_removing(
    document: dict[str, Any], target: SettingsTarget
) -> None:
    there = _connected(document, target)
    back = apply_edits(there, plan_removal(there, target, PROGRAM))

    assert plan_registration(there, target, PROGRAM) == []
    assert back == {**document, **({} if not target.hooks else target.head)}


def test_a_person_may_change_our_entry_and_it_stays_so() -> None:
    target = _claude()
    there = _connected({}, target)
    there["hooks"]["Stop"][0]["hooks"][0]["timeout"] = 60
    there["hooks"]["SessionStart"][0]["matcher"] = "startup"

    assert plan_registration(there, target, PROGRAM) == []


def test_a_command_of_another_installation_is_put_right_and_nothing_else() -> None:
    target = _claude()
    there = _connected({}, target)
    there["hooks"]["Stop"][0]["hooks"][0] |= {"command": "/old/venv/bin/prowess hook", "timeout": 9}

    after = _connected(there, target)

    handler = after["hooks"]["Stop"][0]["hooks"][0]
    assert (handler["command"], handler["timeout"]) == (PROGRAM.line(7), 9)


def test_a_line_that_could_fail_is_replaced_with_its_time_to_wait_by_connecting_again() -> None:
    for target, wait in ((_claude(), 8), (_gemini(), 8_000)):
        event = next(iter(target.hooks))
        there = _connected({}, target)
        unit = 1_000 if wait > 1_000 else 1
        there["hooks"][event][0]["hooks"][0] |= {"command": "prowess hook", "timeout": 5 * unit}

        handler = _connected(there, target)["hooks"][event][0]["hooks"][0]

        assert (handler["command"], handler["timeout"]) == (PROGRAM.line(7), wait)


def test_the_line_gives_up_before_its_harness_does() -> None:
    for target in targets(Harness.CODEX, ConnectScope.USER, PLACES, PROGRAM):
        for event, entry in target.hooks.items():
            (handler,) = entry["hooks"]
            assert handler["command"] == PROGRAM.line(handler["timeout"] - 1)
            # It allows no more at the end of a session, and says so at every start.
            assert handler["timeout"] <= 3 or event != "SessionEnd"


def test_a_server_that_never_answers_keeps_nobody_waiting_for_ten_minutes() -> None:
    # Others give up by themselves; for Gemini CLI, in milliseconds.
    waits = [
        one.server.get("timeout")
        for scope in ConnectScope
        for one in targets(Harness.GEMINI, scope, PLACES, PROGRAM)
        if one.servers
    ]

    assert waits == [30_000, 30_000]


def test_what_shares_a_list_with_us_stays_where_it_is() -> None:
    ours = {"type": "command", "command": "prowess hook"}
    document = {
        "hooks": {
            "Stop": [{"hooks": [THEIRS, ours]}, {"matcher": "x", "hooks": [ours]}, {"hooks": []}],
            "PreToolUse": [{"hooks": [ours]}],
        }
    }

    back = apply_edits(document, plan_removal(document, _claude(), PROGRAM))

    # We never register at PreToolUse: whoever did meant something by it.
    assert back["hooks"] == {
        "Stop": [{"hooks": [THEIRS]}, {"hooks": []}],
        "PreToolUse": [{"hooks": [ours]}],
    }


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"hooks": []}, "`hooks` is a list, and should be an object"),
        ({"hooks": None}, "`hooks` is empty"),
        ({"hooks": {"Stop": {}}}, "`hooks.Stop` is an object, and should be a list"),
        ({"hooks": {"Stop": "prowess hook"}}, "`hooks.Stop` is text"),
    ],
)
def test_another_shape_than_the_harness_reads_is_not_edited(
    document: dict[str, Any], words: str
) -> None:
    for edits in (plan_registration, plan_removal):
        with pytest.raises(ShapeError, match=words):
            edits(document, _claude(), PROGRAM)


def test_a_server_of_our_name_that_is_not_ours_stays() -> None:
    target = targets(Harness.CURSOR, ConnectScope.USER, PLACES, PROGRAM)[1]
    document = {"mcpServers": {"prowess": {"url": "https://example.invalid"}}}

    assert plan_registration(document, target, PROGRAM) == []
    assert plan_removal(document, target, PROGRAM) == []
    assert find_registered(document, target, PROGRAM).foreign_server


def test_a_server_that_was_started_as_a_module_gets_its_arguments_right_too() -> None:
    target = targets(Harness.CURSOR, ConnectScope.USER, PLACES, PROGRAM)[1]
    server = {"command": "/old/python", "args": ["-m", "prowess", "mcp"], "env": {"A": "1"}}

    after = _connected({"mcpServers": {"prowess": server}}, target)

    assert after["mcpServers"]["prowess"] == {
        "command": "prowess", "args": ["mcp"], "env": {"A": "1"},
    }  # fmt: skip


def test_every_file_lies_below_the_project_or_below_the_home_folder() -> None:
    for harness in Harness:
        for scope, base in ((ConnectScope.PROJECT, "/repo/"), (ConnectScope.USER, "/home/me/")):
            for target in targets(harness, scope, PLACES, PROGRAM):
                assert target.path.startswith(base)
        assert home_of(harness, PLACES).startswith("/home/me/")
        assert targets(harness, default_scope(harness), PLACES, PROGRAM)[0].hooks


def test_only_a_module_that_is_looked_for_in_the_folder_first_is_misled() -> None:
    assert is_misled("/usr/bin/python3 -m prowess hook")
    assert is_misled("'/my python' -m prowess hook")
    assert not is_misled("/usr/bin/python3 -P -m prowess hook")
    assert not is_misled("prowess hook")
    assert not is_misled("python -m other hook")


def test_a_module_that_a_project_could_replace_is_made_safe_by_connecting_again() -> None:
    program = Program(words=("/usr/bin/python3", *MODULE))
    hooks, servers = targets(Harness.CURSOR, ConnectScope.USER, PLACES, program)
    document = {
        "version": 1,
        "hooks": {"stop": [{"command": "/usr/bin/python3 -m prowess hook"}]},
        "mcpServers": {
            "prowess": {
                "command": "/usr/bin/python3",
                "args": ["-m", "prowess", "mcp", "--agent", "x"],
            }
        },
    }

    after = apply_edits(document, plan_registration(document, hooks, program))
    after = apply_edits(after, plan_registration(after, servers, program))

    assert after["hooks"]["stop"] == [{"command": program.line(7)}]
    assert not is_misled(program.line(7))
    assert after["mcpServers"]["prowess"]["args"] == ["-P", "-m", "prowess", "mcp", "--agent", "x"]
    assert plan_registration(after, servers, program) == []
