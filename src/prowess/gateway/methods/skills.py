"""The methods that read: which skills there are, which one fits, and why.

The methods about proof: whether skills hold, what was shown of them, and all their tests.
"""

import hashlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from prowess.errors import SkillNotFoundError
from prowess.evaluation.skill_tests import SkillTests
from prowess.gateway.calls import ClientScope, Code, EncodedPayload, Json, RpcCall, RpcError, rpc
from prowess.gateway.frames import encode_ascii
from prowess.gateway.methods import params as given
from prowess.gateway.methods.params import Agent, EventNumber, Message, Name
from prowess.gateway.methods.services import Services
from prowess.proof.freshness import SkillFreshness
from prowess.routing.router import Context
from prowess.runtime.library import list_unread
from prowess.runtime.proof.prove import ProofState
from prowess.runtime.route.answer import Asked, Caller, Surface
from prowess.runtime.route.why_not import why_not
from prowess.runtime.usage import Use
from prowess.skills.eligibility import needed_bins
from prowess.skills.model import Skill
from prowess.skills.parse import split_sections
from prowess.skills.text import clean
from prowess.wire import routing as wire_routing
from prowess.wire import safety as wire_proof
from prowess.wire import skills as wire
from prowess.wire.skills import pick

_MOST_LISTED = 200
_INSTALLERS = frozenset(("brew",))


