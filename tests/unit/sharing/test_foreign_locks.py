"""Locks of other tools: read into sources, and written without losing what is theirs."""

import hashlib
import json

import pytest
import yaml
from tests.rows import each_row

from prowess.errors import LockError
from prowess.sharing.foreign_locks import (
    FILE_NAMES,
    ForeignFormat,
    ForeignRequest,
    find_format,
    read_foreign,
    write_foreign,
)
from prowess.sharing.lock import Lock, LockEntry

COMMIT = "a" * 40
VERCEL = {
    "version": 1,
    "skills": {
        "notes": {
            "source": "acme/skills",
            "ref": "main",
            "sourceType": "github",
            "skillPath": "tools/notes/SKILL.md",
            "computedHash": "0" * 64,
            "subagents": ["x"],
        },
        "theirs": {"source": "./local", "sourceType": "local", "computedHash": "1" * 64},
    },
}
CLAWHUB = {
    "version": 1,
    "skills": {
        "notes": {"version": "1.2.0", "installedAt": 1763300000000, "pinned": True},
        "other": {"version": None, "installedAt": 5},
    },
}
APM = {
    "lockfile_version": "1",
    "generated_at": "2026-01-01T00:00:00+00:00",
    "apm_version": "0.35.0",
    "dependencies": [
        {
            "repo_url": "acme/skills",
            "host": "github.com",
            "resolved_commit": COMMIT,
            "resolved_ref": "main",
            "virtual_path": "tools/notes",
            "is_virtual": True,
            "package_type": "claude_skill",
            "deployed_files": [".github/skills/notes"],
        }
    ],
    "mcp_servers": ["x"],
}
TOOLHIVE = {
    "version": 1,
    "skills": [
        {
            "name": "notes",
            "source": "git://github.com/acme/skills@main#tools/notes",
            "resolvedReference": f"git://github.com/acme/skills@{COMMIT}#tools/notes",
            "digest": COMMIT,
            "contentDigest": "sha256:" + "0" * 64,
            "explicit": True,
        },
        {"name": "oci", "source": "ghcr.io/acme/x:1", "digest": "sha256:" + "1" * 64},
    ],
    "plugins": [{"name": "p"}],
}
FILES = {
    ForeignFormat.VERCEL: json.dumps(VERCEL, indent=2).encode() + b"\n",
    ForeignFormat.CLAWHUB: json.dumps(CLAWHUB, indent=2).encode() + b"\n",
    ForeignFormat.APM: yaml.safe_dump(APM, sort_keys=False).encode(),
    ForeignFormat.TOOLHIVE: yaml.safe_dump(TOOLHIVE, sort_keys=False).encode(),
}
OURS = LockEntry(
    source="acme/skills/tools/notes@main",
    kind="git",
    url="https://github.com/acme/skills.git",
    path="tools/notes",
    ref="main",
    resolved=COMMIT,
)
HUB = "https://github.com/acme/skills.git"


@each_row(
    ("kind", "source", "path", "pin"),
    [
        (ForeignFormat.VERCEL, f"{HUB}@main", "tools/notes", ""),
        (ForeignFormat.CLAWHUB, "clawhub:notes@1.2.0", "", "1.2.0"),
        (ForeignFormat.APM, HUB, "tools/notes", COMMIT),
        (ForeignFormat.TOOLHIVE, HUB, "tools/notes", COMMIT),
    ],
)
def test_each_is_read_into_a_source_of_ours(
    kind: ForeignFormat, source: str, path: str, pin: str
) -> None:
    found = {one.name: one for one in read_foreign(kind, FILES[kind], "x")}

    assert (found["notes"].source, found["notes"].path, found["notes"].pin) == (source, path, pin)
    if kind is ForeignFormat.TOOLHIVE:
        artifact = found["oci"]
        assert (artifact.source, artifact.pin) == ("oci:ghcr.io/acme/x:1", "sha256:" + "1" * 64)


