import os
import resource
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest

from prowess.host.store.routing import SqliteVectors
from prowess.runtime.ports import Vectors

ENCODER = "bundled-0123456789ab"
WIDTH = 16
TODAY = 20_000
NOBODY = 65_534

# Saves batch after batch and says so after each; `{batch}-{row}` is found again by its number.
WRITER = """
import sys
import numpy as np
from prowess.host.store import routing as vector_store
from prowess.host.store.routing import SqliteVectors

# Others write at the same time, and a machine may be slow.
vector_store._BUSY_S = 60
path, name, batches = sys.argv[1], sys.argv[2], int(sys.argv[3])
store = SqliteVectors(path)
print("ready", flush=True)
sys.stdin.readline()
for batch in range(batches):
    rows = {f"{name}-{batch}-{row}": np.full(16, batch, np.float32) for row in range(50)}
    store.save("bundled-0123456789ab", rows)
    print(batch, flush=True)
store.close()
"""


def make_vectors(*keys: str, width: int = WIDTH) -> dict[str, Vectors]:
    numbers = np.random.default_rng(len(keys)).normal(size=(len(keys), width))
    numbers /= np.linalg.norm(numbers, axis=1, keepdims=True)
    return dict(zip(keys, numbers.astype(np.float32), strict=True))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "vectors.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteVectors]:
    opened = SqliteVectors(str(path))
    yield opened
    opened.close()


@contextmanager
def opened_on(path: Path, day: int = TODAY, *, max_rows: int = 200_000) -> Iterator[SqliteVectors]:
    store = SqliteVectors(str(path), today=lambda: day, max_rows=max_rows)
    yield store
    store.close()


def change(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


def start_writer(path: Path, name: str, batches: int) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), name, str(batches)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def read_line(child: "subprocess.Popen[str]") -> str:
    assert child.stdout is not None
    return child.stdout.readline().strip()


def let_go(child: "subprocess.Popen[str]") -> None:
    assert child.stdin is not None
    child.stdin.write("\n")
    child.stdin.flush()


def test_vectors_come_back_within_half_precision(store: SqliteVectors) -> None:
    saved = make_vectors("a", "b", "c")

    store.save(ENCODER, saved)
    loaded = store.load(ENCODER, ["c", "a", "b"])

    assert set(loaded) == {"a", "b", "c"}
    assert all(loaded[key].dtype == np.float32 for key in saved)
    assert all(np.allclose(loaded[key], saved[key], atol=5e-4) for key in saved)


def test_what_one_process_saves_the_next_finds(path: Path) -> None:
    with opened_on(path) as first:
        first.save(ENCODER, make_vectors("a"))

    with opened_on(path) as second:
        assert set(second.load(ENCODER, ["a", "never seen"])) == {"a"}


def test_a_vector_of_another_encoder_is_unknown(store: SqliteVectors) -> None:
    store.save(ENCODER, make_vectors("a"))

    assert store.load("another-encoder", ["a"]) == {}


def test_a_later_vector_replaces_an_earlier_one(store: SqliteVectors) -> None:
    store.save(ENCODER, {"a": np.zeros(WIDTH, np.float32)})
    store.save(ENCODER, {"a": np.ones(WIDTH, np.float32)})

    assert store.load(ENCODER, ["a"])["a"].tolist() == [1.0] * WIDTH


def test_more_keys_than_a_query_may_hold_are_no_problem(store: SqliteVectors) -> None:
    keys = [str(number) for number in range(2_345)]

    store.save(ENCODER, make_vectors(*keys))

    assert len(store.load(ENCODER, [*keys, *keys, "unknown"])) == 2_345


def test_looking_into_a_store_that_does_not_exist_creates_nothing(tmp_path: Path) -> None:
    store = SqliteVectors(str(tmp_path / "state" / "vectors.db"))

    found = store.load(ENCODER, ["a"])
    store.save(ENCODER, {})
    store.close()

    assert found == {}
    assert list(tmp_path.iterdir()) == []


def test_files_and_folder_are_for_their_owner_only(store: SqliteVectors, path: Path) -> None:
    store.save(ENCODER, make_vectors("a"))

    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}

    assert "vectors.db" in modes
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "odd",
    [
        "x''",
        "x'00'",
        "x'003c003c'",
        "zeroblob(64)",
        "'text'",
        "x'" + "007c" * WIDTH + "'",
        "x'" + "007e" * WIDTH + "'",
    ],
    ids=["empty", "odd", "short", "long", "text", "infinite", "no number"],
)
def test_a_stored_vector_that_makes_no_sense_is_unknown_until_it_is_made_again(
    path: Path, odd: str
) -> None:
    with opened_on(path) as store:
        store.save(ENCODER, make_vectors("a", "b", "c"))
    # The statement is written here, in this file.
    change(path, f"UPDATE vectors SET vector = {odd} WHERE key = 'b'")  # noqa: S608

    with opened_on(path) as store:
        found = store.load(ENCODER, ["a", "b", "c"])
        store.save(ENCODER, make_vectors("b"))
        repaired = store.load(ENCODER, ["a", "b", "c"])

    assert set(found) == {"a", "c"}
    assert set(repaired) == {"a", "b", "c"}


