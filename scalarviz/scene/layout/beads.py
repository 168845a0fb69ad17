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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import cos, prod, radians, sin
from weakref import WeakKeyDictionary

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.program import NONE, Program
from scalarviz.scene.layout.beads_flow import (
    CORRIDOR,
    ELEVATION,
    along_flow,
    box_of,
    close_along_flow,
    folded,
    hang,
    places_of,
    set_aside,
)
from scalarviz.scene.layout.beads_lines import (
    LEAST_IMAGES,
    Station,
    measure,
    parts_of,
    plates_of,
    stations_of,
)
from scalarviz.scene.layout.camera import EDGE, Camera
from scalarviz.scene.layout.plates import (
    DOWN,
    HALF,
    NEAR,
    RIGHT,
    UP,
    Fan,
    Label,
    Layout,
    Neurons,
    Plate,
    Wires,
    reach_of,
)

# Forms: how a layout is wrapped, spaced and seen, chosen by the size of its cubes. A form is
# measured by the boxes around its lines and walls, without the cubes in them.

FOV = 20.0, 9.0  # degrees; a long network is seen from farther away, so that its ends look alike
CLOSE_FOV = 12.0
# Degrees off the flow from which the scene is seen, whatever its stage; with images, more: they
# are seen obliquely.
USUAL, OF_IMAGES = 42.0, 46.0
CLOSE = 400  # weights; in networks of at most as many nothing is covered
CLOSE_ANGLE = 40.0  # there: the fronts of cubes are their largest sides, also at the left end
HIGH = 1.0, 1.2, 1.4, 1.65  # factors of the distances upright
FILLED = 0.62, 0.82  # shares of the stage that a network takes at least, across and along
SHARES = 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0  # of the longest line, to wrap at
LANES, TILE_ROWS = (1, 2), (1, 2)  # of images, and of the tiles of a unit that reads them
BLOCKS = (
    1.15  # what cubes count with tiles in rows: each output has a block, and no wall hides another
)
WRAPPED = 0.8  # so much smaller may cubes be with fewer blocks
WIDER = 1.15, 1.3, 1.4, 1.5, 1.6, 1.75, 2.0  # factors of the distances, if the stage has room
FULL, MANY = 0.93, 2000  # of the largest scale: so much is given up for them, by fewer weights
CLOSE_FULL = 0.97  # the same in networks of at most CLOSE weights
DEEP, TURNED = 5, 1.08  # stations; so much larger is a longer network with its inputs upright
ROWS, FOLDED, CLOSE_FOLDED = (2, 3), 1.2, 1.4  # so much larger is a network in rows
BARS = 7.0  # cells kept free for bars beside named outputs of a network that reads images
LONG = 60  # stations of a network of which fewer forms are tried

Names = Mapping[str, Sequence[str]]
Places = dict[tuple[bool, float], FloatArray]  # along the flow, by upright and high of a form


@dataclass(frozen=True)
class BeadsForm:
    """How a network is laid out.

    longest  where lines are wrapped
    angle    degrees off the flow from which it is seen
    wider    factor of the distances along the flow
    upright  whether its inputs stand above each other
    rows     rows into which it is folded
    hanging  whether images in depth stand below the wall of their kernels
    lanes    rows in which the images of a line of many are staggered
    fold     rows of tiles of each unit behind a dense layer that reads images
    high     factor of the distances upright, if nothing may be covered; else 0
    """

    longest: float = np.inf
    angle: float = USUAL
    wider: float = 1.0
    upright: bool = False
    rows: int = 1
    hanging: bool = False
    lanes: int = 1
    fold: int = 1
    high: float = 0.0


def ends_upright(stations: list[Station]) -> bool:
    """Return whether the inputs are upright so that the outputs are, if images are read.

    stations  with inputs that are not upright
    """
    return any(each.run.images for each in stations) and not stations[-1].run.upright


