"""What only a real process shows: exit codes, pipes, terminals, encodings, completion."""

import os
import re
import subprocess
import unicodedata
from pathlib import Path

import pytest

from .pseudo_terminal import on_terminal
from .world import World, command, openclaw, requires

pytestmark = pytest.mark.slow

ESCAPE = "\x1b"
LACKING = [f"prowess-no-such-bin-{letter}" for letter in "abcd"]
COLOURFUL = {"NO_COLOR": None, "TERM": "xterm-256color", "COLORTERM": "truecolor"}


def width(line: str) -> int:
    """How many cells `line` takes."""
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in line)
    return len(line) + wide - sum(unicodedata.combining(char) > 0 for char in line)


@pytest.mark.requirement("exit:codes")
@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("list",), 0),
        (("why", "lacking"), 1),
        (("show", "nobody-here"), 1),
        (("list", "--no-such-option"), 2),
    ],
)
def test_the_process_ends_with_the_documented_code(
    world: World, args: tuple[str, ...], code: int
) -> None:
    world.skill("lacking", metadata=requires(bins=["prowess-no-such-bin"]))

    result = world.process(*args).calm()

    assert result.code == code


@pytest.mark.requirement("exit:codes", "exit:errors-are-one-sentence")
def test_wrong_usage_is_one_sentence_and_ends_with_two(world: World) -> None:
    for args in (
        ("no-such-command",),
        ("show",),
        ("why",),
        ("show", "one", "two"),
        ("validate", "--format", "papyrus"),
        ("enable",),
        ("config", "set", "only.a.key"),
        ("completion", "tcsh"),
    ):
        result = world.run(*args).one_sentence()

        assert result.code == 2
        assert "--help" in result.err


@pytest.mark.requirement("exit:errors-are-one-sentence")
@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("lits", "`prowess list`"),
        ("Valid", "`prowess validate`"),
        ("workshop aply", "`prowess workshop apply`"),
        ("config gt", "`prowess config get`"),
        ("plugins lsit", "`prowess plugins list`"),
        ("examples ad", "`prowess examples add`"),
        ("experience bild", "`prowess experience build`"),
        ("apply", "`prowess workshop apply`"),
        ("workshop doctor", "`prowess doctor`"),
        ("skills lits", "`prowess list`"),
        ("skils list", "`prowess skills`"),
        ("skills install weather", "`prowess add SOURCE`"),
        ("serach weather", "`prowess search`"),
        ("gateway start", "`prowess serve`"),
    ],
)
def test_a_command_that_there_is_not_names_the_one_that_was_meant(
    world: World, typed: str, meant: str
) -> None:
    result = world.run(*typed.split()).one_sentence()

    assert (result.code, result.out) == (2, "")
    assert meant in result.err
    assert "--help" in result.err


@pytest.mark.requirement("terminal:help")
@pytest.mark.parametrize(
    ("typed", "ours"),
    [
        ("skills list --json", "list --json"),
        ("skills --json", "list --json"),
        ("skills info alpha", "show alpha"),
        ("info alpha --json", "show alpha --json"),
        ("skills workshop list", "workshop list"),
        ("help", "--help"),
        ("help config", "config --help"),
        ("version", "--version"),
    ],
)
def test_another_programs_name_for_a_command_is_understood(
    world: World, typed: str, ours: str
) -> None:
    world.skill("alpha")

    result, expected = world.run(*typed.split()), world.run(*ours.split())

    assert (result.code, result.out) == (expected.code, expected.out)
    assert "--" in ours or f"`prowess {ours.partition(' ')[0]}`" in result.err


@pytest.mark.requirement("terminal:json-everywhere", "exit:codes")
def test_wrong_usage_is_json_too_where_json_was_asked_for(world: World) -> None:
    for args in (("lits",), ("show",), ("list", "--no-such-option"), ("workshop", "aply")):
        result = world.run(*args, "--json").calm()

        assert (result.code, len(result.err.splitlines())) == (2, 1)
        assert result.json["error"]["code"] == "usage"
        assert "--help" in result.json["error"]["message"]


@pytest.mark.requirement("terminal:help")
def test_every_command_is_listed_and_explains_itself(world: World) -> None:
    everything = world.run("--help").out

    for name in (
        *("list", "show", "check", "why", "validate", "load", "prompt", "snapshot"),
        *("config", "enable", "disable", "completion"),
    ):
        one = world.run(name, "--help")
        assert re.search(rf"^  {name} +\w", everything, re.MULTILINE)
        assert (one.code, one.err) == (0, "")
        assert len(one.out.splitlines()) > 3


