from tests.rows import each_row

from prowess.skills.model import Requirements, Source, Tier
from prowess.testing import make_skill


def test_every_tier_has_a_name_of_its_own_on_the_wire() -> None:
    names = [tier.source_id for tier in Tier]

    assert len(set(names)) == len(Tier)
    assert (names[0], names[-1]) == ("openclaw-extra", "openclaw-workspace")


@each_row("tier", Tier)
def test_links_are_kept_on_purpose_only_in_managed_and_personal_folders(tier: Tier) -> None:
    personal = {Tier.MANAGED, Tier.HARNESS_PERSONAL, Tier.AGENTS_PERSONAL}

    assert Source(tier=tier, root="/x").links_allowed is (tier in personal)


@each_row(
    "requires",
    [
        Requirements(bins=("x",)),
        Requirements(any_bins=("x",)),
        Requirements(env=("x",)),
        Requirements(config=("x",)),
        Requirements(os=("x",)),
    ],
)
def test_a_single_requirement_of_any_kind_counts(requires: Requirements) -> None:
    assert requires
    assert not Requirements()


def test_a_skill_is_known_to_the_config_by_its_key_or_else_by_its_name() -> None:
    assert make_skill("deploy", key="ship").key == "ship"
    assert make_skill("deploy").key == "deploy"


def test_only_what_prowess_ships_is_bundled() -> None:
    assert [tier for tier in Tier if make_skill(tier=tier).bundled] == [Tier.BUNDLED]
