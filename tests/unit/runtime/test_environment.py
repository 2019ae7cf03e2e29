"""The variables that a skill's programs run with."""

import asyncio
import threading
from collections.abc import Callable, Iterator, MutableMapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.errors import SecretError
from prowess.runtime.environment import (
    ChildEnvironment,
    EnvironmentOverlay,
    OverlayRun,
    SkillVariables,
    Variables,
    child_environment,
)

HIDDEN = "do-not-show-this"


def test_a_child_gets_what_was_there_and_what_its_skill_adds() -> None:
    base = {"PATH": "/bin", "LANG": "C"}

    made = child_environment(
        base, SkillVariables(values={"MODE": "fast", "MY_TOKEN": HIDDEN}, declared=["MY_TOKEN"])
    )

    assert made.values == {**base, "MODE": "fast", "MY_TOKEN": HIDDEN}
    assert made.applied == ("MODE", "MY_TOKEN")
    assert base == {"PATH": "/bin", "LANG": "C"}


def test_what_is_blocked_is_named_with_its_reason() -> None:
    made = child_environment(
        {},
        SkillVariables(values={"PATH": "/evil", "MY_TOKEN": HIDDEN, "A-B": "x"}, declared=["PATH"]),
    )

    assert made.values == {}
    assert [blocked.key for blocked in made.blocked] == ["PATH", "MY_TOKEN", "A-B"]
    assert all(blocked.reason for blocked in made.blocked)


def test_a_value_of_the_operator_stays_even_an_empty_one() -> None:
    made = child_environment(
        {"Mode": "", "UNITS": "si"}, SkillVariables(values={"MODE": "x", "UNITS": "y"}, declared=())
    )

    assert made.values == {"Mode": "", "UNITS": "si"}
    assert made.kept == ("MODE", "UNITS")
    assert made.applied == ()


def test_values_of_other_skills_do_not_reach_the_child() -> None:
    base = {"PATH": "/bin", "OTHER_TOKEN": HIDDEN, "MODE": "theirs"}

    made = child_environment(
        base, SkillVariables(values={"MODE": "mine"}, declared=()), active={"other_token", "MODE"}
    )

    assert made.values == {"PATH": "/bin", "MODE": "mine"}


def test_an_entry_that_nobody_filled_in_is_no_variable() -> None:
    made = child_environment(
        {}, SkillVariables(values={"": "x", "  ": "x", "MODE": "", "UNITS": "  "}, declared=())
    )

    assert made == ChildEnvironment(Variables())


def test_of_two_spellings_the_first_counts() -> None:
    made = child_environment({}, SkillVariables(values={"MODE": "1", " mode": "2"}, declared=()))

    assert made.values == {"MODE": "1"}
    assert "twice" in made.blocked[0].reason


def test_no_value_is_ever_printed() -> None:
    made = child_environment(
        {"OLD": HIDDEN}, SkillVariables(values={"MODE": HIDDEN, "PATH": HIDDEN}, declared=())
    )
    target = {"OLD": HIDDEN}
    overlay = EnvironmentOverlay(target)
    with overlay.run(
        SkillVariables(values={"MODE": HIDDEN, "LD_PRELOAD": HIDDEN}, declared=())
    ) as run:
        texts = [repr(made), str(made.values), f"{made.values}", repr(overlay), repr(run)]
        texts += [str(run.blocked), str(overlay.active)]

    assert not [text for text in texts if HIDDEN in text]
    assert "MODE" in repr(made)


def test_a_doubt_about_a_value_is_passed_on() -> None:
    value = "QUJD" * 30

    made = child_environment({}, SkillVariables(values={"MODE": value}, declared=()))

    assert len(made.warnings) == 1
    assert value not in made.warnings[0]


