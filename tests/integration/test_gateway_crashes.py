"""A gateway that is killed at any moment leaves the old or the new, and the next one starts.

One process loads the gateway and forks: each child is a `prowess serve` of its own that is killed
while it answers. The moments are drawn from a seed, within the time that such an answer takes.
"""

import http.client
import json
import os
import random
import select
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from prowess.wiring import open_runtime

KILLS = 8
# As many gateways start one after the other, which takes its time on a busy machine.
_LONGEST_S = 240.0
ACTIONS = ("config.set", "skills.update", "skills.proposals.apply", "skills.remove")
Json = dict[str, Any]
_LOADED = (
    "prowess.cli.serve",
    "prowess.wiring.serve",
    "prowess.host.sources.watcher",
    "prowess.host.store.sessions",
    "uvicorn.lifespan.on",
    "uvicorn.protocols.http.h11_impl",
    "uvicorn.protocols.websockets.websockets_sansio_impl",
)
# Long enough that writing it takes a while.
_LONG = "x" * 60_000


class Killed:
    """One place, and the gateways that come and go in it."""

    def __init__(self, base: Path) -> None:
        self.state, self.work = base / "state", base / "work"
        self.config, self.page = self.state / "prowess.json", self.work / "skills/alpha/SKILL.md"
        for folder in (self.state, self.page.parent):
            folder.mkdir(parents=True)
        self.page.write_text("---\nname: alpha\ndescription: Does it.\n---\n\n- Step none.\n")
        self.config.write_text(json.dumps(_config("none")))
        self.config.chmod(0o600)
        self._child, self._port = 0, 0

    def start(self) -> None:
        """Fork a gateway, and wait until it answers."""
        reading, writing = os.pipe()
        self._child = os.fork()
        if self._child == 0:
            os.close(reading)
            _become_gateway(self, writing)
        os.close(writing)
        with os.fdopen(reading, "rb") as said:
            line = said.readline()
            assert b"address" in line, line + said.read()
        self._port = int(json.loads(line)["address"].rpartition(":")[2])

    def ask(self, method: str, params: Json) -> Json:
        """Return the payload of an answer."""
        line = self._send(method, params)
        answer: Json = json.loads(line.getresponse().read())
        line.close()
        assert answer["ok"], answer
        payload: Json = answer["payload"]
        return payload

    def kill_during(self, method: str, params: Json, seconds: float) -> bool:
        """Kill the gateway while it answers; return whether it had answered well before.

        Without any seconds it does not even begin, however late this process has its turn.
        """
        if not seconds:
            os.kill(self._child, signal.SIGSTOP)
        line = self._send(method, params)
        readable, _, _ = select.select([line.sock], [], [], seconds)
        self.kill()
        answered = False
        # Half an answer is none.
        with suppress(OSError, ValueError, http.client.HTTPException):
            answered = bool(readable) and json.loads(line.getresponse().read())["ok"]
        line.close()
        return answered

    def kill(self) -> None:
        """Kill the gateway, if one runs."""
        child, self._child = self._child, 0
        if child:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)

    def stop(self) -> int:
        """End the gateway in order, and return its exit code."""
        child, self._child = self._child, 0
        os.kill(child, signal.SIGTERM)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    def _send(self, method: str, params: Json) -> http.client.HTTPConnection:
        frame = {"type": "req", "id": "k", "method": method, "params": params}
        line = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        line.request("POST", "/rpc", json.dumps(frame), {"Content-Type": "application/json"})
        return line


def _become_gateway(place: Killed, writing: int) -> None:
    from prowess.cli.main import main

    code = 1
    try:
        sys.stdout = os.fdopen(writing, "w", encoding="utf-8")
        os.chdir(place.work)
        os.environ["PROWESS_HOME"] = os.environ["HOME"] = str(place.state)
        code = main(["serve", "--port", "0", "--json"])
        sys.stdout.flush()
    # Shown, since nothing above this ever sees it.
    except BaseException:  # noqa: BLE001
        traceback.print_exc()
    finally:
        # Nothing of the process that was forked may run on here.
        os._exit(code)


def _config(mark: str) -> Json:
    return {
        "meta": {"mark": mark, "long": _LONG},
        "plugins": {"entries": {"skill-workshop": {"enabled": True}}},
        "skills": {"routing": {"encoder": "none"}, "entries": {"alpha": {"apiKey": mark}}},
    }


class Deed:
    """One method that writes: how it is asked, and what may be left of it."""

    def __init__(self, place: Killed) -> None:
        self.place = place

    def prepare(self, number: int) -> Json:
        """Return the parameters of the next call; a gateway runs."""
        raise NotImplementedError

    def look(self) -> str:
        """Return whether the old or the new is there; no gateway runs, or a new one does."""
        raise NotImplementedError

    def settle(self, found: str) -> None:
        """Make sure that what is left can be used, with a new gateway."""


class ConfigSet(Deed):
    def prepare(self, number: int) -> Json:
        self.old = json.loads(self.place.config.read_bytes())
        self.new = _config(f"set {number}")
        base = self.place.ask("config.get", {})["hash"]
        return {"raw": json.dumps(self.new), "baseHash": base}

    def look(self) -> str:
        return _old_or_new(json.loads(self.place.config.read_bytes()), self.old, self.new)


