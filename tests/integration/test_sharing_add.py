"""`prowess add`, `verify`, `outdated` and `remove`, with real repositories and a real disk."""

import json
import os
import resource
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.install_world import tar, zipped
from tests.integration.kill_world import in_child
from tests.integration.sharing_world import PIPE, Home, Repository, page, write

from prowess.sharing.lock import Lock, LockEntry, digest_of, dump

FILES = {
    "skills/notes/SKILL.md": page(),
    "skills/notes/scripts/run.sh": b"#!/bin/sh\necho hi\n",
    "skills/deploy/SKILL.md": page("deploy"),
    "README.md": b"read me\n",
}


@pytest.fixture
def home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Home:
    return Home(tmp_path / "ann", monkeypatch, capsys)


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Repository]:
    made = Repository(tmp_path / "repo", FILES)
    (made.folder / "skills/notes/scripts/run.sh").chmod(0o755)
    made.commit({})
    yield made
    shutil.rmtree(made.folder)


def test_a_skill_of_a_local_repository_is_added_locked_and_listed(
    home: Home, repository: Repository
) -> None:
    found = home.add(str(repository.folder), "--skill", "notes")

    assert [one["outcome"] for one in found["skills"]] == ["added"]
    entry = home.lock["skills"]["notes"]
    assert entry["resolved"] == repository.git("rev-parse", "HEAD")
    assert entry["path"] == "skills/notes"
    assert entry["approval"]["by"] == "ann"
    assert entry["approval"]["digest"] == entry["contentDigest"]
    assert entry["scan"]["verdict"] == "clean"
    assert os.access(home.work / "skills/notes/scripts/run.sh", os.X_OK)
    assert "notes" in home.text("list")[1]
    assert home.json("verify") == (
        0,
        {"ok": True, "skills": [home.json("verify", "notes")[1]["skills"][0]], "missing": []},
    )


@pytest.mark.usefixtures("repository")
def test_two_people_who_add_the_same_write_the_same_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    locks = []
    for name, order in (("one", ("notes", "deploy")), ("two", ("deploy", "notes"))):
        person = Home(tmp_path / name, monkeypatch, capsys)
        for skill in order:
            person.add("../../repo", "--skill", skill)
        person.add("../../repo", "--all")
        locks.append((person.work / "prowess.lock").read_bytes())

    assert locks[0] == locks[1]


@pytest.mark.parametrize("form", ["path", "file", "ref", "inside", "pin", "commit", "short"])
def test_a_repository_is_reached_in_every_form(
    home: Home, repository: Repository, form: str
) -> None:
    first = repository.git("rev-parse", "HEAD")
    repository.git("tag", "v1")
    repository.commit({"skills/notes/SKILL.md": page(body="Newer.")})
    top = f"file://{repository.folder}"
    words = {
        "path": (str(repository.folder), "--skill", "notes"),
        "file": (top, "--skill", "notes"),
        "ref": (f"{top}@v1", "--skill", "notes"),
        "inside": (f"{top}#skills/notes",),
        "pin": (top, "--skill", "notes", "--pin", "v1"),
        "commit": (top, "--skill", "notes", "--pin", first),
        "short": (top, "--skill", "notes", "--pin", first[:10]),
    }[form]

    home.add(*words)

    entry = home.lock["skills"]["notes"]
    is_old = form in {"ref", "pin", "commit", "short"}
    assert entry["resolved"] == (first if is_old else repository.git("rev-parse", "HEAD"))
    assert entry["pinned"] is (form in {"pin", "commit", "short"})


