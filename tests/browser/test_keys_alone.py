"""Every action of every view with Tab, Space, Enter and letters: the pointer is never used."""

import re
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import Open
from tests.browser.studio_world import Choice, StudioWorld, studio
from tests.integration.hub_world import TIDES, team_hub
from tests.integration.sharing_world import give_to_agent
from tools.studio_images import _share

_LONGEST_S = 60
# A title that was given the focus is nothing that Tab leads to.
_FOCUSED = """() => {
  const one = document.activeElement;
  if (one.tabIndex < 0) return '';
  return one.getAttribute('aria-label') || one.labels?.[0]?.innerText || one.innerText || '';
}"""


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StudioWorld]:
    """A world with everything that can be decided: also a hub, and something newer elsewhere."""
    root = tmp_path_factory.mktemp("team")
    with team_hub(root / "hub") as (hub, address):
        chosen = Choice(hard=True, hub=(address, hub.give_token("ann")))
        with studio(root / "studio", chosen) as world:
            _share(world)
            give_to_agent(world.gateway.runtime, f"hub:{TIDES}@1.0.0")
            yield world


def reach(page: Page, name: str) -> None:
    """Press Tab until something of this name has the focus; it may have to be drawn first."""
    seen: list[str] = []
    until = time.monotonic() + _LONGEST_S
    while time.monotonic() < until:
        page.keyboard.press("Tab")
        seen.append(page.evaluate(_FOCUSED).strip())
        if re.search(name, seen[-1]):
            return
    raise AssertionError(f"no Tab leads to {name!r}, only to {sorted(set(seen))}")


def press(page: Page, name: str) -> None:
    reach(page, name)
    page.keyboard.press("Enter")


def write(page: Page, name: str, words: str) -> None:
    reach(page, name)
    page.keyboard.type(words)


def said(page: Page, words: str) -> None:
    expect(page.locator(".toast").last).to_contain_text(re.compile(words))


def test_skills_are_switched_listed_and_let_through(visiting: Open, team: StudioWorld) -> None:
    page = visiting(team).go("/skills?settingsAgentId=main")
    press(page, "^Disable all$")
    expect(page.locator(".toggle-on")).to_have_count(0)
    press(page, "^Use all$")
    expect(page.locator(".toggle-on").first).to_be_visible()
    assert "skills" not in team.config()["agents"]["list"][0]

    page = visiting(team).go("/skills?settingsAgentId=main&skill=site-backup")
    write(page, "^Why", "our own host")
    press(page, "^Accept")
    expect(page.locator(".split-detail")).not_to_contain_text("Blocked by the scanner")

    page = visiting(team).go("/skills?settingsAgentId=main&show=agents")
    reach(page, "brand-voice.*Reviewer|Reviewer.*brand-voice")
    page.keyboard.press("Space")
    said(page, "brand-voice")


def test_what_is_missing_is_given_and_a_coding_agent_is_connected(
    visiting: Open, team: StudioWorld
) -> None:
    page = visiting(team).go("/setup?settingsAgentId=main")
    write(page, "FAL_KEY", "a-key-of-a-test")
    page.keyboard.press("Enter")
    said(page, "FAL_KEY")
    press(page, "Configure.*meeting-minutes|meeting-minutes.*Configure")
    press(page, "^Switch off for all")
    expect(page.get_by_role("dialog")).to_contain_text("Switched off")

    page = visiting(team).go("/connect?settingsAgentId=main")
    press(page, "^Connect Claude Code")
    # Its title says the same, and stands there before the plan does.
    agree = page.get_by_role("dialog").get_by_role("button", name="Connect Claude Code")
    expect(agree).to_be_visible()
    press(page, "^Connect Claude Code$")
    said(page, "Claude Code")


def test_a_decision_is_taken_back_and_several_are_rejected(
    visiting: Open, team: StudioWorld
) -> None:
    page = visiting(team).go(f"/workshop?settingsAgentId=main&proposal={team.proposals['applied']}")
    press(page, "^Roll back")
    press(page, "^Roll back code-review")
    said(page, "rolled back")

    page = visiting(team).go("/workshop?settingsAgentId=main&filter=quarantined")
    reach(page, "^Choose sql-report")
    page.keyboard.press("Space")
    press(page, "^Reject 1 proposal")
    said(page, "1 proposal was rejected")


def test_an_installed_skill_is_updated_and_the_hub_is_told(
    visiting: Open, team: StudioWorld
) -> None:
    page = visiting(team).go("/library?settingsAgentId=main&report=installed")
    press(page, "^Ask the sources")
    expect(page.get_by_role("button", name="See the update").first).to_be_visible()
    press(page, "^See the update")
    expect(page.get_by_role("region", name="What changes in")).to_be_visible()
    press(page, "^Update changelog$")
    said(page, "changelog")

    page = visiting(team).go(f"/hub?settingsAgentId=main&skill={TIDES}")
    press(page, "^Promote 1.0.0")
    expect(page.get_by_label("Label")).to_be_focused()
    page.keyboard.press("Enter")
    said(page, "stable of team/tide-tables is 1.0.0 now")
    press(page, "^Yank 1.1.0")
    expect(page.get_by_label("Why")).to_be_focused()
    page.keyboard.type("posts to strangers")
    page.keyboard.press("Enter")
    said(page, "1.1.0 is yanked")


def test_a_message_becomes_a_test_and_is_taken_away_again(
    visiting: Open, team: StudioWorld
) -> None:
    page = visiting(team).go("/router?settingsAgentId=main&m=please fill in this pdf form")
    press(page, "^Save as test$")
    said(page, "test|saved")
    press(page, "^Remove|^Delete")
    said(page, "removed|deleted|taken")
