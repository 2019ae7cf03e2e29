"""How many modules a thing passes through, from end to end.

    python tools/walks.py [--json]

A walk is done for real in a world of its own, and every function of Prowess that is called on the
way is noted with its module: what a reader would have to open to follow it. Loading a module is no
call. Surfaces that keep a process (gateway, MCP, warm hook) are warm before the walk begins. Prompt
and routes find what an earlier process kept: the scanner's reports, and for routes what the skills
said and the index.
"""

import argparse
import asyncio
import io
import json
import os
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, redirect_stdout
from http.client import HTTPConnection
from pathlib import Path
from types import FrameType

from mcp import Client

import prowess
from prowess.cli.main import main as terminal
from prowess.gateway.server import gateway_server
from prowess.host.harness.hook_socket import HookQuestion
from prowess.mcp.server import Answers, build_server
from prowess.runtime.route.answer import Caller, Surface
from prowess.wiring.hook import WarmHooks
from prowess.wiring.library import open_runtime
from prowess.wiring.mcp import open_service
from prowess.wiring.serve import ServeRequest, listening, open_gateway

_PACKAGE = str(Path(prowess.__file__).parent) + os.sep
# It names the skill: a hook speaks up only where it is nearly certain.
_MESSAGE = "use release-notes to write the release notes for this version"
_CORRECTION = "ok, next time make sure to verify that the GIF has several frames"
_TOKEN = "walks"  # noqa: S105 - of a gateway that lives for a walk
_SKILL = """---
name: release-notes
description: Writes release notes. Use when a version is released or notes are wanted.
---

# Release notes

Read the log since the last tag, then write one line for each change.
"""
# As many as somebody has for whom it is worth while to keep what they said.
_MORE_SKILLS = 24
_CONFIG = {
    "skills": {"routing": {"encoder": "none"}},
    "plugins": {"entries": {"skill-workshop": {"enabled": True, "config": {}}}},
}


class Walk:
    """The modules and functions that were passed through while it was on."""

    def __init__(self) -> None:
        self.functions: set[tuple[str, str]] = set()
        self._is_on = False
        # For each thread, how many modules it is loading, one inside the other.
        self._loading: Counter[int] = Counter()

    @property
    def modules(self) -> list[str]:
        """The modules, in the order of their names."""
        return sorted({module for module, _ in self.functions})

    def note(self, frame: FrameType, event: str, _argument: object) -> None:
        """Note one call; the signature is that of `sys.setprofile`."""
        code = frame.f_code
        if not code.co_filename.startswith(_PACKAGE):
            return
        if code.co_name == "<module>":
            self._loading[threading.get_ident()] += {"call": 1, "return": -1}.get(event, 0)
        elif event == "call" and self._is_on and not self._loading[threading.get_ident()]:
            self.functions.add((code.co_filename[len(_PACKAGE) : -3], code.co_qualname))

    @contextmanager
    def on(self) -> Iterator[None]:
        """Note every call of any thread meanwhile."""
        self._is_on = True
        try:
            yield
        finally:
            self._is_on = False


def _on_terminal(walk: Walk, *words: str) -> None:
    with walk.on(), redirect_stdout(io.StringIO()):
        terminal(list(words))


def _prompt(walk: Walk, work: Path) -> None:
    # The walk begins with the text, so nobody has kept what it says.
    shutil.rmtree(work.parent / "state" / "catalogs")
    with walk.on():
        _check("release-notes" in prowess.open(workspace=str(work)).skills.prompt().text)


def _scan(walk: Walk, work: Path) -> None:
    _on_terminal(walk, "scan", str(work / "skills" / "release-notes"))


def _correction(walk: Walk, work: Path) -> None:
    told = work / "turns.jsonl"
    lines = [
        {"role": "user", "content": "make a GIF of it"},
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": _CORRECTION},
    ]
    told.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    _on_terminal(walk, "workshop", "capture", str(told), "--workspace", str(work))


def _visit(work: Path) -> None:
    """Be there once, as an earlier process was."""
    # Files that changed within the last second are not kept.
    time.sleep(1.1)
    with redirect_stdout(io.StringIO()):
        terminal(["route", _MESSAGE, "--workspace", str(work)])


def _route_terminal(walk: Walk, work: Path) -> None:
    _on_terminal(walk, "route", _MESSAGE, "--workspace", str(work))


