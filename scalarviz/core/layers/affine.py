"""Affine: each number times a fixed scale, plus a fixed shift."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np

from scalarviz.base.checks import FloatArray, as_batch, as_floats, number
from scalarviz.base.messages import inform
from scalarviz.core.formulas.initializers import Init
from scalarviz.core.layers.arrays import checked_array
from scalarviz.core.layers.base import Batch
from scalarviz.core.layers.scaled import ScaledLayer
from scalarviz.core.model.program import Program
from scalarviz.core.model.weight import Weight
from scalarviz.errors import InputError, ShapeError

PICTURES = (3, 4)  # dimensions of an array of pictures, without and with channels
MOST_MEAN = 1e5  # deviations of a mean that float32 holds with two digits behind them


@final
class Affine(ScaledLayer):
    """Compute scale * x + shift, number by number, with scales and shifts that stay as they are.

    They are rows of the bank that are frozen from the start, so that no step moves them; `unfreeze`
    lets them be trained. A network that begins with `Affine.standardizing(x)` takes the numbers
    that people know, and one that ends with an Affine gives them.

    shape  number of features, or channels, height and width of a picture
    scale  factor of each feature or channel, or one number for all; by default 1
    shift  what is added to each of them afterwards, or one number for all; by default 0

    Raises NotFiniteError, ShapeError and InputError.

    >>> Affine(2, scale=[10, 0.5], shift=1)([1, 4]).tolist()
    [11.0, 3.0]
    >>> Affine.standardizing([[10, 7], [30, 7]])
    Affine(shape=2, scale=[0.1, 1.0], shift=[-2.0, -7.0])
    """

    def __init__(
        self, shape: int | Sequence[int], scale: object = 1.0, shift: object = 0.0
    ) -> None:
        super().__init__(shape)
        self.scale = of_each(scale, self.features, "the scale of Affine")
        self.shift = of_each(shift, self.features, "the shift of Affine")

    @classmethod
    def standardizing(cls, x: object) -> Affine:
        """Return a layer that gives each column of `x` the mean 0 and the standard deviation 1.

        x  the samples, shape (samples, features), or pictures, shape (samples, channels, height,
           width) or (samples, height, width), of which a channel is one column

        A constant column becomes 0. Raises NotFiniteError for NaN, ShapeError and InputError for
        other samples.
        """
        who = "Affine.standardizing"
        array = as_floats(x, who, keep=True, copy=False)
        if array.ndim == 1:
            raise ShapeError(f"{who} takes samples in rows, not an array of shape {array.shape}")
        picture = (1, *array.shape[1:])[-3:] if array.ndim in PICTURES and array.size else ()
        table = array.reshape(len(array), -1) if picture else array
        rows, _ = as_batch(table, None, who, copy=False)
        features = picture[0] if picture else rows.shape[1]
        return cls(picture or features, *standards(rows.reshape(len(rows), features, -1)))

    def initialize(self, init: Init, seed: int) -> None:
        of_all = [np.broadcast_to(each, self.features) for each in (self.scale, self.shift)]
        self.bank.number(float(np.abs(of_all).max()), f"a number of {self}")
        self.bank.value[self.rows] = np.concatenate(of_all)
        self.bank.frozen[self.rows] = True

    def settings(self) -> dict[str, Any]:
        return {"shape": self.shape, "scale": self.scale.tolist(), "shift": self.shift.tolist()}

    def lower(self, program: Program) -> None:
        if self.input_shape:
            program.set_shape(self.input_shape)
        self._lower_scale(program)

    def forward_rows(self, batch: Batch) -> Batch:
        return self._scaled(batch, Weight.forward)

    def backward_rows(self, upstream: Batch) -> Batch:
        return self._unscaled(upstream)

    def evaluate_rows(self, batch: Batch) -> Batch:
        return self._scaled(batch, Weight.evaluate)


def of_each(numbers: object, features: int, what: str) -> FloatArray:
    """Return finite numbers, one or one a feature; raise InputError for anything else."""
    found = as_floats(numbers, what)
    if not found.ndim:
        return np.array(number(found.item(), what))
    return checked_array(found, what, (features,), "float64", "replace it")


def standards(columns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the scale and the shift that standardize each column, shape (samples, columns, any).

    Raises InputError if float32 cannot hold them.
    """
    low = columns.min((0, 2))
    with np.errstate(all="ignore"):
        mean, deviation = columns.mean((0, 2), np.float64), columns.std((0, 2), np.float64)
        same = columns.max((0, 2)) == low  # else rounding could make a deviation of its mean
        mean[same], deviation[same] = low[same], 1.0
        scale, ratio = 1.0 / deviation, mean / deviation
        fits = np.isfinite(np.array([scale, ratio, deviation], np.float32)).all(axis=0)
    if not fits.all():
        column = int(np.argmin(fits))
        raise InputError(
            f"column {column} of what Affine is to standardize has the deviation "
            f"{deviation[column]:.2g}, too far from 1 for float32: multiply it by a number first"
        )
    if (np.abs(ratio) > MOST_MEAN).any():
        column = int(np.argmax(np.abs(ratio)))
        inform(
            f"column {column} of what Affine standardizes has the mean {mean[column]:.4g} and the "
            f"deviation {deviation[column]:.2g}, so that in float32 few digits of it are left: "
            "subtract most of the mean before"
        )
    return scale, -ratio
