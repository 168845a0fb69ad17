"""FrequencyEncoding: a coordinate as sines and cosines, so that fine detail can be learned."""

from __future__ import annotations

from typing import Any, final

from scalarviz.checks import size
from scalarviz.formulas.rowwise import ROW_FORMULAS
from scalarviz.layers.base import Batch, Layer
from scalarviz.program import Program


@final
class FrequencyEncoding(Layer):
    """sin and cos of pi x, 2 pi x, 4 pi x, ... for each input x in turn; nothing to learn.

    With 2 inputs and 3 octaves it gives 12 numbers: six of the first coordinate, then six of the
    second.

    >>> FrequencyEncoding(1, octaves=2)([0.5]).round(3).tolist()
    [1.0, 0.0, 0.0, -1.0]
    """

    def __init__(self, inputs: int, octaves: int = 3) -> None:
        self.octaves = size(octaves, "octaves")
        super().__init__(inputs, 2 * self.octaves * size(inputs, "the inputs of FrequencyEncoding"))
        self.formula = ROW_FORMULAS["frequency_encoding"]

    def settings(self) -> dict[str, Any]:
        return {"inputs": self.inputs, "octaves": self.octaves}

    def lower(self, program: Program) -> None:
        program.add("row", self.formula.name, size=self.outputs, settings=(float(self.octaves),))

    def forward_rows(self, batch: Batch) -> Batch:
        outputs = self.evaluate_rows(batch)
        self.kept.extend(zip(batch, outputs, strict=True))
        return outputs

    def backward_rows(self, upstream: Batch) -> Batch:
        gradients = []
        for sample in reversed(upstream):
            x, y = self.kept.pop()
            gradient = [0.0] * self.inputs
            self.formula.backward(x, y, 0.0, sample, gradient, self.octaves)
            gradients.append(gradient)
        gradients.reverse()
        return gradients

    def evaluate_rows(self, batch: Batch) -> Batch:
        outputs = []
        for x in batch:
            y = [0.0] * self.outputs
            self.formula.forward(x, y, self.octaves)
            outputs.append(y)
        return outputs
