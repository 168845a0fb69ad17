"""Plot of a network with one input and one output, and its samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts import text
from scalarviz.pictures.draw2d.canvas import Canvas2D
from scalarviz.pictures.draw2d.theme import Theme
from scalarviz.pictures.view.exhibits.axes import LINE, Axes, paint_frame, paint_key
from scalarviz.pictures.view.exhibits.exhibit import (
    LETTERS,
    Exhibit,
    letter_size,
    part_of_stage,
)
from scalarviz.pictures.view.scene.frame import Box


@final
@dataclass(frozen=True)
class FunctionPlot(Exhibit):
    """The outputs at evenly spaced inputs from `low` to `high`, and samples (x, y), one per row.

    names  of the input and the output
    axis   number of the input
    focus  input and output of the sample in use, which is marked
    """

    outputs: FloatArray
    low: float
    high: float
    points: FloatArray
    title: str = ""
    names: tuple[str, str] = ("x", "y")
    axis: int = 0
    focus: tuple[float, float] | None = None
    _plots: list[Box] = field(default_factory=list, repr=False, compare=False)  # painted last

    def range(self) -> tuple[float, float]:
        """Return the ends of the y axis: the range of the samples' targets, and a margin."""
        values = self.points[:, 1]
        low, high = float(values.min()), float(values.max())
        room = 0.15 * (high - low) or 1.0
        return low - room, high + room

    def wanted(self, width: float, height: float) -> float:
        return part_of_stage(320.0, width, height)

    def marked(self, inputs: FloatArray) -> FunctionPlot:
        """Return the plot with a mark at the sample in use."""
        x, known = float(inputs[self.axis]), np.linspace(self.low, self.high, len(self.outputs))
        return replace(self, focus=(x, float(np.interp(x, known, self.outputs))))

    def inputs_at(self, x: float, y: float) -> Mapping[int, float]:
        """Return the input at a pixel of the plot."""
        for plot in self._plots:
            if plot.has(x, y):
                part = (x - plot.x) / plot.width
                return {self.axis: self.low + part * (self.high - self.low)}
        return {}

    def paint(self, canvas: Canvas2D, box: Box, theme: Theme) -> None:
        """Draw the curve over the samples, the axes, and a key below them."""
        size = letter_size(canvas)
        bottom, top = self.range()
        axes = Axes(self.names, (self.low, bottom), (self.high, top))
        below = 2.0 * LINE * size
        below = below if below < 0.3 * box.height else 0.0
        high = min(box.height - below, 1.1 * box.width)
        whole = Box(box.x, box.y + 0.5 * (box.height - high - below), box.width, high)
        plot = axes.plot(canvas, whole)
        self._plots[:] = [plot]

        def place(x: FloatArray, y: FloatArray) -> FloatArray:
            across = plot.x + (x - self.low) / (self.high - self.low) * plot.width
            up = plot.bottom - (y - bottom) / (top - bottom) * plot.height
            return np.stack([across, up], axis=1)

        axes.paint(canvas, whole, plot, theme)
        unit = size / LETTERS
        with canvas.clip(plot.x, plot.y, plot.width, plot.height):
            good = np.isfinite(self.points).all(axis=1)
            canvas.discs(place(*self.points[good].T), 3.0 * unit, theme.quiet)
            at = np.linspace(self.low, self.high, len(self.outputs))
            canvas.line(place(at, self.outputs), theme.accent, width=2.5 * unit)
            if self.focus is not None:
                x, y = place(*np.array([self.focus]).T)[0].tolist()
                paint_frame(canvas, x, y, 7.0 * unit, theme.ink)
        if below:
            foot = Box(plot.x, whole.bottom + 0.5 * LINE * size, plot.width, LINE * size)
            marks = [
                ("line", theme.accent, text("exhibits.output")),
                ("dot", theme.quiet, text("exhibits.samples")),
            ]
            if self.focus is not None:
                marks.append(("frame", theme.ink, text("exhibits.in_use")))
            paint_key(canvas, foot, marks, theme)
