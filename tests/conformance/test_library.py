"""The library as a program meets it: opening, asking, and the ports that tests exchange."""

import subprocess
import sys

import pytest

import prowess
from prowess.skills.model import Tier
from prowess.skills.parse import split_sections
from prowess.testing import make_skill, open_memory

from .world import NO_SUCH_BIN, World, openclaw


@pytest.mark.requirement("library:open")
def test_a_runtime_is_opened_on_a_workspace(world: World) -> None:
    world.skill("alpha")

    runtime = prowess.open(world.workspace, environ=world.env())

    assert isinstance(runtime, prowess.Runtime)
    assert isinstance(runtime.skills, prowess.SkillsService)
    assert "<name>alpha</name>" in runtime.skills.prompt().text


@pytest.mark.requirement("library:open", "home:variable", "home:default")
def test_the_state_folder_is_given_or_found_in_the_environment(world: World) -> None:
    env = world.env({"PROWESS_HOME": None})
    other = world.root / "other"

    by_default = prowess.open(world.workspace, environ=env)
    by_variable = prowess.open(world.workspace, environ={**env, "PROWESS_HOME": str(other)})
    given = prowess.open(world.workspace, home=other, environ=env)

    assert by_default.config.path == str(world.home / ".prowess" / "prowess.json")
    assert by_variable.config.path == str(other / "prowess.json")
    assert given.config.path == str(other / "prowess.json")


@pytest.mark.requirement("library:errors")
def test_errors_share_one_root_and_carry_a_code(world: World) -> None:
    runtime = world.open()

    with pytest.raises(prowess.ProwessError) as no_folder:
        prowess.open(world.root / "nowhere", environ=world.env())
    with pytest.raises(prowess.ProwessError) as no_skill:
        runtime.skills.find("nobody-here")
    with pytest.raises(prowess.ProwessError) as no_agent:
        runtime.skills.status("nobody-here")

    codes = [caught.value.code for caught in (no_folder, no_skill, no_agent)]
    assert codes == ["path", "skill.not_found", "agent.unknown"]


@pytest.mark.requirement("library:public-names")
def test_every_public_name_can_be_had() -> None:
    assert all(getattr(prowess, name) is not None for name in prowess.__all__)
    assert dir(prowess) == sorted(prowess.__all__)


@pytest.mark.requirement("library:public-names")
def test_opening_the_package_loads_nothing_heavy() -> None:
    heavy = ["sqlalchemy", "rich", "watchfiles", "yaml", "json5", "markdown_it"]
    program = f"import sys, prowess; print([name for name in {heavy!r} if name in sys.modules])"

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"


@pytest.mark.requirement("skill:raw", "skill:frontmatter", "skill:content-hash")
def test_a_skill_holds_what_was_written_and_where(world: World) -> None:
    path = world.skill("alpha", description="The first.", license="MIT")
    world.skill("copy", name="alpha", description="The first.", license="MIT", root=world.personal)

    skill = world.open().skills.find("alpha").skill

    assert (skill.name, skill.description) == ("alpha", "The first.")
    assert (skill.source.tier, skill.source.root) == (Tier.WORKSPACE, str(world.skills))
    assert (skill.path, skill.folder) == (str(path), str(path.parent))
    assert skill.fields == {"name": "alpha", "description": "The first.", "license": "MIT"}
    assert len(skill.content_hash) == 64
    assert world.document("list")["shadowed"] == []


@pytest.mark.requirement("skill:sections")
def test_the_body_is_mapped_to_the_lines_of_the_file(world: World) -> None:
    body = "Before.\n\n# One\n\nText.\n\n```\n# not a heading\n```\n\n## Two\n\nMore.\n"
    path = world.skill("alpha", body=body)

    found = split_sections(world.open().skills.find("alpha").skill)

    lines = path.read_text(encoding="utf-8").splitlines()
    assert [(part.title, part.level) for part in found] == [("", 0), ("One", 1), ("Two", 2)]
    assert lines[found[1].line - 1] == "# One"
    assert lines[found[2].line - 1] == "## Two"
    assert lines[found[1].last_line] == "## Two"
    assert found[1].text.splitlines() == ["Text.", "", "```", "# not a heading", "```"]


@pytest.mark.requirement("skill:sections", "terminal:show")
def test_show_lists_the_sections_with_their_lines(world: World) -> None:
    path = world.skill("alpha", body="# One\n\nText.\n\n## Two\n\nMore.\n")

    shown = world.document("show", "alpha")["sections"]

    lines = path.read_text(encoding="utf-8").splitlines()
    assert [lines[part["line"] - 1] for part in shown] == ["# One", "## Two"]


@pytest.mark.requirement("skill:resources")
def test_the_resources_of_a_skill_are_its_files_without_links_and_vendor_code(world: World) -> None:
    folder = world.skill("alpha").parent
    world.file(folder / "scripts" / "run.sh", "exit 0\n")
    world.file(folder / "node_modules" / "x" / "index.js", "1\n")
    world.link(folder / "secret.txt", world.file(world.root / "secret.txt", "secret"))

    assert list(world.open().skills.resources("alpha")) == ["scripts/run.sh"]


@pytest.mark.requirement("library:same-as-terminal")
def test_why_says_the_same_in_the_library_and_in_the_terminal(world: World) -> None:
    world.skill("alpha")
    world.skill("lacking", metadata=openclaw(requires={"bins": [NO_SUCH_BIN]}))
    world.skill("hidden", disable_model_invocation=True)

    for name in ("alpha", "lacking", "hidden"):
        told, shown = world.open().why(name), world.document("why", name)

        assert told.visible is shown["visible"]
        assert [step.stage for step in told.steps] == [step["stage"] for step in shown["steps"]]
        assert (None if told.reason is None else told.reason.detail) == shown["reason"]


@pytest.mark.requirement("library:testing")
def test_a_service_can_be_tested_without_files() -> None:
    ready = make_skill("deploy", bins=("kubectl",))
    lacking = make_skill("release", bins=(NO_SUCH_BIN,))

    skills = open_memory([ready, lacking], bins={"kubectl"})

    assert {row.skill.name: row.verdict.eligible for row in skills.status().skills} == {
        "deploy": True,
        "release": False,
    }
    assert "<name>deploy</name>" in skills.prompt().text


@pytest.mark.requirement("library:testing", "precedence:workspace-over-bundled")
def test_a_service_in_memory_merges_like_the_real_one() -> None:
    bundled, own = make_skill(tier=Tier.BUNDLED), make_skill(tier=Tier.WORKSPACE)

    skills = open_memory([bundled, own])

    assert [row.skill for row in skills.status().skills] == [own]


@pytest.mark.requirement("library:record-use")
def test_only_a_known_skill_can_be_used(world: World) -> None:
    with pytest.raises(prowess.ProwessError):
        world.open().record_use("nobody-here")


@pytest.mark.requirement("library:same-as-terminal", "snapshot:content-hash")
def test_a_snapshot_is_the_same_in_the_library_and_in_the_terminal(world: World) -> None:
    world.skill("alpha")

    held = world.open().skills.snapshot()
    shown = world.document("snapshot")

    assert (held.hash, held.prompt) == (shown["hash"], shown["prompt"])
    assert [skill.name for skill in held.skills] == [skill["name"] for skill in shown["skills"]]
