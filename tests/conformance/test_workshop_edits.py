"""Edits of skills: on the structure of the Markdown, literal, and byte for byte elsewhere."""

import pytest
import yaml

from .workshop_bench import Bench
from .world import Json, World

STANDARD_KEYS = {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}
DESCRIPTIONS = (
    "a: b",
    "# no comment",
    "'single' and \"double\"",
    "- a list?",
    "{a: [b}",
    "yes",
    "null",
    "12:30",
    "& anchor * alias ! tag | > % @ `",
    "back\\slash \\n and $1",
    "ends with a colon:",
    "--- ... ---",
    "Ærlig talt: 日本語 🙂 line",
    "x" * 900,
)


@pytest.fixture
def bench(world: World) -> Bench:
    return Bench(world, encoder="none")


def front_of(text: str) -> Json:
    """The frontmatter, as any YAML reader reads it."""
    found = yaml.safe_load(text.split("---\n")[1])
    assert isinstance(found, dict)
    return found


def appended(bench: Bench, text: str, section: str, body: str) -> str:
    """A hand-written file after an append that a person applied."""
    path = bench.world.raw("some-job", text)
    made = bench.suggest("some-job", section=section, body=body)
    done = bench.person("apply", made["id"])
    assert done.code == 0, str(done)
    return path.read_bytes().decode("utf-8")


FRONT = "---\nname: some-job\ndescription: Some job.\n---\n\n"


@pytest.mark.requirement("workshop:yaml")
def test_a_description_is_valid_yaml_whatever_it_holds(bench: Bench) -> None:
    for number, description in enumerate(DESCRIPTIONS):
        name = f"yaml-{number:02d}"
        bench.made(name, description=description, overrule=True)
        assert front_of(bench.text_of(name))["description"] == description
    rows = bench.world.listing().items()
    assert {name: row["description"] for name, row in rows if not row["bundled"]} == {
        f"yaml-{number:02d}": text for number, text in enumerate(DESCRIPTIONS)
    }


@pytest.mark.requirement("workshop:yaml")
def test_a_description_cannot_bring_frontmatter_of_its_own(bench: Bench) -> None:
    bench.made(
        "sly-job",
        description="Fine.\n---\nname: other\nallowed-tools: all\nmetadata: {always: true}\n---\n",
    )

    front = front_of(bench.text_of("sly-job"))

    assert front["name"] == "sly-job"
    assert "allowed-tools" not in front
    assert "\n" not in front["description"]


@pytest.mark.requirement("workshop:frontmatter-keys")
def test_only_the_standard_keys_are_written_and_the_workshop_marks_its_own(bench: Bench) -> None:
    bench.made("some-job", description="Some job.")
    created = front_of(bench.text_of("some-job"))
    bench.suggest("some-job", section="Workflow", body="- More.", apply=True)
    bench.suggest("new-by-append", section="Steps", body="- x", description="New.", apply=True)

    assert set(created) <= STANDARD_KEYS
    assert created["name"] == "some-job"
    assert created["metadata"]["prowess"]
    assert front_of(bench.text_of("some-job")) == created
    assert set(front_of(bench.text_of("new-by-append"))) <= STANDARD_KEYS
    assert front_of(bench.text_of("new-by-append"))["metadata"]["prowess"]
    assert bench.world.run("validate", bench.world.skills).calm().code == 0


@pytest.mark.requirement("workshop:frontmatter-keys")
def test_a_body_with_frontmatter_of_its_own_does_not_become_frontmatter(bench: Bench) -> None:
    body = "---\nname: other\nalways: true\n---\n\n## Workflow\n\n- Go.\n"

    bench.suggest("sly-job", description="d", body=body)
    for made in bench.proposals():
        bench.call("apply", id=made["id"])

    front = front_of(bench.text_of("sly-job"))
    assert front["name"] == "sly-job"
    assert set(front) <= STANDARD_KEYS


@pytest.mark.requirement("workshop:append-end")
def test_an_addition_goes_to_the_end_of_its_section(bench: Bench) -> None:
    before = f"{FRONT}# Job\n\nIntro.\n\n## Workflow\n\n- One.\n- Two.\n"
    behind = "\n### Detail\n\nDeep.\n\n## Notes\n\n- End.\n"

    after = appended(bench, before + behind, "Workflow", "- Three.")

    assert after == f"{before}- Three.\n{behind}"


