"""Beads: the spheres and wires of one picture, as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.scene.canvas.canvas2d import color
from scalarviz.scene.canvas.palette import Theme, faded, rgb
from scalarviz.scene.formula_marks import blame_of_parts, bracket_width
from scalarviz.scene.frame_data import FrameData
from scalarviz.scene.layout.camera import Camera
from scalarviz.scene.layout.plates import DOWN, NEAR, Layout, Neurons, Wires
from scalarviz.scene.lights import Lights
from scalarviz.scene.neuron_images import painted_line
from scalarviz.scene.pace import BACK, OF_CUBES
from scalarviz.scene.visuals.shaders import HOLLOW

FAR = 1000.0  # distance behind their positions at which wires cross no other items
THIN = 1.0  # width of wires in logical pixels
MOST_SHADOWS = 1500  # maximum cubes of a plate with shadows


OF_SPHERES, OF_WIRES = ((0, 3), 0, (0, 3), (0, 4)), ((0, 3), (0, 3), (0, 4), 0)  # shapes


def beads_of(
    frame_data: FrameData,
    lit: Lights,
    theme: Theme,
    camera: Camera | None = None,
    scale: float = 1.0,
) -> tuple[Sequence[FloatArray], Sequence[FloatArray]]:
    """Return the spheres and wires of a picture as arguments for `set_data` of their visuals.

    `scale` is the font size of the picture. The arrays of spheres are centers, radii, colors, and
    rings of glass spheres; those of wires are starts, ends, colors with alpha, and widths.

    If the weights are on trays and a camera is given, the wires are moved behind everything else,
    so that they never cross in front of a cube.
    """
    layout = frame_data.layout
    spheres = [
        spheres_of(line, lit.neurons_of(i, len(line.points)), frame_data, theme)
        for i, line in enumerate(layout.neurons)
        if not line.shape and not line.square and not line.scores
    ]
    blame = blame_in_formula(frame_data)

    def strung(layout: Layout) -> list[FloatArray]:
        return joined(
            [wires_of(each, frame_data, theme, scale, blame) for each in layout.wires], OF_WIRES
        )

    key = "wires", theme.name, scale  # unchanged without an operation
    wires = [*(strung(layout) if frame_data.moment else layout.once(key, strung))]
    wires[2] = wires[2] * [1.0, 1.0, 1.0, lit.level]
    if camera is not None and layout.fans and layout.wires:
        wires[:2] = [behind(camera, points) for points in wires[:2]]
    return joined(spheres, OF_SPHERES), wires


def grounds_of(frame_data: FrameData) -> Sequence[FloatArray]:
    """Return the centers and half side lengths of the trays and of the shadows of cubes."""
    layout, cubes = frame_data.layout, frame_data.cubes
    parts = [*layout.once("trays", trays_of)]
    for plate, top in zip(layout.plates, cubes.size_scales.tolist(), strict=True):
        if plate.seat and plate.size <= MOST_SHADOWS:
            places, indices = plate.shadows
            half = plate.halves(cubes.sizes[indices], top)
            half = (half * (half > HOLLOW * plate.half))[:, np.newaxis]  # 0: no shadow
            lower = plate.across / plate.cell[1] + plate.toward
            parts.append((places + (plate.seat - half) * lower, half + np.zeros(3)))
    return [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]


def trays_of(layout: Layout) -> list[tuple[FloatArray, FloatArray]]:
    """Return the centers and half side lengths of the trays."""
    parts = [(np.zeros((0, 3)), np.zeros((0, 3)))]
    for plate in layout.plates if layout.sequence is not None else ():
        half = 0.5 * plate.columns * plate.along + 1.1 * plate.seat * NEAR
        places = plate.point(0.5 * plate.columns, np.arange(plate.rows) + 0.5) + plate.seat * DOWN
        parts.append((places, np.tile(half, (plate.rows, 1))))
    for fan in layout.fans:
        found = layout.plate_of(fan.weights)
        if found is not None and found[0].seat and fan.form != "upright":
            ends = fan.columns.min(axis=0), fan.columns.max(axis=0)
            seat = found[0].seat
            half = 0.5 * (ends[1] - ends[0]) + fan.begin + 1.1 * seat * NEAR
            places = fan.rows + 0.5 * (ends[0] + ends[1]) + seat * DOWN
            parts.append((places, np.tile(half, (len(places), 1))))
    return parts


def behind(camera: Camera, points: FloatArray) -> FloatArray:
    """Return points, shape (n, 3), moved far from the camera without changing their projection."""
    if not camera.slope:
        return points - FAR * np.array(camera.toward)
    ways: FloatArray = points - camera.target - camera.distance * np.array(camera.toward)
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    return points + FAR * ways


def joined(parts: Sequence[Sequence[FloatArray]], shapes: Sequence[Any]) -> list[FloatArray]:
    """Concatenate the arrays of all parts; without parts, return zeros of the given shapes."""
    nothing = [np.zeros(shape) for shape in shapes]
    return [np.concatenate(arrays) for arrays in zip(nothing, *parts, strict=True)]


def spheres_of(
    line: Neurons, bright: FloatArray, frame_data: FrameData, theme: Theme
) -> tuple[FloatArray, ...]:
    """Return the spheres of a layer, colored by the last computed numbers or left empty."""
    count, tints = len(line.points), frame_data.buffers.tints
    ground = rgb((theme.ground,))[0]
    fills, rings = painted_line(line, frame_data, theme), np.zeros((count, 4)) - 1.0
    for name in line.buffers:
        if name in tints:  # glass, filled to the amount of its color
            colors = theme.channels if count == len(theme.channels) else (theme.quiet,)
            rings[:, :3], rings[:, 3] = faded(rgb(colors), bright, ground), 0.0
            rings[: len(tints[name]), 3] = tints[name].max(axis=1)  # some may be missing
    return line.points, np.zeros(count) + line.radius, faded(fills, bright, ground), rings


def wires_of(
    bundle: Wires, frame_data: FrameData, theme: Theme, scale: float, blame: Mapping[int, float]
) -> tuple[FloatArray, ...]:
    """Return the wires of a bundle, highlighted while an operation sends numbers along them.

    Args:
        blame: error signals of the parts of a formula, by line of neurons
    """
    moment, paint, wide = frame_data.moment, theme.wire, THIN
    if frame_data.layout.written:  # brackets of a formula, violet where blame has arrived
        own = blame.get(bundle.neurons, 0.0)
        paint, wide = theme.push if own else theme.wire, bracket_width(own)
    if moment is not None and (moment.kind in OF_CUBES and moment.operation == bundle.operation):
        paint, wide = theme.accent if moment.kind in BACK else theme.light, max(wide, 2.0 * THIN)
    return strokes(bundle.start, bundle.end, paint, wide * scale)


def blame_in_formula(frame_data: FrameData) -> dict[int, float]:
    """Return the error signals that have reached parts of a formula, see `blame_of_parts`."""
    kind = "" if frame_data.moment is None else frame_data.moment.kind
    return blame_of_parts(frame_data.layout, kind, frame_data.buffers.flows)


def strokes(start: FloatArray, end: FloatArray, paint: str, width: float) -> tuple[FloatArray, ...]:
    count = len(start)
    return start, end, np.zeros((count, 4)) + color(paint), np.full(count, width)
