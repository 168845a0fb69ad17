"""Picking: the cube or neuron under a pixel, or the next one in the direction of an arrow key.

This module uses plain numbers only; pages run it as JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from scalarviz.scene.layout.camera import Box
from scalarviz.scene.layout.plates import MOST, Layout, Neurons, Plate
from scalarviz.scene.layout.points import Vector, dot3, minus3, row3, sphere_on, square_on
from scalarviz.scene.layout.projection import Projection
from scalarviz.story.facts import NONE, Neuron

HALF_CELL = 0.35  # cells around the foot of a bar that belong to it

Half = Callable[[Plate, int], float]  # (plate, bank index) -> half the side of the cube


def seen_at(
    layout: Layout, see: Projection, x: float, y: float, half: Half
) -> tuple[int, Neuron | None]:
    """Return the bank index of the cube at a logical pixel, or NONE and the neuron there or None.

    Args:
        half: function of (plate, bank index) that returns half the side of a cube
    """
    start, ray = see.ray(x, y)
    row, far = NONE, math.inf
    for plate in layout.plates:
        index, at = walk(plate, start, ray, half)
        if at < far:
            row, far = index, at
    neuron: Neuron | None = None
    for line in layout.neurons:
        if line.shape:
            place, at = pixel_on(line, start, ray)
        elif line.square:
            place, at = square_on(see, line.points, line.radius, (x, y), start, ray)
        else:
            place, at = sphere_on(line.points, line.radius, start, ray)
        if at < far:
            row, neuron, far = NONE, (line.buffer, place), at
    return row, neuron


def walk(plate: Plate, start: Vector, ray: Vector, half: Half) -> tuple[int, float]:
    """Return the bank index of the first cube that a ray hits, or NONE, and its distance."""
    width, height = plate.cell
    grid, most = (plate.columns, plate.rows), MOST * plate.half
    apart = minus3(start, plate.origin)
    axes = [(plate.along, width * width), (plate.across, height * height), (plate.toward, 1.0)]
    place = [dot3(axis, apart) / size for axis, size in axes]
    step = [dot3(axis, ray) / size or 1e-12 for axis, size in axes]
    if plate.wide:
        return walk_bars(plate, place, step, half)
    middle = [0.5 * plate.columns, 0.5 * plate.rows, plate.lowered(most)]
    enter, leave = passed(middle, [*middle[:2], most], place, step)
    enter = max(enter, 0.0)
    if enter > leave:
        return NONE, math.inf
    ends = [(i - place[axis]) / step[axis] for axis in (0, 1) for i in range(1, grid[axis])]
    cuts = [enter, *sorted([at for at in ends if enter < at < leave]), leave]
    for i in range(len(cuts) - 1):  # cell by cell
        at = 0.5 * (cuts[i] + cuts[i + 1])
        cell = [math.floor(place[axis] + step[axis] * at) for axis in (0, 1)]
        column, row = [min(max(cell[axis], 0), grid[axis] - 1) for axis in (0, 1)]
        index = plate.index_of(row, column)
        if index == NONE:  # a gap between tiles
            continue
        side = half(plate, index)
        sides = [side / width, side / height, side]
        first, last = passed(plate.standing(row, column, side), sides, place, step)
        if first <= last and first >= enter - 1e-9:
            return index, first
    return NONE, math.inf


def walk_bars(plate: Plate, place: list[float], step: list[float], half: Half) -> tuple[int, float]:
    """Return the bank index of the bar that a ray hits, or NONE, and its distance.

    A bar may reach into the next cells, and small bars are easy to hit: each has at least half of
    its cell.
    """
    front = -place[2] / step[2]
    column, row = [math.floor(place[axis] + step[axis] * front) for axis in (0, 1)]
    found, nearest = NONE, math.inf
    for i in range(-1, 2):
        j, k = (row, column + i) if plate.rise[0] else (row + i, column)
        if not (0 <= j < plate.rows and 0 <= k < plate.columns):
            continue
        index = plate.index_of(j, k)
        side = half(plate, index)
        sides = plate.sides(side)
        sizes = [sides[0] / plate.cell[0], sides[1] / plate.cell[1], sides[2]]
        first, last = passed(plate.standing(j, k, side), sizes, place, step)
        if first <= last and first < nearest:
            found, nearest = index, first
    is_on = 0 <= column < plate.columns and 0 <= row < plate.rows
    if found == NONE and is_on:
        apart = [place[0] + step[0] * front - column - 0.5, place[1] + step[1] * front - row - 0.5]
        if max(abs(apart[0]), abs(apart[1])) <= HALF_CELL:
            return plate.index_of(row, column), front
    return found, nearest


def passed(
    middle: list[float], sides: list[float], place: list[float], step: list[float]
) -> tuple[float, float]:
    """Return where a ray enters and leaves a box, given by its center and half its sides."""
    ends = [
        ((x - side - at) / by, (x + side - at) / by)
        for x, side, at, by in zip(middle, sides, place, step, strict=True)
    ]
    return max([min(pair) for pair in ends]), min([max(pair) for pair in ends])


def pixel_on(line: Neurons, start: Vector, ray: Vector) -> tuple[int, float]:
    """Return the index of the first image pixel that a ray hits, and its distance."""
    channels, height, width = line.shape
    along, side = line.along, line.side
    normal = (-along[2], 0.0, along[0])
    facing: float = dot3(normal, ray)
    best, least = 0, math.inf
    for channel in range(channels) if abs(facing) > 1e-12 else ():
        first = channel * height * width
        apart = minus3(row3(line.points, first), start)
        at: float = dot3(normal, apart) / facing
        across = (at * dot3(along, ray) - dot3(along, apart)) / side + 0.5
        down = (apart[1] - at * ray[1]) / side + 0.5
        if 0.0 <= across < width and 0.0 <= down < height and 0.0 < at < least:
            best, least = first + int(down) * width + int(across), at
    return best, least


# Keyboard selection of cubes and neurons, in the directions of the picture.

DIRECTIONS = {"left": (-1.0, 0.0), "right": (1.0, 0.0), "up": (0.0, -1.0), "down": (0.0, 1.0)}
AHEAD, ASIDE = 0.5, 2.0  # minimum pixels ahead; weight of a sideways pixel


def next_place(
    places: Sequence[tuple[float, float]],
    here: int | None,
    box: Box,
    way: tuple[float, float] | None,
) -> int | None:
    """Return the index of the closest point in a direction, or None.

    Args:
        places: positions of cubes and neurons
        here: index of the starting point; None starts at the center of `box`, in all directions
        way: a value of DIRECTIONS; None means all directions
    """
    x, y = (box.x + 0.5 * box.width, box.y + 0.5 * box.height) if here is None else places[here]
    costs = [cost_of(a - x, b - y, None if here is None else way) for a, b in places]
    least = min(costs, default=math.inf)
    return costs.index(least) if least < math.inf else None


def cost_of(right: float, down: float, way: tuple[float, float] | None) -> float:
    """Return the distance of a point for a direction; infinite if it is not in that direction."""
    if way is None:
        return math.hypot(right, down)
    ahead = right * way[0] + down * way[1]
    aside = abs(right * way[1] + down * way[0])
    return ahead + ASIDE * aside if ahead > AHEAD and aside <= ahead else math.inf
