"""Images sorted into columns by predicted class, and the confusion matrix."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, final

import numpy as np
import numpy.typing as npt
from rich.segment import Segment

from scalarviz.checks.numbers import FloatArray
from scalarviz.draw2d.canvas import Canvas2D
from scalarviz.draw2d.colors import rgb, to_bytes
from scalarviz.draw2d.text_blocks import QUIET, Block, paint
from scalarviz.draw2d.theme import Theme
from scalarviz.texts import text
from scalarviz.view.exhibits.confusion import COLUMNS, LABELS, WRONG, Confusion
from scalarviz.view.exhibits.exhibit import BlockStyle, Exhibit
from scalarviz.view.scene.frame import Box

Classes = npt.NDArray[np.int64]

HEADS = 20.0  # pixels above the columns
ROWS, LEAST_ROWS = 11, 7  # rows of images: wanted, and at least
TABLE = 0.72  # height of the matrix relative to its width
BESIDE = 0.57  # share of the width for the images if the matrix stands beside them
LEAST_TABLE = 70.0  # least height of the matrix in pixels; it is left out below that
GAP = 10.0  # pixels between the images and the matrix
BADGE = 17.0  # least width of an image, in pixels, with a class in its corner


@final
@dataclass(frozen=True, eq=False)
class Sorting(Exhibit):
    """Images, each in the column of the class that a network predicts, and a confusion matrix.

    pictures   (n, height, width), ink from 0 to 1
    labels     true classes; `said` are the predicted ones
    confusion  the matrix of these images and of more; `of` is the word for them
    """

    pictures: FloatArray
    labels: Classes
    said: Classes
    confusion: Confusion
    of: str
    title: str = ""
    aside: str = ""
    loss_share: ClassVar[float] = 0.28

    @cached_property
    def order(self) -> list[Classes]:
        """The images of each column from the top down, wrong ones first."""
        places = np.lexsort([np.arange(len(self.said)), self.said == self.labels, self.said])
        ends = np.searchsorted(self.said[places], np.arange(1, len(self.confusion.counts)))
        return np.split(places, ends)

    def standing(self, rows: int) -> tuple[Classes, Classes, Classes, Classes]:
        """Return images with their rows and columns, and how many each column leaves out.

        The last row of a column that is too long holds that number.
        """
        count = len(self.order)
        shown = [np.arange(min(len(own), rows) - (len(own) > rows)) for own in self.order]
        row = np.concatenate(shown)
        column = np.repeat(np.arange(count), [len(each) for each in shown])
        chosen = [own[: len(each)] for own, each in zip(self.order, shown, strict=True)]
        left = [len(own) - len(each) for own, each in zip(self.order, shown, strict=True)]
        return np.concatenate(chosen), row, column, np.array(left)

    # In a terminal.

    def lines(self, width: int, room: int) -> int:
        return min(room * 2 // 3, len(self.confusion.counts) + 3)

    def columns(self, width: int, height: int) -> int:
        wanted = COLUMNS * (len(self.confusion.counts) + 1) + 5
        return min(wanted, width * 3 // 5)

    def block(self, look: BlockStyle, width: int, height: int) -> Block:
        """Return the matrix, and below it the classes of the images, or a summary in a line.

        A sign follows the class of a wrongly predicted image.
        """
        table = self.confusion.block(look, width, height)
        if not table:
            counts = {"right": self.confusion.right, "count": self.confusion.all}
            return [[Segment(text("exhibits.sorting.short", **counts)[:width])]]
        rows = min(height - len(table) - 1, max(len(own) for own in self.order))
        if rows < LEAST_ROWS:
            return table
        chosen, row, column, lacking = self.standing(rows)
        lines = [[Segment(" " * COLUMNS)] * (len(self.order) + 1) for _ in range(rows)]
        warning = paint(*to_bytes(look.map([WRONG]))[0].tolist()) if look.color else None
        for picture, i, j in zip(chosen.tolist(), row.tolist(), column.tolist(), strict=True):
            label = int(self.labels[picture])
            wrong = label != self.said[picture]
            words = f"{label}{'!' if wrong else ''}"
            lines[i][j + 1] = Segment(f"{words:>{COLUMNS}}", warning if wrong else None)
        for j in np.flatnonzero(lacking).tolist():
            lines[-1][j + 1] = Segment(f"{f'+{lacking[j]}':>{COLUMNS}}", QUIET)
        return [*table, [], *lines]

    def words(self) -> list[str]:
        table = self.confusion
        counts = {"right": table.right, "count": table.all, "share": 100.0 * table.accuracy}
        said = text("exhibits.sorting.right", of=self.of, **counts)
        true, taken, times = table.worst()
        if times <= 1:
            return [said]
        return [text("exhibits.sorting.worst", right=said, true=true, taken=taken, times=times)]

    # On a canvas.

    def height(self, width: float) -> float:
        cell = (width - LABELS) / len(self.confusion.counts)
        return HEADS + ROWS * cell + GAP + TABLE * width

    def paint(self, canvas: Canvas2D, box: Box, theme: Theme) -> None:
        """Draw the images, and the matrix beside or below them, whichever leaves more room."""
        if box.width > 1.5 * box.height:
            wide = BESIDE * (box.width - GAP)
            self._paint_pictures(canvas, Box(box.x, box.y, wide, box.height), theme)
            wide = box.width - GAP - wide
            high = min(box.height, TABLE * wide + 20.0)
            self.confusion.paint(canvas, Box(box.right - wide, box.y, wide, high), theme)
            return
        table = min(TABLE * box.width, 0.42 * box.height)
        table = table if table >= LEAST_TABLE else -GAP
        above = Box(box.x, box.y, box.width, max(1.0, box.height - table - GAP))
        self._paint_pictures(canvas, above, theme)
        if table > 0.0:
            below = Box(box.x, box.bottom - table, box.width, table)
            self.confusion.paint(canvas, below, theme, heads=False)

    def _paint_pictures(self, canvas: Canvas2D, box: Box, theme: Theme) -> None:
        """Draw the columns under their classes, aligned with the columns of the matrix."""
        count = len(self.order)
        room = box.height - HEADS
        across = (box.width - LABELS) / count
        cell = min(across, room / LEAST_ROWS)
        if cell < 4.0:
            return
        left, top = box.x + LABELS, box.y + HEADS
        rows = min(int(room / cell + 1e-6), max(len(own) for own in self.order))
        size = min(12.0, 0.7 * across)
        for i in range(count):
            x = left + (i + 0.5) * across
            canvas.text(
                x, box.y + 11.0, str(i), size=size, color=theme.ink, bold=True, anchor="center"
            )
        line = box.y + HEADS - 4.0
        canvas.segments([(left, line)], [(box.right, line)], theme.rim)
        chosen, row, column, lacking = self.standing(rows)
        high, wide = self.pictures.shape[1:]
        gap = max(2, wide // 4)
        pitch = round(across / cell * (wide + gap))  # in pixels of the images
        image = self._tiles(theme, rows, gap, pitch)
        canvas.image(left, top, count * across, rows * cell, image, smooth=cell < wide + gap)
        side = np.array([wide, high]) / [pitch, high + gap] * [across, cell]
        corner = np.stack([left + column * across, top + row * cell], axis=1)
        corner = corner + ([across, cell] - side) / 2.0
        wrong = self.labels[chosen] != self.said[chosen]
        self._paint_marks(canvas, corner[wrong], side, self.labels[chosen[wrong]], theme)
        small = min(10.0, 0.55 * across)
        for i in np.flatnonzero(lacking).tolist():
            words = f"+{lacking[i]}"
            words = words if canvas.measure(words, size=small) < across - 2.0 else "+"
            x, y = left + (i + 0.5) * across, top + (rows - 0.5) * cell + 0.36 * small
            canvas.text(x, y, words, size=small, color=theme.quiet, anchor="center")

    def _tiles(self, theme: Theme, rows: int, gap: int, pitch: int) -> FloatArray:
        """Return all images as one RGBA image; cached."""
        key = theme.name, rows, gap, pitch
        if key not in self._made:
            count, (high, wide) = len(self.order), self.pictures.shape[1:]
            chosen, row, column, _ = self.standing(rows)
            y = row[:, None] * (high + gap) + gap // 2 + np.arange(high)
            x = column[:, None] * pitch + (pitch - wide) // 2 + np.arange(wide)
            tray, ink = rgb((theme.tray, theme.ink))
            image = np.zeros((rows * (high + gap), count * pitch, 4))
            colors = tray + self.pictures[chosen][..., None] * (ink - tray)
            image[y[:, :, None], x[:, None, :], :3] = colors
            image[y[:, :, None], x[:, None, :], 3] = 1.0
            self._made[key] = image
        return self._made[key]

    @cached_property
    def _made(self) -> dict[tuple[str, int, int, int], FloatArray]:
        return {}

    def _paint_marks(
        self, canvas: Canvas2D, corner: FloatArray, side: FloatArray, labels: Classes, theme: Theme
    ) -> None:
        """Frame each image in a wrong column, with its true class in a corner.

        A small image has a filled corner without text.
        """
        warning = theme.map([WRONG])[0]
        canvas.boxes(corner - 2.0, side + 4.0, None, radius=2.5, outline=warning, line=1.6)
        large = float(side.min()) >= BADGE
        badge = np.array([9.0, 11.0]) if large else np.array([4.0, 4.0])
        place = corner + side + 3.0 - badge
        canvas.boxes(place, badge, warning, radius=2.0 if large else 1.0)
        for (x, y), label in zip(place.tolist() if large else (), labels.tolist(), strict=large):
            canvas.text(
                x + 4.5,
                y + 9.0,
                str(label),
                size=9.5,
                color=theme.ground,
                bold=True,
                anchor="center",
            )
