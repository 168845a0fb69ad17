"""Row-wise formulas: each gives what its definition gives, and its gradient that of differences."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

from scalarviz.core.formulas.layer_formulas import ROW_FORMULAS, RowFormula

X = np.array([0.4, -1.2, 2.2, 0.7, -0.3, 1.9, 0.1, -2.5])
PICTURE = 1, 2, 4, 2, 1, 1  # channels, height, width, kernel, stride, padding


def windows(x: Any, beyond: float) -> Any:
    """The four numbers of each window of a picture with an edge around it."""
    return sliding_window_view(np.pad(x.reshape(2, 4), 1, constant_values=beyond), (2, 2)).reshape(
        -1, 4
    )


def waves(x: Any) -> Any:
    angles = np.outer(x, [np.pi, 2.0 * np.pi])
    return np.stack([np.sin(angles), np.cos(angles)], axis=2).ravel()


# The settings of each row, and what it writes with them.
DEFINITIONS: dict[str, tuple[tuple[float, ...], Callable[[Any], Any]]] = {
    "layer_norm": ((8.0, 0.1), lambda x: (x - x.mean()) / np.sqrt(x.var() + 0.1)),
    "rms_norm": ((8.0, 0.1), lambda x: x / np.sqrt((x * x).mean() + 0.1)),
    "frequency_encoding": ((2,), waves),
    "softmax": ((8.0,), lambda x: np.exp(x) / np.exp(x).sum()),
    "log_softmax": ((8.0,), lambda x: x - np.log(np.exp(x).sum())),
    "spread": ((3,), lambda x: np.repeat(x, 3)),
    "max_pool": (PICTURE, lambda x: windows(x, -np.inf).max(axis=1)),
    "average_pool": ((*PICTURE, 0.25), lambda x: windows(x, 0.0).mean(axis=1)),
}


@pytest.mark.parametrize("row", ROW_FORMULAS.values(), ids=ROW_FORMULAS)
def test_a_row_is_what_its_definition_gives_and_its_gradient_agrees_with_differences(
    row: RowFormula,
) -> None:
    settings, definition = DEFINITIONS[row.name]
    wanted = definition(X)
    y, gradient = np.zeros(len(wanted)), np.zeros(len(X))
    number = row.forward(X, y, *settings)
    np.testing.assert_allclose(y, wanted, rtol=1e-12, atol=1e-14)
    upstream = np.cos(np.arange(len(y)))
    row.backward(X, y, number, upstream, gradient, *settings)
    slopes = [(definition(X + h) - definition(X - h)) @ upstream / 2e-6 for h in 1e-6 * np.eye(8)]
    np.testing.assert_allclose(gradient, slopes, rtol=1e-7, atol=1e-8)
