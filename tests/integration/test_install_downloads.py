"""Downloads of skills against a server that lies: bounded, contained, whole or not at all."""

import bz2
import hashlib
import io
import os
import subprocess
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from tests.integration.install_world import (
    Entry,
    Server,
    World,
    program,
    redirect,
    reply,
    tar,
    zipped,
)

from prowess.host.tool_downloads import RECORD, ListedHosts, ToolDownloads
from prowess.runtime.install import InstallOutcome, InstallReport, Job, Watch
from prowess.safety.packages import DownloadPlan
from prowess.safety.web_addresses import WebAddress

TREE = {"tool-1.0/bin/frames": program(), "tool-1.0/README": b"read me\n"}


@pytest.fixture
def server() -> Iterator[Server]:
    opened = Server()
    yield opened
    opened.close()


@pytest.fixture
def world(tmp_path: Path, server: Server) -> World:
    made = World(tmp_path)
    made.allow(server.host)
    return made


def entry(url: str, **fields: Any) -> Entry:  # noqa: ANN401 - whatever an entry holds
    return {"id": "dl", "kind": "download", "url": url, "bins": ["frames"], **fields}


def refused(world: World, result: InstallReport) -> str:
    """Return why it failed, having seen that nothing of it stays."""
    assert not result.ok, result
    assert world.installed() == set()
    assert [path for path in world.tools.rglob("*") if path.name.startswith(".prowess")] == []
    return result.message


def job(url: str, **fields: Any) -> Job:  # noqa: ANN401 - whatever a plan holds
    plan = DownloadPlan(url=url, file_name="frames", **fields)
    host = url.split("/")[2]
    return Job(key="frames", option_id="dl", bins=("frames",), plan=plan, private_hosts=(host,))


def carry_out(world: World, wanted: Job, watch: Watch | None = None) -> InstallOutcome:
    return ToolDownloads(str(world.tools), world.environ).carry_out(wanted, watch or Watch())


@pytest.mark.parametrize(
    ("name", "packed"),
    [
        ("t.tar.gz", tar(TREE)),
        ("t.tgz", tar(TREE)),
        ("t.tar.bz2", tar(TREE, "w:bz2")),
        ("t.tar.xz", tar(TREE, "w:xz")),
        ("t.tar", tar(TREE, "w")),
        ("t.zip", zipped(TREE)),
    ],
)
def test_an_archive_is_unpacked_without_its_first_folder_and_its_program_is_linked(
    world: World, server: Server, name: str, packed: bytes
) -> None:
    world.skill(entry(server.serve(f"/{name}", packed), stripComponents=1, targetDir="runtime"))

    result = world.install()

    assert (result.ok, result.message, result.code) == (True, "Installed", 0), result
    assert world.installed() == {
        f"frames/{RECORD}", "frames/runtime/README", "frames/runtime/bin/frames", "bin/frames",
    }  # fmt: skip
    said = subprocess.run([world.tools / "bin/frames"], capture_output=True, check=True)
    assert said.stdout == b"hello\n"
    assert hashlib.sha256(packed).hexdigest() in result.stdout


def test_a_plain_file_becomes_the_one_program_that_is_declared(
    world: World, server: Server
) -> None:
    url = server.serve("/frames-linux-x64", program())
    world.skill(entry(url, sha256=hashlib.sha256(program()).hexdigest()))

    result = world.install()

    assert result.ok, result
    assert (world.tools / "bin/frames").readlink() == Path("../frames/frames-linux-x64")
    assert subprocess.run([world.tools / "bin/frames"], check=True).returncode == 0
    assert not any("sha256" in warning for warning in result.warnings)


def test_an_archive_that_is_not_to_be_unpacked_stays_packed(world: World, server: Server) -> None:
    world.skill(entry(server.serve("/m.tar.gz", tar(TREE)), extract=False, bins=[]))

    assert world.install().ok

    assert world.installed() == {f"frames/{RECORD}", "frames/m.tar.gz"}


def test_another_sha256_than_declared_leaves_nothing(world: World, server: Server) -> None:
    world.skill(entry(server.serve("/t.tar.gz", tar(TREE)), sha256="0" * 64))

    assert "not the file that was expected" in refused(world, world.install())


