from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rows import each_row
from tests.unit.routing.vectors import WIDTH, ask, make_index

from prowess.routing import router
from prowess.routing.handoffs_and_passages import SkillEvidence, add_handoffs, read_evidence
from prowess.routing.lexical_and_breadth import read_messages
from prowess.routing.message_kinds import Everyday
from prowess.routing.model import Decision, Route, Status, Thresholds
from prowess.routing.router import Context, Ranking, RouteChoice, SkillIndex, list_index_texts
from prowess.skills.model import Skill, Triggers
from prowess.testing import make_skill

EVERYDAY = read_messages().everyday

BAKER = make_skill("bread-baker", description="Bakes bread and rolls in the oven.")
RIDER = make_skill("bike-repair", description="Repairs a bicycle: chain, brakes and tyres.")
WRITER = make_skill("letter-writer", description="Writes letters and cards for every occasion.")
ALL = (BAKER, RIDER, WRITER)
INDEX = make_index(*ALL)
WORDS_ONLY = make_index(*ALL, meaning=False)


def _route(
    message: str,
    index: SkillIndex = INDEX,
    *,
    context: Context | None = None,
    choice: RouteChoice | None = None,
) -> Route:
    choice = choice or RouteChoice()
    query = ask(message, context)
    return router.outright(index, query, choice) or router.route(index, query, choice)


def _rank(message: str, *skills: Skill, context: Context | None = None) -> Ranking:
    return router.rank(make_index(*skills) if skills else INDEX, ask(message, context))


def _best(route: Route) -> str:
    return route.considered[0].skill.name


def _chosen(route: Route) -> list[str]:
    return [match.skill.name for match in route.matches]


@pytest.mark.parametrize(
    ("message", "best"),
    [
        ("bake a sourdough loaf", "bread-baker"),
        ("a puncture in the saddle of my wheel", "bike-repair"),
        ("an envelope and a stamp for the correspondence", "letter-writer"),
    ],
)
def test_a_skill_is_found_by_meaning_without_a_shared_word(message: str, best: str) -> None:
    route = _route(message)

    assert _best(route) == best
    assert route.considered[0].signals["meaning"] > 0


def test_words_alone_find_a_skill_where_there_is_no_vector() -> None:
    query = router.read("repair the chain and the brakes of my bicycle")

    route = router.route(WORDS_ONLY, query, RouteChoice())

    assert route.status is Status.DEGRADED
    assert route.decision is Decision.LOAD
    assert _chosen(route) == ["bike-repair"]
    assert "meaning" not in route.matches[0].signals


def test_an_index_with_vectors_still_answers_a_message_without_one() -> None:
    query = router.read("repair the chain and the brakes of my bicycle")

    route = router.route(INDEX, query, RouteChoice())

    assert route.status is Status.DEGRADED
    assert _best(route) == "bike-repair"


@pytest.mark.parametrize("message", ["", "   ", "\n\t", "\0\0"])
def test_an_empty_message_needs_no_skill(message: str) -> None:
    route = router.outright(INDEX, router.read(message), RouteChoice())

    assert route is not None
    assert (route.decision, route.matches) == (Decision.NONE, ())


def test_without_skills_there_is_nothing_to_load() -> None:
    route = router.outright(make_index(), router.read("bake bread"), RouteChoice())

    assert route is not None
    assert (route.decision, route.considered) == (Decision.NONE, ())


@pytest.mark.parametrize("message", ["/bike-repair", "bike-repair", "/bike-repair bake my bread"])
def test_a_skill_that_is_called_wins_at_once(message: str) -> None:
    route = router.outright(INDEX, router.read(message), RouteChoice())

    assert route is not None
    assert route.decision is Decision.LOAD
    assert _chosen(route) == ["bike-repair"]
    assert route.matches[0].score == 1
    assert route.matches[0].reasons == ("the message calls it by name",)


def test_a_message_that_has_to_be_understood_is_not_settled_outright() -> None:
    assert router.outright(INDEX, router.read("bake bread"), RouteChoice()) is None


