"""`skills.proposals.*`: the whole way of a proposal, by revision hashes, with its events."""

import json
from collections.abc import Iterator
from functools import partial

import pytest

from .gateway_bench import Client, Gateway, Place, crowd, serving
from .workshop_bench import UNSAFE
from .world import Json, World

pytestmark = pytest.mark.slow

MANIFEST = "openclaw.skill-workshop.proposals-manifest.v1"
RECORD = "openclaw.skill-workshop.proposal.v1"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    world = World(tmp_path_factory.mktemp("gateway"))
    config = crowd(world, 24)
    plugin = {"enabled": True, "config": {"reviewMode": "off", "approvalPolicy": "pending"}}
    config["plugins"] = {"entries": {"skill-workshop": plugin}}
    world.config(config)
    with serving(world) as running:
        yield running


@pytest.fixture
def client(gateway: Gateway) -> Iterator[Client]:
    with gateway.client() as connected:
        yield connected


@pytest.fixture
def place(gateway: Gateway) -> Place:
    return gateway.place()


def created(client: Client, place: Place, name: str = "some-job", text: str = "- One.") -> Json:
    """What `skills.proposals.create` answers."""
    return client.call(
        "skills.proposals.create",
        agentId=place.agent,
        name=name,
        description=f"Does the {name}. Use when asked.",
        content=f"# The {name}\n\n{text}\n",
    )


def decide(client: Client, place: Place, decision: str, made: Json) -> Json:
    """Decide about a proposal as it was made."""
    return client.call(
        f"skills.proposals.{decision}",
        agentId=place.agent,
        proposalId=made["record"]["id"],
        expectedRevisionHash=made["revisionHash"],
    )


def is_step(identity: str, kind: str, payload: Json) -> bool:
    """True where an event is about this step of this proposal."""
    return (payload["proposalId"], payload["type"]) == (identity, kind)


def listed(client: Client, place: Place) -> list[Json]:
    found = client.call("skills.proposals.list", agentId=place.agent)["proposals"]
    assert isinstance(found, list)
    return found


@pytest.mark.requirement("gateway:proposal-record")
def test_a_new_proposal_has_the_documented_record(client: Client, place: Place) -> None:
    made = created(client, place)
    shown = client.call(
        "skills.proposals.inspect", agentId=place.agent, proposalId=made["record"]["id"]
    )

    record = made["record"]
    assert shown["record"] == record
    assert (shown["content"], shown["revisionHash"]) == (made["content"], made["revisionHash"])
    assert (record["schema"], record["kind"], record["status"]) == (RECORD, "create", "pending")
    assert record["draftFile"] == "PROPOSAL.md"
    assert record["target"]["skillName"] == record["target"]["skillKey"] == "some-job"
    assert record["target"]["skillDir"] == str(place.skills / "some-job")
    assert record["target"]["skillFile"] == str(place.skills / "some-job" / "SKILL.md")
    assert record["scan"]["state"] == "clean"
    assert record["scan"]["findings"] == []
    assert {"title", "description", "createdAt", "updatedAt", "draftHash"} <= set(record)
    assert "- One." in made["content"]


@pytest.mark.requirement("gateway:proposal-record")
def test_a_record_says_its_version_and_that_the_gateway_made_it(
    client: Client, place: Place
) -> None:
    record = created(client, place)["record"]

    assert record["createdBy"] == "gateway"
    assert "proposedVersion" in record


@pytest.mark.requirement("gateway:proposal-list", "gateway:agents")
def test_the_list_is_of_one_agent_and_tells_enough_to_decide(
    gateway: Gateway, client: Client
) -> None:
    one, other = gateway.place(), gateway.place()
    made = created(client, one)
    manifest = client.call("skills.proposals.list", agentId=one.agent)

    assert manifest["schema"] == MANIFEST
    assert {"updatedAt", "installedSkills"} <= set(manifest)
    (entry,) = manifest["proposals"]
    assert entry["id"] == made["record"]["id"]
    assert entry["revisionHash"] == made["revisionHash"]
    assert (entry["skillName"], entry["scanState"]) == ("some-job", "clean")
    wanted = {"kind", "status", "title", "description", "skillKey", "createdAt", "updatedAt"}
    assert wanted <= set(entry)
    assert listed(client, other) == []


