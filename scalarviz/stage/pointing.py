"""Finds a cube, sphere or image: under the pointer, in a direction, or named in code."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scalarviz.base.checks import shorten
from scalarviz.core.perceptron import Perceptron
from scalarviz.core.program import NONE
from scalarviz.errors import InputError
from scalarviz.scene.frame_data import FrameData
from scalarviz.scene.layout.division import Box, Projection
from scalarviz.scene.layout.plates import Layout, Plate
from scalarviz.scene.layout.sequence_places import AT_PLACE
from scalarviz.scene.visuals.picking import DIRECTIONS, next_place, seen_at
from scalarviz.story.facts import Neuron, NeuronLine
from scalarviz.training.network.model import Model
from scalarviz.training.session.trainer import rows_of


@dataclass(frozen=True, slots=True)
class PointerTarget:
    """A target of the pointer: a cube, a neuron, or neither.

    Attributes:
        row: bank index of the cube, or None
        neuron: name of a buffer, and the index in it
    """

    row: int | None = None
    neuron: Neuron | None = None

    @property
    def part(self) -> int | Neuron | None:
        """The cube or the neuron, or None."""
        return self.row if self.neuron is None else self.neuron

    def __bool__(self) -> bool:
        return self != NOTHING


NOTHING = PointerTarget()


def target_at(frame_data: FrameData, see: Projection, x: float, y: float) -> PointerTarget:
    """Return the target at a logical pixel."""
    cubes, plates = frame_data.cubes, frame_data.layout.plates
    tops = {id(p): top for p, top in zip(plates, cubes.size_scales.tolist(), strict=True)}

    def half(plate: Plate, index: int) -> float:
        return float(plate.halves(cubes.sizes[index], tops[id(plate)]))

    row, neuron = seen_at(frame_data.layout, see, x, y, half)
    return PointerTarget(None if row == NONE else row, neuron)


def neuron_of(network: Model, layout: Layout, part: object) -> Neuron | None:
    """Return the neuron given by a Perceptron or a pair; None for anything else.

    Args:
        network: the network; OwnershipError is raised for a perceptron of another network
        layout: the layout that contains the neuron
        part: a Perceptron, or the name of a buffer and the index in it

    Raises:
        InputError: if the layout has no such neuron.
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
            return line.buffer, place
    if layout.sequence is not None and name in layout.sequence.buffers.values():
        return name, place
    raise InputError(f"this network has no neuron {shorten(part)}: pass a perceptron of a layer")


def neuron_lines(layout: Layout) -> list[NeuronLine]:
    """Return the rows of neurons in a picture, as cards use them.

    Of a sequence, cards may show the neurons of all places.
    """
    plan = layout.sequence
    if plan is not None:
        return [
            NeuronLine(each.values.removesuffix(AT_PLACE), "", (), each.count * plan.places)
            for each in layout.neurons
        ]
    return [NeuronLine(each.values, each.sums, each.also, each.count) for each in layout.neurons]


def same_in(layout: Layout, before: Layout, neuron: Neuron | None) -> Neuron | None:
    """Return the neuron of `layout` that matches a neuron of the layout `before`, or None."""
    if neuron is None or len(layout.neurons) != len(before.neurons):
        return None
    name, place = neuron
    pairs = zip(layout.neurons, before.neurons, strict=True)
    found = (now for now, old in pairs if old.buffer == name and place < now.count)
    return next(((now.buffer, place) for now in found), None)


def next_target(
    frame_data: FrameData, see: Projection, box: Box, now: PointerTarget, way: str = ""
) -> PointerTarget:
    """Return the closest cube or neuron in a direction; `now` if there is no such item.

    Args:
        frame_data, see: the picture
        box: the area of the network in the picture
        now: the current target; NOTHING starts in the middle of the box
        way: a key of DIRECTIONS; "" (default) selects the closest item
    """
    parts, places = parts_seen(frame_data.layout, see, box)
    here = parts.index(now.part) if now.part in parts else None
    best = next_place(places, here, box, DIRECTIONS.get(way))
    if best is None:
        return now
    part = parts[best]
    return PointerTarget(part) if isinstance(part, int) else PointerTarget(neuron=part)


def parts_seen(
    layout: Layout, see: Projection, box: Box
) -> tuple[list[int | Neuron], list[tuple[float, float]]]:
    """Return all cubes and neurons with visible centers in a box, and their positions."""
    parts: list[int | Neuron] = []
    points = [np.zeros((0, 3))]
    for plate in layout.plates:
        row, column, index = plate.cells()
        points.append(plate.middle(row, column))
        parts += index.tolist()
    for line in layout.neurons:
        points.append(line.points[line.stops])
        parts += [(line.buffer, place) for place in line.stops]
    xy = see(np.vstack(points)).xy
    with np.errstate(invalid="ignore"):
        good = (xy >= [box.x, box.y]).all(axis=1) & (xy <= [box.right, box.bottom]).all(axis=1)
    return [parts[i] for i in np.flatnonzero(good)], xy[good].tolist()
