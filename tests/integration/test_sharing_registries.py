"""Registries on this machine, honest and hostile: what they promise must be what comes."""

import base64
import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.integration.install_world import redirect, reply, tar, zipped
from tests.integration.sharing_world import Home, Hub, page, sha256
from tests.rows import each_row

FILES = {"SKILL.md": page(), "refs/a.md": b"a\n"}
PACKED = zipped(FILES)


@pytest.fixture
def home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Home:
    return Home(tmp_path / "ann", monkeypatch, capsys)


@pytest.fixture
def hub() -> Iterator[Hub]:
    made = Hub()
    yield made
    made.close()


def indexed(hub: Hub, content: bytes = PACKED, **changes: object) -> dict[str, object]:
    hub.serve("/files/notes.zip", content)
    digest = f"sha256:{sha256(content)}"
    row = {"name": "notes", "type": "archive", "url": "/files/notes.zip", "digest": digest}
    return {**row, **changes}


def test_a_registry_that_speaks_clawhub_is_searched_and_installed_from(
    home: Home, hub: Hub
) -> None:
    hub.publish("notes", "1.0.0", FILES)
    registry = ("--registry", f"http://{hub.host}")

    code, found = home.json("search", "notes", *registry)
    home.add("clawhub:notes", *registry)

    assert (code, found["results"][0]["name"]) == (0, "notes")
    entry = home.lock["skills"]["notes"]
    assert (entry["version"], entry["url"]) == ("1.0.0", f"http://{hub.host}")
    assert entry["resolved"].startswith("sha256:")
    assert (home.work / "skills/notes/refs/a.md").read_bytes() == b"a\n"
    assert home.json("outdated")[0] == 0
    hub.publish("notes", "1.1.0", {"SKILL.md": page(body="Newer.")})
    assert home.json("outdated")[1]["skills"][0]["outdated"]


def test_an_index_of_version_0_2_gives_archives_and_single_pages(home: Home, hub: Hub) -> None:
    hub.serve("/deploy.md", page("deploy"))
    digest = f"sha256:{sha256(page('deploy')).upper()}"
    single = {"name": "deploy", "type": "skill-md", "url": "/deploy.md", "digest": digest}
    site = hub.index(indexed(hub), single)

    home.add(site, "--all")

    assert home.lock["skills"]["notes"]["resolved"] == f"sha256:{sha256(PACKED)}"
    assert (home.work / "skills/deploy/SKILL.md").read_bytes() == page("deploy")
    # However a site writes it, the lock has the same bytes.
    assert home.lock["skills"]["deploy"]["resolved"] == digest.lower()


def test_an_index_of_version_0_1_gives_files_by_name(home: Home, hub: Hub) -> None:
    rows = [{"name": "notes", "description": "d", "files": list(FILES)}]
    hub.put("/.well-known/skills/index.json", {"skills": rows})
    for path, content in FILES.items():
        hub.serve(f"/.well-known/skills/notes/{path}", content)

    home.add(f"http://{hub.host}", "--skill", "notes")

    assert (home.work / "skills/notes/refs/a.md").read_bytes() == b"a\n"


def npm(hub: Hub, content: bytes, promised: bytes | None = None) -> None:
    digest = hashlib.sha512(content if promised is None else promised).digest()
    dist = {
        "tarball": hub.serve("/notes.tgz", content),
        "integrity": f"sha512-{base64.b64encode(digest).decode()}",
    }
    hub.put("/notes/latest", {"name": "notes", "version": "2.0.0", "dist": dist})


def test_an_npm_package_gives_its_skills(home: Home, hub: Hub) -> None:
    packed = {f"package/skills/notes/{path}": content for path, content in FILES.items()}
    npm(hub, tar({"package/package.json": b"{}", **packed}, bits=0o644))

    home.add("npm:notes", "--registry", f"http://{hub.host}")

    entry = home.lock["skills"]["notes"]
    assert (entry["version"], entry["path"]) == ("2.0.0", "skills/notes")


