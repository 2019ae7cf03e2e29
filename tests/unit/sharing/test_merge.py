"""Merging what was edited here with what is new there: both are kept, and no line is lost."""

import random

from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.sharing.merge import merge_files, merge_text

PAGE = """---
name: notes
description: Writes notes. Use for notes.
license: MIT
---

# Notes

Write them in the past tense.
Name who did it.

## Collect

- Read the commits.
- Leave out merges.
- Group by part.

```bash
# not a heading
git log --oneline
```

## Write

One line each.

## Check

Read them aloud.
"""
PAIRS = 200


def _edit(lines: list[str], at: int, kind: str, word: str) -> list[str]:
    """Return lines with one edit at a place: a line replaced, or one added before or after it."""
    new = f"{word} {at}\n"
    if kind == "replace":
        return [*lines[:at], new, *lines[at + 1 :]]
    return [*lines[:at], new, *lines[at:]]


def _generated(number: int) -> tuple[str, str, str, list[str]]:
    """Return a page, two versions of it with edits of different lines, and what was written."""
    chance = random.Random(number)  # noqa: S311 - the same pairs every time
    parts = []
    for section in range(chance.randint(2, 7)):
        parts.append(f"## Section {section}\n")
        count = chance.randint(1, 6)
        parts += [f"- step {section}.{step} of the work\n" for step in range(count)]
        parts += ["\n"] if chance.random() < 0.7 else []
    head = ["---\n", "name: x\n", "description: Does x.\n", "license: MIT\n", "---\n", "\n"]
    lines = head + parts
    # A place is a line that has words of its own; each belongs to one side.
    places = [at for at, line in enumerate(lines) if line.startswith(("- ", "license", "desc"))]
    chosen = chance.sample(places, min(len(places), chance.randint(2, 6)))
    sides, written = [list(lines), list(lines)], []
    for order, at in sorted(enumerate(chosen), key=lambda one: -one[1]):
        word = f"{('- ours', '- theirs')[order % 2]} {chance.randint(0, 9)}"
        if lines[at].startswith(("license", "desc")):
            word = lines[at].split()[0] + f" changed {order}"
        kind = "replace" if "ours" not in word or chance.random() < 0.6 else "add"
        sides[order % 2] = _edit(sides[order % 2], at, kind, word)
        written.append(f"{word} {at}\n")
    return "".join(lines), "".join(sides[0]), "".join(sides[1]), written


def test_two_hundred_pairs_of_edits_of_different_lines_are_all_kept() -> None:
    lost = []
    for number in range(PAIRS):
        base, local, upstream, written = _generated(number)
        merged = merge_text(base, local, upstream)
        missing = [line for line in written if line not in merged.text]
        if missing or merged.conflicts:
            lost.append((number, missing, merged.conflicts))

    assert lost == []


def test_two_hundred_pairs_of_edits_of_the_same_lines_lose_no_line() -> None:
    for number in range(PAIRS):
        chance = random.Random(number)  # noqa: S311 - the same pairs every time
        lines = PAGE.splitlines(keepends=True)
        local, upstream = list(lines), list(lines)
        start = chance.randrange(6, len(lines) - 4)
        for at in range(start, start + chance.randint(1, 4)):
            local[at], upstream[at] = f"ours {at}\n", f"theirs {at}\n"

        merged = merge_text(PAGE, "".join(local), "".join(upstream))

        assert merged.conflicts, number
        kept = set(merged.text.splitlines(keepends=True))
        assert {line for line in (*local, *upstream) if line.strip()} <= kept, number


texts = st.lists(st.sampled_from(["a\n", "b\n", "## c\n", "\n", "d\n", "- e\n"]), max_size=9)


@given(texts, texts, texts)
def test_no_line_that_a_side_wrote_is_ever_lost(
    base: list[str], local: list[str], upstream: list[str]
) -> None:
    merged = merge_text(*("".join(one) for one in (base, local, upstream)))

    kept = set(merged.text.splitlines(keepends=True))
    assert {line for line in (*local, *upstream) if line not in base} <= kept


@given(texts, texts)
def test_one_side_alone_is_what_it_wrote(base: list[str], side: list[str]) -> None:
    one, other = "".join(base), "".join(side)

    assert merge_text(one, other, one).text == other
    assert merge_text(one, one, other).text == other
    assert merge_text(one, other, other).text == other


@each_row(
    ("ours", "theirs"),
    [
        (("One line each.", "Two lines each."), ("Read them aloud.", "Read them twice.")),
        (("license: MIT", "license: Apache-2.0"), ("Use for notes.", "Use for all notes.")),
        (("- Leave out merges.", "- Keep merges."), ("- Group by part.", "- Group by person.")),
        (("# not a heading", "# a comment"), ("git log --oneline", "git log")),
        (("Read them aloud.\n", "Read them aloud.\n\n## More\n\nx\n"),
         ("Read them aloud.\n", "Read them aloud.\n\n## Else\n\ny\n")),
    ],
)  # fmt: skip
def test_edits_that_touch_are_both_kept_without_a_conflict(
    ours: tuple[str, str], theirs: tuple[str, str]
) -> None:
    merged = merge_text(PAGE, PAGE.replace(*ours), PAGE.replace(*theirs))

    assert merged.conflicts == ()
    assert ours[1].strip() in merged.text
    assert theirs[1].splitlines()[-1] in merged.text


def test_an_edit_follows_its_section_to_another_place() -> None:
    write = "## Write\n\nOne line each.\n\n"
    moved = PAGE.replace(write, "").replace("## Collect", f"{write}## Collect")
    edited = PAGE.replace("One line each.", "Two lines each.").replace("## Write", "## Write")

    merged = merge_text(PAGE, edited, moved)

    assert merged.conflicts == ()
    assert merged.text == moved.replace("One line each.", "Two lines each.")


def test_a_conflict_is_settled_for_the_side_that_is_chosen() -> None:
    ours, theirs = PAGE.replace("One line", "Two lines"), PAGE.replace("One line", "Three lines")

    assert merge_text(PAGE, ours, theirs, keep="local").text == ours
    assert merge_text(PAGE, ours, theirs, keep="upstream").text == theirs


def test_files_that_one_side_removed_or_that_are_no_text_are_never_lost() -> None:
    base = {"gone": b"a", "edited": b"a", "image": b"\0a", "same": b"s", "dropped": b"d"}
    local = {"edited": b"mine", "image": b"\0b", "same": b"s", "own": b"o", "dropped": b"mine"}
    upstream = {"gone": b"new", "edited": b"a", "image": b"\0c", "same": b"t", "more": b"m"}

    merged = merge_files(base, local, upstream)

    assert merged.files == {
        "gone": b"new", "edited": b"mine", "image": b"\0b", "image.upstream": b"\0c",
        "same": b"t", "own": b"o", "more": b"m", "dropped": b"mine",
    }  # fmt: skip
    assert [one.path for one in merged.conflicts] == ["dropped", "gone", "image"]


def test_a_last_line_without_an_end_is_no_part_of_the_next() -> None:
    merged = merge_text("a\nb", "a\nb\nours", "theirs\na\nb")

    assert merged.text == "theirs\na\nb\nours"