def test_an_overlay_sets_variables_for_as_long_as_the_run_lasts() -> None:
    target = {"PATH": "/bin"}
    overlay = EnvironmentOverlay(target)

    with overlay.run(SkillVariables(values={"MODE": "x", "PATH": "/evil"}, declared=())) as run:
        assert target == {"PATH": "/bin", "MODE": "x"}
        assert overlay.active == {"MODE"}
        assert run.applied == ("MODE",)
        assert [blocked.key for blocked in run.blocked] == ["PATH"]

    assert target == {"PATH": "/bin"}
    assert overlay.active == frozenset()


def test_a_run_that_fails_leaves_nothing_behind() -> None:
    target: dict[str, str] = {}

    with (
        pytest.raises(ZeroDivisionError),
        EnvironmentOverlay(target).run(SkillVariables(values={"A": "1"}, declared=())),
    ):
        raise ZeroDivisionError

    assert target == {}


def test_runs_that_overlap_share_a_variable_until_the_last_one_ends() -> None:
    target: dict[str, str] = {}
    overlay = EnvironmentOverlay(target)
    first, second = (
        overlay.run(SkillVariables(values={"A": "1"}, declared=())),
        overlay.run(SkillVariables(values={"A": "2"}, declared=())),
    )

    with first:
        second.__enter__()
        assert target == {"A": "1"}
    assert target == {"A": "1"}
    second.__exit__(None, None, None)

    assert target == {}


def test_a_value_of_the_operator_wins_over_every_run() -> None:
    target = {"a": "operator\udcff"}
    overlay = EnvironmentOverlay(target)

    with overlay.run(SkillVariables(values={"A": "skill"}, declared=())) as run:
        assert target == {"a": "operator\udcff"}
        assert run.kept == ("A",)
        assert overlay.active == frozenset()

    assert target == {"a": "operator\udcff"}


def test_what_somebody_else_changed_meanwhile_is_as_before_and_said() -> None:
    target: dict[str, str] = {}
    overlay = EnvironmentOverlay(target)

    with overlay.run(SkillVariables(values={"A": "1", "B": "1"})) as run:
        target["A"] = "somebody else"
        with overlay.run(SkillVariables(values={"A": "2"})) as inner:
            assert inner.applied == ("A",)
            assert target["A"] == "somebody else"

    assert target == {}
    assert run.changed == ("A",)


def test_a_secret_is_looked_up_only_where_it_will_be_set() -> None:
    asked: list[str] = []

    def look_up(name: str) -> Callable[[], str]:
        def fetch() -> str:
            asked.append(name)
            return HIDDEN

        return fetch

    names = ("PATH", "MY_TOKEN", "OTHER_TOKEN", "MODE")
    wishes = SkillVariables(values={n: look_up(n) for n in names}, declared=["MY_TOKEN"])
    target = {"MODE": "operator"}
    overlay = EnvironmentOverlay(target)

    with overlay.run(wishes), overlay.run(wishes) as second:
        assert target == {"MODE": "operator", "MY_TOKEN": HIDDEN}

    assert asked == ["MY_TOKEN"]
    assert [one.key for one in second.blocked] == ["PATH", "OTHER_TOKEN"]
    assert target == {"MODE": "operator"}


def test_a_secret_that_cannot_be_had_is_a_warning_and_the_others_are_set() -> None:
    def missing() -> str:
        raise SecretError("$NOPE", "is not set in the environment.")

    made = child_environment({}, SkillVariables(values={"A": missing, "B": "1"}))

    assert made.values == {"B": "1"}
    assert made.warnings == ("A is not set: $NOPE: is not set in the environment",)


def test_where_two_skills_want_a_variable_the_first_one_counts() -> None:
    first, second = SkillVariables(values={"A": "1"}), SkillVariables(values={"a": "2", "B": "2"})

    made = child_environment({}, first, second)

    assert made.values == {"A": "1", "B": "2"}
    assert made.blocked == ()


def test_what_somebody_removed_meanwhile_is_there_for_the_next_run() -> None:
    target: dict[str, str] = {}
    overlay = EnvironmentOverlay(target)

    with overlay.run(SkillVariables(values={"A": "1"}, declared=())) as run:
        del target["A"]
        with overlay.run(SkillVariables(values={"A": "2"}, declared=())):
            assert target == {"A": "1"}
        target.pop("A")

    assert target == {}
    assert run.changed == ()


