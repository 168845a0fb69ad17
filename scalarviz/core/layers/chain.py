"""as_layers: the layers of a network from a list of sizes or of layers, checked to fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from scalarviz.base.checks import shorten, size
from scalarviz.core.formulas.families import activation_row
from scalarviz.core.layers.base import Layer
from scalarviz.core.layers.dense import Dense
from scalarviz.errors import InputError, ShapeError


def as_layers(
    layers: Sequence[int | Layer], activation: str | None, output: str | None
) -> tuple[Layer, ...]:
    """Return the layers of a network that is given by sizes, by layers, or a layer and then both.

    Raises InputError for anything else, ShapeError for layers that do not fit each other.
    """
    if isinstance(layers, (str, bytes)) or not isinstance(layers, Sequence) or not layers:
        raise InputError(
            f"a network is made of a list of sizes or a list of layers, not {shorten(layers)}: "
            "write Network([3, 8, 3]) or Network([Dense(3, 8), Dense(8, 3)])"
        )
    if all(isinstance(layer, Layer) for layer in layers):
        if activation is not None or output is not None:
            raise InputError(
                "activation= and output= go with a list of sizes: give each layer its own "
                "activation, such as Dense(3, 8, 'tanh')"
            )
        return check_chain(tuple(layer for layer in layers if isinstance(layer, Layer)))
    first = layers[0]
    leads = isinstance(first, Layer)  # then sizes after it are Dense layers
    if not leads and any(isinstance(layer, Layer) for layer in layers):
        raise InputError(
            "a network of layers and sizes begins with a layer, which tells the number of inputs: "
            "write Network([Affine(3), 8, 3]) or Network([Dense(3, 8), Dense(8, 3)])"
        )
    sizes = [size(n, "each size of a network") for n in layers if not isinstance(n, Layer)]
    if len(sizes) + leads < 2:
        raise InputError(f"a network needs at least two sizes, inputs and outputs, not {sizes}")
    inner, last = ("linear" if name is None else name for name in (activation, output))
    for name in (inner, last):
        activation_row(name)
    names = iter([inner] * (len(sizes) - 2 + leads) + [last])
    made = [first] if isinstance(first, Layer) else []
    for each in layers[1:]:
        width = made[-1].outputs if made else sizes[0]
        made.append(each if isinstance(each, Layer) else Dense(width, int(each), next(names)))
    return check_chain(tuple(made))


def check_chain(layers: tuple[Layer, ...]) -> tuple[Layer, ...]:
    """Return the layers; raise an error if they do not fit, or if one is in two places."""
    check_parts(layers)
    for i, (layer, after) in enumerate(pairwise(layers)):
        if layer.outputs != after.inputs:
            raise ShapeError(
                f"layer {i}, {layer}, gives {layer.outputs} numbers, but layer {i + 1}, {after}, "
                f"takes {after.inputs}: make the two equal"
            )
        made, taken = layer.output_shape, after.input_shape
        if made and taken and made != taken:
            raise ShapeError(
                f"layer {i}, {layer}, gives a picture of {made}, but layer {i + 1}, {after}, takes "
                f"one of {taken}: make the two equal, or put Reshape({made}, {taken}) between them"
            )
    return layers


def check_parts(layers: tuple[Layer, ...]) -> None:
    """Raise InputError if an inner layer of a Residual is used elsewhere, too."""
    whole = list(dict.fromkeys(layers))
    every = Counter([*whole, *[part for layer in whole for part in inner(layer)]])
    for layer, count in every.items():
        if count > 1:
            raise InputError(
                f"{layer} is used twice, at least once in another layer: make a second one"
            )


def inner(layer: Layer) -> Iterator[Layer]:
    """Yield the inner layers of a layer, and theirs."""
    for part in layer.layers:
        yield part
        yield from inner(part)
