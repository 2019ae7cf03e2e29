from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.host.config.file import to_settings
from prowess.settings import (
    AgentSettings,
    EntrySettings,
    InstallSettings,
    Limits,
    LoadSettings,
    NodeSettings,
    PluginSettings,
    Precedence,
    Settings,
    SpecMode,
)

KEYS = st.sampled_from(
    (
        "skills", "agents", "agent", "plugins", "load", "limits", "entries", "list", "defaults",
        "nodes", "install", "id", "name", "workspace", "enabled", "apiKey", "env", "specMode",
        "skillsLimits", "maxSkillsPromptChars", "platforms", "platform", "bins", "paths", "x",
    )
)  # fmt: skip
ANY_VALUE = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=15,
)


def wrong(found: Settings) -> list[str]:
    return [problem.key for problem in found.problems if not problem.unknown]


def unknown(found: Settings) -> list[str]:
    return [problem.key for problem in found.problems if problem.unknown]


def skills(**values: object) -> Settings:
    return to_settings({"skills": values})


def agents(*entries: object, **defaults: object) -> Settings:
    return to_settings({"agents": {"list": list(entries), "defaults": defaults}})


def test_an_empty_file_is_all_defaults() -> None:
    assert to_settings({}) == Settings()


def test_everything_that_can_be_said_is_understood() -> None:
    found = skills(
        specMode=" Strict ",
        load={
            "extraDirs": ["~/more", " ", " /x "],
            "harnessDirs": ["claude"],
            "precedence": "openpocket",
            "allowSymlinkTargets": ["/shared"],
            "watch": False,
            "watchDebounceMs": 0,
        },
        limits={
            "maxCandidatesPerRoot": 1,
            "maxSkillsLoadedPerSource": 2,
            "maxSkillsInPrompt": 0,
            "maxSkillsPromptChars": 0,
            "maxSkillFileBytes": 5,
        },
        allowBundled=["deploy"],
        pinned=["review"],
        install={"preferBrew": False, "nodeManager": "pnpm"},
    )

    assert found.problems == ()
    assert found.skills.spec_mode is SpecMode.STRICT
    assert found.skills.load == LoadSettings(
        extra_dirs=("~/more", "/x"),
        harnesses=("claude",),
        precedence=Precedence.OPENPOCKET,
        allow_symlink_targets=("/shared",),
        watch=False,
        watch_debounce_ms=0,
    )
    assert found.skills.limits == Limits(
        max_candidates_per_root=1,
        max_skills_loaded_per_source=2,
        max_skills_in_prompt=0,
        max_skills_prompt_chars=0,
        max_skill_file_bytes=5,
    )
    assert found.skills.allow_bundled == frozenset(("deploy",))
    assert found.skills.pinned == {"review"}
    assert found.skills.install == InstallSettings(prefer_brew=False, node_manager="pnpm")


@pytest.mark.parametrize(
    ("values", "mode"),
    [
        ({"agent": {"skillsSpecMode": "legacy"}}, SpecMode.LEGACY),
        ({"agent": {"skills_spec_mode": "strict"}}, SpecMode.STRICT),
        (
            {"agent": {"skillsSpecMode": "strict"}, "skills": {"specMode": "legacy"}},
            SpecMode.LEGACY,
        ),
        ({"agent": "words"}, SpecMode.MIXED),
    ],
)
def test_the_mode_may_stand_in_either_place(values: dict[str, Any], mode: SpecMode) -> None:
    assert to_settings(values).skills.spec_mode is mode


@each_row(
    ("written", "harnesses"),
    [(True, None), (False, ()), ([], ()), (["claude", "codex"], ("claude", "codex")), (None, None)],
)
def test_harness_folders_are_all_none_or_those_named(
    written: object, harnesses: tuple[str, ...] | None
) -> None:
    assert skills(load={"harnessDirs": written}).skills.load.harnesses == harnesses


def test_harnesses_go_by_one_name_and_an_unknown_one_is_reported() -> None:
    found = skills(load={"harnessDirs": ["Claude-Code", "CODEX", "nobody"]})

    assert found.skills.load.harnesses == ("claude", "codex", "nobody")
    assert wrong(found) == ["skills.load.harnessDirs"]
    assert "nobody" in found.problems[0].message


@pytest.mark.parametrize("written", [[], [" "], None])
def test_an_empty_list_of_bundled_skills_restricts_nothing(written: object) -> None:
    assert skills(allowBundled=written).skills.allow_bundled is None


