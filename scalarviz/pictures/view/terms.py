"""Terms of a sum of products: their numbers travel along the wires and stack up to the sum.

A number leaves its sphere, meets the cube of its weight, and becomes a bar of the product's sign
and length. The bars stand end to end beside the neuron, from zero to the sum. On the way back they
are violet, those of negative products hollow.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from scalarviz.base.checks.numbers import FloatArray
from scalarviz.base.texts.decimals import short
from scalarviz.pictures.draw2d.canvas import Canvas2D
from scalarviz.pictures.draw2d.theme import Theme
from scalarviz.pictures.view.callout import (
    KNOWN,
    PAD,
    SIZE,
    covers_of,
    draw_panel,
    subject_of,
    width_of,
    words_of,
)
from scalarviz.pictures.view.frame_data import FrameData
from scalarviz.pictures.view.labels import Obstacles
from scalarviz.pictures.view.legend import legend_box
from scalarviz.pictures.view.lights import BACK
from scalarviz.pictures.view.pace import travelled
from scalarviz.pictures.view.scene.frame import Box, Projection
from scalarviz.pictures.view.scene.plates import Layout
from scalarviz.training.session.caption import Summand, Summed

LONG, SMALL = 120.0, 70.0  # pixels of all bars, and where there is little room
HIGH, APART = 7.0, 2.0  # pixels of the height of one, and between two
PLACES = 32, 24  # places that are tried for the stack, across and down
COVERED = 100.0  # what a covered pixel costs, in pixels of distance
NUMBER = 13.0  # letters of a number on its way
STACK = {  # what a page needs of these
    "long": LONG,
    "small": SMALL,
    "high": HIGH,
    "apart": APART,
    "places": PLACES,
    "covered": COVERED,
    "number": NUMBER,
}


def draw_terms(
    canvas: Canvas2D,
    see: Projection,
    frame_data: FrameData,
    taken: Obstacles,
    theme: Theme,
    scale: float,
) -> Box | None:
    """Draw the sum of an operation as far as it is added up; return the box of the stack."""
    caption, moment = frame_data.words.caption, frame_data.moment
    subject = subject_of(frame_data, see)
    if caption is None or moment is None or caption.summed is None or subject is None:
        return None
    said, size, pad = words_of(caption), SIZE * scale, PAD * scale
    rows = ends_of(caption.summed, 1.0)
    high, box = len(rows) * (HIGH + APART) * scale + 1.2 * size + 1.4 * pad, None
    for words, least in ((said, LONG), (said.rpartition(": ")[2], SMALL)):
        wide = max(least * scale + 2.0 * pad, width_of(canvas, words, size, pad))
        if wide <= see.box.width and high <= see.box.height:
            box, is_free = free_place(see, frame_data, taken, subject, (wide, high), scale)
            if is_free:
                break
    if box is None:
        return None
    draw_panel(canvas, box, subject, theme, moment, scale)
    start = box.x + pad, box.y + 0.7 * pad
    draw_bars(canvas, see, frame_data, start, rows * (box.width - 2.0 * pad), theme, scale)
    if frame_data.part >= KNOWN:
        base = box.bottom - 0.7 * pad - 0.2 * size
        canvas.text(box.x + pad, base, words, size=size, color=theme.ink, bold=True)
    return box


def draw_bars(
    canvas: Canvas2D,
    see: Projection,
    frame_data: FrameData,
    start: tuple[float, float],
    ends: FloatArray,
    theme: Theme,
    scale: float,
) -> None:
    """Draw bars from a corner, `start`, as far as they have come, and what travels there."""
    caption, moment = frame_data.words.caption, frame_data.moment
    assert caption is not None and moment is not None and caption.summed is not None
    (x, y), step, left = start, (HIGH + APART) * scale, travelled(frame_data.part)
    zero, is_back = x + float(ends[0, 0]), moment.kind in BACK
    canvas.line([(zero, y - scale), (zero, y + len(ends) * step)], theme.quiet, width=scale)
    for row, (first, end) in enumerate(ends.tolist()):
        color = theme.push if is_back else (theme.map.negative, theme.map.positive)[end >= first]
        place, grown = np.array([x + min(first, end), y + row * step]), min(1.0, left - row)
        if row < len(caption.summed.largest):
            summand, grown = caption.summed.largest[row], min(1.0, left - row - 1.0)
            at = place_of(see, frame_data.layout, summand, min(1.0, left - row))
            if 0.0 <= left - row < 2.0 and np.isfinite(at).all():
                numbers = [summand.number] if grown < 0.0 else [summand.number, summand.weight]
                write(canvas, at, " × ".join(map(short, numbers)), theme, color, scale)
                place = at + max(0.0, grown) * (place - at)
        elif row == len(ends) - 1:
            grown = float(frame_data.part >= KNOWN)
        if grown <= 0.0:
            continue
        fill = None if is_back and end < first else color
        bar = float(place[0]), float(place[1]), max(grown * abs(end - first), scale)
        canvas.box(*bar, HIGH * scale, fill, outline=color, line=scale)
        if grown == 1.0 and row < len(ends) - 1:  # where the next one begins
            path = [(x + end, place[1]), (x + end, place[1] + step + HIGH * scale)]
            canvas.line(path, theme.ink, width=scale)


def ends_of(summed: Summed, wide: float) -> FloatArray:
    """Return where bars begin and end, (n, 2), in a width: of the products, then of the result.

    Each product begins where the one before ends, the first and the result at zero.
    """
    values = [each.number * each.weight for each in summed.largest]
    reached = np.cumsum([0.0, *values, *([] if summed.others is None else [summed.others])])
    ends = np.array([*pairwise(reached), (0.0, summed.result)])
    reach: float = np.ptp(ends) or 1.0
    found: FloatArray = (ends - ends.min()) * (wide / reach)
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


def free_place(
    see: Projection,
    frame_data: FrameData,
    taken: Obstacles,
    subject: Box,
    sides: tuple[float, float],
    scale: float,
) -> tuple[Box, bool]:
    """Return the box that covers least, of those the nearest to its subject; whether it is free."""
    legend = legend_box(frame_data.division(see.width, see.height))
    covers = [subject, *(box for box, _ in covers_of(see, frame_data, taken, scale))]
    covers += [] if legend is None else [legend]
    x, y, width, height = np.array([each.place for each in covers]).T
    view, (wide, high) = see.box, sides
    left = np.linspace(view.x, view.right - wide, PLACES[0])[:, np.newaxis]
    top = np.linspace(view.y, view.bottom - high, PLACES[1])[:, np.newaxis]
    across = np.minimum(left + wide, x + width) - np.maximum(left, x)
    down = np.minimum(top + high, y + height) - np.maximum(top, y)
    covered = np.maximum(across, 0.0) @ np.maximum(down, 0.0).T
    away = np.hypot(np.maximum(-across[:, :1], 0.0), np.maximum(-down[:, :1], 0.0).T)
    i, k = np.unravel_index(int(np.argmin(COVERED * covered + away)), covered.shape)
    return Box(float(left[i, 0]), float(top[k, 0]), wide, high), not covered[i, k]
