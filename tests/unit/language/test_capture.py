"""Corrections are known by seven phrases, by length, and by who said them last."""

import pytest
from tests.rows import each_row

from prowess.language.corrections import LONGEST, SHORTEST
from prowess.transcripts.turns import ChatTurn, Role
from prowess.workshop.capture import capture, topic_of


def said(*texts: str, role: Role = Role.USER) -> list[ChatTurn]:
    return [ChatTurn(role=role, text=text, place=place) for place, text in enumerate(texts)]


@each_row(
    "text",
    [
        "Next time, look at the frames first.",
        "FROM NOW ON the report is in French.",
        "Please remember to close the file.",
        "And make sure to run the linter.",
        "Always, before you reply, verify the link.",
        "always use the local copy of a thing",
        "I prefer the short form for summaries.",
        "prefer tabs instead of so many spaces",
        "When asked, list the open questions.",
    ],
)
def test_a_phrase_of_correction_is_captured(text: str) -> None:
    found = capture(said(text))

    assert found is not None
    assert found.instruction == text


@each_row(
    "text",
    [
        "The next times we meet are all booked already.",
        "I remembered to close the file just before.",
        "It is always sunny when we are in that place.",
        f"always {'x' * 90} use the local copy",
        "We preferred that one over all of the others.",
        f"prefer {'y' * 130} for the summaries",
        "What is the capital of France, by the way?",
    ],
)
def test_what_only_sounds_alike_is_no_correction(text: str) -> None:
    assert capture(said(text)) is None


@pytest.mark.parametrize(
    ("length", "is_taken"),
    [(SHORTEST - 1, False), (SHORTEST, True), (LONGEST, True), (LONGEST + 1, False)],
)
def test_both_bounds_of_the_length_are_part_of_it(length: int, *, is_taken: bool) -> None:
    text = "next time ".ljust(length, "x")

    assert (capture(said(text)) is not None) is is_taken


def test_white_space_is_collapsed_before_anything_is_counted() -> None:
    assert capture(said("next time \n\n\t " + " " * 40 + "go")) is None

    found = capture(said("from \n now\ton,   check both of the files"))

    assert found is not None
    assert found.instruction == "from now on, check both of the files"


def test_the_last_correction_of_a_user_counts() -> None:
    found = capture(
        [
            *said("next time, use the first way of doing it"),
            ChatTurn(role=Role.USER, text="next time, use the second way of it", place=4),
            ChatTurn(role=Role.ASSISTANT, text="from now on, I will always use it", place=5),
            ChatTurn(role=Role.USER, text="thanks a lot, that was very kind of you", place=6),
        ]
    )

    assert found is not None
    assert found.instruction == "next time, use the second way of it"
    assert found.turn.place == 4


@pytest.mark.parametrize("nod", ["ok, ", "OK. ", "Ok "])
def test_a_nod_in_front_is_no_part_of_the_instruction(nod: str) -> None:
    found = capture(said(f"{nod}next time, check the okapi first"))

    assert found is not None
    assert found.instruction == "next time, check the okapi first"


@each_row(
    ("instruction", "skill"),
    [
        ("verify animated images", "animated-gif-workflow"),
        ("check GIFs for the PR", "animated-gif-workflow"),
        ("crop screenshots for the PR", "screenshot-asset-workflow"),
        ("optimise each asset", "screenshot-asset-workflow"),
        ("use a screen capture", "screenshot-asset-workflow"),
        ("write the QA notes", "qa-scenario-workflow"),
        ("follow the test plan", "qa-scenario-workflow"),
        ("read the whole pull request", "github-pr-workflow"),
        ("look at GitHub", "github-pr-workflow"),
        ("cover the scenarios", "learned-workflows"),
        ("move the assets", "learned-workflows"),
        ("smooth the animation", "learned-workflows"),
        ("print the sprint", "learned-workflows"),
    ],
)
def test_whole_words_choose_the_topic_and_the_first_topic_wins(
    instruction: str, skill: str
) -> None:
    assert topic_of(instruction).skill == skill


def test_a_capture_makes_a_body_a_title_and_a_reason() -> None:
    found = capture(said("next time, confirm that the GIF has several frames"))

    assert found is not None
    assert found.topic.title == "Animated GIF Workflow"
    assert found.reason == "User correction for animated GIF tasks"
    assert found.body.splitlines()[:5] == [
        "# Animated GIF Workflow",
        "",
        "## Workflow",
        "",
        "- next time, confirm that the GIF has several frames",
    ]
    assert len([line for line in found.body.splitlines() if line.startswith("- ")]) == 3
