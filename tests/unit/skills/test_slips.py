"""Small slips that once had an effect nobody expected."""

import pytest

from prowess.settings import SpecMode
from prowess.skills import frontmatter
from prowess.skills.agent_filter_snapshot import AgentFilter
from prowess.skills.eligibility import Verdict
from prowess.skills.explanation import SkillSituation, explain
from prowess.skills.model import Document, Parsed, Requirements, Source, Tier
from prowess.skills.parse import parse, split_sections
from prowess.skills.prompt import PromptBlock
from prowess.skills.validation import validate
from prowess.testing import make_skill


def read(text: str, *, alone: bool = False, folder: str = "/w/skills/x") -> Document:
    return Document(
        source=Source(tier=Tier.WORKSPACE, root="/w/skills"),
        path="/w/skills/x.md" if alone else f"{folder}/SKILL.md",
        folder="/w/skills" if alone else folder,
        content=text.encode(),
        is_skill_file=not alone,
    )


def parsed(text: str, *, mode: SpecMode = SpecMode.MIXED, alone: bool = False) -> Parsed:
    return parse(read(text, alone=alone), mode)


@pytest.mark.parametrize(
    "gate",
    [
        '"metadata": {"openclaw": {"requires": {"bins": ["kubectl"]}}}',
        "? metadata\n: {openclaw: {requires: {bins: [kubectl]}}}",
        " metadata: {openclaw: {requires: {bins: [kubectl]}}}",
    ],
)
def test_metadata_in_an_odd_shape_stays_shut_in_a_torn_legacy_block(gate: str) -> None:
    text = f"---\nname: x\ndescription: d\n{gate}\nbad: [\n---\nb"

    skill = parsed(text, mode=SpecMode.LEGACY).skill

    assert skill is not None
    assert not skill.metadata.readable


def test_every_missing_program_is_asked_for_and_one_of_several_alternatives() -> None:
    def advice(missing: Requirements) -> str:
        found = explain(
            SkillSituation(
                skill=make_skill(),
                verdict=Verdict(missing=missing),
                agent_id="main",
                agent_filter=AgentFilter(),
                block=PromptBlock(),
            )
        )
        return found.reason.fix if found.reason else ""

    assert advice(Requirements(bins=("a", "b"))) == "put a and b on the PATH"
    assert advice(Requirements(any_bins=("a", "b"))) == "put a or b on the PATH"


def test_a_description_over_several_lines_of_a_list_is_compact() -> None:
    skill = parsed("---\nname: x\ndescription:\n  - one\n  - two\n---\nb").skill

    assert skill is not None
    assert skill.description == '["one","two"]'


def test_a_name_is_not_taken_from_inside_code() -> None:
    skill = parsed("```bash\n# install\n```\n# Real\ntext", alone=True).skill

    assert skill is not None
    assert (skill.name, skill.description) == ("Real", "text")


def test_an_underlined_heading_loses_its_underline() -> None:
    skill = make_skill(body="Title\n=====\ntext\n", body_line=5)

    (section,) = split_sections(skill)

    assert (section.title, section.text, section.line) == ("Title", "text", 5)


def test_a_skill_without_any_name_is_refused() -> None:
    found = parse(read("---\ndescription: d\n---\nb", folder="/w/skills/\u200b"), SpecMode.MIXED)

    assert found.skill is None
    assert [problem.code for problem in found.diagnostics] == ["NAME_MISSING"]


def test_links_to_the_folder_and_to_names_with_blanks_are_fine() -> None:
    document = read(
        "---\nname: x\ndescription: Use it.\n---\n[a](./) [b](my%20file.md) [c](none.md)\n"
    )

    report = validate(document, strict=False, files=["my file.md"])

    assert [problem.message for problem in report.diagnostics] == ["none.md is not there"]


def test_many_keys_are_read_as_fast_as_few() -> None:
    text = "---\n" + "".join(f"k{number}: v\n" for number in range(5_000)) + "---\n"

    front = frontmatter.read(text)

    assert len(front.fields) == 5_000
    assert parsed(text).skill is None
