"""NestedLayer: a layer that is made of layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

from scalarviz.core.formulas.initializers import Init
from scalarviz.core.layers.base import Batch, Layer
from scalarviz.core.model.operations import Shape
from scalarviz.core.model.program import Program
from scalarviz.core.model.weight import Weight
from scalarviz.errors import InputError

MOST_DEPTH = 20  # of layers within each other; files rely on this bound


class NestedLayer(Layer):
    """A layer whose parameters and state are those of inner layers, one after the other.

    found            the inner layers
    inputs, outputs  numbers of its inputs and outputs

    Raises InputError for layers that are nested too deep.
    """

    def __init__(self, found: tuple[Layer, ...], inputs: int, outputs: int) -> None:
        if depth_of(found) > MOST_DEPTH:
            name = type(self).__name__
            raise InputError(f"{name}s are nested more than {MOST_DEPTH} deep: nest fewer")
        for layer in found:
            layer.check_free()
        super().__init__(inputs, outputs)
        self.layers = found
        self.size = sum(layer.size for layer in self.layers)
        self.state_size = sum(layer.state_size for layer in self.layers)

    def made_parts(self) -> Sequence[Layer]:
        return self.layers

    def initialize(self, init: Init, seed: int) -> None:
        row, state = self.first_row, self.first_state
        for layer in self.layers:
            if layer.is_on(self.bank):  # drawn again for another seed
                layer.initialize(init, seed)
            else:
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

    @final
    def lower_parts(self, program: Program, low: int = 0, high: int | None = None) -> None:
        """Append to a `program` the operations of layers `low` to before `high`, or of all."""
        part = program.part
        for i in range(low, len(self.layers) if high is None else high):
            program.part = f"{part}.{i}"
            self.layers[i].lower(program)
        program.part = part

    @final
    def _at(self, row: int) -> tuple[Layer, int]:
        """Return the inner layer of a row, and the row counted from the first of that layer."""
        for layer in self.layers:
            if row < layer.size:
                return layer, row
            row -= layer.size
        raise IndexError(f"{self} has {self.size} rows")


def check_layers(found: Sequence[Layer], kind: str, example: str) -> None:
    """Raise InputError unless these are layers, at least one, and each once."""
    if not found or not all(isinstance(layer, Layer) for layer in found):
        raise InputError(f"{kind} is made of {example}")
    if len(set(found)) < len(found):
        raise InputError(f"a layer is used twice in a {kind}: make a second one")


def depth_of(layers: Sequence[Layer]) -> int:
    """Return how deep layers are nested: 1 for layers without inner layers."""
    return max((1 + depth_of(layer.layers) for layer in layers), default=0)


def unlike(shape: Shape, other: Shape) -> bool:
    """Return whether both are shapes of pictures, and differ."""
    return bool(shape and other and shape != other)


def forward_through(layers: Sequence[Layer], batch: Batch) -> Batch:
    """Return the outputs of layers in a row, which keep what backward needs."""
    for layer in layers:
        batch = layer.forward_batch(batch)
    return batch


def backward_through(layers: Sequence[Layer], upstream: Batch) -> Batch:
    """Return the gradient of the inputs of layers in a row."""
    for layer in reversed(layers):
        upstream = layer.backward_batch(upstream)
    return upstream


def evaluate_through(layers: Sequence[Layer], batch: Batch) -> Batch:
    """Return the outputs of layers in a row, which keep nothing."""
    for layer in layers:
        batch = layer.evaluate_rows(batch)
    return batch


def added(rows: Batch, others: Batch) -> Batch:
    """Return the sums, number by number."""
    return [[x + y for x, y in zip(*pair, strict=True)] for pair in zip(rows, others, strict=True)]
