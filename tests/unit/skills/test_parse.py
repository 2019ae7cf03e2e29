import hashlib
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.settings import SpecMode
from prowess.skills.model import (
    Dialect,
    Document,
    Invocation,
    Parsed,
    Requirements,
    RootKind,
    Skill,
    Source,
    Tier,
)
from prowess.skills.parse import parse
from prowess.skills.validation import validate

PIECES = st.sampled_from(
    (
        "---\n", "---", "name: deploy\n", "name: De Ploy\n", "name:\n", "name: [a]\n",
        "description: Ships it.\n", "description: Use: it\n", "description: |\n", "  more\n",
        "metadata: {openclaw: {requires: {bins: [git]}}}\n", "metadata: {a:1}\n", "metadata: [\n",
        "globs: *.py\n", "- a\n", "# Title\n", "Body.\n", "\n", "\r", "\ufeff", "\0", "\x1b", "\t",
        "a: &x 1\n", "b: *x\n", "!t ", "? ", "{", "}", "'", '"', "\u2028", "platforms: 5\n",
    )
)  # fmt: skip
HIDDEN = Invocation(model=False, hidden_by="disable-model-invocation")
CONTENTS = (
    st.binary(max_size=60)
    | st.lists(PIECES, max_size=12).map("".join).map(str.encode)
    | st.lists(PIECES, max_size=8).map(lambda parts: f"---\n{''.join(parts)}\n---\nx".encode())
)


def document(
    text: str | bytes,
    path: str = "/work/skills/deploy/SKILL.md",
    *,
    kind: RootKind = RootKind.SKILLS,
    sidecar: bytes | None = None,
) -> Document:
    return Document(
        source=Source(tier=Tier.WORKSPACE, root="/work/skills", kind=kind),
        path=path,
        folder=path.rpartition("/")[0],
        content=text if isinstance(text, bytes) else text.encode(),
        is_skill_file=path.endswith("SKILL.md"),
        resources=("scripts/run.sh",),
        sidecar=sidecar,
    )


def front(*lines: str, body: str = "Steps.") -> str:
    return "\n".join(("---", *lines, "---", body))


def described(*lines: str) -> str:
    return front("name: deploy", "description: Ships it.", *lines)


def read(found: Document, mode: SpecMode = SpecMode.MIXED) -> Skill:
    skill = parse(found, mode).skill
    assert skill is not None
    return skill


def codes(parsed: Parsed) -> list[str]:
    return [problem.code for problem in parsed.diagnostics]


def test_a_skill_holds_who_it_is_and_where_it_came_from() -> None:
    found = document(front("name: deploy", "description: Ships it.", "license: MIT", body="Do.\n"))

    skill = read(found)

    assert (skill.name, skill.description, skill.id) == ("deploy", "Ships it.", "deploy")
    assert (skill.source, skill.path, skill.folder) == (found.source, found.path, found.folder)
    assert (skill.body, skill.body_line) == ("Do.\n", 6)
    assert skill.fields == {"name": "deploy", "description": "Ships it.", "license": "MIT"}
    assert skill.content_hash == hashlib.sha256(found.content).hexdigest()
    assert skill.resources == ("scripts/run.sh",)
    assert skill.diagnostics == ()


def test_the_dialect_keys_of_other_harnesses_are_read() -> None:
    skill = read(
        document(
            described(
                "when_to_use: When asked.",
                "paths: src/*.py, docs/*.md",
                "tags: [ship, release]",
                "argument-hint: '[env]'",
            )
        )
    )

    assert skill.when_to_use == "When asked."
    assert skill.globs == ("src/*.py", "docs/*.md")
    assert skill.tags == ("ship", "release")
    assert skill.invocation == Invocation(argument_hint="[env]")


def test_tags_of_hermes_stand_over_the_others() -> None:
    skill = read(document(described("metadata: {hermes: {tags: [a, 2]}}", "tags: [b]")))

    assert skill.tags == ("a", "2")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/work/skills/deploy/SKILL.md", "deploy"),
        ("C:\\skills\\deploy/SKILL.md", "deploy"),
        ("/work/skills/notes.v2.md", "notes.v2"),
        ("/work\\skills\\notes.md", "notes"),
    ],
)
def test_the_id_is_the_name_of_the_folder_or_file(path: str, expected: str) -> None:
    assert read(document(front("description: Ships it."), path)).id == expected


