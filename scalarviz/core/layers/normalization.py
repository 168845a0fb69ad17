"""Layers with a gain for each feature: LayerNorm, GroupNorm, RMSNorm, BatchNorm and Affine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from math import prod
from typing import Any, final

import numpy as np

from scalarviz.base.checks import FloatArray, as_batch, as_floats, number, require, true_or_false
from scalarviz.base.messages import inform
from scalarviz.core.bank_arrays import number_on
from scalarviz.core.formulas.elementary import sqrt
from scalarviz.core.formulas.initializers import Init
from scalarviz.core.formulas.layer_formulas import ROW_FORMULAS, RowFormula
from scalarviz.core.layers.dense import WeightedLayer
from scalarviz.core.layers.layer import Batch
from scalarviz.core.layers.parameters import checked_array, own_states
from scalarviz.core.layers.rowwise_layers import (
    backward_formula,
    by_place,
    features_of,
    forward_formula,
    lower_formula,
    whole,
)
from scalarviz.core.layers.shapes import groups_of, numbers_of, shape_setting
from scalarviz.core.program import NONE, Program, Shape
from scalarviz.core.weight import Weight
from scalarviz.errors import InputError, ShapeError


class ScaledLayer(WeightedLayer):
    """A layer with a gain, and optionally a shift, for each feature or channel of a picture.

    Args:
        shape: number of features, or the shape (channels, height, width) of a picture
        shift: whether each feature has a shift; by default True
        gain: whether each feature has a gain; by default True
    """

    def __init__(
        self, shape: int | Sequence[int], *, shift: bool = True, gain: bool = True
    ) -> None:
        picture, count = numbers_of(shape, f"the features of {type(self).__name__}")
        self.features = picture[0] if picture else count
        self.pixels = prod(picture[1:]) if picture else 1
        names = [*["weight"][:gain], *["bias"][:shift]]
        shapes = dict.fromkeys(names, (self.features,))
        super().__init__(picture or count, picture or count, parameters=shapes)
        self.has_shift = shift

    @final
    @property
    def shape(self) -> int | list[int]:
        """The shape as a setting: the number of features, or a list for a picture."""
        return shape_setting(self)

    @final
    @cached_property
    def gains(self) -> tuple[Weight, ...]:
        """The factors of the features, as Weights."""
        count = self.features if self.size else 0
        return tuple([Weight.on(self.bank, self.first_row + i) for i in range(count)])

    @final
    @cached_property
    def shifts(self) -> tuple[Weight, ...]:
        """The terms added to the features, as Weights."""
        first = self.first_row + self.features
        return tuple([Weight.on(self.bank, row) for row in range(first, self.rows.stop)])

    @final
    def made_parts(self) -> Sequence[Weight]:
        made = vars(self)
        return (*made.get("gains", ()), *made.get("shifts", ()))

    @final
    def row_name(self, row: int) -> str:
        return f"{'gain' if row < self.features else 'shift'} of {self._feature_name(row)}"

    @final
    def _feature_name(self, place: int) -> str:
        """Return the name of the feature or channel of a gain or shift."""
        return f"{'channel' if self.input_shape else 'feature'} {place % self.features}"

    @final
    def weight(self, row: int) -> Weight:
        return self.gains[row] if row < self.features else self.shifts[row - self.features]

    @final
    def _lower_scale(self, program: Program) -> None:
        """Append the operation that applies gains and shifts, if there are any, to a `program`."""
        if not self.size:
            return
        program.add(
            "scale",
            size=self.outputs,
            weights=self.first_row,
            biases=self.first_row + self.features if self.has_shift else NONE,
            settings=(float(self.pixels),),
            shape=self.output_shape,
        )

    @final
    def _scaled(self, rows: Batch, verb: Callable[[Weight, float], float]) -> Batch:
        """Return each number times the gain of its feature, plus its shift if present."""
        p = self.pixels
        if not self.size:
            return rows
        found = [[verb(self.gains[i // p], y) for i, y in enumerate(row)] for row in rows]
        if not self.has_shift:
            return found
        return [[y + verb(self.shifts[i // p], 1.0) for i, y in enumerate(row)] for row in found]

    @final
    def _unscaled(self, upstream: Batch) -> Batch:
        """Run backward of gains and shifts, from the last sample; return the input gradients."""
        p = self.pixels
        if not self.size:
            return upstream
        inner: Batch = []
        for sample in reversed(upstream):
            row = [0.0] * self.inputs
            for i in range(self.inputs - 1, -1, -1):
                if self.has_shift:
                    self.shifts[i // p].backward(sample[i])
                row[i] = self.gains[i // p].backward(sample[i])
            inner.append(row)
        return inner[::-1]


class Norm(ScaledLayer):
    """Normalize each sample, then apply a gain and an optional shift for each feature.

    Args:
        shape: number of features, at least 1, or the shape (channels, height, width) of a picture
        eps: positive number added before taking the square root
        formula: row of core/formulas/layer_formulas.py that normalizes
        shift: whether each feature has a shift
        gain: whether each feature has a gain
    """

    def __init__(
        self, shape: int | Sequence[int], eps: float, formula: RowFormula, *, shift: bool,
        gain: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(shape, shift=shift, gain=true_or_false(gain, "gain"))
        self.eps = number(eps, "eps", 0.0, open_low=True)
        self.formula = formula
        self._places = 0
        self._given: dict[str, Any] = {"features": self.shape}
        self.numbers: tuple[Any, ...] = (float(self.inputs), self.eps)

    def _at_each_place(self, shape: int | Sequence[int], what: str) -> None:
        """Normalize the numbers of each place if the shape belongs to a sequence."""
        _, count, self._places = features_of(shape, what)
        self.numbers = float(count), self.eps

    @final
    def initialize(self, init: Init, seed: int) -> None:
        self.bank.value[self.rows][: self.features] = 1.0

    @final
    def settings(self) -> dict[str, Any]:
        return {**self._given, "eps": self.eps}

    @final
    def lower(self, program: Program) -> None:
        program.set_shape(self.input_shape)
        lower_formula(self, program, self.numbers, self._places)
        self._lower_scale(program)

    @final
    def forward_rows(self, batch: Batch) -> Batch:
        normal = forward_formula(self, batch, self.numbers, self._places)
        return self._scaled(normal, Weight.forward)

    @final
    def backward_rows(self, upstream: Batch) -> Batch:
        return backward_formula(self, self._unscaled(upstream), self.numbers, self._places)

    @final
    def evaluate_rows(self, batch: Batch) -> Batch:
        count, rows = self.outputs // (self._places or 1), by_place(batch, self._places)
        normal = [self.formula.run(x, count, self.numbers)[0] for x in rows]
        return self._scaled(whole(normal, self._places), Weight.evaluate)


@final
class LayerNorm(Norm):
    """Normalize each sample to mean 0 and variance 1, then apply a gain and a shift per feature.

    Args:
        features: number of features, at least 1, or the shape (features, places) of a sequence,
            of which each place is normalized
        eps: positive number added to the variance before the square root; by default 1e-5
    """

    def __init__(self, features: int | Sequence[int], eps: float = 1e-5) -> None:
        super().__init__(features, eps, ROW_FORMULAS["layer_norm"], shift=True)
        self._at_each_place(features, "the inputs of LayerNorm")


@final
class GroupNorm(Norm):
    """Normalize each group of channels of a sample to mean 0 and variance 1, as LayerNorm does.

    A gain and a shift for each channel follow. With one channel per group it equals InstanceNorm in
    PyTorch.

    Args:
        shape: number of features, or the shape (channels, height, width) of a picture
        groups: number of equal groups of consecutive features or channels
        eps: positive number added to the variance before the square root; by default 1e-5

    Raises:
        ShapeError: if `groups` does not divide the channels.

    >>> GroupNorm(4, 2)([1, 3, 10, 30]).round(2).tolist()
    [-1.0, 1.0, -1.0, 1.0]
    """

    def __init__(self, shape: int | Sequence[int], groups: int, eps: float = 1e-5) -> None:
        super().__init__(shape, eps, ROW_FORMULAS["group_norm"], shift=True)
        self.groups = groups_of(groups, self.features, self.features)
        self._given = {"shape": self.shape, "groups": self.groups}
        self.numbers = self.inputs // self.groups, self.inputs / self.groups, self.eps


@final
class RMSNorm(Norm):
    """Divide each sample by its root mean square, then apply a gain for each feature.

    Args:
        features: number of features, at least 1, or the shape (features, places) of a sequence,
            of which each place is normalized
        eps: positive number added to the mean square before the square root; by default 1e-5
        gain: whether each feature has a gain; by default True
    """

    def __init__(
        self, features: int | Sequence[int], eps: float = 1e-5, *, gain: bool = True
    ) -> None:
        super().__init__(features, eps, ROW_FORMULAS["rms_norm"], shift=False, gain=gain)
        self._at_each_place(features, "the inputs of RMSNorm")
        self._given |= {} if gain else {"gain": False}


@final
class BatchNorm(ScaledLayer):
    """Standardize each feature over a batch (mean 0, variance 1), then apply a gain and a shift.

    The features of a picture are its channels. A forward uses mean and variance of its batch, over
    all pixels, and moves `running_mean` and `running_variance` towards them by a share of
    `momentum`. Calling the layer uses the running statistics. So does a forward while all gains and
    shifts are frozen, which leaves the statistics unchanged. A batch that would make the
    statistics NaN or infinite raises NotFiniteError, or UpdateError in a training step.

    Args:
        shape: number of features, or the shape (channels, height, width) of a picture
        eps: positive number added to the variance before the square root; by default 1e-5
        momentum: share of the batch in the running statistics, from 0 to 1; by default 0.1

    >>> layer = BatchNorm(1)
    >>> layer.forward([[1], [3]]).round(2).tolist()
    [[-1.0], [1.0]]
    >>> layer.running_mean.tolist(), layer.running_variance.round(6).tolist()
    ([0.2], [1.1])
    """

    def __init__(
        self, shape: int | Sequence[int], eps: float = 1e-5, momentum: float = 0.1
    ) -> None:
        super().__init__(shape)
        self.eps = number(eps, "eps", 0.0, open_low=True)
        self.momentum = number(momentum, "momentum", 0.0, 1.0)
        self.state_size = self.size

    def state_shapes(self) -> dict[str, Shape]:
        return dict.fromkeys(("running_mean", "running_var"), (self.features,))

    @property
    def running_mean(self) -> FloatArray:
        """Running mean of each feature, float64, shape (features,); initially 0."""
        return self.state[: self.features]

    @property
    def running_variance(self) -> FloatArray:
        """Running variance of each feature, float64, shape (features,); initially 1."""
        return self.state[self.features :]

    def initialize(self, init: Init, seed: int) -> None:
        self.bank.value[self.first_row : self.first_row + self.features] = 1.0
        self.running_mean[:], self.running_variance[:] = 0.0, 1.0

    def state_name(self, place: int) -> str:
        what = "mean" if place < self.features else "variance"
        return f"running {what} of {self._feature_name(place)}"

    def settings(self) -> dict[str, Any]:
        return {"shape": self.shape, "eps": self.eps, "momentum": self.momentum}

    def check_states(self, states: FloatArray) -> None:
        super().check_states(states)
        require(
            not (own_states(self, states)[:, self.features :] < 0.0).any(),
            f"a running variance of {self} is below 0",
        )

    def lower(self, program: Program) -> None:
        program.set_shape(self.input_shape)
        program.add(
            "batch_norm",
            size=self.outputs,
            settings=(float(self.features), float(self.pixels), self.eps, self.momentum),
            shape=self.output_shape,
            state=self.first_state,
            held_by=range(self.rows.start, self.rows.stop),
        )
        self._lower_scale(program)

    def forward_rows(self, batch: Batch) -> Batch:
        held = bool(self.bank.frozen[self.rows].all())
        if held:
            means, variances = self.running_mean.tolist(), self.running_variance.tolist()
        else:
            found = list(map(mean_and_variance, self._by_feature(batch)))
            means, variances = [mean for mean, _ in found], [variance for _, variance in found]
            self._remember(means, variances, len(batch) * self.pixels)
        scales = [1.0 / sqrt(variance + self.eps) for variance in variances]
        standard = self._standardized(batch, means, scales)
        self.kept.append((standard, scales, held))
        return self._scaled(standard, Weight.forward)

    def backward_rows(self, upstream: Batch) -> Batch:
        inner = self._unscaled(upstream)
        standard, scales, held = self.kept.pop()
        count = len(upstream) * self.pixels
        gradients: Batch = [[0.0] * self.inputs for _ in upstream]
        for feature, scale in enumerate(scales):
            places = range(feature * self.pixels, (feature + 1) * self.pixels)
            pairs = [(g[i], y[i]) for g, y in zip(inner, standard, strict=True) for i in places]
            # Shifting or scaling a whole feature does not change standardized numbers, so these
            # components of a gradient are removed.
            shift = 0.0 if held else sum(g for g, _ in pairs) / count
            stretch = 0.0 if held else sum(g * y for g, y in pairs) / count
            for row, g, y in zip(gradients, inner, standard, strict=True):
                for i in places:
                    row[i] = scale * (g[i] - shift - y[i] * stretch)
        return gradients

    def evaluate_rows(self, batch: Batch) -> Batch:
        scales = [1.0 / sqrt(variance + self.eps) for variance in self.running_variance.tolist()]
        standard = self._standardized(batch, self.running_mean.tolist(), scales)
        return self._scaled(standard, Weight.evaluate)

    def _by_feature(self, batch: Batch) -> list[list[float]]:
        """Return the numbers of each feature over the batch."""
        bounds = range(0, self.inputs, self.pixels)
        return [[x for row in batch for x in row[i : i + self.pixels]] for i in bounds]

    def _standardized(
        self, batch: Batch, means: Sequence[float], scales: Sequence[float]
    ) -> list[list[float]]:
        p = self.pixels
        return [[(x - means[i // p]) * scales[i // p] for i, x in enumerate(row)] for row in batch]

    def _remember(self, means: Sequence[float], variances: Sequence[float], count: int) -> None:
        """Update the running statistics; the variance uses the unbiased estimate."""
        estimate = count / max(count - 1, 1)
        for running, found, factor in (
            (self.running_mean, means, 1.0),
            (self.running_variance, variances, estimate),
        ):
            with np.errstate(all="ignore"):  # a step raises an error on overflow
                running += self.momentum * (factor * np.array(found) - running)


def mean_and_variance(numbers: Sequence[float]) -> tuple[float, float]:
    """Return mean and biased variance (divided by the count)."""
    mean = sum(numbers) / len(numbers)
    return mean, sum((x - mean) * (x - mean) for x in numbers) / len(numbers)


PICTURES = (3, 4)  # dimensions of an array of pictures, without and with channels
MOST_MEAN = 1e5  # deviations of a mean that float32 stores with two more digits


@final
class Affine(ScaledLayer):
    """Compute scale * x + shift for each feature, with constant scales and shifts.

    Scales and shifts are frozen parameters, unchanged by training; `unfreeze` makes them trainable.
    A network that begins with `Affine.standardizing(x)` accepts inputs in their original units; one
    that ends with an Affine returns outputs in original units.

    Args:
        shape: number of features, or the shape (channels, height, width) of a picture
        scale: factor of each feature or channel, or one number for all; by default 1
        shift: term added to each feature or channel after scaling, or one number for all; by
            default 0

    Raises NotFiniteError, ShapeError or InputError if numbers are invalid.

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
        """Return a layer that standardizes each column of `x` to mean 0 and standard deviation 1.

        Args:
            x: samples, shape (samples, features), or pictures, shape (samples, channels, height,
                width) or (samples, height, width); the columns of pictures are their channels

        A constant column becomes 0. Raises NotFiniteError for NaN, ShapeError or InputError for
        other invalid samples.
        """
        who = "Affine.standardizing"
        array = as_floats(x, who, keep=True, copy=False)
        require(
            array.ndim != 1,
            f"{who} takes samples in rows, not an array of shape {array.shape}",
            ShapeError,
        )
        picture = (1, *array.shape[1:])[-3:] if array.ndim in PICTURES and array.size else ()
        table = array.reshape(len(array), -1) if picture else array
        rows, _ = as_batch(table, None, who, copy=False)
        features = picture[0] if picture else rows.shape[1]
        return cls(picture or features, *standards(rows.reshape(len(rows), features, -1)))

    def initialize(self, init: Init, seed: int) -> None:
        of_all = [np.broadcast_to(each, self.features) for each in (self.scale, self.shift)]
        number_on(self.bank, float(np.abs(of_all).max()), f"a number of {self}")
        self.bank.value[self.rows] = np.concatenate(of_all)
        self.bank.frozen[self.rows] = True

    def settings(self) -> dict[str, Any]:
        return {"shape": self.shape, "scale": self.scale.tolist(), "shift": self.shift.tolist()}

    def lower(self, program: Program) -> None:
        program.set_shape(self.input_shape)
        self._lower_scale(program)

    def forward_rows(self, batch: Batch) -> Batch:
        return self._scaled(batch, Weight.forward)

    def backward_rows(self, upstream: Batch) -> Batch:
        return self._unscaled(upstream)

    def evaluate_rows(self, batch: Batch) -> Batch:
        return self._scaled(batch, Weight.evaluate)


