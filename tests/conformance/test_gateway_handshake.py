"""How a client gets in: challenge, versions, token, device, Origin and Host, and its scopes."""

import json
from collections.abc import Callable, Iterator

import pytest
from websockets.exceptions import InvalidStatus

from .gateway_bench import (
    ADMIN,
    CLIENT,
    OPERATOR,
    READ,
    WRITE,
    Client,
    Device,
    Gateway,
    crowd,
    greet,
    serving,
)
from .world import Json, World

pytestmark = pytest.mark.slow

TOKEN = "planted-" + "t0k3n" * 6
WRONG = "planted-" + "wr0ng" * 6
READ_METHODS = (
    "status",
    "agents.list",
    "models.list",
    "sessions.list",
    "skills.status",
    "skills.prompt",
    "skills.validate",
    "skills.usage",
    "skills.proposals.list",
    "skills.proposals.events.list",
    "config.get",
    "config.schema",
)
ADMIN_METHODS = (
    "skills.install",
    "skills.update",
    "skills.proposals.create",
    "skills.proposals.update",
    "skills.proposals.revise",
    "skills.proposals.apply",
    "skills.proposals.reject",
    "skills.proposals.quarantine",
    "config.set",
    "config.patch",
)


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    world = World(tmp_path_factory.mktemp("gateway"))
    world.config(crowd(world))
    with serving(world, token=TOKEN) as running:
        yield running


def assert_turned_away(client: Client, answer: Json) -> None:
    """An error was answered, nothing secret in it, and the connection is closed."""
    frames, _, reason = client.end()
    assert answer["ok"] is False
    assert answer["error"]["message"]
    said = json.dumps([answer, frames, reason])
    assert TOKEN not in said
    assert WRONG not in said


@pytest.mark.requirement("gateway:challenge", "gateway:paths")
@pytest.mark.parametrize("path", ["/", "/ws"])
def test_the_server_speaks_first_with_another_nonce_each_time(gateway: Gateway, path: str) -> None:
    with gateway.dial(path) as one, gateway.dial(path) as other:
        frames = [one.frame(), other.frame()]

    assert {(frame["type"], frame["event"]) for frame in frames} == {("event", "connect.challenge")}
    nonces = [frame["payload"]["nonce"] for frame in frames]
    assert len(set(nonces)) == 2
    assert all(len(nonce) >= 16 for nonce in nonces)


@pytest.mark.requirement("gateway:hello")
def test_the_answer_to_connect_has_every_documented_part(gateway: Gateway) -> None:
    full = {
        **gateway.greeting(*OPERATOR),
        "client": {**CLIENT, "instanceId": "i-1"},
        "caps": [],
        "userAgent": "a browser",
        "locale": "en",
    }
    with gateway.dial() as client:
        answer = greet(client, full)

    assert (answer["type"], answer["ok"]) == ("res", True)
    hello = answer["payload"]
    assert hello["type"] == "hello-ok"
    assert hello["protocol"] == 4
    assert isinstance(hello["server"]["version"], str)
    assert {*READ_METHODS, *ADMIN_METHODS} <= set(hello["features"]["methods"])
    assert {"skills.changed", "skills.proposal", "config.changed", "presence", "tick"} <= set(
        hello["features"]["events"]
    )
    health = hello["snapshot"]["health"]
    assert health["defaultAgentId"] == "main"
    none = {"path": "", "count": 0, "recent": []}
    first = {"agentId": "main", "name": "Main", "isDefault": True, "sessions": none}
    assert health["agents"][0] == first
    assert hello["snapshot"]["sessionDefaults"]["mainKey"] == "main"
    assert hello["auth"]["role"] == "operator"
    assert set(OPERATOR) <= set(hello["auth"]["scopes"])
    assert hello["policy"]["maxPayload"] == 512 * 1024
    assert hello["policy"]["tickIntervalMs"] > 0


@pytest.mark.requirement("gateway:versions")
@pytest.mark.parametrize(
    ("least", "most", "spoken"), [(3, 3, 3), (3, 4, 4), (4, 4, 4), (1, 9, 4), (4, 9, 4)]
)
def test_the_highest_version_that_both_speak_is_spoken(
    gateway: Gateway, least: int, most: int, spoken: int
) -> None:
    wanted = {**gateway.greeting(READ), "minProtocol": least, "maxProtocol": most}
    with gateway.dial() as client:
        answer = greet(client, wanted)

    assert answer["payload"]["protocol"] == spoken