@pytest.mark.parametrize("odd", [np.nan, np.inf, 1e6])
def test_a_vector_that_halves_cannot_hold_is_not_kept(store: SqliteVectors, odd: float) -> None:
    store.save(ENCODER, {"a": np.full(WIDTH, odd, np.float32), **make_vectors("b")})

    assert set(store.load(ENCODER, ["a", "b"])) == {"b"}


@pytest.mark.parametrize(
    "content", [b"not a database " * 500, b"SQLite format 3\0" + b"\xff" * 9_000]
)
def test_a_file_that_is_no_database_is_thrown_away(
    path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    path.parent.mkdir()
    path.write_bytes(content)

    with opened_on(path) as store:
        found = store.load(ENCODER, ["a"])
        store.save(ENCODER, make_vectors("a"))
        kept = store.load(ENCODER, ["a"])

    assert found == {}
    assert set(kept) == {"a"}
    assert "vectors.unusable" in caplog.text


def test_saving_into_a_file_that_is_no_database_starts_a_new_one(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"not a database " * 500)

    with opened_on(path) as store:
        store.save(ENCODER, make_vectors("a"))

    with opened_on(path) as store:
        assert set(store.load(ENCODER, ["a"])) == {"a"}


def test_a_database_with_broken_pages_is_started_anew(path: Path) -> None:
    keys = [str(number) for number in range(500)]
    with opened_on(path) as store:
        store.save(ENCODER, make_vectors(*keys))
    content = bytearray(path.read_bytes())
    content[4096:] = os.urandom(len(content) - 4096)
    path.write_bytes(content)

    with opened_on(path) as store:
        store.load(ENCODER, keys)
        store.save(ENCODER, make_vectors(*keys))
        found = store.load(ENCODER, keys)

    assert set(found) == set(keys)


def test_a_database_with_tables_of_somebody_else_is_started_anew(path: Path) -> None:
    path.parent.mkdir()
    change(path, "CREATE TABLE vectors (something TEXT)")

    with opened_on(path) as store:
        store.save(ENCODER, make_vectors("a"))
        found = store.load(ENCODER, ["a"])

    assert set(found) == {"a"}


@pytest.mark.parametrize("also", [("-wal", "-shm"), ()], ids=["all files", "only the main one"])
def test_the_file_may_be_deleted_while_it_is_open(
    store: SqliteVectors, path: Path, also: tuple[str, ...]
) -> None:
    store.save(ENCODER, make_vectors("a"))
    for ending in ("", *also):
        Path(f"{path}{ending}").unlink()

    gone = store.load(ENCODER, ["a"])
    store.save(ENCODER, make_vectors("b"))
    with opened_on(path) as other:
        found = other.load(ENCODER, ["a", "b"])

    assert gone == {}
    assert set(found) == {"b"}


@contextmanager
def without_privileges() -> Iterator[None]:
    """Let permissions count for the superuser too."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def read_only() -> Iterator[Path]:
    # Not below pytest's own folder, which nobody but its owner may enter.
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with opened_on(folder / "vectors.db") as store:
            store.save(ENCODER, make_vectors("a"))
        (folder / "vectors.db").chmod(0o444)
        folder.chmod(0o555)
        yield folder
        folder.chmod(0o755)


def test_a_folder_that_cannot_be_written_to_is_still_read_from(
    read_only: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with without_privileges(), opened_on(read_only / "vectors.db", TODAY + 1) as store:
        store.save(ENCODER, make_vectors("b"))
        found = store.load(ENCODER, ["a", "b"])

    assert set(found) == {"a"}
    assert "vectors.unusable" in caplog.text


def test_a_folder_that_cannot_be_made_is_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "state").write_text("a file")

    with opened_on(tmp_path / "state" / "vectors.db") as store:
        for _ in range(3):
            store.save(ENCODER, make_vectors("a"))
        found = store.load(ENCODER, ["a"])

    assert found == {}
    assert caplog.text.count("vectors.unusable") == 1


@contextmanager
def full_disk(size: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_is_a_warning_and_loses_nothing_that_was_there(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    many = make_vectors(*(str(number) for number in range(3_000)))
    with opened_on(path) as store:
        store.save(ENCODER, make_vectors("a"))

        with full_disk(64_000):
            store.save(ENCODER, many)
            meanwhile = store.load(ENCODER, ["a", *many])
        store.save(ENCODER, many)
        afterwards = store.load(ENCODER, ["a", *many])

    assert set(meanwhile) == {"a"}
    assert set(afterwards) == {"a", *many}
    assert "vectors.unusable" in caplog.text


def test_a_killed_process_leaves_whole_saves_only(path: Path) -> None:
    child = start_writer(path, "k", 100_000)
    with child:
        let_go(child)
        lines = [read_line(child) for _ in range(6)]
        child.kill()
        rest = child.communicate()[0].split()

    told = int([*lines, *rest][-1]) + 1
    keys = {(batch, row): f"k-{batch}-{row}" for batch in range(told + 1) for row in range(50)}
    with opened_on(path) as store:
        found = store.load(ENCODER, list(keys.values()))

    counts = [sum(f"k-{batch}-{row}" in found for row in range(50)) for batch in range(told + 1)]
    assert counts[:told] == [50] * told
    assert counts[told] in {0, 50}
    assert all(found[key][0] == batch for (batch, _), key in keys.items() if key in found)


def test_processes_that_start_at_the_same_moment_lose_nothing(path: Path) -> None:
    children = [start_writer(path, name, 20) for name in ("x", "y", "z")]
    assert [read_line(child) for child in children] == ["ready"] * 3

    for child in children:
        let_go(child)
    errors = [child.communicate()[1] for child in children]
    keys = [f"{name}-{batch}-{row}" for name in "xyz" for batch in range(20) for row in range(50)]
    with opened_on(path) as store:
        found = store.load(ENCODER, keys)

    assert errors == [""] * 3
    assert len(found) == 3_000


def test_threads_share_one_store(store: SqliteVectors) -> None:
    def save_and_load(number: int) -> int:
        store.save(ENCODER, make_vectors(f"{number}-a", f"{number}-b"))
        return len(store.load(ENCODER, [f"{number}-a", f"{number}-b"]))

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(save_and_load, range(40)))

    assert found == [2] * 40


def test_a_load_does_not_wait_for_somebody_who_writes(path: Path) -> None:
    with opened_on(path) as store:
        store.save(ENCODER, make_vectors("a"))

    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        # A day later the use would be noted, which has to wait.
        with opened_on(path, TODAY + 1) as store:
            found = store.load(ENCODER, ["a"])

    assert set(found) == {"a"}


def test_what_is_not_used_for_long_is_forgotten(path: Path) -> None:
    with opened_on(path) as store:
        store.save(ENCODER, make_vectors("used", "unused"))
    with opened_on(path, TODAY + 30) as store:
        store.load(ENCODER, ["used"])

    with opened_on(path, TODAY + 61) as store:
        store.save(ENCODER, make_vectors("new"))
        found = store.load(ENCODER, ["used", "unused", "new"])

    assert set(found) == {"used", "new"}


def test_vectors_of_an_encoder_that_was_left_are_forgotten_earlier(path: Path) -> None:
    with opened_on(path) as store:
        store.save("left", make_vectors("a"))
        store.save(ENCODER, make_vectors("a"))

    with opened_on(path, TODAY + 15) as store:
        store.save(ENCODER, make_vectors("b"))
        found = set(store.load(ENCODER, ["a", "b"])), set(store.load("left", ["a"]))

    assert found == ({"a", "b"}, set())


def test_beyond_its_bound_the_store_forgets_what_was_used_longest_ago(path: Path) -> None:
    for age in range(5):
        with opened_on(path, TODAY + age, max_rows=3) as store:
            store.save(ENCODER, make_vectors(f"day {age}"))

    with opened_on(path, TODAY + 4) as store:
        found = store.load(ENCODER, [f"day {age}" for age in range(5)])

    assert set(found) == {"day 2", "day 3", "day 4"}


def test_forgetting_happens_once_a_day(path: Path) -> None:
    with opened_on(path, max_rows=2) as store:
        store.save(ENCODER, make_vectors("a", "b"))
        store.save(ENCODER, make_vectors("c", "d"))
        same_day = len(store.load(ENCODER, ["a", "b", "c", "d"]))
    with opened_on(path, TODAY + 1, max_rows=2) as store:
        store.save(ENCODER, make_vectors("e"))
        next_day = len(store.load(ENCODER, ["a", "b", "c", "d", "e"]))

    assert (same_day, next_day) == (4, 2)