def test_the_name_falls_back_to_the_folder_and_its_blanks_are_collapsed() -> None:
    unnamed = document(front("description: Ships it."))
    spread = document(front('name: "ship \\n  it"', "description: Ships it."))

    assert read(unnamed).name == "deploy"
    assert read(spread).name == "ship it"


@each_row(
    ("text", "code", "line"),
    [
        ("Just text.", "FRONTMATTER_MISSING", 1),
        (front("name: deploy"), "DESCRIPTION_MISSING", 1),
        (front("description: '  '"), "DESCRIPTION_MISSING", 1),
        (front("name: a", "name: b"), "DUPLICATE_KEY", 3),
        (b"\n\xff", "INVALID_UTF8", 2),
    ],
)
def test_a_skill_file_that_says_too_little_is_rejected_with_the_reason(
    text: str | bytes, code: str, line: int
) -> None:
    found = document(text)

    parsed = parse(found, SpecMode.MIXED)

    assert parsed.skill is None
    assert [(problem.code, problem.path, problem.line) for problem in parsed.diagnostics] == [
        (code, found.path, line)
    ]


def test_what_was_rescued_stands_beside_the_reason_for_a_rejection() -> None:
    parsed = parse(document(front("name: a: b")), SpecMode.MIXED)

    assert codes(parsed) == ["COLON_RESCUED", "DESCRIPTION_MISSING"]


@pytest.mark.parametrize("mode", [SpecMode.MIXED, SpecMode.LEGACY])
def test_a_stand_alone_text_derives_its_name_and_description(mode: SpecMode) -> None:
    text = "\n## Not this one\n#\n# Ship it\n\n  - First step.  \nSecond.\n"

    skill = read(document(text, "/work/skills/notes.md"), mode)

    assert (skill.id, skill.name, skill.description) == ("notes", "Ship it", "- First step.")
    assert skill.dialect is Dialect.LEGACY


def test_what_the_frontmatter_says_stands_over_what_could_be_derived() -> None:
    text = front("name: said", "description: Said.", body="# Heading\nLine.")

    skill = read(document(text, "/work/skills/notes.md"))

    assert (skill.name, skill.description) == ("said", "Said.")


def test_an_empty_text_is_still_a_skill_to_the_lenient_reading() -> None:
    skill = read(document(""), SpecMode.LEGACY)

    assert (skill.name, skill.description) == ("deploy", "(no description)")


def test_a_derived_description_is_cut_and_a_written_one_is_not() -> None:
    long = "word " * 100

    derived = read(document(long, "/work/skills/notes.md"))
    written = read(document(front(f"description: {long}"), "/work/skills/notes.md"))

    assert derived.description == long[:180].rstrip()
    assert written.description == long.strip()


def test_a_stand_alone_text_whose_block_is_broken_is_read_line_by_line_in_mixed_mode() -> None:
    text = front("name: Ship", "description: [broken", body="Steps.")
    loose = document(text, "/skills/ship.md")

    skill = read(loose, SpecMode.MIXED)

    assert (skill.name, skill.description) == ("Ship", "[broken")
    assert [problem.code for problem in skill.diagnostics] == ["LINES_READ"]
    assert validate(loose, strict=False).valid
    assert not validate(loose, strict=True).valid
    assert parse(document(text), SpecMode.MIXED).skill is None


def test_legacy_mode_reads_what_mixed_mode_rejects() -> None:
    broken = document(front("name: Ship", "bad: [", body="Steps."))

    skill = read(broken, SpecMode.LEGACY)

    assert (skill.name, skill.description) == ("Ship", "Steps.")
    assert [problem.code for problem in skill.diagnostics] == ["LINES_READ"]
    assert parse(broken, SpecMode.MIXED).skill is None