class SkillMethods:
    """The answers, over one set of services."""

    def __init__(self, services: Services) -> None:
        self._services = services
        # By agent and kind: the state that a report was made from, and the report.
        self._kept: dict[tuple[str, str], tuple[object, EncodedPayload]] = {}
        self._making = threading.Lock()

    @rpc("skills.status", ClientScope.READ)
    def status(self, session_key: Name | None = None, agent_id: Agent = None) -> Json:
        """Every skill with its verdict."""
        del session_key
        return self._find_kept("status", agent_id)

    @rpc("skills.rows", ClientScope.READ)
    def rows(self, since: Name | None = None, agent_id: Agent = None) -> Json:
        """Where every skill stands, in few bytes; nothing but that where `since` is still true."""
        found = self._find_kept("rows", agent_id)
        if since != found["revision"]:
            return found
        return {"agentId": found["agentId"], "revision": found["revision"], "same": True}

    @rpc("skills.some", ClientScope.READ)
    def some(
        self, names: Annotated[tuple[Name, ...], Field(max_length=200)], agent_id: Agent = None
    ) -> Json:
        """The full rows of some skills; what is not there is left out."""
        wanted = frozenset(names)
        report = self._services.skills.status(agent_id)
        shown = [wire.skill_status(row) for row in report.skills if row.skill.name in wanted]
        return {"agentId": report.agent_id, "skills": wire.leave_out_nulls(shown)}

    @rpc("skills.match", ClientScope.READ)
    def match(self, query: Name, agent_id: Agent = None) -> Json:
        """Which skills have some letters in what they say of themselves."""
        wanted = query.casefold()
        report = self._services.skills.status(agent_id)
        found = [
            clean(row.skill.name)
            for row in report.skills
            if wanted in f"{row.skill.name} {row.skill.key} {row.skill.description}".casefold()
        ]
        return {"agentId": report.agent_id, "query": query, "names": found}

    def _find_kept(self, kind: str, agent_id: str | None) -> EncodedPayload:
        skills = self._services.skills
        with skills.lock:
            agent = skills.agent(agent_id)
            state = skills.workspace(agent_id).state(skills.settings)
        kept = self._kept.get((agent.id, kind))
        if kept is not None and kept[0] is state:
            return kept[1]
        # After a change everybody asks at once: one makes it, and the others wait for that.
        with self._making:
            return self._make(kind, agent.id)

    def _make(self, kind: str, agent_id: str) -> EncodedPayload:
        skills = self._services.skills
        with skills.lock:
            state = skills.workspace(agent_id).state(skills.settings)
            kept = self._kept.get((agent_id, kind))
            if kept is not None and kept[0] is state:
                return kept[1]
            report = skills.status(agent_id)
            block = skills.snapshot(agent_id).block
        if kind == "rows":
            there = _INSTALLERS & state.facts.bins
            rows = wire.status_rows(report, block, list_unread(state), there)
            shown = _without_values(rows)
            shown["revision"] = hashlib.sha256(encode_ascii(shown).encode()).hexdigest()[:16]
        else:
            report_shown = wire.status_report(report, report.skills)
            shown = wire.leave_out_nulls(_without_values(report_shown))
        encoded = EncodedPayload(shown, encode_ascii(shown))
        self._kept[(agent_id, kind)] = (state, encoded)
        return encoded

    @rpc("skills.securityVerdicts", ClientScope.READ)
    def security_verdicts(self, agent_id: Agent = None) -> Json:
        """What the scanner says of each skill."""
        report = self._services.skills.status(agent_id)
        shown: Json = wire.leave_out_nulls(wire.security_verdicts(report))
        return shown

    @rpc("skills.bins", ClientScope.NODE)
    def bins(self) -> Json:
        """The programs that skills ask for, for a machine to look for."""
        skills = self._services.skills
        names: set[str] = set()
        for agent in skills.settings.agents:
            found = [row.skill for row in skills.status(agent.id).skills]
            names |= needed_bins(found)
            names |= {name for s in found for spec in s.metadata.install for name in spec.bins}
        return {"bins": sorted(names)}

    @rpc("skills.detail", ClientScope.READ)
    def detail(self, call: RpcCall, asked: given.SkillParams) -> Json:
        """All about one skill."""
        skills, name = self._services.skills, self._require_name(call, asked)
        agent_id = skills.agent(asked.agent_id).id
        try:
            status = skills.find(name, agent_id)
        except SkillNotFoundError:
            # Not to have it is an answer, as it is for clients that ask a registry.
            return {"skill": None}
        parts = [pick(part, "title level line") for part in split_sections(status.skill)]
        resources = skills.resources(status.skill.name, agent_id)
        detail = wire.skill_detail(status, resources, parts)
        state = skills.workspace(agent_id).state(skills.settings)
        lost = [one for one in state.catalog.shadowed if one.winner is status.skill]
        return {
            "skill": {**detail, "body": clean(status.skill.body)},
            "shadows": [{**wire.shadowed(one), "identical": one.identical} for one in lost],
        }

    @rpc("skills.route", ClientScope.READ, slow=True)
    def route(
        self,
        message: Message,
        files: Annotated[tuple[Name, ...], Field(max_length=50)] = (),
        # What was said before, each with a role and a content.
        history: Annotated[tuple[dict[str, Any], ...], Field(max_length=50)] = (),
        limit: Annotated[int, Field(ge=1, le=50)] = 5,
        threshold: Annotated[float | None, Field(ge=0, le=1)] = None,
        *,
        # For somebody who tries messages out: nothing is counted as use.
        dry_run: bool = False,
        # Also what would fit if it were ready; that takes a second ranking.
        not_ready: bool = False,
        agent_id: Agent = None,
    ) -> Json:
        """Which skill a message needs, with reasons, or none."""
        context = Context(paths=files) if files else None
        wanted = Asked(
            context=context,
            history=history,
            considered=limit,
            threshold=threshold,
            withheld=not_ready,
            rehearsal=dry_run,
        )
        caller = Caller(surface=Surface.GATEWAY, agent_id=agent_id)
        answer = self._services.routing().answer(message, caller, wanted)
        shown = wire_routing.route(answer.route)
        if not_ready:
            shown["notReady"] = wire_routing.not_ready(answer.withheld)
        return shown

    @rpc("skills.why", ClientScope.READ, slow=True)
    def why(self, call: RpcCall, asked: given.WhyParams) -> Json:
        """Why a skill is, or is not, used."""
        name = self._require_name(call, asked)
        if asked.message is None:
            return wire.explanation(self._services.why(name, asked.agent_id))
        routing = self._services.routing()
        found = why_not(
            self._services.skills, routing, name, asked.message, Asked(agent_id=asked.agent_id)
        )
        return wire_routing.absence(found)

    @rpc("skills.prompt", ClientScope.READ)
    def prompt(
        self,
        tools: Annotated[tuple[Name, ...] | None, Field(max_length=500)] = None,
        agent_id: Agent = None,
    ) -> Json:
        """The block of the system prompt."""
        skills = self._services.skills
        with skills.lock:
            block = skills.prompt(agent_id, tools=tools)
            agent = skills.agent(agent_id).id
            version = skills.snapshot(agent_id).version
        names = [skill.name for skill in block.included[:_MOST_LISTED]]
        self._services.usage.note(Use.LISTED, names, agent)
        return {"agentId": agent, "version": version, **wire.prompt(block)}

    @rpc("skills.validate", ClientScope.READ, slow=True)
    def validate(self, call: RpcCall, asked: given.ValidateParams) -> Json:
        """What is wrong with files."""
        named = self._read_name(call, asked)
        reports = self._services.validate(named, asked.agent_id, asked.strict)
        return {
            "valid": all(report.valid for report in reports),
            "reports": [
                {
                    **pick(report, "path valid"),
                    "diagnostics": [wire.diagnostic(problem) for problem in report.diagnostics],
                }
                for report in reports
            ],
        }

    @rpc("skills.usage", ClientScope.READ)
    def usage(
        self,
        name: Name | None = None,
        after: EventNumber = 0,
        limit: Annotated[int, Field(ge=1, le=1_000)] = 100,
        agent_id: Agent = None,
    ) -> Json:
        """What was listed, routed and used."""
        # Make sure that there is such an agent: no numbers would read as "nothing was used".
        agent = None if agent_id is None else self._services.skills.agent(agent_id).id
        return self._services.usage.report(agent_id=agent, skill=name, after=after, limit=limit)

    def _require_name(self, call: RpcCall, asked: given.SkillParams) -> str:
        name = self._read_name(call, asked)
        if name is None:
            message = f"invalid {call.method} params: name: give a skill's name or skillKey"
            raise RpcError(Code.INVALID_REQUEST, message, {"field": "name"})
        return name

    def _read_name(self, call: RpcCall, asked: given.SkillParams) -> str | None:
        """Return by what a skill is named, if by anything; two names must mean the same one."""
        fields = (("name", asked.name), ("skillKey", asked.skill_key), ("slug", asked.slug))
        given: list[tuple[str, str]] = [(field, said) for field, said in fields if said]
        for field, said in given[1:]:
            first, name = given[0]
            if said != name and self._id(said, asked) != self._id(name, asked):
                message = f"invalid {call.method} params: {field}: names another skill than {first}"
                raise RpcError(Code.INVALID_REQUEST, f"{message}: give one", {"field": field})
        return given[0][1] if given else None

    def _id(self, name: str, asked: given.SkillParams) -> str:
        """Return what tells the skill of that name from others; the name itself for none."""
        try:
            return self._services.skills.find(name, asked.agent_id).skill.id
        except SkillNotFoundError:
            return name


