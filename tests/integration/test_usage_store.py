"""The log of uses in its file: bounds, several processes, kills, broken files and full disks."""

import os
import resource
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from prowess.errors import StoreError
from prowess.host.files.state_files import SqliteFile
from prowess.host.store.usage import SqliteUsage
from prowess.runtime.usage import (
    UsageDay,
    UsageEvent,
    UsageLog,
    UsageQuery,
    UsageTotal,
    Use,
    utc_day,
)

START = 1_700_000_000_000
ALL = UsageQuery(most_events=100_000)

# Notes one use after the other and says so after each.
WRITER = """
import sys
from prowess.host.store import usage as usage_store
from prowess.host.store.usage import SqliteUsage
from prowess.runtime.usage import UsageLog, Use

# Others write at the same time, and a machine may be slow: here nothing is put off.
usage_store._BUSY_S = 60
path, name, number = sys.argv[1], sys.argv[2], int(sys.argv[3])
log = UsageLog(SqliteUsage(path), known=lambda _agent: {name}, now_ms=lambda: 1_700_000_000_000)
print("ready", flush=True)
sys.stdin.readline()
for at in range(number):
    log.note(Use.LOADED, [name], "main")
    print(at + 1, flush=True)
log.close()
"""


def total(skill: str, used_ms: int | None = None, **counts: int) -> UsageTotal:
    given = {Use(use): number for use, number in counts.items()}
    return UsageTotal(skill=skill, agent_id="main", counts=given, last_used_ms=used_ms)


def event(skill: str, use: Use = Use.LOADED, at_ms: int = START) -> UsageEvent:
    return UsageEvent(use=use, skill=skill, agent_id="main", at_ms=at_ms)


def add(store: SqliteUsage, *skills: str, at_ms: int = START) -> None:
    store.add([total(s, at_ms, loaded=1) for s in skills], [event(s) for s in skills], at_ms)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "usage.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteUsage]:
    opened = SqliteUsage(str(path))
    yield opened
    opened.close()


def size(path: Path) -> int:
    return sum(file.stat().st_size for file in path.parent.glob("usage.db*"))


def change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def test_numbers_add_up_and_times_never_go_back(store: SqliteUsage) -> None:
    store.add([total("deploy", START, loaded=1, listed=5)], [event("deploy")], START)
    store.add([total("deploy", START - 9, loaded=1)], [], START)
    store.add([total("deploy", listed=2)], [], START)

    page = store.read(ALL)

    assert len(page.totals) == 1
    assert {use.value: number for use, number in page.totals[0].counts.items()} == {
        "listed": 7,
        "routed": 0,
        "loaded": 2,
        "invoked": 0,
        "corrected": 0,
    }
    assert page.totals[0].last_used_ms == START
    assert store.last_used() == {"deploy": START}


def test_what_one_process_notes_the_next_finds(path: Path) -> None:
    with closing(SqliteUsage(str(path))) as first:
        add(first, "deploy")
    with closing(SqliteUsage(str(path))) as second:
        page = second.read(ALL)

    assert [(one.sequence, one.skill, one.use) for one in page.events] == [
        (1, "deploy", Use.LOADED)
    ]


def test_a_reader_chooses_by_agent_skill_and_number(store: SqliteUsage) -> None:
    add(store, "deploy", "review")
    other = UsageEvent(use=Use.INVOKED, skill="deploy", agent_id="other", at_ms=START)
    count = UsageTotal(skill="deploy", agent_id="other", counts={Use.INVOKED: 1})
    store.add([count], [other], START)

    by_skill = store.read(UsageQuery(skill="deploy"))
    by_agent = store.read(UsageQuery(agent_id="other"))
    paged = store.read(UsageQuery(after=1, most_events=1))

    assert [one.sequence for one in by_skill.events] == [1, 3]
    assert [one.agent_id for one in by_skill.totals] == ["main", "other"]
    assert [one.sequence for one in by_agent.events] == [3]
    assert ([one.sequence for one in paged.events], paged.more) == ([2], True)
    assert store.read(UsageQuery(skill="' OR 1=1 --")).events == ()


def test_only_the_owner_may_read_it(store: SqliteUsage, path: Path) -> None:
    add(store, "deploy")

    files = list(path.parent.iterdir())
    assert path in files
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_looking_makes_no_file(store: SqliteUsage, path: Path) -> None:
    assert store.read(ALL).totals == ()
    assert store.last_used() == {}
    assert not path.parent.exists()


