"""Forms of the layout "beads": how it is wrapped, spaced and seen, chosen by the size of its cubes.

A form is measured by the boxes around its lines and walls, without the cubes in them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import cos, radians, sin

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.program import NONE, Program
from scalarviz.pictures.view.scene.beads_flow import (
    CORRIDOR,
    ELEVATION,
    along_flow,
    box_of,
    folded,
    hang,
    set_aside,
)
from scalarviz.pictures.view.scene.beads_lines import LEAST_IMAGES, Station, measure, stations_of
from scalarviz.pictures.view.scene.beads_room import close_along_flow
from scalarviz.pictures.view.scene.camera import EDGE, Camera
from scalarviz.pictures.view.scene.plates import RIGHT

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
class Form:
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


def chosen(stations: list[Station], size: Callable[[Form], float], form: Form) -> Form:
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


def chosen_close(stations: list[Station], size: Callable[[Form], float], form: Form) -> Form:
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
    camera = view.framing(points, aspect, EDGE)
    off = radians(angle)
    if filled:
        clip = np.c_[points, np.ones(len(points))] @ camera.matrix(aspect).T
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
    program: Program, names: Names, form: Form, known: Places | None = None
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


def view_of(form: Form, stations: int) -> Camera:
    """Return the direction from which a form is seen."""
    fov = CLOSE_FOV if form.high else FOV[stations > DEEP]
    return Camera(azimuth=form.angle - 90.0, elevation=ELEVATION, fov=fov)
