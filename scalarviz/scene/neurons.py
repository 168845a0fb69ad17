"""Neurons: marks and text on and next to their spheres, and feature maps."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.scene.annotations import Ball, draw_scores, draw_way, write_names, write_numbers_in
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import HALO, NUMBER, Theme, faded, rgb
from scalarviz.scene.frame_data import FrameData
from scalarviz.scene.layout.division import Projection
from scalarviz.scene.layout.plates import Neurons
from scalarviz.scene.neuron_images import (
    crosses,
    draw_pictures,
    draw_squares,
    held,
    left_out,
    painted_line,
)
from scalarviz.scene.silhouettes import balls_of
from scalarviz.story.panel_words import FEW, digits_of_off, formula_digits

digits_at_rest = lru_cache(maxsize=16)(digits_of_off)  # equal in most pictures
_newest: list[Any] = [None, {}]  # the buffers of a picture, and the decimals of their formula


def digits_of_picture(frame_data: FrameData) -> dict[str, int]:
    """Return the decimals of the results of a formula, computed once for all lines of a picture."""
    buffers = frame_data.buffers
    if _newest[0] is not buffers:
        found = formula_digits(frame_data.layout.steps, buffers.values, frame_data.weights)
        _newest[:] = buffers, found
    known: dict[str, int] = _newest[1]
    return known


def draw_neurons(
    canvas: Canvas2D,
    see: Projection,
    line: Neurons,
    bright: FloatArray | float,
    frame_data: FrameData,
    theme: Theme,
) -> None:
    """Write the names and numbers of a line of neurons, or draw its images or squares.

    Neurons dropped by dropout are crossed out, saturated neurons are hatched.

    Args:
        bright: brightness of all neurons, or of each neuron, (n, 1)
    """
    own, ground = bright + np.zeros((len(line.points), 1)), rgb((theme.ground,))[0]
    brightest = float(np.maximum.reduce(own, None, initial=0.0))
    if line.way is not None:
        color = faded(rgb((theme.quiet,)), brightest, ground)[0]
        draw_way(canvas, balls_of(see, line.way, 0.0), color)
    if line.shape:
        draw_pictures(canvas, see, line, brightest, frame_data, theme)
        return
    good, places, balls, front = see.once(
        ("neurons", id(line)), line, lambda line: seen_neurons(see, line)
    )
    if not places:
        return
    buffers, numbers, seen = frame_data.buffers, held(line, frame_data), see.of(line.points)
    has_map = line.square and draw_squares(canvas, seen, line, numbers, own, frame_data, theme)
    if buffers.left_out:
        dropped = left_out(line, frame_data)[good]
        crosses(canvas, seen.xy[good], 0.8 * line.radius * seen.unit[good], front, dropped, theme)
    lit, known = own[good, 0].tolist(), numbers[good[: len(numbers)]].tolist()
    if known and not has_map and not line.scores:  # hovering a map shows its number
        hatch = fills = np.zeros(0)
        saturated = buffers.saturated.get(line.values, hatch)
        if line.values in buffers.values and saturated.any():
            fills = faded(painted_line(line, frame_data, theme), bright, ground)[good]
            hatch = np.append(saturated, np.zeros(len(good) - len(saturated)))[good]
        digits, goals = digits_of_picture(frame_data).get(line.values, FEW), buffers.target
        layout = frame_data.layout
        at_rest = frame_data.told is None and line is layout.neurons[-1]
        at_rest = at_rest and layout.crossbar is None  # whose lane has two digits
        if at_rest and goals is not None and len(goals) == len(known):
            digits = digits_at_rest((*known,), (*goals.tolist(),), FEW)
        look = hatch.tolist(), fills.tolist(), (NUMBER, HALO), digits
        write_numbers_in(canvas, balls, front.tolist(), known, lit, *look)
    if line.scores:
        draw_scores(canvas, theme, balls, known, theme.signs)
    is_first = line is frame_data.layout.neurons[0]
    is_told = has_map or not line.square
    below = known if is_told and see.camera.is_front else []  # as numbers of opened rows
    write_names(
        *(canvas, theme, line, places, balls, lit, see.box, below),
        theme.signs,
        is_first=is_first,
    )


def seen_neurons(
    see: Projection, line: Neurons
) -> tuple[FloatArray, list[int], list[Ball], FloatArray]:
    """Return a mask of the visible neurons, their indices, and their spheres in the picture.

    The last array contains the depths of their numbers, which are just in front of the spheres.
    """
    good = np.logical_and.reduce(np.isfinite(see.of(line.points).xy), 1)
    places, every = np.flatnonzero(good).tolist(), balls_of(see, line.points, line.radius)
    out = np.array(see.camera.way(0.0, 0.0, 1.0))  # direction of depth
    front = see(line.points + 1.02 * line.radius * out).depth[good]
    return good, places, [every[place] for place in places], front