@pytest.mark.requirement("terminal:no-colours-when-piped")
def test_there_are_no_colours_in_a_pipe(world: World) -> None:
    world.skill("alpha")
    world.front("broken", "- a list")

    piped = world.process("list", env=COLOURFUL).calm()
    captured = [
        world.run(*args, env=COLOURFUL)
        for args in (("show", "alpha"), ("why", "alpha"), ("check",), ("validate",), ("no-such",))
    ]

    assert [result.args for result in (piped, *captured) if ESCAPE in result.text] == []


@pytest.mark.requirement("terminal:escape-sequences-removed")
def test_escape_sequences_in_a_skill_never_reach_the_terminal(world: World) -> None:
    world.skill("painted", description="Red \x1b[31malert\x1b[0m and bell\x07.")

    shown = world.row("painted")["description"]

    assert shown == "Red alert and bell."
    for args in (("list",), ("show", "painted"), ("why", "painted"), ("prompt",)):
        assert not {ESCAPE, "\x07"} & set(world.run(*args).text)


@pytest.mark.requirement("terminal:tables-fit")
@pytest.mark.parametrize("words", [("list",), ("list", "-v")])
@pytest.mark.parametrize("columns", [60, 80, 120])
def test_tables_fit_the_terminal(world: World, columns: int, words: tuple[str, ...]) -> None:
    world.skill("a-rather-long-name-for-a-skill-that-goes-on-and-on", description="word " * 80)
    world.skill("kanji", description="検証" * 60, metadata=requires(bins=LACKING))

    lines = on_terminal(world, *words, columns=columns).splitlines()

    assert any("kanji" in line and "検証" in line for line in lines)
    assert max(width(line.rstrip()) for line in lines) <= columns
    said = " ".join(line.strip() for line in lines)
    assert all(name in said for name in LACKING) == ("-v" in words)


@pytest.mark.requirement("terminal:tables-fit")
def test_a_narrow_terminal_still_shows_name_and_state(world: World) -> None:
    world.skill("short-name")

    lines = on_terminal(world, "list", columns=40).splitlines()

    assert any("short-name" in line and "ready" in line for line in lines)
    assert max(width(line) for line in lines if "Tip:" not in line) <= 40


@pytest.mark.requirement("terminal:tables-fit")
def test_wide_cuts_nothing_wherever_it_is_read(world: World) -> None:
    world.skill("wordy", description="word " * 80 + "and the last one. [/bold]")

    for drawn in (
        world.process("list", "--wide", env={"COLUMNS": "40"}).out,
        on_terminal(world, "list", "--wide", columns=80),
    ):
        assert "and the last one. [/bold]" in drawn
        assert "    and" not in drawn


@pytest.mark.requirement("terminal:tables-fit")
@pytest.mark.parametrize("columns", ["40", "100", None])
def test_a_pipe_gets_a_line_for_each_skill_whose_columns_can_be_counted(
    world: World, columns: str | None
) -> None:
    long = "a-rather-long-name-for-a-skill-that-goes-on-and-on"
    world.skill(long, description="word " * 80, metadata=openclaw(emoji="🦀"))
    world.skill("lacking", description="More  than  one space.", metadata=requires(bins=LACKING))

    lines = world.process("list", "-v", env={"COLUMNS": columns}).out.splitlines()[1:]

    cells = {row[1]: row for row in (re.split(" {2,}", line) for line in lines)}
    assert {len(row) for row in cells.values()} == {5}
    assert cells[long][2].endswith("…")
    assert cells[long][3:] == ["openclaw-workspace", "-"]
    assert cells["lacking"][0] == "△ needs setup"
    assert cells["lacking"][4] == f"bins: {', '.join(LACKING)}"
    assert max(map(len, lines)) < 400


@pytest.mark.requirement("terminal:tables-fit")
def test_no_piped_line_is_filled_up_to_the_longest(world: World) -> None:
    world.skill("short", description="Brief.")
    world.skill("wordy", description="word " * 100)

    lines = world.process("commands").out.splitlines()

    assert max(len(line) for line in lines if "/short" in line) < 120
    assert any("word " * 99 in line for line in lines)


@pytest.mark.requirement("terminal:tables-fit")
def test_the_columns_of_every_piped_list_can_be_counted(world: World) -> None:
    world.skill("short", description="Brief.")
    world.front("hinted", "name: hinted\ndescription: " + "word " * 60 + "\nargument-hint: FILE")
    world.run("examples", "add", "short", "make it short " * 20)
    world.run("examples", "add", "hinted", "a hint")

    for words, columns in (("commands", 4), ("examples list", 3)):
        lines = (
            world.process(*words.split(), env=COLOURFUL).calm().out.split("\n\n")[0].splitlines()
        )
        counts = {len(re.split(" {2,}", line)) for line in lines}
        assert (words, counts) == (words, {columns})
        starts = {line.index(re.split(" {2,}", line)[1], 1) for line in lines}
        assert (words, len(starts)) == (words, 1)
        assert ESCAPE not in "".join(lines)


