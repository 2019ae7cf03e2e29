"""`prowess connect` and `prowess doctor`: other people's settings, changed with care."""

import json
import re
import stat
import tomllib
from pathlib import Path

import pytest

from .connect_bench import PROMPTS, hooked, two_skills, words_only
from .workshop_bench import files_below
from .world import Json, Result, World

HARNESSES = ("claude-code", "codex", "cursor", "gemini", "copilot", "vscode")
# Where each harness reads hooks of a project, and the server of MCP; None: not in a project.
PROJECT: dict[str, tuple[str, str | None]] = {
    "claude-code": (".claude/settings.json", ".mcp.json"),
    "codex": (".codex/hooks.json", ".codex/config.toml"),
    "cursor": (".cursor/hooks.json", ".cursor/mcp.json"),
    "gemini": (".gemini/settings.json", ".gemini/settings.json"),
    "copilot": (".github/hooks/prowess.json", None),
    "vscode": (".github/hooks", ".vscode/mcp.json"),
}
PERSONAL = {
    "claude-code": (".claude/settings.json", ".claude.json"),
    "codex": (".codex/hooks.json", ".codex/config.toml"),
    "cursor": (".cursor/hooks.json", ".cursor/mcp.json"),
    "gemini": (".gemini/settings.json", ".gemini/settings.json"),
    "copilot": (".copilot/hooks", ".copilot/mcp-config.json"),
}
EVENTS = {
    "claude-code": {"SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"},
    "codex": {"SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"},
    "cursor": {"sessionStart", "beforeSubmitPrompt", "stop", "sessionEnd"},
    "gemini": {"SessionStart", "BeforeAgent", "AfterAgent", "SessionEnd"},
    "copilot": {"sessionStart", "userPromptTransformed", "agentStop", "sessionEnd"},
    "vscode": {"SessionStart", "Stop"},
}
CLAUDE = ".claude/settings.json"
# Settings as people write them: comments, odd order, tabs, a trailing comma, hooks of their own.
COMMENTED = """// mine, please keep
{
\t"zeta": 1, // last letter first
\t/* a block
\t   of words with "hooks": {} in it */
\t"hooks": {
\t\t"Stop": [
\t\t\t// beep
\t\t\t{"hooks": [{"type": "command", "command": "beep \\"prowess hook\\" // not a comment"}]},
\t\t],
\t\t"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "guard"}]}]
\t},
\t"alpha": [1,2,  3],
\t"unicode": "\u00e4 \\u00e4 \U0001f40d"
}
// the end
"""
PLAIN = '{\n    "b": 1,\n    "a": {"deep": [true, null, 1.50, 1e3]}\n}'
VARIANTS = {
    "commented": COMMENTED,
    "crlf": COMMENTED.replace("\n", "\r\n"),
    "bom": "\ufeff" + PLAIN,
    "no-newline": PLAIN,
    "one-line": '{"b":1,"a":{}}',
    "empty-object": "{}",
    "empty-hooks": '{\n  "hooks": {}\n}\n',
    "spaced": "\n\n  {  }  \n\n",
    "trailing-comma": '{\n  "a": 1,\n}\n',
}
TOML = """# my models
model = "gpt-5.5" # best
[mcp_servers.other] # theirs
command = 'other'
args = ["a", # one
  "b"]

[profiles.x]
[[things]]
name = "mcp_servers.prowess"
# the end"""
TOMLS = {
    "commented": TOML,
    "newline": TOML + "\n",
    "crlf": TOML.replace("\n", "\r\n") + "\r\n",
    "empty": "",
    "comment-only": "# nothing yet\n",
}


@pytest.fixture(autouse=True)
def _words_alone(world: World) -> None:
    """Settings come out the same without an encoder, which works for half a second each time."""
    world.config(words_only())


def connect(world: World, harness: str, *words: str, scope: str = "--project") -> Json:
    """What `connect --yes --json` answers when it works."""
    result = world.run("connect", harness, scope, "--yes", "--json", *words).calm()
    assert result.code == 0, str(result)
    return result.json


