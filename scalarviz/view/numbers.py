"""Numbers on cubes: on all of a small network, else on large ones and those of one sum."""

from __future__ import annotations

import numpy as np

from scalarviz.draw2d.canvas import Canvas2D
from scalarviz.draw2d.theme import Theme
from scalarviz.model.operations import NONE
from scalarviz.view.cubes.picking import half_sides
from scalarviz.view.frame_data import FrameData
from scalarviz.view.neuron_colors import readable, short
from scalarviz.view.scene.beads import FEW
from scalarviz.view.scene.frame import Projection
from scalarviz.view.scene.plates import Plate

MOST = 64  # numbers of one sum, or of one plate
LARGE = 84.0  # pixels of a cell from which on its cube has a number
SEARCHED = 100_000  # cubes; larger plates are not searched for large ones
LARGEST, SMALLEST = 13.0, 9.0  # sizes of letters


def draw_numbers(
    canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme, scale: float
) -> None:
    """Write numbers on the fronts of cubes."""
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
    tops = {id(p): top for p, top in zip(layout.plates, frame_data.cubes.size_scales, strict=True)}
    bottoms = dict(zip(map(id, layout.plates), frame_data.cubes.color_scales, strict=True))
    for row in sorted(rows):
        found = layout.plate_of(row)
        if found is not None:
            plate, i, j = found
            top, scale_of = float(tops[id(plate)]), float(bottoms[id(plate)])
            write(canvas, see, frame_data, (plate, i, j), row, (top, scale_of), theme, scale)


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
    scales: tuple[float, float],
    theme: Theme,
    scale: float,
) -> None:
    """Write the number of a cube: on its front if it fits there, else in its middle."""
    plate, i, j = place
    cubes = frame_data.cubes
    if plate.toward @ see.camera.toward <= 0.1:
        return
    half = float(half_sides(cubes.sizes[row : row + 1], scales[0])[0]) * plate.unit
    x, y = half / plate.cell[0], half / plate.cell[1]
    columns = j + 0.5 + np.array([0.0, -x, x, 0.0, 0.0, 0.0])
    lines = i + 0.5 + np.array([0.0, 0.0, 0.0, -y, y, 0.0])
    seen = see(plate.point(columns, lines, np.array([half] * 5 + [0.0])))
    near = float(see(plate.corners_of(i, j, half)).depth.min())
    if not np.isfinite(seen.xy).all():
        return
    ways = np.abs(np.stack([seen.xy[2] - seen.xy[1], seen.xy[4] - seen.xy[3]]))
    wide, whole = float(ways[:, 0].max()), 2.4 * half * float(seen.unit[0])
    words = short(float(cubes.colors[row]))
    each = canvas.measure(words, size=10.0, bold=True) / 10.0
    middle, room = (seen.xy[0], wide) if wide > 11.0 * scale * each else (seen.xy[5], whole)
    size = float(int(min(LARGEST * scale, 0.98 * room / each)))
    if size < SMALLEST * scale:
        return
    ink = readable(theme.map(np.array([cubes.colors[row]]), scales[1])[0])
    canvas.text(
        float(middle[0]),
        float(middle[1]) + 0.36 * size,
        words,
        size=size,
        bold=True,
        color=ink,
        anchor="center",
        depth=max(near - 1e-4, -1.0),
        outline=("#000000" if ink == "#ffffff" else "#ffffff") + "80",
    )
