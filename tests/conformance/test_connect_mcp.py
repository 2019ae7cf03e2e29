"""`prowess mcp` and `/mcp`: skills for official MCP clients, with and without the extension."""

import hashlib
import json
import os
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import anyio
import pytest
from mcp import MCPError
from mcp.client.subscriptions import PromptsListChanged, ResourcesListChanged, ServerEvent

from .connect_bench import GIF_DESCRIPTION, TAX, TAX_DESCRIPTION, learning, two_skills, words_only
from .gateway_bench import WAIT_S, Gateway, crowd, serving
from .mcp_bench import DIRECTORY, EXTENSION, INVALID, Talk, by_path, over_http, over_stdio
from .world import NO_SUCH_BIN, TIMEOUT_S, Json, World, command, odd_names, requires

pytestmark = pytest.mark.slow

TOKEN = "a-token-for-tests-only"  # noqa: S105
SECRET = "the-outside-secret"  # noqa: S105
MIB = 1 << 20
UNSEEN = ("for-people", "without-bin", "switched-off", "torn")
ODD = "odd name #1 100% ä?.md"
NEWCOMER = "---\nname: newcomer\ndescription: New.\n---\n\nHi.\n"
LONG = "".join(f"line {number} of a long text\n" for number in range(20_000))


def _fill(world: World) -> None:
    config = learning()
    config["skills"]["entries"] = {"switched-off": {"enabled": False}}
    world.config(config)
    two_skills(world)
    pdf = world.skills / "pdf-forms"
    world.file(world.root / "secret.txt", SECRET)
    for name, content in {
        "references/a.md": "# A\n",
        "references/deep/b.txt": "b\r\n",
        ODD: "odd",
        "empty.txt": "",
        "long.md": LONG,
    }.items():
        world.file(pdf / name, content)
    world.file(pdf / "picture.bin", b"\xff\x00\x01")
    leaky = world.skill("leaky").parent
    world.link(leaky / "leak.txt", world.root / "secret.txt")
    world.link(leaky / "leaks", world.root)
    # Who opens it waits for ever.
    os.mkfifo(leaky / "pipe")
    world.skill("for-people", description=TAX_DESCRIPTION, disable_model_invocation=True)
    world.skill("without-bin", description=TAX_DESCRIPTION, metadata=requires(bins=[NO_SUCH_BIN]))
    world.skill("switched-off", description=TAX_DESCRIPTION)
    world.skill("for-models", user_invocable=False)
    world.raw("torn", "---\nname: [torn\n---\n")
    front = (
        "name: rich\ndescription: Rich.\nversion: 1.10\nday: 2026-01-02\nmetadata: {a: {b: [1]}}"
    )
    world.front("rich", front)
    for folder, files in (("many-511", 511), ("many-512", 512)):
        world.skill(folder)
        for number in range(files):
            (world.skills / folder / f"f{number:03}.txt").write_text("x", encoding="utf-8")
    world.skill("heavy")
    world.file(world.skills / "heavy" / "big.bin", os.urandom(MIB) * 17)
    for number in range(150):
        world.skill(f"crowd-{number:03}", description="One of a crowd.")


SCANNED = {"pdf-forms", "gif-maker", "for-models", "rich", "many-511"}


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Talk]:
    world = World(tmp_path_factory.mktemp("mcp"))
    _fill(world)
    with over_stdio(world) as client:
        # Of a crowd that was never scanned, skills are listed as their scans end.
        until = time.monotonic() + 120
        while time.monotonic() < until and not (
            client.skills().keys() >= SCANNED and "for-people" in client.prompts()
        ):
            time.sleep(0.2)
        yield client


@pytest.fixture(scope="module")
def skills(talk: Talk) -> dict[str, Json]:
    return talk.skills()


@pytest.mark.requirement("connect:mcp-list", "connect:mcp-directory")
def test_the_extension_is_offered(talk: Talk) -> None:
    offered = talk.client.server_capabilities

    assert offered.extensions == {EXTENSION: {"directoryRead": True}}
    assert offered.resources is not None
    assert talk.client.protocol_version >= "2026-07-28"


