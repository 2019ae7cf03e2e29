from dataclasses import dataclass, field, replace

import pytest

from prowess.errors import SkillNotFoundError, UnknownAgentError
from prowess.runtime.service import Places, SkillsService, Workspace
from prowess.settings import (
    AgentSettings,
    EntrySettings,
    Limits,
    NodeSettings,
    SettingProblem,
    Settings,
    SkillsSettings,
)
from prowess.skills.agent_filter_snapshot import MatchedBy
from prowess.skills.model import Tier, diagnose
from prowess.testing import (
    FixedFacts,
    FixedSettings,
    MemorySources,
    MemoryStore,
    make_skill,
    open_memory,
)

MAIN = AgentSettings(id="main", default=True)
WRITER = AgentSettings(id="writer", skills=("review",), skills_inherited=False)
ROOMY, TIGHT = Limits(), Limits(max_skills_in_prompt=1)


@dataclass
class World:
    """A service on ports that a test can change under it."""

    sources: MemorySources = field(default_factory=MemorySources)
    facts: FixedFacts = field(default_factory=FixedFacts)
    config: FixedSettings = field(default_factory=FixedSettings)
    store: MemoryStore = field(default_factory=MemoryStore)
    opened: list[str] = field(default_factory=list)
    workspace_given: bool = False

    def service(self) -> SkillsService:
        return SkillsService(
            settings=self.config,
            places=Places(
                workspace="/here",
                workspace_given=self.workspace_given,
                managed="/state/skills",
                homes=("/home/me",),
            ),
            open_workspace=self._open,
            now_ms=lambda: 1,
            last_used=self.store.last_used,
        )

    def _open(self, folder: str) -> Workspace:
        self.opened.append(folder)
        return Workspace(folder, self.sources, lambda: self.facts)


def with_limits(limits: Limits, *agents: AgentSettings) -> Settings:
    return Settings(skills=SkillsSettings(limits=limits), agents=agents or (MAIN,))


def test_the_default_agent_is_meant_when_none_is_named() -> None:
    settings = Settings(agents=(WRITER, MAIN))

    skills = open_memory(settings=settings)

    assert skills.agent() is MAIN
    assert skills.agent("writer") is WRITER


def test_the_first_agent_is_the_default_where_none_says_so() -> None:
    assert open_memory(settings=Settings(agents=(WRITER,))).agent() is WRITER


def test_an_unknown_agent_is_refused_and_the_known_ones_are_named() -> None:
    skills = open_memory(settings=Settings(agents=(MAIN, WRITER)))

    with pytest.raises(UnknownAgentError) as caught:
        skills.status("nobody")

    assert caught.value.known == ("main", "writer")


def test_an_agent_works_in_its_own_workspace_and_each_is_opened_once() -> None:
    agents = (
        MAIN,
        replace(WRITER, workspace="/there"),
        AgentSettings(id="second", workspace="/there"),
    )
    world = World(config=FixedSettings(Settings(agents=agents)))
    skills = world.service()

    folders = [skills.workspace(agent).folder for agent in ("main", "writer", "second", None)]

    assert folders == ["/here", "/there", "/there", "/here"]
    assert world.opened == ["/here", "/there"]


def test_a_workspace_that_a_person_named_stands_over_the_one_of_the_agent() -> None:
    agents = (replace(MAIN, workspace="/there"),)
    world = World(config=FixedSettings(Settings(agents=agents)), workspace_given=True)

    assert world.service().status().workspace == "/here"


def test_the_status_lists_every_skill_with_its_verdict() -> None:
    skills = open_memory(
        [
            make_skill("deploy", bins=("kubectl",)),
            make_skill("review"),
            make_skill("hidden", model=False),
            make_skill("silent", user=False),
        ]
    )

    report = skills.status()

    assert [
        (row.skill.name, row.usable, row.model_visible, row.command_visible)
        for row in report.skills
    ] == [
        ("deploy", False, False, False),
        ("hidden", True, False, True),
        ("review", True, True, True),
        ("silent", True, True, False),
    ]
    assert (report.agent_id, report.workspace, report.managed) == ("main", "/work", "/state/skills")


def test_the_status_says_what_the_agents_list_leaves_out_and_what_it_misspells() -> None:
    writer = replace(WRITER, skills=("review", "revieww"))
    skills = open_memory(
        [make_skill("deploy"), make_skill("review")], settings=Settings(agents=(writer,))
    )

    report = skills.status()

    assert [(row.skill.name, row.matched) for row in report.skills] == [
        ("deploy", None),
        ("review", MatchedBy.NAME),
    ]
    assert [row.usable for row in report.skills] == [False, True]
    assert report.unmatched == ("revieww",)


