"""The legend: what color and size of a cube stand for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scalarviz.checks.numbers import FloatArray
from scalarviz.draw2d.canvas import Canvas2D
from scalarviz.draw2d.theme import Theme
from scalarviz.texts import row_text, text
from scalarviz.view.cubes.shaders import LEAST
from scalarviz.view.frame_data import CubeValues
from scalarviz.view.scene.frame import Box, Division

SIZE = 240.0, 54.0  # logical pixels, with the line of text
STEPS = 9  # squares from the negative to the positive end
ROOM = 3.0  # a stage must be so many times as high, and half of it as wide


def legend_box(division: Division) -> Box | None:
    """Return the box of the legend, in the lower left corner of the stage; None without room."""
    inner, scale = division.inner, division.scale
    wide, high = SIZE[0] * scale, SIZE[1] * scale
    if not division.legend:
        return None
    if inner.width < 0.5 * ROOM * wide or inner.height < ROOM * high:
        return None
    return Box(inner.x, inner.bottom - high, wide, high)


def draw_legend(canvas: Canvas2D, division: Division, cubes: CubeValues, theme: Theme) -> None:
    """Draw squares of the colors and sizes of cubes, with the numbers they stand for."""
    box, scale = legend_box(division), division.scale
    if box is None:
        return
    pad = 8.0 * scale
    around = box.x - pad, box.y + 2.0 * scale, box.width + 2 * pad, box.height + pad / 4
    canvas.box(*around, theme.ground + "d8", radius=pad)
    scales = np.asarray(cubes.color_scales)
    most = float(scales[0]) if len(scales) else 1.0
    size = 13.0 * scale
    words = words_of(cubes)
    canvas.text(box.x, box.y + size, words, size=size, color=theme.quiet, outline=theme.ground)
    numbers = np.linspace(-1.0, 1.0, STEPS)
    largest = 17.0 * scale
    sides = largest * sides_of(numbers)
    x = box.x + largest / 2 + (box.width - largest) * (numbers + 1.0) / 2
    y = box.y + size + 6.0 * scale + largest / 2
    corners = np.stack([x - sides / 2, y - sides / 2], axis=1)
    square = np.stack([sides, sides], axis=1)
    canvas.boxes(corners, square, theme.map(numbers), radius=1.5 * scale)
    ends = [f"{-most:g}", f"{-most / 2:g}", "0", f"+{most / 2:g}", f"+{most:g}"]
    if cubes.per_layer and len(set(scales.tolist())) > 1:
        ends = [text("legend.least"), "", "0", "", text("legend.most")]
    widths = [canvas.measure(each, size=size) for each in ends]
    if widths[0] + 0.5 * widths[1] > 0.22 * box.width:  # no room between the ends
        ends[1] = ends[3] = ""
    for i, words in enumerate(ends):
        anchor = "left" if not i else "right" if i == len(ends) - 1 else "center"
        at = box.x + i / (len(ends) - 1) * box.width
        canvas.text(
            at,
            box.bottom - 2.0 * scale,
            words,
            size=size,
            color=theme.quiet,
            anchor=anchor,
            outline=theme.ground,
        )


def words_of(cubes: CubeValues) -> str:
    """Return what colors and sizes stand for, or that their scale has just grown."""
    if cubes.grown is not None:
        return text("legend.grown", before=f"{cubes.grown[0]:g}", after=f"{cubes.grown[1]:g}")
    color, other = name_of(cubes.color), name_of(cubes.size)
    words = text("legend.cube", color=color) if color == other else ""
    words = words or text("legend.both", color=color, size=other)
    return text("legend.beyond", words=words, count=cubes.clipped) if cubes.clipped else words


def sides_of(numbers: FloatArray) -> FloatArray:
    """Return the sides of cubes of these numbers, from -1 to 1, relative to the largest."""
    sides: FloatArray = LEAST + (1.0 - LEAST) * np.sqrt(np.abs(numbers))
    return sides


def explain_arrows(
    canvas: Canvas2D, division: Division, head: float, theme: Theme, messages: Sequence[Box] = ()
) -> None:
    """Write what arrows on cubes mean: at the end of the head, whose text ends at x = `head`.

    Without room there, it stands in the upper left corner of the stage. In both places it stands
    beside the boxes of `messages`.
    """
    size, margin, words = 13.0 * division.scale, 20.0 * division.scale, text("legend.pushes")
    wide = canvas.measure(words, size=size)
    inner, in_head = division.inner, [box.x for box in messages if box.y < division.head.bottom]
    below = [box.bottom + size for box in messages if box.y >= division.head.bottom]
    x, y = min([division.head.right, *in_head]) - margin - wide, 28.0 * division.scale
    if not division.head.height or x < head + margin:
        x, y = inner.x, max([inner.y, *below]) + size
    canvas.text(x, y, words, size=size, color=theme.quiet, outline=theme.ground)


def name_of(channel: str) -> str:
    """Return the name of a channel."""
    return row_text(f"rows.channels.{channel}.name", channel)
