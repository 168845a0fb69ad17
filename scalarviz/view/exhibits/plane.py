"""Map of a network's output over a square of the plane, with the samples on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from rich.segment import Segment

from scalarviz.checks.numbers import FloatArray
from scalarviz.draw2d.canvas import Canvas2D
from scalarviz.draw2d.colors import rgb
from scalarviz.draw2d.text_blocks import QUIET, Block
from scalarviz.draw2d.theme import Theme
from scalarviz.view.exhibits.exhibit import BlockStyle, Exhibit, letters, pixels, resized
from scalarviz.view.scene.frame import Box

FAINT = 0.55  # color strength of the map; samples have full strength
CROWDED = 0.3  # samples per pixel; further samples are not drawn
LEAST_SIDE = 6  # lines


@final
@dataclass(frozen=True)
class Plane(Exhibit):
    """A map of a network's output; below `middle` is blue, above is orange.

    values   (rows, columns), the outputs at cell centers; the first row is the top
    reach    distance from the middle to the strongest colors
    points   samples, one per row; (0, 0) is the lower left corner, (1, 1) the upper right
    targets  targets of the samples
    answers  one line of text per sample, if they are few
    """

    values: FloatArray
    middle: float
    reach: float
    points: FloatArray
    targets: FloatArray
    answers: Sequence[str] = ()
    title: str = ""

    def lines(self, width: int, room: int) -> int:
        widest = (self.widest(width) - 4 - self.beside) // 2
        return min(room * 2 // 3, max(widest, LEAST_SIDE) + 2)

    def columns(self, width: int, height: int) -> int:
        wanted = max(2 * height + self.beside, len(self.title) + 2)
        return min(wanted + 4, self.widest(width))

    @property
    def beside(self) -> int:
        """Columns that the answers take."""
        return 3 + max(map(len, self.answers)) if self.answers else 0

    def widest(self, width: int) -> int:
        return width * 3 // 5 if self.answers else width * 11 // 20

    def block(self, look: BlockStyle, width: int, height: int) -> Block:
        room = width - self.beside if width - self.beside >= 2 * LEAST_SIDE else width
        side = max(1, min(height, room // 2))
        block = self.map(look, side)
        spare = width - 2 * side
        top = max(0, (side - len(self.answers)) // 2)
        for i, answer in enumerate(self.answers):
            if top + i < side and spare > len(answer) + 1:
                block[top + i] = [*block[top + i], Segment(f"  {answer}", QUIET)]
        return block

    def map(self, look: BlockStyle, side: int) -> Block:
        """Return the map alone, `side` lines high."""
        signed = (resized(self.values, 2 * side, 2 * side) - self.middle) / self.reach
        row, column = self.places(2 * side)
        wanted = np.where(self.targets > self.middle, 1.0, -1.0)[: len(row)]
        if not look.color:
            block = letters(signed.reshape(side, 2, -1).mean(axis=1) / 2.0 + 0.5)
            for y, x, sign in zip(row // 2, column, wanted, strict=True):
                text = block[y][0].text
                block[y] = [Segment(text[:x] + ("x" if sign > 0.0 else "o") + text[x + 1 :])]
            return block
        colors = look.paper + FAINT * (look.map(signed) - look.paper)
        colors[row, column] = look.map(wanted)
        return pixels(colors, look)

    def places(self, side: int) -> tuple[FloatArray, FloatArray]:
        """Return rows and columns of the samples that are drawn."""
        shown = self.points[: int(CROWDED * side * side) or 1]
        inside = np.clip(np.stack([1.0 - shown[:, 1], shown[:, 0]]), 0.0, 1.0)
        row, column = np.minimum((inside * side).astype(int), side - 1)
        return row, column

    def height(self, width: float) -> float:
        return width + 17.0 * len(self.answers) + 8.0 * bool(self.answers)

    def paint(self, canvas: Canvas2D, box: Box, theme: Theme) -> None:
        """Draw the map, the samples as discs in the color of their target, and the answers."""
        lines = 17.0 * len(self.answers) + 8.0 * bool(self.answers)
        if box.height - lines < 80.0:
            lines = 0.0
        side = min(box.width, box.height - lines)
        left = box.x + (box.width - side) / 2.0
        signed = (self.values - self.middle) / self.reach
        ground = rgb((theme.ground,))[0]
        colors = ground + FAINT * (theme.map(signed) - ground)
        canvas.image(left, box.y, side, side, colors, smooth=True, outline=theme.rim)
        inside = np.clip(np.stack([self.points[:, 0], 1.0 - self.points[:, 1]], axis=1), 0.0, 1.0)
        places = np.array([left, box.y]) + inside * side
        wanted = np.where(self.targets > self.middle, 0.8, -0.8)
        radius = 7.0 if len(places) <= 8 else 3.4
        canvas.discs(places, radius, theme.map(wanted), outline=theme.ground, line=1.2)
        for i, answer in enumerate(self.answers if lines else ()):
            y = box.y + side + 20.0 + 17.0 * i
            words = canvas.fit(answer, box.width, size=11.5)
            canvas.text(box.x, y, words, size=11.5, color=theme.quiet)

    def words(self) -> list[str]:
        return list(self.answers)
