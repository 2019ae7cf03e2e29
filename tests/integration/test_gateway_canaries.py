"""Secrets are planted everywhere and looked for everywhere: none may come out of a gateway."""

import http.client
import json
import logging
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.integration.gateway_world import TOKEN, Peer, ask, connect_params
from tests.integration.house_world import WORKSHOP, House, inhabited, visited

from prowess.gateway.calls import Json

HEADERS = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
BODY = "# Packing\n\n## Workflow\n\n- Weigh the box.\n"


class Canaries:
    """Secrets that nobody can guess, and all that came out of the gateway."""

    def __init__(self, folder: Path) -> None:
        self._made: dict[str, str] = {"the gateway's token": TOKEN}
        self._heard: list[tuple[str, str]] = []
        self._folder = folder

    def plant(self, where: str, shape: str = "wombat{}") -> str:
        """Return a secret; it looks like nothing in particular unless a shape is given."""
        found = shape.format(secrets.token_hex(10))
        self._made[where] = found
        return found

    def file(self, where: str) -> str:
        """Return the path of a file with a secret."""
        path = self._folder / f"secret-{len(self._made)}"
        path.write_text(self.plant(where))
        return str(path)

    def hear(self, where: str, what: object) -> None:
        """Keep something that came out."""
        self._heard.append((where, what if isinstance(what, str) else json.dumps(what)))

    def assert_silent(self) -> None:
        """Fail where anything that came out holds a secret."""
        found = [
            f"{name} in {where}: {text[:300]}"
            for where, text in self._heard
            for name, secret in self._made.items()
            if secret in text
        ]
        assert found == []


def _config(canaries: Canaries) -> Json:
    plant = canaries.plant
    return {
        "gateway": {"auth": {"token": plant("gateway token"), "password": plant("gateway pass")}},
        "plugins": {
            "entries": {
                **WORKSHOP["entries"],
                "mailer": {"config": {"smtp": [{"host": "h", "password": plant("nested plugin")}]}},
                "bot": {"config": {"url": f"https://u:{plant('address')}@example.com/"}},
            }
        },
        "skills": {
            "routing": {"encoder": "none"},
            "model": {"endpoint": "http://127.0.0.1:1/v1", "name": "m", "apiKey": plant("model")},
            "entries": {
                "needy-key": {
                    "apiKey": plant("apiKey"),
                    "env": {"NEEDY_TOKEN": plant("env"), "NEEDY_NOTE": plant("plain env")},
                    "config": {"account": plant("skill config")},
                },
                "by-name": {"apiKey": "$CANARY_BY_NAME"},
                "by-env": {"apiKey": {"source": "env", "name": "CANARY_BY_ENV"}},
                "by-file": {"apiKey": {"source": "file", "path": canaries.file("by file")}},
                "by-exec": {"apiKey": {"source": "exec", "cmd": ["cat", canaries.file("exec")]}},
                "wrong": {"apiKey": {"source": plant("source of a reference")}},
            },
        },
    }  # fmt: skip


def _environ(canaries: Canaries) -> Mapping[str, str]:
    names = ("CANARY_BY_NAME", "CANARY_BY_ENV", "NEEDY_KEY", "OPENAI_API_KEY", "ANYTHING")
    return {name: canaries.plant(f"${name}") for name in names}


@pytest.fixture
def canaries(tmp_path: Path) -> Canaries:
    return Canaries(tmp_path)


@pytest.fixture
def house(tmp_path: Path, canaries: Canaries, caplog: pytest.LogCaptureFixture) -> Iterator[House]:
    """A gateway full of secrets; all that it logs, however small, is kept."""
    caplog.set_level(logging.DEBUG)
    place = House(tmp_path)
    needs = {"requires": {"env": ["NEEDY_KEY"], "config": ["skills.entries.needy-key.apiKey"]}}
    install = [{"id": "get", "kind": "download", "url": "https://127.0.0.1:1/t", "bins": ["t"]}]
    openclaw = {**needs, "primaryEnv": "NEEDY_KEY", "skillKey": "needy-key", "install": install}
    place.skill("needy", metadata={"openclaw": openclaw})
    for name in ("by-name", "by-env", "by-file", "by-exec", "wrong"):
        key = {"openclaw": {"primaryEnv": "SOME_KEY", "requires": {"env": ["SOME_KEY"]}}}
        place.skill(name, metadata=key)
    place.config_file.write_text(json.dumps(_config(canaries)))
    with inhabited(place, environ=_environ(canaries), news=True):
        yield place
    _hear_logs(canaries, caplog)
    canaries.assert_silent()


