"""Dense: perceptrons side by side, each seeing every input."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, final

from scalarviz.formulas.activations import ACTIVATIONS
from scalarviz.formulas.initializers import Init
from scalarviz.formulas.table import pick
from scalarviz.layers.base import Batch, Layer
from scalarviz.layers.ondemand import OnDemand
from scalarviz.layers.perceptron import Perceptron
from scalarviz.program import NONE, Program
from scalarviz.weight import Weight


@final
class Dense(Layer):
    """`outputs` perceptrons, each with one weight for each of `inputs`, and a bias.

    In the bank the weights come first, perceptron by perceptron, then the biases.

    >>> layer = Dense(3, 8, "tanh")
    >>> layer.perceptrons[2].weights[1].name
    'perceptron 2, weight from input 1'
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        activation: str = "linear",
        *,
        bias: bool = True,
        init: str | Init | None = None,
    ) -> None:
        super().__init__(inputs, outputs, activation)
        self.formula = pick(ACTIVATIONS, activation, "activation")
        self.bias = bool(bias)
        self.init = None if init is None else Init.of(init)
        self.size = self.inputs * self.outputs + self.bias * self.outputs

    @cached_property
    def perceptrons(self) -> OnDemand[Perceptron]:
        """The perceptrons, one for each output; each is made when it is first asked for."""
        return OnDemand(self.outputs, self._perceptron)

    def _perceptron(self, i: int) -> Perceptron:
        first = self.first_row + i * self.inputs
        bias = self.first_row + self.inputs * self.outputs + i if self.bias else None
        return Perceptron.on(self.bank, first, self.inputs, bias, self.formula)

    def check_activation(self, name: str) -> None:
        pick(ACTIVATIONS, name, "activation")

    def set_activation(self, name: str) -> None:
        self.formula = pick(ACTIVATIONS, name, "activation")
        self._activation = name
        for perceptron in self.perceptrons.made():
            perceptron.set_activation(self.formula)

    def made_parts(self) -> Sequence[Perceptron]:
        return self.perceptrons.made()

    def initialize(self, init: Init, seed: int) -> None:
        init = self.init or init
        shape = (self.inputs, self.outputs)
        count = self.inputs * self.outputs
        first, biases, end = self.first_row, self.first_row + count, self.rows.stop
        self.bank.value[first:biases] = init.draw(init.weight, shape, seed, first, count)
        self.bank.value[biases:end] = init.draw(init.bias, shape, seed, biases, end - biases)

    def row_name(self, row: int) -> str:
        if row >= self.inputs * self.outputs:
            return f"perceptron {row - self.inputs * self.outputs}, bias"
        return f"perceptron {row // self.inputs}, weight from input {row % self.inputs}"

    def weight(self, row: int) -> Weight:
        if row < self.inputs * self.outputs:
            return self.perceptrons[row // self.inputs].weights[row % self.inputs]
        return self.perceptrons[row - self.inputs * self.outputs].parts[-1]

    def settings(self) -> dict[str, Any]:
        return {
            "inputs": self.inputs,
            "outputs": self.outputs,
            "activation": self.activation,
            "bias": self.bias,
        }

    def lower(self, program: Program) -> None:
        biases = self.first_row + self.inputs * self.outputs if self.bias else NONE
        program.add("affine", size=self.outputs, weights=self.first_row, biases=biases)
        if self.activation != "linear":
            program.add("activation", self.activation, size=self.outputs)

    @cached_property
    def columns(self) -> list[tuple[Weight, ...]]:
        """The weights by input: those from input 0 to every perceptron, then from input 1, ..."""
        return list(zip(*[p.weights for p in self.perceptrons.all()], strict=True))

    def forward_rows(self, batch: Batch) -> Batch:
        perceptrons = self.perceptrons.all()
        samples = [[*sample, 1.0] for sample in batch]  # the input of the bias is 1
        return [[p.forward_sample(sample) for p in perceptrons] for sample in samples]

    def backward_rows(self, upstream: Batch) -> Batch:
        perceptrons = self.perceptrons.all()
        biases = [p.bias for p in perceptrons if p.bias is not None]
        columns = self.columns
        gradients = []
        for sample in reversed(upstream):
            deltas = [p.delta(g) for p, g in zip(perceptrons, sample, strict=True)]
            for bias, delta in zip(biases, deltas, strict=False):
                bias.backward(delta)
            # One input reaches every perceptron: what comes back along these paths adds up.
            gradients.append([sum(map(Weight.backward, column, deltas)) for column in columns])
        gradients.reverse()
        return gradients

    def evaluate_rows(self, batch: Batch) -> Batch:
        perceptrons = self.perceptrons.all()
        samples = [[*sample, 1.0] for sample in batch]
        return [[p.evaluate_sample(sample) for p in perceptrons] for sample in samples]
