"""Take the pictures of the studio that the documentation shows: `python -m tools.studio_images`.

They are of a made-up world with the real page, gateway and encoder in it. Run it again after the
look of the studio changed.
"""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from playwright.sync_api import Browser, Page, expect
from tests.browser.browsing import browsing
from tests.browser.studio_world import Choice, StudioWorld, studio
from tests.integration.hub_world import TIDES, team_hub
from tests.integration.sharing_world import Repository, give_to_agent, page

from prowess.runtime.route.answer import Caller, Surface

IMAGES = Path(__file__).parent.parent / "docs" / "images"
_MESSAGE = "can you fill in this tax form for me"
_MESSAGES = (
    (Surface.HOOK, "please review the diff of my branch"),
    (Surface.CHAT, "how is the weather"),
    (Surface.MCP, "fill in this PDF form with my details"),
    (Surface.HOOK, "write the release notes of the next version"),
)


class Picture(NamedTuple):
    """One picture: where, how large, in which theme, and what to do first."""

    name: str
    path: str
    size: tuple[int, int]
    theme: str
    first: Callable[[Page], None] = lambda _page: None


def _type(page: Page) -> None:
    page.locator("main textarea").first.fill(_MESSAGE)
    page.locator(".candidate-mark").first.wait_for()


def _busy(world: StudioWorld) -> Callable[[Page], None]:
    """Return what lets some messages be routed while the page is looked at."""

    def route(page: Page) -> None:
        for surface, message in _MESSAGES:
            caller = Caller(surface=surface, agent_id="main")
            world.gateway.runtime.routing.answer(message, caller)
        page.locator(".tick").nth(len(_MESSAGES) - 1).wait_for()

    return route


def _drawn(page: Page) -> None:
    page.locator(".map-canvas").wait_for()


def _outdated(page: Page) -> None:
    page.get_by_role("button", name="Ask the sources for updates").click()
    page.get_by_role("button", name="See the update").first.click()
    page.get_by_role("region", name="What changes in").wait_for()


def _share(world: StudioWorld) -> None:
    """Add a skill from a repository that has a newer one since."""
    body = "Group the commits by what readers notice."
    repository = Repository(world.root / "team", {"changelog/SKILL.md": page("changelog", body)})
    give_to_agent(world.gateway.runtime, repository)
    newer = f"{body}\n\nLeave out what only builds."
    repository.commit({"changelog/SKILL.md": page("changelog", newer)})


def pictures(world: StudioWorld) -> tuple[Picture, ...]:
    """Return what is shown where."""
    wide, phone = (1360, 850), (390, 780)
    proposal = f"/workshop?proposal={world.proposals['update']}"
    return (
        Picture("studio-home", "/home", wide, "light", _busy(world)),
        Picture("studio-skills", "/skills?skill=pdf-forms", wide, "light"),
        Picture("studio-map", "/skills?show=map", wide, "dark", _drawn),
        Picture("studio-router", "/router", wide, "light", _type),
        Picture("studio-setup", "/setup", wide, "dark"),
        Picture("studio-library", "/library?skill=release-notes", wide, "light"),
        Picture("studio-installed", "/library?report=installed", wide, "light", _outdated),
        Picture("studio-hub", f"/hub?skill={TIDES}", wide, "light"),
        Picture("studio-connect", "/connect", wide, "dark"),
        Picture("studio-workshop", proposal, wide, "dark"),
        Picture("studio-activity", "/activity", (1360, 1000), "light"),
        Picture("studio-phone", "/skills", phone, "dark"),
    )


def _take(browser: Browser, world: StudioWorld, picture: Picture) -> None:
    width, height = picture.size
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if picture.theme == "dark" else "light",
    )
    page = context.new_page()
    page.goto(world.address + picture.path)
    page.wait_for_selector(".line-state[data-state=live]", state="attached")
    expect(page.locator(".skeleton")).to_have_count(0, timeout=20_000)
    picture.first(page)
    # Images of letters come after the first drawing.
    page.wait_for_timeout(600)
    page.screenshot(path=IMAGES / f"{picture.name}.png")
    context.close()


def _choose(hub: str, token: str) -> Choice:
    return Choice(encoder="bundled", hard=True, hub=(hub, token))


def main() -> None:
    """Take them all."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    with (
        TemporaryDirectory(prefix="home-") as folder,
        team_hub(Path(folder, "hub")) as (hub, address),
        studio(Path(folder, "studio"), _choose(address, hub.give_token("ann"))) as world,
        browsing() as browser,
    ):
        _share(world)
        give_to_agent(world.gateway.runtime, f"hub:{TIDES}@1.0.0")
        for picture in pictures(world):
            _take(browser, world, picture)
            print(f"docs/images/{picture.name}.png")


if __name__ == "__main__":
    main()
