"""What only a person may decide, and what the workshop never keeps, whoever asks."""

from collections.abc import Mapping

import pytest
from tests.unit.runtime.workshop_parts import World

from prowess.errors import (
    ConfigError,
    ProposalError,
    ProposalInputError,
    ProposalNotFoundError,
    ProposalSecretError,
)
from prowess.runtime.workshop.service import TurnSeen
from prowess.settings import ApprovalPolicy
from prowess.workshop.proposal import Proposal, State

TOKEN = "ghp_" + "aZ3kQ9xW7vB5nM1cR8tY6uI4oP2sD0fGhJkL"
STEPS = (
    "- Open the valve by a quarter turn, wait until the gauge is steady, and write the number"
    " into the blue book before anybody touches the pump."
)


@pytest.fixture
def world() -> World:
    return World()


def asked(world: World, *, by_person: bool = False, **arguments: object) -> Mapping[str, object]:
    return world.workshop.call(arguments, by_person=by_person)


def suggest(world: World, skill: str = "notes", body: str = STEPS, **more: object) -> Proposal:
    return world.proposed("suggest", skillName=skill, description="d", body=body, **more)


def elsewhere(world: World, skill: str, path: str) -> None:
    """Let a skill of that name lie where the workshop does not write."""
    world.elsewhere[skill] = path


def test_an_agent_never_writes_a_skill_that_a_person_wrote(world: World) -> None:
    world.write("notes", "## Workflow\n\n- Mine.\n")
    found = suggest(world, section="Workflow", apply=True)

    assert found.state is State.PENDING
    with pytest.raises(ProposalInputError, match="notes was written by hand: a person decides"):
        world.call("apply", id=found.id)
    assert world.page("notes").endswith("- Mine.\n")


def test_a_person_who_said_yes_writes_it(world: World) -> None:
    world.write("notes", "## Workflow\n\n- Mine.\n")
    first = suggest(world, section="Workflow")

    asked(world, action="apply", id=first.id, by_person=True)
    asked(
        world,
        action="suggest",
        skillName="notes",
        oldText="- Mine.",
        newText="- Ours.",
        apply=True,
        by_person=True,
    )

    assert "- Ours." in world.page("notes")
    assert "blue book" in world.page("notes")


def test_a_mark_that_is_not_the_workshops_own_is_a_persons(world: World) -> None:
    page = "---\nname: notes\ndescription: d\nmetadata:\n  prowess: yes please\n---\n- Mine.\n"
    world.folder("notes").files["SKILL.md"] = page.encode()

    assert suggest(world, section="Workflow", apply=True).state is State.PENDING


def test_the_name_of_another_skill_is_taken_only_by_a_person(world: World) -> None:
    world.set(approval_policy=ApprovalPolicy.AUTO)
    elsewhere(world, "notes", "/bundled/notes/SKILL.md")

    found = suggest(world)
    again = suggest(world, apply=True)

    assert found.state is State.PENDING
    assert again.id == found.id
    assert again.state is State.PENDING
    assert found.reason.endswith("; shadows /bundled/notes/SKILL.md")
    with pytest.raises(ProposalInputError, match="would shadow /bundled"):
        world.call("apply", id=found.id)
    assert world.workshop.apply(found.id).state is State.APPLIED


@pytest.mark.parametrize(
    "how", [{"section": "Workflow"}, {"body": "", "oldText": "a", "newText": "b"}]
)
def test_a_skill_that_lies_elsewhere_is_not_changed(world: World, how: dict[str, str]) -> None:
    elsewhere(world, "notes", "/bundled/notes/SKILL.md")

    with pytest.raises(ProposalNotFoundError, match="it lies at /bundled/notes"):
        suggest(world, **how)

    assert world.states() == []


def test_an_addition_to_a_skill_that_is_nowhere_makes_it(world: World) -> None:
    found = suggest(world, section="Workflow", apply=True)

    assert found.state is State.APPLIED


