"""The config file under clients of the gateway: who writes at once, who dies, and who retries."""

import hashlib
import json
import os
import re
import signal
import stat
import subprocess
import sys
import textwrap
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from prowess.errors import ConfigConflictError, ConfigError, ConfigSyntaxError, ProwessError
from prowess.host.config.file import ConfigFile, parse, to_settings
from prowess.host.config.writer import ConfigStore, write
from prowess.runtime.config.edits import ConfigEdits

# Planted, so that it can be looked for.
SECRET = "canary-71c0"  # noqa: S105
OLD: dict[str, Any] = {
    "gateway": {"auth": {"token": SECRET}},
    "agents": {"list": [{"id": "main", "skills": ["a"]}, {"id": "writer"}]},
    "skills": {"entries": {"x": {"apiKey": SECRET, "env": {"MODE": "slow"}}}},
}
# By what a client that we did not write knows that it may try again.
RETRIED = re.compile(r"re-run config.get|config changed since last load", re.IGNORECASE)


def open_edits(path: Path, changed: Callable[[str], None] = lambda _hash: None) -> ConfigEdits:
    return ConfigEdits(
        ConfigStore(ConfigFile(str(path))),
        check=lambda values: to_settings(values).problems,
        changed=changed,
    )


def begin(path: Path, values: object = OLD) -> ConfigEdits:
    path.write_text(json.dumps(values), encoding="utf-8")
    path.chmod(stat.S_IRUSR | stat.S_IWUSR)
    return open_edits(path)


def read(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text(encoding="utf-8")))


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def allow(config: dict[str, Any], agent: str, skill: str) -> dict[str, Any]:
    """Add a skill to an agent, as a client does with the whole config in its hands."""
    agents = config["agents"]["list"]
    for entry in agents:
        if entry["id"] == agent:
            entry["skills"] = sorted({*entry.get("skills", []), skill})
    return config


class Panel:
    """A client that edits one agent and retries once, if it is told that its config is old."""

    def __init__(self, edits: ConfigEdits) -> None:
        self._edits = edits
        self.snapshot = edits.get()
        self.retries = 0

    def allow(self, agent: str, skill: str) -> dict[str, Any]:
        try:
            return self._send(agent, skill)
        except ProwessError as error:
            if not RETRIED.search(str(error)):
                raise
        self.retries += 1
        self.snapshot = self._edits.get()
        return self._send(agent, skill)

    def _send(self, agent: str, skill: str) -> dict[str, Any]:
        config = allow(json.loads(json.dumps(self.snapshot["config"])), agent, skill)
        known = self.snapshot["hash"] if self.snapshot["exists"] else None
        return self._edits.set(json.dumps(config, indent=2), known)


def test_a_client_with_an_old_config_retries_and_undoes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "prowess.json"
    edits = begin(path)
    panel, other = Panel(edits), Panel(edits)
    other.allow("writer", "b")
    write(ConfigFile(str(path)), ("skills", "pinned"), ["p"])

    panel.allow("main", "c")

    assert (panel.retries, other.retries) == (1, 0)
    found = read(path)
    assert found["agents"]["list"] == [
        {"id": "main", "skills": ["a", "c"]},
        {"id": "writer", "skills": ["b"]},
    ]
    assert found["skills"] == {**OLD["skills"], "pinned": ["p"]}
    assert found["gateway"] == OLD["gateway"]


def test_the_first_client_needs_no_file(tmp_path: Path) -> None:
    path = tmp_path / "state/prowess.json"
    edits = open_edits(path)

    assert edits.get()["exists"] is False
    edits.set('{"agents": {"list": [{"id": "main"}]}}', None)

    assert read(path) == {"agents": {"list": [{"id": "main"}]}}
    assert mode(path) == 0o600


