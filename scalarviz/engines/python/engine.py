"""PythonEngine: runs the layer objects themselves; slow, readable, the reference for the others.

It calls the verbs of each layer, which calls those of its perceptrons, which call those of their
weights. A layer processes the whole batch before the next one does.
"""

from __future__ import annotations

import time
from collections import Counter
from importlib.util import find_spec
from typing import final

from scalarviz.base.checks import FloatArray
from scalarviz.base.messages import inform
from scalarviz.core.formulas.losses import Loss
from scalarviz.data.batches import Batches
from scalarviz.engines.common.base import Engine
from scalarviz.engines.python.run import PythonRun

PIECE = 8  # samples that are evaluated between two looks at the clock
PATIENCE = 2.0  # seconds after which it is said what is faster
_said = False


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
        """Return the outputs of a batch; say once what is faster if it takes long."""
        rows, found, start = self.as_read(batch).tolist(), [], time.monotonic()
        for first in range(0, len(rows), PIECE):
            part = rows[first : first + PIECE]
            for layer in self.layers:
                part = layer.evaluate_rows(part)
            found += part
            if time.monotonic() - start > PATIENCE and len(found) < len(rows):
                self._speak_of(len(rows), (time.monotonic() - start) / len(found))
        return self.array(found)

    def _speak_of(self, samples: int, each: float) -> None:
        """Log once that another engine is faster; `each` are the seconds of a sample."""
        global _said
        if not _said and find_spec("numba"):
            inform(
                f"{samples:,} samples take the engine python about {samples * each:,.0f} s: "
                "net.to('cpu') computes the same many times as fast"
            )
        _said = True

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
