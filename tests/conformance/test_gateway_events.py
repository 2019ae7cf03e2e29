"""What the gateway pushes, and what other machines bring while they are connected."""

import json
from collections.abc import Iterator

import pytest

from .gateway_bench import READ, Client, Gateway, Place, crowd, serving
from .world import NO_SUCH_BIN, World, openclaw, requires

pytestmark = pytest.mark.slow

KEY = "planted-key-" + "k3y" * 5
BIN = f"{NO_SUCH_BIN}-of-a-node"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    world = World(tmp_path_factory.mktemp("gateway"))
    world.config(crowd(world))
    with serving(world) as running:
        yield running


@pytest.fixture
def client(gateway: Gateway) -> Iterator[Client]:
    with gateway.client() as connected:
        yield connected


@pytest.fixture
def place(gateway: Gateway) -> Place:
    return gateway.place()


@pytest.mark.requirement("gateway:skills-changed")
def test_a_skill_that_comes_changes_or_goes_is_pushed(client: Client, place: Place) -> None:
    def version() -> int:
        return int(client.call("skills.prompt", agentId=place.agent)["version"])

    def moved(before: int) -> int:
        client.events.clear()
        event = client.until(
            "skills.changed",
            lambda found: found["agentId"] == place.agent and found["version"] > before,
        )
        return int(event["payload"]["version"])

    versions = [version()]
    path = place.skill("moving-job")
    versions.append(moved(versions[-1]))
    came = client.status(place.agent)
    place.skill("moving-job", description="Says something else now.")
    versions.append(moved(versions[-1]))
    changed = client.status(place.agent)
    path.unlink()
    versions.append(moved(versions[-1]))

    assert versions == sorted(set(versions))
    assert "moving-job" in came
    assert changed["moving-job"]["description"] == "Says something else now."
    assert "moving-job" not in client.status(place.agent)


@pytest.mark.requirement("gateway:skills-changed")
def test_a_change_of_the_configuration_changes_skills_too(client: Client, place: Place) -> None:
    place.skill("set-job")
    client.listed(place, "set-job")
    client.events.clear()
    client.call("skills.update", skillKey="set-job", enabled=False)
    client.until("skills.changed", lambda payload: payload["agentId"] == place.agent)

    assert client.status(place.agent)["set-job"]["disabled"] is True


@pytest.mark.requirement("gateway:config-changed")
def test_every_client_learns_of_a_config_change_and_of_no_secret(
    gateway: Gateway, client: Client
) -> None:
    with gateway.client(READ) as other:
        client.call("skills.update", skillKey="told-job", apiKey=KEY)
        fresh = client.call("config.get")["hash"]
        event = other.until("config.changed", lambda payload: payload["hash"] == fresh)

    assert KEY not in json.dumps([*other.events, *client.events])
    assert event["seq"] >= 1


@pytest.mark.requirement("gateway:config-changed")
def test_a_change_by_hand_is_noticed(gateway: Gateway, client: Client) -> None:
    config = gateway.world.read_config()
    gateway.world.config({**config, "byHand": "yes"})
    found = client.call("config.get")
    # What other tests changed just before may be told first.
    client.until("config.changed", lambda payload: payload["hash"] == found["hash"])

    assert found["config"]["byHand"] == "yes"


@pytest.mark.requirement("gateway:sequence")
def test_each_connection_counts_its_events_without_a_gap(gateway: Gateway, client: Client) -> None:
    for number in range(3):
        client.call("skills.update", skillKey="counted", env={"N": str(number)})
    with gateway.client() as other:
        client.call("skills.update", skillKey="counted", env={"N": "last"})
        fresh = client.call("config.get")["hash"]
        for one in (client, other):
            one.until("config.changed", lambda payload: payload["hash"] == fresh)

    for one in (client, other):
        numbers = [event["seq"] for event in one.events if event["event"] != "connect.challenge"]
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
        assert numbers[0] <= 1


@pytest.mark.requirement("gateway:presence")
def test_who_comes_and_goes_is_pushed(gateway: Gateway, client: Client) -> None:
    def present(payload: object) -> int:
        return json.dumps(payload).count('"operator"')

    client.call("health")
    with gateway.client(READ):
        two = client.until("presence", lambda payload: present(payload) >= 2)
    client.events.clear()
    one = client.until("presence", lambda payload: present(payload) < present(two["payload"]))

    assert one["seq"] > two["seq"]


@pytest.mark.requirement("gateway:nodes")
def test_what_a_node_has_counts_until_it_leaves(
    gateway: Gateway, client: Client, place: Place
) -> None:
    place.skill("remote-job", metadata=requires(bins=[BIN]))
    place.skill("mac-job", metadata=openclaw(requires={"bins": [BIN]}, os=["darwin"]))
    before = client.listed(place, "remote-job", "mac-job")
    with gateway.client("node", role="node") as node:
        wanted = node.call("skills.bins")["bins"]
        node.call("node.bins", bins=[BIN, "unasked"], platform="darwin")
        during = client.eventually(
            lambda: client.status(place.agent),
            lambda rows: bool(rows["remote-job"]["eligible"] and rows["mac-job"]["eligible"]),
        )
        prompt = client.call("skills.prompt", agentId=place.agent)["prompt"]
    after = client.eventually(
        lambda: client.status(place.agent), lambda rows: not rows["remote-job"]["eligible"]
    )

    assert BIN in wanted
    assert not before["remote-job"]["eligible"]
    assert not before["mac-job"]["eligible"]
    assert during["remote-job"]["missing"]["bins"] == []
    assert "remote-job" in prompt
    assert after["mac-job"]["eligible"] is False


@pytest.mark.requirement("gateway:nodes")
def test_a_node_that_says_less_has_less(gateway: Gateway, client: Client, place: Place) -> None:
    place.skill("fickle-job", metadata=requires(bins=[BIN]))
    client.listed(place, "fickle-job")
    with gateway.client("node", role="node") as node:
        node.call("node.bins", bins=[BIN], platform="darwin")
        client.eventually(
            lambda: client.status(place.agent), lambda rows: bool(rows["fickle-job"]["eligible"])
        )
        node.call("node.bins", bins=[], platform="darwin")
        rows = client.eventually(
            lambda: client.status(place.agent), lambda rows: not rows["fickle-job"]["eligible"]
        )

    assert rows["fickle-job"]["missing"]["bins"] == [BIN]


@pytest.mark.requirement("gateway:nodes", "gateway:scopes")
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("skills.status", {}),
        ("config.get", {}),
        ("config.set", {"raw": "{}"}),
        ("skills.update", {"skillKey": "x", "enabled": False}),
    ],
)
def test_a_node_may_not_do_what_operators_do(
    gateway: Gateway, method: str, params: dict[str, object]
) -> None:
    with gateway.client("node", "operator.admin", "operator.read", role="node") as node:
        error = node.refused(method, **params)

    assert "operator." in error["message"]


@pytest.mark.requirement("gateway:nodes")
@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"bins": "all", "platform": "darwin"}, "bins"),
        ({"bins": [7], "platform": "darwin"}, "bins"),
        ({"bins": [], "platform": 7}, "platform"),
        ({"bins": [], "platform": "darwin", "root": True}, "root"),
    ],
)
def test_a_node_that_says_something_wrong_is_refused(
    gateway: Gateway, params: dict[str, object], field: str
) -> None:
    with gateway.client("node", role="node") as node:
        error = node.refused("node.bins", **params)

    assert error["code"] == "INVALID_REQUEST"
    assert error["details"]["field"].startswith(field)
