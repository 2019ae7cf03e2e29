"""The handshake as a decision: protocol, secret, rights."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.gateway.calls import ClientScope, Code, Json
from prowess.gateway.gate import (
    Accepted,
    Doorkeeper,
    Rejected,
    Visit,
    common_protocol,
    grant_scopes,
    make_owner,
)
from prowess.gateway.limits import FailureTable

SECRET = "canary-token"  # noqa: S105 - of no gateway
VISIT = Visit(connection_id="c1", nonce="n", peer="127.0.0.1", local=True, now_ms=0)
KEYS = st.sampled_from(
    ["minProtocol", "maxProtocol", "client", "role", "scopes", "device", "caps", "auth", "locale"]
)
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


def _keeper(*secrets: str) -> Doorkeeper:
    return Doorkeeper(secrets or (SECRET,), FailureTable(lambda: 0.0))


def _params(**changes: Any) -> Json:  # noqa: ANN401 - whatever JSON holds
    return {
        "minProtocol": 3,
        "maxProtocol": 3,
        "client": {"id": "webchat", "platform": "web"},
        "auth": {"token": SECRET},
        **changes,
    }


@given(st.integers(-5, 12), st.integers(-5, 12))
@settings(max_examples=50)
def test_a_common_protocol_is_one_that_both_speak(oldest: int, newest: int) -> None:
    spoken = common_protocol(oldest, newest)

    both = [version for version in (3, 4) if oldest <= version <= newest]
    assert spoken == (max(both) if both else None)


def test_a_client_gets_a_name_that_is_safe_to_show() -> None:
    client = {"id": "x", "displayName": "My\x1b[2J\u202e Client\n" + "y" * 200, "platform": "linux"}

    found = _keeper().admit(_params(client=client), VISIT)

    assert isinstance(found, Accepted)
    assert found.client.name.startswith("My Client yyy")
    assert len(found.client.name) == 64


@pytest.mark.parametrize("field", ["token", "password"])
def test_either_secret_is_taken_from_either_field(field: str) -> None:
    keeper = _keeper("first", "second")

    for secret in ("first", "second"):
        assert isinstance(keeper.admit(_params(auth={field: secret}), VISIT), Accepted)
    assert isinstance(keeper.admit(_params(auth={field: ""}), VISIT), Rejected)


def test_who_sends_no_token_is_told_so_and_is_not_slowed() -> None:
    keeper = _keeper()

    found = [keeper.admit(_params(auth=None), VISIT) for _ in range(20)]

    assert all(isinstance(one, Rejected) and one.code is Code.UNAUTHORIZED for one in found)


@each_row(
    ("changes", "field"),
    [
        ({"minProtocol": "3"}, "minProtocol"),
        ({"maxProtocol": True}, "maxProtocol"),
        ({"client": None}, "client"),
        ({"client": {}}, "client.id"),
        ({"client": {"id": "x", "displayName": 3}}, "client.displayName"),
        ({"scopes": "operator.read"}, "scopes"),
        ({"scopes": [1]}, "scopes.0"),
        ({"auth": {"token": 7}}, "auth.token"),
        ({"device": {"id": "x"}}, "device.publicKey"),
        ({"role": "king"}, "role"),
        ({"caps": {}}, "caps"),
    ],
)
def test_a_wrong_field_is_named_and_may_be_mended(changes: Json, field: str) -> None:
    found = _keeper().admit(_params(**changes), VISIT)

    assert isinstance(found, Rejected)
    assert (found.code, found.close) == (Code.INVALID_REQUEST, None)
    assert found.details == {"field": field}


@given(st.dictionaries(KEYS, JUNK, max_size=4))
@settings(max_examples=50)
def test_no_connect_crashes_the_door_or_opens_it_without_the_secret(junk: Json) -> None:
    found = _keeper().admit(_params(auth=None) | junk, VISIT)

    assert isinstance(found, Rejected)
    assert SECRET not in repr(found)


@each_row(
    ("asked", "scopes"),
    [
        (None, {ClientScope.READ, ClientScope.WRITE, ClientScope.ADMIN, ClientScope.NODE}),
        ([], set()),
        (
            ["operator.admin"],
            {ClientScope.READ, ClientScope.WRITE, ClientScope.ADMIN, ClientScope.NODE},
        ),
        (["operator.read", "unknown"], {ClientScope.READ}),
        (["node"], set()),
        (["unknown"], set()),
    ],
)
def test_an_operator_gets_what_it_asks_for_and_what_that_implies(
    asked: list[str] | None, scopes: set[ClientScope]
) -> None:
    assert grant_scopes("operator", asked) == scopes


def test_the_owner_has_every_right() -> None:
    assert make_owner("r1", "rpc").scopes == set(ClientScope)
