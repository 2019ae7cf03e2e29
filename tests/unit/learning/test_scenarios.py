"""Scenarios as Markdown: what each block becomes, and on which line something is wrong."""

from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.learning.scenario_match import Names, filled, follows, match, missing
from prowess.learning.scenario_steps import (
    Call,
    Configure,
    Expect,
    FileWanted,
    Reply,
    Say,
    WriteFile,
)
from prowess.learning.scenarios import Broken, Scenario, read_scenario

EXPECT = '```json expect\n{"proposals": []}\n```\n'


def _steps(text: str) -> Scenario:
    found = read_scenario("story", text)
    assert isinstance(found, Scenario), found
    return found


def _problems(text: str) -> list[tuple[int, str]]:
    found = read_scenario("story", text)
    assert isinstance(found, Broken), found
    return [(problem.line, problem.text) for problem in found.problems]


def _block(info: str, body: str) -> str:
    return f"```{info}\n{body}\n```\n"


def test_a_file_becomes_its_title_its_summary_and_its_steps_in_order() -> None:
    text = (
        "# A story\n\nWhat it shows.\n\n"
        "The operator:\n\n"
        + _block("json5 config", '{plugins: {entries: {"skill-workshop": {enabled: true}}}}')
        + _block("text file skills/a/SKILL.md", "hello")
        + _block("json reviewer", '{"action": "none"}')
        + _block("jsonl turn toolCalls=8 times=3", '{"role": "user", "content": "hi"}')
        + _block("json call", '{"action": "status"}')
        + _block("json result", '{"pending": 0}')
        + EXPECT
    )

    found = _steps(text)

    assert (found.name, found.title, found.summary) == ("story", "A story", "What it shows.")
    kinds = [Configure, WriteFile, Reply, Say, Call, Expect]
    assert [type(step) for step in found.steps] == kinds
    assert (found.steps[0].title, found.steps[0].line) == ("The operator", 7)
    assert found.steps[1].title == "then: file"


def test_a_turn_has_its_messages_and_options() -> None:
    options = "toolCalls=8 times=3 ok=false session=s2"
    message = '{"role": "user", "content": "hi"}'

    [say, _] = _steps(_block(f"jsonl turn {options}", f"{message}\n\n{message}") + EXPECT).steps

    assert isinstance(say, Say)
    assert say.messages == ({"role": "user", "content": "hi"},) * 2
    assert (say.tool_calls, say.times, say.ok, say.session) == (8, 3, False, "s2")


def test_a_call_takes_the_result_or_the_error_behind_it() -> None:
    call = _block("json call", '{"action": "apply"}')

    [answered, refused] = _steps(
        call + _block("json result", '{"status": "..."}') + call + _block("text error", "no, no")
    ).steps

    assert isinstance(answered, Call)
    assert isinstance(refused, Call)
    assert (answered.result, answered.error) == ({"status": "..."}, None)
    assert (refused.result, refused.error) == (None, "no, no")


def test_files_are_expected_to_be_there_to_hold_something_or_to_be_the_same() -> None:
    wanted = '{"files": {"a": true, "b": false, "c/d": {"contains": ["x"], "unchanged": true}}}'

    [expect] = _steps(_block("json expect", wanted)).steps

    assert isinstance(expect, Expect)
    assert expect.files == {
        "a": FileWanted(),
        "b": FileWanted(exists=False),
        "c/d": FileWanted(contains=("x",), unchanged=True),
    }


def test_a_file_keeps_every_character_and_the_fences_inside_of_it() -> None:
    body = "a `b`\n\n```bash\n$1 \\1 ${x}\n```\n\ttab"

    [write, _] = _steps(f"````text file a.md\n{body}\n````\n{EXPECT}").steps

    assert isinstance(write, WriteFile)
    assert write.text == body + "\n"


def test_blocks_with_one_word_are_for_readers_alone() -> None:
    assert len(_steps(_block("json", "no JSON at all") + _block("", "x") + EXPECT).steps) == 1


