"""The confusion matrix of a classifier, drawn on a canvas or in a terminal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts import text
from scalarviz.pictures.draw2d.canvas import Canvas2D
from scalarviz.pictures.draw2d.colors import ColorMap, contrast, rgb
from scalarviz.pictures.draw2d.theme import Theme
from scalarviz.pictures.view.exhibits.exhibit import letter_size
from scalarviz.pictures.view.scene.frame import Box

Counts = npt.NDArray[np.int64]

RIGHT, WRONG = -0.62, 0.8  # places on the color map for correct and for wrong cells
FAINTEST = 0.4  # color strength of a cell with a single case
# On a canvas, relative to the size of text: left of the cells, above them, and their least height.
LABELS, HEAD, CELL = 1.2, 1.6, 1.2


@final
@dataclass(frozen=True)
class Confusion:
    """A confusion matrix: one row per true class, one column per predicted class."""

    counts: Counts

    @property
    def right(self) -> int:
        return int(np.trace(self.counts))

    @property
    def all(self) -> int:
        return int(self.counts.sum())

    @property
    def accuracy(self) -> float:
        return self.right / max(1, self.all)

    def worst(self) -> tuple[int, int, int]:
        """Return the pair confused most often: true class, predicted class, number of cases."""
        wrong = self.counts - np.diag(np.diag(self.counts))
        true, said = divmod(int(wrong.argmax()), len(wrong))
        return true, said, int(wrong[true, said])

    def colors(self, ground: FloatArray, map: ColorMap) -> FloatArray:
        """Return a color per cell, stronger with its share of the row; empty cells are `ground`."""
        share = self.counts / np.maximum(1, self.counts.sum(axis=1, keepdims=True))
        strength = np.where(share > 0.0, FAINTEST + (1.0 - FAINTEST) * share, 0.0)
        full = map(np.where(np.eye(len(share)) > 0.0, RIGHT, WRONG))
        mixed: FloatArray = ground + strength[..., np.newaxis] * (full - ground)
        return mixed

    def paint(self, canvas: Canvas2D, box: Box, theme: Theme) -> None:
        """Draw the cells with their counts, the true classes at the left, and the axes above."""
        size, count = letter_size(canvas), len(self.counts)
        left, top = box.x + LABELS * size, box.y + HEAD * size
        wide, high = (box.right - left) / count, (box.bottom - top) / count
        colors = self.colors(rgb((theme.tray,))[0], theme.map).reshape(-1, 3)
        row, column = np.divmod(np.arange(count * count), count)
        places = np.stack([left + column * wide, top + row * high], axis=1)
        canvas.boxes(places, (wide - 1.0, high - 1.0), colors, radius=1.5)
        for words in (text("exhibits.confusion.axes"), text("exhibits.confusion.short")):
            if canvas.measure(words, size=size) <= box.right - left:
                canvas.text(left, box.y + size, words, size=size, color=theme.quiet)
                break
        base = 0.5 * high + 0.36 * size - 0.5
        ink = readable_on(colors)
        for i in range(count):
            y = top + i * high + base
            canvas.text(box.x, y, str(i), size=size, color=theme.quiet)
        for i in np.flatnonzero(self.counts.ravel()).tolist():
            words = str(self.counts.flat[i])
            if canvas.measure(words, size=size) <= wide - 3.0:
                x, y = places[i] + (0.5 * (wide - 1.0), base)
                canvas.text(x, y, words, size=size, color=ink[i], anchor="center")


def readable_on(colors: FloatArray) -> FloatArray:
    """Return black or white for each color, whichever has more contrast: at least 4.5."""
    black, white = np.zeros(3), np.ones(3)
    better = contrast(colors, white) >= contrast(colors, black)
    read: FloatArray = np.where(better[:, np.newaxis], white, black)
    return read
