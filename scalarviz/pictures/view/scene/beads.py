"""The layout "beads": every weight is a cube on the wire between its two neurons.

Neurons stand in lines, each perpendicular to the one before, along the flow from left to right. The
wires between two lines cross the plane half way in a grid, so the cubes of a layer are a wall
across the flow, and the wall is the matrix of weights. The bias of a neuron is the cube on the wire
from a sphere "1" at the far end of the line before. Long lines are wrapped into blocks, long
networks are folded into rows. Images of a convolution that stand in depth hang below the wall of
its kernels, each below its column.

How long, from which angle the scene is seen, and how far the lines are apart are chosen so that the
cubes are as large as possible in a stage of the given shape.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import prod
from weakref import WeakKeyDictionary

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.program import NONE, Program
from scalarviz.pictures.view.scene.beads_flow import places_of
from scalarviz.pictures.view.scene.beads_form import (
    Form,
    Names,
    Places,
    chosen,
    ends_of,
    ends_upright,
    placed,
    size_in,
    view_of,
)
from scalarviz.pictures.view.scene.beads_lines import Station, stations_of
from scalarviz.pictures.view.scene.beads_walls import plates_of
from scalarviz.pictures.view.scene.beads_wires import IMAGES, fans_at, skips, straight, wires_of
from scalarviz.pictures.view.scene.plates import (
    DOWN,
    HALF,
    NEAR,
    UP,
    Fan,
    Label,
    Layout,
    Neurons,
    Plate,
    Wires,
)

KEPT = 4  # layouts of a program
TIED = 2.6  # cells from the outermost neuron up to the middle of the color that they stand for
WIRED = 400  # weights; larger networks have wires at the edges of walls only

About = Callable[[str], tuple[str, str]]


def beads(
    program: Program,
    about: About,
    names: Names | None = None,
    aspect: float = 1.75,
    *,
    tied: bool = False,
) -> Layout:
    """Lay out a program as beads on wires.

    about   returns the name and a description of a layer
    names   names of the neurons of a buffer
    aspect  width of the free stage divided by its height
    tied    whether first and last neurons stand for a color, for which there is room beside them
    """
    known, names = known_of(program, names or {}), names or {}

    def size(form: Form) -> float:
        if form not in known.points:
            stations, boxes = placed(program, names, form, known.places)
            known.points[form] = len(stations), ends_of(stations, boxes)
        count, points = known.points[form]
        view, looks = view_of(form, count), {"images": form.hanging, "filled": form.high > 0.0}
        return size_in(view, points, form.angle, aspect, **looks)

    upright = ends_upright(known.stations)
    form = chosen(known.stations, lru_cache(maxsize=None)(size), Form(upright=upright))
    words = tied, *(about(operation.label) for operation in program.operations)
    made = known.layouts.pop((form, words), None)
    made = made or laid_out(program, about, names, form, tied=tied)
    known.layouts[form, words] = made
    for old in list(known.layouts)[:-KEPT]:
        known.layouts.pop(old, None)
    return made


@dataclass
class Known:
    """What was found of a program before; a stage changes its shape more often than its program.

    key       changes with the program and the names of its neurons
    stations  its lines and walls, without places
    points    number of stations in a form, and the corners of the boxes around them
    places    of the stations of close networks
    layouts   the last ones that were made, by their form and the words of their layers
    """

    key: object
    stations: list[Station]
    points: dict[Form, tuple[int, FloatArray]] = field(default_factory=dict)
    places: Places = field(default_factory=dict)
    layouts: dict[tuple[Form, object], Layout] = field(default_factory=dict)


KNOWN: WeakKeyDictionary[Program, Known] = WeakKeyDictionary()


def known_of(program: Program, names: Names) -> Known:
    """Return what is known of a program with these names of its neurons."""
    key = len(program.operations), tuple((each, tuple(own)) for each, own in names.items())
    found = KNOWN.get(program)
    if found is None or found.key != key:
        found = KNOWN[program] = Known(key, stations_of(program, names))
    return found


def size_of(layout: Layout, angle: float, aspect: float) -> float:
    """Return how large cubes are seen, relative to the height of the stage."""
    return size_in(layout.views["perspective"], layout.points(), angle, aspect)


def laid_out(
    program: Program, about: About, names: Names, form: Form, *, tied: bool = False
) -> Layout:
    """Return the layout of a program in a form."""
    stations, boxes = placed(program, names, form)
    ways = skips(stations, boxes) if form.rows == 1 else {}
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
            if is_pool(program, station):
                words = about(program.operations[station.place].label)
                labels.append(label_of_images(words, neurons[-1]))
            wired = few or (station.run.images and station.run.count <= IMAGES)
            if wired and station.place != NONE and not station.again:
                wires += straight(stations, number, len(neurons) - 1)
            continue
        own = plates_of(program, station)
        plates += own
        words = about(program.operations[station.place].label)
        labels.append(label_of(words, own))
        if station.kind == "wall":
            own_fans = fans_at(program, stations, number, few=few, first=not fans)
            for fan in own_fans:
                again = fan is not own_fans[0]
                wires += wires_of(fan, stations, number, len(neurons) - 1, again=again)
            fans += own_fans
    if tied:
        for place, outwards in ((0, UP - NEAR), (-1, UP + NEAR)):
            points = neurons[place].points
            above = points[np.argmax(points @ outwards)] + TIED * UP
            neurons[place] = replace(neurons[place], tied=above)
    view = view_of(form, len(stations))
    views = {
        "perspective": view,
        "orthographic": replace(view, fov=0.0),
        "flat": replace(view, elevation=0.0, fov=0.0),
    }
    return Layout(plates, neurons, wires, labels, views, fans)


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
        again=station.again,
        bars=station.bars,
    )


def is_pool(program: Program, station: Station) -> bool:
    """Return whether a line shows images that a layer without parameters has written."""
    if station.place == NONE or not station.shape or station.again:
        return False
    operation = program.operations[station.place]
    has_cubes = any(o.parameters for o in program.operations if o.label == operation.label)
    return not has_cubes and operation.kind != "activation"


def label_of(words: tuple[str, str], plates: Sequence[Plate]) -> Label:
    """Return the label of a layer, above the middle of its plates, or where else there is room."""
    corners = np.concatenate([plate.corners(0.0) for plate in plates])
    low, high = corners.min(axis=0), corners.max(axis=0)
    place = np.array([corners[:, 0].mean(), high[1], (low[2] + high[2]) / 2.0])
    first = min(plate.indices.start for plate in plates)
    rows = slice(first, max(plate.indices.stop for plate in plates))
    around = np.concatenate([plate.corners(HALF) for plate in plates])
    return Label(*words, place, place, rows=rows, around=around)


def label_of_images(words: tuple[str, str], line: Neurons) -> Label:
    """Return the label of a layer without parameters that writes images."""
    ends = line.corners()
    corners = np.concatenate([*ends, ends[:, 1] + ends[:, 2] - ends[:, 0]])
    low, high = corners.min(axis=0), corners.max(axis=0)
    place = np.array([low[0], low[1], high[2]])
    return Label(*words, place, place, around=corners)
