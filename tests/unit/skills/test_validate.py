import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.settings import SpecMode
from prowess.skills.model import Document, Severity, Source, Tier
from prowess.skills.parse import parse
from prowess.skills.validation import Report, validate

LINES = st.sampled_from(
    (
        "name: deploy", "name: Deploy App", "name:", "description: Use it to ship.",
        "description: Ships: it", "license: MIT", "metadata: {a: b}", "metadata: {a: [b]}",
        "metadata: words", "tags: [a]", "allowed-tools: [Read]", "compatibility: ''", "bad: [",
        "name: deploy", "- a", "",
    )
)  # fmt: skip


def document(text: str | bytes, path: str = "/skills/deploy/SKILL.md") -> Document:
    return Document(
        source=Source(tier=Tier.WORKSPACE, root="/skills"),
        path=path,
        folder=path.rpartition("/")[0],
        content=text if isinstance(text, bytes) else text.encode(),
        is_skill_file=path.endswith("SKILL.md"),
    )


def front(*lines: str, body: str = "Steps.") -> str:
    return "\n".join(("---", *lines, "---", body))


def good(*lines: str, body: str = "Steps.") -> Document:
    fields = ("name: deploy", "description: Use it to ship.", *lines)
    return document(front(*fields, body=body))


def report(found: Document, *, strict: bool = False, files: tuple[str, ...] = ()) -> Report:
    return validate(found, strict=strict, files=files)


def codes(found: Report) -> list[str]:
    return [problem.code for problem in found.diagnostics]


def notes(found: Report) -> list[str]:
    return [problem.message for problem in found.diagnostics if problem.code == "PORTABILITY"]


@pytest.mark.parametrize("strict", [True, False])
def test_a_good_file_has_nothing_to_report(*, strict: bool) -> None:
    found = report(good("license: MIT", "metadata: {author: me}"), strict=strict)

    assert found == Report(path="/skills/deploy/SKILL.md")
    assert found.valid


def test_every_finding_names_the_file_and_they_come_in_the_order_of_lines() -> None:
    text = front("name: deploy", "tags: [a]", "description: Short.", body="[x](gone.md)")

    found = report(document(text), strict=True)

    assert [(problem.code, problem.line) for problem in found.diagnostics] == [
        ("UNKNOWN_KEY", 3),
        ("WHEN_MISSING", 4),
        ("LINK_BROKEN", 6),
    ]
    assert {problem.path for problem in found.diagnostics} == {"/skills/deploy/SKILL.md"}


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"a\0b", "NUL_BYTE"),
        (b"\xff", "INVALID_UTF8"),
        (b"---\nname: x\n", "UNTERMINATED_FRONTMATTER"),
        (b"---\na: [\n---\n", "YAML_EXCEPTION"),
    ],
)
def test_a_file_that_cannot_be_read_says_only_that(content: bytes, code: str) -> None:
    found = report(document(content))

    assert codes(found) == [code]
    assert not found.valid


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Steps.", "FRONTMATTER_MISSING"),
        (front("description: Use it."), "NAME_MISSING"),
        (front("name: deploy"), "DESCRIPTION_MISSING"),
    ],
)
def test_what_a_skill_file_must_say_is_an_error_in_both_ways(text: str, code: str) -> None:
    assert codes(report(document(text))) == [code]
    assert not report(document(text)).valid
    assert not report(document(text), strict=True).valid


def test_a_stand_alone_text_may_leave_that_out() -> None:
    found = report(document("# Title\nUse it.", "/skills/notes.md"))

    assert codes(found) == ["SKILL_FILENAME_INVALID", "FRONTMATTER_MISSING"]
    assert found.valid


def test_the_standard_is_an_error_in_strict_and_a_warning_otherwise() -> None:
    found = document(front("name: Deploy", "description: Use it.", "tags: [a]"))

    loose, strict = report(found), report(found, strict=True)

    assert codes(loose) == codes(strict) == ["NAME_INVALID", "UNKNOWN_KEY"]
    assert [problem.severity for problem in loose.diagnostics] == [Severity.WARNING, Severity.INFO]
    assert {problem.severity for problem in strict.diagnostics} == {Severity.ERROR}


def test_nested_metadata_is_only_a_note_because_one_runtime_reads_it() -> None:
    found = report(good("metadata: {openclaw: {always: true}}"))

    assert [(p.code, p.severity) for p in found.diagnostics] == [
        ("METADATA_NOT_FLAT", Severity.INFO)
    ]


def test_metadata_that_cannot_be_read_is_an_error_in_both_ways() -> None:
    found = good("metadata: {openclaw: words}")

    assert "METADATA_UNREADABLE" in codes(report(found))
    assert not report(found).valid


def test_a_rescued_colon_is_a_warning() -> None:
    found = report(document(front("name: deploy", "description: Use it: often.")))

    assert codes(found) == ["COLON_RESCUED"]
    assert found.valid


@pytest.mark.parametrize("body", ["", "\n  \n"])
def test_a_skill_without_instructions_is_pointed_out(body: str) -> None:
    assert codes(report(good(body=body))) == ["BODY_EMPTY"]


def test_a_long_file_is_pointed_out_by_its_lines() -> None:
    head = 4

    assert codes(report(good(body="x\n" * (500 - head)))) == []
    assert codes(report(good(body="x\n" * (501 - head)))) == ["BODY_TOO_LONG"]


@pytest.mark.parametrize(
    ("lines", "says_when"),
    [
        (("description: Ships the app.",), False),
        (("description: Ships the app. Use when asked.",), True),
        (("description: Ships the app.", "when_to_use: Whenever asked."), True),
        (("description: 应用部署",), True),
    ],
)
def test_a_description_says_when_to_use_the_skill(
    lines: tuple[str, ...], *, says_when: bool
) -> None:
    found = report(document(front("name: deploy", *lines)))

    assert ("WHEN_MISSING" not in codes(found)) is says_when


