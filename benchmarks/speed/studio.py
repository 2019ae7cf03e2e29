"""How soon the studio is there, and how much it weighs: `python -m benchmarks.speed.studio`.

A real Chromium opens the page of a gateway with 200 skills, each time as if for the first time. The
baseline is a page of plain text from the same gateway in the same browser.
"""

import argparse
import gzip
import statistics
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, Page
from tests.browser.browsing import browsing, chromium
from tests.browser.studio_world import Choice, studio

import prowess

FILES = Path(prowess.__file__).parent / "studio"
_PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"
_SENT = """['resource', 'navigation'].flatMap((kind) => performance.getEntriesByType(kind))
  .reduce((sum, one) => sum + one.transferSize, 0)"""


def _opened(browser: Browser, address: str, ready: str) -> Page:
    page = browser.new_context(viewport={"width": 1280, "height": 820}).new_page()
    page.goto(address)
    page.wait_for_selector(ready)
    return page


def _times(browser: Browser, address: str, ready: str, rounds: int) -> tuple[list[float], float]:
    """Return when something could be seen, each time, and how many bytes came."""
    seen: list[float] = []
    sent = 0.0
    for _ in range(rounds):
        page = _opened(browser, address, ready)
        seen.append(float(page.evaluate(_PAINT)))
        sent = float(page.evaluate(_SENT))
        page.context.close()
    return seen, sent


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


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--skills", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=7)
    asked = parser.parse_args()
    _weight()
    if chromium() is None:
        print("no Chromium here: only the weight was measured")
        return
    with (
        TemporaryDirectory(prefix="studio-") as folder,
        studio(Path(folder), Choice(skills=asked.skills)) as world,
        browsing() as browser,
    ):
        plain, _ = _times(browser, f"{world.address}/health", "body", asked.rounds)
        seen, sent = _times(browser, world.address, "[data-skill]", asked.rounds)
        rows = _until_rows(browser, world.address, asked.rounds)
    base = statistics.median(plain)
    print(f"sent for one view  {sent / 1024:.0f} KiB")
    for name, times in (("plain text", plain), ("first paint", seen), ("first skill", rows)):
        middle = statistics.median(times)
        print(f"{name:<18} {middle:7.0f} ms  {middle / base:5.1f}x  worst {max(times):.0f} ms")


if __name__ == "__main__":
    main()
