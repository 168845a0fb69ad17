"""Finds the cube, sphere or image under the pointer, in a direction, or named in code."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scalarviz.base.checks import FloatArray, shorten
from scalarviz.core.perceptron import Perceptron
from scalarviz.core.program import NONE
from scalarviz.errors import InputError
from scalarviz.scene.frame_data import FrameData
from scalarviz.scene.layout.division import Box, Projection
from scalarviz.scene.layout.plates import Layout, Neurons, Plate
from scalarviz.scene.visuals.picking import nearest, ray_at
from scalarviz.story.facts import Neuron, NeuronLine
from scalarviz.training.network.model import Model
from scalarviz.training.session.trainer import rows_of


@dataclass(frozen=True, slots=True)
class PointerTarget:
    """What is pointed at: a cube, a neuron, or neither.

    row     bank index of the cube; None for none
    neuron  name of a buffer, and the place in it
    """

    row: int | None = None
    neuron: Neuron | None = None

    @property
    def part(self) -> int | Neuron | None:
        """The cube or the neuron."""
        return self.row if self.neuron is None else self.neuron

    def __bool__(self) -> bool:
        return self != NOTHING


NOTHING = PointerTarget()


def target_at(frame_data: FrameData, see: Projection, x: float, y: float) -> PointerTarget:
    """Return what is seen at a logical pixel."""
    start, ray = ray_at(see.matrix, *see.across(x, y))
    row, far = cube_on(frame_data, start, ray)
    neuron, distance = neuron_on(frame_data, see, (x, y), start, ray)
    if neuron is not None and distance < far:
        return PointerTarget(neuron=neuron)
    return NOTHING if row == NONE else PointerTarget(row)


def cube_on(frame_data: FrameData, start: FloatArray, ray: FloatArray) -> tuple[int, float]:
    """Return the bank index of the first cube on a ray, or NONE, and its distance."""
    cubes, plates = frame_data.cubes, frame_data.layout.plates
    tops = {id(p): top for p, top in zip(plates, cubes.size_scales.tolist(), strict=True)}

    def half(plate: Plate, index: int) -> float:
        return float(plate.halves(cubes.sizes[index], tops[id(plate)]))

    return nearest(plates, start, ray, half)


def neuron_on(
    frame_data: FrameData,
    see: Projection,
    xy: tuple[float, float],
    start: FloatArray,
    ray: FloatArray,
) -> tuple[Neuron | None, float]:
    """Return the first neuron or pixel of an image at a pixel `xy`, or None, and its distance."""
    best, least = None, np.inf
    for line in frame_data.layout.neurons:
        place, at = pixel_on(line, start, ray) if line.shape else sphere_on(line, start, ray)
        if line.square and not at < np.inf:  # beside the circle in it
            seen = see(line.points)
            inside = np.abs(seen.xy - xy).max(axis=1) <= line.radius * seen.unit
            place = int(np.argmax(inside))
            at = float((line.points[place] - start) @ ray / (ray @ ray)) if inside.any() else at
        if at < least:
            best, least = (buffer_of(line), place), at
    return best, least


def buffer_of(line: Neurons) -> str:
    """Return the buffer by which the neurons of a line are named."""
    return line.values or line.sums


def sphere_on(line: Neurons, start: FloatArray, ray: FloatArray) -> tuple[int, float]:
    """Return the place of the first sphere of a line on a ray, and its distance."""
    apart = line.points - start
    along, length = apart @ ray, float(ray @ ray)
    within = along**2 - length * ((apart**2).sum(axis=1) - line.radius**2)
    with np.errstate(invalid="ignore"):  # NaN: the ray misses it
        at = (along - np.sqrt(within)) / length
    at = np.where(at > 0.0, at, np.inf)
    place = int(np.argmin(at)) if len(at) else 0
    return place, float(at[place]) if len(at) else np.inf


def pixel_on(line: Neurons, start: FloatArray, ray: FloatArray) -> tuple[int, float]:
    """Return the place of the first pixel of the images of a line on a ray, and its distance."""
    _, height, width = line.shape
    best, least = 0, np.inf
    for channel, (corner, right, below) in enumerate(line.corners()):
        sides = np.stack([right - corner, below - corner, -ray], axis=1)
        if abs(np.linalg.det(sides)) < 1e-12:
            continue
        across, down, at = np.linalg.solve(sides, start - corner).tolist()
        if 0.0 <= across < 1.0 and 0.0 <= down < 1.0 and 0.0 < at < least:
            pixel = int(down * height) * width + int(across * width)
            best, least = channel * height * width + pixel, at
    return best, least


def neuron_of(network: Model, layout: Layout, part: object) -> Neuron | None:
    """Return the neuron that a Perceptron is, or that a pair names; None for anything else.

    network  its network; raises OwnershipError for a perceptron of another one
    layout   where it stands
    part     a Perceptron, or the name of a buffer and the place in it

    Raises InputError if the layout has no such neuron.
    """
    if isinstance(part, Perceptron):
        row = int(rows_of(network, part)[0])
        operation = next(each for each in network.program.operations if row in each.parameters)
        written = operation.uses(row)[0]
        place = int(written[len(written) // 2]) if len(written) else 0
        part = operation.target.name, place
    if not isinstance(part, (tuple, list)) or len(part) != 2 or not isinstance(part[0], str):
        return None
    name, place = part
    for line in layout.neurons:
        if name in line.buffers and place in range(len(line.points)):
            return buffer_of(line), place
    raise InputError(f"this network has no neuron {shorten(part)}: pass a perceptron of a layer")


def neuron_lines(layout: Layout) -> list[NeuronLine]:
    """Return the rows of neurons of a picture, as cards know them."""
    return [
        NeuronLine(each.values, each.sums, each.also, len(each.points)) for each in layout.neurons
    ]


def same_in(layout: Layout, before: Layout, neuron: Neuron | None) -> Neuron | None:
    """Return a neuron of the layout before in a layout with other operations, or None."""
    lines = layout.neurons, before.neurons
    if neuron is None or len(lines[0]) != len(lines[1]):
        return None
    name, place = neuron
    found = (now for now, old in zip(*lines, strict=True) if buffer_of(old) == name)
    return next(((buffer_of(now), place) for now in found if place < len(now.points)), None)


# Walking over cubes and neurons by the keyboard, in the directions of the picture.

DIRECTIONS = {"left": (-1.0, 0.0), "right": (1.0, 0.0), "up": (0.0, -1.0), "down": (0.0, 1.0)}
ASIDE = 2.0  # how many pixels ahead a pixel aside counts


def next_target(
    frame_data: FrameData, see: Projection, box: Box, now: PointerTarget, way: str = ""
) -> PointerTarget:
    """Return the nearest cube or neuron in a direction; `now` if there is none.

    frame_data, see  the picture
    box              the part of it in which the network is seen
    now              where one is; NOTHING: in the middle of the box
    way              a key of DIRECTIONS; "", the default: the nearest one
    """
    targets, xy = places_of(frame_data, see, box)
    if not targets:
        return now
    place = targets.index(now) if now in targets else None
    middle = np.array([box.x + box.width / 2.0, box.y + box.height / 2.0])
    here = middle if place is None else xy[place]
    if place is None or not way:
        return targets[int(np.argmin(np.hypot(*(xy - here).T)))]
    apart = xy - here
    ahead = apart @ DIRECTIONS[way]
    aside = np.abs(apart @ np.array(DIRECTIONS[way])[::-1])
    cost = np.where((ahead > 0.5) & (aside <= ahead), ahead + ASIDE * aside, np.inf)
    best = int(np.argmin(cost))
    return targets[best] if np.isfinite(cost[best]) else now


def places_of(
    frame_data: FrameData, see: Projection, box: Box
) -> tuple[list[PointerTarget], FloatArray]:
    """Return all cubes and neurons whose middle is seen in a box, and where, (n, 2)."""
    targets: list[PointerTarget] = []
    points = [np.zeros((0, 3))]
    for plate in frame_data.layout.plates:
        row, column, index = plate.cells()
        points.append(plate.middle(row, column))
        targets += map(PointerTarget, index.tolist())
    for line in frame_data.layout.neurons:
        places, own = neurons_of(line)
        points.append(own)
        targets += [PointerTarget(neuron=(buffer_of(line), place)) for place in places]
    xy = see(np.vstack(points)).xy
    with np.errstate(invalid="ignore"):
        good = (xy >= [box.x, box.y]).all(axis=1) & (xy <= [box.right, box.bottom]).all(axis=1)
    return [targets[i] for i in np.flatnonzero(good)], xy[good]


def neurons_of(line: Neurons) -> tuple[list[int], FloatArray]:
    """Return the places of a line to walk to, and their points: of an image, its middle."""
    if not line.shape:
        return list(range(len(line.points))), line.points
    channels, height, width = line.shape
    middle = height // 2 * width + width // 2
    places = [channel * height * width + middle for channel in range(channels)]
    return places, line.points[places]
