"""Answers: predicted numbers or classes next to their targets, for inputs of any kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts.decimals import short as decimal
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import Theme
from scalarviz.scene.exhibits.exhibit import (
    CORNER,
    LETTERS,
    Exhibit,
    Places,
    in_rows,
    letter_size,
    mean_error,
)
from scalarviz.scene.layout.division import Box

TILE, LARGE = 104.0, 16.0  # side of a tile, and size of a single word on it
ROW = 1.5  # line spacing, relative to the text size


@final
@dataclass(frozen=True)
class Answers(Exhibit):
    """The prediction for one sample next to its target, and the error over all samples.

    Attributes:
        outputs: outputs for the samples, shape (samples, outputs)
        targets: targets of the samples, same shape
        names: names of the outputs, or of the classes if `sorts`
        sorts: whether the targets are classes, so that the largest output is the prediction
        focus: output and target of the current sample, one row each; None means the first sample
    """

    outputs: FloatArray
    targets: FloatArray
    names: Sequence[str]
    sorts: bool = False
    focus: FloatArray | None = None
    wide = 240.0
    small = 0.4

    def marked(
        self,
        inputs: FloatArray,
        outputs: FloatArray | None = None,
        target: FloatArray | None = None,
    ) -> Answers:
        """Return a copy that shows prediction and target of the current sample."""
        return replace(self, focus=in_rows(self.outputs.shape[1], outputs, target))

    def score(self) -> tuple[int, int] | None:
        if not self.sorts:
            return None
        right = self.outputs.argmax(axis=1) == self.targets.argmax(axis=1)
        return int((right & ~np.isnan(self.outputs).any(axis=1)).sum()), len(right)

    def off(self) -> float:
        """Return the mean absolute error over all samples and outputs."""
        return mean_error(self.outputs, self.targets)

    def places(self, box: Box, scale: float) -> Places:
        return self.pair(box, scale, most=TILE * max(scale, box.width / self.wide))

    def paint(self, canvas: Canvas2D, box: Box, theme: Theme) -> None:
        """Draw the prediction next to its target, each on a tile."""
        places = self.places(box, canvas.scale)
        self.paint_heads(canvas, places, theme)
        self.paint_answer(canvas, places.out, theme)
        paint_tile(canvas, places.goal, self._lines(1), theme)
        self.paint_foot(canvas, places, theme)

    def paint_answer(self, canvas: Canvas2D, box: Box, theme: Theme) -> None:
        paint_tile(canvas, box, self._lines(0), theme)

    def _lines(self, row: int) -> list[str]:
        """Return the lines for the current sample: its prediction (row 0) or its target (row 1)."""
        shown = (self.outputs[0], self.targets[0]) if self.focus is None else self.focus
        if np.isnan(shown[row]).any():
            return []
        if self.sorts:
            return [self.names[int(np.argmax(shown[row]))]]
        numbers = [decimal(float(each)) for each in shown[row]]
        return (
            [" ".join(pair).strip() for pair in zip(self.names, numbers, strict=True)]
            if len(numbers) > 1
            else numbers
        )


def paint_tile(canvas: Canvas2D, box: Box, lines: Sequence[str], theme: Theme) -> None:
    """Draw a tile with centered lines of text, leaving out lines that do not fit.

    Wide text is drawn in a smaller font. A number is drawn without its name if both do not fit.
    """
    size = letter_size(canvas)
    canvas.box(*box.place, theme.tray, radius=CORNER * box.width, outline=theme.faint)
    shown = lines[: int(box.height / (ROW * size))]
    large = len(lines) == 1 and box.width > 3.0 * size
    high = LARGE / LETTERS * size if large else size
    wide = max((canvas.measure(line, size=high, bold=large) for line in shown), default=0.0)
    high = max(size, high * min(1.0, 0.94 * box.width / max(1.0, wide)))
    x, y = box.x + 0.5 * box.width, box.y + 0.5 * box.height + 0.36 * high
    for i, line in enumerate(shown):
        words = canvas.fit(line, 0.94 * box.width, size=high, bold=large)
        base = y + ROW * size * (i - 0.5 * (len(shown) - 1))
        if words != line and line[-1].isdigit():
            words = line.rpartition(" ")[2]
        if canvas.measure(words, size=high, bold=large) <= box.width:
            canvas.text(x, base, words, size=high, color=theme.ink, bold=large, anchor="center")
