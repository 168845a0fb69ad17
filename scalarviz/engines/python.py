"""The python engine: the objects themselves, slow, readable, the reference for the fast ones.

It does nothing but call the verbs of each layer, which calls those of its perceptrons, which call
those of their weights. A layer sees the whole batch before the next one does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import final

from scalarviz.bank import Bank
from scalarviz.formulas.optimizers import Optimizer
from scalarviz.layers import Layer
from scalarviz.layers.base import Batch


@final
class PythonEngine:
    """Runs the layers of a network through their own methods."""

    name = "python"

    def __init__(self, layers: Sequence[Layer], bank: Bank) -> None:
        self.layers = layers
        self.bank = bank

    def zero_grad(self) -> None:
        """Forget all gradients."""
        self.bank.zero_grad()

    def forward(self, batch: Batch) -> Batch:
        """The outputs of a batch; every weight remembers its inputs."""
        for layer in self.layers:
            batch = layer.forward_batch(batch)
        return batch

    def evaluate(self, batch: Batch) -> Batch:
        """The outputs of a batch, with nothing kept."""
        for layer in self.layers:
            batch = layer.evaluate_rows(batch)
        return batch

    def check_backward(self, samples: int) -> None:
        """Refuse a backward that does not fit the newest forwards, before anything is changed."""
        for layer, uses in Counter(self.layers).items():
            layer.check_backward(samples, uses)

    def backward(self, upstream: Batch) -> Batch:
        """Add to all gradients, last layer first; the gradient by the inputs."""
        for layer in reversed(self.layers):
            upstream = layer.backward_batch(upstream)
        return upstream

    def step(self, optimizer: Optimizer) -> None:
        """Move every weight against its gradient."""
        self.bank.step(optimizer, slice(0, len(self.bank)))
