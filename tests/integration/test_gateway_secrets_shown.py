"""What clients see of a config with secrets that stand under short names or in addresses."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.gateway_world import Peer
from tests.integration.house_world import House, inhabited, visited

from prowess.runtime.config.redaction import REDACTED

CANARY = "canary4711"
SLACK = f"https://hooks.slack.com/services/T01234567/B01234567/{CANARY}aBcdefghijkLmn"
DISCORD = f"https://discord.com/api/webhooks/123456789012345678/{CANARY}aBcdefghijkLmnopq"
PLAIN = {
    "compass": "north",
    "bypass": "no",
    "passive": "yes",
    "url": "https://example.org/feed?page=2",
    "seed": 42,
}
SECRET = {
    "pass": CANARY, "pw": CANARY, "psw": CANARY, "hmac": CANARY, "oauth": CANARY, "sid": CANARY,
    "sessionId": CANARY, "to": SLACK, "mirror": [DISCORD], "wallet": {"seed": f"{CANARY} words"},
}  # fmt: skip


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path)
    house.configure(channels={"mail": {**PLAIN, **SECRET}})
    with inhabited(house):
        yield house


@pytest.fixture
def peer(house: House) -> Iterator[Peer]:
    with visited(house) as peer:
        yield peer


def test_no_answer_about_the_config_shows_one_of_them(house: House, peer: Peer) -> None:
    got = peer.call("config.get")
    raw = json.dumps({"channels": {"mail": {"host": "mail.example.org"}}})
    patched = peer.call("config.patch", {"raw": raw, "baseHash": got["payload"]["hash"]})

    assert patched["ok"]
    assert CANARY not in json.dumps([got, patched])
    mail = got["payload"]["parsed"]["channels"]["mail"]
    assert {name: mail[name] for name in PLAIN} == PLAIN
    assert mail["to"] == REDACTED
    assert house.config()["channels"]["mail"] == {**PLAIN, **SECRET, "host": "mail.example.org"}


def test_what_was_hidden_comes_back_with_the_whole_config(house: House, peer: Peer) -> None:
    got = peer.call("config.get")["payload"]
    wanted = got["parsed"]
    wanted["channels"]["mail"]["compass"] = "south"

    done = peer.call("config.set", {"raw": json.dumps(wanted), "baseHash": got["hash"]})

    assert done["ok"]
    assert CANARY not in json.dumps(done)
    assert house.config()["channels"]["mail"] == {**PLAIN, **SECRET, "compass": "south"}
