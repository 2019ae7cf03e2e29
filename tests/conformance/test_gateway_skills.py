"""`skills.*` over the gateway: answered as documented, and refused where the question is wrong."""

import json
from collections.abc import Iterator

import pytest

from .gateway_bench import Client, Gateway, Place, crowd, serving
from .world import NO_SUCH_BIN, Json, World, openclaw, requires

pytestmark = pytest.mark.slow

FIELDS = {
    "name": str,
    "description": str,
    "source": str,
    "bundled": bool,
    "filePath": str,
    "baseDir": str,
    "skillKey": str,
    "always": bool,
    "disabled": bool,
    "blockedByAllowlist": bool,
    "eligible": bool,
    "requirements": dict,
    "missing": dict,
    "configChecks": list,
    "install": list,
    "blockedByAgentFilter": bool,
    "platformIncompatible": bool,
    "modelVisible": bool,
    "userInvocable": bool,
    "commandVisible": bool,
}
KINDS = {"bins", "anyBins", "env", "config", "os"}
# What each method needs, so that one more property is the only thing wrong.
CALLS: dict[str, Json] = {
    "health": {},
    "status": {},
    "agents.list": {},
    "skills.status": {},
    "skills.bins": {},
    "skills.install": {"name": "x", "installId": "y"},
    "skills.update": {"skillKey": "x"},
    "skills.remove": {"skillKey": "x", "source": "openclaw-workspace"},
    "skills.restore": {"id": "x"},
    "skills.detail": {"slug": "x"},
    "skills.route": {"message": "x"},
    "skills.why": {"name": "x"},
    "skills.prompt": {},
    "skills.validate": {},
    "skills.usage": {},
    "skills.proposals.list": {},
    "skills.proposals.inspect": {"proposalId": "x"},
    "skills.proposals.events.list": {},
    "skills.proposals.create": {"name": "x", "description": "x", "content": "x"},
    "skills.proposals.update": {"skillName": "x", "content": "x"},
    "skills.proposals.revise": {"proposalId": "x", "content": "x"},
    "skills.proposals.apply": {"proposalId": "x", "expectedRevisionHash": "x"},
    "skills.proposals.reject": {"proposalId": "x", "expectedRevisionHash": "x"},
    "skills.proposals.quarantine": {"proposalId": "x"},
    "skills.proposals.rollback": {"proposalId": "x"},
    "config.get": {},
    "config.set": {"raw": "{}"},
    "config.patch": {"raw": "{}"},
    "config.schema": {},
}


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    world = World(tmp_path_factory.mktemp("gateway"))
    config = crowd(world, 14)
    config["agents"]["list"][1]["skills"] = ["picked"]
    config["browser"] = {"profile": "planted-config-value"}
    world.config(config)
    world.executable("uv").write_text(f"#!/bin/sh\ncp '{world.bin}/uv' '{world.bin}/made-by-uv'\n")
    with serving(world) as running:
        filtered = running.place()
        assert filtered.agent == "agent0"
        yield running


@pytest.fixture
def client(gateway: Gateway) -> Iterator[Client]:
    with gateway.client() as connected:
        yield connected


@pytest.fixture
def place(gateway: Gateway) -> Place:
    return gateway.place()


@pytest.mark.requirement("gateway:closed-params")
@pytest.mark.parametrize("method", CALLS)
def test_a_property_that_does_not_exist_is_refused_by_name(client: Client, method: str) -> None:
    error = client.refused(method, **CALLS[method], noSuchProperty=1)

    assert error["code"] == "INVALID_REQUEST"
    assert error["message"].startswith(f"invalid {method} params: ")
    assert error["details"]["field"] == "noSuchProperty"


