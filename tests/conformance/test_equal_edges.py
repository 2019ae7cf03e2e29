"""The same message on every surface: the same skill, and the same rows in the log of uses.

Library, terminal, gateway (a real one, on a socket), MCP, a hook on its own and a hook inside a
gateway are asked one after the other, each in a world of its own that holds the same skills.
"""

import json
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path

import pytest
from mcp_types import TextContent
from tests.integration.served_world import TOKEN, Served, served

from prowess.agents import call_tool
from prowess.host.harness.hook_socket import HookQuestion
from prowess.mcp.service import McpService
from prowess.runtime.route.answer import Asked, Caller, Surface
from prowess.runtime.run import Run
from prowess.wire import routing as wire_routing
from prowess.wiring.hook import WarmHooks
from prowess.wiring.library import open_runtime
from prowess.wiring.mcp import open_service
from prowess.wiring.state import USAGE_FILE

from .connect_bench import hooked, two_skills, words_only
from .world import NO_SUCH_BIN, Json, World, odd_names, piped, requires

FITS = "please fill in the tax form pdf for me"
NOTHING = "good morning, how are you today?"
NOT_READY = "bake a sourdough bread in the oven"
SWITCHED_OFF = "repair the brakes of my bicycle"
HIDDEN = "water the tomato plants in the greenhouse"
PAGE = "Weigh the fields first.\n"
# Which skill a message was routed to, if any.
Fit = str | None
Ask = Callable[[str], Fit]


def furnish(world: World, **more: object) -> World:
    """Write the same skills into every world: ready, not ready, switched off and hidden."""
    config = words_only(**more)
    config["skills"]["entries"] = {"bike-repair": {"enabled": False}}
    world.config(config)
    two_skills(world)
    world.file(world.skills / "pdf-forms" / "references" / "fields.md", PAGE)
    bread = "Bakes bread. Use to bake a sourdough bread in the oven."
    world.skill("bread-baker", description=bread, metadata=requires(bins=[NO_SUCH_BIN]))
    bike = "Repairs bicycles. Use to repair the brakes of a bicycle."
    world.skill("bike-repair", description=bike)
    plants = "Waters plants. Use to water the tomato plants in the greenhouse."
    world.skill("plants", description=plants, disable_model_invocation=True)
    return world


@contextmanager
def library(world: World) -> Iterator[Ask]:
    with running(world) as run:
        yield lambda message: _first([one.skill.name for one in run.route(message).matches])


@contextmanager
def terminal(world: World) -> Iterator[Ask]:
    yield lambda message: _of_wire(world.document("route", message))


@contextmanager
def gateway(world: World) -> Iterator[Ask]:
    with calling(world) as call:
        yield lambda message: _of_wire(call("skills.route", message=message))


@contextmanager
def mcp(world: World) -> Iterator[Ask]:
    with serving_mcp(world) as service:
        yield lambda message: _of_words(tool(service, "find_skills", query=message))


@contextmanager
def agents(world: World) -> Iterator[Ask]:
    with running(world) as run:
        yield lambda message: _of_words(call_tool(run, "find_skills", {"query": message}))


@contextmanager
def cold_hook(world: World) -> Iterator[Ask]:
    yield lambda message: _of_hook(hooked(world, _payload(world, message)).out)


@contextmanager
def warm_hook(world: World) -> Iterator[Ask]:
    with open_runtime(world.workspace, environ=world.env()) as runtime:
        desk = WarmHooks(runtime)

        def ask(message: str) -> Fit:
            raw = json.dumps(_payload(world, message)).encode()
            said = desk.answer(HookQuestion(world.env(), str(world.workspace), raw))
            assert said is not None
            return _of_hook(said)

        yield ask
        desk.close()


SURFACES: tuple[Callable[[World], AbstractContextManager[Ask]], ...] = (
    library,
    terminal,
    gateway,
    mcp,
    agents,
    cold_hook,
    warm_hook,
)


@contextmanager
def calling(world: World, *, news: bool = False) -> Iterator[Callable[..., Json]]:
    """Serve a world on a socket, and ask it over HTTP; with `news` it looks for changes."""
    place = Served(world.root / "served")
    place.home, place.state, place.work = world.home, world.state, world.workspace
    with served(place, environ=world.env(), news=news):

        def call(method: str, **params: object) -> Json:
            line = HTTPConnection("127.0.0.1", place.port, timeout=60)
            frame = {"type": "req", "id": "1", "method": method, "params": params}
            headers = {"Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}"}
            with closing(line):
                line.request("POST", "/rpc", json.dumps(frame), headers)
                found: Json = json.loads(line.getresponse().read())
            assert found["ok"], found
            payload: Json = found["payload"]
            return payload

        yield call


@contextmanager
def serving_mcp(world: World) -> Iterator[McpService]:
    with open_runtime(world.workspace, environ=world.env()) as runtime:
        yield open_service(runtime, None)


