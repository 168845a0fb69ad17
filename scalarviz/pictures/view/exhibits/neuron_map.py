"""Map of one neuron over the plane, with axes, for its card."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts import text
from scalarviz.pictures.draw2d.canvas import Canvas2D
from scalarviz.pictures.draw2d.colors import rgb
from scalarviz.pictures.draw2d.theme import Theme
from scalarviz.pictures.view.exhibits.axes import LINE, Axes, short
from scalarviz.pictures.view.exhibits.exhibit import Exhibit, letter_size
from scalarviz.pictures.view.exhibits.plane import FAINT, Plane
from scalarviz.pictures.view.scene.frame import Box

DOT, SMALL_DOT = 0.17, 0.013  # radius of a sample: relative to the text, to the map at most


@final
@dataclass(frozen=True)
class NeuronMap(Exhibit):
    """What a neuron answers over the plane, with the samples and the one in use.

    values  its numbers, (side, side); the first row is the top
    parts   the same as shares of the strongest colors, from -1 to 1
    plane   the map of the network's output, which has the axes and the samples
    """

    values: FloatArray
    parts: FloatArray
    plane: Plane
    title: str = ""

    def words(self) -> list[str]:
        known = self.values[np.isfinite(self.values)]
        ends = (float(known.min()), float(known.max())) if known.size else (np.nan, np.nan)
        return [text("exhibits.neuron_map.range", low=short(ends[0]), high=short(ends[1]))]

    def paint(self, canvas: Canvas2D, box: Box, theme: Theme) -> None:
        """Draw the map with its axes and the samples, and its least and largest number below."""
        size, plane = letter_size(canvas), replace(self.plane, outputs=np.zeros(0))
        line = LINE * size
        axes = Axes(plane.names, plane.low, plane.high)
        high = box.height - line
        left = axes.plot(canvas, Box(box.x, box.y, box.width, high)).x - box.x
        side = min(box.width - left, high - line)
        if side < 2.0 * line:
            return
        whole = Box(box.x + 0.5 * (box.width - left - side), box.y, left + side, side + line)
        plot = axes.plot(canvas, whole)
        ground = rgb((theme.ground,))[0]
        shape = (*self.parts.shape, 3)
        colors = theme.map(self.parts.ravel()).reshape(shape)
        place = plot.x, plot.y, plot.width, plot.height
        canvas.image(*place, ground + FAINT * (colors - ground), smooth=True)
        axes.paint(canvas, whole, plot, theme)
        with canvas.clip(*place):
            radius = min(DOT * size, SMALL_DOT * plot.width)
            plane.paint_samples(canvas, plot, radius, theme)
        words = canvas.fit(self.words()[0], box.width, size=size)
        middle = plot.x + 0.5 * plot.width
        wide = 0.5 * canvas.measure(words, size=size)
        x = max(box.x + wide, min(middle, box.right - wide))
        canvas.text(x, whole.bottom + size, words, size=size, color=theme.quiet, anchor="center")
