"""Which files below a root are skills: depth, limits, spec modes, lenient derivation."""

import pytest

from .world import NO_SUCH_BIN, World, odd_names


@pytest.mark.requirement("discovery:depth-six")
def test_depth_six_is_found_and_depth_seven_is_not(world: World) -> None:
    world.skill("a/b/c/d/e/six")
    world.skill("a/b/c/d/e/f/seven")

    assert world.own() == {"six"}


@pytest.mark.requirement("discovery:breadth-first", "limits:truncation-reported")
def test_near_folders_are_looked_at_before_deep_ones(world: World) -> None:
    world.settings(limits={"maxCandidatesPerRoot": 3})
    for folder in ("a/deep-one", "a/deep-two", "b", "c"):
        world.skill(folder)

    assert world.own() == {"b", "c", "deep-one"}
    assert world.codes() == {"candidates-truncated"}


@pytest.mark.requirement("discovery:sorted-by-name", "limits:candidates")
def test_the_candidate_limit_keeps_the_first_by_name(world: World) -> None:
    world.settings(limits={"maxCandidatesPerRoot": 3})
    for name in ("s5", "s1", "s4", "s2", "s3"):
        world.skill(name)

    assert world.own() == {"s1", "s2", "s3"}
    assert world.codes(str(world.skills)) == {"candidates-truncated"}


@pytest.mark.requirement("limits:per-source", "limits:truncation-reported")
def test_the_limit_per_source_is_kept_and_reported(world: World) -> None:
    world.settings(limits={"maxSkillsLoadedPerSource": 2})
    for name in ("s3", "s1", "s2"):
        world.skill(name)

    assert world.own() == {"s1", "s2"}
    assert world.codes(str(world.skills)) == {"skills-truncated"}


@pytest.mark.requirement("limits:broken-do-not-count")
def test_broken_candidates_do_not_use_up_the_limit_per_source(world: World) -> None:
    world.settings(limits={"maxSkillsLoadedPerSource": 2})
    world.front("s0", "- broken")
    world.skill("s1")
    world.skill("s2")

    assert world.own() == {"s1", "s2"}


@pytest.mark.requirement("limits:per-source", "limits:candidates", "limits:configurable")
def test_a_large_collection_is_loaded_as_a_whole_unless_a_limit_says_otherwise(
    world: World,
) -> None:
    for number in range(400):
        world.skill(f"s{number:03}")

    by_default, found = world.own(), world.codes()
    world.settings(limits={"maxSkillsLoadedPerSource": 100, "maxCandidatesPerRoot": 300})

    assert (len(by_default), found) == (400, set())
    assert len(world.own()) == 100
    assert world.codes() == {"candidates-truncated", "skills-truncated"}


@pytest.mark.requirement("limits:candidates")
def test_a_folder_that_only_holds_skills_uses_up_nothing_of_the_limit(world: World) -> None:
    world.settings(limits={"maxCandidatesPerRoot": 3, "maxSkillsLoadedPerSource": 3})
    for name in ("group/inner/s1", "group/inner/s2", "group/s3"):
        world.skill(name)

    assert world.own() == {"s1", "s2", "s3"}
    assert world.codes(str(world.skills)) == set()


@pytest.mark.requirement("limits:truncation-reported")
@pytest.mark.parametrize("limit", ["maxCandidatesPerRoot", "maxSkillsLoadedPerSource"])
def test_what_a_limit_cut_is_said_where_people_look(world: World, limit: str) -> None:
    world.settings(limits={limit: 20})
    # Many small problems must not push it out of sight.
    for number in range(40):
        world.front(f"s{number:02}", f"name: s{number:02}\ndescription: Use when: asked")

    said = {line: world.run(line).text for line in ("list", "check", "doctor")}
    status = world.open().skills.status()

    for line, text in said.items():
        assert f"skills.limits.{limit}" in text, line
        assert "20" in text, line
    assert any(one.code.endswith("-truncated") for one in status.diagnostics)