def test_strict_mode_takes_what_the_standard_allows() -> None:
    skill = read(document(described("license: MIT")), SpecMode.STRICT)

    assert (skill.name, skill.diagnostics) == ("deploy", ())


@each_row(
    ("text", "path", "code"),
    [
        (front("name: Deploy", "description: x"), "/skills/deploy/SKILL.md", "NAME_INVALID"),
        (front("name: other", "description: x"), "/skills/deploy/SKILL.md", "NAME_PATH_MISMATCH"),
        (front("description: x"), "/skills/deploy/SKILL.md", "NAME_MISSING"),
        (described("tags: [a]"), "/skills/deploy/SKILL.md", "UNKNOWN_KEY"),
        (described(), "/skills/deploy.md", "SKILL_FILENAME_INVALID"),
        (described("metadata: {openclaw: ''}"), "/skills/deploy/SKILL.md", "METADATA_UNREADABLE"),
        ("# Heading", "/skills/deploy/SKILL.md", "FRONTMATTER_MISSING"),
    ],
)
def test_strict_mode_rejects_what_breaks_the_standard(text: str, path: str, code: str) -> None:
    parsed = parse(document(text, path), SpecMode.STRICT)

    assert parsed.skill is None
    assert codes(parsed) == [code]


def test_strict_mode_still_loads_what_only_carries_a_warning() -> None:
    parsed = parse(document(front("name: deploy", "description: Use: it")), SpecMode.STRICT)

    assert parsed.skill is not None
    assert codes(parsed) == ["COLON_RESCUED"]


def test_metadata_that_cannot_be_read_leaves_a_skill_that_is_closed() -> None:
    parsed = parse(document(described("metadata: words")), SpecMode.MIXED)

    assert parsed.skill is not None
    assert not parsed.skill.metadata.readable
    assert codes(parsed) == ["METADATA_UNREADABLE"]
    assert parsed.skill.diagnostics == parsed.diagnostics


@pytest.mark.parametrize(
    "lines",
    [
        ("metadata:", "  openclaw:", "    requires: {bins: [git]}"),
        ("platforms:", "  - macos"),
        ("required_environment_variables:", "  - TOKEN"),
    ],
)
def test_a_requirement_over_several_lines_that_broken_lines_hide_closes_the_skill(
    lines: tuple[str, ...],
) -> None:
    skill = read(document(described(*lines, "bad: [")), SpecMode.LEGACY)

    assert not skill.metadata.readable or skill.metadata.requires


def test_a_name_that_would_push_out_all_others_is_refused() -> None:
    fine, long = front(f"name: {'x' * 128}", "description: y"), front(f"name: {'x' * 129}")

    assert read(document(fine)).name == "x" * 128
    for mode in SpecMode:
        assert "NAME_INVALID" in codes(parse(document(long), mode))


def test_a_derived_name_is_cut_and_names_hold_nothing_unsafe() -> None:
    heading = read(document(f"# {'x' * 200}", "/work/skills/notes.md"))
    hidden = read(document(front('name: "de\\u200bploy\\e[31m"', "description: x")))

    assert heading.name == "x" * 128
    assert hidden.name == "deploy"


def test_a_requirement_on_one_line_survives_the_reading_of_broken_lines() -> None:
    text = described("metadata: {openclaw: {requires: {bins: ['git']}}}", "bad: [")

    assert read(document(text), SpecMode.LEGACY).metadata.requires == Requirements(bins=("git",))


@each_row(
    ("lines", "invocation"),
    [
        ((), Invocation()),
        (("user-invocable: no",), Invocation(user=False)),
        (("disable_model_invocation: true",), HIDDEN),
        (("disable-model-invocation: t",), HIDDEN),
        (("command-dispatch: tool", "command-tool: browser"), Invocation(tool="browser")),
        (("command-dispatch: Tool", "command-tool: browser"), Invocation(tool="browser")),
        (("command-tool: browser",), Invocation()),
        (("command-dispatch: other", "command-tool: browser"), Invocation()),
    ],
)
def test_the_author_says_who_may_call_the_skill(
    lines: tuple[str, ...], invocation: Invocation
) -> None:
    assert read(document(described(*lines))).invocation == invocation


