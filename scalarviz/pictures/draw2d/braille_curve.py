"""curve_block: the loss curve in a terminal, drawn with braille characters."""

from __future__ import annotations

import math
import sys

import numpy as np
from rich.segment import Segment

from scalarviz.base.checks.numbers import FloatArray
from scalarviz.base.terminal_styles import ACCENT, QUIET
from scalarviz.base.texts import plural, text

Block = list[list[Segment]]  # lines of parts

AXIS = 8  # columns to the left of the curve
# Bits of the dots, row by row: left column, right column.
BRAILLE = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])
PLAIN_DIGITS = 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0


def curve_block(losses: FloatArray, width: int, height: int) -> Block:
    """Return the losses on a logarithmic scale as a block, from the first step to the last."""
    count = len(losses)
    losses = losses[np.isfinite(losses) & (losses > 0.0)]  # what a logarithm can show
    rows, columns = height - 1, width - AXIS
    if rows < 2 or columns < 16 or not len(losses):
        return [[Segment("" if len(losses) else text("chart.none"), QUIET)]]
    logs = heights(losses, 2 * columns)
    high = round_up(10.0 ** float(logs.max()))
    low = min(round_down(10.0 ** float(logs.min())), high / 10.0)
    span = math.log10(high / low)
    dots = np.round((math.log10(high) - logs) / span * (4 * rows - 1)).astype(int)
    ticks = tick_labels(low, high, rows)
    block: Block = []
    for label, line in zip(ticks, braille(dots, rows), strict=True):
        axis = f"{label:>{AXIS - 1}}{'┤' if label else '│'}"
        block.append([Segment(axis, QUIET), Segment(line, ACCENT)])
    end = " " + plural("counts.steps", count)
    block.append([Segment(f"{'0 ':>{AXIS - 1}}└{'─' * (columns - len(end))}{end}", QUIET)])
    return block


def heights(losses: FloatArray, columns: int) -> FloatArray:
    """Return log10 of the loss for each column: means, if there are more losses than columns."""
    logs = np.log10(losses)
    if len(logs) <= columns:
        return np.interp(np.linspace(0, len(logs) - 1, columns), np.arange(len(logs)), logs)
    starts = np.arange(columns) * len(logs) // columns
    return np.add.reduceat(logs, starts) / np.diff(starts, append=len(logs))


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


def tick_labels(low: float, high: float, rows: int) -> list[str]:
    """Return the labels beside the curve: both ends, and powers of ten where there is room."""
    labels = [""] * (rows + 1)
    first = math.ceil(math.log10(low))
    powers = [10.0**power for power in range(first, first + 12) if 10.0**power < high]
    for value in (high, low, *powers):
        row = round(math.log10(high / value) / math.log10(high / low) * (rows - 1))
        if not any(labels[max(0, row - 1) : row + 2]):
            labels[row] = f"{value:g}"
    return labels[:rows]


def round_up(value: float) -> float:
    """Return the smallest plain number, such as .08, .1, .15, 2 or 30, that is not below this."""
    return min(sys.float_info.max, *(plain for plain in plain_numbers(value) if plain >= value))


def round_down(value: float) -> float:
    """Return the largest plain number that is not above this."""
    return max(plain for plain in plain_numbers(value) if plain <= value)


def plain_numbers(value: float) -> list[float]:
    """Return the plain numbers around this one."""
    power = math.floor(math.log10(value))
    powers = range(power - 1, min(power + 1, sys.float_info.max_10_exp) + 1)
    return [digit * 10.0**p for p in powers for digit in PLAIN_DIGITS]
