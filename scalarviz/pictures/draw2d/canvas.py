"""Canvas2D: a canvas for shapes, text and small images, independent of OpenGL.

The order of calls is the order of drawing. Coordinates are logical pixels, x to the right, y down
from the top left corner. A depth is a window depth, from -1, in front of everything, to 1. A canvas
can be filled, measured and tested without a display.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import cos, isfinite, sin

import numpy as np
import numpy.typing as npt

from scalarviz.pictures.draw2d import batch
from scalarviz.pictures.draw2d.batch import (
    ARROW,
    BOX,
    CAPSULE,
    IMAGE,
    LETTER,
    Batch,
    Color,
    Image,
    Numbers,
    Quads,
    column,
    image_bytes,
    joins,
    packed,
    parallelograms,
    rows_at,
)
from scalarviz.pictures.draw2d.fonts import layout, shortened

Four = tuple[float, float, float, float]
Ends = tuple[Numbers, Numbers]
Cuts = npt.NDArray[np.float64] | float

EVERYWHERE = (-1e9, -1e9, 1e9, 1e9)
HALO = 2.5  # logical pixels around a letter
HEAD = 0.42  # half of the width of an arrow head, by its length


class Canvas2D:
    """A canvas of width x height logical pixels; `ratio` is the device pixels a logical pixel.

    `scale` is the size of its text relative to that in a picture of 1280 x 800.
    """

    def __init__(self, width: float, height: float, ratio: float = 1.0, scale: float = 1.0) -> None:
        self.width = width
        self.height = height
        self.ratio = ratio
        self.scale = scale
        self.words: list[str] = []
        self._clip = EVERYWHERE
        self._quads = Quads()

    def vertices(self) -> tuple[npt.NDArray[np.void], npt.NDArray[np.uint32], list[Batch]]:
        """Return four vertices (`batch.VERTEX`) a shape, their indices, and the batches."""
        return *self._quads.vertices(self.ratio), self._quads.batches()

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        fill: Color,
        *,
        radius: float = 0.0,
        outline: Color = None,
        line: float = 1.0,
        depth: float = -1.0,
        angle: float = 0.0,
    ) -> None:
        """Draw a rectangle with rounded corners, rotated clockwise by `angle` radians.

        The outline is inside the edge.
        """
        place = (x + width / 2, y + height / 2, width / 2, height / 2)
        axis = (cos(angle), sin(angle)) if angle else (1.0, 0.0)
        style = (radius, line if outline is not None else 0.0, BOX, 0.0)
        self._quads.put(self._row(place, style, fill, outline, depth, axis))

    def image(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        colors: npt.NDArray[np.floating | np.uint8],
        *,
        smooth: bool = False,
        outline: Color = None,
        depth: float = -1.0,
    ) -> None:
        """Draw an image, shape (rows, columns, 3 or 4), from 0 to 1, first row on top.

        One that is drawn often can be converted once, by `batch.image_bytes`.
        `smooth` interpolates between pixels. The outline is inside the edge, one pixel wide.
        """
        image = Image(image_bytes(colors), smooth)
        place = (x + width / 2, y + height / 2, width / 2, height / 2)
        style, whole = (0.0, 1.0, IMAGE, 0.0), (0.0, 0.0, 1.0, 1.0)
        row = self._row(place, style, "#ffffff", None, depth, extra=whole)
        self._quads.put_images(np.array([row], np.float32), image)
        if outline is not None:
            self.box(x, y, width, height, None, outline=outline, depth=depth)

    def images(
        self,
        corners: npt.NDArray[np.floating],
        colors: npt.NDArray[np.floating],
        parts: npt.NDArray[np.floating],
        *,
        depth: Numbers = -1.0,
        radius: Numbers = 0.0,
        smooth: bool = False,
    ) -> None:
        """Draw parts of one image; `parts` is (n, 4): left, top, right and bottom from 0 to 1.

        Corners are as in `parallelograms`; depth may be (n, 2), left and right. `radius` rounds the
        corners of rectangles; `smooth` interpolates between pixels.
        """
        rows = parallelograms(rows_at(corners[:, 0], self._clip, "#ffffff", None, 0.0), corners)
        rows[:, batch.DEPTH] = column(depth)
        rows[:, batch.EXTRA] = parts
        rows[:, batch.KIND] = IMAGE
        rows[:, batch.HATCH] = radius
        self._quads.put_images(rows, Image(image_bytes(colors), smooth))

    def discs(
        self,
        xy: Numbers,
        radius: Numbers,
        fill: Color,
        *,
        outline: Color = None,
        line: Numbers = 1.0,
        depth: Numbers = -1.0,
        hatch: Numbers = 0.0,
    ) -> None:
        """Draw discs around (n, 2) points; other arguments are for all, or have n rows.

        The outline is inside the edge, `hatch` is the strength of stripes.
        """
        rows = rows_at(xy, self._clip, fill, outline, line)
        rows[:, batch.DEPTH] = column(depth)
        rows[:, batch.HALF] = column(radius)
        rows[:, batch.RADIUS] = radius
        rows[:, batch.HATCH] = hatch
        self._quads.put_many(rows)

    def boxes(
        self,
        xy: Numbers,
        size: Numbers,
        fill: Color,
        *,
        radius: Numbers = 0.0,
        outline: Color = None,
        line: Numbers = 1.0,
        depth: Numbers = -1.0,
    ) -> None:
        """Draw boxes with (n, 2) top left corners; size is (2,) or (n, 2)."""
        half = np.asarray(size) / 2
        rows = rows_at(np.asarray(xy) + half, self._clip, fill, outline, line)
        rows[:, batch.DEPTH] = column(depth)
        rows[:, batch.HALF] = half
        rows[:, batch.RADIUS] = radius
        self._quads.put_many(rows)

    def arrows(
        self,
        start: Numbers,
        end: Numbers,
        color: Color,
        *,
        width: Numbers = 1.5,
        head: Numbers = 6.0,
        depth: Numbers = -1.0,
    ) -> None:
        """Draw arrows, (n, 2) to (n, 2); other arguments are for all, or have n rows.

        Each has a head of length `head`, or is only a head if it is too short.
        """
        first, last = (np.asarray(each, np.float64).reshape(-1, 2) for each in (start, end))
        length = np.hypot(*(last - first).T)
        heads = np.minimum(np.asarray(head, np.float64), length)
        half = np.asarray(width, np.float64) / 2.0
        rows = rows_at((first + last) / 2.0, self._clip, color, None, 0.0)
        rows[:, batch.HALF] = np.stack([length / 2.0, np.maximum(HEAD * heads, half)], axis=1)
        rows[:, batch.AXIS] = (last - first) / np.where(length == 0.0, 1.0, length)[:, None]
        rows[:, batch.DEPTH] = column(depth)
        rows[:, batch.EXTRA.start] = heads
        rows[:, batch.EXTRA.start + 1] = half
        rows[:, batch.KIND] = ARROW
        self._quads.put_many(rows[length > 0.0])

    def segments(
        self,
        start: Numbers,
        end: Numbers,
        color: Color,
        *,
        width: Numbers = 1.0,
        depth: Numbers = -1.0,
    ) -> None:
        """Draw straight lines with round ends, (n, 2) to (n, 2); depth may be (n, 2), per end."""
        self._capsules((start, end), color, width, depth, 0.0)

    def line(
        self, points: Numbers, color: Color, *, width: float = 1.0, depth: Numbers = -1.0
    ) -> None:
        """Draw a polyline through (n, 2) points with round joins and ends; NaN interrupts it."""
        xy = np.array(points, np.float64).reshape(-1, 2)
        xy[~np.isfinite(xy)] = np.nan
        depths = np.broadcast_to(np.asarray(depth, np.float64), len(xy))
        moved = np.ones(len(xy), np.bool_)
        moved[1:] = (xy[1:] != xy[:-1]).any(axis=1)
        xy, depths = xy[moved], depths[moved]
        if len(xy) > 1:
            ends = np.stack([depths[:-1], depths[1:]], axis=1)
            self._capsules((xy[:-1], xy[1:]), color, width, ends, joins(xy, width))

    def text(
        self,
        x: float,
        y: float,
        words: str,
        *,
        size: float = 13.0,
        color: Color = "#ffffff",
        bold: bool = False,
        anchor: str = "left",
        depth: float = -1.0,
        outline: Color = None,
    ) -> float:
        """Draw text on the baseline y; return its width.

        `anchor` is "left", "center" or "right" and says where x is; "\\n" starts a new line;
        `outline` is the colour of a soft halo.
        """
        self.words.append(words)
        ratio = self.ratio
        pixels = round(size * ratio) or 1
        letters = layout(words, pixels, bold, anchor, 0)
        if isfinite(x + y):
            # Letters are sharp only on whole device pixels.
            place = (round(x * ratio) / ratio, round(y * ratio) / ratio, 0.0, 0.0)
            style = (0.0, 0.0, LETTER, 0.0)
            if outline is not None:
                halo = layout(words, pixels, bold, anchor, round(HALO * ratio))
                self._quads.put_text(self._row(place, style, outline, None, depth), halo)
            self._quads.put_text(self._row(place, style, color, None, depth), letters)
        return letters.width / ratio

    def measure(self, words: str, *, size: float = 13.0, bold: bool = False) -> float:
        """Return the width of text: that of its widest line."""
        pixels = round(size * self.ratio) or 1
        return layout(words, pixels, bold, "left", 0).width / self.ratio

    def fit(
        self,
        words: str,
        width: float,
        *,
        size: float = 13.0,
        bold: bool = False,
    ) -> str:
        """Return the text, or as much of it as fits into this width, with "..." at the end."""
        return shortened(words, width * self.ratio, round(size * self.ratio) or 1, bold)

    def wrap(self, words: str, width: float, most: int, *, size: float = 13.0) -> list[str]:
        """Return the text in at most `most` lines of this width; the last may end in "..."."""
        lines = [""]
        for word in words.split():
            longer = f"{lines[-1]} {word}".strip()
            if len(lines) == most or self.measure(longer, size=size) <= width or not lines[-1]:
                lines[-1] = longer
            else:
                lines.append(word)
        return [self.fit(line, width, size=size) for line in lines]

    @contextmanager
    def clip(self, x: float, y: float, width: float, height: float) -> Iterator[None]:
        """Context manager: clip what is drawn to this box, and to enclosing clips."""
        before = left, top, right, bottom = self._clip
        self._clip = (max(left, x), max(top, y), min(right, x + width), min(bottom, y + height))
        try:
            yield
        finally:
            self._clip = before

    def _row(
        self,
        place: Four,
        style: Four,
        fill: Color,
        outline: Color,
        depth: float,
        axis: tuple[float, float] = (1.0, 0.0),
        extra: Four = (0.0, 0.0, 0.0, 0.0),
    ) -> tuple[float, ...]:
        colors = packed(fill) + packed(outline)
        return (*place, *axis, depth, depth, *extra, *style, *self._clip, *colors)

    def _capsules(self, xy: Ends, color: Color, width: Numbers, depth: Numbers, cuts: Cuts) -> None:
        first, last = (np.asarray(end, np.float64).reshape(-1, 2) for end in xy)
        with np.errstate(invalid="ignore"):  # infinity minus infinity gives NaN, which is not drawn
            along, middle = last - first, (first + last) / 2
        length = np.hypot(along[:, 0], along[:, 1])
        along[length == 0.0] = (1.0, 0.0)
        radius = np.asarray(width, np.float64) / 2
        rows = rows_at(middle, self._clip, color, None, 0.0)
        rows[:, batch.HALF] = np.stack([length / 2 + radius, length * 0.0 + radius], axis=1)
        rows[:, batch.AXIS] = along / np.where(length == 0.0, 1.0, length)[:, None]
        rows[:, batch.DEPTH] = column(depth)
        rows[:, batch.EXTRA] = cuts
        rows[:, batch.KIND] = CAPSULE
        self._quads.put_many(rows)
