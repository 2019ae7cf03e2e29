import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace

import numpy as np
import pytest
from tests.unit.routing.vectors import WIDTH, RoutingWorld, SmallEncoder, SmallJudge, make_world

from prowess.errors import EncoderError, UnknownAgentError
from prowess.routing import router
from prowess.routing.decision_triggers_and_follow_ups import DEFAULT
from prowess.routing.lexical_and_breadth import list_messages
from prowess.routing.model import Decision, Status, Thresholds
from prowess.routing.router import Context, RouteChoice
from prowess.runtime.ports import Examples
from prowess.runtime.route.answer import NO_ENCODER, Asked, Hurry, remember
from prowess.runtime.route.index import text_key
from prowess.settings import AgentSettings, Limits, Settings
from prowess.testing import make_skill

BAKER = make_skill("bread-baker", description="Bakes bread and rolls in the oven.")
RIDER = make_skill("bike-repair", description="Repairs a bicycle: chain, brakes and tyres.")
WRITER = make_skill("letter-writer", description="Writes letters and cards for every occasion.")
LOAF = "bake a sourdough loaf"
A_WHILE = 31.0


@pytest.fixture
def encoder() -> SmallEncoder:
    return SmallEncoder()


@pytest.fixture
def world(encoder: SmallEncoder) -> RoutingWorld:
    return make_world(BAKER, RIDER, WRITER, encoder=encoder)


def names(world: RoutingWorld, message: str, asked: Asked | None = None) -> list[str]:
    return [match.skill.name for match in world.service().route(message, asked).considered]


# What was said before.


def test_a_short_message_is_read_with_what_the_agent_said_before(world: RoutingWorld) -> None:
    talk = [
        {"role": "user", "content": "look at my bicycle"},
        {"role": "assistant", "content": "The chain and the brakes of the bicycle are worn."},
    ]

    alone = world.service().route("can you do that?", Asked(considered=1))
    after = world.service().route("can you do that?", Asked(considered=1, history=talk))

    assert after.considered[0].skill.name == "bike-repair"
    assert after.considered[0].signals["meaning"] > alone.considered[0].signals.get("meaning", 0)


def test_the_message_itself_is_not_what_came_before_it() -> None:
    talk = [
        {"role": "user", "content": "first"},
        {"role": "assistant", "content": "done"},
        {"role": "user", "content": "second"},
    ]

    context = remember(talk, "second", Context())

    assert (context.earlier, context.reply) == (("first",), "done")


def test_a_message_of_nothing_but_a_path_loads_nothing(world: RoutingWorld) -> None:
    route = world.service().route("bake/sourdough/bread/rolls/oven.py")

    assert route.decision is not Decision.LOAD


# What is indexed, and when.


def test_the_encoder_is_not_touched_before_the_first_message(
    world: RoutingWorld, encoder: SmallEncoder
) -> None:
    world.service()

    assert (world.openings, encoder.calls) == (0, 0)


def test_a_message_finds_its_skill(world: RoutingWorld) -> None:
    route = world.service().route(LOAF)

    assert route.decision is Decision.LOAD
    assert [match.skill.name for match in route.matches] == ["bread-baker"]
    assert (route.status, route.notes) == (Status.OK, ())


def test_the_index_is_kept_as_long_as_nothing_changes(world: RoutingWorld) -> None:
    service = world.service()

    first = service.index()
    world.skills.refresh()

    assert service.index() is first


def test_a_change_that_skills_have_no_part_in_keeps_the_index(world: RoutingWorld) -> None:
    service = world.service()
    first, version = service.index(), world.skills.snapshot().version
    world.config.settings = replace(
        world.config.settings,
        skills=replace(world.config.settings.skills, limits=Limits(max_skills_in_prompt=1)),
    )
    world.skills.refresh()

    assert world.skills.snapshot().version != version
    assert service.index() is first


