"""BatchNorm: each feature standardized over the batch, then a gain and a shift."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np

from scalarviz.base.checks import FloatArray, number
from scalarviz.core.formulas.elementary import sqrt
from scalarviz.core.formulas.initializers import Init
from scalarviz.core.layers.base import Batch
from scalarviz.core.layers.scaled import ScaledLayer
from scalarviz.core.model.operations import Shape
from scalarviz.core.model.program import Program
from scalarviz.core.model.weight import Weight
from scalarviz.errors import InputError


@final
class BatchNorm(ScaledLayer):
    """Standardize each feature over a batch (mean 0, variance 1), then apply a gain and a shift.

    `shape` is a number of features, or the shape of a picture, whose features are its channels. A
    forward uses mean and variance of its batch, over all pixels, and moves `running_mean` and
    `running_variance` by a share of `momentum` towards them. Calling the layer uses the running
    statistics, and so does a forward while all gains and shifts are frozen, which leaves them
    unchanged. A batch that would make one of them NaN or infinite raises NotFiniteError, as a step
    of training UpdateError.

    shape     number of features, or channels, height and width of a picture
    eps       added to the variance before its root, above 0; by default 1e-5
    momentum  share of a batch in the running statistics, 0 to 1; by default 0.1

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
        """Running mean of each feature, float64, shape (features,); at first 0."""
        return self.state[: self.features]

    @property
    def running_variance(self) -> FloatArray:
        """Running variance of each feature, float64, shape (features,); at first 1."""
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
        if (self.own_states(states)[:, self.features :] < 0.0).any():
            raise InputError(f"a running variance of {self} is below 0")

    def lower(self, program: Program) -> None:
        if self.input_shape:
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
            # A shift or scale of a whole feature does not change standardized numbers: those
            # components of a gradient are removed.
            shift = 0.0 if held else sum(g for g, _ in pairs) / count
            stretch = 0.0 if held else sum(g * y for g, y in pairs) / count
            for row, g, y in zip(gradients, inner, standard, strict=True):
                for i in places:
                    row[i] = scale * (g[i] - shift - y[i] * stretch)
        return gradients

    def evaluate_rows(self, batch: Batch) -> Batch:
        variances = self.running_variance.tolist()
        scales = [1.0 / sqrt(variance + self.eps) for variance in variances]
        standard = self._standardized(batch, self.running_mean.tolist(), scales)
        return self._scaled(standard, Weight.evaluate)

    def _by_feature(self, batch: Batch) -> list[list[float]]:
        """Return all numbers of each feature."""
        bounds = range(0, self.inputs, self.pixels)
        return [[x for row in batch for x in row[i : i + self.pixels]] for i in bounds]

    def _standardized(
        self, batch: Batch, means: Sequence[float], scales: Sequence[float]
    ) -> list[list[float]]:
        p = self.pixels
        return [[(x - means[i // p]) * scales[i // p] for i, x in enumerate(row)] for row in batch]

    def _remember(self, means: Sequence[float], variances: Sequence[float], count: int) -> None:
        """Update the running statistics; the variance by the unbiased estimate."""
        estimate = count / max(count - 1, 1)
        for running, found, factor in (
            (self.running_mean, means, 1.0),
            (self.running_variance, variances, estimate),
        ):
            with np.errstate(all="ignore"):  # a step raises an error for an overflow
                running += self.momentum * (factor * np.array(found) - running)


def mean_and_variance(numbers: Sequence[float]) -> tuple[float, float]:
    """Return mean and biased variance (divided by the count)."""
    mean = sum(numbers) / len(numbers)
    return mean, sum((x - mean) * (x - mean) for x in numbers) / len(numbers)