def plain(text: str) -> Json:
    """A JSON document without its comments, its trailing commas and its mark at the start."""
    found = re.sub(
        r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/',
        lambda match: match[1] or "",
        text.removeprefix("\ufeff"),
        flags=re.DOTALL,
    )
    read = json.loads(re.sub(r",(\s*[}\]])", r"\1", found))
    assert isinstance(read, dict)
    return read


def ours(entry: object) -> bool:
    """True where a part of a document names our command."""
    return re.search(r"prowess['\"\\]* hook", json.dumps(entry)) is not None


def read(path: Path) -> str:
    return path.read_bytes().decode("utf-8")


def hook_documents(folder: Path, place: str) -> list[Json]:
    """The documents with hooks at a place, which may be a folder of them."""
    path = folder / place
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    return [plain(read(file)) for file in files]


def backups(world: World) -> list[Path]:
    return sorted(world.root.rglob("*.prowess-backup-*"))


@pytest.mark.requirement("connect:settings")
@pytest.mark.parametrize("harness", HARNESSES)
def test_each_harness_gets_its_events_and_the_same_command(world: World, harness: str) -> None:
    answer = connect(world, harness)

    (document,) = hook_documents(world.workspace, PROJECT[harness][0])
    assert set(document["hooks"]) >= EVENTS[harness]
    assert all(ours(entries) for entries in document["hooks"].values())
    assert answer["command"].endswith("prowess hook")
    assert {answer["command"]} == set(re.findall(r"/\S*prowess hook|prowess hook", str(document)))
    assert document.get("version", 1) == 1
    assert ("version" in document) is (harness in {"cursor", "copilot"})


@pytest.mark.requirement("connect:settings")
@pytest.mark.parametrize("harness", PERSONAL)
def test_each_harness_can_be_connected_for_one_person(world: World, harness: str) -> None:
    hooks, server = PERSONAL[harness]

    connect(world, harness, scope="--user")

    assert any(ours(document) for document in hook_documents(world.home, hooks))
    assert "mcp" in read(world.home / server)
    assert files_below(world.workspace) == {}


@pytest.mark.requirement("connect:settings")
@pytest.mark.parametrize("harness", [name for name, places in PROJECT.items() if places[1]])
def test_the_server_of_mcp_is_entered_where_the_harness_reads_it(
    world: World, harness: str
) -> None:
    connect(world, harness)

    text = read(world.workspace / str(PROJECT[harness][1]))
    document = tomllib.loads(text) if harness == "codex" else plain(text)
    key = {"codex": "mcp_servers", "vscode": "servers"}.get(harness, "mcpServers")
    entry = document[key]["prowess"]
    assert Path(entry["command"]).name == "prowess"
    assert entry["args"] == ["mcp"]


@pytest.mark.requirement("connect:settings")
def test_timeouts_are_in_the_unit_of_the_harness(world: World) -> None:
    for harness in ("claude-code", "codex", "gemini"):
        connect(world, harness)

    seconds = [
        handler["timeout"]
        for harness in ("claude-code", "codex")
        for entries in hook_documents(world.workspace, PROJECT[harness][0])[0]["hooks"].values()
        for handler in entries[0]["hooks"]
    ]
    (gemini,) = hook_documents(world.workspace, PROJECT["gemini"][0])
    millis = [entries[0]["hooks"][0]["timeout"] for entries in gemini["hooks"].values()]
    assert all(1 <= value <= 60 for value in seconds)
    assert all(1000 <= value <= 60_000 for value in millis)


@pytest.mark.requirement("connect:settings")
def test_hooks_alone_can_be_connected(world: World) -> None:
    connect(world, "claude-code", "--no-mcp")

    assert (world.workspace / CLAUDE).exists()
    assert not (world.workspace / ".mcp.json").exists()


@pytest.mark.requirement("connect:settings")
def test_a_program_on_the_path_that_is_not_ours_is_not_what_is_registered(world: World) -> None:
    world.executable("prowess")

    answer = connect(world, "claude-code")

    assert answer["command"] != "prowess hook"


