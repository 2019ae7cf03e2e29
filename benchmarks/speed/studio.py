"""How soon the studio is there, and how much it weighs: `python -m benchmarks.speed.studio`.

A real Chromium opens the page of gateways with 65, 1,000 and 5,000 skills, each time as if for the
first time; the smallest is what the others are compared with.
"""

import argparse
import gzip
import statistics
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

from playwright.sync_api import Browser, Page
from tests.browser.browsing import browsing, busy_ms, chromium
from tests.browser.studio_world import Choice, StudioWorld, studio

import prowess
from prowess.gateway.calls import Client, Json, RpcCall
from prowess.gateway.dispatch import collect_methods
from prowess.gateway.frames import encode_ascii
from prowess.gateway.methods.skills import SkillMethods

FILES = Path(prowess.__file__).parent / "studio"
# The skills that are in every such world.
BESIDE = 20


def _opened(browser: Browser, address: str, ready: str) -> Page:
    page = browser.new_context(viewport={"width": 1280, "height": 820}).new_page()
    page.goto(address)
    page.wait_for_selector(ready)
    return page


def _until_rows(browser: Browser, address: str, rounds: int) -> list[float]:
    """Return after how long the first skill stands there, counted from the start of the page."""
    found = []
    for _ in range(rounds):
        page = _opened(browser, address, "[data-skill]")
        found.append(float(page.evaluate("performance.now()")))
        page.context.close()
    return found


def _weight() -> None:
    files = [path for path in FILES.rglob("*") if path.is_file()]
    plain = sum(path.stat().st_size for path in files)
    packed = sum(len(gzip.compress(path.read_bytes())) for path in files)
    sizes = f"{plain / 1024:.0f} KiB, packed {packed / 1024:.0f} KiB"
    print(f"weight             {len(files)} files, {sizes}")


def _toggle_ms(browser: Browser, address: str) -> float:
    """Return how long the main thread works from a switch to its message."""
    page = _opened(browser, f"{address}/skills", "[data-skill]")
    line = page.context.new_cdp_session(page)
    line.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.wait_for_function("document.querySelector('[role=switch]:enabled')")
    before = busy_ms(line)
    page.get_by_role("switch").nth(2).click()
    page.wait_for_selector(".toast")
    took = busy_ms(line) - before
    page.context.close()
    return took


def _measure(browser: Browser, skills: int, rounds: int) -> tuple[float, float, int]:
    """Return when the first row stands there, what a switch takes, and the bytes of all rows."""
    with (
        TemporaryDirectory(prefix="studio-") as folder,
        studio(Path(folder), Choice(skills=skills)) as world,
    ):
        rows = statistics.median(_until_rows(browser, f"{world.address}/skills", rounds))
        switch = statistics.median(_toggle_ms(browser, world.address) for _ in range(3))
        sent = len(encode_ascii(_rows(world)))
    return rows, switch, sent


def _rows(world: StudioWorld) -> Json:
    method = next(
        one
        for one in collect_methods(SkillMethods(world.gateway.services))
        if one.name == "skills.rows"
    )
    call = RpcCall(method=method.name, params=method.params(), client=Client(id="benchmark"))
    return cast("Json", method.answer(call))


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--skills", type=int, nargs="*", default=[45, 980, 4_980])
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    _weight()
    if chromium() is None:
        print("no Chromium here: only the weight was measured")
        return
    first: tuple[float, float, int] | None = None
    with browsing() as browser:
        for skills in asked.skills:
            found = _measure(browser, skills, asked.rounds)
            first = first or found
            row, switch, sent = found
            ratio = f"{row / first[0]:.1f}x and {switch / first[1]:.1f}x the first"
            print(
                f"{skills + BESIDE:>5} skills: first row {row:.0f} ms, a switch {switch:.0f} ms of"
                f" the main thread, where all stand {sent / 1024:.0f} KiB; {ratio}"
            )


if __name__ == "__main__":
    main()
