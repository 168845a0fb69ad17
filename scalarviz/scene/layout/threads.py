"""Threads: the path with the largest contribution through large layers, for one sample.

The layout of squares shows a cube for each weight of the path; on walls, the path is highlighted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.program import NONE
from scalarviz.scene.layout.camera import turned
from scalarviz.scene.layout.plates import DOWN, NEAR, RIGHT, Fan, Layout, Plate, Step

TURNED = -14.0, -12.0  # azimuth and elevation of the front of cubes between squares
LARGE, SEAT = 2.0, 0.78  # cells of a cube between squares, and its seat, see `Plate`


def said_to(fan: Fan, layout: Layout, known: Mapping[str, FloatArray]) -> FloatArray:
    """Return the output of each input unit of a layer (mean for images); zeros if unknown.

    Args:
        known: values of the neurons for one sample, by buffer name
    """
    line = layout.neurons[fan.before]
    values = known.get(line.values, known.get(line.sums, np.zeros(0)))
    if len(values) < fan.reads.stop:
        return np.zeros(fan.inputs_count)
    return np.asarray(np.nan_to_num(values[fan.reads].reshape(fan.inputs_count, -1).mean(axis=1)))


def thread_of(
    layout: Layout, weights: FloatArray, known: Mapping[str, FloatArray]
) -> tuple[Step, ...]:
    """Return the path with the largest contribution, starting at the last layer; () if unknown.

    For squares, it is the path with the largest contribution to the first output or color channel.

    Args:
        weights: all values of the bank
        known: values of the neurons for one sample, by buffer name
    """
    found: list[Step] = []
    unit, operation = NONE, NONE
    for number, fan in reversed([*enumerate(layout.fans)]):
        count, groups = len(fan.ends), layout.fans[:number]
        first = sum(len(each.ends) for each in groups if each.operation == fan.operation)
        if fan.operation == operation or (unit != NONE and not first <= unit < first + count):
            continue  # another group of the operation
        said = said_to(fan, layout, known)
        if not said.any():
            return ()
        units = np.arange(count) if unit == NONE else np.array([unit - first])
        units = units[: 1 if fan.is_direct else None]
        rows = fan.weights + fan.stride * units[:, np.newaxis] + np.arange(fan.inputs)
        own = weights[rows] if fan.is_direct else np.abs(weights[rows])
        own = own.reshape(len(units), len(said), -1).max(axis=2)
        said = said if fan.is_direct else np.abs(said)
        behind, column = divmod(int(np.nan_to_num(own * said).argmax()), len(said))
        found.append((number, int(units[behind]), column))
        pixels = (fan.reads.stop - fan.reads.start) // len(said)
        unit, operation = column + fan.reads.start // pixels, fan.operation
    return tuple(found)


def with_thread(layout: Layout, thread: Sequence[Step]) -> Layout:
    """Return a layout of squares with a cube between the blocks for each weight of a path."""
    return replace(layout, plates=[cube_at(layout, *step) for step in thread], thread=tuple(thread))


def cube_at(layout: Layout, number: int, unit: int, column: int) -> Plate:
    """Return the cube of a weight, halfway between two blocks on the line of the weight."""
    fan = layout.fans[number]
    before, behind = layout.neurons[fan.before], layout.neurons[fan.after]
    start, end = fan.starts[column], fan.ends[unit]
    x = 0.5 * (before.points[:, 0].max() + behind.points[:, 0].min())
    first, last = start[0] + before.radius, end[0] - behind.radius
    part = (x - first) / (last - first)
    y = start[1] + (end[1] - start[1]) * part * part * (3.0 - 2.0 * part)
    return turned_cube(fan.row_of(unit, column), fan.operation, np.array([x, y, 0.0]))


def turned_cube(row: int, operation: int, middle: FloatArray) -> Plate:
    """Return the plate of a single cube, rotated to show three sides."""
    along, across, toward = (np.array(turned(*TURNED, *each)) for each in (RIGHT, DOWN, NEAR))
    along, across = LARGE * along, LARGE * across
    origin = middle - 0.5 * (along + across)
    about = "weight", operation
    return Plate(row, 1, 1, 1, origin, along, across, toward, *about, seat=SEAT)
