"""Images and colors of samples: image pairs, color swatches, and a pad to draw on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import short as decimal
from scalarviz.base.texts.decimals import typeset
from scalarviz.scene.annotations import draw_before
from scalarviz.scene.canvas.canvas2d import Canvas2D, Pixels
from scalarviz.scene.canvas.palette import Theme, contrast, rgb, to_bytes
from scalarviz.scene.exhibits.exhibit import (
    ABOVE,
    HEAD,
    LEAST_PANEL,
    LETTERS,
    RIGHT_YET,
    RIM,
    VERDICT,
    WHITE,
    Exhibit,
    Places,
    in_rows,
    letter_size,
    mean_error,
)
from scalarviz.scene.layout.division import Box

SHARP = 4.0  # device pixels per image pixel from which on it has hard edges
START, LINE = 2.0, 1.6  # in text sizes: above OUT at the start, and line spacing beside it
RING = 5.0 / 12.0  # radius of the ring at the current point, relative to the text size


@final
@dataclass(frozen=True)
class Pictures(Exhibit):
    """Two images of the same size: output and target.

    Attributes:
        images: output and target as returned by `image_bytes`
        error: mean absolute error over all shown pixels and three channels
        said: a text summary
        focus: the marked point, from 0 to 1 to the right and down
        answer: predicted red, green and blue at that point, or None
    """

    images: tuple[Pixels, Pixels]
    error: float
    said: str = ""
    focus: tuple[float, float] | None = None
    answer: FloatArray | None = None
    wide = 464.0
    most = 0.38
    small = 0.5
    lines = 3

    def marked(
        self,
        inputs: FloatArray,
        outputs: FloatArray | None = None,
        target: FloatArray | None = None,
    ) -> Pictures:
        """Return a copy with a mark at the current point."""
        return replace(self, focus=(float(inputs[0]), float(inputs[1])), answer=outputs)

    def off(self) -> float:
        return self.error

    def places(self, box: Box, scale: float) -> Places:
        rows, columns = self.images[0].shape[:2]
        more = START * LETTERS * scale
        return self.pair(box, scale, aspect=columns / rows, more=more)

    def paint(self, canvas: Canvas2D, box: Box, theme: Theme) -> None:
        """Draw output and target with a ring at the current point, and the output at step 0."""
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
        size, foot, out = letter_size(canvas), places.foot, places.out
        large, high = RIGHT_YET / LETTERS * size, self.small * out.height
        if self.verdict() and foot.height >= VERDICT * size:
            look: dict[str, Any] = {"size": large, "bold": True, "color": theme.ink}
            low = foot.y + 1.6 * size
            canvas.text(out.right, low, self.verdict(), anchor="center", room=box.width, **look)
        top = foot.y + (VERDICT + START + ABOVE) * size
        if self.first is None or top + high > foot.bottom + 0.5:
            return
        small = Box(out.x + 0.5 * size, top, self.small * out.width, high)
        canvas.text(
            out.x,
            top - 0.8 * size,
            f"{text('exhibits.pictures.start')}: {self.first.verdict()}",
            size=size,
            color=theme.quiet,
            room=box.right - out.x,
        )
        self.first.paint_answer(canvas, small, theme)
        around = small.inside(-0.25 * size)
        draw_before(canvas, theme, around.corners)
        x, low = around.right + size, top + size
        room: dict[str, Any] = {"room": box.right - x}
        said = list[str]()
        if self.answer is not None and self.focus is not None:
            u, v = map(decimal, self.focus)
            said = text("exhibits.pictures.ring", u=u, v=v).split("\n")
        for words in said if 5.0 * LINE * size < high else []:
            canvas.text(x, low, words, size=size, color=theme.soft, **room)
            low += LINE * size
        if self.answer is not None and 5.0 * LINE * size < high:
            at = x
            for name, number, color in zip("RGB", self.answer, theme.channels, strict=False):
                at += canvas.text(at, low, f"{name} ", size=large, color=color, bold=True)
                number = decimal(float(number))
                at += canvas.text(at, low, number, size=large, color=theme.ink, bold=True) + size

    def paint_answer(self, canvas: Canvas2D, box: Box, theme: Theme) -> None:
        paint_image(canvas, box, self.images[0])

    def _inputs_in(self, box: Box, x: float, y: float) -> Mapping[int, float]:
        return {0: (x - box.x) / box.width, 1: (y - box.y) / box.height}

    def words(self) -> list[str]:
        return [self.said] if self.said else []


def paint_image(canvas: Canvas2D, box: Box, picture: Pixels) -> None:
    """Draw an image; large pixels have sharp edges."""
    canvas.image(*box.place, picture, smooth=box.width * canvas.ratio < SHARP * picture.shape[1])


# Swatches: inputs, outputs and targets of a network that maps colors to colors.

# On a canvas, in pixels for an exhibit of width 282: sides of OUT and target, which form one plate,
# and distance below it to that of step 0; for samples, side of an input, width of output and
# target, height and pitch of a row, their left edges from that of the frame, and its size; the gap
# beside the samples.
SIDE, AGAIN, WIDE_SWATCH, HIGH_SWATCH, PITCH = 64.0, 66.0, 32.0, 36.0, 60.0
COLUMNS, FRAME, GAP = (6.0, 62.0, 94.0), (132.0, 46.0), 10.0
UNDER = 36.0  # pixels from OUT to a panel below its error
AROUND = 6.0  # pixels at the sides of the plate, for the dashes around the one of step 0
PALE = 1.5  # contrast to the background below which swatches have an outline


@final
@dataclass(frozen=True)
class Swatches(Exhibit):
    """Colors from 0 to 1, one row per sample: inputs, outputs and targets.

    Attributes:
        focus: input, output and target of the current sample, one row each; None means the first
            sample
        alone: whether only the current sample is drawn

    Outputs of NaN are not computed yet and drawn empty.
    """

    inputs: FloatArray
    outputs: FloatArray
    targets: FloatArray
    focus: FloatArray | None = None
    alone: bool = False
    wide = 282.0
    small = 36.0 / SIDE
    lines = 3

    def verdict(self) -> str:
        """Return the error of the current prediction as text."""
        error = self.error()
        return text("outputs.off", error=decimal(error)) if np.isfinite(error) else ""

    def error(self) -> float:
        """Return the mean absolute error of the current prediction."""
        _, output, target = self.shown
        return mean_error(output, target)

    def off(self) -> float:
        """Return the mean absolute error over all samples and the three channels."""
        return mean_error(self.outputs, self.targets)

    def marked(
        self,
        inputs: FloatArray,
        outputs: FloatArray | None = None,
        target: FloatArray | None = None,
    ) -> Swatches:
        """Return a copy with the colors of the current sample; unknown colors are drawn empty."""
        return replace(self, focus=in_rows(3, inputs, outputs, target))

    @property
    def shown(self) -> FloatArray:
        """Input, output and target of the current sample."""
        first = self.inputs[0], self.outputs[0], self.targets[0]
        return np.stack(first) if self.focus is None else self.focus

    def places(self, box: Box, scale: float) -> Places:
        unit, column = self._column(box, scale)
        head = HEAD * LETTERS * scale
        most = 0.5 * (column.x - GAP * unit - box.x) - AROUND * scale
        side = max(1.0, min(SIDE * max(unit, scale), most, box.height - head))
        high = side + (AGAIN * scale + 1.4 * side if self.first is not None else 40.0 * scale)
        top = box.y + max(head, 0.5 * (box.height - high) - 20.0 * scale)
        x = box.x + 0.5 * max(0.0, column.x - GAP * unit - box.x - 2.0 * side)
        out, goal = (Box(x + i * side, top, side, side) for i in (0, 1))
        return Places(out, goal, Box(box.x, out.bottom, column.x - box.x, box.bottom - out.bottom))

    def above(self, box: Box, scale: float, high: float) -> tuple[Exhibit, Box, Box | None]:
        top = self.places(box, scale).out.bottom + UNDER * scale
        if top + high > box.bottom or box.width < LEAST_PANEL * scale:
            return super().above(box, scale, high)
        return replace(self, alone=True), box, Box(box.x, top, box.width, high)

    def _column(self, box: Box, scale: float) -> tuple[float, Box]:
        """Return the pixels per unit of length, and the box of the column of samples."""
        head, count = HEAD * LETTERS * scale, len(self.inputs)
        high = PITCH * (count - 1) + FRAME[1]
        unit = min(box.width / self.wide, (box.height - head) / high)
        wide, tall = FRAME[0] * unit, high * unit + head
        return unit, Box(box.right - wide, box.y + 0.5 * (box.height - tall), wide, tall)

    def paint(self, canvas: Canvas2D, box: Box, theme: Theme) -> None:
        """Draw the prediction next to its target, and a column of samples on the right."""
        places, size = self.places(box, canvas.scale), letter_size(canvas)
        self.paint_heads(canvas, places, theme)
        self.paint_answer(canvas, places.out.around(places.goal), theme)
        middle = places.goal.x
        room = 2.0 * min(middle - box.x, places.foot.right - middle)
        look: dict[str, Any] = {"anchor": "center", "bold": True, "room": room}
        words, large = self.verdict(), RIGHT_YET / LETTERS * size
        if self.alone and words:  # as the panel below it
            words = text("outputs.off", error=typeset(f"{self.error():.3f}"))
        low = places.out.bottom + 1.75 * size
        if words and low + 0.3 * large < box.bottom:
            was = self.first.error() if isinstance(self.first, Swatches) else np.nan
            is_worse = self.by_hand and self.error() > was
            color = theme.worse if is_worse else theme.ink
            canvas.text(middle, low, words, size=large, color=color, **look)
        if self.alone:
            return
        again = places.out.y + places.out.height + AGAIN * canvas.scale
        if isinstance(self.first, Swatches) and again + places.out.height + 2.4 * size < box.bottom:
            words = self.since if self.by_hand else text("exhibits.same")
            low = again - 0.7 * size
            canvas.text(
                middle, low, words, size=size, color=theme.quiet, anchor="center", room=room
            )
            plate = replace(places.out.around(places.goal), y=again)
            self.first.paint_answer(canvas, plate, theme)
            draw_before(canvas, theme, plate.inside(-4.0 * canvas.scale).corners)
            words, low = self.first.verdict(), plate.bottom + 2.1 * size
            canvas.text(middle, low, words, size=large, color=theme.former, **look)
        self._paint_samples(canvas, *self._column(box, canvas.scale), theme)

    def paint_answer(self, canvas: Canvas2D, box: Box, theme: Theme) -> None:
        """Draw prediction and target as one tile, without a visible seam if they are equal."""
        half = 0.5 * box.width
        for i, color in enumerate(self.shown[1:]):
            with canvas.clip(box.x + i * half, box.y, half, box.height):
                corner = np.array([(box.x, box.y)])
                size = box.width, box.height
                paint_swatches(canvas, corner, size, color[np.newaxis], theme, 0.14 * box.height)

    def _paint_samples(self, canvas: Canvas2D, unit: float, column: Box, theme: Theme) -> None:
        size = letter_size(canvas)
        sides = HIGH_SWATCH, WIDE_SWATCH, WIDE_SWATCH
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
        both, high, radius = 2.0 * WIDE_SWATCH * unit, HIGH_SWATCH * unit, 6.0 * unit
        tops = rows - 0.5 * high
        corners = np.stack([np.full(len(rows), lefts[0]), tops], axis=1)
        paint_swatches(canvas, corners, (high, high), self.inputs, theme, radius)
        self._boxes[:] = [Box(x, y, high, high) for x, y in corners.tolist()]
        for left, own in ((lefts[1], self.outputs), (lefts[2], self.targets)):
            with canvas.clip(left, tops[0], 0.5 * both, tops[-1] + high - tops[0]):
                corners = np.stack([np.full(len(rows), lefts[1]), tops], axis=1)
                paint_swatches(canvas, corners, (both, high), own, theme, radius)
        first = self.first
        moves = isinstance(first, Swatches) and (first.outputs != self.outputs).any()
        if self.by_hand and isinstance(first, Swatches) and moves:  # small: the state before
            low = np.stack([np.full(len(rows), lefts[1] + 2.0 * unit), rows + 0.14 * high], axis=1)
            small = 0.86 * both / 2.0, 0.3 * high
            paint_swatches(canvas, low, small, first.outputs, theme, 0.4 * radius)
            canvas.boxes(low, small, None, radius=0.4 * radius, outline=theme.former)
        used = np.flatnonzero(np.abs(self.inputs - self.shown[0]).max(axis=1) < 0.5 / 255.0)
        if len(used) == 0 and column.y > 2.4 * size:  # IN is another one
            x, words = column.right, text("exhibits.swatches.others")
            y = column.y - 0.5 * size
            canvas.text(x, y, words, size=size, color=theme.quiet, anchor="right")
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
    radius: float,
) -> None:
    """Draw colors as rounded boxes; unknown colors are empty, pale ones have an outline."""
    known = ~np.isnan(colors).any(axis=1)
    seen = clear(np.where(np.isnan(colors), 0.0, colors))
    canvas.boxes(corners[known], size, seen[known], radius=radius)
    pale = ~known | (contrast(seen, rgb((theme.ground,))) < PALE)
    if pale.any():
        canvas.boxes(corners[pale], size, None, radius=radius, outline=theme.ghost)


def clear(colors: FloatArray) -> FloatArray:
    """Clip and round outputs of a network to displayable colors."""
    return to_bytes(colors) / 255.0


# The pad.

PEN = 1.3  # pixels of the image from the center of a stroke to its end; the edge is one wide


@final
@dataclass(frozen=True)
class Pad(Exhibit):
    """An image of numbers from `low` to `high`, shape (rows, columns); larger is lighter."""

    image: FloatArray
    low: float = 0.0
    high: float = 1.0
    wide = 360.0

    @property
    def light(self) -> FloatArray:
        """The image scaled to 0 to 1, with three channels."""
        part = np.clip((self.image - self.low) / ((self.high - self.low) or 1.0), 0.0, 1.0)
        return np.repeat(part[:, :, np.newaxis], 3, axis=2)

    def paint(self, canvas: Canvas2D, box: Box, theme: Theme) -> None:
        """Draw the image as large as possible, with its title above."""
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
        """Return the pixels that change if the user draws at a point, by index."""
        rows, columns = self.image.shape
        across = np.arange(columns) + 0.5 - (x - box.x) / box.width * columns
        down = np.arange(rows) + 0.5 - (y - box.y) / box.height * rows
        far = np.hypot(down[:, np.newaxis], across)
        ink = self.low + np.clip(PEN - far, 0.0, 1.0) * (self.high - self.low)
        new = np.maximum(self.image, ink).ravel()
        changed = np.flatnonzero(ink.ravel() > self.low)
        return dict(zip(changed.tolist(), new[changed].tolist(), strict=True))