def test_the_index_follows_the_skills(world: RoutingWorld) -> None:
    service = world.service()
    service.index()

    world.change(BAKER, RIDER)

    assert [skill.name for skill in service.index().skills] == ["bike-repair", "bread-baker"]
    assert "letter-writer" not in [
        match.skill.name for match in service.route("a card in an envelope").considered
    ]


def test_a_changed_skill_is_encoded_alone(world: RoutingWorld, encoder: SmallEncoder) -> None:
    service = world.service()
    service.index()
    encoder.asked.clear()

    world.change(BAKER, RIDER, replace(WRITER, description="Sends parcels.", content_hash="new"))
    service.index()

    assert encoder.asked
    assert all("parcels" in text for text in encoder.asked)


def test_no_text_is_encoded_twice(world: RoutingWorld, encoder: SmallEncoder) -> None:
    service = world.service()
    for skills in ((BAKER,), (BAKER, RIDER), (RIDER, WRITER), (BAKER, RIDER, WRITER)):
        world.change(*skills)
        service.index()

    assert [text for text, count in Counter(encoder.asked).items() if count > 1] == []


def test_the_next_process_encodes_nothing(world: RoutingWorld, encoder: SmallEncoder) -> None:
    world.service().index()
    encoder.asked.clear()

    world.service().index()

    assert encoder.asked == []


def test_a_first_run_and_a_later_one_answer_alike(world: RoutingWorld) -> None:
    first, later = (world.service().route(LOAF) for _ in range(2))

    assert first.considered == later.considered


def test_an_indexing_that_was_interrupted_goes_on_where_it_stopped(
    world: RoutingWorld, encoder: SmallEncoder
) -> None:
    def give_up() -> None:
        encoder.failure = "is tired" if encoder.calls == 3 else ""

    encoder.before = give_up
    service = world.service()
    interrupted = service.index()
    world.now += A_WHILE

    assert interrupted.dense is None
    assert service.index().dense is not None
    assert max(Counter(encoder.asked).values()) == 1


def test_progress_is_told_while_texts_are_encoded(world: RoutingWorld) -> None:
    told: list[tuple[str, int, int]] = []

    world.service().index(progress=lambda what, done, total: told.append((what, done, total)))

    done = [done for what, done, _ in told if what == "encoding texts"]
    assert done == sorted(done)
    assert {total for what, _, total in told if what == "encoding texts"} == {done[-1]}


def test_any_skills_can_be_indexed_for_an_evaluation(world: RoutingWorld) -> None:
    world.examples.write("bread-baker", Examples(confirmed=("frobnicate",)))

    index = world.service().index_of([BAKER, make_skill("elsewhere")])

    assert [skill.name for skill in index.skills] == ["bread-baker", "elsewhere"]
    assert "frobnicate" not in index.evidence[0].requests


def test_without_skills_nothing_is_needed(world: RoutingWorld) -> None:
    world.change()

    route = world.service().route(LOAF)

    assert (route.decision, route.considered, route.status) == (Decision.NONE, (), Status.OK)


# Agents.


def _with_writer(world: RoutingWorld) -> None:
    agents = (
        AgentSettings(id="main", default=True),
        AgentSettings(id="clerk", skills=("letter-writer",), skills_inherited=False),
    )
    world.config.settings = Settings(skills=world.config.settings.skills, agents=agents)
    world.skills.refresh()


def test_an_agent_is_routed_to_what_it_may_use(world: RoutingWorld) -> None:
    _with_writer(world)
    clerk = Asked(agent_id="clerk")

    assert names(world, LOAF) == ["bread-baker", *names(world, LOAF)[1:]]
    assert names(world, LOAF, clerk) == ["letter-writer"]
    assert world.service().route("/bread-baker", clerk).decision is not Decision.LOAD


def test_two_agents_keep_their_indexes_side_by_side(
    world: RoutingWorld, encoder: SmallEncoder
) -> None:
    _with_writer(world)
    service = world.service()

    first, second = service.index(), service.index("clerk")

    assert (service.index(), service.index("clerk")) == (first, second)
    assert max(Counter(encoder.asked).values()) == 1


