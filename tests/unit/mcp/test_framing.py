"""A skill's text inside its element: nothing in it ends the element or begins another one."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prowess.runtime.skill_tools import frame

PIECES = st.sampled_from(
    ["<", "/", ">", "skill", "SKILL", "remote_skill", " ", "\n", "\x1b", "\u200b", '"', "words"]
)


@pytest.mark.parametrize("element", ["skill", "remote_skill"])
@settings(max_examples=50)
@given(pieces=st.lists(PIECES, max_size=12))
def test_only_the_frame_itself_has_tags_of_the_frame(element: str, pieces: list[str]) -> None:
    text = frame(element, {"name": "alpha"}, "".join(pieces))

    tags = re.findall(r"<[\s/]*(?:remote_)?skill\b[^>]*>", text, re.IGNORECASE)
    assert tags == [f'<{element} name="alpha">', f"</{element}>"]
    assert text.endswith(f"\n</{element}>")


def test_what_a_name_says_stays_in_its_attribute() -> None:
    text = frame("skill", {"name": 'a" b="c>\n<x'}, "words")

    assert text.splitlines()[0].startswith('<skill name="a&quot; b=&quot;c&gt;')
    assert text.splitlines()[1] == "words"


def test_other_elements_stay_as_they_are() -> None:
    page = "<skills>\n<skill-list/>\n<b>bold</b>\n1 < 2"

    assert page in frame("skill", {}, page)
