"""Addresses that lead nowhere or far down, messages that pile up, and words for people."""

import json
import re

from playwright.sync_api import Page, expect
from tests.browser.browsing import Visit
from tests.browser.conftest import Open
from tests.browser.studio_world import StudioWorld
from tests.browser.tapped import Tap

PHONE = {"width": 390, "height": 760}
COMPLAIN = """async (many) => {
  const { toast } = await import('/js/toasts.js');
  for (const number of many) toast(`Trouble ${number}.`, { tone: 'danger' });
  toast('All is well.');
}"""


def skills(visit: Visit, more: str = "") -> Page:
    page = visit.go(f"/skills?settingsAgentId=main{more}")
    expect(page.locator("[data-skill]").first).to_be_visible()
    return page


def test_a_skill_that_is_not_there_is_said_to_be_missing(
    visiting: Open, world: StudioWorld
) -> None:
    page = visiting(world, viewport=PHONE).go("/skills?settingsAgentId=main&skill=nope")
    expect(page.locator(".split-detail")).to_contain_text("Main has no skill called “nope”.")
    page.get_by_role("button", name="Show all skills").click()
    page.get_by_role("link", name="pdf-forms").click()
    expect(page.locator(".skill-title")).to_contain_text("pdf-forms")
    world.gateway.services.removals.remove("pdf-forms", "openclaw-workspace", "main")

    expect(page.locator(".split-detail")).to_contain_text("Main has no skill called “pdf-forms”.")


def test_a_link_to_a_skill_far_down_shows_its_row(visiting: Open, shown: StudioWorld) -> None:
    page = skills(visiting(shown), "&skill=voice-call")

    expect(page.locator("[data-skill=voice-call]")).to_be_in_viewport(ratio=0.5)


def test_one_skill_on_a_phone_has_its_own_switch_and_none_for_all(
    visiting: Open, world: StudioWorld
) -> None:
    page = visiting(world, viewport=PHONE).go("/skills?settingsAgentId=main&skill=pdf-forms")
    expect(page.get_by_role("button", name="Disable all")).to_have_count(0)
    page.get_by_role("switch", name="Skill pdf-forms", exact=True).click()

    expect(page.get_by_text("Main no longer uses pdf-forms.")).to_be_visible()
    assert "pdf-forms" not in world.config()["agents"]["list"][0]["skills"]


def test_trouble_stays_until_it_is_closed_and_what_is_too_much_is_counted(
    visiting: Open, shown: StudioWorld
) -> None:
    page = skills(visiting(shown))
    page.evaluate(COMPLAIN, [1, 2, 3, 4, 5, 6, 6])

    expect(page.locator(".toast-more")).to_contain_text("and 3 more")
    expect(page.get_by_role("alert")).to_have_count(3)
    expect(page.get_by_text("All is well.")).to_be_visible()
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.get_by_text("Trouble 1.")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(6)


def test_a_config_that_changes_all_the_time_is_told_without_the_words_of_the_protocol(
    visiting: Open, shown: StudioWorld
) -> None:
    visit = visiting(shown)
    tap = Tap(visit.page)
    tap.refusing["config.set"] = "config changed since last load; re-run config.get and retry"
    page = skills(visit)
    page.get_by_role("switch", name="Skill pdf-forms", exact=True).click()

    said = page.get_by_role("alert")
    expect(said).to_contain_text("Somebody else keeps changing the config")
    expect(said).not_to_contain_text("config.get")


def test_a_refusal_of_the_trash_names_the_skill(visiting: Open, world: StudioWorld) -> None:
    world.gateway.services.removals.remove("sql-report", "openclaw-workspace", "main")
    page = visiting(world).go("/setup?settingsAgentId=main&removed=1")
    expect(page.get_by_role("button", name="Restore sql-report")).to_be_visible()
    (removed,) = world.gateway.services.removals.listed()
    other = world.roots["work"] / "sql-report"
    other.mkdir()
    page.get_by_role("button", name="Restore sql-report").click()

    said = page.get_by_role("alert", include_hidden=True)
    expect(said).to_contain_text("sql-report stays in the trash.")
    expect(said).not_to_contain_text(str(removed["id"]))


def test_a_skill_of_another_system_is_told_in_words_and_sends_nobody_to_setup(
    visiting: Open, shown: StudioWorld
) -> None:
    page = visiting(shown).go("/router?settingsAgentId=main&why=apple-notes")

    why = page.locator(".why")
    expect(why).to_contain_text("works only on macOS")
    expect(why).not_to_contain_text("darwin")
    expect(why.get_by_role("link", name="Open System Setup")).to_have_count(0)


def test_a_long_text_in_place_of_an_emoji_is_not_shown(visiting: Open, world: StudioWorld) -> None:
    folder = world.roots["work"] / "worded"
    folder.mkdir()
    needs = {"openclaw": {"emoji": "SAFE AND SIGNED"}}
    head = f"name: worded\ndescription: For a test.\nmetadata: {json.dumps(needs)}"
    (folder / "SKILL.md").write_text(f"---\n{head}\n---\n\n# Worded\n", encoding="utf-8")
    world.gateway.runtime.skills.refresh()
    page = skills(visiting(world), "&skill=worded")

    expect(page.locator(".skill-title")).to_have_text("worded")
    page.locator("[data-skill=pdf-forms] a").first.click()
    expect(page.locator(".skill-title")).to_have_text("📄 pdf-forms")


def test_a_path_that_is_no_page_leads_to_those_that_are(visiting: Open, shown: StudioWorld) -> None:
    visit = visiting(shown)
    visit.expected.append("404")
    visit.page.goto(shown.address + "/nowhere")
    expect(visit.page.get_by_role("heading", level=1)).to_have_text("There is no such page")
    visit.page.get_by_role("link", name="Library").click()
    expect(visit.page.get_by_role("heading", level=1)).to_have_text("Library")
    visit.page.goto(shown.address + "/skills/?filter=ready")

    expect(visit.page).to_have_url(re.compile(r"/skills\?filter=ready"))
    expect(visit.page.locator("[data-skill]").first).to_be_visible()