class SkillsUpdate(Deed):
    def prepare(self, number: int) -> Json:
        self.old = json.loads(self.place.config.read_bytes())
        self.new = json.loads(self.place.config.read_bytes())
        self.new["skills"]["entries"]["alpha"]["apiKey"] = f"key {number}"
        return {"skillKey": "alpha", "apiKey": f"key {number}"}

    def look(self) -> str:
        return _old_or_new(json.loads(self.place.config.read_bytes()), self.old, self.new)


class Apply(Deed):
    def prepare(self, number: int) -> Json:
        content = f"- Step {number}.\n" + "- More.\n" * 20
        given = {"skillName": "alpha", "content": content}
        shown = self.place.ask("skills.proposals.update", given)
        self.old = self.place.page.read_text()
        self.new = shown["content"]
        self.id = shown["record"]["id"]
        return {"proposalId": self.id, "expectedRevisionHash": shown["revisionHash"]}

    def look(self) -> str:
        return _old_or_new(self.place.page.read_text(), self.old, self.new)

    def settle(self, found: str) -> None:
        shown = self.place.ask("skills.proposals.inspect", {"proposalId": self.id})
        assert shown["record"]["status"] == ("applied" if found == "new" else "pending"), found
        if found == "old":
            seen = {"proposalId": self.id, "expectedRevisionHash": shown["revisionHash"]}
            self.place.ask("skills.proposals.reject", seen)


class Remove(Deed):
    def prepare(self, number: int) -> Json:
        self.text = self.place.page.read_bytes()
        (self.place.page.parent / "more.md").write_text(f"{number}")
        return {"skillKey": "alpha", "source": "openclaw-workspace"}

    def look(self) -> str:
        folder = self.place.page.parent
        if not folder.exists():
            return "new"
        assert self.place.page.read_bytes() == self.text
        assert (folder / "more.md").exists()
        return "old"

    def settle(self, found: str) -> None:
        waiting = self.place.ask("skills.trash", {})["removed"]
        assert len(waiting) == (1 if found == "new" else 0), (found, waiting)
        for one in waiting:
            self.place.ask("skills.restore", {"id": one["id"]})
        assert self.place.page.read_bytes() == self.text
        assert (self.place.page.parent / "more.md").exists()


_DEEDS: dict[str, type[Deed]] = dict(
    zip(ACTIONS, (ConfigSet, SkillsUpdate, Apply, Remove), strict=True)
)


def _old_or_new(found: object, old: object, new: object) -> str:
    assert found in (old, new)
    return "new" if found == new else "old"


def _kill_again_and_again(place: Killed, action: str) -> list[str]:
    # Always the same moments, as far as a clock can tell.
    moments, deed = random.Random(action), _DEEDS[action](place)  # noqa: S311
    place.start()
    params = deed.prepare(-1)
    began = time.perf_counter()
    place.ask(action, params)
    took = time.perf_counter() - began
    deed.settle(deed.look())
    found = []
    for number in range(KILLS):
        params = deed.prepare(number)
        # The first one does not begin, and the last one has all the time that it needs.
        seconds = {0: 0.0, KILLS - 1: _LONGEST_S}.get(number, moments.uniform(0.05, 1.3) * took)
        answered = place.kill_during(action, params, seconds)
        left = deed.look()
        assert left == "new" or not answered, number
        # At once: nothing has to be deleted or waited for.
        place.start()
        assert deed.look() == left, number
        assert place.config.stat().st_mode & 0o777 == 0o600
        deed.settle(left)
        found.append(left)
    assert place.stop() == 0
    assert all(path.stat().st_mode & 0o77 == 0 for path in place.state.glob(".prowess-*.tmp"))
    return found


def _warm_up(base: Path) -> None:
    """Propose something once, so that no child has to load what that takes."""
    place = Killed(base)
    with open_runtime(place.work, home=place.state, environ={}) as runtime:
        wish = {"action": "suggest", "skillName": "alpha", "section": "S", "body": "- Step."}
        runtime.workshop.call(wish)


def kill_all(action: str, folder: str) -> None:
    """Kill gateways during a method that writes, and print what was left."""
    # What children need is loaded once, before there is any of them.
    for name in _LOADED:
        import_module(name)
    _warm_up(Path(folder) / "warm")
    place = Killed(Path(folder) / action)
    try:
        ends = _kill_again_and_again(place, action)
    finally:
        place.kill()
    print(json.dumps(ends))  # noqa: T201 - it is what the tests read


def _ends(action: str) -> list[str]:
    """Return what was left after each kill, from a process of its own: it forks."""
    here = Path(__file__)
    # In memory where there is such a folder: what a killed process wrote is kept there too.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108
    script = (
        f"import sys; sys.path[:0] = [{str(here.parent)!r}]\n"
        "import test_gateway_crashes as crashes\n"
        "crashes.kill_all(*sys.argv[1:])\n"
    )
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        done = subprocess.run(
            [sys.executable, "-c", script, action, folder],
            capture_output=True, text=True, check=False, timeout=_LONGEST_S,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: list[str] = json.loads(done.stdout)
    return found


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")
@pytest.mark.parametrize("action", ACTIONS)
def test_a_gateway_that_is_killed_leaves_the_old_or_the_new(action: str) -> None:
    ends = _ends(action)

    assert len(ends) == KILLS
    assert set(ends) == {"old", "new"}
