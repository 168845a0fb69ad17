"""Color swatches: inputs, outputs and targets of a network that maps colors to colors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from rich.segment import Segment

from scalarviz.checks.numbers import FloatArray
from scalarviz.draw2d.canvas import Canvas2D
from scalarviz.draw2d.colors import to_bytes
from scalarviz.draw2d.text_blocks import QUIET, Block, paint
from scalarviz.draw2d.theme import Theme
from scalarviz.texts import text
from scalarviz.view.exhibits.exhibit import BlockStyle, Exhibit
from scalarviz.view.scene.frame import Box

LABEL = 7  # columns left of the swatches
LEAST, GOOD = 5, 8  # lines
# Directions of red, green and blue in the picture of the color cube: right, down.
AXES = np.array([[0.82, 0.42], [-0.82, 0.42], [0.0, -0.98]])
CORNERS = np.array([(r, g, b) for r in (0.0, 1.0) for g in (0.0, 1.0) for b in (0.0, 1.0)])


@final
@dataclass(frozen=True)
class Swatches(Exhibit):
    """Colors from 0 to 1, one row per sample: inputs, outputs and targets."""

    inputs: FloatArray
    outputs: FloatArray
    targets: FloatArray
    title: str = ""

    def lines(self, width: int, room: int) -> int:
        return min(GOOD, max(LEAST, room // 3))

    def block(self, look: BlockStyle, width: int, height: int) -> Block:
        """Return three rows of swatches; outputs touch their targets."""
        gap = int(height > 5)
        side = min(8, max(1, (width - LABEL + 1) // len(self.inputs) - 1))
        first = min(3, max(1, (height - gap) // 3))
        tall = min(6, max(1, (height - gap - first) // 2))
        block = rows(text("exhibits.input"), self.inputs, side, first, look.color)
        block += [[]] * gap
        block += rows(text("exhibits.output"), self.outputs, side, tall, look.color)
        return block + rows(text("exhibits.target"), self.targets, side, tall, look.color)

    def height(self, width: float) -> float:
        return 100.0 + 0.92 * width

    def paint(self, canvas: Canvas2D, box: Box, theme: Theme) -> None:
        """Draw the rows of swatches, and the same colors as points in the RGB cube."""
        left = 46.0
        side = (box.width - left) / len(self.inputs)
        high = min(24.0, side - 3.0, box.height / 4.0)
        for name, colors, top, tall in (
            (text("exhibits.input"), self.inputs, 0.0, high),
            (text("exhibits.output"), self.outputs, high + 6.0, high),
            (text("exhibits.target"), self.targets, 2.0 * high + 6.0, high),
        ):
            y = box.y + top
            canvas.text(box.x, y + tall / 2 + 4.0, name, size=11, color=theme.quiet)
            x = box.x + left + side * np.arange(len(colors))
            places = np.stack([x, np.full(len(colors), y)], axis=1)
            canvas.boxes(places, (side - 3.0, tall), clear(colors))
        top = 3.0 * high + 16.0
        if box.height - top > 70.0:
            self.paint_cube(canvas, Box(box.x, box.y + top, box.width, box.height - top), theme)

    def paint_cube(self, canvas: Canvas2D, box: Box, theme: Theme) -> None:
        """Draw the RGB cube along its diagonal: targets are rings, outputs are discs."""
        size = min(box.width / 1.75, (box.height - 18.0) / 2.0)
        middle = np.array([box.x + box.width / 2.0, box.y + (box.height - 14.0) / 2.0])

        def place(colors: FloatArray) -> FloatArray:
            flat: FloatArray = middle + size * ((colors - 0.5) @ AXES)
            return flat

        ends = np.array([(a, b) for a in CORNERS for b in CORNERS if np.sum(np.abs(a - b)) == 1.0])
        ends = ends[ends[:, 0].sum(axis=1) < ends[:, 1].sum(axis=1)]
        for part in range(12):
            a = ends[:, 0] + (ends[:, 1] - ends[:, 0]) * part / 12.0
            b = ends[:, 0] + (ends[:, 1] - ends[:, 0]) * (part + 1) / 12.0
            shade = np.c_[(a + b) / 2.0, np.full(len(a), 0.75)]
            canvas.segments(place(a), place(b), shade, width=1.5)
        outputs, targets = clear(self.outputs), clear(self.targets)
        canvas.segments(place(outputs), place(targets), theme.quiet, width=1.2)
        canvas.discs(place(targets), 7.0, None, outline=theme.ink, line=3.6)
        canvas.discs(place(targets), 6.4, None, outline=targets, line=2.4)
        canvas.discs(place(outputs), 4.6, outputs, outline=theme.ink, line=1.0)
        canvas.text(
            box.x + box.width / 2.0,
            box.bottom - 2.0,
            text("exhibits.swatches.legend"),
            size=11,
            color=theme.quiet,
            anchor="center",
        )

    def words(self) -> list[str]:
        return [
            " ".join([f"{name:8}", *(f"#{code.tobytes().hex()}" for code in to_bytes(colors))])
            for name, colors in (
                (text("exhibits.inputs"), self.inputs),
                (text("exhibits.outputs"), self.outputs),
                (text("exhibits.targets"), self.targets),
            )
        ]


def clear(colors: FloatArray) -> FloatArray:
    """Return outputs of a network clipped and rounded to colors that can be shown."""
    return to_bytes(colors) / 255.0


def rows(name: str, colors: FloatArray, side: int, height: int, color: bool) -> Block:
    """Return `height` lines of swatches, named in the middle line."""
    codes = [tuple(code) for code in to_bytes(colors).tolist()]
    block = []
    for i in range(height):
        named = i == (height - 1) // 2
        line = [Segment(f"{name if named else '':{LABEL}}", QUIET)]
        for code in codes:
            digits = hexadecimal(code, side) if named and not color else ""
            line += [Segment(f"{digits:{side}}", paint(*code) if color else None), Segment(" ")]
        block.append(line)
    return block


def hexadecimal(code: tuple[int, ...], width: int) -> str:
    """Return a color as six or three hexadecimal digits, or "", by the width available."""
    if width >= 6:
        return "".join(f"{part:02x}" for part in code)
    return "".join(f"{part // 16:x}" for part in code) if width >= 3 else ""
