"""A model of ours and a world for one harness; without npm every test here is skipped."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from tests.outside.harnesses import CannotBeHadError, OutsideWorld, install
from tests.outside.model_server import ModelServer, serve

# These programs take seconds to start by themselves, and minutes where many others run. What hangs
# is found by the limits of each step, which are below this.
_LONGEST_S = 1_800


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Give what lies here more time than tests that start none of these programs."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.timeout(_LONGEST_S))


@pytest.fixture
def model() -> Iterator[ModelServer]:
    """The language model that the harness talks to."""
    with serve() as server:
        yield server


@pytest.fixture
def world(tmp_path: Path, model: ModelServer) -> Callable[[str], OutsideWorld]:
    """Return how to make a home for the harness of a name."""

    def make(name: str) -> OutsideWorld:
        try:
            install("node")
            install(name)
            return OutsideWorld(name, tmp_path / name, model)
        except CannotBeHadError as error:
            pytest.skip(str(error))

    return make
