"""Kills a process at each step by which it changes the disk, and lets every reader look afterwards.

A step is a call that opens or changes a file, a folder or the store: before it, after it, and in
the middle of what it writes. A line that takes a step for each of many files is killed at the first
and the second of them: that something is begun, and that it is half done, is all that differs. What
is left is read as often as it differs from all that was seen before, so that a hundred kills cost a
few readings.
"""

import builtins
import hashlib
import inspect
import io
import json
import os
import re
import shutil
import sys
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple, Protocol

import pytest
import sqlalchemy as sa

import prowess
from prowess.cli.main import main
from prowess.errors import ProwessError
from prowess.host.files import transaction
from prowess.host.sources.skill_files import read_inside
from prowess.runtime import scan as scanning
from prowess.runtime.library import Libraries
from prowess.safety.model import Profile, ScanReport
from prowess.safety.scan import ScanOptions, scan
from prowess.wiring import open_runtime
from prowess.wiring.run import open_texts

KILLED = 9
# A line is known by itself and the one that called it: helpers serve many.
_LINES, _PASSAGES = 2, 2
_PACKAGE = str(Path(prowess.__file__).parent)
OLD, NEW = "vintage-old", "vintage-new"
_CHANGES = (
    "mkdir", "rmdir", "rename", "replace", "link", "symlink", "unlink", "remove", "fsync",
    "chmod", "fchmod", "truncate", "ftruncate", "sendfile", "open",
)  # fmt: skip
_STAMPED = re.compile(r"[0-9]{20}-[0-9a-f]{8}|[0-9]{12}-[0-9a-f]{12}|[0-9]{8}-[0-9]{6}")
_HIDDEN = re.compile(r"\.prowess-[0-9a-z_]{8,16}")

Tree = dict[str, bytes]


class Deed(Protocol):
    """Something that changes skills, from the old state of a place to the new one."""

    def prepare(self, place: Path) -> None:
        """Make the old state."""

    def act(self, place: Path) -> None:
        """Change it; whoever was killed meanwhile does it again."""

    def look(self, place: Path) -> str:
        """Return "old" or "new", having seen that what lies there is no mix."""

    def read(self, place: Path, found: str, /) -> None:
        """See that all readers agree."""


class Killed(NamedTuple):
    """What the kills came to."""

    # At how many steps it should have ended, and how often it did: how many steps a deed takes
    # differs a little with the clock.
    steps: int
    kills: int
    # How many different states they left, and how many of these differ for readers.
    states: int
    readings: int
    ends: Mapping[str, int]


