"""Each attack by archive is shown to work on a careless reader, and then refused whole."""

import bz2
import gzip
import hashlib
import io
import lzma
import os
import stat
import struct
import tarfile
import warnings
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PureWindowsPath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.errors import ArchiveError, PathError
from prowess.host.files.archives import ArchiveLimits, ArchiveMember, extract, read_archive
from prowess.host.files.containment import Root

SKILL = ("SKILL.md", b"harmless")


def zip_of(*members: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    return zip_with(*(entry_of(name, data) for name, data in members), method=method)


def entry_of(name: str, data: bytes = b"", mode: int = 0o100644) -> tuple[zipfile.ZipInfo, bytes]:
    info = zipfile.ZipInfo("x")
    # Set afterwards: the constructor would clean the name.
    info.filename = name
    info.external_attr = mode << 16
    return info, data


def zip_with(*entries: tuple[zipfile.ZipInfo, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(file, "w") as archive:
        warnings.simplefilter("ignore", UserWarning)
        for info, data in entries:
            archive.writestr(info, data, compress_type=method)
    return file.getvalue()


def tar_entry(name: str, kind: bytes = tarfile.REGTYPE, **fields: object) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.mode = kind, 0o644
    for key, value in fields.items():
        setattr(info, key, value)
    return info


def tar_with(
    *entries: tuple[tarfile.TarInfo, bytes], form: int = tarfile.PAX_FORMAT, **options: object
) -> bytes:
    file = io.BytesIO()
    headers = {str(key): str(value) for key, value in options.items()}
    with tarfile.open(fileobj=file, mode="w", format=form, pax_headers=headers) as archive:
        for info, data in entries:
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data) if data else None)
    return file.getvalue()


def tar_of(*members: tuple[str, bytes]) -> bytes:
    return tar_with(*((tar_entry(name), data) for name, data in members))


def refusal(data: bytes, limits: ArchiveLimits | None = None, strip: int = 0) -> str:
    """Return the rule by which an archive is refused."""
    with pytest.raises(ArchiveError) as refused:
        read_archive(io.BytesIO(data), limits or ArchiveLimits(), strip)
    assert str(refused.value).isprintable()
    assert refused.value.reason in str(refused.value)
    return refused.value.reason


def refused_on_disk(folder: Path, data: bytes, strip: int = 0) -> str:
    """Return the rule, after making sure that unpacking leaves nothing behind anywhere."""
    (folder / "guarded").mkdir()
    (folder / "guarded" / "archive").write_bytes(data)
    before = sorted(folder.rglob("*"))
    for target in (folder / "guarded" / "new", folder / "guarded"):
        with pytest.raises(ArchiveError) as refused:
            extract(folder / "guarded" / "archive", target, strip=strip)
    assert sorted(folder.rglob("*")) == before
    return refused.value.reason


def careless_unzip(data: bytes, folder: Path) -> None:
    """Unpack as a reader does that believes names, modes and sizes."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for info in archive.infolist():
            target = folder / info.filename
            target.parent.mkdir(parents=True, exist_ok=True)
            if stat.S_ISLNK(info.external_attr >> 16):
                target.symlink_to(archive.read(info).decode())
            else:
                target.write_bytes(archive.read(info))


def careless_untar(data: bytes, folder: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        # The attack itself, in a scratch folder.
        archive.extractall(folder, filter="fully_trusted")  # noqa: S202


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder in which the careless reader unpacks."""
    (tmp_path / "careless").mkdir()
    return tmp_path / "careless"


def test_g01_a_zip_that_climbs_out_is_refused_whole(tmp_path: Path, folder: Path) -> None:
    data = zip_of(SKILL, ("../slipped", b"evil"))
    careless_unzip(data, folder)
    assert (tmp_path / "slipped").read_bytes() == b"evil"

    assert refused_on_disk(tmp_path, data) == "segment"


def test_g01_a_tar_that_climbs_out_is_refused_whole(tmp_path: Path, folder: Path) -> None:
    data = tar_of(SKILL, ("../slipped", b"evil"))
    careless_untar(data, folder)
    assert (tmp_path / "slipped").read_bytes() == b"evil"

    assert refused_on_disk(tmp_path, data) == "segment"


def test_g01_an_absolute_name_is_refused(tmp_path: Path, folder: Path) -> None:
    data = zip_of(SKILL, (f"{tmp_path}/absolute", b"evil"))
    careless_unzip(data, folder)
    assert (tmp_path / "absolute").read_bytes() == b"evil"

    assert refused_on_disk(tmp_path, data) == "absolute"


@each_row(
    ("name", "reason"),
    [
        ("C:/evil", "drive"),
        ("C:evil", "drive"),
        ("//server/share/evil", "unc"),
        ("\\\\server\\share\\evil", "backslash"),
        ("..\\..\\evil", "backslash"),
        ("a/../../evil", "segment"),
    ],
)
def test_g01_a_name_that_leaves_on_windows_is_refused_everywhere(name: str, reason: str) -> None:
    home = PureWindowsPath("D:/skills/x")
    assert ".." in (home / name).parts or not (home / name).is_relative_to(home)

    assert refusal(zip_of(SKILL, (name, b"evil"))) == reason
    assert refusal(tar_of(SKILL, (name, b"evil"))) == reason


@each_row(
    ("name", "reason"),
    [
        (".//etc/evil", "absolute"),
        ("././a", "segment"),
        ("a/./b", "segment"),
        ("a//b", "segment"),
        ("a\\b", "backslash"),
    ],
)
def test_g01_a_name_that_readers_would_clean_up_differently_is_refused(
    name: str, reason: str
) -> None:
    assert refusal(zip_of(SKILL, (name, b"evil"))) == reason
    assert refusal(tar_of(SKILL, (name, b"evil"))) == reason


def test_g02_a_tar_link_and_a_file_through_it_are_refused(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "outside").mkdir()
    link = tar_entry("link", tarfile.SYMTYPE, linkname=str(tmp_path / "outside"))
    data = tar_with((link, b""), (tar_entry("link/planted"), b"evil"))
    careless_untar(data, folder)
    assert (tmp_path / "outside" / "planted").read_bytes() == b"evil"

    assert refused_on_disk(tmp_path, data) == "link"


def test_g02_a_hard_link_to_a_file_outside_is_refused(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "secret").write_text("private")
    link = tar_entry("gift", tarfile.LNKTYPE, linkname="../secret")
    careless_untar(tar_with((link, b"")), folder)
    assert (folder / "gift").read_text() == "private"

    assert refused_on_disk(tmp_path, tar_with((link, b""))) == "link"


def test_g02_a_link_inside_the_archive_is_refused_too() -> None:
    link = tar_entry("a", tarfile.SYMTYPE, linkname="SKILL.md")

    assert refusal(tar_with((tar_entry("SKILL.md"), b"x"), (link, b""))) == "link"


def test_g02_a_link_in_a_zip_is_refused(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "outside").mkdir()
    link = entry_of("link", str(tmp_path / "outside").encode(), stat.S_IFLNK | 0o777)
    data = zip_with(link, entry_of("link/planted", b"evil"))
    careless_unzip(data, folder)
    assert (tmp_path / "outside" / "planted").read_bytes() == b"evil"

    assert refused_on_disk(tmp_path, data) == "link"


def test_g02_a_folder_that_windows_would_follow_is_refused() -> None:
    junction = entry_of("junction", b"x")
    junction[0].external_attr |= 0x400

    assert refusal(zip_with(junction)) == "link"


def test_g03_a_setuid_file_is_refused(tmp_path: Path, folder: Path) -> None:
    data = tar_with((tar_entry("run", mode=0o4755), b"evil"))
    careless_untar(data, folder)
    assert (folder / "run").stat().st_mode & stat.S_ISUID

    assert refused_on_disk(tmp_path, data) == "mode-bits"


def test_g03_a_pipe_is_refused(tmp_path: Path, folder: Path) -> None:
    data = tar_with((tar_entry("SKILL.md", tarfile.FIFOTYPE), b""))
    careless_untar(data, folder)
    assert stat.S_ISFIFO((folder / "SKILL.md").stat().st_mode)

    assert refused_on_disk(tmp_path, data) == "special-file"


@pytest.mark.parametrize("mode", [0o4755, 0o2755, 0o1755])
def test_g03_no_special_bit_passes_in_either_kind(mode: int) -> None:
    folder = tar_entry("a", tarfile.DIRTYPE, mode=mode)

    assert refusal(zip_with(entry_of("a", b"", 0o100000 | mode))) == "mode-bits"
    assert refusal(tar_with((folder, b""), (tar_entry("a/b"), b"x"))) == "mode-bits"


@pytest.mark.parametrize("kind", [tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.CONTTYPE, b"Z"])
def test_g03_what_is_neither_file_nor_folder_is_refused(kind: bytes) -> None:
    assert refusal(tar_with((tar_entry("x", kind), b""))) == "special-file"


@pytest.mark.parametrize("kind", [stat.S_IFIFO, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFSOCK])
def test_g03_a_zip_holds_no_devices_either(kind: int) -> None:
    assert refusal(zip_with(entry_of("x", b"", kind | 0o644))) == "special-file"


def test_g03_files_are_written_with_one_of_two_modes(tmp_path: Path) -> None:
    umask = os.umask(0o022)
    try:
        (tmp_path / "x").write_bytes(
            tar_with((tar_entry("run", mode=0o777), b"1"), (tar_entry("read", mode=0o666), b"2"))
        )
        extract(tmp_path / "x", tmp_path / "out")
    finally:
        os.umask(umask)

    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    assert (modes["out"], modes["run"], modes["read"]) == (0o755, 0o755, 0o644)


def test_g04_a_second_entry_that_replaces_a_checked_one_is_refused(
    tmp_path: Path, folder: Path
) -> None:
    data = zip_of(SKILL, ("SKILL.md", b"evil"))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.read(archive.infolist()[0]) == b"harmless"
        # The attack itself, in a scratch folder.
        archive.extractall(folder)  # noqa: S202
    assert (folder / "SKILL.md").read_bytes() == b"evil"

    assert refused_on_disk(tmp_path, data) == "duplicate"
    assert refusal(tar_of(SKILL, ("./SKILL.md", b"evil"))) == "duplicate"
    assert refusal(tar_of(("a", b"x"), ("a/b", b"x"))) == "file-and-folder"


def test_g05_names_that_are_one_file_elsewhere_are_refused(tmp_path: Path) -> None:
    data = zip_of(SKILL, ("skill.md", b"evil"))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        # What a file system does that ignores case.
        disk = {info.filename.casefold(): archive.read(info) for info in archive.infolist()}
    assert disk == {"skill.md": b"evil"}

    assert refused_on_disk(tmp_path, data) == "clash"
    assert refusal(tar_of(("caf\u00e9.md", b"a"), ("cafe\u0301.md", b"b"))) == "clash"
    assert refusal(zip_of(("Scripts/a", b"a"), ("scripts/b", b"b"))) == "clash"


@each_row(
    ("name", "reason"),
    [
        ("CON", "reserved"),
        ("references/NUL", "reserved"),
        ("aux.txt", "reserved"),
        ("COM1.md", "reserved"),
        ("SKILL.md.", "edge"),
        ("SKILL.md ", "edge"),
        ("SKILL.md:hidden", "stream"),
    ],
)
def test_g06_names_that_mean_something_else_on_windows_are_refused(name: str, reason: str) -> None:
    stem = name.rpartition("/")[2].partition(".")[0].upper()
    # What Windows makes of it: a device, the name without its end, or a stream of another file.
    seen = name.rstrip(". ").partition(":")[0]
    assert stem in {"CON", "NUL", "AUX", "COM1"} or seen == "SKILL.md"

    assert refusal(zip_of(SKILL, (name, b"x"))) == reason
    assert refusal(tar_of(SKILL, (name, b"x"))) == reason


def test_g07_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    data = zip_of(("bomb", bytes(8 << 20)))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert len(archive.read("bomb")) > 900 * len(data)

    assert refused_on_disk(tmp_path, data) == "ratio"
    for pack in (gzip.compress, bz2.compress, lzma.compress):
        assert refusal(pack(tar_of(("bomb", bytes(8 << 20))))) == "ratio"


def test_g07_small_files_may_shrink_as_much_as_they_like() -> None:
    found = read_archive(io.BytesIO(zip_of(("spaces.md", b" " * 500_000))))

    assert len(found.members[0].content) == 500_000


@each_row(
    ("limits", "reason"),
    [
        (ArchiveLimits(compressed=100), "compressed"),
        (ArchiveLimits(total=15), "total"),
        (ArchiveLimits(per_file=9), "per-file"),
        (ArchiveLimits(entries=1), "entries"),
        (ArchiveLimits(depth=1), "deep"),
    ],
)
def test_g07_every_limit_holds_for_both_kinds(limits: ArchiveLimits, reason: str) -> None:
    members = (("a/b", b"0123456789"), ("c", b"0123456789"))

    assert refusal(zip_of(*members), limits) == reason
    assert refusal(tar_of(*members), limits) == reason
    if reason != "compressed":
        assert refusal(gzip.compress(tar_of(*members), mtime=0), limits) == reason


def test_g07_a_packed_tar_that_never_ends_is_stopped_by_the_limit() -> None:
    noise = hashlib.shake_128(b"seed").digest(5 << 20)
    limits = ArchiveLimits(total=1 << 20, entries=10)

    assert refusal(gzip.compress(noise, mtime=0), limits) == "total"


def test_g07_an_archive_inside_an_archive_stays_a_file(tmp_path: Path) -> None:
    inner = zip_of(("../slipped", b"evil"))
    (tmp_path / "x.zip").write_bytes(zip_of(("assets/inner.zip", inner)))

    assert extract(tmp_path / "x.zip", tmp_path / "out") == ("assets/inner.zip",)
    assert (tmp_path / "out" / "assets" / "inner.zip").read_bytes() == inner


CENTRAL = struct.Struct("<4s6H3L5H2L")
END = struct.Struct("<4s4H2LH")


def zip_by_hand(locals_part: bytes, rows: Sequence[tuple[bytes, int, bytes]], **end: int) -> bytes:
    """Return a zip whose directory has `rows` of name, offset and (stored) content."""
    central = b"".join(
        CENTRAL.pack(b"PK\1\2", 20, 20, 0, 0, 0, 0, zlib.crc32(data), len(data), len(data),
                     len(name), 0, 0, 0, 0, 0, offset) + name
        for name, offset, data in rows
    )  # fmt: skip
    count = end.get("count", len(rows))
    offset = end.get("offset", len(locals_part))
    disk = end.get("disk", 0)
    tail = END.pack(b"PK\5\6", disk, disk, count, count, len(central), offset, 0)
    return locals_part + central + tail


def local(name: bytes, data: bytes, **fields: int) -> bytes:
    head = struct.pack("<4s5H3L2H", b"PK\3\4", 20, fields.get("flags", 0), fields.get("method", 0),
                       0, 0, fields.get("crc", zlib.crc32(data)), fields.get("packed", len(data)),
                       fields.get("size", len(data)), len(name), 0)  # fmt: skip
    return head + name + data


def test_g07_entries_that_share_their_data_are_refused() -> None:
    inner = local(b"b", b"x" * 100)
    outer = local(b"a", inner)
    rows = [(b"a", 0, inner), (b"b", len(outer) - len(inner), b"x" * 100)]
    data = zip_by_hand(outer, rows)
    assert sum(len(content) for _, _, content in rows) > len(inner)
    assert zipfile.ZipFile(io.BytesIO(data)).namelist() == ["a", "b"]

    assert refusal(data) == "overlap"
    assert refusal(zip_by_hand(inner, [(b"b", 0, b"x" * 100)] * 2)) == "overlap"


def test_g07_a_size_that_lies_is_found_while_reading() -> None:
    honest = zip_of(("a", b"x" * 5000))
    lying = honest.replace(struct.pack("<L", 5000), struct.pack("<L", 5))
    assert sum(info.file_size for info in zipfile.ZipFile(io.BytesIO(lying)).infolist()) == 5
    engine = zlib.decompressobj(-15)
    assert len(engine.decompress(lying[31:])) == 5000

    assert refusal(lying) == "corrupt"
    more = honest.replace(struct.pack("<L", 5000), struct.pack("<L", 6000))
    assert refusal(more) in {"corrupt", "size-mismatch"}


@each_row(
    ("data", "reason"),
    [
        (zip_by_hand(local(b"other", b"x"), [(b"a", 0, b"x")]), "corrupt"),
        (zip_by_hand(local(b"a", b"x"), [(b"a", 3, b"x")]), "prepended"),
        (zip_by_hand(local(b"a", b"x"), [(b"a", 0, b"x"), (b"b", 32, b"x")]), "overlap"),
        (zip_by_hand(local(b"\xff", b"x"), [(b"\xff", 0, b"x")]), "name-encoding"),
        (zip_by_hand(local(b"", b"x"), [(b"", 0, b"x")]), "absolute"),
        (zip_by_hand(local(b"a/", b"x"), [(b"a/", 0, b"x")]), "kind-mismatch"),
        (zip_of(SKILL) + b"more", "trailing-data"),
        (zip_of(SKILL)[:-1], "corrupt"),
        (zip_of(SKILL)[:-22], "corrupt"),
        (b"#!/bin/sh\nexit\n" + zip_of(SKILL), "archive-format"),
        (zip_of(), "archive-format"),
        (zip_of(SKILL) + zip_of(("evil", b"x")), "prepended"),
        (zip_of(("a/", b"")), "empty"),
        (zip_of(("/", b"")), "absolute"),
        (zip_of(SKILL, method=zipfile.ZIP_LZMA), "compression"),
        (zip_of(SKILL, method=zipfile.ZIP_BZIP2), "compression"),
        (zip_with(entry_of("a", b"x", stat.S_IFDIR | 0o755)), "kind-mismatch"),
    ],
)
def test_g07_a_zip_that_is_damaged_or_hides_something_is_refused(data: bytes, reason: str) -> None:
    assert refusal(data) == reason


def test_g07_a_zip_that_is_encrypted_is_refused() -> None:
    data = zip_by_hand(local(b"a", b"x"), [(b"a", 0, b"x")])
    central = data.index(b"PK\1\2")
    marked = data[:6] + b"\1\0" + data[8 : central + 8] + b"\1\0" + data[central + 10 :]

    assert zipfile.ZipFile(io.BytesIO(marked)).infolist()[0].flag_bits & 1
    assert refusal(marked) == "encrypted"


def with_extra(extra: bytes, **sizes: int) -> bytes:
    """Return a zip of one entry with an extra field in the directory."""
    size = sizes.get("size", 1)
    row = CENTRAL.pack(b"PK\1\2", 45, 45, 0, 0, 0, 0, zlib.crc32(b"x"), 1, size, 1, len(extra),
                       0, 0, 0, 0, 0) + b"a" + extra  # fmt: skip
    part = local(b"a", b"x")
    return part + row + END.pack(b"PK\5\6", 0, 0, 1, 1, len(row), len(part), 0)


FULL = 0xFFFFFFFF


def test_g07_extra_fields_that_agree_are_taken() -> None:
    wide = with_extra(struct.pack("<HHQ", 1, 8, 1), size=FULL)
    named = with_extra(struct.pack("<HHBL", 0x7075, 6, 1, 0) + b"a" + b"\0\0")

    for data in (wide, named):
        assert read_archive(io.BytesIO(data)).members == (
            ArchiveMember("a", b"x", executable=False),
        )


def with_zip64_end(data: bytes, *, rows: int = 1, gap: bytes = b"", disks: int = 1) -> bytes:
    _, _, _, _, _, size, offset, _ = END.unpack(data[-22:])
    record = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, rows, rows, size, offset)
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, len(data) - 22, disks)
    return data[:-22] + record + gap + locator + data[-22:]