def test_a_file_that_others_could_read_is_private_after_a_write(tmp_path: Path) -> None:
    path = tmp_path / "prowess.json"
    edits = begin(path)
    path.chmod(0o644)
    told: list[str] = []

    open_edits(path, told.append).update_entry("x", api_key="new\n", env={"MODE": "", "A": "1"})

    assert read(path)["skills"]["entries"]["x"] == {"apiKey": "new", "env": {"A": "1"}}
    assert mode(path) == 0o600
    assert told == [hashlib.sha256(path.read_bytes()).hexdigest()] == [edits.get()["hash"]]


def test_comments_are_kept_beside_the_new_file(tmp_path: Path) -> None:
    path = tmp_path / "prowess.json"
    text = "{ // mine\n a: 1 }\n"
    path.write_text(text)
    edits = open_edits(path)

    edits.patch('{"b": 2}', edits.get()["hash"])

    assert read(path) == {"a": 1, "b": 2}
    backup = tmp_path / "prowess.json.bak"
    assert (backup.read_text(), mode(backup)) == (text, 0o600)


def test_a_link_to_the_file_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "dotfiles.json", tmp_path / "prowess.json"
    begin(real)
    link.symlink_to(real)

    open_edits(link).update_entry("x", enabled=False)

    assert link.is_symlink()
    assert read(real)["skills"]["entries"]["x"]["enabled"] is False


def test_what_is_no_file_or_no_text_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    latin = tmp_path / "latin.json"
    latin.write_bytes(b'{"token": "\xe4"}')

    with pytest.raises(ConfigError, match="not a regular file"):
        open_edits(tmp_path / "folder").get()
    found = open_edits(latin).get()

    assert (found["valid"], found["raw"]) == (False, None)
    assert "UTF-8" in found["issues"][0]["message"]
    assert found["hash"] == hashlib.sha256(latin.read_bytes()).hexdigest()


def test_a_file_that_could_not_be_read_again_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "prowess.json"
    edits = begin(path, {"a": "x" * 2_100_000})
    before = path.read_bytes()

    with pytest.raises(ConfigError, match="larger than"):
        edits.patch(json.dumps({"b": "y" * 2_100_000}), edits.get()["hash"])

    assert path.read_bytes() == before


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_folder_that_cannot_be_written_is_a_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "prowess.json"
    edits = begin(path)
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(ConfigError, match="cannot be written"):
            edits.update_entry("x", enabled=True)
    finally:
        tmp_path.chmod(0o700)


def test_of_clients_that_read_the_same_config_one_wins_and_the_others_are_told(
    tmp_path: Path,
) -> None:
    path = tmp_path / "prowess.json"
    known = begin(path).get()["hash"]

    def change(number: int) -> str:
        try:
            open_edits(path).patch(json.dumps({"winner": number}), known)
        except ConfigConflictError as error:
            return str(error)
        return str(number)

    with ThreadPoolExecutor(8) as pool:
        said = list(pool.map(change, range(16)))

    winners = [one for one in said if one.isdigit()]
    assert winners == [str(read(path)["winner"])]
    assert {one for one in said if not one.isdigit()} == {
        "config changed since last load; re-run config.get and retry"
    }


def keep_adding(path: Path, name: str, count: int) -> None:
    """Add skills to an agent one by one, each against the config as it is then."""
    edits = open_edits(path)
    for number in range(count):
        while True:
            seen = edits.get()
            wanted = json.dumps(allow(seen["config"], "main", f"{name}{number}"))
            try:
                edits.set(wanted, seen["hash"])
                break
            except ConfigConflictError:
                continue
        edits.update_entry(f"{name}{number}", enabled=True, api_key=SECRET)


def check_all_added(path: Path, names: str, count: int) -> None:
    wanted = {f"{name}{number}" for name in names for number in range(count)}
    found = read(path)
    assert set(found["agents"]["list"][0]["skills"]) == {*wanted, "a"}
    assert found["skills"]["entries"].keys() == {*wanted, "x"}
    assert found["gateway"] == OLD["gateway"]
    assert all(entry["apiKey"] == SECRET for entry in found["skills"]["entries"].values())


