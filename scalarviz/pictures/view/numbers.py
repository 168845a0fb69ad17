"""Numbers on cubes: all cubes of a wall have them, or none.

A wall - the cubes of one operation, its biases too - has numbers if those of all of its cubes that
are in sight fit side by side in letters of SMALLEST logical pixels or more, with two digits after
the point or with one. So do the cubes of the sum that is hovered or pinned, and those with
arithmetic of the caption, whose digits are given. The hovered and the pinned
cube have their number always. No number is smaller, and none is where a wall is seen from behind
or along its side.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from scalarviz.base.checks.numbers import FloatArray
from scalarviz.base.texts.decimals import on_cube, short
from scalarviz.core.model.operations import NONE
from scalarviz.pictures.draw2d.canvas import Canvas2D
from scalarviz.pictures.draw2d.colors import dimmed, rgb
from scalarviz.pictures.draw2d.theme import Theme
from scalarviz.pictures.view.cubes.picking import half_sides
from scalarviz.pictures.view.cubes.shaders import CONTRAST
from scalarviz.pictures.view.frame_data import FrameData
from scalarviz.pictures.view.lights import DIM, MOVED
from scalarviz.pictures.view.neuron_colors import readable
from scalarviz.pictures.view.scene.frame import Projection
from scalarviz.pictures.view.scene.plates import Plate

MOST = 256  # numbers of one wall in sight, or of one sum
SEARCHED = 100_000  # cubes; larger walls are not searched for those in sight
TOUCHED = 0.4  # part of an operation from which on light has come to the cubes
LARGEST, SMALLEST = 13.0, 12.0  # sizes of letters in logical pixels
USUAL = {2: 2.9, 1: 2.2}  # width of a number such as "-1.25" or "-1.2", in sizes of letters
GAP, LINE = 0.25, 1.1  # between two numbers, and from a line to the next
SHARE = 1.25  # largest width of numbers, in cells: small cubes are narrower than theirs
APART = 0.65  # least distance of two cubes as seen, in cells: else one hides the other
FACING = 0.1  # least cosine of the angle between the front of a wall and the way to the eye
CORNERS = 1.2  # from the middle of a cube to its outline as seen, in halves of its side
SHADE = 0.83  # brightness of what is behind a number: fronts have 1, sides less
BEFORE = 1.75  # halves of a cell from its middle to where a number stands: before cubes beside it

Sizes: TypeAlias = dict[int, float]  # size of the letters on each cube, by bank index
Plain: TypeAlias = dict[int, tuple[int, float]]  # digits of its number, too
Words: TypeAlias = dict[int, tuple[str, float]]  # what is written on it, too


@dataclass(frozen=True)
class Cell:
    """Where the middle of a cube is seen, and how many logical pixels its cell has."""

    x: float
    y: float
    side: float


def draw_numbers(
    canvas: Canvas2D,
    see: Projection,
    frame_data: FrameData,
    theme: Theme,
    scale: float,
    bright: FloatArray | None = None,
) -> None:
    """Write numbers on the cubes.

    bright  brightness of each plate, on which it depends what can be read; None: all are bright
    """
    numbers = frame_data.cubes.colors
    plain = numbered_rows(see, frame_data, scale).items()
    words: Words = {row: (short(float(numbers[row]), d), size) for row, (d, size) in plain}
    words |= moved_words(canvas, see, frame_data, scale)
    words |= told_words(canvas, see, frame_data, scale)
    first = chosen_rows(frame_data)
    for row, (said, size) in sorted(words.items()):
        write(canvas, see, frame_data, row, said, size, theme, bright, is_first=row in first)


def numbered_rows(see: Projection, frame_data: FrameData, scale: float) -> Plain:
    """Return the digits and the sizes of the numbers on cubes, by bank index."""
    found: Plain = {}
    for cells in walls_in_sight(see, frame_data, scale):
        found |= numbered(cells, scale)
    for row in chosen_rows(frame_data):
        found = numbered(cells_of(see, frame_data, rows_of_sum(frame_data, row)), scale) | found
        own = cells_of(see, frame_data, [row])
        found |= {each: found.get(each, (2, SMALLEST * scale)) for each in own}
    return found


def numbered(cells: Mapping[int, Cell], scale: float) -> Plain:
    """Return the digits and the size of numbers on some cubes; none if they have no room."""
    for digits, wide in USUAL.items():
        if sizes := fitted(cells, wide, 1, scale):
            return {row: (digits, size) for row, size in sizes.items()}
    return {}


def chosen_rows(frame_data: FrameData) -> list[int]:
    """Return the bank indices of the hovered and the pinned cube."""
    cards = frame_data.hover, frame_data.pinned
    return [card.row for card in cards if card is not None and card.row != NONE]


def rows_of_sum(frame_data: FrameData, row: int) -> list[int]:
    """Return the bank indices of the sum that a weight belongs to; none of a long one."""
    found = frame_data.layout.fan_of(row)
    if found is None or found[0].inputs > MOST:
        return []
    fan, unit = found
    return [*fan.rows_of(unit), *([fan.biases + unit] if fan.biases != NONE else [])]


def marks_of(frame_data: FrameData) -> dict[int, str]:
    """Return what the caption of an operation writes on cubes, by bank index."""
    caption = frame_data.words.caption
    if frame_data.moment is None or caption is None or frame_data.part < TOUCHED:
        return {}
    return {piece.row: on_cube(piece.mark) for piece in caption.pieces if piece.row != NONE}


def told_words(canvas: Canvas2D, see: Projection, frame_data: FrameData, scale: float) -> Words:
    """Return the arithmetic of the caption on the cubes it is about, if there is room for all."""
    marks = {row: mark for row, mark in marks_of(frame_data).items() if mark}
    cells = cells_of(see, frame_data, marks)
    return alike(canvas, {row: marks[row] for row in cells}, cells, scale)


def moved_words(canvas: Canvas2D, see: Projection, frame_data: FrameData, scale: float) -> Words:
    """Return the numbers before and after a step, in two lines, of walls with room for them."""
    before, now = frame_data.cubes.before, frame_data.cubes.colors
    found: Words = {}
    if before is None or frame_data.part < MOVED:
        return found
    for cells in walls_in_sight(see, frame_data, scale):
        words = {row: old_and_new(float(before[row]), float(now[row])) for row in cells}
        found |= alike(canvas, words, cells, scale)
    return found


def alike(
    canvas: Canvas2D, words: Mapping[int, str], cells: Mapping[int, Cell], scale: float
) -> Words:
    """Return words on cubes with the size of their letters; nothing unless all of them fit."""
    lines = [line for each in words.values() for line in each.split("\n")]
    if not lines:
        return {}
    wide = max(canvas.measure(line, size=10.0, bold=True) for line in lines) / 10.0
    most = max(each.count("\n") + 1 for each in words.values())
    return {row: (words[row], size) for row, size in fitted(cells, wide, most, scale).items()}


def old_and_new(old: float, new: float) -> str:
    """Return two numbers in lines of their own, with as many digits as distinguish them."""
    pairs = [(short(old, digits), short(new, digits)) for digits in (2, 3, 4)]
    first, last = next((pair for pair in pairs if pair[0] != pair[1]), pairs[-1])
    return f"{first}\n→ {last}"


def walls_in_sight(see: Projection, frame_data: FrameData, scale: float) -> list[dict[int, Cell]]:
    """Return the cubes in sight of each wall whose cells are large enough for a number."""
    walls: dict[object, list[Plate]] = {}
    for plate in frame_data.layout.plates:
        own = plate.operation if plate.operation != NONE else id(plate)
        walls.setdefault(own, []).append(plate)
    least = SMALLEST * scale * USUAL[1] / SHARE
    found = []
    for plates in walls.values():
        if sum(plate.size for plate in plates) > SEARCHED:
            continue
        if all(largest_cell(see, plate) >= least for plate in plates):
            found.append({row: cell for plate in plates for row, cell in in_sight(see, plate)})
    return found


def largest_cell(see: Projection, plate: Plate) -> float:
    """Return the pixels of a cell at the corner of a plate that is nearest."""
    ends = see(plate.corners(0.0)).unit
    return float(np.nanmax(ends)) * plate.unit if np.isfinite(ends).any() else 0.0


def in_sight(see: Projection, plate: Plate) -> list[tuple[int, Cell]]:
    """Return the cubes of a plate that are in sight, if it faces the viewer."""
    if plate.toward @ see.camera.toward <= FACING:
        return []
    row, column, indices = plate.cells()
    seen = see(plate.point(column + 0.5, row + 0.5))
    x, y = seen.xy.T
    box = see.box
    there = (x > box.x) & (x < box.right) & (y > box.y) & (y < box.bottom)
    cells = np.column_stack([x, y, seen.unit * plate.unit])[there].tolist()
    return [(row, Cell(*cell)) for row, cell in zip(indices[there].tolist(), cells, strict=True)]


def cells_of(see: Projection, frame_data: FrameData, rows: Collection[int]) -> dict[int, Cell]:
    """Return the cells of some bank indices whose plates face the viewer."""
    places = {row: frame_data.layout.plate_of(row) for row in rows}
    facing = {
        row: place
        for row, place in places.items()
        if place is not None and place[0].toward @ see.camera.toward > FACING
    }
    if not facing:
        return {}
    middles = [plate.point(j + 0.5, i + 0.5) for plate, i, j in facing.values()]
    units = [plate.unit for plate, _, _ in facing.values()]
    seen = see(np.stack(middles))
    cells = np.column_stack([seen.xy, seen.unit * units]).tolist()
    known = {row: Cell(*cell) for row, cell in zip(facing, cells, strict=True)}
    return {row: cell for row, cell in known.items() if math.isfinite(cell.x + cell.y)}


def fitted(cells: Mapping[int, Cell], wide: float, lines: int, scale: float) -> Sizes:
    """Return the size of the letters in which words on some cubes fit, for each; none if too small.

    wide   width of the widest words, in sizes of letters
    lines  of which they are
    """
    if not 0 < len(cells) <= MOST:
        return {}
    x, y, side = np.array([[cell.x, cell.y, cell.side] for cell in cells.values()]).T
    one, other = np.triu_indices(len(x), 1)
    across, down = np.abs(x[one] - x[other]), np.abs(y[one] - y[other])
    if (np.maximum(across, down) < APART * np.minimum(side[one], side[other])).any():
        return {}
    beside = np.maximum(across / (wide + GAP), down / (LINE * lines + GAP))
    size = min(LARGEST * scale, SHARE * side.min() / wide, beside.min(initial=np.inf))
    return dict.fromkeys(cells, size) if size >= SMALLEST * scale else {}


def write(
    canvas: Canvas2D,
    see: Projection,
    frame_data: FrameData,
    row: int,
    words: str,
    size: float,
    theme: Theme,
    bright: FloatArray | None,
    *,
    is_first: bool,
) -> None:
    """Write words over the middle of a cube, before the cubes beside it; `is_first`: before all.

    Words that are wider than a cube that is marked, too, stand above it.
    """
    found = frame_data.layout.plate_of(row)
    if found is None:
        return
    plate, i, j = found
    which = next(k for k, each in enumerate(frame_data.layout.plates) if each is plate)
    cubes = frame_data.cubes
    half = float(half_sides(cubes.sizes[row : row + 1], float(cubes.size_scales[which]))[0])
    seen = see(plate.point(j + 0.5, i + 0.5))
    near = float(see(plate.corners_of(i, j, BEFORE * 0.5 * plate.unit)).depth.min())
    if not np.isfinite(seen.xy).all() or not np.isfinite(near):
        return
    lines = words.split("\n")
    wide = max(canvas.measure(line, size=size, bold=True) for line in lines)
    color = theme.map(cubes.colors[row : row + 1], float(cubes.color_scales[which]))[0]
    if bright is not None and bright[which] < 1.0:
        color = dimmed(color, rgb((theme.ground,))[0], DIM, CONTRAST)
    reach = CORNERS * half * plate.unit * float(seen.unit[0])
    is_inside = wide <= 2.0 * reach
    ink = readable(SHADE * color) if is_inside else theme.ink
    halo = ("#000000" if ink == "#ffffff" else "#ffffff") + "80" if is_inside else theme.ground
    x, y = seen.xy[0].tolist()
    y -= reach + 0.6 * size * len(lines) if is_first and not is_inside else 0.0
    for number, line in enumerate(lines):
        canvas.text(
            x,
            y + (0.36 + LINE * (number - 0.5 * (len(lines) - 1))) * size,
            line,
            size=size,
            bold=True,
            color=ink,
            anchor="center",
            depth=-1.0 if is_first else max(near, -1.0),
            outline=halo,
        )