def test_what_lost_its_name_is_reported_unless_it_is_a_copy() -> None:
    other = make_skill(tier=Tier.BUNDLED, description="Another text.")
    copy = make_skill(tier=Tier.MANAGED)
    world = World(
        sources=MemorySources(
            (other, copy, make_skill()), (diagnose("BAD_INDENT", "it leans", path="/x"),)
        )
    )

    report = world.service().status()

    assert [lost.skill for lost in report.shadowed] == [other]
    assert [(problem.code, problem.path) for problem in report.diagnostics] == [
        ("BAD_INDENT", "/x"),
        ("shadowed", other.path),
    ]


def test_problems_of_the_configuration_are_part_of_the_status() -> None:
    problem = SettingProblem(key="skills.x", message="is not known here; it is kept", unknown=True)

    assert open_memory(settings=Settings(problems=(problem,))).status().problems == (problem,)


def test_a_skill_is_found_as_a_person_calls_it() -> None:
    skills = open_memory([make_skill("git-flow"), make_skill("deploy")])

    assert skills.find("Git Flow").skill.name == "git-flow"


def test_a_skill_that_nobody_knows_is_an_error() -> None:
    with pytest.raises(SkillNotFoundError):
        open_memory([make_skill()]).find("zzz")


def test_resources_are_those_of_the_skill_that_was_meant() -> None:
    world = World(sources=MemorySources((make_skill(),), files={"deploy": ["scripts/run.sh"]}))

    assert world.service().resources("Deploy") == ["scripts/run.sh"]


def test_a_snapshot_holds_all_usable_skills_and_its_prompt_only_visible_ones() -> None:
    skills = open_memory(
        [
            make_skill("deploy", bins=("gone",)),
            make_skill("hidden", model=False),
            make_skill("review"),
        ]
    )

    snapshot = skills.snapshot()

    assert [skill.name for skill in snapshot.skills] == ["hidden", "review"]
    assert [skill.name for skill in snapshot.resolved] == ["review"]
    assert "<name>review</name>" in snapshot.prompt
    assert "hidden" not in snapshot.prompt
    assert snapshot.skill_filter is None


def test_a_snapshot_keeps_the_filter_in_its_normal_form() -> None:
    writer = replace(WRITER, skills=("review", " deploy ", "review"))

    assert open_memory(settings=Settings(agents=(writer,))).snapshot().skill_filter == (
        "deploy",
        "review",
    )


def test_each_agent_has_a_snapshot_of_its_own() -> None:
    skills = open_memory(
        [make_skill("deploy"), make_skill("review")], settings=Settings(agents=(MAIN, WRITER))
    )

    main, writer = skills.snapshot("main"), skills.snapshot("writer")

    assert [skill.name for skill in main.skills] == ["deploy", "review"]
    assert [skill.name for skill in writer.skills] == ["review"]
    assert main.version < writer.version


def test_a_snapshot_is_the_same_object_until_something_changes() -> None:
    world = World(sources=MemorySources((make_skill(),)))
    skills = world.service()
    before = skills.snapshot()

    changed = skills.refresh()

    assert not changed
    assert skills.snapshot() is before


def test_a_changed_skill_moves_the_version_at_the_next_refresh_and_not_before() -> None:
    world = World(sources=MemorySources((make_skill(),)))
    skills = world.service()
    before = skills.snapshot()
    world.sources.skills = (make_skill(description="Does something else."),)

    unseen = skills.snapshot()
    changed = skills.refresh()
    after = skills.snapshot()

    assert unseen is before
    assert changed
    assert after.version > before.version
    assert after.hash != before.hash


def test_the_version_does_not_move_when_nothing_changed_in_meaning() -> None:
    world = World(sources=MemorySources((make_skill(),)))
    skills = world.service()
    before = skills.snapshot()
    world.config.settings = Settings(skills=SkillsSettings(pinned=frozenset(("deploy",))))

    changed = skills.refresh()

    assert not changed
    assert skills.snapshot().version == before.version
    assert skills.settings is world.config.settings


def test_a_program_that_appears_makes_its_skill_ready_at_the_next_refresh() -> None:
    world = World(sources=MemorySources((make_skill(bins=("kubectl",)),)))
    skills = world.service()
    assert skills.snapshot().skills == ()
    world.facts.bins = frozenset(("kubectl",))

    changed = skills.refresh()

    assert changed
    assert [skill.name for skill in skills.snapshot().skills] == ["deploy"]


