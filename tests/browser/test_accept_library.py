"""The library as the specification has it: sources, winners, lines, and all about one skill."""

import re

from playwright.sync_api import Locator, Page, expect
from tests.browser.conftest import Open
from tests.browser.studio_world import StudioWorld
from tests.browser.tapped import Tap


def sources(page: Page) -> Locator:
    return page.get_by_role("list", name=re.compile("^Sources"))


def about(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name=f"About {name}")


def test_sources_stand_in_their_precedence_and_counts_are_the_gateways(
    visiting: Open, shown: StudioWorld
) -> None:
    visit = visiting(shown, viewport={"width": 1280, "height": 2400})
    tap = Tap(visit.page)
    page = visit.go("/library?settingsAgentId=main")
    expect(sources(page)).to_be_visible()
    found = tap.answer("skills.sources", agentId="main")["sources"]
    there = sorted((one for one in found if one["exists"]), key=lambda one: one["rank"])

    expect(sources(page).get_by_role("heading")).to_have_count(len(there))
    text = sources(page).inner_text()
    places = [text.index(one["path"]) for one in there]
    assert places == sorted(places)
    for name in ("active", "shadowed", "broken"):
        count = sum(one["counts"][name] for one in found)
        button = page.get_by_role("button", name=re.compile(f"^{name}", re.IGNORECASE))
        expect(button).to_have_text(re.compile(rf"\s{count}$"))


def test_a_shadowed_skill_is_struck_out_and_leads_to_the_winner(
    visiting: Open, shown: StudioWorld
) -> None:
    page = visiting(shown).go("/library?settingsAgentId=main")
    page.get_by_role("button", name=re.compile("^Shadowed")).click()
    rows = sources(page).get_by_role("listitem").filter(has_text="Gives way to")
    expect(rows).to_have_count(2)
    struck = rows.filter(has_text="code-review").get_by_role("link").first
    line = struck.evaluate(
        "(one) => [one, one.parentElement, ...one.children]"
        ".some((part) => getComputedStyle(part).textDecorationLine.includes('line-through'))"
    )
    assert line

    rows.filter(has_text="code-review").get_by_role("link", name="code-review in Workspace").click()
    expect(about(page, "code-review")).to_contain_text("Shadows")
    expect(about(page, "code-review")).to_contain_text("Review a change before it is merged")


def test_what_one_agent_does_not_read_is_not_said_to_be_read_by_none(
    visiting: Open, shown: StudioWorld
) -> None:
    visit = visiting(shown)
    page = visit.go("/skills?settingsAgentId=reviewer&skill=release-notes")
    expect(page.locator("main")).to_contain_text("the way the whole company writes them")

    file = shown.roots["managed"] / "release-notes" / "SKILL.md"
    page = visit.go(f"/library?settingsAgentId=main&file={file}")
    expect(page.locator("main")).to_contain_text("stands before it")
    expect(page.locator("main")).not_to_contain_text("no agent reads this one")


def test_a_broken_file_is_shown_with_its_line_and_follows_the_disk(
    visiting: Open, world: StudioWorld
) -> None:
    folder = world.roots["work"] / "line-four"
    folder.mkdir()
    file = folder / "SKILL.md"
    good = "---\nname: line-four\ndescription: Four lines.\nlicense: MIT\n---\nBody.\n"
    file.write_text(good.replace("license: MIT", "license: [MIT"), encoding="utf-8")
    world.gateway.runtime.skills.refresh()
    page = visiting(world).go("/library?settingsAgentId=main")
    broken = page.get_by_role("button", name=re.compile("^Broken"))
    expect(broken).to_have_text("Broken 3")
    broken.click()
    row = sources(page).get_by_role("listitem").filter(has_text="line-four")
    expect(row).to_contain_text(re.compile(r"SKILL\.md:[45]"))
    row.get_by_role("link").first.click()
    expect(page.get_by_role("region", name="About the file")).to_contain_text(
        re.compile("line [45]")
    )

    file.write_text(good, encoding="utf-8")
    expect(broken).to_have_text("Broken 2")


def test_validation_is_on_demand_for_one_and_for_all_and_names_files_and_lines(
    visiting: Open, shown: StudioWorld
) -> None:
    visit = visiting(shown)
    tap = Tap(visit.page)
    page = visit.go("/library?settingsAgentId=main&skill=image-gen")
    expect(about(page, "image-gen")).to_be_visible()
    assert tap.calls("skills.validate") == []
    about(page, "image-gen").get_by_role("button", name="Validate image-gen").click()
    expect(about(page, "image-gen")).to_contain_text("1 file checked")
    about(page, "image-gen").get_by_role("checkbox", name=re.compile("^Strict")).check()
    tap.until(lambda: bool(tap.calls("skills.validate")[-1].get("strict")))
    about(page, "image-gen").get_by_role("checkbox", name=re.compile("^Strict")).uncheck()

    page.get_by_role("button", name="Validate all").click()
    found = page.get_by_role("region", name="What was found")
    expect(found).to_contain_text("files checked: 2 not valid")
    expect(found).to_contain_text("broken-frontmatter/SKILL.md")
    expect(found.get_by_text(re.compile(r"^line \d+$")).first).to_be_visible()