def test_a_private_host_and_a_missing_checksum_are_pointed_out(
    world: World, server: Server
) -> None:
    world.skill(entry(server.serve("/frames", program())))

    warnings = "\n".join(world.install().warnings)

    assert f"it comes from {server.host}, which skills.install.privateHosts lists" in warnings
    assert "plain http" in warnings
    assert "no sha256" in warnings


@pytest.mark.parametrize("listed", [(), ("127.0.0.1:1",), ("localhost",), ("0.0.0.0/0",), ("*",)])
def test_a_host_that_is_not_listed_is_not_asked(
    world: World, server: Server, listed: tuple[str, ...]
) -> None:
    world.allow(*listed)
    world.skill(entry(server.serve("/frames", program())))

    message = refused(world, world.install())

    assert "only public https is fetched" in message
    assert server.asked == []


@pytest.mark.parametrize(
    "folder",
    [
        "../other",
        "/etc",
        "a/../../b",
        "..",
        "~/x",
        "a\\..\\..\\b",
        "C:\\x",
        "/opt/x",
        "a//b",
        "\x00",
    ],
)
def test_a_folder_outside_is_refused_before_anything_is_asked(
    world: World, server: Server, folder: str
) -> None:
    world.skill(entry(server.serve("/frames", program()), targetDir=folder))

    result = world.install()

    assert result.stderr.startswith("Refusing to install outside the skill tools directory")
    assert (result.code, result.skip_reason) == (None, "unsafe-arguments")
    assert refused(world, result)
    assert server.asked == []


def test_an_absolute_folder_inside_the_skills_own_is_fine(world: World, server: Server) -> None:
    inside = str(world.tools / "frames" / "deep" / "down")
    world.skill(entry(server.serve("/frames", program()), targetDir=inside))

    assert world.install().ok

    assert "frames/deep/down/frames" in world.installed()


def test_a_redirect_is_followed_once_it_was_checked(world: World, server: Server) -> None:
    server.answers["/old"] = redirect("/frames")
    server.serve("/frames", program())
    world.skill(entry(server.url("/old")))

    result = world.install()

    assert result.ok, result
    assert any("redirected to" in warning for warning in result.warnings)


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("/loop", "redirects"),
        ("http://127.0.0.1:1/x", "is not https"),
        ("https://127.0.0.1:1/x", "this machine"),
        ("https://[::1]/x", "this machine"),
        ("http://localhost/x", "is not https"),
        ("https://2130706433/x", "unusual form"),
        ("https://169.254.169.254/latest", "link-local"),
        ("file:///etc/passwd", "is not https"),
        ("ftp://example.com/x", "is not https"),
        ("gopher://x", "is not https"),
        ("", "nowhere"),
        ("http://user:word@{host}/frames", "user name or password"),
    ],
)
def test_a_redirect_that_leads_elsewhere_is_refused(
    world: World, server: Server, location: str, expected: str
) -> None:
    server.answers["/loop"] = redirect(location.format(host=server.host))
    world.skill(entry(server.url("/loop")))

    message = refused(world, world.install())

    assert expected in message
    assert "word" not in message.replace("password", "")


def test_a_public_name_for_a_listed_address_is_not_the_listed_host() -> None:
    transport = ListedHosts(["10.0.0.5:80", "artifacts"])
    public = WebAddress("https", "files.example.com", 443, "/", "https://files.example.com/")
    listed = WebAddress("http", "artifacts", 8080, "/", "http://artifacts:8080/")

    assert "private address" in transport.refusal(public, "10.0.0.5")
    assert transport.refusal(listed, "10.0.0.5") == ""


@pytest.mark.parametrize("size", ["10", "100000", "-1", "1e3", "x", "", "9" * 40])
def test_a_server_that_lies_about_the_size_is_not_believed(
    world: World, server: Server, size: str
) -> None:
    body = program() * 100
    server.answers["/frames"] = reply(body, Content_Length=size)
    world.skill(entry(server.url("/frames")))

    if size == "10":
        # What is beyond the announced end is not read: the file is short, and the checksum tells.
        world.skill(entry(server.url("/frames"), sha256=hashlib.sha256(body).hexdigest()))

    assert refused(world, world.install())


