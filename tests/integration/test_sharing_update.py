"""`prowess update` and `prowess sync --frozen`: edits are kept, and a lock can be brought back."""

import json
import os
import shutil
import socket
from collections.abc import Callable
from functools import partialmethod
from pathlib import Path

import pytest
from tests.integration.kill_world import in_child
from tests.integration.sharing_world import PIPE, Home, Hub, Repository, page, sha256, write

from prowess.host.files import transaction
from prowess.host.files.containment import Root
from prowess.host.writers import change

BODY = "One.\n\n## First\n\nUpstream text.\n\n## Second\n\nMore text."


@pytest.fixture
def home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Home:
    return Home(tmp_path / "ann", monkeypatch, capsys)


@pytest.fixture
def repository(home: Home, tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "repo", {"notes/SKILL.md": page(body=BODY), "notes/a.md": b"a\n"})
    home.add(str(made.folder))
    return made


def edit(home: Home, old: str, new: str, path: str = "SKILL.md") -> None:
    place = home.work / "skills/notes" / path
    place.write_text(place.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")


def text(home: Home) -> str:
    return (home.work / "skills/notes/SKILL.md").read_text(encoding="utf-8")


def test_an_update_brings_what_is_new_and_keeps_what_was_edited(
    home: Home, repository: Repository
) -> None:
    edit(home, "More text.", "My text.")
    write(home.work / "skills/notes", {"mine.md": b"mine\n"})
    newest = repository.commit(
        {"notes/SKILL.md": page(body=BODY.replace("Upstream text.", "Newer.")), "notes/b.md": b"b"}
    )

    code, found = home.json("update", "--yes")

    assert (code, found["skills"][0]["outcome"]) == (0, "updated")
    assert "Newer." in text(home)
    assert "My text." in text(home)
    placed = home.work / "skills/notes"
    assert ((placed / "mine.md").read_bytes(), (placed / "b.md").read_bytes()) == (b"mine\n", b"b")
    entry = home.lock["skills"]["notes"]
    assert entry["resolved"] == newest
    # The lock names what everybody can get; the edits of this machine show.
    assert home.json("verify")[1]["skills"][0]["changed"] == ["SKILL.md"]
    assert home.json("update", "--yes")[1]["skills"][0]["outcome"] == "current"
    repository.commit({"notes/a.md": b"third\n"})
    home.json("update", "--yes")
    assert "My text." in text(home)
    assert (placed / "a.md").read_bytes() == b"third\n"


def test_keys_of_others_survive_an_update_at_every_level(
    home: Home, repository: Repository
) -> None:
    values = home.lock
    parts = ("scan", "approval", "provenance")
    for part in parts:
        values["skills"]["notes"][part]["theirs"] = part
    (home.work / "prowess.lock").write_text(json.dumps(values), encoding="utf-8")
    repository.commit({"notes/a.md": b"newer\n"})

    assert home.json("update", "--yes")[0] == 0

    entry = home.lock["skills"]["notes"]
    assert [entry[part]["theirs"] for part in parts] == list(parts)
    assert entry["approval"]["digest"] == entry["contentDigest"]


def test_a_preview_shows_difference_findings_and_freshness_and_changes_nothing(
    home: Home, repository: Repository
) -> None:
    old = home.lock["skills"]["notes"]["resolved"]
    newest = repository.commit({"notes/SKILL.md": page(body=f"{BODY}\n{PIPE}")})
    before = home.files()

    code, found = home.json("update", "--preview")

    (one,) = found["skills"]
    assert code == 1
    assert (one["from"], one["to"]) == (old, newest)
    assert "+curl" in one["difference"]
    assert one["scan"]["new"]
    made = repository.git("show", "-s", "--format=%cs", newest)
    approved = home.lock["skills"]["notes"]["approval"]["when"]
    assert one["freshness"] == {"approved": approved, "made": made}
    said = home.text("update", "--preview")[1]
    assert "\n  +curl" in said
    assert f"made on {made}" in said
    assert one["outcome"] == "refused"
    assert home.files() == before
    assert home.text("update", "--yes")[0] == 1
    assert home.files() == before
    last = home.json("audit", "show")[1]["rows"][-1]
    assert (last["event"], last["outcome"]) == ("update", "refused")


def test_a_conflict_is_shown_nothing_is_written_and_a_side_can_be_chosen(
    home: Home, repository: Repository
) -> None:
    edit(home, "Upstream text.", "My text.")
    repository.commit({"notes/SKILL.md": page(body=BODY.replace("Upstream text.", "Their text."))})
    before = home.files()

    code, found = home.json("update", "--yes")

    (conflict,) = found["skills"][0]["conflicts"]
    assert code == 1
    assert conflict["lines"] == [{"local": ["My text.\n"], "upstream": ["Their text.\n"]}]
    assert home.files() == before
    assert "--keep" in home.text("update", "--yes")[1]
    assert home.json("update", "--yes", "--keep", "both")[0] == 0
    assert "My text." in text(home)
    assert "Their text." in text(home)


def test_the_base_is_fetched_again_where_it_is_kept_no_more(
    home: Home, repository: Repository
) -> None:
    edit(home, "More text.", "My text.")
    repository.commit({"notes/a.md": b"newer\n"})
    shutil.rmtree(home.state / "packages")

    assert home.json("update", "--yes")[0] == 0
    assert "My text." in text(home)


def test_a_pinned_skill_stays(home: Home, repository: Repository) -> None:
    home.add(str(repository.folder), "--pin", "main")
    repository.commit({"notes/a.md": b"newer\n"})

    assert home.json("update", "--yes")[1]["skills"][0]["outcome"] == "pinned"


def test_a_signer_who_changed_or_went_is_refused_until_somebody_agrees(
    home: Home, repository: Repository
) -> None:
    lock = home.lock
    lock["skills"]["notes"]["provenance"] = {"signer": "ann@example.com", "issuer": "x"}
    (home.work / "prowess.lock").write_text(json.dumps(lock), encoding="utf-8")
    repository.commit({"notes/a.md": b"newer\n"})

    code, found = home.json("update", "--yes")

    assert code == 1
    assert "ann@example.com" in found["skills"][0]["problem"]
    assert home.json("update", "--yes", "--allow-signer-change")[0] == 0


def _forbid(patch: pytest.MonkeyPatch) -> list[str]:
    """Close every way to a socket or a program, and return who tried."""
    tried: list[str] = []

    def refuse(name: str) -> Callable[..., object]:
        def call(*_words: object, **_named: object) -> object:
            tried.append(name)
            raise OSError(name)

        return call

    patch.setattr(socket, "socket", refuse("socket"))
    patch.setattr(socket, "create_connection", refuse("connection"))
    patch.setattr(socket, "getaddrinfo", refuse("look-up"))
    patch.setattr("subprocess.Popen", refuse("program"))
    return tried


def test_a_lock_is_brought_back_without_a_socket(
    home: Home, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = home.files()
    shutil.rmtree(home.work / "skills")
    shutil.rmtree(repository.folder)
    tried = _forbid(monkeypatch)

    assert "notes would be brought back." in home.text("sync", "--frozen", "--check")[1]
    assert home.json("sync", "--frozen", "--check")[0] == 1
    assert not (home.work / "skills").exists()
    code, found = home.json("sync", "--frozen")

    assert (code, [one["action"] for one in found["steps"]]) == (0, ["restore"])
    assert home.files() == before
    assert home.json("sync", "--frozen", "--check")[0] == 0
    assert tried == []


def test_a_lock_from_another_machine_is_fetched_exactly(
    home: Home,
    repository: Repository,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    lock, before = (home.work / "prowess.lock").read_bytes(), home.files()
    repository.commit({"notes/SKILL.md": page(body="Newer.")})
    other = Home(tmp_path / "bob", monkeypatch, capsys)
    (other.work / "prowess.lock").write_bytes(lock)

    assert other.json("sync", "--frozen")[0] == 0

    assert other.files() == before


def test_a_source_that_gives_something_else_than_the_lock_says_is_refused(
    home: Home, tmp_path: Path
) -> None:
    hub = Hub()
    try:
        hub.publish("notes", "1.0.0", {"SKILL.md": page()})
        home.add("clawhub:notes", "--registry", f"http://{hub.host}")
        shutil.rmtree(home.work / "skills")
        shutil.rmtree(home.state / "packages")
        hub.publish("notes", "1.0.0", {"SKILL.md": page(body="Swapped.")})

        code, found = home.json("sync", "--frozen")
    finally:
        hub.close()

    assert code == 1
    assert "the lock says" in found["steps"][0]["detail"]
    assert not (home.work / "skills/notes").exists()
    assert tmp_path.exists()


@pytest.mark.usefixtures("repository")
def test_what_was_edited_stays_unless_it_is_forced_and_then_waits_in_the_trash(home: Home) -> None:
    edit(home, "More text.", "My text.")

    code, found = home.json("sync", "--frozen")

    assert (code, found["steps"][0]["action"]) == (1, "changed")
    assert "My text." in text(home)
    assert home.json("sync", "--frozen", "--force")[0] == 0
    assert "My text." not in text(home)
    kept = [path.read_text(encoding="utf-8") for path in (home.state / "trash").rglob("SKILL.md")]
    assert any("My text." in one for one in kept)


@pytest.mark.usefixtures("repository")
@pytest.mark.parametrize("is_linked", [False, True], ids=["no SKILL.md", "a link"])
def test_a_skill_that_is_hardly_one_any_more_is_brought_back_too(
    home: Home, *, is_linked: bool
) -> None:
    folder = home.work / "skills/notes"
    if is_linked:
        (folder / "way").symlink_to("/etc")
    else:
        (folder / "SKILL.md").rename(folder / "other.md")

    assert home.json("sync", "--frozen", "--force")[0] == 0

    assert home.text("verify")[0] == 0
    (kept,) = (home.state / "trash").glob("*/skill")
    assert (kept / ("way" if is_linked else "other.md")).is_symlink() is is_linked


def test_only_what_was_added_and_left_alone_is_pruned_and_the_rest_can_be_adopted(
    home: Home, repository: Repository
) -> None:
    write(home.work / "skills/own", {"SKILL.md": page("own")})
    repository.commit({"deploy/SKILL.md": page("deploy")})
    home.add(str(repository.folder), "--skill", "deploy")
    lock = home.lock
    del lock["skills"]["deploy"]
    (home.work / "prowess.lock").write_text(json.dumps(lock), encoding="utf-8")

    _, found = home.json("sync", "--frozen", "--prune")

    actions = {one["name"]: one["action"] for one in found["steps"]}
    assert actions == {"notes": "keep", "deploy": "prune", "own": "unmanaged"}
    assert (home.work / "skills/own/SKILL.md").exists()
    assert home.json("sync", "--frozen", "--adopt")[0] == 0
    assert home.lock["skills"].keys() == {"notes", "own"}
    assert home.json("verify")[0] == 0


@pytest.mark.usefixtures("repository")
@pytest.mark.parametrize(
    "words",
    [("sync",), ("sync", "--prune"), ("sync", "x", "--frozen"), ("update", "gone", "--yes")],
)
def test_what_does_not_go_together_is_said(home: Home, words: tuple[str, ...]) -> None:
    before = home.files()

    assert home.text(*words)[0] == 2
    assert home.files() == before


@pytest.mark.parametrize("cut", ["first", "staged", "swapped", "ready", "gone"])
@pytest.mark.parametrize("then", ["verify", "sync", "add"])
def test_what_a_killed_writer_leaves_beside_the_skills_is_settled_by_whoever_comes_next(
    home: Home, repository: Repository, tmp_path: Path, cut: str, then: str
) -> None:
    repository.commit({"notes/SKILL.md": page(body="Newer.")})
    other = write(tmp_path / "other", {"deploy/SKILL.md": page("deploy")})
    words = ("add", str(other)) if cut == "first" else ("update",)
    skills = home.work / "skills"

    assert in_child(lambda: kill_at(cut, lambda: home.text(*words, "--yes"))) == _KILLED
    assert [one for one in skills.iterdir() if one.name.startswith(".prowess-")]
    third = write(tmp_path / "third", {"bread/SKILL.md": page("bread")})
    deeds = {"sync": ("sync", "--frozen"), "add": ("add", str(third), "--yes")}
    code, said = home.text(*deeds.get(then, ("verify",)))

    assert code == 0, said
    added = {"bread"} if then == "add" else set()
    assert {one.name for one in skills.iterdir()} == {"notes"} | added
    found = (skills / "notes/SKILL.md").read_bytes()
    assert home.lock["skills"]["notes"]["files"]["SKILL.md"] == sha256(found)
    assert (b"Newer." in found) == (cut not in {"first", "staged"})


_KILLED = 9


def kill_at(cut: str, act: Callable[[], object]) -> None:
    """Do something that ends in the middle of its change of a skill's folder."""
    real = transaction.swap

    def swap(root: Root, one: str, other: str) -> bool:
        if cut == "swapped":
            real(root, one, other)
        if cut in {"ready", "gone"}:
            return False
        os._exit(_KILLED)

    def hook(step: str) -> None:
        if step == cut or (cut == "first" and step == "staged"):
            os._exit(_KILLED)

    make = change.SkillFolder.__init__
    vars(change)["swap"] = swap
    change.SkillFolder.__init__ = partialmethod(make, swap_hook=hook)  # type: ignore[method-assign,assignment]
    act()
