"""The budget of the prompt block: what shrinks, who is dropped, and what is said about it."""

import pytest

from .world import NO_BUNDLED, World, entries, prose

PLENTY = 1_000_000
# What a description costs beside its text: `    <description></description>` and a line end.
DESCRIPTION_LINE = 32


def limits(world: World, *, pinned: tuple[str, ...] = (), **values: int) -> None:
    """Set `skills.limits`, with the extra folder read and the bundled skills kept out."""
    load = {"extraDirs": [str(world.extra)]}
    world.settings(**NO_BUNDLED, limits=values, load=load, pinned=list(pinned))


def many(world: World, count: int, letters: int) -> None:
    """Write skills with descriptions of so many letters."""
    for number in range(count):
        world.skill(f"skill-{number:02}", description="x" * letters)


@pytest.fixture(autouse=True)
def _in_the_home(world: World) -> None:
    world.extra.mkdir(parents=True)
    world.move_workspace(world.home / "w")
    limits(world)


def whole(world: World) -> int:
    """How long the block is when nothing is cut."""
    limits(world, maxSkillsPromptChars=PLENTY)
    return len(world.prompt())


@pytest.mark.requirement("budget:characters")
def test_full_descriptions_stay_while_they_fit(world: World) -> None:
    many(world, 20, 300)
    room = whole(world)

    limits(world, maxSkillsPromptChars=room)

    prompt = world.prompt()
    assert len(prompt) == room
    assert [entry["description"] for entry in entries(prompt)] == ["x" * 300] * 20


@pytest.mark.requirement("budget:regrows-evenly", "budget:identities-first")
def test_over_budget_every_identity_stays_and_descriptions_shrink_evenly(world: World) -> None:
    many(world, 20, 300)
    world.skill("tiny", description="Tiny.")
    identities = whole(world) - 20 * (300 + DESCRIPTION_LINE)
    budget = identities + 20 * (100 + DESCRIPTION_LINE) + 500

    limits(world, maxSkillsPromptChars=budget)

    prompt = world.prompt()
    lengths = {entry["name"]: len(entry["description"]) for entry in entries(prompt)}
    assert len(prompt) <= budget
    assert lengths.pop("tiny") == len("Tiny.")
    assert len(lengths) == 20
    assert len(set(lengths.values())) == 1
    assert 90 <= min(lengths.values()) <= 130


@pytest.mark.requirement("budget:regrows-evenly")
def test_the_shared_length_is_the_longest_that_fits(world: World) -> None:
    many(world, 20, 300)
    budget = whole(world) - 2500

    limits(world, maxSkillsPromptChars=budget)

    assert 0 <= budget - len(world.prompt()) < 20


@pytest.mark.requirement("budget:regrows-evenly")
def test_a_regrown_description_has_at_most_220_characters(world: World) -> None:
    many(world, 10, 900)
    room = whole(world)

    limits(world, maxSkillsPromptChars=room - 50)

    assert {len(entry["description"]) for entry in entries(world.prompt())} == {220}


@pytest.mark.requirement("budget:regrows-evenly")
def test_a_regrown_description_has_at_least_4_characters(world: World) -> None:
    many(world, 20, 300)
    identities = whole(world) - 20 * (300 + DESCRIPTION_LINE)
    shown = set()

    for room in range(0, 1200, 50):
        limits(world, maxSkillsPromptChars=identities + room)
        shown |= {len(entry.get("description", "")) for entry in entries(world.prompt())}

    assert 0 in shown
    assert min(shown - {0}) >= 4


@pytest.mark.requirement("budget:identities-first")
def test_descriptions_go_before_identities(world: World) -> None:
    many(world, 20, 300)
    identities = whole(world) - 20 * (300 + DESCRIPTION_LINE)

    limits(world, maxSkillsPromptChars=identities + 400)

    shown = entries(world.prompt())
    assert len(shown) == 20
    assert not any("description" in entry for entry in shown)


@pytest.mark.requirement("budget:note")
@pytest.mark.parametrize("short_of", [1000, 6500], ids=["shortened", "left out"])
def test_a_compact_block_says_so(world: World, short_of: int) -> None:
    many(world, 20, 300)
    room = whole(world)
    full = prose(world.prompt())

    limits(world, maxSkillsPromptChars=room - short_of)

    note = prose(world.prompt())
    assert "description" not in full.splitlines()[0]
    assert "descriptions" in note.splitlines()[0]
    assert "prowess check" in note.splitlines()[0]


