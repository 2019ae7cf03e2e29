import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.routing.words import (
    find_asking_part,
    find_spellings,
    is_foreign,
    is_mention,
    measure_shape,
    split_words,
)

_ANY_TEXT = st.text(
    alphabet=st.characters() | st.sampled_from("aZ09_-.'\u2019#+ \n`>部署กा\u0301\ud800"),
    max_size=200,
)


@each_row(
    ("written", "words"),
    [
        ("Deploying the deployments", ("deploy", "deploy")),
        ("don't what's I'm they\u2019re", ()),
        ("a user's files", ("user", "file")),
        ("open PRs and APIs", ("open", "pr", "api")),
        ("Configuración de los archivos", ("configuracion", "archivo")),
        ("C++ or C#", ("c++", "c#")),
        ("error 404 in 3 of 12 pods", ("error", "404", "pod")),
        ("проверка кода", ("проверка", "кода")),
    ],
)
def test_a_text_becomes_its_stemmed_words_in_order(written: str, words: tuple[str, ...]) -> None:
    assert split_words(written).running == words


@each_row(
    ("written", "parts", "joined"),
    [
        ("parse_http_header", ("pars", "header"), "parsehttphead"),
        ("GitHub", ("git", "hub"), "github"),
        ("code-review", ("code", "review"), "codereview"),
        ("XMLParser", ("xml", "parser"), "xmlparser"),
        ("python3.11", ("python3",), "python3.11"),
        ("iPad", ("pad",), "ipad"),
    ],
)
def test_an_identifier_is_its_parts_and_also_one_word(
    written: str, parts: tuple[str, ...], joined: str
) -> None:
    words = split_words(written)

    assert words.running == parts
    assert words.joined == (joined,)


def test_a_name_is_found_however_its_words_are_set_apart() -> None:
    plain = split_words("github").running

    assert plain == split_words("GitHub").joined == split_words("git-hub").joined


def test_a_version_keeps_its_dots() -> None:
    assert split_words("1.10").joined != split_words("11.0").joined


def test_scripts_without_spaces_become_characters_and_pairs() -> None:
    words = split_words("部署应用")

    assert words.grams == ("部", "署", "应", "用", "部署", "署应", "应用")
    assert words.running == ()


def test_the_little_words_of_chinese_are_left_out() -> None:
    assert "的" not in split_words("我的文档").grams


def test_full_width_letters_are_letters() -> None:
    assert split_words("\uff24\uff45\uff50\uff4c\uff4f\uff59") == split_words("Deploy")


def test_endless_tokens_say_nothing() -> None:
    assert split_words("x" * 500) == split_words("ab-" * 60 + "c") == split_words("")


def test_a_long_identifier_has_parts_but_no_joined_form() -> None:
    words = split_words("alpha_" * 9 + "omega")

    assert words.running[-1] == "omega"
    assert words.joined == ()


def test_a_word_is_shown_as_it_was_written() -> None:
    spelled = find_spellings("Schedule reminders in MyCalendar 日程")

    assert spelled["remind"] == "reminders"
    assert spelled["mycalendar"] == "MyCalendar"
    assert spelled["日程"] == "日程"


@each_row(
    ("text", "dense", "non_latin"),
    [
        ("Deploy it", 0.0, 0.0),
        ("部署应用", 1.0, 1.0),
        ("код", 0.0, 1.0),
        ("", 0.0, 0.0),
        ("12", 0, 0),
    ],
)
def test_the_shape_tells_the_script(text: str, dense: float, non_latin: float) -> None:
    shape = measure_shape(text)

    assert (shape.dense_script, shape.non_latin) == (dense, non_latin)


@each_row(
    ("text", "share"),
    [
        ("fix the tests", 0.0),
        ("fix test_login", 0.5),
        ("call parseHeader", 0.5),
        ("read main.py", 0.5),
        ("buy gpt4", 0.5),
        ("open PRs", 0.0),
        ("on 2026-01-02", 0.0),
    ],
)
def test_the_shape_tells_the_share_of_identifiers(text: str, share: float) -> None:
    assert measure_shape(text).identifiers == share


def test_the_shape_counts_what_says_something() -> None:
    assert measure_shape("please help me with the deployment").content_words == 1
    assert measure_shape("部署应用").content_words == 2


@each_row(
    ("text", "words"),
    [
        ("please help me with the deployment", 6),
        ("do it!", 2),
        ("2 + 2", 2),
        ("read main.py", 2),
        ("部署应用", 2),
        ("部署 the app", 3),
        ("сделай отчёт", 2),
        ("", 0),
        ("... ?! \N{PARTY POPPER} \u200b", 0),
        ("x" * 500, 0),
    ],
)
def test_the_shape_counts_words_of_any_kind(text: str, words: int) -> None:
    assert measure_shape(text).words == words