def chosen(
    stations: list[Station], size: Callable[[BeadsForm], float], form: BeadsForm
) -> BeadsForm:
    """Return the form in which cubes are largest, of few that are tried one after the other.

    Of very long networks fewer are tried.
    """
    if is_close(stations):
        return chosen_close(stations, size, replace(form, angle=CLOSE_ANGLE, high=HIGH[0]))
    long = len(stations) + max(each.run.count for each in stations) / 500 > LONG
    shares, widths = (SHARES, WIDER) if not long else (SHARES[::3], ())
    images = any(each.run.images for each in stations)
    form = replace(form, angle=OF_IMAGES if images else USUAL)
    if any(each.run.count > (LEAST_IMAGES if each.run.images else CORRIDOR) for each in stations):
        measure(stations, np.inf)
        longest = max(each.run.extent() for each in stations)
        forms = [replace(form, longest=longest / share) for share in shares]
        sizes = [size(each) for each in forms]
        form = next(f for f, s in zip(forms, sizes, strict=True) if s > WRAPPED * max(sizes))
    if images and not long:
        hanging = [
            replace(each, hanging=True, lanes=lanes, fold=fold)
            for each in {form, replace(form, longest=np.inf)}
            for lanes in LANES
            for fold in TILE_ROWS
        ]
        form = max((form, *hanging), key=lambda each: size(each) * BLOCKS ** (each.fold - 1))
    best = size(form)
    if len(stations) > DEEP and not images:
        turned = replace(form, upright=True)
        if size(turned) > TURNED * best:
            form, best = turned, size(turned)
    if len(stations) > DEEP and not any(each.joins != NONE for each in stations):
        for rows in ROWS:
            other = replace(form, rows=rows)
            if size(other) > FOLDED * best:
                form, best = other, size(other)
    full = FULL if weights_of(stations) < MANY and not images else 1.0
    wide = [replace(form, wider=wider) for wider in widths]
    return next((each for each in reversed(wide) if size(each) >= full * best), form)


def chosen_close(
    stations: list[Station], size: Callable[[BeadsForm], float], form: BeadsForm
) -> BeadsForm:
    """Return the form of a network in which nothing is covered: its angle is always the same."""
    is_deep = len(stations) > DEEP
    rows = ROWS if is_deep and not any(each.joins != NONE for each in stations) else ()
    forms = [replace(form, high=high, rows=each) for high in HIGH for each in (1, *rows)]
    forms += [replace(each, upright=True) for each in forms if is_deep]
    worth = {
        each: TURNED**each.upright * (CLOSE_FOLDED if each.rows > 1 else 1.0) for each in forms
    }
    form = max(forms, key=lambda each: size(each) / worth[each])
    wide = [replace(form, wider=wider) for wider in WIDER]
    return next((each for each in reversed(wide) if size(each) >= CLOSE_FULL * size(form)), form)


def is_close(stations: list[Station]) -> bool:
    """Return whether a network is so small that nothing in it is to be covered."""
    runs = [each.run for each in stations]
    is_short = not any(each.images or each.count > CORRIDOR for each in runs)
    return is_short and weights_of(stations) <= CLOSE


def weights_of(stations: list[Station]) -> int:
    """Return the number of weights and biases of all walls."""
    walls = [each for each in stations if each.kind == "wall"]
    return sum(each.run.count * (each.before.count + 1) for each in walls)


def size_in(
    view: Camera,
    points: FloatArray,
    angle: float,
    aspect: float,
    *,
    images: bool = False,
    filled: bool = False,
) -> float:
    """Return how large cubes are seen, relative to the height of a stage that shows the points.

    images  True: how large images are seen that stand across the flow; by default False
    filled  True: less, if they leave much of the stage empty; by default False
    """
    camera = view.framing(reach_of(points), aspect, EDGE)
    off = radians(angle)
    if filled:
        clip = np.c_[points, np.ones(len(points))] @ np.transpose(camera.matrix(aspect))
        shares = np.sort(np.ptp(clip[:, :2] / clip[:, 3:], axis=0) / 2.0)
        return float(np.minimum(shares / FILLED, 1.0).prod() / (camera.height * clip[:, 3].max()))
    if images:
        return float(np.sqrt(cos(off))) / camera.height
    seen = min(1.3 * cos(off), 0.63 * (sin(off) + cos(off)))
    return float(np.sqrt(0.63 * seen)) / camera.height


def ends_of(stations: list[Station], boxes: list[FloatArray]) -> FloatArray:
    """Return the corners of the boxes around all stations, without building what is in them."""
    found = []
    for station, box in zip(stations, boxes, strict=True):
        own = box + np.array([0.0, station.origin[1] - station.lift])
        own[1, 0] += station.bars
        x, half = station.origin[0], 0.5 if station.kind != "line" else station.radius
        found += [(x + way, y, z) for way in (-half, half) for z in own[:, 0] for y in own[:, 1]]
    return np.array(found)


