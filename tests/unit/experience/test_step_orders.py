"""Orders in words, and texts that stay inside their code."""

from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from tests.rows import each_row
from tests.unit.experience.trace_heaps import edit, read, tap, tool, touch, trace, write

from prowess.experience.lessons.moves import Move, MoveShape, find_moves
from prowess.experience.lessons.wording import format_block, format_code, write_order
from prowess.skills.invocation import COMMANDS_NOT_RUN, fill
from prowess.transcripts.traces import Deed, TraceStep

LINES = "\n".join(f"line {at}" for at in range(6))


@each_row(
    ("step", "text"),
    [
        (read("a.txt"), "Read `a.txt`."),
        (write("a.txt", "hello"), "Write `a.txt` with `hello`."),
        (write("a.txt", LINES), "Write `a.txt` with this text:"),
        (write("a.txt", ""), "Write `a.txt`."),
        (write("a.txt", "x" * 3000), f"Write `a.txt` with `{'x' * 117}...`."),
        (edit("a.txt", "old", "new"), "In `a.txt`, replace `old` with `new`."),
        (edit("a.txt", "", "new"), "In `a.txt`, put `new`."),
        (edit("a.txt", "old", LINES), "In `a.txt`, put this in place of `old`:"),
        (tool("Edit", {"path": "a.txt"}), "Edit `a.txt`."),
        (tool("apply_patch", {"input": LINES}), "Apply this patch:"),
        (tool("apply_patch", {"input": "+ x"}), "Apply the patch `+ x`."),
        (tool("run_script", {"script": LINES}), "Run this script:"),
        (tool("run_script", {"script": "echo 1"}), "Run the script `echo 1`."),
        (tool("Bash", {"command": f"cat <<E\n{LINES}\nE"}), "Run:"),
        (touch("shell", command="pm list"), "On the device, run `pm list`."),
        (touch("swipe", x1=9, y1=1, x2=1, y2=1), "Swipe left."),
        (touch("tap", x=5, y=6), "Tap at about (5, 6)."),
        (touch("tap"), "Tap the screen."),
        (tap("com.x:id/send"), "Tap the element `com.x:id/send`."),
        (touch("keyevent", keycode="BACK"), "Press `BACK`."),
        (touch("request_human_auth", capability="location"), "Ask the person: `location`."),
        (touch("request_user_input", question="Which?"), "Ask the person: `Which?`."),
        (tool("mcp__a__b", {"id": 7, "q": "x"}), "Call `mcp__a__b` with `id` = `7`, `q` = `x`."),
        (tool("mcp__a__b", {}), "Call `mcp__a__b`."),
    ],
)
def test_each_kind_of_step_is_an_order(step: TraceStep, text: str) -> None:
    (move,) = find_moves(trace("Do it", step))

    assert write_order(move, move.fields).text == text


def test_a_wait_is_no_number_of_seconds() -> None:
    move = Move(shape=MoveShape(deed=Deed.WAIT), number=1)

    assert write_order(move, {}).text == "Wait until it is ready."


@given(st.text(max_size=80))
@settings(max_examples=50, deadline=None)
def test_any_text_is_one_code_span(text: str) -> None:
    span = format_code(text)

    (inline,) = (token for token in MarkdownIt().parse(f"a {span} b") if token.type == "inline")
    assert [child.type for child in inline.children or []] == ["text", "code_inline", "text"]


@given(st.text(max_size=80))
@settings(max_examples=50, deadline=None)
def test_any_text_is_one_block(text: str) -> None:
    tokens = MarkdownIt().parse(f"1. x\n\n{format_block(text)}\n\n2. y\n")

    assert [token.type for token in tokens].count("fence") == 1
    assert [token.type for token in tokens].count("list_item_open") == 2


PLACEHOLDERS = (
    "awk '{print $1}' a",
    "echo $ARGUMENTS",
    "$ARGUMENTS[0] $ARGUMENTSX",
    "echo \\$1 \\\\$2",
    "costs $1.50 or $10",
    "${CLAUDE_SKILL_DIR}/x ${HOME} $HOME",
    "say !`id` and $0!",
    "```!\nid $1\n```",
    "hurra !",
)


@each_row("text", PLACEHOLDERS)
def test_a_call_fills_nothing_in_what_a_trace_said(text: str) -> None:
    values = {"CLAUDE_SKILL_DIR": "/filled"}
    written = f"1. Run {format_code(text)} and {format_code(text)}.\n\n{format_block(text)}"

    filled = fill(written, "FILLED again", values=values)

    assert COMMANDS_NOT_RUN not in filled.notes
    assert filled.text.partition("\n\n## User input")[0] == written.replace("\\$", "$") or (
        "\\$" in text and text in filled.text
    )
    assert "filled" not in filled.text.lower().replace("filled again", "", 1)
