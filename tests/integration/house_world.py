"""A gateway with every real method, for agents that may each have a workspace of their own.

`both` asks over WebSocket and over HTTP and makes sure that the answers agree, since one method
table stands behind both.
"""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tests.integration.gateway_world import PATIENCE_S, TOKEN, Peer, World, ask, ready

from prowess.gateway.calls import Json
from prowess.gateway.server import gateway_server
from prowess.wiring.serve import ServedGateway, ServeRequest, listening, open_gateway

# Words alone find the skill: loading the encoder would take longer than the tests.
QUICK: Mapping[str, Any] = {"routing": {"encoder": "none"}}
WORKSHOP: Mapping[str, Any] = {"entries": {"skill-workshop": {"enabled": True}}}
# A name that no machine has a program of.
NO_PROGRAM = "prowess-test-tool"


class House:
    """State, home and one default workspace, and skills that a test writes."""

    def __init__(self, root: Path) -> None:
        self.home, self.state, self.work = root / "home", root / "state", root / "work"
        for folder in (self.home, self.state, self.work):
            folder.mkdir(parents=True, exist_ok=True)
        self.gateway: ServedGateway
        self.world: World

    @property
    def config_file(self) -> Path:
        return self.state / "prowess.json"

    def skill(
        self, name: str, body: str = "Do it.", *, within: Path | None = None, **fields: object
    ) -> Path:
        """Write a skill; fields become lines of its frontmatter."""
        page = (within or self.work) / "skills" / name / "SKILL.md"
        page.parent.mkdir(parents=True, exist_ok=True)
        given = {"name": name, "description": f"Does {name}. Use it for {name}."} | fields
        lines = [f"{key}: {json.dumps(value)}" for key, value in given.items()]
        text = "\n".join(["---", *lines, "---", "", f"# {name}", "", body, ""])
        self._place(page, text)
        return page

    def configure(self, **values: Any) -> None:  # noqa: ANN401 - whatever a config holds
        """Write the config; what keeps tests quick is added."""
        skills = {**QUICK, **values.pop("skills", {})}
        text = json.dumps({"plugins": WORKSHOP, **values, "skills": skills}, indent=2)
        self._place(self.config_file, text)
        self.config_file.chmod(0o600)

    def _place(self, path: Path, text: str) -> None:
        """Write a file in one step: who watches it sees no half of it."""
        fresh = self.home / "fresh.tmp"
        fresh.write_text(text, encoding="utf-8")
        fresh.replace(path)

    # Any JSON.
    def config(self) -> Any:  # noqa: ANN401
        """Return what the config file says now."""
        return json.loads(self.config_file.read_text(encoding="utf-8"))

    def rpc(self, method: str, params: Json | None = None) -> tuple[int, Json]:
        """Ask over HTTP; return the status and the response frame."""
        frame: Json = {"type": "req", "id": "h", "method": method}
        if params is not None:
            frame["params"] = params
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        answer = ask(self.world, "POST", "/rpc", json.dumps(frame), headers)
        found: Json = answer.json()
        return answer.status, found

    def both(self, peer: Peer, method: str, params: Json | None = None) -> Json:
        """Ask in both ways for something that changes nothing; return the payload."""
        over_socket, (status, over_http) = peer.call(method, params), self.rpc(method, params)
        assert over_socket["ok"], over_socket
        assert (status, over_http["ok"], over_http["type"]) == (200, True, "res")
        assert _timeless(over_http["payload"]) == _timeless(over_socket["payload"])
        payload: Json = over_socket["payload"]
        return payload

    def refused(self, peer: Peer, method: str, params: Json | None = None) -> Json:
        """Ask in both ways for what cannot be had; return the error."""
        over_socket, (status, over_http) = peer.call(method, params), self.rpc(method, params)
        assert not over_socket["ok"], over_socket
        assert over_http["error"] == over_socket["error"]
        wanted = {"INVALID_REQUEST": 400, "UNAVAILABLE": 503}[over_socket["error"]["code"]]
        assert status == wanted
        error: Json = over_socket["error"]
        return error


def _timeless(payload: Json) -> Json:
    return {key: value for key, value in payload.items() if key not in {"uptimeMs", "tookMs", "ts"}}


@contextmanager
def inhabited(
    house: House,
    *,
    environ: Mapping[str, str] | None = None,
    news: bool = False,
    workspace: bool = True,
) -> Iterator[House]:
    """Serve a house until the block ends; without `workspace` each agent has its own."""
    if not house.config_file.exists():
        house.configure()
    variables = {"PATH": "/usr/bin:/bin", "HOME": str(house.home), **(environ or {})}
    request = ServeRequest(token=TOKEN, port=0, workspace=str(house.work) if workspace else None)
    with ExitStack() as stack:
        gateway = open_gateway(request, home=str(house.state), environ=variables)
        house.gateway = gateway
        stack.callback(gateway.close)
        if news:
            gateway.news.start()
            stack.callback(gateway.news.stop)
        listener = stack.enter_context(listening(request))
        house.world = World(gateway.hub, listener.getsockname()[1])
        server = gateway_server(gateway.app, gateway.hub, gateway.options)
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            yield house
        finally:
            server.should_exit = True
            thread.join(PATIENCE_S)
            assert not thread.is_alive()


@contextmanager
def visited(house: House, **changes: Any) -> Iterator[Peer]:  # noqa: ANN401 - whatever JSON holds
    """Connect a client that may do everything, unless told otherwise."""
    with ready(house.world, **changes) as peer:
        yield peer