def test_the_page_of_a_skill_has_all_of_it(visiting: Open, shown: StudioWorld) -> None:
    visit = visiting(shown)
    tap = Tap(visit.page)
    page = visit.go("/library?settingsAgentId=main&skill=pdf-forms")
    part = about(page, "pdf-forms")
    expect(part).to_contain_text("Check boxes take")
    for title in ("Requirements", "Files", "History", "Use", "What the agent reads"):
        expect(part.get_by_role("heading", name=title, exact=True)).to_be_visible()
    for title in ("Workflow", "Pitfalls"):
        expect(part.get_by_role("button", name=title)).to_be_visible()
    expect(part.get_by_role("link", name="https://example.test/pdf-forms")).to_have_attribute(
        "rel", re.compile("noopener|noreferrer")
    )
    totals = tap.answer("skills.usage", name="pdf-forms")["totals"]
    for one in totals:
        row = part.get_by_role("row").filter(has_text=re.compile(one["agentId"], re.IGNORECASE))
        cells = row.get_by_role("cell").all_inner_texts()
        columns = ("listed", "routed", "loaded", "invoked", "corrected")
        assert cells[:5] == [str(one[name]) for name in columns]
    part.get_by_role("link", name="scripts/fields.py", exact=True).click()
    expect(page.locator("main")).to_contain_text("Lists the fields of a form.")
    page = visit.go("/library?settingsAgentId=main&skill=pdf-forms&open=assets/sample.bin")
    expect(page.locator("main")).to_contain_text(
        re.compile("binary|not text|1,?024|1 KB", re.IGNORECASE)
    )
    page = visit.go("/library?settingsAgentId=main&skill=code-review")
    expect(about(page, "code-review")).to_contain_text("Code review: run the linter")


def test_a_name_that_is_nowhere_is_said_and_a_file_outside_is_not_read(
    visiting: Open, shown: StudioWorld
) -> None:
    visit = visiting(shown)
    page = visit.go("/library?settingsAgentId=main&skill=no-such-skill")
    expect(page.locator("main")).to_contain_text("no-such-skill")
    expect(page.locator("main .skeleton")).to_have_count(0)
    page = visit.go(
        "/library?settingsAgentId=main&skill=pdf-forms&open=../../../state/prowess.json"
    )
    expect(page.locator("main .skeleton")).to_have_count(0)
    expect(page.locator("main")).not_to_contain_text("skill-workshop")
    page = visit.go("/library?settingsAgentId=main&file=/etc/passwd")
    expect(page.locator("main .skeleton")).to_have_count(0)
    expect(page.locator("main")).not_to_contain_text("root:")


def test_the_tests_of_a_skill_run_on_its_page(visiting: Open, world: StudioWorld) -> None:
    suite = world.roots["work"] / "pdf-forms" / "evals" / "triggers.yaml"
    suite.parent.mkdir()
    cases = ["prompt: fill in this pdf form\n    expect: pdf-forms",
             "prompt: review this branch\n    expect: pdf-forms"]  # fmt: skip
    suite.write_text("cases:\n" + "".join(f"  - {one}\n" for one in cases), encoding="utf-8")
    visit = visiting(world)
    tap = Tap(visit.page)
    page = visit.go("/skills?settingsAgentId=main&skill=pdf-forms")
    assert tap.calls("skills.test") == []
    about(page, "pdf-forms").get_by_role("button", name="Run the tests of pdf-forms").click()

    tests = page.get_by_role("list", name="Tests of pdf-forms").get_by_role("listitem")
    expect(tests).to_have_count(5)
    expect(tests.filter(has_text="fill in this pdf form")).to_contain_text("Passed:")
    failed = tests.filter(has_text="review this branch")
    expect(failed).to_contain_text("Failed:")
    expect(failed).to_contain_text("expected pdf-forms, got code-review")
    expect(about(page, "pdf-forms")).to_contain_text("4 of 5 tests pass with Main.")


def test_tests_that_somebody_waits_for_run_again_where_skills_change_meanwhile(
    visiting: Open, world: StudioWorld
) -> None:
    visit = visiting(world)
    tap = Tap(visit.page)
    page = visit.go("/skills?settingsAgentId=main&skill=pdf-forms")
    tap.holding.add("skills.test")
    about(page, "pdf-forms").get_by_role("button", name="Run the tests of pdf-forms").click()
    tap.until(lambda: bool(tap.held))
    changes = tap.heard("skills.changed")
    (world.roots["work"] / "code-review" / "SKILL.md").unlink()
    tap.until(lambda: tap.heard("skills.changed") > changes)
    tap.release()

    expect(about(page, "pdf-forms")).to_contain_text("All 3 tests pass with Main.")
    assert len(tap.calls("skills.test")) > 1


def test_what_is_pressed_stays_under_the_pointer_until_it_is_let_go(
    visiting: Open, world: StudioWorld
) -> None:
    visit = visiting(world)
    tap = Tap(visit.page)
    page = visit.go("/skills?settingsAgentId=main")
    rows = page.get_by_role("list", name="Skills of Main")
    rows.get_by_role("link", name="code-review").hover()
    page.mouse.down()
    changes = tap.heard("skills.changed")
    first = world.roots["work"] / "a-first" / "SKILL.md"
    first.parent.mkdir()
    first.write_text("---\nname: a-first\ndescription: It stands above.\n---\nBody.\n")
    tap.until(lambda: tap.heard("skills.changed") > changes)
    visit.settle()
    page.mouse.up()

    expect(about(page, "code-review")).to_be_visible()
    expect(rows.get_by_role("link", name="a-first")).to_be_visible()
