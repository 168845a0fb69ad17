"""Layer: the base of all layers, with the four verbs, a bank, and stacks for backward."""

from __future__ import annotations

from abc import abstractmethod
from typing import final

import numpy as np

from scalarviz.base.checks import FloatArray, as_array, as_batch
from scalarviz.core.layers.on_bank import LayerOnBank
from scalarviz.core.layers.own import evaluated
from scalarviz.errors import OrderError, ShapeError, lost_by_forward

Batch = list[list[float]]  # one row a sample, as plain Python floats


class Layer(LayerOnBank):
    """A layer that maps `inputs` numbers of a sample to `outputs` numbers.

    A subclass defines what happens to a batch, in `forward_rows` and `backward_rows`, and how to
    make another such layer (`settings`); engines with kernels take `lower`, if it has one. What its
    methods return is checked; docs/guide/own-layers.md has an example.

    A layer used by itself makes a bank of its own, in float64; in a network it is on the network's
    bank. It can still join a network as long as nothing was computed, changed or made on a bank of
    its own, whose arrays then become read-only.

    inputs      numbers of a sample, at least 1
    outputs     numbers of the result, at least 1
    activation  name of a row of core/formulas/activations.py; by default "linear"
    parameters  shape of each array of parameters by name; by default there are none
    """

    @abstractmethod
    def forward_rows(self, batch: Batch) -> Batch:
        """Return the outputs of a `batch`, a list of samples; keep what `backward_rows` needs."""

    @abstractmethod
    def backward_rows(self, upstream: Batch) -> Batch:
        """Return the gradient of the inputs for the newest kept batch, and drop what was kept.

        `upstream` is the gradient with respect to the outputs. Gradients of parameters are added to
        the bank. What was kept comes off the stacks last sample first.
        """

    def evaluate_rows(self, batch: Batch) -> Batch:
        """Return the outputs of a `batch` as `forward_rows` does, without keeping anything."""
        return evaluated(self, batch)

    # The verbs for users; zero_grad and step are inherited from Part.

    @final
    def __call__(self, x: object) -> FloatArray:
        """Return the outputs for `x`, without keeping anything for `backward`.

        `x` has shape (inputs,), (batch, inputs) or (batch, *input_shape).
        """
        batch, single = as_batch(x, self.inputs, str(self), picture=self.input_shape)
        dtype = self.bank.dtype
        result = as_array(self.evaluate_rows(batch.tolist()), dtype)
        return result[0] if single else result

    @final
    def forward(self, x: object) -> FloatArray:
        """Return the outputs for `x`, and keep what `backward` needs.

        `x` has shape (inputs,) or (batch, inputs), the result (outputs,) or (batch, outputs).
        Raises ShapeError for another shape and NotFiniteError for NaN or infinity.
        """
        batch, single = as_batch(x, self.inputs, str(self), picture=self.input_shape)
        dtype, before = self.bank.dtype, self.state.copy()
        result = as_array(self.forward_batch(batch.tolist()), dtype)
        if lost := self.lost_statistic():
            self.state[:] = before
            self.forget()
            raise lost_by_forward(lost)
        return result[0] if single else result

    @final
    def backward(self, upstream: object = None) -> FloatArray:
        """Add to the gradients for the newest unmatched forward; return those of its inputs.

        `upstream` is the gradient with respect to the outputs, in their shape; None means ones.
        Raises OrderError without an unmatched forward, ShapeError for another shape.
        """
        if upstream is None:
            upstream = np.ones((self.newest_batch, self.outputs))
        batch, single = as_batch(upstream, self.outputs, f"backward of {self}", finite=False)
        self.check_backward(len(batch))
        result = as_array(self.backward_batch(batch.tolist()), self.bank.dtype)
        return result[0] if single else result

    # Unmatched forwards.

    @final
    @property
    def newest_batch(self) -> int:
        """Number of samples of the newest unmatched forward; raises OrderError if there is none."""
        if not self._batches:
            raise OrderError(f"backward of {self} without a forward: call forward first")
        return self._batches[-1]

    @final
    @property
    def unmatched(self) -> int:
        """Number of samples with unmatched forwards, here and in every part."""
        own = sum(self._batches)
        return min([own, *[part.unmatched for part in self.made_parts()]])

    @final
    def forward_batch(self, batch: Batch) -> Batch:
        """Do `forward` for a `batch` that has been checked."""
        result = self.forward_rows(batch)
        self._batches.append(len(batch))
        return result

    @final
    def backward_batch(self, upstream: Batch) -> Batch:
        """Do `backward` for an `upstream` gradient that has been checked."""
        self._batches.pop()
        return self.backward_rows(upstream)

    @final
    def check_backward(self, samples: int, uses: int = 1) -> None:
        """Raise OrderError or ShapeError if a backward does not fit the newest `uses` forwards.

        `samples` is the number of rows of its gradient.
        """
        waiting = self._batches[-uses:]
        if len(waiting) < uses or self.unmatched < sum(waiting):
            raise OrderError(f"backward of {self} without a forward: call forward first")
        if any(batch != samples for batch in waiting):
            raise ShapeError(
                f"{self} was last given {waiting[-1]} samples, and its backward {samples}: pass "
                "one row of upstream gradients for each sample"
            )

    @final
    def forget(self) -> None:
        """Drop all forwards that wait for their backward."""
        self._batches.clear()
        self.kept.clear()
        for part in self.made_parts():
            part.forget()
