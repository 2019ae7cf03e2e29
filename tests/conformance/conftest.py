"""The fixtures of the conformance tests: one world, and the surfaces that answer about it."""

from collections.abc import Iterator

import pytest

from .surfaces import LibrarySurface, Surface, TerminalSurface
from .world import World


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "requirement(*ids): the ids in requirements.py that this test holds."
    )


@pytest.fixture
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A person with no skills and no configuration.

    The folder is not named after the test, so that a word in a path is never there by chance.
    """
    made = World(tmp_path_factory.mktemp("world"))
    yield made
    made.close()


@pytest.fixture(params=[LibrarySurface, TerminalSurface], ids=["library", "terminal"])
def surface(request: pytest.FixtureRequest, world: World) -> Surface:
    """The same question, asked of the library and of the terminal."""
    asked: type[LibrarySurface | TerminalSurface] = request.param
    return asked(world)