@each_row("kind", list(ForeignFormat))
def test_a_file_in_which_nothing_changes_is_the_same_bytes(kind: ForeignFormat) -> None:
    entry = LockEntry(source="clawhub:notes", kind="clawhub", version="1.2.0", pinned=True)
    ours = entry if kind is ForeignFormat.CLAWHUB else OURS
    request = ForeignRequest(lock=Lock().put("notes", ours), before=FILES[kind])

    assert write_foreign(kind, request).content == FILES[kind]


@each_row("kind", list(ForeignFormat))
def test_what_is_theirs_stays_and_what_is_ours_changes(kind: ForeignFormat) -> None:
    entry = LockEntry(source="clawhub:notes", kind="clawhub", version="2.0.0")
    newer = LockEntry(
        source=OURS.source, kind="git", url=HUB, path="tools/notes", ref="next", resolved="b" * 40
    )
    ours = entry if kind is ForeignFormat.CLAWHUB else newer
    request = ForeignRequest(lock=Lock().put("notes", ours), before=FILES[kind])

    text = write_foreign(kind, request).content.decode()

    theirs = {
        ForeignFormat.VERCEL: ("theirs", '"subagents"'),
        ForeignFormat.CLAWHUB: ("other", "1763300000000"),
        ForeignFormat.APM: ("mcp_servers", ".github/skills/notes"),
        ForeignFormat.TOOLHIVE: ("ghcr.io/acme/x:1", "plugins"),
    }
    assert all(word in text for word in theirs[kind])
    assert ("2.0.0" if kind is ForeignFormat.CLAWHUB else "next") in text


@each_row("kind", list(ForeignFormat))
def test_a_new_file_is_read_again_as_it_was_written(kind: ForeignFormat) -> None:
    hub = LockEntry(source="clawhub:hub", kind="clawhub", version="1.0.0")
    lock = Lock().put("notes", OURS).put("hub", hub)

    written = write_foreign(kind, ForeignRequest(lock=lock))

    (found,) = read_foreign(kind, written.content, FILE_NAMES[kind])
    is_hub = kind is ForeignFormat.CLAWHUB
    assert found.name == ("hub" if is_hub else "notes")
    assert written.left_out == (("notes",) if is_hub else ("hub",))


@each_row(
    ("kind", "text"),
    [
        (ForeignFormat.VERCEL, b"{"),
        (ForeignFormat.VERCEL, b"[]"),
        (ForeignFormat.VERCEL, b'{"version": 9, "skills": {}}'),
        (ForeignFormat.VERCEL, b'{"version": 1}'),
        (ForeignFormat.CLAWHUB, b'{"version": 1, "skills": {"a": 7}}'),
        (ForeignFormat.APM, b"a: ["),
        (ForeignFormat.APM, b"lockfile_version: '9'"),
        (ForeignFormat.TOOLHIVE, b"version: 2"),
        (ForeignFormat.TOOLHIVE, b"version: 1\nskills: [{}]"),
    ],
)
def test_a_damaged_one_is_an_error_with_its_name(kind: ForeignFormat, text: bytes) -> None:
    with pytest.raises(LockError, match="place"):
        read_foreign(kind, text, "place")


def test_a_repository_at_a_path_is_a_path_to_vercel_and_letters_are_ordered_as_there() -> None:
    entry = LockEntry(source="/srv/repo", kind="git", url="/srv/repo", path="skills/notes")
    files = {"z.md": b"1", "\u00e9.md": b"2", "E.md": b"3", "e.md": b"4", "f.md": b"5"}
    request = ForeignRequest(lock=Lock().put("notes", entry), contents=lambda _name: files)

    row = json.loads(write_foreign(ForeignFormat.VERCEL, request).content)["skills"]["notes"]

    # As `localeCompare` does: e, E, \u00e9, f, z.
    order = ("e.md", "E.md", "\u00e9.md", "f.md", "z.md")
    expected = hashlib.sha256(b"".join(path.encode() + files[path] for path in order)).hexdigest()
    assert row == {"source": "/srv/repo", "sourceType": "local", "computedHash": expected}


def test_a_file_is_known_by_its_name() -> None:
    assert find_format("/x/.clawhub/lock.json") is ForeignFormat.CLAWHUB
    with pytest.raises(LockError, match="skills-lock"):
        find_format("/x/package-lock.json")
