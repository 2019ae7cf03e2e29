"""Scenarios as YAML: what each step becomes, and on which line something is wrong."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.evaluation.scenarios import (
    Broken,
    CallTool,
    Configure,
    Expect,
    FileWanted,
    Names,
    Reply,
    Say,
    Scenario,
    WriteFile,
    fill,
    find_missing,
    follows,
    match,
    read_scenario,
)

EXPECT: dict[str, Any] = {"expect": {"proposals": []}}
HELLO = {"role": "user", "content": "hi"}


def _scenario(*steps: object) -> Scenario:
    # JSON is YAML.
    found = read_scenario("story", json.dumps({"steps": steps}))
    assert isinstance(found, Scenario), found
    return found


def _problems(text: str) -> list[tuple[int, str]]:
    found = read_scenario("story", text)
    assert isinstance(found, Broken), found
    return [(problem.line, problem.text) for problem in found.problems]


def test_a_file_becomes_its_title_its_summary_and_its_steps_in_order() -> None:
    text = """\
title: A story
summary: What it shows.
steps:
  - title: The operator
    config: {plugins: {entries: {skill-workshop: {enabled: true}}}}
  - {file: skills/a/SKILL.md, text: hello}
  - reviewer: {action: none}
  - turn: [{role: user, content: hi}]
  - call: {action: status}
    result: {pending: 0}
  - expect: {proposals: []}