@pytest.mark.requirement("gateway:versions")
@pytest.mark.parametrize(("least", "most"), [(1, 2), (5, 9), (4, 3)])
def test_without_a_common_version_the_client_is_turned_away(
    gateway: Gateway, least: int, most: int
) -> None:
    wanted = {**gateway.greeting(READ), "minProtocol": least, "maxProtocol": most}
    with gateway.dial() as client:
        assert_turned_away(client, greet(client, wanted))


@pytest.mark.requirement("gateway:token")
@pytest.mark.parametrize(
    "auth", [None, {}, {"token": WRONG}, {"token": ""}, {"password": WRONG}, {"token": TOKEN[:-1]}]
)
def test_without_the_token_the_client_is_turned_away(gateway: Gateway, auth: Json | None) -> None:
    wanted = gateway.greeting(READ)
    del wanted["auth"]
    with gateway.dial() as client:
        assert_turned_away(
            client, greet(client, wanted if auth is None else {**wanted, "auth": auth})
        )


@pytest.mark.requirement("gateway:not-connected")
def test_before_connect_nothing_else_is_answered(gateway: Gateway) -> None:
    with gateway.dial() as client:
        client.frame()
        errors = [client.refused(method) for method in ("health", "skills.status", "no.such")]
        connected = client.ask("connect", gateway.greeting(READ))

    assert [error["code"] for error in errors] == ["NOT_CONNECTED"] * 3
    assert connected["ok"] is True


@pytest.mark.requirement("gateway:closed-params")
@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"minProtocol": "three"}, "minProtocol"),
        ({"scopes": "operator.read"}, "scopes"),
        ({"client": None}, "client"),
        ({"role": 7}, "role"),
    ],
)
def test_a_wrong_greeting_is_refused_with_the_field(
    gateway: Gateway, change: Json, field: str
) -> None:
    with gateway.dial() as client:
        answer = greet(client, {**gateway.greeting(READ), **change})

    assert answer["ok"] is False
    assert answer["error"]["code"] == "INVALID_REQUEST"
    assert answer["error"]["details"]["field"].startswith(field)


@pytest.mark.requirement("gateway:device")
def test_a_device_that_signs_the_challenge_gets_in(gateway: Gateway) -> None:
    wanted = gateway.greeting(*OPERATOR)
    with gateway.dial() as client:
        nonce = client.frame()["payload"]["nonce"]
        answer = client.ask("connect", {**wanted, "device": Device().proof(nonce, wanted)})

    assert answer["ok"] is True, answer


def other_signature(proof: Json, wanted: Json) -> Json:
    return {**proof, "signature": Device().proof(proof["nonce"], wanted)["signature"]}


def other_key(proof: Json, wanted: Json) -> Json:
    return {**proof, "publicKey": Device().proof(proof["nonce"], wanted)["publicKey"]}


def other_identity(proof: Json, wanted: Json) -> Json:
    return {**Device().proof(proof["nonce"], wanted), "id": proof["id"]}


def other_nonce(proof: Json, wanted: Json) -> Json:
    del proof
    return Device().proof("a-nonce-of-yesterday", wanted)


def other_moment(proof: Json, wanted: Json) -> Json:
    del wanted
    return {**proof, "signedAt": proof["signedAt"] + 1}


def other_scopes(proof: Json, wanted: Json) -> Json:
    return Device().proof(proof["nonce"], {**wanted, "scopes": [READ]})


def other_token(proof: Json, wanted: Json) -> Json:
    return Device().proof(proof["nonce"], {**wanted, "auth": {"token": WRONG}})


