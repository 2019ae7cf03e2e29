"""`config.*`: hashes, secrets that are hidden and kept, patches, and how the file is written."""

import hashlib
import json
from collections.abc import Iterator

import pytest

from .gateway_bench import OPERATOR, SENTINEL, Client, Gateway, serving
from .world import Json, World

pytestmark = pytest.mark.slow

KEY = "planted-key-" + "k3y" * 5


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    world = World(tmp_path_factory.mktemp("gateway"))
    with serving(world) as gateway:
        yield gateway


@pytest.fixture
def gateway(running: Gateway) -> Gateway:
    """The server with a known configuration, which it has noticed."""
    agents = [{"id": name, "name": f"The {name}"} for name in ("main", "second", "third")]
    config = {
        "agents": {"list": agents},
        "skills": {"entries": {"tool": {"apiKey": KEY, "env": {"TOOL_URL": "https://x.invalid"}}}},
        "channels": {"chat": {"botToken": KEY, "rooms": ["one", "two"]}},
        "mode": "plain",
    }
    running.world.config(config)
    return running


@pytest.fixture
def client(gateway: Gateway) -> Iterator[Client]:
    with gateway.client() as connected:
        yield connected


def content(gateway: Gateway) -> bytes:
    return gateway.world.config_file.read_bytes()


def loaded(client: Client) -> tuple[Json, str]:
    """The configuration as a client sees it, and its hash."""
    found = client.call("config.get")
    config = found["config"]
    assert isinstance(config, dict)
    return config, str(found["hash"])


@pytest.mark.requirement("gateway:config-get", "gateway:config-redacted")
def test_get_tells_the_file_with_its_hash_and_without_its_secrets(
    gateway: Gateway, client: Client
) -> None:
    found = client.call("config.get")

    assert found["exists"] is True
    assert found["path"] == str(gateway.world.config_file)
    assert found["hash"] == hashlib.sha256(content(gateway)).hexdigest()
    assert KEY not in json.dumps(found)
    assert found["config"]["skills"]["entries"]["tool"]["apiKey"] == SENTINEL
    assert found["config"]["mode"] == "plain"
    assert found["config"]["channels"]["chat"] == {"botToken": SENTINEL, "rooms": ["one", "two"]}


@pytest.mark.requirement("gateway:config-hash")
@pytest.mark.parametrize("method", ["config.set", "config.patch"])
def test_without_the_right_hash_nothing_is_written(
    gateway: Gateway, client: Client, method: str
) -> None:
    before = content(gateway)
    missing = client.refused(method, raw='{"mode": "new"}')
    stale = client.refused(method, raw='{"mode": "new"}', baseHash="0" * 64)

    assert missing["code"] == stale["code"] == "INVALID_REQUEST"
    assert missing["message"].startswith("config base hash required")
    assert stale["message"].startswith("config changed since last load")
    assert "config.get" in missing["message"]
    assert "config.get" in stale["message"]
    assert content(gateway) == before


@pytest.mark.requirement("gateway:config-set", "gateway:config-sentinel")
def test_set_writes_everything_and_puts_hidden_secrets_back(
    gateway: Gateway, client: Client
) -> None:
    config, base = loaded(client)
    config["mode"] = "changed"
    del config["channels"]["chat"]["rooms"]
    answer = client.call("config.set", raw=json.dumps(config), baseHash=base)

    written = gateway.world.read_config()
    assert answer["ok"] is True
    assert KEY not in json.dumps(answer)
    assert written["mode"] == "changed"
    assert written["channels"] == {"chat": {"botToken": KEY}}
    assert written["skills"]["entries"]["tool"]["apiKey"] == KEY
    assert SENTINEL not in json.dumps(written)
    assert loaded(client)[1] != base


