"""Saved messages in their file: private, bounded, read by `prowess eval`, and safe from slips."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.errors import StoreError, SuiteError
from prowess.evaluation.routing import MOST_TESTS, RoutingTest, RoutingTestPorts, RoutingTests
from prowess.host.evaluation import RoutingTestsFile, read_suites
from prowess.testing import make_skill, open_memory

NAME = st.from_regex(r"[a-z][a-z0-9-]{0,20}", fullmatch=True).filter(
    lambda name: name not in {"none", "null"}
)
MESSAGE = st.text(min_size=1, max_size=80).filter(lambda text: bool(text.strip()))


def _add(*tests: RoutingTest) -> Callable[[list[RoutingTest]], None]:
    return lambda kept: kept.extend(tests)


@given(message=MESSAGE, skill=st.one_of(st.just(""), NAME), should=st.booleans())
def test_what_is_kept_is_read_again_and_means_the_same_to_the_terminal(
    tmp_path_factory: pytest.TempPathFactory, *, message: str, skill: str, should: bool
) -> None:
    store = RoutingTestsFile(str(tmp_path_factory.mktemp("state")))
    test = RoutingTest(id="one", message=message, skill=skill, should=should and bool(skill))

    store.change(_add(test))

    (found,) = store.read()
    (suite,) = read_suites(store.path).suites
    (case,) = suite.cases
    assert (found.skill, found.should) == (test.skill, test.should)
    assert (case.expect, case.not_expected) == (test.case.expect, test.case.not_expected)
    assert case.is_open == test.case.is_open
    assert case.prompt == found.message


def test_only_the_owner_may_read_it(tmp_path: Path) -> None:
    store = RoutingTestsFile(str(tmp_path))

    store.change(_add(RoutingTest(id="a", message="hello")))

    assert Path(store.path).stat().st_mode & 0o777 == 0o600


def test_cases_of_another_shape_stay_in_the_file(tmp_path: Path) -> None:
    store = RoutingTestsFile(str(tmp_path))
    theirs = {"prompt": "either", "expect": ["one", "other"]}
    Path(store.path).write_text(json.dumps({"cases": [theirs, 5]}))

    shown = store.read()
    store.change(_add(RoutingTest(id="a", message="hello")))

    kept = json.loads(Path(store.path).read_text())["cases"]
    assert shown == []
    assert kept[:2] == [theirs, 5]
    assert [one.id for one in store.read()] == ["a"]


@pytest.mark.parametrize("text", ["{broken", "[]", '{"cases": 5}', '{"cases": ' + "[" * 5_000])
def test_a_file_that_cannot_be_read_is_kept_beside_the_new_one(tmp_path: Path, text: str) -> None:
    store = RoutingTestsFile(str(tmp_path))
    Path(store.path).write_text(text)

    before = store.read()
    store.change(_add(RoutingTest(id="a", message="hello")))

    assert before == []
    assert Path(store.path + ".bak").read_text() == text
    assert [one.id for one in store.read()] == ["a"]


def test_a_state_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = RoutingTestsFile(str(tmp_path / "file" / "state"))

    assert store.read() == []
    with pytest.raises(StoreError, match="cannot be changed"):
        store.change(_add(RoutingTest(id="a", message="hello")))


def _tests(tmp_path: Path) -> RoutingTests:
    ids = iter(range(10_000))
    tools = RoutingTestPorts(
        store=RoutingTestsFile(str(tmp_path)),
        now=lambda: 7.0,
        seconds=lambda: 0.0,
        new_id=lambda: str(next(ids)),
    )

    def no_routing() -> None:
        raise AssertionError("nothing is routed here")

    # Never called: adding and listing need no router.
    return RoutingTests(open_memory([make_skill("deploy")]), no_routing, tools)  # type: ignore[arg-type]


def test_the_same_message_about_the_same_skill_is_kept_once_as_said_last(tmp_path: Path) -> None:
    tests = _tests(tmp_path)

    tests.add("ship it", "deploy", should=True, agent_id=None)
    tests.add(" ship it ", "deploy", should=False, agent_id=None)
    tests.add("ship it", "", should=False, agent_id=None)

    assert [(one.skill, one.should) for one in tests.listed()] == [("deploy", False), ("", False)]


def test_there_is_a_bound_and_it_says_what_to_do(tmp_path: Path) -> None:
    many = [RoutingTest(id=str(n), message=f"message {n}") for n in range(MOST_TESTS)]
    RoutingTestsFile(str(tmp_path)).change(_add(*many))
    tests = _tests(tmp_path)

    with pytest.raises(SuiteError, match="remove some first"):
        tests.add("one more", "deploy", should=True, agent_id=None)

    assert len(tests.listed()) == MOST_TESTS


def test_without_tests_nothing_is_opened_to_run_them(tmp_path: Path) -> None:
    assert _tests(tmp_path).run(None) == []