def test_a_skill_that_is_hidden_from_the_model_is_loaded_when_it_is_called() -> None:
    index = make_index(BAKER, replace(RIDER, invocation=replace(RIDER.invocation, model=False)))

    assert _chosen(_route("/bike-repair", index)) == ["bike-repair"]


def test_a_skill_that_is_hidden_from_the_model_is_never_found() -> None:
    index = make_index(BAKER, replace(RIDER, invocation=replace(RIDER.invocation, model=False)))

    route = _route("repair the chain and brakes of my bicycle", index)

    assert "bike-repair" not in [match.skill.name for match in route.considered]


def test_a_skill_that_users_may_not_call_is_not_called() -> None:
    index = make_index(BAKER, replace(RIDER, invocation=replace(RIDER.invocation, user=False)))

    assert router.outright(index, router.read("/bike-repair"), RouteChoice()) is None


@pytest.mark.parametrize("other", ["bread-baker", "ride"])
def test_a_name_wins_over_the_key_of_another_skill(other: str) -> None:
    keyed = make_skill(other, key="rider")
    index = make_index(keyed, make_skill("rider", description="Rides."))

    assert _chosen(_route("/rider", index)) == ["rider"]


@pytest.mark.parametrize("name", ["proceed", "continue", "next"])
def test_the_exact_name_of_a_skill_wins_even_where_it_sounds_like_going_on(name: str) -> None:
    index = make_index(BAKER, make_skill(name, description="Plans what comes."))

    assert _chosen(_route(name, index)) == [name]


def test_a_follow_up_loads_what_was_loaded_last() -> None:
    route = _route("yes, do it", context=Context(last=("bike-repair",)))

    assert route.decision is Decision.LOAD
    assert _chosen(route) == ["bike-repair"]
    assert route.matches[0].reasons == ("the message goes on with what was loaded last",)


def test_a_follow_up_without_anything_before_loads_nothing_and_says_so() -> None:
    route = _route("yes, do it")

    assert route.decision is Decision.NONE
    assert "nothing was" in route.notes[0]


def test_a_follow_up_on_a_skill_that_is_gone_loads_nothing_and_says_so() -> None:
    route = _route("yes, do it", context=Context(last=("gone",)))

    assert (route.decision, route.matches) == (Decision.NONE, ())
    assert "gone is not here any more" in route.notes[0]


def test_a_follow_up_on_a_skill_that_is_loaded_still_says_that_it_is_kept() -> None:
    context = Context(last=("bike-repair",), loaded=frozenset(("bike-repair",)))

    route = _route("yes, do it", context=context)

    assert (route.decision, route.matches) == (Decision.NONE, ())
    (note,) = route.notes
    assert note.startswith("the message goes on with what was loaded last")
    assert "bike-repair is kept" in note
    assert route.considered[0].reasons[0] == "the message goes on with what was loaded last"


def test_a_follow_up_inherits_no_more_skills_than_may_be_loaded() -> None:
    context = Context(last=("bike-repair", "bread-baker", "letter-writer"))

    assert len(_route("go ahead", context=context, choice=RouteChoice(most=2)).matches) == 2
    assert _route("go ahead", context=context, choice=RouteChoice(most=0)).decision is Decision.NONE


def test_what_is_loaded_already_is_left_out() -> None:
    context = Context(loaded=frozenset(("bread-baker",)))

    route = _route("bake a loaf of bread", context=context)

    assert "bread-baker" not in [match.skill.name for match in route.considered]


def test_calling_what_is_loaded_already_loads_nothing_and_says_so() -> None:
    route = _route("/bread-baker", context=Context(loaded=frozenset(("bread-baker",))))

    assert (route.decision, route.matches) == (Decision.NONE, ())
    assert any("loaded already" in note for note in route.notes)


def test_a_follow_up_does_not_load_again_what_is_loaded_already() -> None:
    context = Context(loaded=frozenset(("bread-baker",)), last=("bread-baker",))

    assert _route("yes, do it", context=context).matches == ()


def test_a_skill_that_is_asked_for_wins_over_what_the_message_is_about() -> None:
    route = _route("use letter-writer to tell them about the bread in the oven")

    assert _chosen(route)[0] == "letter-writer"
    assert "the message names it" in route.matches[0].reasons


