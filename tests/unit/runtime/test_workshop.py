"""From a correction or a call to a proposal, and what may and may not become of it."""

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.runtime.workshop_parts import WORKSPACE, World, scan

from prowess.errors import (
    ProposalError,
    ProposalFolderError,
    ProposalInputError,
    ProposalNotFoundError,
    ProposalSecretError,
    ProposalStaleError,
    ProposalUnsafeError,
    WorkshopDisabledError,
)
from prowess.runtime.workshop.drafts import Draft, plan
from prowess.runtime.workshop.ports import Counted, ListedProposals, Written
from prowess.runtime.workshop.service import TurnSeen
from prowess.settings import ApprovalPolicy, WorkshopSettings
from prowess.workshop.edit import Append, Create
from prowess.workshop.proposal import EventKind, Proposal, ProposalSource, State

CORRECTION = "Next time, verify that the GIF has several frames."
TOKEN = "ghp_" + "aZ3kQ9xW7vB5nM1cR8tY6uI4oP2sD0fGhJkL"


def turn(
    text: str = CORRECTION, *, ok: bool = True, session_id: str = "s1", agent_id: str = ""
) -> TurnSeen:
    messages = ({"role": "assistant", "content": "Hello."}, {"role": "user", "content": text})
    return TurnSeen(messages=messages, ok=ok, session_id=session_id, agent_id=agent_id)


@pytest.fixture
def world() -> World:
    world = World()
    world.by_person = True
    return world


def suggest(world: World, body: str = "- Do it.", **more: object) -> Proposal:
    return world.proposed("suggest", skillName="notes", description="d", body=body, **more)


def test_a_correction_becomes_a_pending_proposal_for_the_skill_of_its_topic(world: World) -> None:
    (found,) = world.workshop.observe(turn(agent_id="main"))

    assert (found.skill, found.state, found.source) == (
        "animated-gif-workflow",
        State.PENDING,
        ProposalSource.AGENT_END,
    )
    assert (found.title, found.reason) == (
        "Animated GIF Workflow",
        "User correction for animated GIF tasks",
    )
    assert (found.agent_id, found.session_id) == ("main", "s1")
    assert [(one.place, one.role, one.quote) for one in found.evidence] == [(1, "user", CORRECTION)]
    assert world.folder("animated-gif-workflow").files == {}


def test_the_same_words_are_proposed_once_whatever_becomes_of_the_skills(world: World) -> None:
    (first,) = world.workshop.observe(turn())
    world.routes = lambda _message: ("other", 0.9)

    again = world.workshop.observe(turn(session_id="s2"))

    assert again == (first,)
    assert len(world.store.kept) == 1


def test_what_was_rejected_is_not_brought_up_again(world: World) -> None:
    (found,) = world.workshop.observe(turn())
    world.workshop.reject(found.id)

    assert world.workshop.observe(turn()) == ()
    assert world.states() == [State.REJECTED]


def test_what_was_applied_and_then_removed_by_hand_is_left_alone_in_that_conversation(
    world: World,
) -> None:
    (found,) = world.workshop.observe(turn())
    world.workshop.apply(found.id)
    world.write(found.skill, "# Empty\n")

    assert world.workshop.observe(turn()) == ()
    assert len(world.workshop.observe(turn(session_id="s2"))) == 1


def test_a_correction_that_belongs_to_a_skill_is_appended_there_and_says_why(world: World) -> None:
    world.write("media", "# Media\n\n## Workflow\n\n- Look.\n")
    world.routes = lambda _message: ("media", 0.876)

    (found,) = world.workshop.observe(turn())

    assert found.skill == "media"
    body = "- Verify that the GIF has several frames."
    assert found.edit == Append(section="Workflow", body=body)
    assert "belongs to media" in found.reason
    assert "0.88" in found.reason


def test_a_credential_in_a_correction_is_neither_stored_nor_logged(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "prowess.workshop")

    found = world.workshop.observe(turn(f"Next time, use the token {TOKEN} for it."))

    assert found == ()
    assert world.store.kept == {}
    assert "heuristic capture skipped" in caplog.text
    assert TOKEN not in caplog.text


def test_a_folder_that_cannot_be_read_ends_in_the_log_and_not_in_the_turn(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "prowess.workshop")
    world.folder("animated-gif-workflow").refusal = "is a link"

    assert world.workshop.observe(turn()) == ()
    assert "is a link" in caplog.text


