"""Every view while it waits, fails, comes back, is zoomed, narrow, or used without a mouse."""

import random
import re
import socket
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect
from tests.browser.conftest import Open
from tests.browser.studio_world import Choice, StudioWorld, _serving, studio
from tests.browser.tapped import Tap
from tests.browser.test_every_view import VIEWS, settled

# What each view asks for and cannot be shown without.
ASKED = {
    "skills": "skills.rows", "setup": "skills.rows", "library": "skills.sources",
    "workshop": "skills.proposals.list", "activity": "skills.activity",
}  # fmt: skip
# Whoever can be reached by Tab; of a group of radios only one can.
FOCUSABLE = (
    "a[href], button:not([disabled]), input:not([disabled]), select:not([disabled]),"
    " textarea:not([disabled]), summary, [tabindex='0']"
)
MARK_ALL = """(which) => {
  const seen = (one) => one.checkVisibility({visibilityProperty: true})
    && !one.closest('[inert]') && one.tabIndex >= 0;
  const all = [...document.querySelectorAll(which)].filter(seen);
  all.forEach((one, number) => { one.dataset.order = number; });
  return all.length;
}"""
FOCUSED = """() => {
  const one = document.activeElement, style = getComputedStyle(one);
  const ring = style.outlineStyle !== 'none' || style.boxShadow !== 'none';
  return [Number(one.dataset.order ?? -1), ring, one.outerHTML.slice(0, 120)];
}"""
TO_THE_END = """async () => {
  for (const one of document.querySelectorAll('html, main, main *')) one.scrollTop = 1e7;
  await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
}"""
# What takes longer than a moment to get where it goes.
MOVING = """() => [...document.querySelectorAll('*')].filter((one) => {
  const style = getComputedStyle(one);
  const long = (text) => text.split(',').some((part) => parseFloat(part) > 0.011);
  return long(style.transitionDuration)
    || (style.animationName !== 'none' && long(style.animationDuration));
}).map((one) => one.outerHTML.slice(0, 100))"""
# Whoever somebody can act on has a name in the accessibility tree.
ACTIVE = {"button", "link", "switch", "textbox", "searchbox", "combobox", "checkbox", "tab"}


def test_a_view_waits_with_a_skeleton_fails_with_a_reason_and_tries_again(
    visiting: Open, shown: StudioWorld
) -> None:
    visit = visiting(shown)
    tap = Tap(visit.page)
    for view, asked in ASKED.items():
        tap.holding.add(asked)
        page = visit.go(f"/{view}?settingsAgentId=main", calm=False)
        expect(page.locator("main .skeleton").first).to_be_visible()
        expect(page.get_by_role("alert")).to_have_count(0)
        tap.release()
        expect(page.locator("main .skeleton")).to_have_count(0)

        tap.refusing[asked] = "the disk is on fire"
        page.reload()
        expect(page.locator("main")).to_contain_text("the disk is on fire")
        expect(page.locator("main .skeleton")).to_have_count(0)
        tap.refusing.clear()
        again = page.locator("main").get_by_role("button", name=re.compile("again", re.IGNORECASE))
        again.first.click()
        expect(page.locator("main")).not_to_contain_text("the disk is on fire")


def test_a_gateway_that_is_started_again_on_its_port_is_found_with_what_changed(
    visiting: Open, tmp_path: Path
) -> None:
    with studio(tmp_path, Choice(port=own_port())) as world:
        visit = visiting(world)
        # It stays open while its gateway is away.
        world.guests.clear()
        visit.expected += ["WebSocket", "ERR_CONNECTION_REFUSED"]
        page = visit.go("/skills?settingsAgentId=main&q=fresh")
        expect(page.get_by_label("Search skills")).to_have_value("fresh")
    expect(page.get_by_role("alert")).to_contain_text("lost")
    folder = world.roots["work"] / "fresh-one"
    folder.mkdir()
    text = "---\nname: fresh-one\ndescription: Written while nobody looked.\n---\nBody.\n"
    (folder / "SKILL.md").write_text(text, encoding="utf-8")

    with _serving(world, Choice(port=world.port)):
        expect(page.locator("[data-skill=fresh-one]")).to_be_visible()
        expect(page.get_by_role("alert")).to_have_count(0)
        expect(page.get_by_label("Search skills")).to_have_value("fresh")
        page.goto("about:blank")


def own_port() -> int:
    """Return a free port that the system gives to nobody meanwhile: below those it hands out."""
    for port in random.sample(range(20_000, 32_000), 100):
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)):
                return port
    raise AssertionError("no port is free")


def test_what_is_being_typed_outlives_news_from_the_gateway(
    visiting: Open, world: StudioWorld
) -> None:
    visit = visiting(world)
    tap = Tap(visit.page)
    create = f"/workshop?settingsAgentId=main&proposal={world.proposals['create']}"
    places = (
        ("/setup?settingsAgentId=main&configure=image-gen", "", "FAL_KEY"),
        (create, "Revise…", "Text of the new skill"),
        ("/router?settingsAgentId=main", "", "Message"),
    )
    (world.roots["work"] / "aaa-new").mkdir()
    for number, (path, button, label) in enumerate(places):
        page = visit.go(path)
        if button:
            page.get_by_role("button", name=button).click()
        field = page.get_by_role("textbox", name=label, exact=True)
        field.fill("half a wor")
        tell(world, tap, f"These are news {number}.")
        page.evaluate("() => new Promise(requestAnimationFrame)")

        expect(field).to_have_value("half a wor")
        expect(field).to_be_focused()


