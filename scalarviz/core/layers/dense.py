"""Dense: a fully connected layer of perceptrons; PerceptronLayer: base of Dense and Conv2d."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from math import prod
from typing import Any, final

from scalarviz.base.checks import FloatArray, size, true_or_false
from scalarviz.core.formulas.activations import activation_row
from scalarviz.core.formulas.initializers import Init
from scalarviz.core.layers import custom_layers
from scalarviz.core.layers.layer import Batch, Layer
from scalarviz.core.layers.parameters import OnDemand, ParameterArray, own_parameters
from scalarviz.core.perceptron import Perceptron
from scalarviz.core.program import NONE, Program, Shape
from scalarviz.core.weight import Weight
from scalarviz.errors import InputError


class WeightedLayer(Layer):
    """A layer whose parameters are an array "weight" and usually an array "bias".

    `inputs`, `outputs`, `activation` and `parameters` are as in Layer.
    """

    @property
    def kernel(self) -> FloatArray:
        """The weights: a view of `bank.value`, in the shape that they have in PyTorch.

        The shape is (outputs, inputs) for Dense, (kernels, channels, height, width) for Conv2d,
        (features,) for norms. Writing into it sets the Weights; `layer.kernel = array` copies the
        array into it.
        """
        return self._parameter("weight").value

    @kernel.setter
    def kernel(self, numbers: object) -> None:
        self._parameter("weight").value = numbers

    @property
    def bias(self) -> FloatArray | Any:  # not "| None": a type checker takes `bias[0]` unchecked
        """The biases: a view of `bank.value`, like `kernel`; None without biases."""
        return self._parameter("bias").value if "bias" in self.parameter_shapes() else None

    @bias.setter
    def bias(self, numbers: object) -> None:
        self._parameter("bias").value = numbers

    def _parameter(self, role: str) -> ParameterArray:
        found = own_parameters(self).get(role)
        if found is None:
            raise InputError(f"{self} has no {role}: make a layer that has one")
        found.name = f"the {'kernel' if role == 'weight' else role} of {self}"
        self._has_lent = True
        return found


class PerceptronLayer(WeightedLayer):
    """A layer of `count` perceptrons whose weights have the shape `window`.

    `inputs`, `outputs`, `activation`, `bias` and `init` are as in Dense.

    The bank rows are the weights, perceptron by perceptron, then the biases.
    """

    def __init__(
        self,
        inputs: int | Shape,
        outputs: int | Shape,
        count: int,
        window: Shape,
        activation: str,
        bias: bool,
        init: str | Init | Callable[..., Any] | None,
    ) -> None:
        self.formula = activation_row(activation)
        self.has_bias = true_or_false(bias, "bias")
        shapes = {"weight": (count, *window)} | ({"bias": (count,)} if self.has_bias else {})
        super().__init__(inputs, outputs, self.formula.name, parameters=shapes)
        self.count = count
        self.fan_in = prod(window)
        self.init = None if init is None else Init.of(init)

    @abstractmethod
    def fans(self) -> tuple[int, int]:
        """Return fan-in and fan-out: the number of inputs per output, and of outputs per input."""

    @abstractmethod
    def part_name(self, perceptron: int) -> str:
        """Return the name of the perceptron at index `perceptron`."""

    @abstractmethod
    def weight_name(self, row: int) -> str:
        """Return the name of the weight at index `row` of the layer, without its perceptron."""

    @final
    @cached_property
    def perceptrons(self) -> OnDemand[Perceptron]:
        """The perceptrons, each created on first access."""
        return OnDemand(self.count, self._perceptron)

    @final
    @cached_property
    def all_perceptrons(self) -> list[Perceptron]:
        """All perceptrons as a list."""
        return self.perceptrons[:]

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
        return vars(self).get("all_perceptrons") or self.perceptrons.made()

    @final
    def initialize(self, init: Init, seed: int) -> None:
        custom_layers.draw_arrays(self, self.init or init, seed, self.fans())

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
        """Append the operations that compute the sums and the activation to a `program`.

        `kind` is a row of KINDS in core/program.py with its `settings`.
        """
        made: Any = {"size": self.outputs, "shape": self.output_shape}
        biases = self.first_row + self.fan_in * self.count if self.has_bias else NONE
        program.add(kind, weights=self.first_row, biases=biases, settings=settings, **made)
        if self.activation != "linear":
            program.add("activation", self.activation, **made)


@final
class Dense(PerceptronLayer):
    """Fully connected layer: `outputs` perceptrons, each with a bias and a weight for every input.

    The bank rows are the weights, perceptron by perceptron, then the biases.

    Args:
        inputs: number of inputs, at least 1
        outputs: number of perceptrons, at least 1
        activation: name of a row of core/formulas/activations.py, also with settings as in
            "leaky_relu(0.2)"; by default "linear"
        bias: whether each perceptron has a bias; by default True
        init: initializer of this layer: a name, a function f(rng, shape) or an Init; None (default)
            means the initializer of the network

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
        init: str | Init | Callable[..., Any] | None = None,
    ) -> None:
        inputs = size(inputs, "the inputs of Dense")
        outputs = size(outputs, "the outputs of Dense")
        super().__init__(inputs, outputs, outputs, (inputs,), activation, bias, init)

    def fans(self) -> tuple[int, int]:
        return self.inputs, self.outputs

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
        """The weights by input: from input 0 to each perceptron, then from input 1, ..."""
        return list(zip(*[p.weights for p in self.all_perceptrons], strict=True))

    def forward_rows(self, batch: Batch) -> Batch:
        perceptrons = self.all_perceptrons
        samples = [[*sample, 1.0] for sample in batch]  # the input of the bias is 1
        return [[p.forward_sample(sample) for p in perceptrons] for sample in samples]

    def backward_rows(self, upstream: Batch) -> Batch:
        perceptrons = self.all_perceptrons
        biases = [p.bias for p in perceptrons if p.bias is not None]
        columns = self.columns
        gradients = []
        for sample in reversed(upstream):
            deltas = [p.delta(g) for p, g in zip(perceptrons, sample, strict=True)]
            for bias, delta in zip(biases, deltas, strict=False):
                bias.backward(delta)
            # The gradient of an input is the sum over all perceptrons connected to it.
            gradients.append([sum(map(Weight.backward, column, deltas)) for column in columns])
        return gradients[::-1]

    def evaluate_rows(self, batch: Batch) -> Batch:
        perceptrons = self.all_perceptrons
        samples = [[*sample, 1.0] for sample in batch]
        return [[p.evaluate_sample(sample) for p in perceptrons] for sample in samples]
