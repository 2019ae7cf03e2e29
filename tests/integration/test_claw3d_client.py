"""A client that we did not write: the calls of Claw3D, replayed word for word against a gateway.

It connects through its own proxy, which names an origin; it asks for agents, config, approvals,
sessions, models and jobs before it shows anything; its Skills tab writes the config, and its System
setup tab calls `skills.update` and `skills.install`.
"""

import base64
import hashlib
import json
import re
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.integration.install_world import Server, program
from tests.integration.served_world import TOKEN, Served, served
from websockets.sync.client import connect
from websockets.typing import Origin

Json = dict[str, Any]
PATIENCE_S = 60
SCOPES = ["operator.admin", "operator.approvals", "operator.pairing"]
CLIENT_ID, MODE, ROLE = "openclaw-control-ui", "webchat", "operator"
TEXTS, FLAG = [str], bool
NEEDS = dict.fromkeys(("bins", "anyBins", "env", "config", "os"), TEXTS)
SKILL = {
    "name": str,
    "description": str,
    "source": str,
    "bundled": FLAG,
    "filePath": str,
    "baseDir": str,
    "skillKey": str,
    "always": FLAG,
    "disabled": FLAG,
    "blockedByAllowlist": FLAG,
    "eligible": FLAG,
    "requirements": NEEDS,
    "missing": NEEDS,
    "configChecks": [{"path": str, "satisfied": FLAG}],
    "install": [{"id": str, "kind": str, "label": str, "bins": TEXTS}],
}
REPORT = {"workspaceDir": str, "managedSkillsDir": str, "skills": [SKILL]}
INSTALLED = {"ok": FLAG, "message": str, "stdout": str, "stderr": str}
KINDS = {"brew", "node", "go", "uv", "download"}
CANARY = "canary-key-8a41c9"
STALE = re.compile(r"re-run config\.get|config changed since last load", re.IGNORECASE)