class _Steps:
    """Counts steps, and dies at one of them."""

    def __init__(self, last: int) -> None:
        self.count, self._last = 0, last
        self._passages: defaultdict[tuple[object, ...], list[int]] = defaultdict(list)

    @property
    def numbers(self) -> list[int]:
        """The first and the second passage of each line."""
        return sorted(
            number for passages in self._passages.values() for number in passages[:_PASSAGES]
        )

    def take(self) -> None:
        self.count += 1
        if self.count == self._last:
            os._exit(KILLED)
        here = inspect.currentframe()
        if here is not None and not self._last:
            self._passages[tuple(islice(_lines(here.f_back), _LINES + 1))].append(self.count)

    def around(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
            self.take()
            found = call(*args, **kwargs)
            self.take()
            return found

        return counted

    def watch(self) -> None:
        """Count every change from now on; only for a process that ends soon."""
        for name in _CHANGES:
            setattr(os, name, self.around(getattr(os, name)))
        write, file = os.write, builtins.open

        def write_in_parts(handle: int, data: bytes) -> int:
            self.take()
            half = write(handle, memoryview(data)[: len(data) // 2])
            self.take()
            return half + write(handle, memoryview(data)[half:])

        def file_counted(path: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
            if not {"w", "x", "a", "+"}.isdisjoint(mode):
                self.take()
            return file(path, mode, *args, **kwargs)

        os.write = write_in_parts  # type: ignore[assignment]
        builtins.open = io.open = file_counted  # type: ignore[assignment]
        exchange = self.around(transaction._rename_function())  # noqa: SLF001
        transaction._rename_function = lambda: exchange  # type: ignore[assignment]  # noqa: SLF001
        sa.event.listen(sa.engine.Engine, "before_cursor_execute", lambda *_rest: self.take())
        sa.event.listen(sa.engine.Engine, "commit", lambda _connection: self.take())


def _lines(frame: FrameType | None) -> Iterator[tuple[str, int]]:
    """Yield where a step is taken, and then the lines of the package on the way to it."""
    if frame is not None:
        yield frame.f_code.co_name, frame.f_lineno
    while frame is not None:
        if frame.f_code.co_filename.startswith(_PACKAGE):
            yield frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back


def in_child(work: Callable[[], object]) -> int:
    """Do something in a process of its own, and return its exit code."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        # Shown, since nothing above this ever sees it.
        except BaseException:  # noqa: BLE001
            traceback.print_exc()
            sys.stderr.flush()
        finally:
            # Nothing of the process that was forked may run on here.
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def kill_everywhere(base: Path, deed: Deed) -> Killed:
    """Kill a deed at each line of the package by which it changes the disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scanning, "scan", _scan_once())
        return _kill_everywhere(base / "place", base / "begun", deed)


def _scan_once() -> Callable[..., ScanReport]:
    """Return the scanner, which changes no disk, with a memory of what it said about such files."""
    known: dict[object, ScanReport] = {}

    def look_up(files: Mapping[str, bytes], profile: Profile, options: ScanOptions) -> ScanReport:
        said = (options.skill, options.trusted_names, options.acceptances, options.refused)
        key = (profile, frozenset(files.items()), *said)
        if key not in known:
            known[key] = scan(files, profile, options)
        return known[key]

    return look_up


def _kill_everywhere(place: Path, begun: Path, deed: Deed) -> Killed:
    _begin(begun, place, deed)
    numbers = _steps_of(begun, place, deed)
    seen: set[str] = set()
    read: set[str] = set()
    ends: Counter[str] = Counter()
    kills = 0
    for number in numbers:
        shutil.copytree(begun, place, symlinks=True)
        ended = in_child(partial(_act, deed, place, number))
        assert ended in {KILLED, 0}, number
        kills += ended == KILLED
        found = deed.look(place)
        ends[found] += 1
        visible = _digest(place, is_visible)
        if visible not in read:
            read.add(visible)
            deed.read(place, found)
        whole = _digest(place)
        if whole not in seen:
            seen.add(whole)
            assert in_child(partial(_act, deed, place)) == 0, number
            assert deed.look(place) == "new", number
        shutil.rmtree(place)
    return Killed(len(numbers), kills, len(seen), len(read), ends)


def _begin(begun: Path, place: Path, deed: Deed) -> None:
    """Make the old state, and do all of it once here: what that loads is there for the rest."""
    place.mkdir()
    deed.prepare(place)
    place.rename(begun)
    shutil.copytree(begun, place, symlinks=True)
    deed.act(place)
    assert deed.look(place) == "new"
    shutil.rmtree(place)


def _act(deed: Deed, place: Path, last: int = 0) -> None:
    if last:
        _Steps(last).watch()
    deed.act(place)


def _steps_of(begun: Path, place: Path, deed: Deed) -> list[int]:
    """Return the steps to kill a deed at, from one that nobody kills."""
    shutil.copytree(begun, place, symlinks=True)
    said = place.with_name("steps")

    def count() -> None:
        steps = _Steps(0)
        steps.watch()
        deed.act(place)
        taken = json.dumps(steps.numbers)
        said.write_text(taken, encoding="utf-8")

    assert in_child(count) == 0
    shutil.rmtree(place)
    found: list[int] = json.loads(said.read_text(encoding="utf-8"))
    return found


def is_visible(path: str) -> bool:
    """Return whether a reader of skills may come across a file."""
    return not path.startswith("state/") and "/.prowess-" not in f"/{path}"


def _digest(place: Path, wanted: Callable[[str], bool] = lambda _path: True) -> str:
    """Return what tells one state of a place from another, whatever hidden things are called."""
    found = sorted(_describe(path, data) for path, data in tree(place).items() if wanted(path))
    return hashlib.sha256(json.dumps(found).encode()).hexdigest()


def _describe(path: str, data: bytes) -> tuple[str, str]:
    name = _HIDDEN.sub(".prowess-", _STAMPED.sub("some", path))
    # What is in a database shows in what is done with it, and what waits in hiding is not used.
    is_noise = path.startswith("state/") or "/.prowess-" in f"/{path}"
    if is_noise:
        return name, ""
    # A draft says when it was made.
    return name, str(len(data)) if "/auto/" in path else hashlib.sha256(data).hexdigest()


def tree(folder: Path) -> Tree:
    """Return every file below a folder by its path, and of a link where it leads."""
    return {
        path.relative_to(folder).as_posix(): (
            str(path.readlink()).encode() if path.is_symlink() else path.read_bytes()
        )
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or path.is_file()
    }


def in_sight(files: Tree) -> Tree:
    """Return what is no writer's own."""
    return {path: data for path, data in files.items() if is_visible(path)}


def read_everything(place: Path, skill: str, work: str = "work") -> dict[str, str]:
    """Return what every reader says of a workspace with one skill, each as one text."""
    said = place / "said.json"

    def read() -> None:
        os.environ.update(PROWESS_HOME=str(place / "state"), HOME=str(place / "home"))
        os.chdir(place / work)
        said.write_text(json.dumps(dict(_readings(place, skill, work))), encoding="utf-8")

    assert in_child(read) == 0
    found: dict[str, str] = json.loads(said.read_text(encoding="utf-8"))
    said.unlink()
    for reader, text in found.items():
        # The scanner reads whatever lies in a skill: no name keeps a file from it.
        assert reader.startswith("scan") or ".prowess-" not in text, (reader, text)
    return found


def _readings(place: Path, skill: str, work: str) -> Iterator[tuple[str, str]]:
    target = place / "copies"
    for words in (
        ("list", "--json"),
        ("prompt",),
        ("show", skill),
        ("scan", skill, "--json"),
        ("route", f"please do the {skill} thing", "--json"),
        ("sync", str(target)),
    ):
        out = io.StringIO()
        with redirect_stdout(out), redirect_stderr(out):
            main(words)
        yield words[0], out.getvalue().replace(str(place), "")
    copied = in_sight(tree(target)) if target.exists() else {}
    yield "copies", json.dumps({path: data.decode() for path, data in copied.items()})
    shutil.rmtree(target, ignore_errors=True)
    yield from _answers(place / work, skill)


def _answers(workspace: Path, skill: str) -> Iterator[tuple[str, str]]:
    """Yield what the library and the gateway's services hand out, file by file."""
    runtime = open_runtime(workspace)
    libraries = Libraries(runtime.skills, os.path.isdir, read_inside)
    try:
        found = runtime.skills.find(skill, None).skill
    except ProwessError:
        yield "library", "none"
        return
    texts, page = open_texts(runtime), Path(found.path).name
    names = (page, *runtime.skills.resources(found.name, None))
    yield "library", "\n".join(texts.read(found, name).text for name in names)
    yield "gateway", "\n".join(str(libraries.file(found.name, name, None).text) for name in names)


def check_readings(place: Path, skill: str, found: str, work: str = "work") -> None:
    """See that every reader knows the old skill or the new one, the same as all others."""
    mark, other = (OLD, NEW) if found == "old" else (NEW, OLD)
    for reader, text in read_everything(place, skill, work).items():
        assert other not in text, (found, reader, text)
        # The others do not show the text of a skill.
        if reader in {"prompt", "show", "library", "gateway", "copies"}:
            assert mark in text, (found, reader, text)
