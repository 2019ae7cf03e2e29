"""Several traces of one goal side by side: what all did, what some did, and the detours."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.experience import trace_heaps as heaps
from tests.unit.experience.trace_heaps import bash, tap, touch, trace

from prowess.experience.lessons.alignment import MOST_ALIGNED, Aligned, align
from prowess.transcripts.traces import Trace

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
    assert seen["Error: no"].text == "Run `pip install requests`."
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


def test_what_all_runs_did_is_not_optional_even_where_it_only_looks() -> None:
    def looked(name: str) -> Trace:
        return trace(f"Build {name}", bash("ls"), bash(f"make {name}"), bash("ninja install"))

    found = aligned(looked("a1"), looked("b2"), looked("c3"))

    assert orders(found) == ["Run `ls`.", "Run `ninja install`."]
    assert [step.optional for step in found.steps] == [False, False]
    # It tells nothing about the task all the same.
    assert not found.steps[0].usual


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

    assert found.steps[1].text == "Tap `{contact}`."


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


SITES = ("aa1", "bb2", "cc3", "dd4", "ee5")


def deployed(site: str, host: str, *, build: str = "hugo") -> Trace:
    return trace(
        f"Deploy the site {site}",
        bash(f"{build} -s {site} -d public/{site}"),
        bash(f"scp public/{site}/index.html {host}:/srv/{site}/"),
        bash(f"ssh {host} systemctl reload nginx"),
    )


def test_a_host_that_most_runs_share_is_a_parameter_all_the_same() -> None:
    hosts = ("web1", "web1", "web1", "web2", "web3")

    found = aligned(*map(deployed, SITES, hosts))

    assert orders(found)[1:] == [
        "Run `scp public/{site}/index.html {host}:/srv/{site}/`.",
        "Run `ssh {host} systemctl reload nginx`.",
    ]
    host = next(one for one in found.parameters if one.name == "host")
    assert (host.usual, host.examples[0]) == ("web1", "web1")
    assert set(host.examples) == {"web1", "web2", "web3"}


def test_an_option_of_one_run_stays_out_and_is_told_of() -> None:
    builds = ("hugo", "hugo", "hugo --minify", "hugo", "hugo")
    heap = [deployed(site, "web1", build=build) for site, build in zip(SITES, builds, strict=True)]

    found = aligned(*heap)

    (other,) = found.otherwise
    assert orders(found)[0] == "Run `hugo -s {site} -d public/{site}`."
    assert other.text == "Run `hugo --minify -s {site} -d public/{site}`."
    assert other.step == 0
    assert found.tasks[other.trace] == "Deploy the site cc3"


def test_an_option_that_several_runs_chose_is_another_way() -> None:
    def cleaned(name: str, option: str) -> Trace:
        return trace(
            f"Clean up the workspace {name}",
            bash(f"purge {option} ws/{name}".replace("  ", " ")),
            bash(f"tidyup ws/{name}"),
        )

    found = aligned(*map(cleaned, SITES, ("-a", "-a", "-a", "-d", "-d")))
    fixed = aligned(*map(cleaned, SITES, ("--fix", "", "--fix", "", "")))

    assert orders(found)[0] == (
        "Run `purge -a ws/{workspace}`. Or, as 2 of 5 runs did: Run `purge -d ws/{workspace}`."
    )
    assert orders(fixed)[0] == (
        "Run `purge ws/{workspace}`. Or, as 2 of 5 runs did: Run `purge --fix ws/{workspace}`."
    )


def test_a_step_is_never_put_together_from_several_runs() -> None:
    lines = ("tar -czf {0}.tgz {0}", "tar -xzf {0}.tgz")
    heap = [
        trace(
            f"Move the files of {name}", bash(lines[at % 2].format(name)), bash(f"sync-it {name}")
        )
        for at, name in enumerate((*SITES, "ff6"))
    ]

    step = aligned(*heap).steps[0].text

    assert "`tar -xzf {name}.tgz`" in step
    assert "`tar -czf {name}.tgz {name}`" in step
    assert "`tar -czf {name}.tgz`" not in step


def test_a_filter_behind_a_pipe_is_no_parameter_and_no_other_way() -> None:
    heap = [
        trace(f"Audit {name}", bash(f"auditor {name} | head -n {count}"), bash(f"sealer {name}"))
        for name, count in (("aa1", 5), ("bb2", 20), ("cc3", 50))
    ]

    found = aligned(*heap)

    assert [one.name for one in found.parameters] == ["name"]
    assert found.otherwise == ()


def messaged(who: str, said: str, field: str = "", cls: str = "View") -> Trace:
    return trace(
        f'Send {who} a WhatsApp message saying "{said}"',
        touch("launch_app", packageName="com.chat"),
        tap("com.chat:id/menuitem_search", "Search"),
        touch("type", text=who),
        tap("com.chat:id/conversation_row", who),
        *([tap(field, cls=cls)] if field else []),
        touch("type", text=said),
        tap("com.chat:id/send"),
    )


MESSAGES = (("Anna", "I am late"), ("Boris", "See you at 8"), ("Chiara", "Happy birthday!"))


def test_a_row_that_was_tapped_does_not_name_what_was_typed_after_it() -> None:
    found = aligned(*(messaged(*one) for one in MESSAGES))

    assert found.goal == 'Send {recipient} a WhatsApp message saying "{message}"'
    assert [one.name for one in found.parameters] == ["recipient", "message"]


def test_a_field_that_was_tapped_names_what_was_typed_into_it() -> None:
    into = {"field": "com.chat:id/caption_input", "cls": "EditText"}

    found = aligned(*(messaged(*one, **into) for one in MESSAGES))

    assert [one.name for one in found.parameters] == ["recipient", "caption"]


def test_a_number_typed_whole_is_one_parameter() -> None:
    def saved(first: str, last: str, number: str) -> Trace:
        return trace(
            f"Save {first} {last} with number {number}",
            touch("launch_app", packageName="com.book"),
            tap("com.book:id/first", "First name"),
            touch("type", text=first),
            tap("com.book:id/last", "Last name"),
            touch("type", text=last),
            tap("com.book:id/phone", "Phone"),
            touch("type", text=number),
        )

    people = (
        ("Ada", "Lovelace", "+44 123 456"),
        ("Alan", "Turing", "+44 987 654"),
        ("Grace", "Hopper", "+1 555 0100"),
    )

    found = aligned(*(saved(*one) for one in people))

    assert found.goal == "Save {first} {last} with number {phone}"
    assert orders(found)[-1] == "Type `{phone}`."