def of_each(numbers: object, features: int, what: str) -> FloatArray:
    """Return finite numbers, one for all or one per feature; raise InputError otherwise."""
    found = as_floats(numbers, what)
    if not found.ndim:
        return np.array(number(found.item(), what))
    return checked_array(found, what, (features,), "float64", "replace it")


def standards(columns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the scale and shift that standardize columns of shape (samples, columns, numbers).

    Raises:
        InputError: if float32 cannot represent them.
    """
    low = columns.min((0, 2))
    with np.errstate(all="ignore"):
        mean, deviation = columns.mean((0, 2), np.float64), columns.std((0, 2), np.float64)
        same = columns.max((0, 2)) == low  # else rounding of the mean could give a deviation
        mean[same], deviation[same] = low[same], 1.0
        scale, ratio = 1.0 / deviation, mean / deviation
        fits = np.isfinite(np.array([scale, ratio, deviation], np.float32)).all(axis=0)
    if not fits.all():
        column = int(np.argmin(fits))
        raise InputError(
            f"column {column} of the data for Affine has the deviation {deviation[column]:.2g}, "
            "too far from 1 for float32: multiply it by a number first"
        )
    if (np.abs(ratio) > MOST_MEAN).any():
        column = int(np.argmax(np.abs(ratio)))
        inform(
            f"column {column} of the data for Affine has the mean {mean[column]:.4g} and the "
            f"deviation {deviation[column]:.2g}, so few digits of it remain in float32: subtract "
            "most of the mean first"
        )
    return scale, -ratio
