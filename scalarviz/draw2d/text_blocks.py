"""Blocks of text for pictures in a terminal: weights as coloured cells with numbers.

A block is a list of lines, a line a list of rich's segments. Without colours a weight is shown by
its digits, or its sign.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from rich.segment import Segment
from rich.style import Style

from scalarviz.checks.numbers import FloatArray
from scalarviz.draw2d.colors import contrast, to_bytes
from scalarviz.texts import text

Line = list[Segment]
Block = list[Line]
Shade = Callable[[FloatArray], FloatArray]  # values to colours

ACCENT = Style(color="#8f6cf0")  # readable on black and white, and no colour of weights
QUIET = Style(dim=True, bold=False)
STRONG = Style(bold=True, dim=False)
BLACK, WHITE = np.zeros(3), np.ones(3)

PLATE_HEAD = 2  # lines above the cells
BIAS_GAP = 2  # columns between weights and biases


@dataclass(frozen=True)
class TextPlate:
    """Numbers of one layer: a row for each perceptron, a column for each input, and biases."""

    name: str
    about: str
    weights: FloatArray
    biases: FloatArray
    inputs: Sequence[str]
    outputs: Sequence[str]


@dataclass(frozen=True)
class CellSize:
    """Size of a weight's cell in characters, and the gap to its right.

    If the height is above 1, the lower half of the last line is empty, to separate rows.
    """

    width: int
    height: int = 1
    gap: int = 1


# The first size that fits is used; sizes with numbers and all plates side by side are preferred.
WITH_NUMBERS = (
    *(CellSize(8, 3), CellSize(6, 3), CellSize(8, 2), CellSize(6, 2), CellSize(5, 2)),
    *(CellSize(8), CellSize(6), CellSize(5), CellSize(4)),
)
WITH_SIGNS = CellSize(3), CellSize(2), CellSize(1), CellSize(1, gap=0)


def plates_block(
    plates: Sequence[TextPlate], shade: Shade | None, width: int, height: int
) -> Block:
    """Return the weights of all layers in the largest cells that fit; otherwise cut off."""
    size = best_size(plates, width, height, tall=shade is not None)
    block: Block = []
    for shelf in arrange(plates, size, width):
        parts = [plate_block(plate, size, shade, width, height) for plate in shelf]
        block += beside(parts, [plate_width(plate, size) for plate in shelf], width)
        block.append([])
    if len(block) - 1 <= height and widest(plates, size) <= width:
        return block[:-1]
    return [*block[: height - 1], [Segment(text("plates.cut"), QUIET)]]


def least_lines(plates: Sequence[TextPlate], width: int) -> int:
    """Return the lines that the weights take in the smallest cells with numbers."""
    shelves = arrange(plates, WITH_NUMBERS[-1], width)
    return sum(max(plate_height(p, WITH_NUMBERS[-1]) for p in shelf) + 1 for shelf in shelves) - 1


def best_size(plates: Sequence[TextPlate], width: int, height: int, tall: bool) -> CellSize:
    """Return the largest cells with which all plates fit, or as much as possible of them."""
    numbers = [size for size in WITH_NUMBERS if tall or size.height == 1]
    low = [size for size in (*WITH_NUMBERS, *WITH_SIGNS) if size.height == 1]
    wishes = [
        (numbers, 1, height),
        ([*numbers, *WITH_SIGNS], len(plates), height),
        (low, 1, math.inf),
    ]
    for sizes, most_shelves, most_lines in wishes:
        for size in sizes:
            shelves = arrange(plates, size, width)
            lines = sum(max(plate_height(plate, size) for plate in shelf) + 1 for shelf in shelves)
            fits = lines - 1 <= most_lines and widest(plates, size) <= width
            if fits and len(shelves) <= most_shelves:
                return size
    return WITH_SIGNS[-1]


def widest(plates: Sequence[TextPlate], size: CellSize) -> int:
    return max(plate_width(plate, size) for plate in plates)


def arrange(plates: Sequence[TextPlate], size: CellSize, width: int) -> list[list[TextPlate]]:
    """Return plates in shelves: side by side as far as there is room."""
    shelves: list[list[TextPlate]] = []
    room = 0
    for plate in plates:
        needed = plate_width(plate, size) + 3
        if needed > room or not shelves:
            shelves.append([])
            room = width + 3
        shelves[-1].append(plate)
        room -= needed
    return shelves


def beside(blocks: Sequence[Block], widths: Sequence[int], width: int) -> Block:
    """Join blocks side by side, with the spare columns between them."""
    spare = min(8, max(0, width - sum(widths)) // max(1, len(blocks) - 1))
    block: Block = []
    for i in range(max(map(len, blocks))):
        line: Line = []
        for part, columns in zip(blocks, widths, strict=True):
            own = part[i] if i < len(part) else []
            line += Segment.adjust_line_length(own, columns + spare)
        block.append(line)
    return block


def plate_width(plate: TextPlate, size: CellSize) -> int:
    has_biases = bool(len(plate.biases))
    cells = len(plate.inputs) + has_biases
    own = name_width(plate) + cells * (size.width + size.gap) + BIAS_GAP * has_biases
    return max(own, len(plate.name) + 2 + len(plate.about))


def plate_height(plate: TextPlate, size: CellSize) -> int:
    return PLATE_HEAD + len(plate.weights) * size.height


def name_width(plate: TextPlate) -> int:
    return max(map(len, plate.outputs)) + 1


def plate_block(
    plate: TextPlate, size: CellSize, shade: Shade | None, width: int, height: int
) -> Block:
    """Return the block of one layer: name, input names, and a row of cells for each perceptron."""
    # Cut to the window: a layer can have a million weights.
    weights = plate.weights[:height, :width]
    biases = plate.biases[:height].reshape(len(weights), -1)
    header: Line = [Segment(" " * name_width(plate))]
    for name in plate.inputs[:width]:
        header.append(Segment(f"{name[-size.width :]:^{size.width}}{' ' * size.gap}", QUIET))
    if biases.size:
        head = text("plates.bias")[: size.width + 1]
        header.append(Segment(f"{' ' * BIAS_GAP}{head:^{size.width}}", QUIET))
    block: Block = [[Segment(plate.name, STRONG), Segment(f"  {plate.about}", QUIET)], header]
    rows = zip(plate.outputs, weights, biases, strict=False)
    colors = zip(painted(weights, shade), painted(biases, shade), strict=True)
    for (name, own, bias), (own_colors, bias_colors) in zip(rows, colors, strict=False):
        for line in range(size.height):
            label = name if line == (size.height - 1) // 2 else ""
            cells: Line = [Segment(f"{label:>{name_width(plate) - 1}} ", QUIET)]
            cells += cell_row(own.tolist(), own_colors, size, line)
            cells.append(Segment(" " * BIAS_GAP))
            cells += cell_row(bias.tolist(), bias_colors, size, line)
            block.append(cells)
    return block


def painted(values: FloatArray, shade: Shade | None) -> list[list[Style | None]]:
    """Return the styles of a table of cells."""
    if shade is None:
        return [[None] * values.shape[1] for _ in values]
    return [[paint(*color) for color in row] for row in to_bytes(shade(values)).tolist()]


def cell_row(values: list[float], styles: list[Style | None], size: CellSize, line: int) -> Line:
    """Return one line of a row of cells: numbers in the middle line, half cells in the last."""
    numbered = line == (size.height - 1) // 2
    halved = line == size.height - 1 > 0
    row: Line = []
    for value, style in zip(values, styles, strict=True):
        if style and halved:
            row.append(Segment("▀" * size.width, Style.from_color(style.bgcolor)))
        else:
            text = digits(value, size.width) if numbered else ""
            row.append(Segment(f"{text:^{size.width}}", style))
        row.append(Segment(" " * size.gap))
    return row


def digits(value: float, width: int) -> str:
    """Return a number with its sign in `width` columns, or the sign if it does not fit."""
    two, one = f"{value:+.2f}", f"{value:+.1f}"
    pointed = two.replace("+0.", "+.").replace("-0.", "-.")
    short = f"{value:+.0e}".replace("e+0", "e")
    sign = "?" if math.isnan(value) else "-" if value < 0.0 else "+" if value > 0.0 else "0"
    if width < 4:
        return sign
    if float(two) == 0.0:
        return "0"
    return next((t for t in (two, pointed, one, f"{value:+.0f}", short) if len(t) <= width), sign)


@lru_cache(maxsize=4096)
def paint(red: int, green: int, blue: int) -> Style:
    """Return a style with this background, and text in black or white by contrast."""
    color = np.array([red, green, blue]) / 255.0
    ink = "#000000" if contrast(color, BLACK) > contrast(color, WHITE) else "#ffffff"
    return Style(color=ink, bgcolor=f"#{red:02x}{green:02x}{blue:02x}")