def test_an_unknown_agent_is_refused(world: RoutingWorld) -> None:
    with pytest.raises(UnknownAgentError):
        world.service().route(LOAF, Asked(agent_id="nobody"))


# Messages.


def test_a_message_is_encoded_once(world: RoutingWorld, encoder: SmallEncoder) -> None:
    service = world.service()

    answers = [service.route(LOAF) for _ in range(3)]

    assert encoder.asked.count(LOAF) == 1
    assert answers[0] == answers[1] == answers[2]


def test_messages_are_not_remembered_without_end(
    world: RoutingWorld, encoder: SmallEncoder
) -> None:
    service = world.service()
    index = service.index()
    for number in range(600):
        service.with_vector(index, router.read(f"message {number}"))

    service.with_vector(index, router.read("message 599"))
    service.with_vector(index, router.read("message 0"))

    assert encoder.asked.count("message 599") == 1
    assert encoder.asked.count("message 0") == 2


@pytest.mark.parametrize("message", ["/bread-baker", "yes, do it", "", "  \n"])
def test_what_is_said_outright_is_not_encoded(
    world: RoutingWorld, encoder: SmallEncoder, message: str
) -> None:
    service = world.service()
    service.index()
    encoder.asked.clear()

    service.route(message)

    assert encoder.asked == []


def test_what_came_before_counts(world: RoutingWorld) -> None:
    service = world.service()

    going_on = service.route("go ahead", Asked(context=Context(last=("bike-repair",))))
    loaded = service.route(LOAF, Asked(context=Context(loaded=frozenset(("bread-baker",)))))

    assert [match.skill.name for match in going_on.matches] == ["bike-repair"]
    assert "bread-baker" not in [match.skill.name for match in loaded.considered]


def test_as_many_skills_are_shown_as_are_wanted(world: RoutingWorld) -> None:
    assert len(names(world, LOAF, Asked(considered=2))) == 2


def test_the_answer_says_how_long_it_took(world: RoutingWorld, encoder: SmallEncoder) -> None:
    service = world.service()
    service.index()

    def take_time() -> None:
        world.now += 0.25

    encoder.before = take_time

    assert service.route(LOAF).took_ms == pytest.approx(250)


# Without an encoder, or with one that fails.

BY_WORDS = "repair the chain and the brakes of my bicycle"


def test_words_route_alone_where_no_encoder_is_wanted(world: RoutingWorld) -> None:
    world.choose("none")

    route = world.service().route(BY_WORDS)

    assert [match.skill.name for match in route.matches] == ["bike-repair"]
    assert (route.status, route.notes) == (Status.DEGRADED, (NO_ENCODER,))


def test_words_route_alone_where_the_encoder_cannot_be_opened(world: RoutingWorld) -> None:
    world.choose("/no/such/folder")
    service = world.service()

    route = service.route(BY_WORDS)

    assert [match.skill.name for match in route.matches] == ["bike-repair"]
    assert route.status is Status.DEGRADED
    assert "/no/such/folder" in route.notes[0]
    assert service.problem == route.notes[0]


def test_words_route_alone_where_the_encoder_fails(
    world: RoutingWorld, encoder: SmallEncoder
) -> None:
    encoder.failure = "does not run: choose another one."

    route = world.service().route(BY_WORDS)

    assert [match.skill.name for match in route.matches] == ["bike-repair"]
    assert route.status is Status.DEGRADED
    assert "does not run" in route.notes[0]


@pytest.mark.parametrize("message", ["/bread-baker", "", "yes"])
def test_every_answer_of_a_degraded_service_says_so(
    world: RoutingWorld, encoder: SmallEncoder, message: str
) -> None:
    encoder.failure = "does not run."

    assert world.service().route(message).status is Status.DEGRADED


def test_an_encoder_that_fails_on_one_message_degrades_that_answer(
    world: RoutingWorld, encoder: SmallEncoder
) -> None:
    service = world.service()
    service.index()
    encoder.failure = "is away."

    failed = service.route(BY_WORDS)

    assert failed.status is Status.DEGRADED
    assert "is away" in failed.notes[0]
    assert [match.skill.name for match in failed.matches] == ["bike-repair"]