def test_a_support_file_never_carries_a_waiting_proposal_along(world: World) -> None:
    world.write("notes", "## Workflow\n\n- Mine.\n", ours=True)
    waiting = suggest(world, section="Workflow", apply=False)

    world.call(
        "write_support_file",
        skillName="notes",
        relativePath="references/a.md",
        body="A.",
        apply=True,
    )

    assert world.folder("notes").files["references/a.md"] == b"A.\n"
    assert "blue book" not in world.page("notes")
    assert world.workshop.inspect(waiting.id).state is State.PENDING


def test_a_support_file_of_a_skill_that_waits_waits_with_it(world: World) -> None:
    suggest(world, apply=False)

    found = world.proposed(
        "write_support_file", skillName="notes", relativePath="references/a.md", body="A.",
        apply=True,
    )  # fmt: skip

    assert found.state is State.PENDING
    assert sorted(found.change.files) == ["SKILL.md", "references/a.md"]


def test_what_a_person_rejected_is_not_written_in_other_words(world: World) -> None:
    world.workshop.reject(suggest(world, apply=False).id)
    world.set(approval_policy=ApprovalPolicy.AUTO)

    found = suggest(world, "notes", f"{STEPS}\n- Thank everybody.")

    assert found.state is State.PENDING
    assert suggest(world, "letters", "- Begin with the name of whom you write to.").state is (
        State.APPLIED
    )


def test_what_a_person_rejected_is_kept_for_good_and_what_an_agent_did_is_not(world: World) -> None:
    mine = world.workshop.reject(suggest(world, body="- Mine.").id)
    others = []
    for number in range(201):
        others.append(suggest(world, body=f"- Of number {number}."))
        world.call("reject", id=others[-1].id)
    suggest(world, body="- One more.")

    rejected = {one.id for one in world.workshop.list(State.REJECTED)}

    assert mine.id in rejected
    assert others[0].id not in rejected
    assert suggest(world, body="- Mine.").id == mine.id


@pytest.mark.parametrize(("name", "most"), [("title", 200), ("reason", 1000)])
def test_titles_and_reasons_have_an_end(world: World, name: str, most: int) -> None:
    with pytest.raises(ProposalInputError, match=f"{name} exceeds {most} characters"):
        suggest(world, **{name: "x" * (most + 1)})

    assert suggest(world, **{name: "x" * most}).state is State.PENDING


@pytest.mark.parametrize("name", ["title", "reason"])
def test_what_is_shown_beside_a_change_is_scanned_too(world: World, name: str) -> None:
    found = suggest(world, **{name: "a BAD one"})

    assert found.state is State.QUARANTINED


@pytest.mark.parametrize("name", ["title", "reason", "description", "section", "body"])
def test_no_text_of_a_proposal_holds_a_credential(world: World, name: str) -> None:
    with pytest.raises((ProposalSecretError, ProposalInputError)) as caught:
        world.call(
            "suggest", **{"skillName": "notes", "description": "d", "body": "b", name: TOKEN}
        )

    assert TOKEN not in str(caught.value)
    assert world.states() == []


@pytest.mark.parametrize("path", [f"references/{TOKEN}.md", f"elsewhere/{TOKEN}.md"])
def test_the_path_of_a_file_holds_no_credential_and_neither_does_the_message(
    world: World, path: str
) -> None:
    world.write("notes", "- Mine.\n", ours=True)

    with pytest.raises((ProposalSecretError, ProposalInputError)) as caught:
        world.call("write_support_file", skillName="notes", relativePath=path, body="A.")

    assert TOKEN not in str(caught.value)


def test_errors_do_not_repeat_a_credential(world: World) -> None:
    calls = [
        {"action": TOKEN},
        {"action": "inspect", "id": TOKEN},
        {"action": "history", "id": TOKEN},
        {"action": "suggest", "skillName": f"\u65e5{TOKEN}"},
    ]
    for call in calls:
        with pytest.raises(ProposalError) as caught:
            world.workshop.call(call)

        assert TOKEN not in str(caught.value)


