"""The whole gateway as `prowess serve` puts it together, on a port and a state folder of its own.

`gateway_world` has methods that do nothing; here every method is the real one, and so are files.
"""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from prowess.gateway.server import gateway_server
from prowess.wiring.serve import ServedGateway, ServeRequest, listening, open_gateway

TOKEN = "canary-token-41d7e0"  # noqa: S105 - of a gateway that lives for a test
# Words alone find the skill: loading the encoder would take longer than the tests.
QUICK: Mapping[str, object] = {"routing": {"encoder": "none"}}
_STOP_SECONDS = 60


class Served:
    """A home, a state folder, a workspace, and the gateway that serves them."""

    def __init__(self, root: Path) -> None:
        self.home, self.state, self.work = root / "home", root / "state", root / "work"
        for folder in (self.home, self.state, self.work / "skills"):
            folder.mkdir(parents=True, exist_ok=True)
        self.port = 0
        self.gateway: ServedGateway

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/ws"

    @property
    def config_file(self) -> Path:
        return self.state / "prowess.json"

    def skill(self, name: str, description: str = "", **fields: object) -> Path:
        """Write a skill of the workspace; fields become lines of its frontmatter."""
        folder = self.work / "skills" / name
        folder.mkdir(parents=True, exist_ok=True)
        shown: dict[str, object] = {"name": name, "description": description or f"Does {name}."}
        lines = [f"{key}: {json.dumps(value)}" for key, value in (shown | fields).items()]
        page = folder / "SKILL.md"
        text = "\n".join(["---", *lines, "---", "", f"# {name}", "", "Do it.", ""])
        self._place(page, text)
        return page

    def configure(self, **values: object) -> None:
        """Write the config file; what is said about skills is added to what keeps tests quick."""
        given = values.pop("skills", {})
        skills = {**QUICK, **(given if isinstance(given, dict) else {})}
        text = json.dumps({**values, "skills": skills}, indent=2)
        self._place(self.config_file, text)

    def _place(self, path: Path, text: str) -> None:
        """Write a file in one step: who watches it sees no half of it."""
        fresh = self.home / "fresh.tmp"
        fresh.write_text(text, encoding="utf-8")
        fresh.replace(path)

    # Any JSON.
    def config(self) -> Any:  # noqa: ANN401
        """Return what the config file says now."""
        return json.loads(self.config_file.read_text(encoding="utf-8"))


@contextmanager
def served(
    world: Served,
    *,
    token: str = TOKEN,
    environ: Mapping[str, str] | None = None,
    port: int = 0,
    news: bool = False,
) -> Iterator[Served]:
    """Serve a world until the block ends; with `news`, clients are told what changes."""
    if not world.config_file.exists():
        world.configure()
    variables = {"PATH": "/usr/bin:/bin", "HOME": str(world.home)}
    variables |= dict(environ or {})
    request = ServeRequest(token=token, port=port, workspace=str(world.work))
    with ExitStack() as stack:
        world.gateway = open_gateway(request, home=str(world.state), environ=variables)
        stack.callback(world.gateway.close)
        if news:
            world.gateway.news.start()
            stack.callback(world.gateway.news.stop)
        listener = stack.enter_context(listening(request))
        world.port = listener.getsockname()[1]
        server = gateway_server(world.gateway.app, world.gateway.hub, world.gateway.options)
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            yield world
        finally:
            server.should_exit = True
            thread.join(_STOP_SECONDS)
            assert not thread.is_alive()