def tell(world: StudioWorld, tap: Tap, words: str) -> None:
    """Change a skill on disk and wait until the page was told."""
    text = f"---\nname: aaa-new\ndescription: {words}\n---\nBody.\n"
    before = len(told(tap))
    (world.roots["work"] / "aaa-new" / "SKILL.md").write_text(text, encoding="utf-8")
    tap.until(lambda: len(told(tap)) > before)


def told(tap: Tap) -> list[str]:
    return [frame for frame in tap.received if '"skills.changed"' in frame]


def test_letters_typed_into_a_field_are_no_shortcuts(visiting: Open, shown: StudioWorld) -> None:
    page = visiting(shown).go("/skills?settingsAgentId=main")
    expect(page.locator("[data-skill]").first).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("x?gw/")

    expect(page.get_by_label("Search skills")).to_have_value("x?gw/")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("heading", level=1)).to_have_text("Skills")


def test_tab_reaches_everything_once_in_reading_order_and_shows_where_it_is(
    visiting: Open, shown: StudioWorld
) -> None:
    visit = visiting(shown)
    for view in VIEWS:
        page = settled(visit, view)
        assert_names(page)
        total = page.evaluate(MARK_ALL, FOCUSABLE)
        # From the top, wherever a view puts the focus when it opens.
        page.evaluate("() => { document.activeElement.blur(); getSelection().removeAllRanges(); }")
        reached, unseen = walk(page, 3 * total)

        assert reached == sorted(set(reached)), view
        assert unseen == [], view
        assert len(reached) == total, view


def walk(page: Page, most: int) -> tuple[list[int], list[str]]:
    """Return the numbers of what Tab reached, in turn, and what did not show that it was there."""
    reached: list[int] = []
    unseen: list[str] = []
    # Long lists draw more rows on the way; those have no number.
    for _ in range(most):
        page.keyboard.press("Tab")
        number, ring, markup = page.evaluate(FOCUSED)
        if markup.startswith("<body") or (reached and number == reached[0]):
            break
        if not ring:
            unseen.append(markup)
        if number >= 0:
            reached.append(number)
    return reached, unseen


def assert_names(page: Page) -> None:
    session = page.context.new_cdp_session(page)
    tree: Any = session.send("Accessibility.getFullAXTree")
    nameless = [
        node
        for node in tree["nodes"]
        if not node.get("ignored")
        and node["role"]["value"] in ACTIVE
        and not node.get("name", {}).get("value", "").strip()
    ]
    assert nameless == []


def test_a_phone_and_a_page_at_twice_its_size_hide_nothing(
    visiting: Open, shown: StudioWorld
) -> None:
    visit = visiting(
        shown, viewport={"width": 640, "height": 410}, device_scale_factor=2,
        reduced_motion="reduce",
    )  # fmt: skip
    for view in VIEWS:
        page = settled(visit, view, "&m=please+fill+in+this+pdf+form" if view == "router" else "")
        if view == "router":
            expect(page.get_by_role("region", name="Candidates")).to_be_visible()
            # A message that was tried is listed after a while, and makes the page longer.
            recent = page.get_by_role("region", name="Recent messages")
            expect(
                recent.get_by_role("button", name="please fill in this pdf form")
            ).to_be_visible()
        assert page.evaluate(MOVING) == [], view
        for width, height in ((640, 410), (360, 640)):
            page.set_viewport_size({"width": width, "height": height})
            expect(page.get_by_role("heading", level=1)).to_be_visible()
            for other in ("Skills", "Router", "Setup", "Library", "Workshop", "Activity"):
                link = page.get_by_role("link", name=re.compile(f"^{other}")).first
                expect(link).to_be_in_viewport()
            assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, view
            below = page.evaluate("document.documentElement.scrollHeight - innerHeight")
            assert below <= 0, f"{view}: {below} pixels of nothing below the frame"
            assert_uncovered(page)


def assert_uncovered(page: Page) -> None:
    """Whatever comes last in the view can be brought out from under the bar."""
    last = page.locator("main").locator(FOCUSABLE).filter(visible=True).last
    # Each time a long list draws more of itself.
    for _ in range(3):
        page.evaluate(TO_THE_END)
    expect(last).to_be_in_viewport()
    assert last.evaluate(
        """(one) => {
          const at = one.getBoundingClientRect();
          const top = document.elementFromPoint(at.left + at.width / 2, at.top + at.height / 2);
          return one.contains(top) || top.contains(one);
        }"""
    )


def test_on_a_phone_a_skill_is_a_page_and_back_is_the_list(
    visiting: Open, shown: StudioWorld
) -> None:
    visit = visiting(shown, viewport={"width": 360, "height": 640}, has_touch=True)
    page = visit.go("/skills?settingsAgentId=main")
    page.locator("[data-skill=pdf-forms]").get_by_role("link").first.click()

    expect(page.get_by_role("heading", name="pdf-forms", level=2)).to_be_in_viewport()
    page.go_back()
    expect(page.locator("[data-skill=pdf-forms]")).to_be_visible()
    reach = page.get_by_role("switch", name="Skill pdf-forms").evaluate(
        """(one) => {
          const at = one.getBoundingClientRect(), middle = at.top + at.height / 2;
          const hit = (by) => document.elementFromPoint(at.left + at.width / 2, middle + by);
          return [-11, 11].every((by) => one.contains(hit(by)));
        }"""
    )
    assert reach, "a finger needs 24 pixels"