def test_threads_that_write_at_once_lose_nothing_and_readers_see_whole_files(
    tmp_path: Path,
) -> None:
    path = tmp_path / "prowess.json"
    edits = begin(path)

    with ThreadPoolExecutor(4) as pool:
        writers = [pool.submit(keep_adding, path, name, 4) for name in "pqr"]
        while not all(writer.done() for writer in writers):
            assert edits.get()["valid"]
    for writer in writers:
        writer.result()

    check_all_added(path, "pqr", 4)


# Found by the name of this file: the process has another working folder.
_SCRIPT = """
    import sys
    sys.path[:0] = [{tests!r}, {root!r}]
    import test_config_store as store
    from pathlib import Path
"""


def start(script: str, *arguments: str) -> "subprocess.Popen[str]":
    here = Path(__file__)
    text = textwrap.dedent(_SCRIPT).format(tests=str(here.parent), root=str(here.parents[2]))
    return subprocess.Popen(
        [sys.executable, "-c", text + textwrap.dedent(script), *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "prowess.json"
    begin(path)
    script = "store.keep_adding(Path(sys.argv[1]), sys.argv[2], 4)"

    started = [start(script, str(path), name) for name in "pq"]

    for process in started:
        _, said = process.communicate(timeout=60)
        assert process.returncode == 0, said
    check_all_added(path, "pq", 4)


def change_all(edits: ConfigEdits, action: str) -> None:
    """Do the change that is interrupted."""
    if action == "entry":
        edits.update_entry("x", enabled=False, env={"MODE": "fast"})
        return
    seen = edits.get()
    wanted = allow(seen["config"], "main", "new")
    edits.set(json.dumps(wanted), seen["hash"])


def die_at_line(number: int) -> None:
    """Kill this process when that many lines of the code that writes were run."""
    files = ("config/writer.py", "files/state_files.py")
    count = iter(range(number))

    # What a tracer returns traces the rest, and so it is of its own type.
    def line(_frame: object, event: str, _argument: object) -> Any:  # noqa: ANN401
        if event == "line" and next(count, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)
        return line

    sys.settrace(
        lambda frame, _event, _argument: line if frame.f_code.co_filename.endswith(files) else None
    )


_KILLED = """
    import os, signal

    path, action = Path(sys.argv[1]), sys.argv[2]
    store.begin(path)
    old = path.read_bytes()
    store.change_all(store.open_edits(path), action)
    new, number, ends, is_over = path.read_bytes(), -1, set(), False
    assert new != old
    while not is_over:
        number += 1
        path.write_bytes(old)
        child = os.fork()
        if child == 0:
            store.die_at_line(number)
            store.change_all(store.open_edits(path), action)
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert code in (0, -signal.SIGKILL), (number, code)
        is_over = code == 0
        found = path.read_bytes()
        assert found in (old, new), (number, found)
        assert store.mode(path) == 0o600, number
        for left in path.parent.glob(".prowess-*"):
            # What was on its way holds secrets too.
            assert store.mode(left) == 0o600, number
            left.unlink()
        ends.add("new" if found == new else "old")
        # No lock outlives who held it, and what is there can be changed again.
        store.open_edits(path).update_entry("after", enabled=True)
    print(number, *sorted(ends))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")
@pytest.mark.parametrize("action", ["set", "entry"])
def test_a_process_killed_at_any_line_leaves_the_old_or_the_new_file(
    tmp_path: Path, action: str
) -> None:
    done = start(_KILLED, str(tmp_path / "prowess.json"), action)

    said, trouble = done.communicate(timeout=100)

    assert done.returncode == 0, trouble
    lines, *ends = said.split()
    assert int(lines) > 40, "the walk ended before the write did"
    assert ends == ["new", "old"]


def test_half_a_character_is_named_among_what_no_setting_needs() -> None:
    with pytest.raises(ConfigSyntaxError, match="half a character"):
        parse("prowess.json", '{"a": "\\ud800"}')