def test_nothing_but_names_kinds_and_times_is_in_the_file(path: Path) -> None:
    log = UsageLog(SqliteUsage(str(path)), known=lambda _agent: {"deploy"}, now_ms=lambda: START)
    said = "canary 0123456789 /home/me/secret.txt please deploy my app"

    log.note(Use.ROUTED, ["deploy", said], "main")
    log.note(Use.LISTED, [said], "main")
    log.report(agent_id=said, skill=said, after=0, limit=10)
    log.close()

    for file in path.parent.iterdir():
        assert b"canary" not in file.read_bytes()
    with closing(sqlite3.connect(path)) as connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(events)")]
    assert columns == ["sequence", "at_ms", "use", "skill", "agent"]


def test_only_the_newest_events_are_kept_and_numbers_go_on(path: Path) -> None:
    with closing(SqliteUsage(str(path), most_events=50)) as store:
        for number in range(120):
            add(store, f"skill-{number % 7}")
        page = store.read(ALL)

    assert [one.sequence for one in page.events] == list(range(71, 121))
    assert sum(one.counts[Use.LOADED] for one in page.totals) == 120


def test_the_skills_that_were_met_longest_ago_are_forgotten_first(path: Path) -> None:
    with closing(SqliteUsage(str(path), most_pairs=10)) as store:
        add(store, "kept", at_ms=START)
        for number in range(30):
            add(store, f"skill-{number}", at_ms=START + number)
            add(store, "kept", at_ms=START + number)
        page = store.read(ALL)

    names = {one.skill for one in page.totals}
    assert names == {"kept", *(f"skill-{number}" for number in range(21, 30))}


def test_no_number_of_names_makes_the_file_grow_without_bound(path: Path) -> None:
    sizes = []
    with closing(SqliteUsage(str(path), most_events=500, most_pairs=200)) as store:
        for start in range(0, 12_000, 300):
            names = [f"{start + at:05}-{'ä' * 300}" for at in range(300)]
            add(store, *names, at_ms=START + start)
            sizes.append(size(path))
        page = store.read(UsageQuery(most_events=100_000, most_totals=100_000))

    assert (len(page.events), len(page.totals)) == (500, 200)
    # What is written is copied over from its companion file now and then.
    assert max(sizes[20:]) <= max(sizes[:20]) + (64 << 10)
    assert max(sizes) < 8 << 20


def test_half_a_character_in_a_name_is_no_reason_to_fail(store: SqliteUsage) -> None:
    add(store, "deploy\ud800")

    assert [one.skill for one in store.read(ALL).totals] == ["deploy?"]


def test_threads_share_a_store(store: SqliteUsage) -> None:
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda at: add(store, f"skill-{at % 4}"), range(200)))

    page = store.read(ALL)
    assert [one.counts[Use.LOADED] for one in page.totals] == [50] * 4
    assert [one.sequence for one in page.events] == list(range(1, 201))


def start_writer(path: Path, name: str, number: int) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), name, str(number)],
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


def test_processes_that_begin_at_once_lose_and_double_nothing(
    path: Path, store: SqliteUsage
) -> None:
    children = [start_writer(path, f"skill-{at}", 100) for at in range(3)]
    assert [read_line(child) for child in children] == ["ready"] * 3

    for child in children:
        let_go(child)
    ends = [child.communicate(timeout=60) for child in children]

    assert [err for _, err in ends] == ["", "", ""]
    page = store.read(ALL)
    assert {one.skill: one.counts[Use.LOADED] for one in page.totals} == {
        "skill-0": 100,
        "skill-1": 100,
        "skill-2": 100,
    }
    assert len(page.events) == 300


@pytest.mark.parametrize("after", [1, 7, 40])
def test_a_killed_process_leaves_all_that_it_said_it_wrote(
    path: Path, store: SqliteUsage, after: int
) -> None:
    child = start_writer(path, "deploy", 100_000)
    assert read_line(child) == "ready"
    let_go(child)
    while int(read_line(child)) < after:
        pass
    child.send_signal(signal.SIGKILL)
    assert child.stdout is not None
    # Not `communicate`, which passes over lines that were taken from the pipe already.
    said = int([str(after), *child.stdout.read().split()][-1])
    child.communicate(timeout=60)

    page = store.read(ALL)

    # The last one may have been written without a word about it.
    assert page.totals[0].counts[Use.LOADED] in {said, said + 1}
    assert len(page.events) == page.totals[0].counts[Use.LOADED]
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    add(store, "deploy")