@each_row(
    ("info", "body", "line", "said"),
    [
        ("json expct", "{}", 3, "did you mean expect?"),
        ("json nothing", "{}", 3, "use one of config, file"),
        ("json turn", "{}", 3, "write `jsonl turn`"),
        ("jsonl turn often", '{"role": "user", "content": ""}', 3, "`often` is not known"),
        ("jsonl turn times=0", '{"role": "user", "content": ""}', 3, "times=N"),
        ("jsonl turn", '{"role": "user", "content": ""}\n{"role": 3}', 5, "role must be one of"),
        ("jsonl turn", '{"role": "user"}', 4, "content must be"),
        ("jsonl turn", '\n\n{"role": "user",}', 6, "is not JSON"),
        ("jsonl turn", "", 3, "is empty"),
        ("json call", '{\n\n  "a": }', 6, "is not JSON"),
        ("json call", '{\n "a": 1,\n "b": 2,\n "a": 3}', 7, 'repeats the key "a"'),
        ("json call", "[]", 3, "must be an object"),
        ("json call extra", "{}", 3, "`extra` is not known"),
        ("json call", '{"id": "${never}"}', 3, "${never} has no value yet"),
        ("json result", "{}", 3, "right behind"),
        ("text error", "no", 3, "right behind"),
        ("json expect", '{\n "proposals": [],\n "fiels": {}}', 6, "did you mean files?"),
        ("json expect", '{\n "log": "x"}', 5, "log must be a list of texts"),
        ("json expect", '{\n "reviewer": {\n  "asked": true}}', 6, "asked must be a whole number"),
        ("json expect", '{\n "files": {"../x": true}}', 5, "below the workspace"),
        ("json expect", "{}", 3, "expects nothing"),
        ("text file", "x", 3, "says no path"),
        ("text file /etc/passwd", "x", 3, "below the workspace"),
        ("json5 config", "{\n a: }", 5, "is not JSON5"),
        ("json5 config", "{\n skills: {}}", 5, "nothing else"),
        ("json5 config", "{plugins: {\n entries: {\n other: {}}}}", 6, "nothing else"),
        ("json5 config", "{plugins: []}", 4, "must be an object"),
        (
            "json5 config",
            '{plugins: {entries: {"skill-workshop": {config: {\nreviewCommand: ["sh"]}}}}}',
            5,
            "leave it out",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_line(info: str, body: str, line: int, said: str) -> None:
    [(found, text)] = _problems("# Story\n\n" + _block(info, body) + EXPECT)

    assert said in text
    assert found == line


def test_everything_that_is_wrong_is_said_at_once() -> None:
    found = _problems(_block("json expct", "{}") + _block("json call", "[") + _block("x y", ""))

    assert [line for line, _ in found] == [1, 5, 7]


def test_a_file_without_steps_or_without_expectations_is_no_scenario() -> None:
    assert _problems("# Words\n\nand more words\n") == [
        (1, "holds nothing to run: add blocks such as `jsonl turn`, `json expect`")
    ]
    [(line, text)] = _problems(_block("json call", "{}"))
    assert (line, text) == (1, "expects nothing: add a `json expect` block")


def test_a_fence_that_is_never_closed_is_said() -> None:
    [(line, text)] = _problems(f"{EXPECT}\n```json expect\n" + '{"log": []}\n')

    assert (line, "never ends" in text) == (5, True)


def test_windows_line_ends_change_no_line_number() -> None:
    text = "# Story\r\n\r\n```json call\r\n{\r\n  oops\r\n}\r\n```\r\n"

    [(line, _)] = _problems(text)

    assert line == 5


@given(st.text(max_size=400))
def test_any_text_is_read_without_an_exception(text: str) -> None:
    assert isinstance(read_scenario("story", text), Scenario | Broken)


@given(
    st.sampled_from(("config", "file a", "reviewer", "turn", "call", "result", "error", "expect")),
    st.sampled_from(("json", "json5", "jsonl", "text")),
    st.text(max_size=80),
)
def test_any_block_is_read_without_an_exception(kind: str, language: str, body: str) -> None:
    found = read_scenario("story", _block(f"{language} {kind}", body))

    assert isinstance(found, Scenario | Broken)


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
    assert filled({"id": "${one}", "list": ["${one}", "${none}"]}, names) == {
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
    assert missing(["a", "c..."], ["a", "b", "cd"]) is None
    assert missing(["b", "a"], ["a", "b"]) == "a"
    assert missing(["a", "a"], ["a"]) == "a"