@each_row(
    ("values", "key"),
    [
        ({"specMode": "loose"}, "skills.specMode"),
        ({"specMode": 5}, "skills.specMode"),
        ({"load": {"extraDirs": "/x"}}, "skills.load.extraDirs"),
        ({"load": {"extraDirs": [1]}}, "skills.load.extraDirs"),
        ({"load": {"harnessDirs": "claude"}}, "skills.load.harnessDirs"),
        ({"load": {"precedence": "mine"}}, "skills.load.precedence"),
        ({"load": {"watch": "yes"}}, "skills.load.watch"),
        ({"load": {"watchDebounceMs": -1}}, "skills.load.watchDebounceMs"),
        ({"load": {"watchDebounceMs": True}}, "skills.load.watchDebounceMs"),
        ({"limits": {"maxSkillFileBytes": 0}}, "skills.limits.maxSkillFileBytes"),
        ({"limits": {"maxSkillsInPrompt": 1.5}}, "skills.limits.maxSkillsInPrompt"),
        ({"allowBundled": "deploy"}, "skills.allowBundled"),
        ({"pinned": {"a": 1}}, "skills.pinned"),
        ({"entries": []}, "skills.entries"),
        ({"nodes": {}}, "skills.nodes"),
        ({"nodes": ["mini"]}, "skills.nodes[0]"),
        ({"install": {"preferBrew": 1}}, "skills.install.preferBrew"),
        ({"install": {"nodeManager": "deno"}}, "skills.install.nodeManager"),
    ],
)
def test_a_value_of_the_wrong_kind_takes_its_default_and_is_reported(
    values: dict[str, Any], key: str
) -> None:
    found = to_settings({"skills": values})

    assert wrong(found) == [key]
    assert found.skills == Settings().skills


def test_entries_say_that_a_secret_is_set_and_never_what_it_is() -> None:
    found = skills(
        entries={
            "on": {"enabled": True, "apiKey": "s3cret", "env": {"A": "s3cret", "B": "  "}},
            "ref": {"apiKey": {"source": "env", "id": "s3cret"}, "env": {"C": {"id": "s3cret"}}},
            "off": {"enabled": False, "apiKey": " ", "env": None},
            "bare": {"apiKey": {}},
        }
    )

    assert found.skills.entries == {
        "on": EntrySettings(enabled=True, has_api_key=True, env_names=frozenset(("A",))),
        "ref": EntrySettings(has_api_key=True, env_names=frozenset(("C",))),
        "off": EntrySettings(enabled=False),
        "bare": EntrySettings(),
    }
    assert found.problems == ()
    assert "s3cret" not in repr(found)


def test_a_bad_entry_is_reported_and_the_others_stay() -> None:
    found = skills(
        entries={"a": "on", "b": {"enabled": "no", "env": ["X"]}, "c": {"enabled": False}}
    )

    assert wrong(found) == ["skills.entries.a", "skills.entries.b.enabled", "skills.entries.b.env"]
    assert found.skills.entries == {
        "b": EntrySettings(enabled=False),
        "c": EntrySettings(enabled=False),
    }


@pytest.mark.parametrize(
    ("written", "enabled"),
    [(True, True), ("true", True), (" TRUE ", True), (False, False), ("off", False), (0, False)],
)
def test_a_switch_that_is_neither_on_nor_off_switches_off(
    written: object, *, enabled: bool
) -> None:
    found = to_settings(
        {
            "skills": {"entries": {"a": {"enabled": written}}},
            "plugins": {"entries": {"p": {"enabled": written}}},
        }
    )

    assert found.skills.entries["a"].enabled is enabled
    assert found.plugins.disabled == (frozenset() if enabled else frozenset(("p",)))


def test_keys_that_are_right_but_for_their_case_are_pointed_out() -> None:
    found = to_settings(
        {
            "skills": {"entries": {"a": {"Enabled": False, "apikey": "x", "note": 1}}},
            "agents": {"list": [{"id": "main", "Skills": []}]},
        }
    )

    assert wrong(found) == [
        "skills.entries.a.Enabled",
        "skills.entries.a.apikey",
        "agents.list[0].Skills",
    ]
    assert "spelt enabled" in found.problems[0].message


@each_row(
    ("values", "key"),
    [
        ({"skills": []}, "skills"),
        ({"skills": {"load": 3}}, "skills.load"),
        ({"skills": {"limits": "x"}}, "skills.limits"),
        ({"agents": []}, "agents"),
        ({"agents": {"defaults": []}}, "agents.defaults"),
        ({"plugins": True}, "plugins"),
        ({"plugins": {"load": []}}, "plugins.load"),
        ({"agent": "main"}, "agent"),
    ],
)
def test_what_should_hold_other_keys_but_does_not_is_reported(
    values: dict[str, Any], key: str
) -> None:
    assert wrong(to_settings(values)) == [key]


