"""Host and Origin: which knocks are answered."""

import pytest
from tests.rows import each_row

from prowess.gateway.gate import HostRules, Knock, find_refusal
from prowess.gateway.limits import GatewayOptions
from prowess.safety.web_addresses import is_this_machine

OPEN = HostRules(
    allowed_hosts=("Gateway.example", "box.lan:18789"),
    allowed_origins=("https://studio.example", "http://localhost:3000/"),
    loopback_only=False,
)


def _refused(
    *, host: str = "127.0.0.1:18789", origin: str | None = None, peer: str = "127.0.0.1"
) -> bool:
    origins = [] if origin is None else [origin]
    return find_refusal(Knock(hosts=[host], origins=origins, peer=peer), OPEN) is not None


@each_row(
    "host",
    ["localhost", "LocalHost.", "127.0.0.1:1", "127.9.9.9", "[::1]:18789", "gateway.example:9",
     "GATEWAY.EXAMPLE", "box.lan:18789"],
)  # fmt: skip
def test_these_hosts_are_served(host: str) -> None:
    assert not _refused(host=host)


@each_row(
    "host",
    ["", " ", "box.lan", "box.lan:1", "evil.example", "localhost.evil.example", "127.0.0.1.nip.io",
     "[::2]", "[::1", "localhost:99999999", "a b", "localhost/..", "2130706433", "0x7f.1"],
)  # fmt: skip
def test_these_hosts_are_not(host: str) -> None:
    assert _refused(host=host)


@each_row(
    "origin",
    ["http://127.0.0.1:18789", "http://localhost:18789", "http://[::1]:18789",
     "https://STUDIO.example", "https://studio.example:443", "http://127.0.0.1:3000"],
)  # fmt: skip
def test_these_origins_are_served(origin: str) -> None:
    assert not _refused(origin=origin)


@each_row(
    "origin",
    ["null", "", "*", "http://127.0.0.1", "http://localhost:1", "https://evil.example",
     "http://studio.example", "https://studio.example.evil.example", "file://", "ws://127.0.0.1:18789",
     "http://127.0.0.1:18789@evil.example", "http://evil.example#http://127.0.0.1:18789",
     "chrome-extension://abc", "http://[", "http://127.0.0.1:18789/page"],
)  # fmt: skip
def test_these_origins_are_not(origin: str) -> None:
    assert _refused(origin=origin)


def test_a_page_behind_a_proxy_is_its_own_origin() -> None:
    assert not _refused(host="gateway.example", origin="https://gateway.example")


def test_headers_that_come_twice_are_refused() -> None:
    twice = ["127.0.0.1", "127.0.0.1"]

    assert find_refusal(Knock(hosts=twice, origins=[], peer="127.0.0.1"), OPEN)
    assert find_refusal(Knock(hosts=[], origins=[], peer="127.0.0.1"), OPEN)
    origins = ["http://127.0.0.1", "http://127.0.0.1"]
    assert find_refusal(Knock(hosts=["127.0.0.1"], origins=origins, peer="127.0.0.1"), OPEN)


def test_a_gateway_for_its_own_machine_serves_no_other() -> None:
    closed = HostRules()

    for peer, served in (("127.0.0.1", True), ("::1", True), ("10.0.0.5", False), ("", False)):
        knock = Knock(hosts=["localhost"], origins=[], peer=peer)
        assert (find_refusal(knock, closed) is None) is served


@pytest.mark.parametrize(
    ("address", "local"),
    [("::ffff:127.0.0.1", True), ("127.1.2.3", True), ("::ffff:10.0.0.1", False), ("x", False)],
)
def test_loopback_is_known_in_all_its_forms(address: str, *, local: bool) -> None:
    assert is_this_machine(address) is local


def test_without_a_token_a_gateway_cannot_be_opened_to_others() -> None:
    with pytest.raises(ValueError, match="needs a token"):
        GatewayOptions(version="1", loopback_only=False)


def test_options_do_not_show_their_secrets() -> None:
    planted = "canary"

    shown = repr(GatewayOptions(version="1", token=planted, password=planted))

    assert "canary" not in shown
