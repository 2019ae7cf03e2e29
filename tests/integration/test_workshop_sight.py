"""Which skills an agent may know of, as the workshop asks for them: by the names of folders."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.integration.mcp_world import McpWorld, opened

from prowess.runtime.service import StatusReport
from prowess.runtime.workshop.tool import sight_of
from prowess.skills.agent_filter_snapshot import AgentFilter


@pytest.fixture
def report(tmp_path: Path) -> StatusReport:
    with opened(McpWorld(tmp_path)) as runtime:
        report = runtime.skills.status()
    # Those that are bundled would only be in the way.
    own = sorted(
        (one for one in report.skills if one.skill.name in {"alpha", "quiet"}),
        key=lambda one: one.skill.name,
    )
    return replace(report, skills=tuple(own))


def test_an_agent_without_a_list_knows_all_but_what_is_hidden(report: StatusReport) -> None:
    knows = sight_of(report)

    assert [knows(name) for name in ("alpha", "quiet", "new")] == [True, False, True]


def test_an_agent_with_a_list_knows_what_is_on_it_whether_it_is_there_or_not(
    report: StatusReport,
) -> None:
    listed = replace(report, agent_filter=AgentFilter(entries=("alpha", "planned", "quiet")))

    knows = sight_of(listed)

    names = ("alpha", "planned", "quiet", "new")
    assert [knows(name) for name in names] == [True, True, False, False]


def test_the_folder_of_a_hidden_skill_counts_more_than_the_name_of_another(
    report: StatusReport,
) -> None:
    alpha, quiet = report.skills
    named = replace(alpha, skill=replace(alpha.skill, name="quiet"))

    knows = sight_of(replace(report, skills=(named, quiet)))

    assert not knows("quiet")


def test_the_folder_of_a_visible_skill_counts_more_than_the_name_of_a_hidden_one(
    report: StatusReport,
) -> None:
    alpha, quiet = report.skills
    named = replace(quiet, skill=replace(quiet.skill, name="alpha"))

    knows = sight_of(replace(report, skills=(alpha, named)))

    assert knows("alpha")