def test_what_a_repository_says_of_its_files_changes_no_byte_and_runs_nothing(
    home: Home, repository: Repository, tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    repository.git("config", "uploadpack.packObjectsHook", f"touch {ran}")
    for hook in ("post-checkout", "pre-commit", "post-merge", "reference-transaction"):
        write(repository.folder / ".git/hooks", {hook: f"#!/bin/sh\ntouch {ran}\n".encode()})
    repository.commit(
        {
            ".gitattributes": b"*.md eol=crlf ident\n*.txt export-subst\n*.bin export-ignore\n",
            "skills/notes/a.txt": b"$Format:%H$\n",
            "skills/notes/b.bin": b"\x00\x01",
            "skills/notes/ref.md": b"$Id$\nline\n",
        }
    )

    home.add(str(repository.folder), "--skill", "notes")

    placed = home.work / "skills/notes"
    assert (placed / "a.txt").read_bytes() == b"$Format:%H$\n"
    assert (placed / "b.bin").read_bytes() == b"\x00\x01"
    assert (placed / "ref.md").read_bytes() == b"$Id$\nline\n"
    assert not ran.exists()


def test_links_inside_a_skill_are_refused_and_elsewhere_do_not_matter(
    home: Home, repository: Repository
) -> None:
    (repository.folder / "link").symlink_to("README.md")
    (repository.folder / "skills/deploy/secret").symlink_to("/etc/passwd")
    repository.commit({})

    home.add(str(repository.folder), "--skill", "notes")
    code, said = home.text("add", str(repository.folder), "--skill", "deploy", "--yes")

    assert code == 1
    assert "skills/deploy/secret" in said
    assert not (home.work / "skills/deploy").exists()


@pytest.mark.parametrize("yes", [True, False])
def test_a_critical_finding_is_refused_whoever_says_yes(
    home: Home, repository: Repository, monkeypatch: pytest.MonkeyPatch, *, yes: bool
) -> None:
    repository.commit({"skills/evil/SKILL.md": page("evil", PIPE)})
    before = home.files()
    monkeypatch.setattr("prowess.cli.sharing.commands.asks", lambda: True)

    words = ("add", str(repository.folder), "--skill", "evil", *(("--yes",) if yes else ()))
    code, said = home.text(*words)

    assert code == 1
    assert "critical" in said
    assert home.files() == before
    rows = [json.loads(line) for line in (home.state / "audit.jsonl").read_text().splitlines()]
    assert rows[-1]["outcome"] == "refused"


def test_without_a_yes_nothing_is_written(home: Home, repository: Repository) -> None:
    code, said = home.text("add", str(repository.folder), "--skill", "notes")

    assert (code, home.files()) == (2, {})
    assert "--yes" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("REPO",), "deploy, notes"),
        (("REPO", "--skill", "gone"), "has no gone; it has deploy, notes"),
        (("REPO@nowhere", "--skill", "notes"), "nowhere"),
        (("file:///not/there",), "/not/there"),
        (("./not-there",), "neither there nor a source"),
        (("README.txt",), "neither there"),
    ],
)
def test_a_source_that_gives_nothing_is_named_and_nothing_is_written(
    home: Home, repository: Repository, words: tuple[str, ...], said: str
) -> None:
    asked = [word.replace("REPO", f"file://{repository.folder}") for word in words]

    code, text = home.text("add", *asked, "--yes")

    assert code == 1
    assert said in text
    assert home.files() == {}


@pytest.mark.parametrize("ending", ["skill", "zip", "tar.gz", "tar", "folder"])
def test_folders_and_archives_are_sources(home: Home, tmp_path: Path, ending: str) -> None:
    files = {"notes/SKILL.md": page(), "notes/refs/a.md": b"a\n"}
    place = tmp_path / f"given.{ending}"
    if ending == "folder":
        write(place, files)
    else:
        packed = {"tar.gz": tar(files, bits=0o644), "tar": tar(files, "w", bits=0o644)}
        place.write_bytes(packed.get(ending) or zipped(files))

    home.add(str(place))

    assert (home.work / "skills/notes/refs/a.md").read_bytes() == b"a\n"
    assert home.json("verify")[0] == 0


def test_a_marketplace_gives_the_skills_of_its_plugins(home: Home, tmp_path: Path) -> None:
    repo = Repository(tmp_path / "remote", {"skills/far/SKILL.md": page("far")})
    market = {
        "name": "m",
        "plugins": [
            {"name": "near", "source": "./plugins/near"},
            {"name": "codex", "source": {"source": "local", "path": "./plugins/codex"}},
            {"name": "git", "source": {"source": "url", "url": f"file://{repo.folder}"}},
        ],
    }
    write(
        tmp_path / "market",
        {
            ".claude-plugin/marketplace.json": json.dumps(market).encode(),
            "plugins/near/skills/notes/SKILL.md": page(),
            "plugins/codex/skills/deploy/SKILL.md": page("deploy"),
        },
    )

    home.add(str(tmp_path / "market/.claude-plugin/marketplace.json"), "--all")

    skills = home.lock["skills"]
    assert skills.keys() == {"notes", "deploy", "far"}
    assert skills["far"]["requiredBy"] == ["git"]
    assert skills["far"]["resolved"] == repo.git("rev-parse", "HEAD")


