import json
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from prowess.errors import StoreError
from prowess.host.store.routing import EXAMPLES_FILE, THRESHOLDS_FILE, ExamplesFile, ThresholdsFile
from prowess.routing.model import Thresholds
from prowess.runtime.ports import Examples

NOBODY = 65_534
HALF = "\ud83d"
SOME = Examples(
    generated=("ship it", "publish the app"),
    confirmed=("bring it online", "部署"),
    near_misses=("ship a parcel",),
)
LOW, HIGH = Thresholds(load=0.4, offer=0.1), Thresholds(load=0.8, offer=0.3)

# Writes the examples of its own skills, one after the other, as soon as it is told to.
WRITER = """
import sys
from prowess.host.store.routing import ExamplesFile
from prowess.runtime.ports import Examples

state, name = sys.argv[1:]
print("ready", flush=True)
sys.stdin.readline()
for number in range(15):
    ExamplesFile(state).write(f"{name}-{number}", Examples(confirmed=(f"do {number}",)))
"""


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def examples(state: Path) -> ExamplesFile:
    return ExamplesFile(str(state))


@pytest.fixture
def thresholds(state: Path) -> ThresholdsFile:
    return ThresholdsFile(str(state))


def put(path: Path, content: str | bytes) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def test_examples_come_back_as_they_were_written(state: Path, examples: ExamplesFile) -> None:
    examples.write("deploy", SOME)
    examples.write("review", Examples(confirmed=("look at this",)))

    assert examples.read() == {"deploy": SOME, "review": Examples(confirmed=("look at this",))}
    assert ExamplesFile(str(state)).read() == examples.read()


def test_thresholds_come_back_as_they_were_written(state: Path, thresholds: ThresholdsFile) -> None:
    thresholds.write("bundled-1", LOW)
    thresholds.write("other-2", HIGH)

    assert (thresholds.read("bundled-1"), thresholds.read("other-2")) == (LOW, HIGH)
    assert ThresholdsFile(str(state)).read("bundled-1") == LOW
    assert thresholds.read("never seen") is None


def test_writing_again_replaces_what_was_there(
    examples: ExamplesFile, thresholds: ThresholdsFile
) -> None:
    examples.write("deploy", SOME)
    examples.write("deploy", Examples(confirmed=("only this",)))
    thresholds.write("bundled-1", LOW)
    thresholds.write("bundled-1", HIGH)

    assert examples.read() == {"deploy": Examples(confirmed=("only this",))}
    assert thresholds.read("bundled-1") == HIGH


def test_nothing_is_a_way_to_forget(examples: ExamplesFile, thresholds: ThresholdsFile) -> None:
    examples.write("deploy", SOME)
    thresholds.write("bundled-1", LOW)

    examples.write("deploy", Examples())
    thresholds.write("bundled-1", None)

    assert examples.read() == {}
    assert thresholds.read("bundled-1") is None


def test_what_does_not_exist_is_empty_and_stays_away(
    tmp_path: Path, examples: ExamplesFile, thresholds: ThresholdsFile
) -> None:
    assert examples.read() == {}
    assert thresholds.read("bundled-1") is None
    assert list(tmp_path.iterdir()) == []


def test_a_change_by_somebody_else_is_seen(state: Path, examples: ExamplesFile) -> None:
    examples.write("deploy", SOME)
    examples.read()

    ExamplesFile(str(state)).write("review", SOME)

    assert set(examples.read()) == {"deploy", "review"}


def test_a_file_that_is_deleted_is_empty_from_then_on(state: Path, examples: ExamplesFile) -> None:
    examples.write("deploy", SOME)
    examples.read()

    (state / EXAMPLES_FILE).unlink()

    assert examples.read() == {}


def test_what_was_written_is_read_however_soon(state: Path, examples: ExamplesFile) -> None:
    # Of one length, and within one tick of the file system's clock.
    written = [Examples(confirmed=(f"message {number:03}",)) for number in range(100)]
    other, read = ExamplesFile(str(state)), []
    for some in written:
        other.write("deploy", some)
        read.append(examples.read()["deploy"])

    assert read == written