@pytest.mark.parametrize(
    ("lines", "invocation"),
    [
        (("user-invocable: perhaps",), Invocation()),
        (("disable-model-invocation: perhaps",), Invocation()),
        (("disable-model-invocation: no", "disable_model_invocation: no"), HIDDEN),
        (("user-invocable: no", "userInvocable: yes"), Invocation()),
    ],
)
def test_a_switch_that_is_neither_yes_nor_no_is_a_guess_and_said(
    lines: tuple[str, ...], invocation: Invocation
) -> None:
    parsed = parse(document(described(*lines)), SpecMode.MIXED)

    assert parsed.skill is not None
    assert parsed.skill.invocation == invocation
    assert [(problem.code, problem.line) for problem in parsed.diagnostics] == [("FLAG_UNCLEAR", 4)]


@pytest.mark.parametrize(
    ("sidecar", "by_model"),
    [
        (b"", True),
        (b"interface: {display_name: X}", True),
        (b"policy: {allow_implicit_invocation: true}", True),
        (b"policy: {allow_implicit_invocation: false}", False),
        (b"policy:\n  allow_implicit_invocation: 'no'\n", False),
    ],
)
def test_the_sidecar_of_codex_says_whether_the_model_may_choose(
    sidecar: bytes, *, by_model: bool
) -> None:
    skill = read(document(described(), sidecar=sidecar))

    assert skill.invocation.model is by_model
    assert skill.dialect is Dialect.CODEX


@each_row("sidecar", [b"\xff", b"a: [", b"- a", b"policy: words", b"a: 1\na: 2"])
def test_a_sidecar_that_cannot_be_read_keeps_the_skill_from_the_model(sidecar: bytes) -> None:
    parsed = parse(document(described(), sidecar=sidecar), SpecMode.MIXED)

    assert parsed.skill is not None
    assert not parsed.skill.invocation.model
    assert parsed.skill.invocation.hidden_by == "agents/openai.yaml"
    assert codes(parsed) == ["SIDECAR_UNREADABLE"]


def test_a_command_is_called_by_its_file_and_hidden_from_the_model_unless_described() -> None:
    path = "/home/.claude/commands/ship.md"

    bare = read(document("# Ship the app\nSteps.", path, kind=RootKind.COMMANDS))
    told = read(document(front("description: Ships."), path, kind=RootKind.COMMANDS))

    assert (bare.name, bare.description) == ("ship", "Ship the app")
    assert not bare.invocation.model
    assert (told.name, told.description, told.invocation.model) == ("ship", "Ships.", True)
    assert bare.dialect is Dialect.CLAUDE_COMMAND
    assert "description" in bare.invocation.hidden_by


@pytest.mark.parametrize(
    ("path", "is_draft"),
    [
        ("/work/skills/auto/20260101-101010-open-mail.md", True),
        ("/work/skills/auto/20260101-101010-open-mail/SKILL.md", True),
        ("/work/skills/auto/deeper/one/SKILL.md", True),
        ("/work/skills/auto/SKILL.md", False),
        ("/work/skills/autos/deploy/SKILL.md", False),
        ("/work/skills/tools/auto/SKILL.md", False),
        ("/work/skills/auto.md", False),
    ],
)
def test_what_lies_in_the_drafts_folder_is_a_draft_whatever_it_says(
    path: str, *, is_draft: bool
) -> None:
    text = described("disable-model-invocation: false", "user-invocable: true")

    skill = parse(document(text, path), SpecMode.LEGACY).skill

    assert skill is not None
    assert skill.is_draft is is_draft
    assert (skill.invocation.model, skill.invocation.user) == (not is_draft, not is_draft)


def test_a_rule_is_called_by_its_file_and_keeps_its_globs() -> None:
    text = front("description: Style.", "globs: *.py,*.pyi", "alwaysApply: false")

    skill = read(document(text, "/work/.cursor/rules/python.mdc", kind=RootKind.RULES))

    assert (skill.name, skill.globs) == ("python", ("*.py", "*.pyi"))
    assert skill.dialect is Dialect.CURSOR_RULE


