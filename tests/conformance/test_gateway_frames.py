"""Frames that are wrong, too large or too many, and `POST /rpc`: trouble stays with its client."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest
from websockets.exceptions import ConnectionClosed

from .gateway_bench import READ, Client, Gateway, crowd, serving
from .world import World

pytestmark = pytest.mark.slow

LIMIT = 512 * 1024


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    world = World(tmp_path_factory.mktemp("gateway"))
    world.config(crowd(world))
    with serving(world) as running:
        yield running


@pytest.fixture
def bystander(gateway: Gateway) -> Iterator[Client]:
    """A client that does nothing wrong, and must be served to the end."""
    with gateway.client(READ) as client:
        yield client
        assert client.call("health")["ok"] is True


def padded(size: int) -> str:
    """A request for `health` of exactly this many bytes."""
    frame = '{"type":"req","id":"big","method":"health"}'
    return frame + " " * (size - len(frame))


@pytest.mark.requirement("gateway:malformed")
@pytest.mark.parametrize(
    "text",
    ["no JSON", "{", '{"type":"req"', "\x00", "[" * 50_000, '{"a":' * 50_000, '{"type":"req"}}'],
)
def test_what_is_no_json_is_answered_with_an_error_and_the_end(
    gateway: Gateway, bystander: Client, text: str
) -> None:
    with gateway.client(READ) as client:
        client.socket.send(text)
        frames, _, _ = client.end()

    (error,) = [frame["error"] for frame in frames if frame["type"] == "res"]
    assert error["code"]
    assert "JSON" in error["message"]
    assert bystander.call("health")["ok"] is True


@pytest.mark.requirement("gateway:malformed")
@pytest.mark.parametrize(
    "text",
    [
        "[]",
        '"x"',
        "1",
        "null",
        "{}",
        '{"type":"res","id":"1","ok":true}',
        '{"type":"req","method":"health"}',
        '{"type":"req","id":"1"}',
        '{"type":"req","id":"1","method":7}',
        '{"type":"req","id":{},"method":"health"}',
        '{"type":"req","id":"1","method":"health","params":[]}',
    ],
)
@pytest.mark.usefixtures("bystander")
def test_json_that_is_no_request_is_answered_with_an_error(gateway: Gateway, text: str) -> None:
    with gateway.client(READ) as client:
        client.socket.send(text)
        while (answer := client.frame())["type"] != "res":
            pass

    assert answer["ok"] is False
    assert answer["error"]["message"]


@pytest.mark.requirement("gateway:too-large")
@pytest.mark.usefixtures("bystander")
def test_a_frame_over_the_limit_ends_the_connection_with_a_reason(gateway: Gateway) -> None:
    with gateway.client(READ) as client:
        client.socket.send(padded(LIMIT + 1))
        frames, code, reason = client.end()

    said = reason + json.dumps([frame for frame in frames if frame["type"] == "res"])
    assert code != 1000
    assert "large" in said or "big" in said, said


@pytest.mark.requirement("gateway:too-large")
def test_a_frame_of_exactly_the_limit_is_served(gateway: Gateway) -> None:
    with gateway.client(READ) as client:
        client.socket.send(padded(LIMIT))
        answer = client.answer("big")

    assert answer["ok"] is True


@pytest.mark.requirement("gateway:flood")
@pytest.mark.usefixtures("bystander")
def test_a_flood_ends_the_connection_with_an_error(gateway: Gateway) -> None:
    with gateway.client(READ) as client:
        frame = json.dumps({"type": "req", "id": "f", "method": "health"})
        sent = 0
        # It is ended while we still send; far more than the burst and what is allowed meanwhile.
        with suppress(OSError, ConnectionClosed):
            while sent < 20_000:
                client.socket.send(frame)
                sent += 1
        frames, code, reason = client.end()

    answers = [found for found in frames if found["type"] == "res"]
    refused = [found["error"]["message"] for found in answers if not found["ok"]]
    served = sum(1 for found in answers if found["ok"])
    assert code != 1000
    assert refused or reason
    assert served < sent


@pytest.mark.requirement("gateway:flood")
def test_a_burst_that_is_allowed_is_served(gateway: Gateway) -> None:
    with gateway.client(READ) as client:
        asked = [client.send("health") for _ in range(110)]
        answers = [client.response() for _ in asked]

    assert {answer["id"] for answer in answers if answer["ok"]} == set(asked)


@pytest.mark.requirement("gateway:requests")
def test_an_answer_carries_the_id_of_its_request(gateway: Gateway) -> None:
    with gateway.client(READ) as client:
        asked = {client.send(method): method for method in ("health", "skills.status", "status")}
        answers = [client.response() for _ in asked]

    kinds = {asked[answer["id"]]: set(answer["payload"]) for answer in answers}
    assert "skills" in kinds["skills.status"]
    assert "workspaceDir" in kinds["skills.status"]
    assert "workspaceDir" not in kinds["health"]


@pytest.mark.requirement("gateway:unknown-method")
@pytest.mark.parametrize("method", ["no.such", "skills.", "", "__class__", "skills.status "])
def test_a_method_that_does_not_exist_is_refused(gateway: Gateway, method: str) -> None:
    with gateway.client() as client:
        error = client.ask(method)["error"]

    assert error["code"] == "INVALID_REQUEST"
    assert error["message"]


@pytest.mark.requirement("gateway:many-clients")
def test_many_clients_are_served_at_once(gateway: Gateway) -> None:
    place = gateway.place()
    place.skill("shared-job")
    with ExitStack() as stack:
        clients = [stack.enter_context(gateway.client(READ)) for _ in range(30)]
        clients[0].listed(place, "shared-job")
        asked = [client.send("skills.status", {"agentId": place.agent}) for client in clients]
        answers = [client.answer(name) for client, name in zip(clients, asked, strict=True)]

    names = [[row["name"] for row in found["payload"]["skills"]] for found in answers]
    assert all("shared-job" in found for found in names)


@pytest.mark.requirement("gateway:rpc")
def test_one_frame_in_is_one_frame_out_over_http(gateway: Gateway) -> None:
    status, answer = gateway.rpc({"type": "req", "id": "9", "method": "skills.status"})
    wrong, refused = gateway.rpc({"type": "req", "id": "9", "method": "no.such"})

    assert status == 200
    assert (answer["type"], answer["id"], answer["ok"]) == ("res", "9", True)
    assert answer["payload"]["workspaceDir"] == str(gateway.world.workspace)
    assert wrong in {200, 400, 404}
    assert (refused["id"], refused["ok"]) == ("9", False)
    assert refused["error"]["code"] == "INVALID_REQUEST"


@pytest.mark.requirement("gateway:rpc")
@pytest.mark.parametrize("body", ["", "{", "[]", "[" * 50_000, "x" * (LIMIT + 1)])
def test_a_wrong_request_over_http_is_answered_with_an_error(gateway: Gateway, body: str) -> None:
    status, _, text = gateway.http("POST", "/rpc", body, Content_Type="application/json")

    assert 400 <= status < 500
    assert json.loads(text)["error"]["message"]
    assert gateway.http("GET", "/health")[0] == 200


@pytest.mark.requirement("gateway:rpc")
def test_other_paths_and_verbs_are_refused(gateway: Gateway) -> None:
    assert gateway.http("GET", "/no/such")[0] == 404
    assert gateway.http("GET", "/../../etc/passwd")[0] in {400, 404}
    assert gateway.http("GET", "/rpc")[0] in {404, 405}
    assert gateway.http("DELETE", "/health")[0] in {404, 405}
