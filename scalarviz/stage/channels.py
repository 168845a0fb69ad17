"""CHANNELS: the quantities that colors and sizes of cubes can show, and their scales."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.scales import GrowingStops
from scalarviz.core.formulas.formula import pick, table
from scalarviz.core.program import Program
from scalarviz.engines.engine import SnapshotValues
from scalarviz.errors import InputError
from scalarviz.scene.canvas.palette import largest
from scalarviz.scene.frame_data import CubeValues
from scalarviz.scene.layout.plates import Plate
from scalarviz.scene.look import Look
from scalarviz.stage.sample_pass import SamplePass, forward_products, gradient_products

CUBES = "color", "cubes"  # fields of Look that select channels
CHANGE, SINCE_START = "last change", "change since start"
DIFFERENCE = "difference to first"


@dataclass(frozen=True)
class ChannelSource:
    """Inputs of a channel.

    Attributes:
        numbers, before: the bank at one moment, and its values one picture earlier
        program: the program of the network
        way: forward and backward pass of the focus sample
        first: values of the first network if several of equal shape are compared; else None
        begun: values at the start of training; None if unknown
    """

    numbers: SnapshotValues
    before: FloatArray
    program: Program
    way: SamplePass
    first: FloatArray | None = None
    begun: FloatArray | None = None


@dataclass(frozen=True)
class Channel:
    """A quantity that colors and sizes of cubes can show; `read` returns one number per bank index.

    Channels with `of_sample` show numbers of the focus sample, and need a network with layers;
    channels with `of_several` compare networks that are shown side by side.
    """

    name: str
    read: Callable[[ChannelSource], FloatArray]
    of_sample: bool = False
    of_several: bool = False


def change_from(before: FloatArray | None, now: FloatArray) -> FloatArray:
    """Return `now` minus `before`; zeros if `before` is None or has another length."""
    if before is None or len(before) != len(now):
        return np.zeros(len(now))
    with np.errstate(invalid="ignore", over="ignore"):  # infinities give NaN
        found: FloatArray = now - before
    return found


# The slots of the optimizer are also channels; `names_of` inserts them before sample channels.
CHANNELS = table(
    [
        Channel("value", lambda source: source.numbers.value),
        Channel("gradient", lambda source: source.numbers.grad),
        Channel(CHANGE, lambda source: change_from(source.before, source.numbers.value)),
        Channel(SINCE_START, lambda source: change_from(source.begun, source.numbers.value)),
        Channel(
            "w*x", lambda s: forward_products(s.program, s.numbers.value, s.way), of_sample=True
        ),
        Channel(
            "x*g",
            lambda s: gradient_products(s.program, len(s.numbers.value), s.way),
            of_sample=True,
        ),
        Channel(
            DIFFERENCE,
            lambda source: change_from(source.first, source.numbers.value),
            of_several=True,
        ),
    ]
)


def names_of(slots: Sequence[str], has_layers: bool) -> list[str]:
    """Return the names of the channels of one network, given the optimizer's slots."""
    rows = [row for row in CHANNELS.values() if not row.of_several]
    plain = [row.name for row in rows if not row.of_sample]
    return [*plain, *slots, *[row.name for row in rows if row.of_sample and has_layers]]


def check_channel(name: object, names: Sequence[str]) -> str:
    """Return a channel name if it is one of `names`.

    Raise UnknownNameError otherwise, and InputError for a channel that compares networks if there
    are no networks to compare.
    """
    row = CHANNELS.get(name) if isinstance(name, str) else None
    if row is not None and row.of_several and name not in names:
        raise InputError(
            f"{name!r} compares networks of equal shape side by side, and no other network here "
            "has the shape of the first: choose another channel"
        )
    return pick({each: each for each in names}, name, "channel")


def checked(given: Mapping[str, Any], channels: Sequence[str]) -> Mapping[str, Any]:
    """Return view options unchanged; raise an error if a channel in them is unknown."""
    for name in CUBES:
        if given.get(name) is not None:
            check_channel(given[name], channels)
    return given


def read(name: str, source: ChannelSource) -> FloatArray:
    """Return the numbers of a channel; zeros if unknown.

    Optimizer slots are unknown until they exist, and products if no sample pass was computed, for
    example in a large network.
    """
    row = CHANNELS.get(name)
    if row is not None and (not row.of_sample or source.way.values):
        return row.read(source)
    return source.numbers.slots.get(name, np.zeros(len(source.numbers.value)))


def largest_of(
    plates: Sequence[Plate], layers: Sequence[int], numbers: FloatArray
) -> dict[int, float]:
    """Return the magnitude that the scale of each layer should cover.

    Args:
        layers: for each plate, its layer if that has a separate scale, else -1

    The magnitude is the maximum or, for many numbers, the 99th percentile.
    """
    if not {*layers} - {-1}:
        return {-1: largest(numbers)}
    found: dict[int, list[FloatArray]] = {layer: [] for layer in layers}
    for plate, layer in zip(plates, layers, strict=True):
        found[layer].append(numbers[plate.indices])
    return {layer: largest(np.concatenate(parts)) for layer, parts in found.items()}


NEAR = 1e-6  # two bars on one line
HIGHEST, FREE = 1.1, 0.06  # a bar by the distance of two lines, and the part kept free above it


