from pathlib import Path

from prowess.host.processes.facts import LocalFacts


def make_program(path: Path) -> None:
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)


def test_a_program_on_the_path_is_found_and_a_plain_file_is_not(tmp_path: Path) -> None:
    make_program(tmp_path / "tool")
    (tmp_path / "data").write_text("")

    facts = LocalFacts({"PATH": str(tmp_path)}).probe({"tool", "data", "none"}, set())

    assert facts.bins == {"tool"}


def test_a_program_that_is_installed_later_is_found_without_a_restart(tmp_path: Path) -> None:
    probe = LocalFacts({"PATH": str(tmp_path)})
    assert probe.probe({"tool"}, set()).bins == set()

    make_program(tmp_path / "tool")

    assert probe.probe({"tool"}, set()).bins == {"tool"}


def test_another_search_path_forgets_what_was_found(tmp_path: Path) -> None:
    make_program(tmp_path / "tool")
    environ = {"PATH": str(tmp_path)}
    probe = LocalFacts(environ)
    assert probe.probe({"tool"}, set()).bins == {"tool"}

    environ["PATH"] = "/nowhere"

    assert probe.probe({"tool"}, set()).bins == set()


def test_an_absolute_path_counts_and_a_relative_one_does_not(tmp_path: Path) -> None:
    make_program(tmp_path / "tool")
    absolute = str(tmp_path / "tool")

    facts = LocalFacts({"PATH": str(tmp_path)}).probe({absolute, "./tool", "x/../tool", ""}, set())

    assert facts.bins == {absolute}


def test_a_blank_variable_is_not_set() -> None:
    facts = LocalFacts({"A": "x", "B": "  ", "C": ""}).probe(set(), {"A", "B", "C", "D"})

    assert facts.env == {"A"}