"""

    found = read_scenario("story", text)

    assert isinstance(found, Scenario)
    assert (found.name, found.title, found.summary) == ("story", "A story", "What it shows.")
    kinds = [Configure, WriteFile, Reply, Say, CallTool, Expect]
    assert [type(step) for step in found.steps] == kinds
    assert (found.steps[0].title, found.steps[0].line) == ("The operator", 4)
    assert (found.steps[1].title, found.steps[1].line) == ("then: file", 6)


def test_a_turn_has_its_messages_and_options() -> None:
    turn = {"turn": [HELLO] * 2, "toolCalls": 8, "times": 3, "ok": False, "session": "s2"}

    [say, _] = _scenario(turn, EXPECT).steps

    assert isinstance(say, Say)
    assert [one.model_dump() for one in say.turn] == [HELLO] * 2
    assert (say.tool_calls, say.times, say.ok, say.session) == (8, 3, False, "s2")


def test_a_call_has_a_result_or_an_error() -> None:
    call = {"call": {"action": "apply"}}

    [answered, refused] = _scenario(
        {**call, "result": {"status": "..."}}, {**call, "error": "no, no", "by": "person"}
    ).steps

    assert isinstance(answered, CallTool)
    assert isinstance(refused, CallTool)
    assert (answered.result, answered.error, answered.by) == ({"status": "..."}, None, None)
    assert (refused.result, refused.error, refused.by) == (None, "no, no", "person")


def test_files_are_expected_to_be_there_to_hold_something_or_to_be_the_same() -> None:
    wanted = {"a": True, "b": False, "c/d": {"contains": ["x"], "unchanged": True}}

    [step] = _scenario({"expect": {"files": wanted}}).steps

    assert isinstance(step, Expect)
    files = {"a": True, "b": False, "c/d": FileWanted(contains=["x"], unchanged=True)}
    assert step.expect.files == files


def test_a_file_keeps_every_character() -> None:
    body = "a `b`\n\n```bash\n$1 \\1 ${x}\n```\n\ttab\n"

    [write, _] = _scenario({"file": "a.md", "text": body}, EXPECT).steps

    assert isinstance(write, WriteFile)
    assert write.text == body


@each_row(
    ("step", "line", "said"),
    [
        ("expct: {}", 2, "did you mean expect?"),
        ("nothing: {}", 2, "give one of config, file"),
        ("just a text", 2, "give one of config, file"),
        ("call: {}\n    expect: {log: []}", 2, "did you mean call?"),
        ("turn: [{role: user, content: x}]\n    often: 1", 3, "`often` is not known"),
        ("turn: [{role: user, content: x}]\n    times: 0", 3, "times: "),
        ("turn:\n      - {role: user, content: x}\n      - {role: 3, content: x}", 4, "role: "),
        ("turn: [{role: user}]", 2, "content: "),
        ("turn: []", 2, "turn: "),
        ("call: {a: 1, a: 2}", 2, "occurs twice"),
        ("call: []", 2, "call: "),
        ("call: {}\n    by: agent", 3, "by: "),
        ("call: {}\n    result: {}\n    error: no", 2, "not both"),
        ("call: {id: '${never}'}", 2, "${never} has no value yet"),
        ("expect:\n      proposals: []\n      fiels: {}", 4, "did you mean files?"),
        ("expect:\n      log: x", 3, "log: "),
        ("expect:\n      reviewer:\n        asked: true", 4, "asked: "),
        ("expect:\n      files: {../x: true}", 3, "below the workspace"),
        ("expect: {}", 2, "expects nothing"),
        ("file: a.md", 2, "text: "),
        ("file: /etc/passwd\n    text: x", 2, "below the workspace"),
        ("config:\n      skills: {}", 3, "`skills` is not known"),
        ("config: {plugins: {entries: {\n      other: {}}}}", 3, "`other` is not known"),
        ("config: {plugins: []}", 2, "plugins: "),
        (
            "config: {plugins: {entries: {\n      skill-workshop: {config: {reviewModel: x}}}}}",
            3,
            "leave it out",
        ),
        ("call: {a: *b}", 2, "is not YAML"),
        ("call: {", 3, "is not YAML"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(step: str, line: int, said: str) -> None:
    found = _problems(f"steps:\n  - {step}\n  - expect: {{proposals: []}}\n")

    assert said in " ".join(text for _, text in found)
    assert line in {place for place, _ in found}


def test_everything_that_is_wrong_is_said_at_once() -> None:
    found = _problems("steps:\n  - expct: {}\n  - call: []\n  - expect: {log: [1]}\n")

    assert [line for line, _ in found] == [2, 3, 4]


def test_a_file_without_steps_or_without_expectations_is_no_scenario() -> None:
    for text in ("", "only words", "title: A\n", "steps: []\n"):
        assert _problems(text)
    assert _problems("steps:\n- call: {}\n") == [(2, "expects nothing: add a step with `expect`")]


@given(st.text(max_size=400))
def test_any_text_is_read_without_an_exception(text: str) -> None:
    assert isinstance(read_scenario("story", text), Scenario | Broken)


@given(
    st.sampled_from(("config", "file", "reviewer", "turn", "call", "result", "error", "expect")),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
        max_leaves=8,
    ),
)
def test_any_step_is_read_without_an_exception(kind: str, value: object) -> None:
    text = json.dumps({"steps": [{kind: value}, EXPECT]})

    assert isinstance(read_scenario("story", text), Scenario | Broken)


def test_an_object_may_have_more_keys_and_a_list_no_more_items() -> None:
    names: Names = {}

    assert match({"a": 1}, {"a": 1, "b": 2}, names, "x") == []
    [wrong] = match({"a": [1]}, {"a": [1, 2]}, names, "x")
    assert (wrong.place, wrong.expected, wrong.seen) == ("x.a", "[1]", "[1, 2]")


def test_a_mismatch_says_where_it_is() -> None:
    [wrong] = match([{"a": {"b": "x"}}], [{"a": {"b": "y", "c": 1}}], {}, "proposals")
    [absent] = match({"a": 1}, {}, {}, "result")

    assert (wrong.place, wrong.expected, wrong.seen) == ("proposals[0].a.b", '"x"', '"y"')
    assert (absent.place, absent.seen) == ("result.a", "nothing")


def test_true_is_not_one_and_null_is_no_key() -> None:
    assert match({"a": True}, {"a": 1}, {}, "x")
    assert match({"a": 1}, {"a": True}, {}, "x")
    assert match({"a": None}, {}, {}, "x") == []
    assert match({"a": None}, {"a": 1}, {}, "x")


def test_a_name_takes_the_first_value_and_holds_later_ones_to_it() -> None:
    names: Names = {}

    assert match([{"id": "${one}"}], [{"id": "p-1"}], names, "x") == []
    assert fill({"id": "${one}", "list": ["${one}", "${none}"]}, names) == {
        "id": "p-1",
        "list": ["p-1", "${none}"],
    }
    assert match({"id": "${one}"}, {"id": "p-1"}, names, "x") == []
    assert match({"id": "${one}"}, {"id": "p-2"}, names, "x")


def test_three_dots_stand_for_any_text() -> None:
    assert follows("a...z", "a z")
    assert follows("...", "")
    assert follows("...b...c", "abbc")
    assert not follows("a...a", "a")
    assert not follows("a...", "b")
    assert not follows("...b...c", "cb")
    assert not follows("abc", "abcd")


@given(
    st.lists(st.text(st.characters(exclude_characters="."), max_size=8), min_size=1, max_size=5),
    st.text(max_size=8),
)
def test_a_text_follows_its_own_pattern(parts: list[str], filler: str) -> None:
    assert follows("...".join(parts), filler.join(parts))


def test_lines_are_looked_for_in_their_order() -> None:
    assert find_missing(["a", "c..."], ["a", "b", "cd"]) is None
    assert find_missing(["b", "a"], ["a", "b"]) == "a"
    assert find_missing(["a", "a"], ["a"]) == "a"
