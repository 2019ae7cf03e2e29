"""The agent's skills: look, search, switch, and see why something is not ready."""

import json
import re
from typing import Any

from playwright.sync_api import Page, expect
from tests.browser.browsing import Line
from tests.browser.conftest import Open
from tests.browser.studio_world import StudioWorld
from tests.browser.tapped import Tap


def switch(page: Page, name: str) -> Any:  # noqa: ANN401 - a locator
    return page.get_by_role("switch", name=f"Skill {name}", exact=True)


def row(page: Page, name: str) -> Any:  # noqa: ANN401 - a locator
    return page.locator(f"[data-skill='{name}']")


def agents(world: StudioWorld) -> dict[str, Any]:
    return {agent["id"]: agent.get("skills") for agent in world.config()["agents"]["list"]}


def test_each_row_says_whether_the_skill_is_ready_and_else_exactly_why(
    visiting: Open, shown: StudioWorld
) -> None:
    page = visiting(shown).go("/skills")

    expect(row(page, "pdf-forms").locator(".chip")).to_have_count(0)
    expect(row(page, "image-gen")).to_contain_text("Setup required")
    expect(row(page, "image-gen")).to_contain_text("needs FAL_KEY")
    expect(row(page, "apple-notes")).to_contain_text("Not supported")
    expect(row(page, "apple-notes")).to_contain_text("works only on macOS")
    expect(page.get_by_role("heading", level=1)).to_have_text("Skills")
    expect(page.locator(".scope")).to_contain_text("affect Main alone")


def test_the_address_names_the_agent_and_a_reload_keeps_everything(
    visiting: Open, shown: StudioWorld
) -> None:
    visit = visiting(shown)
    page = visit.go("/skills")
    expect(page).to_have_url(re.compile(r"settingsAgentId=main"))

    page.get_by_label("Agent", exact=True).select_option("reviewer")
    page.get_by_role("button", name=re.compile("^Ready")).click()
    page.get_by_label("Search skills").fill("sql")
    page.reload()

    expect(page).to_have_url(re.compile(r"settingsAgentId=reviewer"))
    expect(page.get_by_label("Agent", exact=True)).to_have_value("reviewer")
    expect(page.get_by_label("Search skills")).to_have_value("sql")
    expect(page.locator("[data-skill]")).to_have_count(1)


def test_counts_follow_the_search_and_not_the_filter(visiting: Open, shown: StudioWorld) -> None:
    page = visiting(shown).go("/skills")
    expect(row(page, "pdf-forms")).to_be_visible()
    page.get_by_label("Search skills").fill("image-gen")
    page.get_by_role("button", name=re.compile("^Ready")).click()

    expect(page.get_by_role("button", name=re.compile("^Setup required"))).to_have_text(
        "Setup required 1"
    )
    expect(page.get_by_text("No skill matches.")).to_be_visible()
    page.get_by_role("button", name="Show all skills").click()
    expect(row(page, "pdf-forms")).to_be_visible()


def test_switching_one_off_writes_a_list_of_the_others_and_can_be_undone(
    visiting: Open, world: StudioWorld
) -> None:
    page = visiting(world).go("/skills")
    expect(page.get_by_text("No list: every skill is on")).to_be_visible()

    switch(page, "pdf-forms").click()
    expect(page.get_by_text("Main no longer uses pdf-forms.")).to_be_visible()

    own = agents(world)["main"]
    assert "pdf-forms" not in own
    assert {"code-review", "image-gen", "apple-notes"} <= set(own)
    expect(switch(page, "pdf-forms")).to_have_attribute("aria-checked", "false")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Main may use pdf-forms.")).to_be_visible()
    expect(page.get_by_text("No list: every skill is on")).to_be_visible()
    assert agents(world)["main"] is None
    switch(page, "sql-report").click()
    expect(page.get_by_text("Main no longer uses sql-report.")).to_be_visible()
    page.get_by_role("button", name="Use all").click()
    expect(page.get_by_text("No list: every skill is on")).to_be_visible()
    assert agents(world)["main"] is None


def test_a_change_of_somebody_else_between_reading_and_writing_is_kept(
    visiting: Open, world: StudioWorld
) -> None:
    visit = visiting(world)
    line = Line(visit.page)
    meddled: list[str] = []

    def meddle(frame: str | bytes) -> None:
        if json.loads(frame).get("method") != "config.set" or meddled:
            return
        changed = world.config()
        changed.setdefault("skills", {}).setdefault("entries", {})["code-review"] = {
            "enabled": False
        }
        world.config_file.write_text(json.dumps(changed), encoding="utf-8")
        meddled.append("once")

    line.before_sending.append(meddle)
    page = visit.go("/skills")
    expect(switch(page, "pdf-forms")).to_be_enabled()

    switch(page, "pdf-forms").click()

    expect(page.get_by_text("Main no longer uses pdf-forms.")).to_be_visible()
    assert meddled == ["once"]
    assert world.config()["skills"]["entries"]["code-review"] == {"enabled": False}
    assert "pdf-forms" not in agents(world)["main"]


def test_a_toggle_rolls_back_when_the_gateway_refuses(visiting: Open, world: StudioWorld) -> None:
    visit = visiting(world)
    tap, before = Tap(visit.page), world.config()
    tap.refusing["config.set"] = "the config cannot be written"
    page = visit.go("/skills")

    switch(page, "pdf-forms").click()

    expect(page.get_by_role("alert")).to_contain_text("pdf-forms was not changed.")
    expect(switch(page, "pdf-forms")).to_have_attribute("aria-checked", "true")
    assert world.config() == before


