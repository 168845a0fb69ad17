"""Beads: the spheres and wires of one picture, as arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scalarviz.checks.numbers import FloatArray
from scalarviz.draw2d.batch import color
from scalarviz.draw2d.colors import rgb
from scalarviz.draw2d.theme import Theme
from scalarviz.view.frame_data import FrameData
from scalarviz.view.lights import Lights
from scalarviz.view.neuron_colors import faded, painted
from scalarviz.view.scene.camera import Camera
from scalarviz.view.scene.plates import Fan, Layout, Neurons, Wires

BEHIND = 0.9  # as far as the corner of a cube is from its middle
THIN, LIT = 1.0, 3.0  # widths of wires in logical pixels
FADED = 0.5  # brightness of a line that is repeated in the next row
ONE = 0.3  # share of the ink in the color of the sphere "1"


@dataclass(frozen=True)
class Beads:
    """Spheres and wires in space.

    centers       (n, 3) of the spheres; `radii` (n,)
    fills         (n, 3), colors; `outlines` (n, 3)
    lines         (n,), widths of the outlines in logical pixels
    starts, ends  (m, 3) of the wires
    colors        (m, 4), with alpha; `widths` (m,) in logical pixels
    """

    centers: FloatArray
    radii: FloatArray
    fills: FloatArray
    outlines: FloatArray
    lines: FloatArray
    starts: FloatArray
    ends: FloatArray
    colors: FloatArray
    widths: FloatArray


def beads_of(
    frame_data: FrameData,
    lit: Lights,
    theme: Theme,
    camera: Camera | None = None,
    scale: float = 1.0,
) -> Beads:
    """Return the spheres and wires of a picture; `scale` is the size of its letters.

    Where weights are on the wires and the camera is known, wires are a little behind their places,
    so that they do not cross the cubes and spheres at which they end.
    """
    layout = frame_data.layout
    spheres = [
        spheres_of(line, bright, frame_data, theme, scale)
        for line, bright in zip(layout.neurons, lit.neurons.tolist(), strict=True)
        if not line.shape
    ]
    ones = ones_of(layout, theme, scale)
    wires = [
        part
        for bundle, span in zip(layout.wires, lit.wires, strict=True)
        for part in wires_of(bundle, span, theme, scale)
    ]
    wires += fans_of(frame_data, theme, scale)
    starts, ends, colors, widths = joined(wires, 4)
    if camera is not None and layout.fans:
        starts, ends = camera.behind(starts, BEHIND), camera.behind(ends, BEHIND)
    centers, radii, fills, outlines, lines = joined([*spheres, ones], 5)
    balls = centers, radii, fills, outlines, lines
    return Beads(*balls, starts, ends, colors, widths)


def joined(parts: list[tuple[FloatArray, ...]], count: int) -> list[FloatArray]:
    """Return arrays of all parts, one below the other."""
    if not parts:
        shapes = ((0, 3), (0,), (0, 3), (0, 3), (0,)) if count == 5 else ((0, 3), (0, 3), (0, 4), 0)
        return [np.zeros(shape) for shape in shapes]
    return [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]


def spheres_of(
    line: Neurons, bright: float, frame_data: FrameData, theme: Theme, scale: float
) -> tuple[FloatArray, ...]:
    """Return the spheres of a line: the color of the last number computed, or empty."""
    count = len(line.points)
    values, ground = frame_data.buffers.values, rgb((theme.ground,))[0]
    bright *= FADED if line.again else 1.0
    shown = line.values if line.values in values else line.sums
    inside = values.get(shown)
    fills = np.tile(rgb((theme.tray,)), (count, 1))
    if inside is not None:
        fills = painted(shown, inside, frame_data, theme)
    outlines = np.tile(rgb((theme.quiet,)), (count, 1))
    return (
        line.points,
        np.full(count, line.radius),
        faded(fills, bright, ground),
        faded(outlines, bright, ground),
        np.full(count, scale),
    )


def ones_of(layout: Layout, theme: Theme, scale: float) -> tuple[FloatArray, ...]:
    """Return the spheres "1"."""
    lines = [line for line in layout.neurons if line.one is not None]
    count = len(lines)
    points = np.array([line.one for line in lines]).reshape(count, 3)
    ink, ground = rgb((theme.quiet, theme.ground))
    fill = ground + ONE * (ink - ground)
    return (
        points,
        np.array([line.radius for line in lines]),
        np.tile(fill, (count, 1)),
        np.tile(ink, (count, 1)),
        np.full(count, scale),
    )


def wires_of(
    bundle: Wires, span: tuple[float, float] | None, theme: Theme, scale: float
) -> list[tuple[FloatArray, ...]]:
    """Return the wires of a bundle, and their lit part."""
    found = [strokes(bundle.start, bundle.end, theme.wire, THIN * scale)]
    if span is not None:
        way = bundle.end - bundle.start
        first, last = bundle.start + span[0] * way, bundle.start + span[1] * way
        found.append(strokes(first, last, theme.light + "c0", 1.5 * THIN * scale))
    return found


def strokes(start: FloatArray, end: FloatArray, paint: str, width: float) -> tuple[FloatArray, ...]:
    count = len(start)
    return start, end, np.tile(np.array(color(paint)), (count, 1)), np.full(count, width)


def fans_of(frame_data: FrameData, theme: Theme, scale: float) -> list[tuple[FloatArray, ...]]:
    """Return the bright wires of the sums to which the hovered and the pinned weight belong."""
    found = []
    for card in (frame_data.hover, frame_data.pinned):
        fan = None if card is None else frame_data.layout.fan_of(card.row)
        if card is not None and fan is not None:
            whole, unit = fan
            own = whole.unit_before(card.row)
            for start, end in halves(whole, unit):
                found.append(strokes(start, end, theme.lit + "90", 0.6 * LIT * scale))
                found.append(strokes(start[[own]], end[[own]], theme.lit, 1.4 * LIT * scale))
    return found


def halves(fan: Fan, unit: int) -> list[tuple[FloatArray, FloatArray]]:
    """Return the wires of one sum, from the units before to the cubes, and on to the unit."""
    cubes = fan.columns + fan.rows[unit]
    return [(fan.starts, cubes), (cubes, np.repeat(fan.ends[unit : unit + 1], len(cubes), axis=0))]
