"""Neurons made of Values, under micrograd's names: programs for its `nn` run with this import.

Each number is a Value and each neuron a formula, which is what one reads and draws; `Network` has
the same networks as arrays, many thousand times as fast.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from scalarviz.core.value import Value
from scalarviz.errors import InputError


class Module:
    """What has parameters."""

    def parameters(self) -> list[Value]:
        """Return its Values that training changes."""
        return []

    def zero_grad(self) -> None:
        """Set the gradients of the parameters to 0."""
        for parameter in self.parameters():
            parameter.grad = 0


class Neuron(Module):
    """A weighted sum of `nin` inputs and a bias, and then relu unless `nonlin` is False.

    Weights are drawn from -1 to 1 by Python's `random`, so that `random.seed` repeats them.

    >>> random.seed(0)
    >>> neuron = Neuron(2)
    >>> neuron, neuron([1.0, 2.0])
    (ReLUNeuron(2), Value(data=1.7206613148113061, grad=0))
    """

    def __init__(self, nin: int, nonlin: bool = True) -> None:
        self.w = [Value(random.uniform(-1.0, 1.0)) for _ in range(nin)]
        self.b = Value(0)
        self.nonlin = nonlin

    def __call__(self, x: Sequence[Any]) -> Value:
        if len(x) != len(self.w):
            raise InputError(f"{self!r} takes {len(self.w)} numbers, not {len(x)}")
        total = sum((w * each for w, each in zip(self.w, x, strict=True)), self.b)
        return total.relu() if self.nonlin else total

    def parameters(self) -> list[Value]:
        return [*self.w, self.b]

    def __repr__(self) -> str:
        return f"{'ReLU' if self.nonlin else 'Linear'}Neuron({len(self.w)})"


class Layer(Module):
    """`nout` neurons with the same `nin` inputs, with relu unless `nonlin` is False.

    Called with a list, it returns a list, or one Value if it has one neuron.
    """

    def __init__(self, nin: int, nout: int, nonlin: bool = True) -> None:
        self.neurons = [Neuron(nin, nonlin) for _ in range(nout)]

    def __call__(self, x: Sequence[Any]) -> Any:
        made = [neuron(x) for neuron in self.neurons]
        return made[0] if len(made) == 1 else made

    def parameters(self) -> list[Value]:
        return [each for neuron in self.neurons for each in neuron.parameters()]

    def __repr__(self) -> str:
        return f"Layer of [{', '.join(map(str, self.neurons))}]"


class MLP(Module):
    """Layers of `nouts` neurons one after the other, behind `nin` inputs; the last without relu.

    >>> len(MLP(2, [16, 16, 1]).parameters())
    337
    """

    def __init__(self, nin: int, nouts: Sequence[int]) -> None:
        last, sizes = len(nouts) - 1, [nin, *nouts]
        self.layers = [Layer(sizes[i], sizes[i + 1], i != last) for i in range(len(nouts))]

    def __call__(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x

    def parameters(self) -> list[Value]:
        return [each for layer in self.layers for each in layer.parameters()]

    def __repr__(self) -> str:
        return f"MLP of [{', '.join(map(str, self.layers))}]"


def __getattr__(name: str) -> Any:
    """Say where the layers are, whose names programs for PyTorch look up here."""
    raise AttributeError(
        f"scalarviz.nn has no {name!r}, but micrograd's Neuron, Layer and MLP: layers are in sv "
        "itself: sv.Dense(inputs, outputs), sv.Conv2d, sv.BatchNorm ..."
    )
