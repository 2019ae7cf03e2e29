"""Nothing that looks like a credential is learned, and the refusal does not show it."""

import pytest
from tests.rows import each_row

from prowess.errors import ProposalSecretError
from prowess.secrets.credentials import refuse_known_secrets, refuse_secrets
from prowess.workshop.review import without_secrets

TOKEN = "ghp_" + "aZ3kQ9xW7vB5nM1cR8tY6uI4oP2sD0fGhJkL"


@each_row(
    ("text", "secret"),
    [
        (f"next time use {TOKEN} for it", TOKEN),
        # Its letters say that it is made up; its form is enough.
        ("use AKIAIOSFODNN7EXAMPLE here", "AKIAIOSFODNN7EXAMPLE"),
        ("the password is Tr0ub4dor&3, as ever", "Tr0ub4dor&3"),
        ("log in with password: hunter2222", "hunter2222"),
        ("postgres://app:s3cr3tPa55@db.internal/x", "s3cr3tPa55"),
        (f"first line\n{TOKEN}\n{TOKEN}", TOKEN),
    ],
)
def test_a_credential_is_refused_and_masked(text: str, secret: str) -> None:
    with pytest.raises(ProposalSecretError) as caught:
        refuse_secrets({"body": text})

    assert secret not in str(caught.value)
    assert "body" in str(caught.value)
    assert "****" in caught.value.evidence


@each_row(
    "text",
    [
        "Read the token from $GITHUB_TOKEN, never from the command line.",
        "The token limit is 128000, so cut the transcript.",
        "Ask for the password before you begin.",
        "Use api key <your-key> in the header.",
        "Check the secret of the deployment in the vault.",
    ],
)
def test_talk_about_credentials_is_no_credential(text: str) -> None:
    refuse_secrets({"body": text})


def test_a_skill_with_an_example_key_can_still_be_edited() -> None:
    refuse_known_secrets({"SKILL.md": "Keys look like AKIAIOSFODNN7EXAMPLE."})

    with pytest.raises(ProposalSecretError):
        refuse_known_secrets({"SKILL.md": f"Use {TOKEN}."})


MADE = "Xk9vbb2qZ7"


@each_row(
    "text",
    [
        f"https://bob:{MADE}@git.corp.test/x",
        f"Authorization: Bearer {MADE}{MADE}",
        f"curl -u bob:{MADE} https://x.test",
        f"mysql -u root -p{MADE} db",
        f"export DB_PASS={MADE}",
        f"pass = {MADE}",
        f"mot de passe: {MADE}",
        f"Passwort: {MADE}",
        f"contrase\u00f1a: {MADE}",
        f"\u043f\u0430\u0440\u043e\u043b\u044c: {MADE}",
        f"\u5bc6\u7801\uff1a{MADE}",
        "hf_" + "aZ3kQ9xW7vB5nM1cR8tY6uI4oP2sD0fGhJ",
        "123456789:AA" + "aZ3kQ9xW7vB5nM1cR8tY6uI4oP2sD0fGh",
        f"ghp_\u200b{TOKEN[4:]}",
        f"\uff47\uff48\uff50_{TOKEN[4:]}",
    ],
)
def test_a_credential_is_seen_in_every_dress_and_masked_before_it_is_sent(text: str) -> None:
    with pytest.raises(ProposalSecretError) as caught:
        refuse_secrets({"body": f"- Use {text} for it"})

    sent = without_secrets(f"- Use {text} for it")

    for secret in (MADE, TOKEN[4:]):
        assert secret not in str(caught.value)
        assert secret not in sent
    assert "****" in sent


@each_row(
    "text",
    [
        "Use a password manager.",
        "Set the token in the config.",
        "Clone https://user@host.test/x first.",
        "Authorization: Bearer <token>",
        "Authorization: Bearer $TOKEN",
        "api_key=YOUR_KEY",
        "password: xxx",
        "curl -u $USER:$PASS https://x.test",
        "mysql -u root -p mydb1",
        "mkdir -p build2/out",
        "token: ${{ secrets.GITHUB_TOKEN }}",
        "passed: test_login2fa_flow",
    ],
)
def test_honest_words_and_placeholders_pass(text: str) -> None:
    refuse_secrets({"body": text})
