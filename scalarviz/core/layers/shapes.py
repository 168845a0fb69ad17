"""Shapes of layers: the numbers of a sample, given as a count or as the shape of a picture."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from scalarviz.base.checks import shorten, size
from scalarviz.core.program import Shape
from scalarviz.errors import ShapeError

if TYPE_CHECKING:
    from scalarviz.core.layers.layer import Layer

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
        return picture, size(prod(picture), what)
    return (), size(shape, what)


def layer_size(shape: Shape) -> Any:
    """Return what a layer is given as the size of a sample: a picture's shape, else a number."""
    return shape if len(shape) == 3 else prod(shape)


def shape_setting(layer: Layer) -> int | list[int]:
    """Return the shape of a layer's inputs as `numbers_of` takes it, for settings."""
    return list(layer.input_shape) or layer.inputs