def _hear_logs(canaries: Canaries, caplog: pytest.LogCaptureFixture) -> None:
    for record in caplog.records:
        # The client of the tests tells what it sends, and that is no fault of the gateway.
        if not record.name.startswith("websockets.client"):
            canaries.hear(f"log {record.name}", record.getMessage())
            canaries.hear(f"log of {record.name} with all it has", repr(record.__dict__))


def _ask_everything(house: House, canaries: Canaries, calls: list[tuple[str, Any]]) -> None:
    """Ask over both ways, and keep every answer and event, and what stands beside them."""
    with visited(house) as peer:
        for number, (method, params) in enumerate(calls):
            canaries.hear(f"{method} over WebSocket", peer.call(method, params))
            frame = {"type": "req", "id": f"h{number}", "method": method, "params": params}
            answer = ask(house.world, "POST", "/rpc", json.dumps(frame), HEADERS)
            canaries.hear(f"{method} over HTTP", answer.text + str(answer.headers))
        canaries.hear("events", peer.events)
    for path in ("/health", "/metrics", "/", "/rpc"):
        answer = ask(house.world, "GET", path, headers=HEADERS)
        canaries.hear(path, answer.text + str(answer.headers))


def test_what_is_in_config_environment_and_keys_comes_out_of_no_method(
    house: House, canaries: Canaries
) -> None:
    named = [
        (method, {"name": name})
        for name in ("needy", "by-name", "by-env", "by-file", "by-exec", "wrong", "nobody")
        for method in ("skills.detail", "skills.why", "skills.validate")
    ]
    plain = ("health", "status", "agents.list", "models.list", "sessions.list", "cron.list",
             "exec.approvals.get", "skills.bins", "skills.trash", "config.get", "config.schema",
             "skills.status", "skills.prompt", "skills.validate", "skills.usage",
             "skills.proposals.list", "skills.proposals.events.list")  # fmt: skip

    _ask_everything(
        house,
        canaries,
        [
            *((method, {}) for method in plain),
            *((method, {"unheardOf": 1}) for method in plain),
            *named,
            ("skills.route", {"message": "use needy"}),
            ("skills.why", {"name": "needy", "message": "use needy"}),
            ("skills.install", {"name": "needy", "installId": "get"}),
            ("skills.update", {"skillKey": "wrong", "enabled": True}),
            ("skills.update", {"skillKey": "by-file", "env": {"X_TOKEN": "__OPENCLAW_REDACTED__"}}),
            ("skills.remove", {"skillKey": "by-name", "source": "openclaw-workspace"}),
            ("skills.restore", {"id": "none"}),
            ("config.set", {"raw": "{}", "baseHash": "stale"}),
            ("config.set", {"raw": '{"agents": {"list": []}}'}),
            ("nothing", {}),
        ],
    )


def test_config_that_is_written_back_keeps_its_secrets_and_shows_none(
    house: House, canaries: Canaries
) -> None:
    before = house.config()
    with visited(house) as peer:
        read = peer.call("config.get")["payload"]
        raw = json.loads(read["raw"])
        raw["skills"]["pinned"] = ["needy"]
        done = peer.call("config.set", {"raw": json.dumps(raw), "baseHash": read["hash"]})
        change = {"skills": {"pinned": ["by-env"]}}
        patch = {"raw": json.dumps(change), "baseHash": done["payload"]["hash"]}
        patched = peer.call("config.patch", {**patch, "replacePaths": ["skills.pinned"]})
        told = peer.event("config.changed")

    canaries.hear("the config", [read, done, patched, told, peer.events])
    assert done["ok"]
    assert patched["ok"], patched
    after = house.config()
    assert after.pop("skills") == {**before.pop("skills"), "pinned": ["by-env"]}
    assert after == before


