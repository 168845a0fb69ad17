"""The layout "squares": large layers as blocks of squares, without cubes.

Each line of neurons is a block of squares that face the viewer, and lines connect the blocks. The
layout "walls" shows the same networks with a cube for every weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import ceil

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts import plural, text
from scalarviz.core.program import NONE, Program
from scalarviz.scene.layout.camera import Camera
from scalarviz.scene.layout.plates import (
    DOWN,
    RIGHT,
    UP,
    Fan,
    Layout,
    Neurons,
    Wires,
    WrittenWords,
)
from scalarviz.scene.layout.trays import BALL, Names, Station, stations_of

HIGHEST = 16  # rows of a block
FEW, PAIRS = 8, 2  # squares in one column, and columns of a block of up to three times FEW
GAP, GAPS = 1.4, 2.2  # cells between two blocks, and their maximum if there is room
SPREAD, ROUND = 1.8, 0.55  # cells between balls, and radius of one
LINE = 0.8  # line spacing in cells
HALF = 0.465  # half the side of a square
LABEL, WORDS = 1.0, 0.1  # cells from squares to their words, and half of their width
CAMERA = Camera(azimuth=0.0, elevation=0.0, fov=0.0)


def squares_layout(
    program: Program, names: Names, aspect: float = 1.4, squares: Sequence[str] = ()
) -> Layout:
    """Lay out a program as blocks of squares.

    Args:
        names: names of the neurons of each buffer
        aspect: aspect ratio of the available stage
        squares: names of the buffers whose neurons are squares
    """
    stations = stations_of(program, names, squares)
    lines = [each for each in stations if each.kind == "line"]
    sizes = [size_of(line) for line in lines]
    high = max(rows for rows, _ in sizes) + 2.0 * LABEL + 3.0 * LINE
    wide = sum(columns for _, columns in sizes)
    gap = (aspect * high - wide) / max(1, len(lines) - 1)
    gap, x = min(max(gap, GAP), GAPS), 0.0
    neurons: list[Neurons] = []
    for line, (rows, columns) in zip(lines, sizes, strict=True):
        points = places(line.units.count, rows, columns)
        points *= 1.0 if line.neurons.square or len(points) > FEW else SPREAD
        points = points + (x + 0.5 * columns) * RIGHT
        radius = HALF if line.neurons.square else ROUND if len(points) <= FEW else BALL
        neurons.append(replace(line.neurons, points=points, radius=radius))
        x += columns + gap
    fans, wires = [], []
    for number, station in enumerate(stations):
        place = lines.index(stations[number - 1]) if number and station.kind == "rows" else NONE
        if place != NONE:
            fans.append(fan_of(program, station, neurons, place))
        elif station.kind == "line" and number and stations[number - 1].kind == "line":
            wires.append(joined(neurons, lines.index(station), station.place))
    views = dict.fromkeys(("perspective", "orthographic", "flat"), CAMERA)
    return Layout((), neurons, wires, (), views, fans, words_of(neurons, sizes, fans))


def words_of(
    neurons: Sequence[Neurons], sizes: Sequence[tuple[int, int]], fans: Sequence[Fan]
) -> list[WrittenWords]:
    """Return the labels above and below the blocks, squares and cubes."""
    found: list[tuple[str, FloatArray]] = []
    blocks = [i for i, (_, columns) in enumerate(sizes) if columns > PAIRS]
    for i in blocks:
        words = plural("plates.neurons.block", len(neurons[i].points))
        found.append((words, top_of(neurons[i], LABEL)))
        if neurons[i + 1 : i + 2] and neurons[i + 1].is_color:
            found.append((text("squares.adds"), top_of(neurons[i], LABEL + LINE)))
    if not blocks or not neurons[0].square:
        return [written(*each) for each in found]
    first, last = neurons[blocks[0]], neurons[blocks[-1]]
    top = top_of(first, LABEL + 2.0 * LINE)
    top[0] = 0.5 * (top[0] + neurons[blocks[0] + 1].points[:, 0].mean())
    found.append((text("squares.square"), top))
    if len(neurons[0].points) == 2 and len(neurons[1].points) > 2:
        waves = text("squares.waves", count=len(neurons[1].points))
        found.append((text("squares.place"), top_of(neurons[0], LABEL)))
        found.append((waves, top_of(neurons[1], LABEL)))
    total = sum(each.units * (each.inputs + (each.biases != NONE)) for each in fans)
    said = text("squares.cubes", count=len(fans), total=total)
    if neurons[-1].is_color:
        said = text("squares.cubes.red", count=len(fans), total=total)
    middle = 0.5 * (first.points.mean(axis=0) + last.points.mean(axis=0))
    low = first.points[:, 1].min() - LABEL
    for i, words in enumerate([said, text("squares.added")]):
        found.append((words, np.array([middle[0], low - LINE * i, 0.0])))
    return [written(*each) for each in found]


def written(words: str, middle: FloatArray) -> WrittenWords:
    return WrittenWords(words, middle, WORDS * RIGHT, 12.0)


def top_of(line: Neurons, up: float) -> FloatArray:
    """Return a position above the center of a block of neurons."""
    low, high = line.points.min(axis=0), line.points.max(axis=0)
    return np.asarray(0.5 * (low + high) + (0.5 * (high[1] - low[1]) + up) * UP)


def size_of(line: Station) -> tuple[int, int]:
    """Return the number of rows and columns of the block of a line of neurons."""
    count = line.units.count
    if count <= FEW:
        return count, 1
    columns = PAIRS if count <= 3 * FEW else ceil(count / HIGHEST)
    return ceil(count / columns), columns


def places(count: int, rows: int, columns: int) -> FloatArray:
    """Return the positions of squares, row by row, relative to the center of their block."""
    down, right = np.divmod(np.arange(count), columns)
    found: FloatArray = (down - (rows - 1) / 2.0)[:, np.newaxis] * DOWN
    return found + (right - (columns - 1) / 2.0)[:, np.newaxis] * RIGHT


def fan_of(program: Program, station: Station, neurons: Sequence[Neurons], place: int) -> Fan:
    """Return the fan of a layer that is drawn without cubes."""
    operation = program.operations[station.place]
    before, behind, biased = neurons[place], neurons[place + 1], operation.biases != NONE
    count = len(before.points)
    nowhere = np.zeros((count + biased, 3)), behind.points, np.zeros((len(behind.points), 3))
    about = station.place, place, place + 1
    return Fan(
        *(operation.weights, count, operation.biases, before.points, *nowhere, *about),
        *(np.zeros(3), np.zeros(3), slice(0, count)),
        radius=behind.radius,
        stride=count,
        is_direct=True,
    )


def joined(neurons: Sequence[Neurons], place: int, operation: int) -> Wires:
    """Return wires from each neuron of a line to the neurons of the next line that depend on it."""
    starts, ends = neurons[place - 1].points, neurons[place].points
    each = max(1, len(ends) // max(1, len(starts)))
    starts = np.repeat(starts, each, axis=0)[: len(ends)]
    return Wires(starts, ends[: len(starts)], operation, place - 1, True)
