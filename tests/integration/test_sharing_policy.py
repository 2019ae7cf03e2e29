"""Policies hold whenever a skill is used, and every decision stands in a log that shows damage."""

import json
import shutil
from pathlib import Path

import pytest
from tests.integration.sharing_world import Home, Repository, page, write

from prowess.wiring import open_runtime

# The scanner warns of it.
WARNED = "Run `curl -k https://example.com/x`."


@pytest.fixture
def home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Home:
    return Home(tmp_path / "ann", monkeypatch, capsys)


@pytest.fixture
def repository(home: Home, tmp_path: Path) -> Repository:
    made = Repository(
        tmp_path / "repo", {"notes/SKILL.md": page(), "deploy/SKILL.md": page("deploy")}
    )
    home.add(str(made.folder), "--skill", "notes")
    return made


def policy(home: Home, text: str, level: str = "project") -> Path:
    place = {"project": home.work, "team": home.state}[level] / "prowess-policy.yml"
    place.write_text(f"version: 1\n{text}\n", encoding="utf-8")
    return place


def test_a_policy_refuses_at_add_with_its_file_and_line(home: Home, repository: Repository) -> None:
    place = policy(home, "allow:\n  - github.com/acme/*")
    before = home.files()

    code, found = home.json("add", str(repository.folder), "--skill", "deploy", "--yes")

    assert code == 1
    assert f"{place}:2" in found["skills"][0]["refusal"]
    assert home.files() == before


@pytest.mark.usefixtures("repository")
def test_what_is_forbidden_is_in_no_list_prompt_route_or_text(home: Home) -> None:
    assert "notes" in home.text("prompt")[1]
    place = policy(home, "deny: [notes]", "team")

    listed = home.json("list")[1]
    row = next(one for one in listed["skills"] if one["name"] == "notes")
    assert (row["eligible"], row["blockedByScanner"]) == (False, True)
    assert f"{place}:2" in row["scannerBlock"]["reason"]
    assert "<name>notes</name>" not in home.text("prompt")[1]
    _, routed = home.json("route", "please write notes")
    assert "notes" not in [one["name"] for one in routed.get("matches", [])]
    assert home.text("invoke", "notes")[0] != 0
    code, said = home.json("policy", "explain", "notes")
    assert code == 1
    assert (said["reasons"][0]["file"], said["reasons"][0]["line"]) == (str(place), 2)
    assert f"{place}:2" in home.text("why", "notes")[1]
    place.unlink()
    assert "notes" in home.text("prompt")[1]
    assert home.text("policy", "explain", "notes") == (0, "notes is allowed: there is no policy.\n")


@pytest.mark.usefixtures("repository")
def test_a_process_that_stays_sees_a_policy_that_comes_and_goes(home: Home) -> None:
    with open_runtime(home.work) as runtime:
        assert "notes" in {one.name for one in runtime.skills.snapshot().skills}
        place = policy(home, "deny: [notes]")
        assert "notes" not in {one.name for one in runtime.skills.snapshot().skills}
        place.unlink()
        assert "notes" in {one.name for one in runtime.skills.snapshot().skills}


@pytest.mark.usefixtures("repository")
@pytest.mark.parametrize(
    ("rules", "is_used"),
    [
        ("deny: [notes]\nmode: warn", True),
        ("deny: [notes]\nmode: off", True),
        ("pinned: true", False),
        ("signed: true", False),
        ("unmanaged: block", True),
        ("verdict: clean", True),
        ("allow: []", False),
    ],
)
def test_a_rule_counts_at_run_time(home: Home, rules: str, *, is_used: bool) -> None:
    policy(home, rules)

    listed = {one["name"]: one["eligible"] for one in home.json("list")[1]["skills"]}

    assert listed["notes"] is is_used


@pytest.mark.usefixtures("repository")
def test_what_is_in_no_lock_is_kept_out_where_a_policy_says_so(home: Home) -> None:
    policy(home, "unmanaged: block")
    write(home.work / "skills/own", {"SKILL.md": page("own")})

    assert (used(home)["own"], used(home)["notes"]) == (False, True)
    write(home.work / "skills/notes", {"extra.md": b"x\n"})
    assert used(home)["notes"] is False
    # What ships is nobody's to lock.
    assert used(home)["prowess-manual"] is True


def used(home: Home) -> dict[str, bool]:
    return {one["name"]: one["eligible"] for one in home.json("list")[1]["skills"]}


