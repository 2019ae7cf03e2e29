"""`skills.update`, `skills.remove` and `skills.restore`: what they write, and what they refuse."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from .gateway_bench import SENTINEL, Client, Gateway, Place, crowd, serving
from .workshop_bench import files_below
from .world import Json, World

pytestmark = pytest.mark.slow

KEY = "planted-key-" + "k3y" * 5
WORKSPACE, MANAGED = "openclaw-workspace", "openclaw-managed"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    world = World(tmp_path_factory.mktemp("gateway"))
    outside = world.root / "outside"
    outside.mkdir()
    world.config(crowd(world, load={"allowSymlinkTargets": [str(outside)]}))
    with serving(world) as running:
        yield running


@pytest.fixture
def client(gateway: Gateway) -> Iterator[Client]:
    with gateway.client() as connected:
        yield connected


@pytest.fixture
def place(gateway: Gateway) -> Place:
    return gateway.place()


def stored(gateway: Gateway, key: str) -> Json:
    """The entry of a skill in the config file."""
    found = gateway.world.read_config()["skills"]["entries"][key]
    assert isinstance(found, dict)
    return found


@pytest.mark.requirement("gateway:update-merges")
def test_an_update_changes_only_what_it_names(gateway: Gateway, client: Client) -> None:
    client.call("skills.update", skillKey="merged", apiKey=KEY, env={"A_URL": "one", "B": "two"})
    client.call("skills.update", skillKey="merged", enabled=False)
    client.call("skills.update", skillKey="merged", env={" A_URL ": " three ", "  ": "nothing"})

    assert stored(gateway, "merged") == {
        "apiKey": KEY,
        "enabled": False,
        "env": {"A_URL": "three", "B": "two"},
    }
    assert gateway.world.config_file.stat().st_mode & 0o777 == 0o600


@pytest.mark.requirement("gateway:update-keys")
def test_line_ends_are_taken_out_of_a_key_and_the_sentinel_keeps_it(
    gateway: Gateway, client: Client
) -> None:
    client.call("skills.update", skillKey="kept", apiKey=f" {KEY[:5]}\r\n{KEY[5:]}\n ")
    client.call("skills.update", skillKey="kept", env={"MY_TOKEN": KEY})
    client.call("skills.update", skillKey="kept", apiKey=SENTINEL, env={"MY_TOKEN": SENTINEL})

    assert stored(gateway, "kept") == {"apiKey": KEY, "env": {"MY_TOKEN": KEY}}


@pytest.mark.requirement("gateway:update-deletes")
def test_an_empty_value_deletes(gateway: Gateway, client: Client) -> None:
    client.call("skills.update", skillKey="less", apiKey=KEY, env={"A": "one", "B": "two"})
    client.call("skills.update", skillKey="less", apiKey=" ", env={"A": ""})

    found = stored(gateway, "less")
    assert "apiKey" not in found
    assert found["env"] == {"B": "two"}


@pytest.mark.requirement("gateway:update-answer")
def test_the_answer_hides_what_is_secret_and_nothing_else(client: Client) -> None:
    env = {"SERVICE_TOKEN": KEY, "SERVICE_URL": "https://example.invalid"}
    answer = client.call("skills.update", skillKey="shown", apiKey=KEY, env=env, enabled=True)

    assert (answer["ok"], answer["skillKey"]) == (True, "shown")
    assert answer["config"] == {
        "apiKey": SENTINEL,
        "enabled": True,
        "env": {"SERVICE_TOKEN": SENTINEL, "SERVICE_URL": "https://example.invalid"},
    }


@pytest.mark.requirement("gateway:update-answer")
def test_an_update_shows_in_the_status(client: Client, place: Place) -> None:
    place.skill("switched")
    client.listed(place, "switched")
    client.call("skills.update", skillKey="switched", enabled=False)
    off = client.eventually(
        lambda: client.status(place.agent), lambda rows: bool(rows["switched"]["disabled"])
    )

    assert off["switched"]["eligible"] is False


@pytest.mark.requirement("gateway:update-merges")
def test_updates_of_many_clients_at_once_are_all_kept(gateway: Gateway) -> None:
    def update(number: int) -> None:
        with gateway.client() as client:
            client.call("skills.update", skillKey=f"many-{number}", env={"N": str(number)})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(update, range(16)))

    entries = gateway.world.read_config()["skills"]["entries"]
    assert [entries[f"many-{number}"]["env"]["N"] for number in range(16)] == [
        str(number) for number in range(16)
    ]


@pytest.mark.requirement("gateway:remove", "gateway:restore")
@pytest.mark.parametrize("source", [WORKSPACE, MANAGED])
def test_a_removed_skill_lies_in_the_trash_and_comes_back_as_it_was(
    gateway: Gateway, client: Client, place: Place, source: str
) -> None:
    world = gateway.world
    root = place.skills if source == WORKSPACE else world.managed
    name = f"gone-{source[-4:]}"
    folder = world.skill(name, root=root).parent
    world.file(folder / "scripts" / "run.sh", "#!/bin/sh\n").chmod(0o755)
    before = files_below(folder)
    client.listed(place, name)
    removed = client.call("skills.remove", skillKey=name, source=source, agentId=place.agent)
    gone = client.eventually(lambda: client.status(place.agent), lambda rows: name not in rows)
    in_trash = [
        path
        for path in (world.state / "trash").rglob("SKILL.md")
        if path.read_bytes() == before["SKILL.md"]
    ]
    left = folder.exists()
    client.call("skills.restore", id=removed["id"], agentId=place.agent)

    assert removed["removed"] is True
    assert (removed["removedPath"], removed["source"]) == (str(folder), source)
    assert name not in gone
    assert not left
    assert in_trash
    assert files_below(folder) == before
    assert client.listed(place, name)[name]["source"] == source


@pytest.mark.requirement("gateway:remove")
def test_only_the_source_that_is_named_loses_its_skill(
    gateway: Gateway, client: Client, place: Place
) -> None:
    mine = place.skill("twice")
    managed = gateway.world.skill("twice", root=gateway.world.managed)
    client.listed(place, "twice")
    client.call("skills.remove", skillKey="twice", source=WORKSPACE, agentId=place.agent)

    assert not mine.exists()
    assert managed.exists()


@pytest.mark.requirement("gateway:remove-refusals")
@pytest.mark.parametrize(
    ("key", "source"),
    [
        ("prowess-manual", "openclaw-bundled"),
        ("kept", "agents-skills-personal"),
        ("kept", "no-such-source"),
        ("../kept", WORKSPACE),
        ("..", WORKSPACE),
        (".", WORKSPACE),
        ("/", WORKSPACE),
        ("", WORKSPACE),
    ],
)
def test_what_may_not_be_removed_is_refused_and_stays(
    gateway: Gateway, client: Client, key: str, source: str
) -> None:
    gateway.world.skill("kept")
    gateway.world.skill("kept", root=gateway.world.personal)
    client.eventually(lambda: client.status("main"), lambda rows: "kept" in rows)
    before = files_below(gateway.world.skills) | files_below(gateway.world.personal)
    error = client.refused("skills.remove", skillKey=key, source=source)

    assert error["code"] == "INVALID_REQUEST"
    assert files_below(gateway.world.skills) | files_below(gateway.world.personal) == before


@pytest.mark.requirement("gateway:remove-refusals")
@pytest.mark.parametrize("field", ["baseDir", "workspaceDir", "managedSkillsDir", "path", "root"])
def test_a_client_cannot_name_the_root(client: Client, field: str) -> None:
    error = client.refused("skills.remove", skillKey="x", source=WORKSPACE, **{field: "/"})

    assert (error["code"], error["details"]["field"]) == ("INVALID_REQUEST", field)


@pytest.mark.requirement("gateway:remove-refusals")
def test_a_link_that_leads_out_of_the_root_is_refused(
    gateway: Gateway, client: Client, place: Place
) -> None:
    outside = gateway.world.skill("linked", root=gateway.world.root / "outside")
    gateway.world.link(place.skills / "linked", outside.parent)
    client.listed(place, "linked")
    error = client.refused(
        "skills.remove", skillKey="linked", source=WORKSPACE, agentId=place.agent
    )

    assert error["code"] == "INVALID_REQUEST"
    assert outside.exists()
    assert (place.skills / "linked").is_symlink()


@pytest.mark.requirement("gateway:remove-refusals")
def test_a_skill_that_is_no_folder_with_a_skill_file_is_refused(
    client: Client, place: Place
) -> None:
    text = "---\nname: lonely\ndescription: Stands alone.\n---\n\n# Steps\n"
    lonely = place.world.file(place.skills / "lonely.md", text)
    place.skill("neighbour")
    client.listed(place, "neighbour")
    error = client.refused(
        "skills.remove", skillKey="lonely", source=WORKSPACE, agentId=place.agent
    )

    assert error["code"] == "INVALID_REQUEST"
    assert lonely.exists()


@pytest.mark.requirement("gateway:restore")
def test_a_restored_skill_replaces_nothing(gateway: Gateway, client: Client, place: Place) -> None:
    path = place.skill("again", body="# The first\n")
    client.listed(place, "again")
    removed = client.call("skills.remove", skillKey="again", source=WORKSPACE, agentId=place.agent)
    place.skill("again", body="# The second\n")
    error = client.refused("skills.restore", id=removed["id"], agentId=place.agent)

    assert error["message"]
    assert "The second" in path.read_text(encoding="utf-8")
    assert list((gateway.world.state / "trash").rglob("SKILL.md"))


@pytest.mark.requirement("gateway:restore")
@pytest.mark.parametrize("identity", ["no-such", "../skills", "..", "", "/etc"])
def test_what_is_not_in_the_trash_is_not_restored(
    gateway: Gateway, client: Client, identity: str
) -> None:
    error = client.refused("skills.restore", id=identity)

    assert error["code"] == "INVALID_REQUEST"
    assert "Traceback" not in json.dumps(error)
    assert gateway.http("GET", "/health")[0] == 200
