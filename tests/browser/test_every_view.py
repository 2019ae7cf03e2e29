"""What holds on every view: accessible in both themes, within its width, strict about hosts."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

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
ALL_RULES = {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}
# Another theme is the same page in other colours.
COLOURS = {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}
THEMES: tuple[tuple[Literal["light", "dark"], Mapping[str, object]], ...] = (
    ("light", ALL_RULES), ("dark", COLOURS),
)  # fmt: skip


def settled(visit: Visit, view: str, more: str = "") -> Page:
    page = visit.go(f"/{view}?settingsAgentId=main{more}")
    expect(page.locator(".skeleton")).to_have_count(0)
    return page


def violations(page: Page, rules: Mapping[str, object] = ALL_RULES) -> list[str]:
    found = Axe().run(page, options={"runOnly": rules, "resultTypes": ["violations"]})
    return [
        f"{one['id']}: {node['html'][:160]}"
        for one in found.response["violations"]
        for node in one["nodes"]
    ]


# Each state in which a page is another one: what is open, chosen, filtered or wrong.
STATES = (
    "/skills?filter=blocked&skill=site-backup", "/skills?skill=nameless", "/skills?skill=zz-over-a",
    "/skills?show=agents", "/skills?show=map", "/skills?group=source&sort=state&use=on",
    "/skills?q=backup the website", "/skills?skill=pdf-forms&open=SKILL.md",
    "/setup?configure=image-gen", "/setup?filter=unread", "/setup?removed=1",
    "/connect?harness=claude-code", "/workshop?filter=quarantined", "/router?why=site-backup",
    "/library?filter=broken", "/library?skill=release-notes", "/library?report=installed",
)  # fmt: skip
PALETTE = "palette"
PARTS = 4


@pytest.mark.parametrize("part", range(PARTS))
def test_no_state_of_a_page_breaks_a_rule_of_accessibility_in_either_theme(
    visiting: Open, hard: StudioWorld, part: int
) -> None:
    visit = visiting(hard, bypass_csp=True, reduced_motion="reduce")
    broken: dict[str, list[str]] = {}
    for state in (*VIEWS, *STATES, PALETTE)[part::PARTS]:
        page = show_state(visit, state)
        for size in ((390, 780), (1360, 850)):
            page.set_viewport_size({"width": size[0], "height": size[1]})
            visit.settle()
            wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
            found = [f"{wide} px too wide"] if wide > 0 else []
            for theme, rules in THEMES:
                page.emulate_media(color_scheme=theme)
                expect(page.locator("html")).to_have_attribute("data-theme", theme)
                if state in VIEWS:
                    visit.shot(f"{state}-{theme}-{size[0]}")
                found += violations(page, rules)
            broken |= {f"{state} at {size}": found} if found else {}

    assert broken == {}


def show_state(visit: Visit, state: str) -> Page:
    if state in VIEWS:
        return settled(visit, state)
    if state != PALETTE:
        page = visit.go(f"{state}&settingsAgentId=main")
        expect(page.locator(".skeleton")).to_have_count(0)
        return page
    page = settled(visit, "home")
    page.keyboard.press("Control+k")
    page.keyboard.type("skills")
    expect(page.locator(".palette-row").first).to_be_visible()
    return page


@pytest.fixture(scope="module")
def hard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StudioWorld]:
    """A world with skills that are blocked, cut, broken and for other systems."""
    with studio(tmp_path_factory.mktemp("hard"), Choice(hard=True)) as world:
        yield world


def test_a_view_says_its_scope_and_stays_within_the_width_of_the_screen(
    visiting: Open, shown: StudioWorld
) -> None:
    visit = visiting(shown)
    for view in VIEWS:
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
