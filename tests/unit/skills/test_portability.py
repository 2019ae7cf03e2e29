"""What each harness makes of a strict build, and above all what it no longer does."""

from collections.abc import Mapping

from tests.rows import each_row

from prowess.settings import SpecMode
from prowess.skills.harness.portable import (
    SIDECAR,
    HarnessNote,
    Portable,
    Weight,
    build,
    hiding_sidecar,
    notes_for,
)
from prowess.skills.harness.rules import Reader, read_rules
from prowess.skills.model import Document, Source, Tier
from prowess.skills.parse import parse

SOURCE = Source(tier=Tier.WORKSPACE, root="/work/skills")
HIDING = b"policy:\n  allow_implicit_invocation: false\n"


def _notes(
    reader: Reader, *lines: str, body: str = "Do it.", files: Mapping[str, bytes] | None = None
) -> dict[str, HarnessNote]:
    named = ("name: deploy", "description: Ships the app. Use when asked to.")
    content = "\n".join(("---", *named, *lines, "---", body)).encode()
    folder = "/work/skills/deploy"
    skill = parse(
        Document(
            source=SOURCE,
            path=f"{folder}/SKILL.md",
            folder=folder,
            content=content,
            sidecar=None if files is None else files.get(SIDECAR),
        ),
        SpecMode.MIXED,
    ).skill
    assert skill is not None
    made = build(skill, content, SpecMode.MIXED)
    assert isinstance(made, Portable)
    found = notes_for(read_rules()[reader], skill, made, files or {})
    return {note.subject: note for note in found}


@each_row("reader", Reader)
def test_a_plain_skill_loses_nothing_anywhere(reader: Reader) -> None:
    assert _notes(reader) == {}


@each_row("reader", Reader)
def test_that_a_skill_is_no_longer_kept_from_the_model_is_told_first(reader: Reader) -> None:
    notes = _notes(reader, "version: 1", "disable-model-invocation: true")

    assert next(iter(notes)) == "disable-model-invocation"
    assert notes["disable-model-invocation"].weight is Weight.LOST


def test_codex_keeps_it_from_the_model_by_its_own_file() -> None:
    notes = _notes(Reader.CODEX, "disable-model-invocation: true", files={SIDECAR: HIDING})

    assert "disable-model-invocation" not in notes


def test_hooks_are_lost_even_where_they_are_known() -> None:
    claude = _notes(Reader.CLAUDE, "hooks: {Stop: []}", "hooks2: x")["hooks"]
    codex = _notes(Reader.CODEX, "hooks: {Stop: [x]}")["hooks"]

    assert claude.weight is codex.weight is Weight.LOST
    assert "top level only" in claude.detail
    assert "does not know" in codex.detail


def test_what_is_there_for_people_is_merely_ignored() -> None:
    notes = _notes(Reader.GEMINI, "version: 1", "license: MIT")

    assert {key: note.weight for key, note in notes.items()} == {
        "version": Weight.IGNORED,
        "license": Weight.IGNORED,
        "metadata": Weight.IGNORED,
    }


def test_what_nobody_documents_is_called_unknown() -> None:
    assert _notes(Reader.COPILOT, "license: MIT")["license"].weight is Weight.UNKNOWN


def test_placeholders_are_filled_by_claude_code_and_by_nobody_else() -> None:
    body = "Run $ARGUMENTS in ${CLAUDE_SKILL_DIR} with $0."

    assert _notes(Reader.CLAUDE, body=body) == {}
    assert list(_notes(Reader.CURSOR, body=body)) == ["$ARGUMENTS, ${CLAUDE_SKILL_DIR}, $0"]


def test_a_price_is_no_placeholder() -> None:
    assert _notes(Reader.CODEX, body="It costs $5, or $1.50 a day.") == {}


def test_named_arguments_need_a_key_that_a_strict_build_has_not() -> None:
    notes = _notes(Reader.CLAUDE, "arguments: [env]", body="Deploy to $env.")

    assert notes["$env"].weight is Weight.LOST


def test_commands_inside_a_text_are_run_by_claude_code_alone() -> None:
    body = "Now: !`git status`"

    assert _notes(Reader.CLAUDE, body=body) == {}
    assert "does not run" in _notes(Reader.OPENCLAW, body=body)["!`git status`"].detail


def test_openclaw_no_longer_sees_its_requirements() -> None:
    lines = ('metadata: {"openclaw": {"requires": {"bins": ["gh"]}}}',)

    openclaw = _notes(Reader.OPENCLAW, *lines)["metadata.openclaw"]
    claude = _notes(Reader.CLAUDE, *lines)["metadata.openclaw"]

    assert (openclaw.weight, claude.weight) == (Weight.LOST, Weight.IGNORED)


def test_a_second_skill_inside_is_named() -> None:
    files = {"SKILL.md": b"", "examples/SKILL.md": b"", SIDECAR: b"interface: {}\n"}

    notes = _notes(Reader.GEMINI, files=files)

    assert set(notes) == {"examples/SKILL.md", SIDECAR}


@each_row(
    ("existing", "expected"),
    [
        (None, HIDING),
        (b"", HIDING),
        (HIDING, HIDING),
        (b"interface:\n  display_name: X", b"interface:\n  display_name: X\n" + HIDING),
        (b"policy:\n  allow_implicit_invocation: true\n", None),
        (b"policy: {products: [a]}\n", None),
        (b"[1, 2]\n", None),
        (b"{a: 1}\n", None),
        (b"a: [\n", None),
        (b"\xff\xfe", HIDING),
    ],
)
def test_a_sidecar_gets_one_line_more_or_stays_as_it_is(
    existing: bytes | None, expected: bytes | None
) -> None:
    assert hiding_sidecar(existing) == expected