def test_more_than_the_limit_is_refused_while_it_streams(
    world: World, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = []

    def endless(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        while not server.over.is_set():
            handler.wfile.write(b"x" * 65536)
            sent.append(65536)

    server.answers["/frames"] = endless
    monkeypatch.setattr("prowess.host.tool_downloads.MOST_BYTES", 1 << 20)

    outcome = carry_out(world, job(server.url("/frames")))

    assert "more than the 1,048,576 bytes" in outcome.problem
    assert world.installed() == set()


def test_a_server_that_drips_is_left_when_the_time_is_over(world: World, server: Server) -> None:
    def drip(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        while not server.over.wait(0.02):
            handler.wfile.write(b"x")

    server.answers["/frames"] = drip
    world.skill(entry(server.url("/frames")))

    assert "in the time that it has" in refused(world, world.install(timeout_ms=1000))


def test_somebody_who_looks_on_can_stop_a_download(world: World, server: Server) -> None:
    server.serve("/frames", program() * 50_000)
    stop, seen = threading.Event(), []

    def progress(done: int, total: int | None) -> None:
        seen.append((done, total))
        if done:
            stop.set()

    outcome = carry_out(world, job(server.url("/frames")), Watch(progress=progress, stop=stop))

    assert outcome.problem == "it was stopped."
    assert seen[-1][1] == len(program()) * 50_000
    assert world.installed() == set()


def test_an_interruption_removes_what_had_arrived(world: World, server: Server) -> None:
    server.serve("/frames", program() * 50_000)

    def progress(done: int, _total: int | None) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        carry_out(world, job(server.url("/frames")), Watch(progress=progress))

    assert world.installed() == set()
    assert not (world.tools / "frames").exists()


def _member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "", mode: int = 0o644) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        member = tarfile.TarInfo(name)
        member.type, member.linkname, member.mode = kind, link, mode
        member.size = 1 if kind == tarfile.REGTYPE else 0
        archive.addfile(member, io.BytesIO(b"x"))
    return packed.getvalue()


def _twice() -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for data in (b"one", b"two"):
            member = tarfile.TarInfo("frames")
            member.size = 3
            archive.addfile(member, io.BytesIO(data))
    return packed.getvalue()


def _bomb() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("frames", bytes(64 << 20))
    return packed.getvalue()


HOSTILE: Mapping[str, bytes] = {
    "up.tar.gz": _member("../../evil"),
    "up-inside.tar.gz": _member("a/../../../evil"),
    "absolute.tar.gz": _member("/etc/evil"),
    "link.tar.gz": _member("frames", tarfile.SYMTYPE, "/etc/passwd"),
    "hard.tar.gz": _member("frames", tarfile.LNKTYPE, "../../../etc/passwd"),
    "device.tar.gz": _member("frames", tarfile.CHRTYPE),
    "fifo.tar.gz": _member("frames", tarfile.FIFOTYPE),
    "setuid.tar.gz": _member("frames", mode=0o4755),
    "twice.tar.gz": _twice(),
    "case.zip": zipped({"Frames": b"x", "frames": b"y"}),
    "up.zip": zipped({"../evil": b"x"}),
    "drive.zip": zipped({"C:/evil": b"x"}),
    "backslash.zip": zipped({"..\\evil": b"x"}),
    "bomb.zip": _bomb(),
    "bomb.tar.bz2": bz2.compress(bytes(64 << 20)),
    "cut.tar.gz": tar(TREE)[:-40],
    "no.zip": b"<html>not found</html>",
    "ours.tar.gz": tar({RECORD: b"{}"}),
    "ours-too.tar.gz": tar({".prowess-abc/x": b"{}"}),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_archive_leaves_nothing_anywhere(world: World, server: Server, name: str) -> None:
    world.skill(entry(server.serve(f"/{name}", HOSTILE[name])))
    before = {path for path in world.folder.rglob("*") if world.tools not in path.parents}

    message = refused(world, world.install())

    assert message.startswith("Install failed: ")
    after = {path for path in world.folder.rglob("*") if world.tools not in path.parents}
    kept = {path for path in after if {"catalogs"} & {*path.parts} or "reports.db" in path.name}
    assert after - before <= {world.tools, *kept}


def test_more_folders_to_strip_than_there_are_is_refused(world: World, server: Server) -> None:
    world.skill(entry(server.serve("/t.tar.gz", tar(TREE)), stripComponents=3))

    assert "does not lie inside 3 folders" in refused(world, world.install())


def test_a_new_version_takes_the_place_of_the_old_one_and_of_no_other_file(
    world: World, server: Server
) -> None:
    first = entry(
        server.serve("/1.tar.gz", tar({"a": b"1", "old/b": b"1", "frames": program("1")}))
    )
    other = {**entry(server.serve("/o.tar.gz", tar({"model": b"m"}))), "id": "model", "bins": []}
    world.skill(first, other)
    assert world.install(option="dl").ok
    assert world.install(option="model").ok
    (world.tools / "frames/notes").write_text("the user's own", encoding="utf-8")
    world.skill(entry(server.serve("/2.tar.gz", tar({"a": b"2", "frames": program("2")}))), other)

    result = world.install(option="dl")

    assert result.ok, result
    assert world.installed() == {
        f"frames/{RECORD}", "frames/a", "frames/frames", "frames/model", "frames/notes",
        "bin/frames",
    }  # fmt: skip
    assert (world.tools / "frames/a").read_bytes() == b"2"


def test_a_new_version_that_fails_leaves_the_old_one(world: World, server: Server) -> None:
    world.skill(entry(server.serve("/1.tar.gz", tar(TREE))))
    assert world.install().ok
    before = world.installed()
    world.skill(entry(server.serve("/2.tar.gz", HOSTILE["up.tar.gz"])))

    assert not world.install().ok

    assert world.installed() == before
    assert subprocess.run([world.tools / "bin/frames"], check=True).returncode == 0


def test_a_file_that_no_install_put_there_is_not_replaced(world: World, server: Server) -> None:
    world.skill(entry(server.serve("/frames", program())))
    (world.tools / "frames").mkdir(parents=True)
    (world.tools / "frames/frames").write_text("the user's own", encoding="utf-8")

    result = world.install()

    assert "no install put it there" in result.message
    assert (world.tools / "frames/frames").read_text(encoding="utf-8") == "the user's own"
    assert world.installed() == {"frames/frames"}


def test_what_an_install_left_that_was_cut_off_is_tidied_up(world: World, server: Server) -> None:
    world.skill(entry(server.serve("/frames", program())))
    (world.tools / "frames/.prowess-0123/tree").mkdir(parents=True)

    assert world.install().ok

    assert not (world.tools / "frames/.prowess-0123").exists()


def _swapped(world: World, path: Path, outside: Path) -> Callable[[int, int | None], None]:
    """Return what puts a link in the place of a folder as soon as bytes arrive."""

    def progress(done: int, _total: int | None) -> None:
        if done and not path.is_symlink():
            path.rename(world.folder / "moved")
            path.symlink_to(outside)

    return progress


@pytest.mark.parametrize("which", ["tools", "tools/frames"])
@pytest.mark.parametrize("archive", ["", "tar.gz"])
def test_a_root_that_is_swapped_for_a_link_meanwhile_gets_nothing(
    world: World, server: Server, which: str, archive: str
) -> None:
    body = tar(TREE) if archive else program()
    wanted = job(server.serve("/x", body), archive=archive, extract=bool(archive))
    outside = world.folder / "outside"
    (outside / "frames").mkdir(parents=True)

    outcome = carry_out(
        world, wanted, Watch(progress=_swapped(world, world.state / which, outside))
    )

    assert "was swapped" in outcome.problem, outcome
    assert [path for path in outside.rglob("*") if not path.is_dir()] == []
    left = [path for path in (world.folder / "moved").rglob("*") if path.is_file()]
    assert [path.name for path in left if path.suffix != ".lock"] == []


def test_a_root_that_is_swapped_before_the_answer_comes_gets_nothing(
    world: World, server: Server
) -> None:
    outside = world.folder / "outside"
    outside.mkdir()

    def swap(handler: BaseHTTPRequestHandler) -> None:
        world.tools.rename(world.folder / "moved")
        world.tools.symlink_to(outside)
        reply(program())(handler)

    server.answers["/x"] = swap

    outcome = carry_out(world, job(server.url("/x")))

    assert "was swapped" in outcome.problem
    assert list(outside.rglob("*")) == []


def test_a_root_that_is_a_link_already_is_refused_before_anything_is_asked(
    world: World, server: Server
) -> None:
    outside = world.folder / "outside"
    outside.mkdir()
    world.tools.mkdir()
    (world.tools / "frames").symlink_to(outside)
    world.skill(entry(server.serve("/frames", program())))

    result = world.install()

    assert "link" in result.message
    assert (list(outside.iterdir()), server.asked) == ([], [])


def test_an_odd_key_gets_a_folder_of_its_own(world: World, server: Server) -> None:
    url = server.serve("/frames", program())
    world.skill(entry(url), skillKey="../../Odd Key")

    assert world.install().ok

    (folder,) = [path for path in world.tools.iterdir() if path.name not in {"bin", ".locks"}]
    assert folder.name.startswith("odd-key-")
    assert (world.tools / "bin/frames").readlink() == Path(f"../{folder.name}/frames")


def test_a_declared_program_with_a_path_in_its_name_is_not_linked(
    world: World, server: Server
) -> None:
    wanted = job(server.serve("/x", tar(TREE)), archive="tar.gz", extract=True)

    outcome = carry_out(world, replace(wanted, bins=("../frames", "/bin/sh", "..")))

    assert outcome.ok
    assert not (world.tools / "bin").exists()


def test_the_program_in_a_bin_folder_is_meant_before_one_of_the_same_name(
    world: World, server: Server
) -> None:
    files = {"t/frames": b"text", "t/bin/frames": program(), "t/man/frames": b"text"}
    packed = tar(files, bits=0o644)
    world.skill(entry(server.serve("/t.tar.gz", packed)))

    assert world.install().ok

    linked = world.tools / "bin/frames"
    assert linked.readlink() == Path("../frames/t/bin/frames")
    assert os.access(linked, os.X_OK)


def test_two_installs_at_once_end_as_one(world: World, server: Server) -> None:
    wanted = job(server.serve("/x", tar(TREE)), archive="tar.gz", extract=True)
    outcomes: list[InstallOutcome] = []
    threads = [
        threading.Thread(target=lambda: outcomes.append(carry_out(world, wanted))) for _ in range(4)
    ]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [outcome.problem for outcome in outcomes] == [""] * 4
    assert "frames/tool-1.0/bin/frames" in world.installed()


def test_what_others_put_beside_a_tool_stays_with_its_next_version(
    world: World, server: Server
) -> None:
    packed = {version: tar({f"t/{version}": b"", "t/frames": program(version)}) for version in "12"}
    for version in "12":
        world.skill(entry(server.serve("/t.tar.gz", packed[version]), targetDir="runtime"))
        assert world.install().ok
        (world.tools / "frames/runtime/mine").write_text("kept", encoding="utf-8")

    assert sorted(path.name for path in (world.tools / "frames/runtime/t").iterdir()) == [
        "2", "frames",
    ]  # fmt: skip
    assert (world.tools / "frames/runtime/mine").read_text(encoding="utf-8") == "kept"
    assert [path.name for path in world.tools.iterdir() if path.name.startswith(".prowess")] == []


@pytest.mark.parametrize("record", ["", "[]", "{", '{"dl": 3, "x": [1, ""]}', "\xff"])
def test_a_record_that_makes_no_sense_counts_as_none(
    world: World, server: Server, record: str
) -> None:
    world.skill(entry(server.serve("/frames", program())))
    (world.tools / "frames").mkdir(parents=True)
    (world.tools / "frames" / RECORD).write_bytes(record.encode("latin-1"))

    assert world.install().ok


def test_a_folder_of_links_that_is_a_link_itself_gets_none(world: World, server: Server) -> None:
    outside = world.folder / "outside"
    outside.mkdir()
    world.tools.mkdir()
    (world.tools / "bin").symlink_to(outside)
    world.skill(entry(server.serve("/frames", program())))

    result = world.install()

    assert any("behind a link" in warning for warning in result.warnings)
    assert "installed, but not found: frames" in result.warnings
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("target", ["/usr/bin/env", "../../outside", "../other/frames"])
def test_a_link_that_leads_elsewhere_is_not_exchanged(
    world: World, server: Server, target: str
) -> None:
    (world.tools / "bin").mkdir(parents=True)
    (world.tools / "other").mkdir()
    (world.tools / "other/frames").write_text("", encoding="utf-8")
    (world.tools / "bin/frames").symlink_to(target)
    world.skill(entry(server.serve("/frames", program())))

    result = world.install()

    assert result.ok
    assert (world.tools / "bin/frames").readlink() == Path(target)
    assert any("something else has that name there" in warning for warning in result.warnings)


def test_whoever_has_the_folder_on_the_path_is_not_told_to_add_it(
    world: World, server: Server
) -> None:
    world.skill(entry(server.serve("/frames", program())))
    world.environ["PATH"] += f":{world.tools}/bin/"

    assert not any("export PATH" in warning for warning in world.install().warnings)
