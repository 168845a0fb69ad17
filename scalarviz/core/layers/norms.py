"""LayerNorm and RMSNorm: each sample normalized, then a gain for each feature."""

from __future__ import annotations

from typing import Any, final

from scalarviz.base.checks import number, size
from scalarviz.core.formulas.initializers import Init
from scalarviz.core.formulas.rowwise import ROW_FORMULAS, RowFormula
from scalarviz.core.layers.base import Batch
from scalarviz.core.layers.scaled import ScaledLayer
from scalarviz.core.model.program import Program
from scalarviz.core.model.weight import Weight


class Norm(ScaledLayer):
    """A row formula that normalizes, then a gain for each feature, and a shift if there is one.

    features  numbers of a sample, at least 1
    eps       added before the root, above 0
    formula   row of core/formulas/rowwise.py
    shift     whether there is a shift for each feature
    """

    def __init__(self, features: int, eps: float, formula: RowFormula, *, shift: bool) -> None:
        super().__init__(size(features, f"the inputs of {type(self).__name__}"), shift=shift)
        self.eps = number(eps, "eps", 0.0, open_low=True)
        self.formula = formula

    @final
    def initialize(self, init: Init, seed: int) -> None:
        self.bank.value[self.first_row : self.first_row + self.inputs] = 1.0

    @final
    def settings(self) -> dict[str, Any]:
        return {"features": self.inputs, "eps": self.eps}

    @final
    def lower(self, program: Program) -> None:
        settings = (float(self.inputs), self.eps)
        program.add("row", self.formula.name, size=self.outputs, settings=settings)
        self._lower_scale(program)

    @final
    def forward_rows(self, batch: Batch) -> Batch:
        found = [self._normalize(x) for x in batch]
        self.kept.extend((x, y, scale) for x, (y, scale) in zip(batch, found, strict=True))
        return self._scaled([y for y, _ in found], Weight.forward)

    @final
    def backward_rows(self, upstream: Batch) -> Batch:
        gradients = []
        for inner in reversed(self._unscaled(upstream)):
            x, y, scale = self.kept.pop()
            gradient = [0.0] * self.inputs
            self.formula.backward(x, y, scale, inner, gradient, float(self.inputs), self.eps)
            gradients.append(gradient)
        gradients.reverse()
        return gradients

    @final
    def evaluate_rows(self, batch: Batch) -> Batch:
        return self._scaled([self._normalize(x)[0] for x in batch], Weight.evaluate)

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
