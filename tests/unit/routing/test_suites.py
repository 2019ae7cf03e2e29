import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.errors import SuiteError
from prowess.evaluation.suites import Case, Suite, read_suite

_KEYS = st.sampled_from(
    [
        "cases",
        "evals",
        "skills",
        "prompt",
        "query",
        "expect",
        "expected",
        "should_trigger",
        "shouldNotTrigger",
        "not",
        "positive",
        "negative",
        "skill",
        "name",
        "type",
        "near",
        "other",
    ]
)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["none", "yes", "a b", "x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=4),
    max_leaves=20,
)


def _read(value: object, own: str | None = None) -> Suite:
    return read_suite(value, where="suite.yaml", own_skill=own)


def _cases(value: object, own: str | None = None) -> list[tuple[str, set[str], set[str], bool]]:
    return [
        (case.prompt, set(case.expect), set(case.not_expected), case.is_open)
        for case in _read(value, own).cases
    ]


def test_a_suite_names_the_skill_that_each_prompt_means() -> None:
    suite = _read(
        {
            "skills": " ../skills ",
            "cases": [
                {"prompt": "bake a loaf", "expect": "baker"},
                {"prompt": "feed me", "expect": ["baker", "cook"], "not": ["poet"]},
                {"prompt": "hello", "expect": "none"},
                {"prompt": "thanks", "expect": None},
            ],
        }
    )

    assert suite == Suite(
        name="suite.yaml",
        skills_dir="../skills",
        cases=(
            Case(prompt="bake a loaf", expect=frozenset(("baker",)), where="cases[0]"),
            Case(
                prompt="feed me",
                expect=frozenset(("baker", "cook")),
                not_expected=frozenset(("poet",)),
                where="cases[1]",
            ),
            Case(prompt="hello", where="cases[2]"),
            Case(prompt="thanks", where="cases[3]"),
        ),
    )


def test_a_bare_list_of_cases_is_a_suite() -> None:
    assert _cases([{"prompt": "bake", "expect": "baker"}]) == [("bake", {"baker"}, set(), False)]


def test_a_case_that_only_forbids_is_open() -> None:
    found = _cases({"cases": [{"prompt": "rhyme", "not": "baker"}]})

    assert found == [("rhyme", set(), {"baker"}, True)]


def test_an_evaluation_beside_a_skill_means_that_skill() -> None:
    shipped = {
        "skill_name": "old-name",
        "evals": [{"id": 1, "prompt": "bake a loaf", "expected_output": "A loaf.", "files": []}],
    }

    assert _cases(shipped, own="baker") == [("bake a loaf", {"baker"}, set(), False)]
    assert _cases(shipped) == [("bake a loaf", {"old-name"}, set(), False)]


@each_row("prompt", ["prompt", "query", "question", "text", "input"])
@each_row(
    ("key", "yes", "no"),
    [
        ("should_trigger", True, False),
        ("shouldTrigger", True, False),
        ("should-activate", "yes", "no"),
        ("expected", "Yes", "NO"),
        ("type", "should_trigger", "should_not_trigger"),
        ("label", "positive", "negative"),
        ("should_not_trigger", False, True),
        ("expect", True, False),
    ],
)
def test_a_trigger_file_tells_by_a_flag(prompt: str, key: str, yes: object, no: object) -> None:
    found = _cases([{prompt: "bake", key: yes}, {prompt: "ride", key: no}], own="baker")

    assert found == [("bake", {"baker"}, set(), False), ("ride", set(), {"baker"}, True)]


@each_row(
    ("positive", "negative"),
    [
        ("should_trigger", "should_not_trigger"),
        ("shouldTrigger", "shouldNotTrigger"),
        ("positive", "negative"),
        ("should", "near"),
        ("should_fire", "should_not_fire"),
    ],
)
def test_a_trigger_file_tells_by_two_lists(positive: str, negative: str) -> None:
    lists = {positive: ["bake", {"prompt": "knead", "why": "dough"}], negative: ["ride"]}
    expected = [
        ("bake", {"baker"}, set(), False),
        ("knead", {"baker"}, set(), False),
        ("ride", set(), {"baker"}, True),
    ]

    assert _cases(lists, own="baker") == expected
    assert _cases({"skill": "baker", "version": 2, **lists}) == expected
    assert _cases({"skill": "baker", "triggers": lists}) == expected


def test_a_near_miss_may_say_which_skill_it_is_for() -> None:
    shipped = [
        {"skill": "baker", "near": [{"prompt": "ride", "expect": "cyclist"}]},
        {"skill": "baker", "near": [{"prompt": "hi", "expect": None}]},
    ]

    assert _cases(shipped) == [
        ("ride", {"cyclist"}, {"baker"}, False),
        ("hi", set(), {"baker"}, False),
    ]


@each_row(
    "shipped",
    [
        {"skills": {"baker": {"should": ["bake"]}, "cyclist": ["ride"]}},
        {
            "skills": [
                {"name": "baker", "positive": ["bake"]},
                {"skill": "cyclist", "should": ["ride"]},
            ]
        },
        {"note": "x", "baker": {"positive": ["bake"]}, "cyclist": {"positive": ["ride"]}},
        [{"name": "baker", "should": ["bake"]}, {"skill": "cyclist", "cases": ["ride"]}],
        {"cases": [{"query": "bake", "skill": "baker"}, {"query": "ride", "skill": "cyclist"}]},
        {
            "skills_tested": ["baker", "cyclist"],
            "skills": ["baker", "cyclist"],
            "test_cases": [
                {"prompt": "bake", "expected_skill": "baker", "reasoning": "dough"},
                {"prompt": "ride", "expected": "cyclist"},
            ],
        },
    ],
)
def test_one_file_may_serve_several_skills(shipped: object) -> None:
    assert _cases(shipped) == [
        ("bake", {"baker"}, set(), False),
        ("ride", {"cyclist"}, set(), False),
    ]


