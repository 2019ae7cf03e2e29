"""What holds on every view: accessible in both themes, within its width, strict about hosts."""

from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect
from tests.browser.browsing import Visit
from tests.browser.conftest import Open
from tests.browser.studio_world import Choice, StudioWorld, studio

VIEWS = ("skills", "router", "setup", "library", "workshop", "activity")
# Gateway-wide or of one agent: the page says so in words.
SCOPES = {
    "skills": "Main alone", "router": "Main", "setup": "every agent", "library": "every agent",
    "workshop": "workspace", "activity": "Main",
}  # fmt: skip
KEY = "a-token-of-twenty-chars"
WIDTHS = ((360, 740), (820, 1100), (1280, 820), (1600, 1000))


def settled(visit: Visit, view: str, more: str = "") -> Page:
    page = visit.go(f"/{view}?settingsAgentId=main{more}")
    expect(page.locator(".skeleton")).to_have_count(0)
    return page


def violations(page: Page) -> list[str]:
    found = Axe().run(page, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]})
    return [
        f"{one['id']}: {node['html'][:160]}"
        for one in found.response["violations"]
        for node in one["nodes"]
    ]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("view", VIEWS)
def test_a_view_breaks_no_rule_of_accessibility_in_either_theme(
    visiting: Open, shown: StudioWorld, view: str, theme: str
) -> None:
    visit = visiting(shown, color_scheme=theme, bypass_csp=True)
    page = settled(visit, view)

    visit.shot(f"{view}-{theme}")
    assert page.locator("html").get_attribute("data-theme") == theme
    assert violations(page) == []


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_says_its_scope_and_stays_within_the_width_of_the_screen(
    visiting: Open, shown: StudioWorld, view: str
) -> None:
    visit = visiting(shown)
    page = settled(visit, view)

    expect(page.locator("main")).to_contain_text(SCOPES[view])
    expect(page.get_by_role("heading", level=1)).to_have_count(1)
    for width, height in WIDTHS:
        page.set_viewport_size({"width": width, "height": height})
        visit.shot(f"{view}-{width}")
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, f"{view} is {wide} pixels too wide at {width}"


def test_the_policy_of_the_page_allows_nothing_inline_and_nobody_else(
    visiting: Open, shown: StudioWorld
) -> None:
    visit = visiting(shown)
    asked: list[str] = []
    visit.page.on("request", lambda request: asked.append(request.url))
    answer = visit.page.goto(shown.address + "/")
    visit.page.wait_for_selector("[data-skill]")

    assert answer is not None
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert all(url.startswith((shown.address, "data:")) for url in asked)


def test_a_theme_that_was_chosen_stays(visiting: Open, shown: StudioWorld) -> None:
    visit = visiting(shown, color_scheme="light")
    page = visit.go("/")
    page.get_by_role("button", name="Use the dark theme").click()
    page.reload()

    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_a_thousand_skills_scroll_and_few_of_them_are_drawn(visiting: Open, tmp_path: Path) -> None:
    with studio(tmp_path, Choice(skills=1000)) as world:
        page = visiting(world).go("/")
        expect(page.locator("[data-skill]").first).to_be_visible()
        total = int(page.locator("[data-skill]").first.get_attribute("aria-setsize") or 0)
        page.evaluate("document.querySelector('.rows').scrollTop = 1e7")
        last = page.locator(f"[data-skill][aria-posinset='{total}']")

        expect(last).to_be_visible()
        assert total > 1000
        assert page.locator("[data-skill]").count() < 60
        page.get_by_label("Search skills").fill(last.get_attribute("data-skill") or "")
        expect(page.locator("[data-skill]").first).to_be_visible()


def test_a_gateway_with_a_token_asks_for_it_and_keeps_it_to_this_tab(
    visiting: Open, tmp_path: Path
) -> None:
    with studio(tmp_path, Choice(token=KEY)) as world:
        visit = visiting(world)
        page = visit.go("/", until="#token")
        page.get_by_label("Token").fill("wrong")
        page.get_by_role("button", name="Open the studio").click()
        expect(page.get_by_role("alert")).to_contain_text("not accepted")
        page.get_by_label("Token").fill(KEY)
        page.get_by_role("button", name="Open the studio").click()
        expect(page.locator("[data-skill]").first).to_be_visible()
        page.reload()
        expect(page.locator("[data-skill]").first).to_be_visible()

        linked = visiting(world).go(f"/#token={KEY}")
        expect(linked.locator("[data-skill]").first).to_be_visible()
        assert "token" not in linked.url
        assert KEY not in linked.evaluate("JSON.stringify(localStorage)")