def test_a_skill_that_is_switched_off_leaves_at_the_next_refresh() -> None:
    world = World(sources=MemorySources((make_skill(),)))
    skills = world.service()
    skills.snapshot()
    entries = {"deploy": EntrySettings(enabled=False)}
    world.config.settings = Settings(skills=SkillsSettings(entries=entries))

    changed = skills.refresh()

    assert changed
    assert skills.snapshot().skills == ()


def test_an_agent_that_was_removed_is_a_change_once() -> None:
    world = World(config=FixedSettings(Settings(agents=(MAIN, WRITER))))
    skills = world.service()
    skills.snapshot("writer")
    world.config.settings = Settings(agents=(MAIN,))

    assert skills.refresh()
    assert not skills.refresh()


def test_a_refresh_before_anyone_asked_changes_nothing() -> None:
    assert not open_memory([make_skill()]).refresh()


def test_without_a_tool_that_reads_files_there_is_no_prompt() -> None:
    skills = open_memory([make_skill("deploy"), make_skill("review")], settings=with_limits(TIGHT))

    block = skills.prompt(tools=["web_search"])

    assert (block.text, block.included) == ("", ())
    assert sorted(skill.name for skill in block.dropped) == ["deploy", "review"]
    assert "tools" in block.omitted_because
    assert skills.prompt(tools=["read"]) is skills.prompt()


def test_the_prompt_shortens_the_home_folder() -> None:
    world = World(sources=MemorySources((make_skill(path="/home/me/skills/deploy/SKILL.md"),)))

    assert "<location>~/skills/deploy/SKILL.md</location>" in world.service().prompt().text


def test_an_agent_may_have_a_budget_of_its_own() -> None:
    settings = with_limits(ROOMY, MAIN, replace(WRITER, skills=None, max_skills_prompt_chars=0))
    skills = open_memory([make_skill()], settings=settings)

    assert skills.prompt("main").included != ()
    assert skills.prompt("writer").text == ""


def test_a_pinned_skill_is_the_last_to_go() -> None:
    settings = Settings(skills=SkillsSettings(limits=TIGHT, pinned=frozenset(("review",))))
    skills = open_memory([make_skill("deploy"), make_skill("review")], settings=settings)

    assert [skill.name for skill in skills.prompt().included] == ["review"]


def test_when_not_all_fit_the_one_used_last_stays() -> None:
    store = MemoryStore()
    store.record_use("review", 1_000)
    skills = open_memory(
        [make_skill("deploy"), make_skill("review")], settings=with_limits(TIGHT), store=store
    )

    assert [skill.name for skill in skills.prompt().included] == ["review"]


def test_a_skill_that_was_used_since_takes_the_place_at_the_next_refresh() -> None:
    store = MemoryStore()
    skills = open_memory(
        [make_skill("deploy"), make_skill("review")], settings=with_limits(TIGHT), store=store
    )
    before = skills.snapshot()
    store.record_use("review", 1_000)

    first, second = skills.refresh(), skills.refresh()

    assert (first, second) == (True, False)
    assert [skill.name for skill in before.resolved] == ["deploy"]
    assert [skill.name for skill in skills.snapshot().resolved] == ["review"]


def test_use_can_be_reconsidered_without_a_look_at_the_files() -> None:
    world = World(
        sources=MemorySources((make_skill("deploy"), make_skill("review"))),
        config=FixedSettings(with_limits(TIGHT)),
    )
    skills = world.service()
    before, scans = skills.snapshot(), world.sources.scans
    world.store.record_use("review", 1_000)

    skills.reconsider()

    assert [skill.name for skill in skills.snapshot().resolved] == ["review"]
    assert skills.snapshot().version > before.version
    assert world.sources.scans == scans


def test_reconsidering_use_that_did_not_change_keeps_the_snapshot() -> None:
    skills = open_memory([make_skill("deploy"), make_skill("review")], settings=with_limits(TIGHT))
    before = skills.snapshot()

    skills.reconsider()

    assert skills.snapshot() is before


def test_when_nothing_was_ever_used_the_order_of_names_decides() -> None:
    skills = open_memory([make_skill("deploy"), make_skill("review")], settings=with_limits(TIGHT))

    assert [skill.name for skill in skills.prompt().included] == ["deploy"]


def test_remote_machines_are_mentioned_above_the_block() -> None:
    nodes = (NodeSettings(name="mini"), NodeSettings(name="<stu>\ndio"))
    skills = open_memory([make_skill()], settings=Settings(skills=SkillsSettings(nodes=nodes)))

    assert "mini, &lt;stu&gt; dio" in skills.prompt().text.splitlines()[0]
