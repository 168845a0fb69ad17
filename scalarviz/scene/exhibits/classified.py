"""Classified images: sorted into columns by predicted class, and counted in a confusion matrix."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, final

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts import text
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import ColorMap, Theme, contrast, faded, rgb, to_bytes
from scalarviz.scene.exhibits.answers import paint_tile
from scalarviz.scene.exhibits.exhibit import (
    BESIDE,
    HEAD,
    LETTERS,
    RIGHT_YET,
    Exhibit,
    Places,
    letter_size,
)
from scalarviz.scene.layout.division import Box

Classes = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

ROWS = 8  # rows of images that stand above a matrix
LEAST_ROW = 0.98  # least height of a row above a matrix, relative to the width of a column
TILE = 3.6  # side of answer and goal, relative to the size of text
BADGE = 2.2  # least width of an image with a class in its corner, relative to the size of text


@final
@dataclass(frozen=True, eq=False)
class Sorting(Exhibit):
    """Images, each in the column of the class that a network predicts, and a confusion matrix.

    pictures   (n, height, width), ink from 0 to 1
    labels     true classes; `said` are the predicted ones
    confusion  the matrix of these images and of more; `of` is the word for them
    focus      predicted and true class of the sample in use; None: those of the first image
    says       whether it writes how right it is, and was; by default True
    """

    pictures: FloatArray
    labels: Classes
    said: Classes
    confusion: ConfusionMatrix
    of: str
    focus: tuple[int | None, int | None] | None = None
    says: bool = True
    _made: dict[tuple[str, int, int, int], Bytes] = field(default_factory=dict, init=False)
    wide = 352.0

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
        column = np.repeat(np.arange(count), [len(each) for each in shown])
        chosen = [own[: len(each)] for own, each in zip(self.order, shown, strict=True)]
        left = [len(own) - len(each) for own, each in zip(self.order, shown, strict=True)]
        return np.concatenate(chosen), np.concatenate(shown), column, np.array(left)

    def words(self) -> list[str]:
        table = self.confusion
        counts = {"right": table.right, "count": table.all, "share": 100.0 * table.accuracy}
        said = text("exhibits.sorting.right", of=self.of, **counts)
        true, taken, times = table.worst()
        wrong = {"true": true, "taken": taken, "times": times}
        return [text("exhibits.sorting.worst", right=said, **wrong) if times > 1 else said]

    def score(self) -> tuple[int, int]:
        return self.confusion.right, self.confusion.all

    def marked(
        self,
        inputs: FloatArray,
        outputs: FloatArray | None = None,
        target: FloatArray | None = None,
    ) -> Sorting:
        """Return the exhibit with the answer and the goal of the sample in use."""
        said, label = (
            None if each is None or np.isnan(each).any() else int(each.argmax())
            for each in (outputs, target)
        )
        return replace(self, focus=(said, label))

    def headed(self) -> Sorting:
        return replace(self, says=False)

    def places(self, box: Box, scale: float) -> Places:
        size = LETTERS * scale
        side = min(TILE * size, box.height - HEAD * size, 0.25 * box.width)
        out = Box(box.x, box.y + HEAD * size, max(1.0, side), max(1.0, side))
        goal = replace(out, x=out.right + BESIDE * size)
        left = goal.right + size
        return Places(out, goal, Box(left, out.y, max(1.0, box.right - left), out.height))

    def paint(self, canvas: Canvas2D, box: Box, theme: Theme) -> None:
        """Draw answer and goal, the images in columns, and the matrix if it leaves them large."""
        size, count = letter_size(canvas), len(self.order)
        across = (box.width - LABELS * size) / count
        if across < 4.0:
            return
        places = self.places(box, canvas.scale)
        self.paint_heads(canvas, places, theme)
        shown = (self.said[0], self.labels[0]) if self.focus is None else self.focus
        for place, kind in zip(places[:2], shown, strict=True):
            paint_tile(canvas, place, [] if kind is None else [str(kind)], theme)
        if self.says:
            self._paint_verdict(canvas, places.foot, theme)
        left, top = box.x + LABELS * size, places.out.bottom + 0.5 * size
        heads, gap, table = 1.7 * size, 0.8 * size, (HEADS + count * CELL) * size
        cell = min(across, (box.bottom - top - heads - gap - table) / ROWS)
        if cell < LEAST_ROW * across or across < 2.0 * size:
            cell, table = across, -gap
        rows = min(int((box.bottom - top - heads - gap - table) / cell), len(self.said))
        if rows < 1:
            return
        above = Box(left, top, count * across, heads + rows * cell)
        self._paint_pictures(canvas, above, rows, theme)
        if table > 0.0:
            below = Box(box.x, above.bottom + gap, box.width, box.bottom - above.bottom - gap)
            self.confusion.paint(canvas, below, theme)

    def _paint_verdict(self, canvas: Canvas2D, foot: Box, theme: Theme) -> None:
        """Write how right it is, and below it how right it was at step 0."""
        size, base = letter_size(canvas), foot.y + 0.5 * foot.height
        large, (right, all_of_them) = RIGHT_YET / LETTERS * size, self.score()
        shapes = self.verdict(), text("exhibits.right.short", right=right, count=all_of_them)
        canvas.text(
            foot.x,
            base - 0.2 * size,
            canvas.first_fit(shapes, foot.width, size=large, bold=True),
            size=large,
            color=theme.ink,
            bold=True,
            room=foot.width,
        )
        if self.first is not None:
            canvas.text(
                foot.x,
                base + 1.3 * size,
                f"{self.since}: {self.first.verdict()}",
                size=size,
                color=theme.quiet,
                room=foot.width,
            )

    def _paint_pictures(self, canvas: Canvas2D, box: Box, rows: int, theme: Theme) -> None:
        """Draw the columns under their classes."""
        size, count = letter_size(canvas), len(self.order)
        across, left, top = box.width / count, box.x, box.y + 1.7 * size
        cell = (box.bottom - top) / rows
        look: dict[str, Any] = {"size": size, "anchor": "center"}
        for i in range(count) if across > 0.8 * size else ():
            x = left + (i + 0.5) * across
            canvas.text(x, box.y + size, str(i), color=theme.ink, bold=True, **look)
        line = top - 0.3 * size
        canvas.segments([(left, line)], [(box.right, line)], theme.faint)
        chosen, row, column, lacking = self.standing(rows)
        high, wide = self.pictures.shape[1:]
        gap = max(1, wide // 6)
        pitch = round(across / cell * (wide + gap))  # in pixels of the images
        image = self._tiles(theme, rows, gap, pitch)
        smooth = cell * canvas.ratio < 2.0 * (wide + gap)
        canvas.image(left, top, box.width, rows * cell, image, smooth=smooth)
        texel = np.array([across, cell]) / [pitch, high + gap]
        side = texel * [wide, high]
        inset = texel * [(pitch - wide) // 2, gap // 2]
        corner = inset + np.stack([left + column * across, top + row * cell], axis=1)
        wrong = self.labels[chosen] != self.said[chosen]
        self._paint_marks(canvas, corner[wrong], side, self.labels[chosen[wrong]], theme)
        for i in np.flatnonzero(lacking).tolist():
            place = left + (i + 0.5) * across, top + (rows - 0.5) * cell + 0.36 * size
            if canvas.measure(words := f"+{lacking[i]}", size=size) < across:
                canvas.text(*place, words, color=theme.quiet, **look)

    def _tiles(self, theme: Theme, rows: int, gap: int, pitch: int) -> Bytes:
        """Return all images as one RGBA image; cached."""
        key = theme.name, rows, gap, pitch
        if key not in self._made:
            count, (high, wide) = len(self.order), self.pictures.shape[1:]
            chosen, row, column, _ = self.standing(rows)
            y = row[:, None] * (high + gap) + gap // 2 + np.arange(high)
            x = column[:, None] * pitch + (pitch - wide) // 2 + np.arange(wide)
            tray, ink = rgb((theme.tray, theme.ink))
            greys = to_bytes(faded(ink, np.linspace(0.0, 1.0, 256)[:, None], tray))
            image = np.zeros((rows * (high + gap), count * pitch, 4), np.uint8)
            places = y[:, :, None], x[:, None, :]
            image[*places, :3] = greys[np.rint(255.0 * self.pictures[chosen]).astype(np.uint8)]
            image[*places, 3] = 255
            self._made[key] = image
        return self._made[key]

    def _paint_marks(
        self, canvas: Canvas2D, corner: FloatArray, side: FloatArray, labels: Classes, theme: Theme
    ) -> None:
        """Frame each image in a wrong column, with its true class in a corner.

        A small image has a filled corner without text.
        """
        size, warning = letter_size(canvas), rgb((theme.worse,))[0]
        ink = readable_on(warning[np.newaxis])[0]
        edge = max(1.0, 0.06 * float(side[0]))
        canvas.boxes(
            corner - edge, side + 2.0 * edge, None, radius=edge, outline=warning, line=edge
        )
        large = float(side.min()) >= BADGE * size
        badge = size * np.array([0.95, 1.1]) if large else 0.3 * side
        place = corner + side + edge - badge
        canvas.boxes(place, badge, warning, radius=edge)
        for (x, y), label in zip(place.tolist() if large else (), labels.tolist(), strict=large):
            x, y = x + 0.475 * size, y + 0.92 * size
            canvas.text(x, y, str(label), size=size, color=ink, bold=True, anchor="center")


# The confusion matrix, drawn on a canvas or in a terminal.

RIGHT, WRONG = -0.62, 0.8  # places on the color map for correct and for wrong cells
FAINTEST = 0.4  # color strength of a cell with a single case
# On a canvas, relative to the size of text: left of the cells, above them, and their least height.
LABELS, HEADS, CELL = 1.2, 1.6, 1.2


@final
@dataclass(frozen=True)
class ConfusionMatrix:
    """A confusion matrix: one row per true class, one column per predicted class."""

    counts: npt.NDArray[np.int64]

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
        return faded(full, strength[..., np.newaxis], ground)

    def paint(self, canvas: Canvas2D, box: Box, theme: Theme) -> None:
        """Draw the cells with their counts, the true classes at the left, and the axes above."""
        size, count = letter_size(canvas), len(self.counts)
        left, top = box.x + LABELS * size, box.y + HEADS * size
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
            canvas.text(box.x, top + i * high + base, str(i), size=size, color=theme.quiet)
        for i in np.flatnonzero(self.counts.ravel()).tolist():
            words = str(self.counts.flat[i])
            if canvas.measure(words, size=size) <= wide - 3.0:
                x, y = places[i] + (0.5 * (wide - 1.0), base)
                canvas.text(x, y, words, size=size, color=ink[i], anchor="center")


def readable_on(colors: FloatArray) -> FloatArray:
    """Return black or white for each color, whichever has more contrast: at least 4.5."""
    black, white = np.zeros(3), np.ones(3)
    better = contrast(colors, white) >= contrast(colors, black)
    return np.where(better[:, np.newaxis], white, black)
