"""What holds on every view: accessible in both themes, within its width, strict about hosts."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect
from tests.browser.browsing import Visit
from tests.browser.conftest import Open
from tests.browser.studio_world import Choice, StudioWorld, studio

VIEWS = ("home", "skills", "router", "setup", "library", "hub", "connect", "workshop", "activity")
# Gateway-wide or of one agent: the page says so in words.
SCOPES = {
    "skills": "Main alone", "router": "Main", "setup": "every agent", "library": "every agent",
    "workshop": "workspace", "activity": "Main", "home": "Main", "connect": "gateway's machine",
    "hub": "every gateway",
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


# Each state in which a page is another one: what is open, chosen, filtered or wrong.
STATES = (
    "/skills?filter=blocked&skill=site-backup", "/skills?skill=nameless", "/skills?skill=zz-over-a",
    "/skills?show=agents", "/skills?show=map", "/skills?group=source&sort=state&use=on",
    "/skills?q=backup the website", "/skills?skill=pdf-forms&open=SKILL.md",
    "/setup?configure=image-gen", "/setup?filter=unread", "/setup?removed=1",
    "/connect?harness=claude-code", "/workshop?filter=quarantined", "/router?why=site-backup",
    "/library?filter=broken", "/library?skill=release-notes", "/library?report=installed",
)  # fmt: skip


@pytest.mark.parametrize("states", [STATES[::2], STATES[1::2]], ids=["even", "odd"])
@pytest.mark.parametrize("size", [(390, 780), (1360, 850)], ids=["phone", "desk"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_state_of_a_page_breaks_a_rule_of_accessibility(
    visiting: Open, hard: StudioWorld, theme: str, size: tuple[int, int], states: tuple[str, ...]
) -> None:
    width, height = size
    shape = {"width": width, "height": height}
    visit = visiting(hard, color_scheme=theme, bypass_csp=True, viewport=shape)
    broken: dict[str, list[str]] = {}
    for state in states:
        mark = "&" if "?" in state else "?"
        page = visit.go(f"{state}{mark}settingsAgentId=main")
        expect(page.locator(".skeleton")).to_have_count(0)
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        found = [*violations(page), *([f"{wide} px too wide"] if wide > 0 else [])]
        broken |= {state: found} if found else {}
    page = visit.go("/home?settingsAgentId=main")
    page.keyboard.press("Control+k")
    page.keyboard.type("skills")
    expect(page.locator(".palette-row").first).to_be_visible()
    broken |= {"palette": found} if (found := violations(page)) else {}

    assert broken == {}


@pytest.fixture(scope="module")
def hard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StudioWorld]:
    """A world with skills that are blocked, cut, broken and for other systems."""
    with studio(tmp_path_factory.mktemp("hard"), Choice(hard=True)) as world:
        yield world


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
    answer = visit.page.goto(shown.address + "/skills")
    visit.page.wait_for_selector("[data-skill]")

    assert answer is not None
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert all(url.startswith((shown.address, "data:")) for url in asked)


def test_a_theme_that_was_chosen_stays(visiting: Open, shown: StudioWorld) -> None:
    visit = visiting(shown, color_scheme="light")
    page = visit.go("/skills")
    page.get_by_role("button", name="Use the dark theme").click()
    page.reload()

    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_a_thousand_skills_scroll_and_few_of_them_are_drawn(visiting: Open, tmp_path: Path) -> None:
    with studio(tmp_path, Choice(skills=1000)) as world:
        page = visiting(world).go("/skills")
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
        page = visit.go("/skills", until="#token")
        page.get_by_label("Token").fill("wrong")
        page.get_by_role("button", name="Open the studio").click()
        expect(page.get_by_role("alert")).to_contain_text("not accepted")
        page.get_by_label("Token").fill(KEY)
        page.get_by_role("button", name="Open the studio").click()
        expect(page.locator("[data-skill]").first).to_be_visible()
        page.reload()
        expect(page.locator("[data-skill]").first).to_be_visible()

        linked = visiting(world).go(f"/skills#token={KEY}")
        expect(linked.locator("[data-skill]").first).to_be_visible()
        assert "token" not in linked.url
        assert KEY not in linked.evaluate("JSON.stringify(localStorage)")