@pytest.fixture
def market(tmp_path: Path) -> Path:
    """A marketplace with a plugin that is gone, one below the root, and one that names skills."""
    plugins = [
        {"name": "gone", "source": {"source": "url", "url": f"file://{tmp_path}/nowhere"}},
        {"name": "docs", "source": "docs"},
        {"name": "office", "source": "./", "skills": ["./skills/pdf", "./skills/xlsx"]},
    ]
    listed = {"name": "m", "metadata": {"pluginRoot": "./plugins"}, "plugins": plugins}
    files = {f"skills/{name}/SKILL.md": page(name) for name in ("pdf", "xlsx", "other")}
    files["plugins/docs/skills/notes/SKILL.md"] = page()
    files[".claude-plugin/marketplace.json"] = json.dumps(listed).encode()
    return write(tmp_path / "market", files) / ".claude-plugin/marketplace.json"


def test_of_a_marketplace_only_what_is_wanted_is_asked_for_and_added(
    home: Home, market: Path
) -> None:
    home.add(str(market), "--skill", "pdf")
    home.add(str(market), "--skill", "docs")

    assert home.lock["skills"].keys() == {"pdf", "notes"}
    assert home.lock["skills"]["notes"]["requiredBy"] == ["docs"]
    # The plugin does not name it, so it is none of its skills.
    code, found = home.text("add", str(market), "--skill", "other", "--yes")
    assert (code, "its plugin gone: " in found) == (1, True)
    assert str(market) in home.text("add", str(market), "--all", "--yes")[1]


def test_a_marketplace_file_in_plain_sight_counts_from_its_own_folder(
    home: Home, tmp_path: Path
) -> None:
    near = {"name": "near", "source": "./plugin"}
    far = {"name": "far", "source": {"source": "ipfs", "cid": "x"}}
    content = json.dumps({"plugins": [near, far]}).encode()
    files = {"marketplace.json": content, "plugin/skills/notes/SKILL.md": page()}
    place = str(write(tmp_path / "market", files) / "marketplace.json")

    home.add(place, "--skill", "notes")

    said = home.text("add", place, "--all", "--yes")[1]
    assert "its plugin far: ipfs: is neither there nor a source" in said


def test_every_kind_of_difference_is_named(home: Home, repository: Repository) -> None:
    repository.commit({"skills/notes/old.md": b"moves\n", "skills/notes/goes.md": b"goes\n"})
    home.add(str(repository.folder), "--all")
    placed = home.work / "skills/notes"
    content = bytearray((placed / "SKILL.md").read_bytes())
    content[-2] ^= 1
    (placed / "SKILL.md").write_bytes(content)
    (placed / "new.md").write_bytes(b"new\n")
    (placed / "goes.md").unlink()
    (placed / "old.md").rename(placed / "renamed.md")
    (placed / "link").symlink_to("/etc/passwd")

    code, found = home.json("verify")

    deploy, notes = found["skills"]
    assert (code, found["ok"], deploy["ok"]) == (1, False, True)
    assert notes["changed"] == ["SKILL.md"]
    assert notes["added"] == ["link", "new.md"]
    assert notes["removed"] == ["goes.md"]
    assert notes["renamed"] == [{"from": "old.md", "to": "renamed.md"}]
    shutil.rmtree(placed)
    assert "missing" in home.json("verify", "notes")[1]["skills"][0]["problem"]


def test_a_damaged_lock_stops_everything_and_stays_as_it_is(
    home: Home, repository: Repository
) -> None:
    home.add(str(repository.folder), "--skill", "notes")
    (home.work / "prowess.lock").write_text("{", encoding="utf-8")
    before = home.files()

    for words in (
        ("verify",),
        ("outdated",),
        ("remove", "notes"),
        ("add", str(repository.folder), "--skill", "deploy", "--yes"),
    ):
        code, said = home.text(*words)
        assert code == 1, words
        assert "prowess.lock" in said
    assert home.files() == before


def test_what_a_person_made_is_never_written_over(home: Home, repository: Repository) -> None:
    write(home.work / "skills/notes", {"SKILL.md": page(body="Mine.")})
    before = home.files()

    code, found = home.json("add", str(repository.folder), "--skill", "notes", "--yes")

    assert code == 1
    assert "in no lock" in found["skills"][0]["refusal"]
    assert home.files() == before


