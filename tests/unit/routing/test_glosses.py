"""Messages in other languages find English skills, and English stays as it was."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

import prowess
from prowess.routing.words import find_language, put_in_english

SAME_REQUEST = {
    "de": "Kannst du mir bitte helfen, die Datenbank zu sichern?",
    "es": "¿Puedes ayudarme a hacer una copia de la base de datos?",
    "fr": "Peux-tu m'aider à sauvegarder la base de données ?",
    "pt": "Você pode me ajudar a fazer uma cópia do banco de dados?",
    "ru": "Помоги мне сделать резервную копию базы данных, пожалуйста",
    "zh": "请帮我备份数据库",
    "ja": "データベースをバックアップしてください",
    "ko": "데이터베이스를 백업해 주세요",
}


@pytest.mark.parametrize(("language", "message"), SAME_REQUEST.items())
def test_a_message_is_said_in_english_words(language: str, message: str) -> None:
    assert find_language(message) == language
    assert "database" in put_in_english(message).split()


@pytest.mark.parametrize(
    "message",
    [
        "Can you help me to back up the database?",
        "deploy the app",
        "fix die() in main.c and run the tests",
        "Como's bakery site needs a menu page for the new location",
        "git push -u origin main",
        "",
        "!!! 123",
        "naïve café façade in the résumé template",
    ],
)
def test_english_stays_as_it_is(message: str) -> None:
    assert put_in_english(message) == message


def test_names_and_unknown_words_stay_in_the_gloss() -> None:
    said = put_in_english("Bitte führe src/app_main.py mit PyTorch und kubectl auf dem Server aus")

    assert {"src/app_main.py", "PyTorch", "kubectl", "server"} <= set(said.split())


def test_latin_words_within_another_script_stay() -> None:
    said = put_in_english("用 Docker 部署 FastAPI 服务")

    assert {"Docker", "FastAPI", "deploy"} <= set(said.split())


def test_both_parts_of_a_compound_are_said() -> None:
    said = put_in_english("Ich brauche eine Datenbankabfrage für die Kundentabelle")

    assert "database" in said
    assert "table" in said


def test_an_unknown_word_is_read_as_one_that_begins_alike() -> None:
    assert "translate" in put_in_english("nous cherchons des traductrices pour notre site").split()


def test_what_begins_like_a_word_may_be_a_name() -> None:
    assert "React" in put_in_english("quiero un formulario con React para los clientes").split()


def test_only_german_joins_words() -> None:
    # Cut in two, it would be "contrast" and "port".
    said = put_in_english("quiero que el diseño de la contraportada sea azul")

    assert "contraportada" in said.split()


def test_an_endless_word_costs_little() -> None:
    word = "schifffahrt" * 2_000
    started = time.process_time()

    assert word in put_in_english(f"das ist nicht {word}")
    assert time.process_time() - started < 2


def test_a_phrase_goes_before_its_words() -> None:
    assert "headache" in put_in_english("tengo un dolor de cabeza y necesito un consejo")


_HEARD = """
import tracemalloc
from prowess.routing.words import put_in_english
put_in_english("ich")
tracemalloc.start()
for message in ("wo ist die Datei", "copia de los datos", "où est le fichier",
                "cópia dos dados não", "где файл", "数据库在哪里", "ファイルはどこ", "파일 어디"):
    assert put_in_english(message) != message, message
print(tracemalloc.get_traced_memory()[0])
"""


@pytest.mark.slow
def test_whoever_heard_every_language_holds_little_more_than_the_dictionaries() -> None:
    files = (Path(prowess.__file__).parent / "model" / "glosses").glob("*.tsv")

    # Our own script.
    heard = subprocess.run([sys.executable, "-c", _HEARD], capture_output=True, check=True)

    assert int(heard.stdout) < 5 * sum(file.stat().st_size for file in files)