def test_the_name_of_a_session_is_kept_without_its_credential(world: World) -> None:
    said = ({"role": "user", "content": "From now on always check the height of lamps"},)

    (found,) = world.workshop.observe(TurnSeen(messages=said, session_id=f"s-{TOKEN}"))

    assert TOKEN not in found.session_id


@pytest.mark.parametrize("name", ["node_modules", "site-packages", "venv"])
def test_a_folder_that_is_passed_over_is_no_name(world: World, name: str) -> None:
    with pytest.raises(ProposalInputError, match="passed over"):
        suggest(world, name)


@pytest.mark.parametrize(
    "path", ["scripts/.git/config", "assets/.npmrc", "scripts/node_modules/a.js"]
)
def test_hidden_and_overlooked_support_files_are_refused(world: World, path: str) -> None:
    world.write("notes", "- Mine.\n", ours=True)

    with pytest.raises(ProposalInputError, match="relativePath"):
        world.call("write_support_file", skillName="notes", relativePath=path, body="A.")


def test_an_empty_new_text_deletes_and_a_missing_one_is_asked_for(world: World) -> None:
    world.write("notes", "## Workflow\n\n- Mine.\n- Old.\n", ours=True)

    with pytest.raises(ProposalInputError, match="newText required"):
        world.call("suggest", skillName="notes", oldText="- Old.\n")
    world.call("suggest", skillName="notes", oldText="- Old.\n", newText="", apply=True)

    assert world.page("notes").endswith("- Mine.\n")


def test_history_counts_from_the_start_where_the_cursor_is_null(world: World) -> None:
    suggest(world)

    answer = world.call("history", after=None)

    assert answer.kind == "history"
    assert len(answer.events) == 1


@pytest.mark.parametrize("after", [-1, 1 << 80, "9" * 5000, True])
def test_an_absurd_cursor_is_an_input_error(world: World, after: object) -> None:
    with pytest.raises(ProposalInputError, match="after must be a number"):
        world.call("history", after=after)


def test_a_broken_config_costs_the_turn_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_message: str) -> tuple[str, float] | None:
        raise ConfigError("prowess.json", "is broken")

    monkeypatch.setattr(world, "routes", broken)
    said = ({"role": "user", "content": "From now on always check the height of lamps"},)

    assert world.workshop.observe(TurnSeen(messages=said)) == ()
    assert "nothing is learned from this turn" in caplog.text


PROGRAMS = {
    "elf": "\x7fELF\x02\x01",
    "web assembly": "\0asm\x01",
    "zip": "PK\x03\x04a",
    "dex": "dex\n035",
    "archive of objects": "!<arch>\nx",
    "lua": "\x1bLuaS",
    "nul": "Read the gauge.\0",
    "nul alone": "a\0b",
}


@pytest.mark.parametrize("kind", PROGRAMS)
@pytest.mark.parametrize("path", ["scripts/run.sh", "references/a.md"])
def test_a_support_file_that_is_no_text_is_refused_by_its_name(
    world: World, kind: str, path: str
) -> None:
    world.write("notes", "- Mine.\n", ours=True)

    with pytest.raises(ProposalInputError, match=rf"{path}: .*support files are text"):
        world.call(
            "write_support_file", skillName="notes", relativePath=path, body=PROGRAMS[kind] * 3
        )

    assert world.states() == []


@pytest.mark.parametrize("body", ["ID3 tags hold it.", "070701,12", "MZ is a unit.", "BZh"])
def test_a_text_that_begins_like_a_magic_number_is_still_a_text(world: World, body: str) -> None:
    suggest(world, apply=False)

    found = world.proposed(
        "write_support_file", skillName="notes", relativePath="references/a.md", body=body
    )

    assert found.change.files["references/a.md"] == f"{body.rstrip()}\n".encode()
