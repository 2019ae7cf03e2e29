"""The methods that the studio asks beside those of every client: sources, days, saved tests.

What people wrote in their sessions leaves the gateway only for a client that may do everything and
asks for it.
"""

import hashlib
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from prowess.evaluation.routing import RoutingTests
from prowess.gateway.calls import (
    ClientScope,
    Code,
    Json,
    Method,
    RpcCall,
    RpcError,
    collect_methods,
    describe_missing,
    rpc,
)
from prowess.gateway.methods import params as given
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
from prowess.skills.text import clean
from prowess.wire import experience as wire_sessions
from prowess.wire import sharing as wire_sharing
from prowess.wire import studio as wire_studio
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

    @rpc("skills.sources", ClientScope.READ, given.SourcesParams)
    def sources(self, call: RpcCall) -> Json:
        """Every source with what it holds."""
        found = self._studio.libraries.shown(call.params.agent_id)
        return wire_studio.library(found, brief=call.params.brief)

    @rpc("skills.file", ClientScope.READ, given.FileParams)
    def file(self, call: RpcCall) -> Json:
        """The text of one file of a skill."""
        asked = call.params
        return wire_studio.skill_file(
            self._studio.libraries.file(asked.name, asked.path, asked.agent_id)
        )

    @rpc("skills.history", ClientScope.READ, given.HistoryParams)
    def history(self, call: RpcCall) -> Json:
        """How a skill became what it is."""
        asked, skills = call.params, self._services.skills
        agent = skills.agent(asked.agent_id).id
        name = skills.find(asked.name, agent).skill.name
        workshop = self._services.workshop()
        found = workshop.history(skill=name, agent_id=agent)
        events = list(found.events)
        while found.more:
            found = workshop.history(skill=name, after=found.cursor, agent_id=agent)
            # The last ones are what people look for.
            events = [*events, *found.events][-_MOST_CHANGES:]
        return wire_studio.history(name, events, found.versions)

    @rpc("skills.activity", ClientScope.READ, given.ActivityParams)
    def activity(self, call: RpcCall) -> Json:
        """What happened, day by day."""
        asked, services = call.params, self._services
        found = activity(services.usage, services.skills, asked.agent_id, asked.days)
        return wire_studio.activity(found)

    @rpc("skills.tests.list", ClientScope.READ)
    def tests(self, call: RpcCall) -> Json:
        """The messages saved as tests."""
        del call
        return wire_studio.routing_tests(self._studio.tests.listed(), self._studio.tests_path)

    @rpc("skills.tests.add", ClientScope.WRITE, given.AddTestParams)
    def add_test(self, call: RpcCall) -> Json:
        """Save a message as a test."""
        asked = call.params
        if asked.name is None and asked.should:
            message = "invalid skills.tests.add params: name: say which skill should be loaded"
            raise RpcError(Code.INVALID_REQUEST, message, {"field": "name"})
        made = self._studio.tests.add(
            asked.message, asked.name or "", should=asked.should, agent_id=asked.agent_id
        )
        return {"test": wire_studio.routing_test(made)}

    @rpc("skills.tests.remove", ClientScope.WRITE, given.RemoveTestParams)
    def remove_test(self, call: RpcCall) -> Json:
        """Forget a test."""
        return {"removed": self._studio.tests.remove(call.params.id)}

    @rpc("skills.tests.run", ClientScope.READ, given.AgentParams, slow=True)
    def run_tests(self, call: RpcCall) -> Json:
        """Route every saved message."""
        agent = self._services.skills.agent(call.params.agent_id).id
        runs = self._studio.tests.run(agent)
        problem = self._services.routing().degraded if runs else ""
        return wire_studio.test_runs(runs, agent, problem)

    @rpc("skills.costs", ClientScope.READ, given.CostsParams, slow=True)
    def costs(self, call: RpcCall) -> Json:
        """What the lists of skills cost."""
        asked, skills = call.params, self._services.skills
        agents = [one.id for one in skills.settings.agents]
        chosen = agents if asked.agent_id is None else [skills.agent(asked.agent_id).id]
        left_out = frozenset() if asked.entries else _DETAILS
        reports = [self._studio.budgets.report(agent, None, asked.window) for agent in chosen]
        return {
            "window": asked.window,
            "agents": [
                {
                    "agentId": report.agent_id,
                    "whole": report.is_whole,
                    "harnesses": [
                        _without(wire_sharing.harness_budget(one), left_out)
                        for one in report.harnesses
                    ],
                }
                for report in reports
            ],
        }

    @rpc("skills.listed", ClientScope.READ, given.ListedParams, slow=True)
    def listed(self, call: RpcCall) -> Json:
        """The skills that one harness lists in an agent's workspace, by name."""
        asked = call.params
        report = self._studio.budgets.report(asked.agent_id, asked.harness)
        names = {clean(one.skill.name) for one in report.harnesses[0].entries}
        return {"agentId": report.agent_id, "harness": asked.harness, "names": sorted(names)}

    @rpc("skills.recent", ClientScope.READ, given.RecentParams)
    def recent(self, call: RpcCall) -> Json:
        """What was routed a moment ago, without a word of any message."""
        return {"routes": self._studio.routes.listed(call.params.minutes)}

    @rpc("skills.map", ClientScope.READ, given.AgentParams, slow=True)
    def map(self, call: RpcCall) -> Json:
        """Where skills stand by what they mean, on a plane, and which are hard to tell apart."""
        routing = self._services.routing()
        agent = self._services.skills.agent(call.params.agent_id).id
        return wire_studio.skill_map(agent, routing.index(agent), routing.degraded)

    @rpc("harness.list", ClientScope.READ, slow=True)
    def harnesses(self, call: RpcCall) -> Json:
        """Every harness: connected or not, its last call, how long calls take."""
        del call
        found = self._studio.harnesses()
        return {"harnesses": [wire_studio.harness_health(one) for one in found]}

    @rpc("harness.plan", ClientScope.READ, given.HarnessParams, slow=True)
    def plan(self, call: RpcCall) -> Json:
        """What connecting a harness, or taking it out, would change."""
        return self._plan(call)[1]

    @rpc("harness.connect", ClientScope.ADMIN, given.HarnessParams, slow=True)
    def connect(self, call: RpcCall) -> Json:
        """Connect a harness, or take it out: exactly what the plan said."""
        plan, shown = self._plan(call)
        if call.params.plan != shown["plan"]:
            message = "the files are not as the plan had them: look at harness.plan again"
            raise RpcError(Code.INVALID_REQUEST, message, {"field": "plan"})
        written = self._studio.connecting().apply(plan)
        return {**shown, **wire_studio.connection(plan, {}, written)}

    def _plan(self, call: RpcCall) -> tuple[ConnectPlan, Json]:
        asked = call.params
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

    @rpc("sessions.missed", ClientScope.READ, given.MissedParams, slow=True)
    def missed(self, call: RpcCall) -> Json:
        """Skills that were not used in time."""
        asked = call.params
        if asked.reveal and ClientScope.ADMIN not in call.client.scopes:
            message = (
                f"missing scope: {ClientScope.ADMIN.value}: it is needed to see what people wrote"
            )
            raise RpcError(Code.FORBIDDEN, message, describe_missing(ClientScope.ADMIN))
        kept = self._studio.missed.of(asked.days, fresh=asked.fresh)
        shown = wire_sessions.report(kept.report)
        found = shown["missed"]
        if not asked.reveal:
            found = [wire_studio.masked(one) for one in found[:_MOST_MISSED]]
        return {
            **{key: shown[key] for key in ("since", "skills", "skipped", "notes")},
            "madeAt": wire_sessions.moment(kept.made_ms),
            "revealed": asked.reveal,
            "sessions": len(kept.report.sessions),
            "prompts": sum(len(one.turns) for one in kept.report.sessions),
            "corrected": kept.report.corrections,
            "problems": len(kept.report.problems),
            "total": len(kept.report.missed),
            "missed": found[:_MOST_MISSED],
        }


def _without(shown: Json, names: frozenset[str]) -> Json:
    return {key: value for key, value in shown.items() if key not in names}


def studio_methods(services: Services, studio: StudioServices) -> tuple[Method, ...]:
    """Return the methods of the studio."""
    return collect_methods(StudioMethods(services, studio))