def test_a_skill_that_only_occurs_does_not_win() -> None:
    route = _route("I just finished letter-writer. Now bake bread rolls in the oven")

    assert _best(route) == "bread-baker"


def test_a_trigger_of_the_author_raises_its_skill() -> None:
    plain = make_skill("kitchen", description="Cooks.")
    triggered = replace(
        plain, metadata=replace(plain.metadata, triggers=Triggers(any=("warm it up",)))
    )

    before = _rank("please warm it up", plain, *ALL)
    after = _rank("please warm it up", triggered, *ALL)

    assert after.scores[0] > before.scores[0]
    assert after.order[0] == 0


def test_a_veto_of_the_author_takes_the_skill_out() -> None:
    vetoed = replace(BAKER, metadata=replace(BAKER.metadata, triggers=Triggers(none=("cake",))))

    ranking = _rank("bake bread and a cake", vetoed, RIDER)

    assert 0 not in ranking.order
    assert "triggers.none" in ranking.excluded[0]
    assert 0 in _rank("bake bread", vetoed, RIDER).order


def test_a_file_at_hand_raises_the_skill_that_is_for_it() -> None:
    for_files = replace(RIDER, globs=("*.bike",))
    index = make_index(BAKER, for_files)

    plain = router.rank(index, ask("please look at this"))
    at_hand = router.rank(index, ask("please look at this", Context(paths=("blue.bike",))))

    assert at_hand.scores[1] > plain.scores[1]
    assert at_hand.evidence[0] == plain.evidence[0]


_HAND_OFFS = pytest.mark.parametrize(
    "sentence",
    [
        "For toasting crumpets use bread-baker instead.",
        "Not for toasting crumpets (use bread-baker).",
        "Not for toasting crumpets, use bread-baker.",
        # As the bundled skills say it, and as the skill about authoring tells others to.
        "Not for toasting crumpets; use bread-baker.",
    ],
)


@_HAND_OFFS
def test_a_hand_off_sends_the_message_to_the_other_skill(sentence: str) -> None:
    broad = make_skill("kitchen", description=f"Cooks every meal. {sentence}")

    route = _route("toasting crumpets", make_index(broad, *ALL))

    assert _best(route) == "bread-baker"


@_HAND_OFFS
def test_a_hand_off_becomes_a_phrase_of_the_skill_it_names(sentence: str) -> None:
    broad = make_skill("kitchen", description=f"Cooks. {sentence}")

    _, baker = add_handoffs([read_evidence(skill) for skill in (broad, BAKER)])

    assert any("crumpets" in phrase for phrase in baker.phrases)


def test_a_hand_off_to_a_skill_that_is_not_there_changes_nothing() -> None:
    lonely = read_evidence(
        make_skill("shop", description="Sells. For shoes use shoe-shop instead.")
    )

    assert add_handoffs([lonely, read_evidence(BAKER)]) == [lonely, read_evidence(BAKER)]


def test_a_list_of_quoted_requests_leaves_no_scraps_behind() -> None:
    quoting = make_skill(
        description='Plans. Use when the user asks "what now", "and then" or "how".'
    )

    phrases = read_evidence(quoting).phrases

    assert {"what now", "and then"} <= set(phrases)
    assert [phrase for phrase in phrases if ", ," in phrase or phrase == "or"] == []


def test_a_skill_hands_nothing_over_to_itself() -> None:
    own = SkillEvidence(name="x", positive="y")

    assert add_handoffs([own]) == [own]


def test_a_message_that_leans_to_small_talk_scores_lower() -> None:
    # A line that takes all that is said on the small encoder's fourth topic for small talk.
    line = Everyday(direction=-np.eye(WIDTH, dtype=np.float32)[3], turn=0.0, weight=1.0)
    message = ask("hello, good morning: bake bread")

    plain = router.rank(replace(INDEX, everyday=None), message)
    leaning = router.rank(replace(INDEX, everyday=line), message)

    assert leaning.leaning < 0 == plain.leaning
    assert leaning.confidence < plain.confidence
    assert leaning.order == plain.order


@each_row("message", EVERYDAY[:12])
def test_small_talk_loads_nothing(message: str) -> None:
    assert _route(message).decision is not Decision.LOAD


