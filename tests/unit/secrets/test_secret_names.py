"""Names behind which people keep secrets, and those that merely look like one."""

from tests.rows import each_row

from prowess.secrets.names import names_secret_text, names_setting


@each_row(
    "name",
    [
        "pass", "PASS", "pw", "psw", "pswd", "smtpPass", "DB_PASS", "dbpw", "mail-pw", "pass2",
        "passOld", "userpass", "hmac", "webhookHmac", "oauth", "basicAuth", "salt", "sid",
        "sessionId", "PHPSESSID", "contrase\u00f1a", "motDePasse", "heslo", "\u5bc6\u7801",
        "apiKey", "botToken", "clientSecret", "env", "auth", "headers", "card_number", "iban",
    ],
)  # fmt: skip
def test_a_name_of_a_secret_is_known_however_it_is_written(name: str) -> None:
    assert names_setting(name)


@each_row(
    "name",
    [
        "", "compass", "bypass", "passive", "passage", "passRate", "passThrough", "passCount",
        "url", "upwards", "cacheSlots", "basalt", "assault", "hmacAlgorithm", "oauthProvider",
        "accountSid", "license", "session", "seed", "keyboard", "name", "host", "span", "powder",
    ],
)  # fmt: skip
def test_an_ordinary_name_is_none(name: str) -> None:
    assert not names_setting(name)


def test_a_seed_is_a_secret_as_a_text_alone() -> None:
    assert names_secret_text("seed")
    assert names_secret_text("walletSeed")
    assert not names_secret_text("seeder")
    assert not names_secret_text("")