def test_a_file_that_was_replaced_within_one_tick_is_read_again(
    state: Path, examples: ExamplesFile
) -> None:
    path = state / EXAMPLES_FILE
    examples.write("deploy", Examples(confirmed=("message 1",)))
    examples.read()
    before = path.stat()

    ExamplesFile(str(state)).write("deploy", Examples(confirmed=("message 2",)))
    # As on a file system that counts whole seconds.
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert examples.read()["deploy"].confirmed == ("message 2",)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"not json", b'{"deploy": {"confirmed": ["cut o', b"\xff\xfe\x00", b"[" * 100_000],
    ids=["empty", "brace", "words", "cut off", "not text", "deep"],
)
def test_a_broken_file_counts_as_empty_with_a_warning(
    state: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    put(state / EXAMPLES_FILE, content)
    put(state / THRESHOLDS_FILE, content)

    assert ExamplesFile(str(state)).read() == {}
    assert ThresholdsFile(str(state)).read("bundled-1") is None
    assert "routing.unreadable" in caplog.text


def test_a_broken_file_is_written_anew_and_kept_beside(state: Path, examples: ExamplesFile) -> None:
    slip = '{"deploy": {"confirmed": ["by hand"],}}'
    put(state / EXAMPLES_FILE, slip)

    examples.write("deploy", SOME)

    assert examples.read() == {"deploy": SOME}
    # Somebody wrote it: their words are not thrown away.
    assert (state / f"{EXAMPLES_FILE}.bak").read_text(encoding="utf-8") == slip


@pytest.mark.parametrize("content", ["[]", "null", '"text"', "3", "NaN"])
def test_a_file_of_another_shape_counts_as_empty(state: Path, content: str) -> None:
    put(state / EXAMPLES_FILE, content)
    put(state / THRESHOLDS_FILE, content)

    assert ExamplesFile(str(state)).read() == {}
    assert ThresholdsFile(str(state)).read("bundled-1") is None


@pytest.mark.parametrize(
    "entry",
    [None, 3, "text", [], {"load": 0.5}, {"load": "0.5", "offer": 0.2}, {"load": True, "offer": 0},
     {"load": 1.5, "offer": 0.2}, {"load": -0.1, "offer": -0.2}, {"load": [0.5], "offer": 0.2},
     {"load": float("nan"), "offer": 0.2}, {"load": float("inf"), "offer": 0.2},
     {"load": 10**400, "offer": 0.2}],
    ids=["null", "number", "text", "list", "half of it", "text inside", "flag", "above", "below",
         "list inside", "no number", "infinite", "beyond any number"],
)  # fmt: skip
def test_thresholds_that_make_no_sense_are_none(
    state: Path, thresholds: ThresholdsFile, entry: object
) -> None:
    put(state / THRESHOLDS_FILE, json.dumps({"odd": entry, "fine": {"load": 1, "offer": 0}}))

    assert thresholds.read("odd") is None
    assert thresholds.read("fine") == Thresholds(load=1.0, offer=0.0)


def test_examples_of_another_shape_are_left_out_and_the_others_stay(
    state: Path, examples: ExamplesFile
) -> None:
    entries = {
        "list": ["a"],
        "text": "b",
        "null": None,
        "mixed": {"confirmed": ["good", 3, None, ["x"], "  ", " trimmed "], "generated": "text"},
        "unknown": {"other": ["x"]},
    }
    put(state / EXAMPLES_FILE, json.dumps(entries))

    assert examples.read() == {
        "mixed": Examples(confirmed=("good", "trimmed")),
        "unknown": Examples(),
    }


def test_writing_keeps_what_it_does_not_understand(state: Path, examples: ExamplesFile) -> None:
    put(state / EXAMPLES_FILE, json.dumps({"from-the-future": {"confirmed": ["a"], "more": 1}}))

    examples.write("deploy", SOME)

    kept = json.loads((state / EXAMPLES_FILE).read_text(encoding="utf-8"))
    assert kept["from-the-future"] == {"confirmed": ["a"], "more": 1}


def test_too_many_and_too_long_examples_are_cut(examples: ExamplesFile) -> None:
    many = tuple(f"message {number}" for number in range(500))
    examples.write("deploy", Examples(generated=many, confirmed=many, near_misses=("x" * 9_000,)))

    found = examples.read()["deploy"]

    assert found.generated == many[: len(found.generated)]
    # How people speak of a skill changes, so the latest stay.
    assert found.confirmed == many[-len(found.confirmed) :]
    assert len(found.generated) < 100
    assert len(found.near_misses[0]) < 1_000


def test_long_examples_do_not_make_the_file_too_large_to_read(examples: ExamplesFile) -> None:
    # Confirmed by use: people paste whole logs into their messages.
    for number in range(10):
        examples.write(f"skill-{number}", Examples(confirmed=("a log " * 170_000,)))

    assert len(examples.read()) == 10


def test_a_huge_file_counts_as_empty_with_a_warning(
    state: Path, examples: ExamplesFile, caplog: pytest.LogCaptureFixture
) -> None:
    put(state / EXAMPLES_FILE, json.dumps({"deploy": {"confirmed": ["x" * 17_000_000]}}))

    assert examples.read() == {}
    assert "routing.unreadable" in caplog.text


@pytest.mark.parametrize(
    "name", ["", "a/b", "../up", "名前", "a\nb", "a\0b", 'quo"te', "__class__"]
)
def test_any_name_is_a_key(examples: ExamplesFile, name: str) -> None:
    examples.write(name, SOME)

    assert examples.read() == {name: SOME}


@pytest.mark.parametrize("where", ["name", "text"])
def test_half_a_character_is_kept_or_refused(examples: ExamplesFile, where: str) -> None:
    examples.write("deploy", SOME)
    name, text = (f"odd{HALF}", "x") if where == "name" else ("odd", f"ship it {HALF}")

    # A message from a program may hold one: either way, nothing else may come out of here.
    with suppress(StoreError):
        examples.write(name, Examples(confirmed=(text,)))

    assert examples.read()["deploy"] == SOME


def test_the_files_are_for_their_owner_only(
    state: Path, examples: ExamplesFile, thresholds: ThresholdsFile
) -> None:
    examples.write("deploy", SOME)
    thresholds.write("bundled-1", LOW)

    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in state.iterdir()}

    assert {EXAMPLES_FILE, THRESHOLDS_FILE} <= set(modes)
    assert set(modes.values()) == {0o600}


