import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.skills.frontmatter import FieldReader, read
from prowess.skills.parse import check, find_missing, is_name, make_slug


def found(*lines: str, path: str = "/skills/deploy/SKILL.md") -> list[tuple[str, int | None]]:
    front = read("\n".join(("---", *lines, "---", "Steps.")))
    problems = check(front, path, is_skill_file=path.lower().endswith("skill.md"))
    return [(problem.code, problem.line) for problem in problems]


@each_row("name", ["a", "deploy", "deploy-app-2", "2fa", "a" * 64, "日本語", "été"])
def test_a_name_is_lower_case_letters_digits_and_single_inner_hyphens(name: str) -> None:
    assert is_name(name)


@each_row(
    "name", ["", "Deploy", "-a", "a-", "a--b", "a_b", "a b", "a.b", "a" * 65, "a" * 300, "a/b", "É"]
)
def test_anything_else_is_no_name(name: str) -> None:
    assert not is_name(name)


@each_row(
    ("text", "name"),
    [
        ("Deploy App", "deploy-app"),
        ("  a__b..c ", "a-b-c"),
        ("--a--", "a"),
        ("fine-already", "fine-already"),
        ("!?", ""),
    ],
)
def test_a_slug_is_the_nearest_name(text: str, name: str) -> None:
    assert make_slug(text) == name


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=64))
def test_a_slug_is_a_name_or_nothing_and_its_own_slug(text: str) -> None:
    name = make_slug(text)

    assert name == "" or is_name(name) or len(name) > 64
    assert make_slug(name) == name


def test_a_file_that_keeps_to_the_standard_has_no_problem() -> None:
    assert (
        found(
            "name: deploy",
            "description: Ships it.",
            "license: MIT",
            "compatibility: Needs git.",
            "allowed-tools: Read Bash(git:*)",
            "metadata: {author: me, version: 1.0}",
        )
        == []
    )


def test_the_file_may_be_called_in_any_case() -> None:
    assert found("name: deploy", "description: x", path="/skills/deploy/skill.md") == []


@pytest.mark.parametrize("path", ["/skills/été/SKILL.md", "C:\\skills\\été\\SKILL.md"])
def test_a_folder_may_have_a_name_of_any_script(path: str) -> None:
    assert found("name: été", "description: x", path=path) == []


def test_the_same_letters_composed_differently_are_the_same_name() -> None:
    assert found("name: été", "description: x", path="/skills/e\u0301te\u0301/SKILL.md") == []


@each_row(
    ("folder", "name", "codes"),
    [
        ("deploy", "Deploy", ["NAME_INVALID"]),
        ("deploy", "other", ["NAME_PATH_MISMATCH"]),
        ("deploy_app", "deploy_app", ["SKILL_DIR_INVALID", "NAME_INVALID", "NAME_PATH_MISMATCH"]),
        ("deploy_app", "deploy-app", ["SKILL_DIR_INVALID", "NAME_PATH_MISMATCH"]),
        ("a--b", "a--b", ["NAME_INVALID", "NAME_PATH_MISMATCH"]),
        ("a" * 65, "a" * 65, ["SKILL_DIR_INVALID", "NAME_INVALID"]),
        ("Été", "été", ["SKILL_DIR_INVALID", "NAME_PATH_MISMATCH"]),
    ],
)
def test_name_and_folder_are_held_to_the_rule_and_to_each_other(
    folder: str, name: str, codes: list[str]
) -> None:
    problems = found(f"name: {name}", "description: x", path=f"/skills/{folder}/SKILL.md")

    assert [code for code, _ in problems] == codes


def test_a_file_without_a_folder_has_none_that_fits() -> None:
    assert found("name: deploy", "description: x", path="SKILL.md") == [
        ("SKILL_DIR_INVALID", None),
        ("NAME_PATH_MISMATCH", 2),
    ]


def test_a_stand_alone_text_is_no_skill_file_and_its_folder_does_not_matter() -> None:
    assert found("name: deploy", "description: x", path="/Any Where/notes.md") == [
        ("SKILL_FILENAME_INVALID", None)
    ]


def test_a_file_without_frontmatter_says_so_once() -> None:
    problems = check(read("# Deploy\n"), "/skills/deploy/SKILL.md", is_skill_file=True)

    assert [(problem.code, problem.line) for problem in problems] == [("FRONTMATTER_MISSING", 1)]


def test_name_and_description_are_required() -> None:
    neither = [("NAME_MISSING", 1), ("DESCRIPTION_MISSING", 1)]
    blank = [("NAME_MISSING", 2), ("DESCRIPTION_MISSING", 3)]

    assert found("license: MIT") == neither
    assert found("name: ''", "description:") == blank


def test_what_is_required_can_be_asked_for_alone() -> None:
    reader = FieldReader(read("---\nname: deploy\n---\n"))

    assert [problem.code for problem in find_missing(reader)] == ["DESCRIPTION_MISSING"]


def test_the_description_has_a_limit() -> None:
    assert found("name: deploy", f"description: {'x' * 1024}") == []
    assert found("name: deploy", f"description: {'x' * 1025}") == [("DESCRIPTION_TOO_LONG", 3)]


@pytest.mark.parametrize("text", ["x", "x" * 500])
def test_a_compatibility_note_is_short(text: str) -> None:
    assert found("name: deploy", "description: x", f"compatibility: {text}") == []


@each_row(
    ("line", "code"),
    [
        ("compatibility: ''", "COMPATIBILITY_INVALID"),
        (f"compatibility: {'x' * 501}", "COMPATIBILITY_INVALID"),
        ("compatibility: [git]", "COMPATIBILITY_INVALID"),
        ("metadata: words", "METADATA_NOT_FLAT"),
        ("metadata: {tags: [a]}", "METADATA_NOT_FLAT"),
        ("metadata: {openclaw: {always: true}}", "METADATA_NOT_FLAT"),
        ("allowed-tools: [Read]", "ALLOWED_TOOLS_INVALID"),
        ("tags: [a]", "UNKNOWN_KEY"),
        ("Name: deploy", "UNKNOWN_KEY"),
    ],
)
def test_every_other_key_is_held_to_its_shape(line: str, code: str) -> None:
    assert found("name: deploy", "description: x", line) == [(code, 4)]
