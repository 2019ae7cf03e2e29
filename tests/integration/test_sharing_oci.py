"""OCI registries: skills are read in the shapes that are in use, written in one, and held to it."""

import base64
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.install_world import tar, zipped
from tests.integration.oci_world import MANIFEST, OciRegistry, sha
from tests.integration.sharing_world import PIPE, Home, page, write
from tests.rows import each_row

from prowess.host.sharing.oci import is_packed

TAR = "application/vnd.oci.image.layer.v1.tar+gzip"
FILES = {"notes/SKILL.md": page(), "notes/ref.md": b"More.\n"}


@pytest.fixture
def home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Home:
    monkeypatch.delenv("DOCKER_CONFIG", raising=False)
    return Home(tmp_path / "ann", monkeypatch, capsys)


@pytest.fixture
def registry() -> Iterator[OciRegistry]:
    made = OciRegistry()
    yield made
    made.close()


def test_what_is_published_can_be_added_is_pinned_and_comes_back(
    home: Home, registry: OciRegistry, tmp_path: Path
) -> None:
    write(tmp_path / "skills", FILES)
    place = f"oci:{registry.host}/team/notes:1.0"

    code, said = home.json("publish", str(tmp_path / "skills/notes"), "--to", place)
    again = home.json("publish", str(tmp_path / "skills/notes"), "--to", place)[1]
    home.add(place)

    entry = home.lock["skills"]["notes"]
    assert code == 0
    assert said == again
    assert entry["resolved"] == said["skills"][0]["digest"] == registry.tags["team/notes:1.0"]
    assert (entry["source"], entry["kind"], entry["ref"]) == (place, "oci", "1.0")
    before = home.files()
    # The tag moves; what is locked is fetched by its digest all the same.
    write(tmp_path / "skills", {"notes/SKILL.md": page(body="Newer.")})
    home.json("publish", str(tmp_path / "skills/notes"), "--to", place)
    for folder in (home.work / "skills", home.state / "packages"):
        shutil.rmtree(folder)
    assert home.json("sync", "--frozen")[0] == 0
    assert home.files() == before
    assert home.json("outdated")[1]["skills"][0]["outdated"] is True
    assert home.json("update", "--yes")[0] == 0
    assert home.lock["skills"]["notes"]["resolved"] == registry.tags["team/notes:1.0"]


def test_several_skills_lie_below_the_name_and_what_is_refused_is_not_written(
    home: Home, registry: OciRegistry, tmp_path: Path
) -> None:
    write(tmp_path / "skills", {**FILES, "deploy/SKILL.md": page("deploy")})

    assert (
        home.text("publish", str(tmp_path / "skills"), "--to", f"oci:{registry.host}/team")[0] == 0
    )
    home.add(f"oci:{registry.host}/team/deploy")

    assert set(registry.tags) == {"team/deploy:latest", "team/notes:latest"}
    asked = len(registry.asked)
    write(tmp_path / "skills", {"deploy/SKILL.md": page("deploy", body=PIPE)})
    assert home.text("publish", str(tmp_path / "skills"), "--to", f"oci:{registry.host}/x")[0] == 1
    assert len(registry.asked) == asked


@each_row("kind", [
    TAR, "application/vnd.oci.image.layer.v1.tar", "application/vnd.agentskills.skill.v1.tar+gzip",
    "application/vnd.agentskills.skill.content.v1.tar+gzip", "application/zip",
    "application/vnd.docker.image.rootfs.diff.tar.gzip", "application/vnd.example.skill.v1+zip",
    "application/tar", "application/tar+gzip",
])  # fmt: skip
def test_layers_of_every_name_in_use_are_read(kind: str) -> None:
    assert is_packed(kind)


def test_images_indexes_and_single_files_are_read(home: Home, registry: OciRegistry) -> None:
    packed = registry.put_blob(tar(FILES), TAR)
    inner = registry.put_layers("team/image", packed)
    registry.put(
        "team/index",
        {
            "schemaVersion": 2,
            "artifactType": "dev.toolhive.skills.v1",
            "manifests": [
                {
                    "mediaType": "x",
                    "digest": sha(b"gone"),
                    "size": 1,
                    "platform": {"os": "unknown"},
                },
                {"mediaType": "x", "digest": inner, "size": 1, "platform": {"os": "linux"}},
            ],
        },
    )
    registry.put_layers("team/zip", registry.put_blob(zipped(FILES), "application/zip"))
    registry.put_layers(
        "team/files",
        registry.put_blob(FILES["notes/SKILL.md"], "text/markdown", title="SKILL.md"),
        registry.put_blob(FILES["notes/ref.md"], "text/markdown", title="ref.md"),
        annotations={"org.opencontainers.image.created": "2026-10-01T00:00:00Z"},
    )

    found = {
        name: home.add(f"oci:{registry.host}/team/{name}")["skills"][0]["contentDigest"]
        for name in ("image", "index", "zip")
    }

    assert len(set(found.values())) == 1
    home.text("remove", "notes")
    (one,) = home.add(f"oci:{registry.host}/team/files")["skills"]
    assert one["contentDigest"] == found["image"]
    home.add(f"oci:{registry.host}/team/image@{inner}", "--pin", inner)
    assert home.json("outdated")[0] == 0