class OneWay(io.BytesIO):
    """A stream that cannot go back, as a zip is written to a pipe."""

    def tell(self) -> int:
        raise io.UnsupportedOperation


def test_g07_a_zip_that_was_streamed_is_taken() -> None:
    stream = OneWay()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(*SKILL)
        with archive.open("wide", "w", force_zip64=True) as wide:
            wide.write(b"wide")
    data = stream.getvalue()
    assert b"PK\7\10" in data

    assert [member.path for member in read_archive(io.BytesIO(data)).members] == [
        "SKILL.md",
        "wide",
    ]


def test_g07_data_that_cannot_be_unpacked_is_refused() -> None:
    data = zip_of(("a", b"x" * 50))
    start = 30 + 1

    assert refusal(data[:start] + b"\xff\xff" + data[start + 2 :]) == "corrupt"
    packed = gzip.compress(tar_of(SKILL), mtime=0)
    assert refusal(packed[:-4]) == "truncated"
    assert refusal(packed[:20] + b"\xff" * 20 + packed[40:]) == "corrupt"
    assert refusal(packed + b"more") == "trailing-data"
    assert refusal(gzip.compress(b"", mtime=0) * 1001) == "corrupt"


def test_g07_packed_parts_one_after_the_other_are_one_tar() -> None:
    data = tar_of(SKILL)

    for pack in (gzip.compress, bz2.compress, lzma.compress):
        found = read_archive(io.BytesIO(pack(data[:700]) + pack(data[700:])))
        assert found.members == (ArchiveMember("SKILL.md", b"harmless", executable=False),)


