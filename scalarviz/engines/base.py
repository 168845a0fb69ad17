"""What every engine does for a network: the four verbs on checked batches, and a whole step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import final

import numpy as np

from scalarviz.bank import Bank
from scalarviz.checks import FloatArray
from scalarviz.formulas.losses import Loss
from scalarviz.layers import Layer
from scalarviz.optimizer import Optimizer
from scalarviz.program import Program


class Engine(ABC):
    """Runs one network: its layers, or the program they lower to, on its bank.

    What comes in has been checked: batches are 2-D and float64, one row a sample, and fit. What is
    between a forward and its backward an engine keeps on a stack of its own.
    """

    name: str

    def __init__(self, layers: Sequence[Layer], program: Program, bank: Bank) -> None:
        self.layers = layers
        self.program = program
        self.bank = bank

    @abstractmethod
    def forward(self, batch: FloatArray) -> FloatArray:
        """The outputs of a batch; what backward needs is kept."""

    @abstractmethod
    def evaluate(self, batch: FloatArray) -> FloatArray:
        """The outputs of a batch, with nothing kept."""

    @abstractmethod
    def newest_batch(self) -> int:
        """How many samples the newest unmatched forward had; an OrderError if there is none."""

    @abstractmethod
    def check_backward(self, samples: int) -> None:
        """Refuse a backward that does not fit the newest forward, before anything is changed."""

    @abstractmethod
    def backward(self, upstream: FloatArray) -> FloatArray:
        """Add to the gradients, for the newest unmatched forward; return that by its inputs."""

    @abstractmethod
    def forget(self) -> None:
        """Drop everything that waits for a backward."""

    @abstractmethod
    def train(
        self,
        inputs: FloatArray,
        targets: FloatArray,
        loss: Loss,
        optimizer: Optimizer,
        steps: int,
    ) -> FloatArray:
        """So many whole steps on one batch: zero_grad, forward, loss, backward, step.

        The losses before each step. Where a gradient goes bad a GradientError names its weight, and
        that step is not taken.
        """

    @final
    def __reduce__(self) -> tuple[object, ...]:
        """A copy, or what is sent to another process, is an engine of its own."""
        return type(self), (self.layers, self.program, self.bank)

    @final
    def array(self, rows: object) -> FloatArray:
        """Numbers in the type of the bank; what is too large for float32 becomes inf, silently."""
        with np.errstate(over="ignore"):
            return np.asarray(rows, self.bank.dtype)
