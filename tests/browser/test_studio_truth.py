"""The studio says what is so: with a broken line or config, and about what stands in a way."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.browser.browsing import Line
from tests.browser.conftest import Open
from tests.browser.studio_world import Choice, StudioWorld, studio
from tests.browser.tapped import Tap

INSTALL = "Download prowess-frames (90 KB)"
PHONE = {"width": 390, "height": 760}
SECRET = "sk-planted-51c0de"  # noqa: S105 - no secret of anybody


def switch(page: Page, name: str) -> Locator:
    return page.get_by_role("switch", name=f"Skill {name}", exact=True)


def dialog(page: Page, name: str) -> Locator:
    return page.get_by_role("dialog", name=f"Setup {name}")


def write(world: StudioWorld, name: str, head: str) -> None:
    folder = world.roots["work"] / name
    folder.mkdir(exist_ok=True)
    text = f"---\nname: {name}\ndescription: For a test.\n{head}\n---\n\n# {name}\n"
    (folder / "SKILL.md").write_text(text, encoding="utf-8")
    world.gateway.runtime.skills.refresh()


def own_list(world: StudioWorld, agent: str) -> Any:  # noqa: ANN401 - any JSON
    entry = next(one for one in world.config()["agents"]["list"] if one["id"] == agent)
    return entry.get("skills", "none")


def try_now(page: Page) -> None:
    """Press the button, unless the page has tried by itself meanwhile and taken it away."""
    page.evaluate(
        "[...document.querySelectorAll('button')].find((b) => b.textContent === 'Try now')?.click()"
    )


@contextmanager
def held_download(world: StudioWorld) -> Iterator[Event]:
    """Let a download wait in its middle until the event is set."""
    go_on, body = Event(), b"#!/bin/sh\necho frames\n".ljust(90_000, b"#")

    def send(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body[:40_000])
        handler.wfile.flush()
        go_on.wait(60)
        handler.wfile.write(body[40_000:])

    world.tools.answers["/prowess-frames"] = send
    try:
        yield go_on
    finally:
        go_on.set()


# A line that is lost.


def test_without_a_line_nothing_of_one_agent_stands_under_the_name_of_another(
    visiting: Open, shown: StudioWorld
) -> None:
    visit = visiting(shown)
    line = Line(visit.page)
    for view, shown_first, later in (
        ("skills", "[data-skill]", "skills"), ("setup", ".setup-row", "skills"),
        ("library", ".library-entry", "sources"), ("activity", ".small-plots", "days"),
    ):  # fmt: skip
        page = visit.go(f"/{view}?settingsAgentId=main")
        expect(page.locator(shown_first).first).to_be_visible()
        line.cut()
        expect(page.locator(".line-state")).to_have_attribute("data-state", "lost")
        page.get_by_label("Agent", exact=True).select_option("reviewer")

        expect(page.locator("main")).to_contain_text(f"Reviewer's {later} come once the line is")
        expect(page.locator(shown_first)).to_have_count(0)
        line.mend()
        try_now(page)
        expect(page.locator(shown_first).first).to_be_visible()


def test_without_a_line_one_skill_is_not_shown_with_the_text_of_another(
    visiting: Open, shown: StudioWorld
) -> None:
    visit = visiting(shown)
    line = Line(visit.page)
    page = visit.go("/skills?settingsAgentId=main&skill=pdf-forms")
    expect(page.locator(".prose")).to_contain_text("Read the fields first")
    line.cut()
    expect(page.locator(".line-state")).to_have_attribute("data-state", "lost")
    page.get_by_role("link", name="brand-voice").click()

    about = page.get_by_role("region", name="About brand-voice")
    expect(about).to_contain_text("come once the line is back")
    expect(about).not_to_contain_text("Read the fields first")


def test_without_a_line_the_router_shows_no_answer_to_another_message(
    visiting: Open, shown: StudioWorld
) -> None:
    visit = visiting(shown)
    line = Line(visit.page)
    page = visit.go("/router?settingsAgentId=main")
    page.get_by_role("textbox", name="Message").fill("fill in this pdf form")
    expect(page.locator(".answer-words")).to_contain_text("pdf-forms")
    line.cut()
    expect(page.locator(".line-state")).to_have_attribute("data-state", "lost")
    expect(page.get_by_role("button", name="Save as test")).to_be_disabled()
    page.get_by_role("textbox", name="Message").fill("write the release notes")

    expect(page.locator(".answer-words")).to_contain_text("Waiting for the connection")
    expect(page.get_by_role("button", name="Save as test")).to_have_count(0)
    line.mend()
    try_now(page)
    expect(page.locator(".answer-words")).to_contain_text("release-notes")


def test_a_change_that_nobody_knows_of_is_not_called_undone(
    visiting: Open, world: StudioWorld
) -> None:
    visit = visiting(world)
    tap = Tap(visit.page)
    page = visit.go("/skills?settingsAgentId=main")
    expect(switch(page, "pdf-forms")).to_be_enabled()
    tap.holding.add("config.set")
    switch(page, "pdf-forms").click()
    tap.until(lambda: bool(tap.held))
    page.evaluate("async () => (await import('/js/app.js')).gateway._socket.close()")

    said = page.locator(".toast")
    expect(said).to_contain_text("pdf-forms: The connection to the gateway broke")
    expect(said).not_to_contain_text("was not changed")


# A config that cannot be read, and agents that go.


def test_with_an_unreadable_config_the_switches_say_what_the_gateway_does(
    visiting: Open, world: StudioWorld
) -> None:
    page = visiting(world).go("/skills?settingsAgentId=reviewer")
    expect(switch(page, "code-review")).to_be_enabled()
    on = page.locator("[role=switch][aria-checked=true]").count()
    world.config_file.write_text('{"agents": [', encoding="utf-8")

    expect(page.locator(".banner")).to_contain_text("prowess.json cannot be read")
    expect(page.locator(".banner")).to_contain_text("goes on with the last good one")
    expect(page.locator("[role=switch]:enabled")).to_have_count(0)
    assert 0 < page.locator("[role=switch][aria-checked=true]").count() == on
    expect(switch(page, "brand-voice")).to_have_attribute("aria-checked", "false")
    for name in ("Use all", "Disable all"):
        expect(page.get_by_role("button", name=name)).to_be_disabled()
    expect(page.locator(".scope")).to_contain_text(f"{on} of ")
    expect(page.locator(".scope-note")).to_have_count(0)


def test_an_agent_that_is_gone_gives_way_with_a_word(visiting: Open, world: StudioWorld) -> None:
    page = visiting(world).go("/skills?settingsAgentId=reviewer")
    expect(page.locator("[data-skill]").first).to_be_visible()
    config = world.config()
    config["agents"]["list"] = config["agents"]["list"][:1]
    world.config_file.write_text(json.dumps(config), encoding="utf-8")

    expect(page.get_by_role("alert")).to_contain_text(
        "reviewer is no longer an agent; this is Main."
    )
    expect(page).to_have_url(re.compile("settingsAgentId=main"))


# Taking a switch back.


@pytest.mark.parametrize("has_defaults", [False, True])
def test_undo_gives_an_agent_no_list_that_it_did_not_have(
    visiting: Open, tmp_path: Path, *, has_defaults: bool
) -> None:
    with studio(tmp_path, Choice(defaults=has_defaults)) as world:
        page = visiting(world).go("/skills?settingsAgentId=main")
        expect(switch(page, "pdf-forms")).to_be_enabled()
        switch(page, "pdf-forms").click()
        expect(page.get_by_text("Main no longer uses pdf-forms.")).to_be_visible()
        assert "pdf-forms" not in own_list(world, "main")
        page.get_by_role("button", name="Undo").click()

        expect(page.get_by_text("Main may use pdf-forms.")).to_be_visible()
        assert own_list(world, "main") == "none"
        expect(switch(page, "pdf-forms")).to_have_attribute("aria-checked", "true")


def test_undo_leaves_what_somebody_changed_in_between(visiting: Open, world: StudioWorld) -> None:
    page = visiting(world).go("/skills?settingsAgentId=main")
    expect(switch(page, "pdf-forms")).to_be_enabled()
    for name in ("pdf-forms", "sql-report"):
        switch(page, name).click()
        expect(page.get_by_text(f"Main no longer uses {name}.")).to_be_visible()
    page.locator(".toast", has_text="pdf-forms").get_by_role("button", name="Undo").click()

    expect(page.get_by_text("Main may use pdf-forms.")).to_be_visible()
    assert "pdf-forms" in own_list(world, "main")
    assert "sql-report" not in own_list(world, "main")


# What stands in a skill's way.


def test_a_phone_shows_the_whole_dialog_of_a_skill_that_needs_a_setting(
    visiting: Open, shown: StudioWorld
) -> None:
    page = visiting(shown, viewport=PHONE).go("/setup?settingsAgentId=main&configure=voice-call")
    expect(dialog(page, "voice-call")).to_contain_text("prowess config set")

    wider = dialog(page, "voice-call").evaluate("(one) => one.scrollWidth - one.clientWidth")
    assert wider <= 0
    close = page.get_by_role("button", name="Close", exact=True)
    expect(close).to_be_in_viewport(ratio=1)
    close.click()
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_requirements_that_cannot_be_read_are_not_called_none(
    visiting: Open, world: StudioWorld
) -> None:
    write(world, "unclear", 'metadata: "{openclaw: {requires: [bins"')
    visit = visiting(world)
    page = visit.go("/setup?settingsAgentId=main&configure=unclear")

    expect(dialog(page, "unclear")).to_contain_text(
        re.compile(r"Its requirements cannot be read: SKILL\.md line \d+, ")
    )
    expect(dialog(page, "unclear")).not_to_contain_text("nothing to set up")
    page = visit.go("/skills?settingsAgentId=main&skill=unclear")
    about = page.get_by_role("region", name="About unclear")
    expect(about).to_contain_text("Its requirements cannot be read: SKILL.md line")
    expect(about).not_to_contain_text("Needs nothing but itself")
    about.get_by_role("link", name="See the file in the library").click()
    expect(page).to_have_url(re.compile("/library.*skill=unclear"))


def test_a_bundled_skill_that_a_setting_leaves_out_names_the_setting_and_the_command(
    visiting: Open, world: StudioWorld
) -> None:
    config = world.config()
    config["skills"]["allowBundled"] = ["prowess-manual"]
    world.config_file.write_text(json.dumps(config), encoding="utf-8")
    world.gateway.runtime.skills.refresh()
    page = visiting(world).go("/setup?settingsAgentId=main&configure=prowess-memory")

    shown = dialog(page, "prowess-memory")
    expect(shown).to_contain_text("skills.allowBundled")
    expect(shown.locator(".command code")).to_have_text(
        """prowess config set skills.allowBundled '["prowess-manual","prowess-memory"]'"""
    )
    expect(shown).not_to_contain_text("cannot work on this machine")
    expect(shown).not_to_contain_text("Not supported")


def test_what_an_always_skill_needs_has_no_tick(visiting: Open, world: StudioWorld) -> None:
    needs = {"openclaw": {"always": True, "requires": {"bins": ["prowess-nowhere"]}}}
    write(world, "always-on", f"metadata: {json.dumps(needs)}")
    visit = visiting(world)
    for path in ("setup?configure=", "skills?skill="):
        page = visit.go(f"/{path}always-on&settingsAgentId=main")
        need = page.locator(".needs li", has_text="prowess-nowhere").first
        expect(need).to_contain_text("not checked, always on")
        expect(need).to_have_class("need-unchecked")


def test_a_skill_that_is_switched_off_is_not_called_unready_and_leads_to_its_switch(
    visiting: Open, shown: StudioWorld
) -> None:
    page = visiting(shown).go("/router?settingsAgentId=reviewer")
    page.get_by_role("textbox", name="Message").fill("/brand-voice for this letter")

    blocked = page.locator(".answer-blocked")
    expect(blocked).to_contain_text("brand-voice fits, but is switched off for Reviewer.")
    expect(page.locator(".answer")).not_to_contain_text("ready")
    blocked.get_by_role("link", name="brand-voice").click()
    why = page.locator(".why")
    expect(why).to_contain_text("switched off for Reviewer")
    expect(why.get_by_role("link", name="Open System Setup")).to_have_count(0)
    blocked.get_by_role("link", name="Go to its switch").click()
    expect(switch(page, "brand-voice")).to_have_attribute("aria-checked", "false")


# The keyboard keeps its place.


def test_the_keyboard_goes_on_where_an_install_ended(visiting: Open, world: StudioWorld) -> None:
    page = visiting(world).go("/setup?settingsAgentId=main&configure=video-frames")
    way = dialog(page, "video-frames").get_by_role("button", name=INSTALL)
    with held_download(world) as go_on:
        way.focus()
        page.keyboard.press("Enter")
        busy = dialog(page, "video-frames").get_by_role("button", name="Working…")
        expect(busy).to_be_focused()
        go_on.set()
        expect(page.locator(".install-end")).to_contain_text("Installed")

    expect(page.locator(".install-end")).to_be_focused()


def test_the_keyboard_goes_on_where_a_key_was_saved_and_forgotten(
    visiting: Open, world: StudioWorld
) -> None:
    page = visiting(world).go("/setup?settingsAgentId=main&configure=image-gen")
    field = dialog(page, "image-gen").get_by_label("FAL_KEY")
    field.fill(SECRET)
    save = page.get_by_role("button", name="Save FAL_KEY")
    expect(save).to_be_enabled()
    save.focus()
    page.keyboard.press("Enter")
    expect(dialog(page, "image-gen")).to_contain_text("FAL_KEY is stored for image-gen.")
    expect(field).to_be_focused()
    page.get_by_role("button", name="Forget the stored FAL_KEY").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("group", name="Forget FAL_KEY")).to_be_focused()
    page.get_by_role("button", name="Forget FAL_KEY", exact=True).focus()
    page.keyboard.press("Enter")
    expect(dialog(page, "image-gen")).to_contain_text("FAL_KEY is no longer stored")

    expect(field).to_be_focused()


def test_the_keyboard_goes_on_after_a_restored_skill_a_removed_test_and_a_closed_page(
    visiting: Open, world: StudioWorld
) -> None:
    world.gateway.services.removals.remove("sql-report", "openclaw-workspace", "main")
    visit = visiting(world)
    page = visit.go("/setup?settingsAgentId=main&removed=1")
    page.get_by_role("button", name="Restore sql-report").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("The trash is empty.")).to_be_focused()

    page = visit.go("/router?settingsAgentId=main")
    page.get_by_role("textbox", name="Message").fill("fill in this pdf form")
    page.get_by_role("button", name="Save as test").click()
    page.get_by_role("button", name="Run all").click()
    expect(page.get_by_text("It passes with Main.")).to_be_visible()
    page.get_by_role("button", name=re.compile("^Remove the test")).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Saved tests")).to_be_focused()
    expect(page.get_by_text("It passes with Main.")).to_have_count(0)

    page = visit.go("/skills?settingsAgentId=main&skill=pdf-forms")
    page.locator(".skill-title").focus()
    page.keyboard.press("Escape")
    expect(page.locator("[data-skill=pdf-forms] a").first).to_be_focused()


# An install that another window started.


def test_a_running_install_is_followed_in_a_second_window_and_after_a_reload(
    visiting: Open, world: StudioWorld
) -> None:
    path = "/setup?settingsAgentId=main&configure=video-frames"
    first, second = visiting(world), visiting(world)
    watcher = second.go(path)
    own = dialog(watcher, "video-frames")
    expect(own.get_by_role("button", name=INSTALL)).to_be_enabled()
    with held_download(world) as go_on:
        page = first.go(path)
        dialog(page, "video-frames").get_by_role("button", name=INSTALL).click()
        running = re.compile("An install of video-frames is running")
        expect(watcher.locator(".install-end")).to_have_text(running)
        expect(own.get_by_role("button", name="Working…")).to_be_visible()
        page.reload()
        expect(page.locator(".install-end")).to_have_text(running)
        go_on.set()
        for window in (page, watcher):
            expect(window.locator(".install-end")).to_contain_text("Installed")
            expect(dialog(window, "video-frames").locator(".need-there")).to_be_visible()
