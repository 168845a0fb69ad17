"""Batches: the samples of each step, which are determined by the seed and the step.

So any step can be repeated independently, in Python or in a kernel. Each class draws batches in a
different way.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray, as_floats, require, shorten, size
from scalarviz.core.formulas.randomness import (
    LARGEST_TABLE,
    STREAM_PICKS,
    STREAM_POINTS,
    check_seed,
    shuffled,
    unit_pairs,
)
from scalarviz.errors import InputError

Pair = tuple[FloatArray, FloatArray]
Order = npt.NDArray[np.int64]

# Codes of the ways of drawing, for kernels.
IN_ORDER, SHUFFLED, PICKED, POINTS = range(4)


class Batches(ABC):
    """The batches of a training run: `at(step)` returns the inputs and targets of any step.

    Attributes:
        inputs, targets: tables with one row per sample, from which batches are drawn
        size: number of samples per batch; the last batch of an epoch may be smaller
        weights: sample weights, or None for equal weights
        samples: number of samples per epoch
        draw: code of the drawing method, for kernels
        settings: numbers that a kernel needs to draw samples
    """

    draw: int
    settings: tuple[float, ...] = ()
    weights: FloatArray | None = None

    def __init__(
        self, inputs: FloatArray, targets: FloatArray, batch: int | None, samples: int, seed: int
    ) -> None:
        self.inputs = inputs
        self.targets = targets
        self.samples = samples
        self.size = samples if batch is None else min(size(batch, "batch"), samples)
        self.seed = check_seed(seed)

    @final
    @property
    def steps_an_epoch(self) -> int:
        """Number of steps in which each sample is used once."""
        return -(-self.samples // self.size)

    @final
    def count(self, step: int) -> int:
        """Return the number of samples in the batch of a step."""
        return min(self.size, self.samples - step % self.steps_an_epoch * self.size)

    @abstractmethod
    def at(self, step: int) -> Pair:
        """Return the inputs and targets of a step, one row per sample."""

    def weights_at(self, step: int) -> FloatArray | None:
        """Return the weights of the samples of a step, or None for equal weights."""
        return None

    def block(self, step: int, steps: int) -> Batches:
        """Return batches whose tables contain the samples of `steps` steps, from step `step`."""
        return self


class TableBatches(Batches):
    """Batches from a table: each step uses `batch` rows of `inputs` and `targets`.

    The other arguments are as in Batches.
    """

    def __init__(
        self, inputs: FloatArray, targets: FloatArray, batch: int | None = None, seed: int = 0
    ) -> None:
        super().__init__(inputs, targets, batch, len(inputs), seed)

    @final
    def at(self, step: int) -> Pair:
        chosen = self.chosen(step)
        return self.inputs[chosen], self.targets[chosen]

    @final
    def weights_at(self, step: int) -> FloatArray | None:
        return None if self.weights is None else self.weights[self.chosen(step)]

    @final
    def rows(self, step: int) -> Order:
        """Return the row indices of a step's samples, in order."""
        return np.arange(self.samples)[self.chosen(step)]

    @abstractmethod
    def chosen(self, step: int) -> slice | Order:
        """Return an index into tables that selects the samples of a step, in order."""


def goals_of(targets: FloatArray, weights: FloatArray | None) -> FloatArray:
    """Return targets in the form that kernels read, followed by sample weights if given."""
    return targets if weights is None else np.column_stack([targets, weights])


@final
class InOrder(TableBatches):
    """Batches in the order of the tables; step `first` starts with the first row."""

    draw = IN_ORDER

    def __init__(
        self, inputs: FloatArray, targets: FloatArray, batch: int | None = None, first: int = 0
    ) -> None:
        super().__init__(inputs, targets, batch)
        self.settings = (float(first),)

    def chosen(self, step: int) -> slice:
        start = (step - int(self.settings[0])) % self.steps_an_epoch * self.size
        return slice(start, start + self.size)


