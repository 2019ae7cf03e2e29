"""What a message would have chosen, had it been ready, and what keeps it."""

from dataclasses import replace

import pytest
from tests.unit.routing.vectors import RoutingWorld, make_world

from prowess.routing.model import Decision
from prowess.runtime.route.answer import Asked, Caller, Surface, Withheld
from prowess.settings import AgentSettings, Settings
from prowess.testing import make_skill
from prowess.wire import routing as wire_routing

BAKER = make_skill("bread-baker", description="Bakes bread and rolls in the oven.", bins=("oven",))
RIDER = make_skill("bike-repair", description="Repairs a bicycle: chain, brakes and tyres.")
LOAF = "bake a sourdough loaf"
TERMINAL = Caller(surface=Surface.TERMINAL)


@pytest.fixture
def world() -> RoutingWorld:
    return make_world(BAKER, RIDER)


def ask(world: RoutingWorld, message: str, asked: Asked | None = None) -> tuple[Withheld, ...]:
    wanted = replace(asked or Asked(), withheld=True)
    caller = Caller(surface=Surface.TERMINAL, agent_id=wanted.agent_id)
    return world.service().answer(message, caller, wanted).withheld


def test_a_skill_that_fits_and_is_not_ready_is_named_with_what_it_lacks(
    world: RoutingWorld,
) -> None:
    (found,) = ask(world, LOAF)

    assert found.match.skill.name == "bread-baker"
    assert "oven" in found.reason.detail
    assert found.reason.fix
    assert not found.is_switched_off
    assert wire_routing.not_ready([found])[0]["stage"] == "eligible"


def test_a_skill_that_is_called_by_its_name_and_is_not_ready_is_named(world: RoutingWorld) -> None:
    assert [found.match.skill.name for found in ask(world, "/bread-baker rye")] == ["bread-baker"]


@pytest.mark.parametrize("message", ["repair the brakes of my bicycle", "thanks a lot", "", "  "])
def test_a_message_that_another_skill_fits_or_none_names_nothing(
    world: RoutingWorld, message: str
) -> None:
    assert ask(world, message) == ()


def test_a_skill_that_the_agent_may_not_use_is_named_with_the_list_that_keeps_it() -> None:
    ready = make_skill("bread-baker", description="Bakes bread and rolls in the oven.")
    world = make_world(ready, RIDER)
    world.config.settings = Settings(agents=(AgentSettings(id="main", skills=("bike-repair",)),))
    world.skills.refresh()

    (found,) = ask(world, LOAF)

    assert found.match.skill.name == "bread-baker"
    assert not found.reason.passed
    assert found.is_switched_off
    assert wire_routing.not_ready([found])[0]["stage"] == "allowed"


def test_asking_changes_nothing_of_what_is_routed(world: RoutingWorld) -> None:
    service = world.service()
    before = service.route(LOAF)

    service.answer(LOAF, TERMINAL, Asked(withheld=True))

    after = service.route(LOAF)
    assert (before.decision, before.matches) == (Decision.NONE, ())
    assert (after.decision, after.considered) == (before.decision, before.considered)


def test_a_skill_that_becomes_ready_is_no_longer_named(world: RoutingWorld) -> None:
    service = world.service()
    assert service.answer(LOAF, TERMINAL, Asked(withheld=True)).withheld

    world.change(make_skill("bread-baker", description="Bakes bread and rolls in the oven."), RIDER)

    assert service.answer(LOAF, TERMINAL, Asked(withheld=True)).withheld == ()