def patched(data: bytes, at: int, new: bytes) -> bytes:
    """Return a tar with its first header changed and its checksum right again."""
    block = bytearray(data[:512])
    block[at : at + len(new)] = new
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block) + data[512:]


def extended(kind: bytes, body: bytes, name: str = "SKILL.md") -> bytes:
    """Return a tar of one file after an extension header made by hand."""
    info = tar_entry("extension", kind)
    info.size = len(body)
    head = info.tobuf(tarfile.USTAR_FORMAT) + body + bytes(-len(body) % 512)
    return head + tar_with((tar_entry(name), b"harmless"), form=tarfile.USTAR_FORMAT)


def record(key: bytes, value: bytes) -> bytes:
    body = b" " + key + b"=" + value + b"\n"
    length = len(body) + len(str(len(body) + 2))
    return b"%d" % length + body


@each_row(
    ("data", "reason"),
    [
        (extended(b"x", record(b"path", b"../evil")), "segment"),
        (extended(b"x", record(b"size", b"-512")), "size-mismatch"),
        (extended(b"x", record(b"linkpath", b"/etc")), "link"),
        (extended(b"x", record(b"GNU.sparse.major", b"1")), "sparse"),
        (extended(b"x", b"0 path=a\n"), "corrupt"),
        (extended(b"x", record(b"path", b"\xff")), "name-encoding"),
        (extended(b"g", record(b"path", b"everything")), "global-header"),
        (extended(b"g", record(b"size", b"0")), "global-header"),
        (extended(b"L", b"../evil\0"), "segment"),
        (extended(b"L", b"x" * (1 << 20) + b"\0"), "extension"),
        (extended(b"x", b"1" * 60_000), "extension"),
        (extended(b"K", b"/etc\0"), "link"),
        (extended(b"x", record(b"path", b"a"))[:1024] + bytes(1024), "corrupt"),
        (extended(b"g", record(b"comment", b"x"))[:1024] * 5000 + tar_of(SKILL), "corrupt"),
        (patched(tar_of(SKILL), 124, b"-0000000010\0"), "tar-number"),
        (patched(tar_of(SKILL), 124, b"\xff" * 12), "tar-number"),
        (patched(tar_of(SKILL), 124, b"77777777777\0"), "corrupt"),
        (patched(tar_of(SKILL), 108, b"!!!!!!!\0"), "corrupt"),
        (patched(tar_of(SKILL), 156, b"5"), "kind-mismatch"),
        (patched(tar_of(SKILL), 156, b"S"), "sparse"),
        (b"x" + tar_of(SKILL)[1:], "corrupt"),
        (tar_of(SKILL)[:1024], "truncated"),
        (tar_of(SKILL)[:700], "corrupt"),
        (tar_of(SKILL) + b"more", "trailing-data"),
        (tar_of(SKILL) + tar_of(("evil", b"x")), "trailing-data"),
        (gzip.compress(b"no tar at all", mtime=0), "corrupt"),
        (b"", "archive-format"),
        (b"\x28\xb5\x2f\xfd", "archive-format"),
    ],
)
def test_g07_a_tar_that_is_damaged_or_hides_something_is_refused(data: bytes, reason: str) -> None:
    assert refusal(data) == reason