def test_auto_adds_to_what_it_wrote_and_queues_for_what_a_person_wrote(world: World) -> None:
    world.set(approval_policy=ApprovalPolicy.AUTO)
    world.write("notes", "## Workflow\n\n- One.\n", ours=True)
    ours = suggest(world, "- Two.", section="Workflow")
    world.write("notes", "## Workflow\n\n- One.\n")
    theirs = suggest(world, "- Three.", section="Workflow")

    assert (ours.state, theirs.state) == (State.APPLIED, State.PENDING)
    assert "Three" not in world.page("notes")


def test_the_caller_may_overrule_the_policy_both_ways(world: World) -> None:
    assert suggest(world, "- One.", apply=True).state is State.APPLIED
    world.set(approval_policy=ApprovalPolicy.AUTO)
    assert suggest(world, "- Two.", apply="false").state is State.PENDING


def test_a_payload_under_another_title_is_the_same_proposal_in_every_state(world: World) -> None:
    bad = suggest(world, "BAD", title="one")
    good = suggest(world, "- fine", title="one")
    world.call("reject", id=good.id)

    assert suggest(world, "BAD", title="two").id == bad.id
    assert suggest(world, "- fine", title="two", apply=True).state is State.REJECTED
    assert len(world.store.kept) == 2


def test_what_waits_for_a_skill_follows_a_change_that_the_workshop_made(world: World) -> None:
    first, second = suggest(world, "- One."), suggest(world, "- Two.")
    world.call("apply", id=first.id)

    moved = world.workshop.inspect(second.id)
    world.call("apply", id=second.id)

    assert (moved.state, moved.revision != second.revision) == (State.PENDING, True)
    assert "- One." in world.page("notes")
    assert "- Two." in world.page("notes")


def test_two_harmless_additions_that_are_one_attack_end_in_quarantine(world: World) -> None:
    first, second = suggest(world, "- HALF."), suggest(world, "- OTHER.")

    world.call("apply", id=first.id)

    assert world.workshop.inspect(second.id).state is State.QUARANTINED


def test_what_follows_a_change_that_it_no_longer_fits_goes_stale(world: World) -> None:
    world.write("notes", "## Workflow\n\n- One.\n")
    replacing = {"skillName": "notes", "oldText": "- One.", "newText": "- 1."}
    first = world.proposed("suggest", **replacing)
    second = world.proposed("suggest", **{**replacing, "newText": "- I."})

    world.call("apply", id=first.id)

    assert world.workshop.inspect(second.id).state is State.STALE


def test_a_store_that_was_edited_does_not_open_the_gate(world: World) -> None:
    found = suggest(world, "BAD")
    flipped = world.store.kept[found.id]
    object.__setattr__(flipped, "state", State.PENDING)

    with pytest.raises(ProposalUnsafeError, match="unsafe skill content"):
        world.call("apply", id=found.id)

    assert world.folder("notes").files == {}
    assert world.workshop.inspect(found.id).state is State.QUARANTINED


def test_a_write_whose_record_was_lost_is_recorded_and_not_called_stale(world: World) -> None:
    found = suggest(world)
    body = found.change.files["SKILL.md"]
    assert body is not None
    world.folder("notes").files["SKILL.md"] = body

    assert world.proposed("apply", id=found.id).state is State.APPLIED


def test_a_support_file_for_a_skill_that_exists_is_queued_or_written(world: World) -> None:
    world.write("notes", "# Notes\n", ours=True)
    asked = {"skillName": "notes", "relativePath": "scripts\\a.py", "body": "print(1)"}

    queued = world.proposed("write_support_file", **asked)
    world.set(approval_policy=ApprovalPolicy.AUTO)
    written = world.call("write_support_file", **{**asked, "relativePath": "assets/b.txt"})

    assert queued.state is State.PENDING
    assert written == Written(f"{WORKSPACE}/skills/notes/assets/b.txt")
    # What waits is not written along with it.
    assert set(world.folder("notes").files) == {"SKILL.md", "assets/b.txt"}


def test_a_new_skill_that_became_an_addition_takes_no_file_from_the_skill(world: World) -> None:
    found = suggest(world)
    asked = {"skillName": "notes", "relativePath": "references/a.md", "body": "A stranger's."}
    waiting = world.proposed("write_support_file", **asked)
    assert waiting.id == found.id
    world.write("notes", "# Notes\n\nBy hand.\n", ours=True)
    world.folder("notes").files["references/a.md"] = b"By hand."

    with pytest.raises(ProposalStaleError):
        world.call("apply", id=found.id)

    assert world.folder("notes").files["references/a.md"] == b"By hand."
    stale = world.workshop.inspect(found.id)
    assert stale.state is State.STALE


