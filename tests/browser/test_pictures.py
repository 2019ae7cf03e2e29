"""What is alive: routes as they happen, connections, a map of meaning, and who may use what."""

import json
import re
from pathlib import Path

from playwright.sync_api import Page, expect
from tests.browser.conftest import Open
from tests.browser.studio_world import Choice, StudioWorld, studio

from prowess.runtime.route.answer import Caller, Surface

MESSAGE = "please fill in this PDF form for me"


def test_a_route_stands_on_home_as_it_happens_and_without_its_words(
    visiting: Open, shown: StudioWorld
) -> None:
    page = visiting(shown).go("/home?settingsAgentId=main")
    hour = page.get_by_role("region", name=re.compile("The last hour"))
    expect(hour).to_contain_text("No agent asked for a skill")

    caller = Caller(surface=Surface.CHAT, agent_id="main")
    shown.gateway.runtime.routing.answer(MESSAGE, caller)

    tick = hour.locator(".tick").first
    expect(tick).to_contain_text("pdf-forms")
    expect(tick).to_contain_text("message · a chat")
    expect(tick.locator(".score-number")).to_have_text(re.compile(r"^0\.\d\d$|^1\.00$"))
    assert "PDF form" not in page.content()
    hour.get_by_role("link", name="pdf-forms").click()
    expect(page).to_have_url(re.compile("/skills.*skill=pdf-forms"))


def test_every_line_of_home_leads_somewhere(visiting: Open, shown: StudioWorld) -> None:
    page = visiting(shown).go("/home?settingsAgentId=main")
    lines = page.locator(".home-line")
    expect(lines.filter(has_text="proposals wait")).to_have_attribute(
        "href", re.compile("^/workshop")
    )
    expect(lines.filter(has_text="cannot be read")).to_have_attribute(
        "href", re.compile("filter=unread")
    )
    room = page.get_by_role("region", name=re.compile("Room in the prompt"))
    expect(room.get_by_role("link", name="Claude Code")).to_be_visible()
    for part in page.get_by_role("region").filter(has=page.get_by_role("listitem")).all():
        rows = part.get_by_role("listitem")
        expect(part.get_by_role("link")).to_have_count(rows.count())
    room.get_by_role("link", name="Claude Code").click()
    expect(page.get_by_role("region", name="What the prompt block costs")).to_be_in_viewport()


def test_a_coding_agent_is_connected_with_what_was_shown_and_taken_out_again(
    visiting: Open, world: StudioWorld
) -> None:
    page = visiting(world).go("/connect?settingsAgentId=main")
    claude = page.locator("[data-harness=claude-code]")
    expect(claude).to_contain_text("Not connected")
    claude.get_by_role("button", name="Connect Claude Code").click()
    dialog = page.get_by_role("dialog", name="Connect Claude Code")
    expect(dialog.locator(".line-added").first).to_be_visible()
    settings = world.home / ".claude" / "settings.json"
    assert not settings.exists()
    dialog.get_by_role("button", name="Connect Claude Code").click()

    expect(claude).to_contain_text("Connected")
    assert "prowess" in settings.read_text(encoding="utf-8")
    claude.get_by_role("button", name="Disconnect Claude Code").click()
    dialog = page.get_by_role("dialog", name="Disconnect Claude Code")
    dialog.get_by_role("button", name="Disconnect Claude Code").click()
    expect(claude).to_contain_text("Not connected")
    assert not settings.exists() or "prowess" not in settings.read_text(encoding="utf-8")


def test_a_table_of_agents_and_skills_switches_each_where_it_stands(
    visiting: Open, world: StudioWorld
) -> None:
    page = visiting(world).go("/skills?settingsAgentId=main")
    page.get_by_role("button", name="By agent").click()
    expect(page.locator(".scope")).to_contain_text("Each switch affects the agent of its column")
    cell = page.get_by_role("switch", name="brand-voice for Reviewer")
    expect(cell).to_have_attribute("aria-checked", "false")
    cell.click()

    expect(page.locator(".toast")).to_contain_text("Reviewer may use brand-voice.")
    expect(cell).to_have_attribute("aria-checked", "true")
    assert "brand-voice" in (lists(world)["reviewer"] or ())
    assert lists(world)["main"] is None
    # What lies in the workspace of another agent is nothing that could be switched.
    elsewhere = page.get_by_role("listitem").filter(has_text="pdf-forms")
    expect(elsewhere).to_contain_text("Reviewer does not find pdf-forms")
    expect(elsewhere.get_by_role("switch")).to_have_count(1)
    page.goto(f"{world.address}/skills?settingsAgentId=reviewer&show=agents")
    page.get_by_role("switch", name="code-review for Main").click()
    expect(page.locator(".toast")).to_contain_text("Main no longer uses code-review.")
    # The others are those of its own workspace, which the shown agent does not even find.
    assert {"pdf-forms", "image-gen", "ticket-triage"} <= set(lists(world)["main"] or ())
    assert "code-review" not in (lists(world)["main"] or ())


