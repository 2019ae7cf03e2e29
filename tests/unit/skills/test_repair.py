import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.skills.frontmatter import Frontmatter, decode, read
from prowess.skills.model import Document, Fields, Source, Tier
from prowess.skills.validation import Repair, plan

FOLDERS = st.sampled_from(("deploy", "De Ploy", "été", "--", "true", "123", "a" * 70))
LINES = st.sampled_from(
    (
        "name: deploy", "name: De Ploy", "name:", "name: ship: it", "name: 'quoted: name'",
        "name: 007", "name: x # said twice", "Name: Upper", "NAME: Loud", "title: a: b",
        "name: >-\n  Ship\n  it", "name: Ship\n  it", '"name": Ship', "? name", "name:\n- a",
        "  name: Ship", "{name: Ship, license: MIT}", "summary: |\n  one\n\n\n  two",
        "description: Use when: asked", "description: @me", "description: [a", "summary: {",
        "description: Use when: asked\n  to ship it", "summary: one\n  rest: of it", "license: MIT",
        "tags: [a, b]", "metadata:\n  a: {b: c}", "metadata: {openclaw:{always:true}}", "bad: [",
        "description: |\n  two\n  lines", "# a comment", "", "- a",
    )
)  # fmt: skip


def document(text: str | bytes, folder: str = "deploy", file: str = "SKILL.md") -> Document:
    return Document(
        source=Source(tier=Tier.WORKSPACE, root="/skills"),
        path=f"/skills/{folder}/{file}",
        folder=f"/skills/{folder}",
        content=text if isinstance(text, bytes) else text.encode(),
        is_skill_file=file == "SKILL.md",
    )


def front(*lines: str, body: str = "Steps.\n") -> str:
    return "\n".join(("---", *lines, "---", body))


def without_name(found: Frontmatter) -> Fields:
    return {key: value for key, value in found.fields.items() if key.lower() != "name"}


def planned(found: Document) -> Repair:
    repair = plan(found)
    assert repair is not None
    return repair


@each_row("content", [b"Steps.\n", b"", b"----\na: 1\n", b"---\n\0", b"---\n\xff\n---"])
def test_what_is_no_text_or_has_no_frontmatter_is_left_alone(content: bytes) -> None:
    assert plan(document(content)) is None


@pytest.mark.parametrize(
    "text",
    [
        front("name: deploy", "description: Ships it."),
        front("name: 'deploy'", "description: 'Use when: asked'"),
        front("name: deploy", "description: Ships it.").replace("\n", "\r\n"),
        "\ufeff" + front("name: deploy", "description: Ships it."),
    ],
)
def test_a_good_file_needs_nothing(text: str) -> None:
    repair = planned(document(text))

    assert not repair.needed
    assert (repair.after, repair.folder, repair.notes) == (text, None, ())


def test_prose_that_yaml_misreads_is_quoted() -> None:
    text = front("name: deploy", "description: Use when: asked", "license: MIT", body="a: b: c\n")

    repair = planned(document(text))

    assert repair.needed
    assert repair.after == text.replace("Use when: asked", '"Use when: asked"')
    assert repair.notes == ("quoted: description",)


def test_continuation_lines_become_one_quoted_line() -> None:
    repair = planned(document(front("name: deploy", "description: Use when: asked", "  to ship")))

    assert repair.after == front("name: deploy", 'description: "Use when: asked to ship"')


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_and_byte_order_mark_stay(mark: str) -> None:
    text = mark + front("name: Ship It", "description: Use when: asked").replace("\n", "\r\n")

    repair = planned(document(text))

    expected = front("name: deploy", 'description: "Use when: asked"').replace("\n", "\r\n")
    assert repair.after == mark + expected


def test_what_no_quoting_mends_stays_as_it_is() -> None:
    text = front("name: Ship", "bad: [")

    assert planned(document(text)) == Repair(before=text, after=text)


@each_row(
    "lines",
    [
        ("name: >-", "  Ship It", "description: x"),
        ('"name": Ship', "description: x"),
        ("  name: Ship", "  description: x"),
        ("{name: Ship, description: x}",),
        ("Name: Ship", "name: deploy", "description: x"),
    ],
)
def test_a_name_that_cannot_be_changed_in_its_line_is_left_to_its_author(
    lines: tuple[str, ...],
) -> None:
    assert not planned(document(front(*lines))).needed


def test_blank_lines_elsewhere_in_the_block_stay() -> None:
    lines = ("name: deploy", "summary: |", "  one", "", "  two", "", "description: Use: it", "")

    repair = planned(document(front(*lines)))

    assert repair.after == front(*lines[:6], 'description: "Use: it"', "")


