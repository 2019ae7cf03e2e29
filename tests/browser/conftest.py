"""One browser and one world for each module of tests, and a fresh context for each test.

Not for the whole run: while Playwright is open, no other test of the process can start an event
loop, and a world has threads that others would count.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser
from tests.browser.browsing import Visit, browsing, chromium
from tests.browser.studio_world import Choice, StudioWorld, studio

Open = Callable[..., Visit]
_HERE = Path(__file__).parent
# A browser on a machine that is busy with ten other things: only what hangs takes so long.
_MOST_SECONDS = 900


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give what drives a browser more time."""
    for item in items:
        if item.path.is_relative_to(_HERE):
            item.add_marker(pytest.mark.timeout(_MOST_SECONDS))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The system's Chromium."""
    if chromium() is None:
        pytest.skip("no Chromium: `make test-slow` installs it as root, or set PROWESS_CHROMIUM")
    with browsing() as running:
        yield running


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StudioWorld]:
    """A world that tests only look at."""
    with studio(tmp_path_factory.mktemp("studio"), Choice()) as world:
        yield world


@pytest.fixture
def world(tmp_path: Path) -> Iterator[StudioWorld]:
    """A world of a test's own, to change things in."""
    with studio(tmp_path, Choice()) as made:
        yield made


@pytest.fixture
def visiting(browser: Browser) -> Iterator[Open]:
    """Open pages that must end without an error in the console."""
    visits: list[Visit] = []

    # What else a context is made with is Playwright's.
    def opened(world: StudioWorld, **context: Any) -> Visit:  # noqa: ANN401
        context = {"viewport": {"width": 1280, "height": 820}, **context}
        visit = Visit(browser.new_context(**context).new_page(), world.address)
        visits.append(visit)
        world.guests.append(visit.page.context.close)
        return visit

    yield opened
    for visit in visits:
        visit.page.context.close()
    assert [problem for visit in visits for problem in visit.unexpected()] == []
