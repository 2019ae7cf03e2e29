import pytest

from prowess.routing.lexical_and_breadth import read_messages

EVERYDAY, ERRANDS = read_messages()
_LISTS = pytest.mark.parametrize("texts", [EVERYDAY, ERRANDS], ids=["everyday", "errands"])


@_LISTS
def test_every_text_stands_once(texts: tuple[str, ...]) -> None:
    assert len({text.casefold() for text in texts}) == len(texts)


@_LISTS
def test_every_text_is_one_line_of_words(texts: tuple[str, ...]) -> None:
    assert texts
    assert all(text == " ".join(text.split()) and text for text in texts)


def test_no_text_is_both_small_talk_and_an_errand() -> None:
    everyday = {text.casefold().strip(" .!?") for text in EVERYDAY}
    errands = {text.casefold().strip(" .!?") for text in ERRANDS}

    assert everyday.isdisjoint(errands)


def test_neither_list_outweighs_the_other_by_far() -> None:
    # The line between them is drawn by least squares: a far longer list would pull it over.
    assert 0.5 < len(EVERYDAY) / len(ERRANDS) < 2
