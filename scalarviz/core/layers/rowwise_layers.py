"""Layers without parameters that use all numbers of a sample or place: row formulas, shapes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Any, final

from scalarviz.base.checks import require, shorten, size
from scalarviz.core.formulas.layer_formulas import ROW_FORMULAS, RowFormula, typed
from scalarviz.core.layers.layer import Batch, Layer
from scalarviz.core.layers.shapes import numbers_of, shape_of, shape_setting
from scalarviz.core.program import Program, Shape
from scalarviz.errors import ShapeError


class Rowwise(Layer):
    """A layer that applies a row formula to the numbers of a sample.

    Args:
        inputs: number of inputs, at least 1, or the shape of a picture
        outputs: number of outputs, at least 1, or the shape of a picture
        formula: row of core/formulas/layer_formulas.py
        numbers: settings passed to the formula
        places: number of places at each of which the formula is applied; 0: to the whole sample
    """

    def __init__(
        self,
        inputs: int | Shape,
        outputs: int | Shape,
        formula: RowFormula,
        numbers: tuple[float, ...],
        places: int = 0,
    ) -> None:
        super().__init__(inputs, outputs)
        self.formula = formula
        self.numbers = numbers
        self._places = places
        self._typed = typed(formula.forward, numbers)

    @final
    def lower(self, program: Program) -> None:
        program.set_shape(self.input_shape)
        lower_formula(self, program, self.numbers, self._places)

    @final
    def forward_rows(self, batch: Batch) -> Batch:
        return forward_formula(self, batch, self._typed, self._places)

    @final
    def backward_rows(self, upstream: Batch) -> Batch:
        return backward_formula(self, upstream, self._typed, self._places)


# A layer with a row formula, for the whole sample or for the numbers of each place.


def lower_formula(layer: Any, program: Program, numbers: Iterable[float], places: int) -> None:
    """Append the operation of a layer's row formula to `program`."""
    program.add(
        "each_place" if places else "row",
        layer.formula.name,
        size=layer.outputs,
        settings=(*map(float, numbers), *([float(places)] if places else [])),
        shape=layer.output_shape,
    )


