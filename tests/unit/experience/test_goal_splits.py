"""Groups that hold several goals are taken apart, and those that hold one stay whole."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rows import each_row
from tests.unit.experience import trace_heaps as heaps
from tests.unit.experience.trace_heaps import bash, tap, tool, touch, trace

from prowess.experience.lessons.alignment import align
from prowess.experience.lessons.goals import group_traces
from prowess.transcripts.traces import Trace

NAMES = ("alpha", "bravo", "carol")


def runs(task: str, *lines: str, names: tuple[str, ...] = NAMES) -> list[Trace]:
    return [
        trace(task.format(name), *(bash(line.format(name)) for line in lines)) for name in names
    ]


def tapped(task: str, button: str, names: tuple[str, ...] = NAMES) -> list[Trace]:
    return [
        trace(
            task.format(name),
            touch("launch_app", packageName="com.social"),
            tap("com.social:id/search", "Search"),
            touch("type", text=name),
            tap("com.social:id/row", name),
            tap("com.social:id/button", button),
        )
        for name in names
    ]


def switched(task: str) -> list[Trace]:
    steps = [
        touch("launch_app", packageName="com.settings"),
        tap("", "Network"),
        tap("com.settings:id/switch", "Use Wi-Fi"),
    ]
    return [trace(task, *steps, session=f"{task} {at}") for at in range(3)]


def called(task: str, mode: str) -> list[Trace]:
    return [
        trace(
            task.format(name),
            tool("home_find", {"room": name}),
            tool("home_set", {"room": name, "mode": mode}),
        )
        for name in NAMES
    ]


PAIRS = {
    "gpasswd": (
        runs("Add user {} to the admins group", "id {}", "gpasswd -a {} admins", "groups {}"),
        runs("Remove user {} from the admins group", "id {}", "gpasswd -d {} admins", "groups {}"),
    ),
    "words that no list has": (
        runs("Endow user {} with rights", "id {}", "gpasswd -a {} admins", "groups {}"),
        runs("Strip user {} of rights", "id {}", "gpasswd -d {} admins", "groups {}"),
    ),
    "usermod": (
        runs("Lock the account {}", "sudo usermod -L {}", "sudo passwd -S {}"),
        runs("Unlock the account {}", "sudo usermod -U {}", "sudo passwd -S {}"),
    ),
    "tar": (
        runs("Compress the folder {}", "ls {}", "tar -czf {0}.tgz {0}", "sha256sum {}.tgz"),
        runs("Extract the archive {}.tgz", "sha256sum {}.tgz", "tar -xzf {}.tgz", "ls {}"),
    ),
    "systemctl": (
        runs("Start the {} service", "systemctl status {}", "systemctl start {}", "probe {}"),
        runs("Stop the {} service", "systemctl status {}", "systemctl stop {}", "probe {}"),
    ),
    "wp": (
        runs("Enable the plugin {}", "wp plugin list", "wp plugin activate {}", "wp cache flush"),
        runs(
            "Disable the plugin {}", "wp plugin list", "wp plugin deactivate {}", "wp cache flush"
        ),
    ),
    "a mode that no list has": (
        runs("Endow user {} with rights", "acl check {}", "acl rights endow {}", "groups {}"),
        runs("Strip user {} of rights", "acl check {}", "acl rights strip {}", "groups {}"),
    ),
    "an option more": (
        runs("Install the package {}", "apk search {}", "apk add {}", "apk info {}"),
        runs("Refresh the package {}", "apk search {}", "apk add --upgrade {}", "apk info {}"),
    ),
    "gh": (
        runs("Close issue {}", "gh issue view {}", "gh issue close {}", names=("12", "34", "56")),
        runs("Reopen issue {}", "gh issue view {}", "gh issue reopen {}", names=("12", "34", "56")),
    ),
    "follow": (tapped("Follow {}", "Follow"), tapped("Unfollow {}", "Unfollow")),
    "buttons that no list has": (tapped("Laud {}", "Laud"), tapped("Scold {}", "Scold")),
    "the same switch": (switched("Turn on wifi"), switched("Turn off wifi")),
    "tools": (called("Warm the room {}", "heat"), called("Chill the room {}", "cool")),
}


@each_row(("one", "other"), PAIRS.values())
def test_opposite_goals_are_two(one: list[Trace], other: list[Trace]) -> None:
    found = group_traces(one + other)

    assert sorted(sorted(run.task for run in group) for group in found) == sorted(
        sorted(run.task for run in heap) for heap in (one, other)
    )


@each_row(("one", "other"), PAIRS.values())
def test_a_run_that_asks_for_the_opposite_is_never_among_the_others(
    one: list[Trace], other: list[Trace]
) -> None:
    asked = {run.task for run in one}

    assert [{run.task for run in group} for group in group_traces(one + other[:1])] == [asked]
    assert [{run.task for run in group} for group in group_traces(one + other[:2])] == [asked]


@each_row("name", [name for name in PAIRS if name != "an option more"])
def test_two_runs_and_one_of_the_opposite_teach_nothing(name: str) -> None:
    one, other = PAIRS[name]

    assert group_traces(one[:2] + other[:1]) == ()
    assert group_traces(one[:1] + other[:2]) == ()


def test_three_ways_are_three_goals() -> None:
    heap = [
        one
        for verb in ("start", "stop", "restart")
        for one in runs(
            f"{verb.capitalize()} the {{}} service",
            "svc status {}",
            f"svc {verb} {{}}",
            "svc log {}",
        )
    ]

    found = group_traces(heap)

    assert [len(group) for group in found] == [3, 3, 3]
    assert all(len({run.task.split()[0] for run in group}) == 1 for group in found)


def test_no_command_of_a_lesson_is_one_that_no_run_ran() -> None:
    heap = [run for one, other in PAIRS.values() for run in one + other]
    ran = {
        str(step.action.fields["command"])
        for run in heap
        for step in run.steps
        if "command" in step.action.fields
    }

    lessons = [found for group in group_traces(heap) if (found := align(group))]

    values = (*NAMES, *(f"{name}.tgz" for name in NAMES), "12", "34", "56")
    for step in (step for lesson in lessons for step in lesson.steps if "Run `" in step.text):
        command = step.text.split("`")[1]
        names = step.parameters
        filled = {command}
        for name in names:
            filled = {text.replace(f"{{{name}}}", value) for text in filled for value in values}
        assert filled & ran, step.text


def test_other_words_and_habits_that_do_not_go_together_are_one_goal() -> None:
    asked = ("Check {}", "Look over {}", "Check {}", "Look over {}", "Check {}", "Look over {}")
    options = ("-q", "-q", "-v", "-v", "-q", "-v")
    names = ("aa", "bb", "cc", "dd", "ee", "ff")
    heap = [
        trace(task.format(f"{name}.py"), bash(f"lintit {option} {name}.py"), bash(f"fmt {name}.py"))
        for task, option, name in zip(asked, options, names, strict=True)
    ]

    assert [len(group) for group in group_traces(heap)] == [6]


def test_a_word_that_is_given_to_a_program_is_a_parameter() -> None:
    heap = [
        trace(
            f"Deploy the {service} service to {place}",
            bash(f"docker build -t {service} ."),
            bash(f"kubectl -n {place} apply -f {service}.yaml"),
        )
        for service in ("blog", "shop", "mail")
        for place in ("staging", "production")
    ]

    (group,) = group_traces(heap)

    found = align(group)
    assert found is not None
    assert found.steps[1].text == "Run `kubectl -n {name} apply -f {image}.yaml`."


def test_what_was_looked_for_is_no_wording() -> None:
    texts = ("how to turn on wifi", "how to turn off wifi", "how to lock a phone", "unlock a phone")

    assert [len(group) for group in group_traces([heaps.search(text) for text in texts])] == [4]


@given(st.randoms(use_true_random=False))
@settings(max_examples=8, deadline=None)
def test_the_order_of_traces_does_not_matter(chance: Random) -> None:
    heap = [run for one, other in list(PAIRS.values())[:4] for run in one + other]
    mixed = list(heap)
    chance.shuffle(mixed)

    assert group_traces(mixed) == group_traces(heap)
