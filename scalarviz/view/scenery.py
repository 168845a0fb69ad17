"""Scenery: what stands around the cubes - wires, neurons, names - and the marks on single cubes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scalarviz.checks import FloatArray
from scalarviz.view.colors import contrast, rgb
from scalarviz.view.cube_shaders import HALF
from scalarviz.view.frame import Box, Projection
from scalarviz.view.lights import Lights
from scalarviz.view.paper import Paper
from scalarviz.view.plates import Label, Neurons, Plate, Wires
from scalarviz.view.sight import Sight
from scalarviz.view.theme import Theme

RADIUS = 0.36  # of a neuron, in cells
WIRES, NAMES, NUMBERS, ARROWS = 7.0, 11.0, 17.0, 11.0  # pixels to a cell, from which they are seen
MOST_ARROWS = 1500
EDGES = ((0, 1), (2, 3), (4, 5), (6, 7), (0, 2), (1, 3), (4, 6), (5, 7), (0, 4), (1, 5), (2, 6))


def draw_scenery(paper: Paper, see: Projection, sight: Sight, lit: Lights, theme: Theme) -> None:
    """Everything around the cubes; what is behind one of them is hidden by it."""
    for bundle, span in zip(sight.layout.wires, lit.wires, strict=True):
        draw_wires(paper, see, bundle, span, theme)
    for line, bright in zip(sight.layout.neurons, lit.neurons.tolist(), strict=True):
        draw_neurons(paper, see, line, bright, sight, theme)
    draw_labels(paper, see, sight.layout.labels, theme)


def draw_labels(paper: Paper, see: Projection, labels: Sequence[Label], theme: Theme) -> None:
    """The names of plates at their edges, and what they are, where there is room for the words."""
    placed, halo = [place_label(paper, see, label) for label in labels], theme.ground
    taken: list[Box] = []
    for down, size, bold, color in ((0.0, 13.0, True, theme.ink), (16.0, 12.0, False, theme.quiet)):
        for label, (x, y, anchor) in zip(labels, placed, strict=True):
            words = label.name if bold else label.about
            wide = paper.measure(words, size=size, bold=bold)
            left = x - wide * (anchor == "right")
            room = Box(left, y + down - size, wide + 6.0, size + 3.0)
            if not words or not np.isfinite(x + y) or any(map(room.meets, taken)):
                continue
            taken.append(room)
            paper.text(
                x, y + down, words, size=size, bold=bold, color=color, anchor=anchor, outline=halo
            )


def place_label(paper: Paper, see: Projection, label: Label) -> tuple[float, float, str]:
    """Where the name of a plate begins, or ends, and which of the two."""
    (x, y), (right, end) = see(np.stack([label.start, label.end])).xy.tolist()
    wide = max(paper.measure(label.name, bold=True), paper.measure(label.about, size=12))
    leftward = label.leftward and wide > right - x
    room = see.box.right + 16.0  # words that begin in the scene end there too
    x, y, anchor = (right, end, "right") if leftward else (x, y, "left")
    x = max(room - wide, 0.0) if anchor == "left" and room - wide < x < room else x
    return x, y + (15.0 if label.below else -20.0), anchor


def draw_wires(
    paper: Paper, see: Projection, bundle: Wires, span: tuple[float, float] | None, theme: Theme
) -> None:
    """Thin lines; that part of them where light is now is bright."""
    start, end = see(bundle.start), see(bundle.end)
    units = start.unit[np.isfinite(start.unit)]
    if not len(units) or np.median(units) < WIRES:
        return
    depth = np.stack([start.depth, end.depth], axis=1)
    good = np.isfinite(depth).all(axis=1)
    paper.segments(start.xy[good], end.xy[good], theme.faint, width=1.2, depth=depth[good])
    if span is not None:
        first = see(bundle.start + span[0] * (bundle.end - bundle.start))
        last = see(bundle.start + span[1] * (bundle.end - bundle.start))
        depth = np.stack([first.depth, last.depth], axis=1)
        good = np.isfinite(depth).all(axis=1)
        paper.segments(
            first.xy[good], last.xy[good], theme.light + "c0", width=2.0, depth=depth[good]
        )


def draw_neurons(
    paper: Paper, see: Projection, line: Neurons, bright: float, sight: Sight, theme: Theme
) -> None:
    """Discs: inside what a neuron gives, around it a ring of what it adds up to."""
    seen = see(line.points)
    good = np.asarray(np.isfinite(seen.xy).all(axis=1))
    if not good.any():
        return
    xy, radius, depth = seen.xy[good], RADIUS * seen.unit[good], seen.depth[good]
    buffers = sight.buffers
    ground = rgb((theme.ground,))[0]
    inside = buffers.values.get(line.values)
    fill = faded(painted(line.values, inside, sight, theme), bright, ground)
    around = buffers.values.get(line.sums) if line.sums else None
    rim = faded(np.tile(rgb((theme.quiet,)), (len(line.points), 1)), bright, ground)
    width = np.maximum(1.0, 0.06 * radius)
    if around is not None:
        rim = faded(painted(line.sums, around, sight, theme), bright, ground)
        width = np.maximum(1.5, 0.24 * radius)
    hatch = buffers.saturated.get(line.values, np.zeros(len(line.points)))
    # A little ground between the ring and what is inside keeps the two apart.
    paper.discs(xy, radius, rim[good], depth=depth)
    paper.discs(xy, radius - width, ground, depth=depth)
    if inside is not None:
        inner = (radius - width) * (0.86 if around is not None else 1.0)
        paper.discs(xy, inner, fill[good], depth=depth, hatch=0.75 * hatch[good])
    write_on_neurons(paper, xy, radius, depth, line, inside, good, fill, theme)
    draw_flows(paper, xy, radius, good, line, sight, theme)


def write_on_neurons(
    paper: Paper,
    xy: FloatArray,
    radius: FloatArray,
    depth: FloatArray,
    line: Neurons,
    inside: FloatArray | None,
    good: FloatArray,
    fill: FloatArray,
    theme: Theme,
) -> None:
    """Names and numbers, where discs are large enough to hold them."""
    unit = float(np.median(radius)) / RADIUS
    if unit < NAMES:
        return
    for i, place in enumerate(np.flatnonzero(good).tolist()):
        x, y = xy[i].tolist()
        words = line.names[place] if place < len(line.names) else ""
        known = inside is not None and place < len(inside)
        if words:
            size = float(round(min(15.0, max(9.0, 0.30 * unit))))
            if known and unit > 2.0 * NUMBERS:
                above = y - radius[i] - 4.0
                paper.text(
                    x, above, words, size=size, color=theme.quiet, anchor="center", bold=True
                )
                words = ""
        if known and not words and unit > 2.0 * NUMBERS and inside is not None:
            words = short(float(inside[place]))
            # As large as fits into the inner disc.
            fits = 1.15 * float(radius[i]) / max(paper.measure(words, size=10.0), 1.0) * 10.0
            size = float(int(min(14.0, fits)))
            if size < 7.0:
                continue
        if words:
            ink = readable(fill[place]) if known else theme.quiet
            middle = y + 0.36 * size
            paper.text(
                x,
                middle,
                words,
                size=size,
                color=ink,
                anchor="center",
                depth=float(depth[i]) - 1e-4,
            )


def draw_flows(
    paper: Paper,
    xy: FloatArray,
    radius: FloatArray,
    good: FloatArray,
    line: Neurons,
    sight: Sight,
    theme: Theme,
) -> None:
    """The gradient that has come back to a neuron: a dot on its rim, larger where it is larger."""
    flows = sight.buffers.flows
    flow = flows.get(line.sums) if line.sums in flows else flows.get(line.values)
    if flow is None or radius[0] < 4.0:
        return
    top = max((float(np.abs(each).max()) for each in flows.values() if each.size), default=0.0)
    if not np.isfinite(top) or top == 0.0:
        return
    flow = flow[good]
    with np.errstate(divide="ignore"):
        part = np.clip(1.0 + np.log10(np.abs(flow) / top) / 3.0, 0.25, 1.0)
    # On the far side, so that the wires into and out of the neuron stay visible.
    places = xy + radius[:, np.newaxis] * [0.75, 0.75]
    paper.discs(places, 0.42 * radius * part + 1.6, theme.ground)
    paper.discs(places, 0.42 * radius * part, theme.map(np.sign(flow) * 0.85))


def draw_errors(paper: Paper, see: Projection, sight: Sight, theme: Theme) -> None:
    """Beside each output how far it is from what it should be: a bar, and the number."""
    target, lines = sight.buffers.target, sight.layout.neurons
    if target is None or not lines:
        return
    line = lines[-1]
    values = sight.buffers.values.get(line.values)
    seen = see(line.points)
    if values is None or len(values) != len(target) or seen.unit[0] < 2.0 * NAMES:
        return
    errors = values - target
    top = max(float(np.abs(errors).max()), 1e-12)
    colors = theme.map(np.sign(errors) * 0.8)
    apart = seen.xy[-1] - seen.xy[0]
    in_a_row = abs(apart[0]) >= abs(apart[1])
    for i, error in enumerate(errors.tolist()):
        x, y = seen.xy[i].tolist()
        reach = 1.1 * seen.unit[i] * abs(error) / top + 2.0
        low = RADIUS * seen.unit[i] + 6.0
        wide = 0.3 * seen.unit[i]
        words = f"{short(values[i])} - {short(target[i])}"
        size = float(round(min(12.0, 0.24 * seen.unit[i])))
        if in_a_row:
            paper.box(x - wide / 2, y + low, wide, reach, colors[i], radius=2.0)
            below = y + low + reach + size + 2.0
            paper.text(x, below, short(error), size=size, color=theme.ink, anchor="center")
        else:
            paper.box(x + low, y - wide / 2, reach, wide, colors[i], radius=2.0)
            words = f"{words} = {short(error)}"
            paper.text(x + low + reach + 5.0, y + 0.35 * size, words, size=size, color=theme.ink)


def painted(buffer: str, values: FloatArray | None, sight: Sight, theme: Theme) -> FloatArray:
    """The color of each neuron: its true one if it stands for a color, else by its number."""
    if buffer in sight.buffers.tints and values is not None:
        return sight.buffers.tints[buffer]
    return theme.map(np.zeros(0) if values is None else values, sight.buffers.scale)


def faded(colors: FloatArray, bright: float, ground: FloatArray) -> FloatArray:
    mixed: FloatArray = ground + bright * (colors - ground)
    return mixed


def readable(color: FloatArray) -> str:
    """Black or white, whichever stands out more."""
    return "#000000" if contrast(color, np.zeros(3)) > contrast(color, np.ones(3)) else "#ffffff"


def short(value: float) -> str:
    """A number in few characters."""
    if not np.isfinite(value):
        return str(value)
    text = f"{value:.2f}" if abs(value) < 10.0 else f"{value:.3g}"
    text = "0" if text in ("-0.00", "0.00") else text
    return text.replace("0.", ".", 1) if text.lstrip("-").startswith("0.") else text


# Marks on single cubes.


def draw_marks(paper: Paper, see: Projection, sight: Sight, theme: Theme) -> None:
    """The cubes that are hovered over and pinned, as edges of a box around them; frozen ones."""
    if sight.hover is not None:
        mark(paper, see, sight, sight.hover.row, theme.ink, 1.2)
    if sight.pinned is not None:
        mark(paper, see, sight, sight.pinned.row, theme.accent, 2.2)
    if sight.cubes.frozen is not None:
        for row in np.flatnonzero(sight.cubes.frozen)[:MOST_ARROWS].tolist():
            hold(paper, see, sight, row, theme)


def mark(paper: Paper, see: Projection, sight: Sight, row: int, color: str, width: float) -> None:
    seen = see(corners_of(sight, row, 0.5))
    if len(seen.xy) == 8 and np.isfinite(seen.xy).all():
        pairs = np.array([*EDGES, (3, 7)])
        depth = np.maximum(seen.depth[pairs] - 2e-3, -1.0)
        paper.segments(seen.xy[pairs[:, 0]], seen.xy[pairs[:, 1]], color, width=width, depth=depth)


def hold(paper: Paper, see: Projection, sight: Sight, row: int, theme: Theme) -> None:
    """A frozen cube stands between two bars."""
    seen = see(corners_of(sight, row, 0.5)[[1, 3, 5, 7]])
    if len(seen.xy) == 4 and np.isfinite(seen.xy).all() and seen.unit[0] > WIRES:
        low, high = seen.xy.min(axis=0), seen.xy.max(axis=0)
        rest = 0.22 * (high[1] - low[1])
        depth = max(float(seen.depth.min()) - 1e-4, -1.0)
        for x in (low[0] + 0.5, high[0] - 0.5):
            ends = [(x, low[1] + rest)], [(x, high[1] - rest)]
            paper.segments(*ends, theme.ink, width=1.6, depth=depth)


def corners_of(sight: Sight, row: int, half: float) -> FloatArray:
    """The corners of the box around a cube; none if it stands nowhere."""
    found = sight.layout.plate_of(row)
    if found is None:
        return np.zeros((0, 3))
    plate, i, j = found
    sides = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * half
    return plate.point(j + 0.5 + sides[:, 0], i + 0.5 + sides[:, 1], sides[:, 2])


def draw_changes(paper: Paper, see: Projection, sight: Sight, part: float, theme: Theme) -> None:
    """What a step does: each cube's old color around it, and an arrow up or down."""
    before = sight.cubes.before
    if before is None or len(before) > MOST_ARROWS:
        return
    for i, plate in enumerate(sight.layout.plates):
        draw_changes_of(paper, see, sight, i, plate, before, part, theme)


