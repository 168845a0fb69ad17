"""Classified images: sorted into columns by predicted class, and counted in a confusion matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts import text
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import (
    ColorMap,
    Theme,
    contrast,
    faded,
    heat_of,
    rgb,
    shaded,
    to_bytes,
)
from scalarviz.scene.exhibits.exhibit import (
    BESIDE,
    CORNER,
    HEAD,
    LETTERS,
    RIGHT_YET,
    Exhibit,
    Places,
    letter_size,
)
from scalarviz.scene.exhibits.why import (
    Learned,
    Why,
    draw_columns,
    draw_reasons,
    learned_of,
    sure_words,
)
from scalarviz.scene.layout.division import Box

Classes = npt.NDArray[np.int64]

ROWS = 8  # rows of images above a matrix
TILE, SMALLER = 6.5, 3.6  # side of prediction and target, relative to the text size
BELOW = 14.0  # pixels from it to the reasons
SAID = 3.4  # height of the lines with the accuracy
ANSWER = 40.0, 24.0, 16.0, 12.0  # letter sizes of a prediction, the largest that fits


@final
@dataclass(frozen=True, eq=False)
class Sorting(Exhibit):
    """Images in columns of their predicted class, and a confusion matrix.

    Attributes:
        pictures: images, shape (n, height, width), with ink from 0 to 1
        labels: true classes
        said: predicted classes
        confusion: confusion matrix of these and further images
        of: name of the images in the matrix
        focus: predicted and true class of the current sample; None means the first image
        names: names of the classes; default: their numbers
        wrong: some misclassified images, each with its true and predicted class
        answers: outputs for the current sample
        why: support of the prediction by each pixel, or None if unknown
        whole: whether to show all images in columns, and the confusion matrix
        reasons: whether to show the support of the prediction and the misclassified images
    """

    pictures: FloatArray
    labels: Classes
    said: Classes
    confusion: ConfusionMatrix
    of: str
    focus: tuple[int | None, int | None] | None = None
    names: Sequence[str] = ()
    wrong: Sequence[tuple[FloatArray, int, int]] = ()
    answers: Sequence[float] = ()
    why: Why | None = None
    whole: bool = False
    reasons: bool = True
    wide = 252.0

    def words(self) -> list[str]:
        table = self.confusion
        counts = {"right": table.right, "count": table.all, "share": 100.0 * table.accuracy}
        said = text("exhibits.sorting.right", of=self.of, **counts)
        true, taken, times = table.worst()
        wrong = {"true": true, "taken": taken, "times": times}
        return [text("exhibits.sorting.worst", right=said, **wrong) if times > 1 else said]

    @property
    def learned(self) -> list[Learned]:
        """Return the results for new and for known classes; empty if either is missing."""
        if not isinstance(self.first, Sorting) or self.by_hand:
            return []
        counts = self.confusion.counts.sum(axis=1)
        before, after = (np.diag(each.confusion.counts) for each in (self.first, self))
        return learned_of(self.class_names, counts.tolist(), before.tolist(), after.tolist())

    def headline(self, things: str) -> tuple[str, str, str, bool] | None:
        for new in self.learned[:1]:
            words = text("headline.new", classes=new.classes, count=new.count)
            return words, str(new.before), str(new.after), new.after >= new.before
        return super().headline(text("things.unseen"))

    def aside(self) -> str:
        return "".join(text("headline.old", **vars(old)) for old in self.learned[1:])

    def score(self) -> tuple[int, int]:
        return self.confusion.right, self.confusion.all

    def marked(
        self,
        inputs: FloatArray,
        outputs: FloatArray | None = None,
        target: FloatArray | None = None,
    ) -> Sorting:
        """Return a copy that shows prediction and target of the current sample."""
        said, label = (
            None if each is None or np.isnan(each).any() else int(each.argmax())
            for each in (outputs, target)
        )
        answers = [] if said is None or outputs is None else outputs.tolist()
        return replace(self, focus=(said, label), answers=answers, why=None)

    def in_detail(self) -> Sorting:
        return replace(self, whole=True)

    def details(self, box: Box, scale: float) -> Box | None:
        low = self.places(box, scale).out.bottom
        return None if self.whole else Box(box.x, low, box.width, box.bottom - low)

    def headed(self) -> Sorting:
        return replace(self, says=False)

    def above(self, box: Box, scale: float, high: float) -> tuple[Exhibit, Box, Box | None]:
        top = self.places(box, scale).foot.bottom + BELOW * scale
        if self.whole or top + high > box.bottom:
            return super().above(box, scale, high)
        return replace(self, reasons=False), box, Box(box.x, top, box.width, box.bottom - top)

    def places(self, box: Box, scale: float) -> Places:
        size = LETTERS * scale
        side = SMALLER if self.whole else TILE
        side = min(side * size, box.height - HEAD * size, 0.31 * box.width)
        out = Box(box.x, box.y + HEAD * size, max(1.0, side), max(1.0, side))
        goal = replace(out, x=out.right + BESIDE * size)
        high = SAID * size if self.says and box.bottom - out.bottom >= SAID * size else 0.0
        return Places(out, goal, Box(box.x, out.bottom, box.width, high))

    def paint(self, canvas: Canvas2D, box: Box, theme: Theme) -> None:
        """Draw prediction and target, the support of the prediction, and misclassified images."""
        places = self.places(box, canvas.scale)
        self.paint_heads(canvas, places, theme)
        shown = (self.said[0], self.labels[0]) if self.focus is None else self.focus
        for place, kind in zip(places[:2], shown, strict=True):
            self._paint_plate(canvas, place, "" if kind is None else self.class_names[kind], theme)
        if places.foot.height:
            self._paint_verdict(canvas, places.foot, theme)
        if self.answers and shown[1] is not None:
            lines = sure_words(self.answers, shown[1])
            x, size = places.goal.right + letter_size(canvas), letter_size(canvas)
            for i, words in enumerate(lines):
                look: dict[str, Any] = {
                    "size": RIGHT_YET / LETTERS * size if i == 0 else size,
                    "bold": i == 0,
                }
                y = places.out.y + 0.5 * places.out.height + (1.35 * i - 0.7) * size
                color = theme.quiet if i else theme.ink
                canvas.text(x, y, words, color=color, room=box.right - x, **look)
        if self.whole:
            self._paint_all(canvas, box, places, theme)
        elif self.reasons:
            self._paint_reasons(canvas, box, places, theme)

    @property
    def class_names(self) -> Sequence[str]:
        """The names of the classes; default: their numbers."""
        return self.names or [*map(str, range(len(self.confusion.counts)))]

    def _paint_plate(self, canvas: Canvas2D, box: Box, words: str, theme: Theme) -> None:
        """Draw a tile with a prediction in the largest letters that fit."""
        canvas.box(*box.place, theme.tray, radius=CORNER * box.width, outline=theme.faint)
        sizes = [each * canvas.scale for each in ANSWER]
        room, most = 0.9 * box.width, 0.7 * box.height
        fits = [x for x in sizes if x < most and canvas.measure(words, size=x, bold=True) < room]
        high = fits[0] if fits else sizes[-1]
        x, y = box.x + 0.5 * box.width, box.y + 0.5 * box.height + 0.36 * high
        canvas.text(x, y, words, size=high, color=theme.ink, bold=True, anchor="center")

    def _paint_reasons(self, canvas: Canvas2D, box: Box, places: Places, theme: Theme) -> None:
        """Draw the support of the prediction, and below it misclassified images."""
        top = places.foot.bottom + BELOW * canvas.scale
        columns = self.pictures.shape[2]

        def draw_map(shares: list[float], x: float, y: float, cell: float) -> None:
            image = shaded(np.array(shares), heat_of(theme.name)).reshape(-1, columns, 4)
            canvas.image(x, y, image.shape[1] * cell, image.shape[0] * cell, image)

        def draw_picture(i: int, x: float, y: float, wide: float) -> None:
            self._paint_picture(canvas, self.wrong[i][0], (x, y), wide, theme)

        draw_reasons(
            *(canvas, theme, replace(box, y=top, height=box.bottom - top), self.why),
            self.class_names,
            [(true, said) for _, true, said in self.wrong],
            self.confusion.all - self.confusion.right,
            *(draw_map, draw_picture),
        )

    def _paint_all(self, canvas: Canvas2D, box: Box, places: Places, theme: Theme) -> None:
        """Draw all images in columns, and the confusion matrix if it fits."""
        size, count = letter_size(canvas), len(self.confusion.counts)
        left, top = box.x + LABELS * size, places.foot.bottom + 0.5 * size
        across, gap, table = (box.right - left) / count, 0.8 * size, (HEADS + count * CELL) * size
        if across < 4.0:
            return
        low = top + 1.7 * size + ROWS * across
        if low + gap + table <= box.bottom and across >= 2.0 * size:
            below = Box(box.x, low + gap, box.width, box.bottom - low - gap)
            self.confusion.paint(canvas, below, theme)
        else:
            low = box.bottom
        above = Box(left, top, box.right - left, low - top)
        samples = [*zip(self.said.tolist(), self.labels.tolist(), strict=True)]

        def draw_picture(i: int, x: float, y: float, wide: float) -> None:
            self._paint_picture(canvas, self.pictures[i], (x, y), wide, theme)

        draw_columns(canvas, theme, above, self.class_names, samples, draw_picture)

    def _paint_picture(
        self,
        canvas: Canvas2D,
        picture: FloatArray,
        corner: tuple[float, float],
        wide: float,
        theme: Theme,
    ) -> None:
        """Draw an image in the colors of a theme."""
        tray, ink = rgb((theme.tray, theme.ink))
        rows, columns = picture.shape
        colors = to_bytes(faded(ink, picture[..., np.newaxis], tray))
        canvas.image(*corner, wide, wide * rows / columns, colors)

    def _paint_verdict(self, canvas: Canvas2D, foot: Box, theme: Theme) -> None:
        """Write the accuracy, and below it the accuracy at step 0."""
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


# The confusion matrix, drawn on a canvas or in a terminal.

RIGHT, WRONG = -0.62, 0.8  # positions on the color map for correct and for wrong cells
FAINTEST = 0.4  # color strength of a cell with a single case
# On a canvas, relative to the text size: left of the cells, above them, and minimum height.
LABELS, HEADS, CELL = 1.2, 1.6, 1.2


@final
@dataclass(frozen=True)
class ConfusionMatrix:
    """A confusion matrix with one row per true class and one column per predicted class."""

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
        """Return the most frequent confusion: true class, predicted class and number of samples."""
        wrong = self.counts - np.diag(np.diag(self.counts))
        true, said = divmod(int(wrong.argmax()), len(wrong))
        return true, said, int(wrong[true, said])

    def colors(self, ground: FloatArray, map: ColorMap) -> FloatArray:
        """Return the color of each cell by its share of the row; empty cells are `ground`."""
        share = self.counts / np.maximum(1, self.counts.sum(axis=1, keepdims=True))
        strength = np.where(share > 0.0, FAINTEST + (1.0 - FAINTEST) * share, 0.0)
        full = map(np.where(np.eye(len(share)) > 0.0, RIGHT, WRONG))
        return faded(full, strength[..., np.newaxis], ground)

    def paint(self, canvas: Canvas2D, box: Box, theme: Theme) -> None:
        """Draw the cells with counts, the true classes on the left, and the axis names above."""
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
    """Return black or white for each color, whichever has more contrast (at least 4.5)."""
    black, white = np.zeros(3), np.ones(3)
    better = contrast(colors, white) >= contrast(colors, black)
    return np.where(better[:, np.newaxis], white, black)