@pytest.mark.parametrize(
    "content",
    [b"", b"not a database at all", b"SQLite format 3\0" + b"\xff" * 5_000, os.urandom(9_000)],
)
def test_a_broken_file_is_set_aside_and_begun_anew(
    path: Path, store: SqliteUsage, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    path.parent.mkdir()
    path.write_bytes(content)

    add(store, "deploy")

    assert [one.skill for one in store.read(ALL).events] == ["deploy"]
    aside = path.with_name("usage.db.broken")
    if content:
        assert aside.read_bytes() == content
        assert "usage.broken" in caplog.text
    else:
        assert not aside.exists()


def test_a_file_that_breaks_while_it_is_open_is_set_aside(path: Path, store: SqliteUsage) -> None:
    for number in range(300):
        add(store, f"skill-{number}")
    store.close()
    content = bytearray(path.read_bytes())
    content[4_096:] = b"\xaa" * (len(content) - 4_096)
    path.write_bytes(bytes(content))

    add(store, "deploy")

    assert [one.skill for one in store.read(ALL).totals] == ["deploy"]


def test_a_broken_file_is_set_aside_by_a_reader_too(path: Path, store: SqliteUsage) -> None:
    path.parent.mkdir()
    path.write_bytes(b"not a database at all")

    assert store.last_used() == {}
    assert store.read(ALL).totals == ()


def test_tables_of_somebody_else_are_set_aside(path: Path, store: SqliteUsage) -> None:
    path.parent.mkdir()
    change(path, "CREATE TABLE totals (x)", "CREATE TABLE events (y)")

    add(store, "deploy")

    assert [one.skill for one in store.read(ALL).totals] == ["deploy"]


def test_only_one_broken_file_is_kept(path: Path, store: SqliteUsage) -> None:
    path.parent.mkdir()
    for number in range(4):
        path.write_bytes(f"broken {number}".encode() * 100)
        add(store, "deploy")
        store.close()

    names = {file.name for file in path.parent.glob("usage.db.broken*")}
    assert names <= {"usage.db.broken", "usage.db.broken-wal", "usage.db.broken-shm"}
    assert path.with_name("usage.db.broken").read_bytes().startswith(b"broken 3")


def test_a_new_file_of_another_process_is_not_set_aside(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"not a database at all")
    stores = [SqliteUsage(str(path)) for _ in range(8)]

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda store: add(store, "deploy"), stores))

    with closing(SqliteUsage(str(path))) as store:
        assert store.read(ALL).totals[0].counts[Use.LOADED] == 8
    for opened in stores:
        opened.close()


def test_a_broken_file_stays_where_it_is_while_another_opens_it(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"not a database at all")
    opening, go_on = threading.Event(), threading.Event()

    def prepare(_connection: sqlite3.Connection) -> None:
        opening.set()
        go_on.wait(20)

    other = path.with_name("other.db")
    slow = SqliteFile(str(other), 1, prepare)
    with ThreadPoolExecutor(2) as threads, closing(SqliteUsage(str(path))) as store:
        threads.submit(slow.open)
        assert opening.wait(20)
        adding = threads.submit(add, store, "deploy")
        with pytest.raises(TimeoutError):
            adding.result(0.3)
        kept = path.read_bytes()
        go_on.set()
        adding.result(20)
        assert kept == b"not a database at all"
        assert store.read(ALL).totals[0].counts[Use.LOADED] == 1
    slow.close()


def test_a_file_of_a_newer_prowess_is_left_alone(path: Path, store: SqliteUsage) -> None:
    add(store, "deploy")
    store.close()
    change(path, "PRAGMA user_version = 99")

    with pytest.raises(StoreError, match="newer Prowess"):
        add(store, "deploy")

    assert not path.with_name("usage.db.broken").exists()


def test_numbers_and_kinds_that_make_no_sense_are_passed_over(
    path: Path, store: SqliteUsage
) -> None:
    add(store, "deploy")
    change(
        path,
        "INSERT INTO events (at_ms, use, skill, agent) VALUES (1, 'dreamt', 'a', 'main')",
        "INSERT INTO events (at_ms, use, skill, agent) VALUES ('soon', 'loaded', 'b', 'main')",
        "UPDATE totals SET loaded = 'many', used_ms = 'never'",
    )

    page = store.read(ALL)

    assert [(one.skill, one.at_ms) for one in page.events] == [("deploy", START), ("b", 0)]
    assert (page.totals[0].counts[Use.LOADED], page.totals[0].last_used_ms) == (0, 0)


