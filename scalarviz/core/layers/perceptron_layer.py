"""PerceptronLayer: the base of Dense and Conv2d, layers of equal perceptrons."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import final

from scalarviz.base.checks import true_or_false
from scalarviz.core.formulas.families import activation_row
from scalarviz.core.formulas.initializers import Init
from scalarviz.core.layers.base import Layer
from scalarviz.core.layers.lazy_list import OnDemand
from scalarviz.core.layers.perceptron import Perceptron
from scalarviz.core.layers.weighted import WeightedLayer
from scalarviz.core.model.operations import NONE, Shape
from scalarviz.core.model.program import Program
from scalarviz.core.model.weight import Weight


class PerceptronLayer(WeightedLayer):
    """`count` perceptrons with `fan_in` weights each.

    In the bank the weights come first, perceptron by perceptron, then the biases.

    inputs, outputs  numbers of a sample, and of the result
    count            number of perceptrons
    fan_in           number of weights of each
    activation       name of a row of core/formulas/activations.py
    bias             whether each perceptron has one
    init             initializer of this layer, a name or an Init; None: that of the network
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        count: int,
        fan_in: int,
        activation: str,
        bias: bool,
        init: str | Init | None,
    ) -> None:
        self.formula = activation_row(activation)
        super().__init__(inputs, outputs, self.formula.name)
        self.count = count
        self.fan_in = fan_in
        self.has_bias = true_or_false(bias, "bias")
        self.init = None if init is None else Init.of(init)
        self.size = count * fan_in + self.has_bias * count

    @abstractmethod
    def fans(self) -> tuple[int, int]:
        """Return fan-in and fan-out: inputs of an output, and outputs that an input reaches."""

    @abstractmethod
    def part_name(self, perceptron: int) -> str:
        """Return the name of the perceptron at index `perceptron`."""

    @abstractmethod
    def weight_name(self, row: int) -> str:
        """Return the name of the weight at index `row` of the layer, without its perceptron's."""

    @abstractmethod
    def window_shape(self) -> Shape:
        """Return the shape of the weights of a perceptron."""

    @final
    def parameter_shapes(self) -> dict[str, Shape]:
        found: dict[str, Shape] = {"weight": (self.count, *self.window_shape())}
        return found | {"bias": (self.count,)} if self.has_bias else found

    @final
    @cached_property
    def perceptrons(self) -> OnDemand[Perceptron]:
        """The perceptrons; each is made on first access."""
        return OnDemand(self.count, self._perceptron)

    @final
    def _perceptron(self, i: int) -> Perceptron:
        first = self.first_row + i * self.fan_in
        bias = self.first_row + self.fan_in * self.count + i if self.has_bias else None
        return Perceptron.on(self.bank, first, self.fan_in, bias, self.formula)

    @final
    def check_activation(self, name: str) -> None:
        activation_row(name)

    @final
    def set_activation(self, name: str) -> None:
        self.formula = activation_row(name)
        self._activation = self.formula.name
        for perceptron in self.perceptrons.made():
            perceptron.set_activation(self.formula)

    @final
    def made_parts(self) -> Sequence[Perceptron]:
        return self.perceptrons.made()

    @final
    def initialize(self, init: Init, seed: int) -> None:
        init, shape = self.init or init, self.fans()
        count = self.fan_in * self.count
        first, biases, end = self.first_row, self.first_row + count, self.rows.stop
        init.fill(self.bank.value[first:biases], init.weight, shape, seed, first)
        init.fill(self.bank.value[biases:end], init.bias, shape, seed, biases)

    @final
    def row_name(self, row: int) -> str:
        if row >= self.fan_in * self.count:
            return f"{self.part_name(row - self.fan_in * self.count)}, bias"
        return f"{self.part_name(row // self.fan_in)}, {self.weight_name(row)}"

    @final
    def weight(self, row: int) -> Weight:
        if row < self.fan_in * self.count:
            return self.perceptrons[row // self.fan_in].weights[row % self.fan_in]
        return self.perceptrons[row - self.fan_in * self.count].parts[-1]

    @final
    def again(self) -> Layer:
        return type(self)(**self.settings(), init=self.init)

    @final
    def lower_sums(self, program: Program, kind: str, settings: tuple[float, ...] = ()) -> None:
        """Append the operation that computes the sums, and the activation, to a `program`.

        `kind` is a row of KINDS in core/model/operations.py, `settings` are its numbers.
        """
        shape: Shape = self.output_shape
        biases = self.first_row + self.fan_in * self.count if self.has_bias else NONE
        program.add(
            kind,
            size=self.outputs,
            weights=self.first_row,
            biases=biases,
            settings=settings,
            shape=shape,
        )
        if self.activation != "linear":
            program.add("activation", self.activation, size=self.outputs, shape=shape)
