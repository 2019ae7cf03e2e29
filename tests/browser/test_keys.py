"""Everything by the keyboard: a palette over all there is, a search that is walked, an inbox."""

import re

from playwright.sync_api import Page, expect
from tests.browser.conftest import Open
from tests.browser.studio_world import StudioWorld


def palette(page: Page, words: str) -> None:
    """Open the palette and look for something."""
    page.keyboard.press("Control+k")
    expect(page.get_by_role("combobox", name=re.compile("^Search skills, views"))).to_be_focused()
    page.keyboard.type(words)


def test_the_palette_leads_to_skills_views_actions_and_settings(
    visiting: Open, world: StudioWorld
) -> None:
    page = visiting(world).go("/home?settingsAgentId=main")
    palette(page, "pdf-f")
    expect(page.locator(".palette-on")).to_contain_text("pdf-forms")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/skills.*skill=pdf-forms"))

    palette(page, "activity")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Activity")

    before = page.locator("html").get_attribute("data-theme")
    palette(page, "theme")
    page.keyboard.press("Enter")
    expect(page.locator("html")).not_to_have_attribute("data-theme", before or "")

    palette(page, "maxSkillsInPrompt")
    expect(page.locator(".palette-on")).to_contain_text("maxSkillsInPrompt")
    page.keyboard.press("Enter")
    page.get_by_label("Value of skills.limits.maxSkillsInPrompt").fill("77")
    page.keyboard.press("Enter")
    expect(page.locator(".toast")).to_contain_text("maxSkillsInPrompt is set")
    assert world.config()["skills"]["limits"]["maxSkillsInPrompt"] == 77
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_arrows_choose_in_the_palette_and_escape_clears_before_it_closes(
    visiting: Open, shown: StudioWorld
) -> None:
    page = visiting(shown).go("/home?settingsAgentId=main")
    palette(page, "")
    first = page.locator(".palette-on").inner_text()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".palette-on")).not_to_have_text(first)
    page.keyboard.press("ArrowUp")
    expect(page.locator(".palette-on")).to_have_text(first, use_inner_text=True)
    page.keyboard.type("xyz")
    page.keyboard.press("Escape")
    expect(page.get_by_role("combobox", name=re.compile("^Search skills, views"))).to_have_value("")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_each_escape_takes_one_step_back(visiting: Open, shown: StudioWorld) -> None:
    page = visiting(shown).go("/skills?settingsAgentId=main&filter=ready")
    expect(page.locator("[data-skill=pdf-forms]")).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("pdf")
    expect(page.locator("[data-skill]")).to_have_count(1)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator(".skill-title")).to_be_focused()

    page.keyboard.press("Escape")
    expect(page).not_to_have_url(re.compile("skill="))
    page.keyboard.press("Escape")
    expect(page.get_by_role("searchbox")).to_have_value("")
    expect(page).to_have_url(re.compile("filter=ready"))
    page.keyboard.press("Escape")
    expect(page).not_to_have_url(re.compile("filter="))


def test_the_inbox_is_decided_by_letters_and_the_next_one_opens(
    visiting: Open, world: StudioWorld
) -> None:
    page = visiting(world).go("/workshop?settingsAgentId=main")
    rows = page.locator("[data-proposal]")
    expect(rows).to_have_count(2)
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("e")
    expect(page.get_by_role("dialog", name=re.compile("^Revise"))).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    first = page.url
    page.keyboard.press("r")
    expect(page.get_by_role("dialog", name=re.compile("^Reject"))).to_be_visible()
    page.keyboard.press("Enter")

    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page).to_have_url(re.compile("proposal="))
    expect(page).not_to_have_url(first)
    page.keyboard.press("a")
    expect(page.get_by_role("dialog", name=re.compile("^(Apply|Create)"))).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.locator(".toast").last).to_contain_text(re.compile("was written"))
    listed = world.gateway.services.workshop().list("pending", agent_id="main")
    assert len(listed) == 0


def test_rows_of_the_inbox_say_what_changes_and_several_are_rejected_at_once(
    visiting: Open, world: StudioWorld
) -> None:
    page = visiting(world).go("/workshop?settingsAgentId=main")
    row = page.locator(f"[data-proposal='{world.proposals['update']}']")
    expect(row).to_contain_text("Post them")
    expect(row).to_contain_text("and next time post them to the team page, too")
    expect(row).to_contain_text("1 finding")
    expect(row).to_contain_text("+2")
    for box in page.locator("[data-proposal] input").all():
        box.check()
    page.get_by_role("button", name="Reject 2 proposals").click()

    expect(page.get_by_text("Nothing waits for you.")).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("^Rejected"))).to_have_text("Rejected 3")
    assert len(world.gateway.services.workshop().list("pending", agent_id="main")) == 0
