"""What an agent may use, as the specification has it: lists, none, all, inherited, unknown names.

One world serves the whole module; each test begins by writing the config that it needs.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.browser.conftest import Open
from tests.browser.studio_world import Choice, StudioWorld, studio
from tests.browser.tapped import Tap

Configured = Callable[..., StudioWorld]
ABSENT: Any = object()


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[StudioWorld, str]]:
    with studio(tmp_path_factory.mktemp("accept"), Choice()) as world:
        yield world, world.config_file.read_text(encoding="utf-8")


@pytest.fixture
def configured(lasting: tuple[StudioWorld, str]) -> Configured:
    """Give the agent Main a list, the defaults another, and everything else as it was."""
    world, text = lasting

    def written(main: object = ABSENT, defaults: object = ABSENT) -> StudioWorld:
        values = json.loads(text)
        if main is not ABSENT:
            values["agents"]["list"][0]["skills"] = main
        if defaults is not ABSENT:
            values["agents"]["defaults"] = {"skills": defaults}
        world.config_file.write_text(json.dumps(values), encoding="utf-8")
        world.gateway.runtime.skills.refresh()
        return world

    return written


def switch(page: Page, name: str) -> Locator:
    return page.get_by_role("switch", name=f"Skill {name}", exact=True)


def row(page: Page, name: str) -> Locator:
    return page.locator(f"[data-skill='{name}']")


def own(world: StudioWorld, agent: str = "main") -> Any:  # noqa: ANN401 - any JSON
    found = next(one for one in world.config()["agents"]["list"] if one["id"] == agent)
    return found.get("skills", ABSENT)


def expect_on(page: Page, count: int | str) -> None:
    """Wait until the page says that so many skills are on."""
    expect(page.locator("main")).to_contain_text(re.compile(rf"\D{count} of \d+ allowed"))


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        (ABSENT, 20),
        ("pdf-forms", 20),
        ([], 0),
        (["  ", ""], 0),
        (["pdf-forms", " pdf-forms ", "code-review"], 2),
    ],
    ids=["absent", "no list", "empty", "blanks", "names"],
)
def test_a_list_means_all_none_or_the_names_in_it(
    visiting: Open, configured: Configured, listed: object, expected: int
) -> None:
    page = visiting(configured(listed)).go("/skills?settingsAgentId=main")

    expect_on(page, f"{expected}")
    expect(page.get_by_role("button", name="Use all")).to_be_enabled(enabled=expected != 20)
    expect(page.get_by_role("button", name="Disable all")).to_be_enabled(enabled=expected != 0)
    if expected == 20:
        expect(page.locator("[role=switch][aria-checked=false]")).to_have_count(0)
    else:
        expect(page.locator("[role=switch][aria-checked=true]")).to_have_count(expected)
    if expected == 20:
        expect(page.locator("main")).to_contain_text("Switching one off writes a list")


def test_turning_the_last_one_off_writes_an_empty_list_and_all_on_keeps_a_list(
    visiting: Open, configured: Configured
) -> None:
    world = configured(["pdf-forms"])
    page = visiting(world).go("/skills?settingsAgentId=main")

    switch(page, "pdf-forms").click()
    expect(page.locator("main")).to_contain_text("0 of")
    expect(switch(page, "pdf-forms")).to_be_enabled()
    assert own(world) == []

    switch(page, "pdf-forms").click()
    expect(page.locator("main")).to_contain_text("1 of")
    expect(switch(page, "pdf-forms")).to_be_enabled()
    assert own(world) == ["pdf-forms"]
    page.get_by_role("button", name="Use all").click()
    expect(page.get_by_text("Main has no list of its own any more.")).to_be_visible()
    expect(page.get_by_role("button", name="Use all")).to_be_disabled()
    assert own(world) is ABSENT


def test_disable_all_writes_an_empty_list_and_says_how_to_come_back(
    visiting: Open, configured: Configured
) -> None:
    world = configured()
    page = visiting(world).go("/skills?settingsAgentId=main")
    expect(switch(page, "pdf-forms")).to_be_enabled()
    before = world.config()

    page.get_by_role("button", name="Disable all").click()

    expect(switch(page, "pdf-forms")).to_have_attribute("aria-checked", "false")
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    assert own(world) == []
    after = world.config()
    assert after["agents"]["list"][1] == before["agents"]["list"][1]
    assert after["skills"] == before["skills"]


def test_a_listed_name_that_is_no_skill_is_named_not_counted_and_kept(
    visiting: Open, configured: Configured
) -> None:
    world = configured(["pdf-forms", "no-such-skill"])
    page = visiting(world).go("/skills?settingsAgentId=main")
    expect(switch(page, "pdf-forms")).to_be_visible()

    expect_on(page, 1)
    expect(page.locator("main")).to_contain_text("no-such-skill")
    switch(page, "code-review").click()
    expect(switch(page, "code-review")).to_have_attribute("aria-checked", "true")
    expect(page.locator("main")).to_contain_text("2 of")
    expect(switch(page, "code-review")).to_be_enabled()
    assert set(own(world)) == {"pdf-forms", "no-such-skill", "code-review"}


def test_inherited_defaults_are_the_baseline_of_a_first_own_list(
    visiting: Open, configured: Configured
) -> None:
    world = configured(defaults=["pdf-forms", "code-review"])
    page = visiting(world).go("/skills?settingsAgentId=main")
    expect(page.locator("main")).to_contain_text(re.compile("inherited", re.IGNORECASE))
    expect_on(page, 2)

    switch(page, "pdf-forms").click()
    expect(page.locator("main")).to_contain_text("1 of")
    expect(switch(page, "pdf-forms")).to_be_enabled()

    assert own(world) == ["code-review"]
    assert world.config()["agents"]["defaults"]["skills"] == ["pdf-forms", "code-review"]
    expect(page.locator("main")).not_to_contain_text(re.compile("inherited", re.IGNORECASE))


def test_a_skill_that_is_not_supported_shows_its_state_and_cannot_be_switched(
    visiting: Open, configured: Configured
) -> None:
    page = visiting(configured(["apple-notes"])).go("/skills?settingsAgentId=main")

    expect(switch(page, "apple-notes")).to_be_disabled()
    expect(switch(page, "apple-notes")).to_have_attribute("aria-checked", "true")
    expect(row(page, "apple-notes").get_by_role("link", name="Open System Setup")).to_have_count(0)
    expect_on(page, 1)


def test_only_setup_required_leads_to_setup_and_nothing_in_a_row_installs_or_removes(
    visiting: Open, configured: Configured
) -> None:
    # High enough for every row to be drawn.
    visit = visiting(configured(), viewport={"width": 1280, "height": 2_000})
    page = visit.go("/skills?settingsAgentId=main")
    expect(row(page, "voice-call")).to_be_visible()

    leading = page.get_by_role("link", name="Open System Setup").evaluate_all(
        "(all) => all.map((one) => one.closest('[data-skill]').dataset.skill)"
    )
    assert set(leading) == {
        "image-gen", "ticket-triage", "translate-docs", "video-frames", "voice-call"
    }  # fmt: skip
    expect(row(page, "translate-docs")).to_contain_text("every agent")
    buttons = page.locator("[data-skill] button:not([role=switch])")
    expect(buttons).to_have_count(0)
    expect(page.locator("main input[type=password]")).to_have_count(0)


def test_two_tabs_show_one_truth(visiting: Open, configured: Configured) -> None:
    world = configured(["pdf-forms", "code-review"])
    first = visiting(world).go("/skills?settingsAgentId=main")
    second = visiting(world).go("/skills?settingsAgentId=main")
    expect(switch(first, "pdf-forms")).to_have_attribute("aria-checked", "true")
    expect(switch(second, "pdf-forms")).to_have_attribute("aria-checked", "true")

    switch(first, "pdf-forms").click()
    expect(switch(second, "pdf-forms")).to_have_attribute("aria-checked", "false")
    switch(second, "sql-report").click()
    expect(switch(first, "sql-report")).to_have_attribute("aria-checked", "true")

    assert set(own(world)) == {"code-review", "sql-report"}


def test_a_change_that_is_answered_after_a_switch_of_agents_leaves_the_other_alone(
    visiting: Open, configured: Configured
) -> None:
    world = configured(["pdf-forms", "code-review"])
    visit = visiting(world)
    tap = Tap(visit.page)
    page = visit.go("/skills?settingsAgentId=main")
    expect(switch(page, "code-review")).to_be_enabled()
    reviewers = own(world, "reviewer")

    tap.holding.add("config.set")
    switch(page, "code-review").click()
    expect(switch(page, "code-review")).to_have_attribute("aria-checked", "false")
    page.get_by_label("Agent", exact=True).select_option("reviewer")
    expect(page.locator("main")).to_contain_text("affect Reviewer alone")
    expect(switch(page, "code-review")).to_have_attribute("aria-checked", "true")
    tap.until(lambda: bool(tap.held))
    tap.release()

    page.get_by_label("Agent", exact=True).select_option("main")
    expect(switch(page, "code-review")).to_have_attribute("aria-checked", "false")
    assert own(world) == ["pdf-forms"]
    assert own(world, "reviewer") == reviewers


def test_a_hash_that_is_stale_twice_is_told_and_the_switch_goes_back(
    visiting: Open, configured: Configured
) -> None:
    world = configured()
    visit = visiting(world)
    tap = Tap(visit.page)
    page = visit.go("/skills?settingsAgentId=main")
    expect(switch(page, "pdf-forms")).to_be_enabled()
    tap.refusing["config.set"] = "config changed since last load; re-run config.get and retry"

    switch(page, "pdf-forms").click()

    expect(page.get_by_role("alert")).to_contain_text("pdf-forms")
    expect(switch(page, "pdf-forms")).to_have_attribute("aria-checked", "true")
    assert len(tap.calls("config.set")) == 2
    tap.refusing["config.set"] = "the disk is full"
    switch(page, "code-review").click()
    expect(page.get_by_role("alert").last).to_contain_text("disk is full")
    assert len(tap.calls("config.set")) == 3


def test_search_reads_name_words_and_source_and_says_when_nothing_is_found(
    visiting: Open, configured: Configured
) -> None:
    page = visiting(configured()).go("/skills?settingsAgentId=main")
    field = page.get_by_label("Search skills")
    for typed, found in (("  PDF-FORMS ", "pdf-forms"), ("revenue", "sql-report")):
        field.fill(typed)
        expect(page.locator("[data-skill]")).to_have_count(1)
        expect(row(page, found)).to_be_visible()
        expect(page.get_by_role("button", name=re.compile("^All"))).to_have_text("All 1")
    field.fill("managed")
    expect(row(page, "brand-voice")).to_be_visible()
    expect(page.locator("[data-skill]")).to_have_count(1)
    field.fill("nothing has this")
    expect(page.locator("[data-skill]")).to_have_count(0)
    expect(page.get_by_role("button", name=re.compile("Show all"))).to_be_visible()


def test_undo_means_the_agent_that_was_changed_and_not_the_one_shown_now(
    visiting: Open, configured: Configured
) -> None:
    world = configured(["brand-voice", "pdf-forms"])
    reviewers = own(world, "reviewer")
    page = visiting(world).go("/skills?settingsAgentId=main")
    expect_on(page, 2)
    switch(page, "brand-voice").click()
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    page.get_by_label("Agent", exact=True).select_option("reviewer")
    expect_on(page, 3)

    # To take the offer away with the agent would be as good.
    undo = page.get_by_role("button", name="Undo")
    if undo.count():
        undo.click()
        expect(page.get_by_text(re.compile("may use brand-voice"))).to_be_visible()
        assert set(own(world)) == {"brand-voice", "pdf-forms"}
    assert own(world, "reviewer") == reviewers


def test_undo_of_all_off_never_takes_the_list_of_another_agent(
    visiting: Open, configured: Configured
) -> None:
    world = configured()
    reviewers = own(world, "reviewer")
    page = visiting(world).go("/skills?settingsAgentId=main")
    expect_on(page, 20)
    page.get_by_role("button", name="Disable all").click()
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    page.get_by_label("Agent", exact=True).select_option("reviewer")
    expect_on(page, 3)

    undo = page.get_by_role("button", name="Undo")
    offered = undo.count()
    if offered:
        undo.click()
    page.get_by_label("Agent", exact=True).select_option("main")
    expect_on(page, 20 if offered else 0)
    assert own(world, "reviewer") == reviewers


def test_two_switches_in_quick_succession_are_both_kept(
    visiting: Open, configured: Configured
) -> None:
    world = configured()
    visit = visiting(world)
    tap = Tap(visit.page)
    page = visit.go("/skills?settingsAgentId=main")
    expect_on(page, 20)
    tap.holding.add("config.set")

    switch(page, "code-review").click()
    switch(page, "brand-voice").click()
    expect(switch(page, "brand-voice")).to_have_attribute("aria-checked", "false")
    tap.until(lambda: bool(tap.held))
    tap.release()

    expect_on(page, 18)
    tap.until(lambda: len(own(world)) == 18)
    assert not {"code-review", "brand-voice"} & set(own(world))


def test_a_button_that_says_all_leaves_all_on_even_where_defaults_are_inherited(
    visiting: Open, configured: Configured
) -> None:
    world = configured(["sql-report"], defaults=["pdf-forms"])
    page = visiting(world).go("/skills?settingsAgentId=main")
    expect_on(page, 1)
    expect(switch(page, "pdf-forms")).to_have_attribute("aria-checked", "false")
    button = page.get_by_role("button", name="Use all", exact=True)
    # By another name, such as that of the defaults, it may do something else.
    if button.count():
        button.click()
        expect_on(page, 20)


def test_a_switch_goes_by_the_name_and_setup_by_the_key(
    visiting: Open, configured: Configured
) -> None:
    world = configured(["todo", "pdf-forms"])
    folder = world.roots["work"] / "todo"
    folder.mkdir(exist_ok=True)
    needs = {"skillKey": "todo-board", "requires": {"env": ["TODO_KEY"]}}
    head = f"name: todo\ndescription: Lists.\nmetadata: {json.dumps({'openclaw': needs})}"
    (folder / "SKILL.md").write_text(f"---\n{head}\n---\nBody.\n", encoding="utf-8")
    try:
        page = visiting(world).go("/skills?settingsAgentId=main&q=todo")
        expect(switch(page, "todo")).to_have_attribute("aria-checked", "true")
        leading = row(page, "todo").get_by_role("link", name="Open System Setup")
        expect(leading).to_have_attribute("href", re.compile("configure=todo-board"))
        switch(page, "todo").click()
        expect(page.get_by_text("Main no longer uses todo.")).to_be_visible()
        assert own(world) == ["pdf-forms"]
        leading.click()
        expect(page.get_by_role("dialog", name="Setup todo")).to_be_visible()
    finally:
        (folder / "SKILL.md").unlink()
        folder.rmdir()
        world.gateway.runtime.skills.refresh()
