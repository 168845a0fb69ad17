"""Lights: the brightness of plates and neurons during an operation.

Brightness shows which items an operation uses; hue is reserved for the sign of numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.program import NONE, Moment, Operation, Program
from scalarviz.scene.layout.plates import Layout, Neurons
from scalarviz.scene.pace import LIT, OF_CUBES, SAME_PLACE, WAYS_BACK
from scalarviz.scene.visuals.shaders import DIM as DIM
from scalarviz.story.facts import Neuron

if TYPE_CHECKING:
    from scalarviz.scene.focus import Focus
    from scalarviz.scene.frame_data import Mask

DIM_SMALL, SMALL = 0.7, 2000  # for more than SMALL cubes: small cubes would look too dark
DIM_TINY = 0.5  # for rows of tiny kernels at rest


@dataclass
class Lights:
    """The brightness of all plates and neurons.

    Attributes:
        plates: brightness of each plate for cubes in focus
        outside: brightness of each plate for other cubes
        neurons: brightness of each line of neurons, in the order of the layout
        focus: the items in focus; None means all items
        level: brightness of neurons out of focus
    """

    plates: FloatArray
    neurons: FloatArray
    outside: FloatArray = field(default_factory=lambda: np.ones(0))
    focus: Focus | None = None
    level: float = 1.0

    def is_dim(self, row: int, plate: int) -> bool:
        """Return whether the cube of a bank index is dimmed."""
        is_outside = self.focus is not None and row not in self.focus.rows
        return is_outside or bool(self.plates[plate] < 1.0)

    def neurons_of(self, number: int, count: int) -> FloatArray:
        """Return the brightness of each neuron of a line, (count, 1); 1 for inputs and outputs."""
        if number in (0, len(self.neurons) - 1):
            return np.ones((count, 1))
        bright: FloatArray = np.zeros((count, 1)) + self.neurons[number]
        if self.focus is not None:
            lit = self.focus.neurons[number]
            bright[:, 0] = np.where(lit, 1.0, np.minimum(bright[:, 0], self.level))
        return bright


def lights(
    layout: Layout,
    program: Program | None,
    moment: Moment | None,
    focus: Focus | None = None,
    attention: float = 1.0,
) -> Lights:
    """Return the brightness of all items during an operation.

    Args:
        focus: the items that stay bright; None means all items
        attention: dimming of all other items, from 0 to 1
    """
    shown = of_moment(layout, program, moment)
    shown.outside = shown.plates
    if focus is not None:
        shown.focus, shown.level = focus, 1.0 - attention * (1.0 - DIM)
        shown.outside = np.minimum(shown.plates, shown.level)
        shown.plates = np.ones(len(layout.plates))
    return shown


def of_moment(layout: Layout, program: Program | None, moment: Moment | None) -> Lights:
    """Return the brightness of all items during an operation, without a focus."""
    shown = Lights(np.ones(len(layout.plates)), np.ones(len(layout.neurons)))
    if moment is None:
        tiny = [layout.plate_number(fan.weights) for fan in layout.fans if fan.form == "open"]
        shown.plates[tiny] = DIM_TINY  # one row of them is enlarged elsewhere
    if moment is None or program is None or moment.kind not in LIT or layout.written:
        return shown  # in a formula, its bracket is lit
    lit = lit_buffers(program, moment)
    shown.neurons[:] = [DIM if lit.isdisjoint(line.buffers) else 1.0 for line in layout.neurons]
    if moment.kind != "step":  # moves all cubes
        many = sum(plate.size for plate in layout.plates) > SMALL
        bright = bright_plates(layout, program, moment)
        shown.plates[:] = np.where(bright, 1.0, DIM_SMALL if many else DIM)
    return shown


def lit_buffers(program: Program, moment: Moment) -> set[str]:
    """Return the names of the buffers that a moment reads or writes, whose neurons stay bright."""
    if moment.kind in ("loss", "step"):
        return {program.outputs.name} if moment.kind == "loss" else set()
    operation = program.operations[moment.operation]
    if moment.kind in WAYS_BACK:
        return {*gradient_path(program, operation)}
    sources = moment.gradients if moment.kind == "delta" else operation.sources
    sources = () if moment.kind == "forward" and operation.kind == "activation" else sources
    return {operation.target.name, *(each.name for each in sources)}


def bright_plates(layout: Layout, program: Program, moment: Moment) -> list[bool]:
    """Return for each plate whether the operation uses its cubes; input gradients use no biases."""
    own = [each.operation == moment.operation != NONE for each in layout.plates]
    if program.is_graph and moment.kind in OF_CUBES:  # a cube may be read by several operations
        rows = program.rows_read(moment.operation)
        own = [each.first in rows for each in layout.plates]
    is_back = moment.kind in WAYS_BACK
    return [
        is_own
        and moment.kind in OF_CUBES
        and (not is_back or each.role in ("weight", "gain", "value"))
        for is_own, each in zip(own, layout.plates, strict=True)
    ]


def gradient_path(program: Program, operation: Operation) -> list[str]:
    """Return the names of an operation's sources and of the buffers that send gradients to them."""
    readers = [operation]
    if not program.is_graph:
        readers = [each for source in operation.sources for each in program.readers(source)]
    return [each.name for each in (*operation.sources, *(reader.target for reader in readers))]


# Neurons at positions in space.


def places_of(layout: Layout, neuron: Neuron) -> list[FloatArray]:
    """Return the positions of a neuron; several lines of neurons may show the same buffer."""
    name, place = neuron
    return [line.points[place] for line in layout.neurons if name in line.buffers]


def masks_at(layout: Layout, places: Sequence[FloatArray]) -> list[Mask]:
    """Return for each line of neurons a mask of the neurons or images at these positions."""
    lit = np.unique(places, axis=0)
    return [are_at(line, lit) for line in layout.neurons]


def are_at(line: Neurons, places: FloatArray) -> Mask:
    """Return a mask of the neurons or images of a line at these positions."""
    reach = SAME_PLACE + 0.5 * line.side * max(line.shape[1:], default=0)
    apart = np.abs(line.points[:, np.newaxis] - places).max(axis=2)
    return np.asarray(apart.min(axis=1) <= reach)