def test_a_file_that_is_deleted_while_it_is_open_is_made_again(
    path: Path, store: SqliteUsage
) -> None:
    add(store, "deploy")
    for file in path.parent.glob("usage.db*"):
        file.unlink()

    add(store, "review")

    assert [one.skill for one in store.read(ALL).totals] == ["review"]


def test_a_store_that_another_process_holds_is_an_error_and_then_works(
    path: Path, store: SqliteUsage
) -> None:
    add(store, "deploy")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="locked"):
            add(store, "deploy")
        assert store.read(ALL).totals[0].counts[Use.LOADED] == 1
        other.execute("ROLLBACK")

    add(store, "deploy")

    assert store.read(ALL).totals[0].counts[Use.LOADED] == 2


@contextmanager
def no_room(limit: int) -> Iterator[None]:
    """Let no file grow beyond `limit`, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)


def test_a_full_disk_keeps_what_was_there_and_nothing_is_lost(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock = iter(range(START, START + 10_000_000, 10_000))
    store = SqliteUsage(str(path))
    names = [f"skill-{number}" for number in range(100)]
    log = UsageLog(store, known=lambda _agent: set(names), now_ms=lambda: next(clock))
    log.note(Use.LOADED, names, "main")

    with no_room(100):
        log.note(Use.LOADED, names, "main")
        log.note(Use.LISTED, names, "main")
    log.flush()

    totals = store.read(UsageQuery(most_totals=1_000)).totals
    assert {(one.counts[Use.LOADED], one.counts[Use.LISTED]) for one in totals} == {(2, 1)}
    assert caplog.text.count("usage.unusable") == 1
    log.close()


def test_a_state_folder_that_cannot_be_made_stops_nobody(caplog: pytest.LogCaptureFixture) -> None:
    with tempfile.NamedTemporaryFile() as file:
        store = SqliteUsage(f"{file.name}/state/usage.db")
        log = UsageLog(store, known=lambda _agent: {"deploy"}, now_ms=lambda: START)

        log.note(Use.LOADED, ["deploy"], "main")
        log.note(Use.LOADED, ["deploy"], "main")

        assert log.report(agent_id=None, skill=None, after=0, limit=5) == {
            "totals": [],
            "events": [],
        }
        assert log.last_used() == {"deploy": START}
        log.close()
    assert caplog.text.count("usage.unusable") == 1


def test_days_add_up_and_are_read_from_a_day_on(store: SqliteUsage) -> None:
    def day(number: int, skill: str = "", agent: str = "main", **more: int) -> UsageDay:
        given = {Use(use): many for use, many in more.items() if use != "unmatched"}
        unmatched = more.get("unmatched", 0)
        return UsageDay(day=number, skill=skill, agent_id=agent, counts=given, unmatched=unmatched)

    store.add([], [], START, [day(5, "deploy", routed=2), day(6, unmatched=1)])
    store.add([], [], START, [day(5, "deploy", routed=1), day(6, "deploy", "other", loaded=4)])

    found = {(one.day, one.skill, one.agent_id): one for one in store.days(5, None)}
    assert found[5, "deploy", "main"].counts[Use.ROUTED] == 3
    assert found[6, "", "main"].unmatched == 1
    assert [one.skill for one in store.days(6, "other")] == ["deploy"]
    assert store.days(7, None) == []


def test_only_the_newest_days_are_kept(path: Path) -> None:
    with closing(SqliteUsage(str(path), most_days=3)) as store:
        for number in range(10):
            store.add([], [], START, [UsageDay(day=number, agent_id="main", unmatched=1)])

        assert [one.day for one in store.days(0, None)] == [7, 8, 9]


def test_a_file_of_the_first_version_gets_its_days_from_its_events(
    path: Path, store: SqliteUsage
) -> None:
    store.add([], [event("deploy"), event("deploy"), event("deploy", Use.ROUTED)], START)
    store.close()
    change(path, "DROP TABLE days", "PRAGMA user_version = 1")

    (found,) = store.days(0, None)

    assert (found.day, found.skill, found.agent_id) == (utc_day(START), "deploy", "main")
    assert (found.counts[Use.LOADED], found.counts[Use.ROUTED]) == (2, 1)
    assert date.fromordinal(found.day) == datetime.fromtimestamp(START / 1000, UTC).date()


def test_looking_at_days_makes_no_file(store: SqliteUsage, path: Path) -> None:
    assert list(store.days(0, None)) == []
    assert not path.exists()