def test_what_is_newer_is_said_and_a_pin_holds(home: Home, repository: Repository) -> None:
    home.add(str(repository.folder), "--skill", "notes")
    home.add(str(repository.folder), "--skill", "deploy", "--pin", "main")
    assert home.json("outdated")[0] == 0
    newest = repository.commit({"skills/notes/SKILL.md": page(body="Newer."), "x": b"x"})

    code, found = home.json("outdated")

    deploy, notes = found["skills"]
    assert code == 1
    assert (notes["outdated"], notes["newest"]) == (True, newest)
    assert (deploy["outdated"], deploy["pinned"]) == (False, True)


def test_a_newer_commit_that_leaves_the_skill_alone_is_nothing_newer(
    home: Home, repository: Repository
) -> None:
    home.add(str(repository.folder), "--skill", "notes")
    repository.commit({"README.md": b"other\n"})

    assert home.json("outdated")[0] == 0


def test_a_removed_skill_waits_in_the_trash(home: Home, repository: Repository) -> None:
    home.add(str(repository.folder), "--skill", "notes")

    code, found = home.json("remove", "notes")

    assert code == 0
    assert home.lock["skills"] == {}
    assert not (home.work / "skills/notes").exists()
    trash = home.state / "trash" / found["removed"][0]["trash"]
    assert list(trash.rglob("SKILL.md"))
    assert home.text("remove", "notes")[0] == 1


@pytest.fixture
def outer(tmp_path: Path) -> Repository:
    """A repository with a submodule in a skill, and a skill with a submodule in a submodule."""
    parts = Repository(tmp_path / "parts", {"deep.md": b"deep\n"})
    whole = Repository(tmp_path / "lib", {"SKILL.md": page("lib"), "a.md": b"a\n"})
    made = Repository(tmp_path / "outer", {"skills/notes/SKILL.md": page()})
    allowed = ("-c", "protocol.file.allow=always", "submodule", "--quiet", "add")
    whole.git(*allowed, parts.folder.as_uri(), "parts")
    whole.commit({})
    made.git(*allowed, "../parts", "skills/notes/parts")
    made.git(*allowed, whole.folder.as_uri(), "vendor/lib")
    made.commit({})
    return made


def test_submodules_are_fetched_when_asked(home: Home, outer: Repository) -> None:
    code, said = home.text("add", str(outer.folder), "--skill", "notes", "--yes")
    assert (code, "--submodules" in said) == (1, True)
    home.add(str(outer.folder), "--all", "--submodules")

    found = home.lock["skills"]
    assert set(found["notes"]["files"]) == {"SKILL.md", "parts/deep.md"}
    assert set(found["lib"]["files"]) == {"SKILL.md", "a.md", ".gitmodules", "parts/deep.md"}
    assert found["lib"]["path"] == "vendor/lib"
    for folder in (home.work / "skills", home.state / "packages"):
        shutil.rmtree(folder)
    assert home.json("sync", "--frozen")[0] == 0
    assert (home.json("verify")[0], home.json("outdated")[0]) == (0, 0)


def test_a_submodule_of_another_host_is_refused(home: Home, outer: Repository) -> None:
    modules = outer.folder / ".gitmodules"
    text = modules.read_text(encoding="utf-8").replace("../parts", "https://other.example/x")
    modules.write_text(text, encoding="utf-8")
    outer.commit({})

    code, said = home.text("add", str(outer.folder), "--skill", "notes", "--submodules", "--yes")

    assert (code, "another host" in said) == (1, True)
    assert home.text("add", "clawhub:notes", "--submodules", "--yes")[0] == 2


def test_of_several_names_none_is_removed_where_one_is_wrong(
    home: Home, repository: Repository
) -> None:
    home.add(str(repository.folder), "--skill", "notes")
    before = home.files()

    code, said = home.text("remove", "notes", "nope")

    assert code == 1
    assert "nope" in said
    assert home.files() == before


def test_a_source_without_versions_is_pinned_at_its_digest_alone(
    home: Home, tmp_path: Path
) -> None:
    folder = write(tmp_path / "plain", {"notes/SKILL.md": page()})

    code, found = home.text("add", str(folder), "--pin", "v1", "--yes")

    assert code == 1
    digest = found.partition("--pin ")[2].rstrip(".\n")
    assert not (home.work / "prowess.lock").exists()
    home.add(str(folder), "--pin", digest)
    entry = home.lock["skills"]["notes"]
    assert (entry["pinned"], entry["resolved"]) == (True, digest)


