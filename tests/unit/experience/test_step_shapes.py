"""Steps as moves that can be compared, and commands taken apart."""

from dataclasses import replace

import pytest
from tests.rows import each_row
from tests.unit.experience.trace_heaps import bash, read, tap, tool, touch, trace

from prowess.experience.commands import find_programs, split_line, summarize_command
from prowess.experience.lessons.moves import MOST_MOVES, find_failures, find_moves, shorten_trace
from prowess.transcripts.traces import Deed, TraceAction


@each_row(
    ("command", "parts"),
    [
        ("git add -A && git commit -m 'a && b; c'", ("git add -A", "git commit -m 'a && b; c'")),
        ("# why\nmake x\nmake y", ("make x", "make y")),
        ("for f in *; do echo $f; done; ls", ("for f in *; do echo $f; done; ls",)),
        ("python - <<'E'\nimport x; y\nE", ("python - <<'E'\nimport x; y\nE",)),
        ("a | b || c", ("a | b || c",)),
        ("", ()),
    ],
)
def test_a_chain_is_several_commands_and_a_body_is_one(
    command: str, parts: tuple[str, ...]
) -> None:
    assert split_line(command) == parts


@pytest.mark.parametrize(
    ("command", "name", "is_look"),
    [
        ("sudo docker compose -f a.yml up -d", "docker compose up", False),
        ("FOO=1 npm run build 2>&1 | tail -5", "npm run build", False),
        ("uv run python3.11 -m pytest -q", "pytest", False),
        ("python3 convert.py a.csv", "python script", False),
        ("ls -la | head", "ls", True),
        ("cat a.json | jq .x > b.json", "jq", False),
        ("echo hello > note.txt", "echo", False),
        ("git status", "git status", True),
        ("broken 'quote", "broken", False),
    ],
)
def test_a_command_is_known_by_its_programs(command: str, name: str, *, is_look: bool) -> None:
    found = summarize_command(command)

    assert (found.name, found.is_look) == (name, is_look)


def test_the_programs_that_a_command_needs_are_named_without_filters() -> None:
    assert find_programs("curl -s https://x.org | jq .a | head -3") == ("curl", "jq")
    assert find_programs("./build.sh x") == ()


def test_what_failed_what_only_plans_and_the_end_are_no_moves() -> None:
    done = trace(
        "Do it",
        tool("TodoWrite", {"todos": []}),
        bash("make all", failed=True, result="make: *** No rule"),
        bash("make -j2 all"),
        read("a.txt"),
        read("a.txt"),
        touch("finish", app="", message="done"),
    )

    moves = find_moves(done)

    assert [move.shape.deed for move in moves] == [Deed.SHELL, Deed.READ]
    (failure,) = find_failures(done)
    assert failure.said == "make: *** No rule"
    assert failure.remedy == moves[0]


def test_paths_are_told_from_the_folder_of_the_work_and_from_the_home() -> None:
    done = trace(
        "Do it",
        read("/home/ann/work/data/a.csv"),
        bash("cd /home/ann/work && cp /home/ann/work/a.txt /home/ann/other/"),
        folder="/home/ann/work",
    )

    told = [value for move in find_moves(done) for value in move.fields.values()]

    assert told == ["data/a.csv", "cp a.txt ~/other/"]


def test_a_batch_is_its_actions_and_an_element_is_known_by_its_id() -> None:
    inner: list[dict[str, str]] = [{"type": "type", "text": "hi"}, {"type": "keyevent", "key": "4"}]
    done = trace(
        "Do it",
        touch("batch_actions", actions=inner),
        tap("com.x:id/send", "Send"),
        touch("swipe", x1=1, y1=900, x2=1, y2=100),
        touch("tap", x=5, y=6),
    )

    names = [(move.shape.deed.value, move.shape.name) for move in find_moves(done)]

    assert names == [
        ("type", ""), ("key", "4"), ("gesture", "tap send"), ("gesture", "swipe up"),
        ("gesture", "tap"),
    ]  # fmt: skip


def test_long_traces_and_long_texts_are_cut() -> None:
    long = "x" * 50_000
    steps = [bash(f"make t{at}") for at in range(500)]
    done = replace(trace("Do it", *steps, tool("Write", {"path": "a", "content": long})))
    cut = shorten_trace(trace("Do it", tool("Write", {"path": "a", "content": long})))

    assert len(find_moves(done)) == MOST_MOVES
    assert len(cut.steps[0].action.text("content")) < 300
    other = shorten_trace(trace("Do it", tool("Write", {"path": "a", "content": long + "y"})))
    assert other.steps[0].action.text("content") != cut.steps[0].action.text("content")


def test_a_command_of_any_harness_is_read() -> None:
    action = TraceAction("shell", {"command": ["bash", "-lc", "make x && make y"]})
    done = trace("Do it", replace(bash(""), action=action))

    assert [move.shape.name for move in find_moves(done)] == ["make x", "make y"]