@pytest.mark.requirement("connect:settings")
def test_codex_is_connected_in_its_own_home(world: World) -> None:
    other = world.root / "codex home"
    result = world.run("connect", "codex", "--user", "--yes", env={"CODEX_HOME": str(other)})

    assert result.calm().code == 0
    assert ours(plain(read(other / "hooks.json")))
    assert not (world.home / ".codex").exists()


@pytest.mark.requirement("connect:diff")
def test_a_dry_run_shows_the_diff_and_changes_nothing(world: World) -> None:
    path = world.file(world.workspace / CLAUDE, COMMENTED)
    before = files_below(world.workspace)

    shown = world.run("connect", "claude-code", "--project", "--dry-run").calm()

    assert shown.code == 0
    assert f"--- {path}" in shown.out
    assert f"+++ {path}" in shown.out
    assert [line for line in shown.out.splitlines() if line.startswith("+") and "prowess" in line]
    taken = [line[1:].rstrip(",") for line in shown.out.splitlines() if line.startswith("-\t")]
    assert all(f"+{line}" in shown.out for line in taken), "nothing of theirs goes"
    assert files_below(world.workspace) == before


@pytest.mark.requirement("connect:diff")
@pytest.mark.parametrize("words", [(), ("--remove",)], ids=["add", "remove"])
def test_without_a_yes_nothing_is_written(world: World, words: tuple[str, ...]) -> None:
    if words:
        connect(world, "claude-code")
    before = files_below(world.workspace)

    refused = world.run("connect", "claude-code", "--project", *words).calm()

    assert refused.code == 2
    assert "--yes" in refused.err
    assert files_below(world.workspace) == before


@pytest.mark.requirement("connect:diff")
def test_the_old_file_is_kept_beside_the_new_one(world: World) -> None:
    path = world.file(world.workspace / CLAUDE, COMMENTED)

    connect(world, "claude-code")

    (kept,) = backups(world)
    assert kept.parent == path.parent
    assert kept.read_bytes() == COMMENTED.encode()


@pytest.mark.requirement("connect:diff")
def test_there_are_never_many_backups(world: World) -> None:
    world.file(world.workspace / CLAUDE, COMMENTED)

    for _ in range(12):
        connect(world, "claude-code", "--no-mcp")
        connect(world, "claude-code", "--no-mcp", "--remove")

    assert 1 <= len(backups(world)) <= 10


@pytest.mark.requirement("connect:preserves", "connect:settings-again", "connect:removes")
@pytest.mark.parametrize("harness", ["claude-code", "cursor", "gemini", "codex"])
@pytest.mark.parametrize("name", VARIANTS)
def test_settings_come_back_byte_for_byte(world: World, harness: str, name: str) -> None:
    text = VARIANTS[name]
    if harness == "cursor":
        text = text.replace("{", '{"version": 1,', 1) if plain(text) else '{"version": 1}'
    path = world.file(world.workspace / PROJECT[harness][0], text)
    original = path.read_bytes()

    connect(world, harness)
    changed = path.read_bytes()
    again = connect(world, harness)
    unchanged = path.read_bytes()
    connect(world, harness, "--remove")

    assert _without_ours(plain(changed.decode())) == _without_ours(plain(text))
    assert ours(plain(changed.decode()))
    assert again["changed"] is False
    assert unchanged == changed
    assert path.read_bytes() == original


def _without_ours(document: Json) -> Json:
    """The document without hooks and server of ours, and without what is empty then."""
    hooks = {
        event: [entry for entry in entries if not ours(entry) or "beep" in str(entry)]
        for event, entries in document.get("hooks", {}).items()
    }
    left = {event: entries for event, entries in hooks.items() if entries}
    rest = {key: value for key, value in document.items() if key not in {"hooks", "mcpServers"}}
    return {**rest, "hooks": left}


