"""Channels: what colors and sizes of cubes can stand for, and the scales that go with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from scalarviz.checks.numbers import FloatArray
from scalarviz.draw2d.braille_curve import round_up
from scalarviz.draw2d.colors import PERCENTILE, spread
from scalarviz.engines.common.snapshot import SnapshotValues
from scalarviz.formulas.table import table
from scalarviz.model.program import Program
from scalarviz.presenter.sample_pass import SamplePass, forward_products, gradient_products
from scalarviz.view.scene.plates import Plate

CHANGE = "last change"
FEW = 4096  # numbers, up to which the largest sets the scale, and none is clipped at first


@dataclass(frozen=True)
class Source:
    """Where the numbers of a channel come from.

    numbers  of the bank at one moment, and `before`, the values one picture earlier
    way      of the focus sample
    """

    numbers: SnapshotValues
    before: FloatArray
    program: Program
    way: SamplePass


def known(source: Source, products: Callable[[], FloatArray]) -> FloatArray:
    """Products of a sample; zeros while none is followed, as in a large network that plays."""
    return products() if source.way.values else np.zeros(len(source.numbers.value))


@dataclass(frozen=True)
class Channel:
    """Something that colours and sizes of cubes can stand for: `read` gives a number each.

    `of_sample` ones are of the focus sample, and there only where a network is made of layers.
    """

    name: str
    read: Callable[[Source], FloatArray]
    of_sample: bool = False


def products_forward(s: Source) -> FloatArray:
    return known(s, lambda: forward_products(s.program, s.numbers.value, s.way))


def products_backward(s: Source) -> FloatArray:
    return known(s, lambda: gradient_products(s.program, len(s.numbers.value), s.way))


# The slots of the optimizer are channels too; `names_of` puts them before those of a sample.
CHANNELS = table(
    [
        Channel("value", lambda source: source.numbers.value),
        Channel("gradient", lambda source: source.numbers.grad),
        Channel(CHANGE, lambda source: source.numbers.value - source.before),
        Channel("w*x", products_forward, of_sample=True),
        Channel("x*g", products_backward, of_sample=True),
    ]
)


def names_of(slots: Sequence[str], has_layers: bool) -> list[str]:
    """The channels that there are, given the optimizer's slots."""
    plain = [row.name for row in CHANNELS.values() if not row.of_sample]
    of_sample = [row.name for row in CHANNELS.values() if row.of_sample and has_layers]
    return [*plain, *slots, *of_sample]


def read(name: str, source: Source) -> FloatArray:
    """The numbers of a channel, one a row of the bank; zeros of a slot that is not there yet."""
    if name in CHANNELS:
        return CHANNELS[name].read(source)
    found = source.numbers.slots.get(name)
    return np.zeros(len(source.numbers.value)) if found is None else found


def scales_of(plates: Sequence[Plate], numbers: FloatArray, *, per_layer: bool) -> FloatArray:
    """A plain number for each plate that most of its numbers, or of all, stay within."""
    if not per_layer:
        return np.full(len(plates), scale_of(numbers))
    layers = {plate.layer: plate_numbers(plates, plate.layer, numbers) for plate in plates}
    scales = {layer: scale_of(own) for layer, own in layers.items()}
    return np.array([scales[plate.layer] for plate in plates])


def plate_numbers(plates: Sequence[Plate], layer: int, numbers: FloatArray) -> FloatArray:
    return np.concatenate([numbers[plate.indices] for plate in plates if plate.layer == layer])


def scale_of(numbers: FloatArray) -> float:
    return round_up(spread(numbers, 100.0 if len(numbers) <= FEW else PERCENTILE))


def count_beyond(plates: Sequence[Plate], numbers: FloatArray, scales: FloatArray) -> int:
    """How many numbers the strongest color is too weak for."""
    return sum(
        int(np.count_nonzero(np.abs(numbers[plate.indices]) > scale))
        for plate, scale in zip(plates, scales.tolist(), strict=True)
    )
