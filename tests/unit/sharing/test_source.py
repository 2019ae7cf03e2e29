"""What a person writes for a source, and what it is taken for."""

import pytest
from tests.rows import each_row

from prowess.errors import SourceError
from prowess.sharing.source import LocalKind, SourceKind, read_source

HUB = "https://github.com/acme/skills.git"


@each_row(
    ("asked", "kind", "url", "path", "ref"),
    [
        ("acme/skills", "git", HUB, "", ""),
        ("acme/skills@v1.2", "git", HUB, "", "v1.2"),
        ("acme/skills/tools/notes", "git", HUB, "tools/notes", ""),
        ("acme/skills/tools/notes@feature/x", "git", HUB, "tools/notes", "feature/x"),
        ("https://github.com/acme/skills", "git", HUB, "", ""),
        ("https://github.com/acme/skills@v1", "git", HUB, "", "v1"),
        ("https://github.com/acme/skills/tree/main/a/b", "git", HUB, "a/b", "main"),
        ("https://git.example.com/x/y.git", "git", "https://git.example.com/x/y.git", "", ""),
        (
            "https://git.example.com/x/y.git@abc",
            "git",
            "https://git.example.com/x/y.git",
            "",
            "abc",
        ),
        ("git@github.com:acme/skills.git", "git", "git@github.com:acme/skills.git", "", ""),
        ("git@github.com:acme/skills.git@v2", "git", "git@github.com:acme/skills.git", "", "v2"),
        ("ssh://git@host.example/x/y", "git", "ssh://git@host.example/x/y", "", ""),
        ("ssh://git@host.example/x/y@v1", "git", "ssh://git@host.example/x/y", "", "v1"),
        ("file:///srv/repo", "git", "file:///srv/repo", "", ""),
        ("file:///srv/repo@main", "git", "file:///srv/repo", "", "main"),
        ("https://x.example/a/notes.skill", "archive", "https://x.example/a/notes.skill", "", ""),
        ("https://x.example/a.tar.gz", "archive", "https://x.example/a.tar.gz", "", ""),
        ("https://x.example", "well-known", "https://x.example", "", ""),
        ("clawhub:notes@1.0.0", "clawhub", "", "notes", "1.0.0"),
        ("clawhub:@acme/notes", "clawhub", "", "@acme/notes", ""),
        ("npm:@acme/notes@2.0.0", "npm", "", "@acme/notes", "2.0.0"),
        ("oci://ghcr.io/acme/notes:1", "oci", "oci://ghcr.io/acme/notes", "", "1"),
        ("oci:127.0.0.1:5000/a/b", "oci", "oci://127.0.0.1:5000/a/b", "", ""),
        ("file:///srv/repo@v1#a/b", "git", "file:///srv/repo", "a/b", "v1"),
        ("file:///srv/repo#a/b@v1", "git", "file:///srv/repo", "a/b", "v1"),
    ],
)
def test_a_source_is_taken_apart(asked: str, kind: str, url: str, path: str, ref: str) -> None:
    found = read_source(asked)

    assert (found.kind.value, found.url, found.path, found.ref) == (kind, url, path, ref)
    assert found.asked == asked


@each_row(
    ("local", "asked", "kind"),
    [
        (LocalKind.FOLDER, "acme/skills", SourceKind.FOLDER),
        (LocalKind.REPOSITORY, "./repo", SourceKind.GIT),
        (LocalKind.FILE, "a.skill", SourceKind.ARCHIVE),
        (LocalKind.FILE, ".claude-plugin/marketplace.json", SourceKind.MARKETPLACE),
    ],
)
def test_what_lies_on_this_machine_comes_first(
    local: LocalKind, asked: str, kind: SourceKind
) -> None:
    assert read_source(asked, local).kind is kind


@each_row(
    "asked",
    [
        "", " ", "-x", "--upload-pack=touch x", "notes", "a/b/../../c", "../gone", "a/b@-x",
        "a/b@x..y", "ext::sh -c id", "ftp://x.example/a.zip", "https://u:secret@x.example/y.git",
        "https://x.example/page", "clawhub:../x", "npm:", "a/b/..@main", "a\0b/c",
    ],
)  # fmt: skip
def test_what_is_no_source_is_refused_and_no_password_is_repeated(asked: str) -> None:
    with pytest.raises(SourceError) as raised:
        read_source(asked)

    assert "secret" not in str(raised.value)
