"""The methods about proof: whether skills hold, what was shown of them, and all their tests."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from prowess.evaluation.skill_tests import SkillTests
from prowess.gateway.calls import ClientScope, Json, Method, RpcCall, collect_methods, rpc
from prowess.gateway.methods import params as given
from prowess.gateway.methods.services import Services
from prowess.proof.freshness import SkillFreshness
from prowess.runtime.proof.verdicts import ProofState
from prowess.skills.model import Skill
from prowess.wire import proof as wire_proof


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

    @rpc("skills.fresh", ClientScope.READ, given.FreshParams, slow=True)
    def fresh(self, call: RpcCall) -> Json:
        """Which claims of skills still hold."""
        names = () if call.params.name is None else (call.params.name,)
        return wire_proof.freshness(self._proof.fresh(names, call.params.agent_id))

    @rpc("skills.proof", ClientScope.READ, given.ProofParams)
    def proof(self, call: RpcCall) -> Json:
        """What was shown of each skill's lift."""
        name, agent = call.params.name, call.params.agent_id
        skills = self._services.skills
        found = skills.status(agent).skills if name is None else (skills.find(name, agent),)
        model, harness = call.params.model or "", call.params.harness or ""
        return {
            "skills": [
                {
                    "name": row.skill.name,
                    **wire_proof.proof_state(self._proof.proof(row.skill, model, harness)),
                }
                for row in found
            ]
        }

    @rpc("skills.test", ClientScope.READ, given.FreshParams, slow=True)
    def test(self, call: RpcCall) -> Json:
        """All tests of skills, or of one, in one go."""
        asked = call.params
        return wire_proof.skill_tests(self._proof.tests(asked.agent_id, asked.name))


def proof_methods(services: Services, proof: ProofServices) -> tuple[Method, ...]:
    """Return the methods about proof."""
    return collect_methods(ProofMethods(services, proof))
