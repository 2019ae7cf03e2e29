"""Secrets are known by their issuer's form, examples are not secrets, and masks hold."""

import random
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fixtures.scanning.growth import grows_with_size
from tests.rows import each_row

from prowess.reading.views import View
from prowess.safety.model import Confidence, Level
from prowess.safety.survey import find_secrets
from prowess.secrets.credentials import mask, read_formats

# Made up on the spot, so that no file of the project ever holds something that looks like one.
_DRAW = random.Random(3)  # noqa: S311
WORD = string.ascii_letters + string.digits
UPPER = string.ascii_uppercase
HEX = "0123456789abcdef"


def _some(size: int, alphabet: str = WORD) -> str:
    return "".join(_DRAW.choice(alphabet) for _ in range(size))


PEM = "-----BEGIN {} KEY-----".format("PRIVATE")
SECRETS = {
    "AWS": "AKIA" + _some(16, UPPER + "234567"),
    "AWS secret": "aws_secret_access_key = " + _some(40),
    "GitHub": "ghp_" + _some(36),
    "GitHub fine": f"github_pat_{_some(22)}_{_some(59)}",
    "GitLab": "glpat-" + _some(20),
    "Slack": "xoxb-784512963012-" + _some(24),
    "Slack hook": "https://hooks.slack.com/services/"
    f"T{_some(8, UPPER)}/B{_some(8, UPPER)}/{_some(24)}",
    "Stripe": "sk_live_" + _some(24),
    "Google": "AIza" + _some(35),
    "OpenAI": f"sk-{_some(20)}T3BlbkFJ{_some(20)}",
    "OpenAI project": "sk-proj-" + _some(60),
    "Anthropic": "sk-ant-api03-" + _some(90),
    "Hugging Face": "hf_" + _some(34, string.ascii_letters),
    "npm": "npm_" + _some(36),
    "PyPI": "pypi-AgEIcHlwaS5vcmc" + _some(80),
    "SendGrid": f"SG.{_some(22)}.{_some(43)}",
    "Twilio": "SK" + _some(32, HEX),
    "Telegram": "7845129630:AA" + _some(33),
    "Discord": f"M{_some(23)}.{_some(6)}.{_some(30)}",
    "Discord hook": f"https://discord.com/api/webhooks/{_some(18, '123456789')}/{_some(68)}",
    "Azure": f"AccountKey={_some(86)}==",
    "private key": f"{PEM}\n{_some(64)}\n",
    "service account": f'"private_key": "{PEM}\\n{_some(64)}\\n"',
    "address": f"postgres://bob:{_some(14)}@db.corp.internal/x",
}


@each_row("name", SECRETS)
def test_a_secret_is_seen_by_its_form_and_never_quoted(name: str) -> None:
    text = f"Use {SECRETS[name]} for it."
    (found,) = find_secrets(View.raw("a.md", text))
    assert found.rule_id == "literal-secret"
    assert found.level is None
    assert found.spot.text not in found.message


@each_row("name", SECRETS)
def test_a_secret_is_masked_but_for_its_beginning(name: str) -> None:
    text = f"Use {SECRETS[name]} for it."
    (found,) = find_secrets(View.raw("a.md", text))
    secret = found.spot.text.strip(".")
    masked = mask(text)
    assert "****" in masked
    assert secret not in masked
    assert secret[8:] not in masked
    assert mask(masked) == masked


@each_row("name", ["GitHub", "OpenAI project", "Stripe", "Google", "Slack"])
def test_the_beginning_of_a_cut_secret_is_masked_too(name: str) -> None:
    cut = SECRETS[name][:26]
    assert cut not in mask(f"token: {cut}")


@each_row(
    "text",
    [
        "AKIAIOSFODNN7EXAMPLE",
        "ghp_" + "x" * 36,
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "sk-... and sk-ant-your-key-here and <token>",
        "AIzaSyA1B2C3D4E5F6G7H8I9J0K1L2M3N4O5P6Q",
        "postgres://user:password@localhost/db and https://user:pass@host.com",
        "redis://default:${REDIS_PASSWORD}@cache:6379",
        'password = "your-password-here" and api_key: "changeme-please-now"',
        "https://hooks.slack.com/services/T00000000/B00000000/" + "X" * 24,
        f"{PEM}\n...\n",
        'token = "get_token_from_environment"',
        "task-management-and-risk-assessment-for-everybody-in-the-whole-company-today",
    ],
)
def test_examples_and_placeholders_are_no_secrets(text: str) -> None:
    assert find_secrets(View.raw("a.md", text)) == ()


def test_a_random_value_beside_a_telling_name_is_only_a_hint() -> None:
    text = f'password = "{_some(20)}7"'
    (found,) = find_secrets(View.raw("a.py", text))
    assert (found.level, found.confidence) == (Level.INFO, Confidence.LOW)


def test_a_signed_token_is_only_a_hint() -> None:
    text = f"eyJ{_some(30)}.eyJ{_some(40)}.{_some(40)}"
    (found,) = find_secrets(View.raw("a.py", text))
    assert found.level is Level.INFO
    assert text not in mask(text)


def test_a_secret_that_two_rows_know_is_seen_once() -> None:
    text = f'api_key = "{SECRETS["GitHub"]}"'
    assert len(find_secrets(View.raw("a.py", text))) == 1


def test_every_row_says_who_issues_it_and_why_it_matters() -> None:
    assert all(row.issuer and row.reason and row.marks for row in read_formats())


def test_plain_text_is_not_masked() -> None:
    text = "Run `npm install` and read https://docs.example.com/guide?page=2 first."
    assert mask(text) == text


@given(st.text(max_size=200))
def test_masking_twice_is_masking_once(text: str) -> None:
    assert mask(mask(text)) == mask(text)


@given(
    st.lists(
        st.sampled_from(
            ["sk-", "ghp_", "eyJ", "password = ", '"', "'", "://", "a:b@", "Key=", "****", " ",
             "\n",
             "abcdef0123456789", PEM, "AKIA", "SECRETSECRET", ".", "@", "secret_access_key: "],
        ),
        max_size=30,
    )
)  # fmt: skip
def test_masking_crafted_text_twice_is_masking_once(parts: list[str]) -> None:
    text = "".join(parts)
    assert mask(mask(text)) == mask(text)
    find_secrets(View.raw("a", text))


@pytest.mark.slow
@each_row(
    "unit",
    ["sk-", "a", "eyJ", "eyJaaaaaaaaaaaaaaaaaaa.", "a://", "a://b:", PEM + "\n", 'password = "',
     "M", "secret", "Mabcdefghijklmnopqrstuvwx.", "12345678:AA", "secret_access_key=", '="',
     "AKIA"],
)  # fmt: skip
def test_crafted_texts_are_searched_in_linear_time(unit: str) -> None:
    def search(size: int) -> None:
        text = (unit * size)[:size]
        find_secrets(View.raw("a", text))
        mask(text)

    grows_with_size(search)