AMBIGUOUS = [
    zip_by_hand(local(b"a", b"x", size=2), [(b"a", 0, b"x")]),
    zip_by_hand(local(b"a", b"x", packed=0), [(b"a", 0, b"x")]),
    zip_by_hand(local(b"a", b"x", crc=0), [(b"a", 0, b"x")]),
    zip_by_hand(local(b"a", b"x", method=8), [(b"a", 0, b"x")]),
    zip_by_hand(local(b"a", b"x", flags=1), [(b"a", 0, b"x")]),
    zip_by_hand(local(b"a", b"x") + b"hidden", [(b"a", 0, b"x")]),
    zip_by_hand(local(b"a", b"x") * 2, [(b"a", 0, b"x")]),
    zip_by_hand(local(b"a", b"x"), [(b"a", 0, b"x")], disk=1),
    zip_by_hand(local(b"a", b"x"), [(b"a", 0, b"x")], count=2),
    zip_by_hand(local(b"a", b"x"), [(b"a", 0, b"x")], count=0),
    with_extra(b"", size=FULL),
    with_extra(struct.pack("<HHQ", 1, 8, 1)),
    with_extra(struct.pack("<HHL", 1, 4, 1), size=FULL),
    with_extra(struct.pack("<HHQ", 1, 8, 1 << 40), size=FULL),
    with_extra(struct.pack("<HHQ", 1, 8, 1) * 2, size=FULL),
    with_extra(struct.pack("<HH", 1, 80)),
    with_extra(b"\1"),
    with_extra(struct.pack("<HHBL", 0x7075, 6, 1, 0) + b"b"),
    with_zip64_end(zip_of(SKILL)),
    with_zip64_end(zip_of(SKILL), rows=2),
    with_zip64_end(zip_of(SKILL), gap=b"hidden"),
    with_zip64_end(zip_of(SKILL), disks=2),
    extended(b"x", record(b"path", b"a/")),
    extended(b"x", record(b"size", b"1")),
    extended(b"x", record(b"hdrcharset", b"BINARY")),
    extended(b"x", record(b"path", b"a") * 2),
    extended(b"x", b"99 path=a\n"),
    extended(b"x", b"nonsense"),
    extended(b"x", b"")[:512] * 2 + tar_of(SKILL),
    extended(b"x", record(b"path", b"a"))[:1024] + extended(b"L", b"b\0"),
    patched(patched(tar_of(SKILL), 257, b"ustar  \0"), 345, b"x"),
    patched(tar_of(SKILL), 257, b"ustarXXX"),
]


