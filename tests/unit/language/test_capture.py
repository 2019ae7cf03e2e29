"""Rules are known by what weighs for them, by seven phrases, and by who said them last."""

# These are words of other languages, to be read as they are.
# ruff: noqa: RUF001

import pytest
from tests.rows import each_row

from prowess.language.corrections import (
    LONGEST,
    SHORTEST,
    may_last,
    objects,
    sets_a_rule,
    states_a_rule,
)
from prowess.transcripts.turns import ChatTurn, Role
from prowess.workshop.proposal import (
    capture,
    drop_overruled,
    holds_everywhere,
    says_the_same,
    topic_of,
    word_rule,
)


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
def test_what_only_sounds_alike_has_none_of_the_phrases(text: str) -> None:
    assert not states_a_rule(text)


@each_row(
    "text",
    [
        "Why does it always use the cache when it starts?",
        "Do we always need to run the migrations by hand?",
        "should I prefer tabs instead of spaces here",
        "What should I use next time, pnpm or npm?",
        "make sure the button is always visible, use a fixed position",
        "the table should always use the full width",
        "always show the total at the bottom of the table",
        "You are a senior developer. Always use clean code. Task: build a todo app.",
        "# Task\nBuild the parser.\n## Rules\n- always use the logger\n- never throw\n- next time",
        "Follow these:\n1. always check the input\n2. prefer tabs for this\n3. never throw\nNow go",
    ],
)
def test_questions_templates_and_tasks_are_no_rules_whatever_phrase_is_in_them(text: str) -> None:
    assert capture(said(text)) is None


@each_row(
    "text",
    [
        "no, use pnpm not npm",
        "we use pnpm here, not npm",
        "stop making changes without asking me first",
        "never push straight to main, open a PR",
        "don't create md files unless I ask for one",
        "I'll start the server myself, you don't need to",
        "you keep using var, always use const",
        "不要改生成的文件",
        "npm 말고 pnpm을 쓰세요",
        "мы используем pnpm, а не npm",
        "wir verwenden yarn, nicht npm",
    ],
)
def test_a_rule_is_heard_without_any_of_the_phrases(text: str) -> None:
    assert capture(said(text)) is not None


@pytest.mark.parametrize(
    ("length", "is_taken"),
    [(SHORTEST - 1, False), (SHORTEST, True), (LONGEST, True), (LONGEST + 1, False)],
)
def test_both_bounds_of_the_length_are_part_of_it(length: int, *, is_taken: bool) -> None:
    text = "next time ".ljust(length, "x")

    assert states_a_rule(text) is is_taken


def test_white_space_is_collapsed_before_anything_is_counted() -> None:
    assert not states_a_rule("next time \n\n\t " + " " * 40 + "go")

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
        "- Confirm that the GIF has several frames.",
    ]
    assert len([line for line in found.body.splitlines() if line.startswith("- ")]) == 3


@each_row(
    "text",
    [
        "the export job should never send empty files to the customer, add a guard",
        "implement the upload: from now on what fails is tried three times by the worker",
        "Build a page that always shows the newest entry",
        "Refactor the reader to use async instead of threads.",
        "In the future we may use Kafka, so keep the interface small.",
        "Can you add a filter so that we see all cases of one employer?",
        "сделай чтобы кнопка всегда была видна",
        "write a prompt for a shop bot: always be kind, never promise a refund",
        "schreib eine mail an das team: ab sofort gilt die neue regelung",
        "escribe un aviso para el portal: a partir de ahora cerramos a las 6",
        "next time the importer starts it should go on where it stopped",
        "use this, not that",
    ],
)
def test_what_a_part_of_the_product_shall_do_is_a_task(text: str) -> None:
    assert not sets_a_rule(text)


@each_row(
    "text",
    [
        "никогда не коммить без моего разрешения",
        "мы используем yarn, а не npm",
        "используй yarn вместо npm",
        "keep functions under 40 lines please, that's our rule",
        "use uv for installing things, pip is banned here",
        "only use the staging db, production is off limits",
        "you must not edit anything under vendor/",
    ],
)
def test_a_rule_of_the_work_is_heard(text: str) -> None:
    assert sets_a_rule(text)


