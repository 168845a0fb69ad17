"""Pad: a large image of the inputs, on which the mouse draws."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts import text
from scalarviz.pictures.draw2d.canvas import Canvas2D
from scalarviz.pictures.draw2d.theme import Theme
from scalarviz.pictures.view.exhibits.exhibit import (
    Exhibit,
    letter_size,
    part_of_stage,
)
from scalarviz.pictures.view.scene.frame import Box

PEN = 1.3  # pixels of the image from the middle of a stroke to its end; the edge is one wide


@final
@dataclass(frozen=True)
class Pad(Exhibit):
    """An image of numbers from `low` to `high`, shape (rows, columns); a higher one is lighter."""

    image: FloatArray
    low: float = 0.0
    high: float = 1.0
    title: str = ""
    _boxes: list[Box] = field(default_factory=list, repr=False, compare=False)  # painted last

    @property
    def light(self) -> FloatArray:
        """The image from 0 to 1, in three channels."""
        part = np.clip((self.image - self.low) / ((self.high - self.low) or 1.0), 0.0, 1.0)
        return np.repeat(part[:, :, np.newaxis], 3, axis=2)

    def wanted(self, width: float, height: float) -> float:
        return part_of_stage(360.0, width, height)

    def paint(self, canvas: Canvas2D, box: Box, theme: Theme) -> None:
        """Draw the image as large as it fits, under its title."""
        size = letter_size(canvas)
        head = 1.8 * size
        rows, columns = self.image.shape
        side = min(box.width / columns, (box.height - head) / rows)
        wide, tall = columns * side, rows * side
        place = Box(box.x + 0.5 * (box.width - wide), box.y + head, wide, tall)
        self._boxes[:] = [place]
        words = canvas.fit(text("own.pad"), box.width, size=size)
        canvas.text(place.x, place.y - 0.5 * size, words, size=size, color=theme.ink)
        canvas.image(*place.place, self.light)
        canvas.box(*place.place, None, outline=theme.quiet)

    def inputs_at(self, x: float, y: float) -> Mapping[int, float]:
        """Return what a stroke at a pixel leaves of the inputs near it."""
        for place in self._boxes:
            if place.has(x, y):
                rows, columns = self.image.shape
                across = np.arange(columns) + 0.5 - (x - place.x) / place.width * columns
                down = np.arange(rows) + 0.5 - (y - place.y) / place.height * rows
                far = np.hypot(down[:, np.newaxis], across)
                ink = self.low + np.clip(PEN - far, 0.0, 1.0) * (self.high - self.low)
                new = np.maximum(self.image, ink).ravel()
                changed = np.flatnonzero(ink.ravel() > self.low)
                return dict(zip(changed.tolist(), new[changed].tolist(), strict=True))
        return {}
