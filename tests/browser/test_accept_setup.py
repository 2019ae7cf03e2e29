"""System setup as the specification has it: for every agent, keys that never come back, removal."""

import json
import re

from playwright.sync_api import Locator, Page, expect
from tests.browser.conftest import Open
from tests.browser.studio_world import StudioWorld
from tests.browser.tapped import Tap
from tests.integration.install_world import reply

# Planted, to be looked for where it must not be.
SECRET = "sk-planted-7f3a9c"  # noqa: S105 - no secret of anybody
INSTALL = "Download prowess-frames (90 KB)"


def setup(page: Page, name: str) -> Locator:
    return page.get_by_role("dialog", name=f"Setup {name}")


def configure(name: str) -> str:
    return f"/setup?settingsAgentId=main&configure={name}"


def stored(page: Page) -> str:
    kept: str = page.evaluate(
        """() => JSON.stringify([{...localStorage}, {...sessionStorage}, location.href,
          [...document.querySelectorAll('input, textarea')].map((one) => one.value)])"""
    )
    return kept + page.content()


def test_the_page_says_whom_it_affects_queues_what_waits_and_has_no_switch(
    visiting: Open, shown: StudioWorld
) -> None:
    page = visiting(shown).go("/setup?settingsAgentId=main")

    expect(page.locator("main")).to_contain_text("affect every agent")
    queue = page.get_by_role("region", name=re.compile("What is missing"))
    expect(queue).to_have_accessible_name(re.compile("5 things, for 4 skills"))
    waiting = queue.get_by_role("button", name=re.compile("^Set up")).evaluate_all(
        "(all) => all.map((one) => one.getAttribute('aria-label') ?? one.innerText)"
    )
    assert sorted({name.removeprefix("Set up ") for name in waiting}) == [
        "image-gen", "ticket-triage", "video-frames", "voice-call",
    ]  # fmt: skip
    expect(page.get_by_role("switch")).to_have_count(0)
    expect(page.get_by_role("button", name=re.compile("^Remove "))).to_have_count(0)
    counts = {"All": 22, "Ready": 14, "Setup required": 4, "Not supported": 1, "Off for all": 1}
    counts |= {"Blocked": 0, "Not loaded": 2}
    for name, count in counts.items():
        button = page.get_by_role("button", name=re.compile(f"^{name}"))
        expect(button).to_have_text(re.compile(rf"{name}.*\s{count}$"))
    page.get_by_role("searchbox").fill("pdf")
    expect(page.get_by_role("button", name=re.compile("^All"))).to_have_text("All 1")
    expect(queue.get_by_role("button", name=re.compile("^Set up"))).to_have_count(len(waiting))


