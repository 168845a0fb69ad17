"""ScaledLayer: the base of layers that end with a gain for each feature, and mostly a shift."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from math import prod
from typing import final

from scalarviz.core.layers.base import Batch
from scalarviz.core.layers.shapes import numbers_of
from scalarviz.core.layers.weighted import WeightedLayer
from scalarviz.core.model.operations import NONE, Shape
from scalarviz.core.model.program import Program
from scalarviz.core.model.weight import Weight


class ScaledLayer(WeightedLayer):
    """A layer with a gain for each feature, or channel of a picture, and a shift if there is one.

    shape  number of features, or channels, height and width of a picture
    shift  whether there is a shift for each; by default True
    """

    def __init__(self, shape: int | Sequence[int], *, shift: bool = True) -> None:
        picture, count = numbers_of(shape, f"the features of {type(self).__name__}")
        self.features = picture[0] if picture else count
        self.pixels = prod(picture[1:]) if picture else 1
        super().__init__(count, count)
        self.has_shift = shift
        self.size = self.features * (1 + shift)
        self.input_shape = self.output_shape = picture

    @final
    @property
    def shape(self) -> int | list[int]:
        """The shape as a setting: the number of features, or a list for a picture."""
        return list(self.input_shape) if self.input_shape else self.features

    @final
    def parameter_shapes(self) -> dict[str, Shape]:
        names = ("weight", "bias") if self.has_shift else ("weight",)
        return dict.fromkeys(names, (self.features,))

    @final
    @cached_property
    def gains(self) -> tuple[Weight, ...]:
        """The factor of each feature, a Weight."""
        return tuple([Weight.on(self.bank, self.first_row + i) for i in range(self.features)])

    @final
    @cached_property
    def shifts(self) -> tuple[Weight, ...]:
        """The term added to each feature, a Weight."""
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
        """Return the name of a feature or channel, counted through gains and shifts."""
        return f"{'channel' if self.input_shape else 'feature'} {place % self.features}"

    @final
    def weight(self, row: int) -> Weight:
        return self.gains[row] if row < self.features else self.shifts[row - self.features]

    @final
    def _lower_scale(self, program: Program) -> None:
        """Append the operation that applies gains and shifts to a `program`."""
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
        """Return each number times the gain of its feature, plus its shift if there is one."""
        p = self.pixels
        found = [[verb(self.gains[i // p], y) for i, y in enumerate(row)] for row in rows]
        if not self.has_shift:
            return found
        return [[y + verb(self.shifts[i // p], 1.0) for i, y in enumerate(row)] for row in found]

    @final
    def _unscaled(self, upstream: Batch) -> Batch:
        """Return the gradients of what is scaled, last sample first off the stacks."""
        p = self.pixels
        inner: Batch = []
        for sample in reversed(upstream):
            row = [0.0] * self.inputs
            for i in range(self.inputs - 1, -1, -1):
                if self.has_shift:
                    self.shifts[i // p].backward(sample[i])
                row[i] = self.gains[i // p].backward(sample[i])
            inner.append(row)
        inner.reverse()
        return inner
