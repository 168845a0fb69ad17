"""Dropout: sets random numbers to 0 in training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np

from scalarviz.base.checks import FloatArray, number
from scalarviz.core.formulas.initializers import Init
from scalarviz.core.formulas.randomness import MASK, drop_word
from scalarviz.core.layers.base import Batch, Layer
from scalarviz.core.layers.shapes import numbers_of
from scalarviz.core.model.operations import Shape
from scalarviz.core.model.program import Program
from scalarviz.errors import InputError


@final
class Dropout(Layer):
    """Set each number to 0 with probability `rate` in training, else divide it by 1 - rate.

    The choice is determined by the network's seed, the number of steps taken, the index of the
    sample in its batch and of the number in its sample. Calling the layer changes nothing.

    shape  number of features, or the shape (channels, height, width) of a picture
    rate   probability, from 0 to below 1; by default 0.5

    >>> layer = Dropout(8, 0.5)
    >>> sorted(set(layer.forward([1] * 8).tolist())), layer([1] * 8).tolist()[0]
    ([0.0, 2.0], 1.0)
    """

    def __init__(self, shape: int | Sequence[int], rate: float = 0.5) -> None:
        picture, count = numbers_of(shape, "the numbers of Dropout")
        super().__init__(count, count)
        self.rate = number(rate, "the rate of Dropout", 0.0, 1.0, open_high=True)
        self.state_size = 2  # low and high half of the seed
        self.input_shape = self.output_shape = picture

    def initialize(self, init: Init, seed: int) -> None:
        self.state[:] = seed & MASK, seed >> 32

    def state_shapes(self) -> dict[str, Shape]:
        return {}  # a seed, which PyTorch does not keep with a layer

    def check_states(self, states: FloatArray) -> None:
        super().check_states(states)
        halves = self.own_states(states)
        if not ((halves == np.floor(halves)) & (halves >= 0) & (halves <= MASK)).all():
            raise InputError(f"the seed of {self} must be two integers from 0 to 2**32 - 1")

    def settings(self) -> dict[str, Any]:
        shape = list(self.input_shape) if self.input_shape else self.inputs
        return {"shape": shape, "rate": self.rate}

    def lower(self, program: Program) -> None:
        if self.input_shape:
            program.set_shape(self.input_shape)
        program.add(
            "dropout",
            size=self.outputs,
            settings=(self.rate,),
            shape=self.output_shape,
            state=self.first_state,
        )

    def forward_rows(self, batch: Batch) -> Batch:
        low, high = map(int, self.state)
        factors = [
            dropout_factors(
                self.inputs, self.rate, sample, self.bank.step_count, self.first_state, low, high
            )
            for sample in range(len(batch))
        ]
        self.kept.extend(factors)
        return times(batch, factors)

    def backward_rows(self, upstream: Batch) -> Batch:
        factors = [self.kept.pop() for _ in upstream]
        factors.reverse()
        return times(upstream, factors)

    def evaluate_rows(self, batch: Batch) -> Batch:
        return batch


def dropout_factors(
    count: int, rate: float, sample: int, step: int, place: int, low: int, high: int
) -> list[float]:
    """Return the factor of each number of a sample; `place` is that of the layer's state."""
    words = [drop_word(number, sample, step, place, low, high) for number in range(count)]
    return [0.0 if word < rate else 1.0 / (1.0 - rate) for word in words]


def times(rows: Batch, factors: Batch) -> Batch:
    """Return each number times its factor."""
    return [
        [x * factor for x, factor in zip(*pair, strict=True)]
        for pair in zip(rows, factors, strict=True)
    ]
