"""Which addresses of the web may be reached."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.safety.web_addresses import (
    WebAddress,
    address_problem,
    host_problem,
    read_address,
    shown,
)


@each_row(
    ("url", "expected"),
    [
        ("https://example.com", ("example.com", 443, "/", "example.com")),
        ("HTTPS://Example.com/a/b?c=d#e", ("example.com", 443, "/a/b?c=d", "example.com")),
        ("https://example.com:8443/x", ("example.com", 8443, "/x", "example.com:8443")),
        ("https://8.8.8.8/x", ("8.8.8.8", 443, "/x", "8.8.8.8")),
        ("https://[2606:4700::1111]/", ("2606:4700::1111", 443, "/", "[2606:4700::1111]")),
    ],
)
def test_a_public_address_is_read_into_its_parts(
    url: str, expected: tuple[str, int, str, str]
) -> None:
    address = read_address(url)

    assert isinstance(address, WebAddress)
    assert (address.host, address.port, address.target, address.authority) == expected


@each_row(
    ("url", "said"),
    [
        ("http://example.com/", "is not https"),
        ("ftp://example.com/", "is not https"),
        ("file:///etc/passwd", "is not https"),
        ("//example.com/", "is not https"),
        ("", "holds spaces"),
        ("https://example.com/a b", "holds spaces"),
        ("https://exa\tmple.com/", "holds spaces"),
        ("https://example.com\\@127.0.0.1/", "backslashes"),
        ("https://ex\u00e4mple.com/", "outside ASCII"),
        ("https://user:word@example.com/", "password"),
        ("https://@example.com/", "password"),
        ("https://example.com:0/", "port"),
        ("https://example.com:/", "port"),
        ("https://example.com:99999/", "is no address"),
        ("https://[::1/", "is no address"),
        ("https:///x", "host name"),
        ("https://ex%61mple.com/", "host name"),
        ("https://example.com./", "host name"),
        ("https://[v1.x]/", ""),
        ("https://" + "a" * 9000, "longer"),
    ],
)
def test_an_address_that_is_not_plain_https_is_refused(url: str, said: str) -> None:
    problem = read_address(url)

    assert isinstance(problem, str)
    assert said in problem


@each_row(
    "host",
    ["2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "127.1", "127.0.0.1.", "1.2.3.4.5", "0x",
     "256.1.1.1", "example.0x7f", "00000127.0.0.1"],
)  # fmt: skip
def test_a_number_that_some_programs_read_as_an_address_is_refused(host: str) -> None:
    assert host_problem(host)


@each_row(
    "host",
    ["localhost", "LOCALHOST", "a.localhost", "printer.local", "metadata.google.internal", "db",
     "metadata.goog", "router.home.arpa", "x.corp", ""],
)  # fmt: skip
def test_a_name_on_the_inside_is_refused_before_it_is_looked_up(host: str) -> None:
    assert host_problem(host)


@each_row(
    "address",
    ["0.0.0.1", "10.1.2.3", "100.64.0.1", "127.0.0.1", "127.255.0.1", "168.63.129.16",
     "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.168.1.1",
     "198.18.0.1", "198.51.100.1", "203.0.113.9", "224.0.0.1", "240.0.0.1", "255.255.255.255", "::",
     "::1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "64:ff9b::7f00:1", "64:ff9b:1::1",
     "100::1", "2001::1", "2001:db8::1", "2002:7f00:1::1", "3fff::1", "fc00::1", "fd00:ec2::254",
     "fe80::1", "fe80::1%eth0", "2606:4700::1%eth0", "fec0::1", "ff02::1", "5f00::1", "x", ""],
)  # fmt: skip
def test_an_address_that_is_not_public_is_refused(address: str) -> None:
    assert address_problem(address)


@pytest.mark.parametrize("address", ["1.1.1.1", "8.8.8.8", "140.82.112.3", "2606:4700::1111"])
def test_a_public_address_is_fine(address: str) -> None:
    assert address_problem(address) == ""


@given(st.ip_addresses(v=4))
def test_what_the_standard_library_calls_private_is_never_public_here(address: object) -> None:
    if not getattr(address, "is_global", True):
        assert address_problem(str(address))


@each_row(
    ("url", "expected"),
    [
        ("https://example.com/a?token=x#y", "https://example.com/a?…"),
        ("https://example.com?token=x", "https://example.com?…"),
        ("https://me:word@example.com/a", "https://example.com/a"),
        ("https://me:wo/rd@example.com/a", "https://…"),
        ("https://example.com/\x1b[2J", "https://example.com/\\x1b[2J"),
        ("word", "…"),
    ],
)
def test_a_url_is_shown_without_what_may_be_secret(url: str, expected: str) -> None:
    assert shown(url) == expected


def test_a_long_url_is_cut_where_it_is_shown() -> None:
    assert len(shown("https://example.com/" + "a" * 5000)) < 250


@given(st.text(max_size=80))
def test_no_text_makes_the_checks_fail(text: str) -> None:
    read_address(text)
    read_address(f"https://{text}/")
    host_problem(text)

    assert shown(text).isprintable()