@pytest.mark.requirement("gateway:closed-params")
@pytest.mark.parametrize(
    ("method", "params", "field"),
    [
        ("skills.status", {"agentId": 7}, "agentId"),
        ("skills.install", {"name": "x"}, "installId"),
        ("skills.install", {"name": "x", "installId": "y", "timeoutMs": 999}, "timeoutMs"),
        ("skills.install", {"name": "x", "installId": "y", "timeoutMs": "1 s"}, "timeoutMs"),
        ("skills.update", {"enabled": True}, "skillKey"),
        ("skills.update", {"skillKey": "x", "enabled": "yes"}, "enabled"),
        ("skills.update", {"skillKey": "x", "env": {"A": 1}}, "env"),
        ("skills.update", {"skillKey": ""}, "skillKey"),
        ("skills.remove", {"skillKey": "x"}, "source"),
        ("skills.route", {"message": 7}, "message"),
        ("skills.proposals.events.list", {"limit": 0}, "limit"),
        ("skills.proposals.events.list", {"limit": 201}, "limit"),
        ("skills.proposals.events.list", {"afterSequence": -1}, "afterSequence"),
        ("skills.proposals.apply", {"proposalId": "x"}, "expectedRevisionHash"),
        ("skills.proposals.reject", {"proposalId": "x"}, "expectedRevisionHash"),
        ("skills.proposals.create", {"name": "x", "description": "y", "content": ""}, "content"),
        ("config.set", {"raw": {}}, "raw"),
        ("config.patch", {}, "raw"),
    ],
)
def test_a_wrong_or_missing_value_is_refused_by_its_field(
    client: Client, method: str, params: Json, field: str
) -> None:
    error = client.refused(method, **params)

    assert error["code"] == "INVALID_REQUEST"
    assert error["message"].startswith(f"invalid {method} params: ")
    assert error["details"]["field"].startswith(field)


@pytest.mark.requirement("gateway:unknown-agent")
@pytest.mark.parametrize(
    "method",
    ["skills.status", "skills.prompt", "skills.route", "skills.install", "skills.proposals.list"],
)
def test_an_agent_that_does_not_exist_is_refused_as_given(client: Client, method: str) -> None:
    error = client.refused(method, **CALLS[method], agentId="No Body")

    assert error["code"] == "INVALID_REQUEST"
    assert 'unknown agent id "No Body"' in error["message"]
    assert error["details"]["field"] == "agentId"


@pytest.mark.requirement("gateway:status-fields", "gateway:install-options")
def test_status_has_every_field_of_every_skill(client: Client, place: Place) -> None:
    place.skill(
        "full-job",
        homepage="https://example.invalid/full",
        metadata=openclaw(
            emoji="*",
            skillKey="full-key",
            primaryEnv="FULL_KEY",
            requires={
                "bins": [NO_SUCH_BIN],
                "anyBins": ["sh", NO_SUCH_BIN],
                "env": ["FULL_KEY"],
                "config": ["browser.profile", "no.such"],
            },
            os=["linux", "darwin", "win32"],
            install=[{"kind": "uv", "package": "full", "bins": [NO_SUCH_BIN]}],
        ),
    )
    row = client.listed(place, "full-job")["full-job"]
    report = client.call("skills.status", agentId=place.agent)

    assert (report["agentId"], report["workspaceDir"]) == (place.agent, str(place.workspace))
    assert report["managedSkillsDir"] == str(place.world.managed)
    for found in report["skills"]:
        for name, kind in FIELDS.items():
            assert isinstance(found[name], kind), (name, found)
        assert set(found["requirements"]) == set(found["missing"]) == KINDS
    assert (row["skillKey"], row["emoji"], row["primaryEnv"]) == ("full-key", "*", "FULL_KEY")
    assert row["homepage"] == "https://example.invalid/full"
    assert row["source"] == "openclaw-workspace"
    assert row["missing"] == {
        "bins": [NO_SUCH_BIN],
        "anyBins": [],
        "env": ["FULL_KEY"],
        "config": ["no.such"],
        "os": [],
    }
    assert (row["eligible"], row["modelVisible"], row["commandVisible"]) == (False, False, False)
    assert row["configChecks"] == [
        {"path": "browser.profile", "satisfied": True},
        {"path": "no.such", "satisfied": False},
    ]
    assert "planted-config-value" not in json.dumps(report)
    (option,) = row["install"]
    assert (option["kind"], option["bins"]) == ("uv", [NO_SUCH_BIN])
    assert option["label"] == "Install full (uv)"


@pytest.mark.requirement("gateway:source-scope")
def test_status_says_the_scope_of_each_source(client: Client, place: Place) -> None:
    place.skill("scoped-job")
    row = client.listed(place, "scoped-job")["scoped-job"]

    assert [name for name in row if "scope" in name.lower()], sorted(row)


