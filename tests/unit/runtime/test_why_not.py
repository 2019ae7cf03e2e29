import pytest
from tests.unit.routing.vectors import RoutingWorld, SmallEncoder, make_world

from prowess.errors import SkillNotFoundError, UnknownAgentError
from prowess.routing.router import Context
from prowess.runtime.route.answer import Asked
from prowess.runtime.route.why_not import Absence, why_not
from prowess.settings import AgentSettings, Settings
from prowess.skills.model import Triggers
from prowess.testing import make_skill

BAKER = make_skill("bread-baker", description="Bakes bread and rolls in the oven.")
RIDER = make_skill("bike-repair", description="Repairs a bicycle: chain, brakes and tyres.")
WRITER = make_skill("letter-writer", description="Writes letters and cards for every occasion.")
LOAF = "bake a sourdough loaf"


@pytest.fixture
def world() -> RoutingWorld:
    return make_world(BAKER, RIDER, WRITER)


def ask(world: RoutingWorld, name: str, message: str, asked: Asked | None = None) -> Absence:
    return why_not(world.skills, world.service(), name, message, asked or Asked())


def stages(found: Absence) -> dict[str, bool]:
    return {step.stage: step.passed for step in found.steps}


def reason(found: Absence) -> str:
    assert found.reason is not None
    return found.reason.detail


def test_a_skill_that_is_loaded_has_no_reason_to_be_absent(world: RoutingWorld) -> None:
    found = ask(world, "bread-baker", LOAF)

    assert found.loaded
    assert found.reason is None
    assert (found.rank, found.ahead) == (1, ())


def test_a_low_score_is_the_reason_and_how_to_raise_it_is_said(world: RoutingWorld) -> None:
    found = ask(world, "bike-repair", LOAF)

    assert not found.loaded
    assert stages(found) == {"ready": True, "allowed": True, "score": False, "rank": False}
    assert "its score is 0.0" in reason(found)
    assert f"{found.thresholds.load:.2f}" in reason(found)
    assert found.reason is not None
    assert "description" in found.reason.fix


def test_who_stands_above_it_is_named_with_reasons(world: RoutingWorld) -> None:
    found = ask(world, "bike-repair", LOAF)

    assert found.match is not None
    assert found.match.skill.name == "bike-repair"
    assert found.rank in {2, 3}
    assert found.ahead[0].skill.name == "bread-baker"
    assert found.ahead[0].reasons
    assert "bread-baker fits better" in found.steps[-1].detail


def test_a_skill_that_fits_well_enough_and_is_not_near_the_best_is_told_its_place() -> None:
    near = make_skill("loaf-baker", description="Bakes a sourdough loaf of bread in the oven.")
    world = make_world(BAKER, near, RIDER)
    world.choose(max_skills=1, load_threshold=0.01)

    found = ask(world, "bread-baker", "bake a sourdough loaf of bread in the oven")

    assert stages(found)["score"]
    assert reason(found).startswith("it is number 2 of 3; loaf-baker")
    assert found.reason is not None
    assert "sets it apart" in found.reason.fix


def test_an_offer_is_no_load(world: RoutingWorld) -> None:
    score = world.service().route(LOAF).considered[0].score

    found = ask(world, "bread-baker", LOAF, Asked(threshold=min(1.0, score + 0.0001)))

    assert not found.loaded
    assert "it is offered, not loaded" in reason(found)


def test_where_nothing_may_be_loaded_that_is_the_reason(world: RoutingWorld) -> None:
    world.choose(max_skills=0)

    found = ask(world, "bread-baker", LOAF)

    assert not found.loaded
    assert found.reason is not None


def test_a_veto_is_the_reason() -> None:
    vetoed = make_skill("toaster", description="Toasts bread.", triggers=Triggers(none=("loaf",)))
    world = make_world(BAKER, vetoed)

    found = ask(world, "toaster", LOAF)

    assert '"loaf" (triggers.none)' in reason(found)
    assert (found.rank, found.match) == (None, None)
    assert found.ahead[0].skill.name == "bread-baker"


