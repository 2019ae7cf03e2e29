"""A goal in plain words, without what was another value in each run."""

from tests.rows import each_row

from prowess.experience.lessons.parameters import (
    GAP,
    Parameter,
    make_skill_name,
    make_title,
    remove_values,
    simplify_goal,
)
from prowess.skills.invocation import fill


def phrase(goal: str, *names: str) -> str:
    return simplify_goal(goal, [Parameter(name=name, about="") for name in names])


@each_row(
    ("goals", "done", "told"),
    [
        (
            ("Send it to ann", "Send it to bob", "Send it to carl"),
            ("mail ann@x.org", "mail bob@y.org", "mail carl@z.org"),
            f"Send it to {GAP}",
        ),
        (
            ("Mail the notes for ann now", "Send bob the notes", "carl gets the notes"),
            ("mail ann", "mail bob", "mail carl"),
            f"Mail the notes for {GAP} now",
        ),
        (("Call Ann today", "Ring up Bob", "Phone Carl now"), ("", "", ""), f"Call {GAP} today"),
        (("Play mozart", "Play bach", "Play verdi"), ("", "", ""), f"Play {GAP}"),
        (("Open gate g7", "Open gate x", "See to gates"), ("", "", ""), f"Open gate {GAP}"),
    ],
)
def test_a_word_that_is_a_value_of_one_run_is_left_out(
    goals: tuple[str, ...], done: tuple[str, ...], told: str
) -> None:
    assert remove_values(goals, done)[0] == told


@each_row(
    "goals",
    [
        ("Convert {csv_file} to JSON", "Turn {csv_file} into JSON", "Make JSON of {csv_file}"),
        ("Please resize {file}", "Please shrink {file}", "Please scale {file}"),
        ("Send the report to ann", "Send the report to ann", "Send the report to bob"),
        ("\u628a\u6587\u4ef6\u8f6c\u6362", "\u8f6c\u6362\u6587\u4ef6", "\u8f6c\u6362"),
        ("Tidy up",),
    ],
)
def test_words_in_which_a_task_is_put_stay(goals: tuple[str, ...]) -> None:
    assert remove_values(goals, [""] * len(goals))[0] == goals[0]


@each_row(
    ("goal", "title"),
    [
        ("Log in to the portal as {text}", "Log in to the portal"),
        ("Send the report to {to}", "Send the report"),
        (f"Send {GAP} the report", "Send the report"),
        (f"log in as the {GAP} to the portal", "Log in to the portal"),
        ("Search for {text_2}", "Search"),
        ("Check out the branch {branch}", "Check out the branch"),
        (f"{GAP}", "Repeat a task"),
    ],
)
def test_a_title_has_no_word_for_what_has_none(goal: str, title: str) -> None:
    assert make_title(phrase(goal, "text", "text_2", "to", "branch")) == title


def test_what_follows_from_a_text_is_no_word_either() -> None:
    text = Parameter(name="text", about="")
    derived = Parameter(name="text_title", about="", derived_from="text")

    assert simplify_goal("Write to {text_title}", [text, derived]) == "Write"


def test_a_title_comes_out_of_a_call_as_it_went_in() -> None:
    title = make_title(phrase("Explain $ARGUMENTS and $1 to me"))

    assert fill(title, "rm -rf").text.startswith("Explain $ARGUMENTS and $1 to me\n")
    assert make_skill_name(phrase("Explain $ARGUMENTS and $1 to me")) == "explain-arguments-and-1"
