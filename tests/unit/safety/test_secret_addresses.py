"""Addresses that are a secret by themselves, in the one table that all who hide them share."""

from tests.rows import each_row

from prowess.runtime.config.redaction import REDACTED, show_config
from prowess.secrets.credentials import mask, read_addresses
from prowess.secrets.mask import hide_secrets

CANARY = "canary0123456789abcdef"
OWNED = [
    f"https://hooks.slack.com/services/T0/B0/{CANARY}",
    f"https://discord.com/api/webhooks/123456789012345678/{CANARY}",
    f"https://discordapp.com/api/v10/webhooks/1234/{CANARY}",
    f"https://acme.webhook.office.com/webhookb2/{CANARY}",
    f"https://outlook.office.com/webhook/{CANARY}",
    f"https://hooks.zapier.com/hooks/catch/12345/{CANARY}/",
    f"https://hook.eu1.make.com/{CANARY}",
    f"https://maker.ifttt.com/trigger/door/with/key/{CANARY}",
    f"https://open.feishu.cn/open-apis/bot/v2/hook/{CANARY}",
    f"https://hc-ping.com/{CANARY}",
    f"https://events.pagerduty.com/integration/{CANARY}/enqueue",
]
SELF_HOSTED = [
    f"https://chat.example.org/hooks/{CANARY}",
    "https://n8n.example.org/webhook/123e4567-e89b-12d3-a456-426614174000",
    f"https://home.example.org:8123/api/webhook/{CANARY}",
]
ORDINARY = [
    "https://hooks.slack.com",
    "https://github.com/acme/site/settings/hooks",
    "/home/me/project/.git/hooks/prepare-commit-msg",
    "https://docs.example.org/guide/webhooks/overview",
    "https://example.org/webhook/handlers-of-mine",
    "http://127.0.0.1:11434/v1",
    "https://example.org/?page=2&sort=name",
]


@each_row("address", OWNED + SELF_HOSTED)
def test_such_an_address_is_hidden_in_a_trace_and_in_the_config(address: str) -> None:
    assert hide_secrets(f"curl -d @body {address}").text.count("****") == 1
    assert show_config({"to": address}) == {"to": REDACTED}


@each_row("address", OWNED)
def test_such_an_address_is_cut_where_a_finding_shows_a_line(address: str) -> None:
    assert CANARY not in mask(f"curl -d @body {address}")


@each_row("address", ORDINARY)
def test_an_ordinary_address_is_shown(address: str) -> None:
    assert hide_secrets(address).text == address
    assert show_config({"url": address}) == {"url": address}
    assert mask(address) == address


def test_every_row_begins_with_its_mark() -> None:
    for row in read_addresses():
        assert row.lead.replace("\\", "").startswith(row.mark.rstrip("/")[:10])