@pytest.mark.requirement("connect:mcp-list")
def test_each_skill_is_listed_with_its_whole_manifest(talk: Talk, skills: dict[str, Json]) -> None:
    page = talk.ask("skills/list")

    assert page["resultType"] == "complete"
    assert isinstance(page["ttlMs"], int)
    assert page["cacheScope"] in {"public", "private"}
    assert set(skills) >= SCANNED
    for name, entry in skills.items():
        assert set(entry) >= {"uri", "frontmatter", "resources"}, name
        assert entry["uri"].endswith(f"/{name}/SKILL.md"), name
        if entry["resources"] != "dynamic":
            assert "SKILL.md" in by_path(entry), name
    files = by_path(skills["pdf-forms"])
    assert set(files) == {
        *("SKILL.md", "references/a.md", "references/deep/b.txt", "empty.txt", "picture.bin"),
        *("long.md", quote(ODD)),
    }


@pytest.mark.requirement("connect:mcp-read", "connect:mcp-list")
def test_what_is_read_has_the_digest_and_size_that_were_promised(
    talk: Talk, skills: dict[str, Json]
) -> None:
    for name in ("pdf-forms", "gif-maker", "rich"):
        for item in skills[name]["resources"]:
            content = talk.read(item["uri"])
            assert item["size"] == len(content), item
            assert item["digest"] == f"sha256:{hashlib.sha256(content).hexdigest()}", item


@pytest.mark.requirement("connect:mcp-list")
def test_frontmatter_is_verbatim(skills: dict[str, Json]) -> None:
    assert skills["pdf-forms"]["frontmatter"] == {
        "name": "pdf-forms",
        "description": TAX_DESCRIPTION,
    }
    rich = skills["rich"]["frontmatter"]
    assert rich["metadata"] == {"a": {"b": [1]}}
    assert set(rich) == {"name", "description", "version", "day", "metadata"}
    assert str(rich["day"]) == "2026-01-02"


@pytest.mark.requirement("connect:mcp-get")
def test_one_skill_can_be_asked_for(talk: Talk, skills: dict[str, Json]) -> None:
    for name in ("pdf-forms", "rich", "many-511"):
        found = talk.ask("skills/get", uri=skills[name]["uri"])
        assert found["skill"] == skills[name]
        assert (found["resultType"], type(found["ttlMs"])) == ("complete", int)
        assert found["cacheScope"] in {"public", "private"}


@pytest.mark.requirement("connect:mcp-get", "connect:mcp-robust")
@pytest.mark.parametrize(
    "params",
    [
        {"uri": "skill://no-such-skill/SKILL.md"},
        {"uri": "skill://pdf-forms/references/a.md"},
        {"uri": "skill://pdf-forms"},
        {"uri": "skill://pdf-forms/skill.md/"},
        {"uri": ""},
        {"uri": "file:///etc/passwd"},
        {"uri": 5},
        {"uri": ["skill://pdf-forms/SKILL.md"]},
        {},
    ],
    ids=str,
)
def test_what_is_no_skill_is_unknown(talk: Talk, params: Json) -> None:
    assert talk.refused("skills/get", **params) == INVALID


@pytest.mark.requirement("connect:mcp-directory")
def test_folders_lead_to_exactly_the_files_of_the_manifest(
    talk: Talk, skills: dict[str, Json]
) -> None:
    found, open_folders = set(), [skills["pdf-forms"]["uri"].removesuffix("SKILL.md")]
    while open_folders:
        folder = open_folders.pop()
        for page in talk.pages("resources/directory/read", "resources", uri=folder):
            for item in page:
                if item["mimeType"] == DIRECTORY:
                    open_folders.append(item["uri"])
                else:
                    found.add(item["uri"])

    assert found == {item["uri"] for item in skills["pdf-forms"]["resources"]}


@pytest.mark.requirement("connect:mcp-directory", "connect:mcp-contained")
@pytest.mark.parametrize(
    "uri",
    [
        "skill://pdf-forms/SKILL.md",
        "skill://pdf-forms/nowhere/",
        "skill://leaky/leaks/",
        "skill://pdf-forms/../",
        "skill://pdf-forms/%2e%2e/gif-maker/",
        "skill://for-people/",
        "skill://without-bin/",
        "file:///",
        5,
        None,
    ],
    ids=str,
)
def test_what_is_no_folder_cannot_be_read_as_one(talk: Talk, uri: object) -> None:
    assert talk.refused("resources/directory/read", uri=uri) == INVALID


