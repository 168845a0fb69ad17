"""Residual: adds the outputs of inner layers to their inputs, or to a projection of these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

from scalarviz.base.checks import size
from scalarviz.core.layers.base import Layer
from scalarviz.core.layers.branches import Row, TwoBranches
from scalarviz.core.layers.chain import check_chain
from scalarviz.core.layers.nested import NestedLayer, check_layers, unlike
from scalarviz.core.model.operations import Shape
from scalarviz.errors import ShapeError

EXAMPLE = "layers, at least one: write Residual(Dense(8, 4), Dense(4, 8)), or layers= for a list"


@final
class Residual(TwoBranches):
    """y = x + f(x), where f is one layer or several; or y = skip(x) + f(x).

    parts   the layers of f, as arguments, the first one first
    layers  the same as a list, instead
    skip    a layer, or a list of layers in a row, that x goes through on its way past f, where f
            gives another number of numbers; by default none
    first   with `layers` only: how many of them are those of f, before those of skip; 0: all

    Raises ShapeError unless both ways give as many numbers, InputError for unsuitable layers.

    >>> from scalarviz import Dense
    >>> layer = Residual(Dense(2, 4, "relu"), Dense(4, 2))
    >>> layer.bank.value[layer.layers[1].rows] = 0.0
    >>> layer([3, 4]).tolist()
    [3.0, 4.0]
    >>> Residual(Dense(2, 4, "relu"), skip=Dense(2, 4, bias=False)).outputs
    4
    """

    _kind = "sum"

    def __init__(
        self,
        *parts: Layer,
        layers: Sequence[Layer] = (),
        skip: Layer | Sequence[Layer] = (),
        first: int = 0,
    ) -> None:
        around = tuple(skip) if isinstance(skip, Sequence) else (skip,)
        first = size(first, "first", 0)
        given = (*parts, *layers) if isinstance(layers, Sequence) else ()
        inside, around = (given[:first], given[first:]) if first else (given, around)
        check_layers(inside, "Residual", EXAMPLE)
        check_layers((*inside, *around), "Residual", EXAMPLE)
        for way in (inside, around):
            check_chain(way)
        begin, last = inside[0], inside[-1]
        end_size, end_shape = begin.inputs, begin.input_shape
        if around:
            end_size, end_shape = around[-1].outputs, around[-1].output_shape
            check_beginnings(begin, around[0])
        if end_size != last.outputs or unlike(end_shape, last.output_shape):
            raise ShapeError(
                f"{last} gives {last.output_shape or last.outputs} numbers, to be added to the "
                f"{end_shape or end_size} that "
                f"{f'{around[-1]} gives' if around else f'{begin} takes'}: make the two equal"
                + ("" if around else ", or pass skip=, layers that the inputs go through")
            )
        NestedLayer.__init__(self, (*inside, *around), begin.inputs, last.outputs)
        self._set(len(inside), begin.input_shape, last.output_shape or end_shape)

    def _joined_size(self, a: int, b: int) -> int | None:
        return a if a == b else None

    def joined_shape(self, a: Shape, b: Shape) -> Shape | None:
        return None if unlike(a, b) else a or b

    def _joined(self, a: Row, b: Row) -> Row:
        return [x + y for x, y in zip(b, a, strict=True)]

    def _split(self, upstream: Row, a: Row, b: Row) -> tuple[Row, Row]:
        return upstream, upstream

    def settings(self) -> dict[str, Any]:
        found = NestedLayer.settings(self)
        return found if self.first == len(self.layers) else found | {"first": self.first}


def check_beginnings(a: Layer, b: Layer) -> None:
    """Raise ShapeError unless two ways take the same numbers."""
    if a.inputs != b.inputs or unlike(a.input_shape, b.input_shape):
        raise ShapeError(
            f"the ways of a Residual take {a.input_shape or a.inputs} and "
            f"{b.input_shape or b.inputs} numbers: make them equal"
        )