def test_a_run_is_entered_once() -> None:
    run = EnvironmentOverlay({}).run(SkillVariables(values={"A": "1"}, declared=()))
    with run, pytest.raises(RuntimeError, match="once"):
        run.__enter__()


class Full(dict[str, str]):
    """Takes one variable and no more."""

    def __setitem__(self, key: str, value: str) -> None:
        if self:
            raise OSError
        super().__setitem__(key, value)


def test_a_start_that_fails_halfway_is_undone() -> None:
    target = Full()
    overlay = EnvironmentOverlay(target)

    with pytest.raises(OSError, match=r"^$"):
        overlay.run(SkillVariables(values={"A": "1", "B": "2"}, declared=())).__enter__()

    assert target == {}
    assert overlay.active == frozenset()


def test_tasks_that_overlap_or_are_cancelled_leave_nothing_behind() -> None:
    target: dict[str, str] = {}
    overlay = EnvironmentOverlay(target)

    async def work(seconds: float) -> None:
        async with overlay.run(SkillVariables(values={"A": "1"}, declared=())):
            assert target == {"A": "1"}
            await asyncio.sleep(seconds)
            assert target == {"A": "1"}

    async def main() -> None:
        endless = asyncio.create_task(work(60))
        await asyncio.gather(*(work(0.001 * step) for step in range(10)))
        assert target == {"A": "1"}
        endless.cancel()
        await asyncio.gather(endless, return_exceptions=True)

    asyncio.run(main())

    assert target == {}


def test_threads_that_overlap_leave_nothing_behind() -> None:
    target = {"KEPT": "1"}
    overlay = EnvironmentOverlay(target)
    wrong: list[str] = []

    def work(number: int) -> None:
        for _ in range(200):
            with overlay.run(SkillVariables(values={"A": "1", f"B{number}": "1"}, declared=())):
                if target.get("A") != "1":
                    wrong.append("A was not there")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []
    assert target == {"KEPT": "1"}


class Watched(MutableMapping[str, str]):
    """A mapping that is no dictionary, as the environment of a process is none."""

    def __init__(self, start: dict[str, str]) -> None:
        self.inner = dict(start)

    def __getitem__(self, key: str) -> str:
        return self.inner[key]

    def __setitem__(self, key: str, value: str) -> None:
        self.inner[key] = value

    def __delitem__(self, key: str) -> None:
        del self.inner[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.inner)

    def __len__(self) -> int:
        return len(self.inner)


NAMES = st.sampled_from(["A", "B", "a", " C ", "PATH", "MY_TOKEN", "bad name"])
VALUES = st.text(st.characters(codec="utf-8"), max_size=5) | st.just("\udcff\udc80")


@given(
    st.dictionaries(NAMES, VALUES, max_size=4),
    st.lists(st.dictionaries(NAMES, VALUES, max_size=4), min_size=1, max_size=5),
    st.data(),
)
def test_any_interleaving_of_runs_ends_with_the_mapping_as_before(
    start: dict[str, str], overlays: list[dict[str, str]], data: st.DataObject
) -> None:
    target = Watched(start)
    overlay = EnvironmentOverlay(target)
    waiting = [
        overlay.run(SkillVariables(values=values, declared=["MY_TOKEN"])) for values in overlays
    ]
    inside: list[OverlayRun] = []
    while waiting or inside:
        if waiting and (not inside or data.draw(st.booleans())):
            inside.append(waiting.pop().__enter__())
        else:
            leaving = inside.pop(data.draw(st.integers(0, len(inside) - 1)))
            leaving.__exit__(None, None, None)
            assert leaving.changed == ()
        assert {key: target.get(key) for key in start} == start

    assert list(target.inner.items()) == list(start.items())
    assert overlay.active == frozenset()
