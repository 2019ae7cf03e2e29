"""What remains of a correction once the words that only reject are gone."""

from tests.rows import each_row

from prowess.workshop.missed_activations import lesson


@each_row(
    ("words", "taught"),
    [
        ("Stop. Don't overlay text, fill the fields.", "Don't overlay text, fill the fields."),
        ("Wrong approach - next time use pdftk.", "Next time use pdftk."),
        ("You forgot to flatten it.", "You forgot to flatten it."),
        ("Nein, das ist falsch. Die Felder ausf\u00fcllen!", "Die Felder ausf\u00fcllen!"),
        (
            "Please don't draw; fill the fields instead.",
            "Please don't draw; fill the fields instead.",
        ),
    ],
)
def test_what_to_do_is_kept_in_the_persons_words(words: str, taught: str) -> None:
    assert lesson(words, "pdf-forms") == taught


@each_row(
    "words",
    [
        "Why didn't you use the form skill?",
        "No, you should have used the pdf skill for that.",
        "That's not what I asked for.",
        "No, use pdf-forms for it.",
        "nope, still broken",
        "Now write the release notes for the last version.",
        "No, that's wrong. " + "Fill every single field of it. " * 60,
        "No.",
        "",
    ],
)
def test_a_complaint_or_a_task_teaches_nothing(words: str) -> None:
    assert lesson(words, "pdf-forms") == ""
