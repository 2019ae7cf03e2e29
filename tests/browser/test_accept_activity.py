"""Activity as the specification has it: the gateway's numbers, plots with words, masked prompts."""

import re
from typing import Any

from playwright.sync_api import Locator, Page, expect
from tests.browser.browsing import Visit
from tests.browser.conftest import Open
from tests.browser.studio_world import MISSED_PROMPT, StudioWorld
from tests.browser.tapped import Tap

AFTERWARDS = "Use the form fields of the PDF next time"


def opened(visit: Visit, agent: str = "main") -> tuple[Page, Tap]:
    tap = Tap(visit.page)
    page = visit.go(f"/activity?settingsAgentId={agent}")
    expect(page.locator(".skeleton")).to_have_count(0)
    return page, tap


def part(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name=name, exact=True)


def figure(page: Page, title: str) -> Locator:
    return page.get_by_role("figure").filter(has=page.get_by_role("heading", name=title))


def cells(row: Locator) -> list[str]:
    return [text.strip() for text in row.get_by_role("cell").all_inner_texts()]


def test_every_total_and_every_day_is_the_number_of_the_gateway(
    visiting: Open, shown: StudioWorld
) -> None:
    page, tap = opened(visiting(shown))
    found = tap.answer("skills.activity", agentId="main", days=14)
    totals = found["totals"]

    used = totals["loaded"] + totals["invoked"]
    for title, count in (
        ("Routed", totals["routed"]), ("No skill", totals["none"]), ("Used", used),
        ("Corrected", totals["corrected"]),
    ):  # fmt: skip
        assert figure(page, title).inner_text().split("\n")[1].strip() == str(count), title
    days = part(page, "Day by day")
    days.get_by_text("Show the numbers").click()
    rows = days.get_by_role("row").filter(has=page.get_by_role("cell"))
    expect(rows).to_have_count(len(found["days"]))
    shown_days = [cells(rows.nth(number)) for number in range(rows.count())]
    columns = ("routed", "none", "loaded", "invoked", "corrected", "listed")
    expected = [[str(day[name]) for name in columns] for day in found["days"]]
    assert sorted(shown_days) == sorted(expected)


def test_most_used_never_used_results_and_costs_are_the_gateways(
    visiting: Open, shown: StudioWorld
) -> None:
    page, tap = opened(visiting(shown))
    activity = tap.answer("skills.activity", agentId="main", days=14)

    for skill in activity["skills"]:
        row = part(page, "Most used").get_by_role("row", name=re.compile(f"^{skill['name']}"))
        used = skill["loaded"] + skill["invoked"]
        assert cells(row)[0] == str(used), skill["name"]
        steps = f"{skill['routed']} → {skill['loaded']} → {skill['corrected']}"
        assert steps in " ".join(cells(row))
    names = part(page, "Never used").get_by_role("link").all_inner_texts()
    assert names == activity["neverUsed"]
    states = [one["status"] for one in tap.answer("skills.proposals.list")["proposals"]]
    results = part(page, "Learning results")
    for state in ("applied", "pending", "rejected", "quarantined", "stale"):
        count = states.count(state)
        expect(results).to_contain_text(re.compile(rf"{state}\s*{count}", re.IGNORECASE))
    costs = part(page, "What the prompt block costs")
    for harness in tap.answer("skills.costs", agentId="main")["agents"][0]["harnesses"]:
        row = costs.get_by_role("row").filter(has_text=harness["title"])
        assert f"{harness['tokens']:,}" in cells(row)


def test_every_plot_has_words_and_a_longer_time_asks_the_gateway_again(
    visiting: Open, shown: StudioWorld
) -> None:
    page, tap = opened(visiting(shown))
    drawn = page.locator("main svg[role=img]")
    names = [drawn.nth(number).get_attribute("aria-label") for number in range(drawn.count())]
    assert len(names) >= 5
    assert all(names)
    loose = page.locator("main svg:not([role=img]):not([aria-hidden=true])")
    assert loose.count() == 0

    page.get_by_role("button", name="30 days").click()
    tap.until(lambda: any(call["days"] == 30 for call in tap.calls("skills.activity")))
    expect(page.get_by_role("button", name="30 days")).to_have_attribute("aria-pressed", "true")
    expect(part(page, "Most used")).to_contain_text("30 days")
    page.get_by_role("button", name="All agents").click()
    expect(page.locator("main")).not_to_contain_text("the other agents are not counted")
    tap.until(lambda: "agentId" not in tap.calls("skills.activity")[-1])
    tap.until(lambda: tap.answer("skills.activity", days=30)["agentId"] is None)
    routed = tap.answer("skills.activity", days=30)["totals"]["routed"]
    expect(figure(page, "Routed")).to_contain_text(str(routed))


def test_what_a_person_wrote_is_masked_until_it_is_opened(
    visiting: Open, shown: StudioWorld
) -> None:
    page, tap = opened(visiting(shown))
    missed = part(page, "Missed activations")
    expect(missed.get_by_role("button", name="Show the message").first).to_be_visible()
    assert MISSED_PROMPT not in page.content()
    assert AFTERWARDS not in page.content()
    assert not any(MISSED_PROMPT in frame or AFTERWARDS in frame for frame in tap.received)

    missed.get_by_role("button", name="Show the message").first.click()
    expect(missed).to_contain_text(MISSED_PROMPT)
    missed.get_by_role("button", name="Hide the message").first.click()
    expect(missed).not_to_contain_text(MISSED_PROMPT)
    assert MISSED_PROMPT not in page.content()


def test_what_another_agent_used_is_not_told_as_this_agents_use(
    visiting: Open, shown: StudioWorld
) -> None:
    page, tap = opened(visiting(shown), "reviewer")
    expect(page.locator("main")).to_contain_text("the other agents are not counted")
    totals = tap.answer("skills.activity", agentId="reviewer", days=14)["totals"]
    assert totals["loaded"] + totals["invoked"] == 0

    expect(part(page, "Never used")).not_to_contain_text("Every ready skill was used")
    expect(part(page, "Never used")).to_contain_text("sql-report")
    row = part(page, "Most used").get_by_role("row", name=re.compile("^code-review"))
    assert row.count() == 0 or cells(row)[-1] == "never"


def test_a_part_that_fails_says_so_and_leaves_the_others(
    visiting: Open, shown: StudioWorld
) -> None:
    visit = visiting(shown)
    tap = Tap(visit.page)
    tap.refusing["sessions.missed"] = "the sessions cannot be read"
    page = visit.go("/activity?settingsAgentId=main")

    expect(page.locator("main")).to_contain_text("the sessions cannot be read")
    expect(figure(page, "Routed")).to_be_visible()
    tap.refusing.clear()
    again: Any = page.get_by_role("button", name=re.compile("again", re.IGNORECASE))
    again.first.click()
    expect(page.get_by_role("button", name="Show the message").first).to_be_visible()