def needed_by(
    plates: Sequence[Plate], layers: Sequence[int], numbers: FloatArray
) -> dict[int, float]:
    """Return the number whose bar may be as high as two lines are apart, so that bars never meet.

    Two bars between the same lines share their distance. Bars of biases do not meet neurons either.

    Args:
        layers: for each plate, its layer if that has a separate scale, else -1
    """
    found: dict[int, float] = dict.fromkeys(layers, 0.0)
    for layer in found:
        own = [plate for plate, each in zip(plates, layers, strict=True) if each == layer]
        rows = np.concatenate([plate.feet[1] for plate in own])
        places = np.concatenate([plate.feet[0] for plate in own])
        shown = np.nan_to_num(np.asarray(numbers[rows], np.float64))
        order = np.lexsort((-places[:, 1], places[:, 0]))
        x, y = places[order].T
        upper, lower = shown[order][:-1], shown[order][1:]
        shared = np.maximum(-upper, 0.0) + np.maximum(lower, 0.0)
        apart = np.where(x[1:] - x[:-1] < NEAR, y[:-1] - y[1:], np.inf)
        pitch = 2.0 * own[0].half
        need = (shared * pitch / ((1.0 - FREE) * apart)).max(initial=0.0)
        for plate in own:
            if plate.free:
                toward = np.nan_to_num(numbers[plate.feet[1]]) * np.sign(plate.free)
                need = max(need, toward.max() * pitch / abs(plate.free))
        found[layer] = max(float(need), float(np.abs(shown).max(initial=0.0)) / HIGHEST)
    return found


# Scales: the numbers with the strongest color and with the largest size.

LAST_SECONDS = 0.3  # seconds for drawing the final picture


Shown = tuple[ChannelSource, Sequence[Plate]]  # numbers of a network, and plates of its cubes


@final
class Scales:
    """The scales of colors and sizes.

    Attributes:
        look: view options: the shown channels, and whether each layer has a separate scale, which
            Affine layers and recorded modules always have
        stops: the scales, by channel and layer; layer -1 is the whole network
        usual: the scale of values if it stays the same; None if it follows them
    """

    def __init__(self, look: Look) -> None:
        self.look, self.stops = look, GrowingStops()
        self.usual: float | None = None
        self._apart: set[int] = set()  # operations with separate scales

    def choose(self, shown: Sequence[Shown]) -> None:
        """Fit the scales to all shown numbers; they can grow or shrink."""
        for channel in {self.look.color, self.look.cubes}:
            self.stops.choose(self._largest(channel, shown))

    def follow(self, shown: Sequence[Shown], now: float, *, tells: bool = True) -> None:
        """Adapt the scales to the shown numbers at the time `now`.

        Args:
            tells: whether the legend explains that the scale of colors has grown; default True
        """
        look = self.look
        for channel in dict.fromkeys((look.color, look.cubes)):
            is_told = tells and channel == look.color
            self.stops.follow(self._largest(channel, shown), now, tells=is_told)

    def _largest(self, channel: str, shown: Sequence[Shown]) -> dict[tuple[str, int], float]:
        """Return the magnitudes that the scales of a channel should cover."""
        found: dict[tuple[str, int], float] = {}
        self._apart = {number for source, _ in shown for number in source.program.apart}
        for source, plates in shown:
            numbers = read(channel, source)
            if channel == self.look.cubes and any(plate.wide for plate in plates):
                largest = needed_by(plates, self._layers(plates), numbers)
            else:
                largest = largest_of(plates, self._layers(plates), numbers)
            if self.usual is not None and channel == "value":
                largest = dict.fromkeys(largest, self.usual)
            for layer, number in largest.items():
                found[channel, layer] = max(number, found.get((channel, layer), 0.0))
        return found

    def tick(self, now: float) -> bool:
        """Return whether a temporary note about an enlarged scale is shown."""
        return self.stops.just_grown(now, LAST_SECONDS) is not None

    def of(self, channel: str, plates: Sequence[Plate]) -> FloatArray:
        """Return the scale of a channel for each plate."""
        return np.array([self.stops.of((channel, layer)) for layer in self._layers(plates)])

    def _layers(self, plates: Sequence[Plate]) -> list[int]:
        """Return, for each plate, its layer if that has a separate scale, else -1."""
        return [
            each.layer if self.look.per_layer or each.operation in self._apart else -1
            for each in plates
        ]

    def laid_out(self, cubes: CubeValues, plates: Sequence[Plate]) -> CubeValues:
        """Return the cube values with scales for the plates of another layout."""
        sizes = (
            np.full(len(plates), cubes.size_scales[0])
            if len(set(cubes.size_scales.tolist())) == 1
            else self.of(self.look.cubes, plates)
        )
        return replace(cubes, color_scales=self.of(self.look.color, plates), size_scales=sizes)

    def clipped(self, plates: Sequence[Plate], colors: FloatArray) -> int:
        """Return how many numbers exceed the color scale."""
        scales = self.of(self.look.color, plates)
        if len(set(scales.tolist())) == 1:
            return int(np.count_nonzero(np.abs(colors) > scales[0]))
        return sum(
            int(np.count_nonzero(np.abs(colors[plate.indices]) > scale))
            for plate, scale in zip(plates, scales.tolist(), strict=True)
        )
