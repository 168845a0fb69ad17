"""Images and colours of samples: side by side, as swatches, and a pad on which the mouse draws."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import final

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts import text
from scalarviz.scene.canvas.canvas2d import Canvas2D, image_bytes
from scalarviz.scene.canvas.palette import Theme, contrast, rgb, to_bytes
from scalarviz.scene.exhibits.exhibit import (
    CORNER,
    HEAD,
    LETTERS,
    RIM,
    WHITE,
    Exhibit,
    Places,
    in_rows,
    letter_size,
    mean_error,
)
from scalarviz.scene.layout.division import Box

SHARP = 4.0  # device pixels a pixel of an image, from which on it has hard edges
RING = 5.0 / 12.0  # radius of the ring at the point in use, relative to the size of text


@final
@dataclass(frozen=True)
class Pictures(Exhibit):
    """Two images of one size, (height, width, 3) with numbers from 0 to 1: output and target.

    focus  the point in use, which is marked: 0 to 1 to the right, and down
    """

    output: FloatArray
    target: FloatArray
    said: str = ""
    focus: tuple[float, float] | None = None
    wide = 528.0
    most = 0.42
    small = 48.0 / 260.0
    lines = 3
    _made: list[npt.NDArray[np.uint8]] = field(default_factory=list, repr=False, compare=False)

    def marked(
        self,
        inputs: FloatArray,
        outputs: FloatArray | None = None,
        target: FloatArray | None = None,
    ) -> Pictures:
        """Return the images with a mark at the point in use."""
        return replace(self, focus=(float(inputs[0]), float(inputs[1])))

    def off(self) -> float:
        """Return the mean absolute error of all pixels that are shown, over three channels."""
        return mean_error(self.output, self.target)

    def places(self, box: Box, scale: float) -> Places:
        return self.pair(box, scale, aspect=self.output.shape[1] / self.output.shape[0])

    def paint(self, canvas: Canvas2D, box: Box, theme: Theme) -> None:
        """Draw output and target side by side, with a ring at the point in use."""
        places = self.places(box, canvas.scale)
        self._boxes[:] = places[:2]
        self.paint_heads(canvas, places, theme)
        for place, picture in zip(self._boxes, self.images, strict=True):
            paint_image(canvas, place, picture)
            if self.focus is not None:
                near = 1.2 * RING * letter_size(canvas)
                x, y = (
                    corner + min(max(part * side, near), side - near)
                    for part, corner, side in zip(
                        self.focus, place.place[:2], place.place[2:], strict=True
                    )
                )
                canvas.discs((x, y), near, None, outline=RIM, line=0.62 * near)
                canvas.discs((x, y), near / 1.2, None, outline=WHITE, line=0.33 * near)
        self.paint_foot(canvas, places, theme)

    def paint_answer(self, canvas: Canvas2D, box: Box, theme: Theme) -> None:
        paint_image(canvas, box, self.images[0])

    def _inputs_in(self, box: Box, x: float, y: float) -> Mapping[int, float]:
        return {0: (x - box.x) / box.width, 1: (y - box.y) / box.height}

    @property
    def images(self) -> list[npt.NDArray[np.uint8]]:
        """The images for a canvas, converted once."""
        if not self._made:
            self.convert(image_bytes(self.target))
        return self._made

    def convert(self, target: npt.NDArray[np.uint8]) -> None:
        """Convert the images for a canvas; `target` is the second one."""
        self._made[:] = image_bytes(self.output), target

    def words(self) -> list[str]:
        return [self.said] if self.said else []


def paint_image(canvas: Canvas2D, box: Box, picture: npt.NDArray[np.uint8]) -> None:
    """Draw an image; its pixels have hard edges where they are large."""
    canvas.image(*box.place, picture, smooth=box.width * canvas.ratio < SHARP * picture.shape[1])


# Swatches: inputs, outputs and targets of a network that maps colors to colors.

# On a canvas, in pixels where the exhibit is 260 wide: sides of OUT and goal; of the samples width,
# height and pitch of a row, side of an input, left edges of input, output and target from the left
# edge of the frame, and size of the frame; the gap beside the samples.
SIDE, WIDE_SWATCH, HIGH_SWATCH, PITCH, SMALL_SWATCH = 74.0, 24.0, 28.0, 58.0, 20.0
COLUMNS, FRAME, GAP = (6.0, 34.0, 61.0), (91.0, 44.0), 3.0
PALE = 1.5  # contrast to the ground below which swatches have an outline


@final
@dataclass(frozen=True)
class Swatches(Exhibit):
    """Colors from 0 to 1, one row per sample: inputs, outputs and targets.

    focus  input, output and target of the sample in use, one row each; None: the first sample

    Outputs of NaN are not computed yet, and are drawn empty.
    """

    inputs: FloatArray
    outputs: FloatArray
    targets: FloatArray
    focus: FloatArray | None = None
    wide = 260.0
    small = 36.0 / SIDE
    lines = 3

    def off(self) -> float:
        """Return the mean absolute error of the samples of the column, over three channels."""
        return mean_error(self.outputs, self.targets)

    def marked(
        self,
        inputs: FloatArray,
        outputs: FloatArray | None = None,
        target: FloatArray | None = None,
    ) -> Swatches:
        """Return the colors with those of the sample in use; unknown ones are empty."""
        return replace(self, focus=in_rows(3, inputs, outputs, target))

    @property
    def shown(self) -> FloatArray:
        """Input, output and target of the sample in use."""
        first = self.inputs[0], self.outputs[0], self.targets[0]
        return np.stack(first) if self.focus is None else self.focus

    def places(self, box: Box, scale: float) -> Places:
        unit, column = self._column(box, scale)
        room = Box(box.x, box.y, max(1.0, column.x - GAP * unit - box.x), box.height)
        return self.pair(room, scale, most=SIDE * max(unit, scale))

    def _column(self, box: Box, scale: float) -> tuple[float, Box]:
        """Return the pixels of a unit, and the box of the samples with the words above them."""
        head, count = HEAD * LETTERS * scale, len(self.inputs)
        high = PITCH * (count - 1) + FRAME[1]
        unit = min(box.width / self.wide, (box.height - head) / high)
        wide, tall = FRAME[0] * unit, high * unit + head
        return unit, Box(box.right - wide, box.y + 0.5 * (box.height - tall), wide, tall)

    def paint(self, canvas: Canvas2D, box: Box, theme: Theme) -> None:
        """Draw the answer beside its goal, and a column of samples at the right."""
        places = self.places(box, canvas.scale)
        self.paint_heads(canvas, places, theme)
        for place, color in zip(places[:2], self.shown[1:], strict=True):
            self._paint_square(canvas, place, color, theme)
        self.paint_foot(canvas, places, theme)
        self._paint_samples(canvas, *self._column(box, canvas.scale), theme)

    def paint_answer(self, canvas: Canvas2D, box: Box, theme: Theme) -> None:
        self._paint_square(canvas, box, self.shown[1], theme)

    def _paint_square(self, canvas: Canvas2D, box: Box, color: FloatArray, theme: Theme) -> None:
        corner = np.array([(box.x, box.y)])
        paint_swatches(canvas, corner, (box.width, box.height), color[np.newaxis], theme)

    def _paint_samples(self, canvas: Canvas2D, unit: float, column: Box, theme: Theme) -> None:
        size = letter_size(canvas)
        sides = SMALL_SWATCH, WIDE_SWATCH, WIDE_SWATCH
        lefts = [column.x + left * unit for left in COLUMNS]
        middles = [left + 0.5 * side * unit for left, side in zip(lefts, sides, strict=True)]
        names = [text(f"exhibits.swatches.{name}") for name in ("input", "output", "target")]
        wide = [canvas.measure(name, size=size) for name in names]
        free = middles[2] - middles[1] - 0.5 * (wide[1] + wide[2])
        if min(free, middles[1] - middles[0] - 0.5 * (wide[0] + wide[1])) >= 2.0:
            for name, x in zip(names, middles, strict=True):
                y = column.y + size
                canvas.text(x, y, name, size=size, color=theme.quiet, anchor="center")
        top = column.bottom - (PITCH * (len(self.inputs) - 1) + 0.5 * FRAME[1]) * unit
        rows = top + PITCH * unit * np.arange(len(self.inputs))
        colors = self.inputs, self.outputs, self.targets
        for left, across, high, own in zip(
            lefts, sides, (SMALL_SWATCH, HIGH_SWATCH, HIGH_SWATCH), colors, strict=True
        ):
            corners = np.stack([np.full(len(rows), left), rows - 0.5 * high * unit], axis=1)
            paint_swatches(canvas, corners, (across * unit, high * unit), own, theme)
            if left == lefts[0]:
                side = across * unit
                self._boxes[:] = [Box(x, y, side, side) for x, y in corners.tolist()]
        used = np.flatnonzero(np.abs(self.inputs - self.shown[0]).max(axis=1) < 0.5 / 255.0)
        for y in rows[used[:1]].tolist():
            half = 0.5 * FRAME[1] * unit
            place = column.x, y - half, column.width, 2.0 * half
            canvas.box(*place, None, radius=9.0 * unit, outline=theme.ink, line=1.5 * canvas.scale)

    def _inputs_in(self, box: Box, x: float, y: float) -> Mapping[int, float]:
        return dict(enumerate(self.inputs[self._boxes.index(box)].tolist()))


def paint_swatches(
    canvas: Canvas2D,
    corners: FloatArray,
    size: tuple[float, float],
    colors: FloatArray,
    theme: Theme,
) -> None:
    """Draw colors as rounded squares; unknown ones are empty, and pale ones have an outline."""
    known, radius = ~np.isnan(colors).any(axis=1), CORNER * size[0]
    seen = clear(np.where(np.isnan(colors), 0.0, colors))
    canvas.boxes(corners[known], size, seen[known], radius=radius)
    pale = ~known | (contrast(seen, rgb((theme.ground,))) < PALE)
    if pale.any():
        canvas.boxes(corners[pale], size, None, radius=radius, outline=theme.ghost)


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
    wide = 360.0

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
        wide = columns * side
        place = Box(box.x + 0.5 * (box.width - wide), box.y + head, wide, rows * side)
        self._boxes[:] = [place]
        canvas.text(
            place.x,
            place.y - 0.5 * size,
            text("own.pad"),
            size=size,
            color=theme.ink,
            room=box.width,
        )
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
