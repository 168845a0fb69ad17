"""Custom layers: checks of results, parameters, and defaults for methods that are not defined."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from scalarviz.base.checks import as_floats, require, shorten, size
from scalarviz.core.formulas.initializers import Init
from scalarviz.core.layers.shapes import placed
from scalarviz.core.program import NONE, Program, Shape
from scalarviz.errors import InputError, ShapeError

if TYPE_CHECKING:
    from scalarviz.core.layers.layer import Batch, Layer

OWN: dict[str, Any] = {}  # custom classes by name, the latest of each name, for files
COLUMNS = {"forward_rows": "outputs", "evaluate_rows": "outputs", "backward_rows": "inputs"}


def adopt(kind: type) -> None:
    """Check the results of a custom class's methods, and register it by name for files."""
    for name in COLUMNS.keys() & vars(kind).keys():
        setattr(kind, name, checked(vars(kind)[name], name))
    OWN[kind.__name__] = kind


def checked(method: Callable[[Any, Any], object], name: str) -> Callable[[Layer, Batch], Batch]:
    """Wrap a method so that its result must be rows of floats, one for each row of its argument."""

    @wraps(method)
    def call(self: Layer, rows: Batch) -> Batch:
        lent = self._has_lent
        found, shape = method(self, rows), (len(rows), getattr(self, COLUMNS[name]))
        self._has_lent = lent  # its arrays were private
        try:
            array = as_floats(found, name)
            given = f"an array of shape {array.shape}" if array.ndim else shorten(found)
        except InputError:
            array, given = np.empty(0), shorten(found)
        if array.shape != shape:
            raise ShapeError(
                f"{name} of {self} returned {given}: return numbers of shape {shape}, a row for "
                "each sample"
            )
        rows = array.tolist()
        return rows

    return call


def shapes_of(parameters: object, owner: str) -> dict[str, Shape]:
    """Return the shapes of arrays by name; raise InputError for an invalid shape."""
    pairs: list[Any] = [*parameters.items()] if isinstance(parameters, Mapping) else [(None, None)]
    for name, shape in pairs:
        if not (isinstance(name, str) and name.isidentifier() and isinstance(shape, Sequence)):
            raise InputError(
                f"parameters of {owner} are shapes by name, such as {{'weight': (8, 3)}}, not "
                f"{shorten(parameters)}"
            )
    return {
        name: tuple([size(n, f"each number in the shape of {name!r}") for n in shape])
        for name, shape in pairs
    }


def draw_arrays(layer: Layer, init: Init, seed: int, fans: tuple[int, int]) -> None:
    """Write the initial values of a layer's arrays; "bias" gets the values for biases.

    Args:
        fans: fan-in and fan-out
    """
    for name, shape, row in placed(layer._shapes, layer.first_row):
        part = layer.bank.value[row : row + prod(shape)]
        init.fill(part, init.bias if name == "bias" else init.weight, fans, seed, row, shape)


def name_by_shape(layer: Layer, row: int) -> str:
    """Return the name of a parameter, such as "slope 2", from the shapes of the arrays."""
    for name, shape, first in placed(layer.parameter_shapes()):
        if first <= row < first + prod(shape):
            places = ", ".join(map(str, np.unravel_index(row - first, shape)))
            return f"{name} {places}" if prod(shape) > 1 else name
    raise IndexError(f"{layer} has no parameters")


def lower_as_python(layer: Layer, program: Program) -> None:
    """Append an operation that runs the Python code of a layer without a `lower` method.

    If the parameters are an (outputs, inputs) matrix, with or without biases, pictures draw the
    layer like Dense.
    """
    require(
        not layer.state_size,
        f"{layer} keeps state between batches, but does not define its operations: define "
        "lower(self, program)",
    )
    program.set_shape(layer.input_shape)
    shapes, wall = [*layer.parameter_shapes().values()], (layer.outputs, layer.inputs)
    is_wall = shapes[:1] == [wall] and shapes[1:] in ([], [wall[:1]])
    program.add(
        "own",
        type(layer).__name__,
        size=layer.outputs,
        weights=layer.first_row if layer.size else NONE,
        biases=layer.first_row + prod(wall) if is_wall and shapes[1:] else NONE,
        settings=tuple(map(float, wall if is_wall else (layer.size,))),
        shape=layer.output_shape,
        own=layer,
    )


def evaluated(layer: Layer, batch: Batch) -> Batch:
    """Return the outputs, computed by a temporary copy so that other threads can use the layer."""
    if layer.layers:
        raise InputError(f"{layer} contains layers with state: define evaluate_rows")
    other = object.__new__(type(layer))
    vars(other).update(vars(layer), kept=[])
    return other.forward_rows(batch)