def test_more_of_the_same_objects_to_nothing() -> None:
    asked = ("same for the other host", "and again for october", "same with the second file please")

    assert not any(map(objects, asked))
    assert objects("still the same error")


def test_what_was_pasted_objects_to_nothing() -> None:
    assert not objects("You are a reviewer. Never add prose, do not explain. Review what follows.")


@each_row(
    "text",
    [
        "it always crashes after the second click",
        "the import never finishes on the old laptop",
        "we never had this before the update",
        "I always get a warning when I open it",
        "die tests laufen immer noch nicht",
        "$ make test\nhint: always run this from the root\n2 failed",
        "fix this please\nwarning: remember to set the path\nImportError: no module named toml",
        "Always lock your screen.\nNever share a password.\nMake sure to wear it.\nas a poster",
        "[ERROR] worker-3 never finished, use --force instead of --retry",
        "diff --git a/x.py b/x.py\n-    keep = always\n+    keep = never",
        "should we always use a lock there or is Queue.put enough",
        "update the page so it says to use pnpm instead of npm",
        "ajoute un contr\u00f4le pour que le nom ne soit jamais vide",
        "bau eine Liste ein, die immer die neuesten Eintr\u00e4ge zeigt",
        "\u8a2d\u5b9a\u306b\u300c\u6b21\u56de\u304b\u3089\u8868\u793a\u3057\u306a\u3044\u300d\u3092\u8ffd\u52a0\u3057\u3066",
    ],
)
def test_what_is_told_or_pasted_sets_no_rule(text: str) -> None:
    assert not sets_a_rule(text)


def test_only_what_may_last_is_asked_about() -> None:
    assert may_last("in general i want you to ask before you delete a file")
    assert all(objects(text) for text in ("no, the other file", "you broke the login with that"))
    assert not any(map(may_last, ("no, the other file", "you broke the login with that")))


@each_row(
    ("one", "two", "three"),
    [
        ("no, use pnpm not npm", "we use pnpm here, not npm", "please use pnpm instead of npm"),
        ("don't commit to main", "never commit directly to main", "commits to main are forbidden"),
        ("from now on reply in german", "always answer in german", "answer in german please"),
        ("используй yarn вместо npm", "у нас yarn, не npm", "всегда используй yarn, не npm"),
        (
            "never delete data without asking me",
            "ask me before you delete data",
            "don't delete data unless i say so",
        ),
        ("always lint before you push", "lint first, then push", "never push before linting"),
        ("never use yarn, we use bun", "use bun, not yarn, always", "bun not yarn please"),
    ],
)
def test_wordings_of_one_rule_are_known_as_one(one: str, two: str, three: str) -> None:
    assert all(says_the_same(*pair) for pair in ((one, two), (two, three), (one, three)))


@each_row(
    ("one", "other"),
    [
        ("use pnpm, not npm", "use npm, not pnpm"),
        ("always answer in german", "never answer in german"),
        ("never push to main", "never push to develop"),
        ("we use uv here, not pip", "use pip, not uv"),
        ("always lint before pushing", "never lint before pushing"),
        ("run prettier after every change", "run eslint after every change"),
        ("use single quotes in python", "use double quotes in python"),
        ("limit lines to 80", "limit lines to 120"),
    ],
)
def test_a_rule_and_its_opposite_are_two(one: str, other: str) -> None:
    assert not says_the_same(one, other)
    assert not says_the_same(one, other, likeness=0.97)


def test_what_an_encoder_holds_for_one_is_one() -> None:
    one, other = "stop adding emojis to commits", "please never put an emoji into a commit"

    assert not says_the_same(one, other, likeness=0.6)
    assert says_the_same(one, other, likeness=0.9)