@pytest.mark.parametrize(
    "text", ["整理电子发票并生成报销单", "整理电子发票 as PDF", "Готовит отчёт", "بناء التقرير"]
)
def test_a_text_is_foreign_where_most_letters_are_of_another_script(text: str) -> None:
    assert is_foreign(text)


@each_row(
    "text",
    ["", "12", "Deploys it.", "Crea facturas y señala cláusulas", "Notes of the 产品 team", "...…"],
)
def test_a_text_in_latin_letters_is_not_foreign(text: str) -> None:
    assert not is_foreign(text)


def test_a_short_message_is_asked_as_it_is() -> None:
    message = "What is wrong with `code`, and why?"

    assert find_asking_part(message) == message


def test_lines_that_are_quoted_do_not_ask_even_in_a_short_message() -> None:
    message = "> the plants need water\n> and light\nBuild me a presentation for the board meeting"

    assert find_asking_part(message) == "Build me a presentation for the board meeting"


@pytest.mark.parametrize(
    "pasted",
    [
        "```\n" + "kubernetes pods crash\n" * 40 + "```",
        "\n".join(f"2026-01-02 10:00:{second:02d} INFO started" for second in range(40)),
        "\n".join("> an older mail about holidays" for _ in range(40)),
        "\n".join(f'  File "app.py", line {line}' for line in range(40)),
    ],
)
def test_what_is_pasted_does_not_drown_the_question(pasted: str) -> None:
    message = f"Summarise the quarterly sales figures as slides\n{pasted}"

    assert find_asking_part(message) == "Summarise the quarterly sales figures as slides"


def test_pasted_code_speaks_where_the_prose_hardly_does() -> None:
    asked = find_asking_part("Fix this:\n```\n" + "import torch\n" * 90 + "```")

    assert asked.startswith("Fix this:\nimport torch")
    assert len(asked) < 400


def test_a_message_of_code_alone_is_asked_by_its_code() -> None:
    asked = find_asking_part("```\n" + "import torch\n" * 900 + "```")

    assert "torch" in asked
    assert len(asked) <= 2_000


def test_first_and_last_words_of_a_long_message_stay() -> None:
    asked = find_asking_part("Translate this. " + "lorem " * 200_000 + "Into Danish, please.")

    assert asked.startswith("Translate this.")
    assert asked.endswith("Into Danish, please.")
    assert len(asked) <= 2_000


def test_a_long_message_of_nothing_stays_short() -> None:
    assert len(find_asking_part("!" * 100_000)) <= 2_000


@settings(max_examples=100, deadline=None)
@given(_ANY_TEXT)
def test_no_text_makes_reading_raise(text: str) -> None:
    words = split_words(text)
    shape = measure_shape(text)

    assert all(words.running)
    assert all(words.joined)
    assert {*words.running, *words.joined, *words.grams} == set(find_spellings(text))
    assert all(0 <= share <= 1 for share in shape[:3])
    assert shape.words >= 0


@settings(max_examples=100, deadline=None)
@given(_ANY_TEXT, st.integers(min_value=1, max_value=300))
def test_the_asking_part_is_bounded(text: str, times: int) -> None:
    assert len(find_asking_part(text * times)) <= 2_000


@pytest.mark.parametrize(
    "message",
    [
        "src/app/pdf/fill_form.py",
        "@docs/deploy-plan.md",
        "https://example.org/docker/compose",
        "C:\\Users\\me\\slides\\deck.pptx",
        "sie_client_endpoint",
        "```\nimport torch\n```",
    ],
)
def test_paths_addresses_and_identifiers_are_mentions(message: str) -> None:
    assert is_mention(message)


@pytest.mark.parametrize(
    "message", ["fill in src/form.pdf", "Observability", "部署", "merge PDF files"]
)
def test_whoever_says_something_does_more_than_mention(message: str) -> None:
    assert not is_mention(message)


def test_a_sentence_that_goes_on_without_blanks_is_no_part_of_a_path() -> None:
    said = find_asking_part("请检查src/app/main.py里的数据库连接错误并修复它,参考@docs/审查报告.md")

    assert "main" not in said
    assert "审查报告" not in said
    assert "里的数据库连接错误并修复它" in said


def test_paths_are_left_out_where_enough_is_said_beside_them() -> None:
    said = find_asking_part("merge the old invoices into one: /home/me/docker/kubernetes.txt")

    assert "kubernetes" not in said
    assert "merge the old invoices" in said
    assert find_asking_part("look at src/docker/main.py") == "look at src/docker/main.py"


def test_abbreviations_with_slashes_are_no_path() -> None:
    said = find_asking_part("put the old scans as JPG/PNG/GIF into SRC/DOCS/out of my project")

    assert "JPG/PNG/GIF" in said
    assert "DOCS" not in said
