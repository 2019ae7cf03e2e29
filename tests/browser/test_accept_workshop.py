"""The workshop as the specification has it: states, lines, decisions, and what is too late."""

import re

from playwright.sync_api import Locator, Page, expect
from tests.browser.conftest import Open
from tests.browser.studio_world import StudioWorld
from tests.browser.tapped import Tap


def proposal(world: StudioWorld, which: str) -> str:
    return f"/workshop?settingsAgentId=main&proposal={world.proposals[which]}"


def changes(page: Page, file: str = "SKILL.md") -> Locator:
    return page.get_by_role("group", name=f"Changes of {file}")


def file_of(world: StudioWorld, skill: str) -> str:
    return (world.roots["work"] / skill / "SKILL.md").read_text(encoding="utf-8")


def test_each_state_lists_its_own_and_offers_only_what_is_possible(
    visiting: Open, shown: StudioWorld
) -> None:
    page = visiting(shown).go("/workshop?settingsAgentId=main")
    listed = page.get_by_role("region", name="Proposals").get_by_role("link")
    for state, titles in {
        "Pending": ["release-notes, Workflow: Post them", "New skill: screenshot-diff"],
        "Applied": ["Run the linter before reading"],
        "Rejected": ["Write the first heading in green"],
        "Quarantined": ["sql-report, Workflow: First run"],
        "Stale": ["Sum the columns and check them"],
    }.items():
        page.get_by_role("button", name=re.compile(f"^{state}")).click()
        for title in titles:
            expect(listed.filter(has_text=title)).to_have_count(1)
        expect(listed).to_have_count(len(titles))
    for state, change, allowed in (
        ("Applied", "Run the linter", ["Roll back…"]),
        ("Quarantined", "First run", ["Reject…"]),
    ):
        page.get_by_role("button", name=re.compile(f"^{state}")).click()
        row = listed.filter(has_text=change)
        said = row.inner_text()
        row.click()
        expect(page.get_by_role("heading", level=1)).to_have_text(said)
        actions = page.get_by_role("button", name=re.compile("Apply|Roll back|Revise|Reject"))
        expect(actions).to_have_text(allowed)
        page.get_by_role("link", name="All proposals").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Workshop")


def test_a_finding_stands_right_under_its_line_with_its_number_and_rule(
    visiting: Open, shown: StudioWorld
) -> None:
    visit = visiting(shown)
    page = visit.go(proposal(shown, "update"))
    finding = changes(page).get_by_role("note")
    expect(finding).to_contain_text("destructive-delete")

    above = finding.evaluate("(one) => one.previousElementSibling.innerText")
    assert "rm -rf build/notes" in above
    assert "15" in above
    expect(page.locator("main")).to_contain_text("SKILL.md:15")
    left = changes(page).locator(".diff-left").first
    expect(left).to_be_visible()
    page.set_viewport_size({"width": 700, "height": 900})
    sides = changes(page).locator(".diff-row-same").first.locator(":scope > *")
    expect(sides.filter(visible=True)).to_have_count(1)
    signs = changes(page).get_by_text("added:", exact=False)
    expect(signs.first).to_be_attached()


def test_a_new_skill_shows_its_files_its_evidence_and_what_is_much_like_it(
    visiting: Open, shown: StudioWorld
) -> None:
    page = visiting(shown).go(proposal(shown, "create"))

    expect(changes(page, "references/tolerance.md")).to_contain_text("Two levels of grey")
    expect(page.get_by_role("blockquote")).to_have_count(2)
    like = page.get_by_role("listitem").filter(has_text="alike")
    expect(like.get_by_role("link", name="code-review")).to_be_visible()
    page.get_by_role("button", name="As the agent reads it").click()
    expect(page.get_by_role("heading", name="Screenshot diff", exact=True)).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name="Screenshot diff", exact=True)).to_be_visible()


def test_a_skill_that_changed_on_disk_makes_the_proposal_stale_and_is_not_overwritten(
    visiting: Open, world: StudioWorld
) -> None:
    page = visiting(world).go(proposal(world, "update"))
    page.get_by_role("button", name="Apply to release-notes").click()
    file = world.roots["work"] / "release-notes" / "SKILL.md"
    mine = file.read_text(encoding="utf-8") + "\nWritten by hand.\n"
    file.write_text(mine, encoding="utf-8")

    page.get_by_role("dialog").get_by_role("button", name="Apply to release-notes").click()

    expect(page.get_by_role("alert").first).to_be_visible()
    expect(page.locator("main")).to_contain_text("Stale")
    assert file_of(world, "release-notes") == mine


