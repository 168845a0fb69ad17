"""Finds the cube, sphere or image under the pointer, and the neuron that is named in code."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scalarviz.base.checks import FloatArray, shorten
from scalarviz.core.perceptron import Perceptron
from scalarviz.core.program import NONE
from scalarviz.errors import InputError
from scalarviz.pictures.view.cubes.picking import half_sides, nearest, ray_at
from scalarviz.pictures.view.frame_data import FrameData
from scalarviz.pictures.view.scene.frame import Projection
from scalarviz.pictures.view.scene.plates import Layout, Neurons, Plate
from scalarviz.training.network.model import Model
from scalarviz.training.session.caption import Neuron
from scalarviz.training.session.trainer import rows_of


@dataclass(frozen=True, slots=True)
class Target:
    """What is pointed at: a cube, a neuron, or neither.

    row     bank index of the cube; None for none
    neuron  name of a buffer, and the place in it: of the 1 of the biases, one past the last
    """

    row: int | None = None
    neuron: Neuron | None = None

    @property
    def part(self) -> int | Neuron | None:
        """The cube or the neuron."""
        return self.row if self.neuron is None else self.neuron

    def __bool__(self) -> bool:
        return self != NOTHING


NOTHING = Target()


def target_at(frame_data: FrameData, see: Projection, x: float, y: float) -> Target:
    """Return what is seen at a logical pixel."""
    start, ray = ray_at(see.matrix, *see.across(x, y))
    row, far = cube_on(frame_data, start, ray)
    neuron, distance = neuron_on(frame_data, start, ray)
    if neuron is not None and distance < far:
        return Target(neuron=neuron)
    return NOTHING if row == NONE else Target(row)


def cube_on(frame_data: FrameData, start: FloatArray, ray: FloatArray) -> tuple[int, float]:
    """Return the bank index of the first cube on a ray, or NONE, and its distance."""
    cubes, plates = frame_data.cubes, frame_data.layout.plates
    tops = {id(p): top for p, top in zip(plates, cubes.size_scales.tolist(), strict=True)}

    def half(plate: Plate, index: int) -> float:
        return float(half_sides(cubes.sizes[index : index + 1], tops[id(plate)])[0])

    return nearest(plates, start, ray, half)


def neuron_on(
    frame_data: FrameData, start: FloatArray, ray: FloatArray
) -> tuple[Neuron | None, float]:
    """Return the first sphere or pixel of an image on a ray, or None, and its distance."""
    best, least = None, np.inf
    for line in frame_data.layout.neurons:
        place, at = pixel_on(line, start, ray) if line.shape else sphere_on(line, start, ray)
        if at < least:
            best, least = (name_of(line), place), at
    return best, least


def name_of(line: Neurons) -> str:
    """Return the buffer by which the neurons of a line are named."""
    return line.values or line.sums


def sphere_on(line: Neurons, start: FloatArray, ray: FloatArray) -> tuple[int, float]:
    """Return the place of the first sphere of a line on a ray, and its distance."""
    points = line.points if line.one is None else np.vstack([line.points, line.one])
    apart = points - start
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
        if name in line.buffers and place in range(count_of(line)):
            return name_of(line), place
    raise InputError(f"this network has no neuron {shorten(part)}: pass a perceptron of a layer")


def count_of(line: Neurons) -> int:
    """Return the number of neurons of a line, the 1 of the biases included."""
    return len(line.points) + (line.one is not None)


def same_in(layout: Layout, before: Layout, neuron: Neuron | None) -> Neuron | None:
    """Return a neuron of the layout before in a layout with other operations, or None."""
    lines = layout.neurons, before.neurons
    if neuron is None or len(lines[0]) != len(lines[1]):
        return None
    for now, old in zip(*lines, strict=True):
        if name_of(old) == neuron[0] and neuron[1] < count_of(now):
            return name_of(now), neuron[1]
    return None