def test_what_a_client_types_is_repeated_nowhere(house: House, canaries: Canaries) -> None:
    plant = canaries.plant
    key, token = plant("typed key"), plant("typed variable")
    broken = [
        f'{{"skills": {{"entries": {{"x": {{"apiKey": "{plant("before a mistake")}" 5}}}}}}}}',
        f'{{"apiKey": "{plant("unclosed")}',
        f"{{apiKey: {plant('unquoted')}}}",
        f'{{"a": 1, "a": "{plant("repeated")}"}}',
        f'["{plant("no object")}"]',
        f"{plant('no json at all')}",
    ]
    wrong = [
        {"skills": {"entries": {"x": {"enabled": plant("typed wrong")}}}},
        {"skills": {"safety": {"egress": {"NEEDY_KEY": [f"no host {plant('typed host')}"]}}}},
        {"skills": {"limits": {"maxSkillsInPrompt": plant("typed number")}}},
        {"agents": {"list": plant("typed agents")}},
        {"skills": {"entries": {"x": {"env": [plant("typed env list")]}}}},
        {"skills": {"model": {"apiKey": [plant("typed model key")]}}},
    ]
    with visited(house) as peer:
        base = peer.call("config.get")["payload"]["hash"]
    updates: list[Json] = [
        {"apiKey": key, "env": {"SOME_TOKEN": token}},
        {"apiKey": f"{plant('with a zero')}\0"},
        {"env": {f"NAME={plant('in a name')}": "x"}},
        {"env": {f"NAME {plant('in a bad name')}": 5}},
        {"apiKey": [plant("in a list")]},
        {"apiKey": plant("before what is too long") * 900},
        {"env": {"A_TOKEN": plant("kept before") + "__OPENCLAW_REDACTED__"}},
        {"enabled": plant("for a switch")},
    ]

    _ask_everything(
        house,
        canaries,
        [
            *(("config.set", {"raw": raw, "baseHash": base}) for raw in broken),
            *(("config.patch", {"raw": raw, "baseHash": base}) for raw in broken),
            *(("config.patch", {"raw": json.dumps(one), "baseHash": base}) for one in wrong),
            *(("skills.update", {"skillKey": "wrong", **one}) for one in updates),
            ("skills.route", {"message": f"{plant('in a message')} use needy"}),
            ("skills.route", {"message": plant("in another message"), "limit": "x"}),
            ("skills.why", {"name": "needy", "message": plant("in a why")}),
            ("skills.usage", {}),
            ("skills.status", {}),
            ("config.get", {}),
        ],
    )


def test_a_credential_in_a_proposal_is_refused_and_repeated_nowhere(
    house: House, canaries: Canaries
) -> None:
    shaped = canaries.plant("token of a code host", "ghp_{}aB3dE5gH7jK9mN1p")
    given: Json = {"name": "Packing", "description": "Packs. Use it.", "content": BODY}
    line = f"\n- Log in with {shaped}.\n"
    file = {"path": "references/a.md", "content": line}
    changes: list[Json] = [
        {"content": BODY + line},
        {"description": f"Packs with {shaped}."},
        {"supportFiles": [file]},
        {"goal": line},
        {"evidence": line},
    ]
    with visited(house) as peer:
        made = peer.call("skills.proposals.create", given)["payload"]
        seen = {"proposalId": made["record"]["id"], "expectedRevisionHash": made["revisionHash"]}

    _ask_everything(
        house,
        canaries,
        [
            *(("skills.proposals.create", {**given, **change}) for change in changes),
            ("skills.proposals.update", {"skillName": "needy", "content": line}),
            ("skills.proposals.revise", {**seen, "content": BODY + line}),
            ("skills.proposals.reject", {**seen, "reason": line}),
            ("skills.proposals.quarantine", {**seen, "reason": line}),
            ("skills.proposals.apply", {**seen, "reason": line}),
            ("skills.proposals.list", {}),
            ("skills.proposals.events.list", {}),
            ("skills.proposals.inspect", {"proposalId": made["record"]["id"]}),
        ],
    )


def test_a_token_is_never_said_be_it_right_or_wrong(house: House, canaries: Canaries) -> None:
    wrong = canaries.plant("wrong token")
    for auth in ({"token": wrong}, {"password": wrong}, {"token": [wrong]}, wrong):
        with Peer(house.world) as peer:
            canaries.hear("connect", peer.call("connect", connect_params(auth=auth)))
            canaries.hear("the end of a connection", peer.challenge)
    with Peer(house.world) as peer:
        peer.send(f'{{"type":"req","id":"a","method":"connect","params":{{"token":"{wrong}"')
        canaries.hear("half a frame", list(peer.end()))
    for header in (f"Bearer {wrong}", wrong, f"Basic {wrong}"):
        for method, path in (("POST", "/rpc"), ("GET", "/metrics"), ("GET", f"/{wrong}")):
            headers = {**HEADERS, "Authorization": header}
            answer = ask(house.world, method, path, b"{}" if method == "POST" else None, headers)
            canaries.hear(f"{method} {path[:8]}", answer.text + str(answer.headers))