@pytest.mark.requirement("gateway:status-filter", "gateway:agents")
def test_each_agent_has_its_own_workspace_and_filter(
    gateway: Gateway, client: Client, place: Place
) -> None:
    filtered = Place(world=gateway.world, agent="agent0", workspace=gateway.world.root / "agent0")
    for one in (filtered, place):
        one.skill("picked")
        one.skill("passed-over")
    place.skill("only-here")
    with_filter = client.listed(filtered, "picked", "passed-over")
    without = client.listed(place, "picked", "passed-over", "only-here")
    prompt = client.call("skills.prompt", agentId=filtered.agent)["prompt"]

    assert "only-here" not in with_filter
    assert with_filter["passed-over"]["eligible"] is True
    assert with_filter["passed-over"]["blockedByAgentFilter"] is True
    assert with_filter["passed-over"]["modelVisible"] is False
    assert with_filter["picked"]["modelVisible"] is True
    assert without["passed-over"]["modelVisible"] is True
    assert client.call("skills.status", agentId=filtered.agent)["agentSkillFilter"] == ["picked"]
    assert "<name>picked</name>" in prompt
    assert "passed-over" not in prompt


@pytest.mark.requirement("gateway:bins")
def test_bins_are_those_of_all_agents_sorted_and_once(client: Client, gateway: Gateway) -> None:
    one, other = gateway.place(), gateway.place()
    one.skill("bins-a", metadata=requires(bins=["zz-first", "aa-last"], anyBins=["mm-any"]))
    other.skill(
        "bins-b",
        metadata=openclaw(
            requires={"bins": ["zz-first"]},
            install=[{"kind": "uv", "package": "p", "bins": ["kk-installed"]}],
        ),
    )
    client.listed(one, "bins-a")
    client.listed(other, "bins-b")
    bins = client.call("skills.bins")["bins"]

    assert bins == sorted(set(bins))
    assert {"zz-first", "aa-last", "mm-any", "kk-installed"} <= set(bins)


@pytest.mark.requirement("gateway:install")
def test_an_install_that_works_says_where_and_makes_the_skill_ready(
    client: Client, place: Place
) -> None:
    install = [{"id": "with-uv", "kind": "uv", "package": "made-by-uv", "bins": ["made-by-uv"]}]
    place.skill("needs-uv", metadata=openclaw(requires={"bins": ["made-by-uv"]}, install=install))
    before = client.listed(place, "needs-uv")["needs-uv"]
    done = client.call(
        "skills.install", name="needs-uv", installId="with-uv", agentId=place.agent, timeoutMs=60000
    )
    after = client.eventually(
        lambda: client.status(place.agent), lambda rows: bool(rows["needs-uv"]["eligible"])
    )

    assert before["eligible"] is False
    assert (done["ok"], done["message"], done["code"]) == (True, "Installed", 0)
    assert {"stdout", "stderr"} <= set(done)
    assert str(place.workspace) in json.dumps(done)
    assert after["needs-uv"]["missing"]["bins"] == []


@pytest.mark.requirement("gateway:install-fails")
@pytest.mark.parametrize(
    ("name", "option"), [("no-such", "uv-0"), ("half-job", "no-such"), ("half-job", "brew-0")]
)
def test_an_install_that_fails_answers_with_payload_and_error(
    gateway: Gateway, client: Client, name: str, option: str
) -> None:
    place = Place(world=gateway.world, agent="agent0", workspace=gateway.world.root / "agent0")
    place.skill("half-job", metadata=openclaw(install=[{"kind": "brew", "formula": "half"}]))
    client.listed(place, "half-job")
    answer = client.ask(
        "skills.install", {"name": name, "installId": option, "agentId": place.agent}
    )

    assert answer["ok"] is False
    assert answer["payload"]["ok"] is False
    assert answer["error"]["code"] == "UNAVAILABLE"
    assert answer["error"]["message"] == answer["payload"]["message"]
    assert {"stdout", "stderr", "code"} <= set(answer["payload"])
    assert str(place.workspace) in json.dumps(answer["payload"])


@pytest.mark.requirement("gateway:detail")
def test_detail_is_all_about_one_skill_or_nothing(client: Client, place: Place) -> None:
    place.skill("one-job")
    client.listed(place, "one-job")
    found = client.call("skills.detail", slug="one-job", agentId=place.agent)
    none = client.call("skills.detail", slug="no-such-job", agentId=place.agent)

    assert found["skill"]["name"] == "one-job"
    assert found["skill"]["filePath"] == str(place.skills / "one-job" / "SKILL.md")
    assert none["skill"] is None


