from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.skills.text import clean, one_line


def test_plain_text_stays_as_it_is() -> None:
    assert clean("Deploys the app.") == "Deploys the app."


def test_letters_of_any_script_stay() -> None:
    assert clean("Déploie l'app 部署\tnow\nand then") == "Déploie l'app 部署\tnow\nand then"


@each_row(
    ("written", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;a title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\link", "link"),
        ("\x1bMup", "up"),
        ("\x1b\x1b[2Jtwice", "twice"),
        ("bell\x07 and return\r", "bell and return"),
        ("c1\x9b31m", "c131m"),
        ("abc\u202etxt.exe", "abctxt.exe"),
        ("\u2066hidden\u2069", "hidden"),
        ("de\u200bploy\ufeff\u2060", "deploy"),
        ("two\u2028lines", "twolines"),
        ("tag\U000e0041ged", "tagged"),
    ],
)
def test_what_moves_a_cursor_or_reorders_words_is_removed(written: str, shown: str) -> None:
    assert clean(written) == shown


def test_joiners_stay_because_scripts_and_emoji_need_them() -> None:
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467 \u2764\ufe0f\u200d\U0001f525"
    persian = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"

    assert clean(family) == family
    assert clean(persian) == persian


def test_joiners_that_no_script_needs_are_taken_out() -> None:
    assert clean("i\u200dgn\u200core") == "ignore"
    assert clean("smile\u263a" + "\ufe0f\ufe0e" * 40) == "smile\u263a\ufe0f\ufe0e"


def test_one_line_has_single_spaces_and_nothing_unsafe() -> None:
    assert one_line("  a\n\tb \x1b[31m c\u200b ") == "a b c"


def test_a_lone_surrogate_becomes_the_replacement_character() -> None:
    assert clean("name\udce9") == "name\ufffd"


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet=st.characters() | st.sampled_from("\x1b[]\x07\\m\u202e\ud800")))
def test_clean_text_can_always_be_printed_and_needs_no_second_cleaning(text: str) -> None:
    cleaned = clean(text)

    assert "\x1b" not in cleaned
    assert clean(cleaned) == cleaned
    assert cleaned.encode("utf-8").decode("utf-8") == cleaned
