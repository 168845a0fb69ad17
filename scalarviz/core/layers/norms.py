"""LayerNorm and RMSNorm: each sample normalized, then a gain for each feature."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, final

from scalarviz.base.checks.numbers import number
from scalarviz.core.formulas.initializers import Init
from scalarviz.core.formulas.rowwise import ROW_FORMULAS, RowFormula
from scalarviz.core.layers.base import Batch
from scalarviz.core.layers.weighted import WeightedLayer
from scalarviz.core.model.operations import NONE, Shape
from scalarviz.core.model.program import Program
from scalarviz.core.model.weight import Weight


class Norm(WeightedLayer):
    """A row formula that normalizes, then a gain for each feature, and a shift if there is one.

    features  numbers of a sample, at least 1
    eps       added before the root, above 0
    formula   row of core/formulas/rowwise.py
    shift     whether there is a shift for each feature
    """

    def __init__(self, features: int, eps: float, formula: RowFormula, *, shift: bool) -> None:
        super().__init__(features, features)
        self.eps = number(eps, "eps", 0.0, open_low=True)
        self.formula = formula
        self.has_shift = shift
        self.size = self.inputs * (1 + shift)

    @final
    def parameter_shapes(self) -> dict[str, Shape]:
        names = ("weight", "bias") if self.has_shift else ("weight",)
        return dict.fromkeys(names, (self.inputs,))

    @final
    @cached_property
    def gains(self) -> tuple[Weight, ...]:
        """The factor of each feature, a Weight; at first 1."""
        return tuple([Weight.on(self.bank, self.first_row + i) for i in range(self.inputs)])

    @final
    @cached_property
    def shifts(self) -> tuple[Weight, ...]:
        """The term added to each feature, a Weight; at first 0."""
        first = self.first_row + self.inputs
        return tuple([Weight.on(self.bank, row) for row in range(first, self.rows.stop)])

    @final
    def made_parts(self) -> Sequence[Weight]:
        made = vars(self)
        return (*made.get("gains", ()), *made.get("shifts", ()))

    @final
    def initialize(self, init: Init, seed: int) -> None:
        self.bank.value[self.first_row : self.first_row + self.inputs] = 1.0

    @final
    def row_name(self, row: int) -> str:
        kind = "gain" if row < self.inputs else "shift"
        return f"{kind} of feature {row % self.inputs}"

    @final
    def weight(self, row: int) -> Weight:
        return self.gains[row] if row < self.inputs else self.shifts[row - self.inputs]

    @final
    def settings(self) -> dict[str, Any]:
        return {"features": self.inputs, "eps": self.eps}

    @final
    def lower(self, program: Program) -> None:
        settings = (float(self.inputs), self.eps)
        program.add("row", self.formula.name, size=self.outputs, settings=settings)
        shifts = self.first_row + self.inputs if self.has_shift else NONE
        program.add(
            "scale",
            size=self.outputs,
            weights=self.first_row,
            biases=shifts,
            settings=(1.0,),
        )

    @final
    def forward_rows(self, batch: Batch) -> Batch:
        outputs = []
        for x in batch:
            y, scale = self._normalize(x)
            self.kept.append((x, y, scale))
            outputs.append(self._scaled(y, Weight.forward))
        return outputs

    @final
    def backward_rows(self, upstream: Batch) -> Batch:
        gradients = []
        for sample in reversed(upstream):
            for shift, g in zip(self.shifts, sample, strict=False):
                shift.backward(g)
            inner = [gain.backward(g) for gain, g in zip(self.gains, sample, strict=True)]
            x, y, scale = self.kept.pop()
            gradient = [0.0] * self.inputs
            self.formula.backward(x, y, scale, inner, gradient, float(self.inputs), self.eps)
            gradients.append(gradient)
        gradients.reverse()
        return gradients

    @final
    def evaluate_rows(self, batch: Batch) -> Batch:
        return [self._scaled(self._normalize(x)[0], Weight.evaluate) for x in batch]

    def _scaled(self, y: list[float], verb: Callable[[Weight, float], float]) -> list[float]:
        """Return each feature times its gain, plus its shift if there is one."""
        scaled = list(map(verb, self.gains, y))
        if not self.has_shift:
            return scaled
        return [v + verb(shift, 1.0) for v, shift in zip(scaled, self.shifts, strict=True)]

    def _normalize(self, x: list[float]) -> tuple[list[float], float]:
        y = [0.0] * self.inputs
        return y, self.formula.forward(x, y, float(self.inputs), self.eps)


@final
class LayerNorm(Norm):
    """Normalize each sample to mean 0 and variance 1, then apply a gain and a shift per feature.

    features  numbers of a sample, at least 1
    eps       added to the variance before its root, above 0; by default 1e-5
    """

    def __init__(self, features: int, eps: float = 1e-5) -> None:
        super().__init__(features, eps, ROW_FORMULAS["layer_norm"], shift=True)


@final
class RMSNorm(Norm):
    """Divide each sample by its root mean square, then apply a gain for each feature.

    features  numbers of a sample, at least 1
    eps       added to the mean square before its root, above 0; by default 1e-5
    """

    def __init__(self, features: int, eps: float = 1e-5) -> None:
        super().__init__(features, eps, ROW_FORMULAS["rms_norm"], shift=False)