@final
class Shuffled(TableBatches):
    """Batches that use each sample once per epoch, in a new random order each time."""

    draw = SHUFFLED

    def __init__(
        self, inputs: FloatArray, targets: FloatArray, batch: int | None, seed: int = 0
    ) -> None:
        require(
            len(inputs) <= LARGEST_TABLE,
            f"a table has at most {LARGEST_TABLE:,} samples, not {len(inputs):,}",
        )
        super().__init__(inputs, targets, batch, seed)

    def chosen(self, step: int) -> Order:
        epoch, place = divmod(step, self.steps_an_epoch)
        places = np.arange(place * self.size, min((place + 1) * self.size, self.samples))
        return shuffled(self.seed, epoch, places, self.samples)


@final
class Picked(TableBatches):
    """Batches of samples drawn at random with replacement."""

    draw = PICKED

    def chosen(self, step: int) -> Order:
        u, _ = unit_pairs(self.seed, STREAM_PICKS, step, 0, self.count(step))
        return np.floor(u * self.samples).astype(np.int64)


@dataclass(frozen=True, slots=True)
class PictureTransform:
    """Affine map from points of the unit square to points of a picture.

    (u, v) maps to (uu u + uv v + u0, vu u + vv v + v0).
    """

    uu: float = 1.0
    uv: float = 0.0
    vu: float = 0.0
    vv: float = 1.0
    u0: float = 0.0
    v0: float = 0.0


@final
class Points(Batches):
    """Batches of random points (u, v) in the unit square, with a picture's colours as targets.

    `picture` has shape (height, width, colours), and v = 0 in its first row. The texel of a point
    is in column floor(u * width) and row floor(v * height).
    """

    draw = POINTS

    def __init__(
        self,
        picture: FloatArray,
        batch: int,
        samples: int,
        seed: int = 0,
        window: PictureTransform = PictureTransform(),
    ) -> None:
        self.height, self.width, colours = picture.shape
        self.window = window
        super().__init__(np.zeros((0, 2)), picture.reshape(-1, colours), batch, samples, seed)
        w = window
        self.settings = (self.width, self.height, w.uu, w.uv, w.vu, w.vv, w.u0, w.v0)

    def at(self, step: int) -> Pair:
        u, v = unit_pairs(self.seed, STREAM_POINTS, step, 0, self.count(step))
        return np.stack([u, v], axis=1), self.targets[self.texels(u, v)]

    def texels(self, u: FloatArray, v: FloatArray) -> Order:
        """Return the rows of `targets` for points; points outside use the nearest texel."""
        w = self.window
        x = np.floor((w.uu * u + w.uv * v + w.u0) * self.width)
        y = np.floor((w.vu * u + w.vv * v + w.v0) * self.height)
        column = np.clip(x, 0.0, self.width - 1.0).astype(np.int64)
        texels: Order = np.clip(y, 0.0, self.height - 1.0).astype(np.int64) * self.width + column
        return texels


@final
class GeneratedBatches(Batches):
    """Batches from a function: `make(step)` returns the inputs and targets of a step.

    The function must return the same result for the same step; otherwise steps cannot be replayed.
    """

    draw = IN_ORDER

    def __init__(
        self,
        make: Callable[[int], Pair],
        widths: tuple[int, int],
        batch: int,
        seed: int = 0,
    ) -> None:
        tables = np.zeros((0, widths[0])), np.zeros((0, widths[1]))
        super().__init__(*tables, batch, size(batch, "batch"), seed)
        self.make = make

    def at(self, step: int) -> Pair:
        made = self.make(step)
        if not isinstance(made, (tuple, list)) or len(made) != 2:
            raise InputError(
                f"the function make returned {shorten(made)} for step {step}: it must return "
                "inputs and targets, two arrays with one row per sample"
            )
        inputs, targets = (as_floats(table, f"the batch made for step {step}") for table in made)
        if targets.ndim == 1 and self.targets.shape[1] == 1:
            targets = targets[:, np.newaxis]
        shapes = np.shape(inputs), np.shape(targets)
        wanted = tuple((self.size, table.shape[1]) for table in (self.inputs, self.targets))
        if shapes != wanted:
            raise InputError(
                f"the batches made for step {step} have the shapes {shapes}, where {wanted} were "
                "expected: every step needs the same number of samples"
            )
        return inputs, targets

    def block(self, step: int, steps: int) -> Batches:
        pairs = [self.at(i) for i in range(step, step + steps)]
        inputs, targets = [np.concatenate(table) for table in zip(*pairs, strict=True)]
        return InOrder(inputs, targets, self.size, step)
