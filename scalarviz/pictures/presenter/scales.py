"""Scales: the channels of colors and sizes, and the numbers with the strongest color and size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.pictures.presenter.channels import (
    Source,
    check_channel,
    count_beyond,
    largest_of,
    read,
)
from scalarviz.pictures.view.frame_data import CubeValues
from scalarviz.pictures.view.scene.plates import Plate

LAST = 0.3  # seconds in which the last picture is drawn
SECONDS = 5.0  # least time from one growth of a scale to the next
SAID = 2.0  # seconds for which the legend says it
OF_AFFINE = "gain", "shift"  # roles of its plates
STOPS = 1.0, 2.0, 5.0, 10.0


Shown = tuple[Source, Sequence[Plate]]  # the numbers of a network, and where its cubes are


@final
class Scales:
    """A scale is a stop: 1, 2 or 5 times a power of ten. It only grows by itself.

    held         whether a hand drags a cube, which must not shrink meanwhile: no scale grows
    color, size  the channels
    per_layer    whether each layer has a scale of its own, as each Affine has in any case
    """

    def __init__(self) -> None:
        self.color, self.size = "value", "value"
        self.per_layer = self.held = False
        self._apart: set[int] = set()  # layers of an Affine, which has units of its own
        self._stops: dict[tuple[str, int], float] = {}
        self._grown_at = -math.inf
        self._grown: tuple[float, float] | None = None

    def keep_to(self, channels: Sequence[str]) -> None:
        """Show values in place of a channel that there is not any more."""
        self.color = self.color if self.color in channels else "value"
        self.size = self.size if self.size in channels else "value"

    def choose(self, shown: Sequence[Shown]) -> None:
        """Choose scales for the numbers of all that is shown, larger or smaller than before."""
        for channel in {self.color, self.size}:
            for layer, number in self._largest(channel, shown).items():
                self._stops[channel, layer] = stop_above(number)
        self._grown = None

    def follow(self, shown: Sequence[Shown], now: float) -> None:
        """Let the scales grow if numbers exceed them, not more often than every SECONDS."""
        for channel in dict.fromkeys((self.color, self.size)):
            for layer, number in self._largest(channel, shown).items():
                stop, key = stop_above(number), (channel, layer)
                before = self._stops.get(key, 0.0)
                if not before:  # the first numbers of a channel
                    self._stops[key] = stop
                elif (
                    stop > before
                    and not self.held
                    and (now - self._grown_at >= SECONDS or now < self._grown_at)
                ):
                    self._stops[key], self._grown_at = stop, now
                    self._grown = (before, stop) if channel == self.color else None

    def let_go(self) -> None:
        """Let the scales grow at once after a drag."""
        self.held, self._grown_at = False, -math.inf

    def _largest(self, channel: str, shown: Sequence[Shown]) -> dict[int, float]:
        """Return the magnitudes that the scales of a channel should cover, by layer."""
        found: dict[int, float] = {}
        self._apart = {each.layer for source, _ in shown for each in source.program.affines}
        for source, plates in shown:
            largest = largest_of(plates, self._layers(plates), read(channel, source))
            for layer, number in largest.items():
                found[layer] = max(number, found.get(layer, 0.0))
        return found

    def grown(self, now: float) -> tuple[float, float] | None:
        """Return the scale before and after it has grown, for some seconds."""
        return self._grown if 0.0 <= now - self._grown_at < SAID else None

    def tick(self, now: float) -> bool:
        """Return whether pictures change by themselves: the words on what has grown go away."""
        return self._grown is not None and 0.0 <= now - self._grown_at < SAID + LAST

    def of(self, channel: str, plates: Sequence[Plate]) -> FloatArray:
        """Return the scale of a channel for each plate."""
        return np.array([self.stop(channel, layer) for layer in self._layers(plates)])

    def stop(self, channel: str, layer: int = -1) -> float:
        """Return the scale of a channel: by default that of the network."""
        return self._stops.get((channel, layer), 0.0) or 1.0

    def _layers(self, plates: Sequence[Plate]) -> list[int]:
        """Return the layer of each plate that has a scale of its own, -1 for the others."""
        return [
            each.layer
            if self.per_layer or (each.role in OF_AFFINE and each.layer in self._apart)
            else -1
            for each in plates
        ]

    def laid_out(self, cubes: CubeValues, plates: Sequence[Plate]) -> CubeValues:
        """Return what cubes show, with the scales of the plates of another layout."""
        sizes = self.of(self.size, plates)
        if len(set(cubes.size_scales.tolist())) == 1:
            sizes = np.full(len(plates), cubes.size_scales[0])
        return replace(cubes, color_scales=self.of(self.color, plates), size_scales=sizes)

    def clipped(self, plates: Sequence[Plate], colors: FloatArray) -> int:
        """Return how many numbers exceed the color scale."""
        return count_beyond(plates, colors, self.of(self.color, plates))


def of_scales(name: str) -> Any:
    """Return a property of a stage's scales, which are chosen anew when it is set."""

    def get(stage: Any) -> Any:
        return getattr(stage.scales, name)

    def put(stage: Any, value: Any) -> None:
        is_flag = name == "per_layer"
        setattr(stage.scales, name, value if is_flag else check_channel(value, stage.channels))
        stage.rescale()

    return property(get, put)


def stop_above(number: float) -> float:
    """Return the smallest stop that is not below a number; 0 for 0.

    >>> [stop_above(number) for number in (0.8, 1.0, 1.01, 33.0, 0.04, 0.0)]
    [1.0, 1.0, 2.0, 50.0, 0.05, 0.0]
    """
    if not number > 0.0:
        return 0.0
    power = math.floor(math.log10(number))
    for stop in STOPS:
        found = float(f"{stop:g}e{power}")
        if found >= number * (1.0 - 1e-12):
            return found
    return float(f"1e{power + 1}")