def forward_formula(layer: Any, batch: Batch, settings: Sequence[float], places: int) -> Batch:
    """Return the results of a layer's row formula; keep what `backward_formula` needs."""
    rows = by_place(batch, places)
    done = [(x, *layer.formula.run(x, layer.outputs // (places or 1), settings)) for x in rows]
    layer.kept.extend(done)
    return whole([y for _, y, _ in done], places)


def backward_formula(layer: Any, upstream: Batch, settings: Sequence[float], places: int) -> Batch:
    """Return the gradients of the inputs of a layer's row formula."""
    gradient, rows = layer.formula.gradient, by_place(upstream, places)
    return whole([gradient(g, settings, *layer.kept.pop()) for g in reversed(rows)][::-1], places)


def by_place(batch: Batch, places: int) -> Batch:
    """Return the numbers of each place of each sample; without `places`, the samples."""
    return [row[place::places] for row in batch for place in range(places)] if places else batch


def whole(rows: Batch, places: int) -> Batch:
    """Return samples from the numbers of each of their places, the inverse of `by_place`."""
    if not places:
        return rows
    samples = [rows[first : first + places] for first in range(0, len(rows), places)]
    return [[x for channel in zip(*each, strict=True) for x in channel] for each in samples]


def features_of(shape: int | Sequence[int], what: str) -> tuple[Shape, int, int]:
    """Return the picture shape of a sequence, its features and places; (), `shape`, 0 for a size.

    Raises ShapeError for the shape of a picture that is higher than 1 pixel.
    """
    picture, count = numbers_of(shape, what)
    require(
        not picture or picture[1] == 1,
        f"{what} are a number, or the shape (features, places) of a sequence, not {shorten(shape)}",
        ShapeError,
    )
    return (picture, picture[0], picture[2]) if picture else ((), count, 0)


@final
class Softmax(Rowwise):
    """Turn a sample into probabilities: exp of each number, divided by the sum. No parameters.

    To train a classifier, leave this layer out and use the loss `softmax_cross_entropy`, which
    includes it.

    Args:
        features: number of features, at least 1

    >>> Softmax(3)([0.0, 1.0, 0.0]).round(3).tolist()
    [0.212, 0.576, 0.212]
    """

    def __init__(self, features: int) -> None:
        count = size(features, "the features of Softmax")
        super().__init__(count, count, ROW_FORMULAS["softmax"], (float(count),))

    def settings(self) -> dict[str, Any]:
        return {"features": self.inputs}


@final
class LogSoftmax(Rowwise):
    """Logarithms of the probabilities of `Softmax`, finite even where these underflow to 0.

    To train a classifier, leave this layer out and use the loss `softmax_cross_entropy`, which
    includes it. No parameters.

    Args:
        features: number of features, at least 1, or the shape (features, places) of a sequence,
            which has probabilities at each place

    >>> LogSoftmax(2)([0.0, 0.0]).round(3).tolist()
    [-0.693, -0.693]
    """

    def __init__(self, features: int | Sequence[int]) -> None:
        picture, count, places = features_of(features, "the features of LogSoftmax")
        whole = picture or count
        super().__init__(whole, whole, ROW_FORMULAS["log_softmax"], (float(count),), places)

    def settings(self) -> dict[str, Any]:
        return {"features": shape_setting(self)}


@final
class FrequencyEncoding(Rowwise):
    """Map each input x to sin and cos of pi x, 2 pi x, 4 pi x, ...; no parameters.

    With 2 inputs and 3 octaves the result has 12 numbers: six for the first input, then six for the
    second.

    Args:
        inputs: number of inputs, at least 1
        octaves: number of frequencies, at least 1; by default 3

    >>> FrequencyEncoding(1, octaves=2)([0.5]).round(3).tolist()
    [1.0, 0.0, 0.0, -1.0]
    """

    def __init__(self, inputs: int, octaves: int = 3) -> None:
        self.octaves = size(octaves, "octaves")
        outputs = 2 * self.octaves * size(inputs, "the inputs of FrequencyEncoding")
        formula = ROW_FORMULAS["frequency_encoding"]
        super().__init__(inputs, outputs, formula, (float(self.octaves),))

    def settings(self) -> dict[str, Any]:
        return {"inputs": self.inputs, "octaves": self.octaves}


@final
class Spread(Rowwise):
    """Copy the number of each channel to all pixels of that channel; no parameters.

    With a Product it forms a gate for each channel, as in squeeze-and-excitation networks:

        sv.Product(sv.Activation(shape, "linear"), [sv.AvgPool2d(shape, 8), ..., sv.Spread(shape)])

    Args:
        shape: shape (channels, height, width) of the resulting picture

    Raises:
        ShapeError: if `shape` is not the shape of a picture.

    >>> Spread((2, 1, 3))([5, 7]).tolist()
    [5.0, 5.0, 5.0, 7.0, 7.0, 7.0]
    """

    def __init__(self, shape: Sequence[int]) -> None:
        made = shape_of(shape, "Spread")
        pixels = made[1] * made[2]
        super().__init__((made[0], 1, 1), made, ROW_FORMULAS["spread"], (float(pixels),))

    def settings(self) -> dict[str, Any]:
        return {"shape": list(self.output_shape)}


@final
class Slice(Rowwise):
    """Select consecutive numbers, or channels, of a sample: from `first` to before `end`.

    No parameters. In branches it gives a network several inputs, stored in one row: a Product whose
    branches begin with Slice(5, 0, 3) and Slice(5, 3, 5) has an input of three numbers and an input
    of two.

    Args:
        shape: number of inputs, or the shape (channels, height, width) of a picture
        first: index of the first number, or of the first channel of a picture
        end: index after the last number or channel

    >>> Slice(5, 1, 3)([10, 11, 12, 13, 14]).tolist()
    [11.0, 12.0]
    """

    def __init__(self, shape: int | Sequence[int], first: int, end: int) -> None:
        picture, count = numbers_of(shape, "the numbers of Slice")
        parts = picture[0] if picture else count
        self.first, self.end = size(first, "the first number of Slice", 0), size(end, "its end")
        require(
            self.first < self.end <= parts,
            f"there are {parts} {'channels' if picture else 'numbers'}, and none from {first} "
            f"to before {end}: choose 0 <= first < end <= {parts}",
            ShapeError,
        )
        each, made = count // parts, self.end - self.first
        outputs = (made, *picture[1:]) if picture else made
        formula = ROW_FORMULAS["slice"]
        super().__init__(picture or count, outputs, formula, (float(self.first * each),))

    def settings(self) -> dict[str, Any]:
        return {"shape": shape_setting(self), "first": self.first, "end": self.end}


# Flatten and Reshape, which change the shape only.


class ReshapeLayer(Layer):
    """A layer that changes only the shape of its inputs.

    `inputs`, `outputs`, `activation` and `parameters` are as in Layer.
    """

    @final
    def lower(self, program: Program) -> None:
        program.set_shape(self.output_shape)  # without an output shape, the input's counts

    @final
    def forward_rows(self, batch: Batch) -> Batch:
        return batch

    @final
    def backward_rows(self, upstream: Batch) -> Batch:
        return upstream


@final
class Flatten(ReshapeLayer):
    """Turn a picture into a row of numbers: channel by channel, line by line.

    Args:
        shape: shape (channels, height, width) of the picture

    >>> Flatten((2, 1, 2))([1, 2, 3, 4]).tolist()
    [1.0, 2.0, 3.0, 4.0]
    """

    def __init__(self, shape: Sequence[int]) -> None:
        self.shape = shape_of(shape, "Flatten")
        super().__init__(self.shape, prod(self.shape))

    def settings(self) -> dict[str, Any]:
        return {"shape": list(self.shape)}


@final
class Reshape(ReshapeLayer):
    """Turn a row of numbers into a picture; the numbers are unchanged.

    Args:
        inputs: number of inputs, or the shape of a picture
        shape: shape (channels, height, width) of the result

    Raises:
        ShapeError: if inputs and result differ in the number of elements.

    >>> Reshape(4, (1, 2, 2)).output_shape
    (1, 2, 2)
    """

    def __init__(self, inputs: int | Sequence[int], shape: Sequence[int]) -> None:
        picture, count = numbers_of(inputs, "the inputs of Reshape")
        self.shape = shape_of(shape, "Reshape")
        require(
            prod(self.shape) == count,
            f"{count} numbers do not form a picture of {shorten(self.shape)}, which has "
            f"{prod(self.shape)}: make the two equal",
            ShapeError,
        )
        super().__init__(picture or count, self.shape)

    def settings(self) -> dict[str, Any]:
        return {"inputs": shape_setting(self), "shape": list(self.shape)}
