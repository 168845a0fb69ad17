"""Neurons: discs with a ring, their names and numbers, the gradients that come back to them."""

from __future__ import annotations

import numpy as np

from scalarviz.checks import FloatArray
from scalarviz.view.colors import contrast, rgb
from scalarviz.view.frame import Projection
from scalarviz.view.paper import Paper
from scalarviz.view.plates import Neurons
from scalarviz.view.sight import Sight
from scalarviz.view.theme import Theme

RADIUS = 0.36  # of a neuron, in cells
NAMES, NUMBERS = 11.0, 17.0  # pixels to a cell, from which they are seen


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
