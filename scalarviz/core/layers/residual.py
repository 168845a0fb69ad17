"""Residual: adds the outputs of inner layers to their inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

from scalarviz.core.formulas.initializers import Init
from scalarviz.core.layers.base import Batch, Layer
from scalarviz.core.layers.chain import check_chain
from scalarviz.core.model.operations import Shape
from scalarviz.core.model.program import Program
from scalarviz.core.model.weight import Weight
from scalarviz.errors import InputError, ShapeError

MOST_DEPTH = 20  # of Residuals within each other; files rely on this bound


@final
class Residual(Layer):
    """y = x + f(x), where f is one layer or several.

    parts   the layers of f, as arguments, the first one first
    layers  the same as a list, instead

    Raises ShapeError unless f has as many outputs as inputs, InputError for unsuitable layers.

    >>> from scalarviz import Dense
    >>> layer = Residual(Dense(2, 4, "relu"), Dense(4, 2))
    >>> layer.bank.value[layer.layers[1].rows] = 0.0
    >>> layer([3, 4]).tolist()
    [3.0, 4.0]
    """

    def __init__(self, *parts: Layer, layers: Sequence[Layer] = ()) -> None:
        found = (*parts, *layers) if isinstance(layers, Sequence) else ()
        if not found or not all(isinstance(layer, Layer) for layer in found):
            raise InputError(
                "Residual is made of layers, at least one: write Residual(Dense(8, 8, 'relu'))"
            )
        if len(set(found)) < len(found):
            raise InputError("a layer is used twice in a Residual: make a second one")
        check_chain(found)
        first, last = found[0], found[-1]
        if first.inputs != last.outputs or unlike(first.input_shape, last.output_shape):
            given = last.output_shape or last.outputs
            taken = first.input_shape or first.inputs
            raise ShapeError(
                f"{last} gives {given} numbers, to be added to the {taken} that {first} takes: "
                "make the two equal"
            )
        if depth_of(found) > MOST_DEPTH:
            raise InputError(f"Residuals are nested more than {MOST_DEPTH} deep: nest fewer")
        for layer in found:
            layer.check_free()
        super().__init__(first.inputs, last.outputs)
        self.layers = found
        self.size = sum(layer.size for layer in self.layers)
        self.state_size = sum(layer.state_size for layer in self.layers)
        self.input_shape = first.input_shape
        self.output_shape = last.output_shape or first.input_shape

    def made_parts(self) -> Sequence[Layer]:
        return self.layers

    def initialize(self, init: Init, seed: int) -> None:
        row, state = self.first_row, self.first_state
        for layer in self.layers:
            layer.bind(self.bank, row, init, seed, state)
            row, state = row + layer.size, state + layer.state_size

    def row_name(self, row: int) -> str:
        layer, inner = self._at(row)
        return f"part {self.layers.index(layer)}, {layer.row_name(inner)}"

    def state_name(self, place: int) -> str:
        for i, layer in enumerate(self.layers):
            if place < layer.state_size:
                return f"part {i}, {layer.state_name(place)}"
            place -= layer.state_size
        raise IndexError(f"{self} keeps {self.state_size} numbers")

    def weight(self, row: int) -> Weight:
        self.bind_alone()  # the inner layers are on the same bank
        layer, inner = self._at(row)
        return layer.weight(inner)

    def settings(self) -> dict[str, Any]:
        return {"layers": [layer.again() for layer in self.layers]}

    def lower(self, program: Program) -> None:
        if self.input_shape:
            program.set_shape(self.input_shape)
        part, straight = program.part, program.branch()
        for i, layer in enumerate(self.layers):
            program.part = f"{part}.{i}"
            layer.lower(program)
        program.part = part
        program.add(
            "sum",
            size=straight.size,
            shape=straight.shape,
            sources=(program.outputs, straight),
        )

    def forward_rows(self, batch: Batch) -> Batch:
        rows = batch
        for layer in self.layers:
            rows = layer.forward_batch(rows)
        return added(batch, rows)

    def backward_rows(self, upstream: Batch) -> Batch:
        rows = upstream
        for layer in reversed(self.layers):
            rows = layer.backward_batch(rows)
        return added(upstream, rows)

    def evaluate_rows(self, batch: Batch) -> Batch:
        rows = batch
        for layer in self.layers:
            rows = layer.evaluate_rows(rows)
        return added(batch, rows)

    def _at(self, row: int) -> tuple[Layer, int]:
        """Return the inner layer of a row, and the row counted from the first of that layer."""
        for layer in self.layers:
            if row < layer.size:
                return layer, row
            row -= layer.size
        raise IndexError(f"{self} has {self.size} rows")


def depth_of(layers: Sequence[Layer]) -> int:
    """Return how deep layers are nested: 1 for layers without inner layers."""
    return max((1 + depth_of(layer.layers) for layer in layers), default=0)


def unlike(shape: Shape, other: Shape) -> bool:
    """Return whether both are shapes of pictures, and differ."""
    return bool(shape and other and shape != other)


def added(rows: Batch, others: Batch) -> Batch:
    """Return the sums, number by number."""
    return [[x + y for x, y in zip(*pair, strict=True)] for pair in zip(rows, others, strict=True)]