def test_a_skill_that_is_hidden_from_the_model_is_told_so() -> None:
    world = make_world(BAKER, make_skill("secret", description="Bakes loaves.", model=False))

    assert "only a person may call it" in reason(ask(world, "secret", LOAF))


def test_a_skill_that_is_loaded_already_is_told_so(world: RoutingWorld) -> None:
    context = Context(loaded=frozenset(("bread-baker",)))

    found = ask(world, "bread-baker", LOAF, Asked(context=context))

    assert "loaded already" in reason(found)


def test_calling_a_skill_that_is_loaded_already_is_told_so(world: RoutingWorld) -> None:
    context = Context(loaded=frozenset(("bread-baker",)))

    found = ask(world, "bread-baker", "/bread-baker", Asked(context=context))

    assert not found.loaded
    assert "loaded already" in reason(found)


def test_a_skill_that_cannot_run_is_told_what_is_missing() -> None:
    world = make_world(BAKER, make_skill("mill", description="Mills.", bins=("millstone",)))

    found = ask(world, "mill", "mill the grain")

    assert not found.loaded
    assert "millstone" in reason(found)
    assert "prompt" not in stages(found)


def test_a_skill_that_the_agent_may_not_use_is_told_so(world: RoutingWorld) -> None:
    agents = (AgentSettings(id="main", skills=("bike-repair",), skills_inherited=False),)
    world.config.settings = Settings(agents=agents)
    world.skills.refresh()

    found = ask(world, "bread-baker", LOAF)

    assert stages(found)["eligible"]
    assert not stages(found)["allowed"]


def test_a_skill_is_found_by_the_names_people_give_it(world: RoutingWorld) -> None:
    assert ask(world, "Bread Baker", LOAF).name == "bread-baker"


def test_a_skill_that_does_not_exist_is_refused(world: RoutingWorld) -> None:
    with pytest.raises(SkillNotFoundError):
        ask(world, "nobody", LOAF)
    with pytest.raises(UnknownAgentError):
        ask(world, "bread-baker", LOAF, Asked(agent_id="nobody"))


def test_a_message_that_calls_the_skill_loads_it(world: RoutingWorld) -> None:
    assert ask(world, "bread-baker", "/bread-baker").loaded


def test_a_message_that_calls_another_skill_says_so(world: RoutingWorld) -> None:
    assert reason(ask(world, "bread-baker", "/bike-repair")) == (
        "bike-repair is loaded instead: the message calls it by name"
    )


def test_an_empty_message_is_the_reason(world: RoutingWorld) -> None:
    assert "empty" in reason(ask(world, "bread-baker", "  "))


def test_a_message_that_goes_on_with_another_skill_says_so(world: RoutingWorld) -> None:
    asked = Asked(context=Context(last=("bike-repair",)))

    found = ask(world, "bread-baker", "yes, do it", asked)

    assert "bike-repair" in reason(found)
    assert "goes on" in reason(found)


def test_small_talk_is_told_so() -> None:
    # Skills whose texts are errands, so that small talk is held against a message.
    world = make_world(
        make_skill("reviewer", description="Review this pull request before I merge it."),
        make_skill("deployer", description="Deploy the service to production."),
    )

    found = ask(world, "reviewer", "hello there, how are you doing today? good morning!")

    assert not found.loaded
    assert "any assistant can answer" in reason(found)


def test_words_alone_explain_too(world: RoutingWorld) -> None:
    encoder = world.encoders["bundled"]
    assert isinstance(encoder, SmallEncoder)
    encoder.failure = "does not run."

    found = ask(world, "bike-repair", "write a card")

    assert not found.loaded
    assert found.ahead[0].skill.name == "letter-writer"


@pytest.mark.parametrize("message", [LOAF, "", "/bread-baker", "yes", "部署", "\ud800", "hello"])
@pytest.mark.parametrize("name", ["bread-baker", "bike-repair"])
def test_the_answer_agrees_with_routing(world: RoutingWorld, name: str, message: str) -> None:
    route = world.service().route(message)
    chosen = [match.skill.name for match in route.matches]

    found = ask(world, name, message)

    assert found.loaded == (route.decision.value == "load" and name in chosen)
    assert (found.reason is None) == found.loaded
