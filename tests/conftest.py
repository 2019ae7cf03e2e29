"""What holds for every test: which are slow, how many examples are drawn, which signals arrive."""

import signal
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest
from hypothesis import HealthCheck, settings

_HERE = Path(__file__).parent
# Processes, sockets, browsers: `make test` leaves these out, and what is marked slow elsewhere.
_SLOW_FOLDERS = {"browser", "integration", "training"}

# Machines are shared and slow, so no example has a time limit. Each run draws other examples: fewer
# of them in each run keep the whole suite within its minutes.
settings.register_profile(
    "shared", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("shared")


def pytest_configure() -> None:
    """Let children take the signals that tests send them.

    A shell starts what runs in the background with SIGINT and SIGQUIT ignored, nohup with SIGHUP,
    and children inherit that. A signal that is caught is back at its default in a child. That of a
    closed terminal is caught and no more, so that nohup still does what it is for.
    """
    _if_ignored("SIGINT", signal.default_int_handler)
    _if_ignored("SIGQUIT", signal.SIG_DFL)
    _if_ignored("SIGHUP", lambda *_: None)


def _if_ignored(
    name: str, handler: Callable[[int, FrameType | None], object] | signal.Handlers
) -> None:
    number = getattr(signal, name, None)
    if number is not None and signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, handler)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not even read the slow folders where nothing slow is wanted."""
    unwanted = config.option.markexpr == "not slow" and _is_slow(collection_path)
    return True if unwanted else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow what lies in the folders that are."""
    for item in items:
        if _is_slow(item.path):
            item.add_marker(pytest.mark.slow)


def _is_slow(path: Path) -> bool:
    return not _SLOW_FOLDERS.isdisjoint(path.relative_to(_HERE).parts[:1])
