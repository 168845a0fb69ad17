"""Images side by side, such as target, output and difference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, final

from rich.segment import Segment

from scalarviz.checks.numbers import FloatArray
from scalarviz.draw2d.canvas import Canvas2D
from scalarviz.draw2d.text_blocks import QUIET, Block
from scalarviz.draw2d.theme import Theme
from scalarviz.view.exhibits.exhibit import BlockStyle, Exhibit, pixels, resized
from scalarviz.view.scene.frame import Box

GAP = 2  # columns between two images
LOSS = 7  # lines kept free for the loss curve


@final
@dataclass(frozen=True)
class Pictures(Exhibit):
    """Images of one size, (height, width, 3) with numbers from 0 to 1, by name."""

    pictures: Mapping[str, FloatArray]
    said: str = ""
    title: str = ""
    aside: str = ""
    wide: ClassVar[bool] = True

    def lines(self, width: int, room: int) -> int:
        return min(max(room - LOSS, room // 2), self.size(width - 4, room)[0] + 3)

    def columns(self, width: int, height: int) -> int:
        return width

    def size(self, width: int, height: int) -> tuple[int, int]:
        """Return the lines and columns of one image, as large as they fit."""
        rows, columns, _ = next(iter(self.pictures.values())).shape
        each = max(1, (width + GAP) // len(self.pictures) - GAP)
        lines = min(max(1, height), max(1, round(each * rows / columns / 2)))
        return lines, min(each, max(1, round(2 * lines * columns / rows)))

    def block(self, look: BlockStyle, width: int, height: int) -> Block:
        lines, columns = self.size(width, height - 1)
        spare = " " * min(8, (width - len(self.pictures) * columns) // max(1, len(self.pictures)))
        block: Block = [
            [Segment(f"{name[:columns]:{columns}}{spare}", QUIET) for name in self.pictures]
        ]
        shown = [
            pixels(resized(picture, 2 * lines, columns), look) for picture in self.pictures.values()
        ]
        for parts in zip(*shown, strict=True):
            block.append([segment for part in parts for segment in (*part, Segment(spare))])
        return block

    def height(self, width: float) -> float:
        rows, columns, _ = next(iter(self.pictures.values())).shape
        return float(len(self.pictures) * (0.72 * width * rows / columns + 22.0))

    def paint(self, canvas: Canvas2D, box: Box, theme: Theme) -> None:
        """Draw the images below each other or side by side, whichever makes them larger."""
        rows, columns, _ = next(iter(self.pictures.values())).shape
        count, title, gap = len(self.pictures), 18.0, 10.0
        stacked = min(box.width / columns, (box.height / count - title - 4.0) / rows)
        beside = min(((box.width + gap) / count - gap) / columns, (box.height - title) / rows)
        scale = max(stacked, beside, 0.01)
        wide, high = scale * columns, scale * rows
        x, y = box.x, box.y
        for name, picture in self.pictures.items():
            words = canvas.fit(name, wide if beside > stacked else box.width, size=11)
            canvas.text(x, y + 11.0, words, size=11, color=theme.quiet)
            canvas.image(x, y + title, wide, high, picture, smooth=scale < 1.0)
            if beside > stacked:
                x += wide + gap
            else:
                y += high + title + 4.0

    def words(self) -> list[str]:
        return [self.said] if self.said else []
