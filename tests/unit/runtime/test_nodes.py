"""Machines that lend their programs: they count while they are here, and everybody is told once."""

import threading

import pytest

from prowess.errors import ConfigError
from prowess.runtime.watch import LastGoodSettings, Nodes, WithNodes
from prowess.settings import NodeSettings, Settings, SkillsSettings


class Told:
    """Counts how often it was called."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> None:
        self.times += 1


class File:
    """Settings that a test changes, or breaks."""

    def __init__(self) -> None:
        node = NodeSettings(name="own", bins=frozenset({"git"}))
        self.settings = Settings(skills=SkillsSettings(nodes=(node,)))
        self.problem = ""

    def read(self) -> Settings:
        if self.problem:
            raise ConfigError("prowess.json", self.problem)
        return self.settings


def test_a_machine_is_told_of_when_it_comes_changes_and_leaves() -> None:
    told = Told()
    nodes = Nodes(told)

    for bins in (["a"], ["a"], ["a", "a"], ["a", "b"]):
        assert nodes.report("c1", "Box", "darwin", bins)
    nodes.leave("c1")
    nodes.leave("c1")
    nodes.leave("never here")

    assert told.times == 3
    assert nodes.listed() == []


def test_the_machines_are_listed_in_the_order_in_which_they_came() -> None:
    nodes = Nodes(Told())

    nodes.report("c2", "Second", "linux", ["a", "b"])
    nodes.report("c1", "", "", [])

    assert nodes.listed() == [
        {"name": "Second", "platform": "linux", "bins": 2},
        {"name": "node", "platform": "", "bins": 0},
    ]
    assert nodes.has("c1")
    assert not nodes.has("c3")


def test_what_a_machine_calls_itself_is_one_short_line() -> None:
    nodes = Nodes(Told())

    nodes.report("c1", "a\nb\x1b[31m" + "c" * 200, "dar\x00win\n" + "x" * 200, [])

    (node,) = nodes.current()
    assert (len(node.name), len(node.platform)) == (80, 80)
    assert node.name.isprintable()
    assert node.platform.isprintable()


def test_there_is_room_for_fifty_and_for_who_is_here_already() -> None:
    told = Told()
    nodes = Nodes(told)
    for number in range(50):
        nodes.report(f"c{number}", "Box", "", [])

    assert not nodes.report("one more", "Box", "", [])
    assert nodes.report("c0", "Box", "", ["new"])
    nodes.leave("c1")

    assert nodes.report("one more", "Box", "", [])
    assert told.times == 53


def test_machines_stand_beside_those_of_the_file() -> None:
    file, nodes = File(), Nodes(Told())
    settings = WithNodes(file, nodes)
    alone = settings.read()

    nodes.report("c1", "Box", "darwin", ["jq"])
    joined = settings.read()
    nodes.leave("c1")

    assert alone is settings.read() is file.settings
    own, box = joined.skills.nodes
    assert own == file.settings.skills.nodes[0]
    assert (box.name, box.platforms, box.bins) == ("Box", ("darwin",), frozenset({"jq"}))


def test_settings_are_the_same_object_until_the_file_or_a_machine_changes() -> None:
    file, nodes = File(), Nodes(Told())
    settings = WithNodes(file, nodes)
    nodes.report("c1", "Box", "", ["jq"])
    first = settings.read()

    assert settings.read() is first
    file.settings = Settings()
    second = settings.read()
    nodes.report("c1", "Box", "", ["jq", "fd"])

    assert second is not first
    assert second.skills.nodes[0].platforms == ()
    assert settings.read() is not second


def test_many_threads_may_come_and_go_at_once() -> None:
    nodes = Nodes(Told())

    def visit(name: str) -> None:
        for number in range(50):
            nodes.report(name, name, "", [str(number)])
            nodes.current()
            nodes.leave(name)

    threads = [threading.Thread(target=visit, args=(f"c{number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert nodes.current() == ()


def test_a_file_that_broke_leaves_the_last_settings_in_force_and_is_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    file = File()
    settings = LastGoodSettings(file)
    good = settings.read()

    for problem in ("is broken", "is broken", "is worse", ""):
        file.problem = problem
        assert settings.read() is good
    file.problem = "is broken"
    settings.read()

    assert [record.getMessage().split()[2:4] for record in caplog.records] == [
        ["is", "broken"], ["is", "worse"], ["is", "broken"],
    ]  # fmt: skip


def test_a_file_that_was_never_good_is_refused() -> None:
    file = File()
    file.problem = "is broken"

    with pytest.raises(ConfigError, match="is broken"):
        LastGoodSettings(file).read()