def test_g07_what_readers_see_differently_is_refused_or_is_what_was_scanned(tmp_path: Path) -> None:
    for number, data in enumerate(AMBIGUOUS):
        seen: dict[str, bytes] = {}
        archive, out = tmp_path / "archive", tmp_path / f"out{number}"
        archive.write_bytes(data)

        with suppress(ArchiveError):
            extract(archive, out, scan=seen.update)

        files = [path for path in out.rglob("*") if not path.is_dir()]
        assert {str(path.relative_to(out)): path.read_bytes() for path in files} == seen
        assert all(path.is_file() and not path.is_symlink() for path in files)


def test_g07_what_honest_tars_say_besides_is_taken() -> None:
    long = "references/" + "n" * 150
    commit = extended(b"g", record(b"comment", b"0" * 40))
    times = extended(b"x", record(b"mtime", b"1.5") + record(b"LIBARCHIVE.xattr.a", b"\xff"))
    gnu = tar_with((tar_entry(long), b"x"), form=tarfile.GNU_FORMAT)
    split = tar_with((tar_entry("a" * 80 + "/" + "b" * 80), b"x"), form=tarfile.USTAR_FORMAT)
    dotted = tar_with((tar_entry("./", tarfile.DIRTYPE), b""), (tar_entry("./SKILL.md"), b"x"))

    for data, path in [
        (commit, "SKILL.md"),
        (times, "SKILL.md"),
        (gnu, long),
        (tar_of((long, b"x")), long),
        (split, "a" * 80 + "/" + "b" * 80),
        (dotted, "SKILL.md"),
    ]:
        assert [member.path for member in read_archive(io.BytesIO(data)).members] == [path]