@pytest.mark.requirement("gateway:proposal-apply", "gateway:proposal-rollback")
def test_an_applied_proposal_is_a_skill_until_it_is_rolled_back(
    client: Client, place: Place
) -> None:
    made = created(client, place)
    applied = decide(client, place, "apply", made)
    path = place.skills / "some-job" / "SKILL.md"
    text = path.read_text(encoding="utf-8")
    rows = client.listed(place, "some-job")
    client.call("skills.proposals.rollback", agentId=place.agent, proposalId=made["record"]["id"])

    assert applied["targetSkillFile"] == str(path)
    assert applied["record"]["status"] == "applied"
    assert text == made["content"]
    assert rows["some-job"]["eligible"] is True
    assert not path.exists()


@pytest.mark.requirement("gateway:proposal-hashes")
@pytest.mark.parametrize("decision", ["apply", "reject", "quarantine", "revise"])
def test_a_decision_about_another_revision_is_refused_with_both_hashes(
    client: Client, place: Place, decision: str
) -> None:
    first = created(client, place)
    identity = first["record"]["id"]
    second = client.call(
        "skills.proposals.revise",
        agentId=place.agent,
        proposalId=identity,
        expectedRevisionHash=first["revisionHash"],
        content="# The some-job\n\n- Two.\n",
    )
    more = {"content": "# Three\n"} if decision == "revise" else {}
    error = client.refused(
        f"skills.proposals.{decision}",
        agentId=place.agent,
        proposalId=identity,
        expectedRevisionHash=first["revisionHash"],
        **more,
    )

    assert second["revisionHash"] != first["revisionHash"]
    assert "- Two." in second["content"]
    assert error["code"] == "INVALID_REQUEST"
    details = json.dumps(error["details"])
    assert first["revisionHash"] in details
    assert second["revisionHash"] in details
    assert [entry["status"] for entry in listed(client, place)] == ["pending"]
    assert not (place.skills / "some-job").exists()


@pytest.mark.requirement("gateway:proposal-decisions")
def test_a_rejected_proposal_is_never_applied(client: Client, place: Place) -> None:
    made = created(client, place)
    decide(client, place, "reject", made)
    error = client.refused(
        "skills.proposals.apply",
        agentId=place.agent,
        proposalId=made["record"]["id"],
        expectedRevisionHash=made["revisionHash"],
    )
    shown = client.call(
        "skills.proposals.inspect", agentId=place.agent, proposalId=made["record"]["id"]
    )

    assert error["code"] == "INVALID_REQUEST"
    assert shown["record"]["status"] == "rejected"
    assert not (place.skills / "some-job").exists()


@pytest.mark.requirement("gateway:proposal-decisions")
def test_quarantine_needs_no_hash_and_is_final(client: Client, place: Place) -> None:
    made = created(client, place)
    identity = made["record"]["id"]
    client.call(
        "skills.proposals.quarantine", agentId=place.agent, proposalId=identity, reason="Odd."
    )
    error = client.refused(
        "skills.proposals.apply",
        agentId=place.agent,
        proposalId=identity,
        expectedRevisionHash=made["revisionHash"],
    )
    shown = client.call("skills.proposals.inspect", agentId=place.agent, proposalId=identity)

    assert error["code"] == "INVALID_REQUEST"
    assert shown["record"]["status"] == "quarantined"
    assert not (place.skills / "some-job").exists()


@pytest.mark.requirement("gateway:proposal-decisions")
def test_what_could_do_harm_is_not_applied(client: Client, place: Place) -> None:
    answer = client.ask(
        "skills.proposals.create",
        {
            "agentId": place.agent,
            "name": "harm-job",
            "description": "Does harm. Use when asked.",
            "content": f"# Harm\n\n{UNSAFE}",
        },
    )
    if answer["ok"]:
        made = answer["payload"]
        assert made["record"]["status"] == "quarantined"
        assert made["record"]["scan"]["critical"] >= 1
        client.refused(
            "skills.proposals.apply",
            agentId=place.agent,
            proposalId=made["record"]["id"],
            expectedRevisionHash=made["revisionHash"],
        )

    assert not (place.skills / "harm-job").exists()


@pytest.mark.requirement("gateway:proposal-update")
def test_an_update_is_of_a_skill_that_exists(client: Client, place: Place) -> None:
    path = place.skill("live-job", body="# Live\n\n- Old.\n")
    client.listed(place, "live-job")
    made = client.call(
        "skills.proposals.update",
        agentId=place.agent,
        skillName="live-job",
        content="# Live\n\n- New.\n",
    )
    before = path.read_text(encoding="utf-8")
    decide(client, place, "apply", made)
    error = client.refused(
        "skills.proposals.update", agentId=place.agent, skillName="no-such", content="# x\n"
    )

    assert made["record"]["kind"] == "update"
    assert made["record"]["target"]["currentContentHash"]
    assert "- Old." in before
    assert "- New." in path.read_text(encoding="utf-8")
    assert "- Old." not in path.read_text(encoding="utf-8")
    assert error["code"] == "INVALID_REQUEST"