def test_an_encoder_that_cannot_be_opened_is_left_alone_for_a_while(world: RoutingWorld) -> None:
    world.choose("/no/such/folder")
    service = world.service()
    service.route(LOAF)
    tried = world.openings

    for _ in range(5):
        service.route(LOAF)

    assert world.openings == tried
    world.now += A_WHILE
    service.route(LOAF)
    assert world.openings == tried + 1


def test_an_encoder_that_fails_while_indexing_is_left_alone_for_a_while(
    world: RoutingWorld, encoder: SmallEncoder
) -> None:
    encoder.failure = "does not run."
    service = world.service()
    service.route(LOAF)
    tried = encoder.calls

    for _ in range(5):
        service.route(LOAF)

    assert encoder.calls == tried


def test_an_encoder_that_fails_on_messages_is_left_alone_for_a_while(
    world: RoutingWorld, encoder: SmallEncoder
) -> None:
    service = world.service()
    service.index()
    encoder.failure = "does not answer."
    service.route("the first message")
    tried = encoder.calls

    for number in range(5):
        service.route(f"message {number}")

    # Behind an endpoint, every try may take as long as its timeout.
    assert encoder.calls == tried


def test_an_encoder_that_failed_is_used_again_after_a_pause(
    world: RoutingWorld, encoder: SmallEncoder
) -> None:
    encoder.failure = "does not run."
    service = world.service()
    service.route(LOAF)
    encoder.failure = ""
    world.now += A_WHILE

    route = service.route(LOAF)

    assert (route.status, route.notes) == (Status.OK, ())
    assert [match.skill.name for match in route.matches] == ["bread-baker"]


def test_an_encoder_that_can_be_opened_later_is_used_after_a_pause(world: RoutingWorld) -> None:
    world.choose("mine")
    service = world.service()
    service.route(LOAF)
    world.encoders["mine"] = SmallEncoder("mine")
    world.now += A_WHILE

    assert service.route(LOAF).status is Status.OK
    assert service.problem == ""


def test_the_problem_is_over_when_the_encoder_indexes_again(
    world: RoutingWorld, encoder: SmallEncoder
) -> None:
    encoder.failure = "does not run."
    service = world.service()
    service.route(LOAF)
    encoder.failure = ""
    world.now += A_WHILE

    service.route(LOAF)

    assert service.problem == ""


def test_the_problem_is_over_when_the_encoder_answers_again(
    world: RoutingWorld, encoder: SmallEncoder
) -> None:
    service = world.service()
    service.index()
    encoder.failure = "is away."
    service.route(LOAF)
    encoder.failure = ""
    world.now += A_WHILE

    assert service.route("another loaf of bread").status is Status.OK
    assert service.problem == ""


def test_a_working_encoder_does_not_pay_for_the_one_before_it(world: RoutingWorld) -> None:
    world.choose("/no/such/folder")
    service = world.service()
    service.route(LOAF)

    world.choose("bundled")
    route = service.route(LOAF)

    assert (route.status, route.notes) == (Status.OK, ())


def test_a_message_that_is_known_needs_no_encoder(
    world: RoutingWorld, encoder: SmallEncoder
) -> None:
    service = world.service()
    before = service.route(LOAF)
    encoder.failure = "is away."
    service.route("something else")

    assert service.route(LOAF) == before


def test_the_reason_stays_while_the_encoder_is_left_alone(
    world: RoutingWorld, encoder: SmallEncoder
) -> None:
    service = world.service()
    service.index()
    encoder.failure = "is away."
    service.route("something else")

    # An index that needs no new vector is built anew meanwhile.
    world.change(BAKER, RIDER)
    route = service.route("something new")

    assert route.status is Status.DEGRADED
    assert "is away" in " ".join(route.notes)


def test_who_needs_an_encoder_is_told_that_there_is_none(world: RoutingWorld) -> None:
    assert world.service().needed_encoder().id == "small"
    for which in ("none", "/no/such/folder"):
        world.choose(which)
        with pytest.raises(EncoderError):
            world.service().needed_encoder()