@contextmanager
def running(world: World) -> Iterator[Run]:
    runtime = open_runtime(world.workspace, environ=world.env())
    with runtime, runtime.run(process_wide=False) as run:
        yield run


def tool(service: McpService, name: str, /, **arguments: object) -> str:
    """What a tool says to a client."""
    (content,) = service.tools.call(name, arguments).content
    assert isinstance(content, TextContent)
    return content.text


def uses(world: World) -> tuple[dict[str, tuple[int, int]], int]:
    """Return how often each skill was routed and loaded, and how many messages fitted nothing."""
    path = world.state / USAGE_FILE
    if not path.exists():
        return {}, 0
    with closing(sqlite3.connect(path)) as store:
        totals = store.execute("SELECT skill, agent, routed, loaded FROM totals").fetchall()
        unmatched = store.execute("SELECT COALESCE(SUM(unmatched), 0) FROM days").fetchone()[0]
    assert {agent for _, agent, _, _ in totals} <= {"main"}
    return {skill: (routed, loaded) for skill, _, routed, loaded in totals}, unmatched


def _first(names: list[str]) -> Fit:
    return names[0] if names else None


def _of_wire(route: Json) -> Fit:
    return _first([match["name"] for match in route["matches"]])


def _of_words(text: str) -> Fit:
    if text.startswith(("No skill fits.", "Nothing fits well.")):
        return None
    return _first(re.findall(r"^- (\S+) \(", text, re.MULTILINE))


def _of_hook(said: str) -> Fit:
    context = json.loads(said)["hookSpecificOutput"]["additionalContext"] if said else ""
    return _first(re.findall(r"^- (\S+) \(score", context, re.MULTILINE))


def _payload(world: World, message: str) -> Json:
    return {
        "session_id": "6f1c0000-0000-4000-8000-000000000001",
        "transcript_path": str(world.home / ".claude" / "projects" / "x" / "6f1c.jsonl"),
        "cwd": str(world.workspace),
        "hook_event_name": "UserPromptSubmit",
        "prompt": message,
    }


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path / "world")
    yield made
    made.close()


@pytest.mark.requirement("edges:answer", "edges:usage")
@pytest.mark.parametrize("surface", SURFACES, ids=lambda one: one.__name__)
def test_a_message_is_answered_and_counted_alike(
    world: World, surface: Callable[[World], AbstractContextManager[Ask]]
) -> None:
    furnish(world)

    with surface(world) as ask:
        found = {message: ask(message) for message in (FITS, NOTHING, NOT_READY, SWITCHED_OFF)}

    assert found == {FITS: "pdf-forms", NOTHING: None, NOT_READY: None, SWITCHED_OFF: None}
    assert uses(world) == ({"pdf-forms": (1, 0)}, 3)


@pytest.mark.requirement("edges:answer", "bad:siblings-load")
@pytest.mark.parametrize("surface", SURFACES, ids=lambda one: one.__name__)
def test_a_folder_with_a_name_that_is_no_text_takes_nothing_from_its_siblings(
    world: World, surface: Callable[[World], AbstractContextManager[Ask]]
) -> None:
    furnish(world)
    odd_names(world.skills, world.skills / "pdf-forms")

    with surface(world) as ask:
        assert ask(FITS) == "pdf-forms"


@pytest.mark.requirement("edges:answer", "edges:usage")
@pytest.mark.parametrize("surface", SURFACES, ids=lambda one: one.__name__)
def test_an_agent_with_an_empty_list_is_routed_to_nothing(
    world: World, surface: Callable[[World], AbstractContextManager[Ask]]
) -> None:
    furnish(world, agents={"list": [{"id": "main", "default": True, "skills": []}]})

    with surface(world) as ask:
        assert ask(FITS) is None

    assert uses(world) == ({}, 1)


@pytest.mark.requirement("edges:answer")
@pytest.mark.parametrize(
    "surface", [mcp, agents, cold_hook, warm_hook], ids=lambda one: one.__name__
)
def test_a_skill_that_is_kept_from_the_model_is_named_to_none(
    world: World, surface: Callable[[World], AbstractContextManager[Ask]]
) -> None:
    furnish(world)

    with surface(world) as ask:
        assert ask(HIDDEN) is None
        assert ask("/plants now") is None

    assert "plants" not in uses(world)[0]


