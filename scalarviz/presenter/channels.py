"""CHANNELS: what colors and sizes of cubes can show, and their scales."""

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
FEW = 4096  # up to so many numbers, the scale covers the largest


@dataclass(frozen=True)
class Source:
    """Inputs of a channel.

    numbers  numbers of the bank at one moment; `before`, the values one picture earlier
    program  the program of the network
    way      the focus sample's pass
    """

    numbers: SnapshotValues
    before: FloatArray
    program: Program
    way: SamplePass


def known(source: Source, products: Callable[[], FloatArray]) -> FloatArray:
    """Return products of the sample; zeros without a sample pass, as in a large network."""
    return products() if source.way.values else np.zeros(len(source.numbers.value))


@dataclass(frozen=True)
class Channel:
    """A quantity that colors and sizes of cubes can show; `read` returns one number per bank index.

    `of_sample` channels belong to the focus sample, and need a network with layers.
    """

    name: str
    read: Callable[[Source], FloatArray]
    of_sample: bool = False


def products_forward(s: Source) -> FloatArray:
    return known(s, lambda: forward_products(s.program, s.numbers.value, s.way))


def products_backward(s: Source) -> FloatArray:
    return known(s, lambda: gradient_products(s.program, len(s.numbers.value), s.way))


# The slots of the optimizer are channels, too; `names_of` inserts them before those of a sample.
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
    """Return the names of the available channels, given the optimizer's slots."""
    plain = [row.name for row in CHANNELS.values() if not row.of_sample]
    of_sample = [row.name for row in CHANNELS.values() if row.of_sample and has_layers]
    return [*plain, *slots, *of_sample]


def read(name: str, source: Source) -> FloatArray:
    """Return the numbers of a channel; zeros for a slot that does not exist yet."""
    if name in CHANNELS:
        return CHANNELS[name].read(source)
    found = source.numbers.slots.get(name)
    return np.zeros(len(source.numbers.value)) if found is None else found


def scales_of(plates: Sequence[Plate], numbers: FloatArray, *, per_layer: bool) -> FloatArray:
    """Return a round number for each plate that covers all of its numbers, or most."""
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
    """Return how many numbers exceed the scales."""
    return sum(
        int(np.count_nonzero(np.abs(numbers[plate.indices]) > scale))
        for plate, scale in zip(plates, scales.tolist(), strict=True)
    )