def placed(
    program: Program, names: Names, form: BeadsForm, known: Places | None = None
) -> tuple[list[Station], list[FloatArray]]:
    """Return the stations of a program in a form, and the box of each.

    known  places that were found before, to which new ones are added
    """
    stations = stations_of(program, names, upright=form.upright)
    measure(stations, form.longest, form.lanes, form.fold, hanging=form.hanging, high=form.high)
    set_aside(stations)
    last = stations[-1]
    if any(each.run.images for each in stations) and last.run.upright and last.neurons.names:
        last.bars = BARS
    if form.hanging:
        hang(stations)
    if form.high:
        key, known = (form.upright, form.high), {} if known is None else known
        if key not in known:
            known[key] = close_along_flow(stations, form.angle, CLOSE_FOV)
        for station, place in zip(stations, known[key], strict=True):
            station.origin = form.wider * place * RIGHT
        boxes = [box_of(each, stations) for each in stations]
    else:
        boxes = along_flow(stations, form.angle, form.wider)
    return folded(stations, boxes, form.rows)


def view_of(form: BeadsForm, stations: int) -> Camera:
    """Return the direction from which a form is seen."""
    fov = CLOSE_FOV if form.high else FOV[stations > DEEP]
    return Camera(azimuth=form.angle - 90.0, elevation=ELEVATION, fov=fov)


# Wires: through walls, from line to line, and past walls.

PASSING = 1.2  # from the walls to a skip connection
KERNELS, IMAGES = 32, 64  # most kernels, and images of a line, that have a wire each
NEARER_END = 0.9  # so much nearer must the other end of the rows of kernels be
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
    other = away[1] < NEARER_END * away[0]  # wires enter at the near end
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


# The layout.

KEPT_LAYOUTS = 4  # layouts of a program
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
    tied    whether the first neurons stand for a color, for which there is room beside them
    """
    known, names = known_of(program, names or {}), names or {}

    def size(form: BeadsForm) -> float:
        if form not in known.points:
            stations, boxes = placed(program, names, form, known.places)
            known.points[form] = len(stations), ends_of(stations, boxes)
        count, points = known.points[form]
        view, looks = view_of(form, count), {"images": form.hanging, "filled": form.high > 0.0}
        return size_in(view, points, form.angle, aspect, **looks)

    upright = ends_upright(known.stations)
    form = chosen(known.stations, lru_cache(maxsize=None)(size), BeadsForm(upright=upright))
    words = tied, *(about(operation.label) for operation in program.operations)
    made = known.layouts.pop((form, words), None)
    made = made or laid_out(program, about, names, form, tied=tied)
    known.layouts[form, words] = made
    for old in list(known.layouts)[:-KEPT_LAYOUTS]:
        known.layouts.pop(old, None)
    return made


@dataclass
class KnownLayouts:
    """What was found of a program before; a stage changes its shape more often than its program.

    key       changes with the program and the names of its neurons
    stations  its lines and walls, without places
    points    number of stations in a form, and the corners of the boxes around them
    places    of the stations of close networks
    layouts   the last ones that were made, by their form and the words of their layers
    """

    key: object
    stations: list[Station]
    points: dict[BeadsForm, tuple[int, FloatArray]] = field(default_factory=dict)
    places: Places = field(default_factory=dict)
    layouts: dict[tuple[BeadsForm, object], Layout] = field(default_factory=dict)


KNOWN: WeakKeyDictionary[Program, KnownLayouts] = WeakKeyDictionary()


def known_of(program: Program, names: Names) -> KnownLayouts:
    """Return what is known of a program with these names of its neurons."""
    key = len(program.operations), tuple((each, tuple(own)) for each, own in names.items())
    found = KNOWN.get(program)
    if found is None or found.key != key:
        found = KNOWN[program] = KnownLayouts(key, stations_of(program, names))
    return found


def size_of(layout: Layout, angle: float, aspect: float) -> float:
    """Return how large cubes are seen, relative to the height of the stage."""
    return size_in(layout.views["perspective"], layout.extent, angle, aspect)


def laid_out(
    program: Program, about: About, names: Names, form: BeadsForm, *, tied: bool = False
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
        points = neurons[0].points
        above = points[np.argmax(points @ (UP - NEAR))] + TIED * UP
        neurons[0] = replace(neurons[0], tied=above)
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
