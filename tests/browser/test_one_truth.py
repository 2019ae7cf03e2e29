"""What the pages say of a skill is what `prowess why` and an agent that reads it find."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp.types import TextContent
from playwright.sync_api import Page, expect
from tests.browser import studio_skills as written
from tests.browser.conftest import Open
from tests.browser.studio_world import Choice, StudioWorld, studio

from prowess.mcp.service import LOAD
from prowess.wiring.library import open_runtime
from prowess.wiring.mcp import open_service

# So tall that every row of the world is drawn.
TALL = {"width": 1280, "height": 3_200}
STAGES = {
    "found": "Found", "parsed": "Readable", "eligible": "Ready", "model": "Shown to the model",
}  # fmt: skip
NUMBER = re.compile(r"\d+")


@pytest.fixture(scope="module")
def hard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StudioWorld]:
    """A world with skills of which a page easily says too much."""
    with studio(tmp_path_factory.mktemp("hard"), Choice(hard=True)) as world:
        yield world


def states(page: Page, attribute: str) -> dict[str, str]:
    """Return what each row says, by the name of its skill."""
    rows = page.locator(f"[{attribute}]")
    script = f"rows => rows.map(row => [row.getAttribute('{attribute}'), row.dataset.state])"
    return dict(rows.evaluate_all(script))


def readable(world: StudioWorld, names: list[str]) -> set[str]:
    """Return the skills whose text an agent gets that asks for it, as a program of its own."""
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(world.home)}
    found = set()
    with open_runtime(world.work, home=world.state, environ=environ) as runtime:
        service = open_service(runtime, None)
        for name in names:
            answer = service.tools.call(LOAD, {"name": name})
            (content,) = answer.content
            assert isinstance(content, TextContent)
            if not answer.is_error:
                found.add(name)
    return found


def badge(page: Page, view: str) -> int:
    """Return the number that stands at a view in the rail."""
    count = page.locator(f".rail-link[href^='/{view}'] .rail-count")
    return int(count.inner_text().split()[0]) if count.count() else 0


def chip(page: Page, group: str, label: str) -> int:
    """Return the number that a filter has."""
    filters = page.get_by_role("group", name=group)
    found = filters.get_by_role("button", name=re.compile(rf"^{label} \d"))
    return int(NUMBER.findall(found.inner_text())[-1]) if found.count() else 0


def wait_for_verdicts(page: Page) -> None:
    """Wait until everything is scanned: until then a page says that it is not."""
    expect(page.locator("[data-state=scanning]")).to_have_count(0)
    expect(page.locator(f"[data-skill={written.BLOCKED}]")).to_have_attribute(
        "data-state", "blocked"
    )


def test_every_page_why_and_an_agent_say_the_same_of_every_skill(
    visiting: Open, hard: StudioWorld
) -> None:
    visit = visiting(hard, viewport=TALL)
    page = visit.go("/skills?settingsAgentId=main")
    wait_for_verdicts(page)
    on_skills = states(page, "data-skill")
    by_command = {
        name
        for name in on_skills
        if page.locator(f"[data-skill='{name}']").get_by_text("By command only").count()
    }
    assert by_command == {"deploy-checklist"}
    visible = {name for name, state in on_skills.items() if state == "ready"} - by_command

    page.goto(f"{hard.address}/setup?settingsAgentId=main")
    expect(page.locator("[data-setup]")).to_have_count(len(on_skills))
    assert states(page, "data-setup") == on_skills

    runtime = hard.gateway.runtime
    assert {
        name for name in on_skills if "/" not in name and runtime.why(name, "main").visible
    } == (visible)
    assert readable(hard, [name for name in on_skills if "/" not in name]) == visible

    for name in on_skills:
        page.goto(f"{hard.address}/router?settingsAgentId=main&why={name}")
        reason = None if "/" in name else runtime.why(name, "main").reason
        said = "The model sees it" if reason is None else f"Stopped here: {STAGES[reason.stage]}"
        expect(page.locator(".why")).to_contain_text(said)


def test_numbers_agree_on_every_page(visiting: Open, hard: StudioWorld) -> None:
    visit = visiting(hard, viewport=TALL)
    page = visit.go("/skills?settingsAgentId=main")
    wait_for_verdicts(page)
    found = list(states(page, "data-skill").values())
    labels = {"ready": "Ready", "setup": "Setup required", "blocked": "Blocked"}
    for state, label in labels.items():
        assert chip(page, "Status", label) == found.count(state), label
    lost = found.count("broken") + found.count("cut")
    assert chip(page, "Status", "Not loaded") == lost
    assert chip(page, "Status", "All") == len(found)
    assert badge(page, "setup") == found.count("setup")
    assert badge(page, "skills") == found.count("blocked") + found.count("broken")
    expect(page.locator(".scope")).to_contain_text(f"{found.count('ready')} usable now")
    expect(page.locator(".split-detail")).to_contain_text(
        f"{len(found) - lost} skills and {lost} files not loaded"
    )

    page.goto(f"{hard.address}/setup?settingsAgentId=main")
    expect(page.locator("[data-setup]").first).to_be_visible()
    for state, label in labels.items():
        assert chip(page, "Readiness", label) == found.count(state), label
    expect(page.locator(".scope")).to_contain_text(f"{found.count('setup')} of")
    expect(page.locator("#queue-title")).to_contain_text(f"for {found.count('setup')} skills")

    page.goto(f"{hard.address}/home?settingsAgentId=main")
    needs = page.get_by_role("region", name="Needs you")
    expect(needs).to_contain_text(f"{found.count('setup')} skills need setup")
    expect(needs).to_contain_text("1 skill is blocked by the scanner")
    expect(needs).to_contain_text(f"{found.count('broken')} files cannot be read")
    expect(needs).to_contain_text(f"{found.count('cut')} skills are over a limit")
    expect(page.locator(".scope")).to_contain_text(f"{found.count('ready')} of")


def test_a_blocked_skill_is_red_shows_its_findings_and_is_accepted_in_place(
    visiting: Open, tmp_path: Path
) -> None:
    with studio(tmp_path, Choice(hard=True)) as world:
        visit = visiting(world, viewport=TALL)
        page = visit.go(f"/skills?settingsAgentId=main&skill={written.BLOCKED}")
        wait_for_verdicts(page)
        row = page.locator(f"[data-skill={written.BLOCKED}]")
        expect(row.locator(".chip-danger")).to_have_text(re.compile("Blocked by the scanner"))
        about = page.get_by_role("region", name=f"About {written.BLOCKED}")
        expect(about).to_contain_text("SKILL.md:")
        expect(about).to_contain_text("shell-pipe-to-shell")
        usable = int(NUMBER.findall(page.locator(".scope").inner_text())[0])

        about.get_by_role("textbox", name=re.compile("^Why shell-pipe")).fill("our own mirror")
        about.get_by_role("button", name="Accept").click()

        expect(row).to_have_attribute("data-state", "ready")
        expect(page.locator(".scope")).to_contain_text(f"{usable + 1} usable now")
        assert readable(world, [written.BLOCKED]) == {written.BLOCKED}


def test_what_is_cut_or_broken_is_a_row_with_its_reason_and_macos_comes_first(
    visiting: Open, hard: StudioWorld
) -> None:
    visit = visiting(hard, viewport=TALL)
    page = visit.go("/skills?settingsAgentId=main")
    wait_for_verdicts(page)
    for name in written.OVER_A_LIMIT:
        expect(page.locator(f"[data-skill={name}]")).to_contain_text("is over a limit")
    expect(page.locator("[data-skill=nameless]")).to_contain_text("description")
    expect(page.locator("[data-skill=menu-bar] .row-about")).to_have_text("works only on macOS")
    why = hard.gateway.runtime.why("menu-bar", "main").reason
    assert why is not None
    assert why.detail.startswith("missing os: darwin")

    page.locator("[data-skill=nameless] a").first.click()
    about = page.get_by_role("region", name="About nameless")
    expect(about.locator(".chain-failed")).to_contain_text("Read")
    page.locator(f"[data-skill={written.OVER_A_LIMIT[0]}] a").first.click()
    expect(page.locator(".chain-failed")).to_contain_text("maxSkillsLoadedPerSource")


def test_a_workshop_that_is_off_says_so_and_can_be_switched_on(
    visiting: Open, tmp_path: Path
) -> None:
    with studio(tmp_path, Choice(workshop=False)) as world:
        page = visiting(world).go("/home?settingsAgentId=main")
        page.get_by_role("link", name=re.compile("The workshop is off")).click()
        expect(page.locator(".workshop-off")).to_contain_text("The workshop is off")
        page.get_by_role("button", name="Switch it on").click()

        expect(page.locator(".workshop-off")).to_have_count(0)
        assert world.config()["plugins"]["entries"]["skill-workshop"]["enabled"] is True


def test_nothing_is_offered_that_cannot_work_and_one_key_unlocks_all_that_need_it(
    visiting: Open, tmp_path: Path
) -> None:
    with studio(tmp_path, Choice(hard=True)) as world:
        page = visiting(world, viewport=TALL).go("/setup?settingsAgentId=main")
        poster = page.locator("[data-thing=prowess-poster]")
        expect(poster).to_contain_text("brew is not here")
        expect(poster.get_by_role("button", name=re.compile("Install"))).to_have_count(0)
        key = page.locator("[data-thing=SHARED_KEY]")
        expect(key).to_contain_text("unlocks 3 skills")

        key.get_by_label("Value of SHARED_KEY").fill("sk-test-shared")
        key.get_by_role("button", name="Save").click()

        expect(key).to_have_count(0)
        entries = world.config()["skills"]["entries"]
        assert {entries[f"shared-key-{one}"]["env"]["SHARED_KEY"] for one in ("weather", "tides")}
        voice = page.locator("[data-thing='channels.voice.enabled']")
        voice.get_by_role("button", name="Switch it on").click()
        expect(voice).to_have_count(0)
        assert json.dumps(world.config()["channels"]) == '{"voice": {"enabled": true}}'