@pytest.mark.requirement("workshop:append-heading")
@pytest.mark.parametrize(
    "body",
    [
        "## Workflow extra\n\n- Other.\n",
        "The word ## Workflow in a line.\n",
        "```markdown\n## Workflow\n```\n",
        "    ## Workflow\n",
        "<!--\n## Workflow\n-->\n",
        "> ## Workflow\n",
    ],
)
def test_a_section_is_a_heading_and_not_a_piece_of_text(bench: Bench, body: str) -> None:
    after = appended(bench, FRONT + body, "Workflow", "- Added.")

    assert after.startswith(FRONT + body.rstrip("\n"))
    assert after[len(FRONT + body.rstrip("\n")) :].split("\n\n")[-2:] == [
        "## Workflow",
        "- Added.\n",
    ]


@pytest.mark.requirement("workshop:append-heading")
@pytest.mark.parametrize(
    "heading",
    ["## Workflow", "##   Workflow ##", "# Workflow", "### Workflow", "Workflow\n--------"],
)
def test_every_kind_of_heading_is_one(bench: Bench, heading: str) -> None:
    text = f"{FRONT}{heading}\n\n- One.\n"

    after = appended(bench, text, "Workflow", "- Two.")

    assert after == f"{FRONT}{heading}\n\n- One.\n- Two.\n"


ODD_FILES = {
    "spaces and keys of its own": """---
name:   some-job
description: 'Some: job.'   # ours
x-own: [1,  2]
---



# Job\t

## Workflow

* One.\x20\x20\x20



## Notes

\tEnd.\x20\x20


""",
    "carriage returns": f"{FRONT}## Workflow\n\n- One.\n\n## Notes\n\nEnd.\n".replace("\n", "\r\n"),
    "no last line break": f"{FRONT}## Workflow\n\n- One.\n\n## Notes\n\nNo end",
    "other scripts": f"{FRONT}## Workflow\n\n- 🙂 日本語\n\n## Notes\n\nÉ e\u0301\n",
}


@pytest.mark.requirement("workshop:bytes-kept")
@pytest.mark.parametrize("text", ODD_FILES.values(), ids=ODD_FILES)
def test_all_that_is_not_the_change_stays_byte_for_byte(bench: Bench, text: str) -> None:
    after = appended(bench, text, "Workflow", "- Added.")

    at = after.index("- Added.")
    before, behind = after[:at], after[at + len("- Added.") :]
    assert text.startswith(before.rstrip())
    assert text.endswith(behind.lstrip())
    lacking = len(text) - len(before.rstrip()) - len(behind.lstrip())
    assert text[len(before.rstrip()) :][:lacking].strip() == ""
    if "\r\n" in text:
        assert "\n" not in after.replace("\r\n", "")


@pytest.mark.requirement("workshop:replace-first")
def test_a_replacement_takes_the_first_exact_match_and_nothing_else(bench: Bench) -> None:
    text = f"{FRONT}- Check the PR.\n- check the pr.\n- Check the PR.\n\n\n  odd  \n"
    path = bench.world.raw("some-job", text)

    made = bench.suggest("some-job", oldText="Check the PR.", newText="Read it.")
    bench.person("apply", made["id"])

    assert path.read_text(encoding="utf-8") == text.replace("Check the PR.", "Read it.", 1)


@pytest.mark.requirement("workshop:replace-first")
@pytest.mark.parametrize("old", ["check the pr.", "Check  the PR.", "Check the PR\\.", "C.*R"])
def test_a_replacement_needs_the_exact_text(bench: Bench, old: str) -> None:
    bench.world.raw("some-job", f"{FRONT}- Check the PR.\n")

    assert "oldText not found" in bench.refused(
        "suggest", skillName="some-job", oldText=old, newText="x"
    )


