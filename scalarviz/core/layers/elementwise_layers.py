"""Elementwise layers: Activation, Elementwise, PReLU and Dropout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, final

import numpy as np

from scalarviz.base.checks import FloatArray, number, require, shorten, size
from scalarviz.core.formulas.activations import activation_row
from scalarviz.core.formulas.formula import pick
from scalarviz.core.formulas.initializers import Init
from scalarviz.core.formulas.layer_formulas import PARAMETRIC_FORMULAS, ParametricFormula
from scalarviz.core.formulas.randomness import MASK, drop_word
from scalarviz.core.layers.layer import Batch, Layer
from scalarviz.core.layers.parameters import own_states
from scalarviz.core.layers.shapes import numbers_of, placed, shape_setting
from scalarviz.core.program import Program, Shape
from scalarviz.errors import InputError


@final
class Activation(Layer):
    """Apply an activation to each number: y = f(x). No parameters.

    Args:
        shape: number of features, or the shape (channels, height, width) of a picture
        activation: name of a row of core/formulas/activations.py, such as "relu"

    Dense and Conv2d have an `activation` argument. Raises UnknownNameError for an unknown name.

    >>> Activation(3, "relu")([-1, 0, 2]).tolist()
    [0.0, 0.0, 2.0]
    """

    def __init__(self, shape: int | Sequence[int], activation: str) -> None:
        self.formula = activation_row(activation)
        super().__init__(shape, shape, self.formula.name)

    def check_activation(self, name: str) -> None:
        activation_row(name)

    def set_activation(self, name: str) -> None:
        self.formula = activation_row(name)
        self._activation = self.formula.name

    def settings(self) -> dict[str, Any]:
        return {"shape": shape_setting(self), "activation": self.activation}

    def lower(self, program: Program) -> None:
        program.set_shape(self.input_shape)
        if self.activation != "linear":
            program.add("activation", self.activation, size=self.outputs, shape=self.output_shape)

    def forward_rows(self, batch: Batch) -> Batch:
        value = self.formula.value
        rows = [[value(x) for x in row] for row in batch]
        self.kept.extend(zip(batch, rows, strict=True))
        return rows

    def backward_rows(self, upstream: Batch) -> Batch:
        slope = self.formula.derivative
        return [
            [g * slope(x, y) for g, x, y in zip(sample, *self.kept.pop(), strict=True)]
            for sample in reversed(upstream)
        ][::-1]


class Elementwise(Layer):
    """Apply a formula with parameters to each number: y = f(x, w, ...).

    Args:
        shape: number of features, or the shape (channels, height, width) of a picture
        formula: name of a row of core/formulas/layer_formulas.py; `sv.layer` adds custom rows
        parameters: size of each parameter by name, such as {"slope": 8}. A parameter of size n
            splits the features into n equal parts with one number each: 1 for a common number, the
            number of channels for one per channel. Missing parameters, and all for None (default),
            have size 1

    Raises:
        UnknownNameError: if the formula is unknown.
        InputError: if a parameter is unknown, or its size does not divide the number of features.

    >>> Elementwise(3, "prelu")([-1, 0, 2]).tolist()
    [-0.25, 0.0, 2.0]
    """

    def __init__(
        self,
        shape: int | Sequence[int],
        formula: str,
        parameters: Mapping[str, int] | None = None,
    ) -> None:
        picture, count = numbers_of(shape, f"the numbers of {type(self).__name__}")
        row: ParametricFormula = pick(PARAMETRIC_FORMULAS, formula, "formula")
        counts = counts_of(row, count, parameters)
        shapes = {key: (each,) for key, each in zip(row.parameters, counts, strict=True)}
        super().__init__(picture or count, picture or count, parameters=shapes)
        self.formula, self.counts = row, counts

    @final
    def initialize(self, init: Init, seed: int) -> None:
        arrays = placed(self._shapes, self.first_row)
        for (_, start), (_, shape, row) in zip(self.formula.starts, arrays, strict=True):
            self.bank.value[row : row + prod(shape)] = start

    def settings(self) -> dict[str, Any]:
        counts = dict(zip(self.formula.parameters, self.counts, strict=True))
        return {"shape": shape_setting(self), "formula": self.formula.name, "parameters": counts}

    @final
    def again(self) -> Layer:
        self.formula.check_is_current()
        return super().again()

    @final
    def lower(self, program: Program) -> None:
        program.set_shape(self.input_shape)
        program.add(
            "parametric",
            self.formula.name,
            size=self.outputs,
            weights=self.first_row,
            settings=tuple([float(self.inputs // count) for count in self.counts]),
            shape=self.output_shape,
        )

    def _given(self) -> list[tuple[list[int], list[float]]]:
        """Return, for each feature, the rows and values of its parameters."""
        found, value = [], self.bank.value
        for i in range(self.inputs):
            rows, first = [], self.first_row
            for count in self.counts:
                rows.append(first + i * count // self.inputs)
                first += count
            found.append((rows, [float(value[row]) for row in rows]))
        return found

    @final
    def forward_rows(self, batch: Batch) -> Batch:
        self.kept.extend(batch)
        value, given = self.formula.value, [known for _, known in self._given()]
        return [[value(x, *known) for x, known in zip(row, given, strict=True)] for row in batch]

    @final
    def backward_rows(self, upstream: Batch) -> Batch:
        given, grad, gradients = self._given(), self.bank.grad, []
        slope, by_parameter = self.formula.derivative, self.formula.by_parameter
        for sample in reversed(upstream):
            x, gradient = self.kept.pop(), []
            for g, each, (rows, known) in zip(sample, x, given, strict=True):
                gradient.append(g * slope(each, *known))
                for place, row in enumerate(rows):
                    grad[row] += g * by_parameter(place, each, *known)
            gradients.append(gradient)
        self.bank.has_gradients = True
        return gradients[::-1]


def counts_of(row: ParametricFormula, features: int, parameters: object) -> tuple[int, ...]:
    """Return the size of each parameter of a formula; raise InputError if a size is invalid."""
    names, given = row.parameters, {} if parameters is None else parameters
    if not isinstance(given, Mapping) or not given.keys() <= set(names):
        raise InputError(
            f"the parameters of {row.name} are {', '.join(names)}, not {shorten(parameters)}: "
            "give the number of values of each, as in {'" + names[0] + "': 1}"
        )
    counts = tuple([size(given.get(key, 1), f"the numbers of {key}") for key in names])
    for key, count in zip(names, counts, strict=True):
        require(
            features % count == 0,
            f"{features} numbers cannot share {count} of {key} evenly: give 1, {features}, or "
            f"another number that divides {features}",
        )
    return counts


@final
class PReLU(Elementwise):
    """Parametric ReLU: x if it is positive, otherwise x times a trainable slope.

    Args:
        shape: number of features, or the shape (channels, height, width) of a picture
        slopes: number of slopes, which are initially 0.25: 1 (default) for a common slope, the
            number of channels for one per channel, or the number of features for one per feature

    >>> PReLU(2)([-1, 1]).tolist()
    [-0.25, 1.0]
    """

    def __init__(self, shape: int | Sequence[int], slopes: int = 1) -> None:
        super().__init__(shape, "prelu", {"weight": slopes})

    def settings(self) -> dict[str, Any]:
        return {"shape": shape_setting(self), "slopes": self.counts[0]}


@final
class Dropout(Layer):
    """In training, set each number to 0 with probability `rate`, otherwise divide it by 1 - rate.

    The choice is determined by the seed of the network, the number of steps taken, the index of the
    sample in its batch, and the index of the number in its sample. Calling the layer returns its
    input unchanged.

    Args:
        shape: number of features, or the shape (channels, height, width) of a picture
        rate: probability, at least 0 and below 1; by default 0.5

    >>> layer = Dropout(8, 0.5)
    >>> sorted(set(layer.forward([1] * 8).tolist())), layer([1] * 8).tolist()[0]
    ([0.0, 2.0], 1.0)
    """

    def __init__(self, shape: int | Sequence[int], rate: float = 0.5) -> None:
        super().__init__(shape, shape)
        self.rate = number(rate, "the rate of Dropout", 0.0, 1.0, open_high=True)
        self.state_size = 2  # low and high half of the seed

    def initialize(self, init: Init, seed: int) -> None:
        self.state[:] = seed & MASK, seed >> 32

    def state_shapes(self) -> dict[str, Shape]:
        return {}  # the seed, which PyTorch does not store in a layer

    def check_states(self, states: FloatArray) -> None:
        super().check_states(states)
        halves = own_states(self, states)
        require(
            ((halves == np.floor(halves)) & (halves >= 0) & (halves <= MASK)).all(),
            f"the seed of {self} must be two integers from 0 to 2**32 - 1",
        )

    def settings(self) -> dict[str, Any]:
        return {"shape": shape_setting(self), "rate": self.rate}

    def lower(self, program: Program) -> None:
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
        return times(upstream, [self.kept.pop() for _ in upstream][::-1])

    def evaluate_rows(self, batch: Batch) -> Batch:
        return batch


def dropout_factors(
    count: int, rate: float, sample: int, step: int, place: int, low: int, high: int
) -> list[float]:
    """Return the factor of each number of a sample; `place` is the index of the layer's state."""
    words = [drop_word(number, sample, step, place, low, high) for number in range(count)]
    return [0.0 if word < rate else 1.0 / (1.0 - rate) for word in words]


def times(rows: Batch, factors: Batch) -> Batch:
    """Return the elementwise product of rows and factors."""
    return [
        [x * factor for x, factor in zip(*pair, strict=True)]
        for pair in zip(rows, factors, strict=True)
    ]