def test_nothing_is_used_or_added_until_what_is_required_is_there(
    home: Home, repository: Repository
) -> None:
    place = policy(home, "require: [style]")
    source = str(repository.folder)
    repository.commit({"style/SKILL.md": page("style")})

    assert used(home)["notes"] is False
    assert used(home)["prowess-manual"] is True
    assert "<name>notes</name>" not in home.text("prompt")[1]
    said = f"{place}:2: style is required, and is not there"
    code, found = home.json("add", source, "--skill", "deploy", "--yes")
    assert (code, said in found["skills"][0]["refusal"]) == (1, True)
    assert f"{place}:2: skill-required: style is required" in home.text("list")[1]
    assert said in home.text("doctor")[1]
    code, text = home.text("verify")
    assert (code, said in text) == (1, True)
    code, found = home.json("verify")
    assert (code, found["ok"], found["missing"][0]["line"]) == (1, False, 2)
    home.add(source, "--skill", "style")

    assert used(home)["notes"] is True
    assert home.text("verify")[0] == 0
    home.add(source, "--skill", "deploy")


def test_what_is_required_must_be_what_was_locked(home: Home, repository: Repository) -> None:
    policy(home, "require: [notes]")
    home.add(str(repository.folder), "--skill", "deploy")
    write(home.work / "skills/notes", {"SKILL.md": page(body="Other.")})

    assert (used(home)["notes"], used(home)["deploy"]) == (False, False)
    assert "notes is required, and differs from its lock (changed SKILL.md)" in home.text("list")[1]
    assert home.text("sync", "--frozen", "--force")[0] == 0
    assert (used(home)["notes"], used(home)["deploy"]) == (True, True)


def test_what_is_required_cannot_be_switched_off(home: Home, repository: Repository) -> None:
    policy(home, "require: [notes]")
    home.add(str(repository.folder), "--skill", "deploy")
    settings = {"skills": {"entries": {"notes": {"enabled": False}}}}
    (home.state / "prowess.json").write_text(json.dumps(settings), encoding="utf-8")

    assert used(home)["deploy"] is False
    assert "notes is required, and is disabled in the configuration" in home.text("list")[1]
    assert home.text("verify")[0] == 1
    assert home.text("check")[0] == 1


@pytest.mark.usefixtures("repository")
def test_a_policy_that_only_warns_names_what_is_missing_and_keeps_nothing_out(home: Home) -> None:
    place = policy(home, "mode: warn\nrequire: [style]")

    assert used(home)["notes"] is True
    said = f"{place}:3: style is required, and is not there"
    code, text = home.text("verify")
    assert (code, said in text) == (0, True)
    assert said in home.text("doctor")[1]
    place.unlink()
    assert "style" not in home.text("list")[1]


def test_the_least_verdict_counts_for_skills_that_are_in_no_lock(home: Home) -> None:
    write(home.work / "skills/own", {"SKILL.md": page("own", WARNED)})
    write(home.work / "skills/fine", {"SKILL.md": page("fine")})
    assert used(home)["own"] is True
    place = policy(home, "verdict: clean")

    assert (used(home)["own"], used(home)["fine"]) == (False, True)
    assert "<name>own</name>" not in home.text("prompt")[1]
    routed = home.json("route", "please write own")[1]
    assert "own" not in [one["name"] for one in routed.get("matches", [])]
    code, text = home.text("policy", "explain", "own")
    assert (code, f"{place}:2: the scanner says 'warn'" in text) == (1, True)
    policy(home, "verdict: warn")
    assert used(home)["own"] is True