@pytest.mark.requirement("terminal:broken-pipe")
def test_a_reader_that_leaves_early_is_no_error(world: World) -> None:
    for number in range(150):
        world.skill(f"s{number:03}", description="word " * 150)
    with subprocess.Popen(
        command(("list", "--json")),
        cwd=world.workspace,
        env=world.env(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()

        said = process.stderr.read()

    assert (process.returncode, said) == (0, b"")


@pytest.mark.requirement("terminal:any-encoding")
def test_a_terminal_without_unicode_is_no_reason_to_crash(world: World) -> None:
    world.skill("kanji", description="検証 ✅", metadata={"openclaw": {"emoji": "🦀"}})
    plain = {
        "PYTHONUTF8": "0",
        "LC_ALL": "C",
        "LANG": "C",
        "PYTHONIOENCODING": "ascii:strict",
        "PYTHONCOERCECLOCALE": "0",
    }

    for args in (("show", "kanji"), ("prompt", "--json")):
        assert world.process(*args, env=plain).calm().code == 0
    listed = world.process("list", env=plain).calm().out
    assert "+ ready" in listed
    assert "\\u2713" not in listed


def oddly_named(world: World, folder: bytes) -> None:
    """Write a skill into a folder of this name, if the file system takes it."""
    path = Path(os.fsdecode(os.fsencode(world.skills) + b"/" + folder))
    try:
        world.file(path / "SKILL.md", "---\ndescription: Oddly kept.\n---\nBody.\n")
    except OSError:
        pytest.skip("this file system refuses the name")


@pytest.mark.requirement("bad:odd-names", "bad:siblings-load")
def test_odd_folder_names_never_stop_their_siblings(world: World) -> None:
    for folder in (b"\xff\xfe", b"a\x1b[31m", b"a\nb", b"-rf"):
        oddly_named(world, folder)
    world.skill("sibling")

    rows = world.listing()

    kept = [row for row in rows.values() if row["description"] == "Oddly kept."]
    assert [row["name"] for row in kept] == ["-rf"]
    assert rows["sibling"]["eligible"] is True
    assert world.run("check").calm().text.count("name-unusable") == 3
    sarif = ("validate", "--format", "sarif")
    for args in (("list",), ("prompt",), ("snapshot", "--json"), ("validate",), sarif):
        assert ESCAPE not in world.run(*args).calm().text


@pytest.mark.requirement("bad:odd-names", "terminal:any-encoding")
def test_a_name_that_is_no_text_is_printed_as_text(world: World) -> None:
    oddly_named(world, b"\xff\xfe")

    assert r"\xff\xfe: name-unusable" in world.process("list").calm().text


@pytest.mark.requirement("completion:script")
def test_completion_prints_a_script_for_each_shell(world: World) -> None:
    for shell in ("bash", "zsh", "fish"):
        named = world.run("completion", shell).calm()
        found = world.run("completion", env={"SHELL": f"/usr/bin/{shell}"}).calm()

        assert named.code == 0
        assert f"_PROWESS_COMPLETE={shell}_complete" in named.out
        assert named.out == found.out


@pytest.mark.requirement("completion:names")
def test_completion_offers_commands_options_and_skills(world: World) -> None:
    world.skill("alpha")

    for words, offered in (
        ("prowess val", "validate"),
        ("prowess list --wor", "--workspace"),
        ("prowess show alp", "alpha"),
    ):
        at = str(len(words.split()) - 1)
        env = {"_PROWESS_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": at}
        assert world.process(env=env).out.split() == [f"plain,{offered}"]


@pytest.mark.requirement("terminal:looking-writes-nothing")
def test_looking_writes_nothing(world: World) -> None:
    world.skill("alpha")
    before = sorted(world.root.rglob("*"))
    # What the scanner said is kept, so that nothing is scanned twice.
    reports = {world.home / ".prowess" / f"reports.db{end}" for end in ("", "-wal", "-shm")}

    for args in (
        ("list",),
        ("check",),
        ("show", "alpha"),
        ("prompt",),
        ("validate",),
        ("config", "get"),
    ):
        world.run(*args).calm()

    assert sorted({*world.root.rglob("*")} - reports) == before
