"""What holds for every test: which are slow, how many examples are drawn, which signals arrive."""

import compileall
import gc
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import islice
from pathlib import Path
from types import FrameType

import pytest
from _pytest.assertion import rewrite
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

_HERE = Path(__file__).parent
# Processes, sockets, browsers: `make test` leaves these out, and what is marked slow elsewhere.
_SLOW_FOLDERS = {"browser", "integration", "outside", "training"}
# Other people's programs, from a registry: run where the folder is named.
_OUTSIDE = _HERE / "outside"
_BROWSER = _HERE / "browser"

# Every processor has a test of its own, and threads that wait for a part of a small sum spend ten
# to sixty times what it takes. Read when numpy is loaded, here and in the children of tests.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Machines are shared and slow, so no example has a time limit.
# The same change gets the same answer: which cases are drawn follows from the test alone. New
# ones are looked for with `pytest --hypothesis-profile=search`; what it finds is mended.
settings.register_profile(
    "shared",
    deadline=None,
    max_examples=60,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "search", deadline=None, max_examples=1_000, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("shared")
# Hypothesis also draws numbers and words that stand in the modules at hand. Which those are depends
# on the tests that ran before in the same process, so that a case would come and go with them.
_NOTHING_AT_HAND = providers._local_constants  # noqa: SLF001
providers._get_local_constants = lambda: _NOTHING_AT_HAND  # noqa: SLF001


def pytest_configure(config: pytest.Config) -> None:
    """Prepare for workers, and let children take the signals that tests send them.

    A shell starts what runs in the background with SIGINT and SIGQUIT ignored, nohup with SIGHUP,
    and children inherit that. A signal that is caught is back at its default in a child. That of a
    closed terminal is caught and no more, so that nohup still does what it is for.
    """
    _if_ignored("SIGINT", signal.default_int_handler)
    _if_ignored("SIGQUIT", signal.SIG_DFL)
    _if_ignored("SIGHUP", lambda *_: None)
    # Of whole parts alone: a few files are as quick to compile where they are run.
    if config.getoption("numprocesses", None) and config.option.markexpr:
        _compile_once(config)


def _compile_once(config: pytest.Config) -> None:
    """Compile the tests that are wanted before the workers begin: all of them would do it at once,
    since each loads the same files in the same order."""
    state = config.stash.get(rewrite.assertstate_key, None)
    if sys.dont_write_bytecode or state is None:
        return
    for path in _HERE.rglob("*.py"):
        top = _HERE / path.relative_to(_HERE).parts[0]
        is_test = path.name.startswith("test_")
        if is_test and any(pytest_ignore_collect(one, config) for one in (path, top)):
            continue
        if not is_test and path.name != "conftest.py":
            compileall.compile_file(path, quiet=2)
            continue
        folder = rewrite.get_cache_dir(path)
        kept = folder / f"{path.stem}{rewrite.PYC_TAIL}"
        if rewrite.try_makedirs(folder) and rewrite._read_pyc(path, kept) is None:  # noqa: SLF001
            known, code = rewrite._rewrite_test(path, config)  # noqa: SLF001
            rewrite._write_pyc(state, code, known, kept)  # noqa: SLF001


def _if_ignored(
    name: str, handler: Callable[[int, FrameType | None], object] | signal.Handlers
) -> None:
    number = getattr(signal, name, None)
    if number is not None and signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, handler)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not even read what is not wanted: to load all tests takes each worker many seconds."""
    if collection_path == _OUTSIDE:
        return None if any("outside" in name for name in config.args) else True
    wanted = config.option.markexpr
    if wanted == "not slow":
        return True if _is_slow(collection_path) else None
    is_quick = wanted == "slow" and collection_path.is_file() and not _names_slow(collection_path)
    return True if is_quick else None


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Generator[None]:
    """Mark as slow what lies in the folders that are, and let each worker begin with long tests."""
    for item in items:
        if _is_slow(item.path):
            item.add_marker(pytest.mark.slow)
    # Tests are chosen and shuffled now, and folders say which of theirs need more time.
    yield
    items[:] = _deal(items, int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))


def pytest_collection_finish() -> None:
    """Let the collector of garbage pass over what all tests need: it would look through it again
    and again, in every process that a test forks as well."""
    gc.freeze()


def _deal(items: Sequence[pytest.Item], workers: int) -> list[pytest.Item]:
    """Return the tests so that each worker, who is given an equal part, begins with long ones.

    Begun last, one of them would keep one processor busy while the others have nothing left to do.
    Tests of a module that share a browser stay together; the others share nothing.
    """
    groups: dict[object, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("timeout"):
            together = item.path.is_relative_to(_BROWSER)
            groups.setdefault(item.path if together else item.nodeid, []).append(item)
    order = sorted(groups.values(), key=len)
    others = iter([item for item in items if not item.get_closest_marker("timeout")])
    dealt: list[pytest.Item] = []
    for number in range(workers):
        dealt += [item for group in order[number::workers] for item in group]
        dealt += islice(others, max(0, (number + 1) * len(items) // workers - len(dealt)))
    return [*dealt, *others]


def _is_slow(path: Path) -> bool:
    return not _SLOW_FOLDERS.isdisjoint(path.relative_to(_HERE).parts[:1])


def _names_slow(path: Path) -> bool:
    return _is_slow(path) or b"mark.slow" in path.read_bytes()


@pytest.fixture
def quick_folder(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: what a killed process wrote is kept there too."""
    # Everybody may write there, so the folder inside has a name that nobody can guess.
    memory = Path("/dev/shm")  # noqa: S108
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        yield Path(folder)
