"""Skills, proposals, agents and config whose every text tries to become a script of the page."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import Open
from tests.browser.studio_world import Choice, StudioWorld, studio
from tests.browser.test_every_view import VIEWS

from prowess.runtime.workshop.drafts import Draft
from prowess.runtime.workshop.proposals import Proposals
from prowess.wiring.workshop import workshop_ports
from prowess.workshop.edit import Create
from prowess.workshop.proposal import Evidence, ProposalSource

BAD = "<img src=x onerror=\"window.owned='{}'\"><script>window.owned='{}'</script>"
LINK = "javascript:window.owned='link'"


NEVER = (
    "img, iframe, object, embed, script:not([src^='/js/']), a[href^='javascript'], [onerror],"
    " [onclick]"
)


def bad(field: str) -> str:
    return BAD.replace("{}", field)


def hostile_skill() -> str:
    # JSON is YAML, and needs no thought about quotes.
    fields = {
        "name": "hostile",
        "description": bad("description"),
        "when_to_use": bad("when"),
        "license": bad("license"),
        "argument-hint": bad("hint"),
        "tags": [bad("tag")],
        "globs": [bad("glob")],
        "homepage": LINK,
        "metadata": {
            "openclaw": {
                "emoji": bad("emoji"),
                "homepage": LINK,
                "primaryEnv": "HOSTILE_KEY",
                "requires": {
                    "bins": [bad("bin")],
                    "env": ["HOSTILE_KEY"],
                    "config": [bad("config")],
                },
                "install": [
                    {"kind": "download", "label": bad("label"), "url": LINK, "bins": [bad("bin")]}
                ],
            }
        },
    }
    head = "\n".join(f"{name}: {json.dumps(value)}" for name, value in fields.items())
    body = f"# {bad('title')}\n\n{bad('body')}\n\n- {bad('item')}\n\n[a]({LINK}) ![b](x)\n\n"
    table = f"| {bad('th')} | b |\n| --- | --- |\n| {bad('td')} | `{bad('code')}` |\n\n"
    fence = f"```{bad('language')}\n{bad('fence')}\n```\n\n> {bad('quote')}\n"
    return f"---\n{head}\n---\n{body}{table}{fence}"


@pytest.fixture
def hostile(tmp_path: Path) -> Iterator[StudioWorld]:
    with studio(tmp_path, Choice()) as world:
        folder = world.roots["work"] / "hostile"
        folder.mkdir()
        # No slash is possible in a name of a file; the rest is.
        (folder / "<img src=x onerror=window.owned=1>.md").write_text(bad("file"), encoding="utf-8")
        (folder / "SKILL.md").write_text(hostile_skill(), encoding="utf-8")
        broken = world.roots["work"] / "<img src=x onerror=window.owned=2>"
        broken.mkdir()
        (broken / "SKILL.md").write_text(f"---\nname: [{bad('broken')}\n---\n", encoding="utf-8")
        config = world.config()
        config["agents"]["list"][0]["name"] = bad("agent")
        config["agents"]["list"][0]["skills"] = [bad("listed"), "hostile", "pdf-forms"]
        world.config_file.write_text(json.dumps(config), encoding="utf-8")
        world.proposals["hostile"] = propose(world)
        world.gateway.runtime.skills.refresh()
        yield world


def propose(world: StudioWorld) -> str:
    desk = Proposals(workshop_ports(world.gateway.runtime))
    draft = Draft(
        skill="from-afar",
        title=bad("proposal"),
        reason=bad("reason"),
        edit=Create(description="From afar.", body=f"# {bad('heading')}\n\n{bad('text')}\n"),
        source=ProposalSource.TOOL,
        session_id=bad("session"),
        evidence=(Evidence(place=1, role="user", quote=bad("evidence")),),
    )
    return desk.propose(str(world.work), draft).proposal.id


def assert_harmless(page: Page) -> None:
    assert page.evaluate("window.owned") is None
    found = page.evaluate(
        "(which) => [...document.querySelectorAll(which)].map((node) => node.outerHTML)", NEVER
    )
    assert found == []


@pytest.mark.skipif(os.name == "nt", reason="names of files are narrower there")
def test_no_text_of_a_skill_a_proposal_or_the_config_becomes_markup(
    visiting: Open, hostile: StudioWorld
) -> None:
    visit = visiting(hostile)
    ident = hostile.proposals["hostile"]
    places = [
        *(f"/{view}" for view in VIEWS),
        "/skills?skill=hostile",
        "/library?skill=hostile",
        "/setup?configure=hostile",
        f"/workshop?proposal={ident}",
        f"/workshop?proposal={ident}&show=text",
        "/skills?q=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E",
        "/router?why=%3Cimg%20src%3Dx%3E&m=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E",
        "/skills?settingsAgentId=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E",
    ]
    for path in places:
        page = visit.go(path)
        expect(page.locator(".skeleton")).to_have_count(0)
        assert_harmless(page)

    page = visit.go("/skills?skill=hostile")
    expect(page.locator(".prose")).to_contain_text("<img src=x")
    page = visit.go("/router")
    page.locator("main textarea, main input").first.fill(bad("message"))
    expect(page.locator(".answer-words")).to_contain_text(re.compile("No skill|Would"))
    assert_harmless(page)