@each_row(
    "link",
    [
        "[a](references/guide.md)",
        "[a](./references/guide.md#part)",
        "[a](references/guide.md?x=1)",
        "[a](<references/guide.md>)",
        '[a](references/guide.md "A title")',
        "![a](references/guide.md)",
        "[a](references)",
        "[a](references/)",
        "[a](https://example.com/x.md)",
        "[a](mailto:me@example.com)",
        "[a](#below)",
        "[a](//example.com/x.md)",
        "[a]({baseDir}/x.md)",
        "[a]($PROJECT/x.md)",
        "no link (really.md)",
    ],
)
def test_a_link_that_leads_somewhere_or_elsewhere_is_fine(link: str) -> None:
    assert codes(report(good(body=link), files=("references/guide.md",))) == []


@pytest.mark.parametrize(
    ("link", "code"),
    [
        ("[a](gone.md)", "LINK_BROKEN"),
        ("[a](references/guid.md)", "LINK_BROKEN"),
        ("[a](../other/SKILL.md)", "LINK_ESCAPES"),
        ("[a](references/../../x.md)", "LINK_ESCAPES"),
        ("[a](/absolute/path)", "LINK_ESCAPES"),
        ("[a](%2Fetc/passwd)", "LINK_ESCAPES"),
        ("[a](~/notes.md)", "LINK_ESCAPES"),
        ("[a]($HOME/x.md)", "LINK_ESCAPES"),
        ("[a](${HOME}/x.md)", "LINK_ESCAPES"),
        ("[a](file:///etc/passwd)", "LINK_ESCAPES"),
        ("[a](C:\\Users\\me\\x.md)", "LINK_ESCAPES"),
        ("[a](..\\other\\x.md)", "LINK_ESCAPES"),
        ("[a]({baseDir}/../x.md)", "LINK_ESCAPES"),
    ],
)
def test_a_link_that_leads_nowhere_or_out_is_pointed_out(link: str, code: str) -> None:
    found = report(good(body=f"First.\n\nSee {link}."), files=("references/guide.md",))

    assert [(problem.code, problem.line) for problem in found.diagnostics] == [(code, 7)]


def test_a_stand_alone_text_has_no_files_to_link() -> None:
    text = front("name: notes", "description: Use it.", body="[a](gone.md)")

    assert codes(report(document(text, "/skills/notes.md"))) == ["SKILL_FILENAME_INVALID"]


def test_a_file_full_of_broken_links_does_not_flood_the_report() -> None:
    found = report(good(body="[a](gone.md) " * 300 + "\n" + "[b](lost.md) " * 300 + "\n[c](x.md)"))

    assert codes(found) == ["LINK_BROKEN"] * 600


@pytest.mark.parametrize("fence", ["```", "~~~"])
def test_links_in_code_are_not_followed(fence: str) -> None:
    body = f"{fence}md\n[a](gone.md)\n{fence}\n[b](lost.md)"

    assert [problem.line for problem in report(good(body=body)).diagnostics] == [8]


@each_row(
    ("text", "said"),
    [
        (front("name: été", "description: Use it."), "ASCII"),
        (front("name: claude-helper", "description: Use it."), "'claude'"),
        (front("name: deploy", "description: Use <it."), "angle brackets"),
        (front("name: deploy", "description: Use it>."), "angle brackets"),
        (
            front("name: deploy", f"description: Use {'x' * 1000}", f"when_to_use: {'y' * 600}"),
            "1536",
        ),
        (good("allowed-tools: [Read]").content.decode(), "allowed-tools as a list"),
        (good("model: big", "hooks: {}").content.decode(), "hooks, model"),
        (good("paths: src").content.decode(), "paths"),
    ],
)
def test_what_another_harness_treats_differently_is_a_note(text: str, said: str) -> None:
    found = report(document(text))

    assert len(notes(found)) == 1
    assert said in notes(found)[0]
    assert found.valid


def test_a_description_of_just_the_length_that_every_harness_shows_needs_no_note() -> None:
    lines = ("name: deploy", f"description: {'x' * 1000}", f"when_to_use: {'y' * 536}")

    assert notes(report(document(front(*lines)))) == []


@settings(max_examples=80, deadline=None)
@given(
    st.lists(LINES, max_size=5),
    st.sampled_from(("/skills/deploy/SKILL.md", "/skills/Deploy App/SKILL.md", "/skills/x.md")),
)
def test_what_validates_strictly_is_exactly_what_loads_strictly(
    lines: list[str], path: str
) -> None:
    found = document(front(*lines), path)

    loaded = parse(found, SpecMode.STRICT).skill

    assert report(found, strict=True).valid is (loaded is not None)


def test_links_of_other_pages_are_followed_from_where_they_stand() -> None:
    text = front("name: deploy", "description: Use when asked.", body="See [it](references/a.md).")
    pages = {
        "references/a.md": "ok [b](b.md) [up](../SKILL.md)\n[gone](c.md)\n[out](../../other/x.md)\n"
        "```\n[code](nowhere.md)\n```\n[web](https://example.com) [top](#top)\n"
    }
    files = ("SKILL.md", "references/a.md", "references/b.md")

    found = validate(document(text), strict=False, files=files, pages=pages).diagnostics

    assert [(one.code, one.message, one.line) for one in found] == [
        ("LINK_BROKEN", "references/a.md:2: c.md is not there", None),
        ("LINK_ESCAPES", "references/a.md:3: ../../other/x.md leaves the skill's folder", None),
    ]
