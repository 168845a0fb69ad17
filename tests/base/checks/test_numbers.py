"""Batches: what is not a finite number is found anywhere in a batch of any size."""

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.base.checks import BLOCK, as_batch, shorten
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


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (sv.Perceptron(20, "tanh"), "Perceptron(20 weights, bias, tanh)"),
        (sv.Adam(), "Adam(lr=0.001, beta1=0.9, ...)"),
        (sv.Network([2, 3]), "Network 2 -> 3: 9 parameters, ..."),
        ([1.0] * 40, "[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, ...]"),
        ("some words in a long sentence that goes on", "'some words in a long sentence that ...'"),
        ("x" * 60, f"'{'x' * 18}...{'x' * 17}'"),
        (b"short", "b'short'"),
        (2**20_000, f"0x1{'0' * 16}...{'0' * 18}"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_a_value_is_shortened_between_words_and_keeps_its_bracket(given: object, said: str) -> None:
    assert shorten(given) == said
    assert len(said) <= 40
