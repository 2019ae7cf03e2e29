"""Text in pieces: however a sequence is split, nothing of it reaches the terminal."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from prowess.cli.runs.chat_screen import StreamCleaner
from prowess.skills.text import clean

ODD = st.text(alphabet="ab[]0;m\x1b\x07\\\x9b\u200d\u200c\r\n\u202e😀 ", max_size=60)


def _streamed(pieces: list[str]) -> str:
    cleaner = StreamCleaner()
    return "".join(cleaner.feed(piece) for piece in pieces) + cleaner.end()


def test_a_sequence_that_is_split_is_dropped_whole() -> None:
    assert _streamed(["one \x1b", "[3", "1mtwo"]) == "one two"
    assert _streamed(["a\x1b]0;ti", "tle\x07b"]) == "ab"
    assert _streamed(["a\x1b]0;title\x1b", "\\b"]) == "ab"


def test_plain_text_is_not_held_back() -> None:
    assert StreamCleaner().feed("hello") == "hello"


def test_a_sequence_without_an_end_does_not_hold_the_rest_for_ever() -> None:
    cleaner = StreamCleaner()

    cleaner.feed("\x1b]0;" + "x" * 10_000)

    assert cleaner.feed("visible") == "visible"


def test_a_joiner_between_letters_goes_though_another_one_is_held_back() -> None:
    assert _streamed(["a\u200ca\u200c"]) == clean("a\u200ca\u200c")


@given(ODD, st.lists(st.integers(0, 60), max_size=8))
def test_pieces_come_out_as_the_whole_would(text: str, cuts: list[int]) -> None:
    places = sorted({0, len(text), *(cut for cut in cuts if cut <= len(text))})
    pieces = [text[a:b] for a, b in pairwise(places)]

    assert _streamed(pieces) == clean(text)
