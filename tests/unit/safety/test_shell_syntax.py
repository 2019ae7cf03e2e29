"""The shell reader holds on broken, deep and hostile text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fixtures.scanning.growth import grows_with_size
from tests.rows import each_row

from prowess.reading.views import View
from prowess.safety.languages.powershell import read_powershell, read_script
from prowess.safety.languages.shell.facts import looks_like_shell, read_shell
from prowess.safety.languages.shell.syntax import parse
from prowess.safety.languages.shell.words import Command

PIECES = (
    "curl ", "| ", "sh", "\n", "$(", ")", "`", '"', "'", "\\", "${", "}", "{a,b}", "<<E\n", "E\n",
    "; ", "&& ", "if ", "then ",
    "fi ", "for x in ", "do ", "done ", "case ", "in ", "esac ", "a) ", ";;", "f() { ", "[[ ",
    "]] ", "<(", ">&", "x=", "$x",
    "eval ", "bash -c ", "é", "# ", "((", "alias a=", "xargs -I{} ", "~/.ssh/id_rsa ",
    "https://c.example.invalid ", "!", "*",
)  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=60).map("".join))
def test_any_mixture_of_shell_pieces_is_read(text: str) -> None:
    reading = read_shell(View.raw("x", text))
    assert all(0 <= fact.spot.start <= fact.spot.end for fact in reading.facts)


@given(st.text(max_size=200))
def test_any_text_is_read(text: str) -> None:
    view = View.raw("x", text)
    read_shell(view)
    read_powershell(view)
    read_script(view)
    looks_like_shell(text)


@pytest.mark.slow
@each_row(
    "piece",
    ["$(", '"$(', "`", '"', "'", "|", "a|", "(", "${x:-", "cat <<E\n", "if a; then ", "eval '",
    "a=$a$a;", "$((", "cd a;"],
)  # fmt: skip
def test_time_grows_with_the_size_of_the_text(piece: str) -> None:
    grows_with_size(lambda size: read_shell(View.raw("x", piece * (size // len(piece)))))


def test_deep_nesting_is_said_to_be_unread() -> None:
    reading = read_shell(View.raw("x", "$(" * 500 + "id" + ")" * 500))
    assert "nested too deeply" in reading.unread


def test_here_documents_end_at_their_own_word() -> None:
    script = parse("cat <<A <<'B'\n$x\nA\n$y\nB\nid\n")
    assert len(script.body) == 2
    command = script.body[0].stages[0]
    assert isinstance(command, Command)
    bodies = [redirect.body for redirect in command.redirects]
    assert [script_text(body.start, body.end) for body in bodies if body] == ["$x\n", "$y\n"]


def script_text(start: int, end: int) -> str:
    return "cat <<A <<'B'\n$x\nA\n$y\nB\nid\n"[start:end]


def test_groups_and_pipelines_nest_as_written() -> None:
    script = parse("if a; then b | c; fi; { d; e; } | f")
    assert [len(pipeline.stages) for pipeline in script.body] == [1, 2]
