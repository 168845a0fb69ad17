"""Neurons: what stands on and beside their spheres, and feature maps."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import short
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import HALO, NUMBER, Theme, faded, rgb
from scalarviz.scene.frame_data import FrameData
from scalarviz.scene.layout.division import Box, Projection
from scalarviz.scene.layout.plates import Neurons
from scalarviz.scene.neuron_images import (
    crosses,
    draw_pictures,
    draw_squares,
    flow_parts,
    held,
    left_out,
    painted_line,
)

SMALLEST = 7.5  # least radius of a sphere in pixels for a number
BIG, LITTLE = 14.0, 12.0  # sizes of the letters of numbers
SPOKEN = 0.7  # brightness from which on a neuron has words
WIDE = 3.6  # radii of a sphere that its number may be wide
MOST = 128  # numbers in a line
EDGE = 12.0  # pixels by which names may leave the box of the network at its left
LETTERS = 14  # of a line of a name
FEW = 3.0  # least room for two lines, in sizes of letters


def draw_neurons(
    canvas: Canvas2D,
    see: Projection,
    line: Neurons,
    bright: FloatArray | float,
    frame_data: FrameData,
    theme: Theme,
    scale: float,
) -> None:
    """Write names and numbers of a line of neurons, or draw images.

    bright  brightness of all, or of each, (n, 1)

    Neurons that dropout drops are crossed out, saturated ones are hatched.
    """
    own = bright + np.zeros((len(line.points), 1))
    brightest = float(np.maximum.reduce(own, None, initial=0.0))
    draw_way(canvas, see, line, brightest, theme)
    if line.shape:
        draw_pictures(canvas, see, line, brightest, frame_data, theme)
        return
    good, xy, radius, depth, front = see.once(
        ("neurons", id(line)), line, lambda line: seen_neurons(see, line)
    )
    if not len(xy):
        return
    values = frame_data.buffers.values
    numbers = held(line, frame_data)
    seen = see.of(line.points)
    has_map = line.square and draw_squares(canvas, seen, line, own, frame_data, theme)
    if frame_data.buffers.left_out:
        crosses(canvas, xy, 0.8 * radius, front, left_out(line, frame_data)[good], theme)
    if len(numbers) and not has_map:  # hovering a map shows its number
        saturated = frame_data.buffers.saturated.get(line.values, NONE_FLAT)
        hatched = np.zeros(0, np.intp)
        if line.values in values and saturated.any():
            fills = faded(painted_line(line, frame_data, theme), bright, rgb((theme.ground,))[0])
            hatch = np.append(saturated, np.zeros(len(good) - len(saturated)))[good]
            hatched = np.flatnonzero(hatch > 0.0)
            look = {"depth": front[hatched], "hatch": 0.75 * hatch[hatched]}
            canvas.discs(xy[hatched], 0.92 * radius[hatched], fills[good][hatched], **look)
        places = np.flatnonzero(good[: len(numbers)])
        words, size = numbers_in(canvas, numbers[places], float(radius.min()), scale)
        said = [i for i in range(len(words)) if own[places[i], 0] >= SPOKEN]
        for i in [i for i in hatched.tolist() if i in said]:  # numbers stand on plain ground
            wide, (x, y) = canvas.measure(words[i], size=size, bold=True) + 6.0, xy[i].tolist()
            place = x - 0.5 * wide, y - 0.6 * size, wide, 1.2 * size
            color, front_of_it = fills[places[i]], float(front[i])
            canvas.box(*place, color, radius=0.5 * size, depth=front_of_it)
        if said:
            write_in(canvas, xy[said], front[said], [words[i] for i in said], size)
    edge = see.box.x - EDGE * scale if line is frame_data.layout.neurons[0] else math.inf
    silent = (own[good, 0] < SPOKEN).tolist()
    if line.names:
        canvas.kept(
            f"names:{line.values or line.sums}",
            (see, id(line), theme, scale, silent),
            lambda part: write_names(
                *(part, xy, radius, depth, good, line, theme, scale, edge, silent)
            ),
        )
    if not frame_data.layout.signs:  # where it is written
        draw_flows(canvas, xy, radius, good, line, frame_data, theme)


NONE_FLAT = np.zeros(0)


def seen_neurons(see: Projection, line: Neurons) -> tuple[FloatArray, ...]:
    """Return which neurons are seen; place, radius and depth of each, and that of its number."""
    seen = see.of(line.points)
    good = np.logical_and.reduce(np.isfinite(seen.xy), 1)
    front = front_of(see, line.points, line.radius)[good]
    return good, seen.xy[good], line.radius * seen.unit[good], seen.depth[good], front


def front_of(see: Projection, points: FloatArray, radius: float) -> FloatArray:
    """Return a depth just before the front of each sphere, where its number stands."""
    return see(points + 1.02 * radius * see.toward).depth


def spheres_seen(
    see: Projection, spheres: Sequence[tuple[FloatArray, float]]
) -> tuple[FloatArray, FloatArray]:
    """Return x, y and radius of spheres as seen, (n, 3), and their depths.

    spheres  centers, (m, 3), and their radius
    """
    seen = see(np.concatenate([np.zeros((0, 3)), *(points for points, _ in spheres)]))
    radius = np.repeat([each for _, each in spheres], [len(points) for points, _ in spheres])
    return np.column_stack([seen.xy, radius * seen.unit]), seen.depth


def numbers_in(
    canvas: Canvas2D, values: FloatArray, radius: float, scale: float
) -> tuple[list[str], float]:
    """Return the numbers of a line, and their size; none if they would be too small."""
    if radius < SMALLEST * scale or len(values) > MOST:
        return [], 0.0
    words = [short(float(value)) for value in values]
    widest = canvas.widest(words, size=10.0, bold=True) / 10.0
    size = float(int(min(BIG * scale, WIDE * radius / widest)))
    return (words, size) if size >= LITTLE * scale else ([], 0.0)


def write_in(
    canvas: Canvas2D,
    xy: FloatArray,
    depth: FloatArray | float,
    words: Sequence[str],
    size: float,
) -> None:
    """Write a text into each of some spheres, (n, 2)."""
    lower = np.array([0.0, 0.36 * size])
    canvas.texts(
        xy + lower,
        words,
        size=size,
        bold=True,
        color=NUMBER,
        anchor="center",
        depth=depth,
        outline=HALO,
    )


def write_names(
    canvas: Canvas2D,
    xy: FloatArray,
    radius: FloatArray,
    depth: FloatArray,
    good: FloatArray,
    line: Neurons,
    theme: Theme,
    scale: float,
    edge: float,
    silent: Sequence[bool] | npt.NDArray[np.bool_],
) -> None:
    """Write the names of neurons: below squares and one that is alone, beside others.

    Channels of a color have theirs above them. Those beside are left, if they fit there, not
    further left than `edge`: cubes stand at the right.

    Long names are in two lines if there is room for two. `silent` neurons have no words.
    """
    size = 13.0 * scale
    if not line.names or not len(xy):
        return
    spaces = len(xy) - 1
    apart = float(np.linalg.norm(xy[-1] - xy[0])) / spaces if spaces else math.inf
    if apart < size:
        return
    names = [line.names[i] for i in np.flatnonzero(good).tolist() if i < len(line.names)]
    names = names if apart < FEW * size else [*map(name_lines, names)]
    lit = [i for i in range(len(names)) if not silent[i]]
    if line.is_color:  # the rings have the colors where there is no room
        lit = [i for i in lit if apart >= 2.0 * radius[i] + size]
    if not lit:
        return
    wide, least = canvas.widest(names, size=size, bold=True), float(np.minimum.reduce(radius))
    below = not spaces or (line.square and apart > 2.0 * least + 1.3 * size and wide < 4.0 * least)
    left = float(np.minimum.reduce(xy[:, 0] - radius)) - 6.0 * scale - wide >= edge
    (x, y), far, anchor = xy.T, radius, "center"
    if line.is_color:
        y = y - far - 0.55 * size
    elif below:
        y = y + far + 1.15 * size
    else:
        x, anchor = (x - far - 6.0 * scale, "right") if left else (x + far + 6.0 * scale, "left")
        y = y + 0.36 * size
        y[lit] -= [0.675 * size * names[i].count("\n") for i in lit]
    for part in [[i] for i in lit] if line.is_color else [lit]:
        canvas.texts(
            np.array([x[part], y[part]]).T,
            [names[i] for i in part],
            size=size,
            color=theme.channels[part[0]] if line.is_color else theme.ink,
            bold=True,
            anchor=anchor,
            outline=theme.ground,
            depth=depth[part],
        )


def name_lines(name: str) -> str:
    """Return a name of more than LETTERS letters in two lines."""
    if len(name) <= LETTERS:
        return name
    blanks = [place for place, letter in enumerate(name) if letter == " "]
    place = min(blanks, key=lambda place: abs(2 * place - len(name)), default=LETTERS)
    return f"{name[:place]}\n{name[place:].strip()}"


def draw_flows(
    canvas: Canvas2D,
    xy: FloatArray,
    radius: FloatArray,
    good: FloatArray,
    line: Neurons,
    frame_data: FrameData,
    theme: Theme,
) -> None:
    """Draw the gradient of each neuron as a dot on its rim, larger for a larger gradient."""
    found = flow_parts(line, frame_data) if radius[0] >= 4.0 else None
    if found is None:
        return
    flow, part = (each[good[: len(each)]] for each in found)
    xy, radius = xy[: len(flow)], radius[: len(flow)]
    # On the side without wires.
    places = xy + radius[:, np.newaxis] * [0.75, 0.75]
    canvas.discs(places, 0.42 * radius * part + 1.6, theme.ground)
    canvas.discs(places, 0.42 * radius * part, theme.map(np.sign(flow) * 0.85))


def draw_way(canvas: Canvas2D, see: Projection, line: Neurons, bright: float, theme: Theme) -> None:
    """Draw the line of a skip connection, which ends in an arrow."""
    if line.way is None:
        return
    seen = see(line.way)
    if np.isfinite(seen.xy).all():
        ground = rgb((theme.ground,))[0]
        color = faded(rgb((theme.quiet,)), bright, ground)[0]
        width = min(3.0, max(1.4, 0.12 * float(np.median(seen.unit))))
        canvas.line(seen.xy, color, width=width, depth=seen.depth)
        start, end = seen.xy[-2:]
        canvas.arrows(start, end, color, width=width, head=5.0 * width, depth=seen.depth[-1])


def draw_errors(
    canvas: Canvas2D,
    see: Projection,
    frame_data: FrameData,
    theme: Theme,
    labels: Sequence[Box] = (),
) -> None:
    """Draw how far each output, as the loss reads it, is off its target: a bar and a number.

    They stand right of outputs, or below a single one and the `labels` there.
    """
    target, answers = frame_data.buffers.target, frame_data.buffers.answers
    lines = frame_data.layout.neurons
    if target is None or answers is None or not lines:
        return
    line = lines[-1]
    seen = see(line.points)
    is_close = seen.unit[0] >= 22.0 and not line.shape
    if not len(answers) == len(target) == len(line.points) or not is_close:
        return
    errors = answers - target
    top = max(float(np.abs(errors).max()), 1e-12)
    colors = theme.map(np.sign(errors) * 0.8)
    scale = canvas.scale
    for i, error in enumerate(errors.tolist()):
        x, y = seen.xy[i].tolist()
        reach = 0.8 * seen.unit[i] * abs(error) / top + 2.0
        low = line.radius * seen.unit[i] + 6.0 * scale
        wide = 0.3 * seen.unit[i]
        size = float(round(min(13.0 * scale, max(11.0 * scale, 0.26 * seen.unit[i]))))
        number = short(error)
        number = "+" * (error > 0.0 and number != "0") + number
        words = text("outputs.off", error=number)
        if len(errors) == 1:
            low += 15.0 * scale * bool(line.names)
            canvas.box(x - wide / 2, y + low, wide, reach, colors[i], radius=2.0)
            below, anchor = y + low + reach + size + 2.0, "center"
            half = 0.5 * canvas.measure(words, size=size)
            x = min(x, see.width - half - 4.0)
            place = Box(x - half, below - size, 2.0 * half, 1.2 * size)
            below = max([below, *(each.bottom + size for each in labels if each.meets(place))])
        else:
            canvas.box(x + low, y - wide / 2, reach, wide, colors[i], radius=2.0)
            x, below, anchor = x + low + reach + 5.0, y + 0.35 * size, "left"
        ink, halo = theme.ink, theme.ground
        canvas.text(x, below, words, size=size, color=ink, anchor=anchor, outline=halo)