# Other encoders.


def test_another_encoder_takes_over_when_the_settings_change(
    world: RoutingWorld, encoder: SmallEncoder
) -> None:
    other = SmallEncoder("other", width=WIDTH + 8)
    world.encoders["other"] = other
    service = world.service()
    before = service.route(LOAF)

    world.choose("other")
    after = service.route(LOAF)

    assert LOAF in encoder.asked
    assert LOAF in other.asked
    assert set(list_messages()) <= set(other.asked)
    assert before.matches[0].skill == after.matches[0].skill


def test_an_encoder_that_comes_back_finds_its_vectors(
    world: RoutingWorld, encoder: SmallEncoder
) -> None:
    world.encoders["other"] = SmallEncoder("other")
    service = world.service()
    service.index()
    for which in ("other", "bundled"):
        encoder.asked.clear()
        world.choose(which)
        service.index()

    assert encoder.asked == []


def test_an_index_from_before_a_change_of_encoder_can_still_be_asked(world: RoutingWorld) -> None:
    world.encoders["other"] = SmallEncoder("other", width=WIDTH + 8)
    service = world.service()
    index = service.index()

    # As when the settings change while a message is on its way.
    world.choose("other")
    query = service.with_vector(index, router.read(LOAF))

    assert router.route(index, query, RouteChoice()).considered[0].skill.name == "bread-baker"


def test_a_message_on_its_way_does_not_outlive_its_encoder(
    world: RoutingWorld, encoder: SmallEncoder
) -> None:
    world.encoders["other"] = SmallEncoder("other", width=WIDTH + 8)
    service = world.service()
    service.index()

    def change_the_settings() -> None:
        encoder.before = lambda: None
        world.choose("other")
        service.index()

    encoder.before = change_the_settings
    during, after = service.route(LOAF), service.route(LOAF)

    assert during.considered[0].skill.name == "bread-baker"
    assert after.considered[0].skill.name == "bread-baker"


@pytest.mark.parametrize("share", [2, 3, 1_000_000], ids=["half", "a third", "one"])
def test_vectors_of_another_width_under_the_same_name_are_made_anew(
    world: RoutingWorld, share: int
) -> None:
    # An endpoint whose model was exchanged behind its name.
    for number, text in enumerate(list_messages()):
        if number % share == 0:
            world.vectors.kept["small", text_key(text)] = np.full(4, 0.5, np.float32)

    assert world.service().route(LOAF).matches[0].skill.name == "bread-baker"


def test_vectors_of_two_widths_are_made_anew(world: RoutingWorld, encoder: SmallEncoder) -> None:
    world.service().index()
    first = next(iter(world.vectors.kept))
    world.vectors.kept[first] = np.full(4, 0.5, np.float32)
    encoder.asked.clear()

    assert world.service().route(LOAF).matches[0].skill.name == "bread-baker"
    assert set(list_messages()) <= set(encoder.asked)


# Thresholds.


def test_thresholds_are_the_defaults_where_nobody_says_otherwise(world: RoutingWorld) -> None:
    assert world.service().choice().thresholds == DEFAULT
    assert world.service().choice().most == 3


def test_calibrated_thresholds_belong_to_their_encoder(world: RoutingWorld) -> None:
    world.calibrated["small"] = Thresholds(load=0.8, offer=0.4)
    world.encoders["other"] = SmallEncoder("other")
    calibrated = world.service().choice().thresholds

    world.choose("other")

    assert calibrated == Thresholds(load=0.8, offer=0.4)
    assert world.service().choice().thresholds == DEFAULT


def test_words_alone_have_no_calibrated_thresholds(world: RoutingWorld) -> None:
    world.calibrated["small"] = Thresholds(load=0.8, offer=0.4)
    world.choose("none")

    assert world.service().choice().thresholds == DEFAULT