def test_at_most_so_many_skills_are_loaded() -> None:
    twins = [make_skill(f"baker-{at}", description="Bakes bread and rolls.") for at in range(6)]

    route = _route("bake bread and rolls", make_index(*twins, RIDER), choice=RouteChoice(most=2))

    assert route.decision is Decision.LOAD
    assert len(route.matches) == 2


def test_none_may_be_loaded_and_the_best_are_still_shown() -> None:
    route = _route("bake bread", choice=RouteChoice(most=0))

    assert (route.decision, route.matches) == (Decision.NONE, ())
    assert _best(route) == "bread-baker"
    assert _route("/bread-baker", choice=RouteChoice(most=0)).decision is Decision.NONE


@pytest.mark.parametrize("count", [0, 1, 2, 50])
def test_as_many_skills_are_shown_as_are_wanted(count: int) -> None:
    route = _route("bake a loaf", choice=RouteChoice(considered=count))

    assert len(route.considered) == min(count, 3)
    scores = [match.score for match in route.considered]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("message", ["bake a loaf", "/bread-baker", "yes, do it"])
def test_no_skill_is_shown_where_none_is_wanted(message: str) -> None:
    route = _route(
        message, context=Context(last=("bread-baker",)), choice=RouteChoice(considered=0)
    )

    assert _chosen(route) == ["bread-baker"]
    assert route.considered == ()


def test_the_thresholds_decide() -> None:
    def decide(load: float, offer: float) -> Decision:
        thresholds = Thresholds(load=load, offer=offer)
        return _route("bake a loaf", choice=RouteChoice(thresholds=thresholds)).decision

    score = _route("bake a loaf").considered[0].score

    assert 0 < score < 1
    assert decide(score - 0.01, 0.0) is Decision.LOAD
    assert decide(1.0, score - 0.01) is Decision.OFFER
    assert decide(1.0, 1.0) is Decision.NONE


def test_the_answer_tells_the_thresholds_it_was_decided_by() -> None:
    thresholds = Thresholds(load=0.7, offer=0.1)

    for message in ("bake a loaf", "/bread-baker", "", "yes"):
        assert _route(message, choice=RouteChoice(thresholds=thresholds)).thresholds == thresholds


def test_every_match_says_why() -> None:
    first = _route("repair the chain of my bicycle").considered[0]

    assert any('"Repairs a bicycle: chain, brakes and tyres' in reason for reason in first.reasons)
    assert any(
        reason.startswith("shares the words") and "chain" in reason for reason in first.reasons
    )
    assert {"meaning", "words"} <= set(first.signals)


def test_a_message_near_to_what_a_skill_is_not_for_is_told_so() -> None:
    picky = make_skill("baker", description="Bakes rolls. Not for bicycle tyres and brakes.")

    first = _route("new brakes and tyres for the bicycle", make_index(picky)).considered[0]

    assert any("not for" in reason for reason in first.reasons)
    assert first.signals["negation"] < 0


def test_signals_rank_the_skills() -> None:
    route = _route(
        "use letter-writer for a card about bread and a bike", choice=RouteChoice(most=3)
    )

    sums = [sum(match.signals.values()) for match in route.considered]

    assert sums == sorted(sums, reverse=True)


def test_an_english_encoder_leaves_a_script_without_a_dictionary_to_words() -> None:
    thai = make_skill("prapchai", description="ปรับใช้แอปไปยังเซิร์ฟเวอร์")
    index = make_index(BAKER, thai)

    route = _route("ช่วยปรับใช้แอปไปยังเซิร์ฟเวอร์", index)

    assert _chosen(route) == ["prapchai"]
    assert "meaning" not in route.matches[0].signals
    assert route.status is Status.OK


def test_an_encoder_of_many_languages_has_its_say_on_chinese() -> None:
    chinese = make_skill("bushu", description="部署应用到服务器")
    index = make_index(BAKER, chinese, english_only=False)

    assert "meaning" in _route("部署应用到服务器", index).considered[0].signals