def test_a_path_that_no_system_takes_makes_its_list_unreadable() -> None:
    found = skills(load={"extraDirs": ["/fine", "/bro\0ken"]})

    assert found.skills.load.extra_dirs == ()
    assert wrong(found) == ["skills.load.extraDirs"]


def test_nodes_have_names_platforms_and_programs() -> None:
    found = skills(
        nodes=[
            {"name": "mini", "platforms": ["macos", "linux"], "bins": ["say"]},
            {"platform": "win"},
            {"name": "", "platforms": 5, "bins": "say"},
        ]
    )

    assert found.skills.nodes == (
        NodeSettings(name="mini", platforms=("macos", "linux"), bins=frozenset(("say",))),
        NodeSettings(name="node-1", platforms=("win",)),
        NodeSettings(name="node-2"),
    )
    assert wrong(found) == ["skills.nodes[2].platforms", "skills.nodes[2].bins"]


def test_without_a_list_there_is_one_agent() -> None:
    assert to_settings({}).agents == (AgentSettings(id="main", name="main", default=True),)


def test_the_one_agent_takes_the_defaults() -> None:
    found = agents(
        skills=["deploy"], workspace="/work", skillsLimits={"maxSkillsPromptChars": 9000}
    )

    assert found.agents == (
        AgentSettings(
            id="main",
            name="main",
            default=True,
            workspace="/work",
            skills=("deploy",),
            max_skills_prompt_chars=9000,
        ),
    )


def test_what_an_agent_says_itself_replaces_the_defaults() -> None:
    found = agents(
        {
            "id": " writer ",
            "name": "Writer",
            "default": True,
            "workspace": "/own",
            "skills": ["review"],
            "skillsLimits": {"maxSkillsPromptChars": 0},
        },
        {"id": "none", "skills": []},
        {"id": "plain", "skills": None},
        skills=["deploy"],
        workspace="/work",
        skillsLimits={"maxSkillsPromptChars": 9000},
    )

    own, none, plain = found.agents
    assert own == AgentSettings(
        id="writer",
        name="Writer",
        default=True,
        workspace="/own",
        skills=("review",),
        skills_inherited=False,
        max_skills_prompt_chars=0,
    )
    assert (none.skills, none.skills_inherited, none.workspace) == ((), False, "/work")
    assert (plain.skills, plain.skills_inherited) == (("deploy",), True)
    assert (none.max_skills_prompt_chars, own.default) == (9000, True)


def test_an_absent_list_of_skills_stays_absent() -> None:
    assert agents({"id": "main"}).agents[0].skills is None


@pytest.mark.parametrize(
    ("found", "key"),
    [
        (agents({"id": "main", "skills": "deploy"}), "agents.list[0].skills"),
        (agents({"id": "main", "skills": [1]}), "agents.list[0].skills"),
        (agents({"id": "main"}, skills="deploy"), "agents.defaults.skills"),
    ],
)
def test_a_list_of_skills_that_cannot_be_read_allows_nothing(found: Settings, key: str) -> None:
    assert found.agents[0].skills == ()
    assert wrong(found) == [key]


def test_agents_may_be_written_as_entries_too() -> None:
    found = to_settings(
        {"agents": {"list": [{"id": "a"}], "entries": {"b": {"skills": []}, "a": {"name": "A"}}}}
    )

    assert [(agent.id, agent.skills) for agent in found.agents] == [("a", None), ("b", ())]
    assert wrong(found) == ["agents.entries.a"]


def test_an_entry_that_is_no_agent_is_reported() -> None:
    assert wrong(to_settings({"agents": {"entries": {"a": 5}}})) == ["agents.entries.a"]


def test_a_second_agent_of_one_id_is_reported_and_the_first_counts() -> None:
    found = agents({"id": "a", "name": "First"}, {"id": "a", "name": "Second"})

    assert [agent.name for agent in found.agents] == ["First"]
    assert wrong(found) == ["agents.list[1]"]


@each_row("entry", ["writer", {}, {"id": " "}, {"id": None}, 5])
def test_an_agent_without_an_id_is_reported_and_the_others_stay(entry: object) -> None:
    found = agents(entry, {"id": "b"})

    assert [agent.id for agent in found.agents] == ["b"]
    assert wrong(found) == ["agents.list[0]"]


