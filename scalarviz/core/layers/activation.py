"""Activation: an activation as a layer of its own, such as after a norm or a Residual."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

from scalarviz.core.formulas.families import activation_row
from scalarviz.core.layers.base import Batch, Layer
from scalarviz.core.layers.shapes import numbers_of
from scalarviz.core.model.program import Program


@final
class Activation(Layer):
    """Apply an activation to each number: y = f(x). No parameters.

    shape       number of features, or the shape (channels, height, width) of a picture
    activation  name of a row of core/formulas/activations.py, such as "relu"

    Dense and Conv2d take an activation themselves. Raises UnknownNameError for an unknown name.

    >>> Activation(3, "relu")([-1, 0, 2]).tolist()
    [0.0, 0.0, 2.0]
    """

    def __init__(self, shape: int | Sequence[int], activation: str) -> None:
        picture, count = numbers_of(shape, "the numbers of Activation")
        self.formula = activation_row(activation)
        super().__init__(count, count, self.formula.name)
        self.input_shape = self.output_shape = picture

    def check_activation(self, name: str) -> None:
        activation_row(name)

    def set_activation(self, name: str) -> None:
        self.formula = activation_row(name)
        self._activation = self.formula.name

    def settings(self) -> dict[str, Any]:
        shape = list(self.input_shape) if self.input_shape else self.inputs
        return {"shape": shape, "activation": self.activation}

    def lower(self, program: Program) -> None:
        if self.input_shape:
            program.set_shape(self.input_shape)
        if self.activation != "linear":
            program.add("activation", self.activation, size=self.outputs, shape=self.output_shape)

    def forward_rows(self, batch: Batch) -> Batch:
        rows = self.evaluate_rows(batch)
        self.kept.extend(zip(batch, rows, strict=True))
        return rows

    def backward_rows(self, upstream: Batch) -> Batch:
        slope = self.formula.derivative
        gradients = []
        for sample in reversed(upstream):
            x, y = self.kept.pop()
            gradients.append([g * slope(a, b) for g, a, b in zip(sample, x, y, strict=True)])
        gradients.reverse()
        return gradients

    def evaluate_rows(self, batch: Batch) -> Batch:
        value = self.formula.value
        return [[value(x) for x in row] for row in batch]
