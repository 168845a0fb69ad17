"""Marks on cubes and neurons: chosen and frozen ones, gradients, guesses."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.program import NONE
from scalarviz.scene.annotations import bracket, draw_before, draw_push, draw_question
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import Theme
from scalarviz.scene.cube_numbers import numbers_on_cubes
from scalarviz.scene.focus import chosen_neurons, chosen_rows, rows_of_sum, rows_walked
from scalarviz.scene.frame_data import CubeValues, FrameData, Guess
from scalarviz.scene.layout.division import Box, Projection
from scalarviz.scene.layout.plates import Layout
from scalarviz.story.facts import Neuron

LEAST_FROZEN = 8.0  # least pixels of a frozen cube at which it is marked
SPOKEN = 3  # neurons and cubes of a caption that are marked
MOST_FROZEN = 1500  # frozen cubes that are marked


def draw_marks(canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme) -> None:
    """Mark cubes and neurons that are chosen, and frozen cubes."""
    draw_chosen(canvas, see, frame_data, theme)
    if frame_data.cubes.frozen is not None:
        for row in np.flatnonzero(frame_data.cubes.frozen)[:MOST_FROZEN].tolist():
            hold(canvas, see, frame_data, row, theme)


def draw_chosen(canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme) -> None:
    """Draw brackets around what is spoken of, hovered, pinned, and pointed at in the caption."""
    caption = frame_data.words.caption if frame_data.guess is None else None
    pointed = frame_data.pointed
    rows: list[int] = [*frame_data.beside, *chosen_rows(frame_data)]
    neurons: list[Neuron | None] = [*chosen_neurons(frame_data)]
    if frame_data.moment is not None and caption is not None:
        rows, neurons = [*rows, *caption.rows[:SPOKEN]], [*neurons, *caption.neurons[:SPOKEN]]
    if pointed is not None:
        rows, neurons = [*rows, pointed.row], [*neurons, pointed.neuron]
    boxes = [box_of_neuron(see, frame_data.layout, each) for each in dict.fromkeys(neurons) if each]
    chosen = dict.fromkeys(row for row in rows if row != NONE)
    written = numbers_on_cubes(canvas, see, frame_data) if chosen else {}
    for row in chosen:
        number = written[row].box if row in written else None
        boxes += [box.around(number) for box in cube_boxes(see, frame_data, [row], None)]
    for box in filter(None, boxes):
        bracket(canvas, box, theme.lit)


def box_around(xy: FloatArray) -> Box | None:
    """Return the box around points; None if they are not all in front of the eye."""
    if not len(xy) or not np.isfinite(xy).all():
        return None
    (left, top), (right, bottom) = xy.min(axis=0).tolist(), xy.max(axis=0).tolist()
    return Box(left, top, right - left, bottom - top)


def box_of_neuron(see: Projection, layout: Layout, neuron: Neuron) -> Box | None:
    """Return the box around a sphere, or around the image of a pixel."""
    name, place = neuron
    for line in layout.neurons:
        if name not in line.buffers:
            continue
        if line.shape:
            corner, right, below = line.corners()[place // (line.shape[1] * line.shape[2])]
            return box_around(see(np.array([corner, right, below, right + below - corner])).xy)
        return box_of_sphere(see, line.points[place], line.radius)
    return None


def box_of_sphere(see: Projection, point: FloatArray, radius: float) -> Box | None:
    seen = see(point)
    reach = radius * float(seen.unit[0])
    return box_around(np.concatenate([seen.xy - reach, seen.xy + reach]))


def hold(canvas: Canvas2D, see: Projection, frame_data: FrameData, row: int, theme: Theme) -> None:
    """Draw a bar along each side of a frozen cube."""
    seen = see(corners_of(frame_data, row, margin=0.05))
    if len(seen.xy) and np.isfinite(seen.xy).all() and np.ptp(seen.xy[:, 1]) > LEAST_FROZEN:
        low, high = seen.xy.min(axis=0), seen.xy.max(axis=0)
        rest = 0.22 * (high[1] - low[1])
        depth = max(float(seen.depth.min()) - 1e-4, -1.0)
        for x in (low[0] + 0.5, high[0] - 0.5):
            ends = [(x, low[1] + rest)], [(x, high[1] - rest)]
            canvas.segments(*ends, theme.ink, width=1.6, depth=depth)


def corners_of(
    frame_data: FrameData, row: int, half: float | None = None, margin: float = 0.0
) -> FloatArray:
    """Return the corners of the box around a cube, (8, 3); empty if it is on no plate.

    half    half the side of the box, in a cell of at least 1; None: that of the cube and a margin
    """
    layout, cubes = frame_data.layout, frame_data.cubes
    found = layout.plate_of(row)
    if found is None:
        return np.zeros((0, 3))
    plate, i, j = found
    if half is not None:
        return plate.corners_of(i, j, half * plate.unit)
    top = float(cubes.size_scales[layout.plate_number(row)])
    own = plate.halves(cubes.sizes[row], top)
    return plate.corners_of(i, j, float(own), margin * plate.unit)


def cube_boxes(
    see: Projection, frame_data: FrameData, rows: Iterable[int], half: float | None
) -> list[Box]:
    """Return the boxes around cubes in front of the eye; `half` None: of their own side."""
    corners = [corners_of(frame_data, row, half) for row in rows]
    xy = see(np.concatenate([*corners, np.zeros((0, 3))])).xy.reshape(-1, 8, 2)
    xy = xy[np.isfinite(xy).all(axis=(1, 2))]
    low, high = xy.min(axis=1), xy.max(axis=1)
    return [Box(*place) for place in np.hstack([low, high - low]).tolist()]


def box_of(
    see: Projection,
    frame_data: FrameData,
    row: int,
    neuron: Neuron | None,
    half: float | None = None,
) -> Box | None:
    """Return the box around a neuron, else around the cube of a row; None if it is not seen.

    `half` is that of `cube_boxes`.
    """
    if neuron is not None:
        return box_of_neuron(see, frame_data.layout, neuron)
    return next(iter(cube_boxes(see, frame_data, [row], half)), None)


# What moves cubes: what each gradient asks of one, and the old size beside the new one at the step.

MOST_PUSHED = 64  # cubes of a row that have their mark
NO_GRADIENT = 1e-5  # of the scale of the cubes: a gradient up to this has no mark
FULL_GRADIENT = 10.0  # times that: the least gradient whose mark has the full length
LEAST_GHOST = 2.0  # least pixels by which a cube has grown or shrunk for an outline


def draw_pushes(canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme) -> bool:
    """Mark what the cubes of the row spoken of shall become; return whether there are any."""
    cubes, top, found = frame_data.cubes, longest_push(frame_data.cubes), 0
    if top is None or cubes.pushes is None:
        return False
    for row in pushed_rows(frame_data):
        scale = float(cubes.size_scales[frame_data.layout.plate_number(row)])
        share = float(shares_of(cubes.pushes[[row]], top, scale)[0])
        for box in cube_boxes(see, frame_data, [row], None) if share else ():
            draw_push(canvas, theme, box, -share)
            found += 1
    return found > 0


def pushed_rows(frame_data: FrameData) -> list[int]:
    """Return the bank indices of the row that gradients of weights are explained for."""
    moment, caption, layout = frame_data.moment, frame_data.words.caption, frame_data.layout
    if caption is None or moment is None or moment.kind != "weight gradient":
        return []
    told = [*rows_walked(frame_data), *caption.rows, *(piece.row for piece in caption.pieces)]
    first = next((row for row in told if layout.plate_of(row) is not None), NONE)
    fan = layout.fan_of(first)
    rows = [first] if fan is None else rows_of_sum(*fan)
    return [row for row in rows[:MOST_PUSHED] if layout.plate_of(row) is not None]


def longest_push(cubes: CubeValues) -> float | None:
    """Return the gradient with the longest mark; None if there are no marks."""
    if cubes.pushes is None or cubes.top_push:
        return cubes.top_push
    return float(np.abs(cubes.pushes[np.isfinite(cubes.pushes)]).max(initial=0.0)) or None


def shares_of(pushes: FloatArray, top: float, scale: float) -> FloatArray:
    """Return gradients as shares of the longest mark's, -1 to 1; 0 for those without a mark.

    top    the largest gradient
    scale  that of the cubes: gradients that are nearly 0 beside it have no mark
    """
    known = np.isfinite(pushes) & (np.abs(pushes) > NO_GRADIENT * scale)
    return np.where(known, pushes, 0.0) / max(top, FULL_GRADIENT * NO_GRADIENT * scale)


def draw_ghosts(canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme) -> None:
    """Draw the dashed outline of what a step moves most as it was before, where one sees it."""
    before, layout = frame_data.cubes.before, frame_data.layout
    for row in frame_data.cubes.moved[0] if before is not None else ():
        found = layout.plate_of(row)
        if found is None or before is None:
            continue
        plate, i, j = found
        top = float(frame_data.cubes.size_scales[layout.plate_number(row)])
        old, new = (
            float(plate.halves(each[row], top)) for each in (before, frame_data.cubes.sizes)
        )
        seen = see(plate.corners_of(i, j, old))
        if 2.0 * abs(new - old) * float(seen.unit[0]) >= LEAST_GHOST:
            draw_before(canvas, theme, seen.xy.tolist())


# What is guessed, see `draw_question`.

GUESS_LEAST, GUESS_GAP = 15.0, 20.0  # least half of a cube, and from there to words
GUESS_MARGIN = 70.0  # from the edge of the picture


def draw_guess(
    canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme, scale: float
) -> None:
    """Draw what is asked about a cube, what was guessed and what came."""
    guess = frame_data.guess
    mark = None if guess is None else mark_of(frame_data, see, guess, scale)
    if guess is None or mark is None:
        return
    x, y, away = mark
    knows = guess.kind != "gradient"
    ways = float(knows * (guess.way or 0)), float(knows * (guess.came or 0))
    said = guess.typed or guess.label or "⇅"  # it can be dragged
    draw_question(canvas, theme, (x, y, away - GUESS_GAP * scale), said, guess.result, ways)


def mark_of(
    frame_data: FrameData, see: Projection, guess: Guess, scale: float
) -> tuple[float, float, float] | None:
    """Return where a question is, and how far around it one drags at least; None if unseen."""
    own, cell = (see(corners_of(frame_data, guess.row, half)).xy for half in (None, 0.42))
    if not len(own) or not np.isfinite([own, cell]).all():
        return None
    inner = see.box.inside(GUESS_MARGIN * scale)
    x, y = np.clip(own.mean(axis=0), (inner.x, inner.y), (inner.right, inner.bottom)).tolist()
    half = max(GUESS_LEAST * scale, 0.5 * float(np.ptp(cell[:, 0])))
    return x, y, half + GUESS_GAP * scale
