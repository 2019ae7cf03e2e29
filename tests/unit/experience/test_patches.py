"""A patch is read whole or not at all, and names its files whatever else it holds."""

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.experience.fingerprint import (
    PatchChange,
    PatchedFile,
    find_patch,
    find_patched_files,
    read_patch,
)


def patch(*lines: str) -> str:
    return "\n".join(("*** Begin Patch", *lines, "*** End Patch"))


def test_a_file_is_added_with_the_lines_behind_their_signs() -> None:
    text = patch("*** Add File: docs/a.md", "+# A", "+", "++1")

    assert read_patch(text) == (PatchedFile(path="docs/a.md", how="Add", content="# A\n\n+1\n"),)


def test_each_place_of_an_update_is_a_change_of_whole_lines() -> None:
    text = patch(
        "*** Update File: a.py", "@@ class A:", "@@ def f(self):", " x = 1", "-y = 2", "+y = 3",
        "", "@@", " z = 1", "+z = 2", "*** End of File", "*** Delete File: b.py",
    )  # fmt: skip

    first = PatchChange("x = 1\ny = 2\n\n", "x = 1\ny = 3\n\n")
    second = PatchChange("z = 1\n", "z = 1\nz = 2\n")
    assert read_patch(text) == (
        PatchedFile(path="a.py", how="Update", changes=(first, second)),
        PatchedFile(path="b.py", how="Delete"),
    )


@each_row(
    "text",
    [
        "",
        "*** Begin Patch",
        "*** Begin Patch\n*** Add File: a\n+x",
        patch(),
        patch("+x"),
        patch("*** Add File: a", "x"),
        patch("*** Update File: a", "*** Move to: b", "@@", "-x", "+y"),
        patch("*** Update File: a", "@@", "+x"),
        patch("*** Update File: a", "@@", " x"),
        patch("*** Update File: a", "@@", "-x", "?y"),
        patch("*** Delete File: a", "+x"),
        patch("*** Update File: a", "-x", "+y", "*** Update File: a", "-y", "+z"),
        "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-x\n+y",
    ],
)
def test_a_patch_that_is_not_plain_is_not_read(text: str) -> None:
    assert read_patch(text) == ()


def test_files_are_named_once_and_in_their_order() -> None:
    text = patch(
        "*** Update File: src/b.py", "*** Move to: src/c.py", "@@", "-x", "+++ y",
        "*** Delete File: a.py", "*** Update File: src/b.py",
    )  # fmt: skip

    assert find_patched_files(text) == ("src/b.py", "src/c.py", "a.py")
    assert find_patched_files("--- a/x.py\n+++ b/x.py\tnow\n+y") == ("x.py",)
    assert find_patched_files("git status") == ()


PLAIN = patch("*** Add File: a", "+x") + "\n"


@each_row(
    ("command", "found"),
    [
        (f"apply_patch <<'EOF'\n{PLAIN}EOF", PLAIN),
        (f"apply_patch << PATCH\n{PLAIN}PATCH\n", PLAIN),
        (f"apply_patch '{PLAIN}'", PLAIN),
        (f'apply_patch "{PLAIN}"', ""),
        (f"apply_patch <<EOF\n{PLAIN.replace('+x', '+$HOME')}EOF", ""),
        (f"apply_patch <<'EOF'\n{PLAIN}EOF\nrm -r x", ""),
        (f"cd x && apply_patch <<'EOF'\n{PLAIN}EOF", ""),
        ("apply_patch 'unclosed", ""),
        ("apply_patch x", ""),
        ("git status", ""),
    ],
)
def test_a_command_that_only_patches_has_its_patch(command: str, found: str) -> None:
    assert find_patch(command) == found


@settings(max_examples=50)
@given(st.lists(st.text(st.characters(exclude_characters="\n"), max_size=12), max_size=6))
def test_any_lines_can_be_added(lines: list[str]) -> None:
    text = patch("*** Add File: a", *(f"+{line}" for line in lines))

    (found,) = read_patch(text)

    assert found.content == "".join(f"{line}\n" for line in lines)