def test_an_archive_at_an_address_is_a_source(home: Home, hub: Hub) -> None:
    home.add(hub.serve("/notes.skill", PACKED))

    assert home.lock["skills"]["notes"]["resolved"] == f"sha256:{sha256(PACKED)}"


def _other_host(hub: Hub) -> str:
    hub.answers["/away.zip"] = redirect("http://127.0.0.2:1/secret.zip")
    return hub.url("/away.zip")


def _private(hub: Hub) -> str:
    hub.answers["/cloud.zip"] = redirect("http://169.254.169.254/latest/meta-data")
    return hub.url("/cloud.zip")


def _endless(hub: Hub) -> str:
    hub.answers["/loop.zip"] = redirect("/loop.zip")
    return hub.url("/loop.zip")


def _short(hub: Hub) -> str:
    return hub.serve("/short.zip", PACKED, Content_Length=str(len(PACKED) + 9))


def _huge(hub: Hub) -> str:
    return hub.serve("/huge.zip", b"x", Content_Length=str(1 << 40))


def _outside(hub: Hub) -> str:
    return hub.serve("/out.zip", zipped({"SKILL.md": page(), "../../evil.md": b"x"}))


def _absolute(hub: Hub) -> str:
    return hub.serve("/abs.zip", zipped({"SKILL.md": page(), "/etc/evil": b"x"}))


def _wrong_digest(hub: Hub) -> str:
    return hub.index(indexed(hub, digest=f"sha256:{sha256(b'another')}"))


def _no_digest(hub: Hub) -> str:
    return hub.index(indexed(hub, digest=""))


def _wrong_name(hub: Hub) -> str:
    return hub.index(indexed(hub, name="official"))


def _name_outside(hub: Hub) -> str:
    return hub.index(indexed(hub, name="../notes"))


def _unknown_type(hub: Hub) -> str:
    return hub.index(indexed(hub, type="script"))


def _unknown_schema(hub: Hub) -> str:
    return hub.index(indexed(hub), schema="9.0.0")


def _index_away(hub: Hub) -> str:
    return hub.index(indexed(hub, url="http://127.0.0.2:1/notes.zip"))


def _no_json(hub: Hub) -> str:
    hub.serve("/.well-known/agent-skills/index.json", b"<html>")
    return f"http://{hub.host}"


def _path_outside(hub: Hub) -> str:
    rows = [{"name": "notes", "files": ["SKILL.md", "../../../x"]}]
    hub.put("/.well-known/skills/index.json", {"skills": rows})
    hub.serve("/.well-known/skills/notes/SKILL.md", page())
    return f"http://{hub.host}"


def _server_error(hub: Hub) -> str:
    hub.answers["/broken.zip"] = reply(b"", 503)
    return hub.url("/broken.zip")


def _twice(hub: Hub) -> str:
    return hub.index(indexed(hub), indexed(hub))


def _twice_in_capitals(hub: Hub) -> str:
    return hub.index(indexed(hub), indexed(hub, name="NOTES"))


LIES: tuple[tuple[Callable[[Hub], str], str], ...] = (
    (_other_host, "127.0.0.2"),
    (_private, "169.254.169.254"),
    (_endless, "redirects"),
    (_short, "ends after"),
    (_huge, "more than"),
    (_outside, "evil.md"),
    (_absolute, "evil"),
    (_wrong_digest, "promise"),
    (_no_digest, "no sha256 digest"),
    (_wrong_name, "official"),
    (_name_outside, "../notes"),
    (_unknown_type, "script"),
    (_unknown_schema, "9.0.0"),
    (_index_away, "127.0.0.2"),
    (_no_json, "no JSON object"),
    (_path_outside, "../../../x"),
    (_server_error, "503"),
    (_twice, "names notes twice"),
    (_twice_in_capitals, "names NOTES twice"),
)


@pytest.mark.parametrize(("lie", "said"), LIES, ids=[lie.__name__ for lie, _ in LIES])
def test_a_server_that_lies_is_named_and_nothing_is_written(
    home: Home, hub: Hub, lie: Callable[[Hub], str], said: str
) -> None:
    code, text = home.text("add", lie(hub), "--all", "--yes")

    assert code == 1, text
    assert said in text
    assert "http" in text, "the address is named"
    assert home.files() == {}
    assert not (home.state / "skills").exists()