def test_g08_an_archive_swapped_after_its_check_changes_nothing(
    tmp_path: Path, folder: Path
) -> None:
    good, evil = zip_of(SKILL), zip_of(("SKILL.md", b"evilevil"))
    archive = tmp_path / "x.zip"
    archive.write_bytes(good)
    with zipfile.ZipFile(archive) as checked:
        assert checked.read("SKILL.md") == b"harmless"
    archive.write_bytes(evil)
    with zipfile.ZipFile(archive) as used:
        # The attack itself, in a scratch folder.
        used.extractall(folder)  # noqa: S202
    assert (folder / "SKILL.md").read_bytes() == b"evilevil"

    for swap in ("another file", "the same file"):
        archive.write_bytes(good)

        def scan(files: Mapping[str, bytes], swap: str = swap) -> None:
            assert files == {"SKILL.md": b"harmless"}
            if swap == "another file":
                archive.unlink()
            archive.write_bytes(evil)

        extract(archive, tmp_path / swap, scan=scan)
        assert (tmp_path / swap / "SKILL.md").read_bytes() == b"harmless"


def test_g08_the_hash_is_of_the_bytes_that_the_members_came_from() -> None:
    data = zip_of(SKILL)

    assert read_archive(io.BytesIO(data)).sha256 == hashlib.sha256(data).hexdigest()