def test_what_is_wrong_with_the_config_is_said_without_what_it_says(
    house: House, canaries: Canaries
) -> None:
    config = house.config()
    config["skills"]["safety"] = {"egress": {"NEEDY_KEY": [f"no host {canaries.plant('no host')}"]}}
    config["skills"]["entries"]["wrong"]["enabled"] = canaries.plant("no switch")
    config["skills"]["specMode"] = canaries.plant("no mode")
    house.config_file.write_text(json.dumps(config))
    house.gateway.runtime.skills.refresh()

    with visited(house) as peer:
        report = peer.call("skills.status", {})["payload"]
        issues = peer.call("config.get")["payload"]["issues"]

    canaries.hear("skills.status", report)
    canaries.hear("issues", issues)
    assert len([one for one in report["configProblems"] if not one["unknown"]]) == len(issues) == 3


def test_a_config_that_broke_near_a_secret_is_shown_without_it(
    house: House, canaries: Canaries
) -> None:
    texts = [
        f'{{"skills": {{"entries": {{"x": {{"apiKey": "{canaries.plant("broken")}" 5}}}}}}}}',
        f'{{"apiKey": "{canaries.plant("unclosed in the file")}',
        f"{{apiKey: {canaries.plant('unquoted in the file')}}}",
        f'{{"apiKey": "a", "apiKey": "{canaries.plant("twice in the file")}"}}',
    ]

    for text in texts:
        with visited(house) as peer:
            house.config_file.write_text(text)
            house.gateway.news.nudge()
            peer.event("config.changed")
        _ask_everything(
            house,
            canaries,
            [
                ("config.get", {}),
                ("skills.status", {}),
                ("skills.update", {"skillKey": "x", "enabled": True}),
                ("config.set", {"raw": "{}"}),
                ("skills.proposals.list", {}),
                ("skills.remove", {"skillKey": "none", "source": "openclaw-workspace"}),
            ],
        )


def test_what_crashes_says_where_and_not_what(
    house: House, canaries: Canaries, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = canaries.plant("in a crash")

    class OddError(Exception):
        """Its text and all that it carries are secret."""

        def __init__(self) -> None:
            super().__init__(secret, {"key": secret})

    def boom(*_args: object, **_named: object) -> Any:  # noqa: ANN401 - it never returns
        held = secret
        raise OddError from ValueError(held)

    skills, services = type(house.gateway.runtime.skills), house.gateway.services
    monkeypatch.setattr(type(services.usage), "report", boom)
    monkeypatch.setattr(type(services.config), "schema", lambda _self: {"x": {secret}})
    _ask_everything(house, canaries, [("skills.usage", {}), ("config.schema", {})])

    # From here on nothing works: neither the snapshot nor health nor news.
    monkeypatch.setattr(skills, "settings", property(boom))
    monkeypatch.setattr(type(services.config), "get", boom)
    with Peer(house.world) as peer:
        canaries.hear("connect", peer.hello())
        canaries.hear("its end", list(peer.end()))
    house.gateway.news.nudge()
    answer = ask(house.world, "GET", "/health")
    frame = json.dumps({"type": "req", "id": "a", "method": "config.get"})
    crashed = ask(house.world, "POST", "/rpc", frame, HEADERS)

    canaries.hear("health", answer.text + str(answer.headers))
    canaries.hear("a crash", crashed.text)
    assert crashed.json()["error"]["message"].startswith("internal error")
    assert answer.status == http.client.SERVICE_UNAVAILABLE
    monkeypatch.undo()


def test_the_answer_to_an_update_shows_plain_variables_and_nothing_else(house: House) -> None:
    given = {"skillKey": "wrong", "apiKey": "k", "env": {"COLOUR": "green", "SOME_KEY": "s"}}

    with visited(house) as peer:
        found = peer.call("skills.update", given)["payload"]["config"]

    assert found["env"] == {"COLOUR": "green", "SOME_KEY": "__OPENCLAW_REDACTED__"}
