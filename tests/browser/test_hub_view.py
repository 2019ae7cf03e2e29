"""The hub on a page of its own: search, versions, what changed, who uses what, and decisions."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import Open
from tests.browser.studio_world import Choice, StudioWorld, studio
from tests.browser.test_every_view import violations
from tests.integration.hub_world import TIDES, HubWorld, describe, team_hub
from tests.integration.sharing_world import give_to_agent

from prowess.hub.model import HubCaller, HubRole, TokenScope


@dataclass(frozen=True)
class Both:
    """A hub, and a studio of a gateway that takes skills from it."""

    hub: HubWorld
    studio: StudioWorld


@pytest.fixture
def both(tmp_path: Path) -> Iterator[Both]:
    with (
        team_hub(tmp_path / "hub") as (hub, address),
        studio(tmp_path / "studio", Choice(hub=(address, hub.give_token("ann")))) as world,
    ):
        give_to_agent(world.gateway.runtime, f"hub:{TIDES}@1.0.0")
        yield Both(hub, world)


def labels(both: Both) -> dict[str, str]:
    service = both.hub.service
    return service.read_labels(service.find(HubCaller(), TIDES))


def part(page: Page, version: str) -> str:
    return page.locator(f"[data-version='{version}']").inner_text()


def test_a_skill_is_searched_for_and_shows_versions_findings_changes_and_users(
    visiting: Open, both: Both
) -> None:
    page = visiting(both.studio, bypass_csp=True).go("/hub?settingsAgentId=main")
    expect(page.locator("[data-hub]")).to_have_count(2)
    page.get_by_role("searchbox").fill("tides")
    first = page.locator("[data-hub]").first
    expect(first).to_contain_text(TIDES)
    page.keyboard.press("ArrowDown")

    about = page.get_by_role("region", name=f"About {TIDES}")
    change = about.get_by_role("region", name="What changes from 1.0.0 to 1.1.0")
    expect(change).to_contain_text(re.compile(r"-Ask the harbour\..*\+Ask twice\.", re.DOTALL))
    expect(about).to_contain_text("Used by 1 agent of this gateway")
    assert "Used by\nMain" in part(page, "1.0.0")
    assert "no agent of this gateway" in part(page, "1.1.0")
    assert "News of 1.1.0." in part(page, "1.1.0")
    rules = both.hub.service.find_version(
        HubCaller(), both.hub.service.find(HubCaller(), TIDES), "1.1.0"
    ).scan["rules"]
    assert rules
    for rule in rules:
        expect(about.get_by_role("list", name="What the scanner says")).to_contain_text(rule)
    # To look is not to take: only the skill that was added was.
    expect(about).to_contain_text("Taken 1 time.")
    assert violations(page) == []
    # A command that is longer than a phone is wide can be read and reached there, too.
    page.set_viewport_size({"width": 360, "height": 740})
    assert violations(page) == []
    page.set_viewport_size({"width": 1280, "height": 820})

    about.get_by_role("combobox", name="From").select_option("1.1.0")
    about.get_by_role("combobox", name="to").select_option("1.0.0")
    change = about.get_by_role("region", name="What changes from 1.1.0 to 1.0.0")
    expect(change).to_contain_text("+Ask the harbour.")


def test_a_version_is_promoted_and_yanked_in_a_dialog_that_says_what_that_means(
    visiting: Open, both: Both
) -> None:
    page = visiting(both.studio).go(f"/hub?settingsAgentId=main&skill={TIDES}")
    page.get_by_role("button", name="Promote 1.0.0").click()
    page.get_by_label("Label").fill("canary")
    page.keyboard.press("Enter")
    expect(page.locator(".toast")).to_contain_text("canary of team/tide-tables is 1.0.0 now")
    expect(page.locator("[data-version='1.0.0'] .chip-accent")).to_have_text(re.compile("canary"))
    assert labels(both)["canary"] == "1.0.0"

    page.get_by_role("button", name="Yank 1.1.0").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("cannot be undone")
    expect(dialog.get_by_role("button", name="Yank 1.1.0")).to_be_disabled()
    dialog.get_by_label("Why").fill("posts to strangers")
    dialog.get_by_role("button", name="Yank 1.1.0").click()
    gone = page.locator("[data-version='1.1.0']")
    expect(gone).to_contain_text("posts to strangers")
    expect(gone.get_by_role("button")).to_have_count(0)
    assert labels(both)["latest"] == "1.0.0"


def propose_knots(both: Both) -> HubWorld:
    """Publish two versions where a reviewer has to say yes: Ann is one."""
    hub = both.hub
    hub.make_space("care", is_reviewed=True, bob=HubRole.PUBLISHER, ann=HubRole.REVIEWER)
    bob = hub.enter("bob")
    hub.publish(bob, "knots", "1.0.0", {"SKILL.md": describe("knots", body="Tie a bowline.")})
    hub.publish(bob, "knots", "1.1.0", {"SKILL.md": describe("knots", body="Tie two.")})
    return hub


def test_what_waits_for_a_review_is_read_approved_and_rejected_by_keys_alone(
    visiting: Open, both: Both
) -> None:
    hub = propose_knots(both)
    page = visiting(both.studio, bypass_csp=True).go("/hub?settingsAgentId=main")
    awaited = page.get_by_role("region", name="2 versions wait for your review")
    awaited.get_by_role("link", name="care/knots 1.0.0").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="What changes from 1.0.0 to 1.1.0")).to_be_visible()
    assert violations(page) == []

    page.get_by_role("button", name="Reject 1.1.0").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Why")).to_be_focused()
    page.keyboard.type("one is enough")
    page.keyboard.press("Enter")
    expect(page.locator(".toast")).to_contain_text("care/knots 1.1.0 is rejected")
    expect(page.locator("[data-version='1.1.0']")).to_contain_text("one is enough")
    page.get_by_role("button", name="Approve 1.0.0").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Why")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".toast").last).to_contain_text("care/knots 1.0.0 is approved")
    expect(page.get_by_text("for your review")).to_have_count(0)
    expect(page.locator("[data-hub='care/knots']")).to_be_visible()
    assert hub.service.read_labels(hub.service.find(HubCaller(), "care/knots"))["latest"] == "1.0.0"


def test_the_first_version_of_a_skill_is_read_whole(visiting: Open, both: Both) -> None:
    page = visiting(both.studio).go("/hub?settingsAgentId=main&skill=team/bread")
    expect(page.get_by_role("region", name="What 1.0.0 says")).to_contain_text("+# bread")


def test_what_the_hub_refuses_is_said_in_its_words_and_changes_nothing(
    visiting: Open, both: Both, tmp_path: Path
) -> None:
    reader = both.hub.give_token("bob", TokenScope.READ)
    address = both.studio.hub[0]
    with studio(tmp_path / "other", Choice(hub=(address, reader))) as world:
        visit = visiting(world)
        page = visit.go(f"/hub?settingsAgentId=main&skill={TIDES}")
        page.get_by_role("button", name="Yank 1.1.0").click()
        page.get_by_label("Why").fill("because")
        page.get_by_role("dialog").get_by_role("button", name="Yank 1.1.0").click()
        expect(page.locator(".toast")).to_contain_text("needs the role publisher")
        expect(page.get_by_label("Why")).to_have_value("because")
        assert labels(both)["latest"] == "1.1.0"


def test_a_gateway_without_a_hub_says_how_to_have_one(visiting: Open, world: StudioWorld) -> None:
    page = visiting(world).go("/hub?settingsAgentId=main")
    expect(page.locator(".empty").first).to_contain_text("This gateway has no hub.")
    expect(page.locator(".command").first).to_contain_text("prowess hub serve")