def _without_values(report: Json) -> Json:
    """Return a report whose words about the config do not repeat what the config says."""
    problems = [
        {**problem, "message": problem["message"].partition(", not ")[0]}
        for problem in report["configProblems"]
    ]
    return {**report, "configProblems": problems}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofServices:
    """What these methods call beside what all methods call."""

    # From names and an agent to what holds of those skills; nothing is asked of any program.
    fresh: Callable[[Sequence[str], str | None], Sequence[SkillFreshness]]
    # From a skill, a model and a harness, where those are named, to where the skill stands.
    proof: Callable[[Skill, str, str], ProofState]
    # From an agent, and a skill where only that one is meant, to how its tests come out.
    tests: Callable[[str | None, str | None], SkillTests]


class ProofMethods:
    """The answers, over one set of services."""

    def __init__(self, services: Services, proof: ProofServices) -> None:
        self._services, self._proof = services, proof

    @rpc("skills.fresh", ClientScope.READ, slow=True)
    def fresh(self, name: Name | None = None, agent_id: Agent = None) -> Json:
        """Which claims of skills still hold."""
        names = () if name is None else (name,)
        return wire_proof.freshness(self._proof.fresh(names, agent_id))

    @rpc("skills.proof", ClientScope.READ)
    def proof(
        self,
        model: Name | None = None,
        harness: Name | None = None,
        name: Name | None = None,
        agent_id: Agent = None,
    ) -> Json:
        """What was shown of each skill's lift."""
        skills = self._services.skills
        found = skills.status(agent_id).skills if name is None else (skills.find(name, agent_id),)
        model, harness = model or "", harness or ""
        return {
            "skills": [
                {
                    "name": row.skill.name,
                    **wire_proof.proof_state(self._proof.proof(row.skill, model, harness)),
                }
                for row in found
            ]
        }

    @rpc("skills.test", ClientScope.READ, slow=True)
    def test(self, name: Name | None = None, agent_id: Agent = None) -> Json:
        """All tests of skills, or of one, in one go."""
        return wire_proof.skill_tests(self._proof.tests(agent_id, name))
