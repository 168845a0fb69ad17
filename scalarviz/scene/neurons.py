"""Neurons: what stands on and beside their spheres, and feature maps."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.scene.annotations import Ball, numbers_in, write_names
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import HALO, NUMBER, Theme, faded, rgb
from scalarviz.scene.frame_data import FrameData
from scalarviz.scene.layout.division import ProjectedPoints, Projection
from scalarviz.scene.layout.plates import Layout, Neurons
from scalarviz.scene.neuron_images import (
    crosses,
    draw_pictures,
    draw_squares,
    held,
    left_out,
    painted_line,
)

SPOKEN = 0.7  # brightness from which on a neuron has words
EDGE = 9.0  # pixels by which names may leave the box of the network at its left


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
    good, xy, radius, front = see.once(
        ("neurons", id(line)), line, lambda line: seen_neurons(see, line)
    )
    if not len(xy):
        return
    values = frame_data.buffers.values
    numbers = held(line, frame_data)
    seen = see.of(line.points)
    has_map = line.square and draw_squares(canvas, seen, line, numbers, own, frame_data, theme)
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
        least = float(np.minimum.reduce(radius))
        words, size, aside = numbers_in(canvas, numbers[places].tolist(), least)
        said = [i for i in range(len(words)) if own[places[i], 0] >= SPOKEN]
        for i in [i for i in hatched.tolist() if i in said]:  # numbers stand on plain ground
            wide, (x, y) = canvas.measure(words[i], size=size, bold=True) + 6.0, xy[i].tolist()
            place = x + aside[i] - 0.5 * wide, y - 0.6 * size, wide, 1.2 * size
            color, front_of_it = fills[places[i]], float(front[i])
            canvas.box(*place, color, radius=0.5 * size, depth=front_of_it)
        if said:
            canvas.texts(
                xy[said] + [(aside[i], 0.36 * size) for i in said],
                [words[i] for i in said],
                size=size,
                bold=True,
                color=NUMBER,
                anchor="center",
                depth=front[said],
                outline=HALO,
            )
    low = see.box.x - EDGE * scale if line is frame_data.layout.neurons[0] else math.inf
    edges = low, see.box.right + EDGE * scale
    silent = (own[good, 0] < SPOKEN).tolist()
    if line.names:
        draw_names(canvas, seen, line, good, theme, edges, silent)


NONE_FLAT = np.zeros(0)


def seen_neurons(see: Projection, line: Neurons) -> tuple[FloatArray, ...]:
    """Return which neurons are seen; place and radius of each, and the depth of its number.

    Numbers stand just before the fronts of spheres.
    """
    seen = see.of(line.points)
    good = np.logical_and.reduce(np.isfinite(seen.xy), 1)
    front = see(line.points + 1.02 * line.radius * see.toward).depth[good]
    return good, seen.xy[good], line.radius * seen.unit[good], front


def balls_of(
    seen: ProjectedPoints, radius: FloatArray | float, chosen: FloatArray | slice = slice(None)
) -> list[Ball]:
    """Return neurons as they are seen, in plain numbers.

    radius  in cells; `chosen`, which of them
    """
    rows = np.column_stack([seen.xy, radius * seen.unit, seen.depth, seen.unit])
    return [Ball(*row) for row in rows[chosen].tolist()]


def spheres_seen(see: Projection, layout: Layout) -> tuple[FloatArray, FloatArray]:
    """Return x, y and radius of all spheres and squares as seen, (n, 3), and their depths."""
    points, radius = layout.once("spheres", spheres_of)
    seen = see.of(points)
    return np.concatenate([seen.xy, (radius * seen.unit)[:, np.newaxis]], axis=1), seen.depth


def spheres_of(layout: Layout) -> tuple[FloatArray, FloatArray]:
    """Return the centers of all spheres and squares, (n, 3), and their radii."""
    lines = [line for line in layout.neurons if not line.shape]
    points = np.concatenate([np.zeros((0, 3)), *(line.points for line in lines)])
    return points, np.repeat([line.radius for line in lines], [len(line.points) for line in lines])


def draw_names(
    canvas: Canvas2D,
    seen: ProjectedPoints,
    line: Neurons,
    good: FloatArray,
    theme: Theme,
    edges: Sequence[float],
    silent: Sequence[bool],
) -> None:
    """Write the names of the neurons that are seen, see `write_names`."""
    shown = np.flatnonzero(good)[: len(line.names)].tolist()
    names, balls = [line.names[place] for place in shown], balls_of(seen, line.radius, good)
    write_names(canvas, theme, line, names, balls, edges, silent)


def draw_way(canvas: Canvas2D, see: Projection, line: Neurons, bright: float, theme: Theme) -> None:
    """Draw the line of a skip connection, which ends in an arrow."""
    if line.way is None:
        return
    seen = see(line.way)
    if np.isfinite(seen.xy).all():
        color = faded(rgb((theme.quiet,)), bright, rgb((theme.ground,))[0])[0]
        width = min(3.0, max(1.4, 0.12 * float(np.median(seen.unit))))
        canvas.line(seen.xy, color, width=width, depth=seen.depth)
        start, end = seen.xy[-2:]
        canvas.arrows(start, end, color, width=width, head=5.0 * width, depth=seen.depth[-1])
