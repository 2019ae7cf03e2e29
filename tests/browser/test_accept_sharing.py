"""Skills from elsewhere and what is known of them: updates, signers, policies, claims, proof."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.browser.conftest import Open
from tests.browser.studio_world import StudioWorld
from tests.browser.tapped import Tap
from tests.browser.test_every_view import violations
from tests.integration.sharing_world import Repository, give_to_agent, page
from tests.integration.sigstore_world import BUNDLE, ISSUER, Sigstore

from prowess.host.proof.agents import ProofsFile
from prowess.runtime.proof.prove import ProofVerdict
from prowess.wiring.proof import digest_skill

PLACE = "/library?settingsAgentId=main&report=installed"
SKILL = "shared/SKILL.md"


@pytest.fixture
def repository(tmp_path: Path, world: StudioWorld) -> Repository:
    made = Repository(tmp_path / "repo", {SKILL: page("shared", "One.\n\n## Two\n\nThree.")})
    give_to_agent(world.gateway.runtime, made)
    return made


def row(page: Page) -> Locator:
    return page.get_by_role("listitem").filter(has=page.get_by_role("heading", name="shared"))


def locked(world: StudioWorld) -> str:
    (found,) = (
        json.loads(file.read_text(encoding="utf-8")) for file in world.root.rglob("prowess.lock")
    )
    return str(found["skills"]["shared"]["resolved"])


def test_an_update_is_found_when_asked_for_and_seen_before_it_is_made(
    visiting: Open, world: StudioWorld, repository: Repository
) -> None:
    first = repository.git("rev-parse", "HEAD")
    newest = repository.commit({SKILL: page("shared", "Newer.\n\n## Two\n\nThree.")})
    visit = visiting(world)
    tap = Tap(visit.page)
    seen = visit.go("/library?settingsAgentId=main")
    expect(seen.get_by_role("heading", name="Diagnostics")).to_be_visible()
    assert tap.calls("sharing.installed") == []
    seen.get_by_role("button", name="Installed", exact=True).click()

    for words in (str(repository.folder), first[:12], "nobody signed it", "as the lock says"):
        expect(row(seen)).to_contain_text(words)
    expect(row(seen)).not_to_contain_text("Outdated")
    assert tap.calls("sharing.outdated") == []
    seen.get_by_role("button", name="Ask the sources for updates").click()
    expect(row(seen)).to_contain_text("Outdated")
    expect(row(seen)).to_contain_text(newest[:12])

    row(seen).get_by_role("button", name="See the update of shared").click()
    change = seen.get_by_role("dialog").get_by_role("region", name="What changes in shared")
    expect(seen.get_by_role("dialog")).to_contain_text("made on")
    expect(change).to_contain_text(re.compile(r"-One\..*\+Newer\.", re.DOTALL))
    assert locked(world) == first
    seen.get_by_role("button", name="Update shared").click()
    expect(seen.get_by_role("dialog")).to_have_count(0)
    expect(row(seen)).not_to_contain_text(first[:12])
    expect(row(seen)).to_contain_text(newest[:12])
    expect(row(seen)).not_to_contain_text("Outdated")
    assert locked(world) == newest


def test_what_came_after_the_look_is_shown_and_not_written(
    visiting: Open, world: StudioWorld, repository: Repository
) -> None:
    first = repository.git("rev-parse", "HEAD")
    repository.commit({SKILL: page("shared", "Looked at.")})
    seen = visiting(world).go(f"{PLACE}&update=shared")
    change = seen.get_by_role("region", name="What changes in shared")
    expect(change).to_contain_text("+Looked at.")
    repository.commit({SKILL: page("shared", "Nobody looked.")})
    seen.get_by_role("button", name="Update shared").click()

    expect(seen.locator(".toast")).to_contain_text("look at it again")
    expect(change).to_contain_text("+Nobody looked.")
    assert locked(world) == first


def test_a_policy_says_why_with_its_file_and_line_and_refuses_the_update(
    visiting: Open, world: StudioWorld, repository: Repository
) -> None:
    policy = world.state / "prowess-policy.yml"
    policy.write_text("version: 1\nmode: block\nsigned: true\n", encoding="utf-8")
    repository.commit({SKILL: page("shared", "Newer.")})
    visit = visiting(world)
    seen = visit.go(PLACE)
    expect(row(seen)).to_contain_text("Blocked by a policy")
    expect(row(seen)).to_contain_text(re.compile(r"prowess-policy\.yml:3"))
    row(seen).get_by_role("button", name="Look for an update of shared").click()
    expect(seen.get_by_role("dialog").get_by_role("alert")).to_contain_text("Refused")
    expect(seen.get_by_role("button", name="Update shared")).to_have_count(0)


def test_a_signer_is_shown_with_who_vouches_and_what_was_changed_since_is_blocked(
    visiting: Open, world: StudioWorld, tmp_path: Path
) -> None:
    sigstore, files = Sigstore(), {"SKILL.md": page("shared")}
    sigstore.trust(Path(world.gateway.runtime.folders.state))
    signed = {SKILL: files["SKILL.md"], f"shared/{BUNDLE}": sigstore.sign(files)}
    give_to_agent(world.gateway.runtime, Repository(tmp_path / "signed", signed))
    (lock,) = world.root.rglob("prowess.lock")
    policy = lock.with_name("prowess-policy.yml")
    policy.write_text("version: 1\nsigned: true\n", encoding="utf-8")
    seen = visiting(world).go(PLACE)

    expect(row(seen)).to_contain_text(f"ann@example.com as {ISSUER} says")
    expect(row(seen)).not_to_contain_text("Blocked by a policy")
    (lock.parent / "skills" / SKILL).write_bytes(page("shared", "Swapped."))
    seen.reload()
    expect(row(seen)).to_contain_text("Blocked by a policy")
    expect(row(seen)).to_contain_text("it is not what was signed any more")
    expect(row(seen)).to_contain_text(f"{policy}:2")


def test_of_many_the_ones_that_need_somebody_come_first_and_a_search_finds_the_others(
    visiting: Open, world: StudioWorld, tmp_path: Path
) -> None:
    files = {f"s{at:02}/SKILL.md": page(f"s{at:02}") for at in range(24)}
    many = Repository(tmp_path / "many", files)
    give_to_agent(world.gateway.runtime, many)
    many.commit({"s23/SKILL.md": page("s23", "Newer.")})
    seen = visiting(world).go(PLACE)
    rows = seen.locator("[data-shared]")
    expect(rows).to_have_count(20)
    expect(rows.first).to_contain_text("s00")
    seen.get_by_role("button", name="Ask the sources for updates").click()
    # Each of them has its source asked by programs of their own.
    expect(rows.first).to_contain_text("Outdated", timeout=180_000)
    seen.get_by_role("button", name="Show 4 more").click()
    expect(rows).to_have_count(24)
    seen.get_by_role("searchbox").fill("s07")
    expect(rows).to_have_count(1)


@pytest.mark.usefixtures("repository")
def test_a_lock_that_cannot_be_read_is_said_and_is_not_an_empty_one(
    visiting: Open, world: StudioWorld
) -> None:
    (lock,) = world.root.rglob("prowess.lock")
    lock.write_text("{", encoding="utf-8")
    seen = visiting(world).go(PLACE)
    expect(seen.get_by_role("alert")).to_contain_text("prowess.lock")
    expect(seen.locator("main")).not_to_contain_text("Nothing was added from elsewhere")


def test_edits_of_both_sides_wait_for_a_word_and_break_no_rule_of_accessibility(
    visiting: Open, world: StudioWorld, repository: Repository
) -> None:
    (mine,) = world.root.glob("work/**/shared/SKILL.md")
    mine.write_bytes(page("shared", "Mine.\n\n## Two\n\nThree."))
    repository.commit({SKILL: page("shared", "Theirs.\n\n## Two\n\nThree.")})
    for theme in ("light", "dark"):
        for width in (390, 1360):
            shape = {"width": width, "height": 850}
            visit = visiting(world, color_scheme=theme, bypass_csp=True, viewport=shape)
            seen = visit.go(PLACE)
            expect(row(seen)).to_contain_text("Edited here")
            expect(row(seen)).to_contain_text("changed: SKILL.md")
            visit.shot(f"installed-{theme}-{width}")
            assert violations(seen) == []
            row(seen).get_by_role("button").click()
            dialog = seen.get_by_role("dialog")
            expect(dialog.get_by_role("region", name=re.compile("^Here"))).to_contain_text("Mine.")
            expect(seen.get_by_role("button", name="Update shared")).to_have_count(0)
            visit.shot(f"conflict-{theme}-{width}")
            assert violations(seen) == []
            dialog.get_by_role("button", name="Take the source's").click()
            change = dialog.get_by_role("region", name="What changes in shared")
            expect(change).to_contain_text("+Theirs.")
            visit.shot(f"update-{theme}-{width}")
            assert violations(seen) == []
    seen.get_by_role("button", name="Update shared").click()
    expect(row(seen)).to_contain_text("as the lock says")
    assert b"Theirs." in mine.read_bytes()


@pytest.fixture
def claiming(world: StudioWorld) -> Path:
    """A skill that was proven, and names a script that its project does not have."""
    (world.work / "package.json").write_text('{"scripts": {"build": "true"}}', encoding="utf-8")
    file = world.roots["work"] / "deploy-site" / "SKILL.md"
    file.parent.mkdir()
    file.write_bytes(page("deploy-site", "```bash\nnpm run build\nnpm run deploy-all\n```"))
    runtime = world.gateway.runtime
    runtime.skills.refresh()
    skill = runtime.skills.find("deploy-site", "main").skill
    shown = ProofVerdict(
        verdict="proven", mean=0.25, low=0.1, high=0.4, tasks=12, model="", harness="scripted",
        date="2026-01-31", digest=digest_skill(skill),
    )  # fmt: skip
    ProofsFile(runtime.folders.state).write(skill.path, shown)
    return file


def test_the_page_of_a_skill_says_what_no_longer_holds_and_whether_it_helps(
    visiting: Open, world: StudioWorld, claiming: Path
) -> None:
    for theme in ("light", "dark"):
        visit = visiting(world, color_scheme=theme, bypass_csp=True)
        tap = Tap(visit.page)
        seen = visit.go("/skills?settingsAgentId=main")
        expect(seen.locator("[data-skill]").first).to_be_visible()
        assert tap.calls("skills.fresh") + tap.calls("skills.proof") == []
        seen.locator("[data-skill=deploy-site] a").first.click()
        stale = seen.get_by_role("list", name="Claims that no longer hold")
        expect(stale).to_contain_text("deploy-all")
        expect(stale.get_by_role("listitem")).to_have_count(1)
        marked = seen.locator(".library-body mark")
        expect(marked).to_have_count(1)
        expect(marked).to_contain_text("npm run deploy-all")
        proof = seen.locator("section").filter(has=seen.get_by_role("heading", name="Proof"))
        expect(proof.last).to_contain_text("+25 points (+10 to +40) over 12 tasks")
        asked = tap.calls("skills.fresh") + tap.calls("skills.proof")
        assert {one["name"] for one in asked} == {"deploy-site"}
        stale.scroll_into_view_if_needed()
        visit.shot(f"proof-{theme}")
        assert violations(seen) == []
    claiming.write_bytes(claiming.read_bytes() + b"One more line.\n")
    expect(proof.last).to_contain_text("that lapsed: the skill changed since")