@pytest.mark.requirement("connect:mcp-pages")
def test_long_lists_come_in_pages_without_doubles(talk: Talk) -> None:
    for method, key in (("skills/list", "skills"), ("resources/list", "resources")):
        pages = talk.pages(method, key)
        uris = [item["uri"] for page in pages for item in page]
        assert len(pages) > 1, method
        assert len(set(uris)) == len(uris), method
        assert sum("crowd-" in uri for uri in uris) == 150, method
    folder = talk.pages("resources/directory/read", "resources", uri="skill://many-511/")
    names = [item["uri"] for page in folder for item in page]
    assert len(names) == len(set(names)) == 512


@pytest.mark.requirement("connect:mcp-pages", "connect:mcp-robust")
@pytest.mark.parametrize("cursor", ["x", "-1", "999999999999", "\0", 5, {}], ids=str)
@pytest.mark.parametrize("method", ["skills/list", "resources/list"])
def test_a_cursor_of_our_own_making_is_refused(talk: Talk, method: str, cursor: object) -> None:
    assert talk.refused(method, cursor=cursor) == INVALID


@pytest.mark.requirement("connect:mcp-limits")
def test_no_manifest_is_incomplete_or_over_the_limits(talk: Talk, skills: dict[str, Json]) -> None:
    assert len(skills["many-511"]["resources"]) == 512
    for name in ("many-512", "heavy"):
        entry = skills.get(name)
        assert entry is None or entry["resources"] == "dynamic", name
    for entry in skills.values():
        if entry["resources"] != "dynamic":
            assert len(entry["resources"]) <= 512
            assert sum(item["size"] for item in entry["resources"]) <= 16 * MIB
    # It is large, and may not be there for the extension: the server lives on.
    assert talk.tool("load_skill", name="gif-maker")[0]


OUTSIDE = (
    "../../secret.txt",
    "..%2f..%2fsecret.txt",
    "%2e%2e/%2e%2e/secret.txt",
    "%252e%252e/secret.txt",
    "references/../../../secret.txt",
    "references/../SKILL.md",
    "..\\..\\secret.txt",
    "/etc/passwd",
    "//etc/passwd",
    "SKILL.md%00.txt",
    "./SKILL.md",
    "references",
    "references/",
    "",
    "SKILL.md/",
    "SKILL.md?x=1",
    "SKILL.md#x",
    "a" * 5000,
)


@pytest.mark.requirement("connect:mcp-contained")
@pytest.mark.parametrize("path", OUTSIDE, ids=lambda path: path[:30] or "nothing")
def test_only_files_of_the_manifest_can_be_read(talk: Talk, path: str) -> None:
    code = talk.refused("resources/read", uri=f"skill://pdf-forms/{path}")

    assert code in {INVALID, -32002}


@pytest.mark.requirement("connect:mcp-contained", "connect:mcp-limits")
@pytest.mark.parametrize(
    "path", ["leak.txt", "leaks/secret.txt", "leaks/ws/skills/rich/SKILL.md", "pipe"]
)
def test_links_out_of_a_skill_lead_nowhere(talk: Talk, skills: dict[str, Json], path: str) -> None:
    listed = skills.get("leaky", {"resources": "dynamic"})["resources"]

    assert talk.refused("resources/read", uri=f"skill://leaky/{path}") in {INVALID, -32002}
    assert talk.tool("read_skill_file", name="leaky", path=path)[0] is False
    assert listed == "dynamic" or [item["uri"] for item in listed] == ["skill://leaky/SKILL.md"]


@pytest.mark.requirement("connect:mcp-contained", "connect:mcp-tools")
@pytest.mark.parametrize(
    "path",
    ["../../../secret.txt", "/etc/passwd", "references/../../rich/SKILL.md", "", "..", "a\0b"],
)
def test_the_tool_reads_no_more_than_the_extension(talk: Talk, path: str) -> None:
    worked, text = talk.tool("read_skill_file", name="pdf-forms", path=path)

    assert not worked
    assert SECRET not in text
    assert "root:" not in text


