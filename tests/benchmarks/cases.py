"""The networks of `batched_step`, and how they are trained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Case:
    """A network and how it is trained, by mean squared error."""

    sizes: Sequence[int]
    activation: str
    output: str
    optimizer: str
    rate: float
    batches: Sequence[int]

    def multiplications(self, batch: int) -> int:
        """Additions and multiplications of the matrix products of one step."""
        products = [a * b for a, b in zip(self.sizes, self.sizes[1:], strict=False)]
        return 2 * batch * (3 * sum(products) - products[0])  # no gradient by the first inputs

    def samples(self, batch: int) -> tuple[Any, Any]:
        """Random inputs and targets in float32."""
        rng = np.random.default_rng(0)
        inputs = rng.random((batch, self.sizes[0]), dtype=np.float32)
        return inputs, rng.random((batch, self.sizes[-1]), dtype=np.float32)


SMALL = [3, 16, 16, 3]
TEXTURE = [12, 64, 64, 64, 64, 3]
CASES = {
    "3-16-16-3": Case(SMALL, "relu", "linear", "SGD", 0.1, (1, 32, 1024)),
    "3-16-16-3 tanh": Case(SMALL, "tanh", "linear", "SGD", 0.1, (1, 32, 1024)),
    "12-64x4-3": Case(TEXTURE, "leaky_relu", "sigmoid", "Adam", 1e-3, (1024,)),
    "12-64x4-3 tanh": Case(TEXTURE, "tanh", "sigmoid", "Adam", 1e-3, (1024,)),
}


def steps_a_call(batch: int) -> int:
    """Enough that the call itself does not count."""
    return max(1, 4096 // batch)