def test_the_state_folder_is_for_its_owner_only(state: Path, examples: ExamplesFile) -> None:
    examples.write("deploy", SOME)

    assert stat.S_IMODE(state.stat().st_mode) == 0o700


def test_writing_leaves_nothing_half_done_behind(state: Path, examples: ExamplesFile) -> None:
    for number in range(3):
        examples.write(f"skill-{number}", SOME)

    assert {path.name for path in state.iterdir()} == {EXAMPLES_FILE, f"{EXAMPLES_FILE}.lock"}


def test_a_link_stays_a_link(tmp_path: Path, state: Path, examples: ExamplesFile) -> None:
    target = tmp_path / "dotfiles" / "examples.json"
    put(target, "{}")
    state.mkdir()
    (state / EXAMPLES_FILE).symlink_to(target)

    examples.write("deploy", SOME)

    assert (state / EXAMPLES_FILE).is_symlink()
    assert "deploy" in json.loads(target.read_text(encoding="utf-8"))
    assert examples.read() == {"deploy": SOME}


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
        ExamplesFile(name).write("deploy", SOME)
        ThresholdsFile(name).write("bundled-1", LOW)
        for path in folder.iterdir():
            path.chmod(0o444)
        folder.chmod(0o555)
        yield folder
        folder.chmod(0o755)


def test_a_folder_that_cannot_be_written_to_is_still_read_from(read_only: Path) -> None:
    with without_privileges():
        assert ExamplesFile(str(read_only)).read() == {"deploy": SOME}
        assert ThresholdsFile(str(read_only)).read("bundled-1") == LOW


def test_writing_to_a_folder_that_cannot_be_written_to_is_an_error_with_its_path(
    read_only: Path,
) -> None:
    with without_privileges():
        with pytest.raises(StoreError, match=EXAMPLES_FILE):
            ExamplesFile(str(read_only)).write("review", SOME)
        with pytest.raises(StoreError, match=THRESHOLDS_FILE):
            ThresholdsFile(str(read_only)).write("other", HIGH)

    assert ExamplesFile(str(read_only)).read() == {"deploy": SOME}


def test_a_file_that_may_not_be_read_is_not_overwritten(read_only: Path) -> None:
    path = read_only / EXAMPLES_FILE
    read_only.chmod(0o777)
    path.chmod(0o000)
    (read_only / f"{EXAMPLES_FILE}.lock").chmod(0o666)
    with without_privileges():
        found = ExamplesFile(str(read_only)).read()
        with pytest.raises(StoreError):
            ExamplesFile(str(read_only)).write("review", SOME)
    path.chmod(0o600)

    assert found == {}
    assert ExamplesFile(str(read_only)).read() == {"deploy": SOME}


def test_a_state_folder_that_is_a_file_is_an_error_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")

    with pytest.raises(StoreError):
        ExamplesFile(str(tmp_path / "state")).write("deploy", SOME)
    assert ExamplesFile(str(tmp_path / "state")).read() == {}


def test_a_folder_in_the_place_of_the_file_counts_as_empty(
    state: Path, examples: ExamplesFile
) -> None:
    (state / EXAMPLES_FILE).mkdir(parents=True)

    assert examples.read() == {}
    with pytest.raises(StoreError):
        examples.write("deploy", SOME)


def test_two_processes_write_without_undoing_each_other(state: Path) -> None:
    names = ("left", "right")
    children = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(state), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in names
    ]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    for child in children:
        child.communicate("\n", timeout=60)

    assert [child.returncode for child in children] == [0, 0]
    assert set(ExamplesFile(str(state)).read()) == {
        f"{name}-{number}" for name in names for number in range(15)
    }