@pytest.mark.requirement("connect:mcp-contained")
@pytest.mark.parametrize("uri", ["file:///etc/passwd", "http://127.0.0.1/", "pdf-forms", "", 7])
def test_other_schemes_are_not_read(talk: Talk, uri: object) -> None:
    assert talk.refused("resources/read", uri=uri) in {INVALID, -32002}


@pytest.mark.requirement("connect:mcp-eligible")
@pytest.mark.parametrize("name", UNSEEN)
def test_what_the_model_may_not_use_is_on_no_path(
    talk: Talk, skills: dict[str, Json], name: str
) -> None:
    uri = f"skill://{name}/SKILL.md"
    resources = [item for page in talk.pages("resources/list", "resources") for item in page]

    assert name not in skills
    assert uri not in [item["uri"] for item in resources]
    assert talk.refused("skills/get", uri=uri) == INVALID
    assert talk.refused("resources/read", uri=uri) in {INVALID, -32002}
    assert talk.refused("resources/directory/read", uri=f"skill://{name}/") == INVALID
    for tool, more in (("load_skill", {}), ("read_skill_file", {"path": "SKILL.md"})):
        assert talk.tool(tool, name=name, **more)[0] is False
    assert name not in talk.tool("find_skills", query=TAX)[1]
    loaders = [tool for tool in talk.ask("tools/list")["tools"] if tool["name"] == "load_skill"]
    assert name not in json.dumps(loaders)


@pytest.mark.requirement("connect:mcp-prompts", "connect:mcp-eligible")
def test_each_skill_that_people_may_call_is_a_prompt(talk: Talk) -> None:
    prompts = talk.prompts()

    assert set(prompts) >= {"pdf-forms", "gif-maker", "for-people"}
    assert not {"for-models", "without-bin", "switched-off", "torn"} & set(prompts)
    got = talk.ask("prompts/get", name=prompts["gif-maker"], arguments={"arguments": "a red one"})
    text = json.dumps(got["messages"])
    assert "Do the thing." in text
    assert "a red one" in text
    assert talk.refused("prompts/get", name="for-models") == INVALID
    assert talk.refused("prompts/get", name="for_models") == INVALID
    assert talk.refused("prompts/get", name="../secret") == INVALID


@pytest.mark.requirement("connect:mcp-tools")
def test_the_tools_have_closed_schemas(talk: Talk) -> None:
    tools = {tool["name"]: tool for tool in talk.ask("tools/list")["tools"]}

    assert set(tools) == {"find_skills", "load_skill", "read_skill_file", "skill_workshop"}
    assert all(tool["inputSchema"]["type"] == "object" for tool in tools.values())
    assert all(tool["description"].strip() for tool in tools.values())


@pytest.mark.requirement("connect:mcp-tools", "connect:mcp-robust")
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("find_skills", {}),
        ("find_skills", {"query": 5}),
        ("find_skills", {"query": "x", "limit": -1}),
        ("find_skills", {"query": "x", "limit": 10**9}),
        ("load_skill", {"name": "no-such-skill"}),
        ("load_skill", {"name": "../pdf-forms"}),
        ("load_skill", {"name": None}),
        ("load_skill", {"name": "gif-maker", "more": 1}),
        ("read_skill_file", {"name": "pdf-forms"}),
        ("read_skill_file", {"name": "pdf-forms", "path": ["a"]}),
        ("skill_workshop", {"action": "explode"}),
        ("no_such_tool", {}),
    ],
    ids=str,
)
def test_bad_arguments_are_told_and_harm_nothing(talk: Talk, tool: str, arguments: Json) -> None:
    request = {"name": tool, "arguments": arguments}
    # Either form of a refusal is the protocol's own.
    with suppress(MCPError):
        answer = talk.ask("tools/call", **request)
        assert answer["isError"] is True
        assert "Traceback" not in json.dumps(answer)
    assert talk.tool("load_skill", name="gif-maker")[0]


