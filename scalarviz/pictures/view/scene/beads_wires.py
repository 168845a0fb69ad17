"""Wires of the layout "beads": through walls, from line to line, and past walls."""

from __future__ import annotations

from math import prod

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.program import NONE, Program
from scalarviz.pictures.view.scene.beads_flow import places_of
from scalarviz.pictures.view.scene.beads_lines import Station, parts_of
from scalarviz.pictures.view.scene.plates import NEAR, Fan, Wires

PASSING = 1.2  # from the walls to a skip connection
KERNELS, IMAGES = 32, 64  # most kernels, and images of a line, that have a wire each
NEARER = 0.9  # so much nearer must the other end of the rows of kernels be
ENTRY, BRANCH = 0.9, 1.5  # cells before a wall where wires enter its rows, and where they branch


def wires_of(
    fan: Fan, stations: list[Station], number: int, line: int, *, again: bool
) -> list[Wires]:
    """Return the wires of a fan of a wall between the lines `line` and `line` + 1.

    A large wall has wires at its edges only; one of kernels has a wire along each row and each
    column, which cross at the kernels. `again`: the fan is not that of the first group.
    """
    station = stations[number]
    before, run = station.before, station.run
    if fan.is_wired:
        return through(fan, station.place, line)
    columns = len(fan.starts) - (fan.biases != NONE)
    if station.tile and run.count * columns <= KERNELS:
        return through(fan, station.place, line, head=half_of(stations[number + 1]))
    if station.fold > 1:
        return to_blocks(fan, station, line)
    single = run.blocks == before.blocks == 1
    if station.tile and run.images and single and max(run.count, before.count) <= IMAGES:
        return crossing(fan, stations, number, line, again)
    last = len(fan.ends) - 1, columns - 1
    return through(fan, station.place, line, ([0, last[0]], [0, last[1]]))


def crossing(fan: Fan, stations: list[Station], number: int, line: int, again: bool) -> list[Wires]:
    """Return wires to each row of kernels and along it, and down each column to its image.

    The 1 has one wire, to the first group.
    """
    station, behind = stations[number], stations[number + 1]
    reach = 0.5 * station.grain * max(station.tile) + ENTRY * station.grain
    first, last = fan.columns[0], fan.columns[-1]
    ends = fan.rows[0] - reach * station.run.axis, fan.rows[-1] + reach * station.run.axis
    away = [np.linalg.norm(fan.starts - fan.columns - end, axis=1).mean() for end in ends]
    other = away[1] < NEARER * away[0]  # wires enter at the near end
    far, near = (ends[1], fan.rows[0]) if other else (ends[0], fan.rows[-1])
    place, head = station.place, half_of(behind)
    count = len(fan.starts) - (again and fan.biases != NONE)
    return [
        Wires(fan.starts[:count], fan.columns[:count] + far, place, line, True, 0.0),
        Wires(fan.columns + far, fan.columns + near, place, line, True),
        Wires(fan.rows + first, fan.rows + last, place, line + 1, False),
        Wires(fan.rows + last, fan.ends, place, line + 1, False, head),
    ]


def to_blocks(fan: Fan, station: Station, line: int) -> list[Wires]:
    """Return one wire from the near end of a line, which branches to the block of each unit."""
    place, axis = station.place, np.abs(station.before.axis)
    along = fan.columns @ axis
    middle = fan.columns.mean(axis=0)
    far, near = (middle + (end - middle @ axis) * axis for end in (along.min(), along.max()))
    entries = fan.rows + far - station.grain * max(station.tile) * axis
    branches = entries - BRANCH * axis
    begin = fan.starts[np.argmax(fan.starts @ NEAR)]
    across = np.abs(station.run.axis)
    foot = branches[0] + ((begin - branches[0]) @ across) * across
    height = branches @ across
    ends = np.array([foot, branches[np.argmin(height)], branches[np.argmax(height)]])
    trunk = np.array([begin, foot, foot]), np.array([foot, *ends[1:]])
    return [
        Wires(*trunk, place, line, True),
        Wires(branches, entries, place, line, True, 0.0),
        Wires(fan.rows + near, fan.ends, place, line + 1, False, fan.radius),
    ]


def half_of(station: Station) -> float:
    """Return half the side of the images of a line, or the radius of its neurons."""
    return 0.5 * station.pixel * max(station.shape[1:]) if station.shape else station.radius


def skips(stations: list[Station], boxes: list[FloatArray]) -> dict[int, FloatArray]:
    """Return the lines of skip connections, above everything that they pass, by their ends."""
    found = {}
    for last, station in enumerate(stations):
        if station.joins != NONE:
            between = boxes[station.joins : last + 1]
            top = max(float(box[1, 1]) for box in between) + PASSING
            x, far = (float(stations[i].origin[0]) for i in (station.joins, last))
            y, end = (float(box[1, 1]) for box in (between[0], between[-1]))
            found[last] = np.array([(x, y, 0), (x, top, 0), (far, top, 0), (far, end, 0)], float)
    return found


def fans_at(
    program: Program, stations: list[Station], number: int, *, few: bool, first: bool
) -> list[Fan]:
    """Return the wires through a wall, for each group."""
    station, line, behind = stations[number], stations[number - 1], stations[number + 1]
    operation, found = program.operations[station.place], []
    starts, ends = places_of(line, stations), places_of(behind, stations)
    biased = operation.biases != NONE
    for units, read in parts_of(program, station):
        columns = [*read, *[station.before.count] * biased]
        inputs = len(read) * prod(station.tile)
        fan = Fan(
            operation.weights + units.start * inputs,
            inputs,
            operation.biases + units.start * biased,
            starts[columns] + line.origin,
            station.columns_at(columns) + station.origin,
            ends[units.start : units.stop] + behind.origin,
            station.rows_at(units),
            behind.radius,
            few,
            first,
        )
        found.append(fan)
    return found


def through(
    fan: Fan,
    place: int,
    line: int,
    only: tuple[list[int], list[int]] | None = None,
    head: float | None = None,
) -> list[Wires]:
    """Return the wires through a wall: from each unit to its cubes, and on to the next line.

    only  the units behind and before that have wires; None for all
    head  where the arrows are, see `Wires`
    """
    rows, columns = only or (list(range(len(fan.ends))), list(range(len(fan.starts))))
    rows, columns = sorted(set(rows)), sorted(set(columns))
    cubes = (fan.rows[rows, np.newaxis] + fan.columns[columns]).reshape(-1, 3)
    starts = np.tile(fan.starts[columns], (len(rows), 1))
    ends = np.repeat(fan.ends[rows], len(columns), axis=0)
    return [
        Wires(starts, cubes, place, line, True),
        Wires(cubes, ends, place, line + 1, False, head),
    ]


def straight(stations: list[Station], number: int, line: int) -> list[Wires]:
    """Return the wires from the line before, unit by unit, if no wall is between."""
    station, before = stations[number], stations[number - 1]
    if before.kind == "scale":
        before = stations[number - 2]
    count, is_part = before.run.count, station.joins != NONE
    if before.kind == "wall" or (count != station.run.count and not is_part):
        return []
    starts, ends = (
        places_of(each, stations)[: each.run.count] + each.origin for each in (before, station)
    )
    ends = ends[station.first : station.first + count]
    if len(ends) != count:
        return []
    head = half_of(station) if station.run.images else None
    return [Wires(starts, ends, station.place, line - 1, True, head)]
