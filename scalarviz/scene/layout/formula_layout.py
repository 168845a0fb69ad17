"""Layouts of a compiled function that do not show its graph.

A function is shown as its formula with cubes in place of the parameters, or as one wall of cubes
per named parameter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.messages import visible
from scalarviz.base.texts import text
from scalarviz.core.bank_arrays import Wall
from scalarviz.core.trace_program import Bound, Piece
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
    Neurons,
    Plate,
    Wires,
    WrittenWords,
)
from scalarviz.story.facts import NONE

LETTERS = 0.36  # size of letters, in cells
CUBE, BALL = 1.14, 0.85  # size of a cube, and of an input, in cells
RAISED = 0.7  # cells by which an exponent is raised
STEP, BESIDE = 0.72, 0.42  # letter size of a step beside its value, and cells between them
WIDEST = 22.0  # maximum width of a written formula in cells
PIXELS = 100  # letter size for measuring words
NAME, LEAST = 0.24, 12.0  # cells from a value to its name, and its minimum letter size
# Cells: radius of a value, from the line to values, and minimum and maximum distance to the next
# one below; the ends of a bracket, its distance to its value, and line spacing of the key.
RADIUS, BELOW_LINE, DOWNWARDS, AROUND = 0.31, 0.62, (0.86, 1.2), 2.0
TICK, OVER, KEY = 0.13, 0.12, 0.3
LOWER = 0.32  # cells by which names in an exponent are lower: no letter is beside them

# From the front and above, so that lines of words are horizontal.
VIEWS = {
    name: replace(CAMERAS[name], azimuth=0.0, elevation=10.0)
    for name in ("perspective", "orthographic")
}
# A formula has the same view as rows.
FORMULA_VIEWS = dict.fromkeys(VIEWS, Camera(azimuth=FRONT[0], elevation=FRONT[1], fov=0.0))

Part = tuple[Piece, bool]  # a piece, and whether it is part of an exponent


def of_formula(
    pieces: Sequence[Piece],
    rows: Sequence[int],
    names: Sequence[str],
    aspect: float,
    nodes: Mapping[int, tuple[str, int]],
) -> Layout | None:
    """Lay out the formula returned by formula_of; None if it is incomplete or too long.

    Inputs are drawn as spheres in the formula, and each result as a sphere below its part.

    Args:
        rows: bank indices of the parameters, in order
        names: names of the parameters, in the same order
        aspect: aspect ratio of the available stage
        nodes: buffer and operation of each input and result, by index in the trace
    """
    known: set[Piece] = set()
    shown: list[Piece] = []
    for piece in pieces:  # a cube occurs once; afterwards its name is used
        again = piece in known and isinstance(piece, int)
        shown.append(names[piece] if again and isinstance(piece, int) else piece)
        known.add(piece)
    if not known >= {*range(len(rows))}:
        return None
    plates, written, neurons, given = [], [], list[Neurons](), ""
    begun: list[tuple[float, int, str]] = []  # beginnings of parts, depth, and separate words
    parts: list[tuple[int, float, float, int, str]] = []  # index, ends, depth and words
    x = 0.0
    for piece, is_raised in [(f"{text('picture.out')} = ", False), *raised(shown)]:
        if isinstance(piece, Bound):
            buffer, operation = nodes.get(piece.place, ("", NONE))
            given = buffer if piece.begins and operation == NONE else ""
            if piece.begins:
                begun.append((x, 0, ""))
                continue
            start, depth, said = begun.pop()
            if operation != NONE:
                depth += 1
                parts.append((piece.place, start, x, depth, said.strip(" ()")))
                said = ""
            begun[-1:] = [(at, max(deep, depth), own + said) for at, deep, own in begun[-1:]]
            continue
        wide = CUBE if isinstance(piece, int) else BALL if given else width_of(piece)
        middle, name = np.array([x + 0.5 * wide, RAISED * is_raised, 0.0]), str(piece)
        x, radius = x + wide, RADIUS
        if isinstance(piece, int):
            plates.append(one_value(rows[piece], middle + 0.5 * (UP - RIGHT)))
            name, radius = names[piece], HALF
        elif given:
            neurons.append(Neurons(middle[np.newaxis], "", given, radius=radius))
        elif name.strip():
            written.append(words_at(name.strip(), middle))
        said = text("formula.power") if name == "e" else name
        begun[-1:] = [(at, deep, own + said) for at, deep, own in begun[-1:]]
        if isinstance(piece, int) or given:
            written.append(name_below(name, middle + (radius + LOWER * is_raised) * DOWN))
    if x > WIDEST or not parts:
        return None
    wires, deepest = list[Wires](), parts[-1][3]
    pitch = min(DOWNWARDS[1], max(DOWNWARDS[0], (x / aspect - AROUND) / deepest))
    for place, start, end, depth, said in parts:
        x = end - RADIUS - TICK if depth == deepest else 0.5 * (start + end)
        point = x * RIGHT + (BELOW_LINE + pitch * depth) * DOWN
        wires.append(bracket_over(point, start, end, nodes[place][1], len(neurons)))
        neurons.append(Neurons(point[np.newaxis], "", nodes[place][0], radius=RADIUS))
        said = {"sin": text("formula.sin"), "×": text("formula.both")}.get(said, said)
        away = RADIUS + BESIDE + 0.5 * STEP * width_of(said)
        away = -away - BESIDE if depth == deepest else away  # an arrow, and the line from OUT
        written.append(words_at(said, point + away * RIGHT, STEP, LEAST))
    written.append(name_below(text("picture.out"), point + RADIUS * DOWN))
    for i, words in enumerate((text("formula.cubes"), text("formula.balls"))):
        at = (start + 0.44 * (x - start)) * RIGHT + (float(point[1]) + 0.05 - KEY * i) * UP
        written.append(WrittenWords(words, at, 0.045 * len(words) * RIGHT, LEAST))
    return Layout(plates, neurons, wires, (), FORMULA_VIEWS, written=written)


def bracket_over(
    point: FloatArray, start: float, end: float, operation: int, neurons: int
) -> Wires:
    """Return the bracket between a part of a formula and the sphere with its value."""
    high = float(point[1]) + RADIUS + OVER
    corners = [(start + TICK, high + TICK), (start + TICK, high), (end - TICK, high)]
    ends = np.array([(x, y, 0.0) for x, y in [*corners, (end - TICK, high + TICK)]])
    return Wires(ends[:-1], ends[1:], operation, neurons, outgoing=False)


def raised(pieces: Sequence[Piece]) -> list[Part]:
    """Return the parts of a formula, with "exp(x)" written as e and a raised exponent."""
    found: list[Part] = []
    deep = 0  # brackets around a letter of an exponent
    for piece in pieces:
        if not isinstance(piece, str):
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


def width_of(words: str) -> float:
    """Return the width of a text, in cells."""
    return LETTERS * sum(font(PIXELS, False).advances(words)) / PIXELS


def words_at(words: str, middle: FloatArray, size: float = 1.0, least: float = 0.0) -> WrittenWords:
    """Return a text at the font size of a formula, centered at `middle`."""
    half = round(0.5 * size * width_of(words), 3)  # same precision as in pages
    return WrittenWords(words, middle, half * RIGHT, least)


def name_below(name: str, foot: FloatArray) -> WrittenWords:
    """Return the name of a value, written below it in a width of one cell if possible."""
    half = 0.045 * min(len(name), 10) * RIGHT
    return WrittenWords(name, foot + NAME * DOWN, half, LEAST)


def one_value(row: int, corner: FloatArray) -> Plate:
    return Plate(int(row), 1, 1, 1, corner, RIGHT, DOWN, NEAR, "value")


# Walls, in lines.

APART, BELOW = 1.5, 2.5  # cells between walls side by side, and below each other
NAME_SHARE = 0.05  # fraction of the largest wall, additional spacing for names of small cells


def of_walls(walls: Mapping[str, Wall], aspect: float) -> Layout:
    """Lay out walls of cubes in rows or columns, whichever fills the stage better.

    Args:
        aspect: aspect ratio of the available stage
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
    """Return the positions of boxes in about `count` lines: along the line, and across lines.

    Args:
        sizes: sizes of the boxes along and across the lines, shape (n, 2)
        gaps: gap between the boxes of a line, and gap between lines
    """
    most = max((sizes[:, 0] + gaps[0]).sum() / count, sizes[:, 0].max())
    places, along, across, line = [], 0.0, 0.0, 0.0
    for long, high in sizes:
        if along and along + long > most:
            along, across, line = 0.0, across + line + gaps[1], 0.0
        places.append((along, across))
        along, line = along + long + gaps[0], max(line, high)
    return np.array(places)
