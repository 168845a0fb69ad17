"""Plates of the layout "beads": the wall of a layer, its biases, and gains and shifts on wires."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np

from scalarviz.checks.numbers import FloatArray
from scalarviz.model.operations import NONE
from scalarviz.model.program import Program
from scalarviz.view.scene.beads_lines import GRAIN, Run, Station
from scalarviz.view.scene.plates import DOWN, NEAR, RIGHT, Plate, Tiles

About = tuple[str, int, int]  # role, operation and layer of a plate
BESIDE = 1.1  # from gains to shifts


def plates_of(program: Program, station: Station) -> list[Plate]:
    """Return the plates of a station that is no line."""
    return list((wall if station.kind == "wall" else scale)(program, station))


def blocks_of(run: Run) -> Iterator[range]:
    """Iterate over the units of each block."""
    for first in range(0, run.count, run.block):
        yield range(first, min(first + run.block, run.count))


def wall(program: Program, station: Station) -> Iterator[Plate]:
    """Iterate over the plates of a wall: one for each pair of blocks, and the biases."""
    before, run, tile = station.before, station.run, station.tile
    operation = program.operations[station.place]
    pixels = prod(tile)
    inputs = before.count * pixels
    for rows in blocks_of(run):
        for columns in blocks_of(before):
            first = operation.weights + rows[0] * inputs + columns[0] * pixels
            begin = station.origin + run.at(rows[0], wall=True) + before.at(columns[0], wall=True)
            about = "weight", station.place, operation.layer
            if tile:
                yield kernels(station, first, rows, columns, begin, about)
                continue
            along, across = before.cell * before.axis, run.cell * run.axis
            shape = first, len(rows), len(columns), inputs, begin - 0.5 * (along + across)
            yield Plate(*shape, along, across, -RIGHT, *about, tray=False)
        if operation.biases != NONE:
            begin = station.origin + run.at(rows[0], wall=True)
            begin = begin + before.at(before.count, wall=True)
            along = (GRAIN if tile else before.cell) * before.axis
            axes = begin, along, run.cell * run.axis
            about = "bias", station.place, operation.layer
            yield column(operation.biases + rows[0], len(rows), *axes, about)


def column(
    first: int,
    count: int,
    begin: FloatArray,
    along: FloatArray,
    across: FloatArray,
    about: About,
) -> Plate:
    """Return a plate with one cube in each row, the first around `begin`."""
    origin = begin - 0.5 * (along + across)
    return Plate(first, count, 1, 1, origin, along, across, -RIGHT, *about, tray=False)


def kernels(
    station: Station, first: int, rows: range, columns: range, begin: FloatArray, about: About
) -> Plate:
    """Return a plate of tiles, upright like the images they belong to."""
    before, run, (height, width) = station.before, station.run, station.tile
    pixels = height * width
    down = len(rows), round(run.cell / GRAIN), before.count * pixels
    right = len(columns), round(before.cell / GRAIN), pixels
    if not run.upright:
        down, right = right, down
    tiles = Tiles((height, width), (down[1], right[1]), (down[2], right[2]))
    along, across = GRAIN * NEAR, GRAIN * DOWN
    origin = begin - 0.5 * (width * along + height * across)
    shape = (down[0] - 1) * down[1] + height, (right[0] - 1) * right[1] + width, width
    axes = origin, along, across, -RIGHT
    return Plate(first, *shape, *axes, *about, tiles, not run.upright, tray=False)


def scale(program: Program, station: Station) -> Iterator[Plate]:
    """Iterate over the plates of gains and shifts: a cube for each unit on its wire."""
    run, operation = station.run, program.operations[station.place]
    parts = [("gain", operation.weights), ("shift", operation.biases)]
    parts = [(role, first) for role, first in parts if first != NONE]
    count, aside = operation.shape[0], NEAR if run.upright else DOWN
    for number, (role, first) in enumerate(parts):
        at = station.origin + BESIDE * (number - (len(parts) - 1) / 2.0) * RIGHT
        about = role, station.place, operation.layer
        if count == run.count:
            for units in blocks_of(run):
                axes = run.at(units[0]) + at, aside, run.step * run.axis
                yield column(first + units[0], len(units), *axes, about)
        elif run.images and count % run.count == 0:
            yield by_pixel(program, station, first, at, about)
        else:  # several units share one
            each = max(1, run.count // count)
            middle = run.all_at(np.arange(each)).mean(axis=0) + at
            yield column(first, count, middle, aside, each * run.step * run.axis, about)


def by_pixel(program: Program, station: Station, first: int, at: FloatArray, about: About) -> Plate:
    """Return a plate shaped like the images of a line."""
    run, (_, height, width) = station.run, program.operations[station.place].source.shape
    pitch, pixels = max(height, width) + 1, height * width
    cell = run.step / pitch
    down, right = (run.count, 1) if run.upright else (1, run.count)
    strides = (pixels, 0) if run.upright else (0, pixels)
    tiles = Tiles((height, width), (pitch, pitch), strides)
    origin = run.at(0) + at - 0.5 * cell * (width * NEAR + height * DOWN)
    shape = (down - 1) * pitch + height, (right - 1) * pitch + width, width
    axes = origin, cell * NEAR, cell * DOWN, -RIGHT
    return Plate(first, *shape, *axes, *about, tiles, run.upright, tray=False)