@each_row(
    ("lines", "dialect"),
    [
        ((), Dialect.STANDARD),
        (("metadata: {openclaw: {}}",), Dialect.OPENCLAW),
        (("metadata: {clawdbot: {}}",), Dialect.OPENCLAW),
        (("metadata: {hermes: {}}",), Dialect.HERMES),
        (("platforms: [linux]",), Dialect.HERMES),
        (("required_environment_variables: [A]",), Dialect.HERMES),
        (("when_to_use: Often.",), Dialect.CLAUDE),
        (("model: big",), Dialect.CLAUDE),
    ],
)
def test_the_keys_tell_whose_conventions_a_skill_follows(
    lines: tuple[str, ...], dialect: Dialect
) -> None:
    assert read(document(described(*lines))).dialect is dialect


def test_a_skill_file_without_frontmatter_is_of_no_dialect() -> None:
    assert read(document("Steps."), SpecMode.LEGACY).dialect is Dialect.LEGACY


@settings(max_examples=150, deadline=None)
@given(
    CONTENTS,
    st.sampled_from(SpecMode),
    st.sampled_from(("/skills/deploy/SKILL.md", "/skills/De Ploy/SKILL.md", "/skills/a.md")),
    st.sampled_from(RootKind),
)
def test_no_bytes_make_the_parser_raise_and_no_document_disappears_without_a_word(
    content: bytes, mode: SpecMode, path: str, kind: RootKind
) -> None:
    parsed = parse(document(content, path, kind=kind), mode)

    assert parsed.skill is not None or parsed.diagnostics
    assert all(problem.path == path for problem in parsed.diagnostics)
    assert parsed.skill is None or (parsed.skill.name and parsed.skill.description)


@settings(max_examples=40, deadline=None)
@given(CONTENTS)
def test_no_sidecar_makes_the_parser_raise_and_a_bad_one_is_said(sidecar: bytes) -> None:
    parsed = parse(document(described(), sidecar=sidecar), SpecMode.MIXED)

    assert parsed.skill is not None
    assert parsed.skill.invocation.model is (parsed.diagnostics == ())


@settings(max_examples=60, deadline=None)
@given(CONTENTS)
def test_what_a_stricter_mode_takes_a_more_lenient_one_takes_too(content: bytes) -> None:
    taken = [
        mode
        for mode in (SpecMode.STRICT, SpecMode.MIXED, SpecMode.LEGACY)
        if parse(document(content), mode).skill is not None
    ]

    assert taken in (
        [],
        [SpecMode.LEGACY],
        [SpecMode.MIXED, SpecMode.LEGACY],
        [SpecMode.STRICT, SpecMode.MIXED, SpecMode.LEGACY],
    )


def test_a_command_without_a_description_is_described_by_its_first_heading() -> None:
    text = "Some words first.\n\n## Ship the release\n"
    source = Source(tier=Tier.HARNESS_PROJECT, root="/cmd", kind=RootKind.COMMANDS)
    found = replace(document(text, "/cmd/ship.md"), source=source)
    heading = replace(found, content=b"## Ship the release\n\nThen steps.\n")

    assert read(heading).description == "Ship the release"
    assert (read(heading).name, read(found).description) == ("ship", "Some words first.")


@each_row(
    ("lines", "sidecar", "expected"),
    [
        (("version: 1.10", "display-name: Ship It"), None, ("1.10", "Ship It")),
        (("metadata:", "  version: '2.0'", "  displayName: Ship"), None, ("2.0", "Ship")),
        (("title: Ship: it",), None, ("", "Ship: it")),
        ((), b"interface:\n  display_name: Ship It\n", ("", "Ship It")),
        ((), b"interface: [", ("", "")),
    ],
)
def test_version_and_title_are_kept_as_they_were_written(
    lines: tuple[str, ...], sidecar: bytes | None, expected: tuple[str, str]
) -> None:
    skill = read(replace(document(described(*lines)), sidecar=sidecar))

    assert (skill.version, skill.title) == expected