def lists(world: StudioWorld) -> dict[str, list[str] | None]:
    return {one["id"]: one.get("skills") for one in world.config()["agents"]["list"]}


def test_rows_are_filtered_grouped_sorted_and_made_low(visiting: Open, shown: StudioWorld) -> None:
    page = visiting(shown).go("/skills?settingsAgentId=reviewer")
    expect(page.locator("[data-skill=code-review]")).to_be_visible()
    page.get_by_label("Use", exact=True).select_option("on")
    expect(page.locator("[data-skill=brand-voice]")).to_have_count(0)
    page.get_by_label("Use", exact=True).select_option("")
    page.get_by_label("Source").select_option("Installed")
    expect(page.locator("[data-skill=brand-voice]")).to_be_visible()
    expect(page.locator("[data-skill=code-review]")).to_have_count(0)
    page.get_by_label("Source").select_option("")
    page.get_by_label("Group").select_option("source")
    expect(page.locator(".row-heading").first).to_be_visible()
    high = page.locator("[data-skill]").first.bounding_box()
    page.get_by_role("button", name="Compact").click()
    expect(page.locator(".split-low")).to_be_visible()
    low = page.locator("[data-skill]").first.bounding_box()
    assert high is not None
    assert low is not None
    assert (round(high["height"]), round(low["height"])) == (52, 36)


def test_a_search_finds_what_is_meant_and_can_be_routed(visiting: Open, tmp_path: Path) -> None:
    with studio(tmp_path, Choice(encoder="bundled")) as world:
        page = visiting(world).go("/skills?settingsAgentId=main")
        page.get_by_role("searchbox").fill("tidy up this messy table of numbers")
        row = page.locator("[data-skill=spreadsheet-cleanup]")
        expect(row).to_contain_text("by meaning")
        page.get_by_role("link", name="Route this message").click()
        expect(page.get_by_role("textbox", name="Message")).to_have_value(
            "tidy up this messy table of numbers"
        )

        page.goto(f"{world.address}/skills?settingsAgentId=main&show=map")
        canvas = page.locator(".map-canvas")
        expect(canvas).to_have_attribute("aria-label", re.compile(r"^\d+ skills by meaning"))
        found = world.gateway.runtime.routing.index("main")
        assert found.dense is not None
        assert json.dumps(len(found.skills)) in (canvas.get_attribute("aria-label") or "")
        expect(page.get_by_role("complementary", name="Hard to tell apart")).to_be_visible()
        point_and_press(page)
        go_by_keyboard_and_drag(page)


def point_and_press(page: Page) -> None:
    """Point at a skill, zoom and press, and read each time what the map says."""
    canvas, said = page.locator(".map-canvas"), page.locator(".map-said")
    expect(said).to_contain_text("Point at a skill")
    name, x, y = page.evaluate(PLACED)
    page.mouse.move(x, y)
    expect(said.locator("strong")).to_have_text(name)
    # What lies under the pointer stays there while it is zoomed.
    page.mouse.wheel(0, -300)
    page.mouse.move(x + 1, y)
    expect(said.locator("strong")).to_have_text(name)
    page.mouse.click(x, y)
    expect(page.locator(".skill-title")).to_contain_text(name)
    page.keyboard.press("Escape")
    expect(canvas).to_be_visible()


def go_by_keyboard_and_drag(page: Page) -> None:
    """Open the skill in the middle by keyboard, and move the map by hand."""
    canvas, said = page.locator(".map-canvas"), page.locator(".map-said")
    page.get_by_role("button", name="All", exact=True).click()
    canvas.press("ArrowLeft")
    middle = said.locator("strong").inner_text()
    canvas.press("Enter")
    expect(page.locator(".skill-title")).to_contain_text(middle)
    page.go_back()
    expect(canvas).to_be_visible()
    # A drag moves the map and opens nothing.
    box = canvas.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 60, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 160, box["y"] + 120, steps=5)
    page.mouse.up()
    expect(page).to_have_url(re.compile("show=map"))
    expect(page).not_to_have_url(re.compile("skill="))


# The skill that stands farthest to the right, and where on the screen, by the gateway's numbers.
PLACED = """async () => {
  const { gateway } = await import('/js/app.js');
  const { points } = await gateway.request('skills.map', { agentId: 'main' });
  const [name, x, y] = points.reduce((one, other) => (other[1] > one[1] ? other : one));
  const box = document.querySelector('.map-canvas').getBoundingClientRect();
  const half = Math.min(box.width, box.height) / 2 - 24;
  const wide = box.width > box.height ? 1.3 : 1;
  return [name, box.x + box.width / 2 + x * half * wide, box.y + box.height / 2 - y * half];
}"""
