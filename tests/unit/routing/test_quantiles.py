"""Quantiles and medians: the same bits as those of numpy, whatever the numbers."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from prowess.routing.lexical_and_breadth import middle, quantile

# Zeros of both signs are equal, so that which of them comes first is left to chance.
NUMBERS = st.floats(-1e6, 1e6, width=32).map(lambda number: number + 0.0)
ROWS = arrays.arrays(np.float32, st.integers(1, 40), elements=NUMBERS)
TABLES = arrays.arrays(
    np.float32, st.tuples(st.integers(1, 6), st.integers(1, 60)), elements=NUMBERS
)


@settings(max_examples=50)
@given(TABLES, st.sampled_from([0.0, 0.25, 0.5, 0.9, 0.98, 1.0]))
def test_quantiles_of_a_table_are_those_of_numpy_to_the_bit(
    table: np.ndarray, share: float
) -> None:
    mine, theirs = quantile(table, share), np.quantile(table, share, axis=1)

    assert mine.dtype == theirs.dtype
    assert mine.tobytes() == theirs.tobytes()


@settings(max_examples=50)
@given(ROWS)
def test_exact_quantiles_and_the_middle_of_a_row_are_those_of_numpy_to_the_bit(
    row: np.ndarray,
) -> None:
    shares = (0.25, 0.5)
    mine = [quantile(row, np.float64(share)) for share in shares]
    theirs = np.quantile(row, shares)

    assert np.array(mine).dtype == theirs.dtype
    assert np.array(mine).tobytes() == theirs.tobytes()
    assert np.asarray(middle(row)).tobytes() == np.asarray(np.median(row)).tobytes()


@pytest.mark.parametrize("size", [1, 2, 5, 301])
def test_a_transposed_table_is_read_as_it_is(size: int) -> None:
    table = np.random.default_rng(size).random((size, 7), np.float32).T

    assert quantile(table, 0.98).tobytes() == np.quantile(table, 0.98, axis=1).tobytes()


def test_masked_arrays_are_not_loaded() -> None:
    program = (
        "import sys, numpy as np; from prowess.routing.lexical_and_breadth import middle, quantile;"
        " row = np.arange(9, dtype=np.float32); quantile(row, 0.3); middle(row);"
        " print('numpy.ma' in sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)

    assert done.stdout.strip() == b"False"