@each_row(
    ("said", "rule"),
    [
        ("in this project we use uv, not pip", "Use uv, not pip."),
        ("answer in german please from now on", "Answer in german."),
        ("every migration needs a down step, remember that", "Every migration needs a down step."),
        ("мы используем yarn, а не npm", "Используй yarn, а не npm."),
        ("никогда не коммить без спроса", "Никогда не коммить без спроса."),
        ("no trailing spaces in yaml please, ever", "No trailing spaces in yaml please, ever."),
        ("from now on no direct edits of the lock file", "No direct edits of the lock file."),
        ("no, we use tabs here, not spaces", "Use tabs, not spaces."),
        ("no no. ruff not flake8", "Use ruff, not flake8."),
        ("you keep renaming things. ask first", "Stop renaming things. Ask first."),
        ("btw we deploy from the release branch only", "Deploy from the release branch only."),
        ("コメントは英語で書いて", "コメントは英語で書いて。"),
        (
            f"Great, that is {'very ' * 30}fine now. Never put two features into one request.",
            "Never put two features into one request.",
        ),
    ],
)
def test_a_rule_is_worded_as_an_order(said: str, rule: str) -> None:
    assert word_rule(said) == rule


@each_row(
    ("said", "everywhere"),
    [
        ("in all my projects: use pnpm, never npm", True),
        ("во всех моих проектах отвечай по-русски", True),
        ("in this project we use pnpm", False),
        ("run all the tests before you commit", False),
    ],
)
def test_a_rule_for_all_projects_says_so(said: str, *, everywhere: bool) -> None:
    assert holds_everywhere(said) is everywhere


@each_row(
    "text",
    [
        "from now on the API returns 204",
        "going forward our free plan has three seats",
        "as of v3 the billing service answers from another region",
        "ab jetzt liefert der Dienst eine leere Liste",
        "desde hoy el servidor contesta con 503 por las noches",
        "从现在开始接口返回 204",
    ],
)
def test_how_the_product_behaves_from_now_on_is_no_rule_for_the_agent(text: str) -> None:
    assert not sets_a_rule(text)


@each_row(
    "text",
    [
        "from now on the tests go next to the file they test",
        "from now on this project uses pnpm for everything",
        "from now on the big images go into assets",
        "going forward the changelog is in the docs folder",
        "From now on the API is documented, so always update its page with it.",
    ],
)
def test_how_the_work_is_done_from_now_on_is_one(text: str) -> None:
    assert sets_a_rule(text)


@each_row("text", ["great, always a pleasure", "nice, never seen it that fast",
                   "muss man immer erst bauen", "can one never delete a tag"])  # fmt: skip
def test_praise_and_questions_without_their_mark_are_no_rules(text: str) -> None:
    assert not sets_a_rule(text)


@each_row(
    ("old", "new"),
    [
        ("Use tabs.", "Use spaces."),
        ("Always use tabs for indentation.", "Use spaces for indentation."),
        ("Never push straight to main.", "Push straight to main."),
        ("Use npm.", "Use pnpm, not npm."),
        ("Keep lines under 80 characters.", "Keep lines under 100 characters."),
        ("Use moment for dates.", "Use dayjs for dates."),
    ],
)
def test_a_rule_takes_the_place_of_one_that_cannot_hold_beside_it(old: str, new: str) -> None:
    assert drop_overruled(f"# Rules\n\n- {old}\n- Be brief.\n".encode(), f"- {new}") == (
        b"# Rules\n\n- Be brief.\n"
    )


@each_row(
    ("old", "new"),
    [
        ("Never use tabs.", "Use tabs in makefiles."),
        ("Use spaces.", "Use tabs for Go files."),
        ("Use pytest.", "Use ruff."),
        ("Write tests for the parser.", "Write docs for the parser."),
        ("Use tabs.\n  But not in YAML.", "Use spaces."),
        ("Step 1.", "Step 2."),
        ("Line 4 of the header is the year.", "Line 5 of the header is the year."),
        ("Use pytest for unit tests.", "Use pytest for browser tests."),
    ],
)
def test_a_rule_stays_beside_a_special_case_and_beside_another_rule(old: str, new: str) -> None:
    page = f"# Rules\n\n- {old}\n".encode()

    assert drop_overruled(page, f"- {new}") == page