def test_settings_stand_over_what_was_calibrated(world: RoutingWorld) -> None:
    world.calibrated["small"] = Thresholds(load=0.8, offer=0.4)
    world.choose(load_threshold=0.9, max_skills=1)

    choice = world.service().choice()

    assert choice.thresholds == Thresholds(load=0.9, offer=0.4)
    assert choice.most == 1


def test_who_asks_stands_over_the_settings(world: RoutingWorld) -> None:
    world.choose(load_threshold=0.9, offer_threshold=0.3)

    assert world.service().choice(Asked(threshold=0.6)).thresholds == Thresholds(
        load=0.6, offer=0.3
    )


def test_nothing_is_offered_that_could_be_loaded(world: RoutingWorld) -> None:
    world.choose(offer_threshold=0.7)

    for threshold in (0.0, 0.1):
        choice = world.service().choice(Asked(threshold=threshold))

        assert choice.thresholds == Thresholds(load=threshold, offer=threshold)


def test_the_threshold_decides_what_is_loaded(world: RoutingWorld) -> None:
    service = world.service()
    score = service.route(LOAF).considered[0].score

    low = service.route(LOAF, Asked(threshold=score - 0.001))
    high = service.route(LOAF, Asked(threshold=min(1.0, score + 0.0001)))

    assert (low.decision, high.decision) == (Decision.LOAD, Decision.OFFER)
    assert low.thresholds.load == score - 0.001


# Examples.

ODD = "frobnicate the quux, would you"


def test_an_example_teaches_how_people_ask_for_a_skill(
    world: RoutingWorld, encoder: SmallEncoder
) -> None:
    service = world.service()
    before = service.route(ODD)
    encoder.asked.clear()

    world.examples.write("letter-writer", Examples(confirmed=(ODD,)))
    after = service.route(ODD)

    assert before.decision is not Decision.LOAD
    assert after.considered[0].skill.name == "letter-writer"
    assert after.considered[0].score > max(match.score for match in before.considered)
    assert any(ODD in reason for reason in after.considered[0].reasons)
    # The index changed, and nothing but the example was new.
    assert set(encoder.asked) <= {ODD}


def test_generated_examples_count_like_confirmed_ones(world: RoutingWorld) -> None:
    world.examples.write("letter-writer", Examples(generated=(ODD,)))

    assert names(world, ODD)[0] == "letter-writer"


def test_a_near_miss_keeps_a_skill_away(world: RoutingWorld) -> None:
    message = "bread for the bike saddle"
    service = world.service()
    before = {m.skill.name: m.score for m in service.route(message).considered}

    world.examples.write("bread-baker", Examples(near_misses=(message,)))
    after = {m.skill.name: m.score for m in service.route(message).considered}

    assert after["bread-baker"] < before["bread-baker"]


def test_forgotten_examples_leave_no_trace(world: RoutingWorld) -> None:
    service = world.service()
    before = service.route(ODD)
    world.examples.write("letter-writer", Examples(confirmed=(ODD,)))
    service.route(ODD)

    world.examples.write("letter-writer", Examples())

    assert service.route(ODD).considered == before.considered


def test_examples_of_a_skill_that_is_gone_do_no_harm(world: RoutingWorld) -> None:
    world.examples.write("gone", Examples(confirmed=(ODD,)))

    assert names(world, LOAF)[0] == "bread-baker"


# Several threads.

MESSAGES = (LOAF, BY_WORDS, "an envelope and a stamp", "hello", "/bread-baker", "", ODD, "部署")


def test_threads_at_once_get_the_answers_of_one(world: RoutingWorld) -> None:
    alone = [world.service().route(message) for message in MESSAGES]
    service = world.service()

    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(service.route, MESSAGES * 10))

    assert together == alone * 10


def test_threads_that_come_first_together_index_once(
    world: RoutingWorld, encoder: SmallEncoder
) -> None:
    service, everyone = world.service(), threading.Barrier(4)

    def arrive() -> None:
        # Whoever else is encoding by now has come here too; alone, one does not wait for long.
        try:
            everyone.wait(timeout=0.2)
        except threading.BrokenBarrierError:
            encoder.before = lambda: None

    encoder.before = arrive
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(service.route, [LOAF] * 4))

    assert max(Counter(text for text in encoder.asked if text != LOAF).values()) == 1