def test_an_unterminated_block_stays_as_it_is() -> None:
    text = "---\nname: Ship\ndescription: a: b\n"

    assert not planned(document(text)).needed


@pytest.mark.parametrize("written", ["name: Ship It", "Name: other", "name:", "name: x # why"])
def test_a_wrong_name_becomes_that_of_the_folder(written: str) -> None:
    repair = planned(document(front("license: MIT", written, "description: x", body="name: y\n")))

    assert repair.after == front("license: MIT", "name: deploy", "description: x", body="name: y\n")
    assert repair.folder is None
    assert repair.notes[0].endswith("-> deploy")


def test_a_missing_name_is_written_first() -> None:
    repair = planned(document(front("description: x", body="name: y\n")))

    assert repair.after == front("name: deploy", "description: x", body="name: y\n")
    assert repair.notes == ("name: none -> deploy",)


@pytest.mark.parametrize(
    ("folder", "written"), [("true", '"true"'), ("123", '"123"'), ("été", '"été"'), ("a-1", "a-1")]
)
def test_a_name_that_yaml_would_not_read_as_text_is_quoted(folder: str, written: str) -> None:
    repair = planned(document(front("name: X", "description: x"), folder))

    assert repair.after == front(f"name: {written}", "description: x")
    assert read(repair.after).fields["name"] == folder


@each_row(
    ("folder", "name", "renamed"),
    [
        ("Deploy App", "deploy-app", "deploy-app"),
        ("Deploy App", "Ship It", "ship-it"),
        ("Deploy_App", "''", "deploy-app"),
        ("Deploy_App", "'!!'", "deploy-app"),
        ("Deploy App", "x" * 70, "x" * 64),
    ],
)
def test_a_wrong_folder_takes_the_name_of_the_skill(folder: str, name: str, renamed: str) -> None:
    repair = planned(document(front(f"name: {name}", "description: x"), folder))

    assert repair.folder == renamed
    assert read(repair.after).fields["name"] == renamed
    assert repair.notes[-1] == f"folder: {folder} -> {renamed}"


def test_a_folder_from_which_no_name_can_be_made_stays() -> None:
    text = front("name: '?'", "description: x")

    repair = planned(document(text, "!!"))

    assert (repair.after, repair.folder) == (text, None)


@each_row(
    ("text", "folder", "written"),
    [
        (
            front("name: Ship It", "description: Use when: asked"),
            "my-notes",
            front("name: my-notes", 'description: "Use when: asked"'),
        ),
        (front("name: ship", "description: x"), "ship", front("name: ship", "description: x")),
        (
            "# Title\n\nFirst: line.\n",
            "my-notes",
            '---\nname: my-notes\ndescription: "First: line."\n---\n# Title\n\nFirst: line.\n',
        ),
        (
            front("license: MIT"),
            "my-notes",
            front("name: my-notes", 'description: "Steps."', "license: MIT"),
        ),
    ],
)
def test_a_stand_alone_text_becomes_a_folder_with_a_skill_file(
    text: str, folder: str, written: str
) -> None:
    repair = planned(document(text, "Any Where", "My Notes.md"))

    assert (repair.own_folder, repair.after) == (folder, written)


@each_row("text", ["", "# Only a heading\n"])
def test_a_text_that_says_nothing_is_not_moved(text: str) -> None:
    assert plan(document(text, "Any Where", "notes.md")) is None


def test_a_text_that_links_to_files_beside_it_stays_with_them() -> None:
    repair = planned(document("See [more](more.md).\n", "Any Where", "notes.md"))

    assert (repair.own_folder, repair.obstacle) == ("", "links to more.md beside it")


@settings(max_examples=120, deadline=None)
@given(
    st.lists(LINES, max_size=6),
    FOLDERS,
    st.sampled_from(("SKILL.md", "notes.md")),
    st.sampled_from(("\n", "\r\n", "\r")),
)
def test_a_repair_needs_no_second_one_and_never_spoils_a_file(
    lines: list[str], folder: str, file: str, newline: str
) -> None:
    before = document(front(*lines).replace("\n", newline), folder, file)

    repair = planned(before)

    moved = bool(repair.own_folder)
    place = repair.own_folder or repair.folder or folder
    after = document(repair.after, place, "SKILL.md" if moved else file)
    old, new = read(decode(before.content).text), read(decode(after.content).text)
    assert not planned(after).needed
    assert new.readable or not old.readable
    assert new.body == old.body
    # A text that moves says what was derived of it before.
    assert without_name(new).items() >= without_name(old).items()
    assert moved or without_name(new) == without_name(old)
