"""A goal in plain words, without what was another value in each run."""

from tests.rows import each_row

from prowess.experience.lessons.parameters import Parameter
from prowess.experience.lessons.wording import (
    GAP,
    make_skill_name,
    make_title,
    remove_values,
    word_goals,
)
from prowess.skills.invocation import fill


def phrase(goal: str, *names: str) -> str:
    return word_goals([goal], [Parameter(name=name, about="") for name in names]).phrase


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
        (("Call Ann today", "Ring up Bob", "Phone Carl now"), ("", "", ""), f"Call {GAP} {GAP}"),
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

    assert word_goals(["Write to {text_title}"], [text, derived]).phrase == "Write"


def test_a_title_comes_out_of_a_call_as_it_went_in() -> None:
    title = make_title(phrase("Explain $ARGUMENTS and $1"))

    assert fill(title, "rm -rf").text.startswith("Explain $ARGUMENTS and $1\n")
    assert make_skill_name(phrase("Explain $ARGUMENTS and $1")) == "explain-arguments-and-1"


@each_row(
    ("goals", "title"),
    [
        (
            ("cut a release {version}", "release version {version}", "do the release"),
            "Cut a release",
        ),
        (("Lock the … door", "lock the … door please", "lock the … door"), "Lock the door"),
        (("upgrade … to … and upgrade the lock file",), "Upgrade the lock file"),
        (("schick … die Mahnung über … €",), "Schick die Mahnung"),
        (
            ("csv of … signups", "export the … signups to csv", "signups in a csv"),
            "Export the signups to csv",
        ),
        (
            ("upgrade {package} to {version}", "bump {package} to version {version}"),
            "Upgrade a package to a version",
        ),
        (("add a migration for the {table} table",), "Add a migration for the table"),
        (
            ("remove {user} from the vpn", "remove {user} from the vpn now"),
            "Remove a user from the vpn",
        ),
        (
            ("Set an alarm for …:{minute} am", "set alarm … pm", "wake me up at … am"),
            "Set an alarm",
        ),
        (("i need a {name} component", "create a component {name}"), "Create a component"),
        (("send {recipient} the notes please", "mail the notes to {recipient}"), "Send the notes"),
    ],
)
def test_a_goal_is_called_by_what_its_runs_share(goals: tuple[str, ...], title: str) -> None:
    names = ("version", "package", "table", "user", "minute", "name", "recipient")

    assert (
        make_title(word_goals(goals, [Parameter(name=one, about="") for one in names]).phrase)
        == title
    )


def test_how_people_asked_is_told_with_gaps_for_values_and_without_what_one_added() -> None:
    goals = ("unlock the … door", "unlock the … door please", "unlock the … door for the plumber")

    assert word_goals(goals, []).asked == ("unlock the … door",)


def test_words_between_the_same_neighbours_are_values() -> None:
    goals = ("lock the front door", "can you lock the back door", "lock the garage door please")

    assert remove_values(goals, ["", "", ""])[1] == f"can you lock the {GAP} door"


def test_a_day_or_a_month_belongs_to_one_run() -> None:
    assert remove_values(("export march", "send the april list"), ["", ""])[0] == f"export {GAP}"


@each_row(
    ("title", "name"),
    [
        ("Выкати образ на стенд", "vykati-obraz-na-stend"),
        ("Create a component", "create-component"),
        ("Straße sperren", "strasse-sperren"),
    ],
)
def test_a_name_is_spelt_in_latin_letters(title: str, name: str) -> None:
    assert make_skill_name(title) == name


def test_a_name_that_cannot_be_spelt_says_what_it_is_done_with() -> None:
    assert make_skill_name("部署镜像", "docker-ssh").startswith("docker-ssh-")