def test_g09_a_path_that_escapes_only_without_its_first_folders_is_refused(
    tmp_path: Path, folder: Path
) -> None:
    name = "a/b/../../slipped"
    assert not os.path.normpath(name).startswith("..")
    stripped = folder / "/".join(name.split("/")[2:])
    stripped.write_bytes(b"evil")
    assert (tmp_path.parent / "slipped").read_bytes() == b"evil"
    (tmp_path.parent / "slipped").unlink()

    assert refused_on_disk(tmp_path, tar_of(SKILL, (name, b"evil")), strip=2) == "segment"


def test_g09_names_are_judged_before_and_after_the_strip() -> None:
    assert refusal(tar_of(("../a", b"x")), strip=1) == "segment"
    assert refusal(tar_of(("CON/a", b"x")), strip=1) == "reserved"
    assert refusal(tar_of(("a/x", b"x"), ("b/x", b"x")), strip=1) == "duplicate"
    assert refusal(tar_of(("a/x", b"x"), ("b/X", b"x")), strip=1) == "clash"
    assert refusal(tar_of(("a/x", b"x"), ("top", b"x")), strip=1) == "strip"
    found = read_archive(io.BytesIO(zip_of(("top/", b""), ("top/a/b", b"x"))), strip=1)
    assert [member.path for member in found.members] == ["a/b"]


@pytest.mark.parametrize(
    "letter", ["\n", "\r", "\t", "\x1b", "\x7f", "\x9b", "\u202e", "\u2066", "\u200b", "\ufeff"]
)
def test_g10_a_name_that_a_terminal_would_obey_is_refused_and_spelled_out(
    folder: Path, letter: str
) -> None:
    name = f"a{letter}b"
    careless_untar(tar_of((name, b"x")), folder)
    assert [path.name for path in folder.iterdir()] == [name]

    for data in (zip_of((name, b"x")), tar_of((name, b"x"))):
        with pytest.raises(ArchiveError) as refused:
            read_archive(io.BytesIO(data))
        assert refused.value.reason == "invisible"
        assert letter not in str(refused.value)
        assert "\\" in refused.value.member


def test_g11_a_path_that_is_too_deep_or_too_long_is_refused(tmp_path: Path, folder: Path) -> None:
    deep = "/".join("d" * 40)
    careless_untar(tar_of((deep, b"x")), folder)
    assert (folder / deep).exists()

    assert refused_on_disk(tmp_path, tar_of((deep, b"x"))) == "deep"
    assert refusal(zip_of(("/".join(["d" * 80] * 4), b"x"))) == "long"
    assert refusal(tar_of(("n" * 300, b"x"))) == "long"
    allowed = read_archive(io.BytesIO(zip_of(("/".join("d" * 12), b"x"))))
    assert allowed.members[0].path == "/".join("d" * 12)


