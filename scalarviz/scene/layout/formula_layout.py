"""Layouts of a compiled function without its graph: its formula, with cubes in place of letters, or
a wall for each named parameter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.messages import visible
from scalarviz.base.texts import text
from scalarviz.core.bank_arrays import Wall
from scalarviz.scene.canvas.fonts import font
from scalarviz.scene.layout.camera import CAMERAS, FRONT, Camera
from scalarviz.scene.layout.plates import (
    DOWN,
    HALF,
    NEAR,
    RIGHT,
    UP,
    Label,
    Layout,
    Plate,
    WrittenWords,
)

LETTERS = 0.36  # size of letters, in cells
LINE, CUBE = 2.1, 1.16  # from a line to the next, and room of a cube in it, in cells
RAISED, SMALL = 0.46, 0.74  # cells by which an exponent is raised, and the side of its cubes
EXPONENT = 0.62  # size of its letters, relative to others
MOST_LINES, WIDEST = 4, 30.0  # lines, and cells of a line, of a formula that is written
BRACKET = 20.0  # what a line that begins in a bracket costs, in squares of cells
PIXELS = 100  # size of letters at which words are measured
NAME, LEAST = 0.7, 12.0  # cells from a value to its name, and pixels of the letters of that

# From the front and above, so that lines of words are level.
VIEWS = {
    name: replace(CAMERAS[name], azimuth=0.0, elevation=10.0)
    for name in ("perspective", "orthographic")
}
# A formula is seen as rows are.
FORMULA_VIEWS = dict.fromkeys(VIEWS, Camera(azimuth=FRONT[0], elevation=FRONT[1], fov=0.0))

Piece = str | int
Part = tuple[Piece, bool]  # a piece, and whether it is part of an exponent


def of_formula(
    pieces: Sequence[Piece], rows: Sequence[int], names: Sequence[str], aspect: float
) -> Layout | None:
    """Lay out a formula as formula_of returns it; None if it is too long, or has none.

    rows    bank indices of the parameters, by their numbers; `names` likewise
    aspect  width of the free stage divided by its height
    """
    known: set[Piece] = set()
    shown: list[Piece] = []
    for piece in pieces:  # a cube stands once; later its name
        again = piece in known and isinstance(piece, int)
        shown.append(names[piece] if again and isinstance(piece, int) else piece)
        known.add(piece)
    if not known >= {*range(len(rows))}:
        return None
    parts = [(f"{text('picture.out')} = ", False), *raised(shown)]
    wide = [width_of_part(*part) for part in parts]
    tried = [in_lines(parts, wide, count) for count in range(1, MOST_LINES + 1)]
    lines = min(tried, key=lambda lines: max(longest(lines, wide) / aspect, LINE * len(lines)))
    if longest(lines, wide) > WIDEST:
        return None
    plates, written = [], []
    for down, line in enumerate(lines):
        x = -0.5 * sum(wide[i] for i in line)
        for i in line:
            (piece, is_raised), line_at = parts[i], np.array([x + 0.5 * wide[i], -LINE * down, 0.0])
            middle = line_at + RAISED * is_raised * UP
            if isinstance(piece, int):
                side = SMALL if is_raised else 1.0
                plates.append(one_value(rows[piece], middle + 0.5 * side * (UP - RIGHT), side))
                hangs = middle - HALF * side * UP if is_raised else None
                written.append(name_below(names[piece], line_at, hangs))
            elif piece.strip():
                half = 0.5 * width_of_part(piece.strip(), is_raised) * RIGHT
                written.append(WrittenWords(piece.strip(), middle, half))
            x += wide[i]
    return Layout(plates, (), (), (), FORMULA_VIEWS, written=written)


def raised(pieces: Sequence[Piece]) -> list[Part]:
    """Return the parts of a formula: a power of e has its exponent raised, without brackets."""
    found: list[Part] = []
    deep = 0  # brackets around a letter of an exponent
    for piece in pieces:
        if isinstance(piece, int):
            found.append((piece, deep > 0))
            continue
        words = ""
        for letter in piece:
            words += letter
            deep += ((letter == "(") - (letter == ")")) * (deep > 0)
            if words.endswith("exp(") and not deep:
                found.append((f"{words[:-4]}e", False))
                words, deep = "", 1
            elif letter == ")" and not deep and found and found[-1][1]:
                found.append((words[:-1], True))
                words = ""
        found.append((words, deep > 0))
    return [part for part in found if part[0] != ""]


def width_of_part(piece: Piece, is_raised: bool) -> float:
    """Return the width of a part of a formula, in cells."""
    if isinstance(piece, int):
        return CUBE * (SMALL if is_raised else 1.0)
    return width_of(piece) * (EXPONENT if is_raised else 1.0)


def width_of(words: str) -> float:
    """Return the width of words, in cells."""
    return LETTERS * sum(font(PIXELS, False).advances(words)) / PIXELS


def in_lines(parts: Sequence[Part], wide: Sequence[float], count: int) -> list[list[int]]:
    """Return the pieces of so many lines, or fewer, about equally long.

    A line begins with a sign, in as few brackets as possible.
    """
    words = ["" if is_raised or isinstance(piece, int) else piece for piece, is_raised in parts]
    deep = np.cumsum([0, *(each.count("(") - each.count(")") for each in words)])
    starts = [i for i, each in enumerate(words) if each.startswith(" ") or i == 0]
    ends = np.array([*starts, len(parts)])
    upto = np.cumsum([0.0, *wide])[ends]
    cost = (upto - upto[:, np.newaxis]) ** 2 + BRACKET * deep[ends]  # of a line from start to end
    cost[np.tril_indices(len(ends))] = np.inf
    best, found = cost[0], [[0] for _ in ends]
    for _ in range(min(count, len(starts)) - 1):
        longer = best[:, np.newaxis] + cost
        found = [[*found[i], int(ends[i])] for i in longer.argmin(axis=0)]
        best = longer.min(axis=0)
    return [list(range(*each)) for each in pairwise([*found[-1], len(parts)])]


def longest(lines: Sequence[Sequence[int]], wide: Sequence[float]) -> float:
    """Return the width of the longest line."""
    return max(sum(wide[i] for i in line) for line in lines)


def name_below(name: str, middle: FloatArray, hangs: FloatArray | None) -> WrittenWords:
    """Return the name of a value, below its cube, no wider than a cell unless letters are small."""
    half = 0.045 * min(len(name), 10) * RIGHT
    return WrittenWords(name, middle + NAME * DOWN, half, LEAST, hangs)


def one_value(row: int, corner: FloatArray, side: float = 1.0) -> Plate:
    return Plate(int(row), 1, 1, 1, corner, side * RIGHT, side * DOWN, NEAR, "value")


# Walls, in lines.

APART, BELOW = 1.5, 2.5  # cells between walls side by side, and below each other
NAME_SHARE = 0.05  # of the largest wall, which names of small cells need between them in addition


def of_walls(walls: Mapping[str, Wall], aspect: float) -> Layout:
    """Lay out walls by name in lines or in columns, whichever fills a stage of this shape best.

    aspect  width of the free stage divided by its height
    """
    sizes = np.array([(1, 1, *wall.shape)[-2:] for wall in walls.values()], np.float64)
    below = BELOW + NAME_SHARE * float(sizes[:, 0].max())
    tried = [
        walls_in_lines(sizes[:, axes], count, gaps)[:, axes[::-1]]
        for axes, gaps in (([1, 0], (APART, below)), ([0, 1], (below, APART)))
        for count in range(1, len(walls) + 1)
    ]
    places = min(tried, key=lambda found: ((found + sizes[:, ::-1]).max(0) / [aspect, 1.0]).max())
    plates, labels = [], []
    for (name, wall), size, (x, y) in zip(walls.items(), sizes, places, strict=True):
        rows, columns = map(int, size)
        corner = np.array([x, -y, 0.0])
        plate = Plate(wall.first, rows, columns, columns, corner, RIGHT, DOWN, NEAR, "value")
        labels.append(Label(visible(name), f"{rows}×{columns}", corner, plate.indices))
        plates.append(plate)
    return Layout(plates, (), (), labels)


def walls_in_lines(sizes: FloatArray, count: int, gaps: tuple[float, float]) -> FloatArray:
    """Return the corners of boxes in about `count` lines: along the line, and across lines.

    sizes  (n, 2), along and across
    gaps   between boxes of a line, and between lines
    """
    most = max((sizes[:, 0] + gaps[0]).sum() / count, sizes[:, 0].max())
    places, along, across, line = [], 0.0, 0.0, 0.0
    for long, high in sizes:
        if along and along + long > most:
            along, across, line = 0.0, across + line + gaps[1], 0.0
        places.append((along, across))
        along, line = along + long + gaps[0], max(line, high)
    return np.array(places)
