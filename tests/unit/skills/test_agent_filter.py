import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prowess.settings import AgentSettings
from prowess.skills.agent_filter_snapshot import AgentFilter, MatchedBy
from prowess.testing import make_skill

NAMES = ("deploy", "ship", "review", "test")
LISTS = st.none() | st.lists(st.sampled_from((*NAMES, " ", "deploy "))).map(tuple)
SKILLS = [
    make_skill(name, key=key) for name, key in zip(NAMES, ("", "review", "rev", ""), strict=True)
]


def filter_of(*names: str) -> AgentFilter:
    return AgentFilter.of(AgentSettings(id="main", skills=names))


def test_an_absent_list_allows_every_skill() -> None:
    agent_filter = AgentFilter.of(AgentSettings(id="main", skills=None))

    assert agent_filter.entries is None
    assert agent_filter.match(make_skill()) is MatchedBy.NO_FILTER
    assert agent_filter.unmatched([]) == ()


def test_an_empty_list_allows_none() -> None:
    agent_filter = filter_of()

    assert agent_filter.entries == ()
    assert agent_filter.match(make_skill()) is None


@pytest.mark.parametrize(
    ("listed", "matched"),
    [("deploy", MatchedBy.NAME), ("ship", MatchedBy.KEY), ("Deploy", None), ("dep", None)],
)
def test_an_entry_is_a_name_or_a_key_and_the_report_says_which(
    listed: str, matched: MatchedBy | None
) -> None:
    assert filter_of(listed).match(make_skill("deploy", key="ship")) is matched


def test_equal_lists_compare_equal_however_they_are_written() -> None:
    assert filter_of("b", " a ", "b", "") == filter_of("a", "b")


def test_a_filter_knows_whether_it_was_inherited() -> None:
    own = AgentSettings(id="main", skills=("deploy",), skills_inherited=False)
    unset = AgentSettings(id="main", skills_inherited=True)

    assert AgentFilter.of(own).inherited is False
    assert AgentFilter.of(unset).inherited is True


def test_entries_that_name_no_skill_are_pointed_out() -> None:
    skills = [make_skill("deploy", key="ship")]

    assert filter_of("deploy", "ship", "deploi").unmatched(skills) == ("deploi",)


@settings(max_examples=60, deadline=None)
@given(LISTS, st.sets(st.sampled_from(NAMES)))
def test_a_smaller_list_never_shows_more(listed: tuple[str, ...] | None, removed: set[str]) -> None:
    wide = AgentFilter.of(AgentSettings(id="main", skills=listed))
    kept = tuple(name for name in (NAMES if listed is None else listed) if name not in removed)
    narrow = AgentFilter.of(AgentSettings(id="main", skills=kept))

    assert all(wide.match(skill) for skill in SKILLS if narrow.match(skill))
