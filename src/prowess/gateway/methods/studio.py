"""The methods that the studio asks beside those of every client: sources, days, saved tests.

What people wrote in their sessions leaves the gateway only for a client that may do everything and
asks for it.
"""

import hashlib
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from prowess.evaluation.routing import RoutingTests
from prowess.gateway.calls import ClientScope, Code, Json, RpcCall, RpcError, describe_missing, rpc
from prowess.gateway.methods import params as given
from prowess.gateway.methods.params import Agent, FilePath, Name, TestMessage
from prowess.gateway.methods.services import Services
from prowess.hooks.harness import Harness
from prowess.hooks.registrations import ConnectScope
from prowess.routing.model import Route
from prowess.runtime.harness.budget import Budgets
from prowess.runtime.harness.connect import Connecting, ConnectPlan, ConnectRequest
from prowess.runtime.harness.doctor import HarnessHealth
from prowess.runtime.library import Libraries
from prowess.runtime.sessions import MissedActivations
from prowess.runtime.usage import activity
from prowess.skills.harness.rules import Reader
from prowess.skills.text import clean
from prowess.wire import experience as wire_sessions
from prowess.wire import sharing as wire_sharing
from prowess.wire import studio as wire_studio
from prowess.wire.skills import pick
from prowess.wire.studio import compare_files

_MOST_CHANGES = 200
_MOST_MISSED = 200
ROUTED, _MOST_ROUTES = "skills.routed", 500
INDEXING = "skills.indexing"
# Long, and of use to those alone who ask for them.
_DETAILS = frozenset(("entries", "hidden"))


@dataclass(frozen=True, slots=True, kw_only=True)
class StudioServices:
    """What these methods call beside what all methods call."""

    libraries: Libraries
    tests: RoutingTests
    # Where the saved tests are, for people who want to run them elsewhere.
    tests_path: str
    budgets: Budgets
    missed: MissedActivations
    harnesses: Callable[[], Sequence[HarnessHealth]]
    connecting: Callable[[], Connecting]
    routes: "RecentRoutes"


class RecentRoutes:
    """The last routes that this process answered, without a word of any message."""

    def __init__(self, tell: Callable[[str, Json], None], now: Callable[[], float]) -> None:
        """Begin without one; `tell` is called with each."""
        self._tell, self._now = tell, now
        self._kept: deque[Json] = deque(maxlen=_MOST_ROUTES)

    def note(self, agent_id: str, surface: str, found: Route) -> None:
        """Keep one that counts, and tell everybody who looks."""
        first = found.matches[0] if found.matches else None
        route = {
            "at": round(self._now() * 1000),
            "agentId": clean(agent_id),
            "surface": surface,
            "kind": found.kind or None,
            "decision": found.decision.value,
            "skill": None if first is None else clean(first.skill.name),
            "score": None if first is None else round(first.score, 3),
        }
        self._kept.append(route)
        self._tell(ROUTED, route)

    def listed(self, minutes: int) -> list[Json]:
        """Return those of the last minutes, the newest first."""
        since = (self._now() - minutes * 60) * 1000
        return [route for route in reversed(tuple(self._kept)) if route["at"] >= since]


