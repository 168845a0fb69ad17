"""Dense: a fully connected layer of perceptrons."""

from __future__ import annotations

from functools import cached_property
from typing import Any, final

from scalarviz.base.checks import size
from scalarviz.core.formulas.initializers import Init
from scalarviz.core.layers.base import Batch
from scalarviz.core.layers.perceptron_layer import PerceptronLayer
from scalarviz.core.model.operations import Shape
from scalarviz.core.model.program import Program
from scalarviz.core.model.weight import Weight


@final
class Dense(PerceptronLayer):
    """Fully connected layer: `outputs` perceptrons with a weight for each of `inputs`, and a bias.

    In the bank the weights come first, perceptron by perceptron, then the biases.

    inputs      numbers of a sample, at least 1
    outputs     number of perceptrons, at least 1
    activation  name of a row of core/formulas/activations.py, or one with settings such as
                "leaky_relu(0.2)"; by default "linear"
    bias        whether each perceptron has one; by default True
    init        initializer of this layer, a name or an Init; None, the default: that of the network

    >>> layer = Dense(3, 8, "tanh")
    >>> layer.perceptrons[2].weights[1].name
    'perceptron 2, weight from input 1'
    >>> layer.kernel.shape, layer.bias.shape
    ((8, 3), (8,))
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
        inputs = size(inputs, "the inputs of Dense")
        outputs = size(outputs, "the outputs of Dense")
        super().__init__(inputs, outputs, outputs, inputs, activation, bias, init)

    def fans(self) -> tuple[int, int]:
        return self.inputs, self.outputs

    def window_shape(self) -> Shape:
        return (self.inputs,)

    def part_name(self, perceptron: int) -> str:
        return f"perceptron {perceptron}"

    def weight_name(self, row: int) -> str:
        return f"weight from input {row % self.inputs}"

    def settings(self) -> dict[str, Any]:
        return {
            "inputs": self.inputs,
            "outputs": self.outputs,
            "activation": self.activation,
            "bias": self.has_bias,
        }

    def lower(self, program: Program) -> None:
        self.lower_sums(program, "affine")

    @cached_property
    def columns(self) -> list[tuple[Weight, ...]]:
        """The weights by input: those of input 0 to each perceptron, then those of input 1, ..."""
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
            # The gradient of an input is the sum over all perceptrons that it reaches.
            gradients.append([sum(map(Weight.backward, column, deltas)) for column in columns])
        gradients.reverse()
        return gradients

    def evaluate_rows(self, batch: Batch) -> Batch:
        perceptrons = self.perceptrons.all()
        samples = [[*sample, 1.0] for sample in batch]
        return [[p.evaluate_sample(sample) for p in perceptrons] for sample in samples]
