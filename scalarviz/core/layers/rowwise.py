"""Rowwise: the base of layers that are one row formula without parameters."""

from __future__ import annotations

from typing import final

from scalarviz.core.formulas.rowwise import RowFormula, typed
from scalarviz.core.layers.base import Batch, Layer
from scalarviz.core.model.program import Program


class Rowwise(Layer):
    """A row formula as a layer.

    inputs   numbers of a sample, at least 1
    outputs  numbers of the result, at least 1
    formula  row of core/formulas/rowwise.py or core/formulas/pooling.py
    numbers  settings that are passed to the formula
    """

    def __init__(
        self, inputs: int, outputs: int, formula: RowFormula, numbers: tuple[float, ...]
    ) -> None:
        super().__init__(inputs, outputs)
        self.formula = formula
        self.numbers = numbers
        self._typed = typed(formula.forward, numbers)

    @final
    def lower(self, program: Program) -> None:
        if self.input_shape:
            program.set_shape(self.input_shape)
        program.add(
            "row",
            self.formula.name,
            size=self.outputs,
            settings=self.numbers,
            shape=self.output_shape,
        )

    @final
    def forward_rows(self, batch: Batch) -> Batch:
        done = [self._done(x) for x in batch]
        self.kept.extend((x, y, scale) for x, (y, scale) in zip(batch, done, strict=True))
        return [y for y, _ in done]

    @final
    def backward_rows(self, upstream: Batch) -> Batch:
        gradients = []
        for sample in reversed(upstream):
            x, y, scale = self.kept.pop()
            gradient = [0.0] * self.inputs
            self.formula.backward(x, y, scale, sample, gradient, *self._typed)
            gradients.append(gradient)
        gradients.reverse()
        return gradients

    @final
    def evaluate_rows(self, batch: Batch) -> Batch:
        return [self._done(x)[0] for x in batch]

    def _done(self, x: list[float]) -> tuple[list[float], float]:
        """Return the outputs of a sample, and the number that the backward formula needs."""
        y = [0.0] * self.outputs
        return y, self.formula.forward(x, y, *self._typed)