def _route_library(walk: Walk, work: Path) -> None:
    with walk.on(), open_runtime(work) as runtime:
        found = runtime.routing.answer(_MESSAGE, Caller(surface=Surface.LIBRARY)).route
        _check(bool(found.matches))


def _route_gateway(walk: Walk, work: Path) -> None:
    request = ServeRequest(token=_TOKEN, port=0, workspace=str(work))
    with closing(open_gateway(request)) as gateway, listening(request) as listener:
        server = gateway_server(gateway.app, gateway.hub, gateway.options)
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            port = listener.getsockname()[1]
            _ask_gateway(port)
            with walk.on():
                _ask_gateway(port)
        finally:
            server.should_exit = True
            thread.join()


def _ask_gateway(port: int) -> None:
    line = HTTPConnection("127.0.0.1", port, timeout=60)
    frame = {"type": "req", "id": "1", "method": "skills.route", "params": {"message": _MESSAGE}}
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {_TOKEN}"}
    line.request("POST", "/rpc", json.dumps(frame), headers)
    _check(json.loads(line.getresponse().read())["ok"])
    line.close()


def _route_mcp(walk: Walk, work: Path) -> None:
    async def ask() -> None:
        answers = Answers(lambda: open_service(runtime, None))
        async with Client(build_server(answers, prowess.__version__)) as client:
            await client.call_tool("find_skills", {"query": _MESSAGE})
            with walk.on():
                await client.call_tool("find_skills", {"query": _MESSAGE})

    with open_runtime(work) as runtime:
        asyncio.run(ask())


def _payload(work: Path) -> bytes:
    fields = {"hook_event_name": "UserPromptSubmit", "prompt": _MESSAGE, "cwd": str(work)}
    fields |= {"session_id": "1", "transcript_path": str(work / "none.jsonl")}
    return json.dumps(fields).encode()


def _route_cold_hook(walk: Walk, work: Path) -> None:
    given, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(_payload(work)), "utf-8")
    try:
        _on_terminal(walk, "hook")
    finally:
        sys.stdin = given


def _route_warm_hook(walk: Walk, work: Path) -> None:
    with open_runtime(work) as runtime:
        desk = WarmHooks(runtime)
        asked = HookQuestion(dict(os.environ), str(work), _payload(work))
        desk.answer(asked)
        with walk.on():
            _check(bool(desk.answer(asked)))
        desk.close()


WALKS: dict[str, Callable[[Walk, Path], None]] = {
    "SKILL.md to prompt (library)": _prompt,
    "route (terminal)": _route_terminal,
    "route (library)": _route_library,
    "route (gateway)": _route_gateway,
    "route (MCP)": _route_mcp,
    "route (cold hook)": _route_cold_hook,
    "route (warm hook)": _route_warm_hook,
    "correction to proposal (terminal)": _correction,
    "scan of a small skill (terminal)": _scan,
}


def _check(done: object) -> None:
    if not done:
        raise SystemExit("a walk did not arrive")


def main() -> int:
    """Do every walk and print its counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="name the modules, as JSON")
    wants = parser.parse_args()
    found: dict[str, Walk] = {}
    for name, go in WALKS.items():
        found[name] = walk = Walk()
        threading.setprofile(walk.note)
        sys.setprofile(walk.note)
        with tempfile.TemporaryDirectory() as root:
            work = _furnish(Path(root))
            if go not in (_scan, _correction):
                _visit(work)
            go(walk, work)
    if wants.json:
        print(json.dumps({name: walk.modules for name, walk in found.items()}, indent=2))
    else:
        for name, walk in found.items():
            print(f"{name:36} {len(walk.modules):4} modules {len(walk.functions):5} functions")
    return 0


def _furnish(root: Path) -> Path:
    """Make a home, a state folder and a workspace with one skill, and live there."""
    work, state = root / "work", root / "state"
    place = work / "skills" / "release-notes"
    for folder in (place, state):
        folder.mkdir(parents=True)
    (place / "SKILL.md").write_text(_SKILL, encoding="utf-8")
    for number in range(_MORE_SKILLS):
        (work / "skills" / f"more-{number}").mkdir()
        other = _SKILL.replace("release-notes", f"more-{number}").replace("release", "recipe")
        (work / "skills" / f"more-{number}" / "SKILL.md").write_text(other, encoding="utf-8")
    (state / "prowess.json").write_text(json.dumps(_CONFIG), encoding="utf-8")
    os.environ |= {"HOME": str(root), "PROWESS_HOME": str(state)}
    return work


if __name__ == "__main__":
    sys.exit(main())