def test_a_registry_that_lies_is_named_and_nothing_is_written(
    home: Home, registry: OciRegistry
) -> None:
    layer = registry.put_blob(tar(FILES), TAR)
    digest = registry.put_layers("a/b", layer)
    blob = f"/v2/a/b/blobs/{layer['digest']}"
    tag, exact = "/v2/a/b/manifests/latest", f"/v2/a/b/manifests/{digest}"
    other = json.dumps({"layers": []}).encode()
    bad = registry.put_blob(b"x", "text/plain", title="../../x")
    rows: list[tuple[str, dict[str, bytes], dict[str, dict[str, str]], str]] = [
        ("a/b", {blob: tar({**FILES, "notes/x": b"x"})}, {}, "not the layer"),
        ("a/b", {tag: b"["}, {}, "no manifest"),
        ("a/b", {tag: other}, {}, "no layers"),
        (f"a/b@{digest}", {exact: other}, {}, "promised"),
        ("a/b", {}, {tag: {"Docker-Content-Digest": sha(b"x")}}, "promised"),
        ("a/b:gone", {}, {}, "HTTP 404"),
    ]
    for name, values in (
        ("size", {"layers": [{**layer, "size": 10**12}]}),
        ("short", {"layers": [{**layer, "size": 1}]}),
        ("digest", {"layers": [{**layer, "digest": "md5:x"}]}),
        ("path", {"layers": [bad]}),
        ("kind", {"layers": [registry.put_blob(b"x", "application/octet-stream")]}),
        ("whiteout", {"layers": [registry.put_blob(tar({"notes/.wh.x": b""}), TAR)]}),
        ("index", {"manifests": []}),
        ("escape", {"layers": [registry.put_blob(tar({"../SKILL.md": page()}), TAR)]}),
    ):
        registry.put(f"a/{name}", values)
        rows.append((f"a/{name}", {}, {}, ""))
    before = home.files()

    for name, lies, headers, said in rows:
        registry.lies, registry.headers = lies, dict(headers)
        code, found = home.text("add", f"oci:{registry.host}/{name}", "--yes")
        assert (code, said in found, "internal" in found) == (1, True, False), (name, found)
        assert home.files() == before


def test_a_login_is_used_and_an_upload_goes_nowhere_else(home: Home, tmp_path: Path) -> None:
    login = base64.b64encode(b"ann:secret").decode()
    write(tmp_path / "skills", FILES)
    registry = OciRegistry(login)
    try:
        words = ("publish", str(tmp_path / "skills"), "--to", f"oci:{registry.host}/team/notes")
        assert "docker login" in home.text(*words)[1]
        kept = json.dumps({"auths": {registry.host: {"auth": login}}}).encode()
        write(home.base / "home/.docker", {"config.json": kept})
        registry.upload_to = "http://127.0.0.1:9/elsewhere"
        assert "127.0.0.1:9" in home.text(*words)[1]
        registry.upload_to = ""
        assert home.text(*words)[0] == 0
        home.add(f"oci:{registry.host}/team/notes")
    finally:
        registry.close()

    assert "secret" not in (home.work / "prowess.lock").read_text(encoding="utf-8")


def test_artifacts_go_to_the_lock_of_toolhive_and_come_back(
    home: Home, registry: OciRegistry
) -> None:
    digest = registry.put_layers("team/notes", registry.put_blob(tar(FILES), TAR))
    home.add(f"oci:{registry.host}/team/notes:latest")
    lock = home.work / "toolhive.lock.yaml"

    assert home.text("lock", "export", "toolhive")[0] == 0
    written = lock.read_bytes()
    home.text("remove", "notes")
    assert home.text("lock", "import", str(lock), "--yes")[0] == 0

    assert f"{registry.host}/team/notes@{digest}" in written.decode()
    entry = home.lock["skills"]["notes"]
    assert (entry["resolved"], entry["pinned"]) == (digest, True)
    bom = home.json("export", "--sbom", "cyclonedx")[1]["components"][0]["purl"]
    assert bom == (
        f"pkg:oci/notes@{digest.replace(':', '%3A')}?repository_url={registry.host}/team/notes"
    )


@each_row("asked", [
    "oci:", "oci:notes", "oci:host/Upper", "oci:host/a:", "oci:host/../a", "oci:host/a@sha256:1",
    "oci:host/a b", "oci:host//a", "oci:host/a?x",
])  # fmt: skip
def test_what_is_no_artifact_is_said(asked: str, home: Home) -> None:
    code, said = home.text("add", asked, "--yes")

    assert (code, "oci:HOST/NAME:TAG" in said) == (1, True)


def test_artifacts_that_are_not_what_they_say_are_refused_and_named(
    home: Home, registry: OciRegistry
) -> None:
    other = {"notes/SKILL.md": page(body="Another.")}
    first = registry.put_layers("a/one", registry.put_blob(tar(FILES), TAR))
    second = registry.put_layers("a/two", registry.put_blob(tar(other), TAR))
    linux = {"mediaType": MANIFEST, "size": 1, "platform": {"os": "linux"}}
    both = [{**linux, "digest": first}, {**linux, "digest": second}]
    page_kind = registry.put_blob(page(), "text/html", title="SKILL.md")
    rows: dict[str, dict[str, object]] = {
        # Of two manifests that both hold a skill nobody says which is meant.
        "two": {"manifests": both},
        "loop": {"manifests": [{**linux, "digest": sha(b"nowhere")}]},
        "absolute": {"layers": [registry.put_blob(tar({"/etc/SKILL.md": page()}), TAR)]},
        "wrong": {"layers": [registry.put_blob(b"no archive at all", TAR)]},
        "upper": {"layers": [{**page_kind, "digest": page_kind["digest"].upper()}]},
        "number": {"layers": [{**page_kind, "digest": 5}]},
        "none": {"layers": [7, None, "x"]},
        "text": {"layers": "x"},
    }
    before = home.files()

    for name, values in rows.items():
        registry.put(f"b/{name}", values)
        code, found = home.text("add", f"oci:{registry.host}/b/{name}", "--yes")
        assert (code, "internal" in found) == (1, False), (name, found)
        assert registry.host in found, (name, found)
        assert home.files() == before, name
    home.add(f"oci:{registry.host}/a/two@{second}")