def draw_changes_of(
    paper: Paper,
    see: Projection,
    sight: Sight,
    number: int,
    plate: Plate,
    before: FloatArray,
    part: float,
    theme: Theme,
) -> None:
    column, row = (x.ravel() for x in np.meshgrid(range(plate.columns), range(plate.rows)))
    rows = plate.first + row * plate.stride + column
    old, new = before[rows], sight.cubes.colors[rows]
    middle = see(plate.point(column + 0.5, row + 0.5, HALF))
    scale = float(sight.cubes.color_scales[number])
    outlines = theme.map(old, scale)
    fills = theme.map(new, scale)
    for i in range(len(rows)):
        unit = float(middle.unit[i])
        x, y = middle.xy[i].tolist()
        if not np.isfinite(x) or unit < ARROWS:
            continue
        side = 0.92 * unit
        paper.box(
            x - side / 2,
            y - side / 2,
            side,
            side,
            None,
            radius=0.1 * unit,
            outline=outlines[i],
            line=max(1.5, 0.06 * unit),
        )
        change = float(new[i] - old[i])
        if change:
            reach = 0.24 * unit * part * (1.0 if change > 0.0 else -1.0)
            head = max(4.0, 0.22 * unit)
            ink = readable(fills[i])
            width = max(1.2, 0.05 * unit)
            paper.arrow((x, y + reach), (x, y - reach), ink, width=width, head=head)
