"""Terms of a sum of products: their numbers travel along the wires and stack up to the sum.

A number leaves its sphere, meets the cube of its weight, and becomes a bar of the product's sign
and length. The bars stand end to end beside the neuron, from zero to the sum. On the way back they
are violet, those of negative products hollow.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts.decimals import on_cube, rounded, short
from scalarviz.pictures.draw2d.canvas import Canvas2D
from scalarviz.pictures.draw2d.theme import Theme
from scalarviz.pictures.view.frame_data import FrameData
from scalarviz.pictures.view.lights import BACK
from scalarviz.pictures.view.pace import ARRIVES, travelled
from scalarviz.pictures.view.scene.frame import Projection
from scalarviz.pictures.view.scene.plates import Layout
from scalarviz.training.session.caption import Summand, Summed

LONG, HIGH, ROW = 130.0, 7.0, 9.0  # pixels of a stack across, of a bar, from one to the next
NUMBER, LEAST = 13.0, 0.1  # letters of a number on its way; smaller ones have two digits
STACK = {"long": LONG, "high": HIGH, "row": ROW, "number": NUMBER, "least": LEAST}  # for a page


def draw_bars(
    canvas: Canvas2D,
    see: Projection,
    frame_data: FrameData,
    place: tuple[float, float, float],
    ends: FloatArray,
    theme: Theme,
    scale: float,
) -> None:
    """Draw the bars of a sum as far as they have come, and the numbers that travel to them.

    place  x, y and width of the stack
    ends   where bars begin and end, of `ends_of`
    """
    caption, moment = frame_data.words.caption, frame_data.moment
    assert caption is not None and moment is not None and caption.summed is not None
    x, y, wide = place
    largest, left = caption.summed.largest, travelled(frame_data.part)
    zero = x + wide * float(ends[0, 0])
    is_back, line = moment.kind in BACK, scale
    canvas.line([(zero, y), (zero, y + len(ends) * ROW * scale)], theme.quiet, width=line)
    for row, (first, end) in enumerate((x + wide * ends).tolist()):
        color = theme.push if is_back else (theme.map.negative, theme.map.positive)[end >= first]
        at = np.array([min(first, end), y + row * ROW * scale])
        grown = min(1.0, left - row - (row < len(largest)))
        if row == len(ends) - 1:
            grown = float(frame_data.part >= ARRIVES)
        elif row < len(largest) and 0.0 <= left - row < 2.0:
            cube = place_of(see, frame_data.layout, largest[row], min(1.0, left - row))
            if np.isfinite(cube).all():
                numbers = largest[row].number, largest[row].weight
                words = " × ".join(map(factor, numbers[: 1 + (grown >= 0.0)]))
                write(canvas, cube, words, theme, color, scale)
                at = cube + max(0.0, grown) * (at - cube)
        if grown <= 0.0:
            continue
        long, fill = (
            max(grown * abs(end - first), scale),
            None if is_back and end < first else color,
        )
        canvas.boxes(at[np.newaxis], (long, HIGH * scale), fill, outline=color, line=line)
        if grown == 1.0 and row < len(ends) - 1:  # where the next one begins
            canvas.line([(end, at[1]), (end, at[1] + (ROW + HIGH) * scale)], theme.ink, width=line)


def factor(value: float) -> str:
    """Return a factor as it travels: as cubes have it, small ones with two digits."""
    return short(value) if abs(value) >= LEAST or not value else on_cube(rounded(value))


def ends_of(summed: Summed | None) -> FloatArray:
    """Return where bars begin and end, (n, 2), from 0 to 1: of the products, then of the result.

    Each product begins where the one before ends, the first and the result at zero.
    """
    if summed is None:
        return np.zeros((0, 2))
    values = [each.number * each.weight for each in summed.largest]
    reached = np.cumsum([0.0, *values, *([] if summed.others is None else [summed.others])])
    ends = np.array([*pairwise(reached), (0.0, summed.result)])
    found: FloatArray = (ends - ends.min()) / (np.ptp(ends) or 1.0)
    return found


def place_of(see: Projection, layout: Layout, summand: Summand, part: float) -> FloatArray:
    """Return where a number is seen on its way to its cube; NaN if one is not in the picture."""
    line, plate = layout.line_of(summand.neuron), layout.plate_of(summand.row)
    if line is None or plate is None:
        return np.full(2, np.nan)
    (wall, row, column), start = plate, line[0].point(line[1])
    way = wall.point(column + 0.5, row + 0.5) - start
    found: FloatArray = see(start + part * way).xy[0]
    return found


def write(
    canvas: Canvas2D, at: FloatArray, words: str, theme: Theme, color: str, scale: float
) -> None:
    """Write a number over what it passes."""
    (x, y), size = at.tolist(), NUMBER * scale
    wide = canvas.measure(words, size=size, bold=True) + size
    box = x - 0.5 * wide, y - 0.8 * size, wide, 1.6 * size
    canvas.box(*box, theme.panel[:7], radius=0.8 * size, outline=color, line=1.5 * scale)
    base = y + 0.36 * size
    canvas.text(x, base, words, size=size, color=theme.ink, bold=True, anchor="center")
