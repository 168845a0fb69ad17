"""Model: the base of Network and Expression: the four verbs, an engine and a Program."""

from __future__ import annotations

from typing import final

from scalarviz.base.checks import FloatArray, as_batch
from scalarviz.base.messages import caution
from scalarviz.core.formulas.losses import JUDGED
from scalarviz.errors import lost_by_forward
from scalarviz.training.network.on_engine import ModelOnEngine


class Model(ModelOnEngine):
    """A model that a session can train: a Network, or a compiled Expression.

    inputs, outputs  size of a sample
    layers           in order; empty for an Expression, which is the code of a function
    """

    # zero_grad and step are inherited from Part.

    @final
    def __call__(self, x: object) -> FloatArray:
        """Return the outputs for `x`, without keeping anything for `backward`.

        `x` has shape (inputs,), (batch, inputs), or (batch, *input_shape) for pictures.
        """
        batch, single = as_batch(x, self.inputs, self.CALLED, copy=False, picture=self.input_shape)
        return one_or_all(self._engine.evaluate(batch), single)

    @final
    def forward(self, x: object) -> FloatArray:
        """Return the outputs for `x`, and keep what `backward` needs.

        `x` is as in a call; the result has shape (outputs,) or (batch, outputs).
        Raises ShapeError for another shape and NotFiniteError for NaN or infinity.
        """
        batch, single = as_batch(x, self.inputs, self.CALLED, picture=self.input_shape)
        before = self._bank.state.copy()
        outputs = self._engine.forward(batch)
        if lost := self._engine.lost_statistic():
            self._bank.state[:] = before
            self._engine.forget()
            raise lost_by_forward(lost)
        result = one_or_all(outputs, single)
        self._waiting.append((result, single))
        return result

    @final
    def backward(self, upstream: object = None) -> FloatArray:
        """Add to the gradients for the newest unmatched forward; return those of its inputs.

        `upstream` is the gradient with respect to the outputs, in their shape; None means ones.
        Raises OrderError without an unmatched forward, ShapeError for another shape.
        """
        if upstream is None:
            if any(JUDGED.get(id(each)) is each for each, _ in self._waiting[-1:]):
                caution(
                    "backward took ones, the gradient of the sum of the outputs, and not that of "
                    "the loss: write net.backward(loss.backward()), after loss.forward"
                )
            batch, single = self._ones()
        else:
            who = f"backward of {self.CALLED}"
            batch, single = as_batch(upstream, self.outputs, who, finite=False)
        self._engine.check_backward(len(batch))
        by_inputs = self._engine.backward(batch)
        del self._waiting[-1:]
        return one_or_all(by_inputs, single)


def one_or_all(rows: FloatArray, single: bool) -> FloatArray:
    """Return the only row for a single sample, else all rows."""
    result: FloatArray = rows[0] if single else rows
    return result
