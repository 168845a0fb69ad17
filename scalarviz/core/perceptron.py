"""Perceptron: a weighted sum of inputs, a bias, and an activation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, final

import numpy as np

from scalarviz.base.checks import answered, as_sample, number, size, true_or_false
from scalarviz.base.leaf_calls import perceptron_html
from scalarviz.base.limits import enough_memory
from scalarviz.core.bank import Bank, Rows
from scalarviz.core.formulas.activations import activation_row
from scalarviz.core.formulas.formula import Formula
from scalarviz.core.formulas.initializers import Init
from scalarviz.core.formulas.randomness import check_seed
from scalarviz.core.weight import Part, Weight
from scalarviz.errors import OrderError

BYTES = 870  # approximate memory of a Weight


@final
class Perceptron(Part):
    """A perceptron y = f(w0 x0 + w1 x1 + ... + b): one weight per input, a bias, an activation f.

    The bias is a weight whose input is always 1.

    Args:
        inputs: number of weights, at least 1
        activation: name of a row of core/formulas/activations.py; by default "linear"
        bias: whether the perceptron has a bias; by default True
        init: initializer, a name or an Init; by default "pytorch"
        seed: seed of the initial numbers, a non-negative integer; by default 0
        dtype: "float64" (default) or "float32"

    >>> p = Perceptron(2, "linear", seed=1)
    >>> p.weights[0].value, p.weights[1].value, p.bias.value = 2.0, -1.0, 0.5
    >>> p.forward([3.0, 4.0])
    2.5
    >>> p.backward(1.0)
    [2.0, -1.0]
    >>> [w.grad for w in p.weights], p.bias.grad
    ([3.0, 4.0], 1.0)
    """

    __slots__ = tuple("_bank _derivative _results activation bias inputs parts weights".split())

    @answered
    def __init__(
        self,
        inputs: int,
        activation: str = "linear",
        *,
        bias: bool = True,
        init: str | Init | Callable[..., Any] = "pytorch",
        seed: int = 0,
        dtype: str = "float64",
    ) -> None:
        inputs, bias = size(inputs, "the inputs of a perceptron"), true_or_false(bias, "bias")
        formula = activation_row(activation)
        init, seed = Init.of(init), check_seed(seed)
        bank = Bank(inputs + bias, dtype)
        shape = (inputs, 1)
        init.fill(bank.value[:inputs], init.weight, shape, seed, 0, (inputs,))
        init.fill(bank.value[inputs:], init.bias, shape, seed, inputs, (1,))
        bank.name_of = partial(row_name, inputs)
        self._bind(bank, 0, inputs, inputs if bias else None, formula)

    def _bind(
        self, bank: Bank, first: int, inputs: int, bias_row: int | None, activation: Formula
    ) -> None:
        self._bank = bank
        self.inputs = inputs
        self.set_activation(activation)
        rows = range(first, first + inputs)
        what = f"{inputs:,} weights as objects"
        with enough_memory(inputs * BYTES, what, "read the numbers in bank.value"):
            self.weights = tuple([Weight.on(bank, row) for row in rows])
        self.bias = None if bias_row is None else Weight.on(bank, bias_row)
        self.parts = self.weights if self.bias is None else (*self.weights, self.bias)
        self._results: list[tuple[float, float]] = []  # (sum, output) of each unmatched forward

    def forward(self, inputs: Sequence[float]) -> float:
        """Return the output for `inputs`, one float per weight, and store them for `backward`."""
        return self.forward_sample([*as_sample(inputs, self.inputs, str(self)), 1.0])

    def backward(self, upstream: float = 1.0) -> list[float]:
        """Accumulate gradients for the most recent unmatched forward; return the input gradients.

        `upstream` is the gradient with respect to the output, by default 1.0. It may be infinite or
        NaN: the next step raises GradientError. Raises OrderError without an unmatched forward.
        """
        upstream = number(upstream, "the upstream gradient of a perceptron", finite=False)
        if self.unmatched < 1:
            raise OrderError("backward of a perceptron without a forward: call forward first")
        delta = self.delta(upstream)
        if self.bias is not None:
            self.bias.backward(delta)
        return [weight.backward(delta) for weight in self.weights]

    # Layers call these with checked inputs, followed by 1 for the bias.

    def forward_sample(self, inputs: Sequence[float]) -> float:
        """Return the output for checked `inputs`; store sum, output and inputs."""
        total = sum(map(Weight.forward, self.parts, inputs))
        output = self.activation.value(total)
        self._results.append((total, output))
        return output

    def delta(self, upstream: float) -> float:
        """Return the gradient of the sum, given `upstream`; consume the most recent forward."""
        total, output = self._results.pop()
        return upstream * self._derivative(total, output)

    def evaluate_sample(self, inputs: Sequence[float]) -> float:
        """Return the output for checked `inputs`, without storing anything."""
        return self.activation.value(sum(map(Weight.evaluate, self.parts, inputs)))

    def forget(self) -> None:
        """Drop all unmatched forwards."""
        self._results.clear()
        for weight in self.parts:
            weight.forget()

    def __call__(self, inputs: Sequence[float]) -> float:
        """Return the output for `inputs`, without storing anything for `backward`."""
        return self.evaluate_sample([*as_sample(inputs, self.inputs, str(self)), 1.0])

    @classmethod
    def on(
        cls, bank: Bank, first: int, inputs: int, bias_row: int | None, activation: Formula
    ) -> Perceptron:
        """Return the perceptron on rows of an existing bank.

        Args:
            bank: Bank with the rows
            first: row of the first weight
            inputs: number of weights
            bias_row: row of the bias, or None without bias
            activation: row of ACTIVATIONS
        """
        perceptron = cls.__new__(cls)
        perceptron._bind(bank, first, inputs, bias_row, activation)
        return perceptron

    def set_activation(self, activation: Formula) -> None:
        """Set the activation to another row of ACTIVATIONS, `activation`."""
        self.activation = activation
        self._derivative = activation.derivative

    @property
    def bank(self) -> Bank:
        return self._bank

    @property
    def rows(self) -> Rows:
        return np.array([weight.index for weight in self.parts], dtype=np.intp)

    @property
    def unmatched(self) -> int:
        """Number of forwards without a backward, in this object and in every weight."""
        return min(len(self._results), *[weight.unmatched for weight in self.parts])

    def __repr__(self) -> str:
        bias = "no bias" if self.bias is None else "bias"
        return f"Perceptron({self.inputs} weights, {bias}, {self.activation.name})"

    def _repr_html_(self) -> str:
        return perceptron_html(self)


def row_name(inputs: int, row: int) -> str:
    """Return the name of a parameter of a perceptron that is not in a layer."""
    return f"weight from input {row}" if row < inputs else "bias"