def test_a_new_skill_with_files_that_another_has_by_now_is_refused_with_their_names(
    world: World,
) -> None:
    world.write("notes", "# Notes\n", ours=True)
    world.folder("notes").files["references/a.md"] = b"By hand."
    draft = Draft(
        skill="notes",
        title="t",
        reason="r",
        source=ProposalSource.STUDIO,
        edit=Create(description="Tidies notes.", body="## Workflow\n\n- Another step.\n"),
        files={"references/a.md": b"A stranger's.", "references/b.md": b"B"},
    )

    with pytest.raises(ProposalInputError, match=r"notes has other files .*: references/a\.md;"):
        plan(draft, world.folder("notes").files, scan=scan, max_bytes=40_000)

    # A file that is meant to be replaced is proposed as that, and shows as a difference.
    asked = {"skillName": "notes", "relativePath": "references/a.md", "body": "On purpose."}
    assert world.proposed("write_support_file", **asked).state is State.PENDING


def test_a_bad_support_file_does_not_spoil_what_it_would_have_joined(world: World) -> None:
    found = suggest(world)

    bad = world.proposed(
        "write_support_file", skillName="notes", relativePath="references/a.md", body="BAD"
    )

    assert bad.state is State.QUARANTINED
    assert world.workshop.inspect(found.id) == found


def test_the_tool_counts_and_lists(world: World) -> None:
    good, bad = suggest(world), suggest(world, "BAD")

    assert world.call("") == Counted(
        workspace=WORKSPACE, counts={State.PENDING: 1, State.QUARANTINED: 1}
    )
    assert world.call("list_pending") == ListedProposals((good,))
    assert world.call("list_pending", status="applied") == ListedProposals(())
    assert world.call("list_quarantine") == ListedProposals((bad,))
    assert world.proposed("inspect", id=f" {good.id} ") == good


