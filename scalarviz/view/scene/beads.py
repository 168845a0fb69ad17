"""The layout "beads": every weight is a cube on the wire between its two neurons.

Neurons stand in lines, each perpendicular to the one before, along the flow from left to right. The
wires between two lines cross the plane half way in a grid, so the cubes of a layer are a wall
across the flow, and the wall is the matrix of weights. The bias of a neuron is the cube on the wire
from a sphere "1" at the far end of the line before. Long lines are wrapped into blocks, long
networks are folded into rows.

How long, from which angle the scene is seen, and how far the lines are apart are chosen so that the
cubes are as large as possible in a stage of the given shape.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import cos, prod, radians, sin

import numpy as np

from scalarviz.checks.numbers import FloatArray
from scalarviz.model.operations import NONE
from scalarviz.model.program import Program
from scalarviz.view.scene.beads_flow import (
    CORRIDOR,
    ELEVATION,
    along_flow,
    folded,
    places_of,
)
from scalarviz.view.scene.beads_lines import LEAST_IMAGES, Station, measure, stations_of
from scalarviz.view.scene.beads_walls import plates_of
from scalarviz.view.scene.camera import EDGE, Camera
from scalarviz.view.scene.plates import DOWN, NEAR, Fan, Label, Layout, Neurons, Plate, Wires

FOV = 20.0, 9.0  # degrees; a long network is seen from farther away, so that its ends look alike
USUAL = 47.0  # degrees off the flow from which the scene is seen
ANGLES = 36.0, 40.0, 44.0, 47.0, 50.0, 54.0, 58.0
STEEPEST = 47.0  # for images, which are seen obliquely, and for cubes with numbers
FEW = 40  # weights; smaller networks have numbers on the cubes
SHARES = 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0  # of the longest line, to wrap at
WRAPPED = 0.8  # so much smaller may cubes be with fewer blocks
WIDER = 1.15, 1.3, 1.5, 1.75, 2.0  # factors of the distances, if the stage has room
FULL, MANY = 0.93, 2000  # of the largest scale: so much is given up for them, by fewer weights
DEEP, TURNED = 5, 1.15  # stations; so much larger is a longer network with its inputs upright
ROWS, FOLDED = (2, 3), 1.2  # so much larger is a network in rows
LONG = 60  # stations of a network of which fewer forms are tried
WIRED = 400  # weights; larger networks have wires at the edges of walls only
PASSING = 1.2  # from the walls to a skip connection

About = Callable[[str], tuple[str, str]]
Names = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Form:
    """How a network is laid out.

    longest  where lines are wrapped
    angle    degrees off the flow from which it is seen
    wider    factor of the distances along the flow
    upright  whether its inputs stand above each other
    rows     rows into which it is folded
    """

    longest: float = np.inf
    angle: float = USUAL
    wider: float = 1.0
    upright: bool = False
    rows: int = 1


def beads(
    program: Program, about: About, names: Names | None = None, aspect: float = 1.75
) -> Layout:
    """Lay out a program as beads on wires.

    about   returns the name and a description of a layer
    names   names of the neurons of a buffer
    aspect  width of the free stage divided by its height
    """
    names = names or {}

    def size(form: Form) -> float:
        return size_of(laid_out(program, about, names, form), form.angle, aspect)

    form = chosen(stations_of(program, names), size)
    return laid_out(program, about, names, form)


def chosen(stations: list[Station], size: Callable[[Form], float]) -> Form:
    """Return the form in which cubes are largest, of few that are tried one after the other.

    Of very long networks fewer are tried.
    """
    form, long = Form(), len(stations) + max(each.run.count for each in stations) / 500 > LONG
    shares, all_angles, widths = (
        (SHARES, ANGLES, WIDER) if not long else (SHARES[::3], (USUAL,), ())
    )
    if any(each.run.count > (LEAST_IMAGES if each.run.images else CORRIDOR) for each in stations):
        measure(stations, np.inf)
        longest = max(each.run.extent() for each in stations)
        forms = [replace(form, longest=longest / share) for share in shares]
        sizes = [size(each) for each in forms]
        form = next(f for f, s in zip(forms, sizes, strict=True) if s > WRAPPED * max(sizes))
    best = size(form)
    if len(stations) > DEEP:
        turned = replace(form, upright=True)
        if size(turned) > TURNED * best:
            form, best = turned, size(turned)
    weights = sum(
        each.run.count * (each.before.count + 1) for each in stations if each.kind == "wall"
    )
    bound = any(each.run.images for each in stations) or weights < FEW
    angles = [angle for angle in all_angles if angle <= STEEPEST or not bound]
    form = max((replace(form, angle=angle) for angle in angles), key=size)
    best = size(form)
    if len(stations) > DEEP and not any(each.joins != NONE for each in stations):
        for rows in ROWS:
            other = replace(form, rows=rows)
            if size(other) > FOLDED * best:
                form, best = other, size(other)
    full = FULL if weights < MANY else 1.0
    wide = [replace(form, wider=wider) for wider in widths]
    return next((each for each in reversed(wide) if size(each) >= full * best), form)


def size_of(layout: Layout, angle: float, aspect: float) -> float:
    """Return how large cubes are seen, relative to the height of the stage."""
    camera = layout.views["perspective"].framing(layout.points(), aspect, EDGE)
    off = radians(angle)
    seen = min(1.3 * cos(off), 0.63 * (sin(off) + cos(off)))
    return float(np.sqrt(0.63 * seen)) / camera.height


def laid_out(program: Program, about: About, names: Names, form: Form) -> Layout:
    """Return the layout of a program in a form."""
    stations = stations_of(program, names, upright=form.upright)
    measure(stations, form.longest)
    boxes = along_flow(stations, form.angle, form.wider)
    ways = skips(stations, boxes)
    stations = folded(stations, boxes, form.rows)
    plates: list[Plate] = []
    wires: list[Wires] = []
    labels: list[Label] = []
    fans: list[Fan] = []
    neurons: list[Neurons] = []
    few = sum(prod(each.shape) for each in program.operations if each.weights != NONE) <= WIRED
    for number, station in enumerate(stations):
        if station.kind == "line":
            after = stations[number + 1] if number + 1 < len(stations) else station
            one = after.kind == "wall" and program.operations[after.place].biases != NONE
            neurons.append(line_at(station, stations, ways.get(number), one=one))
            if few and station.place != NONE and not station.again:
                wires += straight(stations, number, len(neurons) - 1)
            continue
        own = plates_of(program, station)
        plates += own
        labels.append(label_of(about(program.operations[station.place].label), own))
        if station.kind == "wall":
            fans.append(fan_at(program, stations, number, few=few))
            last = station.run.count - 1, station.before.count - 1
            ends = None if few else ([0, last[0]], [0, last[1]])
            wires += through(fans[-1], station.place, len(neurons) - 1, ends)
    view = Camera(azimuth=form.angle - 90.0, elevation=ELEVATION, fov=FOV[len(stations) > DEEP])
    views = {
        "perspective": view,
        "orthographic": replace(view, fov=0.0),
        "flat": replace(view, elevation=0.0, fov=0.0),
    }
    return Layout(plates, neurons, wires, labels, views, fans, follows_shape=True)


def line_at(
    station: Station, stations: list[Station], way: FloatArray | None, *, one: bool
) -> Neurons:
    """Return the neurons of a line; `one`: with the sphere of the biases behind it."""
    run = station.run
    places = places_of(station, stations) + station.origin
    points = places[: run.count]
    if station.shape:
        _, height, width = station.shape
        y, x = np.mgrid[:height, :width].reshape(2, -1, 1)
        inside = (x - (width - 1) / 2) * NEAR + (y - (height - 1) / 2) * DOWN
        points = (points[:, np.newaxis] + station.pixel * inside).reshape(-1, 3)
    return replace(
        station.neurons,
        points=points,
        side=station.pixel,
        way=way,
        radius=station.radius,
        one=places[-1] if one else None,
        right=NEAR,
        again=station.again,
    )


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


def fan_at(program: Program, stations: list[Station], number: int, *, few: bool) -> Fan:
    """Return the wires through a wall."""
    station, line, behind = stations[number], stations[number - 1], stations[number + 1]
    before, run = station.before, station.run
    operation = program.operations[station.place]
    count = before.count + (operation.biases != NONE)
    return Fan(
        operation.weights,
        before.count * prod(station.tile),
        operation.biases,
        places_of(line, stations)[:count] + line.origin,
        before.all_at(np.arange(count), wall=True) + station.origin,
        places_of(behind, stations)[: run.count] + behind.origin,
        run.all_at(np.arange(run.count), wall=True),
        behind.radius,
        few,
    )


def through(
    fan: Fan, place: int, line: int, only: tuple[list[int], list[int]] | None = None
) -> list[Wires]:
    """Return the wires through a wall: from each unit to its cubes, and on to the next line.

    only  the units behind and before that have wires; None for all
    """
    rows, columns = only or (list(range(len(fan.ends))), list(range(len(fan.starts))))
    rows, columns = sorted(set(rows)), sorted(set(columns))
    cubes = (fan.rows[rows, np.newaxis] + fan.columns[columns]).reshape(-1, 3)
    starts = np.tile(fan.starts[columns], (len(rows), 1))
    ends = np.repeat(fan.ends[rows], len(columns), axis=0)
    return [Wires(starts, cubes, place, line, True), Wires(cubes, ends, place, line + 1, False)]


def straight(stations: list[Station], number: int, line: int) -> list[Wires]:
    """Return the wires from the line before, unit by unit, if no wall is between."""
    station, before = stations[number], stations[number - 1]
    if before.kind == "scale":
        before = stations[number - 2]
    if before.kind == "wall" or before.run.count != station.run.count:
        return []
    starts, ends = (
        places_of(each, stations)[: each.run.count] + each.origin for each in (before, station)
    )
    return [Wires(starts, ends, station.place, line - 1, True)]


def label_of(words: tuple[str, str], plates: Sequence[Plate]) -> Label:
    """Return the label of a layer, below the near corner of its plates."""
    corners = np.concatenate([plate.corners(0.0) for plate in plates])
    low, high = corners.min(axis=0), corners.max(axis=0)
    place = np.array([corners[:, 0].mean(), low[1], high[2]])
    first = min(plate.indices.start for plate in plates)
    rows = slice(first, max(plate.indices.stop for plate in plates))
    return Label(*words, place, place, rows=rows)