def test_a_skill_that_is_not_ready_leads_to_setup_and_nothing_is_installed_here(
    visiting: Open, shown: StudioWorld
) -> None:
    page = visiting(shown).go("/skills")

    row(page, "image-gen").get_by_role("link", name="Open System Setup").click()

    expect(page).to_have_url(re.compile(r"/setup\?.*configure=image-gen"))
    expect(page.get_by_role("dialog", name="Setup image-gen")).to_be_visible()


def test_a_file_that_appears_changes_and_goes_is_followed_without_a_reload(
    visiting: Open, world: StudioWorld
) -> None:
    page = visiting(world).go("/skills")
    expect(row(page, "pdf-forms")).to_be_visible()
    folder = world.roots["work"] / "aaa-fresh"
    folder.mkdir()
    file = folder / "SKILL.md"

    file.write_text("---\nname: aaa-fresh\ndescription: First words.\n---\nBody.\n")
    expect(row(page, "aaa-fresh")).to_contain_text("First words.")
    file.write_text("---\nname: aaa-fresh\ndescription: Other words.\n---\nBody.\n")
    expect(row(page, "aaa-fresh")).to_contain_text("Other words.")
    file.unlink()
    folder.rmdir()
    expect(row(page, "aaa-fresh")).to_have_count(0)


def test_a_lost_connection_is_said_and_mended_by_itself(visiting: Open, shown: StudioWorld) -> None:
    visit = visiting(shown)
    visit.expected.append("WebSocket")
    line = Line(visit.page)
    page = visit.go("/skills")
    expect(row(page, "pdf-forms")).to_be_visible()

    line.cut()
    expect(page.get_by_role("alert")).to_contain_text("connection to the gateway is lost")
    expect(row(page, "pdf-forms")).to_be_visible()
    line.mend()

    expect(page.get_by_role("alert")).to_have_count(0)
    expect(page.locator(".line-state")).to_contain_text("live")


def test_an_agent_that_is_deleted_gives_way_to_the_default(
    visiting: Open, world: StudioWorld
) -> None:
    page = visiting(world).go("/skills?settingsAgentId=reviewer")
    expect(page.get_by_label("Agent", exact=True)).to_have_value("reviewer")
    changed = world.config()
    changed["agents"]["list"] = [one for one in changed["agents"]["list"] if one["id"] == "main"]

    world.config_file.write_text(json.dumps(changed), encoding="utf-8")

    expect(page).to_have_url(re.compile(r"settingsAgentId=main"))
    expect(page.locator(".scope")).to_contain_text("What Main can use")


def test_late_answers_for_another_agent_are_dropped(visiting: Open, shown: StudioWorld) -> None:
    visit = visiting(shown)
    tap = Tap(visit.page)
    tap.holding.add("skills.rows main")
    page = visit.go("/skills?settingsAgentId=main", calm=False)
    page.get_by_label("Agent", exact=True).select_option("reviewer")
    scope = page.locator(".scope")
    expect(scope).to_contain_text(re.compile(r"\D3 of \d+ allowed\. .* affect Reviewer alone"))
    before = scope.inner_text()

    tap.until(lambda: bool(tap.held))
    tap.release()
    page.get_by_label("Search skills").fill("pdf")

    expect(page.get_by_role("button", name=re.compile("^All"))).to_have_text("All 0")
    expect(scope).to_have_text(before)


def test_inherited_defaults_are_shown_as_inherited(visiting: Open, world: StudioWorld) -> None:
    changed = world.config()
    changed["agents"]["defaults"] = {
        **changed["agents"].get("defaults", {}),
        "skills": ["pdf-forms", "code-review"],
    }
    world.config_file.write_text(json.dumps(changed), encoding="utf-8")

    page = visiting(world).go("/skills")

    expect(page.get_by_text("Inherited from the defaults")).to_be_visible()
    expect(switch(page, "pdf-forms")).to_have_attribute("aria-checked", "true")
    expect(switch(page, "image-gen")).to_have_attribute("aria-checked", "false")


def test_the_keyboard_alone_is_enough(visiting: Open, world: StudioWorld) -> None:
    visit = visiting(world)
    page = visit.go("/skills")
    expect(row(page, "pdf-forms")).to_be_visible()

    page.keyboard.press("/")
    page.keyboard.type("pdf-forms")
    page.keyboard.press("ArrowDown")
    expect(page).to_have_url(re.compile(r"skill=pdf-forms"))
    page.keyboard.press("Enter")
    expect(page.locator(".skill-title")).to_be_focused()
    page.keyboard.press("x")
    expect(page.get_by_text("Main no longer uses pdf-forms.")).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    visit.stop_the_clock()
    page.keyboard.type("gw")
    expect(page.get_by_role("heading", level=1)).to_have_text("Workshop")
    expect(page.get_by_role("heading", level=1)).to_be_focused()


def test_skills_are_narrowed_to_those_that_a_harness_lists(
    visiting: Open, shown: StudioWorld
) -> None:
    page = visiting(shown).go("/skills?settingsAgentId=main")
    listed = {one.parent.name for one in shown.roots["claude"].glob("*/SKILL.md")}
    assert listed

    page.get_by_role("combobox", name="Harness").select_option("claude-code")

    expect(page.locator("[data-skill]")).to_have_count(len(listed))
    rows = page.locator("[data-skill]")
    assert set(rows.evaluate_all("all => all.map(row => row.dataset.skill)")) == listed
    page.reload()
    expect(page.locator("[data-skill]")).to_have_count(len(listed))
    page.keyboard.press("Escape")
    expect(row(page, "code-review")).to_be_visible()
