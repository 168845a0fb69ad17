"""Plates of the layout "beads": the wall of a layer, its biases, and gains and shifts on wires."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.program import NONE, Program
from scalarviz.pictures.view.scene.beads_lines import Run, Station, parts_of
from scalarviz.pictures.view.scene.plates import DOWN, NEAR, RIGHT, Plate, Tiles

About = tuple[str, int, int]  # role, operation and layer of a plate
BESIDE = 1.1  # from gains to shifts


def plates_of(program: Program, station: Station) -> list[Plate]:
    """Return the plates of a station that is no line."""
    return list((wall if station.kind == "wall" else scale)(program, station))


def blocks_of(run: Run) -> Iterator[range]:
    """Iterate over the units of each block."""
    for first in range(0, run.count, run.block):
        yield range(first, min(first + run.block, run.count))


def lanes_of(run: Run) -> Iterator[range]:
    """Iterate over the units of each row of images of each block."""
    for units in blocks_of(run):
        for lane in range(min(run.lanes, len(units))):
            yield units[lane :: run.lanes]


def wall(program: Program, station: Station) -> Iterator[Plate]:
    """Iterate over the plates of a wall: for each pair of blocks those of groups, and biases."""
    before, run, tile = station.before, station.run, station.tile
    operation, parts = program.operations[station.place], parts_of(program, station)
    pixels = prod(tile)
    inputs = len(parts[0][1]) * pixels
    about = "weight", station.place, operation.layer
    for rows in blocks_of(run):
        if station.fold > 1:  # a plate for each unit
            for unit in rows:
                first = operation.weights + unit * inputs
                ranges = range(unit, unit + 1), range(before.count)
                yield kernels(station, first, *ranges, inputs, about)
        for columns in blocks_of(before) if station.fold == 1 else ():
            for units, seen in parts:
                own, read = overlap(rows, units), overlap(columns, seen)
                if not own or not read:
                    continue
                first = operation.weights + own[0] * inputs + (read[0] - seen[0]) * pixels
                if tile:
                    yield kernels(station, first, own, read, inputs, about)
                    continue
                begin = corner(station, own, read)
                along, across = station.cells[1] * before.axis, station.cells[0] * run.axis
                shape = first, len(own), len(read), inputs, begin - 0.5 * (along + across)
                yield Plate(*shape, along, across, -RIGHT, *about)
        if operation.biases != NONE:
            begin = corner(station, rows, range(before.count, before.count + 1))
            along = (station.grain if tile else station.cells[1]) * before.axis
            axes = begin, along, station.cells[0] * run.axis
            bias = "bias", station.place, operation.layer
            yield column(operation.biases + rows[0], len(rows), *axes, bias)


def overlap(one: range, other: range) -> range:
    """Return what is in both ranges."""
    return range(max(one.start, other.start), min(one.stop, other.stop))


def corner(station: Station, rows: range, columns: range) -> FloatArray:
    """Return the place of the first row and the first column of a wall."""
    found: FloatArray = station.rows_at([rows[0]])[0] + station.columns_at([columns[0]])[0]
    return station.origin + found


def column(
    first: int,
    count: int,
    begin: FloatArray,
    along: FloatArray,
    across: FloatArray,
    about: About,
    stride: int = 1,
) -> Plate:
    """Return a plate with one cube in each row, the first around `begin`."""
    origin = begin - 0.5 * (along + across)
    return Plate(first, count, 1, stride, origin, along, across, -RIGHT, *about)


def kernels(
    station: Station, first: int, rows: range, columns: range, inputs: int, about: About
) -> Plate:
    """Return a plate of tiles, upright like the images they belong to.

    inputs  weights of a unit
    """
    run, (height, width) = station.run, station.tile
    grain, pixels = station.grain, height * width
    each = len(columns) // station.fold
    outwards = len(rows), round(station.cells[0] / grain), inputs
    if station.fold > 1:  # the tiles of one unit, in several rows
        outwards = station.fold, max(station.tile) + 1, each * pixels
    inwards = each, round(station.cells[1] / grain), pixels
    down, right = (outwards, inwards) if run.upright else (inwards, outwards)
    tiles = Tiles((height, width), (down[1], right[1]), (down[2], right[2]))
    along, across = grain * NEAR, grain * DOWN
    origin = corner(station, rows, columns) - 0.5 * (width * along + height * across)
    shape = (down[0] - 1) * down[1] + height, (right[0] - 1) * right[1] + width, width
    axes = origin, along, across, -RIGHT
    return Plate(first, *shape, *axes, *about, tiles)


def scale(program: Program, station: Station) -> Iterator[Plate]:
    """Iterate over the plates of gains and shifts: a cube for each unit on its wire."""
    run, operation = station.run, program.operations[station.place]
    parts = [("gain", operation.weights), ("shift", operation.biases)]
    parts = [(role, first) for role, first in parts if first != NONE]
    count, aside = operation.shape[0], NEAR if run.upright else DOWN
    for number, (role, first) in enumerate(parts):
        at = station.origin + station.aside + BESIDE * (number - (len(parts) - 1) / 2.0) * RIGHT
        about = role, station.place, operation.layer
        if count == run.count:
            for units in lanes_of(run):
                axes = run.at(units[0]) + at, aside, units.step * run.step * run.axis
                yield column(first + units[0], len(units), *axes, about, units.step)
        elif run.images and count % run.count == 0:
            for units in lanes_of(run):
                yield by_pixel(program, station, first, units, at, about)
        else:  # several units share one
            each = max(1, run.count // count)
            middle = run.all_at(np.arange(each)).mean(axis=0) + at
            yield column(first, count, middle, aside, each * run.step * run.axis, about)


def by_pixel(
    program: Program, station: Station, first: int, units: range, at: FloatArray, about: About
) -> Plate:
    """Return a plate shaped like some images of a line."""
    run, (_, height, width) = station.run, program.operations[station.place].source.shape
    pitch, pixels = max(height, width) + 1, height * width
    cell, count = run.pitch / pitch, len(units)
    down, right = (count, 1) if run.upright else (1, count)
    stride = pixels * units.step
    strides = (stride, 0) if run.upright else (0, stride)
    tiles = Tiles((height, width), (pitch, pitch), strides)
    origin = run.at(units[0]) + at - 0.5 * cell * (width * NEAR + height * DOWN)
    shape = (down - 1) * pitch + height, (right - 1) * pitch + width, width
    axes = origin, cell * NEAR, cell * DOWN, -RIGHT
    return Plate(first + units[0] * pixels, *shape, *axes, *about, tiles)