@pytest.mark.requirement("gateway:proposal-events")
def test_events_are_numbered_and_read_on_from_a_cursor(client: Client, place: Place) -> None:
    made = created(client, place)
    decide(client, place, "apply", made)
    created(client, place, "next-job")
    whole = client.call("skills.proposals.events.list", agentId=place.agent)["events"]
    first = client.call("skills.proposals.events.list", agentId=place.agent, limit=1)
    rest = client.call(
        "skills.proposals.events.list",
        agentId=place.agent,
        afterSequence=first["events"][-1]["sequence"],
    )["events"]
    mine = client.call(
        "skills.proposals.events.list", agentId=place.agent, proposalId=made["record"]["id"]
    )["events"]

    assert [event["type"] for event in whole] == ["created", "applied", "created"]
    sequences = [event["sequence"] for event in whole]
    assert sequences == sorted(set(sequences))
    assert sequences[0] >= 1
    assert first["events"] == whole[:1]
    assert first["nextSequence"] is not None
    assert rest == whole[1:]
    assert [event["type"] for event in mine] == ["created", "applied"]
    wanted = {"eventId", "proposalId", "revisionHash", "occurredAt"}
    assert all(wanted <= set(event) for event in whole)


@pytest.mark.requirement("gateway:proposal-events")
def test_an_event_says_who_did_it_to_which_version(client: Client, place: Place) -> None:
    created(client, place)
    (event,) = client.call("skills.proposals.events.list", agentId=place.agent)["events"]

    assert event["actor"]["type"] == "gateway"
    assert "proposedVersion" in event


@pytest.mark.requirement("gateway:proposal-pushed")
def test_every_step_of_a_proposal_is_pushed_to_every_client(
    gateway: Gateway, client: Client, place: Place
) -> None:
    with gateway.client() as other:
        made = created(client, place)
        decide(client, place, "reject", made)
        steps = [
            other.until("skills.proposal", partial(is_step, made["record"]["id"], kind))
            for kind in ("created", "rejected")
        ]

    assert [event["payload"]["agentId"] for event in steps] == [place.agent] * 2


@pytest.mark.requirement("gateway:proposal-support-files")
@pytest.mark.parametrize("path", ["../escape.md", "/etc/passwd", "references/../../x", "SKILL.md"])
def test_a_support_file_stays_in_its_folders(client: Client, place: Place, path: str) -> None:
    error = client.refused(
        "skills.proposals.create",
        agentId=place.agent,
        name="file-job",
        description="Has files. Use when asked.",
        content="# Files\n",
        supportFiles=[{"path": path, "content": "x"}],
    )

    assert error["code"] == "INVALID_REQUEST"
    assert listed(client, place) == []


@pytest.mark.requirement("gateway:proposal-support-files")
def test_a_support_file_is_written_with_its_skill(client: Client, place: Place) -> None:
    made = client.call(
        "skills.proposals.create",
        agentId=place.agent,
        name="file-job",
        description="Has files. Use when asked.",
        content="# Files\n\nRead references/more.md.\n",
        supportFiles=[{"path": "references/more.md", "content": "More.\n"}],
    )
    decide(client, place, "apply", made)

    assert [file["path"] for file in made["record"]["supportFiles"]] == ["references/more.md"]
    written = place.skills / "file-job" / "references" / "more.md"
    assert written.read_text(encoding="utf-8") == "More.\n"


@pytest.mark.requirement("gateway:proposal-unknown")
@pytest.mark.parametrize(
    "method", ["inspect", "apply", "reject", "quarantine", "revise", "rollback"]
)
def test_a_proposal_that_does_not_exist_is_refused(client: Client, method: str) -> None:
    needs: Json = {"proposalId": "no-such"}
    if method in {"apply", "reject"}:
        needs["expectedRevisionHash"] = "0" * 64
    if method == "revise":
        needs["content"] = "# x\n"
    error = client.refused(f"skills.proposals.{method}", **needs)

    assert error["code"] == "INVALID_REQUEST"
    assert "no-such" in error["message"]
