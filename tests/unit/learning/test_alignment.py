"""Several traces of one goal side by side: what all did, what some did, and the detours."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.learning import trace_heaps as heaps
from tests.unit.learning.trace_heaps import bash, tap, touch, trace

from prowess.learning.alignment import MOST_ALIGNED, Aligned, align
from prowess.learning.traces import Trace

CONVERTED = [
    "Read `data/{csv_file}`.",
    "Run `python3 scripts/convert.py data/{csv_file} --output out/{csv_name}.json`.",
    "Run `jq length out/{csv_name}.json`.",
    "Read `out/{csv_name}.json`.",
]


def aligned(*traces: Trace) -> Aligned:
    found = align(traces)
    assert found is not None
    return found


def orders(found: Aligned) -> list[str]:
    return [step.text for step in found.steps]


def test_what_all_traces_did_is_the_procedure() -> None:
    found = aligned(*heaps.conversions())

    assert orders(found) == CONVERTED
    assert [(step.seen_in, step.optional) for step in found.steps] == [(5, False)] * 4
    assert found.goal == "Convert data/{csv_file} to JSON"
    assert [one.name for one in found.parameters] == ["csv_file", "csv_name"]


def test_a_detour_is_left_out_and_named() -> None:
    found = aligned(*heaps.conversions())

    (detour,) = found.detours
    assert found.traces[detour.trace].session_id == "stock"
    assert detour.text == "Run `csvstat data/{csv_file}`."


def test_a_long_detour_changes_nothing_about_the_procedure() -> None:
    lost = [(2, bash(line)) for line in ("tar xf y.tgz", "perl z.pl", "rsync a b", "cmake .")]
    heap = [heaps.conversion("sales"), heaps.conversion("orders"), heaps.conversion("users")]

    found = aligned(*heap, heaps.conversion("stock", extra=lost))

    assert orders(found) == CONVERTED
    assert len(found.detours) == 4


def test_a_failure_and_what_worked_instead_are_a_pitfall() -> None:
    tried = [
        (1, bash("python3 scripts/convert.py data/logs.csv", failed=True, result="Error: old"))
    ]
    found = aligned(*heaps.conversions(), heaps.conversion("logs", extra=tried))

    seen = {one.said: one for one in found.pitfalls}
    assert orders(found) == CONVERTED
    assert seen["Error: old"].remedy == CONVERTED[1]
    assert seen["Error: no"].text == "Run `pip install jq`."
    assert seen["Error: no"].seen_in == 1


def test_what_made_the_same_command_work_is_named() -> None:
    command = "pandoc notes/b1.md -o b1.docx"
    missing = bash(command, failed=True, result="pandoc: not found")
    heap = [
        trace(f"Make a document of notes/{name}.md", bash(f"pandoc notes/{name}.md -o {name}.docx"))
        for name in ("meeting", "ideas")
    ]
    mended = [missing, bash("brew install pandoc"), bash(command)]

    found = aligned(*heap, trace("Make a document of notes/b1.md", *mended))

    (pitfall,) = found.pitfalls
    assert pitfall.text == found.steps[0].text
    assert pitfall.remedy == "Run `brew install pandoc`."


def test_a_step_that_some_left_out_is_optional_with_how_often() -> None:
    heap = [heaps.conversion(name) for name in ("sales", "orders", "users")]

    found = aligned(*heap, heaps.conversion("stock", without=2))

    assert orders(found) == CONVERTED
    assert [step.optional for step in found.steps] == [False, False, True, False]
    assert found.steps[2].seen_in == 3


def test_a_step_taken_earlier_by_one_is_still_the_same_step() -> None:
    def checked(name: str, order: str) -> Trace:
        programs = {"b": "black", "r": "ruff check", "m": "mypy"}
        lines = [bash(f"{programs[letter]} src/{name}.py") for letter in order]
        return trace(f"Check src/{name}.py", *lines)

    found = aligned(checked("one", "brm"), checked("two", "bmr"), checked("three", "brm"))

    assert [step.seen_in for step in found.steps] == [3, 3, 3]
    assert found.detours == ()


def test_traces_of_other_lengths_share_what_they_share() -> None:
    more = [
        (4, bash(line)) for line in ("jq length out/b.json", "python3 scripts/convert.py b.csv")
    ]

    found = aligned(
        heaps.conversion("sales"), heaps.conversion("orders"), heaps.conversion("users", extra=more)
    )

    assert orders(found) == CONVERTED
    assert len(found.detours) == 2


def test_chained_commands_are_the_same_as_one_after_the_other() -> None:
    lines = ("git pull", "make build", "make publish")
    apart = trace("Publish the site", *(bash(line) for line in lines))
    chained = trace("Publish the site now", bash(" && ".join(lines)))

    found = aligned(apart, chained)

    assert orders(found) == [f"Run `{line}`." for line in lines]


def test_only_to_look_around_is_optional_even_where_all_did() -> None:
    def looked(name: str) -> Trace:
        return trace(f"Build {name}", bash("ls"), bash(f"make {name}"), bash("ninja install"))

    found = aligned(looked("a1"), looked("b2"), looked("c3"))

    assert found.steps[0].optional
    assert not found.steps[-1].optional


def test_an_app_is_searched_by_its_elements() -> None:
    found = aligned(*(heaps.search(text) for text in ("cats", "dog videos", "lo-fi music")))

    assert orders(found) == [
        f"Open the app `{heaps.YOUTUBE}`.",
        "Wait until it is ready.",
        f"Tap `Search` (`{heaps.YOUTUBE}:id/menu_search`).",
        "Type `{search_text}`.",
        "Press `KEYCODE_ENTER`.",
    ]
    assert found.goal == "Search YouTube for {search_text}"


def test_an_element_that_says_what_was_asked_for_is_a_parameter() -> None:
    def called(who: str) -> Trace:
        phone = touch("launch_app", packageName="com.phone")
        return trace(f"Call {who}", phone, tap("", who), tap("com.phone:id/call", "Call"))

    found = aligned(called("Ann"), called("Bob Ray"), called("Carl"))

    assert found.steps[1].text == "Tap `{text}`."


def test_too_little_in_common_is_nothing() -> None:
    assert align(heaps.unrelated()[4:]) is None
    assert align([heaps.conversion("sales")]) is None
    assert align([]) is None
    looks = [trace(f"Look at {name}", bash("ls"), bash("pwd")) for name in ("a", "b", "c")]
    assert align(looks) is None


@given(st.permutations(range(5)))
@settings(max_examples=10, deadline=None)
def test_the_order_of_traces_does_not_matter(order: list[int]) -> None:
    heap = heaps.conversions()

    assert align([heap[at] for at in order]) == align(heap)


def test_the_same_trace_twice_counts_once() -> None:
    heap = heaps.conversions()

    again = aligned(*heap, replace(heap[0], session_path="elsewhere"))

    assert again.steps == aligned(*heap).steps


def test_of_many_traces_some_are_aligned() -> None:
    heap = [heaps.conversion(f"table{at}") for at in range(MOST_ALIGNED + 5)]

    assert len(aligned(*heap).traces) == MOST_ALIGNED


def test_of_long_traces_the_beginning_is_aligned() -> None:
    steps = [bash(f"tool{at} run --on x") for at in range(150)]
    heap = [trace(f"Run all of it on {day}", *steps) for day in ("Monday", "Friday", "Sunday")]

    assert len(aligned(*heap).steps) == 100


@pytest.mark.parametrize("cls", ["EditText", "Button"])
def test_what_is_typed_into_a_secret_field_is_nowhere(cls: str) -> None:
    def signed_in(who: str) -> Trace:
        return trace(
            f"Sign in to the portal as {who}",
            touch("launch_app", packageName="com.portal"),
            tap("com.portal:id/username", cls="EditText"),
            touch("type", text=who),
            tap("com.portal:id/password", cls=cls),
            touch("type", text="hunter2secret9"),
            tap("com.portal:id/login", "Sign in"),
        )

    found = aligned(signed_in("ann"), signed_in("bob"), signed_in("carl"))

    shown = repr(replace(found, traces=()))
    assert "hunter2" not in shown
    assert found.steps[4].text == "Type `{password}`."
    assert [one.name for one in found.parameters if one.is_secret] == ["password"]