@pytest.mark.parametrize(
    "form",
    ["{0}@v1", "{0}#skills/notes@v1", "file://{0}@v1#skills/notes", "file://{0}#skills/notes@v1"],
)
def test_a_ref_is_written_behind_a_path_and_on_both_sides_of_a_folder(
    home: Home, repository: Repository, form: str
) -> None:
    repository.git("tag", "v1")
    old = repository.git("rev-parse", "HEAD")
    repository.commit({"skills/notes/SKILL.md": page(body="Newer.")})

    home.add(form.format(repository.folder), "--skill", "notes")

    assert home.lock["skills"]["notes"]["resolved"] == old


def test_an_option_that_a_source_does_not_know_and_a_kind_of_another_prowess_are_said(
    home: Home, repository: Repository
) -> None:
    assert home.text("add", str(repository.folder), "--registry", "https://x.example")[0] == 2
    home.add(str(repository.folder), "--skill", "notes")
    lock = home.lock
    lock["skills"]["notes"]["kind"] = "gopher"
    (home.work / "prowess.lock").write_text(json.dumps(lock), encoding="utf-8")

    assert "gopher" in home.text("update")[1]
    assert "gopher" in home.json("outdated")[1]["skills"][0]["problem"]
    assert "gopher" not in home.text("verify")[1]


def test_a_folder_that_cannot_be_read_is_named(home: Home, repository: Repository) -> None:
    home.add(str(repository.folder), "--skill", "notes")
    scripts = home.work / "skills/notes/scripts"
    shutil.rmtree(scripts)
    scripts.symlink_to("/root")

    code, found = home.json("verify")

    assert code == 1
    assert found["skills"][0]["added"] == ["scripts"]


@pytest.mark.parametrize("place", ["user", "agent"])
def test_skills_go_to_the_user_or_the_agent_with_a_lock_there(
    home: Home, repository: Repository, place: str
) -> None:
    home.add(str(repository.folder), "--skill", "notes", "--to", place)

    top = home.state if place == "user" else home.work
    assert (top / "prowess.lock").is_file()
    assert (top / "skills/notes/SKILL.md").is_file()
    assert home.json("verify")[0] == 0


MANY, MOST_SECONDS = 1_000, 2.0


def test_a_thousand_skills_are_verified_in_two_seconds_of_processor_time(home: Home) -> None:
    entries = {}
    for number in range(MANY):
        name = f"skill-{number:04}"
        files = {
            "SKILL.md": page(name) + b"A line of text.\n" * 200,
            "references/a.md": b"x" * 3_000,
            "scripts/run.py": b"print(1)\n" * 50,
        }
        write(home.work / "skills" / name, files)
        digests = {path: digest_of(content) for path, content in files.items()}
        entries[name] = LockEntry(source="x", kind="folder", files=digests)
    (home.work / "prowess.lock").write_bytes(dump(Lock(skills=entries)))
    (home.work / "skills/skill-0500/references/a.md").write_bytes(b"x" * 2_999 + b"y")

    before = time.process_time()
    code, found = home.json("verify")
    taken = time.process_time() - before

    wrong = [one for one in found["skills"] if not one["ok"]]
    assert (code, len(found["skills"])) == (1, MANY)
    assert [(one["name"], one["changed"]) for one in wrong] == [("skill-0500", ["references/a.md"])]
    assert taken < MOST_SECONDS


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")
def test_where_nothing_more_can_be_written_everything_stays_as_it_was(
    home: Home, repository: Repository, tmp_path: Path
) -> None:
    home.add(str(repository.folder), "--skill", "notes")
    large = {"SKILL.md": page("deploy"), "large.bin": os.urandom(1 << 20)}
    given = write(tmp_path / "given/deploy", large)
    before, said = home.files(), tmp_path / "said"

    def add_without_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (900_000, 900_000))
        code, text = home.text("add", str(given), "--yes")
        said.write_text(f"{code} {text}", encoding="utf-8")

    assert in_child(add_without_room) == 0
    text = said.read_text(encoding="utf-8")
    assert text.startswith("1 ")
    assert f"{home.state / 'packages'}" in text
    assert "too large" in text
    assert home.files() == before
    assert home.json("verify")[0] == 0