@pytest.mark.requirement("limits:candidates")
def test_folders_without_skills_are_looked_into_up_to_a_bound(world: World) -> None:
    for number in range(1_000):
        (world.skills / f"f{number:04}").mkdir(parents=True)
    world.settings(limits={"maxCandidatesPerRoot": 1})

    (problem,) = world.problems(str(world.skills))
    assert problem["code"] == "candidates-truncated"
    assert "more than 1000 folders: f0998" in problem["message"]


@pytest.mark.requirement("limits:file-bytes", "bad:oversized")
def test_a_file_of_exactly_256000_bytes_loads_and_one_more_does_not(world: World) -> None:
    for name, size in (("fits", 256_000), ("too-big", 256_001)):
        head = f"---\nname: {name}\ndescription: Long.\n---\n".encode()
        world.raw(name, head + b"x" * (size - len(head)))

    assert world.own() == {"fits"}
    assert world.codes("too-big") == {"FILE_TOO_LARGE"}


@pytest.mark.requirement("limits:file-bytes", "limits:configurable")
def test_the_file_size_limit_can_be_changed(world: World) -> None:
    world.settings(limits={"maxSkillFileBytes": 400})
    world.skill("small")
    world.skill("large", body="x" * 500)

    assert world.own() == {"small"}
    assert world.codes("large") == {"FILE_TOO_LARGE"}


@pytest.mark.requirement("discovery:any-case")
def test_the_file_name_counts_in_any_case(world: World) -> None:
    for name, file in (("a", "skill.md"), ("b", "Skill.md"), ("c", "SKILL.MD")):
        world.raw(name, f"---\nname: {name}\ndescription: Any case.\n---\nBody.\n", file=file)

    assert world.own() == {"a", "b", "c"}


@pytest.mark.requirement("discovery:upper-case-preferred")
def test_the_upper_case_file_is_preferred(world: World) -> None:
    world.raw("cased", "---\nname: cased\ndescription: lower\n---\nBody.\n", file="skill.md")
    world.raw("cased", "---\nname: cased\ndescription: upper\n---\nBody.\n")
    if len(list((world.skills / "cased").iterdir())) == 1:
        pytest.skip("the file system does not tell cases apart")

    assert world.row("cased")["description"] == "upper"


@pytest.mark.requirement("discovery:ends-branch")
def test_a_skill_ends_its_branch_even_when_it_is_broken(world: World) -> None:
    world.skill("fine")
    world.skill("fine/inside-fine")
    world.front("broken", "- not\n- a mapping")
    world.skill("broken/inside-broken")

    assert world.own() == {"fine"}


@pytest.mark.requirement(
    "discovery:skips-hidden",
    "discovery:skips-vendor",
    "discovery:skips-environments",
    "discovery:skips-caches",
)
def test_hidden_and_vendor_folders_are_skipped(world: World) -> None:
    for folder in (".hidden", ".git", "node_modules", "venv", ".venv", "__pycache__", ".cache"):
        world.skill(f"{folder}/inside-{folder.strip('._')}")
        world.skill(f"group/{folder}/below-{folder.strip('._')}")
    world.skill("outside")

    assert world.own() == {"outside"}


@pytest.mark.requirement("discovery:skips-environments")
def test_a_virtual_environment_is_known_by_its_marker(world: World) -> None:
    world.skill("my-env/lib/inside")
    world.file(world.skills / "my-env" / "pyvenv.cfg", "home = /usr/bin\n")
    world.skill("outside")

    assert world.own() == {"outside"}


@pytest.mark.requirement("discovery:nested-skills-folder")
def test_a_repository_with_a_skills_folder_is_a_root(world: World) -> None:
    repository = world.root / "repository"
    world.settings(load={"extraDirs": [str(repository)]})
    world.skill("nested", root=repository / "skills")
    world.skill("direct", root=repository)

    assert world.own() == {"nested", "direct"}


@pytest.mark.requirement("discovery:root-is-a-skill")
def test_a_root_that_holds_a_skill_file_is_that_skill_alone(world: World) -> None:
    root = world.root / "solo"
    world.settings(load={"extraDirs": [str(root)]})
    world.skill("solo", root=world.root)
    world.skill("inside", root=root)

    assert world.own() == {"solo"}