@pytest.mark.parametrize("english_only", [True, False])
def test_an_english_encoder_has_no_say_on_a_skill_in_thai(english_only: bool) -> None:  # noqa: FBT001
    thai = make_skill("bushu", description="ปรับใช้แอปไปยังเซิร์ฟเวอร์")
    index = make_index(BAKER, RIDER, thai, english_only=english_only)

    # Its name is a word in Latin letters, so every encoder has something to compare.
    matches = _route("what about bushu and bread", index).considered
    signals = {match.skill.name: match.signals for match in matches}

    assert "words" in signals["bushu"]
    assert "meaning" in signals["bread-baker"]
    assert ("meaning" in signals["bushu"]) is not english_only


@each_row("message", ["...", "?!", "\N{PARTY POPPER}", "\u200b", "x" * 500])
def test_a_message_without_a_word_is_not_compared_by_meaning(message: str) -> None:
    ranking = _rank(message)

    assert (ranking.fused.meaning, ranking.leaning) == (0, 0)
    assert "meaning" not in ranking.fused.parts
    assert _route(message).decision is Decision.NONE


def test_words_of_a_skill_that_has_one_for_every_message_count_for_less() -> None:
    talker = make_skill("talker", description="Says hello, tells a joke about the weather.")

    first = _route("tell me a joke", make_index(BAKER, RIDER, talker)).considered[0]

    assert first.skill.name == "talker"
    assert first.signals["common"] < 0 < first.signals["words"] + first.signals["common"]


def test_a_long_message_is_matched_by_the_part_that_asks() -> None:
    log = "\n".join(f"2026-01-01 12:00:{at:02} ERROR bicycle chain brakes" for at in range(59))
    message = f"Please bake a loaf of sourdough bread in the oven for us.\n```\n{log}\n```"

    assert _best(_route(message)) == "bread-baker"


def test_every_text_that_an_index_needs_is_named() -> None:
    evidence = [read_evidence(skill) for skill in ALL]

    texts = set(list_index_texts(evidence))

    assert {one.text for one in evidence} <= texts
    assert set(EVERYDAY) <= texts


def test_skills_that_are_out_are_scored_zero_and_do_not_lead() -> None:
    ranking = _rank("bake bread", context=Context(loaded=frozenset(("bread-baker",))))

    assert ranking.scores[0] == 0
    assert ranking.confidence == max(ranking.scores)


def test_all_skills_may_be_out() -> None:
    context = Context(loaded=frozenset(skill.name for skill in ALL))

    route = _route("bake bread", context=context)

    assert (route.decision, route.considered) == (Decision.NONE, ())
    assert _rank("bake bread", context=context).confidence == 0


_MESSAGES = st.text(max_size=80) | st.lists(
    st.sampled_from(
        [
            "bake",
            "bread",
            "/bike-repair",
            "use",
            "letter-writer",
            "yes",
            "hello",
            "部署",
            "\0",
            "\ud800",
        ]
    ),
    max_size=10,
).map(" ".join)


@settings(max_examples=120, deadline=None)
@given(_MESSAGES, st.integers(0, 4), st.integers(0, 6))
def test_any_message_is_answered_within_its_bounds(message: str, most: int, shown: int) -> None:
    route = _route(message, choice=RouteChoice(most=most, considered=shown))

    assert len(route.matches) <= most
    assert (route.decision is Decision.NONE) == (not route.matches)
    for match in (*route.matches, *route.considered):
        assert 0 <= match.score <= 1
        assert all(np.isfinite(worth) for worth in match.signals.values())
        assert all("\n" not in reason for reason in match.reasons)
    if route.decision is Decision.LOAD:
        assert all(match.score >= route.thresholds.load for match in route.matches)


@settings(max_examples=40, deadline=None)
@given(_MESSAGES)
def test_the_same_message_has_the_same_answer(message: str) -> None:
    assert _route(message) == _route(message)


@settings(max_examples=30, deadline=None)
@given(st.permutations(ALL))
def test_the_order_of_the_skills_does_not_matter(skills: list[Skill]) -> None:
    route = _route("bake a loaf of bread", make_index(*skills))

    assert _best(route) == "bread-baker"
    assert route.considered[0].score == pytest.approx(
        _route("bake a loaf of bread").considered[0].score, abs=1e-4
    )
