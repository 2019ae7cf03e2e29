"""Entries of other servers: what is taken, and what of them is refused."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.mcp.client import RemoteSkill, described, from_base64, from_text, verified
from prowess.mcp.protocol import MOST_BYTES, MOST_FILES, FileFacts, RemoteSkillError, digest

ROOT = "skill://far/ships/"
FIELDS = {"name": "ships", "description": "Names ships."}
PAGE = b"---\nname: ships\ndescription: Names ships.\n---\n\nLook.\n"


def _file(path: str, content: bytes = b"x", size: int | None = None) -> FileFacts:
    given_size = len(content) if size is None else size
    return FileFacts(uri=ROOT + path, digest=digest(content), size=given_size)


def _skill(*files: FileFacts, **fields: Any) -> RemoteSkill:  # noqa: ANN401 - any frontmatter
    return described("far", f"{ROOT}SKILL.md", {**FIELDS, **fields}, files)


@each_row(
    "files",
    [
        [],
        [_file("other.md")],
        [_file("SKILL.md"), _file("SKILL.md")],
        [_file("SKILL.md"), _file("a.md"), _file("A.md")],
        [_file("SKILL.md"), _file("../x.md")],
        [_file("SKILL.md"), _file("%2e%2e/x.md")],
        [_file("SKILL.md"), _file("a//b.md")],
        [_file("SKILL.md"), _file("a%00b.md")],
        [_file("SKILL.md"), FileFacts(uri="skill://near/x.md", digest=digest(b""), size=0)],
        [_file("SKILL.md"), _file("x", size=MOST_BYTES)],
        [_file("SKILL.md"), *(_file(f"{number}.md") for number in range(MOST_FILES))],
    ],
)
def test_a_list_of_files_that_is_wrong_is_refused(files: list[FileFacts]) -> None:
    with pytest.raises(RemoteSkillError):
        _skill(*files)


@pytest.mark.parametrize(
    "fields", [{"name": 7}, {"name": "boats"}, {"description": ""}, {"description": None}]
)
def test_frontmatter_that_does_not_say_who_it_is_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(RemoteSkillError):
        _skill(_file("SKILL.md", PAGE), **fields)


def test_files_that_are_not_fixed_cannot_be_checked() -> None:
    with pytest.raises(RemoteSkillError, match="not fixed"):
        described("far", f"{ROOT}SKILL.md", FIELDS, "dynamic")


@given(st.binary(max_size=200))
def test_no_other_content_passes_for_a_file(content: bytes) -> None:
    skill = _skill(_file("SKILL.md", PAGE), _file("a.bin", b"abc"))

    if content == b"abc":
        assert verified(skill, "a.bin", content) == content
    else:
        with pytest.raises(RemoteSkillError):
            verified(skill, "a.bin", content)


def test_the_approved_hash_changes_with_every_part_of_a_skill() -> None:
    page = _file("SKILL.md", PAGE)
    skills = [
        _skill(page),
        _skill(page, license="MIT"),
        _skill(page, _file("a.md", b"1")),
        _skill(page, _file("a.md", b"2")),
        _skill(page, _file("b.md", b"1")),
    ]

    assert len({skill.content_hash for skill in skills}) == len(skills)


def test_the_order_of_a_manifest_does_not_matter_to_an_approval() -> None:
    page, more = _file("SKILL.md", PAGE), _file("a.md")

    assert _skill(page, more).content_hash == _skill(more, page).content_hash


@pytest.mark.parametrize("blob", ["%%%", "abc", "é"])
def test_what_is_no_base64_is_refused(blob: str) -> None:
    with pytest.raises(RemoteSkillError):
        from_base64("skill://x", blob)


def test_half_a_letter_is_no_text() -> None:
    with pytest.raises(RemoteSkillError):
        from_text("skill://x", "\ud800")