@pytest.mark.requirement("connect:preserves")
@pytest.mark.parametrize("name", ["commented", "crlf"])
def test_lines_of_theirs_stay_in_their_order_and_with_their_ends(world: World, name: str) -> None:
    path = world.file(world.workspace / CLAUDE, VARIANTS[name])

    connect(world, "claude-code")

    text = read(path)
    place = 0
    for line in VARIANTS[name].splitlines(keepends=True):
        wanted = line.strip().rstrip(",")
        place = text.find(wanted, place)
        assert place >= 0, f"{wanted!r} is gone or has moved"
        place += len(wanted)
    if name == "crlf":
        assert "\n" not in text.replace("\r\n", "")


@pytest.mark.requirement("connect:preserves", "connect:settings-again", "connect:removes")
@pytest.mark.parametrize("name", TOMLS)
def test_toml_comes_back_byte_for_byte(world: World, name: str) -> None:
    path = world.file(world.workspace / ".codex" / "config.toml", TOMLS[name])
    original = path.read_bytes()

    connect(world, "codex")
    changed = path.read_bytes()
    again = connect(world, "codex")
    unchanged = path.read_bytes()
    connect(world, "codex", "--remove")

    document = tomllib.loads(changed.decode())
    servers = document.get("mcp_servers", {})
    assert servers.pop("prowess")["args"] == ["mcp"]
    before = tomllib.loads(original.decode())
    assert {**document, "mcp_servers": servers} == {"mcp_servers": {}, **before}
    assert b"".join(original.split()) in b"".join(changed.split())
    assert again["changed"] is False
    assert unchanged == changed
    assert path.read_bytes() == original


@pytest.mark.requirement("connect:removes")
@pytest.mark.parametrize("harness", HARNESSES)
def test_what_was_made_is_gone_after_removal(world: World, harness: str) -> None:
    connect(world, harness)
    connect(world, harness, "--remove")
    again = connect(world, harness, "--remove")

    assert again["changed"] is False
    assert files_below(world.workspace) == {}


@pytest.mark.requirement("connect:removes")
def test_what_only_looks_like_ours_is_left_alone(world: World) -> None:
    theirs = ["my-prowess hook", "echo prowess hook", "prowess hooks", "prowess-hook", "prowess"]
    handlers = [{"type": "command", "command": line} for line in theirs]
    text = json.dumps({"hooks": {"Stop": [{"hooks": handlers}]}}, indent=1)
    path = world.file(world.workspace / CLAUDE, text)
    server = json.dumps({"mcpServers": {"prowess": {"command": "/opt/other", "args": ["serve"]}}})
    other = world.file(world.workspace / ".mcp.json", server)

    connect(world, "claude-code", "--remove")

    assert read(path) == text
    assert read(other) == server


@pytest.mark.requirement("connect:settings")
def test_a_server_of_our_name_that_is_not_ours_is_kept_and_told_of(world: World) -> None:
    server = json.dumps({"mcpServers": {"prowess": {"command": "/opt/other", "args": ["serve"]}}})
    path = world.file(world.workspace / ".mcp.json", server)

    done = world.run("connect", "claude-code", "--project", "--yes").calm()

    assert read(path) == server or str(path) in done.text
    assert ".mcp.json" in done.text, "nobody would know that there is no server of ours"


@pytest.mark.requirement("connect:removes")
def test_ours_is_found_after_a_person_moved_and_changed_it(world: World) -> None:
    connect(world, "claude-code", "--no-mcp")
    path = world.workspace / CLAUDE
    document = json.loads(read(path))
    document["hooks"]["Stop"][0]["hooks"][0]["timeout"] = 59
    document["hooks"]["Stop"][0]["hooks"].insert(0, {"type": "command", "command": "beep"})
    document["hooks"] = dict(reversed(document["hooks"].items()))
    world.file(path, json.dumps(document))

    connect(world, "claude-code", "--no-mcp", "--remove")

    beep = {"hooks": [{"type": "command", "command": "beep"}]}
    assert json.loads(read(path)) == {"hooks": {"Stop": [beep]}}


