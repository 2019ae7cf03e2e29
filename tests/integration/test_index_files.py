"""Indexes kept as files: whole or not at all, bounded, private, and never needed."""

import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from tests.unit.routing.vectors import SmallEncoder

from prowess.host.files import state_files
from prowess.host.files.state_files import KeptFiles, stamp_code
from prowess.host.store.routing import ExamplesFile, open_indexes
from prowess.runtime.ports import Examples, Vectors
from prowess.runtime.route.index import IndexBuilder
from prowess.testing import MemoryVectors, make_skill

BAKER = make_skill("bread-baker", description="Bakes bread and rolls in the oven.")
RIDER = make_skill("bike-repair", description="Repairs a bicycle: chain, brakes and tyres.")


@pytest.fixture
def files(tmp_path: Path) -> KeptFiles:
    return KeptFiles(str(tmp_path / "indexes"), made_by="one", most=12)


class WatchedVectors(MemoryVectors):
    """Says whether an index was really made."""

    made = False

    def load(self, encoder_id: str, keys: Sequence[str]) -> Mapping[str, Vectors]:
        self.made = True
        return super().load(encoder_id, keys)


def builder(files: KeptFiles) -> tuple[IndexBuilder, WatchedVectors]:
    vectors = WatchedVectors()
    return IndexBuilder(vectors, None, files), vectors


def test_what_is_kept_is_found_again(files: KeptFiles) -> None:
    files.save("a", b"index")

    assert files.load("a") == b"index"
    assert files.load("b") is None


def test_only_the_owner_may_read_it(files: KeptFiles, tmp_path: Path) -> None:
    files.save("a", b"index")

    (kept,) = (tmp_path / "indexes").iterdir()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


def test_another_version_of_the_code_does_not_read_it(files: KeptFiles, tmp_path: Path) -> None:
    files.save("a", b"index")

    assert KeptFiles(str(tmp_path / "indexes"), made_by="two", most=12).load("a") is None


def test_a_version_is_told_by_its_files(tmp_path: Path) -> None:
    (tmp_path / "words.toml").write_text("[words]")
    before = stamp_code(str(tmp_path))
    (tmp_path / "words.toml").write_text("[more]")

    assert before != stamp_code(str(tmp_path)) == stamp_code(str(tmp_path))


def test_the_oldest_go_first(tmp_path: Path) -> None:
    files = KeptFiles(str(tmp_path), made_by="one", most=2)
    for age, key in enumerate(("old", "older")):
        files.save(key, b"index")
        for kept in tmp_path.glob(f"{key}-*"):
            os.utime(kept, (1_000_000 - age, 1_000_000 - age))

    files.save("new", b"index")

    assert [files.load(key) for key in ("older", "old", "new")] == [None, b"index", b"index"]


def test_what_is_too_large_is_not_kept(files: KeptFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_files, "_MOST_KEPT_BYTES", 4)

    files.save("a", b"12345")

    assert files.load("a") is None


def test_a_folder_that_cannot_be_made_keeps_nothing_and_breaks_nothing(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    files = KeptFiles(str(tmp_path / "taken"), made_by="one", most=12)

    files.save("a", b"index")

    assert files.load("a") is None


def test_a_link_in_its_place_is_not_followed(files: KeptFiles, tmp_path: Path) -> None:
    (tmp_path / "outside").write_bytes(b"index")
    (tmp_path / "indexes").mkdir()
    (tmp_path / "indexes" / "a-one.index").symlink_to(tmp_path / "outside")

    assert files.load("a") is None


def test_the_same_skills_are_indexed_once_for_all_processes(files: KeptFiles) -> None:
    first, _ = builder(files)
    second, vectors = builder(files)
    first.build((BAKER, RIDER), SmallEncoder(), {})

    built = second.build((BAKER, RIDER), SmallEncoder(), {})

    assert not vectors.made
    assert [skill.name for skill in built.index.skills] == ["bread-baker", "bike-repair"]


@pytest.mark.parametrize("change", ["order", "text", "examples", "encoder", "hidden"])
def test_anything_that_changes_an_index_makes_another(files: KeptFiles, change: str) -> None:
    first, _ = builder(files)
    second, vectors = builder(files)
    first.build((BAKER, RIDER), SmallEncoder(), {})
    skills, encoder = (BAKER, RIDER), SmallEncoder()
    examples: dict[str, Examples] = {}
    if change == "order":
        skills = (RIDER, BAKER)
    if change == "text":
        skills = (BAKER, make_skill("bike-repair", description="Repairs a bicycle."))
    if change == "hidden":
        skills = (BAKER, make_skill("bike-repair", description=RIDER.description, model=False))
    if change == "examples":
        examples = {"bike-repair": Examples(confirmed=("my chain is off",))}
    if change == "encoder":
        encoder = SmallEncoder(english_only=False)

    second.build(skills, encoder, examples)

    assert vectors.made


def test_what_people_said_is_in_no_index_once_examples_change(tmp_path: Path) -> None:
    files = open_indexes(str(tmp_path))
    files.save("a", b"my chain is off")

    ExamplesFile(str(tmp_path)).write("bike-repair", Examples())

    assert files.load("a") is None


def test_a_broken_file_is_made_anew(files: KeptFiles, tmp_path: Path) -> None:
    first, _ = builder(files)
    second, vectors = builder(files)
    first.build((BAKER, RIDER), SmallEncoder(), {})
    (kept,) = (tmp_path / "indexes").iterdir()
    kept.write_bytes(kept.read_bytes()[:-9])

    second.build((BAKER, RIDER), SmallEncoder(), {})

    assert vectors.made
