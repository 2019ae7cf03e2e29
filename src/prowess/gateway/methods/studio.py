"""The methods that the studio asks beside those of every client: sources, days, saved tests.

What people wrote in their sessions leaves the gateway only for a client that may do everything and
asks for it.
"""

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
    rpc,
)
from prowess.gateway.methods import params as given
from prowess.gateway.methods.services import Services
from prowess.runtime.harness.budget import Budgets
from prowess.runtime.library import Libraries
from prowess.runtime.sessions import MissedActivations
from prowess.runtime.usage import activity
from prowess.wire import experience as wire_sessions
from prowess.wire import sharing as wire_sharing
from prowess.wire import studio as wire_studio

_MOST_CHANGES = 200
_MOST_MISSED = 200
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


class StudioMethods:
    """The answers, over one set of services."""

    def __init__(self, services: Services, studio: StudioServices) -> None:
        self._services, self._studio = services, studio

    @rpc("skills.sources", ClientScope.READ, given.AgentParams)
    def sources(self, call: RpcCall) -> Json:
        """Every source with what it holds."""
        return wire_studio.library(self._studio.libraries.shown(call.params.agent_id))

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

    @rpc("sessions.missed", ClientScope.READ, given.MissedParams, slow=True)
    def missed(self, call: RpcCall) -> Json:
        """Skills that were not used in time."""
        asked = call.params
        if asked.reveal and ClientScope.ADMIN not in call.client.scopes:
            message = (
                f"missing scope: {ClientScope.ADMIN.value}: it is needed to see what people wrote"
            )
            raise RpcError(Code.FORBIDDEN, message, {"missingScope": ClientScope.ADMIN.value})
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