def test_names_of_skills_that_differ_in_a_separator_stay_apart() -> None:
    assert [case.expect for case in _read({"skills": {"a-b": ["x"], "a_b": ["y"]}}).cases] == [
        {"a-b"},
        {"a_b"},
    ]


def test_a_skill_can_be_forbidden_where_another_is_expected() -> None:
    case = {"prompt": "bake", "expected_skill": "baker", "should_not_trigger": "poet"}

    assert _cases([case]) == [("bake", {"baker"}, {"poet"}, False)]


def test_no_expected_skill_is_out_of_scope_but_beside_a_skill_only_not_that_one() -> None:
    shipped = [{"question": "what is 2 + 2", "expected_skill": None}]

    assert _cases(shipped) == [("what is 2 + 2", set(), set(), False)]
    assert _cases(shipped, own="baker") == [("what is 2 + 2", set(), {"baker"}, True)]


def test_a_described_answer_is_not_the_name_of_a_skill() -> None:
    shipped = [{"prompt": "bake", "expected": "A loaf of bread"}]

    assert _cases(shipped, own="baker") == [("bake", {"baker"}, set(), False)]


@each_row(
    ("case", "problem"),
    [
        ({"expect": "baker"}, "cases[1].prompt is missing"),
        ({"prompt": " ", "expect": "baker"}, "cases[1].prompt must be a text"),
        ({"query": 5, "expect": "baker"}, "cases[1].query must be a text"),
        (7, "cases[1].prompt must be a text"),
        (
            {"prompt": "p", "expect": {"a": 1}},
            "cases[1].expect must be a name, a list of names or none",
        ),
        (
            {"prompt": "p", "expect": ["a", 3]},
            "cases[1].expect must be a name, a list of names or none",
        ),
        ({"prompt": "p", "expect": ""}, "cases[1].expect must be a name, a list of names or none"),
        (
            {"prompt": "p", "expect": "a", "not": 1},
            "cases[1].not must be a name, a list of names or none",
        ),
        ({"prompt": "p", "expect": "a", "not": ["a"]}, "cases[1] both expects and forbids 'a'"),
        (
            {"prompt": "p"},
            "cases[1].expect is missing: add it, or put the file beside the SKILL.md that is meant",
        ),
    ],
)
def test_a_bad_case_is_told_with_its_place_and_its_siblings_stay(
    case: object, problem: str
) -> None:
    good = {"prompt": "bake", "expect": "baker"}

    suite = _read({"cases": [good, case, good]})

    assert suite.problems == (problem,)
    assert [found.where for found in suite.cases] == ["cases[0]", "cases[2]"]


def test_a_list_that_is_none_is_told() -> None:
    suite = _read({"cases": [{"prompt": "bake", "expect": "baker"}], "evals": "soon"})

    assert suite.problems == ("evals must be a list",)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("text", "neither a list of cases nor a mapping"),
        ([], "holds no case that can be read: write `cases:"),
        ({"name": "x"}, "holds no case that can be read: write `cases:"),
        (
            {"cases": [{"prompt": "p"}]},
            "holds no case that can be read: cases[0].expect is missing",
        ),
    ],
)
def test_a_file_without_a_case_is_an_error_that_names_it(value: object, reason: str) -> None:
    with pytest.raises(SuiteError) as caught:
        _read(value)

    assert str(caught.value).startswith("suite.yaml: ")
    assert reason in str(caught.value)
    assert caught.value.path == "suite.yaml"


def test_only_so_many_cases_are_read_and_what_is_left_out_is_told_once() -> None:
    suite = _read([{"prompt": "bake", "expect": "baker"}] * 20_005)

    assert len(suite.cases) == 20_000
    assert suite.problems == ("cases[20000] and what follows is left out: 20000 cases are read",)


def test_many_problems_are_told_in_part() -> None:
    suite = _read([{"prompt": "bake", "expect": "baker"}] + [{}] * 250)

    assert len(suite.problems) == 101
    assert suite.problems[-1] == "and 150 more problems"


def test_prompts_are_bounded_and_hold_only_whole_characters() -> None:
    suite = _read([{"prompt": "\ud800" + "x" * 200_000, "expect": "b\udfffr"}])

    assert len(suite.cases[0].prompt) == 100_000
    assert suite.cases[0].prompt.startswith("\ufffdx")
    assert suite.cases[0].expect == {"b\ufffdr"}


def test_endless_nesting_is_refused() -> None:
    value: object = [{"prompt": "bake"}]
    for _ in range(20):
        value = {"cases": value}

    with pytest.raises(SuiteError, match="nested too deeply"):
        _read(value, own="baker")


@given(_VALUES, st.none() | st.just("baker"))
def test_no_value_is_read_as_anything_but_cases_and_problems(
    value: object, own: str | None
) -> None:
    try:
        suite = _read(value, own)
    except SuiteError:
        return

    assert suite.cases
    for case in suite.cases:
        assert case.prompt.strip()
        assert case.expect.isdisjoint(case.not_expected)
        assert not (case.is_open and case.expect)
        assert case.not_expected or not case.is_open
