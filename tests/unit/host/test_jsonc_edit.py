"""Edits of JSON texts: what is not asked for stays as it is, to the byte."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.hooks.harness import Edit, Insert, Path, Remove, ReplaceValue, apply_edits
from prowess.host.harness.jsonc import DocumentError, JsoncText, edit_jsonc

GAPS = (
    "",
    "",
    " ",
    "\t",
    "\n",
    "\n   ",
    '// a " note\n',
    "/* b, { */",
    " /* c\n */ ",
    "\n  // d\n",
)
SCALARS = st.none() | st.booleans() | st.integers(-5, 5) | st.text('ab"\\/*{é,}\u2028', max_size=4)
KEYS = st.text('abc"/\\ü ', max_size=3)


@st.composite
def documents(draw: st.DrawFn, *, empty: bool = True) -> str:
    """Draw a text in every style that people and programs write JSON in."""
    gap = st.sampled_from(GAPS)
    least = 0 if empty else 1

    def container(brackets: str, depth: int) -> str:
        keys = draw(st.lists(KEYS, min_size=least, max_size=3, unique=True))
        parts = []
        for key in keys:
            name = json.dumps(key) + draw(gap) + ":" + draw(gap) if brackets == "{}" else ""
            parts.append(draw(gap) + name + value(depth + 1) + draw(gap))
        # A line comment may be last, so a line end comes before the bracket.
        comma = draw(st.sampled_from(("", ","))) if parts else ""
        return brackets[0] + ",".join(parts) + comma + draw(gap) + brackets[1]

    def value(depth: int) -> str:
        kind = draw(st.sampled_from(("", "", "{}", "[]"))) if depth < 3 else ""
        return container(kind, depth) if kind else json.dumps(draw(SCALARS), ensure_ascii=False)

    text = draw(gap) + container("{}", 0) + draw(gap)
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    return draw(st.sampled_from(("", "\ufeff"))) + text


NEW = {"Stop": [{"hooks": [{"type": "command", "command": "prowess hook"}]}], "Ecke": []}


def _containers(value: Any, path: Path = ()) -> list[Path]:  # noqa: ANN401 - whatever JSON holds
    found: list[Path] = [path] if isinstance(value, dict | list) else []
    pairs = value.items() if isinstance(value, dict) else ()
    steps = enumerate(value) if isinstance(value, list) else pairs
    for step, inner in steps:
        found += _containers(inner, (*path, step))
    return found


def _insertion(document: dict[str, Any], path: Path) -> tuple[Insert, Path]:
    container: Any = document
    for step in path:
        container = container[step]
    if isinstance(container, list):
        return Insert(path=path, key=None, value=NEW), (*path, len(container))
    return Insert(path=path, key="hooks", value=NEW), (*path, "hooks")


@settings(max_examples=50, deadline=None)
@given(documents(empty=False), st.data())
def test_what_is_put_in_and_taken_out_again_leaves_every_byte_as_it_was(
    text: str, data: st.DataObject
) -> None:
    source = JsoncText(text)
    edit, place = _insertion(
        source.document, data.draw(st.sampled_from(_containers(source.document)))
    )

    there = edit_jsonc(text, [edit])
    back = edit_jsonc(there, [Remove(path=place)])

    assert JsoncText(there).document == apply_edits(source.document, [edit])
    assert JsoncText(there).comment_texts() == source.comment_texts()
    assert back == text


@settings(max_examples=50, deadline=None)
@given(documents(), st.data())
def test_in_empty_places_too_the_document_and_every_comment_come_back(
    text: str, data: st.DataObject
) -> None:
    source = JsoncText(text)
    edit, place = _insertion(
        source.document, data.draw(st.sampled_from(_containers(source.document)))
    )

    there = edit_jsonc(text, [edit])
    back = JsoncText(edit_jsonc(there, [Remove(path=place)]))

    assert JsoncText(there).document == apply_edits(source.document, [edit])
    assert back.document == source.document
    assert back.comment_texts() == source.comment_texts()


@settings(max_examples=50, deadline=None)
@given(documents(), st.data())
def test_whatever_is_removed_or_replaced_the_rest_says_the_same(
    text: str, data: st.DataObject
) -> None:
    source = JsoncText(text)
    places = [path for path in _containers(source.document) if path]
    edits: list[Edit] = []
    if places:
        path = data.draw(st.sampled_from(places))
        choices: list[Edit] = [Remove(path=path), ReplaceValue(path=path, value=1)]
        edits = [data.draw(st.sampled_from(choices))]

    after = edit_jsonc(text, edits)

    assert JsoncText(after).document == apply_edits(source.document, edits)
    assert after.startswith("\ufeff") == text.startswith("\ufeff")
    assert "\r\n" not in text or "\n" not in after.replace("\r\n", "")


@each_row(
    ("before", "after"),
    [
        ("{}", '{\n  "k": [\n    1\n  ]\n}'),
        ("", '{\n  "k": [\n    1\n  ]\n}\n'),
        ('{"a":1}', '{"a":1, "k": [1]}'),
        ('{\n\t"a": 1\n}\n', '{\n\t"a": 1,\n\t"k": [\n\t\t1\n\t]\n}\n'),
        ('{\n    "a": 1, // note\n}', '{\n    "a": 1, // note\n    "k": [\n        1\n    ],\n}'),
        ('{\n  "a": 1 /* x */\n}', '{\n  "a": 1, /* x */\n  "k": [\n    1\n  ]\n}'),
        ('{\r\n  "a": 1\r\n}', '{\r\n  "a": 1,\r\n  "k": [\r\n    1\r\n  ]\r\n}'),
        ("{ // only this\n}", '{ // only this\n  "k": [\n    1\n  ]\n}'),
        ('{ "a": 1 // x\n}', '{ "a": 1, // x\n  "k": [\n    1\n  ]\n}'),
    ],
)
def test_a_new_member_is_written_in_the_style_around_it(before: str, after: str) -> None:
    found = edit_jsonc(before, [Insert(path=(), key="k", value=[1])])

    assert found == after


@each_row(
    ("before", "after"),
    [
        ('{"k": 1, "a": 2}', '{"a": 2}'),
        ('{\n  "k": 1,\n  "a": 2\n}', '{\n  "a": 2\n}'),
        ('{\n  // mine\n  "k": 1\n}', "{\n  // mine\n}"),
        ('{ // mine\n  "k": 1 }', "{ // mine\n   }"),
        ('{"a": 1, /* x */ "k": 2 /* y */}', '{"a": 1 /* x */ /* y */}'),
    ],
)
def test_a_removed_member_takes_no_comment_along(before: str, after: str) -> None:
    found = edit_jsonc(before, [Remove(path=("k",))])

    assert found == after


@each_row(
    ("text", "line"),
    [
        ('{\n  "a": 1\n  "b": 2\n}', 3),
        ("{\n,}", 2),
        ('{"a": [1,,]}', 1),
        ('{"a": 1}}', 1),
        ("{\n\n/* open", 3),
        ("[]", 0),
        ("{'a': 1}", 1),
        ('{"a": NaN}', 0),
        ('{"a": ' + "[" * 100_000, 0),
        ('{"a', 1),
    ],
)
def test_what_is_not_json_is_refused_with_its_line(text: str, line: int) -> None:
    with pytest.raises(DocumentError) as caught:
        edit_jsonc(text, [Insert(path=(), key="k", value=1)])

    assert caught.value.line == line


def test_a_key_that_is_there_twice_is_not_edited() -> None:
    text = '{"hooks": {"a": []}, "hooks": {"a": []}}'

    with pytest.raises(DocumentError, match="2 times"):
        edit_jsonc(text, [Insert(path=("hooks",), key="b", value=[])])


def test_comments_that_never_end_cost_no_more_than_their_length() -> None:
    text = "{" + "/* " * 300_000

    with pytest.raises(DocumentError, match="no end"):
        edit_jsonc(text, [Insert(path=(), key="k", value=1)])
