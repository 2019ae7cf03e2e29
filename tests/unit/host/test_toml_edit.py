"""Edits of a TOML file: one table of ours comes and goes, and the rest stays as it is."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prowess.hooks.harness import Edit, Insert, Remove, ReplaceValue
from prowess.host.harness.jsonc import DocumentError
from prowess.host.harness.settings_files import edit_toml, read_toml

SERVER = {"command": "prowess", "args": ["mcp"]}
LINES = st.sampled_from(
    (
        "# a note",
        "",
        'model = "x" # why',
        "[profiles.fast]",
        "depth = [1,\n  2] # two",
        "[mcp_servers.other]",
        'text = """\n[mcp_servers.prowess]\n"""',
    )
)


def _put(text: str) -> Edit:
    if "mcp_servers" in read_toml(text):
        return Insert(path=("mcp_servers",), key="prowess", value=SERVER)
    return Insert(path=(), key="mcp_servers", value={"prowess": SERVER})


@settings(max_examples=40, deadline=None)
@given(st.lists(LINES, unique=True, max_size=6), st.sampled_from(("\n", "\r\n")))
def test_a_table_that_is_put_in_and_taken_out_leaves_every_byte(
    lines: list[str], newline: str
) -> None:
    text = "".join(line.replace("\n", newline) + newline for line in lines)

    there = edit_toml(text, [_put(text)])
    back = edit_toml(there, [Remove(path=("mcp_servers", "prowess"))])

    assert read_toml(there)["mcp_servers"]["prowess"] == SERVER
    assert there.startswith(text)
    assert back == text


def test_a_file_without_a_last_line_end_gets_one() -> None:
    there = edit_toml("a = 1", [_put("a = 1")])

    assert there.startswith("a = 1\n\n[mcp_servers.prowess]\n")


def test_only_our_table_goes_with_what_is_below_it_and_comments_stay() -> None:
    text = (
        "[mcp_servers.prowess]\n# mine\ncommand = 'prowess'\nargs = ['mcp']\n"
        "[mcp_servers.prowess.env]\nA = '1'\n\n# of the next\n[mcp_servers.other]\ncommand = 'x'\n"
    )

    found = edit_toml(text, [Remove(path=("mcp_servers", "prowess"))])

    assert found == "# mine\n\n# of the next\n[mcp_servers.other]\ncommand = 'x'\n"


def test_a_command_is_replaced_in_its_place() -> None:
    text = '[mcp_servers."prowess"]\n  command = "/old/prowess" # where\nargs = ["mcp"]\n'

    found = edit_toml(
        text, [ReplaceValue(path=("mcp_servers", "prowess", "command"), value="prowess")]
    )

    assert found == text.replace("/old/prowess", "prowess")


@pytest.mark.parametrize("text", ["mcp_servers = {}\n", "mcp_servers = {a = {}} # x\n"])
def test_what_is_written_in_another_way_is_left_to_a_person(text: str) -> None:
    with pytest.raises(DocumentError, match="by hand"):
        edit_toml(text, [_put(text)])


def test_what_is_not_toml_is_refused_with_its_line() -> None:
    with pytest.raises(DocumentError) as caught:
        edit_toml("a = 1\nb = = 2\n", [Remove(path=("a",))])

    assert caught.value.line == 2
