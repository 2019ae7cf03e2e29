"""Which traces have one goal: by what was asked for and by what was done."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rows import each_row
from tests.unit.experience import trace_heaps as heaps
from tests.unit.experience.trace_heaps import bash, trace

from prowess.experience.lessons.goals import FEWEST_TRACES, compare_words, group_traces, mask_task
from prowess.transcripts.traces import Trace


def sizes(traces: list[Trace]) -> list[int]:
    return [len(group) for group in group_traces(traces)]


def test_five_traces_of_one_task_are_one_goal_in_other_words_too() -> None:
    assert sizes(heaps.conversions()) == [5]


def test_ten_unrelated_tasks_are_no_goal() -> None:
    assert sizes(heaps.unrelated()) == []


def test_goals_in_one_heap_stay_apart() -> None:
    heap = heaps.releases() + heaps.conversions() + heaps.unrelated() + heaps.deployments()

    found = group_traces(heap)

    asked = [{trace.task.split()[0].lower() for trace in group} for group in found]
    assert [len(group) for group in found] == [5, 3, 3]
    assert asked[0] == {"convert", "please", "turn"}
    assert sorted(map(sorted, asked[1:])) == [["deploy"], ["release"]]


@given(st.randoms(use_true_random=False))
@settings(max_examples=8, deadline=None)
def test_the_order_of_traces_does_not_matter(chance: Random) -> None:
    heap = heaps.conversions() + heaps.releases() + heaps.unrelated()
    mixed = list(heap)
    chance.shuffle(mixed)

    assert group_traces(mixed) == group_traces(heap)


def test_the_same_words_with_other_steps_are_other_goals() -> None:
    task = "Deploy the app to production"
    heap = [
        trace(task, bash("docker build -t app ."), bash("docker push app"), session="1"),
        trace(task, bash("heroku login"), bash("heroku releases"), session="2"),
        trace(task, bash("fly deploy"), session="3"),
    ]

    assert group_traces(heap) == ()


def test_other_words_with_the_same_telling_steps_are_one_goal() -> None:
    heap = [
        heaps.search("cats", "Search YouTube for cats"),
        heaps.search("\u732b", "\u5728\u89c6\u9891\u91cc\u641c\u7d22\u732b"),
        heaps.search("Hunde", "Zeig mir etwas \u00fcber Hunde"),
    ]

    assert sizes(heap) == [3]


def test_chinese_tasks_are_compared_by_their_letters() -> None:
    asked = "\u628adata/{}.csv\u8f6c\u6362\u6210JSON"
    names = ("sales", "orders", "users")

    assert sizes([heaps.conversion(name, asked.format(name)) for name in names]) == [3]


def test_words_that_only_say_go_on_carry_no_goal() -> None:
    heap = [replace(heaps.change(f"m{at}", "continue"), session_id=str(at)) for at in range(5)]

    assert group_traces(heap) == ()


def test_a_task_that_failed_or_did_nothing_does_not_count() -> None:
    first, second, *_ = heaps.conversions()
    failed = replace(heaps.conversion("logs"), ok=False)
    idle = replace(heaps.conversion("notes"), steps=())

    assert group_traces([first, second, failed, idle]) == ()


def test_the_same_session_twice_counts_once() -> None:
    first, second, *_ = heaps.conversions()
    moved = replace(first, session_path="elsewhere/sales.jsonl")

    assert group_traces([first, second, moved, second]) == ()


def test_a_session_that_was_gone_on_with_counts_once() -> None:
    first, second, *_ = heaps.conversions()
    said = "I read the file, converted it and looked at what came of it: 120 rows."
    first = replace(first, final_message=said)
    copied = replace(first, session_id="resumed")

    assert group_traces([first, second, copied]) == ()


def test_a_router_may_judge_the_words() -> None:
    asked: list[tuple[str, str]] = []

    def never(one: str, other: str) -> float:
        asked.append((one, other))
        return 0.0

    first, second, third = (heaps.change(name, f"Rename {name}.py") for name in ("a1", "b2", "c3"))

    assert sizes([first, second, third]) == [FEWEST_TRACES]
    assert group_traces([first, second, third], likeness=never) == ()
    assert asked == [("Rename py", "Rename py")]


@each_row(
    ("task", "masked"),
    [
        ("Convert data/sales.csv to JSON", "Convert csv to JSON"),
        ("\u628asales.csv\u8f6c\u6362\u6210JSON", "\u628a csv \u8f6c\u6362\u6210JSON"),
        ("Release v1.2.0 on 2026-03-01.", "Release version on date ."),
        ("write to ann@example.com and/or see https://x.org/a", "write to email and/or see url"),
        ('search for "cats" in com.example.app', "search for text in package"),
        ("fix issue #12 in src/", "fix issue number in folder"),
        ("don't touch it's fine", "don't touch it's fine"),
    ],
)
def test_what_varies_is_masked(task: str, masked: str) -> None:
    assert mask_task(task) == masked


def test_words_are_compared_from_nothing_to_everything() -> None:
    assert compare_words("convert csv to json", "Convert CSV to JSON!") == 1.0
    assert compare_words("convert csv to json", "water the plants") == 0.0
    assert compare_words("please continue", "continue") == 0.0
    assert 0.3 < compare_words("convert csv to json", "turn csv into json") < 0.9


def backup(session: str, *, said: str = "done", result: str = "ok", thought: str = "") -> Trace:
    steps = [
        replace(heaps.bash("restic backup /srv", result=result), thought=thought),
        heaps.bash("restic forget --prune", result="ok"),
    ]
    return heaps.trace("Back up the server", *steps, session=session, final=said)


def test_a_task_that_is_simply_done_again_counts_each_time() -> None:
    assert sizes([backup(f"week {at}") for at in range(3)]) == [3]
    assert sizes([backup(f"week {at}", result="3 files are new") for at in range(3)]) == [3]


@pytest.mark.parametrize(
    "result",
    ["snapshot 4f2a91bc saved", "began 02:13:55", "took 12.4 s", "5230117 bytes were added"],
)
def test_runs_that_saw_the_very_same_are_copies(result: str) -> None:
    copies = [backup(f"copy {at}", result=result) for at in range(3)]
    runs = [backup(f"run {at}", result=result.replace("1", str(at + 2))) for at in range(3)]

    assert sizes(copies) == []
    assert sizes(runs) == [3]


def test_what_was_seen_tells_runs_apart_that_thought_the_same() -> None:
    thought = "The server is backed up every week with restic, and old snapshots are pruned."
    runs = [backup(f"run {at}", thought=thought, result=f"{at} are new") for at in range(3)]

    assert sizes([backup(f"copy {at}", thought=thought) for at in range(3)]) == []
    assert sizes(runs) == [3]


def test_many_traces_are_grouped_by_comparing_few() -> None:
    asked: list[tuple[str, str]] = []

    def counted(one: str, other: str) -> float:
        asked.append((one, other))
        return compare_words(one, other)

    heap = [heaps.conversion(f"table{at}") for at in range(60)]
    heap += [heaps.change(f"part{at}", f"Rename part{at}.py") for at in range(60)]

    assert [len(group) for group in group_traces(heap, likeness=counted)] == [60, 60]
    assert len(asked) < 10


def test_a_changed_trace_has_an_id_of_its_own() -> None:
    first = heaps.conversion("sales")

    assert first.id == first.id == heaps.conversion("sales").id
    assert first == heaps.conversion("sales")
    assert replace(first, task="Convert it back").id != first.id