@pytest.mark.requirement("gateway:route")
def test_route_finds_the_skill_of_the_agent_that_a_message_needs(
    gateway: Gateway, client: Client
) -> None:
    one, other = gateway.place(), gateway.place()
    description = "Convert spreadsheets to PDF. Use when the user wants a spreadsheet as a PDF."
    one.skill("sheet-to-pdf", description=description)
    one.skill("water-plants", description="Water the plants. Use when plants look dry.")
    other.skill("other-job")
    client.listed(one, "sheet-to-pdf", "water-plants")
    client.listed(other, "other-job")
    message = "please convert this spreadsheet to a PDF"
    found = client.call("skills.route", message=message, agentId=one.agent)
    elsewhere = client.call("skills.route", message=message, agentId=other.agent)
    idle = client.call("skills.route", message="thanks, bye", agentId=one.agent)

    assert [match["name"] for match in found["matches"]][:1] == ["sheet-to-pdf"]
    assert "sheet-to-pdf" not in json.dumps(elsewhere)
    assert idle["matches"] == []


@pytest.mark.requirement("gateway:why")
def test_why_gives_the_first_reason_and_what_to_do(client: Client, place: Place) -> None:
    place.skill("fine-job")
    place.skill("poor-job", metadata=requires(bins=[NO_SUCH_BIN]))
    client.listed(place, "fine-job", "poor-job")
    fine = client.call("skills.why", name="fine-job", agentId=place.agent)
    poor = client.call("skills.why", name="poor-job", agentId=place.agent)
    error = client.refused("skills.why", name="no-such-job", agentId=place.agent)

    assert fine["visible"] is True
    assert poor["visible"] is False
    assert NO_SUCH_BIN in poor["reason"]
    assert error["code"] == "INVALID_REQUEST"
    assert "no-such-job" in error["message"]


@pytest.mark.requirement("gateway:prompt")
def test_prompt_is_the_block_of_the_terminal(client: Client, place: Place) -> None:
    place.skill("plain-job", description="Do <this> & that.")
    client.listed(place, "plain-job")
    told = client.call("skills.prompt", agentId=place.agent)["prompt"]
    expected = place.world.prompt("--agent", place.agent)

    assert "<name>plain-job</name>" in told
    assert "Do &lt;this&gt; &amp; that." in told
    assert told == expected


@pytest.mark.requirement("gateway:validate")
def test_validate_finds_what_is_wrong_with_its_place(client: Client, place: Place) -> None:
    place.skill("good-job", description="Does it. Use when asked.")
    place.skill("bad-job", name="Another Name")
    client.listed(place, "good-job")
    found = client.call("skills.validate", agentId=place.agent)

    reports = {report["path"]: report for report in found["reports"]}
    good = reports[str(place.skills / "good-job" / "SKILL.md")]
    bad = reports[str(place.skills / "bad-job" / "SKILL.md")]
    assert good["valid"] is True
    assert bad["diagnostics"]
    for item in bad["diagnostics"]:
        assert item["code"]
        assert item["line"] >= 1


@pytest.mark.requirement("gateway:usage")
def test_a_skill_that_a_message_was_routed_to_is_in_the_usage_log(
    client: Client, place: Place
) -> None:
    place.skill("fold-laundry", description="Fold the laundry. Use when laundry is to be folded.")
    client.listed(place, "fold-laundry")
    before = client.call("skills.usage")
    client.call("skills.route", message="please fold the laundry", agentId=place.agent)
    after = client.call("skills.usage")

    assert "fold-laundry" not in json.dumps(before["events"])
    assert "fold-laundry" in json.dumps(after["events"])
    assert place.agent in json.dumps(after["events"])


@pytest.mark.requirement("gateway:clients-start")
def test_what_other_clients_ask_at_the_start_is_answered(client: Client, gateway: Gateway) -> None:
    health, agents = client.call("health"), client.call("agents.list")
    cron, approvals = client.call("cron.list"), client.call("exec.approvals.get")

    assert health["ok"] is True
    assert agents["defaultId"] == "main"
    assert [row["id"] for row in agents["agents"]][:2] == ["main", "agent0"]
    assert cron["jobs"] == []
    assert not approvals["file"].get("agents")
    assert isinstance(client.call("models.list")["models"], list)
    assert isinstance(client.call("sessions.list")["sessions"], list)
    assert client.call("status")["version"]
    assert client.call("skills.status")["workspaceDir"] == str(gateway.world.workspace)
