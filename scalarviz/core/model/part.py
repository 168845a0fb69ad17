"""Part: the base of weights, perceptrons, layers and networks."""

from __future__ import annotations

from typing import final

from scalarviz.core.model.optimizer import Optimizer
from scalarviz.core.model.part_on_bank import PartOnBank


class Part(PartOnBank):
    """Base of everything with `rows` of a `bank`: weight, perceptron, layer, network.

    Of the four verbs it has `zero_grad` and `step`; subclasses have `forward` and `backward`.
    """

    __slots__ = ()

    @final
    def zero_grad(self) -> None:
        """Set the gradients to 0; forwards that wait for their backward are kept."""
        self.bank.zero_grad(self.rows)

    @final
    def step(self, optimizer: Optimizer | str | None = None) -> None:
        """Take a step of an `optimizer`; None, the default: SGD(0.01). Frozen parameters stay.

        Raises OrderError without gradients, GradientError if a gradient, UpdateError if a result is
        not finite; nothing is changed then.
        """
        self._step(Optimizer.of(optimizer))

    def _step(self, optimizer: Optimizer) -> None:
        """Move by an optimizer; an engine may know a faster way."""
        self.bank.step(optimizer, self.rows)