ROW = {"path": "SKILL.md", "size": len(page()), "sha256": sha256(page())}


@pytest.mark.parametrize(
    "rows",
    [
        [{**ROW, "sha256": sha256(b"x")}],
        [{**ROW, "size": 1}],
        [ROW, {"path": "more.md", "size": 1, "sha256": sha256(b"x")}],
        [{**ROW, "path": "OTHER.md"}],
    ],
    ids=["digest", "size", "missing", "renamed"],
)
def test_a_registry_that_sends_other_files_than_it_lists_is_refused(
    home: Home, hub: Hub, rows: list[dict[str, object]]
) -> None:
    hub.publish("notes", "1.0.0", {"SKILL.md": page()}, rows=rows)

    code, text = home.text("add", "clawhub:notes", "--registry", f"http://{hub.host}", "--yes")

    assert code == 1
    assert "notes@1.0.0" in text
    assert home.files() == {}


@pytest.mark.parametrize("version", ["../../x", "1.0/../..", "..", "a\\b", "", "1.0\n"])
def test_a_version_that_leads_elsewhere_is_named_and_not_asked_for(
    home: Home, hub: Hub, version: str
) -> None:
    hub.publish("notes", "1.0.0", {"SKILL.md": page()})
    hub.put("/api/v1/skills/notes", {"latestVersion": {"version": version}})
    row = {"version": version, "dist": {"tarball": hub.url("/t.tgz"), "integrity": "sha512-x"}}
    hub.put("/notes/latest", row)
    hub.put("/api/hub/v1/skills/a/notes/versions/latest", {"version": version})

    for asked in ("clawhub:notes", "npm:notes", "hub:a/notes"):
        code, text = home.text("add", asked, "--registry", f"http://{hub.host}", "--yes")
        assert (code, hub.host in text, home.files()) == (1, True, {}), text
        assert "version" in text
        if version:
            pinned = home.text("add", asked, "--registry", f"http://{hub.host}", "--pin", version)
            assert (pinned[0], "version" in pinned[1]) == (1, True), pinned


def test_a_package_that_breaks_its_integrity_is_refused(home: Home, hub: Hub) -> None:
    npm(hub, tar({"package/SKILL.md": page()}, bits=0o644), promised=b"another")

    code, text = home.text("add", "npm:notes", "--registry", f"http://{hub.host}", "--yes")

    assert (code, "integrity" in text, home.files()) == (1, True, {})


def test_without_a_network_the_address_is_named(home: Home, hub: Hub) -> None:
    address = hub.url("/notes.zip")
    hub.close()

    code, text = home.text("add", address, "--yes")

    assert (code, home.files()) == (1, {})
    assert hub.host in text


def test_answers_for_programs_say_the_same(home: Home, hub: Hub) -> None:
    code, found = home.json("add", _wrong_digest(hub), "--all", "--yes")

    assert code == 1
    assert "promise" in json.dumps(found)


@each_row(
    "url",
    ["http://127.0.0.1:9/x.git", "https://10.0.0.7/x.git", "file:///srv/x", "https://[::1]/x"],
)
def test_a_marketplace_sends_nobody_into_a_private_network(url: str, home: Home, hub: Hub) -> None:
    plugins = [{"name": "tools", "source": {"source": "url", "url": url}}]
    place = hub.put("/marketplace.json", {"plugins": plugins})

    code, said = home.text("add", place, "--all", "--yes")

    assert (code, "may not send us there" in said) == (1, True), said
    assert home.files() == {}


def test_a_git_server_that_sends_us_elsewhere_is_not_followed(home: Home, hub: Hub) -> None:
    other = Hub()
    try:
        hub.answers["/x.git/info/refs"] = redirect(other.url("/y.git/info/refs"))
        code, said = home.text("add", hub.url("/x.git"), "--yes")
    finally:
        other.close()

    assert (code, "give the final address" in said) == (1, True), said
    assert other.asked == []
