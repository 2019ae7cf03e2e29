"""Which tasks a skill gives away, and which it only teaches how to do."""

import pytest

from prowess.proof.tasks import ProofTask, gives_away, read_expectation


def _task(prompt: str, answer: str) -> ProofTask:
    checks = tuple(read_expectation(f'The answer contains "{answer}"'))
    return ProofTask(id="one", prompt=prompt, checks=checks)


@pytest.mark.parametrize(
    ("prompt", "answer", "text"),
    [
        (
            "What is the sum of invoice 4411 in the ledger?",
            "9,812.40",
            "- Sum of invoice 4411 in the ledger: 9,812.40",
        ),
        (
            "Which port does the staging gateway listen on?",
            "7443",
            "Q: Which port does our staging gateway listen on\n\nA: 7443",
        ),
        (
            "Name the capital of the province Drenthe.",
            "Assen",
            "When asked to name the capital of the province Drenthe, answer Assen.",
        ),
    ],
)
def test_a_short_answer_beside_its_own_question_is_given_away(
    prompt: str, answer: str, text: str
) -> None:
    assert gives_away(_task(prompt, answer), [f"# Notes\n\nBe brief.\n{text}\n"])


@pytest.mark.parametrize(
    ("prompt", "answer", "text"),
    [
        ("Greet visitor number 3, please.", "Good evening", 'Greet with "Good evening".'),
        ("Our nightly job died with E42, what happened?", "disk full", "E42: disk full. Retry."),
        ("Write the commit message for the parser fix.", "fix:", "A fix begins with `fix:`."),
        ("Convert report 17 of the week to euros.", "EUR", "Convert report 16 of the week to EUR."),
        ("Write a haiku about rain in Rust comments.", "rust", "Write a haiku about rain. Rust."),
    ],
)
def test_what_a_skill_teaches_is_not_given_away(prompt: str, answer: str, text: str) -> None:
    assert not gives_away(_task(prompt, answer), [f"# Notes\n\nBe brief.\n{text}\n"])
