"""Scales: the channels of colors and sizes, and their scales."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import numpy as np

from scalarviz.checks.numbers import FloatArray
from scalarviz.presenter.channels import Source, count_beyond, read, scales_of
from scalarviz.view.scene.plates import Plate

HEADROOM = 1.6  # for weights that will grow


@final
class Scales:
    """Scales stay constant during training, until `choose` is called again.

    color, size    the channels
    per_layer      whether each layer has scales of its own
    colors, sizes  the scales, one for each plate
    """

    def __init__(self) -> None:
        self.color, self.size = "value", "gradient"
        self.per_layer = False
        self.colors: FloatArray = np.ones(0)
        self.sizes: FloatArray = np.ones(0)
        self._clipped = 0
        self._has_numbers = (False, False)

    def choose(self, source: Source, plates: Sequence[Plate], *, begins: bool) -> None:
        """Choose scales for these numbers, with headroom if training `begins`."""
        colors, sizes = read(self.color, source), read(self.size, source)
        room = HEADROOM if begins and self.color == "value" else 1.0
        self.colors = scales_of(plates, room * np.asarray(colors), per_layer=self.per_layer)
        self.sizes = scales_of(plates, sizes, per_layer=self.per_layer)
        self._has_numbers = bool(np.any(colors)), bool(np.any(sizes))
        self._clipped = count_beyond(plates, colors, self.colors)

    def keep(self, before: Sequence[Plate], plates: Sequence[Plate]) -> None:
        """Keep the scales of layers for another layout, with other plates."""
        for which in ("colors", "sizes"):
            scales = np.asarray(getattr(self, which))
            of_layer = dict(zip((each.layer for each in before), scales.tolist(), strict=True))
            most = float(scales.max(initial=0.0)) or 1.0
            found = [of_layer.get(each.layer, most) for each in plates]
            setattr(self, which, np.array(found))

    def lacks(self, source: Source) -> bool:
        """Return whether there were no nonzero numbers to choose by, and are some now."""
        shown = zip(self._has_numbers, (self.color, self.size), strict=True)
        return any(not had and bool(np.any(read(name, source))) for had, name in shown)

    def clipped(self, plates: Sequence[Plate], colors: FloatArray) -> int:
        """Return how many numbers exceed the color scale, if more than at the choice; else 0."""
        count = count_beyond(plates, colors, self.colors)
        return count if count > self._clipped else 0