def test_an_agent_does_not_wait_for_the_index_of_another(
    world: RoutingWorld, encoder: SmallEncoder
) -> None:
    _with_writer(world)
    world.config.settings = replace(
        world.config.settings,
        agents=(
            AgentSettings(id="main", default=True, skills=("bread-baker",), skills_inherited=False),
            world.config.settings.agents[1],
        ),
    )
    world.skills.refresh()
    service, started, go_on = world.service(), threading.Event(), threading.Event()
    service.index()

    def take_long() -> None:
        started.set()
        go_on.wait(timeout=100)

    encoder.before = take_long
    with ThreadPoolExecutor(2) as pool:
        other = pool.submit(service.index, "clerk")
        assert started.wait(timeout=60)
        mine = pool.submit(service.route, "/bread-baker")
        done, _ = wait([mine], timeout=60)
        go_on.set()
        other.result()

    assert mine in done


def test_threads_meet_a_change_of_skills_unharmed(world: RoutingWorld) -> None:
    service, done = world.service(), threading.Event()

    def change() -> None:
        for number in range(30):
            skills = (BAKER, RIDER, WRITER)[: 1 + number % 3]
            world.change(*skills)
        done.set()

    def ask() -> list[str]:
        found = []
        while not done.is_set():
            found.append(service.route(LOAF).considered[0].skill.name)
        return found

    with ThreadPoolExecutor(4) as pool:
        asking = [pool.submit(ask) for _ in range(3)]
        pool.submit(change).result()

    # The baker is there all the time.
    assert {name for asked in asking for name in asked.result()} <= {"bread-baker"}


# A judge that reads the best skills again.

TIED = "bake bread for the bicycle"


def test_there_is_no_judge_by_default(world: RoutingWorld) -> None:
    judge = SmallJudge("bike")
    world.judges["mine"] = judge

    route = world.service().route(TIED)

    assert judge.judged == []
    assert "judged" not in route.considered[0].signals


def test_a_judge_has_its_say_on_the_best_skills(world: RoutingWorld) -> None:
    world.judges["mine"] = SmallJudge("bike")
    service = world.service()
    before = {match.skill.name: match.score for match in service.route(TIED).considered}

    world.choose(rerank="mine")
    after = {match.skill.name: match for match in service.route(TIED).considered}

    assert after["bread-baker"].signals["judged"] < 0
    assert after["bread-baker"].score < before["bread-baker"]
    assert "judged" not in after["bike-repair"].signals


def test_a_judge_that_fails_is_told_and_the_answer_stands_without_it(world: RoutingWorld) -> None:
    world.judges["mine"] = SmallJudge("bike", failure="does not run.")
    plain = world.service().route(TIED)
    world.choose(rerank="mine")

    route = world.service().route(TIED)

    assert route.considered == plain.considered
    assert "does not run" in " ".join(route.notes)


def test_a_judge_reads_a_handful_of_skills_and_no_more(world: RoutingWorld) -> None:
    crowd = [make_skill(f"baker-{at}", description="Bakes bread.") for at in range(40)]
    judge = SmallJudge("bike")
    world.judges["mine"] = judge
    world.change(*crowd)
    world.choose(rerank="mine")

    world.service().route(TIED)

    assert judge.calls == [10]


def test_a_judge_that_fails_is_left_alone_for_a_while(world: RoutingWorld) -> None:
    judge = SmallJudge("bike", failure="does not run.")
    world.judges["mine"] = judge
    world.choose(rerank="mine")
    service = world.service()

    answers = [service.route(f"{TIED} {number}") for number in range(5)]

    assert len(judge.calls) == 1
    # Every one of them says so, not only the first.
    assert all("does not run" in " ".join(route.notes) for route in answers)


