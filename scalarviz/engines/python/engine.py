"""PythonEngine: runs the layer objects themselves; slow, readable, the reference for the others.

It calls the verbs of each layer, which calls those of its perceptrons, which call those of their
weights. A layer processes the whole batch before the next one does.
"""

from __future__ import annotations

from collections import Counter
from typing import final

from scalarviz.base.checks.numbers import FloatArray
from scalarviz.core.formulas.losses import Loss
from scalarviz.data.batches import Batches
from scalarviz.engines.common.base import Engine
from scalarviz.engines.python.run import PythonRun


@final
class PythonEngine(Engine):
    """Runs the layers of a network by their own methods."""

    name = "python"

    def forward(self, batch: FloatArray) -> FloatArray:
        rows = self.as_read(batch).tolist()
        for layer in self.layers:
            rows = layer.forward_batch(rows)
        return self.array(rows)

    def evaluate(self, batch: FloatArray) -> FloatArray:
        rows = self.as_read(batch).tolist()
        for layer in self.layers:
            rows = layer.evaluate_rows(rows)
        return self.array(rows)

    def newest_batch(self) -> int:
        return self.layers[-1].newest_batch

    def check_backward(self, samples: int) -> None:
        for layer, uses in Counter(self.layers).items():
            layer.check_backward(samples, uses)

    def backward(self, upstream: FloatArray) -> FloatArray:
        rows = upstream.tolist()
        for layer in reversed(self.layers):
            rows = layer.backward_batch(rows)
        return self.array(rows)

    def forget(self) -> None:
        for layer in self.layers:
            layer.forget()

    def run(self, batches: Batches, loss: Loss) -> PythonRun:
        return PythonRun(self, batches, loss)