def test_a_hand_over_opens_the_skill_escape_closes_it_and_an_unknown_one_opens_nothing(
    visiting: Open, shown: StudioWorld
) -> None:
    page = visiting(shown).go("/skills?settingsAgentId=main&q=voice")
    link = page.locator("[data-skill=voice-call]").get_by_role("link", name="Open System Setup")
    link.click()
    expect(setup(page, "voice-call")).to_contain_text("channels.voice.enabled")
    expect(setup(page, "voice-call").and_(page.locator(":focus-within"))).to_have_count(1)
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page).not_to_have_url(re.compile("configure="))

    button = page.get_by_role("button", name="Configure code-review")
    button.focus()
    page.keyboard.press("Enter")
    expect(setup(page, "code-review")).to_be_visible()
    for _ in range(12):
        page.keyboard.press("Tab")
        inside = page.evaluate(
            "() => { const at = document.activeElement;"
            " return at === document.body || at.closest('[role=dialog], dialog') !== null; }"
        )
        assert inside
    page.keyboard.press("Escape")
    expect(button).to_be_focused()
    page = visiting(shown).go(configure("no-such-skill"))
    expect(page.get_by_role("button", name="Configure pdf-forms")).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_key_goes_in_and_never_comes_out(visiting: Open, world: StudioWorld) -> None:
    visit = visiting(world)
    tap = Tap(visit.page)
    page = visit.go(configure("image-gen"))
    dialog = setup(page, "image-gen")
    field, save = dialog.get_by_label("FAL_KEY"), dialog.get_by_role("button", name="Save FAL_KEY")
    expect(field).to_have_attribute("type", "password")
    field.fill("   ")
    expect(save).to_be_disabled()

    field.fill(SECRET)
    save.click()
    expect(dialog).to_contain_text("Ready")
    assert world.config()["skills"]["entries"]["image-gen"]["apiKey"] == SECRET
    page.reload()
    expect(dialog).to_contain_text("Stored")
    expect(page.get_by_role("region", name=re.compile("What is missing"))).not_to_contain_text(
        "FAL"
    )

    for view in ("skills?skill=image-gen", "library?skill=image-gen", "activity", "router"):
        page = visit.go(f"/{view}")
        assert SECRET not in stored(page)
    assert [frame for frame in tap.received if SECRET in frame] == []
    # A switch writes the whole config back: what is hidden must not replace what is stored.
    page = visit.go("/skills?settingsAgentId=main")
    page.get_by_role("switch", name="Skill pdf-forms", exact=True).click()
    expect(page.get_by_text("Main no longer uses pdf-forms.")).to_be_visible()
    assert world.config()["skills"]["entries"]["image-gen"]["apiKey"] == SECRET
    assert sum(SECRET in json.dumps(frame) for frame in tap.sent) == 1


def test_a_key_that_is_refused_is_said_at_the_skill_and_the_draft_is_kept(
    visiting: Open, shown: StudioWorld
) -> None:
    visit = visiting(shown)
    tap = Tap(visit.page)
    tap.refusing["skills.update"] = "the config cannot be written"
    page = visit.go(configure("image-gen"))
    dialog = setup(page, "image-gen")
    dialog.get_by_label("FAL_KEY").fill(SECRET)
    dialog.get_by_role("button", name="Save FAL_KEY").click()

    expect(dialog).to_contain_text("the config cannot be written")
    expect(dialog.get_by_label("FAL_KEY")).to_have_value(SECRET)
    expect(dialog).to_contain_text("Setup required")
    dialog.get_by_role("button", name="Switch off for all agents").click()
    expect(dialog.get_by_text("the config cannot be written")).to_have_count(2)
    expect(dialog.get_by_role("button", name="Switch off for all agents")).to_be_enabled()


def test_a_variable_is_stored_as_one_and_what_is_still_missing_stays(
    visiting: Open, world: StudioWorld
) -> None:
    page = visiting(world).go(configure("ticket-triage"))
    dialog = setup(page, "ticket-triage")
    dialog.get_by_label("TRACKER_TOKEN").fill(SECRET)
    dialog.get_by_role("button", name="Save TRACKER_TOKEN").click()

    expect(dialog).to_contain_text("Stored")
    expect(dialog).to_contain_text("Setup required")
    expect(dialog).to_contain_text("prowess-jq")
    entry = world.config()["skills"]["entries"]["ticket-triage"]
    assert entry["env"] == {"TRACKER_TOKEN": SECRET}


def test_an_install_shows_progress_and_output_fails_with_a_reason_and_can_be_tried_again(
    visiting: Open, world: StudioWorld
) -> None:
    served = world.tools.answers["/prowess-frames"]
    world.tools.answers["/prowess-frames"] = reply(b"gone", 410)
    visit = visiting(world)
    tap = Tap(visit.page)
    page = visit.go(configure("video-frames"))
    dialog = setup(page, "video-frames")
    expect(dialog).to_contain_text("the machine that runs the gateway")
    install = dialog.get_by_role("button", name=INSTALL)
    install.click()
    expect(dialog).to_contain_text("410")
    expect(dialog).to_contain_text("Missing")
    expect(install).to_be_enabled()

    world.tools.answers["/prowess-frames"] = served
    tap.holding.add("skills.install")
    install.click()
    expect(dialog.get_by_role("progressbar")).to_be_visible()
    expect(dialog).to_contain_text("90 KB of 90 KB")
    expect(install.and_(page.locator(":enabled"))).to_have_count(0)
    tap.release()
    expect(dialog.get_by_role("log")).to_contain_text("90000 bytes")
    expect(dialog).to_contain_text("Ready")
    page = visit.go("/skills?settingsAgentId=main&q=video")
    expect(page.locator("[data-skill=video-frames]")).to_have_attribute("data-state", "ready")