@pytest.mark.requirement("gateway:config-file")
def test_the_file_is_private_and_nothing_is_left_beside_it(
    gateway: Gateway, client: Client
) -> None:
    gateway.world.config_file.chmod(0o644)
    beside = {path.name for path in gateway.world.state.iterdir()}
    config, base = loaded(client)
    client.call("config.set", raw=json.dumps({**config, "mode": "private"}), baseHash=base)
    mode = gateway.world.config_file.stat().st_mode & 0o777
    client.call("config.patch", raw='{"mode": "patched"}', baseHash=loaded(client)[1])

    assert mode == 0o600
    assert gateway.world.config_file.stat().st_mode & 0o777 == 0o600
    after = {path.name for path in gateway.world.state.iterdir()}
    assert not [name for name in after - beside if "tmp" in name or name.startswith(".")]


@pytest.mark.requirement("gateway:config-sentinel")
def test_a_sentinel_that_stands_for_nothing_is_never_written(
    gateway: Gateway, client: Client
) -> None:
    config, base = loaded(client)
    config["skills"]["entries"]["fresh"] = {"apiKey": SENTINEL}
    client.ask("config.set", {"raw": json.dumps(config), "baseHash": base})
    patch = json.dumps({"channels": {"other": {"botToken": SENTINEL}}})
    client.ask("config.patch", {"raw": patch, "baseHash": loaded(client)[1]})

    assert SENTINEL.encode() not in content(gateway)


@pytest.mark.requirement("gateway:config-retry")
def test_a_client_that_reads_again_after_a_stale_hash_succeeds(
    gateway: Gateway, client: Client
) -> None:
    config, base = loaded(client)
    with gateway.client() as other:
        other.call("config.patch", raw='{"mode": "theirs"}', baseHash=loaded(other)[1])
    config["agents"]["list"][0]["skills"] = ["one"]
    error = client.refused("config.set", raw=json.dumps(config), baseHash=base)
    fresh, base = loaded(client)
    fresh["agents"]["list"][0]["skills"] = ["one"]
    client.call("config.set", raw=json.dumps(fresh, indent=2), baseHash=base)

    written = gateway.world.read_config()
    assert "config changed since last load" in error["message"]
    assert written["mode"] == "theirs"
    assert written["agents"]["list"][0]["skills"] == ["one"]


@pytest.mark.requirement("gateway:config-patch")
def test_a_patch_merges_objects_and_deletes_with_null(gateway: Gateway, client: Client) -> None:
    before = gateway.world.read_config()
    patch = {"mode": None, "skills": {"entries": {"tool": {"enabled": False}}}, "fresh": {"a": 1}}
    answer = client.call("config.patch", raw=json.dumps(patch), baseHash=loaded(client)[1])

    after = gateway.world.read_config()
    assert answer["ok"] is True
    assert "mode" not in after
    assert after["fresh"] == {"a": 1}
    assert after["skills"]["entries"]["tool"] == {
        **before["skills"]["entries"]["tool"],
        "enabled": False,
    }
    assert after["channels"] == before["channels"]
    assert after["agents"] == before["agents"]


@pytest.mark.requirement("gateway:config-patch")
def test_lists_of_things_with_ids_merge_by_id(gateway: Gateway, client: Client) -> None:
    before = gateway.world.read_config()["agents"]["list"]
    patch = {"agents": {"list": [{"id": before[1]["id"], "skills": ["x"]}]}}
    client.call("config.patch", raw=json.dumps(patch), baseHash=loaded(client)[1])

    after = gateway.world.read_config()["agents"]["list"]
    assert after[1] == {**before[1], "skills": ["x"]}
    assert [row for row in after if row["id"] != before[1]["id"]] == [
        row for row in before if row["id"] != before[1]["id"]
    ]


@pytest.mark.requirement("gateway:config-patch")
def test_a_list_that_would_lose_something_needs_to_be_named(
    gateway: Gateway, client: Client
) -> None:
    raw = '{"channels": {"chat": {"rooms": ["one"]}}}'
    before, base = content(gateway), loaded(client)[1]
    error = client.refused("config.patch", raw=raw, baseHash=base)
    untouched = content(gateway) == before
    client.call("config.patch", raw=raw, baseHash=base, replacePaths=["channels.chat.rooms"])

    assert error["code"] == "INVALID_REQUEST"
    assert "replacePaths" in error["message"]
    assert untouched
    assert gateway.world.read_config()["channels"]["chat"]["rooms"] == ["one"]