class StudioMethods:
    """The answers, over one set of services."""

    def __init__(self, services: Services, studio: StudioServices) -> None:
        self._services, self._studio = services, studio

    @rpc("skills.sources", ClientScope.READ)
    def sources(self, *, brief: bool = False, agent_id: Agent = None) -> Json:
        """Every source with what it holds."""
        found = self._studio.libraries.shown(agent_id)
        return wire_studio.library(found, brief=brief)

    @rpc("skills.file", ClientScope.READ)
    def file(self, name: Name, path: FilePath, agent_id: Agent = None) -> Json:
        """The text of one file of a skill."""
        return wire_studio.skill_file(self._studio.libraries.file(name, path, agent_id))

    @rpc("skills.history", ClientScope.READ)
    def history(self, name: Name, agent_id: Agent = None) -> Json:
        """How a skill became what it is."""
        skills = self._services.skills
        agent = skills.agent(agent_id).id
        name = skills.find(name, agent).skill.name
        workshop = self._services.workshop()
        found = workshop.history(skill=name, agent_id=agent)
        events = list(found.events)
        while found.more:
            found = workshop.history(skill=name, after=found.cursor, agent_id=agent)
            # The last ones are what people look for.
            events = [*events, *found.events][-_MOST_CHANGES:]
        return wire_studio.history(name, events, found.versions)

    @rpc("skills.activity", ClientScope.READ)
    def activity(
        self, days: Annotated[int, Field(ge=1, le=366)] = 14, agent_id: Agent = None
    ) -> Json:
        """What happened, day by day."""
        services = self._services
        found = activity(services.usage, services.skills, agent_id, days)
        return wire_studio.activity(found)

    @rpc("skills.tests.list", ClientScope.READ)
    def tests(self) -> Json:
        """The messages saved as tests."""
        return wire_studio.routing_tests(self._studio.tests.listed(), self._studio.tests_path)

    @rpc("skills.tests.add", ClientScope.WRITE)
    def add_test(
        self,
        message: TestMessage,
        name: Name | None = None,
        *,
        should: bool = True,
        agent_id: Agent = None,
    ) -> Json:
        """Save a message as a test."""
        if name is None and should:
            message = "invalid skills.tests.add params: name: say which skill should be loaded"
            raise RpcError(Code.INVALID_REQUEST, message, {"field": "name"})
        made = self._studio.tests.add(message, name or "", should=should, agent_id=agent_id)
        return {"test": wire_studio.routing_test(made)}

    @rpc("skills.tests.remove", ClientScope.WRITE)
    # The name that clients know.
    def remove_test(self, id: Name) -> Json:  # noqa: A002
        """Forget a test."""
        return {"removed": self._studio.tests.remove(id)}

    @rpc("skills.tests.run", ClientScope.READ, slow=True)
    def run_tests(self, agent_id: Agent = None) -> Json:
        """Route every saved message."""
        agent = self._services.skills.agent(agent_id).id
        runs = self._studio.tests.run(agent)
        problem = self._services.routing().degraded if runs else ""
        return wire_studio.test_runs(runs, agent, problem)

    @rpc("skills.costs", ClientScope.READ, slow=True)
    def costs(
        self,
        window: Annotated[int | None, Field(ge=1_000, le=100_000_000)] = None,
        *,
        # Every description with what becomes of it, and not only how many there are.
        entries: bool = False,
        agent_id: Agent = None,
    ) -> Json:
        """What the lists of skills cost."""
        skills = self._services.skills
        agents = [one.id for one in skills.settings.agents]
        chosen = agents if agent_id is None else [skills.agent(agent_id).id]
        left_out = frozenset() if entries else _DETAILS
        reports = [self._studio.budgets.report(agent, None, window) for agent in chosen]
        return {
            "window": window,
            "agents": [
                {
                    **pick(report, "agent_id is_whole"),
                    "harnesses": [
                        _without(wire_sharing.harness_budget(one), left_out)
                        for one in report.harnesses
                    ],
                }
                for report in reports
            ],
        }

    @rpc("skills.listed", ClientScope.READ, slow=True)
    def listed(self, harness: Reader, agent_id: Agent = None) -> Json:
        """The skills that one harness lists in an agent's workspace, by name."""
        report = self._studio.budgets.report(agent_id, harness)
        names = {clean(one.skill.name) for one in report.harnesses[0].entries}
        return {"agentId": report.agent_id, "harness": harness, "names": sorted(names)}

    @rpc("skills.recent", ClientScope.READ)
    def recent(self, minutes: Annotated[int, Field(ge=1, le=1_440)] = 60) -> Json:
        """What was routed a moment ago, without a word of any message."""
        return {"routes": self._studio.routes.listed(minutes)}

    @rpc("skills.map", ClientScope.READ, slow=True)
    def map(self, agent_id: Agent = None) -> Json:
        """Where skills stand by what they mean, on a plane, and which are hard to tell apart."""
        routing = self._services.routing()
        agent = self._services.skills.agent(agent_id).id
        return wire_studio.skill_map(agent, routing.index(agent), routing.degraded)

    @rpc("harness.list", ClientScope.READ, slow=True)
    def harnesses(self) -> Json:
        """Every harness: connected or not, its last call, how long calls take."""
        found = self._studio.harnesses()
        return {"harnesses": [wire_studio.harness_health(one) for one in found]}

    @rpc("harness.plan", ClientScope.READ, slow=True)
    def plan(self, call: RpcCall, asked: given.HarnessParams) -> Json:
        """What connecting a harness, or taking it out, would change."""
        return self._plan(call, asked)[1]

    @rpc("harness.connect", ClientScope.ADMIN, slow=True)
    def connect(self, call: RpcCall, asked: given.HarnessParams) -> Json:
        """Connect a harness, or take it out: exactly what the plan said."""
        plan, shown = self._plan(call, asked)
        if asked.plan != shown["plan"]:
            message = "the files are not as the plan had them: look at harness.plan again"
            raise RpcError(Code.INVALID_REQUEST, message, {"field": "plan"})
        written = self._studio.connecting().apply(plan)
        return {**shown, **wire_studio.connection(plan, {}, written)}

    def _plan(self, call: RpcCall, asked: given.HarnessParams) -> tuple[ConnectPlan, Json]:
        known = {one.value: one for one in Harness}
        if asked.harness not in known:
            message = f"invalid {call.method} params: harness: must be one of {', '.join(known)}"
            raise RpcError(Code.INVALID_REQUEST, message, {"field": "harness"})
        scope = None if asked.scope is None else ConnectScope(asked.scope)
        request = ConnectRequest(harness=known[asked.harness], scope=scope, remove=asked.remove)
        plan = self._studio.connecting().plan(request)
        files = [file for file in plan.files if file.needed]
        lines = {one.path: compare_files(one.path, one.before, one.after) for one in files}
        shown = wire_studio.connection(plan, lines, None)
        seen = hashlib.sha256(
            repr([(one.path, one.before, one.after) for one in plan.files]).encode()
        )
        return plan, {**shown, "plan": seen.hexdigest()}

    @rpc("sessions.missed", ClientScope.READ, slow=True)
    def missed(
        self,
        call: RpcCall,
        days: Annotated[int, Field(ge=1, le=90)] = 14,
        *,
        # What people wrote, secrets hidden; without it no word of theirs leaves the gateway.
        reveal: bool = False,
        # Reads the sessions again, although they were read a moment ago.
        fresh: bool = False,
    ) -> Json:
        """Skills that were not used in time."""
        if reveal and ClientScope.ADMIN not in call.client.scopes:
            message = (
                f"missing scope: {ClientScope.ADMIN.value}: it is needed to see what people wrote"
            )
            raise RpcError(Code.FORBIDDEN, message, describe_missing(ClientScope.ADMIN))
        kept = self._studio.missed.of(days, fresh=fresh)
        shown = wire_sessions.report(kept.report)
        found = shown["missed"]
        if not reveal:
            found = [wire_studio.masked(one) for one in found[:_MOST_MISSED]]
        return {
            **{key: shown[key] for key in ("since", "skills", "skipped", "notes")},
            "madeAt": wire_sessions.moment(kept.made_ms),
            "revealed": reveal,
            "sessions": len(kept.report.sessions),
            "prompts": sum(len(one.turns) for one in kept.report.sessions),
            "corrected": kept.report.corrections,
            "problems": len(kept.report.problems),
            "total": len(kept.report.missed),
            "missed": found[:_MOST_MISSED],
        }


def _without(shown: Json, names: frozenset[str]) -> Json:
    return {key: value for key, value in shown.items() if key not in names}