@pytest.mark.requirement("connect:mcp-robust")
def test_a_method_that_nobody_knows_is_not_found(talk: Talk) -> None:
    assert talk.refused("skills/steal") == -32601


@pytest.mark.requirement("connect:mcp-tools")
def test_a_long_file_is_read_in_parts(talk: Talk) -> None:
    whole, start = "", 0
    for _ in range(200):
        worked, text = talk.tool("read_skill_file", name="pdf-forms", path="long.md", start=start)
        assert worked
        common = _common(LONG[start:], text)
        assert common, text[:200]
        whole, start = whole + text[:common], start + common
        if start >= len(LONG):
            break

    assert whole == LONG


def _common(one: str, other: str) -> int:
    """How many characters both texts begin with."""
    for place, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return place
    return min(len(one), len(other))


@pytest.fixture(scope="module")
def old_world(tmp_path_factory: pytest.TempPathFactory) -> World:
    world = World(tmp_path_factory.mktemp("old"))
    world.config(words_only())
    two_skills(world)
    world.file(world.skills / "pdf-forms" / "references" / "a.md", "# The rules\n")
    world.skill("for-people", description=TAX_DESCRIPTION, disable_model_invocation=True)
    return world


@pytest.fixture(scope="module")
def old(old_world: World) -> Iterator[Talk]:
    """A client that knows nothing of extensions."""
    with over_stdio(old_world, mode="legacy") as client:
        yield client


@pytest.mark.requirement("connect:mcp-tools", "connect:mcp-eligible")
def test_a_client_without_the_extension_can_do_everything_through_tools(old: Talk) -> None:
    found = old.tool("find_skills", query=TAX)[1]
    _, loaded = old.tool("load_skill", name="pdf-forms")
    _, content = old.tool("read_skill_file", name="pdf-forms", path="references/a.md")
    prompts, tools = set(old.prompts()), old.tools()
    (resource,) = old.ask("resources/read", uri="skill://gif-maker/SKILL.md")["contents"]

    assert "pdf-forms" in found
    assert "for-people" not in found
    assert "Do the thing." in loaded
    assert "references/a.md" in loaded
    assert content.startswith("# The rules")
    assert prompts >= {"pdf-forms", "gif-maker", "for-people"}
    assert tools == {"find_skills", "load_skill", "read_skill_file"}
    assert GIF_DESCRIPTION in resource["text"]


@pytest.mark.requirement("connect:mcp-tools")
def test_the_workshop_can_be_reached_where_it_is_on(talk: Talk) -> None:
    worked, text = talk.tool("skill_workshop", action="status")

    assert worked, text


async def _first_event(talk: Talk, change: Path, wanted: type[ServerEvent]) -> bool:
    async with talk.client.listen(prompts_list_changed=True, resources_list_changed=True) as events:
        await anyio.Path(change.parent).mkdir()
        await anyio.Path(change).write_text(NEWCOMER, encoding="utf-8")
        with anyio.move_on_after(WAIT_S):
            async for event in events:
                if isinstance(event, wanted):
                    return True
    return False


@pytest.fixture(scope="module")
def lively_world(tmp_path_factory: pytest.TempPathFactory) -> World:
    world = World(tmp_path_factory.mktemp("lively"))
    world.config(words_only())
    two_skills(world)
    return world


@pytest.fixture(scope="module")
def lively(lively_world: World) -> Iterator[Talk]:
    """A client in whose world things change."""
    with over_stdio(lively_world) as client:
        yield client


@pytest.mark.requirement("connect:mcp-changes")
def test_clients_are_told_of_new_skills(lively: Talk, lively_world: World) -> None:
    lively.skills()

    change = lively_world.skills / "newcomer" / "SKILL.md"
    told = lively.portal.call(_first_event, lively, change, ResourcesListChanged)

    assert told
    assert "newcomer" in lively.skills()


@pytest.mark.requirement("connect:mcp-changes")
def test_clients_that_asked_for_nothing_yet_are_told_of_new_skills(world: World) -> None:
    world.config(words_only())
    two_skills(world)
    change = world.skills / "newcomer" / "SKILL.md"

    with over_stdio(world) as talk:
        told = talk.portal.call(_first_event, talk, change, ResourcesListChanged)

    assert told


