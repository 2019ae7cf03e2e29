"""The methods that the studio asks beside those of every client: sources, days, saved tests.

What people wrote in their sessions leaves the gateway only for a client that may do everything and
asks for it.
"""

from collections.abc import Callable
from dataclasses import dataclass

from prowess.evaluation.routing import RoutingTests
from prowess.gateway.calls import Call, Code, Json, Method, NoParams, Params, RpcError, Scope
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


def studio_methods(services: Services, studio: StudioServices) -> tuple[Method, ...]:
    """Return the methods of the studio."""
    desk = _Desk(services, studio)

    def method(
        name: str, params: type[Params], answer: Callable[[Call], Json], about: str
    ) -> Method:
        # These route many messages, or read many files.
        slow = name in {"skills.tests.run", "skills.costs", "sessions.missed"}
        writes = name in {"skills.tests.add", "skills.tests.remove"}
        scope = Scope.WRITE if writes else Scope.READ
        return Method(name=name, scope=scope, params=params, answer=answer, slow=slow, about=about)

    return (
        method("skills.sources", given.Sources, desk.sources, "Every source with what it holds."),
        method("skills.history", given.History, desk.history, "How a skill became what it is."),
        method("skills.file", given.File, desk.file, "The text of one file of a skill."),
        method("skills.activity", given.Activity, desk.activity, "What happened, day by day."),
        method("skills.tests.list", NoParams, desk.tests, "The messages saved as tests."),
        method("skills.tests.add", given.AddTest, desk.add_test, "Save a message as a test."),
        method("skills.tests.remove", given.RemoveTest, desk.remove_test, "Forget a test."),
        method("skills.tests.run", given.RunTests, desk.run_tests, "Route every saved message."),
        method("skills.costs", given.Costs, desk.costs, "What the lists of skills cost."),
        method("sessions.missed", given.Missed, desk.missed, "Skills that were not used in time."),
    )


class _Desk:
    """The answers, over one set of services."""

    def __init__(self, services: Services, studio: StudioServices) -> None:
        self._services, self._studio = services, studio

    def sources(self, call: Call) -> Json:
        """Return every source of an agent's workspace."""
        return wire_studio.library(self._studio.libraries.shown(call.params.agent_id))

    def file(self, call: Call) -> Json:
        """Return one file of a skill."""
        asked = call.params
        return wire_studio.skill_file(
            self._studio.libraries.file(asked.name, asked.path, asked.agent_id)
        )

    def history(self, call: Call) -> Json:
        """Return what the workshop did to a skill."""
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

    def activity(self, call: Call) -> Json:
        """Return what happened over some days."""
        asked, services = call.params, self._services
        found = activity(services.usage, services.skills, asked.agent_id, asked.days)
        return wire_studio.activity(found)

    def tests(self, call: Call) -> Json:
        """Return the saved tests."""
        del call
        return wire_studio.routing_tests(self._studio.tests.listed(), self._studio.tests_path)

    def add_test(self, call: Call) -> Json:
        """Save a message as a test."""
        asked = call.params
        if asked.name is None and asked.should:
            message = "invalid skills.tests.add params: name: say which skill should be loaded"
            raise RpcError(Code.INVALID_REQUEST, message, {"field": "name"})
        made = self._studio.tests.add(
            asked.message, asked.name or "", should=asked.should, agent_id=asked.agent_id
        )
        return {"test": wire_studio.routing_test(made)}

    def remove_test(self, call: Call) -> Json:
        """Forget a test."""
        return {"removed": self._studio.tests.remove(call.params.id)}

    def run_tests(self, call: Call) -> Json:
        """Route every saved message as an agent would."""
        agent = self._services.skills.agent(call.params.agent_id).id
        runs = self._studio.tests.run(agent)
        problem = self._services.routing().degraded if runs else ""
        return wire_studio.test_runs(runs, agent, problem)

    def costs(self, call: Call) -> Json:
        """Return what the list of skills costs each agent in each harness."""
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

    def missed(self, call: Call) -> Json:
        """Return the skills that were there, were right, and were not used."""
        asked = call.params
        if asked.reveal and Scope.ADMIN not in call.client.scopes:
            message = f"missing scope: {Scope.ADMIN.value}: it is needed to see what people wrote"
            raise RpcError(Code.FORBIDDEN, message, {"missingScope": Scope.ADMIN.value})
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
