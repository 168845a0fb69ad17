"""The strip above the Play button: the four parts of a step, with the current part filled."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np

from scalarviz.base.texts import text
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import Theme
from scalarviz.scene.frame_data import FrameData
from scalarviz.scene.layout.division import Box, Division
from scalarviz.story.caption import BACKWARD, ERROR, label

Place = tuple[Box, int]  # the box of an operation, and the number of finished operations after it
SIZE, PAD, GAP = 12.0, 15.0, 6.0  # letter size, padding of a part, and gap between two parts
LEFT, END = 24.0, 0.765  # left end of the first part, and right end as a fraction of the width


def draw_strip(
    canvas: Canvas2D, division: Division, frame_data: FrameData, theme: Theme
) -> list[Place]:
    """Draw the parts of a step; return the boxes of its operations.

    The operations of a part divide its box from left to right.
    """
    box, scale = division.strip, division.scale
    current, strip = frame_data.current, frame_data.strip
    if not box.height:
        return []
    size, pad, places = SIZE * scale, PAD * scale, list[Place]()
    parts = {part: [*group] for part, group in groupby(strip, lambda cell: cell.part)}
    left = LEFT * scale
    room = box.right - left - GAP * scale * (len(parts) + 1)
    heads = {part: text(f"strip.part.{part}") for part in parts}
    widths = [canvas.measure(each, size=size, bold=True) + 2.0 * pad for each in heads.values()]
    if sum(widths) - 1.2 * pad * len(parts) > room:
        heads, pad = {part: text(f"strip.few.{part}") for part in parts}, 0.6 * pad
        widths = [canvas.measure(each, size=size, bold=True) + 2.0 * pad for each in heads.values()]
    share = min(1.0, room / max(1.0, sum(widths)))
    x, base, high = left, box.y + 0.5 * box.height + 0.36 * size, 22.0 * scale
    colors = {ERROR: theme.loss, BACKWARD: theme.push}
    for (part, cells), wide in zip(parts.items(), share * np.array(widths), strict=True):
        runs = cells[0].done <= current <= cells[-1].done
        color = colors.get(part, theme.lit)
        words = canvas.fit(heads[part], wide, size=size, bold=True)
        place = x, box.y + 0.5 * (box.height - high), wide, high
        canvas.box(*place, theme.chip, radius=0.5 * high, outline=theme.rim)
        if runs:
            canvas.box(*place, color, radius=0.5 * high)
        ink = theme.ground if runs else theme.quiet
        canvas.text(x + 0.5 * wide, base, words, size=size, color=ink, bold=runs, anchor="center")
        each = wide / len(cells)
        places += [
            (Box(x + i * each, box.y, each, box.height), cell.done) for i, cell in enumerate(cells)
        ]
        x += wide + GAP * scale
    if not current and parts and waits(canvas, division, x):
        canvas.text(x + GAP * scale, base, text("strip.waits"), size=size, color=theme.quiet)
    return places


def waits(canvas: Canvas2D, division: Division, x: float) -> bool:
    """Return whether the text about the requirements of a step fits to the right of x."""
    wide = canvas.measure(text("strip.waits"), size=SIZE * division.scale)
    return x + wide < division.strip.x + END * division.strip.width


def words_end(canvas: Canvas2D, division: Division, frame_data: FrameData, parts: float) -> float:
    """Return the right end of the strip and the text next to it; the strip ends at `parts`."""
    if not parts or frame_data.current or not waits(canvas, division, parts):
        return parts
    return max(parts, division.strip.x + END * division.strip.width)


def draw_hovered(
    canvas: Canvas2D, places: Sequence[Place], frame_data: FrameData, theme: Theme, scale: float
) -> None:
    """Write the name of the operation under the mouse above its cell."""
    for box, done in places:
        if done != frame_data.hovered:
            continue
        cell, size = frame_data.strip[done - 1], SIZE * scale
        words = f"{label(cell)}   {cell.technical}"
        wide, high = canvas.measure(words, size=size) + 16.0 * scale, 24.0 * scale
        x = min(max(box.x + (box.width - wide) / 2.0, 4.0), max(4.0, canvas.width - wide - 4.0))
        place = Box(x, box.y - high - 6.0 * scale, wide, high)
        canvas.box(*place.place, theme.panel[:7], radius=6.0 * scale, outline=theme.rim)
        canvas.text(x + 8.0 * scale, place.bottom - 7.5 * scale, words, size=size, color=theme.ink)