def test_what_a_scan_refuses_is_never_written(tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_bytes(zip_of(SKILL))

    def scan(_: Mapping[str, bytes]) -> None:
        raise ArchiveError("SKILL.md", "scan", "is not safe.")

    with pytest.raises(ArchiveError, match="not safe"):
        extract(tmp_path / "x.zip", tmp_path / "deep" / "out", scan=scan)

    assert list(tmp_path.iterdir()) == [tmp_path / "x.zip"]


def test_an_archive_joins_a_folder_but_replaces_nothing(tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_bytes(zip_of(("a/b", b"1"), ("c", b"2")))
    root = tmp_path / "root"
    root.mkdir()
    (root / "mine").write_text("kept")

    assert extract(tmp_path / "x.zip", root) == ("a/b", "c")
    assert sorted(path.name for path in root.iterdir()) == ["a", "c", "mine"]
    (root / "a" / "b").write_text("changed")
    with Root.open(root) as opened, pytest.raises(PathError, match="exists already"):
        extract(tmp_path / "x.zip", opened)
    assert (root / "a" / "b").read_text() == "changed"
    assert sorted(path.name for path in root.iterdir()) == ["a", "c", "mine"]


def test_staged_files_are_private_and_a_failure_takes_all_of_them_back(tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_bytes(zip_of(("a", b"1"), ("b", b"2")))
    root = tmp_path / "root"
    root.mkdir()
    modes: list[int] = []

    def hook(step: str) -> None:
        staged = [path for path in root.iterdir() if path.name.startswith(".prowess-")]
        modes.extend(stat.S_IMODE(path.stat().st_mode) for path in staged)
        if step == "before-rename" and (root / "a").exists():
            raise OSError(28, "No space left on device")

    with Root.open(root, swap_hook=hook) as opened, pytest.raises((PathError, OSError)):
        extract(tmp_path / "x.zip", opened)

    assert set(modes) == {0o700}
    assert list(root.iterdir()) == []


@pytest.mark.parametrize("name", ["missing", "folder", "pipe"])
def test_an_archive_that_is_no_file_is_an_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(PathError):
        extract(tmp_path / name, tmp_path / "out")


PIECES = st.sampled_from(
    ["..", ".", "", "a", "A", "b", "link", "\\", "C:", "CON", "x.", "\u202e", "\u00e9", "e\u0301"]
)
NAMES = st.lists(PIECES, min_size=1, max_size=5).map("/".join)
TAR_KINDS = st.sampled_from(
    [tarfile.REGTYPE] * 5
    + [tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.AREGTYPE]
)
ZIP_MODES = st.sampled_from([0, 0o100644, 0o100644, 0o100755, 0o120777, 0o104755, 0o40755])


@st.composite
def tars(draw: st.DrawFn) -> bytes:
    entries = []
    for name, kind in draw(st.lists(st.tuples(NAMES, TAR_KINDS), max_size=4)):
        linkname = draw(NAMES) if kind in {tarfile.SYMTYPE, tarfile.LNKTYPE} else ""
        data = b"data" if kind in {tarfile.REGTYPE, tarfile.AREGTYPE} else b""
        entries.append((tar_entry(name, kind, linkname=linkname), data))
    form = draw(st.sampled_from([tarfile.PAX_FORMAT, tarfile.GNU_FORMAT]))
    data = tar_with(*entries, form=form)
    return draw(st.sampled_from([data, gzip.compress(data, mtime=0), lzma.compress(data)]))


@st.composite
def zips(draw: st.DrawFn) -> bytes:
    members = draw(st.lists(st.tuples(NAMES, ZIP_MODES), max_size=4))
    return zip_with(*(entry_of(name, b"data", mode) for name, mode in members))


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """Draw an honest archive with a few bytes changed."""
    honest = st.sampled_from([zip_of, tar_of])
    data = bytearray(draw(honest)(("a/b", b"data"), ("c", b"data" * 9)))
    for _ in range(draw(st.integers(1, 4))):
        data[draw(st.integers(0, min(len(data), 2600) - 1))] = draw(st.integers(0, 255))
    return bytes(data)


def unpacked(archive: Path, target: Path, strip: int) -> tuple[str, ...]:
    """Return what was unpacked; nothing where the archive is refused."""
    try:
        return extract(archive, target, strip=strip)
    except ArchiveError as refused:
        if not str(refused).isprintable():
            raise
        return ()


@settings(max_examples=250, deadline=None)
@given(data=st.one_of(tars(), zips(), damaged()), strip=st.integers(0, 2))
def test_any_archive_is_unpacked_inside_or_refused_whole(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, strip: int
) -> None:
    top = tmp_path_factory.mktemp("top")
    (top / "x").write_bytes(data)

    paths = unpacked(top / "x", top / "out" / "skill", strip)

    found = [path for path in top.rglob("*") if not path.is_dir() and path != top / "x"]
    assert sorted(found) == sorted(top / "out" / "skill" / path for path in paths)
    assert all(path.is_file() and not path.is_symlink() for path in found)
    assert (top / "out").exists() == bool(paths)
