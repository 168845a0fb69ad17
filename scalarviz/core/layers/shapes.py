"""Shapes of layers: the size of a sample, given as a count or as the shape of a picture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from scalarviz.base.checks import require, shorten, size
from scalarviz.core.program import Shape
from scalarviz.errors import ShapeError

if TYPE_CHECKING:
    from scalarviz.core.layers.layer import Layer

KINDS = {
    1: ("sequence", "channels", "length"),
    2: ("picture", "channels", "height", "width"),
}
PictureShape = tuple[int, int, int]  # channels, height, width


def shape_of(shape: object, what: str, sides: int = 2) -> PictureShape:
    """Return the shape (channels, height, width) of a picture; raise ShapeError if invalid.

    Args:
        sides: 2 for a picture, 1 for a sequence (channels, length): a picture of height 1
    """
    kind, *names = KINDS[sides]
    if not isinstance(shape, Sequence) or isinstance(shape, str) or len(shape) != len(names):
        raise ShapeError(
            f"the shape of a {kind} for {what} is ({', '.join(names)}), not {shorten(shape)}"
        )
    channels, *rest = (size(x, name) for x, name in zip(shape, names, strict=True))
    return channels, rest[0] if sides > 1 else 1, rest[-1]


def numbers_of(shape: object, what: str) -> tuple[Shape, int]:
    """Return the picture shape, or () if `shape` is a number, and the count of numbers.

    A sequence, (channels, length), is a picture of height 1.
    """
    if isinstance(shape, Sequence) and not isinstance(shape, str):
        picture = shape_of(shape, what, 1 if len(shape) == 2 else 2)
        return picture, size(prod(picture), what)
    return (), size(shape, what)


def placed(shapes: Mapping[str, Shape], first: int = 0) -> Iterator[tuple[str, Shape, int]]:
    """Yield name, shape and first index of arrays stored one after the other."""
    for name, shape in shapes.items():
        yield name, shape, first
        first += prod(shape)


def groups_of(groups: object, seen: int, made: int) -> int:
    """Return the number of groups; raise ShapeError unless it divides `seen` and `made`."""
    found = size(groups, "groups")
    require(
        seen % found == made % found == 0,
        f"groups is {found}, which does not divide the number of channels of the picture, "
        f"{seen}, and of the result, {made}: choose a number that divides both",
        ShapeError,
    )
    return found


def layer_size(shape: Shape) -> Any:
    """Return the size of a sample as passed to a layer: the shape of a picture, or a number.

    A sequence, (channels, length), is a picture of height 1.
    """
    return (shape[0], *[1] * (3 - len(shape)), *shape[1:]) if len(shape) in (2, 3) else prod(shape)


def shape_behind(layer: Layer, shape: Shape) -> Shape:
    """Return the output shape of a layer for samples of `shape`; sequences remain sequences."""
    keeps = not layer.input_shape and prod(shape) == layer.outputs
    found = layer.output_shape or (shape if keeps else (layer.outputs,))
    return (found[0], found[2]) if len(shape) == 2 and len(found) == 3 else found


def shape_setting(layer: Layer) -> int | list[int]:
    """Return the shape of a layer's inputs in the form accepted by `numbers_of`, for settings."""
    return list(layer.input_shape) or layer.inputs