@pytest.mark.requirement("connect:mcp-changes")
def test_names_that_are_no_text_end_no_server_before_or_after_its_start(world: World) -> None:
    world.config(words_only())
    two_skills(world)
    odd_names(world.skills, world.skills / "pdf-forms")
    change = world.skills / "newcomer" / "SKILL.md"

    with over_stdio(world) as talk:
        assert "pdf-forms" in talk.skills()
        (world.skills / "later\udce9").mkdir()
        told = talk.portal.call(_first_event, talk, change, ResourcesListChanged)
        assert told
        assert "newcomer" in talk.skills()


@pytest.mark.requirement("connect:mcp-changes")
def test_older_clients_are_told_of_new_skills(old: Talk, old_world: World) -> None:
    before = set(old.prompts())
    old.heard.clear()
    old_world.skill("newcomer")
    for kind in ("prompts", "resources"):
        _until(lambda kind=kind: f"notifications/{kind}/list_changed" in old.heard)
    after = set(old.prompts())

    assert after - before == {"newcomer"}


def _until(holds: object) -> None:
    """Wait until something holds; the client's own thread does the work meanwhile."""
    ends, pause = time.monotonic() + WAIT_S, threading.Event()
    assert callable(holds)
    while not holds():
        assert time.monotonic() < ends, "it never held"
        pause.wait(0.01)


@pytest.mark.requirement("connect:mcp-read", "connect:mcp-changes")
def test_digests_follow_the_files(lively: Talk, lively_world: World) -> None:
    folder = lively_world.skills / "pdf-forms" / "references"
    uri = "skill://pdf-forms/references/a.md"
    lively_world.file(folder / "a.md", "one")
    first = by_path(lively.skills()["pdf-forms"])
    lively_world.file(folder / "a.md", "two")
    lively_world.file(folder / "b.md", "new")
    promised = by_path(lively.skills()["pdf-forms"])
    content = lively.read(uri)
    (folder / "a.md").unlink()
    later = by_path(lively.skills()["pdf-forms"])
    code = lively.refused("resources/read", uri=uri)

    assert first["references/a.md"]["digest"][7:] == hashlib.sha256(b"one").hexdigest()
    # As long as before, and perhaps within the same tick of the clock.
    assert content == b"two"
    assert promised["references/a.md"]["digest"][7:] == hashlib.sha256(b"two").hexdigest()
    assert "references/b.md" in promised
    assert "references/a.md" not in later
    assert code in {INVALID, -32002}


@pytest.mark.requirement("connect:mcp-eligible")
def test_an_agent_sees_its_own_skills_only(world: World) -> None:
    config = words_only()
    config["agents"] = {"list": [{"id": "main"}, {"id": "narrow", "skills": ["gif-maker"]}]}
    world.config(config)
    two_skills(world)

    with over_stdio(world, "--agent", "narrow", "--workspace", str(world.workspace)) as talk:
        names, prompts = set(talk.skills()), set(talk.prompts())
        refused = talk.refused("resources/read", uri="skill://pdf-forms/SKILL.md")
        worked, _ = talk.tool("load_skill", name="pdf-forms")

    assert names == prompts == {"gif-maker"}
    assert refused in {INVALID, -32002}
    assert not worked


@pytest.mark.requirement("connect:mcp-robust")
def test_noise_on_the_wire_does_not_end_the_server(world: World) -> None:
    world.config(words_only())
    lines: list[bytes] = [b"", b"nonsense", b"[]", b"\xff\xfe", b"{" * 5000, b'{"jsonrpc": "2.0"}']
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    done = subprocess.run(
        command(("mcp",)),
        cwd=world.workspace,
        env=world.env(),
        input=b"\n".join([*lines, json.dumps(asked).encode(), b""]),
        capture_output=True,
        timeout=TIMEOUT_S,
        check=False,
    )

    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert any(answer.get("id") == 1 and "result" in answer for answer in answers)
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr


