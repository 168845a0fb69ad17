"""Residual: adds the outputs of inner layers to their inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from scalarviz.core.layers.base import Batch, Layer
from scalarviz.core.layers.chain import check_chain
from scalarviz.core.layers.nested import (
    NestedLayer,
    added,
    backward_through,
    check_layers,
    evaluate_through,
    forward_through,
    unlike,
)
from scalarviz.core.model.program import Program
from scalarviz.errors import ShapeError


@final
class Residual(NestedLayer):
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
        check_layers(found, "Residual", "layers, at least one: write Residual(Dense(8, 8, 'relu'))")
        check_chain(found)
        first, last = found[0], found[-1]
        if first.inputs != last.outputs or unlike(first.input_shape, last.output_shape):
            given = last.output_shape or last.outputs
            taken = first.input_shape or first.inputs
            raise ShapeError(
                f"{last} gives {given} numbers, to be added to the {taken} that {first} takes: "
                "make the two equal"
            )
        super().__init__(found, first.inputs, last.outputs)
        self.input_shape = first.input_shape
        self.output_shape = last.output_shape or first.input_shape

    def lower(self, program: Program) -> None:
        straight = program.branch(self.input_shape)
        self.lower_parts(program)
        shape, sources = straight.shape, (program.outputs, straight)
        program.add("sum", size=self.outputs, shape=shape, sources=sources)

    def forward_rows(self, batch: Batch) -> Batch:
        return added(batch, forward_through(self.layers, batch))

    def backward_rows(self, upstream: Batch) -> Batch:
        return added(upstream, backward_through(self.layers, upstream))

    def evaluate_rows(self, batch: Batch) -> Batch:
        return added(batch, evaluate_through(self.layers, batch))
