"""What varies between traces becomes parameters with names."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.experience.lessons.moves import bound_text
from prowess.experience.lessons.parameter_names import Derivation, ValueSource, derive_values
from prowess.experience.lessons.parameters import Parametrized, VaryingField, find_parameters
from prowess.experience.redaction import HIDDEN
from prowess.transcripts.traces import Deed, UiTarget


def field(
    *values: str, name: str = "command", deed: Deed = Deed.SHELL, of: str = "", into: str = ""
) -> VaryingField:
    target = UiTarget(resource_id=into) if into else None
    source = ValueSource(deed=deed, field=name, name=of, target=target)
    return VaryingField(values=dict(enumerate(values)), source=source)


def learned(*fields: VaryingField, tasks: tuple[str, ...] = ("", "", "")) -> Parametrized:
    return find_parameters(tasks, fields)


def names(found: Parametrized) -> list[str]:
    return [one.name for one in found.parameters]


def test_what_is_equal_everywhere_stays_literal() -> None:
    found = learned(field("make all", "make all", "make all"))

    assert found.texts == ("make all",)
    assert found.parameters == ()


def test_common_folders_stay_and_a_file_is_named_by_its_ending() -> None:
    found = learned(
        field("cat data/sales.csv", "cat data/orders.csv", "cat data/users.csv"),
        tasks=("Show sales.csv", "Show orders.csv", "Show users.csv"),
    )

    assert found.texts == ("cat data/{csv_file}",)
    assert found.goals == ("Show {csv_file}",) * 3
    (one,) = found.parameters
    assert one.examples == ("sales.csv", "orders.csv", "users.csv")
    assert one.is_asked


def test_the_same_values_are_the_same_parameter_everywhere() -> None:
    people = ("ann", "bob", "carl")
    found = learned(
        field(*(f"useradd {who}" for who in people)),
        field(*(f"Welcome, {who}!" for who in people), name="content", deed=Deed.WRITE),
        field(*(f"home/{who}/note.txt" for who in people), name="path", deed=Deed.WRITE),
        tasks=tuple(f"Add the user {who}" for who in people),
    )

    assert found.texts == ("useradd {user}", "Welcome, {user}!", "home/{user}/note.txt")
    assert names(found) == ["user"]


@pytest.mark.parametrize(
    ("pattern", "values", "text"),
    [
        ("out/{}.json", ("sales", "orders"), "out/{csv_name}.json"),
        ("{}.csv.gz", ("sales", "orders"), "{csv_file}.gz"),
    ],
)
def test_what_follows_from_a_file_is_told_through_it(
    pattern: str, values: tuple[str, str], text: str
) -> None:
    given = field(*(f"cat {value}.csv" for value in values))
    made = field(*(f"rm {pattern.format(value)}" for value in values))

    found = learned(given, made, tasks=("Do sales.csv", "Do orders.csv"))

    assert found.texts[1] == f"rm {text}"
    assert len([one for one in found.parameters if not one.derived_from]) == 1


def test_a_date_in_another_form_is_told_through_the_date() -> None:
    found = learned(
        field("report --date 2026-01-05", "report --date 2026-02-07"),
        field("cp a s3://x/20260105/", "cp a s3://x/20260207/"),
        tasks=("Report for 2026-01-05", "Report for 2026-02-07"),
    )

    assert found.texts == ("report --date {date}", "cp a s3://x/{date_digits}/")
    assert found.parameters[1].about == "`date` only its digits"


def test_a_name_in_other_spellings_is_one_name() -> None:
    found = learned(
        field("src/UserCard.tsx", "src/Nav.tsx", "src/LoginForm.tsx", name="path"),
        field("src/user-card.css", "src/nav.css", "src/login-form.css", name="path"),
        tasks=("Create component UserCard", "Create component Nav", "Create component LoginForm"),
    )

    assert found.texts == ("src/{component}.tsx", "src/{component_slug}.css")


def test_a_version_keeps_the_letter_before_it() -> None:
    found = learned(
        field('git tag -a v1.2.0 -m "Release 1.2.0"', 'git tag -a v1.3.0 -m "Release 1.3.0"'),
        tasks=("Release 1.2.0", "Release 1.3.0"),
    )

    assert found.texts == ('git tag -a v{version} -m "Release {version}"',)


def test_what_most_did_and_nobody_asked_for_is_a_habit() -> None:
    found = learned(field("python3 x.py -q", "python x.py -q", "python3 x.py --quiet"))

    assert found.texts == ("python3 x.py -q",)
    assert found.parameters == ()


def test_what_a_program_is_given_is_no_habit_however_many_gave_the_same() -> None:
    found = learned(field("ping web1", "ping web1", "ping web2", of="ping"))

    (one,) = found.parameters
    assert found.texts == ("ping {host}",)
    assert (one.usual, one.examples) == ("web1", ("web1", "web2"))


def test_who_called_a_program_otherwise_is_known() -> None:
    found = learned(field("python3 x.py -q", "python x.py -q", "python3 x.py --quiet"))

    assert found.otherwise == ({1: "python x.py -q", 2: "python3 x.py --quiet"},)


def test_an_option_that_is_another_one_each_time_is_a_parameter() -> None:
    found = learned(field("pick -x a", "pick -y a", "pick -z a"))

    assert [one.examples for one in found.parameters] == [("-x", "-y", "-z")]


def test_the_number_of_an_option_is_a_parameter() -> None:
    found = learned(field("build -j2 all", "build -j4 all", "build -j8 all"))

    assert found.texts == ("build -j{number} all",)


@each_row(
    ("task", "name"),
    [
        ('Send a message saying "{}"', "message"),
        ("Make a playlist called {}", "playlist"),
        ("Call {}", "contact"),
        ("Send the photo to {}", "recipient"),
        ("Email {} about it", "recipient"),
    ],
)
def test_what_is_typed_has_the_name_of_what_the_task_calls_it(task: str, name: str) -> None:
    values = ("Ann", "Bob", "Carl")
    typed = field(*values, name="text", deed=Deed.TYPE, into="a:id/search_src_text")

    assert names(learned(typed, tasks=tuple(map(task.format, values)))) == [name]


_words = st.sampled_from(["run", "-a", "-d", "--fix", "x.csv", "y.csv", "web1", "web2", "12", "|"])
_lines = st.lists(_words, min_size=1, max_size=6).map(" ".join)


@given(st.lists(_lines, min_size=3, max_size=6))
@settings(max_examples=50, deadline=None)
def test_no_command_is_told_that_no_trace_ran(lines: list[str]) -> None:
    found = learned(field(*(f"tool {line}" for line in lines)), tasks=("",) * len(lines))

    parts = re.split(r"\{[a-z0-9_]+\}", found.texts[0])
    told = re.compile(".+".join(map(re.escape, parts)))
    assert any(told.fullmatch(f"tool {line}") for line in lines)


def test_what_somebody_asked_for_is_no_habit() -> None:
    found = learned(
        field("zip sales.csv", "zip sales.csv", "zip users.csv"),
        tasks=("Pack sales.csv", "Pack sales.csv again", "Pack users.csv"),
    )

    assert found.texts == ("zip {csv_file}",)


def test_a_message_in_quotes_is_one_parameter() -> None:
    found = learned(
        field(
            'git commit -m "Fix parser"',
            'git commit -m "Add logging to the server"',
            'git commit -m "Speed up"',
            of="git commit",
        )
    )

    assert found.texts == ('git commit -m "{message}"',)


@each_row(
    ("fields", "name"),
    [
        (field("x --output a.json", "x --output b.json", "x --output c.json"), "output_file"),
        (field("x --city Paris", "x --city Rome", "x --city Oslo"), "city"),
        (field("CITY=Paris x", "CITY=Rome x", "CITY=Oslo x"), "city"),
        (field("x 2026-01-02", "x 2026-02-03", "x 2026-03-04"), "date"),
        (field("x a@b.org", "x c@d.org", "x e@f.org"), "email"),
        (field("x https://a.org/b", "x https://c.org/d", "x https://e.org/f"), "url"),
        (field("git checkout dev", "git checkout main", "git checkout x1", of="git checkout"),
         "branch"),
        (field("Hi", "Yes", "No way", name="text", deed=Deed.TYPE, into="a:id/message_input"),
         "message"),
        (field("Hi", "Yes", "No", name="query", deed=Deed.TOOL), "query"),
        (field("x sales/a.txt", "x work/in/a.txt", "x old/a.txt"), "txt_file"),
    ],
)  # fmt: skip
def test_names_come_from_where_a_value_stands(fields: VaryingField, name: str) -> None:
    assert names(learned(fields))[0] == name


@each_row(
    ("values", "text"),
    [
        (("a/data/x.csv", "b/data/y.csv", "c/data/z.csv"), "cat {folder}/data/{csv_file}"),
        (("~/a/x1.csv", "~/b/c/y1.csv", "~/z1.csv"), "cat ~/{csv_file}"),
        (("~/a/", "~/b/c/", "~/d/"), "cat ~/{folder}/"),
        (("https://a.org/x", "https://b.org/y", "https://c.org/z"), "cat {url}"),
        (("https://a.org/x1", "https://a.org/y1", "https://a.org/z1"), "cat https://a.org/{name}"),
    ],
)
def test_paths_differ_in_their_parts(values: tuple[str, ...], text: str) -> None:
    assert learned(field(*(f"cat {value}" for value in values))).texts == (text,)


def test_texts_too_long_to_compare_are_content() -> None:
    texts = [bound_text(letter * 5_000) for letter in "abc"]

    found = learned(field(*texts, name="content", deed=Deed.WRITE))

    assert found.texts == ("{content}",)


def test_names_are_unique() -> None:
    found = learned(field("merge a1.csv b1.csv", "merge a2.csv b2.csv", "merge x3.csv y3.csv"))

    assert names(found) == ["csv_file", "csv_file_2"]


def test_a_long_text_that_differs_is_told_of_and_not_quoted() -> None:
    texts = tuple(f"{word} " * 90 for word in ("one", "two", "three"))
    found = learned(field(*texts, name="content", deed=Deed.WRITE))

    (one,) = found.parameters
    assert found.texts == ("{content}",)
    assert one.is_content
    assert one.examples == ()


def test_a_secret_is_a_parameter_without_a_value() -> None:
    found = learned(
        field(*(f"curl -H 'Authorization: Bearer ****' https://x.org/{at}" for at in "ab")),
        field(HIDDEN, HIDDEN, name="text", deed=Deed.TYPE, into="a:id/password"),
    )

    secrets = {one.name: one.examples for one in found.parameters if one.is_secret}
    assert found.texts[1] == "{password}"
    assert secrets == {"token": (), "password": ()}


def test_an_extra_word_of_one_trace_is_left_out() -> None:
    found = learned(field("tool run -v x", "tool run x", "tool run x"))

    assert found.texts == ("tool run x",)


def test_another_text_of_a_trace_is_told_with_the_names() -> None:
    found = learned(
        field("cat data/sales.csv", "cat data/orders.csv"),
        tasks=("Show sales.csv", "Show orders.csv"),
    )

    assert found.told(1, "Read orders.csv, not sales.csv.") == "Read {csv_file}, not sales.csv."


def test_what_is_derived_depends_on_the_kind() -> None:
    assert derive_values("a/Big.tar.gz")[Derivation.STEM] == "Big"
    assert derive_values("v1.2")[Derivation.BARE_VERSION] == "1.2"
    assert derive_values("Two words")[Derivation.SNAKE] == "two_words"
    assert Derivation.LOWER not in derive_values("2026-01-02")


_texts = st.text(alphabet="ab./-_ \"'=:{}\n\ue000\u732b1*<>", max_size=30)


@given(st.lists(st.tuples(_texts, _texts, _texts), min_size=1, max_size=4), _texts)
@settings(max_examples=50, deadline=None)
def test_any_texts_become_one_text_without_marks(
    rows: list[tuple[str, str, str]], task: str
) -> None:
    own = str.maketrans("", "", "\ue000")
    fields = [field(*(value.translate(own) for value in row)) for row in rows]

    found = learned(*fields, tasks=(task.translate(own), "b", "a"))

    assert len(found.texts) == len(rows)
    assert not any("\ue000" in text or "\ue001" in text for text in found.texts)
    assert len({one.name for one in found.parameters}) == len(found.parameters)
