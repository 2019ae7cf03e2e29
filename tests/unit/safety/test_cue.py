"""A row of a cue table is read as it is written, and a slip in it is refused."""

import pytest
from tests.rows import each_row

from prowess.safety.model import Confidence, Level
from prowess.safety.prose.words import (
    Pattern,
    Window,
    read_compounds,
    read_cue,
    read_cues,
    read_hidden_cues,
    read_lexicon,
    read_pattern,
)
from prowess.safety.rules.table import read_rules

# Concepts that come from what a word is, not from the lexicon.
KINDS = {
    *("URL", "PATH", "MAIL", "NUMBER", "EXECUTABLE", "ARCHIVE", "SECRET_PATH", "AGENT_PATH"),
    *(
        "AGENT_SETTINGS",
        "OUTSIDE_PATH",
        "API_URL",
        "OWNER_URL",
        "CHEAP_URL",
        "BORROWED_URL",
        "PASTE_URL",
        "DROP_URL",
        "BARE_URL",
        "FREE_URL",
        "FREE_EXEC_URL",
        "PAGE_URL",
    ),
    *("EXEC_URL", "RELEASE_URL", "UNKNOWN_URL", "REMOTE_PLACE", "STRONG_SECRET"),
    *("LOADED_URL", "LINKED_URL", "IP"),
}


def test_an_arrow_means_in_this_order_and_a_plus_in_any() -> None:
    assert read_pattern("A > B > C").ordered
    assert read_pattern("A > B > C").needs == ("A", "B", "C")
    assert not read_pattern("A + B").ordered
    assert read_pattern("A").needs == ("A",)


def test_a_bar_means_either_of_them() -> None:
    read = read_pattern("A|B > C")

    assert read.groups == (frozenset({"A", "B"}), frozenset({"C"}))
    assert read.musts == ("C",)


def test_what_is_not_said_has_its_default() -> None:
    assert read_pattern("A > B") == Pattern(needs=("A", "B"), ordered=True)


def test_reach_window_and_exceptions_are_read() -> None:
    read = read_pattern("A + B; near 9; block; unless C D; never negated")

    assert (read.near, read.window, read.unless) == (9, Window.BLOCK, ("C", "D"))
    assert read.never_negated


def test_a_cue_has_the_rule_and_message_of_its_row() -> None:
    cue = read_cue("a-rule", "says so", "A > B; even negated; warn; medium")

    assert (cue.rule, cue.message, cue.negatable) == ("a-rule", "says so", False)
    assert (cue.level, cue.confidence) == (Level.WARN, Confidence.MEDIUM)


def test_a_cue_is_sure_and_as_heavy_as_its_rule_where_nothing_is_said() -> None:
    cue = read_cue("a-rule", "says so", "A")

    assert (cue.level, cue.confidence, cue.negatable) == (None, Confidence.HIGH, True)


@each_row(
    ("text", "problem"),
    [
        ("A; naer 9", "'naer 9' means nothing"),
        ("A; criticl", "'criticl' means nothing"),
        ("A; near nine", "invalid literal"),
        ("A > ", "'' is no concept"),
        ("", "'' is no concept"),
        ("A B", "'A B' is no concept"),
        ("a > B", "'a' is no concept"),
        ("A|", "'' is no concept"),
        ("A; unless b", "'b' is no concept"),
    ],
)
def test_a_slip_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        read_pattern(text)


def test_every_cue_names_a_rule_and_concepts_that_exist() -> None:
    compounds, cues = read_compounds(), (*read_cues(), *read_hidden_cues())
    known = {*read_lexicon(), *compounds, *KINDS}
    patterns = (*cues, *(each for some in compounds.values() for each in some))
    named = {concept for each in patterns for group in each.groups for concept in group}
    excepted = {concept for each in patterns for concept in each.unless}

    assert named | excepted <= known
    assert {cue.rule for cue in cues} <= read_rules().keys()
