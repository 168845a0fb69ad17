"""Images and colours of samples: side by side, as swatches, and a pad on which the mouse draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, final

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts import text
from scalarviz.scene.canvas.canvas2d import Canvas2D, image_bytes
from scalarviz.scene.canvas.palette import Theme, contrast, rgb, to_bytes
from scalarviz.scene.exhibits.exhibit import (
    LETTERS,
    LINE_PITCH,
    Exhibit,
    letter_size,
    paint_frame,
    part_of_stage,
    stage_scale,
)
from scalarviz.scene.layout.division import Box

CANVAS_GAP = 0.8  # between two images on a canvas, relative to the size of text
SHARP = 4.0  # device pixels a pixel of an image, from which on it has hard edges


@final
@dataclass(frozen=True)
class Pictures(Exhibit):
    """Images of one size, (height, width, 3) with numbers from 0 to 1, by name.

    names  of the images on a canvas, if they differ
    focus  the point in use, which is marked: 0 to 1 to the right, and down
    """

    pictures: Mapping[str, FloatArray]
    said: str = ""
    title: str = ""
    names: Sequence[str] = ()
    focus: tuple[float, float] | None = None
    _made: list[npt.NDArray[np.uint8]] = field(default_factory=list, repr=False, compare=False)
    _boxes: list[Box] = field(default_factory=list, repr=False, compare=False)

    def wanted(self, width: float, height: float) -> float:
        wide, size = part_of_stage(400.0, width, height), LETTERS * stage_scale(width, height)
        box = Box(0.0, 0.0, wide, height - 2.5 * size)
        boxes = arranged(self.aspect, len(self.pictures), box, LINE_PITCH * size, CANVAS_GAP * size)
        return max(each.right for each in boxes) - min(each.x for each in boxes)

    def marked(self, inputs: FloatArray) -> Pictures:
        """Return the images with a mark at the point in use."""
        return replace(self, focus=(float(inputs[0]), float(inputs[1])))

    def paint(self, canvas: Canvas2D, box: Box, theme: Theme) -> None:
        """Draw the images in the arrangement that makes them largest, under their names."""
        size = letter_size(canvas)
        title = LINE_PITCH * size
        boxes = arranged(self.aspect, len(self.pictures), box, title, CANVAS_GAP * size)
        self._boxes[:] = boxes
        names = self.names or list(self.pictures)
        for name, place, picture in zip(names, boxes, self.images, strict=True):
            words = name if canvas.measure(name, size=size) <= place.width else name.split()[0]
            words = canvas.fit(words, place.width, size=size)
            canvas.text(place.x, place.y - 0.4 * size, words, size=size, color=theme.quiet)
            smooth = place.width * canvas.ratio < SHARP * picture.shape[1]
            canvas.image(place.x, place.y, place.width, place.height, picture, smooth=smooth)
            if self.focus is not None:
                near = 0.45 * size
                u, v = self.focus
                x = place.x + min(max(u * place.width, near), place.width - near)
                y = place.y + min(max(v * place.height, near), place.height - near)
                for half, color in ((near, theme.ground), (0.8 * near, theme.ink)):
                    paint_frame(canvas, x, y, half, color)

    def spot(self) -> tuple[float, float] | None:
        """Return the pixel of the point in use on the first image."""
        if self.focus is None or not self._boxes:
            return None
        (right, down), place = np.clip(self.focus, 0.0, 1.0).tolist(), self._boxes[0]
        return place.x + right * place.width, place.y + down * place.height

    def _inputs_in(self, box: Box, x: float, y: float) -> Mapping[int, float]:
        return {0: (x - box.x) / box.width, 1: (y - box.y) / box.height}

    @property
    def images(self) -> list[npt.NDArray[np.uint8]]:
        """The images for a canvas, converted once."""
        if not self._made:
            self.convert()
        return self._made

    def convert(self, first: npt.NDArray[np.uint8] | None = None) -> None:
        """Convert the images for a canvas; `first` is the first one, if it is known."""
        parts = list(self.pictures.values())
        self._made[:] = map(image_bytes, parts if first is None else [first, *parts[1:]])

    @property
    def aspect(self) -> float:
        rows, columns, _ = next(iter(self.pictures.values())).shape
        return float(columns / rows)

    def words(self) -> list[str]:
        return [self.said] if self.said else []


def arranged(aspect: float, count: int, box: Box, title: float, gap: float) -> list[Box]:
    """Return the boxes of images, each below a line of text: the way that covers the largest area.

    They stand in a column, in a row or, if there are three, the second one above the others.

    aspect  width of an image relative to its height
    title   height of a line of text, `gap` between two images
    """
    across = gap * (count - 1)
    wide = min(box.width, aspect * ((box.height - across) / count - title))
    ways = [[(wide, 0.0, i * (wide / aspect + title + gap)) for i in range(count)]]
    wide = min((box.width - across) / count, aspect * (box.height - title))
    ways.append([(wide, i * (wide + gap), 0.0) for i in range(count)])
    if count == 3:
        high = box.height - 2.0 * title - gap + 0.5 * gap / aspect
        wide = min(box.width, aspect * high / 1.5)
        half, below = 0.5 * (wide - gap), wide / aspect + title + gap
        ways.append([(half, 0.0, below), (wide, 0.0, 0.0), (half, half + gap, below)])
    best = max(ways, key=lambda way: sum(max(0.0, wide) ** 2 for wide, _, _ in way))
    least = [(max(1.0, wide), x, y) for wide, x, y in best]
    used = max(x + wide for wide, x, _ in least), max(y + w / aspect for w, _, y in least) + title
    left, top = box.x + 0.5 * (box.width - used[0]), box.y + 0.5 * (box.height - used[1])
    return [Box(left + x, top + title + y, wide, wide / aspect) for wide, x, y in least]


# Swatches: inputs, outputs and targets of a network that maps colors to colors.

# On a canvas, relative to a square: gap between rows, gap between inputs and outputs, room for the
# frame of a row at both sides.
SWATCH_GAP, SWATCH_ROWS_GAP, SWATCH_FRAME = 14.0 / 44.0, 0.24, 0.14
SWATCH_ROW = 3.0 + SWATCH_ROWS_GAP + 2.0 * SWATCH_FRAME
NEARLY = 0.1  # distance of each channel from its target below which a color is nearly right
PALE = 1.5  # contrast to the ground below which swatches have an outline
WIDEST_SWATCH = 1.35  # width of a swatch relative to its height, at most
SHORT_SWATCH = 9.0  # pixels of a swatch below which there are no names above the rows
# In a box so much wider than high samples are columns; the names left of them take SWATCH_HEAD of
# its width.
SWATCH_ACROSS, SWATCH_HEAD = 1.2, 0.25


class SwatchPlaces(NamedTuple):
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
    wide = 170.0
    _boxes: list[Box] = field(default_factory=list, repr=False, compare=False)  # of the inputs

    def verdict(self) -> str:
        right, count = self.score()
        return text("exhibits.nearly_right", right=right, count=count)

    def score(self) -> tuple[int, int]:
        off = np.abs(self.outputs - self.targets).max(axis=1)
        return int(np.count_nonzero(off < NEARLY)), len(off)

    def paint(self, canvas: Canvas2D, box: Box, theme: Theme) -> None:
        """Draw its input for each sample, and its output touching its target.

        Samples are rows; in a wide box, columns.
        """
        across = box.width > SWATCH_ACROSS * box.height
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

    def _rows(self, canvas: Canvas2D, box: Box, theme: Theme) -> SwatchPlaces | None:
        """Return where the colors stand if samples are rows, and write the names above them."""
        size, count = letter_size(canvas), len(self.inputs)
        head = 1.7 * size
        tall = min((box.height - head) / (count + SWATCH_GAP * (count + 1)), box.width / SWATCH_ROW)
        wide = min(box.width / SWATCH_ROW, WIDEST_SWATCH * tall)
        if tall < SHORT_SWATCH:  # no room for names
            head = 0.0
            tall = min(box.height / (count + SWATCH_GAP * (count + 1)), box.width / SWATCH_ROW)
            wide = min(box.width / SWATCH_ROW, WIDEST_SWATCH * tall)
        if tall < 3.0:
            return None
        wide, tall = float(int(wide)), float(int(tall))  # whole pixels have sharp edges
        gap, pitch = SWATCH_GAP * tall, (1.0 + SWATCH_GAP) * tall
        left = box.x + 0.5 * (box.width - SWATCH_ROW * wide) + SWATCH_FRAME * wide
        top = box.y + 0.5 * (box.height + head + gap - count * pitch)
        places = np.round(
            left + wide * np.array([0.0, 1.0 + SWATCH_ROWS_GAP, 2.0 + SWATCH_ROWS_GAP])
        )
        names = names_of_parts()
        measured = [canvas.measure(name, size=size) for name in names]
        if head and max(0.5 * (measured[1] + measured[2]) + 4.0, *measured[:1]) <= wide:
            for name, x in zip(names, places.tolist(), strict=True):
                x, y = x + 0.5 * wide, top - gap
                canvas.text(x, y, name, size=size, color=theme.quiet, anchor="center")
        rows = np.round(top + pitch * np.arange(count))
        corners = np.stack([np.stack([np.full(count, x), rows], axis=1) for x in places])
        return SwatchPlaces(corners, np.array([wide, tall]))

    def _columns(self, canvas: Canvas2D, box: Box, theme: Theme) -> SwatchPlaces | None:
        """Return where the colors stand if samples are columns, and write the names left."""
        size, count = letter_size(canvas), len(self.inputs)
        names = names_of_parts()
        tall = box.height / SWATCH_ROW
        measured = max(canvas.measure(name, size=size) for name in names) + size
        head = measured if tall >= size and measured < SWATCH_HEAD * box.width else 0.0
        places = count + SWATCH_GAP * (count + 1)
        wide = min((box.width - head) / places, WIDEST_SWATCH * tall)
        tall = min(tall, WIDEST_SWATCH * wide)
        if min(wide, tall) < 3.0:
            return None
        wide, tall = float(int(wide)), float(int(tall))
        gap, pitch = SWATCH_GAP * wide, (1.0 + SWATCH_GAP) * wide
        left = box.x + head + 0.5 * (box.width - head - places * wide) + gap
        top = box.y + 0.5 * (box.height - SWATCH_ROW * tall) + SWATCH_FRAME * tall
        rows = np.round(top + tall * np.array([0.0, 1.0 + SWATCH_ROWS_GAP, 2.0 + SWATCH_ROWS_GAP]))
        if head:
            for name, y in zip(names, rows.tolist(), strict=True):
                x, y = left - gap - 0.5 * size, y + 0.5 * tall + 0.36 * size
                canvas.text(x, y, name, size=size, color=theme.quiet, anchor="right")
        columns = np.round(left + pitch * np.arange(count))
        corners = np.stack([np.stack([columns, np.full(count, y)], axis=1) for y in rows])
        return SwatchPlaces(corners, np.array([wide, tall]))

    def _inputs_in(self, box: Box, x: float, y: float) -> Mapping[int, float]:
        return dict(enumerate(self.inputs[self._boxes.index(box)].tolist()))

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


# The pad.

PEN = 1.3  # pixels of the image from the middle of a stroke to its end; the edge is one wide


@final
@dataclass(frozen=True)
class Pad(Exhibit):
    """An image of numbers from `low` to `high`, shape (rows, columns); a higher one is lighter."""

    image: FloatArray
    low: float = 0.0
    high: float = 1.0
    title: str = ""
    wide = 360.0
    _boxes: list[Box] = field(default_factory=list, repr=False, compare=False)

    @property
    def light(self) -> FloatArray:
        """The image from 0 to 1, in three channels."""
        part = np.clip((self.image - self.low) / ((self.high - self.low) or 1.0), 0.0, 1.0)
        return np.repeat(part[:, :, np.newaxis], 3, axis=2)

    def paint(self, canvas: Canvas2D, box: Box, theme: Theme) -> None:
        """Draw the image as large as it fits, under its title."""
        size = letter_size(canvas)
        head = 1.8 * size
        rows, columns = self.image.shape
        side = min(box.width / columns, (box.height - head) / rows)
        wide, tall = columns * side, rows * side
        place = Box(box.x + 0.5 * (box.width - wide), box.y + head, wide, tall)
        self._boxes[:] = [place]
        words = canvas.fit(text("own.pad"), box.width, size=size)
        canvas.text(place.x, place.y - 0.5 * size, words, size=size, color=theme.ink)
        canvas.image(*place.place, self.light)
        canvas.box(*place.place, None, outline=theme.quiet)

    def _inputs_in(self, box: Box, x: float, y: float) -> Mapping[int, float]:
        """Return what a stroke at a pixel leaves of the inputs near it."""
        rows, columns = self.image.shape
        across = np.arange(columns) + 0.5 - (x - box.x) / box.width * columns
        down = np.arange(rows) + 0.5 - (y - box.y) / box.height * rows
        far = np.hypot(down[:, np.newaxis], across)
        ink = self.low + np.clip(PEN - far, 0.0, 1.0) * (self.high - self.low)
        new = np.maximum(self.image, ink).ravel()
        changed = np.flatnonzero(ink.ravel() > self.low)
        return dict(zip(changed.tolist(), new[changed].tolist(), strict=True))