def test_off_for_all_reaches_every_agent_and_on_brings_it_back(
    visiting: Open, world: StudioWorld
) -> None:
    other = visiting(world).go("/skills?settingsAgentId=reviewer")
    expect(other.locator("[data-skill=sql-report]")).to_have_attribute("data-state", "ready")
    lists = world.config()["agents"]
    page = visiting(world).go(configure("sql-report"))
    dialog = setup(page, "sql-report")

    dialog.get_by_role("button", name="Switch off for all agents").click()
    expect(other.locator("[data-skill=sql-report]")).to_contain_text("every agent")
    assert world.config()["skills"]["entries"]["sql-report"]["enabled"] is False
    assert world.config()["agents"] == lists
    dialog.get_by_role("button", name="Switch on for all agents").click()
    expect(other.locator("[data-skill=sql-report]")).to_have_attribute("data-state", "ready")


def test_removal_needs_the_name_typed_and_can_be_undone(visiting: Open, world: StudioWorld) -> None:
    visit = visiting(world)
    tap = Tap(visit.page)
    page = visit.go(configure("brand-voice"))
    dialog = setup(page, "brand-voice")
    folder = world.roots["managed"] / "brand-voice"
    text = (folder / "SKILL.md").read_bytes()
    dialog.get_by_role("button", name="Remove brand-voice…").click()
    sure = dialog.get_by_role("button", name="Remove brand-voice and its files")
    field = dialog.get_by_label("Type brand-voice to confirm")
    for typed in ("", "brand", "Brand-Voice", "brand-voice2"):
        field.fill(typed)
        expect(sure).to_be_disabled()
    field.fill("brand")
    field.press("Enter")
    assert tap.calls("skills.remove") == []

    field.fill("brand-voice")
    sure.click()
    expect(page.get_by_role("button", name="Configure brand-voice")).to_have_count(0)
    assert not folder.exists()
    assert set(tap.calls("skills.remove")[0]) <= {"skillKey", "source", "agentId"}
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("button", name="Configure brand-voice")).to_be_visible()
    assert (folder / "SKILL.md").read_bytes() == text


def test_what_is_not_ours_to_remove_has_no_button_for_it_and_says_why(
    visiting: Open, shown: StudioWorld
) -> None:
    visit = visiting(shown)
    for name, why in (("prowess-manual", "cannot be removed"), ("daily-standup", "by hand")):
        page = visit.go(configure(name))
        expect(setup(page, name)).to_contain_text(why)
        expect(page.get_by_role("button", name=re.compile("^Remove"))).to_have_count(1)
        expect(setup(page, name).get_by_role("button", name=re.compile("Remove"))).to_have_count(0)


def test_a_skill_that_goes_while_it_is_configured_is_said_and_breaks_nothing(
    visiting: Open, world: StudioWorld
) -> None:
    page = visiting(world).go(configure("voice-call"))
    expect(setup(page, "voice-call")).to_be_visible()
    folder = world.roots["work"] / "voice-call"
    (folder / "SKILL.md").unlink()
    folder.rmdir()

    expect(page.get_by_role("button", name="Set up voice-call")).to_have_count(0)
    # Closed, or open and honest about it.
    dialog = setup(page, "voice-call")
    if dialog.count():
        expect(dialog).to_contain_text(re.compile("no longer|gone|removed", re.IGNORECASE))
    expect(page.get_by_role("button", name="Configure code-review")).to_be_attached()