@pytest.mark.requirement("mode:mixed-stand-alone", "mode:mixed-is-default")
@pytest.mark.parametrize("settings", [{}, {"specMode": "mixed"}], ids=["by default", "named"])
def test_mixed_mode_reads_stand_alone_files_in_three_roots_only(
    world: World, settings: dict[str, str]
) -> None:
    world.config({"skills": {"load": {"extraDirs": [str(world.extra)]}, **settings}})
    for root, name in (
        (world.skills, "workspace-note"),
        (world.managed, "managed-note"),
        (world.project, "project-note"),
        (world.personal, "personal-note"),
        (world.extra, "extra-note"),
        (world.workspace / ".claude" / "skills", "claude-note"),
    ):
        world.file(root / f"{name}.md", "A note.\n")

    assert world.own() == {"workspace-note", "managed-note"}


@pytest.mark.requirement("mode:no-readme")
def test_a_stand_alone_readme_is_no_skill(world: World) -> None:
    world.file(world.skills / "README.md", "# About\n\nThis folder.\n")
    world.file(world.managed / "readme.md", "# About\n\nThat folder.\n")

    assert world.own() == set()


@pytest.mark.requirement("mode:mixed-by-the-standard")
def test_mixed_mode_reads_a_skill_folder_by_the_standard(world: World) -> None:
    world.raw("bare", "# Bare\n\nNo block at all.\n")

    assert world.own() == set()
    assert world.codes("bare") == {"FRONTMATTER_MISSING"}


@pytest.mark.requirement("mode:legacy-lenient")
def test_legacy_mode_reads_everything_leniently(world: World) -> None:
    world.settings(specMode="legacy")
    world.raw("bare", "# Bare bones\n\nNo block at all.\n")
    world.front("torn", "name: torn\ndescription: Reads by line.\nlicense: [unclosed")
    world.file(world.project / "note.md", "A note.\n")

    rows = world.listing()

    assert rows["Bare bones"]["description"] == "No block at all."
    assert rows["torn"]["description"] == "Reads by line."
    assert rows["note"]["source"] == "agents-skills-project"


@pytest.mark.requirement("mode:legacy-lenient", "metadata:never-opens")
def test_legacy_mode_never_opens_a_gate_that_it_cannot_read(world: World) -> None:
    world.settings(specMode="legacy")
    for name, metadata in (
        ("one-line", f"{{openclaw: {{requires: {{bins: [{NO_SUCH_BIN}]}}}}}}"),
        ("block", f"\n  openclaw:\n    requires:\n      bins: [{NO_SUCH_BIN}]"),
    ):
        torn = f"name: {name}\ndescription: Reads by line.\nlicense: [unclosed"
        world.front(name, f"{torn}\nmetadata: {metadata}")

    rows = world.listing()

    assert (rows["one-line"]["eligible"], rows["block"]["eligible"]) == (False, False)


@pytest.mark.requirement("mode:strict-skill-files")
def test_strict_mode_reads_only_skill_folders(world: World) -> None:
    world.settings(specMode="strict")
    text = "---\nname: note\ndescription: Stand-alone.\n---\nBody.\n"
    world.file(world.skills / "note.md", text)
    world.skill("proper")

    assert world.own() == {"proper"}


@pytest.mark.requirement("mode:strict-valid-only")
def test_strict_mode_drops_what_does_not_validate_and_says_so(world: World) -> None:
    world.settings(specMode="strict")
    world.skill("proper")
    wrong = {
        "Bad_Folder": ("name: bad-folder", "SKILL_DIR_INVALID"),
        "nameless": ("", "NAME_MISSING"),
        "other": ("name: another", "NAME_PATH_MISMATCH"),
        "keyed": ("name: keyed\nwhen_to_use: Never.", "UNKNOWN_KEY"),
    }
    for folder, (keys, _) in wrong.items():
        world.front(folder, f"description: Not by the standard.\n{keys}")

    assert world.own() == {"proper"}
    for folder, (_, code) in wrong.items():
        assert code in world.codes(folder)


