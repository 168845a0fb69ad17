"""Flatten and Reshape, which change only the shape of numbers; checks of picture shapes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, final

import numpy as np

from scalarviz.base.checks import shorten, size
from scalarviz.core.layers.base import Batch, Layer
from scalarviz.core.model.operations import Shape
from scalarviz.core.model.program import Program
from scalarviz.errors import InputError, ShapeError

PictureShape = tuple[int, int, int]  # channels, height, width


def shape_of(shape: object, what: str) -> PictureShape:
    """Return the shape of a picture, (channels, height, width); raise ShapeError for another."""
    if not isinstance(shape, Sequence) or isinstance(shape, str) or len(shape) != 3:
        raise ShapeError(
            f"the shape of a picture for {what} is (channels, height, width), not {shorten(shape)}"
        )
    names = ("channels", "height", "width")
    channels, height, width = (size(x, name) for x, name in zip(shape, names, strict=True))
    return channels, height, width


def numbers_of(shape: object, what: str) -> tuple[Shape, int]:
    """Return picture shape and count of numbers, given either; the shape of a count is ()."""
    if isinstance(shape, Sequence) and not isinstance(shape, str):
        picture = shape_of(shape, what)
        return picture, prod(picture)
    return (), size(shape, what)


def padding_of(padding: object) -> int:
    """Return a padding; raise InputError unless it is an integer of at least 0."""
    if isinstance(padding, (int, np.integer)) and not isinstance(padding, bool) and padding >= 0:
        return int(padding)
    raise InputError(f"padding must be an integer of at least 0, not {shorten(padding)}")


class ReshapeLayer(Layer):
    """A layer that changes the shape of its numbers only.

    `inputs`, `outputs`, `activation` and `parameters` are as in Layer.
    """

    @final
    def lower(self, program: Program) -> None:
        if self.output_shape:  # without an output shape, the shape of the input still counts
            program.set_shape(self.output_shape)

    @final
    def forward_rows(self, batch: Batch) -> Batch:
        return batch

    @final
    def backward_rows(self, upstream: Batch) -> Batch:
        return upstream

    @final
    def evaluate_rows(self, batch: Batch) -> Batch:
        return batch


@final
class Flatten(ReshapeLayer):
    """Turn a picture into one row of numbers: channel by channel, line by line.

    shape  channels, height and width of the picture

    >>> Flatten((2, 1, 2))([1, 2, 3, 4]).tolist()
    [1.0, 2.0, 3.0, 4.0]
    """

    def __init__(self, shape: Sequence[int]) -> None:
        self.shape = shape_of(shape, "Flatten")
        super().__init__(prod(self.shape), prod(self.shape))
        self.input_shape = self.shape

    def settings(self) -> dict[str, Any]:
        return {"shape": list(self.shape)}


@final
class Reshape(ReshapeLayer):
    """Turn a row of numbers into a picture; the numbers stay the same.

    inputs  numbers of a sample, or the shape of a picture
    shape   channels, height and width of the result

    Raises ShapeError unless both have the same count of numbers.

    >>> Reshape(4, (1, 2, 2)).output_shape
    (1, 2, 2)
    """

    def __init__(self, inputs: int | Sequence[int], shape: Sequence[int]) -> None:
        picture, count = numbers_of(inputs, "the inputs of Reshape")
        self.shape = shape_of(shape, "Reshape")
        if prod(self.shape) != count:
            raise ShapeError(
                f"{count} numbers are no picture of {shorten(self.shape)}, which has "
                f"{prod(self.shape)}: make the two equal"
            )
        super().__init__(count, count)
        self.input_shape, self.output_shape = picture, self.shape

    def settings(self) -> dict[str, Any]:
        inputs = list(self.input_shape) if self.input_shape else self.inputs
        return {"inputs": inputs, "shape": list(self.shape)}