@pytest.mark.requirement("budget:note", "budget:count")
def test_the_note_tells_how_many_of_how_many_are_in(world: World) -> None:
    many(world, 17, 10)

    limits(world, maxSkillsInPrompt=13)

    assert "13 of 17" in prose(world.prompt())
    assert world.document("check")["summary"]["droppedFromPrompt"] == 4


@pytest.mark.requirement("prompt:worth-not-alphabet", "worth:higher-tier")
def test_who_is_dropped_is_decided_by_worth_not_by_the_alphabet(world: World) -> None:
    world.skill("zebra", description="Stripes.")
    alone = whole(world)
    for number in range(30):
        world.skill(f"aaa-{number:02}", root=world.extra)

    limits(world, maxSkillsPromptChars=alone + 400)

    prompt = world.prompt()
    names = [entry["name"] for entry in entries(prompt)]
    assert names[-1] == "zebra"
    assert 1 < len(names) < 31
    assert names == sorted(names)
    assert len(prompt) <= alone + 400


@pytest.mark.requirement("worth:higher-tier", "prompt:order-by-name")
def test_higher_sources_stay_and_the_output_stays_in_the_order_of_names(world: World) -> None:
    for name in ("aaa", "bbb"):
        world.skill(name, root=world.extra)
    world.skill("mmm", root=world.managed)
    world.skill("nnn", root=world.personal)
    for name in ("zebra", "yak"):
        world.skill(name)

    limits(world, maxSkillsInPrompt=3)

    assert world.prompt_names() == ["nnn", "yak", "zebra"]


@pytest.mark.requirement("worth:pinned")
@pytest.mark.parametrize("pin", ["aaa", "the-key"], ids=["by name", "by key"])
def test_a_pinned_skill_of_the_lowest_source_stays_first(world: World, pin: str) -> None:
    world.skill("aaa", root=world.extra, metadata={"openclaw": {"skillKey": "the-key"}})
    for name in ("mike", "zebra"):
        world.skill(name)

    limits(world, maxSkillsInPrompt=2, pinned=(pin,))

    assert world.prompt_names() == ["aaa", "mike"]


def included(world: World) -> list[str]:
    """The names in the prompt block of a service that remembers nothing."""
    return [skill.name for skill in world.open().skills.prompt().included]


@pytest.mark.requirement("worth:recent-use", "library:record-use")
def test_recent_use_decides_within_one_source(world: World) -> None:
    for name in ("alpha", "beta", "gamma"):
        world.skill(name)
    limits(world, maxSkillsInPrompt=1)
    before = world.prompt_names()

    runtime = world.open()
    runtime.record_use("beta")
    runtime.record_use("gamma")
    runtime.record_use("beta")

    assert before == ["alpha"]
    assert included(world) == ["beta"]


@pytest.mark.requirement("worth:recent-use", "worth:higher-tier", "worth:pinned")
def test_use_counts_less_than_the_source_and_the_source_less_than_a_pin(world: World) -> None:
    world.skill("used", root=world.extra)
    world.skill("pinned", root=world.extra)
    world.skill("own")
    world.open().record_use("used")

    limits(world, maxSkillsInPrompt=1)
    by_tier = included(world)
    limits(world, maxSkillsInPrompt=1, pinned=("pinned",))

    assert by_tier == ["own"]
    assert included(world) == ["pinned"]


@pytest.mark.requirement("budget:characters")
def test_the_block_never_exceeds_its_budget(world: World) -> None:
    many(world, 30, 200)
    world.skill("marks", description="<&>\"'" * 40)

    for budget in (0, 10, 120, 600, 900, 1500, 2500, 4000):
        limits(world, maxSkillsPromptChars=budget)

        assert len(world.prompt()) <= budget


@pytest.mark.requirement("budget:characters")
def test_the_default_budget_is_18000_characters(world: World) -> None:
    many(world, 60, 900)

    prompt = world.prompt()

    assert 17_000 < len(prompt) <= 18_000
    assert len(entries(prompt)) == 60


@pytest.mark.requirement("budget:count")
def test_the_default_count_is_150(world: World) -> None:
    for number in range(160):
        world.skill(f"s{number:03}")

    limits(world, maxSkillsPromptChars=PLENTY)

    assert len(world.prompt_names()) == 150


@pytest.mark.requirement("budget:per-agent")
def test_an_agent_may_have_its_own_budget(world: World) -> None:
    many(world, 10, 300)
    tight = {"id": "tight", "skillsLimits": {"maxSkillsPromptChars": 2500}}
    world.config({"skills": NO_BUNDLED, "agents": {"list": [{"id": "roomy"}, tight]}})

    assert len(world.prompt("--agent", "tight")) <= 2500
    assert len(world.prompt("--agent", "roomy")) > 2500