@pytest.mark.requirement("gateway:config-noop")
def test_a_patch_that_changes_nothing_writes_nothing(gateway: Gateway, client: Client) -> None:
    before = gateway.world.config_file.stat()
    raw = json.dumps({"mode": "plain", "skills": {"entries": {"tool": {"apiKey": SENTINEL}}}})
    answer = client.call("config.patch", raw=raw, baseHash=loaded(client)[1])

    after = gateway.world.config_file.stat()
    assert (answer["ok"], answer["noop"], answer["changedPaths"]) == (True, True, [])
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.requirement("gateway:config-agents")
def test_a_set_that_would_lose_agents_is_refused(gateway: Gateway, client: Client) -> None:
    before = content(gateway)
    config, base = loaded(client)
    del config["agents"]["list"][-1]
    error = client.refused("config.set", raw=json.dumps(config), baseHash=base)

    assert error["code"] == "INVALID_REQUEST"
    assert "agent" in error["message"]
    assert content(gateway) == before


@pytest.mark.requirement("gateway:config-wrong")
@pytest.mark.parametrize("raw", ["{", "[]", "7", "", '"text"', "null", "[" * 20_000])
@pytest.mark.parametrize("method", ["config.set", "config.patch"])
def test_what_is_no_object_is_refused(
    gateway: Gateway, client: Client, method: str, raw: str
) -> None:
    before = content(gateway)
    error = client.refused(method, raw=raw, baseHash=loaded(client)[1])

    assert error["code"] == "INVALID_REQUEST"
    assert content(gateway) == before


@pytest.mark.requirement("gateway:config-wrong")
@pytest.mark.parametrize(
    ("patch", "field"),
    [
        ({"skills": {"entries": 7}}, "skills.entries"),
        ({"skills": {"load": {"watch": "perhaps"}}}, "skills.load.watch"),
        ({"agents": {"list": "main"}}, "agents.list"),
    ],
)
def test_a_setting_of_the_wrong_type_is_refused_by_its_path(
    gateway: Gateway, client: Client, patch: Json, field: str
) -> None:
    before = content(gateway)
    error = client.refused("config.patch", raw=json.dumps(patch), baseHash=loaded(client)[1])

    assert error["code"] == "INVALID_REQUEST"
    assert field in error["message"] or field in json.dumps(error.get("details"))
    assert KEY not in json.dumps(error)
    assert content(gateway) == before


@pytest.mark.requirement("gateway:config-schema")
def test_the_schema_tells_every_setting(client: Client) -> None:
    schema = client.call("config.schema")["schema"]

    assert schema["type"] == "object"
    skills = schema["properties"]["skills"]["properties"]
    assert skills["load"]["properties"]["watch"]["type"] == "boolean"
    assert {"entries", "allowBundled"} <= set(skills)
    assert "agents" in schema["properties"]


@pytest.mark.requirement("gateway:config-hash")
def test_without_a_file_no_hash_is_needed(world: World) -> None:
    with serving(world) as gateway, gateway.client(*OPERATOR) as client:
        before = client.call("config.get")
        client.call("config.set", raw='{"mode": "first"}')
        error = client.refused("config.set", raw='{"mode": "second"}')

    assert before["exists"] is False
    assert world.read_config() == {"mode": "first"}
    assert world.config_file.stat().st_mode & 0o777 == 0o600
    assert error["message"].startswith("config base hash required")


@pytest.mark.requirement("gateway:config-get")
def test_a_file_that_was_broken_by_hand_is_told_without_its_secrets(
    gateway: Gateway, client: Client
) -> None:
    gateway.world.config('{"skills": {"entries": {"tool": {"apiKey": "' + KEY + '"')
    answer = client.ask("config.get")
    still = client.call("health")

    assert KEY not in json.dumps(answer)
    assert still["ok"] is True
    assert answer["ok"] is False or answer["payload"]["valid"] is False