@pytest.mark.requirement("edges:withheld")
@pytest.mark.parametrize(
    ("message", "name", "stage", "skills"),
    [
        (NOT_READY, "bread-baker", "eligible", None),
        (SWITCHED_OFF, "bike-repair", "eligible", None),
        (FITS, "pdf-forms", "allowed", []),
        (FITS, None, None, None),
    ],
)
def test_what_fits_and_cannot_be_used_is_named_alike(
    world: World, message: str, name: str | None, stage: str | None, skills: list[str] | None
) -> None:
    own = {} if skills is None else {"skills": skills}
    furnish(world, agents={"list": [{"id": "main", "default": True, **own}]})

    with calling(world) as call:
        by_gateway = call("skills.route", message=message, notReady=True)["notReady"]
    by_terminal = world.document("route", message)["notReady"]
    with open_runtime(world.workspace, environ=world.env()) as runtime:
        caller = Caller(surface=Surface.LIBRARY)
        answer = runtime.routing.answer(message, caller, Asked(withheld=True))

    assert wire_routing.not_ready(answer.withheld) == by_gateway == by_terminal
    assert [(one["name"], one["stage"]) for one in by_terminal] == (
        [] if name is None else [(name, stage)]
    )


@pytest.mark.requirement("edges:tools", "edges:usage")
def test_finding_loading_and_reading_say_the_same_to_every_model(tmp_path: Path) -> None:
    first, second = (furnish(World(tmp_path / name)) for name in ("agents", "mcp"))

    with running(first) as run:
        found = call_tool(run, "find_skills", {"query": FITS})
        loaded = call_tool(run, "read_skill", {"name": "pdf-forms"})
        read = call_tool(run, "read_skill", {"name": "pdf-forms", "path": "references/fields.md"})
        unknown = call_tool(run, "read_skill", {"name": "nowhere"})
        call_tool(run, "read_skill", {"name": "gif-maker", "path": "SKILL.md"})
    with serving_mcp(second) as service:
        page = {"name": "pdf-forms", "path": "references/fields.md"}
        answers = [
            tool(service, "find_skills", query=FITS),
            tool(service, "load_skill", name="pdf-forms"),
            tool(service, "read_skill_file", **page),
            tool(service, "load_skill", name="nowhere"),
        ]
        for start in (0, 5):
            tool(service, "read_skill_file", name="gif-maker", path="SKILL.md", start=start)

    assert read == PAGE
    assert answers[0] == found.replace("read_skill", "load_skill")
    assert answers[1].replace(str(second.root), str(first.root)) == loaded.replace(
        "Files:", "Files, to be read with read_skill_file:"
    )
    assert answers[2:] == [read, unknown]
    assert uses(first) == uses(second) == ({"pdf-forms": (1, 1), "gif-maker": (0, 1)}, 0)


@pytest.mark.requirement("edges:tools")
def test_the_workshop_tells_every_model_of_the_skills_of_its_agent_alone(world: World) -> None:
    listed: list[Json] = [{"id": "main", "default": True}, {"id": "clerk", "skills": ["pdf-forms"]}]
    workshop = {"entries": {"skill-workshop": {"enabled": True}}}
    furnish(world, agents={"list": listed}, plugins=workshop)
    change = {"section": "Workflow", "body": "Take a dozen frames.\n"}
    suggest: Json = {"action": "suggest", "skillName": "gif-maker", **change}
    asked: tuple[Json, ...] = (
        {"action": "list_pending"},
        {"action": "history"},
        {**suggest, "body": "Take two dozen frames.\n"},
        suggest,
    )

    with world.open() as runtime:
        with runtime.run(process_wide=False) as run:
            call_tool(run, "skill_workshop", suggest)
        with runtime.run(agent="clerk", process_wide=False) as run:
            by_agents = [call_tool(run, "skill_workshop", one) for one in asked]
        service = open_service(runtime, "clerk")
        by_mcp = [tool(service, "skill_workshop", **one) for one in asked]
    # The terminal has no frame around an answer.
    by_terminal = [
        piped(world, json.dumps(one).encode(), "workshop", "tool", "--agent", "clerk").json
        for one in asked
    ]

    assert by_agents == by_mcp
    assert [*map(json.loads, by_agents[:2])] == by_terminal[:2]
    assert "is none of the skills of this agent" in by_agents[2]
    assert by_agents[2:] == [f"Error: {one['error']}" for one in by_terminal[2:]]


@pytest.mark.requirement("edges:usage")
def test_who_only_tries_a_message_out_is_not_counted(world: World) -> None:
    furnish(world)

    with calling(world) as call:
        call("skills.route", message=FITS, dryRun=True)
    world.document("why-not", "pdf-forms", NOTHING)

    assert uses(world) == ({}, 0)


@pytest.mark.requirement("edges:usage")
@pytest.mark.parametrize("surface", SURFACES, ids=lambda one: one.__name__)
def test_a_log_that_cannot_be_written_fails_no_answer(
    world: World, surface: Callable[[World], AbstractContextManager[Ask]]
) -> None:
    furnish(world)
    (world.state / USAGE_FILE).mkdir()

    with surface(world) as ask:
        assert ask(FITS) == "pdf-forms"
        assert ask(NOTHING) is None
