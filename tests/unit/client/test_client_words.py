"""What a client says first, what it understands, and what it never shows."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.client.calls import GatewayCallError, GatewayLostError, is_stale, read_refusal
from prowess.client.connection import (
    Backoff,
    Credentials,
    Pace,
    connect_params,
    name_scopes,
    read_address,
    read_frame,
    read_hello,
    request_text,
)
from prowess.wire.answers import InspectionAnswer, StatusAnswer, read_object
from prowess.wire.handshake import DeviceClaim, DeviceIdentity, find_device_problem

CANARY = "canary-9f0c2b"
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("given_url", "url", "shown"),
    [
        ("ws://127.0.0.1:18789", "ws://127.0.0.1:18789/", "ws://127.0.0.1:18789"),
        ("http://127.0.0.1:18789", "ws://127.0.0.1:18789/", "ws://127.0.0.1:18789"),
        ("https://box.example/ws?a=b", "wss://box.example/ws?a=b", "wss://box.example"),
        (" ws://[::1]:7/ws#x ", "ws://[::1]:7/ws", "ws://[::1]:7"),
    ],
)
def test_the_address_may_be_what_the_terminal_prints(given_url: str, url: str, shown: str) -> None:
    found = read_address(given_url)

    assert (found.url, found.shown) == (url, shown)


@each_row("url", ["127.0.0.1:18789", "ftp://x", "ws://", "", "ws://x:99999"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"address|[Pp]ort"):
        read_address(url)


def test_a_token_inside_of_the_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(ValueError, match="token=") as caught:
        read_address(f"ws://user:{CANARY}@127.0.0.1:1")

    assert CANARY not in str(caught.value)


def test_only_this_machine_is_reached_without_a_proxy() -> None:
    for own in ("localhost", "LOCALHOST", "127.0.0.1", "127.0.0.2", "[::1]", "[::ffff:127.0.0.1]"):
        assert read_address(f"ws://{own}:1").is_local, own
    assert not read_address("ws://localhost.example:1").is_local


def test_secrets_are_sent_and_not_shown() -> None:
    device = DeviceIdentity.new()
    credentials = Credentials(token=CANARY, password=CANARY, device=device)

    params = connect_params(credentials, "nonce", 1)

    assert params["auth"] == {"token": CANARY, "password": CANARY}
    assert (params["minProtocol"], params["maxProtocol"]) == (3, 4)
    shown = repr(credentials)
    assert CANARY not in shown
    assert device.private_bytes().hex() not in shown
    assert device.id in shown


def test_without_a_secret_nothing_is_said_about_it() -> None:
    assert {"auth", "device"}.isdisjoint(connect_params(Credentials(), "nonce", 1))


def test_a_device_comes_back_with_the_key_that_was_kept_and_a_gateway_believes_it() -> None:
    first = DeviceIdentity.new()
    again = DeviceIdentity.from_private_bytes(first.private_bytes())
    credentials = Credentials(token=CANARY, device=again, scopes=("operator.read",))

    params = connect_params(credentials, "the-nonce", 1_000)

    said, client = params["device"], params["client"]
    claim = DeviceClaim(
        id=said["id"],
        public_key=said["publicKey"],
        signature=said["signature"],
        signed_at=said["signedAt"],
        nonce=said["nonce"],
        client_id=client["id"],
        client_mode=client["mode"],
        role=params["role"],
        scopes=tuple(params["scopes"]),
        platform=client["platform"],
        family="",
    )
    assert said["id"] == first.id
    assert (
        find_device_problem(claim, token=CANARY, nonce="the-nonce", now_ms=1_000, local=False)
        is None
    )
    assert find_device_problem(
        claim, token=CANARY * 2, nonce="the-nonce", now_ms=1_000, local=False
    )


def test_a_gateway_that_speaks_another_protocol_is_refused() -> None:
    with pytest.raises(GatewayCallError, match="protocol 5") as caught:
        read_hello({"protocol": 5})

    assert caught.value.reason == "PROTOCOL_MISMATCH"


def test_short_names_of_scopes_are_written_out() -> None:
    assert name_scopes(("read", "operator.admin", "node")) == (
        "operator.read",
        "operator.admin",
        "node",
    )


def test_a_frame_that_the_gateway_would_not_take_is_not_sent() -> None:
    with pytest.raises(GatewayCallError, match="send less") as caught:
        request_text("1", "config.set", {"raw": "x" * 100}, 100)

    assert caught.value.reason == "PAYLOAD_TOO_LARGE"


def test_text_of_any_language_is_counted_as_it_is_sent() -> None:
    text = request_text("1", "x", {"raw": "ü"}, 1000)

    assert text.isascii()
    assert json.loads(text)["params"]["raw"] == "ü"


@each_row("text", ["", "[1]", "{", b"\xff", "null"])
def test_what_is_no_frame_is_an_empty_one(text: str | bytes) -> None:
    assert read_frame(text) == {}


def test_a_refusal_says_what_and_why_and_brings_what_came_beside_it() -> None:
    error = {"code": "UNAVAILABLE", "message": "Install failed", "details": {"reason": "x"}}

    found = read_refusal({"ok": False, "error": error, "payload": {"code": 3}})

    assert str(found) == "Install failed (UNAVAILABLE)"
    assert (found.code, found.reason, found.details) == (
        "gateway.call",
        "UNAVAILABLE",
        {"reason": "x"},
    )
    assert found.payload == {"code": 3}


@settings(max_examples=50)
@given(_JSON)
def test_a_refusal_of_any_shape_is_a_refusal(error: object) -> None:
    assert read_refusal({"error": error}).reason


@pytest.mark.parametrize(
    "error",
    [
        GatewayCallError("INVALID_REQUEST", "config changed since last load; try again"),
        GatewayCallError("INVALID_REQUEST", "config base hash required; Re-run config.get"),
        GatewayCallError("UNAVAILABLE", "other words", {"reason": "config.conflict"}),
    ],
)
def test_a_config_that_somebody_else_wrote_is_recognised(error: GatewayCallError) -> None:
    assert is_stale(error)
    assert not is_stale(GatewayCallError("INVALID_REQUEST", "agents: a list, please"))


@settings(max_examples=50)
@given(_JSON)
def test_an_answer_of_any_shape_is_read(raw: object) -> None:
    fields = read_object(raw)

    assert StatusAnswer.read(fields).raw == fields
    assert InspectionAnswer.read(fields).raw == fields


def test_a_burst_is_free_and_then_there_is_a_pace() -> None:
    now = 100.0
    pace = Pace(10.0, 5, lambda: now)

    waits = [pace.seconds() for _ in range(8)]

    assert waits[:5] == [0.0] * 5
    assert waits[5:] == pytest.approx([0.1, 0.2, 0.3])


def test_who_was_quiet_has_no_more_than_one_burst() -> None:
    clock = [0.0]
    pace = Pace(10.0, 5, lambda: clock[0])
    clock[0] = 1000.0

    waits = [pace.seconds() for _ in range(6)]

    assert waits[:5] == pytest.approx([0.0] * 5)
    assert waits[5] == pytest.approx(0.1)


def test_tries_come_later_and_later_up_to_a_bound() -> None:
    delays = Backoff(first_seconds=1.0, factor=2.0, most_seconds=5.0).delays()

    waits = [next(delays) for _ in range(6)]

    assert 0.8 <= waits[0] <= 1.2
    assert all(4.0 <= wait <= 6.0 for wait in waits[3:])


@pytest.mark.parametrize("text", ["[" * 200_000, '{"a":' * 200_000])
def test_a_frame_that_is_nested_too_deeply_is_the_end_of_the_connection(text: str) -> None:
    with pytest.raises(GatewayLostError, match="nested too deeply"):
        read_frame(text)
