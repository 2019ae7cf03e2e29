"""Nothing that looks like a credential is learned, and the refusal does not show it."""

import pytest

from prowess.errors import ProposalSecretError
from prowess.learning.secret_guard import refuse_known_secrets, refuse_secrets

TOKEN = "ghp_" + "aZ3kQ9xW7vB5nM1cR8tY6uI4oP2sD0fGhJkL"


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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
