"""The router as the specification has it: a ranking while one types, a line, and none as a yes."""

import re

from playwright.sync_api import Locator, Page, expect
from tests.browser.conftest import Open
from tests.browser.studio_world import StudioWorld
from tests.browser.tapped import Tap

FITTING = "please fill in this pdf form"
UNFITTING = "zzz wibble qqq"


def message(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Message")


def answer(page: Page) -> Locator:
    return page.locator("main").get_by_role("status").first


def test_the_ranking_bars_and_line_are_the_numbers_of_the_gateway(
    visiting: Open, shown: StudioWorld
) -> None:
    visit = visiting(shown)
    tap = Tap(visit.page)
    page = visit.go("/router?settingsAgentId=main")

    message(page).press_sequentially(FITTING, delay=5)
    expect(answer(page)).to_contain_text("Would load pdf-forms")
    expect(page.get_by_role("img", name=re.compile("^Score")).first).to_be_visible()

    # Where typing takes long, what was typed until then is asked for and answered, too.
    route = tap.answer("skills.route", message=FITTING)
    assert all(call["dryRun"] for call in tap.calls("skills.route"))
    candidates = page.get_by_role("region", name="Candidates").get_by_role("listitem")
    names = [one["name"] for one in route["considered"]]
    expect(candidates.get_by_role("link")).to_have_text(names)
    for one in route["considered"]:
        entry = candidates.filter(has=page.get_by_role("link", name=one["name"], exact=True))
        expect(entry).to_contain_text(f"{one['score']:.2f}")
        bar = entry.get_by_role("img")
        expect(bar).to_have_accessible_name(re.compile(f"{one['score']:.2f}"))
        expect(bar).to_have_accessible_name(re.compile(f"{route['threshold']:.2f}"))
    places = (
        candidates.get_by_role("img")
        .first.locator("line")
        .evaluate_all("(all) => all.map((one) => parseFloat(one.getAttribute('x1')) / 100)")
    )
    assert route["threshold"] in places


def test_what_was_said_before_goes_along_with_the_message(
    visiting: Open, shown: StudioWorld
) -> None:
    visit = visiting(shown)
    tap = Tap(visit.page)
    page = visit.go("/router?settingsAgentId=main")

    page.get_by_text("What was said before").click()
    earlier = page.get_by_role("textbox", name="What was said before")
    earlier.fill("fill in the first form\n\nAgent: It is filled in.")
    message(page).fill(FITTING)
    expect(answer(page)).to_contain_text("Would load pdf-forms")

    assert tap.calls("skills.route")[-1]["history"] == [
        {"role": "user", "content": "fill in the first form"},
        {"role": "assistant", "content": "It is filled in."},
    ]


def test_the_numbers_behind_the_bars_can_be_read_as_a_table(
    visiting: Open, shown: StudioWorld
) -> None:
    page = visiting(shown).go("/router?settingsAgentId=main")
    message(page).fill(FITTING)
    page.locator("main").get_by_text("Show the numbers").click()

    table = page.locator("main").get_by_role("table")
    expect(table.get_by_role("columnheader", name="Score")).to_be_visible()
    expect(table.get_by_role("row", name=re.compile("^pdf-forms"))).to_contain_text("0.98")


def test_none_is_a_decision_with_its_reason_and_not_an_error(
    visiting: Open, shown: StudioWorld
) -> None:
    page = visiting(shown).go("/router?settingsAgentId=main")
    message(page).fill(UNFITTING)

    expect(answer(page)).to_contain_text("No skill")
    expect(answer(page)).to_contain_text("0.50")
    expect(page.get_by_role("alert")).to_have_count(0)
    message(page).fill("yes please")
    expect(answer(page)).to_contain_text("nothing was loaded before it")
    expect(answer(page)).not_to_contain_text("may use")
    message(page).fill("   ")
    expect(page.locator("main")).to_contain_text("Nothing asked yet")


def test_a_skill_that_would_fit_and_is_not_ready_is_named_with_the_reason(
    visiting: Open, shown: StudioWorld
) -> None:
    page = visiting(shown).go("/router?settingsAgentId=main")

    message(page).fill("take stills out of this video")
    named = answer(page).get_by_role("link", name="video-frames")

    expect(answer(page)).to_contain_text("video-frames would fit, but is not ready")
    expect(answer(page)).to_contain_text("prowess-frames")
    named.click()
    expect(page.locator("#why-title")).to_contain_text("video-frames")


def test_a_message_without_a_match_is_listed_among_the_recent_ones(
    visiting: Open, shown: StudioWorld
) -> None:
    page = visiting(shown).go("/router?settingsAgentId=main")
    message(page).fill(UNFITTING)
    expect(answer(page)).to_contain_text("No skill")
    message(page).press("Enter")
    message(page).blur()

    recent = page.get_by_role("region", name="Recent messages")
    expect(recent.get_by_role("button", name="No match 1")).to_be_visible()
    message(page).fill("")
    recent.get_by_role("button", name=UNFITTING, exact=True).click()
    expect(message(page)).to_have_value(re.compile(UNFITTING))


def test_an_answer_that_comes_late_does_not_replace_a_later_one(
    visiting: Open, shown: StudioWorld
) -> None:
    visit = visiting(shown)
    tap = Tap(visit.page)
    page = visit.go("/router?settingsAgentId=main")
    tap.holding.add("skills.route")
    message(page).fill(FITTING)
    tap.until(lambda: bool(tap.held))

    message(page).fill(UNFITTING)
    tap.release()

    expect(answer(page)).to_contain_text("No skill")
    assert tap.calls("skills.route")[-1]["message"] == UNFITTING
    page.get_by_role("combobox", name="Why not another skill?").fill("sql-report")
    expect(page.get_by_role("region", name="Why not sql-report?")).to_contain_text("0.50")
    expect(answer(page)).to_contain_text("No skill")


def test_another_agent_keeps_the_message_and_gets_an_answer_of_its_own(
    visiting: Open, shown: StudioWorld
) -> None:
    page = visiting(shown).go("/router?settingsAgentId=main")
    message(page).fill(FITTING)
    expect(answer(page)).to_contain_text("pdf-forms")

    page.get_by_label("Agent", exact=True).select_option("reviewer")

    expect(answer(page)).to_contain_text("No skill")
    expect(message(page)).to_have_value(FITTING)
    expect(page.locator("main")).to_contain_text("Reviewer")


def test_why_not_says_what_stopped_a_skill_and_what_would_change_it(
    visiting: Open, shown: StudioWorld
) -> None:
    page = visiting(shown).go("/router?settingsAgentId=main")
    message(page).fill("draw a picture of a cat")
    choice = page.get_by_role("combobox", name="Why not another skill?")
    why = page.get_by_role("region", name=re.compile("^Why not"))
    for name, reason in (
        ("image-gen", "FAL_KEY"),
        ("apple-notes", "darwin|macOS"),
        ("translate-docs", "disabled|switched off"),
        ("deploy-checklist", "by name"),
    ):
        choice.fill(name)
        expect(why).to_have_accessible_name(re.compile(name))
        expect(why).to_contain_text(re.compile(reason))
    choice.fill("image-gen")
    expect(why.get_by_role("link", name="Open System Setup")).to_have_attribute(
        "href", re.compile("configure=image-gen")
    )


def test_a_refusal_says_what_failed_keeps_the_message_and_can_be_tried_again(
    visiting: Open, shown: StudioWorld
) -> None:
    visit = visiting(shown)
    tap = Tap(visit.page)
    page = visit.go("/router?settingsAgentId=main")
    tap.refusing["skills.route"] = "the index is being built"
    message(page).fill(FITTING)

    expect(page.get_by_role("alert")).to_contain_text("the index is being built")
    expect(message(page)).to_have_value(FITTING)
    tap.refusing.clear()
    page.get_by_role("button", name=re.compile("again", re.IGNORECASE)).click()
    expect(answer(page)).to_contain_text("pdf-forms")


def test_a_message_is_kept_as_a_test_run_and_removed(visiting: Open, world: StudioWorld) -> None:
    page = visiting(world).go("/router?settingsAgentId=main")
    saved = page.get_by_role("region", name="Saved tests")
    message(page).fill(FITTING)
    expect(answer(page)).to_contain_text("pdf-forms")
    page.get_by_role("combobox", name="Should or should not").select_option("should not")
    page.get_by_role("button", name="Save as test").click()
    expect(saved).to_contain_text("should not load pdf-forms")
    message(page).fill(UNFITTING)
    expect(answer(page)).to_contain_text("No skill")
    page.get_by_role("button", name="Save as test").click()
    expect(saved).to_contain_text("2 tests")

    page.reload()
    expect(saved).to_contain_text("2 tests")
    saved.get_by_role("button", name="Run all").click()
    expect(saved.get_by_role("listitem").filter(has_text=FITTING)).to_contain_text(
        re.compile("fail", re.IGNORECASE)
    )
    expect(saved.get_by_role("listitem").filter(has_text=UNFITTING)).to_contain_text(
        re.compile("pass", re.IGNORECASE)
    )
    saved.get_by_role("button", name=re.compile(f"Remove the test.*{FITTING}")).click()
    expect(saved).to_contain_text("1 test")
    expect(saved.get_by_text(FITTING)).to_have_count(0)


def test_a_saved_test_leaves_nothing_below_the_frame_of_a_small_window(
    visiting: Open, world: StudioWorld
) -> None:
    page = visiting(world, viewport={"width": 640, "height": 410}).go(
        "/router?settingsAgentId=main"
    )
    message(page).fill(FITTING)
    expect(answer(page)).to_contain_text("pdf-forms")
    page.get_by_role("button", name="Save as test").click()
    expect(page.get_by_role("region", name="Saved tests")).to_contain_text("1 test")

    assert page.evaluate("document.documentElement.scrollHeight - innerHeight") <= 0
