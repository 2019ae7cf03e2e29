"""Removal by key and source: which skill is meant, what is refused, and what is said."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.errors import ConfigError, RemovalError, UnknownAgentError
from prowess.runtime.library import KEPT_DAYS, Removals, RemovedSkill
from prowess.runtime.ports import Scan
from prowess.runtime.service import Places, SkillsService, Workspace
from prowess.settings import AgentSettings, Settings
from prowess.skills.model import DRAFTS, Invocation, Skill, Source, Tier
from prowess.testing import FixedFacts, make_skill

MANAGED, WORKSPACE = Tier.MANAGED.source_id, Tier.WORKSPACE.source_id
NOW = 1_800_000_000.0
DAY = 86_400
ID = "001800000000-0123456789ab"


@dataclass(slots=True)
class Disk:
    """Sources and trash of one machine; what is put into the trash is not found any more."""

    skills: tuple[Skill, ...]
    trashed: list[RemovedSkill] = field(default_factory=list)
    puts: list[tuple[str, str, str]] = field(default_factory=list)
    roots: list[str] = field(default_factory=list)
    purged: list[float] = field(default_factory=list)
    broken: bool = False
    breaks_after: bool = False

    def scan(self, settings: Settings, changed: Collection[str] | None = None) -> Scan:
        """Return what is there."""
        del settings, changed
        if self.broken:
            raise ConfigError("prowess.json", "cannot be read.")
        sources = [Source(tier=tier, root=f"/{tier.source_id}") for tier in Tier]
        return Scan(skills=self.skills, sources=tuple(sources))

    def resources(self, skill: Skill) -> Sequence[str]:
        """Return nothing: no test here asks."""
        del skill
        return ()

    def exists(self, folder: str) -> bool:
        """Return whether a skill is there."""
        return any(skill.folder == folder for skill in self.skills)

    def put(self, folder: str, root: str, source: str, now: float) -> RemovedSkill | None:
        """Take the skill away."""
        self.puts.append((folder, root, source))
        self.broken = self.breaks_after
        if not self.exists(folder):
            return None
        self.skills = tuple(skill for skill in self.skills if skill.folder != folder)
        self.trashed.append(RemovedSkill(id=ID, original=folder, source=source, removed_at=now))
        return self.trashed[-1]

    def take_back(self, removed: RemovedSkill, roots: Sequence[str]) -> str:
        """Remember where it may go."""
        self.roots += roots
        return removed.original

    def entries(self) -> Sequence[RemovedSkill]:
        """Return what is in the trash."""
        return self.trashed

    def purge(self, before: float) -> Sequence[str]:
        """Remember what would go."""
        if self.broken:
            raise RemovalError("trash", "cannot be read.")
        self.purged.append(before)
        return (ID,)


class Fixed:
    """A configuration with two agents."""

    settings = Settings(agents=(AgentSettings(id="main"), AgentSettings(id="other")))

    def read(self) -> Settings:
        """Return it."""
        return self.settings


def service_of(disk: Disk) -> SkillsService:
    return SkillsService(
        settings=Fixed(),
        places=Places(workspace="/work", workspace_given=True, managed="/managed"),
        open_workspace=lambda folder: Workspace(folder, disk, FixedFacts),
        now_ms=lambda: 1,
        last_used=dict,
    )


def removals_of(*skills: Skill) -> tuple[Removals, Disk, SkillsService]:
    disk = Disk(skills)
    service = service_of(disk)
    return Removals(service, disk, lambda: NOW), disk, service


@pytest.mark.parametrize("tier", [Tier.MANAGED, Tier.WORKSPACE])
def test_a_skill_goes_to_the_trash_and_the_service_knows_it_at_once(tier: Tier) -> None:
    removals, disk, service = removals_of(make_skill("deploy", tier=tier), make_skill("review"))

    answer = removals.remove("deploy", tier.source_id, None)

    folder = f"/{tier.source_id}/deploy"
    assert answer == {"removed": True, "removedPath": folder, "source": tier.source_id, "id": ID}
    assert disk.puts == [(folder, f"/{tier.source_id}", tier.source_id)]
    assert [row.skill.name for row in service.status().skills] == ["review"]


def test_whoever_passes_news_on_is_told_of_each_change() -> None:
    disk = Disk((make_skill("deploy"),))
    service = service_of(disk)
    told: list[int] = []
    removals = Removals(
        service, disk, lambda: NOW, lambda: told.append(len(service.status().skills))
    )

    with pytest.raises(RemovalError):
        removals.remove("nothing", WORKSPACE, None)
    removals.remove("deploy", WORKSPACE, None)
    removals.restore(ID, None)

    # After the service looked again.
    assert told == [0, 0]


def test_the_key_counts_and_not_the_name() -> None:
    removals, disk, _ = removals_of(make_skill("deploy", key="shipping"), make_skill("shipping2"))

    with pytest.raises(RemovalError, match="no openclaw-workspace skill has that key"):
        removals.remove("deploy", WORKSPACE, None)
    removals.remove("shipping", WORKSPACE, None)

    assert [folder for folder, _, _ in disk.puts] == [f"/{WORKSPACE}/deploy"]


@each_row(
    "source",
    ["openclaw-bundled", "openclaw-extra", "harness-project", "managed", "workspace", "", "*"],
)
def test_a_source_that_is_not_ours_is_refused_by_its_name(source: str) -> None:
    removals, disk, _ = removals_of(make_skill("deploy", tier=Tier.BUNDLED))

    with pytest.raises(RemovalError, match="only openclaw-managed and openclaw-workspace"):
        removals.remove("deploy", source, None)

    assert disk.puts == []


def test_a_skill_of_another_source_is_not_taken_for_it() -> None:
    removals, disk, _ = removals_of(make_skill("deploy", tier=Tier.BUNDLED))

    with pytest.raises(RemovalError, match="comes from openclaw-bundled, not from"):
        removals.remove("deploy", MANAGED, None)

    assert disk.puts == []


def test_a_key_that_two_skills_claim_is_refused_with_both_paths() -> None:
    removals, disk, _ = removals_of(make_skill("one", key="k"), make_skill("two", key="k"))

    with pytest.raises(RemovalError, match=r"several skills \(.*one/SKILL\.md, .*two/SKILL\.md"):
        removals.remove("k", WORKSPACE, None)

    assert disk.puts == []


@each_row(
    "key",
    [
        *(
            "",
            ".",
            "..",
            "../..",
            "/",
            "/etc",
            "deploy/..",
            "deploy/",
            "./deploy",
            "Deploy",
            "dep*",
        ),
        # A Cyrillic letter, a full-width one, an accent, and what is not drawn at all.
        *("d\u0435ploy", "\uff44eploy", "deplo\u0301y", "deploy\u200b", "deploy\0"),
        "deploy\ud800",
    ],
)
def test_a_key_that_only_looks_like_one_finds_nothing(key: str) -> None:
    removals, disk, _ = removals_of(make_skill("deploy"))

    with pytest.raises(RemovalError) as caught:
        removals.remove(key, WORKSPACE, None)

    assert disk.puts == []
    assert str(caught.value).isprintable()


@settings(max_examples=50)
@given(key=st.text(max_size=40), source=st.text(max_size=30) | st.just(WORKSPACE))
def test_no_text_but_the_key_itself_removes_anything(key: str, source: str) -> None:
    removals, disk, _ = removals_of(make_skill("deploy"))

    if (key, source) != ("deploy", WORKSPACE):
        with pytest.raises(RemovalError):
            removals.remove(key, source, None)

        assert disk.puts == []


def test_a_skill_that_is_gone_already_was_not_removed() -> None:
    removals, disk, service = removals_of(make_skill("deploy"))
    service.status()
    disk.skills = ()

    answer = removals.remove("deploy", WORKSPACE, None)

    assert answer == {
        "removed": False,
        "removedPath": f"/{WORKSPACE}/deploy",
        "source": WORKSPACE,
        "id": "",
    }


def test_a_folder_that_holds_another_skill_by_now_stays() -> None:
    removals, disk, service = removals_of(make_skill("deploy"))
    service.status()
    disk.skills = (make_skill("deploy", key="another"),)

    with pytest.raises(RemovalError, match="not the skill any more"):
        removals.remove("deploy", WORKSPACE, None)

    assert disk.puts == []


def test_a_single_file_is_refused_since_its_folder_is_the_root() -> None:
    root = f"/{WORKSPACE}"
    removals, disk, _ = removals_of(make_skill("deploy", path=f"{root}/deploy.md", folder=root))

    with pytest.raises(RemovalError, match="single file"):
        removals.remove("deploy", WORKSPACE, None)

    assert disk.puts == []


def test_a_draft_is_refused_since_it_has_a_way_of_its_own() -> None:
    hidden = Invocation(model=False, hidden_by=DRAFTS)
    removals, disk, _ = removals_of(make_skill("deploy", invocation=hidden))

    with pytest.raises(RemovalError, match="prowess experience clean"):
        removals.remove("deploy", WORKSPACE, None)

    assert disk.puts == []


def test_a_root_that_leads_out_of_its_workspace_is_refused() -> None:
    skill = make_skill("deploy")
    away = replace(skill, source=replace(skill.source, leads_away=True))
    removals, disk, _ = removals_of(away)

    with pytest.raises(RemovalError, match="link out of its workspace"):
        removals.remove("deploy", WORKSPACE, None)

    assert disk.puts == []


def test_an_agent_that_does_not_exist_is_refused() -> None:
    removals, disk, _ = removals_of(make_skill("deploy"))

    with pytest.raises(UnknownAgentError):
        removals.remove("deploy", WORKSPACE, "nobody")
    with pytest.raises(UnknownAgentError):
        removals.restore(ID, "nobody")

    assert disk.puts == []


def test_a_removal_that_is_done_is_not_called_a_failure_by_what_follows(
    caplog: pytest.LogCaptureFixture,
) -> None:
    removals, disk, _ = removals_of(make_skill("deploy"))
    disk.breaks_after = True

    assert removals.remove("deploy", WORKSPACE, None)["removed"] is True
    assert "refresh.failed" in caplog.text


@pytest.mark.parametrize("agent_id", [None, "other"])
def test_a_skill_comes_back_into_roots_that_the_service_knows(agent_id: str | None) -> None:
    removals, disk, _ = removals_of(make_skill("deploy"))
    removed = removals.remove("deploy", WORKSPACE, None)

    answer = removals.restore(str(removed["id"]), agent_id)

    assert answer == {"restored": True, "path": f"/{WORKSPACE}/deploy"}
    assert disk.roots == [f"/{MANAGED}", f"/{WORKSPACE}"]


@each_row("wrong", ["", "..", "../../etc", "001800000000-0123456789aB", "\x1b[2J"])
def test_what_is_not_in_the_trash_does_not_come_back(wrong: str) -> None:
    removals, disk, _ = removals_of(make_skill("deploy"))
    removals.remove("deploy", WORKSPACE, None)

    with pytest.raises(RemovalError, match="is not in the trash") as caught:
        removals.restore(wrong, None)

    assert disk.roots == []
    assert "\x1b" not in str(caught.value)


def test_the_trash_lists_skills_and_not_drafts_the_last_one_first() -> None:
    removals, disk, _ = removals_of()
    disk.trashed = [
        RemovedSkill(id="1", original="/s/a\x1b[2Jb", source=MANAGED, removed_at=1.5),
        RemovedSkill(id="2", original="/s/draft", source="workspace-draft", removed_at=2),
        RemovedSkill(id="3", original="/s/c", source=WORKSPACE, removed_at=float("nan")),
    ]

    assert removals.listed() == [
        {
            "id": "3",
            "name": "c",
            "path": "/s/c",
            "source": WORKSPACE,
            "removedAt": "1970-01-01T00:00:00.000Z",
        },
        {
            "id": "1",
            "name": "ab",
            "path": "/s/ab",
            "source": MANAGED,
            "removedAt": "1970-01-01T00:00:01.500Z",
        },
    ]
    with pytest.raises(RemovalError, match="is not in the trash"):
        removals.restore("2", None)


def test_the_trash_is_emptied_of_what_is_thirty_days_old() -> None:
    removals, disk, _ = removals_of()

    assert removals.purge() == (ID,)

    assert disk.purged == [NOW - KEPT_DAYS * DAY]


def test_a_trash_that_cannot_be_emptied_holds_nobody_up(caplog: pytest.LogCaptureFixture) -> None:
    removals, disk, _ = removals_of()
    disk.broken = True

    assert removals.purge() == ()

    assert "trash.unusable" in caplog.text
