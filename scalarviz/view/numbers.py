"""Numbers on cubes: on all of a small network, else on large ones and those spoken of."""

from __future__ import annotations

import numpy as np

from scalarviz.draw2d.canvas import Canvas2D
from scalarviz.draw2d.theme import Theme
from scalarviz.model.operations import NONE
from scalarviz.view.cubes.picking import half_sides
from scalarviz.view.frame_data import FrameData
from scalarviz.view.lights import MOVED
from scalarviz.view.neuron_colors import readable, short
from scalarviz.view.scene.beads_form import FEW
from scalarviz.view.scene.frame import Projection
from scalarviz.view.scene.plates import Plate

MOST = 64  # numbers of one sum, or of one plate
LARGE = 84.0  # pixels of a cell from which on its cube has a number
SEARCHED = 100_000  # cubes; larger plates are not searched for large ones
TOUCHED = 0.4  # part of an operation from which on light has come to the cubes
ROOMY = 40.0  # pixels of a cell from which on its cube has room for two short lines
LARGEST, SMALLEST = 13.0, 9.0  # sizes of letters


def draw_numbers(
    canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme, scale: float
) -> None:
    """Write numbers on the fronts of cubes."""
    layout, told = frame_data.layout, marks_of(frame_data)
    plain = numbered_rows(see, frame_data, scale)
    marks = {**moves_of(see, frame_data, scale), **told}
    rows = plain | set(marks)
    tops = {id(p): top for p, top in zip(layout.plates, frame_data.cubes.size_scales, strict=True)}
    bottoms = dict(zip(map(id, layout.plates), frame_data.cubes.color_scales, strict=True))
    for row in sorted(rows):
        found = layout.plate_of(row)
        if found is not None:
            plate, i, j = found
            top, scale_of = float(tops[id(plate)]), float(bottoms[id(plate)])
            value = short(float(frame_data.cubes.colors[row]))
            words = [marks[row]] if row in marks else []
            words += [value] if row in plain else []
            place = plate, i, j
            write(canvas, see, frame_data, place, row, words, (top, scale_of), theme, scale)


def numbered_rows(see: Projection, frame_data: FrameData, scale: float) -> set[int]:
    """Return the bank indices of the cubes that have a number, or arithmetic of the caption."""
    layout = frame_data.layout
    count = sum(plate.size for plate in layout.plates)
    rows = set(range(len(frame_data.cubes.colors))) if count < FEW else set()
    for plate in layout.plates:
        rows |= large_in(see, plate, LARGE * scale)
    for card in (frame_data.hover, frame_data.pinned):
        fan = None if card is None else layout.fan_of(card.row)
        if fan is not None and fan[0].inputs <= MOST:
            whole, unit = fan
            rows |= set(whole.rows_of(unit))
            rows |= {whole.biases + unit} if whole.biases != NONE else set()
    return rows | set(marks_of(frame_data))


def marks_of(frame_data: FrameData) -> dict[int, str]:
    """Return what the caption of an operation writes on cubes, by bank index."""
    caption = frame_data.words.caption
    if frame_data.moment is None or caption is None or frame_data.part < TOUCHED:
        return {}
    return {piece.row: piece.mark for piece in caption.pieces if piece.row != NONE}


def moves_of(see: Projection, frame_data: FrameData, scale: float) -> dict[int, str]:
    """Return the numbers of large cubes before and after a step, in two lines, by bank index."""
    before, now = frame_data.cubes.before, frame_data.cubes.colors
    if before is None or frame_data.part < MOVED:
        return {}
    rows = set[int]()
    for plate in frame_data.layout.plates:
        rows |= large_in(see, plate, ROOMY * scale)
    return {row: old_and_new(float(before[row]), float(now[row])) for row in rows}


def old_and_new(old: float, new: float) -> str:
    """Return two numbers in lines of their own, with as many digits as distinguish them."""
    pairs = [(short(old, digits), short(new, digits)) for digits in (2, 3, 4)]
    first, last = next((pair for pair in pairs if pair[0] != pair[1]), pairs[-1])
    return f"{first}\n→ {last}"


def large_in(see: Projection, plate: Plate, least: float) -> set[int]:
    """Return the bank indices of the cubes of a plate whose cells are seen so large, if few."""
    ends = see(plate.corners(0.0)).unit
    if not np.isfinite(ends).any() or np.nanmax(ends) * plate.unit < least:
        return set()
    if plate.size > SEARCHED:
        return set()
    row, column, indices = plate.cells()
    seen = see(plate.point(column + 0.5, row + 0.5))
    x, y = seen.xy.T
    box = see.box
    there = (x > box.x) & (x < box.right) & (y > box.y) & (y < box.bottom)
    chosen = indices[there & (seen.unit * plate.unit >= least)]
    return set(chosen[:MOST].tolist())


def write(
    canvas: Canvas2D,
    see: Projection,
    frame_data: FrameData,
    place: tuple[Plate, int, int],
    row: int,
    words: list[str],
    scales: tuple[float, float],
    theme: Theme,
    scale: float,
) -> None:
    """Write the first of some words for which there is room: on a cube's front, else its middle."""
    plate, i, j = place
    cubes = frame_data.cubes
    if plate.toward @ see.camera.toward <= 0.1:
        return
    half = float(half_sides(cubes.sizes[row : row + 1], scales[0])[0]) * plate.unit
    x, y = half / plate.cell[0], half / plate.cell[1]
    columns = j + 0.5 + np.array([0.0, -x, x, 0.0, 0.0, 0.0])
    rows = i + 0.5 + np.array([0.0, 0.0, 0.0, -y, y, 0.0])
    seen = see(plate.point(columns, rows, np.array([half] * 5 + [0.0])))
    near = float(see(plate.corners_of(i, j, half)).depth.min())
    if not np.isfinite(seen.xy).all():
        return
    ways = np.abs(np.stack([seen.xy[2] - seen.xy[1], seen.xy[4] - seen.xy[3]]))
    wide, whole = float(ways[:, 0].max()), 2.4 * half * float(seen.unit[0])
    tall = float(ways[:, 1].max())
    for some in words:
        lines = some.split("\n")
        each = max(canvas.measure(line, size=10.0, bold=True) for line in lines) / 10.0
        on_front = wide > 11.0 * scale * each
        middle, room = (seen.xy[0], wide) if on_front else (seen.xy[5], whole)
        size = float(int(min(LARGEST * scale, 0.98 * room / each)))
        least = SMALLEST if len(lines) == 1 else SMALLEST + 1.0
        if size >= least * scale and (len(lines) == 1 or 2.2 * size < 1.2 * tall):
            break
    else:
        return
    ink = readable(theme.map(np.array([cubes.colors[row]]), scales[1])[0])
    halo = ("#000000" if ink == "#ffffff" else "#ffffff") + "80"
    for number, line in enumerate(lines):
        canvas.text(
            float(middle[0]),
            float(middle[1]) + (0.36 + 1.1 * (number - 0.5 * (len(lines) - 1))) * size,
            line,
            size=size,
            bold=True,
            color=ink,
            anchor="center",
            depth=max(near - 1e-4, -1.0),
            outline=halo,
        )
