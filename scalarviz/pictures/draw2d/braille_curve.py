"""curve_block: the loss curve in a terminal, drawn with braille characters."""

from __future__ import annotations

import math

import numpy as np
from rich.segment import Segment

from scalarviz.base.checks.numbers import FloatArray
from scalarviz.base.terminal_styles import ACCENT, QUIET
from scalarviz.base.texts import plural, text
from scalarviz.pictures.draw2d.loss_scale import LARGEST, LossScale, shown

Block = list[list[Segment]]  # lines of parts

MOST_POWER = 308.25  # of ten, in a float
AXIS = 8  # columns to the left of the curve
# Bits of the dots, row by row: left column, right column.
BRAILLE = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])


def curve_block(losses: FloatArray, width: int, height: int) -> Block:
    """Return the losses on their scale as a block, from the first step to the last."""
    count, losses = len(losses), shown(losses)
    rows, columns = height - 1, width - AXIS
    if rows < 2 or columns < 16 or not len(losses):
        return [[Segment("" if len(losses) else text("chart.none"), QUIET)]]
    means = in_columns(losses, 2 * columns)
    scale = LossScale.of(means)
    dots = np.round((1.0 - np.clip(scale.up(means), 0.0, 1.0)) * (4 * rows - 1)).astype(int)
    ticks = tick_labels(scale, rows)
    block: Block = []
    for label, line in zip(ticks, braille(dots, rows), strict=True):
        axis = f"{label:>{AXIS - 1}}{'┤' if label else '│'}"
        block.append([Segment(axis, QUIET), Segment(line, ACCENT)])
    end = " " + plural("counts.steps", count)
    block.append([Segment(f"{'0 ':>{AXIS - 1}}└{'─' * (columns - len(end))}{end}", QUIET)])
    return block


def in_columns(losses: FloatArray, columns: int) -> FloatArray:
    """Return a loss for each column, of several their mean; of a logarithm, the geometric one."""
    found: FloatArray
    is_linear = bool((losses < 0.0).any())
    x = np.clip(losses, -LARGEST, LARGEST) if is_linear else np.log10(losses)
    if len(x) <= columns:
        found = np.interp(np.linspace(0, len(x) - 1, columns), np.arange(len(x)), x)
    else:
        starts = np.arange(columns) * len(x) // columns
        found = np.add.reduceat(x, starts) / np.diff(starts, append=len(x))
    found = found if is_linear else 10.0 ** np.minimum(found, MOST_POWER)
    return found


def braille(dots: FloatArray, rows: int) -> list[str]:
    """Return a line through the dots, one for each half character, as rows of characters."""
    canvas = np.zeros((rows, len(dots) // 2), dtype=int)
    before = dots[0]
    for x, y in enumerate(dots.tolist()):
        # Connect to the previous dot.
        for dot in range(min(y, before + (before < y)), max(y, before - (before > y)) + 1):
            canvas[dot // 4, x // 2] |= BRAILLE[dot % 4, x % 2]
        before = y
    return ["".join(chr(0x2800 + cell) if cell else " " for cell in row) for row in canvas.tolist()]


def tick_labels(scale: LossScale, rows: int) -> list[str]:
    """Return the labels beside the curve: both ends, and plain numbers where there is room."""
    labels = [""] * (rows + 1)
    values = np.array([scale.high, scale.low, *scale.ticks(math.inf)])
    for value, up in zip(values.tolist(), scale.up(values).tolist(), strict=True):
        row = round((1.0 - up) * (rows - 1))
        if not any(labels[max(0, row - 1) : row + 2]):
            labels[row] = f"{value:g}"
    return labels[:rows]
