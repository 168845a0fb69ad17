"""Marks on cubes and neurons: chosen and frozen ones, gradients, guesses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.program import NONE
from scalarviz.scene.annotations import bracket
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import Theme
from scalarviz.scene.cube_numbers import numbers_on_cubes
from scalarviz.scene.frame_data import CubeValues, FrameData, Guess
from scalarviz.scene.layout.division import Box, Projection
from scalarviz.scene.layout.plates import Layout, Plate
from scalarviz.story.facts import Neuron

LEAST_FROZEN = 8.0  # least pixels of a frozen cube at which it is marked
SPOKEN = 3  # neurons and cubes of a caption that are marked
MOST_FROZEN = 1500  # frozen cubes that are marked
# Pairs of the corners of a box that are the ends of an edge.
EDGES = np.array([(a, a | bit) for bit in (1, 2, 4) for a in range(8) if not a & bit])


def draw_marks(canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme) -> None:
    """Mark cubes and neurons that are chosen, and frozen cubes."""
    draw_chosen(canvas, see, frame_data, theme)
    if frame_data.cubes.frozen is not None:
        for row in np.flatnonzero(frame_data.cubes.frozen)[:MOST_FROZEN].tolist():
            hold(canvas, see, frame_data, row, theme)


def draw_chosen(canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme) -> None:
    """Draw brackets around what is spoken of, hovered, pinned, and pointed at in the caption."""
    caption, pointed = frame_data.words.caption, frame_data.pointed
    rows = [*frame_data.beside]
    rows += [card.row for card in (frame_data.hover, frame_data.pinned) if card is not None]
    neurons = [frame_data.hover_neuron, frame_data.pinned_neuron]
    if frame_data.moment is not None and caption is not None:
        rows, neurons = [*rows, *caption.rows[:SPOKEN]], [*neurons, *caption.neurons[:SPOKEN]]
    if pointed is not None:
        rows, neurons = [*rows, pointed.row], [*neurons, pointed.neuron]
    boxes = [box_of_neuron(see, frame_data.layout, each) for each in {*neurons} - {None} if each]
    for row in {*rows} - {NONE}:
        boxes += cube_boxes(see, frame_data, [row], None)
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


def edges_of(
    canvas: Canvas2D, see: Projection, corners: FloatArray, color: str, width: float
) -> None:
    """Draw the edges of a box, (8, 3), in space; `width` is that in a picture of 1280 x 800."""
    seen = see(corners)
    if np.isfinite(seen.xy).all():
        depth, (start, end) = np.maximum(seen.depth[EDGES] - 2e-3, -1.0), seen.xy[EDGES.T]
        canvas.segments(start, end, color, width=width * canvas.scale, depth=depth)


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


# Boxes of words, where they cover little.

MOST_CUBES = 200  # cubes that they keep clear of


def least_covering(
    lefts: FloatArray,
    tops: FloatArray,
    size: tuple[float, float],
    boxes: Sequence[tuple[Box, float]],
    far: Callable[[FloatArray], FloatArray],
) -> tuple[Box, float]:
    """Return the box at one of some places that costs least, and what it costs.

    lefts, tops  left and upper edges of the places
    size         its width and height
    boxes        other boxes, and what a covered pixel of each costs; the first is what it is about
    far          what it costs to be at distances from the first one, (tops, lefts), in pixels
    """
    wide, high = size
    x, y, width, height = np.array([box.place for box, _ in boxes]).T
    left, top = lefts[:, np.newaxis], tops[:, np.newaxis]
    across = np.minimum(left + wide, x + width) - np.maximum(left, x)
    down = np.minimum(top + high, y + height) - np.maximum(top, y)
    price = np.array([price for _, price in boxes])
    cost = np.maximum(down, 0.0) * price @ np.maximum(across, 0.0).T
    cost += far(np.hypot(np.minimum(down[:, :1], 0.0), np.minimum(across[:, :1], 0.0).T))
    i, k = np.unravel_index(int(np.argmin(cost)), cost.shape)
    return Box(float(lefts[k]), float(tops[i]), wide, high), float(cost[i, k])


# What moves cubes: the push of each gradient, and the old size beside the new one at the step.

LEAST_CELL = 11.0  # pixels of a cell from which on its cube has an arrow
MOST_ARROWS = 1500  # arrows
SHORTEST_ARROW, LONGEST_ARROW = 0.3, 0.95  # of an arrow, as shares of a cell
NO_GRADIENT = 1e-5  # of the scale of the cubes: a gradient up to this has no arrow
FULL_GRADIENT = 10.0  # times that: the least gradient whose arrow has the full length
NEARER = 1.2  # how far before its cube an arrow is
LEAST_GHOST = 2.0  # least pixels by which a cube has grown or shrunk for a ghost


def draw_pushes(
    canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme, scale: float
) -> bool:
    """Draw the way each cube is pushed: up if its number is to grow, longer for a larger gradient.

    An arrow stands at the right edge of its cube's front, that of a cube with a number beside it.
    Return whether there are any.
    """
    pushes = frame_data.cubes.pushes
    if pushes is None:
        return False
    top = longest_push(frame_data.cubes)
    if top is None:
        return False
    numbered, left = [*numbers_on_cubes(canvas, see, frame_data, scale)[0]], MOST_ARROWS
    for number, plate in enumerate(frame_data.layout.plates):
        unit = see(plate.point(plate.columns / 2.0, plate.rows / 2.0)).unit[0]
        if not unit * plate.unit >= LEAST_CELL or left <= 0:
            continue
        row, column, rows = plate.cells()
        shares = shares_of(pushes[rows], top, float(frame_data.cubes.size_scales[number]))
        pushed = np.flatnonzero(shares)[:left]
        row, column, rows = row[pushed], column[pushed], rows[pushed]
        left -= len(rows)
        half = plate.halves(frame_data.cubes.sizes[rows], frame_data.cubes.size_scales[number])
        places = row, column, np.isin(rows, numbered)
        draw_arrows(canvas, see, plate, places, half, -shares[pushed], theme, scale)
    return left < MOST_ARROWS


def longest_push(cubes: CubeValues) -> float | None:
    """Return the gradient with the longest arrow; None if there are no arrows."""
    if cubes.pushes is None or cubes.top_push:
        return cubes.top_push
    return float(np.abs(cubes.pushes[np.isfinite(cubes.pushes)]).max(initial=0.0)) or None


def shares_of(pushes: FloatArray, top: float, scale: float) -> FloatArray:
    """Return gradients as shares of the longest arrow's, -1 to 1; 0 for those without an arrow.

    top    the largest gradient
    scale  that of the cubes: gradients that are nearly 0 beside it have no arrow
    """
    known = np.isfinite(pushes) & (np.abs(pushes) > NO_GRADIENT * scale)
    return np.where(known, pushes, 0.0) / max(top, FULL_GRADIENT * NO_GRADIENT * scale)


def draw_arrows(
    canvas: Canvas2D,
    see: Projection,
    plate: Plate,
    cells: tuple[FloatArray, FloatArray, FloatArray],
    half: FloatArray,
    push: FloatArray,
    theme: Theme,
    scale: float,
) -> None:
    """Draw the arrows of some cubes of a plate; `push` is from -1 to 1.

    cells  row and column of each cube, and whether its arrow stands beside it
    """
    row, column, beside = cells
    middle, reach = plate.middle(row, column, half), half[:, np.newaxis]
    face = middle + reach * plate.toward
    front = see(face)
    sides = np.stack([plate.along, plate.across]) / np.array(plate.cell)[:, np.newaxis]
    level = middle + np.where(beside, -half, half)[:, np.newaxis] * plate.toward
    edges = [see(level + reach * way).xy for way in (*sides, *-sides)]
    right = max(edges, key=lambda xy: float(np.nan_to_num(xy[:, 0]).sum()))
    right = right + np.outer(3.0 * scale * beside, (1.0, 0.0))
    good = np.isfinite(right).all(axis=1)
    # Before the cubes beside its own, too.
    nearest = see(face[good] + NEARER * np.array(see.camera.toward))
    depth = np.maximum(nearest.depth - 1e-4, -1.0)
    share, sizes = push[good], front.unit[good] * plate.unit
    length = (SHORTEST_ARROW + (LONGEST_ARROW - SHORTEST_ARROW) * np.sqrt(np.abs(share))) * sizes
    width = np.maximum(1.6 * scale, 0.055 * sizes)
    head = np.minimum(np.maximum(5.0 * scale, 0.2 * sizes), length)
    rim, way = 1.2 * scale, np.outer(np.sign(share), (0.0, 1.0))
    half_way = 0.5 * length[:, np.newaxis] * way
    start, end = right[good] + half_way, right[good] - half_way
    canvas.arrows(
        start + rim * way, end - 1.6 * rim * way, theme.ground,
        width=width + 2.0 * rim, head=head + 2.6 * rim, depth=depth,
    )  # fmt: skip
    canvas.arrows(start, end, theme.push, width=width, head=head, depth=depth)


def draw_ghosts(canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme) -> None:
    """Draw the outline of each cube as it was before the step, where the difference is seen."""
    before = frame_data.cubes.before
    if before is None or len(before) > MOST_ARROWS:
        return
    cubes = frame_data.cubes
    for number, plate in enumerate(frame_data.layout.plates):
        row, column, rows = plate.cells()
        top = float(cubes.size_scales[number])
        old, new = plate.halves(before[rows], top), plate.halves(cubes.sizes[rows], top)
        unit = see(plate.middle(row, column)).unit
        for i in np.flatnonzero(2.0 * np.abs(new - old) * unit >= LEAST_GHOST).tolist():
            corners = plate.corners_of(int(row[i]), int(column[i]), float(old[i]))
            edges_of(canvas, see, corners, theme.light + "b0", 1.2)


# What is guessed: a question mark over a cube, the arrow of who guesses, and the true one. In
# place of arrows a gradient has signs.

GUESS_LONG, GUESS_WIDE, GUESS_HEAD = 52.0, 7.0, 20.0  # of an arrow
GUESS_GAP = 20.0  # between the edge of the cube and the middle of an arrow, and from there to words
GUESS_LETTERS, GUESS_SIGN = 17.0, 29.0  # letters
GUESS_MARGIN = 70.0  # from the edge of the picture


def draw_guess(
    canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme, scale: float
) -> None:
    """Draw a question mark over the cube; left of it what was guessed, right of it what came."""
    guess = frame_data.guess
    mark = None if guess is None else mark_of(frame_data, see, guess, scale)
    if guess is None or mark is None:
        return
    x, y, away = mark
    draw = draw_sign if guess.kind == "gradient" else draw_way
    for side, way, words, color in (
        (-1.0, guess.way, guess.typed or guess.label, theme.accent),
        (1.0, guess.came, guess.result or "", theme.metric),
        (0.0, None, "?" * (guess.result is None), theme.ink),
    ):
        draw(canvas, x + side * away, y, way, color, theme, scale)
        beside = x + side * (away + GUESS_GAP * scale)
        write_guess(canvas, beside, y, words, side, color, theme, scale)
    for way in (1, -1) if guess.way is None else ():  # it can be dragged
        draw(canvas, x, y - 2.0 * way * GUESS_GAP * scale, way, theme.quiet, theme, 0.7 * scale)


def mark_of(
    frame_data: FrameData, see: Projection, guess: Guess, scale: float
) -> tuple[float, float, float] | None:
    """Return where the question mark is, and how far beside it the arrows; None if unseen."""
    xy = see(corners_of(frame_data, guess.row, 0.42)).xy
    if not len(xy) or not np.isfinite(xy).all():
        return None
    inner = see.box.inside(GUESS_MARGIN * scale)
    x, y = np.clip(xy.mean(axis=0), (inner.x, inner.y), (inner.right, inner.bottom)).tolist()
    return x, y, max(15.0 * scale, 0.5 * float(np.ptp(xy[:, 0]))) + GUESS_GAP * scale


def draw_sign(
    canvas: Canvas2D,
    x: float,
    y: float,
    way: int | None,
    color: str,
    theme: Theme,
    scale: float,
) -> None:
    """Write +, − or 0 around a point; nothing for None."""
    if way is not None:
        size = GUESS_SIGN * scale
        canvas.box(x - 0.4 * size, y - 0.4 * size, 0.8 * size, 0.8 * size, theme.panel[:7])
        sign = "0+−"[way]
        canvas.text(x, y + 0.36 * size, sign, size=size, color=color, bold=True, anchor="center")


def draw_way(
    canvas: Canvas2D,
    x: float,
    y: float,
    way: int | None,
    color: str,
    theme: Theme,
    scale: float,
) -> None:
    """Draw an arrow up or down around a point; a bar for neither, nothing for None."""
    wide, half = GUESS_WIDE * scale, 0.5 * GUESS_LONG * scale
    if way == 0:
        canvas.box(x - 0.5 * half, y - 0.5 * wide, half, wide, color, outline=theme.ground)
    for rim, ink in ((2.0 * scale, theme.ground), (0.0, color)) if way else ():
        end = (way or 0) * (half + rim)
        look = {"width": wide + 2.0 * rim, "head": GUESS_HEAD * scale + 2.6 * rim}
        canvas.arrows((x, y + end), (x, y - end * (1.0 + rim / half)), ink, **look)


def write_guess(
    canvas: Canvas2D,
    x: float,
    y: float,
    words: str,
    side: float,
    color: str,
    theme: Theme,
    scale: float,
) -> None:
    """Write words in a box beside a point: on the left for a side of -1, over it for 0."""
    size = GUESS_LETTERS * scale
    wide = canvas.measure(words, size=size, bold=True)
    box = x + 0.5 * (side - 1.0) * wide - 0.5 * size, y - 0.8 * size, wide + size, 1.6 * size
    if words:
        edge = None if side else theme.accent
        canvas.box(*box, theme.panel[:7], radius=0.4 * size, outline=edge, line=2.0 * scale)
        canvas.text(box[0] + 0.5 * size, y + 0.36 * size, words, size=size, color=color, bold=True)