def make_unreadable(folder: Path, how: str) -> str:
    """Take a folder of skills away from its readers, and return what an error must name."""
    if how == "rights":
        folder.chmod(0)
        if os.access(folder, os.R_OK):
            pytest.skip("whoever runs this reads everything")
        return str(folder)
    shutil.rmtree(folder)
    if how == "link":
        folder.symlink_to("/etc", target_is_directory=True)
    else:
        folder.write_bytes(b"a file\n")
    return "its folder is a file or a link"


@pytest.mark.parametrize("how", ["file", "link", "rights"])
def test_a_folder_that_cannot_be_read_is_named_and_its_siblings_are_verified(
    home: Home, tmp_path: Path, how: str
) -> None:
    made = Repository(
        tmp_path / "two", {"notes/SKILL.md": page(), "deploy/SKILL.md": page("deploy")}
    )
    home.add(str(made.folder), "--all")
    named = make_unreadable(home.work / "skills/notes", how)
    before = home.lock

    code, found = home.json("verify")
    rows = {one["name"]: one["ok"] for one in found["skills"]}
    assert (code, rows) == (1, {"notes": False, "deploy": True})
    said = home.text("verify")[1]
    assert f"notes: {named}" in said
    assert "1 of 2 skills: not as locked." in said
    # Nothing is written over it, by whatever command.
    for words in (("sync", "--frozen"), ("sync", "--frozen", "--force")):
        code, found = home.json(*words)
        steps = {one["name"]: one for one in found["steps"]}
        assert (code, steps["deploy"]["action"]) == (1, "keep")
        assert steps["notes"]["action"] in {"changed", "failed"}
        assert steps["notes"]["detail"]
    assert home.text("update")[0] in {0, 1}
    assert home.lock == before
    assert os.path.lexists(home.work / "skills/notes")


def test_a_file_where_the_folder_of_all_skills_is_expected_is_named(
    home: Home, tmp_path: Path
) -> None:
    made = Repository(tmp_path / "one", {"notes/SKILL.md": page()})
    home.add(str(made.folder))
    shutil.rmtree(home.work / "skills")
    (home.work / "skills").write_bytes(b"a file\n")

    for words in (("verify",), ("sync", "--frozen"), ("add", str(made.folder), "--yes")):
        code, said = home.text(*words)
        assert code == 1, said
        assert str(home.work / "skills") in said
        assert "Traceback" not in said
    assert (home.work / "skills").read_bytes() == b"a file\n"


def test_a_page_that_no_list_would_show_is_refused_with_the_reason_and_its_siblings_are_added(
    home: Home, tmp_path: Path
) -> None:
    source = write(
        tmp_path / "mixed",
        {
            "latin/SKILL.md": b"---\nname: latin\ndescription: Caf\xe9.\n---\n\n# latin\n",
            "bare/SKILL.md": b"# bare\n\nDo it.\n",
            "mute/SKILL.md": b"---\nname: mute\n---\n\n# mute\n",
            "open/SKILL.md": b"---\nname: open\ndescription: [\n---\n",
            "notes/SKILL.md": page(),
        },
    )

    code, found = home.json("add", str(source), "--all", "--yes")

    said = {one["name"]: one["refusal"] for one in found["skills"] if one["refusal"]}
    assert code == 1
    assert "UTF-8" in said["latin"]
    assert "no frontmatter" in said["bare"]
    assert "description" in said["mute"]
    assert "SKILL.md cannot be read" in said["open"]
    assert list(home.lock["skills"]) == ["notes"]
    assert [one.name for one in (home.work / "skills").iterdir()] == ["notes"]


def test_a_page_is_held_to_the_rules_that_this_workspace_reads_by(
    home: Home, tmp_path: Path
) -> None:
    head = b"---\nname: notes\ndescription: Writes notes.\nowner: ann\n---\n\n# notes\n"
    source = write(tmp_path / "loose", {"notes/SKILL.md": head})
    strict = b'{"skills": {"specMode": "strict"}}'

    write(home.state, {"prowess.json": strict})
    code, said = home.text("add", str(source), "--yes")
    (home.state / "prowess.json").unlink()

    assert (code, "owner" in said) == (1, True), said
    home.add(str(source))
