"""What the operator accepted: kept privately, logged for good, and worth nothing when damaged."""

import json
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from prowess.errors import StoreError
from prowess.host.files.state_files import ACCEPTANCES_FILE as FILE
from prowess.host.safety import LOG, AcceptanceFile
from prowess.safety.rules.table import Acceptance

GIVEN = Acceptance(
    skill="bread",
    rule_id="shell-pipe-to-shell",
    evidence_hash="e1",
    content_hash="c1",
    scanner="1",
    reason="our own installer",
    accepted_at="2026-01-02T03:04:05Z",
)


def test_an_acceptance_is_kept_and_found_again(tmp_path: Path) -> None:
    AcceptanceFile(str(tmp_path)).add([GIVEN])

    assert AcceptanceFile(str(tmp_path)).read() == (GIVEN,)


def test_file_and_log_are_for_their_owner_alone(tmp_path: Path) -> None:
    AcceptanceFile(str(tmp_path)).add([GIVEN])

    for name in (FILE, LOG):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == stat.S_IRUSR | stat.S_IWUSR


def test_a_new_yes_to_the_same_finding_replaces_the_old_one(tmp_path: Path) -> None:
    store = AcceptanceFile(str(tmp_path))

    store.add([GIVEN])
    store.add([replace(GIVEN, content_hash="c2")])

    assert [one.content_hash for one in store.read()] == ["c2"]


def test_the_log_remembers_what_the_file_forgot(tmp_path: Path) -> None:
    store = AcceptanceFile(str(tmp_path))
    store.add([GIVEN])
    store.remove([GIVEN], "2026-02-03T04:05:06Z")

    lines = (tmp_path / LOG).read_text(encoding="utf-8").splitlines()
    events = [json.loads(line) for line in lines]

    assert store.read() == ()
    assert [(row["event"], row["time"]) for row in events] == [
        ("accepted", "2026-01-02T03:04:05Z"),
        ("revoked", "2026-02-03T04:05:06Z"),
    ]
    assert events[0]["reason"] == "our own installer"


def test_neither_keeps_a_secret_from_a_reason_nor_a_long_line(tmp_path: Path) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    reason = f"token {token[:40]} " + "x" * 10_000

    AcceptanceFile(str(tmp_path)).add([replace(GIVEN, reason=reason, skill="s" * 9000)])

    log = (tmp_path / LOG).read_text(encoding="utf-8")
    assert token[:40] not in log
    assert token[:40] not in (tmp_path / FILE).read_text(encoding="utf-8")
    assert len(log) < 2_000


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"acceptances": 1}', '{"acceptances": [{"skill": "bread"}, 3]}', "\ud800"]
)
def test_what_cannot_be_read_accepts_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_bytes(text.encode("utf-8", "surrogatepass"))

    assert AcceptanceFile(str(tmp_path)).read() == ()


def test_a_file_that_somebody_damaged_is_put_aside(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("{broken", encoding="utf-8")

    AcceptanceFile(str(tmp_path)).add([GIVEN])

    assert AcceptanceFile(str(tmp_path)).read() == (GIVEN,)
    assert (tmp_path / f"{FILE}.bak").read_text(encoding="utf-8") == "{broken"


def test_a_log_that_is_a_link_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / LOG).symlink_to(tmp_path / "elsewhere")

    with pytest.raises(StoreError, match="cannot be written"):
        AcceptanceFile(str(tmp_path / "state")).add([GIVEN])
    assert not (tmp_path / "elsewhere").exists()
