"""Softmax: the numbers of a sample as shares of a whole."""

from __future__ import annotations

from typing import Any, final

from scalarviz.formulas.rowwise import ROW_FORMULAS
from scalarviz.layers.base import Batch, Layer
from scalarviz.program import Program


@final
class Softmax(Layer):
    """exp of each number, as a share of the sum of all: the larger one is, the surer; no weights.

    To learn classes, train on what comes before it, with the loss `softmax_cross_entropy`; this
    layer shows the shares, or mixes by them.

    >>> Softmax(3)([0.0, 1.0, 0.0]).round(3).tolist()
    [0.212, 0.576, 0.212]
    """

    def __init__(self, features: int) -> None:
        super().__init__(features, features)
        self.formula = ROW_FORMULAS["softmax"]

    def settings(self) -> dict[str, Any]:
        return {"features": self.inputs}

    def lower(self, program: Program) -> None:
        settings = (float(self.inputs),)
        program.add("row", self.formula.name, size=self.outputs, settings=settings)

    def forward_rows(self, batch: Batch) -> Batch:
        outputs = self.evaluate_rows(batch)
        self.kept.extend(outputs)
        return outputs

    def backward_rows(self, upstream: Batch) -> Batch:
        gradients = []
        for sample in reversed(upstream):
            y, gradient = self.kept.pop(), [0.0] * self.inputs
            self.formula.backward(y, y, 0.0, sample, gradient, float(self.inputs))
            gradients.append(gradient)
        gradients.reverse()
        return gradients

    def evaluate_rows(self, batch: Batch) -> Batch:
        outputs = []
        for x in batch:
            y = [0.0] * self.outputs
            self.formula.forward(x, y, float(self.inputs))
            outputs.append(y)
        return outputs