# --- the gateway -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    world = World(tmp_path_factory.mktemp("gateway"))
    config = crowd(world, 4)
    config["agents"]["list"][1]["skills"] = ["gif-maker"]
    world.config(config)
    for agent in ("agent0", "agent1"):
        two_skills(world, world.root / agent / "skills")
    with serving(world, token=TOKEN) as running:
        yield running


@pytest.mark.requirement("connect:mcp-http", "connect:mcp-read")
def test_the_gateway_serves_the_same_over_http(gateway: Gateway) -> None:
    with over_http(gateway, "?agent=agent1") as talk:
        skills = talk.skills()
        (item,) = skills["pdf-forms"]["resources"]
        content = talk.read(item["uri"])
        _, found = talk.tool("find_skills", query=TAX)
        prompts = set(talk.prompts())

    assert set(skills) == prompts == {"pdf-forms", "gif-maker"}
    assert item["digest"] == f"sha256:{hashlib.sha256(content).hexdigest()}"
    assert "pdf-forms" in found


@pytest.mark.requirement("connect:mcp-http", "connect:mcp-eligible")
def test_agents_of_the_gateway_are_kept_apart(gateway: Gateway) -> None:
    with over_http(gateway, "?agent=agent0") as talk:
        names, prompts = set(talk.skills()), set(talk.prompts())
        code = talk.refused("skills/get", uri="skill://pdf-forms/SKILL.md")
        worked, _ = talk.tool("load_skill", name="pdf-forms")
        _, found = talk.tool("find_skills", query=TAX)

    assert names == prompts == {"gif-maker"}
    assert code == INVALID
    assert not worked
    assert "pdf-forms" not in found


@pytest.mark.requirement("connect:mcp-http", "connect:mcp-changes")
@pytest.mark.parametrize("asked_before", [True, False], ids=["after-list", "at-once"])
def test_clients_of_the_gateway_are_told_of_changes(
    gateway: Gateway, *, asked_before: bool
) -> None:
    agent = "agent2" if asked_before else "agent3"
    change = gateway.world.root / agent / "skills" / "newcomer" / "SKILL.md"
    change.parent.parent.mkdir()

    with over_http(gateway, f"?agent={agent}") as talk:
        if asked_before:
            talk.skills()
        told = talk.portal.call(_first_event, talk, change, PromptsListChanged)
        names = set(talk.skills())

    assert told
    assert names == {"newcomer"}


@pytest.mark.requirement("connect:mcp-http")
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": f"Basic {TOKEN}"}, 401),
        ({"Authorization": f"Bearer {TOKEN}", "Origin": "https://evil.example"}, 403),
        ({"Authorization": f"Bearer {TOKEN}", "Host": "evil.example"}, 403),
    ],
    ids=["none", "wrong", "basic", "origin", "host"],
)
@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
def test_the_same_doors_are_closed_as_elsewhere(
    gateway: Gateway, method: str, headers: dict[str, str], status: int
) -> None:
    frame = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "skills/list"})
    accept = "application/json, text/event-stream"
    more = {"Accept": accept, "Content_Type": "application/json", **headers}

    found, _, text = gateway.http(method, "/mcp", frame if method == "POST" else None, **more)

    assert found == status, text
    assert "skill://" not in text


@pytest.mark.requirement("connect:mcp-http", "connect:mcp-robust")
@pytest.mark.parametrize("body", ["", "nonsense", "[]", "{}", "[" * 10_000, "x" * (5 * MIB)])
def test_nonsense_over_http_is_refused(gateway: Gateway, body: str) -> None:
    accept = "application/json, text/event-stream"
    status, _, _ = gateway.http(
        "POST",
        "/mcp",
        body,
        Accept=accept,
        Content_Type="application/json",
        Authorization=f"Bearer {TOKEN}",
    )

    assert 400 <= status < 500
    assert gateway.http("GET", "/health")[0] == 200
    assert "Traceback" not in gateway.log.read_text(encoding="utf-8")


@pytest.mark.requirement("connect:mcp-http", "connect:mcp-eligible")
def test_an_agent_that_does_not_exist_is_refused(gateway: Gateway) -> None:
    with pytest.raises(BaseExceptionGroup), over_http(gateway, "?agent=nobody"):
        pass
