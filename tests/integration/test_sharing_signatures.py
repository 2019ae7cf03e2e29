"""Signatures: the real library verifies them against a root of our own, without a network."""

import json
import shutil
import socket
import sys
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import pytest
from tests.integration.sharing_world import Home, page, sha256, write
from tests.integration.sigstore_world import BUNDLE, ISSUER, Sigstore

from prowess.sharing.lock import content_digest

FILES = {"SKILL.md": page(), "ref.md": b"More.\n"}


@pytest.fixture
def home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Home:
    def refuse(*_words: object, **_named: object) -> object:
        raise AssertionError("a signature was verified with a network")

    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    return Home(tmp_path / "ann", monkeypatch, capsys)


@pytest.fixture(scope="module")
def sigstore() -> Sigstore:
    return Sigstore()


class Author:
    """Gives one skill from a folder, with or without a signature."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def offer(self, files: Mapping[str, bytes], bundle: bytes | None) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        write(self.folder / "notes", files if bundle is None else {**files, BUNDLE: bundle})


@pytest.fixture
def author(tmp_path: Path, home: Home, sigstore: Sigstore) -> Author:
    sigstore.trust(home.state)
    made = Author(tmp_path / "author")
    made.offer(FILES, sigstore.sign(FILES))
    return made


def test_who_signed_is_shown_and_pinned_on_first_use(home: Home, author: Author) -> None:
    (one,) = home.add(str(author.folder))["skills"]

    assert (one["signer"], one["issuer"]) == ("ann@example.com", ISSUER)
    assert home.lock["skills"]["notes"]["provenance"] == {
        "signer": "ann@example.com",
        "issuer": ISSUER,
        "repository": "https://git.example.com/ann",
    }
    assert home.json("verify")[0] == 0


def test_an_update_is_signed_by_the_same_or_refused_with_the_reason(
    home: Home, author: Author, sigstore: Sigstore
) -> None:
    home.add(str(author.folder))
    newer = {**FILES, "SKILL.md": page(body="Newer.")}
    before = home.files()

    for bundle, said in (
        (sigstore.sign(newer, "eve@example.com"), "now signed by eve@example.com"),
        (sigstore.sign(newer, issuer="https://other.example.com"), "https://other.example.com"),
        (None, "now not signed"),
        (sigstore.sign(FILES), "made for other files"),
        (sigstore.sign(newer, late=timedelta(hours=1)), "expired"),
        (Sigstore().sign(newer), "does not hold"),
        (b"{", "no sigstore bundle"),
    ):
        author.offer(newer, bundle)
        code, found = home.json("update", "--yes")
        assert (code, said in found["skills"][0]["problem"]) == (1, True), found
        assert home.files() == before

    author.offer(newer, sigstore.sign(newer))
    assert home.json("update", "--yes")[0] == 0
    author.offer(FILES, sigstore.sign(FILES, "eve@example.com"))
    assert home.json("update", "--yes", "--allow-signer-change")[0] == 0
    assert home.lock["skills"]["notes"]["provenance"]["signer"] == "eve@example.com"
    # Nobody can agree to a signature that does not hold.
    author.offer(newer, sigstore.sign(FILES))
    assert home.json("update", "--yes", "--allow-signer-change")[0] == 1


def test_statements_about_the_digest_or_about_every_file_count(
    home: Home, author: Author, sigstore: Sigstore
) -> None:
    whole = content_digest({path: sha256(one) for path, one in FILES.items()})
    rows = [{"name": path, "digest": sha256(one)} for path, one in FILES.items()]
    digest = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": "notes", "digest": {"sha256": whole.removeprefix("sha256:")}}],
        "predicateType": "https://x.example",
    }
    of_files = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": "notes", "digest": {"sha256": "0" * 64}}],
        "predicateType": "https://model_signing/signature/v1.0",
        "predicate": {"resources": rows},
    }

    for statement in (digest, of_files):
        author.offer(FILES, sigstore.state(statement))
        (one,) = home.add(str(author.folder))["skills"]
        assert one["signer"] == "ann@example.com"

    for wrong in (
        {**of_files, "predicate": {"resources": rows[:1]}},
        {**digest, "subject": []},
        {},
    ):
        author.offer(FILES, sigstore.state(wrong))
        assert home.text("add", str(author.folder), "--yes")[0] == 1


def test_a_lock_that_claims_a_signer_is_not_believed(home: Home, author: Author) -> None:
    author.offer(FILES, None)
    home.add(str(author.folder))
    lock = home.lock
    lock["skills"]["notes"]["provenance"] = {"signer": "ann@example.com", "issuer": ISSUER}
    (home.work / "prowess.lock").write_text(json.dumps(lock), encoding="utf-8")
    policy = home.work / "prowess-policy.yml"
    policy.write_text("version: 1\nsigned: true\n", encoding="utf-8")

    code, found = home.json("policy", "explain", "notes")

    assert code == 1
    assert "not verified on this machine" in found["reasons"][0]["text"]
    assert "nobody did" in home.text("verify")[1]
    shutil.rmtree(home.work / "skills/notes")
    assert "nobody did" in home.text("sync", "--frozen")[1]
    assert not (home.work / "skills/notes").exists()


def test_what_was_verified_here_counts_as_long_as_its_files_and_its_root_do(
    home: Home, author: Author, sigstore: Sigstore
) -> None:
    home.add(str(author.folder))
    policy = home.work / "prowess-policy.yml"
    policy.write_text("version: 1\nsigned: true\n", encoding="utf-8")
    assert home.json("policy", "explain", "notes")[0] == 0
    # Somebody else's machine has seen the lock alone.
    (home.state / "sharing/signed.json").unlink()
    assert home.json("policy", "explain", "notes")[0] == 1
    assert home.json("verify")[0] == 0
    assert home.json("policy", "explain", "notes")[0] == 0
    # Whom nobody trusts any more has signed nothing.
    Sigstore().trust(home.state)
    assert home.json("policy", "explain", "notes")[0] == 1
    assert "does not hold" in home.text("verify")[1]
    sigstore.trust(home.state)
    write(home.work / "skills/notes", {"SKILL.md": page(body="Swapped.")})
    assert "not what was signed" in home.text("policy", "explain", "notes")[1]


def test_without_the_extra_a_signature_is_named_and_never_forgotten(
    home: Home, author: Author, sigstore: Sigstore, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.add(str(author.folder))
    monkeypatch.setitem(sys.modules, "sigstore.errors", None)
    newer = {**FILES, "SKILL.md": page(body="Newer.")}
    author.offer(newer, sigstore.sign(newer))

    code, found = home.json("update", "--yes")

    assert code == 1
    assert "prowess[sigstore]" in found["skills"][0]["problem"]
    home.text("remove", "notes")
    (one,) = home.add(str(author.folder))["skills"]
    assert (one["signer"], "prowess[sigstore]" in one["notice"]) == (None, True)


def test_a_root_of_trust_that_cannot_be_read_is_named(home: Home, author: Author) -> None:
    (home.state / "trusted-root.json").write_text("{", encoding="utf-8")

    code, said = home.text("add", str(author.folder), "--yes")

    assert code == 1
    assert "trusted-root.json" in said


def test_what_an_author_signs_is_written_down(home: Home, author: Author) -> None:
    code, said = home.text("lock", "manifest", str(author.folder / "notes"), "--out", "to-sign")

    digest = content_digest({path: sha256(one) for path, one in FILES.items()})
    assert (code, digest in said) == (0, True)
    assert f"sha256:{sha256((home.work / 'to-sign').read_bytes())}" == digest
    assert home.text("lock", "manifest", str(author.folder), "--out", "x")[0] == 1
