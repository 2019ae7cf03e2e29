"""What a client that starts us is told at once, however many skills there are, and where we are."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.integration.mcp_world import McpWorld, inside, said

from prowess.mcp.catalogue import PAGE
from prowess.runtime.ports import ScanPatience
from prowess.skills.model import Skill
from prowess.wiring.library import LARGE, open_runtime

pytestmark = pytest.mark.slow
# Of processor time, whatever else the machine does.
MOST_MS = 200
_TICK_MS = 1_000 / os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 0
needs_proc = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="processor time is read from /proc"
)


class Started:
    """A `prowess mcp` that was started as clients do."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        self.heard: list[str] = []
        self._number = 0

    def ask(self, method: str, **params: object) -> Any:  # noqa: ANN401
        self._number += 1
        self.tell({"id": self._number, "method": method, "params": params})
        while (found := self.read()).get("id") != self._number:
            self.heard.append(found.get("method", ""))
        return found["result"]

    def tell(self, message: dict[str, object]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def read(self) -> Any:  # noqa: ANN401
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "it is gone"
        return json.loads(line)

    def costs(self, method: str) -> tuple[float, Any]:
        """Return how much processor time an answer took, in milliseconds, and the answer."""
        before = self._cpu()
        answer = self.ask(method)
        return self._cpu() - before, answer

    def names(self) -> list[str]:
        """Return the names of all resources, page by page."""
        found: list[str] = []
        cursor: dict[str, str] = {}
        while True:
            page = self.ask("resources/list", **cursor)
            found += [one["name"] for one in page["resources"]]
            if "nextCursor" not in page:
                return found
            cursor = {"cursor": page["nextCursor"]}

    def _cpu(self) -> float:
        stat = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii")
        user, system = stat.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) * _TICK_MS


@contextmanager
def _started(world: McpWorld, folder: Path | None = None) -> Iterator[Started]:
    words = [] if folder else ["--workspace", str(world.work)]
    with subprocess.Popen(
        [sys.executable, "-m", "prowess", "mcp", *words],
        env=world.environ, cwd=folder or world.work,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        try:
            yield Started(process)
        finally:
            process.kill()


def _greet(client: Started) -> Any:  # noqa: ANN401
    hello = client.ask(
        "initialize",
        protocolVersion="2025-11-25",
        capabilities={},
        clientInfo={"name": "test", "version": "1"},
    )
    client.tell({"method": "notifications/initialized"})
    return hello


@pytest.fixture
def world(tmp_path: Path) -> McpWorld:
    return McpWorld(tmp_path)


def _scan_all(world: McpWorld) -> None:
    """Have all skills scanned, and the verdicts kept: those of files of this second are not yet."""
    now = ScanPatience(seconds=0.0, most_ahead=0)
    while _look(world, now):
        _look(world, ScanPatience())


def _look(world: McpWorld, patience: ScanPatience) -> tuple[Skill, ...]:
    place, state = str(world.work), str(world.state)
    with open_runtime(place, home=state, environ=world.environ, patience=patience) as runtime:
        return runtime.skills.snapshot().held


@needs_proc
@pytest.mark.parametrize(
    ("count", "scanned", "named"),
    [(70, False, False), (LARGE + 200, False, True), (70, True, True), (LARGE + 200, True, False)],
)
def test_the_first_lists_cost_little_whatever_the_number_of_skills(
    world: McpWorld, count: int, *, scanned: bool, named: bool
) -> None:
    world.configure(skills={"limits": {"maxSkillsLoadedPerSource": 5_000}})
    for number in range(count):
        world.skill(f"many-{number:04}", f"Does the thing of number {number}.")
    if scanned:
        _scan_all(world)

    # The second is answered before the SDK of the protocol is loaded.
    for _ in range(2):
        with _started(world, None if named else world.work) as client:
            _greet(client)
            if not scanned:
                # Nothing whole is kept yet: the SDK has to be there, which no list can help.
                client.ask("ping")
            tools_ms, tools = client.costs("tools/list")
            listed_ms, _ = client.costs("resources/list")
            names = client.names()

        assert [tool["name"] for tool in tools["tools"]][:1] == ["find_skills"]
        assert tools_ms <= MOST_MS
        assert listed_ms <= MOST_MS
        if scanned:
            assert len(names) == count + 1


def test_a_list_without_what_waits_for_its_scan_is_told_of_once_it_was_scanned(
    world: McpWorld,
) -> None:
    with _started(world) as client:
        _greet(client)
        client.ask("resources/list")
        while "notifications/resources/list_changed" not in client.heard:
            client.heard.append(client.read().get("method", ""))

        assert client.names() == ["alpha"]


@pytest.mark.parametrize(("count", "named"), [(70, False), (LARGE, True)])
def test_a_list_without_what_waits_for_its_scan_is_not_told_to_the_next_client(
    world: McpWorld, count: int, *, named: bool
) -> None:
    for number in range(count):
        world.skill(f"many-{number:04}")
    folder = None if named else world.work
    with _started(world, folder) as client:
        _greet(client)
        early = client.ask("resources/list")
        client.ask("prompts/list")
    _scan_all(world)

    with _started(world, folder) as client:
        _greet(client)

        assert len(early["resources"]) < PAGE
        assert len(client.names()) == count + 1
        assert len(client.ask("prompts/list")["prompts"]) == count + 2


def test_what_an_earlier_list_has_no_more_is_told_as_soon_as_somebody_looked(
    world: McpWorld,
) -> None:
    for number in range(LARGE):
        world.skill(f"many-{number:04}")
    _scan_all(world)
    for path in (world.work / "skills" / "many-0000").iterdir():
        path.unlink()

    with _started(world) as client:
        _greet(client)
        assert "many-0000" in [one["name"] for one in client.ask("resources/list")["resources"]]
        while "notifications/resources/list_changed" not in client.heard:
            client.heard.append(client.read().get("method", ""))

        assert "many-0000" not in client.names()


def test_an_operator_who_takes_a_skill_away_is_obeyed_by_the_very_next_list(
    world: McpWorld,
) -> None:
    for number in range(LARGE):
        world.skill(f"many-{number:04}")
    _scan_all(world)
    world.configure(agents={"list": [{"id": "main", "skills": ["alpha"]}]})

    with _started(world) as client:
        _greet(client)

        assert client.names() == ["alpha"]


def test_the_project_is_found_from_one_of_its_folders(world: McpWorld) -> None:
    inner = world.work / "src" / "deep"
    inner.mkdir(parents=True)
    _scan_all(world)

    with _started(world, inner) as client:
        hello = _greet(client)

        assert client.names() == ["alpha"]
        assert "no project" not in hello["instructions"]


def test_a_server_outside_of_any_project_says_so_and_what_to_set(world: McpWorld) -> None:
    with _started(world, world.home) as client:
        hello = _greet(client)
        client.process.kill()
        assert client.process.stderr is not None
        told = client.process.stderr.read().decode()

    for text in (hello["instructions"], told):
        assert f"started in {world.home}, which is no project" in text
        assert '"--workspace"' in text


def test_what_is_far_below_the_best_is_not_offered(world: McpWorld) -> None:
    world.skill("invoices", "Writes invoices for customers. Use when an invoice is to be written.")
    world.skill("rocket-fuel", "Orders rocket fuel, rocket engines and a launch pad for a rocket.")
    world.skill("weather", "Tells the weather of a place for a customer.")

    found = inside(
        world, lambda client: said(client, "find_skills", query="order rocket fuel and engines")
    )

    assert found.startswith("- rocket-fuel (")
    assert "weather" not in found
    assert "invoices" not in found
