"""Elementwise: a formula with parameters as a layer, and PReLU, the built-in one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, final

from scalarviz.base.checks import shorten, size
from scalarviz.core.formulas.initializers import Init
from scalarviz.core.formulas.parametric import PARAMETRIC_FORMULAS, ParametricFormula
from scalarviz.core.formulas.table import pick
from scalarviz.core.layers.base import Batch, Layer
from scalarviz.core.layers.shapes import numbers_of
from scalarviz.core.model.program import Program
from scalarviz.errors import InputError


class Elementwise(Layer):
    """Apply a formula with parameters to each number: y = f(x, w, ...).

    shape       number of features, or the shape (channels, height, width) of a picture
    formula     name of a row of core/formulas/parametric.py; `sv.layer` adds one of your own
    parameters  how many numbers each parameter has, by its name, such as {"slope": 8}; they are
                shared by equal parts of the features, so 1 is for all of them, and the number of
                channels for one each. None, the default, and parameters left out: 1

    Raises UnknownNameError for an unknown formula, InputError for parameters that it does not have,
    or that do not divide the features.

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
        super().__init__(count, count, parameters=shapes)
        self.formula, self.counts = row, counts
        self.input_shape = self.output_shape = picture

    @final
    def initialize(self, init: Init, seed: int) -> None:
        row = self.first_row
        for (_, start), count in zip(self.formula.starts, self.counts, strict=True):
            self.bank.value[row : row + count] = start
            row += count

    def settings(self) -> dict[str, Any]:
        counts = dict(zip(self.formula.parameters, self.counts, strict=True))
        return {"shape": self._shape, "formula": self.formula.name, "parameters": counts}

    @final
    def again(self) -> Layer:
        self.formula.check_is_current()
        return super().again()

    @property
    def _shape(self) -> int | list[int]:
        return list(self.input_shape) or self.inputs

    @final
    def lower(self, program: Program) -> None:
        if self.input_shape:
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
        """Return, for each number, the rows of its parameters and what they are."""
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
        return self.evaluate_rows(batch)

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
        gradients.reverse()
        return gradients

    @final
    def evaluate_rows(self, batch: Batch) -> Batch:
        value, given = self.formula.value, [known for _, known in self._given()]
        return [[value(x, *known) for x, known in zip(row, given, strict=True)] for row in batch]


def counts_of(row: ParametricFormula, features: int, parameters: object) -> tuple[int, ...]:
    """Return how many numbers each parameter of a formula has; raise InputError."""
    names, given = row.parameters, {} if parameters is None else parameters
    if not isinstance(given, Mapping) or not given.keys() <= set(names):
        raise InputError(
            f"the parameters of {row.name} are {', '.join(names)}, not {shorten(parameters)}: give "
            "how many numbers each has, as in {'" + names[0] + "': 1}"
        )
    counts = tuple([size(given.get(key, 1), f"the numbers of {key}") for key in names])
    for key, count in zip(names, counts, strict=True):
        if features % count:
            raise InputError(
                f"{features} numbers cannot share {count} of {key} evenly: give 1, {features}, or "
                f"another number that divides {features}"
            )
    return counts


@final
class PReLU(Elementwise):
    """Keep what is above 0, and multiply what is below by a slope that is trained.

    shape   number of features, or the shape (channels, height, width) of a picture
    slopes  number of slopes, at first 0.25: 1, the default, for all features, or the number of
            channels, or of features, for one each

    >>> PReLU(2)([-1, 1]).tolist()
    [-0.25, 1.0]
    """

    def __init__(self, shape: int | Sequence[int], slopes: int = 1) -> None:
        super().__init__(shape, "prelu", {"weight": slopes})

    def settings(self) -> dict[str, Any]:
        return {"shape": self._shape, "slopes": self.counts[0]}
