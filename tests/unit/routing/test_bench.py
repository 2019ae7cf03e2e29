import pytest

from prowess.errors import SuiteError
from prowess.evaluation.suites import Bench, Case, Lines, read_bench
from prowess.routing.handoffs_and_passages import read_evidence


def _lines(*rows: object) -> Lines:
    return dict(enumerate(rows, start=1))


_SKILLS = _lines(
    {"id": "x/baker", "name": "baker", "description": "Bakes bread.", "body": "Knead."},
    {"id": "y/baker", "name": "baker"},
    {"id": "poet", "description": "Writes verses.", "examples": ["a sonnet please", 5]},
)
_QUERIES = _lines(
    {"id": "q1", "text": "a loaf please", "kind": "task"},
    {"id": "q2", "text": "hello"},
    {"id": 3, "text": "rhyme about bread"},
)
_QRELS = _lines(
    {"query_id": "q1", "skill_id": "x/baker", "relevance": 1},
    {"query_id": "q1", "skill_id": "y/baker", "relevance": 0},
    {"query_id": 3, "skill_id": "poet"},
    {"query_id": 3, "skill_id": "x/baker", "relevance": 2},
)


def _read(skills: Lines = _SKILLS, queries: Lines = _QUERIES, qrels: Lines = _QRELS) -> Bench:
    return read_bench("set", skills=skills, queries=queries, qrels=qrels)


def test_skills_of_one_name_are_told_apart_by_their_ids() -> None:
    bench = _read()

    assert [(skill.id, skill.name) for skill in bench.skills] == [
        ("x/baker", "baker"),
        ("y/baker", "baker"),
        ("poet", "poet"),
    ]
    assert bench.skills[0].description == "Bakes bread."
    assert bench.skills[0].body == "Knead."
    assert bench.problems == ()


def test_skills_of_different_texts_have_different_hashes() -> None:
    hashes = {skill.content_hash for skill in _read().skills}

    assert len(hashes) == 3
    assert hashes == {skill.content_hash for skill in _read().skills}


def test_examples_are_evidence() -> None:
    assert read_evidence(_read().skills[2]).requests == ("a sonnet please",)


def test_a_query_without_a_relevant_skill_is_out_of_scope() -> None:
    assert _read().cases == (
        Case(prompt="a loaf please", expect=frozenset(("x/baker",)), clear=frozenset(), where="q1"),
        Case(prompt="hello", clear=frozenset(), where="q2"),
        # The higher grade is the clear job, the other skill is plausible.
        Case(
            prompt="rhyme about bread",
            expect=frozenset(("poet", "x/baker")),
            clear=frozenset(("x/baker",)),
            where="3",
        ),
    )


def test_a_set_that_does_not_grade_means_all_relevant_skills_alike() -> None:
    bench = _read(qrels=_lines({"query_id": "q1", "skill_id": "poet", "relevance": 1}))

    assert [case.clear for case in bench.cases] == [None, None, None]


def test_a_query_may_bring_its_language_and_what_the_agent_said_before() -> None:
    rows = _lines({"id": "q1", "text": "and rolls?", "prev": "The loaf is done.", "lang": "en"})

    (case,) = _read(queries=rows, qrels=_lines()).cases

    assert (case.reply, case.language) == ("The loaf is done.", "en")


def test_bad_rows_are_told_with_their_lines_and_the_others_stay() -> None:
    bench = _read(
        skills={**_SKILLS, 4: {"name": "no id"}, 5: {"id": "poet"}, 6: "text"},
        queries={**_QUERIES, 4: {"id": "q4"}, 5: {"id": "q1", "text": "again"}, 7: None},
        qrels={
            **_QRELS,
            5: {"query_id": "q2"},
            6: {"query_id": "q1", "skill_id": "poet", "relevance": "high"},
            7: {"query_id": "q9", "skill_id": "poet"},
            8: [],
        },
    )

    assert (len(bench.skills), len(bench.cases)) == (3, 3)
    assert bench.problems == (
        "skills, line 4: the id is missing",
        "skills, line 5: the id is there twice",
        "skills, line 6: the id is missing",
        "qrels, line 5: query_id, skill_id or relevance cannot be read",
        "qrels, line 6: query_id, skill_id or relevance cannot be read",
        "qrels, line 8: query_id, skill_id or relevance cannot be read",
        "queries, line 4: id or text is missing, or the id is there twice",
        "queries, line 5: id or text is missing, or the id is there twice",
        "queries, line 7: id or text is missing, or the id is there twice",
        "qrels: no query has the id 'q9'",
    )


def test_a_query_whose_skill_is_missing_is_left_out_not_out_of_scope() -> None:
    bench = _read(qrels=_lines({"query_id": "q1", "skill_id": "gone"}))

    assert [case.where for case in bench.cases] == ["q2", "3"]
    assert bench.problems == ("queries, line 1: no skill has the id 'gone'",)


def test_odd_examples_are_passed_over() -> None:
    bench = _read(skills=_lines({"id": "x/baker", "examples": 7}, {"id": "poet", "examples": "a"}))

    assert [dict(skill.fields) for skill in bench.skills] == [{}, {}]


@pytest.mark.parametrize(
    ("skills", "queries", "reason"),
    [
        ({}, _QUERIES, "holds no skills"),
        (_SKILLS, {}, "holds no queries"),
        (_lines({"name": "x"}), {}, "holds no skills: skills, line 1: the id is missing"),
    ],
)
def test_a_benchmark_of_nothing_is_an_error(skills: Lines, queries: Lines, reason: str) -> None:
    with pytest.raises(SuiteError, match=reason):
        _read(skills=skills, queries=queries, qrels={})
