from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.skills.agent_filter_snapshot import AgentFilter, Snapshot, SnapshotSkill, fingerprint
from prowess.skills.model import Metadata, Requirements, Skill, Tier
from prowess.skills.prompt import PromptBlock
from prowess.testing import make_skill

WORDS = st.text(alphabet=st.characters(codec=None), max_size=8)
SKILL_PARTS = st.tuples(WORDS, WORDS, st.sampled_from(Tier))
ENTRIES = st.none() | st.lists(WORDS, max_size=3).map(tuple)


def build(parts: list[tuple[str, str, Tier]]) -> list[Skill]:
    return [make_skill(name, description=text, tier=tier) for name, text, tier in parts]


@settings(max_examples=60, deadline=None)
@given(st.lists(SKILL_PARTS, max_size=4), ENTRIES, WORDS)
def test_equal_inputs_give_equal_hashes(
    parts: list[tuple[str, str, Tier]], entries: tuple[str, ...] | None, prompt: str
) -> None:
    one = fingerprint(build(parts), AgentFilter(entries=entries), prompt)
    other = fingerprint(build(parts), AgentFilter(entries=entries), prompt)

    assert one == other


@each_row(
    "skill",
    [
        make_skill("other"),
        make_skill(key="other"),
        make_skill(tier=Tier.BUNDLED),
        make_skill(path="/other"),
        make_skill(content_hash="other"),
    ],
)
def test_whatever_changes_in_meaning_changes_the_hash(skill: Skill) -> None:
    before = fingerprint([make_skill()], AgentFilter(), "prompt")

    assert fingerprint([skill], AgentFilter(), "prompt") != before


def test_a_filter_another_prompt_or_no_skill_change_the_hash_too() -> None:
    hashes = {
        fingerprint([make_skill()], AgentFilter(), "prompt"),
        fingerprint([make_skill()], AgentFilter(entries=()), "prompt"),
        fingerprint([make_skill()], AgentFilter(entries=("deploy",)), "prompt"),
        fingerprint([make_skill()], AgentFilter(), "another prompt"),
        fingerprint([], AgentFilter(), "prompt"),
    }

    assert len(hashes) == 5


def test_where_a_filter_came_from_does_not_change_the_hash() -> None:
    own, inherited = AgentFilter(entries=("a",)), AgentFilter(entries=("a",), inherited=True)

    assert fingerprint([], own, "") == fingerprint([], inherited, "")


def test_a_snapshot_says_what_a_run_needs_of_each_usable_skill() -> None:
    metadata = Metadata(
        skill_key="ship", primary_env="TOKEN", requires=Requirements(env=("TOKEN", "URL"))
    )
    hidden, shown = make_skill(metadata=metadata, model=False), make_skill("review")

    snapshot = Snapshot(
        agent_id="main",
        version=1,
        hash="h",
        block=PromptBlock(text="the block", included=(shown,)),
        usable=(hidden, shown),
    )

    assert snapshot.skills == (
        SnapshotSkill(
            name="deploy", key="ship", primary_env="TOKEN", required_env=("TOKEN", "URL")
        ),
        SnapshotSkill(name="review", key="review"),
    )
    assert snapshot.resolved == (shown,)
    assert snapshot.prompt == "the block"
