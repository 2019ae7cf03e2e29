"""Proposals that are revised, taken back or led elsewhere, and the history of all that."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.runtime.workshop_parts import WORKSPACE, World

from prowess.errors import (
    ProposalError,
    ProposalFolderError,
    ProposalInputError,
    ProposalNotFoundError,
    ProposalSecretError,
    ProposalStaleError,
    ProposalStateError,
    ProposalUnsafeError,
    StoreError,
)
from prowess.runtime.workshop.ports import History
from prowess.settings import ApprovalPolicy
from prowess.workshop.edit import Append, Create, Replace
from prowess.workshop.proposal import Begun, EventKind, Proposal, Similar, State, digest_files

RELEASE = "Write release notes from merged pull requests. Use when a version is shipped."
STEPS = """# Release notes

## Workflow

- Collect the merged pull requests since the last tag.
- Group them by feature, fix and breaking change.
- Write one line for each of them, with its number.
"""


@pytest.fixture
def world() -> World:
    world = World()
    world.by_person = True
    return world


def suggest(world: World, body: str = "- Do it.", **more: object) -> Proposal:
    return world.proposed("suggest", skillName="notes", description="d", body=body, **more)


def told(world: World, **about: object) -> History:
    answer = world.call("history", **about)
    assert answer.kind == "history"
    return answer


def test_a_revision_replaces_the_body_against_the_skill_as_it_is_now(world: World) -> None:
    first = suggest(world, "- One.")
    world.write("notes", "## Workflow\n\n- By hand.\n")

    now = world.proposed("revise", id=first.id, body="- Two.", revision=first.revision)

    assert (now.id, now.state, now.edit) == (
        first.id, State.PENDING, Create(description="d", body="- Two."),
    )  # fmt: skip
    assert now.revision != first.revision
    assert now.base_hash != first.base_hash
    world.call("apply", id=now.id, revision=now.revision)
    assert world.page("notes").endswith("## Workflow\n\n- By hand.\n- Two.\n")


@pytest.mark.parametrize(
    ("given", "edit"),
    [
        ({"body": "- B."}, Append(section="Workflow", body="- B.", description="d")),
        ({"section": "Notes"}, Append(section="Notes", body="- A.", description="d")),
        ({"description": "e"}, Append(section="Workflow", body="- A.", description="e")),
        ({"oldText": "x", "newText": "y"}, Replace(old_text="x", new_text="y")),
    ],
)
def test_what_a_revision_does_not_say_stays(
    world: World, given: dict[str, str], edit: object
) -> None:
    world.write("notes", "## Workflow\n\nx\n")
    found = suggest(world, "- A.", section="Workflow")

    if given == {"description": "e"}:
        # The text of a skill that exists is the same whatever a description says.
        assert world.proposed("revise", id=found.id, **given).revision == found.revision
    assert world.proposed("revise", id=found.id, **given).edit == edit


def test_a_replacement_may_be_revised_by_half(world: World) -> None:
    world.write("notes", "## Workflow\n\n- One.\n")
    found = world.proposed("suggest", skillName="notes", oldText="- One.", newText="- 1.")

    now = world.proposed("revise", id=found.id, newText="- I.")

    assert now.edit == Replace(old_text="- One.", new_text="- I.")
    with pytest.raises(ProposalInputError, match="replaces text"):
        world.call("revise", id=found.id, body="- x")


def test_a_revision_is_no_way_around_a_decision(world: World) -> None:
    refused, found = suggest(world, "- No."), suggest(world, "- Yes.")
    world.call("reject", id=refused.id)

    with pytest.raises(ProposalInputError, match=f"is rejected already: {refused.id}"):
        world.call("revise", id=found.id, body="- No.")

    assert world.workshop.inspect(found.id) == found


def test_a_revision_that_says_nothing_or_a_credential_is_refused(world: World) -> None:
    found = suggest(world)

    with pytest.raises(ProposalInputError, match="nothing to revise: give body"):
        world.call("revise", id=found.id)
    with pytest.raises(ProposalSecretError):
        world.call("revise", id=found.id, body="ghp_" + "aZ3kQ9xW7vB5nM1cR8tY6uI4oP2sD0fGhJkL")
    with pytest.raises(ProposalNotFoundError, match="proposal not found: x"):
        world.call("revise", id="x", body="b")
    assert world.workshop.inspect(found.id) == found


def test_a_rollback_brings_the_previous_version_back_and_can_be_undone(world: World) -> None:
    world.write("notes", "# Notes\r\n\r\n## Workflow\r\n\r\n- One.\r\n")
    before = dict(world.folder("notes").files)
    found = suggest(world, "- Two.", section="Workflow")
    world.call("apply", id=found.id)
    after = dict(world.folder("notes").files)

    answer = world.call("rollback", skillName="Notes")

    assert answer.kind == "decided"
    assert (answer.rolled_back, answer.proposal.state) == (True, State.PENDING)
    assert world.folder("notes").files == before
    assert world.refreshed == 2
    world.call("apply", id=found.id, revision=found.revision)
    assert world.folder("notes").files == after
    kinds = [event.kind for event in told(world, id=found.id).events]
    assert kinds == [
        EventKind.CREATED, EventKind.APPLIED, EventKind.ROLLED_BACK, EventKind.APPLIED,
    ]  # fmt: skip


def test_what_was_taken_back_is_not_written_again_by_itself(world: World) -> None:
    world.set(approval_policy=ApprovalPolicy.AUTO)
    found = suggest(world)
    world.call("rollback", id=found.id)

    again = suggest(world)

    assert (again.id, again.state) == (found.id, State.PENDING)
    assert world.folder("notes").files == {}
    assert suggest(world, apply=True).state is State.APPLIED


def test_the_last_change_goes_first_then_the_one_before(world: World) -> None:
    first, second = suggest(world, "- One.", apply=True), suggest(world, "- Two.", apply=True)

    with pytest.raises(ProposalInputError, match=f"{second.id} was applied to notes after"):
        world.call("rollback", id=first.id)
    world.call("rollback", skillName="notes")
    world.call("rollback", skillName="notes")

    assert world.folder("notes").files == {}
    with pytest.raises(ProposalNotFoundError, match="nothing was applied to notes"):
        world.call("rollback", skillName="notes")


def test_what_waits_is_worked_out_again_after_a_rollback(world: World) -> None:
    first = suggest(world, "- One.", apply=True)
    second = suggest(world, "- Two.")

    world.call("rollback", id=first.id)
    world.call("apply", id=second.id)

    assert "- One." not in world.page("notes")
    assert "- Two." in world.page("notes")


def test_an_edit_by_hand_is_not_taken_back(world: World) -> None:
    found = suggest(world, apply=True)
    by_hand = world.page("notes") + "- Mine.\n"
    world.folder("notes").files["SKILL.md"] = by_hand.encode()

    with pytest.raises(ProposalStaleError, match=r"SKILL\.md changed since .* edit notes by hand"):
        world.call("rollback", id=found.id)

    assert world.page("notes") == by_hand
    assert world.workshop.inspect(found.id).state is State.APPLIED


def test_a_file_that_somebody_added_to_a_learned_skill_is_not_orphaned(world: World) -> None:
    found = suggest(world, apply=True)
    world.folder("notes").files["references/mine.md"] = b"mine"

    with pytest.raises(ProposalInputError, match=r"references/mine\.md"):
        world.call("rollback", id=found.id)

    assert "SKILL.md" in world.folder("notes").files


def test_the_scanner_looks_at_what_comes_back(world: World) -> None:
    world.write("notes", "## Workflow\n\nBAD\n")
    world.folder("notes").files["SKILL.md"] = b"---\nname: notes\ndescription: d\n---\nBAD\n"
    good = b"---\nname: notes\ndescription: d\n---\nfine\n"
    found = world.proposed("suggest", skillName="notes", oldText="BAD", newText="fine")
    world.call("apply", id=found.id)

    with pytest.raises(ProposalUnsafeError, match="unsafe skill content"):
        world.call("rollback", id=found.id)

    assert world.folder("notes").files["SKILL.md"] == good


def test_what_is_no_longer_kept_is_said(world: World) -> None:
    found = suggest(world, apply=True)
    world.folder("notes").changes.clear()

    with pytest.raises(ProposalFolderError, match="no longer kept: edit notes by hand"):
        world.call("rollback", id=found.id)


@pytest.mark.parametrize(
    ("arguments", "kind", "said"),
    [
        ({}, ProposalInputError, "id or skillName required"),
        ({"id": "x"}, ProposalNotFoundError, "proposal not found: x"),
        ({"skillName": "none"}, ProposalNotFoundError, "nothing was applied to none"),
    ],
)
def test_a_rollback_of_nothing_is_refused(
    world: World, arguments: dict[str, object], kind: type[ProposalError], said: str
) -> None:
    with pytest.raises(kind, match=said):
        world.call("rollback", **arguments)


def test_only_what_is_applied_can_be_rolled_back(world: World) -> None:
    found = suggest(world)

    with pytest.raises(ProposalStateError, match=r"^pending proposal cannot be rolled back$"):
        world.call("rollback", id=found.id)


def test_history_has_a_cursor_and_the_versions_of_a_skill(world: World) -> None:
    first, second = suggest(world, "- One.", apply=True), suggest(world, "- Two.", apply=True)
    other = world.proposed("suggest", skillName="other", description="d", body="- Else.")

    everything, skill = told(world), told(world, skillName="notes")

    assert [event.proposal_id for event in told(world, id=other.id).events] == [other.id]
    assert {event.skill for event in skill.events} == {"notes"}
    assert [one.id for one in skill.versions] == [second.id, first.id]
    assert (len(everything.events), everything.more, everything.versions) == (5, False, ())
    rest = told(world, after=str(everything.cursor - 1))
    assert [event.sequence for event in rest.events] == [everything.cursor]
    assert told(world, after=everything.cursor).cursor == everything.cursor


def test_history_of_what_never_was_is_an_error_and_of_what_was_pruned_is_not(world: World) -> None:
    world.set(max_pending=1)
    gone = suggest(world, "- One.")
    suggest(world, "- Two.")

    assert told(world, id=gone.id).events[-1].kind is EventKind.PRUNED
    with pytest.raises(ProposalNotFoundError, match="proposal not found: x"):
        told(world, id="x")
    for wrong in (-1, "x", True, 1.5, 1 << 64, "9" * 5000):
        with pytest.raises(ProposalInputError, match="after must be a number"):
            told(world, after=wrong)


def test_the_history_is_told_in_pages(world: World) -> None:
    world.set(max_pending=200)
    for number in range(130):
        found = suggest(world, f"- Step {number}.")
        world.call("revise", id=found.id, body=f"- Stage {number}.")

    first = told(world)
    rest = told(world, after=first.cursor)

    assert (len(first.events), first.more) == (200, True)
    assert (len(rest.events), rest.more) == (60, False)


def test_a_second_skill_for_the_same_work_becomes_an_addition_to_the_first(world: World) -> None:
    world.know("release-notes", RELEASE, STEPS)
    body = STEPS.replace("# Release notes", "# Changelog") + "- Thank the contributors.\n"

    found = world.proposed(
        "suggest", skillName="changelog", description=RELEASE, body=body, apply=True
    )

    assert (found.skill, found.state) == ("release-notes", State.PENDING)
    assert found.edit == Append(section="Workflow", body="- Thank the contributors.")
    assert "append to release-notes instead" in found.reason
    assert found.similar[0].skill == "release-notes"
    assert world.folder("changelog").files == {}
    world.call("apply", id=found.id)
    assert world.page("release-notes").endswith("number.\n- Thank the contributors.\n")


def test_who_overrules_gets_the_new_skill_and_sees_what_it_is_like(world: World) -> None:
    world.know("release-notes", RELEASE, STEPS)
    asked = {"skillName": "changelog", "description": RELEASE, "body": f"{STEPS}- Thank them.\n"}
    world.call("suggest", **asked)

    found = world.proposed("suggest", **asked, overrule="true")

    assert (found.skill, found.similar) == ("changelog", (Similar("release-notes", 1.0),))
    assert len(world.store.kept) == 2


@pytest.mark.parametrize(("ours", "state"), [(True, State.APPLIED), (False, State.PENDING)])
def test_only_what_was_learned_is_added_to_by_itself(
    world: World, *, ours: bool, state: State
) -> None:
    world.set(approval_policy=ApprovalPolicy.AUTO)
    world.know("release-notes", RELEASE, STEPS, ours=ours)

    found = world.proposed(
        "suggest", skillName="changelog", description=RELEASE, body=f"{STEPS}- Thank them.\n"
    )

    assert (found.skill, found.state) == ("release-notes", state)


def test_a_skill_that_is_gone_by_now_is_not_added_to(world: World) -> None:
    world.know("release-notes", RELEASE, STEPS)
    world.folder("release-notes").files.clear()

    found = world.proposed("suggest", skillName="changelog", description=RELEASE, body=STEPS)

    assert found.skill == "changelog"


def test_a_copy_without_anything_new_is_refused(world: World) -> None:
    world.know("release-notes", RELEASE, STEPS)

    with pytest.raises(ProposalInputError, match="release-notes says this already"):
        world.call("suggest", skillName="changelog", description=RELEASE, body=STEPS)

    assert world.store.kept == {}


def test_an_update_and_another_subject_are_not_led_elsewhere(world: World) -> None:
    world.know("release-notes", RELEASE, STEPS)
    world.write("changelog", STEPS)

    update = world.proposed("suggest", skillName="changelog", body="- New.", description=RELEASE)
    other = world.proposed(
        "suggest", skillName="poetry", body="- Use metre.", description="Write verses."
    )

    assert (update.skill, update.similar) == ("changelog", ())
    assert (other.skill, other.similar) == ("poetry", ())
    # Neither needs the router, which may have to load an encoder first.
    assert world.routed == []


def cut_off(world: World, found: Proposal, kind: EventKind = EventKind.APPLIED) -> None:
    """Let the store remember a write that nobody finished."""
    files = found.change.files
    if kind is EventKind.ROLLED_BACK:
        files = world.folder("notes").previous(found.backup)
    world.store.begin(
        Begun(
            workspace=WORKSPACE, proposal_id=found.id, skill="notes", kind=kind,
            revision=found.revision, at=0.0, target=digest_files(files),
        )
    )  # fmt: skip


def test_a_write_that_was_cut_off_at_its_end_is_recorded_at_the_next_use(world: World) -> None:
    found = suggest(world)
    cut_off(world, found)
    world.folder("notes").apply(found.change.files, found.base_hash)

    (now,) = world.workshop.list()

    assert (now.state, now.backup) == (State.APPLIED, "backup-1")
    last = world.workshop.events()[-1]
    assert (last.kind, "the skill has it" in last.note) == (EventKind.APPLIED, True)
    world.call("rollback", id=found.id)
    assert world.folder("notes").files == {}


def test_a_write_that_was_cut_off_before_its_end_is_said_to_be_lost(world: World) -> None:
    found = suggest(world)
    cut_off(world, found)

    assert world.proposed("inspect", id=found.id) == found

    last = world.workshop.events()[-1]
    assert (last.kind, "as it was" in last.note) == (EventKind.INTERRUPTED, True)
    assert world.store.begun == []
    assert world.proposed("apply", id=found.id).state is State.APPLIED


@pytest.mark.parametrize("lasted", [True, False])
def test_a_rollback_that_was_cut_off_is_settled_too(world: World, *, lasted: bool) -> None:
    found = suggest(world, apply=True)
    cut_off(world, found, EventKind.ROLLED_BACK)
    if lasted:
        world.folder("notes").files.clear()

    state = world.workshop.inspect(found.id).state

    assert state is (State.PENDING if lasted else State.APPLIED)
    assert world.store.begun == []


def test_a_write_whose_proposal_is_gone_is_told_and_forgotten(world: World) -> None:
    found = suggest(world)
    cut_off(world, found)
    world.folder("notes").apply(found.change.files, found.base_hash)
    world.store.kept.clear()

    assert world.workshop.list() == ()
    assert "the proposal is gone" in world.workshop.events()[-1].note


def test_a_folder_that_cannot_be_settled_does_not_keep_others_waiting(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    found = suggest(world)
    cut_off(world, found)
    world.folder("notes").refusal = "is a link"

    assert world.workshop.list() == (found,)
    assert "cannot be settled" in caplog.text
    world.folder("notes").refusal = ""
    world.workshop.list()
    assert world.store.begun == []


def test_who_only_reads_does_not_suffer_from_a_store_that_is_full(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    found = suggest(world)
    cut_off(world, found)

    def refuse(*_arguments: object) -> None:
        raise StoreError("store", "is full.")

    monkeypatch.setattr(type(world.store), "abandon", refuse)

    assert world.workshop.list() == (found,)
    assert "is full" in caplog.text
    with pytest.raises(StoreError):
        world.call("apply", id=found.id)
    assert world.folder("notes").files == {}


def test_nothing_is_written_that_cannot_be_noted(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = suggest(world)

    def refuse(_begun: Begun) -> None:
        raise StoreError("store", "is full.")

    monkeypatch.setattr(type(world.store), "begin", lambda _self, begun: refuse(begun))

    with pytest.raises(StoreError):
        world.call("apply", id=found.id)

    assert world.folder("notes").files == {}


@given(body=st.text(min_size=1, max_size=60), start=st.sampled_from(["", "ours", "theirs"]))
def test_a_rollback_undoes_an_apply_byte_for_byte(body: str, start: str) -> None:
    world = World()
    world.by_person = True
    if start:
        world.write("notes", "# N\r\n\r\n## Workflow\n\n- One.", ours=start == "ours")
    before = dict(world.folder("notes").files)
    try:
        found = suggest(world, body, apply=True)
    except ProposalError:
        assert world.folder("notes").files == before
        return
    assert found.state is State.APPLIED
    after = dict(world.folder("notes").files)

    world.call("rollback", id=found.id)
    taken_back = dict(world.folder("notes").files)
    world.call("apply", id=found.id)

    assert taken_back == before
    assert world.folder("notes").files == after
