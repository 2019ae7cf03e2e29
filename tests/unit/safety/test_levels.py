"""What a sighting weighs depends on the rule, the profile and the contexts it stands in."""

from dataclasses import replace

from tests.rows import each_row

from prowess.reading.views import Spot, View
from prowess.safety.model import Level, Profile, Sighting
from prowess.safety.rules.table import read_contexts, read_rules
from prowess.safety.scan import weigh_sighting

SPOT = Spot(View.raw("SKILL.md", "x"), 0, 1)
PIPE = read_rules()["shell-pipe-to-shell"]
OTHER = read_rules()["reverse-shell"]


def weigh(rule_id: str, profile: Profile, *contexts: str, level: Level | None = None) -> Level:
    seen = Sighting(rule_id, SPOT, "seen", level=level)
    return weigh_sighting(seen, read_rules()[rule_id], profile, contexts)


def test_a_plain_sighting_weighs_what_its_rule_says() -> None:
    assert weigh(PIPE.id, Profile.PACKAGE) is PIPE.level
    assert weigh(OTHER.id, Profile.BUNDLED) is OTHER.level


def test_a_sighting_may_say_its_own_level() -> None:
    assert weigh(OTHER.id, Profile.PACKAGE, level=Level.INFO) is Level.INFO


@each_row("context", read_contexts())
def test_each_context_lowers_a_critical_finding_to_its_limit(context: str) -> None:
    assert weigh(OTHER.id, Profile.PACKAGE, context) is read_contexts()[context][0]
    assert read_contexts()[context][1].endswith(".")


@each_row("context", read_contexts())
def test_no_context_raises_a_light_finding(context: str) -> None:
    assert weigh(OTHER.id, Profile.PACKAGE, context, level=Level.INFO) is Level.INFO


def test_the_context_that_lowers_most_decides() -> None:
    assert weigh(OTHER.id, Profile.PACKAGE, "quoted", "negated") is Level.INFO


def test_a_context_may_carry_a_detail_behind_a_colon() -> None:
    assert weigh(OTHER.id, Profile.PACKAGE, "official installer: rustup") is Level.WARN


@each_row("context", read_contexts())
def test_the_original_rules_hold_literally_in_a_proposal(context: str) -> None:
    plain = weigh(PIPE.id, Profile.PROPOSAL)

    assert weigh(PIPE.id, Profile.PROPOSAL, context) is plain


def test_the_column_for_proposals_wins_over_the_sighting() -> None:
    rule = replace(OTHER, proposal=Level.WARN)
    seen = Sighting(OTHER.id, SPOT, "seen", level=Level.INFO)

    assert weigh_sighting(seen, rule, Profile.PROPOSAL, ()) is Level.WARN
    assert weigh_sighting(seen, rule, Profile.PACKAGE, ()) is Level.INFO