@pytest.mark.parametrize(
    ("arguments", "kind", "said"),
    [
        ({"action": "dance"}, ProposalInputError, "unknown action: dance"),
        ({"action": 3}, ProposalInputError, "action must be text"),
        ({"action": "inspect"}, ProposalInputError, "id required"),
        ({"action": "apply", "id": " "}, ProposalInputError, "id required"),
        ({"action": "apply", "id": "x"}, ProposalNotFoundError, "proposal not found: x"),
        ({"action": "reject", "id": "x"}, ProposalNotFoundError, "proposal not found: x"),
        ({"action": "list_pending", "status": "x"}, ProposalInputError, "unknown status: x"),
        ({"action": "suggest"}, ProposalInputError, "skillName required"),
        ({"action": "suggest", "skillName": "ab"}, ProposalInputError, "body required"),
        ({"action": "suggest", "skillName": "ab", "section": "S"}, ProposalInputError,
         "body required"),
        ({"action": "suggest", "skillName": "ab", "body": "x"}, ProposalInputError,
         "description required"),
        ({"action": "suggest", "skillName": "ab", "oldText": "x"}, ProposalInputError,
         "newText required"),
        ({"action": "suggest", "skillName": "ab", "newText": "x"}, ProposalInputError,
         "oldText required"),
        ({"action": "suggest", "skillName": "ab", "oldText": "x", "newText": "y"},
         ProposalNotFoundError, "skill does not exist: ab"),
        ({"action": "suggest", "skillName": "there", "oldText": "x", "newText": "y"},
         ProposalInputError, "oldText not found"),
        ({"action": "suggest", "skillName": "there", "section": "# S\n## T", "body": "y"},
         ProposalInputError, "section cannot be a heading"),
        ({"action": "suggest", "skillName": "ab", "description": "d", "body": "x" * 50_000},
         ProposalInputError, "skill exceeds 40000 bytes"),
        ({"action": "suggest", "skillName": "ab", "description": "d", "body": "x", "apply": 1},
         ProposalInputError, "apply must be true or false"),
        ({"action": "suggest", "skillName": "Ü", "title": "Über Uns", "body": "x"},
         ProposalInputError, 'try "uber-uns"'),
        ({"action": "suggest", "skillName": "..", "body": "x"}, ProposalInputError,
         'try "learned-workflows"'),
        ({"action": "suggest", "skillName": "ab", "body": "\ud800"}, ProposalInputError,
         "body must be valid Unicode"),
        ({"action": "suggest", "skillName": "ab", "description": "d", "body": TOKEN},
         ProposalSecretError, "looks like it holds a credential"),
        ({"action": "suggest", "skillName": "ab", "description": "d", "body": "x",
          "reason": f"uses {TOKEN}"}, ProposalSecretError, "reason looks like"),
        ({"action": "suggest", "skillName": "locked", "description": "d", "body": "x"},
         ProposalFolderError, "is a link"),
        ({"action": "write_support_file", "skillName": "ab", "relativePath": "references/a",
          "body": "x"}, ProposalNotFoundError, "skill does not exist: ab"),
        ({"action": "write_support_file", "skillName": "there", "relativePath": "../a",
          "body": "x"}, ProposalInputError, "relativePath"),
        ({"action": "write_support_file", "skillName": "there", "relativePath": "hooks/a.sh",
          "body": "x"}, ProposalInputError, "must lie inside one of"),
        ({"action": "write_support_file", "skillName": "there", "relativePath": "assets/a",
          "body": "x" * 50_000}, ProposalInputError, "support file exceeds 40000 bytes"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_said_and_leaves_nothing_behind(
    world: World, arguments: dict[str, object], kind: type[ProposalError], said: str
) -> None:
    world.write("there", "# There\n")
    world.folder("locked").refusal = "is a link"

    with pytest.raises(kind, match=re.escape(said)):
        world.workshop.call(arguments)

    assert world.store.kept == {}


def test_the_tool_and_its_guidance_are_gone_when_it_is_switched_off(world: World) -> None:
    queue = world.workshop.guidance()
    world.set(approval_policy=ApprovalPolicy.AUTO)
    auto = world.workshop.guidance()
    world.set(selected=False)

    assert queue.startswith("<skill_workshop>")
    differing = set(queue.splitlines()) ^ set(auto.splitlines())
    assert len(differing) == 2
    assert (world.workshop.enabled, world.workshop.guidance()) == (False, "")
    with pytest.raises(WorkshopDisabledError, match=r"plugins\.entries"):
        world.call("status")


BODIES = st.sampled_from(["BAD one", "BAD two", "- fine", "- HALF", "- OTHER"])
Step = Callable[[World], None]


def _suggest_step(body: str, *, apply: bool | None) -> Step:
    def step(world: World) -> None:
        suggest(world, body, **({} if apply is None else {"apply": apply}))

    return step


def _decide_step(action: str, place: int) -> Step:
    def step(world: World) -> None:
        known = world.workshop.list()
        if known:
            world.call(action, id=known[place % len(known)].id)

    return step


def _policy_step(policy: ApprovalPolicy) -> Step:
    return lambda world: world.set(approval_policy=policy)


def _support_step(body: str) -> Step:
    def step(world: World) -> None:
        world.call("write_support_file", skillName="notes", relativePath="assets/a", body=body)

    return step


def _by_hand_step(body: str) -> Step:
    return lambda world: world.write("notes", f"## Workflow\n\n{body}\n")


def _revise_step(body: str, place: int) -> Step:
    def step(world: World) -> None:
        known = world.workshop.list()
        if known:
            world.call("revise", id=known[place % len(known)].id, body=body)

    return step


STEPS = st.one_of(
    st.builds(_revise_step, BODIES, st.integers(0, 6)),
    st.builds(_decide_step, st.just("rollback"), st.integers(0, 6)),
    st.builds(_suggest_step, BODIES, apply=st.sampled_from([None, True, False])),
    st.builds(_decide_step, st.sampled_from(["apply", "apply", "reject"]), st.integers(0, 6)),
    st.builds(_policy_step, st.sampled_from(list(ApprovalPolicy))),
    st.builds(_support_step, BODIES),
    st.builds(_by_hand_step, st.sampled_from(["- mine", "- HALF of mine"])),
)


@given(st.lists(STEPS, max_size=25))
def test_no_sequence_of_actions_applies_what_was_quarantined(steps: list[Step]) -> None:
    world = World(WorkshopSettings(selected=True, max_pending=3))

    for step in steps:
        try:
            step(world)
        except ProposalError:
            continue

    quarantined: set[str] = set()
    for event in world.store.log:
        if event.kind is EventKind.APPLIED:
            assert event.proposal_id not in quarantined
        if event.kind is EventKind.QUARANTINED:
            quarantined.add(event.proposal_id)
    text = b"\n".join(world.folder("notes").files.values())
    assert b"BAD" not in text
    assert not (b"HALF" in text and b"OTHER" in text) or b"mine" in text
