"""Whose host an address names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.safety.hosts import (
    find_drop,
    find_host,
    find_paste_site,
    find_service,
    is_local,
    is_raw_address,
    is_short_link,
)


@each_row(
    ("text", "host"),
    [
        ("https://Drop.Example.Invalid/a?b#c", "drop.example.invalid"),
        ("https://user:key@drop.example.invalid:8443/x", "drop.example.invalid"),
        ("https://api.github.com@drop.example.invalid/", "drop.example.invalid"),
        ("see https://drop.example.invalid/a) for more", "drop.example.invalid"),
        ("hxxps://drop[.]example[.]invalid/a", "drop.example.invalid"),
        ("https:\\\\drop.example.invalid\\a", "drop.example.invalid"),
        ("wss://drop.example.invalid", "drop.example.invalid"),
        ("//drop.example.invalid/a", "drop.example.invalid"),
        ("drop.example.invalid:443", "drop.example.invalid"),
        ("drop.example.invalid./a", "drop.example.invalid"),
        ("http://[2001:db8::1]:80/", "2001:db8::1"),
        ("2001:db8::1", "2001:db8::1"),
        ("localhost:3000", "localhost"),
        ("two words", ""),
        ("", ""),
        ("a:b:c", ""),
        ("https://", ""),
    ],
)
def test_the_host_of_an_address_is_who_answers(text: str, host: str) -> None:
    assert find_host(text) == host


@each_row(
    ("address", "kind"),
    [
        ("https://webhook.site/0000", "request catcher"),
        ("https://eo1.m.pipedream.net", "request catcher"),
        ("abc.oast.fun", "request catcher"),
        ("https://a1.ngrok-free.app/x", "tunnel"),
        ("https://quick-name.trycloudflare.com", "tunnel"),
        ("https://discord.com/api/webhooks/1/x", "chat webhook"),
        ("https://api.telegram.org/bot1:x/sendMessage", "chat webhook"),
        ("https://hooks.slack.com/services/T/B/x", "chat webhook"),
        ("https://transfer.sh/f", "file drop"),
        ("termbin.com", "file drop"),
    ],
)
def test_a_place_for_collected_data_is_known_by_its_kind(address: str, kind: str) -> None:
    assert find_drop(address) == kind


@each_row(
    "address",
    [
        "https://discord.com/channels/1",
        "https://notwebhook.site/x",
        "https://webhook.site.example.com",
        "https://example.com/webhook.site",
        "https://slack.com/api/chat.postMessage",
    ],
)
def test_an_ordinary_address_is_no_drop(address: str) -> None:
    assert find_drop(address) is None


def test_a_paste_site_is_known_and_a_gist_is_none() -> None:
    assert find_paste_site("https://pastebin.com/raw/x") == "pastebin.com"
    assert find_paste_site("https://glot.io/snippets/x") == "glot.io"
    assert find_paste_site("https://www.toptal.com/developers/hastebin/x") is not None
    assert find_paste_site("https://gist.githubusercontent.com/a/b/raw") is None
    assert find_paste_site("https://www.toptal.com/python") is None


def test_a_short_link_hides_where_it_leads() -> None:
    assert is_short_link("https://bit.ly/3x")
    assert is_short_link("tinyurl.com/abc")
    assert not is_short_link("https://orbit.ly.example.com")
    assert not is_short_link("https://microsoft.com")


@each_row(
    "host",
    [
        "203.0.113.9",
        "http://203.0.113.9:8080/x",
        "3405803785",
        "0xcb007109",
        "0xCB.0.0x71.9",
        "0313.0.0161.011",
        "203.28937",
        "2001:db8::1",
        "http://[2001:db8::1]/x",
        "::ffff:203.0.113.9",
    ],
)
def test_a_bare_public_number_is_seen_in_every_spelling(host: str) -> None:
    assert is_raw_address(host)
    assert not is_local(host)


@each_row(
    "host",
    [
        "127.0.0.1",
        "2130706433",
        "0x7f.1",
        "10.1.2.3",
        "192.168.0.4",
        "172.20.0.1",
        "0.0.0.1",
        "::1",
        "::",
        "fe80::1",
        "::ffff:127.0.0.1",
        "100.64.1.1",
    ],
)
def test_numbers_of_the_own_network_are_local(host: str) -> None:
    assert is_local(host)
    assert not is_raw_address(host)


@each_row(
    "host",
    ["example.com", "1.2.3.4.5", "256.1.1.1", "v1.2", "", "99999999999", "1.2.3.example.com"],
)
def test_a_name_is_no_number(host: str) -> None:
    assert not is_raw_address(host)
    assert not is_local(host)


@pytest.mark.parametrize("host", ["localhost", "app.localhost", "printer.local", "db.internal"])
def test_names_of_the_own_network_are_local(host: str) -> None:
    assert is_local(host)


def test_a_large_service_is_known_by_its_owner() -> None:
    assert find_service("https://api.github.com/user") == "GitHub"
    assert find_service("https://slack.com/api/chat.postMessage") == "Slack"
    assert find_service("sheets.googleapis.com") == "Google"
    assert find_service("https://bedrock-runtime.eu-west-1.amazonaws.com") == "Amazon"
    assert find_service("https://example.com") is None
    assert find_service("https://api.github.com.example.invalid") is None


@each_row(
    "address",
    [
        "https://bucket.s3.amazonaws.com/x",
        "https://x.execute-api.eu-west-1.amazonaws.com",
        "https://storage.googleapis.com/bucket/x",
        "https://script.google.com/macros/s/x/exec",
        "https://name.blob.core.windows.net/x",
        "https://discord.com/api/webhooks/1/x",
    ],
)
def test_a_corner_that_anybody_rents_is_nobodys_service(address: str) -> None:
    assert find_service(address) is None


@given(st.text())
def test_any_text_has_an_answer(text: str) -> None:
    host = find_host(text)

    assert host == host.lower()
    assert "/" not in host
    assert is_raw_address(text) is is_raw_address(host)
    assert not (is_raw_address(text) and is_local(text))
