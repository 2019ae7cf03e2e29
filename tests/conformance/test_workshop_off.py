"""A workshop that is switched off: every edge refuses the same deeds, in the same words.

What waits can be read, rejected and quarantined by a person; nothing is proposed, reworded,
written or taken back. The agent's tool answers nothing at all.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

import prowess
from prowess.workshop.edit import Create

from .gateway_bench import Client, Gateway, crowd, serving
from .workshop_bench import CORRECTION, files_below
from .world import Json, World

CODE = "proposal.disabled"
TEXT = "A job. Use when asked."
READ = ("list_pending", "list_quarantine", "inspect", "history", "status")


@dataclass(slots=True)
class Off:
    """A world whose workshop has a pending and an applied proposal, and is off."""

    world: World
    runtime: prowess.Runtime
    gateway: Gateway
    client: Client
    ids: dict[str, str]

    def library(self, deed: Callable[[], object]) -> tuple[str, str]:
        """Return the code and the words in which the library refuses."""
        with pytest.raises(prowess.ProwessError) as refusal:
            deed()
        return refusal.value.code, str(refusal.value)

    def terminal(self, *words: str | Path) -> tuple[str, str]:
        """Return the code and the words in which the terminal refuses."""
        done = self.world.run("workshop", *words, "--json")
        assert done.code == 1, done
        error = done.json["error"]
        return error["code"], error["message"]

    def method(self, name: str, /, **params: object) -> tuple[str, str]:
        """Return the code and the words in which the gateway refuses."""
        error = self.client.refused(f"skills.proposals.{name}", **params)
        return error["details"]["reason"], error["message"]


def _config(world: World, *, enabled: bool) -> Json:
    config = crowd(world, 0)
    plugin = {"enabled": enabled, "config": {"reviewMode": "heuristic"}}
    config["plugins"] = {"entries": {"skill-workshop": plugin}}
    return config


def _suggested(runtime: prowess.Runtime, skill: str, *, apply: bool) -> str:
    answer = runtime.workshop.call(
        {
            "action": "suggest",
            "skillName": skill,
            "description": f"Does {skill}. {TEXT}",
            "body": f"## Workflow\n\n- Do {skill}.\n",
            "apply": apply,
        }
    )
    return str(json.loads(json.dumps(answer))["proposal"]["id"])


@pytest.fixture(scope="module")
def off(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Off]:
    world = World(tmp_path_factory.mktemp("off"))
    world.config(_config(world, enabled=True))
    with serving(world) as gateway, gateway.client() as client:
        runtime = world.open()
        names = ("one", "two", "three", "four")
        ids = {name: _suggested(runtime, f"{name}-job", apply=False) for name in names}
        ids["applied"] = _suggested(runtime, "applied-job", apply=True)
        assert world.run("workshop", "disable").code == 0
        yield Off(world=world, runtime=runtime, gateway=gateway, client=client, ids=ids)
    world.close()


@pytest.mark.requirement("workshop:off-refuses")
def test_no_edge_writes_or_proposes_anything(off: Off) -> None:
    service, one, applied = off.runtime.workshop, off.ids["one"], off.ids["applied"]
    edit = Create(description=TEXT, body="- Other.\n")
    new = {"name": "new-job", "description": TEXT, "content": "- New.\n"}
    said = off.world.file(
        off.world.root / "turn.jsonl", json.dumps({"role": "user", "content": CORRECTION}) + "\n"
    )
    seen = files_below(off.world.skills)
    revision = service.inspect(one).revision
    words = off.library(lambda: service.apply(one))

    refusals = {
        "library revise": off.library(lambda: service.revise(one, edit)),
        "library rollback": off.library(lambda: service.rollback(applied)),
        "terminal apply": off.terminal("apply", one, "--yes"),
        "terminal revise": off.terminal("revise", one, "--body", "- Other."),
        "terminal rollback": off.terminal("rollback", applied, "--yes"),
        "terminal suggest": off.terminal("suggest", "--skill", "new-job", "--body", "- New."),
        "terminal capture": off.terminal("capture", said),
        "gateway create": off.method("create", **new),
        "gateway update": off.method("update", skillName="applied-job", content="- New.\n"),
        "gateway apply": off.method("apply", proposalId=one, expectedRevisionHash=revision),
        "gateway revise": off.method("revise", proposalId=one, content="- Other.\n"),
        "gateway renew": off.method("revise", proposalId=one),
        "gateway rollback": off.method("rollback", proposalId=applied),
    }

    assert words[0] == CODE
    assert {name: found for name, found in refusals.items() if found != words} == {}
    assert files_below(off.world.skills) == seen
    assert service.inspect(one).revision == revision
    assert {kind.id: kind.state for kind in service.list()}[one] == "pending"


@pytest.mark.requirement("workshop:off-refuses")
def test_the_tool_answers_nothing(off: Off) -> None:
    service, one = off.runtime.workshop, off.ids["one"]
    words = off.library(lambda: service.apply(one))
    actions = (*READ, "suggest", "apply", "reject", "revise", "rollback", "write_support_file")

    for action in actions:
        call = {"action": action, "id": one, "skillName": "one-job", "body": "- New."}
        assert off.library(partial(service.call, call)) == words, action


@pytest.mark.requirement("workshop:off-refuses")
def test_a_person_may_read_and_say_no(off: Off) -> None:
    service, ids = off.runtime.workshop, off.ids

    assert off.world.run("workshop", "list", "--json").calm().json["proposals"]
    for words in (["show", ids["one"]], ["history"], ["status"]):
        assert off.world.run("workshop", *words, "--json").calm().code == 0, words
    assert off.client.call("skills.proposals.inspect", proposalId=ids["one"])["canApply"] is False
    assert off.client.call("skills.proposals.events.list")["events"]
    assert off.world.run("workshop", "reject", ids["four"], "--json").calm().json["status"]
    assert service.reject(ids["two"]).state == "rejected"
    kept = off.client.call("skills.proposals.quarantine", proposalId=ids["three"])
    assert kept["status"] == "quarantined"
