"""Color swatches: inputs, outputs and targets of a network that maps colors to colors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts import text
from scalarviz.pictures.draw2d.canvas import Canvas2D
from scalarviz.pictures.draw2d.colors import contrast, rgb, to_bytes
from scalarviz.pictures.draw2d.theme import Theme
from scalarviz.pictures.view.exhibits.exhibit import (
    Exhibit,
    letter_size,
    part_of_stage,
)
from scalarviz.pictures.view.scene.frame import Box

# On a canvas, relative to a square: gap between rows, gap between inputs and outputs, room for the
# frame of a row at both sides.
GAP, BETWEEN, FRAME = 14.0 / 44.0, 0.24, 0.14
ROW = 3.0 + BETWEEN + 2.0 * FRAME
NEARLY = 0.1  # distance of each channel from its target below which a color is nearly right
PALE = 1.5  # contrast to the ground below which swatches have an outline
WIDEST = 1.35  # width of a swatch relative to its height, at most
SHORT = 9.0  # pixels of a swatch below which there are no names above the rows
# In a box so much wider than high samples are columns; the names left of them take at most HEAD of
# its width.
ACROSS, HEAD = 1.2, 0.25


class Places(NamedTuple):
    """Where the colors of inputs, outputs and targets stand.

    corners  (3, samples, 2) upper left corners in pixels
    size     width and height of each
    """

    corners: FloatArray
    size: FloatArray


@final
@dataclass(frozen=True)
class Swatches(Exhibit):
    """Colors from 0 to 1, one row per sample: inputs, outputs and targets.

    Outputs of NaN are not computed yet, and are drawn empty.
    """

    inputs: FloatArray
    outputs: FloatArray
    targets: FloatArray
    title: str = ""
    _boxes: list[Box] = field(default_factory=list, repr=False, compare=False)  # of the inputs

    def verdict(self) -> str:
        right, count = self.score()
        return text("exhibits.nearly_right", right=right, count=count)

    def score(self) -> tuple[int, int]:
        off = np.abs(self.outputs - self.targets).max(axis=1)
        return int(np.count_nonzero(off < NEARLY)), len(off)

    def wanted(self, width: float, height: float) -> float:
        return part_of_stage(170.0, width, height)

    def paint(self, canvas: Canvas2D, box: Box, theme: Theme) -> None:
        """Draw its input for each sample, and its output touching its target.

        Samples are rows; in a wide box, columns.
        """
        across = box.width > ACROSS * box.height
        places = self._columns(canvas, box, theme) if across else self._rows(canvas, box, theme)
        if places is None:
            return
        wide, tall = places.size
        corners = places.corners
        self._boxes[:] = [Box(x, y, wide, tall) for x, y in corners[0].tolist()]
        for at, colors in zip(corners, (self.inputs, self.outputs, self.targets), strict=True):
            known = ~np.isnan(colors).all(axis=1)
            canvas.boxes(at[known], (wide, tall), clear(colors[known]))
            canvas.boxes(at[~known], (wide, tall), None, outline=theme.ghost)
        ground = rgb((theme.ground,))
        for at, parts in ((corners[0], [self.inputs]), (corners[1], [self.outputs, self.targets])):
            pale = np.min([contrast(clear(colors), ground) for colors in parts], axis=0) < PALE
            whole = (wide, len(parts) * tall) if across else (len(parts) * wide, tall)
            canvas.boxes(at[pale], whole, None, outline=theme.ghost)

    def _rows(self, canvas: Canvas2D, box: Box, theme: Theme) -> Places | None:
        """Return where the colors stand if samples are rows, and write the names above them."""
        size, count = letter_size(canvas), len(self.inputs)
        head = 1.7 * size
        tall = min((box.height - head) / (count + GAP * (count + 1)), box.width / ROW)
        wide = min(box.width / ROW, WIDEST * tall)
        if tall < SHORT:  # no room for names
            head = 0.0
            tall = min(box.height / (count + GAP * (count + 1)), box.width / ROW)
            wide = min(box.width / ROW, WIDEST * tall)
        if tall < 3.0:
            return None
        wide, tall = float(int(wide)), float(int(tall))  # whole pixels have sharp edges
        gap, pitch = GAP * tall, (1.0 + GAP) * tall
        left = box.x + 0.5 * (box.width - ROW * wide) + FRAME * wide
        top = box.y + 0.5 * (box.height + head + gap - count * pitch)
        places = np.round(left + wide * np.array([0.0, 1.0 + BETWEEN, 2.0 + BETWEEN]))
        names = names_of_parts()
        measured = [canvas.measure(name, size=size) for name in names]
        if head and max(0.5 * (measured[1] + measured[2]) + 4.0, *measured[:1]) <= wide:
            for name, x in zip(names, places.tolist(), strict=True):
                x, y = x + 0.5 * wide, top - gap
                canvas.text(x, y, name, size=size, color=theme.quiet, anchor="center")
        rows = np.round(top + pitch * np.arange(count))
        corners = np.stack([np.stack([np.full(count, x), rows], axis=1) for x in places])
        return Places(corners, np.array([wide, tall]))

    def _columns(self, canvas: Canvas2D, box: Box, theme: Theme) -> Places | None:
        """Return where the colors stand if samples are columns, and write the names left."""
        size, count = letter_size(canvas), len(self.inputs)
        names = names_of_parts()
        tall = box.height / ROW
        measured = max(canvas.measure(name, size=size) for name in names) + size
        head = measured if tall >= size and measured < HEAD * box.width else 0.0
        places = count + GAP * (count + 1)
        wide = min((box.width - head) / places, WIDEST * tall)
        tall = min(tall, WIDEST * wide)
        if min(wide, tall) < 3.0:
            return None
        wide, tall = float(int(wide)), float(int(tall))
        gap, pitch = GAP * wide, (1.0 + GAP) * wide
        left = box.x + head + 0.5 * (box.width - head - places * wide) + gap
        top = box.y + 0.5 * (box.height - ROW * tall) + FRAME * tall
        rows = np.round(top + tall * np.array([0.0, 1.0 + BETWEEN, 2.0 + BETWEEN]))
        if head:
            for name, y in zip(names, rows.tolist(), strict=True):
                x, y = left - gap - 0.5 * size, y + 0.5 * tall + 0.36 * size
                canvas.text(x, y, name, size=size, color=theme.quiet, anchor="right")
        columns = np.round(left + pitch * np.arange(count))
        corners = np.stack([np.stack([columns, np.full(count, y)], axis=1) for y in rows])
        return Places(corners, np.array([wide, tall]))

    def inputs_at(self, x: float, y: float) -> Mapping[int, float]:
        """Return the input colour at a pixel."""
        for box, color in zip(self._boxes, self.inputs.tolist(), strict=False):
            if box.has(x, y):
                return dict(enumerate(color))
        return {}

    def words(self) -> list[str]:
        return [
            " ".join([f"{name:8}", *(f"#{code.tobytes().hex()}" for code in to_bytes(colors))])
            for name, colors in (
                (text("exhibits.inputs"), self.inputs),
                (text("exhibits.outputs"), self.outputs),
                (text("exhibits.targets"), self.targets),
            )
        ]


def names_of_parts() -> list[str]:
    """Return what inputs, outputs and targets are called."""
    return [text(f"exhibits.swatches.{name}") for name in ("input", "output", "target")]


def clear(colors: FloatArray) -> FloatArray:
    """Return outputs of a network clipped and rounded to colors that can be shown."""
    return to_bytes(colors) / 255.0