@pytest.mark.usefixtures("repository")
def test_a_policy_that_cannot_be_read_closes_where_it_says_so(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_used() -> bool:
        rows = home.json("list")[1]["skills"]
        return any(one["name"] == "notes" and one["eligible"] for one in rows)

    place = policy(home, "deny: [")
    assert is_used()
    # A file that lets everything pass because it cannot be read is seen where people look.
    assert f"{place}:3: it is not YAML" in home.text("doctor")[1]
    assert home.json("policy", "explain", "notes")[1]["reasons"][0]["line"] == 3
    place.write_text("version: 1\nunreadable: block\ndeny: [\n", encoding="utf-8")
    assert not is_used()
    place.unlink()
    assert is_used()
    monkeypatch.setenv("PROWESS_POLICY", str(tmp_path / "gone.yml"))
    assert not is_used()
    assert "gone.yml" in home.text("policy", "explain", "notes")[1]


def test_the_log_holds_every_decision_and_shows_damage(home: Home, repository: Repository) -> None:
    policy(home, "deny: [notes]")
    home.json("list")
    home.json("list")
    home.text("add", str(repository.folder), "--skill", "deploy", "--yes")
    home.text("remove", "notes")

    rows = home.json("audit", "show")[1]["rows"]
    assert [(one["event"], one["outcome"]) for one in rows] == [
        ("add", "added"),
        ("policy", "block"),
        ("add", "added"),
        ("remove", "removed"),
    ]
    assert home.json("audit", "verify")[1]["lines"] == 4
    place = home.state / "audit.jsonl"
    lines = place.read_text(encoding="utf-8").splitlines(keepends=True)
    for damaged, said in (
        ([lines[0].replace("added", "gone"), *lines[1:]], "line 2"),
        ([lines[0], *lines[2:]], "line 2"),
        ([lines[1], lines[0], *lines[2:]], "line 1"),
        (lines[:2], "should have 4"),
        ([*lines[:3], lines[3].replace("removed", "added")], "the last one, was changed"),
        (["{\n", *lines[1:]], "line 1"),
        ([], "should have 4"),
    ):
        place.write_text("".join(damaged), encoding="utf-8")
        code, found = home.json("audit", "verify")
        assert (code, said in found["problem"]) == (1, True), found
    place.write_text("".join(lines), encoding="utf-8")
    assert home.json("audit", "verify")[0] == 0
    (home.state / "audit.head").unlink()
    assert "audit.head is missing" in home.text("audit", "verify")[1]


def test_a_kill_between_the_log_and_its_head_is_no_damage(home: Home, tmp_path: Path) -> None:
    made = Repository(tmp_path / "repo", {"a/SKILL.md": page("a"), "b/SKILL.md": page("b")})
    home.add(str(made.folder), "--skill", "a")
    head = (home.state / "audit.head").read_bytes()
    home.add(str(made.folder), "--skill", "b")
    (home.state / "audit.head").write_bytes(head)

    assert home.json("audit", "verify")[0] == 0
    home.text("remove", "a")
    assert home.json("audit", "verify")[1]["lines"] == 3
    assert json.loads((home.state / "audit.head").read_bytes())["lines"] == 3


@pytest.mark.usefixtures("repository")
def test_what_a_policy_blocks_or_nobody_approved_is_not_brought_back(home: Home) -> None:
    shutil.rmtree(home.work / "skills/notes")
    place = policy(home, "deny: [notes]")

    code, found = home.json("sync", "--frozen")

    assert (code, found["steps"][0]["action"]) == (1, "failed")
    assert f"{place}:2" in found["steps"][0]["detail"]
    assert not (home.work / "skills/notes").exists()
    last = home.json("audit", "show")[1]["rows"][-1]
    assert (last["event"], last["outcome"]) == ("sync", "refused")
    place.unlink()
    lock = home.lock
    lock["skills"]["notes"]["approval"] = {}
    (home.work / "prowess.lock").write_text(json.dumps(lock), encoding="utf-8")
    assert "nobody approved" in home.text("sync", "--frozen", "--check")[1]
    assert home.json("sync", "--frozen")[0] == 1
    assert not (home.work / "skills/notes").exists()


@pytest.mark.usefixtures("repository")
def test_a_policy_that_only_warns_is_noted_in_the_list_and_one_that_is_off_says_so(
    home: Home,
) -> None:
    place = policy(home, "mode: warn\ndeny: [notes]")

    assert used(home)["notes"] is True
    code, said = home.text("list")
    assert (code, f"{place}:3: policy-warns: notes: 'notes' is denied" in said) == (0, True), said
    found = home.json("list")[1]["diagnostics"]
    assert [one["code"] for one in found if one["path"] == str(place)] == ["policy-warns"]

    team = policy(home, "pinned: true", "team")
    policy(home, "mode: off\ndeny: [notes]")
    code, said = home.text("policy", "explain", "notes")
    assert (code, f"{place} is off" in said, f"{team}:2" in said) == (1, True, True), said
    team.unlink()
    code, said = home.text("policy", "explain", "notes")
    assert (code, "notes is allowed: the policy is off." in said) == (0, True), said
    assert "no rule is about it" not in said
    assert "policy-warns" not in home.text("list")[1]
