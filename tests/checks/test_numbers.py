"""Batches: what is not a finite number is found anywhere in a batch of any size."""

import numpy as np
import pytest

from scalarviz.checks.numbers import BLOCK, as_batch
from scalarviz.errors import NotFiniteError
from tests.wording import refused

# A batch below the size of a block, several blocks with a rest, and rows that exceed a block.
SHAPES = ((3, 5), (2 * BLOCK // 7 + 3, 7), (3, BLOCK + 1))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_number_that_is_not_finite_is_found_at_any_place(
    shape: tuple[int, int], dtype: str
) -> None:
    batch = np.full(shape, np.finfo(dtype).max, dtype)  # whose sum is infinite
    assert as_batch(batch, shape[1], "a network", copy=False)[0] is batch
    rows, columns = shape
    for row in (0, rows // 2, rows - 1):
        batch[row, columns - 1] = np.nan
        with refused(NotFiniteError, columns - 1, row):
            as_batch(batch, shape[1], "a network", copy=False)
        batch[row, columns - 1] = -1.0