@each_row(
    ("entry", "key"),
    [
        ({"workspace": 5}, "workspace"),
        ({"workspace": "  "}, "workspace"),
        ({"workspace": "/bro\0ken"}, "workspace"),
        ({"default": "yes"}, "default"),
        ({"skillsLimits": {"maxSkillsPromptChars": -1}}, "skillsLimits.maxSkillsPromptChars"),
        ({"skillsLimits": {"maxSkillsPromptChars": "many"}}, "skillsLimits.maxSkillsPromptChars"),
        ({"skillsLimits": {"maxSkillsPromptChars": True}}, "skillsLimits.maxSkillsPromptChars"),
    ],
)
def test_a_value_of_the_wrong_kind_leaves_an_agent_as_if_it_were_absent(
    entry: dict[str, Any], key: str
) -> None:
    found = agents({"id": "a", **entry})

    assert found.agents == (AgentSettings(id="a", name="a"),)
    assert wrong(found) == [f"agents.list[0].{key}"]


@pytest.mark.parametrize(
    "entry",
    [{"workspace": ""}, {"skillsLimits": {}}, {"skillsLimits": {"maxSkillsPromptChars": None}}],
)
def test_what_an_agent_leaves_empty_is_absent(entry: dict[str, Any]) -> None:
    found = agents({"id": "a", **entry})

    assert found.agents == (AgentSettings(id="a", name="a"),)
    assert found.problems == ()


def test_plugins_have_folders_and_can_be_switched_off() -> None:
    found = to_settings(
        {
            "plugins": {
                "load": {"paths": ["/plugins/kit"]},
                "entries": {"a": {"enabled": False}, "b": {"enabled": True}, "c": {}, "d": False},
            }
        }
    )

    assert found.plugins == PluginSettings(paths=("/plugins/kit",), disabled=frozenset(("a",)))


def test_unknown_keys_are_kept_and_reported() -> None:
    values = {
        "channels": {"chat": True},
        "skills": {"extra": 1, "load": {"fast": True}, "limits": {"max": 1}, "install": {"x": 1}},
    }

    found = to_settings(values)

    assert unknown(found) == [
        "channels",
        "skills.extra",
        "skills.load.fast",
        "skills.limits.max",
        "skills.install.x",
    ]
    assert wrong(found) == []


def test_unknown_keys_of_entries_agents_and_plugins_are_reported_too() -> None:
    found = to_settings(
        {
            "skills": {"entries": {"a": {"color": 1}}},
            "agents": {"list": [{"id": "main", "mood": 1}], "team": 1, "defaults": {"model": 1}},
            "plugins": {"load": {"fast": 1}, "slots": 1},
        }
    )

    assert set(unknown(found)) == {
        "skills.entries.a.color",
        "agents.list[0].mood",
        "agents.team",
        "agents.defaults.model",
        "plugins.load.fast",
        "plugins.slots",
    }


def test_of_the_files_values_only_whether_they_are_on_is_kept() -> None:
    found = to_settings(
        {"channels": {"chat": {"token": "s3cret", "off": " ", "port": 0, "list": [], "no": None}}}
    )

    chat = {"token": True, "off": False, "port": False, "list": True, "no": False}
    assert found.values == {"channels": {"chat": chat}}


@settings(max_examples=80, deadline=None)
@given(st.dictionaries(KEYS, ANY_VALUE, max_size=4))
def test_no_file_makes_the_reader_raise_and_there_is_always_an_agent(
    values: dict[str, Any],
) -> None:
    found = to_settings(values)

    assert found.agents
    assert all(agent.id for agent in found.agents)


def test_a_host_that_is_an_address_or_no_host_is_reported_and_lists_nothing() -> None:
    hosts = [
        "http://127.0.0.1:18765/", "10.0.0.7", "files.example.corp:8080", "[::1]:80", "a/b",
        "*.corp", "host:port", "host:99999", "me:word@host",
    ]  # fmt: skip

    found = skills(install={"privateHosts": hosts})

    assert found.skills.install.private_hosts == ("10.0.0.7", "files.example.corp:8080", "[::1]:80")
    assert wrong(found) == [f"skills.install.privateHosts[{index}]" for index in (0, 4, 5, 6, 7, 8)]
    assert all("`host` or `host:port`" in problem.message for problem in found.problems)
    # An address may hold a password.
    assert "word" not in repr(found.problems)


def test_an_origin_that_no_page_has_is_named_by_its_place_and_the_others_hold() -> None:
    origins = [
        "https://skills.example.com",
        "*",
        "http://a.example:81/",
        "https://b.example/page",
        "c",
    ]

    found = to_settings({"gateway": {"controlUi": {"allowedOrigins": origins}}})

    key = "gateway.controlUi.allowedOrigins"
    assert wrong(found) == [f"{key}[1]", f"{key}[3]", f"{key}[4]"]
    assert found.gateway.allowed_origins[0] == "https://skills.example.com"