@pytest.mark.requirement("workshop:replace-first", "workshop:frontmatter-keys")
def test_a_replacement_does_not_reach_into_the_frontmatter(bench: Bench) -> None:
    path = bench.made("some-job", description="Some job.")
    before = path.read_bytes()

    bench.refused(
        "suggest",
        skillName="some-job",
        oldText="name: some-job",
        newText="name: some-job\nallowed-tools: all",
        apply=True,
    )

    assert path.read_bytes() == before


@pytest.mark.requirement("workshop:literal")
@pytest.mark.parametrize(
    "text", ["$1 $& $$ ${x}", r"\1 \g<0> \n \\", "%s %(x)s {0}", "`` ` ```", "a\tb <b>&amp;</b>"]
)
def test_text_is_literal_in_every_kind_of_change(bench: Bench, text: str) -> None:
    bench.made("some-job", f"## Workflow\n\n- Created {text} so.\n- Old $1 \\1 text.\n")
    bench.suggest("some-job", section="Workflow", body=f"- Appended {text} so.", apply=True)
    bench.suggest("some-job", oldText="Old $1 \\1 text", newText=f"Replaced {text} so", apply=True)

    for verb in ("Created", "Appended", "Replaced"):
        assert f"- {verb} {text} so." in bench.text_of("some-job")


@pytest.mark.requirement("workshop:create-existing")
def test_creating_what_exists_appends_to_its_workflow(bench: Bench) -> None:
    bench.made("some-job", "## Workflow\n\n- One.\n\n## Notes\n\nEnd.\n", description="First.")

    bench.made("some-job", "- Two.", description="Second.")

    text = bench.text_of("some-job")
    assert front_of(text)["description"] == "First."
    assert text.endswith("## Workflow\n\n- One.\n- Two.\n\n## Notes\n\nEnd.\n")


@pytest.mark.requirement("workshop:append-missing")
def test_appending_to_what_is_missing_makes_a_small_skill(bench: Bench) -> None:
    bench.suggest("new-job", section="Pitfalls", body="- Mind it.", description="New.", apply=True)

    text = bench.text_of("new-job")
    assert front_of(text)["description"] == "New."
    assert text.endswith("## Pitfalls\n\n- Mind it.\n")


@pytest.mark.requirement("workshop:append-end")
def test_what_stands_there_already_is_not_added_twice(bench: Bench) -> None:
    bench.made("some-job", "## Workflow\n\n- One.\n")

    bench.refused("suggest", skillName="some-job", section="Workflow", body="- One.", apply=True)

    assert bench.text_of("some-job").count("- One.") == 1


@pytest.mark.requirement("workshop:size")
def test_the_size_of_the_resulting_file_in_bytes_is_limited(bench: Bench) -> None:
    bench.configure(maxSkillBytes=1024)
    bench.made("some-job", "## Workflow\n\n" + "- æøå æøå æøå\n" * 30)
    before = bench.text_of("some-job")

    words = bench.refused(
        "suggest", skillName="some-job", section="Workflow", body="é" * 200, apply=True
    )

    assert words == "skill exceeds 1024 bytes"
    assert bench.text_of("some-job") == before


@pytest.mark.requirement("workshop:names")
@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("Animated GIF Workflow", "animated-gif-workflow"),
        ("  Odd///Name!!  ", "odd-name"),
        ("..\\..\\etc/passwd", "etc-passwd"),
        ("../../outside", "outside"),
        ("snake_case-1", "snake_case-1"),
        ("--x1--", "x1"),
        ("a" * 200, "a" * 80),
        ("Straße 日本 no", None),
    ],
)
def test_names_are_normalised(bench: Bench, given: str, name: str | None) -> None:
    made = bench.suggest(given)

    assert name is None or made["skillName"] == name
    bench.call("apply", id=made["id"])
    assert bench.file_of(made["skillName"]).is_file()
    assert [path.parent.parent for path in bench.world.root.rglob("SKILL.md")] == [
        bench.world.skills
    ]


@pytest.mark.requirement("workshop:names")
@pytest.mark.parametrize("given", ["???", "a", "日本", "..", "/", "-", "_"])
def test_a_name_that_cannot_be_normalised_is_an_error_that_proposes_one(
    bench: Bench, given: str
) -> None:
    words = bench.refused("suggest", skillName=given, description="Bakes bread.", body="- x")

    assert 'try "' in words