def test_a_roll_back_over_a_later_edit_is_not_offered_and_the_reason_is_said(
    visiting: Open, world: StudioWorld
) -> None:
    page = visiting(world).go(proposal(world, "applied"))
    button = page.get_by_role("button", name="Roll back…")
    expect(button).to_be_enabled()
    file = world.roots["work"] / "code-review" / "SKILL.md"

    file.write_text(file.read_text(encoding="utf-8") + "\nLater, by hand.\n", encoding="utf-8")

    expect(button).to_be_disabled()
    expect(button).to_have_accessible_description(re.compile("changed since it was applied"))


def test_two_people_decide_and_the_second_learns_what_the_first_did(
    visiting: Open, world: StudioWorld
) -> None:
    first = visiting(world).go(proposal(world, "update"))
    second = visiting(world).go(proposal(world, "update"))
    expect(second.get_by_role("button", name="Reject…")).to_be_visible()
    waiting = second.get_by_role("navigation", name="Views").get_by_role(
        "link", name=re.compile("Workshop")
    )
    expect(waiting).to_contain_text("2")

    first.get_by_role("button", name="Reject…").click()
    first.get_by_label(re.compile("^Why")).fill("not now")
    first.get_by_role("dialog").get_by_role("button", name="Reject").click()

    expect(second.locator("main")).to_contain_text("Rejected")
    expect(second.locator("main")).to_contain_text("not now")
    expect(second.get_by_role("button", name=re.compile("^Apply"))).to_have_count(0)
    expect(waiting).to_contain_text("1")
    assert "Post them" not in file_of(world, "release-notes")


def test_a_refused_rejection_keeps_the_reason_that_was_typed(
    visiting: Open, shown: StudioWorld
) -> None:
    visit = visiting(shown)
    tap = Tap(visit.page)
    tap.refusing["skills.proposals.reject"] = "the store is locked"
    page = visit.go(proposal(shown, "create"))
    page.get_by_role("button", name="Reject…").click()
    field = page.get_by_label(re.compile("^Why"))
    field.fill("We do this by hand.")
    page.get_by_role("dialog").get_by_role("button", name="Reject").click()

    expect(page.get_by_text("the store is locked").first).to_be_visible()
    expect(field).to_have_value("We do this by hand.")


def test_a_dialog_takes_the_focus_and_gives_it_back(visiting: Open, shown: StudioWorld) -> None:
    page = visiting(shown).go(proposal(shown, "create"))
    for name in ("Create screenshot-diff", "Reject…"):
        button = page.get_by_role("button", name=name)
        button.focus()
        page.keyboard.press("Enter")
        dialog = page.get_by_role("dialog")
        expect(dialog.and_(page.locator(":focus-within"))).to_be_visible()
        page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)
        expect(button).to_be_focused()


def test_an_agent_that_learned_nothing_has_an_empty_state_that_says_what_to_do(
    visiting: Open, shown: StudioWorld
) -> None:
    page = visiting(shown).go("/workshop?settingsAgentId=reviewer")

    expect(page.get_by_role("button", name=re.compile("^Pending"))).to_have_text("Pending 0")
    expect(page.locator("main code").first).to_contain_text("prowess")
    expect(page.get_by_role("alert")).to_have_count(0)
    page = visiting(shown).go("/workshop?settingsAgentId=main&proposal=no-such-proposal")
    expect(page.locator("main")).to_contain_text(
        re.compile("no proposal|not found|no-such", re.IGNORECASE)
    )
    expect(
        page.get_by_role("link", name=re.compile("All proposals|Workshop")).first
    ).to_be_visible()


def test_a_proposal_of_one_agent_is_not_decided_in_the_name_of_another(
    visiting: Open, shown: StudioWorld
) -> None:
    visit = visiting(shown)
    tap = Tap(visit.page)
    page = visit.go(proposal(shown, "update"))
    expect(page.get_by_role("button", name="Apply to release-notes")).to_be_visible()

    page.get_by_label("Agent", exact=True).select_option("reviewer")

    expect(page).to_have_url(re.compile("settingsAgentId=reviewer"))
    expect(page.get_by_role("button", name="Apply to release-notes")).to_have_count(0)
    assert tap.calls("skills.proposals.apply") == []