@pytest.mark.requirement("connect:settings-again", "connect:settings")
def test_a_hook_of_an_older_place_is_replaced_and_not_doubled(world: World) -> None:
    old = "/old/venv/bin/prowess hook"
    text = json.dumps({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": old}]}]}})
    path = world.file(world.workspace / CLAUDE, text)

    connect(world, "claude-code", "--no-mcp")

    assert len(re.findall(r"prowess hook", json.dumps(plain(read(path))["hooks"]["Stop"]))) == 1
    assert old not in read(path)


@pytest.mark.requirement("connect:broken-settings")
@pytest.mark.parametrize(
    "text",
    [
        '{"hooks": ',
        "[]",
        '"text"',
        '{"hooks": []}',
        '{"hooks": {"Stop": {}}}',
        '{"a": 1}}',
        "{'a': 1}",
        '{"hooks": {}, "hooks": {"Stop": []}}',
        "\ufffe\0\0",
        "{" + '"a":{' * 5000,
    ],
    ids=lambda text: re.sub(r"\W+", "-", text[:14]),
)
def test_settings_that_cannot_be_understood_are_left_as_they_are(world: World, text: str) -> None:
    path = world.file(world.workspace / CLAUDE, text)

    refused = world.run("connect", "claude-code", "--project", "--yes").one_sentence()
    removed = world.run("connect", "claude-code", "--project", "--remove", "--yes").calm()

    assert refused.code in {1, 2}
    assert str(path) in refused.err
    assert removed.code in {0, 1, 2}
    assert read(path) == text
    assert backups(world) == []
    assert not (world.workspace / ".mcp.json").exists(), "all or nothing"


@pytest.mark.requirement("connect:broken-settings")
def test_toml_that_cannot_be_read_is_left_as_it_is(world: World) -> None:
    path = world.file(world.workspace / ".codex" / "config.toml", "a = 1\na = \n")

    refused = world.run("connect", "codex", "--project", "--yes").one_sentence()

    assert refused.code in {1, 2}
    assert "line" in refused.err
    assert read(path) == "a = 1\na = \n"
    assert not (world.workspace / ".codex" / "hooks.json").exists()


@pytest.mark.requirement("connect:preserves")
def test_a_linked_settings_file_stays_a_link_and_a_mode_stays_a_mode(world: World) -> None:
    real = world.file(world.root / "dotfiles" / "claude.json", PLAIN)
    real.chmod(0o644)
    link = world.link(world.workspace / CLAUDE, real)

    connect(world, "claude-code")
    changed = read(real)
    connect(world, "claude-code", "--remove")

    assert ours(plain(changed))
    assert link.is_symlink()
    assert read(real) == PLAIN
    assert stat.S_IMODE(real.stat().st_mode) == 0o644


@pytest.mark.requirement("connect:settings")
def test_a_harness_that_nobody_knows_is_refused(world: World) -> None:
    refused = world.run("connect", "emacs", "--yes").one_sentence()

    assert refused.code == 2
    assert "claude-code" in refused.err
    assert files_below(world.workspace) == {}


# --- doctor ----------------------------------------------------------------------------------


@pytest.fixture
def patient(world: World) -> World:
    world.config(words_only())
    world.config_file.chmod(0o600)
    world.state.chmod(0o700)
    two_skills(world)
    return world


def findings(world: World, area: str | None = None, level: str | None = None) -> list[Json]:
    """What doctor finds, of one area and level."""
    found = world.document("doctor")["findings"]
    return [
        item for item in found if area in {None, item["area"]} and level in {None, item["level"]}
    ]


def doctor(world: World) -> Result:
    return world.run("doctor").calm()


@pytest.mark.requirement("connect:doctor")
def test_an_installation_that_is_well_has_no_problem(patient: World) -> None:
    document = patient.run("doctor", "--json").calm()

    assert document.code == 0
    assert document.json["problems"] == 0
    assert {item["level"] for item in document.json["findings"]} <= {"ok", "warning", "problem"}
    assert all(item["text"].strip() for item in document.json["findings"])
    words = " ".join(item["text"] for item in document.json["findings"]).lower()
    for part in ("configuration", "skills", "gateway", "mcp"):
        assert part in words


@pytest.mark.requirement("connect:doctor")
@pytest.mark.parametrize("harness", HARNESSES)
def test_a_connected_harness_is_checked_with_recorded_calls(patient: World, harness: str) -> None:
    connect(patient, harness)

    found = findings(patient, harness)

    assert found
    assert not [item for item in found if item["level"] == "problem"]
    assert any(re.search(r"\brecorded\b|\breplay", item["text"]) for item in found)


@pytest.mark.requirement("connect:doctor")
def test_the_last_call_of_a_harness_is_told(patient: World) -> None:
    connect(patient, "claude-code")
    before = findings(patient, "claude-code")

    hooked(patient, PROMPTS[0].payload(patient))

    after = [item["text"] for item in findings(patient, "claude-code")]
    assert any(re.search(r"not called", item["text"]) for item in before)
    assert any(re.search(r"\d+ ms", text) and "call" in text.lower() for text in after)
    assert not any("not called" in text for text in after)


@pytest.mark.requirement("connect:doctor")
def test_a_command_that_is_gone_is_a_problem_with_a_cure(patient: World) -> None:
    connect(patient, "claude-code", "--no-mcp")
    path = patient.workspace / CLAUDE
    patient.file(path, re.sub(r"\S*prowess hook", "/nowhere/prowess hook", read(path)))

    (problem,) = findings(patient, "claude-code", "problem")

    assert "/nowhere/prowess" in problem["text"]
    assert "prowess connect claude-code" in problem["todo"]
    assert doctor(patient).code == 1


@pytest.mark.requirement("connect:doctor")
@pytest.mark.parametrize(
    ("place", "text", "area"),
    [
        (".claude/settings.json", "{ broken", "claude-code"),
        (".codex/hooks.json", "{ broken", "codex"),
        (".cursor/hooks.json", "[]", "cursor"),
        (".gemini/settings.json", "\0", "gemini"),
    ],
)
def test_broken_settings_of_a_harness_are_found(
    patient: World, place: str, text: str, area: str
) -> None:
    path = patient.file(patient.home / place, text)

    found = [*findings(patient, area, "problem"), *findings(patient, area, "warning")]

    assert any(str(path) in item["text"] for item in found)
    assert all(item["todo"] for item in found)


@pytest.mark.requirement("connect:doctor")
def test_a_broken_configuration_is_a_problem(patient: World) -> None:
    patient.config("{ broken")

    result = doctor(patient)

    assert result.code == 1
    assert str(patient.config_file) in result.text


@pytest.mark.requirement("connect:doctor")
def test_broken_skills_and_open_permissions_are_found(patient: World) -> None:
    patient.raw("torn", "---\nname: [torn\n---\n")
    patient.state.chmod(0o777)

    found = [item for item in findings(patient, "prowess") if item["level"] != "ok"]

    text = " ".join(f"{item['text']} {item['todo']}" for item in found)
    assert "chmod" in text
    assert re.search(r"broken|cannot be read|could not be read|unreadable|torn", text), text


@pytest.mark.requirement("connect:doctor")
def test_a_broken_store_is_a_problem(patient: World) -> None:
    patient.document("workshop", "list")
    for path in patient.state.glob("*.db"):
        patient.file(path, b"this is no database at all" * 100)
    if not list(patient.state.glob("*.db")):
        patient.file(patient.state / "prowess.db", b"this is no database at all" * 100)

    found = findings(patient, "prowess", "problem")

    assert found
    assert all(item["todo"] for item in found)


@pytest.mark.requirement("connect:doctor-harmless")
def test_doctor_changes_nothing(patient: World) -> None:
    connect(patient, "claude-code")
    connect(patient, "codex", scope="--user")
    before = {
        name: content
        for name, content in files_below(patient.root).items()
        if not name.endswith((".db", ".db-shm", ".db-wal"))
    }

    assert doctor(patient).code == 0

    after = files_below(patient.root)
    made = {
        name
        for name in set(after) - set(before)
        if not name.endswith((".db", "-shm", "-wal", ".index"))
    }
    assert made == set()
    assert {name: after[name] for name in before} == before
