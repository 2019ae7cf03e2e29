"""Other words for what is proposed: what is sent, what stays, and what a faster person changed."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.browser.conftest import Open
from tests.browser.studio_world import StudioWorld
from tests.browser.tapped import Tap

from prowess.runtime.workshop.drafts import Draft
from prowess.runtime.workshop.ports import SKILL_FILE
from prowess.runtime.workshop.proposals import Proposals
from prowess.skills import frontmatter
from prowess.wiring.library import open_runtime
from prowess.wiring.workshop import workshop_ports
from prowess.workshop.edit import Append, Create, Edit, Replace
from prowess.workshop.proposal import ProposalSource

HEAD = """---
name: pressing-flowers
description: >-
  Press flowers between two books.
metadata: {"openclaw": {"emoji": "🌼"}}
---
"""
BODY = """# Pressing flowers

## Steps

1. Read the request.
2. Pick the flower.

## Pitfalls

- Check the paper.
"""
WHOLE = "# Pressing flowers\n\n## Steps\n\n1. Pick it dry.\n2. Press it slowly."
EDITS: dict[str, Edit] = {
    "Text that is added to Pitfalls": Append(section="Pitfalls", body="- Wait slowly for a week."),
    "Text that replaces this phrase": Replace(
        old_text="1. Read the request.\n", new_text="1. Read slowly.\n"
    ),
    "Whole text": Replace(old_text=BODY.strip(), new_text=WHOLE),
    "Text that is merged into the skill": Create(
        description="Press flowers.", body="# Pressing flowers\n\n## Pitfalls\n\n- Go slowly.\n"
    ),
    "Text of the new skill": Create(
        description="Glue flowers.", body="# Glue\n\n## Steps\n\n1. Glue slowly.\n2. Wait.\n"
    ),
    "Text of the section Steps": Append(
        section="Steps", body="1. Glue slowly.", description="Glue flowers."
    ),
}
NEW = frozenset(("Text of the new skill", "Text of the section Steps"))


def proposed(world: StudioWorld, edit: Edit, skill: str = "pressing-flowers") -> str:
    """Propose something for a skill that lies on disk from then on, and return its address."""
    if skill == "pressing-flowers":
        page_of(world).parent.mkdir()
        page_of(world).write_text(HEAD + BODY, encoding="utf-8")
    draft = Draft(
        skill=skill, title="Flowers: a lesson", reason="It was said.",
        source=ProposalSource.AGENT_END,
        edit=edit, compare=False,
    )  # fmt: skip
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(world.home)}
    with open_runtime(world.work, home=world.state, environ=environ) as runtime:
        made = Proposals(workshop_ports(runtime)).propose(str(world.work), draft).proposal
    return f"/workshop?settingsAgentId=main&proposal={made.id}"


def page_of(world: StudioWorld, skill: str = "pressing-flowers") -> Path:
    return world.roots["work"] / skill / SKILL_FILE


def revise(page: Page, label: str) -> Locator:
    """Open the dialog, and return the field with the words."""
    page.get_by_role("button", name="Revise…").click()
    return page.get_by_role("dialog").get_by_role("textbox", name=label)


def save(page: Page, name: str = "Save the new text") -> None:
    page.get_by_role("dialog").get_by_role("button", name=name).click()


def added(page: Page) -> Locator:
    return page.get_by_role("group", name=f"Changes of {SKILL_FILE}").locator(".diff-added")


def apply(page: Page, name: str) -> None:
    page.get_by_role("button", name=name).click()
    page.get_by_role("dialog").get_by_role("button", name=name).click()
    expect(page.get_by_text("was written.")).to_be_visible()


@pytest.mark.parametrize("label", list(EDITS))
def test_one_changed_word_changes_one_line_whatever_is_proposed(
    visiting: Open, world: StudioWorld, label: str
) -> None:
    skill = "gluing-flowers" if label in NEW else "pressing-flowers"
    page = visiting(world).go(proposed(world, EDITS[label], skill))
    expect(added(page).filter(has_text="slowly")).to_have_count(1)
    before = added(page).all_inner_texts()

    field = revise(page, label)
    expect(field).not_to_have_value(re.compile("---"))
    field.fill(field.input_value().replace("slowly", "quickly"))
    save(page)

    expect(added(page).filter(has_text="quickly")).to_have_count(1)
    after = added(page).all_inner_texts()
    assert after == [line.replace("slowly", "quickly") for line in before]
    if label in NEW:
        apply(page, "Create gluing-flowers")
        written = frontmatter.read(page_of(world, skill).read_text(encoding="utf-8"))
        assert (written.fields["name"], written.fields["description"]) == (skill, "Glue flowers.")
        assert "quickly" in written.body
    else:
        apply(page, "Apply to pressing-flowers")
        text = page_of(world).read_text(encoding="utf-8")
        assert text.startswith(HEAD + "# Pressing flowers\n")
        assert text.count("quickly") == 1


def test_a_description_has_a_field_of_its_own_and_is_written(
    visiting: Open, world: StudioWorld
) -> None:
    visit = visiting(world)
    tap = Tap(visit.page)
    page = visit.go(f"/workshop?settingsAgentId=main&proposal={world.proposals['create']}")
    text = revise(page, "Text of the new skill")
    expect(text).to_have_value(re.compile("^# Screenshot diff"))

    page.get_by_label("Description").fill("Compare two screenshots: by eye, and by number.")
    save(page)

    expect(added(page).filter(has_text="by eye, and by number")).to_have_count(1)
    (sent,) = tap.calls("skills.proposals.revise")
    assert "content" not in sent
    apply(page, "Create screenshot-diff")
    written = frontmatter.read(page_of(world, "screenshot-diff").read_text(encoding="utf-8"))
    assert written.fields["description"] == "Compare two screenshots: by eye, and by number."


def test_what_adds_to_a_section_offers_no_description_and_says_the_phrase_it_replaces(
    visiting: Open, world: StudioWorld
) -> None:
    page = visiting(world).go(
        f"/workshop?settingsAgentId=main&proposal={world.proposals['update']}"
    )
    expect(revise(page, "Text that is added to Workflow")).to_be_visible()
    expect(page.get_by_label("Description")).to_have_count(0)
    page.keyboard.press("Escape")

    page = visiting(world).go(proposed(world, EDITS["Text that replaces this phrase"]))
    expect(revise(page, "Text that replaces this phrase")).to_have_value("1. Read slowly.\n")
    expect(page.get_by_label("The phrase that is replaced")).to_contain_text("Read the request.")


def test_an_own_revision_counts_as_read_and_can_be_applied_at_once(
    visiting: Open, world: StudioWorld
) -> None:
    page = visiting(world).go(proposed(world, EDITS["Text that is added to Pitfalls"]))
    field = revise(page, "Text that is added to Pitfalls")

    field.fill("- Wait for two weeks.")
    save(page)

    expect(page.get_by_text("The proposal was worded anew.")).to_be_visible()
    expect(added(page).filter(has_text="two weeks")).to_have_count(1)
    expect(page.get_by_text("changed while you were reading")).to_have_count(0)
    expect(page.get_by_role("button", name="Apply to pressing-flowers")).to_be_enabled()
    expect(page.get_by_role("heading", level=1)).to_be_focused()


def test_a_faster_person_takes_nothing_away_from_what_was_typed(
    visiting: Open, world: StudioWorld
) -> None:
    address = proposed(world, EDITS["Text that is added to Pitfalls"])
    label = "Text that is added to Pitfalls"
    mine, theirs = visiting(world).go(address), visiting(world).go(address)
    field, other = revise(mine, label), revise(theirs, label)
    field.fill("- Mine is to wait.")
    other.fill("- Theirs is to hurry.")
    save(theirs)
    expect(theirs.get_by_text("The proposal was worded anew.")).to_be_visible()

    save(mine)
    late = mine.get_by_role("dialog").get_by_role("alert")
    expect(late).to_contain_text("Somebody worded this proposal anew")
    expect(mine.get_by_role("dialog")).not_to_contain_text(re.compile("[0-9a-f]{64}"))
    mine.get_by_role("button", name="Show what changed").click()
    changes = mine.get_by_role("group", name="What somebody else changed")
    expect(changes.locator(".diff-added")).to_contain_text("Theirs is to hurry.")
    mine.keyboard.press("Escape")
    expect(revise(mine, label)).to_have_value("- Mine is to wait.")
    expect(late).to_contain_text("Somebody worded this proposal anew")
    save(mine, "Save over the new one")

    expect(added(mine).filter(has_text="Mine is to wait.")).to_have_count(1)
    expect(added(mine).filter(has_text="Theirs")).to_have_count(0)


def test_whoever_was_too_slow_may_start_from_the_new_text(
    visiting: Open, world: StudioWorld
) -> None:
    address = proposed(world, EDITS["Text that is added to Pitfalls"])
    label = "Text that is added to Pitfalls"
    mine, theirs = visiting(world).go(address), visiting(world).go(address)
    field, other = revise(mine, label), revise(theirs, label)
    field.fill("- Mine is to wait.")
    other.fill("- Theirs is to hurry.")
    save(theirs)
    expect(theirs.get_by_text("The proposal was worded anew.")).to_be_visible()
    save(mine)

    mine.get_by_role("button", name="Start from the new text").click()

    expect(field).to_have_value("- Theirs is to hurry.")
    expect(field).to_be_focused()
    expect(mine.get_by_role("dialog").get_by_role("alert")).to_have_count(0)


def test_a_proposal_whose_skill_changed_shows_only_its_own_lines_and_is_brought_up_to_date(
    visiting: Open, world: StudioWorld
) -> None:
    address = proposed(world, EDITS["Text that is added to Pitfalls"])
    mine = page_of(world).read_text(encoding="utf-8") + "- Written by hand.\n"
    page_of(world).write_text(mine, encoding="utf-8")
    page = visiting(world).go(address)

    expect(page.locator(".proposal-head")).to_contain_text("Out of date")
    expect(page.get_by_text("pressing-flowers changed since this was proposed.")).to_be_visible()
    expect(page.locator(".diff-removed")).to_have_count(0)
    expect(added(page)).to_have_text([re.compile("Wait slowly")])
    expect(page.get_by_role("button", name="Apply to pressing-flowers")).to_be_disabled()
    page.get_by_role("button", name="Bring up to date").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("The proposal is up to date")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    apply(page, "Apply to pressing-flowers")

    text = page_of(world).read_text(encoding="utf-8")
    assert text == mine + "- Wait slowly for a week.\n"


def test_a_change_whose_text_is_gone_says_so_and_is_set_aside(
    visiting: Open, world: StudioWorld
) -> None:
    address = proposed(world, EDITS["Text that replaces this phrase"])
    text = page_of(world).read_text(encoding="utf-8")
    mine = text.replace("1. Read the request.", "1. Ask twice.")
    page_of(world).write_text(mine, encoding="utf-8")
    page = visiting(world).go(address)

    expect(page.locator("main")).to_contain_text(
        "no longer fits: the text that it replaces is no longer there. Reject it, or set it aside"
    )
    expect(page.get_by_role("heading", name="What was proposed")).to_be_visible()
    expect(page.locator(".diff")).not_to_contain_text("Ask twice.")
    expect(page.get_by_role("button", name="Revise…")).to_have_count(0)
    page.get_by_role("button", name="Set aside").click()

    expect(page.locator(".proposal-head")).to_contain_text("Stale")
    expect(page.locator("main")).to_contain_text("the text that it replaces is no longer there")
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    assert page_of(world).read_text(encoding="utf-8") == mine


@pytest.mark.parametrize(
    ("which", "button", "title"),
    [("create", "Reject…", "release-notes, Workflow: Post"),
     ("create", "Create screenshot-diff", "release-notes, Workflow: Post"),
     ("applied", "Roll back…", "code-review, Workflow: Run the linter")],
)  # fmt: skip
def test_after_a_decision_by_keyboard_the_focus_is_at_the_title(
    visiting: Open, world: StudioWorld, which: str, button: str, title: str
) -> None:
    page = visiting(world).go(f"/workshop?settingsAgentId=main&proposal={world.proposals[which]}")
    page.get_by_role("button", name=button).focus()
    page.keyboard.press("Enter")
    page.get_by_role("dialog").locator("button[type=submit]").focus()
    page.keyboard.press("Enter")

    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator(".proposal-head")).to_contain_text("Pending")
    expect(page.get_by_role("heading", level=1)).to_contain_text(title)
    expect(page.get_by_role("heading", level=1)).to_be_focused()


def test_when_somebody_else_decides_the_focus_stays_on_the_page(
    visiting: Open, world: StudioWorld
) -> None:
    path = f"/workshop?settingsAgentId=main&proposal={world.proposals['create']}"
    mine, theirs = visiting(world).go(path), visiting(world).go(path)
    mine.get_by_role("button", name="Reject…").focus()

    theirs.get_by_role("button", name="Reject…").click()
    theirs.get_by_role("dialog").get_by_role("button", name="Reject").click()

    expect(mine.locator(".proposal-head")).to_contain_text("Rejected")
    expect(mine.get_by_role("heading", level=1)).to_be_focused()


def test_the_inbox_names_each_day_once_and_repeats_no_state(
    visiting: Open, world: StudioWorld
) -> None:
    address = proposed(world, EDITS["Text that is added to Pitfalls"])
    page = visiting(world).go("/workshop?settingsAgentId=main")
    listed = page.get_by_role("region", name="Proposals")

    expect(listed.get_by_role("link")).to_have_count(3)
    headings = listed.get_by_role("heading", level=2)
    expect(headings).to_have_count(2)
    expect(headings.first).to_have_text("Today")
    expect(listed.locator(".chip").filter(has_text="Pending")).to_have_count(0)
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(re.escape(address.rpartition("=")[2])))