class ResponseError(Exception):
    """The answer was an error with a code, which is all that this client looks at."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


class Claw3D:
    """One browser, behind the proxy of the studio."""

    def __init__(self, world: Served, *, protocol: int = 3, token: str = TOKEN) -> None:
        self._world, self._protocol, self._token = world, protocol, token
        self._stack = ExitStack()
        self.frames: list[Json] = []
        self.hello: Json = {}

    def __enter__(self) -> Self:
        # The proxy takes the address that a person typed, and calls its own origin localhost.
        url = f"ws://localhost:{self._world.port}"
        self._socket = self._stack.enter_context(
            connect(
                url, origin=Origin(f"http://localhost:{self._world.port}"), open_timeout=PATIENCE_S
            )
        )
        challenge = self._receive()
        assert (challenge["type"], challenge["event"]) == ("event", "connect.challenge")
        self.hello = self.call("connect", self._connect_params(challenge["payload"]["nonce"]))
        return self

    def __exit__(self, *_exc: object) -> None:
        self._stack.close()

    def call(self, method: str, params: Json) -> Any:  # noqa: ANN401 - whatever JSON holds
        request_id = str(uuid.uuid4())
        frame = {"type": "req", "id": request_id, "method": method, "params": params}
        self._socket.send(json.dumps(frame))
        while True:
            answer = self._receive()
            if answer["type"] == "res" and answer["id"] == request_id:
                break
        if answer["ok"]:
            return answer["payload"]
        error = answer["error"]
        assert isinstance(error["code"], str)
        raise ResponseError(error["code"], error["message"])

    def refused(self, method: str, params: Json) -> tuple[ResponseError, Json]:
        """Return the error of a call, and the whole frame that brought it."""
        with pytest.raises(ResponseError) as caught:
            self.call(method, params)
        return caught.value, self.frames[-1]

    def _receive(self) -> Json:
        frame: Json = json.loads(self._socket.recv(timeout=PATIENCE_S))
        self.frames.append(frame)
        return frame

    def _connect_params(self, nonce: str) -> Json:
        params: Json = {
            "minProtocol": self._protocol,
            "maxProtocol": self._protocol,
            "client": {"id": CLIENT_ID, "version": "dev", "platform": "MacIntel", "mode": MODE},
            "role": ROLE,
            "scopes": SCOPES,
            "caps": [],
            "userAgent": "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)",
            "locale": "en-US",
        }
        # With a token that a person typed it does not sign; without one it does.
        if self._token:
            return params | {"auth": {"token": self._token}}
        return params | {"device": _device(nonce)}


def _device(nonce: str) -> Json:
    key = Ed25519PrivateKey.generate()
    public = key.public_key().public_bytes_raw()
    device_id, signed_at = hashlib.sha256(public).hexdigest(), time.time_ns() // 1_000_000
    words = ("v2", device_id, CLIENT_ID, MODE, ROLE, ",".join(SCOPES), str(signed_at), "", nonce)

    def text(raw: bytes) -> str:
        return base64.urlsafe_b64encode(raw).decode().rstrip("=")

    return {
        "id": device_id,
        "publicKey": text(public),
        "signature": text(key.sign("|".join(words).encode())),
        "signedAt": signed_at,
        "nonce": nonce,
    }


def conforms(value: object, shape: object, where: str = "$") -> None:
    """Check a value field by field; fields that the client does not know may be there."""
    if isinstance(shape, dict):
        assert isinstance(value, dict), where
        for name, inner in shape.items():
            assert name in value, f"{where}.{name} is missing"
            conforms(value[name], inner, f"{where}.{name}")
    elif isinstance(shape, list):
        assert isinstance(value, list), where
        for number, item in enumerate(value):
            conforms(item, shape[0], f"{where}[{number}]")
    else:
        assert isinstance(shape, type)
        assert isinstance(value, shape), f"{where} is {type(value).__name__}"


@pytest.fixture(scope="module")
def downloads() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory, downloads: Server) -> Iterator[Served]:
    """A world for those who only look."""
    with served(_filled(tmp_path_factory.mktemp("quiet"), downloads)) as running:
        yield running


@pytest.fixture
def world(tmp_path: Path, downloads: Server) -> Iterator[Served]:
    with served(_filled(tmp_path, downloads)) as running:
        yield running


def _filled(folder: Path, downloads: Server) -> Served:
    made = Served(folder)
    made.skill("github")
    made.skill("browser", metadata={"openclaw": {"requires": {"config": ["voice.call"]}}})
    made.skill("apple-notes", metadata={"openclaw": {"os": ["darwin"], "emoji": "🍎"}})
    made.skill("todo", metadata={"openclaw": {"skillKey": "todo-board", "primaryEnv": "TODO_KEY"}})
    url = downloads.serve("/frames", program())
    entry = {"id": "get", "kind": "download", "url": url, "bins": ["frames"], "label": "Get frames"}
    needs = {"requires": {"bins": ["frames"]}, "install": [entry]}
    made.skill("frames", metadata={"openclaw": needs})
    made.configure(skills={"install": {"privateHosts": [downloads.host]}, "allowBundled": []})
    return made


@pytest.mark.parametrize("protocol", [3, 4])
def test_it_is_let_in_with_the_protocol_that_it_speaks(quiet: Served, protocol: int) -> None:
    with Claw3D(quiet, protocol=protocol) as client:
        hello = client.hello

    shape = {
        "type": str,
        "protocol": int,
        "server": {"version": str},
        "features": {"methods": TEXTS, "events": TEXTS},
        "snapshot": {
            "health": {
                "agents": [{"agentId": str, "name": str, "isDefault": FLAG}],
                "defaultAgentId": str,
            },
            "sessionDefaults": {"mainKey": str},
        },
        "auth": {"role": str, "scopes": TEXTS},
        "policy": {"tickIntervalMs": int, "maxPayload": int},
    }
    conforms(hello, shape)
    assert (hello["type"], hello["protocol"]) == ("hello-ok", protocol)
    assert hello["snapshot"]["health"]["agents"]
    assert "operator.admin" in hello["auth"]["scopes"]
    # Without one it takes the gateway for an OpenClaw, which is what we want.
    assert "adapterType" not in hello


def test_without_a_token_its_signature_is_verified_and_it_is_let_in(tmp_path: Path) -> None:
    with served(Served(tmp_path), token="") as bare, Claw3D(bare, token="") as client:
        assert client.hello["type"] == "hello-ok"


def test_a_wrong_token_is_an_answer_that_it_can_show_and_will_not_try_again(quiet: Served) -> None:
    with pytest.raises(ResponseError) as caught, Claw3D(quiet, token=CANARY):
        pass

    # It stops trying by itself where the message speaks of this.
    assert "unauthorized" in caught.value.message.lower()
    assert CANARY not in caught.value.message


def test_a_page_of_another_origin_is_not_let_in(quiet: Served) -> None:
    with pytest.raises(Exception, match="403"):
        connect(quiet.url, origin=Origin("https://evil.example"))


def test_its_first_calls_are_answered(quiet: Served) -> None:
    with Claw3D(quiet) as client:
        config = client.call("config.get", {})
        approvals = client.call("exec.approvals.get", {})
        agents = client.call("agents.list", {})
        status = client.call("status", {})
        models = client.call("models.list", {})

    conforms(config, {"config": dict, "hash": str, "exists": FLAG, "path": str})
    conforms(approvals, {"path": str, "exists": FLAG, "hash": str, "file": {"agents": dict}})
    conforms(agents, {"defaultId": str, "mainKey": str, "agents": [{"id": str, "name": str}]})
    assert [agent["id"] for agent in agents["agents"]] == ["main"]
    conforms(status, {})
    conforms(models, {"models": [{"id": str, "name": str, "provider": str}]})


def test_it_asks_for_the_sessions_of_an_agent_and_for_jobs_that_are_off(quiet: Served) -> None:
    asked = {"agentId": "main", "includeGlobal": False, "includeUnknown": False, "limit": 4}

    with Claw3D(quiet) as client:
        found = client.call("sessions.list", {**asked, "search": "agent:main:main"})
        every = client.call("sessions.list", {"includeGlobal": True, "includeUnknown": True})
        jobs = client.call("cron.list", {"includeDisabled": True})

    shape = {"ts": int, "count": int, "hasMore": FLAG, "defaults": dict, "sessions": [{"key": str}]}
    conforms(found, shape)
    conforms(every, shape)
    # Their page reads this one, and stops where it is not there.
    assert "modelSelectionTarget" in found["defaults"]
    assert jobs["jobs"] == []


@pytest.mark.parametrize("name", ["IDENTITY.md", "AGENTS.md", "SOUL.md", "USER.md", "TOOLS.md"])
def test_a_file_that_tells_an_agent_who_it_is_may_be_missing(quiet: Served, name: str) -> None:
    with Claw3D(quiet) as client:
        found = client.call("agents.files.get", {"agentId": "main", "name": name})

    place = str(quiet.work / name)
    assert (found["agentId"], found["workspace"]) == ("main", str(quiet.work))
    file = found["file"]
    assert (file["name"], file["path"], file["missing"]) == (name, place, True)
    assert "content" not in file


def test_a_file_that_is_there_comes_with_its_text_and_no_other_file_does(world: Served) -> None:
    (world.work / "IDENTITY.md").write_text("- Name: Zed\n", encoding="utf-8")
    (world.home / "secret.md").write_text("secret", encoding="utf-8")
    (world.work / "SOUL.md").symlink_to(world.home / "secret.md")

    with Claw3D(world) as client:
        file = client.call("agents.files.get", {"agentId": "main", "name": "IDENTITY.md"})["file"]
        link = client.call("agents.files.get", {"agentId": "main", "name": "SOUL.md"})["file"]
        other, _ = client.refused("agents.files.get", {"agentId": "main", "name": "../x.md"})
        ghost, _ = client.refused("agents.files.get", {"agentId": "ghost", "name": "SOUL.md"})

    assert (file["missing"], file["size"], file["content"]) == (False, 12, "- Name: Zed\n")
    assert isinstance(file["updatedAtMs"], int)
    assert (link["missing"], "content" in link) == (True, False)
    assert (other.code, ghost.code) == ("INVALID_REQUEST", "INVALID_REQUEST")


def test_its_helper_removes_a_skill_with_a_way_back_and_leaves_no_agent(world: Served) -> None:
    stamp = "1794839741877"
    with Claw3D(world) as client:
        report = client.call("skills.status", {"agentId": "main"})
        skill = next(one for one in report["skills"] if one["name"] == "github")
        name = f"Skill Remover {stamp}"
        made = client.call("agents.create", {"name": name, "workspace": report["workspaceDir"]})
        _write(client, lambda config: _with_agent(config, made["agentId"]))
        sent = client.call("chat.send", _removal(made["agentId"], skill["baseDir"]))
        ended = client.call("agent.wait", {"runId": sent["runId"], "timeoutMs": 60_000})
        left = client.call("config.get", {})["config"]
        names = [one["name"] for one in client.call("skills.status", {})["skills"]]
        (trashed,) = client.call("skills.trash", {})["removed"]
        client.call("skills.restore", {"id": trashed["id"]})

    assert (made["ok"], made["agentId"]) == (True, f"skill-remover-{stamp}")
    assert ended == {"runId": sent["runId"], "status": "ok"}
    assert "github" not in names
    assert "skill-remover" not in json.dumps(left)
    assert (world.work / "skills" / "github" / "SKILL.md").is_file()


def test_its_helper_removes_nothing_that_is_no_skill_of_ours(world: Served) -> None:
    outside = world.home / "precious"
    outside.mkdir()
    (outside / "SKILL.md").write_text("---\nname: precious\n---\n", encoding="utf-8")
    with Claw3D(world) as client:
        made = client.call("agents.create", {"name": "Skill Remover 1794839741878"})
        for target in (str(outside), str(world.work / "skills"), "/", ""):
            error, _ = client.refused("chat.send", _removal(made["agentId"], target))
            assert "nothing was removed" in error.message
        bundled = next(one for one in client.call("skills.status", {})["skills"] if one["bundled"])
        error, _ = client.refused("chat.send", _removal(made["agentId"], bundled["baseDir"]))

    assert error.code == "INVALID_REQUEST"
    assert (outside / "SKILL.md").is_file()


def test_other_agents_and_messages_get_an_answer_that_its_page_can_show(quiet: Served) -> None:
    with Claw3D(quiet) as client:
        agent, _ = client.refused("agents.create", {"name": "Helper", "workspace": "/x"})
        chat, _ = client.refused("chat.send", {"sessionKey": "agent:main:main", "message": "hi"})
        run, _ = client.refused("agent.wait", {"runId": "x"})

    assert "config" in agent.message
    assert "runs no agents" in chat.message
    assert (chat.code, run.code) == ("INVALID_REQUEST", "INVALID_REQUEST")


def _removal(agent_id: str, folder: str) -> Json:
    """Return the message of its helper; it says more, in lines of their own."""
    message = f'Delete one skill.\nTarget directory: {json.dumps(folder)}\nAllowed root: "/"\n'
    key = f"agent:{agent_id}:main"
    return {"sessionKey": key, "message": message, "deliver": False, "idempotencyKey": "k"}


def _with_agent(config: Json, agent_id: str) -> Json:
    agents = config.get("agents", {})
    entry = {"id": agent_id, "tools": {"alsoAllow": ["group:fs"]}}
    return {**config, "agents": {**agents, "list": [*agents.get("list", []), entry]}}


def test_its_reload_mode_is_taken_and_kept(world: Served) -> None:
    with Claw3D(world) as client:
        _write(client, lambda config: config | {"gateway": {"reload": {"mode": "hot"}}})

        assert client.call("config.get", {})["config"]["gateway"] == {"reload": {"mode": "hot"}}


def test_the_report_has_every_field_that_its_panels_read(quiet: Served) -> None:
    with Claw3D(quiet) as client:
        report = client.call("skills.status", {"agentId": "main"})

    conforms(report, REPORT)
    skills = {skill["name"]: skill for skill in report["skills"]}
    assert {option["kind"] for one in report["skills"] for option in one["install"]} <= KINDS
    # These it knows how to group, and these two it offers to remove.
    assert {skill["source"] for skill in report["skills"]} <= {
        "openclaw-workspace",
        "openclaw-bundled",
    }
    assert skills["apple-notes"]["missing"]["os"] == ["darwin"]
    assert skills["apple-notes"]["emoji"] == "🍎"
    assert (skills["todo"]["skillKey"], skills["todo"]["primaryEnv"]) == ("todo-board", "TODO_KEY")
    assert skills["frames"]["missing"]["bins"] == ["frames"]
    assert skills["frames"]["install"] == [
        {"id": "get", "kind": "download", "label": "Get frames", "bins": ["frames"]}
    ]
    assert skills["browser"]["configChecks"] == [{"path": "voice.call", "satisfied": False}]


def test_an_agent_that_is_unknown_is_refused_by_its_name(quiet: Served) -> None:
    with Claw3D(quiet) as client:
        error, _ = client.refused("skills.status", {"agentId": "ghost"})

    assert (error.code, error.message) == ("INVALID_REQUEST", 'unknown agent id "ghost"')


def test_its_toggle_survives_another_writer(world: Served) -> None:
    with Claw3D(world) as client, Claw3D(world) as other:
        tries = _toggle(client, "browser", meanwhile=[lambda: _rename(other, "Elsewhere")])

        config = client.call("config.get", {})["config"]
        report = client.call("skills.status", {"agentId": "main"})

    assert tries == 2
    agent = config["agents"]["list"][0]
    # What the other one wrote, and what the toggle wrote.
    assert agent["name"] == "Elsewhere"
    assert "browser" not in agent["skills"]
    assert "github" in agent["skills"]
    assert world.config()["skills"]["install"]
    blocked = {skill["name"]: skill["blockedByAgentFilter"] for skill in report["skills"]}
    assert (blocked["browser"], blocked["github"]) == (True, False)


def test_its_toggle_gives_up_after_the_second_conflict(world: Served) -> None:
    with Claw3D(world) as client, Claw3D(world) as other:
        busy = [lambda: _rename(other, "One"), lambda: _rename(other, "Two")]

        with pytest.raises(ResponseError, match="config changed since last load") as caught:
            _toggle(client, "browser", meanwhile=busy)

    assert caught.value.code == "INVALID_REQUEST"
    assert world.config()["agents"]["list"] == [{"id": "main", "name": "Two"}]


def test_a_file_that_does_not_exist_yet_needs_no_hash(tmp_path: Path) -> None:
    fresh = Served(tmp_path)
    with served(fresh) as running:
        running.config_file.unlink()

        with Claw3D(running) as client:
            assert client.call("config.get", {})["exists"] is False
            _write(client, lambda config: config | {"agents": {"list": [{"id": "main"}]}})

    assert fresh.config() == {"agents": {"list": [{"id": "main"}]}}


def test_a_hash_is_asked_for_in_words_that_it_retries_on(quiet: Served) -> None:
    with Claw3D(quiet) as client:
        error, _ = client.refused("config.set", {"raw": "{}"})

    assert error.code == "INVALID_REQUEST"
    assert error.message.startswith("config base hash required")
    assert STALE.search(error.message)


def test_a_patch_is_retried_with_a_new_hash_alone(world: Served) -> None:
    with Claw3D(world) as client, Claw3D(world) as other:
        old = client.call("config.get", {})["hash"]
        _rename(other, "Elsewhere")
        raw = json.dumps({"agents": {"list": [{"id": "main", "skills": ["github"]}]}}, indent=2)

        error, _ = client.refused("config.patch", {"raw": raw, "baseHash": old})
        new = client.call("config.get", {})["hash"]
        written = client.call("config.patch", {"raw": raw, "baseHash": new})

    assert STALE.search(error.message)
    assert written["ok"] is True
    agent = {"id": "main", "name": "Elsewhere", "skills": ["github"]}
    assert world.config()["agents"]["list"] == [agent]


def test_system_setup_switches_a_skill_by_its_key(world: Served) -> None:
    with Claw3D(world) as client:
        off = client.call("skills.update", {"skillKey": "todo-board", "enabled": False})
        report = client.call("skills.status", {"agentId": "main"})
        on = client.call("skills.update", {"skillKey": "todo-board", "enabled": True})

    conforms(off, {"ok": FLAG, "skillKey": str, "config": dict})
    assert (off["ok"], off["skillKey"], off["config"]) == (True, "todo-board", {"enabled": False})
    assert {skill["name"]: skill["disabled"] for skill in report["skills"]}["todo"] is True
    assert on["config"] == {"enabled": True}


def test_system_setup_saves_a_key_that_nobody_sees_again(world: Served) -> None:
    with Claw3D(world) as client:
        saved = client.call("skills.update", {"skillKey": "todo-board", "apiKey": f" {CANARY}\r\n"})
        # Its toggle sends back the whole config with the markers that it got.
        _toggle(client, "github")
        seen = json.dumps(client.frames)

    assert saved["ok"] is True
    assert CANARY not in seen
    assert world.config()["skills"]["entries"]["todo-board"]["apiKey"] == CANARY


def test_system_setup_installs_what_a_skill_needs(world: Served) -> None:
    with Claw3D(world) as client:
        asked = {"name": "frames", "installId": "get", "timeoutMs": 120_000}
        result = client.call("skills.install", asked)
        report = client.call("skills.status", {"agentId": "main"})

    conforms(result, INSTALLED)
    assert (result["ok"], result["message"], result["code"]) == (True, "Installed", 0)
    assert {skill["name"]: skill["eligible"] for skill in report["skills"]}["frames"] is True


def test_an_install_that_fails_answers_with_an_error_and_with_its_output(
    world: Served, downloads: Server
) -> None:
    downloads.answers.clear()

    with Claw3D(world) as client:
        error, frame = client.refused("skills.install", {"name": "frames", "installId": "get"})
        unknown, _ = client.refused("skills.install", {"name": "frames", "installId": "nothing"})

    conforms(frame["payload"], INSTALLED)
    assert frame["payload"]["ok"] is False
    assert (error.code, error.message) == ("UNAVAILABLE", frame["payload"]["message"])
    assert unknown.code == "UNAVAILABLE"
    assert "nothing" in unknown.message


@pytest.mark.parametrize(
    ("method", "params", "field"),
    [
        ("skills.update", {"skillKey": "todo-board", "enabled": "yes"}, "enabled"),
        ("skills.update", {"enabled": True}, "skillKey"),
        ("skills.install", {"name": "frames"}, "installId"),
        ("skills.install", {"name": "frames", "installId": "get", "timeoutMs": 10}, "timeoutMs"),
        ("skills.status", {"agent": "main"}, "agent"),
        ("config.set", {"raw": "{}", "hash": "x"}, "hash"),
    ],
)
def test_what_is_wrong_with_a_request_is_named(
    quiet: Served, method: str, params: Json, field: str
) -> None:
    with Claw3D(quiet) as client:
        error, _ = client.refused(method, params)

    assert error.code == "INVALID_REQUEST"
    assert error.message.startswith(f"invalid {method} params: ")
    assert field in error.message


def _toggle(client: Claw3D, name: str, meanwhile: list[Callable[[], None]] | None = None) -> int:
    """Take a skill from an agent that may use all, as the Skills tab does; return the tries."""
    skills = client.call("skills.status", {"agentId": "main"})["skills"]
    names = {skill["name"] for skill in skills if not skill["missing"]["os"]} - {name}

    def change(config: Json) -> Json:
        agents = config.get("agents", {})
        listed = agents.get("list", [])
        found = next((one for one in listed if one["id"] == "main"), {"id": "main"})
        others = [one for one in listed if one["id"] != "main"]
        entry = {**found, "skills": sorted(names)}
        return {**config, "agents": {**agents, "list": [entry, *others]}}

    return _write(client, change, meanwhile)


def _write(
    client: Claw3D,
    change: Callable[[Json], Json],
    meanwhile: list[Callable[[], None]] | None = None,
) -> int:
    """Read, change and write the config, once more after a conflict; return how often."""
    for attempt in (1, 2):
        snapshot = client.call("config.get", {})
        params = {"raw": json.dumps(change(snapshot["config"]), indent=2)}
        if snapshot["exists"] is not False:
            params["baseHash"] = snapshot["hash"].strip()
        if meanwhile:
            meanwhile.pop(0)()
        try:
            client.call("config.set", params)
        except ResponseError as error:
            if attempt == 2 or not STALE.search(error.message):
                raise
        else:
            return attempt
    raise AssertionError


def _rename(client: Claw3D, name: str) -> None:
    def change(config: Json) -> Json:
        return {**config, "agents": {"list": [{"id": "main", "name": name}]}}

    _write(client, change)
