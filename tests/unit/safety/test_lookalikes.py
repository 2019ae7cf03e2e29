"""Names made to be taken for others are found, and honest neighbours are left alone."""

import pytest
from tests.fixtures.scanning.growth import grows_with_size
from tests.rows import each_row

from prowess.safety.judging.packages import find_lookalike, find_package_lookalike

TRUSTED = ("github", "slack", "notion", "skill-creator", "summarize", "1password", "gpt-4-tools")


@each_row(
    ("name", "trusted"),
    [
        ("git\u200bhub", "github"),
        ("github\u00ad", "github"),
        ("gith\U000e0041ub", "github"),
        ("GitHub", "github"),
        ("\uff47\uff49\uff54\uff48\uff55\uff42", "github"),
        ("gíthüb", "github"),
        ("g\u0456thub", "github"),
        ("sla\u0441k", "slack"),
        ("n\u03bftion", "notion"),
        ("git-hub", "github"),
        ("skill_creator", "skill-creator"),
        ("skill--creator", "skill-creator"),
        ("skill creator", "skill-creator"),
        ("skillcreator", "skill-creator"),
        ("g1thub", "github"),
        ("sl4ck", "slack"),
        ("n0t10n", "notion"),
        ("lpassword", "1password"),
        ("sumrnarize", "summarize"),
        ("skiII-creator", "skill-creator"),
        ("githubb", "github"),
        ("gihtub", "github"),
        ("gthub", "github"),
        ("notiom", "notion"),
        ("skill-craetor", "skill-creator"),
        ("skil-craetor", "skill-creator"),
    ],
)
def test_a_disguised_name_is_found_with_its_model(name: str, trusted: str) -> None:
    assert find_lookalike(name, TRUSTED) == trusted


@each_row(
    "name",
    [
        "github", "gitlab", "git", "motions", "weather", "skill-reviewer", "lack", "slick-slacks",
        "github-issues", "gpt-5-tools", "gpt-4-tools-2", "github2", "日本語", "", "-", "x" * 200,
        "\u0456" * 300,
    ],
)  # fmt: skip
def test_an_honest_name_is_left_alone(name: str) -> None:
    assert find_lookalike(name, TRUSTED) is None


def test_a_trusted_name_near_another_trusted_one_is_no_lookalike() -> None:
    assert find_lookalike("note", ("notes", "note")) is None
    assert find_lookalike("notess", ("notes", "notess")) is None


def test_a_short_name_is_not_compared_letter_by_letter() -> None:
    assert find_lookalike("gif", ("git",)) is None
    assert find_lookalike("g1t", ("git",)) is not None


@each_row(
    ("manager", "name", "meant"),
    [
        ("pip", "reqeusts", "requests"),
        ("pip", "requestss", "requests"),
        ("pip", "reqests==2.0", "requests"),
        ("uv", "python-dotevn", "python-dotenv"),
        ("pip", "pythondotenv", "python-dotenv"),
        ("pip", "beautifullsuop4", "beautifulsoup4"),
        ("pip", "tensorfl0w", "tensorflow"),
        ("pip", "djang0", "django"),
        ("pip", "urlib3", "urllib3"),
        ("pip", "colourama", "colorama"),
        ("pip", "opeani[voice]>=1", "openai"),
        ("poetry", "num\u0440y", "numpy"),
        ("npm", "crossenv", "cross-env"),
        ("npm", "lodahs@4.17.21", "lodash"),
        ("npm", "expres", "express"),
        ("yarn", "electorn", "electron"),
        ("pnpm", "typescirpt", "typescript"),
        ("npx", "@bable/core@7", "@babel"),
    ],
)
def test_a_package_made_like_a_popular_one_is_found(manager: str, name: str, meant: str) -> None:
    assert find_package_lookalike(name, manager) == meant


@pytest.mark.parametrize(
    ("manager", "names"),
    [
        (
            "pip",
            (
                "requests request grequests urllib3 boto boto3 pillow colors colours psycopg"
                " python_dotenv Python.Dotenv dotenv scapy scrapy spacy simpy sympy fastai fastapi"
                " datasets dataset websocket websockets openai[voice]>=1 Flask==3 markdown2 httpx2"
                " dask dash tox nox unicorn uvicorn gunicorn pyaml pyyaml ngboost xgboost cattrs"
            ),
        ),
        (
            "npm",
            (
                "preact react vue nuxt next nest vite vitest request requests colors color tslint"
                " eslint jsdom jsdoc ramda rambda inquirer enquirer express@4 @babel/anything"
                " @my-company/core sqlite sqlite3 mysql mysql2 socketio chartjs @types/node@20"
            ),
        ),
        ("cargo", "reqeusts lodahs"),
        ("brew", "reqeusts"),
    ],
)
def test_a_real_package_is_left_alone_however_near_it_is(manager: str, names: str) -> None:
    assert {name: find_package_lookalike(name, manager) for name in names.split()} == dict.fromkeys(
        names.split()
    )


@each_row("name", ["", "@", "@/", "==", "x" * 100_000, "@" + "x" * 100_000, "\u0456"])
def test_what_is_no_package_name_is_no_lookalike(name: str) -> None:
    assert find_package_lookalike(name, "npm") is None
    assert find_package_lookalike(name, "pip") is None


@pytest.mark.slow
def test_a_long_list_of_packages_takes_no_longer_for_each() -> None:
    def look(size: int) -> None:
        for number in range(size // 500):
            find_package_lookalike(f"some-long-package-name-{number}", "pip")

    look(500)
    grows_with_size(look)