def test_a_judge_that_failed_is_asked_again_after_a_pause(world: RoutingWorld) -> None:
    judge = SmallJudge("bike", failure="does not run.")
    world.judges["mine"] = judge
    world.choose(rerank="mine")
    service = world.service()
    service.route(TIED)
    judge.failure = ""
    world.now += A_WHILE

    route = service.route(TIED)

    assert judge.judged == [TIED]
    assert route.notes == ()


def test_a_judge_does_not_pay_for_the_one_before_it(world: RoutingWorld) -> None:
    world.judges["broken"] = SmallJudge("bike", failure="does not run.")
    world.judges["mine"] = judge = SmallJudge("bike")
    world.choose(rerank="broken")
    service = world.service()
    service.route(TIED)

    world.choose(rerank="mine")
    route = service.route(TIED)

    assert judge.judged == [TIED]
    assert route.notes == ()


@pytest.mark.parametrize("message", [TIED, "/bread-baker", ""])
def test_a_judge_that_is_not_wanted_any_more_is_not_missed(
    world: RoutingWorld, message: str
) -> None:
    world.judges["mine"] = SmallJudge("bike", failure="does not run.")
    world.choose(rerank="mine")
    service = world.service()
    service.route(TIED)

    world.choose(rerank="off")

    assert service.route(message).notes == ()


def test_a_judge_that_fails_does_not_degrade_the_answer(world: RoutingWorld) -> None:
    world.judges["mine"] = SmallJudge("bike", failure="does not run.")
    world.choose(rerank="mine")
    service = world.service()

    assert service.route(TIED).status is Status.OK
    assert service.problem == ""


@pytest.mark.parametrize("message", ["/bread-baker", "yes, do it", ""])
def test_what_is_said_outright_is_not_judged(world: RoutingWorld, message: str) -> None:
    judge = SmallJudge("bike")
    world.judges["mine"] = judge
    world.choose(rerank="mine")

    world.service().route(message)

    assert judge.calls == []


def test_there_is_no_judge_without_an_encoder(world: RoutingWorld) -> None:
    judge = SmallJudge("bike")
    world.judges["mine"] = judge
    world.choose("none", rerank="mine")

    world.service().route(TIED)

    assert judge.calls == []


def test_an_index_that_is_made_in_time_answers_whoever_is_in_a_hurry() -> None:
    service = make_world(BAKER, encoder=SmallEncoder()).service()
    service.hurries = Hurry(least_skills=1, seconds=60)

    assert service.route(LOAF).status is Status.OK


def test_whoever_ends_waits_for_an_index_that_is_being_made() -> None:
    go_on = threading.Event()

    def wait_for_it() -> None:
        go_on.wait(60)

    service = make_world(BAKER, encoder=SmallEncoder(before=wait_for_it)).service()
    service.hurries = Hurry(least_skills=1)

    assert service.route(LOAF).status is Status.DEGRADED
    go_on.set()
    service.finish(60)
    assert service.route(LOAF).status is Status.OK


def test_while_many_skills_are_encoded_words_answer_and_say_how_far_it_is() -> None:
    go_on, ended = threading.Event(), threading.Event()

    def wait_for_it() -> None:
        go_on.wait(60)

    encoder = SmallEncoder(before=wait_for_it)
    many = [make_skill(f"clerk-{number}", description="Files a form.") for number in range(500)]
    service = make_world(BAKER, *many, encoder=encoder).service()
    service.hurries = Hurry()
    told: list[tuple[int, int]] = []

    def tell(_agent: str, done: int, total: int) -> None:
        told.append((done, total))
        if not total:
            ended.set()

    service.indexing = tell
    first = service.route("bread-baker, please bake bread and rolls in the oven")
    go_on.set()
    assert ended.wait(60)
    later = service.route(LOAF)

    assert first.considered[0].skill.name == "bread-baker"
    assert first.status is Status.DEGRADED
    assert any("still being indexed" in note for note in first.notes)
    assert later.status is Status.OK
    assert told[0] == (0, 501)
    assert told[-1] == (0, 0)
    assert any(0 < done <= total for done, total in told)