@pytest.mark.requirement("gateway:device")
@pytest.mark.parametrize(
    "forge",
    [
        other_signature,
        other_key,
        other_identity,
        other_nonce,
        other_moment,
        other_scopes,
        other_token,
    ],
)
def test_a_device_that_did_not_sign_exactly_this_is_turned_away(
    gateway: Gateway, forge: Callable[[Json, Json], Json]
) -> None:
    wanted = gateway.greeting(*OPERATOR)
    with gateway.dial() as client:
        nonce = client.frame()["payload"]["nonce"]
        forged = forge(Device().proof(nonce, wanted), wanted)
        assert_turned_away(client, client.ask("connect", {**wanted, "device": forged}))


@pytest.mark.requirement("gateway:origin")
@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1.evil.example"},
        {"Host": "evil.example"},
        {"Host": "127.0.0.1.evil.example"},
    ],
)
def test_no_web_page_reaches_it(gateway: Gateway, headers: dict[str, str]) -> None:
    frame = {"type": "req", "id": "1", "method": "health"}
    status, _ = gateway.rpc(frame, Authorization=f"Bearer {TOKEN}", **headers)

    assert status == 403
    assert gateway.http("GET", "/health", **headers)[0] == 403
    if "Origin" in headers:
        with pytest.raises(InvalidStatus) as refused, gateway.dial(**headers):
            pass
        assert refused.value.response.status_code == 403


@pytest.mark.requirement("gateway:origin")
def test_a_page_of_its_own_address_is_let_in(gateway: Gateway) -> None:
    with gateway.dial(Origin=f"http://{gateway.netloc}") as client:
        answer = greet(client, gateway.greeting(READ))

    assert answer["ok"] is True


@pytest.mark.requirement("gateway:scopes")
def test_who_may_only_read_reads_everything_and_changes_nothing(gateway: Gateway) -> None:
    with gateway.client(READ) as client:
        for method in READ_METHODS:
            client.call(method)
        refusals = {method: client.refused(method) for method in ADMIN_METHODS}

    for method, error in refusals.items():
        assert ADMIN in error["message"], (method, error)


@pytest.mark.requirement("gateway:scopes")
def test_who_may_write_is_no_administrator(gateway: Gateway) -> None:
    with gateway.client(READ, WRITE) as client:
        error = client.refused("config.set", raw="{}")

    assert ADMIN in error["message"]


@pytest.mark.requirement("gateway:scopes")
def test_removing_and_restoring_need_more_than_reading(gateway: Gateway) -> None:
    place = gateway.place()
    kept = place.skill("kept")
    with gateway.client(READ) as client:
        errors = [
            client.refused("skills.remove", skillKey="kept", source="openclaw-workspace"),
            client.refused("skills.restore", id="any"),
            client.refused("skills.proposals.rollback", proposalId="any"),
        ]

    for error in errors:
        assert WRITE in error["message"] or ADMIN in error["message"], error
    assert kept.exists()


@pytest.mark.requirement("gateway:scopes")
def test_who_may_nothing_is_told_what_reading_needs(gateway: Gateway) -> None:
    with gateway.dial() as client:
        answer = greet(client, gateway.greeting())
        errors = [client.refused(method) for method in ("skills.status", "config.get")]

    assert READ not in answer["payload"]["auth"]["scopes"]
    assert all(READ in error["message"] for error in errors)


@pytest.mark.requirement("gateway:rpc", "gateway:token")
def test_one_request_over_http_needs_the_token_too(gateway: Gateway) -> None:
    frame = {"type": "req", "id": "7", "method": "skills.status"}

    status, answer = gateway.rpc(frame, Authorization=f"Bearer {TOKEN}")
    turned_away = [gateway.rpc(frame), gateway.rpc(frame, Authorization=f"Bearer {WRONG}")]

    assert (status, answer["ok"], answer["id"]) == (200, True, "7")
    for code, refusal in turned_away:
        assert code in {401, 403}
        assert refusal["error"]["message"]
        assert "skills" not in refusal.get("payload", {})


@pytest.mark.requirement("gateway:token-never-said")
def test_the_token_is_not_said(gateway: Gateway) -> None:
    bearer = f"Bearer {TOKEN}"
    pages = [gateway.http("GET", path, Authorization=bearer)[2] for path in ("/metrics", "/health")]

    said = [json.dumps(gateway.banner), *pages, gateway.log.read_text(encoding="utf-8")]
    assert not [text for text in said if TOKEN in text]
    assert gateway.banner["token"] is True