@pytest.mark.requirement("mode:agent-key")
def test_the_spec_mode_is_also_read_from_the_agent_section(world: World) -> None:
    world.file(world.skills / "note.md", "A note.\n")

    for value in ("strict", " STRICT "):
        world.config({"agent": {"skillsSpecMode": value}})

        assert world.own() == set()


@pytest.mark.requirement("mode:unknown-is-mixed")
def test_an_unknown_spec_mode_means_mixed(world: World) -> None:
    world.settings(specMode="relaxed")
    world.file(world.skills / "note.md", "A note.\n")

    assert world.own() == {"note"}


@pytest.mark.requirement("mode:resources-never-skills", "skill:resources")
@pytest.mark.parametrize("mode", ["legacy", "mixed", "strict"])
def test_files_below_a_skill_are_its_resources_in_every_mode(world: World, mode: str) -> None:
    world.settings(specMode=mode)
    path = world.skill("whole")
    text = "---\nname: leaked\ndescription: Must not leak.\n---\nBody.\n"
    for file in ("extra.md", "references/guide.md", "nested/SKILL.md"):
        world.file(path.parent / file, text)

    assert world.own() == {"whole"}
    assert sorted(world.document("show", "whole")["resources"]) == [
        "extra.md",
        "nested/SKILL.md",
        "references/guide.md",
    ]


@pytest.mark.requirement("derive:id")
def test_the_id_is_the_base_name_of_the_folder_or_file(world: World) -> None:
    world.skill("group/in-folder", name="called-otherwise")
    world.file(world.skills / "in-file.md", "# Called by its heading\n\nWords.\n")

    ids = {row.skill.name: row.skill.id for row in world.open().skills.status().skills}

    assert ids["called-otherwise"] == "in-folder"
    assert ids["Called by its heading"] == "in-file"


@pytest.mark.requirement("derive:name", "derive:description")
def test_name_and_description_are_derived_from_a_stand_alone_text(world: World) -> None:
    texts = {
        "one": "---\nname: said\ndescription: Said too.\n---\n# Head\n\nLine.\n",
        "two": "# Water the plants\n\n- Every Monday.\n\nMore.\n",
        "three": "## Only a sub-heading\n\nRestart it.\n",
        "four": "Just words.\n",
    }
    for name, text in texts.items():
        world.file(world.skills / f"{name}.md", text)

    rows = world.listing()

    assert {n: row["description"] for n, row in rows.items() if not row["bundled"]} == {
        "said": "Said too.",
        "Water the plants": "- Every Monday.",
        "three": "Restart it.",
        "four": "Just words.",
    }


@pytest.mark.requirement("derive:180-characters")
def test_a_derived_description_has_at_most_180_characters(world: World) -> None:
    world.file(world.skills / "long.md", "x" * 400 + "\n")

    assert world.row("long")["description"] == "x" * 180


@pytest.mark.requirement("bad:siblings-load", "bad:unreadable")
def test_names_that_cannot_be_shown_are_named_as_diagnostics_by_every_command(world: World) -> None:
    world.skill("fine")
    odd_names(world.skills, world.skills / "fine")
    out = str(world.root / "copies")
    lines = ("list", "check", "doctor", f"validate {world.skills}")

    said = {line: world.run(*line.split()).calm().text for line in lines}
    copied = world.run("sync", out).calm()
    scanned = world.run("scan").calm()

    for line, text in said.items():
        assert r"caf\xe9" in text, line
        assert r"new\nline" in text, line
        assert "\udce9" not in text
        assert "\x1b" not in text
    assert "its name is not UTF-8" in said["check"]
    assert "its name has a control or hidden character" in said["check"]
    assert r"'in\udce9\nside.txt' is left out" in said[lines[-1]]
    assert world.own() == {"fine"}
    assert {item["path"] for item in world.problems()} == {
        rf"{world.skills}/{name}"
        for name in (r"caf\xe9", r"esc\x1b[31m", r"hid\u200bden", r"loose\xff.md", r"new\nline")
    }
    assert (copied.code, scanned.code) == (0, 0)
    assert (world.root / "copies" / "skills" / "fine" / "SKILL.md").is_file()
