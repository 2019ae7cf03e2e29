"""A strict build: it passes the whole standard whatever it is made of, and loses nothing."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.settings import SpecMode
from prowess.skills import frontmatter
from prowess.skills.harness.portable import Portable, build, flat_text, portable_name
from prowess.skills.model import Document, Skill, Source, Tier
from prowess.skills.parse import is_name, parse
from prowess.skills.validation import validate

SOURCE = Source(tier=Tier.WORKSPACE, root="/work/skills")
SCALARS = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=30)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)
KEYS = st.sampled_from(
    [
        "license", "compatibility", "metadata", "allowed-tools", "allowedTools", "version", "tags",
        "when_to_use", "hooks", "arguments", "user-invocable", "disable-model-invocation", "paths",
    ]
) | st.text(min_size=1, max_size=12)  # fmt: skip


def _parsed(content: bytes, folder: str = "deploy") -> Skill | None:
    path = f"/work/skills/{folder}"
    document = Document(source=SOURCE, path=f"{path}/SKILL.md", folder=path, content=content)
    return parse(document, SpecMode.MIXED).skill


def _built(text: str, folder: str = "deploy") -> Portable:
    skill = _parsed(text.encode(), folder)
    assert skill is not None
    made = build(skill, text.encode(), SpecMode.MIXED)
    assert isinstance(made, Portable), made
    return made


def _skill(*lines: str, body: str = "Do it.") -> str:
    named = ("name: deploy", "description: Ships the app. Use when asked to.")
    return "\n".join(("---", *named, *lines, "---", "", body, ""))


def _fields(made: Portable) -> dict[str, Any]:
    return frontmatter.read(made.text).fields


def _is_strict(made: Portable) -> bool:
    document = Document(
        source=SOURCE,
        path=f"/x/{made.name}/SKILL.md",
        folder=f"/x/{made.name}",
        content=made.text.encode(),
    )
    return validate(document, strict=True).valid


@given(st.dictionaries(KEYS, VALUES, max_size=6), st.text(min_size=1, max_size=30))
@settings(max_examples=50)
def test_whatever_a_skill_says_its_build_passes_the_whole_standard(
    fields: dict[str, Any], name: str
) -> None:
    given_fields = {**fields, "name": name, "description": "Does it. Use when asked."}
    text = f"---\n{json.dumps(given_fields)}\n---\nDo it.\n".encode()
    skill = _parsed(text)
    if skill is None:
        return

    made = build(skill, text, SpecMode.MIXED)

    assert isinstance(made, str) or _is_strict(made)


def test_a_build_of_a_build_is_the_same() -> None:
    once = _built(_skill("version: 1.10", "tags: [a, b]", "hooks: {Stop: [x]}"))
    again = _built(once.text, once.name)

    assert again.text == once.text
    assert again.changes == ()


def test_keys_of_other_dialects_stand_under_metadata_as_text() -> None:
    made = _built(
        _skill(
            "version: 1.10", "tags: [ops, release]", "hooks: {Stop: [{matcher: x}]}", "effort: max"
        )
    )

    assert _fields(made)["metadata"] == {
        "version": "1.10",
        "tags": "ops, release",
        "hooks": '{"Stop":[{"matcher":"x"}]}',
        "effort": "max",
    }
    assert set(made.moved) == {"version", "tags", "hooks", "effort"}


def test_what_metadata_says_already_is_not_overwritten() -> None:
    made = _built(_skill("version: 2", "metadata: {version: '1', author: me}"))

    metadata = _fields(made)["metadata"]
    assert metadata == {"version": "1", "author": "me", "prowess-version": "2"}


def test_a_key_in_two_spellings_is_kept_in_both() -> None:
    made = _built(_skill("allowed-tools: Read", "allowed_tools: Write", "a-b: 1", "aB: 2", "ab: 3"))

    fields = _fields(made)
    assert fields["allowed-tools"] == "Read"
    assert fields["metadata"] == {
        "allowed_tools": "Write",
        "a-b": "1",
        "prowess-aB": "2",
        "prowess-prowess-ab": "3",
    }
    assert _is_strict(made)


def test_a_nested_block_is_text_that_we_still_understand() -> None:
    made = _built(
        _skill('metadata: {"openclaw": {"requires": {"bins": ["gh"], "env": ["TOKEN"]}}}')
    )

    again = _parsed(made.text.encode())

    assert made.nested == ("openclaw",)
    assert again is not None
    assert (again.metadata.requires.bins, again.metadata.requires.env) == (("gh",), ("TOKEN",))
    assert _fields(made)["compatibility"].startswith("Needs the programs gh; ")


def test_an_authors_own_compatibility_is_kept() -> None:
    made = _built(
        _skill(
            "compatibility: Needs git.", 'metadata: {"openclaw": {"requires": {"bins": ["gh"]}}}'
        )
    )

    assert _fields(made)["compatibility"] == "Needs git."


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("[Read, 'Bash(git add:*)']", "Read Bash(git add:*)"),
        ("Read, Bash(git add:*), Grep", "Read Bash(git add:*) Grep"),
        ("Read Grep", "Read Grep"),
        ("'Bash(a, b) Read('", "Bash(a, b) Read("),
    ],
)
def test_tools_are_one_text_separated_by_blanks(written: str, expected: str) -> None:
    assert _fields(_built(_skill(f"allowed-tools: {written}")))["allowed-tools"] == expected


def test_when_to_use_joins_the_description_where_it_fits() -> None:
    made = _built("---\nname: deploy\ndescription: Ships\nwhen_to_use: When asked.\n---\nDo.\n")
    long = _built(_skill(f"when_to_use: {'x' * 1_020}"))

    assert _fields(made)["description"] == "Ships. When asked."
    assert _fields(long)["description"] == "Ships the app. Use when asked to."
    assert _fields(long)["metadata"] == {"when_to_use": "x" * 1_020}
    assert "when_to_use" in long.moved


def test_a_description_that_is_too_long_is_cut_and_said() -> None:
    made = _built(f"---\nname: deploy\ndescription: {'word ' * 400}\n---\nDo.\n")

    assert len(_fields(made)["description"]) <= 1_024
    assert [change.subject for change in made.changes] == ["description"]


def test_the_body_stays_as_it_was_written() -> None:
    body = "# Title\n\n  $ARGUMENTS  \n\n```bash\necho é\n```"
    text = _skill("version: 1", body=body).replace("\n", "\r\n")

    made = _built(f"\ufeff{text}")

    assert made.text.endswith(f"---\n\n{body}\n")
    assert "\r" not in made.text
    assert not made.text.startswith("\ufeff")


@each_row(
    ("name", "fallback", "expected"),
    [
        ("Deploy It!", "x", "deploy-it"),
        ("--a__b--", "x", "a-b"),
        ("???", "My Folder", "my-folder"),
        ("Übung", "x", "übung"),
        ("a" * 80, "x", "a" * 64),
        ("!!!", "***", ""),
    ],
)
def test_a_name_becomes_one_that_the_standard_allows(
    name: str, fallback: str, expected: str
) -> None:
    assert portable_name(name, fallback) == expected


@given(st.text(max_size=300), st.text(max_size=20))
@settings(max_examples=50)
def test_a_portable_name_is_a_name_or_nothing(name: str, fallback: str) -> None:
    made = portable_name(name, fallback)

    assert made == "" or is_name(made)


def test_words_that_yaml_misreads_are_quoted() -> None:
    made = _built("---\nname: 'on'\ndescription: 'yes: it is'\nmodel: null-ish\n---\nDo.\n", "on")

    fields = _fields(made)
    assert 'name: "on"' in made.text
    assert (fields["name"], fields["description"]) == ("on", "yes: it is")


def test_names_that_are_reserved_for_mcp_are_left_out() -> None:
    made = _built(_skill("metadata: {'io.modelcontextprotocol/x': '1', author: me}"))

    assert _fields(made)["metadata"] == {"author": "me"}
    assert any("reserved" in change.detail for change in made.changes)


def test_metadata_that_cannot_be_read_is_not_exported_without_its_gate() -> None:
    text = _skill("metadata: {openclaw: 12}").encode()
    skill = _parsed(text)

    assert skill is not None
    assert "metadata cannot be read" in str(build(skill, text, SpecMode.MIXED))


@each_row(
    ("value", "expected"),
    [
        (["a", "b"], "a, b"),
        (["a,b", "c"], '["a,b","c"]'),
        ([{"a": 1}], '[{"a":1}]'),
        ({"a": [1, True]}, '{"a":[1,true]}'),
        (True, "true"),
        (None, ""),
        (" two\nlines ", "two lines"),
    ],
)
def test_a_value_of_metadata_is_one_text(value: Any, expected: str) -> None:  # noqa: ANN401 - JSON
    assert flat_text(value) == expected
